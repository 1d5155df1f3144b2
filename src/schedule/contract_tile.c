/* contract_tile.c: the nests of a contraction in tiles, and those that fill its panels. */
#include "schedule/contract_int.h"

enum { PACKED_ROWS = 1024, FEW_ROWS = 16 };

static const rlx_prim *number(const rlx_tiling *t, int64_t v) { return rlx_int64(t->ctx, v); }

static const rlx_prim *mul(const rlx_tiling *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_fold_mul(t->ctx, a, b);
}

static const rlx_prim *add(const rlx_tiling *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_fold_add(t->ctx, a, b);
}

static const rlx_stmt *both(const rlx_tiling *t, const rlx_stmt *first, const rlx_stmt *second)
{
    return rlx_sched_both(t->ctx, first, second, t->place);
}

static const rlx_prim *load_in(const rlx_tiling *t, const rlx_plan_access *a, const rlx_buffer *buffer,
                               const rlx_lane_group *groups, int num_groups, rlx_dtype dtype)
{
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    size_t n = rlx_indices_in(t, a, buffer, groups, num_groups, at);
    return n ? rlx_fold_cast(t->ctx, dtype, rlx_load(t->ctx, buffer, at, n)) : NULL;
}

/* Does this loop around everything go to other panels of a parameter? */
static bool changes_panels(const rlx_tiling *t, const rlx_side *s, int loop)
{
    return s->param >= 0 && t->outer[loop] && rlx_tiling_coefficient(s->access, loop);
}

/* The loops that take a side from panels to others, outermost first. Their number. */
static size_t loops_of_panels(const rlx_tiling *t, const rlx_side *s, rlx_sched_loop *out)
{
    size_t n = 0;
    for (int i = 0; i < t->params->num_around; i++)
        if (s->param >= 0 && s->around[i])
            out[n++] = t->params->around[i];
    for (int i = 0; i < (int)t->plan->count; i++)
        if (changes_panels(t, s, i))
            out[n++] = (rlx_sched_loop){ t->plan->loops[i].var, rlx_tiling_extent(t, i) };
    return n;
}

/* Indices of a lane in a panel; four: which of four steps. Their number. */
static size_t panel_at(const rlx_tiling *t, const rlx_side *s, const rlx_prim *panel, const rlx_prim *step,
                       const rlx_prim *lane, const rlx_prim *four, const rlx_prim **out)
{
    rlx_sched_loop loops[RLX_TIR_MAX_DIMS];
    size_t n = loops_of_panels(t, s, loops);
    for (size_t i = 0; i < n; i++)
        out[i] = loops[i].var;
    out[n++] = panel;
    out[n++] = step;
    out[n++] = lane;
    if (t->dot)
        out[n++] = four;
    return n;
}

/* Steps of the sum: blocks of the outermost depth loop. */
typedef struct depth_tile {
    rlx_sched_loop loop;
    const rlx_prim *begin, *count;   /* of the outermost depth loop */
    const rlx_prim *rest;            /* steps in one of them */
    const rlx_prim *steps;           /* of this tile; of bytes, fours of them */
    const rlx_prim *before;          /* likewise, of the tiles in front of it */
    const rlx_prim *most;            /* likewise, of any tile */
} depth_tile;

/* Steps in panels that so many iterations of the outermost depth loop are. */
static const rlx_prim *in_panels(const rlx_tiling *t, const rlx_prim *count, const rlx_prim *rest)
{
    return mul(t, t->dot ? rlx_ceil_div(t->ctx, count, RLX_FOUR) : count, rest);
}

/* Tiles of the outermost depth loop that are all as large, if there are such of nearly that size: then they follow each other in one
 * instruction, and the sums stay where they are. Of many tiles one more or less that is not full does not matter. */
static int64_t even_depth(const rlx_tiling *t, const rlx_prim *outermost, int64_t tile)
{
    enum { MOST_EVEN_DEPTHS = 64 };
    int64_t whole;
    if (!rlx_int_literal(outermost, &whole) || whole < 1 || whole / MOST_EVEN_DEPTHS >= tile)
        return tile;
    for (int64_t tiles = (whole - 1) / tile + 1; tiles * tile < 2 * whole; tiles++)
        if (whole % tiles == 0 && (!t->dot || whole / tiles % RLX_FOUR == 0))
            return whole / tiles;
    return tile;
}

static depth_tile tile_depth(const rlx_tiling *t)
{
    const rlx_prim *outermost = rlx_tiling_extent(t, t->depth.at[0]);
    depth_tile d = { .rest = number(t, 1) };
    int64_t rest, whole;
    for (int i = 1; i < t->depth.count; i++)
        d.rest = mul(t, d.rest, rlx_tiling_extent(t, t->depth.at[i]));
    const int64_t most = t->depth_tile;
    bool small = rlx_int_literal(t->depth.extent, &whole) && whole <= most + most / 2;
    if (small || !rlx_int_literal(d.rest, &rest) || rest < 1) {
        d.loop = rlx_sched_loop_new(t->ctx, "ko", number(t, 1));
        d.begin = number(t, 0);
        d.count = outermost;
        d.before = number(t, 0);
        d.most = in_panels(t, outermost, d.rest);
    } else {
        int64_t tile = rest < most ? most / rest : 1;
        if (t->dot)
            tile = tile < RLX_FOUR ? RLX_FOUR : tile & -RLX_FOUR;
        tile = t->column.producer ? tile : even_depth(t, outermost, tile);
        d.loop = rlx_sched_loop_new(t->ctx, "ko", rlx_ceil_div(t->ctx, outermost, tile));
        d.begin = mul(t, d.loop.var, number(t, tile));
        d.count = rlx_int_literal(outermost, &whole) && whole % tile == 0
                      ? number(t, tile)
                      : rlx_least(t->ctx, number(t, tile), rlx_fold_sub(t->ctx, outermost, d.begin));
        d.most = in_panels(t, number(t, tile), d.rest);
        d.before = mul(t, d.loop.var, d.most);
    }
    d.steps = in_panels(t, d.count, d.rest);
    return d;
}

