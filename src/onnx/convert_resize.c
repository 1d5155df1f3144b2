/* convert_resize.c: images, or any axes, at another size. */
#include "onnx/onnx_int.h"

#include <math.h>

enum method { NEAREST, LINEAR, CUBIC };

typedef struct axis_plan {
    int64_t axis;
    const rlx_prim *in_size, *out_size;
    double scale;                   /* 0: the quotient of the sizes */
    double roi[2];
} axis_plan;

typedef struct resize {
    enum method method;
    const char *coordinates, *rounding;
    double alpha, extrapolation;
    bool exclude, antialias, crops;
    bool ceils;                     /* nearest, of operator set 10 */
} resize;

static const char *const places[] = { "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
                                      "tf_half_pixel_for_nn", "half_pixel_symmetric", "tf_crop_and_resize", NULL };
static const char *const roundings[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL };

/* The attribute, whose default is the first word; NULL after a report. */
static const char *one_of(rlx_onnx_conv *c, const char *name, const char *const *words)
{
    rlx_slice text = rlx_onnx_string(c, name, words[0]);
    for (size_t i = 0; words[i]; i++)
        if (rlx_slice_is(text, words[i]))
            return words[i];
    return rlx_onnx_fail(c, RLX_ON05, "there is no %s of that name", name);
}

static bool read_method(rlx_onnx_conv *c, resize *r)
{
    rlx_slice mode = rlx_onnx_string(c, "mode", "nearest");
    bool old = c->version < 11;
    r->method = rlx_slice_is(mode, "nearest") ? NEAREST : rlx_slice_is(mode, "cubic") ? CUBIC : LINEAR;
    if (r->method == LINEAR && !rlx_slice_is(mode, "linear") && !rlx_slice_is(mode, "bilinear"))
        return rlx_onnx_fail(c, RLX_ON05, "there is no such mode") != NULL;
    old |= rlx_slice_is(c->node->op, "Upsample");
    r->coordinates = old ? "asymmetric" : one_of(c, "coordinate_transformation_mode", places);
    r->rounding = old ? "floor" : one_of(c, "nearest_mode", roundings);
    r->alpha = rlx_onnx_float(c, "cubic_coeff_a", -0.75);
    r->extrapolation = rlx_onnx_float(c, "extrapolation_value", 0);
    r->exclude = rlx_onnx_int(c, "exclude_outside", 0) != 0;
    r->antialias = rlx_onnx_int(c, "antialias", 0) != 0;
    r->ceils = c->version == 10 && r->method == NEAREST;
    r->crops = r->coordinates && strcmp(r->coordinates, "tf_crop_and_resize") == 0;
    return r->coordinates && r->rounding && !c->failed;
}

typedef struct targets {
    const int64_t *axes; size_t count;
    const double *scales;
    const rlx_expr *measured;       /* scales that are found when it runs */
    rlx_onnx_ints sizes;
    const double *roi;
} targets;

static bool is_given(rlx_onnx_conv *c, size_t i)
{
    int64_t n;
    const rlx_expr *e = rlx_onnx_has(c, i) ? rlx_onnx_input(c, i) : NULL;
    return e && !(rlx_onnx_static_dim(c, e, 0, &n) && n == 0);
}

/* Scales that are an operand, of which there is a known number. */
static bool measure_scales(rlx_onnx_conv *c, size_t i, targets *t, size_t *count)
{
    int64_t n;
    const rlx_expr *e = rlx_onnx_input(c, i);
    if (c->m->bind_first || !e || rlx_onnx_rank(c, e) != 1 || !rlx_onnx_static_dim(c, e, 0, &n))
        return false;
    t->measured = rlx_onnx_cast(c, e, RELAX_FLOAT64);
    *count = (size_t)n;
    return t->measured != NULL;
}

