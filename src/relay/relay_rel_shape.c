/* relay_rel_shape.c: relations of reductions and of operators that change shapes (relay 4.2). */
#include "relay/relay_rel.h"

/* ---- reductions ---------------------------------------------------------------------------------------- */

/* Which axes an attribute lists; None: all of them. False after a report. */
static bool listed_axes(rlx_relay_goal *g, const char *name, size_t ndim, bool *is_listed, bool *is_none)
{
    int64_t axes[2 * RLX_RELAY_MAX_RANK];
    int n;
    if (!rlx_relay_rel_ints(g, name, axes, &n))
        return false;
    *is_none = n < 0;
    for (size_t i = 0; i < ndim; i++)
        is_listed[i] = n < 0;
    for (int i = 0; i < n; i++) {
        size_t at;
        if (!rlx_relay_axis(g, axes[i], ndim, &at))
            return false;
        is_listed[at] = true;
    }
    return true;
}

static outcome reduce(rlx_relay_goal *g, tensor x, rlx_dtype dtype)
{
    bool is_listed[RLX_RELAY_MAX_RANK], none;
    bool exclude = rlx_relay_rel_bool(g, "exclude"), keep = rlx_relay_rel_bool(g, "keepdims");
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    size_t n = 0;
    if (!listed_axes(g, "axis", x->tensor.ndim, is_listed, &none))
        return RLX_RELAY_FAILS;
    if (exclude && none)
        return rlx_relay_rel_fail(g, "exclude needs axes that are not to be reduced");
    for (size_t i = 0; i < x->tensor.ndim; i++) {
        if (is_listed[i] == exclude)
            dims[n++] = rlx_relay_extent(x, i);
        else if (keep)
            dims[n++] = rlx_relay_int(1);
    }
    return rlx_relay_rel_give(g, rlx_relay_rel_out(g), dims, n, dtype);
}

REL(Reduce)
{
    TENSOR(x, 0);
    return reduce(g, x, x->tensor.dtype);
}

REL(ArgReduce)
{
    TENSOR(x, 0);
    bool wide = false;
    if (!x->tensor.ndim)
        return rlx_relay_rel_fail(g, "a scalar has no positions");
    for (size_t i = 0; i < x->tensor.ndim; i++)
        wide = wide || (rlx_relay_is_int(rlx_relay_extent(x, i)) && rlx_relay_extent(x, i).bits == 64);
    return reduce(g, x, wide ? RELAX_INT64 : RELAX_INT32);
}

REL(Variance)
{
    TENSOR(x, 0);
    TENSOR(m, 1);
    if (m->tensor.ndim != x->tensor.ndim)
        return rlx_relay_rel_fail(g, "the mean keeps the rank of the data");
    return reduce(g, x, x->tensor.dtype);
}

REL(Scan)
{
    TENSOR(x, 0);
    rlx_dtype dtype;
    rlx_relay_dim all;
    rlx_relay_value axis = rlx_relay_rel_attr(g, "axis");
    size_t at;
    if (!rlx_relay_rel_dtype(g, "dtype", x->tensor.dtype, &dtype))
        return RLX_RELAY_FAILS;
    if (axis.kind == RLX_RELAY_VALUE_INT)
        return rlx_relay_axis(g, axis.i, x->tensor.ndim, &at)
                   ? rlx_relay_rel_give(g, 1, x->tensor.dims, x->tensor.ndim, dtype) : RLX_RELAY_FAILS;
    return rlx_relay_product(g, x->tensor.dims, x->tensor.ndim, &all)
               ? rlx_relay_rel_give(g, 1, &all, 1, dtype) : RLX_RELAY_FAILS;
}

outcome rlx_relay_rel_first(rlx_relay_goal *g, tensor x, bool all, rlx_relay_dim k)
{
    size_t out = rlx_relay_rel_out(g);
    rlx_slice ret = rlx_relay_rel_text(g, "ret_type");
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    rlx_dtype dtype;
    size_t at;
    if (!rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), x->tensor.ndim, &at) ||
        !rlx_relay_rel_dtype(g, "dtype", RELAX_INT32, &dtype))
        return RLX_RELAY_FAILS;
    rlx_relay_extents(x, dims);
    if (!all)
        dims[at] = k;
    rlx_relay_type *values = rlx_relay_tensor(g->solver, dims, x->tensor.ndim, x->tensor.dtype);
    rlx_relay_type *indices = rlx_relay_tensor(g->solver, dims, x->tensor.ndim, dtype);
    rlx_relay_type *both[] = { values, indices };
    if (!values || !indices)
        return RLX_RELAY_FAILS;
    if (rlx_slice_is(ret, "values"))
        return rlx_relay_rel_assign(g, out, values);
    if (rlx_slice_is(ret, "indices"))
        return rlx_relay_rel_assign(g, out, indices);
    return rlx_relay_rel_assign(g, out, rlx_relay_tuple(g->solver, both, 2));
}

REL(TopK)
{
    TENSOR(x, 0);
    rlx_relay_value k = rlx_relay_rel_attr(g, "k");
    bool is_int = k.kind == RLX_RELAY_VALUE_INT;
    return rlx_relay_rel_first(g, x, is_int && k.i < 1, is_int ? rlx_relay_int(k.i) : rlx_relay_any());
}

REL(Argsort)
{
    TENSOR(x, 0);
    rlx_dtype dtype;
    size_t at;
    if (!rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), x->tensor.ndim, &at) ||
        !rlx_relay_rel_dtype(g, "dtype", RELAX_INT32, &dtype))
        return RLX_RELAY_FAILS;
    return rlx_relay_rel_give(g, 1, x->tensor.dims, x->tensor.ndim, dtype);
}

/* ---- data types ---------------------------------------------------------------------------------------- */

REL(Cast)
{
    TENSOR(x, 0);
    rlx_dtype dtype;
    return rlx_relay_rel_dtype(g, "dtype", x->tensor.dtype, &dtype)
               ? rlx_relay_rel_give(g, 1, x->tensor.dims, x->tensor.ndim, dtype) : RLX_RELAY_FAILS;
}
REL(CastLike)
{
    TENSOR(x, 0);
    TENSOR(y, 1);
    return rlx_relay_rel_give(g, 2, x->tensor.dims, x->tensor.ndim, y->tensor.dtype);
}

/* ---- reshape ------------------------------------------------------------------------------------------- */

/* The codes of newshape, left to right over the extents of x (relay 4.2): a number, 0 the extent
 * of the source, -1 what is left, -2 all that follow, -3 two as one, -4 one as two. */
