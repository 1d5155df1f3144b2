/* infer_vision.c: grids of positions in images, samples of images at them, regions of interest. */
#include "op/op_int.h"

static bool rank_is(rlx_infer *in, const rlx_tensor_sinfo *t, size_t arg, int want)
{
    if (t->ndim < 0 || t->ndim == want)
        return true;
    return rlx_infer_fail(in, "%s has rank %d, expected %d", in->row->args[arg].name, t->ndim,
                          want),
           false;
}

/* (N, 2, 3) and (H, W) to (N, 2, H, W); (N, 3, 4) and (D, H, W) to (N, 3, D, H, W) */
const rlx_sinfo *rlx_infer_affine_grid(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_shape_sinfo *s = x ? rlx_infer_shape_arg(in, 1) : NULL;
    const rlx_shape_expr *size = rlx_as_shape_expr(rlx_infer_expr(in, 1));
    rlx_dims out;
    size_t n;
    if (!s || !rank_is(in, x, 0, 3) || !rlx_infer_float(in, x->dtype))
        return NULL;
    if (s->ndim >= 0 && s->ndim != 2 && s->ndim != 3)
        return rlx_infer_fail(in, "size has %d numbers, expected 2 or 3", (int)s->ndim);
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims || !size)
        return rlx_infer_rank_result(in, s->ndim < 0 ? -1 : s->ndim + 2, x->dtype, x->vdevice);
    int64_t axes = (int64_t)size->num_values, have;
    if ((rlx_int_literal(dims[1], &have) && have != axes) ||
        (rlx_int_literal(dims[2], &have) && have != axes + 1))
        return rlx_infer_fail(in, "data is %s, expected matrices of %lld by %lld",
                              rlx_show(in->ctx, &x->node), (long long)axes, (long long)axes + 1);
    if (!rlx_dims_init(in, &out, 2 + size->num_values))
        return NULL;
    out.at[0] = dims[0];
    out.at[1] = rlx_int64(in->ctx, axes);
    for (size_t i = 0; i < size->num_values; i++)
        out.at[2 + i] = size->values[i];
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

/* (N, C, ...) sampled at a grid (N, axes, ...) */
const rlx_sinfo *rlx_infer_grid_sample(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0), *g = x ? rlx_infer_tensor(in, 1) : NULL;
    rlx_slice layout = rlx_attr_text(rlx_infer_attr(in, 1));
    rlx_dims out;
    size_t n, m;
    if (!g || !rlx_infer_float(in, x->dtype))
        return NULL;
    int rank = rlx_slice_is(layout, "NCDHW") ? 5 : 4;
    if (rank == 4 && !rlx_slice_is(layout, "NCHW"))
        return rlx_infer_fail(in, "layout is \"%.*s\", expected \"NCHW\" or \"NCDHW\"",
                              (int)(layout.len > 20 ? 20 : layout.len), layout.data);
    if (!rank_is(in, x, 0, rank) || !rank_is(in, g, 1, rank))
        return NULL;
    const rlx_prim *const *dx = rlx_literal_dims(x, &n), *const *dg = rlx_literal_dims(g, &m);
    if (!dx || !dg)
        return rlx_infer_rank_result(in, rank, x->dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, n))
        return NULL;
    for (size_t i = 0; i < n; i++)
        out.at[i] = i < 2 ? dx[i] : dg[i];
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

