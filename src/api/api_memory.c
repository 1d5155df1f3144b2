/* api_memory.c: how much memory a function asks for. */
#include <relax/analysis.h>
#include "api/api_int.h"

#include "analysis/analysis.h"
#include "arith/arith.h"
#include "transform/edit.h"
#include "transform/transform.h"

/* ---- arguments */

/* Is there somewhere for both sums to go to? */
static bool are_given(relax_context *ctx, const void *tensors, const void *storages)
{
    return rlx_api_required(ctx, tensors, "tensors") && rlx_api_required(ctx, storages, "storages");
}

static size_t refused(relax_context *ctx)
{
    if (RLX_API_READS(ctx))
        give(ctx, NULL);
    return RELAX_NOT_FOUND;
}

/* ---- counting: number of sizes that are not given; RELAX_NOT_FOUND after a report */

static size_t count_as_it_stands(relax_context *ctx, const relax_base_func *func,
                                 rlx_memory_estimate *found)
{
    const rlx_function *f = rlx_as_function(node_of(func));
    if (!rlx_api_node(ctx, func, "func"))
        return RELAX_NOT_FOUND;
    if (!f || !f->body)
        return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "func is no Relax function"), RELAX_NOT_FOUND;
    rlx_float_env host = rlx_float_enter();
    bool good = rlx_estimate_memory(ctx, f, NULL, found);
    rlx_float_leave(host);
    return good ? found->unknown : RELAX_NOT_FOUND;
}

static size_t count_lowered(relax_context *ctx, const relax_module *module, const char *function,
                            size_t function_len, rlx_memory_estimate *found)
{
    const rlx_global_var *gv = NULL;
    const rlx_module *m = rlx_as_module(node_of(module));
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !rlx_api_required(ctx, function, "function") ||
        !rlx_api_function(ctx, m, function, function_len, &gv))
        return RELAX_NOT_FOUND;
    rlx_float_env host = rlx_float_enter();
    bool good = rlx_memory_usage(ctx, m, gv, found);
    rlx_float_leave(host);
    return good ? found->unknown : RELAX_NOT_FOUND;
}

/* ---- as expressions */

static size_t give_sums(relax_context *ctx, size_t unknown, const rlx_memory_estimate *found,
                        const relax_prim_expr **tensors, const relax_prim_expr **storages)
{
    *tensors = unknown == RELAX_NOT_FOUND ? NULL : give(ctx, found->tensors);
    *storages = unknown == RELAX_NOT_FOUND ? NULL : give(ctx, found->storages);
    rlx_diags_flush(&ctx->diags);
    return unknown;
}

size_t relax_memory_estimate(relax_context *ctx, const relax_base_func *func,
                             const relax_prim_expr **tensors, const relax_prim_expr **storages)
{
    rlx_memory_estimate found;
    if (!RLX_API_CONTEXT(ctx) || !are_given(ctx, tensors, storages))
        return refused(ctx);
    size_t unknown = count_as_it_stands(ctx, func, &found);
    return give_sums(ctx, unknown, &found, tensors, storages);
}

size_t relax_memory_usage(relax_context *ctx, const relax_module *module, const char *function,
                          size_t function_len, const relax_prim_expr **tensors,
                          const relax_prim_expr **storages)
{
    rlx_memory_estimate found;
    if (!RLX_API_CONTEXT(ctx) || !are_given(ctx, tensors, storages))
        return refused(ctx);
    size_t unknown = count_lowered(ctx, module, function, function_len, &found);
    return give_sums(ctx, unknown, &found, tensors, storages);
}

/* ---- for given sizes */

static bool are_sizes(relax_context *ctx, const relax_prim_expr *const *vars,
                      const int64_t *values, size_t count)
{
    if (!rlx_api_family_array(ctx, (const void *const *)vars, count, RLX_FAMILY_PRIM, "vars"))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!rlx_as_prim_var(node_of(vars[i])))
            return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "item %zu of vars is no variable", i) !=
                   NULL;
    return !count || rlx_api_required(ctx, values, "values");
}

static bool evaluate(relax_context *ctx, const rlx_prim *p, const rlx_assignment *values,
                     int64_t *out)
{
    if (rlx_prim_evaluate(p, values, &ctx->memory, out))
        return true;
    if (!ctx->diags.out_of_memory)
        rlx_error(ctx, RLX_OP11, RLX_NO_PLACE, "%s has no value for these sizes",
                  rlx_show(ctx, p));
    return false;
}

static size_t give_bytes(relax_context *ctx, size_t unknown, const rlx_memory_estimate *found,
                         const rlx_assignment *at, int64_t *tensors, int64_t *storages)
{
    bool good = unknown != RELAX_NOT_FOUND && evaluate(ctx, found->tensors, at, tensors) &&
                evaluate(ctx, found->storages, at, storages);
    rlx_diags_flush(&ctx->diags);
    return good ? unknown : RELAX_NOT_FOUND;
}

size_t relax_memory_estimate_at(relax_context *ctx, const relax_base_func *func,
                                const relax_prim_expr *const *vars, const int64_t *values,
                                size_t count, int64_t *tensors, int64_t *storages)
{
    rlx_memory_estimate found;
    if (!RLX_API_CONTEXT(ctx) || !are_given(ctx, tensors, storages) ||
        !are_sizes(ctx, vars, values, count))
        return refused(ctx);
    rlx_assignment at = { (const rlx_prim_var *const *)(const void *)vars, values, count };
    size_t unknown = count_as_it_stands(ctx, func, &found);
    return give_bytes(ctx, unknown, &found, &at, tensors, storages);
}

size_t relax_memory_usage_at(relax_context *ctx, const relax_module *module, const char *function,
                             size_t function_len, const relax_prim_expr *const *vars,
                             const int64_t *values, size_t count, int64_t *tensors,
                             int64_t *storages)
{
    rlx_memory_estimate found;
    if (!RLX_API_CONTEXT(ctx) || !are_given(ctx, tensors, storages) ||
        !are_sizes(ctx, vars, values, count))
        return refused(ctx);
    rlx_assignment at = { (const rlx_prim_var *const *)(const void *)vars, values, count };
    size_t unknown = count_lowered(ctx, module, function, function_len, &found);
    return give_bytes(ctx, unknown, &found, &at, tensors, storages);
}
