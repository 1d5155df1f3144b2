/* relay_conv_qnn.c: integers with scale and zero point. Scales that are constants become multipliers of 31 bits and
 * shifts, so that results are exact integers, as TVM's canonical forms have them; others are float32. */
#include "relay/relay_convert.h"

#include <math.h>

#define CONVERTER(name) const rlx_expr *rlx_relay_convert_##name(rlx_relay_conv *c)

enum { MOST_CHANNELS = 1 << 16 };

/* ---- parts --------------------------------------------------------------------------------------------- */

/* A scale or zero point so that it broadcasts along an axis of something of rank n. */
static const rlx_expr *spread(rlx_relay_conv *c, const rlx_expr *s, int64_t axis, int n)
{
    int64_t one;
    int rank = rlx_relay_rank(c, s);
    if (rank < 1)
        return rank < 0 ? NULL : s;
    if (rlx_relay_static_size(c, s, 0, &one) && one == 1)
        return rlx_relay_reshape(c, s, (const rlx_prim *const[]){ NULL }, 0);
    return rlx_relay_fit_axis(c, &axis, n) ? rlx_relay_along(c, s, axis, n) : NULL;
}

static bool is_zero(rlx_relay_conv *c, const rlx_expr *e)
{
    size_t n;
    const double *v = rlx_relay_known_floats(c, e, &n);
    bool zero = v != NULL;
    for (size_t i = 0; zero && i < n; i++)
        zero = v[i] == 0;
    return zero;
}

/* x less its zero point, in t. */
static const rlx_expr *centred(rlx_relay_conv *c, const rlx_expr *x, const rlx_expr *zero, int64_t axis, rlx_dtype t)
{
    int n = rlx_relay_rank(c, x);
    x = rlx_relay_astype(c, x, t);
    if (!x || !zero || is_zero(c, zero))
        return zero ? x : NULL;
    return rlx_relay_call2(c, "subtract", x, rlx_relay_astype(c, spread(c, zero, axis, n), t));
}

/* Limited to the integers of t. */
static const rlx_expr *saturated(rlx_relay_conv *c, const rlx_expr *x, rlx_dtype t)
{
    rlx_dtype has = rlx_relay_dtype_of(c, x);
    unsigned bits = (unsigned)rlx_dtype_bits(t);
    if (!rlx_dtype_is_int(t) || bits > 32)
        return rlx_relay_cannot(c, "the result is no integer of at most 32 bits");
    bool is_unsigned = rlx_dtype_code(t) == RELAX_DTYPE_UINT;
    int64_t most = ((int64_t)1 << (bits - !is_unsigned)) - 1, least = is_unsigned ? 0 : -most - 1;
    rlx_dtype of = rlx_dtype_is_float(has) ? has : RELAX_INT64;
    x = rlx_relay_call(c, "clip", "x x x", x, rlx_relay_number_prim(c, of, (double)least),
                       rlx_relay_number_prim(c, of, (double)most));
    return rlx_relay_make(c, "astype", "x dtype=d", x, t);
}

/* Rounded, shifted by the zero point, limited. */
static const rlx_expr *quantised(rlx_relay_conv *c, const rlx_expr *y, const rlx_expr *zero, int64_t axis, rlx_dtype t)
{
    rlx_dtype of = rlx_dtype_bits(t) > 16 ? RELAX_INT64 : RELAX_FLOAT32;
    int n = rlx_relay_rank(c, y);
    y = rlx_relay_astype(c, rlx_relay_call1(c, "round", y), of);
    if (zero && !is_zero(c, zero))
        y = rlx_relay_call2(c, "add", y, rlx_relay_astype(c, spread(c, zero, axis, n), of));
    return zero ? saturated(c, y, t) : NULL;
}

static const rlx_expr *dequantised(rlx_relay_conv *c, const rlx_expr *x, const rlx_expr *scale, const rlx_expr *zero,
                                   int64_t axis)
{
    int n = rlx_relay_rank(c, x);
    if (rlx_dtype_is_float(rlx_relay_dtype_of(c, x)))
        x = centred(c, x, zero, axis, RELAX_FLOAT32);
    else
        x = centred(c, x, zero, axis, RELAX_INT32);
    scale = spread(c, scale, axis, n);
    return rlx_relay_call2(c, "multiply", rlx_relay_astype(c, x, RELAX_FLOAT32), scale);
}

/* ---- other scales ---------------------------------------------------------------------------------------- */

/* A factor as multiplier / 2^31 * 2^shift, the multiplier at least 2^30. */
typedef struct factor { int64_t multiplier, shift; } factor;

