/* infer_window.c: convolutions and pooling: windows that slide over the last dimensions.
 * row->member.number: how many. */
/* built for size */
#include "op/op_int.h"

/* ---- layouts --------------------------------------------------------------------------------
 * "NCHW", "NHWC", "NCHW4c": capital letters are axes, a number and a small letter a part of that
 * axis split off. The canonical form is one dimension per axis in a fixed order. */

#define MAX_AXES 5
#define MAX_PARTS RLX_LAYOUT_PARTS
typedef rlx_layout layout;

static bool parse_layout(rlx_slice text, layout *out)
{
    out->n = 0;
    for (size_t i = 0; i < text.len;) {
        int64_t factor = 0;
        while (i < text.len && text.data[i] >= '0' && text.data[i] <= '9' && factor < 1 << 20)
            factor = factor * 10 + (text.data[i++] - '0');
        char c = i < text.len ? text.data[i++] : 0;
        bool small = c >= 'a' && c <= 'z';
        if (out->n == MAX_PARTS || small != (factor > 0) || !(small || (c >= 'A' && c <= 'Z')))
            return false;
        out->letter[out->n] = small ? (char)(c - 'a' + 'A') : c;
        out->factor[out->n++] = factor;
    }
    return out->n > 0;
}

/* Has the layout exactly the axes of `canonical`, each once as a whole? */
static bool has_axes(const layout *l, const char *canonical)
{
    size_t whole = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (!strchr(canonical, l->letter[i]))
            return false;
        whole += l->factor[i] == 0;
        for (size_t k = 0; k < i; k++)
            if (l->letter[k] == l->letter[i] && (l->factor[k] == 0) == (l->factor[i] == 0))
                return false;
    }
    return whole == strlen(canonical);
}

bool rlx_layout_read(rlx_slice text, const char *canonical, rlx_layout *out)
{
    return parse_layout(text, out) && has_axes(out, canonical);
}

static bool read_layout(rlx_infer *in, size_t attr, const char *canonical, layout *out)
{
    rlx_slice text = rlx_attr_text(rlx_infer_attr(in, attr));
    if (rlx_layout_read(text, canonical, out))
        return true;
    rlx_infer_fail(in, "%s \"%.*s\" does not have the axes of %s", in->row->attrs[attr].name,
                   (int)text.len, text.data, canonical);
    return false;
}

static bool rank_fits(rlx_infer *in, size_t arg, const rlx_tensor_sinfo *t, const layout *l)
{
    if (t->ndim < 0 || (size_t)t->ndim == l->n)
        return true;
    rlx_infer_fail(in, "%s has rank %d, its layout %zu dimensions", in->row->args[arg].name,
                   t->ndim, l->n);
    return false;
}

/* Sizes in the canonical order. */
static void to_canonical(rlx_context *ctx, const layout *l, const rlx_prim *const *dims,
                         const char *canonical, const rlx_prim **out)
{
    for (size_t a = 0; canonical[a]; a++) {
        const rlx_prim *whole = NULL, *part = NULL;
        for (size_t i = 0; i < l->n; i++)
            if (l->letter[i] == canonical[a])
                *(l->factor[i] ? &part : &whole) = dims[i];
        out[a] = part ? rlx_fold_mul(ctx, whole, part) : whole;
    }
}

static const rlx_sinfo *from_canonical(rlx_infer *in, const layout *l, const char *canonical,
                                       const rlx_prim *const *sizes, rlx_dtype dtype,
                                       const rlx_node *vdevice)
{
    rlx_dims out;
    if (!rlx_dims_init(in, &out, l->n))
        return NULL;
    for (size_t i = 0; i < l->n; i++) {
        const rlx_prim *size = sizes[strchr(canonical, l->letter[i]) - canonical];
        int64_t split = 0;
        for (size_t k = 0; k < l->n; k++)
            if (l->letter[k] == l->letter[i] && l->factor[k])
                split = l->factor[k];
        if (l->factor[i])
            size = rlx_int64(in->ctx, split);
        else if (split)
            size = size ? rlx_fold_binary(in->ctx, RLX_NODE_FLOOR_DIV, size,
                                          rlx_int64(in->ctx, split))
                        : NULL;
        if (!(out.at[i] = size))
            return rlx_infer_done(in, NULL);
    }
    return rlx_infer_dims_result(in, &out, dtype, vdevice);
}

