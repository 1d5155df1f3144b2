/*- narrow.c: element types that the machine has no dtype for.
 *
 * Their values are computed with as values of a dtype that holds all of them (float16, float32, int8, uint8):
 * operators need to know nothing. Inputs and outputs of the model are codes, a byte for each element.
 *
 *     codes --decode--> values                  a look-up in a table of all values
 *     values of any dtype --encode--> codes     how many thresholds lie below the magnitude
 *
 * Magnitudes rise with their codes, so a code is the number of thresholds that are not above it: half way from
 * one value to the next, and where half way belongs to the lower one, the next float behind that.
 */
#include "onnx/onnx_int.h"

#include <math.h>

typedef struct narrow {
    int64_t type;
    rlx_dtype dtype;
    uint8_t bits, fraction, bias;            /* of a float: fraction and bias of the exponent */
    char kind;                               /* i, u: integers; z: one zero, one NaN behind the greatest;
                                                f: finite only; e: an exponent, no sign */
} narrow;

static const narrow types[] = {
    { 18, RELAX_FLOAT16, 8, 3, 8, 'z' },  { 20, RELAX_FLOAT16, 8, 2, 16, 'z' },
    { 21, RELAX_UINT8, 4, 0, 0, 'u' },    { 22, RELAX_INT8, 4, 0, 0, 'i' },
    { 23, RELAX_FLOAT16, 4, 1, 1, 'f' },  { 24, RELAX_FLOAT32, 8, 0, 127, 'e' },
    { 25, RELAX_UINT8, 2, 0, 0, 'u' },    { 26, RELAX_INT8, 2, 0, 0, 'i' },
    { 27, RELAX_FLOAT16, 6, 3, 1, 'f' },  { 28, RELAX_FLOAT16, 6, 2, 3, 'f' }
};

static const narrow *find(int64_t type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}

bool rlx_onnx_is_narrow(int64_t type) { return find(type) != NULL; }

static bool is_int(const narrow *n) { return n->kind == 'i' || n->kind == 'u'; }
static int sign_bit(const narrow *n) { return n->kind == 'e' ? 256 : 1 << (n->bits - 1); }
/* The code of the greatest number. */
static int greatest(const narrow *n) { return n->kind == 'e' ? 254 : sign_bit(n) - 1; }

static double magnitude(const narrow *n, int code)
{
    int exponent = code >> n->fraction, part = code & ((1 << n->fraction) - 1);
    if (n->kind == 'e')
        return ldexp(1, code - n->bias);
    return exponent ? ldexp((1 << n->fraction) + part, exponent - n->bias - n->fraction)
                    : ldexp(part, 1 - n->bias - n->fraction);
}

double rlx_onnx_narrow_value(int64_t type, unsigned code)
{
    const narrow *n = find(type);
    if (!n)
        return 0;
    int c = (int)(code & ((1u << n->bits) - 1)), sign = sign_bit(n);
    if (is_int(n))
        return n->kind == 'i' && c & sign ? c - 2 * sign : c;
    if ((n->kind == 'z' && c == sign) || (n->kind == 'e' && c == 255))
        return NAN;
    return c & sign ? -magnitude(n, c - sign) : magnitude(n, c);
}

/* ---- encode ------------------------------------------------------------------------------------ */

/* From which magnitude on a number is not `code` but the one behind it. Half way belongs to the even one. */
static double threshold(const narrow *n, int code, char mode)
{
    double low = magnitude(n, code), high = magnitude(n, code + 1), half = (low + high) / 2;
    if (mode == 'd')
        return high;
    if (mode == 'u')
        return nextafterf((float)low, INFINITY);
    return n->kind == 'e' || code & 1 ? half : nextafterf((float)half, INFINITY);
}