typedef struct reshaping {
    rlx_relay_goal *g;
    const rlx_relay_dim *source; size_t num_source, at;
    rlx_relay_dim out[2 * RLX_RELAY_MAX_RANK]; size_t n;
    /* Extents that the result copies stand on both sides and need not be known. */
    bool copied_source[RLX_RELAY_MAX_RANK], copied[2 * RLX_RELAY_MAX_RANK];
    int64_t inferred;      /* which one, or -1 */
} reshaping;

static bool put(reshaping *r, rlx_relay_dim d, bool copied)
{
    if (r->n == RLX_RELAY_MAX_RANK) {
        rlx_relay_rel_fail(r->g, "the result has more than %d dimensions", RLX_RELAY_MAX_RANK);
        return false;
    }
    r->copied[r->n] = copied;
    r->out[r->n++] = d;
    return true;
}

static bool take_source(reshaping *r, rlx_relay_dim *d, const char *code)
{
    if (r->at == r->num_source) {
        rlx_relay_rel_fail(r->g, "newshape: no extent is left for %s", code);
        return false;
    }
    r->copied_source[r->at] = true;
    *d = r->source[r->at++];
    return true;
}

static bool split_source(reshaping *r, int64_t a, int64_t b)
{
    rlx_relay_dim d;
    if (!take_source(r, &d, "-4"))
        return false;
    if ((a < 1 && a != -1) || (b < 1 && b != -1) || (a == -1 && b == -1)) {
        rlx_relay_rel_fail(r->g, "newshape: -4 is followed by two extents, one of which may be -1");
        return false;
    }
    if (rlx_relay_is_int(d) && (a == -1 || b == -1)) {
        int64_t known = a == -1 ? b : a;
        if (d.value % known) {
            rlx_relay_rel_fail(r->g, "newshape: %lld is no multiple of %lld", (long long)d.value,
                               (long long)known);
            return false;
        }
        *(a == -1 ? &a : &b) = d.value / known;
    } else if (rlx_relay_is_int(d) && (d.value % a || d.value / a != b)) {
        rlx_relay_rel_fail(r->g, "newshape: %lld times %lld is not %lld", (long long)a, (long long)b,
                           (long long)d.value);
        return false;
    }
    return put(r, a < 0 ? rlx_relay_any() : rlx_relay_int(a), true) &&
           put(r, b < 0 ? rlx_relay_any() : rlx_relay_int(b), true);
}

static bool merge_source(reshaping *r)
{
    rlx_relay_dim pair[2], both;
    return take_source(r, &pair[0], "-3") && take_source(r, &pair[1], "-3") &&
           rlx_relay_product(r->g, pair, 2, &both) && put(r, both, true);
}

static bool apply_code(reshaping *r, const int64_t *code, size_t *used)
{
    rlx_relay_dim d;
    *used = 1;
    if (*code > 0) {
        if (r->at < r->num_source)
            r->at++;
        return put(r, rlx_relay_int(*code), false);
    }
    switch (*code) {
    case 0: return take_source(r, &d, "0") && put(r, d, true);
    case -1:
        if (r->inferred >= 0) {
            rlx_relay_rel_fail(r->g, "newshape: only one extent can be -1");
            return false;
        }
        r->inferred = (int64_t)r->n;
        if (r->at < r->num_source)
            r->at++;
        return put(r, rlx_relay_any(), false);
    case -2:
        while (r->at < r->num_source)
            if (!take_source(r, &d, "-2") || !put(r, d, true))
                return false;
        return true;
    case -3: return merge_source(r);
    case -4: *used = 3; return split_source(r, code[1], code[2]);
    default:
        rlx_relay_rel_fail(r->g, "newshape: there is no code %lld", (long long)*code);
        return false;
    }
}

/* The extents that are not copied, of one side. */
static bool product_of_rest(rlx_relay_goal *g, const rlx_relay_dim *dims, const bool *copied, size_t n,
                            int64_t without, rlx_relay_dim *out)
{
    rlx_relay_dim rest[2 * RLX_RELAY_MAX_RANK];
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (!copied[i] && (int64_t)i != without)
            rest[m++] = dims[i];
    return rlx_relay_product(g, rest, m, out);
}

static bool infer_rest(reshaping *r)
{
    rlx_relay_dim in, out;
    if (!product_of_rest(r->g, r->source, r->copied_source, r->num_source, -1, &in) ||
        !product_of_rest(r->g, r->out, r->copied, r->n, r->inferred, &out))
        return false;
    if (!rlx_relay_is_int(in) || !rlx_relay_is_int(out))
        return true;
    if (r->inferred >= 0) {
        if (out.value && in.value % out.value == 0)
            return (r->out[r->inferred] = rlx_relay_int(in.value / out.value)), true;
    } else if (in.value == out.value) {
        return true;
    }
    rlx_relay_rel_fail(r->g, "%lld elements cannot be reshaped to %lld%s", (long long)in.value,
                       (long long)out.value, r->inferred >= 0 ? " times what is inferred" : "");
    return false;
}

static void reverse_dims(rlx_relay_dim *d, size_t n)
{
    for (size_t i = 0; i + 1 < n - i; i++) {
        rlx_relay_dim t = d[i];
        d[i] = d[n - 1 - i];
        d[n - 1 - i] = t;
    }
}

static outcome reshape(rlx_relay_goal *g, bool reverse)
{
    TENSOR(x, 0);
    int64_t codes[2 * RLX_RELAY_MAX_RANK + 2] = { 0 };
    int n;
    rlx_relay_dim source[RLX_RELAY_MAX_RANK];
    reshaping r = { .g = g, .source = source, .num_source = x->tensor.ndim, .inferred = -1 };
    if (!rlx_relay_rel_ints(g, "newshape", codes, &n))
        return RLX_RELAY_FAILS;
    if (n < 0)
        return rlx_relay_rel_fail(g, "newshape is not given");
    rlx_relay_extents(x, source);
    bool zero = rlx_relay_rel_bool(g, "allowzero");
    if (reverse) {
        reverse_dims(source, r.num_source);
        for (int i = 0; i + 1 < n - i; i++) {
            int64_t t = codes[i];
            codes[i] = codes[n - 1 - i];
            codes[n - 1 - i] = t;
        }
    }
    for (int i = 0; i < n;) {
        size_t used = 1;
        if (codes[i] == -4 && i + 2 >= n)
            return rlx_relay_rel_fail(g, "newshape: -4 is followed by two extents");
        if (zero && codes[i] == 0) {
            if (r.at < r.num_source)
                r.at++;
            if (!put(&r, rlx_relay_int(0), false))
                return RLX_RELAY_FAILS;
        } else if (!apply_code(&r, &codes[i], &used)) {
            return RLX_RELAY_FAILS;
        }
        i += (int)used;
    }
    if (!infer_rest(&r))
        return RLX_RELAY_FAILS;
    if (reverse)
        reverse_dims(r.out, r.n);
    return rlx_relay_rel_give(g, 1, r.out, r.n, x->tensor.dtype);
}
REL(Reshape) { return reshape(g, false); }
REL(ReverseReshape) { return reshape(g, true); }

