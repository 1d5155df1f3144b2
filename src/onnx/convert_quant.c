/*- convert_quant.c: integers with scale and zero point.
 *
 * Products of tensors that were bytes a moment ago are products of those bytes, which are exact and many times as fast:
 *     ((a - za) sa) ((b - zb) sb)   ->   float32((a - za) (b - zb)) (sa sb)
 */
#include "onnx/onnx_int.h"

#include <math.h>

/* Rounded half to even, shifted by the zero point, limited to its dtype. */
const rlx_expr *rlx_onnx_requantize(rlx_onnx_conv *c, const rlx_expr *y, const rlx_expr *zero)
{
    if (!y || !zero)
        return NULL;
    rlx_dtype t = rlx_onnx_dtype_of(c, zero);
    y = rlx_onnx_call1(c, "round", y);
    if (rlx_dtype_is_float(t)) /* float8 */
        return rlx_onnx_cast(c, y, t);
    y = rlx_onnx_call2(c, "add", y, rlx_onnx_cast(c, zero, rlx_onnx_dtype_of(c, y)));
    return rlx_onnx_cast(c, y, t); /* which saturates */
}

/* ---- scales ------------------------------------------------------------------------------------ */

/* A scale or zero point so that it broadcasts against x of rank n: one element, one per place of an
 * axis, or one per block along it. */
static const rlx_expr *spread(rlx_onnx_conv *c, const rlx_expr *s, const rlx_expr *x, int n,
                              int64_t axis, int64_t block)
{
    int64_t axes[64], size;
    int rank = s ? rlx_onnx_rank(c, s) : -1;
    if (rank < 0 || n > 63)
        return NULL;
    if (block && rank == n && n) {
        s = rlx_onnx_call(c, "repeat", "x repeats=i axis=i", s, block, axis);
        const rlx_prim *have = s ? rlx_onnx_dim(c, s, (size_t)axis) : NULL, *want = have ? rlx_onnx_dim(c, x, (size_t)axis) : NULL;
        if (!want || rlx_prove_compare(c->ctx, rlx_builder_scope(c->m->b), RLX_NODE_EQ, have, want) == RLX_TRUE)
            return want ? s : NULL;
        return rlx_onnx_slice(c, s, axis, rlx_int64(c->ctx, 0), want);
    }
    if (rank == 1 && rlx_onnx_static_dim(c, s, 0, &size) && size == 1)
        return rlx_onnx_reshape_ints(c, s, NULL, 0);
    if (rank != 1)
        return s;
    for (int64_t i = 0; i < n - 1 - axis; i++)
        axes[i] = i + 1;
    return rlx_onnx_expand_dims(c, s, axes, n > axis ? (size_t)(n - 1 - axis) : 0);
}

typedef struct scales { const rlx_expr *x, *scale, *zero; int n; int64_t axis, block; } scales;

static bool read_scales(rlx_onnx_conv *c, scales *q)
{
    q->x = rlx_onnx_input(c, 0);
    q->n = q->x ? rlx_onnx_rank(c, q->x) : -1;
    q->axis = rlx_onnx_int(c, "axis", 1);
    q->block = rlx_onnx_int(c, "block_size", 0);
    const rlx_expr *s = rlx_onnx_input(c, 1);
    int rank = s ? rlx_onnx_rank(c, s) : -1;
    if (q->n < 0 || rank < 0)
        return false;
    int64_t one = 0;
    bool per_axis = rank > 0 && !(rank == 1 && rlx_onnx_static_dim(c, s, 0, &one) && one == 1);
    if (!per_axis && q->axis < 0 && q->axis >= -q->n)
        q->axis += q->n;
    if (per_axis && !rlx_onnx_axis(c, &q->axis, q->n))
        return false;
    q->scale = spread(c, s, q->x, q->n, q->axis, q->block);
    const rlx_expr *z = rlx_onnx_has(c, 2) ? rlx_onnx_input(c, 2) : NULL;
    q->zero = z ? spread(c, z, q->x, q->n, q->axis, q->block) : NULL;
    return q->scale && !c->failed;
}

