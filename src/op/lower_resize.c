/*- lower_resize.c: images of one to three axes at another size.
 *
 *     index[k, o], weight[k, o]      for each place o along an axis of the result: the elements of
 *                                    data that it is made of, and their shares. Blocks "slices", "rows", "columns"
 *     out[n, c, y, x]                sum over i, k of weight[i, y] * weight[k, x] *
 *                                    data[n, c, index[i, y], index[k, x]]
 *
 * Sums are those along the last axis first, so that one axis comes after the other (lower_resize.h); at once they are
 * computed where crops have places outside of data, or where a spatial axis is in parts.
 *
 * A place is a quotient of integers where it can be, so that what lies half between two elements is
 * seen to do so. Elements beyond the ends of data are those at its ends.
 */
/* built for size */
#include "op/lower_resize.h"

enum { MAX_TAPS = 4 };

typedef enum place_mode {
    HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, PYTORCH_HALF_PIXEL, HALF_PIXEL_FOR_NN, CROP
} place_mode;
typedef enum rounding { TIES_DOWN, TIES_UP, DOWN, UP } rounding;
typedef enum method { NEAREST, LINEAR, CUBIC } method;

/* A name of an attribute and what it means. */
typedef struct word { const char *name; int value; } word;
static const word methods[] = { { "nearest_neighbor", NEAREST }, { "linear", LINEAR }, { "cubic", CUBIC } };
static const word modes[] = {
    { "half_pixel", HALF_PIXEL },
    { "align_corners", ALIGN_CORNERS },
    { "asymmetric", ASYMMETRIC },
    { "pytorch_half_pixel", PYTORCH_HALF_PIXEL },
    { "tf_half_pixel_for_nn", HALF_PIXEL_FOR_NN },
    { "tf_crop_and_resize", CROP },
};
static const word roundings[] = { { "", TIES_DOWN },
                                  { "round", TIES_DOWN },
                                  { "round_prefer_floor", TIES_DOWN },
                                  { "round_prefer_ceil", TIES_UP },
                                  { "floor", DOWN },
                                  { "ceil", UP } };

/* One axis of the result. */
typedef struct axis {
    const rlx_prim *have, *want;        /* sizes of data and of the result */
    double begin, end;                  /* of the part that is cropped */
    const rlx_buffer *index, *weight;   /* weight NULL: one element, with share 1 */
    const rlx_buffer *outside;          /* NULL: no place is outside of data */
} axis;

typedef struct resize {
    rlx_lowering b;
    rlx_lowering_side x, out;
    axis axes[3];
    size_t n;                           /* spatial axes */
    method method;
    place_mode mode;
    rounding rounding;
    int taps;
    rlx_dtype wide;
} resize;

static const rlx_prim *number(resize *r, int64_t v) { return rlx_tir_int(&r->b.t, v); }
static const rlx_prim *real(resize *r, rlx_dtype t, double v) { return rlx_tir_number(&r->b.t, t, v); }
static const rlx_prim *plus(resize *r, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_add(&r->b.t, a, b);
}
static const rlx_prim *minus(resize *r, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_sub(&r->b.t, a, b);
}
static const rlx_prim *times(resize *r, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_mul(&r->b.t, a, b);
}

/* ---- places --------------------------------------------------------------------------------- */

/* A place in data: base + rest / whole, 0 <= rest < whole. position: the same as one float64, NULL
 * where the quotient is of integers. */
typedef struct place { const rlx_prim *base, *rest, *whole, *position; } place;

/* Of the part from begin to end, both between 0 and 1, of the way from the first element to the last. */
static place cropped(resize *r, const axis *a, const rlx_prim *o)
{
    rlx_tir *t = &r->b.t;
    const rlx_dtype f = RELAX_FLOAT64;
    const rlx_prim *one = number(r, 1), *last = rlx_tir_cast(t, f, minus(r, a->have, one)),
                   *steps = rlx_tir_max(t, minus(r, a->want, one), one);
    const rlx_prim *first = times(r, real(r, f, a->begin), last),
                   *length = times(r, real(r, f, a->end - a->begin), last),
                   *middle = times(r, real(r, f, 0.5 * (a->begin + a->end)), last);
    const rlx_prim *along = rlx_tir_div(t, times(r, rlx_tir_cast(t, f, o), length), rlx_tir_cast(t, f, steps));
    const rlx_prim *position = rlx_tir_let(
        t, "position", rlx_tir_select(t, rlx_tir_gt(t, a->want, one), plus(r, first, along), middle));
    const rlx_prim *base = rlx_tir_call1(t, "floor", position);
    return (place){ rlx_tir_cast(t, RELAX_INT64, base), minus(r, position, base), real(r, f, 1), position };
}

