/*- contract.c: sums of products in tiles.
 *
 *     for i, j, k:                           for ko:                        512 steps of k at a time
 *         C[i, j] += A[i, k] * B[k, j]           for jo:                    128 columns
 *                                                    P[jp, k, l] = B[..]    panels of 32 columns, the last one filled up with 0
 *                                                    for io:                128 rows
 *                                                        for jp:
 *                                                            for i, j, k:   one instruction
 *                                                                C[..] += A[..] * P[jp, k, j]
 *
 * Which loop is a row, a column or a step of the sum (depth) follows from what it moves: a row C and A, a column C and
 * B, depth not C; what moves all three stays a loop around everything, as a batch does. Columns are on the side where C
 * is contiguous. Up to four loops are one depth, up to two are one row or column if C goes on from one to the other
 * (the pixels of a convolution), all in the order in which they stand: sums keep theirs.
 *
 * Loops that are one in a compact buffer are one dimension of a view of it; where they are not, packing takes them apart.
 *
 * Rows are packed, too, in panels of 8, where they cannot be read in place: their depth is several loops that A is not
 * contiguous in. Rows that fall into the same lines of a cache need not be: a tile reads no more of them than those have ways.
 *
 * Where all rows are one tile, panels of columns are filled one by one, each just before its only use, inside of the loop over them,
 * which threads can share then.
 *
 * Bytes that are summed up in int32 stay bytes in panels, four steps of one depth loop beside each other, which is the
 * outermost there: sums that wrap around are the same in any order. What the last four lacks is 0.
 *
 *     P[jp, k, l, r] = if_then_else(k * 4 + r < .., B[..], 0)     C[..] += int32(A[..]) * int32(P[jp, k, j, r])
 */
#include "schedule/contract_int.h"

enum {
    FEW_ROWS = 16,          /* that many read B in place */
    FEW_PRODUCED = 4,       /* or that many, if it is computed, of which so much lies near: */
    FEW_ALONG = 512,        /* steps or columns, along and across what it is computed from */
    FEW_ACROSS = 64,
    SMALL_BYTES = 16384,    /* so much of B is near wherever it lies */
    SHALLOW = 128,          /* 32 columns of so many steps are */
    NARROW = 64,            /* so many columns lie closer together than in panels, if steps do */
    SHORT_DEPTH = 320,
    MOST_LANES = 3,         /* loops that are one row or column */
    MOST_LINES = 8,         /* that share a strip, and about as many parts for threads */
    NEAR_SUMS = 8192,       /* that stay near */
    NEAR_LINES = 12288,     /* elements of strips and of sums that do */
    FAR_WEIGHTS = 1 << 18,  /* elements of weights that do not */
    FAR_STRIPS = 1 << 18,   /* elements of strips that are nearer than those */
    FAR_SUMS = 1 << 16,     /* that are near enough where weights are far */
    FEW_THREADS = 4,
    SMALL_STRIP = 2048,     /* of one that costs less to copy for each line than to share */
    NEAR_STRIPS = 6144,     /* of strips alone */
    WHOLE_VECTORS = 16,     /* elements that are turned back in whole vectors */
    MOST_IN_FRONT = 1 << 18, /* elements of panels that wait while a loop runs */
    MOST_EVEN = 8           /* of more tiles than that one more or less does not matter */
};

/* ---- which loop is what --------------------------------------------------------------------- */

static bool is_lane_of(const rlx_tiling *t, int loop, const rlx_plan_access *mine,
                       const rlx_plan_access *other)
{
    return t->plan->loops[loop].determined && rlx_tiling_coefficient(t->acc, loop) &&
           rlx_tiling_coefficient(mine, loop) && !rlx_tiling_coefficient(other, loop);
}

/* The innermost lane of a side, of several or a single one: for columns the one in which C is contiguous. */
static int find_lane(const rlx_tiling *t, const rlx_plan_access *mine, const rlx_plan_access *other,
                     bool contiguous, bool single)
{
    int found = -1;
    for (int i = 0; i < (int)t->plan->count; i++)
        if (is_lane_of(t, i, mine, other) && rlx_is_int_value(rlx_tiling_extent(t, i), 1) == single &&
            (!contiguous || rlx_is_int_value(rlx_tiling_coefficient(t->acc, i), 1)))
            found = i;
    return found;
}

static bool is_lane(const rlx_digits *d, int loop)
{
    bool is = false;
    for (int i = 0; i < d->count; i++)
        is |= d->at[i] == loop;
    return is;
}

/* Do panels of a constant surely take the place of what the side reads? Those are filled once, however it lies. */
static bool is_surely_panels(const rlx_tiling *t, const rlx_side *s)
{
    const rlx_buffer *b = rlx_as_buffer(s->access->buffer);
    bool known = b->dtype == rlx_as_buffer(t->acc->buffer)->dtype && t->plan->count <= RLX_TIR_MAX_DIMS - 3;
    for (size_t i = 0; i < t->plan->count && known; i++)
        known = rlx_tiling_extent(t, (int)i)->kind == RLX_NODE_INT_IMM;
    return known && rlx_panel_param(t->params, b) >= 0;
}

