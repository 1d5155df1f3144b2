/* infer_arrange.c: tensors put together and taken apart in other ways: stack, meshgrid, outer,
 * pixel_shuffle, slices and positions that are written, sequences, windows. */
#include "op/op_int.h"

static const rlx_sinfo *like(rlx_infer *in, const rlx_tensor_sinfo *x, const rlx_dims *out,
                             rlx_dtype dtype)
{
    return rlx_infer_dims_result(in, out, dtype, x->vdevice);
}

static bool integers(rlx_infer *in, const rlx_tensor_sinfo *t, const char *what)
{
    if (rlx_dtype_is_void(t->dtype) || rlx_dtype_is_int(t->dtype))
        return true;
    return rlx_infer_fail(in, "%s is %s, expected integers", what, rlx_show(in->ctx, &t->node)),
           false;
}

/* ---- several tensors ------------------------------------------------------------------------ */

static const rlx_tuple_sinfo *tensors(rlx_infer *in, size_t i)
{
    const rlx_sinfo *s = rlx_infer_arg(in, i);
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    bool good = t && t->num_fields;
    for (size_t k = 0; good && k < t->num_fields; k++)
        good = rlx_as_tensor_sinfo(t->fields[k]) != NULL;
    if (!s || good)
        return s ? t : NULL;
    return rlx_infer_fail(in, "%s is %s, expected a tuple of one tensor or more",
                          in->row->args[i].name, rlx_show(in->ctx, s)),
           NULL;
}

/* The dtype that all agree on; void if one is not known. */
static bool common_dtype(rlx_infer *in, const rlx_tuple_sinfo *t, rlx_dtype *out)
{
    bool known = true;
    *out = RELAX_VOID;
    for (size_t i = 0; i < t->num_fields; i++) {
        rlx_dtype d = rlx_as_tensor_sinfo(t->fields[i])->dtype, both;
        known &= !rlx_dtype_is_void(d);
        if (!rlx_dtype_is_void(d) && !rlx_dtype_is_void(*out) &&
            !rlx_infer_common_dtype(in, *out, d, &both))
            return false;
        *out = rlx_dtype_is_void(d) ? *out : d;
    }
    *out = known ? *out : RELAX_VOID;
    return true;
}

/* 1: sizes of all are known and agree; 0: not known; -1 after a report. */
static int same_shapes(rlx_infer *in, const rlx_tuple_sinfo *t)
{
    const rlx_tensor_sinfo *first = rlx_as_tensor_sinfo(t->fields[0]);
    size_t n, m;
    const rlx_prim *const *want = rlx_literal_dims(first, &n);
    int all = want != NULL;
    for (size_t i = 1; i < t->num_fields; i++) {
        const rlx_tensor_sinfo *one = rlx_as_tensor_sinfo(t->fields[i]);
        const rlx_prim *const *have = rlx_literal_dims(one, &m);
        if (one->ndim >= 0 && first->ndim >= 0 && one->ndim != first->ndim)
            return rlx_infer_fail(in, "input %zu has rank %d, expected %d like the others", i,
                                  one->ndim, first->ndim),
                   -1;
        for (size_t k = 0; have && want && k < n; k++) {
            enum rlx_answer same = rlx_infer_equal(in, want[k], have[k]);
            if (same == RLX_DIFFERENT)
                return rlx_infer_fail(in, "dimension %zu of input %zu is %s, expected %s", k, i,
                                      rlx_show(in->ctx, have[k]), rlx_show(in->ctx, want[k])),
                       -1;
        }
        all &= have != NULL;
    }
    return all;
}