/* (N, C, R), (N, K, P) and (N, K, P) to (N, C, P) */
const rlx_sinfo *rlx_infer_sum_pixels(rlx_infer *in)
{
    const rlx_tensor_sinfo *t[3] = { NULL };
    const rlx_prim *const *d[3];
    rlx_dims out;
    size_t n;
    for (size_t i = 0; i < 3; i++)
        if (!(t[i] = rlx_infer_tensor(in, i)) || !rank_is(in, t[i], i, 3))
            return NULL;
    if (!rlx_infer_float(in, t[0]->dtype))
        return NULL;
    if (t[1]->dtype != RELAX_INT64 && t[1]->dtype != RELAX_VOID)
        return rlx_infer_fail(in, "index is %s, expected int64", rlx_show(in->ctx, &t[1]->node));
    if (t[2]->dtype != t[0]->dtype && t[2]->dtype != RELAX_VOID && t[0]->dtype != RELAX_VOID)
        return rlx_infer_fail(in, "weight is %s, expected the dtype of data", rlx_show(in->ctx, &t[2]->node));
    for (size_t i = 0; i < 3; i++)
        d[i] = rlx_literal_dims(t[i], &n);
    if (!d[0] || !d[1])
        return rlx_infer_rank_result(in, 3, t[0]->dtype, t[0]->vdevice);
    for (size_t i = 0; i < 3; i++) {
        int64_t a, b;
        if (d[2] && rlx_int_literal(d[1][i], &a) && rlx_int_literal(d[2][i], &b) && a != b)
            return rlx_infer_fail(in, "index and weight have %lld and %lld elements in dimension %zu", (long long)a, (long long)b, i);
    }
    if (!rlx_dims_init(in, &out, 3))
        return NULL;
    out.at[0] = d[0][0];
    out.at[1] = d[0][1];
    out.at[2] = d[1][2];
    return rlx_infer_dims_result(in, &out, t[0]->dtype, t[0]->vdevice);
}

/* (N, C, H, W) and regions (K, 5) to (K, C, pooled, pooled) */
const rlx_sinfo *rlx_infer_roi(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0), *k = x ? rlx_infer_tensor(in, 1) : NULL;
    const rlx_attr *size = rlx_infer_attr(in, 0);
    rlx_slice layout = rlx_attr_text(rlx_infer_attr(in, in->row->member.number));
    rlx_dims out;
    size_t n, m, count = rlx_attr_count(size);
    int64_t columns;
    if (!k || !rank_is(in, x, 0, 4) || !rank_is(in, k, 1, 2))
        return NULL;
    if (count != 1 && count != 2)
        return rlx_infer_fail(in, "pooled_size has %zu numbers, expected 1 or 2", count);
    bool last = rlx_slice_is(layout, "NHWC");
    if (!last && !rlx_slice_is(layout, "NCHW"))
        return rlx_infer_fail(in, "layout is \"%.*s\", expected \"NCHW\" or \"NHWC\"",
                              (int)(layout.len > 20 ? 20 : layout.len), layout.data);
    for (size_t i = 0; i < count; i++)
        if (rlx_attr_item(size, i) <= 0)
            return rlx_infer_fail(in, "pooled_size holds %lld, expected more than 0",
                                  (long long)rlx_attr_item(size, i));
    const rlx_prim *const *dx = rlx_literal_dims(x, &n), *const *dk = rlx_literal_dims(k, &m);
    if (dk && rlx_int_literal(dk[1], &columns) && columns != 5)
        return rlx_infer_fail(in, "rois have %lld numbers each, expected 5: image, x1, y1, x2, y2",
                              (long long)columns);
    if (!dx || !dk)
        return rlx_infer_rank_result(in, 4, x->dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, 4))
        return NULL;
    const rlx_prim *h = rlx_int64(in->ctx, rlx_attr_item(size, 0)),
                   *w = rlx_int64(in->ctx, rlx_attr_item(size, count - 1));
    out.at[0] = dk[0];
    out.at[last ? 3 : 1] = dx[last ? 3 : 1];
    out.at[last ? 1 : 2] = h;
    out.at[last ? 2 : 3] = w;
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

/* ---- boxes ---------------------------------------------------------------------------------- */

/* A tensor of x's device; dims NULL: only its rank is known. */
static const rlx_sinfo *part(rlx_infer *in, const rlx_tensor_sinfo *x, rlx_dtype dtype,
                             const rlx_prim *const *dims, size_t n)
{
    rlx_dims out;
    if (!dims)
        return rlx_infer_rank_result(in, (int64_t)n, dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, n))
        return NULL;
    memcpy(out.at, dims, n * sizeof *dims);
    return rlx_infer_dims_result(in, &out, dtype, x->vdevice);
}

