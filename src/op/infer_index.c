/* infer_index.c: elements picked by position: slices, take, gather, scatter, sorting. */
/* built for size */
#include "op/op_int.h"

static bool is_index_dtype(rlx_dtype t)
{
    return rlx_dtype_is_void(t) || rlx_dtype_is_int(t);
}

static bool check_indices(rlx_infer *in, const rlx_tensor_sinfo *t)
{
    if (is_index_dtype(t->dtype))
        return true;
    rlx_infer_fail(in, "indices are %s, expected integers", rlx_show(in->ctx, &t->node));
    return false;
}

/* ---- take ----------------------------------------------------------------------------------- */

/* Indices: a tensor, or a scalar that acts as one of rank 0. */
typedef struct picked { const rlx_prim *const *dims; size_t n; int ndim; } picked;

static bool read_picked(rlx_infer *in, size_t i, picked *p)
{
    static const rlx_prim *const none[1];
    const rlx_sinfo *s = rlx_infer_arg(in, i);
    if (!s)
        return false;
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_prim_sinfo *scalar = rlx_as_prim_sinfo(s);
    if (!t && !scalar)
        return rlx_infer_fail(in, "indices is %s, expected a tensor or a scalar",
                              rlx_show(in->ctx, s)),
               false;
    if (scalar) {
        *p = (picked){ none, 0, 0 };
        return rlx_dtype_is_int(scalar->dtype) ||
               (rlx_infer_fail(in, "the index is %s, expected an integer", rlx_show(in->ctx, s)),
                false);
    }
    p->dims = rlx_literal_dims(t, &p->n);
    p->ndim = t->ndim;
    return check_indices(in, t);
}

const rlx_sinfo *rlx_infer_take(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_attr *attr = rlx_infer_attr(in, 0);
    picked p;
    size_t axis = 0, n;
    if (!x || !read_picked(in, 1, &p) ||
        (rlx_attr_text(rlx_infer_attr(in, 1)).len && !rlx_infer_word(in, 1, "fast, wrap, clip or nan")))
        return NULL;
    if (rlx_attr_is_none(attr) && x->ndim != 1)
        return rlx_infer_fail(in, "without an axis x must have rank 1, found %s (axis=0 picks rows)",
                              rlx_show(in->ctx, &x->node));
    if (x->ndim < 0 || p.ndim < 0)
        return rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    if (!rlx_attr_is_none(attr) && !rlx_infer_axis(in, rlx_attr_as_int(attr, 0), x->ndim, &axis))
        return NULL;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims || !p.dims)
        return rlx_infer_rank_result(in, x->ndim + p.ndim - 1, x->dtype, x->vdevice);
    rlx_dims out;
    if (!rlx_dims_init(in, &out, n + p.n - 1))
        return NULL;
    for (size_t i = 0; i < out.count; i++)
        out.at[i] = i < axis ? dims[i] : i < axis + p.n ? p.dims[i - axis] : dims[i - p.n + 1];
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

/* ---- strided_slice -------------------------------------------------------------------------- */

/* axes, begin, end, strides */
typedef struct slice_args { const rlx_tuple_sinfo *part[4]; bool known; } slice_args;

/* Value i of a part, NULL if not known. */
static const rlx_prim *slice_value(const slice_args *a, size_t part, size_t i)
{
    const rlx_prim_sinfo *p = a->part[part] ? rlx_as_prim_sinfo(a->part[part]->fields[i]) : NULL;
    return p ? p->value : NULL;
}

static bool read_slice(rlx_infer *in, slice_args *a)
{
    a->known = true;
    for (size_t k = 0; k < 4; k++) {
        a->part[k] = NULL;
        if (k == 3 && in->call->num_args == 4)
            return true;
        const rlx_sinfo *s = rlx_infer_arg(in, k + 1);
        if (!s)
            return false;
        a->part[k] = rlx_as_tuple_sinfo(s);
        if (!a->part[k] && !rlx_is(s, RLX_NODE_OBJECT_SINFO))
            return rlx_infer_fail(in, "%s is %s, expected a tuple of integers",
                                  in->row->args[k + 1].name, rlx_show(in->ctx, s)),
                   false;
        a->known &= a->part[k] != NULL;
        for (size_t i = 0; a->part[k] && i < a->part[k]->num_fields; i++)
            if (!rlx_as_prim_sinfo(a->part[k]->fields[i]))
                return rlx_infer_fail(in, "%s holds %s, expected integers",
                                      in->row->args[k + 1].name,
                                      rlx_show(in->ctx, a->part[k]->fields[i])),
                       false;
        if (k && a->part[0] && a->part[k] && a->part[k]->num_fields != a->part[0]->num_fields)
            return rlx_infer_fail(in, "%s has %zu values for %zu axes", in->row->args[k + 1].name,
                                  a->part[k]->num_fields, a->part[0]->num_fields),
                   false;
    }
    return true;
}

