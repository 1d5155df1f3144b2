/* infer_create.c: tensors made from a shape and a value. */
/* built for size */
#include "op/op_int.h"

static const rlx_expr *shape_of_arg(const rlx_infer *in, size_t i)
{
    const rlx_expr *e = rlx_infer_expr(in, i);
    return rlx_as_shape_expr(e) || rlx_as_var(e) ? e : NULL;
}

/* ones, zeros: (shape), attribute dtype */
const rlx_sinfo *rlx_infer_filled(rlx_infer *in)
{
    const rlx_shape_sinfo *s = rlx_infer_shape_arg(in, 0);
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 0));
    if (!s)
        return NULL;
    if (rlx_dtype_is_void(dtype))
        return rlx_infer_fail(in, "needs a dtype");
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, shape_of_arg(in, 0), dtype, s->ndim, NULL));
}

const rlx_sinfo *rlx_infer_random(rlx_infer *in)
{
    return rlx_infer_float(in, rlx_attr_as_dtype(rlx_infer_attr(in, 0))) ? rlx_infer_filled(in) : NULL;
}

static const rlx_tensor_sinfo *fill_value(rlx_infer *in)
{
    const rlx_tensor_sinfo *v = rlx_infer_tensor(in, 1);
    if (v && v->ndim != 0) {
        rlx_infer_fail(in, "fill_value is %s, expected a tensor of rank 0",
                       rlx_show(in->ctx, &v->node));
        return NULL;
    }
    return v;
}

const rlx_sinfo *rlx_infer_full(rlx_infer *in)
{
    const rlx_shape_sinfo *s = rlx_infer_shape_arg(in, 0);
    const rlx_tensor_sinfo *v = s ? fill_value(in) : NULL;
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 0));
    if (!v)
        return NULL;
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, shape_of_arg(in, 0),
                                              rlx_dtype_is_void(dtype) ? v->dtype : dtype, s->ndim,
                                              v->vdevice));
}

/* ones_like, zeros_like: the argument with another dtype if one is given */
const rlx_sinfo *rlx_infer_like(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 0));
    return !x ? NULL : rlx_infer_with_dtype(in, x, rlx_dtype_is_void(dtype) ? x->dtype : dtype);
}

const rlx_sinfo *rlx_infer_full_like(rlx_infer *in)
{
    return rlx_infer_tensor(in, 0) && fill_value(in) ? rlx_infer_like(in) : NULL;
}

/* ---- shapes as values ----------------------------------------------------------------------- */

const rlx_sinfo *rlx_infer_shape_of(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    size_t n;
    if (!x)
        return NULL;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    return rlx_infer_done(in, dims ? rlx_shape_info(in->ctx, dims, n)
                                   : rlx_shape_info_rank(in->ctx, x->ndim));
}

const rlx_sinfo *rlx_infer_tensor_to_shape(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    size_t n;
    int64_t count = -1;
    if (!x)
        return NULL;
    if (x->ndim != 1)
        return rlx_infer_fail(in, "input is %s, expected a tensor of rank 1",
                              rlx_show(in->ctx, &x->node));
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (dims)
        rlx_int_literal(dims[0], &count);
    return rlx_infer_done(
        in, rlx_shape_info_rank(in->ctx, count < 0 || count > INT16_MAX ? -1 : (int)count));
}

const rlx_sinfo *rlx_infer_shape_to_tensor(rlx_infer *in)
{
    const rlx_shape_sinfo *s = rlx_infer_shape_arg(in, 0);
    if (!s)
        return NULL;
    if (s->ndim < 0)
        return rlx_infer_rank_result(in, 1, RELAX_INT64, NULL);
    int64_t n = s->ndim;
    return rlx_infer_done(in, rlx_tensor_ints(in->ctx, &n, 1, RELAX_INT64));
}

/* ---- triangles, ranges, identity ------------------------------------------------------------ */

static const rlx_prim *scalar_literal(rlx_infer *in, size_t i)
{
    const rlx_prim_value *v = rlx_as_prim_value(rlx_infer_expr(in, i));
    if (v)
        return v->value;
    if (i < in->call->num_args)
        rlx_infer_fail(in, "%s is %s, expected R.prim_value", in->row->args[i].name,
                       rlx_show(in->ctx, in->call->args[i]));
    else
        rlx_infer_arg(in, i);
    return NULL;
}

