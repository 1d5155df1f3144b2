/*- lower_resize_axes.c: any axes of a tensor at another size, as ONNX's Resize: one axis after the other, in the order of
 * rlx_resize_order.
 *
 *     index[k, o], weight[k, o]      for each place o along the axis: the elements of data that it is made of, and
 *                                    their shares
 *     part[.., o, ..]                sum over k of weight[k, o] * data[.., index[k, o], ..]
 *
 * With antialias, where the result is smaller, a place is made of as many neighbours as fall on it; then index[0, o]
 * is the first of them and counts[o] how many there are.
 * A place is a float64, computed as ONNX writes it, from scales that may be other than the quotients of the sizes.
 */
/* built for size */
#include <math.h>

#include "op/lower_resize.h"

enum { NEAREST, LINEAR, CUBIC };
enum { HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, PYTORCH_HALF_PIXEL, HALF_PIXEL_FOR_NN, SYMMETRIC, CROP };
enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };
static const char *const methods[] = { "nearest_neighbor", "linear", "cubic", NULL };
static const char *const modes[] = { "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
                                     "tf_half_pixel_for_nn", "half_pixel_symmetric", "tf_crop_and_resize", NULL };
static const char *const roundings[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL };

typedef struct resize {
    rlx_lowering b;
    rlx_lowering_tensor x, scales, roi, out;
    int method, mode, rounding;
    bool exclude, antialias;
    double alpha, fill;
    rlx_dtype wide;
    size_t count, axes[RLX_LOW_RANK];   /* attribute axes */
    /* of the pass: */
    size_t item, axis;
    const rlx_prim *have, *want, *scale, *shrink;
    const rlx_buffer *index, *weight, *counts, *outside;
    rlx_resize pass;                    /* what has been done */
} resize;

static const rlx_prim *number(resize *r, int64_t v) { return rlx_tir_int(&r->b.t, v); }
static const rlx_prim *real(resize *r, double v) { return rlx_tir_float(&r->b.t, RELAX_FLOAT64, v); }
static const rlx_prim *as_real(resize *r, const rlx_prim *v) { return rlx_tir_cast(&r->b.t, RELAX_FLOAT64, v); }
static const rlx_prim *plus(resize *r, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_add(&r->b.t, a, b); }
static const rlx_prim *minus(resize *r, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_sub(&r->b.t, a, b); }
static const rlx_prim *times(resize *r, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_mul(&r->b.t, a, b); }
static const rlx_prim *over(resize *r, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_div(&r->b.t, a, b); }

static int taps_of(const resize *r) { return r->method == NEAREST ? 1 : r->method == LINEAR ? 2 : 4; }

/* ---- places --------------------------------------------------------------------------------- */

/* Element i of a vector of floats. */
static const rlx_prim *given(resize *r, const rlx_lowering_tensor *of, size_t i)
{
    return as_real(r, rlx_tir_load(&r->b.t, of->buffer, RLX_TIR_LIST(number(r, (int64_t)i))));
}

static const rlx_prim *cropped(resize *r, const rlx_prim *o)
{
    rlx_tir *t = &r->b.t;
    const rlx_prim *begin = given(r, &r->roi, r->item), *end = given(r, &r->roi, r->item + r->count),
                   *last = as_real(r, minus(r, r->have, number(r, 1))), *want = as_real(r, r->want);
    const rlx_prim *along = over(r, times(r, times(r, o, minus(r, end, begin)), last), minus(r, want, real(r, 1)));
    const rlx_prim *place = rlx_tir_select(t, rlx_tir_gt(t, r->want, number(r, 1)), plus(r, times(r, begin, last), along),
                                           times(r, times(r, real(r, 0.5), plus(r, begin, end)), last));
    /* the part is told in float32: what is whole or a half with it is not to miss that by its last digits */
    return r->method == NEAREST ? as_real(r, rlx_tir_cast(t, RELAX_FLOAT32, place)) : place;
}

