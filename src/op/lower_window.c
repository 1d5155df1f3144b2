/*- lower_window.c: convolutions and pooling.
 *
 *     for n, g in T.grid(batch, groups):                       block "parts"
 *         spread[c, j]        data of the part with padding around it, and zeros between its
 *                             elements where it is transposed
 *         out[n, g, o, y]     sum (or maximum) over c, k of
 *                             spread[c, y * stride + k * dilation] * weight[o, c, k]
 *
 * A part is one batch, and of that one group of a convolution, one channel where channels are
 * pooled and lie apart; small groups are spread together. All indices are in canonical order (batch, channel, spatial axes);
 * layouts say where they stand. The loops run as the result lies in memory, its last axis
 * innermost. Without padding data is read directly. Where a transposed convolution can, it is one of stride 1 for each phase of the result. Where channels are pooled and sizes are known, so it is with padding:
 * the result is filled, then boxes of it take those elements of their windows that there are; channels that lie apart are pooled with
 * padding, which changes neither a maximum nor a sum, some at a time, so that their pictures are near: such parts come after each other in
 * one buffer, whose padding stays; or channels become lanes, and nothing is padded. Narrow floats sum in float32.
 */
/* built for size */
#include "op/lower_int.h"

#define MAX_AXES RLX_LOW_AXES
#define MAX_SPATIAL 3
#define SMALL_GROUP 2048 /* elements */
#define SINGLE_CHANNEL 16384
#define SMALL_PICTURE 1024
#define NEAR_PICTURES 8192
#define NEAR_BOXES 32768  /* of some channels, where those of all channels are more than */
#define NEAR_ALL (1 << 19)
#define STRIDED_PICTURE 2048 /* elements: rows are long enough to be pooled where they are */

/* Places of the result along an axis, `count` from `at` on, and elements of their windows, `steps` from `first` on, all of
 * which are inside of data. */
typedef struct range { int64_t at, count, first, steps; } range;

typedef struct window {
    rlx_lowering b;
    size_t n;                               /* spatial axes */
    rlx_lowering_side x, w, out;
    bool transposed, is_max, direct;        /* direct: data without padding */
    bool together;                          /* groups are an axis of the sum: data, or its spread form, holds all of them */
    int64_t parts;                          /* of a group, one after the other in the same spread form; 0: the group is the part */
    int64_t groups, stride[MAX_SPATIAL], dilation[MAX_SPATIAL], before[MAX_SPATIAL],
        after[MAX_SPATIAL];
    const rlx_prim *reach[MAX_SPATIAL];     /* of the window, minus 1: (k - 1) * dilation */
    const rlx_prim *extent[MAX_SPATIAL];    /* of the window */
    int64_t phases[MAX_SPATIAL];            /* of a transposed convolution: 0: there are none */
    const rlx_prim *phase[MAX_SPATIAL];     /* in a block: which */
    bool phases_are_loops;
    bool by_place[MAX_SPATIAL];             /* phases of two are counted as places of the result are */
    const range *box[MAX_SPATIAL];          /* windows that are done now, and what of them; NULL: all */
    const rlx_prim *fill;
    /* of the part; batch NULL: there are no parts, group NULL: all, channel NULL: all */
    const rlx_prim *batch, *group, *channel;
    const rlx_prim *inputs, *outputs;       /* channels of a part */
    const rlx_prim *output;                 /* the channel in the part, in a block over the result */
    const rlx_buffer *spread, *counts, *ones;
    const rlx_prim *counted;                /* channels that counts are written for; NULL: those of a place are one number */
    size_t order[MAX_AXES], num_order;      /* dimensions of spread */
    rlx_dtype wide;
} window;

static const rlx_prim *number(window *w, int64_t v) { return rlx_tir_int(&w->b.t, v); }
static const rlx_prim *plus(window *w, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_add(&w->b.t, a, b);
}
static const rlx_prim *minus(window *w, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_sub(&w->b.t, a, b);
}
static const rlx_prim *times(window *w, const rlx_prim *a, int64_t n)
{
    return rlx_tir_mul(&w->b.t, a, number(w, n));
}

/* ---- layouts -------------------------------------------------------------------------------- */

static size_t axis_of(const rlx_lowering_side *s, size_t part)
{
    return (size_t)(strchr(s->axes, s->layout.letter[part]) - s->axes);
}

/* The factor by which an axis is split, 0: it is whole. */
static int64_t split_of(const rlx_lowering_side *s, char letter)
{
    for (size_t i = 0; i < s->layout.n; i++)
        if (s->layout.letter[i] == letter && s->layout.factor[i])
            return s->layout.factor[i];
    return 0;
}

bool rlx_lowering_read_side(rlx_lowering *b, rlx_lowering_side *s, const rlx_attr *layout,
                            const char *axes)
{
    s->axes = axes;
    if (!rlx_layout_read(rlx_attr_text(layout), axes, &s->layout) ||
        s->layout.n != s->t.shape.sizes.n)
        return rlx_lowering_give_up(b, "a layout does not fit the rank");
    for (size_t i = 0; i < s->layout.n; i++) {
        const rlx_prim **size = &s->size[axis_of(s, i)], *part = s->t.shape.sizes.at[i];
        *size = *size ? rlx_tir_mul(&b->t, *size, part) : part;
    }
    return true;
}

rlx_lowering_list rlx_lowering_placed(rlx_lowering *b, const rlx_lowering_side *s,
                                      const rlx_prim *const *index)
{
    rlx_lowering_list at = { .n = s->layout.n };
    for (size_t i = 0; i < at.n; i++) {
        const rlx_prim *k = index[axis_of(s, i)];
        int64_t split = split_of(s, s->layout.letter[i]);
        if (split)
            k = rlx_tir_binary(&b->t,
                               s->layout.factor[i] ? RLX_NODE_FLOOR_MOD : RLX_NODE_FLOOR_DIV, k,
                               rlx_tir_int(&b->t, split));
        at.at[i] = k;
    }
    return at;
}

void rlx_lowering_canonical(rlx_lowering *b, const rlx_lowering_side *s,
                            const rlx_lowering_list *at, const rlx_prim **index)
{
    memset(index, 0, RLX_LOW_AXES * sizeof *index);
    for (size_t i = 0; i < s->layout.n; i++) {
        const rlx_prim **k = &index[axis_of(s, i)], *part = at->at[i];
        int64_t split = split_of(s, s->layout.letter[i]);
        if (split && !s->layout.factor[i])
            part = rlx_tir_mul(&b->t, part, rlx_tir_int(&b->t, split));
        *k = *k ? rlx_tir_add(&b->t, *k, part) : part;
    }
}

/* ---- data with padding ---------------------------------------------------------------------- */

/* Position in data of position j of the spread form along spatial axis i; *inside: is there an
 * element? */
static const rlx_prim *data_position(window *w, size_t i, const rlx_prim *j,
                                     const rlx_prim **inside)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *zero = number(w, 0), *p = minus(w, j, number(w, w->before[i])), *ok;
    if (w->transposed)
        p = minus(w, plus(w, j, number(w, w->before[i])), w->reach[i]);
    ok = rlx_tir_ge(t, p, zero);
    if (w->transposed && w->stride[i] > 1) {
        ok = rlx_tir_and(t, ok,
                         rlx_tir_eq(t, rlx_tir_floor_mod(t, p, number(w, w->stride[i])), zero));
        p = rlx_tir_floor_div(t, p, number(w, w->stride[i]));
    }
    *inside = rlx_tir_and(t, ok, rlx_tir_lt(t, p, w->x.size[2 + i]));
    return p;
}

/* What one axis of the spread form is made of: element q of data stands at off + q * step. */
typedef struct spread_axis { const rlx_prim *size, *count; int64_t off, step; } spread_axis;

/* Dimensions as those of data, so that a row of it is a row. */
static void order_spread(window *w)
{
    bool whole = true;
    for (size_t i = 0; i < w->x.layout.n; i++)
        whole &= !w->x.layout.factor[i];
    for (size_t i = 0; i < 2 + w->n; i++) {
        size_t axis = whole ? axis_of(&w->x, i) : i;
        if (axis > 1 || (axis == 1 && !w->channel))
            w->order[w->num_order++] = axis;
    }
}

static rlx_lowering_list in_order(const window *w, const rlx_prim *const *of)
{
    rlx_lowering_list at = { .n = w->num_order };
    for (size_t i = 0; i < at.n; i++)
        at.at[i] = of[w->order[i]];
    return at;
}

/* Size and place of each spatial axis. False: data is not a box in it. */
static bool measure_spread(window *w, spread_axis *axes)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *zero = number(w, 0), *one = number(w, 1);
    bool box = true;
    for (size_t i = 0; i < w->n; i++) {
        spread_axis *a = &axes[i];
        const rlx_prim *last = minus(w, w->out.size[2 + i], one), *off = number(w, w->before[i]);
        last = w->transposed ? last : times(w, last, w->stride[i]);
        off = w->transposed ? minus(w, w->reach[i], off) : off;
        a->step = w->transposed ? w->stride[i] : 1;
        a->size = rlx_tir_max(t, plus(w, plus(w, last, w->reach[i]), one), zero);
        box &= rlx_int_literal(off, &a->off) && a->off >= 0 && a->step > 0;
        if (!box)
            continue;
        /* what does not reach into the windows is left out */
        const rlx_prim *room = plus(w, minus(w, a->size, off), number(w, a->step - 1));
        room = rlx_tir_floor_div(t, room, number(w, a->step));
        a->count = rlx_tir_max(t, rlx_tir_min(t, w->x.size[2 + i], room), zero);
    }
    return box;
}

/* Element of data for places in the part. */
static const rlx_prim *data_at(window *w, const rlx_prim *const *place)
{
    const rlx_prim *from[MAX_AXES] = { w->batch, w->channel ? w->channel : place[1] };
    if (w->group)
        from[1] = plus(w, rlx_tir_mul(&w->b.t, w->group, w->inputs), place[1]);
    memcpy(from + 2, place + 2, w->n * sizeof *from);
    rlx_lowering_list at = rlx_lowering_placed(&w->b, &w->x, from);
    return rlx_tir_load(&w->b.t, w->x.t.buffer, rlx_lowering_items(&at));
}

/* Opens a block over a box of the spread form: indices from 0. */
static void open_box(window *w, const char *name, const rlx_prim *const *extent,
                     const rlx_prim **at)
{
    rlx_lowering_list sizes = in_order(w, extent), index;
    rlx_lowering_open(&w->b, name, &sizes, &index);
    for (size_t i = 0; i < index.n; i++)
        at[w->order[i]] = index.at[i];
}

static void fill_box(window *w, const rlx_prim *const *begin, const rlx_prim *const *extent)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *at[MAX_AXES];
    int64_t size;
    for (size_t i = 0; i < w->num_order; i++)
        if (rlx_int_literal(extent[w->order[i]], &size) && size <= 0)
            return;
    open_box(w, "border", extent, at);
    for (size_t i = 0; i < w->num_order; i++)
        at[w->order[i]] = plus(w, begin[w->order[i]], at[w->order[i]]);
    rlx_lowering_list to = in_order(w, at);
    rlx_tir_store(t, w->spread, rlx_lowering_items(&to), w->fill);
    rlx_tir_end_block(t);
}

/*- Is the picture of a channel, with its borders, so small that the short runs of borders cost more than all of it? In elements of one
 * long run, that is what a run takes to begin, and an element that lies apart:
 *
 *     few columns on a side: a run along each of them;  many: a run in each line
 */
static bool is_small_picture(const window *w, const spread_axis *axes)
{
    enum { RUN = 600, APART = 6, FEW_COLUMNS = 3, MOST = 1 << 20 };
    int64_t elements = 1, lines = 1, size, count, borders = 2 * RUN;
    const spread_axis *last = &axes[w->n - 1];
    if (w->order[w->num_order - 1] < 2 || !rlx_int_literal(last->count, &count))
        return false;
    for (size_t i = 0; i < w->n; i++) {
        if (!rlx_int_literal(axes[i].size, &size) || size > MOST / elements)
            return false;
        lines = i + 1 < w->n ? lines * size : lines;
        elements *= size;
    }
    const int64_t sides[2] = { last->off, size - count - last->off };
    for (int i = 0; i < 2; i++)
        borders += sides[i] > FEW_COLUMNS ? RUN * lines : sides[i] > 0 ? sides[i] * (RUN + APART * lines) : 0;
    return elements <= SMALL_PICTURE || elements <= borders;
}

