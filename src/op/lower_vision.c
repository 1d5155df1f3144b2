/* lower_vision.c: grids of positions in images, samples of images at them, regions of interest. */
/* built for size */
#include "op/lower_int.h"

typedef struct vision {
    rlx_lowering_tensor x, g, out;
    rlx_dtype wide;                  /* what positions are computed in */
    bool corners, nearest, is_max, aligned;
    enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } padding;
    double scale;
    int64_t ratio;
} vision;

static const rlx_prim *whole(rlx_lowering *b, int64_t v) { return rlx_tir_int(&b->t, v); }
static const rlx_prim *real(rlx_lowering *b, const vision *v, double f)
{
    return rlx_tir_float(&b->t, v->wide, f);
}

static const rlx_prim *widened(rlx_lowering *b, const vision *v, const rlx_prim *x)
{
    return rlx_tir_cast(&b->t, v->wide, x);
}

/* ---- affine_grid ---------------------------------------------------------------------------- */

/* Where place i of `size` lies in -1 .. 1. */
static const rlx_prim *normalized(rlx_lowering *b, const vision *v, const rlx_prim *i,
                                  const rlx_prim *size)
{
    rlx_tir *t = &b->t;
    const rlx_prim *one = real(b, v, 1), *two = real(b, v, 2), *n = widened(b, v, size);
    i = widened(b, v, i);
    if (v->corners)
        return rlx_tir_sub(t, rlx_tir_div(t, rlx_tir_mul(t, i, two), rlx_tir_sub(t, n, one)), one);
    return rlx_tir_sub(t, rlx_tir_div(t, rlx_tir_add(t, rlx_tir_mul(t, i, two), one), n), one);
}

static const rlx_prim *affine(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    vision *v = user;
    rlx_tir *t = &b->t;
    size_t axes = index->n - 2;
    const rlx_prim *sum = NULL;
    for (size_t k = 0; k <= axes; k++) { /* the shift, then the slowest axis first */
        size_t column = axes - k;
        const rlx_prim *at[3] = { index->at[0], index->at[1], whole(b, (int64_t)column) };
        const rlx_prim *m = widened(b, v, rlx_tir_load(t, v->x.buffer, RLX_TIR_ITEMS(at, 3)));
        sum = !sum ? m
                   : rlx_tir_multiply_add(t, sum, m,
                                          normalized(b, v, index->at[1 + k],
                                                     v->out.shape.sizes.at[1 + k]));
    }
    return rlx_tir_cast(t, v->out.dtype, sum);
}

const rlx_prim_func *rlx_lower_affine_grid(rlx_lower_request *l)
{
    rlx_lowering b;
    vision v = { .corners = rlx_attr_as_bool(rlx_lowering_attr(l, 0), true) };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &v.x) || !rlx_lowering_output(&b, NULL, &v.out))
        return rlx_lowering_end(&b);
    v.wide = rlx_lowering_accumulator(v.x.dtype);
    for (size_t i = 2; v.corners && i < v.out.shape.sizes.n; i++)
        rlx_lowering_require(&b, rlx_tir_gt(&b.t, v.out.shape.sizes.at[i], whole(&b, 1)),
                             RLX_ASSERTION_SIZES, "with align_corners sizes are above 1");
    return rlx_lowering_mapped(&b, &v.out, affine, &v);
}

/* ---- grid_sample ---------------------------------------------------------------------------- */

/* Reflected between the ends until it is inside. */
static const rlx_prim *reflected(rlx_lowering *b, const vision *v, const rlx_prim *x,
                                 const rlx_prim *size)
{
    rlx_tir *t = &b->t;
    const rlx_prim *low = real(b, v, v->corners ? 0 : -0.5);
    const rlx_prim *span = v->corners ? rlx_tir_sub(t, size, real(b, v, 1)) : size;
    const rlx_prim *away = rlx_tir_call1(t, "fabs", rlx_tir_sub(t, x, low));
    const rlx_prim *times = rlx_tir_call1(t, "floor", rlx_tir_div(t, away, span));
    const rlx_prim *rest = rlx_tir_sub(t, away, rlx_tir_mul(t, times, span));
    const rlx_prim *odd = rlx_tir_ne(t, rlx_tir_call2(t, "fmod", times, real(b, v, 2)),
                                     real(b, v, 0));
    return rlx_tir_add(t, rlx_tir_select(t, odd, rlx_tir_sub(t, span, rest), rest), low);
}

