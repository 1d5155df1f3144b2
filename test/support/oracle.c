/* oracle.c: values, scopes and expressions of the oracle. */
#include "oracle_int.h"
#include <stdlib.h>
#include "transform/transform.h"

/* ---- failures ------------------------------------------------------------------------------- */

bool oracle_fail(oracle *o, enum rlx_code_id code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(o->why->text, sizeof o->why->text, format, args);
    va_end(args);
    o->why->code = (uint16_t)code;
    o->why->inner = 0;
    return false;
}

bool oracle_unknown(oracle *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(o->why->text, sizeof o->why->text, format, args);
    va_end(args);
    o->why->code = o->why->inner = 0;
    return false;
}

bool oracle_blame(oracle *o, enum rlx_code_id code)
{
    if (!o->why->code)
        return false;
    o->why->inner = o->why->code;
    o->why->code = (uint16_t)code;
    return false;
}

/* ---- values --------------------------------------------------------------------------------- */

relax_value oracle_keep(oracle *o, relax_value v)
{
    if (o->num_kept == o->cap_kept) {
        o->cap_kept = 2 * o->cap_kept + 64;
        o->kept = realloc(o->kept, o->cap_kept * sizeof *o->kept);
    }
    return o->kept[o->num_kept++] = v;
}

relax_value oracle_tuple(oracle *o, const relax_value *fields, size_t count)
{
    relax_value v = { 0 };
    if (relax_value_set_tuple(&v, fields, count, NULL) != RELAX_OK)
        relax_value_set_null(&v);
    return oracle_keep(o, v);
}

relax_value oracle_unit(oracle *o) { return oracle_tuple(o, NULL, 0); }

relax_value oracle_shape(oracle *o, const int64_t *dims, size_t ndim)
{
    relax_value v = { 0 };
    if (relax_value_set_shape(&v, dims, ndim, NULL) != RELAX_OK)
        relax_value_set_null(&v);
    return oracle_keep(o, v);
}

bool oracle_tensor(oracle *o, rlx_dtype dtype, const int64_t *dims, size_t ndim, relax_value *out)
{
    relax_tensor *t = NULL;
    for (size_t i = 0; i < ndim; i++)
        if (dims[i] < 0)
            return oracle_fail(o, RLX_RT05, "size %zu is negative", i);
    if (relax_tensor_create(dtype, dims, (int32_t)ndim, NULL, &t, NULL) != RELAX_OK)
        return oracle_fail(o, RLX_RT10, "no tensor");
    relax_value v;
    relax_value_set_tensor(&v, t);
    relax_tensor_release(t);
    *out = oracle_keep(o, v);
    return true;
}

/* Called by a host that was given a closure. */
static int call_closure(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    closure *c = user;
    relax_value f;
    relax_value_set_packed_func(&f, c->object);
    oracle_keep(c->o, f);
    if (!oracle_apply(c->o, f, args, (size_t)num_args, result))
        return relax_value_set_error(result, "", 0, c->o->why->text, strlen(c->o->why->text));
    relax_value_retain(result);
    return 0;
}

static closure *new_closure(oracle *o)
{
    closure *c = calloc(1, sizeof *c);
    c->o = o;
    c->next_made = o->closures;
    o->closures = c;
    c->object = relax_packed_func_create(call_closure, c, NULL);
    return c;
}

static relax_value closure_value(oracle *o, closure *c)
{
    relax_value v;
    relax_value_set_packed_func(&v, c->object);
    return oracle_keep(o, v);
}

relax_value oracle_function(oracle *o, const rlx_node *function, const cell *scope)
{
    closure *c = new_closure(o);
    c->function = function;
    c->scope = scope;
    return closure_value(o, c);
}

relax_value oracle_closure(oracle *o, relax_value of, const relax_value *captured, size_t count)
{
    closure *c = new_closure(o);
    c->of = of;
    c->captured = calloc(count + 1, sizeof *captured);
    c->num_captured = count;
    if (count)
        memcpy(c->captured, captured, count * sizeof *captured);
    return closure_value(o, c);
}

const closure *oracle_closure_of(const oracle *o, relax_value v)
{
    relax_packed_func *f = relax_value_get_packed_func(&v);
    for (const closure *c = o->closures; f && c; c = c->next_made)
        if (c->object == f)
            return c;
    return NULL;
}

relax_value oracle_field(relax_value tuple, size_t i)
{
    relax_value v = { 0 };
    relax_value_tuple_get(&tuple, i, &v);
    return v;
}

/* ---- scopes --------------------------------------------------------------------------------- */

const cell *oracle_bind(oracle *o, const cell *s, const rlx_node *name, relax_value v)
{
    cell *c = calloc(1, sizeof *c);
    *c = (cell){ s, name, v, o->cells };
    return o->cells = c;
}