static const rlx_prim *place_of(resize *r, const rlx_prim *o)
{
    rlx_tir *t = &r->b.t;
    const rlx_prim *have = as_real(r, r->have), *one = real(r, 1), *length = times(r, have, r->scale),
                   *half = real(r, 0.5), *single = rlx_tir_eq(t, length, one);
    o = as_real(r, o);
    const rlx_prim *middle = over(r, plus(r, o, half), r->scale);
    switch (r->mode) {
    case CROP: return cropped(r, o);
    case ASYMMETRIC: return over(r, o, r->scale);
    case HALF_PIXEL_FOR_NN: return middle;
    case ALIGN_CORNERS:
        o = over(r, times(r, o, minus(r, have, one)), minus(r, length, one));
        return rlx_tir_select(t, single, real(r, 0), o);
    case PYTORCH_HALF_PIXEL:
        return rlx_tir_select(t, rlx_tir_gt(t, r->want, number(r, 1)), minus(r, middle, half), real(r, 0));
    case SYMMETRIC:
        o = minus(r, one, over(r, as_real(r, r->want), length));
        return minus(r, plus(r, times(r, over(r, have, real(r, 2)), o), middle), half);
    }
    return minus(r, middle, half);
}

static const rlx_prim *rounded(resize *r, const rlx_prim *x)
{
    rlx_tir *t = &r->b.t;
    switch (r->rounding) {
    case FLOOR: return rlx_tir_call1(t, "floor", x);
    case CEIL: return rlx_tir_call1(t, "ceil", x);
    case PREFER_CEIL: return rlx_tir_call1(t, "floor", plus(r, x, real(r, 0.5)));
    }
    return rlx_tir_call1(t, "ceil", minus(r, x, real(r, 0.5)));
}

/* The share of an element that is d away. */
static const rlx_prim *share_of(resize *r, const rlx_prim *d)
{
    rlx_tir *t = &r->b.t;
    const double a = r->alpha;
    const rlx_prim *one = real(r, 1), *zero = real(r, 0), *near, *far;
    d = rlx_tir_let(t, "d", rlx_tir_call1(t, "fabs", d));
    if (r->method == LINEAR)
        return rlx_tir_select(t, rlx_tir_lt(t, d, one), minus(r, one, d), zero);
    near = minus(r, times(r, real(r, a + 2), d), real(r, a + 3));
    near = plus(r, times(r, times(r, near, d), d), one);
    far = plus(r, times(r, minus(r, times(r, real(r, a), d), real(r, 5 * a)), d), real(r, 8 * a));
    far = minus(r, times(r, far, d), real(r, 4 * a));
    far = rlx_tir_select(t, rlx_tir_lt(t, d, real(r, 2)), far, zero);
    return rlx_tir_select(t, rlx_tir_lt(t, d, one), near, far);
}

/* The element of data for a whole place, which may lie outside; *inside: it does not. */
static const rlx_prim *element_at(resize *r, const rlx_prim *p, const rlx_prim **inside)
{
    rlx_tir *t = &r->b.t;
    const rlx_prim *zero = real(r, 0), *last = as_real(r, minus(r, r->have, number(r, 1)));
    *inside = rlx_tir_and(t, rlx_tir_ge(t, p, zero), rlx_tir_le(t, p, last));
    return rlx_tir_cast(t, RELAX_INT64, rlx_tir_max(t, rlx_tir_min(t, p, last), zero));
}

/* ---- tables --------------------------------------------------------------------------------- */

static void store_weight(resize *r, const rlx_prim *k, const rlx_prim *o, const rlx_prim *w)
{
    rlx_tir_store(&r->b.t, r->weight, RLX_TIR_LIST(k, o), w);
}

static const rlx_prim *load_weight(resize *r, const rlx_prim *k, const rlx_prim *o)
{
    return rlx_tir_load(&r->b.t, r->weight, RLX_TIR_LIST(k, o));
}

