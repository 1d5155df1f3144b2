/*- convert_attention.c: attention and what stands around it.
 *
 *     scores = (Q s) (K s)^T       s: the square root of the scale
 *     capped, masked, softmax over keys, times V
 *
 * Q has rank 3, (batch, length, heads * size), or 4, (batch, heads, length, size); keys and values may have
 * fewer heads, which are then repeated. */
#include "onnx/onnx_int.h"

#include <math.h>

typedef struct attention {
    const rlx_expr *q, *k, *v, *mask;
    const rlx_prim *batch, *queries, *keys, *past;
    int64_t q_heads, kv_heads;
    bool flat;                      /* operands of rank 3 */
    rlx_dtype dtype;
} attention;

/* (batch, length, heads * size) to (batch, heads, length, size) */
const rlx_expr *rlx_onnx_split_heads(rlx_onnx_conv *c, const rlx_expr *x, int64_t heads)
{
    static const int64_t perm[] = { 0, 2, 1, 3 };
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!d || n != 3 || heads < 1)
        return rlx_onnx_fail(c, RLX_ON05, "an operand of rank 3 and a number of heads are expected");
    const rlx_prim *h = rlx_int64(c->ctx, heads);
    const rlx_prim *four[] = {
        d[0], d[1], h,
        rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, d[2], h))
    };
    return rlx_onnx_transpose(c, rlx_onnx_reshape(c, x, four, 4), perm, 4);
}

const rlx_expr *rlx_onnx_join_heads(rlx_onnx_conv *c, const rlx_expr *x)
{
    static const int64_t perm[] = { 0, 2, 1, 3 };
    x = rlx_onnx_transpose(c, x, perm, 4);
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!d || n != 4)
        return NULL;
    const rlx_prim *three[] = { d[0], d[1], rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, d[2], d[3])) };
    return rlx_onnx_reshape(c, x, three, 3);
}

/* Each head of keys and values for as many heads of queries as there are; their numbers may be symbolic. */
static const rlx_expr *repeat_heads(rlx_onnx_conv *c, const rlx_expr *x, const attention *a)
{
    static const int64_t behind = 2;
    int64_t times = a->kv_heads > 0 ? a->q_heads / a->kv_heads : 0;
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    const rlx_prim *heads = a->q ? rlx_onnx_dim(c, a->q, 1) : NULL;
    if (!d || !heads || n != 4)
        return NULL;
    if (times == 1 || heads == d[1])
        return x;
    if (times)
        return rlx_onnx_call(c, "repeat", "x repeats=i axis=i", x, times, (int64_t)1);
    const rlx_prim *t =
        rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, heads, d[1]));
    const rlx_prim *five[] = { d[0], d[1], t, d[2], d[3] }, *four[] = { d[0], heads, d[2], d[3] };
    x = rlx_onnx_call(c, "broadcast_to", "x x", rlx_onnx_expand_dims(c, x, &behind, 1),
                      rlx_shape_new(c->ctx, five, 5));
    return rlx_onnx_reshape(c, x, four, 4);
}

/* Positions along one of the last two axes of the scores, as int64. */
static const rlx_expr *positions(rlx_onnx_conv *c, const rlx_prim *count, bool rows)
{
    static const int64_t behind = 1;
    const rlx_expr *p = rlx_onnx_arange(c, count, RELAX_INT64);
    return rows ? rlx_onnx_expand_dims(c, p, &behind, 1) : p;
}

static const rlx_expr *both(rlx_onnx_conv *c, const rlx_expr *a, const rlx_expr *b)
{
    return !a ? b : !b ? a : rlx_onnx_call2(c, "logical_and", a, b);
}

static const rlx_expr *size_tensor(rlx_onnx_conv *c, const rlx_prim *p)
{
    const rlx_expr *t = p ? rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &p, 1)) : NULL;
    return rlx_onnx_reshape_ints(c, t, NULL, 0);
}

