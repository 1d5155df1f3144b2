/*- convert_qlinear.c: com.microsoft: operators on quantised tensors, and products with packed weights.
 *
 *     QLinearX       X of ((x - zero) scale), quantised again
 *     MatMulNBits    A W^T, W in blocks of a row, 2, 4 or 8 bits an element, low bits first
 */
#include "onnx/onnx_int.h"

static const rlx_expr *dequantized(rlx_onnx_conv *c, size_t x, size_t scale, size_t zero)
{
    const rlx_expr *v = rlx_onnx_cast(c, rlx_onnx_input(c, x), RELAX_INT32);
    if (v && rlx_onnx_has(c, zero))
        v = rlx_onnx_call2(c, "subtract", v, rlx_onnx_cast(c, rlx_onnx_input(c, zero), RELAX_INT32));
    const rlx_expr *s = rlx_onnx_input(c, scale);
    return rlx_onnx_call2(c, "multiply", rlx_onnx_cast(c, v, RELAX_FLOAT32), s);
}

/* Operand `zero` left out: 0 of the dtype */
static const rlx_expr *quantized(rlx_onnx_conv *c, const rlx_expr *y, size_t scale, size_t zero, rlx_dtype t)
{
    const rlx_expr *z = rlx_onnx_has(c, zero) ? rlx_onnx_input(c, zero) : rlx_onnx_scalar(c, t, 0);
    return rlx_onnx_requantize(c, rlx_onnx_call2(c, "divide", y, rlx_onnx_input(c, scale)), z);
}

RLX_ONNX_CONVERTER(convert_qlinear_binary)
{
    const rlx_expr *a = dequantized(c, 0, 1, 2), *b = dequantized(c, 3, 4, 5);
    rlx_dtype t = rlx_onnx_dtype_of(c, rlx_onnx_input(c, 0));
    return rlx_onnx_output(c, 0, quantized(c, rlx_onnx_call2(c, c->row->argument, a, b), 6, 7, t));
}

/* The channels of an image from the last axis behind the batch, or back */
static const rlx_expr *channels_moved(rlx_onnx_conv *c, const rlx_expr *x, bool front)
{
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t perm[64] = { 0 };
    if (n < 3 || n > 64)
        return n < 0 ? NULL : rlx_onnx_fail(c, RLX_ON05, "the operand has rank %d, expected at least 3", n);
    for (int i = 1; i < n; i++)
        perm[i] = front ? (i == 1 ? n - 1 : i - 1) : i == n - 1 ? 1 : i + 1;
    return rlx_onnx_transpose(c, x, perm, (size_t)n);
}

/* The row's argument names the operator of ai.onnx that is applied. */
RLX_ONNX_CONVERTER(convert_qlinear_unary)
{
    const rlx_onnx_row *own = c->row, *row = rlx_onnx_row_find(RLX_SLICE(""), rlx_slice_z(own->argument));
    rlx_onnx_value *x = c->inputs[0], *y = c->num_outputs ? c->outputs[0] : NULL;
    rlx_onnx_value *inner = y ? rlx_onnx_value_new(c->m, y->name) : NULL;
    rlx_dtype t = rlx_onnx_dtype_of(c, rlx_onnx_input(c, 0));
    bool last = rlx_onnx_int(c, "channels_last", 0) != 0;
    const rlx_expr *floats = dequantized(c, 0, 1, 2);
    rlx_onnx_value *real = rlx_onnx_value_of(c, last ? channels_moved(c, floats, true) : floats);
    if (!row || !inner || !real || !y)
        return false;
    size_t num_inputs = c->num_inputs;
    int64_t version = c->version;
    c->inputs[0] = real;
    c->outputs[0] = inner;
    c->num_inputs = 1;
    c->version = rlx_onnx_int(c, "opset", RLX_ONNX_NEWEST);
    c->row = row;
    bool ok = row->convert(c);
    c->inputs[0] = x;
    c->outputs[0] = y;
    c->num_inputs = num_inputs;
    c->version = version;
    c->row = own;
    const rlx_expr *result = ok ? rlx_onnx_value_expr(c, inner) : NULL;
    return ok && rlx_onnx_output(c, 0, quantized(c, last ? channels_moved(c, result, false) : result, 3, 4, t));
}

/* Scale and zero point of the result come first, then each part with its own. */
RLX_ONNX_CONVERTER(convert_qlinear_concat)
{
    size_t n = c->num_inputs < 2 ? 0 : (c->num_inputs - 2) / 3;
    const rlx_expr **parts = rlx_onnx_array(c, n, sizeof *parts);
    int64_t axis = rlx_onnx_int(c, "axis", 0);
    for (size_t i = 0; parts && i < n; i++)
        if (!(parts[i] = dequantized(c, 2 + 3 * i, 3 + 3 * i, 4 + 3 * i)))
            return false;
    if (!parts || !n || !rlx_onnx_axis(c, &axis, rlx_onnx_rank(c, parts[0])))
        return false;
    rlx_dtype t = rlx_onnx_dtype_of(c, rlx_onnx_input(c, 2));
    return rlx_onnx_output(c, 0, quantized(c, rlx_onnx_concat(c, parts, n, axis), 0, 1, t));
}

