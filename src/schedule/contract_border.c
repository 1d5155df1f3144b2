/*- contract_border.c: a picture with a border is not made where strips alone are copied from it.
 *
 *     for c, y, x:  P[c, y, x] = 0                            for tiles of lines:
 *     for c, y, x:  P[c, y + p, x + q] = X[c, y, x]    ->         for r, z:  S[r, z] = 0
 *     for tiles of lines, c, v, z:  S[.., z] = P[c, y + v, z]     for v:  if p <= y + v < p + H:
 *                                                                         for c, z:  S[.., z] = X[c, y + v - p, z - q]
 *                                                                     else:
 *                                                                         for c, z:  S[.., z] = 0
 *
 * So what is beside the picture is filled once for the lines of a tile, together with what is above it: one long run, in place of many places
 * apart. What is below it is filled where a line needs that. Lines that share no rows (strides, dilations) copy all of theirs, where they are long
 * and of many channels; what is beside those is filled alone.
 */
#include "schedule/contract_int.h"

/* Of lines that share nothing, so that each copies all rows of its windows: elements of one, and how many rows of channels there have to be. Where
 * they are shorter, or fewer, copies of all of the picture at once cost less. */
enum { SHORTEST_ALONE = 40, FEWEST_ALONE = 24 };

/* ---- is it such a picture? ------------------------------------------------------------------ */

/* The store of a nest of loops from 0 to a number, which are vars; NULL: it is none. */
static const rlx_buffer_store *store_of(const rlx_stmt *s, const rlx_prim **vars, int64_t *extents, size_t *count)
{
    const rlx_for_stmt *loop;
    *count = 0;
    for (; (loop = rlx_as_for_stmt(s)) != NULL; s = loop->body, (*count)++)
        if (*count == RLX_TIR_MAX_DIMS || !rlx_is_int_value(loop->min, 0) || !rlx_int_literal(loop->extent, &extents[*count]))
            return NULL;
        else
            vars[*count] = loop->loop_var;
    const rlx_buffer_store *store = rlx_as_buffer_store(s);
    return store && !store->predicate ? store : NULL;
}

/* One index of what the copy stores to: a loop, and where it begins. */
static bool take_index(rlx_context *ctx, rlx_border *b, size_t d, const rlx_prim *index, const rlx_prim *const *vars, const int64_t *extents,
                       size_t count)
{
    rlx_tir_affine affine;
    int64_t coefficient;
    b->var[d] = NULL;
    b->count[d] = 1;
    if (!rlx_tir_affine_of(ctx, index, vars, count, &affine) || !rlx_int_literal(affine.base, &b->low[d]))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!affine.coeff[i])
            continue;
        if (b->var[d] || !rlx_int_literal(affine.coeff[i], &coefficient) || coefficient != 1)
            return false;
        b->var[d] = vars[i];
        b->count[d] = extents[i];
    }
    return true;
}

/* Is it the nest that copies into the picture? Each loop goes along a dimension of its own. */
static bool take_copy(rlx_context *ctx, rlx_border *b, const rlx_buffer_store *s, const rlx_prim *const *vars, const int64_t *extents, size_t count)
{
    const rlx_buffer_load *load = rlx_as_buffer_load(s->value);
    const rlx_buffer *from = load ? rlx_as_buffer(load->buffer) : NULL;
    size_t along = 0;
    if (!from || load->predicate || b->load || from->dtype != RELAX_FLOAT32 || from->data == b->picture->data || !rlx_is_compact(from))
        return false;
    for (size_t d = 0; d < s->num_indices; d++) {
        if (!take_index(ctx, b, d, s->indices[d], vars, extents, count))
            return false;
        for (size_t e = 0; e < d; e++)
            if (b->var[d] && b->var[e] == b->var[d])
                return false;
        along += b->var[d] != NULL;
    }
    b->load = load;
    return along == count;
}

/* A nest in front of the sum. False: what it does to the picture is something else. */
static bool take_nest(rlx_context *ctx, rlx_border *b, const rlx_stmt *nest)
{
    const rlx_prim *vars[RLX_TIR_MAX_DIMS];
    int64_t extents[RLX_TIR_MAX_DIMS];
    size_t count;
    const rlx_buffer_store *s = store_of(nest, vars, extents, &count);
    if (!s || s->buffer != &b->picture->node)
        return true; /* if it touches the picture all the same, that is no temporary of those that are taken */
    if (b->num_nests + 1 == RLX_MOST_BORDER_NESTS)
        return false;
    b->nests[b->num_nests++] = nest;
    if (s->value->kind != RLX_NODE_FLOAT_IMM)
        return take_copy(ctx, b, s, vars, extents, count);
    const bool first = !b->fill;
    b->fill = first ? s->value : b->fill;
    return !b->load && (first || s->value == b->fill); /* numbers that are alike are one node */
}

