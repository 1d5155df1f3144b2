/* relay_conv_nn.c: products, convolutions, pooling, normalisation, losses. */
#include "relay/relay_convert.h"

#define CONVERTER(name) const rlx_expr *rlx_relay_convert_##name(rlx_relay_conv *c)

/* ---- products ------------------------------------------------------------------------------------------ */

/* The last two axes exchanged. */
static const rlx_expr *transpose_matrix(rlx_relay_conv *c, const rlx_expr *x)
{
    int64_t order[64];
    int n = rlx_relay_rank(c, x);
    if (n < 2 || n > 64)
        return n < 0 ? NULL : rlx_relay_cannot(c, "a matrix has at least rank 2, found %d", n);
    for (int i = 0; i < n; i++)
        order[i] = i < n - 2 ? i : 2 * n - 3 - i;
    return rlx_relay_transpose(c, x, order, (size_t)n);
}

static const rlx_expr *product(rlx_relay_conv *c, bool transpose_a, bool transpose_b)
{
    const rlx_expr *a = rlx_relay_arg(c, 0), *b = rlx_relay_arg(c, 1);
    a = transpose_a ? transpose_matrix(c, a) : a;
    b = transpose_b ? transpose_matrix(c, b) : b;
    return rlx_relay_make(c, "matmul", "x x out_dtype=d", a, b, rlx_relay_attr_dtype(c, "out_dtype"));
}

CONVERTER(dense) { return product(c, false, true); }
CONVERTER(matmul)
{
    return product(c, rlx_relay_attr_bool(c, "transpose_a"), rlx_relay_attr_bool(c, "transpose_b"));
}

CONVERTER(einsum)
{
    const rlx_expr *const *fields;
    size_t n;
    return rlx_relay_tuple_arg(c, 0, &fields, &n)
               ? rlx_relay_make(c, "einsum", "X subscripts=s", fields, n, rlx_relay_attr_text(c, "equation")) : NULL;
}

CONVERTER(bias_add)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int n = rlx_relay_rank(c, x);
    int64_t axis = rlx_relay_attr_int(c, "axis");
    return rlx_relay_fit_axis(c, &axis, n)
               ? rlx_relay_make(c, "add", "x x", x, rlx_relay_along(c, rlx_relay_arg(c, 1), axis, n)) : NULL;
}

/* ---- convolutions ---------------------------------------------------------------------------------------- */

typedef struct list { int64_t *data; size_t len; } list;

static list read_list(rlx_relay_conv *c, const char *name)
{
    list l;
    l.data = rlx_relay_attr_ints(c, name, &l.len);
    return l;
}

/* Depthwise weights (C, multiplier, ...) of C groups: Relax has (C * multiplier, 1, ...). */
static const rlx_expr *depthwise_weight(rlx_relay_conv *c, const rlx_expr *w, int64_t groups, const char **layout)
{
    int64_t order[8], inputs = 1, outputs = 0;
    size_t n = strlen(*layout);
    static const char *const letters[] = { "", "", "", "OIW", "OIHW", "OIDHW" };
    if (n < 3 || n > 5 || !rlx_relay_letters(c, *layout, letters[n], order) ||
        !rlx_relay_static_size(c, w, (size_t)order[0], &outputs) ||
        !rlx_relay_static_size(c, w, (size_t)order[1], &inputs) || inputs == 1 || outputs != groups)
        return w;
    size_t rank;
    w = rlx_relay_transpose(c, w, order, n);
    const rlx_prim *const *sizes = w ? rlx_relay_sizes(c, &w, &rank) : NULL;
    const rlx_prim *as[5];
    if (!sizes || rank != n)
        return NULL;
    memcpy(as, sizes, n * sizeof *as);
    as[0] = rlx_fold_mul(c->ctx, sizes[0], sizes[1]);
    as[1] = rlx_int64(c->ctx, 1);
    *layout = letters[n];
    return rlx_relay_reshape(c, w, as, n);
}

/* Does each group take one channel of the data? Then Relay's weight may put the multiplier second. */
static bool is_depthwise(rlx_relay_conv *c, const rlx_expr *x, int64_t groups)
{
    int64_t at, channels;
    return groups > 1 && rlx_relay_letters(c, rlx_relay_attr_text(c, "data_layout"), "C", &at) &&
           rlx_relay_static_size(c, x, (size_t)at, &channels) && channels == groups;
}