/* One more loop around those that are lanes: C has them as one index, and, if it is the third, what they read has, too, as no panel is
 * filled from three in each call. False: it is none. */
static bool join_lane(rlx_tiling *t, rlx_side *s, const rlx_side *other, int loop)
{
    rlx_digits more = { .at = { loop }, .count = s->lanes.count + 1 };
    memcpy(more.at + 1, s->lanes.at, (size_t)s->lanes.count * sizeof *more.at);
    if (is_lane(&s->lanes, loop) || !is_lane_of(t, loop, s->access, other->access) || rlx_merged_at(t, t->acc, &more) < 0 ||
        (more.count > 2 && rlx_merged_at(t, s->access, &more) < 0 && !is_surely_panels(t, s)))
        return false;
    more.extent = rlx_fold_mul(t->ctx, rlx_tiling_extent(t, loop), s->lanes.extent);
    s->lanes = more;
    return true;
}

/* The lanes of a side that end in loop `inner`. */
static void collect_lanes(rlx_tiling *t, rlx_side *s, const rlx_side *other, int inner)
{
    s->lanes = (rlx_digits){ .at = { inner }, .count = 1, .extent = rlx_tiling_extent(t, inner) };
    for (bool joined = true; joined && s->lanes.count < MOST_LANES;) {
        joined = false;
        for (int i = 0; i < (int)t->plan->count && !joined; i++)
            joined = join_lane(t, s, other, i);
    }
}

/* Bytes that are summed up in int32? */
static bool are_bytes(const rlx_tiling *t, const rlx_plan_access *a, const rlx_plan_access *b)
{
    return rlx_as_buffer(t->acc->buffer)->dtype == RELAX_INT32 &&
           rlx_kernel_is_byte(rlx_kernel_elem_of(rlx_as_buffer(a->buffer)->dtype)) &&
           rlx_kernel_is_byte(rlx_kernel_elem_of(rlx_as_buffer(b->buffer)->dtype));
}

/* Chooses the sides. False: there is no column, or no row. */
static bool choose_sides(rlx_tiling *t)
{
    const rlx_plan_access *all = t->plan->accesses.data, *a = &all[t->plan->fused.a],
                          *b = &all[t->plan->fused.b];
    int column = find_lane(t, b, a, true, false);
    if (column < 0) {
        const rlx_plan_access *other = a;
        a = b;
        b = other;
        column = find_lane(t, b, a, true, false);
    }
    int row = find_lane(t, a, b, false, false);
    if (row < 0 && (are_bytes(t, a, b) || rlx_panel_param(t->params, rlx_as_buffer(b->buffer)) >= 0 ||
                    rlx_find_producer(t->params->producers, b->buffer)))
        row = find_lane(t, a, b, false, true); /* a row alone is worth it if B comes in panels, or is small in them */
    t->row.access = a;
    t->column.access = b;
    if (column < 0 || row < 0)
        return false;
    collect_lanes(t, &t->column, &t->row, column);
    collect_lanes(t, &t->row, &t->column, row);
    return true;
}

/* The loops that are summed over, in their order. False: there are too many. */
static bool collect_depth(rlx_tiling *t)
{
    rlx_digits *d = &t->depth;
    d->count = 0;
    d->extent = rlx_int64(t->ctx, 1);
    for (int i = 0; i < (int)t->plan->count; i++) {
        bool once = rlx_is_int_value(rlx_tiling_extent(t, i), 1);
        t->outer[i] = (once || rlx_tiling_coefficient(t->acc, i)) && !is_lane(&t->row.lanes, i) &&
                      !is_lane(&t->column.lanes, i);
        if (rlx_tiling_coefficient(t->acc, i) || once)
            continue;
        if (t->plan->loops[i].determined || d->count == RLX_MAX_DEPTH)
            return false;
        d->at[d->count++] = i;
        d->extent = rlx_fold_mul(t->ctx, d->extent, rlx_tiling_extent(t, i));
    }
    return d->count > 0 && d->extent;
}

/* ---- elements ------------------------------------------------------------------------------- */

/* The parameter that a side reads, if its panels may take its place: how many there are is known. Panels of sums in
 * float32 are twice as large as weights of 16 bits, and much sooner there than packed in each call; those of 8 bits that
 * do not stay so would be four times as large, which costs more to read than to pack where they leave the cache. -1:
 * there is none. */
static int packable_param(const rlx_tiling *t, rlx_side *s)
{
    const rlx_buffer *b = rlx_as_buffer(s->access->buffer);
    bool known = s->lanes.extent->kind == RLX_NODE_INT_IMM &&
                 t->depth.extent->kind == RLX_NODE_INT_IMM &&
                 rlx_dtype_bytes(rlx_panel_dtype(t, s)) <= 2 * rlx_dtype_bytes(b->dtype) &&
                 t->plan->count + t->dot + (size_t)t->params->num_around <= RLX_TIR_MAX_DIMS - 3;
    for (int i = 0; i < (int)t->plan->count && known; i++)
        known = !t->outer[i] || !rlx_tiling_coefficient(s->access, i) ||
                rlx_tiling_extent(t, i)->kind == RLX_NODE_INT_IMM;
    for (int i = 0; i < t->params->num_around && known; i++) {
        s->around[i] = false;
        for (size_t d = 0; d < s->access->num_indices; d++)
            s->around[i] |= rlx_plan_mentions(t->ctx, s->access->indices[d], t->params->around[i].var);
    }
    return known ? rlx_panel_param(t->params, b) : -1;
}

