/* test_prove_random.c: the prover against evaluation: random expressions of 3 to 12 operators over
 * four variables, each compared with a rewriting of itself by true laws and with one that is a
 * little off. No answer may be refuted by any point; of the pairs that are equal by construction
 * most must be proved. `RELAX_SEED=n` gives other expressions, the long form more of them. */
/* built for speed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <relax/relax.h>

#include "arith/arith.h"

/* --- trees --- */

enum op {
    T_INT, T_VAR, T_ADD, T_SUB, T_MUL, T_DIV, T_MOD, T_TDIV, T_TMOD, T_MIN, T_MAX,
    T_SELECT, /* a and b compared (value says how) ? c : d */
};

/* Each with its negation; MIRRORED: with the operands in the other order. */
enum relation { R_LT, R_GE, R_LE, R_GT, R_EQ, R_NE };
#define NEGATED(relation) ((relation) ^ 1)
#define MIRRORED(relation) ((relation) < R_EQ ? 3 - (relation) : (relation))

typedef struct tree { enum op op; int64_t value; const struct tree *a, *b, *c, *d; } tree;

#define NUM_VARS 4
#define POOL 4000
typedef struct forest { uint64_t seed; tree pool[POOL]; size_t used; } forest;

/* What the scope says of the variables. */
static const struct { const char *name; int64_t low, high; } facts[NUM_VARS] = {
    { "n", 0, INT64_MAX },
    { "m", 0, INT64_MAX },
    { "p", INT64_MIN, INT64_MAX },
    { "q", 1, 100 },
};

static uint64_t next_random(forest *f, uint64_t below)
{
    f->seed ^= f->seed << 13;
    f->seed ^= f->seed >> 7;
    f->seed ^= f->seed << 17;
    return (f->seed >> 11) % below;
}

static bool chance(forest *f, uint64_t one_in)
{
    return next_random(f, one_in) == 0;
}

static const tree *make(forest *f, tree t)
{
    if (f->used == POOL)
        return &f->pool[POOL - 1]; /* seen by the caller, who drops the case */
    f->pool[f->used] = t;
    return &f->pool[f->used++];
}

static const tree *number(forest *f, int64_t v)
{
    return make(f, (tree){ .op = T_INT, .value = v });
}

static const tree *binary(forest *f, enum op op, const tree *a, const tree *b)
{
    return make(f, (tree){ .op = op, .a = a, .b = b });
}

static const tree *leaf(forest *f)
{
    static const int64_t constants[] = { 0, 1, 2, 3, 4, 5, 6, 8, 12, 16, -1, -2, -3, 64 };
    if (next_random(f, 4))
        return make(f, (tree){ .op = T_VAR, .value = (int64_t)next_random(f, NUM_VARS) });
    return number(f, constants[next_random(f, RLX_COUNT(constants))]);
}

/* A divisor is a small number, seldom anything. */
static const tree *grow(forest *f, int operators)
{
    static const uint8_t ops[] = { T_ADD, T_ADD, T_ADD, T_SUB, T_SUB, T_MUL, T_MUL, T_DIV, T_DIV,
                                   T_MOD, T_TDIV, T_TMOD, T_MIN, T_MAX, T_SELECT };
    if (operators <= 0)
        return leaf(f);
    enum op op = ops[next_random(f, sizeof ops)];
    int left = (int)next_random(f, (uint64_t)operators), right = operators - 1 - left;
    if (op >= T_DIV && op <= T_TMOD && next_random(f, 12))
        return binary(f, op, grow(f, operators - 1), number(f, 1 + (int64_t)next_random(f, 12)));
    if (op != T_SELECT)
        return binary(f, op, grow(f, left), grow(f, right));
    const tree *a = grow(f, left / 2), *b = leaf(f);
    return make(f, (tree){ op, (int64_t)next_random(f, 6), a, b, grow(f, right),
                           grow(f, left - left / 2 - 1) });
}