const rlx_expr *rlx_relay_convolve(rlx_relay_conv *c, const char *op, const rlx_expr *x, const rlx_expr *w)
{
    list strides = read_list(c, "strides"), padding = read_list(c, "padding"), dilation = read_list(c, "dilation");
    int64_t groups = rlx_relay_attr_int(c, "groups");
    const char *data = rlx_relay_attr_text(c, "data_layout"), *kernel = rlx_relay_attr_text(c, "kernel_layout");
    const char *out = rlx_relay_attr_text(c, "out_layout");
    rlx_dtype t = rlx_relay_attr_dtype(c, "out_dtype");
    if (strstr(op, "_transpose")) {
        list extra = read_list(c, "output_padding");
        return rlx_relay_make(c, op, "x x strides=I padding=I output_padding=I dilation=I groups=i data_layout=s "
                              "kernel_layout=s out_layout=s out_dtype=d", x, w, strides.data, strides.len,
                              padding.data, padding.len, extra.data, extra.len, dilation.data, dilation.len, groups,
                              data, kernel, out, t);
    }
    if (is_depthwise(c, x, groups))
        w = depthwise_weight(c, w, groups, &kernel);
    return rlx_relay_make(c, op, "x x strides=I padding=I dilation=I groups=i data_layout=s kernel_layout=s "
                          "out_layout=s out_dtype=d", x, w, strides.data, strides.len, padding.data, padding.len,
                          dilation.data, dilation.len, groups, data, kernel, out, t);
}

CONVERTER(conv) { return rlx_relay_convolve(c, c->op->name, rlx_relay_arg(c, 0), rlx_relay_arg(c, 1)); }

CONVERTER(deformable_conv)
{
    list strides = read_list(c, "strides"), padding = read_list(c, "padding"), dilation = read_list(c, "dilation");
    return rlx_relay_make(c, "nn.deformable_conv2d", "x x x strides=I padding=I dilation=I deformable_groups=i groups=i "
                          "data_layout=s kernel_layout=s out_layout=s out_dtype=d", rlx_relay_arg(c, 0),
                          rlx_relay_arg(c, 1), rlx_relay_arg(c, 2), strides.data, strides.len, padding.data, padding.len,
                          dilation.data, dilation.len, rlx_relay_attr_int(c, "deformable_groups"),
                          rlx_relay_attr_int(c, "groups"), rlx_relay_attr_text(c, "data_layout"),
                          rlx_relay_attr_text(c, "kernel_layout"), rlx_relay_attr_text(c, "out_layout"),
                          rlx_relay_attr_dtype(c, "out_dtype"));
}

/* ---- pooling ----------------------------------------------------------------------------------------------- */

CONVERTER(pool)
{
    list size = read_list(c, "pool_size"), strides = read_list(c, "strides"), padding = read_list(c, "padding");
    list dilation = read_list(c, "dilation");
    return rlx_relay_make(c, c->op->name, "x pool_size=I strides=I dilation=I padding=I ceil_mode=b "
                          "count_include_pad=b layout=s out_layout=s", rlx_relay_arg(c, 0), size.data, size.len,
                          strides.data, strides.len, dilation.data, dilation.len, padding.data, padding.len,
                          (int)rlx_relay_attr_bool(c, "ceil_mode"), (int)rlx_relay_attr_bool(c, "count_include_pad"),
                          rlx_relay_attr_text(c, "layout"), rlx_relay_attr_text(c, "out_layout"));
}

/* Axes of D, H, W in the layout, as many as x has of them; the number, 0 after a report. Inner blocks of channels
 * (NCHW4c) are axes too. */
static size_t spatial_axes(rlx_relay_conv *c, int64_t *axes)
{
    const char *layout = rlx_relay_attr_text(c, "layout");
    size_t n = 0;
    int64_t axis = 0;
    for (const char *p = layout; *p; p++) {
        if (*p >= '0' && *p <= '9')
            continue;
        if (strchr("DHW", *p) && n < 3)
            axes[n++] = axis;
        axis++;
    }
    if (!n)
        rlx_relay_cannot(c, "the layout %s has no spatial axes", layout);
    return n;
}

/* max or mean over all of the spatial axes */
CONVERTER(global_pool)
{
    int64_t axes[3];
    size_t n = spatial_axes(c, axes);
    return n ? rlx_relay_make(c, c->row->argument, "x axis=I keepdims=b", rlx_relay_arg(c, 0), axes, n, 1) : NULL;
}

