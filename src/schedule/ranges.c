/*- ranges.c: integers of which the ranges of loops say more than is written; and quotients that are products.
 *
 *     for i < 8, j < 64:  Y[i, j] = X[(j // 64 + i) % 8, j % 64]        ->        Y[i, j] = X[i, j]
 *
 *     for i < 28:  A[i] = S[i] / float32(max(min(i * 2 + 1, 55) + 1 - i * 2, 1))    ->    A[i] = S[i] / 2
 *
 *     Y[i] = X[i] / float32(4)    ->    Y[i] = X[i] * float32(0.25)
 *
 * Compilers write another shape of a tensor, and counts of elements, so. What is left is a copy, or goes with the nest that reads it. A quotient
 * takes several times as long as a product, which is the same number where the divisor is a power of two.
 */
#include "schedule/schedule_int.h"

typedef struct ranges {
    rlx_context *ctx;
    rlx_scope scope;
    const rlx_node *(*fold)(rlx_rewriter *r, const rlx_node *n);
    bool any, failed;
} ranges;

static bool is_division(const rlx_node *n)
{
    return n->kind == RLX_NODE_FLOOR_DIV || n->kind == RLX_NODE_FLOOR_MOD;
}

static bool is_scaled(const rlx_node *n)
{
    const rlx_binary *b = n->kind == RLX_NODE_DIV ? rlx_as_binary(n) : NULL;
    const rlx_dtype t = b ? rlx_prim_dtype(b->a) : RELAX_INT64;
    return (t == RELAX_FLOAT32 || t == RELAX_FLOAT64) && b->b->kind == RLX_NODE_FLOAT_IMM &&
           rlx_has_exact_reciprocal(((const rlx_float_imm *)b->b)->value);
}

static bool is_choice(const rlx_node *n)
{
    return (n->kind == RLX_NODE_MIN || n->kind == RLX_NODE_MAX) && !rlx_dtype_is_float(rlx_prim_dtype((const rlx_prim *)n));
}

static enum rlx_step note_loop(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    ranges *g = user;
    const rlx_for_stmt *f = rlx_as_for_stmt(n);
    int64_t min, extent, last;
    g->any |= is_division(n) || is_choice(n) || is_scaled(n);
    if (f && rlx_int_literal(f->min, &min) && rlx_int_literal(f->extent, &extent) && extent > 0 && rlx_add_i64(min, extent - 1, &last))
        g->failed |= !rlx_scope_bound(&g->scope, rlx_as_prim_var(f->loop_var), min, last);
    return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static enum rlx_step find_data(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    const bool is_prim = rlx_family_of(n) == RLX_FAMILY_PRIM;
    const rlx_dtype t = is_prim ? rlx_prim_dtype((const rlx_prim *)n) : RELAX_INT64;
    const bool data = n->kind == RLX_NODE_BUFFER_LOAD || n->kind == RLX_NODE_PRIM_CALL || (t != RELAX_INT32 && t != RELAX_INT64);
    return data ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Loops and sizes alone: integers that do not wrap around. Numbers out of memory may, and nothing is proved of them. */
static bool is_index(const ranges *g, const rlx_prim *e)
{
    rlx_walker w = { .enter = find_data, .unique = true };
    return rlx_walk(&g->ctx->memory, e, &w, NULL) == RLX_STEP_ON;
}

/* a // c is 0, and a % c is a, where 0 <= a < c. */
static const rlx_node *divide(const ranges *g, const rlx_binary *b)
{
    int64_t c;
    if (!is_index(g, b->a))
        return &b->node;
    const rlx_prim *zero = rlx_int(g->ctx, rlx_prim_dtype(b->a), 0);
    if (!zero || !rlx_int_literal(b->b, &c) || c < 1 ||
        rlx_prove_compare(g->ctx, &g->scope, RLX_NODE_LT, b->a, b->b) != RLX_TRUE ||
        rlx_prove_compare(g->ctx, &g->scope, RLX_NODE_GE, b->a, zero) != RLX_TRUE)
        return &b->node;
    return b->node.kind == RLX_NODE_FLOOR_DIV ? zero : b->a;
}

static const rlx_node *scale(const ranges *g, const rlx_binary *b)
{
    const rlx_prim *factor = rlx_float(g->ctx, rlx_prim_dtype(b->a), 1 / ((const rlx_float_imm *)b->b)->value);
    return factor ? rlx_fold_mul(g->ctx, b->a, factor) : NULL;
}

/* The operand that is surely the least, or the greatest. */
static const rlx_node *choose(const ranges *g, const rlx_binary *b)
{
    const bool least = b->node.kind == RLX_NODE_MIN;
    if (!is_index(g, &b->node))
        return &b->node;
    if (rlx_prove_compare(g->ctx, &g->scope, RLX_NODE_LE, b->a, b->b) == RLX_TRUE)
        return least ? b->a : b->b;
    if (rlx_prove_compare(g->ctx, &g->scope, RLX_NODE_GE, b->a, b->b) == RLX_TRUE)
        return least ? b->b : b->a;
    return &b->node;
}

/* A float that is made of an integer which is the same everywhere. */
static const rlx_node *count(const ranges *g, const rlx_node *cast)
{
    const rlx_prim *from = ((const rlx_unary *)cast)->a;
    int64_t value;
    if (!rlx_as_binary(from) || !rlx_dtype_is_float(rlx_prim_dtype((const rlx_prim *)cast)) || !is_index(g, from))
        return cast;
    const rlx_prim *now = rlx_simplify(g->ctx, &g->scope, from);
    return now && rlx_int_literal(now, &value) ? rlx_fold_cast(g->ctx, rlx_prim_dtype((const rlx_prim *)cast), now) : cast;
}

static const rlx_node *fold(rlx_rewriter *r, const rlx_node *n)
{
    const ranges *g = r->user;
    const rlx_node *now = g->fold(r, n);
    return !now                     ? NULL
           : is_division(now)       ? divide(g, rlx_as_binary(now))
           : is_choice(now)         ? choose(g, rlx_as_binary(now))
           : is_scaled(now)         ? scale(g, rlx_as_binary(now))
           : now->kind == RLX_NODE_CAST ? count(g, now)
                                    : now;
}

/* Buffers are the same wherever they are mentioned: their shapes stay. */
static const rlx_node *keep_buffer(rlx_rewriter *r, const rlx_node *n) { return n->kind == RLX_NODE_BUFFER ? n : NULL; }

const rlx_stmt *rlx_fold_ranges(rlx_context *ctx, const rlx_stmt *body)
{
    ranges g = { .ctx = ctx };
    const rlx_stmt *out = body;
    bool lost = false;
    rlx_walker w = { .enter = note_loop, .user = &g, .unique = true };
    rlx_scope_init(&g.scope, ctx, NULL);
    rlx_walk(&ctx->memory, body, &w, &lost);
    if (g.any && !lost && !g.failed) {
        rlx_rewriter r;
        rlx_tir_folder_init(&r, ctx);
        g.fold = r.after;
        r.before = keep_buffer;
        r.after = fold;
        r.user = &g;
        out = rlx_rewrite(&r, body);
        rlx_rewriter_free(&r);
    }
    rlx_scope_free(&g.scope);
    return lost || g.failed ? NULL : out;
}
