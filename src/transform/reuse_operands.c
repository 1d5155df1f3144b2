/*- reuse_operands.c: a result is written over an operand that dies in its kernel.
 *     lv1 = R.builtin.alloc_tensor(R.shape([n, 4]), ...)
 *     _ = cls.relu(lv, lv1)               (the last use of lv)
 *     ... lv1 ...
 *     ->
 *     _ = cls.relu(lv, lv)
 *     ... lv ...
 * Where the kernel has read what it overwrites (rlx_find_same_place; so after schedule_tir), both are
 * of one size, and the operand is memory of this function that nothing holds on to. A result of
 * another dtype or another form of the same sizes is a memory.view of the operand.
 * needs: call_tir_rewrite. keeps: order, struct info, variables but those of such results. Results of
 * the function have memory of their own, which may be the caller's. */
#include "transform/plan_lifetime.h"
#include "transform/transform_int.h"

typedef struct reuse { const rlx_expr *operand; bool renamed; } reuse;
typedef struct reuser {
    const rlx_module *module;
    rlx_flow flow;
    rlx_lifetimes life;
    uint32_t *root;                   /* by event: allocation + 1 whose memory it is, all of it; 0: none */
    uint32_t *taken;                  /* by allocation: event + 1 of the last call that overwrites it */
    rlx_scope scope;
    RLX_VEC(reuse) reuses;
    rlx_ptrmap action;                /* allocation -> reuse + 1 */
    rlx_ptrmap same_place;            /* PrimFunc -> what rlx_find_same_place says; NULL: nothing */
} reuser;

static const int32_t *same_place_of(rlx_seq_pass *p, const rlx_prim_func *f)
{
    reuser *d = p->user;
    int32_t *into;
    if (rlx_ptrmap_has(&d->same_place, f))
        return rlx_ptrmap_get(&d->same_place, f);
    into = rlx_new(p->ctx, (f->num_params + 1) * sizeof *into);
    if (into && !rlx_find_same_place(p->ctx, f, into))
        into = NULL;
    return rlx_ptrmap_put(&d->same_place, f, (uintptr_t)into) ? into : NULL;
}

static const rlx_call *allocation_at(const reuser *d, size_t event)
{
    return rlx_is_call_op(rlx_binding_value(d->flow.events.data[event].binding),
                          RLX_OP_ID_BUILTIN_ALLOC_TENSOR);
}

/* ---- may it be overwritten? ----------------------------------------------------------------- */

static bool same_bytes(rlx_seq_pass *p, const rlx_expr *a, const rlx_expr *b)
{
    const reuser *d = p->user;
    const rlx_tensor_sinfo *s = rlx_tensor_of_var(a), *t = rlx_tensor_of_var(b);
    size_t m = 0, n = 0;
    const rlx_prim *const *x = s ? rlx_shape_dims(s->shape, &m) : NULL;
    const rlx_prim *const *y = t ? rlx_shape_dims(t->shape, &n) : NULL;
    bool same = x && y && m == n && s->vdevice == t->vdevice &&
                rlx_dtype_bytes(s->dtype) == rlx_dtype_bytes(t->dtype);
    for (size_t i = 0; same && i < n; i++)
        same = rlx_prove_equal_sizes(p->ctx, &d->scope, x[i], y[i]) == RLX_EQUAL;
    return same;
}

static uint32_t root_of(const reuser *d, const rlx_expr *e)
{
    size_t event = rlx_as_var(e) ? rlx_flow_event_of(&d->flow, e) : SIZE_MAX;
    return event == SIZE_MAX ? 0 : d->root[event];
}

static bool same_memory_kind(const rlx_call *a, const rlx_call *b)
{
    return a && b && a->num_args == 4 && b->num_args == 4 && a->args[2] == b->args[2] &&
           a->args[3] == b->args[3];
}

/* Does the memory of argument i die here, and is it read for output `out` alone? */
static bool dies_here(const reuser *d, const rlx_call *call, const int32_t *into, size_t i,
                      size_t out, uint32_t at)
{
    uint32_t root = root_of(d, call->args[i]);
    if (!root || d->life.escapes[root - 1] || d->life.end[root - 1] != at ||
        d->taken[root - 1] == at + 1)
        return false;
    for (size_t k = 0; k < call->num_args; k++)
        if (root_of(d, call->args[k]) == root &&
            (call->args[k] != call->args[i] || into[k] != (int32_t)out))
            return false;
    return true;
}

