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
 * is contiguous. Up to three loops are one depth, up to two are one row or column if C goes on from one to the other
 * (the pixels of a convolution), all in the order in which they stand: sums keep theirs.
 *
 * Loops that are one in a compact buffer are one dimension of a view of it; where they are not, packing takes them apart.
 *
 * Rows are packed, too, in panels of 8, where they cannot be read in place: their depth is several loops that A is not
 * contiguous in, or rows lie so that they fall into the same lines of a cache.
 */
#include "schedule/schedule_int.h"

enum {
    DEPTH_TILE = 512, COLUMN_TILE = 128, ROW_TILE = 128, PACKED_ROWS = 1024,
    COLUMN_PANEL = 32, ROW_PANEL = 8,
    FEW_ROWS = 16,          /* that many read B in place */
    FEW_PRODUCED = 4,       /* or that many, if it is computed, of which so much lies near: */
    FEW_ALONG = 512,        /* steps or columns, along and across what it is computed from */
    FEW_ACROSS = 64,
    SMALL_BYTES = 16384,    /* so much of B is near wherever it lies */
    SHALLOW = 128,          /* 32 columns of so many steps are */
    MAX_DEPTH = 3
};

/* Loops of the nest that are one loop, outermost first. */
typedef struct digits { int at[MAX_DEPTH]; int count; const rlx_prim *extent; } digits;

/* An operand, and how it is read. */
typedef struct side {
    const rlx_plan_access *access;
    const rlx_buffer *buffer;        /* its own, or a view in which loops that are one are one dimension */
    const rlx_buffer *panel;         /* NULL: in place */
    bool packed;
    int param;                       /* the parameter whose place panels take; -1: none */
    rlx_producer *producer;          /* what computes the panels; NULL: they are packed */
    const rlx_prim *first;           /* panel of the tile, where they do */
    digits lanes;                    /* rows or columns */
} side;

typedef struct tiling {
    rlx_context *ctx;
    const rlx_panel_params *params;
    const rlx_nest_plan *plan;
    rlx_place place;
    const rlx_plan_access *acc;
    const rlx_buffer *acc_buffer;
    const rlx_prim *start;           /* what C begins with in each tile; NULL: it is there */
    side row, column;
    digits depth;
    int64_t depth_tile;              /* steps at a time */
    int64_t few;                     /* columns that are computed at a time for few rows, as wide as the tile; 0: in panels */
    bool outer[RLX_PLAN_MAX_NEST];   /* loops around everything */
} tiling;

static const rlx_prim *coefficient(const rlx_plan_access *a, int loop)
{
    return rlx_plan_moves(a, loop) ? a->offset.coeff[loop] : NULL;
}

static const rlx_prim *number(const tiling *t, int64_t v) { return rlx_int64(t->ctx, v); }

static const rlx_prim *mul(const tiling *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_fold_mul(t->ctx, a, b);
}

static const rlx_prim *add(const tiling *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_fold_add(t->ctx, a, b);
}

static const rlx_prim *extent_of(const tiling *t, int loop) { return t->plan->loops[loop].extent; }
static int last(const digits *d) { return d->at[d->count - 1]; }

static const rlx_plan_scope everywhere = { .knows = rlx_plan_knows_all, .widens = true };

/* ---- which loop is what --------------------------------------------------------------------- */

/* Does the loop stay below the size? What may not is checked when it runs, by the dimension that it is an index of. */
static bool fits(const tiling *t, int loop, const rlx_prim *size)
{
    return rlx_prove_compare(t->ctx, NULL, RLX_NODE_LE, extent_of(t, loop), size) == RLX_TRUE;
}

/* Is the index surely in range? */
static bool index_fits(const tiling *t, const rlx_prim *index, const rlx_prim *size)
{
    rlx_plan_view room;
    const rlx_tir_affine *a = rlx_plan_affine(t->ctx, &everywhere, t->plan, index, &room);
    if (!a)
        return false;
    const rlx_prim *least = rlx_fold_cast(t->ctx, RELAX_INT64, a->base), *greatest = least;
    for (size_t i = 0; i < t->plan->count; i++) {
        const rlx_prim *last = rlx_fold_sub(t->ctx, extent_of(t, (int)i), number(t, 1));
        int64_t c = 0;
        if (a->coeff[i] && !rlx_int_literal(a->coeff[i], &c))
            return false;
        if (c)
            *(c < 0 ? &least : &greatest) = rlx_plan_add_product(
                t->ctx, c < 0 ? least : greatest, last, a->coeff[i]);
    }
    return rlx_prove_compare(t->ctx, NULL, RLX_NODE_GE, least, number(t, 0)) == RLX_TRUE &&
           rlx_prove_compare(t->ctx, NULL, RLX_NODE_LT, greatest, size) == RLX_TRUE;
}

/* Dimensions behind merged ones have other numbers in a view: a failure would name the wrong one. */
static bool rest_fits(const tiling *t, const rlx_plan_access *a, size_t from)
{
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    for (size_t d = from; d < a->num_indices; d++)
        if (!index_fits(t, a->indices[d], rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[d])))
            return false;
    return true;
}

/* The dimension in which an access has these loops one after the other as its indices, each as long as its dimension
 * (the first one: at most): together they are one index. -1: there is none. */
static int merged_at(const tiling *t, const rlx_plan_access *a, const digits *d)
{
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    for (int p = 0; p + d->count <= (int)a->num_indices; p++) {
        bool all = true;
        for (int i = 0; i < d->count && all; i++) {
            const rlx_prim *size = rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[p + i]);
            all = a->indices[p + i] == t->plan->loops[d->at[i]].var &&
                  (size == extent_of(t, d->at[i]) || (i == 0 && fits(t, d->at[0], size)));
        }
        if (all && (d->count == 1 || rest_fits(t, a, (size_t)(p + d->count))))
            return p;
    }
    return -1;
}

