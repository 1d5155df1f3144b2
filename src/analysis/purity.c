/* purity.c: the first impure call (language 5.10). Making a closure is no call: nested
 * functions are not entered. */
#include "analysis/analysis.h"

typedef struct search {
    rlx_context *ctx;
    const rlx_env *env;
    const rlx_expr *own;
    const rlx_node *root;
    const rlx_call *found;
} search;

static enum rlx_step find_impure_call(void *user, const rlx_node *n, const rlx_field *via,
                                      const rlx_node *parent)
{
    search *s = user;
    const rlx_call *call = rlx_as_call(n);
    if (n->flags & RLX_FLAG_INTERNED || n->kind == RLX_NODE_CONSTANT ||
        (n->kind == RLX_NODE_FUNCTION && n != s->root))
        return RLX_STEP_SKIP;
    if (!call || call->op == s->own || rlx_call_is_pure(s->env, s->ctx, call))
        return RLX_STEP_ON;
    s->found = call;
    return RLX_STEP_STOP;
}

const rlx_call *rlx_find_impure_call(rlx_context *ctx, const rlx_env *env, const rlx_node *n,
                                     const rlx_expr *own)
{
    search s = { ctx, env, own, n, NULL };
    rlx_walker w = { .enter = find_impure_call, .user = &s, .unique = true };
    bool lost = false;
    rlx_walk(&ctx->memory, n, &w, &lost);
    return s.found;
}
