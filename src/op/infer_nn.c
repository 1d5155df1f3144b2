/* infer_nn.c: normalisation, losses, attention, padding, quantisation. Convolutions and
 * pooling: infer_window.c. */
/* built for size */
#include "op/op_int.h"

/* ---- normalisation -------------------------------------------------------------------------- */

/* Arguments 1 .. count - 1 against the normalised axes of data: exactly its dtype, as many
 * dimensions as axes, equal sizes where known. *unsure: some size was not proved. */
static bool check_params(rlx_infer *in, const rlx_tensor_sinfo *x, const rlx_attr *list,
                         size_t count, bool *unsure)
{
    size_t num_axes = rlx_attr_count(list), n, m;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    *unsure = dims == NULL;
    for (size_t i = 1; i < count; i++) {
        const rlx_tensor_sinfo *t = rlx_infer_tensor(in, i);
        if (!t)
            return false;
        char a[RLX_DTYPE_TEXT], b[RLX_DTYPE_TEXT];
        bool known = !rlx_dtype_is_void(t->dtype) && !rlx_dtype_is_void(x->dtype);
        if (t->dtype != x->dtype && !known)
            return rlx_infer_fail(in, "the dtype of %s is not known, but that of %s is (R.match_cast states it)",
                                  in->row->args[rlx_dtype_is_void(t->dtype) ? i : 0].name,
                                  in->row->args[rlx_dtype_is_void(t->dtype) ? 0 : i].name),
                   false;
        if (t->dtype != x->dtype)
            return rlx_infer_fail(in, "%s has dtype %s, expected %s like data",
                                  in->row->args[i].name, rlx_dtype_text(t->dtype, a),
                                  rlx_dtype_text(x->dtype, b)),
                   false;
        if (t->ndim < 0)
            return rlx_infer_fail(in, "the rank of %s is not known, expected %zu, one dimension for each axis "
                                      "(R.match_cast states it)",
                                  in->row->args[i].name, num_axes),
                   false;
        if ((size_t)t->ndim != num_axes)
            return rlx_infer_fail(in, "%s has rank %d, expected %zu, one dimension for each axis",
                                  in->row->args[i].name, t->ndim, num_axes),
                   false;
        const rlx_prim *const *have = rlx_literal_dims(t, &m);
        *unsure |= have == NULL;
        for (size_t k = 0; have && dims && k < m; k++) {
            int64_t axis = rlx_attr_item(list, k);
            const rlx_prim *want = dims[axis < 0 ? axis + x->ndim : axis];
            enum rlx_answer same = rlx_infer_equal(in, want, have[k]);
            if (same == RLX_DIFFERENT)
                return rlx_infer_fail(in, "dimension %zu of %s is %s, expected %s", k,
                                      in->row->args[i].name, rlx_show(in->ctx, have[k]),
                                      rlx_show(in->ctx, want)),
                       false;
            *unsure |= same != RLX_EQUAL;
        }
    }
    return true;
}

static const rlx_tensor_sinfo *normalised(rlx_infer *in, const rlx_attr *list, size_t count,
                                          bool *unsure)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    rlx_axes axes;
    if (!x || (x->ndim >= 0 && !rlx_infer_axes(in, list, x->ndim, &axes)) ||
        !rlx_infer_float(in, x->dtype))
        return NULL;
    return check_params(in, x, list, count, unsure) ? x : NULL;
}

/* layer_norm, rms_norm: attribute 0 lists the axes */
const rlx_sinfo *rlx_infer_norm(rlx_infer *in)
{
    bool unsure;
    const rlx_tensor_sinfo *x = normalised(in, rlx_infer_attr(in, 0), in->row->num_args, &unsure);
    if (!x)
        return NULL;
    return unsure ? rlx_infer_without_shape(in, x) : &x->node;
}

const rlx_sinfo *rlx_infer_batch_norm(rlx_infer *in)
{
    bool unsure;
    const rlx_tensor_sinfo *x = normalised(in, rlx_infer_attr(in, 0), 5, &unsure);
    if (!x)
        return NULL;
    const rlx_sinfo *parts[3] = { &x->node, rlx_infer_arg(in, 3), rlx_infer_arg(in, 4) };
    if (unsure) /* the new statistics have the sizes of the old ones, whatever data has */
        parts[0] = rlx_infer_without_shape(in, x);
    return parts[0] && parts[1] && parts[2] ? rlx_infer_done(in, rlx_tuple_info(in->ctx, parts, 3))
                                            : NULL;
}

