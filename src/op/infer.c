/* infer.c: what inference rules have in common. The rules are in infer_FAMILY.c. */
#include "op/op_int.h"

#include <stdarg.h>

/* ---- failing -------------------------------------------------------------------------------- */

static void fail(rlx_infer *in, enum rlx_code_id code, const char *format, va_list args)
{
    in->failed = true;
    if (in->quiet)
        return;
    rlx_buf text;
    rlx_buf_init(&text, &in->ctx->memory);
    rlx_buf_vformat(&text, format, args);
    if (!text.failed)
        rlx_error(in->ctx, code, in->call->place, "%s: %s", in->row->short_name, text.data);
    rlx_buf_free(&text);
}

const rlx_sinfo *rlx_infer_fail(rlx_infer *in, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(in, RLX_TY08, format, args);
    va_end(args);
    return NULL;
}

const rlx_sinfo *rlx_infer_done(rlx_infer *in, const rlx_sinfo *s)
{
    if (!s)
        in->failed = true;
    return s;
}

const char *rlx_dtype_text(rlx_dtype t, char text[RLX_DTYPE_TEXT])
{
    rlx_dtype_name(t, text);
    return text;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static const rlx_sinfo *wrong_count(rlx_infer *in)
{
    const rlx_op_row *row = in->row;
    if (row->min_args == row->num_args)
        return rlx_infer_fail(in, "takes %d argument%s, found %zu", row->num_args,
                              row->num_args == 1 ? "" : "s", in->call->num_args);
    return rlx_infer_fail(in, "takes %d to %d arguments, found %zu", row->min_args, row->num_args,
                          in->call->num_args);
}

static const char *arg_name(const rlx_op_row *row, size_t i)
{
    return row->num_args ? row->args[i < row->num_args ? i : (size_t)row->num_args - 1].name
                         : "argument";
}

const rlx_sinfo *rlx_infer_arg(rlx_infer *in, size_t i)
{
    const rlx_call *call = in->call;
    if (RLX_UNLIKELY(i >= call->num_args ||
                     (call->num_args > in->row->num_args && !(in->row->flags & RLX_OP_VARARGS))))
        return wrong_count(in);
    size_t errors = rlx_error_count(in->ctx);
    const rlx_sinfo *s = in->sinfo_of(in->user, call->args[i]);
    if (RLX_LIKELY(s != NULL))
        return s;
    in->failed = true;
    if (rlx_error_count(in->ctx) > errors)
        return NULL; /* whoever was asked has said why */
    return rlx_infer_fail(in, "nothing is known of %s (%s)", arg_name(in->row, i),
                          rlx_show(in->ctx, call->args[i]));
}

const char *rlx_infer_cure(const rlx_sinfo *s)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    return t && t->num_fields ? " (a field of a tuple is t[0])"
           : s->kind == RLX_NODE_OBJECT_SINFO ? " (R.match_cast states what it is)"
           : s->kind == RLX_NODE_SHAPE_SINFO  ? " (R.shape_to_tensor makes one of it)"
                                              : "";
}

const rlx_tensor_sinfo *rlx_infer_tensor(rlx_infer *in, size_t i)
{
    const rlx_sinfo *s = rlx_infer_arg(in, i);
    if (!s)
        return NULL;
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    if (!t)
        rlx_infer_fail(in, "%s is %s, expected a tensor%s", arg_name(in->row, i),
                       rlx_show(in->ctx, s), rlx_infer_cure(s));
    return t;
}

const rlx_shape_sinfo *rlx_infer_shape_arg(rlx_infer *in, size_t i)
{
    const rlx_sinfo *s = rlx_infer_arg(in, i);
    if (!s)
        return NULL;
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    if (!shape)
        rlx_infer_fail(in, "%s is %s, expected a shape%s", arg_name(in->row, i),
                       rlx_show(in->ctx, s),
                       rlx_as_tensor_sinfo(s) ? " (R.tensor_to_shape makes one of it)" : "");
    return shape;
}

