/*- bind_symbolic_vars: shape variables of functions become expressions, by name.
 *     def f(x: R.Tensor((n, k)))                         values {"n": 16}
 *         y = R.reshape(x, R.shape([n * k]))
 *     ->
 *     def f(x: R.Tensor((16, k)))
 *         y = R.reshape(x, R.shape([16 * k]))
 * keeps: meaning, for callers that pass such sizes; the boundary of the function checks them.
 * refused: a name that no function has, or two variables have; one variable twice; an
 * expression with a variable that the function does not define. */
#include "transform/transform_int.h"

typedef struct binder {
    rlx_context *ctx;
    const rlx_module *module;
    const rlx_shape_binding *bindings;
    size_t count;
    bool *used;                    /* by binding */
    RLX_VEC(const rlx_prim *) from, to; /* of the function under way */
} binder;

static bool names(const rlx_shape_binding *b, const rlx_prim_var *v)
{
    return b->var ? b->var == v : rlx_slice_equal(rlx_string_slice(v->name), b->name);
}

static const char *shown(const rlx_prim_var *v) { return v->name ? v->name->data : "?"; }

/* Value i for variable v of f. */
static bool bind(binder *b, size_t i, const rlx_prim_var *v, const rlx_function *f)
{
    const rlx_prim *value = b->bindings[i].value;
    for (size_t k = 0; k < b->from.len; k++)
        if (b->from.data[k] == &v->node)
            return rlx_error(b->ctx, RLX_OP16, f->place, "shape variable %s is bound twice",
                             shown(v)) != NULL;
    int64_t literal;
    if (rlx_prim_dtype(value) != v->dtype && rlx_int_literal(value, &literal))
        value = rlx_int(b->ctx, v->dtype, literal);
    if (value && rlx_prim_dtype(value) != v->dtype) {
        rlx_error(b->ctx, RLX_OP02, f->place,
                  "value %s of shape variable %s has another dtype than the variable",
                  rlx_show(b->ctx, value), shown(v));
        return false;
    }
    b->used[i] = true;
    return value && rlx_vec_push(&b->ctx->memory, &b->from, &v->node) &&
           rlx_vec_push(&b->ctx->memory, &b->to, value);
}

/* Which of the variables that f defines does binding i mean? */
static bool find_variable(binder *b, size_t i, const rlx_prim_vars *defined,
                          const rlx_function *f)
{
    const rlx_prim_var *found = NULL;
    for (size_t k = 0; k < defined->len; k++) {
        if (!names(&b->bindings[i], defined->data[k]))
            continue;
        if (found)
            return rlx_error(b->ctx, RLX_OP16, f->place,
                             "two shape variables are called %s: bind them as variables",
                             shown(found)) != NULL;
        found = defined->data[k];
    }
    return !found || bind(b, i, found, f);
}

static bool keeps_promises(binder *b, const rlx_function *f)
{
    rlx_ptrmap values;
    bool good = true;
    rlx_ptrmap_init(&values, &b->ctx->memory);
    for (size_t i = 0; good && i < b->from.len; i++)
        good = rlx_ptrmap_put(&values, b->from.data[i], (uintptr_t)b->to.data[i]);
    good = good && rlx_meets_assumptions(b->ctx, f, &values, RLX_OP11);
    rlx_ptrmap_free(&values);
    return good;
}

/* Nothing is left that the function does not define. */
static bool is_closed(binder *b, const rlx_function *f)
{
    rlx_prim_vars left = { 0 };
    bool good = rlx_free_shape_vars(b->ctx, &f->node, &left);
    if (good && left.len)
        rlx_error(b->ctx, RLX_WF05, f->place,
                  "shape variable %s is used in a value but not defined by the function",
                  shown(left.data[0]));
    good = good && !left.len;
    rlx_vec_free(&b->ctx->memory, &left);
    return good;
}

