/* derive.c: struct info of normalised expressions (language 5.9) and purity of calls
 * (language 5.10). */
#include "sinfo/builder_int.h"

void rlx_report_assignable(rlx_builder *b, enum rlx_code_id code, uint8_t severity, rlx_place place,
                           const char *text, const rlx_mismatch *why)
{
    rlx_buf reason;
    rlx_buf_init(&reason, &b->ctx->memory);
    rlx_assignable_explain(&reason, why);
    if (why->part == RLX_MISMATCH_KIND && !why->depth) /* says nothing that `text` does not say */
        rlx_report(b->ctx, code, severity, place, "%s", text);
    else
        rlx_report(b->ctx, code, severity, place, "%s: %s", text, reason.data ? reason.data : "?");
    rlx_buf_free(&reason);
}

/* --- leaves --- */

static bool is_self(const rlx_builder_frame *f, const rlx_expr *e)
{
    return f->is_function && f->self && f->self == e;
}

/* The provisional signature of the open function that e names, or NULL if e names none. */
static const rlx_sinfo *self_sinfo(rlx_builder *b, const rlx_expr *e)
{
    size_t params = b->params.len;
    for (size_t i = b->depth; i--;) {
        rlx_builder_frame *f = b->frames.data[i];
        if (f->is_function)
            params -= f->num_params;
        if (!is_self(f, e))
            continue;
        if (!f->signature)
            f->signature = rlx_signature(b->ctx, f->num_params ? b->params.data + params : NULL,
                                         f->num_params, NULL, f->is_pure, f->scope.parent);
        return f->signature;
    }
    return NULL;
}

static const rlx_sinfo *global_sinfo(rlx_builder *b, const rlx_global_var *gv)
{
    const rlx_sinfo *s = b->env.global ? b->env.global(b->env.user, gv) : NULL;
    if (!s)
        s = self_sinfo(b, &gv->node);
    if (!s && !b->ctx->diags.out_of_memory)
        rlx_error(b->ctx, RLX_WX01, rlx_place_of(&gv->node),
                  "function %s does not exist in this module", gv->name->data);
    return s;
}

/* Names the leaf inside e (a tuple) that has no struct info. */
static const rlx_sinfo *refuse_leaf(rlx_builder *b, const rlx_expr *e)
{
    rlx_budget budget = { 16, 10000 };
    const rlx_tuple *t;
    while ((t = rlx_as_tuple(e)) != NULL && rlx_budget_enter(&budget)) {
        size_t i = 0;
        while (i + 1 < t->num_fields && rlx_leaf_sinfo(b->ctx, &b->env, t->fields[i]))
            i++;
        e = t->num_fields ? t->fields[i] : NULL;
    }
    const rlx_op *op = rlx_as_op(e);
    if (b->ctx->diags.out_of_memory)
        return NULL;
    if (rlx_as_global_var(e))
        return global_sinfo(b, rlx_as_global_var(e));
    return op ? rlx_error(b->ctx, RLX_WF09, RLX_NO_PLACE, "operator %s is used as a value",
                          op->row ? op->row->short_name : op->name->data)
              : rlx_error(b->ctx, RLX_NF01, rlx_place_of(e), "%s is no value here",
                          e ? rlx_kinds[e->kind].name : "nothing");
}

static const rlx_sinfo *leaf_sinfo(rlx_builder *b, const rlx_expr *e)
{
    const rlx_var *v = rlx_as_var(e);
    if (RLX_LIKELY(v && v->sinfo))
        return v->sinfo;
    const rlx_sinfo *self = v || e->kind == RLX_NODE_GLOBAL_VAR ? self_sinfo(b, e) : NULL;
    if (v)
        return self ? self : rlx_object_info(b->ctx);
    if (e->kind == RLX_NODE_GLOBAL_VAR)
        return global_sinfo(b, rlx_as_global_var(e));
    size_t errors = rlx_error_count(b->ctx);
    const rlx_sinfo *s = rlx_leaf_sinfo(b->ctx, &b->env, e);
    return RLX_LIKELY(s != NULL) || errors != rlx_error_count(b->ctx) ? s : refuse_leaf(b, e);
}

/* --- calls --- */

