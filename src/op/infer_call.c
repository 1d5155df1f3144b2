/* infer_call.c: the call_tir family, packed functions, closures, printing. */
/* built for size */
#include "op/op_int.h"

#include <stdarg.h>

/* ---- reporting under TY10 ------------------------------------------------------------------- */

/* Where the function that is called was defined. */
static void note_function(const rlx_infer *in)
{
    const rlx_global_var *gv =
        in->call->num_args ? rlx_as_global_var(in->call->args[0]) : NULL;
    if (gv && gv->place)
        rlx_note(in->ctx, gv->place, "%s is here", gv->name->data);
}

static const rlx_sinfo *misuse_as(rlx_infer *in, uint8_t severity, const char *format,
                                  va_list args)
{
    if (severity == RLX_SEVERITY_ERROR)
        in->failed = true;
    if (in->quiet)
        return NULL;
    rlx_buf text;
    rlx_buf_init(&text, &in->ctx->memory);
    rlx_buf_vformat(&text, format, args);
    if (!text.failed)
        rlx_report(in->ctx, RLX_TY10, severity, in->call->place, "%s: %s", in->row->short_name,
                   text.data);
    note_function(in);
    rlx_buf_free(&text);
    return NULL;
}

static const rlx_sinfo *misuse(rlx_infer *in, const char *format, ...) RLX_PRINTF(2, 3);
static const rlx_sinfo *misuse(rlx_infer *in, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    misuse_as(in, RLX_SEVERITY_ERROR, format, args);
    va_end(args);
    return NULL;
}

static void doubt(rlx_infer *in, const char *format, ...) RLX_PRINTF(2, 3);
static void doubt(rlx_infer *in, const char *format, ...)
{
    va_list args;
    if (in->quiet_values)
        return;
    va_start(args, format);
    misuse_as(in, RLX_SEVERITY_WARNING, format, args);
    va_end(args);
}

/* ---- results that the call states ----------------------------------------------------------- */

static const rlx_sinfo *stated(rlx_infer *in, const rlx_sinfo *none)
{
    const rlx_call *call = in->call;
    if (call->num_sinfo_args == 0)
        return rlx_infer_done(in, none);
    return call->num_sinfo_args == 1 ? call->sinfo_args[0]
                                     : rlx_infer_done(in, rlx_tuple_info(in->ctx, call->sinfo_args,
                                                                         call->num_sinfo_args));
}

/* An output that can be allocated: a tensor with dtype and sizes, or a tuple of such. */
static bool is_output(const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    return t && !rlx_dtype_is_void(t->dtype) && t->shape;
}

static const rlx_sinfo *outputs(rlx_infer *in)
{
    if (in->call->num_sinfo_args != 1)
        return misuse(in,
                      "states %zu results in out_sinfo, expected one (several go into a tuple)",
                      in->call->num_sinfo_args);
    const rlx_sinfo *out = in->call->sinfo_args[0];
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(out);
    bool good = tuple || is_output(out);
    for (size_t i = 0; tuple && i < tuple->num_fields; i++)
        good &= is_output(tuple->fields[i]);
    return good ? out
                : misuse(in, "out_sinfo is %s, expected tensors with sizes and dtype",
                         rlx_show(in->ctx, out));
}

/* What call_dps_packed states. Tensors whose dtype or sizes are missing are believed, as by TVM;
 * nothing can be allocated for them, so that they must be known when the program is built. */
static const rlx_sinfo *believed(rlx_infer *in)
{
    const rlx_sinfo *out = in->call->num_sinfo_args == 1 ? in->call->sinfo_args[0] : NULL;
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(out);
    bool tensors = out && (tuple || rlx_as_tensor_sinfo(out)), complete = !tuple && is_output(out);
    for (size_t i = 0; tuple && i < tuple->num_fields; i++) {
        tensors &= rlx_as_tensor_sinfo(tuple->fields[i]) != NULL;
        complete = (i == 0 || complete) && is_output(tuple->fields[i]);
    }
    if (!tensors || complete || (tuple && !tuple->num_fields))
        return outputs(in);
    doubt(in, "out_sinfo is %s: sizes and dtype have to be known before it is built",
          rlx_show(in->ctx, out));
    return out;
}

