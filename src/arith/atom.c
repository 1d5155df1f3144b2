/* What stands for an operation on polynomials: identities first, an atom for the rest.
 *
 *     (P + c * Q) // c  =  P // c + Q          so coefficients of a numerator lie in [0, c)
 *     (g * P + k) // (g * c)  =  (P + k // g) // c
 *     (P // a + Q) // b  =  (P + a * Q) // (a * b)
 *     min(A + T, B + T)  =  min(A, B) + T      min(g * A, g * B)  =  g * min(A, B)
 */
#include "arith/arith_int.h"

#include <string.h>

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

static void put(rlx_poly *p, int64_t coef, const rlx_mono *mono)
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
        int64_t quotient = rlx_floor_div(p->terms[i].coef, c);
        put(w, quotient, p->terms[i].mono);
        put(r, p->terms[i].coef - quotient * c, p->terms[i].mono);
    }
    *whole = w;
    *rest = r;
    return true;
}

/* Every coefficient floor-divided: exact but for the constant one where g divides the others. */
static const rlx_poly *floor_coefs(rlx_query *q, const rlx_poly *p, int64_t g)
{
    rlx_poly *out = empty_like(q, p);
    for (size_t i = 0; out && i < p->len; i++)
        put(out, rlx_floor_div(p->terms[i].coef, g), p->terms[i].mono);
    return out;
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
    int64_t low = rlx_low(q, p), high = low == INT64_MIN ? INT64_MAX : rlx_high(q, p);
    if (low == INT64_MIN || high == INT64_MAX || rlx_floor_div(low, c) != rlx_floor_div(high, c))
        return false;
    *value = rlx_floor_div(low, c);
    return true;
}

static const rlx_poly *floor_div_const(rlx_query *q, const rlx_poly *p, int64_t c)
{
    const rlx_poly *out = rlx_poly_const(q, 0);
    for (;;) {
        const rlx_poly *whole, *rest;
        int64_t value;
        if (!out || !p || !split(q, p, c, &whole, &rest))
            return NULL;
        out = rlx_poly_combine(q, out, 1, whole, 1);
        uint64_t g = rlx_poly_content(rest, true);
        if (g == 0) /* only a constant in [0, c) is left */
            return out;
        g = rlx_gcd(g, (uint64_t)c);
        p = g > 1 ? floor_coefs(q, rest, (int64_t)g) : rest;
        c /= (int64_t)g;
        if (c == 1)
            return rlx_poly_combine(q, out, 1, p, 1);
        if (p && constant_quotient(q, p, c, &value))
            return rlx_poly_combine(q, out, 1, rlx_poly_const(q, value), 1);
        if (!p || !merge_quotients(q, &p, &c))
            break;
    }
    return rlx_poly_combine(q, out, 1, atom2(q, ATOM_FLOOR_DIV, p, rlx_poly_const(q, c)), 1);
}

/* p / m for a monomial m that divides every term. NULL without a failure: it does not. */
static const rlx_poly *divide_by_mono(rlx_query *q, const rlx_poly *p, rlx_term m)
{
    rlx_term *terms = rlx_query_new(q, (p->len + 1) * sizeof *terms);
    if (!terms)
        return NULL;
    for (size_t i = 0; i < p->len; i++) {
        const rlx_mono *mono = p->terms[i].mono;
        if (p->terms[i].coef % m.coef)
            return NULL;
        for (size_t k = 0; k < m.mono->len && mono; k++) {
            rlx_factor f = m.mono->factors[k];
            uint32_t have = 0;
            for (size_t j = 0; j < mono->len; j++)
                have = mono->factors[j].atom == f.atom ? mono->factors[j].power : have;
            if (have < f.power)
                return NULL;
            const rlx_poly *factor = rlx_poly_atom(q, f.atom);
            mono = rlx_mono_without(q, mono, f.atom);
            for (uint32_t n = 0; n < have - f.power && mono && factor; n++)
                mono = rlx_mono_product(q, mono, factor->terms[0].mono);
        }
        if (!mono)
            return NULL;
        terms[i] = (rlx_term){ p->terms[i].coef / m.coef, mono };
    }
    return rlx_poly_of_terms(q, terms, p->len);
}

