/* convert_signal.c: windows, Fourier transforms, mel weights. Sums are float64: float32 leaves traces where 0 is due. */
#include "onnx/onnx_int.h"

#include <math.h>

#define PI 3.14159265358979323846

static const rlx_expr *size_as(rlx_onnx_conv *c, const rlx_prim *p, rlx_dtype t)
{
    const rlx_expr *e = p ? rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &p, 1)) : NULL;
    return rlx_onnx_cast(c, e, t);
}

/* ---- windows ----------------------------------------------------------------------------------- */

/* a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) */
RLX_ONNX_CONVERTER(convert_window)
{
    static const double terms[3][3] = { { 0.5, 0.5, 0 },
                                        { 25.0 / 46, 1 - 25.0 / 46, 0 },
                                        { 0.42, 0.5, 0.08 } };
    char kind = c->row->argument[0];
    const double *a = terms[kind == 'n' ? 0 : kind == 'm' ? 1 : 2];
    rlx_dtype t = RELAX_FLOAT32;
    rlx_onnx_ints n;
    if (!rlx_onnx_dtype(rlx_onnx_int(c, "output_datatype", 1), &t))
        return rlx_onnx_fail(c, RLX_ON06, "elements of that type are not supported") != NULL;
    if (!rlx_onnx_sizes(c, 0, "size", &n) || n.len != 1)
        return false;
    bool periodic = rlx_onnx_int(c, "periodic", 1) != 0;
    const rlx_expr *i = rlx_onnx_cast(c, rlx_onnx_arange(c, n.data[0], RELAX_INT64), RELAX_FLOAT64);
    const rlx_expr *d = size_as(c, n.data[0], RELAX_FLOAT64);
    if (!periodic)
        d = rlx_onnx_with(c, "maximum", rlx_onnx_with(c, "subtract", d, 1), 1);
    const rlx_expr *x = rlx_onnx_with(c, "multiply", rlx_onnx_call2(c, "divide", i, d), 2 * PI);
    const rlx_expr *y = rlx_onnx_with(c, "multiply", rlx_onnx_call1(c, "cos", x), -a[1]);
    y = rlx_onnx_with(c, "add", y, a[0]);
    if (a[2] != 0)
        y = rlx_onnx_call2(c, "add", y, rlx_onnx_with(c, "multiply", rlx_onnx_call1(c, "cos", rlx_onnx_with(c, "multiply", x, 2)), a[2]));
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, y, t));
}

static bool one_number(rlx_onnx_conv *c, size_t i, double *out)
{
    size_t n;
    const rlx_expr *e = rlx_onnx_input(c, i);
    const double *v = e ? rlx_onnx_floats_of(c, e, &n) : NULL;
    return v && n == 1 ? (*out = *v, true) : e && rlx_onnx_needs(c, i, "each number") != NULL;
}

RLX_ONNX_CONVERTER(convert_mel)
{
    double bins, length, rate, low, high;
    rlx_dtype t;
    if (!one_number(c, 0, &bins) || !one_number(c, 1, &length) || !one_number(c, 2, &rate) ||
        !one_number(c, 3, &low) || !one_number(c, 4, &high))
        return false;
    int64_t shape[2] = { (int64_t)length / 2 + 1, (int64_t)bins };
    if (!rlx_onnx_dtype(rlx_onnx_int(c, "output_datatype", 1), &t) || !(bins >= 1) ||
        !(bins < 1 << 16) || !(length >= 1) || !(length < 1 << 16))
        return rlx_onnx_fail(c, RLX_ON05, "the sizes or the type of the matrix are out of range") !=
               NULL;
    size_t n = (size_t)shape[1];
    double *at = rlx_onnx_array(c, n + 2, sizeof *at);
    double *m = rlx_onnx_array(c, (size_t)shape[0] * n, sizeof *m);
    double from = 2595 * log10(1 + low / 700), to = 2595 * log10(1 + high / 700);
    if (!at || !m)
        return false;
    memset(m, 0, (size_t)shape[0] * n * sizeof *m);
    for (size_t i = 0; i < n + 2; i++) {
        double mel = from + (double)i * ((to - from) / (double)(n + 2));
        at[i] = floor((length + 1) * (700 * (pow(10, mel / 2595) - 1)) / rate);
    }
    for (size_t b = 0; b < n; b++) {
        int64_t l = (int64_t)at[b], k = (int64_t)at[b + 1], h = (int64_t)at[b + 2];
        if (k == l && k < shape[0])
            m[(size_t)k * n + b] = 1;
        for (int64_t j = l; k > l && j <= k && j < shape[0]; j++)
            m[(size_t)j * n + b] = (double)(j - l) / (double)(k - l);
        for (int64_t j = k; h > k && j < h && j < shape[0]; j++)
            m[(size_t)j * n + b] = (double)(h - j) / (double)(h - k);
    }
    return rlx_onnx_output(c, 0, rlx_onnx_const(c, t, shape, 2, m));
}