/* Which keys a query may see by its position: true where it may. NULL: all, or failed. */
static const rlx_expr *visible(rlx_onnx_conv *c, const attention *a)
{
    static const int64_t axes[] = { 1, 2, 3 };
    bool causal = rlx_onnx_int(c, "is_causal", 0) != 0;
    int64_t left = rlx_onnx_int(c, "left_window_size", -1),
            right = rlx_onnx_int(c, "right_window_size", -1);
    const rlx_expr *lengths = rlx_onnx_has(c, 6) ? rlx_onnx_input(c, 6) : NULL, *seen = NULL;
    if (!causal && left < 0 && right < 0 && !lengths)
        return NULL;
    const rlx_expr *key = positions(c, a->keys, false), *query = positions(c, a->queries, true);
    if (lengths) { /* (batch, 1, 1, 1) */
        lengths = rlx_onnx_expand_dims(c, rlx_onnx_cast(c, lengths, RELAX_INT64), axes, 3);
        seen = rlx_onnx_call2(c, "less", key, lengths);
    }
    const rlx_expr *offset =
        lengths ? rlx_onnx_call2(c, "subtract", lengths, size_tensor(c, a->queries))
                : a->past ? size_tensor(c, a->past) : NULL;
    if (offset)
        query = rlx_onnx_call2(c, "add", query, offset);
    if (causal)
        seen = both(c, seen, rlx_onnx_call2(c, "less_equal", key, query));
    if (left >= 0)
        seen = both(c, seen, rlx_onnx_call2(c, "greater_equal", key,
                                            rlx_onnx_with(c, "subtract", query, (double)left)));
    if (right >= 0)
        seen = both(c, seen, rlx_onnx_call2(c, "less_equal", key,
                                            rlx_onnx_with(c, "add", query, (double)right)));
    return seen;
}

/* A mask whose last axis is short lets nothing through behind it. */
static const rlx_expr *lengthened(rlx_onnx_conv *c, const rlx_expr *mask, const attention *a,
                                  bool is_bool)
{
    int n = rlx_onnx_rank(c, mask);
    const rlx_prim *have = n > 0 ? rlx_onnx_dim(c, mask, (size_t)n - 1) : NULL;
    const rlx_scope *s = rlx_builder_scope(c->m->b);
    if (!have || rlx_prove_compare(c->ctx, s, RLX_NODE_GE, have, a->keys) == RLX_TRUE ||
        rlx_is_int_value(have, 1))
        return mask;
    size_t m;
    const rlx_prim *const *d = rlx_onnx_dims(c, &mask, &m);
    const rlx_prim **shape = rlx_onnx_array(c, m, sizeof *shape);
    if (!d || !shape)
        return NULL;
    memcpy(shape, d, m * sizeof *shape);
    shape[m - 1] = rlx_onnx_simplify(
        c, rlx_fold_binary(c->ctx, RLX_NODE_MAX, rlx_int64(c->ctx, 0),
                           rlx_fold_sub(c->ctx, a->keys, have)));
    const rlx_expr *parts[2] = {
        mask, rlx_onnx_full(c, shape, m, rlx_onnx_dtype_of(c, mask), is_bool ? 0 : -INFINITY)
    };
    return rlx_onnx_concat(c, parts, 2, (int64_t)m - 1);
}

static const rlx_expr *masked(rlx_onnx_conv *c, const attention *a, const rlx_expr *scores)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, scores);
    const rlx_expr *never = rlx_onnx_scalar(c, t, -INFINITY), *seen = visible(c, a);
    if (a->mask) {
        bool is_bool = rlx_onnx_dtype_of(c, a->mask) == RELAX_BOOL;
        const rlx_expr *m = lengthened(c, a->mask, a, is_bool);
        if (is_bool)
            seen = both(c, seen, m);
        else
            scores = rlx_onnx_call2(c, "add", scores, rlx_onnx_cast(c, m, t));
    }
    return seen ? rlx_onnx_where(c, seen, scores, never) : scores;
}

