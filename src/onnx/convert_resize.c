/*- convert_resize.c: images at another size, axis by axis.
 *
 *     y[i] = sum over taps k of x[position[k][i]] * weight[k][i]
 *
 * With known sizes positions and weights are constants; with others they are computed when it runs. */
#include "onnx/onnx_int.h"

#include <math.h>

enum { MOST_TAPS = 64, MOST_POSITIONS = 1 << 16 };
enum method { NEAREST, LINEAR, CUBIC };

typedef struct axis_plan {
    int64_t axis, in, out;          /* sizes; 0: not known */
    const rlx_prim *in_size, *out_size;
    double scale;                   /* 0: the quotient of the sizes */
    double roi[2];
} axis_plan;

typedef struct resize {
    enum method method;
    rlx_slice coordinates, rounding;
    double alpha, extrapolation;
    bool exclude, antialias, crops;
} resize;

/* ---- where an element of the result lies ------------------------------------------------------- */

static double place_of(const resize *r, const axis_plan *a, double i)
{
    double n = (double)a->in, scale = a->scale, length = n * scale;
    if (rlx_slice_is(r->coordinates, "asymmetric"))
        return i / scale;
    if (rlx_slice_is(r->coordinates, "align_corners"))
        return length == 1 ? 0 : i * (n - 1) / (length - 1);
    if (rlx_slice_is(r->coordinates, "pytorch_half_pixel"))
        return length == 1 ? -0.5 : (i + 0.5) / scale - 0.5;
    if (rlx_slice_is(r->coordinates, "tf_half_pixel_for_nn"))
        return (i + 0.5) / scale;
    if (rlx_slice_is(r->coordinates, "half_pixel_symmetric"))
        return n / 2 * (1 - (double)a->out / length) + (i + 0.5) / scale - 0.5;
    if (rlx_slice_is(r->coordinates, "tf_crop_and_resize"))
        return a->out > 1 ? a->roi[0] * (n - 1) +
                                i * (a->roi[1] - a->roi[0]) * (n - 1) / ((double)a->out - 1)
                          : 0.5 * (a->roi[0] + a->roi[1]) * (n - 1);
    return (i + 0.5) / scale - 0.5;
}

static double nearest(const resize *r, double x)
{
    if (rlx_slice_is(r->rounding, "floor"))
        return floor(x);
    if (rlx_slice_is(r->rounding, "ceil"))
        return ceil(x);
    return rlx_slice_is(r->rounding, "round_prefer_ceil") ? floor(x + 0.5) : ceil(x - 0.5);
}

static double filter(const resize *r, double x)
{
    double a = r->alpha;
    x = fabs(x);
    if (r->method == LINEAR)
        return x < 1 ? 1 - x : 0;
    return x < 1   ? ((a + 2) * x - (a + 3)) * x * x + 1
           : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
                   : 0;
}

/* ---- constants --------------------------------------------------------------------------------- */

typedef struct taps { size_t count; int64_t *at; double *weight; } taps; /* [tap][element] */

static bool plan_taps(rlx_onnx_conv *c, const resize *r, const axis_plan *a, taps *t)
{
    double shrink = r->antialias && a->scale < 1 ? a->scale : 1;
    double reach = r->method == NEAREST ? 0 : (r->method == LINEAR ? 1 : 2) / shrink;
    int64_t start = r->method == NEAREST ? 0 : (int64_t)floor(-reach) + 1;
    t->count = r->method == NEAREST ? 1 : (size_t)(2 - 2 * start);
    if (t->count > MOST_TAPS || a->out > MOST_POSITIONS)
        return false;
    t->at = rlx_onnx_array(c, t->count * (size_t)a->out, sizeof *t->at);
    t->weight = rlx_onnx_array(c, t->count * (size_t)a->out, sizeof *t->weight);
    for (int64_t i = 0; t->at && t->weight && i < a->out; i++) {
        double x = place_of(r, a, (double)i), sum = 0;
        double base = r->method == NEAREST ? nearest(r, x) : floor(x);
        for (size_t k = 0; k < t->count; k++) {
            double p = base + (double)start + (double)k;
            double w = r->method == NEAREST ? 1 : filter(r, (p - x) * shrink);
            bool outside = p < 0 || p > (double)a->in - 1;
            if (outside && r->exclude)
                w = 0;
            size_t to = k * (size_t)a->out + (size_t)i;
            t->weight[to] = w;
            t->at[to] = p < 0 ? 0 : p > (double)a->in - 1 ? a->in - 1 : (int64_t)p;
            sum += w;
        }
        bool normalise = r->method != NEAREST && (r->exclude || shrink < 1) && sum != 0;
        for (size_t k = 0; normalise && k < t->count; k++)
            t->weight[k * (size_t)a->out + (size_t)i] /= sum;
    }
    return t->at && t->weight;
}