const char *const rlx_data_axes[] = { "", "NCW", "NCHW", "NCDHW" };
const char *const rlx_kernel_axes[] = { "", "OIW", "OIHW", "OIDHW" };

/* ---- sizes ---------------------------------------------------------------------------------- */

static const rlx_prim *plus(rlx_infer *in, const rlx_prim *a, int64_t b)
{
    return a ? rlx_fold_add(in->ctx, a, rlx_int64(in->ctx, b)) : NULL;
}

static const rlx_prim *times(rlx_infer *in, const rlx_prim *a, int64_t b)
{
    return a ? rlx_fold_mul(in->ctx, a, rlx_int64(in->ctx, b)) : NULL;
}

static const rlx_prim *divided(rlx_infer *in, const rlx_prim *a, int64_t b)
{
    return a ? rlx_fold_binary(in->ctx, RLX_NODE_FLOOR_DIV, a, rlx_int64(in->ctx, b)) : NULL;
}

static const rlx_prim *minus(rlx_infer *in, const rlx_prim *a, const rlx_prim *b)
{
    return a && b ? rlx_fold_sub(in->ctx, a, b) : NULL;
}

static const rlx_prim *simple(rlx_infer *in, const rlx_prim *p)
{
    return p ? rlx_simplify(in->ctx, in->scope, p) : NULL;
}

/* Is item i an expression of shape variables? */
static bool is_expression(const rlx_attr *list, size_t i)
{
    const rlx_attr_list *l = rlx_as_attr_list(list);
    return l && i < l->num_items && rlx_family_of(l->items[i]) == RLX_FAMILY_PRIM;
}

/* Item i of a list of sizes. */
static const rlx_prim *size_item(rlx_infer *in, const rlx_attr *list, size_t i)
{
    return is_expression(list, i) ? rlx_as_attr_list(list)->items[i]
                                  : rlx_int64(in->ctx, rlx_attr_item(list, i));
}

static bool all_positive(rlx_infer *in, size_t attr)
{
    const rlx_attr *list = rlx_infer_attr(in, attr);
    for (size_t i = 0; i < rlx_attr_count(list); i++)
        if (!is_expression(list, i) && rlx_attr_item(list, i) <= 0) {
            rlx_infer_fail(in, "%s holds %lld, expected more than 0", in->row->attrs[attr].name,
                           (long long)rlx_attr_item(list, i));
            return false;
        }
    return true;
}

/* Padding before and after spatial axis i of n. */
static int64_t pads(const rlx_attr *padding, size_t i, size_t n)
{
    return rlx_attr_item(padding, i) + rlx_attr_item(padding, i + n);
}

static const rlx_prim *dilated(rlx_infer *in, const rlx_prim *kernel, int64_t dilation)
{
    return times(in, plus(in, kernel, -1), dilation);
}

/* ---- convolutions: attributes strides, padding, (output_padding,) dilation, groups, layouts,
 * out_dtype ----------- */

typedef struct conv {
    size_t n, at;                    /* spatial axes; index of attribute dilation */
    bool transposed;
    layout data, kernel, out;
    const rlx_tensor_sinfo *x, *w;
    rlx_dtype dtype;
    const rlx_node *vdevice;
    int64_t groups;
} conv;

static bool read_conv(rlx_infer *in, conv *c)
{
    c->n = in->row->member.number;
    c->at = c->transposed ? 3 : 2;
    c->x = rlx_infer_tensor(in, 0);
    c->w = c->x ? rlx_infer_tensor(in, 1) : NULL;
    if (!c->w)
        return false;
    c->groups = rlx_attr_as_int(rlx_infer_attr(in, c->at + 1), 1);
    c->dtype = rlx_attr_as_dtype(rlx_infer_attr(in, c->at + 5));
    if (c->groups <= 0)
        return rlx_infer_fail(in, "groups is %lld, expected more than 0", (long long)c->groups),
               false;
    if (!read_layout(in, c->at + 2, rlx_data_axes[c->n], &c->data) ||
        !read_layout(in, c->at + 3, rlx_kernel_axes[c->n], &c->kernel) ||
        !read_layout(in, c->at + 4, rlx_data_axes[c->n], &c->out) ||
        !rank_fits(in, 0, c->x, &c->data) || !rank_fits(in, 1, c->w, &c->kernel))
        return false;
    if (!all_positive(in, 0) || !all_positive(in, c->at))
        return false;
    if (rlx_dtype_is_void(c->dtype) &&
        !rlx_infer_common_dtype(in, c->x->dtype, c->w->dtype, &c->dtype))
        return false;
    return rlx_infer_common_device(in, c->x->vdevice, c->w->vdevice, &c->vdevice);
}