static size_t output_count(const rlx_sinfo *out)
{
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(out);
    return tuple ? tuple->num_fields : 1;
}

static const rlx_sinfo *output_at(const rlx_sinfo *out, size_t i)
{
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(out);
    return tuple ? tuple->fields[i] : out;
}

/* ---- call_tir ------------------------------------------------------------------------------- */

typedef struct tir_call {
    const rlx_func_sinfo *callee;   /* NULL: not known here */
    const rlx_tuple_sinfo *args;
    const rlx_sinfo *out;
    int64_t num_ints;               /* trailing integers; -1: not known */
} tir_call;

static bool read_callee(rlx_infer *in, tir_call *c)
{
    const rlx_expr *f = rlx_infer_expr(in, 0);
    if (!rlx_as_global_var(f))
        return misuse(in, "calls %s, expected a function of the module",
                      f ? rlx_show(in->ctx, f) : "nothing"),
               false;
    const rlx_sinfo *s = in->sinfo_of(in->user, f);
    c->callee = rlx_as_func_sinfo(s);
    if (s && !c->callee && !rlx_is(s, RLX_NODE_OBJECT_SINFO))
        return misuse(in, "%s is %s, expected a TIR function", rlx_show(in->ctx, f),
                      rlx_show(in->ctx, s)),
               false;
    if (c->callee && c->callee->derive)
        c->callee = NULL;
    const rlx_tuple_sinfo *ret = c->callee ? rlx_as_tuple_sinfo(c->callee->ret) : NULL;
    if (c->callee && !(ret && ret->num_fields == 0) && !rlx_as_prim_sinfo(c->callee->ret))
        return misuse(in, "%s returns %s: it is a Relax function, expected a TIR function",
                      rlx_show(in->ctx, f), rlx_show(in->ctx, c->callee->ret)),
               false;
    return true;
}

static bool read_tir_args(rlx_infer *in, tir_call *c)
{
    const rlx_sinfo *args = rlx_infer_arg(in, 1);
    if (!args)
        return false;
    c->args = rlx_as_tuple_sinfo(args);
    if (!c->args)
        return misuse(in, "the arguments are %s, expected a tuple", rlx_show(in->ctx, args)),
               false;
    c->num_ints = 0;
    if (in->call->num_args < 3)
        return true;
    const rlx_sinfo *ints = rlx_infer_arg(in, 2);
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(ints);
    if (ints && !shape)
        return misuse(in, "tir_vars is %s, expected a shape", rlx_show(in->ctx, ints)), false;
    c->num_ints = shape ? shape->ndim : -1;
    return shape != NULL;
}

/* Does the description mention a variable of the callee that neither arguments nor results
 * determine? */
static bool has_unmatched(rlx_infer *in, const rlx_mapping *m, const rlx_sinfo *param)
{
    rlx_prim_vars vars = { 0 };
    bool some = false;
    if (!rlx_collect_prim_vars(&in->ctx->memory, param, false, &vars))
        in->failed = true;
    for (size_t i = 0; i < vars.len && !some; i++)
        some = !rlx_ptrmap_has(&m->pairs, vars.data[i]);
    rlx_vec_free(&in->ctx->memory, &vars);
    return some;
}

/* Does the stated output agree with what the function's buffer says? Sizes that the function
 * computes from its integers are not known here: what cannot be refuted is then believed, the
 * kernel checks its buffers. */
