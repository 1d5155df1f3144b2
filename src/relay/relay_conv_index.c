/* relay_conv_index.c: reductions, scans, orders, slices, elements by position. */
#include "relay/relay_convert.h"

#define CONVERTER(name) const rlx_expr *rlx_relay_convert_##name(rlx_relay_conv *c)

enum { MOST_AXES = 64 };

/* ---- reductions ------------------------------------------------------------------------------------------ */

/* The axes to reduce: those of `axis`, all of them if that is None, or with `exclude` all others. */
static bool reduced_axes(rlx_relay_conv *c, int ndim, int64_t *out, size_t *count)
{
    int64_t listed[MOST_AXES];
    size_t n;
    if (!rlx_relay_attr_axes(c, "axis", ndim, listed, &n))
        return false;
    bool exclude = rlx_relay_attr_bool(c, "exclude");
    *count = 0;
    for (size_t k = 0, i = 0; i < (size_t)ndim; i++) {
        bool is_listed = k < n && listed[k] == (int64_t)i;
        k += is_listed;
        if (is_listed != exclude)
            out[(*count)++] = (int64_t)i;
    }
    return true;
}

CONVERTER(reduce)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axes[MOST_AXES];
    size_t n;
    if (!reduced_axes(c, rlx_relay_rank(c, x), axes, &n))
        return NULL;
    return n ? rlx_relay_make(c, c->row->argument, "x axis=I keepdims=b", x, axes, n,
                              (int)rlx_relay_attr_bool(c, "keepdims")) : x;
}

/* all, any: of bool as the least or greatest of int8 */
CONVERTER(truth)
{
    const rlx_expr *x = rlx_relay_astype(c, rlx_relay_arg(c, 0), RELAX_BOOL);
    int64_t axes[MOST_AXES];
    size_t n;
    if (!reduced_axes(c, rlx_relay_rank(c, x), axes, &n))
        return NULL;
    if (!n)
        return x;
    x = rlx_relay_reduce(c, c->row->argument, rlx_relay_astype(c, x, RELAX_INT8), axes, n,
                         rlx_relay_attr_bool(c, "keepdims"));
    return rlx_relay_make(c, "astype", "x dtype=d", x, RELAX_BOOL);
}

/* Reduced axes at the end, as one; *kept the sizes of the others, with 1 in place of those if the rank stays. */
static const rlx_expr *reduced_last(rlx_relay_conv *c, const rlx_expr *x, const int64_t *axes, size_t count,
                                    bool keep, const rlx_prim **kept, size_t *num_kept)
{
    int64_t order[MOST_AXES];
    const rlx_prim *outer[MOST_AXES + 1], *inner[MOST_AXES];
    size_t n, k = 0, m = 0;
    const rlx_prim *const *sizes = rlx_relay_sizes(c, &x, &n);
    *num_kept = 0;
    if (!sizes)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        bool reduced = k < count && axes[k] == (int64_t)i;
        if (reduced) {
            order[n - count + k] = (int64_t)i;
            inner[k++] = sizes[i];
        } else {
            order[m] = (int64_t)i;
            outer[m++] = sizes[i];
        }
        if (!reduced || keep)
            kept[(*num_kept)++] = reduced ? rlx_int64(c->ctx, 1) : sizes[i];
    }
    outer[m] = rlx_relay_product_of(c, inner, k);
    return rlx_relay_reshape(c, rlx_relay_transpose(c, x, order, n), outer, m + 1);
}

