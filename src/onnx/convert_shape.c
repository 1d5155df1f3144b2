/* convert_shape.c: sizes, and tensors in another shape: with integers that are sizes kept as expressions. */
#include "onnx/onnx_int.h"

#include <math.h>

static bool on_sizes_only(rlx_onnx_conv *c)
{
    return c->num_inputs && c->inputs[0] && c->inputs[0]->has_ints;
}

/* ---- sizes of tensors -------------------------------------------------------------------------- */

static int64_t clamp(int64_t v, int64_t n)
{
    v += v < 0 ? n : 0;
    return v < 0 ? 0 : v > n ? n : v;
}

RLX_ONNX_CONVERTER(convert_shape)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    const rlx_tensor_sinfo *t = x ? rlx_onnx_info(c, x) : NULL;
    size_t n;
    if (t && t->ndim < 0 && !rlx_onnx_attr(c, "start") && !rlx_onnx_attr(c, "end"))
        return rlx_onnx_output(c, 0, rlx_onnx_call1(c, "shape_to_tensor",
                                                    rlx_onnx_call1(c, "shape_of", x)));
    const rlx_prim *const *dims = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!dims)
        return false;
    int64_t from = clamp(rlx_onnx_int(c, "start", 0), (int64_t)n);
    int64_t to = clamp(rlx_onnx_int(c, "end", (int64_t)n), (int64_t)n);
    return rlx_onnx_output_ints(c, 0, dims + from, from < to ? (size_t)(to - from) : 0, false,
                                RELAX_INT64);
}

static const rlx_prim *product(rlx_onnx_conv *c, const rlx_prim *const *d, size_t n)
{
    const rlx_prim *p = rlx_int64(c->ctx, 1);
    for (size_t i = 0; i < n; i++)
        p = rlx_fold_mul(c->ctx, p, d[i]);
    return rlx_onnx_simplify(c, p);
}

RLX_ONNX_CONVERTER(convert_size)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    size_t n;
    const rlx_prim *const *dims = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    const rlx_prim **out = rlx_onnx_array(c, 1, sizeof *out);
    if (!dims || !out)
        return false;
    out[0] = product(c, dims, n);
    return rlx_onnx_output_ints(c, 0, out, 1, true, RELAX_INT64);
}

/* ---- constants --------------------------------------------------------------------------------- */

static const rlx_expr *constant_value(rlx_onnx_conv *c)
{
    const rlx_onnx_attribute *a;
    size_t n;
    if ((a = rlx_onnx_attr(c, "value")) != NULL && a->t)
        return rlx_onnx_tensor_constant(c->m, a->t, c->place);
    if ((a = rlx_onnx_attr(c, "sparse_value")) != NULL && a->sparse)
        return rlx_onnx_sparse_constant(c->m, a->sparse, c->place);
    if (rlx_onnx_attr(c, "value_float"))
        return rlx_onnx_scalar(c, RELAX_FLOAT32, rlx_onnx_float(c, "value_float", 0));
    if (rlx_onnx_attr(c, "value_int")) {
        int64_t v = rlx_onnx_int(c, "value_int", 0);
        return rlx_constant_new(c->ctx, RELAX_INT64, NULL, 0, &v, c->place);
    }
    const int64_t *ints = rlx_onnx_int_list(c, "value_ints", &n);
    if (ints)
        return rlx_onnx_const_ints(c, RELAX_INT64, ints, n);
    const double *floats = rlx_onnx_float_list(c, "value_floats", &n);
    int64_t len = (int64_t)n;
    if (floats)
        return rlx_onnx_const(c, RELAX_FLOAT32, &len, 1, floats);
    return rlx_onnx_fail(c, RLX_ON06, "the constant has no value of numbers");
}

RLX_ONNX_CONVERTER(convert_constant)
{
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, "value");
    rlx_dtype t;
    if (a && a->t && a->t->data_location != 1 && rlx_onnx_dtype(a->t->data_type, &t)) {
        rlx_onnx_value v = { .tensor = a->t }; /* looked at when it is used */
        return rlx_onnx_output_value(c, 0, &v);
    }
    return rlx_onnx_output(c, 0, constant_value(c));
}

RLX_ONNX_CONVERTER(convert_constant_of_shape)
{
    rlx_onnx_ints d;
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, "value");
    const rlx_expr *v = a && a->t ? rlx_onnx_tensor_constant(c->m, a->t, c->place)
                                  : rlx_onnx_scalar(c, RELAX_FLOAT32, 0);
    const rlx_constant *k = rlx_as_constant(v);
    size_t n;
    if (!k || !rlx_onnx_sizes(c, 0, "shape", &d))
        return false;
    if (k->num_shape != 0)
        v = rlx_constant_blob(c->ctx, k->dtype, NULL, 0, k->data, c->place);
    /* a short list of integers may stand for sizes itself */
    const int64_t *value = rlx_onnx_ints_of(c, v, &n);
    int64_t len = 0;
    if (value && k->dtype == RELAX_INT64 && d.len == 1 && rlx_int_literal(d.data[0], &len) &&
        len >= 0 && len <= 64) {
        const rlx_prim **out = rlx_onnx_array(c, (size_t)len, sizeof *out);
        for (int64_t i = 0; out && i < len; i++)
            out[i] = rlx_int64(c->ctx, *value);
        return rlx_onnx_output_ints(c, 0, out, (size_t)len, false, RELAX_INT64);
    }
    return rlx_onnx_output(
        c, 0, rlx_onnx_call(c, "full", "x x", rlx_shape_new(c->ctx, d.data, d.len), v));
}

/* ---- reshape ----------------------------------------------------------------------------------- */

/* A product of sizes: of those that are numbers, and the others. One that is very long is a factor. */
typedef struct factors { uint64_t number; const rlx_prim **at; size_t count; } factors;

static const rlx_binary *factors_in(const rlx_prim *size)
{
    return rlx_is(size, RLX_NODE_MUL) && !rlx_is_long_size(size) ? (const rlx_binary *)size : NULL;
}

static size_t count_factors(const rlx_prim *size)
{
    const rlx_binary *mul = factors_in(size);
    return mul ? count_factors(mul->a) + count_factors(mul->b) : 1;
}

static void add_factors(factors *f, const rlx_prim *size)
{
    const rlx_binary *mul = factors_in(size);
    int64_t v, all;
    if (mul) {
        add_factors(f, mul->a);
        add_factors(f, mul->b);
    } else if (rlx_int_literal(size, &v) && v > 0 && rlx_mul_i64((int64_t)f->number, v, &all))
        f->number = (uint64_t)all;
    else
        f->at[f->count++] = size;
}

/* Factors of n sizes but that at `without`. */
static bool factors_of(rlx_onnx_conv *c, const rlx_prim *const *sizes, size_t n, size_t without, factors *out)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most += i == without ? 0 : count_factors(sizes[i]);
    *out = (factors){ 1, rlx_onnx_array(c, most, sizeof *out->at), 0 };
    for (size_t i = 0; i < n && out->at; i++)
        if (i != without)
            add_factors(out, sizes[i]);
    return out->at != NULL;
}

static const rlx_prim *product_of(rlx_onnx_conv *c, const factors *f)
{
    const rlx_prim *all = rlx_int64(c->ctx, 1);
    for (size_t i = 0; i < f->count; i++)
        all = rlx_fold_mul(c->ctx, all, f->at[i]);
    return rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, all, rlx_int64(c->ctx, (int64_t)f->number)));
}

/* What -1 stands for: the rest. Equal factors cancel first, so that what is left divides without a remainder that is not
 * known. */
static const rlx_prim *rest_of(rlx_onnx_conv *c, const rlx_prim *const *have, size_t n, const rlx_prim **want, size_t m,
                               size_t at)
{
    factors all, known;
    if (!factors_of(c, have, n, SIZE_MAX, &all) || !factors_of(c, want, m, at, &known))
        return NULL;
    for (size_t i = 0; i < known.count;) {
        size_t k = 0;
        while (k < all.count && all.at[k] != known.at[i])
            k++;
        if (k == all.count) {
            i++;
            continue;
        }
        memmove(all.at + k, all.at + k + 1, (--all.count - k) * sizeof *all.at);
        memmove(known.at + i, known.at + i + 1, (--known.count - i) * sizeof *known.at);
    }
    uint64_t common = rlx_gcd(known.number, all.number);
    all.number /= common;
    known.number /= common;
    const rlx_prim *whole = product_of(c, &all), *by = product_of(c, &known);
    return rlx_is_int_value(by, 1) ? whole : rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, whole, by));
}

static bool reshape_to(rlx_onnx_conv *c, const rlx_onnx_ints *shape, bool zeros)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    size_t n, rest = SIZE_MAX;
    const rlx_prim *const *have = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    const rlx_prim **want = rlx_onnx_array(c, shape->len, sizeof *want);
    if (!have || !want)
        return false;
    for (size_t i = 0; i < shape->len; i++) {
        want[i] = shape->data[i];
        if (rlx_is_int_value(want[i], 0) && !zeros) {
            if (i >= n)
                return rlx_onnx_fail(c, RLX_ON05, "size %zu is to be copied from an operand of "
                                     "rank %zu", i, n) != NULL;
            want[i] = have[i];
        } else if (rlx_is_int_value(want[i], -1)) {
            if (rest != SIZE_MAX)
                return rlx_onnx_fail(c, RLX_ON05, "two sizes are -1") != NULL;
            rest = i;
        }
    }
    if (rest != SIZE_MAX) {
        int64_t none;
        for (size_t i = 0; i < shape->len; i++)
            if (i != rest && rlx_int_literal(want[i], &none) && !none)
                return rlx_onnx_fail(c, RLX_ON05, "a size cannot be inferred beside one that is 0") !=
                       NULL;
        want[rest] = rest_of(c, have, n, want, shape->len, rest);
    }
    return rlx_onnx_output(c, 0, rlx_onnx_reshape(c, x, want, shape->len));
}

