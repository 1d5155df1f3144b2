/* prove.c: equal, different, true, false, or unknown, by the canonical form of a difference. */
#include "arith/arith_int.h"

/* --- equality --- */

static bool is_var(const rlx_prim *p)
{
    return p->kind == RLX_NODE_PRIM_VAR;
}

static bool is_integer(const rlx_prim *p)
{
    rlx_dtype t = rlx_prim_dtype(p);
    return rlx_dtype_is_int(t) && rlx_dtype_lanes(t) == 1;
}

/* A literal from 2^63 on: the forms of the prover have no such number. */
static bool is_large(const rlx_prim *p)
{
    int64_t v;
    return rlx_int_literal(p, &v) && rlx_dtype_is_large(rlx_prim_dtype(p), v);
}

static rlx_i128 number_of(const rlx_prim *p, int64_t v)
{
    return rlx_dtype_is_large(rlx_prim_dtype(p), v) ? (rlx_i128)(uint64_t)v : (rlx_i128)v;
}

/* Literals and variables need no canonical form. False: they are not that simple. */
static bool equal_leaves(const rlx_scope *s, const rlx_prim *a, const rlx_prim *b,
                         enum rlx_answer *out)
{
    int64_t va = 0, vb = 0, low, high, low2, high2;
    bool la = rlx_int_literal(a, &va), lb = rlx_int_literal(b, &vb);
    *out = RLX_UNKNOWN;
    if (la && lb) {
        *out = number_of(a, va) == number_of(b, vb) ? RLX_EQUAL : RLX_DIFFERENT;
        return true;
    }
    if (is_large(a) || is_large(b))
        return true;
    if ((!la && !is_var(a)) || (!lb && !is_var(b)))
        return false;
    low = high = va;
    low2 = high2 = vb;
    if (!la)
        rlx_scope_fact(s, (const rlx_prim_var *)a, &low, &high);
    if (!lb)
        rlx_scope_fact(s, (const rlx_prim_var *)b, &low2, &high2);
    if (low > high2 || low2 > high)
        *out = RLX_DIFFERENT;
    else if (low == high && low2 == high2)
        *out = RLX_EQUAL; /* both ends meet: each has one value, and they overlap */
    return true;
}

/* Can a fail by dividing by zero where b cannot? */
static bool fails_alone(rlx_query *q, const rlx_canon *a, const rlx_canon *b)
{
    for (size_t i = 0; i < a->num_divisors; i++)
        if (!rlx_canon_divides_by(b, a->divisors[i]) && rlx_poly_min(q, a->divisors[i]) < 1 &&
            rlx_poly_max(q, a->divisors[i]) > -1)
            return true;
    return false;
}

/* Does d vanish, or never vanish? */
static enum rlx_answer judge(rlx_query *q, const rlx_poly *d)
{
    int64_t value;
    if (!d)
        return RLX_UNKNOWN;
    if (rlx_poly_is_const(d, &value))
        return value ? RLX_DIFFERENT : RLX_EQUAL;
    uint64_t g = rlx_poly_content(d, true);
    int64_t constant = rlx_poly_constant_part(d);
    uint64_t size = constant < 0 ? 0 - (uint64_t)constant : (uint64_t)constant;
    if (g > 1 && size % g)
        return RLX_DIFFERENT; /* all but the constant is a multiple of g */
    int64_t low = rlx_poly_min(q, d), high = rlx_poly_max(q, d);
    if (low > 0 || high < 0)
        return RLX_DIFFERENT;
    return low == 0 && high == 0 ? RLX_EQUAL : RLX_UNKNOWN;
}

static enum rlx_answer compare_forms(rlx_query *q, const rlx_canon *a, const rlx_canon *b)
{
    rlx_query_budget(q, QUERY_STEPS);
    const rlx_poly *d = rlx_poly_combine(q, a->poly, 1, b->poly, -1);
    enum rlx_answer answer = judge(q, d);
    if (answer == RLX_UNKNOWN && d && d->depth)
        answer = judge(q, rlx_resolve(q, d));
    if (answer == RLX_UNKNOWN && d && rlx_scope_has_equals(q->scope)) {
        q->substitute = true;
        answer = judge(q, rlx_resolve(q, d));
    }
    if (answer == RLX_UNKNOWN && q->saw_rest) {
        q->expand_rest = true;
        answer = judge(q, rlx_resolve(q, d));
    }
    if (answer == RLX_EQUAL && (fails_alone(q, a, b) || fails_alone(q, b, a)))
        answer = RLX_UNKNOWN;
    return q->failed ? RLX_UNKNOWN : answer;
}

/* Floats and truth values are only compared as they stand. */
static enum rlx_answer equal_others(const rlx_prim *a, const rlx_prim *b)
{
    const rlx_float_imm *fa = rlx_as_float_imm(a), *fb = rlx_as_float_imm(b);
    if (fa && fb && (fa->value < fb->value || fa->value > fb->value))
        return RLX_DIFFERENT;
    const rlx_int_imm *ia = rlx_as_int_imm(a), *ib = rlx_as_int_imm(b);
    if (ia && ib)
        return ia->value == ib->value ? RLX_EQUAL : RLX_DIFFERENT;
    return RLX_UNKNOWN;
}

