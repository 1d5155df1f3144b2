/*- quotient.c: divisions of polynomials in canonical form: identities first, an atom for the rest.
 *
 *     (P + c * Q) // c         =  P // c + Q               so coefficients of a numerator lie
 *                                                          in [0, c)
 *     (g * P + k) // (g * c)   =  (P + k // g) // c
 *     (-P - 1) // c            =  -(P // c) - 1            so the one with the smaller
 *                                                          coefficients is taken
 *     (P // a + Q) // b        =  (P + a * Q) // (a * b)
 *     (P + Q * R) // Q         =  P // Q + R               and no common factor is left in P and Q
 *     truncdiv(-P, Q)          =  -truncdiv(P, Q)
 */
#include "arith/arith_int.h"

static const rlx_poly *atom2(rlx_query *q, enum atom_kind kind, const rlx_poly *a,
                             const rlx_poly *b)
{
    const rlx_poly *ops[] = { a, b };
    return rlx_poly_atom(q, rlx_atom_intern(q, kind, NULL, ops, 2));
}

/* Builds a polynomial term by term from the terms of another one: the order of monomials stays. */
static rlx_poly *empty_like(rlx_query *q, const rlx_poly *p)
{
    rlx_poly *out = rlx_query_new(q, sizeof *out + p->len * sizeof(rlx_term));
    if (out)
        *out = (rlx_poly){ 0 };
    return out;
}

static void put_term(rlx_poly *p, int64_t coef, const rlx_mono *mono)
{
    if (!coef)
        return;
    p->terms[p->len++] = (rlx_term){ coef, mono };
    p->depth = mono->depth > p->depth ? mono->depth : p->depth;
}

/* p = c * whole + rest, coefficients of rest in [0, c). c > 0. */
static bool split(rlx_query *q, const rlx_poly *p, int64_t c, const rlx_poly **whole,
                  const rlx_poly **rest)
{
    rlx_poly *w = empty_like(q, p), *r = empty_like(q, p);
    if (!w || !r)
        return false;
    for (size_t i = 0; i < p->len; i++) {
        int64_t quotient = rlx_floor_div_i64(p->terms[i].coef, c);
        put_term(w, quotient, p->terms[i].mono);
        put_term(r, p->terms[i].coef - quotient * c, p->terms[i].mono);
    }
    *whole = w;
    *rest = r;
    return true;
}

/* A term 1 * (a // b) with constant b > 0; among several the one with the least hash. NULL:
 * none. */
static const rlx_atom *inner_quotient(const rlx_poly *p, int64_t *b)
{
    const rlx_atom *best = NULL;
    for (size_t i = 0; i < p->len; i++) {
        const rlx_atom *t = p->terms[i].coef == 1 ? rlx_mono_single(p->terms[i].mono) : NULL;
        int64_t value;
        if (t && t->kind == ATOM_FLOOR_DIV && rlx_poly_is_const(t->ops[1], &value) && value > 0 &&
            (!best || t->hash < best->hash)) {
            best = t;
            *b = value;
        }
    }
    return best;
}

/* (a // b + rest) // c -> (a + b * rest) // (b * c). True if *p and *c were changed. */
static bool merge_quotients(rlx_query *q, const rlx_poly **p, int64_t *c)
{
    int64_t b = 0, product;
    const rlx_atom *inner = inner_quotient(*p, &b);
    if (!inner || !rlx_mul_i64(b, *c, &product))
        return false;
    const rlx_poly *rest = rlx_poly_combine(q, *p, 1, rlx_poly_atom(q, inner), -1);
    const rlx_poly *merged = rlx_poly_combine(q, inner->ops[0], 1, rest, b);
    if (!merged) {
        q->too_big = false; /* the step is only a simplification */
        return false;
    }
    *p = merged;
    *c = product;
    return true;
}