bool rlx_has_depth_tiles(const rlx_tiling *t) { return rlx_as_prim_var(tile_depth(t).loop.var) != NULL; }

/* A part of the lanes of a side. */
typedef struct lane_tile {
    rlx_sched_loop loop;
    const rlx_prim *begin, *count;
    const rlx_prim *inside;          /* where it begins in the tile that it is part of */
    rlx_strip_line line;             /* that a strip is for */
} lane_tile;

/* All lanes of a side, in no loop. */
static lane_tile whole_side(const rlx_tiling *t, const rlx_prim *extent)
{
    const rlx_prim *zero = number(t, 0);
    return (lane_tile){ .loop = { zero, number(t, 1) }, .begin = zero, .count = extent, .inside = zero };
}

/* `size` lanes of [begin, begin + whole) at a time. */
static lane_tile tile_lanes(const rlx_tiling *t, const char *name, const rlx_prim *begin,
                            const rlx_prim *whole, int64_t size)
{
    lane_tile l = { .loop = rlx_sched_loop_new(t->ctx, name, rlx_ceil_div(t->ctx, whole, size)) };
    const rlx_prim *done = mul(t, l.loop.var, number(t, size));
    int64_t all;
    l.begin = add(t, begin, done);
    l.inside = done;
    l.count = rlx_int_literal(whole, &all) && all % size == 0
                  ? number(t, size)
                  : rlx_least(t->ctx, number(t, size), rlx_fold_sub(t->ctx, whole, done));
    return l;
}

/* Panels of a tile of lanes, computed. */
static const rlx_stmt *produce(const rlx_tiling *t, const rlx_side *s, const depth_tile *d,
                               const lane_tile *lanes, int64_t width)
{
    rlx_context *ctx = t->ctx;
    int64_t whole;
    rlx_panel_fill f = {
        .panel = s->panel,
        .depth = (size_t)rlx_loop_dimension(t, s->access, t->depth.at[0]),
        .tile_at = d->loop.var,
        .tile = t->depth_tile,
        .panels = rlx_sched_loop_new(ctx, "p", t->few ? number(t, 1) : rlx_ceil_div(ctx, lanes->count, width)),
        .lanes = rlx_sched_loop_new(ctx, "l", t->few ? lanes->count : number(t, width)),
        .place = t->place
    };
    const rlx_prim *lane = add(t, mul(t, f.panels.var, number(t, width)), f.lanes.var);
    rlx_lane_group groups[2] = { rlx_lanes_at(t, s, true, add(t, lanes->begin, lane)),
                        { .d = &t->depth, .position = number(t, 0) } };
    if (!t->few && (!rlx_int_literal(lanes->count, &whole) || whole % width))
        f.inside = rlx_binary_new(ctx, RLX_NODE_LT, lane, lanes->count);
    return rlx_indices_in(t, s->access, rlx_as_buffer(s->access->buffer), groups, 2, f.at)
               ? rlx_produce_panels(ctx, s->producer, &f)
               : NULL;
}

/* The value where the guards that there are hold, else 0. */
static const rlx_prim *guarded(const rlx_tiling *t, rlx_dtype dtype, const rlx_prim *lane, const rlx_prim *step,
                               const rlx_prim *value)
{
    const rlx_prim *choice[3] = { lane && step ? rlx_binary_new(t->ctx, RLX_NODE_AND, lane, step)
                                  : lane       ? lane
                                               : step,
                                  value,
                                  rlx_dtype_is_float(dtype) ? rlx_float(t->ctx, dtype, 0)
                                                            : rlx_int(t->ctx, dtype, 0) };
    return !lane && !step                         ? value
           : choice[0] && choice[1] && choice[2] ? rlx_prim_call_z(t->ctx, dtype, "if_then_else", choice, 3)
                                                  : NULL;
}

/* position < count, unless that is known of all of them, which come `together` at a time; NULL. */
static const rlx_prim *guard_of(const rlx_tiling *t, const rlx_prim *position, const rlx_prim *count, int64_t together)
{
    int64_t whole;
    return rlx_int_literal(count, &whole) && whole % together == 0
               ? NULL
               : rlx_binary_new(t->ctx, RLX_NODE_LT, position, count);
}

/*- Panels of a tile of lanes:
 *     for p, d.., l:  panel[p, d, l] = if_then_else(p * W + l < count, X[begin + p * W + l, d..], 0) */
