/* plan_dimensions.c: loops that are one dimension of all that they move. */
#include "arith/arith.h"
#include "schedule/plan_int.h"

/* Does `outer` go on where `inner` ends, on all sides? */
static bool continues(rlx_context *ctx, size_t num_sides, const rlx_plan_dimension *outer,
                      const rlx_plan_dimension *inner)
{
    bool same = true;
    for (size_t k = 0; k < num_sides && same; k++) {
        const rlx_prim *end = rlx_fold_mul(ctx, inner->extent, inner->stride[k]);
        same = end && outer->stride[k] == end;
    }
    return same;
}

void rlx_plan_drop(rlx_plan_dimensions *d, size_t i)
{
    memmove(&d->at[i], &d->at[i + 1], (--d->count - i) * sizeof *d->at);
}

/* One pair of dimensions that are one becomes it. */
static bool merge_pair(rlx_context *ctx, size_t num_sides, rlx_plan_dimensions *d)
{
    for (size_t o = 0; o < d->count; o++)
        for (size_t i = 0; i < d->count; i++)
            if (i != o && continues(ctx, num_sides, &d->at[o], &d->at[i])) {
                d->at[i].extent = rlx_fold_mul(ctx, d->at[o].extent, d->at[i].extent);
                d->at[i].loops |= d->at[o].loops;
                rlx_plan_drop(d, o);
                return d->at[i - (o < i)].extent != NULL;
            }
    return false;
}

void rlx_plan_collect(rlx_context *ctx, const rlx_nest_plan *plan, const rlx_plan_access *const *sides,
                      size_t num_sides, rlx_plan_dimensions *out)
{
    const rlx_prim *zero = rlx_int64(ctx, 0);
    out->count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        rlx_plan_dimension *d = &out->at[out->count++];
        *d = (rlx_plan_dimension){ .extent = plan->loops[i].extent, .loops = (uint64_t)1 << i };
        for (size_t k = 0; k < num_sides; k++)
            d->stride[k] = sides[k] && sides[k]->offset.coeff[i] ? sides[k]->offset.coeff[i] : zero;
    }
    while (merge_pair(ctx, num_sides, out)) {
    }
}

void rlx_plan_take(rlx_nest_plan *plan, const rlx_plan_dimension *d)
{
    for (size_t i = 0; i < plan->count; i++)
        if (d->loops >> i & 1)
            plan->loops[i].role = RLX_PLAN_BOX;
}
