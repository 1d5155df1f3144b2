/* infer_shape.c: the same elements in another shape or order. */
#include "op/op_int.h"

/* The shape argument as the shape of a tensor: a literal or a variable; NULL for anything else. */
static const rlx_expr *shape_of_arg(const rlx_infer *in, size_t i)
{
    const rlx_expr *e = rlx_infer_expr(in, i);
    return rlx_as_shape_expr(e) || rlx_as_var(e) ? e : NULL;
}

/* ---- reshape -------------------------------------------------------------------------------- */

/* Product of sizes that are not struck out. */
static const rlx_prim *product_but(rlx_context *ctx, const rlx_prim *const *dims, size_t n,
                                   uint64_t struck)
{
    const rlx_prim *p = rlx_int64(ctx, 1);
    for (size_t i = 0; i < n; i++)
        if (i >= 64 || !(struck >> i & 1))
            p = rlx_fold_mul(ctx, p, dims[i]);
    return p;
}

/* Sizes on both sides cancel: so the answer is right for every value, and for 0 it is the
 * natural one. */
static void strike_equal(const rlx_prim *const *a, size_t na, const rlx_prim *const *b, size_t nb,
                         uint64_t *in_a, uint64_t *in_b)
{
    for (size_t i = 0; i < na && i < 64; i++)
        for (size_t k = 0; k < nb && k < 64; k++)
            if (a[i] == b[k] && !(*in_b >> k & 1)) {
                *in_a |= (uint64_t)1 << i;
                *in_b |= (uint64_t)1 << k;
                break;
            }
}

/* What is left for -1 at position `at`: the elements of x divided by the other sizes. */
static const rlx_prim *missing_size(rlx_infer *in, const rlx_prim *const *have, size_t n,
                                    const rlx_prim *const *dims, size_t count, size_t at)
{
    uint64_t in_have = 0, in_dims = at < 64 ? (uint64_t)1 << at : 0;
    strike_equal(have, n, dims, count, &in_have, &in_dims);
    const rlx_prim *all = product_but(in->ctx, have, n, in_have),
                   *others = product_but(in->ctx, dims, count, in_dims);
    if (rlx_is_int_value(others, 0)) {
        rlx_infer_fail(in, "-1 cannot be inferred beside a size of 0");
        return NULL;
    }
    int64_t a, b;
    if (all && others && rlx_int_literal(all, &a) && rlx_int_literal(others, &b) && a % b) {
        rlx_infer_fail(in, "-1 cannot be inferred: %lld elements are no multiple of %lld", (long long)a,
                       (long long)b);
        return NULL;
    }
    const rlx_prim *q =
        all && others ? rlx_fold_binary(in->ctx, RLX_NODE_FLOOR_DIV, all, others) : NULL;
    q = q ? rlx_simplify(in->ctx, in->scope, q) : NULL;
    in->failed |= !q;
    return q;
}

static bool check_written(rlx_infer *in, const rlx_shape_expr *s, bool *special)
{
    size_t inferred = 0;
    *special = false;
    for (size_t i = 0; i < s->num_values; i++) {
        int64_t v;
        if (!rlx_int_literal(s->values[i], &v) || v > 0)
            continue;
        *special = true;
        if (v < -1 || (v == -1 && ++inferred > 1)) {
            rlx_infer_fail(in,
                           v < -1 ? "size %lld is negative" : "%lld stands for more than one size",
                           (long long)v);
            return false;
        }
    }
    return true;
}

/* Copies sizes for 0. A tensor without elements keeps a 0 that copying would contradict: such
 * shapes come out of this very function and must stay as they are. */
static bool copy_zeros(rlx_infer *in, const rlx_shape_expr *s, const rlx_prim *const *have,
                       size_t n, rlx_dims *out)
{
    bool empty = rlx_is_int_value(rlx_dims_product(in->ctx, have, n), 0);
    for (size_t i = 0; i < s->num_values; i++) {
        out->at[i] = s->values[i];
        if (!rlx_is_int_value(s->values[i], 0) || (empty && i >= n))
            continue;
        if (i >= n) {
            rlx_infer_fail(in, "0 at position %zu has no size of x to copy (rank %zu)", i, n);
            return false;
        }
        out->at[i] = have[i];
    }
    if (empty && !rlx_is_int_value(rlx_dims_product(in->ctx, out->at, out->count), 0))
        for (size_t i = 0; i < s->num_values; i++)
            out->at[i] = s->values[i];
    return true;
}