const rlx_sinfo *rlx_infer_stack(rlx_infer *in)
{
    const rlx_tuple_sinfo *t = tensors(in, 0);
    rlx_dtype dtype;
    size_t axis, n;
    rlx_dims out;
    int known = t && common_dtype(in, t, &dtype) ? same_shapes(in, t) : -1;
    if (known < 0)
        return NULL;
    const rlx_tensor_sinfo *first = rlx_as_tensor_sinfo(t->fields[0]);
    const rlx_prim *const *dims = rlx_literal_dims(first, &n);
    if (first->ndim < 0)
        return rlx_infer_rank_result(in, -1, dtype, first->vdevice);
    if (!rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), 0), first->ndim + 1, &axis))
        return NULL;
    if (!known)
        return rlx_infer_rank_result(in, first->ndim + 1, dtype, first->vdevice);
    if (!rlx_dims_init(in, &out, n + 1))
        return NULL;
    for (size_t i = 0; i <= n; i++)
        out.at[i] = i == axis ? rlx_int64(in->ctx, (int64_t)t->num_fields)
                              : dims[i < axis ? i : i - 1];
    return like(in, first, &out, dtype);
}

/* One result for each input, all of one shape. */
const rlx_sinfo *rlx_infer_meshgrid(rlx_infer *in)
{
    const rlx_tuple_sinfo *t = tensors(in, 0);
    rlx_slice indexing = rlx_attr_text(rlx_infer_attr(in, 0));
    rlx_dtype dtype;
    rlx_dims out;
    if (!t || !common_dtype(in, t, &dtype))
        return NULL;
    if (!rlx_slice_is(indexing, "ij") && !rlx_slice_is(indexing, "xy"))
        return rlx_infer_fail(in, "indexing is \"%.*s\", expected \"ij\" or \"xy\"",
                              (int)(indexing.len > 20 ? 20 : indexing.len), indexing.data);
    size_t count = t->num_fields, n;
    bool known = true, swapped = rlx_slice_is(indexing, "xy") && count > 1;
    if (!rlx_dims_init(in, &out, count))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const rlx_tensor_sinfo *x = rlx_as_tensor_sinfo(t->fields[i]);
        const rlx_prim *const *dims = rlx_literal_dims(x, &n);
        if (x->ndim > 1)
            return rlx_infer_fail(in, "input %zu has rank %d, expected 1", i, x->ndim);
        known &= dims != NULL;
        out.at[swapped && i < 2 ? 1 - i : i] = dims && n ? dims[0] : rlx_int64(in->ctx, 1);
    }
    const rlx_tensor_sinfo *first = rlx_as_tensor_sinfo(t->fields[0]);
    const rlx_sinfo *one = known ? like(in, first, &out, dtype)
                                 : rlx_infer_rank_result(in, (int64_t)count, dtype, first->vdevice);
    const rlx_sinfo **all = one ? rlx_new(in->ctx, count * sizeof *all) : NULL;
    for (size_t i = 0; all && i < count; i++)
        all[i] = one;
    return rlx_infer_done(in, all ? rlx_tuple_info(in->ctx, all, count) : NULL);
}

const rlx_sinfo *rlx_infer_outer(rlx_infer *in)
{
    const rlx_tensor_sinfo *a = rlx_infer_tensor(in, 0), *b = a ? rlx_infer_tensor(in, 1) : NULL;
    rlx_dtype dtype;
    const rlx_node *device;
    rlx_dims out;
    size_t n, m;
    if (!b || !rlx_infer_common_dtype(in, a->dtype, b->dtype, &dtype) ||
        !rlx_infer_common_device(in, a->vdevice, b->vdevice, &device))
        return NULL;
    if ((a->ndim >= 0 && a->ndim != 1) || (b->ndim >= 0 && b->ndim != 1))
        return rlx_infer_fail(in, "x1 is %s and x2 is %s, expected tensors of rank 1",
                              rlx_show(in->ctx, &a->node), rlx_show(in->ctx, &b->node));
    const rlx_prim *const *da = rlx_literal_dims(a, &n), *const *db = rlx_literal_dims(b, &m);
    if (!da || !db || !rlx_dims_init(in, &out, 2))
        return in->failed ? NULL : rlx_infer_rank_result(in, 2, dtype, device);
    out.at[0] = da[0];
    out.at[1] = db[0];
    return rlx_infer_dims_result(in, &out, dtype, device);
}

