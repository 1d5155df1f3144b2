/* polynomial.c: monomials and atoms, interned; sums and products of them. */
#include "arith/arith_int.h"

#include <string.h>

/* --- monomials and atoms: interned --- */

static uint64_t factor_hash(rlx_factor f)
{
    return rlx_hash_mix(rlx_hash_mix(f.power, f.atom->hash), 0x6d6f6e6f);
}

static const rlx_mono *intern_mono(rlx_query *q, const rlx_factor *factors, size_t count)
{
    rlx_arith *a = q->a;
    uint64_t hash = 1;
    uint8_t depth = 0;
    if (!count)
        return a->one;
    for (size_t i = 0; i < count; i++) {
        hash += factor_hash(factors[i]);
        depth = factors[i].atom->depth > depth ? factors[i].atom->depth : depth;
    }
    size_t at, bytes = count * sizeof *factors;
    for (rlx_mono *m = rlx_intern_first(&a->monos, hash, &at); m;
         m = rlx_intern_next(&a->monos, hash, &at))
        if (m->len == count && memcmp(m->factors, factors, bytes) == 0)
            return m;
    rlx_mono *m = rlx_region_alloc(&a->keep, sizeof *m + bytes);
    if (!m || !rlx_intern_add(&a->monos, hash, m))
        return rlx_query_fail(q);
    *m = (rlx_mono){
        .number = a->num_monos++, .len = (uint32_t)count, .depth = depth, .hash = hash
    };
    memcpy(m->factors, factors, bytes);
    return m;
}

static void clear_padding(rlx_factor *f, const rlx_atom *atom, uint32_t power)
{
    memset(f, 0, sizeof *f); /* factors are compared as bytes */
    f->atom = atom;
    f->power = power;
}

const rlx_mono *rlx_mono_product(rlx_query *q, const rlx_mono *a, const rlx_mono *b)
{
    if (!a->len)
        return b;
    if (!b->len)
        return a;
    if (a->len + b->len > 2 * MAX_FACTORS)
        return rlx_query_too_big(q);
    rlx_factor out[2 * MAX_FACTORS];
    size_t i = 0, j = 0, n = 0;
    while (i < a->len || j < b->len) {
        const rlx_factor *x = i < a->len ? &a->factors[i] : NULL,
                         *y = j < b->len ? &b->factors[j] : NULL;
        bool take_x = x && (!y || x->atom->number <= y->atom->number);
        bool take_y = y && (!x || y->atom->number <= x->atom->number);
        uint64_t power = (uint64_t)(take_x ? x->power : 0) + (take_y ? y->power : 0);
        if (power > MAX_POWER)
            return rlx_query_too_big(q);
        clear_padding(&out[n++], take_x ? x->atom : y->atom, (uint32_t)power);
        i += take_x;
        j += take_y;
    }
    return n > MAX_FACTORS ? rlx_query_too_big(q) : intern_mono(q, out, n);
}

const rlx_mono *rlx_mono_without(rlx_query *q, const rlx_mono *m, const rlx_atom *atom)
{
    rlx_factor out[MAX_FACTORS];
    size_t n = 0;
    for (size_t i = 0; i < m->len; i++)
        if (m->factors[i].atom != atom)
            clear_padding(&out[n++], m->factors[i].atom, m->factors[i].power);
    return intern_mono(q, out, n);
}

/* --- order: variables by age, then the rest by content; constants last --- */

int rlx_atom_compare(const rlx_atom *a, const rlx_atom *b)
{
    uint64_t x = a->kind == ATOM_VAR ? a->node->id : a->hash,
             y = b->kind == ATOM_VAR ? b->node->id : b->hash;
    if ((a->kind == ATOM_VAR) != (b->kind == ATOM_VAR))
        return a->kind == ATOM_VAR ? -1 : 1;
    return x < y ? -1 : x > y;
}

size_t rlx_mono_ordered(const rlx_mono *m, rlx_factor out[MAX_FACTORS])
{
    for (size_t i = 0; i < m->len; i++) {
        size_t at = i;
        for (; at && rlx_atom_compare(out[at - 1].atom, m->factors[i].atom) > 0; at--)
            out[at] = out[at - 1];
        out[at] = m->factors[i];
    }
    return m->len;
}

int rlx_mono_compare(const rlx_mono *a, const rlx_mono *b)
{
    rlx_factor x[MAX_FACTORS], y[MAX_FACTORS];
    size_t nx = rlx_mono_ordered(a, x), ny = rlx_mono_ordered(b, y);
    for (size_t i = 0; i < nx && i < ny; i++) {
        int c = rlx_atom_compare(x[i].atom, y[i].atom);
        if (c || x[i].power != y[i].power)
            return c ? c : x[i].power < y[i].power ? 1 : -1;
    }
    return nx == ny ? 0 : nx < ny ? 1 : -1; /* the longer one first: n * m before n before 1 */
}

