/*- plan_memory.c: tensors that stay inside a function get storage that is reused when they are
 * dead.
 *     a = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0),
 *                                R.str("global"))
 *     ->
 *     storage = R.memory.alloc_storage(R.shape([n * 4]), R.prim_value(0), R.str("global"),
 *                                      R.dtype("uint8"))
 *     a = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([n]), R.dtype("float32"))
 *     ...                                     (the last tensor in it dies here)
 *     _1 = R.memory.kill_storage(storage)
 * Views of such a tensor (memory.view) are tensors in its storage. A tensor of known size lies at an
 * offset in storage that it shares with others (plan_storage.c); so does one whose size is a large multiple of a symbolic one. With the attribute
 * relax.memory_plan_dynamic_func_output a result of bounded sizes has storage of its own for the largest.
 * needs: call_tir_rewrite. keeps: variables, struct info, order. Not planned: results, tensors
 * that reach a packed function, an impure or unknown function or a closure, tensors of local
 * functions, branch results made inside the branch. Sizes are numbers or expressions; a
 * symbolic one reuses storage only where it is provably no larger. */
#include "transform/plan_storage.h"
#include "transform/transform_int.h"

/* A function under planning: what happens at which event. */
typedef struct planned {
    rlx_plan plan;
    rlx_flow flow;
    rlx_ptrmap event_of;      /* binding -> its BIND event + 1, for allocations and last uses */
    uint32_t *kills;          /* by event: first storage + 1 that dies after it */
    const rlx_string *blank;
} planned;

/* ---- emitting ------------------------------------------------------------------------------- */

static const rlx_expr *storage_call(rlx_context *ctx, const rlx_plan_slot *s, rlx_place place)
{
    const rlx_prim *bytes = s->size ? s->size : rlx_int64(ctx, s->bytes);
    const rlx_expr *args[4] = { bytes ? rlx_shape_new(ctx, &bytes, 1) : NULL, s->device, s->scope,
                                rlx_dtype_imm_new(ctx, RELAX_UINT8) };
    return rlx_plain_call(ctx, "relax.memory.alloc_storage", args, 4, place);
}

static const rlx_var *make_storage(rlx_seq_pass *p, rlx_plan_slot *s, rlx_place place)
{
    if (!s->made) {
        s->var = rlx_seq_bind(p, "storage", p->ctx->object, storage_call(p->ctx, s, place), place);
        s->made = true;
    }
    return s->var;
}

/* Where the tensor of this event lies in its storage. */
static const rlx_prim *offset_at(rlx_context *ctx, const rlx_plan *plan, size_t at)
{
    const rlx_prim *unit = plan->storages.data[plan->storage_of[at]].unit;
    int64_t offset = plan->offset_of[plan->root_of[at]];
    const rlx_prim *begin = rlx_int64(ctx, offset);
    if (begin && unit && offset)
        begin = rlx_fold_mul(ctx, unit, begin);
    return begin && plan->shift_of[at] ? rlx_fold_add(ctx, begin, plan->shift_of[at]) : begin;
}

/* For builtin.alloc_tensor(shape, dtype, ...), or memory.view(tensor, shape, dtype, ...). */
static bool emit_tensor(rlx_seq_pass *p, size_t at, const rlx_binding *now)
{
    planned *d = p->user;
    const rlx_call *made = rlx_as_call(rlx_binding_value(now));
    rlx_plan_slot *s = &d->plan.storages.data[d->plan.storage_of[at]];
    bool view = rlx_is_op(made->op, RLX_OP_ID_MEMORY_VIEW);
    const rlx_prim *offset = offset_at(p->ctx, &d->plan, at);
    const rlx_expr *args[4] = { (const rlx_expr *)make_storage(p, s, made->place),
                                offset ? rlx_prim_value_new(p->ctx, offset) : NULL,
                                made->args[view], made->args[view + 1] };
    const rlx_expr *call =
        rlx_plain_call(p->ctx, "relax.memory.alloc_tensor", args, 4, made->place);
    return call && rlx_seq_emit(p, rlx_with_value(p->ctx, now, call));
}

static bool emit_kill(rlx_seq_pass *p, const rlx_plan_slot *s, rlx_place place)
{
    const planned *d = p->user;
    const rlx_expr *storage = (const rlx_expr *)s->var;
    const rlx_expr *call = rlx_plain_call(p->ctx, "relax.memory.kill_storage", &storage, 1, place);
    const rlx_var *v = call ? rlx_var_new(p->ctx, false, d->blank, -1, p->ctx->unit, place) : NULL;
    return v && rlx_seq_emit(p, rlx_var_binding_new(p->ctx, v, call, place));
}

