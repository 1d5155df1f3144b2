/*- contract_strip.c: windows that are read in place, in strips of their picture.
 *
 *     for o, y, x, c, v, u:                             for y:
 *         C[o, y, x] += W[o, c, v, u] * X[c, y + v, x + u]      for c, v, z:  S[c * V + v, z] = X[c, y + v, z]
 *                                                               for o, x, k, u:
 *                                                                   C[o, y, x] += W[o, k * U + u] * S[k, x + u]
 *
 * A panel of columns holds each element as often as there are windows over it, a strip as often as windows have rows: it is copied row by
 * row, and is smaller. But columns of a strip end with the row, where vectors may be filled in part only: so it pays where few rows are
 * multiplied with each column, or where rows of the picture are whole vectors.
 *
 * Windows of the next line are made of the same rows but for the lowest, where one line is as far from the next as one row of a window, or
 * a few (n):
 * then lines share a strip in turn, and each copies those rows alone. It begins as many rows further down than the line before; the rows of one
 * channel that nobody needs any more are where the new ones of the channel in front of it lie.
 *
 *     for v < V - n:                           S[c * V + v] = X[c, y0 * n + v]
 *     for y, V - n <= v < V:         S[(y - y0) * n + c * V + v] = X[c, y * n + v], then as before of S[(y - y0) * n + k, x + u]
 *
 * Where rows are few and lines short, bias and activation are done for some lines at once (`joint`), else for each behind its sums.
 *
 * Elsewhere rows of the sum, which come in panels, become the lanes, and columns are as many as there are, any distance apart:
 *
 *     for y:
 *         S as before
 *         for x, o, k, u:  T[x, o] += panel[k * U + u, o] * S[k, x * stride + u]
 *         for o, x:        C[o, y, x] = T[x, o]
 *
 * Of windows of few steps, as those of the first layer of a network are, each step has a row of its own for the columns of some lines, out of the
 * tensor (`unfolded`), which costs no more than turning sums does: then columns are contiguous, and sums lie as they should.
 *
 *     for tiles of lines y, for y, x, c, v, u:   S[(c * V + v) * U + u, y, x] = X[c, y * n + v, x * stride + u]
 *
 * Where channels come last the rows of the sum are the windows, and read the strip; nothing is turned back. Where weights come from afar the lines of a tile
 * have a strip each (`together`), and each panel of weights is read for all of them.
 *
 * Of few columns (`whole`: small pictures, few vectors, the last of which would have few elements, and weights that would be read again for
 * each of them) all are one strip, which has each step in a row: what windows share is copied for each of them then, and what is contiguous
 * is read in place.
 *
 *     for k, x:  S[k, x] = X[..]
 *     for tiles of o:  for x, o, k:  T[x, o] += panel[k, o] * S[k, x], and T is turned back
 *
 * Windows that go down alone (`down_alone`), over pictures of their width, make one line of all lines as they lie, of which nothing is copied:
 *
 *     for tiles of o:  for x, o, c, v:  T[x, o] += panel[c * V + v, o] * X[c, v * width + x], and T is turned back
 */
#include "schedule/contract_int.h"