/* a / b where b > 0 is known and divides a: the only case in which a variable divisor goes
 * away. */
static const rlx_poly *exact_quotient(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    if (!q->use_scope || b->len != 1 || b->terms[0].coef <= 0 || rlx_low(q, b) < 1)
        return NULL;
    const rlx_poly *quotient = divide_by_mono(q, a, b->terms[0]);
    if (!quotient)
        q->too_big = false;
    return quotient;
}

const rlx_poly *rlx_make_floor_div(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    int64_t c;
    if (!a || !b)
        return NULL;
    if (!rlx_poly_is_const(b, &c)) {
        const rlx_poly *exact = exact_quotient(q, a, b);
        return exact ? exact : atom2(q, ATOM_FLOOR_DIV, a, b);
    }
    if (c > 0)
        return floor_div_const(q, a, c);
    if (c == 0 || c == INT64_MIN)
        return atom2(q, ATOM_FLOOR_DIV, a, b);
    return rlx_make_floor_div(q, rlx_poly_scale(q, a, -1), rlx_poly_const(q, -c));
}

const rlx_poly *rlx_make_floor_mod(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    int64_t c;
    if (!a || !b)
        return NULL;
    if (!rlx_poly_is_const(b, &c)) {
        const rlx_poly *exact = exact_quotient(q, a, b);
        return exact ? rlx_poly_const(q, 0) : atom2(q, ATOM_FLOOR_MOD, a, b);
    }
    if (c == 0 || c == INT64_MIN)
        return atom2(q, ATOM_FLOOR_MOD, a, b);
    return rlx_poly_combine(q, a, 1, rlx_make_floor_div(q, a, b), -c);
}

const rlx_poly *rlx_make_trunc_div(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    int64_t c, value;
    if (!a || !b)
        return NULL;
    if (!rlx_poly_is_const(b, &c) || c == 0 || c == INT64_MIN)
        return atom2(q, ATOM_TRUNC_DIV, a, b);
    if (c < 0)
        return rlx_make_trunc_div(q, rlx_poly_scale(q, a, -1), rlx_poly_const(q, -c));
    if (rlx_poly_is_const(a, &value))
        return rlx_poly_const(q, value / c);
    if (c == 1 || rlx_poly_content(a, false) % (uint64_t)c == 0)
        return floor_coefs(q, a, c);
    if (q->use_scope && rlx_low(q, a) >= 0)
        return rlx_make_floor_div(q, a, b);
    return atom2(q, ATOM_TRUNC_DIV, a, b);
}

const rlx_poly *rlx_make_trunc_mod(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    int64_t c;
    if (!a || !b)
        return NULL;
    if (!rlx_poly_is_const(b, &c) || c == 0 || c == INT64_MIN)
        return atom2(q, ATOM_TRUNC_MOD, a, b);
    return rlx_poly_combine(q, a, 1, rlx_make_trunc_div(q, a, b), -c);
}

/* --- min --- */

typedef struct min_list { const rlx_poly *ops[MAX_MIN_OPS]; size_t count; } min_list;

/* Takes p into the list: equal operands once; of two that differ by a known amount the smaller. */
static bool put_operand(rlx_query *q, min_list *l, const rlx_poly *p)
{
    for (size_t i = 0; i < l->count; i++) {
        const rlx_poly *d = rlx_poly_combine(q, p, 1, l->ops[i], -1);
        int64_t value;
        if (!d)
            return false;
        if (rlx_poly_is_const(d, &value) || (q->use_scope && d->len <= 64)) {
            if (rlx_poly_is_const(d, &value) ? value >= 0 : rlx_low(q, d) >= 0)
                return true;
            if (rlx_poly_is_const(d, &value) ? value < 0 : rlx_high(q, d) <= 0)
                l->ops[i--] = l->ops[--l->count];
        }
    }
    if (l->count == MAX_MIN_OPS)
        return rlx_query_too_big(q);
    l->ops[l->count++] = p;
    return true;
}

