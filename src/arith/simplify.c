/* simplify.c: back from canonical forms to nodes. What the form has taken apart is put together
 * again where the parts are there: p - c * (p // c) becomes p % c, and a + b - min(a, b) becomes
 * max(a, b). */
#include "arith/arith_int.h"

#include <string.h>

#define MAX_NODES 2000 /* larger expressions are left alone */
#define AS_WRITTEN_PARTS 16 /* rlx_keep_small leaves what is no larger, */
#define SMALL_PARTS 64      /* and what is larger than this unless it has doubled */

typedef struct rebuild {
    rlx_query *q;
    rlx_context *ctx;
    rlx_dtype dtype;
} rebuild;

static const rlx_prim *from_poly(rebuild *r, const rlx_poly *p);

static const rlx_prim *literal(rebuild *r, int64_t v)
{
    return rlx_int(r->ctx, r->dtype, v);
}

static const rlx_prim *binary(rebuild *r, enum rlx_node_kind kind, const rlx_prim *a,
                              const rlx_prim *b)
{
    return a && b ? rlx_fold_binary(r->ctx, kind, a, b) : NULL;
}

static const rlx_prim *from_min(rebuild *r, enum rlx_node_kind kind, const rlx_atom *t)
{
    const rlx_prim *out = from_poly(r, t->ops[0]);
    for (size_t i = 1; i < t->num_ops && out; i++)
        out = binary(r, kind, out, from_poly(r, t->ops[i]));
    return out;
}

/* p >= 0 with what is negative on the other side; a constant -1 makes it strict. */
static const rlx_prim *from_condition(rebuild *r, rlx_condition c)
{
    if (c.kind == CONDITION_NODE)
        return c.node;
    bool equal = c.kind == CONDITION_ZERO,
         strict = !equal && rlx_poly_constant_part(c.p) == -1;
    rlx_term *terms[2];
    size_t count[2] = { 0, 0 };
    for (int i = 0; i < 2; i++)
        if (!(terms[i] = rlx_query_new(r->q, (c.p->len + 1) * sizeof **terms)))
            return NULL;
    for (size_t i = 0; i < c.p->len; i++) {
        rlx_term t = c.p->terms[i];
        bool negative = t.coef < 0;
        if (t.coef == INT64_MIN)
            return rlx_query_too_big(r->q);
        t.coef = negative ? -t.coef : t.coef;
        if (t.mono->len || !strict)
            terms[negative][count[negative]++] = t;
    }
    return binary(r, equal ? RLX_NODE_EQ : strict ? RLX_NODE_GT : RLX_NODE_GE,
                  from_poly(r, rlx_poly_of_terms(r->q, terms[0], count[0])),
                  from_poly(r, rlx_poly_of_terms(r->q, terms[1], count[1])));
}

static const rlx_prim *from_atom(rebuild *r, const rlx_atom *t)
{
    static const uint8_t kinds[] = { [ATOM_FLOOR_DIV] = RLX_NODE_FLOOR_DIV,
                                     [ATOM_FLOOR_MOD] = RLX_NODE_FLOOR_MOD,
                                     [ATOM_TRUNC_DIV] = RLX_NODE_DIV,
                                     [ATOM_TRUNC_MOD] = RLX_NODE_MOD };
    switch (t->kind) {
    case ATOM_VAR:
    case ATOM_OPAQUE: return rlx_fold_cast(r->ctx, r->dtype, t->node);
    case ATOM_MIN: return from_min(r, RLX_NODE_MIN, t);
    case ATOM_SELECT:
    case ATOM_SELECT_ZERO:
        return rlx_fold_select(r->ctx, from_condition(r, rlx_atom_condition(t)),
                               from_poly(r, t->ops[0]), from_poly(r, t->ops[1]));
    default: return binary(r, kinds[t->kind], from_poly(r, t->ops[0]), from_poly(r, t->ops[1]));
    }
}

static const rlx_prim *from_mono(rebuild *r, const rlx_mono *m)
{
    rlx_factor f[MAX_FACTORS];
    size_t count = rlx_mono_ordered(m, f);
    const rlx_prim *out = literal(r, 1);
    for (size_t i = 0; i < count; i++) {
        const rlx_prim *one = from_atom(r, f[i].atom);
        for (uint32_t k = 0; k < f[i].power && out; k++)
            out = binary(r, RLX_NODE_MUL, out, one);
    }
    return out;
}

