/* build.c: constructors of Relax expressions, bindings, blocks and functions. */
#include "ir/ir_int.h"

/* Nodes with a list have it behind themselves, in the same block. */
static void *new_with_list(rlx_context *ctx, size_t size, size_t count)
{
    size_t bytes;
    if (!rlx_mul_size(count, sizeof(rlx_node *), &bytes) || !rlx_add_size(bytes, size, &bytes))
        return rlx_mem_overflow(&ctx->memory), NULL;
    return rlx_new(ctx, bytes);
}

static const rlx_node *const *fill(void *list, const rlx_node *const *items, size_t count)
{
    if (!count)
        return NULL;
    memcpy(list, items, count * sizeof *items);
    return list;
}

static bool take_id(rlx_context *ctx, rlx_node *n)
{
    if (ctx->next_id == UINT32_MAX)
        return rlx_no_memory(ctx); /* the numbers have run out, and no more nodes can be had */
    n->id = ctx->next_id++;
    return true;
}

void *rlx_node_new(rlx_context *ctx, enum rlx_node_kind kind)
{
    if (rlx_kinds[kind].mode == RLX_MODE_INTERN)
        return RLX_BUG(ctx, "a node of kind %s is interned", rlx_kinds[kind].name);
    rlx_node *n = rlx_new_zero(ctx, rlx_kinds[kind].size);
    if (!n)
        return NULL;
    rlx_node_head(ctx, n, kind, 0);
    return rlx_kinds[kind].mode != RLX_MODE_IDENT || take_id(ctx, n) ? n : NULL;
}

const rlx_node *const *rlx_nodes_copy(rlx_context *ctx, const rlx_node *const *nodes, size_t count,
                                      bool *ok)
{
    const rlx_node **copy = count ? new_with_list(ctx, 0, count) : NULL;
    *ok = !count || copy;
    return *ok ? fill(copy, nodes, count) : NULL;
}

/* ---- constants */

static rlx_constant *constant_head(rlx_context *ctx, rlx_dtype dtype, const int64_t *shape,
                                   size_t ndim, rlx_place place)
{
    rlx_constant *c = new_with_list(ctx, sizeof *c, ndim);
    if (!c)
        return NULL;
    rlx_node_head(ctx, &c->node, RLX_NODE_CONSTANT, 0);
    c->place = place;
    c->dtype = dtype;
    c->shape = (const int64_t *)(c + 1);
    c->num_shape = ndim;
    c->sharding = NULL;
    if (ndim)
        memcpy(c + 1, shape, ndim * sizeof *shape);
    return c;
}

/* Hands the caller's reference over to the top layer. */
static bool keep_blob(rlx_context *ctx, rlx_blob *blob)
{
    if (rlx_vec_push(&ctx->memory, &ctx->layers[ctx->top].blobs, blob))
        return true;
    rlx_blob_release(blob);
    return false;
}

const rlx_expr *rlx_constant_blob(rlx_context *ctx, rlx_dtype dtype, const int64_t *shape,
                                  size_t ndim, rlx_blob *data, rlx_place place)
{
    if (!data || (ndim && !shape))
        return NULL;
    rlx_constant *c = constant_head(ctx, dtype, shape, ndim, place);
    if (!c || !keep_blob(ctx, rlx_blob_retain(data)))
        return NULL;
    c->data = data;
    return &c->node;
}

const rlx_expr *rlx_constant_distributed(rlx_context *ctx, const rlx_constant *c,
                                         const rlx_node *sharding, rlx_place place)
{
    rlx_constant *out = constant_head(ctx, c->dtype, c->shape, c->num_shape, place);
    if (!out || !keep_blob(ctx, rlx_blob_retain(c->data)))
        return NULL;
    out->data = c->data;
    out->sharding = sharding;
    return &out->node;
}

static bool tensor_bytes(rlx_dtype dtype, const int64_t *shape, size_t ndim, size_t *bytes)
{
    size_t n = rlx_dtype_bytes(dtype);
    for (size_t i = 0; i < ndim; i++)
        if (shape[i] < 0 || !rlx_mul_size(n, (size_t)shape[i], &n))
            return false;
    *bytes = n;
    return true;
}

const rlx_expr *rlx_constant_new(rlx_context *ctx, rlx_dtype dtype, const int64_t *shape,
                                 size_t ndim, const void *data, rlx_place place)
{
    size_t bytes;
    if (ndim && !shape)
        return NULL;
    if (!tensor_bytes(dtype, shape, ndim, &bytes))
        return rlx_mem_overflow(&ctx->memory), NULL;
    rlx_constant *c = constant_head(ctx, dtype, shape, ndim, place);
    rlx_blob *blob = c ? rlx_blob_create(&ctx->memory, data, bytes) : NULL;
    if (!blob || !keep_blob(ctx, blob))
        return NULL;
    c->data = blob;
    return &c->node;
}