RLX_ONNX_CONVERTER(convert_quantize)
{
    scales q;
    rlx_dtype t = RELAX_UINT8, s;
    if (!read_scales(c, &q))
        return false;
    int64_t out = rlx_onnx_int(c, "output_dtype", 0), precision = rlx_onnx_int(c, "precision", 0);
    if (q.zero)
        t = rlx_onnx_dtype_of(c, q.zero);
    else if (out && !rlx_onnx_dtype(out, &t))
        return rlx_onnx_fail(c, RLX_ON06, "elements of type %s are not supported",
                             rlx_onnx_dtype_name(out)) != NULL;
    s = rlx_onnx_dtype_of(c, q.scale);
    if (precision && !rlx_onnx_dtype(precision, &s))
        return rlx_onnx_fail(c, RLX_ON06, "that precision is not supported") != NULL;
    if (!rlx_dtype_is_float(s))
        s = RELAX_FLOAT32;
    const rlx_expr *y = rlx_onnx_call_as(c, "divide", s, q.x, q.scale);
    int64_t type = q.zero ? rlx_onnx_narrow_of(c, 2) : rlx_onnx_is_narrow(out) ? out : 0;
    if (type && rlx_dtype_is_float(t)) {
        y = rlx_onnx_to_narrow(c, type, y, rlx_onnx_int(c, "saturate", 1) != 0, 'n');
        return y && rlx_onnx_output_value(c, 0, &(rlx_onnx_value){ .expr = y, .narrow = (uint8_t)type });
    }
    if (rlx_dtype_is_float(t)) {
        if (rlx_onnx_int(c, "saturate", 1)) {
            double most = rlx_dtype_greatest(t);
            y = rlx_onnx_with(c, "minimum", rlx_onnx_with(c, "maximum", y, -most), most);
        }
        return rlx_onnx_output(c, 0, rlx_onnx_cast(c, y, t));
    }
    const rlx_expr *zero = q.zero ? q.zero : rlx_onnx_scalar(c, t, 0);
    /* sums in float32: float16 would lose what uint16 holds */
    y = rlx_onnx_cast(c, rlx_onnx_call1(c, "round", y), RELAX_FLOAT32);
    y = rlx_onnx_call2(c, "add", y, rlx_onnx_cast(c, zero, RELAX_FLOAT32));
    if (type) {
        y = rlx_onnx_limit_narrow(c, type, y);
        return y && rlx_onnx_output_value(c, 0, &(rlx_onnx_value){ .expr = y, .narrow = (uint8_t)type });
    }
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, y, t));
}

/* Zero points that are known to be 0 take nothing away. */
static bool is_nothing(rlx_onnx_conv *c, size_t i)
{
    size_t n = 0, k = 0;
    const int64_t *z = rlx_onnx_ints_of(c, rlx_onnx_input(c, i), &n);
    while (z && k < n && z[k] == 0)
        k++;
    return z && k == n;
}

/* For products of the result (rlx_onnx_quantized_pair). */
static void remember_bytes(rlx_onnx_conv *c, const scales *q, rlx_dtype t)
{
    const rlx_dtype from = rlx_onnx_dtype_of(c, q->x);
    const rlx_expr *scale = rlx_onnx_input(c, 1);
    const int rank = rlx_onnx_rank(c, scale);
    int64_t size = 0;
    if ((from != RELAX_INT8 && from != RELAX_UINT8) || q->block || t != RELAX_FLOAT32 || rlx_onnx_dtype_of(c, scale) != t ||
        rank > 1 || (rank == 1 && !rlx_onnx_static_dim(c, scale, 0, &size)) || !rlx_onnx_wants(c, 0) ||
        rlx_onnx_narrow_of(c, 0))
        return;
    const bool one = rank == 0 || size == 1;
    rlx_onnx_quantized *own = rlx_onnx_array(c, 1, sizeof *own);
    if (own)
        *own = (rlx_onnx_quantized){ q->x, one ? q->scale : scale, q->zero && !is_nothing(c, 2) ? rlx_onnx_input(c, 2) : NULL,
                                     one ? -1 : q->axis };
    c->outputs[0]->quantized = own;
}