/* Is an index surely in range, wherever the loops around the nest are? */
static bool surely_fits(const rlx_tiling *t, const rlx_prim *index, const rlx_prim *size)
{
    for (const rlx_in_front *f = t->params->in_front; f; f = f->outer)
        if (index == f->loop->loop_var)
            return rlx_is_int_value(f->loop->min, 0) &&
                   rlx_prove_equal(t->ctx, NULL, rlx_fold_cast(t->ctx, RELAX_INT64, f->loop->extent), size) == RLX_EQUAL;
    return rlx_index_fits(t, index, size);
}

/* May panels of columns be filled in front of the loop that the nest is in? Where sizes are not known they are as large as what they are
 * filled from, and the loop may run no time, so that has to be there. */
static bool may_be_in_front(rlx_tiling *t)
{
    rlx_side *s = &t->column;
    const rlx_buffer *b = rlx_as_buffer(s->access->buffer);
    int64_t elements;
    const rlx_prim *all = rlx_fold_mul(t->ctx, t->depth.extent, s->lanes.extent);
    const bool known = rlx_int_literal(all, &elements);
    bool may = !t->dot && packable_param(t, s) < 0 && s->lanes.count <= 2 && (!known || elements <= MOST_IN_FRONT), fits = true;
    for (int i = 0; i < (int)t->plan->count && may; i++)
        may = !t->outer[i] || !rlx_tiling_coefficient(s->access, i);
    for (size_t d = 0; d < s->access->num_indices && may && fits; d++)
        fits = surely_fits(t, s->access->indices[d], rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[d]));
    may &= known || fits;
    return may && (t->in_front = rlx_loop_to_pass(t->ctx, t->params->in_front, s->access, all, fits)) != NULL;
}

/* The first of the producers that are visible where panels of columns are filled: in front of a loop, that is those in front of loops
 * around it, too, that go from one part of what is produced to another. */
static size_t first_visible(const rlx_tiling *t)
{
    const rlx_in_front *f = t->column.in_front ? t->in_front : NULL;
    if (!f)
        return t->params->producers->first;
    while (f->outer && rlx_plan_mentions(t->ctx, t->column.access->offset.base, f->outer->loop->loop_var))
        f = f->outer;
    return f->first_producer;
}

/* What computes the columns' panels instead of packing them: the sum has one depth, and no loop around it computes the
 * same again. */
static rlx_producer *find_producer(rlx_tiling *t)
{
    const rlx_plan_access *a = t->column.access;
    rlx_producers *all = t->params->producers;
    const size_t first = all->first;
    all->first = first_visible(t);
    rlx_producer *p = t->depth.count == 1 && t->column.lanes.count == 1 ? rlx_find_producer(all, a->buffer) : NULL;
    all->first = first;
    int64_t steps = RLX_DEPTH_TILE;
    int d = p && !p->refused ? rlx_loop_dimension(t, a, t->depth.at[0]) : -1;
    if (t->column.in_front) /* all of them are one tile */
        (void)rlx_int_literal(t->depth.extent, &steps);
    for (int i = 0; i < (int)t->plan->count; i++)
        if (t->outer[i] && !rlx_is_int_value(rlx_tiling_extent(t, i), 1) && !rlx_tiling_coefficient(a, i))
            d = -1;
    if (d < 0 || rlx_loop_dimension(t, a, t->column.lanes.at[0]) < 0 ||
        !(t->depth_tile = rlx_producer_tile(t->ctx, p, (size_t)d, t->depth.extent, steps)) ||
        (t->column.in_front && t->depth_tile != steps))
        return NULL;
    return p;
}

/* Steps of a depth loop, the last four filled up, in 64ths of those that it has; those of long ones are as good as full. */
static int64_t filled_up(const rlx_tiling *t, int digit)
{
    int64_t steps;
    return rlx_int_literal(rlx_tiling_extent(t, t->depth.at[digit]), &steps) && steps > 0 && steps < 64
               ? (steps + 3) / 4 * 4 * 64 / steps
               : 64;
}

/* Are the elements bytes that sums in int32 read four at a time? Then the depth loop with the fewest to be filled up comes
 * first. */
static bool choose_dot(rlx_tiling *t)
{
    bool bytes = are_bytes(t, t->row.access, t->column.access);
    int best = 0;
    for (int i = 1; i < t->depth.count && bytes; i++)
        if (filled_up(t, i) < filled_up(t, best))
            best = i;
    if (!bytes || filled_up(t, best) > 128)
        return false;
    int first = t->depth.at[best];
    memmove(t->depth.at + 1, t->depth.at, (size_t)best * sizeof *t->depth.at);
    t->depth.at[0] = first;
    return true;
}

