/* convert_norm.c: normalisations and softmax. */
#include "onnx/onnx_int.h"

/* ---- softmax ----------------------------------------------------------------------------------- */

/* All sizes from one axis on, as one: what versions before 13 normalise together. */
static const rlx_expr *flattened(rlx_onnx_conv *c, const rlx_expr *x, int64_t axis)
{
    size_t n;
    const rlx_prim *const *d = rlx_onnx_dims(c, &x, &n);
    const rlx_prim *two[2] = { rlx_int64(c->ctx, 1), rlx_int64(c->ctx, 1) };
    for (size_t i = 0; d && i < n; i++) {
        size_t at = (int64_t)i >= axis;
        two[at] = rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, two[at], d[i]));
    }
    return d ? rlx_onnx_reshape(c, x, two, 2) : NULL;
}

typedef struct along { const rlx_expr *x; int64_t axis; } along;

static const rlx_expr *hardmax_along(rlx_onnx_conv *c, const void *user)
{
    const along *a = user;
    int n = rlx_onnx_rank(c, a->x);
    int64_t axes[64];
    size_t count = 0;
    const rlx_expr *top = rlx_onnx_call(c, "argmax", "x axis=i keepdims=b", a->x, a->axis, 1);
    const rlx_prim *size = n > 0 && n < 64 ? rlx_onnx_dim(c, a->x, (size_t)a->axis) : NULL;
    const rlx_expr *at = size ? rlx_onnx_arange(c, size, RELAX_INT64) : NULL;
    int64_t known;
    if (size && rlx_int_literal(size, &known) && known <= INT32_MAX) { /* half as wide to compare */
        top = rlx_onnx_cast(c, top, RELAX_INT32);
        at = rlx_onnx_cast(c, at, RELAX_INT32);
    }
    for (int64_t i = a->axis + 1; i < n; i++, count++)
        axes[count] = (int64_t)count + 1;
    at = rlx_onnx_expand_dims(c, at, axes, count);
    return rlx_onnx_cast(c, rlx_onnx_call2(c, "equal", top, at), rlx_onnx_dtype_of(c, a->x));
}

/* Nothing has no greatest element, and stays nothing. */
static const rlx_expr *hardmax(rlx_onnx_conv *c, const rlx_expr *x, int64_t axis)
{
    along a = { x, axis };
    size_t n;
    int64_t k;
    const rlx_prim *const *d = rlx_onnx_dims(c, &a.x, &n), *size = d ? d[axis] : NULL;
    bool known = size && rlx_int_literal(size, &k);
    if (!size || (known && k == 0))
        return d ? a.x : NULL;
    if (known)
        return hardmax_along(c, &a);
    const rlx_expr *some = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &size, 1));
    some = rlx_onnx_call2(c, "greater", rlx_onnx_reshape_ints(c, some, NULL, 0), rlx_onnx_scalar(c, RELAX_INT64, 0));
    return rlx_onnx_choose(c, some, hardmax_along, &a, a.x);
}

RLX_ONNX_CONVERTER(convert_softmax)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *y;
    int n = x ? rlx_onnx_rank(c, x) : -1;
    bool old = c->version < 13;
    int64_t axis = rlx_onnx_int(c, "axis", old ? 1 : -1), inner;
    if (n < 0 || (!(old && axis == n) && !rlx_onnx_axis(c, &axis, n)))
        return false;
    size_t ndim;
    const rlx_expr *shaped = x;
    const rlx_prim *const *dims = rlx_onnx_dims(c, &shaped, &ndim);
    bool flat = old && axis != n - 1;
    y = flat ? flattened(c, shaped, axis) : shaped;
    inner = flat ? 1 : axis;
    y = strcmp(c->row->argument, "hardmax")
            ? rlx_onnx_call(c, c->row->argument, "x axis=i", y, inner)
            : hardmax(c, y, inner);
    return rlx_onnx_output(c, 0, flat && dims ? rlx_onnx_reshape(c, y, dims, ndim) : y);
}

/* ---- batches ----------------------------------------------------------------------------------- */

