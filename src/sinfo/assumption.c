/*- assumption.c: bounds of shape variables that attributes of a function promise (language 10.3.2).
 *     R.func_attr({"tir_var_upper_bound": {"n": 1024}, "tir_non_negative_var": ["k"]})
 * They hold inside of the function because its border checks them. A name means the variable of
 * that name that the parameters bind, the first one if there are two. What is malformed promises
 * nothing; the checker says what is wrong with it (WX13). */
#include "sinfo/sinfo_int.h"

/* Bounds promised of one name; taken: a variable has claimed it. */
typedef struct promise { int64_t low, high; bool taken; } promise;
typedef struct promises {
    rlx_context *ctx;
    rlx_ptrmap at;             /* name -> index + 1 */
    RLX_VEC(promise) list;
} promises;

static promise *promise_of(promises *p, const rlx_string *name, bool make)
{
    uintptr_t at = 0;
    if (!rlx_ptrmap_find(&p->at, name, &at) && make) {
        promise none = { INT64_MIN, INT64_MAX, false };
        if (!rlx_vec_push(&p->ctx->memory, &p->list, none) ||
            !rlx_ptrmap_put(&p->at, name, p->list.len))
            return NULL;
        at = p->list.len;
    }
    return at ? &p->list.data[at - 1] : NULL;
}

int64_t rlx_assumed_limit(const rlx_attr *value)
{
    int64_t limit = -1;
    if (value && value->kind == RLX_NODE_ATTR_INT)
        return ((const rlx_attr_int *)value)->value;
    return value && rlx_int_literal(value, &limit) ? limit : -1;
}

static bool read_upper(promises *p, const rlx_attrs *map)
{
    for (size_t i = 0; map && i < map->num_keys; i++) {
        int64_t limit = rlx_assumed_limit(map->values[i]);
        promise *one =
            limit < 0 ? NULL
                      : promise_of(p, ((const rlx_attr_string *)map->keys[i])->value, true);
        if (one)
            one->high = limit;
        else if (limit >= 0)
            return false;
    }
    return true;
}

static bool read_non_negative(promises *p, const rlx_attr_list *names)
{
    for (size_t i = 0; names && i < names->num_items; i++) {
        const rlx_attr_string *s = rlx_as_attr_string(names->items[i]);
        promise *one = s ? promise_of(p, s->value, true) : NULL;
        if (one)
            one->low = 0;
        else if (s)
            return false;
    }
    return true;
}

/* Adds what is promised of v, if that is anything. */
static bool claim(promises *p, const rlx_prim_var *v, rlx_facts *out)
{
    const rlx_string *name = v->name ? rlx_string_interned(p->ctx, v->name) : NULL;
    promise *one = name ? promise_of(p, name, false) : NULL;
    if (!one || one->taken)
        return true;
    one->taken = true;
    rlx_fact fact = { v, one->low, one->high };
    return rlx_vec_push(&p->ctx->memory, out, fact);
}

static bool makes_promises(const rlx_attr *attrs)
{
    return rlx_attrs_get(attrs, RLX_UPPER_BOUND) || rlx_attrs_get(attrs, RLX_NON_NEGATIVE);
}

bool rlx_assumed(rlx_context *ctx, const rlx_attr *attrs, const rlx_prim *const *vars, size_t count,
                 rlx_facts *out)
{
    promises p = { .ctx = ctx };
    if (!makes_promises(attrs))
        return true;
    rlx_ptrmap_init(&p.at, &ctx->memory);
    bool ok = read_upper(&p, rlx_as_attrs(rlx_attrs_get(attrs, RLX_UPPER_BOUND))) &&
              read_non_negative(&p, rlx_as_attr_list(rlx_attrs_get(attrs, RLX_NON_NEGATIVE)));
    for (size_t i = 0; ok && i < count; i++)
        ok = claim(&p, (const rlx_prim_var *)vars[i], out);
    rlx_ptrmap_free(&p.at);
    rlx_vec_free(&ctx->memory, &p.list);
    return ok;
}

bool rlx_scope_assume(rlx_scope *s, size_t first, const rlx_attr *attrs)
{
    rlx_facts promised = { 0 };
    rlx_prims vars = { 0 };
    rlx_memory *m = &s->ctx->memory;
    bool ok = true;
    if (!makes_promises(attrs))
        return true;
    for (size_t i = first; ok && i < s->facts.len; i++)
        if (!s->parent || !rlx_scope_has(s->parent, s->facts.data[i].var))
            ok = rlx_vec_push(m, &vars, &s->facts.data[i].var->node);
    ok = ok && rlx_assumed(s->ctx, attrs, vars.data, vars.len, &promised);
    for (size_t i = 0; ok && i < promised.len; i++)
        ok = rlx_scope_bound(s, promised.data[i].var, promised.data[i].low,
                             promised.data[i].high);
    rlx_vec_free(m, &vars);
    rlx_vec_free(m, &promised);
    return ok;
}

