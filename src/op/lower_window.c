/*- lower_window.c: convolutions and pooling.
 *
 *     spread[n, c, j]   data with padding around it, and zeros between its elements where it is
 *                       transposed
 *     out[n, o, y]      sum (or maximum) over c, k of
 *                       spread[n, c, y * stride + k * dilation] * weight[o, c, k]
 *
 * All indices are in canonical order (batch, channel, spatial axes); layouts say where they
 * stand. The loops run as the result lies in memory, its last axis innermost. Without padding
 * data is read directly. Narrow floats sum in float32.
 */
/* built for size */
#include "op/lower_int.h"

#define MAX_AXES 5
#define MAX_SPATIAL 3

typedef struct side {
    rlx_lowering_tensor t;
    rlx_layout layout;
    const char *axes;
    const rlx_prim *size[MAX_AXES];
} side;

typedef struct window {
    rlx_lowering b;
    size_t n;                               /* spatial axes */
    side x, w, out;
    bool transposed, is_max, direct;        /* direct: data without padding */
    int64_t groups, stride[MAX_SPATIAL], dilation[MAX_SPATIAL], before[MAX_SPATIAL],
        after[MAX_SPATIAL];
    const rlx_prim *reach[MAX_SPATIAL];     /* of the window, minus 1: (k - 1) * dilation */
    const rlx_prim *extent[MAX_SPATIAL];    /* of the window */
    const rlx_prim *fill;
    const rlx_buffer *spread;
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

static size_t axis_of(const side *s, size_t part)
{
    return (size_t)(strchr(s->axes, s->layout.letter[part]) - s->axes);
}

/* The factor by which an axis is split, 0: it is whole. */
static int64_t split_of(const side *s, char letter)
{
    for (size_t i = 0; i < s->layout.n; i++)
        if (s->layout.letter[i] == letter && s->layout.factor[i])
            return s->layout.factor[i];
    return 0;
}

static bool read_side(window *w, side *s, const rlx_attr *layout, const char *axes)
{
    s->axes = axes;
    if (!rlx_layout_read(rlx_attr_text(layout), axes, &s->layout) ||
        s->layout.n != s->t.shape.sizes.n)
        return rlx_lowering_give_up(&w->b, "a layout does not fit the rank");
    for (size_t i = 0; i < s->layout.n; i++) {
        const rlx_prim **size = &s->size[axis_of(s, i)], *part = s->t.shape.sizes.at[i];
        *size = *size ? rlx_tir_mul(&w->b.t, *size, part) : part;
    }
    return true;
}

/* Indices in memory for indices in canonical order. */
static rlx_lowering_list placed(window *w, const side *s, const rlx_prim *const *index)
{
    rlx_lowering_list at = { .n = s->layout.n };
    for (size_t i = 0; i < at.n; i++) {
        const rlx_prim *k = index[axis_of(s, i)];
        int64_t split = split_of(s, s->layout.letter[i]);
        if (split)
            k = rlx_tir_binary(&w->b.t,
                               s->layout.factor[i] ? RLX_NODE_FLOOR_MOD : RLX_NODE_FLOOR_DIV, k,
                               number(w, split));
        at.at[i] = k;
    }
    return at;
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

static void spread_block(window *w)
{
    rlx_tir *t = &w->b.t;
    rlx_lowering_list sizes = { .at = { w->x.size[0], w->x.size[1] }, .n = 2 + w->n }, index;
    const rlx_prim *from[MAX_AXES], *cond = NULL, *inside;
    for (size_t i = 0; i < w->n; i++) {
        const rlx_prim *last =
            w->transposed ? minus(w, w->out.size[2 + i], number(w, 1))
                          : times(w, minus(w, w->out.size[2 + i], number(w, 1)), w->stride[i]);
        sizes.at[2 + i] =
            rlx_tir_max(t, plus(w, plus(w, last, w->reach[i]), number(w, 1)), number(w, 0));
    }
    w->spread = rlx_tir_alloc(t, "spread", w->x.t.dtype, rlx_lowering_items(&sizes));
    rlx_lowering_open(&w->b, "spread", &sizes, &index);
    from[0] = index.at[0];
    from[1] = index.at[1];
    for (size_t i = 0; i < w->n; i++) {
        from[2 + i] = data_position(w, i, index.at[2 + i], &inside);
        cond = cond ? rlx_tir_and(t, cond, inside) : inside;
    }
    rlx_lowering_list at = placed(w, &w->x, from);
    const rlx_prim *x = rlx_tir_load(t, w->x.t.buffer, rlx_lowering_items(&at));
    rlx_tir_store(t, w->spread, rlx_lowering_items(&index),
                  rlx_tir_if_then_else(t, cond, x, w->fill));
    rlx_tir_end_block(t);
}

/* Element of data that place y of the result meets at place k of the window. */
static const rlx_prim *element(window *w, const rlx_prim *batch, const rlx_prim *channel,
                               const rlx_prim *const *y, const rlx_prim *const *k)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *index[MAX_AXES] = { batch, channel };
    for (size_t i = 0; i < w->n; i++) {
        const rlx_prim *step = times(w, k[i], w->dilation[i]);
        index[2 + i] = w->transposed ? minus(w, plus(w, y[i], w->reach[i]), step)
                                     : plus(w, times(w, y[i], w->stride[i]), step);
    }
    rlx_lowering_list at = { .n = 2 + w->n };
    if (w->direct)
        at = placed(w, &w->x, index);
    else
        memcpy(at.at, index, at.n * sizeof *index);
    return rlx_tir_cast(
        t, w->wide,
        rlx_tir_load(t, w->direct ? w->x.t.buffer : w->spread, rlx_lowering_items(&at)));
}

/* ---- the loops ------------------------------------------------------------------------------ */

/* Opens a block over the result: o in canonical order, c (NULL: none) and k of the window in
 * front of the last axis. */
static void open_window(window *w, const char *name, const rlx_prim *channels, const rlx_prim **o,
                        const rlx_prim **c, const rlx_prim **k)
{
    rlx_tir *t = &w->b.t;
    size_t order[MAX_AXES], n = 0;
    char label[RLX_LOW_NAME];
    for (size_t i = 0; i < w->out.layout.n; i++)
        if (!w->out.layout.factor[i])
            order[n++] = axis_of(&w->out, i);
    rlx_tir_begin_block(t, name);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n) {
            if (c)
                *c = rlx_tir_reduce(t, "c", channels);
            for (size_t a = 0; a < w->n; a++) {
                rlx_lowering_name(label, 'k', a);
                k[a] = rlx_tir_reduce(t, label, w->extent[a]);
            }
        }
        rlx_lowering_name(label, 'i', order[i]);
        o[order[i]] = rlx_tir_spatial(t, label, w->out.size[order[i]]);
    }
}