/* The sizes that are asked for, of each spatial axis; false after a report or where none are (the data stays). */
static bool wanted_sizes(rlx_relay_conv *c, size_t n, int64_t *out)
{
    list size = read_list(c, "output_size");
    if (!size.len || (size.len != 1 && size.len != n))
        return size.len ? rlx_relay_cannot(c, "output_size has %zu items", size.len) != NULL : false;
    for (size_t i = 0; i < n; i++)
        out[i] = size.data[size.len == 1 ? 0 : i];
    return true;
}

CONVERTER(adaptive_avg_pool)
{
    int64_t axes[3], size[3];
    size_t n = spatial_axes(c, axes);
    if (!n || !wanted_sizes(c, n, size))
        return c->failed ? NULL : rlx_relay_arg(c, 0);
    return rlx_relay_make(c, c->op->name, "x output_size=I layout=s out_layout=s", rlx_relay_arg(c, 0), size, n,
                          rlx_relay_attr_text(c, "layout"), rlx_relay_attr_text(c, "out_layout"));
}

static const rlx_expr *slice_axis(rlx_relay_conv *c, const rlx_expr *x, int64_t axis, int64_t begin, int64_t end)
{
    const rlx_expr *a = rlx_relay_prim(c, axis), *b = rlx_relay_prim(c, begin), *e = rlx_relay_prim(c, end);
    return rlx_relay_call(c, "strided_slice", "x X X X", x, &a, (size_t)1, &b, (size_t)1, &e, (size_t)1);
}

enum { MOST_PARTS = 256 };

/* Along one axis: the greatest element of `want` parts, which may overlap. */
static const rlx_expr *greatest_of_parts(rlx_relay_conv *c, const rlx_expr *x, int64_t axis, int64_t want)
{
    int64_t have;
    if (want == 1)
        return rlx_relay_reduce(c, "max", x, &axis, 1, true);
    if (want < 1 || want > MOST_PARTS || !rlx_relay_static_size(c, x, (size_t)axis, &have) || have > INT32_MAX)
        return rlx_relay_cannot(c, "output_size %lld needs a known extent and at most %d parts", (long long)want,
                                MOST_PARTS);
    const rlx_expr *parts[MOST_PARTS];
    if (have == want)
        return x;
    for (int64_t i = 0; i < want; i++) {
        int64_t begin = i * have / want, end = ((i + 1) * have + want - 1) / want;
        parts[i] = rlx_relay_reduce(c, "max", slice_axis(c, x, axis, begin, end), &axis, 1, true);
        if (!parts[i])
            return NULL;
    }
    return rlx_relay_concat(c, parts, (size_t)want, axis);
}

/* The window of a plain pooling that does the same: where every size is a multiple. */
static bool even_windows(rlx_relay_conv *c, const rlx_expr *x, const int64_t *axes, const int64_t *size, size_t n,
                         int64_t *window)
{
    for (size_t i = 0; i < n; i++) {
        int64_t have;
        if (size[i] < 1 || !rlx_relay_static_size(c, x, (size_t)axes[i], &have) || have % size[i])
            return false;
        window[i] = have / size[i];
    }
    return true;
}

CONVERTER(adaptive_max_pool)
{
    int64_t axes[3], size[3], window[3];
    size_t n = spatial_axes(c, axes);
    const rlx_expr *x = rlx_relay_arg(c, 0);
    if (!n || !wanted_sizes(c, n, size))
        return c->failed ? NULL : x;
    bool one = true;
    for (size_t i = 0; i < n; i++)
        one &= size[i] == 1;
    if (one)
        return rlx_relay_make(c, "max", "x axis=I keepdims=b", x, axes, n, 1);
    if (rlx_relay_rank(c, x) == (int)n + 2 && even_windows(c, x, axes, size, n, window))
        return rlx_relay_make(c, c->row->argument, "x pool_size=I strides=I layout=s", x, window, n, window, n,
                              rlx_relay_attr_text(c, "layout"));
    for (size_t i = 0; x && i < n; i++)
        x = greatest_of_parts(c, x, axes[i], size[i]);
    return x;
}

/* ---- normalisation ------------------------------------------------------------------------------------------- */

CONVERTER(softmax)
{
    return rlx_relay_make(c, c->row->argument, "x axis=i", rlx_relay_arg(c, 0), rlx_relay_attr_int(c, "axis"));
}