static bool batch_norm_training(rlx_onnx_conv *c, const rlx_expr *x, double epsilon)
{
    /* relax weighs what is new, ONNX what was */
    double momentum = 1 - rlx_onnx_float(c, "momentum", (double)0.9f);
    const rlx_expr *variance = rlx_onnx_input(c, 4), *mean = rlx_onnx_input(c, 3);
    const rlx_expr *bias = rlx_onnx_input(c, 2), *scale = rlx_onnx_input(c, 1);
    const rlx_expr *t = rlx_onnx_call(
        c, "nn.batch_norm", "x x x x x axis=i epsilon=f center=b scale=b momentum=f training=b", x, scale, bias, mean,
        variance, (int64_t)1, epsilon, 1, 1, momentum, 1);
    for (size_t i = 0; i < 3; i++)
        if (rlx_onnx_wants(c, i) && !rlx_onnx_output(c, i, rlx_onnx_item(c, t, (int64_t)i)))
            return false;
    return t != NULL;
}

RLX_ONNX_CONVERTER(convert_batch_norm)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *p[4];
    double epsilon = rlx_onnx_float(c, "epsilon", (double)1e-5f);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    bool training = c->version >= 14 ? rlx_onnx_int(c, "training_mode", 0) != 0
                                     : rlx_onnx_wants(c, 1);
    if (c->version < 9 && !rlx_onnx_int(c, "spatial", 1))
        return rlx_onnx_fail(c, RLX_ON05, "statistics for each element (spatial = 0) are not "
                             "supported") != NULL;
    if (training)
        return batch_norm_training(c, x, epsilon);
    for (size_t i = 0; i < 4; i++)
        if (!(p[i] = rlx_onnx_cast(c, rlx_onnx_input(c, i + 1), t)))
            return false;
    const rlx_expr *y = rlx_onnx_call(
        c, "nn.batch_norm", "x x x x x axis=i epsilon=f center=b scale=b momentum=f training=b", x,
        p[0], p[1], p[2], p[3], (int64_t)1, epsilon, 1, 1, 0.1, 0);
    return rlx_onnx_output(c, 0, rlx_onnx_item(c, y, 0));
}

/* ---- statistics over axes ---------------------------------------------------------------------- */

static const rlx_expr *deviation(rlx_onnx_conv *c, const rlx_expr *centred, const int64_t *axes,
                                 size_t count, double epsilon)
{
    const rlx_expr *v = rlx_onnx_reduce(c, "mean", rlx_onnx_call1(c, "square", centred), axes,
                                        count, true);
    return rlx_onnx_call1(c, "sqrt", rlx_onnx_with(c, "add", v, epsilon));
}

/* Axes from `axis` to the last. */
static size_t axes_from(int64_t axis, int n, int64_t *axes)
{
    size_t count = 0;
    for (; axis < n && count < 64; axis++)
        axes[count++] = axis;
    return count;
}

typedef struct layer { const rlx_expr *y, *mean, *inverse; } layer;

/* Normalised over axes in float32, as the operator is told to. */
static layer normalise(rlx_onnx_conv *c, const rlx_expr *x, const int64_t *axes, size_t count,
                       double epsilon, bool centre)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, x), s = rlx_dtype_bits(t) < 32 ? RELAX_FLOAT32 : t;
    layer l = { .y = rlx_onnx_cast(c, x, s) };
    if (centre) {
        l.mean = rlx_onnx_reduce(c, "mean", l.y, axes, count, true);
        l.y = rlx_onnx_call2(c, "subtract", l.y, l.mean);
    }
    const rlx_expr *d = deviation(c, l.y, axes, count, epsilon);
    l.inverse = d ? rlx_onnx_call2(c, "divide", rlx_onnx_scalar(c, s, 1), d) : NULL;
    l.y = rlx_onnx_cast(c, rlx_onnx_call2(c, "multiply", l.y, l.inverse), t);
    return l;
}

/* Do scale and bias have the very sizes of the axes that are normalised? */
static bool fits_axes(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *scale, size_t count)
{
    size_t n, m;
    const rlx_prim *const *a = rlx_onnx_dims(c, &x, &n), *const *b = rlx_onnx_dims(c, &scale, &m);
    if (!a || !b || m != count)
        return false;
    for (size_t i = 0; i < m; i++)
        if (rlx_prove_equal(c->ctx, rlx_builder_scope(c->m->b), a[n - count + i], b[i]) !=
            RLX_EQUAL)
            return false;
    return true;
}

