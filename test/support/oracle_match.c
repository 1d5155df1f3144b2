/* oracle_match.c: integers and scalars for given variables, and values against descriptions. */
#include "oracle_int.h"
#include <math.h>

/* ---- scalars -------------------------------------------------------------------------------- */

typedef struct number { bool is_float, is_bool; int64_t i; double f; } number;

static bool eval_number(oracle *o, const cell *s, const rlx_prim *p, number *out);

static bool overflow(oracle *o) { return oracle_fail(o, RLX_RT14, "overflow of a size"); }

static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool divide(oracle *o, uint8_t kind, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return oracle_fail(o, RLX_RT14, "division by zero");
    if (a == INT64_MIN && b == -1)
        return overflow(o);
    switch (kind) {
    case RLX_NODE_DIV: *out = a / b; return true;
    case RLX_NODE_MOD: *out = a % b; return true;
    case RLX_NODE_FLOOR_DIV: *out = floor_quotient(a, b); return true;
    default: *out = a - floor_quotient(a, b) * b; return true;
    }
}

static bool apply_ints(oracle *o, uint8_t kind, int64_t a, int64_t b, int64_t *out)
{
    switch (kind) {
    case RLX_NODE_ADD: return !__builtin_add_overflow(a, b, out) || overflow(o);
    case RLX_NODE_SUB: return !__builtin_sub_overflow(a, b, out) || overflow(o);
    case RLX_NODE_MUL: return !__builtin_mul_overflow(a, b, out) || overflow(o);
    case RLX_NODE_MIN: *out = a < b ? a : b; return true;
    case RLX_NODE_MAX: *out = a > b ? a : b; return true;
    case RLX_NODE_EQ: *out = a == b; return true;
    case RLX_NODE_NE: *out = a != b; return true;
    case RLX_NODE_LT: *out = a < b; return true;
    case RLX_NODE_LE: *out = a <= b; return true;
    case RLX_NODE_GT: *out = a > b; return true;
    case RLX_NODE_GE: *out = a >= b; return true;
    default: return divide(o, kind, a, b, out);
    }
}

static bool eval_binary(oracle *o, const cell *s, const rlx_binary *e, number *out)
{
    number a, b;
    uint8_t kind = e->node.kind;
    bool decides = kind == RLX_NODE_OR;
    if (!eval_number(o, s, e->a, &a))
        return false;
    if (kind == RLX_NODE_AND || kind == RLX_NODE_OR) {
        if ((a.i != 0) != decides && !eval_number(o, s, e->b, &a))
            return false;
        *out = (number){ .is_bool = true, .i = a.i != 0 };
        return true;
    }
    if (!eval_number(o, s, e->b, &b))
        return false;
    if (a.is_float || b.is_float)
        return oracle_unknown(o, "arithmetic of scalar floats");
    *out = (number){ .is_bool = rlx_dtype_is_bool(e->dtype) };
    return apply_ints(o, kind, a.i, b.i, &out->i);
}

static bool eval_select(oracle *o, const cell *s, const rlx_prim *cond, const rlx_prim *yes,
                        const rlx_prim *no, number *out)
{
    number c;
    return eval_number(o, s, cond, &c) && eval_number(o, s, c.i ? yes : no, out);
}

static bool eval_variable(oracle *o, const cell *s, const rlx_prim *p, number *out)
{
    const cell *c = oracle_find(s, p);
    int32_t truth;
    *out = (number){ 0 };
    if (!c)
        return oracle_unknown(o, "a shape variable without value");
    if (relax_value_get_bool(&c->value, &truth) == RELAX_OK) {
        *out = (number){ .is_bool = true, .i = truth };
        return true;
    }
    if (relax_value_get_int(&c->value, &out->i) == RELAX_OK)
        return true;
    out->is_float = true;
    return relax_value_get_float(&c->value, &out->f) == RELAX_OK ||
           oracle_unknown(o, "a variable that is no number");
}

static bool eval_cast(oracle *o, const cell *s, const rlx_unary *e, number *out)
{
    if (!eval_number(o, s, e->a, out))
        return false;
    if (out->is_float || rlx_dtype_is_float(e->dtype))
        return oracle_unknown(o, "a cast of scalar floats");
    out->is_bool = rlx_dtype_is_bool(e->dtype);
    out->i = out->is_bool ? out->i != 0 : out->i;
    return true;
}

