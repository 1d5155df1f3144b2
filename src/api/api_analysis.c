/* api_analysis.c: questions about programs. */
#include <relax/analysis.h>
#include "api/api_int.h"

#include "analysis/analysis.h"
#include "arith/arith.h"
#include "sinfo/sinfo.h"
#include "transform/transform.h"

int32_t relax_well_formed(relax_context *ctx, const relax_module *module, int32_t stage)
{
    if (!API_CONTEXT(ctx) || !api_family(ctx, module, RLX_FAMILY_MODULE, "module"))
        return API_READS(ctx) ? (give(ctx, NULL), -1) : -1;
    if (stage < RELAX_CHECK_ANY || stage > RELAX_CHECK_ALL)
        return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "there is no stage %d", stage),
               give(ctx, NULL), -1;
    rlx_float_env host = rlx_float_enter();
    bool ok = rlx_well_formed(ctx, rlx_as_module(node_of(module)), (enum rlx_stage)stage);
    rlx_float_leave(host);
    rlx_diags_flush(&ctx->diags);
    return ctx->diags.out_of_memory ? -1 : ok;
}

relax_module *relax_normalize(relax_context *ctx, const relax_module *module)
{
    if (!API_CONTEXT(ctx))
        return NULL;
    if (!api_family(ctx, module, RLX_FAMILY_MODULE, "module"))
        return give(ctx, NULL);
    rlx_pass_step step = { .row = rlx_pass_find(RLX_SLICE("normalize")) };
    return give(ctx, rlx_run_passes(ctx, rlx_as_module(node_of(module)), &step, 1, NULL));
}

relax_module *relax_infer(relax_context *ctx, const relax_module *module)
{
    if (!API_CONTEXT(ctx))
        return NULL;
    if (!api_family(ctx, module, RLX_FAMILY_MODULE, "module"))
        return give(ctx, NULL);
    rlx_float_env host = rlx_float_enter();
    const rlx_module *inferred = rlx_infer_module(ctx, rlx_as_module(node_of(module)));
    rlx_float_leave(host);
    return give(ctx, inferred);
}

/* ---- struct info; shape variables count as sizes, so they are >= 0 */

static bool scope_of(rlx_scope *scope, relax_context *ctx, const void *a, const void *b)
{
    rlx_prim_vars vars = { 0 };
    /* A callback asks where something is known already. */
    const rlx_scope *around = ctx->host ? ctx->host->scope : NULL;
    rlx_scope_init(scope, ctx, around);
    bool ok = rlx_collect_prim_vars(&ctx->memory, a, false, &vars) &&
              rlx_collect_prim_vars(&ctx->memory, b, false, &vars);
    for (size_t i = 0; ok && i < vars.len; i++)
        ok = rlx_scope_has(around, vars.data[i]) || rlx_scope_add(scope, vars.data[i], true);
    rlx_vec_free(&ctx->memory, &vars);
    return ok || rlx_no_memory(ctx);
}

static bool two(relax_context *ctx, const void *a, const void *b, enum rlx_family family)
{
    return api_family(ctx, a, family, "a") && api_family(ctx, b, family, "b");
}

int32_t relax_struct_info_fit(relax_context *ctx, const relax_struct_info *a,
                              const relax_struct_info *b)
{
    rlx_scope scope;
    if (!API_CONTEXT(ctx) || !two(ctx, a, b, RLX_FAMILY_SINFO))
        return API_READS(ctx) ? (give(ctx, NULL), -1) : -1;
    int32_t answer = scope_of(&scope, ctx, a, b)
                         ? (int32_t)rlx_fit(ctx, &scope, node_of(a), node_of(b), NULL)
                         : -1;
    rlx_scope_free(&scope);
    return answer;
}

relax_struct_info *relax_struct_info_lub(relax_context *ctx, const relax_struct_info *a,
                                         const relax_struct_info *b)
{
    rlx_scope scope;
    if (!API_CONTEXT(ctx) || !two(ctx, a, b, RLX_FAMILY_SINFO))
        return API_READS(ctx) ? give(ctx, NULL) : NULL;
    const rlx_sinfo *lub =
        scope_of(&scope, ctx, a, b) ? rlx_lub(ctx, &scope, node_of(a), node_of(b)) : NULL;
    rlx_scope_free(&scope);
    return give(ctx, lub);
}

typedef struct visible_list { const relax_prim_expr *const *vars; size_t count; } visible_list;

static bool is_visible(void *user, const rlx_prim_var *v)
{
    const visible_list *list = user;
    for (size_t i = 0; i < list->count; i++)
        if (node_of(list->vars[i]) == &v->node)
            return true;
    return false;
}

