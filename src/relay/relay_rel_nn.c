/* relay_rel_nn.c: relations of elementwise operators, products, convolutions, pooling,
 * normalisation, losses and quantisation (relay 4.2). */
#include "relay/relay_rel.h"

/* ---- elementwise ------------------------------------------------------------------------------------- */

REL(Identity)
{
    for (size_t i = 1; i < g->num_types; i++)
        if (rlx_relay_rel_assign(g, i, g->types[0]) == RLX_RELAY_FAILS)
            return RLX_RELAY_FAILS;
    return RLX_RELAY_HOLDS;
}

REL(IdentityCompRel)
{
    TENSOR(x, 0);
    return rlx_relay_rel_give(g, 1, x->tensor.dims, x->tensor.ndim, RELAX_BOOL);
}

static outcome broadcast_to_dtype(rlx_relay_goal *g, size_t a, size_t b, bool comparison)
{
    TENSOR(x, a);
    TENSOR(y, b);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    size_t n;
    if (x->tensor.dtype != y->tensor.dtype) {
        char left[RLX_DTYPE_TEXT], right[RLX_DTYPE_TEXT];
        rlx_dtype_name(x->tensor.dtype, left);
        rlx_dtype_name(y->tensor.dtype, right);
        return rlx_relay_rel_fail(g, "the data types differ: %s and %s", left, right);
    }
    if (!rlx_relay_broadcast(g, x->tensor.dims, x->tensor.ndim, y->tensor.dims, y->tensor.ndim, dims, &n))
        return RLX_RELAY_FAILS;
    return rlx_relay_rel_give(g, rlx_relay_rel_out(g), dims, n, comparison ? RELAX_BOOL : x->tensor.dtype);
}
REL(Broadcast) { return broadcast_to_dtype(g, 0, 1, false); }
REL(BroadcastComp) { return broadcast_to_dtype(g, 0, 1, true); }

REL(Where)
{
    TENSOR(c, 0);
    TENSOR(x, 1);
    TENSOR(y, 2);
    rlx_relay_dim both[RLX_RELAY_MAX_RANK], all[RLX_RELAY_MAX_RANK];
    size_t n, m;
    if (x->tensor.dtype != y->tensor.dtype)
        return rlx_relay_rel_fail(g, "the data types of the values differ");
    if (!rlx_relay_broadcast(g, x->tensor.dims, x->tensor.ndim, y->tensor.dims, y->tensor.ndim, both, &n) ||
        !rlx_relay_broadcast(g, c->tensor.dims, c->tensor.ndim, both, n, all, &m))
        return RLX_RELAY_FAILS;
    return rlx_relay_rel_give(g, 3, all, m, x->tensor.dtype);
}

/* ---- products ---------------------------------------------------------------------------------------- */

/* The sums of both sides have the same number of terms. */
static bool same_depth(rlx_relay_goal *g, rlx_relay_dim a, rlx_relay_dim b)
{
    rlx_relay_dim both;
    if (rlx_relay_unify_dim(a, b, &both))
        return true;
    rlx_relay_rel_fail(g, "the dimensions that are summed over differ: %lld and %lld",
                       (long long)(rlx_relay_is_int(a) ? a.value : -1),
                       (long long)(rlx_relay_is_int(b) ? b.value : -1));
    return false;
}

/* x (.., k) by w; in w `rows` is the axis of the results, the other one that of the sum. */
static outcome matrix_product(rlx_relay_goal *g, bool transpose_x, size_t rows, size_t out)
{
    TENSOR(x, 0);
    size_t n = x->tensor.ndim;
    if (n < 1 || (transpose_x && n < 2))
        return rlx_relay_rel_fail(g, "the first argument has rank %zu", n);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK], k;
    rlx_relay_extents(x, dims);
    size_t depth = transpose_x ? n - 2 : n - 1;
    k = dims[depth];
    if (transpose_x)
        dims[n - 2] = dims[n - 1];
    rlx_relay_value units = rlx_relay_rel_attr(g, "units");
    rlx_relay_type *w = rlx_relay_find(g->types[1]);
    rlx_dtype dtype;
    if (units.kind == RLX_RELAY_VALUE_INT) {
        rlx_relay_dim side[2];
        side[rows] = rlx_relay_int(units.i);
        side[1 - rows] = k;
        rlx_dtype of = w->kind == RLX_RELAY_TYPE_TENSOR ? w->tensor.dtype : x->tensor.dtype;
        if (rlx_relay_rel_give(g, 1, side, 2, of) == RLX_RELAY_FAILS)
            return RLX_RELAY_FAILS;
        dims[n - 1] = side[rows];
    } else {
        TENSOR(y, 1);
        if (y->tensor.ndim != 2)
            return rlx_relay_rel_fail(g, "the weight has rank 2, found %zu", y->tensor.ndim);
        if (!same_depth(g, k, rlx_relay_extent(y, 1 - rows)))
            return RLX_RELAY_FAILS;
        dims[n - 1] = rlx_relay_extent(y, rows);
    }
    return rlx_relay_rel_dtype(g, "out_dtype", x->tensor.dtype, &dtype)
               ? rlx_relay_rel_give(g, out, dims, n, dtype) : RLX_RELAY_FAILS;
}

