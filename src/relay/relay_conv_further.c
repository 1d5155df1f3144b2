/* relay_conv_further.c: what few models have: gradients of pooling, blocks in the batch, masks, sets, dynamic forms. */
#include "relay/relay_convert.h"

#define CONVERTER(name) const rlx_expr *rlx_relay_convert_##name(rlx_relay_conv *c)

/* ---- windows and blocks ------------------------------------------------------------------------------------ */

CONVERTER(pool_grad)
{
    size_t n[4];
    static const char *const names[] = { "pool_size", "strides", "dilation", "padding" };
    int64_t *list[4];
    for (size_t i = 0; i < 4; i++)
        list[i] = rlx_relay_attr_ints(c, names[i], &n[i]);
    return rlx_relay_make(c, c->row->argument, "x x pool_size=I strides=I dilation=I padding=I ceil_mode=b "
                          "count_include_pad=b layout=s out_layout=s", rlx_relay_arg(c, 0), rlx_relay_arg(c, 1), list[0],
                          n[0], list[1], n[1], list[2], n[2], list[3], n[3], (int)rlx_relay_attr_bool(c, "ceil_mode"),
                          (int)rlx_relay_attr_bool(c, "count_include_pad"), rlx_relay_attr_text(c, "layout"),
                          rlx_relay_attr_text(c, "out_layout"));
}

/* x[begin:end] along one axis, counted as Python does */
static const rlx_expr *cut(rlx_relay_conv *c, const rlx_expr *x, int64_t axis, int64_t begin, int64_t end)
{
    const rlx_expr *a = rlx_relay_prim(c, axis), *b = rlx_relay_prim(c, begin), *e = rlx_relay_prim(c, end);
    return rlx_relay_call(c, "strided_slice", "x X X X", x, &a, (size_t)1, &b, (size_t)1, &e, (size_t)1);
}

/* Along each axis (.., n, ..) becomes (.., n, 1, ..), padded to (.., n, stride, ..), then (.., n * stride, ..), of which
 * the last stride - 1 elements go. */
CONVERTER(dilate)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    size_t n, rank;
    int64_t *strides = rlx_relay_attr_ints(c, "strides", &n);
    double value = rlx_relay_attr_float(c, "dilation_value");
    const rlx_prim *const *known = rlx_relay_sizes(c, &x, &rank), *sizes[64];
    if (!known || !strides || n != rank || rank > 31)
        return NULL;
    memcpy(sizes, known, n * sizeof *sizes);
    for (size_t i = 0; x && i < n; i++) {
        int64_t axis = (int64_t)i + 1, width[64] = { 0 };
        if (strides[i] == 1)
            continue;
        width[2 * axis + 1] = strides[i] - 1;
        x = rlx_relay_call(c, "nn.pad", "x pad_width=I pad_value=f", rlx_relay_expand(c, x, &axis, 1), width,
                           2 * (n + 1), value);
        sizes[i] = rlx_relay_simplify(c, rlx_fold_mul(c->ctx, sizes[i], rlx_int64(c->ctx, strides[i])));
        x = cut(c, rlx_relay_reshape(c, x, sizes, n), (int64_t)i, 0, 1 - strides[i]);
        const rlx_expr *of = x;
        sizes[i] = x ? rlx_relay_size(c, &of, i) : NULL;
    }
    return x;
}

typedef struct blocks { int64_t *block, *pairs; size_t n; } blocks;

static bool read_blocks(rlx_relay_conv *c, const char *pairs, size_t rank, blocks *b)
{
    size_t m;
    b->block = rlx_relay_attr_ints(c, "block_shape", &b->n);
    b->pairs = rlx_relay_attr_ints(c, pairs, &m);
    return b->block && b->pairs && m == 2 * b->n && b->n < rank && rank <= 20;
}

static const rlx_prim *divided(rlx_relay_conv *c, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_relay_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, a, b));
}

/* (N, H, W, ..), padded, as (N, H / b, b, W / b, b, ..) in the order (b, b, N, H / b, W / b, ..) */
CONVERTER(space_to_batch)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    blocks b;
    int rank = rlx_relay_rank(c, x);
    int64_t width[64] = { 0 }, order[64];
    if (rank < 0 || !read_blocks(c, "paddings", (size_t)rank, &b))
        return NULL;
    memcpy(width + 2, b.pairs, 2 * b.n * sizeof *width);
    x = rlx_relay_call(c, "nn.pad", "x pad_width=I pad_value=f", x, width, 2 * (size_t)rank,
                       rlx_relay_attr_float(c, "pad_value"));
    size_t n, m = 0, k = 0;
    const rlx_prim *const *s = rlx_relay_sizes(c, &x, &n), *cut_sizes[64], *out[64];
    if (!s)
        return NULL;
    cut_sizes[m++] = s[0];
    out[0] = s[0];
    for (size_t i = 0; i < b.n; i++) {
        const rlx_prim *size = rlx_int64(c->ctx, b.block[i]);
        order[k++] = 2 + 2 * (int64_t)i;
        cut_sizes[m++] = out[1 + i] = divided(c, s[1 + i], size);
        cut_sizes[m++] = size;
        out[0] = rlx_relay_simplify(c, rlx_fold_mul(c->ctx, out[0], size));
    }
    order[k++] = 0;
    for (size_t i = 0; i < b.n; i++)
        order[k++] = 1 + 2 * (int64_t)i;
    for (size_t i = 1 + b.n; i < n; i++) {
        order[k++] = (int64_t)m;
        cut_sizes[m++] = out[i] = s[i];
    }
    x = rlx_relay_transpose(c, rlx_relay_reshape(c, x, cut_sizes, m), order, m);
    return rlx_relay_reshape(c, x, out, n);
}

