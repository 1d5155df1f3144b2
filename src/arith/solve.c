/* solve.c: solving for a variable, facts that two expressions are equal, and values for which they
 * are not. */
/* built for size */
#include "arith/arith_int.h"

/* --- solving: a - b = k * var + rest --- */

static bool occurs(rlx_query *q, const rlx_poly *p, const rlx_node *var);

/* Depth of recursion: that of atoms. */
static bool occurs_in_atom(rlx_query *q, const rlx_atom *t, const rlx_node *var)
{
    if (t->kind == ATOM_VAR)
        return t->node == var;
    if (t->node) /* what it hides is not looked at */
        return true;
    for (size_t i = 0; i < t->num_ops; i++)
        if (occurs(q, t->ops[i], var))
            return true;
    return false;
}

static bool occurs(rlx_query *q, const rlx_poly *p, const rlx_node *var)
{
    if (!rlx_query_step(q, p->len))
        return true;
    for (size_t i = 0; i < p->len; i++)
        for (size_t k = 0; k < p->terms[i].mono->len; k++)
            if (occurs_in_atom(q, p->terms[i].mono->factors[k].atom, var))
                return true;
    return false;
}

/* The term that is var by itself. NULL: there is none. */
static const rlx_term *linear_term(const rlx_poly *d, const rlx_node *var)
{
    for (size_t i = 0; i < d->len; i++) {
        const rlx_atom *t = rlx_mono_single(d->terms[i].mono);
        if (t && t->kind == ATOM_VAR && t->node == var)
            return &d->terms[i];
    }
    return NULL;
}

/* d = t + rest, t's variable not in rest. NULL: it is, or a limit. */
static const rlx_poly *without_term(rlx_query *q, const rlx_poly *d, rlx_term t,
                                    const rlx_node *var)
{
    const rlx_poly *rest =
        rlx_poly_combine(q, d, 1, rlx_poly_term(q, t.coef, t.mono), -1);
    return rest && !occurs(q, rest, var) ? rest : NULL;
}

/* -rest / k where that is whole. NULL: it is not, or a limit. */
static const rlx_poly *whole_quotient(rlx_query *q, const rlx_poly *rest, int64_t k)
{
    uint64_t g = rlx_poly_content(rest, false);
    if (k == INT64_MIN || g > INT64_MAX)
        return rlx_query_too_big(q);
    int64_t size = k < 0 ? -k : k;
    if (g % (uint64_t)size)
        return NULL;
    return rlx_poly_floor_coefs(q, rlx_poly_scale(q, rest, k < 0 ? 1 : -1), size);
}

typedef struct equation { const rlx_canon *a, *b; } equation;

static bool canonical_sides(rlx_query *q, const rlx_prim *a, const rlx_prim *b, equation *out)
{
    out->a = rlx_canonical(q, a);
    out->b = out->a ? rlx_canonical(q, b) : NULL;
    return out->b != NULL;
}

/* The difference with everything known put in. */
static const rlx_poly *difference(rlx_query *q, const equation *e)
{
    rlx_query_budget(q, QUERY_STEPS);
    q->substitute = rlx_scope_has_equals(q->scope);
    const rlx_poly *d = rlx_poly_combine(q, e->a->poly, 1, e->b->poly, -1);
    return d ? rlx_resolve(q, d) : NULL;
}

/* Does the side divide by something that mentions var? What cancels may be missing from the
 * form, but fails for some values of var. */
static bool divides_by_var(rlx_query *q, const rlx_canon *side, const rlx_node *var)
{
    for (size_t i = 0; i < side->num_divisors; i++) {
        const rlx_poly *d = rlx_resolve(q, side->divisors[i]);
        if (!d || occurs(q, d, var))
            return true;
    }
    return false;
}

/* Does a side divide by this, which is written with everything known put in? */
static bool is_divisor_of(rlx_query *q, const rlx_canon *side, const rlx_poly *divisor)
{
    for (size_t i = 0; i < side->num_divisors; i++) {
        const rlx_poly *d = rlx_resolve(q, side->divisors[i]);
        if (d && rlx_poly_equal(d, divisor))
            return true;
    }
    return false;
}

/* May the value divide by zero where the sides do not? The arms of a choice, taken apart, stand
 * outside it. */
static bool fails_alone(rlx_query *q, const equation *e, const rlx_prim *value)
{
    const rlx_canon *c = rlx_canonical(q, value);
    rlx_query_budget(q, QUERY_STEPS);
    for (size_t i = 0; c && i < c->num_divisors; i++) {
        const rlx_poly *d = c->divisors[i];
        if (rlx_canon_divides_by(e->a, d) || rlx_canon_divides_by(e->b, d))
            continue;
        d = rlx_resolve(q, d);
        if (!d || (!is_divisor_of(q, e->a, d) && !is_divisor_of(q, e->b, d) &&
                   rlx_poly_min(q, d) < 1 && rlx_poly_max(q, d) > -1))
            return true;
    }
    return !c;
}