const rlx_atom *rlx_mono_single(const rlx_mono *m)
{
    return m->len == 1 && m->factors[0].power == 1 ? m->factors[0].atom : NULL;
}

const rlx_mono *rlx_mono_quotient(rlx_query *q, const rlx_mono *a, const rlx_mono *b)
{
    rlx_factor out[MAX_FACTORS];
    size_t n = 0, at = 0;
    for (size_t i = 0; i < a->len; i++) {
        rlx_factor f = a->factors[i];
        if (at < b->len && b->factors[at].atom == f.atom) {
            if (b->factors[at].power > f.power)
                return NULL;
            f.power -= b->factors[at++].power;
        }
        if (f.power)
            clear_padding(&out[n++], f.atom, f.power);
    }
    return at == b->len ? intern_mono(q, out, n) : NULL;
}

static bool same_atom(const rlx_atom *a, enum atom_kind kind, const rlx_node *node,
                      const rlx_poly *const *ops, size_t count)
{
    if (a->kind != kind || a->node != node || a->num_ops != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!rlx_poly_equal(a->ops[i], ops[i]))
            return false;
    return true;
}

/* Variables are told apart by their serial number, other nodes by structure: neither depends on
 * addresses. */
static uint64_t node_hash(rlx_query *q, const rlx_node *n)
{
    bool lost = false;
    if (!n || n->kind == RLX_NODE_PRIM_VAR)
        return n ? n->id : 0;
    uint64_t hash = rlx_hash_again(&q->a->ctx->memory, n, &q->a->hashes, &lost);
    if (lost)
        rlx_query_fail(q);
    return hash;
}

const rlx_atom *rlx_atom_intern(rlx_query *q, enum atom_kind kind, const rlx_node *node,
                                const rlx_poly *const *ops, size_t count)
{
    rlx_arith *a = q->a;
    uint64_t hash = rlx_hash_mix(rlx_hash_mix(kind + 1, node_hash(q, node)), count);
    uint32_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        if (!ops[i])
            return NULL;
        hash = rlx_hash_mix(hash, rlx_poly_hash(ops[i]));
        depth = ops[i]->depth > depth ? ops[i]->depth : depth;
    }
    size_t at;
    for (rlx_atom *t = rlx_intern_first(&a->atoms, hash, &at); t;
         t = rlx_intern_next(&a->atoms, hash, &at))
        if (same_atom(t, kind, node, ops, count))
            return t;
    if (depth >= MAX_DEPTH)
        return rlx_query_too_big(q);
    rlx_atom *t = rlx_region_alloc(&a->keep, sizeof *t + count * sizeof *ops);
    if (!t || q->failed)
        return rlx_query_fail(q);
    *t = (rlx_atom){ .kind = (uint8_t)kind,
                     .depth = (uint8_t)(kind == ATOM_VAR ? 0 : depth + 1),
                     .num_ops = (uint16_t)count,
                     .hash = hash,
                     .node = node };
    for (size_t i = 0; i < count; i++)
        if (!(t->ops[i] = rlx_poly_keep(q, ops[i])))
            return NULL;
    t->number = a->num_atoms++;
    return rlx_intern_add(&a->atoms, hash, t) ? t : rlx_query_fail(q);
}

/* --- polynomials --- */

static rlx_poly *new_poly(rlx_query *q, size_t count)
{
    rlx_poly *p = rlx_query_new(q, sizeof *p + count * sizeof(rlx_term));
    if (p)
        *p = (rlx_poly){ 0 };
    return p;
}

static void add_term(rlx_poly *p, int64_t coef, const rlx_mono *mono)
{
    p->terms[p->len++] = (rlx_term){ coef, mono };
    p->depth = mono->depth > p->depth ? mono->depth : p->depth;
}

const rlx_poly *rlx_poly_const(rlx_query *q, int64_t value)
{
    rlx_poly *p = new_poly(q, 1);
    if (p && value)
        add_term(p, value, q->a->one);
    return p;
}

const rlx_poly *rlx_poly_atom(rlx_query *q, const rlx_atom *atom)
{
    if (!atom)
        return NULL;
    rlx_factor f;
    clear_padding(&f, atom, 1);
    const rlx_mono *m = intern_mono(q, &f, 1);
    rlx_poly *p = m ? new_poly(q, 1) : NULL;
    if (p)
        add_term(p, 1, m);
    return p;
}