/* Sizes as meant: 0 copied, -1 inferred. 1: out is set; 0: nothing special is written; -1 after
 * a report. */
static int written_sizes(rlx_infer *in, const rlx_tensor_sinfo *x, const rlx_shape_expr *s,
                         rlx_dims *out)
{
    bool special;
    if (!check_written(in, s, &special))
        return -1;
    if (!special)
        return 0;
    size_t n;
    const rlx_prim *const *have = rlx_shape_dims(x->shape, &n);
    if (!have) {
        rlx_infer_fail(in, "0 and -1 need an operand of known shape, found %s",
                       rlx_show(in->ctx, &x->node));
        return -1;
    }
    if (!rlx_dims_init(in, out, s->num_values) || !copy_zeros(in, s, have, n, out))
        return -1;
    for (size_t i = 0; i < out->count; i++)
        if (rlx_is_int_value(out->at[i], -1) &&
            !(out->at[i] = missing_size(in, have, n, out->at, out->count, i)))
            return -1;
    return 1;
}

/* Are the sizes the same, but for literals that have the same product? So it is with nearly
 * every reshape that is right. */
static bool keeps_unknown_sizes(const rlx_prim *const *from, size_t n, const rlx_prim *const *to,
                                size_t n_to)
{
    size_t left = 1, right = 1;
    uint64_t found = 0;
    int64_t v;
    for (size_t i = 0, k; i < n; i++) {
        if (rlx_int_literal(from[i], &v)) {
            if (v < 0 || !rlx_mul_size(left, (size_t)v, &left))
                return false;
            continue;
        }
        for (k = 0; k < n_to && (to[k] != from[i] || found >> k & 1); k++)
            ;
        if (k >= n_to || k >= 64)
            return false;
        found |= (uint64_t)1 << k;
    }
    for (size_t k = 0; k < n_to; k++)
        if ((k >= 64 || !(found >> k & 1)) &&
            (!rlx_int_literal(to[k], &v) || v < 0 || !rlx_mul_size(right, (size_t)v, &right)))
            return false;
    return left == right;
}

/* Do the numbers of elements surely differ as long as no size is 0? Only asked for a warning. */
static bool differ_unless_empty(rlx_infer *in, const rlx_prim *a, const rlx_prim *b)
{
    rlx_scope sizes;
    rlx_prim_vars vars = { 0 };
    rlx_memory *m = &in->ctx->memory;
    if (in->quiet || in->quiet_values || rlx_diags_full(&in->ctx->diags))
        return false;
    rlx_scope_init(&sizes, in->ctx, in->scope);
    bool ok = rlx_collect_prim_vars(m, a, false, &vars) && rlx_collect_prim_vars(m, b, false, &vars);
    for (size_t i = 0; ok && i < vars.len; i++)
        ok = rlx_scope_bound(&sizes, vars.data[i], 1, INT64_MAX);
    bool differ = ok && vars.len && rlx_prove_equal(in->ctx, &sizes, a, b) == RLX_DIFFERENT;
    rlx_scope_free(&sizes);
    rlx_vec_free(m, &vars);
    return differ;
}

static bool same_elements(rlx_infer *in, const rlx_tensor_sinfo *x, const rlx_prim *const *to,
                          size_t n_to)
{
    size_t n;
    const rlx_prim *const *from = rlx_shape_dims(x->shape, &n);
    if (!from || (n_to <= 64 && keeps_unknown_sizes(from, n, to, n_to)))
        return true;
    const rlx_prim *a = rlx_dims_product(in->ctx, from, n),
                   *b = rlx_dims_product(in->ctx, to, n_to);
    if (!a || !b)
        return in->failed = true, false;
    enum rlx_answer answer = rlx_infer_equal(in, a, b);
    if (answer == RLX_UNKNOWN && differ_unless_empty(in, a, b))
        rlx_report(in->ctx, RLX_TY08, RLX_SEVERITY_WARNING, in->call->place,
                   "reshape: x has %s elements, the new shape %s: that is the same only where a size "
                   "is 0",
                   rlx_show(in->ctx, a), rlx_show(in->ctx, b));
    if (answer != RLX_DIFFERENT)
        return true;
    rlx_infer_fail(in, "x has %s elements, the new shape %s", rlx_show(in->ctx, a),
                   rlx_show(in->ctx, b));
    return false;
}