/* A term 1 * min(...), least hash first. */
static const rlx_atom *inner_min(const rlx_poly *p)
{
    const rlx_atom *best = NULL;
    for (size_t i = 0; i < p->len; i++) {
        const rlx_atom *t = p->terms[i].coef == 1 ? rlx_mono_single(p->terms[i].mono) : NULL;
        if (t && t->kind == ATOM_MIN && (!best || t->hash < best->hash))
            best = t;
    }
    return best;
}

/* rest + min(a, b) as an operand becomes the operands rest + a and rest + b. */
static bool put_flat(rlx_query *q, min_list *l, const rlx_poly *p)
{
    const rlx_atom *m = inner_min(p);
    if (!m)
        return put_operand(q, l, p);
    const rlx_poly *rest = rlx_poly_combine(q, p, 1, rlx_poly_atom(q, m), -1);
    for (size_t i = 0; i < m->num_ops; i++) {
        const rlx_poly *op = rlx_poly_combine(q, rest, 1, m->ops[i], 1);
        if (!op || !put_operand(q, l, op))
            return false;
    }
    return true;
}

/* The least coefficient of each monomial over all operands (absent: 0). */
static const rlx_poly *common_part(rlx_query *q, const min_list *l)
{
    size_t total = 0, n = 0;
    for (size_t i = 0; i < l->count; i++)
        total += l->ops[i]->len;
    rlx_term *terms =
        rlx_query_step(q, total * l->count) ? rlx_query_new(q, (total + 1) * sizeof *terms) : NULL;
    if (!terms)
        return NULL;
    for (size_t i = 0; i < l->count; i++) {
        for (size_t k = 0; k < l->ops[i]->len; k++) {
            rlx_term t = l->ops[i]->terms[k];
            bool seen_before = false;
            int64_t least = t.coef;
            for (size_t j = 0; j < l->count; j++) {
                const rlx_poly *o = l->ops[j];
                size_t at = 0;
                while (at < o->len && o->terms[at].mono != t.mono)
                    at++;
                int64_t c = at < o->len ? o->terms[at].coef : 0;
                least = c < least ? c : least;
                seen_before |= j < i && at < o->len;
            }
            if (!seen_before && least)
                terms[n++] = (rlx_term){ least, t.mono };
        }
    }
    return rlx_poly_of_terms(q, terms, n);
}

static void sort_operands(min_list *l)
{
    for (size_t i = 1; i < l->count; i++) {
        const rlx_poly *p = l->ops[i];
        uint64_t hash = rlx_poly_hash(p);
        size_t j = i;
        for (; j && rlx_poly_hash(l->ops[j - 1]) > hash; j--)
            l->ops[j] = l->ops[j - 1];
        l->ops[j] = p;
    }
}

/* g * min(ops / g) */
static const rlx_poly *min_atom(rlx_query *q, min_list *l)
{
    uint64_t g = 0;
    for (size_t i = 0; i < l->count; i++)
        g = rlx_gcd(g, rlx_poly_content(l->ops[i], false));
    if (g > INT64_MAX)
        return rlx_query_too_big(q);
    for (size_t i = 0; i < l->count && g > 1; i++)
        if (!(l->ops[i] = floor_coefs(q, l->ops[i], (int64_t)g)))
            return NULL;
    sort_operands(l);
    return rlx_poly_scale(q,
                          rlx_poly_atom(q, rlx_atom_intern(q, ATOM_MIN, NULL, l->ops, l->count)),
                          g ? (int64_t)g : 1);
}