const rlx_poly *rlx_poly_combine(rlx_query *q, const rlx_poly *a, int64_t ka, const rlx_poly *b,
                                 int64_t kb)
{
    if (!a || !b || !rlx_query_step(q, a->len + b->len))
        return NULL;
    rlx_poly *p = new_poly(q, a->len + b->len);
    if (!p)
        return NULL;
    size_t i = 0, j = 0;
    while (i < a->len || j < b->len) {
        const rlx_term *x = i < a->len ? &a->terms[i] : NULL,
                       *y = j < b->len ? &b->terms[j] : NULL;
        bool take_x = x && (!y || x->mono->number <= y->mono->number);
        bool take_y = y && (!x || y->mono->number <= x->mono->number);
        int64_t cx = 0, cy = 0, sum;
        if ((take_x && !rlx_mul_i64(x->coef, ka, &cx)) ||
            (take_y && !rlx_mul_i64(y->coef, kb, &cy)) || !rlx_add_i64(cx, cy, &sum))
            return rlx_query_too_big(q);
        if (sum)
            add_term(p, sum, take_x ? x->mono : y->mono);
        i += take_x;
        j += take_y;
    }
    return p->len > MAX_MONOMIALS ? rlx_query_too_big(q) : p;
}

const rlx_poly *rlx_poly_scale(rlx_query *q, const rlx_poly *a, int64_t k)
{
    return k == 1 || !a ? a : rlx_poly_combine(q, a, k, rlx_poly_const(q, 0), 1);
}

const rlx_poly *rlx_poly_term(rlx_query *q, int64_t coef, const rlx_mono *mono)
{
    rlx_poly *p = mono ? new_poly(q, 1) : NULL;
    if (p && coef)
        add_term(p, coef, mono);
    return p;
}

rlx_term rlx_poly_lead(const rlx_poly *p)
{
    rlx_term lead = p->terms[0];
    for (size_t i = 1; i < p->len; i++)
        if (rlx_mono_compare(p->terms[i].mono, lead.mono) < 0)
            lead = p->terms[i];
    return lead;
}

bool rlx_poly_leads_negative(rlx_query *q, const rlx_poly *p)
{
    return p->len && rlx_query_step(q, p->len) && rlx_poly_lead(p).coef < 0;
}

const rlx_poly *rlx_poly_floor_coefs(rlx_query *q, const rlx_poly *p, int64_t g)
{
    rlx_poly *out = g == 1 || !p ? NULL : new_poly(q, p->len);
    for (size_t i = 0; out && i < p->len; i++) {
        int64_t coef = rlx_floor_div_i64(p->terms[i].coef, g);
        if (coef)
            add_term(out, coef, p->terms[i].mono);
    }
    return g == 1 ? p : out;
}