static bool check_output(rlx_infer *in, rlx_mapping *m, const rlx_sinfo *param,
                         const rlx_sinfo *out, size_t index)
{
    const rlx_sinfo *implied = rlx_mapping_apply(m, param);
    if (implied && (implied->flags & RLX_FLAG_HAS_VARS)) {
        /* Sizes that no argument determines are free: out_sinfo defines them, so match them
         * against it first. */
        rlx_mapping_add(m, param, out, (int32_t)index);
        implied = rlx_mapping_apply(m, param);
    }
    if (!implied)
        return in->failed = true, false;
    rlx_mismatch why;
    enum rlx_assignability fit = rlx_assignable(in->ctx, in->scope, out, implied, &why);
    if (fit == RLX_ASSIGNABLE_YES || (fit == RLX_ASSIGNABLE_VALUE && has_unmatched(in, m, param)))
        return !in->failed;
    rlx_buf text;
    rlx_buf_init(&text, &in->ctx->memory);
    rlx_assignable_explain(&text, &why);
    const char *reason = text.data && !text.failed ? text.data : "";
    if (fit == RLX_ASSIGNABLE_VALUE)
        doubt(in, "output %zu is stated as %s, the function makes %s: %s", index,
              rlx_show(in->ctx, out), rlx_show(in->ctx, implied), reason);
    else
        misuse(in, "output %zu is stated as %s, the function makes %s: %s", index,
               rlx_show(in->ctx, out), rlx_show(in->ctx, implied), reason);
    rlx_buf_free(&text);
    return fit == RLX_ASSIGNABLE_VALUE;
}

/* Says that an argument can never be what the function takes, and which part of it. */
static bool wrong_input(rlx_infer *in, size_t index, const rlx_sinfo *arg, const rlx_sinfo *want,
                        const rlx_mismatch *why)
{
    rlx_buf text;
    rlx_buf_init(&text, &in->ctx->memory);
    rlx_assignable_explain(&text, why);
    misuse(in, "argument %zu is %s, expected %s: %s", index, rlx_show(in->ctx, arg),
           rlx_show(in->ctx, want), text.data && !text.failed ? text.data : "");
    rlx_buf_free(&text);
    return false;
}

/* Inputs that are surely wrong are errors; the kernel checks what is not known. */
static bool check_inputs(rlx_infer *in, const tir_call *c, rlx_mapping *m)
{
    for (size_t i = 0; i < c->args->num_fields; i++)
        rlx_mapping_add(m, c->callee->params[i], c->args->fields[i], (int32_t)i);
    if (m->conflict)
        return misuse(in, "%s would be both %s (argument %d) and %s (argument %d)",
                      rlx_show(in->ctx, &m->conflict->node), rlx_show(in->ctx, m->first),
                      m->first_arg, rlx_show(in->ctx, m->second), m->second_arg),
               false;
    for (size_t i = 0; i < c->args->num_fields; i++) {
        const rlx_sinfo *arg = c->args->fields[i],
                        *want = rlx_mapping_apply(m, c->callee->params[i]);
        rlx_mismatch why;
        if (!want)
            return in->failed = true, false;
        if (rlx_assignable(in->ctx, in->scope, arg, want, &why) == RLX_ASSIGNABLE_NO)
            return wrong_input(in, i, arg, want, &why);
    }
    return true;
}

/* Counts and descriptions against the function's parameters: inputs, allocated outputs,
 * integers. */
static bool check_signature(rlx_infer *in, const tir_call *c, size_t num_allocated,
                            const int64_t *inplace)
{
    size_t inputs = c->args->num_fields,
           known = inputs + num_allocated + (size_t)(c->num_ints < 0 ? 0 : c->num_ints);
    if (c->num_ints < 0 ? c->callee->num_params < known : c->callee->num_params != known)
        return misuse(
                   in,
                   "%s takes %zu parameter%s, found %zu: %zu argument%s, %zu output%s and %lld integer%s",
                   rlx_show(in->ctx, in->call->args[0]), c->callee->num_params,
                   c->callee->num_params == 1 ? "" : "s", known, inputs, inputs == 1 ? "" : "s",
                   num_allocated, num_allocated == 1 ? "" : "s",
                   (long long)(c->num_ints < 0 ? 0 : c->num_ints), c->num_ints == 1 ? "" : "s"),
               false;
    rlx_mapping m;
    rlx_mapping_init(&m, in->ctx, in->scope, c->callee->binders, c->callee->num_binders);
    bool good = check_inputs(in, c, &m);
    for (size_t i = 0, at = inputs; good && i < output_count(c->out); i++)
        if (!inplace || inplace[i] < 0)
            good = check_output(in, &m, c->callee->params[at++], output_at(c->out, i), i);
    rlx_mapping_free(&m);
    return good;
}

