/*- mutate_module.c: the functions of a module through a mutator (language 11.3), one after the
 * other. With a hook that turns add(x, x) into multiply(x, 2)
 *     lv = R.add(x, x)            ->     lv = R.multiply(x, 2)
 * needs: nothing; what comes out is normal. keeps: places, struct info that can be kept. Functions
 * in which nothing changes are shared with the module that was given. */
#include "transform/edit.h"
#include "transform/transform_int.h"
#include "analysis/well_formed.h"

static const rlx_function *rewritten(rlx_context *ctx, const rlx_function *f,
                                     const rlx_global_var *gv, rlx_mutation *how)
{
    rlx_mutator m;
    bool keep = false;
    rlx_mutator_init(&m, ctx, rlx_module_builder_env(how->mb), how->user);
    m.hooks = how->hooks;
    m.dataflow_only = how->dataflow_only;
    const rlx_function *now = m.builder ? f : NULL; /* callbacks borrow the builder */
    if (now && how->enter)
        now = how->enter(&m, f, &keep);
    if (now == f && !keep)
        now = rlx_mutate_function(&m, f, gv);
    if (now && how->leave && !keep)
        now = how->leave(&m, now);
    rlx_mutator_free(&m);
    return now;
}

static bool rewrite_one(rlx_context *ctx, const rlx_module *m, size_t i, rlx_mutation *how)
{
    const rlx_function *f = rlx_as_function(m->functions[i]);
    const rlx_global_var *gv = rlx_as_global_var(m->gvars[i]);
    if (!f || !f->body || (how->gv && how->gv != gv))
        return true;
    size_t errors = rlx_error_count(ctx);
    const rlx_function *now = rewritten(ctx, f, gv, how);
    return now && rlx_error_count(ctx) == errors &&
           (now == f || rlx_module_builder_define(how->mb, gv, &now->node));
}

const rlx_module *rlx_mutate_module(rlx_context *ctx, const rlx_module *m, rlx_mutation *how)
{
    const rlx_module *out = NULL;
    uint8_t before = ctx->origin;
    bool good = (how->mb = rlx_module_builder_create(ctx, m)) != NULL;
    if (!before)
        ctx->origin = rlx_context_origin(ctx, "mutate");
    for (size_t i = 0; good && i < m->num_functions; i++)
        good = rewrite_one(ctx, m, i, how);
    if (good)
        out = rlx_module_builder_finish(how->mb, m->place);
    if (out && out != m && !rlx_well_formed_since(ctx, out, m))
        out = NULL;
    rlx_module_builder_free(how->mb);
    how->mb = NULL;
    ctx->origin = before;
    return out;
}
