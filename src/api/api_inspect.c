/* api_inspect.c: looking at expressions, blocks, functions, modules. Stored fields only: may
 * run while others read. */
#include "api/api_int.h"

#define EXPR(p) ((const rlx_expr *)(const void *)(p))
#define AS(type, p) ((const relax_##type *)(const void *)(p))

static const char *text_of(const rlx_string *s, size_t *len)
{
    if (len)
        *len = s ? s->len : 0;
    return s ? s->data : NULL;
}

/* ---- expressions */

int32_t relax_expr_kind(const relax_expr *e)
{
    static const uint8_t kinds[RLX_NODE_COUNT] = {
        [RLX_NODE_CONSTANT] = RELAX_EXPR_KIND_CONSTANT,
        [RLX_NODE_VAR] = RELAX_EXPR_KIND_VAR,
        [RLX_NODE_DATAFLOW_VAR] = RELAX_EXPR_KIND_DATAFLOW_VAR,
        [RLX_NODE_GLOBAL_VAR] = RELAX_EXPR_KIND_GLOBAL_VAR,
        [RLX_NODE_TUPLE] = RELAX_EXPR_KIND_TUPLE,
        [RLX_NODE_SEQ_EXPR] = RELAX_EXPR_KIND_SEQ,
        [RLX_NODE_PRIM_VALUE] = RELAX_EXPR_KIND_PRIM_VALUE,
        [RLX_NODE_STRING_IMM] = RELAX_EXPR_KIND_STRING,
        [RLX_NODE_DTYPE_IMM] = RELAX_EXPR_KIND_DTYPE,
        [RLX_NODE_FUNCTION] = RELAX_EXPR_KIND_FUNCTION,
        [RLX_NODE_IF] = RELAX_EXPR_KIND_IF,
        [RLX_NODE_EXTERN_FUNC] = RELAX_EXPR_KIND_EXTERN_FUNC,
        [RLX_NODE_CALL] = RELAX_EXPR_KIND_CALL,
        [RLX_NODE_SHAPE_EXPR] = RELAX_EXPR_KIND_SHAPE,
        [RLX_NODE_TUPLE_GET_ITEM] = RELAX_EXPR_KIND_TUPLE_GET_ITEM,
        [RLX_NODE_OP] = RELAX_EXPR_KIND_OP,
    };
    return e ? kinds[EXPR(e)->kind] : 0;
}

const relax_struct_info *relax_expr_struct_info(const relax_expr *e)
{
    const rlx_var *v = rlx_as_var(EXPR(e));
    return AS(struct_info, v ? v->sinfo : NULL);
}

const char *relax_expr_name(const relax_expr *e, size_t *len)
{
    const rlx_node *n = EXPR(e);
    const rlx_string *name = NULL;
    if (rlx_as_var(n))
        name = rlx_as_var(n)->name;
    else if (rlx_as_global_var(n))
        name = rlx_as_global_var(n)->name;
    else if (rlx_as_extern_func(n))
        name = rlx_as_extern_func(n)->symbol;
    else if (rlx_as_op(n))
        name = rlx_as_op(n)->name;
    else if (rlx_as_string_imm(n))
        name = rlx_as_string_imm(n)->value;
    return text_of(name, len);
}

relax_place relax_expr_place(const relax_expr *e)
{
    return e ? rlx_place_of(EXPR(e)) : RLX_NO_PLACE;
}

/* The subexpressions of a node as one fixed part and one list. */
typedef struct operands {
    const rlx_node *first[3];
    size_t num_first;
    const rlx_node *const *rest;
    size_t num_rest;
} operands;