/* The argument that output `out`, allocated in `event`, may overwrite; -1: none. */
static int64_t operand_for(rlx_seq_pass *p, const rlx_call *call, const int32_t *into, size_t out,
                           uint32_t at, uint32_t event, uint32_t run)
{
    const reuser *d = p->user;
    const rlx_call *alloc = allocation_at(d, event);
    for (size_t i = 0; i < call->num_args; i++)
        if (into[i] == (int32_t)out && dies_here(d, call, into, i, out, at) &&
            rlx_flow_event_of(&d->flow, call->args[i]) < run &&
            same_memory_kind(allocation_at(d, root_of(d, call->args[i]) - 1), alloc) &&
            same_bytes(p, call->args[i], call->args[out]))
            return (int64_t)i;
    return -1;
}

static bool take_operand(rlx_seq_pass *p, const rlx_expr *operand, const rlx_expr *result,
                         uint32_t at, uint32_t event)
{
    reuser *d = p->user;
    uint32_t root = root_of(d, operand);
    reuse r = { operand, ((const rlx_var *)operand)->sinfo == ((const rlx_var *)result)->sinfo };
    d->root[event] = root;
    d->taken[root - 1] = at + 1;
    d->life.end[root - 1] = d->life.end[event];
    return rlx_vec_push(&p->ctx->memory, &d->reuses, r) &&
           rlx_ptrmap_put(&d->action, d->flow.events.data[event].binding, d->reuses.len);
}