/* Of several axes: the position counts row-major within them. */
CONVERTER(arg_reduce)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axes[MOST_AXES], axis;
    const rlx_prim *kept[MOST_AXES];
    size_t count, num_kept;
    bool keep = rlx_relay_attr_bool(c, "keepdims"), last = rlx_relay_attr_bool(c, "select_last_index");
    if (!reduced_axes(c, rlx_relay_rank(c, x), axes, &count))
        return NULL;
    if (!count)
        return rlx_relay_cannot(c, "without axes there are no positions");
    axis = axes[0];
    bool several = count > 1;
    if (several) {
        x = reduced_last(c, x, axes, count, keep, kept, &num_kept);
        axis = x ? rlx_relay_rank(c, x) - 1 : 0;
    }
    const rlx_prim *size = last && x ? rlx_relay_size(c, &x, (size_t)axis) : NULL;
    if (last)
        x = rlx_relay_call(c, "flip", "x axis=i", x, axis);
    const rlx_expr *y = rlx_relay_call(c, c->row->argument, "x axis=i keepdims=b", x, axis, (int)(keep && !several));
    if (last && size) { /* n - 1 - position in the reversed one */
        const rlx_prim *most = rlx_relay_simplify(c, rlx_fold_sub(c->ctx, size, rlx_int64(c->ctx, 1)));
        y = rlx_relay_call(c, "subtract", "x x", rlx_prim_value_new(c->ctx, most), y);
    }
    return several ? rlx_relay_reshape(c, y, kept, num_kept) : y;
}

/* The mean is given: that of the squares of what is left. */
CONVERTER(variance)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axes[MOST_AXES], size, number = 1;
    size_t n;
    bool keep = rlx_relay_attr_bool(c, "keepdims");
    if (!reduced_axes(c, rlx_relay_rank(c, x), axes, &n))
        return NULL;
    const rlx_expr *square = rlx_relay_call1(c, "square", rlx_relay_call2(c, "subtract", x, rlx_relay_arg(c, 1)));
    if (!rlx_relay_attr_bool(c, "unbiased"))
        return n ? rlx_relay_make(c, "mean", "x axis=I keepdims=b", square, axes, n, (int)keep) : square;
    for (size_t i = 0; i < n; i++) {
        if (!rlx_relay_static_size(c, x, (size_t)axes[i], &size))
            return rlx_relay_cannot(c, "unbiased needs known extents");
        number = size > 0 && number > INT64_MAX / size ? INT64_MAX : number * size;
    }
    const rlx_expr *sum = n ? rlx_relay_reduce(c, "sum", square, axes, n, keep) : square;
    return rlx_relay_with(c, "divide", sum, (double)(number - 1));
}

/* ---- scans and orders ---------------------------------------------------------------------------------------- */

CONVERTER(scan)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    int exclusive = rlx_relay_attr_bool(c, "exclusive");
    if (!rlx_relay_attr_has(c, "axis"))
        return rlx_relay_make(c, c->row->argument, "x dtype=d exclusive=b", x, t, exclusive);
    return rlx_relay_make(c, c->row->argument, "x axis=i dtype=d exclusive=b", x, rlx_relay_attr_int(c, "axis"), t,
                          exclusive);
}

static rlx_dtype index_dtype(rlx_relay_conv *c)
{
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    return t == RELAX_VOID ? RELAX_INT32 : t;
}

/* Relax has positions of integer types: another type is cast. */
CONVERTER(topk)
{
    rlx_dtype t = index_dtype(c);
    if (!rlx_dtype_is_int(t))
        return rlx_relay_cannot(c, "positions in a data type that is no integer");
    return rlx_relay_make(c, "topk", "x k=i axis=i ret_type=s largest=b dtype=d", rlx_relay_arg(c, 0),
                          rlx_relay_attr_int(c, "k"), rlx_relay_attr_int(c, "axis"), rlx_relay_attr_text(c, "ret_type"),
                          (int)!rlx_relay_attr_bool(c, "is_ascend"), t);
}

CONVERTER(sort)
{
    return rlx_relay_make(c, "sort", "x axis=i descending=b", rlx_relay_arg(c, 0), rlx_relay_attr_int(c, "axis"),
                          (int)!rlx_relay_attr_bool(c, "is_ascend"));
}

