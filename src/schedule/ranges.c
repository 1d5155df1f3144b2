/*- ranges.c: quotients and remainders of what loops keep below the divisor.
 *
 *     for i < 8, j < 64:  Y[i, j] = X[(j // 64 + i) % 8, j % 64]        ->        Y[i, j] = X[i, j]
 *
 * Compilers write another shape of a tensor so. What is left is a copy, or goes with the nest that reads it.
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

static enum rlx_step note_loop(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    ranges *g = user;
    const rlx_for_stmt *f = rlx_as_for_stmt(n);
    int64_t min, extent, last;
    g->any |= is_division(n);
    if (f && rlx_int_literal(f->min, &min) && rlx_int_literal(f->extent, &extent) && extent > 0 && rlx_add_i64(min, extent - 1, &last))
        g->failed |= !rlx_scope_bound(&g->scope, rlx_as_prim_var(f->loop_var), min, last);
    return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* a // c is 0, and a % c is a, where 0 <= a < c. */
static const rlx_node *without_division(rlx_rewriter *r, const rlx_node *n)
{
    ranges *g = r->user;
    const rlx_node *now = g->fold(r, n);
    const rlx_binary *b = now && is_division(now) ? rlx_as_binary(now) : NULL;
    int64_t c;
    if (!b || !rlx_int_literal(b->b, &c) || c < 1)
        return now;
    const rlx_prim *zero = rlx_int(g->ctx, rlx_prim_dtype(b->a), 0);
    if (!zero || rlx_prove_compare(g->ctx, &g->scope, RLX_NODE_LT, b->a, b->b) != RLX_TRUE ||
        rlx_prove_compare(g->ctx, &g->scope, RLX_NODE_GE, b->a, zero) != RLX_TRUE)
        return now;
    return now->kind == RLX_NODE_FLOOR_DIV ? zero : b->a;
}

const rlx_stmt *rlx_fold_ranges(rlx_context *ctx, const rlx_stmt *body)
{
    ranges g = { .ctx = ctx };
    const rlx_stmt *out = body;
    bool lost = false;
    rlx_walker w = { .enter = note_loop, .user = &g };
    rlx_scope_init(&g.scope, ctx, NULL);
    rlx_walk(&ctx->memory, body, &w, &lost);
    if (g.any && !lost && !g.failed) {
        rlx_rewriter r;
        rlx_tir_folder_init(&r, ctx);
        g.fold = r.after;
        r.after = without_division;
        r.user = &g;
        out = rlx_rewrite(&r, body);
        rlx_rewriter_free(&r);
    }
    rlx_scope_free(&g.scope);
    return lost || g.failed ? NULL : out;
}