/* ---- products ---------------------------------------------------------------------------------- */

/* Transposed if the attribute says so, less its zero point: one for all or for each column. */
static const rlx_expr *centred(rlx_onnx_conv *c, size_t x, size_t zero, const char *attribute)
{
    static const int64_t perm[] = { 1, 0 };
    const rlx_expr *v = rlx_onnx_input(c, x);
    if (v && rlx_onnx_int(c, attribute, 0))
        v = rlx_onnx_transpose(c, v, perm, 2);
    v = rlx_onnx_cast(c, v, RELAX_INT32);
    return v && rlx_onnx_has(c, zero)
               ? rlx_onnx_call2(c, "subtract", v, rlx_onnx_cast(c, rlx_onnx_input(c, zero), RELAX_INT32))
               : v;
}

/* A, scale, zero, B, scale, zero, C (int32, of the scale of the product), scale and zero of the result */
RLX_ONNX_CONVERTER(convert_qgemm)
{
    const rlx_expr *b = centred(c, 3, 5, "transB");
    const rlx_expr *y = rlx_onnx_call2(c, "matmul", centred(c, 0, 2, "transA"), b);
    if (rlx_onnx_has(c, 6))
        y = rlx_onnx_call2(c, "add", y, rlx_onnx_input(c, 6));
    const rlx_expr *s = rlx_onnx_call_inputs(c, "multiply", 1, 4);
    s = rlx_onnx_with(c, "multiply", s, rlx_onnx_float(c, "alpha", 1));
    y = rlx_onnx_call2(c, "multiply", rlx_onnx_cast(c, y, RELAX_FLOAT32), s);
    if (rlx_onnx_has(c, 7))
        y = quantized(c, y, 7, 8, rlx_onnx_dtype_of(c, rlx_onnx_input(c, 0)));
    return rlx_onnx_output(c, 0, y);
}

const rlx_expr *rlx_onnx_dynamic_product(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *w,
                                         const rlx_expr *scale, const rlx_expr *zero)
{
    const rlx_expr *s, *z, *q = rlx_onnx_quantize_by_range(c, x, &s, &z);
    q = rlx_onnx_call_as(c, "subtract", RELAX_INT32, q, z);
    w = rlx_onnx_cast(c, w, RELAX_INT32);
    if (zero)
        w = rlx_onnx_call2(c, "subtract", w, rlx_onnx_cast(c, zero, RELAX_INT32));
    const rlx_expr *y = rlx_onnx_call2(c, "matmul", q, w);
    s = rlx_onnx_call2(c, "multiply", scale, s);
    return rlx_onnx_call2(c, "multiply", rlx_onnx_cast(c, y, RELAX_FLOAT32), s);
}

RLX_ONNX_CONVERTER(convert_dynamic_quantize_matmul)
{
    const rlx_expr *zero = rlx_onnx_has(c, 3) ? rlx_onnx_input(c, 3) : NULL;
    const rlx_expr *scale = rlx_onnx_input(c, 2), *w = rlx_onnx_input(c, 1);
    const rlx_expr *y = rlx_onnx_dynamic_product(c, rlx_onnx_input(c, 0), w, scale, zero);
    if (rlx_onnx_has(c, 4))
        y = rlx_onnx_call2(c, "add", y, rlx_onnx_input(c, 4));
    return rlx_onnx_output(c, 0, y);
}

/* Bytes (rows, n) to elements of `bits` bits (rows, n * 8 / bits), as int32 */
static const rlx_expr *unpacked(rlx_onnx_conv *c, const rlx_expr *x, int64_t rows, int64_t n, int64_t bits)
{
    static const int64_t behind = 2;
    int64_t per = 8 / bits, flat[2] = { rows, n * per };
    double shifts[4];
    x = rlx_onnx_cast(c, x, RELAX_INT32);
    if (per == 1)
        return x;
    for (int64_t i = 0; i < per; i++)
        shifts[i] = (double)(i * bits);
    x = rlx_onnx_call2(c, "right_shift", rlx_onnx_expand_dims(c, x, &behind, 1),
                       rlx_onnx_const(c, RELAX_INT32, &per, 1, shifts));
    return rlx_onnx_reshape_ints(c, rlx_onnx_with(c, "bitwise_and", x, (double)((1 << bits) - 1)), flat, 2);
}