relax_struct_info *relax_struct_info_erase(relax_context *ctx, const relax_struct_info *info,
                                           const relax_prim_expr *const *visible, size_t count)
{
    if (!API_CONTEXT(ctx))
        return NULL;
    if (!api_family(ctx, info, RLX_FAMILY_SINFO, "info") ||
        !api_family_array(ctx, (const void *const *)visible, count, RLX_FAMILY_PRIM, "visible"))
        return give(ctx, NULL);
    visible_list list = { visible, count };
    rlx_visible v = { .shape_var = is_visible, .user = &list };
    return give(ctx, rlx_erase(ctx, node_of(info), &v));
}

relax_struct_info *relax_struct_info_static(relax_context *ctx, const relax_struct_info *info)
{
    if (!API_CONTEXT(ctx))
        return NULL;
    return give(ctx, api_family(ctx, info, RLX_FAMILY_SINFO, "info")
                         ? rlx_erase_to_static(ctx, node_of(info))
                         : NULL);
}

int32_t relax_prim_prove_equal(relax_context *ctx, const relax_prim_expr *a,
                               const relax_prim_expr *b)
{
    rlx_scope scope;
    if (!API_CONTEXT(ctx) || !two(ctx, a, b, RLX_FAMILY_PRIM))
        return API_READS(ctx) ? (give(ctx, NULL), -1) : -1;
    int32_t answer = scope_of(&scope, ctx, a, b)
                         ? (int32_t)rlx_prove_equal(ctx, &scope, node_of(a), node_of(b))
                         : -1;
    rlx_scope_free(&scope);
    return answer;
}

relax_prim_expr *relax_prim_simplify(relax_context *ctx, const relax_prim_expr *e)
{
    rlx_scope scope;
    if (!API_CONTEXT(ctx) || !api_family(ctx, e, RLX_FAMILY_PRIM, "e"))
        return API_READS(ctx) ? give(ctx, NULL) : NULL;
    rlx_float_env host = rlx_float_enter();
    const rlx_prim *p = scope_of(&scope, ctx, e, e) ? rlx_simplify(ctx, &scope, node_of(e)) : NULL;
    rlx_float_leave(host);
    rlx_scope_free(&scope);
    return give(ctx, p);
}

/* ---- variables */

static int64_t give_vars(relax_context *ctx, rlx_vars *vars, bool ok, const relax_expr **out,
                         size_t capacity)
{
    for (size_t i = 0; out && i < vars->len && i < capacity; i++)
        out[i] = API_EXPR(vars->data[i]);
    int64_t count = ok ? (int64_t)vars->len : -1;
    rlx_vec_free(&ctx->memory, vars);
    return count;
}

int64_t relax_free_vars(relax_context *ctx, const relax_node *node, const relax_expr **out,
                        size_t capacity)
{
    rlx_vars vars = { 0 };
    if (!API_CONTEXT(ctx) || !api_node(ctx, node, "node"))
        return API_READS(ctx) ? (give(ctx, NULL), -1) : -1;
    bool ok = rlx_free_vars(ctx, node_of(node), &vars);
    return give_vars(ctx, &vars, ok, out, capacity);
}

int64_t relax_bound_vars(relax_context *ctx, const relax_node *node, const relax_expr **out,
                         size_t capacity)
{
    rlx_vars vars = { 0 };
    if (!API_CONTEXT(ctx) || !api_node(ctx, node, "node"))
        return API_READS(ctx) ? (give(ctx, NULL), -1) : -1;
    bool ok = rlx_bound_vars(ctx, node_of(node), &vars);
    return give_vars(ctx, &vars, ok, out, capacity);
}

int64_t relax_free_shape_vars(relax_context *ctx, const relax_node *node,
                              const relax_prim_expr **out, size_t capacity)
{
    rlx_prim_vars vars = { 0 };
    if (!API_CONTEXT(ctx) || !api_node(ctx, node, "node"))
        return API_READS(ctx) ? (give(ctx, NULL), -1) : -1;
    int64_t count = rlx_free_shape_vars(ctx, node_of(node), &vars) ? (int64_t)vars.len : -1;
    for (size_t i = 0; out && i < vars.len && i < capacity; i++)
        out[i] = (const relax_prim_expr *)(const void *)vars.data[i];
    rlx_vec_free(&ctx->memory, &vars);
    return count;
}

const relax_expr *relax_find_impure_call(relax_context *ctx, const relax_module *module,
                                         const relax_base_func *func)
{
    if (!API_CONTEXT(ctx) || !api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !api_node(ctx, func, "func"))
        return API_READS(ctx) ? give(ctx, NULL) : NULL;
    if (!relax_base_func_kind(func))
        return give(ctx, rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "func is no function"));
    const rlx_module *m = rlx_as_module(node_of(module));
    rlx_env env = rlx_module_env(m);
    const rlx_expr *own = NULL;
    for (size_t i = 0; i < m->num_functions && !own; i++)
        own = m->functions[i] == node_of(func) ? m->gvars[i] : NULL;
    return give(ctx, rlx_as_function(node_of(func))
                         ? rlx_find_impure_call(ctx, &env, node_of(func), own)
                         : NULL);
}