/* A shape found when the program runs, in which 0 and -1 are replaced. False after a report. */
static bool found_shape(rlx_onnx_conv *c, bool zeros, rlx_onnx_ints *out)
{
    size_t n, rank;
    const rlx_expr *x = rlx_onnx_input(c, 0), *want = x ? rlx_onnx_found_ints(c, 1, "shape", &n) : NULL;
    const rlx_prim *const *have = want ? rlx_onnx_dims(c, &x, &rank) : NULL, *all;
    const rlx_prim **copied = have ? rlx_onnx_array(c, n, sizeof *copied) : NULL;
    if (!copied || !(all = product(c, have, rank)))
        return false;
    for (size_t i = 0; i < n; i++)
        copied[i] = i < rank ? have[i] : rlx_int64(c->ctx, 0);
    const rlx_expr *none = rlx_onnx_scalar(c, RELAX_INT64, 0), *one = rlx_onnx_scalar(c, RELAX_INT64, 1);
    if (!zeros && n) {
        const rlx_expr *old = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, copied, n));
        want = rlx_onnx_where(c, rlx_onnx_call2(c, "equal", want, none), old, want);
    }
    const rlx_expr *open = rlx_onnx_call2(c, "equal", want, rlx_onnx_scalar(c, RELAX_INT64, -1));
    const rlx_expr *rest = rlx_onnx_call1(c, "prod", rlx_onnx_where(c, open, one, want));
    rest = rlx_onnx_call2(c, "maximum", rest, one);
    const rlx_expr *elements = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &all, 1));
    rest = rlx_onnx_call2(c, "floor_divide", elements, rest);
    const rlx_prim **vars = rlx_onnx_bind_ints(c, rlx_onnx_where(c, open, rest, want), n);
    *out = (rlx_onnx_ints){ vars, n, false, RELAX_INT64 };
    return vars != NULL;
}

/* A list of sizes, or one size, in another rank stays what it is. */
static bool reshape_sizes(rlx_onnx_conv *c, size_t rank)
{
    const rlx_onnx_value *v = c->inputs[0];
    return on_sizes_only(c) && rank <= 1 && (rank == 1 || v->num_ints == 1) &&
           rlx_onnx_output_ints(c, 0, v->ints, v->num_ints, rank == 0, v->dtype);
}

RLX_ONNX_CONVERTER(convert_reshape)
{
    rlx_onnx_ints shape;
    size_t n;
    bool zeros = c->version >= 14 && rlx_onnx_int(c, "allowzero", 0);
    if (c->version >= 5) {
        if (!rlx_onnx_known(c, 1, &shape) && (!rlx_onnx_has(c, 1) || !rlx_onnx_has_rank(c, rlx_onnx_input(c, 0))
                                                  ? !rlx_onnx_sizes(c, 1, "shape", &shape)
                                                  : !found_shape(c, zeros, &shape)))
            return false;
    } else {
        const int64_t *v = rlx_onnx_int_list(c, "shape", &n);
        const rlx_prim **p = rlx_onnx_array(c, n, sizeof *p);
        for (size_t i = 0; p && i < n; i++)
            p[i] = rlx_int64(c->ctx, v[i]);
        shape = (rlx_onnx_ints){ p, n, false, RELAX_INT64 };
    }
    return reshape_sizes(c, shape.len) ||
           reshape_to(c, &shape, zeros);
}

RLX_ONNX_CONVERTER(convert_flatten)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL, *two[2];
    int64_t axis = rlx_onnx_int(c, "axis", 1);
    if (!d || (axis != (int64_t)n && !rlx_onnx_axis(c, &axis, (int)n)))
        return false;
    two[0] = product(c, d, (size_t)axis);
    two[1] = product(c, d + axis, n - (size_t)axis);
    return rlx_onnx_output(c, 0, rlx_onnx_reshape(c, x, two, 2));
}

RLX_ONNX_CONVERTER(convert_squeeze)
{
    size_t count = 0;
    bool ok = true;
    const int64_t *axes;
    if (on_sizes_only(c) && c->inputs[0]->num_ints == 1)
        return reshape_sizes(c, 0);
    const rlx_expr *x = rlx_onnx_input(c, 0);
    if (!x)
        return false;
    axes = rlx_onnx_int_list(c, "axes", &count);
    if (!axes && rlx_onnx_has(c, 1) && !(axes = rlx_onnx_literals(c, 1, "axes", &count)))
        return false;
    if (axes && rlx_onnx_has_rank(c, x))
        axes = rlx_onnx_axes(c, 1, rlx_onnx_rank(c, x), &count, &ok);
    if (axes || !ok)
        return ok && rlx_onnx_output(
            c, 0, count ? rlx_onnx_call(c, "squeeze", "x axis=I", x, axes, count) : x);
    return rlx_onnx_output(c, 0, rlx_onnx_call1(c, "squeeze", x));
}

RLX_ONNX_CONVERTER(convert_unsqueeze)
{
    size_t count = 0;
    bool ok = true;
    if (on_sizes_only(c) && c->inputs[0]->is_scalar)
        return reshape_sizes(c, 1);
    const rlx_expr *x = rlx_onnx_input(c, 0);
    const int64_t *axes = rlx_onnx_int_list(c, "axes", &count);
    if (!x || (!axes && !(axes = rlx_onnx_literals(c, 1, "axes", &count))))
        return false;
    if (rlx_onnx_has_rank(c, x))
        axes = rlx_onnx_axes(c, 1, rlx_onnx_rank(c, x) + (int)count, &count, &ok);
    return ok && rlx_onnx_output(c, 0, rlx_onnx_expand_dims(c, x, axes, count));
}

/* What was dequantised stays so: weights are often transposed behind that. */
static bool give_transposed(rlx_onnx_conv *c, const rlx_expr *x, const int64_t *perm, size_t n)
{
    const rlx_onnx_quantized *from = c->inputs[0]->quantized;
    if (!rlx_onnx_output(c, 0, rlx_onnx_transpose(c, x, perm, n)))
        return false;
    rlx_onnx_quantized *to = from && rlx_onnx_wants(c, 0) ? rlx_onnx_array(c, 1, sizeof *to) : NULL;
    if (!to)
        return !c->failed;
    *to = *from;
    to->x = rlx_onnx_transpose(c, from->x, perm, n);
    for (size_t i = 0; i < n; i++)
        if (from->axis >= 0 && perm[i] == from->axis)
            to->axis = (int64_t)i;
    c->outputs[0]->quantized = to->x ? to : NULL;
    return !c->failed;
}

RLX_ONNX_CONVERTER(convert_transpose)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    size_t count;
    const int64_t *perm = rlx_onnx_int_list(c, "perm", &count);
    if (n < 0)
        return false;
    if (perm && count == (size_t)n)
        return give_transposed(c, x, perm, count);
    if (perm && count)
        return rlx_onnx_fail(c, RLX_ON05, "perm has %zu axes for rank %d", count, n) != NULL;
    int64_t *reversed = rlx_onnx_array(c, (size_t)n, sizeof *reversed);
    for (int i = 0; reversed && i < n; i++)
        reversed[i] = n - 1 - i;
    return reversed && give_transposed(c, x, reversed, (size_t)n);
}

/* ---- parts and wholes -------------------------------------------------------------------------- */

static bool concat_sizes(rlx_onnx_conv *c)
{
    bool any = false;
    size_t len = 0;
    rlx_onnx_ints v;
    for (size_t i = 0; i < c->num_inputs; i++) {
        any |= c->inputs[i] && c->inputs[i]->has_ints;
        if (!rlx_onnx_known(c, i, &v) || v.is_scalar)
            return false;
        len += v.len;
        if (len > RLX_ONNX_MOST_KNOWN)
            return false; /* lists that double at each node end here: then it is a tensor */
    }
    const rlx_prim **out = any ? rlx_onnx_array(c, len, sizeof *out) : NULL;
    len = 0;
    for (size_t i = 0; out && i < c->num_inputs; i++) {
        if (!rlx_onnx_known(c, i, &v))
            return false;
        memcpy(out + len, v.data, v.len * sizeof *out);
        len += v.len;
    }
    return out && rlx_onnx_output_ints(c, 0, out, len, false, v.dtype);
}

/* One part whose rank is known says that of all; *rank: -1: none is. False after a report. */
static bool same_ranks(rlx_onnx_conv *c, const rlx_expr **parts, size_t count, int *rank)
{
    *rank = -1;
    for (size_t i = 0; i < count && *rank < 0; i++)
        *rank = rlx_onnx_has_rank(c, parts[i]) ? rlx_onnx_rank(c, parts[i]) : -1;
    for (size_t i = 0; i < count && *rank >= 0; i++)
        parts[i] = rlx_onnx_of_rank(c, parts[i], *rank);
    return !c->failed;
}

/* The sizes of a part of that rank; NULL: they are not known, or it has another rank. */
static const rlx_prim *const *sizes_of_part(rlx_onnx_conv *c, const rlx_expr *part, int rank)
{
    const rlx_tensor_sinfo *t = rlx_onnx_info(c, part);
    size_t n = 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &n) : NULL;
    return n == (size_t)rank ? dims : NULL;
}