enum {
    SHORTEST_PART = 48,         /* columns of a single line that are a line of their own */
    LONGEST_PART = 256,
    MOST_COLUMNS = 512,         /* of a row, which is a tile: longer ones are cut, for caches and threads */
    MOST_ELEMENTS = 1 << 15,    /* of a strip, so that it stays near */
    FEW_ROWS = 8,               /* of a strip that need not be copied to be near */
    SHORT_STRIP = 2048,         /* elements of the panel of a line that take no longer to pack than a strip takes to begin, */
    SHORT_LINE = 32,            /* if the line has so few columns */
    LEAST_TURNED = 9,           /* columns of a strip that weights are read for once more */
    LEAST_APART = 7,            /* or so few, where windows lie some columns apart, which are dear to copy for each step; but for a vector */
    SURELY_TURNED = 12,         /* of fewer, weights have to be near */
    NEAR_STEPS = 2048,          /* of which so many are */
    MOST_WHOLE = 128,           /* columns that are all turned at once, copied for that */
    MOST_IN_PLACE = 256,        /* or so many, where they are read in place */
    MOST_OF_FEW = 640,          /* or so many for few rows, if steps are not fewer than these */
    LEAST_OF_FEW = 128,
    MOST_OF_FEW_ELEMENTS = 1 << 17, /* of all columns then */
    MOST_WHOLE_ELEMENTS = 3 << 17, /* of the strip that they are */
    MOST_STEPS = 6144,          /* of a sum that is not cut */
    LEAST_STEPS = 32,           /* that are worth turning sums */
    LEAST_OF_HALF = 256,        /* or so many, of half a panel of rows whose columns are read in place */
    LEAST_OF_HALF_COPIED = 64,  /* or are copied side by side, in one way or another */
    SHALLOW_STEPS = 64,
    LONG_SHALLOW = 160,         /* or so many, of few rows and long lines */
    UNFOLDED_STEPS = 112,       /* of windows that are unfolded, every second column */
    UNFOLDED_BESIDE = 40,       /* or side by side */
    SHORTEST_UNFOLDED = 16,     /* columns of lines of those */
    PAGE = 256,                 /* elements apart of which few lie in the nearest cache */
    MOST_UNFOLDED = 24576,      /* elements of such a strip, which is read once or twice */
    BEGINNING = 64,             /* steps of a panel that one of windows some columns apart costs besides */
    LOW_TILE = 3,               /* rows of a tile of the machines with the lowest: another row costs them as much as another tile */
    VECTOR = 8,                 /* elements of a vector */
    WIDEST_VECTOR = 16          /* of the machines with the longest ones, which lose most where lines end within one */
};

static bool literal_extent(const rlx_tiling *t, int loop, int64_t *out)
{
    return rlx_int_literal(rlx_tiling_extent(t, loop), out) && *out > 0;
}

/* Do the elements that are computed at the ends of rows for nothing cost less than the copies that a strip saves? A panel takes about as
 * long to fill as some five rows take to be multiplied with it. */
static bool is_worth_it(int64_t width, int64_t rows)
{
    int64_t idle = (VECTOR - width % VECTOR) % VECTOR;
    if (width == VECTOR)
        return rows <= FEW_ROWS;
    return idle == 0 || rows <= (10 * width - 1) / (3 * idle);
}

/* How far the loop moves an index, if that is a number. */
static bool moves_by(const rlx_tir_affine *index, int loop, int64_t *out)
{
    *out = 0;
    return !index->coeff[loop] || rlx_int_literal(index->coeff[loop], out);
}

/* The dimension along which both loops go, the place of a window and the step inside it, and nowhere else; how far each of them. -1: there
 * is none. */
static int window_dimension(const rlx_tiling *t, const rlx_plan_access *a, int place, int step, int64_t *stride, int64_t *apart)
{
    int found = -1;
    for (size_t d = 0; d < a->num_indices; d++) {
        rlx_plan_view room;
        const rlx_tir_affine *index = rlx_plan_affine(t->ctx, &rlx_tiling_scope, t->plan, a->indices[d], &room);
        int64_t by_place, by_step;
        if (!index || !moves_by(index, place, &by_place) || !moves_by(index, step, &by_step))
            return -1;
        if (by_place == 0 && by_step == 0)
            continue;
        if (found >= 0 || by_place < 1 || by_step == 0)
            return -1;
        found = (int)d;
        *stride = by_place, *apart = by_step;
    }
    return found;
}