/* A range of the extents of x becomes a range of those of y. */
REL(ReshapeLike)
{
    TENSOR(x, 0);
    TENSOR(y, 1);
    rlx_relay_value lhs = rlx_relay_rel_attr(g, "lhs_end"), rhs = rlx_relay_rel_attr(g, "rhs_end");
    int64_t nx = (int64_t)x->tensor.ndim, ny = (int64_t)y->tensor.ndim;
    int64_t a = rlx_relay_rel_int(g, "lhs_begin"), c = rlx_relay_rel_int(g, "rhs_begin");
    int64_t b = lhs.kind == RLX_RELAY_VALUE_INT ? lhs.i : nx, d = rhs.kind == RLX_RELAY_VALUE_INT ? rhs.i : ny;
    a += a < 0 ? nx : 0;
    b += b < 0 ? nx : 0;
    c += c < 0 ? ny : 0;
    d += d < 0 ? ny : 0;
    if (a < 0 || b > nx || a > b || c < 0 || d > ny || c > d || nx - (b - a) + (d - c) > RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "the ranges of dimensions do not fit the ranks");
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK], in, out;
    size_t n = 0;
    for (int64_t i = 0; i < a; i++)
        dims[n++] = rlx_relay_extent(x, (size_t)i);
    for (int64_t i = c; i < d; i++)
        dims[n++] = rlx_relay_extent(y, (size_t)i);
    for (int64_t i = b; i < nx; i++)
        dims[n++] = rlx_relay_extent(x, (size_t)i);
    if (!rlx_relay_product(g, x->tensor.dims, x->tensor.ndim, &in) || !rlx_relay_product(g, dims, n, &out))
        return RLX_RELAY_FAILS;
    if (rlx_relay_differ(in, out))
        return rlx_relay_rel_fail(g, "%lld elements cannot be reshaped to %lld", (long long)in.value,
                                  (long long)out.value);
    return rlx_relay_rel_give(g, 2, dims, n, x->tensor.dtype);
}

/* ---- orders of dimensions -------------------------------------------------------------------------------- */

REL(Transpose)
{
    TENSOR(x, 0);
    int64_t axes[2 * RLX_RELAY_MAX_RANK];
    int n;
    bool used[RLX_RELAY_MAX_RANK] = { false };
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    size_t rank = x->tensor.ndim;
    if (!rlx_relay_rel_ints(g, "axes", axes, &n))
        return RLX_RELAY_FAILS;
    if (n > 0 && (size_t)n != rank)
        return rlx_relay_rel_fail(g, "axes has %d items for a tensor of rank %zu", n, rank);
    for (size_t i = 0; i < rank; i++) {
        size_t at = rank - 1 - i;
        if (n > 0 && !rlx_relay_axis(g, axes[i], rank, &at))
            return RLX_RELAY_FAILS;
        if (used[at])
            return rlx_relay_rel_fail(g, "axes names dimension %zu twice", at);
        used[at] = true;
        dims[i] = rlx_relay_extent(x, at);
    }
    return rlx_relay_rel_give(g, 1, dims, rank, x->tensor.dtype);
}

REL(ExpandDims)
{
    TENSOR(x, 0);
    int64_t count = rlx_relay_rel_int(g, "num_newaxis");
    size_t at, rank = x->tensor.ndim;
    rlx_relay_dim dims[2 * RLX_RELAY_MAX_RANK];
    if (count < 0 || count > RLX_RELAY_MAX_RANK - (int64_t)rank)
        return rlx_relay_rel_fail(g, "num_newaxis is %lld", (long long)count);
    if (!rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), rank + 1, &at))
        return RLX_RELAY_FAILS;
    size_t n = 0;
    for (size_t i = 0; i <= rank; i++) {
        for (int64_t k = 0; i == at && k < count; k++)
            dims[n++] = rlx_relay_int(1);
        if (i < rank)
            dims[n++] = rlx_relay_extent(x, i);
    }
    return rlx_relay_rel_give(g, 1, dims, n, x->tensor.dtype);
}

REL(Squeeze)
{
    TENSOR(x, 0);
    bool is_listed[RLX_RELAY_MAX_RANK], none;
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    size_t n = 0;
    if (!listed_axes(g, "axis", x->tensor.ndim, is_listed, &none))
        return RLX_RELAY_FAILS;
    for (size_t i = 0; i < x->tensor.ndim; i++) {
        rlx_relay_dim d = rlx_relay_extent(x, i);
        if (none && !rlx_relay_is_int(d))
            return rlx_relay_rel_fail(g, "without axes every extent must be known");
        if (!none && is_listed[i] && rlx_relay_is_int(d) && d.value != 1)
            return rlx_relay_rel_fail(g, "dimension %zu has the extent %lld, not 1", i, (long long)d.value);
        if (none ? d.value != 1 : !is_listed[i])
            dims[n++] = d;
    }
    return rlx_relay_rel_give(g, 1, dims, n, x->tensor.dtype);
}

/* ---- several tensors --------------------------------------------------------------------------------------- */

/* The first field, with which all others must agree in rank and data type. */
static tensor first_of(rlx_relay_goal *g, const rlx_relay_type *t, outcome *why)
{
    if (!t->tuple.count) {
        *why = rlx_relay_rel_fail(g, "the tuple is empty");
        return NULL;
    }
    tensor first = rlx_relay_rel_field(g, t, 0, why);
    for (size_t i = 1; first && i < t->tuple.count; i++) {
        tensor x = rlx_relay_rel_field(g, t, i, why);
        if (!x)
            return NULL;
        if (x->tensor.ndim != first->tensor.ndim || x->tensor.dtype != first->tensor.dtype) {
            *why = rlx_relay_rel_fail(g, "field %zu has another %s than field 1", i + 1,
                                      x->tensor.ndim != first->tensor.ndim ? "rank" : "data type");
            return NULL;
        }
    }
    return first;
}

