/*- plan_gather.c: nests that copy rows from where integers say.
 *
 *     for l, i:    Y[l, i] = X[P[l], i]                 i: the row, l: the strip
 *
 * Along the row nothing is computed; places of many rows are computed together, a strip of them, and one instruction copies.
 */
#include "arith/arith.h"
#include "schedule/plan_int.h"

enum { SHORTEST_ROW = 4, FEWEST_ROWS = 4 };

/* Its range is checked in front of the nest, and the row runs through it one by one, or not at all. */
static bool is_even(const rlx_nest_plan *n, const rlx_tir_affine *a, int row)
{
    int64_t c;
    bool is = !a->coeff[row] || rlx_is_int_value(a->coeff[row], 1);
    for (size_t i = 0; i < n->count && is; i++)
        is = !a->coeff[i] || rlx_int_literal(a->coeff[i], &c);
    return is;
}

/* Is what is read contiguous along the row? `moved`: indices that are computed row by row. */
static bool is_row(rlx_context *ctx, const rlx_plan_scope *scope, const rlx_nest_plan *n, const rlx_plan_access *from, int row,
                   bool *moved)
{
    const rlx_buffer *b = rlx_as_buffer(from->buffer);
    const rlx_prim *shape[RLX_TIR_MAX_DIMS], *strides[RLX_TIR_MAX_DIMS];
    bool runs = false, is = b->num_shape <= RLX_TIR_MAX_DIMS && from->num_indices == b->num_shape;
    for (size_t d = 0; d < b->num_shape && is; d++)
        is = (shape[d] = rlx_fold_cast(ctx, RELAX_INT64, b->shape[d])) != NULL;
    is = is && rlx_plan_strides(ctx, shape, b->num_shape, strides);
    for (size_t d = 0; d < from->num_indices && is; d++) {
        rlx_plan_view room;
        const rlx_tir_affine *a = rlx_plan_affine(ctx, scope, n, from->indices[d], &room);
        moved[d] = !a;
        if (!a)
            is = !rlx_plan_mentions(ctx, from->indices[d], n->loops[row].var);
        else if (a->coeff[row])
            is = !runs && is_even(n, a, row) && rlx_is_int_value(strides[d], 1), runs = true;
    }
    return is && runs;
}

/* The longest loop that moves the place of the row; -1: none that is worth it. */
static int loop_of_rows(rlx_context *ctx, const rlx_nest_plan *n, const rlx_plan_access *from, int row, const bool *moved)
{
    int best = -1;
    int64_t most = FEWEST_ROWS - 1;
    for (int i = 0; i < (int)n->count; i++) {
        int64_t size = rlx_plan_likely_size(n->loops[i].extent);
        bool moves = false;
        for (size_t d = 0; d < from->num_indices && i != row && n->loops[i].determined && !moves; d++)
            moves = moved[d] && rlx_plan_mentions(ctx, from->indices[d], n->loops[i].var);
        if (moves && size > most)
            most = size, best = i;
    }
    return best;
}

bool rlx_plan_gathering(rlx_context *ctx, const rlx_plan_scope *scope, rlx_nest_plan *n)
{
    const rlx_buffer_store *s = rlx_as_buffer_store(n->body);
    const rlx_buffer_load *load = s ? rlx_as_buffer_load(s->value) : NULL;
    const int row = n->strip;
    bool moved[RLX_TIR_MAX_DIMS] = { false };
    if (!load || s->predicate || load->predicate || rlx_as_buffer(s->buffer)->dtype != rlx_as_buffer(load->buffer)->dtype)
        return false;
    size_t at = rlx_plan_find_access(n, &load->node);
    bool is = at < n->accesses.len && n->accesses.data[0].literal && rlx_plan_is_unit(&n->accesses.data[0], row) &&
              rlx_plan_likely_size(n->loops[row].extent) >= SHORTEST_ROW;
    for (size_t i = 1; i < n->accesses.len && is; i++)
        is = !rlx_plan_share_memory(&n->accesses.data[0], &n->accesses.data[i]);
    if (!is || !is_row(ctx, scope, n, &n->accesses.data[at], row, moved))
        return false;
    int rows = loop_of_rows(ctx, n, &n->accesses.data[at], row, moved);
    if (rows < 0)
        return false;
    n->row = row;
    n->strip = rows;
    return true;
}