/* The place along axis `axis` of data that the grid names. */
static const rlx_prim *source(rlx_lowering *b, vision *v, const rlx_lowering_list *index,
                              size_t axis)
{
    rlx_tir *t = &b->t;
    rlx_lowering_list at = *index;
    at.at[1] = whole(b, (int64_t)(index->n - 1 - axis)); /* x first */
    const rlx_prim *g = widened(b, v, rlx_tir_load(t, v->g.buffer, rlx_lowering_items(&at)));
    const rlx_prim *size = widened(b, v, v->x.shape.sizes.at[axis]), *one = real(b, v, 1);
    const rlx_prim *half = real(b, v, 0.5), *moved = rlx_tir_add(t, g, one);
    const rlx_prim *x =
        v->corners
            ? rlx_tir_mul(t, rlx_tir_mul(t, moved, rlx_tir_sub(t, size, one)), half)
            : rlx_tir_sub(t, rlx_tir_mul(t, rlx_tir_mul(t, moved, size), half), half);
    if (v->padding == PAD_REFLECTION)
        x = reflected(b, v, x, size);
    return v->padding == PAD_ZEROS
               ? x
               : rlx_tir_min(t, rlx_tir_max(t, x, real(b, v, 0)), rlx_tir_sub(t, size, one));
}

/* The element at whole numbers `at` of the spatial axes, 0 outside. */
static const rlx_prim *pixel(rlx_lowering *b, vision *v, const rlx_lowering_list *index,
                             const rlx_prim *const *at)
{
    rlx_tir *t = &b->t;
    rlx_lowering_list from = *index;
    const rlx_prim *inside = NULL;
    for (size_t i = 2; i < index->n; i++) {
        const rlx_prim *size = widened(b, v, v->x.shape.sizes.at[i]);
        const rlx_prim *good = rlx_tir_and(t, rlx_tir_ge(t, at[i], real(b, v, 0)),
                                           rlx_tir_lt(t, at[i], size));
        inside = inside ? rlx_tir_and(t, inside, good) : good;
        from.at[i] = rlx_tir_cast(t, RELAX_INT64, at[i]);
    }
    return rlx_tir_if_then_else(
        t, inside, widened(b, v, rlx_tir_load(t, v->x.buffer, rlx_lowering_items(&from))),
        real(b, v, 0));
}

static const rlx_prim *sampled(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    vision *v = user;
    rlx_tir *t = &b->t;
    const rlx_prim *at[RLX_LOW_AXES], *floor_of[RLX_LOW_AXES], *part[RLX_LOW_AXES], *sum = NULL;
    for (size_t i = 2; i < index->n; i++) {
        at[i] = source(b, v, index, i);
        floor_of[i] = rlx_tir_call1(t, v->nearest ? "round" : "floor", at[i]);
        part[i] = rlx_tir_sub(t, at[i], floor_of[i]);
    }
    if (v->nearest)
        return rlx_tir_cast(t, v->out.dtype, pixel(b, v, index, floor_of));
    size_t corners = (size_t)1 << (index->n - 2);
    for (size_t c = 0; c < corners; c++) {
        const rlx_prim *place[RLX_LOW_AXES], *weight = NULL;
        for (size_t i = 2; i < index->n; i++) {
            bool upper = c >> (index->n - 1 - i) & 1;
            const rlx_prim *share = upper ? part[i] : rlx_tir_sub(t, real(b, v, 1), part[i]);
            place[i] = upper ? rlx_tir_add(t, floor_of[i], real(b, v, 1)) : floor_of[i];
            weight = weight ? rlx_tir_mul(t, weight, share) : share;
        }
        const rlx_prim *one = rlx_tir_mul(t, pixel(b, v, index, place), weight);
        sum = sum ? rlx_tir_add(t, sum, one) : one;
    }
    return rlx_tir_cast(t, v->out.dtype, sum);
}

