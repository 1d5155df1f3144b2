/* api_module.c: edits of modules. */
#include <relax/module.h>
#include "api/api_int.h"

#include <string.h>

#include "transform/edit.h"
#include "transform/transform.h"

static const rlx_module *in(const relax_module *m) { return rlx_as_module(node_of(m)); }

static bool is_module(relax_context *ctx, const relax_module *m, const char *what)
{
    return rlx_api_family(ctx, m, RLX_FAMILY_MODULE, what);
}

static bool is_function(relax_context *ctx, const relax_base_func *func)
{
    if (!rlx_api_node(ctx, func, "func"))
        return false;
    if (!relax_base_func_kind(func))
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "func is no function");
    return relax_base_func_kind(func) != 0;
}

/* ---- functions */

relax_module *relax_module_add(relax_context *ctx, const relax_module *module, const char *name,
                               size_t name_len, const relax_base_func *func)
{
    rlx_slice n;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_module(ctx, module, "module") &&
                rlx_api_function_name(ctx, name, name_len, "name", &n) && is_function(ctx, func);
    return give(ctx, good ? rlx_module_add(ctx, in(module), n, node_of(func)) : NULL);
}

relax_module *relax_module_replace(relax_context *ctx, const relax_module *module,
                                   const char *name, size_t name_len, const relax_base_func *func)
{
    rlx_slice n;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_module(ctx, module, "module") && rlx_api_name(ctx, name, name_len, "name", &n) &&
                is_function(ctx, func);
    return give(ctx, good ? rlx_module_replace(ctx, in(module), n, node_of(func)) : NULL);
}

relax_module *relax_module_remove(relax_context *ctx, const relax_module *module, const char *name,
                                  size_t name_len, int32_t mentioned)
{
    rlx_slice n;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_module(ctx, module, "module") && rlx_api_name(ctx, name, name_len, "name", &n);
    return give(ctx, good ? rlx_module_remove(ctx, in(module), n, mentioned != 0) : NULL);
}

relax_module *relax_module_rename(relax_context *ctx, const relax_module *module, const char *from,
                                  size_t from_len, const char *to, size_t to_len)
{
    rlx_slice old, now;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_module(ctx, module, "module") &&
                rlx_api_name(ctx, from, from_len, "from", &old) &&
                rlx_api_function_name(ctx, to, to_len, "to", &now);
    return give(ctx, good ? rlx_module_rename(ctx, in(module), old, now) : NULL);
}

relax_module *relax_module_set_public(relax_context *ctx, const relax_module *module,
                                      const char *name, size_t name_len, int32_t is_public)
{
    rlx_slice n;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_module(ctx, module, "module") && rlx_api_name(ctx, name, name_len, "name", &n);
    return give(ctx, good ? rlx_module_publish(ctx, in(module), n, is_public != 0) : NULL);
}

const char *relax_base_func_link_name(const relax_base_func *func, size_t *len)
{
    const rlx_string *s = func ? rlx_link_name(node_of(func)) : NULL;
    if (len)
        *len = s ? s->len : 0;
    return s ? s->data : NULL;
}

relax_module *relax_module_merge(relax_context *ctx, const relax_module *a, const relax_module *b)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_module(ctx, a, "a") && is_module(ctx, b, "b");
    if (!good || a == b)
        return give(ctx, good ? in(a) : NULL);
    return give(ctx, rlx_module_made_of(rlx_merge_modules(ctx, in(a), in(b)), in(b)));
}

/* ---- attributes */

static relax_module *with_maps(relax_context *ctx, const rlx_module *m, const rlx_attr *attrs,
                               const rlx_attr *infos)
{
    if (attrs == m->attrs && infos == m->global_infos)
        return give(ctx, m);
    return give(ctx, rlx_module_made_of(rlx_module_new(ctx, m->gvars, m->functions,
                                                       m->num_functions, attrs, infos, m->place),
                                        m));
}