static bool refused(rlx_infer *in, const rlx_prim *a, const rlx_prim *b, const char *what)
{
    if (!a || !b)
        return in->failed = true;
    if (rlx_infer_equal(in, a, b) != RLX_DIFFERENT)
        return false;
    rlx_infer_fail(in, "%s: %s, expected %s", what, rlx_show(in->ctx, a), rlx_show(in->ctx, b));
    return true;
}

static const rlx_prim *remainder_of(rlx_infer *in, const rlx_prim *a, int64_t b)
{
    return rlx_fold_binary(in->ctx, RLX_NODE_FLOOR_MOD, a, rlx_int64(in->ctx, b));
}

/* x: N, C, spatial; w: O, I, spatial (for the transposed form the roles of O and I are as
 * named) */
static const rlx_sinfo *conv_result(rlx_infer *in, const conv *c, const rlx_prim *const *x,
                                    const rlx_prim *const *w)
{
    const rlx_prim *sizes[MAX_AXES], *zero = rlx_int64(in->ctx, 0);
    const rlx_attr *strides = rlx_infer_attr(in, 0), *padding = rlx_infer_attr(in, 1),
                   *dilation = rlx_infer_attr(in, c->at);
    const rlx_attr *extra = c->transposed ? rlx_infer_attr(in, 2) : NULL;
    if (c->transposed ? refused(in, x[1], w[1], "channels of data and kernel differ (data_layout and kernel_layout say where they stand)") ||
                            refused(in, remainder_of(in, w[1], c->groups), zero,
                                    "input channels do not divide into the groups; remainder")
                      : refused(in, x[1], times(in, w[1], c->groups),
                                "channels of data and kernel differ (data_layout and kernel_layout say where they stand)") ||
                            refused(in, remainder_of(in, w[0], c->groups), zero,
                                    "output channels do not divide into the groups; remainder"))
        return NULL;
    sizes[0] = x[0];
    sizes[1] = c->transposed ? times(in, w[0], c->groups) : w[0];
    for (size_t i = 0; i < c->n; i++) {
        int64_t stride = rlx_attr_item(strides, i), pad = pads(padding, i, c->n);
        const rlx_prim *reach = dilated(in, w[2 + i], rlx_attr_item(dilation, i)), *size;
        if (c->transposed) {
            int64_t more = rlx_attr_item(extra, i);
            if (more >= stride)
                return rlx_infer_fail(in, "output_padding %lld is not less than the stride %lld",
                                      (long long)more, (long long)stride);
            size = plus(in, times(in, plus(in, x[2 + i], -1), stride), more + 1 - pad);
            size = size && reach ? rlx_fold_add(in->ctx, size, reach) : NULL;
        } else {
            size = plus(
                in, divided(in, plus(in, minus(in, plus(in, x[2 + i], pad), reach), -1), stride),
                1);
        }
        if (!(sizes[2 + i] = simple(in, size)))
            return rlx_infer_done(in, NULL);
    }
    return from_canonical(in, &c->out, rlx_data_axes[c->n], sizes, c->dtype, c->vdevice);
}

static const rlx_sinfo *infer_conv(rlx_infer *in, bool transposed)
{
    conv c = { .transposed = transposed };
    const rlx_prim *x[MAX_AXES], *w[MAX_AXES];
    size_t n;
    if (!read_conv(in, &c))
        return NULL;
    const rlx_prim *const *dx = rlx_literal_dims(c.x, &n), *const *dw = rlx_literal_dims(c.w, &n);
    if (!dx || !dw)
        return rlx_infer_rank_result(in, (int64_t)c.out.n, c.dtype, c.vdevice);
    to_canonical(in->ctx, &c.data, dx, rlx_data_axes[c.n], x);
    to_canonical(in->ctx, &c.kernel, dw, rlx_kernel_axes[c.n], w);
    return conv_result(in, &c, x, w);
}

const rlx_sinfo *rlx_infer_conv(rlx_infer *in)
{
    return infer_conv(in, false);
}

const rlx_sinfo *rlx_infer_conv_transpose(rlx_infer *in)
{
    return infer_conv(in, true);
}

/* ---- (data, offset, weight, mask): attributes strides, padding, dilation, deformable_groups, groups,
 * layouts, out_dtype ----- */