static const rlx_prim *fold(rlx_infer *in, enum rlx_node_kind kind, const rlx_prim *a,
                            const rlx_prim *b)
{
    return a && b ? rlx_fold_binary(in->ctx, kind, a, b) : NULL;
}

static bool proved(rlx_infer *in, enum rlx_node_kind kind, const rlx_prim *a, const rlx_prim *b)
{
    return a && b && rlx_prove_compare(in->ctx, in->scope, kind, a, b) == RLX_TRUE;
}

/* Counted from the front. */
static const rlx_prim *from_front(rlx_infer *in, const rlx_prim *x, const rlx_prim *dim)
{
    const rlx_prim *zero = rlx_int64(in->ctx, 0);
    if (proved(in, RLX_NODE_GE, x, zero))
        return x;
    int64_t v;
    bool literal = rlx_int_literal(x, &v) && v != INT64_MIN;
    const rlx_prim *turned = literal ? fold(in, RLX_NODE_SUB, dim, rlx_int64(in->ctx, -v))
                                     : fold(in, RLX_NODE_ADD, x, dim);
    if (!turned || proved(in, RLX_NODE_LT, x, zero))
        return turned;
    return rlx_fold_select(in->ctx, rlx_binary_new(in->ctx, RLX_NODE_LT, x, zero), turned, x);
}

/* Bounds that hold for every value, and those of literals, vanish; others stay as a reader of
 * the program expects them. */
static const rlx_prim *clamped(rlx_infer *in, const rlx_prim *x, const rlx_prim *low,
                               const rlx_prim *high)
{
    if (!x || !low || !high)
        return NULL;
    const rlx_scope *facts = rlx_is(x, RLX_NODE_INT_IMM) ? in->scope : NULL;
    if (!proved(in, RLX_NODE_GE, x, low))
        x = fold(in, RLX_NODE_MAX, x, low);
    if (x && rlx_prove_compare(in->ctx, facts, RLX_NODE_LE, high, x) == RLX_TRUE)
        return high;
    return x && rlx_prove_compare(in->ctx, facts, RLX_NODE_LE, x, high) == RLX_TRUE
               ? x
               : fold(in, RLX_NODE_MIN, x, high);
}

/* Elements from begin to end by stride; `ordered`: begin is known not to lie behind end. */
static const rlx_prim *steps(rlx_infer *in, const rlx_prim *begin, const rlx_prim *end,
                             int64_t stride, bool ordered)
{
    const rlx_prim *zero = rlx_int64(in->ctx, 0);
    if (begin == end)
        return begin ? zero : NULL;
    const rlx_prim *span =
        stride > 0 ? fold(in, RLX_NODE_SUB, end, begin) : fold(in, RLX_NODE_SUB, begin, end);
    int64_t step = stride > 0 ? stride : -stride;
    const rlx_prim *n =
        fold(in, RLX_NODE_FLOOR_DIV, fold(in, RLX_NODE_ADD, span, rlx_int64(in->ctx, step - 1)),
             rlx_int64(in->ctx, step));
    return ordered || proved(in, RLX_NODE_GE, n, zero) ? n : fold(in, RLX_NODE_MAX, n, zero);
}

