/* canonical.c: from nodes to canonical forms. Sums (add, subtract, multiply by a literal, widening
 * casts) are flattened in one go, with the multiplicity of every shared node, so that a sum of
 * thousands of terms costs a sort; every other node is computed once and remembered. No recursion:
 * a node that needs others not yet known waits on a stack. */
#include "arith/arith_int.h"

#include <string.h>

/* --- flattening of sums --- */

typedef struct sum_node { const rlx_prim *node; int64_t coef; } sum_node;
typedef struct sum {
    rlx_query *q;
    RLX_VEC(sum_node) order;            /* children before parents */
    RLX_VEC(struct visit { const rlx_prim *node; bool left; }) stack;
    rlx_ptrmap index;                   /* node -> position in order + 1; 0 while it waits */
    RLX_VEC(rlx_term) terms;
    RLX_VEC(const rlx_canon *) divisors; /* of the parts */
    uint64_t cost, effort;
} sum;

/* The nodes still to be computed, deepest last; shared by all sums of a query. */
typedef RLX_VEC(const rlx_prim *) worklist;

static bool is_signed(const rlx_prim *p)
{
    rlx_dtype t = rlx_prim_dtype(p);
    return rlx_dtype_code(t) == RELAX_DTYPE_INT && rlx_dtype_lanes(t) == 1;
}

/* An integer type whose every value the wider signed type has. */
static bool widens(rlx_dtype from, rlx_dtype to)
{
    int have = rlx_dtype_bits(from), want = rlx_dtype_bits(to);
    if (rlx_dtype_code(to) != RELAX_DTYPE_INT || rlx_dtype_lanes(from) != 1 ||
        rlx_dtype_lanes(to) != 1)
        return false;
    return rlx_dtype_code(from) == RELAX_DTYPE_INT
               ? have <= want
               : rlx_dtype_code(from) == RELAX_DTYPE_UINT && have < want;
}

/* A linear node is factor[0] * child[0] + factor[1] * child[1]; 0: it is not linear. */
static int linear_parts(const rlx_prim *p, const rlx_prim *child[2], int64_t factor[2])
{
    const rlx_binary *b = rlx_as_binary(p);
    factor[0] = 1;
    factor[1] = p->kind == RLX_NODE_SUB ? -1 : 1;
    switch (p->kind) {
    case RLX_NODE_ADD:
    case RLX_NODE_SUB:
        child[0] = b->a, child[1] = b->b;
        return is_signed(p) ? 2 : 0;
    case RLX_NODE_MUL:
        child[0] = rlx_is(b->b, RLX_NODE_INT_IMM) ? b->a : b->b;
        return is_signed(p) && rlx_int_literal(child[0] == b->a ? b->b : b->a, &factor[0]) ? 1 : 0;
    case RLX_NODE_CAST:
        child[0] = ((const rlx_unary *)p)->a;
        return widens(rlx_prim_dtype(child[0]), rlx_prim_dtype(p)) ? 1 : 0;
    case RLX_NODE_PRIM_CALL: {
        const rlx_prim_call *c = rlx_as_prim_call(p);
        child[0] = c->num_args ? c->args[0] : NULL;
        return c->op && c->num_args == 1 && rlx_slice_is(rlx_string_slice(c->op), "likely") &&
                       is_signed(p)
                   ? 1
                   : 0;
    }
    default:
        return 0;
    }
}

/* Post-order over the linear nodes below root. */
static bool order_nodes(sum *s, const rlx_prim *root)
{
    rlx_memory *m = &s->q->a->ctx->memory;
    if (!rlx_vec_push(m, &s->stack, ((struct visit){ root, false })))
        return false;
    while (s->stack.len) {
        struct visit v = rlx_vec_pop(&s->stack);
        const rlx_prim *child[2];
        int64_t factor[2];
        if (v.left) {
            if (!rlx_vec_push(m, &s->order, ((sum_node){ v.node, 0 })) ||
                !rlx_ptrmap_put(&s->index, v.node, s->order.len))
                return false;
            continue;
        }
        if (rlx_ptrmap_has(&s->index, v.node))
            continue;
        if (!rlx_query_step(s->q, 1))
            return true; /* spent: seen by the caller */
        if (!rlx_ptrmap_put(&s->index, v.node, 0) ||
            !rlx_vec_push(m, &s->stack, ((struct visit){ v.node, true })))
            return false;
        for (int i = linear_parts(v.node, child, factor); i--;)
            if (!rlx_vec_push(m, &s->stack, ((struct visit){ child[i], false })))
                return false;
    }
    return true;
}