static bool read_targets(rlx_onnx_conv *c, const resize *r, int rank, targets *t)
{
    size_t n, scales = c->version < 11 ? 1 : 2;
    bool ok;
    t->axes = rlx_onnx_axes(c, 99, rank, &t->count, &ok);
    if (!t->axes)
        t->count = (size_t)rank;
    if (c->version < 7) { /* images alone */
        double *four = rlx_onnx_array(c, 4, sizeof *four);
        t->scales = four;
        n = four ? 4 : 0;
        for (size_t i = 0; i < n; i++)
            four[i] = i < 2 ? 1 : rlx_onnx_float(c, i == 2 ? "height_scale" : "width_scale", 0);
    } else if (c->version < 9) {
        t->scales = rlx_onnx_float_list(c, "scales", &n);
    } else if (is_given(c, scales)) {
        t->scales = rlx_onnx_floats_of(c, rlx_onnx_input(c, scales), &n);
        if (!t->scales && (r->ceils || !measure_scales(c, scales, t, &n))) /* how to round hangs on them */
            return rlx_onnx_needs(c, scales, "scales") != NULL;
    } else if (c->version >= 11) {
        if (!rlx_onnx_sizes(c, 3, "sizes", &t->sizes))
            return false;
        n = t->sizes.len;
    }
    if (!ok || (!t->scales && !t->measured && !t->sizes.data) || n != t->count)
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

/* The fraction of least denominator that is this scale in float32: 2.6 is meant to make 13 of 5, though its float32 is less. */
static void fraction_of(double scale, int64_t *p, int64_t *q)
{
    *p = *q = 0;
    for (int64_t d = 1; d <= 1000 && scale < 1e9; d++) {
        double n = round(scale * (double)d);
        if ((float)(n / (double)d) == (float)scale) {
            *p = (int64_t)n;
            *q = d;
            return;
        }
    }
    double m = scale; /* a fraction of 2^k, which float32 always is */
    int k = 0;
    while (m != floor(m) && k < 40)
        m *= 2, k++;
    if (m < 1e12) {
        *p = (int64_t)m;
        *q = (int64_t)1 << k;
    }
}

/* The same as a number, for places: (1 + 0.5) / 0.6 - 0.5 is 2. */
static double meant_scale(double scale)
{
    int64_t p, q;
    fraction_of(scale, &p, &q);
    return q ? (double)p / (double)q : scale;
}

/* floor(size * scale) */
static const rlx_prim *scaled_size(rlx_onnx_conv *c, const rlx_prim *in, double scale)
{
    int64_t n, p, q;
    if (!(scale > 0))
        return rlx_onnx_fail(c, RLX_ON05, "a scale is not above 0");
    fraction_of(scale, &p, &q);
    if (q)
        return rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, rlx_fold_mul(c->ctx, in, rlx_int64(c->ctx, p)),
                                                    rlx_int64(c->ctx, q)));
    if (rlx_int_literal(in, &n) && (double)n * scale < 1e15)
        return rlx_int64(c->ctx, (int64_t)floor((double)n * scale));
    return rlx_onnx_fail(c, RLX_ON08, "a scale needs sizes that are known");
}

/* floor(size * scale) for scales that are found when it runs. */
static bool measured_sizes(rlx_onnx_conv *c, const targets *t, axis_plan *a)
{
    const rlx_prim **in = rlx_onnx_array(c, t->count, sizeof *in), **out = rlx_onnx_array(c, t->count, sizeof *out);
    for (size_t i = 0; in && out && i < t->count; i++) {
        in[i] = a[i].in_size;
        a[i].out_size = out[i] = rlx_onnx_fresh(c, "s");
    }
    if (!in || !out)
        return false;
    const rlx_expr *s = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, in, t->count));
    s = rlx_onnx_call2(c, "multiply", rlx_onnx_cast(c, s, RELAX_FLOAT64), t->measured);
    s = rlx_onnx_cast(c, rlx_onnx_cast(c, s, RELAX_FLOAT32), RELAX_FLOAT64); /* as fraction_of: 2.6 makes 13 of 5 */
    s = rlx_onnx_cast(c, rlx_onnx_call1(c, "floor", s), RELAX_INT64);
    return rlx_onnx_match(c, rlx_onnx_call1(c, "tensor_to_shape", s), rlx_shape_info(c->ctx, out, t->count)) != NULL;
}

/* Stays the axis as it is? */
static bool is_kept(const resize *r, const targets *t, const axis_plan *a)
{
    return a->in_size == a->out_size && (a->scale == 1 || a->scale == 0) && !r->crops && !t->measured;
}