const rlx_sinfo *rlx_infer_call_tir(rlx_infer *in)
{
    tir_call c = { 0 };
    if (!read_callee(in, &c) || !read_tir_args(in, &c) || !(c.out = outputs(in)))
        return NULL;
    /* of a distributed tensor the function sees the whole or a part, which is for whoever divides
     * the program to say: as in TVM, sizes are not compared */
    bool whole = !rlx_is_distributed(c.out) && !rlx_is_distributed(&c.args->node);
    if (c.callee && whole && !check_signature(in, &c, output_count(c.out), NULL))
        return NULL;
    return c.out;
}

/* The function sees the parts that a device has. */
const rlx_sinfo *rlx_infer_call_tir_local_view(rlx_infer *in)
{
    tir_call c = { 0 };
    return read_callee(in, &c) && read_tir_args(in, &c) ? outputs(in) : NULL;
}

/* One index per output, each in [-1, number of arguments), no argument twice, at least one
 * argument. */
static bool read_indices(rlx_infer *in, const rlx_attr *list, size_t num_outputs, size_t num_args,
                         int64_t *out)
{
    bool some = false;
    if (rlx_attr_count(list) != num_outputs)
        return misuse(in, "%zu in-place indices for %zu outputs", rlx_attr_count(list),
                      num_outputs),
               false;
    for (size_t i = 0; i < num_outputs; i++) {
        out[i] = rlx_attr_item(list, i);
        some |= out[i] >= 0;
        if (out[i] < -1 || out[i] >= (int64_t)num_args)
            return misuse(in, "in-place index %lld names none of the %zu arguments",
                          (long long)out[i], num_args),
                   false;
        for (size_t k = 0; k < i; k++)
            if (out[i] >= 0 && out[k] == out[i])
                return misuse(in, "argument %lld is written in place twice", (long long)out[i]),
                       false;
    }
    return some ? true
                : (misuse(in, "no argument is written in place (use the plain form)"), false);
}

/* An argument written in place has the shape and dtype of the output. */
static bool check_replaced(rlx_infer *in, const rlx_sinfo *arg, const rlx_sinfo *out,
                           int64_t index)
{
    const rlx_tensor_sinfo *a = rlx_as_tensor_sinfo(arg), *o = rlx_as_tensor_sinfo(out);
    size_t na = 0, no = 0;
    const rlx_prim *const *have = a ? rlx_shape_dims(a->shape, &na) : NULL;
    const rlx_prim *const *want = o ? rlx_shape_dims(o->shape, &no) : NULL;
    bool same =
        a && o && a->dtype == o->dtype && (a->shape == o->shape || (have && want)) && a->shape;
    if (same && have && want)
        same = rlx_prove_equal_list(in->ctx, in->scope, have, na, want, no) == RLX_EQUAL;
    if (!same)
        misuse(in, "argument %lld is %s, not proved to be of shape and dtype of its output, %s",
               (long long)index, rlx_show(in->ctx, arg), rlx_show(in->ctx, out));
    return same;
}

const rlx_sinfo *rlx_infer_call_tir_inplace(rlx_infer *in)
{
    tir_call c = { 0 };
    if (!read_callee(in, &c) || !read_tir_args(in, &c) || !(c.out = outputs(in)))
        return NULL;
    size_t n = output_count(c.out), allocated = 0;
    int64_t *indices = rlx_new(in->ctx, (n + 1) * sizeof *indices);
    if (!indices)
        return rlx_infer_done(in, NULL);
    if (!read_indices(in, rlx_infer_attr(in, 0), n, c.args->num_fields, indices))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        allocated += indices[i] < 0;
        if (indices[i] >= 0 &&
            !check_replaced(in, c.args->fields[indices[i]], output_at(c.out, i), indices[i]))
            return NULL;
    }
    return c.callee && !check_signature(in, &c, allocated, indices) ? NULL : c.out;
}