/* ---- Relax expressions */

rlx_var *rlx_var_new(rlx_context *ctx, bool dataflow, const rlx_string *name, int32_t number,
                     const rlx_sinfo *sinfo, rlx_place place)
{
    rlx_var *v = name ? rlx_new(ctx, sizeof *v) : NULL;
    if (!v)
        return NULL;
    *v = (rlx_var){ .place = place, .name = name, .number = number, .sinfo = sinfo };
    rlx_node_head(ctx, &v->node, dataflow ? RLX_NODE_DATAFLOW_VAR : RLX_NODE_VAR, 0);
    return take_id(ctx, &v->node) ? v : NULL;
}

const rlx_global_var *rlx_global_var_new(rlx_context *ctx, const rlx_string *name, rlx_place place)
{
    rlx_global_var *v = name ? rlx_node_new(ctx, RLX_NODE_GLOBAL_VAR) : NULL;
    if (!v)
        return NULL;
    v->name = name;
    v->place = place;
    return v;
}

const rlx_expr *rlx_tuple_new(rlx_context *ctx, const rlx_expr *const *fields, size_t count,
                              rlx_place place)
{
    rlx_tuple *t = rlx_all_there(fields, count) ? new_with_list(ctx, sizeof *t, count) : NULL;
    if (!t)
        return NULL;
    rlx_node_head(ctx, &t->node, RLX_NODE_TUPLE, 0);
    t->place = place;
    t->fields = fill(t + 1, fields, count);
    t->num_fields = count;
    return &t->node;
}

const rlx_expr *rlx_seq_new(rlx_context *ctx, const rlx_node *const *blocks, size_t count,
                            const rlx_expr *body, rlx_place place)
{
    rlx_seq_expr *s =
        body && rlx_all_there(blocks, count) ? new_with_list(ctx, sizeof *s, count) : NULL;
    if (!s)
        return NULL;
    rlx_node_head(ctx, &s->node, RLX_NODE_SEQ_EXPR, 0);
    s->place = place;
    s->blocks = fill(s + 1, blocks, count);
    s->num_blocks = count;
    s->body = body;
    return &s->node;
}

const rlx_expr *rlx_if_new(rlx_context *ctx, const rlx_expr *cond, const rlx_expr *true_branch,
                           const rlx_expr *false_branch, rlx_place place)
{
    rlx_if_expr *e = cond && true_branch && false_branch ? rlx_node_new(ctx, RLX_NODE_IF) : NULL;
    if (!e)
        return NULL;
    e->place = place;
    e->cond = cond;
    e->true_branch = true_branch;
    e->false_branch = false_branch;
    return &e->node;
}

const rlx_expr *rlx_call_new(rlx_context *ctx, const rlx_expr *op, const rlx_expr *const *args,
                             size_t num_args, const rlx_sinfo *const *sinfo_args,
                             size_t num_sinfo_args, const rlx_attr *attrs, rlx_place place)
{
    if (!op || !rlx_all_there(args, num_args) || !rlx_all_there(sinfo_args, num_sinfo_args))
        return NULL;
    rlx_call *c = new_with_list(ctx, sizeof *c, num_args + num_sinfo_args);
    if (!c)
        return NULL;
    const rlx_node **list = (const rlx_node **)(c + 1);
    rlx_node_head(ctx, &c->node, RLX_NODE_CALL, 0);
    c->place = place;
    c->op = op;
    c->args = fill(list, args, num_args);
    c->num_args = num_args;
    c->sinfo_args = fill(list + num_args, sinfo_args, num_sinfo_args);
    c->num_sinfo_args = num_sinfo_args;
    c->attrs = attrs;
    return &c->node;
}

const rlx_expr *rlx_tuple_get_item_new(rlx_context *ctx, const rlx_expr *tuple, int64_t index,
                                       rlx_place place)
{
    rlx_tuple_get_item *t = tuple ? rlx_node_new(ctx, RLX_NODE_TUPLE_GET_ITEM) : NULL;
    if (!t)
        return NULL;
    t->place = place;
    t->tuple = tuple;
    t->index = index;
    return &t->node;
}

