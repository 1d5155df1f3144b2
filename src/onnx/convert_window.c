/* convert_window.c: convolutions and pooling. */
#include "onnx/onnx_int.h"

#include <math.h>
#include <stdio.h>

enum { MOST_AXES = 3 };

/* Attributes of a window over the axes behind batch and channels. */
typedef struct window {
    size_t n;                                    /* axes */
    int64_t kernel[MOST_AXES], strides[MOST_AXES], dilations[MOST_AXES];
    int64_t pads[2 * MOST_AXES];                 /* all beginnings, then all ends */
    const rlx_prim *open[2 * MOST_AXES];         /* auto_pad of sizes that are not known: goes before the window */
    bool is_open;
    const char *layout, *weights, *transposed;
} window;
static const char *const layouts[][3] = { { "NCW", "OIW", "IOW" },
                                          { "NCHW", "OIHW", "IOHW" },
                                          { "NCDHW", "OIDHW", "IODHW" } };

static bool read_list(rlx_onnx_conv *c, const char *name, size_t n, int64_t otherwise, int64_t *out,
                      int64_t least)
{
    size_t len;
    const int64_t *v = rlx_onnx_int_list(c, name, &len);
    if (v && len != n)
        return rlx_onnx_fail(c, RLX_ON05, "%s has %zu numbers, expected %zu", name, len, n) != NULL;
    for (size_t i = 0; i < n; i++) {
        out[i] = v ? v[i] : otherwise;
        if (out[i] < least)
            return rlx_onnx_fail(c, RLX_ON05, "%s holds %lld, expected at least %lld", name,
                                 (long long)out[i], (long long)least) != NULL;
    }
    return true;
}

/* The same of a size that is not known: the last window reaches (ceil(size / stride) - 1) * stride + reach. */
static void pad_open(rlx_onnx_conv *c, const rlx_prim *size, window *w, size_t i, bool upper)
{
    int64_t stride = w->strides[i], reach = (w->kernel[i] - 1) * w->dilations[i] + 1;
    const rlx_prim *k = rlx_int64(c->ctx, stride), *two = rlx_int64(c->ctx, 2);
    const rlx_prim *most = rlx_fold_sub(c->ctx, size, rlx_int64(c->ctx, 1));
    const rlx_prim *end = rlx_fold_mul(c->ctx, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, most, k), k);
    const rlx_prim *total = rlx_fold_sub(c->ctx, rlx_fold_add(c->ctx, end, rlx_int64(c->ctx, reach)), size);
    total = rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_MAX, total, rlx_int64(c->ctx, 0)));
    const rlx_prim *half = rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, total, two));
    const rlx_prim *rest = rlx_onnx_simplify(c, rlx_fold_sub(c->ctx, total, half));
    w->open[i] = upper ? half : rest;
    w->open[i + w->n] = upper ? rest : half;
    w->is_open = true;
}

/* Padding that keeps ceil(size / stride) windows. */
static bool pad_same(rlx_onnx_conv *c, const rlx_expr *x, window *w, bool upper)
{
    for (size_t i = 0; i < w->n; i++) {
        int64_t size, reach = (w->kernel[i] - 1) * w->dilations[i] + 1, total;
        const rlx_prim *p = rlx_onnx_dim(c, x, i + 2);
        if (!p)
            return false;
        if (w->strides[i] == 1)
            total = reach - 1;
        else if (rlx_int_literal(p, &size)) {
            int64_t left = size % w->strides[i] ? size % w->strides[i] : w->strides[i];
            total = reach - left;
        } else {
            pad_open(c, p, w, i, upper);
            continue;
        }
        total = total < 0 ? 0 : total;
        w->pads[i] = upper ? total / 2 : total - total / 2;
        w->pads[i + w->n] = total - w->pads[i];
    }
    return true;
}

