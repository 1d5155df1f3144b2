/*- place_parts.c: tensors that a kernel only joins are made where they will lie.
 *     a = R.builtin.alloc_tensor(R.shape([1, 4, 16]), ...)       c = R.builtin.alloc_tensor(R.shape([1, 7, 16]), ...)
 *     _ = cls.exp(x, a)                                          a = R.memory.view(c, R.shape([1, 4, 16]), .., 0)
 *     b = R.builtin.alloc_tensor(R.shape([1, 3, 16]), ...)       _ = cls.exp(x, a)
 *     _ = cls.tanh(y, b)                                   ->    b = R.memory.view(c, R.shape([1, 3, 16]), .., 256)
 *     c = R.builtin.alloc_tensor(R.shape([1, 7, 16]), ...)       _ = cls.tanh(y, b)
 *     _ = cls.concat(a, b, c)
 * What the kernel does is read off its loops (rlx_find_joins). What has been joined may be a part in its turn, as in networks that join
 * what they have so far with what is new.
 * Copies stay: of what somebody writes to later, of what the function has not allocated itself, of tensors of symbolic sizes, of parts
 * that would begin at odd places; and where the memory of what is joined, which is needed sooner then, would be more than the function
 * needs at its largest.
 * needs: call_tir_rewrite. keeps: variables, struct info. */
#include "transform/plan_lifetime.h"
#include "transform/transform_int.h"

enum {
    MOST_SPAN = 4096,        /* events that are gone through for one call */
    ALIGNED = 16             /* bytes */
};

/* An allocation, by its event. */
typedef struct made {
    uint32_t whole;                      /* event + 1 of what it is a part of; 0: nothing */
    uint32_t begin, end;                 /* events between which it is needed; begin: where it is made */
    uint32_t first, next;                /* event + 1: the first of those made here, the next one made where this is */
    int64_t bytes, offset;               /* bytes 0: it is none, or its size is not known */
} made;

typedef struct placer {
    const rlx_module *module;
    rlx_written written;
    rlx_flow flow;
    rlx_lifetimes life;
    made *at;                            /* by event */
    int64_t *live, peak;                 /* bytes that are needed at an event; the most of them */
    rlx_ptrmap action;                   /* allocation -> its event + 1; call that joined -> 0 */
    rlx_ptrmap joins;                    /* PrimFunc -> its rlx_copied; NULL: it does something else */
    bool any;
} placer;

/* The call under way. */
typedef struct joint { const rlx_call *call; const rlx_copied *parts; size_t count, whole; uint32_t at; } joint;

static const rlx_copied *joins_of(rlx_seq_pass *p, const rlx_prim_func *f)
{
    placer *d = p->user;
    rlx_copied *c;
    if (rlx_ptrmap_has(&d->joins, f))
        return rlx_ptrmap_get(&d->joins, f);
    c = rlx_new(p->ctx, (f->num_params + 1) * sizeof *c);
    if (c && !rlx_find_joins(p->ctx, f, c))
        c = NULL;
    return rlx_ptrmap_put(&d->joins, f, (uintptr_t)c) ? c : NULL;
}

/* Bytes of a tensor; 0: not known, or too many. */
static int64_t bytes_of(const rlx_tensor_sinfo *t)
{
    size_t n = 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &n) : NULL;
    int64_t bytes = t ? (int64_t)rlx_dtype_bytes(t->dtype) : 0, size;
    for (size_t i = 0; dims && i < n && bytes; i++)
        if (!rlx_int_literal(dims[i], &size) || size < 1 || !rlx_mul_i64(bytes, size, &bytes))
            bytes = 0;
    return dims ? bytes : 0;
}

static const rlx_call *allocation_at(const placer *d, size_t at)
{
    const rlx_event *e = &d->flow.events.data[at];
    const bool binds = e->kind == RLX_EVENT_BIND && e->binding->kind == RLX_NODE_VAR_BINDING;
    return binds ? rlx_is_call_op(rlx_binding_value(e->binding), RLX_OP_ID_BUILTIN_ALLOC_TENSOR) : NULL;
}