static bool channels_divide(rlx_infer *in, const rlx_prim *channels, int64_t groups)
{
    const rlx_prim *g = rlx_int64(in->ctx, groups),
                   *rest = g ? rlx_fold_binary(in->ctx, RLX_NODE_FLOOR_MOD, channels, g) : NULL;
    const rlx_prim *zero = rlx_int64(in->ctx, 0);
    if (!rest || !zero)
        return in->failed = true, false;
    if (rlx_infer_equal(in, rest, zero) != RLX_DIFFERENT)
        return true;
    rlx_infer_fail(in, "%s channels do not divide into %lld groups", rlx_show(in->ctx, channels),
                   (long long)groups);
    return false;
}

/* gamma, beta: one value for each channel */
static bool check_channel_params(rlx_infer *in, const rlx_tensor_sinfo *x,
                                 const rlx_prim *channels)
{
    for (size_t i = 1; i < 3; i++) {
        const rlx_tensor_sinfo *t = rlx_infer_tensor(in, i);
        size_t n;
        if (!t)
            return false;
        const rlx_prim *const *dims = rlx_literal_dims(t, &n);
        if (t->dtype != x->dtype || t->ndim != 1)
            return rlx_infer_fail(in, "%s is %s, expected rank 1 and the dtype of data",
                                  in->row->args[i].name, rlx_show(in->ctx, &t->node)),
                   false;
        if (dims && channels && rlx_infer_equal(in, dims[0], channels) == RLX_DIFFERENT)
            return rlx_infer_fail(in, "%s has %s values for %s channels", in->row->args[i].name,
                                  rlx_show(in->ctx, dims[0]), rlx_show(in->ctx, channels)),
                   false;
    }
    return true;
}

/* attributes num_groups, channel_axis, axes */
const rlx_sinfo *rlx_infer_group_norm(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    int64_t groups = rlx_attr_as_int(rlx_infer_attr(in, 0), 1);
    rlx_axes axes;
    size_t channel = 0, n;
    if (!x)
        return NULL;
    if (groups <= 0)
        return rlx_infer_fail(in, "num_groups is %lld, expected more than 0", (long long)groups);
    if (x->ndim >= 0) {
        if (!rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 1), 0), x->ndim, &channel) ||
            !rlx_infer_axes(in, rlx_infer_attr(in, 2), x->ndim, &axes))
            return NULL;
        if (axes.mark[channel])
            return rlx_infer_fail(in, "the channel axis is among the axes");
    }
    if (!rlx_dtype_is_void(x->dtype) && rlx_dtype_code(x->dtype) != RELAX_DTYPE_FLOAT)
        return rlx_infer_fail(in, "data is %s, expected float16, float32 or float64",
                              rlx_show(in->ctx, &x->node));
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (dims && !channels_divide(in, dims[channel], groups))
        return NULL;
    return check_channel_params(in, x, dims ? dims[channel] : NULL) ? &x->node : NULL;
}

const rlx_sinfo *rlx_infer_dropout(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_sinfo *parts[2] = { x ? &x->node : NULL, x ? &x->node : NULL };
    return x ? rlx_infer_done(in, rlx_tuple_info(in->ctx, parts, 2)) : NULL;
}

/* ---- losses --------------------------------------------------------------------------------- */

static const rlx_sinfo *scalar_result(rlx_infer *in, rlx_dtype dtype, const rlx_node *vdevice)
{
    const rlx_expr *shape = rlx_shape_new(in->ctx, NULL, 0);
    return rlx_infer_done(in, shape ? rlx_tensor_info(in->ctx, shape, dtype, 0, vdevice) : NULL);
}