typedef struct packed { int64_t k, n, bits, block, blocks; } packed;

/* (n, blocks, 1), as floats */
static const rlx_expr *zero_points(rlx_onnx_conv *c, const packed *p)
{
    int64_t three[3] = { p->n, p->blocks, 1 }, per = 8 / p->bits, bytes = (p->blocks + per - 1) / per;
    if (!rlx_onnx_has(c, 3))
        return rlx_onnx_scalar(c, RELAX_FLOAT32, (double)(1 << (p->bits - 1)));
    const rlx_expr *z = rlx_onnx_input(c, 3);
    if (z && rlx_dtype_is_float(rlx_onnx_dtype_of(c, z)))
        return rlx_onnx_reshape_ints(c, rlx_onnx_cast(c, z, RELAX_FLOAT32), three, 3);
    int64_t flat[2] = { p->n, bytes };
    z = unpacked(c, rlx_onnx_reshape_ints(c, z, flat, 2), p->n, bytes, p->bits);
    if (bytes * per > p->blocks)
        z = rlx_onnx_slice(c, z, 1, rlx_int64(c->ctx, 0), rlx_int64(c->ctx, p->blocks));
    return rlx_onnx_reshape_ints(c, rlx_onnx_cast(c, z, RELAX_FLOAT32), three, 3);
}

/* (n, blocks, 1) to (n, columns), by the block of each column */
static const rlx_expr *of_columns(rlx_onnx_conv *c, const rlx_expr *x)
{
    static const int64_t last = 2;
    x = rlx_onnx_call(c, "squeeze", "x axis=I", x, &last, (size_t)1);
    return rlx_onnx_call(c, "take", "x x axis=i", x, rlx_onnx_input(c, 4), (int64_t)1);
}

/* Without what fills the last block */
static const rlx_expr *first_columns(rlx_onnx_conv *c, const rlx_expr *w, const packed *p)
{
    return p->blocks * p->block > p->k ? rlx_onnx_slice(c, w, 1, rlx_int64(c->ctx, 0), rlx_int64(c->ctx, p->k)) : w;
}

RLX_ONNX_CONVERTER(convert_matmul_nbits)
{
    int64_t k = rlx_onnx_int(c, "K", 0), n = rlx_onnx_int(c, "N", 0);
    int64_t bits = rlx_onnx_int(c, "bits", 4), block = rlx_onnx_int(c, "block_size", 0);
    packed p = { k, n, bits, block, 0 };
    static const int64_t perm[] = { 1, 0 };
    const rlx_expr *x = rlx_onnx_input(c, 0), *w = rlx_onnx_input(c, 1), *s = rlx_onnx_input(c, 2);
    if (p.k < 1 || p.n < 1 || p.block < 1 || p.k > INT32_MAX || p.n > INT32_MAX || p.block > INT32_MAX ||
        (p.bits != 2 && p.bits != 4 && p.bits != 8) || p.block * p.bits % 8)
        return rlx_onnx_fail(c, RLX_ON05, "K, N, block_size or bits is out of range") != NULL;
    p.blocks = (p.k + p.block - 1) / p.block;
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    int64_t rows = p.n * p.blocks, bytes = p.block * p.bits / 8, two[2] = { rows, bytes };
    int64_t three[3] = { p.n, p.blocks, p.block }, scales[3] = { p.n, p.blocks, 1 };
    int64_t flat[2] = { p.n, p.blocks * p.block };
    const rlx_expr *zero = zero_points(c, &p);
    w = unpacked(c, rlx_onnx_reshape_ints(c, w, two, 2), rows, bytes, p.bits);
    w = rlx_onnx_cast(c, rlx_onnx_reshape_ints(c, w, three, 3), RELAX_FLOAT32);
    s = rlx_onnx_cast(c, rlx_onnx_reshape_ints(c, s, scales, 3), RELAX_FLOAT32);
    if (rlx_onnx_has(c, 4)) { /* the block of each column */
        w = first_columns(c, rlx_onnx_reshape_ints(c, w, flat, 2), &p);
        s = of_columns(c, s);
        zero = rlx_onnx_has(c, 3) ? of_columns(c, zero) : zero;
    }
    w = rlx_onnx_call2(c, "multiply", rlx_onnx_call2(c, "subtract", w, zero), s);
    if (!rlx_onnx_has(c, 4))
        w = first_columns(c, rlx_onnx_reshape_ints(c, w, flat, 2), &p);
    w = rlx_onnx_cast(c, rlx_onnx_transpose(c, w, perm, 2), t);
    const rlx_expr *y = rlx_onnx_call2(c, "matmul", x, w);
    if (rlx_onnx_has(c, 5))
        y = rlx_onnx_call2(c, "add", y, rlx_onnx_input(c, 5));
    return rlx_onnx_output(c, 0, y);
}