/* Two numbers, or one, for each group, element of the window and place of the result. */
static bool fits_places(rlx_infer *in, size_t arg, const rlx_prim *const *out, const rlx_prim *const *w,
                        int64_t numbers)
{
    const rlx_tensor_sinfo *t = rlx_infer_tensor(in, arg);
    size_t n;
    const rlx_prim *const *d = t ? rlx_literal_dims(t, &n) : NULL;
    if (!t)
        return false;
    if (t->ndim >= 0 && t->ndim != 4)
        return rlx_infer_fail(in, "%s has rank %d, expected 4", in->row->args[arg].name, t->ndim), false;
    if (!d)
        return true;
    const rlx_prim *channels = times(in, w[2], numbers);
    channels = channels ? rlx_fold_mul(in->ctx, channels, w[3]) : NULL;
    return !refused(in, d[0], out[0], "batches of data and of offset or mask differ") &&
           !refused(in, d[1], channels, "channels of offset or mask do not fit the window") &&
           !refused(in, d[2], out[2], "rows of offset or mask are not those of the result") &&
           !refused(in, d[3], out[3], "columns of offset or mask are not those of the result");
}

const rlx_sinfo *rlx_infer_deformable_conv(rlx_infer *in)
{
    conv c = { .n = 2, .at = 2 };
    size_t n, m;
    const rlx_tensor_sinfo *offset;
    c.x = rlx_infer_tensor(in, 0);
    offset = c.x ? rlx_infer_tensor(in, 1) : NULL;
    c.w = offset ? rlx_infer_tensor(in, 2) : NULL;
    if (!c.w)
        return NULL;
    int64_t moved = rlx_attr_as_int(rlx_infer_attr(in, 3), 1);
    bool masked = rlx_infer_expr(in, 3) != NULL;
    c.groups = rlx_attr_as_int(rlx_infer_attr(in, 4), 1);
    c.dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 8));
    if (c.groups <= 0 || moved <= 0)
        return rlx_infer_fail(in, "groups is %lld and deformable_groups %lld, expected more than 0",
                              (long long)c.groups, (long long)moved);
    if (!read_layout(in, 5, rlx_data_axes[2], &c.data) || !read_layout(in, 6, rlx_kernel_axes[2], &c.kernel) ||
        !read_layout(in, 7, rlx_data_axes[2], &c.out) || !rank_fits(in, 0, c.x, &c.data) ||
        !rank_fits(in, 2, c.w, &c.kernel) || !all_positive(in, 0) || !all_positive(in, 2))
        return NULL;
    if (!rlx_infer_float(in, c.x->dtype) || !rlx_infer_float(in, offset->dtype) ||
        !rlx_infer_common_device(in, c.x->vdevice, c.w->vdevice, &c.vdevice) ||
        (rlx_dtype_is_void(c.dtype) && !rlx_infer_common_dtype(in, c.x->dtype, c.w->dtype, &c.dtype)))
        return NULL;
    const rlx_prim *const *dx = rlx_literal_dims(c.x, &n), *const *dw = rlx_literal_dims(c.w, &m);
    if (!dx || !dw)
        return rlx_infer_rank_result(in, (int64_t)c.out.n, c.dtype, c.vdevice);
    const rlx_prim *x[MAX_AXES], *w[MAX_AXES], *places[MAX_AXES];
    to_canonical(in->ctx, &c.data, dx, rlx_data_axes[2], x);
    to_canonical(in->ctx, &c.kernel, dw, rlx_kernel_axes[2], w);
    const rlx_tensor_sinfo *out = rlx_as_tensor_sinfo(conv_result(in, &c, x, w));
    const rlx_prim *const *d = out ? rlx_literal_dims(out, &n) : NULL;
    if (!d)
        return NULL;
    to_canonical(in->ctx, &c.out, d, rlx_data_axes[2], places);
    if (refused(in, remainder_of(in, x[1], moved), rlx_int64(in->ctx, 0),
                "channels do not divide into the deformable groups; remainder") ||
        !fits_places(in, 1, places, w, 2 * moved) || (masked && !fits_places(in, 3, places, w, moved)))
        return NULL;
    return &out->node;
}

/* ---- pooling: attributes pool_size, strides, dilation, padding, ceil_mode, count_include_pad,
 * layout, out_layout ----- */