/* ---- what may be a part of what --------------------------------------------------------------- */

/* Does the kernel take the tensor of that very shape? Then its sizes need no check. */
static bool is_taken_as_it_is(const rlx_prim_func *f, size_t i, const rlx_expr *arg)
{
    const rlx_buffer *b = i < f->num_buffers ? rlx_as_buffer(f->buffers[i]) : NULL;
    const rlx_tensor_sinfo *t = rlx_tensor_of_var(arg);
    size_t n = 0;
    int64_t declared, given;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &n) : NULL;
    bool is = b && dims && t->dtype == b->dtype && n == b->num_shape;
    for (size_t d = 0; d < n && is; d++)
        is = rlx_int_literal(b->shape[d], &declared) && rlx_int_literal(dims[d], &given) && declared == given;
    return is;
}

/* May the tensor be memory that others have a part in? *event: that of its allocation. */
static bool may_share(const placer *d, const rlx_expr *v, uint32_t *event)
{
    const size_t e = rlx_as_var(v) ? rlx_flow_event_of(&d->flow, v) : SIZE_MAX;
    if (e == SIZE_MAX || !d->at[e].bytes || d->at[e].whole || d->life.escapes[e] || rlx_is_written(&d->written, v))
        return false;
    *event = (uint32_t)e;
    return rlx_binding_var(d->flow.events.data[e].binding)->sinfo == ((const rlx_var *)v)->sinfo;
}

/* Allocated alike, and seen by the same bindings? */
static bool is_alike(rlx_seq_pass *p, const rlx_expr *v, uint32_t a, const rlx_expr *w, uint32_t b)
{
    const placer *d = p->user;
    const rlx_call *x = allocation_at(d, a), *y = allocation_at(d, b);
    const rlx_tensor_sinfo *s = rlx_tensor_of_var(v), *t = rlx_tensor_of_var(w);
    bool lost = false, alike = v->kind == w->kind && d->flow.events.data[a].seq == d->flow.events.data[b].seq && s->vdevice == t->vdevice &&
                               x->num_args == y->num_args && x->num_args >= 2;
    for (size_t i = 2; alike && i < x->num_args; i++)
        alike = rlx_equal(&p->ctx->memory, x->args[i], y->args[i], false, &lost) && !lost;
    return alike;
}

/* Where a part begins in bytes, where it is known. */
static bool offset_of(const joint *j, size_t i, int64_t *offset)
{
    return rlx_int_literal(j->parts[i].offset, offset) && *offset >= 0 &&
           rlx_mul_i64(*offset, (int64_t)rlx_dtype_bytes(rlx_tensor_of_var(j->call->args[i])->dtype), offset) && *offset % ALIGNED == 0;
}

/* Are the parts, one behind the other, all of what is joined? */
static bool are_all(const placer *d, const joint *j, const uint32_t *event)
{
    int64_t end = 0, offset;
    for (size_t done = 0; done + 1 < j->count; done++) {
        size_t i = 0;
        while (i < j->count && (i == j->whole || !offset_of(j, i, &offset) || offset != end))
            i++;
        if (i == j->count)
            return false;
        if (!rlx_add_i64(end, d->at[event[i]].bytes, &end))
            return false;
    }
    return end == d->at[event[j->whole]].bytes;
}

/* ---- memory ------------------------------------------------------------------------------------- */

static bool is_needed(const made *m, uint32_t at) { return m->begin <= at && at <= m->end; }

/* What is needed at an event once parts and whole are one, less what was. */
static int64_t change_at(const placer *d, const joint *j, const uint32_t *event, uint32_t at)
{
    int64_t before = 0;
    for (size_t i = 0; i < j->count; i++)
        before += is_needed(&d->at[event[i]], at) ? d->at[event[i]].bytes : 0;
    return d->at[event[j->whole]].bytes - before;
}

/* The events between which all of it is needed. */
static void find_span(const placer *d, const joint *j, const uint32_t *event, uint32_t *begin, uint32_t *end)
{
    *begin = UINT32_MAX, *end = 0;
    for (size_t i = 0; i < j->count; i++) {
        const made *m = &d->at[event[i]];
        *begin = m->begin < *begin ? m->begin : *begin;
        *end = m->end > *end ? m->end : *end;
    }
}