CONVERTER(batch_norm)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axis = rlx_relay_attr_int(c, "axis");
    if (!rlx_relay_fit_axis(c, &axis, rlx_relay_rank(c, x)))
        return NULL;
    return rlx_relay_make(c, "nn.batch_norm", "x x x x x axis=i epsilon=f center=b scale=b momentum=f training=b", x,
                          rlx_relay_arg(c, 1), rlx_relay_arg(c, 2), rlx_relay_arg(c, 3), rlx_relay_arg(c, 4), axis,
                          rlx_relay_attr_float(c, "epsilon"), (int)rlx_relay_attr_bool(c, "center"),
                          (int)rlx_relay_attr_bool(c, "scale"), 0.1, 0);
}

CONVERTER(layer_norm)
{
    int64_t axis = rlx_relay_attr_int(c, "axis");
    return rlx_relay_make(c, "nn.layer_norm", "x x x axes=I epsilon=f center=b scale=b", rlx_relay_arg(c, 0),
                          rlx_relay_arg(c, 1), rlx_relay_arg(c, 2), &axis, (size_t)1,
                          rlx_relay_attr_float(c, "epsilon"), (int)rlx_relay_attr_bool(c, "center"),
                          (int)rlx_relay_attr_bool(c, "scale"));
}

/* group_norm, instance_norm: statistics over the axes that are neither the batch nor the channels. */
CONVERTER(group_norm)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axis = rlx_relay_attr_int(c, "axis"), axes[64];
    int n = rlx_relay_rank(c, x);
    size_t count = 0;
    if (!rlx_relay_fit_axis(c, &axis, n) || n > 64)
        return NULL;
    for (int64_t i = 1; i < n; i++)
        if (i != axis)
            axes[count++] = i;
    double epsilon = rlx_relay_attr_float(c, "epsilon");
    int center = rlx_relay_attr_bool(c, "center"), scale = rlx_relay_attr_bool(c, "scale");
    if (strcmp(c->row->argument, "nn.instance_norm") == 0)
        return rlx_relay_make(c, "nn.instance_norm", "x x x channel_axis=i axes=I epsilon=f center=b scale=b", x,
                              rlx_relay_arg(c, 1), rlx_relay_arg(c, 2), axis, axes, count, epsilon, center, scale);
    return rlx_relay_make(c, "nn.group_norm", "x x x num_groups=i channel_axis=i axes=I epsilon=f center=b scale=b", x,
                          rlx_relay_arg(c, 1), rlx_relay_arg(c, 2), rlx_relay_attr_int(c, "num_groups"), axis, axes,
                          count, epsilon, center, scale);
}

/* x / sqrt(max(sum of squares, eps)) */
CONVERTER(l2_normalize)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axes[64];
    size_t n;
    if (!rlx_relay_attr_axes(c, "axis", rlx_relay_rank(c, x), axes, &n))
        return NULL;
    const rlx_expr *sum = rlx_relay_reduce(c, "sum", rlx_relay_call1(c, "square", x), axes, n, true);
    const rlx_expr *root = rlx_relay_call1(c, "sqrt", rlx_relay_with(c, "maximum", sum, rlx_relay_attr_float(c, "eps")));
    return rlx_relay_make(c, "divide", "x x", x, root);
}

/* x / (bias + alpha / size * sum of the squares of `size` neighbours along the axis) ^ beta. The sums are means of a
 * pooling over (outer, 1, channels, inner) that counts its padding. */
CONVERTER(lrn)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axis = rlx_relay_attr_int(c, "axis"), size = rlx_relay_attr_int(c, "size");
    size_t n;
    const rlx_prim *const *sizes = rlx_relay_sizes(c, &x, &n);
    if (!sizes || !rlx_relay_fit_axis(c, &axis, (int)n) || size < 1)
        return size < 1 ? rlx_relay_cannot(c, "size must be positive") : NULL;
    size_t a = (size_t)axis;
    const rlx_prim *four[] = { rlx_relay_product_of(c, sizes, a), rlx_int64(c->ctx, 1), sizes[a],
                               rlx_relay_product_of(c, sizes + a + 1, n - a - 1) };
    const rlx_expr *y = rlx_relay_reshape(c, rlx_relay_call1(c, "square", x), four, 4);
    int64_t window[] = { size, 1 }, padding[] = { size / 2, 0, size - 1 - size / 2, 0 };
    y = rlx_relay_call(c, "nn.avg_pool2d", "x pool_size=I padding=I count_include_pad=b", y, window, (size_t)2,
                       padding, (size_t)4, 1);
    y = rlx_relay_with(c, "multiply", rlx_relay_reshape(c, y, sizes, n), rlx_relay_attr_float(c, "alpha"));
    y = rlx_relay_with(c, "add", y, rlx_relay_attr_float(c, "bias"));
    y = rlx_relay_with(c, "power", y, rlx_relay_attr_float(c, "beta"));
    return rlx_relay_make(c, "divide", "x x", x, y);
}

