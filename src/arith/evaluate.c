/* evaluate.c: evaluation for given values, in int64 without wrapping. One stack of nodes under
 * work, one memo, so that shared nodes are computed once; only the chosen arm of a select, and of
 * and / or as much as is needed, is looked at. */
/* built for size */
#include "arith/arith_int.h"

typedef struct evaluator {
    rlx_memory *memory;
    const rlx_assignment *values;
    RLX_VEC(const rlx_prim *) stack;
    rlx_ptrmap known; /* node -> value */
    enum rlx_evaluation why; /* there is none */
} evaluator;

static bool no_value(evaluator *e, enum rlx_evaluation why)
{
    e->why = why;
    return false;
}

/* Of the operator whose second operand is b. */
static bool fails(evaluator *e, enum rlx_node_kind kind, int64_t b)
{
    bool divides = kind == RLX_NODE_DIV || kind == RLX_NODE_MOD || kind == RLX_NODE_FLOOR_DIV ||
                   kind == RLX_NODE_FLOOR_MOD;
    return no_value(e, divides && !b ? RLX_EVAL_ZERO_DIVISOR : RLX_EVAL_OVERFLOW);
}

static bool shift_left(int64_t a, int64_t b, int64_t *out)
{
    return b >= 0 && b < 63 && rlx_mul_i64(a, (int64_t)1 << b, out);
}

/* A quotient fits unless it is INT64_MIN / -1. */
static bool divide(enum rlx_node_kind kind, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    switch (kind) {
    case RLX_NODE_DIV: *out = a / b; return true;
    case RLX_NODE_MOD: *out = a % b; return true;
    case RLX_NODE_FLOOR_DIV: *out = rlx_floor_div_i64(a, b); return true;
    default: *out = rlx_floor_mod_i64(a, b); return true;
    }
}

static bool apply(enum rlx_node_kind kind, int64_t a, int64_t b, int64_t *out)
{
    switch (kind) {
    case RLX_NODE_ADD: return rlx_add_i64(a, b, out);
    case RLX_NODE_SUB: return rlx_sub_i64(a, b, out);
    case RLX_NODE_MUL: return rlx_mul_i64(a, b, out);
    case RLX_NODE_MIN: *out = a < b ? a : b; return true;
    case RLX_NODE_MAX: *out = a > b ? a : b; return true;
    case RLX_NODE_EQ: *out = a == b; return true;
    case RLX_NODE_NE: *out = a != b; return true;
    case RLX_NODE_LT: *out = a < b; return true;
    case RLX_NODE_LE: *out = a <= b; return true;
    case RLX_NODE_GT: *out = a > b; return true;
    case RLX_NODE_GE: *out = a >= b; return true;
    case RLX_NODE_AND: *out = a && b; return true;
    case RLX_NODE_OR: *out = a || b; return true;
    default: return divide(kind, a, b, out);
    }
}

static bool is_shift(rlx_slice op)
{
    return rlx_slice_is(op, "shift_left") || rlx_slice_is(op, "shift_right");
}

static bool apply_call(rlx_slice op, int64_t a, int64_t b, int64_t *out)
{
    if (rlx_slice_is(op, "shift_left"))
        return shift_left(a, b, out);
    if (rlx_slice_is(op, "shift_right"))
        return b >= 0 && b < 64 ? (*out = a >> b, true) : false;
    if (rlx_slice_is(op, "bitwise_and"))
        return *out = a & b, true;
    if (rlx_slice_is(op, "bitwise_or"))
        return *out = a | b, true;
    if (rlx_slice_is(op, "bitwise_xor"))
        return *out = a ^ b, true;
    return false;
}

static bool leaf_value(evaluator *e, const rlx_prim *p, int64_t *out)
{
    if (p->kind != RLX_NODE_PRIM_VAR && !rlx_int_literal(p, out))
        return no_value(e, RLX_EVAL_UNSUPPORTED);
    if (p->kind != RLX_NODE_PRIM_VAR)
        return !rlx_dtype_is_large(rlx_prim_dtype(p), *out) || no_value(e, RLX_EVAL_OVERFLOW);
    for (size_t i = 0; e->values && i < e->values->count; i++)
        if (&e->values->vars[i]->node == p)
            return *out = e->values->values[i], true;
    return no_value(e, RLX_EVAL_NO_VALUE);
}

static bool is_leaf(const rlx_prim *p)
{
    return p->kind == RLX_NODE_PRIM_VAR || p->kind == RLX_NODE_INT_IMM;
}

/* An operand's value if it is known; else it goes on the stack and *wait is set. False:
 * failure. */
static bool operand(evaluator *e, const rlx_prim *p, int64_t *out, bool *wait)
{
    uintptr_t v;
    if (!p)
        return no_value(e, RLX_EVAL_UNSUPPORTED);
    if (is_leaf(p))
        return leaf_value(e, p, out);
    if (rlx_ptrmap_find(&e->known, p, &v)) {
        *out = (int64_t)v;
        return true;
    }
    *wait = true;
    return rlx_vec_push(e->memory, &e->stack, p) || no_value(e, RLX_EVAL_NO_MEMORY);
}