REL(Dense) { return matrix_product(g, false, 0, 2); }
REL(QnnDense) { return matrix_product(g, false, 0, 6); }
REL(Matmul)
{
    return matrix_product(g, rlx_relay_rel_bool(g, "transpose_a"),
                          rlx_relay_rel_bool(g, "transpose_b") ? 0 : 1, 2);
}

static outcome batch_matmul(rlx_relay_goal *g, bool ta, bool tb)
{
    TENSOR(x, 0);
    TENSOR(y, 1);
    rlx_dtype dtype;
    if (x->tensor.ndim != 3 || y->tensor.ndim != 3)
        return rlx_relay_rel_fail(g, "both arguments have rank 3, found %zu and %zu", x->tensor.ndim,
                                  y->tensor.ndim);
    rlx_relay_dim a = rlx_relay_extent(x, 0), b = rlx_relay_extent(y, 0), batch = a;
    if (rlx_relay_differ(a, b) && a.value != 1 && b.value != 1)
        return rlx_relay_rel_fail(g, "the batches differ: %lld and %lld", (long long)a.value,
                                  (long long)b.value);
    if (rlx_relay_is_int(a) && rlx_relay_is_int(b))
        batch = a.value > b.value ? a : b;
    else if (!rlx_relay_unify_dim(a, b, &batch))
        batch = rlx_relay_any();
    if (!same_depth(g, rlx_relay_extent(x, ta ? 1 : 2), rlx_relay_extent(y, tb ? 2 : 1)))
        return RLX_RELAY_FAILS;
    rlx_relay_dim dims[] = { batch, rlx_relay_extent(x, ta ? 2 : 1), rlx_relay_extent(y, tb ? 1 : 2) };
    return rlx_relay_rel_dtype(g, "out_dtype", x->tensor.dtype, &dtype)
               ? rlx_relay_rel_give(g, rlx_relay_rel_out(g), dims, 3, dtype) : RLX_RELAY_FAILS;
}
REL(BatchMatmul)
{
    return batch_matmul(g, rlx_relay_rel_bool(g, "transpose_a"), rlx_relay_rel_bool(g, "transpose_b"));
}
REL(QnnBatchMatmul) { return batch_matmul(g, false, true); }

/* "ij,jk->ik": letters name extents, those that agree unify. */
REL(Einsum)
{
    outcome why;
    const rlx_relay_type *t = rlx_relay_rel_tuple(g, 0, &why);
    rlx_slice text = rlx_relay_rel_text(g, "equation");
    rlx_relay_dim of[256];
    bool seen[256] = { false };
    rlx_dtype dtype = RELAX_VOID;
    size_t at = 0;
    if (!t)
        return why;
    for (size_t i = 0; i < t->tuple.count; i++) {
        tensor x = rlx_relay_rel_field(g, t, i, &why);
        if (!x)
            return why;
        dtype = i ? dtype : x->tensor.dtype;
        size_t n = 0;
        for (; at < text.len && text.data[at] != ',' && text.data[at] != '-'; at++) {
            unsigned char c = (unsigned char)text.data[at];
            if (c == ' ')
                continue;
            if (n >= x->tensor.ndim)
                return rlx_relay_rel_fail(g, "operand %zu has rank %zu, the equation says more", i + 1,
                                          x->tensor.ndim);
            rlx_relay_dim d = rlx_relay_extent(x, n++);
            bool one = rlx_relay_is_int(d) && d.value == 1;
            if (seen[c] && !one && rlx_relay_is_int(of[c]) && of[c].value == 1)
                of[c] = d;
            else if (seen[c] && !one && !rlx_relay_unify_dim(of[c], d, &of[c]))
                return rlx_relay_rel_fail(g, "'%c' stands for different extents", c);
            else if (!seen[c])
                of[c] = d;
            seen[c] = true;
        }
        if (n != x->tensor.ndim)
            return rlx_relay_rel_fail(g, "operand %zu has rank %zu, the equation says %zu", i + 1,
                                      x->tensor.ndim, n);
        at += at < text.len && text.data[at] == ',';
    }
    if (at + 1 >= text.len || text.data[at] != '-' || text.data[at + 1] != '>')
        return rlx_relay_rel_fail(g, "the equation says its result behind '->'");
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    size_t n = 0;
    for (at += 2; at < text.len; at++) {
        unsigned char c = (unsigned char)text.data[at];
        if (c == ' ')
            continue;
        if (!seen[c] || n == RLX_RELAY_MAX_RANK)
            return rlx_relay_rel_fail(g, "'%c' of the result is in no operand", c);
        dims[n++] = of[c];
    }
    return rlx_relay_rel_give(g, 1, dims, n, dtype);
}

/* ---- convolutions ------------------------------------------------------------------------------------ */

/* Where each letter of `wanted` stands in a layout of as many single letters. */
static bool find_letters(rlx_relay_goal *g, rlx_slice layout, const char *wanted, size_t *at)
{
    size_t n = strlen(wanted);
    bool ok = layout.len == n;
    for (size_t i = 0; ok && i < n; i++) {
        const char *found = memchr(layout.data, wanted[i], layout.len);
        ok = found != NULL;
        at[i] = found ? (size_t)(found - layout.data) : 0;
    }
    if (!ok)
        rlx_relay_rel_fail(g, "the layout %.*s is no order of the letters %s",
                           (int)(layout.len > 40 ? 40 : layout.len), layout.data, wanted);
    return ok;
}