/* The plainest expression of the size that all parts have along axis k; NULL: they surely differ, or it is not known. */
static const rlx_prim *common_size(rlx_onnx_conv *c, const rlx_expr *const *parts, size_t count, int rank, int k)
{
    const rlx_scope *scope = rlx_builder_scope(c->m->b);
    const rlx_prim *best = NULL;
    int64_t v;
    for (size_t i = 0; i < count; i++) {
        const rlx_prim *const *dims = sizes_of_part(c, parts[i], rank);
        if (dims && best && rlx_prove_equal_sizes(c->ctx, scope, best, dims[k]) == RLX_DIFFERENT)
            return NULL;
        if (dims && (!best || rlx_int_literal(dims[k], &v) || (!rlx_int_literal(best, &v) && rlx_prim_parts(dims[k]) < rlx_prim_parts(best))))
            best = dims[k];
    }
    return best;
}

static bool has_sizes(rlx_onnx_conv *c, const rlx_prim *const *dims, const rlx_prim *const *common, int rank, int64_t axis)
{
    bool has = dims != NULL;
    for (int k = 0; has && k < rank; k++)
        has = k == axis || rlx_prove_equal_sizes(c->ctx, rlx_builder_scope(c->m->b), dims[k], common[k]) == RLX_EQUAL;
    return has;
}

/* Sizes beside the axis are equal, or the model fails: where that is not proved (an odd size that was halved and doubled) it
 * is checked, so that what is joined has a known shape. */
static bool same_sizes(rlx_onnx_conv *c, const rlx_expr **parts, size_t count, int rank, int64_t axis)
{
    const rlx_prim **common = rlx_onnx_array(c, (size_t)rank, sizeof *common);
    bool known = common != NULL;
    for (int k = 0; known && k < rank; k++)
        known = k == axis || (common[k] = common_size(c, parts, count, rank, k)) != NULL;
    for (size_t i = 0; known && i < count; i++) {
        const rlx_tensor_sinfo *t = rlx_onnx_info(c, parts[i]);
        const rlx_prim *const *dims = sizes_of_part(c, parts[i], rank);
        if (!t || t->ndim != rank || has_sizes(c, dims, common, rank, axis))
            continue;
        common[axis] = dims ? dims[axis] : rlx_onnx_fresh(c, "d");
        const rlx_expr *shape = common[axis] ? rlx_shape_new(c->ctx, common, (size_t)rank) : NULL;
        parts[i] = shape ? rlx_onnx_match(c, parts[i], rlx_tensor_info(c->ctx, shape, t->dtype, rank, NULL)) : NULL;
    }
    return !c->failed;
}

RLX_ONNX_CONVERTER(convert_concat)
{
    int64_t axis = rlx_onnx_int(c, "axis", 1);
    if (concat_sizes(c))
        return true;
    const rlx_expr **parts = rlx_onnx_array(c, c->num_inputs, sizeof *parts);
    for (size_t i = 0; parts && i < c->num_inputs; i++)
        if (!(parts[i] = rlx_onnx_input(c, i)))
            return false;
    int rank;
    if (!parts || !c->num_inputs || !same_ranks(c, parts, c->num_inputs, &rank) ||
        (rank >= 0 && (!rlx_onnx_axis(c, &axis, rank) || !same_sizes(c, parts, c->num_inputs, rank, axis))))
        return false;
    return rlx_onnx_output(c, 0, rlx_onnx_concat(c, parts, c->num_inputs, axis));
}

/* Sizes of the parts; NULL: equal ones. */
RLX_ONNX_CONVERTER(convert_split)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axis = rlx_onnx_int(c, "axis", 0);
    size_t count = c->num_outputs;
    if (n < 0 || !rlx_onnx_axis(c, &axis, n))
        return false;
    rlx_onnx_ints sizes = { NULL, 0, false, RELAX_INT64 };
    size_t given;
    const int64_t *attr = rlx_onnx_int_list(c, "split", &given);
    if (!attr && rlx_onnx_has(c, 1) && !rlx_onnx_sizes(c, 1, "split", &sizes))
        return false;
    if ((attr || sizes.data) && (attr ? given : sizes.len) != count)
        return rlx_onnx_fail(c, RLX_ON05, "%zu sizes for %zu parts", attr ? given : sizes.len,
                             count) != NULL;
    const rlx_prim *at = rlx_int64(c->ctx, 0), *all = rlx_onnx_dim(c, x, (size_t)axis);
    const rlx_prim *num = rlx_int64(c->ctx, (int64_t)count), *part = NULL;
    if (!all)
        return false;
    if (!attr && !sizes.data)
        part = rlx_onnx_simplify(
            c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV,
                               rlx_fold_add(c->ctx, all, rlx_int64(c->ctx, (int64_t)count - 1)),
                               num));
    for (size_t i = 0; i < count; i++) {
        const rlx_prim *size = attr ? rlx_int64(c->ctx, attr[i])
                               : sizes.data ? sizes.data[i]
                                            : part;
        const rlx_prim *end = rlx_onnx_simplify(c, rlx_fold_add(c->ctx, at, size));
        if (i + 1 == count && part)
            end = all;
        if (rlx_onnx_wants(c, i) && !rlx_onnx_output(c, i, rlx_onnx_slice(c, x, axis, at, end)))
            return false;
        at = end;
    }
    return true;
}

/* ---- slices ------------------------------------------------------------------------------------ */

typedef struct cut {
    rlx_onnx_ints from, to, step;
    const int64_t *axes;
    bool from_lies, to_lies;    /* within what they may be */
} cut;

static bool literal_list(rlx_onnx_conv *c, const int64_t *v, size_t n, rlx_onnx_ints *out)
{
    const rlx_prim **p = rlx_onnx_array(c, n, sizeof *p);
    for (size_t i = 0; p && i < n; i++)
        p[i] = rlx_int64(c->ctx, v[i]);
    *out = (rlx_onnx_ints){ p, n, false, RELAX_INT64 };
    return p != NULL;
}

/* Axes and steps of n bounds. */
static bool read_cut_axes(rlx_onnx_conv *c, int rank, size_t n, const int64_t *axes, cut *s)
{
    size_t m = n;
    int64_t *steps = rlx_onnx_array(c, n, sizeof *steps), *all = rlx_onnx_array(c, n, sizeof *all);
    const int64_t *given = NULL;
    if (c->version >= 10 && rlx_onnx_has(c, 3) && !(axes = rlx_onnx_literals(c, 3, "axes", &m)))
        return false;
    if (c->version >= 10 && m == n && rlx_onnx_has(c, 4) && !(given = rlx_onnx_literals(c, 4, "steps", &m)))
        return false;
    if (m != n || !steps || !all || n > (size_t)rank)
        return rlx_onnx_fail(c, RLX_ON05, "starts, ends, axes and steps do not fit each other") != NULL;
    for (size_t i = 0; i < n; i++) {
        steps[i] = given ? given[i] : 1;
        all[i] = axes ? axes[i] : (int64_t)i;
        if (!rlx_onnx_axis(c, &all[i], rank))
            return false;
        if (!steps[i])
            return rlx_onnx_fail(c, RLX_ON05, "a step is 0") != NULL;
    }
    s->axes = all;
    return literal_list(c, steps, n, &s->step);
}

static bool read_cut_attributes(rlx_onnx_conv *c, int rank, cut *s)
{
    size_t n, m, k;
    const int64_t *from = rlx_onnx_int_list(c, "starts", &n), *to = rlx_onnx_int_list(c, "ends", &m);
    const int64_t *axes = rlx_onnx_int_list(c, "axes", &k);
    if (!from || !to || m != n || (axes && k != n))
        return rlx_onnx_fail(c, RLX_ON10, "starts or ends is missing, or of another length") != NULL;
    return literal_list(c, from, n, &s->from) && literal_list(c, to, n, &s->to) && read_cut_axes(c, rank, n, axes, s);
}

/* Indices, of which those below 0 count from the end. */
static const rlx_expr *from_end(rlx_onnx_conv *c, const rlx_expr *at, const rlx_expr *size)
{
    const rlx_expr *moved = rlx_onnx_call2(c, "add", at, size);
    return rlx_onnx_where(c, rlx_onnx_call2(c, "less", at, rlx_onnx_scalar(c, RELAX_INT64, 0)), moved, at);
}

/* Bounds that are found when the program runs, made to lie where they may. Shape variables are not negative, but the end of
 * steps back may be -1: they stand for one more then. */
static bool found_bounds(rlx_onnx_conv *c, size_t i, const rlx_expr *list, size_t n, const cut *s, rlx_onnx_ints *out)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    const rlx_prim **sizes = rlx_onnx_array(c, n, sizeof *sizes);
    int64_t *least = rlx_onnx_array(c, n, sizeof *least), *shift = rlx_onnx_array(c, n, sizeof *shift);
    for (size_t k = 0; x && sizes && least && shift && k < n; k++) {
        int64_t step = 1;
        rlx_int_literal(s->step.data[k], &step);
        shift[k] = step < 0 ? -1 : 0;
        least[k] = i == 2 ? shift[k] : 0;
        if (!(sizes[k] = rlx_onnx_dim(c, x, (size_t)s->axes[k])))
            return false;
    }
    if (c->failed || !x)
        return false;
    const rlx_expr *size = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, sizes, n));
    const rlx_expr *off = rlx_onnx_const_ints(c, RELAX_INT64, shift, n);
    list = from_end(c, list, size);
    list = rlx_onnx_call2(c, "maximum", list, rlx_onnx_const_ints(c, RELAX_INT64, least, n));
    list = rlx_onnx_call2(c, "minimum", list, rlx_onnx_call2(c, "add", size, off));
    const rlx_prim **vars = rlx_onnx_bind_ints(c, rlx_onnx_call2(c, "subtract", list, off), n);
    for (size_t k = 0; vars && k < n; k++)
        if (shift[k])
            vars[k] = rlx_fold_add(c->ctx, vars[k], rlx_int64(c->ctx, shift[k]));
    *out = (rlx_onnx_ints){ vars, n, false, RELAX_INT64 };
    return vars != NULL;
}