/* One dimension of all fields: the sum along the axis; elsewhere what they agree on. */
static bool join_extents(rlx_relay_goal *g, const rlx_relay_type *t, size_t at, bool is_axis,
                         bool axis_is_dynamic, rlx_relay_dim *out)
{
    outcome why;
    rlx_relay_dim known = rlx_relay_any();
    bool all_known = true;
    int64_t sum = 0;
    for (size_t i = 0; i < t->tuple.count; i++) {
        rlx_relay_dim d = rlx_relay_extent(rlx_relay_rel_field(g, t, i, &why), at);
        if (!rlx_relay_is_int(d)) {
            all_known = all_known && d.kind == RLX_RELAY_DIM_VAR && !is_axis &&
                        (rlx_relay_is_any(known) || rlx_relay_unify_dim(known, d, &d));
            known = rlx_relay_is_any(known) && d.kind == RLX_RELAY_DIM_VAR ? d : known;
            continue;
        }
        if (!is_axis && rlx_relay_differ(known, d)) {
            rlx_relay_rel_fail(g, "dimension %zu is %lld in one field and %lld in another", at,
                               (long long)known.value, (long long)d.value);
            return false;
        }
        known = d;
        if (sum > INT64_MAX - d.value) {
            rlx_relay_rel_fail(g, "dimension %zu does not fit 64 bits", at);
            return false;
        }
        sum += d.value;
    }
    *out = !is_axis ? (all_known || axis_is_dynamic ? known : rlx_relay_any())
                    : all_known ? rlx_relay_int(sum) : rlx_relay_any();
    return true;
}

REL(Concatenate)
{
    outcome why;
    const rlx_relay_type *t = rlx_relay_rel_tuple(g, 0, &why);
    tensor x = t ? first_of(g, t, &why) : NULL;
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    size_t axis;
    if (!x)
        return why;
    if (!rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), x->tensor.ndim, &axis) ||
        !join_extents(g, t, axis, true, false, &dims[axis]))
        return RLX_RELAY_FAILS;
    for (size_t i = 0; i < x->tensor.ndim; i++)
        if (i != axis && !join_extents(g, t, i, false, rlx_relay_is_any(dims[axis]), &dims[i]))
            return RLX_RELAY_FAILS;
    return rlx_relay_rel_give(g, rlx_relay_rel_out(g), dims, x->tensor.ndim, x->tensor.dtype);
}

REL(Stack)
{
    outcome why;
    const rlx_relay_type *t = rlx_relay_rel_tuple(g, 0, &why);
    tensor x = t ? first_of(g, t, &why) : NULL;
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK + 1];
    size_t axis, rank = x ? x->tensor.ndim : 0;
    if (!x)
        return why;
    if (!rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), rank + 1, &axis))
        return RLX_RELAY_FAILS;
    for (size_t i = 0, n = 0; n <= rank; n++) {
        if (n == axis)
            dims[n] = rlx_relay_int((int64_t)t->tuple.count);
        else if (!join_extents(g, t, i++, false, true, &dims[n]))
            return RLX_RELAY_FAILS;
    }
    return rlx_relay_rel_give(g, 1, dims, rank + 1, x->tensor.dtype);
}

static outcome give_parts(rlx_relay_goal *g, tensor x, size_t axis, const rlx_relay_dim *extents, size_t count)
{
    rlx_relay_type **parts = rlx_region_array(&g->solver->m->region, count + 1, sizeof *parts);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    rlx_relay_extents(x, dims);
    for (size_t i = 0; parts && i < count; i++) {
        dims[axis] = extents[i];
        if (!(parts[i] = rlx_relay_tensor(g->solver, dims, x->tensor.ndim, x->tensor.dtype)))
            return RLX_RELAY_FAILS;
    }
    return parts ? rlx_relay_rel_assign(g, 1, rlx_relay_tuple(g->solver, parts, count)) : RLX_RELAY_FAILS;
}

enum { MAX_PARTS = 2 * RLX_RELAY_MAX_RANK };

REL(Split)
{
    TENSOR(x, 0);
    rlx_relay_value v = rlx_relay_rel_attr(g, "indices_or_sections");
    int64_t cuts[MAX_PARTS];
    int n;
    size_t axis;
    rlx_relay_dim extents[MAX_PARTS + 1];
    if (!rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), x->tensor.ndim, &axis) ||
        !rlx_relay_rel_ints(g, "indices_or_sections", cuts, &n))
        return RLX_RELAY_FAILS;
    rlx_relay_dim whole = rlx_relay_extent(x, axis);
    if (v.kind == RLX_RELAY_VALUE_INT) {
        if (v.i < 1 || v.i > 65536 || (rlx_relay_is_int(whole) && whole.value % v.i))
            return rlx_relay_rel_fail(g, "extent %lld cannot be split into %lld equal parts",
                                      (long long)(rlx_relay_is_int(whole) ? whole.value : -1), (long long)v.i);
        rlx_relay_dim part = rlx_relay_is_int(whole) ? rlx_relay_int(whole.value / v.i) : rlx_relay_any();
        rlx_relay_dim *all = rlx_region_array(&g->solver->m->region, (size_t)v.i, sizeof *all);
        for (int64_t i = 0; all && i < v.i; i++)
            all[i] = part;
        return all ? give_parts(g, x, axis, all, (size_t)v.i) : RLX_RELAY_FAILS;
    }
    if (n < 0)
        return rlx_relay_rel_fail(g, "indices_or_sections is not given");
    int64_t from = 0;
    for (int i = 0; i < n; from = cuts[i++]) {
        if (cuts[i] <= from || (rlx_relay_is_int(whole) && cuts[i] >= whole.value))
            return rlx_relay_rel_fail(g, "cuts ascend and lie inside of the extent");
        extents[i] = rlx_relay_int(cuts[i] - from);
    }
    extents[n] = rlx_relay_is_int(whole) ? rlx_relay_int(whole.value - from) : rlx_relay_any();
    return give_parts(g, x, axis, extents, (size_t)n + 1);
}

REL(Meshgrid)
{
    outcome why;
    const rlx_relay_type *t = rlx_relay_rel_tuple(g, 0, &why);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    rlx_dtype dtype = RELAX_VOID;
    size_t n = t ? t->tuple.count : 0;
    if (!t)
        return why;
    if (n > RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "%zu tensors are too many", n);
    for (size_t i = 0; i < n; i++) {
        tensor x = rlx_relay_rel_field(g, t, i, &why);
        if (!x)
            return why;
        if (x->tensor.ndim > 1 || (i && x->tensor.dtype != dtype))
            return rlx_relay_rel_fail(g, "all fields are vectors of one data type");
        dtype = x->tensor.dtype;
        dims[i] = x->tensor.ndim ? rlx_relay_extent(x, 0) : rlx_relay_int(1);
    }
    if (n > 1 && rlx_slice_is(rlx_relay_rel_text(g, "indexing"), "xy")) {
        rlx_relay_dim first = dims[0];
        dims[0] = dims[1];
        dims[1] = first;
    }
    rlx_relay_type *parts[RLX_RELAY_MAX_RANK];
    rlx_relay_type *one = rlx_relay_tensor(g->solver, dims, n, dtype);
    for (size_t i = 0; i < n; i++)
        parts[i] = one;
    return one ? rlx_relay_rel_assign(g, 1, rlx_relay_tuple(g->solver, parts, n)) : RLX_RELAY_FAILS;
}