typedef struct window {
    size_t rank;                              /* of the spatial part */
    int64_t strides[3], dilation[3], pad[3];  /* pad: of both sides together */
    int64_t extra[3];                         /* output_padding */
} window;

static bool spread(rlx_relay_goal *g, const char *name, size_t rank, int64_t *out)
{
    int64_t all[2 * RLX_RELAY_MAX_RANK];
    int n;
    if (!rlx_relay_rel_ints(g, name, all, &n))
        return false;
    if (n != (int)rank && n != 1) {
        rlx_relay_rel_fail(g, "%s has %zu items, found %d", name, rank, n);
        return false;
    }
    for (size_t i = 0; i < rank; i++)
        out[i] = all[n == 1 ? 0 : i];
    return true;
}

/* One value: all sides; one for each axis: both of its sides; two for each: begins, then ends. */
static bool read_padding(rlx_relay_goal *g, size_t rank, int64_t *out)
{
    int64_t all[2 * RLX_RELAY_MAX_RANK];
    int n;
    if (!rlx_relay_rel_ints(g, "padding", all, &n))
        return false;
    if (n != 1 && n != (int)rank && n != 2 * (int)rank) {
        rlx_relay_rel_fail(g, "padding has 1, %zu or %zu items, found %d", rank, 2 * rank, n);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (all[i] > INT32_MAX || all[i] < -INT32_MAX) {
            rlx_relay_rel_fail(g, "a padding of %lld", (long long)all[i]);
            return false;
        }
    for (size_t i = 0; i < rank; i++)
        out[i] = n == 1 ? 2 * all[0] : n == (int)rank ? 2 * all[i] : all[i] + all[rank + i];
    return true;
}

static bool read_window(rlx_relay_goal *g, size_t rank, window *w)
{
    w->rank = rank;
    if (!spread(g, "strides", rank, w->strides) || !spread(g, "dilation", rank, w->dilation) ||
        !read_padding(g, rank, w->pad))
        return false;
    for (size_t i = 0; i < rank; i++)
        if (w->strides[i] < 1 || w->dilation[i] < 1 || w->strides[i] > INT32_MAX || w->dilation[i] > INT32_MAX) {
            rlx_relay_rel_fail(g, "strides and dilation are positive numbers of 32 bits");
            return false;
        }
    return true;
}

/* The extent of what the window gives at its places; false after a report: it fits nowhere. */
static bool slide(rlx_relay_goal *g, rlx_relay_dim in, rlx_relay_dim kernel, const window *w, size_t i, bool ceil,
                  rlx_relay_dim *out)
{
    *out = rlx_relay_any();
    if (!rlx_relay_is_int(in) || !rlx_relay_is_int(kernel))
        return true;
    if (kernel.value < 1 || kernel.value > INT32_MAX || in.value > INT64_MAX >> 2) {
        rlx_relay_rel_fail(g, "a window of %lld elements over %lld", (long long)kernel.value, (long long)in.value);
        return false;
    }
    int64_t room = in.value + w->pad[i], span = room - w->dilation[i] * (kernel.value - 1) - 1;
    if (span < 0) {
        rlx_relay_rel_fail(g, "the window has %lld elements, the padded data %lld",
                           (long long)(w->dilation[i] * (kernel.value - 1) + 1), (long long)room);
        return false;
    }
    *out = rlx_relay_int((span + (ceil ? w->strides[i] - 1 : 0)) / w->strides[i] + 1);
    return true;
}

static const char *const data_letters[] = { "", "NCW", "NCHW", "NCDHW" };
static const char *const kernel_letters[] = { "", "OIW", "OIHW", "OIDHW" };

/* The weight's type where the attributes say it all: channels and kernel_size. */
static outcome assign_weight(rlx_relay_goal *g, size_t rank, const size_t *at, rlx_relay_dim channels_in,
                             rlx_dtype dtype, bool transposed, rlx_relay_dim *kernel, rlx_relay_dim *channels)
{
    int64_t size[2 * RLX_RELAY_MAX_RANK], groups = rlx_relay_rel_int(g, "groups");
    int64_t c = rlx_relay_rel_int(g, "channels");
    int n;
    if (!rlx_relay_rel_ints(g, "kernel_size", size, &n) || (n != 1 && n != (int)rank))
        return rlx_relay_rel_fail(g, "kernel_size has %zu items", rank);
    rlx_relay_dim o = rlx_relay_int(c), i = channels_in;
    if (transposed) {
        o = rlx_relay_int(c / groups);
    } else if (rlx_relay_is_int(channels_in)) {
        bool depthwise = groups > 1 && groups == channels_in.value && groups != c && c % groups == 0;
        rlx_relay_type *w = rlx_relay_find(g->types[1]);
        /* Depthwise weights may put the multiplier where the inputs of a group stand. */
        bool swapped = depthwise && w->kind == RLX_RELAY_TYPE_TENSOR && w->tensor.ndim == rank + 2 &&
                       !rlx_relay_differ(rlx_relay_extent(w, at[0]), rlx_relay_int(groups));
        o = swapped ? rlx_relay_int(groups) : o;
        i = rlx_relay_int(swapped ? c / groups : channels_in.value / groups);
    }
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    dims[at[0]] = o;
    dims[at[1]] = i;
    for (size_t k = 0; k < rank; k++)
        dims[at[2 + k]] = kernel[k] = rlx_relay_int(size[n == 1 ? 0 : k]);
    *channels = rlx_relay_int(c);
    return rlx_relay_rel_give(g, 1, dims, rank + 2, dtype);
}

/* Channels and kernel as the weight says them, where it must fit what else is said. */
static outcome read_weight(rlx_relay_goal *g, size_t rank, const size_t *at, rlx_relay_dim channels_in,
                           bool transposed, rlx_relay_dim *kernel, rlx_relay_dim *channels)
{
    TENSOR(w, 1);
    int64_t size[2 * RLX_RELAY_MAX_RANK], groups = rlx_relay_rel_int(g, "groups");
    rlx_relay_value said = rlx_relay_rel_attr(g, "channels");
    int n;
    if (w->tensor.ndim != rank + 2)
        return rlx_relay_rel_fail(g, "the weight has rank %zu, found %zu", rank + 2, w->tensor.ndim);
    if (!rlx_relay_rel_ints(g, "kernel_size", size, &n))
        return RLX_RELAY_FAILS;
    rlx_relay_dim o = rlx_relay_extent(w, at[0]), i = rlx_relay_extent(w, at[1]);
    for (size_t k = 0; k < rank; k++) {
        kernel[k] = rlx_relay_extent(w, at[2 + k]);
        if (n > 0 && rlx_relay_differ(kernel[k], rlx_relay_int(size[n == 1 ? 0 : k])))
            return rlx_relay_rel_fail(g, "kernel_size says %lld, the weight %lld",
                                      (long long)size[n == 1 ? 0 : k], (long long)kernel[k].value);
    }
    rlx_relay_dim per_group = rlx_relay_is_int(channels_in) && !transposed
                                  ? rlx_relay_int(channels_in.value / groups) : channels_in;
    bool depthwise = groups > 1 && !rlx_relay_differ(channels_in, rlx_relay_int(groups)) &&
                     !rlx_relay_differ(o, rlx_relay_int(groups));
    if (!depthwise && rlx_relay_differ(per_group, i))
        return rlx_relay_rel_fail(g, "the weight takes %lld channels, a group of the data has %lld",
                                  (long long)i.value, (long long)per_group.value);
    *channels = o;
    if (depthwise && !transposed)
        *channels = rlx_relay_is_int(i) ? rlx_relay_int(groups * i.value) : rlx_relay_any();
    else if (transposed)
        *channels = rlx_relay_is_int(o) ? rlx_relay_int(o.value * groups) : o;
    if (said.kind == RLX_RELAY_VALUE_INT && rlx_relay_differ(*channels, rlx_relay_int(said.i)))
        return rlx_relay_rel_fail(g, "channels says %lld, the weight %lld", (long long)said.i,
                                  (long long)channels->value);
    return RLX_RELAY_HOLDS;
}

static rlx_relay_dim slide_back(rlx_relay_dim in, rlx_relay_dim kernel, const window *w, size_t i)
{
    if (!rlx_relay_is_int(in) || !rlx_relay_is_int(kernel) || in.value > INT32_MAX || kernel.value > INT32_MAX ||
        w->extra[i] > INT32_MAX || w->extra[i] < 0) /* of numbers like these Relax says what is wrong */
        return rlx_relay_any();
    int64_t v = w->strides[i] * (in.value - 1) + w->dilation[i] * (kernel.value - 1) + 1 - w->pad[i] +
                w->extra[i];
    return rlx_relay_int(v < 0 ? 0 : v);
}

static outcome convolution(rlx_relay_goal *g, size_t rank, bool transposed)
{
    TENSOR(x, 0);
    size_t data_at[5], kernel_at[5], out_at[5];
    rlx_slice layout = rlx_relay_rel_text(g, "data_layout"), out = rlx_relay_rel_text(g, "out_layout");
    rlx_relay_dim kernel[3], channels, dims[RLX_RELAY_MAX_RANK];
    window w = { 0 };
    rlx_dtype dtype;
    if (x->tensor.ndim != rank + 2)
        return rlx_relay_rel_fail(g, "the data has rank %zu, found %zu", rank + 2, x->tensor.ndim);
    if (!find_letters(g, layout, data_letters[rank], data_at) ||
        !find_letters(g, rlx_relay_rel_text(g, "kernel_layout"), kernel_letters[rank], kernel_at) ||
        !find_letters(g, out.len ? out : layout, data_letters[rank], out_at) ||
        !read_window(g, rank, &w) || (transposed && !spread(g, "output_padding", rank, w.extra)) ||
        !rlx_relay_rel_dtype(g, "out_dtype", x->tensor.dtype, &dtype))
        return RLX_RELAY_FAILS;
    if (rlx_relay_rel_int(g, "groups") < 1)
        return rlx_relay_rel_fail(g, "groups is positive");
    rlx_relay_dim in = rlx_relay_extent(x, data_at[1]);
    rlx_relay_type *weight = rlx_relay_find(g->types[1]);
    bool said = rlx_relay_rel_attr(g, "channels").kind == RLX_RELAY_VALUE_INT &&
                rlx_relay_rel_attr(g, "kernel_size").kind != RLX_RELAY_VALUE_NONE;
    rlx_dtype of = weight->kind == RLX_RELAY_TYPE_TENSOR ? weight->tensor.dtype : x->tensor.dtype;
    outcome o = said ? assign_weight(g, rank, kernel_at, in, of, transposed, kernel, &channels)
                     : read_weight(g, rank, kernel_at, in, transposed, kernel, &channels);
    if (o != RLX_RELAY_HOLDS)
        return o;
    dims[out_at[0]] = rlx_relay_extent(x, data_at[0]);
    dims[out_at[1]] = channels;
    for (size_t i = 0; i < rank; i++) {
        rlx_relay_dim d = rlx_relay_extent(x, data_at[2 + i]);
        if (transposed)
            dims[out_at[2 + i]] = slide_back(d, kernel[i], &w, i);
        else if (!slide(g, d, kernel[i], &w, i, false, &dims[out_at[2 + i]]))
            return RLX_RELAY_FAILS;
    }
    return rlx_relay_rel_give(g, rlx_relay_rel_out(g), dims, rank + 2, dtype);
}
REL(Conv1D) { return convolution(g, 1, false); }
REL(Conv2D) { return convolution(g, 2, false); }
REL(Conv3D) { return convolution(g, 3, false); }
REL(QnnConv2D) { return convolution(g, 2, false); }
REL(Conv1DTranspose) { return convolution(g, 1, true); }
REL(Conv2DTranspose) { return convolution(g, 2, true); }
REL(Conv3DTranspose) { return convolution(g, 3, true); }
REL(QnnConv2DTranspose) { return convolution(g, 2, true); }

/* The data, where its pixels are taken from, the weight: as many places as the second argument has. */
REL(DeformableConv2D)
{
    TENSOR(x, 0);
    TENSOR(offset, 1);
    size_t data_at[4], kernel_at[4], out_at[4];
    rlx_slice layout = rlx_relay_rel_text(g, "data_layout"), out = rlx_relay_rel_text(g, "out_layout");
    rlx_relay_value channels = rlx_relay_rel_attr(g, "channels");
    int64_t size[2 * RLX_RELAY_MAX_RANK], groups = rlx_relay_rel_int(g, "groups");
    int n;
    rlx_dtype dtype;
    if (x->tensor.ndim != 4 || offset->tensor.ndim != 4 || groups < 1)
        return rlx_relay_rel_fail(g, "data and offsets have rank 4, groups is positive");
    if (!find_letters(g, layout, "NCHW", data_at) || !find_letters(g, out.len ? out : layout, "NCHW", out_at) ||
        !find_letters(g, rlx_relay_rel_text(g, "kernel_layout"), "OIHW", kernel_at) ||
        !rlx_relay_rel_ints(g, "kernel_size", size, &n) || !rlx_relay_rel_dtype(g, "out_dtype", x->tensor.dtype, &dtype))
        return RLX_RELAY_FAILS;
    rlx_relay_dim in = rlx_relay_extent(x, data_at[1]), dims[4];
    if (channels.kind == RLX_RELAY_VALUE_INT && n > 0 && rlx_relay_is_int(in)) {
        dims[kernel_at[0]] = rlx_relay_int(channels.i);
        dims[kernel_at[1]] = rlx_relay_int(in.value / groups);
        dims[kernel_at[2]] = rlx_relay_int(size[0]);
        dims[kernel_at[3]] = rlx_relay_int(size[n - 1]);
        if (rlx_relay_rel_give(g, 2, dims, 4, x->tensor.dtype) == RLX_RELAY_FAILS)
            return RLX_RELAY_FAILS;
    }
    TENSOR(w, 2);
    if (w->tensor.ndim != 4)
        return rlx_relay_rel_fail(g, "the weight has rank 4, found %zu", w->tensor.ndim);
    dims[out_at[0]] = rlx_relay_extent(x, data_at[0]);
    dims[out_at[1]] = rlx_relay_extent(w, kernel_at[0]);
    dims[out_at[2]] = rlx_relay_extent(offset, data_at[2]);
    dims[out_at[3]] = rlx_relay_extent(offset, data_at[3]);
    return rlx_relay_rel_give(g, 3, dims, 4, dtype);
}

/* ---- pooling and pictures ------------------------------------------------------------------------------ */

/* Spatial axes, found by their letters in a layout such as NCHW or NHWC; inner blocks (NCHW4c) keep
 * their place. */
static bool spatial_axes(rlx_relay_goal *g, tensor x, const char *letters, size_t *at)
{
    rlx_slice layout = rlx_relay_rel_text(g, "layout");
    size_t rank = 0;
    for (size_t i = 0; i < layout.len; i++) /* an axis is a letter, with the size in front of it */
        rank += layout.data[i] < '0' || layout.data[i] > '9';
    bool ok = rank == x->tensor.ndim;
    for (size_t k = 0; ok && letters[k]; k++) {
        size_t axis = 0, i = 0;
        for (; i < layout.len && layout.data[i] != letters[k]; i++)
            axis += layout.data[i] < '0' || layout.data[i] > '9';
        at[k] = axis;
        ok = i < layout.len;
    }
    if (!ok)
        rlx_relay_rel_fail(g, "the layout %.*s does not fit a tensor of rank %zu", (int)layout.len,
                           layout.data, x->tensor.ndim);
    return ok;
}
static const char *const spatial[] = { "", "W", "HW", "DHW" };

static outcome pool(rlx_relay_goal *g, size_t rank)
{
    TENSOR(x, 0);
    size_t at[3];
    int64_t size[3];
    window w = { 0 };
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!spatial_axes(g, x, spatial[rank], at) || !read_window(g, rank, &w) ||
        !spread(g, "pool_size", rank, size))
        return RLX_RELAY_FAILS;
    rlx_relay_extents(x, dims);
    for (size_t i = 0; i < rank; i++)
        if (!slide(g, dims[at[i]], rlx_relay_int(size[i]), &w, i, rlx_relay_rel_bool(g, "ceil_mode"), &dims[at[i]]))
            return RLX_RELAY_FAILS;
    return rlx_relay_rel_give(g, 1, dims, x->tensor.ndim, x->tensor.dtype);
}
REL(Pool1D) { return pool(g, 1); }
REL(Pool2D) { return pool(g, 2); }
REL(Pool3D) { return pool(g, 3); }