const rlx_sinfo *rlx_infer_reshape(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_shape_sinfo *s = x ? rlx_infer_shape_arg(in, 1) : NULL;
    if (!s)
        return NULL;
    rlx_dims out;
    const rlx_shape_expr *written = rlx_as_shape_expr(in->call->args[1]);
    int special = written ? written_sizes(in, x, written, &out) : 0;
    if (special < 0)
        return NULL;
    if (special)
        return same_elements(in, x, out.at, out.count)
                   ? rlx_infer_dims_result(in, &out, x->dtype, x->vdevice)
                   : NULL;
    if (s->has_values && !same_elements(in, x, s->values, s->num_values))
        return NULL;
    const rlx_expr *shape = shape_of_arg(in, 1);
    if (!written && s->has_values && !(shape = rlx_shape_new(in->ctx, s->values, s->num_values)))
        return rlx_infer_done(in, NULL);
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, shape, x->dtype, s->ndim, x->vdevice));
}

const rlx_expr *rlx_normalize_reshape(rlx_infer *in)
{
    const rlx_call *call = in->call;
    const rlx_shape_expr *written = call->num_args == 2 ? rlx_as_shape_expr(call->args[1]) : NULL;
    bool special = false;
    if (!written)
        return &call->node;
    for (size_t i = 0; i < written->num_values && !special; i++)
        special =
            rlx_is_int_value(written->values[i], 0) || rlx_is_int_value(written->values[i], -1);
    const rlx_tensor_sinfo *x =
        special ? rlx_as_tensor_sinfo(in->sinfo_of(in->user, call->args[0])) : NULL;
    rlx_dims out;
    if (!x)
        return &call->node; /* nothing to do, or the rule reports it */
    int found = written_sizes(in, x, written, &out);
    if (found <= 0)
        return found < 0 ? NULL : &call->node;
    const rlx_expr *args[2] = { call->args[0], rlx_shape_new(in->ctx, out.at, out.count) };
    if (args[1] == call->args[1])
        return &call->node;
    return args[1] ? rlx_call_new(in->ctx, call->op, args, 2, NULL, 0, call->attrs, call->place)
                   : NULL;
}

const rlx_sinfo *rlx_infer_flatten(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    if (!x || x->ndim == 1)
        return x ? &x->node : NULL;
    rlx_dims out;
    size_t n = 0;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims && x->ndim != 0)
        return rlx_infer_rank_result(in, 1, x->dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, 1) || !(out.at[0] = rlx_dims_product(in->ctx, dims, n)))
        return rlx_infer_done(in, NULL);
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

/* ---- order and number of dimensions --------------------------------------------------------- */

static const rlx_sinfo *permuted(rlx_infer *in, const rlx_tensor_sinfo *x, const rlx_attr *axes)
{
    rlx_dims out;
    size_t n = (size_t)x->ndim, axis, unused;
    const rlx_prim *const *dims = rlx_literal_dims(x, &unused);
    bool identity = true;
    if (!rlx_dims_init(in, &out, n))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        axis = n - 1 - i;
        if (!rlx_attr_is_none(axes) && !rlx_infer_axis(in, rlx_attr_item(axes, i), x->ndim, &axis))
            return NULL;
        identity &= axis == i;
        out.at[i] = dims ? dims[axis] : NULL;
    }
    if (identity)
        return &x->node;
    return dims ? rlx_infer_dims_result(in, &out, x->dtype, x->vdevice)
                : rlx_infer_rank_result(in, x->ndim, x->dtype, x->vdevice);
}

const rlx_sinfo *rlx_infer_permute(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_attr *axes = rlx_infer_attr(in, 0);
    rlx_axes marks;
    if (!x)
        return NULL;
    if (rlx_attr_is_none(axes))
        return x->ndim < 0 ? rlx_infer_rank_result(in, -1, x->dtype, x->vdevice)
                           : permuted(in, x, NULL);
    if (x->ndim < 0)
        return rlx_infer_fail(
            in, "axes are given but the rank of x is not known (R.match_cast states it)");
    if (rlx_attr_count(axes) != (size_t)x->ndim)
        return rlx_infer_fail(in, "%zu axes are given for a tensor of rank %d",
                              rlx_attr_count(axes), x->ndim);
    return rlx_infer_axes(in, axes, x->ndim, &marks) ? permuted(in, x, axes) : NULL;
}