static bool read_window(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *weight, window *w)
{
    int rank = x ? rlx_onnx_rank(c, x) : -1;
    if (rank < 3 || rank > 2 + MOST_AXES)
        return rank >= 0 && rlx_onnx_fail(c, RLX_ON05, "a window over an operand of rank %d is not "
                                          "supported", rank) != NULL;
    w->n = (size_t)rank - 2;
    w->layout = layouts[w->n - 1][0];
    w->weights = layouts[w->n - 1][1];
    w->transposed = layouts[w->n - 1][2];
    bool stated = rlx_onnx_attr(c, "kernel_shape") != NULL;
    if (!stated && !weight)
        return rlx_onnx_fail(c, RLX_ON10, "kernel_shape is missing") != NULL;
    for (size_t i = 0; i < w->n && !stated; i++)
        if (!rlx_onnx_static_dim(c, weight, i + 2, &w->kernel[i]))
            return rlx_onnx_fail(c, RLX_ON08, "the sizes of the weight have to be known") != NULL;
    rlx_slice same = rlx_onnx_string(c, "auto_pad", "NOTSET");
    bool upper = rlx_slice_is(same, "SAME_UPPER"), lower = rlx_slice_is(same, "SAME_LOWER");
    bool valid = rlx_slice_is(same, "VALID");
    if ((stated && !read_list(c, "kernel_shape", w->n, 1, w->kernel, 1)) ||
        !read_list(c, "strides", w->n, 1, w->strides, 1) ||
        !read_list(c, "dilations", w->n, 1, w->dilations, 1))
        return false;
    memset(w->pads, 0, sizeof w->pads);
    memset(w->open, 0, sizeof w->open);
    w->is_open = false;
    if (upper || lower)
        return pad_same(c, x, w, upper);
    return valid || read_list(c, "pads", 2 * w->n, 0, w->pads, 0);
}

/* x, with what is not known of the padding put around it */
static const rlx_expr *opened(rlx_onnx_conv *c, const window *w, const rlx_expr *x, double value)
{
    const rlx_prim *pads[2 * (MOST_AXES + 2)];
    if (!w->is_open || !x)
        return x;
    for (size_t i = 0; i < 2 * (w->n + 2); i++)
        pads[i] = rlx_int64(c->ctx, 0);
    for (size_t i = 0; i < 2 * w->n; i++)
        if (w->open[i])
            pads[2 * (i % w->n + 2) + i / w->n] = w->open[i];
    return rlx_onnx_pad_with(c, x, &(rlx_onnx_ints){ pads, 2 * (w->n + 2), false, RELAX_INT64 },
                             rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), value));
}

enum { NAME_BYTES = 48 }; /* of an operator, whatever n is */
static const char *numbered(char out[NAME_BYTES], const char *stem, size_t n, const char *end)
{
    snprintf(out, NAME_BYTES, "nn.%s%zud%s", stem, n, end);
    return out;
}

/* A bias of channels, behind which axes follow. */
static const rlx_expr *with_bias(rlx_onnx_conv *c, const rlx_expr *y, const rlx_expr *bias, size_t n)
{
    static const int64_t axes[] = { 1, 2, 3 };
    return rlx_onnx_call2(c, "add", y, rlx_onnx_expand_dims(c, bias, axes, n));
}

static const rlx_expr *convolve(rlx_onnx_conv *c, const window *w, const rlx_expr *x,
                                const rlx_expr *weight, rlx_dtype out)
{
    char name[NAME_BYTES];
    int64_t groups = rlx_onnx_int(c, "group", 1);
    return rlx_onnx_call(c, numbered(name, "conv", w->n, ""),
                         "x x strides=I padding=I dilation=I groups=i data_layout=s "
                         "kernel_layout=s out_dtype=d",
                         opened(c, w, x, 0), weight, w->strides, w->n, w->pads, 2 * w->n, w->dilations, w->n,
                         groups, w->layout, w->weights, out);
}

