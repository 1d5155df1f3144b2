/* oracle_call.c: calls of functions, of whatever kind, and the operators that call them. */
#include "oracle_int.h"
#include <stdlib.h>

/* ---- packed functions ----------------------------------------------------------------------- */

static bool call_host(oracle *o, relax_packed_func *f, const relax_value *args, size_t n,
                      relax_value *out)
{
    relax_value result = { 0 };
    if (relax_packed_func_call(f, args, (int32_t)n, &result) != 0) {
        relax_value_release(&result);
        return oracle_fail(o, RLX_RT16, "a packed function failed");
    }
    *out = oracle_keep(o, result);
    return true;
}

static const rlx_node *public_function(const oracle *o, const char *name)
{
    for (size_t i = 0; i < o->module->num_functions; i++) {
        const rlx_string *link = rlx_link_name(o->module->functions[i]);
        if (link && strcmp(link->data, name) == 0)
            return o->module->functions[i];
    }
    return NULL;
}

bool oracle_packed(oracle *o, const char *name, const relax_value *args, size_t n, relax_value *out)
{
    relax_packed_func *host =
        o->registry ? relax_registry_find(o->registry, name, strlen(name)) : NULL;
    const rlx_node *own = host ? NULL : public_function(o, name);
    if (host)
        return call_host(o, host, args, n, out);
    if (own)
        return oracle_apply(o, oracle_function(o, own, NULL), args, n, out);
    return oracle_fail(o, RLX_RT08, "no packed function %s", name);
}

/* ---- functions of the program --------------------------------------------------------------- */

static bool apply_body(oracle *o, const rlx_function *f, const cell *s, const relax_value *args,
                       relax_value *out)
{
    const rlx_sinfo *wants[ORACLE_MOST_ARGS];
    for (size_t i = 0; i < f->num_params; i++)
        wants[i] = rlx_as_var(f->params[i])->sinfo;
    if (!oracle_match(o, &s, wants, args, f->num_params))
        return false;
    for (size_t i = 0; i < f->num_params; i++)
        s = oracle_bind(o, s, f->params[i], args[i]);
    if (!oracle_eval(o, s, f->body, out))
        return false;
    return !f->ret_sinfo || oracle_match(o, &s, &f->ret_sinfo, out, 1) ||
           oracle_blame(o, RLX_RT07);
}

static bool apply_function(oracle *o, const closure *c, const rlx_function *f,
                           const relax_value *args, size_t n, relax_value *out)
{
    if (n != f->num_params)
        return oracle_fail(o, RLX_RT01, "%zu arguments", n);
    if (n > ORACLE_MOST_ARGS)
        return oracle_unknown(o, "%zu arguments", n);
    if (o->depth == o->max_depth)
        return oracle_fail(o, RLX_RT11, "too many active calls");
    o->depth++;
    bool ok = apply_body(o, f, c->scope, args, out);
    o->depth--;
    return ok;
}

static bool fill_arg(oracle *o, rlx_dtype wanted, relax_value v, rlx_tir_arg *out)
{
    static char empty[64];
    relax_tensor *t = relax_value_get_tensor(&v);
    int32_t truth;
    *out = (rlx_tir_arg){ .dtype = wanted };
    if (t) {
        out->dtype = relax_tensor_dtype(t);
        out->data = relax_tensor_data(t) ? relax_tensor_data(t) : empty;
        out->shape = relax_tensor_shape(t);
        out->ndim = relax_tensor_ndim(t);
        return true;
    }
    if (relax_value_get_bool(&v, &truth) == RELAX_OK)
        return out->i = truth, true;
    if (relax_value_get_int(&v, &out->i) == RELAX_OK)
        return true;
    return relax_value_get_float(&v, &out->f) == RELAX_OK ||
           oracle_fail(o, RLX_RT02, "no argument for a PrimFunc");
}

/* Constants were copied where they stand, so that a PrimFunc may write to all of its arguments. */
static bool apply_prim_func(oracle *o, const rlx_prim_func *f, const relax_value *args, size_t n,
                            relax_value *out)
{
    rlx_tir_arg list[ORACLE_MOST_ARGS];
    if (n != f->num_params)
        return oracle_fail(o, RLX_RT01, "%zu arguments", n);
    if (n > ORACLE_MOST_ARGS || !rlx_dtype_is_void(f->ret_dtype))
        return oracle_unknown(o, "such a PrimFunc");
    for (size_t i = 0; i < n; i++)
        if (!fill_arg(o, rlx_as_prim_var(f->params[i])->dtype, args[i], &list[i]))
            return false;
    if (!rlx_tir_eval(o->ctx, f, list, n, NULL, o->why))
        return false;
    *out = oracle_unit(o);
    return true;
}