CONVERTER(argsort)
{
    rlx_dtype t = index_dtype(c);
    const rlx_expr *y = rlx_relay_call(c, "argsort", "x axis=i descending=b dtype=d", rlx_relay_arg(c, 0),
                                       rlx_relay_attr_int(c, "axis"), (int)!rlx_relay_attr_bool(c, "is_ascend"),
                                       rlx_dtype_is_int(t) ? t : RELAX_INT32);
    return y ? rlx_relay_astype(c, y, t) : NULL;
}

/* ---- slices ---------------------------------------------------------------------------------------------------- */

typedef struct bounds {
    const rlx_expr *axes[MOST_AXES], *begin[MOST_AXES], *end[MOST_AXES], *by[MOST_AXES];
    size_t n;
} bounds;

static const rlx_expr *slice(rlx_relay_conv *c, const rlx_expr *x, const bounds *b)
{
    if (!b->n)
        return x;
    return rlx_relay_make(c, "strided_slice", "x X X X X", x, b->axes, b->n, b->begin, b->n, b->end, b->n, b->by, b->n);
}

typedef struct list { const int64_t *data; size_t len; } list;
static list read_list(rlx_relay_conv *c, const char *name)
{
    list l;
    l.data = rlx_relay_attr_ints(c, name, &l.len);
    return l;
}

/* Where a slice of `size` elements from `begin` ends, -1: with the axis. Counted from the end as begin is. */
static int64_t end_of_size(int64_t begin, int64_t size)
{
    if (size < 0 || (begin < 0 && begin >= -size) || (begin > 0 && size > INT64_MAX - begin))
        return INT64_MAX;
    return begin + size;
}

CONVERTER(strided_slice)
{
    list begin = read_list(c, "begin"), end = read_list(c, "end"), by = read_list(c, "strides");
    list axes = read_list(c, "axes");
    bool by_size = strcmp(rlx_relay_attr_text(c, "slice_mode"), "size") == 0;
    bounds b = { .n = axes.data ? axes.len : begin.len > end.len ? begin.len : end.len };
    if (b.n > MOST_AXES)
        return rlx_relay_cannot(c, "%zu ranges", b.n);
    for (size_t i = 0; i < b.n; i++) {
        int64_t step = by_size || !by.len ? 1 : by.len == 1 ? by.data[0] : i < by.len ? by.data[i] : 1;
        int64_t first = i < begin.len ? begin.data[i] : step < 0 ? INT64_MAX : 0;
        int64_t last = i < end.len ? end.data[i] : step < 0 ? INT64_MIN : INT64_MAX;
        if (by_size)
            last = end_of_size(first, i < end.len ? end.data[i] : -1);
        b.axes[i] = rlx_relay_prim(c, axes.data ? axes.data[i] : (int64_t)i);
        b.begin[i] = rlx_relay_prim(c, first);
        b.end[i] = rlx_relay_prim(c, last);
        b.by[i] = rlx_relay_prim(c, step);
    }
    return slice(c, rlx_relay_arg(c, 0), &b);
}

/* As much of the first argument as the second one has. */
CONVERTER(slice_like)
{
    const rlx_expr *x = rlx_relay_arg(c, 0), *y = rlx_relay_arg(c, 1);
    size_t n, count;
    int rank = rlx_relay_rank(c, x);
    const rlx_prim *const *sizes = rlx_relay_sizes(c, &y, &n);
    int64_t *axes = rlx_relay_attr_ints(c, "axes", &count);
    if (rank < 0 || !sizes || c->failed)
        return NULL;
    bounds b = { .n = count ? count : (size_t)rank < n ? (size_t)rank : n };
    for (size_t i = 0; i < b.n; i++) {
        int64_t axis = count ? axes[i] : (int64_t)i;
        if (!rlx_relay_fit_axis(c, &axis, rank) || (size_t)axis >= n)
            return rlx_relay_cannot(c, "the second argument has no dimension %lld", (long long)axis);
        b.axes[i] = rlx_relay_prim(c, axis);
        b.begin[i] = rlx_relay_prim(c, 0);
        b.end[i] = rlx_prim_value_new(c->ctx, sizes[axis]);
        b.by[i] = rlx_relay_prim(c, 1);
    }
    return slice(c, x, &b);
}