static rlx_canon *memo_of(rlx_query *q, const rlx_prim *p)
{
    return q->a->memo.len ? rlx_ptrmap_get(&q->a->memo, p) : NULL;
}

/* coef times what a node that is not linear stands for. */
static bool add_leaf(sum *s, const rlx_prim *p, int64_t coef, worklist *need)
{
    rlx_memory *m = &s->q->a->ctx->memory;
    int64_t value;
    if (rlx_int_literal(p, &value)) {
        if (rlx_dtype_is_large(rlx_prim_dtype(p), value) || !rlx_mul_i64(value, coef, &value))
            return rlx_query_too_big(s->q) != NULL;
        return rlx_vec_push(m, &s->terms, ((rlx_term){ value, s->q->a->one })) ||
               rlx_query_fail(s->q);
    }
    if (p->kind == RLX_NODE_PRIM_VAR) {
        const rlx_poly *v = rlx_poly_atom(s->q, rlx_atom_intern(s->q, ATOM_VAR, p, NULL, 0));
        return v && (rlx_vec_push(m, &s->terms, ((rlx_term){ coef, v->terms[0].mono })) ||
                     rlx_query_fail(s->q));
    }
    const rlx_canon *known = memo_of(s->q, p);
    if (!known)
        return rlx_vec_push(m, need, p) || rlx_query_fail(s->q);
    s->cost += known->cost;
    s->effort += known->effort;
    if (known->num_divisors && !rlx_vec_push(m, &s->divisors, known))
        return rlx_query_fail(s->q);
    if (!rlx_vec_reserve(m, &s->terms, s->terms.len + known->poly->len))
        return rlx_query_fail(s->q);
    for (size_t i = 0; i < known->poly->len; i++) {
        rlx_term t = known->poly->terms[i];
        if (!rlx_mul_i64(t.coef, coef, &t.coef))
            return rlx_query_too_big(s->q) != NULL;
        s->terms.data[s->terms.len++] = t;
    }
    return rlx_query_step(s->q, known->poly->len);
}

/* Passes the multiplicity of every node on to its parts, parents first. */
static bool spread(sum *s, worklist *need)
{
    rlx_vec_last(&s->order).coef = 1;
    for (size_t i = s->order.len; i--;) {
        sum_node n = s->order.data[i];
        const rlx_prim *child[2];
        int64_t factor[2], add;
        int parts = linear_parts(n.node, child, factor);
        if (!parts && !add_leaf(s, n.node, n.coef, need))
            return false;
        for (int k = 0; k < parts; k++) {
            uintptr_t at = 0;
            rlx_ptrmap_find(&s->index, child[k], &at);
            int64_t *coef = &s->order.data[at - 1].coef;
            if (!rlx_mul_i64(n.coef, factor[k], &add) || !rlx_add_i64(*coef, add, coef))
                return rlx_query_too_big(s->q) != NULL;
        }
    }
    return true;
}

static void sum_free(sum *s)
{
    rlx_memory *m = &s->q->a->ctx->memory;
    rlx_vec_free(m, &s->order);
    rlx_vec_free(m, &s->stack);
    rlx_vec_free(m, &s->terms);
    rlx_vec_free(m, &s->divisors);
    rlx_ptrmap_free(&s->index);
}

/* --- divisors --- */

typedef struct divisor_set { const rlx_poly *items[MAX_DIVISORS]; size_t count; } divisor_set;

/* Is zero where p is: common factors and the sign go. */
static bool add_divisor(rlx_query *q, divisor_set *set, const rlx_poly *p)
{
    uint64_t g = p ? rlx_poly_content(p, false) : 0;
    if (p && g && g <= INT64_MAX)
        p = rlx_poly_floor_coefs(q, rlx_poly_leads_negative(q, p) ? rlx_poly_scale(q, p, -1) : p,
                                 (int64_t)g);
    if (!p)
        return false;
    uint64_t hash = rlx_poly_hash(p);
    size_t at = set->count;
    for (size_t i = 0; i < set->count; i++)
        if (rlx_poly_equal(set->items[i], p))
            return true;
    if (set->count == MAX_DIVISORS)
        return false;
    for (; at && rlx_poly_hash(set->items[at - 1]) > hash; at--)
        set->items[at] = set->items[at - 1];
    set->items[at] = p;
    set->count++;
    return true;
}