/* A vector along `axis` of something of rank n. */
static const rlx_expr *along(rlx_onnx_conv *c, const rlx_expr *v, int64_t axis, int n)
{
    int64_t axes[64];
    for (int64_t i = 0; i < n - 1 - axis; i++)
        axes[i] = i + 1;
    return rlx_onnx_expand_dims(c, v, axes, (size_t)(n - 1 - axis));
}

static const rlx_expr *apply_taps(rlx_onnx_conv *c, const rlx_expr *x, const axis_plan *a,
                                  const taps *t, int n, bool weighs)
{
    rlx_dtype dtype = rlx_onnx_dtype_of(c, x);
    const rlx_expr *sum = NULL;
    for (size_t k = 0; k < t->count; k++) {
        const rlx_expr *at =
            rlx_onnx_const_ints(c, RELAX_INT64, t->at + k * (size_t)a->out, (size_t)a->out);
        const rlx_expr *y = rlx_onnx_call(c, "take", "x x axis=i", x, at, a->axis);
        if (weighs) {
            const rlx_expr *w =
                rlx_onnx_const(c, dtype, &a->out, 1, t->weight + k * (size_t)a->out);
            y = rlx_onnx_call2(c, "multiply", y, along(c, w, a->axis, n));
        }
        sum = sum ? rlx_onnx_call2(c, "add", sum, y) : y;
    }
    return sum;
}

/* What lies outside of the image in crop mode. */
static const rlx_expr *extrapolated(rlx_onnx_conv *c, const resize *r, const axis_plan *a,
                                    const rlx_expr *y, int n)
{
    double *inside = rlx_onnx_array(c, (size_t)a->out, sizeof *inside);
    for (int64_t i = 0; inside && i < a->out; i++) {
        double x = place_of(r, a, (double)i);
        inside[i] = x >= 0 && x <= (double)a->in - 1;
    }
    const rlx_expr *m = inside ? rlx_onnx_const(c, RELAX_BOOL, &a->out, 1, inside) : NULL;
    return rlx_onnx_where(c, along(c, m, a->axis, n), y,
                          rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, y), r->extrapolation));
}

/* ---- sizes that are not known ------------------------------------------------------------------ */

static const rlx_expr *number(rlx_onnx_conv *c, const rlx_prim *p)
{
    const rlx_expr *t = p ? rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &p, 1)) : NULL;
    return rlx_onnx_cast(c, t, RELAX_FLOAT64);
}

static const rlx_expr *with(rlx_onnx_conv *c, const char *op, const rlx_expr *x, double v)
{
    return x ? rlx_onnx_call2(c, op, x, rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), v)) : NULL;
}