REL(AdvIndex)
{
    outcome why;
    const rlx_relay_type *t = rlx_relay_rel_tuple(g, 0, &why);
    tensor x = t && t->tuple.count ? rlx_relay_rel_field(g, t, 0, &why) : NULL;
    rlx_relay_dim dims[2 * RLX_RELAY_MAX_RANK], both[RLX_RELAY_MAX_RANK];
    size_t n = 0;
    if (!x)
        return why;
    if (t->tuple.count - 1 > x->tensor.ndim)
        return rlx_relay_rel_fail(g, "%zu indices for a tensor of rank %zu", t->tuple.count - 1, x->tensor.ndim);
    for (size_t i = 1; i < t->tuple.count; i++) {
        tensor index = rlx_relay_rel_field(g, t, i, &why);
        size_t m;
        if (!index)
            return why;
        if (!rlx_relay_broadcast(g, dims, n, index->tensor.dims, index->tensor.ndim, both, &m))
            return RLX_RELAY_FAILS;
        memcpy(dims, both, m * sizeof *dims);
        n = m;
    }
    for (size_t i = t->tuple.count - 1; i < x->tensor.ndim; i++)
        dims[n++] = rlx_relay_extent(x, i);
    if (n > RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "the result has more than %d dimensions", RLX_RELAY_MAX_RANK);
    return rlx_relay_rel_give(g, 1, dims, n, x->tensor.dtype);
}

/* ---- slices ------------------------------------------------------------------------------------------------ */

/* A place along an axis of `extent` as Python counts: from the end where negative, clamped. */
static int64_t clamp_place(int64_t v, int64_t extent, bool backwards)
{
    int64_t low = backwards ? -1 : 0, high = backwards ? extent - 1 : extent;
    v += v < 0 ? extent : 0;
    return v < low ? low : v > high ? high : v;
}

static int64_t end_of_size(int64_t begin, int64_t size)
{
    return begin > 0 && size > INT64_MAX - begin ? INT64_MAX : begin + size;
}

static rlx_relay_dim slice_extent(int64_t begin, int64_t end, int64_t stride, int64_t extent)
{
    bool back = stride < 0;
    begin = clamp_place(begin, extent, back);
    end = end == INT64_MIN && back ? -1 : clamp_place(end, extent, back);
    int64_t span = back ? begin - end : end - begin, by = back ? -stride : stride;
    return rlx_relay_int(span <= 0 ? 0 : (span - 1) / by + 1);
}

REL(StridedSlice)
{
    TENSOR(x, 0);
    int64_t begin[MAX_PARTS], end[MAX_PARTS], strides[MAX_PARTS], axes[MAX_PARTS];
    int nb, ne, ns, na;
    bool by_size = rlx_slice_is(rlx_relay_rel_text(g, "slice_mode"), "size");
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!rlx_relay_rel_ints(g, "begin", begin, &nb) || !rlx_relay_rel_ints(g, "end", end, &ne) ||
        !rlx_relay_rel_ints(g, "strides", strides, &ns) || !rlx_relay_rel_ints(g, "axes", axes, &na))
        return RLX_RELAY_FAILS;
    size_t count = na >= 0 ? (size_t)na : (size_t)(nb > ne ? nb : ne);
    if (count > x->tensor.ndim && na < 0)
        return rlx_relay_rel_fail(g, "%zu ranges for a tensor of rank %zu", count, x->tensor.ndim);
    rlx_relay_extents(x, dims);
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        if (na >= 0 && !rlx_relay_axis(g, axes[i], x->tensor.ndim, &at))
            return RLX_RELAY_FAILS;
        int64_t by = ns > 0 && !by_size ? strides[ns == 1 ? 0 : (int)i < ns ? (int)i : ns - 1] : 1;
        if (ns > 1 && (int)i >= ns)
            by = 1;
        if (!by)
            return rlx_relay_rel_fail(g, "a stride is 0");
        if (!rlx_relay_is_int(dims[at])) {
            dims[at] = rlx_relay_any();
            continue;
        }
        int64_t extent = dims[at].value;
        int64_t b = (int)i < nb ? begin[i] : by < 0 ? extent : 0;
        int64_t e = (int)i < ne ? end[i] : by < 0 ? INT64_MIN : extent;
        if (by_size)
            e = (int)i < ne && end[i] >= 0 ? end_of_size(b < 0 ? b + extent : b, end[i]) : extent;
        dims[at] = slice_extent(b, e, by, extent);
    }
    return rlx_relay_rel_give(g, 1, dims, x->tensor.ndim, x->tensor.dtype);
}

REL(SliceLike)
{
    TENSOR(x, 0);
    TENSOR(y, 1);
    int64_t axes[MAX_PARTS];
    int n;
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!rlx_relay_rel_ints(g, "axes", axes, &n))
        return RLX_RELAY_FAILS;
    rlx_relay_extents(x, dims);
    size_t common = x->tensor.ndim < y->tensor.ndim ? x->tensor.ndim : y->tensor.ndim;
    for (size_t i = 0; i < (n > 0 ? (size_t)n : common); i++) {
        size_t at = i;
        if (n > 0 && !rlx_relay_axis(g, axes[i], x->tensor.ndim, &at))
            return RLX_RELAY_FAILS;
        if (at >= y->tensor.ndim)
            return rlx_relay_rel_fail(g, "the second argument has no dimension %zu", at);
        rlx_relay_dim d = rlx_relay_extent(y, at);
        if (rlx_relay_is_int(d) && rlx_relay_is_int(dims[at]) && d.value > dims[at].value)
            return rlx_relay_rel_fail(g, "dimension %zu has the extent %lld, at most %lld can be taken", at,
                                      (long long)d.value, (long long)dims[at].value);
        dims[at] = d;
    }
    return rlx_relay_rel_give(g, 2, dims, x->tensor.ndim, x->tensor.dtype);
}

/* ---- gathering and scattering -------------------------------------------------------------------------------- */

static bool is_index(rlx_relay_goal *g, tensor t, size_t number)
{
    if (rlx_dtype_is_int(t->tensor.dtype))
        return true;
    rlx_relay_rel_fail(g, "argument %zu holds indices: its data type is an integer", number + 1);
    return false;
}