REL(GlobalPool2D)
{
    TENSOR(x, 0);
    size_t at[2];
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!spatial_axes(g, x, "HW", at))
        return RLX_RELAY_FAILS;
    rlx_relay_extents(x, dims);
    dims[at[0]] = dims[at[1]] = rlx_relay_int(1);
    return rlx_relay_rel_give(g, 1, dims, x->tensor.ndim, x->tensor.dtype);
}

static outcome adaptive_pool(rlx_relay_goal *g, size_t rank)
{
    TENSOR(x, 0);
    size_t at[3];
    int64_t size[2 * RLX_RELAY_MAX_RANK];
    int n;
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!spatial_axes(g, x, spatial[rank], at) || !rlx_relay_rel_ints(g, "output_size", size, &n))
        return RLX_RELAY_FAILS;
    if (n > 1 && n != (int)rank)
        return rlx_relay_rel_fail(g, "output_size has %zu items, found %d", rank, n);
    rlx_relay_extents(x, dims);
    for (size_t i = 0; n > 0 && i < rank; i++)
        dims[at[i]] = rlx_relay_int(size[n == 1 ? 0 : i]);
    return rlx_relay_rel_give(g, 1, dims, x->tensor.ndim, x->tensor.dtype);
}
REL(AdaptivePool1D) { return adaptive_pool(g, 1); }
REL(AdaptivePool2D) { return adaptive_pool(g, 2); }
REL(AdaptivePool3D) { return adaptive_pool(g, 3); }