static const char *callee_name(rlx_builder *b, const rlx_expr *op)
{
    const rlx_op *o = rlx_as_op(op);
    const rlx_global_var *g = rlx_as_global_var(op);
    const rlx_extern_func *e = rlx_as_extern_func(op);
    if (o)
        return o->row ? o->row->short_name : o->name->data;
    return g ? g->name->data : e ? e->symbol->data : rlx_show(b->ctx, op);
}

/* Where what is called was defined, if that is known. */
static void note_callee(rlx_builder *b, const rlx_call *c)
{
    rlx_place place = rlx_place_of(c->op);
    if (place && place != c->place && (rlx_as_global_var(c->op) || rlx_as_var(c->op)))
        rlx_note(b->ctx, place, "%s is here", callee_name(b, c->op));
}

/* PU01 and PU02; derivation goes on after either. */
static void check_purity(rlx_builder *b, const rlx_call *c, bool pure)
{
    if (RLX_LIKELY(pure))
        return;
    b->num_impure++;
    const rlx_builder_frame *f = rlx_function_frame(b);
    const char *prefix = rlx_as_op(c->op) ? "R." : "";
    if (rlx_top_frame(b)->in_dataflow) {
        rlx_error(b->ctx, RLX_PU01, c->place, "impure call to %s%s inside a dataflow block",
                  prefix, callee_name(b, c->op));
        if (b->segments.len && rlx_vec_last(&b->segments).place)
            rlx_note(b->ctx, rlx_vec_last(&b->segments).place, "the block begins here");
        rlx_note(b->ctx, RLX_NO_PLACE, "move it out of the block, or use the pure variant");
    } else if (f->is_pure && !f->force_pure) {
        rlx_error(b->ctx, RLX_PU02, c->place,
                  "impure call to %s%s in %.*s, which is declared pure", prefix,
                  callee_name(b, c->op), f->name.len ? (int)f->name.len : 10,
                  f->name.len ? f->name.data : "a function");
        rlx_note(b->ctx, rlx_place_of(f->self), "declare the function with pure=False");
    }
}

static const rlx_sinfo *sinfo_for_rule(void *user, const rlx_expr *leaf)
{
    return leaf_sinfo(user, leaf);
}

static const rlx_expr *value_for_rule(void *user, const rlx_expr *var)
{
    return rlx_builder_lookup(user, rlx_as_var(var));
}

static const rlx_sinfo *of_sinfo_args(rlx_builder *b, const rlx_call *c)
{
    if (c->num_sinfo_args == 0)
        return rlx_object_info(b->ctx);
    return c->num_sinfo_args == 1 ? c->sinfo_args[0]
                                  : rlx_tuple_info(b->ctx, c->sinfo_args, c->num_sinfo_args);
}

/* A value that could not be derived counts as Object (language 5.9 D14): nothing further is
 * said about it. */
static bool follows_from_error(rlx_builder *b, const rlx_call *c)
{
    for (size_t i = 0; i < c->num_args; i++) {
        const rlx_var *v = rlx_as_var(c->args[i]);
        const rlx_sinfo *s = v                          ? v->sinfo
                             : rlx_as_tuple(c->args[i]) ? leaf_sinfo(b, c->args[i])
                                                        : NULL;
        if (s && rlx_is_after_error(s))
            return true;
    }
    return false;
}

static const rlx_sinfo *operator_call(rlx_builder *b, const rlx_call *c, const rlx_op *op)
{
    const rlx_op_row *row = op->row;
    if (!row)
        return rlx_object_info(b->ctx);
    check_purity(b, c, row->flags & RLX_OP_PURE);
    if (RLX_UNLIKELY(b->ctx->diags.num_errors) && follows_from_error(b, c))
        return c->num_sinfo_args ? of_sinfo_args(b, c) : b->ctx->underived;
    if (!row->infer)
        return rlx_object_info(b->ctx);
    rlx_infer in = { .ctx = b->ctx,
                     .call = c,
                     .row = row,
                     .scope = &rlx_top_frame(b)->scope,
                     .sinfo_of = sinfo_for_rule,
                     .value_of = value_for_rule,
                     .user = b,
                     .quiet_values = b->options.quiet_values };
    return RLX_UNLIKELY(b->ctx->distributed) ? b->ctx->ops->infer(&in) : row->infer(&in);
}

typedef struct asked { rlx_builder *b; const rlx_call *call; } asked;

static const rlx_sinfo *info_of_arg(void *user, size_t i)
{
    const asked *a = user;
    return i < a->call->num_args ? leaf_sinfo(a->b, a->call->args[i]) : NULL;
}