REL(Take)
{
    TENSOR(x, 0);
    TENSOR(i, 1);
    rlx_relay_value axis = rlx_relay_rel_attr(g, "axis");
    int64_t batch = rlx_relay_rel_int(g, "batch_dims"), ni = (int64_t)i->tensor.ndim;
    rlx_relay_dim dims[2 * RLX_RELAY_MAX_RANK];
    size_t at, n = 0;
    if (!is_index(g, i, 1))
        return RLX_RELAY_FAILS;
    if (axis.kind != RLX_RELAY_VALUE_INT)
        return rlx_relay_rel_give(g, 2, i->tensor.dims, i->tensor.ndim, x->tensor.dtype);
    batch += batch < 0 ? ni : 0;
    if (!rlx_relay_axis(g, axis.i, x->tensor.ndim, &at))
        return RLX_RELAY_FAILS;
    if (batch < 0 || batch > ni || batch > (int64_t)at)
        return rlx_relay_rel_fail(g, "batch_dims does not fit the ranks and the axis");
    for (size_t k = 0; k < at; k++)
        dims[n++] = rlx_relay_extent(x, k);
    for (size_t k = (size_t)batch; k < i->tensor.ndim; k++)
        dims[n++] = rlx_relay_extent(i, k);
    for (size_t k = at + 1; k < x->tensor.ndim; k++)
        dims[n++] = rlx_relay_extent(x, k);
    if (n > RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "the result has more than %d dimensions", RLX_RELAY_MAX_RANK);
    return rlx_relay_rel_give(g, 2, dims, n, x->tensor.dtype);
}

REL(Gather)
{
    TENSOR(x, 0);
    TENSOR(i, 1);
    size_t at;
    if (x->tensor.ndim != i->tensor.ndim)
        return rlx_relay_rel_fail(g, "data and indices have the same rank, found %zu and %zu",
                                  x->tensor.ndim, i->tensor.ndim);
    if (!is_index(g, i, 1) || !rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), x->tensor.ndim, &at))
        return RLX_RELAY_FAILS;
    for (size_t k = 0; k < x->tensor.ndim; k++)
        if (k != at && rlx_relay_differ(rlx_relay_extent(x, k), rlx_relay_extent(i, k)))
            return rlx_relay_rel_fail(g, "data and indices differ in dimension %zu", k);
    return rlx_relay_rel_give(g, 2, i->tensor.dims, i->tensor.ndim, x->tensor.dtype);
}

REL(GatherND)
{
    TENSOR(x, 0);
    TENSOR(i, 1);
    int64_t batch = rlx_relay_rel_int(g, "batch_dims");
    rlx_relay_dim dims[2 * RLX_RELAY_MAX_RANK], depth;
    size_t n = 0;
    if (!i->tensor.ndim)
        return rlx_relay_rel_fail(g, "the indices have at least rank 1");
    depth = rlx_relay_extent(i, 0);
    if (!rlx_relay_is_int(depth))
        return rlx_relay_rel_fail(g, "the first extent of the indices must be known");
    if (batch < 0 || batch > (int64_t)x->tensor.ndim || depth.value > (int64_t)x->tensor.ndim - batch)
        return rlx_relay_rel_fail(g, "%lld indices and %lld batch dimensions for a tensor of rank %zu",
                                  (long long)depth.value, (long long)batch, x->tensor.ndim);
    for (size_t k = 1; k < i->tensor.ndim; k++)
        dims[n++] = rlx_relay_extent(i, k);
    for (size_t k = (size_t)(depth.value + batch); k < x->tensor.ndim; k++)
        dims[n++] = rlx_relay_extent(x, k);
    if (n > RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "the result has more than %d dimensions", RLX_RELAY_MAX_RANK);
    return rlx_relay_rel_give(g, 2, dims, n, x->tensor.dtype);
}

REL(ScatterElements)
{
    TENSOR(x, 0);
    TENSOR(i, 1);
    TENSOR(u, 2);
    size_t at;
    if (!is_index(g, i, 1) || !rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), x->tensor.ndim, &at))
        return RLX_RELAY_FAILS;
    if (i->tensor.ndim != x->tensor.ndim || u->tensor.ndim != x->tensor.ndim)
        return rlx_relay_rel_fail(g, "data, indices and updates have the same rank");
    return rlx_relay_rel_assign(g, 3, g->types[0]);
}

REL(ScatterND)
{
    TENSOR(x, 0);
    TENSOR(i, 1);
    TENSOR(u, 2);
    if (!is_index(g, i, 1))
        return RLX_RELAY_FAILS;
    if (!i->tensor.ndim || (rlx_relay_is_int(rlx_relay_extent(i, 0)) &&
                            rlx_relay_extent(i, 0).value > (int64_t)x->tensor.ndim))
        return rlx_relay_rel_fail(g, "the first extent of the indices is at most the rank of the data");
    if (u->tensor.dtype != x->tensor.dtype)
        return rlx_relay_rel_fail(g, "data and updates have the same data type");
    return rlx_relay_rel_assign(g, 3, g->types[0]);
}

/* ---- repetitions --------------------------------------------------------------------------------------------- */

REL(Repeat)
{
    TENSOR(x, 0);
    rlx_relay_value axis = rlx_relay_rel_attr(g, "axis");
    int64_t times = rlx_relay_rel_int(g, "repeats");
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK + 1];
    size_t at = 0, n = x->tensor.ndim;
    if (times < 1)
        return rlx_relay_rel_fail(g, "repeats is positive");
    rlx_relay_extents(x, dims);
    if (axis.kind != RLX_RELAY_VALUE_INT) {
        if (!rlx_relay_product(g, x->tensor.dims, n, &dims[0]))
            return RLX_RELAY_FAILS;
        n = 1;
    } else if (!rlx_relay_axis(g, axis.i, n, &at)) {
        return RLX_RELAY_FAILS;
    }
    rlx_relay_dim both[] = { dims[at], rlx_relay_int(times) };
    return rlx_relay_product(g, both, 2, &dims[at]) ? rlx_relay_rel_give(g, 1, dims, n, x->tensor.dtype)
                                                    : RLX_RELAY_FAILS;
}

REL(Tile)
{
    TENSOR(x, 0);
    int64_t reps[MAX_PARTS];
    int n;
    rlx_relay_dim dims[MAX_PARTS];
    if (!rlx_relay_rel_ints(g, "reps", reps, &n))
        return RLX_RELAY_FAILS;
    size_t r = n > 0 ? (size_t)n : 0, rank = x->tensor.ndim > r ? x->tensor.ndim : r;
    if (rank > RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "the result has more than %d dimensions", RLX_RELAY_MAX_RANK);
    for (size_t i = 0; i < rank; i++) {
        rlx_relay_dim pair[2] = { rlx_relay_int(1), rlx_relay_int(1) };
        if (i < x->tensor.ndim)
            pair[0] = rlx_relay_extent(x, x->tensor.ndim - 1 - i);
        if (i < r)
            pair[1] = rlx_relay_int(reps[r - 1 - i]);
        if (pair[1].value < 0)
            return rlx_relay_rel_fail(g, "reps are not negative");
        if (!rlx_relay_product(g, pair, 2, &dims[rank - 1 - i]))
            return RLX_RELAY_FAILS;
    }
    return rlx_relay_rel_give(g, 1, dims, rank, x->tensor.dtype);
}