static outcome resize(rlx_relay_goal *g, size_t rank)
{
    TENSOR(x, 0);
    size_t at[3];
    int64_t size[2 * RLX_RELAY_MAX_RANK];
    int n;
    rlx_dtype dtype;
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!spatial_axes(g, x, spatial[rank], at) || !rlx_relay_rel_ints(g, "size", size, &n) ||
        !rlx_relay_rel_dtype(g, "out_dtype", x->tensor.dtype, &dtype))
        return RLX_RELAY_FAILS;
    if (n != 1 && n != (int)rank)
        return rlx_relay_rel_fail(g, "size has %zu items, found %d", rank, n);
    rlx_relay_extents(x, dims);
    for (size_t i = 0; i < rank; i++)
        dims[at[i]] = rlx_relay_int(size[n == 1 ? 0 : i]);
    return rlx_relay_rel_give(g, 1, dims, x->tensor.ndim, dtype);
}
REL(Resize1D) { return resize(g, 1); }
REL(Resize2D) { return resize(g, 2); }
REL(Resize3D) { return resize(g, 3); }

static rlx_relay_dim scale(rlx_relay_dim d, double by)
{
    if (!rlx_relay_is_int(d) || !(by > 0) || (double)d.value * by > 1e15)
        return rlx_relay_any();
    return rlx_relay_int((int64_t)((double)d.value * by + 0.5));
}