static const rlx_sinfo *tuple_of(rlx_infer *in, const rlx_sinfo *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!parts[i])
            return NULL;
    return rlx_infer_done(in, rlx_tuple_info(in->ctx, parts, n));
}

/* (batch, boxes, numbers) to how many are valid, these first, and their positions */
const rlx_sinfo *rlx_infer_valid_counts(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    size_t n;
    if (!x || !rank_is(in, x, 0, 3) || !rlx_infer_float(in, x->dtype))
        return NULL;
    const rlx_prim *const *d = rlx_literal_dims(x, &n);
    const rlx_sinfo *parts[] = { part(in, x, RELAX_INT32, d, 1), &x->node,
                                 part(in, x, RELAX_INT32, d, 2) };
    return tuple_of(in, parts, 3);
}

const rlx_sinfo *rlx_infer_nms(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    size_t n;
    if (!x || !rlx_infer_tensor(in, 1) || !rlx_infer_tensor(in, 2) || !rank_is(in, x, 0, 3) ||
        !rlx_infer_float(in, x->dtype))
        return NULL;
    if (!rlx_attr_as_bool(rlx_infer_attr(in, 7), true))
        return &x->node;
    const rlx_prim *const *d = rlx_literal_dims(x, &n);
    const rlx_prim *one[2] = { d ? d[0] : NULL, rlx_int64(in->ctx, 1) };
    const rlx_sinfo *parts[] = { &x->node, part(in, x, RELAX_INT32, d, 2),
                                 part(in, x, RELAX_INT32, d ? one : NULL, 2) };
    bool fading = rlx_attr_as_float(rlx_infer_attr(in, 9), 0) > 0; /* scores change: data too */
    return tuple_of(in, fading ? parts : parts + 1, fading ? 3 : 2);
}

/* boxes (batch, n, 4), scores (batch, classes, n): the chosen triples, and how many they are */
const rlx_sinfo *rlx_infer_all_class_nms(rlx_infer *in)
{
    const rlx_tensor_sinfo *boxes = rlx_infer_tensor(in, 0),
                           *scores = boxes ? rlx_infer_tensor(in, 1) : NULL;
    rlx_slice format = rlx_attr_text(rlx_infer_attr(in, 0));
    size_t n, m;
    if (!scores || !rank_is(in, boxes, 0, 3) || !rank_is(in, scores, 1, 3) ||
        !rlx_infer_float(in, boxes->dtype) || !rlx_infer_float(in, scores->dtype))
        return NULL;
    if (!rlx_slice_is(format, "onnx") && !rlx_slice_is(format, "tensorflow"))
        return rlx_infer_fail(in, "output_format is \"%.*s\", expected \"onnx\" or \"tensorflow\"",
                              (int)(format.len > 20 ? 20 : format.len), format.data);
    const rlx_prim *const *b = rlx_literal_dims(boxes, &n), *const *s = rlx_literal_dims(scores, &m);
    const rlx_prim *one = rlx_int64(in->ctx, 1);
    if (rlx_slice_is(format, "onnx")) {
        const rlx_prim *all[3] = { s ? s[0] : NULL, s ? s[1] : NULL, b ? b[1] : NULL };
        const rlx_prim *rows[2] = { b && s ? rlx_dims_product(in->ctx, all, 3) : NULL,
                                    rlx_int64(in->ctx, 3) };
        const rlx_sinfo *parts[] = { part(in, boxes, RELAX_INT64, rows[0] ? rows : NULL, 2),
                                     part(in, boxes, RELAX_INT64, &one, 1) };
        return tuple_of(in, parts, 2);
    }
    const rlx_prim *each[3] = { s ? s[0] : NULL, NULL, rlx_int64(in->ctx, 2) };
    const rlx_prim *pair[2] = { s ? s[1] : NULL, b ? b[1] : NULL };
    each[1] = b && s ? rlx_dims_product(in->ctx, pair, 2) : NULL;
    const rlx_sinfo *parts[] = { part(in, boxes, RELAX_INT64, each[1] ? each : NULL, 3),
                                 part(in, boxes, boxes->dtype, each[1] ? each : NULL, 2),
                                 part(in, boxes, RELAX_INT64, each[0] ? each : NULL, 1) };
    return tuple_of(in, parts, 3);
}