static int count_operators(const tree *t)
{
    return t->op <= T_VAR ? 0
                          : 1 + count_operators(t->a) + count_operators(t->b) +
                                (t->c ? count_operators(t->c) + count_operators(t->d) : 0);
}

/* --- true laws --- */

static bool same(const tree *a, const tree *b)
{
    if (a == b)
        return true;
    return a->op == b->op && a->value == b->value && (!a->a || same(a->a, b->a)) &&
           (!a->b || same(a->b, b->b)) && (!a->c || (same(a->c, b->c) && same(a->d, b->d)));
}

static bool is_number(const tree *t, int64_t least)
{
    return t->op == T_INT && t->value >= least;
}

static bool commutes(enum op op)
{
    return op == T_ADD || op == T_MUL || op == T_MIN || op == T_MAX;
}

static const tree *negated(forest *f, const tree *t)
{
    return chance(f, 2) ? binary(f, T_SUB, number(f, 0), t) : binary(f, T_MUL, t, number(f, -1));
}

/* Something that is always 0, 1 or t itself, wrapped around t. */
static const tree *wrapped(forest *f, const tree *t)
{
    const tree *k = number(f, 1 + (int64_t)next_random(f, 9)), *x = leaf(f);
    switch (next_random(f, 8)) {
    case 0: return binary(f, T_SUB, binary(f, T_ADD, t, x), x);
    case 1: return binary(f, T_DIV, binary(f, T_MUL, t, k), k);
    case 2:
        return binary(f, T_ADD, binary(f, T_MUL, binary(f, T_DIV, t, k), k),
                      binary(f, T_MOD, t, k));
    case 3: return negated(f, negated(f, t));
    case 4: return binary(f, chance(f, 2) ? T_MIN : T_MAX, t, t);
    case 5: return binary(f, T_MIN, t, binary(f, T_ADD, t, k));
    case 6: return binary(f, T_ADD, binary(f, T_SUB, t, k), k);
    default: return binary(f, T_MAX, binary(f, T_MIN, t, x), t);
    }
}

/* a + b, a * b and the like in another way. */
static const tree *other_sum(forest *f, enum op op, const tree *a, const tree *b)
{
    if (op == T_MUL && (a->op == T_ADD || a->op == T_SUB))
        return binary(f, a->op, binary(f, T_MUL, a->a, b), binary(f, T_MUL, a->b, b));
    if ((op == T_ADD || op == T_MUL) && a->op == op)
        return binary(f, op, a->a, binary(f, op, b, a->b));
    if (op == T_SUB)
        return binary(f, T_ADD, a, negated(f, b));
    if (op == T_ADD && same(a, b))
        return binary(f, T_MUL, number(f, 2), a);
    return binary(f, op, b, a);
}

/* Floor division and its rest by a positive number. */
static const tree *other_quotient(forest *f, enum op op, const tree *a, const tree *b)
{
    const tree *k = number(f, 2 + (int64_t)next_random(f, 6));
    if (op == T_MOD && chance(f, 2))
        return binary(f, T_SUB, a, binary(f, T_MUL, binary(f, T_DIV, a, b), b));
    if (!is_number(b, 1))
        return binary(f, op, a, b);
    const tree *wide = number(f, b->value * k->value), *scaled = binary(f, T_MUL, a, k);
    if (op == T_MOD)
        return chance(f, 2) ? binary(f, T_MOD, binary(f, T_ADD, a, binary(f, T_MUL, b, k)), b)
                            : binary(f, T_DIV, binary(f, T_MOD, scaled, wide), k);
    switch (next_random(f, 5)) {
    case 0: return binary(f, T_DIV, scaled, wide);
    case 1: return binary(f, T_SUB, binary(f, T_DIV, binary(f, T_ADD, a, b), b), number(f, 1));
    case 2: /* rounding down is rounding up of the negative */
        return negated(f, binary(f, T_DIV, binary(f, T_ADD, negated(f, a),
                                                  number(f, b->value - 1)), b));
    case 3:
        return a->op == T_DIV && is_number(a->b, 1)
                   ? binary(f, T_DIV, a->a, number(f, a->b->value * b->value))
                   : binary(f, T_DIV, binary(f, T_SUB, a, binary(f, T_MOD, a, b)), b);
    default:
        return a->op == T_ADD && a->b->op == T_MUL && same(a->b->b, b)
                   ? binary(f, T_ADD, binary(f, T_DIV, a->a, b), a->b->a)
                   : binary(f, T_DIV, a, b);
    }
}