static bool outside(rlx_query *q, const rlx_poly *value, const rlx_prim_var *var)
{
    int64_t low, high;
    rlx_scope_fact(q->scope, var, &low, &high);
    return rlx_poly_min(q, value) > high || rlx_poly_max(q, value) < low;
}

static enum rlx_solution solve(rlx_query *q, const equation *e, const rlx_prim_var *var,
                               const rlx_prim **value)
{
    const rlx_poly *d = difference(q, e);
    const rlx_term *t = d ? linear_term(d, &var->node) : NULL;
    const rlx_poly *rest = t ? without_term(q, d, *t, &var->node) : NULL;
    const rlx_poly *root = rest ? whole_quotient(q, rest, t->coef) : NULL;
    if (!root)
        return RLX_SOLUTION_UNKNOWN;
    if (outside(q, root, var))
        return RLX_SOLUTION_NONE;
    *value = rlx_prim_of_poly(q, var->dtype, root);
    bool sure = *value && !divides_by_var(q, e->a, &var->node) &&
                !divides_by_var(q, e->b, &var->node) && !fails_alone(q, e, *value);
    return sure ? RLX_SOLUTION_ONE : RLX_SOLUTION_UNKNOWN;
}

static bool is_integer(const rlx_prim *p)
{
    rlx_dtype t = rlx_prim_dtype(p);
    return rlx_dtype_code(t) == RELAX_DTYPE_INT && rlx_dtype_lanes(t) == 1;
}

enum rlx_solution rlx_solve(rlx_context *ctx, const rlx_scope *s, const rlx_prim *a,
                            const rlx_prim *b, const rlx_prim_var *var, const rlx_prim **value)
{
    rlx_query q;
    equation e;
    *value = NULL;
    if (!is_integer(a) || !is_integer(b) || !is_integer(&var->node))
        return RLX_SOLUTION_UNKNOWN;
    if (rlx_prove_equal(ctx, s, a, b) == RLX_DIFFERENT)
        return RLX_SOLUTION_NONE;
    if (!rlx_query_begin(&q, ctx, s))
        return RLX_SOLUTION_UNKNOWN;
    enum rlx_solution found = canonical_sides(&q, a, b, &e) ? solve(&q, &e, var, value)
                                                            : RLX_SOLUTION_UNKNOWN;
    if (q.failed)
        found = RLX_SOLUTION_UNKNOWN;
    rlx_query_end(&q);
    *value = found == RLX_SOLUTION_ONE ? *value : NULL;
    return found;
}

/* --- facts --- */

#define MAX_EQUALITIES 64 /* over a scope and those around it: values lead to values */
#define MAX_FACT_NODES 128 /* longer ones are not used */

static size_t count_equalities(const rlx_scope *s)
{
    size_t count = 0;
    for (; s; s = s->parent)
        count += s->equals.len;
    return count;
}

/* The youngest variable that stands by itself with a coefficient that divides the rest: what
 * was bound last is what the fact is about. */
static bool choose_variable(rlx_query *q, const rlx_poly *d, rlx_equality *out)
{
    out->var = NULL;
    for (size_t i = 0; i < d->len; i++) {
        const rlx_atom *t = rlx_mono_single(d->terms[i].mono);
        const rlx_prim_var *var = t ? rlx_as_prim_var(t->node) : NULL;
        if (!var || t->kind != ATOM_VAR || (out->var && out->var->node.id > var->node.id))
            continue;
        const rlx_poly *rest = without_term(q, d, d->terms[i], t->node);
        const rlx_poly *root = rest ? whole_quotient(q, rest, d->terms[i].coef) : NULL;
        const rlx_prim *value = root ? rlx_prim_of_poly(q, var->dtype, root) : NULL;
        if (value)
            *out = (rlx_equality){ .var = var, .value = value };
    }
    return out->var && !q->failed;
}

