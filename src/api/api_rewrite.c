/* api_rewrite.c: substitution, copies, functions out of functions and back. */
#include <relax/rewrite.h>
#include "api/api_int.h"

#include "analysis/analysis.h"
#include "transform/edit.h"
#include "transform/transform.h"

/* ---- substitution */

typedef struct pairs {
    rlx_prims from, to;   /* shape variables */
    rlx_rewriter names;   /* Relax variables */
    size_t num_names;
} pairs;

static bool fits_variable(relax_context *ctx, const rlx_var *v, const rlx_expr *leaf)
{
    rlx_scope scope;
    rlx_scope_init(&scope, ctx, NULL);
    const rlx_sinfo *have = rlx_leaf_sinfo(ctx, NULL, leaf);
    bool fits = !v->sinfo ||
                (have && rlx_assignable(ctx, &scope, have, v->sinfo, NULL) >= RLX_ASSIGNABLE_VALUE);
    rlx_scope_free(&scope);
    if (!fits && !ctx->diags.out_of_memory)
        rlx_error(ctx, RLX_OP17, v->place, "%s, which is %s, does not take the place of %s, "
                  "which is %s", rlx_show(ctx, leaf), have ? rlx_show(ctx, have) : "no value",
                  rlx_show(ctx, &v->node), rlx_show(ctx, v->sinfo));
    return fits;
}

static bool take_variable(relax_context *ctx, pairs *p, const rlx_var *v, const rlx_node *to,
                          const rlx_ptrmap *bound)
{
    if (rlx_ptrmap_has(bound, v))
        return rlx_error(ctx, RLX_OP02, v->place, "%s is bound inside, and cannot be replaced",
                         rlx_show(ctx, &v->node)) != NULL;
    if (!rlx_is_leaf(to))
        return rlx_error(ctx, RLX_OP02, v->place, "a variable is replaced by a leaf, found %s",
                         rlx_kinds[to->kind].name) != NULL;
    if (!fits_variable(ctx, v, to))
        return false;
    p->num_names++;
    return rlx_ptrmap_put(&p->names.map, v, (uintptr_t)to);
}

static bool take_size(relax_context *ctx, pairs *p, const rlx_prim_var *v, const rlx_node *to)
{
    if (rlx_family_of(to) != RLX_FAMILY_PRIM || rlx_prim_dtype(to) != v->dtype)
        return rlx_error(ctx, RLX_OP02, v->place,
                         "a shape variable is replaced by an integer expression of its dtype, "
                         "found %s", rlx_kinds[to->kind].name) != NULL;
    return rlx_vec_push(&ctx->memory, &p->from, &v->node) && rlx_vec_push(&ctx->memory, &p->to, to);
}

static bool take_pairs(relax_context *ctx, pairs *p, const rlx_node *n,
                       const rlx_node *const *from, const rlx_node *const *to, size_t count)
{
    rlx_vars bound = { 0 };
    rlx_ptrmap set;
    rlx_ptrmap_init(&set, &ctx->memory);
    bool good = rlx_bound_vars(ctx, n, &bound);
    for (size_t i = 0; good && i < bound.len; i++)
        good = rlx_ptrmap_put(&set, bound.data[i], 1);
    for (size_t i = 0; good && i < count; i++) {
        if (rlx_as_var(from[i]))
            good = take_variable(ctx, p, rlx_as_var(from[i]), to[i], &set);
        else if (rlx_as_prim_var(from[i]))
            good = take_size(ctx, p, rlx_as_prim_var(from[i]), to[i]);
        else
            good = rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "from[%zu] is a %s, expected a variable",
                             i, rlx_kinds[from[i]->kind].name) != NULL;
    }
    rlx_ptrmap_free(&set);
    rlx_vec_free(&ctx->memory, &bound);
    return good;
}

/* Sizes first: what stands for Relax variables is not looked into. */
static const rlx_node *substitute(relax_context *ctx, const rlx_node *n,
                                  const rlx_node *const *from, const rlx_node *const *to,
                                  size_t count, bool renew)
{
    pairs p = { .num_names = 0 };
    rlx_rewriter_init(&p.names, ctx);
    bool good = take_pairs(ctx, &p, n, from, to, count);
    const rlx_node *out =
        good ? rlx_substitute(ctx, n, p.from.data, p.to.data, p.from.len) : NULL;
    if (out && p.num_names)
        out = rlx_rewrite(&p.names, out);
    if (out && renew)
        out = rlx_copy_fresh(ctx, out);
    rlx_rewriter_free(&p.names);
    rlx_vec_free(&ctx->memory, &p.from);
    rlx_vec_free(&ctx->memory, &p.to);
    return out;
}