static place place_of(resize *r, const axis *a, const rlx_prim *o)
{
    rlx_tir *t = &r->b.t;
    const rlx_prim *one = number(r, 1), *two = number(r, 2), *zero = number(r, 0),
                   *top = times(r, plus(r, times(r, o, two), one), a->have),
                   *below = times(r, a->want, two);
    switch (r->mode) {
    case CROP: return cropped(r, a, o);
    case ASYMMETRIC:
        top = times(r, o, a->have);
        below = a->want;
        break;
    case ALIGN_CORNERS:
        top = times(r, o, minus(r, a->have, one));
        below = rlx_tir_max(t, minus(r, a->want, one), one);
        break;
    case HALF_PIXEL: top = minus(r, top, a->want); break;
    case PYTORCH_HALF_PIXEL:
        top = rlx_tir_select(t, rlx_tir_gt(t, a->want, one), minus(r, top, a->want), zero);
        break;
    case HALF_PIXEL_FOR_NN: break;
    }
    top = rlx_tir_let(t, "top", top);
    return (place){ rlx_tir_floor_div(t, top, below), rlx_tir_floor_mod(t, top, below), below, NULL };
}

static const rlx_prim *nearest(resize *r, const place *p)
{
    rlx_tir *t = &r->b.t;
    const rlx_prim *twice = plus(r, p->rest, p->rest), *up = NULL;
    switch (r->rounding) {
    case DOWN: return p->base;
    case UP: up = rlx_tir_gt(t, p->rest, rlx_tir_number(t, rlx_prim_dtype(p->rest), 0)); break;
    case TIES_DOWN: up = rlx_tir_gt(t, twice, p->whole); break;
    case TIES_UP: up = rlx_tir_ge(t, twice, p->whole); break;
    }
    return plus(r, p->base, rlx_tir_select(t, up, number(r, 1), number(r, 0)));
}

/* Shares of the elements base - 1 ... base + 2 for a place that is f behind base: the cubic whose
 * coefficient is alpha. */
static void cubic_weights(resize *r, const rlx_prim *f, const rlx_prim **out)
{
    double alpha = rlx_attr_as_float(rlx_lowering_attr(r->b.l, 5), -0.5);
    const double of[MAX_TAPS][4] = { { 0, alpha, -2 * alpha, alpha },
                                     { 1, 0, -(alpha + 3), alpha + 2 },
                                     { 0, -alpha, 2 * alpha + 3, -(alpha + 2) },
                                     { 0, 0, alpha, -alpha } };
    for (size_t k = 0; k < MAX_TAPS; k++) {
        out[k] = real(r, r->wide, of[k][3]);
        for (size_t i = 3; i-- > 0;)
            out[k] = plus(r, times(r, out[k], f), real(r, r->wide, of[k][i]));
    }
}

/* Elements outside of data get no share, the others more. */
static void leave_out(resize *r, const rlx_prim *const *inside, const rlx_prim **weight)
{
    rlx_tir *t = &r->b.t;
    const rlx_prim *sum = NULL;
    for (size_t k = 0; k < MAX_TAPS; k++) {
        weight[k] = rlx_tir_let(t, "share", rlx_tir_select(t, inside[k], weight[k], real(r, r->wide, 0)));
        sum = sum ? plus(r, sum, weight[k]) : weight[k];
    }
    sum = rlx_tir_let(t, "shares", sum);
    for (size_t k = 0; k < MAX_TAPS; k++)
        weight[k] = rlx_tir_div(t, weight[k], sum);
}