/* --- sums --- */

typedef struct parts {
    RLX_VEC(struct piece { int64_t coef; const rlx_prim *value; }) list;
} parts;

static bool add_part(rebuild *r, parts *s, int64_t coef, const rlx_prim *value)
{
    return value && (rlx_vec_push(&r->ctx->memory, &s->list, ((struct piece){ coef, value })) ||
                     rlx_query_fail(r->q));
}

/* Does p contain every term of part times k (its constant aside)? */
static bool contains(const rlx_poly *p, const rlx_poly *part, int64_t k)
{
    for (size_t i = 0; i < part->len; i++) {
        int64_t want;
        size_t at = 0;
        if (!part->terms[i].mono->len)
            continue;
        while (at < p->len && p->terms[at].mono != part->terms[i].mono)
            at++;
        if (at == p->len || !rlx_mul_i64(part->terms[i].coef, k, &want) ||
            p->terms[at].coef != want)
            return false;
    }
    return true;
}

/* One term that can be put together with others: they leave *p, the whole is added to the
 * parts. */
static bool recombine(rebuild *r, const rlx_poly **p, rlx_term t, parts *out)
{
    const rlx_atom *a = rlx_mono_single(t.mono);
    const rlx_poly *with = NULL;
    int64_t c = -1;
    if (!a || (a->kind == ATOM_FLOOR_DIV && !rlx_poly_is_const(a->ops[1], &c)))
        return true;
    if (a->kind == ATOM_FLOOR_DIV && c > 1)
        with = a->ops[0];
    else if (a->kind == ATOM_MIN && a->num_ops == 2 && t.coef < 0)
        with = rlx_poly_combine(r->q, a->ops[0], 1, a->ops[1], 1), c = 1;
    if (!with || t.coef % c || !contains(*p, with, -(t.coef / c)))
        return true;
    int64_t k = -(t.coef / c);
    const rlx_prim *whole = a->kind == ATOM_MIN ? from_min(r, RLX_NODE_MAX, a)
                                                : binary(r, RLX_NODE_FLOOR_MOD,
                                                         from_poly(r, a->ops[0]), literal(r, c));
    const rlx_poly *rest = rlx_poly_combine(r->q, *p, 1, with, -k);
    *p = rlx_poly_combine(r->q, rest, 1, rlx_poly_atom(r->q, a), -t.coef);
    return *p && add_part(r, out, k, whole);
}

/* Puts together what can be: monomials of variables only are no part of anything. */
static const rlx_poly *recombine_all(rebuild *r, const rlx_poly *p, parts *out)
{
    const rlx_poly *all = p;
    for (size_t i = 0; p && all->depth && i < all->len; i++) {
        size_t at = 0;
        if (!all->terms[i].mono->depth)
            continue;
        while (at < p->len && p->terms[at].mono != all->terms[i].mono)
            at++;
        if (at < p->len && !recombine(r, &p, p->terms[at], out))
            return NULL;
    }
    return p;
}

static bool collect(rebuild *r, const rlx_poly *p, parts *out)
{
    p = recombine_all(r, p, out);
    rlx_term *copy = p ? rlx_query_new(r->q, (p->len + 1) * sizeof *copy) : NULL;
    if (!copy)
        return false;
    memcpy(copy, p->terms, p->len * sizeof *copy);
    const rlx_term *terms = rlx_terms_sort(r->q, copy, p->len, rlx_mono_compare);
    for (size_t i = 0; terms && i < p->len; i++)
        if (!add_part(r, out, terms[i].coef, from_mono(r, terms[i].mono)))
            return false;
    return terms != NULL;
}

/* A positive part first where there is one, so that nothing begins with a minus sign. */
static const rlx_prim *assemble(rebuild *r, const parts *s)
{
    size_t first = 0;
    while (first < s->list.len && s->list.data[first].coef < 0)
        first++;
    first = first == s->list.len ? 0 : first;
    const rlx_prim *out = NULL;
    for (size_t i = 0; i <= s->list.len; i++) {
        if (i == first + 1 || !s->list.len)
            continue;
        struct piece p = s->list.data[i == 0 ? first : i - 1];
        bool minus = out && p.coef < 0 && p.coef != INT64_MIN;
        const rlx_prim *one =
            binary(r, RLX_NODE_MUL, p.value, literal(r, minus ? -p.coef : p.coef));
        out = out ? binary(r, minus ? RLX_NODE_SUB : RLX_NODE_ADD, out, one) : one;
        if (!out)
            return NULL;
    }
    return out ? out : literal(r, 0);
}