/* A derive function that is the rule of an operator with the same arguments. */
static const rlx_sinfo *derived_as(rlx_builder *b, const rlx_call *c, const char *operator)
{
    const rlx_op_row *row = b->ctx->ops->find(b->ctx, rlx_slice_z(operator));
    const rlx_call *same = row ? rlx_as_call(b->ctx->ops->call(b->ctx, row, c->args, c->num_args,
                                                               NULL, 0, NULL, c->place))
                               : NULL;
    return same ? operator_call(b, same, rlx_as_op(same->op)) : NULL;
}

/* A derive function of the host. */
static const rlx_sinfo *named_call(rlx_builder *b, const rlx_call *c, const rlx_string *name)
{
    const char *operator = rlx_derive_operator(rlx_string_slice(name));
    if (operator)
        return derived_as(b, c, operator);
    asked a = { b, c };
    rlx_extension_view view = { .ctx = b->ctx, .call = c, .arg_info = info_of_arg, .user = &a };
    if (RLX_UNLIKELY(b->ctx->diags.num_errors) && follows_from_error(b, c))
        return b->ctx->underived;
    const rlx_sinfo *s = rlx_derive_named(&view, &rlx_top_frame(b)->scope, name);
    return s ? rlx_builder_erase(b, s) : NULL;
}

static const rlx_sinfo *opaque_call(rlx_builder *b, const rlx_call *c, const rlx_func_sinfo *f)
{
    switch (f->derive) {
    case RLX_DERIVE_EMPTY: return rlx_object_info(b->ctx);
    case RLX_DERIVE_DEFAULT: return of_sinfo_args(b, c);
    case RLX_DERIVE_NAMED: return named_call(b, c, f->derive_name);
    default: return rlx_builder_erase(b, f->ret);
    }
}

/* Is the device of e judged? Results of operators and constants, also in tuples, are where they
 * are used. */
bool rlx_builder_judges_device(const rlx_builder *b, const rlx_expr *e)
{
    const rlx_call *call = rlx_as_call(e);
    return b->options.judge_devices && !rlx_as_constant(e) && !rlx_as_tuple(e) &&
           !(call && rlx_as_op(call->op));
}

/* "argument 2 of f is A, expected B: part" */
static bool report_argument(rlx_builder *b, const rlx_call *c, size_t i, const rlx_sinfo *have,
                            const rlx_sinfo *want, enum rlx_assignability fit,
                            const rlx_mismatch *why)
{
    rlx_buf text;
    rlx_place place = rlx_place_of(c->args[i]);
    rlx_buf_init(&text, &b->ctx->memory);
    rlx_buf_format(&text, "argument %zu of %s is %s, expected %s", i + 1, callee_name(b, c->op),
                   rlx_show(b->ctx, have), rlx_show(b->ctx, want));
    rlx_report_assignable(b, RLX_TY04,
                          fit == RLX_ASSIGNABLE_VALUE ? RLX_SEVERITY_WARNING : RLX_SEVERITY_ERROR,
                          c->place, text.data ? text.data : "argument does not fit", why);
    if (place && place != c->place)
        rlx_note(b->ctx, place, "the argument was bound here");
    note_callee(b, c);
    if (fit == RLX_ASSIGNABLE_KIND)
        rlx_note(b->ctx, RLX_NO_PLACE, "say what it is: R.match_cast(%s, %s)",
                 rlx_show(b->ctx, c->args[i]), rlx_show(b->ctx, want));
    rlx_buf_free(&text);
    return fit == RLX_ASSIGNABLE_VALUE;
}

static bool is_number(rlx_dtype t)
{
    return rlx_dtype_lanes(t) == 1 &&
           (t == RELAX_BOOL || rlx_dtype_is_int(t) || rlx_dtype_is_float(t));
}

/* Does a PrimFunc get a number for one of another dtype? It is converted where the kernel begins,
 * if its value fits (RT05): call_tir hands over its integers so. */
static bool converts(const rlx_builder *b, const rlx_call *c, const rlx_sinfo *have,
                     const rlx_sinfo *want)
{
    const rlx_prim_sinfo *from = rlx_as_prim_sinfo(have), *to = rlx_as_prim_sinfo(want);
    const rlx_global_var *gv = rlx_as_global_var(c->op);
    return from && to && !to->value && gv && b->env.is_prim_func &&
           b->env.is_prim_func(b->env.user, gv) && is_number(from->dtype) &&
           is_number(to->dtype) &&
           (rlx_dtype_is_float(to->dtype) || !rlx_dtype_is_float(from->dtype));
}