/* Fills index and weight of an axis, and outside where places may be there. */
static void fill_axis(resize *r, axis *a, const char *name)
{
    rlx_tir *t = &r->b.t;
    const rlx_prim *zero = number(r, 0), *end = minus(r, a->have, number(r, 1)),
                   *weight[MAX_TAPS] = { NULL }, *inside[MAX_TAPS];
    rlx_prim_list size = RLX_TIR_LIST(number(r, r->taps), a->want);
    rlx_lowering_list sizes = { { a->want }, 1 }, at;
    a->index = rlx_tir_alloc(t, "index", RELAX_INT64, size);
    a->weight = r->method == NEAREST ? NULL : rlx_tir_alloc(t, "weight", r->wide, size);
    a->outside = r->mode == CROP ? rlx_tir_alloc(t, "outside", RELAX_BOOL, RLX_TIR_LIST(a->want)) : NULL;
    rlx_lowering_open(&r->b, name, &sizes, &at);
    const rlx_prim *o = at.at[0];
    place p = place_of(r, a, o);
    const rlx_prim *first = rlx_tir_let(t, "first", r->method == NEAREST  ? nearest(r, &p)
                                                    : r->method == LINEAR ? p.base
                                                                          : minus(r, p.base, number(r, 1)));
    if (r->method != NEAREST) {
        const rlx_prim *f = rlx_tir_let(
            t, "f", rlx_tir_div(t, rlx_tir_cast(t, r->wide, p.rest), rlx_tir_cast(t, r->wide, p.whole)));
        weight[0] = minus(r, real(r, r->wide, 1), f);
        weight[1] = f;
        if (r->method == CUBIC)
            cubic_weights(r, f, weight);
    }
    for (int k = 0; k < r->taps; k++) {
        const rlx_prim *i = plus(r, first, number(r, k));
        inside[k] = rlx_tir_and(t, rlx_tir_ge(t, i, zero), rlx_tir_le(t, i, end));
        rlx_tir_store(t, a->index, RLX_TIR_LIST(number(r, k), o),
                      rlx_tir_max(t, rlx_tir_min(t, i, end), zero));
    }
    if (r->method == CUBIC && rlx_attr_as_int(rlx_lowering_attr(r->b.l, 6), 0))
        leave_out(r, inside, weight);
    for (int k = 0; k < r->taps && a->weight; k++)
        rlx_tir_store(t, a->weight, RLX_TIR_LIST(number(r, k), o), weight[k]);
    if (a->outside)
        rlx_tir_store(t, a->outside, RLX_TIR_LIST(o),
                      rlx_tir_or(t, rlx_tir_lt(t, p.position, real(r, RELAX_FLOAT64, 0)),
                                 rlx_tir_gt(t, p.position, rlx_tir_cast(t, RELAX_FLOAT64, end))));
    rlx_tir_end_block(t);
}

/* ---- the result ----------------------------------------------------------------------------- */

/* Element k of those that place o of an axis is made of, or its share. */
static const rlx_prim *tap(resize *r, const rlx_buffer *of, int k, const rlx_prim *o)
{
    return rlx_tir_load(&r->b.t, of, RLX_TIR_LIST(number(r, k), o));
}

/* The element whose number along each axis is in `taps`. */
static const rlx_prim *pixel(resize *r, const rlx_prim *const *o, const int *taps)
{
    const rlx_prim *from[RLX_LOW_AXES] = { o[0], o[1] };
    for (size_t i = 0; i < r->n; i++)
        from[2 + i] = tap(r, r->axes[i].index, taps[i], o[2 + i]);
    rlx_lowering_list at = rlx_lowering_placed(&r->b, &r->x, from);
    return rlx_tir_load(&r->b.t, r->x.t.buffer, rlx_lowering_items(&at));
}

/* Shares of slices along an axis, of what the shares along the axes behind it make of each: 64
 * elements at most. */
static const rlx_prim *blended(resize *r, const rlx_prim *const *o, size_t i, int *taps)
{
    const rlx_prim *sum = NULL;
    for (taps[i] = 0; taps[i] < r->taps; taps[i]++) {
        const rlx_prim *one = i + 1 < r->n ? blended(r, o, i + 1, taps)
                                              : rlx_tir_cast(&r->b.t, r->wide, pixel(r, o, taps));
        one = times(r, one, tap(r, r->axes[i].weight, taps[i], o[2 + i]));
        sum = sum ? plus(r, sum, one) : one;
    }
    return sum;
}

static const rlx_prim *resized(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    resize *r = user;
    rlx_tir *t = &b->t;
    const rlx_prim *o[RLX_LOW_AXES];
    int taps[3] = { 0 };
    rlx_dtype dtype = r->out.t.dtype;
    rlx_lowering_canonical(b, &r->out, index, o);
    const rlx_prim *v = r->method == NEAREST ? pixel(r, o, taps) : blended(r, o, 0, taps);
    v = rlx_tir_cast(t, dtype, v);
    if (r->mode != CROP)
        return v;
    double fill = rlx_attr_as_float(rlx_lowering_attr(b->l, 7), 0);
    const rlx_prim *outside = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const rlx_prim *one = rlx_tir_load(t, r->axes[i].outside, RLX_TIR_LIST(o[2 + i]));
        outside = outside ? rlx_tir_or(t, outside, one) : one;
    }
    return rlx_tir_if_then_else(
        t, outside, rlx_tir_cast(t, dtype, real(r, r->method == NEAREST ? RELAX_FLOAT64 : r->wide, fill)), v);
}

