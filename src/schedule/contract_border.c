/*- contract_border.c: a picture with a border is not made where strips alone are copied from it.
 *
 *     for c, y, x:  P[c, y, x] = 0                            for tiles of lines:
 *     for c, y, x:  P[c, y + p, x + q] = X[c, y, x]    ->         for r, z:  S[r, z] = 0
 *     for tiles of lines, c, v, z:  S[.., z] = P[c, y + v, z]     for v:  if p <= y + v < p + H:
 *                                                                         for c, z:  S[.., z] = X[c, y + v - p, z - q]
 *                                                                     else:
 *                                                                         for c, z:  S[.., z] = 0
 *
 * So what is beside the picture is filled once for the lines of a tile, with what is above it if they share a strip: one long run, in place of many places
 * apart. What is below it is filled where a line needs that: rows are one copy where all of them are inside. Lines that share no rows (dilations) copy all
 * of theirs, where they are long and of many channels; those that are one instruction together are one copy, too.
 */
#include "schedule/contract_int.h"

/* Of lines that share nothing, so that each copies all rows of its windows: elements of one, and how many rows of channels there have to be. Where
 * they are shorter, or fewer, copies of all of the picture at once cost less. SHORTEST_LINE: of windows some columns apart. */
enum { SHORTEST_LINE = 24, SHORTEST_ALONE = 40, FEWEST_ALONE = 24 };

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

/* Where row v of the windows of line y begins: along the strip, and down. False: those are no numbers. */
static bool find_start(const rlx_tiling *t, const rlx_buffer *picture, int64_t y, int64_t v, int64_t *along, int64_t *down)
{
    const rlx_prim *zero = rlx_int64(t->ctx, 0), *at[RLX_TIR_MAX_DIMS];
    const rlx_side *side = rlx_strip_side(t);
    rlx_lane_group groups[2] = { { .d = &side->lanes }, { .d = &t->depth } };
    for (int i = 0; i < RLX_MAX_DEPTH; i++)
        groups[0].each[i] = groups[1].each[i] = zero;
    groups[0].each[0] = rlx_int64(t->ctx, y);
    groups[1].each[t->depth.count - 2] = rlx_int64(t->ctx, v);
    return rlx_indices_in(t, side->access, picture, groups, 2, at) && rlx_int_literal(at[t->strip.along], along) &&
           rlx_int_literal(at[t->strip.dimension_down], down);
}

void rlx_find_border(rlx_tiling *t, const rlx_for_stmt *nest, rlx_border *b)
{
    const rlx_plan_access *of = rlx_strip_side(t)->access;
    const rlx_panel_params *p = t->params;
    const rlx_strip *s = &t->strip;
    int64_t size, start, top, bottom, next, lines = 0;
    bool ok = true;
    *b = (rlx_border){ .picture = rlx_as_buffer(of->buffer) };
    if (!s->width || s->whole || s->dimension_down < 0 || !rlx_is_strip_copied(t))
        return;
    for (size_t i = 0; i < p->num_before && ok; i++)
        ok = take_nest(t->ctx, b, p->before[i]);
    b->nests[b->num_nests] = &nest->node;
    if (!ok || !b->load || !b->fill || !find_start(t, b->picture, 1, 0, &start, &next) ||
        !find_start(t, b->picture, 0, window_rows(t) - 1, &start, &bottom) || !find_start(t, b->picture, 0, 0, &start, &top) ||
        !rlx_is_temporary_of_nests(t->ctx, p, b->picture, b->nests, b->num_nests + 1) ||
        !rlx_int_literal(rlx_tiling_extent(t, rlx_strip_side(t)->lanes.at[0]), &lines))
        return;
    for (size_t d = 0; d < of->num_indices && ok; d++)
        ok = (int)d == s->dimension_down || (int)d == s->along ||
             (b->low[d] == 0 && rlx_int_literal(b->picture->shape[d], &size) && size == b->count[d]);
    b->begin = b->low[s->along] - start + s->first;
    b->end = b->begin + b->count[s->along];
    const int64_t length = b->end - b->begin, windows = s->rows / window_rows(t);
    const bool each = s->unfolded || (s->of_rows && s->together) || (s->lines > 1 && s->next > 1);
    b->downwards = top <= bottom;
    b->step = next - top;
    b->is = ok && (each ? length >= SHORTEST_LINE : s->lines > 1 || (length >= SHORTEST_ALONE && windows >= FEWEST_ALONE)) &&
            b->begin >= 0 && b->end <= s->length && length > 0 && (b->downwards || !(s->together || s->unfolded)) &&
            (!s->unfolded || length >= (s->steps - 1) * s->apart + s->stride); /* each step meets the tensor */
    b->above = b->is && top < b->low[s->dimension_down];
    b->below = b->is && bottom + (lines - 1) * b->step >= b->low[s->dimension_down] + b->count[s->dimension_down];
}

