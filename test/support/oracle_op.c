/* oracle_op.c: operators on values. What an operator computes is what its lowering makes of it for
 * exactly these sizes, by the evaluator of PrimFuncs; the few without lowering are here. */
#include "oracle_int.h"
#include <stdlib.h>

/* ---- operands ------------------------------------------------------------------------------- */

typedef struct operands { oracle *o; const cell *scope; } operands;

static const rlx_expr *stand_in(operands *p, const rlx_expr *e, relax_value v);

/* A variable that has the value. */
static const rlx_expr *named(operands *p, relax_tensor *t, relax_value v)
{
    rlx_context *ctx = p->o->ctx;
    const rlx_sinfo *info = rlx_tensor_ints(ctx, relax_tensor_shape(t),
                                            (size_t)relax_tensor_ndim(t), relax_tensor_dtype(t));
    rlx_var *x = rlx_var_new(ctx, false, rlx_string_z(ctx, "x"), -1, info, RLX_NO_PLACE);
    p->scope = oracle_bind(p->o, p->scope, &x->node, v);
    return &x->node;
}

static const rlx_expr *literal(operands *p, const rlx_expr *e, relax_value v)
{
    rlx_context *ctx = p->o->ctx;
    const rlx_sinfo *info = e ? rlx_leaf_sinfo(ctx, NULL, e) : NULL;
    const rlx_prim_sinfo *stated = rlx_as_prim_sinfo(info);
    int64_t i;
    int32_t truth;
    double f;
    if (relax_value_get_bool(&v, &truth) == RELAX_OK)
        return rlx_prim_value_new(ctx, rlx_int(ctx, RELAX_BOOL, truth));
    if (relax_value_get_int(&v, &i) == RELAX_OK)
        return rlx_prim_value_new(ctx, rlx_int(ctx, stated ? stated->dtype : RELAX_INT64, i));
    if (relax_value_get_float(&v, &f) == RELAX_OK)
        return rlx_prim_value_new(ctx, rlx_float(ctx, stated ? stated->dtype : RELAX_FLOAT64, f));
    return NULL;
}

static const rlx_expr *fields(operands *p, relax_value v, size_t n)
{
    const rlx_expr **list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = stand_in(p, NULL, oracle_field(v, i));
    const rlx_expr *out = rlx_tuple_new(p->o->ctx, list, n, RLX_NO_PLACE);
    free(list);
    return out;
}

/* An expression without shape variables that has the value v, which e has; NULL: there is none. */
static const rlx_expr *stand_in(operands *p, const rlx_expr *e, relax_value v)
{
    relax_tensor *t = relax_value_get_tensor(&v);
    const int64_t *dims;
    size_t n;
    if (rlx_is(e, RLX_NODE_CONSTANT) || rlx_is(e, RLX_NODE_STRING_IMM) ||
        rlx_is(e, RLX_NODE_DTYPE_IMM))
        return e;
    if (t)
        return named(p, t, v);
    if (relax_value_get_shape(&v, &dims, &n) == RELAX_OK)
        return rlx_shape_of_ints(p->o->ctx, dims, n);
    if ((n = relax_value_tuple_size(&v)) != RELAX_NOT_FOUND)
        return fields(p, v, n);
    return literal(p, e, v);
}

/* ---- operators that are lowered ------------------------------------------------------------- */