/* boxes (batch, n, 4), scores (batch, classes, n): a row of three for each box that stays */
const rlx_sinfo *rlx_infer_dynamic_nms(rlx_infer *in)
{
    const rlx_tensor_sinfo *boxes = rlx_infer_tensor(in, 0),
                           *scores = boxes ? rlx_infer_tensor(in, 1) : NULL;
    size_t n, m;
    int64_t columns;
    if (!scores || !rank_is(in, boxes, 0, 3) || !rank_is(in, scores, 1, 3) ||
        !rlx_infer_float(in, boxes->dtype) || !rlx_infer_float(in, scores->dtype))
        return NULL;
    for (size_t i = 2; i < 5; i++)
        if (!rlx_infer_tensor(in, i))
            return NULL;
    const rlx_prim *const *b = rlx_literal_dims(boxes, &n), *const *s = rlx_literal_dims(scores, &m);
    if (b && rlx_int_literal(b[2], &columns) && columns != 4)
        return rlx_infer_fail(in, "boxes have %lld numbers each, expected 4", (long long)columns);
    if (b && s && (rlx_infer_equal(in, b[0], s[0]) == RLX_DIFFERENT || rlx_infer_equal(in, b[1], s[2]) == RLX_DIFFERENT))
        return rlx_infer_fail(in, "boxes are %s, scores %s: there is one of each class for each box",
                              rlx_show(in->ctx, &boxes->node), rlx_show(in->ctx, &scores->node));
    return rlx_infer_rank_result(in, 2, RELAX_INT64, boxes->vdevice);
}

/* cls_pred (batch, classes, anchors): boxes of the anchors, and the scores */
const rlx_sinfo *rlx_infer_multibox(rlx_infer *in)
{
    const rlx_tensor_sinfo *c = rlx_infer_tensor(in, 0);
    size_t n;
    if (!c || !rlx_infer_tensor(in, 1) || !rlx_infer_tensor(in, 2) || !rank_is(in, c, 0, 3))
        return NULL;
    const rlx_prim *const *d = rlx_literal_dims(c, &n);
    const rlx_prim *boxes[3] = { d ? d[0] : NULL, d ? d[2] : NULL, rlx_int64(in->ctx, 4) };
    const rlx_sinfo *parts[] = { part(in, c, c->dtype, d ? boxes : NULL, 3), &c->node };
    return tuple_of(in, parts, 2);
}

/* ---- any axes at another size --------------------------------------------------------------- */

const rlx_sinfo *rlx_infer_resize_axes(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_shape_sinfo *s = x ? rlx_infer_shape_arg(in, 1) : NULL;
    const rlx_shape_expr *size = rlx_as_shape_expr(rlx_infer_expr(in, 1));
    const rlx_attr *list = rlx_infer_attr(in, 0);
    rlx_axes axes;
    rlx_dims out;
    size_t n, count = rlx_attr_count(list);
    if (!s)
        return NULL;
    for (size_t i = 2; i < 4; i++) {
        const rlx_tensor_sinfo *v = rlx_infer_expr(in, i) ? rlx_infer_tensor(in, i) : NULL;
        if (rlx_infer_expr(in, i) && (!v || !rank_is(in, v, i, 1) || !rlx_infer_float(in, v->dtype)))
            return NULL;
    }
    if (s->ndim >= 0 && (size_t)s->ndim != count)
        return rlx_infer_fail(in, "size is %s, expected one number for each of %zu axes",
                              rlx_show(in->ctx, &s->node), count);
    if (x->ndim < 0)
        return rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    if (!rlx_infer_axes(in, list, x->ndim, &axes))
        return NULL;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims || !size)
        return rlx_infer_rank_result(in, x->ndim, x->dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, n))
        return NULL;
    for (size_t i = 0; i < n; i++)
        out.at[i] = axes.mark[i] ? size->values[axes.mark[i] - 1] : dims[i];
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}