/* The inverse: (b, b, N, H, W, ..) in the order (N, H, b, W, b, ..), then the crops. */
CONVERTER(batch_to_space)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    blocks b;
    size_t n, m = 0, k = 0;
    int64_t order[64];
    const rlx_prim *const *s = rlx_relay_sizes(c, &x, &n), *cut_sizes[64], *out[64];
    if (!s || !read_blocks(c, "crops", n, &b))
        return NULL;
    out[0] = s[0];
    for (size_t i = 0; i < b.n; i++) {
        cut_sizes[m++] = rlx_int64(c->ctx, b.block[i]);
        out[0] = divided(c, out[0], cut_sizes[i]);
    }
    cut_sizes[m++] = out[0];
    order[k++] = (int64_t)b.n;
    for (size_t i = 1; i < n; i++) {
        order[k++] = (int64_t)m;
        cut_sizes[m++] = out[i] = s[i];
        if (i <= b.n) {
            order[k++] = (int64_t)i - 1;
            out[i] = rlx_relay_simplify(c, rlx_fold_mul(c->ctx, s[i], cut_sizes[i - 1]));
        }
    }
    x = rlx_relay_reshape(c, rlx_relay_transpose(c, rlx_relay_reshape(c, x, cut_sizes, m), order, m), out, n);
    for (size_t i = 0; x && i < b.n; i++)
        if (b.pairs[2 * i] || b.pairs[2 * i + 1])
            x = cut(c, x, (int64_t)i + 1, b.pairs[2 * i], b.pairs[2 * i + 1] ? -b.pairs[2 * i + 1] : INT64_MAX);
    return x;
}

/* ---- elements by position ------------------------------------------------------------------------------------- */

CONVERTER(sequence_mask)
{
    const rlx_expr *x = rlx_relay_arg(c, 0), *lengths = rlx_relay_arg(c, 1);
    int64_t axis = rlx_relay_attr_int(c, "axis");
    int n = rlx_relay_rank(c, x);
    if (n < 2)
        return NULL;
    const rlx_expr *place = rlx_relay_count_to(c, rlx_relay_size(c, &x, (size_t)axis), RELAX_INT64);
    lengths = rlx_relay_along(c, rlx_relay_astype(c, lengths, RELAX_INT64), 1 - axis, n);
    const rlx_expr *valid = rlx_relay_call2(c, "less", rlx_relay_along(c, place, axis, n), lengths);
    const rlx_expr *mask = rlx_relay_const_scalar(c, rlx_relay_dtype_of(c, x), rlx_relay_attr_float(c, "mask_value"));
    return rlx_relay_make(c, "where", "x x x", valid, x, mask);
}

/* Relax sorts. In the order of first occurrences: sorted by those, and the places that point there renumbered. */
CONVERTER(unique)
{
    const rlx_expr *yes = rlx_prim_value_new(c->ctx, rlx_int(c->ctx, RELAX_BOOL, 1)), *part[5];
    bool counts = rlx_relay_attr_bool(c, "return_counts");
    const rlx_expr *all = rlx_relay_call(c, "unique", "x x x x x", rlx_relay_arg(c, 0), yes, yes, yes, yes);
    for (int64_t i = 0; i < 4; i++)
        part[i] = rlx_relay_get(c, all, i);
    if (!rlx_relay_attr_bool(c, "sorted")) {
        const rlx_expr *order = rlx_relay_call(c, "argsort", "x dtype=d", part[1], RELAX_INT64);
        const rlx_expr *place = rlx_relay_call(c, "argsort", "x dtype=d", order, RELAX_INT64);
        part[0] = rlx_relay_call(c, "take", "x x axis=i", part[0], order, (int64_t)0);
        part[1] = rlx_relay_call(c, "take", "x x axis=i", part[1], order, (int64_t)0);
        part[2] = rlx_relay_call(c, "take", "x x axis=i", place, part[2], (int64_t)0);
        part[3] = rlx_relay_call(c, "take", "x x axis=i", part[3], order, (int64_t)0);
    }
    part[4] = part[3];
    part[3] = rlx_relay_expand(c, rlx_relay_call1(c, "size", part[0]), (const int64_t[]){ 0 }, 1);
    for (size_t i = 1; i < 5; i++)
        part[i] = rlx_relay_astype(c, part[i], RELAX_INT32);
    return c->failed ? NULL : rlx_tuple_new(c->ctx, part, counts ? 5 : 4, c->place);
}