RLX_ONNX_CONVERTER(convert_dequantize)
{
    scales q;
    rlx_dtype t;
    if (!read_scales(c, &q))
        return false;
    int64_t out = rlx_onnx_int(c, "output_dtype", 0);
    t = rlx_onnx_dtype_of(c, q.scale);
    if (out && !rlx_onnx_dtype(out, &t))
        return rlx_onnx_fail(c, RLX_ON06, "elements of type %s are not supported",
                             rlx_onnx_dtype_name(out)) != NULL;
    const rlx_expr *x = q.x;
    const rlx_dtype from = rlx_onnx_dtype_of(c, x), wide = rlx_dtype_bits(t) < 32 ? RELAX_FLOAT32 : t;
    /* differences of 16 bits are whole in float32, too, where one more step of a chain is next to nothing */
    const rlx_dtype less = rlx_dtype_bits(from) <= 16 ? wide : RELAX_INT32;
    if (rlx_dtype_is_float(from))
        x = rlx_onnx_cast(c, x, t);
    else if (q.zero && !is_nothing(c, 2))
        x = rlx_onnx_call_as(c, "subtract", less, x, q.zero);
    const rlx_expr *y = rlx_onnx_call_as(c, "multiply", wide, x, q.scale);
    if (!rlx_onnx_output(c, 0, rlx_onnx_cast(c, y, t)))
        return false;
    remember_bytes(c, &q, t);
    return true;
}

bool rlx_onnx_quantized_pair(rlx_onnx_conv *c, int64_t axis, int64_t steps, rlx_onnx_quantized pair[2])
{
    enum { MOST_STEPS = INT32_MAX / (255 * 255) };  /* no sum of so many leaves 32 bits */
    for (size_t i = 0; i < 2; i++) {
        if (!rlx_onnx_has(c, i) || !c->inputs[i]->quantized)
            return false;
        pair[i] = *c->inputs[i]->quantized;
    }
    return pair[0].axis < 0 && (pair[1].axis < 0 || pair[1].axis == axis) && steps <= MOST_STEPS;
}

const rlx_expr *rlx_onnx_centred(rlx_onnx_conv *c, const rlx_onnx_quantized *q)
{
    const rlx_expr *x = rlx_onnx_cast(c, q->x, RELAX_INT32);
    const rlx_expr *zero = q->zero ? spread(c, q->zero, q->x, rlx_onnx_rank(c, q->x), q->axis, 0) : NULL;
    return q->zero ? rlx_onnx_call2(c, "subtract", x, rlx_onnx_cast(c, zero, RELAX_INT32)) : x;
}

const rlx_expr *rlx_onnx_rescaled(rlx_onnx_conv *c, const rlx_expr *y, const rlx_onnx_quantized pair[2], size_t behind)
{
    static const int64_t axes[] = { 1, 2, 3 };
    const rlx_expr *s = pair[1].scale;
    if (pair[1].axis >= 0 && behind)
        s = rlx_onnx_expand_dims(c, s, axes, behind);
    s = rlx_onnx_call2(c, "multiply", pair[0].scale, s);
    return rlx_onnx_call2(c, "multiply", rlx_onnx_cast(c, y, RELAX_FLOAT32), s);
}

/* The elements are seen as one row, whose ends are found in long runs. */
const rlx_expr *rlx_onnx_quantize_by_range(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr **scale,
                                           const rlx_expr **zero)
{
    static const int64_t flat = -1;
    const rlx_expr *row = rlx_onnx_reshape_ints(c, x, &flat, 1);
    const rlx_expr *low = rlx_onnx_with(c, "minimum", rlx_onnx_call1(c, "min", row), 0);
    const rlx_expr *high = rlx_onnx_with(c, "maximum", rlx_onnx_call1(c, "max", row), 0);
    const rlx_expr *s = rlx_onnx_with(c, "divide", rlx_onnx_call2(c, "subtract", high, low), 255);
    const rlx_expr *one = x ? rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), 1) : NULL;
    const rlx_expr *d = rlx_onnx_where(c, rlx_onnx_with(c, "equal", s, 0), one, s);
    const rlx_expr *z = rlx_onnx_call2(c, "divide", rlx_onnx_call1(c, "negative", low), d);
    z = rlx_onnx_call1(c, "round", rlx_onnx_with(c, "minimum", rlx_onnx_with(c, "maximum", z, 0), 255));
    const rlx_expr *y = rlx_onnx_call1(c, "round", rlx_onnx_call2(c, "divide", x, d));
    *scale = s;
    *zero = rlx_onnx_cast(c, z, RELAX_UINT8);
    return rlx_onnx_cast(c, rlx_onnx_call2(c, "add", y, z), RELAX_UINT8);
}