static bool is_straight(const tiling *t, const rlx_plan_access *a, const digits *d)
{
    return d->count == 1 || merged_at(t, a, d) >= 0;
}

static bool is_lane_of(const tiling *t, int loop, const rlx_plan_access *mine,
                       const rlx_plan_access *other)
{
    return t->plan->loops[loop].determined && coefficient(t->acc, loop) &&
           coefficient(mine, loop) && !coefficient(other, loop);
}

/* The innermost lane of a side, of several or a single one: for columns the one in which C is contiguous. */
static int find_lane(const tiling *t, const rlx_plan_access *mine, const rlx_plan_access *other,
                     bool contiguous, bool single)
{
    int found = -1;
    for (int i = 0; i < (int)t->plan->count; i++)
        if (is_lane_of(t, i, mine, other) && rlx_is_int_value(extent_of(t, i), 1) == single &&
            (!contiguous || rlx_is_int_value(coefficient(t->acc, i), 1)))
            found = i;
    return found;
}

/* The lanes of a side that end in loop `inner`: a second loop joins where C has both as one index. */
static void collect_lanes(tiling *t, side *s, const side *other, int inner)
{
    s->lanes = (digits){ .at = { inner }, .count = 1, .extent = extent_of(t, inner) };
    for (int i = 0; i < (int)t->plan->count && s->lanes.count == 1; i++) {
        digits two = { .at = { i, inner },
                       .count = 2,
                       .extent = mul(t, extent_of(t, i), extent_of(t, inner)) };
        if (i != inner && is_lane_of(t, i, s->access, other->access) &&
            merged_at(t, t->acc, &two) >= 0)
            s->lanes = two;
    }
}

/* Chooses the sides. False: there is no column, or no row. */
static bool choose_sides(tiling *t)
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
    if (row < 0 && (rlx_panel_param(t->params, rlx_as_buffer(b->buffer)) >= 0 ||
                    rlx_find_producer(t->params->producers, b->buffer)))
        row = find_lane(t, a, b, false, true); /* a row alone is worth it if B comes in panels */
    t->row.access = a;
    t->column.access = b;
    if (column < 0 || row < 0)
        return false;
    collect_lanes(t, &t->column, &t->row, column);
    collect_lanes(t, &t->row, &t->column, row);
    return true;
}

static bool is_lane(const digits *d, int loop)
{
    return d->at[0] == loop || (d->count > 1 && d->at[1] == loop);
}

/* The loops that are summed over, in their order. False: there are too many. */
static bool collect_depth(tiling *t)
{
    digits *d = &t->depth;
    d->count = 0;
    d->extent = number(t, 1);
    for (int i = 0; i < (int)t->plan->count; i++) {
        bool once = rlx_is_int_value(extent_of(t, i), 1);
        t->outer[i] = (once || coefficient(t->acc, i)) && !is_lane(&t->row.lanes, i) &&
                      !is_lane(&t->column.lanes, i);
        if (coefficient(t->acc, i) || once)
            continue;
        if (t->plan->loops[i].determined || d->count == MAX_DEPTH)
            return false;
        d->at[d->count++] = i;
        d->extent = mul(t, d->extent, extent_of(t, i));
    }
    return d->count > 0 && d->extent;
}

/* Rows a power of two apart share lines of the cache. */
static bool rows_collide(const tiling *t)
{
    const rlx_prim *stride = coefficient(t->row.access, last(&t->row.lanes));
    int64_t elements, depth;
    size_t bytes = rlx_dtype_bytes(rlx_as_buffer(t->row.access->buffer)->dtype);
    return rlx_int_literal(stride, &elements) && elements > 0 &&
           !rlx_is_int_value(t->row.lanes.extent, 1) &&
           (size_t)elements * bytes % 2048 == 0 &&
           (!rlx_int_literal(t->depth.extent, &depth) || depth >= 128);
}

static bool is_at_most(const rlx_prim *extent, int64_t limit)
{
    int64_t v;
    return rlx_int_literal(extent, &v) && v <= limit;
}

/* ---- elements ------------------------------------------------------------------------------- */

/* What loops that belong together are in the tile: one position, or (position NULL) each its own. */
typedef struct group {
    const digits *d;
    const rlx_prim *position;
    const rlx_prim *each[MAX_DEPTH];
} group;

/* A view of the buffer of an access in which loops of the groups that are one are one dimension; the buffer itself
 * where none has more than one loop. NULL: out of memory. */
static const rlx_buffer *merged_view(const tiling *t, const rlx_plan_access *a,
                                     const digits *const *groups, int num_groups)
{
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    const rlx_prim *shape[RLX_TIR_MAX_DIMS];
    size_t ndim = 0;
    for (int p = 0; p < (int)b->num_shape; p++) {
        int width = 1;
        for (int g = 0; g < num_groups; g++)
            if (groups[g]->count > 1 && merged_at(t, a, groups[g]) == p)
                width = groups[g]->count;
        const rlx_prim *size = rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[p]);
        for (int i = 1; i < width; i++)
            size = mul(t, size, rlx_fold_cast(t->ctx, RELAX_INT64, b->shape[p + i]));
        shape[ndim++] = size;
        p += width - 1;
    }
    return ndim == b->num_shape ? b : rlx_view_new(t->ctx, b, shape, ndim);
}