static bool layer_norm(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *scale,
                       const rlx_expr *bias, int64_t axis, double epsilon)
{
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axes[64];
    if (n < 0 || !scale || !rlx_onnx_axis(c, &axis, n))
        return false;
    size_t count = axes_from(axis, n, axes);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    bool plain = !rlx_onnx_wants(c, 1) && !rlx_onnx_wants(c, 2) && fits_axes(c, x, scale, count) &&
                 (!bias || fits_axes(c, x, bias, count)) && rlx_onnx_dtype_of(c, scale) == t;
    if (plain) {
        size_t m;
        const rlx_prim *const *dims = rlx_onnx_dims(c, &scale, &m);
        const rlx_expr *b = bias ? bias : rlx_onnx_full(c, dims, m, t, 0);
        return rlx_onnx_output(c, 0, rlx_onnx_call(c, "nn.layer_norm",
                                                   "x x x axes=I epsilon=f center=b scale=b", x,
                                                   scale, b, axes, count, epsilon, 1, 1));
    }
    layer l = normalise(c, x, axes, count, epsilon, true);
    const rlx_expr *y = rlx_onnx_call2(c, "multiply", l.y, rlx_onnx_cast(c, scale, t));
    if (bias)
        y = rlx_onnx_call2(c, "add", y, rlx_onnx_cast(c, bias, t));
    return rlx_onnx_output(c, 0, y) && (!rlx_onnx_wants(c, 1) || rlx_onnx_output(c, 1, l.mean)) &&
           (!rlx_onnx_wants(c, 2) || rlx_onnx_output(c, 2, l.inverse));
}

RLX_ONNX_CONVERTER(convert_layer_norm)
{
    double epsilon = rlx_onnx_float(c, "epsilon", (double)1e-5f);
    int64_t axis = rlx_onnx_int(c, "axis", -1);
    const rlx_expr *bias = rlx_onnx_has(c, 2) ? rlx_onnx_input(c, 2) : NULL, *scale = rlx_onnx_input(c, 1);
    return layer_norm(c, rlx_onnx_input(c, 0), scale, bias, axis, epsilon);
}

static bool rms_norm(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *scale, int64_t axis,
                     double epsilon)
{
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axes[64];
    if (n < 0 || !scale || !rlx_onnx_axis(c, &axis, n))
        return false;
    size_t count = axes_from(axis, n, axes);
    if (fits_axes(c, x, scale, count) && rlx_onnx_dtype_of(c, scale) == rlx_onnx_dtype_of(c, x))
        return rlx_onnx_output(c, 0, rlx_onnx_call(c, "nn.rms_norm", "x x axes=I epsilon=f", x,
                                                   scale, axes, count, epsilon));
    layer l = normalise(c, x, axes, count, epsilon, false);
    rlx_dtype t = rlx_onnx_dtype_of(c, scale);
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "multiply", rlx_onnx_cast(c, l.y, t), scale));
}

RLX_ONNX_CONVERTER(convert_rms_norm)
{
    double epsilon = rlx_onnx_float(c, "epsilon", (double)1e-5f);
    int64_t axis = rlx_onnx_int(c, "axis", -1);
    const rlx_expr *scale = rlx_onnx_input(c, 1);
    return rms_norm(c, rlx_onnx_input(c, 0), scale, axis, epsilon);
}

/* com.microsoft: the sum of two operands, and of a bias, normalised. Output 3 is the sum. */
bool rlx_onnx_layer_norm(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *scale,
                         const rlx_expr *bias, double epsilon)
{
    size_t outputs = c->num_outputs; /* others than the result mean something else here */
    c->num_outputs = outputs ? 1 : 0;
    bool ok = layer_norm(c, x, scale, bias, -1, epsilon);
    c->num_outputs = outputs;
    return ok;
}