const rlx_poly *rlx_make_min(rlx_query *q, const rlx_poly *const *ops, size_t count)
{
    const rlx_poly *out = rlx_poly_const(q, 0);
    min_list l = { .count = 0 };
    for (size_t i = 0; i < count; i++)
        if (!ops[i] || !put_flat(q, &l, ops[i]))
            return NULL;
    /* Taking out the common part may show a min inside an operand again (+M on the others of a
     * -M); each round removes one such, and a rest that did not settle is still right. */
    for (int round = 0; round < 4 && l.count > 1; round++) {
        const rlx_poly *common = common_part(q, &l);
        min_list next = { .count = 0 };
        bool again = false;
        out = rlx_poly_combine(q, out, 1, common, 1);
        for (size_t i = 0; i < l.count; i++) {
            const rlx_poly *op = out ? rlx_poly_combine(q, l.ops[i], 1, common, -1) : NULL;
            if (!op || !put_flat(q, &next, op))
                return NULL;
            again |= inner_min(op) != NULL;
        }
        l = next;
        if (!again)
            break;
    }
    return rlx_poly_combine(q, out, 1, l.count == 1 ? l.ops[0] : min_atom(q, &l), 1);
}

const rlx_poly *rlx_make_max(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    const rlx_poly *ops[] = { rlx_poly_scale(q, a, -1), rlx_poly_scale(q, b, -1) };
    return rlx_poly_scale(q, rlx_make_min(q, ops, 2), -1);
}

const rlx_poly *rlx_make_select(rlx_query *q, const rlx_node *cond, const rlx_poly *t,
                                const rlx_poly *f)
{
    if (!t || !f)
        return NULL;
    if (rlx_poly_equal(t, f))
        return t;
    const rlx_poly *ops[] = { t, f };
    return rlx_poly_atom(q, rlx_atom_intern(q, ATOM_SELECT, cond, ops, 2));
}

/* --- making everything again under what the scope knows --- */

static const rlx_poly *remake(rlx_query *q, const rlx_atom *t)
{
    if (t->kind == ATOM_VAR || t->kind == ATOM_OPAQUE)
        return rlx_poly_atom(q, t);
    const rlx_poly *ops[MAX_MIN_OPS];
    for (size_t i = 0; i < t->num_ops; i++)
        if (!(ops[i] = rlx_resolve(q, t->ops[i])))
            return NULL;
    switch (t->kind) {
    case ATOM_FLOOR_DIV: return rlx_make_floor_div(q, ops[0], ops[1]);
    case ATOM_FLOOR_MOD: return rlx_make_floor_mod(q, ops[0], ops[1]);
    case ATOM_TRUNC_DIV: return rlx_make_trunc_div(q, ops[0], ops[1]);
    case ATOM_TRUNC_MOD: return rlx_make_trunc_mod(q, ops[0], ops[1]);
    case ATOM_MIN: return rlx_make_min(q, ops, t->num_ops);
    default: return rlx_make_select(q, t->node, ops[0], ops[1]);
    }
}

static const rlx_poly *resolve_term(rlx_query *q, rlx_term t)
{
    rlx_poly *unit = rlx_query_new(q, sizeof *unit + sizeof(rlx_term));
    if (!unit)
        return NULL;
    *unit = (rlx_poly){ 0 };
    put(unit, t.coef, q->a->one);
    const rlx_poly *out = unit;
    for (size_t i = 0; i < t.mono->len && out; i++) {
        const rlx_poly *f = remake(q, t.mono->factors[i].atom);
        uint32_t power = t.mono->factors[i].power;
        for (uint32_t n = 0; n < power && out; n++)
            out = rlx_query_step(q, 1) ? rlx_poly_mul(q, out, f) : NULL;
    }
    return out;
}

/* Depth of recursion: that of atoms, MAX_DEPTH. Work: bounded by the steps of the query. */
const rlx_poly *rlx_resolve(rlx_query *q, const rlx_poly *p)
{
    if (!p->depth)
        return p;
    bool before = q->use_scope;
    q->use_scope = true;
    const rlx_poly *sum = rlx_poly_const(q, 0);
    for (size_t i = 0; i < p->len && sum; i++) {
        rlx_poly *one = rlx_query_new(q, sizeof *one + sizeof(rlx_term));
        if (!one)
            return NULL;
        *one = (rlx_poly){ 0 };
        put(one, p->terms[i].coef, p->terms[i].mono);
        sum = rlx_poly_combine(q, sum, 1,
                               p->terms[i].mono->depth ? resolve_term(q, p->terms[i]) : one, 1);
    }
    q->use_scope = before;
    return sum;
}