/* ---- one tensor ----------------------------------------------------------------------------- */

const rlx_sinfo *rlx_infer_size(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    rlx_dims out;
    return x && rlx_dims_init(in, &out, 0) ? like(in, x, &out, RELAX_INT64) : NULL;
}

/* The first dimension, and the product of the others. */
const rlx_sinfo *rlx_infer_batch_flatten(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    rlx_dims out;
    size_t n;
    if (!x)
        return NULL;
    if (x->ndim >= 0 && x->ndim < 1)
        return rlx_infer_fail(in, "data has rank 0, expected at least 1");
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims)
        return rlx_infer_rank_result(in, 2, x->dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, 2))
        return NULL;
    out.at[0] = dims[0];
    out.at[1] = rlx_dims_product(in->ctx, dims + 1, n - 1);
    return out.at[1] ? like(in, x, &out, x->dtype) : rlx_infer_done(in, NULL);
}

/* (.., c * r * r, h, w) to (.., c, h * r, w * r) */
const rlx_sinfo *rlx_infer_pixel_shuffle(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    int64_t r = rlx_attr_as_int(rlx_infer_attr(in, 0), 0);
    rlx_dims out;
    size_t n;
    if (!x)
        return NULL;
    if (r <= 0 || r > 1 << 20)
        return rlx_infer_fail(in, "upscale_factor is %lld, expected more than 0", (long long)r);
    if (x->ndim >= 0 && x->ndim < 3)
        return rlx_infer_fail(in, "data has rank %d, expected at least 3", x->ndim);
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims)
        return rlx_infer_rank_result(in, x->ndim, x->dtype, x->vdevice);
    const rlx_prim *square = rlx_int64(in->ctx, r * r), *factor = rlx_int64(in->ctx, r);
    const rlx_prim *rest = rlx_fold_binary(in->ctx, RLX_NODE_FLOOR_MOD, dims[n - 3], square);
    int64_t literal;
    if (rest && rlx_int_literal(rest, &literal) && literal)
        return rlx_infer_fail(in, "%s channels do not divide into %lld",
                              rlx_show(in->ctx, dims[n - 3]), (long long)(r * r));
    if (!rlx_dims_init(in, &out, n))
        return NULL;
    for (size_t i = 0; i < n; i++)
        out.at[i] = i + 3 < n    ? dims[i]
                    : i + 3 == n ? rlx_fold_binary(in->ctx, RLX_NODE_FLOOR_DIV, dims[i], square)
                                 : rlx_fold_mul(in->ctx, dims[i], factor);
    return like(in, x, &out, x->dtype);
}

/* The slopes are one number or one for each place of the axis. */
const rlx_sinfo *rlx_infer_prelu(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0), *a = x ? rlx_infer_tensor(in, 1) : NULL;
    rlx_dtype dtype;
    size_t axis, n, m;
    if (!a || !rlx_infer_common_dtype(in, x->dtype, a->dtype, &dtype) ||
        !rlx_infer_float(in, x->dtype))
        return NULL;
    if (a->ndim >= 0 && a->ndim != 1)
        return rlx_infer_fail(in, "alpha has rank %d, expected 1", a->ndim);
    if (x->ndim >= 0 &&
        !rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), 1), x->ndim, &axis))
        return NULL;
    const rlx_prim *const *dx = rlx_literal_dims(x, &n), *const *da = rlx_literal_dims(a, &m);
    const rlx_prim *one = rlx_int64(in->ctx, 1);
    if (dx && da && rlx_infer_equal(in, dx[axis], da[0]) == RLX_DIFFERENT &&
        rlx_infer_equal(in, da[0], one) == RLX_DIFFERENT)
        return rlx_infer_fail(in, "alpha has %s elements, dimension %zu of data is %s",
                              rlx_show(in->ctx, da[0]), axis, rlx_show(in->ctx, dx[axis]));
    return &x->node;
}