static bool read_cut(rlx_onnx_conv *c, int rank, cut *s)
{
    static const char *const names[] = { "starts", "ends" };
    rlx_onnx_ints *const known[] = { &s->from, &s->to };
    const rlx_expr *found[2] = { NULL };
    size_t n[2];
    if (c->version < 10)
        return read_cut_attributes(c, rank, s);
    for (size_t i = 0; i < 2; i++) {
        if (!rlx_onnx_has(c, i + 1))
            return rlx_onnx_fail(c, RLX_ON10, "%s is missing", names[i]) != NULL;
        if (rlx_onnx_known(c, i + 1, known[i]))
            n[i] = known[i]->len;
        else if (!(found[i] = rlx_onnx_found_ints(c, i + 1, names[i], &n[i])))
            return false;
    }
    if (n[0] != n[1])
        return rlx_onnx_fail(c, RLX_ON05, "there are %zu starts and %zu ends", n[0], n[1]) != NULL;
    if (!read_cut_axes(c, rank, n[0], NULL, s))
        return false;
    s->from_lies = found[0] != NULL;
    s->to_lies = found[1] != NULL;
    for (size_t i = 0; i < 2; i++)
        if (found[i] && !found_bounds(c, i + 1, found[i], n[i], s, known[i]))
            return false;
    return true;
}

/* A bound within 0 .. n, for steps back at most n - 1, and -1 as an end; as far as it is known where it lies. */
static const rlx_prim *bound(rlx_onnx_conv *c, const rlx_prim *v, const rlx_prim *n, bool back, bool end)
{
    int64_t x, low, high;
    const rlx_scope *s = rlx_builder_scope(c->m->b);
    const rlx_prim *least = rlx_int64(c->ctx, back && end ? -1 : 0);
    const rlx_prim *most = back ? rlx_fold_sub(c->ctx, n, rlx_int64(c->ctx, 1)) : n;
    bool literal = rlx_int_literal(v, &x);
    if (literal && x >= INT32_MAX)
        return most;
    if (literal && x <= INT32_MIN && (end || !back))
        return least;
    rlx_bounds(c->ctx, s, v, &low, &high);
    if (high < 0)
        v = rlx_fold_add(c->ctx, v, n);
    else if (low < 0)
        v = rlx_fold_select(c->ctx, rlx_fold_binary(c->ctx, RLX_NODE_LT, v, rlx_int64(c->ctx, 0)),
                            rlx_fold_add(c->ctx, v, n), v);
    v = rlx_onnx_simplify(c, v);
    /* the upper end last: nothing starts in an axis without elements */
    if (rlx_prove_compare(c->ctx, s, RLX_NODE_GE, v, least) != RLX_TRUE)
        v = rlx_fold_binary(c->ctx, RLX_NODE_MAX, v, least);
    if (rlx_prove_compare(c->ctx, s, RLX_NODE_LE, v, most) != RLX_TRUE)
        v = rlx_fold_binary(c->ctx, RLX_NODE_MIN, v, most);
    return rlx_onnx_simplify(c, v);
}

static bool slice_sizes(rlx_onnx_conv *c, const cut *s)
{
    const rlx_onnx_value *v = c->inputs[0];
    int64_t from, to, step, n = (int64_t)v->num_ints;
    if (s->from.len != 1 || !rlx_int_literal(s->from.data[0], &from) ||
        !rlx_int_literal(s->to.data[0], &to) || !rlx_int_literal(s->step.data[0], &step))
        return false;
    const rlx_prim **out = rlx_onnx_array(c, v->num_ints, sizeof *out);
    size_t len = 0;
    from = from < -n ? 0 : from < 0 ? from + n : from;
    to = to < 0 ? to + n : to;
    if (step > 0)
        for (; out && from < to && from < n; from += step)
            out[len++] = v->ints[from];
    else
        for (from = from >= n ? n - 1 : from; out && from > to && from >= 0; from += step)
            out[len++] = v->ints[from];
    return out && rlx_onnx_output_ints(c, 0, out, len, false, v->dtype);
}

/* Elements from `from` to `to`, which is behind them, every step-th. */
static const rlx_expr *take_forward(rlx_onnx_conv *c, const rlx_expr *x, int64_t axis, const rlx_prim *from, const rlx_prim *to,
                                    int64_t step)
{
    if (rlx_prove_compare(c->ctx, rlx_builder_scope(c->m->b), RLX_NODE_LE, from, to) != RLX_TRUE)
        to = rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_MAX, from, to));
    const rlx_expr *a = rlx_onnx_prim(c, axis), *b = rlx_prim_value_new(c->ctx, from), *e = rlx_prim_value_new(c->ctx, to);
    const rlx_expr *k = rlx_onnx_prim(c, step);
    if (rlx_is_int_value(from, 0) && to == rlx_onnx_dim(c, x, (size_t)axis) && step == 1)
        return x;
    return rlx_onnx_call(c, "strided_slice", "x X X X X assume_inbound=b", x, &a, (size_t)1, &b, (size_t)1, &e, (size_t)1, &k,
                         (size_t)1, 1);
}

/* Those from, from + step ... above `to`: taken in the order in which they lie, then turned round. */
static const rlx_expr *take_back(rlx_onnx_conv *c, const rlx_expr *x, int64_t axis,
                                 const rlx_prim *from, const rlx_prim *to, int64_t step)
{
    rlx_context *ctx = c->ctx;
    const rlx_prim *apart = rlx_int64(ctx, -step), *one = rlx_int64(ctx, 1);
    const rlx_prim *count = rlx_fold_binary(ctx, RLX_NODE_FLOOR_DIV,
                                            rlx_fold_add(ctx, rlx_fold_sub(ctx, from, to), rlx_int64(ctx, -step - 1)), apart);
    count = rlx_onnx_simplify(c, rlx_fold_binary(ctx, RLX_NODE_MAX, count, rlx_int64(ctx, 0)));
    const rlx_prim *first = rlx_onnx_simplify(c, rlx_fold_sub(ctx, from, rlx_fold_mul(ctx, rlx_fold_sub(ctx, count, one), apart))),
                   *end = rlx_onnx_simplify(c, rlx_fold_add(ctx, from, one));
    x = take_forward(c, x, axis, first, end, -step);
    return x ? rlx_onnx_call(c, "flip", "x axis=i", x, axis) : NULL;
}

RLX_ONNX_CONVERTER(convert_slice)
{
    cut s = { .axes = NULL };
    bool sizes = on_sizes_only(c);
    const rlx_expr *x = sizes ? NULL : rlx_onnx_input(c, 0);
    int n = sizes ? 1 : x ? rlx_onnx_rank(c, x) : -1;
    if (n < 0 || !read_cut(c, n, &s))
        return false;
    if (sizes && slice_sizes(c, &s))
        return true;
    if (sizes)
        x = rlx_onnx_input(c, 0);
    for (size_t i = 0; i < s.from.len && x; i++) {
        int64_t step = 1;
        const rlx_prim *d = rlx_onnx_dim(c, x, (size_t)s.axes[i]);
        rlx_int_literal(s.step.data[i], &step);
        if (!d)
            return false;
        const rlx_prim *from = s.from_lies ? s.from.data[i] : bound(c, s.from.data[i], d, step < 0, false);
        const rlx_prim *to = s.to_lies ? s.to.data[i] : bound(c, s.to.data[i], d, step < 0, true);
        if (step < 0) {
            x = take_back(c, x, s.axes[i], from, to, step);
            continue;
        }
        x = take_forward(c, x, s.axes[i], from, to, step);
    }
    return rlx_onnx_output(c, 0, x);
}

/* ---- elements by position ---------------------------------------------------------------------- */

static bool gather_sizes(rlx_onnx_conv *c)
{
    const rlx_onnx_value *v = c->inputs[0];
    rlx_onnx_ints at;
    if (!rlx_onnx_known(c, 1, &at))
        return false;
    const rlx_prim **out = rlx_onnx_array(c, at.len, sizeof *out);
    for (size_t i = 0; out && i < at.len; i++) {
        int64_t k;
        if (!rlx_int_literal(at.data[i], &k))
            return false;
        k += k < 0 ? (int64_t)v->num_ints : 0;
        if (k < 0 || k >= (int64_t)v->num_ints)
            return rlx_onnx_fail(c, RLX_ON05, "position %lld is out of range", (long long)k) != NULL;
        out[i] = v->ints[k];
    }
    return out && rlx_onnx_output_ints(c, 0, out, at.len, at.is_scalar, v->dtype);
}

RLX_ONNX_CONVERTER(convert_gather)
{
    int64_t axis = rlx_onnx_int(c, "axis", 0);
    if (on_sizes_only(c) && gather_sizes(c))
        return true;
    const rlx_expr *x = rlx_onnx_input(c, 0), *at = rlx_onnx_input(c, 1);
    if (!x || !at || (rlx_onnx_has_rank(c, x) && !rlx_onnx_axis(c, &axis, rlx_onnx_rank(c, x))))
        return false;
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "take", "x x axis=i", x, at, axis));
}