/* An access of `buffer`, its own or a view of that, in the tile. The number of indices, 0: out of memory. */
static size_t indices_in(const tiling *t, const rlx_plan_access *a, const rlx_buffer *buffer,
                         const group *groups, int num_groups, const rlx_prim **out)
{
    rlx_rewriter r;
    size_t n = 0;
    bool ok = true, viewed = &buffer->node != a->buffer;
    rlx_tir_folder_init(&r, t->ctx);
    for (int g = 0; g < num_groups && ok; g++) {
        const digits *d = groups[g].d;
        for (int i = 0; i < d->count && ok; i++) {
            const rlx_prim *value = !groups[g].position ? groups[g].each[i]
                                    : d->count == 1     ? groups[g].position
                                                        : NULL;
            ok = !value || rlx_ptrmap_put(&r.map, t->plan->loops[d->at[i]].var, (uintptr_t)value);
        }
    }
    for (int p = 0; p < (int)a->num_indices && ok; p++) {
        const group *here = NULL;
        for (int g = 0; g < num_groups && viewed; g++)
            if (groups[g].d->count > 1 && merged_at(t, a, groups[g].d) == p)
                here = &groups[g];
        out[n++] = here ? here->position
                        : rlx_fold_cast(t->ctx, RELAX_INT64, rlx_rewrite(&r, a->indices[p]));
        ok = out[n - 1] != NULL;
        p += here ? here->d->count - 1 : 0;
    }
    rlx_rewriter_free(&r);
    return ok ? n : 0;
}

static const rlx_prim *load_in(const tiling *t, const rlx_plan_access *a, const rlx_buffer *buffer,
                               const group *groups, int num_groups)
{
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    size_t n = indices_in(t, a, buffer, groups, num_groups, at);
    return n ? rlx_fold_cast(t->ctx, t->acc_buffer->dtype, rlx_load(t->ctx, buffer, at, n)) : NULL;
}

/* Lane number `position` of a side: one position, or the digits of that number. */
static group lanes_at(const tiling *t, const side *s, bool split, const rlx_prim *position)
{
    group g = { .d = &s->lanes, .position = position };
    if (split && s->lanes.count > 1) {
        const rlx_prim *width = extent_of(t, s->lanes.at[1]);
        g.position = NULL;
        g.each[0] = rlx_fold_binary(t->ctx, RLX_NODE_FLOOR_DIV, position, width);
        g.each[1] = rlx_fold_binary(t->ctx, RLX_NODE_FLOOR_MOD, position, width);
    }
    return g;
}

/* ---- pieces of the schedule ----------------------------------------------------------------- */

/* Does this loop around everything go to other panels of a parameter? */
static bool changes_panels(const tiling *t, const side *s, int loop)
{
    return s->param >= 0 && t->outer[loop] && coefficient(s->access, loop);
}

/* Indices of a lane in a panel. Their number. */
static size_t panel_at(const tiling *t, const side *s, const rlx_prim *panel, const rlx_prim *step,
                       const rlx_prim *lane, const rlx_prim **out)
{
    size_t n = 0;
    for (int i = 0; i < (int)t->plan->count; i++)
        if (changes_panels(t, s, i))
            out[n++] = t->plan->loops[i].var;
    out[n++] = panel;
    out[n++] = step;
    out[n++] = lane;
    return n;
}

/* Steps of the sum: blocks of the outermost depth loop. */
typedef struct depth_tile {
    rlx_sched_loop loop;
    const rlx_prim *begin, *count;   /* of the outermost depth loop */
    const rlx_prim *rest;            /* steps in one of them */
    const rlx_prim *steps;           /* of this tile */
    const rlx_prim *most;            /* of any tile */
} depth_tile;

static depth_tile tile_depth(const tiling *t)
{
    const rlx_prim *outermost = extent_of(t, t->depth.at[0]);
    depth_tile d = { .rest = number(t, 1) };
    int64_t rest, whole;
    for (int i = 1; i < t->depth.count; i++)
        d.rest = mul(t, d.rest, extent_of(t, t->depth.at[i]));
    const int64_t most = t->depth_tile;
    bool small = rlx_int_literal(t->depth.extent, &whole) && whole <= most + most / 2;
    if (small || !rlx_int_literal(d.rest, &rest) || rest < 1) {
        d.loop = rlx_sched_loop_new(t->ctx, "ko", number(t, 1));
        d.begin = number(t, 0);
        d.count = outermost;
        d.most = t->depth.extent;
    } else {
        int64_t tile = rest < most ? most / rest : 1;
        d.loop = rlx_sched_loop_new(t->ctx, "ko", rlx_ceil_div(t->ctx, outermost, tile));
        d.begin = mul(t, d.loop.var, number(t, tile));
        d.count = rlx_int_literal(outermost, &whole) && whole % tile == 0
                      ? number(t, tile)
                      : rlx_least(t->ctx, number(t, tile), rlx_fold_sub(t->ctx, outermost, d.begin));
        d.most = number(t, tile * rest);
    }
    d.steps = mul(t, d.count, d.rest);
    return d;
}

/* A part of the lanes of a side. */
typedef struct lane_tile {
    rlx_sched_loop loop;
    const rlx_prim *begin, *count;
} lane_tile;

/* `size` lanes of [begin, begin + whole) at a time. */
static lane_tile tile_lanes(const tiling *t, const char *name, const rlx_prim *begin,
                            const rlx_prim *whole, int64_t size)
{
    lane_tile l = { .loop = rlx_sched_loop_new(t->ctx, name, rlx_ceil_div(t->ctx, whole, size)) };
    const rlx_prim *done = mul(t, l.loop.var, number(t, size));
    int64_t all;
    l.begin = add(t, begin, done);
    l.count = rlx_int_literal(whole, &all) && all % size == 0
                  ? number(t, size)
                  : rlx_least(t->ctx, number(t, size), rlx_fold_sub(t->ctx, whole, done));
    return l;
}

