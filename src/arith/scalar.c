/* scalar.c: what one operation on two numbers gives. Folding and the evaluator compute with it; the
 * functions are those of the kernels (format/kernel_math.def), so that a constant is what the same
 * expression of variables is. */
#include "arith/arith.h"
#include "format/kernel_math.h"

static bool is_u64(rlx_dtype t)
{
    return rlx_dtype_code(t) == RELAX_DTYPE_UINT && rlx_dtype_bits(t) == 64;
}

static double int_to_float(rlx_dtype to, rlx_dtype from, int64_t v)
{
    bool large = rlx_dtype_is_large(from, v);
    if (to == RELAX_FLOAT32) /* one rounding */
        return large ? (double)(float)(uint64_t)v : (double)(float)v;
    return rlx_dtype_round(to, large ? (double)(uint64_t)v : (double)v);
}

static int64_t float_to_int(rlx_dtype to, double v)
{
    bool is_unsigned = rlx_dtype_code(to) == RELAX_DTYPE_UINT;
    int bits = rlx_dtype_bits(to) < 64 ? rlx_dtype_bits(to) : 64; /* wider ones can be named */
    if (is_unsigned && bits == 64)
        return (int64_t)rlx_saturate_u64(v);
    int64_t high = INT64_MAX >> (64 - bits - is_unsigned);
    return rlx_saturate(v, is_unsigned ? 0 : -high - 1, high);
}

rlx_scalar rlx_scalar_convert(rlx_dtype to, rlx_dtype from, rlx_scalar v)
{
    bool is_float = rlx_dtype_is_float(from);
    rlx_scalar out = { 0 };
    if (rlx_dtype_is_bool(to))
        out.i = is_float ? v.f != 0 : v.i != 0;
    else if (rlx_dtype_is_float(to))
        out.f = is_float ? rlx_dtype_round(to, v.f) : int_to_float(to, from, v.i);
    else
        out.i = is_float ? float_to_int(to, v.f) : rlx_dtype_wrap(to, v.i);
    return out;
}

/* -1, 0, 1; 2: unordered. */
static int order(rlx_dtype t, rlx_scalar a, rlx_scalar b)
{
    if (rlx_dtype_is_float(t))
        return a.f < b.f ? -1 : a.f > b.f ? 1 : a.f == b.f ? 0 : 2;
    if (is_u64(t))
        return (uint64_t)a.i < (uint64_t)b.i ? -1 : a.i != b.i;
    return a.i < b.i ? -1 : a.i > b.i;
}

static bool holds(enum rlx_node_kind comparison, int o)
{
    switch (comparison) {
    case RLX_NODE_EQ: return o == 0;
    case RLX_NODE_NE: return o != 0;
    case RLX_NODE_LT: return o == -1;
    case RLX_NODE_LE: return o == -1 || o == 0;
    case RLX_NODE_GT: return o == 1;
    default: return o == 1 || o == 0;
    }
}

/* b is not zero. */
static int64_t divide(enum rlx_node_kind kind, rlx_dtype t, int64_t a, int64_t b)
{
    bool remainder = kind == RLX_NODE_MOD || kind == RLX_NODE_FLOOR_MOD;
    if (is_u64(t))
        return (int64_t)(remainder ? (uint64_t)a % (uint64_t)b : (uint64_t)a / (uint64_t)b);
    switch (kind) {
    case RLX_NODE_DIV: return rlx_div_i64(a, b);
    case RLX_NODE_MOD: return rlx_mod_i64(a, b);
    case RLX_NODE_FLOOR_DIV: return rlx_floor_div_i64(a, b);
    default: return rlx_floor_mod_i64(a, b);
    }
}

static enum rlx_scalar_trouble float_binary(enum rlx_node_kind kind, rlx_dtype t, double a,
                                            double b, double *out)
{
    bool narrow = t != RELAX_FLOAT64;
    switch (kind) {
    case RLX_NODE_ADD: *out = narrow ? (double)((float)a + (float)b) : a + b; break;
    case RLX_NODE_SUB: *out = narrow ? (double)((float)a - (float)b) : a - b; break;
    case RLX_NODE_MUL: *out = narrow ? (double)((float)a * (float)b) : a * b; break;
    case RLX_NODE_DIV: *out = narrow ? (double)((float)a / (float)b) : a / b; break;
    case RLX_NODE_MOD: *out = narrow ? (double)fmodf((float)a, (float)b) : fmod(a, b); break;
    case RLX_NODE_MIN: *out = rlx_min_f64(a, b); break;
    case RLX_NODE_MAX: *out = rlx_max_f64(a, b); break;
    default: return RLX_SCALAR_UNKNOWN;
    }
    *out = rlx_dtype_round(t, *out);
    return RLX_SCALAR_FINE;
}