/* Rows without any key are zeros. */
static const rlx_expr *weights_of(rlx_onnx_conv *c, const rlx_expr *scores, bool maybe_empty)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, scores), wide = t;
    static const int64_t last = 3;
    int64_t precision = rlx_onnx_int(c, "softmax_precision", 0);
    if (precision && !rlx_onnx_dtype(precision, &wide))
        return rlx_onnx_fail(c, RLX_ON06, "that softmax_precision is not supported");
    const rlx_expr *y = rlx_onnx_call(c, "nn.softmax", "x axis=i",
                                      rlx_onnx_cast(c, scores, wide), (int64_t)-1);
    y = rlx_onnx_cast(c, y, t);
    if (!maybe_empty)
        return y;
    const rlx_expr *top = rlx_onnx_reduce(c, "max", scores, &last, 1, true);
    return rlx_onnx_where(c, rlx_onnx_with(c, "equal", top, -INFINITY), rlx_onnx_scalar(c, t, 0), y);
}

/* Keys and values of before in front. */
static const rlx_expr *behind_past(rlx_onnx_conv *c, attention *a, size_t i, const rlx_expr *x)
{
    if (!rlx_onnx_has(c, i))
        return x;
    const rlx_expr *parts[2] = { rlx_onnx_input(c, i), x };
    a->past = parts[0] ? rlx_onnx_dim(c, parts[0], 2) : NULL;
    return rlx_onnx_concat(c, parts, 2, 2);
}

static bool read_attention(rlx_onnx_conv *c, attention *a)
{
    a->q = rlx_onnx_input(c, 0);
    a->k = rlx_onnx_input(c, 1);
    a->v = rlx_onnx_input(c, 2);
    int n = a->q ? rlx_onnx_rank(c, a->q) : -1;
    if (!a->k || !a->v || (n != 3 && n != 4))
        return !c->failed && rlx_onnx_fail(c, RLX_ON05, "Q has rank %d, expected 3 or 4", n) != NULL;
    a->flat = n == 3;
    a->dtype = rlx_onnx_dtype_of(c, a->q);
    a->q_heads = rlx_onnx_int(c, "q_num_heads", 0);
    a->kv_heads = rlx_onnx_int(c, "kv_num_heads", 0);
    if (a->flat) {
        a->q = rlx_onnx_split_heads(c, a->q, a->q_heads);
        a->k = rlx_onnx_split_heads(c, a->k, a->kv_heads);
        a->v = rlx_onnx_split_heads(c, a->v, a->kv_heads);
    } else if (!rlx_onnx_static_dim(c, a->q, 1, &a->q_heads) ||
               !rlx_onnx_static_dim(c, a->k, 1, &a->kv_heads)) {
        a->q_heads = a->kv_heads = 0;
    }
    a->k = behind_past(c, a, 4, a->k);
    a->v = behind_past(c, a, 5, a->v);
    if (!a->q || !a->k || !a->v)
        return false;
    a->queries = rlx_onnx_dim(c, a->q, 2);
    a->keys = rlx_onnx_dim(c, a->k, 2);
    a->mask = rlx_onnx_has(c, 3) ? rlx_onnx_input(c, 3) : NULL;
    return a->queries && a->keys && !c->failed;
}

/* The root of the scale on either side, so that half precision does not overflow. */
static const rlx_expr *raw_scores(rlx_onnx_conv *c, const attention *a)
{
    static const int64_t perm[] = { 0, 1, 3, 2 };
    int64_t size = 0;
    double scale = rlx_onnx_float(c, "scale", 0);
    bool stated = rlx_onnx_attr(c, "scale") != NULL;
    bool known = stated || rlx_onnx_static_dim(c, a->q, 3, &size);
    const rlx_expr *k = rlx_onnx_transpose(c, repeat_heads(c, a->k, a), perm, 4), *root;
    if (size)
        scale = 1 / sqrt((double)size);
    if (known) {
        root = rlx_onnx_scalar(c, a->dtype, sqrt(scale));
    } else {
        root = rlx_onnx_cast(c, size_tensor(c, rlx_onnx_dim(c, a->q, 3)), RELAX_FLOAT64);
        root = rlx_onnx_call1(c, "sqrt", rlx_onnx_call1(c, "rsqrt", root));
        root = rlx_onnx_cast(c, root, a->dtype);
    }
    k = rlx_onnx_call2(c, "multiply", k, root);
    return rlx_onnx_call2(c, "matmul", rlx_onnx_call2(c, "multiply", a->q, root), k);
}

