/*- select.c: selects over polynomials, so that however a choice is written it has one form:
 *
 *     select(c, t, f)          =  f + select(c, t - f, 0)
 *     select(c, k * d, 0)      =  k * select(c, d, 0)
 *     select(not c, d, 0)      =  d - select(c, d, 0)
 *     select(p >= 0, p, 0)     =  max(p, 0), and so for p + 1
 *
 * A condition over integers is p >= 0 or p == 0, its coefficients without a common factor and
 * the first of them positive; any other is a node.
 */
#include "arith/arith_int.h"

/* Brings the condition into form. `inverted`: it became its negation. False: a limit, or the
 * query failed. */
static bool normalise(rlx_query *q, rlx_condition *c, bool *inverted)
{
    *inverted = false;
    if (c->kind == CONDITION_NODE)
        return true;
    uint64_t g = rlx_poly_content(c->p, c->kind == CONDITION_NOT_NEGATIVE);
    if (g > INT64_MAX)
        return rlx_query_too_big(q) != NULL;
    if (g > 1 && !(c->p = rlx_poly_floor_coefs(q, c->p, (int64_t)g)))
        return false;
    if (!rlx_poly_leads_negative(q, c->p))
        return true;
    c->p = rlx_poly_scale(q, c->p, -1);
    if (c->kind == CONDITION_NOT_NEGATIVE) {
        c->p = rlx_poly_combine(q, c->p, 1, rlx_poly_const(q, 1), -1);
        *inverted = true;
    }
    return c->p != NULL;
}

enum rlx_truth rlx_condition_truth(rlx_query *q, rlx_condition c)
{
    int64_t value;
    if (c.kind == CONDITION_NODE || !c.p)
        return RLX_MAYBE;
    bool at_least = c.kind == CONDITION_NOT_NEGATIVE;
    if (rlx_poly_is_const(c.p, &value))
        return (at_least ? value >= 0 : value == 0) ? RLX_TRUE : RLX_FALSE;
    uint64_t g = rlx_poly_content(c.p, true);
    int64_t rest = rlx_poly_constant_part(c.p);
    if (!at_least && g <= INT64_MAX && rest % (int64_t)g)
        return RLX_FALSE;
    if (!q->use_scope)
        return RLX_MAYBE;
    int64_t low = rlx_poly_min(q, c.p), high = rlx_poly_max(q, c.p);
    if (at_least)
        return low >= 0 ? RLX_TRUE : high < 0 ? RLX_FALSE : RLX_MAYBE;
    return low > 0 || high < 0 ? RLX_FALSE : low == 0 && high == 0 ? RLX_TRUE : RLX_MAYBE;
}

/* d is p or p + 1. */
static bool is_what_is_asked(rlx_query *q, const rlx_poly *d, const rlx_poly *p)
{
    const rlx_poly *more = rlx_poly_combine(q, d, 1, p, -1);
    int64_t value;
    return more && rlx_poly_is_const(more, &value) && (value == 0 || value == 1);
}

/* c ? d : 0, c in form. */
static const rlx_poly *chosen_or_zero(rlx_query *q, rlx_condition c, const rlx_poly *d)
{
    const rlx_poly *zero = rlx_poly_const(q, 0), *ops[] = { NULL, zero, c.p };
    uint64_t g = rlx_poly_content(d, false);
    if (g > INT64_MAX)
        return rlx_query_too_big(q);
    int64_t k = rlx_poly_leads_negative(q, d) ? -(int64_t)g : (int64_t)g;
    if (!zero || !d->len)
        return zero;
    d = rlx_poly_floor_coefs(q, k < 0 ? rlx_poly_scale(q, d, -1) : d, (int64_t)g);
    if (!d)
        return NULL;
    if (c.kind == CONDITION_NOT_NEGATIVE && is_what_is_asked(q, d, c.p))
        return rlx_poly_scale(q, rlx_make_max(q, d, zero), k);
    if (c.kind == CONDITION_ZERO && rlx_poly_equal(d, c.p))
        return zero;
    ops[0] = d;
    enum atom_kind kind = c.kind == CONDITION_ZERO ? ATOM_SELECT_ZERO : ATOM_SELECT;
    size_t count = c.kind == CONDITION_NODE ? 2 : 3;
    return rlx_poly_scale(q, rlx_poly_atom(q, rlx_atom_intern(q, kind, c.node, ops, count)), k);
}

const rlx_poly *rlx_make_select(rlx_query *q, rlx_condition c, const rlx_poly *t,
                                const rlx_poly *f)
{
    bool inverted;
    if (!t || !f || (c.kind != CONDITION_NODE && !c.p))
        return NULL;
    if (rlx_poly_equal(t, f))
        return t;
    enum rlx_truth truth = rlx_condition_truth(q, c);
    if (truth != RLX_MAYBE)
        return truth == RLX_TRUE ? t : f;
    if (!normalise(q, &c, &inverted))
        return NULL;
    const rlx_poly *rest = inverted ? t : f;
    const rlx_poly *d = rlx_poly_combine(q, inverted ? f : t, 1, rest, -1);
    return d ? rlx_poly_combine(q, rest, 1, chosen_or_zero(q, c, d), 1) : NULL;
}

/* a < b is b - a - 1 >= 0, and so on. `negated`: the condition is the other way round. */
rlx_condition rlx_condition_of(rlx_query *q, enum rlx_node_kind kind, const rlx_poly *a,
                               const rlx_poly *b, bool *negated)
{
    bool less = kind == RLX_NODE_LT || kind == RLX_NODE_LE,
         strict = kind == RLX_NODE_LT || kind == RLX_NODE_GT,
         equal = kind == RLX_NODE_EQ || kind == RLX_NODE_NE;
    *negated = kind == RLX_NODE_NE;
    rlx_condition c = { equal ? CONDITION_ZERO : CONDITION_NOT_NEGATIVE, NULL, NULL };
    c.p = rlx_poly_combine(q, a, less ? -1 : 1, b, less ? 1 : -1);
    if (strict)
        c.p = rlx_poly_combine(q, c.p, 1, rlx_poly_const(q, 1), -1);
    return c;
}