static const rlx_stmt *pack(const rlx_tiling *t, const rlx_side *s, const depth_tile *d,
                            const lane_tile *lanes, int64_t width)
{
    if (s->producer)
        return produce(t, s, d, lanes, width);
    rlx_context *ctx = t->ctx;
    rlx_sched_loop loops[3 + RLX_MAX_DEPTH];
    int n = 0;
    const rlx_prim *step = number(t, 0), *inside = NULL;
    const rlx_prim *panels = t->one_by_one && s == &t->column ? number(t, 1) : rlx_ceil_div(ctx, lanes->count, width);
    rlx_sched_loop four = rlx_sched_loop_new(ctx, "r", number(t, t->dot ? RLX_FOUR : 1)),
                   p = rlx_sched_loop_new(ctx, "p", panels),
                   l = rlx_sched_loop_new(ctx, "l", number(t, width));
    const rlx_prim *lane = add(t, mul(t, p.var, number(t, width)), l.var);
    const bool viewed = rlx_packs_view(s);
    rlx_lane_group groups[2] = { rlx_lanes_at(t, s, !viewed, add(t, lanes->begin, lane)), { .d = &t->depth } };
    loops[n++] = p;
    for (int i = 0; i < t->depth.count; i++) {
        const char name[3] = { 'd', (char)('0' + i), 0 };
        rlx_sched_loop k = rlx_sched_loop_new(
            ctx, name,
            i == 0 ? in_panels(t, d->count, number(t, 1)) : rlx_tiling_extent(t, t->depth.at[i]));
        step = add(t, mul(t, step, k.extent), k.var);
        groups[1].each[i] = k.var;
        if (i == 0 && t->dot) {
            groups[1].each[i] = add(t, mul(t, k.var, number(t, RLX_FOUR)), four.var);
            inside = guard_of(t, groups[1].each[i], d->count, RLX_FOUR);
        }
        if (i == 0)
            groups[1].each[i] = add(t, d->begin, groups[1].each[i]);
        loops[n++] = k;
    }
    loops[n++] = l;
    loops[n++] = four;
    const rlx_prim *value = guarded(t, s->panel->dtype, guard_of(t, lane, lanes->count, width), inside,
                                    load_in(t, s->access, viewed ? s->buffer : rlx_as_buffer(s->access->buffer), groups, 2,
                                            s->panel->dtype));
    const rlx_prim *to[RLX_TIR_MAX_DIMS];
    size_t num_to = panel_at(t, s, p.var, step, l.var, four.var, to);
    const rlx_stmt *body = rlx_store(ctx, s->panel, value, to, num_to, t->place);
    while (n-- > 0)
        body = rlx_sched_wrap(ctx, &loops[n], body, t->place);
    return body;
}

/* An operand in the innermost nest: a lane of the tile, step k of it. */
static const rlx_prim *read(const rlx_tiling *t, const rlx_side *s, const depth_tile *d,
                            const lane_tile *lanes, const rlx_prim *panel, const rlx_prim *lane,
                            const rlx_prim *k, const rlx_prim *four)
{
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    const rlx_dtype dtype = t->acc_buffer->dtype;
    if (s->one_each)
        panel = add(t, lanes->begin, lane), lane = number(t, 0);
    else if (s->panel && rlx_has_all_panels(s))
        panel = add(t, s->first, panel);
    if (s->panel && rlx_has_all_panels(s))
        k = add(t, d->before, k);
    if (s->panel)
        return rlx_fold_cast(t->ctx, dtype,
                             rlx_load(t->ctx, s->panel, at, panel_at(t, s, panel, k, lane, four, at)));
    if (t->dot)
        k = add(t, mul(t, k, number(t, RLX_FOUR)), four);
    rlx_lane_group groups[2] = { rlx_lanes_at(t, s, false, add(t, lanes->begin, lane)),
                                 { .d = &t->depth,
                                   .position = add(t, mul(t, d->begin, d->rest), k) } };
    return load_in(t, s->access, s->buffer, groups, 2, dtype);
}

/* What one step adds to an element of `sums`. */
static const rlx_prim *one_step(const rlx_tiling *t, const rlx_buffer *sums, const rlx_prim *const *at, size_t n, const rlx_prim *a,
                                const rlx_prim *b)
{
    const rlx_prim *own = n ? rlx_load(t->ctx, sums, at, n) : NULL, *terms[3] = { a, b, own };
    if (!a || !b || !own)
        return NULL;
    return t->plan->fused.exact ? rlx_prim_call_z(t->ctx, sums->dtype, "fma", terms, 3)
                                : rlx_binary_new(t->ctx, RLX_NODE_ADD, own, rlx_binary_new(t->ctx, RLX_NODE_MUL, a, b));
}

/* for i, j: sums[at] = start, where it has one;
 * for i, j, k, u, r: sums[at] = value
 * `around` (NULL: none) stands around both of them. Loops: i, j, k, u, r. */
static const rlx_stmt *fill_and_sum(const rlx_tiling *t, const rlx_buffer *sums, const rlx_prim *const *at, size_t n,
                                    const rlx_prim *value, const rlx_sched_loop *loops, const rlx_sched_loop *around)
{
    rlx_context *ctx = t->ctx;
    const rlx_stmt *body = value ? rlx_store(ctx, sums, value, at, n, t->place) : NULL,
                   *fill = body && t->start ? rlx_store(ctx, sums, t->start, at, n, t->place) : NULL;
    for (int i = 5; i-- > 0;)
        body = rlx_sched_wrap(ctx, &loops[i], body, t->place);
    for (int i = 2; fill && i-- > 0;)
        fill = rlx_sched_wrap(ctx, &loops[i], fill, t->place);
    body = around ? rlx_sched_wrap(ctx, around, body, t->place) : body;
    fill = around && fill ? rlx_sched_wrap(ctx, around, fill, t->place) : fill;
    return t->start ? both(t, fill ? rlx_copy_fresh(ctx, fill) : NULL, body) : body;
}

/* Where C is in the tile, row i and column j of it. The number of indices, 0: out of memory. */
static size_t place_of(const rlx_tiling *t, const lane_tile *rows, const rlx_prim *i, const lane_tile *columns, const rlx_prim *j,
                       const rlx_prim **at)
{
    rlx_lane_group groups[2] = { rlx_lanes_at(t, &t->row, false, add(t, rows->begin, i)),
                                 rlx_lanes_at(t, &t->column, false, add(t, columns->begin, j)) };
    at[0] = add(t, rows->inside, i), at[1] = add(t, columns->inside, j);
    return t->epilogue && t->epilogue->touched[0].block ? 2 : rlx_indices_in(t, t->acc, t->acc_buffer, groups, 2, at);
}