const cell *oracle_find(const cell *s, const rlx_node *name)
{
    while (s && s->name != name)
        s = s->below;
    return s;
}

/* ---- expressions ---------------------------------------------------------------------------- */

static bool eval_constant(oracle *o, const rlx_constant *c, relax_value *out)
{
    if (!oracle_tensor(o, c->dtype, c->shape, c->num_shape, out))
        return false;
    relax_tensor *t = relax_value_get_tensor(out);
    if (relax_tensor_bytes(t))
        memcpy(relax_tensor_data(t), c->data->data, relax_tensor_bytes(t));
    return true;
}

static bool eval_tuple(oracle *o, const cell *s, const rlx_tuple *t, relax_value *out)
{
    relax_value *fields = calloc(t->num_fields + 1, sizeof *fields);
    bool ok = true;
    for (size_t i = 0; ok && i < t->num_fields; i++)
        ok = oracle_eval(o, s, t->fields[i], &fields[i]);
    if (ok)
        *out = oracle_tuple(o, fields, t->num_fields);
    free(fields);
    return ok;
}

static bool eval_item(oracle *o, const cell *s, const rlx_tuple_get_item *g, relax_value *out)
{
    relax_value tuple;
    if (!oracle_eval(o, s, g->tuple, &tuple))
        return false;
    size_t size = relax_value_tuple_size(&tuple);
    if (size == RELAX_NOT_FOUND)
        return oracle_fail(o, RLX_RT02, "a field of what is no tuple");
    if (g->index < 0 || (size_t)g->index >= size)
        return oracle_fail(o, RLX_RT09, "no field %lld", (long long)g->index);
    *out = oracle_field(tuple, (size_t)g->index);
    return true;
}

static bool eval_shape(oracle *o, const cell *s, const rlx_shape_expr *e, relax_value *out)
{
    int64_t dims[32];
    if (!oracle_dims(o, s, e->values, e->num_values, dims))
        return false;
    *out = oracle_shape(o, dims, e->num_values);
    return true;
}

static bool eval_imm(oracle *o, const rlx_expr *e, relax_value *out)
{
    relax_value v = { 0 };
    const rlx_string_imm *text = rlx_as_string_imm(e);
    if (!text)
        relax_value_set_dtype(&v, rlx_as_dtype_imm(e)->value);
    else if (relax_value_set_string(&v, text->value->data, text->value->len, NULL) != RELAX_OK)
        return oracle_fail(o, RLX_RT10, "no string");
    *out = oracle_keep(o, v);
    return true;
}

static bool is_true(oracle *o, relax_value v, bool *out)
{
    int32_t answer;
    relax_tensor *t = relax_value_get_tensor(&v);
    if (t && relax_tensor_dtype(t) == RELAX_BOOL && relax_tensor_ndim(t) == 0)
        return *out = *(uint8_t *)relax_tensor_data(t) != 0, true;
    if (relax_value_get_bool(&v, &answer) == RELAX_OK)
        return *out = answer != 0, true;
    return oracle_fail(o, RLX_RT17, "the condition is no Boolean scalar");
}

static bool eval_if(oracle *o, const cell *s, const rlx_if_expr *e, relax_value *out)
{
    relax_value cond;
    bool holds = false;
    return oracle_eval(o, s, e->cond, &cond) && is_true(o, cond, &holds) &&
           oracle_eval(o, s, holds ? e->true_branch : e->false_branch, out);
}

/* What is bound to a function may call itself: its scope has its own name. */
static bool bind_function(oracle *o, const cell **s, const rlx_var *var, const rlx_expr *value,
                          relax_value *out)
{
    cell *own = (cell *)oracle_bind(o, *s, &var->node, (relax_value){ 0 });
    *out = own->value = oracle_function(o, value, own);
    *s = own;
    return true;
}

/* What was assumed of a value holds, or else the program fails here. */
static bool check_variable(oracle *o, const cell *s, const rlx_var *var, relax_value v)
{
    return oracle_match(o, &s, &var->sinfo, &v, 1) || oracle_blame(o, RLX_RT06);
}

static bool eval_binding(oracle *o, const cell **s, const rlx_binding *b)
{
    const rlx_var *var = rlx_binding_var(b);
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    const rlx_expr *value = rlx_binding_value(b);
    relax_value v;
    if (var && rlx_is(value, RLX_NODE_FUNCTION))
        return bind_function(o, s, var, value, &v);
    if (!oracle_eval(o, *s, value, &v))
        return false;
    if (cast && !oracle_match(o, s, &cast->sinfo, &v, 1))
        return oracle_blame(o, RLX_RT06);
    if (var && !check_variable(o, *s, var, v))
        return false;
    if (var)
        *s = oracle_bind(o, *s, &var->node, v);
    return true;
}