/* ---- the call: data, size; attributes roi, layout, method, coordinate_transformation_mode,
 * rounding_method, cubic_alpha, cubic_exclude, extrapolation_value, out_dtype ------------------ */

static bool read_word(resize *r, size_t attr, const word *words, size_t count, int *out)
{
    rlx_slice text = rlx_attr_text(rlx_lowering_attr(r->b.l, attr));
    for (size_t i = 0; i < count; i++)
        if (rlx_slice_is(text, words[i].name)) {
            *out = words[i].value;
            return true;
        }
    return rlx_lowering_give_up(&r->b, attr == 2   ? "the method is not known"
                                       : attr == 3 ? "the coordinate_transformation_mode is not known"
                                                   : "the rounding_method is not known");
}

static bool read_words(resize *r)
{
    static const int taps[] = { [NEAREST] = 1, [LINEAR] = 2, [CUBIC] = MAX_TAPS };
    int which = 0, places = 0, rounds = 0;
    if (!read_word(r, 2, methods, RLX_COUNT(methods), &which) ||
        !read_word(r, 3, modes, RLX_COUNT(modes), &places) ||
        (which == NEAREST && !read_word(r, 4, roundings, RLX_COUNT(roundings), &rounds)))
        return false;
    r->method = (method)which;
    r->mode = (place_mode)places;
    r->rounding = (rounding)rounds;
    r->taps = taps[which];
    return true;
}

/* Sizes of the result where inference knows its rank only: those of data, the spatial ones replaced
 * by the argument's. False: they are not known either. */
static bool read_size(resize *r, rlx_lowering_shape *out)
{
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(r->b.l->args[1]);
    *out = r->x.t.shape;
    if (!s || !s->has_values || s->num_values != r->n)
        return false;
    for (size_t i = 0; i < out->sizes.n; i++) {
        const char *axes = rlx_data_axes[r->n] + 2, *spatial = strchr(axes, r->x.layout.letter[i]);
        if (!spatial)
            continue;
        if (r->x.layout.factor[i])
            return false;
        out->program[i] = s->values[spatial - axes];
        out->sizes.at[i] = rlx_lowering_size(&r->b, out->program[i]);
    }
    return true;
}

static bool read_resize(resize *r, rlx_lower_request *l)
{
    const rlx_attr *layout = rlx_lowering_attr(l, 1), *roi = rlx_lowering_attr(l, 0);
    const rlx_attr_list *part = rlx_as_attr_list(roi);
    rlx_lowering_shape computed;
    if (!rlx_lowering_input(&r->b, 0, &r->x.t) || !read_words(r) ||
        !rlx_lowering_read_side(&r->b, &r->x, layout, rlx_data_axes[r->n]))
        return false;
    bool known = read_size(r, &computed);
    if (!rlx_lowering_output(&r->b, known ? &computed : NULL, &r->out.t) ||
        !rlx_lowering_read_side(&r->b, &r->out, layout, rlx_data_axes[r->n]))
        return false;
    if (r->mode == CROP && (!part || part->num_items != 2 * r->n))
        return rlx_lowering_give_up(&r->b, "roi is no list of two numbers for each axis");
    for (size_t i = 0; i < r->n; i++) {
        r->axes[i] = (axis){ .have = r->x.size[2 + i], .want = r->out.size[2 + i] };
        if (r->mode == CROP) {
            r->axes[i].begin = rlx_attr_as_float(part->items[i], 0);
            r->axes[i].end = rlx_attr_as_float(part->items[r->n + i], 0);
        }
    }
    if (r->method != NEAREST && rlx_dtype_is_bool(r->out.t.dtype))
        return rlx_lowering_refuse_dtype(&r->b);
    return true;
}

/* What shares and elements are multiplied in: float64 where float32 does not hold the elements. */
static rlx_dtype share_dtype(rlx_dtype t)
{
    bool narrow = rlx_lowering_is_float(t) ? t != RELAX_FLOAT64 : rlx_dtype_bits(t) <= 16;
    return narrow ? RELAX_FLOAT32 : RELAX_FLOAT64;
}

/* ---- axis by axis --------------------------------------------------------------------------- */