const rlx_sinfo *rlx_infer_eye(rlx_infer *in)
{
    const rlx_prim *n = scalar_literal(in, 0), *m = n ? scalar_literal(in, 1) : NULL;
    rlx_dims out;
    if (!m || !rlx_infer_arg(in, 2) || !rlx_dims_init(in, &out, 2))
        return NULL;
    out.at[0] = rlx_fold_cast(in->ctx, RELAX_INT64, n);
    out.at[1] = rlx_fold_cast(in->ctx, RELAX_INT64, m);
    return out.at[0] && out.at[1]
               ? rlx_infer_dims_result(in, &out, rlx_attr_as_dtype(rlx_infer_attr(in, 0)), NULL)
               : rlx_infer_done(in, NULL);
}

const rlx_sinfo *rlx_infer_eye_like(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 0));
    if (!x || !rlx_infer_arg(in, 1))
        return NULL;
    if (x->ndim >= 0 && x->ndim != 2)
        return rlx_infer_fail(in, "x has rank %d, expected 2", x->ndim);
    return rlx_infer_with_dtype(in, x, rlx_dtype_is_void(dtype) ? x->dtype : dtype);
}

const rlx_sinfo *rlx_infer_triangle(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_sinfo *k = x ? rlx_infer_arg(in, 1) : NULL;
    if (!k)
        return NULL;
    if (!rlx_as_prim_sinfo(k))
        return rlx_infer_fail(in, "k is %s, expected a scalar value", rlx_show(in->ctx, k));
    if (x->ndim >= 0 && x->ndim < 2)
        return rlx_infer_fail(in, "x has rank %d, expected at least 2", x->ndim);
    return &x->node;
}

/* ceil((stop - start) / step) of integers, for either sign of the step. */
static const rlx_prim *int_steps(rlx_infer *in, const rlx_prim *start, const rlx_prim *stop,
                                 const rlx_prim *step)
{
    rlx_context *ctx = in->ctx;
    int64_t s;
    bool down = rlx_int_literal(step, &s) && s < 0;
    if (down) {
        const rlx_prim *other = start;
        start = stop;
        stop = other;
        step = s == INT64_MIN ? NULL : rlx_int64(ctx, -s);
    }
    const rlx_prim *span = rlx_fold_sub(
        ctx, rlx_fold_add(ctx, rlx_fold_sub(ctx, stop, start), step), rlx_int64(ctx, 1));
    return rlx_fold_binary(ctx, RLX_NODE_FLOOR_DIV, span, step);
}

static double scalar_number(const rlx_prim *p, bool *known)
{
    int64_t i;
    const rlx_float_imm *f = rlx_as_float_imm(p);
    if (f)
        return f->value;
    *known &= rlx_int_literal(p, &i);
    return *known ? rlx_scalar_convert(RELAX_FLOAT64, rlx_prim_dtype(p), (rlx_scalar){ .i = i }).f
                  : 0;
}

static const rlx_prim *float_steps(rlx_infer *in, const rlx_prim *start, const rlx_prim *stop,
                                   const rlx_prim *step)
{
    bool known = true;
    double a = scalar_number(start, &known), b = scalar_number(stop, &known),
           s = scalar_number(step, &known);
    if (!known || !(s != 0)) {
        rlx_infer_fail(in,
                       known ? "step is 0"
                             : "the number of elements needs literals where floats are mixed in");
        return NULL;
    }
    double n = (b - a) / s;
    int64_t whole = n > 0 && n < 9e15 ? (int64_t)n : 0;
    return rlx_int64(in->ctx, n > 0 && (double)whole < n ? whole + 1 : whole);
}

