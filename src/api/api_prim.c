/* api_prim.c: integer and scalar expressions. */
#include "api/api_int.h"

#include "arith/arith.h"

#define PRIM(p) ((const rlx_prim *)(const void *)(p))

static relax_prim_expr *new_var(relax_context *ctx, const char *name, size_t name_len,
                                relax_dtype dtype)
{
    rlx_slice slice;
    if (!rlx_api_name(ctx, name, name_len, "name", &slice) ||
        !rlx_api_dtype(ctx, dtype, false, "dtype"))
        return give(ctx, NULL);
    const rlx_string *text = rlx_string_intern(ctx, slice);
    return give(ctx, text ? rlx_prim_var_new(ctx, text, dtype, RLX_NO_PLACE) : NULL);
}

relax_prim_expr *relax_shape_var_new(relax_context *ctx, const char *name, size_t name_len)
{
    return RLX_API_CONTEXT(ctx) ? new_var(ctx, name, name_len, RELAX_INT64) : NULL;
}

relax_prim_expr *relax_prim_var_new(relax_context *ctx, const char *name, size_t name_len,
                                    relax_dtype dtype)
{
    return RLX_API_CONTEXT(ctx) ? new_var(ctx, name, name_len, dtype) : NULL;
}

relax_prim_expr *relax_prim_int_new(relax_context *ctx, int64_t value)
{
    return RLX_API_CONTEXT(ctx) ? give(ctx, rlx_int64(ctx, value)) : NULL;
}

relax_prim_expr *relax_prim_int_of_dtype(relax_context *ctx, relax_dtype dtype, int64_t value)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_dtype(ctx, dtype, false, "dtype"))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    bool integral = rlx_dtype_is_int(dtype) || rlx_dtype_is_bool(dtype);
    if (!integral || rlx_dtype_lanes(dtype) != 1 || !rlx_dtype_has_int(dtype, value, false))
        return give(ctx, rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "%lld is no value of that dtype",
                                   (long long)value));
    return give(ctx, rlx_int(ctx, dtype, value));
}

relax_prim_expr *relax_prim_float_new(relax_context *ctx, relax_dtype dtype, double value)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_dtype(ctx, dtype, false, "dtype"))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    if (!rlx_dtype_is_float(dtype) || rlx_dtype_lanes(dtype) != 1)
        return give(ctx,
                    rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "a float literal needs a float dtype"));
    rlx_float_env host = rlx_float_enter();
    const void *literal = rlx_float(ctx, dtype, value);
    rlx_float_leave(host);
    return give(ctx, literal);
}

static const uint8_t node_of_op[] = {
    [RELAX_PRIM_ADD] = RLX_NODE_ADD,
    [RELAX_PRIM_SUB] = RLX_NODE_SUB,
    [RELAX_PRIM_MUL] = RLX_NODE_MUL,
    [RELAX_PRIM_DIV] = RLX_NODE_DIV,
    [RELAX_PRIM_MOD] = RLX_NODE_MOD,
    [RELAX_PRIM_FLOOR_DIV] = RLX_NODE_FLOOR_DIV,
    [RELAX_PRIM_FLOOR_MOD] = RLX_NODE_FLOOR_MOD,
    [RELAX_PRIM_MIN] = RLX_NODE_MIN,
    [RELAX_PRIM_MAX] = RLX_NODE_MAX,
    [RELAX_PRIM_EQ] = RLX_NODE_EQ,
    [RELAX_PRIM_NE] = RLX_NODE_NE,
    [RELAX_PRIM_LT] = RLX_NODE_LT,
    [RELAX_PRIM_LE] = RLX_NODE_LE,
    [RELAX_PRIM_GT] = RLX_NODE_GT,
    [RELAX_PRIM_GE] = RLX_NODE_GE,
    [RELAX_PRIM_AND] = RLX_NODE_AND,
    [RELAX_PRIM_OR] = RLX_NODE_OR,
};

relax_prim_expr *relax_prim_binary_new(relax_context *ctx, int32_t op, const relax_prim_expr *a,
                                       const relax_prim_expr *b)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (op < 1 || (size_t)op >= RLX_COUNT(node_of_op))
        return give(ctx, rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "there is no operator %d", op));
    if (!rlx_api_family(ctx, a, RLX_FAMILY_PRIM, "a") ||
        !rlx_api_family(ctx, b, RLX_FAMILY_PRIM, "b"))
        return give(ctx, NULL);
    size_t errors = rlx_error_count(ctx);
    rlx_float_env host = rlx_float_enter();
    const rlx_prim *result =
        rlx_fold_binary(ctx, (enum rlx_node_kind)node_of_op[op], PRIM(a), PRIM(b));
    rlx_float_leave(host);
    if (!result && rlx_error_count(ctx) == errors)
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "the operands %s and %s do not go together",
                  rlx_show(ctx, PRIM(a)), rlx_show(ctx, PRIM(b)));
    return give(ctx, result);
}