bool rlx_scope_enter_function(rlx_scope *scope, const rlx_function *f)
{
    size_t first = scope->facts.len;
    for (size_t i = 0; i < f->num_params; i++)
        if (!rlx_scope_enter(scope, ((const rlx_var *)f->params[i])->sinfo))
            return false;
    return rlx_scope_assume(scope, first, f->attrs);
}

/* ---- by parameters -------------------------------------------------------------------------- */

/* The variables that stand alone in parameters, in order. */
static bool vars_of_params(rlx_context *ctx, const rlx_expr *const *params, size_t count,
                           rlx_prim_vars *out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const rlx_var *v = rlx_as_var(params[i]);
        if (v && v->sinfo && (v->sinfo->flags & RLX_FLAG_HAS_VARS))
            ok = rlx_collect_prim_vars(&ctx->memory, v->sinfo, true, out);
    }
    return ok;
}

bool rlx_assumed_of_params(rlx_context *ctx, const rlx_attr *attrs, const rlx_expr *const *params,
                           size_t count, rlx_facts *out)
{
    rlx_prim_vars vars = { 0 };
    bool ok = true;
    if (makes_promises(attrs))
        ok = vars_of_params(ctx, params, count, &vars) &&
             rlx_assumed(ctx, attrs, (const rlx_prim *const *)(const void *)vars.data, vars.len,
                         out);
    rlx_vec_free(&ctx->memory, &vars);
    return ok;
}

/* Attribute `key` without what names nothing any more; it goes where nothing is left. Values
 * (NULL: a list) belong to the names. */
static const rlx_attr *without_gone(rlx_context *ctx, const rlx_attr *attrs, const char *key,
                                    const rlx_node *const *names, const rlx_node *const *values,
                                    size_t count, const rlx_ptrmap *there)
{
    size_t bytes = 2 * (count + 1) * sizeof *names, kept = 0;
    const rlx_node **kept_nodes = rlx_mem_alloc(&ctx->memory, bytes), *now;
    if (!kept_nodes)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const rlx_attr_string *name = rlx_as_attr_string(names[i]);
        if (name && !rlx_ptrmap_has(there, name->value))
            continue;
        kept_nodes[kept] = names[i];
        kept_nodes[count + kept++] = values ? values[i] : NULL;
    }
    now = values ? rlx_attrs_in_order(ctx, kept_nodes, kept_nodes + count, kept)
                 : rlx_attr_list_new(ctx, kept_nodes, kept);
    rlx_mem_free(&ctx->memory, kept_nodes, bytes);
    if (!now || kept == count)
        return now ? attrs : NULL;
    return rlx_attrs_with(ctx, attrs, key, kept ? now : NULL);
}

const rlx_attr *rlx_assumptions_of_params(rlx_context *ctx, const rlx_attr *attrs,
                                          const rlx_expr *const *params, size_t count)
{
    const rlx_attrs *map = rlx_as_attrs(rlx_attrs_get(attrs, RLX_UPPER_BOUND));
    const rlx_attr_list *list = rlx_as_attr_list(rlx_attrs_get(attrs, RLX_NON_NEGATIVE));
    rlx_prim_vars vars = { 0 };
    rlx_ptrmap there;
    if (!map && !list)
        return attrs;
    rlx_ptrmap_init(&there, &ctx->memory);
    bool ok = vars_of_params(ctx, params, count, &vars);
    for (size_t i = 0; ok && i < vars.len; i++) {
        const rlx_string *name = vars.data[i]->name;
        name = name ? rlx_string_interned(ctx, name) : NULL;
        ok = !name || rlx_ptrmap_put(&there, name, 1);
    }
    if (!ok)
        attrs = NULL;
    if (attrs && map)
        attrs = without_gone(ctx, attrs, RLX_UPPER_BOUND, map->keys, map->values, map->num_keys,
                             &there);
    if (attrs && list)
        attrs = without_gone(ctx, attrs, RLX_NON_NEGATIVE, list->items, NULL, list->num_items,
                             &there);
    rlx_ptrmap_free(&there);
    rlx_vec_free(&ctx->memory, &vars);
    return attrs;
}