static bool apply_captured(oracle *o, const closure *c, const relax_value *args, size_t n,
                           relax_value *out)
{
    relax_value all[ORACLE_MOST_ARGS];
    if (n + c->num_captured > ORACLE_MOST_ARGS)
        return oracle_unknown(o, "too many arguments");
    if (n)
        memcpy(all, args, n * sizeof *args);
    if (c->num_captured)
        memcpy(all + n, c->captured, c->num_captured * sizeof *all);
    return oracle_apply(o, c->of, all, n + c->num_captured, out);
}

bool oracle_apply(oracle *o, relax_value f, const relax_value *args, size_t n, relax_value *out)
{
    const closure *c = oracle_closure_of(o, f);
    relax_packed_func *host = relax_value_get_packed_func(&f);
    if (!c)
        return host ? call_host(o, host, args, n, out)
                    : oracle_fail(o, RLX_RT18, "what is called is no function");
    if (!c->function)
        return apply_captured(o, c, args, n, out);
    if (rlx_as_function(c->function))
        return apply_function(o, c, rlx_as_function(c->function), args, n, out);
    if (rlx_as_prim_func(c->function))
        return apply_prim_func(o, rlx_as_prim_func(c->function), args, n, out);
    return oracle_packed(o, rlx_as_extern_func(c->function)->symbol->data, args, n, out);
}

/* ---- operators that call -------------------------------------------------------------------- */

typedef struct list { relax_value at[ORACLE_MOST_ARGS]; size_t n; } list;

static bool add(oracle *o, list *l, relax_value v)
{
    if (l->n == ORACLE_MOST_ARGS)
        return oracle_unknown(o, "too many arguments");
    l->at[l->n++] = v;
    return true;
}

static bool add_fields(oracle *o, list *l, relax_value tuple)
{
    size_t n = relax_value_tuple_size(&tuple);
    if (n == RELAX_NOT_FOUND)
        return add(o, l, tuple);
    for (size_t i = 0; i < n; i++)
        if (!add(o, l, oracle_field(tuple, i)))
            return false;
    return true;
}

static bool eval_args(oracle *o, const cell *s, const rlx_call *c, size_t first, list *l)
{
    l->n = 0;
    for (size_t i = first; i < c->num_args; i++) {
        relax_value v;
        if (!oracle_eval(o, s, c->args[i], &v) || !add(o, l, v))
            return false;
    }
    return true;
}

static bool new_output(oracle *o, const cell *s, const rlx_sinfo *info, relax_value *out)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(info);
    const rlx_shape_expr *sizes = t ? rlx_as_shape_expr(t->shape) : NULL;
    int64_t dims[32];
    if (!t || !t->shape)
        return oracle_unknown(o, "an output without sizes");
    if (sizes)
        return oracle_dims(o, s, sizes->values, sizes->num_values, dims) &&
               oracle_tensor(o, t->dtype, dims, sizes->num_values, out);
    relax_value shape;
    const int64_t *named;
    size_t n;
    if (!oracle_eval(o, s, t->shape, &shape))
        return false;
    if (relax_value_get_shape(&shape, &named, &n) != RELAX_OK)
        return oracle_fail(o, RLX_RT02, "no shape");
    return oracle_tensor(o, t->dtype, named, n, out);
}

/* The outputs, each new or one of the inputs. */
static bool make_outputs(oracle *o, const cell *s, const rlx_call *c, const list *inputs,
                         const rlx_attr *indices, list *outputs)
{
    const rlx_tuple_sinfo *many = rlx_as_tuple_sinfo(c->sinfo_args[0]);
    size_t n = many ? many->num_fields : 1;
    outputs->n = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t of = indices ? rlx_attr_item(indices, i) : -1;
        relax_value v;
        if (of >= 0 && (size_t)of < inputs->n)
            v = inputs->at[of];
        else if (!new_output(o, s, many ? many->fields[i] : c->sinfo_args[0], &v))
            return false;
        if (!add(o, outputs, v))
            return false;
    }
    return true;
}