const rlx_sinfo *rlx_infer_cross_entropy(rlx_infer *in)
{
    const rlx_tensor_sinfo *a = rlx_infer_tensor(in, 0), *b = a ? rlx_infer_tensor(in, 1) : NULL;
    rlx_dtype dtype;
    const rlx_node *vdevice;
    size_t n, m;
    if (!b || !rlx_infer_common_dtype(in, a->dtype, b->dtype, &dtype) ||
        !rlx_infer_common_device(in, a->vdevice, b->vdevice, &vdevice))
        return NULL;
    if (a->ndim >= 0 && b->ndim >= 0 && a->ndim != b->ndim)
        return rlx_infer_fail(in, "ranks differ: %d and %d", a->ndim, b->ndim);
    const rlx_prim *const *x = rlx_shape_dims(a->shape, &n),
                          *const *y = rlx_shape_dims(b->shape, &m);
    for (size_t i = 0; x && y && i < n; i++)
        if (rlx_infer_equal(in, x[i], y[i]) == RLX_DIFFERENT)
            return rlx_infer_fail(in, "dimension %zu is %s and %s", i, rlx_show(in->ctx, x[i]),
                                  rlx_show(in->ctx, y[i]));
    return scalar_result(in, dtype, vdevice);
}

static bool equal_sizes(rlx_infer *in, const char *what, const rlx_prim *a, const rlx_prim *b)
{
    if (rlx_infer_equal(in, a, b) != RLX_DIFFERENT)
        return true;
    rlx_infer_fail(in, "%s differ: %s and %s", what, rlx_show(in->ctx, a), rlx_show(in->ctx, b));
    return false;
}

/* predictions (C) or (N, C, d...) against targets () or (N, d...) and weights (C) */
static bool check_nll(rlx_infer *in, const rlx_tensor_sinfo *p, const rlx_tensor_sinfo *t,
                      const rlx_tensor_sinfo *w)
{
    size_t n, m, l;
    const rlx_prim *const *dp = rlx_literal_dims(p, &n), *const *dt = rlx_literal_dims(t, &m),
                          *const *dw = w ? rlx_literal_dims(w, &l) : NULL;
    if (!rlx_dtype_is_void(t->dtype) && !rlx_dtype_is_int(t->dtype))
        return rlx_infer_fail(in, "targets are %s, expected integers",
                              rlx_show(in->ctx, &t->node)),
               false;
    if (p->ndim == 0 || (w && w->ndim >= 0 && w->ndim != 1))
        return rlx_infer_fail(in, "%s has the wrong rank",
                              p->ndim == 0 ? "predictions" : "weights"),
               false;
    if (p->ndim > 0 && t->ndim >= 0 && t->ndim != p->ndim - 1)
        return rlx_infer_fail(in, "predictions have rank %d, targets %d, expected %d", p->ndim,
                              t->ndim, p->ndim - 1),
               false;
    if (dp && dw && !equal_sizes(in, "numbers of classes", dp[n == 1 ? 0 : 1], dw[0]))
        return false;
    for (size_t i = 0; dp && dt && i < m; i++)
        if (!equal_sizes(in, "sizes of predictions and targets", dp[i ? i + 1 : 0], dt[i]))
            return false;
    return true;
}

/* (predictions, targets, weights?), attribute 0 is the reduction */
const rlx_sinfo *rlx_infer_nll_loss(rlx_infer *in)
{
    const rlx_tensor_sinfo *p = rlx_infer_tensor(in, 0), *t = p ? rlx_infer_tensor(in, 1) : NULL,
                           *w = NULL;
    if (!t || (in->call->num_args > 2 && !(w = rlx_infer_tensor(in, 2))))
        return NULL;
    rlx_dtype dtype = p->dtype;
    const rlx_node *vdevice = p->vdevice;
    rlx_slice reduction = rlx_attr_text(rlx_infer_attr(in, 0));
    if (w && (!rlx_infer_common_dtype(in, p->dtype, w->dtype, &dtype) ||
              !rlx_infer_common_device(in, p->vdevice, w->vdevice, &vdevice)))
        return NULL;
    if (!check_nll(in, p, t, w))
        return NULL;
    if (rlx_slice_is(reduction, "sum") || rlx_slice_is(reduction, "mean"))
        return scalar_result(in, dtype, vdevice);
    if (!rlx_slice_is(reduction, "none"))
        return rlx_infer_fail(in, "reduction is \"%.*s\", expected none, sum or mean",
                              (int)reduction.len, reduction.data);
    rlx_dims out;
    size_t n;
    const rlx_prim *const *dims = rlx_literal_dims(p, &n);
    if (!dims)
        return rlx_infer_rank_result(in, p->ndim < 0 ? -1 : p->ndim - 1, dtype, vdevice);
    if (!rlx_dims_init(in, &out, n - 1))
        return NULL;
    for (size_t i = 0; i < out.count; i++)
        out.at[i] = dims[i ? i + 1 : 0];
    return rlx_infer_dims_result(in, &out, dtype, vdevice);
}