/* Bounds in tensors, one for each leading axis; mode size: ends are lengths. */
CONVERTER(dyn_strided_slice)
{
    const rlx_expr *x = rlx_relay_arg(c, 0), *b[3];
    int rank = rlx_relay_rank(c, x);
    for (size_t i = 0; i < 3; i++) {
        int64_t n;
        if (!(b[i] = rlx_relay_astype(c, rlx_relay_arg(c, i + 1), RELAX_INT64)))
            return NULL;
        if (!rlx_relay_static_size(c, b[i], 0, &n) || n != rank)
            return rlx_relay_cannot(c, "argument %zu must have a number for each of the %d dimensions", i + 2, rank);
    }
    if (strcmp(rlx_relay_attr_text(c, "slice_mode"), "size") == 0) {
        const rlx_expr *open = rlx_relay_with(c, "less", b[1], 0);
        const rlx_expr *far = rlx_relay_const_scalar(c, RELAX_INT64, (double)((int64_t)1 << 52));
        b[1] = rlx_relay_call(c, "where", "x x x", open, far, rlx_relay_call2(c, "add", b[0], b[1]));
        b[2] = rlx_relay_call1(c, "ones_like", b[2]);
    }
    return rlx_relay_make(c, "dynamic_strided_slice", "x x x x", x, b[0], b[1], b[2]);
}

/* ---- elements by position ---------------------------------------------------------------------------------------- */

/* Positions limited to an axis of x as the mode says. */
static const rlx_expr *limited(rlx_relay_conv *c, const rlx_expr *indices, const rlx_expr **x, size_t axis,
                               const char *mode)
{
    const rlx_prim *size = rlx_relay_size(c, x, axis);
    rlx_dtype t = rlx_relay_dtype_of(c, indices);
    if (!size || strcmp(mode, "fast") == 0)
        return size ? indices : NULL;
    const rlx_prim *most = rlx_relay_simplify(c, rlx_fold_sub(c->ctx, size, rlx_int64(c->ctx, 1)));
    if (strcmp(mode, "wrap") == 0)
        return rlx_relay_call(c, "floor_mod", "x x", indices, rlx_prim_value_new(c->ctx, rlx_fold_cast(c->ctx, t, size)));
    return rlx_relay_call(c, "clip", "x x x", indices, rlx_prim_value_new(c->ctx, rlx_int(c->ctx, t, 0)),
                          rlx_prim_value_new(c->ctx, rlx_fold_cast(c->ctx, t, most)));
}

/* Leading axes that data and indices share. x (batch, .., axis, ..) with the axis moved behind the batch, then
 * gather_nd; the axes between go back in front of those of the indices. */
static const rlx_expr *take_batched(rlx_relay_conv *c, const rlx_expr *x, const rlx_expr *indices, int64_t axis,
                                    int64_t batch, const char *mode)
{
    int64_t order[MOST_AXES], back[2 * MOST_AXES];
    int n = rlx_relay_rank(c, x), m = rlx_relay_rank(c, indices);
    if (n < 0 || m < 0 || n > MOST_AXES || m > MOST_AXES)
        return NULL;
    indices = limited(c, indices, &x, (size_t)axis, mode);
    for (int64_t i = 0; i < n; i++)
        order[i] = i == batch ? axis : i > batch && i <= axis ? i - 1 : i;
    x = rlx_relay_transpose(c, x, order, (size_t)n);
    int64_t last = m;
    const rlx_expr *at = indices ? rlx_relay_expand(c, rlx_relay_astype(c, indices, RELAX_INT64), &last, 1) : NULL;
    const rlx_expr *y = rlx_relay_call(c, "gather_nd", "x x batch_dims=i", x, at, batch);
    /* y: batch, the rest of the indices (m - batch), x between batch and axis, x behind axis */
    int64_t between = axis - batch, total = n - 1 + m - batch, k = 0;
    for (int64_t i = 0; i < batch; i++)
        back[k++] = i;
    for (int64_t i = 0; i < between; i++)
        back[k++] = m + i;
    for (int64_t i = batch; i < m; i++)
        back[k++] = i;
    for (; k < total; k++)
        back[k] = k;
    return rlx_relay_transpose(c, y, back, (size_t)total);
}