static bool choose(evaluator *e, const rlx_prim *cond, const rlx_prim *t, const rlx_prim *f,
                   int64_t *out, bool *wait)
{
    int64_t c;
    if (!operand(e, cond, &c, wait))
        return false;
    return *wait || operand(e, c ? t : f, out, wait);
}

static bool step_binary(evaluator *e, const rlx_binary *b, int64_t *out, bool *wait)
{
    int64_t x, y;
    if (!operand(e, b->a, &x, wait))
        return false;
    if (*wait)
        return true;
    if ((b->node.kind == RLX_NODE_AND && !x) || (b->node.kind == RLX_NODE_OR && x)) {
        *out = x != 0;
        return true;
    }
    if (!operand(e, b->b, &y, wait))
        return false;
    return *wait || apply(b->node.kind, x, y, out) || fails(e, b->node.kind, y);
}

static bool step_call(evaluator *e, const rlx_prim_call *c, int64_t *out, bool *wait)
{
    int64_t x, y;
    rlx_slice op = c->op ? rlx_string_slice(c->op) : RLX_SLICE("");
    if (rlx_slice_is(op, "if_then_else") && c->num_args == 3)
        return choose(e, c->args[0], c->args[1], c->args[2], out, wait);
    if (rlx_slice_is(op, "likely") && c->num_args == 1)
        return operand(e, c->args[0], out, wait);
    if (rlx_slice_is(op, "bitwise_not") && c->num_args == 1)
        return operand(e, c->args[0], &x, wait) && (*wait || (*out = ~x, true));
    if (c->num_args != 2)
        return no_value(e, RLX_EVAL_UNSUPPORTED);
    if (!operand(e, c->args[0], &x, wait))
        return false;
    if (*wait)
        return true;
    if (!operand(e, c->args[1], &y, wait))
        return false;
    return *wait || apply_call(op, x, y, out) ||
           no_value(e, is_shift(op) ? RLX_EVAL_OVERFLOW : RLX_EVAL_UNSUPPORTED);
}

static bool evaluate_node(evaluator *e, const rlx_prim *p, int64_t *out, bool *wait)
{
    const rlx_binary *b = rlx_as_binary(p);
    const rlx_unary *u = rlx_as_unary(p);
    const rlx_select *s = rlx_as_select(p);
    const rlx_prim_call *c = rlx_as_prim_call(p);
    rlx_dtype t = rlx_prim_dtype(p);
    if (!rlx_dtype_is_int(t) && !rlx_dtype_is_bool(t))
        return no_value(e, RLX_EVAL_UNSUPPORTED);
    if (b)
        return step_binary(e, b, out, wait);
    if (s)
        return choose(e, s->cond, s->true_value, s->false_value, out, wait);
    if (c)
        return step_call(e, c, out, wait);
    if (!u)
        return no_value(e, RLX_EVAL_UNSUPPORTED);
    if (!operand(e, u->a, out, wait))
        return false;
    if (!*wait && p->kind == RLX_NODE_NOT)
        *out = !*out;
    bool fits = rlx_dtype_lanes(t) == 1 && rlx_dtype_has_int(t, *out, false);
    return *wait || p->kind == RLX_NODE_NOT || fits || no_value(e, RLX_EVAL_OVERFLOW);
}

static bool run(evaluator *e, const rlx_prim *root, int64_t *out)
{
    if (!rlx_vec_push(e->memory, &e->stack, root))
        return no_value(e, RLX_EVAL_NO_MEMORY);
    while (e->stack.len) {
        const rlx_prim *p = rlx_vec_last(&e->stack);
        bool wait = false;
        int64_t v = 0;
        if (!evaluate_node(e, p, &v, &wait))
            return false;
        if (wait)
            continue;
        (void)rlx_vec_pop(&e->stack);
        if (p == root)
            return *out = v, true;
        if (!rlx_ptrmap_put(&e->known, p, (uintptr_t)v))
            return no_value(e, RLX_EVAL_NO_MEMORY);
    }
    return false;
}

enum rlx_evaluation rlx_prim_evaluate_why(const rlx_prim *p, const rlx_assignment *values,
                                          rlx_memory *m, int64_t *out)
{
    evaluator e = { .memory = m, .values = values };
    bool ok;
    if (!p)
        return RLX_EVAL_UNSUPPORTED;
    if (is_leaf(p)) {
        ok = leaf_value(&e, p, out);
        return ok ? RLX_EVALUATED : e.why;
    }
    rlx_ptrmap_init(&e.known, m);
    ok = run(&e, p, out);
    rlx_vec_free(m, &e.stack);
    rlx_ptrmap_free(&e.known);
    return ok ? RLX_EVALUATED : e.why;
}

bool rlx_prim_evaluate(const rlx_prim *p, const rlx_assignment *values, rlx_memory *m,
                       int64_t *out)
{
    return rlx_prim_evaluate_why(p, values, m, out) == RLX_EVALUATED;
}