RLX_ONNX_CONVERTER(convert_gather_elements)
{
    int64_t axis = rlx_onnx_int(c, "axis", 0);
    const rlx_expr *x = rlx_onnx_input(c, 0), *at = rlx_onnx_input(c, 1);
    if (!x || !at || !rlx_onnx_axis(c, &axis, rlx_onnx_rank(c, x)))
        return false;
    return rlx_onnx_output(
        c, 0, rlx_onnx_call(c, "gather_elements", "x x axis=i", x,
                            rlx_onnx_cast(c, at, RELAX_INT64), axis));
}

RLX_ONNX_CONVERTER(convert_gather_nd)
{
    int64_t batch = rlx_onnx_int(c, "batch_dims", 0);
    const rlx_expr *at = rlx_onnx_cast(c, rlx_onnx_input(c, 1), RELAX_INT64);
    return rlx_onnx_output(
        c, 0, rlx_onnx_call(c, "gather_nd", "x x batch_dims=i", rlx_onnx_input(c, 0), at, batch));
}

static const char *reduction_of(rlx_onnx_conv *c)
{
    rlx_slice r = rlx_onnx_string(c, "reduction", "none");
    static const char *const known[] = { "add", "mul", "min", "max" };
    for (size_t i = 0; i < 4; i++)
        if (rlx_slice_is(r, known[i]))
            return known[i];
    if (!rlx_slice_is(r, "none"))
        rlx_onnx_fail(c, RLX_ON05, "there is no such reduction");
    return "update";
}

RLX_ONNX_CONVERTER(convert_scatter_elements)
{
    int64_t axis = rlx_onnx_int(c, "axis", 0);
    const rlx_expr *x = rlx_onnx_input(c, 0), *at = rlx_onnx_input(c, 1);
    const char *how = reduction_of(c);
    if (!x || !rlx_onnx_axis(c, &axis, rlx_onnx_rank(c, x)))
        return false;
    const rlx_expr *updates = rlx_onnx_input(c, 2);
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "scatter_elements", "x x x axis=i reduction=s", x,
                                               rlx_onnx_cast(c, at, RELAX_INT64), updates, axis, how));
}

RLX_ONNX_CONVERTER(convert_scatter_nd)
{
    const char *how = reduction_of(c);
    const rlx_expr *updates = rlx_onnx_input(c, 2);
    const rlx_expr *at = rlx_onnx_cast(c, rlx_onnx_input(c, 1), RELAX_INT64);
    return rlx_onnx_output(
        c, 0, rlx_onnx_call(c, "scatter_nd", "x x x reduction=s", rlx_onnx_input(c, 0), at, updates, how));
}

/* ---- copies ------------------------------------------------------------------------------------ */

static const rlx_prim *broadcast_size(rlx_onnx_conv *c, const rlx_prim *a, const rlx_prim *b)
{
    if (rlx_is_int_value(a, 1) || a == b)
        return b;
    return rlx_is_int_value(b, 1) ||
                   rlx_prove_equal(c->ctx, rlx_builder_scope(c->m->b), a, b) == RLX_EQUAL
               ? a
               : NULL;
}

/* Either side may be repeated. */
RLX_ONNX_CONVERTER(convert_expand)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    rlx_onnx_ints to;
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!d || !rlx_onnx_sizes(c, 1, "shape", &to))
        return false;
    size_t m = to.len > n ? to.len : n;
    const rlx_prim **out = rlx_onnx_array(c, m, sizeof *out);
    for (size_t i = 0; out && i < m; i++) {
        const rlx_prim *a = i + n >= m ? d[i + n - m] : NULL;
        const rlx_prim *b = i + to.len >= m ? to.data[i + to.len - m] : NULL;
        out[i] = !a ? b : !b ? a : broadcast_size(c, a, b);
        if (!out[i]) /* one of them is 1, or they are equal: the greater one, unless it is 0 */
            out[i] = rlx_fold_select(c->ctx, rlx_fold_binary(c->ctx, RLX_NODE_EQ, a,
                                                             rlx_int64(c->ctx, 1)), b, a);
    }
    return out && rlx_onnx_output(c, 0, rlx_onnx_call(c, "broadcast_to", "x x", x,
                                                      rlx_shape_new(c->ctx, out, m)));
}

/* Copies of symbolic number: x as (1, d), repeated to (k, d), taken together. */
static const rlx_expr *tile_symbolic(rlx_onnx_conv *c, const rlx_expr *x, const rlx_onnx_ints *k)
{
    size_t n;
    const rlx_prim *const *d = rlx_onnx_dims(c, &x, &n);
    const rlx_prim **one = rlx_onnx_array(c, 2 * n, sizeof *one);
    const rlx_prim **many = rlx_onnx_array(c, 2 * n, sizeof *many);
    const rlx_prim **out = rlx_onnx_array(c, n, sizeof *out);
    if (!d || !one || !many || !out)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        one[2 * i] = rlx_int64(c->ctx, 1);
        many[2 * i] = k->data[i];
        one[2 * i + 1] = many[2 * i + 1] = d[i];
        out[i] = rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, k->data[i], d[i]));
    }
    const rlx_expr *y = rlx_onnx_reshape(c, x, one, 2 * n);
    y = rlx_onnx_call(c, "broadcast_to", "x x", y, rlx_shape_new(c->ctx, many, 2 * n));
    return rlx_onnx_reshape(c, y, out, n);
}

/* Before operator set 6: one axis, and how often. They may be numbers of any type. */
static bool one_repeat(rlx_onnx_conv *c, int n, rlx_onnx_ints *k)
{
    int64_t number[2] = { 0 };
    static const char *const names[] = { "tiles", "axis" };
    int64_t *all = rlx_onnx_array(c, (size_t)n, sizeof *all);
    for (size_t i = 0; i < 2; i++) {
        size_t count = 0;
        const rlx_expr *e = rlx_onnx_input(c, i + 1);
        const double *v = e ? rlx_onnx_floats_of(c, e, &count) : NULL;
        if (!v || count != 1)
            return e && rlx_onnx_needs(c, i + 1, names[i]) != NULL;
        if (!(fabs(v[0]) < ldexp(1, 53)))
            return rlx_onnx_fail(c, RLX_ON05, "%s is %g", names[i], v[0]) != NULL;
        number[i] = (int64_t)v[0];
    }
    if (!all || !rlx_onnx_axis(c, &number[1], n))
        return false;
    for (int i = 0; i < n; i++)
        all[i] = i == number[1] ? number[0] : 1;
    return literal_list(c, all, (size_t)n, k);
}

RLX_ONNX_CONVERTER(convert_tile)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    rlx_onnx_ints k;
    if (n < 0 || (c->version < 6 ? !one_repeat(c, n, &k) : !rlx_onnx_sizes(c, 1, "repeats", &k)))
        return false;
    if (k.len != (size_t)n)
        return rlx_onnx_fail(c, RLX_ON05, "%zu repeats for rank %d", k.len, n) != NULL;
    int64_t *v = rlx_onnx_array(c, k.len, sizeof *v);
    bool literal = v != NULL;
    for (size_t i = 0; literal && i < k.len; i++)
        literal = rlx_int_literal(k.data[i], &v[i]);
    return rlx_onnx_output(c, 0, literal ? rlx_onnx_call(c, "tile", "x repeats=I", x, v, k.len)
                                         : tile_symbolic(c, x, &k));
}

/* ---- padding ----------------------------------------------------------------------------------- */

static const char *pad_mode(rlx_onnx_conv *c)
{
    static const char *const names[][2] = { { "constant", "constant" },
                                            { "reflect", "reflect" },
                                            { "edge", "edge" },
                                            { "wrap", "circular" } };
    rlx_slice mode = rlx_onnx_string(c, "mode", "constant");
    for (size_t i = 0; i < 4; i++)
        if (rlx_slice_is(mode, names[i][0]))
            return names[i][1];
    rlx_onnx_fail(c, RLX_ON05, "there is no such mode");
    return "constant";
}

/* The same of axes that are found when the program runs: each has what is told for it, else 0. */
static rlx_onnx_ints found_pads(rlx_onnx_conv *c, int n)
{
    rlx_onnx_ints none = { NULL, 0, false, RELAX_INT64 }, known;
    size_t count, len;
    const int64_t rank = n;
    const rlx_expr *axes = rlx_onnx_found_ints(c, 3, "axes", &count), *amounts = NULL;
    if (axes && rlx_onnx_known(c, 1, &known)) {
        len = known.len;
        amounts = rlx_onnx_cast(c, rlx_onnx_input(c, 1), RELAX_INT64);
    } else if (axes) {
        amounts = rlx_onnx_found_ints(c, 1, "pads", &len);
    }
    if (!amounts)
        return none;
    if (len != 2 * count)
        return rlx_onnx_fail(c, RLX_ON05, "%zu pads for %zu axes", len, count), none;
    axes = from_end(c, axes, rlx_onnx_scalar(c, RELAX_INT64, n));
    const rlx_prim **out = rlx_onnx_array(c, 2 * (size_t)n, sizeof *out);
    for (int64_t h = 0; out && h < 2; h++) {
        const rlx_expr *half = rlx_onnx_slice(c, amounts, 0, rlx_int64(c->ctx, h * (int64_t)count),
                                              rlx_int64(c->ctx, (h + 1) * (int64_t)count));
        const rlx_prim *size = rlx_int64(c->ctx, rank), **vars;
        half = rlx_onnx_call(c, "scatter_elements", "x x x axis=i", rlx_onnx_full(c, &size, 1, RELAX_INT64, 0), axes, half,
                             (int64_t)0);
        if (!(vars = rlx_onnx_bind_ints(c, half, (size_t)n)))
            return none;
        for (int i = 0; i < n; i++)
            out[2 * i + h] = vars[i];
    }
    return (rlx_onnx_ints){ out, out ? 2 * (size_t)n : 0, false, RELAX_INT64 };
}