static const rlx_prim *pooled_size(rlx_infer *in, const rlx_prim *size, size_t i, size_t n)
{
    const rlx_prim *window = size_item(in, rlx_infer_attr(in, 0), i);
    int64_t stride = rlx_attr_item(rlx_infer_attr(in, 1), i);
    int64_t dilation = rlx_attr_item(rlx_infer_attr(in, 2), i);
    const rlx_attr *padding = rlx_infer_attr(in, 3);
    bool up = rlx_attr_as_bool(rlx_infer_attr(in, 4), false);
    int64_t fixed, more = pads(padding, i, n) - 1 + (up ? stride - 1 : 0);
    bool known = rlx_int_literal(window, &fixed);
    const rlx_prim *span = known ? plus(in, size, more - dilation * (fixed - 1))
                                 : plus(in, minus(in, size, times(in, plus(in, window, -1), dilation)),
                                        more);
    const rlx_prim *count = simple(in, plus(in, divided(in, span, stride), 1));
    if (!up || !count)
        return count;
    /* No window may begin beyond the input and the padding before it. */
    const rlx_prim *most = simple(
        in, plus(in, divided(in, plus(in, size, rlx_attr_item(padding, i) - 1), stride), 1));
    if (!most || rlx_prove_compare(in->ctx, in->scope, RLX_NODE_LE, count, most) == RLX_TRUE)
        return most ? count : NULL;
    return simple(in, rlx_fold_binary(in->ctx, RLX_NODE_MIN, count, most));
}

const rlx_sinfo *rlx_infer_pool(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    size_t spatial = in->row->member.number, n;
    const rlx_prim *sizes[MAX_AXES];
    layout data, out;
    if (!x || !read_layout(in, 6, rlx_data_axes[spatial], &data) ||
        !read_layout(in, 7, rlx_data_axes[spatial], &out) || !rank_fits(in, 0, x, &data))
        return NULL;
    for (size_t i = 0; i < 3; i++)
        if (!all_positive(in, i))
            return NULL;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims)
        return rlx_infer_rank_result(in, (int64_t)out.n, x->dtype, x->vdevice);
    to_canonical(in->ctx, &data, dims, rlx_data_axes[spatial], sizes);
    for (size_t i = 0; i < spatial; i++)
        if (!(sizes[2 + i] = pooled_size(in, sizes[2 + i], i, spatial)))
            return rlx_infer_done(in, NULL);
    return from_canonical(in, &out, rlx_data_axes[spatial], sizes, x->dtype, x->vdevice);
}

/* Values, and where they are. */
const rlx_sinfo *rlx_infer_pool_indices(rlx_infer *in)
{
    const rlx_sinfo *both[2] = { rlx_infer_pool(in) };
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(both[0]);
    both[1] = t ? rlx_infer_with_dtype(in, t, RELAX_INT64) : NULL;
    return both[1] ? rlx_infer_done(in, rlx_tuple_info(in->ctx, both, 2)) : NULL;
}

/* attributes output_size, layout, out_layout */
const rlx_sinfo *rlx_infer_adaptive_pool(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_attr *size = rlx_infer_attr(in, 0);
    size_t spatial = in->row->member.number, n;
    const rlx_prim *sizes[MAX_AXES];
    layout data, out;
    if (!x || !read_layout(in, 1, rlx_data_axes[spatial], &data) ||
        !read_layout(in, 2, rlx_data_axes[spatial], &out) || !rank_fits(in, 0, x, &data))
        return NULL;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims) {
        bool kept =
            x->shape && rlx_attr_is_none(size) && rlx_infer_attr(in, 1) == rlx_infer_attr(in, 2);
        return kept ? &x->node : rlx_infer_rank_result(in, (int64_t)out.n, x->dtype, x->vdevice);
    }
    to_canonical(in->ctx, &data, dims, rlx_data_axes[spatial], sizes);
    for (size_t i = 0; i < spatial && !rlx_attr_is_none(size); i++)
        if (!(sizes[2 + i] = size_item(in, size, i)))
            return rlx_infer_done(in, NULL);
    return from_canonical(in, &out, rlx_data_axes[spatial], sizes, x->dtype, x->vdevice);
}

/* ---- image.resizeNd: attribute 1 is the layout, 8 out_dtype --------------------------------- */