/* Finds how rows of a window lie, and those of the next line. */
static void find_rows_down(const rlx_tiling *t, const rlx_side *side, rlx_strip *s)
{
    int64_t stride = 0, apart = 0, rows = 0;
    const int v = t->depth.count < 3 ? -1 : t->depth.at[t->depth.count - 2];
    s->dimension_down = v >= 0 && literal_extent(t, v, &rows) ? window_dimension(t, side->access, side->lanes.at[0], v, &stride, &apart) : -1;
    if (s->dimension_down < 0 || apart < 0 || stride % apart || stride / apart >= rows + (rows == 1) ||
        (stride != apart && t->depth.count > 3)) /* volumes, whose borders are made */
        return;
    s->down = rows;
    s->next = stride / apart;
}

/* The strip under `width` windows of a row of the picture, lanes of that side. False: they are no such windows, or it is too long. */
static bool find_line(const rlx_tiling *t, const rlx_side *side, int64_t width, rlx_strip *out)
{
    const rlx_plan_access *a = side->access;
    const int x = rlx_last_digit(&side->lanes), u = rlx_last_digit(&t->depth);
    int64_t steps, all, stride = 0, apart = 0, last;
    if (t->dot || t->depth.count < 2 || rlx_as_buffer(a->buffer)->dtype != RELAX_FLOAT32 || rlx_as_buffer(t->acc->buffer)->dtype != RELAX_FLOAT32)
        return false;
    const int along = window_dimension(t, a, x, u, &stride, &apart);
    if (along < 0 || apart < -MOST_ELEMENTS || !literal_extent(t, u, &steps) || steps < 2 ||
        side->lanes.extent->kind != RLX_NODE_INT_IMM || !rlx_int_literal(t->depth.extent, &all) || all > RLX_SINGLE_DEPTH ||
        width > MOST_COLUMNS || apart > MOST_ELEMENTS || stride > MOST_ELEMENTS)
        return false;
    last = (width - 1) * stride + (steps - 1) * (apart < 0 ? -apart : apart);
    *out = (rlx_strip){ .along = along, .width = width, .stride = stride, .steps = steps, .apart = apart,
                        .first = apart < 0 ? (steps - 1) * -apart : 0, .rows = all / steps, .length = last + 1, .lines = 1 };
    out->dimension_down = -1;
    return last < MOST_ELEMENTS / out->rows;
}

/* Likewise of all of a row. */
static bool find_strip(const rlx_tiling *t, const rlx_side *side, rlx_strip *out)
{
    int64_t width;
    if (side->lanes.count != 2 || !literal_extent(t, rlx_last_digit(&side->lanes), &width) || !find_line(t, side, width, out))
        return false;
    find_rows_down(t, side, out);
    return true;
}

/* Is one vector of lines left over, which alone is loaded as often as it is multiplied, and are rows whole panels? */
static bool is_odd_vectors(const rlx_strip *s, int64_t rows)
{
    return s->width % (2 * WIDEST_VECTOR) == WIDEST_VECTOR && s->stride == 1 && rows % RLX_COLUMN_PANEL == 0;
}

/* Are sums of windows some columns apart, as of the first layer of a network, so short that a panel costs more to fill than to multiply, or than its sums to turn
 * back, of which there are few for each column then? */
static bool is_shallow(const rlx_strip *s, int64_t rows)
{
    const int64_t steps = s->rows * s->steps, most = 2 * rows <= steps && rows <= s->width ? LONG_SHALLOW : SHALLOW_STEPS;
    return s->stride > 1 && steps <= most && rows % WIDEST_VECTOR == 0;
}

/* Rows become lanes where panels of them are there, and their sums take less to turn back than panels of columns take to fill, which is
 * a quarter more where windows are some columns apart, and some steps more however few there are. A vector of them alone is loaded as often as it is multiplied. */
static bool is_worth_turning(const rlx_tiling *t, const rlx_strip *s, int64_t rows)
{
    const bool apart = s->stride > 1, dear = apart && rows >= RLX_COLUMN_PANEL;
    if (s->width < SURELY_TURNED && ((s->width % LOW_TILE == 1 && !dear) || s->rows * s->steps > NEAR_STEPS))
        return false;
    return t->row.param >= 0 && rows % VECTOR == 0 && rows % RLX_COLUMN_PANEL != VECTOR &&
           s->width >= (dear && s->width % VECTOR ? LEAST_APART : LEAST_TURNED) &&
           (s->width % WIDEST_VECTOR || is_odd_vectors(s, rows) || is_shallow(s, rows)) &&
           s->rows + 2 * rows < (apart ? s->rows * s->steps * 5 / 4 + BEGINNING : s->rows * s->steps);
}