/* ---- what strips are filled with ------------------------------------------------------------ */

/* A box of the strip: the element at[], for all loops. */
typedef struct strip_rows { const rlx_prim *at[2]; rlx_sched_loop loops[RLX_MAX_DEPTH + 2]; int count; } strip_rows;

static const rlx_stmt *store_rows(const rlx_tiling *t, const strip_rows *r, const rlx_prim *value)
{
    const rlx_stmt *body = value ? rlx_store(t->ctx, t->strip.buffer, value, r->at, 2, t->place) : NULL;
    for (int i = r->count; i-- > 0;)
        body = rlx_sched_wrap(t->ctx, &r->loops[i], body, t->place);
    return body;
}

/* Is the whole strip filled once for the lines of a tile, which share its rows? */
static bool is_filled_once(const rlx_strip *s) { return s->lines > 1 && s->next == 1 && !s->together && !s->unfolded; }

static const rlx_stmt *fill_all(const rlx_tiling *t, const rlx_border *b)
{
    const rlx_sched_loop row = rlx_sched_loop_new(t->ctx, "r", rlx_int64(t->ctx, rlx_rows_of_strip(t))),
                         z = rlx_sched_loop_new(t->ctx, "z", rlx_int64(t->ctx, t->strip.length));
    return store_rows(t, &(strip_rows){ .at = { row.var, z.var }, .loops = { row, z }, .count = 2 }, b->fill);
}

/* How many copies a row of windows is: one, or of windows that are unfolded one for each of its steps. */
static int64_t copies_of_row(const rlx_tiling *t) { return t->strip.unfolded ? t->strip.steps : 1; }

/* Elements of copy u of a row that are those of the tensor. */
typedef struct range { int64_t begin, end; } range;
static range range_inside(const rlx_tiling *t, const rlx_border *b, int64_t u)
{
    const rlx_strip *s = &t->strip;
    if (!s->unfolded)
        return (range){ b->begin, b->end };
    if (!b->is)
        return (range){ 0, s->width };
    const int64_t begin = b->begin - u * s->apart, end = b->end - u * s->apart,
                  last = end > 0 ? (end + s->stride - 1) / s->stride : 0;
    return (range){ begin > 0 ? (begin + s->stride - 1) / s->stride : 0, last < s->width ? last : s->width };
}

/* for lines, z in [begin, end), r: what is beside copy u of all rows. */
static const rlx_stmt *fill_side(const rlx_tiling *t, const rlx_border *b, int64_t u, int64_t begin, int64_t end)
{
    rlx_context *ctx = t->ctx;
    const int64_t unfolded = t->strip.unfolded;
    const rlx_sched_loop line = rlx_sched_loop_new(ctx, "line", rlx_int64(ctx, unfolded ? unfolded : 1)),
                         z = rlx_sched_loop_new(ctx, "z", rlx_int64(ctx, end - begin)),
                         r = rlx_sched_loop_new(ctx, "r", rlx_int64(ctx, unfolded ? t->strip.rows : rlx_rows_of_strip(t)));
    const rlx_prim *place = rlx_fold_add(ctx, z.var, rlx_int64(ctx, begin)), *to = rlx_fold_mul(ctx, line.var, rlx_int64(ctx, t->strip.width)),
                   *row = rlx_fold_mul(ctx, r.var, rlx_int64(ctx, copies_of_row(t)));
    const strip_rows rows = { .loops = { line, z, r }, .count = 3, .at = { rlx_fold_add(ctx, row, rlx_int64(ctx, u)), rlx_fold_add(ctx, to, place) } };
    return store_rows(t, &rows, b->fill);
}