static bool add_divisors(rlx_query *q, divisor_set *set, const rlx_canon *c)
{
    for (size_t i = 0; i < c->num_divisors; i++)
        if (!add_divisor(q, set, c->divisors[i]))
            return false;
    return true;
}

/* --- one node --- */

/* Working form of rlx_canon. */
typedef struct part {
    const rlx_poly *poly;
    uint64_t cost, effort;
    divisor_set divisors;
} part;

/* The canonical form of p as the sum it is. False: p waits for the nodes now in `need`, or the
 * query failed. */
static bool sum_of(rlx_query *q, const rlx_prim *p, worklist *need, part *out)
{
    size_t before = need->len;
    sum s = { .q = q };
    rlx_ptrmap_init(&s.index, &q->a->ctx->memory);
    bool ok = order_nodes(&s, p) || rlx_query_fail(q);
    ok = ok && !q->failed && !q->spent && spread(&s, need);
    if (ok && need->len == before) {
        rlx_term *terms = rlx_query_new(q, (s.terms.len + 1) * sizeof *terms);
        if (terms && s.terms.len)
            memcpy(terms, s.terms.data, s.terms.len * sizeof *terms);
        out->poly = terms ? rlx_poly_of_terms(q, terms, s.terms.len) : NULL;
        out->cost += s.cost + s.order.len + s.terms.len;
        out->effort += s.effort + s.order.len + s.terms.len;
        for (size_t i = 0; i < s.divisors.len; i++)
            if (!add_divisors(q, &out->divisors, s.divisors.data[i]))
                rlx_query_too_big(q);
    }
    sum_free(&s);
    return !q->failed && need->len == before;
}

/* What the node is made of, as far as the canonical form looks into it. */
static size_t operands(const rlx_prim *p, const rlx_prim *out[4])
{
    const rlx_binary *b = rlx_as_binary(p), *compare = NULL;
    const rlx_select *s = rlx_as_select(p);
    const rlx_prim_call *c = rlx_as_prim_call(p);
    if (!is_signed(p))
        return 0;
    if (b && p->kind <= RLX_NODE_MAX) {
        out[0] = b->a, out[1] = b->b;
        return 2;
    }
    if (s) {
        out[0] = s->true_value, out[1] = s->false_value;
        compare = rlx_as_binary(s->cond);
    } else if (c && c->op && c->num_args == 3 &&
               rlx_slice_is(rlx_string_slice(c->op), "if_then_else")) {
        out[0] = c->args[1], out[1] = c->args[2];
        compare = rlx_as_binary(c->args[0]);
    } else {
        return 0;
    }
    if (!compare || !is_signed(compare->a) || !is_signed(compare->b))
        return 2;
    out[2] = compare->a, out[3] = compare->b;
    return 4;
}

static const rlx_prim *condition_of(const rlx_prim *p)
{
    const rlx_select *s = rlx_as_select(p);
    return s ? s->cond : rlx_as_prim_call(p)->args[0];
}

/* in: what is chosen from, and what the condition compares, if it compares integers. The
 * condition, the two in its order. */
static rlx_condition choice(rlx_query *q, const rlx_prim *p, const part *in, size_t count,
                            const part *arms[2])
{
    const rlx_prim *cond = condition_of(p);
    rlx_condition c = { CONDITION_NODE, NULL, cond };
    int64_t value = 1;
    bool negated = false;
    if (count == 4)
        c = rlx_condition_of(q, cond->kind, in[2].poly, in[3].poly, &negated);
    else if (rlx_int_literal(cond, &value))
        c = (rlx_condition){ CONDITION_ZERO, rlx_poly_const(q, !value), NULL };
    arms[0] = &in[negated];
    arms[1] = &in[!negated];
    return c;
}

static bool chooses(const rlx_prim *p)
{
    return p->kind == RLX_NODE_SELECT || p->kind == RLX_NODE_PRIM_CALL;
}