const rlx_prim_func *rlx_lower_grid_sample(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_slice method = rlx_attr_text(rlx_lowering_attr(l, 0)),
              padding = rlx_attr_text(rlx_lowering_attr(l, 2));
    vision v = { .corners = rlx_attr_as_bool(rlx_lowering_attr(l, 3), false),
                 .nearest = rlx_slice_is(method, "nearest"),
                 .padding = rlx_slice_is(padding, "border")       ? PAD_BORDER
                            : rlx_slice_is(padding, "reflection") ? PAD_REFLECTION
                                                                  : PAD_ZEROS };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &v.x) || !rlx_lowering_input(&b, 1, &v.g) ||
        !rlx_lowering_output(&b, NULL, &v.out))
        return rlx_lowering_end(&b);
    v.wide = rlx_lowering_accumulator(v.x.dtype);
    if (!v.nearest && !rlx_slice_is(method, "bilinear") && !rlx_slice_is(method, "trilinear"))
        rlx_lowering_give_up(&b, "of the methods only nearest and bilinear are computed");
    if (v.padding == PAD_ZEROS && !rlx_slice_is(padding, "zeros"))
        rlx_lowering_give_up(&b, "padding_mode is none of zeros, border and reflection");
    return rlx_lowering_mapped(&b, &v.out, sampled, &v);
}

/* ---- regions of interest -------------------------------------------------------------------- */

static const rlx_prim *roi(rlx_lowering *b, vision *v, const rlx_prim *k, int64_t column)
{
    return widened(b, v, rlx_tir_load(&b->t, v->g.buffer, RLX_TIR_LIST(k, whole(b, column))));
}

static const rlx_prim *roi_scaled(rlx_lowering *b, vision *v, const rlx_prim *k, int64_t column)
{
    return rlx_tir_mul(&b->t, roi(b, v, k, column), real(b, v, v->scale));
}

static bool begin_roi(rlx_lowering *b, vision *v, rlx_lower_request *l, size_t layout)
{
    rlx_lowering_begin(b, l);
    if (!rlx_lowering_input(b, 0, &v->x) || !rlx_lowering_input(b, 1, &v->g) ||
        !rlx_lowering_output(b, NULL, &v->out))
        return false;
    v->wide = rlx_lowering_accumulator(v->g.dtype);
    if (!rlx_dtype_is_float(v->wide) || !rlx_dtype_is_float(v->x.dtype))
        return rlx_lowering_refuse_dtype(b);
    if (!rlx_slice_is(rlx_attr_text(rlx_lowering_attr(l, layout)), "NCHW"))
        return rlx_lowering_give_up(b, "only the layout NCHW is computed");
    return true;
}

/* The region's first place and extent of a bin along axis 2 or 3. */
static void bin_of(rlx_lowering *b, vision *v, const rlx_lowering_list *at, size_t axis,
                   const rlx_prim **start, const rlx_prim **extent)
{
    rlx_tir *t = &b->t;
    int64_t column = axis == 2 ? 2 : 1;
    const rlx_prim *first = roi_scaled(b, v, at->at[0], column),
                   *length = rlx_tir_sub(t, roi_scaled(b, v, at->at[0], column + 2), first);
    if (!v->aligned)
        length = rlx_tir_max(t, length, real(b, v, 1));
    *extent = rlx_tir_div(t, length, widened(b, v, v->out.shape.sizes.at[axis]));
    *start = rlx_tir_add(t, first, rlx_tir_mul(t, widened(b, v, at->at[axis]), *extent));
}

/* Bilinear sample of image `n`, 0 beyond one pixel outside. */
static const rlx_prim *roi_sample(rlx_lowering *b, vision *v, const rlx_prim *n,
                                  const rlx_prim *c, const rlx_prim *const *place)
{
    rlx_tir *t = &b->t;
    const rlx_prim *low[2], *part[2], *outside = NULL, *sum = NULL;
    for (size_t i = 0; i < 2; i++) {
        const rlx_prim *size = widened(b, v, v->x.shape.sizes.at[2 + i]);
        const rlx_prim *bad = rlx_tir_or(t, rlx_tir_lt(t, place[i], real(b, v, -1)),
                                         rlx_tir_gt(t, place[i], size));
        const rlx_prim *in = rlx_tir_min(t, rlx_tir_max(t, place[i], real(b, v, 0)),
                                         rlx_tir_sub(t, size, real(b, v, 1)));
        outside = outside ? rlx_tir_or(t, outside, bad) : bad;
        low[i] = rlx_tir_call1(t, "floor", in);
        part[i] = rlx_tir_sub(t, in, low[i]);
    }
    for (size_t k = 0; k < 4; k++) {
        const rlx_prim *at[4] = { n, c, NULL, NULL }, *weight = NULL;
        for (size_t i = 0; i < 2; i++) {
            bool upper = k >> (1 - i) & 1;
            const rlx_prim *share = upper ? part[i] : rlx_tir_sub(t, real(b, v, 1), part[i]);
            const rlx_prim *y = rlx_tir_cast(t, RELAX_INT64, low[i]);
            at[2 + i] = upper ? rlx_tir_min(t, rlx_tir_add(t, y, whole(b, 1)),
                                            rlx_tir_sub(t, v->x.shape.sizes.at[2 + i],
                                                        whole(b, 1)))
                              : y;
            weight = weight ? rlx_tir_mul(t, weight, share) : share;
        }
        const rlx_prim *one =
            rlx_tir_mul(t, widened(b, v, rlx_tir_load(t, v->x.buffer, RLX_TIR_ITEMS(at, 4))),
                        weight);
        sum = sum ? rlx_tir_add(t, sum, one) : one;
    }
    return rlx_tir_if_then_else(t, outside, real(b, v, 0), sum);
}