/* The amounts before and after each axis, in turn; negative ones cut off. */
static rlx_onnx_ints read_pads(rlx_onnx_conv *c, int n)
{
    rlx_onnx_ints given = { NULL, 0, false, RELAX_INT64 }, none = given;
    size_t len, count;
    const int64_t *axes = NULL;
    if (c->version < 11) {
        const int64_t *v = rlx_onnx_int_list(c, c->version < 2 ? "paddings" : "pads", &len);
        if (!v || !literal_list(c, v, len, &given))
            return rlx_onnx_fail(c, RLX_ON10, "pads is missing"), none;
    } else if (c->version >= 18 && rlx_onnx_has(c, 3) && !rlx_onnx_known(c, 3, &given)) {
        return found_pads(c, n);
    } else if (!rlx_onnx_sizes(c, 1, "pads", &given)) {
        return none;
    }
    count = (size_t)n;
    if (c->version >= 18 && rlx_onnx_has(c, 3) &&
        !(axes = rlx_onnx_literals(c, 3, "axes", &count)))
        return none;
    if (given.len != 2 * count)
        return rlx_onnx_fail(c, RLX_ON05, "%zu pads for %zu axes", given.len, count), none;
    const rlx_prim **out = rlx_onnx_array(c, 2 * (size_t)n, sizeof *out);
    for (int i = 0; out && i < 2 * n; i++)
        out[i] = rlx_int64(c->ctx, 0);
    for (size_t i = 0; out && i < count; i++) {
        int64_t axis = axes ? axes[i] : (int64_t)i;
        if (!rlx_onnx_axis(c, &axis, n))
            return none;
        out[2 * axis] = given.data[i];
        out[2 * axis + 1] = given.data[i + count];
    }
    return (rlx_onnx_ints){ out, out ? 2 * (size_t)n : 0, false, RELAX_INT64 };
}

static const rlx_expr *size_tensor(rlx_onnx_conv *c, const rlx_prim *p)
{
    p = p ? rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_MAX, p, rlx_int64(c->ctx, 0))) : NULL;
    const rlx_expr *t = p ? rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &p, 1)) : NULL;
    return rlx_onnx_reshape_ints(c, t, NULL, 0);
}

/* `length` places of an axis, the first of which is `begin` in front of x: taken by position. What lies
 * outside is `value`, or as `mode` says. */
static const rlx_expr *pad_by_position(rlx_onnx_conv *c, const rlx_expr *x, size_t axis, const rlx_prim *begin,
                                       const rlx_prim *length, const char *mode, const rlx_expr *value)
{
    size_t n;
    int64_t behind[64];
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!d || !begin || !length || n > 64)
        return NULL;
    const rlx_prim *zero = rlx_int64(c->ctx, 0), *last = rlx_fold_sub(c->ctx, d[axis], rlx_int64(c->ctx, 1));
    const rlx_expr *at = rlx_onnx_arange(c, length, RELAX_INT64), *inside = NULL, *low;
    at = rlx_onnx_call2(c, "subtract", at, size_tensor(c, begin));
    at = rlx_onnx_call2(c, "add", at, size_tensor(c, rlx_fold_sub(c->ctx, zero, begin)));
    low = rlx_onnx_scalar(c, RELAX_INT64, 0);
    if (!strcmp(mode, "reflect")) {
        const rlx_expr *period = size_tensor(c, rlx_fold_mul(c->ctx, last, rlx_int64(c->ctx, 2)));
        period = rlx_onnx_call2(c, "maximum", period, rlx_onnx_scalar(c, RELAX_INT64, 1));
        at = rlx_onnx_call2(c, "floor_mod", at, period);
        at = rlx_onnx_call2(c, "minimum", at, rlx_onnx_call2(c, "subtract", period, at));
    } else if (!strcmp(mode, "circular")) {
        at = rlx_onnx_call2(c, "floor_mod", at, size_tensor(c, d[axis]));
    } else if (!strcmp(mode, "constant")) {
        inside = rlx_onnx_call2(c, "less", at, size_tensor(c, d[axis]));
        inside = rlx_onnx_call2(c, "logical_and", rlx_onnx_call2(c, "greater_equal", at, low), inside);
    }
    const rlx_expr *high = size_tensor(c, last);
    at = rlx_onnx_call2(c, "minimum", rlx_onnx_call2(c, "maximum", at, low), high);
    x = rlx_onnx_call(c, "take", "x x axis=i", x, at, (int64_t)axis);
    for (size_t i = 0; i + axis + 1 < n; i++)
        behind[i] = (int64_t)i + 1;
    return inside ? rlx_onnx_where(c, rlx_onnx_expand_dims(c, inside, behind, n - 1 - axis), x, value) : x;
}

static bool is_zero(const rlx_prim *p) { return rlx_is_int_value(p, 0); }

/* All axes by position: amounts whose sign is not known, and modes whose amounts are no numbers. */
static const rlx_expr *pad_axes(rlx_onnx_conv *c, const rlx_expr *x, const rlx_onnx_ints *pads, const char *mode,
                                const rlx_expr *value)
{
    for (size_t i = 0; i + 1 < pads->len && x; i += 2) {
        const rlx_prim *b = pads->data[i], *e = pads->data[i + 1];
        const rlx_prim *size = is_zero(b) && is_zero(e) ? NULL : rlx_onnx_dim(c, x, i / 2);
        if (is_zero(b) && is_zero(e))
            continue;
        const rlx_prim *length =
            size ? rlx_onnx_simplify(c, rlx_fold_add(c->ctx, size, rlx_fold_add(c->ctx, b, e))) : NULL;
        x = pad_by_position(c, x, i / 2, b, length, mode, value);
    }
    return x;
}

static bool signs_are_known(rlx_onnx_conv *c, const rlx_onnx_ints *pads)
{
    const rlx_scope *s = rlx_builder_scope(c->m->b);
    int64_t k;
    for (size_t i = 0; i < pads->len; i++)
        if (!rlx_int_literal(pads->data[i], &k) &&
            rlx_prove_compare(c->ctx, s, RLX_NODE_LE, rlx_int64(c->ctx, 0), pads->data[i]) != RLX_TRUE)
            return false;
    return true;
}

/* Filled by concatenation: amounts of any kind, one value of any dtype. */
const rlx_expr *rlx_onnx_pad_with(rlx_onnx_conv *c, const rlx_expr *x, const rlx_onnx_ints *pads,
                                  const rlx_expr *value)
{
    for (size_t i = 0; i < pads->len && x; i++) {
        int64_t k;
        bool literal = rlx_int_literal(pads->data[i], &k);
        size_t n, axis = i / 2;
        const rlx_prim *const *d = rlx_onnx_dims(c, &x, &n);
        if (!d || (literal && k == 0))
            continue;
        if (literal && k < 0) {
            const rlx_prim *off = rlx_int64(c->ctx, -k), *zero = rlx_int64(c->ctx, 0);
            x = i % 2 ? rlx_onnx_slice(c, x, (int64_t)axis, zero,
                                       rlx_onnx_simplify(c, rlx_fold_sub(c->ctx, d[axis], off)))
                      : rlx_onnx_slice(c, x, (int64_t)axis, off, d[axis]);
            continue;
        }
        const rlx_prim **shape = rlx_onnx_array(c, n, sizeof *shape);
        if (!shape)
            return NULL;
        memcpy(shape, d, n * sizeof *shape);
        shape[axis] = pads->data[i];
        const rlx_expr *part =
            rlx_onnx_call(c, "full", "x x", rlx_shape_new(c->ctx, shape, n), value);
        const rlx_expr *both[2] = { i % 2 ? x : part, i % 2 ? part : x };
        x = rlx_onnx_concat(c, both, 2, (int64_t)axis);
    }
    return x;
}

/* x without what negative amounts cut off; they are 0 then. */
static const rlx_expr *cut_ends(rlx_onnx_conv *c, const rlx_expr *x, int64_t *amounts, size_t count)
{
    int64_t *cuts = rlx_onnx_array(c, count, sizeof *cuts);
    rlx_onnx_ints all;
    for (size_t i = 0; cuts && i < count; i++)
        if (amounts[i] < 0)
            cuts[i] = amounts[i], amounts[i] = 0;
    return cuts && literal_list(c, cuts, count, &all) ? rlx_onnx_pad_with(c, x, &all, NULL) : NULL;
}

