/* mention.c: which variables does a node use? */
#include "analysis/analysis.h"

/* In `state`: 1: mentions none; else the number of the walk that saw the node last, twice, plus
 * 1 if it mentions some; 0 and 1 are no walk. */
#define NONE 1

void rlx_mentions_init(rlx_mentions *m, rlx_context *ctx,
                       bool (*each)(void *user, const rlx_node *var), void *user)
{
    *m = (rlx_mentions){ .ctx = ctx, .each = each, .user = user };
    rlx_ptrmap_init(&m->state, &ctx->memory);
}

void rlx_mentions_free(rlx_mentions *m)
{
    rlx_ptrmap_free(&m->state);
    rlx_vec_free(&m->ctx->memory, &m->counts);
}

static enum rlx_step take(rlx_mentions *m, const rlx_node *var)
{
    m->found++;
    return m->each(m->user, var) ? RLX_STEP_SKIP : RLX_STEP_STOP;
}

static bool is_passed_over(const rlx_mentions *m, const rlx_node *n)
{
    return n->kind == RLX_NODE_CONSTANT || n->kind == RLX_NODE_GLOBAL_VAR ||
           rlx_node_is_closed(n) ||
           (!m->sizes && rlx_family_of(n) == RLX_FAMILY_PRIM);
}

static enum rlx_step find_mention(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    rlx_mentions *m = user;
    uintptr_t known = 0;
    if (rlx_as_var(n))
        return rlx_field_is_def(via) ? RLX_STEP_ON : take(m, n);
    if (n->kind == RLX_NODE_PRIM_VAR)
        return m->sizes && !rlx_field_is_def(via) ? take(m, n) : RLX_STEP_SKIP;
    if (is_passed_over(m, n))
        return RLX_STEP_SKIP;
    rlx_ptrmap_find(&m->state, n, &known);
    if (known == NONE || known / 2 == m->walk) {
        m->found += known != NONE && known & 1; /* what is around mentions it too */
        return RLX_STEP_SKIP;
    }
    return rlx_vec_push(&m->ctx->memory, &m->counts, m->found) ? RLX_STEP_ON : RLX_STEP_STOP;
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    rlx_mentions *m = user;
    if (rlx_as_var(n))
        return RLX_STEP_ON;
    bool some = rlx_vec_pop(&m->counts) != m->found;
    /* A node that is not interned may be a new one at the same address some day, and costs
     * nothing to look at again. */
    bool lasting = n->flags & RLX_FLAG_INTERNED && !some;
    return rlx_ptrmap_put(&m->state, n, lasting ? NONE : (uintptr_t)m->walk * 2 + some)
               ? RLX_STEP_ON
               : RLX_STEP_STOP;
}

bool rlx_each_mention(rlx_mentions *m, const rlx_node *n)
{
    rlx_walker w = { .enter = find_mention, .leave = leave, .user = m, .annotations = true };
    if (!n)
        return true;
    m->walk++;
    m->counts.len = 0;
    return rlx_walk(&m->ctx->memory, n, &w, NULL) != RLX_STEP_STOP &&
           !m->ctx->diags.out_of_memory;
}
