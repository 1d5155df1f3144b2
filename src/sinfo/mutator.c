/* mutator.c: the mutator's handle: a function rewritten binding by binding through a builder. */
/* built for size */
#include "sinfo/builder_int.h"

#include <string.h>

void rlx_mutator_init(rlx_mutator *m, rlx_context *ctx, const rlx_env *env, void *user)
{
    rlx_builder_options options = { .quiet_values = true };
    memset(m, 0, sizeof *m);
    m->ctx = ctx;
    m->user = user;
    m->builder = rlx_builder_create(ctx, env, &options);
    rlx_ptrmap_init(&m->vars, &ctx->memory);
    rlx_ptrmap_init(&m->parts, &ctx->memory);
}

void rlx_mutator_judge_devices(rlx_mutator *m)
{
    if (m->builder)
        m->builder->options.judge_devices = true;
}

void rlx_mutator_free(rlx_mutator *m)
{
    rlx_builder_free(m->builder);
    rlx_ptrmap_free(&m->vars);
    rlx_ptrmap_free(&m->parts);
    m->builder = NULL;
}

const rlx_function *rlx_mutate_function(rlx_mutator *m, const rlx_function *f,
                                        const rlx_global_var *gv)
{
    rlx_builder *b = m->builder;
    if (!b || !f)
        return NULL;
    bool ours = m->vars.len == 0; /* nothing that the caller would miss */
    b->renames = &m->vars;
    const rlx_function *out = rlx_builder_rewrite_function(
        b, f, gv ? rlx_string_slice(gv->name) : RLX_SLICE(""), gv ? &gv->node : NULL, m);
    b->renames = &b->own_renames;
    if (ours)
        rlx_ptrmap_clear(&m->vars);
    return out;
}

const rlx_expr *rlx_mutator_now(const rlx_mutator *m, const rlx_expr *old)
{
    const rlx_expr *to = m->vars.len && old ? rlx_ptrmap_get(&m->vars, old) : NULL;
    return to ? to : old;
}

/* Does it mean the same after the block? A tuple of variables counts by each. */
static bool outlives_block(const rlx_builder *b, const rlx_expr *e)
{
    const rlx_tuple *t = rlx_as_tuple(e);
    for (size_t i = 0; t && i < t->num_fields; i++)
        if (rlx_is(t->fields[i], RLX_NODE_DATAFLOW_VAR) || rlx_as_tuple(t->fields[i]))
            return false;
    const rlx_var *v = rlx_as_var(e);
    return !v || (v->node.kind == RLX_NODE_VAR && rlx_builder_sees_var(b, v));
}

const rlx_var *rlx_mutator_lost_output(const rlx_mutator *m, const rlx_block *old)
{
    for (size_t i = 0; i < old->num_bindings; i++) {
        const rlx_var_binding *vb = rlx_as_var_binding(old->bindings[i]);
        const rlx_match_cast *mc = rlx_as_match_cast(old->bindings[i]);
        const rlx_expr *v = vb ? vb->var : mc ? mc->var : NULL;
        if (rlx_is(v, RLX_NODE_VAR) && !outlives_block(m->builder, rlx_mutator_now(m, v)))
            return rlx_as_var(v);
    }
    return NULL;
}