enum rlx_fact_use rlx_scope_equal(rlx_scope *s, const rlx_prim *a, const rlx_prim *b)
{
    rlx_query q;
    rlx_equality e;
    if (rlx_count_nodes(s->ctx, a, MAX_FACT_NODES) > MAX_FACT_NODES ||
        rlx_count_nodes(s->ctx, b, MAX_FACT_NODES) > MAX_FACT_NODES)
        return RLX_FACT_UNUSED;
    enum rlx_answer known = rlx_prove_equal(s->ctx, s, a, b);
    if (known != RLX_UNKNOWN)
        return known == RLX_EQUAL ? RLX_FACT_KNOWN : RLX_FACT_FALSE;
    if (!is_integer(a) || !is_integer(b) || count_equalities(s) >= MAX_EQUALITIES ||
        !rlx_query_begin(&q, s->ctx, s))
        return RLX_FACT_UNUSED;
    equation sides;
    const rlx_poly *d = canonical_sides(&q, a, b, &sides) ? difference(&q, &sides) : NULL;
    bool taken = d && choose_variable(&q, d, &e);
    e.a = a;
    e.b = b;
    if (taken && !rlx_scope_has(s, e.var))
        taken = false;
    if (taken && !rlx_vec_push(&s->ctx->memory, &s->equals, e)) {
        taken = false;
    }
    rlx_query_end(&q);
    return taken ? RLX_FACT_TAKEN : RLX_FACT_UNUSED;
}

/* --- counterexamples --- */

#define MAX_TRIES 4096
#define MAX_EVALUATED ((size_t)1 << 22) /* nodes, over all tries */

typedef struct search {
    const rlx_scope *scope;
    const rlx_prim *a, *b;
    rlx_assignment point;
    int64_t *values;
    uint64_t seed;
} search;

static int64_t clipped(const rlx_scope *s, const rlx_prim_var *var, int64_t v)
{
    int64_t low, high;
    rlx_scope_fact(s, var, &low, &high);
    return v < low ? low : v > high ? high : v;
}

/* The try decides: all small numbers first, then mixtures of telling ones. */
static void choose_values(search *f, size_t attempt)
{
    static const int64_t telling[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33,
                                       63, 64, 100, 127, 128, 255, 1000, 1024, -1, -2, -3, -5,
                                       -8, 65537, 1000003 };
    size_t mixed = attempt;
    for (size_t i = 0; i < f->point.count; i++) {
        f->seed = rlx_hash_mix(f->seed, i + 1);
        size_t digit = attempt < 256 ? mixed % 4 : f->seed % RLX_COUNT(telling);
        mixed /= 4;
        f->values[i] = clipped(f->scope, f->point.vars[i], telling[digit]);
    }
}

/* Variables that are equal to something have that value. False: no admissible point. */
static bool follow_equalities(search *f, rlx_memory *m)
{
    for (const rlx_scope *s = f->scope; s; s = s->parent) {
        for (size_t i = s->equals.len; i--;) { /* later ones first: earlier values mention them */
            rlx_equality e = s->equals.data[i];
            int64_t v;
            for (size_t k = 0; k < f->point.count; k++) {
                if (f->point.vars[k] != e.var)
                    continue;
                if (!rlx_prim_evaluate(e.value, &f->point, m, &v) ||
                    clipped(f->scope, e.var, v) != v)
                    return false;
                f->values[k] = v;
            }
        }
    }
    return true;
}

/* Do both sides have a value, the same (or not)? */
static bool sides_are(search *f, rlx_memory *m, const rlx_prim *a, const rlx_prim *b, bool equal)
{
    int64_t va, vb;
    return rlx_prim_evaluate(a, &f->point, m, &va) && rlx_prim_evaluate(b, &f->point, m, &vb) &&
           (va == vb) == equal;
}

/* Are the facts true as they were stated? Where they divide by zero, what follows from them is
 * not. */
static bool facts_hold(search *f, rlx_memory *m)
{
    for (const rlx_scope *s = f->scope; s; s = s->parent)
        for (size_t i = 0; i < s->equals.len; i++)
            if (!sides_are(f, m, s->equals.data[i].a, s->equals.data[i].b, true))
                return false;
    return true;
}

/* Nodes that one try evaluates. */
static size_t cost_of_try(rlx_context *ctx, const search *f)
{
    size_t cost = 1 + rlx_count_nodes(ctx, f->a, MAX_EVALUATED) +
                  rlx_count_nodes(ctx, f->b, MAX_EVALUATED);
    for (const rlx_scope *s = f->scope; s; s = s->parent)
        for (size_t i = 0; i < s->equals.len; i++)
            cost += rlx_count_nodes(ctx, s->equals.data[i].value, MAX_FACT_NODES) +
                    2 * MAX_FACT_NODES;
    return cost;
}

bool rlx_counterexample(rlx_context *ctx, const rlx_scope *s, const rlx_prim *a,
                        const rlx_prim *b, const rlx_prim_var *const *vars, size_t count,
                        int64_t *values)
{
    rlx_memory *m = &ctx->memory;
    search f = { s, a, b, { vars, values, count }, values, 1 };
    size_t cost = cost_of_try(ctx, &f);
    for (size_t i = 0; i < MAX_TRIES && i * cost < MAX_EVALUATED; i++) {
        choose_values(&f, i);
        if (follow_equalities(&f, m) && sides_are(&f, m, a, b, false) && facts_hold(&f, m))
            return true;
    }
    return false;
}