/* Everything where there are gaps between elements, little of it, or it is done once for several parts; else what lies around data. */
static void fill_borders(window *w, const spread_axis *axes, const rlx_prim *const *size)
{
    const rlx_prim *begin[MAX_AXES], *extent[MAX_AXES], *zero = number(w, 0);
    bool all = w->together || w->parts > 1 || is_small_picture(w, axes); /* one run, in place of many short ones */
    for (size_t i = 0; i < MAX_AXES; i++) {
        begin[i] = zero;
        extent[i] = i < 2 + w->n ? size[i] : NULL;
        all |= i < w->n && axes[i].step > 1;
    }
    if (all) {
        fill_box(w, begin, extent);
        return;
    }
    for (size_t i = 0; i < w->num_order; i++) {
        size_t axis = w->order[i];
        if (axis < 2)
            continue;
        const spread_axis *a = &axes[axis - 2];
        const rlx_prim *off = number(w, a->off), *end = plus(w, off, a->count);
        extent[axis] = off;
        fill_box(w, begin, extent);
        begin[axis] = end;
        extent[axis] = minus(w, a->size, end);
        fill_box(w, begin, extent);
        begin[axis] = off;
        extent[axis] = a->count;
    }
}

static void copy_inside(window *w, const spread_axis *axes, const rlx_prim *const *size)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *extent[MAX_AXES] = { NULL, size[1] }, *from[MAX_AXES] = { NULL }, *to[MAX_AXES];
    for (size_t i = 0; i < w->n; i++)
        extent[2 + i] = axes[i].count;
    open_box(w, "spread", extent, from);
    memcpy(to, from, sizeof to);
    for (size_t i = 0; i < w->n; i++)
        to[2 + i] = plus(w, times(w, from[2 + i], axes[i].step), number(w, axes[i].off));
    rlx_lowering_list at = in_order(w, to);
    rlx_tir_store(t, w->spread, rlx_lowering_items(&at), data_at(w, from));
    rlx_tir_end_block(t);
}

/* Element by element, with a condition. */
static void spread_guarded(window *w, const rlx_prim *const *size)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *to[MAX_AXES], *from[MAX_AXES], *cond = NULL, *inside;
    open_box(w, "spread", size, to);
    memcpy(from, to, sizeof from);
    for (size_t i = 0; i < w->n; i++) {
        from[2 + i] = data_position(w, i, to[2 + i], &inside);
        cond = cond ? rlx_tir_and(t, cond, inside) : inside;
    }
    rlx_lowering_list at = in_order(w, to);
    rlx_tir_store(t, w->spread, rlx_lowering_items(&at),
                  rlx_tir_if_then_else(t, cond, data_at(w, from), w->fill));
    rlx_tir_end_block(t);
}

/* One of several parts of a group. */
static void open_part(window *w)
{
    rlx_tir *t = &w->b.t;
    if (w->parts < 2)
        return;
    rlx_tir_begin_block(t, "part");
    w->group = plus(w, w->group ? times(w, w->group, w->parts) : number(w, 0), rlx_tir_spatial(t, "h", number(w, w->parts)));
}

static void end_part(window *w)
{
    if (w->parts > 1)
        rlx_tir_end_block(&w->b.t);
}

static void spread_part(window *w)
{
    spread_axis axes[MAX_SPATIAL];
    const rlx_prim *size[MAX_AXES] = { NULL, w->together ? w->x.size[1] : w->inputs };
    bool box = measure_spread(w, axes);
    order_spread(w);
    for (size_t i = 0; i < w->n; i++)
        size[2 + i] = axes[i].size;
    rlx_lowering_list sizes = in_order(w, size);
    w->spread = rlx_tir_alloc(&w->b.t, "spread", w->x.t.dtype, rlx_lowering_items(&sizes));
    if (!box) {
        open_part(w);
        spread_guarded(w, size);
        return;
    }
    fill_borders(w, axes, size);
    open_part(w);
    copy_inside(w, axes, size);
}

/* Element of data that place y of the result meets at place k of the window. Its channel in data
 * and in the part. */
static const rlx_prim *element(window *w, const rlx_prim *batch, const rlx_prim *channel,
                               const rlx_prim *in_part, const rlx_prim *const *y,
                               const rlx_prim *const *k)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *index[MAX_AXES] = { batch, w->direct || w->together ? channel : in_part };
    for (size_t i = 0; i < w->n; i++) {
        const rlx_prim *step = times(w, k[i], w->dilation[i]);
        index[2 + i] = w->transposed ? minus(w, plus(w, y[i], w->reach[i]), step)
                                     : plus(w, times(w, y[i], w->stride[i]), step);
        if (w->by_place[i])
            index[2 + i] = plus(w, index[2 + i], w->phase[i]);
        if (w->box[i])
            index[2 + i] = minus(w, index[2 + i], number(w, w->before[i]));
    }
    rlx_lowering_list at = w->direct ? rlx_lowering_placed(&w->b, &w->x, index) : in_order(w, index);
    return rlx_tir_cast(
        t, w->wide,
        rlx_tir_load(t, w->direct ? w->x.t.buffer : w->spread, rlx_lowering_items(&at)));
}

/* ---- the loops ------------------------------------------------------------------------------ */

/* Loops around everything, a part in each step. */
static void open_parts(window *w)
{
    rlx_tir *t = &w->b.t;
    rlx_tir_begin_block(t, "parts");
    w->batch = rlx_tir_spatial(t, "i0", w->out.size[0]);
    if (w->groups > 1 && !w->together)
        w->group = rlx_tir_spatial(t, "g", number(w, w->groups));
}

/* A channel of the result, given that in the part. */
static const rlx_prim *whole_channel(window *w, const rlx_prim *in_part)
{
    return w->channel ? w->channel
           : w->group ? plus(w, rlx_tir_mul(&w->b.t, w->group, w->outputs), in_part)
                      : in_part;
}

/* Sizes of the result in a part, in canonical order; indices likewise. */
static rlx_lowering_list of_part(const window *w, const rlx_prim *const *all)
{
    rlx_lowering_list l = { .n = 0 };
    for (size_t i = 0; i < 2 + w->n; i++)
        if (!(i == 0 && w->batch) && !(i == 1 && w->channel))
            l.at[l.n++] = all[i];
    return l;
}

static void part_sizes(const window *w, const rlx_prim **size)
{
    memcpy(size, w->out.size, (2 + w->n) * sizeof *size);
    if (w->group)
        size[1] = w->outputs;
}

/* Indices of the result in canonical order, for those in the part. */
static void whole_index(window *w, const rlx_lowering_list *inside, const rlx_prim **o)
{
    size_t from = 0;
    for (size_t i = 0; i < 2 + w->n; i++)
        o[i] = i == 0 && w->batch     ? w->batch
               : i == 1 && w->channel ? w->channel
                                      : inside->at[from++];
    w->output = o[1];
    o[1] = whole_channel(w, o[1]);
}

/* Phases that are loops around one sum. */
static void open_phases(window *w)
{
    char label[RLX_LOW_NAME];
    for (size_t i = 0; i < w->n && w->phases_are_loops; i++) {
        rlx_lowering_name(label, 'r', i);
        w->phase[i] = rlx_tir_spatial(&w->b.t, label, number(w, w->phases[i]));
    }
}

/* Opens a block over the result: the group where all of them are in the part, o in canonical order, c (NULL: none) and k
 * of the window in front of the last axis. */
static void open_window(window *w, const char *name, const rlx_prim *channels,
                        rlx_lowering_list *inside, const rlx_prim **c, const rlx_prim **k)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *o[MAX_AXES] = { NULL }, *size[MAX_AXES];
    size_t order[MAX_AXES], n = 0;
    char label[RLX_LOW_NAME];
    for (size_t i = 0; i < w->out.layout.n; i++) {
        size_t axis = axis_of(&w->out, i);
        if (!w->out.layout.factor[i] && !(axis == 0 && w->batch) && !(axis == 1 && w->channel))
            order[n++] = axis;
    }
    rlx_tir_begin_block(t, name);
    open_phases(w);
    if (w->together)
        w->group = rlx_tir_spatial(t, "g", number(w, w->groups));
    part_sizes(w, size);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n) {
            if (c)
                *c = rlx_tir_reduce(t, "c", channels);
            for (size_t a = 0; a < w->n; a++) {
                const range *box = w->box[a];
                rlx_lowering_name(label, 'k', a);
                k[a] = rlx_tir_reduce(t, label, box ? number(w, box->steps) : w->extent[a]);
                k[a] = box ? plus(w, k[a], number(w, box->first)) : k[a];
            }
        }
        const range *box = order[i] > 1 ? w->box[order[i] - 2] : NULL;
        rlx_lowering_name(label, 'i', order[i]);
        if (box) {
            o[order[i]] = rlx_tir_spatial(t, label, number(w, box->count));
            o[order[i]] = plus(w, o[order[i]], number(w, box->at));
            continue;
        }
        o[order[i]] = order[i] == 1 && w->group && rlx_is_int_value(size[1], 1)
                          ? number(w, 0) /* each channel is its own group */
                          : rlx_tir_spatial(t, label, size[order[i]]);
    }
    *inside = of_part(w, o);
}

/* An index, or sizes, of sums that there are for each phase. */
static rlx_lowering_list behind_phases(const window *w, const rlx_lowering_list *at, const rlx_prim *const *phase)
{
    rlx_lowering_list l = { .n = 0 };
    for (size_t i = 0; i < w->n && w->phases[i]; i++)
        l.at[l.n++] = phase[i];
    memcpy(l.at + l.n, at->at, at->n * sizeof *at->at);
    l.n += at->n;
    return l;
}

typedef const rlx_prim *(*step_fn)(window *w, const rlx_prim *so_far, const rlx_prim *const *o,
                                   const rlx_prim *c, const rlx_prim *const *k);
typedef const rlx_prim *(*end_fn)(window *w, const rlx_prim *v, const rlx_prim *const *o);

/* The block that accumulates; first NULL: the result has begun. */
static void accumulate_into(window *w, const char *name, const rlx_prim *channels, const rlx_buffer *sum, bool own,
                            const rlx_prim *first, step_fn step)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *o[MAX_AXES], *c = NULL, *k[MAX_SPATIAL];
    rlx_lowering_list index, at;
    bool alone = channels && w->groups > 1 && rlx_is_int_value(channels, 1);
    c = alone ? number(w, 0) : NULL;
    open_window(w, name, channels, &index, channels && !alone ? &c : NULL, k);
    whole_index(w, &index, o);
    at = !own ? rlx_lowering_placed(&w->b, &w->out, o) : w->together ? of_part(w, o) : index;
    at = behind_phases(w, &at, w->phase);
    if (first)
        rlx_tir_init(t, sum, rlx_lowering_items(&at), first);
    rlx_tir_store(t, sum, rlx_lowering_items(&at),
                  step(w, rlx_tir_load(t, sum, rlx_lowering_items(&at)), o, c, k));
    rlx_tir_end_block(t);
    if (w->together)
        w->group = NULL;
}

/* The block that makes the result of the sums. */
static void finish(window *w, const rlx_buffer *sum, end_fn end)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *o[MAX_AXES], *size[MAX_AXES];
    part_sizes(w, size);
    rlx_lowering_list sizes = of_part(w, size), index, at;
    rlx_lowering_open(&w->b, "result", &sizes, &index);
    whole_index(w, &index, o);
    at = rlx_lowering_placed(&w->b, &w->out, o);
    const rlx_prim *v = rlx_tir_load(t, sum, rlx_lowering_items(&index));
    rlx_tir_store(t, w->out.t.buffer, rlx_lowering_items(&at), end ? end(w, v, o) : v);
    rlx_tir_end_block(t);
}

/* One block that accumulates, and one that finishes where there is more to do. */
static void accumulate(window *w, const char *name, const rlx_prim *channels,
                       const rlx_prim *first, step_fn step, end_fn end)
{
    const rlx_prim *size[MAX_AXES];
    bool own = end || w->wide != w->out.t.dtype;
    part_sizes(w, size);
    rlx_lowering_list sizes = of_part(w, size);
    const rlx_buffer *sum = own ? rlx_tir_alloc(&w->b.t, "sum", w->wide, rlx_lowering_items(&sizes))
                                : w->out.t.buffer;
    accumulate_into(w, name, channels, sum, own, first, step);
    if (own)
        finish(w, sum, end);
}

/* ---- convolutions: attributes strides, padding, (output_padding,) dilation, groups, layouts,
 * out_dtype ---------------- */

/* Elements of the kernel that the phase of an axis meets: one in so many, from that one on. */
static const rlx_prim *kernel_phase(window *w, size_t i)
{
    return w->by_place[i] ? minus(w, number(w, 1), w->phase[i]) : w->phase[i];
}

static const rlx_prim *convolve(window *w, const rlx_prim *so_far, const rlx_prim *const *o,
                                const rlx_prim *c, const rlx_prim *const *k)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *channel =
        w->group ? plus(w, rlx_tir_mul(t, w->group, w->inputs), c) : c;
    const rlx_prim *index[MAX_AXES] = { w->transposed ? w->output : o[1],
                                        w->transposed ? channel : c };
    for (size_t i = 0; i < w->n; i++)
        index[2 + i] = w->phases[i] ? plus(w, times(w, k[i], w->phases[i]), kernel_phase(w, i)) : k[i];
    rlx_lowering_list at = rlx_lowering_placed(&w->b, &w->w, index);
    const rlx_prim *weight =
        rlx_tir_cast(t, w->wide, rlx_tir_load(t, w->w.t.buffer, rlx_lowering_items(&at)));
    return rlx_tir_multiply_add(t, so_far, element(w, o[0], channel, c, o + 2, k), weight);
}