/* The numerator is known to stay between two neighbouring multiples of c. */
static bool constant_quotient(rlx_query *q, const rlx_poly *p, int64_t c, int64_t *value)
{
    if (!q->use_scope)
        return false;
    int64_t low = rlx_poly_min(q, p), high = low == INT64_MIN ? INT64_MAX : rlx_poly_max(q, p);
    if (low == INT64_MIN || high == INT64_MAX ||
        rlx_floor_div_i64(low, c) != rlx_floor_div_i64(high, c))
        return false;
    *value = rlx_floor_div_i64(low, c);
    return true;
}

/* Of p and the numerator of the other rounding the one to keep: smaller coefficients, then the
 * smaller first one. */
static bool is_smaller(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    uint64_t sum[2] = { 0, 0 };
    if (!rlx_query_step(q, (size_t)a->len + b->len))
        return false;
    for (size_t i = 0; i < a->len; i++)
        sum[0] += (uint64_t)a->terms[i].coef;
    for (size_t i = 0; i < b->len; i++)
        sum[1] += (uint64_t)b->terms[i].coef;
    if (sum[0] != sum[1])
        return sum[0] < sum[1];
    int64_t x = rlx_poly_lead(a).coef, y = rlx_poly_lead(b).coef;
    return x != y ? x < y : rlx_poly_hash(a) < rlx_poly_hash(b);
}

/* out + sign * (p // c) */
typedef struct quotient { const rlx_poly *out, *p; int64_t sign, c; } quotient;

/* p // c = -1 - (-p - 1) // c */
static bool turn(rlx_query *q, const quotient *from, quotient *to)
{
    const rlx_poly *one = rlx_poly_const(q, 1), *whole, *rest;
    const rlx_poly *other = rlx_poly_combine(q, from->p, -1, one, -1);
    if (!other || !split(q, other, from->c, &whole, &rest))
        return false;
    whole = rlx_poly_combine(q, whole, 1, one, 1);
    *to = (quotient){ rlx_poly_combine(q, from->out, 1, whole, -from->sign), rest, -from->sign,
                      from->c };
    return to->out != NULL;
}

/* Takes out what is whole. True: v->out is all there is, or NULL. */
static bool reduce(rlx_query *q, quotient *v)
{
    const rlx_poly *whole, *rest;
    int64_t value;
    if (!v->p || !split(q, v->p, v->c, &whole, &rest))
        return v->out = NULL, true;
    v->out = rlx_poly_combine(q, v->out, 1, whole, v->sign);
    uint64_t g = rlx_poly_content(rest, true);
    if (g == 0) /* only a constant in [0, c) is left */
        return true;
    g = rlx_gcd(g, (uint64_t)v->c);
    v->p = rlx_poly_floor_coefs(q, rest, (int64_t)g);
    v->c /= (int64_t)g;
    if (v->c == 1) {
        v->out = rlx_poly_combine(q, v->out, 1, v->p, v->sign);
        return true;
    }
    if (v->p && constant_quotient(q, v->p, v->c, &value)) {
        v->out = rlx_poly_combine(q, v->out, 1, rlx_poly_const(q, value), v->sign);
        return true;
    }
    return !v->p || !v->out;
}

static const rlx_poly *floor_div_const(rlx_query *q, const rlx_poly *p, int64_t c)
{
    quotient v = { rlx_poly_const(q, 0), p, 1, c }, other;
    for (;;) {
        if (!v.out || reduce(q, &v))
            return v.p ? v.out : NULL;
        if (!turn(q, &v, &other))
            return NULL;
        if (is_smaller(q, other.p, v.p)) {
            quotient swap = v;
            v = other;
            other = swap;
        }
        if (merge_quotients(q, &v.p, &v.c))
            continue;
        if (!merge_quotients(q, &other.p, &other.c))
            break;
        v = other;
    }
    return rlx_poly_combine(q, v.out, 1, atom2(q, ATOM_FLOOR_DIV, v.p, rlx_poly_const(q, v.c)),
                            v.sign);
}

#define MAX_TAKEN_OUT 32