static const tree *other_extreme(forest *f, enum op op, const tree *a, const tree *b)
{
    enum op mirror = op == T_MIN ? T_MAX : T_MIN;
    const tree *k = number(f, 1 + (int64_t)next_random(f, 6));
    switch (next_random(f, 7)) {
    case 0: return negated(f, binary(f, mirror, negated(f, a), negated(f, b)));
    case 1: return binary(f, T_SUB, binary(f, T_ADD, a, b), binary(f, mirror, a, b));
    case 2:
        return binary(f, T_SUB, binary(f, op, binary(f, T_ADD, a, k), binary(f, T_ADD, k, b)), k);
    case 3:
        return binary(f, T_DIV, binary(f, op, binary(f, T_MUL, a, k), binary(f, T_MUL, k, b)), k);
    case 4:
        return a->op == op ? binary(f, op, a->a, binary(f, op, a->b, b)) : binary(f, op, b, a);
    case 5:
        return op == T_MIN ? make(f, (tree){ T_SELECT, R_LT, a, b, a, b })
                           : make(f, (tree){ T_SELECT, R_LE, a, b, b, a });
    default: /* absorption */
        return binary(f, op, a, binary(f, op, binary(f, mirror, b, binary(f, op, b, a)), a));
    }
}

/* Truncation is rounding down where nothing is negative. */
static const tree *other_truncation(forest *f, enum op op, const tree *a, const tree *b)
{
    bool sized = a->op == T_VAR && facts[a->value].low >= 0;
    if (op == T_TMOD && chance(f, 2))
        return binary(f, T_SUB, a, binary(f, T_MUL, b, binary(f, T_TDIV, a, b)));
    if (sized && is_number(b, 1))
        return binary(f, op == T_TDIV ? T_DIV : T_MOD, a, b);
    return op == T_TDIV ? negated(f, binary(f, T_TDIV, negated(f, a), b)) : binary(f, op, a, b);
}

static const tree *other_choice(forest *f, tree t)
{
    const tree *one = number(f, 1), *c = t.c;
    if (chance(f, 3)) {
        t.c = t.d;
        t.d = c;
        t.value = NEGATED(t.value);
    }
    if (t.value == R_LT && chance(f, 2)) {
        t.value = R_LE;
        t.a = binary(f, T_ADD, t.a, one);
    } else if (chance(f, 3)) {
        const tree *a = t.a;
        t.a = t.b;
        t.b = a;
        t.value = MIRRORED(t.value);
    }
    return make(f, t);
}

static const tree *rewrite(forest *f, const tree *t, int depth)
{
    if (t->op <= T_VAR || depth == 0)
        return chance(f, 6) ? wrapped(f, t) : t;
    const tree *a = rewrite(f, t->a, depth - 1), *b = rewrite(f, t->b, depth - 1);
    if (t->op == T_SELECT)
        return other_choice(f, (tree){ T_SELECT, t->value, a, b, rewrite(f, t->c, depth - 1),
                                       rewrite(f, t->d, depth - 1) });
    if (chance(f, 10))
        return wrapped(f, binary(f, t->op, a, b));
    if (chance(f, 3))
        return commutes(t->op) ? binary(f, t->op, b, a) : binary(f, t->op, a, b);
    if (t->op <= T_MUL)
        return other_sum(f, t->op, a, b);
    if (t->op <= T_MOD)
        return other_quotient(f, t->op, a, b);
    return t->op <= T_TMOD ? other_truncation(f, t->op, a, b) : other_extreme(f, t->op, a, b);
}