static void fill_few(resize *r, const rlx_prim *o, const rlx_prim *x)
{
    rlx_tir *t = &r->b.t;
    int taps = taps_of(r);
    const rlx_prim *base = r->method == NEAREST ? rounded(r, x) : rlx_tir_call1(t, "floor", x), *inside, *sum = NULL;
    const rlx_prim *share[4];
    base = rlx_tir_let(t, "base", base);
    for (int k = 0; k < taps; k++) {
        const rlx_prim *p = plus(r, base, real(r, k - (taps == 4)));
        p = rlx_tir_let(t, "p", p);
        rlx_tir_store(t, r->index, RLX_TIR_LIST(number(r, k), o), element_at(r, p, &inside));
        if (!r->weight)
            return;
        share[k] = share_of(r, minus(r, p, x));
        if (r->exclude)
            share[k] = rlx_tir_select(t, inside, share[k], real(r, 0));
        share[k] = rlx_tir_let(t, "share", share[k]);
        sum = sum ? plus(r, sum, share[k]) : share[k];
    }
    sum = rlx_tir_let(t, "sum", sum);
    for (int k = 0; k < taps; k++) {
        const rlx_prim *w = share[k];
        if (r->exclude)
            w = rlx_tir_select(t, rlx_tir_eq(t, sum, real(r, 0)), w, over(r, w, sum));
        store_weight(r, number(r, k), o, rlx_tir_cast(t, r->wide, w));
    }
}

/* All neighbours whose share may not be 0; those beyond the ends are the elements there. */
static void fill_many(resize *r, const rlx_prim *o, const rlx_prim *x)
{
    rlx_tir *t = &r->b.t;
    const rlx_prim *reach = over(r, real(r, r->method == LINEAR ? 1 : 2), r->shrink), *zero = real(r, 0), *inside;
    const rlx_prim *start = plus(r, rlx_tir_call1(t, "floor", minus(r, zero, reach)), real(r, 1));
    start = rlx_tir_let(t, "start", start);
    const rlx_prim *count = rlx_tir_cast(t, RELAX_INT64, minus(r, real(r, 2), times(r, start, real(r, 2))));
    const rlx_prim *first = rlx_tir_let(t, "first", plus(r, rlx_tir_call1(t, "floor", x), start));
    count = rlx_tir_let(t, "neighbours", rlx_tir_max(t, count, number(r, 1)));
    const rlx_prim *low = rlx_tir_let(t, "low", element_at(r, first, &inside));
    const rlx_prim *past = plus(r, first, as_real(r, minus(r, count, number(r, 1))));
    const rlx_prim *kept = rlx_tir_let(t, "kept", plus(r, minus(r, element_at(r, past, &inside), low), number(r, 1)));
    const rlx_buffer *total = rlx_tir_alloc(t, "total", RELAX_FLOAT64, RLX_TIR_LIST(number(r, 1)));
    rlx_prim_list only = RLX_TIR_LIST(number(r, 0));
    rlx_tir_store(t, r->index, RLX_TIR_LIST(number(r, 0), o), low);
    rlx_tir_store(t, r->counts, RLX_TIR_LIST(o), kept);
    rlx_tir_store(t, total, only, zero);
    const rlx_prim *k = rlx_tir_for(t, "k", NULL, kept, RLX_FOR_SERIAL);
    store_weight(r, k, o, rlx_tir_number(t, r->wide, 0));
    rlx_tir_end_for(t);
    k = rlx_tir_for(t, "k", NULL, count, RLX_FOR_SERIAL);
    const rlx_prim *p = rlx_tir_let(t, "p", plus(r, first, as_real(r, k))), *to = element_at(r, p, &inside);
    const rlx_prim *share = share_of(r, times(r, minus(r, p, x), r->shrink));
    if (r->exclude)
        share = rlx_tir_select(t, inside, share, zero);
    share = rlx_tir_let(t, "share", share);
    to = rlx_tir_let(t, "to", minus(r, to, low));
    rlx_tir_store(t, total, only, plus(r, rlx_tir_load(t, total, only), share));
    store_weight(r, to, o, plus(r, load_weight(r, to, o), rlx_tir_cast(t, r->wide, share)));
    rlx_tir_end_for(t);
    const rlx_prim *sum = rlx_tir_let(t, "sum", rlx_tir_load(t, total, only));
    k = rlx_tir_for(t, "k", NULL, kept, RLX_FOR_SERIAL);
    const rlx_prim *even = over(r, load_weight(r, k, o), rlx_tir_cast(t, r->wide, sum)), *asked = rlx_tir_ne(t, sum, zero);
    if (!r->exclude)
        asked = rlx_tir_and(t, asked, rlx_tir_lt(t, r->shrink, real(r, 1)));
    store_weight(r, k, o, rlx_tir_select(t, asked, even, load_weight(r, k, o)));
    rlx_tir_end_for(t);
}

