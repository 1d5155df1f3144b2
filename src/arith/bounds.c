/*- bounds.c: least and greatest value of a polynomial.
 *
 * Besides the plain interval (each monomial by itself), atoms are taken out one by one, deepest
 * first, by what bounds them in terms of their operands, so that related parts cancel:
 *
 *     (p - c + 1) / c <= p // c <= p / c     all is multiplied by c, the result divided again
 *     min(p, q) is p or q, and below both; a select is one of its arms
 */
#include "arith/arith_int.h"

#define NO_LOW INT64_MIN
#define NO_HIGH INT64_MAX

static const rlx_interval everything = { NO_LOW, NO_HIGH };

static int64_t clamp(rlx_i128 v)
{
    return v <= INT64_MIN ? INT64_MIN : v >= INT64_MAX ? INT64_MAX : (int64_t)v;
}

static bool crosses(rlx_interval v)
{
    return v.low < 0 && v.high > 0;
}

/* Products of ends, where an infinite end times zero is zero. */
static rlx_i128 end_product(int64_t a, int64_t b)
{
    return (rlx_i128)a * b;
}

static bool infinite(int64_t v)
{
    return v == NO_LOW || v == NO_HIGH;
}

static int64_t product_end(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return 0;
    if (infinite(a) || infinite(b))
        return (a < 0) == (b < 0) ? NO_HIGH : NO_LOW;
    return clamp(end_product(a, b));
}

static rlx_interval interval_mul(rlx_interval a, rlx_interval b)
{
    int64_t ends[] = { product_end(a.low, b.low), product_end(a.low, b.high),
                       product_end(a.high, b.low), product_end(a.high, b.high) };
    rlx_interval out = { ends[0], ends[0] };
    for (int i = 1; i < 4; i++) {
        out.low = ends[i] < out.low ? ends[i] : out.low;
        out.high = ends[i] > out.high ? ends[i] : out.high;
    }
    return out;
}

static int64_t add_end(int64_t a, int64_t b, int64_t none)
{
    if (a == none || b == none)
        return none;
    return clamp((rlx_i128)a + b);
}

static rlx_interval interval_power(rlx_interval v, uint32_t power)
{
    rlx_interval out = { 1, 1 };
    for (uint32_t i = 0; i < power; i++)
        out = interval_mul(out, v);
    if (power % 2 == 0 && crosses(v))
        out.low = 0;
    return out;
}

/* --- intervals of atoms --- */

static rlx_interval dtype_interval(rlx_dtype t)
{
    int bits = rlx_dtype_bits(t), code = rlx_dtype_code(t);
    if (code == RELAX_DTYPE_UINT)
        return bits >= 63 ? (rlx_interval){ 0, NO_HIGH }
                          : (rlx_interval){ 0, ((int64_t)1 << bits) - 1 };
    if (code != RELAX_DTYPE_INT || bits >= 64 || bits <= 0)
        return everything;
    int64_t half = (int64_t)1 << (bits - 1);
    return (rlx_interval){ -half, half - 1 };
}

static rlx_interval intersect(rlx_interval a, rlx_interval b)
{
    return (rlx_interval){ a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high };
}

static rlx_interval join(rlx_interval a, rlx_interval b)
{
    return (rlx_interval){ a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high };
}

static rlx_interval quotient_interval(rlx_interval p, int64_t c, bool floors)
{
    rlx_interval out = everything;
    if (p.low != NO_LOW)
        out.low = floors ? rlx_floor_div_i64(p.low, c) : p.low / c;
    if (p.high != NO_HIGH)
        out.high = floors ? rlx_floor_div_i64(p.high, c) : p.high / c;
    return out;
}

/* The rest of a division by something known to be positive. */
static rlx_interval rest_interval(rlx_interval p, rlx_interval divisor, bool floors)
{
    if (divisor.low < 1)
        return everything;
    int64_t most = divisor.high == NO_HIGH ? NO_HIGH : divisor.high - 1;
    rlx_interval out = { floors || p.low >= 0 ? 0 : most == NO_HIGH ? NO_LOW : -most, most };
    if (p.low >= 0 && p.high < out.high)
        out.high = p.high;
    return out;
}

