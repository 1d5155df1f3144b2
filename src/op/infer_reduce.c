/* infer_reduce.c: reductions over axes, argmax and argmin, running sums, softmax. */
#include "op/op_int.h"

/* Drops the marked axes of known dimensions, or puts 1 there. */
static const rlx_sinfo *reduce_dims(rlx_infer *in, const rlx_tensor_sinfo *x,
                                    const rlx_prim *const *dims, const rlx_axes *axes, bool all,
                                    bool keepdims, rlx_dtype dtype)
{
    rlx_dims out;
    size_t ndim = (size_t)x->ndim, n = 0;
    const rlx_prim *one = rlx_int64(in->ctx, 1);
    if (!one || !rlx_dims_init(in, &out, ndim))
        return rlx_infer_done(in, NULL);
    for (size_t i = 0; i < ndim; i++) {
        bool reduced = all || axes->mark[i];
        if (!reduced || keepdims)
            out.at[n++] = reduced ? one : dims[i];
    }
    out.count = n;
    return rlx_infer_dims_result(in, &out, dtype, x->vdevice);
}

static const rlx_sinfo *reduce_rank(rlx_infer *in, const rlx_tensor_sinfo *x, size_t count,
                                    bool all, bool keepdims, rlx_dtype dtype)
{
    rlx_dims out;
    int64_t ndim = keepdims ? x->ndim : all ? 0 : x->ndim < 0 ? -1 : x->ndim - (int64_t)count;
    if (ndim != 0 && !(all && keepdims && ndim > 0))
        return rlx_infer_rank_result(in, ndim, dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, (size_t)ndim))
        return NULL;
    for (size_t i = 0; i < out.count; i++)
        if (!(out.at[i] = rlx_int64(in->ctx, 1)))
            return rlx_infer_done(in, NULL);
    return rlx_infer_dims_result(in, &out, dtype, x->vdevice);
}

static const rlx_sinfo *reduce(rlx_infer *in, const rlx_tensor_sinfo *x, rlx_dtype dtype)
{
    const rlx_attr *list = rlx_infer_attr(in, 0);
    bool all = rlx_attr_is_none(list), keepdims = rlx_attr_as_bool(rlx_infer_attr(in, 1), false);
    rlx_axes axes = { .count = rlx_attr_count(list) };
    if (!all && x->ndim >= 0 && !rlx_infer_axes(in, list, x->ndim, &axes))
        return NULL;
    size_t n;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    return dims ? reduce_dims(in, x, dims, &axes, all, keepdims, dtype)
                : reduce_rank(in, x, axes.count, all, keepdims, dtype);
}

const rlx_sinfo *rlx_infer_reduce(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    return x ? reduce(in, x, x->dtype) : NULL;
}

/* The position has the dtype of sizes. */
const rlx_sinfo *rlx_infer_arg_reduce(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    if (!x)
        return NULL;
    size_t n = 0;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    return reduce(in, x, dims && n ? rlx_prim_dtype(dims[0]) : RELAX_INT64);
}

const rlx_sinfo *rlx_infer_scan(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    if (!x)
        return NULL;
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 1));
    if (rlx_dtype_is_void(dtype))
        dtype = x->dtype;
    if (!rlx_attr_is_none(rlx_infer_attr(in, 0))) {
        rlx_infer_doubt_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), 0), x);
        return rlx_infer_with_dtype(in, x, dtype);
    }
    rlx_dims flat;
    size_t n;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims)
        return rlx_infer_rank_result(in, 1, dtype, x->vdevice);
    if (!rlx_dims_init(in, &flat, 1) || !(flat.at[0] = rlx_dims_product(in->ctx, dims, n)))
        return rlx_infer_done(in, NULL);
    return rlx_infer_dims_result(in, &flat, dtype, x->vdevice);
}

const rlx_sinfo *rlx_infer_softmax(rlx_infer *in)
{
    size_t axis;
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    if (!x || x->ndim < 0)
        return x ? &x->node : NULL;
    if (!rlx_infer_float(in, x->dtype) ||
        !rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), -1), x->ndim, &axis))
        return NULL;
    return &x->node;
}
