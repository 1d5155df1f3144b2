/*- dataflow_use_inplace_calls: an elementwise operator in a dataflow block overwrites an operand that
 * nobody needs any more.
 *     z = R.add(x, y)
 *     a = R.add(z, y)                  (the last use of z)
 *     ->
 *     z = R.add(x, y)
 *     a = R.call_tir_inplace(cls.add_inplace, (z, y), inplace_indices=[0], out_sinfo=...)
 * So do add, subtract, multiply, divide, relu and silu, with the first operand that fits: of the
 * result's shape and dtype, made in the same block, no output of it, and dead here with all that may
 * share its memory. The PrimFunc is the operator's own lowering, which writes into the operand's buffer
 * where it has read from it (rlx_find_same_place).
 * needs: normal form. keeps: variables, struct info, order. */
#include "transform/plan_lifetime.h"
#include "transform/transform_int.h"

typedef struct user {
    const rlx_module *module;
    rlx_module_builder *mb, *scratch;  /* lowerings that are not kept */
    rlx_lower_cache *cache;
    rlx_flow flow;
    rlx_lifetimes life;
    uint32_t *root;                    /* by event: binding + 1 that made the memory; 0: not known */
    const rlx_op_row *inplace;
} user;

static const char *const operators[] = { "relax.add",      "relax.subtract", "relax.multiply",
                                         "relax.divide",   "relax.nn.relu",  "relax.nn.silu" };

static bool is_supported(const rlx_call *call)
{
    const rlx_op *op = rlx_as_op(call->op);
    for (size_t i = 0; op && i < RLX_COUNT(operators); i++)
        if (rlx_slice_is(rlx_string_slice(op->name), operators[i]))
            return true;
    return false;
}

/* ---- which operands ------------------------------------------------------------------------- */

static uint32_t root_of(const user *u, const rlx_expr *e)
{
    size_t event = rlx_as_var(e) ? rlx_flow_event_of(&u->flow, e) : SIZE_MAX;
    return event == SIZE_MAX ? 0 : u->root[event];
}

/* The binding whose memory the value of this one is. */
static uint32_t root_at(const user *u, uint32_t at)
{
    const rlx_binding *b = u->flow.events.data[at].binding;
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_call *call = rlx_as_call(value);
    const rlx_op *op = call ? rlx_as_op(call->op) : NULL;
    if (rlx_as_var(value))
        return root_of(u, value);
    if (!op || !op->row || b->kind != RLX_NODE_VAR_BINDING)
        return 0;
    bool makes = op->row->id == RLX_OP_ID_CALL_TIR ||
                 (op->row->lower && !(op->row->flags & RLX_OP_ALIAS));
    return makes ? at + 1 : 0;
}

static bool same_tensor(rlx_seq_pass *p, const rlx_sinfo *a, const rlx_sinfo *b)
{
    const rlx_tensor_sinfo *s = rlx_as_tensor_sinfo(a), *t = rlx_as_tensor_sinfo(b);
    size_t m = 0, n = 0;
    const rlx_prim *const *x = s ? rlx_shape_dims(s->shape, &m) : NULL;
    const rlx_prim *const *y = t ? rlx_shape_dims(t->shape, &n) : NULL;
    bool same = x && y && m == n && s->dtype == t->dtype && s->vdevice == t->vdevice;
    for (size_t i = 0; same && i < n; i++)
        same = rlx_prove_equal_sizes(p->ctx, &p->scope, x[i], y[i]) == RLX_EQUAL;
    return same;
}