const rlx_expr *rlx_infer_value(const rlx_infer *in, size_t i)
{
    const rlx_expr *e = rlx_infer_expr(in, i);
    /* Bindings that copy a variable form short chains; the bound only guards against a
     * malformed cycle. */
    for (int hops = 0; e && in->value_of && rlx_as_var(e) && hops < 64; hops++) {
        const rlx_expr *v = in->value_of(in->user, e);
        if (!v)
            break;
        e = v;
    }
    return e;
}

/* ---- attributes ----------------------------------------------------------------------------- */

const rlx_attr *rlx_infer_attr(const rlx_infer *in, size_t index)
{
    const rlx_attrs *a = rlx_as_attrs(in->call->attrs);
    return a && index < a->num_values ? a->values[index] : NULL;
}

bool rlx_attr_to_int(const rlx_attr *a, int64_t *out)
{
    const rlx_prim_value *value = rlx_as_prim_value(a);
    if (value)
        a = value->value;
    const rlx_attr_int *i = rlx_as_attr_int(a);
    if (i)
        return *out = i->value, true;
    return rlx_int_literal(a, out);
}

size_t rlx_attr_count(const rlx_attr *a)
{
    const rlx_attr_list *list = rlx_as_attr_list(a);
    return list ? list->num_items : !rlx_attr_is_none(a);
}

int64_t rlx_attr_item(const rlx_attr *a, size_t i)
{
    const rlx_attr_list *list = rlx_as_attr_list(a);
    int64_t v = 0;
    rlx_attr_to_int(list ? (i < list->num_items ? list->items[i] : NULL) : a, &v);
    return v;
}

rlx_slice rlx_attr_text(const rlx_attr *a)
{
    const rlx_attr_string *s = rlx_as_attr_string(a);
    return s ? rlx_string_slice(s->value) : (rlx_slice){ "", 0 };
}

double rlx_attr_as_float(const rlx_attr *a, double otherwise)
{
    const rlx_attr_float *f = rlx_as_attr_float(a);
    return f ? f->value : otherwise;
}

/* ---- shapes --------------------------------------------------------------------------------- */

bool rlx_dims_init(rlx_infer *in, rlx_dims *d, size_t n)
{
    d->count = n;
    d->at = d->few;
    if (RLX_LIKELY(n <= RLX_DIMS_INLINE))
        return true;
    size_t bytes;
    d->at = rlx_mul_size(n, sizeof *d->at, &bytes) ? rlx_new(in->ctx, bytes) : NULL;
    if (!d->at)
        in->failed = true;
    return d->at != NULL;
}

const rlx_prim *const *rlx_literal_dims(const rlx_tensor_sinfo *t, size_t *ndim)
{
    return rlx_as_shape_expr(t->shape) ? rlx_shape_dims(t->shape, ndim) : NULL;
}

/* Of one size. A size of which the next ones are made twice over has no text any more after some
 * tens of steps: it is left to the run, as sizes that are not known are. */
#define MAX_SIZE_PARTS 65536

const rlx_sinfo *rlx_infer_dims_result(rlx_infer *in, const rlx_dims *d, rlx_dtype dtype,
                                       const rlx_node *vdevice)
{
    for (size_t i = 0; i < d->count; i++) {
        d->at[i] = rlx_keep_small(in->ctx, in->scope, d->at[i]);
        if (d->at[i] && rlx_prim_parts(d->at[i]) > MAX_SIZE_PARTS)
            return rlx_infer_rank_result(in, (int64_t)d->count, dtype, vdevice);
    }
    const rlx_expr *shape = rlx_shape_new(in->ctx, d->at, d->count);
    return rlx_infer_done(
        in, shape ? rlx_tensor_info(in->ctx, shape, dtype, (int)d->count, vdevice) : NULL);
}

const rlx_sinfo *rlx_infer_rank_result(rlx_infer *in, int64_t ndim, rlx_dtype dtype,
                                       const rlx_node *vdevice)
{
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, NULL, dtype, (int)ndim, vdevice));
}

const rlx_sinfo *rlx_infer_with_dtype(rlx_infer *in, const rlx_tensor_sinfo *t, rlx_dtype dtype)
{
    if (t->dtype == dtype)
        return &t->node;
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, t->shape, dtype, t->ndim, t->vdevice));
}