static const rlx_prim *slice_size(rlx_infer *in, const slice_args *a, size_t i,
                                  const rlx_prim *dim, int64_t stride)
{
    const rlx_prim *begin = slice_value(a, 1, i), *end = slice_value(a, 2, i);
    if (rlx_attr_as_bool(rlx_infer_attr(in, 0), false)) {
        const rlx_prim *n = steps(in, begin, end, stride, true);
        return n ? rlx_simplify(in->ctx, in->scope, n) : NULL;
    }
    begin = from_front(in, begin, dim);
    end = from_front(in, end, dim);
    bool ordered = proved(in, RLX_NODE_LE, stride > 0 ? begin : end, stride > 0 ? end : begin);
    const rlx_prim *low = rlx_int64(in->ctx, stride > 0 ? 0 : -1);
    const rlx_prim *high = stride > 0 ? dim : fold(in, RLX_NODE_SUB, dim, rlx_int64(in->ctx, 1));
    return steps(in, clamped(in, begin, low, high), clamped(in, end, low, high), stride, ordered);
}

/* Is every value of the call known? */
static bool all_values(const slice_args *a)
{
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; a->part[k] && i < a->part[k]->num_fields; i++)
            if (!slice_value(a, k, i))
                return false;
    return a->known;
}

const rlx_sinfo *rlx_infer_strided_slice(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    slice_args a;
    if (!x || !read_slice(in, &a))
        return NULL;
    size_t n;
    const rlx_prim *const *dims = rlx_shape_dims(x->shape, &n);
    for (size_t i = 0; a.part[0] && i < a.part[0]->num_fields; i++) {
        int64_t axis;
        size_t unused;
        if (rlx_int_literal(slice_value(&a, 0, i), &axis) && x->ndim >= 0 &&
            !rlx_infer_axis(in, axis, x->ndim, &unused))
            return NULL;
        if (a.part[3] && rlx_is_int_value(slice_value(&a, 3, i), 0))
            return rlx_infer_fail(in, "strides holds 0, expected another number");
    }
    if (a.part[0] && a.part[0]->num_fields == 0)
        return &x->node;
    rlx_dims out;
    if (!dims || !all_values(&a))
        return rlx_infer_rank_result(in, x->ndim, x->dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, n))
        return NULL;
    memcpy(out.at, dims, n * sizeof *out.at);
    for (size_t i = 0; i < a.part[0]->num_fields; i++) {
        int64_t axis, stride = 1;
        if (!rlx_int_literal(slice_value(&a, 0, i), &axis))
            return rlx_infer_fail(in, "axes must be integer literals");
        axis += axis < 0 ? (int64_t)n : 0;
        if ((a.part[3] && !rlx_int_literal(slice_value(&a, 3, i), &stride)) || stride == INT64_MIN)
            return rlx_infer_rank_result(in, x->ndim, x->dtype, x->vdevice);
        if (!(out.at[axis] = slice_size(in, &a, i, dims[axis], stride)))
            return rlx_infer_done(in, NULL);
    }
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

const rlx_sinfo *rlx_infer_dynamic_slice(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    for (size_t i = 1; x && i < 4; i++) {
        const rlx_tensor_sinfo *t = rlx_infer_tensor(in, i);
        size_t n;
        if (!t)
            return NULL;
        if (x->ndim < 0)
            continue;
        const rlx_prim *const *dims = rlx_literal_dims(t, &n);
        if (t->ndim != 1 || !dims || !rlx_is_int_value(dims[0], x->ndim))
            return rlx_infer_fail(in, "%s is %s, expected one value for each of %d axes",
                                  in->row->args[i].name, rlx_show(in->ctx, &t->node), x->ndim);
        if (!rlx_dtype_is_void(t->dtype) && t->dtype != RELAX_INT64)
            return rlx_infer_fail(in, "%s is %s, expected int64", in->row->args[i].name,
                                  rlx_show(in->ctx, &t->node));
    }
    return x ? rlx_infer_rank_result(in, x->ndim, x->dtype, x->vdevice) : NULL;
}

/* ---- gather and scatter --------------------------------------------------------------------- */

const rlx_sinfo *rlx_infer_gather_elements(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0), *k = x ? rlx_infer_tensor(in, 1) : NULL;
    size_t axis;
    if (!k)
        return NULL;
    if (!rlx_dtype_is_void(k->dtype) && rlx_dtype_code(k->dtype) != RELAX_DTYPE_INT)
        return rlx_infer_fail(in, "indices are %s, expected signed integers",
                              rlx_show(in->ctx, &k->node));
    if (x->ndim < 0 || k->ndim < 0)
        return rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    if (!rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), 0), x->ndim, &axis))
        return NULL;
    if (x->ndim != k->ndim)
        return rlx_infer_fail(in, "data has rank %d, indices rank %d", x->ndim, k->ndim);
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, k->shape, x->dtype, k->ndim, x->vdevice));
}