typedef const rlx_prim *(*step_fn)(window *w, const rlx_prim *so_far, const rlx_prim *const *o,
                                   const rlx_prim *c, const rlx_prim *const *k);
typedef const rlx_prim *(*end_fn)(window *w, const rlx_prim *v, const rlx_prim *const *o);

/* One block that accumulates, and one that finishes where there is more to do. */
static void accumulate(window *w, const char *name, const rlx_prim *channels,
                       const rlx_prim *first, step_fn step, end_fn end)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *o[MAX_AXES], *c = NULL, *k[MAX_SPATIAL];
    bool own = end || w->wide != w->out.t.dtype;
    rlx_lowering_list sizes = { .n = 2 + w->n }, at;
    memcpy(sizes.at, w->out.size, sizes.n * sizeof *sizes.at);
    const rlx_buffer *sum =
        own ? rlx_tir_alloc(t, "sum", w->wide, rlx_lowering_items(&sizes)) : w->out.t.buffer;
    open_window(w, name, channels, o, channels ? &c : NULL, k);
    at = sizes;
    memcpy(at.at, o, at.n * sizeof *at.at);
    at = own ? at : placed(w, &w->out, o);
    rlx_tir_init(t, sum, rlx_lowering_items(&at), first);
    rlx_tir_store(t, sum, rlx_lowering_items(&at),
                  step(w, rlx_tir_load(t, sum, rlx_lowering_items(&at)), o, c, k));
    rlx_tir_end_block(t);
    if (!own)
        return;
    rlx_lowering_list index;
    rlx_lowering_open(&w->b, "result", &sizes, &index);
    at = placed(w, &w->out, index.at);
    const rlx_prim *v = rlx_tir_load(t, sum, rlx_lowering_items(&index));
    rlx_tir_store(t, w->out.t.buffer, rlx_lowering_items(&at), end ? end(w, v, index.at) : v);
    rlx_tir_end_block(t);
}

/* ---- convolutions: attributes strides, padding, (output_padding,) dilation, groups, layouts,
 * out_dtype ---------------- */