/* Is the scale what the quotient of the sizes is, as a float64? */
static bool is_quotient(rlx_onnx_conv *c, const axis_plan *a)
{
    int64_t in, out;
    if (rlx_int_literal(a->in_size, &in) && rlx_int_literal(a->out_size, &out))
        return in > 0 && (double)out / (double)in == a->scale;
    return a->scale >= 1 && a->scale < 1 << 20 && a->scale == floor(a->scale) &&
           a->out_size == rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, a->in_size, rlx_int64(c->ctx, (int64_t)a->scale)));
}

static const rlx_expr *resized(rlx_onnx_conv *c, const resize *r, const targets *t, const axis_plan *a,
                               const rlx_expr *x)
{
    static const char *const methods[] = { "nearest_neighbor", "linear", "cubic" };
    int64_t *axes = rlx_onnx_array(c, t->count, sizeof *axes), n = 0, twice;
    double *scales = rlx_onnx_array(c, t->count, sizeof *scales), *roi = rlx_onnx_array(c, 2 * t->count, sizeof *roi);
    const rlx_prim **size = rlx_onnx_array(c, t->count, sizeof *size);
    bool scaled = false; /* otherwise than by the quotient of sizes */
    if (!axes || !scales || !roi || !size)
        return NULL;
    for (size_t i = 0; i < t->count; i++) {
        if (is_kept(r, t, &a[i]))
            continue;
        axes[n] = a[i].axis;
        size[n] = a[i].out_size;
        scales[n++] = a[i].scale;
        scaled |= a[i].scale != 0 && !is_quotient(c, &a[i]);
    }
    if (!n)
        return x;
    for (int64_t i = 0; r->crops && i < n; i++) { /* then no axis is kept */
        roi[i] = a[i].roi[0];
        roi[i + n] = a[i].roi[1];
    }
    twice = 2 * n;
    const rlx_expr *given[2] = { NULL };
    if (t->measured)
        given[0] = t->measured;
    else if (scaled || r->crops)
        given[0] = rlx_onnx_const(c, RELAX_FLOAT64, &n, 1, scales);
    if (r->crops)
        given[1] = rlx_onnx_const(c, RELAX_FLOAT64, &twice, 1, roi);
#define REST "axes=I method=s coordinate_transformation_mode=s rounding_method=s cubic_alpha=f cubic_exclude=b antialias=b extrapolation_value=f"
#define VALUES axes, (size_t)n, methods[r->method], r->coordinates, r->rounding, r->alpha, \
               (int)r->exclude, (int)r->antialias, r->extrapolation
    const rlx_expr *shape = rlx_shape_new(c->ctx, size, (size_t)n);
    if (given[1])
        return rlx_onnx_call(c, "image.resize", "x x x x " REST, x, shape, given[0], given[1], VALUES);
    if (given[0])
        return rlx_onnx_call(c, "image.resize", "x x x " REST, x, shape, given[0], VALUES);
    return rlx_onnx_call(c, "image.resize", "x x " REST, x, shape, VALUES);
#undef REST
#undef VALUES
}

/* Operator set 10 takes the nearest element below, and where an axis shrinks the one above. */
static bool rounds_up(const resize *r, const targets *t, size_t i)
{
    return r->ceils && t->scales && t->scales[i] < 1;
}

/* Axes that are rounded up, after those that are not. */
static const rlx_expr *resized_old(rlx_onnx_conv *c, resize *r, const targets *t, const axis_plan *a,
                                   const rlx_expr *x)
{
    for (int up = 0; up < 2 && x; up++) {
        targets part = { .axes = t->axes, .scales = t->scales };
        axis_plan *some = rlx_onnx_array(c, t->count, sizeof *some);
        for (size_t i = 0; some && i < t->count; i++)
            if (rounds_up(r, t, i) == (up != 0))
                some[part.count++] = a[i];
        r->rounding = up ? "ceil" : "floor";
        x = some && part.count ? resized(c, r, &part, some, x) : some ? x : NULL;
    }
    return x;
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
        if (t.measured)
            continue;
        a[i].out_size = t.scales ? scaled_size(c, d[axis], t.scales[i]) : t.sizes.data[i];
        if (!a[i].out_size)
            return false;
        if (t.scales)
            a[i].scale = meant_scale(t.scales[i]);
    }
    if (!a || (t.measured && !measured_sizes(c, &t, a)) || !keep_aspect(c, &t, a))
        return false;
    return rlx_onnx_output(c, 0, r.ceils && t.scales ? resized_old(c, &r, &t, a, x) : resized(c, &r, &t, a, x));
}