/* Where another argument is wrong, sizes that it would have given are not known. */
static bool check_argument(rlx_builder *b, const rlx_call *c, size_t i, const rlx_sinfo *have,
                           const rlx_sinfo *want, bool after_error)
{
    rlx_mismatch why;
    if (!have || !want)
        return false;
    enum rlx_assignability fit = rlx_assignable(b->ctx, &rlx_top_frame(b)->scope, have, want, &why);
    bool device = fit == RLX_ASSIGNABLE_KIND && why.part == RLX_MISMATCH_DEVICE;
    if (fit == RLX_ASSIGNABLE_YES || (device && !rlx_builder_judges_device(b, c->args[i])) ||
        (fit == RLX_ASSIGNABLE_VALUE && (b->options.quiet_values || after_error)) ||
        (fit == RLX_ASSIGNABLE_NO && converts(b, c, have, want)))
        return true; /* devices are judged after they have spread */
    return report_argument(b, c, i, have, want, fit, &why);
}

static const rlx_sinfo *conflict(rlx_builder *b, const rlx_call *c, const rlx_mapping *m)
{
    rlx_error(b->ctx, RLX_TY12, c->place,
              "%s would be both %s (argument %d) and %s (argument %d)", m->conflict->name->data,
              rlx_show(b->ctx, m->first), (int)m->first_arg + 1, rlx_show(b->ctx, m->second),
              (int)m->second_arg + 1);
    note_callee(b, c);
    return NULL;
}

/* Steps of D14.4 after the number of arguments is right. */
static const rlx_sinfo *instantiate(rlx_builder *b, const rlx_call *c, const rlx_func_sinfo *f,
                                    rlx_mapping *m)
{
    for (size_t i = 0; i < c->num_args; i++) {
        const rlx_sinfo *have = leaf_sinfo(b, c->args[i]);
        if (!have)
            return NULL;
        rlx_mapping_add(m, f->params[i], have, (int32_t)i);
    }
    if (m->conflict)
        return conflict(b, c, m);
    bool ok = true;
    for (size_t i = 0; i < c->num_args; i++)
        ok = check_argument(b, c, i, leaf_sinfo(b, c->args[i]),
                            rlx_mapping_apply(m, f->params[i]), !ok) &&
             ok;
    return ok ? rlx_builder_erase(b, rlx_mapping_result(m, f->ret)) : NULL;
}

static const rlx_sinfo *wrong_count(rlx_builder *b, const rlx_call *c, const rlx_func_sinfo *f)
{
    rlx_error(b->ctx, RLX_TY03, c->place, "%s takes %zu argument%s, found %zu",
              callee_name(b, c->op), f->num_params, f->num_params == 1 ? "" : "s", c->num_args);
    note_callee(b, c);
    const rlx_tuple_sinfo *nothing = rlx_as_tuple_sinfo(f->ret);
    if (rlx_as_global_var(c->op) && nothing && !nothing->num_fields && c->num_args < f->num_params)
        rlx_note(b->ctx, RLX_NO_PLACE,
                 "its outputs are parameters: R.call_tir(%s, (x, ...), out_sinfo=R.Tensor(...)) makes "
                 "them",
                 rlx_show(b->ctx, c->op));
    return NULL;
}

static const rlx_sinfo *params_call(rlx_builder *b, const rlx_call *c, const rlx_func_sinfo *f)
{
    if (c->num_args != f->num_params)
        return wrong_count(b, c, f);
    rlx_mapping m;
    rlx_mapping_init(&m, b->ctx, &rlx_top_frame(b)->scope, f->binders, f->num_binders);
    const rlx_sinfo *s = instantiate(b, c, f, &m);
    rlx_mapping_free(&m);
    return s;
}