static const rlx_expr *places(rlx_onnx_conv *c, const resize *r, const axis_plan *a)
{
    const rlx_expr *i = rlx_onnx_cast(c, rlx_onnx_arange(c, a->out_size, RELAX_INT64),
                                      RELAX_FLOAT64);
    const rlx_expr *n = number(c, a->in_size), *m = number(c, a->out_size), *scale;
    scale = a->scale != 0 ? rlx_onnx_scalar(c, RELAX_FLOAT64, a->scale)
                          : rlx_onnx_call2(c, "divide", m, n);
    if (rlx_slice_is(r->coordinates, "asymmetric"))
        return rlx_onnx_call2(c, "divide", i, scale);
    if (rlx_slice_is(r->coordinates, "align_corners")) {
        const rlx_expr *l = with(c, "subtract", rlx_onnx_call2(c, "multiply", n, scale), 1);
        l = rlx_onnx_where(c, with(c, "equal", l, 0), rlx_onnx_scalar(c, RELAX_FLOAT64, 1), l);
        return rlx_onnx_call2(c, "divide",
                              rlx_onnx_call2(c, "multiply", i, with(c, "subtract", n, 1)), l);
    }
    const rlx_expr *x = rlx_onnx_call2(c, "divide", with(c, "add", i, 0.5), scale);
    if (rlx_slice_is(r->coordinates, "tf_half_pixel_for_nn"))
        return x;
    x = with(c, "subtract", x, 0.5);
    bool one = rlx_slice_is(r->coordinates, "pytorch_half_pixel");
    if (one)
        x = rlx_onnx_where(c, with(c, "equal", m, 1), rlx_onnx_scalar(c, RELAX_FLOAT64, -0.5), x);
    if (!one && !rlx_slice_is(r->coordinates, "half_pixel"))
        return rlx_onnx_fail(c, RLX_ON08, "this way of placing elements needs sizes that are known");
    return x;
}

static const rlx_expr *rounded(rlx_onnx_conv *c, const resize *r, const rlx_expr *x)
{
    if (rlx_slice_is(r->rounding, "floor"))
        return rlx_onnx_call1(c, "floor", x);
    if (rlx_slice_is(r->rounding, "ceil"))
        return rlx_onnx_call1(c, "ceil", x);
    return rlx_slice_is(r->rounding, "round_prefer_ceil")
               ? rlx_onnx_call1(c, "floor", with(c, "add", x, 0.5))
               : rlx_onnx_call1(c, "ceil", with(c, "subtract", x, 0.5));
}

static const rlx_expr *taken(rlx_onnx_conv *c, const rlx_expr *x, const axis_plan *a,
                             const rlx_expr *at)
{
    const rlx_expr *top = with(c, "subtract", number(c, a->in_size), 1);
    at = rlx_onnx_call2(c, "minimum", with(c, "maximum", at, 0), top);
    return rlx_onnx_call(c, "take", "x x axis=i", x, rlx_onnx_cast(c, at, RELAX_INT64), a->axis);
}

static const rlx_expr *resize_open(rlx_onnx_conv *c, const resize *r, const axis_plan *a,
                                   const rlx_expr *x, int n)
{
    const rlx_expr *p = places(c, r, a);
    if (r->method == NEAREST)
        return taken(c, x, a, rounded(c, r, p));
    if (r->method == CUBIC || r->antialias || r->exclude)
        return rlx_onnx_fail(c, RLX_ON08, "this method needs sizes that are known");
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    const rlx_expr *base = rlx_onnx_call1(c, "floor", p);
    const rlx_expr *w = rlx_onnx_cast(c, rlx_onnx_call2(c, "subtract", p, base), t);
    const rlx_expr *v = w ? rlx_onnx_call2(c, "subtract", rlx_onnx_scalar(c, t, 1), w) : NULL;
    const rlx_expr *y = rlx_onnx_call2(c, "multiply", taken(c, x, a, base), along(c, v, a->axis, n));
    return rlx_onnx_call2(c, "add", y,
                          rlx_onnx_call2(c, "multiply", taken(c, x, a, with(c, "add", base, 1)),
                                         along(c, w, a->axis, n)));
}

/* ---- the operator ------------------------------------------------------------------------------ */