/* Are the steps of each row words in memory? */
static bool rows_are_words(const rlx_tiling *t)
{
    int64_t steps;
    return t->depth.count == 1 && rlx_int_literal(t->depth.extent, &steps) && steps % RLX_FOUR == 0 &&
           rlx_plan_is_unit(t->row.access, t->depth.at[0]);
}

/* Are columns so few, and the steps that they are in so close together, that they are nearer where they lie than in panels? What lies
 * far apart may have a few places only in the nearest cache. */
static bool is_narrow(const rlx_tiling *t)
{
    const rlx_prim *step = rlx_tiling_coefficient(t->column.access, rlx_last_digit(&t->depth));
    int64_t columns, apart;
    return rlx_is_at_most(t->column.lanes.extent, NARROW) &&
           !(rlx_int_literal(t->column.lanes.extent, &columns) && step && rlx_int_literal(step, &apart) && apart > 2 * columns);
}

/* Which operands are packed. few: a few rows may be read in place. False: the nest is as good as it stands. */
static bool choose_packing(rlx_tiling *t, bool *few)
{
    const rlx_prim *stride = rlx_tiling_coefficient(t->column.access, rlx_last_digit(&t->column.lanes));
    bool rows_are_straight = rlx_is_straight(t, t->row.access, &t->row.lanes) &&
                             rlx_is_straight(t, t->row.access, &t->depth);
    const rlx_dtype dtype = rlx_as_buffer(t->acc->buffer)->dtype;
    bool row_widens = t->dot ? !rows_are_words(t) : rlx_as_buffer(t->row.access->buffer)->dtype != dtype,
         column_widens = rlx_as_buffer(t->column.access->buffer)->dtype != dtype;
    *few = !t->dot && !row_widens && rows_are_straight &&
           (t->column.producer || (!column_widens && rlx_is_int_value(stride, 1) &&
                                   rlx_is_straight(t, t->column.access, &t->column.lanes) &&
                                   rlx_is_straight(t, t->column.access, &t->depth)));
    int64_t elements;
    bool small = rlx_int_literal(rlx_fold_mul(t->ctx, t->depth.extent, t->column.lanes.extent), &elements) &&
                 elements <= SMALL_BYTES / (int64_t)rlx_dtype_bytes(dtype);
    t->row.param = packable_param(t, &t->row);
    t->column.param = small && *few ? -1 : packable_param(t, &t->column);
    *few = *few && t->column.param < 0;
    small |= rlx_is_at_most(t->depth.extent, SHALLOW) || is_narrow(t);
    t->column.in_front &= t->column.param < 0 && !(*few && !t->column.producer && is_narrow(t));
    *few = *few && !t->column.in_front;
    if (t->column.param < 0 && !t->column.producer && !t->dot &&
        rlx_is_int_value(t->row.lanes.extent, 1))
        return false;
    if (*few && !t->column.producer && (small || rlx_is_at_most(t->row.lanes.extent, FEW_ROWS))) {
        t->row.packed = t->row.param >= 0;
        /* in place; what is gained is one loop for several */
        return t->row.packed || t->depth.count > 1 || t->row.lanes.count > 1 ||
               t->column.lanes.count > 1;
    }
    t->column.packed = true;
    t->row.packed = row_widens || !rows_are_straight || t->row.param >= 0;
    return true;
}

static bool is_schedulable(const rlx_tiling *t)
{
    const rlx_plan_access *all[3] = { t->acc, t->row.access, t->column.access };
    for (size_t i = 0; i < t->plan->count; i++)
        if (!rlx_is_int_value(t->plan->loops[i].min, 0))
            return false;
    for (int i = 0; i < 3; i++)
        if (!all[i]->affine || !rlx_is_compact(rlx_as_buffer(all[i]->buffer)))
            return false;
    return true;
}

static bool find_views(rlx_tiling *t)
{
    const rlx_digits *of_acc[2] = { &t->row.lanes, &t->column.lanes };
    rlx_side *sides[2] = { &t->row, &t->column };
    t->acc_buffer = rlx_merged_view(t, t->acc, of_acc, 2);
    for (int i = 0; i < 2; i++) {
        rlx_side *s = sides[i];
        const rlx_digits *groups[2] = { &s->lanes, &t->depth };
        const bool own = s->packed ? !rlx_packs_view(s) : t->strip.width && rlx_strip_side(t) == s && (!t->strip.whole || rlx_is_strip_copied(t));
        s->buffer = own                                       ? rlx_as_buffer(s->access->buffer)
                    : t->strip.down_alone && s == &t->column ? rlx_view_of_lines(t)
                                                             : rlx_merged_view(t, s->access, groups, s->packed ? 1 : 2);
    }
    return t->acc_buffer && t->row.buffer && t->column.buffer;
}

