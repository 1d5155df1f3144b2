/*- place_views.c: a tensor that a kernel only copies, as it lies in another one, is that memory under
 * another shape.
 *     lv1 = R.builtin.alloc_tensor(R.shape([2, 6]), ...)
 *     _ = cls.reshape(lv, lv1)
 *     ->
 *     lv1 = R.memory.view(lv, R.shape([2, 6]), R.dtype("float32"), R.prim_value(0))
 * So are the parts of a split along the outermost dimension, and slices of it. What the kernel
 * does is read off its loops (rlx_find_copies); that the sizes fit it is proved, else the call
 * stays and checks them.
 * Copies stay: of what somebody writes, of what leaves the function (a result is no argument), in
 * an impure function of all that it has not allocated itself, as whoever is called may write there;
 * and small parts of large tensors that would live longer for them.
 * needs: call_tir_rewrite. keeps: variables, struct info, order. */
#include "transform/plan_lifetime.h"
#include "transform/transform_int.h"

/* What becomes of a binding. */
typedef struct view {
    const rlx_binding *allocation;
    const rlx_expr *of;
    const rlx_prim *offset;              /* bytes */
    uint32_t event;                      /* of the allocation */
    bool more;                           /* the next one is of the same call */
} view;
typedef struct placer {
    const rlx_module *module;
    rlx_written written;
    const rlx_function *function;
    rlx_flow flow;
    rlx_lifetimes life;
    uint32_t *root;                      /* by event: allocation + 1 whose memory it is; 0: none */
    rlx_scope scope;
    RLX_VEC(view) views;                 /* those of one call are together */
    rlx_ptrmap action;                   /* call -> first view + 1; allocation of a view -> 0 */
    rlx_ptrmap copies;                   /* PrimFunc -> its rlx_copied; NULL: it computes */
    RLX_VEC(const rlx_prim *) from, to;  /* variables of the kernel, what the call has for them */
} placer;

/* What the PrimFunc copies; NULL: it does more, or out of memory. */
static const rlx_copied *copies_of(rlx_seq_pass *p, const rlx_prim_func *f)
{
    placer *d = p->user;
    rlx_copied *c;
    if (rlx_ptrmap_has(&d->copies, f))
        return rlx_ptrmap_get(&d->copies, f);
    c = rlx_new(p->ctx, (f->num_params + 1) * sizeof *c);
    if (c && !rlx_find_copies(p->ctx, f, c))
        c = NULL;
    return rlx_ptrmap_put(&d->copies, f, (uintptr_t)c) ? c : NULL;
}

/* The value that a variable of the function is bound to, and its event; NULL: a parameter. */
static const rlx_expr *value_of(const placer *d, const rlx_expr *var, size_t *event)
{
    *event = rlx_flow_event_of(&d->flow, var);
    return *event == SIZE_MAX ? NULL : rlx_binding_value(d->flow.events.data[*event].binding);
}

static bool is_allocation(const rlx_expr *value)
{
    return rlx_is_call_op(value, RLX_OP_ID_BUILTIN_ALLOC_TENSOR) != NULL;
}

/* ---- the sizes of a call -------------------------------------------------------------------- */

static bool push_size(rlx_seq_pass *p, const rlx_prim *var, const rlx_prim *value)
{
    placer *d = p->user;
    return rlx_vec_push(&p->ctx->memory, &d->from, var) &&
           rlx_vec_push(&p->ctx->memory, &d->to, value);
}

static const rlx_prim *in_caller(rlx_seq_pass *p, const rlx_prim *of_kernel)
{
    placer *d = p->user;
    return rlx_substitute(p->ctx, of_kernel, d->from.data, d->to.data, d->from.len);
}

static bool is_bound(const placer *d, const rlx_prim *var)
{
    for (size_t i = 0; i < d->from.len; i++)
        if (d->from.data[i] == var)
            return true;
    return false;
}

/* The sizes that the call has for a buffer; NULL: they are not known. */
static const rlx_prim *const *given_dims(const rlx_buffer *b, const rlx_expr *arg)
{
    const rlx_tensor_sinfo *t = rlx_tensor_of_var(arg);
    size_t n = 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &n) : NULL;
    return dims && t->dtype == b->dtype && n == b->num_shape ? dims : NULL;
}

