/* plan_fill.c: the nest that gives sums their first values. */
#include "arith/arith.h"
#include "schedule/plan_int.h"

/* Does the sum stand still along the loop? */
static bool is_summed(const rlx_nest_plan *n, int loop)
{
    const rlx_nest_loop *l = &n->loops[loop];
    return !rlx_plan_moves(&n->accesses.data[n->fused.acc], loop) &&
           !(l->determined && rlx_is_int_value(l->extent, 1));
}

/* What stands inside of loops that are those of the sum which move its place; r puts these for them. NULL: others. */
static const rlx_stmt *body_of(rlx_rewriter *r, const rlx_nest_plan *n, const rlx_stmt *fill)
{
    const rlx_stmt *body = fill;
    for (size_t i = 0; i < n->count; i++) {
        const rlx_nest_loop *l = &n->loops[i];
        const rlx_for_stmt *f = rlx_as_for_stmt(body);
        if (is_summed(n, (int)i))
            continue;
        if (!f || f->for_kind == RLX_FOR_THREAD_BINDING ||
            rlx_fold_cast(r->ctx, RELAX_INT64, f->extent) != l->extent ||
            rlx_fold_cast(r->ctx, RELAX_INT64, f->min) != l->min ||
            !rlx_ptrmap_put(&r->map, f->loop_var, (uintptr_t)l->var))
            return NULL;
        body = f->body;
    }
    return body;
}

const rlx_prim *rlx_plan_first_stored(rlx_context *ctx, const rlx_nest_plan *n, const rlx_stmt *fill)
{
    const rlx_plan_access *acc = &n->accesses.data[n->fused.acc];
    rlx_rewriter r;
    rlx_tir_folder_init(&r, ctx);
    const rlx_stmt *body = body_of(&r, n, fill);
    const rlx_buffer_store *s = body ? rlx_as_buffer_store(body) : NULL;
    bool same = s && !s->predicate && s->buffer == acc->buffer && s->num_indices == acc->num_indices &&
                (s->value->kind == RLX_NODE_FLOAT_IMM || s->value->kind == RLX_NODE_INT_IMM);
    for (size_t d = 0; same && d < s->num_indices; d++)
        same = rlx_rewrite(&r, s->indices[d]) == acc->indices[d];
    rlx_rewriter_free(&r);
    return same ? s->value : NULL;
}

const rlx_prim *rlx_plan_first_value(rlx_context *ctx, const rlx_nest_plan *n,
                                     const rlx_for_stmt *fill)
{
    return rlx_plan_first_stored(ctx, n, &fill->node);
}
