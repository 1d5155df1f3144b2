/* api_analysis.c: questions about programs. */
#include <relax/analysis.h>
#include "api/api_int.h"

#include "analysis/analysis.h"
#include "analysis/well_formed.h"
#include "arith/arith.h"
#include "sinfo/sinfo.h"
#include "transform/edit.h"
#include "transform/transform.h"

int32_t relax_module_well_formed(relax_context *ctx, const relax_module *module, int32_t stage)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module"))
        return RLX_API_READS(ctx) ? (give(ctx, NULL), 0) : 0;
    if (stage < RELAX_CHECK_ANY || stage > RELAX_CHECK_ALL)
        return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "there is no stage %d", stage),
               give(ctx, NULL), 0;
    rlx_float_env host = rlx_float_enter();
    bool ok = rlx_well_formed(ctx, rlx_as_module(node_of(module)), (enum rlx_stage)stage);
    rlx_float_leave(host);
    rlx_diags_flush(&ctx->diags);
    return ok && !ctx->diags.out_of_memory;
}

relax_module *relax_module_normalize(relax_context *ctx, const relax_module *module)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module"))
        return give(ctx, NULL);
    rlx_pass_step step = { .row = rlx_pass_find(RLX_SLICE("normalize")) };
    return give(ctx, rlx_run_passes(ctx, rlx_as_module(node_of(module)), &step, 1, NULL));
}

relax_module *relax_module_infer(relax_context *ctx, const relax_module *module)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module"))
        return give(ctx, NULL);
    rlx_float_env host = rlx_float_enter();
    const rlx_module *m = rlx_as_module(node_of(module)),
                     *inferred = rlx_infer_module_again(ctx, m, false);
    rlx_float_leave(host);
    return give(ctx, inferred);
}

/* ---- struct info; shape variables count as sizes, so they are >= 0 */

static bool scope_of(rlx_scope *scope, relax_context *ctx, const void *a, const void *b)
{
    rlx_prim_vars vars = { 0 };
    /* A callback asks where something is known already. */
    const rlx_scope *around = ctx->extensions ? ctx->extensions->scope : NULL;
    rlx_scope_init(scope, ctx, around);
    bool ok = rlx_collect_prim_vars(&ctx->memory, a, false, &vars) &&
              rlx_collect_prim_vars(&ctx->memory, b, false, &vars);
    for (size_t i = 0; ok && i < vars.len; i++)
        ok = rlx_scope_has(around, vars.data[i]) || rlx_scope_add(scope, vars.data[i], true);
    rlx_vec_free(&ctx->memory, &vars);
    return ok;
}

static bool two(relax_context *ctx, const void *a, const void *b, enum rlx_family family)
{
    return rlx_api_family(ctx, a, family, "a") && rlx_api_family(ctx, b, family, "b");
}

int32_t relax_struct_info_assignable(relax_context *ctx, const relax_struct_info *a,
                                     const relax_struct_info *b)
{
    rlx_scope scope;
    if (!RLX_API_CONTEXT(ctx) || !two(ctx, a, b, RLX_FAMILY_SINFO))
        return RLX_API_READS(ctx) ? (give(ctx, NULL), RELAX_ASSIGNABLE_FAILED)
                                  : RELAX_ASSIGNABLE_FAILED;
    int32_t answer = scope_of(&scope, ctx, a, b)
                         ? (int32_t)rlx_assignable(ctx, &scope, node_of(a), node_of(b), NULL)
                         : RELAX_ASSIGNABLE_FAILED;
    rlx_scope_free(&scope);
    return answer;
}

relax_struct_info *relax_struct_info_lub(relax_context *ctx, const relax_struct_info *a,
                                         const relax_struct_info *b)
{
    rlx_scope scope;
    if (!RLX_API_CONTEXT(ctx) || !two(ctx, a, b, RLX_FAMILY_SINFO))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
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
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, info, RLX_FAMILY_SINFO, "info") ||
        !rlx_api_family_array(ctx, (const void *const *)visible, count, RLX_FAMILY_PRIM, "visible"))
        return give(ctx, NULL);
    visible_list list = { visible, count };
    rlx_visible v = { .shape_var = is_visible, .user = &list };
    return give(ctx, rlx_erase(ctx, node_of(info), &v));
}