/* The sums of rows and columns of a tile, with or without a rounding of the product as it was written. */
static const rlx_stmt *innermost(const rlx_tiling *t, const depth_tile *d, const lane_tile *rows,
                                 const rlx_prim *row_panel, const lane_tile *columns,
                                 const rlx_prim *column_panel, const rlx_sched_loop *around)
{
    rlx_context *ctx = t->ctx;
    const bool windows = t->strip.width && !t->strip.unfolded;
    const rlx_sched_loop loops[5] = {
        rlx_sched_loop_new(ctx, "i", rows->count), rlx_sched_loop_new(ctx, "j", columns->count),
        rlx_sched_loop_new(ctx, "k", windows ? number(t, t->strip.rows) : d->steps),
        rlx_sched_loop_new(ctx, "u", number(t, windows ? t->strip.steps : 1)),
        rlx_sched_loop_new(ctx, "r", number(t, t->dot ? RLX_FOUR : 1))
    };
    const rlx_prim *i = loops[0].var, *j = loops[1].var, *k = loops[2].var, *u = loops[3].var, *r = loops[4].var,
                   *at[RLX_TIR_MAX_DIMS], *step = add(t, mul(t, k, loops[3].extent), u);
    const size_t n = place_of(t, rows, i, columns, j, at);
    const bool is_row = t->strip.of_rows, is_column = t->strip.width && !is_row;
    const rlx_prim *a = is_row ? rlx_strip_element(t, rows->line, k, u, i) : read(t, &t->row, d, rows, row_panel, i, step, r),
                   *b = is_column ? rlx_strip_element(t, columns->line, k, u, j)
                                  : read(t, &t->column, d, columns, column_panel, j, step, r);
    return fill_and_sum(t, t->acc_buffer, at, n, one_step(t, t->acc_buffer, at, n, a, b), loops, around);
}

/*- Rows as lanes: the sums of the columns of line y of the picture for a panel of rows
 *     for x, o, k, u:  sums[inside + x, o] += panel[k, u, o] * S[k, x + u] */
static const rlx_stmt *innermost_turned(const rlx_tiling *t, const depth_tile *d, const lane_tile *rows, const rlx_prim *panel,
                                        const lane_tile *line, const rlx_sched_loop *around)
{
    rlx_context *ctx = t->ctx;
    const rlx_sched_loop loops[5] = {
        rlx_sched_loop_new(ctx, "x", line->count), rlx_sched_loop_new(ctx, "o", rows->count),
        rlx_sched_loop_new(ctx, "k", number(t, t->strip.rows)), rlx_sched_loop_new(ctx, "u", number(t, t->strip.steps)),
        rlx_sched_loop_new(ctx, "r", number(t, 1))
    };
    const rlx_prim *x = loops[0].var, *o = loops[1].var, *k = loops[2].var, *u = loops[3].var,
                   *at[2] = { add(t, line->inside, x), add(t, rows->inside, o) }, *step = add(t, mul(t, k, loops[3].extent), u),
                   *a = read(t, &t->row, d, rows, panel, o, step, loops[4].var),
                   *b = rlx_strip_element(t, line->line, k, u, x);
    return fill_and_sum(t, t->strip.sums, at, 2, one_step(t, t->strip.sums, at, 2, a, b), loops, around);
}