/* The convolution of operands that were dequantised, by their bytes; NULL: they are none, or it failed. */
static const rlx_expr *convolve_bytes(rlx_onnx_conv *c, const window *w, const rlx_expr *weight)
{
    rlx_onnx_quantized pair[2];
    int64_t steps = 1, size;
    for (size_t i = 1; i < w->n + 2; i++)
        if (!rlx_onnx_static_dim(c, weight, i, &size) || RLX_MUL_OVERFLOWS(steps, size, &steps))
            return NULL;
    if (!rlx_onnx_quantized_pair(c, 0, steps, pair))
        return NULL;
    weight = rlx_onnx_centred(c, &pair[1]);
    const rlx_expr *y = convolve(c, w, rlx_onnx_centred(c, &pair[0]), weight, RELAX_INT32);
    return rlx_onnx_rescaled(c, y, pair, w->n);
}

RLX_ONNX_CONVERTER(convert_conv)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *weight = rlx_onnx_input(c, 1);
    window w;
    x = weight ? rlx_onnx_of_rank(c, x, rlx_onnx_rank(c, weight)) : NULL;
    if (!weight || !read_window(c, x, weight, &w))
        return false;
    const rlx_expr *y = convolve_bytes(c, &w, weight);
    if (!y && !c->failed)
        y = convolve(c, &w, x, weight, RELAX_VOID);
    if (rlx_onnx_has(c, 2))
        y = with_bias(c, y, rlx_onnx_input(c, 2), w.n);
    if (strcmp(c->row->argument, "fused") == 0) {
        if (rlx_onnx_has(c, 3))
            y = rlx_onnx_call2(c, "add", y, rlx_onnx_input(c, 3));
        y = rlx_onnx_activated(c, y);
    }
    return rlx_onnx_output(c, 0, y);
}

/* Total padding that gives the output the sizes that are asked for. */
static bool pad_to(rlx_onnx_conv *c, const rlx_expr *x, window *w, int64_t *extra)
{
    size_t len;
    const int64_t *want = rlx_onnx_int_list(c, "output_shape", &len);
    rlx_slice same = rlx_onnx_string(c, "auto_pad", "NOTSET");
    bool upper = rlx_slice_is(same, "SAME_UPPER"), lower = rlx_slice_is(same, "SAME_LOWER");
    if (!want && !upper && !lower)
        return true;
    for (size_t i = 0; i < w->n; i++) {
        int64_t size = 1, reach = (w->kernel[i] - 1) * w->dilations[i] + 1;
        bool asked = want && len >= w->n; /* otherwise size * stride, of any size */
        if (asked && !rlx_onnx_static_dim(c, x, i + 2, &size))
            return rlx_onnx_fail(c, RLX_ON08, "output_shape needs sizes that are known") != NULL;
        int64_t wanted = asked ? want[len - w->n + i] : w->strides[i];
        int64_t total = w->strides[i] * (size - 1) + extra[i] + reach - wanted;
        if (total < 0)
            extra[i] -= total, total = 0;
        w->pads[i] = upper ? total / 2 : total - total / 2;
        w->pads[i + w->n] = total - w->pads[i];
    }
    return true;
}

RLX_ONNX_CONVERTER(convert_conv_transpose)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *weight = rlx_onnx_input(c, 1);
    window w;
    int64_t extra[MOST_AXES];
    char name[NAME_BYTES];
    if (!weight || !read_window(c, x, weight, &w) ||
        !read_list(c, "output_padding", w.n, 0, extra, 0) || !pad_to(c, x, &w, extra))
        return false;
    w.is_open = false; /* what is padded here does not hang on the sizes */
    /* padding that a stride cannot hold is added afterwards */
    int64_t fits[MOST_AXES], more[2 * (MOST_AXES + 2)] = { 0 };
    bool any = false;
    for (size_t i = 0; i < w.n; i++) {
        fits[i] = extra[i] < w.strides[i] ? extra[i] : w.strides[i] - 1;
        more[2 * (i + 2) + 1] = extra[i] - fits[i];
        any |= extra[i] != fits[i];
    }
    const rlx_expr *y = rlx_onnx_call(
        c, numbered(name, "conv", w.n, "_transpose"),
        "x x strides=I padding=I output_padding=I dilation=I groups=i data_layout=s kernel_layout=s",
        x, weight, w.strides, w.n, w.pads, 2 * w.n, fits, w.n, w.dilations, w.n,
        rlx_onnx_int(c, "group", 1), w.layout, w.transposed);
    if (any)
        y = rlx_onnx_call(c, "nn.pad", "x pad_width=I", y, more, 2 * (w.n + 2));
    if (rlx_onnx_has(c, 2))
        y = with_bias(c, y, rlx_onnx_input(c, 2), w.n);
    return rlx_onnx_output(c, 0, y);
}