static operands operands_of(const rlx_node *n)
{
    operands o = { { NULL }, 0, NULL, 0 };
    switch (n ? n->kind : RLX_NODE_NONE) {
    case RLX_NODE_CALL:
        o = (operands){ { ((const rlx_call *)n)->op },
                        1,
                        ((const rlx_call *)n)->args,
                        ((const rlx_call *)n)->num_args };
        break;
    case RLX_NODE_TUPLE:
        o = (operands){
            { NULL }, 0, ((const rlx_tuple *)n)->fields, ((const rlx_tuple *)n)->num_fields
        };
        break;
    case RLX_NODE_TUPLE_GET_ITEM:
        o = (operands){ { ((const rlx_tuple_get_item *)n)->tuple }, 1, NULL, 0 };
        break;
    case RLX_NODE_SEQ_EXPR:
        o = (operands){ { ((const rlx_seq_expr *)n)->body }, 1, NULL, 0 };
        break;
    case RLX_NODE_IF: {
        const rlx_if_expr *i = (const rlx_if_expr *)n;
        o = (operands){ { i->cond, i->true_branch, i->false_branch }, 3, NULL, 0 };
        break;
    }
    default: break;
    }
    return o;
}

size_t relax_expr_num_operands(const relax_expr *e)
{
    const rlx_function *f = rlx_as_function(EXPR(e));
    if (f)
        return f->num_params + 1;
    operands o = operands_of(EXPR(e));
    return o.num_first + o.num_rest;
}

const relax_expr *relax_expr_operand(const relax_expr *e, size_t index)
{
    const rlx_function *f = rlx_as_function(EXPR(e));
    if (f)
        return AS(expr, index < f->num_params    ? f->params[index]
                        : index == f->num_params ? f->body
                                                 : NULL);
    operands o = operands_of(EXPR(e));
    if (index < o.num_first)
        return AS(expr, o.first[index]);
    return AS(expr, index - o.num_first < o.num_rest ? o.rest[index - o.num_first] : NULL);
}

int32_t relax_expr_is_call_of(const relax_expr *e, const char *op, size_t op_len)
{
    const rlx_call *call = rlx_as_call(node_of(e));
    const rlx_op *callee = call ? rlx_as_op(call->op) : NULL;
    if (!callee || !op)
        return 0;
    rlx_slice name = { op, op_len }, full = rlx_string_slice(callee->name);
    return rlx_slice_equal(full, name) ||
           (full.len == name.len + 6 && !memcmp(full.data, "relax.", 6) &&
            !memcmp(full.data + 6, name.data, name.len));
}

size_t relax_function_num_params(const relax_expr *function)
{
    const rlx_function *f = rlx_as_function(node_of(function));
    return f ? f->num_params : RELAX_NOT_FOUND;
}

const relax_expr *relax_function_param(const relax_expr *function, size_t index)
{
    const rlx_function *f = rlx_as_function(node_of(function));
    return RLX_API_EXPR(f && index < f->num_params ? f->params[index] : NULL);
}

const relax_expr *relax_function_body(const relax_expr *function)
{
    const rlx_function *f = rlx_as_function(node_of(function));
    return RLX_API_EXPR(f ? f->body : NULL);
}

const relax_struct_info *relax_function_result(const relax_expr *function)
{
    const rlx_function *f = rlx_as_function(node_of(function));
    return (const relax_struct_info *)(const void *)(f ? f->ret_sinfo : NULL);
}

const relax_attr *relax_expr_attrs(const relax_expr *e)
{
    const rlx_call *c = rlx_as_call(EXPR(e));
    const rlx_function *f = rlx_as_function(EXPR(e));
    return AS(attr, c ? c->attrs : f ? f->attrs : NULL);
}

const relax_attr *relax_expr_attr(const relax_expr *e, const char *name, size_t name_len)
{
    return relax_attr_find(relax_expr_attrs(e), name, name_len);
}

size_t relax_expr_index(const relax_expr *e)
{
    const rlx_tuple_get_item *t = rlx_as_tuple_get_item(EXPR(e));
    return t ? (size_t)t->index : RELAX_NOT_FOUND;
}

