/* extension_op.c: operators that the host has registered. Their rows lead here; callbacks are
 * asked, and what they answer is looked at before anybody relies on it. */
/* built for size */
#include "op/op_int.h"

#include "op/lower_int.h"

static const rlx_extension_op *host_of(const rlx_op_row *row)
{
    return (const rlx_extension_op *)row;
}

static rlx_extension_view view_of(rlx_context *ctx, const rlx_call *call, const rlx_op_row *row,
                                  enum rlx_code_id code)
{
    return (rlx_extension_view){ .node.id = RLX_EXTENSION_VIEW_ID,
                                 .ctx = ctx,
                                 .call = call,
                                 .subject = rlx_slice_z(row->short_name),
                                 .code = code };
}

/* ---- inference ------------------------------------------------------------------------------ */

static const rlx_sinfo *inferred_arg(void *user, size_t i) { return rlx_infer_arg(user, i); }

const rlx_sinfo *rlx_infer_host(rlx_infer *in)
{
    const rlx_extension_op *o = host_of(in->row);
    rlx_extension_view view = view_of(in->ctx, in->call, in->row, RLX_TY08);
    rlx_extension_call call;
    view.arg_info = inferred_arg;
    view.user = in;
    view.quiet = in->quiet;
    if (!rlx_extension_enter(in->ctx, in->scope, &call))
        return rlx_infer_done(in, NULL);
    const rlx_sinfo *s = o->infer(o, &view);
    rlx_extension_leave(in->ctx, &call);
    if (view.failed || in->failed || rlx_errors_since(in->ctx, call.errors))
        return rlx_infer_done(in, NULL);
    if (!s)
        return rlx_infer_fail(in, "its inference failed without saying why");
    return rlx_family_of(s) == RLX_FAMILY_SINFO
               ? s
               : rlx_infer_fail(in, "its inference gave no struct info");
}

/* ---- lowering ------------------------------------------------------------------------------- */

typedef RLX_VEC(const rlx_sinfo *) infos;
typedef RLX_VEC(const rlx_expr *) exprs;
/* Parameters of the PrimFunc, as the call has them: arguments, then results. */
typedef struct lowering {
    rlx_lower_request *l;
    exprs inputs;
    infos wants;
    const char *why;
} lowering;

static bool give_up(lowering *w, const char *why)
{
    w->why = why;
    return false;
}

static bool want(lowering *w, const rlx_expr *input, const rlx_sinfo *info)
{
    rlx_memory *m = &w->l->ctx->memory;
    if (!rlx_as_tensor_sinfo(info) && !rlx_as_prim_sinfo(info))
        return give_up(w, input ? "an argument is not known to be a tensor"
                                : "a result is not known to be a tensor");
    if (!rlx_vec_push(m, &w->wants, info) || (input && !rlx_vec_push(m, &w->inputs, input)))
        return false;
    return true;
}

static bool want_argument(lowering *w, size_t i)
{
    const rlx_sinfo *info = w->l->args[i];
    const rlx_tuple_sinfo *fields = rlx_as_tuple_sinfo(info);
    bool good = true;
    if (rlx_as_shape_sinfo(info))
        return true; /* shapes are known to the lowering, and no arguments of kernels */
    if (!fields)
        return want(w, w->l->call->args[i], info);
    for (size_t k = 0; good && k < fields->num_fields; k++) {
        const rlx_expr *e = rlx_lowering_field(w->l->ctx, w->l->call->args[i], k, w->l->place);
        good = e && want(w, e, fields->fields[k]);
    }
    return good;
}

static bool want_results(lowering *w)
{
    const rlx_tuple_sinfo *fields = rlx_as_tuple_sinfo(w->l->result);
    const rlx_sinfo *const *results = fields ? fields->fields : &w->l->result;
    size_t count = fields ? fields->num_fields : 1;
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(results[i]);
        good = t && t->shape ? want(w, NULL, results[i])
                             : give_up(w, "the sizes of the result are not known");
    }
    return good;
}

/* Does the PrimFunc take what the call gives? Sizes are matched when it runs. */
static bool takes_all(lowering *w, const rlx_prim_func *f)
{
    rlx_context *ctx = w->l->ctx;
    const char *name = w->l->row->short_name;
    const rlx_func_sinfo *s = rlx_as_func_sinfo(rlx_prim_func_signature(ctx, f));
    if (!s)
        return false;
    if (s->num_params != w->wants.len)
        return rlx_error(ctx, RLX_OP17, w->l->place,
                         "the lowering of %s gave a PrimFunc of %zu parameters, expected %zu",
                         name, s->num_params, w->wants.len) != NULL;
    for (size_t i = 0; i < s->num_params; i++)
        if (rlx_assignable(ctx, w->l->scope, w->wants.data[i], s->params[i], NULL) ==
            RLX_ASSIGNABLE_NO)
            return rlx_error(ctx, RLX_OP17, w->l->place,
                             "the lowering of %s gave a PrimFunc whose parameter %zu is %s, "
                             "expected %s",
                             name, i, rlx_show(ctx, s->params[i]),
                             rlx_show(ctx, w->wants.data[i])) != NULL;
    return true;
}

static const rlx_sinfo *lowered_arg(void *user, size_t i)
{
    const rlx_lower_request *l = user;
    return i < l->call->num_args ? l->args[i] : NULL;
}

