/* tir_call.c: which calls of PrimFuncs are known well enough to put their bodies together (tir_call.h). */
#include "transform/tir_call.h"
#include "transform/transform_int.h"

typedef struct matching {
    rlx_context *ctx;
    rlx_env env;
    rlx_tir_call *c;
    rlx_ptrmap bound;                    /* variable of the function -> what it is */
} matching;

const rlx_prim *const *rlx_listed_dims(const rlx_sinfo *s, size_t *count)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    return t && rlx_as_shape_expr(t->shape) ? rlx_shape_dims(t->shape, count) : NULL;
}

bool rlx_binding_checks_nothing(const rlx_binding *b)
{
    const rlx_var *v = rlx_binding_var(b);
    const rlx_call *call = rlx_as_call(rlx_binding_value(b));
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(rlx_binding_value(b));
    const rlx_var *tuple = get ? rlx_as_var(get->tuple) : NULL;
    const rlx_tuple_sinfo *t = tuple ? rlx_as_tuple_sinfo(tuple->sinfo) : NULL;
    if (call)
        return call->num_sinfo_args == 1 && call->sinfo_args[0] == v->sinfo;
    return t && (uint64_t)get->index < t->num_fields && t->fields[get->index] == v->sinfo;
}

/* ---- the parts of the call ------------------------------------------------------------------ */

static bool take_outputs(matching *q, const rlx_sinfo *out)
{
    rlx_tir_call *c = q->c;
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(out);
    c->several = t != NULL;
    c->num_outputs = t ? t->num_fields : 1;
    const rlx_tensor_sinfo **outputs = rlx_new(q->ctx, (c->num_outputs + 1) * sizeof *outputs);
    for (size_t i = 0; outputs && i < c->num_outputs; i++)
        if (!(outputs[i] = rlx_as_tensor_sinfo(t ? t->fields[i] : out)))
            return false;
    c->outputs = outputs;
    return outputs != NULL;
}

static bool take_inplace(matching *q, const rlx_call *call)
{
    rlx_tir_call *c = q->c;
    const rlx_attr_list *list = rlx_op_id_of(call->op) == RLX_OP_ID_CALL_TIR_INPLACE
                                    ? rlx_as_attr_list(rlx_call_attr(call, "inplace_indices"))
                                    : NULL;
    int64_t *inplace = rlx_new(q->ctx, (c->num_outputs + 1) * sizeof *inplace);
    for (size_t i = 0; inplace && i < c->num_outputs; i++) {
        inplace[i] = list && i < list->num_items ? rlx_attr_as_int(list->items[i], -1) : -1;
        if (inplace[i] >= (int64_t)c->num_inputs)
            return false;
    }
    c->inplace = inplace;
    return inplace != NULL;
}