const relax_prim_expr *relax_expr_value(const relax_expr *e, size_t index)
{
    const rlx_prim_value *v = rlx_as_prim_value(EXPR(e));
    const rlx_shape_expr *s = rlx_as_shape_expr(EXPR(e));
    if (v && index == 0)
        return AS(prim_expr, v->value);
    return AS(prim_expr, s && index < s->num_values ? s->values[index] : NULL);
}

const void *relax_constant_data(const relax_expr *e, size_t *size)
{
    const rlx_constant *c = rlx_as_constant(EXPR(e));
    if (size)
        *size = c ? c->data->size : 0;
    return c ? c->data->data : NULL;
}

/* ---- blocks and bindings */

size_t relax_seq_num_blocks(const relax_expr *e)
{
    const rlx_seq_expr *s = rlx_as_seq_expr(EXPR(e));
    return s ? s->num_blocks : 0;
}

const relax_block *relax_seq_block(const relax_expr *e, size_t index)
{
    const rlx_seq_expr *s = rlx_as_seq_expr(EXPR(e));
    return AS(block, s && index < s->num_blocks ? s->blocks[index] : NULL);
}

int32_t relax_block_is_dataflow(const relax_block *block)
{
    return block && node_of(block)->kind == RLX_NODE_DATAFLOW_BLOCK;
}

size_t relax_block_num_bindings(const relax_block *block)
{
    const rlx_block *b = rlx_as_block(node_of(block));
    return b ? b->num_bindings : 0;
}

const relax_binding *relax_block_binding(const relax_block *block, size_t index)
{
    const rlx_block *b = rlx_as_block(node_of(block));
    return AS(binding, b && index < b->num_bindings ? b->bindings[index] : NULL);
}

const relax_expr *relax_binding_var(const relax_binding *binding)
{
    const rlx_var_binding *b = rlx_as_var_binding(node_of(binding));
    const rlx_match_cast *m = rlx_as_match_cast(node_of(binding));
    return AS(expr, b ? b->var : m ? m->var : NULL);
}

relax_place relax_binding_place(const relax_binding *binding)
{
    const rlx_node *b = node_of(binding);
    bool known = b && rlx_family_of(b) == RLX_FAMILY_BINDING;
    return known ? rlx_place_of(b) : RLX_NO_PLACE;
}

const relax_expr *relax_binding_value(const relax_binding *binding)
{
    const rlx_var_binding *b = rlx_as_var_binding(node_of(binding));
    const rlx_match_cast *m = rlx_as_match_cast(node_of(binding));
    return AS(expr, b ? b->value : m ? m->value : NULL);
}

const relax_struct_info *relax_binding_match(const relax_binding *binding)
{
    const rlx_match_cast *m = rlx_as_match_cast(node_of(binding));
    return AS(struct_info, m ? m->sinfo : NULL);
}

/* ---- modules */

static const rlx_module *module_of(const relax_module *m) { return rlx_as_module(node_of(m)); }

size_t relax_module_num_functions(const relax_module *module)
{
    return module_of(module) ? module_of(module)->num_functions : 0;
}

const relax_base_func *relax_module_function(const relax_module *module, size_t index)
{
    const rlx_module *m = module_of(module);
    return AS(base_func, m && index < m->num_functions ? m->functions[index] : NULL);
}

const relax_expr *relax_module_global_var(const relax_module *module, size_t index)
{
    const rlx_module *m = module_of(module);
    return AS(expr, m && index < m->num_gvars ? m->gvars[index] : NULL);
}

size_t relax_module_find(const relax_module *module, const char *name, size_t name_len)
{
    const rlx_module *m = module_of(module);
    int64_t at = m && name ? rlx_module_find(m, (rlx_slice){ name, name_len }) : -1;
    return at >= 0 ? (size_t)at : RELAX_NOT_FOUND;
}

const relax_attr *relax_module_attrs(const relax_module *module)
{
    return AS(attr, module_of(module) ? module_of(module)->attrs : NULL);
}