/* The first term of a that the lead of b goes into. */
static const rlx_term *first_multiple(rlx_query *q, const rlx_poly *a, rlx_term lead,
                                      const rlx_mono **by)
{
    const rlx_term *best = NULL;
    for (size_t i = 0; i < a->len; i++) {
        const rlx_term *t = &a->terms[i];
        if (rlx_floor_div_i64(t->coef, lead.coef) == 0 ||
            (best && rlx_mono_compare(t->mono, best->mono) > 0))
            continue;
        const rlx_mono *m = rlx_mono_quotient(q, t->mono, lead.mono);
        if (m) {
            best = t;
            *by = m;
        }
    }
    return best;
}

/* a = whole * b + rest, nothing in rest that the first term of b goes into; that is positive. */
static bool divide_out(rlx_query *q, const rlx_poly *a, const rlx_poly *b, const rlx_poly **whole,
                       const rlx_poly **rest)
{
    rlx_term lead = rlx_poly_lead(b);
    const rlx_mono *by = NULL;
    *whole = rlx_poly_const(q, 0);
    *rest = a;
    for (int i = 0; i < MAX_TAKEN_OUT && *whole && *rest; i++) {
        if (!rlx_query_step(q, 4 * (size_t)(*rest)->len))
            return false;
        const rlx_term *t = first_multiple(q, *rest, lead, &by);
        if (!t)
            return !q->failed;
        const rlx_poly *k = rlx_poly_term(q, rlx_floor_div_i64(t->coef, lead.coef), by);
        *whole = rlx_poly_combine(q, *whole, 1, k, 1);
        *rest = rlx_poly_combine(q, *rest, 1, rlx_poly_mul(q, k, b), -1);
    }
    return *whole && *rest;
}

/* Both without what is common to all coefficients, and b's first one positive. `g`: what was
 * taken out of both, with its sign. */
static bool make_coprime(rlx_query *q, const rlx_poly **a, const rlx_poly **b, int64_t *g)
{
    uint64_t common = rlx_gcd(rlx_poly_content(*a, false), rlx_poly_content(*b, false));
    if (common > INT64_MAX)
        return rlx_query_too_big(q) != NULL;
    *g = common ? (int64_t)common : 1;
    *a = rlx_poly_floor_coefs(q, *a, *g);
    *b = rlx_poly_floor_coefs(q, *b, *g);
    if (*a && *b && rlx_poly_leads_negative(q, *b)) {
        *a = rlx_poly_scale(q, *a, -1);
        *b = rlx_poly_scale(q, *b, -1);
        *g = -*g;
    }
    return *a && *b;
}

/* a // b for a b that is no constant: where it fails is remembered beside the form. */
static const rlx_poly *floor_div_any(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    const rlx_poly *whole, *rest;
    int64_t g;
    if (!make_coprime(q, &a, &b, &g) || !divide_out(q, a, b, &whole, &rest) ||
        !make_coprime(q, &rest, &b, &g))
        return NULL;
    if (!rest->len)
        return whole;
    return rlx_poly_combine(q, whole, 1, atom2(q, ATOM_FLOOR_DIV, rest, b), 1);
}

const rlx_poly *rlx_make_floor_div(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    int64_t c;
    if (!a || !b)
        return NULL;
    if (!rlx_poly_is_const(b, &c))
        return floor_div_any(q, a, b);
    if (c > 0)
        return floor_div_const(q, a, c);
    if (c == 0 || c == INT64_MIN)
        return atom2(q, ATOM_FLOOR_DIV, a, b);
    return rlx_make_floor_div(q, rlx_poly_scale(q, a, -1), rlx_poly_const(q, -c));
}

/* a % b for a b that is no constant: (g * a) % (g * b) = g * (a % b), g of either sign. */
static const rlx_poly *floor_mod_any(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    const rlx_poly *whole, *rest;
    int64_t g, again;
    if (!make_coprime(q, &a, &b, &g) || !divide_out(q, a, b, &whole, &rest) ||
        !make_coprime(q, &rest, &b, &again) || !rlx_mul_i64(g, again, &g))
        return NULL;
    return rest->len ? rlx_poly_scale(q, atom2(q, ATOM_FLOOR_MOD, rest, b), g) : rest;
}