static outcome upsample(rlx_relay_goal *g, size_t rank)
{
    static const char *const scales[] = { "scale_d", "scale_h", "scale_w" };
    TENSOR(x, 0);
    size_t at[3];
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!spatial_axes(g, x, spatial[rank], at))
        return RLX_RELAY_FAILS;
    rlx_relay_extents(x, dims);
    for (size_t i = 0; i < rank; i++)
        dims[at[i]] = scale(dims[at[i]], rlx_relay_rel_float(g, scales[3 - rank + i]));
    return rlx_relay_rel_give(g, 1, dims, x->tensor.ndim, x->tensor.dtype);
}
REL(UpSampling) { return upsample(g, 2); }
REL(UpSampling3D) { return upsample(g, 3); }

/* The extents that only the run knows: those of the spatial axes. */
static outcome unknown_sizes(rlx_relay_goal *g)
{
    TENSOR(x, 0);
    size_t at[2];
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    rlx_dtype dtype;
    if (!spatial_axes(g, x, "HW", at) || !rlx_relay_rel_dtype(g, "out_dtype", x->tensor.dtype, &dtype))
        return RLX_RELAY_FAILS;
    rlx_relay_extents(x, dims);
    dims[at[0]] = dims[at[1]] = rlx_relay_any();
    return rlx_relay_rel_give(g, rlx_relay_rel_out(g), dims, x->tensor.ndim, dtype);
}
REL(DynUpSampling) { return unknown_sizes(g); }
REL(DynResize2D) { return unknown_sizes(g); }