static bool eval_number(oracle *o, const cell *s, const rlx_prim *p, number *out)
{
    const rlx_select *choice = rlx_as_select(p);
    const rlx_prim_call *call = rlx_as_prim_call(p);
    const rlx_int_imm *i = rlx_as_int_imm(p);
    if (i) {
        *out = (number){ .is_bool = rlx_dtype_is_bool(i->dtype), .i = i->value };
        return true;
    }
    if (rlx_as_float_imm(p)) {
        *out = (number){ .is_float = true, .f = rlx_as_float_imm(p)->value };
        return true;
    }
    if (rlx_is(p, RLX_NODE_PRIM_VAR))
        return eval_variable(o, s, p, out);
    if (rlx_as_binary(p))
        return eval_binary(o, s, rlx_as_binary(p), out);
    if (rlx_is(p, RLX_NODE_CAST))
        return eval_cast(o, s, rlx_as_unary(p), out);
    if (choice)
        return eval_select(o, s, choice->cond, choice->true_value, choice->false_value, out);
    if (call && call->op && strcmp(call->op->data, "if_then_else") == 0)
        return eval_select(o, s, call->args[0], call->args[1], call->args[2], out);
    if (!rlx_is(p, RLX_NODE_NOT))
        return oracle_unknown(o, "a scalar of kind %s", rlx_kinds[p->kind].name);
    if (!eval_number(o, s, rlx_as_unary(p)->a, out))
        return false;
    *out = (number){ .is_bool = true, .i = !out->i };
    return true;
}

bool oracle_prim(oracle *o, const cell *s, const rlx_prim *p, relax_value *out)
{
    number n;
    if (!eval_number(o, s, p, &n))
        return false;
    if (n.is_float)
        relax_value_set_float(out, n.f);
    else if (n.is_bool)
        relax_value_set_bool(out, n.i != 0);
    else
        relax_value_set_int(out, n.i);
    return true;
}

bool oracle_dims(oracle *o, const cell *s, const rlx_prim *const *dims, size_t n, int64_t *out)
{
    number d;
    if (n > 32)
        return oracle_unknown(o, "a shape of more than 32 sizes");
    for (size_t i = 0; i < n; i++) {
        if (!eval_number(o, s, dims[i], &d))
            return false;
        out[i] = d.i;
    }
    return true;
}

/* ---- descriptions --------------------------------------------------------------------------- */

/* Two rounds over everything (language 7.1): kinds, dtypes, ranks and variables that stand alone
 * and have no value yet; then all other sizes. */
enum { KINDS, SIZES };
typedef struct matching { oracle *o; const cell **s; int round; } matching;

static bool match(matching *m, const rlx_sinfo *want, relax_value v);

static bool match_size(matching *m, const rlx_prim *want, int64_t have)
{
    oracle *o = m->o;
    number n;
    relax_value v;
    if (m->round == KINDS) {
        if (rlx_is(want, RLX_NODE_PRIM_VAR) && !oracle_find(*m->s, want)) {
            relax_value_set_int(&v, have);
            *m->s = oracle_bind(o, *m->s, want, v);
        }
        return true;
    }
    return eval_number(o, *m->s, want, &n) &&
           (n.i == have || oracle_fail(o, RLX_RT05, "a size is %lld, expected %lld",
                                       (long long)have, (long long)n.i));
}

static bool match_sizes(matching *m, const rlx_prim *const *want, size_t n, const int64_t *have)
{
    for (size_t i = 0; i < n; i++)
        if (!match_size(m, want[i], have[i]))
            return false;
    return true;
}

