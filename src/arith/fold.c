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
static const folded take_a = { TAKE_A, 0, 0 };
static const folded take_b = { TAKE_B, 0, 0 };

static folded an_int(int64_t value)
{
    return (folded){ AN_INT, value, 0 };
}

static bool is_index(rlx_dtype dtype)
{
    return dtype == RELAX_INT32 || dtype == RELAX_INT64;
}

/* ---- two literals --------------------------------------------------------------------------- */

/* A node holds what it was given: an integer beyond its type counts as wrapped, a float as
 * rounded. */
static rlx_scalar value_of(const rlx_prim *p)
{
    const rlx_int_imm *i = rlx_as_int_imm(p);
    const rlx_float_imm *f = rlx_as_float_imm(p);
    return i ? (rlx_scalar){ .i = rlx_dtype_wrap(i->dtype, i->value) }
             : (rlx_scalar){ .f = rlx_dtype_round(f->dtype, f->value) };
}

static folded fold_int_literals(enum rlx_node_kind kind, const rlx_int_imm *a,
                                const rlx_int_imm *b)
{
    bool rest = kind == RLX_NODE_MOD || kind == RLX_NODE_FLOOR_MOD;
    rlx_dtype dtype = a->dtype;
    rlx_scalar out;
    if (rest && !is_index(dtype))
        return keep;
    /* Most literals are sizes and offsets. */
    if (dtype == RELAX_INT64 && (kind == RLX_NODE_ADD || kind == RLX_NODE_MUL)) {
        uint64_t x = (uint64_t)a->value, y = (uint64_t)b->value;
        return an_int((int64_t)(kind == RLX_NODE_ADD ? x + y : x * y));
    }
    return rlx_scalar_binary(kind, dtype, value_of(&a->node), value_of(&b->node), &out) ==
                   RLX_SCALAR_FINE
               ? an_int(out.i)
               : keep;
}

/* Is a what min or max of both gives? NaN wins, -0 is less than +0. */
static bool is_extreme(enum rlx_node_kind kind, double a, double b)
{
    if (a != a || b != b)
        return a != a;
    bool less = a == b ? signbit(a) : a < b;
    return less == (kind == RLX_NODE_MIN);
}

static folded fold_float_literals(enum rlx_node_kind kind, rlx_dtype dtype, rlx_scalar a,
                                  rlx_scalar b)
{
    bool divides = kind == RLX_NODE_DIV || kind == RLX_NODE_FLOOR_DIV;
    rlx_scalar out;
    if (kind == RLX_NODE_MIN || kind == RLX_NODE_MAX)
        return is_extreme(kind, a.f, b.f) ? take_a : take_b;
    if ((dtype != RELAX_FLOAT32 && dtype != RELAX_FLOAT64) || (divides && b.f == 0) ||
        kind == RLX_NODE_MOD)
        return keep;
    if (kind == RLX_NODE_FLOOR_DIV)
        out.f = rlx_dtype_round(dtype, floor(a.f / b.f));
    else if (rlx_scalar_binary(kind, dtype, a, b, &out) != RLX_SCALAR_FINE)
        return keep;
    /* the sign of a NaN that comes out of an operation is the machine's to choose */
    return out.f != out.f ? keep : (folded){ A_FLOAT, 0, out.f };
}

/* ---- one literal ---------------------------------------------------------------------------- */

/* What is known of an operand that may be a literal. */
typedef struct literal { bool is_0, is_1, is_minus_0; } literal;

static folded fold_int_identity(enum rlx_node_kind kind, rlx_dtype dtype, literal a, literal b)
{
    switch (kind) {
    case RLX_NODE_ADD: return a.is_0 ? take_b : b.is_0 ? take_a : keep;
    case RLX_NODE_SUB: return b.is_0 ? take_a : keep;
    case RLX_NODE_MUL:
        return a.is_1 || b.is_0 ? take_b : a.is_0 || b.is_1 ? take_a : keep;
    case RLX_NODE_DIV: case RLX_NODE_FLOOR_DIV:
        return !b.is_0 && (a.is_0 || b.is_1) ? take_a : keep;
    case RLX_NODE_MOD: case RLX_NODE_FLOOR_MOD:
        if (!is_index(dtype) || b.is_0)
            return keep;
        return a.is_0 ? take_a : b.is_1 ? an_int(0) : keep;
    default: return keep;
    }
}

/* Only what holds for NaN, the infinities and both zeros: 0 * x and 0 / x may be NaN or -0.0, and
 * -0.0 + 0 is 0. */
static folded fold_float_identity(enum rlx_node_kind kind, literal a, literal b)
{
    switch (kind) {
    case RLX_NODE_ADD: return a.is_minus_0 ? take_b : b.is_minus_0 ? take_a : keep;
    case RLX_NODE_SUB: return b.is_0 ? take_a : keep;
    case RLX_NODE_MUL: return a.is_1 ? take_b : b.is_1 ? take_a : keep;
    case RLX_NODE_DIV: return b.is_1 ? take_a : keep;
    default: return keep;
    }
}

static literal int_literal(const rlx_int_imm *i)
{
    return (literal){ .is_0 = i && i->value == 0, .is_1 = i && i->value == 1 };
}