/* ---- Fourier ----------------------------------------------------------------------------------- */

typedef struct fourier { const rlx_expr *re, *im; } fourier;

/* Numbers of a matrix of waves that is kept rather than made in each call, at 8 bytes for each. */
enum { MOST_WAVES = 1 << 20 };

/* The same as constants, with the bits that a call would give them. */
static fourier known_waves(rlx_onnx_conv *c, int64_t rows, int64_t columns, int64_t period)
{
    const int64_t shape[2] = { rows, columns };
    size_t n = (size_t)(rows * columns);
    double *re = rlx_onnx_array(c, n, sizeof *re), *im = rlx_onnx_array(c, n, sizeof *im);
    if (!re || !im)
        return (fourier){ NULL, NULL };
    for (size_t i = 0; i < n; i++) {
        int64_t j = (int64_t)i / columns, k = (int64_t)i % columns;
        double x = (double)(j * k % period) / (double)period * (2 * PI);
        re[i] = cos(x);
        im[i] = sin(x);
    }
    return (fourier){ rlx_onnx_const(c, RELAX_FLOAT64, shape, 2, re), rlx_onnx_const(c, RELAX_FLOAT64, shape, 2, im) };
}

/* cos and sin of 2 pi j k / N: rows j of the operand, columns k of the result. */
static fourier waves(rlx_onnx_conv *c, const rlx_prim *rows, const rlx_prim *columns,
                     const rlx_prim *period)
{
    static const int64_t behind = 1;
    int64_t r, m, p;
    if (rlx_int_literal(rows, &r) && rlx_int_literal(columns, &m) && rlx_int_literal(period, &p) &&
        r > 0 && m > 0 && p > 0 && r <= MOST_WAVES / m)
        return known_waves(c, r, m, p);
    const rlx_expr *j = rlx_onnx_expand_dims(c, rlx_onnx_arange(c, rows, RELAX_INT64), &behind, 1);
    const rlx_expr *k = rlx_onnx_arange(c, columns, RELAX_INT64);
    const rlx_expr *n = size_as(c, period, RELAX_INT64);
    /* the remainder keeps the angle small, so that nothing is lost */
    const rlx_expr *x = rlx_onnx_call2(c, "floor_mod", rlx_onnx_call2(c, "multiply", j, k), n);
    x = rlx_onnx_call_as(c, "divide", RELAX_FLOAT64, x, n);
    x = rlx_onnx_with(c, "multiply", x, 2 * PI);
    const rlx_expr *cosine = rlx_onnx_call1(c, "cos", x), *sine = rlx_onnx_call1(c, "sin", x);
    return (fourier){ cosine, sine };
}

/* Of the last axis; im NULL: real. */
static fourier transform(rlx_onnx_conv *c, fourier x, const rlx_prim *rows, const rlx_prim *columns,
                         const rlx_prim *period, bool inverse)
{
    fourier w = waves(c, rows, columns, period), y;
    y.re = rlx_onnx_call2(c, "matmul", x.re, w.re);
    y.im = rlx_onnx_call2(c, "matmul", x.re, w.im);
    if (!inverse)
        y.im = rlx_onnx_call1(c, "negative", y.im);
    if (x.im) {
        const rlx_expr *a = rlx_onnx_call2(c, "matmul", x.im, w.im);
        y.re = rlx_onnx_call2(c, inverse ? "subtract" : "add", y.re, a);
        y.im = rlx_onnx_call2(c, "add", y.im, rlx_onnx_call2(c, "matmul", x.im, w.re));
    }
    if (inverse) {
        const rlx_expr *n = size_as(c, period, RELAX_FLOAT64);
        y.re = rlx_onnx_call2(c, "divide", y.re, n);
        y.im = rlx_onnx_call2(c, "divide", y.im, n);
    }
    return y;
}