/* Rows of a window below each other. */
static int64_t window_rows(const rlx_tiling *t)
{
    int64_t rows = 1;
    (void)rlx_int_literal(rlx_tiling_extent(t, t->depth.at[t->depth.count - 2]), &rows);
    return rows;
}

/* Where the strip of line 0 begins along its dimension, if that is a number. */
static bool find_start(const rlx_tiling *t, const rlx_buffer *picture, int64_t *out)
{
    const rlx_prim *zero = rlx_int64(t->ctx, 0), *at[RLX_TIR_MAX_DIMS];
    const rlx_side *side = rlx_strip_side(t);
    rlx_lane_group groups[2] = { { .d = &side->lanes }, { .d = &t->depth } };
    for (int i = 0; i < RLX_MAX_DEPTH; i++)
        groups[0].each[i] = groups[1].each[i] = zero;
    return rlx_indices_in(t, side->access, picture, groups, 2, at) && rlx_int_literal(at[t->strip.along], out);
}

void rlx_find_border(rlx_tiling *t, const rlx_for_stmt *nest, rlx_border *b)
{
    const rlx_plan_access *of = rlx_strip_side(t)->access;
    const rlx_panel_params *p = t->params;
    const rlx_strip *s = &t->strip;
    int64_t size, start;
    bool ok = true;
    if (!s->width || s->whole || s->of_rows || s->dimension_down < 0 || !rlx_is_strip_copied(t))
        return;
    *b = (rlx_border){ .picture = rlx_as_buffer(of->buffer) };
    for (size_t i = 0; i < p->num_before && ok; i++)
        ok = take_nest(t->ctx, b, p->before[i]);
    b->nests[b->num_nests] = &nest->node;
    if (!ok || !b->load || !b->fill || !find_start(t, b->picture, &start) ||
        !rlx_is_temporary_of_nests(t->ctx, p, b->picture, b->nests, b->num_nests + 1))
        return;
    for (size_t d = 0; d < of->num_indices && ok; d++)
        ok = (int)d == s->dimension_down || (int)d == s->along ||
             (b->low[d] == 0 && rlx_int_literal(b->picture->shape[d], &size) && size == b->count[d]);
    b->begin = b->low[s->along] - start + s->first;
    b->end = b->begin + b->count[s->along];
    const int64_t length = b->end - b->begin, windows = s->rows / window_rows(t);
    b->is = ok && (s->lines > 1 || (length >= SHORTEST_ALONE && windows >= FEWEST_ALONE)) && b->begin >= 0 && b->end <= s->length && length > 0;
}

/* ---- what strips are filled with ------------------------------------------------------------ */

/* A box of the strip: the element at[], for all loops. */
typedef struct strip_rows { const rlx_prim *at[2]; rlx_sched_loop loops[RLX_MAX_DEPTH]; int count; } strip_rows;

static const rlx_stmt *store_rows(const rlx_tiling *t, const strip_rows *r, const rlx_prim *value)
{
    const rlx_stmt *body = value ? rlx_store(t->ctx, t->strip.buffer, value, r->at, 2, t->place) : NULL;
    for (int i = r->count; i-- > 0;)
        body = rlx_sched_wrap(t->ctx, &r->loops[i], body, t->place);
    return body;
}

/* Columns [begin, end) of all rows of the strip. */
static const rlx_stmt *fill_columns(const rlx_tiling *t, const rlx_border *b, int64_t begin, int64_t end)
{
    rlx_context *ctx = t->ctx;
    const rlx_sched_loop z = rlx_sched_loop_new(ctx, "z", rlx_int64(ctx, end - begin)),
                         row = rlx_sched_loop_new(ctx, "r", rlx_int64(ctx, t->strip.rows + t->strip.lines - 1));
    const bool all = begin == 0 && end == t->strip.length;
    const strip_rows r = { .at = { row.var, rlx_fold_add(ctx, z.var, rlx_int64(ctx, begin)) }, .loops = { all ? row : z, all ? z : row }, .count = 2 };
    return store_rows(t, &r, b->fill);
}

const rlx_stmt *rlx_fill_strip_borders(const rlx_tiling *t, const rlx_border *b)
{
    if (t->strip.lines > 1)
        return fill_columns(t, b, 0, t->strip.length);
    const rlx_stmt *left = b->begin > 0 ? fill_columns(t, b, 0, b->begin) : rlx_seq_stmt_new(t->ctx, NULL, 0, t->place);
    return b->end < t->strip.length ? rlx_sched_both(t->ctx, left, fill_columns(t, b, b->end, t->strip.length), t->place) : left;
}