/* Opens a block over the result and two axes that are reduced. */
static void open_region(rlx_lowering *b, vision *v, const rlx_prim *h, const rlx_prim *w,
                        rlx_lowering_list *at, const rlx_prim **r)
{
    rlx_lowering_list sizes = v->out.shape.sizes;
    bool reduced[RLX_LOW_RANK] = { false };
    reduced[4] = reduced[5] = true;
    sizes.at[4] = h;
    sizes.at[5] = w;
    sizes.n = 6;
    rlx_lowering_open_reduce(b, b->l->name.data, &sizes, reduced, at);
    r[0] = at->at[4];
    r[1] = at->at[5];
    at->n = 4;
}

const rlx_prim_func *rlx_lower_roi_align(rlx_lower_request *l)
{
    rlx_lowering b;
    vision v = { .scale = rlx_attr_as_float(rlx_lowering_attr(l, 1), 1),
                 .ratio = rlx_attr_as_int(rlx_lowering_attr(l, 2), -1),
                 .aligned = rlx_attr_as_bool(rlx_lowering_attr(l, 3), false),
                 .is_max = rlx_slice_is(rlx_attr_text(rlx_lowering_attr(l, 5)), "max") };
    rlx_lowering_list at;
    const rlx_prim *r[2], *place[2];
    rlx_tir *t = &b.t;
    if (!begin_roi(&b, &v, l, 4))
        return rlx_lowering_end(&b);
    if (v.ratio <= 0) {
        rlx_lowering_give_up(&b, "sample_ratio is not above 0, so that how many samples there are "
                                 "differs from region to region");
        return rlx_lowering_end(&b);
    }
    open_region(&b, &v, whole(&b, v.ratio), whole(&b, v.ratio), &at, r);
    for (size_t i = 0; i < 2; i++) {
        const rlx_prim *start, *extent;
        bin_of(&b, &v, &at, 2 + i, &start, &extent);
        const rlx_prim *step = rlx_tir_add(t, widened(&b, &v, r[i]), real(&b, &v, 0.5));
        place[i] = rlx_tir_add(t, start, rlx_tir_div(t, rlx_tir_mul(t, step, extent),
                                                     real(&b, &v, (double)v.ratio)));
    }
    const rlx_prim *n = rlx_tir_cast(t, RELAX_INT64, roi(&b, &v, at.at[0], 0));
    const rlx_prim *x = roi_sample(&b, &v, n, at.at[1], place);
    const rlx_prim *old = rlx_tir_load(t, v.out.buffer, rlx_lowering_items(&at));
    rlx_tir_init(t, v.out.buffer, rlx_lowering_items(&at),
                 v.is_max ? rlx_tir_infinity(t, v.out.dtype, true)
                          : rlx_tir_number(t, v.out.dtype, 0));
    if (!v.is_max)
        x = rlx_tir_div(t, x, real(&b, &v, (double)(v.ratio * v.ratio)));
    x = rlx_tir_cast(t, v.out.dtype, x);
    rlx_tir_store(t, v.out.buffer, rlx_lowering_items(&at),
                  v.is_max ? rlx_tir_max(t, old, x) : rlx_tir_add(t, old, x));
    rlx_tir_end_block(t);
    return rlx_lowering_end(&b);
}