/* Is the variable memory of this block that dies in this binding? */
static bool dies_here(const user *u, const rlx_expr *e, uint32_t at)
{
    uint32_t root = root_of(u, e);
    return root && e->kind == RLX_NODE_DATAFLOW_VAR && !u->life.escapes[root - 1] &&
           u->life.end[root - 1] == at &&
           rlx_binding_var(u->flow.events.data[root - 1].binding)->node.kind ==
               RLX_NODE_DATAFLOW_VAR;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Items without item `left_out`; NULL: out of memory. */
static const void *without(rlx_context *ctx, const void *items, size_t count, size_t left_out)
{
    const void *const *from = items;
    const void **to = rlx_new(ctx, (count + 1) * sizeof *to);
    for (size_t i = 0, n = 0; to && i < count; i++)
        if (i != left_out)
            to[n++] = from[i];
    return to;
}

/* f, which writes parameter `out` into the buffer of parameter `in`. */
static const rlx_prim_func *overwriting(rlx_context *ctx, const rlx_prim_func *f, size_t in,
                                        size_t out)
{
    const rlx_buffer *from = rlx_as_buffer(f->buffers[out]), *to = rlx_as_buffer(f->buffers[in]);
    rlx_rewriter r;
    rlx_rewriter_init(&r, ctx);
    bool good = rlx_ptrmap_put(&r.map, from, (uintptr_t)to) &&
                rlx_ptrmap_put(&r.map, from->data, (uintptr_t)to->data);
    rlx_prim_func *g =
        good ? rlx_prim_func_with_body(ctx, f, (const rlx_stmt *)rlx_rewrite(&r, f->body)) : NULL;
    rlx_rewriter_free(&r);
    if (!g)
        return NULL;
    g->params = without(ctx, f->params, f->num_params, out);
    g->buffers = without(ctx, f->buffers, f->num_buffers, out);
    g->num_params--;
    g->num_buffers--;
    return g->params && g->buffers ? g : NULL;
}

/* May output `out` of the lowering be written into `in`? */
static bool may_overwrite(rlx_context *ctx, const rlx_prim_func *f, size_t in, size_t out)
{
    size_t size = (f->num_params + 1) * sizeof(int32_t);
    int32_t *into = rlx_mem_alloc(&ctx->memory, size);
    bool may = into && out < f->num_params && f->num_buffers == f->num_params &&
               rlx_find_same_place(ctx, f, into) && into[in] == (int32_t)out;
    rlx_mem_free(&ctx->memory, into, into ? size : 0);
    return may;
}

/* The call that overwrites `operand`; NULL: there is none. */
static const rlx_expr *inplace_call(rlx_seq_pass *p, const rlx_call *call, const rlx_sinfo *result,
                                    const rlx_expr *operand)
{
    user *u = p->user;
    rlx_context *ctx = p->ctx;
    const rlx_call *lowered =
        rlx_as_call(rlx_op_lower_cached(u->cache, &p->scope, call, result, NULL));
    const rlx_global_var *gv =
        lowered && lowered->num_args == 2 ? rlx_as_global_var(lowered->args[0]) : NULL;
    const rlx_tuple *args = gv ? rlx_as_tuple(lowered->args[1]) : NULL;
    const rlx_prim_func *f = rlx_as_prim_func(gv ? rlx_module_builder_function(u->scratch, gv) : NULL);
    size_t in = 0;
    while (args && in < args->num_fields && args->fields[in] != operand)
        in++;
    if (!f || !args || in == args->num_fields || !may_overwrite(ctx, f, in, args->num_fields))
        return NULL;
    const rlx_prim_func *g = overwriting(ctx, f, in, args->num_fields);
    g = g ? rlx_as_prim_func(rlx_copy_fresh(ctx, &g->node)) : NULL; /* variables of its own */
    char name[80];
    snprintf(name, sizeof name, "%.60s_inplace", gv->name->data);
    gv = g ? rlx_module_builder_add(u->mb, rlx_slice_z(name), &g->node) : NULL;
    const rlx_attr *index = rlx_attr_int_new(ctx, (int64_t)in);
    const rlx_attr *key = rlx_attr_string_new(ctx, RLX_SLICE("inplace_indices")),
                   *indices = index ? rlx_attr_list_new(ctx, &index, 1) : NULL;
    const rlx_attr *attrs = key && indices ? rlx_attrs_new(ctx, &key, &indices, 1) : NULL;
    const rlx_expr *both[2] = { gv ? &gv->node : NULL, &args->node };
    return gv && attrs ? rlx_call_op_sinfo(ctx, u->inplace, both, 2, lowered->sinfo_args, 1, attrs,
                                           call->place)
                       : NULL;
}

static bool rewrite_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    user *u = p->user;
    const rlx_call *call = rlx_as_call(rlx_binding_value(now));
    const rlx_var *var = rlx_binding_var(old);
    size_t at = var ? rlx_flow_event_of(&u->flow, &var->node) : SIZE_MAX;
    const rlx_expr *better = NULL;
    if (call && at != SIZE_MAX && now->kind == RLX_NODE_VAR_BINDING && rlx_seq_in_dataflow(p) &&
        is_supported(call))
        for (size_t i = 0; !better && i < call->num_args; i++)
            if (dies_here(u, call->args[i], (uint32_t)at) &&
                same_tensor(p, ((const rlx_var *)call->args[i])->sinfo, var->sinfo))
                better = inplace_call(p, call, var->sinfo, call->args[i]);
    return !p->ctx->diags.out_of_memory &&
           rlx_seq_emit(p, better ? rlx_with_value(p->ctx, now, better) : now);
}

static const rlx_function *use_in(rlx_seq_pass *p, const rlx_function *f)
{
    user *u = p->user;
    rlx_memory *m = &p->ctx->memory;
    u->life = (rlx_lifetimes){ 0 };
    u->root = NULL;
    const rlx_function *out = NULL;
    bool good = rlx_flow_build(&u->flow, p->ctx, f) &&
                rlx_lifetimes_find(&u->life, p->ctx, u->module, &u->flow);
    size_t n = u->flow.events.len, size = (n + 1) * sizeof *u->root;
    u->root = good ? rlx_mem_alloc_zero(m, size) : NULL;
    for (size_t i = 0; u->root && i < n; i++)
        if (u->flow.events.data[i].kind == RLX_EVENT_BIND)
            u->root[i] = root_at(u, (uint32_t)i);
    if (u->root)
        out = rlx_seq_function(p, f);
    rlx_mem_free(m, u->root, u->root ? size : 0);
    rlx_lifetimes_free(&u->life, p->ctx);
    rlx_flow_free(&u->flow, p->ctx);
    return out;
}

const rlx_module *rlx_pass_dataflow_use_inplace_calls(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    const rlx_module *out = NULL;
    user u = { .module = m,
               .mb = rlx_module_builder_create(ctx, m),
               .scratch = rlx_module_builder_create(ctx, m),
               .inplace = rlx_op_find(RLX_SLICE("call_tir_inplace")) };
    rlx_seq_pass p;
    rlx_seq_init(&p, ctx, m, &u);
    p.binding = rewrite_binding;
    p.use_scope = true;
    u.cache = u.scratch ? rlx_lower_cache_create(ctx, u.scratch) : NULL;
    bool good = u.mb && u.cache;
    for (size_t i = 0; good && i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        const rlx_function *now = f && f->body ? use_in(&p, f) : f;
        good = now == f || (now && rlx_module_builder_define(
                                       u.mb, rlx_as_global_var(m->gvars[i]), &now->node));
    }
    if (good)
        out = rlx_module_builder_finish(u.mb, m->place);
    rlx_seq_free(&p);
    rlx_lower_cache_free(u.cache);
    rlx_module_builder_free(u.scratch);
    rlx_module_builder_free(u.mb);
    return out;
}