relax_struct_info *relax_struct_info_static(relax_context *ctx, const relax_struct_info *info)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx, rlx_api_family(ctx, info, RLX_FAMILY_SINFO, "info")
                         ? rlx_erase_to_static(ctx, node_of(info))
                         : NULL);
}

int32_t relax_prim_prove_equal(relax_context *ctx, const relax_prim_expr *a,
                               const relax_prim_expr *b)
{
    rlx_scope scope;
    if (!RLX_API_CONTEXT(ctx) || !two(ctx, a, b, RLX_FAMILY_PRIM))
        return RLX_API_READS(ctx) ? (give(ctx, NULL), RELAX_PROOF_FAILED) : RELAX_PROOF_FAILED;
    int32_t answer = scope_of(&scope, ctx, a, b)
                         ? (int32_t)rlx_prove_equal(ctx, &scope, node_of(a), node_of(b))
                         : RELAX_PROOF_FAILED;
    rlx_scope_free(&scope);
    return answer;
}

relax_prim_expr *relax_prim_simplify(relax_context *ctx, const relax_prim_expr *e)
{
    rlx_scope scope;
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_family(ctx, e, RLX_FAMILY_PRIM, "e"))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    rlx_float_env host = rlx_float_enter();
    const rlx_prim *p = scope_of(&scope, ctx, e, e) ? rlx_simplify(ctx, &scope, node_of(e)) : NULL;
    rlx_float_leave(host);
    rlx_scope_free(&scope);
    return give(ctx, p);
}

/* ---- variables */

/* Nodes listed by a room, for the bodies below: counted and written. */
typedef RLX_VEC(const rlx_node *) node_list;
typedef bool find_nodes(rlx_context *ctx, const rlx_node *n, node_list *out);

static size_t give_list(relax_context *ctx, node_list *list, bool ok, const void *out,
                        size_t capacity)
{
    const rlx_node **to = (const rlx_node **)(uintptr_t)out;
    for (size_t i = 0; to && i < list->len && i < capacity; i++)
        to[i] = list->data[i];
    size_t count = ok ? list->len : RELAX_NOT_FOUND;
    rlx_vec_free(&ctx->memory, list);
    rlx_diags_flush(&ctx->diags);
    return count;
}

static size_t list_of(relax_context *ctx, const relax_node *node, find_nodes *find,
                      const void *out, size_t capacity)
{
    node_list list = { 0 };
    if (!rlx_api_node(ctx, node, "node"))
        return give(ctx, NULL), RELAX_NOT_FOUND;
    bool ok = find(ctx, node_of(node), &list);
    return give_list(ctx, &list, ok, out, capacity);
}

/* The lists of the rooms have the same form, for nodes of one kind each. */
#define LIST(name, find)                                                            \
    static bool name(rlx_context *ctx, const rlx_node *n, node_list *out)           \
    {                                                                               \
        return find;                                                                \
    }
LIST(all_vars, rlx_all_vars(ctx, n, (rlx_vars *)(void *)out))
LIST(free_vars, rlx_free_vars(ctx, n, (rlx_vars *)(void *)out))
LIST(bound_vars, rlx_bound_vars(ctx, n, (rlx_vars *)(void *)out))
LIST(free_sizes, rlx_free_shape_vars(ctx, n, (rlx_prim_vars *)(void *)out))
LIST(bound_sizes, rlx_defined_shape_vars(ctx, n, (rlx_prim_vars *)(void *)out))
LIST(all_sizes, rlx_collect_prim_vars(&ctx->memory, n, false, (rlx_prim_vars *)(void *)out))
LIST(definable_sizes, rlx_collect_prim_vars(&ctx->memory, n, true, (rlx_prim_vars *)(void *)out))
LIST(non_negative, rlx_non_negative(ctx, n, (rlx_prims *)(void *)out))
LIST(global_vars, rlx_mentioned_globals(ctx, n, false, (rlx_global_vars *)(void *)out))
LIST(called_vars, rlx_mentioned_globals(ctx, n, true, (rlx_global_vars *)(void *)out))

