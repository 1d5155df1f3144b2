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
}

void rlx_mutator_free(rlx_mutator *m)
{
    rlx_builder_free(m->builder);
    rlx_ptrmap_free(&m->vars);
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