const rlx_sinfo *rlx_infer_gather_nd(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0), *k = x ? rlx_infer_tensor(in, 1) : NULL;
    int64_t batch = rlx_attr_as_int(rlx_infer_attr(in, 0), 0), depth;
    if (!k)
        return NULL;
    if (!rlx_dtype_is_void(k->dtype) && k->dtype != RELAX_INT64)
        return rlx_infer_fail(in, "indices are %s, expected int64", rlx_show(in->ctx, &k->node));
    if (batch < 0 || (x->ndim >= 0 && batch > x->ndim) || (k->ndim >= 0 && batch > k->ndim - 1))
        return rlx_infer_fail(in, "batch_dims %lld is out of range", (long long)batch);
    size_t n, m;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n), *const *at = rlx_literal_dims(k, &m);
    bool known = at && rlx_int_literal(at[m - 1], &depth) && depth >= 0;
    if (x->ndim < 0 || k->ndim < 0 || !known)
        return rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    if (depth > x->ndim - batch)
        return rlx_infer_fail(in, "indices of %lld positions for %lld dimensions",
                              (long long)depth, (long long)(x->ndim - batch));
    int64_t ndim = k->ndim + x->ndim - depth - 1 - batch;
    rlx_dims out;
    if (!dims)
        return rlx_infer_rank_result(in, ndim, x->dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, (size_t)ndim))
        return NULL;
    for (size_t i = 0; i < out.count; i++)
        out.at[i] = i < m - 1 ? at[i] : dims[i - (m - 1) + (size_t)(batch + depth)];
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

/* data without a shape that is a variable */
static const rlx_sinfo *data_result(rlx_infer *in, const rlx_tensor_sinfo *x)
{
    return rlx_as_shape_expr(x->shape) ? &x->node : rlx_infer_without_shape(in, x);
}

const rlx_sinfo *rlx_infer_scatter_elements(rlx_infer *in)
{
    const rlx_tensor_sinfo *t[3];
    const rlx_prim *const *dims[3];
    size_t n[3];
    rlx_dtype unused;
    for (size_t i = 0; i < 3; i++) {
        if (!(t[i] = rlx_infer_tensor(in, i)))
            return NULL;
        dims[i] = rlx_literal_dims(t[i], &n[i]);
    }
    if (t[0]->ndim < 0)
        return rlx_infer_rank_result(in, -1, t[0]->dtype, t[0]->vdevice);
    for (size_t i = 1; i < 3; i++)
        if (t[1]->ndim >= 0 && t[2]->ndim >= 0 && t[i]->ndim != t[0]->ndim)
            return rlx_infer_fail(in, "data has rank %d, %s rank %d", t[0]->ndim,
                                  in->row->args[i].name, t[i]->ndim);
    rlx_infer_doubt_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), 0), t[0]);
    if (!rlx_infer_common_dtype(in, t[0]->dtype, t[2]->dtype, &unused) || !check_indices(in, t[1]) ||
        !rlx_infer_word(in, 1, "update, add, mul, mean, min or max"))
        return NULL;
    for (size_t i = 0; dims[1] && dims[2] && i < n[1]; i++)
        if (rlx_infer_equal(in, dims[1][i], dims[2][i]) == RLX_DIFFERENT)
            return rlx_infer_fail(in, "dimension %zu of updates is %s, that of indices %s", i,
                                  rlx_show(in->ctx, dims[2][i]), rlx_show(in->ctx, dims[1][i]));
    return data_result(in, t[0]);
}