enum rlx_answer rlx_prove_equal(rlx_context *ctx, const rlx_scope *s, const rlx_prim *a,
                                const rlx_prim *b)
{
    enum rlx_answer answer;
    if (RLX_LIKELY(a == b))
        return RLX_EQUAL;
    if (!a || !b)
        return RLX_UNKNOWN;
    if (!is_integer(a) || !is_integer(b))
        return equal_others(a, b);
    if (equal_leaves(s, a, b, &answer) && (answer != RLX_UNKNOWN || !rlx_scope_has_equals(s)))
        return answer;
    rlx_query q;
    if (!rlx_query_begin(&q, ctx, s))
        return RLX_UNKNOWN;
    const rlx_canon *ca = rlx_canonical(&q, a), *cb = ca ? rlx_canonical(&q, b) : NULL;
    answer = cb ? compare_forms(&q, ca, cb) : RLX_UNKNOWN;
    rlx_query_end(&q);
    return answer;
}

enum rlx_answer rlx_prove_equal_list(rlx_context *ctx, const rlx_scope *s,
                                     const rlx_prim *const *a, size_t na, const rlx_prim *const *b,
                                     size_t nb)
{
    enum rlx_answer all = RLX_EQUAL;
    if (na != nb)
        return RLX_DIFFERENT;
    for (size_t i = 0; i < na && all != RLX_DIFFERENT; i++) {
        enum rlx_answer one = rlx_prove_equal(ctx, s, a[i], b[i]);
        if (one != RLX_EQUAL)
            all = one; /* different beats unknown, and ends the loop */
    }
    return all;
}

/* --- comparisons --- */

static enum rlx_truth not_truth(enum rlx_truth t)
{
    return t == RLX_TRUE ? RLX_FALSE : t == RLX_FALSE ? RLX_TRUE : RLX_MAYBE;
}

/* d >= 0 ? */
static enum rlx_truth non_negative(rlx_query *q, const rlx_poly *d)
{
    if (!d)
        return RLX_MAYBE;
    if (rlx_poly_min(q, d) >= 0)
        return RLX_TRUE;
    return rlx_poly_max(q, d) < 0 ? RLX_FALSE : RLX_MAYBE;
}

/* a - b >= margin ? */
static enum rlx_truth at_least(rlx_context *ctx, const rlx_scope *s, const rlx_prim *a,
                               const rlx_prim *b, int64_t margin)
{
    rlx_query q;
    enum rlx_truth truth = RLX_MAYBE;
    int64_t va, vb;
    if (rlx_int_literal(a, &va) && rlx_int_literal(b, &vb))
        return number_of(a, va) - number_of(b, vb) >= margin ? RLX_TRUE : RLX_FALSE;
    if (!rlx_query_begin(&q, ctx, s))
        return RLX_MAYBE;
    const rlx_canon *ca = rlx_canonical(&q, a), *cb = ca ? rlx_canonical(&q, b) : NULL;
    if (cb) {
        rlx_query_budget(&q, QUERY_STEPS);
        const rlx_poly *d = rlx_poly_combine(&q, ca->poly, 1, cb->poly, -1);
        d = rlx_poly_combine(&q, d, 1, rlx_poly_const(&q, margin), -1);
        truth = non_negative(&q, d);
        if (truth == RLX_MAYBE && d && d->depth)
            truth = non_negative(&q, rlx_resolve(&q, d));
        if (truth == RLX_MAYBE && d && rlx_scope_has_equals(s)) {
            q.substitute = true;
            truth = non_negative(&q, rlx_resolve(&q, d));
        }
    }
    truth = q.failed ? RLX_MAYBE : truth;
    rlx_query_end(&q);
    return truth;
}

enum rlx_truth rlx_prove_compare(rlx_context *ctx, const rlx_scope *s, enum rlx_node_kind kind,
                                 const rlx_prim *a, const rlx_prim *b)
{
    if (!a || !b)
        return RLX_MAYBE;
    if (kind == RLX_NODE_EQ || kind == RLX_NODE_NE) {
        if (a == b && rlx_dtype_is_float(rlx_prim_dtype(a)))
            return RLX_MAYBE; /* not a number is not itself */
        enum rlx_answer e = rlx_prove_equal(ctx, s, a, b);
        enum rlx_truth t = e == RLX_EQUAL ? RLX_TRUE : e == RLX_DIFFERENT ? RLX_FALSE : RLX_MAYBE;
        return kind == RLX_NODE_EQ ? t : not_truth(t);
    }
    if (!is_integer(a) || !is_integer(b))
        return RLX_MAYBE;
    switch (kind) {
    case RLX_NODE_GE: return at_least(ctx, s, a, b, 0);
    case RLX_NODE_GT: return at_least(ctx, s, a, b, 1);
    case RLX_NODE_LE: return at_least(ctx, s, b, a, 0);
    case RLX_NODE_LT: return at_least(ctx, s, b, a, 1);
    default: return RLX_MAYBE;
    }
}