/* ---- attention ------------------------------------------------------------------------------ */

static bool groups_fit(rlx_infer *in, const rlx_prim *heads, const rlx_prim *shared,
                       const char *what)
{
    const rlx_prim *rest = rlx_is_int_value(shared, 0)
                               ? NULL
                               : rlx_fold_binary(in->ctx, RLX_NODE_FLOOR_MOD, heads, shared),
                   *zero = rlx_int64(in->ctx, 0);
    if (rest && zero && rlx_infer_equal(in, rest, zero) != RLX_DIFFERENT)
        return true;
    rlx_infer_fail(in, "%s query heads over %s %s heads", rlx_show(in->ctx, heads),
                   rlx_show(in->ctx, shared), what);
    return false;
}

static bool has_rank_4(rlx_infer *in, size_t i, const rlx_tensor_sinfo *t)
{
    if (t->ndim < 0 || t->ndim == 4)
        return true;
    rlx_infer_fail(in, "%s is %s, expected rank 4", in->row->args[i].name,
                   rlx_show(in->ctx, &t->node));
    return false;
}

/* Where sizes are not known the kernel checks them. */
static bool check_bias(rlx_infer *in, const rlx_prim *const *q, const rlx_prim *const *k)
{
    const rlx_tensor_sinfo *bias = rlx_infer_tensor(in, 3);
    size_t n;
    if (!bias || !has_rank_4(in, 3, bias))
        return false;
    const rlx_prim *const *b = rlx_literal_dims(bias, &n);
    if (!b || !q || !k)
        return true;
    const rlx_prim *want[4] = { q[0], q[2], q[1], k[1] };
    for (size_t i = 0; i < 4; i++)
        if (!(i < 3 && rlx_is_int_value(b[i], 1)) &&
            !equal_sizes(in, "sizes of bias and scores", b[i], want[i]))
            return false;
    return true;
}

/* query (b, s, n, h), key (b, t, m, h), value (b, t, p, v) */
const rlx_sinfo *rlx_infer_attention(rlx_infer *in)
{
    const rlx_tensor_sinfo *t[3];
    const rlx_prim *const *d[3];
    size_t n;
    for (size_t i = 0; i < 3; i++) {
        if (!(t[i] = rlx_infer_tensor(in, i)))
            return NULL;
        if (!has_rank_4(in, i, t[i]))
            return NULL;
        d[i] = rlx_literal_dims(t[i], &n);
    }
    if (in->row->num_args == 4 && !check_bias(in, d[0], d[1]))
        return NULL;
    for (size_t i = 3; in->row->num_args > 4 && i < in->row->num_args; i++)
        if (!rlx_infer_tensor(in, i))
            return NULL;
    if (!d[0] || !d[1] || !d[2])
        return rlx_infer_rank_result(in, 4, t[0]->dtype, t[0]->vdevice);
    if (!equal_sizes(in, "batch sizes of query and key", d[0][0], d[1][0]) ||
        !equal_sizes(in, "batch sizes of query and value", d[0][0], d[2][0]) ||
        !equal_sizes(in, "lengths of key and value", d[1][1], d[2][1]) ||
        !equal_sizes(in, "head sizes of query and key", d[0][3], d[1][3]))
        return NULL;
    if (!groups_fit(in, d[0][2], d[1][2], "key") || !groups_fit(in, d[0][2], d[2][2], "value"))
        return NULL;
    rlx_dims out;
    if (!rlx_dims_init(in, &out, 4))
        return NULL;
    memcpy(out.at, d[0], 3 * sizeof *out.at);
    out.at[3] = d[2][3];
    return rlx_infer_dims_result(in, &out, t[0]->dtype, t[0]->vdevice);
}

/* ---- pad ------------------------------------------------------------------------------------ */