const rlx_sinfo *rlx_infer_instance_norm(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    rlx_axes axes;
    size_t channel;
    if (!x || !rlx_infer_tensor(in, 1) || !rlx_infer_tensor(in, 2) ||
        !rlx_infer_float(in, x->dtype))
        return NULL;
    if (x->ndim >= 0 &&
        (!rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), 0), x->ndim, &channel) ||
         !rlx_infer_axes(in, rlx_infer_attr(in, 1), x->ndim, &axes)))
        return NULL;
    return &x->node;
}

const rlx_sinfo *rlx_infer_reverse_sequence(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0), *k = x ? rlx_infer_tensor(in, 1) : NULL;
    size_t seq, batch;
    if (!k || !integers(in, k, "seq_lengths"))
        return NULL;
    if (k->ndim >= 0 && k->ndim != 1)
        return rlx_infer_fail(in, "seq_lengths has rank %d, expected 1", k->ndim);
    if (x->ndim >= 0 &&
        (!rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), 1), x->ndim, &seq) ||
         !rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 1), 0), x->ndim, &batch)))
        return NULL;
    return &x->node;
}

const rlx_sinfo *rlx_infer_bucketize(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0), *b = x ? rlx_infer_tensor(in, 1) : NULL;
    if (!b)
        return NULL;
    if (b->ndim >= 0 && b->ndim != 1)
        return rlx_infer_fail(in, "boundaries has rank %d, expected 1", b->ndim);
    return rlx_infer_with_dtype(
        in, x, rlx_attr_as_bool(rlx_infer_attr(in, 0), false) ? RELAX_INT32 : RELAX_INT64);
}

/* ---- positions ------------------------------------------------------------------------------ */

/* The common shape of the indices. known 0: only its rank, or not even that (-1). */
static bool index_shape(rlx_infer *in, const rlx_tuple_sinfo *k, rlx_dims *out, int *rank,
                        bool *known)
{
    *rank = 0;
    *known = true;
    for (size_t i = 0; i < k->num_fields; i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(k->fields[i]);
        if (!integers(in, t, "an index"))
            return false;
        *rank = t->ndim < 0 || *rank < 0 ? -1 : t->ndim > *rank ? t->ndim : *rank;
        *known &= rlx_as_shape_expr(t->shape) != NULL;
    }
    if (*rank < 0 || !rlx_dims_init(in, out, (size_t)*rank))
        return !in->failed;
    for (size_t d = 0; *known && d < out->count; d++) {
        out->at[d] = rlx_int64(in->ctx, 1);
        for (size_t i = 0; i < k->num_fields && *known; i++) {
            size_t n;
            const rlx_prim *const *dims =
                rlx_literal_dims(rlx_as_tensor_sinfo(k->fields[i]), &n);
            if (d + n < out->count)
                continue;
            int one = rlx_broadcast_dim(in, out->at[d], dims[d + n - out->count], &out->at[d]);
            if (one < 0)
                return rlx_infer_fail(in, "the indices do not broadcast to one shape"), false;
            *known &= one == 1;
        }
    }
    return true;
}

const rlx_sinfo *rlx_infer_index_tensor(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_tuple_sinfo *k = x ? tensors(in, 1) : NULL;
    rlx_dims at, out;
    int rank;
    bool known;
    size_t n;
    if (!k || !index_shape(in, k, &at, &rank, &known))
        return NULL;
    if (x->ndim >= 0 && (size_t)x->ndim < k->num_fields)
        return rlx_infer_fail(in, "%zu indices for data of rank %d", k->num_fields, x->ndim);
    if (x->ndim < 0 || rank < 0)
        return rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    size_t rest = (size_t)x->ndim - k->num_fields;
    if (!dims || !known)
        return rlx_infer_rank_result(in, rank + (int64_t)rest, x->dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, at.count + rest))
        return NULL;
    for (size_t i = 0; i < out.count; i++)
        out.at[i] = i < at.count ? at.at[i] : dims[k->num_fields + i - at.count];
    return like(in, x, &out, x->dtype);
}