static void read_lists(window *w, const rlx_attr *strides, const rlx_attr *padding,
                       const rlx_attr *dilation)
{
    for (size_t i = 0; i < w->n; i++) {
        w->stride[i] = rlx_attr_item(strides, i);
        w->dilation[i] = rlx_attr_item(dilation, i);
        w->before[i] = rlx_attr_item(padding, i);
        w->after[i] = rlx_attr_item(padding, i + w->n);
        w->reach[i] = times(w, minus(w, w->extent[i], number(w, 1)), w->dilation[i]);
        w->direct &= !w->before[i] && !w->after[i];
    }
}

/* Channels of data are those of the kernel: one size where they are not grouped or split, else
 * checked. */
static void trust_channels(window *w, const rlx_attr *data, const rlx_attr *kernel)
{
    rlx_slice x = rlx_attr_text(data), k = rlx_attr_text(kernel);
    const char *c = memchr(x.data, 'C', x.len), *i = memchr(k.data, 'I', k.len);
    bool whole = x.len == w->n + 2 && k.len == w->n + 2;
    if (w->groups == 1 && c && i && whole)
        rlx_lowering_trust(&w->b, 0, (size_t)(c - x.data), 1, (size_t)(i - k.data));
}

/* Sizes of a transposed convolution's result are some times those of data and a number: written so, phases have sizes of data. */
static void express_lengths(window *w, const rlx_attr *strides, const rlx_attr *data, const rlx_attr *result)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(w->b.l->result);
    const rlx_shape_expr *s = t ? rlx_as_shape_expr(t->shape) : NULL;
    rlx_slice x = rlx_attr_text(data), out = rlx_attr_text(result);
    for (size_t i = 0; s && i < w->n && x.len == w->n + 2 && out.len == w->n + 2 && s->num_values == out.len; i++) {
        char axis = rlx_data_axes[w->n][2 + i];
        const char *from = memchr(x.data, axis, x.len), *to = memchr(out.data, axis, out.len);
        if (from && to)
            rlx_lowering_express_line(&w->b, s->values[to - out.data], w->x.t.shape.program[from - x.data], rlx_attr_item(strides, i));
    }
}

static bool begin_conv(window *w, rlx_lower_request *l)
{
    w->n = l->row->member.number;
    w->transposed = l->row->infer == rlx_infer_conv_transpose;
    size_t at = w->transposed ? 3 : 2;
    rlx_lowering_begin(&w->b, l);
    w->groups = rlx_attr_as_int(rlx_lowering_attr(l, at + 1), 1);
    trust_channels(w, rlx_lowering_attr(l, at + 2), rlx_lowering_attr(l, at + 3));
    if (!rlx_lowering_input(&w->b, 0, &w->x.t) || !rlx_lowering_input(&w->b, 1, &w->w.t))
        return false;
    if (w->transposed)
        express_lengths(w, rlx_lowering_attr(l, 0), rlx_lowering_attr(l, at + 2), rlx_lowering_attr(l, at + 4));
    if (!rlx_lowering_output(&w->b, NULL, &w->out.t) ||
        !rlx_lowering_read_side(&w->b, &w->x, rlx_lowering_attr(l, at + 2), rlx_data_axes[w->n]) ||
        !rlx_lowering_read_side(&w->b, &w->w, rlx_lowering_attr(l, at + 3), rlx_kernel_axes[w->n]) ||
        !rlx_lowering_read_side(&w->b, &w->out, rlx_lowering_attr(l, at + 4), rlx_data_axes[w->n]))
        return false;
    memcpy(w->extent, w->w.size + 2, w->n * sizeof *w->extent);
    w->direct = !w->transposed;
    read_lists(w, rlx_lowering_attr(l, 0), rlx_lowering_attr(l, 1), rlx_lowering_attr(l, at));
    w->wide = rlx_lowering_accumulator(w->out.t.dtype);
    w->fill = rlx_tir_number(&w->b.t, w->x.t.dtype, 0);
    return true;
}

/*- ---- transposed convolutions by phases -------------------------------------------------------
 *
 * Place o of the result meets, of the kernel, the elements k with k % s == r, where s is the stride and o + before = q * s + r: they
 * are a convolution of stride 1 over q, one for each phase r.
 *
 *     sum[r, o, q] = sum over c, j of spread[c, q + reach - j] * weight[c, o, j * s + r]
 *     out[o, q * s + r - before] = sum[r, o, q - before / s]
 *
 * So what lies between elements of data is no operand. Phases are loops around one sum where the kernel is a multiple of the stride;
 * else they have more or fewer steps, and are sums of their own.
 */
enum { MOST_PHASES = 16, FEW_OUTPUTS = 32 };

/* What the result is like, while the sums are done. */
typedef struct phased {
    const rlx_prim *size[MAX_SPATIAL];
    int64_t before[MAX_SPATIAL], first[MAX_SPATIAL], extent[MAX_SPATIAL];
    bool apart;                  /* sums of their own */
    bool joined[MAX_SPATIAL];    /* all phases of this axis go to their places at once */
} phased;

static bool has_phases(const window *w)
{
    int64_t all = 1, extent;
    for (size_t i = 0; i < w->n; i++) {
        if (w->dilation[i] != 1 || w->before[i] < 0 || !rlx_int_literal(w->extent[i], &extent) || w->stride[i] < 1 ||
            extent < w->stride[i] || !rlx_mul_i64(all, w->stride[i], &all))
            return false;
    }
    return w->transposed && all > 1 && all <= MOST_PHASES;
}

/* An expression of sizes, none of which is negative, made plain. */
static const rlx_prim *settled(window *w, const rlx_prim *p)
{
    rlx_context *ctx = w->b.l->ctx;
    rlx_prim_vars vars = { 0 };
    rlx_scope scope;
    rlx_scope_init(&scope, ctx, NULL);
    bool good = rlx_collect_prim_vars(&ctx->memory, p, false, &vars);
    for (size_t i = 0; good && i < vars.len; i++)
        good = rlx_scope_add(&scope, vars.data[i], true);
    const rlx_prim *plain = good ? rlx_simplify(ctx, &scope, p) : NULL;
    rlx_vec_free(&ctx->memory, &vars);
    rlx_scope_free(&scope);
    return plain ? plain : p;
}

/* May phases be a loop of the result's places: does each have as many, and is where they are found a multiple of which they are? One is no loop. */
static bool are_joined(window *w, size_t i)
{
    int64_t s = w->stride[i];
    if (s == 1)
        return false;
    const rlx_prim *rest = settled(w, rlx_tir_floor_mod(&w->b.t, w->out.size[2 + i], number(w, s)));
    return rlx_is_int_value(rest, 0) && (s <= 2 || w->before[i] % s == 0);
}

/* Two phases with as many places each: phase l of the result meets every second element of the kernel from 1 - l on, and data from
 * l on. Few sums that are one with loops share what they read, over a place more. */
static bool are_by_place(const window *w, const phased *p, size_t i)
{
    int64_t outputs;
    const bool few = !p->apart && rlx_int_literal(w->outputs, &outputs) && outputs < FEW_OUTPUTS;
    return p->joined[i] && w->before[i] % w->stride[i] == 1 && !few;
}

/* From now on it is a convolution of stride 1, over the places of one phase. */
static void begin_phases(window *w, phased *p)
{
    bool whole = true;
    p->apart = false;
    for (size_t i = 0; i < w->n; i++) {
        (void)rlx_int_literal(w->extent[i], &p->extent[i]);
        p->apart |= p->extent[i] % w->stride[i] != 0;
    }
    for (size_t i = 0; i < w->n; i++) {
        int64_t s = w->stride[i], have, want;
        const int64_t steps = (p->extent[i] + s - 1) / s;
        p->joined[i] = are_joined(w, i);
        w->by_place[i] = are_by_place(w, p, i);
        p->size[i] = w->out.size[2 + i];
        p->before[i] = w->before[i];
        p->first[i] = w->before[i] / s;
        const rlx_prim *last = plus(w, p->size[i], number(w, p->before[i] - 1));
        last = rlx_tir_floor_div(&w->b.t, last, number(w, s));
        w->out.size[2 + i] = settled(w, rlx_tir_max(&w->b.t, minus(w, last, number(w, p->first[i] - 1)), number(w, 0)));
        w->phases[i] = s;
        w->stride[i] = 1;
        w->extent[i] = number(w, steps);
        w->reach[i] = number(w, steps - 1);
        w->before[i] = p->first[i];
        whole &= steps == 1 && p->first[i] == 0 &&
                 (w->out.size[2 + i] == w->x.size[2 + i] ||
                  (rlx_int_literal(w->x.size[2 + i], &have) && rlx_int_literal(w->out.size[2 + i], &want) && want <= have));
    }
    w->direct = whole; /* an element of data each */
}

/* Number n of all combinations of phases, of those axes that `loops` (NULL: no axis) does not have. */
static void phases_at(const window *w, int64_t n, const bool *loops, int64_t *r)
{
    for (size_t i = w->n; i-- > 0;) {
        const int64_t count = loops && loops[i] ? 1 : w->phases[i];
        r[i] = n % count;
        n /= count;
    }
}

static int64_t count_phases(const window *w, const bool *loops)
{
    int64_t all = 1;
    for (size_t i = 0; i < w->n; i++)
        all *= loops && loops[i] ? 1 : w->phases[i];
    return all;
}

/* Places of the result along one axis, of phase r or of all: how many steps of s, and how many in front of them are not there. */
static const rlx_prim *count_places(window *w, const phased *p, size_t i, int64_t r, int64_t *skip)
{
    rlx_tir *t = &w->b.t;
    const int64_t s = w->phases[i], at = p->first[i] * s + r - p->before[i];
    *skip = !p->joined[i] && at < 0;
    if (p->joined[i])
        return settled(w, rlx_tir_floor_div(t, p->size[i], number(w, s)));
    const rlx_prim *left = minus(w, p->size[i], number(w, at + *skip * s)); /* from the first place on */
    left = rlx_tir_floor_div(t, plus(w, left, number(w, s - 1)), number(w, s));
    return rlx_tir_max(t, left, number(w, 0));
}

/* Sums of phase r go to their places in the result, in the order in which these lie; r does not matter where all phases do. */
static void place_phase(window *w, const phased *p, const rlx_buffer *sum, const int64_t *r)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *size[MAX_AXES], *at[MAX_AXES], *o[MAX_AXES], *phase[MAX_SPATIAL];
    int64_t skip[MAX_SPATIAL], known;
    char label[RLX_LOW_NAME];
    part_sizes(w, size);
    for (size_t i = 0; i < w->n; i++) {
        size[2 + i] = count_places(w, p, i, r[i], &skip[i]);
        if (rlx_int_literal(size[2 + i], &known) && known == 0)
            return;
    }
    rlx_tir_begin_block(t, "result");
    for (size_t i = 0; i < 2 + w->n; i++) {
        rlx_lowering_name(label, 'i', i);
        at[i] = (i == 0 && w->batch) || (i == 1 && w->channel) ? NULL : rlx_tir_spatial(t, label, size[i]);
        rlx_lowering_name(label, 'r', i);
        if (i > 1)
            phase[i - 2] = p->joined[i - 2] ? rlx_tir_spatial(t, label, number(w, w->phases[i - 2])) : number(w, r[i - 2]);
    }
    rlx_lowering_list inside = of_part(w, at), from;
    whole_index(w, &inside, o);
    from = inside;
    for (size_t i = 0; i < w->n; i++) {
        /* place q * s + l is of phase (l + shift) % s; where l is a loop shift is 0, or 1 of 2 */
        const int64_t s = w->phases[i], shift = p->joined[i] && !w->by_place[i] ? p->before[i] % s : 0;
        const rlx_prim *q = plus(w, at[2 + i], number(w, skip[i])), *l = phase[i];
        o[2 + i] = plus(w, times(w, q, s), p->joined[i] ? l : number(w, r[i] - p->before[i] % s));
        phase[i] = shift ? minus(w, number(w, 1), l) : l;
        from.at[from.n - w->n + i] = shift ? plus(w, q, l) : q;
    }
    from = behind_phases(w, &from, phase);
    rlx_lowering_list to = rlx_lowering_placed(&w->b, &w->out, o);
    rlx_tir_store(t, w->out.t.buffer, rlx_lowering_items(&to), rlx_tir_load(t, sum, rlx_lowering_items(&from)));
    rlx_tir_end_block(t);
}

/* Sums of one phase, r, which are no loops. */
static void accumulate_phase(window *w, const phased *p, const char *name, const rlx_prim *channels, const rlx_buffer *sum, const int64_t *r)
{
    for (size_t i = 0; i < w->n; i++) {
        const int64_t first = w->by_place[i] ? 1 - r[i] : r[i]; /* of the kernel */
        w->phase[i] = number(w, r[i]);
        w->extent[i] = number(w, (p->extent[i] - first + w->phases[i] - 1) / w->phases[i]);
    }
    accumulate_into(w, name, channels, sum, true, rlx_tir_number(&w->b.t, w->wide, 0), convolve);
}