static int compare_numbers(const rlx_mono *a, const rlx_mono *b)
{
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Bottom-up merge sort: no recursion, no memory of the C library. */
const rlx_term *rlx_terms_sort(rlx_query *q, rlx_term *terms, size_t count,
                               int (*compare)(const rlx_mono *a, const rlx_mono *b))
{
    rlx_term *from = terms, *to = count > 1 ? rlx_query_new(q, count * sizeof *terms) : terms;
    if (!to)
        return NULL;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t i = begin, mid = begin + width < count ? begin + width : count;
            size_t j = mid, end = mid + width < count ? mid + width : count;
            for (size_t k = begin; k < end; k++)
                to[k] = i < mid && (j >= end || compare(from[i].mono, from[j].mono) <= 0)
                            ? from[i++]
                            : from[j++];
        }
        rlx_term *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

const rlx_poly *rlx_poly_of_terms(rlx_query *q, rlx_term *terms, size_t count)
{
    const rlx_term *sorted = rlx_query_step(q, count)
                                 ? rlx_terms_sort(q, terms, count, compare_numbers)
                                 : NULL;
    rlx_poly *p = sorted ? new_poly(q, count) : NULL;
    if (!p)
        return NULL;
    for (size_t i = 0; i < count;) {
        const rlx_mono *mono = sorted[i].mono;
        int64_t sum = 0;
        for (; i < count && sorted[i].mono == mono; i++)
            if (!rlx_add_i64(sum, sorted[i].coef, &sum))
                return rlx_query_too_big(q);
        if (sum)
            add_term(p, sum, mono);
    }
    return p->len > MAX_MONOMIALS ? rlx_query_too_big(q) : p;
}

const rlx_poly *rlx_poly_mul(rlx_query *q, const rlx_poly *a, const rlx_poly *b)
{
    int64_t value;
    if (!a || !b)
        return NULL;
    if (rlx_poly_is_const(b, &value))
        return value ? rlx_poly_scale(q, a, value) : b;
    if (rlx_poly_is_const(a, &value))
        return value ? rlx_poly_scale(q, b, value) : a;
    size_t count = (size_t)a->len * b->len;
    if (count > MAX_PRODUCTS)
        return rlx_query_too_big(q);
    rlx_term *terms =
        rlx_query_step(q, 4 * count) ? rlx_query_new(q, count * sizeof *terms) : NULL;
    if (!terms)
        return NULL;
    for (size_t i = 0, n = 0; i < a->len; i++) {
        for (size_t j = 0; j < b->len; j++, n++) {
            terms[n].mono = rlx_mono_product(q, a->terms[i].mono, b->terms[j].mono);
            if (!terms[n].mono)
                return NULL;
            if (!rlx_mul_i64(a->terms[i].coef, b->terms[j].coef, &terms[n].coef))
                return rlx_query_too_big(q);
        }
    }
    return rlx_poly_of_terms(q, terms, count);
}

bool rlx_poly_is_const(const rlx_poly *p, int64_t *value)
{
    if (p->len > 1 || (p->len && p->terms[0].mono->len))
        return false;
    *value = p->len ? p->terms[0].coef : 0;
    return true;
}

bool rlx_poly_equal(const rlx_poly *a, const rlx_poly *b)
{
    if (a == b)
        return true;
    return a->len == b->len &&
           (!a->len || memcmp(a->terms, b->terms, a->len * sizeof *a->terms) == 0);
}

/* Terms are sorted by history, so the hash must not depend on their order. */
uint64_t rlx_poly_hash(const rlx_poly *p)
{
    uint64_t hash = p->len;
    for (size_t i = 0; i < p->len; i++)
        hash += rlx_hash_mix(rlx_hash_mix(0x706f6c79, p->terms[i].mono->hash),
                             (uint64_t)p->terms[i].coef);
    return hash;
}

int64_t rlx_poly_constant_part(const rlx_poly *p)
{
    /* the empty product is number 0 */
    return p->len && !p->terms[0].mono->len ? p->terms[0].coef : 0;
}

uint64_t rlx_poly_content(const rlx_poly *p, bool varying)
{
    uint64_t g = 0;
    for (size_t i = 0; i < p->len; i++) {
        int64_t c = p->terms[i].coef;
        if (!varying || p->terms[i].mono->len)
            g = rlx_gcd(g, c < 0 ? 0 - (uint64_t)c : (uint64_t)c);
    }
    return g;
}

static uint32_t power_of(const rlx_mono *m, const rlx_atom *atom)
{
    for (size_t i = 0; i < m->len; i++)
        if (m->factors[i].atom == atom)
            return m->factors[i].power;
    return 0;
}

/* coef * rest * by^power */
static const rlx_poly *replaced_term(rlx_query *q, rlx_term t, const rlx_atom *atom,
                                     const rlx_poly *by, uint32_t power)
{
    rlx_poly *p = new_poly(q, 1);
    const rlx_mono *rest = p ? rlx_mono_without(q, t.mono, atom) : NULL;
    if (!rest)
        return NULL;
    add_term(p, t.coef, rest);
    const rlx_poly *out = p;
    for (uint32_t i = 0; i < power && out; i++)
        out = rlx_poly_mul(q, out, by);
    return out;
}

const rlx_poly *rlx_poly_replace(rlx_query *q, const rlx_poly *p, const rlx_atom *atom,
                                 const rlx_poly *by)
{
    rlx_poly *rest = by ? new_poly(q, p->len) : NULL;
    if (!rest || !rlx_query_step(q, p->len))
        return NULL;
    const rlx_poly *sum = rlx_poly_const(q, 0);
    for (size_t i = 0; i < p->len && sum; i++) {
        uint32_t power = power_of(p->terms[i].mono, atom);
        if (!power)
            add_term(rest, p->terms[i].coef, p->terms[i].mono);
        else
            sum = rlx_poly_combine(q, sum, 1, replaced_term(q, p->terms[i], atom, by, power), 1);
    }
    return rlx_poly_combine(q, rest, 1, sum, 1);
}

const rlx_poly *rlx_poly_keep(rlx_query *q, const rlx_poly *p)
{
    if (!p)
        return NULL;
    const rlx_poly *copy = rlx_region_copy(&q->a->keep, p, sizeof *p + p->len * sizeof *p->terms);
    return copy ? copy : rlx_query_fail(q);
}