const rlx_sinfo *rlx_infer_without_shape(rlx_infer *in, const rlx_tensor_sinfo *t)
{
    return t->shape ? rlx_infer_rank_result(in, t->ndim, t->dtype, t->vdevice) : &t->node;
}

const rlx_prim *rlx_dims_product(rlx_context *ctx, const rlx_prim *const *dims, size_t n)
{
    const rlx_prim *p = rlx_int64(ctx, 1);
    for (size_t i = 0; i < n; i++)
        p = rlx_fold_mul(ctx, p, dims[i]);
    return p;
}

const rlx_prim *rlx_dims_total(rlx_context *ctx, const rlx_prim *const *dims, size_t n,
                               int64_t factor)
{
    const rlx_prim *p = rlx_int64(ctx, factor);
    int64_t a, b, unused;
    for (size_t i = 0; p && i < n; i++) {
        if (rlx_int_literal(p, &a) && rlx_int_literal(dims[i], &b) && !rlx_mul_i64(a, b, &unused))
            return NULL;
        p = rlx_fold_mul(ctx, p, dims[i]);
    }
    return p;
}

enum rlx_answer rlx_infer_equal(rlx_infer *in, const rlx_prim *a, const rlx_prim *b)
{
    return a == b ? RLX_EQUAL : rlx_prove_equal(in->ctx, in->scope, a, b);
}

int rlx_broadcast_dim(rlx_infer *in, const rlx_prim *a, const rlx_prim *b, const rlx_prim **out)
{
    *out = a;
    if (a == b || rlx_is_int_value(b, 1))
        return 1;
    if (rlx_is_int_value(a, 1))
        return *out = b, 1;
    int64_t x, y;
    if (rlx_int_literal(a, &x) && rlx_int_literal(b, &y))
        return x == y ? 1 : -1;
    return rlx_prove_equal(in->ctx, in->scope, a, b) == RLX_EQUAL;
}

/* ---- axes ----------------------------------------------------------------------------------- */

bool rlx_infer_axis(rlx_infer *in, int64_t axis, int64_t ndim, size_t *out)
{
    if (axis < -ndim || axis >= ndim) {
        rlx_infer_fail(in, "axis %lld is out of range for a tensor of rank %lld", (long long)axis,
                       (long long)ndim);
        return false;
    }
    *out = (size_t)(axis < 0 ? axis + ndim : axis);
    return true;
}

void rlx_infer_doubt_axis(rlx_infer *in, int64_t axis, const rlx_tensor_sinfo *x)
{
    if (x->ndim >= 0 && (axis < -(int64_t)x->ndim || axis >= x->ndim))
        rlx_report(in->ctx, RLX_TY08, RLX_SEVERITY_WARNING, in->call->place,
                   "%s: axis %lld is out of range for a tensor of rank %d", in->row->short_name,
                   (long long)axis, (int)x->ndim);
}

bool rlx_infer_word(rlx_infer *in, size_t attr, const char *words)
{
    rlx_slice text = rlx_attr_text(rlx_infer_attr(in, attr));
    for (const char *at = words; *at;) {
        size_t len = strcspn(at, ", ");
        bool joins = len == 2 && !memcmp(at, "or", 2);
        if (!joins && len == text.len && !memcmp(at, text.data, len))
            return true;
        at += len;
        at += strspn(at, ", ");
    }
    rlx_infer_fail(in, "%s is \"%.*s\", expected %s", in->row->attrs[attr].name,
                   (int)(text.len > 60 ? 60 : text.len), text.data ? text.data : "", words);
    return false;
}

bool rlx_infer_axes(rlx_infer *in, const rlx_attr *list, int64_t ndim, rlx_axes *out)
{
    size_t n = (size_t)ndim;
    out->count = rlx_attr_count(list);
    out->mark = out->few;
    if (n > RLX_DIMS_INLINE && !(out->mark = rlx_new(in->ctx, n * sizeof *out->mark)))
        return in->failed = true, false;
    memset(out->mark, 0, n * sizeof *out->mark);
    for (size_t i = 0; i < out->count; i++) {
        size_t axis;
        if (!rlx_infer_axis(in, rlx_attr_item(list, i), ndim, &axis))
            return false;
        if (out->mark[axis]) {
            rlx_infer_fail(in, "axis %lld is named twice", (long long)rlx_attr_item(list, i));
            return false;
        }
        out->mark[axis] = (uint32_t)i + 1;
    }
    return true;
}