/* The dimension of an access whose index is this loop. -1: none. */
static int dimension_of(const tiling *t, const rlx_plan_access *a, int loop)
{
    for (size_t d = 0; d < a->num_indices; d++)
        if (a->indices[d] == t->plan->loops[loop].var)
            return (int)d;
    return -1;
}

/* Panels of a tile of lanes, computed. */
static const rlx_stmt *produce(const tiling *t, const side *s, const depth_tile *d,
                               const lane_tile *lanes, int64_t width)
{
    rlx_context *ctx = t->ctx;
    int64_t whole;
    rlx_panel_fill f = {
        .panel = s->panel,
        .depth = (size_t)dimension_of(t, s->access, t->depth.at[0]),
        .tile_at = d->loop.var,
        .tile = t->depth_tile,
        .panels = rlx_sched_loop_new(ctx, "p", t->few ? number(t, 1) : rlx_ceil_div(ctx, lanes->count, width)),
        .lanes = rlx_sched_loop_new(ctx, "l", t->few ? lanes->count : number(t, width)),
        .place = t->place
    };
    const rlx_prim *lane = add(t, mul(t, f.panels.var, number(t, width)), f.lanes.var);
    group groups[2] = { lanes_at(t, s, true, add(t, lanes->begin, lane)),
                        { .d = &t->depth, .position = number(t, 0) } };
    if (!t->few && (!rlx_int_literal(lanes->count, &whole) || whole % width))
        f.inside = rlx_binary_new(ctx, RLX_NODE_LT, lane, lanes->count);
    return indices_in(t, s->access, rlx_as_buffer(s->access->buffer), groups, 2, f.at)
               ? rlx_produce_panels(ctx, s->producer, &f)
               : NULL;
}

/*- Panels of a tile of lanes:
 *     for p, d.., l:  panel[p, d, l] = if_then_else(p * W + l < count, X[begin + p * W + l, d..], 0) */
static const rlx_stmt *pack(const tiling *t, const side *s, const depth_tile *d,
                            const lane_tile *lanes, int64_t width)
{
    if (s->producer)
        return produce(t, s, d, lanes, width);
    rlx_context *ctx = t->ctx;
    rlx_sched_loop loops[2 + MAX_DEPTH];
    int n = 0;
    const rlx_prim *step = number(t, 0);
    rlx_sched_loop p = rlx_sched_loop_new(ctx, "p", rlx_ceil_div(ctx, lanes->count, width)),
                   l = rlx_sched_loop_new(ctx, "l", number(t, width));
    const rlx_prim *lane = add(t, mul(t, p.var, number(t, width)), l.var);
    group groups[2] = { lanes_at(t, s, true, add(t, lanes->begin, lane)), { .d = &t->depth } };
    loops[n++] = p;
    for (int i = 0; i < t->depth.count; i++) {
        const char name[3] = { 'd', (char)('0' + i), 0 };
        rlx_sched_loop k = rlx_sched_loop_new(ctx, name,
                                              i == 0 ? d->count : extent_of(t, t->depth.at[i]));
        step = add(t, mul(t, step, k.extent), k.var);
        groups[1].each[i] = i == 0 ? add(t, d->begin, k.var) : k.var;
        loops[n++] = k;
    }
    loops[n++] = l;
    const rlx_prim *value = load_in(t, s->access, rlx_as_buffer(s->access->buffer), groups, 2),
                   *choice[3] = { rlx_binary_new(ctx, RLX_NODE_LT, lane, lanes->count), value,
                                  rlx_dtype_is_float(s->panel->dtype)
                                      ? rlx_float(ctx, s->panel->dtype, 0)
                                      : rlx_int(ctx, s->panel->dtype, 0) };
    int64_t whole;
    if (!rlx_int_literal(lanes->count, &whole) || whole % width)
        value = choice[0] && choice[1] && choice[2]
                    ? rlx_prim_call_z(ctx, s->panel->dtype, "if_then_else", choice, 3)
                    : NULL;
    const rlx_prim *to[RLX_TIR_MAX_DIMS];
    size_t num_to = panel_at(t, s, p.var, step, l.var, to);
    const rlx_stmt *body = rlx_store(ctx, s->panel, value, to, num_to, t->place);
    while (n-- > 0)
        body = rlx_sched_wrap(ctx, &loops[n], body, t->place);
    return body;
}

/* An operand in the innermost nest: a lane of the tile, step k of it. */
static const rlx_prim *read(const tiling *t, const side *s, const depth_tile *d,
                            const lane_tile *lanes, const rlx_prim *panel, const rlx_prim *lane,
                            const rlx_prim *k)
{
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    if (s->panel && s->param >= 0) {
        panel = add(t, s->first, panel);
        k = add(t, mul(t, d->begin, d->rest), k);
    }
    if (s->panel)
        return rlx_load(t->ctx, s->panel, at, panel_at(t, s, panel, k, lane, at));
    group groups[2] = { lanes_at(t, s, false, add(t, lanes->begin, lane)),
                        { .d = &t->depth, .position = add(t, mul(t, d->begin, d->rest), k) } };
    return load_in(t, s->access, s->buffer, groups, 2);
}

static const rlx_stmt *both(const tiling *t, const rlx_stmt *first, const rlx_stmt *second)
{
    const rlx_stmt *parts[2] = { first, second };
    return first && second ? rlx_seq_stmt_new(t->ctx, parts, 2, t->place) : NULL;
}

/* for i, j: C[..] = start, where it has one;
 * for i, j, k: C[..] = C[..] + a * b, with or without a rounding of the product as it was written.
 * `around` (NULL: none) stands around both of them. */