static bool place_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    planned *d = p->user;
    uintptr_t at;
    if (!rlx_ptrmap_find(&d->event_of, old, &at))
        return rlx_seq_emit(p, now);
    bool planned_here = d->plan.storage_of[at - 1] != RLX_NO_STORAGE;
    if (!(planned_here ? emit_tensor(p, at - 1, now) : rlx_seq_emit(p, now)))
        return false;
    for (uint32_t k = d->kills[at - 1]; k; k = d->plan.storages.data[k - 1].next)
        if (!emit_kill(p, &d->plan.storages.data[k - 1], rlx_place_of(now)))
            return false;
    return true;
}

/* ---- where storages die --------------------------------------------------------------------- */

/* The binding in the storage's own sequence after which it is dead. */
static uint32_t death_of(const rlx_flow *w, const rlx_plan_slot *s)
{
    uint32_t at = s->last;
    uint32_t seq = w->events.data[at].seq;
    while (seq != s->seq) {
        at = w->seqs.data[seq].owner;
        seq = w->events.data[at].seq;
    }
    return at;
}

/* No kill where it would come between a call and the return of its value, or right before the
 * end of the function. */
static bool worth_killing(const rlx_flow *w, uint32_t at)
{
    const rlx_event *e = &w->events.data[at];
    const rlx_flow_seq *s = &w->seqs.data[e->seq];
    if (e->kind != RLX_EVENT_BIND || (const rlx_expr *)rlx_binding_var(e->binding) == s->result)
        return false;
    return e->seq != 0 || at + 1 < w->events.len;
}

static bool note_event(planned *d, rlx_context *ctx, uint32_t at)
{
    return rlx_ptrmap_put(&d->event_of, d->flow.events.data[at].binding, at + 1);
}

static bool schedule(planned *d, rlx_context *ctx)
{
    for (size_t i = d->plan.storages.len; i-- > 0;) {
        rlx_plan_slot *s = &d->plan.storages.data[i];
        uint32_t at = s->kept ? 0 : death_of(&d->flow, s);
        if (s->kept || !worth_killing(&d->flow, at))
            continue;
        s->next = d->kills[at];
        d->kills[at] = (uint32_t)i + 1;
        if (!note_event(d, ctx, at))
            return false;
    }
    for (size_t i = 0; i < d->flow.events.len; i++)
        if (d->plan.storage_of[i] != RLX_NO_STORAGE && !note_event(d, ctx, (uint32_t)i))
            return false;
    return true;
}

/* ---- functions ------------------------------------------------------------------------------ */

static const rlx_function *plan_one(rlx_seq_pass *p, const rlx_function *f)
{
    rlx_context *ctx = p->ctx;
    const rlx_module *m = p->module;
    planned *d = p->user;
    rlx_lifetimes life = { 0 };
    const rlx_function *out = NULL;
    d->plan = (rlx_plan){ 0 };
    d->kills = NULL;
    rlx_ptrmap_clear(&d->event_of);
    if (!rlx_flow_build(&d->flow, ctx, f) || !rlx_lifetimes_find(&life, ctx, m, &d->flow) ||
        !rlx_plan_function(&d->plan, ctx, m, f, &d->flow, &life))
        goto done;
    d->kills = rlx_mem_alloc_zero(&ctx->memory, (d->flow.events.len + 1) * sizeof *d->kills);
    if (!d->kills) {
        goto done;
    }
    if (!d->plan.storages.len)
        out = f;
    else if (schedule(d, ctx))
        out = rlx_seq_function(p, f);
    if (out && rlx_attrs_get(out->attrs, RLX_PLAN_OUTPUTS)) {
        const rlx_attr *rest = rlx_attrs_with(ctx, out->attrs, RLX_PLAN_OUTPUTS, NULL);
        out = rest ? rlx_function_with(ctx, out, out->body, rest) : NULL;
    }
done:
    rlx_mem_free(&ctx->memory, d->kills,
                 d->kills ? (d->flow.events.len + 1) * sizeof *d->kills : 0);
    rlx_plan_free(&d->plan, ctx);
    rlx_lifetimes_free(&life, ctx);
    rlx_flow_free(&d->flow, ctx);
    return out;
}

const rlx_module *rlx_pass_plan_memory(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    planned d = { .blank = rlx_string_z(ctx, "_") };
    rlx_seq_pass p;
    rlx_ptrmap_init(&d.event_of, &ctx->memory);
    rlx_seq_init(&p, ctx, m, &d);
    p.binding = place_binding;
    const rlx_module *out = d.blank ? rlx_seq_module_by(&p, m, plan_one) : NULL;
    rlx_seq_free(&p);
    rlx_ptrmap_free(&d.event_of);
    return out;
}