static const rlx_sinfo *derive_call(rlx_builder *b, const rlx_call *c)
{
    const rlx_op *op = rlx_as_op(c->op);
    if (RLX_LIKELY(op))
        return operator_call(b, c, op);
    const rlx_sinfo *callee = leaf_sinfo(b, c->op);
    const rlx_func_sinfo *f = rlx_as_func_sinfo(callee);
    if (!callee || callee == b->ctx->underived)
        return callee;
    if (!f) {
        rlx_error(b->ctx, RLX_TY02, c->place, "callee is %s, not a function",
                  rlx_show(b->ctx, callee));
        if (callee->kind == RLX_NODE_OBJECT_SINFO)
            rlx_note(b->ctx, RLX_NO_PLACE, "say what it is: R.match_cast(%s, R.Callable)",
                     rlx_show(b->ctx, c->op));
        return NULL;
    }
    if (f->derive || c->num_args == f->num_params) /* one mistake at a time */
        check_purity(b, c, f->is_pure);
    return f->derive ? opaque_call(b, c, f) : params_call(b, c, f);
}

/* --- the other expressions --- */

static const rlx_sinfo *derive_get(rlx_builder *b, const rlx_tuple_get_item *g)
{
    const rlx_sinfo *s = leaf_sinfo(b, g->tuple);
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    if (!s || s == b->ctx->underived)
        return s;
    if (!t) {
        rlx_error(b->ctx, RLX_TY05, g->place, "cannot index %s", rlx_show(b->ctx, s));
        if (s->kind == RLX_NODE_TENSOR_SINFO)
            rlx_note(b->ctx, RLX_NO_PLACE,
                     "of a tensor, R.take(%s, R.const(%lld, \"int64\"), axis=0) picks and "
                     "R.strided_slice cuts",
                     rlx_show(b->ctx, g->tuple), (long long)g->index);
        if (s->kind == RLX_NODE_OBJECT_SINFO)
            rlx_note(b->ctx, RLX_NO_PLACE, "say what it is: R.match_cast(%s, R.Tuple(...))",
                     rlx_show(b->ctx, g->tuple));
        return NULL;
    }
    if (g->index >= 0 && (uint64_t)g->index < t->num_fields)
        return t->fields[g->index];
    return rlx_error(b->ctx, RLX_TY05, g->place,
                     "index %lld is out of range for a tuple of %zu field%s", (long long)g->index,
                     t->num_fields, t->num_fields == 1 ? "" : "s");
}

/* 2: a Boolean scalar, 1: may be one, 0: is none. */
static int boolean_scalar(const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(s);
    if (p)
        return rlx_dtype_is_bool(p->dtype) ? 2 : 0;
    if (!t)
        return s->kind == RLX_NODE_OBJECT_SINFO ? 1 : 0;
    bool dtype_open = rlx_dtype_is_void(t->dtype);
    if ((!dtype_open && !rlx_dtype_is_bool(t->dtype)) || t->ndim > 0)
        return 0;
    return dtype_open || t->ndim < 0 ? 1 : 2;
}

static bool check_condition(rlx_builder *b, const rlx_if_expr *e)
{
    const rlx_sinfo *s = leaf_sinfo(b, e->cond);
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    int is = s ? boolean_scalar(s) : 0;
    if (!s || is == 2 || (is == 1 && b->options.quiet_values) || s == b->ctx->underived)
        return s != NULL;
    rlx_place place = rlx_place_of(e->cond);
    rlx_report(b->ctx, RLX_TY06, is ? RLX_SEVERITY_WARNING : RLX_SEVERITY_ERROR,
               e->place ? e->place : place, "condition is %s, expected a Boolean scalar",
               rlx_show(b->ctx, s));
    if (!is && t && t->ndim > 0 && !rlx_dtype_is_bool(t->dtype))
        rlx_note(b->ctx, RLX_NO_PLACE,
                 "one truth value decides: reduce the tensor to one element, compare it "
                 "(R.greater), and take the dimensions away (R.reshape)");
    else if (!is && t && !rlx_dtype_is_bool(t->dtype))
        rlx_note(b->ctx, RLX_NO_PLACE, "R.astype(%s, \"bool\") makes it one",
                 rlx_show(b->ctx, e->cond));
    else if (!is && t)
        rlx_note(b->ctx, RLX_NO_PLACE, "R.squeeze or R.reshape takes the dimensions away");
    return is != 0;
}

/* Struct info of a scope's result once the scope has ended. */
static const rlx_sinfo *scope_sinfo(rlx_builder *b, const rlx_expr *e)
{
    const rlx_seq_expr *s = rlx_as_seq_expr(e);
    return rlx_builder_erase(b, leaf_sinfo(b, s ? s->body : e));
}