/* A float32 or float64 as a code, in int32. */
static const rlx_expr *encode_float(rlx_onnx_conv *c, const narrow *n, const rlx_expr *x,
                                    bool saturate, char mode)
{
    double limits[256];
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    int most = greatest(n), sign = sign_bit(n);
    bool overflows = !saturate && n->kind != 'f';
    int64_t count = most + (overflows ? 1 : 0);
    for (int i = 0; i < count; i++)
        limits[i] = threshold(n, i, mode);
    const rlx_expr *code = rlx_onnx_call(c, "bucketize", "x x out_int32=b right=b",
                                         rlx_onnx_call1(c, "abs", x),
                                         rlx_onnx_const(c, t, &count, 1, limits), true, true);
    const rlx_expr *not_a_number = rlx_onnx_call1(c, "isnan", x);
    double nan_code = n->kind == 'e' ? 255 : sign;
    if (n->kind == 'e')
        not_a_number = rlx_onnx_call2(c, "logical_or", not_a_number, rlx_onnx_call1(c, "isinf", x));
    if (n->kind != 'e') {
        const rlx_expr *negative = rlx_onnx_with(c, "less", x, 0);
        if (n->kind == 'f') { /* the reciprocal of -0 is below 0 */
            negative = rlx_onnx_call2(
                c, "logical_or", negative,
                rlx_onnx_with(c, "less", rlx_onnx_call2(c, "divide", rlx_onnx_scalar(c, t, 1), x), 0));
        } else { /* 0 has no sign, nor has what is beyond the greatest: NaN */
            const rlx_expr *number = rlx_onnx_with(c, "less_equal", code, most);
            number = rlx_onnx_call2(c, "logical_and", rlx_onnx_with(c, "greater", code, 0), number);
            negative = rlx_onnx_call2(c, "logical_and", negative, number);
        }
        code = rlx_onnx_where(c, negative, rlx_onnx_with(c, "add", code, sign), code);
    }
    return rlx_onnx_where(c, not_a_number, rlx_onnx_scalar(c, RELAX_INT32, nan_code), code);
}

/* The low bits of integers; floats are cut off first. */
static const rlx_expr *low_bits(rlx_onnx_conv *c, const narrow *n, const rlx_expr *x)
{
    x = rlx_onnx_cast(c, x, RELAX_INT32);
    return rlx_onnx_with(c, "bitwise_and", x, (1 << n->bits) - 1);
}

static const rlx_expr *encode(rlx_onnx_conv *c, const narrow *n, const rlx_expr *x, bool saturate,
                              char mode)
{
    if (is_int(n))
        return low_bits(c, n, x);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    return encode_float(c, n, rlx_onnx_cast(c, x, t == RELAX_FLOAT64 ? t : RELAX_FLOAT32), saturate, mode);
}

/* ---- decode ------------------------------------------------------------------------------------ */

/* Codes as values; bits above a code have no meaning. */
static const rlx_expr *decode(rlx_onnx_conv *c, const narrow *n, const rlx_expr *codes)
{
    double values[256];
    int64_t count = 1 << n->bits;
    codes = low_bits(c, n, codes);
    if (n->kind == 'u')
        return rlx_onnx_cast(c, codes, n->dtype);
    if (n->kind == 'i') { /* the sign is spread */
        const rlx_expr *x = rlx_onnx_with(c, "bitwise_xor", codes, sign_bit(n));
        return rlx_onnx_cast(c, rlx_onnx_with(c, "subtract", x, sign_bit(n)), n->dtype);
    }
    for (int i = 0; i < count; i++)
        values[i] = rlx_onnx_narrow_value(n->type, (unsigned)i);
    return rlx_onnx_call(c, "take", "x x", rlx_onnx_const(c, n->dtype, &count, 1, values), codes);
}

const rlx_expr *rlx_onnx_decode(rlx_onnx_conv *c, int64_t type, const rlx_expr *codes)
{
    return codes ? decode(c, find(type), codes) : NULL;
}

const rlx_expr *rlx_onnx_encode(rlx_onnx_conv *c, int64_t type, const rlx_expr *x)
{
    return x ? rlx_onnx_cast(c, encode(c, find(type), x, true, 'n'), RELAX_UINT8) : NULL;
}

const rlx_expr *rlx_onnx_to_narrow(rlx_onnx_conv *c, int64_t type, const rlx_expr *x, bool saturate,
                                   char mode)
{
    const narrow *n = find(type);
    return x ? decode(c, n, encode(c, n, x, saturate, n->kind == 'e' ? mode : 'n')) : NULL;
}

/* Rounded numbers, in any dtype, limited to those of an integer type. */
const rlx_expr *rlx_onnx_limit_narrow(rlx_onnx_conv *c, int64_t type, const rlx_expr *y)
{
    const narrow *n = find(type);
    int half = 1 << (n->bits - 1);
    double low = n->kind == 'i' ? -half : 0, high = n->kind == 'i' ? half - 1 : 2 * half - 1;
    return rlx_onnx_cast(c, rlx_onnx_with(c, "minimum", rlx_onnx_with(c, "maximum", y, low), high), n->dtype);
}

/* The element type of operand i, if it is a narrow one, else 0. */
int64_t rlx_onnx_narrow_of(const rlx_onnx_conv *c, size_t i)
{
    const rlx_onnx_value *v = i < c->num_inputs ? c->inputs[i] : NULL;
    if (!v)
        return 0;
    return v->narrow ? v->narrow
           : v->tensor && rlx_onnx_is_narrow(v->tensor->data_type) ? v->tensor->data_type
                                                                  : 0;
}