/* Where the bin begins and ends along an axis of data, of whole pixels. */
static void pool_bounds(rlx_lowering *b, vision *v, const rlx_lowering_list *at, size_t axis,
                        const rlx_prim **from, const rlx_prim **to)
{
    rlx_tir *t = &b->t;
    int64_t column = axis == 2 ? 2 : 1;
    const rlx_prim *half = real(b, v, 0.5), *one = real(b, v, 1), *zero = real(b, v, 0);
    const rlx_prim *first = rlx_tir_call1(
        t, "floor", rlx_tir_add(t, roi_scaled(b, v, at->at[0], column), half));
    const rlx_prim *last = rlx_tir_call1(
        t, "floor", rlx_tir_add(t, roi_scaled(b, v, at->at[0], column + 2), half));
    const rlx_prim *length =
        rlx_tir_max(t, rlx_tir_add(t, rlx_tir_sub(t, last, first), one), one);
    const rlx_prim *bin = rlx_tir_div(t, length, widened(b, v, v->out.shape.sizes.at[axis]));
    const rlx_prim *i = widened(b, v, at->at[axis]),
                   *size = widened(b, v, v->x.shape.sizes.at[axis]);
    *from = rlx_tir_add(t, rlx_tir_call1(t, "floor", rlx_tir_mul(t, i, bin)), first);
    *to = rlx_tir_add(
        t, rlx_tir_call1(t, "ceil", rlx_tir_mul(t, rlx_tir_add(t, i, one), bin)), first);
    *from = rlx_tir_min(t, rlx_tir_max(t, *from, zero), size);
    *to = rlx_tir_min(t, rlx_tir_max(t, *to, zero), size);
}

/* The greatest element of each bin; an empty bin has 0, which every other element of it, there
 * being none, leaves. */
const rlx_prim_func *rlx_lower_roi_pool(rlx_lower_request *l)
{
    rlx_lowering b;
    vision v = { .scale = rlx_attr_as_float(rlx_lowering_attr(l, 1), 1) };
    rlx_lowering_list at;
    const rlx_prim *r[2], *inside = NULL, *filled = NULL;
    rlx_tir *t = &b.t;
    if (!begin_roi(&b, &v, l, 2))
        return rlx_lowering_end(&b);
    const rlx_buffer *best = rlx_tir_alloc(t, "best", v.out.dtype,
                                           rlx_lowering_items(&v.out.shape.sizes));
    open_region(&b, &v, v.x.shape.sizes.at[2], v.x.shape.sizes.at[3], &at, r);
    for (size_t i = 0; i < 2; i++) {
        const rlx_prim *from, *to, *x = widened(&b, &v, r[i]);
        pool_bounds(&b, &v, &at, 2 + i, &from, &to);
        const rlx_prim *good = rlx_tir_and(t, rlx_tir_ge(t, x, from), rlx_tir_lt(t, x, to));
        inside = inside ? rlx_tir_and(t, inside, good) : good;
    }
    const rlx_prim *n = rlx_tir_cast(t, RELAX_INT64, roi(&b, &v, at.at[0], 0));
    const rlx_prim *least = rlx_tir_infinity(t, v.out.dtype, true);
    rlx_tir_init(t, best, rlx_lowering_items(&at), least);
    rlx_tir_store(
        t, best, rlx_lowering_items(&at),
        rlx_tir_max(t, rlx_tir_load(t, best, rlx_lowering_items(&at)),
                    rlx_tir_if_then_else(
                        t, inside,
                        rlx_tir_load(t, v.x.buffer, RLX_TIR_LIST(n, at.at[1], r[0], r[1])),
                        least)));
    rlx_tir_end_block(t);
    rlx_lowering_open(&b, "empty", &v.out.shape.sizes, &at);
    for (size_t i = 0; i < 2; i++) {
        const rlx_prim *from, *to;
        pool_bounds(&b, &v, &at, 2 + i, &from, &to);
        const rlx_prim *some = rlx_tir_lt(t, from, to);
        filled = filled ? rlx_tir_and(t, filled, some) : some;
    }
    rlx_tir_store(t, v.out.buffer, rlx_lowering_items(&at),
                  rlx_tir_select(t, filled, rlx_tir_load(t, best, rlx_lowering_items(&at)),
                                 rlx_tir_number(t, v.out.dtype, 0)));
    rlx_tir_end_block(t);
    return rlx_lowering_end(&b);
}