/* A variable that is a dimension by itself is bound to what the call gives it. */
static bool bind_dimensions(rlx_seq_pass *p, const rlx_buffer *b, const rlx_prim *const *dims)
{
    bool good = dims != NULL;
    for (size_t i = 0; good && i < b->num_shape; i++)
        if (rlx_as_prim_var(b->shape[i]) && !is_bound(p->user, b->shape[i]))
            good = push_size(p, b->shape[i], rlx_fold_cast(p->ctx, rlx_prim_dtype(b->shape[i]), dims[i]));
    return good;
}

/* Does each dimension that the kernel declares surely have the size that the call gives it? */
static bool fits_buffer(rlx_seq_pass *p, const rlx_buffer *b, const rlx_prim *const *dims)
{
    const placer *d = p->user;
    bool fits = true;
    for (size_t i = 0; fits && i < b->num_shape; i++) {
        const rlx_prim *want = in_caller(p, b->shape[i]);
        want = want ? rlx_fold_cast(p->ctx, RELAX_INT64, want) : NULL;
        fits = rlx_prove_equal_sizes(p->ctx, &d->scope, want, rlx_fold_cast(p->ctx, RELAX_INT64, dims[i])) == RLX_EQUAL;
    }
    return fits;
}

/* Would no check of the kernel's sizes fail? Binds its variables, which later parameters may be the first to have alone. */
static bool fits_call(rlx_seq_pass *p, const rlx_prim_func *f, const rlx_call *call)
{
    placer *d = p->user;
    bool fits = call->num_args == f->num_params;
    d->from.len = d->to.len = 0;
    for (size_t i = 0; fits && i < f->num_params; i++) {
        const rlx_buffer *b = i < f->num_buffers ? rlx_as_buffer(f->buffers[i]) : NULL;
        const rlx_prim_value *number = rlx_as_prim_value(call->args[i]);
        fits = b ? bind_dimensions(p, b, given_dims(b, call->args[i]))
                 : number && rlx_prim_dtype(number->value) == rlx_prim_dtype(f->params[i]) &&
                       push_size(p, f->params[i], number->value);
    }
    for (size_t i = 0; fits && i < f->num_buffers; i++) {
        const rlx_buffer *b = rlx_as_buffer(f->buffers[i]);
        fits = !b || fits_buffer(p, b, given_dims(b, call->args[i]));
    }
    return fits;
}

/* ---- may it be a view? ---------------------------------------------------------------------- */

/* Nobody writes to it as long as the function runs. */
static bool stays_as_it_is(const placer *d, const rlx_expr *x)
{
    size_t event;
    const rlx_expr *value = value_of(d, x, &event);
    return rlx_as_var(x) && !rlx_is_written(&d->written, x) &&
           (d->function->is_pure || (value && d->root[event]));
}

/* Can the allocated variable do without memory of its own? `run`: the first of the allocations right
 * before the call. */
static bool may_be_view(const placer *d, const rlx_expr *v, uint32_t run, uint32_t at,
                        uint32_t *event)
{
    size_t e;
    const rlx_expr *value = value_of(d, v, &e);
    *event = (uint32_t)e;
    return value && is_allocation(value) && e >= run && e < at && !d->life.escapes[e] &&
           !rlx_is_written(&d->written, v) &&
           rlx_binding_var(d->flow.events.data[e].binding)->sinfo == ((const rlx_var *)v)->sinfo;
}

static bool same_place(const rlx_expr *a, const rlx_expr *b)
{
    const rlx_tensor_sinfo *s = rlx_tensor_of_var(a), *t = rlx_tensor_of_var(b);
    return s && t && s->dtype == t->dtype && s->vdevice == t->vdevice;
}

/* a <= b */
static bool surely_fits(rlx_seq_pass *p, const rlx_prim *a, const rlx_prim *b)
{
    const placer *d = p->user;
    return a && b && !rlx_is_long_size(a) && !rlx_is_long_size(b) &&
           (rlx_prove_equal(p->ctx, &d->scope, a, b) == RLX_EQUAL ||
            rlx_prove_compare(p->ctx, &d->scope, RLX_NODE_LE, a, b) == RLX_TRUE);
}