/* ---- pooling ----------------------------------------------------------------------------------- */

static const rlx_expr *pool_plain(rlx_onnx_conv *c, const char *stem, const window *w, const rlx_expr *x,
                                  bool count_pads)
{
    char name[NAME_BYTES];
    return rlx_onnx_call(c, numbered(name, stem, w->n, ""),
                         "x pool_size=I strides=I dilation=I padding=I ceil_mode=b "
                         "count_include_pad=b layout=s",
                         x, w->kernel, w->n, w->strides, w->n, w->dilations, w->n, w->pads,
                         2 * w->n, (int)(rlx_onnx_int(c, "ceil_mode", 0) != 0), (int)count_pads,
                         w->layout);
}

static const rlx_expr *pool(rlx_onnx_conv *c, const char *stem, const window *w, const rlx_expr *x,
                            bool count_pads)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    size_t n;
    if (!w->is_open || !x)
        return pool_plain(c, stem, w, x, count_pads);
    if (!strcmp(stem, "max_pool"))
        return pool_plain(c, stem, w, opened(c, w, x, rlx_onnx_least(t)), false);
    const rlx_expr *y = pool_plain(c, stem, w, opened(c, w, x, 0), true);
    const rlx_prim *const *d = count_pads ? NULL : rlx_onnx_dims(c, &x, &n);
    const rlx_prim *one[MOST_AXES + 2];
    if (!d)
        return y;
    memcpy(one, d, n * sizeof *one);
    one[0] = one[1] = rlx_int64(c->ctx, 1);
    /* the share of each window that is no padding */
    const rlx_expr *share = opened(c, w, rlx_onnx_full(c, one, n, t, 1), 0);
    return rlx_onnx_call2(c, "divide", y, pool_plain(c, stem, w, share, true));
}

static bool pool_with_positions(rlx_onnx_conv *c, const window *w, const rlx_expr *x)
{
    char name[NAME_BYTES];
    bool column_major = rlx_onnx_int(c, "storage_order", 0) != 0;
    bool ceil_mode = rlx_onnx_int(c, "ceil_mode", 0) != 0;
    const rlx_expr *y = rlx_onnx_call(
        c, numbered(name, "max_pool", w->n, "_with_indices"),
        "x pool_size=I strides=I dilation=I padding=I ceil_mode=b layout=s column_major=b", x, w->kernel, w->n,
        w->strides, w->n, w->dilations, w->n, w->pads, 2 * w->n, (int)ceil_mode, w->layout, (int)column_major);
    return rlx_onnx_output(c, 0, rlx_onnx_item(c, y, 0)) && rlx_onnx_output(c, 1, rlx_onnx_item(c, y, 1));
}

RLX_ONNX_CONVERTER(convert_pool)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    window w;
    if (!read_window(c, x, NULL, &w))
        return false;
    if (rlx_onnx_wants(c, 1) && w.is_open)
        return rlx_onnx_fail(c, RLX_ON08, "positions with auto_pad and strides need sizes that are known") != NULL;
    if (rlx_onnx_wants(c, 1))
        return pool_with_positions(c, &w, x);
    return rlx_onnx_output(c, 0, pool(c, c->row->argument, &w, x,
                                      rlx_onnx_int(c, "count_include_pad", 0) != 0));
}