/* Real and imaginary part of the last axis, which goes, as float64. */
static fourier parts_of(rlx_onnx_conv *c, const rlx_expr *x, int64_t last)
{
    int64_t n = 0;
    fourier f = { NULL, NULL };
    if (!rlx_onnx_static_dim(c, x, (size_t)last, &n) || n < 1 || n > 2) {
        rlx_onnx_fail(c, RLX_ON05, "the last axis has real and imaginary part: 1 or 2");
        return f;
    }
    x = rlx_onnx_cast(c, x, RELAX_FLOAT64);
    f.re = rlx_onnx_call(c, "take", "x x axis=i", x, rlx_onnx_scalar(c, RELAX_INT64, 0), last);
    if (n == 2)
        f.im = rlx_onnx_call(c, "take", "x x axis=i", x, rlx_onnx_scalar(c, RELAX_INT64, 1), last);
    return f;
}

/* The last axis cut or filled with zeros to a length. */
static const rlx_expr *fitted(rlx_onnx_conv *c, const rlx_expr *x, int64_t axis,
                              const rlx_prim *have, const rlx_prim *want)
{
    int64_t a, b;
    if (!x || have == want)
        return x;
    if (!rlx_int_literal(have, &a) || !rlx_int_literal(want, &b))
        return rlx_onnx_fail(c, RLX_ON08, "dft_length and the length have to be known");
    if (b <= a)
        return rlx_onnx_slice(c, x, axis, rlx_int64(c->ctx, 0), want);
    int64_t pads[128] = { 0 };
    pads[2 * axis + 1] = b - a;
    return rlx_onnx_call(c, "nn.pad", "x pad_width=I", x, pads, 2 * (size_t)(axis + 1));
}

static const rlx_expr *joined(rlx_onnx_conv *c, fourier f, int64_t axis, rlx_dtype t)
{
    const rlx_expr *re = rlx_onnx_expand_dims(c, f.re, &axis, 1), *im = rlx_onnx_expand_dims(c, f.im, &axis, 1);
    const rlx_expr *two[2] = { re, im };
    return rlx_onnx_cast(c, rlx_onnx_concat(c, two, 2, axis), t);
}

static const rlx_prim *half_of(rlx_onnx_conv *c, const rlx_prim *n)
{
    const rlx_prim *p = rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, n, rlx_int64(c->ctx, 2));
    return rlx_onnx_simplify(c, rlx_fold_add(c->ctx, p, rlx_int64(c->ctx, 1)));
}

/* The upper half of a spectrum whose lower half is given: its mirror image. */
static fourier mirrored(rlx_onnx_conv *c, fourier f, int64_t axis, int64_t n)
{
    int64_t k = n / 2 + 1;
    const rlx_prim *one = rlx_int64(c->ctx, 1), *end = rlx_int64(c->ctx, n - k + 1);
    if (n - k < 1)
        return f;
    const rlx_expr *re[2] = { f.re, rlx_onnx_call(c, "flip", "x axis=i",
                                                  rlx_onnx_slice(c, f.re, axis, one, end), axis) };
    fourier out = { rlx_onnx_concat(c, re, 2, axis), f.im };
    if (f.im) {
        const rlx_expr *im = rlx_onnx_slice(c, f.im, axis, one, end);
        const rlx_expr *both[2] = {
            f.im, rlx_onnx_call1(c, "negative", rlx_onnx_call(c, "flip", "x axis=i", im, axis))
        };
        out.im = rlx_onnx_concat(c, both, 2, axis);
    }
    return out;
}