static bool eval_seq(oracle *o, const cell *s, const rlx_seq_expr *e, relax_value *out)
{
    for (size_t i = 0; i < e->num_blocks; i++) {
        const rlx_block *b = rlx_as_block(e->blocks[i]);
        for (size_t k = 0; k < b->num_bindings; k++)
            if (!eval_binding(o, &s, b->bindings[k]))
                return false;
    }
    return oracle_eval(o, s, e->body, out);
}

static bool eval_var(oracle *o, const cell *s, const rlx_expr *e, relax_value *out)
{
    const cell *c = oracle_find(s, e);
    if (!c)
        return oracle_unknown(o, "a variable without value");
    *out = c->value;
    return true;
}

bool oracle_eval(oracle *o, const cell *s, const rlx_expr *e, relax_value *out)
{
    switch (e->kind) {
    case RLX_NODE_CONSTANT: return eval_constant(o, rlx_as_constant(e), out);
    case RLX_NODE_VAR:
    case RLX_NODE_DATAFLOW_VAR: return eval_var(o, s, e, out);
    case RLX_NODE_GLOBAL_VAR:
        *out = oracle_function(o, rlx_module_builder_function(o->functions, rlx_as_global_var(e)),
                               NULL);
        return true;
    case RLX_NODE_FUNCTION:
    case RLX_NODE_EXTERN_FUNC: *out = oracle_function(o, e, s); return true;
    case RLX_NODE_TUPLE: return eval_tuple(o, s, rlx_as_tuple(e), out);
    case RLX_NODE_TUPLE_GET_ITEM: return eval_item(o, s, rlx_as_tuple_get_item(e), out);
    case RLX_NODE_SEQ_EXPR: return eval_seq(o, s, rlx_as_seq_expr(e), out);
    case RLX_NODE_PRIM_VALUE: return oracle_prim(o, s, rlx_as_prim_value(e)->value, out);
    case RLX_NODE_SHAPE_EXPR: return eval_shape(o, s, rlx_as_shape_expr(e), out);
    case RLX_NODE_STRING_IMM:
    case RLX_NODE_DTYPE_IMM: return eval_imm(o, e, out);
    case RLX_NODE_IF: return eval_if(o, s, rlx_as_if_expr(e), out);
    case RLX_NODE_CALL: return oracle_eval_call(o, s, rlx_as_call(e), out);
    default: return oracle_unknown(o, "an expression of kind %s", rlx_kinds[e->kind].name);
    }
}

/* ---- from outside --------------------------------------------------------------------------- */

oracle *oracle_create(relax_context *ctx, const relax_module *module, relax_registry *registry)
{
    /* Which products and sums are rounded together is part of the meaning (numbers.md). */
    rlx_pass_step step = { .row = rlx_pass_find(rlx_slice_z("fuse_multiply_add")) };
    const rlx_module *m = rlx_run_passes(ctx, (const rlx_module *)module, &step, 1, NULL);
    rlx_module_builder *functions = m ? rlx_module_builder_create(ctx, m) : NULL;
    if (!functions)
        return NULL;
    oracle *o = calloc(1, sizeof *o);
    o->ctx = ctx;
    o->module = m;
    o->functions = functions;
    o->registry = registry;
    o->max_depth = 200;
    return o;
}

void oracle_limit_depth(oracle *o, int most) { o->max_depth = most; }

void oracle_free(oracle *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->num_kept; i++)
        relax_value_release(&o->kept[i]);
    for (cell *c = o->cells, *next; c; c = next) {
        next = c->next_made;
        free(c);
    }
    for (closure *c = o->closures, *next; c; c = next) {
        next = c->next_made;
        relax_packed_func_release(c->object);
        free(c->captured);
        free(c);
    }
    rlx_module_builder_free(o->functions);
    free(o->kept);
    free(o);
}

bool oracle_call_value(oracle *o, const relax_value *function, const relax_value *args,
                       size_t num_args, relax_value *result, rlx_fault *why)
{
    rlx_fault_begin(why);
    o->why = why;
    o->depth = 0;
    return oracle_apply(o, *function, args, num_args, result);
}

bool oracle_call(oracle *o, const char *name, const relax_value *args, size_t num_args,
                 relax_value *result, rlx_fault *why)
{
    int64_t at = rlx_module_find(o->module, rlx_slice_z(name));
    o->why = why;
    if (at < 0 || !rlx_link_name(o->module->functions[at]))
        return oracle_fail(o, RLX_RT20, "no public function %s", name);
    relax_value f = oracle_function(o, o->module->functions[at], NULL);
    return oracle_call_value(o, &f, args, num_args, result, why);
}