static factor fixed_point(double v)
{
    int exponent;
    double fraction = frexp(v, &exponent);
    factor f = { (int64_t)(fraction * 2147483648.0 + 0.5), exponent };
    if (v == 0)
        return (factor){ 0, 0 };
    if (f.multiplier == (int64_t)1 << 31)
        f = (factor){ f.multiplier / 2, f.shift + 1 };
    return f;
}

/* Numbers along the axis, or one number. */
static const rlx_expr *numbers(rlx_relay_conv *c, const int64_t *v, size_t n, int64_t axis, int ndim)
{
    return n == 1 ? rlx_relay_const_scalar(c, RELAX_INT64, (double)v[0])
                  : rlx_relay_along(c, rlx_relay_const_ints(c, RELAX_INT64, v, n), axis, ndim);
}

/* x (int64) times each factor, rounded half up, or half away from zero. */
static const rlx_expr *times_factors(rlx_relay_conv *c, const rlx_expr *x, const factor *f, size_t n, int64_t axis,
                                     bool away)
{
    int ndim = rlx_relay_rank(c, x);
    int64_t *left = rlx_relay_scratch(c, 4 * n, sizeof *left);
    if (!left || ndim < 0)
        return NULL;
    int64_t *multiplier = left + n, *right = multiplier + n, *half = right + n;
    bool shifts = false;
    for (size_t i = 0; i < n; i++) {
        left[i] = f[i].shift > 0 ? f[i].shift : 0;
        right[i] = 31 + (f[i].shift < 0 ? -f[i].shift : 0);
        if (left[i] > 31)
            return rlx_relay_cannot(c, "a scale is 2^%lld times another", (long long)left[i]);
        multiplier[i] = right[i] > 62 ? 0 : f[i].multiplier; /* of 32 bits nothing is left then */
        right[i] = right[i] > 62 ? 62 : right[i];
        half[i] = (int64_t)1 << (right[i] - 1);
        shifts |= left[i] > 0;
    }
    if (shifts)
        x = rlx_relay_call2(c, "left_shift", x, numbers(c, left, n, axis, ndim));
    x = rlx_relay_call2(c, "multiply", x, numbers(c, multiplier, n, axis, ndim));
    x = rlx_relay_call2(c, "add", x, numbers(c, half, n, axis, ndim));
    if (away) { /* half away from zero: 1 less where it is negative */
        const rlx_expr *below = rlx_relay_call2(c, "less", x, numbers(c, half, n, axis, ndim));
        x = rlx_relay_call2(c, "subtract", x, rlx_relay_astype(c, below, RELAX_INT64));
    }
    return rlx_relay_call2(c, "right_shift", x, numbers(c, right, n, axis, ndim));
}

/* Integers of scale `from` in the scale `to`: int64, or float32 that is not rounded yet where a scale is unknown. */
static const rlx_expr *rescaled(rlx_relay_conv *c, const rlx_expr *x, const rlx_expr *from, const rlx_expr *to,
                                int64_t axis, const char *rounding)
{
    size_t n, m;
    const double *a = rlx_relay_known_floats(c, from, &n), *b = rlx_relay_known_floats(c, to, &m);
    int ndim = rlx_relay_rank(c, x);
    if (ndim < 0 || c->failed)
        return NULL;
    bool known = a && b && m == 1 && n <= MOST_CHANNELS;
    for (size_t i = 0; known && i < n; i++)
        known = a[i] / b[0] > 0 && a[i] / b[0] < 1e9; /* no NaN either */
    if (!known) {
        to = spread(c, to, axis, ndim);
        const rlx_expr *by = rlx_relay_call2(c, "divide", spread(c, from, axis, ndim), to);
        return rlx_relay_call2(c, "multiply", rlx_relay_astype(c, x, RELAX_FLOAT32), by);
    }
    bool same = true;
    factor *f = rlx_relay_scratch(c, n, sizeof *f);
    for (size_t i = 0; f && i < n; i++) {
        same &= a[i] == b[0];
        f[i] = fixed_point(a[i] / b[0]);
    }
    x = rlx_relay_astype(c, x, RELAX_INT64);
    if (same || !f || !x || (n > 1 && !rlx_relay_fit_axis(c, &axis, ndim)))
        return c->failed ? NULL : x;
    return times_factors(c, x, f, n, axis, strcmp(rounding, "TONEAREST") == 0);
}

/* With the zero point of the result. */
static const rlx_expr *shifted(rlx_relay_conv *c, const rlx_expr *x, const rlx_expr *zero, int64_t axis, rlx_dtype t)
{
    if (rlx_dtype_is_float(rlx_relay_dtype_of(c, x)))
        return quantised(c, x, zero, axis, t);
    int n = rlx_relay_rank(c, x);
    if (zero && !is_zero(c, zero))
        x = rlx_relay_call2(c, "add", x, rlx_relay_astype(c, spread(c, zero, axis, n), RELAX_INT64));
    return zero ? saturated(c, x, t) : NULL;
}