static bool take_call(matching *q, const rlx_module *m, const rlx_expr *value)
{
    rlx_tir_call *c = q->c;
    const rlx_call *call = rlx_as_call(value);
    enum rlx_op_id id = call ? rlx_op_id_of(call->op) : RLX_OP_ID_NONE;
    if ((id != RLX_OP_ID_CALL_TIR && id != RLX_OP_ID_CALL_TIR_INPLACE) || call->num_args < 2 ||
        call->num_sinfo_args != 1)
        return false;
    int64_t at = rlx_module_named_by(m, call->args[0]);
    const rlx_tuple *inputs = rlx_as_tuple(call->args[1]);
    c->call = call;
    c->name = rlx_as_global_var(call->args[0]);
    c->function = at < 0 ? NULL : rlx_as_prim_func(m->functions[at]);
    if (!c->function || c->function->ret_dtype != RELAX_VOID || !inputs)
        return false;
    c->inputs = inputs->fields;
    c->num_inputs = inputs->num_fields;
    return take_outputs(q, call->sinfo_args[0]) && take_inplace(q, call);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static bool bind(matching *q, const rlx_prim *var, const rlx_prim *value)
{
    int64_t literal;
    if (rlx_ptrmap_has(&q->bound, var))
        return true;
    rlx_dtype want = rlx_prim_dtype(var);
    if (rlx_prim_dtype(value) != want) {
        /* A literal that fits; of other sizes nobody knows whether they do. */
        const rlx_prim *cast = rlx_int_literal(value, &literal) ? rlx_fold_cast(q->ctx, want, value) : NULL;
        int64_t kept;
        if (!cast || !rlx_int_literal(cast, &kept) || kept != literal)
            return false;
        value = cast;
    }
    return rlx_ptrmap_put(&q->bound, var, (uintptr_t)value) &&
           rlx_vec_push(&q->ctx->memory, &q->c->from, var) && rlx_vec_push(&q->ctx->memory, &q->c->to, value);
}

/* Compact memory that begins at its first element. */
static bool is_plain(const rlx_buffer *b)
{
    return b && !b->num_strides && !b->num_axis_separators &&
           (!b->elem_offset || rlx_is_int_value(b->elem_offset, 0)) &&
           (!b->scope || rlx_slice_is(rlx_string_slice(b->scope), "global"));
}

static bool bind_buffer(matching *q, size_t param, const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_buffer *b = rlx_as_buffer(q->c->function->buffers[param]);
    size_t n = 0;
    const rlx_prim *const *dims = rlx_listed_dims(s, &n);
    if (!is_plain(b) || !dims || b->dtype != t->dtype || b->num_shape != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (b->shape[i]->kind == RLX_NODE_PRIM_VAR && !bind(q, b->shape[i], dims[i]))
            return false;
    return true;
}

static bool fits(matching *q, size_t param, const rlx_sinfo *s)
{
    const rlx_buffer *b = rlx_as_buffer(q->c->function->buffers[param]);
    size_t n = 0;
    const rlx_prim *const *dims = rlx_listed_dims(s, &n);
    for (size_t i = 0; i < n; i++) {
        const rlx_prim *have =
            rlx_substitute(q->ctx, b->shape[i], q->c->from.data, q->c->to.data, q->c->from.len);
        have = have ? rlx_fold_cast(q->ctx, RELAX_INT64, have) : NULL;
        if (rlx_prove_equal_sizes(q->ctx, NULL, have, dims[i]) != RLX_EQUAL)
            return false;
    }
    return true;
}

size_t rlx_tir_call_output(const rlx_tir_call *c, size_t i)
{
    if (c->inplace[i] >= 0)
        return (size_t)c->inplace[i];
    size_t at = c->num_inputs;
    for (size_t k = 0; k < i; k++)
        at += c->inplace[k] < 0;
    return at;
}

static const rlx_sinfo *input_info(const matching *q, size_t i)
{
    const rlx_expr *e = q->c->inputs[i];
    return rlx_as_var(e) || rlx_as_constant(e) ? rlx_leaf_sinfo(q->ctx, &q->env, e) : NULL;
}

/* What is passed beside the tensors. */
static bool bind_scalars(matching *q, size_t first)
{
    const rlx_call *call = q->c->call;
    const rlx_prim_func *f = q->c->function;
    const rlx_shape_expr *given = call->num_args > 2 ? rlx_as_shape_expr(call->args[2]) : NULL;
    size_t n = given ? given->num_values : 0;
    if ((call->num_args > 2 && !given) || f->num_params != first + n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (f->buffers[first + i] || !bind(q, f->params[first + i], given->values[i]))
            return false;
    return true;
}

/* Every size is known, and every buffer has those of what it is given. */
static bool match_sizes(matching *q)
{
    rlx_tir_call *c = q->c;
    size_t allocated = 0;
    for (size_t i = 0; i < c->num_outputs; i++)
        allocated += c->inplace[i] < 0;
    if (!bind_scalars(q, c->num_inputs + allocated))
        return false;
    for (size_t i = 0; i < c->num_inputs; i++)
        if (!bind_buffer(q, i, input_info(q, i)))
            return false;
    for (size_t i = 0; i < c->num_outputs; i++)
        if (!bind_buffer(q, rlx_tir_call_output(c, i), &c->outputs[i]->node))
            return false;
    for (size_t i = 0; i < c->num_inputs; i++)
        if (!fits(q, i, input_info(q, i)))
            return false;
    for (size_t i = 0; i < c->num_outputs; i++)
        if (!fits(q, rlx_tir_call_output(c, i), &c->outputs[i]->node))
            return false;
    return true;
}

/* ---- the question --------------------------------------------------------------------------- */

/* Such a function is for one machine, or in an order that somebody chose for it alone. */
static bool stands_alone(const rlx_prim_func *f)
{
    return f->attrs && (rlx_attrs_get(f->attrs, "target") || rlx_attrs_get(f->attrs, "tir.is_scheduled"));
}

bool rlx_tir_call_match(rlx_context *ctx, const rlx_module *m, const rlx_expr *value, rlx_tir_call *out)
{
    matching q = { .ctx = ctx, .env = rlx_module_env(m), .c = out };
    rlx_ptrmap_init(&q.bound, &ctx->memory);
    bool yes = take_call(&q, m, value) && !stands_alone(out->function) && match_sizes(&q);
    rlx_ptrmap_free(&q.bound);
    return yes && !ctx->diags.out_of_memory;
}

void rlx_tir_call_free(rlx_tir_call *c, rlx_context *ctx)
{
    rlx_vec_free(&ctx->memory, &c->from);
    rlx_vec_free(&ctx->memory, &c->to);
    *c = (rlx_tir_call){ 0 };
}