static const rlx_node *substitute(binder *b, const rlx_function *f)
{
    const rlx_node *now =
        rlx_substitute(b->ctx, &f->node, b->from.data, b->to.data, b->from.len);
    rlx_rewriter fold;
    rlx_rewriter_init(&fold, b->ctx);
    fold.after = rlx_fold_numbers;
    now = now ? rlx_rewrite(&fold, now) : NULL;
    rlx_rewriter_free(&fold);
    rlx_function *copy = now ? rlx_new_copy(b->ctx, now, sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    copy->node.layer = b->ctx->top;
    copy->attrs = rlx_assumptions_of_params(b->ctx, f->attrs, copy->params, copy->num_params);
    if (copy->attrs != f->attrs)
        copy->num_attr_places = 0;
    if (f->attrs && !copy->attrs)
        return NULL;
    copy->sinfo = rlx_signature(b->ctx, copy->params, copy->num_params, copy->ret_sinfo,
                                copy->is_pure, NULL);
    return copy->sinfo && is_closed(b, copy) ? &copy->node : NULL;
}

static const rlx_node *bind_function(binder *b, const rlx_function *f)
{
    rlx_prim_vars defined = { 0 };
    b->from.len = b->to.len = 0;
    bool good = rlx_scope_shape_vars(b->ctx, &f->node, &defined);
    for (size_t i = 0; good && i < b->count; i++)
        good = find_variable(b, i, &defined, f);
    rlx_vec_free(&b->ctx->memory, &defined);
    if (!good)
        return NULL;
    if (!b->from.len)
        return &f->node;
    return keeps_promises(b, f) ? substitute(b, f) : NULL;
}

static bool all_used(binder *b)
{
    bool all = true;
    for (size_t i = 0; i < b->count; i++) {
        const rlx_shape_binding *s = &b->bindings[i];
        rlx_slice name = s->var && s->var->name ? rlx_string_slice(s->var->name) : s->name;
        if (b->used[i])
            continue;
        all = false;
        rlx_error(b->ctx, RLX_OP15, RLX_NO_PLACE, "no function defines a shape variable %.*s",
                  (int)(name.len < 200 ? name.len : 200), name.data);
    }
    return all;
}

static bool bind_all(binder *b, rlx_slice function, const rlx_node **functions)
{
    for (size_t i = 0; i < b->module->num_functions; i++) {
        const rlx_function *f = rlx_as_function(b->module->functions[i]);
        rlx_slice name = rlx_string_slice(((const rlx_global_var *)b->module->gvars[i])->name);
        functions[i] = b->module->functions[i];
        if (f && f->body && (!function.len || rlx_slice_equal(name, function)))
            functions[i] = bind_function(b, f);
        if (!functions[i])
            return false;
    }
    return true;
}

const rlx_module *rlx_bind_shape_vars(rlx_context *ctx, const rlx_module *m, rlx_slice function,
                                      const rlx_shape_binding *bindings, size_t count)
{
    rlx_memory *memory = &ctx->memory;
    size_t bytes = (m->num_functions + 1) * sizeof(rlx_node *), errors = rlx_error_count(ctx);
    binder b = { .ctx = ctx,
                 .module = m,
                 .bindings = bindings,
                 .count = count,
                 .used = rlx_mem_alloc_zero(memory, count + 1) };
    const rlx_node **functions = rlx_mem_alloc(memory, bytes);
    const rlx_module *out = NULL;
    bool good = b.used && functions;
    if (good && function.len && rlx_module_find(m, function) < 0)
        rlx_error(ctx, RLX_OP15, RLX_NO_PLACE, "the module has no function named %.*s",
                  (int)(function.len < 200 ? function.len : 200), function.data);
    else if (good && bind_all(&b, function, functions) && all_used(&b) &&
             rlx_error_count(ctx) == errors)
        out = rlx_module_with(ctx, m, functions);
    rlx_vec_free(memory, &b.from);
    rlx_vec_free(memory, &b.to);
    rlx_mem_free(memory, b.used, b.used ? count + 1 : 0);
    rlx_mem_free(memory, functions, functions ? bytes : 0);
    return out;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static const rlx_prim *value_of(rlx_context *ctx, const rlx_attr *value)
{
    const rlx_attr_int *n = rlx_as_attr_int(value);
    if (n)
        return rlx_int64(ctx, n->value);
    return value && rlx_family_of(value) == RLX_FAMILY_PRIM ? value : NULL;
}

static bool read_values(rlx_context *ctx, const rlx_attrs *map, rlx_shape_binding *out)
{
    for (size_t i = 0; map && i < map->num_keys; i++) {
        const rlx_string *name = ((const rlx_attr_string *)map->keys[i])->value;
        out[i] = (rlx_shape_binding){ .name = rlx_string_slice(name),
                                      .value = value_of(ctx, map->values[i]) };
        if (!out[i].value && !ctx->diags.out_of_memory)
            rlx_error(ctx, RLX_OP11, RLX_NO_PLACE,
                      "value of shape variable %s is neither an integer nor an integer expression",
                      name->data);
        if (!out[i].value)
            return false;
    }
    return true;
}

const rlx_module *rlx_pass_bind_symbolic_vars(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    const rlx_attr *values = rlx_attrs_get(run->options, "values");
    const rlx_attrs *map = rlx_as_attrs(values);
    size_t count = map ? map->num_keys : 0, bytes = (count + 1) * sizeof(rlx_shape_binding);
    if (values && !map)
        return rlx_error(ctx, RLX_OP11, RLX_NO_PLACE,
                         "option values of pass bind_symbolic_vars is no map");
    if (!count)
        return m;
    rlx_shape_binding *bindings = rlx_mem_alloc(&ctx->memory, bytes);
    const rlx_module *out = NULL;
    if (bindings && read_values(ctx, map, bindings))
        out = rlx_bind_shape_vars(ctx, m, rlx_pass_text(run, "function"), bindings, count);
    rlx_mem_free(&ctx->memory, bindings, bindings ? bytes : 0);
    return out;
}