/* The scale that is given for the axis, else, or if that is 0, the quotient of the sizes. */
static const rlx_prim *scale_of(resize *r)
{
    rlx_tir *t = &r->b.t;
    const rlx_prim *quotient = over(r, as_real(r, r->want), as_real(r, r->have));
    if (!r->scales.buffer)
        return quotient;
    const rlx_prim *s = given(r, &r->scales, r->item);
    return rlx_tir_select(t, rlx_tir_eq(t, s, real(r, 0)), quotient, s);
}

static void fill_tables(resize *r)
{
    rlx_tir *t = &r->b.t;
    bool many = r->antialias && r->method != NEAREST;
    const rlx_prim *taps = number(r, many ? 1 : taps_of(r)), *rows = many ? rlx_tir_max(t, r->have, number(r, 1)) : taps;
    rlx_lowering_list sizes = { { r->want }, 1 }, at;
    r->index = rlx_tir_alloc(t, "index", RELAX_INT64, RLX_TIR_LIST(taps, r->want));
    r->weight = r->method == NEAREST ? NULL : rlx_tir_alloc(t, "weight", r->wide, RLX_TIR_LIST(rows, r->want));
    r->counts = many ? rlx_tir_alloc(t, "counts", RELAX_INT64, RLX_TIR_LIST(r->want)) : NULL;
    r->outside = r->mode == CROP ? rlx_tir_alloc(t, "outside", RELAX_BOOL, RLX_TIR_LIST(r->want)) : NULL;
    rlx_lowering_open(&r->b, "places", &sizes, &at);
    r->scale = rlx_tir_let(t, "scale", scale_of(r));
    const rlx_prim *x = rlx_tir_let(t, "x", place_of(r, at.at[0])), *inside;
    if (many) {
        /* a filter that is wider than data is as wide as data */
        const rlx_prim *least = over(r, real(r, 1), as_real(r, rows));
        r->shrink = rlx_tir_let(t, "shrink", rlx_tir_max(t, rlx_tir_min(t, r->scale, real(r, 1)), least));
        fill_many(r, at.at[0], x);
    } else
        fill_few(r, at.at[0], x);
    if (r->outside) {
        (void)element_at(r, x, &inside);
        rlx_tir_store(t, r->outside, RLX_TIR_LIST(at.at[0]), rlx_tir_not(t, inside));
    }
    rlx_tir_end_block(t);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* place_of and rounded in numbers: the same operations in the same order. */
static double place_in_numbers(const resize *r, double have, double want, double o)
{
    const double scale = want / have, length = have * scale, middle = (o + 0.5) / scale;
    switch (r->mode) {
    case ASYMMETRIC: return o / scale;
    case HALF_PIXEL_FOR_NN: return middle;
    case ALIGN_CORNERS: return length == 1 ? 0 : o * (have - 1) / (length - 1);
    case PYTORCH_HALF_PIXEL: return want > 1 ? middle - 0.5 : 0;
    case SYMMETRIC: return have / 2 * (1 - want / length) + middle - 0.5;
    }
    return middle - 0.5;
}

static double rounded_in_numbers(const resize *r, double x)
{
    switch (r->rounding) {
    case FLOOR: return floor(x);
    case CEIL: return ceil(x);
    case PREFER_CEIL: return floor(x + 0.5);
    }
    return ceil(x - 0.5);
}

/* How many times as long the axis becomes, whatever its size; 0: that is not known. */
static int64_t growth_of(resize *r, size_t axis)
{
    const rlx_prim *have = r->x.shape.program[axis], *want = r->out.shape.program[axis];
    return have && want ? rlx_lowering_times(&r->b, want, have) : 0;
}

/* How often each element of the axis is repeated, whatever its size; 0: that is not known, or the nearest ones are others. A place goes on by 1
 * after as many steps, and rounds as far from what it might be taken for as in the first ones. */
static int64_t repeats_of(resize *r, size_t axis)
{
    enum { MOST_REPEATS = 64, ELEMENTS = 1 << 10 };
    int64_t times = growth_of(r, axis);
    if (times < 1 || times > MOST_REPEATS || r->mode == ALIGN_CORNERS)
        return 0;
    for (int64_t o = 0; o < 2 * times; o++) {
        double p = rounded_in_numbers(r, place_in_numbers(r, ELEMENTS, (double)(ELEMENTS * times), (double)o));
        if ((p > 0 ? p : 0) != (double)(o / times))
            return 0;
    }
    return times;
}

/* The nearest elements, if they lie so that they are moved without a table: of sizes that are known, whose quotient is the scale, or as often as
 * they are repeated. */
static bool move_axis(resize *r, bool last)
{
    enum { MOST_PLACES = 1 << 14 };
    int64_t have, want;
    if (r->method != NEAREST || r->mode == CROP || r->scales.buffer)
        return false;
    if (!rlx_int_literal(r->have, &have)) {
        const int64_t times = repeats_of(r, r->axis);
        if (times > 0)
            rlx_resize_repeated_axis(&r->pass, r->axis, times);
        return times > 0;
    }
    if (!rlx_int_literal(r->want, &want) || have < 1 || have > MOST_PLACES || want < 1 || want > MOST_PLACES)
        return false;
    int64_t *elements = rlx_new(r->b.l->ctx, (size_t)want * sizeof *elements);
    for (int64_t o = 0; o < want && elements; o++) {
        double p = rounded_in_numbers(r, place_in_numbers(r, (double)have, (double)want, (double)o));
        elements[o] = !(p > 0) ? 0 : p < (double)have - 1 ? (int64_t)p : have - 1;
    }
    return elements && rlx_resize_moved_axis(&r->pass, r->axis, elements, want, have, last);
}

/* Elements and shares of a place as fill_few has them. False: there are no numbers for that. */
static bool place_few(const resize *r, double have, double want, double o, rlx_resize_even *out)
{
    const double x = place_in_numbers(r, have, want, o), base = floor(x);
    const bool single = r->wide == RELAX_FLOAT32;
    out->count = 2;
    out->first = (int64_t)base;
    for (int k = 0; k < 2; k++) {
        const double d = fabs(base + k - x), share = d < 1 ? 1 - d : 0;
        out->weight[k] = single ? (double)(float)share : share;
    }
    return base >= 0 && base + 1 < have;
}

/* Linear shares that are the same everywhere, as where the result is a half or a quarter as long? */
static bool is_even(const resize *r, rlx_resize_even *out)
{
    enum { MOST_PLACES = 1 << 14 };
    int64_t have, want;
    rlx_resize_even even, next;
    if (r->method != LINEAR || r->mode == CROP || r->antialias || r->exclude || r->scales.buffer || !rlx_int_literal(r->have, &have) ||
        !rlx_int_literal(r->want, &want) || have < 2 || have > MOST_PLACES || want < 1 || have % want || have == want ||
        !place_few(r, (double)have, (double)want, 0, &even))
        return false;
    even.apart = have / want;
    bool is = even.first + 1 < even.apart;
    for (int64_t o = 1; o < want && is; o++)
        is = place_few(r, (double)have, (double)want, (double)o, &next) && next.first == o * even.apart + even.first &&
             next.weight[0] == even.weight[0] && next.weight[1] == even.weight[1];
    *out = even;
    return is;
}

/* ---- one axis ------------------------------------------------------------------------------- */

static const rlx_prim *data_at(resize *r, const rlx_lowering_list *at, const rlx_prim *i)
{
    rlx_lowering_list from = *at;
    from.at[r->axis] = i;
    return rlx_tir_cast(&r->b.t, r->wide, rlx_tir_load(&r->b.t, r->pass.from, rlx_lowering_items(&from)));
}

/* What stands where a place lies outside of data in crop mode. */
static const rlx_prim *filled(resize *r, const rlx_prim *o, const rlx_prim *v)
{
    rlx_tir *t = &r->b.t;
    return rlx_tir_select(t, rlx_tir_load(t, r->outside, RLX_TIR_LIST(o)), rlx_tir_number(t, r->wide, r->fill), v);
}

/* Loops over all axes but one. */
static void open_others(resize *r, rlx_lowering_list *at)
{
    for (size_t i = 0; i < r->pass.sizes.n; i++)
        if (i != r->axis)
            at->at[i] = rlx_tir_for(&r->b.t, "i", NULL, r->pass.sizes.at[i], RLX_FOR_SERIAL);
}

static void close_others(resize *r)
{
    for (size_t i = 0; i + 1 < r->pass.sizes.n; i++)
        rlx_tir_end_for(&r->b.t);
}

static void write_many(resize *r, const rlx_buffer *to)
{
    rlx_tir *t = &r->b.t;
    rlx_lowering_list places = { { r->want }, 1 }, at, o;
    rlx_lowering_open(&r->b, r->b.l->name.data, &places, &o);
    at.n = r->pass.sizes.n;
    at.at[r->axis] = o.at[0];
    open_others(r, &at);
    rlx_tir_store(t, to, rlx_lowering_items(&at), rlx_tir_number(t, r->wide, 0));
    close_others(r);
    const rlx_prim *first = rlx_tir_let(t, "first", rlx_tir_load(t, r->index, RLX_TIR_LIST(number(r, 0), o.at[0])));
    const rlx_prim *k = rlx_tir_for(t, "k", NULL, rlx_tir_load(t, r->counts, RLX_TIR_LIST(o.at[0])), RLX_FOR_SERIAL);
    const rlx_prim *w = rlx_tir_let(t, "w", load_weight(r, k, o.at[0]));
    const rlx_prim *from = rlx_tir_let(t, "from", plus(r, first, k));
    open_others(r, &at);
    rlx_tir_store(t, to, rlx_lowering_items(&at),
                  plus(r, rlx_tir_load(t, to, rlx_lowering_items(&at)), times(r, data_at(r, &at, from), w)));
    close_others(r);
    rlx_tir_end_for(t);
    if (r->outside) {
        open_others(r, &at);
        rlx_tir_store(t, to, rlx_lowering_items(&at), filled(r, o.at[0], rlx_tir_load(t, to, rlx_lowering_items(&at))));
        close_others(r);
    }
    rlx_tir_end_block(t);
}

/* Axis number `item` of the list. */
static void begin_axis(resize *r, size_t item)
{
    rlx_tir *t = &r->b.t;
    int64_t known;
    r->item = item;
    r->axis = r->axes[item];
    r->have = r->pass.sizes.at[r->axis];
    r->want = r->out.shape.sizes.at[r->axis];
    if ((!rlx_int_literal(r->have, &known) || known < 1) && !growth_of(r, r->axis))
        rlx_lowering_require(&r->b, rlx_tir_or(t, rlx_tir_gt(t, r->have, number(r, 0)), rlx_tir_eq(t, r->want, number(r, 0))),
                             RLX_ASSERTION_SIZES, "an axis of size 0 cannot be resized");
}

/* The pass that is last writes the result, if that may hold what is summed. */
static void resize_axis(resize *r, size_t item, bool last)
{
    begin_axis(r, item);
    if (move_axis(r, last))
        return;
    fill_tables(r);
    if (r->method == NEAREST) {
        const rlx_resize_taps taps = { taps_of(r), r->index, r->weight, r->outside, r->fill };
        rlx_resize_axis(&r->pass, r->axis, r->want, &taps, last);
        return;
    }
    r->pass.sizes.at[r->axis] = r->want;
    r->pass.whole = last && r->wide == r->out.dtype;
    const rlx_buffer *to = r->pass.whole ? r->out.buffer : rlx_tir_alloc(&r->b.t, "part", r->wide, rlx_lowering_items(&r->pass.sizes));
    write_many(r, to);
    r->pass.from = to;
}

/* Few neighbours each: what they are of all axes, then the passes. */
static void resize_by_few(resize *r, const size_t *items, const rlx_prim *const *have, const rlx_prim *const *want)
{
    rlx_resize_even even[RLX_LOW_RANK];
    rlx_resize_taps taps[RLX_LOW_RANK];
    bool is[RLX_LOW_RANK];
    for (size_t i = 0; i < r->count; i++) {
        begin_axis(r, items[i]);
        is[i] = is_even(r, &even[i]);
        if (!is[i])
            fill_tables(r);
        taps[i] = (rlx_resize_taps){ taps_of(r), r->index, r->weight, r->outside, r->fill };
    }
    rlx_resize_in_tiles(&r->pass, r->axes, have, want, items, r->count);
    for (size_t i = 0; i < r->count; i++) {
        const size_t axis = r->axes[items[i]];
        const bool last = i + 1 == r->count;
        if (!is[i] || !rlx_resize_even_axis(&r->pass, axis, want[items[i]], &even[i], last))
            rlx_resize_axis(&r->pass, axis, want[items[i]], &taps[i], last);
    }
}

/* ---- the call: data, size, scales, roi; attributes axes, method, coordinate_transformation_mode,
 * rounding_method, cubic_alpha, cubic_exclude, antialias, extrapolation_value -------------------- */

static int word_of(const rlx_attr *a, const char *const *words)
{
    rlx_slice text = rlx_attr_text(a);
    for (int i = 0; words[i]; i++)
        if (rlx_slice_is(text, words[i]))
            return i;
    return -1;
}

static bool read_vector(resize *r, size_t arg, size_t length, rlx_lowering_tensor *out)
{
    const rlx_call *call = r->b.l->call;
    if (arg >= call->num_args || !call->args[arg])
        return true;
    if (!rlx_lowering_input(&r->b, arg, out))
        return false;
    if (out->shape.sizes.n != 1 || !rlx_dtype_is_float(out->dtype))
        return rlx_lowering_give_up(&r->b, "scales and roi are no vectors of floats");
    const rlx_prim *want = number(r, (int64_t)length);
    if (out->shape.sizes.at[0] != want)
        rlx_lowering_require(&r->b, rlx_tir_eq(&r->b.t, out->shape.sizes.at[0], want), RLX_ASSERTION_SIZES,
                             "scales or roi do not have one or two numbers for each axis");
    return true;
}

/* Sizes of the result that are some times those of data are written so. */
static void express_multiples(resize *r)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(r->b.l->result);
    const rlx_shape_expr *s = t ? rlx_as_shape_expr(t->shape) : NULL;
    for (size_t i = 0; s && i < s->num_values && i < r->x.shape.sizes.n; i++) {
        int64_t size, times = r->x.shape.program[i] && !rlx_int_literal(r->x.shape.program[i], &size)
                                  ? rlx_lowering_times(&r->b, s->values[i], r->x.shape.program[i])
                                  : 0;
        if (times > 1)
            rlx_lowering_express(&r->b, s->values[i], rlx_tir_mul(&r->b.t, r->x.shape.sizes.at[i], number(r, times)));
    }
}