static const rlx_sinfo *derive_if(rlx_builder *b, const rlx_if_expr *e)
{
    if (rlx_top_frame(b)->in_dataflow)
        return rlx_error(b->ctx, RLX_WF07, e->place, "if inside a dataflow block");
    if (!check_condition(b, e))
        return NULL;
    const rlx_sinfo *t = scope_sinfo(b, e->true_branch),
                    *f = t ? scope_sinfo(b, e->false_branch) : NULL;
    return f ? rlx_lub(b->ctx, &rlx_top_frame(b)->scope, t, f) : NULL;
}

static const rlx_sinfo *derive_function(rlx_builder *b, const rlx_function *f)
{
    if (f->sinfo)
        return f->sinfo;
    return rlx_signature(b->ctx, f->params, f->num_params, f->ret_sinfo, f->is_pure,
                         &rlx_top_frame(b)->scope);
}

const rlx_sinfo *rlx_builder_derive(rlx_builder *b, const rlx_expr *e)
{
    switch (e->kind) {
    case RLX_NODE_CALL: return derive_call(b, rlx_as_call(e));
    case RLX_NODE_TUPLE_GET_ITEM: return derive_get(b, rlx_as_tuple_get_item(e));
    case RLX_NODE_IF: return derive_if(b, rlx_as_if_expr(e));
    case RLX_NODE_SEQ_EXPR: return scope_sinfo(b, e);
    case RLX_NODE_FUNCTION: return derive_function(b, rlx_as_function(e));
    default: return leaf_sinfo(b, e);
    }
}

const rlx_sinfo *rlx_builder_infer(rlx_builder *b, const rlx_expr *expr)
{
    if (!expr || !b->depth)
        return NULL;
    return rlx_builder_derive(b, expr);
}

/* --- annotations by themselves --- */

static bool check_dims(rlx_builder *b, const rlx_prim *const *dims, size_t count, rlx_place place)
{
    for (size_t i = 0; i < count; i++) {
        int64_t low, high;
        if (dims[i]->kind == RLX_NODE_PRIM_VAR)
            continue;
        rlx_bounds(b->ctx, &rlx_top_frame(b)->scope, dims[i], &low, &high);
        if (high < 0) {
            rlx_error(b->ctx, RLX_TY15, place, "dimension %zu is %s; sizes are never negative%s", i,
                      rlx_show(b->ctx, dims[i]),
                      rlx_is_int_value(dims[i], -1) ? " (one that is not known has a name: \"n\")" : "");
            return false;
        }
    }
    return true;
}

static bool check_tensor(rlx_builder *b, const rlx_tensor_sinfo *t, rlx_place place)
{
    const rlx_shape_expr *dims = rlx_as_shape_expr(t->shape);
    const rlx_var *v = rlx_as_var(t->shape);
    if (dims)
        return check_dims(b, dims->values, dims->num_values, place);
    if (!v)
        return true;
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(v->sinfo);
    if (s && (s->ndim < 0 || t->ndim < 0 || s->ndim == t->ndim))
        return true;
    if (s)
        rlx_error(b->ctx, RLX_TY14, place,
                  "shape variable %s of a tensor annotation has rank %d, expected %d",
                  v->name->data, (int)s->ndim, (int)t->ndim);
    else
        rlx_error(b->ctx, RLX_TY14, place,
                  "shape variable %s of a tensor annotation is %s, expected R.Shape",
                  v->name->data, rlx_show(b->ctx, rlx_var_sinfo(b->ctx, v)));
    return false;
}

bool rlx_builder_check_annotation(rlx_builder *b, const rlx_sinfo *root, rlx_place place)
{
    RLX_VEC(const rlx_sinfo *) stack = { 0 };
    rlx_memory *m = &b->ctx->memory;
    size_t looked_at = 0;
    bool ok = true;
    for (const rlx_sinfo *s = root; ok && s;) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
        const rlx_tuple_sinfo *fields = rlx_as_tuple_sinfo(s);
        ok = !t || check_tensor(b, t, place);
        for (size_t i = fields ? fields->num_fields : 0; ok && i--;)
            if (looked_at++ < RLX_SINFO_PARTS)
                ok = rlx_vec_push(m, &stack, fields->fields[i]);
        s = stack.len ? rlx_vec_pop(&stack) : NULL;
    }
    rlx_vec_free(m, &stack);
    return ok;
}