REL(Reverse)
{
    TENSOR(x, 0);
    bool is_listed[RLX_RELAY_MAX_RANK], none;
    return listed_axes(g, "axis", x->tensor.ndim, is_listed, &none)
               ? rlx_relay_rel_assign(g, 1, g->types[0]) : RLX_RELAY_FAILS;
}

REL(ReverseSequence)
{
    TENSOR(x, 0);
    TENSOR(l, 1);
    size_t batch, seq;
    if (!is_index(g, l, 1) || !rlx_relay_axis(g, rlx_relay_rel_int(g, "batch_axis"), x->tensor.ndim, &batch) ||
        !rlx_relay_axis(g, rlx_relay_rel_int(g, "seq_axis"), x->tensor.ndim, &seq))
        return RLX_RELAY_FAILS;
    if (l->tensor.ndim != 1 || rlx_relay_differ(rlx_relay_extent(l, 0), rlx_relay_extent(x, batch)))
        return rlx_relay_rel_fail(g, "the lengths are a vector, one for each item of the batch");
    return rlx_relay_rel_assign(g, 2, g->types[0]);
}

REL(Trilu)
{
    TENSOR(x, 0);
    return x->tensor.ndim >= 2 ? rlx_relay_rel_assign(g, 2, g->types[0])
                               : rlx_relay_rel_fail(g, "a matrix has at least rank 2, found %zu", x->tensor.ndim);
}

/* ---- broadcasts ---------------------------------------------------------------------------------------------- */

/* The extents of the attribute `shape`; None: they are not known. False after a report. */
static bool read_shape(rlx_relay_goal *g, rlx_relay_dim *dims, int *n)
{
    int64_t shape[MAX_PARTS];
    if (!rlx_relay_rel_ints(g, "shape", shape, n))
        return false;
    if (*n > RLX_RELAY_MAX_RANK) {
        rlx_relay_rel_fail(g, "shape has more than %d dimensions", RLX_RELAY_MAX_RANK);
        return false;
    }
    for (int i = 0; i < *n; i++) {
        if (shape[i] < 0) {
            rlx_relay_rel_fail(g, "an extent of shape is negative");
            return false;
        }
        dims[i] = rlx_relay_int(shape[i]);
    }
    return true;
}

/* `small` broadcasts to exactly `large`. */
static bool fits(rlx_relay_goal *g, tensor small, const rlx_relay_dim *large, size_t n)
{
    rlx_relay_dim both[RLX_RELAY_MAX_RANK];
    size_t m;
    if (!rlx_relay_broadcast(g, small->tensor.dims, small->tensor.ndim, large, n, both, &m))
        return false;
    bool same = m == n;
    for (size_t i = 0; same && i < n; i++)
        same = !rlx_relay_differ(both[i], rlx_relay_dim_find(large[i]));
    if (!same)
        rlx_relay_rel_fail(g, "the shapes do not broadcast in that direction");
    return same;
}

REL(BroadCastTo)
{
    TENSOR(x, 0);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    int n;
    if (!read_shape(g, dims, &n))
        return RLX_RELAY_FAILS;
    if (n < 0)
        return rlx_relay_rel_fail(g, "shape is not given");
    return fits(g, x, dims, (size_t)n) ? rlx_relay_rel_give(g, 1, dims, (size_t)n, x->tensor.dtype)
                                       : RLX_RELAY_FAILS;
}

REL(BroadCastToLike)
{
    TENSOR(x, 0);
    TENSOR(y, 1);
    return fits(g, x, y->tensor.dims, y->tensor.ndim)
               ? rlx_relay_rel_give(g, 2, y->tensor.dims, y->tensor.ndim, x->tensor.dtype) : RLX_RELAY_FAILS;
}

REL(CollapseSumLike)
{
    TENSOR(x, 0);
    TENSOR(y, 1);
    return fits(g, y, x->tensor.dims, x->tensor.ndim)
               ? rlx_relay_rel_give(g, 2, y->tensor.dims, y->tensor.ndim, x->tensor.dtype) : RLX_RELAY_FAILS;
}

REL(CollapseSumTo)
{
    TENSOR(x, 0);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    int n;
    if (!read_shape(g, dims, &n))
        return RLX_RELAY_FAILS;
    rlx_relay_type *to = n < 0 ? NULL : rlx_relay_tensor(g->solver, dims, (size_t)n, x->tensor.dtype);
    if (n < 0)
        return rlx_relay_rel_fail(g, "shape is not given");
    return to && fits(g, to, x->tensor.dims, x->tensor.ndim) ? rlx_relay_rel_assign(g, 2, to)
                                                             : RLX_RELAY_FAILS;
}

/* ---- what makes tensors ---------------------------------------------------------------------------------------- */

REL(Full)
{
    TENSOR(x, 0);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    int n;
    rlx_dtype dtype;
    if (!read_shape(g, dims, &n) || !rlx_relay_rel_dtype(g, "dtype", x->tensor.dtype, &dtype))
        return RLX_RELAY_FAILS;
    if (n < 0 || x->tensor.ndim)
        return rlx_relay_rel_fail(g, n < 0 ? "shape is not given" : "the value is a scalar");
    return rlx_relay_rel_give(g, 1, dims, (size_t)n, dtype);
}

REL(FullLike)
{
    TENSOR(x, 0);
    TENSOR(v, 1);
    return v->tensor.ndim ? rlx_relay_rel_fail(g, "the value is a scalar")
                          : rlx_relay_rel_give(g, 2, x->tensor.dims, x->tensor.ndim, x->tensor.dtype);
}

REL(InitOp)
{
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    int n;
    rlx_dtype dtype;
    if (!read_shape(g, dims, &n) || !rlx_relay_rel_dtype(g, "dtype", RELAX_FLOAT32, &dtype))
        return RLX_RELAY_FAILS;
    return n < 0 ? rlx_relay_rel_fail(g, "shape is not given")
                 : rlx_relay_rel_give(g, 0, dims, (size_t)n, dtype);
}

REL(Arange)
{
    rlx_dtype dtype;
    double start, stop, step;
    rlx_relay_dim n = rlx_relay_any();
    if (!rlx_relay_rel_dtype(g, "dtype", RELAX_INT32, &dtype))
        return RLX_RELAY_FAILS;
    if (rlx_relay_number(rlx_relay_rel_attr(g, "start"), &start) && rlx_relay_number(rlx_relay_rel_attr(g, "stop"), &stop) &&
        rlx_relay_number(rlx_relay_rel_attr(g, "step"), &step)) {
        if (step == 0)
            return rlx_relay_rel_fail(g, "step is 0");
        double count = (stop - start) / step;
        if (!(count < 1e15))
            return rlx_relay_rel_fail(g, "the range has too many numbers");
        int64_t whole = count > 0 ? (int64_t)count : 0;
        n = rlx_relay_int(whole + ((double)whole < count));
    }
    return rlx_relay_rel_give(g, 3, &n, 1, dtype);
}