static bool add_sizes(oracle *o, list *l, relax_value shape)
{
    const int64_t *dims;
    size_t n;
    if (relax_value_get_shape(&shape, &dims, &n) != RELAX_OK)
        return oracle_fail(o, RLX_RT02, "tir_vars that are no shape");
    for (size_t i = 0; i < n; i++) {
        relax_value v;
        relax_value_set_int(&v, dims[i]);
        if (!add(o, l, v))
            return false;
    }
    return true;
}

/* call_tir and its kin: function(inputs, outputs that are not inputs, sizes); the result are the
 * outputs. */
static bool call_dps(oracle *o, const cell *s, const rlx_call *c, const rlx_attr *indices,
                     relax_value *out)
{
    list all = { .n = 0 }, outputs;
    relax_value args[3], ignored;
    for (size_t i = 0; i < c->num_args && i < 3; i++)
        if (!oracle_eval(o, s, c->args[i], &args[i]))
            return false;
    if (!add_fields(o, &all, args[1]) || !make_outputs(o, s, c, &all, indices, &outputs))
        return false;
    for (size_t i = 0; i < outputs.n; i++)
        if ((!indices || rlx_attr_item(indices, i) < 0) && !add(o, &all, outputs.at[i]))
            return false;
    if (c->num_args > 2 && !add_sizes(o, &all, args[2]))
        return false;
    if (!oracle_apply(o, args[0], all.at, all.n, &ignored))
        return false;
    *out = rlx_as_tuple_sinfo(c->sinfo_args[0]) ? oracle_tuple(o, outputs.at, outputs.n)
                                                : outputs.at[0];
    return true;
}

static bool call_closure(oracle *o, const cell *s, const rlx_call *c, bool makes, relax_value *out)
{
    list l = { .n = 0 };
    relax_value f, args;
    if (!oracle_eval(o, s, c->args[0], &f) || !oracle_eval(o, s, c->args[1], &args) ||
        !add_fields(o, &l, args))
        return false;
    if (!makes)
        return oracle_apply(o, f, l.at, l.n, out);
    *out = oracle_closure(o, f, l.at, l.n);
    return true;
}

static bool print(oracle *o, const list *l, relax_value *out)
{
    relax_value ignored;
    *out = oracle_unit(o);
    return !o->registry || !relax_registry_find(o->registry, "relax.run.print", 15) ||
           oracle_packed(o, "relax.run.print", l->at, l->n, &ignored);
}

static bool assert_holds(oracle *o, relax_value cond, relax_value *out)
{
    relax_tensor *t = relax_value_get_tensor(&cond);
    int32_t truth = t && *(uint8_t *)relax_tensor_data(t);
    if (!t && relax_value_get_bool(&cond, &truth) != RELAX_OK)
        return oracle_fail(o, RLX_RT02, "no condition");
    *out = oracle_unit(o);
    return truth || oracle_fail(o, RLX_RT15, "an assertion does not hold");
}

bool oracle_eval_call(oracle *o, const cell *s, const rlx_call *c, relax_value *out)
{
    list l;
    relax_value f;
    switch (rlx_op_id_of(c->op)) {
    case RLX_OP_ID_CALL_TIR:
    case RLX_OP_ID_CALL_TIR_WITH_GRAD:
    case RLX_OP_ID_CALL_DPS_PACKED: return call_dps(o, s, c, NULL, out);
    case RLX_OP_ID_CALL_TIR_INPLACE:
        return call_dps(o, s, c, rlx_call_attr(c, "inplace_indices"), out);
    case RLX_OP_ID_CALL_PURE_PACKED:
    case RLX_OP_ID_CALL_INPLACE_PACKED:
        return oracle_eval(o, s, c->args[0], &f) && eval_args(o, s, c, 1, &l) &&
               oracle_apply(o, f, l.at, l.n, out);
    case RLX_OP_ID_MAKE_CLOSURE: return call_closure(o, s, c, true, out);
    case RLX_OP_ID_INVOKE_CLOSURE:
    case RLX_OP_ID_INVOKE_PURE_CLOSURE: return call_closure(o, s, c, false, out);
    case RLX_OP_ID_PRINT: return eval_args(o, s, c, 0, &l) && print(o, &l, out);
    case RLX_OP_ID_ASSERT_OP: return eval_args(o, s, c, 0, &l) && assert_holds(o, l.at[0], out);
    default: break;
    }
    if (rlx_as_op(c->op))
        return oracle_eval_op(o, s, c, rlx_as_op(c->op)->row, out);
    return oracle_eval(o, s, c->op, &f) && eval_args(o, s, c, 0, &l) &&
           oracle_apply(o, f, l.at, l.n, out);
}