/* Does the part lie in what it is a part of? */
static bool lies_inside(rlx_seq_pass *p, const rlx_copied *c)
{
    if (c->all && rlx_is_int_value(c->offset, 0))
        return true;
    const rlx_prim *offset = in_caller(p, c->offset), *elements = in_caller(p, c->elements),
                   *whole = in_caller(p, c->whole), *zero = rlx_int64(p->ctx, 0);
    const rlx_prim *end = offset && elements ? rlx_fold_add(p->ctx, offset, elements) : NULL;
    return surely_fits(p, zero, offset) && surely_fits(p, end, whole);
}

static bool add_view(rlx_seq_pass *p, const rlx_call *call, size_t i, const rlx_copied *copied,
                     uint32_t event)
{
    placer *d = p->user;
    rlx_dtype dtype = rlx_tensor_of_var(call->args[i])->dtype;
    const rlx_prim *offset = in_caller(p, copied->offset);
    offset = offset ? rlx_fold_mul(p->ctx, offset,
                                   rlx_int64(p->ctx, (int64_t)rlx_dtype_bytes(dtype)))
                    : NULL;
    view v = { d->flow.events.data[event].binding, call->args[copied->of], offset, event, false };
    return offset && rlx_vec_push(&p->ctx->memory, &d->views, v);
}

/* The bytes of a variable's tensor; NULL: not known. */
static const rlx_prim *bytes_of(rlx_seq_pass *p, const rlx_expr *var)
{
    const rlx_tensor_sinfo *t = rlx_tensor_of_var(var);
    size_t n = 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &n) : NULL;
    const rlx_prim *bytes =
        dims ? rlx_int64(p->ctx, (int64_t)rlx_dtype_bytes(t->dtype)) : NULL;
    for (size_t i = 0; bytes && i < n; i++)
        bytes = rlx_fold_mul(p->ctx, bytes, dims[i]);
    return bytes;
}

/* Parts that outlive the rest of what was allocated with them keep all of it: fine for half of it. */
static bool is_worth_keeping(rlx_seq_pass *p, size_t first)
{
    const placer *d = p->user;
    size_t event;
    uint32_t last = 0, root = 0;
    const rlx_prim *kept = rlx_int64(p->ctx, 0);
    for (size_t i = first; kept && i < d->views.len; i++) {
        const view *v = &d->views.data[i];
        const rlx_prim *bytes = bytes_of(p, &rlx_binding_var(v->allocation)->node);
        last = d->life.end[v->event] > last ? d->life.end[v->event] : last;
        kept = bytes ? rlx_fold_add(p->ctx, kept, bytes) : NULL;
        root = value_of(d, v->of, &event) ? d->root[event] : 0;
    }
    if (!root || d->life.escapes[root - 1] || last <= d->life.end[root - 1])
        return true;
    const rlx_prim *whole =
        bytes_of(p, &rlx_binding_var(d->flow.events.data[root - 1].binding)->node);
    if (surely_fits(p, whole, kept))
        return true;
    kept = kept ? rlx_fold_mul(p->ctx, kept, rlx_int64(p->ctx, 2)) : NULL;
    return surely_fits(p, whole, kept);
}

/* The call and the allocations of what it makes give way to views. */
static bool replace_call(rlx_seq_pass *p, uint32_t at, size_t first)
{
    placer *d = p->user;
    bool good = rlx_ptrmap_put(&d->action, d->flow.events.data[at].binding, first + 1);
    for (size_t i = first; good && i < d->views.len; i++) {
        const view *v = &d->views.data[i];
        size_t event;
        uint32_t root = value_of(d, v->of, &event) ? d->root[event] : 0;
        d->root[v->event] = root;
        d->views.data[i].more = i + 1 < d->views.len;
        if (root && d->life.end[root - 1] < d->life.end[v->event])
            d->life.end[root - 1] = d->life.end[v->event];
        good = rlx_ptrmap_put(&d->action, v->allocation, 0);
    }
    return good;
}