int32_t relax_base_func_kind(const relax_base_func *func)
{
    switch (func ? node_of(func)->kind : RLX_NODE_NONE) {
    case RLX_NODE_FUNCTION: return RELAX_FUNC_RELAX;
    case RLX_NODE_PRIM_FUNC: return RELAX_FUNC_PRIM;
    case RLX_NODE_EXTERN_FUNC: return RELAX_FUNC_EXTERN;
    default: return 0;
    }
}

const relax_struct_info *relax_base_func_struct_info(const relax_base_func *func)
{
    const rlx_function *f = rlx_as_function(node_of(func));
    const rlx_prim_func *p = rlx_as_prim_func(node_of(func));
    return AS(struct_info, f ? f->sinfo : p ? p->sinfo : NULL);
}

const relax_attr *relax_base_func_attrs(const relax_base_func *func)
{
    const rlx_function *f = rlx_as_function(node_of(func));
    const rlx_prim_func *p = rlx_as_prim_func(node_of(func));
    return AS(attr, f ? f->attrs : p ? p->attrs : NULL);
}

const relax_expr *relax_base_func_as_expr(const relax_base_func *func)
{
    int32_t kind = relax_base_func_kind(func);
    return AS(expr, kind == RELAX_FUNC_RELAX || kind == RELAX_FUNC_EXTERN ? func : NULL);
}

const relax_base_func *relax_expr_as_base_func(const relax_expr *e)
{
    bool is_one = rlx_as_function(EXPR(e)) || rlx_as_extern_func(EXPR(e));
    return AS(base_func, is_one ? e : NULL);
}

const relax_stmt *relax_base_func_body(const relax_base_func *func)
{
    const rlx_prim_func *p = rlx_as_prim_func(node_of(func));
    return AS(stmt, p ? p->body : NULL);
}

/* ---- any node */

const relax_node *relax_struct_info_as_node(const relax_struct_info *info)
{
    return AS(node, info);
}
const relax_node *relax_prim_expr_as_node(const relax_prim_expr *e) { return AS(node, e); }
const relax_node *relax_expr_as_node(const relax_expr *e) { return AS(node, e); }
const relax_node *relax_base_func_as_node(const relax_base_func *func) { return AS(node, func); }
const relax_node *relax_attr_as_node(const relax_attr *attr) { return AS(node, attr); }
const relax_node *relax_module_as_node(const relax_module *module) { return AS(node, module); }
const relax_node *relax_block_as_node(const relax_block *block) { return AS(node, block); }
const relax_node *relax_binding_as_node(const relax_binding *binding) { return AS(node, binding); }
const relax_node *relax_stmt_as_node(const relax_stmt *stmt) { return AS(node, stmt); }

static const void *in_family(const relax_node *node, enum rlx_family family)
{
    const rlx_node *n = node_of(node);
    return n && n->kind < RLX_NODE_COUNT && rlx_kinds[n->kind].family == family ? n : NULL;
}

const relax_struct_info *relax_node_as_struct_info(const relax_node *node)
{
    return in_family(node, RLX_FAMILY_SINFO);
}
const relax_prim_expr *relax_node_as_prim_expr(const relax_node *node)
{
    return in_family(node, RLX_FAMILY_PRIM);
}
const relax_expr *relax_node_as_expr(const relax_node *node)
{
    return in_family(node, RLX_FAMILY_EXPR);
}
const relax_attr *relax_node_as_attr(const relax_node *node)
{
    return in_family(node, RLX_FAMILY_ATTR);
}
const relax_block *relax_node_as_block(const relax_node *node)
{
    return in_family(node, RLX_FAMILY_BLOCK);
}
const relax_binding *relax_node_as_binding(const relax_node *node)
{
    return in_family(node, RLX_FAMILY_BINDING);
}
const relax_stmt *relax_node_as_stmt(const relax_node *node)
{
    return in_family(node, RLX_FAMILY_STMT);
}
const relax_module *relax_node_as_module(const relax_node *node)
{
    return in_family(node, RLX_FAMILY_MODULE);
}
const relax_base_func *relax_node_as_base_func(const relax_node *node)
{
    const relax_base_func *f = AS(base_func, node);
    return relax_base_func_kind(f) ? f : NULL;
}