/* The element of the tensor that was copied to from[..] of the picture. */
static const rlx_prim *element(const rlx_tiling *t, const rlx_border *b, const rlx_prim *const *from)
{
    rlx_rewriter r;
    bool ok = true;
    rlx_tir_folder_init(&r, t->ctx);
    for (size_t d = 0; d < b->picture->num_shape && ok; d++) {
        const rlx_prim *is = b->var[d] ? rlx_fold_sub(t->ctx, from[d], rlx_int64(t->ctx, b->low[d])) : NULL;
        is = is ? rlx_fold_cast(t->ctx, rlx_prim_dtype(b->var[d]), is) : NULL;
        ok = !b->var[d] || (is && rlx_ptrmap_put(&r.map, b->var[d], (uintptr_t)is));
    }
    const rlx_prim *value = ok ? rlx_rewrite(&r, &b->load->node) : NULL;
    rlx_rewriter_free(&r);
    return value;
}

/* Row v of the windows of a line in the strip, and from[] of the picture, where it lies. False: out of memory. */
static bool row_of_strip(const rlx_tiling *t, const rlx_border *b, rlx_strip_line line, int64_t v, strip_rows *r, const rlx_prim **from)
{
    rlx_context *ctx = t->ctx;
    const rlx_side *side = rlx_strip_side(t);
    const rlx_prim *zero = rlx_int64(ctx, 0);
    rlx_lane_group groups[2] = { { .d = &side->lanes, .each = { line.y, zero } }, { .d = &t->depth } };
    const int down = t->depth.count - 2; /* of the depth: v; behind it the steps along the line */
    r->at[0] = zero;
    for (int i = 0; i <= down; i++) {
        const char name[3] = { 'd', (char)('0' + i), 0 };
        const rlx_prim *extent = rlx_tiling_extent(t, t->depth.at[i]);
        r->loops[i] = i == down ? rlx_sched_loop_new(ctx, "z", rlx_int64(ctx, b->end - b->begin)) : rlx_sched_loop_new(ctx, name, extent);
        groups[1].each[i] = i == down ? rlx_int64(ctx, v) : r->loops[i].var;
        r->at[0] = rlx_fold_add(ctx, rlx_fold_mul(ctx, r->at[0], extent), groups[1].each[i]);
    }
    groups[1].each[down + 1] = zero;
    r->count = down + 1;
    r->at[0] = rlx_fold_add(ctx, r->at[0], line.shift);
    r->at[1] = rlx_fold_add(ctx, r->loops[down].var, rlx_int64(ctx, b->begin));
    if (!rlx_indices_in(t, side->access, b->picture, groups, 2, from))
        return false;
    const rlx_prim *z = rlx_fold_sub(ctx, r->at[1], rlx_int64(ctx, t->strip.first));
    from[t->strip.along] = rlx_fold_add(ctx, from[t->strip.along], z);
    return true;
}

/* is_filled: where it is not inside, the strip has what fills it. */
static const rlx_stmt *copy_row(const rlx_tiling *t, const rlx_border *b, rlx_strip_line line, int64_t v, bool is_filled)
{
    rlx_context *ctx = t->ctx;
    const rlx_prim *from[RLX_TIR_MAX_DIMS];
    strip_rows r;
    if (!row_of_strip(t, b, line, v, &r, from))
        return NULL;
    const int down = t->strip.dimension_down;
    const rlx_prim *low = rlx_int64(ctx, b->low[down]), *end = rlx_int64(ctx, b->low[down] + b->count[down]),
                   *above = from[down] ? rlx_binary_new(ctx, RLX_NODE_LE, low, from[down]) : NULL,
                   *below = from[down] ? rlx_binary_new(ctx, RLX_NODE_LT, from[down], end) : NULL;
    const rlx_stmt *filled = is_filled ? NULL : store_rows(t, &r, b->fill), *other = filled ? rlx_copy_fresh(ctx, filled) : NULL;
    if (!above || !below || (!other && !is_filled))
        return NULL;
    return rlx_sched_if(ctx, rlx_binary_new(ctx, RLX_NODE_AND, above, below), store_rows(t, &r, element(t, b, from)), other, t->place);
}

const rlx_stmt *rlx_copy_inside(const rlx_tiling *t, const rlx_border *b, rlx_strip_line line, int64_t first, int64_t count)
{
    const rlx_stmt *all = NULL, *row;
    const bool begins = t->strip.lines > 1 && first == 0 && count > 0; /* a tile, whose strip has just been filled */
    for (int64_t v = first; v < first + (count ? count : window_rows(t)); v++) {
        if (!(row = copy_row(t, b, line, v, begins)))
            return NULL;
        all = all ? rlx_sched_both(t->ctx, all, rlx_copy_fresh(t->ctx, row), t->place) : row;
    }
    return all;
}

void rlx_drop_picture(const rlx_tiling *t, const rlx_border *b)
{
    rlx_drop_temporary(t->ctx, t->params, b->picture);
    for (size_t i = 0; i < b->num_nests; i++)
        (void)rlx_ptrmap_put(&t->params->producers->dropped, b->nests[i], 1);
}
