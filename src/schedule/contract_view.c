/* contract_view.c: loops of a contraction that are one index of a buffer, and its accesses in a tile. */
#include "schedule/contract_int.h"

const rlx_plan_scope rlx_tiling_scope = { .knows = rlx_plan_knows_all, .widens = true };

int rlx_loop_dimension(const rlx_tiling *t, const rlx_plan_access *a, int loop)
{
    for (size_t d = 0; d < a->num_indices; d++)
        if (a->indices[d] == t->plan->loops[loop].var)
            return (int)d;
    return -1;
}

/* Does the loop stay below the size? What may not is checked when it runs, by the dimension that it is an index of. */
static bool fits(const rlx_tiling *t, int loop, const rlx_prim *size)
{
    return rlx_prove_compare(t->ctx, NULL, RLX_NODE_LE, rlx_tiling_extent(t, loop), size) == RLX_TRUE;
}

bool rlx_index_fits(const rlx_tiling *t, const rlx_prim *index, const rlx_prim *size)
{
    rlx_plan_view room;
    const rlx_tir_affine *a = rlx_plan_affine(t->ctx, &rlx_tiling_scope, t->plan, index, &room);
    if (!a)
        return false;
    const rlx_prim *least = rlx_fold_cast(t->ctx, RELAX_INT64, a->base), *greatest = least;
    for (size_t i = 0; i < t->plan->count; i++) {
        const rlx_prim *last = rlx_fold_sub(t->ctx, rlx_tiling_extent(t, (int)i), rlx_int64(t->ctx, 1));
        int64_t c = 0;
        if (a->coeff[i] && !rlx_int_literal(a->coeff[i], &c))
            return false;
        if (c)
            *(c < 0 ? &least : &greatest) = rlx_plan_add_product(
                t->ctx, c < 0 ? least : greatest, last, a->coeff[i]);
    }
    return rlx_prove_compare(t->ctx, NULL, RLX_NODE_GE, least, rlx_int64(t->ctx, 0)) == RLX_TRUE &&
           rlx_prove_compare(t->ctx, NULL, RLX_NODE_LT, greatest, size) == RLX_TRUE;
}

/* Dimensions behind merged ones have other numbers in a view: a failure would name the wrong one. */
static bool rest_fits(const rlx_tiling *t, const rlx_plan_access *a, size_t from)
{
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    for (size_t d = from; d < a->num_indices; d++)
        if (!rlx_index_fits(t, a->indices[d], rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[d])))
            return false;
    return true;
}

int rlx_merged_at(const rlx_tiling *t, const rlx_plan_access *a, const rlx_digits *d)
{
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    for (int p = 0; p + d->count <= (int)a->num_indices; p++) {
        bool all = true;
        for (int i = 0; i < d->count && all; i++) {
            const rlx_prim *size = rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[p + i]);
            all = a->indices[p + i] == t->plan->loops[d->at[i]].var &&
                  (size == rlx_tiling_extent(t, d->at[i]) || (i == 0 && fits(t, d->at[0], size)));
        }
        if (all && (d->count == 1 || rest_fits(t, a, (size_t)(p + d->count))))
            return p;
    }
    return -1;
}

const rlx_buffer *rlx_merged_view(const rlx_tiling *t, const rlx_plan_access *a,
                                  const rlx_digits *const *groups, int num_groups)
{
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    const rlx_prim *shape[RLX_TIR_MAX_DIMS];
    size_t ndim = 0;
    for (int p = 0; p < (int)b->num_shape; p++) {
        int width = 1;
        for (int g = 0; g < num_groups; g++)
            if (groups[g]->count > 1 && rlx_merged_at(t, a, groups[g]) == p)
                width = groups[g]->count;
        const rlx_prim *size = rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[p]);
        for (int i = 1; i < width; i++)
            size = rlx_fold_mul(t->ctx, size, rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[p + i]));
        shape[ndim++] = size;
        p += width - 1;
    }
    return ndim == b->num_shape ? b : rlx_view_new(t->ctx, b, shape, ndim);
}

size_t rlx_indices_in(const rlx_tiling *t, const rlx_plan_access *a, const rlx_buffer *buffer,
                      const rlx_lane_group *groups, int num_groups, const rlx_prim **out)
{
    rlx_rewriter r;
    size_t n = 0;
    bool ok = true, viewed = &buffer->node != a->buffer;
    rlx_tir_folder_init(&r, t->ctx);
    for (int g = 0; g < num_groups && ok; g++) {
        const rlx_digits *d = groups[g].d;
        for (int i = 0; i < d->count && ok; i++) {
            const rlx_prim *value = !groups[g].position ? groups[g].each[i]
                                    : d->count == 1     ? groups[g].position
                                                        : NULL;
            ok = !value || rlx_ptrmap_put(&r.map, t->plan->loops[d->at[i]].var, (uintptr_t)value);
        }
    }
    for (int p = 0; p < (int)a->num_indices && ok; p++) {
        const rlx_lane_group *here = NULL;
        for (int g = 0; g < num_groups && viewed; g++)
            if (groups[g].d->count > 1 && groups[g].position && rlx_merged_at(t, a, groups[g].d) == p)
                here = &groups[g];
        out[n++] = here ? here->position
                        : rlx_fold_cast(t->ctx, RELAX_INT64, rlx_rewrite(&r, a->indices[p]));
        ok = out[n - 1] != NULL;
        p += here ? here->d->count - 1 : 0;
    }
    rlx_rewriter_free(&r);
    return ok ? n : 0;
}

rlx_lane_group rlx_lanes_at(const rlx_tiling *t, const rlx_side *s, bool split, const rlx_prim *position)
{
    rlx_lane_group g = { .d = &s->lanes, .position = position };
    if (split && s->lanes.count > 1) {
        g.position = NULL;
        for (int i = s->lanes.count; i-- > 1; position = g.each[i - 1]) {
            const rlx_prim *width = rlx_tiling_extent(t, s->lanes.at[i]);
            g.each[i - 1] = rlx_fold_binary(t->ctx, RLX_NODE_FLOOR_DIV, position, width);
            g.each[i] = rlx_fold_binary(t->ctx, RLX_NODE_FLOOR_MOD, position, width);
        }
    }
    return g;
}