/* place_of and nearest in numbers. */
static int64_t nearest_in_numbers(const resize *r, int64_t have, int64_t want, int64_t o)
{
    int64_t top = (2 * o + 1) * have, below = 2 * want;
    switch (r->mode) {
    case ASYMMETRIC: top = o * have, below = want; break;
    case ALIGN_CORNERS: top = o * (have - 1), below = want > 1 ? want - 1 : 1; break;
    case PYTORCH_HALF_PIXEL: top = want > 1 ? top - want : 0; break;
    case HALF_PIXEL: top -= want; break;
    default: break;
    }
    int64_t rest = (top % below + below) % below, base = (top - rest) / below;
    bool up = r->rounding == UP ? rest > 0 : r->rounding == TIES_UP ? 2 * rest >= below : r->rounding == TIES_DOWN && 2 * rest > below;
    int64_t at = base + up;
    return at < 0 ? 0 : at < have ? at : have - 1;
}

/* The nearest elements of sizes that are known, if they lie so that they are moved without a table. */
static bool move_axis(resize *r, const axis *a, rlx_resize *pass, size_t at, bool last)
{
    enum { MOST_PLACES = 1 << 14 };
    int64_t have, want;
    if (r->method != NEAREST || !rlx_int_literal(a->have, &have) || !rlx_int_literal(a->want, &want) || have < 1 ||
        have > MOST_PLACES || want < 1 || want > MOST_PLACES)
        return false;
    int64_t *elements = rlx_new(r->b.l->ctx, (size_t)want * sizeof *elements);
    for (int64_t o = 0; o < want && elements; o++)
        elements[o] = nearest_in_numbers(r, have, want, o);
    return elements && rlx_resize_moved_axis(pass, at, elements, want, have, last);
}

/* Where a spatial axis stands in memory; false: it is in parts. */
static bool find_axis(const resize *r, size_t i, size_t *out)
{
    const char letter = rlx_data_axes[r->n][2 + i];
    const rlx_layout *layout = &r->x.layout;
    bool whole = true;
    for (size_t k = 0; k < layout->n; k++)
        if (layout->letter[k] == letter) {
            *out = k;
            whole = whole && !layout->factor[k];
        }
    return whole;
}

/* All places of an axis are elements of the same axis alone. False: the result has to be computed at once. */
static bool is_separable(const resize *r)
{
    bool is = r->mode != CROP;
    size_t at;
    for (size_t i = 0; i < r->n && is; i++)
        is = find_axis(r, i, &at);
    return is;
}

static const rlx_prim_func *resize_by_axis(resize *r, const char *const *names)
{
    rlx_resize pass;
    size_t at[3] = { 0 }, items[3];
    const bool moves = r->method == NEAREST;
    const rlx_prim *have[3], *want[3];
    for (size_t i = 0; i < r->n; i++) {
        have[i] = r->axes[i].have, want[i] = r->axes[i].want;
        (void)find_axis(r, i, &at[i]);
    }
    rlx_resize_order(moves, have, want, r->n, items);
    rlx_resize_begin(&pass, &r->b, &r->x.t, &r->out.t, moves ? RELAX_VOID : r->wide);
    for (size_t k = 0; k < r->n && !moves; k++)
        fill_axis(r, &r->axes[items[k]], names[r->n - 1 - items[k]]);
    if (!moves)
        rlx_resize_in_tiles(&pass, at, have, want, items, r->n);
    for (size_t k = 0; k < r->n; k++) {
        const size_t i = items[k];
        const bool last = k + 1 == r->n;
        axis *a = &r->axes[i];
        if (moves && move_axis(r, a, &pass, at[i], last))
            continue;
        if (moves)
            fill_axis(r, a, names[r->n - 1 - i]);
        const rlx_resize_taps taps = { r->taps, a->index, a->weight, NULL, 0 };
        rlx_resize_axis(&pass, at[i], a->want, &taps, last);
    }
    return rlx_resize_end(&pass);
}

const rlx_prim_func *rlx_lower_resize(rlx_lower_request *l)
{
    static const char *const names[] = { "columns", "rows", "slices" };
    resize r = { .n = l->row->member.number, .taps = 1 };
    rlx_lowering_begin(&r.b, l);
    if (!read_resize(&r, l))
        return rlx_lowering_end(&r.b);
    r.wide = share_dtype(r.x.t.dtype);
    if (is_separable(&r))
        return resize_by_axis(&r, names);
    for (size_t i = 0; i < r.n; i++)
        fill_axis(&r, &r.axes[i], names[r.n - 1 - i]);
    return rlx_lowering_mapped(&r.b, &r.out.t, resized, &r);
}