relax_prim_expr *relax_prim_not_new(relax_context *ctx, const relax_prim_expr *a)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx,
                rlx_api_family(ctx, a, RLX_FAMILY_PRIM, "a") ? rlx_fold_not(ctx, PRIM(a)) : NULL);
}

relax_prim_expr *relax_prim_cast_new(relax_context *ctx, relax_dtype dtype,
                                     const relax_prim_expr *a)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok =
        rlx_api_dtype(ctx, dtype, false, "dtype") && rlx_api_family(ctx, a, RLX_FAMILY_PRIM, "a");
    rlx_float_env host = rlx_float_enter();
    const rlx_prim *result = ok ? rlx_fold_cast(ctx, dtype, PRIM(a)) : NULL;
    rlx_float_leave(host);
    return give(ctx, result);
}

relax_prim_expr *relax_prim_select_new(relax_context *ctx, const relax_prim_expr *cond,
                                       const relax_prim_expr *a, const relax_prim_expr *b)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok = rlx_api_family(ctx, cond, RLX_FAMILY_PRIM, "cond") &&
              rlx_api_family(ctx, a, RLX_FAMILY_PRIM, "a") &&
              rlx_api_family(ctx, b, RLX_FAMILY_PRIM, "b");
    if (ok && (rlx_prim_dtype(PRIM(a)) != rlx_prim_dtype(PRIM(b)) ||
               !rlx_dtype_is_bool(rlx_prim_dtype(PRIM(cond)))))
        ok = rlx_error(ctx, RLX_OP02, RLX_NO_PLACE,
                       "select needs a bool condition and two values of one dtype") != NULL;
    return give(ctx, ok ? rlx_select_new(ctx, PRIM(cond), PRIM(a), PRIM(b)) : NULL);
}

/* ---- getters */

int32_t relax_prim_kind(const relax_prim_expr *e)
{
    const rlx_prim *p = PRIM(e);
    if (!p || rlx_family_of(p) != RLX_FAMILY_PRIM)
        return 0;
    switch (p->kind) {
    case RLX_NODE_PRIM_VAR: return RELAX_PRIM_KIND_VAR;
    case RLX_NODE_INT_IMM: return RELAX_PRIM_KIND_INT;
    case RLX_NODE_FLOAT_IMM: return RELAX_PRIM_KIND_FLOAT;
    case RLX_NODE_NOT: return RELAX_PRIM_KIND_NOT;
    case RLX_NODE_CAST: return RELAX_PRIM_KIND_CAST;
    case RLX_NODE_SELECT: return RELAX_PRIM_KIND_SELECT;
    case RLX_NODE_PRIM_CALL: return RELAX_PRIM_KIND_CALL;
    case RLX_NODE_BUFFER_LOAD: return RELAX_PRIM_KIND_LOAD;
    default: return rlx_as_binary(p) ? RELAX_PRIM_KIND_BINARY : RELAX_PRIM_KIND_OTHER;
    }
}

relax_dtype relax_prim_dtype(const relax_prim_expr *e)
{
    return e ? rlx_prim_dtype(PRIM(e)) : RELAX_VOID;
}

int32_t relax_prim_operator(const relax_prim_expr *e)
{
    if (!rlx_as_binary(PRIM(e)))
        return 0;
    for (size_t i = 1; i < RLX_COUNT(node_of_op); i++)
        if (node_of_op[i] == PRIM(e)->kind)
            return (int32_t)i;
    return 0;
}

const relax_prim_expr *relax_prim_operand(const relax_prim_expr *e, size_t index)
{
    const rlx_prim *p = PRIM(e), *found = NULL;
    const rlx_binary *b = rlx_as_binary(p);
    const rlx_unary *u = rlx_as_unary(p);
    const rlx_select *s = rlx_as_select(p);
    const rlx_prim_call *c = rlx_as_prim_call(p);
    const rlx_buffer_load *l = rlx_as_buffer_load(p);
    if (b && index < 2)
        found = index ? b->b : b->a;
    else if (u && index < 1)
        found = u->a;
    else if (s && index < 3)
        found = index == 0 ? s->cond : index == 1 ? s->true_value : s->false_value;
    else if (c && index < c->num_args)
        found = c->args[index];
    else if (l && index < l->num_indices)
        found = l->indices[index];
    return (const relax_prim_expr *)(const void *)found;
}

relax_status relax_prim_int_value(const relax_prim_expr *e, int64_t *out)
{
    int64_t value = 0;
    bool ok = e && out && rlx_int_literal(PRIM(e), &value);
    if (out)
        *out = value;
    return ok ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_prim_float_value(const relax_prim_expr *e, double *out)
{
    const rlx_float_imm *f = rlx_as_float_imm(PRIM(e));
    if (out)
        *out = f ? f->value : 0;
    return f && out ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

const char *relax_prim_name(const relax_prim_expr *e, size_t *len)
{
    const rlx_prim_var *v = rlx_as_prim_var(PRIM(e));
    const rlx_prim_call *c = rlx_as_prim_call(PRIM(e));
    const rlx_string *name = v ? v->name : c ? c->op : NULL;
    if (len)
        *len = name ? name->len : 0;
    return name ? name->data : NULL;
}