static const rlx_stmt *declare_views(const rlx_tiling *t, const rlx_stmt *body)
{
    const struct { const rlx_buffer *view; const rlx_node *own; } all[3] = {
        { t->acc_buffer, t->acc->buffer },
        { t->row.buffer, t->row.access->buffer },
        { t->column.buffer, t->column.access->buffer }
    };
    /* with an epilogue C is one of what that touches */
    for (int i = t->epilogue ? 1 : 0; i < 3; i++)
        if (&all[i].view->node != all[i].own)
            body = rlx_declare_view(t->ctx, all[i].view, body, t->place);
    return body;
}

/* What a producer computes in front of the sums of few rows. NULL: out of memory, or the producer is refused. */
static const rlx_stmt *produce_for_few(const rlx_tiling *t)
{
    rlx_tiling few = *t;
    int64_t whole;
    size_t d = (size_t)rlx_loop_dimension(t, t->column.access, t->depth.at[0]);
    bool along = rlx_is_along(t);
    int64_t tile = rlx_producer_tile(t->ctx, t->column.producer, d, t->depth.extent,
                                     along ? FEW_ALONG : FEW_ACROSS);
    few.depth_tile = tile ? tile : t->depth_tile;
    few.few = along ? FEW_ACROSS : FEW_ALONG;
    if (rlx_int_literal(t->column.lanes.extent, &whole) && whole > 0 && whole < few.few)
        few.few = whole;
    few.row.packed = false;
    few.row.panel = NULL;
    few.start = NULL;
    few.epilogue = NULL;
    const rlx_stmt *body = find_views(&few) ? declare_views(&few, rlx_few_tiles(&few)) : NULL;
    return body;
}

/* With rows that only the run can count: what is done with few of them. */
static const rlx_stmt *choose_by_rows(const rlx_tiling *t, const rlx_stmt *few, const rlx_stmt *body)
{
    const rlx_prim *extent = t->row.lanes.extent;
    if (!body || !few)
        return NULL;
    const rlx_prim *are_few = rlx_binary_new(t->ctx, RLX_NODE_LE, extent, rlx_int64(t->ctx, t->column.producer ? FEW_PRODUCED : FEW_ROWS));
    return rlx_sched_if(t->ctx, are_few, rlx_copy_fresh(t->ctx, few), body, t->place);
}

static int64_t tiles_of(int64_t lanes, int64_t tile) { return (lanes + tile - 1) / tile; }

/* Tiles of so many lanes, or of fewer if two threads end sooner then; `most` of them, because each has its cost. */
static int64_t even_tiles(int64_t lanes, int64_t tile, int64_t panel, int64_t most)
{
    int64_t best = tile;
    for (int64_t smaller = tile - panel; smaller > 0 && tiles_of(lanes, smaller) <= most; smaller -= panel)
        if (rlx_last_of_two(lanes, smaller) * 16 < rlx_last_of_two(lanes, best) * 15)
            best = smaller;
    return best;
}

/* Do threads share a loop around everything? */
static bool has_outer(const rlx_tiling *t)
{
    bool has = false;
    for (size_t i = 0; i < t->plan->count; i++)
        has |= t->outer[i] && !rlx_is_int_value(rlx_tiling_extent(t, (int)i), 1);
    return has;
}

/* Columns that are packed here are packed by the thread that uses them, if there is more than one tile of them, which costs
 * nothing unless rows are packed for each. */
static int64_t even_columns(const rlx_tiling *t)
{
    const int64_t tile = t->column_tile;
    const bool own = t->column.packed && !rlx_has_all_panels(&t->column) && !t->column.producer &&
                     (t->row.param >= 0 || !t->row.packed) && !has_outer(t);
    int64_t lanes, count;
    if (!rlx_int_literal(t->column.lanes.extent, &lanes))
        return tile;
    count = tiles_of(lanes, tile);
    if (count > MOST_EVEN || (count < 2 && (tile > RLX_COLUMN_TILE || !own)))
        return tile;
    return even_tiles(lanes, tile, RLX_COLUMN_PANEL, own ? 2 * count : count + count % 2);
}

static int64_t even_rows(const rlx_tiling *t)
{
    int64_t lanes, count;
    if (!rlx_int_literal(t->row.lanes.extent, &lanes))
        return RLX_ROW_TILE;
    count = tiles_of(lanes, RLX_ROW_TILE);
    return count < 2 || count > MOST_EVEN ? RLX_ROW_TILE
                                          : even_tiles(lanes, RLX_ROW_TILE, t->strip.whole ? RLX_COLUMN_PANEL : RLX_ROW_PANEL, count + count % 2);
}

/* Lines that may have a strip each. Those that may share one in turn (`next`: nearly all of it is copied for each line) do not fill the nearest cache. */
static int64_t most_strips(const rlx_tiling *t)
{
    return (t->strip.next > 1 ? NEAR_STRIPS : NEAR_LINES) / (t->strip.rows * t->strip.length);
}