/* Are strips of use for so many rows? One of a few channels that has to be copied is not where lines are short, but for a single channel, whose
 * lines are one instruction. */
static bool is_strip_worth_it(const rlx_tiling *t, bool begins, int64_t rows, rlx_strip *s)
{
    const bool brief = t->depth.count > 2 && s->width <= SHORT_LINE && s->rows * s->steps * s->width <= SHORT_STRIP;
    s->turned = begins && is_worth_turning(t, s, rows);
    return s->turned || (s->stride == 1 && !brief && is_worth_it(s->width, rows));
}

/* Parts of a single line, alike, as lines: as long as may be, whole vectors if there are such. */
static bool find_parts(const rlx_tiling *t, bool begins, int64_t rows, rlx_strip *out)
{
    int64_t whole, best = 0;
    if (t->column.lanes.count != 1 || !literal_extent(t, t->column.lanes.at[0], &whole))
        return false;
    for (int64_t width = SHORTEST_PART; width <= LONGEST_PART && width <= whole / 2; width++) {
        const int64_t fits = width % WIDEST_VECTOR == 0 ? 3 : width % VECTOR == 0 ? 2 : 1;
        rlx_strip s;
        if (whole % width == 0 && fits >= best && find_line(t, &t->column, width, &s) && is_strip_worth_it(t, begins, rows, &s) &&
            (s.turned || fits == 3)) {
            best = fits;
            *out = s;
        }
    }
    return best > 0;
}

bool rlx_choose_strips(rlx_tiling *t, bool begins)
{
    rlx_strip s;
    int64_t rows;
    if (!rlx_int_literal(t->row.lanes.extent, &rows) ||
        !(find_strip(t, &t->column, &s) ? is_strip_worth_it(t, begins, rows, &s) : find_parts(t, begins, rows, &s)) ||
        s.along + 1 != (int)t->column.access->num_indices)
        return false;
    t->strip = s;
    return true;
}

/* As many lines at a time as are near, whole vectors if there are such, and steps that do not fall on each other in the cache; fewer if two threads end
 * sooner then. */
static int64_t lines_unfolded(const rlx_strip *s, int64_t lines)
{
    const int64_t near = MOST_UNFOLDED / (s->rows * s->steps * s->width), most = near < lines ? near : lines;
    int64_t best = 1, fits = 0;
    for (int64_t n = most; n > 0 && n > most / 2; n--) {
        const int64_t fit = n * s->width % PAGE == 0 ? 1 : n * s->width % (2 * WIDEST_VECTOR) == 0 ? 4 : n * s->width % WIDEST_VECTOR == 0 ? 3 : 2;
        if (fit > fits || (fit == fits && rlx_last_of_two(lines, n) * 16 < rlx_last_of_two(lines, best) * 15))
            best = n, fits = fit;
    }
    return best;
}

/* Steps of windows that are unfolded, of pictures: those side by side, without rows below each other, or a panel in each line, are near in another way, too. */
static int64_t most_unfolded(const rlx_strip *s)
{
    return s->stride == 1 || s->steps > 3 || s->dimension_down < 0 || s->width % (2 * WIDEST_VECTOR) == 0 ? UNFOLDED_BESIDE : UNFOLDED_STEPS;
}