static const rlx_expr *resize_axis(rlx_onnx_conv *c, const resize *r, axis_plan *a,
                                   const rlx_expr *x, int n)
{
    taps t;
    bool known = rlx_int_literal(a->in_size, &a->in) && rlx_int_literal(a->out_size, &a->out);
    if (a->in_size == a->out_size && (a->scale == 1 || a->scale == 0) && !r->crops)
        return x;
    if (!known)
        return r->crops ? rlx_onnx_fail(c, RLX_ON08, "cropping needs sizes that are known")
                        : resize_open(c, r, a, x, n);
    if (a->scale == 0)
        a->scale = (double)a->out / (double)a->in;
    if (a->in < 1)
        return rlx_onnx_fail(c, RLX_ON05, "an axis of size 0 cannot be resized");
    if (!plan_taps(c, r, a, &t))
        return rlx_onnx_fail(c, RLX_ON02, "the result, or the filter, is too large");
    x = apply_taps(c, x, a, &t, n, r->method != NEAREST);
    return r->crops && x ? extrapolated(c, r, a, x, n) : x;
}

static bool read_method(rlx_onnx_conv *c, resize *r)
{
    rlx_slice mode = rlx_onnx_string(c, "mode", "nearest");
    bool old = c->version < 11;
    r->method = rlx_slice_is(mode, "nearest") ? NEAREST : rlx_slice_is(mode, "cubic") ? CUBIC : LINEAR;
    if (r->method == LINEAR && !rlx_slice_is(mode, "linear") && !rlx_slice_is(mode, "bilinear"))
        return rlx_onnx_fail(c, RLX_ON05, "there is no such mode") != NULL;
    old |= rlx_slice_is(c->node->op, "Upsample");
    r->coordinates = old ? RLX_SLICE("asymmetric")
                         : rlx_onnx_string(c, "coordinate_transformation_mode", "half_pixel");
    r->rounding =
        old ? RLX_SLICE("floor") : rlx_onnx_string(c, "nearest_mode", "round_prefer_floor");
    r->alpha = rlx_onnx_float(c, "cubic_coeff_a", -0.75);
    r->extrapolation = rlx_onnx_float(c, "extrapolation_value", 0);
    r->exclude = rlx_onnx_int(c, "exclude_outside", 0) != 0;
    r->antialias = rlx_onnx_int(c, "antialias", 0) != 0;
    r->crops = rlx_slice_is(r->coordinates, "tf_crop_and_resize");
    return !c->failed;
}

typedef struct targets {
    const int64_t *axes; size_t count;
    const double *scales;
    rlx_onnx_ints sizes;
    const double *roi;
} targets;

static bool is_given(rlx_onnx_conv *c, size_t i)
{
    int64_t n;
    const rlx_expr *e = rlx_onnx_has(c, i) ? rlx_onnx_input(c, i) : NULL;
    return e && !(rlx_onnx_static_dim(c, e, 0, &n) && n == 0);
}

static bool read_targets(rlx_onnx_conv *c, const resize *r, int rank, targets *t)
{
    size_t n, scales = c->version < 11 ? 1 : 2;
    bool ok;
    t->axes = rlx_onnx_axes(c, 99, rank, &t->count, &ok);
    if (!t->axes)
        t->count = (size_t)rank;
    if (c->version < 9) {
        t->scales = rlx_onnx_float_list(c, "scales", &n);
    } else if (is_given(c, scales)) {
        t->scales = rlx_onnx_floats_of(c, rlx_onnx_input(c, scales), &n);
        if (!t->scales)
            return rlx_onnx_needs(c, scales, "scales") != NULL;
    } else if (c->version >= 11) {
        if (!rlx_onnx_sizes(c, 3, "sizes", &t->sizes))
            return false;
        n = t->sizes.len;
    }
    if (!ok || (!t->scales && !t->sizes.data) || n != t->count)
        return !c->failed && rlx_onnx_fail(c, RLX_ON05, "scales or sizes do not fit the axes") != NULL;
    if (r->crops && !(t->roi = rlx_onnx_floats_of(c, rlx_onnx_input(c, 1), &n)))
        return rlx_onnx_needs(c, 1, "roi") != NULL;
    return !r->crops || n == 2 * t->count ||
           rlx_onnx_fail(c, RLX_ON05, "roi does not fit the axes") != NULL;
}