static void accumulate_phases(window *w, const phased *p, const char *name, const rlx_prim *channels)
{
    const rlx_prim *size[MAX_AXES], *counts[MAX_SPATIAL];
    int64_t r[MAX_SPATIAL];
    for (size_t i = 0; i < w->n; i++) {
        counts[i] = number(w, w->phases[i]);
        if (w->by_place[i])
            w->out.size[2 + i] = settled(w, rlx_tir_floor_div(&w->b.t, p->size[i], counts[i]));
    }
    part_sizes(w, size);
    rlx_lowering_list sizes = of_part(w, size);
    sizes = behind_phases(w, &sizes, counts);
    const rlx_buffer *sum = rlx_tir_alloc(&w->b.t, "sum", w->wide, rlx_lowering_items(&sizes));
    w->phases_are_loops = !p->apart;
    for (int64_t n = 0; p->apart && n < count_phases(w, NULL); n++) {
        phases_at(w, n, NULL, r);
        accumulate_phase(w, p, name, channels, sum, r);
    }
    if (!p->apart)
        accumulate_into(w, name, channels, sum, true, rlx_tir_number(&w->b.t, w->wide, 0), convolve);
    for (int64_t n = 0; n < count_phases(w, p->joined); n++) {
        phases_at(w, n, p->joined, r);
        place_phase(w, p, sum, r);
    }
}

/* Borders cost more than the data of a small group. Single channels are done some at a time (schedule/channels.c), so that borders are filled
 * once for all of them, and where they lie side by side; but for pictures so large that a border costs nothing. */
static bool group_is_small(const window *w)
{
    int64_t count, size;
    const size_t last = w->x.layout.n - 1;
    if (!rlx_int_literal(w->inputs, &count))
        return false;
    const bool single = count == 1 && !w->transposed && !w->x.layout.factor[last];
    if (single && axis_of(&w->x, last) == 1)
        return true;
    for (size_t i = 0; i < w->n; i++)
        if (!rlx_int_literal(w->x.size[2 + i], &size) || !rlx_mul_i64(count, size, &count))
            return false;
    return count <= (single ? SINGLE_CHANNEL : SMALL_GROUP);
}

/* Is data a single element along each axis, and does each place of the result meet it? Then that is a product of channels and the kernel,
 * whatever the stride. */
static bool is_single(const window *w)
{
    bool is = w->transposed;
    for (size_t i = 0; i < w->n && is; i++) {
        int64_t extent, places;
        is = rlx_is_int_value(w->x.size[2 + i], 1) && w->dilation[i] == 1 && w->before[i] >= 0 &&
             rlx_int_literal(w->extent[i], &extent) && rlx_int_literal(w->out.size[2 + i], &places) && places <= extent - w->before[i];
    }
    return is;
}

static const rlx_prim *meet_single(window *w, const rlx_prim *so_far, const rlx_prim *const *o, const rlx_prim *c, const rlx_prim *const *k)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *channel = w->group ? plus(w, rlx_tir_mul(t, w->group, w->inputs), c) : c,
                   *data[MAX_AXES] = { o[0], channel }, *kernel[MAX_AXES] = { w->output, channel };
    for (size_t i = 0; i < w->n; i++) {
        data[2 + i] = k[i]; /* a loop that runs once */
        kernel[2 + i] = plus(w, o[2 + i], number(w, w->before[i]));
    }
    rlx_lowering_list x = rlx_lowering_placed(&w->b, &w->x, data), at = rlx_lowering_placed(&w->b, &w->w, kernel);
    return rlx_tir_multiply_add(t, so_far, rlx_tir_cast(t, w->wide, rlx_tir_load(t, w->x.t.buffer, rlx_lowering_items(&x))),
                                rlx_tir_cast(t, w->wide, rlx_tir_load(t, w->w.t.buffer, rlx_lowering_items(&at))));
}

static void multiply_single(window *w, const char *name, const rlx_prim *channels)
{
    for (size_t i = 0; i < w->n; i++)
        w->extent[i] = number(w, 1);
    w->direct = true;
    w->together = w->groups > 1;
    accumulate(w, name, channels, rlx_tir_number(&w->b.t, w->wide, 0), meet_single, NULL);
}

const rlx_prim_func *rlx_lower_conv(rlx_lower_request *l)
{
    window w = { .n = 0 };
    if (!begin_conv(&w, l))
        return rlx_lowering_end(&w.b);
    rlx_tir *t = &w.b.t;
    const rlx_prim *channels = w.w.size[1],
                   *have = w.transposed ? channels : times(&w, channels, w.groups);
    if (w.transposed && w.groups > 1)
        channels = rlx_tir_floor_div(t, channels, number(&w, w.groups));
    if (w.x.size[1] != have)
        rlx_lowering_require(&w.b, rlx_tir_eq(t, w.x.size[1], have),
                             RLX_ASSERTION_SIZES, "channels of data and kernel differ");
    w.inputs = channels;
    w.outputs = w.w.size[0];
    if (w.groups > 1 && !w.transposed)
        w.outputs = rlx_tir_floor_div(t, w.outputs, number(&w, w.groups));
    if (is_single(&w)) {
        multiply_single(&w, l->name.data, channels);
        return rlx_lowering_end(&w.b);
    }
    phased p;
    bool phases = has_phases(&w);
    if (phases)
        begin_phases(&w, &p);
    w.together = w.groups > 1 && (w.direct || group_is_small(&w));
    if (!w.direct) {
        open_parts(&w);
        spread_part(&w);
    }
    if (phases)
        accumulate_phases(&w, &p, l->name.data, channels);
    else
        accumulate(&w, l->name.data, channels, rlx_tir_number(t, w.wide, 0), convolve, NULL);
    if (!w.direct)
        rlx_tir_end_block(t);
    return rlx_lowering_end(&w.b);
}

/* ---- windows that reach beyond data --------------------------------------------------------- */

/* Instead of padding: what of a window lies outside takes no part. */
enum { MAX_RANGES = 5, MAX_BOXES = 16 };
typedef struct ranges { range at[MAX_RANGES]; size_t count; } ranges;

/* What is known of an axis. */
typedef struct axis_numbers { int64_t size, places, extent, stride, step, before; } axis_numbers;

static bool read_axis(const window *w, size_t i, axis_numbers *a)
{
    *a = (axis_numbers){ .stride = w->stride[i], .step = w->dilation[i], .before = w->before[i] };
    const int64_t most = INT32_MAX;
    return rlx_int_literal(w->x.size[2 + i], &a->size) && rlx_int_literal(w->out.size[2 + i], &a->places) &&
           rlx_int_literal(w->extent[i], &a->extent) && a->size > 0 && a->size <= most && a->places > 0 &&
           a->places <= most && a->extent <= most && a->stride > 0 && a->stride <= most && a->step > 0 &&
           a->step <= most && a->before >= 0 && a->before <= most;
}

/* One more range, or more of the last one. False: there are too many. */
static bool add_range(ranges *out, range r, bool by_places)
{
    range *last = out->count ? &out->at[out->count - 1] : NULL;
    if (r.count <= 0 || r.steps <= 0)
        return true;
    if (by_places && last && last->at + last->count == r.at && last->first == r.first && last->steps == r.steps)
        last->count += r.count;
    else if (!by_places && last && last->first + last->steps == r.first && last->at == r.at &&
             last->count == r.count)
        last->steps += r.steps;
    else if (out->count == MAX_RANGES)
        return false;
    else
        out->at[out->count++] = r;
    return true;
}

/* The first n >= 0 and how many below `most` have begin + n * step in data; what is not positive is none. */
static int64_t inside(const axis_numbers *a, int64_t begin, int64_t step, int64_t most, int64_t *first)
{
    int64_t end = begin >= a->size ? 0 : (a->size - 1 - begin) / step + 1;
    *first = begin < 0 ? (step - 1 - begin) / step : 0;
    return (end < most ? end : most) - *first;
}

/* Windows in their order: neighbours that have the same inside are one range. */
static bool split_places(const axis_numbers *a, ranges *out)
{
    bool fits = true;
    for (int64_t y = 0; y < a->places && fits; y++) {
        range r = { .at = y, .count = 1 };
        r.steps = inside(a, y * a->stride - a->before, a->step, a->extent, &r.first);
        fits = add_range(out, r, true);
    }
    return fits;
}

/* Elements of windows in their order: neighbours that lie inside for the same windows are one range, so that ranges are
 * as wide as can be. Of a maximum alone: elements are met in another order. */
static bool split_steps(const axis_numbers *a, ranges *out)
{
    bool fits = true;
    for (int64_t k = 0; k < a->extent && fits; k++) {
        range r = { .first = k, .steps = 1 };
        r.count = inside(a, k * a->step - a->before, a->stride, a->places, &r.at);
        fits = add_range(out, r, false);
    }
    return fits;
}

/* are_lanes: channels will lie innermost. False: padding is better. */
static bool split_windows(const window *w, bool are_lanes, ranges *axes)
{
    size_t boxes = 1, innermost = are_lanes ? 1 : axis_of(&w->out, w->out.layout.n - 1);
    for (size_t i = 0; i < w->n; i++) {
        axis_numbers a;
        bool steps = w->is_max && innermost == 2 + i;
        axes[i].count = 0;
        if (!read_axis(w, i, &a) || !(steps ? split_steps : split_places)(&a, &axes[i]))
            return false;
        boxes *= axes[i].count;
    }
    return boxes <= MAX_BOXES;
}

static void fill_result(window *w, const rlx_buffer *result, bool own, const rlx_prim *first)
{
    const rlx_prim *o[MAX_AXES], *size[MAX_AXES];
    part_sizes(w, size);
    rlx_lowering_list sizes = of_part(w, size), index;
    rlx_lowering_open(&w->b, "first", &sizes, &index);
    whole_index(w, &index, o);
    rlx_lowering_list at = own ? index : rlx_lowering_placed(&w->b, &w->out, o);
    rlx_tir_store(&w->b.t, result, rlx_lowering_items(&at), first);
    rlx_tir_end_block(&w->b.t);
}

static void accumulate_boxes(window *w, const char *name, const ranges *axes, const rlx_prim *first,
                             step_fn step, end_fn end)
{
    rlx_tir *t = &w->b.t;
    bool own = end || w->wide != w->out.t.dtype;
    const rlx_prim *size[MAX_AXES];
    part_sizes(w, size);
    rlx_lowering_list sizes = of_part(w, size);
    const rlx_buffer *result =
        own ? rlx_tir_alloc(t, "sum", w->wide, rlx_lowering_items(&sizes)) : w->out.t.buffer;
    size_t boxes = 1;
    fill_result(w, result, own, first);
    for (size_t i = 0; i < w->n; i++)
        boxes *= axes[i].count;
    for (size_t n = 0; n < boxes; n++) {
        size_t rest = n;
        for (size_t i = 0; i < w->n; rest /= axes[i++].count)
            w->box[i] = &axes[i].at[rest % axes[i].count];
        accumulate_into(w, name, NULL, result, own, NULL, step);
    }
    memset(w->box, 0, sizeof w->box);
    if (own)
        finish(w, result, end);
}

/* ---- pooling: attributes pool_size, strides, dilation, padding, ceil_mode, count_include_pad,
 * layout, out_layout ------- */

static const rlx_prim *pooled(window *w, const rlx_prim *so_far, const rlx_prim *const *o,
                              const rlx_prim *c, const rlx_prim *const *k)
{
    const rlx_prim *x = element(w, o[0], o[1], w->group ? w->output : o[1], o + 2, k);
    if (w->is_max && rlx_dtype_is_bool(w->x.t.dtype))
        return rlx_tir_or(&w->b.t, so_far, x);
    if (w->ones) {
        const rlx_prim *at[MAX_AXES] = { w->output };
        memcpy(at + 1, k, w->n * sizeof *at);
        return rlx_tir_multiply_add(&w->b.t, so_far, x, rlx_tir_load(&w->b.t, w->ones, RLX_TIR_ITEMS(at, 1 + w->n)));
    }
    return w->is_max ? rlx_tir_max(&w->b.t, so_far, x) : plus(w, so_far, x);
}

/* Elements of the window at place y that lie in [low, high): those of data, or of data and
 * padding. */
static const rlx_prim *count_along(window *w, size_t i, const rlx_prim *y, bool padding)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *zero = number(w, 0), *step = number(w, w->dilation[i]),
                   *round = number(w, w->dilation[i] - 1);
    const rlx_prim *begin = minus(w, times(w, y, w->stride[i]), number(w, w->before[i]));
    const rlx_prim *low = padding ? number(w, -w->before[i]) : zero;
    const rlx_prim *high =
        padding ? plus(w, w->x.size[2 + i], number(w, w->after[i])) : w->x.size[2 + i];
    const rlx_prim *from =
        rlx_tir_max(t, rlx_tir_floor_div(t, plus(w, minus(w, low, begin), round), step), zero);
    const rlx_prim *to = rlx_tir_min(
        t, rlx_tir_floor_div(t, plus(w, minus(w, high, begin), round), step), w->extent[i]);
    return rlx_tir_max(t, minus(w, to, from), zero);
}