/* Are the weights that lines read more than stay near? */
static bool are_far_weights(const rlx_tiling *t)
{
    int64_t channels = 0;
    (void)rlx_int_literal((t->strip.of_rows ? &t->column : &t->row)->lanes.extent, &channels);
    return channels * t->strip.rows * t->strip.steps > FAR_WEIGHTS;
}

/* Lines that are turned at once: more where their strips and sums are near, too, and where weights come from afar, which all of them read
 * while those of a tile of rows are nearer; but as many tiles as some threads share. */
static int64_t lines_together(const rlx_tiling *t, int64_t rows, int64_t lines)
{
    const int64_t width = t->strip.width, few = width < RLX_COLUMN_TILE ? RLX_COLUMN_TILE / width : 1, together = most_strips(t),
                  sums = width * (rows < RLX_ROW_TILE ? rows : RLX_ROW_TILE), near = NEAR_LINES / (t->strip.rows * t->strip.length + sums);
    int64_t most = near > few ? near : few;
    if (t->strip.next > 1 && width % WHOLE_VECTORS == 0) /* whose strips are shared in turn */
        most = FAR_SUMS / sums < MOST_LINES ? FAR_SUMS / sums : MOST_LINES;
    else if (t->strip.next > 1 && together >= few && together < most)
        most = together;
    while (most > few && most * width % WHOLE_VECTORS)
        most--;
    if (!are_far_weights(t))
        return most;
    const int64_t shared = tiles_of(lines, FEW_THREADS), far = FAR_SUMS / sums < shared ? FAR_SUMS / sums : shared;
    return far > most ? far : most;
}

/* May they be one instruction? Each has a strip of its own then. Of lines that are rows it is worth that where each panel of weights is read for all of them
 * while it is near. */
static bool may_be_together(const rlx_tiling *t, int64_t lines)
{
    if (t->strip.of_rows)
        return lines > 1 && are_far_weights(t);
    return t->strip.turned && !t->strip.whole && lines > 1 && rlx_is_strip_copied(t) && lines <= most_strips(t);
}

/* Lines of the picture in a tile: of those whose sums are turned some, so that what is done with them has rows to go along, else those that
 * share a strip. The more, the less is copied, but threads share tiles, unless a picture or a group each is enough for them. */
static int64_t lines_of_tile(const rlx_tiling *t, bool joint)
{
    const bool shared = has_outer(t) || t->params->inside > 0;
    int64_t whole = 0, rows = 1;
    (void)rlx_int_literal(t->column.lanes.extent, &whole);
    (void)rlx_int_literal(t->row.lanes.extent, &rows);
    const int64_t width = t->strip.width, lines = whole / width, parts = tiles_of(lines, MOST_LINES);
    int64_t most = shared || parts > MOST_LINES ? MOST_LINES : parts;
    if (t->strip.turned)
        most = lines_together(t, rows, lines);
    else if (!t->strip.down && !joint)
        most = 1;
    else if (joint && !rlx_is_strip_copied(t)) /* one instruction, so that nothing speaks against many */
        most = tiles_of(lines, 2) * rows * width <= NEAR_SUMS ? tiles_of(lines, 2) : NEAR_SUMS / (rows * width);
    return t->strip.down && t->strip.next == 1 && shared ? most : even_tiles(lines, most, 1, 2 * tiles_of(lines, most));
}

/* Lines of a tile whose windows are rows: they share a strip in turn, or have one each and read weights together. Two threads end soonest, and there are tiles
 * for a few more. */
static int64_t lines_as_rows(const rlx_tiling *t)
{
    const bool far = are_far_weights(t);
    int64_t whole = 0;
    (void)rlx_int_literal(t->row.lanes.extent, &whole);
    const int64_t lines = whole / t->strip.width, least = tiles_of(lines, FEW_THREADS), near = FAR_STRIPS / (t->strip.rows * t->strip.length);
    if (!far && !t->strip.down)
        return 1;
    if (far && near < least)
        return near > 1 ? near : 1;
    int64_t best = least;
    for (int64_t n = least + 1; n <= tiles_of(lines, 2) && !(far && n > near); n++)
        if (rlx_last_of_two(lines, n) < rlx_last_of_two(lines, best))
            best = n;
    return best;
}

/* Are lines so short, of so few rows, that what is done with their sums had better be done for some of them at once, while they are near? */
static bool are_short_lines(const rlx_tiling *t, bool joined)
{
    int64_t rows;
    return joined && t->strip.width && !t->strip.turned && !t->strip.of_rows && rlx_int_literal(t->row.lanes.extent, &rows) &&
           rows <= RLX_ROW_TILE && rows * t->strip.width * MOST_LINES <= NEAR_SUMS;
}

/* Bytes: products take so little time that what is done with their sums wants long strips. Where rows lie in place and columns in panels of a
 * constant, or rows are a constant and more than one tile, tiles are as low as those of AMX. Where all rows are one tile, as they may be, two
 * threads share the columns. */