/* --- values --- */

enum outcome { A_VALUE, ZERO_DIVISOR, OVERFLOWS };

static int64_t floor_quotient(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b && (a < 0) != (b < 0) ? q - 1 : q;
}

static enum outcome divided(enum op op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return ZERO_DIVISOR;
    if (a == INT64_MIN && b == -1)
        return OVERFLOWS;
    int64_t rest = a % b;
    *out = op == T_DIV                                      ? floor_quotient(a, b)
           : op == T_TDIV                                   ? a / b
           : op == T_MOD && rest && (rest < 0) != (b < 0)   ? rest + b
                                                            : rest;
    return A_VALUE;
}

static bool holds(int64_t relation, int64_t a, int64_t b)
{
    switch (relation) {
    case R_LT: return a < b;
    case R_GE: return a >= b;
    case R_LE: return a <= b;
    case R_GT: return a > b;
    default: return (a == b) == (relation == R_EQ);
    }
}

static enum outcome value_of(const tree *t, const int64_t *vars, int64_t *out)
{
    int64_t a = 0, b = 0;
    if (t->op <= T_VAR)
        return *out = t->op == T_INT ? t->value : vars[t->value], A_VALUE;
    enum outcome oa = value_of(t->a, vars, &a), ob = oa ? oa : value_of(t->b, vars, &b);
    if (ob)
        return ob;
    switch (t->op) {
    case T_ADD: return rlx_add_i64(a, b, out) ? A_VALUE : OVERFLOWS;
    case T_SUB: return rlx_sub_i64(a, b, out) ? A_VALUE : OVERFLOWS;
    case T_MUL: return rlx_mul_i64(a, b, out) ? A_VALUE : OVERFLOWS;
    case T_MIN: return *out = a < b ? a : b, A_VALUE;
    case T_MAX: return *out = a > b ? a : b, A_VALUE;
    case T_SELECT: return value_of(holds(t->value, a, b) ? t->c : t->d, vars, out);
    default: return divided(t->op, a, b, out);
    }
}

/* Small, large and boundary values, each admissible for its variable. */
static void choose_point(forest *f, int64_t *x)
{
    static const int64_t special[] = { 0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 63, 64, 100, 1023,
                                       1024, 4095, 65537, 999983, 1 << 20, INT32_MAX,
                                       (int64_t)1 << 40, INT64_MAX / 3, INT64_MAX - 1 };
    bool small = next_random(f, 3) != 0;
    for (int i = 0; i < NUM_VARS; i++) {
        int64_t v = small ? (int64_t)next_random(f, 20)
                          : special[next_random(f, RLX_COUNT(special))];
        v = facts[i].low == INT64_MIN && chance(f, 2) ? -v : v;
        x[i] = v < facts[i].low ? facts[i].low : v > facts[i].high ? facts[i].high : v;
    }
}

static const rlx_prim *prim_of(rlx_context *ctx, const tree *t, const rlx_prim_var *const *vars)
{
    static const uint8_t kinds[] = {
        [T_ADD] = RLX_NODE_ADD,       [T_SUB] = RLX_NODE_SUB,       [T_MUL] = RLX_NODE_MUL,
        [T_DIV] = RLX_NODE_FLOOR_DIV, [T_MOD] = RLX_NODE_FLOOR_MOD, [T_TDIV] = RLX_NODE_DIV,
        [T_TMOD] = RLX_NODE_MOD,      [T_MIN] = RLX_NODE_MIN,       [T_MAX] = RLX_NODE_MAX
    };
    static const uint8_t relations[] = { RLX_NODE_LT, RLX_NODE_GE, RLX_NODE_LE,
                                         RLX_NODE_GT, RLX_NODE_EQ, RLX_NODE_NE };
    if (t->op == T_INT)
        return rlx_int64(ctx, t->value);
    if (t->op == T_VAR)
        return &vars[t->value]->node;
    const rlx_prim *a = prim_of(ctx, t->a, vars), *b = prim_of(ctx, t->b, vars);
    if (t->op == T_SELECT)
        return rlx_select_new(ctx, rlx_binary_new(ctx, relations[t->value], a, b),
                              prim_of(ctx, t->c, vars), prim_of(ctx, t->d, vars));
    return rlx_binary_new(ctx, kinds[t->op], a, b);
}