/* `run`: the first of the allocations right before the call. */
static bool look_at_call(rlx_seq_pass *p, uint32_t at, uint32_t run, const rlx_call *call)
{
    const reuser *d = p->user;
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    int64_t index = gv ? rlx_module_index(d->module, gv) : -1;
    const rlx_prim_func *f = index < 0 ? NULL : rlx_as_prim_func(d->module->functions[index]);
    const int32_t *into = f && f->num_params == call->num_args ? same_place_of(p, f) : NULL;
    for (size_t i = run; into && i < at; i++) {
        const rlx_expr *result = &rlx_binding_var(d->flow.events.data[i].binding)->node;
        size_t out = 0;
        while (out < call->num_args && call->args[out] != result)
            out++;
        int64_t operand = out < call->num_args && !d->life.escapes[i]
                              ? operand_for(p, call, into, out, at, (uint32_t)i, run)
                              : -1;
        if (operand >= 0 && !take_operand(p, call->args[operand], result, at, (uint32_t)i))
            return false;
    }
    return !p->ctx->diags.out_of_memory;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* A view of all of a tensor is that memory. */
static uint32_t root_of_view(rlx_seq_pass *p, const rlx_binding *b)
{
    const reuser *d = p->user;
    const rlx_call *view = rlx_is_call_op(rlx_binding_value(b), RLX_OP_ID_MEMORY_VIEW);
    const rlx_prim_value *offset =
        view && view->num_args == 4 ? rlx_as_prim_value(view->args[3]) : NULL;
    uint32_t root = offset && rlx_is_int_value(offset->value, 0) ? root_of(d, view->args[0]) : 0;
    const rlx_tensor_sinfo *s = rlx_tensor_of_var(&rlx_binding_var(b)->node),
                           *t = root ? rlx_tensor_of_var(view->args[0]) : NULL;
    if (!s || !t || s->dtype != t->dtype)
        return 0;
    size_t m = 0, n = 0;
    const rlx_prim *const *x = rlx_shape_dims(s->shape, &m), *const *y = rlx_shape_dims(t->shape, &n);
    const rlx_prim *a = rlx_int64(p->ctx, 1), *c = a;
    for (size_t i = 0; x && a && i < m; i++)
        a = rlx_fold_mul(p->ctx, a, x[i]);
    for (size_t i = 0; y && c && i < n; i++)
        c = rlx_fold_mul(p->ctx, c, y[i]);
    return x && y && rlx_prove_equal_sizes(p->ctx, &d->scope, a, c) == RLX_EQUAL ? root : 0;
}

static bool look_at_event(rlx_seq_pass *p, uint32_t at, uint32_t *run)
{
    reuser *d = p->user;
    const rlx_event *e = &d->flow.events.data[at];
    bool cast = e->kind == RLX_EVENT_BIND && e->binding->kind == RLX_NODE_MATCH_CAST;
    if (cast && !rlx_scope_enter(&d->scope, ((const rlx_match_cast *)e->binding)->sinfo))
        return false;
    uint32_t first = *run;
    if (e->kind == RLX_EVENT_BIND && !cast && allocation_at(d, at)) {
        d->root[at] = at + 1;
        return true;
    }
    *run = at + 1;
    const rlx_call *call =
        e->kind == RLX_EVENT_BIND && !cast ? rlx_as_call(rlx_binding_value(e->binding)) : NULL;
    if (call && rlx_binding_var(e->binding))
        d->root[at] = root_of_view(p, e->binding);
    return !call || look_at_call(p, at, first, call);
}

static const rlx_function *reuse_in(rlx_seq_pass *p, const rlx_function *f)
{
    reuser *d = p->user;
    rlx_context *ctx = p->ctx;
    const rlx_function *out = NULL;
    uint32_t run = 0;
    d->root = d->taken = NULL;
    d->reuses.len = 0;
    d->life = (rlx_lifetimes){ 0 };
    rlx_ptrmap_clear(&d->action);
    rlx_scope_init(&d->scope, ctx, NULL);
    bool good = rlx_flow_build(&d->flow, ctx, f) &&
                rlx_lifetimes_find(&d->life, ctx, d->module, &d->flow) &&
                rlx_scope_enter_function(&d->scope, f);
    size_t n = d->flow.events.len, size = (n + 1) * sizeof *d->root;
    if (good) {
        d->root = rlx_mem_alloc_zero(&ctx->memory, size);
        d->taken = rlx_mem_alloc_zero(&ctx->memory, size);
    }
    good = d->root && d->taken;
    for (size_t i = 0; good && i < n; i++)
        good = look_at_event(p, (uint32_t)i, &run);
    if (good)
        out = d->reuses.len ? rlx_seq_function(p, f) : f;
    rlx_mem_free(&ctx->memory, d->root, d->root ? size : 0);
    rlx_mem_free(&ctx->memory, d->taken, d->taken ? size : 0);
    rlx_scope_free(&d->scope);
    rlx_lifetimes_free(&d->life, ctx);
    rlx_flow_free(&d->flow, ctx);
    return out;
}

static bool place_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const reuser *d = p->user;
    uintptr_t action;
    if (!rlx_ptrmap_find(&d->action, old, &action))
        return rlx_seq_emit(p, now);
    const reuse *r = &d->reuses.data[action - 1];
    const rlx_call *alloc = rlx_as_call(rlx_binding_value(now));
    const rlx_expr *operand = rlx_seq_rename(p, r->operand);
    const rlx_prim *zero = rlx_int64(p->ctx, 0);
    if (!operand || !zero)
        return false;
    if (r->renamed)
        return rlx_seq_replace(p, &rlx_binding_var(old)->node, operand);
    const rlx_expr *args[4] = { operand, alloc->args[0], alloc->args[1],
                                rlx_prim_value_new(p->ctx, zero) };
    const rlx_expr *view = rlx_plain_call(p->ctx, "relax.memory.view", args, 4, alloc->place);
    return view && rlx_seq_emit(p, rlx_with_value(p->ctx, now, view));
}

const rlx_module *rlx_pass_reuse_operands(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    reuser d = { .module = m };
    rlx_seq_pass p;
    rlx_ptrmap_init(&d.action, &ctx->memory);
    rlx_ptrmap_init(&d.same_place, &ctx->memory);
    rlx_seq_init(&p, ctx, m, &d);
    p.binding = place_binding;
    const rlx_module *out = rlx_seq_module_by(&p, m, reuse_in);
    rlx_seq_free(&p);
    rlx_ptrmap_free(&d.action);
    rlx_ptrmap_free(&d.same_place);
    rlx_vec_free(&ctx->memory, &d.reuses);
    return out;
}