const rlx_sinfo *rlx_infer_arange(rlx_infer *in)
{
    rlx_dims out;
    const rlx_prim *p[3];
    bool ints = true;
    for (size_t i = 0; i < 3; i++) {
        if (!(p[i] = scalar_literal(in, i)))
            return NULL;
        ints &= rlx_dtype_is_int(rlx_prim_dtype(p[i]));
    }
    if (rlx_is_int_value(p[2], 0))
        return rlx_infer_fail(in, "step is 0");
    const rlx_prim *n = ints ? int_steps(in, p[0], p[1], p[2]) : float_steps(in, p[0], p[1], p[2]);
    const rlx_prim *zero = rlx_int64(in->ctx, 0);
    n = n ? rlx_simplify(in->ctx, in->scope, n) : NULL;
    if (!n || !zero || !rlx_dims_init(in, &out, 1))
        return rlx_infer_done(in, NULL);
    if (rlx_prove_compare(in->ctx, in->scope, RLX_NODE_GE, n, zero) != RLX_TRUE)
        n = rlx_fold_binary(in->ctx, RLX_NODE_MAX, n, zero);
    out.at[0] = n;
    return n ? rlx_infer_dims_result(in, &out, rlx_attr_as_dtype(rlx_infer_attr(in, 0)), NULL)
             : rlx_infer_done(in, NULL);
}

const rlx_sinfo *rlx_infer_one_hot(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_prim *on = x ? scalar_literal(in, 1) : NULL,
                   *off = on ? scalar_literal(in, 2) : NULL;
    if (!off)
        return NULL;
    rlx_dtype dtype = rlx_prim_dtype(on);
    int64_t depth = rlx_attr_as_int(rlx_infer_attr(in, 0), 0);
    if (dtype != rlx_prim_dtype(off))
        return rlx_infer_fail(in, "on_value and off_value differ in dtype");
    if (!rlx_dtype_is_void(x->dtype) && !rlx_dtype_is_int(x->dtype))
        return rlx_infer_fail(in, "indices are %s, expected integers",
                              rlx_show(in->ctx, &x->node));
    if (depth <= 0)
        return rlx_infer_fail(in, "depth is %lld, expected more than 0", (long long)depth);
    if (x->ndim < 0)
        return rlx_infer_rank_result(in, -1, dtype, x->vdevice);
    size_t axis, n;
    rlx_dims out;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 1), -1), x->ndim + 1, &axis))
        return NULL;
    if (!dims)
        return rlx_infer_rank_result(in, x->ndim + 1, dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, n + 1))
        return NULL;
    for (size_t i = 0; i <= n; i++)
        if (!(out.at[i] = i == axis ? rlx_int64(in->ctx, depth) : dims[i - (i > axis)]))
            return rlx_infer_done(in, NULL);
    return rlx_infer_dims_result(in, &out, dtype, x->vdevice);
}

/* ---- arguments that may be left out --------------------------------------------------------- */

static const rlx_expr *int_value(rlx_context *ctx, int64_t v)
{
    const rlx_prim *p = rlx_int64(ctx, v);
    return p ? rlx_prim_value_new(ctx, p) : NULL;
}

static bool put_int(rlx_op_draft *d, size_t i, int64_t v)
{
    if (!d->args[i])
        d->args[i] = int_value(d->ctx, v);
    if (d->num_args <= i)
        d->num_args = i + 1;
    return d->args[i] != NULL;
}

/* tril, triu, eye_like: k is 0 */
bool rlx_prepare_diagonal(rlx_op_draft *d)
{
    return put_int(d, 1, 0);
}

/* eye: m is n, k is 0 */
bool rlx_prepare_eye(rlx_op_draft *d)
{
    if (!d->args[1])
        d->args[1] = d->args[0];
    return put_int(d, 2, 0);
}

static bool is_int_scalar(const rlx_expr *e)
{
    const rlx_prim_value *v = rlx_as_prim_value(e);
    return v && rlx_dtype_is_int(rlx_prim_dtype(v->value));
}

/* arange: one argument is the end; the dtype is int64 if all are integers, else float32 */
bool rlx_prepare_arange(rlx_op_draft *d)
{
    if (!d->args[1]) {
        d->args[1] = d->args[0];
        d->args[0] = int_value(d->ctx, 0);
    }
    if (!d->args[0] || !put_int(d, 2, 1))
        return false;
    if (!rlx_dtype_is_void(rlx_attr_as_dtype(d->values[0])))
        return true;
    bool ints =
        is_int_scalar(d->args[0]) && is_int_scalar(d->args[1]) && is_int_scalar(d->args[2]);
    d->values[0] = rlx_attr_dtype_new(d->ctx, ints ? RELAX_INT64 : RELAX_FLOAT32);
    return d->values[0] != NULL;
}