CONVERTER(dropout)
{
    return rlx_relay_make(c, "nn.dropout", "x rate=f", rlx_relay_arg(c, 0), rlx_relay_attr_float(c, "rate"));
}

CONVERTER(batch_flatten) { return rlx_relay_make(c, "nn.batch_flatten", "x", rlx_relay_arg(c, 0)); }

/* ---- padding --------------------------------------------------------------------------------------------------- */

/* A value that is computed stands where padding is. */
static const rlx_expr *pad_where(rlx_relay_conv *c, const rlx_expr *x, const int64_t *width, size_t n)
{
    const rlx_expr *inside = rlx_relay_call(c, "ones_like", "x dtype=d", x, RELAX_INT8);
    inside = rlx_relay_call(c, "nn.pad", "x pad_width=I", inside, width, n);
    const rlx_expr *value = rlx_relay_astype(c, rlx_relay_arg(c, 1), rlx_relay_dtype_of(c, x));
    x = rlx_relay_call(c, "nn.pad", "x pad_width=I", x, width, n);
    return rlx_relay_make(c, "where", "x x x", rlx_relay_astype(c, inside, RELAX_BOOL), x, value);
}

CONVERTER(pad)
{
    size_t n, count = 0;
    int64_t *width = rlx_relay_attr_ints(c, "pad_width", &n);
    const rlx_expr *x = rlx_relay_arg(c, 0);
    const char *mode = rlx_relay_attr_text(c, "pad_mode");
    bool constant = strcmp(mode, "constant") == 0;
    const double *value = constant ? rlx_relay_known_floats(c, rlx_relay_arg(c, 1), &count) : NULL;
    if (constant && (!value || count != 1))
        return pad_where(c, x, width, n);
    return rlx_relay_make(c, "nn.pad", "x pad_width=I pad_value=f pad_mode=s", x, width, n, value ? value[0] : 0.0, mode);
}

/* The part of an axis next to one of its ends, mirrored; what lies at the very end is in it. */
static const rlx_expr *mirror(rlx_relay_conv *c, const rlx_expr *x, int64_t axis, int64_t width, bool at_end)
{
    x = slice_axis(c, x, axis, at_end ? -width : 0, at_end ? INT64_MAX : width);
    return rlx_relay_call(c, "flip", "x axis=i", x, axis);
}

CONVERTER(mirror_pad)
{
    size_t n;
    int64_t *width = rlx_relay_attr_ints(c, "pad_width", &n);
    const rlx_expr *x = rlx_relay_arg(c, 0);
    if (strcmp(rlx_relay_attr_text(c, "mode"), "REFLECT") == 0)
        return rlx_relay_make(c, "nn.pad", "x pad_width=I pad_mode=s", x, width, n, "reflect");
    for (size_t i = 0; x && i + 1 < n; i += 2) {
        const rlx_expr *parts[3];
        size_t count = 0;
        if (width[i] < 0 || width[i + 1] < 0)
            return rlx_relay_cannot(c, "a negative pad_width");
        if (width[i])
            parts[count++] = mirror(c, x, (int64_t)i / 2, width[i], false);
        parts[count++] = x;
        if (width[i + 1])
            parts[count++] = mirror(c, x, (int64_t)i / 2, width[i + 1], true);
        x = rlx_relay_concat(c, parts, count, (int64_t)i / 2);
    }
    return x;
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

CONVERTER(cross_entropy_with_logits)
{
    return rlx_relay_make(c, "nn.cross_entropy_with_logits", "x x", rlx_relay_arg(c, 0), rlx_relay_arg(c, 1));
}
/* Of probabilities: Relax takes their logarithms. */
CONVERTER(cross_entropy)
{
    return rlx_relay_make(c, "nn.cross_entropy_with_logits", "x x", rlx_relay_call1(c, "log", rlx_relay_arg(c, 0)),
                          rlx_relay_arg(c, 1));
}
CONVERTER(nll_loss)
{
    return rlx_relay_make(c, "nn.nll_loss", "x x x reduction=s ignore_index=i", rlx_relay_arg(c, 0),
                          rlx_relay_arg(c, 1), rlx_relay_arg(c, 2), rlx_relay_attr_text(c, "reduction"),
                          rlx_relay_attr_int(c, "ignore_index"));
}
