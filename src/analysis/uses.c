/* uses.c: how often each variable of a function is mentioned, in values, results and struct
 * info alike. */
#include "analysis/analysis.h"

typedef struct count { rlx_context *ctx; rlx_ptrmap *counts; } count;

static enum rlx_step note_use(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    count *c = user;
    uintptr_t so_far = 0;
    if (n->kind == RLX_NODE_CONSTANT ||
        rlx_node_is_closed(n))
        return RLX_STEP_SKIP;
    if (!rlx_as_var(n) || rlx_field_is_def(via))
        return RLX_STEP_ON;
    rlx_ptrmap_find(c->counts, n, &so_far);
    return rlx_ptrmap_put(c->counts, n, so_far + 1) ? RLX_STEP_SKIP : RLX_STEP_STOP;
}

bool rlx_count_uses(rlx_context *ctx, const rlx_function *f, rlx_ptrmap *counts)
{
    count c = { ctx, counts };
    rlx_walker w = { .enter = note_use, .user = &c, .annotations = true };
    rlx_walk(&ctx->memory, &f->node, &w, NULL);
    return !ctx->diags.out_of_memory;
}