RLX_ONNX_CONVERTER(convert_dft)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axis = c->version < 20 ? rlx_onnx_int(c, "axis", 1) : -2, perm[64], back[64];
    rlx_onnx_ints given;
    if (n < 2 || n > 60)
        return false;
    if (c->version >= 20 && rlx_onnx_has(c, 2) && !rlx_onnx_literal(c, 2, "axis", &axis))
        return false;
    if (!rlx_onnx_axis(c, &axis, n) || axis == n - 1)
        return !c->failed && rlx_onnx_fail(c, RLX_ON05, "the axis is the last one") != NULL;
    bool inverse = rlx_onnx_int(c, "inverse", 0) != 0, half = rlx_onnx_int(c, "onesided", 0) != 0;
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    int64_t last = n - 2;
    for (int i = 0; i < n; i++) { /* the axis goes to the place before the last */
        perm[i] = i < axis || i == n - 1 ? i : i == last ? axis : i + 1;
        back[perm[i]] = i;
    }
    fourier f = parts_of(c, rlx_onnx_transpose(c, x, perm, (size_t)n), n - 1);
    const rlx_prim *have = f.re ? rlx_onnx_dim(c, f.re, (size_t)last) : NULL, *want = have;
    if (!have)
        return false;
    if (rlx_onnx_has(c, 1)) {
        if (!rlx_onnx_sizes(c, 1, "dft_length", &given) || given.len != 1)
            return false;
        want = given.data[0];
    } else if (inverse && half) {
        want = rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, rlx_int64(c->ctx, 2),
                                                 rlx_fold_sub(c->ctx, have, rlx_int64(c->ctx, 1))));
    }
    int64_t length;
    if (inverse && half) {
        if (!rlx_int_literal(want, &length))
            return rlx_onnx_fail(c, RLX_ON08, "the length has to be known") != NULL;
        const rlx_prim *k = rlx_int64(c->ctx, length / 2 + 1);
        f.re = fitted(c, f.re, last, have, k);
        f.im = fitted(c, f.im, last, have, k);
        f = mirrored(c, f, last, length);
    } else {
        f.re = fitted(c, f.re, last, have, want);
        f.im = fitted(c, f.im, last, have, want);
    }
    fourier y = transform(c, f, want, half && !inverse ? half_of(c, want) : want, want, inverse);
    const int64_t end = n - 1;
    const rlx_expr *out = half && inverse
                              ? rlx_onnx_cast(c, rlx_onnx_expand_dims(c, y.re, &end, 1), t)
                              : joined(c, y, n - 1, t);
    return rlx_onnx_output(c, 0, rlx_onnx_transpose(c, out, back, (size_t)n));
}

RLX_ONNX_CONVERTER(convert_stft)
{
    static const int64_t behind = 1;
    const rlx_expr *x = rlx_onnx_input(c, 0), *window = rlx_onnx_has(c, 2) ? rlx_onnx_input(c, 2) : NULL;
    int64_t step, length = 0, last = 2;
    int n = x ? rlx_onnx_rank(c, x) : -1;
    if (n < 2 || n > 3 || !rlx_onnx_literal(c, 1, "frame_step", &step))
        return false;
    if (rlx_onnx_has(c, 3) ? !rlx_onnx_literal(c, 3, "frame_length", &length)
                           : !window || !rlx_onnx_static_dim(c, window, 0, &length))
        return !c->failed && rlx_onnx_fail(c, RLX_ON08, "the length of a frame has to be known") != NULL;
    if (step < 1 || length < 1)
        return rlx_onnx_fail(c, RLX_ON05, "frame_step and frame_length are above 0") != NULL;
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    if (n == 2)
        x = rlx_onnx_expand_dims(c, x, &last, 1);
    const rlx_prim *all = x ? rlx_onnx_dim(c, x, 1) : NULL, *len = rlx_int64(c->ctx, length);
    if (!all)
        return false;
    const rlx_prim *count = rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV,
                                            rlx_fold_sub(c->ctx, all, len), rlx_int64(c->ctx, step));
    count = rlx_onnx_simplify(c, rlx_fold_add(c->ctx, count, rlx_int64(c->ctx, 1)));
    const rlx_expr *at = rlx_onnx_arange(c, count, RELAX_INT64);
    at = rlx_onnx_expand_dims(c, rlx_onnx_with(c, "multiply", at, (double)step), &behind, 1);
    at = rlx_onnx_call2(c, "add", at, rlx_onnx_arange(c, len, RELAX_INT64));
    const rlx_expr *frames = rlx_onnx_call(c, "take", "x x axis=i", x, at, (int64_t)1);
    fourier f = frames ? parts_of(c, frames, 3) : (fourier){ NULL, NULL };
    if (window) {
        const rlx_expr *w = rlx_onnx_cast(c, window, RELAX_FLOAT64);
        f.re = rlx_onnx_call2(c, "multiply", f.re, w);
        f.im = f.im ? rlx_onnx_call2(c, "multiply", f.im, w) : NULL;
    }
    bool half = rlx_onnx_int(c, "onesided", 1) != 0;
    fourier y = transform(c, f, len, half ? half_of(c, len) : len, len, false);
    return rlx_onnx_output(c, 0, joined(c, y, 3, t));
}