const rlx_sinfo *rlx_infer_scatter_nd(rlx_infer *in)
{
    const rlx_tensor_sinfo *t[3];
    const rlx_prim *const *dims[3];
    size_t n[3];
    for (size_t i = 0; i < 3; i++) {
        if (!(t[i] = rlx_infer_tensor(in, i)))
            return NULL;
        dims[i] = rlx_literal_dims(t[i], &n[i]);
    }
    if (rlx_dtype_is_void(t[0]->dtype) || t[0]->dtype != t[2]->dtype)
        return rlx_infer_fail(in, "dtypes of data and updates must be known and equal");
    if (!check_indices(in, t[1]) || !rlx_infer_word(in, 0, "update, add, mul, min or max"))
        return NULL;
    if (!dims[0] || !dims[1] || !dims[2])
        return data_result(in, t[0]);
    int64_t depth = -1;
    if (n[1] == 0 || !rlx_int_literal(dims[1][n[1] - 1], &depth) || depth < 0 ||
        depth > (int64_t)n[0])
        return rlx_infer_fail(
            in, "the last dimension of indices must be an integer up to the rank of data");
    if (n[2] != n[0] + n[1] - (size_t)depth - 1)
        return rlx_infer_fail(in, "updates have rank %zu, expected %zu", n[2],
                              n[0] + n[1] - (size_t)depth - 1);
    for (size_t i = 0; i < n[2]; i++) {
        const rlx_prim *want = i < n[1] - 1 ? dims[1][i] : dims[0][i - (n[1] - 1) + (size_t)depth];
        if (rlx_infer_equal(in, dims[2][i], want) != RLX_EQUAL)
            return rlx_infer_fail(in, "dimension %zu of updates is %s, not proved to be %s", i,
                                  rlx_show(in->ctx, dims[2][i]), rlx_show(in->ctx, want));
    }
    return data_result(in, t[0]);
}

/* ---- sorting -------------------------------------------------------------------------------- */

static const rlx_tensor_sinfo *sorted_tensor(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    if (x)
        rlx_infer_doubt_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), -1), x);
    return x;
}

const rlx_sinfo *rlx_infer_sort(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = sorted_tensor(in);
    return x ? &x->node : NULL;
}

/* argsort: attribute 2 is the dtype */
const rlx_sinfo *rlx_infer_argsort(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = sorted_tensor(in);
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 2));
    return x ? rlx_infer_with_dtype(in, x, rlx_dtype_is_void(dtype) ? x->dtype : dtype) : NULL;
}

static const rlx_sinfo *topk_part(rlx_infer *in, const rlx_tensor_sinfo *x, rlx_dtype dtype)
{
    rlx_dims out;
    size_t n;
    int64_t k = rlx_attr_as_int(rlx_infer_attr(in, 0), 1),
            axis = rlx_attr_as_int(rlx_infer_attr(in, 1), -1), size;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims)
        return rlx_infer_rank_result(in, x->ndim, dtype, x->vdevice);
    size_t at;
    if (!rlx_infer_axis(in, axis, x->ndim, &at) || !rlx_dims_init(in, &out, n))
        return NULL;
    memcpy(out.at, dims, n * sizeof *out.at);
    if (k > 0 && (!rlx_int_literal(dims[at], &size) || k < size))
        out.at[at] = rlx_int64(in->ctx, k);
    return out.at[at] ? rlx_infer_dims_result(in, &out, dtype, x->vdevice)
                      : rlx_infer_done(in, NULL);
}

/* attributes k, axis, ret_type, largest, dtype */
const rlx_sinfo *rlx_infer_topk(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    rlx_slice type = rlx_attr_text(rlx_infer_attr(in, 2));
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 4));
    if (!x)
        return NULL;
    dtype = rlx_dtype_is_void(dtype) ? x->dtype : dtype;
    if (rlx_slice_is(type, "values"))
        return topk_part(in, x, x->dtype);
    if (rlx_slice_is(type, "indices"))
        return topk_part(in, x, dtype);
    if (!rlx_slice_is(type, "both"))
        return rlx_infer_fail(in, "ret_type is \"%.*s\", expected both, values or indices",
                              (int)type.len, type.data);
    const rlx_sinfo *parts[2] = { topk_part(in, x, x->dtype), NULL };
    parts[1] = parts[0] ? topk_part(in, x, dtype) : NULL;
    return parts[1] ? rlx_infer_done(in, rlx_tuple_info(in->ctx, parts, 2)) : NULL;
}