static const rlx_stmt *innermost(const tiling *t, const depth_tile *d, const lane_tile *rows,
                                 const rlx_prim *row_panel, const lane_tile *columns,
                                 const rlx_prim *column_panel, const rlx_sched_loop *around)
{
    rlx_context *ctx = t->ctx;
    rlx_sched_loop i = rlx_sched_loop_new(ctx, "i", rows->count),
                   j = rlx_sched_loop_new(ctx, "j", columns->count),
                   k = rlx_sched_loop_new(ctx, "k", d->steps);
    group groups[2] = { lanes_at(t, &t->row, false, add(t, rows->begin, i.var)),
                        lanes_at(t, &t->column, false, add(t, columns->begin, j.var)) };
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *value;
    size_t n = indices_in(t, t->acc, t->acc_buffer, groups, 2, at);
    const rlx_prim *own = n ? rlx_load(ctx, t->acc_buffer, at, n) : NULL,
                   *a = read(t, &t->row, d, rows, row_panel, i.var, k.var),
                   *b = read(t, &t->column, d, columns, column_panel, j.var, k.var),
                   *terms[3] = { a, b, own };
    if (!a || !b || !own)
        return NULL;
    value = t->plan->fused.exact
                ? rlx_prim_call_z(ctx, t->acc_buffer->dtype, "fma", terms, 3)
                : rlx_binary_new(ctx, RLX_NODE_ADD, own, rlx_binary_new(ctx, RLX_NODE_MUL, a, b));
    const rlx_stmt *body = rlx_store(ctx, t->acc_buffer, value, at, n, t->place);
    body = rlx_sched_wrap(ctx, &k, body, t->place);
    body = rlx_sched_wrap(ctx, &j, body, t->place);
    body = rlx_sched_wrap(ctx, &i, body, t->place);
    if (around)
        body = rlx_sched_wrap(ctx, around, body, t->place);
    if (!t->start)
        return body;
    const rlx_stmt *fill = rlx_store(ctx, t->acc_buffer, t->start, at, n, t->place);
    fill = rlx_sched_wrap(ctx, &j, fill, t->place);
    fill = rlx_sched_wrap(ctx, &i, fill, t->place);
    if (around)
        fill = rlx_sched_wrap(ctx, around, fill, t->place);
    return both(t, fill ? rlx_copy_fresh(ctx, fill) : NULL, body);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* A temporary of as many panels as the lanes of a tile have. */
static const rlx_buffer *new_panel(const tiling *t, const side *s, const char *name,
                                   const depth_tile *d, int64_t tile, int64_t width)
{
    int64_t whole;
    bool known = rlx_int_literal(s->lanes.extent, &whole) && whole < tile;
    const rlx_prim *shape[3] = { number(t, ((known ? whole : tile) + width - 1) / width), d->most,
                                 number(t, width) };
    const rlx_string *text = rlx_string_z(t->ctx, name);
    return text ? rlx_buffer_new(t->ctx, text, t->acc_buffer->dtype, shape, 3, NULL, t->place) : NULL;
}

/* Panels of all lanes in place of a parameter, and the function that fills them. False: out of memory. */
static bool take_param(tiling *t, side *s, const char *name, int64_t width)
{
    rlx_context *ctx = t->ctx;
    const rlx_prim *shape[RLX_TIR_MAX_DIMS], *one = number(t, 1);
    size_t n = 0;
    for (int i = 0; i < (int)t->plan->count; i++)
        if (changes_panels(t, s, i))
            shape[n++] = extent_of(t, i);
    shape[n++] = rlx_ceil_div(ctx, s->lanes.extent, width);
    shape[n++] = t->depth.extent;
    shape[n++] = number(t, width);
    const rlx_string *text = rlx_string_z(ctx, name);
    s->panel = text ? rlx_buffer_new(ctx, text, t->acc_buffer->dtype, shape, n, NULL, t->place)
                    : NULL;
    if (!s->panel)
        return false;
    depth_tile d = { .loop = { number(t, 0), one },
                     .begin = number(t, 0),
                     .count = extent_of(t, t->depth.at[0]) };
    lane_tile lanes = { { number(t, 0), one }, number(t, 0), s->lanes.extent };
    const rlx_stmt *body = pack(t, s, &d, &lanes, width);
    for (int i = (int)t->plan->count; i-- > 0;)
        if (changes_panels(t, s, i))
            body = rlx_sched_wrap(
                ctx, &(rlx_sched_loop){ t->plan->loops[i].var, extent_of(t, i) }, body, t->place);
    return body && rlx_take_panels(ctx, t->params, s->param, s->panel, body);
}

/* Tiles of rows for a tile of columns, whose panels are there. */
static const rlx_stmt *rows_of(const tiling *t, const depth_tile *d, const lane_tile *rows,
                               const lane_tile *columns)
{
    rlx_context *ctx = t->ctx;
    lane_tile row = tile_lanes(t, "io", rows->begin, rows->count, ROW_TILE),
              panel = t->column.panel
                          ? tile_lanes(t, "jp", columns->begin, columns->count, COLUMN_PANEL)
                          : *columns;
    const rlx_stmt *body;
    if (t->row.panel) {
        lane_tile eight = tile_lanes(t, "ip", row.begin, row.count, ROW_PANEL);
        const rlx_prim *at = add(t, mul(t, row.loop.var, number(t, ROW_TILE / ROW_PANEL)),
                                 eight.loop.var);
        /* panels that are all full are one instruction */
        bool full = eight.count->kind == RLX_NODE_INT_IMM;
        body = innermost(t, d, &eight, at, &panel, panel.loop.var, full ? &eight.loop : NULL);
        body = full ? body : rlx_sched_wrap(ctx, &eight.loop, body, t->place);
    } else
        body = innermost(t, d, &row, NULL, &panel, panel.loop.var, NULL);
    if (t->column.panel)
        body = rlx_sched_wrap(ctx, &panel.loop, body, t->place);
    return rlx_sched_wrap(ctx, &row.loop, body, t->place);
}

/* Panels stand inside of the loop over their tiles, so that threads that share it have their own. */
static const rlx_stmt *with_panels(const tiling *t, const side *s, const rlx_stmt *body)
{
    body = rlx_tir_with_temporary(t->ctx, s->panel, body, t->place);
    return s->producer ? rlx_with_produced(t->ctx, s->producer, body, t->place) : body;
}

static const rlx_stmt *tiles(tiling *t)
{
    rlx_context *ctx = t->ctx;
    depth_tile d = tile_depth(t);
    const rlx_prim *zero = number(t, 0);
    lane_tile rows = { { zero, number(t, 1) }, zero, t->row.lanes.extent }, columns;
    /* Where all columns are one tile, rows are packed tile by tile: each is used once. */
    const bool by_rows = t->row.packed && t->row.param < 0 && is_at_most(t->column.lanes.extent, COLUMN_TILE);
    const bool whole = t->row.param >= 0 && is_at_most(t->row.lanes.extent, 2 * PACKED_ROWS);
    const int64_t packed_rows = by_rows ? ROW_TILE : whole ? 2 * PACKED_ROWS : PACKED_ROWS;
    if (t->row.param >= 0 && !take_param(t, &t->row, "rows", ROW_PANEL))
        return NULL;
    if (t->column.param >= 0 && !take_param(t, &t->column, "columns", COLUMN_PANEL))
        return NULL;
    if (t->row.packed) {
        if (!t->row.panel)
            t->row.panel = new_panel(t, &t->row, "rows", &d, packed_rows, ROW_PANEL);
        rows = tile_lanes(t, "ib", zero, t->row.lanes.extent, packed_rows);
    }
    columns = (lane_tile){ { zero, number(t, 1) }, zero, t->column.lanes.extent };
    t->row.first = mul(t, rows.loop.var, number(t, packed_rows / ROW_PANEL));
    if (t->column.packed) {
        if (!t->column.panel)
            t->column.panel = new_panel(t, &t->column, "columns", &d, COLUMN_TILE, COLUMN_PANEL);
        /* Panels that are there need no tiles where all rows are one. */
        if (t->column.param < 0 || !is_at_most(t->row.lanes.extent, ROW_TILE))
            columns = tile_lanes(t, "jo", zero, t->column.lanes.extent, COLUMN_TILE);
    }
    t->column.first = mul(t, columns.loop.var, number(t, COLUMN_TILE / COLUMN_PANEL));
    const rlx_stmt *body = rows_of(t, &d, &rows, &columns);
    /* the outer side is packed once for all tiles of the inner one */
    const side *sides[2] = { by_rows ? &t->row : &t->column, by_rows ? &t->column : &t->row };
    const lane_tile *loops[2] = { by_rows ? &rows : &columns, by_rows ? &columns : &rows };
    for (int i = 0; i < 2; i++) {
        const int64_t width = sides[i] == &t->row ? ROW_PANEL : COLUMN_PANEL;
        if (sides[i]->panel && sides[i]->param < 0)
            body = with_panels(t, sides[i], both(t, pack(t, sides[i], &d, loops[i], width), body));
        body = rlx_sched_wrap(ctx, &loops[i]->loop, body, t->place);
    }
    body = rlx_sched_wrap(ctx, &d.loop, body, t->place);
    for (int i = (int)t->plan->count; i-- > 0;)
        if (t->outer[i])
            body = rlx_sched_wrap(
                ctx, &(rlx_sched_loop){ t->plan->loops[i].var, extent_of(t, i) }, body, t->place);
    return body;
}

/* Does what columns are computed from lie along the steps of the sum? */
static bool is_along(const tiling *t)
{
    return dimension_of(t, t->column.access, t->depth.at[0]) ==
           (int)t->column.access->num_indices - 1;
}

/* Few rows read in place, and a tile of columns that is computed just before: tiles in the order in which what it is computed
 * from lies in memory. */
static const rlx_stmt *few_tiles(tiling *t)
{
    depth_tile d = tile_depth(t);
    const rlx_prim *zero = number(t, 0);
    lane_tile rows = { { zero, number(t, 1) }, zero, t->row.lanes.extent },
              columns = tile_lanes(t, "jo", zero, t->column.lanes.extent, t->few);
    bool along = is_along(t);
    t->column.panel = new_panel(t, &t->column, "columns", &d, t->few, t->few);
    const rlx_stmt *body = both(t, pack(t, &t->column, &d, &columns, t->few),
                                innermost(t, &d, &rows, NULL, &columns, zero, NULL));
    body = with_panels(t, &t->column, body);
    body = rlx_sched_wrap(t->ctx, along ? &d.loop : &columns.loop, body, t->place);
    body = rlx_sched_wrap(t->ctx, along ? &columns.loop : &d.loop, body, t->place);
    for (int i = (int)t->plan->count; i-- > 0;)
        if (t->outer[i])
            body = rlx_sched_wrap(
                t->ctx, &(rlx_sched_loop){ t->plan->loops[i].var, extent_of(t, i) }, body, t->place);
    return body;
}

/* The parameter that a side reads, if its panels may take its place: how many there are is known. Panels of sums in
 * float32 are twice as large as weights of 16 bits, and much sooner there than packed in each call; those of 8 bits would
 * be four times as large, which costs more to read than to pack where they leave the cache. -1: there is none. */
static int packable_param(const tiling *t, const side *s)
{
    const rlx_buffer *b = rlx_as_buffer(s->access->buffer);
    bool known = s->lanes.extent->kind == RLX_NODE_INT_IMM &&
                 t->depth.extent->kind == RLX_NODE_INT_IMM &&
                 rlx_dtype_bytes(rlx_as_buffer(t->acc->buffer)->dtype) <= 2 * rlx_dtype_bytes(b->dtype) &&
                 t->plan->count <= RLX_TIR_MAX_DIMS - 3;
    for (int i = 0; i < (int)t->plan->count && known; i++)
        known = !t->outer[i] || !coefficient(s->access, i) ||
                extent_of(t, i)->kind == RLX_NODE_INT_IMM;
    return known ? rlx_panel_param(t->params, b) : -1;
}

/* What computes the columns' panels instead of packing them: the sum has one depth, and no loop around it computes the
 * same again. */
static rlx_producer *find_producer(tiling *t)
{
    const rlx_plan_access *a = t->column.access;
    rlx_producer *p = t->depth.count == 1 && t->column.lanes.count == 1
                          ? rlx_find_producer(t->params->producers, a->buffer)
                          : NULL;
    int d = p && !p->refused ? dimension_of(t, a, t->depth.at[0]) : -1;
    for (int i = 0; i < (int)t->plan->count; i++)
        if (t->outer[i] && !rlx_is_int_value(extent_of(t, i), 1) && !coefficient(a, i))
            d = -1;
    if (d < 0 || dimension_of(t, a, t->column.lanes.at[0]) < 0 ||
        !(t->depth_tile = rlx_producer_tile(t->ctx, p, (size_t)d, t->depth.extent, DEPTH_TILE)))
        return NULL;
    return p;
}

/* Which operands are packed. few: a few rows may be read in place. False: the nest is as good as it stands. */
static bool choose_packing(tiling *t, bool *few)
{
    const rlx_prim *stride = coefficient(t->column.access, last(&t->column.lanes));
    bool rows_are_straight = is_straight(t, t->row.access, &t->row.lanes) &&
                             is_straight(t, t->row.access, &t->depth);
    const rlx_dtype dtype = rlx_as_buffer(t->acc->buffer)->dtype;
    bool row_widens = rlx_as_buffer(t->row.access->buffer)->dtype != dtype,
         column_widens = rlx_as_buffer(t->column.access->buffer)->dtype != dtype;
    *few = !row_widens && rows_are_straight &&
           (t->column.producer || (!column_widens && rlx_is_int_value(stride, 1) &&
                                   is_straight(t, t->column.access, &t->column.lanes) &&
                                   is_straight(t, t->column.access, &t->depth)));
    int64_t elements;
    bool small = rlx_int_literal(mul(t, t->depth.extent, t->column.lanes.extent), &elements) &&
                 elements <= SMALL_BYTES / (int64_t)rlx_dtype_bytes(dtype);
    t->row.param = packable_param(t, &t->row);
    t->column.param = small ? -1 : packable_param(t, &t->column);
    *few = *few && t->column.param < 0;
    small |= is_at_most(t->depth.extent, SHALLOW);
    if (t->column.param < 0 && !t->column.producer && rlx_is_int_value(t->row.lanes.extent, 1))
        return false;
    if (*few && !t->column.producer && (small || is_at_most(t->row.lanes.extent, FEW_ROWS))) {
        t->row.packed = t->row.param >= 0;
        /* in place; what is gained is one loop for several */
        return t->row.packed || t->depth.count > 1 || t->row.lanes.count > 1 ||
               t->column.lanes.count > 1;
    }
    t->column.packed = true;
    t->row.packed = row_widens || !rows_are_straight || rows_collide(t) || t->row.param >= 0;
    return true;
}

static bool is_schedulable(const tiling *t)
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

static bool find_views(tiling *t)
{
    const digits *of_acc[2] = { &t->row.lanes, &t->column.lanes };
    side *sides[2] = { &t->row, &t->column };
    t->acc_buffer = merged_view(t, t->acc, of_acc, 2);
    for (int i = 0; i < 2; i++) {
        const digits *groups[2] = { &sides[i]->lanes, &t->depth };
        sides[i]->buffer = sides[i]->packed ? rlx_as_buffer(sides[i]->access->buffer)
                                            : merged_view(t, sides[i]->access, groups, 2);
    }
    return t->acc_buffer && t->row.buffer && t->column.buffer;
}

static const rlx_stmt *declare_views(const tiling *t, const rlx_stmt *body)
{
    const struct { const rlx_buffer *view; const rlx_node *own; } all[3] = {
        { t->acc_buffer, t->acc->buffer },
        { t->row.buffer, t->row.access->buffer },
        { t->column.buffer, t->column.access->buffer }
    };
    for (int i = 0; i < 3; i++)
        if (&all[i].view->node != all[i].own)
            body = rlx_declare_view(t->ctx, all[i].view, body, t->place);
    return body;
}

/* What a producer computes in front of the sums of few rows. NULL: out of memory, or the producer is refused. */
static const rlx_stmt *produce_for_few(const tiling *t)
{
    tiling few = *t;
    int64_t whole;
    size_t d = (size_t)dimension_of(t, t->column.access, t->depth.at[0]);
    bool along = is_along(t);
    int64_t tile = rlx_producer_tile(t->ctx, t->column.producer, d, t->depth.extent,
                                     along ? FEW_ALONG : FEW_ACROSS);
    few.depth_tile = tile ? tile : t->depth_tile;
    few.few = along ? FEW_ACROSS : FEW_ALONG;
    if (rlx_int_literal(t->column.lanes.extent, &whole) && whole > 0 && whole < few.few)
        few.few = whole;
    few.row.packed = false;
    few.row.panel = NULL;
    few.start = NULL;
    const rlx_stmt *body = find_views(&few) ? declare_views(&few, few_tiles(&few)) : NULL;
    return body;
}

/* With rows that only the run can count: what is done with few of them. */
static const rlx_stmt *choose_by_rows(const tiling *t, const rlx_stmt *few, const rlx_stmt *body)
{
    const rlx_prim *extent = t->row.lanes.extent;
    rlx_if_stmt *s = body && few ? rlx_node_new(t->ctx, RLX_NODE_IF_THEN_ELSE) : NULL;
    if (!s)
        return NULL;
    s->place = t->place;
    s->cond = rlx_binary_new(t->ctx, RLX_NODE_LE, extent,
                             number(t, t->column.producer ? FEW_PRODUCED : FEW_ROWS));
    s->then_case = rlx_copy_fresh(t->ctx, few);
    s->else_case = body;
    return s->cond && s->then_case ? &s->node : NULL;
}

/* Is `init` the nest that gives every element of C that the sums go to its first value, and nothing else? */
static bool is_start(const tiling *t, const rlx_for_stmt *init)
{
    const rlx_stmt *body = &init->node;
    rlx_rewriter r;
    bool same = true;
    rlx_tir_folder_init(&r, t->ctx);
    for (size_t i = 0; i < t->plan->count && same; i++) {
        const rlx_nest_loop *l = &t->plan->loops[i];
        const rlx_for_stmt *f = rlx_as_for_stmt(body);
        if (!coefficient(t->acc, (int)i) && !(rlx_is_int_value(l->extent, 1) && l->determined))
            continue;
        same = f && f->for_kind == RLX_FOR_SERIAL &&
               rlx_fold_cast(t->ctx, RELAX_INT64, f->extent) == l->extent &&
               rlx_is_int_value(f->min, 0) &&
               rlx_ptrmap_put(&r.map, f->loop_var, (uintptr_t)l->var);
        body = f ? f->body : body;
    }
    const rlx_buffer_store *s = same ? rlx_as_buffer_store(body) : NULL;
    same = s && !s->predicate && s->buffer == t->acc->buffer &&
           (s->value->kind == RLX_NODE_FLOAT_IMM || s->value->kind == RLX_NODE_INT_IMM) &&
           s->num_indices == t->acc->num_indices;
    for (size_t d = 0; same && d < s->num_indices; d++)
        same = rlx_rewrite(&r, s->indices[d]) == t->acc->indices[d];
    rlx_rewriter_free(&r);
    return same;
}

static const rlx_prim *start_value(const rlx_stmt *init)
{
    while (init->kind == RLX_NODE_FOR)
        init = ((const rlx_for_stmt *)init)->body;
    return ((const rlx_buffer_store *)init)->value;
}

static const rlx_stmt *schedule(tiling *t, const rlx_for_stmt *init, const rlx_for_stmt *nest)
{
    bool few;
    t->acc = &t->plan->accesses.data[t->plan->fused.acc];
    t->depth_tile = DEPTH_TILE;
    if (!choose_sides(t) || !collect_depth(t) || !is_schedulable(t))
        return &nest->node;
    t->column.producer = packable_param(t, &t->row) < 0 ? find_producer(t) : NULL;
    if (!choose_packing(t, &few))
        return &nest->node;
    if (!find_views(t))
        return NULL;
    bool by_rows = few && t->column.packed && t->row.lanes.extent->kind != RLX_NODE_INT_IMM,
         only_few = few && t->column.producer && is_at_most(t->row.lanes.extent, FEW_PRODUCED),
         apart = by_rows || only_few || rlx_as_prim_var(tile_depth(t).loop.var) || !init || !is_start(t, init) ||
                rlx_is_int_value(t->row.lanes.extent, 1);
    t->start = apart ? NULL : start_value(&init->node);
    const rlx_stmt *body = only_few ? produce_for_few(t) : declare_views(t, tiles(t));
    if (by_rows)
        body = choose_by_rows(t, t->column.producer ? produce_for_few(t) : &nest->node, body);
    return apart && init ? both(t, &init->node, body) : body;
}

/* The nest without loops that run once: they would part what is one. NULL: out of memory, or nothing is left of it. */
static const rlx_for_stmt *without_single_steps(rlx_context *ctx, const rlx_for_stmt *nest)
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
                                     const rlx_for_stmt *init, const rlx_for_stmt *nest)
{
    rlx_nest_plan plan;
    tiling t = { .ctx = ctx, .params = params, .plan = &plan, .place = nest->place };
    const rlx_stmt *out = &nest->node;
    if (rlx_plan_nest(ctx, &everywhere, nest, &plan) && plan.form == RLX_PLAN_FUSED &&
        plan.fused.contract)
        out = schedule(&t, init, nest);
    if (t.column.producer && t.column.producer->refused) {
        t = (tiling){ .ctx = ctx, .params = params, .plan = &plan, .place = nest->place };
        out = schedule(&t, init, nest);
    } else if (t.column.producer && out && out != &nest->node)
        rlx_take_producer(params->producers, t.column.producer);
    rlx_nest_plan_free(ctx, &plan);
    return ctx->diags.out_of_memory ? NULL : out;
}

const rlx_stmt *rlx_schedule_contraction(rlx_context *ctx, const rlx_panel_params *params,
                                         const rlx_for_stmt *init, const rlx_for_stmt *nest)
{
    const rlx_for_stmt *start = init ? without_single_steps(ctx, init) : NULL,
                       *loops = without_single_steps(ctx, nest);
    const rlx_stmt *out = loops ? schedule_nest(ctx, params, start ? start : init, loops) : NULL;
    if (ctx->diags.out_of_memory)
        return NULL;
    if (out && out != &loops->node)
        return out;
    /* a row alone may be a loop that runs once */
    return loops != nest ? schedule_nest(ctx, params, init, nest) : &nest->node;
}