/* One scale for all axes, the least or the greatest. */
static bool keep_aspect(rlx_onnx_conv *c, const targets *t, axis_plan *a)
{
    rlx_slice policy = rlx_onnx_string(c, "keep_aspect_ratio_policy", "stretch");
    if (!t->sizes.data || rlx_slice_is(policy, "stretch"))
        return true;
    double scale = rlx_slice_is(policy, "not_larger") ? INFINITY : 0;
    for (size_t i = 0; i < t->count; i++) {
        int64_t in, out;
        if (!rlx_int_literal(a[i].in_size, &in) || !rlx_int_literal(a[i].out_size, &out) || in < 1)
            return rlx_onnx_fail(c, RLX_ON08, "keep_aspect_ratio_policy needs sizes that are "
                                 "known") != NULL;
        double s = (double)out / (double)in;
        scale = rlx_slice_is(policy, "not_larger") ? fmin(scale, s) : fmax(scale, s);
    }
    for (size_t i = 0; i < t->count; i++) {
        int64_t in = 0;
        rlx_int_literal(a[i].in_size, &in);
        a[i].scale = scale;
        a[i].out_size = rlx_int64(c->ctx, (int64_t)floor(scale * (double)in + 0.5));
    }
    return true;
}

/* floor(size * scale): of a symbolic size only for whole scales and their inverses */
static const rlx_prim *scaled_size(rlx_onnx_conv *c, const rlx_prim *in, double scale)
{
    int64_t n;
    if (rlx_int_literal(in, &n))
        return rlx_int64(c->ctx, (int64_t)floor((double)n * scale));
    double whole = round(scale), inverse = round(1 / scale);
    if (scale == whole)
        return rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, in, rlx_int64(c->ctx, (int64_t)whole)));
    if (scale > 0 && 1 / inverse == scale)
        return rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, in,
                                                    rlx_int64(c->ctx, (int64_t)inverse)));
    /* the scale as a fraction of 2^k, which float32 always is */
    int k = 0;
    double m = scale;
    while (m != floor(m) && k < 40)
        m *= 2, k++;
    return m < 1e12 ? rlx_onnx_simplify(
                          c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV,
                                             rlx_fold_mul(c->ctx, in, rlx_int64(c->ctx, (int64_t)m)),
                                             rlx_int64(c->ctx, (int64_t)1 << k)))
                    : rlx_onnx_fail(c, RLX_ON08, "a scale needs sizes that are known");
}

RLX_ONNX_CONVERTER(convert_resize)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    resize r = { .method = NEAREST };
    targets t = { .axes = NULL };
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!d || n > 60 || !read_method(c, &r) || !read_targets(c, &r, (int)n, &t))
        return false;
    axis_plan *a = rlx_onnx_array(c, t.count, sizeof *a);
    for (size_t i = 0; a && i < t.count; i++) {
        int64_t axis = t.axes ? t.axes[i] : (int64_t)i;
        a[i] = (axis_plan){ .axis = axis,
                            .in_size = d[axis],
                            .scale = t.scales ? t.scales[i] : 0,
                            .roi = { t.roi ? t.roi[i] : 0, t.roi ? t.roi[i + t.count] : 1 } };
        a[i].out_size = t.scales ? scaled_size(c, d[axis], t.scales[i]) : t.sizes.data[i];
        if (!a[i].out_size || (t.scales && !(t.scales[i] > 0)))
            return rlx_onnx_fail(c, RLX_ON05, "a scale is not above 0") != NULL;
    }
    if (!a || !keep_aspect(c, &t, a))
        return false;
    rlx_dtype dtype = rlx_onnx_dtype_of(c, x);
    bool wide = r.method != NEAREST && (!rlx_dtype_is_float(dtype) || rlx_dtype_bits(dtype) < 32);
    const rlx_expr *y = wide ? rlx_onnx_cast(c, x, RELAX_FLOAT32) : x;
    for (size_t i = t.count; i-- > 0 && y;)
        y = resize_axis(c, &r, &a[i], y, (int)n);
    return rlx_onnx_output(c, 0, wide ? rlx_onnx_cast(c, y, dtype) : y);
}