RLX_ONNX_CONVERTER(convert_skip_layer_norm)
{
    bool rms = strcmp(c->row->argument, "rms") == 0;
    const rlx_expr *x = rlx_onnx_call_inputs(c, "add", 0, 1);
    size_t beta = 3, bias = rms ? 3 : 4;
    if (rlx_onnx_has(c, bias))
        x = rlx_onnx_call2(c, "add", x, rlx_onnx_input(c, bias));
    double epsilon = rlx_onnx_float(c, "epsilon", (double)1e-12f);
    if (rlx_onnx_wants(c, 1) || rlx_onnx_wants(c, 2))
        return rlx_onnx_fail(c, RLX_ON05, "the outputs of mean and deviation are not supported") !=
               NULL;
    if (rlx_onnx_wants(c, 3) && !rlx_onnx_output(c, 3, x))
        return false;
    if (rms)
        return rms_norm(c, x, rlx_onnx_input(c, 2), -1, epsilon);
    const rlx_expr *shift = rlx_onnx_has(c, beta) ? rlx_onnx_input(c, beta) : NULL;
    return layer_norm(c, x, rlx_onnx_input(c, 2), shift, -1, epsilon);
}

/* A vector of channels as something that broadcasts against x. */
static const rlx_expr *per_channel(rlx_onnx_conv *c, const rlx_expr *v, int n)
{
    int64_t axes[64];
    for (int i = 0; i < n - 2 && i < 64; i++)
        axes[i] = i + 1;
    return v && n >= 2 ? rlx_onnx_expand_dims(c, v, axes, (size_t)n - 2) : NULL;
}

RLX_ONNX_CONVERTER(convert_instance_norm)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axes[64];
    if (n < 3 || n > 64)
        return false;
    size_t count = axes_from(2, n, axes);
    layer l = normalise(c, x, axes, count, rlx_onnx_float(c, "epsilon", (double)1e-5f), true);
    const rlx_expr *y = rlx_onnx_call2(c, "multiply", l.y, per_channel(c, rlx_onnx_input(c, 1), n));
    return rlx_onnx_output(c, 0,
                           rlx_onnx_call2(c, "add", y, per_channel(c, rlx_onnx_input(c, 2), n)));
}

RLX_ONNX_CONVERTER(convert_group_norm)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *s = rlx_onnx_input(c, 1), *b = rlx_onnx_input(c, 2);
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    int64_t groups = rlx_onnx_int(c, "num_groups", 1), axes[64];
    if (!d || n < 2 || n > 62 || groups < 1)
        return rlx_onnx_fail(c, RLX_ON05, "num_groups or the rank of the operand is out of range") !=
               NULL;
    const rlx_prim **parted = rlx_onnx_array(c, n + 1, sizeof *parted);
    if (!parted)
        return false;
    parted[0] = d[0];
    parted[1] = rlx_int64(c->ctx, groups);
    parted[2] = rlx_onnx_simplify(
        c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, d[1], parted[1]));
    memcpy(parted + 3, d + 2, (n - 2) * sizeof *parted);
    const rlx_expr *g = rlx_onnx_reshape(c, x, parted, n + 1);
    size_t count = axes_from(2, (int)n + 1, axes);
    layer l = normalise(c, g, axes, count, rlx_onnx_float(c, "epsilon", (double)1e-5f), true);
    const rlx_expr *y = l.y;
    if (c->version < 21) { /* one scale for each group */
        y = rlx_onnx_call2(c, "multiply", y, per_channel(c, s, (int)n + 1));
        y = rlx_onnx_call2(c, "add", y, per_channel(c, b, (int)n + 1));
        return rlx_onnx_output(c, 0, rlx_onnx_reshape(c, y, d, n));
    }
    y = rlx_onnx_reshape(c, y, d, n);
    y = rlx_onnx_call2(c, "multiply", y, per_channel(c, s, (int)n));
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "add", y, per_channel(c, b, (int)n)));
}

RLX_ONNX_CONVERTER(convert_mean_variance)
{
    static const int64_t usual[] = { 0, 2, 3 };
    const rlx_expr *x = rlx_onnx_input(c, 0);
    size_t count;
    const int64_t *axes = rlx_onnx_int_list(c, "axes", &count);
    if (!axes)
        axes = usual, count = 3;
    const rlx_expr *y =
        rlx_onnx_call2(c, "subtract", x, rlx_onnx_reduce(c, "mean", x, axes, count, true));
    const rlx_expr *d = rlx_onnx_with(c, "add", deviation(c, y, axes, count, 0), 1e-9);
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "divide", y, d));
}