const rlx_sinfo *rlx_infer_pad(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_attr *width = rlx_infer_attr(in, 0);
    rlx_dims out;
    size_t n;
    if (!x || !rlx_infer_word(in, 2, "constant, edge, reflect or circular"))
        return NULL;
    if (x->ndim < 0)
        return rlx_infer_fail(in, "the rank of data is not known, and pad_width has two numbers for each dimension "
                                  "(R.match_cast states it)");
    if (rlx_attr_count(width) != 2 * (size_t)x->ndim)
        return rlx_infer_fail(in,
                              "pad_width has %zu numbers, expected two for each of %d dimensions",
                              rlx_attr_count(width), x->ndim);
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims)
        return rlx_infer_rank_result(in, x->ndim, x->dtype, NULL);
    if (!rlx_dims_init(in, &out, n))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        int64_t more;
        if (!rlx_add_i64(rlx_attr_item(width, 2 * i), rlx_attr_item(width, 2 * i + 1), &more))
            return rlx_infer_fail(in, "pad_width is out of range");
        if (!(out.at[i] = rlx_fold_add(in->ctx, dims[i], rlx_int64(in->ctx, more))))
            return rlx_infer_done(in, NULL);
    }
    return rlx_infer_dims_result(in, &out, x->dtype, NULL);
}

/* ---- quantisation --------------------------------------------------------------------------- */

static bool one_of(rlx_dtype t, const rlx_dtype *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == t)
            return true;
    return false;
}

/* A scale or zero point: one value, or one for each index of the axis; the kernel checks sizes that
 * are not known. */
static bool check_per_axis(rlx_infer *in, size_t i, const rlx_tensor_sinfo *x, size_t axis,
                           const rlx_dtype *types, size_t num_types)
{
    const rlx_tensor_sinfo *t = rlx_infer_tensor(in, i);
    size_t n, m;
    if (!t)
        return false;
    if (!rlx_dtype_is_void(t->dtype) && !one_of(t->dtype, types, num_types))
        return rlx_infer_fail(in, "%s is %s, which has the wrong dtype", in->row->args[i].name,
                              rlx_show(in->ctx, &t->node)),
               false;
    const rlx_prim *const *have = rlx_literal_dims(t, &n), *const *dims = rlx_literal_dims(x, &m);
    if (t->ndim == 0 || ((!have || !dims) && (t->ndim == 1 || t->ndim < 0)))
        return true;
    if (!have || !dims || rlx_infer_equal(in, have[0], dims[axis]) != RLX_EQUAL)
        return rlx_infer_fail(in,
                              "%s is %s, not proved to have one value for each index of axis %zu",
                              in->row->args[i].name, rlx_show(in->ctx, &t->node), axis),
               false;
    return true;
}

/* quantize, dequantize: attributes out_dtype, axis */
static const rlx_sinfo *quantized(rlx_infer *in, bool forward)
{
    static const rlx_dtype narrow[] = { RELAX_INT8,  RELAX_UINT8,   RELAX_INT16,  RELAX_UINT16,
                                        RELAX_INT32, RELAX_FLOAT16, RELAX_FLOAT32 };
    static const rlx_dtype floats[] = { RELAX_FLOAT16, RELAX_FLOAT32 },
                           zeros[] = { RELAX_INT8, RELAX_FLOAT16 };
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    rlx_dtype to = rlx_attr_as_dtype(rlx_infer_attr(in, 0));
    size_t axis;
    char a[RLX_DTYPE_TEXT];
    if (!x)
        return NULL;
    if (forward ? !one_of(to, narrow, 4) : !one_of(to, floats, 2))
        return rlx_infer_fail(in, "out_dtype is %s, which is not among the supported ones",
                              rlx_dtype_text(to, a));
    if (forward ? !one_of(x->dtype, floats, 2) : !one_of(x->dtype, narrow, RLX_COUNT(narrow)))
        return rlx_infer_fail(in, "data is %s, which has the wrong dtype",
                              rlx_show(in->ctx, &x->node));
    if (x->ndim < 0)
        return rlx_infer_fail(in, "the rank of data is not known");
    if (!rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 1), -1), x->ndim, &axis))
        return NULL;
    if (!check_per_axis(in, 1, x, axis, floats, 2) || !check_per_axis(in, 2, x, axis, zeros, 2))
        return NULL;
    return rlx_infer_with_dtype(in, x, to);
}

const rlx_sinfo *rlx_infer_quantize(rlx_infer *in)
{
    return quantized(in, true);
}

const rlx_sinfo *rlx_infer_dequantize(rlx_infer *in)
{
    return quantized(in, false);
}

/* attention_var_len: keys share the starts and the greatest length of the queries if they have
 * none. */
bool rlx_prepare_var_len(rlx_op_draft *d)
{
    if (!d->args[4])
        d->args[4] = d->args[3];
    if (!d->args[6])
        d->args[6] = d->args[5];
    d->num_args = 7;
    return true;
}