static const rlx_poly *combine(rlx_query *q, const rlx_prim *p, const part *in, size_t count)
{
    const rlx_poly *a = in[0].poly, *b = in[1].poly, *both[] = { a, b };
    const part *arms[2];
    switch (p->kind) {
    case RLX_NODE_ADD: return rlx_poly_combine(q, a, 1, b, 1);
    case RLX_NODE_SUB: return rlx_poly_combine(q, a, 1, b, -1);
    case RLX_NODE_MUL: return rlx_poly_mul(q, a, b);
    case RLX_NODE_FLOOR_DIV: return rlx_make_floor_div(q, a, b);
    case RLX_NODE_FLOOR_MOD: return rlx_make_floor_mod(q, a, b);
    case RLX_NODE_DIV: return rlx_make_trunc_div(q, a, b);
    case RLX_NODE_MOD: return rlx_make_trunc_mod(q, a, b);
    case RLX_NODE_MIN: return a && b ? rlx_make_min(q, both, 2) : NULL;
    case RLX_NODE_MAX: return a && b ? rlx_make_max(q, a, b) : NULL;
    default: {
        rlx_condition c = choice(q, p, in, count, arms);
        return rlx_make_select(q, c, arms[0]->poly, arms[1]->poly);
    }
    }
}

static bool divides(const rlx_prim *p)
{
    return p->kind == RLX_NODE_FLOOR_DIV || p->kind == RLX_NODE_FLOOR_MOD ||
           p->kind == RLX_NODE_DIV || p->kind == RLX_NODE_MOD;
}

/* --- where it fails --- */

/* An arm fails where it is chosen: elsewhere its divisors are 1. */
static bool add_arm(rlx_query *q, divisor_set *set, rlx_condition c, const part *arm, bool first)
{
    const rlx_poly *one = rlx_poly_const(q, 1);
    for (size_t i = 0; i < arm->divisors.count; i++) {
        const rlx_poly *d = arm->divisors.items[i];
        if (!add_divisor(q, set, rlx_make_select(q, c, first ? d : one, first ? one : d)))
            return false;
    }
    return one != NULL;
}

static bool add_part(rlx_query *q, divisor_set *set, const part *p)
{
    for (size_t i = 0; i < p->divisors.count; i++)
        if (!add_divisor(q, set, p->divisors.items[i]))
            return false;
    return true;
}

#define MAX_LOOKED_AT 64

/* May the evaluation of p fail otherwise than by overflow? Calls and casts count as if. Looks
 * at few nodes: `true` is always right. */
static bool may_fail(const rlx_prim *root)
{
    const rlx_prim *stack[MAX_LOOKED_AT] = { root };
    size_t len = 1, seen = 0;
    while (len) {
        const rlx_prim *p = stack[--len];
        int64_t value;
        if (p->kind == RLX_NODE_PRIM_CALL || p->kind == RLX_NODE_CAST ||
            (divides(p) && !(rlx_int_literal(rlx_as_binary(p)->b, &value) && value)))
            return true;
        for (size_t i = 0, n = rlx_child_count(p); i < n; i++) {
            if (len == MAX_LOOKED_AT || ++seen > MAX_LOOKED_AT)
                return true;
            if (rlx_child(p, i))
                stack[len++] = rlx_child(p, i);
        }
    }
    return false;
}

static const rlx_poly *opaque(rlx_query *q, const rlx_node *p)
{
    return rlx_poly_atom(q, rlx_atom_intern(q, ATOM_OPAQUE, p, NULL, 0));
}

static bool collect_divisors(rlx_query *q, const rlx_prim *p, const part *in, size_t count,
                             divisor_set *set)
{
    const part *arms[2];
    int64_t value;
    if (!chooses(p)) {
        if (divides(p) && !(rlx_poly_is_const(in[1].poly, &value) && value) &&
            !add_divisor(q, set, in[1].poly))
            return false;
        return add_part(q, set, &in[0]) && add_part(q, set, &in[1]);
    }
    rlx_condition c = choice(q, p, in, count, arms);
    if (c.kind == CONDITION_NODE && may_fail(c.node) && !add_divisor(q, set, opaque(q, c.node)))
        return false;
    if (count == 4 && (!add_part(q, set, &in[2]) || !add_part(q, set, &in[3])))
        return false;
    return add_arm(q, set, c, arms[0], true) && add_arm(q, set, c, arms[1], false);
}

/* --- one node --- */