static void choose_low_tiles(rlx_tiling *t)
{
    int64_t rows = 0, columns;
    const bool known = rlx_int_literal(t->row.lanes.extent, &rows), there = t->column.param >= 0 && !t->row.packed,
               windows = t->column.packed && t->column.param < 0 && !t->column.producer && known && (rows <= RLX_ROW_TILE || t->row.param >= 0);
    if (!t->dot || t->strip.width || !(there || windows) || !rlx_int_literal(t->column.lanes.extent, &columns))
        return;
    const int64_t half = tiles_of(columns, 2 * RLX_COLUMN_PANEL) * RLX_COLUMN_PANEL;
    const bool low = there || rows > RLX_ROW_TILE; /* threads share the rows, too */
    if (low)
        t->row_tile = RLX_LOW_ROWS;
    t->column_tile = (low && rows > RLX_LOW_ROWS) || half > RLX_LOW_COLUMNS ? RLX_LOW_COLUMNS : half < RLX_COLUMN_TILE ? RLX_COLUMN_TILE : half;
}

/* Are the lines of a tile one instruction, and do strips come from the tensor? Rows that lie one below the other are shared then, but for small strips, of
 * which each line has its own. */
static void choose_strips_of_tile(rlx_tiling *t, int64_t lines, const rlx_for_stmt *nest)
{
    const bool together = may_be_together(t, lines), may_share = !(together && t->strip.of_rows) && t->strip.lines > 1 && t->strip.next == 1;
    t->strip.together = together ? lines : 0;
    if (!together || !may_share || t->strip.rows * t->strip.length > SMALL_STRIP)
        rlx_find_border(t, nest, &t->border);
    if (t->border.is && may_share)
        t->strip.together = 0;
}

/* What is done by tiles, or (by_rows) without them where there are few rows. first: what sums begin with; NULL: it is not known. */
static const rlx_stmt *schedule_tiles(rlx_tiling *t, bool by_rows, const rlx_prim *first,
                                      rlx_epilogue *e, const rlx_for_stmt *init,
                                      const rlx_for_stmt *nest)
{
    const bool joined = e->count > 0, once = first && !rlx_has_depth_tiles(t);
    if (joined && rlx_is_at_most(t->depth.extent, SHORT_DEPTH))
        t->column_tile = 2 * RLX_COLUMN_TILE; /* longer strips, and panels as large as those of any depth */
    t->row_tile = t->strip.turned && !t->strip.whole ? RLX_ROW_TILE : even_rows(t);
    if (joined)
        choose_low_tiles(t);
    t->strip.joint = !t->strip.unfolded && are_short_lines(t, joined);
    const bool in_lines = t->strip.width && !t->strip.of_rows && !t->strip.whole;
    const int64_t lines = t->strip.unfolded ? t->strip.unfolded : in_lines ? lines_of_tile(t, t->strip.joint) : t->strip.of_rows ? lines_as_rows(t) : 1;
    t->column_tile = t->strip.of_rows ? RLX_SINGLE_DEPTH
                     : t->strip.width ? (t->strip.turned || t->strip.unfolded || t->strip.joint ? lines : 1) * t->strip.width
                                      : even_columns(t);
    t->strip.lines = t->strip.down && !t->strip.unfolded ? lines : 1;
    choose_strips_of_tile(t, lines, nest);
    if (t->strip.of_rows)
        t->row_tile = (t->strip.together ? lines : 1) * t->strip.width;
    if (joined && !rlx_place_epilogue(t, e, init, nest, first != NULL, once))
        return NULL;
    const bool shrunk = joined && e->touched[0].block;
    t->epilogue = joined ? e : NULL;
    t->start = once && (shrunk || !by_rows) ? first : NULL;
    const rlx_stmt *before = init ? &init->node : NULL, *loops = &nest->node;
    if (joined) {
        before = rlx_on_accumulator(t, e, before);
        loops = rlx_on_accumulator(t, e, loops);
    }
    const rlx_stmt *body = declare_views(t, rlx_tiles(t));
    if (t->border.is && body)
        rlx_drop_picture(t, &t->border);
    if (by_rows) {
        const rlx_stmt *rows = t->column.producer ? produce_for_few(t) : loops;
        rows = shrunk ? rlx_sched_both(t->ctx, before, rows, t->place) : rows;
        body = choose_by_rows(t, joined ? rlx_epilogue_apart(t, e, rows) : rows, body);
    }
    if (init && !t->start)
        body = rlx_sched_both(t->ctx, before, body, t->place);
    return joined ? rlx_with_epilogue(t, e, body) : body;
}