/* --- conditions: and, or, not over comparisons, on a stack of our own --- */

/* `next`: operands still to come; `truth`: of those seen. */
typedef struct frame { const rlx_prim *p; uint8_t next, truth; } frame;

static enum rlx_truth and_truth(enum rlx_truth a, enum rlx_truth b)
{
    if (a == RLX_FALSE || b == RLX_FALSE)
        return RLX_FALSE;
    return a == RLX_TRUE && b == RLX_TRUE ? RLX_TRUE : RLX_MAYBE;
}

static enum rlx_truth combine_truth(const rlx_prim *p, enum rlx_truth a, enum rlx_truth b)
{
    if (p->kind == RLX_NODE_NOT)
        return not_truth(b);
    return p->kind == RLX_NODE_AND ? and_truth(a, b)
                                   : not_truth(and_truth(not_truth(a), not_truth(b)));
}

static enum rlx_truth leaf_truth(rlx_context *ctx, const rlx_scope *s, const rlx_prim *p)
{
    const rlx_binary *b = rlx_as_binary(p);
    int64_t value;
    if (rlx_int_literal(p, &value))
        return value ? RLX_TRUE : RLX_FALSE;
    return b ? rlx_prove_compare(ctx, s, p->kind, b->a, b->b) : RLX_MAYBE;
}

static const rlx_prim *operand_of(const rlx_prim *p, int i)
{
    const rlx_binary *b = rlx_as_binary(p);
    if (p->kind == RLX_NODE_NOT)
        return i == 0 ? rlx_as_unary(p)->a : NULL;
    return i == 0 ? b->a : i == 1 ? b->b : NULL;
}

static bool is_logical(const rlx_prim *p)
{
    return p->kind == RLX_NODE_AND || p->kind == RLX_NODE_OR || p->kind == RLX_NODE_NOT;
}

#define MAX_CONDITION 10000 /* operands of and, or, not in one condition */

enum rlx_truth rlx_prove(rlx_context *ctx, const rlx_scope *s, const rlx_prim *condition)
{
    RLX_VEC(frame) stack = { 0 };
    rlx_memory *m = &ctx->memory;
    const rlx_prim *p = condition;
    enum rlx_truth truth = RLX_MAYBE;
    for (size_t seen = 0; p && seen < MAX_CONDITION; seen++) {
        if (is_logical(p)) {
            frame f = { p, 1, p->kind == RLX_NODE_OR ? RLX_FALSE : RLX_TRUE };
            if (!rlx_vec_push(m, &stack, f)) {
                break;
            }
            p = operand_of(p, 0);
            continue;
        }
        truth = leaf_truth(ctx, s, p);
        for (p = NULL; stack.len && !p;) {
            frame *f = &rlx_vec_last(&stack);
            truth = f->truth = (uint8_t)combine_truth(f->p, f->truth, truth);
            p = operand_of(f->p, f->next++);
            if (!p)
                (void)rlx_vec_pop(&stack);
        }
        if (!p) {
            rlx_vec_free(m, &stack);
            return truth;
        }
    }
    rlx_vec_free(m, &stack);
    return RLX_MAYBE;
}

/* --- other questions --- */

static void narrow(rlx_query *q, const rlx_poly *p, int64_t *low, int64_t *high)
{
    q->too_big = false;
    if (!p)
        return;
    int64_t l = rlx_poly_min(q, p), h = rlx_poly_max(q, p);
    *low = l > *low ? l : *low;
    *high = h < *high ? h : *high;
}

/* Bounds without a scope are asked for again and again while a kernel is written. */
static void keep_bounds(rlx_query *q, rlx_canon *c, int64_t low, int64_t high)
{
    int64_t *kept = rlx_region_alloc(&q->a->keep, 2 * sizeof *kept);
    if (!kept) {
        rlx_query_fail(q);
        return;
    }
    kept[0] = low;
    kept[1] = high;
    c->bounds = kept;
}

void rlx_bounds(rlx_context *ctx, const rlx_scope *s, const rlx_prim *p, int64_t *low,
                int64_t *high)
{
    rlx_query q;
    *low = INT64_MIN;
    *high = INT64_MAX;
    if (!p || is_large(p) || (rlx_int_literal(p, low) && rlx_int_literal(p, high)))
        return;
    if (!is_integer(p) || !rlx_query_begin(&q, ctx, s))
        return;
    const rlx_canon *c = rlx_canonical(&q, p);
    if (c && !s && c->bounds) {
        *low = c->bounds[0];
        *high = c->bounds[1];
    } else if (c) {
        rlx_query_budget(&q, QUERY_STEPS);
        narrow(&q, rlx_resolve(&q, c->poly), low, high);
        narrow(&q, c->poly, low, high);
        if ((q.substitute = rlx_scope_has_equals(s)))
            narrow(&q, rlx_resolve(&q, c->poly), low, high);
        if (!s && !q.failed)
            keep_bounds(&q, (rlx_canon *)(uintptr_t)c, *low, *high);
    }
    if (q.failed) {
        *low = INT64_MIN;
        *high = INT64_MAX;
    }
    rlx_query_end(&q);
}