/* C[o, x] = sums[x, o] */
static const rlx_stmt *turn_back(const rlx_tiling *t, const lane_tile *rows, const lane_tile *columns)
{
    rlx_context *ctx = t->ctx;
    const rlx_sched_loop x = rlx_sched_loop_new(ctx, "x", columns->count), o = rlx_sched_loop_new(ctx, "o", rows->count);
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *from[2] = { x.var, o.var };
    const size_t n = place_of(t, rows, o.var, columns, x.var, at);
    const rlx_stmt *body = n ? rlx_store(ctx, t->acc_buffer, rlx_load(ctx, t->strip.sums, from, 2), at, n, t->place) : NULL;
    return rlx_sched_wrap(ctx, &o, rlx_sched_wrap(ctx, &x, body, t->place), t->place);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* A temporary of as many panels as the lanes of a tile have. */
static const rlx_buffer *new_panel(const rlx_tiling *t, const rlx_side *s, const char *name,
                                   const depth_tile *d, int64_t tile, int64_t width)
{
    int64_t whole;
    bool known = rlx_int_literal(s->lanes.extent, &whole) && whole < tile;
    const rlx_prim *shape[4] = { number(t, ((known ? whole : tile) + width - 1) / width), d->most,
                                 number(t, width), number(t, RLX_FOUR) };
    const rlx_string *text = rlx_string_z(t->ctx, name);
    return text ? rlx_buffer_new(t->ctx, text, rlx_panel_dtype(t, s), shape, t->dot ? 4 : 3, NULL, t->place) : NULL;
}

/* Panels of all lanes, in place of a parameter with the function that fills them, or filled in front of a loop. False: out of memory, or the
 * producer is refused. */
static bool make_all_panels(rlx_tiling *t, rlx_side *s, const char *name, int64_t width)
{
    rlx_context *ctx = t->ctx;
    const rlx_prim *shape[RLX_TIR_MAX_DIMS], *one = number(t, 1);
    rlx_sched_loop loops[RLX_TIR_MAX_DIMS];
    const size_t num_loops = loops_of_panels(t, s, loops);
    size_t n = num_loops;
    for (size_t i = 0; i < n; i++)
        shape[i] = loops[i].extent;
    shape[n++] = rlx_ceil_div(ctx, s->lanes.extent, width);
    depth_tile d = { .loop = { number(t, 0), one },
                     .begin = number(t, 0),
                     .count = rlx_tiling_extent(t, t->depth.at[0]),
                     .rest = one };
    for (int i = 1; i < t->depth.count; i++)
        d.rest = mul(t, d.rest, rlx_tiling_extent(t, t->depth.at[i]));
    shape[n++] = in_panels(t, d.count, d.rest);
    shape[n++] = number(t, width);
    if (t->dot)
        shape[n++] = number(t, RLX_FOUR);
    const rlx_string *text = rlx_string_z(ctx, name);
    s->panel = text ? rlx_buffer_new(ctx, text, rlx_panel_dtype(t, s), shape, n, NULL, t->place) : NULL;
    if (!s->panel)
        return false;
    const lane_tile lanes = whole_side(t, s->lanes.extent);
    const rlx_stmt *body = pack(t, s, &d, &lanes, width);
    for (size_t i = num_loops; i-- > 0;)
        body = rlx_sched_wrap(ctx, &loops[i], body, t->place);
    if (s->in_front)
        return rlx_put_in_front(ctx, t->in_front, s->panel, rlx_with_produced(ctx, s->producer, body, t->place));
    return body && rlx_take_panels(ctx, t->params, s->param, s->panel, body);
}

/* The epilogue of a block whose sums are complete. */
static const rlx_stmt *after_last(const rlx_tiling *t, const depth_tile *d, const lane_tile *rows,
                                  const lane_tile *columns)
{
    const rlx_prim *begin[2] = { rows->begin, columns->begin }, *count[2] = { rows->count, columns->count };
    const rlx_stmt *body = rlx_epilogue_block(t, t->epilogue, begin, count);
    if (!body || !rlx_as_prim_var(d->loop.var))
        return body;
    const rlx_prim *is_last = rlx_binary_new(t->ctx, RLX_NODE_EQ, d->loop.var, rlx_fold_sub(t->ctx, d->loop.extent, number(t, 1)));
    return rlx_sched_if(t->ctx, is_last, body, NULL, t->place);
}

/* Panels stand inside of the loop over their tiles, so that threads that share it have their own. */
static const rlx_stmt *with_panels(const rlx_tiling *t, const rlx_side *s, const rlx_stmt *body)
{
    body = rlx_tir_with_temporary(t->ctx, s->panel, body, t->place);
    return s->producer ? rlx_with_produced(t->ctx, s->producer, body, t->place) : body;
}

/* Rows of a tile in their panels: those that are full are one instruction, and so is the one that is not, if there may be one. around: a loop around
 * that, where there is no other. */
static const rlx_stmt *in_row_panels(const rlx_tiling *t, const depth_tile *d, const lane_tile *row, const lane_tile *columns,
                                     const rlx_prim *column_panel, const rlx_sched_loop *around)
{
    int64_t all;
    const rlx_prim *first = mul(t, row->loop.var, number(t, t->row_tile / RLX_ROW_PANEL)),
                   *full = rlx_fold_binary(t->ctx, RLX_NODE_FLOOR_DIV, row->count, number(t, RLX_ROW_PANEL)), *done;
    const bool is_known = rlx_int_literal(t->row.lanes.extent, &all), is_full = is_known && all % RLX_ROW_PANEL == 0,
               none_is = is_known && all < RLX_ROW_PANEL;
    lane_tile eight = { .loop = rlx_sched_loop_new(t->ctx, "ip", full), .count = number(t, RLX_ROW_PANEL) }, rest;
    eight.inside = mul(t, eight.loop.var, eight.count);
    eight.begin = add(t, row->begin, eight.inside);
    done = mul(t, full, eight.count);
    rest = (lane_tile){ .begin = add(t, row->begin, done), .inside = done, .count = rlx_fold_sub(t->ctx, row->count, done) };
    const rlx_stmt *whole = none_is ? NULL : innermost(t, d, &eight, add(t, first, eight.loop.var), columns, column_panel, &eight.loop),
                   *last = is_full ? NULL : innermost(t, d, &rest, add(t, first, full), columns, column_panel, around);
    return is_full ? whole : none_is ? last : both(t, whole, last ? rlx_copy_fresh(t->ctx, last) : NULL);
}

/* Are all panels of columns full, and there? Then they are one instruction. */
static bool has_full_panels(const rlx_tiling *t)
{
    int64_t all;
    return t->column.panel && !t->one_by_one && rlx_int_literal(t->column.lanes.extent, &all) && all % RLX_COLUMN_PANEL == 0;
}

/* Are the columns one tile, the last of them a panel that is not full behind others, and all panels there? Of several tiles, which threads
 * share, it would not be seen that each has columns of its own; and for many rows an instruction for each panel costs next to nothing,
 * but threads would meet twice. */
static bool has_last_panel(const rlx_tiling *t, const lane_tile *columns)
{
    int64_t all;
    return t->column.panel && !t->row.panel && !t->one_by_one && !t->dot && !t->strip.width && rlx_is_at_most(t->row.lanes.extent, FEW_ROWS) &&
           rlx_int_literal(columns->count, &all) && all > RLX_COLUMN_PANEL && all % RLX_COLUMN_PANEL;
}

/* Columns of a tile in their panels: those that are full are one instruction, and so is the one that is not. */
static const rlx_stmt *in_column_panels(const rlx_tiling *t, const depth_tile *d, const lane_tile *row, const lane_tile *columns)
{
    const rlx_prim *full = rlx_fold_binary(t->ctx, RLX_NODE_FLOOR_DIV, columns->count, number(t, RLX_COLUMN_PANEL)), *done;
    lane_tile panel = { .loop = rlx_sched_loop_new(t->ctx, "jp", full), .count = number(t, RLX_COLUMN_PANEL) }, rest;
    panel.inside = mul(t, panel.loop.var, panel.count);
    panel.begin = add(t, columns->begin, panel.inside);
    done = mul(t, full, panel.count);
    rest = (lane_tile){ .begin = add(t, columns->begin, done), .inside = done, .count = rlx_fold_sub(t->ctx, columns->count, done) };
    const rlx_stmt *whole = innermost(t, d, row, NULL, &panel, panel.loop.var, &panel.loop),
                   *last = innermost(t, d, row, NULL, &rest, full, NULL);
    return both(t, whole, last ? rlx_copy_fresh(t->ctx, last) : NULL);
}

/* Lines of the picture one after the other, each behind what fills its strip, or its part of the strip that they share; first: the first. */
static const rlx_stmt *in_lines(const rlx_tiling *t, const lane_tile *lines, const rlx_prim *first, const rlx_stmt *body)
{
    const rlx_strip *s = &t->strip;
    const int64_t above = s->lines > 1 ? s->down - s->next : 0;
    if (!s->buffer)
        return rlx_sched_wrap(t->ctx, &lines->loop, body, t->place);
    body = both(t, rlx_copy_to_strip(t, lines->line, above, above ? s->next : 0), body);
    if (!above && t->border.is)
        return rlx_tir_with_temporary(t->ctx, s->buffer, both(t, rlx_fill_strip_borders(t, &t->border), rlx_sched_wrap(t->ctx, &lines->loop, body, t->place)),
                                      t->place);
    if (!above)
        return rlx_sched_wrap(t->ctx, &lines->loop, rlx_tir_with_temporary(t->ctx, s->buffer, body, t->place), t->place);
    const rlx_stmt *start = rlx_copy_to_strip(t, (rlx_strip_line){ first, number(t, 0) }, 0, above);
    if (t->border.is)
        start = both(t, rlx_fill_strip_borders(t, &t->border), start);
    return rlx_tir_with_temporary(t->ctx, s->buffer, both(t, start, rlx_sched_wrap(t->ctx, &lines->loop, body, t->place)), t->place);
}

/* Lines of a tile of `lines` of them. */
static lane_tile lines_of(const rlx_tiling *t, const lane_tile *tile, int64_t lines)
{
    lane_tile line = tile_lanes(t, "line", tile->begin, tile->count, t->strip.width);
    line.count = number(t, t->strip.width);
    line.line.y = add(t, mul(t, tile->loop.var, number(t, lines)), line.loop.var);
    line.line.shift = number(t, 0);
    if (t->strip.lines > 1)
        line.line.shift = mul(t, line.loop.var, number(t, t->strip.next));
    return line;
}

/* All columns as one line. */
static lane_tile whole_line(const rlx_tiling *t, const lane_tile *columns)
{
    lane_tile line = *columns;
    line.line = (rlx_strip_line){ number(t, 0), number(t, 0) };
    return line;
}

/* Fills the strips of all lines, each with its own; first: the first line. */
static const rlx_stmt *copy_lines(const rlx_tiling *t, const lane_tile *line, const rlx_prim *first)
{
    return t->border.is ? both(t, rlx_fill_strip_borders(t, &t->border), rlx_copy_lines_inside(t, &t->border, first, line->loop.extent))
                        : rlx_sched_wrap(t->ctx, &line->loop, rlx_copy_to_strip(t, line->line, 0, 0), t->place);
}

/* Such panels, each for all lines at once, whose strips are filled before. */
static const rlx_stmt *in_panels_of_lines(const rlx_tiling *t, const depth_tile *d, const lane_tile *panel, const rlx_prim *at, lane_tile *line,
                                          const rlx_prim *first)
{
    line->line.shift = mul(t, line->loop.var, number(t, t->strip.rows));
    const rlx_stmt *copy = copy_lines(t, line, first),
                   *sums = t->strip.of_rows ? innermost(t, d, line, NULL, panel, at, &line->loop)
                                            : innermost_turned(t, d, panel, at, line, &line->loop);
    sums = rlx_sched_wrap(t->ctx, &panel->loop, sums, t->place);
    return rlx_tir_with_temporary(t->ctx, t->strip.buffer, both(t, copy ? rlx_copy_fresh(t->ctx, copy) : NULL, sums), t->place);
}

/* Rows of a tile as lanes, line by line of the picture: panels that are full are one instruction, each of others its own. */
static const rlx_stmt *in_turned_panels(const rlx_tiling *t, const depth_tile *d, const lane_tile *row, const lane_tile *columns)
{
    int64_t all;
    const bool full = rlx_int_literal(t->row.lanes.extent, &all) && all % RLX_COLUMN_PANEL == 0;
    const int64_t lines = t->column_tile / t->strip.width;
    lane_tile panel = tile_lanes(t, "op", row->begin, row->count, RLX_COLUMN_PANEL),
              line = t->strip.whole ? whole_line(t, columns) : lines_of(t, columns, lines);
    if (full)
        panel.count = number(t, RLX_COLUMN_PANEL);
    const rlx_prim *at = add(t, mul(t, row->loop.var, number(t, t->row_tile / RLX_COLUMN_PANEL)), panel.loop.var),
                   *first = mul(t, columns->loop.var, number(t, lines));
    const rlx_stmt *body;
    if (t->strip.together)
        body = in_panels_of_lines(t, d, &panel, at, &line, first);
    else {
        body = innermost_turned(t, d, &panel, at, &line, full ? &panel.loop : NULL);
        body = full ? body : rlx_sched_wrap(t->ctx, &panel.loop, body, t->place);
        body = t->strip.whole ? body : in_lines(t, &line, first, body);
    }
    const rlx_prim *begin[2] = { row->begin, columns->begin }, *count[2] = { row->count, columns->count };
    const rlx_stmt *behind = t->epilogue && t->epilogue->turned ? rlx_turned_epilogue_block(t, t->epilogue, row->loop.var, begin, count)
                                                                : turn_back(t, row, columns);
    return rlx_tir_with_temporary(t->ctx, t->strip.sums, both(t, body, behind), t->place);
}

/* Tiles of rows for a tile of columns, whose panels are there, or are filled here one by one. */
static const rlx_stmt *rows_of(const rlx_tiling *t, const depth_tile *d, const lane_tile *rows,
                               const lane_tile *columns)
{
    rlx_context *ctx = t->ctx;
    lane_tile row = tile_lanes(t, "io", rows->begin, rows->count, t->row_tile),
              panel = t->column.panel
                          ? tile_lanes(t, "jp", columns->begin, columns->count, RLX_COLUMN_PANEL)
                          : *columns;
    const rlx_prim *column_panel = t->one_by_one ? number(t, 0) : panel.loop.var;
    const bool row_panels = t->row.panel && !t->row.one_each, full = has_full_panels(t), apart = has_last_panel(t, columns),
               at_once = !row_panels && (full || apart);
    /* Lines that are strips as they lie are one instruction. */
    int64_t all;
    const bool few = !row_panels || (rlx_int_literal(t->row.lanes.extent, &all) && all < RLX_ROW_PANEL),
               in_place = t->strip.joint && !t->strip.buffer && few;
    const rlx_stmt *body;
    row.inside = number(t, 0);
    if (!t->column.panel)
        panel.inside = number(t, 0);
    if (full)
        panel.count = number(t, RLX_COLUMN_PANEL);
    const int64_t lines = t->strip.joint ? t->column_tile / t->strip.width : 1;
    const lane_tile line = t->strip.joint ? lines_of(t, columns, lines) : panel;
    if (t->strip.turned)
        body = in_turned_panels(t, d, &row, &panel);
    else if (row_panels)
        body = in_row_panels(t, d, &row, &line, column_panel, in_place ? &line.loop : NULL);
    else if (apart)
        body = in_column_panels(t, d, &row, columns);
    else
        body = innermost(t, d, &row, NULL, &line, column_panel, at_once ? &panel.loop : in_place ? &line.loop : NULL);
    if (t->strip.joint && !in_place)
        body = in_lines(t, &line, mul(t, columns->loop.var, number(t, lines)), body);
    if (t->one_by_one)
        body = with_panels(t, &t->column, both(t, pack(t, &t->column, d, &panel, RLX_COLUMN_PANEL), body));
    if (t->column.panel && !at_once)
        body = rlx_sched_wrap(ctx, &panel.loop, body, t->place);
    if (t->epilogue && !t->epilogue->turned)
        body = rlx_with_blocks(t, t->epilogue, both(t, body, after_last(t, d, &row, columns)));
    return rlx_sched_wrap(ctx, &row.loop, body, t->place);
}

/* Rows that are the lines of a picture, tile by tile: each line reads all panels of columns, or where lines have a strip each, each panel is read
 * by all of them. */
static const rlx_stmt *rows_in_lines(const rlx_tiling *t, const depth_tile *d, const lane_tile *rows, const lane_tile *columns)
{
    const bool together = t->strip.together > 0, full = has_full_panels(t);
    const int64_t lines = together ? t->strip.together : t->strip.lines;
    lane_tile tile = tile_lanes(t, "io", rows->begin, rows->count, lines * t->strip.width), line = lines_of(t, &tile, lines),
              panel = tile_lanes(t, "jp", columns->begin, columns->count, RLX_COLUMN_PANEL);
    const rlx_prim *first = mul(t, tile.loop.var, number(t, lines));
    const rlx_stmt *body;
    tile.inside = number(t, 0);
    if (full)
        panel.count = number(t, RLX_COLUMN_PANEL);
    if (together)
        body = in_panels_of_lines(t, d, &panel, panel.loop.var, &line, first);
    else {
        line.inside = tile.inside;
        body = innermost(t, d, &line, NULL, &panel, panel.loop.var, full ? &panel.loop : NULL);
        body = full ? body : rlx_sched_wrap(t->ctx, &panel.loop, body, t->place);
    }
    if (t->epilogue)
        body = rlx_with_blocks(t, t->epilogue, both(t, body, after_last(t, d, together ? &tile : &line, columns)));
    return rlx_sched_wrap(t->ctx, &tile.loop, together ? body : in_lines(t, &line, first, body), t->place);
}

const rlx_stmt *rlx_tiles(rlx_tiling *t)
{
    rlx_context *ctx = t->ctx;
    depth_tile d = tile_depth(t);
    const rlx_prim *zero = number(t, 0);
    lane_tile rows = whole_side(t, t->row.lanes.extent), columns;
    /* Where all columns are one tile, rows are packed tile by tile: each is used once. */
    const bool by_rows = t->row.packed && t->row.param < 0 &&
                         rlx_is_at_most(t->column.lanes.extent, t->column_tile);
    const bool whole = t->row.param >= 0 && rlx_is_at_most(t->row.lanes.extent, 2 * PACKED_ROWS);
    const int64_t packed_rows = by_rows ? t->row_tile : whole ? 2 * PACKED_ROWS : PACKED_ROWS;
    if (t->epilogue) /* which runs even where there are no steps */
        d.loop.extent = rlx_greatest(t->ctx, d.loop.extent, number(t, 1));
    t->row.one_each = t->dot && t->row.param >= 0;
    const int64_t row_panel = t->row.one_each ? 1 : t->strip.turned ? RLX_COLUMN_PANEL : RLX_ROW_PANEL;
    if (t->row.param >= 0 && !make_all_panels(t, &t->row, t->strip.turned ? "lanes" : "rows", row_panel))
        return NULL;
    if (rlx_has_all_panels(&t->column) && !make_all_panels(t, &t->column, "columns", RLX_COLUMN_PANEL))
        return NULL;
    if (t->row.packed) {
        if (!t->row.panel)
            t->row.panel = new_panel(t, &t->row, "rows", &d, packed_rows, RLX_ROW_PANEL);
        rows = tile_lanes(t, "ib", zero, t->row.lanes.extent, packed_rows);
    }
    columns = whole_side(t, t->column.lanes.extent);
    /* where all rows are one tile, each panel of columns is used once, while it is near */
    t->one_by_one = t->column.packed && !rlx_has_all_panels(&t->column) && !t->column.producer && !by_rows &&
                    rlx_is_at_most(t->row.lanes.extent, RLX_ROW_TILE);
    t->row.first = mul(t, rows.loop.var, number(t, packed_rows / row_panel));
    if (t->column.packed && !t->column.panel)
        t->column.panel = new_panel(t, &t->column, "columns", &d, t->one_by_one ? RLX_COLUMN_PANEL : t->column_tile,
                                    RLX_COLUMN_PANEL);
    const bool lines = t->strip.width && !t->strip.of_rows && !t->strip.turned && !t->strip.joint && !t->strip.unfolded; /* are what is computed at a time */
    /* Panels that are there need no tiles where all rows are one; what is read in place does not either. */
    if (t->epilogue || t->strip.width ||
        (t->column.packed && (!rlx_has_all_panels(&t->column) || !rlx_is_at_most(t->row.lanes.extent, RLX_ROW_TILE))))
        columns = tile_lanes(t, "jo", zero, t->column.lanes.extent, lines ? t->strip.lines * t->column_tile : t->column_tile);
    t->column.first = mul(t, columns.loop.var, number(t, t->column_tile / RLX_COLUMN_PANEL));
    if (t->strip.width && rlx_is_strip_copied(t) && !(t->strip.buffer = rlx_strip_buffer(t)))
        return NULL;
    if (t->strip.turned && !(t->strip.sums = rlx_turned_sums(t)))
        return NULL;
    if (t->epilogue && !rlx_choose_turned_epilogue(t, t->epilogue))
        return NULL;
    const lane_tile line = lines ? lines_of(t, &columns, t->strip.lines) : columns;
    const rlx_stmt *body = t->strip.of_rows ? rows_in_lines(t, &d, &rows, &line) : rows_of(t, &d, &rows, &line);
    if (lines)
        body = in_lines(t, &line, mul(t, columns.loop.var, number(t, t->strip.lines)), body);
    if (t->strip.unfolded) {
        const rlx_prim *first = mul(t, columns.loop.var, number(t, t->strip.unfolded)), *count = rlx_ceil_div(ctx, columns.count, t->strip.width);
        const rlx_stmt *filled = both(t, rlx_fill_strip_borders(t, &t->border), rlx_copy_lines_inside(t, &t->border, first, count));
        body = rlx_tir_with_temporary(ctx, t->strip.buffer, both(t, filled, body), t->place);
    }
    if (t->strip.whole && t->strip.buffer) /* for all tiles of rows */
        body = rlx_tir_with_temporary(ctx, t->strip.buffer, both(t, rlx_fill_whole(t), body), t->place);
    /* the outer side is packed once for all tiles of the inner one */
    const rlx_side *sides[2] = { by_rows ? &t->row : &t->column, by_rows ? &t->column : &t->row };
    const lane_tile *loops[2] = { by_rows ? &rows : &columns, by_rows ? &columns : &rows };
    for (int i = 0; i < 2; i++) {
        const int64_t width = sides[i] == &t->row ? RLX_ROW_PANEL : RLX_COLUMN_PANEL;
        if (sides[i]->panel && !rlx_has_all_panels(sides[i]) && !(t->one_by_one && sides[i] == &t->column))
            body = with_panels(t, sides[i], both(t, pack(t, sides[i], &d, loops[i], width), body));
        body = rlx_sched_wrap(ctx, &loops[i]->loop, body, t->place);
    }
    body = rlx_sched_wrap(ctx, &d.loop, body, t->place);
    if (t->epilogue)
        body = rlx_with_numbers_beside(t, t->epilogue, body);
    for (int i = (int)t->plan->count; i-- > 0;)
        if (t->outer[i])
            body = rlx_sched_wrap(
                ctx, &(rlx_sched_loop){ t->plan->loops[i].var, rlx_tiling_extent(t, i) }, body, t->place);
    return body;
}

bool rlx_is_along(const rlx_tiling *t)
{
    return rlx_loop_dimension(t, t->column.access, t->depth.at[0]) ==
           (int)t->column.access->num_indices - 1;
}

const rlx_stmt *rlx_few_tiles(rlx_tiling *t)
{
    depth_tile d = tile_depth(t);
    const rlx_prim *zero = number(t, 0);
    lane_tile rows = whole_side(t, t->row.lanes.extent),
              columns = tile_lanes(t, "jo", zero, t->column.lanes.extent, t->few);
    bool along = rlx_is_along(t);
    t->column.panel = new_panel(t, &t->column, "columns", &d, t->few, t->few);
    const rlx_stmt *body = both(t, pack(t, &t->column, &d, &columns, t->few),
                                innermost(t, &d, &rows, NULL, &columns, zero, NULL));
    body = with_panels(t, &t->column, body);
    body = rlx_sched_wrap(t->ctx, along ? &d.loop : &columns.loop, body, t->place);
    body = rlx_sched_wrap(t->ctx, along ? &columns.loop : &d.loop, body, t->place);
    for (int i = (int)t->plan->count; i-- > 0;)
        if (t->outer[i])
            body = rlx_sched_wrap(
                t->ctx, &(rlx_sched_loop){ t->plan->loops[i].var, rlx_tiling_extent(t, i) }, body, t->place);
    return body;
}