bool rlx_choose_unfolded(rlx_tiling *t)
{
    rlx_strip s;
    int64_t rows, columns;
    if (t->row.param < 0 || !rlx_int_literal(t->row.lanes.extent, &rows) || rows % VECTOR || !rlx_int_literal(t->column.lanes.extent, &columns) ||
        !find_strip(t, &t->column, &s) || s.along + 1 != (int)t->column.access->num_indices || s.apart < 0 || s.width < SHORTEST_UNFOLDED ||
        s.stride > 2 || t->depth.count > 3 || s.rows * s.steps > most_unfolded(&s) ||
        (s.stride == 1 && (s.width % WIDEST_VECTOR == 0 || rows == VECTOR)))
        return false;
    t->strip = s;
    t->strip.unfolded = lines_unfolded(&s, columns / s.width);
    return true;
}

/* Are rows whole panels, nearly? What is less than half a vector more than those costs more than half a panel. */
static bool are_panels(int64_t rows)
{
    const int64_t rest = rows % RLX_COLUMN_PANEL, half = RLX_COLUMN_PANEL / 2,
                  cost = rows - rest + (rest == 0 ? 0 : rest <= half ? half + 1 : RLX_COLUMN_PANEL);
    return 10 * cost <= 11 * rows;
}

/* Do windows go down alone, over pictures of their width? Then those of all lines are one line as they lie, and steps are as many lines further on. */
static bool go_down_alone(const rlx_tiling *t)
{
    const rlx_plan_access *a = t->column.access;
    const rlx_buffer *picture = rlx_as_buffer(a->buffer);
    const int along = (int)a->num_indices - 1, x = rlx_last_digit(&t->column.lanes);
    int64_t width, size, stride, apart;
    return t->column.lanes.count == 2 && t->depth.count == 2 && along > 0 && rlx_loop_dimension(t, a, x) == along &&
           literal_extent(t, x, &width) && rlx_int_literal(picture->shape[along], &size) && size == width &&
           window_dimension(t, a, t->column.lanes.at[0], t->depth.at[1], &stride, &apart) == along - 1 && stride == 1 &&
           rlx_index_fits(t, a->indices[along - 1], rlx_fold_cast(t->ctx, RELAX_INT64, picture->shape[along - 1]));
}

/* Are the columns as they lie one row for each step, or do windows go down alone? */
static bool is_whole_in_place(const rlx_tiling *t, bool down_alone)
{
    const rlx_plan_access *a = t->column.access;
    return down_alone || (rlx_is_straight(t, a, &t->column.lanes) && rlx_is_straight(t, a, &t->depth) &&
                          rlx_is_int_value(rlx_tiling_coefficient(a, rlx_last_digit(&t->column.lanes)), 1));
}

/* Columns that may be turned at once. Where rows are few, a panel of columns serves few products, so that what turning sums costs is less
 * than what panels take to fill as long as columns are near. */
static int64_t most_whole(const rlx_tiling *t, int64_t rows, int64_t steps, bool down_alone)
{
    if (down_alone && steps >= LEAST_OF_FEW) /* which are read several times, and would be packed as often */
        return MOST_OF_FEW;
    const int64_t near = MOST_OF_FEW_ELEMENTS / steps < MOST_OF_FEW ? MOST_OF_FEW_ELEMENTS / steps : MOST_OF_FEW;
    const bool few = rows >= RLX_COLUMN_PANEL && rows <= 2 * RLX_COLUMN_PANEL && steps >= LEAST_OF_FEW && near > MOST_IN_PLACE;
    return !is_whole_in_place(t, down_alone) ? MOST_WHOLE : few ? near : MOST_IN_PLACE;
}

/* Are columns windows that lie some apart? Those are dear to copy for each step. */
static bool are_apart(const rlx_tiling *t, rlx_strip *s)
{
    return find_strip(t, &t->column, s) && s->along + 1 == (int)t->column.access->num_indices && s->stride > 1;
}

/* Are they too few for half a panel of rows, whose tiles are half as good? */
static bool are_too_few(const rlx_tiling *t, int64_t columns, int64_t steps, bool down_alone)
{
    rlx_strip s;
    const bool dear = is_whole_in_place(t, down_alone) || are_apart(t, &s);
    return steps < (dear ? LEAST_OF_HALF : LEAST_OF_HALF_COPIED) || columns < RLX_COLUMN_PANEL;
}