static const rlx_expr *requantised(rlx_relay_conv *c, const rlx_expr *x, const rlx_expr *const *from,
                                   const rlx_expr *const *to, int64_t axis, const char *rounding, rlx_dtype t)
{
    x = centred(c, x, from[1], axis, RELAX_INT64);
    return shifted(c, rescaled(c, x, from[0], to[0], axis, rounding), to[1], axis, t);
}

/* ---- converters ---------------------------------------------------------------------------------------------- */

CONVERTER(qnn_quantize)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axis = rlx_relay_attr_int(c, "axis");
    const rlx_expr *y = rlx_relay_call2(c, "divide", x, spread(c, rlx_relay_arg(c, 1), axis, rlx_relay_rank(c, x)));
    return quantised(c, y, rlx_relay_arg(c, 2), axis, rlx_relay_result_dtype(c));
}

CONVERTER(qnn_dequantize)
{
    rlx_dtype t = rlx_relay_result_dtype(c);
    const rlx_expr *y = dequantised(c, rlx_relay_arg(c, 0), rlx_relay_arg(c, 1), rlx_relay_arg(c, 2),
                                    rlx_relay_attr_int(c, "axis"));
    return rlx_relay_astype(c, y, t);
}

CONVERTER(qnn_requantize)
{
    const rlx_expr *from[] = { rlx_relay_arg(c, 1), rlx_relay_arg(c, 2) };
    const rlx_expr *to[] = { rlx_relay_arg(c, 3), rlx_relay_arg(c, 4) };
    return requantised(c, rlx_relay_arg(c, 0), from, to, rlx_relay_attr_int(c, "axis"),
                       rlx_relay_attr_text(c, "rounding"), rlx_relay_result_dtype(c));
}

/* add, subtract: both in the scale of the result. */
CONVERTER(qnn_binary)
{
    int64_t left = rlx_relay_attr_int(c, "lhs_axis"), right = rlx_relay_attr_int(c, "rhs_axis");
    const rlx_expr *to = rlx_relay_arg(c, 6), *zero = rlx_relay_arg(c, 7);
    const rlx_expr *x = centred(c, rlx_relay_arg(c, 0), rlx_relay_arg(c, 3), left, RELAX_INT64);
    const rlx_expr *y = centred(c, rlx_relay_arg(c, 1), rlx_relay_arg(c, 5), right, RELAX_INT64);
    x = rescaled(c, x, rlx_relay_arg(c, 2), to, left, "UPWARD");
    y = rescaled(c, y, rlx_relay_arg(c, 4), to, right, "UPWARD");
    if (!x || !y)
        return NULL;
    if (rlx_dtype_is_float(rlx_relay_dtype_of(c, x)) != rlx_dtype_is_float(rlx_relay_dtype_of(c, y))) {
        x = rlx_relay_astype(c, x, RELAX_FLOAT32);
        y = rlx_relay_astype(c, y, RELAX_FLOAT32);
    }
    return shifted(c, rlx_relay_call2(c, c->row->argument, x, y), zero, -1, rlx_relay_result_dtype(c));
}

/* The scale of a product: both known makes a known one. */
static const rlx_expr *product_scale(rlx_relay_conv *c, const rlx_expr *a, const rlx_expr *b)
{
    size_t n, m;
    const double *x = rlx_relay_known_floats(c, a, &n), *y = rlx_relay_known_floats(c, b, &m);
    return x && y && n == 1 && m == 1 ? rlx_relay_const_scalar(c, RELAX_FLOAT32, (double)((float)x[0] * (float)y[0]))
                                      : rlx_relay_call2(c, "multiply", a, b);
}

CONVERTER(qnn_mul)
{
    const rlx_expr *x = centred(c, rlx_relay_arg(c, 0), rlx_relay_arg(c, 3), rlx_relay_attr_int(c, "lhs_axis"), RELAX_INT32);
    const rlx_expr *y = centred(c, rlx_relay_arg(c, 1), rlx_relay_arg(c, 5), rlx_relay_attr_int(c, "rhs_axis"), RELAX_INT32);
    const rlx_expr *scale = product_scale(c, rlx_relay_arg(c, 2), rlx_relay_arg(c, 4));
    x = rlx_relay_call2(c, "multiply", x, y);
    x = x && scale ? rescaled(c, x, scale, rlx_relay_arg(c, 6), -1, "UPWARD") : NULL;
    return x ? shifted(c, x, rlx_relay_arg(c, 7), -1, rlx_relay_result_dtype(c)) : NULL;
}