RLX_ONNX_CONVERTER(convert_pad)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *value = NULL;
    int n = x ? rlx_onnx_rank(c, x) : -1;
    const char *mode = pad_mode(c);
    if (n < 0)
        return false;
    rlx_onnx_ints pads = read_pads(c, n);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    int64_t *v = rlx_onnx_array(c, pads.len, sizeof *v);
    bool literal = v && !c->failed;
    for (size_t i = 0; literal && i < pads.len; i++)
        literal = rlx_int_literal(pads.data[i], &v[i]);
    if (c->failed)
        return false;
    value = c->version < 11 ? rlx_onnx_scalar(c, t, rlx_onnx_float(c, "value", 0))
            : rlx_onnx_has(c, 2) ? rlx_onnx_input(c, 2)
                                 : rlx_onnx_scalar(c, t, 0);
    if (value && rlx_onnx_rank(c, value) > 0)
        value = rlx_onnx_reshape_ints(c, value, NULL, 0);
    size_t one;
    const double *number = value ? rlx_onnx_floats_of(c, value, &one) : NULL;
    bool exact = number && (rlx_dtype_is_float(t) || (*number < 1e15 && *number > -1e15));
    if (!strcmp(mode, "constant") && !(literal && exact) && signs_are_known(c, &pads))
        return rlx_onnx_output(c, 0, rlx_onnx_pad_with(c, x, &pads, value));
    if (!literal)
        return rlx_onnx_output(c, 0, pad_axes(c, x, &pads, mode, value));
    if (strcmp(mode, "constant")) /* what is cut off is not what goes around */
        x = cut_ends(c, x, v, pads.len);
    return rlx_onnx_output(
        c, 0, rlx_onnx_call(c, "nn.pad", "x pad_width=I pad_value=f pad_mode=s", x, v, pads.len,
                            number && !strcmp(mode, "constant") ? *number : 0.0, mode));
}

/* Middle parts, or zeros around. */
RLX_ONNX_CONVERTER(convert_center_crop_pad)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    size_t count;
    bool ok;
    rlx_onnx_ints want;
    const int64_t *axes = n < 0 ? NULL : rlx_onnx_axes(c, 99, n, &count, &ok);
    if (n < 0 || !rlx_onnx_sizes(c, 1, "shape", &want))
        return false;
    if (!ok || want.len != (axes ? count : (size_t)n))
        return rlx_onnx_fail(c, RLX_ON05, "shape and axes do not fit") != NULL;
    const rlx_expr *value = rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), 0);
    const rlx_prim *zero = rlx_int64(c->ctx, 0), *two = rlx_int64(c->ctx, 2);
    for (size_t i = 0; i < want.len && x; i++) {
        size_t axis = axes ? (size_t)axes[i] : i;
        const rlx_prim *have = rlx_onnx_dim(c, x, axis), *to = want.data[i];
        if (!have)
            return false;
        /* half of what is missing, less half of what is too much */
        const rlx_prim *less = rlx_fold_binary(c->ctx, RLX_NODE_MAX, rlx_fold_sub(c->ctx, to, have), zero);
        const rlx_prim *more = rlx_fold_binary(c->ctx, RLX_NODE_MAX, rlx_fold_sub(c->ctx, have, to), zero);
        const rlx_prim *begin = rlx_fold_sub(c->ctx, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, less, two),
                                             rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, more, two));
        if (have != to)
            x = pad_by_position(c, x, axis, rlx_onnx_simplify(c, begin), to, "constant", value);
    }
    return rlx_onnx_output(c, 0, x);
}

/* ---- blocks ------------------------------------------------------------------------------------ */

static const rlx_prim *scaled(rlx_onnx_conv *c, const rlx_prim *p, int64_t by, bool divide)
{
    enum rlx_node_kind k = divide ? RLX_NODE_FLOOR_DIV : RLX_NODE_MUL;
    return rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, k, p, rlx_int64(c->ctx, by)));
}

/* Sizes of operand 0, of rank 4, and the attributes of blocks. NULL after a report. */
static const rlx_prim *const *read_blocks(rlx_onnx_conv *c, const rlx_expr **x, int64_t *size, bool *by_columns)
{
    size_t n;
    *x = rlx_onnx_input(c, 0);
    const rlx_prim *const *d = *x ? rlx_onnx_dims(c, x, &n) : NULL;
    *size = rlx_onnx_int(c, "blocksize", 0);
    *by_columns = rlx_slice_is(rlx_onnx_string(c, "mode", "DCR"), "CRD");
    return d && n == 4 && *size >= 1 ? d
                                     : rlx_onnx_fail(c, RLX_ON05, "expected rank 4 and a blocksize above 0");
}

RLX_ONNX_CONVERTER(convert_depth_to_space)
{
    static const int64_t dcr[] = { 0, 3, 4, 1, 5, 2 }, crd[] = { 0, 1, 4, 2, 5, 3 };
    const rlx_expr *x;
    int64_t b;
    bool by_columns;
    const rlx_prim *const *d = read_blocks(c, &x, &b, &by_columns);
    if (!d)
        return false;
    const rlx_prim *k = rlx_int64(c->ctx, b), *depth = scaled(c, d[1], b * b, true);
    const rlx_prim *six[] = { d[0], by_columns ? depth : k, k, by_columns ? k : depth, d[2], d[3] };
    const rlx_prim *four[] = { d[0], depth, scaled(c, d[2], b, false), scaled(c, d[3], b, false) };
    x = rlx_onnx_transpose(c, rlx_onnx_reshape(c, x, six, 6), by_columns ? crd : dcr, 6);
    return rlx_onnx_output(c, 0, rlx_onnx_reshape(c, x, four, 4));
}

RLX_ONNX_CONVERTER(convert_space_to_depth)
{
    static const int64_t dcr[] = { 0, 3, 5, 1, 2, 4 }, crd[] = { 0, 1, 3, 5, 2, 4 };
    const rlx_expr *x;
    int64_t b;
    bool by_columns;
    const rlx_prim *const *d = read_blocks(c, &x, &b, &by_columns);
    if (!d)
        return false;
    const rlx_prim *k = rlx_int64(c->ctx, b), *h = scaled(c, d[2], b, true),
                   *w = scaled(c, d[3], b, true);
    const rlx_prim *six[] = { d[0], d[1], h, k, w, k };
    const rlx_prim *four[] = { d[0], scaled(c, d[1], b * b, false), h, w };
    x = rlx_onnx_transpose(c, rlx_onnx_reshape(c, x, six, 6), by_columns ? crd : dcr, 6);
    return rlx_onnx_output(c, 0, rlx_onnx_reshape(c, x, four, 4));
}

/* ---- numbers in order, diagonals --------------------------------------------------------------- */

static bool range_of_sizes(rlx_onnx_conv *c)
{
    rlx_onnx_ints v[3];
    for (size_t i = 0; i < 3; i++)
        if (!rlx_onnx_known(c, i, &v[i]) || v[i].len != 1)
            return false;
    int64_t step;
    if (!rlx_int_literal(v[2].data[0], &step) || step < 1)
        return false;
    const rlx_expr *a[3];
    for (size_t i = 0; i < 3; i++)
        a[i] = rlx_prim_value_new(c->ctx, v[i].data[0]);
    /* the end is not below the start, so that the number of elements is a size */
    const rlx_scope *s = rlx_builder_scope(c->m->b);
    if (rlx_prove_compare(c->ctx, s, RLX_NODE_LE, v[0].data[0], v[1].data[0]) != RLX_TRUE)
        a[1] = rlx_prim_value_new(
            c->ctx, rlx_fold_binary(c->ctx, RLX_NODE_MAX, v[0].data[0], v[1].data[0]));
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "arange", "x x x dtype=d", a[0], a[1], a[2],
                                               v[0].dtype));
}

static const rlx_expr *scalar_operand(rlx_onnx_conv *c, size_t i)
{
    const rlx_expr *e = rlx_onnx_input(c, i);
    return e && rlx_onnx_rank(c, e) > 0 ? rlx_onnx_reshape_ints(c, e, NULL, 0) : e;
}

/* start + i * delta; narrow floats are computed in float32 */
static const rlx_expr *numbers_in_order(rlx_onnx_conv *c, const rlx_prim *count, const rlx_expr *start,
                                        const rlx_expr *delta, rlx_dtype t)
{
    rlx_dtype wide = rlx_dtype_is_float(t) && rlx_dtype_bits(t) < 32 ? RELAX_FLOAT32 : t;
    const rlx_expr *y = rlx_onnx_cast(c, rlx_onnx_arange(c, count, RELAX_INT64), wide);
    y = rlx_onnx_call2(c, "multiply", y, rlx_onnx_cast(c, delta, wide));
    y = rlx_onnx_call2(c, "add", y, rlx_onnx_cast(c, start, wide));
    return rlx_onnx_cast(c, y, t);
}

/* How many elements there are is found when the program runs. */
static bool range_of_tensors(rlx_onnx_conv *c)
{
    const rlx_expr *v[3], *n;
    static const int64_t one = 1;
    for (size_t i = 0; i < 3; i++)
        if (!(v[i] = scalar_operand(c, i)))
            return false;
    rlx_dtype t = rlx_onnx_dtype_of(c, v[0]);
    bool is_float = rlx_dtype_is_float(t);
    rlx_dtype wide = is_float ? RELAX_FLOAT64 : RELAX_INT64;
    for (size_t i = 0; i < 3; i++) {
        c->m->needed |= c->inputs[i]->depends;
        v[i] = rlx_onnx_cast(c, v[i], wide);
    }
    if (is_float) {
        n = rlx_onnx_call2(c, "divide", rlx_onnx_call2(c, "subtract", v[1], v[0]), v[2]);
        n = rlx_onnx_cast(c, rlx_onnx_call1(c, "ceil", n), RELAX_INT64);
    } else {
        n = rlx_onnx_call2(c, "floor_divide", rlx_onnx_call2(c, "subtract", v[0], v[1]), v[2]);
        n = rlx_onnx_call1(c, "negative", n);
    }
    n = rlx_onnx_call2(c, "maximum", n, rlx_onnx_scalar(c, RELAX_INT64, 0));
    const rlx_expr *shape =
        rlx_onnx_call1(c, "tensor_to_shape", rlx_onnx_reshape_ints(c, n, &one, 1));
    const rlx_prim *count = rlx_onnx_fresh(c, "n");
    if (!count || !rlx_onnx_match(c, shape, rlx_shape_info(c->ctx, &count, 1)))
        return false;
    return rlx_onnx_output(c, 0, numbers_in_order(c, count, v[0], v[2], t));
}