static bool look_at_call(rlx_seq_pass *p, uint32_t at, uint32_t run, const rlx_call *call)
{
    placer *d = p->user;
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    int64_t index = gv ? rlx_module_index(d->module, gv) : -1;
    const rlx_prim_func *f = index < 0 ? NULL : rlx_as_prim_func(d->module->functions[index]);
    const rlx_copied *c = f ? copies_of(p, f) : NULL;
    size_t first = d->views.len;
    bool good = c && fits_call(p, f, call);
    for (size_t i = 0; good && i < f->num_params; i++) {
        uint32_t event;
        if (c[i].of >= 0)
            good = may_be_view(d, call->args[i], run, at, &event) &&
                   stays_as_it_is(d, call->args[c[i].of]) &&
                   same_place(call->args[i], call->args[c[i].of]) &&
                   lies_inside(p, &c[i]) && add_view(p, call, i, &c[i], event);
    }
    if (good && d->views.len > first && is_worth_keeping(p, first))
        return replace_call(p, at, first);
    d->views.len = first;
    return !p->ctx->diags.out_of_memory;
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool look_at_event(rlx_seq_pass *p, uint32_t at, uint32_t *run)
{
    placer *d = p->user;
    const rlx_event *e = &d->flow.events.data[at];
    const rlx_expr *value = e->kind == RLX_EVENT_BIND ? rlx_binding_value(e->binding) : NULL;
    bool cast = e->kind == RLX_EVENT_BIND && e->binding->kind == RLX_NODE_MATCH_CAST;
    if (cast && !rlx_scope_enter(&d->scope, ((const rlx_match_cast *)e->binding)->sinfo))
        return false;
    if (value && !cast && is_allocation(value)) {
        d->root[at] = at + 1;
        return true;
    }
    uint32_t first = *run;
    *run = at + 1;
    return !rlx_as_call(value) || cast || look_at_call(p, at, first, rlx_as_call(value));
}

static const rlx_function *place_in(rlx_seq_pass *p, const rlx_function *f)
{
    placer *d = p->user;
    rlx_context *ctx = p->ctx;
    const rlx_function *out = NULL;
    uint32_t run = 0;
    d->function = f;
    d->root = NULL;
    d->views.len = 0;
    d->life = (rlx_lifetimes){ 0 };
    rlx_ptrmap_clear(&d->action);
    rlx_scope_init(&d->scope, ctx, NULL);
    bool good = rlx_flow_build(&d->flow, ctx, f) &&
                rlx_lifetimes_find(&d->life, ctx, d->module, &d->flow) &&
                rlx_scope_enter_function(&d->scope, f);
    size_t n = d->flow.events.len;
    d->root = good ? rlx_mem_alloc_zero(&ctx->memory, (n + 1) * sizeof *d->root) : NULL;
    good = d->root != NULL;
    for (size_t i = 0; good && i < n; i++)
        good = look_at_event(p, (uint32_t)i, &run);
    if (good)
        out = d->views.len ? rlx_seq_function(p, f) : f;
    rlx_mem_free(&ctx->memory, d->root, d->root ? (n + 1) * sizeof *d->root : 0);
    rlx_scope_free(&d->scope);
    rlx_lifetimes_free(&d->life, ctx);
    rlx_flow_free(&d->flow, ctx);
    return out;
}

static bool emit_view(rlx_seq_pass *p, const view *v)
{
    const rlx_call *alloc = rlx_as_call(rlx_binding_value(v->allocation));
    const rlx_expr *args[4] = { v->of, alloc->args[0], alloc->args[1],
                                rlx_prim_value_new(p->ctx, v->offset) };
    const rlx_expr *call = rlx_plain_call(p->ctx, "relax.memory.view", args, 4, alloc->place);
    return call && rlx_seq_emit(p, rlx_with_value(p->ctx, v->allocation, call));
}

static bool place_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    placer *d = p->user;
    uintptr_t action;
    if (!rlx_ptrmap_find(&d->action, old, &action))
        return rlx_seq_emit(p, now);
    for (bool more = action != 0; more; action++) {
        const view *v = &d->views.data[action - 1];
        if (!emit_view(p, v))
            return false;
        more = v->more;
    }
    return true;
}

const rlx_module *rlx_pass_place_views(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    placer d = { .module = m };
    rlx_seq_pass p;
    rlx_ptrmap_init(&d.action, &ctx->memory);
    rlx_ptrmap_init(&d.copies, &ctx->memory);
    rlx_seq_init(&p, ctx, m, &d);
    p.binding = place_binding;
    const rlx_module *out = rlx_find_written(ctx, m, &d.written) ? rlx_seq_module_by(&p, m, place_in) : NULL;
    rlx_seq_free(&p);
    rlx_ptrmap_free(&d.action);
    rlx_ptrmap_free(&d.copies);
    rlx_vec_free(&ctx->memory, &d.views);
    rlx_vec_free(&ctx->memory, &d.from);
    rlx_vec_free(&ctx->memory, &d.to);
    rlx_written_free(&d.written);
    return out;
}
