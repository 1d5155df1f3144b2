/* convert_loss.c: losses. */
#include "onnx/onnx_int.h"

/* Minus the logarithm of the probability of the class that is meant, weighted; nothing for a class that is
 * ignored, which need not be one. */
static const rlx_expr *likelihood(rlx_onnx_conv *c, const rlx_expr *logs)
{
    static const int64_t axis = 1;
    const rlx_expr *target = rlx_onnx_cast(c, rlx_onnx_input(c, 1), RELAX_INT64);
    rlx_slice how = rlx_onnx_string(c, "reduction", "mean");
    rlx_dtype t = rlx_onnx_dtype_of(c, logs);
    bool ignores = rlx_onnx_attr(c, "ignore_index") != NULL, weighs = rlx_onnx_has(c, 2);
    const rlx_expr *zero = rlx_onnx_scalar(c, RELAX_INT64, 0), *none = rlx_onnx_scalar(c, t, 0);
    const rlx_expr *at = target, *ignored = NULL, *weight = NULL;
    if (!logs || !target)
        return NULL;
    if (ignores) {
        double index = (double)rlx_onnx_int(c, "ignore_index", 0);
        ignored = rlx_onnx_call2(c, "equal", target, rlx_onnx_scalar(c, RELAX_INT64, index));
        at = rlx_onnx_where(c, ignored, zero, target);
    }
    const rlx_expr *l = rlx_onnx_call(c, "gather_elements", "x x axis=i", logs,
                                      rlx_onnx_expand_dims(c, at, &axis, 1), (int64_t)1);
    l = rlx_onnx_call1(c, "negative", rlx_onnx_call(c, "squeeze", "x axis=I", l, &axis, (size_t)1));
    if (weighs)
        weight = rlx_onnx_call(c, "take", "x x axis=i", rlx_onnx_input(c, 2), at, (int64_t)0);
    else if (ignores)
        weight = rlx_onnx_call1(c, "ones_like", l);
    if (ignored)
        weight = rlx_onnx_where(c, ignored, none, weight);
    if (weight)
        l = rlx_onnx_call2(c, "multiply", l, weight);
    if (ignored) /* 0 times what is not finite */
        l = rlx_onnx_where(c, ignored, none, l);
    if (rlx_slice_is(how, "none"))
        return l;
    if (rlx_slice_is(how, "sum"))
        return rlx_onnx_call1(c, "sum", l);
    if (!weight)
        return rlx_onnx_call1(c, "mean", l);
    weight = rlx_onnx_call1(c, "sum", weight);
    return rlx_onnx_call2(c, "divide", rlx_onnx_call1(c, "sum", l), weight);
}

RLX_ONNX_CONVERTER(convert_likelihood)
{
    return rlx_onnx_output(c, 0, likelihood(c, rlx_onnx_input(c, 0)));
}

RLX_ONNX_CONVERTER(convert_cross_entropy)
{
    const rlx_expr *logs =
        rlx_onnx_call(c, "nn.log_softmax", "x axis=i", rlx_onnx_input(c, 0), (int64_t)1);
    return rlx_onnx_output(c, 0, likelihood(c, logs)) &&
           (!rlx_onnx_wants(c, 1) || rlx_onnx_output(c, 1, logs));
}