static const rlx_prim *convolve(window *w, const rlx_prim *so_far, const rlx_prim *const *o,
                                const rlx_prim *c, const rlx_prim *const *k)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *channel = c, *index[MAX_AXES] = { o[1], c };
    if (w->groups > 1) {
        const rlx_prim *outputs = w->transposed
                                      ? w->w.size[0]
                                      : rlx_tir_floor_div(t, w->w.size[0], number(w, w->groups));
        const rlx_prim *inputs = w->transposed
                                     ? rlx_tir_floor_div(t, w->w.size[1], number(w, w->groups))
                                     : w->w.size[1];
        channel = plus(w, rlx_tir_mul(t, rlx_tir_floor_div(t, o[1], outputs), inputs), c);
        if (w->transposed) {
            index[0] = rlx_tir_floor_mod(t, o[1], outputs);
            index[1] = channel;
        }
    }
    memcpy(index + 2, k, w->n * sizeof *k);
    rlx_lowering_list at = placed(w, &w->w, index);
    const rlx_prim *weight =
        rlx_tir_cast(t, w->wide, rlx_tir_load(t, w->w.t.buffer, rlx_lowering_items(&at)));
    return rlx_tir_multiply_add(t, so_far, element(w, o[0], channel, o + 2, k), weight);
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

static bool begin_conv(window *w, rlx_lower_request *l)
{
    w->n = l->row->member.number;
    w->transposed = l->row->infer == rlx_infer_conv_transpose;
    size_t at = w->transposed ? 3 : 2;
    rlx_lowering_begin(&w->b, l);
    w->groups = rlx_attr_as_int(rlx_lowering_attr(l, at + 1), 1);
    trust_channels(w, rlx_lowering_attr(l, at + 2), rlx_lowering_attr(l, at + 3));
    if (!rlx_lowering_input(&w->b, 0, &w->x.t) || !rlx_lowering_input(&w->b, 1, &w->w.t) ||
        !rlx_lowering_output(&w->b, NULL, &w->out.t) ||
        !read_side(w, &w->x, rlx_lowering_attr(l, at + 2), rlx_data_axes[w->n]) ||
        !read_side(w, &w->w, rlx_lowering_attr(l, at + 3), rlx_kernel_axes[w->n]) ||
        !read_side(w, &w->out, rlx_lowering_attr(l, at + 4), rlx_data_axes[w->n]))
        return false;
    if (rlx_dtype_is_bool(w->out.t.dtype))
        return rlx_lowering_give_up(&w->b, "the operator does not compute with this dtype");
    memcpy(w->extent, w->w.size + 2, w->n * sizeof *w->extent);
    w->direct = !w->transposed;
    read_lists(w, rlx_lowering_attr(l, 0), rlx_lowering_attr(l, 1), rlx_lowering_attr(l, at));
    w->wide = rlx_lowering_accumulator(w->out.t.dtype);
    w->fill = rlx_tir_number(&w->b.t, w->x.t.dtype, 0);
    return true;
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
    if (!w.direct)
        spread_block(&w);
    accumulate(&w, l->name.data, channels, rlx_tir_number(t, w.wide, 0), convolve, NULL);
    return rlx_lowering_end(&w.b);
}

/* ---- pooling: attributes pool_size, strides, dilation, padding, ceil_mode, count_include_pad,
 * layout, out_layout ------- */

static const rlx_prim *pooled(window *w, const rlx_prim *so_far, const rlx_prim *const *o,
                              const rlx_prim *c, const rlx_prim *const *k)
{
    const rlx_prim *x = element(w, o[0], o[1], o + 2, k);
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

static const rlx_prim *averaged(window *w, const rlx_prim *v, const rlx_prim *const *o)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *count = number(w, 1);
    bool padding = rlx_attr_as_bool(rlx_lowering_attr(w->b.l, 5), false);
    for (size_t i = 0; i < w->n; i++)
        count = rlx_tir_mul(t, count, count_along(w, i, o[2 + i], padding));
    return rlx_tir_cast(t, w->out.t.dtype, rlx_tir_div(t, v, rlx_tir_cast(t, w->wide, count)));
}

static rlx_dtype sum_dtype(rlx_dtype t)
{
    return rlx_lowering_is_float(t)                ? rlx_lowering_accumulator(t)
           : rlx_dtype_code(t) == RELAX_DTYPE_UINT ? RELAX_UINT64
                                                   : RELAX_INT64;
}