#define LISTED(name, type, find)                                                    \
    size_t name(relax_context *ctx, const relax_node *node, const type **out,       \
                size_t capacity)                                                    \
    {                                                                               \
        return RLX_API_CONTEXT(ctx) ? list_of(ctx, node, find, out, capacity)       \
                                    : RELAX_NOT_FOUND;                              \
    }
LISTED(relax_all_vars, relax_expr, all_vars)
LISTED(relax_free_vars, relax_expr, free_vars)
LISTED(relax_bound_vars, relax_expr, bound_vars)
LISTED(relax_all_shape_vars, relax_prim_expr, all_sizes)
LISTED(relax_free_shape_vars, relax_prim_expr, free_sizes)
LISTED(relax_bound_shape_vars, relax_prim_expr, bound_sizes)
LISTED(relax_definable_shape_vars, relax_prim_expr, definable_sizes)
LISTED(relax_non_negative_exprs, relax_prim_expr, non_negative)
LISTED(relax_global_vars, relax_expr, global_vars)
LISTED(relax_called_global_vars, relax_expr, called_vars)

/* ---- functions and their calls */

static const rlx_module *module_of(relax_context *ctx, const relax_module *module)
{
    return rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ? rlx_as_module(node_of(module))
                                                                    : NULL;
}

size_t relax_function_groups(relax_context *ctx, const relax_module *module, size_t *group,
                             int32_t *recursive, size_t capacity)
{
    const rlx_module *m = RLX_API_CONTEXT(ctx) ? module_of(ctx, module) : NULL;
    if (!m)
        return RLX_API_READS(ctx) ? (give(ctx, NULL), RELAX_NOT_FOUND) : RELAX_NOT_FOUND;
    rlx_memory *memory = &ctx->memory;
    size_t n = m->num_functions;
    uint32_t *numbers = rlx_mem_alloc(memory, (n + 1) * sizeof *numbers), groups = 0;
    bool *around = rlx_mem_alloc_zero(memory, n + 1);
    bool good = numbers && around && rlx_call_groups(ctx, m, numbers, around);
    for (size_t i = 0; good && i < n; i++) {
        groups = numbers[i] >= groups ? numbers[i] + 1 : groups;
        if (group && i < capacity)
            group[i] = numbers[i];
        if (recursive && i < capacity)
            recursive[i] = around[i];
    }
    rlx_mem_free(memory, numbers, numbers ? (n + 1) * sizeof *numbers : 0);
    rlx_mem_free(memory, around, around ? n + 1 : 0);
    return good ? groups : RELAX_NOT_FOUND;
}

/* Marks where the search begins; false after a report. */
static bool mark_entries(relax_context *ctx, const rlx_module *m,
                         const relax_expr *const *entries, size_t count, bool *reached)
{
    for (size_t i = 0; !entries && i < m->num_functions; i++)
        reached[i] = rlx_link_name(m->functions[i]) != NULL;
    for (size_t i = 0; entries && i < count; i++) {
        const rlx_global_var *gv = rlx_as_global_var(node_of(entries[i]));
        int64_t at = gv ? rlx_module_index(m, gv) : -1;
        if (at < 0)
            return rlx_error(ctx, gv ? RLX_OP15 : RLX_OP02, RLX_NO_PLACE,
                             "item %zu of entries is no function of the module", i) != NULL;
        reached[at] = true;
    }
    return true;
}