/* C, H, W by letters; depth goes into space, or the other way round. */
static outcome depth_and_space(rlx_relay_goal *g, bool to_space)
{
    TENSOR(x, 0);
    size_t at[3];
    int64_t b = rlx_relay_rel_int(g, "block_size");
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (b < 1 || b > 1 << 20)
        return rlx_relay_rel_fail(g, "block_size is positive");
    if (!spatial_axes(g, x, "CHW", at))
        return RLX_RELAY_FAILS;
    rlx_relay_extents(x, dims);
    for (size_t i = 0; i < 3; i++) {
        bool divide = (i == 0) == to_space;
        int64_t by = i ? b : b * b;
        rlx_relay_dim *d = &dims[at[i]];
        if (!rlx_relay_is_int(*d))
            continue;
        if (!divide && d->value > INT64_MAX / by)
            return rlx_relay_rel_fail(g, "%lld times %lld does not fit 64 bits", (long long)d->value, (long long)by);
        if (divide && d->value % by)
            return rlx_relay_rel_fail(g, "%lld is no multiple of %lld", (long long)d->value, (long long)by);
        d->value = divide ? d->value / by : d->value * by;
    }
    return rlx_relay_rel_give(g, 1, dims, x->tensor.ndim, x->tensor.dtype);
}
REL(DepthToSpace) { return depth_and_space(g, true); }
REL(SpaceToDepth) { return depth_and_space(g, false); }

/* ---- normalisation ------------------------------------------------------------------------------------- */

/* Arguments first .. last are vectors along the axis of x. */
static outcome assign_vectors(rlx_relay_goal *g, tensor x, int64_t axis, size_t first, size_t last,
                              rlx_relay_dim *extent)
{
    size_t at;
    if (!rlx_relay_axis(g, axis, x->tensor.ndim, &at))
        return RLX_RELAY_FAILS;
    *extent = rlx_relay_extent(x, at);
    for (size_t i = first; i <= last; i++)
        if (rlx_relay_rel_give(g, i, extent, 1, x->tensor.dtype) == RLX_RELAY_FAILS)
            return RLX_RELAY_FAILS;
    return RLX_RELAY_HOLDS;
}

static outcome vectors_and_same(rlx_relay_goal *g, size_t last, size_t least_rank)
{
    TENSOR(x, 0);
    rlx_relay_dim d;
    if (x->tensor.ndim < least_rank)
        return rlx_relay_rel_fail(g, "the data has at least rank %zu, found %zu", least_rank, x->tensor.ndim);
    if (assign_vectors(g, x, rlx_relay_rel_int(g, "axis"), 1, last, &d) == RLX_RELAY_FAILS)
        return RLX_RELAY_FAILS;
    return rlx_relay_rel_assign(g, rlx_relay_rel_out(g), g->types[0]);
}
REL(BiasAdd) { return vectors_and_same(g, 1, 1); }
REL(PRelu) { return vectors_and_same(g, 1, 1); }
REL(LayerNorm) { return vectors_and_same(g, 2, 1); }
REL(GroupNorm) { return vectors_and_same(g, 2, 1); }
REL(InstanceNorm) { return vectors_and_same(g, 2, 3); }

REL(Softmax)
{
    TENSOR(x, 0);
    size_t at;
    if (!rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), x->tensor.ndim, &at))
        return RLX_RELAY_FAILS;
    return rlx_relay_rel_assign(g, 1, g->types[0]);
}

REL(BatchNorm)
{
    TENSOR(x, 0);
    rlx_relay_dim d;
    if (assign_vectors(g, x, rlx_relay_rel_int(g, "axis"), 1, 4, &d) == RLX_RELAY_FAILS)
        return RLX_RELAY_FAILS;
    rlx_relay_type *vector = rlx_relay_tensor(g->solver, &d, 1, x->tensor.dtype);
    rlx_relay_type *fields[] = { rlx_relay_find(g->types[0]), vector, vector };
    return vector ? rlx_relay_rel_assign(g, 5, rlx_relay_tuple(g->solver, fields, 3)) : RLX_RELAY_FAILS;
}

REL(Dropout)
{
    TENSOR(x, 0);
    rlx_relay_type *both[] = { rlx_relay_find(g->types[0]), rlx_relay_find(g->types[0]) };
    return x ? rlx_relay_rel_assign(g, 1, rlx_relay_tuple(g->solver, both, 2)) : RLX_RELAY_FAILS;
}

REL(BatchFlatten)
{
    TENSOR(x, 0);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK], out[2];
    if (!x->tensor.ndim)
        return rlx_relay_rel_fail(g, "a scalar has no batch");
    rlx_relay_extents(x, dims);
    out[0] = dims[0];
    if (!rlx_relay_product(g, dims + 1, x->tensor.ndim - 1, &out[1]))
        return RLX_RELAY_FAILS;
    return rlx_relay_rel_give(g, rlx_relay_rel_out(g), out, 2, x->tensor.dtype);
}
REL(Flatten) { return rlx_relay_rel_BatchFlatten(g); }