REL(OneHot)
{
    TENSOR(i, 0);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK + 1];
    int64_t axis = rlx_relay_rel_int(g, "axis"), depth = rlx_relay_rel_int(g, "depth");
    size_t at, rank = i->tensor.ndim;
    rlx_dtype dtype;
    if (depth < 1 || rank >= RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "depth is positive");
    if (!is_index(g, i, 0) || !rlx_relay_axis(g, axis, rank + 1, &at) ||
        !rlx_relay_rel_dtype(g, "dtype", RELAX_FLOAT32, &dtype))
        return RLX_RELAY_FAILS;
    for (size_t k = 0; k <= rank; k++)
        dims[k] = k == at ? rlx_relay_int(depth) : rlx_relay_extent(i, k > at ? k - 1 : k);
    return rlx_relay_rel_give(g, 3, dims, rank + 1, dtype);
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

/* NCHW4c: axes in order; a small letter splits the axis of the large one by the number in front of
 * it. */
typedef struct axis_name { char letter; int64_t factor; } axis_name;
static bool read_layout(rlx_relay_goal *g, rlx_slice text, axis_name *out, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < text.len && *n < RLX_RELAY_MAX_RANK; i++) {
        int64_t factor = 0;
        for (; i < text.len && text.data[i] >= '0' && text.data[i] <= '9' && factor < 1 << 20; i++)
            factor = factor * 10 + (text.data[i] - '0');
        bool small = i < text.len && text.data[i] >= 'a' && text.data[i] <= 'z';
        bool large = i < text.len && text.data[i] >= 'A' && text.data[i] <= 'Z';
        if ((!small && !large) || (small != (factor > 0))) {
            rlx_relay_rel_fail(g, "%.*s is no layout", (int)(text.len > 40 ? 40 : text.len), text.data);
            return false;
        }
        out[(*n)++] = (axis_name){ text.data[i], factor };
    }
    return true;
}

/* The whole extent of a large letter: its own times those of its small ones. */
static bool whole_extent(rlx_relay_goal *g, tensor x, const axis_name *axes, size_t n, char letter,
                         rlx_relay_dim *out)
{
    rlx_relay_dim parts[RLX_RELAY_MAX_RANK];
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if ((axes[i].letter & ~32) == (letter & ~32))
            parts[m++] = rlx_relay_extent(x, i);
    if (!m) {
        rlx_relay_rel_fail(g, "the layouts have different letters");
        return false;
    }
    return rlx_relay_product(g, parts, m, out);
}

REL(LayoutTransform)
{
    TENSOR(x, 0);
    axis_name from[RLX_RELAY_MAX_RANK], to[RLX_RELAY_MAX_RANK];
    size_t nf, nt;
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!read_layout(g, rlx_relay_rel_text(g, "src_layout"), from, &nf) ||
        !read_layout(g, rlx_relay_rel_text(g, "dst_layout"), to, &nt))
        return RLX_RELAY_FAILS;
    if (nf != x->tensor.ndim)
        return rlx_relay_rel_fail(g, "src_layout has %zu axes, the tensor rank %zu", nf, x->tensor.ndim);
    for (size_t i = 0; i < nt; i++) {
        if (to[i].factor) {
            dims[i] = rlx_relay_int(to[i].factor);
            continue;
        }
        if (!whole_extent(g, x, from, nf, to[i].letter, &dims[i]))
            return RLX_RELAY_FAILS;
        for (size_t k = 0; k < nt; k++) {
            if (!to[k].factor || (to[k].letter & ~32) != to[i].letter || !rlx_relay_is_int(dims[i]))
                continue;
            if (dims[i].value % to[k].factor)
                return rlx_relay_rel_fail(g, "%lld is no multiple of %lld", (long long)dims[i].value,
                                          (long long)to[k].factor);
            dims[i].value /= to[k].factor;
        }
    }
    return rlx_relay_rel_give(g, 1, dims, nt, x->tensor.dtype);
}

/* ---- shapes as values ---------------------------------------------------------------------------------------------- */

REL(ShapeOf)
{
    TENSOR(x, 0);
    rlx_dtype dtype;
    rlx_relay_dim rank = rlx_relay_int((int64_t)x->tensor.ndim);
    return rlx_relay_rel_dtype(g, "dtype", RELAX_INT32, &dtype)
               ? rlx_relay_rel_give(g, 1, &rank, x->tensor.ndim ? 1 : 0, dtype) : RLX_RELAY_FAILS;
}
REL(NdarraySize)
{
    TENSOR(x, 0);
    rlx_dtype dtype;
    return x && rlx_relay_rel_dtype(g, "dtype", RELAX_INT32, &dtype) ? rlx_relay_rel_give(g, 1, NULL, 0, dtype)
                                                                     : RLX_RELAY_FAILS;
}
REL(ArgWhere)
{
    TENSOR(x, 0);
    rlx_relay_dim dims[] = { rlx_relay_any(), rlx_relay_int((int64_t)x->tensor.ndim) };
    return rlx_relay_rel_give(g, 1, dims, 2, RELAX_INT32);
}

/* A tensor of as many unknown extents as argument i, a vector of known length, has items. */
static outcome give_unknown(rlx_relay_goal *g, size_t i, size_t out, rlx_dtype dtype)
{
    TENSOR(s, i);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (s->tensor.ndim != 1 || !rlx_relay_is_int(rlx_relay_extent(s, 0)) ||
        rlx_relay_extent(s, 0).value > RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "a shape is a vector of known length");
    size_t n = (size_t)rlx_relay_extent(s, 0).value;
    for (size_t k = 0; k < n; k++)
        dims[k] = rlx_relay_any();
    return rlx_relay_rel_give(g, out, dims, n, dtype);
}
REL(DynReshape)
{
    TENSOR(x, 0);
    return give_unknown(g, 1, 2, x->tensor.dtype);
}
REL(DynBroadcastTo)
{
    TENSOR(x, 0);
    return give_unknown(g, 1, 2, x->tensor.dtype);
}
REL(DynFull)
{
    TENSOR(x, 0);
    rlx_dtype dtype;
    return rlx_relay_rel_dtype(g, "dtype", x->tensor.dtype, &dtype) ? give_unknown(g, 1, 2, dtype)
                                                                    : RLX_RELAY_FAILS;
}
REL(DynInit)
{
    rlx_dtype dtype;
    return rlx_relay_rel_dtype(g, "dtype", RELAX_FLOAT32, &dtype) ? give_unknown(g, 0, 1, dtype)
                                                                  : RLX_RELAY_FAILS;
}