static bool read_call(resize *r, rlx_lower_request *l)
{
    const rlx_attr *axes = rlx_lowering_attr(l, 0);
    r->count = rlx_attr_count(axes);
    r->method = word_of(rlx_lowering_attr(l, 1), methods);
    r->mode = word_of(rlx_lowering_attr(l, 2), modes);
    r->rounding = word_of(rlx_lowering_attr(l, 3), roundings);
    r->alpha = rlx_attr_as_float(rlx_lowering_attr(l, 4), -0.75);
    r->exclude = rlx_attr_as_bool(rlx_lowering_attr(l, 5), false);
    r->antialias = rlx_attr_as_bool(rlx_lowering_attr(l, 6), false);
    r->fill = rlx_attr_as_float(rlx_lowering_attr(l, 7), 0);
    if (r->method < 0 || r->mode < 0 || r->rounding < 0)
        return rlx_lowering_give_up(&r->b, "the method, the coordinate_transformation_mode or the rounding_method is not known");
    if (r->count > RLX_LOW_RANK || !rlx_lowering_input(&r->b, 0, &r->x) || !read_vector(r, 2, r->count, &r->scales) ||
        !read_vector(r, 3, 2 * r->count, &r->roi))
        return false;
    express_multiples(r);
    if (!rlx_lowering_output(&r->b, NULL, &r->out))
        return false;
    if (r->mode == CROP && !r->roi.buffer)
        return rlx_lowering_give_up(&r->b, "there is no roi to crop");
    if (r->method != NEAREST && rlx_dtype_is_bool(r->x.dtype))
        return rlx_lowering_refuse_dtype(&r->b);
    for (size_t i = 0; i < r->count; i++)
        if (!rlx_lowering_axis(&r->b, rlx_attr_item(axes, i), r->x.shape.sizes.n, &r->axes[i]))
            return false;
    bool narrow = rlx_dtype_is_float(r->x.dtype) ? r->x.dtype != RELAX_FLOAT64 : rlx_dtype_bits(r->x.dtype) <= 16;
    r->wide = narrow ? RELAX_FLOAT32 : RELAX_FLOAT64;
    return true;
}

const rlx_prim_func *rlx_lower_resize_axes(rlx_lower_request *l)
{
    resize r = { .count = 0 };
    const rlx_prim *have[RLX_LOW_RANK], *want[RLX_LOW_RANK];
    size_t items[RLX_LOW_RANK];
    rlx_lowering_begin(&r.b, l);
    if (!read_call(&r, l))
        return rlx_lowering_end(&r.b);
    rlx_resize_begin(&r.pass, &r.b, &r.x, &r.out, r.method == NEAREST ? RELAX_VOID : r.wide);
    for (size_t i = 0; i < r.count; i++) {
        have[i] = r.x.shape.sizes.at[r.axes[i]];
        want[i] = r.out.shape.sizes.at[r.axes[i]];
    }
    rlx_resize_order(r.method == NEAREST, have, want, r.count, items);
    if (r.method != NEAREST && !r.antialias)
        resize_by_few(&r, items, have, want);
    else
        for (size_t i = 0; i < r.count; i++)
            resize_axis(&r, items[i], i + 1 == r.count);
    return rlx_resize_end(&r.pass);
}