/* --- the runs --- */

typedef struct world {
    rlx_context *ctx;
    rlx_scope scope;
    const rlx_prim_var *vars[NUM_VARS];
    forest *f;
} world;

static void world_open(world *w)
{
    w->ctx = rlx_context_create(NULL, 0);
    rlx_scope_init(&w->scope, w->ctx, NULL);
    for (int i = 0; i < NUM_VARS; i++) {
        w->vars[i] = rlx_prim_var_new(w->ctx, rlx_string_z(w->ctx, facts[i].name), RELAX_INT64, 0);
        rlx_scope_bound(&w->scope, w->vars[i], facts[i].low, facts[i].high);
    }
}

static void world_close(world *w)
{
    rlx_scope_free(&w->scope);
    rlx_context_release(w->ctx);
}

static void say(world *w, const char *what, const tree *a, const tree *b)
{
    rlx_buf text;
    rlx_buf_init(&text, &w->ctx->memory);
    rlx_text_prim(&text, prim_of(w->ctx, a, w->vars));
    rlx_buf_z(&text, "   and   ");
    rlx_text_prim(&text, prim_of(w->ctx, b, w->vars));
    print_error("%s: %s\n", what, text.data ? text.data : "?");
    rlx_buf_free(&text);
}

static void refute(world *w, const char *what, const tree *a, const tree *b, const int64_t *x)
{
    say(w, what, a, b);
    fail_msg("at n = %lld, m = %lld, p = %lld, q = %lld", (long long)x[0], (long long)x[1],
             (long long)x[2], (long long)x[3]);
}

typedef struct answers { enum rlx_answer equal; enum rlx_truth less; int64_t low, high; } answers;

static answers ask(world *w, const tree *ta, const tree *tb, bool all)
{
    const rlx_prim *a = prim_of(w->ctx, ta, w->vars), *b = prim_of(w->ctx, tb, w->vars);
    answers got = { rlx_prove_equal(w->ctx, &w->scope, a, b), RLX_MAYBE, INT64_MIN, INT64_MAX };
    if (all) {
        got.less = rlx_prove_compare(w->ctx, &w->scope, RLX_NODE_LT, a, b);
        rlx_bounds(w->ctx, &w->scope, a, &got.low, &got.high);
    }
    return got;
}

/* Where both have a value the answers must be true of it; where one divides by zero the other
 * must too, if they are said to be equal. */
static void check_answers(world *w, const tree *a, const tree *b, answers got, int points)
{
    if (!got.equal && !got.less && got.low == INT64_MIN && got.high == INT64_MAX)
        return; /* nothing is claimed */
    for (int i = 0; i < points; i++) {
        int64_t x[NUM_VARS], va = 0, vb = 0;
        choose_point(w->f, x);
        enum outcome oa = value_of(a, x, &va), ob = value_of(b, x, &vb);
        if (oa == A_VALUE && (va < got.low || va > got.high))
            refute(w, "wrong bounds of the first of", a, b, x);
        if (oa == OVERFLOWS || ob == OVERFLOWS)
            continue;
        if (got.equal == RLX_EQUAL && (oa != ob || (oa == A_VALUE && va != vb)))
            refute(w, "said equal", a, b, x);
        if (oa || ob)
            continue;
        if (got.equal == RLX_DIFFERENT && va == vb)
            refute(w, "said different", a, b, x);
        if ((got.less == RLX_TRUE && va >= vb) || (got.less == RLX_FALSE && va < vb))
            refute(w, got.less == RLX_TRUE ? "said less" : "said not less", a, b, x);
    }
}