static rlx_interval atom_interval(rlx_query *q, const rlx_atom *t)
{
    int64_t c;
    rlx_interval a = everything, b = everything, fact;
    if (t->kind == ATOM_VAR || t->kind == ATOM_OPAQUE) {
        a = dtype_interval(rlx_prim_dtype(t->node));
        if (t->kind == ATOM_OPAQUE)
            return a;
        rlx_scope_fact(q->scope, (const rlx_prim_var *)t->node, &fact.low, &fact.high);
        return intersect(a, fact);
    }
    a = rlx_interval_of(q, t->ops[0]);
    size_t count = t->kind == ATOM_SELECT || t->kind == ATOM_SELECT_ZERO ? 2 : t->num_ops;
    for (size_t i = 1; i < count; i++) {
        b = rlx_interval_of(q, t->ops[i]);
        if (t->kind == ATOM_MIN)
            a = (rlx_interval){ a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high };
    }
    switch (t->kind) {
    case ATOM_MIN: return a;
    case ATOM_SELECT:
    case ATOM_SELECT_ZERO: return join(a, b);
    case ATOM_FLOOR_MOD: return rest_interval(a, b, true);
    case ATOM_TRUNC_MOD: return rest_interval(a, b, false);
    default:
        if (rlx_poly_is_const(t->ops[1], &c) && c > 0)
            return quotient_interval(a, c, t->kind == ATOM_FLOOR_DIV);
        /* Divided by at least 1, what is not negative stays so and does not grow. */
        return b.low >= 1 && a.low >= 0 ? (rlx_interval){ 0, a.high } : everything;
    }
}

static rlx_interval mono_interval(rlx_query *q, const rlx_mono *m)
{
    rlx_interval out = { 1, 1 };
    for (size_t i = 0; i < m->len; i++)
        out = interval_mul(
            out, interval_power(atom_interval(q, m->factors[i].atom), m->factors[i].power));
    return out;
}

rlx_interval rlx_interval_of(rlx_query *q, const rlx_poly *p)
{
    rlx_interval sum = { 0, 0 };
    if (!rlx_query_step(q, p->len))
        return everything;
    for (size_t i = 0; i < p->len && (sum.low != NO_LOW || sum.high != NO_HIGH); i++) {
        int64_t c = p->terms[i].coef;
        rlx_interval t = interval_mul(mono_interval(q, p->terms[i].mono), (rlx_interval){ c, c });
        sum =
            (rlx_interval){ add_end(sum.low, t.low, NO_LOW), add_end(sum.high, t.high, NO_HIGH) };
    }
    /* A sum cut off at an end of the number range has no bound on the other side of it either. */
    return q->spent ? everything
                    : (rlx_interval){ sum.low == NO_HIGH ? NO_LOW : sum.low,
                                      sum.high == NO_LOW ? NO_HIGH : sum.high };
}

/* --- taking atoms out --- */

static bool can_take_out(const rlx_atom *t)
{
    int64_t c;
    if (t->kind == ATOM_FLOOR_DIV)
        return rlx_poly_is_const(t->ops[1], &c) && c > 0;
    return t->kind == ATOM_MIN || t->kind == ATOM_SELECT || t->kind == ATOM_SELECT_ZERO;
}

static const rlx_atom *deepest(const rlx_poly *p)
{
    const rlx_atom *best = NULL;
    for (size_t i = 0; i < p->len; i++) {
        const rlx_mono *m = p->terms[i].mono;
        for (size_t k = 0; m->depth && k < m->len; k++) {
            const rlx_atom *t = m->factors[k].atom;
            if (can_take_out(t) && (!best || t->depth > best->depth ||
                                    (t->depth == best->depth && t->hash < best->hash)))
                best = t;
        }
    }
    return best;
}

/* Sign of what the atom is multiplied with, over all its occurrences: 1, -1, or 0 if it varies
 * or is not known. */