/* Places along an axis, in runs of such that have as many elements below them. False: it is not known, or there are too many runs. */
static bool count_runs(const window *w, size_t i, bool padding, ranges *out)
{
    axis_numbers a;
    out->count = 0;
    if (!read_axis(w, i, &a) || w->after[i] < 0 || w->after[i] > INT32_MAX)
        return false;
    const int64_t more = padding ? a.before : 0;
    a.size += padding ? a.before + w->after[i] : 0;
    bool fits = true;
    for (int64_t y = 0; y < a.places && fits; y++) {
        range r = { .at = y, .count = 1 }, *last = out->count ? &out->at[out->count - 1] : NULL;
        int64_t first;
        r.steps = inside(&a, y * a.stride - a.before + more, a.step, a.extent, &first);
        r.steps = r.steps < 0 ? 0 : r.steps;
        fits = (last && last->steps == r.steps) || out->count < MAX_RANGES;
        if (last && last->steps == r.steps)
            last->count++;
        else if (fits)
            out->at[out->count++] = r;
    }
    return fits;
}

/* Numbers of elements as boxes of numbers. False: they are not known. */
static bool count_boxes(window *w, bool padding)
{
    rlx_tir *t = &w->b.t;
    ranges axes[MAX_SPATIAL];
    size_t boxes = 1;
    for (size_t i = 0; i < w->n; i++) {
        if (!count_runs(w, i, padding, &axes[i]))
            return false;
        boxes *= axes[i].count;
    }
    if (boxes > MAX_BOXES)
        return false;
    for (size_t n = 0; n < boxes; n++) {
        rlx_lowering_list sizes = { .n = w->n }, y;
        size_t rest = n;
        int64_t count = 1;
        for (size_t i = 0; i < w->n; rest /= axes[i++].count) {
            w->box[i] = &axes[i].at[rest % axes[i].count];
            count *= w->box[i]->steps;
            sizes.at[i] = number(w, w->box[i]->count);
        }
        if (w->counted)
            sizes.at[sizes.n++] = w->counted;
        rlx_lowering_open(&w->b, "count", &sizes, &y);
        for (size_t i = 0; i < w->n; i++)
            y.at[i] = plus(w, y.at[i], number(w, w->box[i]->at));
        rlx_tir_store(t, w->counts, rlx_lowering_items(&y), rlx_tir_cast(t, w->wide, number(w, count)));
        rlx_tir_end_block(t);
    }
    memset(w->box, 0, sizeof w->box);
    return true;
}

/* How many elements there are below each place: the same for all channels. */
static void count_block(window *w)
{
    rlx_tir *t = &w->b.t;
    bool padding = rlx_attr_as_bool(rlx_lowering_attr(w->b.l, 5), false);
    rlx_lowering_list sizes = { .n = w->n }, y;
    const rlx_prim *count = number(w, 1);
    memcpy(sizes.at, w->out.size + 2, w->n * sizeof *sizes.at);
    if (w->counted)
        sizes.at[sizes.n++] = w->counted;
    w->counts = rlx_tir_alloc(t, "count", w->wide, rlx_lowering_items(&sizes));
    if (count_boxes(w, padding))
        return;
    rlx_lowering_open(&w->b, "count", &sizes, &y);
    for (size_t i = 0; i < w->n; i++)
        count = rlx_tir_mul(t, count, count_along(w, i, y.at[i], padding));
    rlx_tir_store(t, w->counts, rlx_lowering_items(&y), rlx_tir_cast(t, w->wide, count));
    rlx_tir_end_block(t);
}

/* Elements of the window at place o of the result. */
static const rlx_prim *window_count(window *w, const rlx_prim *const *o)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *count = number(w, 1);
    for (size_t i = 0; i < w->n; i++)
        count = rlx_tir_mul(t, count, w->extent[i]);
    return w->counts ? rlx_tir_load(t, w->counts, RLX_TIR_ITEMS(o + 2, w->n + (w->counted != NULL)))
                     : rlx_tir_cast(t, w->wide, count);
}

/* A sum of a window is one of products with 1, whose bits are the same, and which are faster where they are not rounded: for each channel of a
 * part as many ones as a window has elements. */
static void ones_block(window *w)
{
    rlx_lowering_list sizes = { .n = 1 + w->n, .at = { w->outputs } }, y;
    memcpy(sizes.at + 1, w->extent, w->n * sizeof *sizes.at);
    w->ones = rlx_tir_alloc(&w->b.t, "ones", w->wide, rlx_lowering_items(&sizes));
    rlx_lowering_open(&w->b, "ones", &sizes, &y);
    rlx_tir_store(&w->b.t, w->ones, rlx_lowering_items(&y), rlx_tir_number(&w->b.t, w->wide, 1));
    rlx_tir_end_block(&w->b.t);
}

static const rlx_prim *averaged(window *w, const rlx_prim *v, const rlx_prim *const *o)
{
    return rlx_tir_cast(&w->b.t, w->out.t.dtype, rlx_tir_div(&w->b.t, v, window_count(w, o)));
}

static rlx_dtype sum_dtype(rlx_dtype t)
{
    return rlx_lowering_is_float(t)                ? rlx_lowering_accumulator(t)
           : rlx_dtype_code(t) == RELAX_DTYPE_UINT ? RELAX_UINT64
                                                   : RELAX_INT64;
}

/* Attributes, once both sides are there. `reduced`: the operand whose elements are pooled. */
static bool read_pool(window *w, rlx_lower_request *l, rlx_dtype reduced)
{
    const rlx_attr *size = rlx_lowering_attr(l, 0);
    if (!rlx_lowering_read_side(&w->b, &w->x, rlx_lowering_attr(l, 6), rlx_data_axes[w->n]) ||
        !rlx_lowering_read_side(&w->b, &w->out, rlx_lowering_attr(l, 7), rlx_data_axes[w->n]))
        return false;
    w->is_max = strstr(l->row->short_name, "max") != NULL;
    if (rlx_dtype_is_bool(reduced) && (!w->is_max || l->row->lower != rlx_lower_pool))
        return rlx_lowering_refuse_dtype(&w->b);
    for (size_t i = 0; i < w->n; i++) {
        if (rlx_family_of(rlx_as_attr_list(size)->items[i]) == RLX_FAMILY_PRIM)
            return rlx_lowering_give_up(&w->b, "pool_size is not known: bind its variables first");
        w->extent[i] = number(w, rlx_attr_item(size, i));
    }
    read_lists(w, rlx_lowering_attr(l, 1), rlx_lowering_attr(l, 3), rlx_lowering_attr(l, 2));
    w->direct &= !rlx_attr_as_bool(rlx_lowering_attr(l, 4), false);
    return true;
}

/* What is not greater than any element. */
static const rlx_prim *least(rlx_tir *t, rlx_dtype dtype)
{
    return rlx_lowering_is_float(dtype) ? rlx_tir_infinity(t, dtype, true)
           : rlx_dtype_is_bool(dtype) ? rlx_tir_number(t, dtype, 0)
                                      : rlx_tir_lowest(t, dtype);
}

/*- ---- maxima axis by axis: a maximum of maxima is the maximum, in whatever order (numbers.md)
 *
 *     for n, some c:
 *         spread                 pictures with padding around them
 *         line[c, z, x] = max over k1 of spread[c, z, x * stride + k1 * dilation]
 *         out[n, c, y, x] = max over k0 of line[c, y * stride + k0 * dilation, x]
 *
 * where that is fewer steps than all elements of all windows; or, with the axes the other way round, where places along the last axis are so
 * far apart that vectors of them are not to be had: most of the steps are then along lines; or where vectors along lines would mostly be parts.
 */

/* Are places along the last axis so far apart that they are not loaded as a vector? */
static bool are_apart(const window *w) { return w->stride[w->n - 1] > 2 && !rlx_is_int_value(w->out.size[1 + w->n], 1); }

/* Are lines short, and end in parts of vectors? Down the picture those with their padding are one run, and fewer are left for the steps along them. */
static bool end_in_parts(const window *w)
{
    enum { LEAST_PLACES = 5, MOST_PLACES = 28, PART = 8 };
    int64_t places;
    return w->stride[w->n - 1] == 1 && rlx_int_literal(w->out.size[1 + w->n], &places) && places >= LEAST_PLACES && places <= MOST_PLACES &&
           places % PART != 0;
}

static bool is_by_axes(const window *w)
{
    double all = 1, apart = 0, longer = 1;
    int64_t extent;
    if (!w->is_max || w->n < 2 || w->x.layout.n != 2 + w->n || w->out.layout.n != 2 + w->n ||
        axis_of(&w->x, 1 + w->n) != 1 + w->n || axis_of(&w->out, 1 + w->n) != 1 + w->n)
        return false;
    for (size_t i = 0; i < w->n; i++) {
        if (!rlx_int_literal(w->extent[i], &extent))
            return false;
        all *= (double)extent;
        apart += (double)(extent + 2) * longer; /* a pass costs about as much as two steps, too */
        longer *= (double)w->stride[i];
    }
    return apart < all || (are_apart(w) && all > (double)extent);
}

/* Of the picture, or of what the axes before have made of it: `at`, in the part. */
static const rlx_prim *picture_element(window *w, const rlx_buffer *from, const rlx_lowering_list *at)
{
    const size_t channels = at->n - w->n;
    const bool own = from == w->x.t.buffer;
    const rlx_prim *in_part = channels ? at->at[0] : NULL, *p[MAX_AXES] = { w->batch, own ? whole_channel(w, in_part) : in_part };
    memcpy(p + 2, at->at + channels, w->n * sizeof *p);
    rlx_lowering_list placed = own ? rlx_lowering_placed(&w->b, &w->x, p) : from == w->spread ? in_order(w, p) : *at;
    return rlx_tir_load(&w->b.t, from, rlx_lowering_items(&placed));
}

/* The greatest elements along one axis. sizes: of the places, behind the channels of the part where it has several. */
static void add_maxima(window *w, size_t axis, const rlx_lowering_list *sizes, const rlx_buffer *from, const rlx_buffer *to)
{
    rlx_tir *t = &w->b.t;
    const bool line = to != w->out.t.buffer;
    const size_t channels = sizes->n - w->n;
    rlx_lowering_list extents = *sizes, index;
    bool reduced[RLX_LOW_RANK] = { false };
    reduced[extents.n] = true;
    extents.at[extents.n++] = w->extent[axis];
    rlx_lowering_open_reduce(&w->b, line ? "line" : w->b.l->name.data, &extents, reduced, &index);
    const rlx_prim *o[MAX_AXES] = { w->batch, whole_channel(w, channels ? index.at[0] : NULL) }, *k = index.at[--index.n];
    memcpy(o + 2, index.at + channels, w->n * sizeof *o);
    rlx_lowering_list at = line ? index : rlx_lowering_placed(&w->b, &w->out, o);
    const rlx_prim **moves = &index.at[channels + axis];
    *moves = plus(w, times(w, *moves, w->stride[axis]), times(w, k, w->dilation[axis]));
    const rlx_prim *x = picture_element(w, from, &index);
    rlx_tir_init(t, to, rlx_lowering_items(&at), w->fill);
    const rlx_prim *old = rlx_tir_load(t, to, rlx_lowering_items(&at));
    rlx_tir_store(t, to, rlx_lowering_items(&at), rlx_dtype_is_bool(w->wide) ? rlx_tir_or(t, old, x) : rlx_tir_max(t, old, x));
    rlx_tir_end_block(t);
}

/* Parts of a group: borders are filled once for some of them, but groups are enough for threads. */
static void share_borders(window *w)
{
    enum { MOST_PARTS = 8, LEAST_GROUPS = 4 };
    int64_t batch, least = LEAST_GROUPS;
    if (rlx_int_literal(w->out.size[0], &batch) && batch > 0)
        least = batch < LEAST_GROUPS ? (LEAST_GROUPS + batch - 1) / batch : 1;
    w->parts = MOST_PARTS;
    while (w->parts > 1 && (w->groups % w->parts || w->groups / w->parts < least))
        w->parts--;
    w->groups /= w->parts;
}

/* Channels of a part: so many that their pictures, which lie apart, are near while they are pooled with padding. False: it is not known, or
 * (!large) steps are long, and a picture, of which little comes out, is so large that to copy it is no gain. */