/* ---- dtypes and devices --------------------------------------------------------------------- */

bool rlx_infer_common_dtype(rlx_infer *in, rlx_dtype a, rlx_dtype b, rlx_dtype *out)
{
    *out = a;
    if (RLX_LIKELY(a == b))
        return true;
    *out = RELAX_VOID;
    if (rlx_dtype_is_void(a) || rlx_dtype_is_void(b))
        return true;
    char x[RLX_DTYPE_TEXT], y[RLX_DTYPE_TEXT];
    rlx_infer_fail(in, "dtypes differ: %s and %s (convert one with R.astype)",
                   rlx_dtype_text(a, x), rlx_dtype_text(b, y));
    return false;
}

bool rlx_infer_float(rlx_infer *in, rlx_dtype t)
{
    int code = rlx_dtype_code(t);
    if (RLX_LIKELY(code == RELAX_DTYPE_FLOAT || code == RELAX_DTYPE_BFLOAT) ||
        rlx_dtype_is_narrow_float(rlx_dtype_with_lanes(t, 1)) || rlx_dtype_is_void(t))
        return true;
    char x[RLX_DTYPE_TEXT];
    rlx_infer_fail(in, "takes floating point, found %s (convert with R.astype)",
                   rlx_dtype_text(t, x));
    return false;
}

/* Says nothing about where a tensor is: no device, or one that names no target. */
static bool is_open(const rlx_node *device)
{
    const rlx_vdevice *v = rlx_as_vdevice(device);
    return !v || !v->target;
}

RLX_PRINTF(2, 3) static void fail_devices(rlx_infer *in, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(in, RLX_VD01, format, args);
    va_end(args);
}

/* The name of the first operand that is on a device. */
static const char *operand_on(rlx_infer *in, const rlx_node *device)
{
    for (size_t i = 0; i < in->call->num_args && !in->quiet; i++) {
        const rlx_tensor_sinfo *t =
            rlx_as_tensor_sinfo(in->sinfo_of(in->user, in->call->args[i]));
        if (t && t->vdevice == device)
            return rlx_show(in->ctx, in->call->args[i]);
    }
    return "an operand";
}

bool rlx_infer_common_device(rlx_infer *in, const rlx_node *a, const rlx_node *b,
                             const rlx_node **out)
{
    *out = is_open(a) ? b : a;
    if (RLX_LIKELY(a == b) || is_open(a) || is_open(b))
        return true;
    fail_devices(in, "%s is on %s but %s is on %s; insert R.to_vdevice", operand_on(in, a),
                 rlx_show_vdevice(in->ctx, a), operand_on(in, b), rlx_show_vdevice(in->ctx, b));
    return false;
}

const rlx_node *rlx_device_join(const rlx_node *first, const rlx_node *next)
{
    if (!next || first == next)
        return first;
    if (!first)
        return next;
    return is_open(next) ? first : NULL;
}

/* ---- outside a builder ---------------------------------------------------------------------- */

typedef struct outside { rlx_context *ctx; const rlx_env *env; } outside;

static const rlx_sinfo *leaf_of(void *user, const rlx_expr *e)
{
    outside *o = user;
    return rlx_leaf_sinfo(o->ctx, o->env, e);
}

const rlx_sinfo *rlx_op_infer(rlx_context *ctx, const rlx_scope *scope, const rlx_env *env,
                              const rlx_call *call, bool quiet)
{
    const rlx_op *op = rlx_as_op(call->op);
    if (!op || !op->row)
        return NULL;
    if (!op->row->infer)
        return rlx_object_info(ctx);
    outside o = { ctx, env };
    rlx_infer in = { .ctx = ctx,
                     .call = call,
                     .row = op->row,
                     .scope = (rlx_scope *)scope,
                     .sinfo_of = leaf_of,
                     .user = &o,
                     .quiet = quiet };
    return RLX_UNLIKELY(ctx->distributed) ? rlx_infer_distributed(&in) : op->row->infer(&in);
}
