/* fold.c: building with the folding rules of the text form (tvmscript 6.3). */
#include "arith/arith.h"

#include <math.h>

/* What a folding rule found. */
enum outcome { KEEP, TAKE_A, TAKE_B, AN_INT, A_FLOAT };
typedef struct folded {
    enum outcome outcome;
    int64_t integer;
    double number;
} folded;

static const folded keep = { KEEP, 0, 0 };

static folded an_int(int64_t value)
{
    return (folded){ AN_INT, value, 0 };
}

static folded a_float(double value)
{
    return (folded){ A_FLOAT, 0, value };
}

/* Arithmetic wraps to the dtype, as it does at run time. */
static int64_t wrap(uint64_t value, rlx_dtype dtype)
{
    int bits = rlx_dtype_bits(dtype);
    if (bits <= 0 || bits >= 64)
        return (int64_t)value;
    uint64_t mask = ((uint64_t)1 << bits) - 1, sign = (uint64_t)1 << (bits - 1);
    value &= mask;
    if (rlx_dtype_code(dtype) == RELAX_DTYPE_INT && (value & sign))
        value |= ~mask;
    return (int64_t)value;
}

static bool is_index(rlx_dtype dtype)
{
    return dtype == RELAX_INT32 || dtype == RELAX_INT64;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* b is not zero. INT64_MIN / -1 wraps like any other overflow. */
static int64_t divide(enum rlx_node_kind kind, int64_t a, int64_t b)
{
    if (b == -1)
        return kind == RLX_NODE_DIV || kind == RLX_NODE_FLOOR_DIV ? (int64_t)(0 - (uint64_t)a) : 0;
    switch (kind) {
    case RLX_NODE_DIV: return a / b;
    case RLX_NODE_MOD: return a % b;
    case RLX_NODE_FLOOR_DIV: return floor_div(a, b);
    default: return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
    }
}

static folded fold_int_literals(enum rlx_node_kind kind, rlx_dtype dtype, int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    bool rest = kind == RLX_NODE_MOD || kind == RLX_NODE_FLOOR_MOD;
    switch (kind) {
    case RLX_NODE_ADD: return an_int(wrap(ua + ub, dtype));
    case RLX_NODE_SUB: return an_int(wrap(ua - ub, dtype));
    case RLX_NODE_MUL: return an_int(wrap(ua * ub, dtype));
    case RLX_NODE_MIN: return an_int(a < b ? a : b);
    case RLX_NODE_MAX: return an_int(a > b ? a : b);
    default:
        return b == 0 || (rest && !is_index(dtype))
                   ? keep
                   : an_int(wrap((uint64_t)divide(kind, a, b), dtype));
    }
}

/* What is known of an operand that may be a literal. */
typedef struct literal { bool is_0, is_1; } literal;

/* One operand is a literal: x + 0, x * 1, x * 0 and so on. */
static folded fold_identity(enum rlx_node_kind kind, literal a, literal b)
{
    switch (kind) {
    case RLX_NODE_ADD:
        return (folded){ a.is_0 ? TAKE_B : b.is_0 ? TAKE_A : KEEP, 0, 0 };
    case RLX_NODE_SUB:
        return (folded){ b.is_0 ? TAKE_A : KEEP, 0, 0 };
    case RLX_NODE_MUL:
        return (folded){ a.is_1 || b.is_0 ? TAKE_B : a.is_0 || b.is_1 ? TAKE_A : KEEP, 0, 0 };
    case RLX_NODE_DIV:
    case RLX_NODE_FLOOR_DIV:
        return (folded){ !b.is_0 && (a.is_0 || b.is_1) ? TAKE_A : KEEP, 0, 0 };
    default:
        return keep;
    }
}

static folded fold_int_identity(enum rlx_node_kind kind, rlx_dtype dtype, literal a, literal b)
{
    if (kind != RLX_NODE_MOD && kind != RLX_NODE_FLOOR_MOD)
        return fold_identity(kind, a, b);
    if (!is_index(dtype) || b.is_0)
        return keep;
    return a.is_0 ? (folded){ TAKE_A, 0, 0 } : b.is_1 ? an_int(0) : keep;
}

static folded rounded(double value, rlx_dtype dtype)
{
    return a_float(dtype == RELAX_FLOAT32 ? (double)(float)value : value);
}

static folded fold_float_literals(enum rlx_node_kind kind, rlx_dtype dtype, double a, double b)
{
    if (kind == RLX_NODE_MIN)
        return a_float(b < a ? b : a);
    if (kind == RLX_NODE_MAX)
        return a_float(a < b ? b : a);
    if (dtype != RELAX_FLOAT32 && dtype != RELAX_FLOAT64)
        return keep;
    switch (kind) {
    case RLX_NODE_ADD: return rounded(a + b, dtype);
    case RLX_NODE_SUB: return rounded(a - b, dtype);
    case RLX_NODE_MUL: return rounded(a * b, dtype);
    case RLX_NODE_DIV: return b == 0 ? keep : rounded(a / b, dtype);
    case RLX_NODE_FLOOR_DIV: return b == 0 ? keep : rounded(floor(a / b), dtype);
    default: return keep;
    }
}

static literal int_literal(const rlx_int_imm *i)
{
    return (literal){ i && i->value == 0, i && i->value == 1 };
}

static literal float_literal(const rlx_float_imm *f)
{
    return (literal){ f && f->value == 0, f && f->value == 1 };
}

/* a and b have the same dtype. Makes no node, so that printing can ask. */
static folded fold(enum rlx_node_kind kind, const rlx_prim *a, const rlx_prim *b)
{
    if (kind > RLX_NODE_MAX)
        return keep; /* comparisons, and, or */
    const rlx_int_imm *ia = rlx_as_int_imm(a), *ib = rlx_as_int_imm(b);
    if (ia && ib)
        return fold_int_literals(kind, ia->dtype, ia->value, ib->value);
    if (ia || ib)
        return fold_int_identity(kind, ia ? ia->dtype : ib->dtype, int_literal(ia),
                                 int_literal(ib));
    const rlx_float_imm *fa = rlx_as_float_imm(a), *fb = rlx_as_float_imm(b);
    if (fa && fb)
        return fold_float_literals(kind, fa->dtype, fa->value, fb->value);
    if (fa || fb)
        return fold_identity(kind, float_literal(fa), float_literal(fb));
    if (a == b && (kind == RLX_NODE_MIN || kind == RLX_NODE_MAX))
        return (folded){ TAKE_A, 0, 0 };
    return keep;
}

const rlx_prim *rlx_fold_binary(rlx_context *ctx, enum rlx_node_kind kind, const rlx_prim *a,
                                const rlx_prim *b)
{
    if (!a || !b || !rlx_match_types(ctx, &a, &b))
        return NULL;
    folded f = fold(kind, a, b);
    switch (f.outcome) {
    case TAKE_A: return a;
    case TAKE_B: return b;
    case AN_INT: return rlx_int(ctx, rlx_prim_dtype(a), f.integer);
    case A_FLOAT: return rlx_float(ctx, rlx_prim_dtype(a), f.number);
    default: return rlx_binary_new(ctx, kind, a, b);
    }
}

bool rlx_refolds(rlx_context *ctx, const rlx_prim *p)
{
    const rlx_binary *b = rlx_as_binary(p);
    if (!b)
        return false;
    return rlx_prim_dtype(b->a) != rlx_prim_dtype(b->b) ||
           fold(p->kind, b->a, b->b).outcome != KEEP;
}

/* --- matching of types --- */

/* Groups of dtypes, the stronger with the higher number: an operand of the weaker group is
 * cast. */
static int strength(rlx_dtype t)
{
    switch (rlx_dtype_code(t)) {
    case RELAX_DTYPE_INT: return 1;
    case RELAX_DTYPE_UINT: return 1;
    case RELAX_DTYPE_FLOAT: return 3;
    default: return rlx_dtype_is_float(t) ? 2 : 0;
    }
}

/* Which of two different scalar dtypes wins; RELAX_VOID: neither. */
static rlx_dtype common_dtype(rlx_dtype a, rlx_dtype b)
{
    int sa = strength(a), sb = strength(b);
    if (!sa || !sb)
        return RELAX_VOID;
    if (sa != sb)
        return sa > sb ? a : b;
    int bits_a = rlx_dtype_bits(a), bits_b = rlx_dtype_bits(b);
    if (bits_a != bits_b)
        return bits_a > bits_b ? a : b;
    if (sa == 1)
        return rlx_dtype_code(a) == RELAX_DTYPE_UINT ? a : b;
    return RELAX_VOID; /* two small float formats of one width */
}

static const rlx_prim *broadcast(rlx_context *ctx, const rlx_prim *value, int lanes)
{
    if (!value)
        return NULL;
    const rlx_prim *count = rlx_int(ctx, RELAX_INT32, lanes);
    rlx_broadcast key = { .node = { .kind = RLX_NODE_BROADCAST },
                          .dtype = rlx_dtype_with_lanes(rlx_prim_dtype(value), lanes),
                          .value = value,
                          .lanes = count };
    return count ? rlx_node_intern(ctx, &key.node) : NULL;
}

bool rlx_match_types(rlx_context *ctx, const rlx_prim **a, const rlx_prim **b)
{
    if (!*a || !*b)
        return false;
    rlx_dtype ta = rlx_prim_dtype(*a), tb = rlx_prim_dtype(*b);
    if (RLX_LIKELY(ta == tb))
        return true;
    int la = rlx_dtype_lanes(ta), lb = rlx_dtype_lanes(tb);
    if (la != lb && la != 1 && lb != 1)
        return false;
    rlx_dtype ea = rlx_dtype_with_lanes(ta, 1), eb = rlx_dtype_with_lanes(tb, 1);
    rlx_dtype common = ea == eb ? ea : common_dtype(ea, eb);
    if (rlx_dtype_is_void(common))
        return false;
    common = rlx_dtype_with_lanes(common, la > lb ? la : lb);
    const rlx_prim *na = rlx_fold_cast(ctx, common, *a), *nb = rlx_fold_cast(ctx, common, *b);
    if (!na || !nb)
        return false;
    *a = na;
    *b = nb;
    return true;
}

/* --- casts --- */

static const rlx_prim *cast_int_literal(rlx_context *ctx, rlx_dtype to, int64_t value)
{
    if (rlx_dtype_is_bool(to))
        return rlx_int(ctx, to, value != 0);
    if (rlx_dtype_is_int(to))
        return rlx_int(ctx, to, wrap((uint64_t)value, to));
    return rlx_dtype_is_float(to) ? rlx_float(ctx, to, (double)value) : NULL;
}

static const rlx_prim *cast_float_literal(rlx_context *ctx, rlx_dtype to, double value)
{
    if (rlx_dtype_is_float(to))
        return rlx_float(ctx, to, value);
    if (rlx_dtype_is_bool(to))
        return rlx_int(ctx, to, value != 0);
    /* Outside of int64 the conversion means nothing: it stays a cast. */
    if (rlx_dtype_is_int(to) && value > -9.2e18 && value < 9.2e18)
        return rlx_int(ctx, to, wrap((uint64_t)(int64_t)value, to));
    return NULL;
}

/* Does the value of this literal have another type's literal? */
static bool literal_casts(rlx_dtype to, const rlx_prim *a)
{
    const rlx_float_imm *f = rlx_as_float_imm(a);
    if (f && rlx_dtype_is_int(to))
        return f->value > -9.2e18 && f->value < 9.2e18;
    return (f || rlx_is(a, RLX_NODE_INT_IMM)) &&
           (rlx_dtype_is_int(to) || rlx_dtype_is_bool(to) || rlx_dtype_is_float(to));
}

static const rlx_prim *cast_scalar(rlx_context *ctx, rlx_dtype to, const rlx_prim *a)
{
    if (rlx_prim_dtype(a) == to)
        return a;
    if (!literal_casts(to, a))
        return rlx_cast(ctx, to, a);
    int64_t value;
    return rlx_int_literal(a, &value) ? cast_int_literal(ctx, to, value)
                                      : cast_float_literal(ctx, to, rlx_as_float_imm(a)->value);
}

const rlx_prim *rlx_fold_cast(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *a)
{
    if (!a)
        return NULL;
    rlx_dtype from = rlx_prim_dtype(a);
    int lanes = rlx_dtype_lanes(dtype), have = rlx_dtype_lanes(from);
    if (from == dtype)
        return a;
    if (lanes == have && have == 1)
        return cast_scalar(ctx, dtype, a);
    const rlx_broadcast *v = rlx_as_broadcast(a);
    if (v && lanes == have)
        a = v->value;
    else if (have != 1)
        return lanes == have ? rlx_cast(ctx, dtype, a) : NULL;
    return broadcast(ctx, rlx_fold_cast(ctx, rlx_dtype_with_lanes(dtype, 1), a), lanes);
}

const rlx_prim *rlx_fold_select(rlx_context *ctx, const rlx_prim *cond, const rlx_prim *t,
                                const rlx_prim *f)
{
    if (!cond || !rlx_match_types(ctx, &t, &f))
        return NULL;
    int64_t value;
    if (rlx_int_literal(cond, &value))
        return value ? t : f;
    const rlx_prim *args[] = { cond, t, f };
    return rlx_prim_call_z(ctx, rlx_prim_dtype(t), "if_then_else", args, 3);
}

/* Like comparisons, `not` is built as it is written. */
const rlx_prim *rlx_fold_not(rlx_context *ctx, const rlx_prim *a)
{
    return rlx_not(ctx, a);
}