/* Depth of recursion: that of atoms. */
static const rlx_prim *from_poly(rebuild *r, const rlx_poly *p)
{
    parts s = { 0 };
    bool ok = p && rlx_query_step(r->q, 1 + (size_t)p->len) && collect(r, p, &s);
    const rlx_prim *out = ok ? assemble(r, &s) : NULL;
    rlx_vec_free(&r->ctx->memory, &s.list);
    return out;
}

/* Nodes of p as a tree, counted up to `limit`. */
size_t rlx_count_nodes(rlx_context *ctx, const rlx_prim *p, size_t limit)
{
    rlx_prims stack = { 0 };
    rlx_memory *m = &ctx->memory;
    size_t count = 0;
    bool ok = rlx_vec_push(m, &stack, p);
    while (ok && stack.len && count <= limit) {
        p = rlx_vec_pop(&stack);
        count++;
        for (size_t i = 0, n = rlx_child_count(p); ok && i < n; i++)
            ok = !rlx_child(p, i) || rlx_vec_push(m, &stack, rlx_child(p, i));
    }
    rlx_vec_free(m, &stack);
    return ok ? count : 0;
}

const rlx_prim *rlx_prim_of_poly(rlx_query *q, rlx_dtype dtype, const rlx_poly *p)
{
    rebuild r = { q, q->a->ctx, dtype };
    return p ? from_poly(&r, p) : NULL;
}

/* No expression of this form has fewer nodes; forms with atoms that can be put together may. */
static size_t least_nodes(const rlx_poly *p)
{
    return p->depth || !p->len ? 1 : 2 * (size_t)p->len - 1;
}

const rlx_prim *rlx_simplify(rlx_context *ctx, const rlx_scope *s, const rlx_prim *p)
{
    rlx_query q;
    if (!p || !rlx_dtype_is_int(rlx_prim_dtype(p)) || p->kind == RLX_NODE_INT_IMM ||
        p->kind == RLX_NODE_PRIM_VAR)
        return p;
    size_t size = rlx_count_nodes(ctx, p, MAX_NODES);
    if (size > MAX_NODES || !size || !rlx_query_begin(&q, ctx, s))
        return p;
    const rlx_prim *shorter = NULL;
    const rlx_canon *c = rlx_canonical(&q, p);
    q.substitute = s && s->rewrites;
    if (c && !c->num_divisors && (q.substitute || least_nodes(c->poly) < size)) {
        rlx_query_budget(&q, QUERY_STEPS);
        shorter = rlx_prim_of_poly(&q, rlx_prim_dtype(p), rlx_resolve(&q, c->poly));
        if (q.substitute && shorter && !(c = rlx_canonical(&q, shorter)))
            shorter = NULL;
    }
    if (c && c->num_divisors) /* a fact has brought in what p does not divide by */
        shorter = NULL;
    rlx_query_end(&q);
    return shorter && !q.failed && rlx_count_nodes(ctx, shorter, size) < size ? shorter : p;
}

/* Has p 2^k parts for some k, and neither of its operands? So the cost of looking at a sum that
 * gets longer by one variable after the other is in proportion to its length. */
static bool has_doubled(const rlx_prim *p)
{
    const rlx_binary *b = rlx_as_binary(p);
    uint32_t x = b ? rlx_prim_parts(b->a) : 0, y = b ? rlx_prim_parts(b->b) : 0;
    uint32_t larger = x > y ? x : y;
    return (rlx_prim_parts(p) ^ larger) > larger;
}

const rlx_prim *rlx_keep_small(rlx_context *ctx, const rlx_scope *s, const rlx_prim *p)
{
    uint32_t size = p ? rlx_prim_parts(p) : 0;
    bool leave = size <= AS_WRITTEN_PARTS || (size > SMALL_PARTS && !has_doubled(p));
    return leave ? p : rlx_simplify(ctx, s, p);
}