CONVERTER(take)
{
    const rlx_expr *x = rlx_relay_arg(c, 0), *indices = rlx_relay_arg(c, 1);
    const char *mode = rlx_relay_attr_text(c, "mode");
    int64_t axis = 0, batch = rlx_relay_attr_int(c, "batch_dims");
    int n = rlx_relay_rank(c, x), m = rlx_relay_rank(c, indices);
    if (n < 0 || m < 0)
        return NULL;
    if (!rlx_relay_attr_has(c, "axis")) {
        x = n == 1 ? x : rlx_relay_call1(c, "flatten", x);
    } else {
        axis = rlx_relay_attr_int(c, "axis");
        if (!rlx_relay_fit_axis(c, &axis, n))
            return NULL;
    }
    batch += batch < 0 ? m : 0;
    if (batch > 0)
        return take_batched(c, x, indices, axis, batch, mode);
    return rlx_relay_make(c, "take", "x x axis=i mode=s", x, indices, axis, mode);
}

CONVERTER(gather)
{
    return rlx_relay_make(c, "gather_elements", "x x axis=i", rlx_relay_arg(c, 0), rlx_relay_arg(c, 1),
                          rlx_relay_attr_int(c, "axis"));
}

/* Relay has the numbers of a position along the first axis, Relax along the last, in int64. */
static const rlx_expr *positions_last(rlx_relay_conv *c, const rlx_expr *indices)
{
    int64_t order[MOST_AXES];
    int n = rlx_relay_rank(c, indices);
    indices = rlx_relay_astype(c, indices, RELAX_INT64);
    if (n < 0 || n > MOST_AXES)
        return NULL;
    for (int i = 0; i < n; i++)
        order[i] = i + 1 < n ? i + 1 : 0;
    return rlx_relay_transpose(c, indices, order, (size_t)n);
}

CONVERTER(gather_nd)
{
    return rlx_relay_make(c, "gather_nd", "x x batch_dims=i", rlx_relay_arg(c, 0),
                          positions_last(c, rlx_relay_arg(c, 1)), rlx_relay_attr_int(c, "batch_dims"));
}

CONVERTER(scatter_elements)
{
    return rlx_relay_make(c, "scatter_elements", "x x x axis=i reduction=s", rlx_relay_arg(c, 0), rlx_relay_arg(c, 1),
                          rlx_relay_arg(c, 2), rlx_relay_attr_int(c, "axis"), rlx_relay_attr_text(c, "reduction"));
}

CONVERTER(scatter_nd)
{
    return rlx_relay_make(c, "scatter_nd", "x x x reduction=s", rlx_relay_arg(c, 0),
                          positions_last(c, rlx_relay_arg(c, 1)), rlx_relay_arg(c, 2), rlx_relay_attr_text(c, "mode"));
}

CONVERTER(adv_index)
{
    const rlx_expr *const *fields;
    size_t n;
    if (!rlx_relay_tuple_arg(c, 0, &fields, &n) || !n)
        return NULL;
    return n == 1 ? fields[0] : rlx_relay_make(c, "index_tensor", "x X", fields[0], fields + 1, n - 1);
}

/* Relax has a column for each position. */
CONVERTER(argwhere)
{
    return rlx_relay_make(c, "permute_dims", "x", rlx_relay_call1(c, "nonzero", rlx_relay_arg(c, 0)));
}