static void check_simplified(world *w, const tree *t, int points)
{
    const rlx_prim *p = prim_of(w->ctx, t, w->vars);
    const rlx_prim *shorter = rlx_simplify(w->ctx, &w->scope, p);
    for (int i = 0; i < points && shorter != p; i++) {
        int64_t x[NUM_VARS], want = 0, got = 0;
        choose_point(w->f, x);
        rlx_assignment values = { w->vars, x, NUM_VARS };
        bool is_value = value_of(t, x, &want) == A_VALUE;
        if (is_value != rlx_prim_evaluate(p, &values, &w->ctx->memory, &got) ||
            (is_value && got != want))
            refute(w, "evaluated wrongly, the first of", t, t, x);
        if (is_value && rlx_prim_evaluate(shorter, &values, &w->ctx->memory, &got) && got != want)
            refute(w, "simplified wrongly, the first of", t, t, x);
    }
}

/* Equal somewhere, maybe everywhere: one number in it is another. */
static const tree *spoiled(forest *f, const tree *t)
{
    if (t->op == T_INT)
        return number(f, t->value + 1);
    if (t->op == T_VAR)
        return chance(f, 2) ? leaf(f) : binary(f, T_ADD, t, number(f, 1));
    tree copy = *t;
    if (chance(f, 2))
        copy.a = spoiled(f, t->a);
    else if (t->c && chance(f, 2))
        copy.c = spoiled(f, t->c);
    else
        copy.b = spoiled(f, t->b);
    return make(f, copy);
}

static const tree *grow_sized(forest *f)
{
    for (;;) {
        f->used = 0;
        const tree *t = grow(f, 3 + (int)next_random(f, 10));
        int count = count_operators(t);
        if (count >= 3 && count <= 12)
            return t;
    }
}

static void test_answers(void **state)
{
    (void)state;
    const char *seed = getenv("RELAX_SEED"), *show = getenv("RELAX_SHOW");
    int cases = getenv("RELAX_LONG") ? 1000000 : 100000, pairs = 0, proved = 0, others = 0,
        refuted = 0;
    world w = { .f = calloc(1, sizeof *w.f) };
    w.f->seed = 0x5eed0f2e1a5ull + (seed ? strtoull(seed, NULL, 10) * 7919 : 0);
    world_open(&w);
    for (int i = 0; i < cases; i++) {
        if (i % 1000 == 999) { /* nodes live as long as their context */
            world_close(&w);
            world_open(&w);
        }
        const tree *a = grow_sized(w.f), *b = rewrite(w.f, a, 12), *c = spoiled(w.f, b);
        if (w.f->used == POOL)
            continue;
        answers got = ask(&w, a, b, i % 4 == 0);
        check_answers(&w, a, b, got, 24);
        pairs++;
        proved += got.equal == RLX_EQUAL;
        if (got.equal != RLX_EQUAL && show && pairs < atoi(show))
            say(&w, "not proved", a, b);
        if (i % 2 == 0) {
            got = ask(&w, a, c, i % 4 == 0);
            check_answers(&w, a, c, got, 40);
            others++;
            refuted += got.equal == RLX_DIFFERENT;
        }
        if (i % 8 == 1)
            check_simplified(&w, b, 8);
        assert_int_equal(rlx_error_count(w.ctx), 0);
    }
    world_close(&w);
    free(w.f);
    print_message("          %d pairs equal by construction, proved %.2f %%; of others different "
                  "%.2f %%\n", pairs, 100.0 * proved / pairs, 100.0 * refuted / others);
    assert_true(pairs > cases / 10 * 9);
    assert_true(proved > pairs / 100 * 95);
}