/* Does the function need no more memory so? Then that is what it needs. */
static bool take_memory(placer *d, const joint *j, const uint32_t *event)
{
    uint32_t begin, end;
    find_span(d, j, event, &begin, &end);
    bool fits = end - begin <= MOST_SPAN;
    for (uint32_t at = begin; at <= end && fits; at++)
        fits = d->live[at] + change_at(d, j, event, at) <= d->peak;
    for (uint32_t at = begin; at <= end && fits; at++)
        d->live[at] += change_at(d, j, event, at);
    return fits;
}

/* ---- calls -------------------------------------------------------------------------------------- */

/* The whole is made where the first of its parts is, in front of it. */
static bool replace(rlx_seq_pass *p, const joint *j, const uint32_t *event)
{
    placer *d = p->user;
    made *whole = &d->at[event[j->whole]];
    uint32_t begin, end;
    find_span(d, j, event, &begin, &end);
    bool good = rlx_ptrmap_put(&d->action, d->flow.events.data[j->at].binding, 0);
    for (size_t i = 0; i < j->count && good; i++) {
        made *m = &d->at[event[i]];
        good = rlx_ptrmap_put(&d->action, d->flow.events.data[event[i]].binding, event[i] + 1);
        if (i == j->whole)
            continue;
        m->whole = event[j->whole] + 1;
        good = good && offset_of(j, i, &m->offset);
    }
    whole->first = 0; /* nothing else is made there: parts come in front of it */
    whole->next = d->at[begin].first;
    d->at[begin].first = event[j->whole] + 1;
    whole->begin = begin, whole->end = end;
    d->any = true;
    return good;
}

static bool look_at_call(rlx_seq_pass *p, uint32_t at, const rlx_call *call)
{
    placer *d = p->user;
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    int64_t index = gv ? rlx_module_index(d->module, gv) : -1;
    const rlx_prim_func *f = index < 0 ? NULL : rlx_as_prim_func(d->module->functions[index]);
    joint j = { .call = call, .parts = f ? joins_of(p, f) : NULL, .count = call->num_args, .at = at };
    uint32_t *event = NULL;
    bool good = j.parts && f->num_params == j.count && j.count > 2 && (event = rlx_mem_alloc(&p->ctx->memory, j.count * sizeof *event)) != NULL;
    for (size_t i = 0, wholes = 0; i < j.count && good; i++) {
        if (j.parts[i].of < 0)
            j.whole = i, wholes++;
        good = wholes < 2 && is_taken_as_it_is(f, i, call->args[i]) && may_share(d, call->args[i], &event[i]) && event[i] < at &&
               d->flow.events.data[event[i]].seq == d->flow.events.data[at].seq;
        for (size_t k = 0; k < i && good; k++)
            good = event[k] != event[i];
    }
    for (size_t i = 0; i < j.count && good; i++)
        good = is_alike(p, call->args[i], event[i], call->args[j.whole], event[j.whole]) &&
               (i == j.whole || d->at[event[i]].begin < event[j.whole]);
    good = !good || !are_all(d, &j, event) || !take_memory(d, &j, event) || replace(p, &j, event);
    rlx_mem_free(&p->ctx->memory, event, event ? j.count * sizeof *event : 0);
    return good && !p->ctx->diags.out_of_memory;
}

/* ---- functions ---------------------------------------------------------------------------------- */

static bool note_allocations(placer *d, size_t n)
{
    bool fits = true;
    for (size_t e = 0; e < n && fits; e++) {
        made *m = &d->at[e];
        if (!allocation_at(d, e) || !(m->bytes = bytes_of(rlx_tensor_of_var(&rlx_binding_var(d->flow.events.data[e].binding)->node))))
            continue;
        m->begin = (uint32_t)e, m->end = d->life.end[e], m->first = (uint32_t)e + 1;
        fits = rlx_add_i64(d->live[e], m->bytes, &d->live[e]) && rlx_sub_i64(d->live[m->end + 1], m->bytes, &d->live[m->end + 1]);
    }
    d->peak = 0;
    for (size_t e = 0; e < n && fits; e++) {
        fits = e == 0 || rlx_add_i64(d->live[e], d->live[e - 1], &d->live[e]);
        d->peak = fits && d->live[e] > d->peak ? d->live[e] : d->peak;
    }
    return fits;
}

