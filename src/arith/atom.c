/*- atom.c: minima in canonical form, and every atom made again under a scope.
 *
 *     min(A + T, B + T)  =  min(A, B) + T
 *     min(g * A, g * B)  =  g * min(A, B)
 */
#include "arith/arith_int.h"

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
            if (rlx_poly_is_const(d, &value) ? value >= 0 : rlx_poly_min(q, d) >= 0)
                return true;
            if (rlx_poly_is_const(d, &value) ? value < 0 : rlx_poly_max(q, d) <= 0)
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
        if (!(l->ops[i] = rlx_poly_floor_coefs(q, l->ops[i], (int64_t)g)))
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

/* --- making everything again under what the scope knows --- */

/* p % q, or p - q * (p // q) */
static const rlx_poly *remake_rest(rlx_query *q, enum atom_kind kind, const rlx_poly *const *ops)
{
    bool floors = kind == ATOM_FLOOR_MOD;
    q->saw_rest = true;
    if (!q->expand_rest)
        return floors ? rlx_make_floor_mod(q, ops[0], ops[1])
                      : rlx_make_trunc_mod(q, ops[0], ops[1]);
    const rlx_poly *whole = floors ? rlx_make_floor_div(q, ops[0], ops[1])
                                   : rlx_make_trunc_div(q, ops[0], ops[1]);
    return rlx_poly_combine(q, ops[0], 1, rlx_poly_mul(q, whole, ops[1]), -1);
}

/* What a variable is equal to. Values mention variables without value, or such as came later:
 * the depth of recursion is that of the few equalities there are. */
static const rlx_poly *remake_var(rlx_query *q, const rlx_atom *t)
{
    const rlx_prim *value = q->substitute ? rlx_scope_value(q->scope, t->node) : NULL;
    if (!value)
        return rlx_poly_atom(q, t);
    uint32_t left = q->steps;
    const rlx_canon *form = rlx_canonical(q, value);
    rlx_query_budget(q, left);
    return form ? rlx_resolve(q, form->poly) : NULL;
}

static const rlx_poly *remake(rlx_query *q, const rlx_atom *t)
{
    if (t->kind == ATOM_VAR)
        return remake_var(q, t);
    if (t->kind == ATOM_OPAQUE)
        return rlx_poly_atom(q, t);
    const rlx_poly *ops[MAX_MIN_OPS];
    rlx_condition c = rlx_atom_condition(t);
    for (size_t i = 0; i < t->num_ops; i++)
        if (!(ops[i] = rlx_resolve(q, t->ops[i])))
            return NULL;
    switch (t->kind) {
    case ATOM_FLOOR_DIV: return rlx_make_floor_div(q, ops[0], ops[1]);
    case ATOM_TRUNC_DIV: return rlx_make_trunc_div(q, ops[0], ops[1]);
    case ATOM_FLOOR_MOD:
    case ATOM_TRUNC_MOD: return remake_rest(q, t->kind, ops);
    case ATOM_MIN: return rlx_make_min(q, ops, t->num_ops);
    default:
        c.p = t->num_ops == 3 ? ops[2] : NULL;
        return rlx_make_select(q, c, ops[0], ops[1]);
    }
}

static const rlx_poly *resolve_term(rlx_query *q, rlx_term t)
{
    const rlx_poly *out = rlx_poly_const(q, t.coef);
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
    if (!p->depth && !q->substitute)
        return p;
    bool before = q->use_scope;
    q->use_scope = true;
    const rlx_poly *sum = rlx_poly_const(q, 0);
    for (size_t i = 0; i < p->len && sum; i++) {
        rlx_term t = p->terms[i];
        const rlx_poly *one =
            t.mono->depth || (q->substitute && t.mono->len)
                ? resolve_term(q, t)
                : rlx_poly_term(q, t.coef, t.mono);
        sum = rlx_poly_combine(q, sum, 1, one, 1);
    }
    q->use_scope = before;
    return sum;
}