size_t relax_reachable_functions(relax_context *ctx, const relax_module *module,
                                 const relax_expr *const *entries, size_t num_entries,
                                 const relax_expr **out, size_t capacity)
{
    node_list list = { 0 };
    const rlx_module *m = RLX_API_CONTEXT(ctx) ? module_of(ctx, module) : NULL;
    if (!m || (entries && !rlx_api_family_array(ctx, (const void *const *)entries, num_entries,
                                                RLX_FAMILY_EXPR, "entries")))
        return RLX_API_READS(ctx) ? (give(ctx, NULL), RELAX_NOT_FOUND) : RELAX_NOT_FOUND;
    size_t n = m->num_functions;
    bool *reached = rlx_mem_alloc_zero(&ctx->memory, n + 1);
    bool good = (reached) && mark_entries(ctx, m, entries, num_entries, reached) &&
                rlx_reach(ctx, m, reached);
    for (size_t i = 0; good && i < n; i++)
        good = !reached[i] || rlx_vec_push(&ctx->memory, &list, m->gvars[i]);
    rlx_mem_free(&ctx->memory, reached, reached ? n + 1 : 0);
    return give_list(ctx, &list, good, out, capacity);
}

const relax_expr *relax_find_impure_call(relax_context *ctx, const relax_module *module,
                                         const relax_base_func *func)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !rlx_api_node(ctx, func, "func"))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
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

int32_t relax_contains_impure_call(relax_context *ctx, const relax_module *module,
                                   const relax_expr *expr, const relax_expr *own,
                                   const relax_expr **call, int32_t report)
{
    const rlx_module *m = RLX_API_CONTEXT(ctx) ? module_of(ctx, module) : NULL;
    if (call)
        *call = NULL;
    if (!m || !rlx_api_family(ctx, expr, RLX_FAMILY_EXPR, "expr") ||
        (own && !rlx_api_family(ctx, own, RLX_FAMILY_EXPR, "own")))
        return RLX_API_READS(ctx) ? (give(ctx, NULL), 0) : 0;
    rlx_env env = rlx_module_env(m);
    const rlx_call *found = rlx_find_impure_call(ctx, &env, node_of(expr), node_of(own));
    if (call)
        *call = RLX_API_EXPR(found);
    if (found && report)
        rlx_report(ctx, RLX_PU02, RLX_SEVERITY_NOTE, found->place, "impure call to %s",
                   rlx_show(ctx, found->op));
    give(ctx, NULL);
    return found != NULL;
}

/* ---- what a function needs */

static const rlx_function *relax_function_of(relax_context *ctx, const relax_base_func *func)
{
    if (!rlx_api_node(ctx, func, "func"))
        return NULL;
    const rlx_function *f = rlx_as_function(node_of(func));
    return f && f->body
               ? f
               : rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "func is no Relax function");
}

size_t relax_computable_at_compile_time(relax_context *ctx, const relax_module *module,
                                        const relax_base_func *func, const relax_expr **out,
                                        size_t capacity)
{
    node_list list = { 0 };
    const rlx_module *m = RLX_API_CONTEXT(ctx) ? module_of(ctx, module) : NULL;
    const rlx_function *f = m ? relax_function_of(ctx, func) : NULL;
    if (!f)
        return RLX_API_READS(ctx) ? (give(ctx, NULL), RELAX_NOT_FOUND) : RELAX_NOT_FOUND;
    bool ok = rlx_computable_before(ctx, m, f, (rlx_vars *)(void *)&list);
    return give_list(ctx, &list, ok, out, capacity);
}

int32_t relax_has_reshape_pattern(relax_context *ctx, const relax_base_func *func)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_node(ctx, func, "func"))
        return RLX_API_READS(ctx) ? (give(ctx, NULL), 0) : 0;
    const rlx_prim_func *f = rlx_as_prim_func(node_of(func));
    if (!f)
        return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "func is no PrimFunc"), give(ctx, NULL), 0;
    rlx_float_env host = rlx_float_enter();
    bool yes = rlx_is_reshape(ctx, f);
    rlx_float_leave(host);
    rlx_diags_flush(&ctx->diags);
    return yes && !ctx->diags.out_of_memory;
}