RLX_ONNX_CONVERTER(convert_attention)
{
    attention a = { .past = NULL };
    if (!read_attention(c, &a))
        return false;
    double cap = rlx_onnx_float(c, "softcap", 0);
    const rlx_expr *stage[4] = { raw_scores(c, &a) };
    stage[1] = stage[0];
    if (cap != 0)
        stage[1] = rlx_onnx_with(c, "multiply",
                        rlx_onnx_call1(c, "tanh", rlx_onnx_with(c, "divide", stage[0], cap)), cap);
    stage[2] = stage[1] ? masked(c, &a, stage[1]) : NULL;
    stage[3] = stage[2] ? weights_of(c, stage[2], stage[2] != stage[1]) : NULL;
    const rlx_expr *y =
        rlx_onnx_call2(c, "matmul", stage[3], repeat_heads(c, a.v, &a));
    if (y && a.flat)
        y = rlx_onnx_join_heads(c, y);
    int64_t mode = rlx_onnx_int(c, "qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
        return rlx_onnx_fail(c, RLX_ON05, "there is no such qk_matmul_output_mode") != NULL;
    return rlx_onnx_output(c, 0, y) && (!rlx_onnx_wants(c, 1) || rlx_onnx_output(c, 1, a.k)) &&
           (!rlx_onnx_wants(c, 2) || rlx_onnx_output(c, 2, a.v)) &&
           (!rlx_onnx_wants(c, 3) || rlx_onnx_output(c, 3, stage[mode]));
}

/* x through the graph of an attribute, which has one input and one result; x if there is none */
static const rlx_expr *modified(rlx_onnx_conv *c, const char *name, const rlx_expr *x)
{
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, name);
    if (!x || !a)
        return x;
    if (!a->g || a->g->inputs.len != 1 || a->g->outputs.len != 1)
        return rlx_onnx_fail(c, RLX_ON10, "%s is no graph with one input and one output", name);
    rlx_onnx_scope s;
    rlx_onnx_scope_init(c->m, &s, c->scope);
    rlx_onnx_value *v = rlx_onnx_value_of(c, x), **out = NULL;
    if (v && rlx_onnx_value_bind(c->m, &s, RLX_ONNX_ITEM(rlx_onnx_value_info, a->g->inputs, 0)->name, v))
        out = rlx_onnx_body(c, &s, a->g);
    const rlx_expr *y = out ? rlx_onnx_value_expr(c, out[0]) : NULL;
    rlx_onnx_scope_free(&s);
    return rlx_onnx_cast(c, y, rlx_onnx_dtype_of(c, x));
}

/* Scores and probabilities go through graphs, in float32 at least. */
RLX_ONNX_CONVERTER(convert_flex_attention)
{
    attention a = { .past = NULL };
    rlx_dtype wide;
    if (!read_attention(c, &a))
        return false;
    if (a.flat)
        return rlx_onnx_fail(c, RLX_ON05, "Q has rank 3, expected 4") != NULL;
    wide = rlx_dtype_bits(a.dtype) < 32 ? RELAX_FLOAT32 : a.dtype;
    int64_t precision = rlx_onnx_int(c, "softmax_precision", 0);
    if (precision && !rlx_onnx_dtype(precision, &wide))
        return rlx_onnx_fail(c, RLX_ON06, "that softmax_precision is not supported") != NULL;
    const rlx_expr *y = modified(c, "score_mod", rlx_onnx_cast(c, raw_scores(c, &a), wide));
    y = y ? rlx_onnx_call(c, "nn.softmax", "x axis=i", y, (int64_t)-1) : NULL;
    y = modified(c, "prob_mod", y);
    y = rlx_onnx_call2(c, "matmul", y, rlx_onnx_cast(c, repeat_heads(c, a.v, &a), wide));
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, y, a.dtype));
}