const rlx_prim_func *rlx_lower_pool(rlx_lower_request *l)
{
    window w = { .n = l->row->member.number, .direct = true };
    const rlx_attr *size = rlx_lowering_attr(l, 0);
    rlx_lowering_begin(&w.b, l);
    rlx_tir *t = &w.b.t;
    if (!rlx_lowering_input(&w.b, 0, &w.x.t) || !rlx_lowering_output(&w.b, NULL, &w.out.t) ||
        !read_side(&w, &w.x, rlx_lowering_attr(l, 6), rlx_data_axes[w.n]) ||
        !read_side(&w, &w.out, rlx_lowering_attr(l, 7), rlx_data_axes[w.n]))
        return rlx_lowering_end(&w.b);
    rlx_dtype dtype = w.x.t.dtype;
    w.is_max = strstr(l->row->short_name, "max") != NULL;
    if (rlx_dtype_is_bool(dtype)) {
        rlx_lowering_give_up(&w.b, "the operator does not compute with this dtype");
        return rlx_lowering_end(&w.b);
    }
    for (size_t i = 0; i < w.n; i++)
        w.extent[i] = number(&w, rlx_attr_item(size, i));
    read_lists(&w, rlx_lowering_attr(l, 1), rlx_lowering_attr(l, 3), rlx_lowering_attr(l, 2));
    w.direct &= !rlx_attr_as_bool(rlx_lowering_attr(l, 4), false);
    w.wide = w.is_max ? dtype : sum_dtype(dtype);
    w.fill = !w.is_max                      ? rlx_tir_number(t, dtype, 0)
             : rlx_lowering_is_float(dtype) ? rlx_tir_infinity(t, dtype, true)
                                            : rlx_tir_lowest(t, dtype);
    if (!w.direct)
        spread_block(&w);
    accumulate(&w, l->name.data, NULL, w.is_max ? w.fill : rlx_tir_number(t, w.wide, 0), pooled,
               w.is_max ? NULL : averaged);
    return rlx_lowering_end(&w.b);
}

/* ---- adaptive pooling: bin i covers floor(i * n / o) to ceil((i + 1) * n / o) --------------- */

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
        index[2 + i] = plus(w, bin_begin(w, i, o[2 + i]), k[i]);
        const rlx_prim *ok = rlx_tir_lt(t, index[2 + i], bin_end(w, i, o[2 + i]));
        inside = inside ? rlx_tir_and(t, inside, ok) : ok;
    }
    rlx_lowering_list at = placed(w, &w->x, index);
    const rlx_prim *x =
        rlx_tir_cast(t, w->wide, rlx_tir_load(t, w->x.t.buffer, rlx_lowering_items(&at)));
    return plus(w, so_far, rlx_tir_if_then_else(t, inside, x, rlx_tir_number(t, w->wide, 0)));
}

static const rlx_prim *bin_average(window *w, const rlx_prim *v, const rlx_prim *const *o)
{
    rlx_tir *t = &w->b.t;
    const rlx_prim *count = number(w, 1);
    for (size_t i = 0; i < w->n; i++)
        count =
            rlx_tir_mul(t, count, minus(w, bin_end(w, i, o[2 + i]), bin_begin(w, i, o[2 + i])));
    return rlx_tir_cast(t, w->out.t.dtype, rlx_tir_div(t, v, rlx_tir_cast(t, w->wide, count)));
}

/* attributes output_size, layout, out_layout */
const rlx_prim_func *rlx_lower_adaptive_pool(rlx_lower_request *l)
{
    window w = { .n = l->row->member.number, .direct = true };
    rlx_lowering_begin(&w.b, l);
    if (!rlx_lowering_input(&w.b, 0, &w.x.t) || !rlx_lowering_output(&w.b, NULL, &w.out.t) ||
        !read_side(&w, &w.x, rlx_lowering_attr(l, 1), rlx_data_axes[w.n]) ||
        !read_side(&w, &w.out, rlx_lowering_attr(l, 2), rlx_data_axes[w.n]))
        return rlx_lowering_end(&w.b);
    for (size_t i = 0; i < w.n; i++) {
        const rlx_prim *o = w.out.size[2 + i],
                       *up = minus(&w, plus(&w, w.x.size[2 + i], o), number(&w, 1));
        o = rlx_tir_max(&w.b.t, o, number(&w, 1)); /* an empty result has no bins */
        w.extent[i] = plus(&w, rlx_tir_floor_div(&w.b.t, up, o), number(&w, 1));
    }
    w.wide = sum_dtype(w.x.t.dtype);
    accumulate(&w, l->name.data, NULL, rlx_tir_number(&w.b.t, w.wide, 0), binned, bin_average);
    return rlx_lowering_end(&w.b);
}