/* Are they better off line by line, for a panel of rows or two? */
static bool are_better_in_lines(const rlx_tiling *t, int64_t rows)
{
    rlx_strip s;
    return rows <= 2 * RLX_COLUMN_PANEL && rows % RLX_COLUMN_PANEL == 0 && are_apart(t, &s) && is_worth_turning(t, &s, rows);
}

bool rlx_choose_whole(rlx_tiling *t, bool begins)
{
    int64_t rows, columns, steps;
    if (!begins || t->dot || t->row.param < 0 || t->column.param >= 0 || t->column.producer ||
        rlx_as_buffer(t->column.access->buffer)->dtype != RELAX_FLOAT32 || rlx_as_buffer(t->acc->buffer)->dtype != RELAX_FLOAT32 ||
        !rlx_int_literal(t->row.lanes.extent, &rows) || !rlx_int_literal(t->column.lanes.extent, &columns) ||
        !rlx_int_literal(t->depth.extent, &steps) || steps < LEAST_STEPS || steps > MOST_STEPS || columns * steps > MOST_WHOLE_ELEMENTS)
        return false;
    const bool down_alone = go_down_alone(t);
    if (!are_panels(rows) || columns < LEAST_TURNED || columns % RLX_COLUMN_PANEL == 0 ||
        columns > most_whole(t, rows, steps, down_alone) ||
        (rows < RLX_COLUMN_PANEL ? are_too_few(t, columns, steps, down_alone) : are_better_in_lines(t, rows)))
        return false;
    t->strip = (rlx_strip){ .width = columns, .stride = 1, .steps = 1, .rows = steps, .length = columns, .lines = 1,
                            .turned = true, .whole = true, .down_alone = down_alone };
    if (down_alone && literal_extent(t, t->depth.at[1], &t->strip.steps))
        t->strip.rows = steps / t->strip.steps;
    return true;
}

bool rlx_choose_row_strips(rlx_tiling *t)
{
    rlx_strip s;
    if (!t->row.packed || t->row.param >= 0 || t->column.param < 0 || !find_strip(t, &t->row, &s) || s.width < SURELY_TURNED)
        return false;
    s.of_rows = true;
    t->strip = s;
    return true;
}

/* The rows of one channel are below each other, as the strip would have them. */
bool rlx_is_strip_copied(const rlx_tiling *t)
{
    return t->strip.whole ? !is_whole_in_place(t, t->strip.down_alone) : t->strip.of_rows || t->strip.unfolded || t->depth.count > 2 || t->strip.rows > FEW_ROWS;
}

const rlx_buffer *rlx_strip_buffer(const rlx_tiling *t)
{
    const rlx_strip *s = &t->strip;
    const rlx_prim *shape[2] = { rlx_int64(t->ctx, rlx_rows_of_strip(t)), rlx_int64(t->ctx, s->unfolded ? s->unfolded * s->width : s->length) };
    const rlx_string *name = rlx_string_z(t->ctx, "strip");
    return name ? rlx_buffer_new(t->ctx, name, RELAX_FLOAT32, shape, 2, NULL, t->place) : NULL;
}

const rlx_buffer *rlx_turned_sums(const rlx_tiling *t)
{
    const rlx_prim *shape[2] = { rlx_int64(t->ctx, t->column_tile),
                                 rlx_least(t->ctx, t->row.lanes.extent, rlx_int64(t->ctx, t->row_tile)) };
    const rlx_string *name = rlx_string_z(t->ctx, "turned");
    return name ? rlx_buffer_new(t->ctx, name, RELAX_FLOAT32, shape, 2, NULL, t->place) : NULL;
}