static bool choose_channels(window *w, bool large)
{
    int64_t size, picture = 1, channels;
    bool known = w->x.layout.n == 2 + w->n && w->out.layout.n == 2 + w->n && axis_of(&w->x, 1) == 1 && axis_of(&w->out, 1) == 1 &&
                 rlx_int_literal(w->x.size[1], &channels) && channels > 0;
    for (size_t i = 0; i < w->n && known; i++)
        known = rlx_int_literal(w->x.size[2 + i], &size) && size > 0 && (picture = size < NEAR_PICTURES / picture ? size * picture : NEAR_PICTURES);
    if (!known)
        return false;
    int64_t together = NEAR_PICTURES / picture < channels ? NEAR_PICTURES / picture : channels;
    if (!large && picture >= STRIDED_PICTURE && w->stride[w->n - 1] > 1)
        return false;
    while (channels % together)
        together--;
    w->inputs = w->outputs = number(w, together);
    w->groups = channels / together;
    share_borders(w);
    return true;
}

static void pool_by_axes(window *w)
{
    rlx_tir *t = &w->b.t;
    rlx_lowering_list sizes = { .n = 0 };
    const bool near = choose_channels(w, true), down = end_in_parts(w) || are_apart(w);
    open_parts(w);
    if (near)
        sizes.at[sizes.n++] = w->inputs;
    else {
        w->channel = rlx_tir_spatial(t, "i1", w->out.size[1]);
        w->inputs = w->x.size[1];
    }
    const rlx_prim **places = sizes.at + sizes.n;
    memcpy(places, w->x.size + 2, w->n * sizeof *places);
    sizes.n += w->n;
    if (w->direct)
        open_part(w);
    else {
        spread_part(w);
        for (size_t i = 0; i < w->n && w->spread; i++)
            places[i] = w->spread->shape[sizes.n - w->n + i];
    }
    const rlx_buffer *from = w->direct ? w->x.t.buffer : w->spread;
    for (size_t i = 0; i < w->n; i++) {
        const size_t axis = down ? i : w->n - 1 - i;
        places[axis] = w->out.size[2 + axis];
        const rlx_buffer *to = i + 1 < w->n ? rlx_tir_alloc(t, "line", w->wide, rlx_lowering_items(&sizes)) : w->out.t.buffer;
        add_maxima(w, axis, &sizes, from, to);
        from = to;
    }
    end_part(w);
    rlx_tir_end_block(t);
}

/*- ---- channels as lanes ------------------------------------------------------------------------
 *
 *     for n, some c:
 *         turned[y, x, c] = data[n, c, y, x]
 *         sum[y, x, c] = maximum or sum over those k that are inside, of turned[y * stride + k0 - before, .., c]
 *         sum[y, x, c] = sum[y, x, c] / count[y, x, c]
 *         out[n, c, y, x] = sum[y, x, c]
 *
 * where vectors along lines are mostly empty, or are made of elements that are apart, or borders would have to be written around all pictures.
 */
enum { LANES = 16, MOST_TURNED = 5120 }; /* elements of a picture: LANES larger ones are not near; half of it for maxima of every second one, which are fast where they are */

/* Do windows move along lines by steps, and is so much in them, and of vectors along a line of the result so little, that to turn pictures is a gain? */
static bool are_lanes_better(const window *w)
{
    enum { MANY = 9 };
    int64_t taps = 1, extent, places;
    for (size_t i = 0; i < w->n; i++)
        if (!rlx_int_literal(w->extent[i], &extent) || extent < 1 || (taps *= extent) > MOST_TURNED)
            return false;
    if (w->stride[w->n - 1] < 2 || !rlx_int_literal(w->out.size[1 + w->n], &places))
        return false;
    const int64_t covered = (places + LANES - 1) / LANES * LANES;
    return w->stride[w->n - 1] > 2 || (taps >= MANY ? !w->direct || 2 * covered >= 3 * places : !w->is_max && covered >= 2 * places);
}

/* Channels of a part: whole vectors, mostly, so many that their pictures are near, and two parts at least. 0: they had better not be lanes. */
static int64_t choose_lanes(const window *w)
{
    const int64_t most = w->is_max && w->stride[w->n - 1] == 2 ? MOST_TURNED / 2 : MOST_TURNED;
    int64_t size, picture = 1, channels, batch, best = 0;
    bool known = w->n > 1 && w->x.t.dtype == RELAX_FLOAT32 && w->x.layout.n == 2 + w->n && w->out.layout.n == 2 + w->n &&
                 axis_of(&w->x, 1) == 1 && axis_of(&w->out, 1) == 1 && rlx_int_literal(w->x.size[0], &batch) &&
                 rlx_int_literal(w->x.size[1], &channels);
    for (size_t i = 0; i < w->n && known; i++)
        known = rlx_int_literal(w->x.size[2 + i], &size) && size > 0 && size <= most && (picture *= size) <= most;
    if (!known || !are_lanes_better(w))
        return 0;
    for (int64_t c = LANES / 2; c <= channels; c++) {
        const bool full = 4 * c >= 3 * ((c + LANES - 1) / LANES * LANES), near = c <= 2 * LANES || c * picture <= NEAR_PICTURES;
        if (channels % c == 0 && full && near && (c < channels || batch > 1))
            best = c;
    }
    return best;
}

static void turn_part(window *w)
{
    const rlx_prim *size[MAX_AXES] = { NULL, w->inputs }, *at[MAX_AXES] = { NULL };
    for (size_t i = 0; i < w->n; i++)
        w->order[w->num_order++] = 2 + i, size[2 + i] = w->x.size[2 + i];
    w->order[w->num_order++] = 1;
    rlx_lowering_list sizes = in_order(w, size);
    w->spread = rlx_tir_alloc(&w->b.t, "turned", w->x.t.dtype, rlx_lowering_items(&sizes));
    open_box(w, "turn", size, at);
    rlx_lowering_list to = in_order(w, at);
    rlx_tir_store(&w->b.t, w->spread, rlx_lowering_items(&to), data_at(w, at));
    rlx_tir_end_block(&w->b.t);
}

/* The result of a part, whose channels come last, in place of that of the call. */
static void turn_result(window *w)
{
    const rlx_prim *size[MAX_AXES];
    part_sizes(w, size);
    rlx_lowering_list sizes = in_order(w, size);
    w->out.size[1] = w->outputs;
    w->out.layout = (rlx_layout){ .n = 0 };
    for (size_t i = 0; i < w->num_order; i++)
        w->out.layout.letter[w->out.layout.n++] = w->out.axes[w->order[i]];
    w->out.t.dtype = w->wide;
    w->out.t.buffer = rlx_tir_alloc(&w->b.t, "sum", w->wide, rlx_lowering_items(&sizes));
    w->group = NULL;
}

static void average_turned(window *w)
{
    rlx_lowering_list sizes = in_order(w, w->out.size), index;
    const rlx_prim *o[MAX_AXES + 1]; /* the lane comes last */
    rlx_lowering_open(&w->b, "average", &sizes, &index);
    memcpy(o + 2, index.at, (w->n + 1) * sizeof *o);
    rlx_tir_store(&w->b.t, w->out.t.buffer, rlx_lowering_items(&index),
                  averaged(w, rlx_tir_load(&w->b.t, w->out.t.buffer, rlx_lowering_items(&index)), o));
    rlx_tir_end_block(&w->b.t);
}

static void turn_back(window *w, const rlx_buffer *sum)
{
    const rlx_prim *o[MAX_AXES], *size[MAX_AXES], *in_part[MAX_AXES];
    part_sizes(w, size);
    rlx_lowering_list sizes = of_part(w, size), index;
    rlx_lowering_open(&w->b, "result", &sizes, &index);
    whole_index(w, &index, o);
    memcpy(in_part + 1, index.at, (w->n + 1) * sizeof *o);
    rlx_lowering_list to = rlx_lowering_placed(&w->b, &w->out, o), from = in_order(w, in_part);
    rlx_tir_store(&w->b.t, w->out.t.buffer, rlx_lowering_items(&to), rlx_tir_load(&w->b.t, sum, rlx_lowering_items(&from)));
    rlx_tir_end_block(&w->b.t);
}

static void pool_lanes(window *w, int64_t together, const ranges *axes, const rlx_prim *first)
{
    int64_t channels = together;
    (void)rlx_int_literal(w->x.size[1], &channels);
    w->inputs = w->outputs = number(w, together);
    w->groups = channels / together;
    if (!w->direct && !w->is_max) {
        w->counted = w->outputs;
        count_block(w);
    }
    w->direct = false;
    open_parts(w);
    turn_part(w);
    const rlx_lowering_side whole = w->out;
    const rlx_prim *group = w->group;
    turn_result(w);
    const rlx_buffer *sum = w->out.t.buffer;
    accumulate_boxes(w, w->b.l->name.data, axes, first, pooled, NULL);
    if (!w->is_max)
        average_turned(w);
    w->out = whole, w->group = group;
    turn_back(w, sum);
    rlx_tir_end_block(&w->b.t);
}

/* Boxes of windows, for so many channels at a time that what each of them reads and writes stays near. False: it is not known, or all of it does. */
static bool choose_near_boxes(window *w)
{
    int64_t size, picture = 1, channels, batch;
    bool known = w->x.layout.n == 2 + w->n && w->out.layout.n == 2 + w->n && axis_of(&w->x, 1) == 1 && axis_of(&w->out, 1) == 1 &&
                 rlx_int_literal(w->x.size[0], &batch) && rlx_int_literal(w->x.size[1], &channels) && batch > 0 && channels > 0;
    for (size_t i = 0; i < w->n && known; i++)
        known = rlx_int_literal(w->x.size[2 + i], &size) && size > 0 && size <= NEAR_BOXES / picture && (picture *= size) > 0;
    if (!known || NEAR_ALL / picture / channels >= batch)
        return false;
    int64_t together = NEAR_BOXES / picture < channels ? NEAR_BOXES / picture : channels;
    while (channels % together)
        together--;
    w->inputs = w->outputs = number(w, together);
    w->groups = channels / together;
    return w->groups > 1;
}

static void pool_boxes(window *w, const ranges *axes, const rlx_prim *first)
{
    w->direct = true;
    const bool near = choose_near_boxes(w);
    if (near)
        open_parts(w);
    accumulate_boxes(w, w->b.l->name.data, axes, first, pooled, w->is_max ? NULL : averaged);
    if (near)
        rlx_tir_end_block(&w->b.t);
}

const rlx_prim_func *rlx_lower_pool(rlx_lower_request *l)
{
    window w = { .n = l->row->member.number, .direct = true, .groups = 1 };
    rlx_lowering_begin(&w.b, l);
    rlx_tir *t = &w.b.t;
    if (!rlx_lowering_input(&w.b, 0, &w.x.t) || !rlx_lowering_output(&w.b, NULL, &w.out.t) ||
        !read_pool(&w, l, w.x.t.dtype))
        return rlx_lowering_end(&w.b);
    rlx_dtype dtype = w.x.t.dtype;
    w.wide = w.is_max ? dtype : sum_dtype(dtype);
    w.fill = w.is_max ? least(t, dtype) : rlx_tir_number(t, dtype, 0);
    const rlx_prim *first = w.is_max ? w.fill : rlx_tir_number(t, w.wide, 0);
    ranges axes[MAX_SPATIAL];
    const int64_t lanes = choose_lanes(&w);
    if (lanes && split_windows(&w, true, axes)) {
        pool_lanes(&w, lanes, axes, first);
        return rlx_lowering_end(&w.b);
    }
    if (!w.direct && !w.is_max)
        count_block(&w);
    if (is_by_axes(&w)) {
        pool_by_axes(&w);
        return rlx_lowering_end(&w.b);
    }
    const bool near = !w.direct && choose_channels(&w, false);
    if (!w.direct && !near && split_windows(&w, false, axes)) {
        pool_boxes(&w, axes, first);
        return rlx_lowering_end(&w.b);
    }
    if (near && !w.is_max && dtype == RELAX_FLOAT32 && w.stride[w.n - 1] == 1 && !t->separate)
        ones_block(&w);
    if (!w.direct) {
        open_parts(&w);
        if (!near && axis_of(&w.out, w.out.layout.n - 1) > 1)
            w.channel = rlx_tir_spatial(t, "i1", w.out.size[1]);
        if (!near)
            w.inputs = w.x.size[1];
        spread_part(&w);
    }
    accumulate(&w, l->name.data, NULL, first, pooled, w.is_max ? NULL : averaged);
    if (!w.direct) {
        end_part(&w);
        rlx_tir_end_block(t);
    }
    return rlx_lowering_end(&w.b);
}

/* ---- gradients of pooling: (output_grad, data), attributes as above -------------------------
 * Each element of data adds up what the windows it is in give it: of a mean their gradients
 * divided by the counts, of a maximum those of windows whose first greatest element it is.
 */

/* The window whose element k is place p of data along spatial axis i; *met: is there one? */
static const rlx_prim *window_of(window *w, size_t i, const rlx_prim *p, const rlx_prim *k,
                                 const rlx_prim **met)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *zero = number(w, 0), *stride = number(w, w->stride[i]);
    const rlx_prim *from =
        minus(w, plus(w, p, number(w, w->before[i])), times(w, k, w->dilation[i]));
    const rlx_prim *y = rlx_tir_floor_div(t, from, stride);
    *met = rlx_tir_and(t, rlx_tir_ge(t, from, zero), rlx_tir_lt(t, y, w->out.size[2 + i]));
    if (w->stride[i] > 1)
        *met = rlx_tir_and(t, *met, rlx_tir_eq(t, rlx_tir_floor_mod(t, from, stride), zero));
    return y;
}

