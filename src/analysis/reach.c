/* reach.c: which functions are mentioned, directly and along the mentions of others. */
/* built for size */
#include "analysis/analysis.h"

typedef struct reaching {
    rlx_context *ctx;
    const rlx_module *m;
    bool *reached;
    RLX_VEC(size_t) work;
} reaching;

static enum rlx_step reach(void *user, const rlx_node *n, const rlx_field *via,
                           const rlx_node *parent)
{
    reaching *r = user;
    int64_t at = rlx_module_named_by(r->m, n);
    if (n->kind == RLX_NODE_CONSTANT)
        return RLX_STEP_SKIP;
    if (at < 0 || r->reached[at])
        return RLX_STEP_ON;
    r->reached[at] = true;
    return rlx_vec_push(&r->ctx->memory, &r->work, (size_t)at) ? RLX_STEP_ON : RLX_STEP_STOP;
}

bool rlx_reach(rlx_context *ctx, const rlx_module *m, bool *reached)
{
    reaching r = { .ctx = ctx, .m = m, .reached = reached };
    rlx_walker w = { .enter = reach, .user = &r, .unique = true };
    bool good = true;
    for (size_t i = 0; good && i < m->num_functions; i++)
        good = !reached[i] || rlx_vec_push(&ctx->memory, &r.work, i);
    while (good && r.work.len) {
        rlx_walk(&ctx->memory, m->functions[rlx_vec_pop(&r.work)], &w, NULL);
        good = !ctx->diags.out_of_memory;
    }
    rlx_vec_free(&ctx->memory, &r.work);
    return good;
}

/* ---- in one node ---------------------------------------------------------------------------- */

typedef struct collecting {
    rlx_context *ctx;
    rlx_global_vars *out;
    rlx_ptrmap seen;
    bool called;
} collecting;

static enum rlx_step take(collecting *c, const rlx_node *n)
{
    const rlx_global_var *gv = rlx_as_global_var(n);
    bool good = !gv || rlx_ptrmap_has(&c->seen, gv) ||
                (rlx_ptrmap_put(&c->seen, gv, 1) && rlx_vec_push(&c->ctx->memory, c->out, gv));
    return good ? RLX_STEP_ON : RLX_STEP_STOP;
}

/* Collects the callees of a call: its own, and a function handed to an operator. */
static enum rlx_step take_called(collecting *c, const rlx_node *n)
{
    const rlx_call *call = rlx_as_call(n);
    const rlx_op *op = call ? rlx_as_op(call->op) : NULL;
    const rlx_op_row *row = op ? op->row : NULL;
    enum rlx_step step = call                            ? take(c, call->op)
                         : rlx_is(n, RLX_NODE_PRIM_CALL) ? take(c, rlx_as_prim_call(n)->callee)
                                                         : RLX_STEP_ON;
    for (size_t i = 0; row && step == RLX_STEP_ON && i < call->num_args && i < row->num_args; i++)
        if (row->args[i].kind == RLX_ARG_FUNC)
            step = take(c, call->args[i]);
    return step;
}

static enum rlx_step collect(void *user, const rlx_node *n, const rlx_field *via,
                             const rlx_node *parent)
{
    collecting *c = user;
    if (n->kind == RLX_NODE_CONSTANT)
        return RLX_STEP_SKIP;
    return c->called ? take_called(c, n) : take(c, n);
}

bool rlx_mentioned_globals(rlx_context *ctx, const rlx_node *n, bool called, rlx_global_vars *out)
{
    collecting c = { .ctx = ctx, .out = out, .called = called };
    rlx_walker w = { .enter = collect, .user = &c, .unique = true };
    const rlx_module *m = rlx_as_module(n);
    rlx_ptrmap_init(&c.seen, &ctx->memory);
    /* One by one: a module's own list of names would come first, and each node comes once. */
    for (size_t i = 0; m && i < m->num_functions && !ctx->diags.out_of_memory; i++)
        rlx_walk(&ctx->memory, m->functions[i], &w, NULL);
    if (!m)
        rlx_walk(&ctx->memory, n, &w, NULL);
    rlx_ptrmap_free(&c.seen);
    return !ctx->diags.out_of_memory;
}