/* Are lines parts of a single one? Then this is the place of window x of one of them. */
static bool is_cut(const rlx_tiling *t) { return rlx_strip_side(t)->lanes.count == 1; }
static const rlx_prim *place_in_line(const rlx_tiling *t, rlx_strip_line line, const rlx_prim *x)
{
    return rlx_fold_add(t->ctx, rlx_fold_mul(t->ctx, line.y, rlx_int64(t->ctx, t->strip.width)), x);
}

const rlx_stmt *rlx_copy_to_strip(const rlx_tiling *t, rlx_strip_line line, int64_t first, int64_t count)
{
    rlx_context *ctx = t->ctx;
    if (t->border.is)
        return rlx_copy_inside(t, &t->border, line, first, count);
    rlx_sched_loop loops[RLX_MAX_DEPTH], x = rlx_sched_loop_new(ctx, "z", rlx_int64(ctx, t->strip.length));
    const rlx_plan_access *of = rlx_strip_side(t)->access;
    rlx_lane_group groups[2] = { { .d = &rlx_strip_side(t)->lanes }, { .d = &t->depth } };
    const rlx_prim *at[2] = { rlx_int64(ctx, 0), x.var }, *from[RLX_TIR_MAX_DIMS];
    const int depth = t->depth.count - 1;
    groups[0].each[0] = line.y, groups[0].each[1] = rlx_int64(ctx, 0);
    if (is_cut(t))
        groups[0].each[0] = place_in_line(t, line, rlx_int64(ctx, 0));
    for (int i = 0; i < depth; i++) {
        const char name[3] = { 'd', (char)('0' + i), 0 };
        const rlx_prim *extent = rlx_tiling_extent(t, t->depth.at[i]);
        const bool some = count && i == depth - 1;
        loops[i] = rlx_sched_loop_new(ctx, name, some ? rlx_int64(ctx, count) : extent);
        groups[1].each[i] = some ? rlx_fold_add(ctx, loops[i].var, rlx_int64(ctx, first)) : loops[i].var;
        at[0] = rlx_fold_add(ctx, rlx_fold_mul(ctx, at[0], extent), groups[1].each[i]);
    }
    at[0] = rlx_fold_add(ctx, at[0], line.shift);
    groups[1].each[depth] = rlx_int64(ctx, 0);
    size_t n = rlx_indices_in(t, of, rlx_as_buffer(of->buffer), groups, 2, from);
    if (n)
        from[t->strip.along] = rlx_fold_add(ctx, from[t->strip.along], rlx_fold_sub(ctx, x.var, rlx_int64(ctx, t->strip.first)));
    const rlx_prim *value = n ? rlx_load(ctx, rlx_as_buffer(of->buffer), from, n) : NULL;
    const rlx_stmt *body = value ? rlx_store(ctx, t->strip.buffer, value, at, 2, t->place) : NULL;
    body = rlx_sched_wrap(ctx, &x, body, t->place);
    for (int i = depth; i-- > 0;)
        body = rlx_sched_wrap(ctx, &loops[i], body, t->place);
    return body;
}

/* S[k, x] = X[..] for all digits of k and x. A copy has four dimensions, so the loop around it is one that is short: over the lines of a
 * window. */
const rlx_stmt *rlx_fill_whole(const rlx_tiling *t)
{
    rlx_context *ctx = t->ctx;
    const rlx_buffer *picture = rlx_as_buffer(t->column.access->buffer);
    rlx_lane_group groups[2] = { { .d = &t->depth }, { .d = &t->column.lanes } };
    rlx_sched_loop loops[2 * RLX_MAX_DEPTH];
    const rlx_prim *at[2], *from[RLX_TIR_MAX_DIMS];
    const int outermost = t->depth.count > 2 ? t->depth.count - 2 : 0;
    int n = 0;
    for (int g = 0; g < 2; g++) {
        at[g] = rlx_int64(ctx, 0);
        for (int i = 0; i < groups[g].d->count; i++, n++) {
            const char name[3] = { g ? 'x' : 'd', (char)('0' + i), 0 };
            loops[n] = rlx_sched_loop_new(ctx, name, rlx_tiling_extent(t, groups[g].d->at[i]));
            groups[g].each[i] = loops[n].var;
            at[g] = rlx_fold_add(ctx, rlx_fold_mul(ctx, at[g], loops[n].extent), loops[n].var);
        }
    }
    const size_t dims = rlx_indices_in(t, t->column.access, picture, groups, 2, from);
    const rlx_stmt *body = dims ? rlx_store(ctx, t->strip.buffer, rlx_load(ctx, picture, from, dims), at, 2, t->place) : NULL;
    while (n-- > 0)
        body = n == outermost ? body : rlx_sched_wrap(ctx, &loops[n], body, t->place);
    return rlx_sched_wrap(ctx, &loops[outermost], body, t->place);
}