CONVERTER(searchsorted)
{
    const rlx_expr *sorted = rlx_relay_arg(c, 0);
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    int n = rlx_relay_rank(c, sorted);
    if (n != 1)
        return n < 0 ? NULL : rlx_relay_cannot(c, "the sorted sequence has rank %d, expected 1", n);
    const rlx_expr *y = rlx_relay_call(c, "bucketize", "x x out_int32=b right=b", rlx_relay_arg(c, 1), sorted,
                                       t == RELAX_INT32, (int)rlx_relay_attr_bool(c, "right"));
    return y ? rlx_relay_astype(c, y, t) : NULL;
}

CONVERTER(embedding)
{
    return rlx_relay_make(c, "take", "x x axis=i", rlx_relay_arg(c, 0), rlx_relay_arg(c, 1), (int64_t)0);
}

CONVERTER(invert_permutation)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    return rlx_relay_make(c, "argsort", "x dtype=d", x, rlx_relay_dtype_of(c, x));
}

/* ---- dynamic forms ----------------------------------------------------------------------------------------------- */

/* x as (1, a, 1, b ..), broadcast to (r, a, s, b ..), then (r * a, s * b ..). */
CONVERTER(dyn_tile)
{
    const rlx_expr *x = rlx_relay_arg(c, 0), *shape = rlx_relay_shape_argument(c, 1, NULL);
    const rlx_shape_expr *reps = rlx_as_shape_expr(shape);
    size_t n;
    const rlx_prim *const *s = reps ? rlx_relay_sizes(c, &x, &n) : NULL, *thin[64], *wide[64], *out[32];
    if (!s)
        return NULL;
    size_t m = reps->num_values, rank = n > m ? n : m;
    if (rank > RLX_COUNT(out))
        return rlx_relay_cannot(c, "the result has rank %zu", rank);
    const rlx_prim *one = rlx_int64(c->ctx, 1);
    for (size_t i = 0; i < rank; i++) {
        thin[2 * i] = one;
        wide[2 * i] = i + m < rank ? one : reps->values[i + m - rank];
        thin[2 * i + 1] = wide[2 * i + 1] = i + n < rank ? one : s[i + n - rank];
        out[i] = rlx_relay_product_of(c, &wide[2 * i], 2);
    }
    x = rlx_relay_reshape(c, x, thin, 2 * rank);
    return rlx_relay_reshape(c, rlx_relay_call(c, "broadcast_to", "x x", x, rlx_shape_new(c->ctx, wide, 2 * rank)), out,
                             rank);
}

/* A number in an argument, as a size. */
static const rlx_prim *number_argument(rlx_relay_conv *c, size_t i)
{
    size_t n;
    const rlx_expr *e = rlx_relay_arg(c, i);
    const double *v = rlx_relay_known_floats(c, e, &n);
    if (v && n == 1)
        return rlx_int64(c->ctx, rlx_relay_whole(v[0]));
    const rlx_prim *one = rlx_int64(c->ctx, 1);
    e = rlx_relay_reshape(c, rlx_relay_astype(c, e, RELAX_INT64), &one, 1);
    const rlx_shape_expr *s = rlx_as_shape_expr(rlx_relay_shape_of_tensor(c, e, 1));
    return s ? s->values[0] : NULL;
}

/* All in order, of which the first k are taken. */
CONVERTER(dyn_topk)
{
    const char *ret = rlx_relay_attr_text(c, "ret_type");
    const rlx_expr *x = rlx_relay_arg(c, 0), *part[2];
    int64_t axis = rlx_relay_attr_int(c, "axis");
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    const rlx_prim *k = number_argument(c, 1);
    if (!k || !rlx_relay_fit_axis(c, &axis, rlx_relay_rank(c, x)))
        return NULL;
    const rlx_expr *all = rlx_relay_call(c, "topk", "x k=i axis=i ret_type=s largest=b dtype=d", x, (int64_t)0, axis,
                                         "both", (int)!rlx_relay_attr_bool(c, "is_ascend"),
                                         t == RELAX_VOID ? RELAX_INT32 : t);
    for (int64_t i = 0; i < 2; i++) {
        const rlx_expr *a = rlx_relay_prim(c, axis), *zero = rlx_relay_prim(c, 0), *end = rlx_prim_value_new(c->ctx, k);
        part[i] = rlx_relay_call(c, "strided_slice", "x X X X", rlx_relay_get(c, all, i), &a, (size_t)1, &zero,
                                 (size_t)1, &end, (size_t)1);
    }
    if (c->failed)
        return NULL;
    return strcmp(ret, "both") == 0 ? rlx_tuple_new(c->ctx, part, 2, c->place) : part[strcmp(ret, "indices") == 0];
}

CONVERTER(dyn_one_hot)
{
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    const rlx_prim *depth = number_argument(c, 3);
    return depth ? rlx_relay_one_hot_where(c, depth, t == RELAX_VOID ? RELAX_FLOAT32 : t) : NULL;
}