/* Both operands of a product less their zero points: as they are where those are 0, so that kernels of narrow integers
 * serve. */
static bool product_operands(rlx_relay_conv *c, int64_t weight_axis, const rlx_expr **x, const rlx_expr **w)
{
    const rlx_expr *zx = rlx_relay_arg(c, 2), *zw = rlx_relay_arg(c, 3);
    *x = rlx_relay_arg(c, 0);
    *w = rlx_relay_arg(c, 1);
    if (is_zero(c, zx) && is_zero(c, zw) && rlx_relay_dtype_of(c, *x) == rlx_relay_dtype_of(c, *w))
        return !c->failed;
    *x = centred(c, *x, zx, -1, RELAX_INT32);
    *w = centred(c, *w, zw, weight_axis, RELAX_INT32);
    return *x && *w;
}

/* dense, batch_matmul: rows of the weight are columns of the result. */
CONVERTER(qnn_dense)
{
    const rlx_expr *x, *w;
    if (!product_operands(c, -2, &x, &w))
        return NULL;
    bool batched = strcmp(c->row->argument, "batch") == 0;
    int64_t order[] = { 0, batched ? 2 : 1, batched ? 1 : 0 };
    w = batched ? rlx_relay_transpose(c, w, order, 3) : rlx_relay_transpose(c, w, order + 1, 2);
    return rlx_relay_make(c, "matmul", "x x out_dtype=d", x, w, RELAX_INT32);
}

CONVERTER(qnn_conv)
{
    const rlx_expr *x, *w;
    int64_t at;
    bool transposed = strstr(c->op->name, "transpose") != NULL;
    if (!rlx_relay_letters(c, rlx_relay_attr_text(c, "kernel_layout"), "O", &at) || !product_operands(c, at, &x, &w))
        return NULL;
    return rlx_relay_convolve(c, transposed ? "nn.conv2d_transpose" : "nn.conv2d", x, w);
}

/* Operators of one operand in float32: x, scale, zero point, those of the result. */
CONVERTER(qnn_unary)
{
    const rlx_expr *x = dequantised(c, rlx_relay_arg(c, 0), rlx_relay_arg(c, 1), rlx_relay_arg(c, 2), -1);
    const char *op = c->row->argument;
    if (strcmp(op, "nn.softmax") == 0)
        x = rlx_relay_call(c, op, "x axis=i", x, rlx_relay_attr_int(c, "axis"));
    else if (strcmp(op, "nn.leakyrelu") == 0)
        x = rlx_relay_call(c, op, "x alpha=f", x, rlx_relay_attr_float(c, "alpha"));
    else if (strcmp(op, "hardswish") == 0) /* x * clip(x + 3, 0, 6) / 6 */
        x = rlx_relay_with(c, "divide", rlx_relay_call2(c, "multiply", x, rlx_relay_call(
                           c, "clip", "x x x", rlx_relay_with(c, "add", x, 3),
                           rlx_relay_number_prim(c, RELAX_FLOAT32, 0), rlx_relay_number_prim(c, RELAX_FLOAT32, 6))), 6);
    else
        x = rlx_relay_call1(c, op, x);
    const rlx_expr *y = rlx_relay_call2(c, "divide", x, rlx_relay_arg(c, 3));
    return y ? quantised(c, y, rlx_relay_arg(c, 4), -1, rlx_relay_result_dtype(c)) : NULL;
}

/* Each part in the scale of the result. */
CONVERTER(qnn_concatenate)
{
    const rlx_expr *const *parts, *const *scales, *const *zeros;
    size_t n, m, k;
    const rlx_expr *to[] = { rlx_relay_arg(c, 3), rlx_relay_arg(c, 4) };
    if (!rlx_relay_tuple_arg(c, 0, &parts, &n) || !rlx_relay_tuple_arg(c, 1, &scales, &m) ||
        !rlx_relay_tuple_arg(c, 2, &zeros, &k) || !n || m != n || k != n)
        return c->failed ? NULL : rlx_relay_cannot(c, "%zu tensors need as many scales and zero points", n);
    const rlx_expr **all = rlx_relay_scratch(c, n, sizeof *all);
    rlx_dtype t = rlx_relay_dtype_of(c, parts[0]);
    for (size_t i = 0; all && i < n; i++) {
        const rlx_expr *from[] = { scales[i], zeros[i] };
        all[i] = rlx_relay_emit(c, requantised(c, parts[i], from, to, -1, "UPWARD", t));
    }
    return rlx_relay_make(c, "concat", "X axis=i", all, n, rlx_relay_attr_int(c, "axis"));
}