const rlx_sinfo *rlx_infer_resize(rlx_infer *in)
{
    static const char *const numbers[] = { "", "one number", "two numbers", "three numbers" };
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_shape_sinfo *s = x ? rlx_infer_shape_arg(in, 1) : NULL;
    const rlx_shape_expr *size = rlx_as_shape_expr(rlx_infer_expr(in, 1));
    const rlx_prim *sizes[MAX_AXES];
    layout data;
    size_t spatial = in->row->member.number, n;
    if (!s || !read_layout(in, 1, rlx_data_axes[spatial], &data) || !rank_fits(in, 0, x, &data) ||
        !rlx_infer_word(in, 2, "nearest_neighbor, linear or cubic") ||
        !rlx_infer_word(in, 3, "half_pixel, align_corners, asymmetric, pytorch_half_pixel, "
                               "tf_half_pixel_for_nn or tf_crop_and_resize") ||
        (rlx_attr_text(rlx_infer_attr(in, 4)).len &&
         !rlx_infer_word(in, 4, "round, round_prefer_floor, round_prefer_ceil, floor or ceil")))
        return NULL;
    if (s->ndim != (int64_t)spatial)
        return rlx_infer_fail(in, "size is %s, expected %s", rlx_show(in->ctx, &s->node), numbers[spatial]);
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 8));
    dtype = rlx_dtype_is_void(dtype) ? x->dtype : dtype;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims || !size)
        return rlx_infer_rank_result(in, (int64_t)data.n, dtype, x->vdevice);
    to_canonical(in->ctx, &data, dims, rlx_data_axes[spatial], sizes);
    memcpy(sizes + 2, size->values, spatial * sizeof *sizes);
    return from_canonical(in, &data, rlx_data_axes[spatial], sizes, dtype, x->vdevice);
}

/* One number is the size of all axes. */
bool rlx_prepare_resize(rlx_op_draft *d)
{
    const rlx_prim_value *one = rlx_as_prim_value(d->args[1]);
    const rlx_shape_expr *s = rlx_as_shape_expr(d->args[1]);
    const rlx_prim *v = one ? one->value : s && s->num_values == 1 ? s->values[0] : NULL;
    const rlx_prim *all[3] = { v, v, v };
    if (v)
        d->args[1] = rlx_shape_new(d->ctx, all, d->row->member.number);
    return d->args[1] != NULL;
}

/* ---- attributes as they are kept: full lists, and an output layout -------------------------- */

/* numbers[i] for i < want from a list of `have`, which repeats. */
static const rlx_attr *repeated(rlx_context *ctx, const rlx_attr *list, size_t want)
{
    const rlx_attr *items[2 * 3];
    size_t have = rlx_attr_count(list);
    for (size_t i = 0; i < want; i++)
        if (!(items[i] = is_expression(list, i % have)
                             ? rlx_as_attr_list(list)->items[i % have]
                             : rlx_attr_int_new(ctx, rlx_attr_item(list, i % have))))
            return NULL;
    return rlx_attr_list_new(ctx, items, want);
}

static bool fill_list(rlx_op_draft *d, size_t i, size_t n)
{
    const char *name = d->row->attrs[i].name;
    size_t have = rlx_attr_count(d->values[i]), want = strcmp(name, "padding") == 0 ? 2 * n : n;
    if (have == want || rlx_attr_is_none(d->values[i]))
        return true;
    if (have != 1 && !(want == 2 * n && have == n))
        return rlx_error(d->ctx, RLX_OP12, d->place, "%s: %s has %zu numbers, expected %zu",
                         d->row->short_name, name, have, want),
               false;
    d->values[i] = repeated(d->ctx, d->values[i], want);
    return d->values[i] != NULL;
}

bool rlx_prepare_window(rlx_op_draft *d)
{
    size_t n = d->row->member.number, layout_at = SIZE_MAX;
    for (size_t i = 0; i < d->row->num_attrs; i++) {
        const rlx_op_attr *a = &d->row->attrs[i];
        if (strcmp(a->name, "data_layout") == 0 || strcmp(a->name, "layout") == 0)
            layout_at = i;
        bool list = a->type == RLX_ATTR_INTS || a->type == RLX_ATTR_INTS_OR_NONE ||
                    a->type == RLX_ATTR_SIZES || a->type == RLX_ATTR_SIZES_OR_NONE;
        if (list && !fill_list(d, i, n))
            return false;
        if (strcmp(a->name, "out_layout") == 0 &&
            (rlx_attr_is_none(d->values[i]) || rlx_attr_text(d->values[i]).len == 0) &&
            layout_at != SIZE_MAX)
            d->values[i] = d->values[layout_at];
    }
    return true;
}
