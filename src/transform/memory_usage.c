/* memory_usage.c: what a function asks for in memory when it is built, with and without planning.
 * It is lowered for that as plain building does (level 1), not more: the module stays what it is.
 * Sizes are those of the function that was given; what it finds out while it runs is not known. */
#include "transform/edit.h"
#include "transform/transform_int.h"

static bool count_in(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                     const rlx_prim_vars *known, rlx_memory_estimate *out)
{
    int64_t at = m ? rlx_module_find(m, name) : -1;
    return at >= 0 && rlx_estimate_memory(ctx, rlx_as_function(m->functions[at]), known, out);
}

/* Lowered, where each tensor has memory of its own; then with the passes that place them. */
static bool count_lowered(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                          const rlx_prim_vars *known, rlx_memory_estimate *out)
{
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    rlx_memory_estimate planned;
    const rlx_pass_row *views = rlx_pass_find(RLX_SLICE("place_views")),
                       *packs = rlx_pass_find(RLX_SLICE("pack_constants"));
    size_t all = rlx_build_pipeline(RLX_DEFAULT_OPT_LEVEL, steps), count = 0, lowered = 0;
    for (size_t i = 0; i < all; i++) {
        lowered = steps[i].row == views ? count : lowered;
        if (steps[i].row != packs) /* changes nothing of it */
            steps[count++] = steps[i];
    }
    m = rlx_run_passes(ctx, m, steps, lowered, NULL);
    if (!count_in(ctx, m, name, known, out) ||
        !count_in(ctx, rlx_run_passes(ctx, m, steps + lowered, count - lowered, NULL), name, known,
                  &planned))
        return false;
    out->storages = planned.storages;
    return true;
}

bool rlx_memory_usage(rlx_context *ctx, const rlx_module *m, const rlx_global_var *gv,
                      rlx_memory_estimate *out)
{
    rlx_slice name = rlx_string_slice(gv->name);
    const rlx_function *f = rlx_as_function(m->functions[rlx_module_index(m, gv)]);
    rlx_prim_vars known = { 0 };
    if (!f->body)
        return rlx_error(ctx, RLX_OP02, f->place, "%s has no body", gv->name->data) != NULL;
    bool good = rlx_collect_prim_vars(&ctx->memory, &f->node, false, &known);
    /* a private function that nothing mentions would go; this one is asked about */
    m = good ? rlx_module_publish(ctx, m, name, true) : NULL;
    good = m && count_lowered(ctx, m, name, &known, out);
    rlx_vec_free(&ctx->memory, &known);
    return good;
}