const rlx_sinfo *rlx_infer_call_dps(rlx_infer *in)
{
    const rlx_sinfo *callee = rlx_infer_arg(in, 0);
    if (!callee || !rlx_infer_arg(in, 1))
        return NULL;
    if (!rlx_as_func_sinfo(callee) && !rlx_is(callee, RLX_NODE_OBJECT_SINFO))
        return misuse(in, "calls %s, expected a packed function", rlx_show(in->ctx, callee));
    return believed(in);
}

/* The argument tuple as a literal: the literal bound to the variable, else its fields one by
 * one. */
const rlx_expr *rlx_normalize_arg_tuple(rlx_infer *in)
{
    const rlx_call *call = in->call;
    const rlx_expr *tuple = call->num_args > 1 ? call->args[1] : NULL;
    if (!tuple || rlx_as_tuple(tuple))
        return &call->node;
    const rlx_expr *bound = rlx_infer_value(in, 1);
    const rlx_tuple_sinfo *s = rlx_as_tuple_sinfo(in->sinfo_of(in->user, tuple));
    const rlx_expr *literal = rlx_as_tuple(bound) ? bound : NULL;
    if (!literal && !s)
        return &call->node; /* the rule reports it */
    if (!literal) {
        const rlx_expr **fields = rlx_new(in->ctx, (s->num_fields + 1) * sizeof *fields);
        for (size_t i = 0; fields && i < s->num_fields; i++)
            if (!(fields[i] = rlx_tuple_get_item_new(in->ctx, tuple, (int64_t)i, call->place)))
                return NULL;
        literal = fields ? rlx_tuple_new(in->ctx, fields, s->num_fields, call->place) : NULL;
    }
    if (!literal)
        return NULL;
    const rlx_expr *args[RLX_OP_MAX_ARGS];
    memcpy(args, call->args, call->num_args * sizeof *args);
    args[1] = literal;
    return rlx_call_new(in->ctx, call->op, args, call->num_args, call->sinfo_args,
                        call->num_sinfo_args, call->attrs, call->place);
}

/* A single tensor given as the arguments is a tuple of one. */
bool rlx_prepare_arg_tuple(rlx_op_draft *d)
{
    const rlx_expr *e = d->args[1];
    if (!e || rlx_as_tuple(e))
        return true;
    const rlx_sinfo *s = rlx_leaf_sinfo(d->ctx, NULL, e);
    if (rlx_as_tensor_sinfo(s) || rlx_as_prim_sinfo(s))
        d->args[1] = rlx_tuple_new(d->ctx, &e, 1, d->place);
    return d->args[1] != NULL;
}

/* ---- packed functions ----------------------------------------------------------------------- */

static const rlx_sinfo *info_behind(void *user, size_t i)
{
    rlx_infer *in = user;
    return i + 1 < in->call->num_args ? rlx_infer_arg(in, i + 1) : NULL;
}

/* The call as it would be without the operator: f(a, b) for call_pure_packed(f, a, b). */
static const rlx_sinfo *derived_by_host(rlx_infer *in, const rlx_string *name)
{
    const rlx_call *c = in->call;
    const rlx_call *plain =
        rlx_as_call(rlx_call_new(in->ctx, c->args[0], c->args + 1, c->num_args - 1, c->sinfo_args,
                                 c->num_sinfo_args, NULL, c->place));
    rlx_extension_view view = {
        .ctx = in->ctx, .call = plain, .arg_info = info_behind, .user = in, .quiet = in->quiet
    };
    return rlx_infer_done(in, plain ? rlx_derive_named(&view, in->scope, name) : NULL);
}