const rlx_sinfo *rlx_infer_expand_dims(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_attr *list = rlx_infer_attr(in, 0);
    size_t n, count = rlx_attr_count(list);
    if (!x || count == 0)
        return x ? &x->node : NULL;
    if (x->ndim < 0)
        return rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    rlx_axes axes;
    rlx_dims out;
    int64_t ndim = x->ndim + (int64_t)count;
    for (size_t i = 0; i < count; i++)
        if (rlx_attr_item(list, i) < -ndim || rlx_attr_item(list, i) >= ndim)
            return rlx_infer_fail(in, "axis %lld is out of range for a result of rank %lld",
                                  (long long)rlx_attr_item(list, i), (long long)ndim);
    if (!rlx_infer_axes(in, list, ndim, &axes))
        return NULL;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n), *one = rlx_int64(in->ctx, 1);
    if (!dims)
        return rlx_infer_rank_result(in, ndim, x->dtype, x->vdevice);
    if (!one || !rlx_dims_init(in, &out, (size_t)ndim))
        return rlx_infer_done(in, NULL);
    for (size_t i = 0, from = 0; i < out.count; i++)
        out.at[i] = axes.mark[i] ? one : dims[from++];
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

/* All sizes of 1 go; a symbolic size might be one, so then the rank is open. */
static const rlx_sinfo *squeeze_all(rlx_infer *in, const rlx_tensor_sinfo *x,
                                    const rlx_prim *const *dims, size_t n)
{
    rlx_dims out;
    size_t kept = 0;
    if (!dims || !rlx_dims_init(in, &out, n))
        return dims ? NULL : rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    for (size_t i = 0; i < n; i++) {
        if (!rlx_is(dims[i], RLX_NODE_INT_IMM))
            return rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
        if (!rlx_is_int_value(dims[i], 1))
            out.at[kept++] = dims[i];
    }
    out.count = kept;
    if (rlx_as_var(x->shape))
        return kept == n ? &x->node : rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

const rlx_sinfo *rlx_infer_squeeze(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_attr *list = rlx_infer_attr(in, 0);
    if (!x)
        return NULL;
    size_t n, kept = 0;
    const rlx_prim *const *dims = rlx_shape_dims(x->shape, &n);
    if (!rlx_attr_is_none(list) && rlx_attr_count(list) == 0)
        return &x->node;
    if (x->ndim < 0)
        return rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    if (rlx_attr_is_none(list))
        return squeeze_all(in, x, dims, n);
    rlx_axes axes;
    rlx_dims out;
    if (!rlx_infer_axes(in, list, x->ndim, &axes) || !rlx_dims_init(in, &out, (size_t)x->ndim))
        return NULL;
    if (!dims)
        return rlx_infer_rank_result(in, x->ndim - (int64_t)axes.count, x->dtype, x->vdevice);
    for (size_t i = 0; i < n; i++) {
        if (axes.mark[i] && rlx_is(dims[i], RLX_NODE_INT_IMM) && !rlx_is_int_value(dims[i], 1))
            return rlx_infer_fail(in, "dimension %zu is %s, only sizes of 1 can be dropped", i,
                                  rlx_show(in->ctx, dims[i]));
        if (!axes.mark[i])
            out.at[kept++] = dims[i];
    }
    out.count = kept;
    if (rlx_as_var(x->shape))
        return rlx_infer_rank_result(in, (int64_t)kept, x->dtype, x->vdevice);
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

/* ---- concat --------------------------------------------------------------------------------- */

/* Fields of a tuple argument, all tensors; NULL after a report. */
static const rlx_tuple_sinfo *tensors_arg(rlx_infer *in, size_t i)
{
    const rlx_sinfo *s = rlx_infer_arg(in, i);
    if (!s)
        return NULL;
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    for (size_t k = 0; t && k < t->num_fields; k++)
        if (!rlx_as_tensor_sinfo(t->fields[k]))
            t = NULL;
    if (!t || t->num_fields == 0) {
        rlx_infer_fail(in, "%s is %s, expected a tuple of one tensor or more",
                       in->row->args[i].name, rlx_show(in->ctx, s));
        return NULL;
    }
    return t;
}

typedef struct joined {
    rlx_dtype dtype;
    int ndim;
    const rlx_node *vdevice;
    bool all_literal;
} joined;

static bool join_fields(rlx_infer *in, const rlx_tuple_sinfo *tuple, bool flat, joined *j)
{
    *j = (joined){ .ndim = flat ? 1 : -1, .all_literal = true };
    rlx_dtype known = RELAX_VOID;
    bool some_void = false;
    for (size_t i = 0; i < tuple->num_fields; i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(tuple->fields[i]);
        some_void |= rlx_dtype_is_void(t->dtype);
        if (!rlx_dtype_is_void(known) && !rlx_infer_common_dtype(in, known, t->dtype, &j->dtype))
            return false;
        known = rlx_dtype_is_void(t->dtype) ? known : t->dtype;
        if (t->ndim >= 0 && j->ndim >= 0 && t->ndim != j->ndim) {
            rlx_infer_fail(in, "input %zu has rank %d, expected %d%s", i, t->ndim, j->ndim,
                           flat ? " as axis is None" : " like the others");
            return false;
        }
        j->ndim = t->ndim >= 0 ? t->ndim : j->ndim;
        j->all_literal &= rlx_as_shape_expr(t->shape) != NULL;
        j->vdevice = rlx_device_join(j->vdevice, t->vdevice);
    }
    j->dtype = some_void ? RELAX_VOID : known;
    return true;
}

/* Dimension i of all inputs of known shape, which must agree: 1, 0 (not provable, or nothing
 * known), -1 after a report. */
static int agreed_dim(rlx_infer *in, const rlx_tuple_sinfo *tuple, size_t i, const rlx_prim **out)
{
    int all = 1;
    *out = NULL;
    for (size_t k = 0; k < tuple->num_fields; k++) {
        size_t n;
        const rlx_prim *const *dims = rlx_literal_dims(rlx_as_tensor_sinfo(tuple->fields[k]), &n);
        if (!dims)
            continue;
        enum rlx_answer same = *out ? rlx_infer_equal(in, *out, dims[i]) : RLX_EQUAL;
        if (same == RLX_DIFFERENT) {
            rlx_infer_fail(in, "dimension %zu of input %zu is %s, expected %s like the others", i,
                           k, rlx_show(in->ctx, dims[i]), rlx_show(in->ctx, *out));
            return -1;
        }
        all &= same == RLX_EQUAL;
        *out = *out ? *out : dims[i];
    }
    return all && *out;
}

/* n * d if all are the same expression, else their sum. */
static const rlx_prim *joined_size(rlx_infer *in, const rlx_tuple_sinfo *tuple, size_t axis)
{
    size_t n;
    const rlx_prim *first = rlx_literal_dims(rlx_as_tensor_sinfo(tuple->fields[0]), &n)[axis];
    const rlx_prim *sum = rlx_int64(in->ctx, 0);
    bool same = true;
    for (size_t k = 0; k < tuple->num_fields; k++) {
        const rlx_prim *d = rlx_literal_dims(rlx_as_tensor_sinfo(tuple->fields[k]), &n)[axis];
        same &= d == first;
        sum = rlx_fold_add(in->ctx, sum, d);
    }
    return same ? rlx_fold_mul(in->ctx, first, rlx_int64(in->ctx, (int64_t)tuple->num_fields))
                : sum;
}

const rlx_sinfo *rlx_infer_concat(rlx_infer *in)
{
    const rlx_tuple_sinfo *tuple = tensors_arg(in, 0);
    const rlx_attr *attr = rlx_infer_attr(in, 0);
    joined j;
    if (!tuple || !join_fields(in, tuple, rlx_attr_is_none(attr), &j))
        return NULL;
    size_t axis = 0;
    if (j.ndim < 0)
        return tuple->num_fields == 1 ? tuple->fields[0]
                                      : rlx_infer_rank_result(in, -1, j.dtype, j.vdevice);
    if (!rlx_attr_is_none(attr) && !rlx_infer_axis(in, rlx_attr_as_int(attr, 0), j.ndim, &axis))
        return NULL;
    if (j.ndim == 0)
        return rlx_infer_fail(in, "inputs have rank 0, expected at least 1");
    if (tuple->num_fields == 1)
        return tuple->fields[0];
    rlx_dims out;
    bool known = j.all_literal;
    if (!rlx_dims_init(in, &out, (size_t)j.ndim))
        return NULL;
    for (size_t i = 0; i < out.count; i++) {
        int one = i == axis ? 1 : agreed_dim(in, tuple, i, &out.at[i]);
        if (one < 0)
            return NULL;
        known &= one != 0;
    }
    if (!known)
        return rlx_infer_rank_result(in, j.ndim, j.dtype, j.vdevice);
    if (!(out.at[axis] = joined_size(in, tuple, axis)))
        return rlx_infer_done(in, NULL);
    return rlx_infer_dims_result(in, &out, j.dtype, j.vdevice);
}

/* ---- broadcasting to a shape, and back ------------------------------------------------------ */

/* Does x surely not stretch to the new size? What is another size may still be 1. */
static bool cannot_stretch(rlx_infer *in, const rlx_prim *x, const rlx_prim *to)
{
    const rlx_prim *one = rlx_int64(in->ctx, 1);
    return one && rlx_infer_equal(in, x, to) == RLX_DIFFERENT &&
           rlx_infer_equal(in, x, one) == RLX_DIFFERENT;
}

const rlx_sinfo *rlx_infer_broadcast_to(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_shape_sinfo *s = x ? rlx_infer_shape_arg(in, 1) : NULL;
    if (!s)
        return NULL;
    if (s->ndim >= 0 && x->ndim > s->ndim)
        return rlx_infer_fail(in, "x has rank %d, the new shape only %d", x->ndim, s->ndim);
    size_t n;
    const rlx_prim *const *dims = rlx_shape_dims(x->shape, &n);
    for (size_t i = 0; dims && s->has_values && i < n; i++) {
        const rlx_prim *to = s->values[i + s->num_values - n];
        if (cannot_stretch(in, dims[i], to))
            return rlx_infer_fail(in, "dimension %zu of x is %s, which does not broadcast to %s",
                                  i, rlx_show(in->ctx, dims[i]), rlx_show(in->ctx, to));
    }
    return rlx_infer_done(
        in, rlx_tensor_info(in->ctx, shape_of_arg(in, 1), x->dtype, s->ndim, x->vdevice));
}

/* Every size summed to must be proved to be that of data, or be 1. */
static bool collapses(rlx_infer *in, const rlx_prim *const *from, size_t n,
                      const rlx_prim *const *to, size_t n_to)
{
    if (n_to > n) {
        rlx_infer_fail(in, "data has rank %zu, less than that of the target, %zu", n, n_to);
        return false;
    }
    for (size_t i = 0; i < n_to; i++) {
        const rlx_prim *a = from[i + n - n_to];
        if (rlx_is_int_value(to[i], 1) || rlx_infer_equal(in, a, to[i]) == RLX_EQUAL)
            continue;
        rlx_infer_fail(in, "size %s is not proved to collapse to %s", rlx_show(in->ctx, a),
                       rlx_show(in->ctx, to[i]));
        return false;
    }
    return true;
}

const rlx_sinfo *rlx_infer_collapse_sum_like(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0), *to = x ? rlx_infer_tensor(in, 1) : NULL;
    size_t n, m;
    if (!to)
        return NULL;
    const rlx_prim *const *a = rlx_shape_dims(x->shape, &n),
                          *const *b = rlx_shape_dims(to->shape, &m);
    if (a && b && !collapses(in, a, n, b, m))
        return NULL;
    return rlx_infer_with_dtype(in, to, x->dtype);
}

const rlx_sinfo *rlx_infer_collapse_sum_to(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_shape_sinfo *s = x ? rlx_infer_shape_arg(in, 1) : NULL;
    size_t n;
    if (!s)
        return NULL;
    const rlx_prim *const *dims = rlx_shape_dims(x->shape, &n);
    if (dims && s->has_values && !collapses(in, dims, n, s->values, s->num_values))
        return NULL;
    return rlx_infer_done(
        in, rlx_tensor_info(in->ctx, shape_of_arg(in, 1), x->dtype, s->ndim, x->vdevice));
}

/* ---- split, repeat, tile, flip -------------------------------------------------------------- */

static const rlx_prim *fold(rlx_infer *in, enum rlx_node_kind kind, const rlx_prim *a,
                            const rlx_prim *b)
{
    return a && b ? rlx_fold_binary(in->ctx, kind, a, b) : NULL;
}

static const rlx_prim *simple(rlx_infer *in, const rlx_prim *p)
{
    return p ? rlx_simplify(in->ctx, in->scope, p) : NULL;
}

static bool not_negative(rlx_infer *in, const rlx_prim *p)
{
    const rlx_prim *zero = rlx_int64(in->ctx, 0);
    return p && zero && rlx_prove_compare(in->ctx, in->scope, RLX_NODE_GE, p, zero) == RLX_TRUE;
}

/* Python's slice rule for one bound of split: counted from the end if negative, limited to 0 ..
 * size. */
static const rlx_prim *split_bound(rlx_infer *in, int64_t index, const rlx_prim *size)
{
    const rlx_prim *at = rlx_int64(in->ctx, index);
    if (index < 0)
        at = index == INT64_MIN ? rlx_int64(in->ctx, 0)
                                : fold(in, RLX_NODE_SUB, size, rlx_int64(in->ctx, -index));
    at = fold(in, RLX_NODE_MIN, at, size);
    return not_negative(in, at) ? at : fold(in, RLX_NODE_MAX, at, rlx_int64(in->ctx, 0));
}

static const rlx_prim *slice_size(rlx_infer *in, const rlx_prim *from, const rlx_prim *to)
{
    if (rlx_is_int_value(from, 0))
        return to;
    return fold(in, RLX_NODE_MAX, fold(in, RLX_NODE_SUB, to, from), rlx_int64(in->ctx, 0));
}

/* Size of part i of `count`; NULL after a failure. */
static const rlx_prim *part_size(rlx_infer *in, const rlx_attr *how, size_t i, size_t count,
                                 const rlx_prim *size)
{
    const rlx_prim *zero = rlx_int64(in->ctx, 0);
    if (rlx_as_attr_list(how)) {
        int64_t begin = i ? rlx_attr_item(how, i - 1) : 0;
        if (i + 1 == count && begin >= 0) /* up to the end: the beginning needs no limit */
            return slice_size(in, rlx_int64(in->ctx, begin), size);
        return slice_size(in, i ? split_bound(in, begin, size) : zero,
                          i + 1 < count ? split_bound(in, rlx_attr_item(how, i), size) : size);
    }
    int64_t k = rlx_attr_as_int(how, 1);
    const rlx_prim *sections = rlx_int64(in->ctx, k);
    const rlx_prim *part = fold(in, RLX_NODE_FLOOR_DIV,
                                fold(in, RLX_NODE_ADD, size, rlx_int64(in->ctx, k - 1)), sections);
    if (i + 1 < count)
        return simple(in, part);
    const rlx_prim *rest = simple(
        in, fold(in, RLX_NODE_SUB, size, fold(in, RLX_NODE_MUL, part, rlx_int64(in->ctx, k - 1))));
    if (rest && rlx_prove_compare(in->ctx, in->scope, RLX_NODE_LT, rest, zero) == RLX_TRUE) {
        rlx_infer_fail(in, "%lld sections of a dimension of %s leave %s for the last",
                       (long long)k, rlx_show(in->ctx, size), rlx_show(in->ctx, rest));
        return NULL;
    }
    return rest;
}

static const rlx_sinfo *split_part(rlx_infer *in, const rlx_tensor_sinfo *x, size_t axis,
                                   const rlx_attr *how, size_t i, size_t count)
{
    rlx_dims out;
    size_t n;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims)
        return rlx_infer_rank_result(in, x->ndim, x->dtype, x->vdevice);
    if (!rlx_dims_init(in, &out, n))
        return NULL;
    memcpy(out.at, dims, n * sizeof *out.at);
    out.at[axis] = part_size(in, how, i, count, dims[axis]);
    return out.at[axis] ? rlx_infer_dims_result(in, &out, x->dtype, x->vdevice)
                        : rlx_infer_done(in, NULL);
}