/* ---- rotation ---------------------------------------------------------------------------------- */

/* Parts from `begin` to `end` of the last axis of (batch, heads, length, size), every second one if `step` is 2. */
static const rlx_expr *part(rlx_onnx_conv *c, const rlx_expr *x, int64_t begin, int64_t end,
                            int64_t step)
{
    const rlx_expr *a = rlx_onnx_prim(c, 3), *b = rlx_onnx_prim(c, begin), *e = rlx_onnx_prim(c, end),
                   *s = rlx_onnx_prim(c, step);
    return rlx_onnx_call(c, "strided_slice", "x X X X X", x, &a, (size_t)1, &b, (size_t)1, &e,
                         (size_t)1, &s, (size_t)1);
}

const rlx_expr *rlx_onnx_rotate(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *cosine,
                                const rlx_expr *sine, int64_t size, int64_t turned, bool interleaved)
{
    int64_t half = turned / 2, behind = 4;
    const rlx_expr *a = interleaved ? part(c, x, 0, turned, 2) : part(c, x, 0, half, 1);
    const rlx_expr *b = interleaved ? part(c, x, 1, turned, 2) : part(c, x, half, turned, 1);
    const rlx_expr *b_sine = rlx_onnx_call2(c, "multiply", b, sine);
    const rlx_expr *re = rlx_onnx_call2(c, "subtract", rlx_onnx_call2(c, "multiply", a, cosine), b_sine);
    const rlx_expr *b_cosine = rlx_onnx_call2(c, "multiply", b, cosine);
    const rlx_expr *im = rlx_onnx_call2(c, "add", rlx_onnx_call2(c, "multiply", a, sine), b_cosine);
    const rlx_expr *two[2] = { re, im }, *y;
    if (interleaved) {
        two[0] = rlx_onnx_expand_dims(c, re, &behind, 1);
        two[1] = rlx_onnx_expand_dims(c, im, &behind, 1);
        y = rlx_onnx_concat(c, two, 2, 4);
        size_t n;
        const rlx_prim *const *d = y ? rlx_onnx_dims(c, &y, &n) : NULL;
        const rlx_prim *four[4];
        if (!d)
            return NULL;
        memcpy(four, d, sizeof four);
        four[3] = rlx_int64(c->ctx, turned);
        y = rlx_onnx_reshape(c, y, four, 4);
    } else {
        y = rlx_onnx_concat(c, two, 2, 3);
    }
    const rlx_expr *whole[2] = { y, turned < size ? part(c, x, turned, size, 1) : y };
    return rlx_onnx_concat(c, whole, turned < size ? 2 : 1, 3);
}

/* Angles: rows of the tables by position, or the tables themselves; an axis for heads in front of the length. */
static const rlx_expr *angles(rlx_onnx_conv *c, size_t table, size_t position,
                              const rlx_prim *length)
{
    static const int64_t heads = 1, front = 0;
    const rlx_expr *t = rlx_onnx_input(c, table);
    const rlx_expr *at = rlx_onnx_has(c, position) ? rlx_onnx_input(c, position) : NULL;
    if (at && length && rlx_onnx_rank(c, at) == 1) { /* one for all: that of the first */
        const rlx_expr *first = rlx_onnx_cast(c, at, RELAX_INT64);
        const rlx_expr *i = rlx_onnx_call2(c, "add", rlx_onnx_arange(c, length, RELAX_INT64), first);
        at = rlx_onnx_expand_dims(c, i, &front, 1);
    }
    if (t && at)
        t = rlx_onnx_call(c, "take", "x x axis=i", t, at, (int64_t)0);
    return rlx_onnx_expand_dims(c, t, &heads, 1);
}