const rlx_function *rlx_function_new(rlx_context *ctx, const rlx_expr *const *params,
                                     size_t num_params, const rlx_expr *body,
                                     const rlx_sinfo *ret_sinfo, bool ret_stated, bool is_pure,
                                     const rlx_attr *attrs, const rlx_sinfo *sinfo,
                                     rlx_place place)
{
    rlx_function *f = body && rlx_all_there(params, num_params)
                          ? new_with_list(ctx, sizeof *f, num_params)
                          : NULL;
    if (!f)
        return NULL;
    *f = (rlx_function){ .place = place,
                         .body = body,
                         .ret_sinfo = ret_sinfo,
                         .is_pure = is_pure,
                         .ret_stated = ret_stated,
                         .attrs = attrs,
                         .sinfo = sinfo };
    rlx_node_head(ctx, &f->node, RLX_NODE_FUNCTION, 0);
    f->params = fill(f + 1, params, num_params);
    f->num_params = num_params;
    return f;
}

void rlx_function_take_places(const rlx_function *fresh, const rlx_function *old, bool result)
{
    rlx_function *f = (rlx_function *)(uintptr_t)fresh;
    f->attr_places = old->attr_places;
    f->num_attr_places = old->num_attr_places;
    if (!result)
        return;
    f->ret_places = old->ret_places;
    f->num_ret_places = old->num_ret_places;
}

const rlx_binding *rlx_var_binding_new(rlx_context *ctx, const rlx_var *var, const rlx_expr *value,
                                       rlx_place place)
{
    rlx_var_binding *b = var && value ? rlx_new(ctx, sizeof *b) : NULL;
    if (!b)
        return NULL;
    rlx_node_head(ctx, &b->node, RLX_NODE_VAR_BINDING, 0);
    b->place = place;
    b->value = value;
    b->var = &var->node;
    return &b->node;
}

const rlx_binding *rlx_match_cast_new(rlx_context *ctx, const rlx_var *var, const rlx_sinfo *sinfo,
                                      const rlx_expr *value, rlx_place place)
{
    rlx_match_cast *b = sinfo && value ? rlx_node_new(ctx, RLX_NODE_MATCH_CAST) : NULL;
    if (!b)
        return NULL;
    b->place = place;
    b->value = value;
    b->sinfo = sinfo;
    b->var = var ? &var->node : NULL;
    return &b->node;
}

const rlx_node *rlx_block_new(rlx_context *ctx, bool dataflow, const rlx_binding *const *bindings,
                              size_t count, rlx_place place)
{
    rlx_block *b = rlx_all_there(bindings, count) ? new_with_list(ctx, sizeof *b, count) : NULL;
    if (!b)
        return NULL;
    rlx_node_head(ctx, &b->node, dataflow ? RLX_NODE_DATAFLOW_BLOCK : RLX_NODE_BINDING_BLOCK, 0);
    b->place = place;
    b->bindings = fill(b + 1, bindings, count);
    b->num_bindings = count;
    return &b->node;
}

const rlx_expr *rlx_prim_value_new(rlx_context *ctx, const rlx_prim *value)
{
    rlx_prim_value key = { .node.kind = RLX_NODE_PRIM_VALUE, .value = value };
    return value ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_expr *rlx_string_imm_new(rlx_context *ctx, rlx_slice text)
{
    rlx_string_imm key = { .node.kind = RLX_NODE_STRING_IMM,
                           .value = rlx_string_intern(ctx, text) };
    return key.value ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_expr *rlx_dtype_imm_new(rlx_context *ctx, rlx_dtype dtype)
{
    rlx_dtype_imm key = { .node.kind = RLX_NODE_DTYPE_IMM, .value = dtype };
    return rlx_node_intern(ctx, &key.node);
}

const rlx_expr *rlx_extern_func_new(rlx_context *ctx, rlx_slice symbol)
{
    return rlx_extern_func_of(ctx, symbol, NULL);
}

const rlx_expr *rlx_extern_func_of(rlx_context *ctx, rlx_slice symbol, const rlx_sinfo *sinfo)
{
    rlx_extern_func key = { .node.kind = RLX_NODE_EXTERN_FUNC,
                            .symbol = rlx_string_intern(ctx, symbol),
                            .sinfo = sinfo };
    return key.symbol ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_expr *rlx_op_node(rlx_context *ctx, const rlx_op_row *row)
{
    if (!row)
        return NULL;
    rlx_op key = { .node.kind = RLX_NODE_OP, .name = rlx_string_z(ctx, row->name), .row = row };
    return key.name ? rlx_node_intern(ctx, &key.node) : NULL;
}

rlx_prim_func *rlx_prim_func_with_body(rlx_context *ctx, const rlx_prim_func *f,
                                       const rlx_stmt *body)
{
    rlx_prim_func *g = body ? rlx_node_new(ctx, RLX_NODE_PRIM_FUNC) : NULL;
    if (!g)
        return NULL;
    rlx_node head = g->node;
    *g = *f;
    g->node = head;
    g->body = body;
    return g;
}