RLX_ONNX_CONVERTER(convert_lp_norm)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axis = rlx_onnx_int(c, "axis", -1), p = rlx_onnx_int(c, "p", 2);
    if (n < 0 || !rlx_onnx_axis(c, &axis, n))
        return false;
    const rlx_expr *s = rlx_onnx_reduce(c, "sum", rlx_onnx_call1(c, p == 1 ? "abs" : "square", x),
                                        &axis, 1, true);
    if (p != 1)
        s = rlx_onnx_call1(c, "sqrt", s);
    const rlx_expr *one = rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), 1);
    s = rlx_onnx_where(c, rlx_onnx_with(c, "equal", s, 0), one, s); /* 0 / 1 */
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "divide", x, s));
}

/* Over channels, from size / 2 below to the rest above. */
enum { MOST_WINDOW = 1024 }; /* channels of a window, each of which is a sum */

RLX_ONNX_CONVERTER(convert_lrn)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    int64_t size = rlx_onnx_int(c, "size", 1);
    if (!d || n < 2 || n > 62 || size < 1)
        return false;
    int64_t *pads = rlx_onnx_array(c, 2 * n, sizeof *pads);
    if (!pads)
        return false;
    pads[2] = (size - 1) / 2;
    pads[3] = size - 1 - pads[2];
    int64_t channels, most = rlx_int_literal(d[1], &channels) ? channels : INT64_MAX;
    for (int i = 2; i < 4; i++) /* beyond all channels there is nothing */
        pads[i] = pads[i] < most ? pads[i] : most;
    if (pads[2] > MOST_WINDOW || pads[3] > MOST_WINDOW)
        return rlx_onnx_fail(c, RLX_ON05, "a window of %lld channels is too large", (long long)size) != NULL;
    const rlx_expr *q = rlx_onnx_call(c, "nn.pad", "x pad_width=I", rlx_onnx_call1(c, "square", x),
                                      pads, 2 * n), *sum = NULL;
    for (int64_t i = 0; i <= pads[2] + pads[3] && q; i++) {
        const rlx_prim *from = rlx_int64(c->ctx, i);
        const rlx_expr *part = rlx_onnx_slice(c, q, 1, from, rlx_fold_add(c->ctx, from, d[1]));
        sum = sum ? rlx_onnx_call2(c, "add", sum, part) : part;
    }
    double alpha = rlx_onnx_float(c, "alpha", (double)1e-4f) / (double)size, bias = rlx_onnx_float(c, "bias", 1);
    sum = rlx_onnx_with(c, "add", rlx_onnx_with(c, "multiply", sum, alpha), bias);
    sum = rlx_onnx_power(c, sum, rlx_onnx_float(c, "beta", 0.75), alpha >= 0 && bias >= 0);
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "divide", x, sum));
}

/* Inference: the operand itself, and a mask of true. */
RLX_ONNX_CONVERTER(convert_dropout)
{
    int64_t training = 0;
    double ratio = rlx_onnx_float(c, "ratio", 0.5);
    if (c->version >= 12 && rlx_onnx_has(c, 2)) {
        size_t n = 0;
        const double *v = rlx_onnx_has(c, 1) ? rlx_onnx_floats_of(c, rlx_onnx_input(c, 1), &n) : NULL;
        ratio = v && n == 1 ? *v : ratio;
        bool none = v && n == 1 && ratio == 0; /* whatever the mode is */
        rlx_onnx_ints known;
        if (!none && !rlx_onnx_known(c, 2, &known) && !c->m->bind_first)
            return rlx_onnx_drop_found(c, ratio);
        if (!none && !rlx_onnx_literal(c, 2, "training_mode", &training))
            return false;
        if (training && rlx_onnx_has(c, 1) && (!v || n != 1))
            return rlx_onnx_needs(c, 1, "ratio") != NULL;
    }
    if (training && ratio > 0)
        return rlx_onnx_drop(c, ratio);
    rlx_onnx_output_value(c, 0, c->inputs[0]);
    if (!rlx_onnx_wants(c, 1))
        return true;
    size_t n;
    const rlx_expr *x = rlx_onnx_input(c, 0);
    const rlx_prim *const *dims = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    rlx_dtype t = c->version < 10 ? rlx_onnx_dtype_of(c, x) : RELAX_BOOL;
    return dims && rlx_onnx_output(c, 1, rlx_onnx_full(c, dims, n, t, 1));
}
