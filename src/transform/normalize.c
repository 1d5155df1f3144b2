/*- normalize: the normal form of language section 3, by emitting every binding again through a
 * builder.
 *     y = add(exp(x), sin(x))   ->   gv = exp(x)
 *                                    gv1 = sin(x)
 *                                    y = add(gv, gv1)
 * needs: nothing. keeps: meaning; a function that is normal already is not touched. Operators that
 * demand more (NF05) are asked by the builder. */
#include "transform/transform_int.h"
#include "analysis/well_formed.h"

static const rlx_expr *keep_value(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                                  bool *replaced)
{
    return value;
}

/* A call whose operator has a form of its own: whether it is in it, its rule says. */
static enum rlx_step find_own_form(void *user, const rlx_node *n, const rlx_field *via,
                                   const rlx_node *parent)
{
    const rlx_call *c = rlx_as_call(n);
    const rlx_op *op = rlx_as_op(c ? c->op : NULL);
    if (op && op->row && op->row->normalize && !(op->row->flags & RLX_OP_NORMALIZE_ALWAYS)) {
        *(bool *)user = true;
        return RLX_STEP_STOP;
    }
    return RLX_STEP_ON;
}

/* Nothing to do for sure. */
static bool is_settled(rlx_context *ctx, const rlx_function *f)
{
    bool found = false, lost = false;
    if (!rlx_is_normal(ctx, f, false))
        return false;
    rlx_walker w = { .enter = find_own_form, .user = &found, .unique = true, .code = true };
    (void)rlx_walk(&ctx->memory, &f->node, &w, &lost);
    return !found;
}

static const rlx_node *normalize_function(rlx_context *ctx, const rlx_env *env,
                                          const rlx_function *f, const rlx_global_var *gv)
{
    size_t errors = rlx_error_count(ctx);
    if (!f->body || is_settled(ctx, f))
        return rlx_error_count(ctx) == errors ? &f->node : NULL;
    rlx_mutator m;
    rlx_mutator_init(&m, ctx, env, NULL);
    m.binding = keep_value;
    const rlx_function *out = rlx_mutate_function(&m, f, gv);
    rlx_mutator_free(&m);
    return out ? &out->node : NULL;
}

const rlx_module *rlx_pass_normalize(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    const rlx_node **functions =
        rlx_mem_alloc(&ctx->memory, (m->num_functions + 1) * sizeof *functions);
    const rlx_module *out = NULL;
    rlx_env env = rlx_module_env(m);
    if (!functions)
        return NULL;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        functions[i] =
            f ? normalize_function(ctx, &env, f, rlx_as_global_var(m->gvars[i])) : m->functions[i];
        if (!functions[i])
            goto done;
    }
    out = rlx_module_with(ctx, m, functions);
done:
    rlx_mem_free(&ctx->memory, functions, (m->num_functions + 1) * sizeof *functions);
    return out;
}