static bool match_prim(matching *m, const rlx_prim_sinfo *want, relax_value v)
{
    oracle *o = m->o;
    int32_t kind = relax_value_kind(&v), truth = 0;
    int64_t i = 0;
    if (kind != RELAX_VALUE_KIND_INT && kind != RELAX_VALUE_KIND_BOOL &&
        kind != RELAX_VALUE_KIND_FLOAT)
        return oracle_fail(o, RLX_RT02, "no scalar");
    bool is_float = rlx_dtype_is_float(want->dtype), is_bool = rlx_dtype_is_bool(want->dtype);
    if (!rlx_dtype_is_void(want->dtype) && (is_float != (kind == RELAX_VALUE_KIND_FLOAT) ||
                                            is_bool != (kind == RELAX_VALUE_KIND_BOOL)))
        return oracle_fail(o, RLX_RT03, "a scalar of another dtype");
    if (!want->value)
        return true;
    if (is_float)
        return oracle_unknown(o, "values of scalar floats");
    if (kind == RELAX_VALUE_KIND_BOOL)
        relax_value_get_bool(&v, &truth);
    else
        relax_value_get_int(&v, &i);
    return match_size(m, want->value, kind == RELAX_VALUE_KIND_BOOL ? truth : i);
}

static bool match_shape(matching *m, const rlx_shape_sinfo *want, relax_value v)
{
    const int64_t *dims;
    size_t n;
    if (relax_value_get_shape(&v, &dims, &n) != RELAX_OK)
        return oracle_fail(m->o, RLX_RT02, "no shape");
    if (want->ndim >= 0 && (size_t)want->ndim != n)
        return oracle_fail(m->o, RLX_RT04, "a shape of rank %zu", n);
    return !want->has_values || match_sizes(m, want->values, want->num_values, dims);
}

/* The sizes of a tensor are those of a shape that has a name. */
static bool match_named_shape(matching *m, const rlx_expr *name, const int64_t *dims, size_t ndim)
{
    const cell *c = oracle_find(*m->s, name);
    const int64_t *want;
    size_t n;
    if (m->round == KINDS)
        return true;
    if (!c || relax_value_get_shape(&c->value, &want, &n) != RELAX_OK)
        return oracle_unknown(m->o, "a tensor shaped by what is no shape");
    if (n != ndim)
        return oracle_fail(m->o, RLX_RT04, "a tensor of rank %zu", ndim);
    for (size_t i = 0; i < n; i++)
        if (want[i] != dims[i])
            return oracle_fail(m->o, RLX_RT05, "size %zu is another one", i);
    return true;
}

static bool match_tensor(matching *m, const rlx_tensor_sinfo *want, relax_value v)
{
    oracle *o = m->o;
    relax_tensor *t = relax_value_get_tensor(&v);
    if (!t)
        return oracle_fail(o, RLX_RT02, "no tensor");
    if (!rlx_dtype_is_void(want->dtype) && relax_tensor_dtype(t) != want->dtype)
        return oracle_fail(o, RLX_RT03, "a tensor of another dtype");
    if (want->ndim >= 0 && relax_tensor_ndim(t) != want->ndim)
        return oracle_fail(o, RLX_RT04, "a tensor of rank %d", (int)relax_tensor_ndim(t));
    const rlx_shape_expr *sizes = rlx_as_shape_expr(want->shape);
    if (sizes)
        return match_sizes(m, sizes->values, sizes->num_values, relax_tensor_shape(t));
    return !want->shape || match_named_shape(m, want->shape, relax_tensor_shape(t),
                                             (size_t)relax_tensor_ndim(t));
}

static bool match_tuple(matching *m, const rlx_tuple_sinfo *want, relax_value v)
{
    size_t n = relax_value_tuple_size(&v);
    if (n == RELAX_NOT_FOUND)
        return oracle_fail(m->o, RLX_RT02, "no tuple");
    if (n != want->num_fields)
        return oracle_fail(m->o, RLX_RT04, "a tuple of %zu", n);
    for (size_t i = 0; i < n; i++)
        if (!match(m, want->fields[i], oracle_field(v, i)))
            return false;
    return true;
}

/* ---- descriptions of functions -------------------------------------------------------------- */

const rlx_sinfo *oracle_instance(oracle *o, const cell *s, const rlx_sinfo *info)
{
    const rlx_prim *from[256], *to[256];
    size_t n = 0;
    for (; s; s = s->below) {
        int64_t i;
        bool known = !rlx_is(s->name, RLX_NODE_PRIM_VAR) || n == 256;
        for (size_t k = 0; k < n && !known; k++)
            known = from[k] == s->name;
        if (known || relax_value_get_int(&s->value, &i) != RELAX_OK)
            continue;
        from[n] = s->name;
        to[n++] = rlx_int(o->ctx, ((const rlx_prim_var *)s->name)->dtype, i);
    }
    return rlx_substitute(o->ctx, info, from, to, n);
}