/* Opens a block over a side with the window reduced: index in memory, in canonical order, and of
 * the window. */
static void open_side(window *w, const char *name, const rlx_lowering_side *s,
                      rlx_lowering_list *at, const rlx_prim **index, const rlx_prim **k)
{
    rlx_lowering_list sizes = s->t.shape.sizes;
    bool reduced[RLX_LOW_RANK] = { false };
    for (size_t i = 0; i < w->n; i++) {
        reduced[sizes.n] = true;
        sizes.at[sizes.n++] = w->extent[i];
    }
    rlx_lowering_open_reduce(&w->b, name, &sizes, reduced, at);
    at->n = s->t.shape.sizes.n;
    memcpy(k, at->at + at->n, w->n * sizeof *k);
    rlx_lowering_canonical(&w->b, s, at, index);
}

/* Number of an element of the window, row-major. */
static const rlx_prim *step_number(window *w, const rlx_prim *const *k)
{
    return rlx_tir_flatten(&w->b.t, RLX_TIR_ITEMS(k, w->n), RLX_TIR_ITEMS(w->extent, w->n));
}

/* For each window its first greatest element, or first NaN, and the number of that; -1: all is padding. */
static void first_greatest(window *w, const rlx_lowering_tensor *data, const rlx_buffer *best,
                           const rlx_buffer *which)
{
    const rlx_dtype number_dtype = which ? which->dtype : RELAX_INT64;
    rlx_tir *t = &w->b.t;
    const rlx_prim *y[MAX_AXES], *p[MAX_AXES], *k[MAX_SPATIAL], *ok = NULL, *none = rlx_tir_number(t, number_dtype, -1);
    rlx_lowering_list at;
    open_side(w, "greatest", &w->out, &at, y, k);
    memcpy(p, y, 2 * sizeof *p);
    for (size_t i = 0; i < w->n; i++) {
        p[2 + i] = minus(w, plus(w, times(w, y[2 + i], w->stride[i]), times(w, k[i], w->dilation[i])),
                         number(w, w->before[i]));
        const rlx_prim *inside = rlx_tir_and(t, rlx_tir_ge(t, p[2 + i], number(w, 0)),
                                             rlx_tir_lt(t, p[2 + i], w->x.size[2 + i]));
        ok = ok ? rlx_tir_and(t, ok, inside) : inside;
    }
    rlx_prim_list here = rlx_lowering_items(&at);
    rlx_lowering_list from = rlx_lowering_placed(&w->b, &w->x, p);
    rlx_tir_init(t, which, here, none);
    rlx_tir_init(t, best, here, least(t, data->dtype));
    ok = rlx_tir_let(t, "inside", ok);
    const rlx_prim *x = rlx_tir_let(
        t, "x", rlx_tir_if_then_else(t, ok, rlx_tir_load(t, data->buffer, rlx_lowering_items(&from)),
                                     least(t, data->dtype)));
    /* loaded whatever is asked of them, not where it is asked */
    const rlx_prim *old = rlx_tir_let(t, "old", rlx_tir_load(t, best, here)),
                   *number_of_old = rlx_tir_let(t, "number", rlx_tir_load(t, which, here));
    const rlx_prim *better = rlx_tir_or(t, rlx_tir_eq(t, number_of_old, none), rlx_tir_gt(t, x, old));
    if (rlx_lowering_is_float(data->dtype))
        better = rlx_tir_or(t, better, rlx_tir_and(t, rlx_tir_ne(t, x, x), rlx_tir_eq(t, old, old)));
    better = rlx_tir_let(t, "better", rlx_tir_and(t, ok, better));
    rlx_tir_store(t, which, here, rlx_tir_select(t, better, rlx_tir_cast(t, number_dtype, step_number(w, k)), number_of_old));
    rlx_tir_store(t, best, here, rlx_tir_select(t, better, x, old));
    rlx_tir_end_block(t);
}

/* The windows that there are must be those of output_grad. */
static void check_windows(window *w, rlx_lower_request *l)
{
    rlx_tir *t = &w->b.t;
    bool up = rlx_attr_as_bool(rlx_lowering_attr(l, 4), false);
    for (size_t i = 0; i < 2 + w->n; i++) {
        const rlx_prim *want = w->x.size[i];
        int64_t a, b;
        if (i >= 2) {
            int64_t stride = w->stride[i - 2], before = w->before[i - 2];
            const rlx_prim *step = number(w, stride), *one = number(w, 1);
            int64_t more = before + w->after[i - 2] - 1 + (up ? stride - 1 : 0);
            const rlx_prim *room = minus(w, plus(w, want, number(w, more)), w->reach[i - 2]);
            const rlx_prim *most = plus(w, want, number(w, before - 1));
            want = plus(w, rlx_tir_floor_div(t, room, step), one);
            if (up)
                want = rlx_tir_min(t, want, plus(w, rlx_tir_floor_div(t, most, step), one));
        }
        if (want != w->out.size[i] &&
            !(rlx_int_literal(want, &a) && rlx_int_literal(w->out.size[i], &b) && a == b))
            rlx_lowering_require(&w->b, rlx_tir_eq(t, w->out.size[i], want), RLX_ASSERTION_SIZES,
                                 "output_grad has other sizes than pooled data");
    }
}

/* What a window gives to its element number k. */
static const rlx_prim *given(window *w, const rlx_buffer *which, const rlx_prim *const *y,
                             const rlx_prim *const *k, const rlx_prim *met)
{
    rlx_tir *t = &w->b.t;
    rlx_lowering_list at = rlx_lowering_placed(&w->b, &w->out, y);
    const rlx_prim *g =
        rlx_tir_cast(t, w->wide, rlx_tir_load(t, w->out.t.buffer, rlx_lowering_items(&at)));
    const rlx_prim *zero = rlx_tir_number(t, w->wide, 0);
    if (!which)
        return rlx_tir_if_then_else(t, met, rlx_tir_div(t, g, window_count(w, y)), zero);
    const rlx_prim *is_it =
        rlx_tir_eq(t, rlx_tir_load(t, which, rlx_lowering_items(&at)), step_number(w, k));
    return rlx_tir_if_then_else(t, met, rlx_tir_select(t, is_it, g, zero), zero);
}

static const rlx_prim *narrowed(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    window *w = user;
    return rlx_tir_cast(&b->t, w->x.t.dtype,
                        rlx_tir_load(&b->t, w->spread, rlx_lowering_items(index)));
}

const rlx_prim_func *rlx_lower_pool_backward(rlx_lower_request *l)
{
    window w = { .n = l->row->member.number, .direct = true, .groups = 1 };
    const rlx_prim *p[MAX_AXES], *y[MAX_AXES], *k[MAX_SPATIAL], *met = NULL, *one;
    rlx_lowering_tensor data = { .buffer = NULL };
    rlx_lowering_list at;
    rlx_lowering_begin(&w.b, l);
    rlx_tir *t = &w.b.t;
    bool is_max = strstr(l->row->short_name, "max") != NULL;
    if (!rlx_lowering_input(&w.b, 0, &w.out.t) ||
        (is_max && !rlx_lowering_input(&w.b, 1, &data)) ||
        !rlx_lowering_output(&w.b, NULL, &w.x.t) || !read_pool(&w, l, w.x.t.dtype))
        return rlx_lowering_end(&w.b);
    check_windows(&w, l);
    w.wide = sum_dtype(w.x.t.dtype);
    if (!w.direct && !is_max)
        count_block(&w);
    const rlx_buffer *which = NULL;
    if (is_max) {
        rlx_prim_list sizes = rlx_lowering_items(&w.out.t.shape.sizes);
        const rlx_buffer *best = rlx_tir_alloc(t, "best", data.dtype, sizes);
        which = rlx_tir_alloc(t, "which", RELAX_INT64, sizes);
        first_greatest(&w, &data, best, which);
    }
    bool own = w.wide != w.x.t.dtype;
    w.spread = own ? rlx_tir_alloc(t, "sum", w.wide, rlx_lowering_items(&w.x.t.shape.sizes))
                   : w.x.t.buffer;
    open_side(&w, own ? "sum" : l->name.data, &w.x, &at, p, k);
    memcpy(y, p, 2 * sizeof *y);
    for (size_t i = 0; i < w.n; i++) {
        y[2 + i] = window_of(&w, i, p[2 + i], k[i], &one);
        met = met ? rlx_tir_and(t, met, one) : one;
    }
    rlx_prim_list here = rlx_lowering_items(&at);
    rlx_tir_init(t, w.spread, here, rlx_tir_number(t, w.wide, 0));
    rlx_tir_store(t, w.spread, here,
                  plus(&w, rlx_tir_load(t, w.spread, here), given(&w, which, y, k, met)));
    rlx_tir_end_block(t);
    return own ? rlx_lowering_mapped(&w.b, &w.x.t, narrowed, &w) : rlx_lowering_end(&w.b);
}

/* ---- pooling with positions: attributes as above, then column_major -------------------------- */

/* Where place p is in data, as it lies in memory. */
static const rlx_prim *position(window *w, const rlx_prim *const *p)
{
    rlx_lowering_list at = rlx_lowering_placed(&w->b, &w->x, p);
    return rlx_tir_flatten(&w->b.t, rlx_lowering_items(&at), rlx_lowering_items(&w->x.t.shape.sizes));
}

/* The same where the first spatial axis runs fastest. */
static const rlx_prim *position_by_columns(window *w, const rlx_prim *const *p)
{
    const rlx_prim *at[MAX_AXES] = { p[0], p[1] }, *sizes[MAX_AXES] = { w->x.size[0], w->x.size[1] };
    for (size_t i = 0; i < w->n; i++) {
        at[2 + i] = p[1 + w->n - i];
        sizes[2 + i] = w->x.size[1 + w->n - i];
    }
    return rlx_tir_flatten(&w->b.t, RLX_TIR_ITEMS(at, 2 + w->n), RLX_TIR_ITEMS(sizes, 2 + w->n));
}

/* Numbers in the window as positions in data. */
static void write_positions(window *w, const rlx_buffer *which, const rlx_buffer *out, bool columns)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *y[MAX_AXES], *k[MAX_SPATIAL];
    rlx_lowering_list at;
    rlx_lowering_open(&w->b, "positions", &w->out.t.shape.sizes, &at);
    rlx_lowering_canonical(&w->b, &w->out, &at, y);
    const rlx_prim *step = rlx_tir_let(t, "step", rlx_tir_cast(t, RELAX_INT64, rlx_tir_load(t, which, rlx_lowering_items(&at))));
    rlx_tir_unflatten(t, step, RLX_TIR_ITEMS(w->extent, w->n), k);
    for (size_t i = 0; i < w->n; i++)
        y[2 + i] = minus(w, plus(w, times(w, y[2 + i], w->stride[i]), times(w, k[i], w->dilation[i])),
                         number(w, w->before[i]));
    const rlx_prim *place = columns ? position_by_columns(w, y) : position(w, y);
    rlx_tir_store(t, out, rlx_lowering_items(&at),
                  rlx_tir_select(t, rlx_tir_ge(t, step, number(w, 0)), place, number(w, -1)));
    rlx_tir_end_block(t);
}

/*- Where channels lie apart and windows are not large, elements of windows come in planes: of a channel, all first elements, all second
 * ones and so on, so that what is compared, and where it was, are long strips whatever the steps of windows.
 *
 *     base[y]             position in a picture of the first element of a window, which may be padding
 *     start[y]            from there to the first element that is inside; -1: there is none (where there is padding)
 *     for n, c:
 *         plane[k, y]     element k of window y
 *         out0[y], out1[y]    the greatest element, its position: steps over all k, as values
 */
enum { MOST_PLANES = 25 };
typedef struct planes {
    const rlx_prim *(*position)(window *w, const rlx_prim *const *p);
    const rlx_buffer *base, *start, *plane;
    rlx_dtype number;                       /* of positions in a picture */
    size_t count;
} planes;

/* Elements of a window; 0: too many. */
static size_t count_taps(const window *w)
{
    int64_t count = 1, extent;
    for (size_t i = 0; i < w->n; i++)
        if (!rlx_int_literal(w->extent[i], &extent) || extent < 1 || !rlx_mul_i64(count, extent, &count) || count > MOST_PLANES)
            return 0;
    return (size_t)count;
}

static bool is_in_planes(const window *w, planes *l)
{
    int64_t all = 1, size;
    bool known = true;
    for (size_t i = 1; i < 2 + w->n && known; i++)
        known = rlx_int_literal(w->x.size[i], &size) && size >= 0 && rlx_mul_i64(all, size, &all) && all < INT32_MAX / 2;
    for (size_t i = 0; i < w->n && known; i++) /* padding lies so far in front */
        known = w->before[i] < INT32_MAX / 8 / (1 + all);
    l->number = known ? RELAX_INT32 : RELAX_INT64;
    l->count = count_taps(w);
    return l->count && axis_of(&w->x, w->x.layout.n - 1) > 1 && axis_of(&w->out, w->out.layout.n - 1) > 1 && w->x.layout.n == 2 + w->n &&
           w->out.layout.n == 2 + w->n;
}