const char *relax_node_kind_name(const relax_node *node)
{
    const rlx_node *n = node_of(node);
    return n && n->kind < RLX_NODE_COUNT ? rlx_kinds[n->kind].name : NULL;
}

int32_t relax_node_equal(relax_context *ctx, const relax_node *a, const relax_node *b,
                         int32_t map_free)
{
    bool out_of_memory = false;
    if (!RLX_API_CONTEXT(ctx))
        return 0;
    if (!rlx_api_required(ctx, a, "a") || !rlx_api_required(ctx, b, "b"))
        return give(ctx, NULL), 0;
    bool equal = rlx_equal(&ctx->memory, node_of(a), node_of(b), map_free != 0, &out_of_memory);
    return equal && !out_of_memory;
}

uint64_t relax_node_hash(relax_context *ctx, const relax_node *node)
{
    bool out_of_memory = false;
    return RLX_API_READS(ctx) && node ? rlx_hash(&ctx->memory, node_of(node), &out_of_memory) : 0;
}

typedef struct host_walk {
    int32_t (*enter)(void *user, const relax_node *node);
    int32_t (*leave)(void *user, const relax_node *node);
    void *user;
    /* interned nodes with parts: a sum of a sum with itself has few nodes and many ways to them */
    rlx_ptrmap opened;
    bool no_memory;
} host_walk;

static enum rlx_step step_of(int32_t answer)
{
    return answer == 0 ? RLX_STEP_ON : answer == 1 ? RLX_STEP_SKIP : RLX_STEP_STOP;
}

static enum rlx_step host_enter(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    host_walk *w = user;
    (void)via;
    (void)parent;
    enum rlx_step step = w->enter ? step_of(w->enter(w->user, AS(node, n))) : RLX_STEP_ON;
    if (step != RLX_STEP_ON || !(n->flags & RLX_FLAG_INTERNED) || !rlx_child_count(n))
        return step;
    if (rlx_ptrmap_has(&w->opened, n)) { /* entered and left, with nothing in between */
        step = w->leave ? step_of(w->leave(w->user, AS(node, n))) : RLX_STEP_ON;
        return step == RLX_STEP_STOP ? step : RLX_STEP_SKIP;
    }
    w->no_memory = !rlx_ptrmap_put(&w->opened, n, 1);
    return w->no_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

static enum rlx_step host_leave(void *user, const rlx_node *n)
{
    host_walk *w = user;
    return step_of(w->leave(w->user, AS(node, n)));
}

relax_status relax_node_walk(relax_context *ctx, const relax_node *node,
                             int32_t (*enter)(void *user, const relax_node *node),
                             int32_t (*leave)(void *user, const relax_node *node), void *user)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_node(ctx, node, "node"))
        return RLX_API_READS(ctx) ? give_status(ctx, RELAX_ERROR_INVALID_ARGUMENT)
                              : RELAX_ERROR_INVALID_ARGUMENT;
    host_walk host = { .enter = enter, .leave = leave, .user = user };
    rlx_ptrmap_init(&host.opened, &ctx->memory);
    rlx_walker w = {
        .enter = host_enter, .leave = leave ? host_leave : NULL, .user = &host, .annotations = true
    };
    bool out_of_memory = false;
    rlx_api_hold(ctx);
    enum rlx_step end = rlx_walk(&ctx->memory, node_of(node), &w, &out_of_memory);
    rlx_ptrmap_free(&host.opened);
    rlx_api_let_go(ctx);
    if (out_of_memory || host.no_memory)
        return RELAX_ERROR_OUT_OF_MEMORY;
    return end == RLX_STEP_STOP ? RELAX_ERROR_CANCELLED : RELAX_OK;
}