/* Result of calling an opaque function, as its description derives it. */
static const rlx_sinfo *derived(rlx_infer *in)
{
    const rlx_expr *f = rlx_infer_expr(in, 0);
    if (!f)
        return rlx_infer_arg(in, 0);
    const rlx_func_sinfo *s = rlx_as_op(f) ? NULL : rlx_as_func_sinfo(rlx_infer_arg(in, 0));
    if (!s || !s->derive)
        return rlx_infer_fail(in, "calls %s, expected a packed function", rlx_show(in->ctx, f));
    if (s->derive == RLX_DERIVE_NAMED)
        return derived_by_host(in, s->derive_name);
    if (s->derive == RLX_DERIVE_CONST)
        return s->ret ? s->ret : rlx_object_info(in->ctx);
    return s->derive == RLX_DERIVE_EMPTY ? rlx_object_info(in->ctx)
                                         : stated(in, rlx_object_info(in->ctx));
}

const rlx_sinfo *rlx_infer_call_pure_packed(rlx_infer *in)
{
    return derived(in);
}

const rlx_sinfo *rlx_infer_call_inplace_packed(rlx_infer *in)
{
    if (in->call->num_args < 2)
        return rlx_infer_fail(in, "takes a function and at least one argument");
    const rlx_sinfo *out = derived(in);
    if (!out)
        return NULL;
    size_t n = output_count(out);
    int64_t *indices = rlx_new(in->ctx, (n + 1) * sizeof *indices);
    if (!indices)
        return rlx_infer_done(in, NULL);
    if (!read_indices(in, rlx_infer_attr(in, 0), n, in->call->num_args - 1, indices))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const rlx_sinfo *arg = indices[i] < 0 ? NULL : rlx_infer_arg(in, 1 + (size_t)indices[i]);
        if (indices[i] >= 0 && !arg)
            return NULL;
        if (arg &&
            rlx_assignable(in->ctx, in->scope, arg, output_at(out, i), NULL) != RLX_ASSIGNABLE_YES)
            return misuse(in, "argument %lld is %s, which the stated result %s does not cover",
                          (long long)indices[i], rlx_show(in->ctx, arg),
                          rlx_show(in->ctx, output_at(out, i)));
    }
    return out;
}

const rlx_sinfo *rlx_infer_call_builtin(rlx_infer *in)
{
    if (!rlx_infer_arg(in, 0) || !rlx_infer_arg(in, 1))
        return NULL;
    if (in->call->num_sinfo_args > 1)
        return rlx_infer_fail(in, "states %zu results, expected at most one",
                              in->call->num_sinfo_args);
    return stated(in, rlx_tuple_info(in->ctx, NULL, 0));
}

/* ---- closures, values, effects -------------------------------------------------------------- */

const rlx_sinfo *rlx_infer_object(rlx_infer *in)
{
    for (size_t i = 0; i < in->row->min_args; i++)
        if (!rlx_infer_arg(in, i))
            return NULL;
    return rlx_infer_done(in, rlx_object_info(in->ctx));
}

const rlx_sinfo *rlx_infer_invoke(rlx_infer *in)
{
    return rlx_infer_arg(in, 0) && rlx_infer_arg(in, 1) ? stated(in, rlx_object_info(in->ctx))
                                                        : NULL;
}

const rlx_sinfo *rlx_infer_unit(rlx_infer *in)
{
    for (size_t i = 0; i < in->row->min_args; i++)
        if (!rlx_infer_arg(in, i))
            return NULL;
    return rlx_infer_done(in, rlx_tuple_info(in->ctx, NULL, 0));
}

const rlx_sinfo *rlx_infer_assert(rlx_infer *in)
{
    const rlx_sinfo *s = rlx_infer_arg(in, 0);
    if (!s)
        return NULL;
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(s);
    rlx_dtype dtype = t ? t->dtype : p ? p->dtype : RELAX_INT64;
    if (!(rlx_dtype_is_bool(dtype) || rlx_dtype_is_void(dtype)) || (t && t->ndim > 0))
        return rlx_infer_fail(in, "condition is %s, expected a Boolean scalar",
                              rlx_show(in->ctx, s));
    return rlx_infer_done(in, rlx_tuple_info(in->ctx, NULL, 0));
}
