/* leaf.c: struct info of leaf expressions. */
#include "sinfo/sinfo_int.h"

const rlx_sinfo *rlx_var_sinfo(rlx_context *ctx, const rlx_var *v)
{
    return v->sinfo ? v->sinfo : rlx_object_info(ctx);
}

static bool is_simple_leaf(const rlx_expr *e)
{
    switch (e->kind) {
    case RLX_NODE_CONSTANT:
    case RLX_NODE_VAR:
    case RLX_NODE_DATAFLOW_VAR:
    case RLX_NODE_GLOBAL_VAR:
    case RLX_NODE_PRIM_VALUE:
    case RLX_NODE_STRING_IMM:
    case RLX_NODE_DTYPE_IMM:
    case RLX_NODE_SHAPE_EXPR:
    case RLX_NODE_EXTERN_FUNC:
    case RLX_NODE_OP:
        return true;
    default:
        return false;
    }
}

/* Tuples nested deeper, or with more inner tuples (a shared one counts at each occurrence),
 * count as no leaf: the builder then binds the inner ones, which means the same. */
#define LEAF_BUDGET ((rlx_budget){ 16, 10000 })

static bool is_leaf_within(const rlx_expr *e, rlx_budget *budget)
{
    const rlx_tuple *t = rlx_as_tuple(e);
    if (!t)
        return is_simple_leaf(e);
    if (!rlx_budget_enter(budget))
        return false;
    for (size_t i = 0; i < t->num_fields; i++)
        if (!is_leaf_within(t->fields[i], budget))
            return false;
    rlx_budget_leave(budget);
    return true;
}

bool rlx_is_leaf(const rlx_expr *e)
{
    rlx_budget budget = LEAF_BUDGET;
    return is_leaf_within(e, &budget);
}

static const rlx_sinfo *constant_sinfo(rlx_context *ctx, const rlx_constant *c)
{
    if (RLX_LIKELY(!c->sharding))
        return rlx_tensor_ints(ctx, c->shape, c->num_shape, c->dtype);
    const rlx_expr *shape = rlx_shape_of_ints(ctx, c->shape, c->num_shape);
    return shape ? rlx_tensor_info(ctx, shape, c->dtype, -1, c->sharding) : NULL;
}

static const rlx_sinfo *shape_expr_sinfo(rlx_context *ctx, const rlx_shape_expr *s)
{
    return rlx_shape_info(ctx, s->values, s->num_values);
}

static const rlx_sinfo *tuple_sinfo(rlx_context *ctx, const rlx_env *env, const rlx_tuple *t,
                                    rlx_budget *budget);

static const rlx_sinfo *simple_sinfo(rlx_context *ctx, const rlx_env *env, const rlx_expr *e)
{
    const rlx_prim *p;
    switch (e->kind) {
    case RLX_NODE_VAR:
    case RLX_NODE_DATAFLOW_VAR: return rlx_var_sinfo(ctx, rlx_as_var(e));
    case RLX_NODE_CONSTANT: return constant_sinfo(ctx, rlx_as_constant(e));
    case RLX_NODE_PRIM_VALUE:
        p = rlx_as_prim_value(e)->value;
        return rlx_prim_info(ctx, rlx_prim_dtype(p), p);
    case RLX_NODE_STRING_IMM:
    case RLX_NODE_DTYPE_IMM: return rlx_object_info(ctx);
    case RLX_NODE_SHAPE_EXPR: return shape_expr_sinfo(ctx, rlx_as_shape_expr(e));
    case RLX_NODE_EXTERN_FUNC:
        if (rlx_as_extern_func(e)->sinfo)
            return rlx_as_extern_func(e)->sinfo;
        return rlx_opaque_func_info(ctx, RLX_DERIVE_DEFAULT, NULL, rlx_object_info(ctx), false);
    case RLX_NODE_GLOBAL_VAR:
        return env && env->global ? env->global(env->user, rlx_as_global_var(e)) : NULL;
    case RLX_NODE_FUNCTION: return rlx_as_function(e)->sinfo;
    default: return NULL;
    }
}

static const rlx_sinfo *leaf_sinfo(rlx_context *ctx, const rlx_env *env, const rlx_expr *e,
                                   rlx_budget *budget)
{
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_tuple_get_item *g = rlx_as_tuple_get_item(e);
    if (t)
        return tuple_sinfo(ctx, env, t, budget);
    if (!g)
        return simple_sinfo(ctx, env, e);
    if (!rlx_budget_enter(budget))
        return NULL;
    const rlx_sinfo *s = leaf_sinfo(ctx, env, g->tuple, budget);
    rlx_budget_leave(budget);
    const rlx_tuple_sinfo *fields = rlx_as_tuple_sinfo(s);
    return fields && g->index >= 0 && (uint64_t)g->index < fields->num_fields
               ? fields->fields[g->index]
               : NULL;
}

#define FEW 8

static const rlx_sinfo *tuple_sinfo(rlx_context *ctx, const rlx_env *env, const rlx_tuple *t,
                                    rlx_budget *budget)
{
    const rlx_sinfo *few[FEW], **fields = few, *out = NULL;
    size_t n = t->num_fields, i = 0;
    if (!rlx_budget_enter(budget))
        return NULL;
    if (n > FEW && !(fields = rlx_mem_alloc(&ctx->memory, n * sizeof *fields)))
        return NULL;
    while (i < n && (fields[i] = leaf_sinfo(ctx, env, t->fields[i], budget)) != NULL)
        i++;
    if (i == n)
        out = rlx_tuple_info(ctx, fields, n);
    rlx_budget_leave(budget);
    if (fields != few)
        rlx_mem_free(&ctx->memory, fields, n * sizeof *fields);
    return out;
}

const rlx_sinfo *rlx_leaf_sinfo(rlx_context *ctx, const rlx_env *env, const rlx_expr *e)
{
    rlx_budget budget = LEAF_BUDGET;
    budget.depth++; /* a field of a leaf */
    return e ? leaf_sinfo(ctx, env, e, &budget) : NULL;
}