relax_module *relax_module_set_attrs(relax_context *ctx, const relax_module *module,
                                     const relax_attr *attrs)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!is_module(ctx, module, "module") || !rlx_api_map_or_null(ctx, attrs, "attrs"))
        return give(ctx, NULL);
    return with_maps(ctx, in(module), node_of(attrs), in(module)->global_infos);
}

static bool are_lists(relax_context *ctx, const relax_attr *infos)
{
    const rlx_attrs *map = rlx_as_attrs(node_of(infos));
    for (size_t i = 0; map && i < map->num_values; i++)
        if (!rlx_is(map->values[i], RLX_NODE_ATTR_LIST))
            return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "global info %s is no list",
                             ((const rlx_attr_string *)map->keys[i])->value->data) != NULL;
    return true;
}

relax_module *relax_module_set_global_infos(relax_context *ctx, const relax_module *module,
                                            const relax_attr *infos)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!is_module(ctx, module, "module") || !rlx_api_map_or_null(ctx, infos, "infos") ||
        !are_lists(ctx, infos))
        return give(ctx, NULL);
    return with_maps(ctx, in(module), in(module)->attrs, node_of(infos));
}

const relax_attr *relax_module_global_infos(const relax_module *module)
{
    const rlx_module *m = in(module);
    return m ? (const relax_attr *)(const void *)m->global_infos : NULL;
}

const relax_base_func *relax_base_func_with_attrs(relax_context *ctx, const relax_base_func *func,
                                                  const relax_attr *attrs)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!is_function(ctx, func) || !rlx_api_map_or_null(ctx, attrs, "attrs"))
        return give(ctx, NULL);
    if (rlx_is(node_of(func), RLX_NODE_EXTERN_FUNC))
        return give(ctx, rlx_error(ctx, RLX_OP02, RLX_NO_PLACE,
                                   "a packed function has no attributes"));
    return give(ctx, rlx_with_function_attrs(ctx, node_of(func), node_of(attrs)));
}

/* ---- parameters and sizes */

static bool are_params(relax_context *ctx, const relax_expr *const *params,
                       const relax_expr *const *constants, size_t count)
{
    rlx_ptrmap seen;
    bool good =
        rlx_api_family_array(ctx, (const void *const *)params, count, RLX_FAMILY_EXPR, "params") &&
        rlx_api_family_array(ctx, (const void *const *)constants, count, RLX_FAMILY_EXPR,
                             "constants");
    rlx_ptrmap_init(&seen, &ctx->memory);
    for (size_t i = 0; good && i < count; i++) {
        const char *wrong = !rlx_as_var(node_of(params[i]))             ? "no variable"
                            : !rlx_as_constant(node_of(constants[i])) ? "not given a constant"
                                                                        : NULL;
        bool twice = !wrong && rlx_ptrmap_has(&seen, params[i]);
        good = !wrong && !twice;
        if (wrong)
            rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "parameter %zu is %s", i, wrong);
        else if (twice)
            rlx_error(ctx, RLX_OP16, RLX_NO_PLACE, "parameter %s is bound twice",
                      rlx_show(ctx, node_of(params[i])));
        else
            good = rlx_ptrmap_put(&seen, params[i], 1);
    }
    rlx_ptrmap_free(&seen);
    return good;
}

relax_module *relax_module_bind_constants(relax_context *ctx, const relax_module *module,
                                          const relax_expr *const *params,
                                          const relax_expr *const *constants, size_t count)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!is_module(ctx, module, "module") || !are_params(ctx, params, constants, count))
        return give(ctx, NULL);
    rlx_weight *w = rlx_mem_alloc_zero(&ctx->memory, (count + 1) * sizeof *w);
    for (size_t i = 0; w && i < count; i++) {
        const rlx_constant *c = rlx_as_constant(node_of(constants[i]));
        w[i] = (rlx_weight){ .param = rlx_as_var(node_of(params[i])),
                             .dtype = c->dtype,
                             .shape = c->shape,
                             .ndim = c->num_shape,
                             .data = c->data };
    }
    const rlx_module *out =
        w ? rlx_bind_params(ctx, in(module), (rlx_slice){ NULL, 0 }, w, count) : NULL;
    rlx_mem_free(&ctx->memory, w, w ? (count + 1) * sizeof *w : 0);
    return give(ctx, out);
}