static bool eval_lowered(oracle *o, const cell *s, const rlx_call *c, const rlx_op_row *row,
                         const relax_value *values, relax_value *out)
{
    operands p = { o, s };
    const rlx_expr *args[ORACLE_MOST_ARGS];
    const char *why = "its inference gives nothing";
    rlx_scope scope;
    for (size_t i = 0; i < c->num_args; i++)
        if (!(args[i] = stand_in(&p, c->args[i], values[i])))
            return oracle_unknown(o, "%s: an operand of that kind", row->name);
    const rlx_call *now =
        rlx_as_call(rlx_call_new(o->ctx, c->op, args, c->num_args, c->sinfo_args,
                                 c->num_sinfo_args, c->attrs, c->place));
    rlx_scope_init(&scope, o->ctx, NULL);
    const rlx_env *env = rlx_module_builder_env(o->functions);
    const rlx_sinfo *result = rlx_op_infer(o->ctx, &scope, env, now, true);
    const rlx_expr *lowered =
        result ? rlx_op_lower(o->functions, &scope, now, result, &why) : NULL;
    rlx_scope_free(&scope);
    if (!result)
        return oracle_fail(o, RLX_RT05, "%s does not take these operands", row->name);
    if (!lowered)
        return oracle_unknown(o, "%s: %s", row->name, why);
    return oracle_eval(o, p.scope, lowered, out);
}

/* ---- operators that are not ----------------------------------------------------------------- */

static bool shape_of(oracle *o, relax_value x, relax_value *out)
{
    relax_tensor *t = relax_value_get_tensor(&x);
    if (!t)
        return oracle_fail(o, RLX_RT02, "no tensor");
    *out = oracle_shape(o, relax_tensor_shape(t), (size_t)relax_tensor_ndim(t));
    return true;
}

static bool tensor_to_shape(oracle *o, relax_value x, relax_value *out)
{
    relax_tensor *t = relax_value_get_tensor(&x);
    int64_t dims[32];
    if (!t || relax_tensor_ndim(t) != 1 || relax_tensor_shape(t)[0] > 32)
        return oracle_unknown(o, "a shape of such a tensor");
    size_t n = (size_t)relax_tensor_shape(t)[0];
    for (size_t i = 0; i < n; i++)
        if (relax_tensor_dtype(t) == RELAX_INT64)
            dims[i] = ((const int64_t *)relax_tensor_data(t))[i];
        else if (relax_tensor_dtype(t) == RELAX_INT32)
            dims[i] = ((const int32_t *)relax_tensor_data(t))[i];
        else
            return oracle_unknown(o, "a shape of such a tensor");
    *out = oracle_shape(o, dims, n);
    return true;
}

static bool shape_to_tensor(oracle *o, relax_value x, relax_value *out)
{
    const int64_t *dims;
    size_t n;
    if (relax_value_get_shape(&x, &dims, &n) != RELAX_OK)
        return oracle_fail(o, RLX_RT02, "no shape");
    int64_t size = (int64_t)n;
    if (!oracle_tensor(o, RELAX_INT64, &size, 1, out))
        return false;
    if (n)
        memcpy(relax_tensor_data(relax_value_get_tensor(out)), dims, n * sizeof *dims);
    return true;
}

static bool null_value(oracle *o, relax_value x, relax_value *out)
{
    (void)o;
    (void)x;
    relax_value_set_null(out);
    return true;
}

/* One device: what is to be there is there already. */
static bool same(oracle *o, relax_value x, relax_value *out)
{
    (void)o;
    *out = x;
    return true;
}

static const struct { const char *name; bool (*eval)(oracle *o, relax_value x, relax_value *out);
} rows[] = {
    { "relax.shape_of", shape_of },
    { "relax.tensor_to_shape", tensor_to_shape },
    { "relax.shape_to_tensor", shape_to_tensor },
    { "relax.null_value", null_value },
    { "relax.to_vdevice", same },
};

bool oracle_eval_op(oracle *o, const cell *s, const rlx_call *c, const rlx_op_row *row,
                    relax_value *out)
{
    relax_value values[ORACLE_MOST_ARGS] = { { 0 } };
    if (c->num_args > ORACLE_MOST_ARGS)
        return oracle_unknown(o, "%zu operands", c->num_args);
    for (size_t i = 0; i < c->num_args; i++)
        if (!oracle_eval(o, s, c->args[i], &values[i]))
            return false;
    if (row->flags & RLX_OP_IDENTITY)
        return same(o, values[0], out);
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        if (strcmp(rows[i].name, row->name) == 0)
            return rows[i].eval(o, values[0], out);
    return eval_lowered(o, s, c, row, values, out);
}