/* --- facts, solutions and counterexamples: by the evaluator, over a small box --- */

#define BOX 7
#define BOX_LOW (-3)
#define MAX_FACTS 3

typedef struct question {
    world *w;
    relax_prover *prover;
    const rlx_prim *facts[MAX_FACTS][2]; /* those that were taken or known */
    bool taken[MAX_FACTS];
    int num_facts;
    int64_t low[NUM_VARS], high[NUM_VARS];
    const tree *a, *b;
    const rlx_prim *pa, *pb;
} question;

#define HANDLE(node) ((const relax_prim_expr *)(const void *)(node))

static bool evaluated(const question *t, const rlx_prim *p, const int64_t *x, int64_t *out)
{
    rlx_assignment values = { t->w->vars, x, NUM_VARS };
    return rlx_prim_evaluate(p, &values, &t->w->ctx->memory, out);
}

/* Do bounds and facts admit it? A fact that was only known says nothing where it has no value. */
static bool admits(const question *t, const int64_t *x)
{
    int64_t a = 0, b = 0;
    for (int i = 0; i < NUM_VARS; i++)
        if (x[i] < t->low[i] || x[i] > t->high[i])
            return false;
    for (int i = 0; i < t->num_facts; i++) {
        bool both = evaluated(t, t->facts[i][0], x, &a) && evaluated(t, t->facts[i][1], x, &b);
        if (both ? a != b : t->taken[i])
            return false;
    }
    return true;
}

static void assume(question *t, const tree *a, const tree *b)
{
    const rlx_prim *pa = prim_of(t->w->ctx, a, t->w->vars), *pb = prim_of(t->w->ctx, b, t->w->vars);
    int32_t use = relax_prover_assume_equal(t->prover, HANDLE(pa), HANDLE(pb));
    if (use != RELAX_FACT_TAKEN && use != RELAX_FACT_KNOWN)
        return;
    t->taken[t->num_facts] = use == RELAX_FACT_TAKEN;
    t->facts[t->num_facts][0] = pa;
    t->facts[t->num_facts++][1] = pb;
}

static void open_question(question *t, world *w)
{
    forest *f = w->f;
    *t = (question){ .w = w, .prover = relax_prover_create(w->ctx) };
    f->used = 0;
    for (int i = 0; i < NUM_VARS; i++) {
        t->low[i] = chance(f, 3) ? BOX_LOW : chance(f, 2) ? 0 : 1;
        t->high[i] = chance(f, 2) ? BOX_LOW + BOX - 1 : INT64_MAX;
        relax_prover_bound(t->prover, HANDLE(w->vars[i]), t->low[i], t->high[i]);
    }
    for (uint64_t i = next_random(f, MAX_FACTS + 1); i; i--) {
        int size = (int)next_random(f, 5);
        assume(t, chance(f, 2) ? leaf(f) : grow(f, 2), grow(f, size));
    }
    int size = 1 + (int)next_random(f, 5);
    t->a = grow(f, size);
    t->b = chance(f, 3) ? rewrite(f, t->a, 4) : grow(f, (int)next_random(f, 4));
    if (chance(f, 3)) /* a choice that keeps away from where an arm divides by zero, or does not */
        t->b = make(f, (tree){ T_SELECT, R_EQ, leaf(f), number(f, 0), leaf(f),
                               binary(f, T_DIV, number(f, 6), leaf(f)) });
    if (chance(f, 2)) /* a variable by itself, which can be solved for */
        t->a = binary(f, chance(f, 2) ? T_ADD : T_SUB, leaf(f), t->a);
    t->pa = prim_of(w->ctx, t->a, w->vars);
    t->pb = prim_of(w->ctx, t->b, w->vars);
}

/* Where both sides have values they are equal if and only if var is the value; if there is none,
 * nowhere. */