/* What a function value says of itself; NULL: nothing, it is no function of the program. */
static const rlx_sinfo *carried(oracle *o, relax_value v)
{
    const closure *c = oracle_closure_of(o, v);
    const rlx_function *f = c ? rlx_as_function(c->function) : NULL;
    const rlx_prim_func *p = c ? rlx_as_prim_func(c->function) : NULL;
    if (f)
        return oracle_instance(o, c->scope, f->sinfo);
    if (p)
        return rlx_prim_func_signature(o->ctx, p);
    const rlx_func_sinfo *whole = c && !c->function ? rlx_as_func_sinfo(carried(o, c->of)) : NULL;
    if (!whole || whole->derive || whole->num_params < c->num_captured)
        return NULL;
    return rlx_func_info(o->ctx, whole->binders, whole->num_binders, whole->params,
                         whole->num_params - c->num_captured, whole->ret, whole->is_pure);
}

static enum rlx_code_id code_of(enum rlx_mismatch_part part)
{
    switch (part) {
    case RLX_MISMATCH_DTYPE: return RLX_RT03;
    case RLX_MISMATCH_RANK:
    case RLX_MISMATCH_LENGTH:
    case RLX_MISMATCH_ARITY: return RLX_RT04;
    case RLX_MISMATCH_DIMENSION:
    case RLX_MISMATCH_SHAPE:
    case RLX_MISMATCH_VALUE: return RLX_RT05;
    default: return RLX_RT02;
    }
}

static bool match_func(matching *m, const rlx_func_sinfo *want, relax_value v)
{
    oracle *o = m->o;
    const closure *c = oracle_closure_of(o, v);
    if (relax_value_kind(&v) != RELAX_VALUE_KIND_FUNCTION)
        return oracle_fail(o, RLX_RT02, "no function");
    if (m->round == KINDS || want->derive || !c || rlx_is(c->function, RLX_NODE_EXTERN_FUNC))
        return true;
    const rlx_func_sinfo *have = rlx_as_func_sinfo(carried(o, v));
    if (!have)
        return true;
    if (have->num_params != want->num_params)
        return oracle_fail(o, RLX_RT04, "a function of %zu parameters", have->num_params);
    rlx_scope scope;
    rlx_mismatch why = { 0 };
    rlx_scope_init(&scope, o->ctx, NULL);
    bool fits = rlx_assignable(o->ctx, &scope, &have->node,
                               oracle_instance(o, *m->s, &want->node), &why) != RLX_ASSIGNABLE_NO;
    rlx_scope_free(&scope);
    return fits || oracle_fail(o, code_of(why.part), "another kind of function");
}

static bool match(matching *m, const rlx_sinfo *want, relax_value v)
{
    switch (want->kind) {
    case RLX_NODE_OBJECT_SINFO: return true;
    case RLX_NODE_PRIM_SINFO: return match_prim(m, rlx_as_prim_sinfo(want), v);
    case RLX_NODE_SHAPE_SINFO: return match_shape(m, rlx_as_shape_sinfo(want), v);
    case RLX_NODE_TENSOR_SINFO: return match_tensor(m, rlx_as_tensor_sinfo(want), v);
    case RLX_NODE_TUPLE_SINFO: return match_tuple(m, rlx_as_tuple_sinfo(want), v);
    case RLX_NODE_FUNC_SINFO: return match_func(m, rlx_as_func_sinfo(want), v);
    default: return oracle_unknown(m->o, "struct info of kind %s", rlx_kinds[want->kind].name);
    }
}

bool oracle_match(oracle *o, const cell **s, const rlx_sinfo *const *wants,
                  const relax_value *values, size_t count)
{
    matching m = { o, s, KINDS };
    for (; m.round <= SIZES; m.round++)
        for (size_t i = 0; i < count; i++)
            if (!match(&m, wants[i], values[i]))
                return false;
    return true;
}
