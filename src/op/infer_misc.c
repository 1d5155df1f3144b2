/* infer_misc.c: gradients and collectives. */
/* built for size */
#include "op/op_int.h"

/* The argument is a variable, which the pass that differentiates looks for. */
const rlx_sinfo *rlx_infer_checkpoint(rlx_infer *in)
{
    const rlx_sinfo *s = rlx_infer_arg(in, 0);
    if (s && !rlx_as_var(rlx_infer_expr(in, 0)))
        return rlx_infer_fail(in, "input is %s, expected a variable",
                              rlx_show(in->ctx, rlx_infer_expr(in, 0)));
    return s;
}

/* The gradient with respect to argument 1 looks like it. */
const rlx_sinfo *rlx_infer_second(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 1);
    for (size_t i = 0; x && i < in->call->num_args; i++)
        if (!rlx_infer_tensor(in, i))
            return NULL;
    return x && in->call->num_args < in->row->min_args ? rlx_infer_arg(in, in->row->min_args - 1u)
           : x                                         ? &x->node
                                                       : NULL;
}

/* Dimension `axis` combined with the number of workers. */
static const rlx_sinfo *rescaled(rlx_infer *in, const rlx_tensor_sinfo *x, size_t axis,
                                 enum rlx_node_kind kind)
{
    rlx_dims out;
    size_t n;
    const rlx_prim *const *dims = rlx_shape_dims(x->shape, &n),
                          *workers = rlx_int64(in->ctx, rlx_attr_as_int(rlx_infer_attr(in, 0), 1));
    if (!workers || !rlx_dims_init(in, &out, n))
        return rlx_infer_done(in, NULL);
    memcpy(out.at, dims, n * sizeof *out.at);
    out.at[axis] = rlx_fold_binary(in->ctx, kind, dims[axis], workers);
    return out.at[axis] ? rlx_infer_dims_result(in, &out, x->dtype, x->vdevice)
                        : rlx_infer_done(in, NULL);
}

static bool some_workers(rlx_infer *in)
{
    int64_t n = rlx_attr_as_int(rlx_infer_attr(in, 0), 0);
    if (n > 0)
        return true;
    rlx_infer_fail(in, "num_workers is %lld, expected more than 0", (long long)n);
    return false;
}

const rlx_sinfo *rlx_infer_allgather(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    size_t n;
    if (!x || !some_workers(in))
        return NULL;
    if (!rlx_shape_dims(x->shape, &n))
        return &x->node;
    return n ? rescaled(in, x, 0, RLX_NODE_MUL)
             : rlx_infer_fail(in, "x has rank 0, expected at least 1");
}

const rlx_sinfo *rlx_infer_scatter_worker(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    size_t n, axis;
    if (!x || !some_workers(in))
        return NULL;
    const rlx_prim *const *dims = rlx_shape_dims(x->shape, &n);
    if (!dims)
        return rlx_infer_fail(in, "x is %s, expected a known shape", rlx_show(in->ctx, &x->node));
    if (!rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 1), 0), (int64_t)n, &axis))
        return NULL;
    const rlx_prim *workers = rlx_int64(in->ctx, rlx_attr_as_int(rlx_infer_attr(in, 0), 1)),
                   *zero = rlx_int64(in->ctx, 0);
    const rlx_prim *rest =
        workers ? rlx_fold_binary(in->ctx, RLX_NODE_FLOOR_MOD, dims[axis], workers) : NULL;
    if (rest && zero && rlx_infer_equal(in, rest, zero) == RLX_DIFFERENT)
        return rlx_infer_fail(in, "dimension %zu, %s, does not divide among %s workers", axis,
                              rlx_show(in->ctx, dims[axis]), rlx_show(in->ctx, workers));
    return rescaled(in, x, axis, RLX_NODE_DIV);
}