static const rlx_prim_func *ask_lowering(lowering *w)
{
    rlx_lower_request *l = w->l;
    const rlx_extension_op *o = host_of(l->row);
    rlx_extension_view view = view_of(l->ctx, l->call, l->row, RLX_CG03);
    rlx_extension_call call;
    view.arg_info = lowered_arg;
    view.user = l;
    view.result = l->result;
    view.quiet = true; /* whoever needs the lowering says why there is none */
    if (!rlx_extension_enter(l->ctx, l->scope, &call))
        return NULL;
    const rlx_node *f = o->lower(o, &view);
    rlx_extension_leave(l->ctx, &call);
    if (!f)
        w->why = view.why ? view.why : "the host has no lowering for this call";
    if (!f || view.failed || rlx_errors_since(l->ctx, call.errors))
        return NULL;
    if (rlx_as_prim_func(f))
        return rlx_as_prim_func(f);
    return rlx_error(l->ctx, RLX_OP17, l->place, "the lowering of %s gave no PrimFunc",
                     l->row->short_name);
}

const rlx_prim_func *rlx_lower_host(rlx_lower_request *l)
{
    lowering w = { .l = l };
    const rlx_prim_func *f = NULL;
    rlx_memory *m = &l->ctx->memory;
    bool good = true;
    for (size_t i = 0; good && i < l->call->num_args; i++)
        good = want_argument(&w, i);
    if (good && want_results(&w))
        f = ask_lowering(&w);
    if (f && !takes_all(&w, f))
        f = NULL;
    l->num_inputs = w.inputs.len;
    l->inputs = rlx_new_copy(l->ctx, w.inputs.data, w.inputs.len * sizeof *w.inputs.data);
    l->why = w.why;
    rlx_vec_free(m, &w.inputs);
    rlx_vec_free(m, &w.wants);
    return l->inputs || !l->num_inputs ? f : NULL;
}

/* ---- packed functions ----------------------------------------------------------------------- */

static const rlx_expr *number(rlx_context *ctx, const rlx_prim *p)
{
    return p ? rlx_prim_value_new(ctx, p) : NULL;
}

static const rlx_expr *value_of(rlx_context *ctx, const rlx_attr *a)
{
    const rlx_attr_int *i = rlx_as_attr_int(a);
    const rlx_attr_float *f = rlx_as_attr_float(a);
    const rlx_attr_string *s = rlx_as_attr_string(a);
    const rlx_attr_dtype *t = rlx_as_attr_dtype(a);
    if (i)
        return number(ctx, a->kind == RLX_NODE_ATTR_BOOL ? rlx_int(ctx, RELAX_BOOL, i->value)
                                                         : rlx_int64(ctx, i->value));
    if (f)
        return number(ctx, rlx_float(ctx, RELAX_FLOAT64, f->value));
    if (s)
        return rlx_string_imm_new(ctx, rlx_string_slice(s->value));
    if (t)
        return rlx_dtype_imm_new(ctx, t->value);
    return rlx_is(a, RLX_NODE_ATTR_NULL) ? rlx_tuple_new(ctx, NULL, 0, RLX_NO_PLACE) : NULL;
}

/* An attribute as an argument: lists are tuples, None is the empty tuple. NULL: it has no value
 * at run time, or memory is out. */
static const rlx_expr *attr_argument(rlx_context *ctx, const rlx_attr *a)
{
    const rlx_attr_list *list = rlx_as_attr_list(a);
    exprs items = { 0 };
    bool good = true;
    if (!list)
        return value_of(ctx, a);
    for (size_t i = 0; good && i < list->num_items; i++) {
        const rlx_expr *e = value_of(ctx, list->items[i]);
        good = e && rlx_vec_push(&ctx->memory, &items, e);
    }
    const rlx_expr *tuple =
        good ? rlx_tuple_new(ctx, items.data, items.len, RLX_NO_PLACE) : NULL;
    rlx_vec_free(&ctx->memory, &items);
    return tuple;
}

static bool packed_arguments(rlx_context *ctx, const rlx_call *call, const char **why, exprs *out)
{
    const rlx_attrs *attrs = rlx_as_attrs(call->attrs);
    bool good = true;
    for (size_t i = 0; good && i < call->num_args; i++)
        good = rlx_vec_push(&ctx->memory, out, call->args[i]);
    for (size_t i = 0; good && attrs && i < attrs->num_values; i++) {
        const rlx_expr *e = attr_argument(ctx, attrs->values[i]);
        if (!e)
            *why = "an attribute has no value when the program runs";
        good = e && rlx_vec_push(&ctx->memory, out, e);
    }
    return good;
}

const rlx_expr *rlx_op_packed(rlx_context *ctx, const rlx_call *call, const rlx_sinfo *result,
                              const char **why)
{
    const rlx_op_row *row = rlx_as_op(call->op)->row;
    const rlx_expr *callee = rlx_extern_func_new(ctx, rlx_slice_z(row->packed)), *out = NULL;
    bool pure = row->flags & RLX_OP_PURE;
    exprs args = { 0 };
    bool good = callee && (!pure || rlx_vec_push(&ctx->memory, &args, callee));
    if (good && packed_arguments(ctx, call, why, &args))
        out = pure ? rlx_call_op_sinfo(ctx, rlx_op_find(RLX_SLICE("call_pure_packed")), args.data,
                                       args.len, &result, 1, NULL, call->place)
                   : rlx_call_new(ctx, callee, args.data, args.len, &result, 1, NULL, call->place);
    rlx_vec_free(&ctx->memory, &args);
    return out;
}