const rlx_poly *rlx_make_floor_mod(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    int64_t c;
    if (!a || !b)
        return NULL;
    if (!rlx_poly_is_const(b, &c))
        return floor_mod_any(q, a, b);
    if (c == 0 || c == INT64_MIN)
        return atom2(q, ATOM_FLOOR_MOD, a, b);
    return rlx_poly_combine(q, a, 1, rlx_make_floor_div(q, a, b), -c);
}

/* A division toward zero over a positive constant, by itself. */
static const rlx_atom *only_truncation(const rlx_poly *p, int64_t *b)
{
    const rlx_atom *t = p->len == 1 && p->terms[0].coef == 1 ? rlx_mono_single(p->terms[0].mono)
                                                             : NULL;
    return t && t->kind == ATOM_TRUNC_DIV && rlx_poly_is_const(t->ops[1], b) && *b > 0 ? t : NULL;
}

/* c > 1; the first coefficient of a is positive: truncation knows no direction. */
static const rlx_poly *trunc_div_const(rlx_query *q, const rlx_poly *a, int64_t c)
{
    int64_t b, product;
    const rlx_atom *inner = only_truncation(a, &b);
    if (inner && rlx_mul_i64(b, c, &product))
        return atom2(q, ATOM_TRUNC_DIV, inner->ops[0], rlx_poly_const(q, product));
    if (q->use_scope && rlx_poly_min(q, a) >= 0)
        return floor_div_const(q, a, c);
    if (q->use_scope && rlx_poly_max(q, a) <= 0)
        return rlx_poly_scale(q, floor_div_const(q, rlx_poly_scale(q, a, -1), c), -1);
    return atom2(q, ATOM_TRUNC_DIV, a, rlx_poly_const(q, c));
}

const rlx_poly *rlx_make_trunc_div(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    int64_t c, value, g;
    const rlx_poly *whole, *rest;
    if (!a || !b)
        return NULL;
    if (rlx_poly_is_const(b, &c) && (c == 0 || c == INT64_MIN))
        return atom2(q, ATOM_TRUNC_DIV, a, b);
    if (!make_coprime(q, &a, &b, &g))
        return NULL;
    if (rlx_poly_is_const(b, &c) && rlx_poly_is_const(a, &value))
        return rlx_poly_const(q, value / c);
    if (rlx_poly_is_const(b, &c) && c == 1)
        return a;
    int64_t sign = rlx_poly_leads_negative(q, a) ? -1 : 1;
    a = rlx_poly_scale(q, a, sign);
    if (!a)
        return NULL;
    if (rlx_poly_is_const(b, &c))
        return rlx_poly_scale(q, trunc_div_const(q, a, c), sign);
    if (!divide_out(q, a, b, &whole, &rest))
        return NULL;
    return rlx_poly_scale(q, rest->len ? atom2(q, ATOM_TRUNC_DIV, a, b) : whole, sign);
}

const rlx_poly *rlx_make_trunc_mod(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    int64_t c, g;
    const rlx_poly *whole, *rest;
    if (!a || !b)
        return NULL;
    if (rlx_poly_is_const(b, &c) && (c == 0 || c == INT64_MIN))
        return atom2(q, ATOM_TRUNC_MOD, a, b);
    if (rlx_poly_is_const(b, &c))
        return rlx_poly_combine(q, a, 1, rlx_make_trunc_div(q, a, b), -c);
    if (!make_coprime(q, &a, &b, &g) || !divide_out(q, a, b, &whole, &rest))
        return NULL;
    if (rlx_poly_leads_negative(q, a)) {
        a = rlx_poly_scale(q, a, -1);
        g = -g;
    }
    return rest->len ? rlx_poly_scale(q, atom2(q, ATOM_TRUNC_MOD, a, b), g) : rest;
}