RLX_ONNX_CONVERTER(convert_dynamic_quantize)
{
    const rlx_expr *s, *zero, *y = rlx_onnx_quantize_by_range(c, rlx_onnx_input(c, 0), &s, &zero);
    if (!rlx_onnx_output(c, 0, y))
        return false;
    return (!rlx_onnx_wants(c, 1) || rlx_onnx_output(c, 1, s)) &&
           (!rlx_onnx_wants(c, 2) || rlx_onnx_output(c, 2, zero));
}

/* ---- products ---------------------------------------------------------------------------------- */

/* Less its zero point, which is one for all, or one per row (of the left) or column (of the right). */
static const rlx_expr *centred(rlx_onnx_conv *c, size_t x, size_t zero, bool rows)
{
    static const int64_t behind = 1;
    const rlx_expr *v = rlx_onnx_cast(c, rlx_onnx_input(c, x), RELAX_INT32);
    if (!v || !rlx_onnx_has(c, zero))
        return v;
    const rlx_expr *z = rlx_onnx_cast(c, rlx_onnx_input(c, zero), RELAX_INT32);
    int64_t n = 1;
    if (z && rows && rlx_onnx_rank(c, z) == 1 && !(rlx_onnx_static_dim(c, z, 0, &n) && n == 1))
        z = rlx_onnx_expand_dims(c, z, &behind, 1);
    return rlx_onnx_call2(c, "subtract", v, z);
}

/* The product of operands a and b, each less its zero point; b comes first. */
static const rlx_expr *centred_product(rlx_onnx_conv *c, size_t a, size_t a_zero, size_t b, size_t b_zero)
{
    const rlx_expr *right = centred(c, b, b_zero, false);
    return rlx_onnx_call2(c, "matmul", centred(c, a, a_zero, true), right);
}

RLX_ONNX_CONVERTER(convert_matmul_integer)
{
    return rlx_onnx_output(c, 0, centred_product(c, 0, 2, 1, 3));
}

/* com.microsoft: the product of integers as float, scaled, with a bias */
RLX_ONNX_CONVERTER(convert_matmul_integer_to_float)
{
    const rlx_expr *y = centred_product(c, 0, 4, 1, 5);
    const rlx_expr *s = rlx_onnx_call_inputs(c, "multiply", 2, 3);
    y = rlx_onnx_call2(c, "multiply", rlx_onnx_cast(c, y, RELAX_FLOAT32), s);
    if (rlx_onnx_has(c, 6))
        y = rlx_onnx_call2(c, "add", y, rlx_onnx_input(c, 6));
    return rlx_onnx_output(c, 0, y);
}

static const rlx_expr *row_scale(rlx_onnx_conv *c, size_t i, bool rows)
{
    static const int64_t behind = 1;
    const rlx_expr *s = rlx_onnx_cast(c, rlx_onnx_input(c, i), RELAX_FLOAT32);
    int64_t n = 1;
    if (s && rows && rlx_onnx_rank(c, s) == 1 && !(rlx_onnx_static_dim(c, s, 0, &n) && n == 1))
        s = rlx_onnx_expand_dims(c, s, &behind, 1);
    return s;
}

RLX_ONNX_CONVERTER(convert_qlinear_matmul)
{
    const rlx_expr *y = centred_product(c, 0, 2, 3, 5);
    const rlx_expr *s = row_scale(c, 4, false);
    s = rlx_onnx_call2(c, "multiply", row_scale(c, 1, true), s);
    s = rlx_onnx_call2(c, "divide", s, row_scale(c, 6, true));
    y = rlx_onnx_call2(c, "multiply", rlx_onnx_cast(c, y, RELAX_FLOAT32), s);
    return rlx_onnx_output(c, 0, rlx_onnx_requantize(c, y, rlx_onnx_input(c, 7)));
}