static const rlx_function *place_in(rlx_seq_pass *p, const rlx_function *f)
{
    placer *d = p->user;
    rlx_memory *m = &p->ctx->memory;
    d->at = NULL;
    d->live = NULL;
    d->life = (rlx_lifetimes){ 0 };
    d->any = false;
    rlx_ptrmap_clear(&d->action);
    bool good = rlx_flow_build(&d->flow, p->ctx, f) && rlx_lifetimes_find(&d->life, p->ctx, d->module, &d->flow);
    const size_t n = d->flow.events.len;
    good = good && (d->at = rlx_mem_alloc_zero(m, (n + 1) * sizeof *d->at)) && (d->live = rlx_mem_alloc_zero(m, (n + 2) * sizeof *d->live));
    const bool known = good && note_allocations(d, n);
    for (size_t i = 0; i < n && good && known; i++) {
        const rlx_event *e = &d->flow.events.data[i];
        const rlx_expr *value = e->kind == RLX_EVENT_BIND && e->binding->kind == RLX_NODE_VAR_BINDING ? rlx_binding_value(e->binding) : NULL;
        good = !value || !rlx_as_call(value) || look_at_call(p, (uint32_t)i, rlx_as_call(value));
    }
    const rlx_function *out = !good ? NULL : d->any ? rlx_seq_function(p, f) : f;
    rlx_mem_free(m, d->at, d->at ? (n + 1) * sizeof *d->at : 0);
    rlx_mem_free(m, d->live, d->live ? (n + 2) * sizeof *d->live : 0);
    rlx_lifetimes_free(&d->life, p->ctx);
    rlx_flow_free(&d->flow, p->ctx);
    return out;
}

static bool emit(rlx_seq_pass *p, uint32_t event)
{
    const placer *d = p->user;
    const made *m = &d->at[event];
    const rlx_binding *b = d->flow.events.data[event].binding;
    if (!m->whole)
        return rlx_seq_emit(p, b);
    const rlx_call *alloc = allocation_at(d, event);
    const rlx_prim *offset = rlx_int64(p->ctx, m->offset);
    const rlx_expr *args[4] = { &rlx_binding_var(d->flow.events.data[m->whole - 1].binding)->node, alloc->args[0], alloc->args[1],
                                offset ? rlx_prim_value_new(p->ctx, offset) : NULL };
    const rlx_expr *call = args[3] ? rlx_plain_call(p->ctx, "relax.memory.view", args, 4, alloc->place) : NULL;
    return call && rlx_seq_emit(p, rlx_with_value(p->ctx, b, call));
}

static bool place_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const placer *d = p->user;
    uintptr_t action;
    bool good = true;
    if (!rlx_ptrmap_find(&d->action, old, &action))
        return rlx_seq_emit(p, now);
    for (uint32_t e = action ? d->at[action - 1].first : 0; e && good; e = d->at[e - 1].next)
        good = emit(p, e - 1);
    return good;
}

const rlx_module *rlx_pass_place_parts(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    placer d = { .module = m };
    rlx_seq_pass p;
    rlx_ptrmap_init(&d.action, &ctx->memory);
    rlx_ptrmap_init(&d.joins, &ctx->memory);
    rlx_seq_init(&p, ctx, m, &d);
    p.binding = place_binding;
    const rlx_module *out = rlx_find_written(ctx, m, &d.written) ? rlx_seq_module_by(&p, m, place_in) : NULL;
    rlx_seq_free(&p);
    rlx_ptrmap_free(&d.action);
    rlx_ptrmap_free(&d.joins);
    rlx_written_free(&d.written);
    return out;
}