static void check_solution(question *t, int var)
{
    relax_prim_expr *handle = NULL;
    int32_t found = relax_prover_solve(t->prover, HANDLE(t->pa), HANDLE(t->pb),
                                       HANDLE(t->w->vars[var]), &handle);
    const rlx_prim *root = (const void *)handle;
    assert_true((root != NULL) == (found == RELAX_SOLUTION_ONE));
    for (int i = 0; found != RELAX_SOLUTION_UNKNOWN && i < BOX * BOX * BOX * BOX; i++) {
        int64_t x[NUM_VARS], a = 0, b = 0, value = 0;
        for (int k = 0, rest = i; k < NUM_VARS; k++, rest /= BOX)
            x[k] = BOX_LOW + rest % BOX;
        if (!admits(t, x) || !evaluated(t, t->pa, x, &a) || !evaluated(t, t->pb, x, &b))
            continue;
        bool has_root = root && evaluated(t, root, x, &value);
        if (root && !has_root)
            refute(t->w, "solved with a value that has none for", t->a, t->b, x);
        if ((a == b) != (has_root && value == x[var]))
            refute(t->w, "solved wrongly", t->a, t->b, x);
    }
}

static bool check_counterexample(question *t)
{
    const relax_prim_expr *vars[NUM_VARS + 1];
    int64_t values[NUM_VARS + 1], a = 0, b = 0;
    int64_t x[NUM_VARS] = { 0 };
    bool named[NUM_VARS] = { false };
    size_t count = relax_prover_counterexample(t->prover, HANDLE(t->pa), HANDLE(t->pb), vars,
                                               values, NUM_VARS + 1);
    for (int i = 0; i < NUM_VARS; i++)
        x[i] = t->low[i];
    bool found = count != RELAX_NOT_FOUND;
    assert_true(!found || count <= NUM_VARS);
    for (size_t i = 0; found && i < count; i++)
        for (int k = 0; k < NUM_VARS; k++)
            if (vars[i] == HANDLE(t->w->vars[k])) {
                assert_false(named[k]);
                named[k] = true;
                x[k] = values[i];
            }
    if (found && (!admits(t, x) || !evaluated(t, t->pa, x, &a) ||
                  !evaluated(t, t->pb, x, &b) || a == b))
        refute(t->w, "no counterexample", t->a, t->b, x);
    return found;
}

static void test_points(void **state)
{
    (void)state;
    const char *seed = getenv("RELAX_SEED");
    int cases = getenv("RELAX_LONG") ? 100000 : 10000, examples = 0, solved = 0, held = 0;
    world w = { .f = calloc(1, sizeof *w.f) };
    w.f->seed = 0x9a11ab1e5ull + (seed ? strtoull(seed, NULL, 10) * 104729 : 0);
    world_open(&w);
    for (int i = 0; i < cases; i++) {
        question t;
        if (i % 1000 == 999) {
            world_close(&w);
            world_open(&w);
        }
        open_question(&t, &w);
        int var = (int)next_random(w.f, NUM_VARS);
        relax_prim_expr *root = NULL;
        solved += relax_prover_solve(t.prover, HANDLE(t.pa), HANDLE(t.pb), HANDLE(w.vars[var]),
                                     &root) == RELAX_SOLUTION_ONE;
        check_solution(&t, var);
        examples += check_counterexample(&t);
        held += t.num_facts;
        relax_prover_destroy(t.prover);
        assert_int_equal(rlx_error_count(w.ctx), 0);
    }
    world_close(&w);
    free(w.f);
    print_message("          %d questions with %d facts: %d solved, %d counterexamples\n", cases,
                  held, solved, examples);
    assert_true(solved > cases / 20 && examples > cases / 4 && held > cases / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers),
                                        cmocka_unit_test(test_points) };
    return cmocka_run_group_tests_name("arith/prove_random", tests, NULL, NULL);
}