const rlx_stmt *rlx_fill_strip_borders(const rlx_tiling *t, const rlx_border *b)
{
    if (is_filled_once(&t->strip))
        return fill_all(t, b);
    const int64_t length = t->strip.unfolded ? t->strip.width : t->strip.length;
    const rlx_stmt *all = rlx_seq_stmt_new(t->ctx, NULL, 0, t->place);
    for (int64_t u = 0; u < copies_of_row(t); u++) {
        const range in = range_inside(t, b, u);
        if (in.begin > 0)
            all = rlx_sched_both(t->ctx, all, fill_side(t, b, u, 0, in.begin), t->place);
        if (in.end < length)
            all = rlx_sched_both(t->ctx, all, fill_side(t, b, u, in.end, length), t->place);
    }
    return all;
}

/* The element of the tensor that was copied to from[..] of the picture; where there is no border, of that itself. */
static const rlx_prim *element(const rlx_tiling *t, const rlx_border *b, const rlx_prim *const *from)
{
    if (!b->is)
        return rlx_load(t->ctx, b->picture, from, b->picture->num_shape);
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

/* Copy u of row v of the windows of a line in the strip, and from[] of the picture, where it lies. False: out of memory. */
static bool row_of_strip(const rlx_tiling *t, const rlx_border *b, rlx_strip_line line, const rlx_prim *v, int64_t u, strip_rows *r,
                         const rlx_prim **from)
{
    rlx_context *ctx = t->ctx;
    const rlx_side *side = rlx_strip_side(t);
    const rlx_strip *s = &t->strip;
    const range in = range_inside(t, b, u);
    rlx_lane_group groups[2] = { { .d = &side->lanes, .each = { line.y, rlx_int64(ctx, 0) } }, { .d = &t->depth } };
    const int down = t->depth.count - 2; /* of the depth: v; behind it the steps along the line */
    r->at[0] = rlx_int64(ctx, 0);
    for (int i = 0; i <= down; i++) {
        const char name[3] = { 'd', (char)('0' + i), 0 };
        const rlx_prim *extent = rlx_tiling_extent(t, t->depth.at[i]);
        r->loops[i] = i == down ? rlx_sched_loop_new(ctx, "z", rlx_int64(ctx, in.end - in.begin)) : rlx_sched_loop_new(ctx, name, extent);
        groups[1].each[i] = i == down ? v : r->loops[i].var;
        r->at[0] = rlx_fold_add(ctx, rlx_fold_mul(ctx, r->at[0], extent), groups[1].each[i]);
    }
    r->count = down + 1;
    r->at[1] = rlx_fold_add(ctx, r->loops[down].var, rlx_int64(ctx, in.begin));
    groups[1].each[down + 1] = rlx_int64(ctx, u);
    if (s->unfolded) {
        groups[0].each[1] = r->at[1];
        r->at[0] = rlx_fold_add(ctx, rlx_fold_mul(ctx, r->at[0], rlx_int64(ctx, s->steps)), rlx_int64(ctx, u));
        r->at[1] = rlx_fold_add(ctx, r->at[1], line.shift);
    } else
        r->at[0] = rlx_fold_add(ctx, r->at[0], line.shift);
    if (!rlx_indices_in(t, side->access, b->picture, groups, 2, from))
        return false;
    if (!s->unfolded)
        from[s->along] = rlx_fold_add(ctx, from[s->along], rlx_fold_sub(ctx, r->at[1], rlx_int64(ctx, s->first)));
    return true;
}

/* Do rows of the picture, the first and the last of some, lie in the tensor? NULL: out of memory. */
static const rlx_prim *are_inside(const rlx_tiling *t, const rlx_border *b, const rlx_prim *first, const rlx_prim *last)
{
    rlx_context *ctx = t->ctx;
    const int down = t->strip.dimension_down;
    const rlx_prim *low = rlx_int64(ctx, b->low[down]), *end = rlx_int64(ctx, b->low[down] + b->count[down]),
                   *above = first ? rlx_binary_new(ctx, RLX_NODE_LE, low, first) : NULL,
                   *below = last ? rlx_binary_new(ctx, RLX_NODE_LT, last, end) : NULL;
    return above && below ? rlx_binary_new(ctx, RLX_NODE_AND, above, below) : NULL;
}

/* is_filled: where it is not inside, the strip has what fills it. */
static const rlx_stmt *copy_row(const rlx_tiling *t, const rlx_border *b, rlx_strip_line line, int64_t v, bool is_filled)
{
    rlx_context *ctx = t->ctx;
    const rlx_prim *from[RLX_TIR_MAX_DIMS];
    const rlx_stmt *copied = rlx_seq_stmt_new(ctx, NULL, 0, t->place), *filled = copied;
    const int down = t->strip.dimension_down;
    for (int64_t u = 0; u < copies_of_row(t); u++) {
        strip_rows r;
        if (!row_of_strip(t, b, line, rlx_int64(ctx, v), u, &r, from))
            return NULL;
        const rlx_stmt *fill = store_rows(t, &r, b->fill);
        copied = rlx_sched_both(ctx, copied, store_rows(t, &r, element(t, b, from)), t->place);
        filled = rlx_sched_both(ctx, filled, fill ? rlx_copy_fresh(ctx, fill) : NULL, t->place);
    }
    const rlx_prim *inside = are_inside(t, b, from[down], from[down]);
    return inside && copied && filled ? rlx_sched_if(ctx, inside, copied, is_filled ? NULL : filled, t->place) : NULL;
}

/* Rows one by one. */
static const rlx_stmt *copy_each_row(const rlx_tiling *t, const rlx_border *b, rlx_strip_line line, int64_t first, int64_t count)
{
    const rlx_stmt *all = NULL, *row;
    const bool begins = is_filled_once(&t->strip) && first == 0 && count < window_rows(t); /* a tile, whose strip has just been filled */
    for (int64_t v = first; v < first + count; v++) {
        if (!(row = copy_row(t, b, line, v, begins)))
            return NULL;
        all = all ? rlx_sched_both(t->ctx, all, rlx_copy_fresh(t->ctx, row), t->place) : row;
    }
    return all;
}

static void insert_loop(strip_rows *r, int at, const rlx_sched_loop *loop)
{
    memmove(r->loops + at + 1, r->loops + at, (size_t)(r->count++ - at) * sizeof *r->loops);
    r->loops[at] = *loop;
}

/* Rows [first, first + count) of windows of a line, or (lines not NULL) of all that this loop goes through, all of which lie in the tensor. */
static const rlx_stmt *copy_rows_inside(const rlx_tiling *t, const rlx_border *b, const rlx_sched_loop *lines, rlx_strip_line line, int64_t first,
                                        int64_t count)
{
    rlx_context *ctx = t->ctx;
    const rlx_sched_loop v = rlx_sched_loop_new(ctx, "v", rlx_int64(ctx, count));
    const rlx_prim *from[RLX_TIR_MAX_DIMS];
    const rlx_stmt *all = rlx_seq_stmt_new(ctx, NULL, 0, t->place), *copied;
    for (int64_t u = 0; u < copies_of_row(t); u++) {
        strip_rows r;
        if (!row_of_strip(t, b, line, rlx_fold_add(ctx, v.var, rlx_int64(ctx, first)), u, &r, from))
            return NULL;
        insert_loop(&r, r.count - 1, &v); /* along the rows goes the last one */
        if (lines)
            insert_loop(&r, 0, lines);
        copied = store_rows(t, &r, element(t, b, from));
        all = rlx_sched_both(ctx, all, copied ? rlx_copy_fresh(ctx, copied) : NULL, t->place);
    }
    return all;
}

/* Where row v of the windows of a line lies down the picture. NULL: out of memory. */
static const rlx_prim *place_down(const rlx_tiling *t, const rlx_border *b, rlx_strip_line line, int64_t v)
{
    const rlx_prim *from[RLX_TIR_MAX_DIMS];
    strip_rows unused;
    return row_of_strip(t, b, line, rlx_int64(t->ctx, v), 0, &unused, from) ? from[t->strip.dimension_down] : NULL;
}

const rlx_stmt *rlx_copy_inside(const rlx_tiling *t, const rlx_border *b, rlx_strip_line line, int64_t first, int64_t count)
{
    const int64_t rows = count ? count : window_rows(t);
    const rlx_stmt *each = copy_each_row(t, b, line, first, rows);
    if (rows == 1 || !b->downwards)
        return each;
    const rlx_prim *inside = are_inside(t, b, place_down(t, b, line, first), place_down(t, b, line, first + rows - 1));
    const rlx_stmt *all = copy_rows_inside(t, b, NULL, line, first, rows);
    each = each ? rlx_copy_fresh(t->ctx, each) : NULL;
    return inside && all && each ? rlx_sched_if(t->ctx, inside, all, each, t->place) : NULL;
}

/* Line `number` of a tile that begins with line `first`, each with rows of its own, or columns of rows. */
static rlx_strip_line line_of_tile(const rlx_tiling *t, const rlx_prim *first, const rlx_prim *number)
{
    const int64_t apart = t->strip.unfolded ? t->strip.width : t->strip.rows;
    return (rlx_strip_line){ rlx_fold_add(t->ctx, first, number), rlx_fold_mul(t->ctx, number, rlx_int64(t->ctx, apart)) };
}

/* As many of `count` lines as `rows` rows stick out from, if any does. */
static const rlx_prim *lines_outside(const rlx_tiling *t, const rlx_border *b, const rlx_prim *rows, const rlx_prim *count)
{
    const rlx_prim *lines = rows ? rlx_ceil_div(t->ctx, rows, b->step) : NULL;
    return lines ? rlx_least(t->ctx, rlx_greatest(t->ctx, lines, rlx_int64(t->ctx, 0)), count) : NULL;
}

/* Of lines [first, first + count) those that begin above the tensor. NULL: out of memory. */
static const rlx_prim *lines_above(const rlx_tiling *t, const rlx_border *b, const rlx_prim *first, const rlx_prim *count)
{
    const rlx_prim *zero = rlx_int64(t->ctx, 0), *top = b->above ? place_down(t, b, line_of_tile(t, first, zero), 0) : NULL;
    return !b->above ? zero : top ? lines_outside(t, b, rlx_fold_sub(t->ctx, rlx_int64(t->ctx, b->low[t->strip.dimension_down]), top), count) : NULL;
}

/* Those that end below it. */
static const rlx_prim *lines_below(const rlx_tiling *t, const rlx_border *b, const rlx_prim *first, const rlx_prim *count)
{
    const int down = t->strip.dimension_down;
    const rlx_prim *last = rlx_fold_sub(t->ctx, count, rlx_int64(t->ctx, 1)),
                   *bottom = b->below ? place_down(t, b, line_of_tile(t, first, last), window_rows(t) - 1) : NULL;
    return !b->below ? rlx_int64(t->ctx, 0)
           : bottom  ? lines_outside(t, b, rlx_fold_sub(t->ctx, bottom, rlx_int64(t->ctx, b->low[down] + b->count[down] - 1)), count)
                     : NULL;
}

/* Those [begin, begin + count) of a tile's lines, row by row. */
static const rlx_stmt *copy_each_line(const rlx_tiling *t, const rlx_border *b, const rlx_prim *first, const rlx_prim *begin, const rlx_prim *count)
{
    const rlx_sched_loop line = rlx_sched_loop_new(t->ctx, "line", count);
    const rlx_stmt *each = copy_each_row(t, b, line_of_tile(t, first, rlx_fold_add(t->ctx, begin, line.var)), 0, window_rows(t));
    return rlx_sched_wrap(t->ctx, &line, each ? rlx_copy_fresh(t->ctx, each) : NULL, t->place);
}

const rlx_stmt *rlx_copy_lines_inside(const rlx_tiling *t, const rlx_border *b, const rlx_prim *first, const rlx_prim *count)
{
    rlx_context *ctx = t->ctx;
    const rlx_prim *above = lines_above(t, b, first, count), *below = lines_below(t, b, first, count);
    if (!above || !below)
        return NULL;
    const rlx_prim *behind = rlx_fold_sub(ctx, count, below);
    const rlx_sched_loop line = rlx_sched_loop_new(ctx, "line", rlx_fold_sub(ctx, behind, above));
    const rlx_stmt *all = copy_rows_inside(t, b, &line, line_of_tile(t, first, rlx_fold_add(ctx, above, line.var)), 0, window_rows(t));
    if (b->above)
        all = rlx_sched_both(ctx, copy_each_line(t, b, first, rlx_int64(ctx, 0), above), all, t->place);
    if (b->below)
        all = rlx_sched_both(ctx, all, copy_each_line(t, b, first, behind, below), t->place);
    return all;
}

void rlx_drop_picture(const rlx_tiling *t, const rlx_border *b)
{
    rlx_drop_temporary(t->ctx, t->params, b->picture);
    for (size_t i = 0; i < b->num_nests; i++)
        (void)rlx_ptrmap_put(&t->params->producers->dropped, b->nests[i], 1);
}