/* Pairs (before, after), one for each dimension. */
static outcome pad(rlx_relay_goal *g, size_t out)
{
    TENSOR(x, 0);
    rlx_relay_value v = rlx_relay_rel_attr(g, "pad_width");
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (v.kind != RLX_RELAY_VALUE_LIST || v.list.count != x->tensor.ndim)
        return rlx_relay_rel_fail(g, "pad_width has a pair for each of the %zu dimensions", x->tensor.ndim);
    rlx_relay_extents(x, dims);
    for (size_t i = 0; i < x->tensor.ndim; i++) {
        const rlx_relay_value *pair = &v.list.items[i];
        if (pair->kind != RLX_RELAY_VALUE_LIST || pair->list.count != 2 ||
            pair->list.items[0].kind != RLX_RELAY_VALUE_INT || pair->list.items[1].kind != RLX_RELAY_VALUE_INT)
            return rlx_relay_rel_fail(g, "pad_width has a pair of integers for each dimension");
        if (!rlx_relay_is_int(dims[i]))
            continue;
        const int64_t most = INT64_MAX >> 3;
        int64_t before = pair->list.items[0].i, after = pair->list.items[1].i;
        if (before > most || before < -most || after > most || after < -most || dims[i].value > most)
            return rlx_relay_rel_fail(g, "dimension %zu would not fit 64 bits", i);
        dims[i].value += before + after;
        if (dims[i].value < 0)
            return rlx_relay_rel_fail(g, "dimension %zu would get a negative extent", i);
    }
    return rlx_relay_rel_give(g, out, dims, x->tensor.ndim, x->tensor.dtype);
}
REL(Pad) { return pad(g, 2); }
REL(MirrorPad) { return pad(g, 1); }

REL(CrossEntropy)
{
    TENSOR(x, 0);
    TENSOR(y, 1);
    if (x->tensor.ndim != 2 || y->tensor.ndim != 2)
        return rlx_relay_rel_fail(g, "both arguments have rank 2");
    for (size_t i = 0; i < 2; i++)
        if (rlx_relay_differ(rlx_relay_extent(x, i), rlx_relay_extent(y, i)))
            return rlx_relay_rel_fail(g, "the arguments have different shapes");
    return rlx_relay_rel_give(g, 2, NULL, 0, x->tensor.dtype);
}

REL(NLLLoss)
{
    TENSOR(x, 0);
    TENSOR(t, 1);
    TENSOR(w, 2);
    if (!x->tensor.ndim || t->tensor.ndim + 1 != x->tensor.ndim || w->tensor.ndim != 1)
        return rlx_relay_rel_fail(g, "predictions (N, C, d..), targets (N, d..) and weights (C)");
    if (!rlx_dtype_is_int(t->tensor.dtype) || !rlx_dtype_is_float(x->tensor.dtype) ||
        w->tensor.dtype != x->tensor.dtype)
        return rlx_relay_rel_fail(g, "targets are integers, weights of the type of the predictions");
    for (size_t i = 0; i < t->tensor.ndim; i++)
        if (rlx_relay_differ(rlx_relay_extent(t, i), rlx_relay_extent(x, i ? i + 1 : 0)))
            return rlx_relay_rel_fail(g, "targets and predictions have different shapes");
    bool none = rlx_slice_is(rlx_relay_rel_text(g, "reduction"), "none");
    return rlx_relay_rel_give(g, 3, t->tensor.dims, none ? t->tensor.ndim : 0, x->tensor.dtype);
}

/* ---- quantisation -------------------------------------------------------------------------------------- */

/* A scale or zero point: a scalar, or a vector along the axis. */
static outcome check_parameter(rlx_relay_goal *g, size_t i, rlx_dtype dtype)
{
    TENSOR(t, i);
    if (t->tensor.ndim > 1 || t->tensor.dtype != dtype)
        return rlx_relay_rel_fail(g, "argument %zu is a %s scalar or vector", i + 1,
                                  dtype == RELAX_INT32 ? "int32" : "float32");
    return RLX_RELAY_HOLDS;
}

static outcome quantised(rlx_relay_goal *g, rlx_dtype otherwise, size_t num_parameters)
{
    TENSOR(x, 0);
    rlx_dtype dtype;
    for (size_t i = 1; i <= num_parameters; i++) {
        outcome o = check_parameter(g, i, i % 2 ? RELAX_FLOAT32 : RELAX_INT32);
        if (o != RLX_RELAY_HOLDS)
            return o;
    }
    if (!rlx_relay_rel_dtype(g, "out_dtype", otherwise, &dtype))
        return RLX_RELAY_FAILS;
    return rlx_relay_rel_give(g, rlx_relay_rel_out(g), x->tensor.dims, x->tensor.ndim, dtype);
}
static outcome quantised_like(rlx_relay_goal *g)
{
    TENSOR(x, 0);
    return quantised(g, x->tensor.dtype, 4);
}
REL(QnnQuantize) { return quantised(g, RELAX_INT8, 2); }
REL(QnnDequantize) { return quantised(g, RELAX_FLOAT32, 2); }
REL(QnnRequantize) { return quantised(g, RELAX_INT8, 4); }

REL(QnnBroadcast)
{
    for (size_t i = 2; i < 8; i++) {
        outcome o = check_parameter(g, i, i % 2 ? RELAX_INT32 : RELAX_FLOAT32);
        if (o != RLX_RELAY_HOLDS)
            return o;
    }
    return broadcast_to_dtype(g, 0, 1, false);
}

/* x, scale, zero point, those of the result */
REL(QnnUnary) { return quantised_like(g); }

/* A tuple of tensors, one of scales, one of zero points, scale and zero point of the result. */
REL(QnnConcatenate)
{
    for (size_t i = 3; i < 5; i++) {
        outcome o = check_parameter(g, i, i % 2 ? RELAX_FLOAT32 : RELAX_INT32);
        if (o != RLX_RELAY_HOLDS)
            return o;
    }
    return rlx_relay_rel_Concatenate(g);
}