static const rlx_prim *place_in_picture(window *w, const planes *l, const rlx_prim *const *spatial)
{
    const rlx_prim *p[MAX_AXES] = { number(w, 0), number(w, 0) };
    memcpy(p + 2, spatial, w->n * sizeof *p);
    return l->position(w, p);
}

/* Along one axis the first element of window y that is inside; *met: there is one. */
static const rlx_prim *first_inside(window *w, size_t i, const rlx_prim *y, const rlx_prim **met)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *begin = minus(w, times(w, y, w->stride[i]), number(w, w->before[i]));
    const rlx_prim *k = rlx_tir_floor_div(t, minus(w, number(w, w->dilation[i] - 1), begin), number(w, w->dilation[i]));
    k = rlx_tir_max(t, k, number(w, 0));
    const rlx_prim *at = times(w, k, w->dilation[i]);
    *met = rlx_tir_and(t, rlx_tir_lt(t, k, w->extent[i]), rlx_tir_lt(t, plus(w, begin, at), w->x.size[2 + i]));
    return at;
}

static void place_windows(window *w, planes *l)
{
    rlx_tir *t = &w->b.t;
    rlx_lowering_list sizes = { .n = w->n }, y;
    const rlx_prim *at[MAX_SPATIAL], *met = NULL, *one;
    memcpy(sizes.at, w->out.size + 2, w->n * sizeof *sizes.at);
    l->base = rlx_tir_alloc(t, "base", l->number, rlx_lowering_items(&sizes));
    rlx_lowering_open(&w->b, "base", &sizes, &y);
    for (size_t i = 0; i < w->n; i++)
        at[i] = minus(w, times(w, y.at[i], w->stride[i]), number(w, w->before[i]));
    rlx_tir_store(t, l->base, rlx_lowering_items(&y), rlx_tir_cast(t, l->number, place_in_picture(w, l, at)));
    rlx_tir_end_block(t);
    if (w->direct)
        return;
    l->start = rlx_tir_alloc(t, "start", l->number, rlx_lowering_items(&sizes));
    rlx_lowering_open(&w->b, "start", &sizes, &y);
    for (size_t i = 0; i < w->n; i++) {
        at[i] = first_inside(w, i, y.at[i], &one);
        met = met ? rlx_tir_and(t, met, one) : one;
    }
    const rlx_prim *start = rlx_tir_select(t, met, place_in_picture(w, l, at), number(w, -1));
    rlx_tir_store(t, l->start, rlx_lowering_items(&y), rlx_tir_cast(t, l->number, start));
    rlx_tir_end_block(t);
}

static void fill_planes(window *w, planes *l)
{
    rlx_tir *t = &w->b.t;
    rlx_lowering_list sizes = { .n = 2 * w->n }, index;
    memcpy(sizes.at, w->extent, w->n * sizeof *sizes.at);
    memcpy(sizes.at + w->n, w->out.size + 2, w->n * sizeof *sizes.at);
    l->plane = rlx_tir_alloc(t, "plane", w->x.t.dtype, rlx_lowering_items(&sizes));
    rlx_lowering_open(&w->b, "plane", &sizes, &index);
    const rlx_prim *x = element(w, w->batch, w->channel, NULL, index.at + w->n, index.at);
    rlx_tir_store(t, l->plane, rlx_lowering_items(&index), x);
    rlx_tir_end_block(t);
}

/* Padding is never greater; what is not a number stays where it is met first. */
static void choose_greatest(window *w, const planes *l, const rlx_buffer *best_of, const rlx_buffer *place_of)
{
    rlx_tir *t = &w->b.t;
    rlx_lowering_list sizes = { .n = w->n }, y, at = { .n = 2 * w->n };
    const rlx_prim *k[MAX_SPATIAL], *o[MAX_AXES] = { w->batch, w->channel }, *best = NULL, *place = NULL;
    const rlx_prim *origin[MAX_AXES] = { w->batch, w->channel };
    memcpy(sizes.at, w->out.size + 2, w->n * sizeof *sizes.at);
    rlx_lowering_open(&w->b, "greatest", &sizes, &y);
    memcpy(at.at + w->n, y.at, w->n * sizeof *y.at);
    memcpy(o + 2, y.at, w->n * sizeof *y.at);
    for (size_t n = 0; n < l->count; n++) {
        rlx_tir_unflatten(t, number(w, (int64_t)n), RLX_TIR_ITEMS(w->extent, w->n), k);
        memcpy(at.at, k, w->n * sizeof *k);
        for (size_t i = 0; i < w->n; i++)
            k[i] = times(w, k[i], w->dilation[i]);
        const rlx_prim *x = rlx_tir_load(t, l->plane, rlx_lowering_items(&at));
        const rlx_prim *here = rlx_tir_cast(t, l->number, place_in_picture(w, l, k));
        if (n == 0) {
            best = x;
            place = w->direct ? here : rlx_tir_let(t, "place", rlx_tir_load(t, l->start, rlx_lowering_items(&y)));
            continue;
        }
        const rlx_prim *stays = rlx_tir_let(t, "stays", rlx_tir_le(t, x, best));
        if (rlx_lowering_is_float(w->x.t.dtype)) {
            const rlx_prim *is_nan = rlx_tir_let(t, "is_nan", rlx_tir_ne(t, best, best));
            stays = rlx_tir_let(t, "stays", rlx_tir_or(t, stays, is_nan));
        }
        place = rlx_tir_let(t, "place", rlx_tir_select(t, stays, place, here));
        best = rlx_tir_let(t, "best", rlx_tir_select(t, stays, best, x));
    }
    for (size_t i = 0; i < w->n; i++)
        origin[2 + i] = number(w, 0);
    rlx_lowering_list to = rlx_lowering_placed(&w->b, &w->out, o);
    const rlx_prim *whole = rlx_tir_add(t, place, rlx_tir_load(t, l->base, rlx_lowering_items(&y)));
    whole = rlx_tir_add(t, rlx_tir_cast(t, RELAX_INT64, whole), l->position(w, origin));
    if (!w->direct)
        whole = rlx_tir_select(t, rlx_tir_ge(t, place, rlx_tir_number(t, l->number, 0)), whole, number(w, -1));
    rlx_tir_store(t, best_of, rlx_lowering_items(&to), best);
    rlx_tir_store(t, place_of, rlx_lowering_items(&to), whole);
    rlx_tir_end_block(t);
}

static void pool_planes(window *w, planes *l, const rlx_lowering_tensor *out)
{
    place_windows(w, l);
    open_parts(w);
    w->channel = rlx_tir_spatial(&w->b.t, "i1", w->out.size[1]);
    w->inputs = w->x.size[1];
    w->wide = w->x.t.dtype;
    w->fill = least(&w->b.t, w->x.t.dtype);
    if (!w->direct)
        spread_part(w);
    fill_planes(w, l);
    choose_greatest(w, l, out[0].buffer, out[1].buffer);
    rlx_tir_end_block(&w->b.t);
}

const rlx_prim_func *rlx_lower_pool_indices(rlx_lower_request *l)
{
    window w = { .n = l->row->member.number, .direct = true, .groups = 1 };
    bool columns = rlx_attr_as_bool(rlx_lowering_attr(l, 8), false);
    planes p = { .position = columns ? position_by_columns : position };
    rlx_lowering_tensor out[2];
    rlx_lowering_begin(&w.b, l);
    if (!rlx_lowering_input(&w.b, 0, &w.x.t) || !rlx_lowering_outputs(&w.b, NULL, out, 2))
        return rlx_lowering_end(&w.b);
    w.out.t = out[0];
    if (!read_pool(&w, l, w.x.t.dtype))
        return rlx_lowering_end(&w.b);
    if (columns && w.x.layout.n != 2 + w.n)
        rlx_lowering_give_up(&w.b, "positions by columns are those of whole axes");
    if (is_in_planes(&w, &p)) {
        pool_planes(&w, &p, out);
        return rlx_lowering_end(&w.b);
    }
    const rlx_buffer *which =
        rlx_tir_alloc(&w.b.t, "which", RELAX_INT32, rlx_lowering_items(&w.out.t.shape.sizes));
    first_greatest(&w, &w.x.t, out[0].buffer, which);
    write_positions(&w, which, out[1].buffer, columns);
    return rlx_lowering_end(&w.b);
}

/* ---- adaptive pooling: bin i covers floor(i * n / o) to ceil((i + 1) * n / o) --------------- */

/* How long all bins of an axis are, which lie behind each other then; NULL: that differs, or is not known. */
static const rlx_prim *even_bins(window *w, size_t i)
{
    const rlx_prim *n = w->x.size[2 + i], *o = w->out.size[2 + i];
    int64_t size, bins;
    if (rlx_is_int_value(o, 1))
        return n;
    return rlx_int_literal(n, &size) && rlx_int_literal(o, &bins) && bins > 0 && size % bins == 0 ? number(w, size / bins) : NULL;
}

static const rlx_prim *bin_begin(window *w, size_t i, const rlx_prim *y)
{
    return rlx_tir_floor_div(&w->b.t, rlx_tir_mul(&w->b.t, y, w->x.size[2 + i]),
                             w->out.size[2 + i]);
}

static const rlx_prim *bin_end(window *w, size_t i, const rlx_prim *y)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *one = number(w, 1), *top = rlx_tir_mul(t, plus(w, y, one), w->x.size[2 + i]);
    return rlx_tir_floor_div(t, minus(w, plus(w, top, w->out.size[2 + i]), one),
                             w->out.size[2 + i]);
}

static const rlx_prim *binned(window *w, const rlx_prim *so_far, const rlx_prim *const *o,
                              const rlx_prim *c, const rlx_prim *const *k)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *index[MAX_AXES] = { o[0], o[1] }, *inside = NULL;
    for (size_t i = 0; i < w->n; i++) {
        const rlx_prim *even = even_bins(w, i);
        if (even) {
            index[2 + i] = plus(w, rlx_tir_mul(t, o[2 + i], even), k[i]);
            continue;
        }
        index[2 + i] = plus(w, bin_begin(w, i, o[2 + i]), k[i]);
        const rlx_prim *ok = rlx_tir_lt(t, index[2 + i], bin_end(w, i, o[2 + i]));
        inside = inside ? rlx_tir_and(t, inside, ok) : ok;
    }
    rlx_lowering_list at = rlx_lowering_placed(&w->b, &w->x, index);
    const rlx_prim *x =
        rlx_tir_cast(t, w->wide, rlx_tir_load(t, w->x.t.buffer, rlx_lowering_items(&at)));
    return plus(w, so_far, inside ? rlx_tir_if_then_else(t, inside, x, rlx_tir_number(t, w->wide, 0)) : x);
}

static const rlx_prim *bin_average(window *w, const rlx_prim *v, const rlx_prim *const *o)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *count = number(w, 1);
    for (size_t i = 0; i < w->n; i++) {
        const rlx_prim *even = even_bins(w, i);
        count = rlx_tir_mul(t, count, even ? even : minus(w, bin_end(w, i, o[2 + i]), bin_begin(w, i, o[2 + i])));
    }
    return rlx_tir_cast(t, w->out.t.dtype, rlx_tir_div(t, v, rlx_tir_cast(t, w->wide, count)));
}

/* attributes output_size, layout, out_layout */
const rlx_prim_func *rlx_lower_adaptive_pool(rlx_lower_request *l)
{
    window w = { .n = l->row->member.number, .direct = true };
    rlx_lowering_begin(&w.b, l);
    if (!rlx_lowering_input(&w.b, 0, &w.x.t) || !rlx_lowering_output(&w.b, NULL, &w.out.t) ||
        !rlx_lowering_read_side(&w.b, &w.x, rlx_lowering_attr(l, 1), rlx_data_axes[w.n]) ||
        !rlx_lowering_read_side(&w.b, &w.out, rlx_lowering_attr(l, 2), rlx_data_axes[w.n]))
        return rlx_lowering_end(&w.b);
    for (size_t i = 0; i < w.n; i++) {
        const rlx_prim *o = w.out.size[2 + i],
                       *up = minus(&w, plus(&w, w.x.size[2 + i], o), number(&w, 1));
        o = rlx_tir_max(&w.b.t, o, number(&w, 1)); /* an empty result has no bins */
        w.extent[i] = even_bins(&w, i) ? even_bins(&w, i) : plus(&w, rlx_tir_floor_div(&w.b.t, up, o), number(&w, 1));
    }
    w.wide = sum_dtype(w.x.t.dtype);
    accumulate(&w, l->name.data, NULL, rlx_tir_number(&w.b.t, w.wide, 0), binned, bin_average);
    return rlx_lowering_end(&w.b);
}