/* False: p waits, or the query failed. Limits of size make p opaque. */
static bool compute_from_parts(rlx_query *q, const rlx_prim *p, const rlx_prim *const *ops,
                               size_t count, worklist *need, part *out)
{
    part in[4];
    size_t before = need->len;
    for (size_t i = 0; i < count; i++) {
        memset(&in[i], 0, sizeof in[i]);
        sum_of(q, ops[i], need, &in[i]);
    }
    if (q->failed || need->len != before)
        return false;
    uint32_t steps = q->steps;
    out->poly = q->too_big ? NULL : combine(q, p, in, count);
    out->cost = out->effort = steps - q->steps;
    for (size_t i = 0; i < count; i++) {
        out->cost += in[i].cost;
        out->effort += in[i].effort;
    }
    if (out->poly && !collect_divisors(q, p, in, count, &out->divisors))
        rlx_query_too_big(q);
    return !q->failed;
}

static bool compute(rlx_query *q, const rlx_prim *p, bool as_sum, worklist *need, part *out)
{
    const rlx_prim *ops[4];
    size_t count = operands(p, ops);
    memset(out, 0, sizeof *out);
    rlx_query_budget(q, NODE_STEPS);
    if (as_sum ? !sum_of(q, p, need, out)
               : count && !compute_from_parts(q, p, ops, count, need, out))
        return false;
    if (q->failed)
        return false;
    if (!out->poly || q->too_big || q->spent || out->cost > MAX_COST) {
        rlx_query_budget(q, NODE_STEPS);
        *out = (part){ .effort = out->effort };
        out->poly = opaque(q, p);
        if (out->poly && may_fail(p))
            out->divisors = (divisor_set){ { out->poly }, 1 };
    }
    return out->poly != NULL;
}

static const rlx_canon *remember(rlx_query *q, const rlx_prim *p, const part *from)
{
    rlx_canon *c = rlx_region_zero(&q->a->keep, sizeof *c);
    const rlx_poly **divisors =
        c ? rlx_region_alloc(&q->a->keep, from->divisors.count * sizeof *divisors) : NULL;
    const rlx_poly *poly = divisors ? rlx_poly_keep(q, from->poly) : NULL;
    if (!poly)
        return rlx_query_fail(q);
    for (size_t i = 0; i < from->divisors.count; i++)
        if (!(divisors[i] = rlx_poly_keep(q, from->divisors.items[i])))
            return NULL;
    *c = (rlx_canon){ .poly = poly,
                      .cost = (uint32_t)from->cost + 1,
                      .effort = from->effort < UINT32_MAX ? (uint32_t)from->effort : UINT32_MAX,
                      .num_divisors = (uint32_t)from->divisors.count,
                      .divisors = divisors };
    return rlx_ptrmap_put(&q->a->memo, p, (uintptr_t)c) ? c : rlx_query_fail(q);
}

const rlx_canon *rlx_canonical(rlx_query *q, const rlx_prim *root)
{
    const rlx_canon *c = memo_of(q, root);
    worklist stack = { 0 };
    rlx_memory *m = &q->a->ctx->memory;
    if (!c && !rlx_vec_push(m, &stack, root))
        return rlx_query_fail(q);
    while (stack.len && !q->failed) {
        const rlx_prim *p = rlx_vec_last(&stack), *child[2];
        int64_t factor[2];
        part made;
        if ((c = memo_of(q, p))) {
            (void)rlx_vec_pop(&stack);
            continue;
        }
        bool as_sum = linear_parts(p, child, factor) || p->kind == RLX_NODE_PRIM_VAR ||
                      p->kind == RLX_NODE_INT_IMM;
        if (!compute(q, p, as_sum, &stack, &made)) {
            c = NULL;
            continue; /* what it needs lies above it now */
        }
        c = remember(q, p, &made);
    }
    rlx_vec_free(m, &stack);
    rlx_canon *form = q->failed ? NULL : memo_of(q, root);
    if (form)
        rlx_form_asked(q, root, form);
    return q->failed ? NULL : form;
}

bool rlx_canon_divides_by(const rlx_canon *c, const rlx_poly *divisor)
{
    for (size_t i = 0; i < c->num_divisors; i++)
        if (rlx_poly_equal(c->divisors[i], divisor))
            return true;
    return false;
}