const rlx_sinfo *rlx_infer_index_put(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_tuple_sinfo *k = x ? tensors(in, 1) : NULL;
    const rlx_tensor_sinfo *v = k ? rlx_infer_tensor(in, 2) : NULL;
    rlx_dims at;
    rlx_dtype dtype;
    int rank;
    bool known;
    if (!v || !rlx_infer_common_dtype(in, x->dtype, v->dtype, &dtype) ||
        !index_shape(in, k, &at, &rank, &known))
        return NULL;
    if (x->ndim >= 0 && (size_t)x->ndim < k->num_fields)
        return rlx_infer_fail(in, "%zu indices for data of rank %d", k->num_fields, x->ndim);
    return &x->node;
}

const rlx_sinfo *rlx_infer_slice_scatter(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0), *s = x ? rlx_infer_tensor(in, 1) : NULL;
    rlx_dtype dtype;
    size_t axis;
    if (!s || !rlx_infer_common_dtype(in, x->dtype, s->dtype, &dtype))
        return NULL;
    for (size_t i = 2; i < 5; i++) {
        const rlx_sinfo *p = rlx_infer_arg(in, i);
        if (!p)
            return NULL;
        if (!rlx_as_prim_sinfo(p))
            return rlx_infer_fail(in, "%s is %s, expected a scalar", in->row->args[i].name,
                                  rlx_show(in->ctx, p));
    }
    if (x->ndim >= 0 &&
        !rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), 0), x->ndim, &axis))
        return NULL;
    if (x->ndim >= 0 && s->ndim >= 0 && x->ndim != s->ndim)
        return rlx_infer_fail(in, "src has rank %d, input_tensor %d", s->ndim, x->ndim);
    return &x->node;
}

/* ---- windows -------------------------------------------------------------------------------- */

const rlx_sinfo *rlx_infer_hamming_window(rlx_infer *in)
{
    const rlx_prim_value *size = rlx_as_prim_value(rlx_infer_value(in, 0));
    const rlx_sinfo *s = rlx_infer_arg(in, 0);
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 0));
    rlx_dims out;
    int64_t literal;
    if (!s)
        return NULL;
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(s);
    const rlx_prim *n = size ? size->value : p ? p->value : NULL;
    if (!p || !rlx_dtype_is_int(p->dtype))
        return rlx_infer_fail(in, "window_size is %s, expected an integer scalar",
                              rlx_show(in->ctx, s));
    if (!rlx_infer_float(in, dtype))
        return NULL;
    if (n && rlx_int_literal(n, &literal) && literal <= 0)
        return rlx_infer_fail(in, "window_size is %lld, expected more than 0", (long long)literal);
    if (!n)
        return rlx_infer_rank_result(in, 1, dtype, NULL);
    if (!rlx_dims_init(in, &out, 1))
        return NULL;
    out.at[0] = rlx_fold_cast(in->ctx, RELAX_INT64, n);
    return rlx_infer_dims_result(in, &out, dtype, NULL);
}

/* ---- median --------------------------------------------------------------------------------- */

/* Along one axis also the positions. */
const rlx_sinfo *rlx_infer_median(rlx_infer *in)
{
    const rlx_sinfo *values = rlx_infer_reduce(in);
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(values);
    const rlx_attr *axis = rlx_infer_attr(in, 0);
    if (!t || rlx_attr_is_none(axis) || rlx_attr_count(axis) != 1)
        return values;
    const rlx_sinfo *both[2] = { values, rlx_infer_with_dtype(in, t, RELAX_INT64) };
    return both[1] ? rlx_infer_done(in, rlx_tuple_info(in->ctx, both, 2)) : NULL;
}