static bool rotary(rlx_onnx_conv *c, size_t cosine, size_t sine, size_t position)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t size, turned = rlx_onnx_int(c, "rotary_embedding_dim", 0),
                  heads = rlx_onnx_int(c, "num_heads", 0), per = 0;
    if (n == 3 && heads == 0) { /* com.microsoft: the tables say the size of a head */
        const rlx_expr *t = rlx_onnx_input(c, cosine);
        if (t && rlx_onnx_static_dim(c, x, 2, &size) && rlx_onnx_static_dim(c, t, 1, &per) && per)
            heads = size / (2 * per);
    }
    const rlx_expr *y = n == 3 ? rlx_onnx_split_heads(c, x, heads) : x;
    if (n != 3 && n != 4)
        return false;
    if (!y || !rlx_onnx_static_dim(c, y, 3, &size))
        return !c->failed && rlx_onnx_fail(c, RLX_ON08, "the size of a head has to be known") != NULL;
    const rlx_prim *length = *c->row->domain ? rlx_onnx_dim(c, y, 2) : NULL;
    const rlx_expr *co = angles(c, cosine, position, length), *si = angles(c, sine, position, length);
    y = rlx_onnx_rotate(c, y, co, si, size, turned ? turned : size, rlx_onnx_int(c, "interleaved", 0) != 0);
    return rlx_onnx_output(c, 0, n == 3 && y ? rlx_onnx_join_heads(c, y) : y);
}

RLX_ONNX_CONVERTER(convert_rotary)
{
    return *c->row->domain ? rotary(c, 2, 3, 1) : rotary(c, 1, 2, 3);
}

/* ---- states ------------------------------------------------------------------------------------ */

/* A convolution for each channel whose left padding is what came before. */
RLX_ONNX_CONVERTER(convert_causal_conv)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *weight = rlx_onnx_input(c, 1), *y;
    int64_t kernel, channels;
    size_t n;
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!d || !weight || n != 3)
        return false;
    if (!rlx_onnx_static_dim(c, weight, 2, &kernel) || !rlx_onnx_static_dim(c, weight, 0, &channels))
        return rlx_onnx_fail(c, RLX_ON08, "the sizes of the weight have to be known") != NULL;
    const rlx_prim *before[] = { d[0], d[1], rlx_int64(c->ctx, kernel - 1) };
    const rlx_expr *parts[2] = { rlx_onnx_has(c, 3)
                                     ? rlx_onnx_input(c, 3)
                                     : rlx_onnx_full(c, before, 3, rlx_onnx_dtype_of(c, x), 0), x };
    const rlx_expr *all = kernel > 1 ? rlx_onnx_concat(c, parts, 2, 2) : x;
    y = rlx_onnx_call(c, "nn.conv1d", "x x groups=i", all, weight, channels);
    if (rlx_onnx_has(c, 2)) {
        static const int64_t behind = 1;
        y = rlx_onnx_call2(c, "add", y,
                           rlx_onnx_expand_dims(c, rlx_onnx_input(c, 2), &behind, 1));
    }
    rlx_slice act = rlx_onnx_string(c, "activation", "none");
    if (rlx_slice_is(act, "silu") || rlx_slice_is(act, "swish"))
        y = rlx_onnx_call1(c, "nn.silu", y);
    else if (!rlx_slice_is(act, "none"))
        return rlx_onnx_fail(c, RLX_ON05, "the activation is not supported") != NULL;
    if (!rlx_onnx_output(c, 0, y) || !rlx_onnx_wants(c, 1))
        return !c->failed;
    const rlx_prim *total = rlx_onnx_dim(c, all, 2);
    const rlx_prim *from =
        total ? rlx_onnx_simplify(c, rlx_fold_sub(c->ctx, total, rlx_int64(c->ctx, kernel - 1)))
              : NULL;
    return rlx_onnx_output(c, 1, kernel > 1 ? rlx_onnx_slice(c, all, 2, from, total)
                                            : rlx_onnx_full(c, before, 3,
                                                            rlx_onnx_dtype_of(c, x), 0));
}
