/* infer_module.c: struct info derived anew for a whole module, callees first, so that deduced
 * results are known to callers. */
/* built for size */
#include "analysis/analysis.h"

#include "sinfo/builder.h"

static const rlx_expr *keep_value(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                                  bool *replaced)
{
    return value;
}

static bool infer_function(rlx_context *ctx, rlx_module_builder *mb, const rlx_module *m, size_t i,
                           bool rederive, bool judge_devices)
{
    const rlx_global_var *gv = rlx_as_global_var(m->gvars[i]);
    const rlx_function *f = rlx_as_function(m->functions[i]);
    rlx_mutator mutator;
    if (!f || !f->body)
        return true;
    rlx_mutator_init(&mutator, ctx, rlx_module_builder_env(mb), NULL);
    mutator.binding = keep_value;
    mutator.rederive = rederive;
    if (judge_devices)
        rlx_mutator_judge_devices(&mutator);
    const rlx_function *now = rlx_mutate_function(&mutator, f, gv);
    rlx_mutator_free(&mutator);
    return now && (now == f || rlx_module_builder_define(mb, gv, &now->node));
}

/* Functions by group, groups in order. */
static void sort_by_group(const uint32_t *group, size_t n, uint32_t *begin, uint32_t *order)
{
    for (size_t i = 0; i < n; i++)
        begin[group[i] + 1]++;
    for (size_t i = 0; i < n; i++)
        begin[i + 1] += begin[i];
    for (size_t i = 0; i < n; i++)
        order[begin[group[i]]++] = (uint32_t)i;
}

static const rlx_module *infer(rlx_context *ctx, const rlx_module *m, bool rederive,
                               bool judge_devices)
{
    rlx_memory *memory = &ctx->memory;
    size_t n = m->num_functions, errors = rlx_error_count(ctx);
    uint32_t *numbers = rlx_mem_alloc_zero(memory, (3 * n + 2) * sizeof *numbers);
    bool *recursive = rlx_mem_alloc_zero(memory, n + 1);
    rlx_module_builder *mb = rlx_module_builder_create(ctx, m);
    const rlx_module *out = NULL;
    bool good = numbers && recursive && mb;
    if (good && (good = rlx_call_groups(ctx, m, numbers, recursive))) {
        uint32_t *begin = numbers + n, *order = numbers + 2 * n + 1;
        sort_by_group(numbers, n, begin, order);
        /* A function with errors does not keep the others from being looked at. */
        for (size_t i = 0; i < n; i++)
            good &= infer_function(ctx, mb, m, order[i], rederive, judge_devices);
    }
    if (good && rlx_error_count(ctx) == errors)
        out = rlx_module_builder_finish(mb, m->place);
    if (mb)
        rlx_module_builder_free(mb);
    rlx_mem_free(memory, numbers, numbers ? (3 * n + 2) * sizeof *numbers : 0);
    rlx_mem_free(memory, recursive, recursive ? n + 1 : 0);
    return out;
}

const rlx_module *rlx_infer_module(rlx_context *ctx, const rlx_module *m)
{
    return infer(ctx, m, false, false);
}

const rlx_module *rlx_infer_module_again(rlx_context *ctx, const rlx_module *m,
                                         bool judge_devices)
{
    return infer(ctx, m, true, judge_devices);
}