RLX_ONNX_CONVERTER(convert_range)
{
    if (range_of_sizes(c))
        return true;
    const double *v[3];
    size_t n;
    rlx_dtype t = RELAX_FLOAT32;
    for (size_t i = 0; i < 3; i++) {
        const rlx_expr *e = rlx_onnx_input(c, i);
        if (!e)
            return false;
        t = i ? t : rlx_onnx_dtype_of(c, e);
        v[i] = rlx_onnx_floats_of(c, e, &n);
        if ((!v[i] || n != 1) && c->m->bind_first)
            return rlx_onnx_needs(c, i, "start, limit and delta") != NULL;
        if (!v[i] || n != 1)
            return range_of_tensors(c);
    }
    double count = *v[2] != 0 ? (*v[1] - *v[0]) / *v[2] : -1;
    int64_t k = count > 0 ? (int64_t)count + (count > (double)(int64_t)count) : 0;
    if (*v[2] == 0 || !(count < 1e12))
        return rlx_onnx_fail(c, RLX_ON05, "delta is 0, or there are too many elements") != NULL;
    const rlx_expr *delta = rlx_onnx_input(c, 2);
    return rlx_onnx_output(c, 0, numbers_in_order(c, rlx_int64(c->ctx, k), rlx_onnx_input(c, 0), delta, t));
}

RLX_ONNX_CONVERTER(convert_trilu)
{
    int64_t k = 0;
    const char *op = rlx_onnx_int(c, "upper", 1) ? "triu" : "tril";
    if (rlx_onnx_has(c, 1) && !rlx_onnx_literal(c, 1, "k", &k))
        return false;
    k = k > INT32_MAX ? INT32_MAX : k < INT32_MIN ? INT32_MIN : k;
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, op, "x x", rlx_onnx_input(c, 0),
                                               rlx_onnx_prim(c, k)));
}

RLX_ONNX_CONVERTER(convert_eye_like)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    if (rlx_onnx_attr(c, "dtype") && !rlx_onnx_dtype(rlx_onnx_int(c, "dtype", 1), &t))
        return rlx_onnx_fail(c, RLX_ON06, "elements of that type are not supported") != NULL;
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "eye_like", "x x dtype=d", x,
                                               rlx_onnx_prim(c, rlx_onnx_int(c, "k", 0)), t));
}

/* An operand of floats as a size that is found when the program runs. */
static const rlx_prim *size_of_float(rlx_onnx_conv *c, size_t i)
{
    static const int64_t one = 1;
    const rlx_expr *e = rlx_onnx_cast(c, rlx_onnx_input(c, i), RELAX_INT64);
    const rlx_prim *size = e && !c->m->bind_first ? rlx_onnx_fresh(c, "n") : NULL;
    if (!size)
        return rlx_onnx_needs(c, i, "the size");
    c->m->needed |= c->inputs[i]->depends;
    e = rlx_onnx_call1(c, "tensor_to_shape", rlx_onnx_reshape_ints(c, e, &one, 1));
    return rlx_onnx_match(c, e, rlx_shape_info(c->ctx, &size, 1)) ? size : NULL;
}

RLX_ONNX_CONVERTER(convert_one_hot)
{
    const rlx_expr *at = rlx_onnx_input(c, 0), *values = rlx_onnx_input(c, 2);
    rlx_onnx_ints depth;
    int n = at ? rlx_onnx_rank(c, at) : -1;
    int64_t axis = rlx_onnx_int(c, "axis", -1), behind[64];
    size_t known;
    if (n < 0 || !values || !rlx_onnx_axis(c, &axis, n + 1))
        return false;
    const double *d = rlx_onnx_floats_of(c, rlx_onnx_input(c, 1), &known);
    const rlx_prim *size = d && known == 1 ? rlx_int64(c->ctx, (int64_t)*d) : NULL;
    if (!size && rlx_dtype_is_float(rlx_onnx_dtype_of(c, rlx_onnx_input(c, 1))))
        size = size_of_float(c, 1);
    else if (!size && rlx_onnx_sizes(c, 1, "depth", &depth) && depth.len == 1)
        size = depth.data[0];
    if (!size)
        return false;
    const rlx_prim *zero = rlx_int64(c->ctx, 0), *one = rlx_int64(c->ctx, 1);
    rlx_dtype t = RELAX_INT64;
    at = rlx_onnx_cast(c, at, t);
    const rlx_expr *list = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &size, 1));
    const rlx_expr *below = rlx_onnx_call2(c, "less", at, rlx_onnx_scalar(c, t, 0));
    at = rlx_onnx_where(c, below, rlx_onnx_call2(c, "add", at, rlx_onnx_reshape_ints(c, list, NULL, 0)),
                        at);
    at = rlx_onnx_expand_dims(c, at, &axis, 1);
    for (int64_t i = 0; i < n - axis && i < 64; i++)
        behind[i] = i + 1;
    const rlx_expr *places =
        rlx_onnx_expand_dims(c, rlx_onnx_arange(c, size, t), behind, (size_t)(n - axis));
    const rlx_expr *hit = rlx_onnx_call2(c, "equal", at, places);
    const rlx_expr *off = rlx_onnx_slice(c, values, 0, zero, one);
    const rlx_expr *on = rlx_onnx_slice(c, values, 0, one, rlx_int64(c->ctx, 2));
    off = rlx_onnx_reshape_ints(c, off, NULL, 0);
    return rlx_onnx_output(c, 0, rlx_onnx_where(c, hit, rlx_onnx_reshape_ints(c, on, NULL, 0), off));
}

/* ---- what values decide ------------------------------------------------------------------------ */

/* Positions of elements that are not 0: a row for each axis, whose number says what rank gathers by them have, and as many
 * columns as are found when it runs. */
static const rlx_expr *positions(rlx_onnx_conv *c, const rlx_expr *x)
{
    const rlx_expr *at = rlx_onnx_call1(c, "nonzero", x), *shape = NULL;
    if (at) {
        const rlx_prim *dims[2];
        dims[0] = rlx_onnx_has_rank(c, x) ? rlx_int64(c->ctx, rlx_onnx_rank(c, x)) : rlx_onnx_fresh(c, "d");
        dims[1] = rlx_onnx_fresh(c, "d");
        shape = dims[0] && dims[1] ? rlx_shape_new(c->ctx, dims, 2) : NULL;
    }
    return shape ? rlx_onnx_match(c, at, rlx_tensor_info(c->ctx, shape, RELAX_INT64, 2, NULL)) : NULL;
}

RLX_ONNX_CONVERTER(convert_nonzero)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int64_t one = 1;
    if (x && rlx_onnx_rank(c, x) == 0)
        x = rlx_onnx_reshape_ints(c, x, &one, 1);
    return rlx_onnx_output(c, 0, positions(c, x));
}

RLX_ONNX_CONVERTER(convert_compress)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *cond = rlx_onnx_input(c, 1);
    int64_t axis = rlx_onnx_int(c, "axis", 0);
    if (!x || !cond)
        return false;
    if (!rlx_onnx_attr(c, "axis"))
        x = rlx_onnx_call1(c, "flatten", x);
    if (!x || !rlx_onnx_axis(c, &axis, rlx_onnx_rank(c, x)))
        return false;
    const int64_t row = 0;
    const rlx_expr *at = rlx_onnx_call(c, "squeeze", "x axis=I", positions(c, cond), &row, (size_t)1);
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "take", "x x axis=i", x, at, axis));
}

RLX_ONNX_CONVERTER(convert_reverse_sequence)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *len = rlx_onnx_input(c, 1);
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    int64_t time = rlx_onnx_int(c, "time_axis", 0), batch = rlx_onnx_int(c, "batch_axis", 1);
    if (!d || !len || n < 2 || n > 62 || !rlx_onnx_axis(c, &time, (int)n) ||
        !rlx_onnx_axis(c, &batch, (int)n))
        return false;
    int64_t axes[64];
    size_t count = 0;
    for (int64_t i = time + 1; i < (int64_t)n; i++)
        axes[count] = (int64_t)count + 1, count++;
    const rlx_expr *t = rlx_onnx_expand_dims(c, rlx_onnx_arange(c, d[time], RELAX_INT64), axes, count);
    for (count = 0; batch + 1 + (int64_t)count < (int64_t)n; count++)
        axes[count] = (int64_t)count + 1;
    const rlx_expr *l = rlx_onnx_expand_dims(c, rlx_onnx_cast(c, len, RELAX_INT64), axes, count);
    const rlx_expr *back = rlx_onnx_call2(c, "subtract", l, t);
    back = rlx_onnx_call2(c, "subtract", back, rlx_onnx_scalar(c, RELAX_INT64, 1));
    const rlx_expr *at = rlx_onnx_where(c, rlx_onnx_call2(c, "less", t, l), back, t);
    at = rlx_onnx_call(c, "broadcast_to", "x x", at, rlx_shape_new(c->ctx, d, n));
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "gather_elements", "x x axis=i", x, at, time));
}