static literal float_literal(const rlx_float_imm *f)
{
    bool zero = f && f->value == 0, minus = zero && signbit(f->value);
    return (literal){ .is_0 = zero && !minus, .is_1 = f && f->value == 1, .is_minus_0 = minus };
}

/* a and b have the same dtype. Makes no node, so that printing can ask. */
static folded fold(enum rlx_node_kind kind, const rlx_prim *a, const rlx_prim *b)
{
    if (kind > RLX_NODE_MAX)
        return keep; /* comparisons, and, or */
    const rlx_int_imm *ia = rlx_as_int_imm(a), *ib = rlx_as_int_imm(b);
    if (ia && ib)
        return fold_int_literals(kind, ia, ib);
    if (ia || ib)
        return fold_int_identity(kind, ia ? ia->dtype : ib->dtype, int_literal(ia),
                                 int_literal(ib));
    const rlx_float_imm *fa = rlx_as_float_imm(a), *fb = rlx_as_float_imm(b);
    if (fa && fb)
        return fold_float_literals(kind, fa->dtype, value_of(a), value_of(b));
    if (fa || fb)
        return fold_float_identity(kind, float_literal(fa), float_literal(fb));
    if (a == b && (kind == RLX_NODE_MIN || kind == RLX_NODE_MAX))
        return take_a;
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
    const rlx_prim *na = rlx_fold_retype(ctx, common, *a), *nb = rlx_fold_retype(ctx, common, *b);
    if (!na || !nb)
        return false;
    *a = na;
    *b = nb;
    return true;
}

/* --- casts --- */

static bool is_number(rlx_dtype t)
{
    return rlx_dtype_is_int(t) || rlx_dtype_is_bool(t) || rlx_dtype_is_float(t);
}

/* All digits of a literal for a float type `to`. False: they would say another number there. */
static bool keeps_digits(rlx_dtype to, const rlx_prim *a, double *digits)
{
    const rlx_float_imm *f = rlx_as_float_imm(a);
    const rlx_int_imm *i = rlx_as_int_imm(a);
    if (!rlx_dtype_is_float(to))
        return false;
    *digits = f ? f->value : (double)i->value;
    return f || (i->value <= (int64_t)1 << 53 && i->value >= -((int64_t)1 << 53) &&
                 !rlx_dtype_is_large(i->dtype, i->value));
}

static const rlx_prim *cast_scalar(rlx_context *ctx, rlx_dtype to, const rlx_prim *a, bool retypes)
{
    rlx_dtype from = rlx_prim_dtype(a);
    bool is_literal = rlx_is(a, RLX_NODE_INT_IMM) || rlx_is(a, RLX_NODE_FLOAT_IMM);
    double digits;
    if (from == to)
        return a;
    if (!is_literal || !is_number(to) || !is_number(from))
        return rlx_cast(ctx, to, a);
    if (retypes && keeps_digits(to, a, &digits))
        return rlx_float(ctx, to, digits);
    rlx_scalar v = value_of(a);
    if (to != RELAX_INT64 || rlx_dtype_is_float(from)) /* any integer is one of 64 bits already */
        v = rlx_scalar_convert(to, from, v);
    return rlx_dtype_is_float(to) ? rlx_float(ctx, to, v.f) : rlx_int(ctx, to, v.i);
}

static const rlx_prim *convert(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *a, bool retypes)
{
    if (!a)
        return NULL;
    rlx_dtype from = rlx_prim_dtype(a);
    int lanes = rlx_dtype_lanes(dtype), have = rlx_dtype_lanes(from);
    if (from == dtype)
        return a;
    if (lanes == have && have == 1)
        return cast_scalar(ctx, dtype, a, retypes);
    const rlx_broadcast *v = rlx_as_broadcast(a);
    if (v && lanes == have)
        a = v->value;
    else if (have != 1)
        return lanes == have ? rlx_cast(ctx, dtype, a) : NULL;
    return broadcast(ctx, convert(ctx, rlx_dtype_with_lanes(dtype, 1), a, retypes), lanes);
}

const rlx_prim *rlx_fold_cast(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *a)
{
    return convert(ctx, dtype, a, false);
}

const rlx_prim *rlx_fold_retype(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *a)
{
    return convert(ctx, dtype, a, true);
}

/* --- other constructors --- */

const rlx_prim *rlx_fold_call(rlx_context *ctx, const char *op, const rlx_prim *a,
                              const rlx_prim *b)
{
    const rlx_prim *args[] = { a, b };
    enum rlx_bit_op bits = rlx_bit_op_named(rlx_slice_z(op));
    int64_t out;
    if (!a || !b)
        return NULL;
    rlx_dtype t = rlx_prim_dtype(a);
    if (bits && rlx_dtype_is_int(t) && rlx_is(a, RLX_NODE_INT_IMM) && rlx_is(b, RLX_NODE_INT_IMM) &&
        rlx_scalar_bits(bits, t, value_of(a).i, value_of(b).i, &out) == RLX_SCALAR_FINE)
        return rlx_int(ctx, t, out);
    return rlx_prim_call_z(ctx, t, op, args, 2);
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