static const rlx_stmt *schedule(rlx_tiling *t, const rlx_for_stmt *init, const rlx_for_stmt *nest,
                                rlx_after *after)
{
    bool few;
    rlx_epilogue e = { .count = 0 };
    after->taken = 0;
    t->acc = &t->plan->accesses.data[t->plan->fused.acc];
    t->depth_tile = RLX_DEPTH_TILE;
    t->column_tile = RLX_COLUMN_TILE;
    if (!choose_sides(t) || !collect_depth(t) || !is_schedulable(t))
        return &nest->node;
    t->column.in_front = may_be_in_front(t);
    t->column.producer = packable_param(t, &t->row) < 0 ? find_producer(t) : NULL;
    if (!t->column.producer && choose_dot(t)) {
        t->dot = true;
        t->depth_tile = RLX_FOUR * RLX_DEPTH_TILE;
    }
    if (!choose_packing(t, &few))
        return &nest->node;
    const bool single = rlx_is_int_value(t->row.lanes.extent, 1);
    const rlx_prim *first = init && !single ? rlx_plan_first_value(t->ctx, t->plan, init) : NULL;
    if (rlx_choose_whole(t, first != NULL)) {
        t->column.packed = few = false;
        t->row.packed = true;
    } else if (t->column.packed && (rlx_choose_unfolded(t) || rlx_choose_strips(t, first != NULL)))
        t->column.packed = false;
    else if (rlx_choose_row_strips(t))
        t->row.packed = false;
    t->column.in_front &= t->column.packed;
    if (t->strip.width || (t->column.in_front && !t->column.producer) || (!t->dot && t->row.param >= 0 && rlx_is_at_most(t->column.lanes.extent, RLX_COLUMN_PANEL)))
        t->depth_tile = RLX_SINGLE_DEPTH;
    if (!find_views(t))
        return NULL;
    bool by_rows = few && t->column.packed && t->row.lanes.extent->kind != RLX_NODE_INT_IMM,
         only_few = few && t->column.producer && rlx_is_at_most(t->row.lanes.extent, FEW_PRODUCED);
    if (only_few) {
        const rlx_stmt *body = produce_for_few(t);
        return init ? rlx_sched_both(t->ctx, &init->node, body, t->place) : body;
    }
    if (!single && !rlx_find_epilogue(t, after, &e))
        return NULL;
    after->taken = e.count;
    return schedule_tiles(t, by_rows, first, &e, init, nest);
}

const rlx_for_stmt *rlx_without_single_steps(rlx_context *ctx, const rlx_for_stmt *nest)
{
    const rlx_for_stmt *loops[RLX_PLAN_MAX_NEST];
    const rlx_stmt *body = &nest->node;
    size_t count = 0;
    bool once = false;
    rlx_rewriter r;
    rlx_tir_folder_init(&r, ctx);
    for (; body->kind == RLX_NODE_FOR && count < RLX_PLAN_MAX_NEST;
         body = ((const rlx_for_stmt *)body)->body) {
        const rlx_for_stmt *f = (const rlx_for_stmt *)body;
        bool drop = rlx_is_int_value(f->extent, 1) && f->for_kind == RLX_FOR_SERIAL;
        once |= drop;
        if (drop)
            (void)rlx_ptrmap_put(&r.map, f->loop_var, (uintptr_t)f->min);
        else
            loops[count++] = f;
    }
    body = once ? rlx_rewrite(&r, body) : body;
    rlx_rewriter_free(&r);
    for (size_t i = count; once && body && i-- > 0;)
        body = rlx_for(ctx, rlx_as_prim_var(loops[i]->loop_var), loops[i]->min, loops[i]->extent,
                       loops[i]->for_kind, body, loops[i]->place);
    return !once ? nest : body ? rlx_as_for_stmt(body) : NULL;
}

/* The nest itself if it is no contraction, or as good as it stands; NULL: out of memory. */
static const rlx_stmt *schedule_nest(rlx_context *ctx, const rlx_panel_params *params,
                                     const rlx_for_stmt *init, const rlx_for_stmt *nest,
                                     rlx_after *after)
{
    rlx_nest_plan plan;
    rlx_tiling t = { .ctx = ctx, .params = params, .plan = &plan, .place = nest->place };
    const rlx_stmt *out = &nest->node;
    if (rlx_plan_nest(ctx, &rlx_tiling_scope, nest, &plan) && plan.form == RLX_PLAN_FUSED &&
        plan.fused.contract)
        out = schedule(&t, init, nest, after);
    if (t.column.producer && t.column.producer->refused) {
        t = (rlx_tiling){ .ctx = ctx, .params = params, .plan = &plan, .place = nest->place };
        out = schedule(&t, init, nest, after);
    } else if (t.column.producer && out && out != &nest->node)
        rlx_take_producer(params->producers, t.column.producer);
    rlx_nest_plan_free(ctx, &plan);
    return ctx->diags.out_of_memory ? NULL : out;
}

const rlx_stmt *rlx_schedule_contraction(rlx_context *ctx, const rlx_panel_params *params,
                                         const rlx_for_stmt *init, const rlx_for_stmt *nest,
                                         rlx_after *after)
{
    const rlx_for_stmt *start = init ? rlx_without_single_steps(ctx, init) : NULL,
                       *loops = rlx_without_single_steps(ctx, nest);
    const rlx_stmt *out = loops ? schedule_nest(ctx, params, start ? start : init, loops, after) : NULL;
    if (ctx->diags.out_of_memory)
        return NULL;
    if (out && out != &loops->node)
        return out;
    after->taken = 0;
    /* a row alone may be a loop that runs once */
    return loops != nest ? schedule_nest(ctx, params, init, nest, after) : &nest->node;
}