const rlx_buffer *rlx_view_of_lines(const rlx_tiling *t)
{
    const rlx_buffer *b = rlx_as_buffer(t->column.access->buffer);
    const rlx_prim *shape[RLX_TIR_MAX_DIMS];
    const size_t last = b->num_shape - 1;
    for (size_t d = 0; d <= last; d++)
        shape[d] = rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[d]);
    shape[last - 1] = rlx_fold_mul(t->ctx, shape[last - 1], shape[last]);
    return rlx_view_new(t->ctx, b, shape, last);
}

/* Column x in step u of row k of that. */
static const rlx_prim *element_of_lines(const rlx_tiling *t, const rlx_prim *k, const rlx_prim *u, const rlx_prim *x)
{
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *zero = rlx_int64(t->ctx, 0);
    const rlx_buffer *picture = rlx_as_buffer(t->column.access->buffer);
    const rlx_lane_group groups[2] = { { .d = &t->column.lanes, .each = { zero, zero } }, { .d = &t->depth, .each = { k, u } } };
    const size_t n = rlx_indices_in(t, t->column.access, picture, groups, 2, at);
    if (n < 2)
        return NULL;
    at[n - 2] = rlx_fold_add(t->ctx, rlx_fold_mul(t->ctx, at[n - 2], rlx_fold_cast(t->ctx, RELAX_INT64, picture->shape[n - 1])), x);
    return rlx_load(t->ctx, t->column.buffer, at, n - 1);
}

const rlx_prim *rlx_strip_element(const rlx_tiling *t, rlx_strip_line line, const rlx_prim *k, const rlx_prim *u, const rlx_prim *x)
{
    rlx_context *ctx = t->ctx;
    const rlx_prim *first = rlx_fold_add(ctx, rlx_fold_mul(ctx, x, rlx_int64(ctx, t->strip.stride)), rlx_int64(ctx, t->strip.first)),
                   *at[RLX_TIR_MAX_DIMS] = { rlx_fold_add(ctx, k, line.shift),
                                             rlx_fold_add(ctx, first, rlx_fold_mul(ctx, u, rlx_int64(ctx, t->strip.apart))) };
    if (t->strip.unfolded)
        at[0] = k, at[1] = x;
    if (t->strip.buffer)
        return rlx_load(ctx, t->strip.buffer, at, 2);
    if (t->strip.down_alone)
        return element_of_lines(t, k, u, x);
    const rlx_side *side = rlx_strip_side(t);
    const rlx_buffer *picture = t->strip.whole ? side->buffer : rlx_as_buffer(side->access->buffer);
    rlx_lane_group groups[2] = { { .d = &side->lanes, .each = { line.y, x } }, { .d = &t->depth, .each = { k, u } } };
    if (!t->strip.whole && is_cut(t))
        groups[0].each[0] = place_in_line(t, line, x);
    if (t->strip.whole) { /* a view in which lanes are one index, and steps are */
        groups[0] = rlx_lanes_at(t, side, false, x);
        groups[1] = (rlx_lane_group){ .d = &t->depth, .position = k };
    }
    size_t n = rlx_indices_in(t, side->access, picture, groups, 2, at);
    return n ? rlx_load(ctx, picture, at, n) : NULL;
}