/* The means over windows of which all elements count: padding, and what a last window holds beyond it. */
static const rlx_expr *pool_all(rlx_onnx_conv *c, const window *w, const rlx_expr *x)
{
    int64_t pads[2 * (MOST_AXES + 2)] = { 0 };
    size_t n;
    const rlx_expr *y = pool(c, "avg_pool", w, x, true);
    if (w->is_open || !rlx_onnx_int(c, "ceil_mode", 0))
        return y;
    window plain = *w;
    for (size_t i = 0; i < w->n; i++) {
        pads[2 * (i + 2)] = w->pads[i];
        pads[2 * (i + 2) + 1] = w->pads[i + w->n] + w->strides[i] - 1;
        plain.pads[i] = plain.pads[i + w->n] = 0;
    }
    const rlx_prim *const *size = y ? rlx_onnx_dims(c, &y, &n) : NULL;
    x = rlx_onnx_call(c, "nn.pad", "x pad_width=I", x, pads, 2 * (w->n + 2));
    x = size ? pool_plain(c, "avg_pool", &plain, x, true) : NULL;
    for (size_t i = 0; i < w->n && x; i++) /* windows that begin beyond the end are none */
        x = rlx_onnx_slice(c, x, (int64_t)i + 2, rlx_int64(c->ctx, 0), size[i + 2]);
    return x;
}

/* The mean over the window, padding counted, times its size. */
RLX_ONNX_CONVERTER(convert_lp_pool)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    window w;
    double p = c->version < 2 ? rlx_onnx_float(c, "p", 2) : (double)rlx_onnx_int(c, "p", 2);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    double count = 1;
    if (!read_window(c, x, NULL, &w))
        return false;
    for (size_t i = 0; i < w.n; i++)
        count *= (double)w.kernel[i];
    const rlx_expr *y = rlx_onnx_power(c, rlx_onnx_call1(c, "abs", x), p, true);
    y = rlx_onnx_call2(c, "multiply", pool_all(c, &w, y), rlx_onnx_scalar(c, t, count));
    return rlx_onnx_output(c, 0, rlx_onnx_power(c, y, 1 / p, true));
}

static const rlx_expr *as_tensor(rlx_onnx_conv *c, const rlx_prim *p)
{
    return p ? rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &p, 1)) : NULL;
}

static const rlx_prim *product(rlx_onnx_conv *c, const rlx_prim *const *dims, size_t n)
{
    const rlx_prim *p = rlx_int64(c->ctx, 1);
    for (size_t i = 0; i < n && p; i++)
        p = rlx_fold_mul(c->ctx, p, dims[i]);
    return p ? rlx_onnx_simplify(c, p) : NULL;
}

/* Row-major positions in `from` as those in `to`, of as many axes. */
static const rlx_expr *moved_positions(rlx_onnx_conv *c, const rlx_expr *at, const rlx_prim *const *from,
                                       const rlx_prim *const *to, size_t n)
{
    const rlx_expr *sum = NULL;
    for (size_t i = n; i-- > 0 && at;) {
        const rlx_expr *size = as_tensor(c, from[i]), *place = rlx_onnx_call2(c, "floor_mod", at, size);
        place = rlx_onnx_call2(c, "multiply", place, as_tensor(c, product(c, to + i + 1, n - i - 1)));
        at = rlx_onnx_call2(c, "floor_divide", at, size);
        sum = sum ? rlx_onnx_call2(c, "add", sum, place) : place;
    }
    return at ? sum : NULL;
}

/* Elements go back to the positions where they were; the rest is 0. Positions are those in the size that the window gives, also
 * where another one is asked for. */