/* (x, sorted, return_index, return_inverse, return_counts, axis?) */
const rlx_sinfo *rlx_infer_unique(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_sinfo *parts[4];
    size_t count = 1, axis;
    int64_t flag[3], one = 1, v;
    if (!x)
        return NULL;
    for (size_t i = 0; i < 3; i++)
        if (!rlx_infer_arg(in, 2 + i) || !rlx_attr_to_int(rlx_infer_expr(in, 2 + i), &flag[i]))
            return in->failed ? NULL
                              : rlx_infer_fail(in, "%s must be an integer literal",
                                               in->row->args[2 + i].name);
    bool has_axis = in->call->num_args > 5 && rlx_as_prim_value(in->call->args[5]);
    if (has_axis && x->ndim >= 0 && rlx_attr_to_int(in->call->args[5], &v) &&
        !rlx_infer_axis(in, v, x->ndim, &axis))
        return NULL;
    bool scalar = x->ndim == 0;
    parts[0] =
        scalar
            ? rlx_tensor_info(in->ctx, rlx_shape_of_ints(in->ctx, &one, 1), x->dtype, 1, x->vdevice)
            : rlx_tensor_info(in->ctx, NULL, x->dtype, has_axis ? x->ndim : 1, x->vdevice);
    for (size_t i = 0; i < 3; i++)
        if (flag[i])
            parts[count++] =
                rlx_tensor_info(in->ctx, scalar ? rlx_shape_of_ints(in->ctx, &one, 1) : NULL,
                                RELAX_INT64, 1, x->vdevice);
    return rlx_infer_done(in, count == 1 ? parts[0] : rlx_tuple_info(in->ctx, parts, count));
}

bool rlx_prepare_unique(rlx_op_draft *d)
{
    for (size_t i = 1; i < 5; i++) {
        const rlx_prim *flag = d->args[i] ? NULL : rlx_int64(d->ctx, i == 1);
        if (!d->args[i] && (!flag || !(d->args[i] = rlx_prim_value_new(d->ctx, flag))))
            return false;
    }
    d->num_args = d->args[5] ? 6 : 5;
    return true;
}

const rlx_sinfo *rlx_infer_nonzero(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    return x ? rlx_infer_rank_result(in, 2, RELAX_INT64, x->vdevice) : NULL;
}

/* (prob, uniform_sample, sample_indices) */
const rlx_sinfo *rlx_infer_multinomial(rlx_infer *in)
{
    const rlx_tensor_sinfo *t[3];
    const rlx_prim *const *dims[3];
    size_t n;
    bool literal = true;
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 0));
    for (size_t i = 0; i < 3; i++) {
        if (!(t[i] = rlx_infer_tensor(in, i)))
            return NULL;
        if (i < 2 ? !rlx_dtype_is_float(t[i]->dtype) : !rlx_dtype_is_int(t[i]->dtype))
            return rlx_infer_fail(in, "%s is %s, expected %s", in->row->args[i].name,
                                  rlx_show(in->ctx, &t[i]->node), i < 2 ? "floats" : "integers");
        dims[i] = rlx_literal_dims(t[i], &n);
        literal &= dims[i] != NULL;
    }
    for (size_t i = 0; i < 3; i++)
        if (t[i]->ndim < 0)
            return rlx_infer_rank_result(in, -1, dtype, t[0]->vdevice);
    for (size_t i = 0; i < 3; i++)
        if (t[i]->ndim != 2)
            return rlx_infer_fail(in, "%s has rank %d, expected 2", in->row->args[i].name,
                                  t[i]->ndim);
    if (!literal)
        return rlx_infer_rank_result(in, 2, dtype, t[0]->vdevice);
    if (rlx_infer_equal(in, dims[1][0], dims[2][0]) != RLX_EQUAL ||
        !rlx_is_int_value(dims[1][1], 1) || !rlx_is_int_value(dims[2][1], 1))
        return rlx_infer_fail(in,
                              "uniform_sample and sample_indices must both be of shape (n, 1)");
    rlx_dims out;
    if (!rlx_dims_init(in, &out, 2))
        return NULL;
    out.at[0] = dims[1][0];
    out.at[1] = dims[1][1];
    return rlx_infer_dims_result(in, &out, dtype, t[0]->vdevice);
}