const rlx_sinfo *rlx_infer_split(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_attr *how = rlx_infer_attr(in, 0);
    size_t axis = 0;
    if (!x)
        return NULL;
    if (x->ndim >= 0 &&
        !rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 1), 0), x->ndim, &axis))
        return NULL;
    int64_t sections = rlx_attr_as_int(how, 1);
    if (!rlx_as_attr_list(how) && (sections <= 0 || sections > UINT16_MAX))
        return rlx_infer_fail(in, "cannot split into %lld sections", (long long)sections);
    size_t count = rlx_as_attr_list(how) ? rlx_attr_count(how) + 1 : (size_t)sections;
    if (count == 1)
        return &x->node;
    const rlx_sinfo **parts = rlx_mem_alloc(&in->ctx->memory, count * sizeof *parts);
    bool good = parts != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = (parts[i] = split_part(in, x, axis, how, i, count)) != NULL;
    const rlx_sinfo *result = good ? rlx_tuple_info(in->ctx, parts, count) : NULL;
    rlx_mem_free(&in->ctx->memory, parts, parts ? count * sizeof *parts : 0);
    return rlx_infer_done(in, result);
}

const rlx_sinfo *rlx_infer_repeat(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_attr *attr = rlx_infer_attr(in, 1);
    size_t axis = 0, n = 0;
    if (!x || (!rlx_attr_is_none(attr) && x->ndim >= 0 &&
               !rlx_infer_axis(in, rlx_attr_as_int(attr, 0), x->ndim, &axis)))
        return NULL;
    int64_t repeats = rlx_attr_as_int(rlx_infer_attr(in, 0), 1);
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims && rlx_attr_is_none(attr))
        return rlx_infer_rank_result(in, 1, x->dtype, x->vdevice);
    if (!dims)
        return repeats == 1 ? &x->node : rlx_infer_rank_result(in, x->ndim, x->dtype, x->vdevice);
    rlx_dims out;
    if (!rlx_dims_init(in, &out, rlx_attr_is_none(attr) ? 1 : n))
        return NULL;
    if (rlx_attr_is_none(attr))
        out.at[0] = rlx_dims_product(in->ctx, dims, n);
    else
        memcpy(out.at, dims, n * sizeof *out.at);
    out.at[axis] = simple(in, fold(in, RLX_NODE_MUL, out.at[axis], rlx_int64(in->ctx, repeats)));
    return out.at[axis] ? rlx_infer_dims_result(in, &out, x->dtype, x->vdevice)
                        : rlx_infer_done(in, NULL);
}