static bool copy_sources(relax_context *to, relax_context *from, uint32_t *map)
{
    for (size_t i = 0; i < from->diags.sources.len; i++) {
        const rlx_source *s = from->diags.sources.data[i];
        if (!s)
            continue;
        map[i + 1] = rlx_diags_add_read_source(&to->diags, (rlx_slice){ s->name, s->name_len },
                                               s->text, s->len);
        if (!map[i + 1])
            return false;
    }
    return true;
}

relax_module *relax_module_copy(relax_context *to, relax_context *from, const relax_module *module,
                                int32_t with_sources)
{
    if (!RLX_API_CONTEXT(to))
        return NULL;
    if (!rlx_api_required(to, RLX_API_READS(from) ? from : NULL, "from") ||
        !rlx_api_required(to, module, "module"))
        return give(to, NULL);
    if (!rlx_as_module(
            node_of(module))) /* of the other context: rlx_api_family asks for one of `to` */
        return give(to,
                    rlx_error(to, RLX_OP02, RLX_NO_PLACE, "module is a node of another family"));
    if (from == to)
        return give(to, module);
    size_t count = with_sources ? from->diags.sources.len + 1 : 1;
    uint32_t *map = rlx_mem_alloc_zero(&to->memory, count * sizeof *map);
    bool ok = map && (!with_sources || copy_sources(to, from, map));
    const rlx_node *copy = ok ? rlx_copy_to(to, node_of(module), map, count) : NULL;
    rlx_mem_free(&to->memory, map, count * sizeof *map);
    return give(to, rlx_module_made_of(rlx_as_module(copy), rlx_as_module(node_of(module))));
}

/* ---- collecting */

/* A pass of the host, or somebody with nodes in hand. */
static bool may_collect(relax_context *ctx)
{
    if (ctx->top)
        rlx_error(ctx, RLX_OP09, RLX_NO_PLACE,
                  "the context is running a pipeline: collect when it is done");
    else if (ctx->holders)
        rlx_error(
            ctx, RLX_OP09, RLX_NO_PLACE,
            "%zu builder%s or pipeline%s of the context are alive: destroy them before collecting",
            ctx->holders, ctx->holders == 1 ? "" : "s", ctx->holders == 1 ? "" : "s");
    else
        return true;
    return false;
}

/* Copies are modules that passes made; these stay what they were. */
static void keep_flags(const rlx_node *was, uint8_t flags)
{
    ((rlx_node *)(uintptr_t)was)->flags |= flags & (RLX_FLAG_STANDALONE | RLX_FLAG_AFTER_ERROR);
}

relax_status relax_context_collect(relax_context *ctx, relax_module **modules, size_t count)
{
    if (!RLX_API_CONTEXT(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(ctx), flag_bytes = count;
    const rlx_node **roots = (const rlx_node **)(void *)modules;
    if (!rlx_api_family_array(ctx, (const void *const *)(void *)modules, count, RLX_FAMILY_MODULE,
                              "modules") ||
        !may_collect(ctx))
        return rlx_api_failed(ctx, errors);
    uint8_t *flags = count ? rlx_mem_alloc(&ctx->memory, flag_bytes) : NULL;
    for (size_t i = 0; flags && i < count; i++)
        flags[i] = roots[i]->flags;
    bool good = (flags || !count) && rlx_context_collect(ctx, roots, count);
    for (size_t i = 0; good && i < count; i++)
        keep_flags(roots[i], flags[i]);
    ctx->collections += good;
    rlx_mem_free(&ctx->memory, flags, flag_bytes);
    return give_status(ctx, good ? RELAX_OK : RELAX_ERROR_OUT_OF_MEMORY);
}