RLX_ONNX_CONVERTER(convert_max_unpool)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *at = rlx_onnx_input(c, 1);
    window w;
    int64_t flat = -1;
    const rlx_prim *dims[2 + MOST_AXES];
    rlx_onnx_ints want = { .data = dims };
    size_t n;
    const rlx_prim *const *have = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!have || !at || !read_window(c, x, NULL, &w))
        return false;
    memcpy(dims, have, 2 * sizeof *dims);
    for (size_t i = 0; i < w.n; i++) {
        int64_t more = w.kernel[i] - w.pads[i] - w.pads[i + w.n] - w.strides[i];
        const rlx_prim *p = rlx_fold_mul(c->ctx, have[2 + i], rlx_int64(c->ctx, w.strides[i]));
        dims[2 + i] = rlx_onnx_simplify(c, rlx_fold_add(c->ctx, p, rlx_int64(c->ctx, more)));
    }
    at = rlx_onnx_reshape_ints(c, at, &flat, 1);
    if (rlx_onnx_has(c, 2)) {
        if (!rlx_onnx_sizes(c, 2, "output_shape", &want))
            return false;
        if (want.len != w.n + 2)
            return rlx_onnx_fail(c, RLX_ON05, "output_shape has %zu numbers, expected %zu", want.len, w.n + 2) != NULL;
        at = moved_positions(c, at, dims, want.data, w.n + 2);
    }
    const rlx_prim *count = product(c, want.data, w.n + 2);
    const rlx_expr *y = rlx_onnx_full(c, &count, 1, rlx_onnx_dtype_of(c, x), 0);
    y = rlx_onnx_call(c, "scatter_elements", "x x x axis=i", y, at, rlx_onnx_reshape_ints(c, x, &flat, 1), (int64_t)0);
    return rlx_onnx_output(c, 0, rlx_onnx_reshape(c, y, want.data, w.n + 2));
}

/* ---- integers ---------------------------------------------------------------------------------- */

/* Less its zero point, as int32. */
static const rlx_expr *centred(rlx_onnx_conv *c, const rlx_expr *x, size_t zero, size_t behind)
{
    static const int64_t axes[] = { 1, 2, 3, 4 };
    x = rlx_onnx_cast(c, x, RELAX_INT32);
    if (!x || !rlx_onnx_has(c, zero))
        return x;
    const rlx_expr *z = rlx_onnx_cast(c, rlx_onnx_input(c, zero), RELAX_INT32);
    int64_t n = 1;
    if (z && rlx_onnx_rank(c, z) == 1 && !(rlx_onnx_static_dim(c, z, 0, &n) && n == 1))
        z = rlx_onnx_expand_dims(c, z, axes, behind);
    return rlx_onnx_call2(c, "subtract", x, z);
}

RLX_ONNX_CONVERTER(convert_conv_integer)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *weight = rlx_onnx_input(c, 1);
    window w;
    if (!weight || !read_window(c, x, weight, &w))
        return false;
    weight = centred(c, weight, 3, w.n + 1);
    return rlx_onnx_output(c, 0, convolve(c, &w, centred(c, x, 2, 0), weight, RELAX_INT32));
}

/* A scale of one element, or one for each output channel. */
static const rlx_expr *scale_of(rlx_onnx_conv *c, size_t i, size_t behind)
{
    static const int64_t axes[] = { 1, 2, 3, 4 };
    const rlx_expr *s = rlx_onnx_input(c, i);
    return s && rlx_onnx_rank(c, s) == 1 ? rlx_onnx_expand_dims(c, s, axes, behind) : s;
}

RLX_ONNX_CONVERTER(convert_qlinear_conv)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *weight = rlx_onnx_input(c, 3);
    window w;
    if (!weight || !read_window(c, x, weight, &w))
        return false;
    weight = centred(c, weight, 5, w.n + 1);
    const rlx_expr *y = convolve(c, &w, centred(c, x, 2, 0), weight, RELAX_INT32);
    if (rlx_onnx_has(c, 8))
        y = with_bias(c, y, rlx_onnx_input(c, 8), w.n);
    const rlx_expr *s = scale_of(c, 4, w.n);
    s = rlx_onnx_call2(c, "multiply", scale_of(c, 1, 0), s);
    s = rlx_onnx_call2(c, "divide", s, scale_of(c, 6, 0));
    y = rlx_onnx_call2(c, "multiply", rlx_onnx_cast(c, y, RELAX_FLOAT32), s);
    return rlx_onnx_output(c, 0, rlx_onnx_requantize(c, y, rlx_onnx_input(c, 7)));
}