static relax_module *bind_sizes(relax_context *ctx, const rlx_module *m, rlx_slice function,
                                const rlx_shape_binding *bindings, size_t count)
{
    rlx_float_env host = rlx_float_enter();
    const rlx_module *out =
        bindings ? rlx_bind_shape_vars(ctx, m, function, bindings, count) : NULL;
    rlx_float_leave(host);
    return give(ctx, out);
}

relax_module *relax_module_bind_shape_vars(relax_context *ctx, const relax_module *module,
                                           const relax_prim_expr *const *vars,
                                           const relax_prim_expr *const *values, size_t count)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!is_module(ctx, module, "module") ||
        !rlx_api_family_array(ctx, (const void *const *)vars, count, RLX_FAMILY_PRIM, "vars") ||
        !rlx_api_family_array(ctx, (const void *const *)values, count, RLX_FAMILY_PRIM, "values"))
        return give(ctx, NULL);
    rlx_shape_binding *b = rlx_mem_alloc_zero(&ctx->memory, (count + 1) * sizeof *b);
    bool good = b;
    for (size_t i = 0; good && i < count; i++) {
        b[i] = (rlx_shape_binding){ .var = rlx_as_prim_var(node_of(vars[i])),
                                    .value = node_of(values[i]) };
        if (!b[i].var)
            good = rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "item %zu of vars is no variable", i) !=
                   NULL;
    }
    relax_module *out =
        bind_sizes(ctx, in(module), (rlx_slice){ NULL, 0 }, good ? b : NULL, count);
    rlx_mem_free(&ctx->memory, b, b ? (count + 1) * sizeof *b : 0);
    return out;
}

/* One name may be given once. */
static bool read_names(relax_context *ctx, const char *const *names,
                       const relax_prim_expr *const *values, size_t count, rlx_shape_binding *b)
{
    rlx_map seen;
    bool good = true;
    rlx_map_init(&seen, &ctx->memory);
    for (size_t i = 0; good && i < count; i++) {
        b[i] = (rlx_shape_binding){ .value = node_of(values[i]) };
        good = rlx_api_name(ctx, names[i], strlen(names[i]), "names", &b[i].name);
        if (good && rlx_map_has(&seen, b[i].name))
            good = rlx_error(ctx, RLX_OP16, RLX_NO_PLACE, "shape variable %.*s is bound twice",
                             rlx_api_width(b[i].name), b[i].name.data) != NULL;
        else if (good)
            good = rlx_map_put(&seen, b[i].name, b);
    }
    rlx_map_free(&seen);
    return good;
}

relax_module *relax_module_bind_shape_names(relax_context *ctx, const relax_module *module,
                                            const char *function, size_t function_len,
                                            const char *const *names,
                                            const relax_prim_expr *const *values, size_t count)
{
    rlx_slice only = { NULL, 0 };
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!is_module(ctx, module, "module") ||
        (function && !rlx_api_name(ctx, function, function_len, "function", &only)) ||
        !rlx_api_array(ctx, (const void *const *)names, count, "names") ||
        !rlx_api_family_array(ctx, (const void *const *)values, count, RLX_FAMILY_PRIM, "values"))
        return give(ctx, NULL);
    rlx_shape_binding *b = rlx_mem_alloc_zero(&ctx->memory, (count + 1) * sizeof *b);
    bool good = b ? read_names(ctx, names, values, count, b) : false;
    relax_module *out = bind_sizes(ctx, in(module), only, good ? b : NULL, count);
    rlx_mem_free(&ctx->memory, b, b ? (count + 1) * sizeof *b : 0);
    return out;
}