static enum rlx_scalar_trouble int_binary(enum rlx_node_kind kind, rlx_dtype t, rlx_scalar a,
                                          rlx_scalar b, int64_t *out)
{
    uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i;
    switch (kind) {
    case RLX_NODE_ADD: *out = (int64_t)(x + y); break;
    case RLX_NODE_SUB: *out = (int64_t)(x - y); break;
    case RLX_NODE_MUL: *out = (int64_t)(x * y); break;
    case RLX_NODE_MIN: *out = order(t, a, b) < 0 ? a.i : b.i; break;
    case RLX_NODE_MAX: *out = order(t, a, b) > 0 ? a.i : b.i; break;
    case RLX_NODE_DIV: case RLX_NODE_MOD: case RLX_NODE_FLOOR_DIV: case RLX_NODE_FLOOR_MOD:
        if (b.i == 0)
            return RLX_SCALAR_DIVISION;
        *out = divide(kind, t, a.i, b.i);
        break;
    default: return RLX_SCALAR_UNKNOWN;
    }
    *out = rlx_dtype_wrap(t, *out);
    return RLX_SCALAR_FINE;
}

enum rlx_scalar_trouble rlx_scalar_binary(enum rlx_node_kind kind, rlx_dtype t, rlx_scalar a,
                                          rlx_scalar b, rlx_scalar *out)
{
    *out = (rlx_scalar){ 0 };
    if (kind >= RLX_NODE_EQ && kind <= RLX_NODE_GE) {
        out->i = holds(kind, order(t, a, b));
        return RLX_SCALAR_FINE;
    }
    return rlx_dtype_is_float(t) ? float_binary(kind, t, a.f, b.f, &out->f)
                                 : int_binary(kind, t, a, b, &out->i);
}

enum rlx_bit_op rlx_bit_op_named(rlx_slice name)
{
    static const char *const names[] = { [RLX_BIT_AND] = "bitwise_and",
                                         [RLX_BIT_OR] = "bitwise_or",
                                         [RLX_BIT_XOR] = "bitwise_xor",
                                         [RLX_BIT_SHL] = "shift_left",
                                         [RLX_BIT_SHR] = "shift_right" };
    for (size_t i = 1; i < RLX_COUNT(names); i++)
        if (rlx_slice_is(name, names[i]))
            return (enum rlx_bit_op)i;
    return RLX_BIT_NONE;
}

static int64_t shift(bool left, rlx_dtype t, int64_t a, int64_t n)
{
    if (is_u64(t))
        return (int64_t)(left ? rlx_shl_u64((uint64_t)a, (uint64_t)n)
                              : rlx_shr_u64((uint64_t)a, (uint64_t)n));
    return left ? rlx_shl_i64(a, n) : rlx_shr_i64(a, n);
}

enum rlx_scalar_trouble rlx_scalar_bits(enum rlx_bit_op op, rlx_dtype t, int64_t a, int64_t b,
                                        int64_t *out)
{
    switch (op) {
    case RLX_BIT_AND: *out = a & b; break;
    case RLX_BIT_OR: *out = a | b; break;
    case RLX_BIT_XOR: *out = a ^ b; break;
    case RLX_BIT_SHL: case RLX_BIT_SHR:
        if (b < 0 && !is_u64(t))
            return RLX_SCALAR_SHIFT;
        *out = shift(op == RLX_BIT_SHL, t, a, b);
        break;
    default: return RLX_SCALAR_UNKNOWN;
    }
    *out = rlx_dtype_wrap(t, *out);
    return RLX_SCALAR_FINE;
}

bool rlx_has_exact_reciprocal(double v)
{
    enum { LEAST = -124, MOST = 126 }; /* of float32 */
    int exponent;
    return fabs(frexp(v, &exponent)) == 0.5 && exponent >= LEAST && exponent <= MOST;
}