static bool all_ones(const rlx_attr *list)
{
    for (size_t i = 0; i < rlx_attr_count(list); i++)
        if (rlx_attr_item(list, i) != 1)
            return false;
    return true;
}

const rlx_sinfo *rlx_infer_tile(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_attr *list = rlx_infer_attr(in, 0);
    size_t n, count = rlx_attr_count(list);
    if (!x)
        return NULL;
    const rlx_prim *const *dims = rlx_literal_dims(x, &n);
    if (!dims && x->ndim < 0)
        return rlx_infer_rank_result(in, -1, x->dtype, x->vdevice);
    if (!dims && count <= (size_t)x->ndim && all_ones(list))
        return &x->node;
    if (!dims)
        return rlx_infer_rank_result(in, count > (size_t)x->ndim ? (int64_t)count : x->ndim,
                                     x->dtype, x->vdevice);
    rlx_dims out;
    if (!rlx_dims_init(in, &out, n > count ? n : count))
        return NULL;
    for (size_t i = 0; i < out.count; i++) {
        size_t pad = out.count - n, skip = out.count - count;
        const rlx_prim *d = i < pad ? rlx_int64(in->ctx, 1) : dims[i - pad];
        if (i >= skip)
            d = simple(
                in, fold(in, RLX_NODE_MUL, d, rlx_int64(in->ctx, rlx_attr_item(list, i - skip))));
        if (!(out.at[i] = d))
            return rlx_infer_done(in, NULL);
    }
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}

const rlx_sinfo *rlx_infer_flip(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    size_t axis;
    if (!x || (x->ndim >= 0 &&
               !rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 0), 0), x->ndim, &axis)))
        return NULL;
    return &x->node;
}
