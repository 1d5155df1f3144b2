/*- apart.c: several sums in one nest become a nest for each.
 *
 *     for i, k:                                          for i, k:  S[i] = S[i] + X[i, k]
 *         s = S[i] + X[i, k]                       ->    for i, k:  Q[i] = Q[i] + X[i, k] * X[i, k]
 *         q = Q[i] + X[i, k] * X[i, k]
 *         S[i] = s
 *         Q[i] = q
 *
 * Compilers write means and variances so. Each of them is one instruction, and both together are none. So are their first values. No sum
 * reads what another one stores: the order of the steps of each stays.
 */
#include "schedule/accesses.h"
#include "schedule/plan_int.h"
#include "schedule/schedule_int.h"

enum { MOST_STORES = 4, MOST_LETS = 8 };

typedef struct parts {
    rlx_context *ctx;
    const rlx_for_stmt *loops[RLX_PLAN_MAX_NEST];
    size_t num_loops;
    const rlx_let_stmt *lets[MOST_LETS];
    size_t num_lets;
    const rlx_buffer_store *stores[MOST_STORES];
    size_t num_stores;
} parts;

/* Loops, then lets, then stores. */
static bool take_apart(parts *p, const rlx_for_stmt *nest)
{
    const rlx_stmt *s = &nest->node;
    for (; s->kind == RLX_NODE_FOR && p->num_loops < RLX_PLAN_MAX_NEST; s = ((const rlx_for_stmt *)s)->body) {
        p->loops[p->num_loops] = (const rlx_for_stmt *)s;
        if (p->loops[p->num_loops++]->annotations)
            return false;
    }
    for (; s->kind == RLX_NODE_LET_STMT && p->num_lets < MOST_LETS; s = ((const rlx_let_stmt *)s)->body)
        p->lets[p->num_lets++] = (const rlx_let_stmt *)s;
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(s);
    if (!seq || seq->num_stmts < 2 || seq->num_stmts > MOST_STORES)
        return false;
    for (size_t i = 0; i < seq->num_stmts; i++) {
        const rlx_buffer_store *store = rlx_as_buffer_store(seq->stmts[i]);
        if (!store || store->predicate)
            return false;
        p->stores[p->num_stores++] = store;
    }
    return true;
}

static enum rlx_step find_memory(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    return l && rlx_plan_memory(l->buffer) == user ? RLX_STEP_STOP : n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* Does each store, its lets in place, touch nothing that another one stores? */
static bool are_independent(const parts *p, const rlx_stmt *const *bodies)
{
    for (size_t i = 0; i < p->num_stores; i++)
        for (size_t k = 0; k < p->num_stores; k++) {
            const rlx_node *other = rlx_plan_memory(p->stores[k]->buffer);
            rlx_walker w = { .enter = find_memory, .user = (void *)other, .unique = true };
            if (i != k && (rlx_plan_memory(p->stores[i]->buffer) == other ||
                           rlx_walk(&p->ctx->memory, bodies[i], &w, NULL) == RLX_STEP_STOP))
                return false;
        }
    return true;
}

/* Is it one instruction that sums up, or a number everywhere? */
static bool is_better(rlx_context *ctx, const rlx_for_stmt *nest)
{
    rlx_nest_plan plan;
    bool is = rlx_plan_nest(ctx, &rlx_plan_everywhere, nest, &plan);
    const rlx_buffer_store *s = is ? rlx_as_buffer_store(plan.body) : NULL;
    is = s && (plan.form == RLX_PLAN_FUSED || s->value->kind == RLX_NODE_FLOAT_IMM || s->value->kind == RLX_NODE_INT_IMM);
    rlx_nest_plan_free(ctx, &plan);
    return is;
}

/* Store number `which` alone. NULL: out of memory. */
static const rlx_stmt *body_of(const parts *p, size_t which)
{
    rlx_rewriter r;
    rlx_rewriter_init(&r, p->ctx);
    bool ok = true;
    for (size_t i = 0; i < p->num_lets && ok; i++) {
        const rlx_prim *value = rlx_rewrite(&r, p->lets[i]->value);
        ok = value && rlx_ptrmap_put(&r.map, p->lets[i]->var, (uintptr_t)value);
    }
    const rlx_stmt *body = ok ? rlx_rewrite(&r, &p->stores[which]->node) : NULL;
    rlx_rewriter_free(&r);
    return body;
}

static const rlx_stmt *nest_of(const parts *p, const rlx_stmt *body)
{
    for (size_t i = p->num_loops; i-- > 0 && body;) {
        const rlx_for_stmt *old = p->loops[i];
        body = rlx_for(p->ctx, rlx_as_prim_var(old->loop_var), old->min, old->extent, old->for_kind, body, old->place);
    }
    return body ? rlx_copy_fresh(p->ctx, body) : NULL;
}

static const rlx_stmt *split(rlx_context *ctx, const rlx_for_stmt *nest)
{
    parts p = { .ctx = ctx };
    const rlx_stmt *all[MOST_STORES];
    bool ok = take_apart(&p, nest);
    for (size_t i = 0; i < p.num_stores && ok; i++)
        ok = (all[i] = body_of(&p, i)) != NULL;
    ok = ok && are_independent(&p, all);
    for (size_t i = 0; i < p.num_stores && ok; i++) {
        all[i] = nest_of(&p, all[i]);
        ok = all[i] && is_better(ctx, rlx_as_for_stmt(all[i]));
    }
    return ok ? rlx_seq_stmt_new(ctx, all, p.num_stores, nest->place) : NULL;
}

const rlx_stmt *rlx_sums_apart(rlx_context *ctx, const rlx_stmt *body)
{
    const rlx_stmt *out = rlx_rewrite_nests(ctx, body, split);
    return out && out != body ? rlx_flatten_sequences(ctx, out) : out;
}