static bool is_substitutable(relax_context *ctx, const relax_node *node)
{
    if (!rlx_api_node(ctx, node, "node"))
        return false;
    enum rlx_family f = rlx_family_of(node_of(node));
    bool fits = f == RLX_FAMILY_EXPR || f == RLX_FAMILY_SINFO || f == RLX_FAMILY_PRIM ||
                f == RLX_FAMILY_FUNC;
    if (!fits)
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "node is a %s, expected an expression, function, "
                  "struct info or integer expression", rlx_kinds[node_of(node)->kind].name);
    return fits;
}

const relax_node *relax_node_substitute(relax_context *ctx, const relax_node *node,
                                        const relax_node *const *from, const relax_node *const *to,
                                        size_t count, int32_t renew)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_substitutable(ctx, node) &&
                rlx_api_array(ctx, (const void *const *)from, count, "from") &&
                rlx_api_array(ctx, (const void *const *)to, count, "to");
    for (size_t i = 0; good && i < count; i++)
        good = rlx_api_node(ctx, from[i], "from") && rlx_api_node(ctx, to[i], "to");
    return give(ctx, good ? substitute(ctx, node_of(node), nodes_of(from), nodes_of(to), count,
                                       renew != 0)
                          : NULL);
}

const relax_node *relax_node_copy_renewed(relax_context *ctx, const relax_node *node)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx, is_substitutable(ctx, node) ? rlx_copy_fresh(ctx, node_of(node)) : NULL);
}

/* ---- functions out of functions */

/* The module and the GlobalVar of a function of it, which must be given. */
static bool is_function_of(relax_context *ctx, const relax_module *module, const char *function,
                           size_t function_len, const rlx_global_var **gv)
{
    return rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") &&
           rlx_api_required(ctx, function, "function") &&
           rlx_api_function(ctx, rlx_as_module(node_of(module)), function, function_len, gv);
}

relax_module *relax_module_extract_function(relax_context *ctx, const relax_module *module,
                                            const char *function, size_t function_len,
                                            const relax_binding *first, const relax_binding *last,
                                            const char *name, size_t name_len)
{
    const rlx_global_var *gv = NULL;
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, first, RLX_FAMILY_BINDING, "first") ||
        !rlx_api_family(ctx, last, RLX_FAMILY_BINDING, "last") ||
        !is_function_of(ctx, module, function, function_len, &gv) ||
        !rlx_api_function_name(ctx, name, name_len, "name", &slice))
        return give(ctx, NULL);
    rlx_float_env host = rlx_float_enter();
    const rlx_module *out = rlx_extract_function(ctx, rlx_as_module(node_of(module)), gv,
                                                 node_of(first), node_of(last), slice);
    rlx_float_leave(host);
    return give(ctx, out);
}

/* The function of the module that the binding calls; NULL after a report. */
static const rlx_global_var *callee_of(relax_context *ctx, const rlx_binding *b)
{
    const rlx_var_binding *vb = rlx_as_var_binding(b);
    const rlx_match_cast *mc = rlx_as_match_cast(b);
    const rlx_call *call = rlx_as_call(vb ? vb->value : mc ? mc->value : NULL);
    const rlx_global_var *gv = call ? rlx_as_global_var(call->op) : NULL;
    if (!gv)
        rlx_error(ctx, RLX_OP02, rlx_place_of(b),
                  "the binding does not call a function of the module");
    return gv;
}

static const rlx_module *inlined(relax_context *ctx, const relax_module *module,
                                 const rlx_global_var *callee, const rlx_global_var *caller,
                                 const rlx_binding *only)
{
    rlx_float_env host = rlx_float_enter();
    const rlx_module *out =
        rlx_inline_function(ctx, rlx_as_module(node_of(module)), callee, caller, only);
    rlx_float_leave(host);
    return out;
}

relax_module *relax_module_inline_call(relax_context *ctx, const relax_module *module,
                                       const char *function, size_t function_len,
                                       const relax_binding *binding)
{
    const rlx_global_var *gv = NULL;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, binding, RLX_FAMILY_BINDING, "binding") ||
        !is_function_of(ctx, module, function, function_len, &gv))
        return give(ctx, NULL);
    const rlx_global_var *callee = callee_of(ctx, node_of(binding));
    return give(ctx, callee ? inlined(ctx, module, callee, gv, node_of(binding)) : NULL);
}

relax_module *relax_module_inline_function(relax_context *ctx, const relax_module *module,
                                           const char *function, size_t function_len)
{
    const rlx_global_var *gv = NULL;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_function_of(ctx, module, function, function_len, &gv);
    return give(ctx, good ? inlined(ctx, module, gv, NULL, NULL) : NULL);
}