static int sign_of_use(rlx_query *q, const rlx_poly *p, const rlx_atom *t)
{
    int sign = 0;
    for (size_t i = 0; i < p->len; i++) {
        const rlx_mono *m = p->terms[i].mono;
        for (size_t k = 0; k < m->len; k++) {
            if (m->factors[k].atom != t)
                continue;
            const rlx_mono *rest = m->factors[k].power == 1 ? rlx_mono_without(q, m, t) : NULL;
            rlx_interval v = rest ? mono_interval(q, rest) : everything;
            int s = p->terms[i].coef > 0 ? 1 : -1;
            s = v.low >= 0 ? s : v.high <= 0 ? -s : 0;
            if (!s || (sign && sign != s))
                return 0;
            sign = s;
        }
    }
    return sign;
}

static int64_t low_of(rlx_query *q, const rlx_poly *p);

/* c * p with c * t replaced by its least (sign 1) or greatest value. */
static int64_t low_without_quotient(rlx_query *q, const rlx_poly *p, const rlx_atom *t, int sign)
{
    int64_t c = 0, low;
    rlx_poly_is_const(t->ops[1], &c);
    const rlx_poly *bound =
        sign > 0 ? rlx_poly_combine(q, t->ops[0], 1, rlx_poly_const(q, c - 1), -1) : t->ops[0];
    /* c * (k * t + rest) = k * (c * t) + c * rest: replacing t by itself plus nothing gives
     * rest. */
    const rlx_poly *rest = rlx_poly_replace(q, p, t, rlx_poly_const(q, 0));
    const rlx_poly *uses = rlx_poly_combine(q, p, 1, rest, -1);
    const rlx_poly *all =
        uses ? rlx_poly_combine(q, rlx_poly_replace(q, uses, t, bound), 1, rest, c) : NULL;
    if (!all) {
        q->too_big = false;
        return NO_LOW;
    }
    low = low_of(q, all);
    return low == NO_LOW ? NO_LOW : -rlx_floor_div_i64(-low, c);
}

/* Greatest (where the smallest operand counts against us) or least of the bounds with t
 * replaced by each operand. */
static int64_t low_by_cases(rlx_query *q, const rlx_poly *p, const rlx_atom *t, int sign)
{
    bool any_will_do = t->kind == ATOM_MIN && sign < 0;
    int64_t best = any_will_do ? NO_LOW : NO_HIGH;
    size_t count = t->kind == ATOM_MIN ? t->num_ops : 2;
    for (size_t i = 0; i < count; i++) {
        const rlx_poly *one = rlx_poly_replace(q, p, t, t->ops[i]);
        q->too_big = false;
        int64_t low = one ? low_of(q, one) : NO_LOW;
        best = any_will_do ? (low > best ? low : best) : (low < best ? low : best);
        if (!any_will_do && best == NO_LOW)
            break;
    }
    return best;
}

/* Each level takes one atom out, so the depth is bounded by the number of atoms that MAX_SPLITS
 * allows. */
static int64_t low_of(rlx_query *q, const rlx_poly *p)
{
    int64_t plain = rlx_interval_of(q, p).low, better = NO_LOW;
    const rlx_atom *t = p->depth ? deepest(p) : NULL;
    if (!t || q->spent || q->failed || q->splits >= MAX_SPLITS)
        return plain;
    q->splits++;
    int sign = sign_of_use(q, p, t);
    if (t->kind != ATOM_FLOOR_DIV)
        better = low_by_cases(q, p, t, sign);
    else if (sign)
        better = low_without_quotient(q, p, t, sign);
    if (q->spent || q->failed)
        return plain;
    return better > plain ? better : plain;
}

int64_t rlx_poly_min(rlx_query *q, const rlx_poly *p)
{
    if (!p)
        return NO_LOW;
    q->splits = 0;
    int64_t low = low_of(q, p);
    return low == NO_HIGH ? NO_LOW : low;
}

int64_t rlx_poly_max(rlx_query *q, const rlx_poly *p)
{
    int64_t low = p ? rlx_poly_min(q, rlx_poly_scale(q, p, -1)) : NO_LOW;
    q->too_big = false;
    return low == NO_LOW ? NO_HIGH : -low;
}
