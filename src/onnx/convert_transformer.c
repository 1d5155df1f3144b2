/*- convert_transformer.c: com.microsoft: what graphs of transformers hold after optimisation.
 *
 *     scores = scale Q K^T, capped, plus what is added, softmax over keys, times V
 *
 * What is masked is not minus infinity but the least number, or what mask_filter_value adds, so that a query
 * without any key sees all alike. */
#include "onnx/onnx_int.h"

#include <math.h>

static const rlx_expr *optional(rlx_onnx_conv *c, size_t i)
{
    return rlx_onnx_has(c, i) ? rlx_onnx_input(c, i) : NULL;
}

typedef struct heads {
    const rlx_expr *q, *k, *v;             /* (batch, heads, length, size) */
    const rlx_prim *batch, *queries, *keys, *past;
    int64_t num, kv_num;
    const rlx_expr *added, *seen, *sink;   /* to scores; which keys; a score for each head that no value has */
} heads;

static const rlx_expr *sum_of(rlx_onnx_conv *c, const rlx_expr *a, const rlx_expr *b)
{
    return !a ? b : !b ? a : rlx_onnx_call2(c, "add", a, b);
}

static const rlx_expr *repeated(rlx_onnx_conv *c, const heads *h, const rlx_expr *x)
{
    int64_t times = h->kv_num ? h->num / h->kv_num : 1;
    return times == 1 ? x : rlx_onnx_call(c, "repeat", "x repeats=i axis=i", x, times, (int64_t)1);
}

/* Softmax with one more score, which may be 0 for all (smooth) or one for each head. */
static const rlx_expr *softmax(rlx_onnx_conv *c, const heads *h, const rlx_expr *scores)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, scores);
    const rlx_expr *x = rlx_onnx_cast(c, scores, RELAX_FLOAT32), *y;
    if (!h->sink) {
        y = rlx_onnx_call(c, "nn.softmax", "x axis=i", x, (int64_t)-1);
    } else {
        static const int64_t last = 3;
        const rlx_expr *sink = rlx_onnx_cast(c, h->sink, RELAX_FLOAT32);
        const rlx_expr *top = rlx_onnx_call2(c, "maximum", rlx_onnx_reduce(c, "max", x, &last, 1, true), sink);
        const rlx_expr *e = rlx_onnx_call1(c, "exp", rlx_onnx_call2(c, "subtract", x, top));
        const rlx_expr *more = rlx_onnx_call1(c, "exp", rlx_onnx_call2(c, "subtract", sink, top));
        y = rlx_onnx_call2(c, "divide", e,
                           rlx_onnx_call2(c, "add", rlx_onnx_reduce(c, "sum", e, &last, 1, true), more));
    }
    return rlx_onnx_cast(c, y, t);
}

static const rlx_expr *attend(rlx_onnx_conv *c, const heads *h)
{
    static const int64_t perm[] = { 0, 1, 3, 2 };
    int64_t size = 0;
    rlx_dtype t = rlx_onnx_dtype_of(c, h->q);
    double scale = rlx_onnx_float(c, "scale", 0), cap = rlx_onnx_float(c, "softcap", 0);
    if (scale == 0 && !rlx_onnx_static_dim(c, h->q, 3, &size))
        return rlx_onnx_fail(c, RLX_ON08, "the size of a head has to be known");
    if (scale == 0)
        scale = 1 / sqrt((double)size);
    const rlx_expr *k = rlx_onnx_transpose(c, repeated(c, h, h->k), perm, 4);
    const rlx_expr *s = rlx_onnx_with(c, "multiply", rlx_onnx_call2(c, "matmul", h->q, k), scale);
    if (cap > 0)
        s = rlx_onnx_with(c, "multiply", rlx_onnx_call1(c, "tanh", rlx_onnx_with(c, "divide", s, cap)), cap);
    s = sum_of(c, s, h->added ? rlx_onnx_cast(c, h->added, t) : NULL);
    if (h->seen)
        s = rlx_onnx_where(c, h->seen, s, rlx_onnx_scalar(c, t, -rlx_dtype_greatest(t)));
    s = s ? softmax(c, h, s) : NULL;
    return rlx_onnx_join_heads(c, rlx_onnx_call2(c, "matmul", s, repeated(c, h, h->v)));
}

/* ---- masks ------------------------------------------------------------------------------------- */

static const rlx_expr *positions(rlx_onnx_conv *c, const rlx_prim *count, bool rows)
{
    static const int64_t behind = 1;
    const rlx_expr *p = rlx_onnx_arange(c, count, RELAX_INT64);
    return rows ? rlx_onnx_expand_dims(c, p, &behind, 1) : p;
}

static const rlx_expr *size_tensor(rlx_onnx_conv *c, const rlx_prim *p)
{
    const rlx_expr *t = p ? rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &p, 1)) : NULL;
    return rlx_onnx_reshape_ints(c, t, NULL, 0);
}

/* Keys up to the place of the query, which stands behind the past. */
static const rlx_expr *causal(rlx_onnx_conv *c, const heads *h)
{
    const rlx_expr *query = positions(c, h->queries, true);
    if (h->past)
        query = rlx_onnx_call2(c, "add", query, size_tensor(c, h->past));
    return rlx_onnx_call2(c, "less_equal", positions(c, h->keys, false), query);
}

/* A mask as what is added: lengths (batch), ends and begins (2 batch), lengths and where sequences begin
 * (3 batch + 2), (batch, keys), (batch, queries, keys) */
static const rlx_expr *mask_added(rlx_onnx_conv *c, const heads *h, size_t i)
{
    static const int64_t three[] = { 1, 2, 3 }, two[] = { 1, 2 }, one = 1;
    const rlx_expr *m = rlx_onnx_input(c, i), *open;
    size_t n;
    const rlx_prim *const *d = m ? rlx_onnx_dims(c, &m, &n) : NULL;
    if (!d || n < 1 || n > 3)
        return rlx_onnx_fail(c, RLX_ON05, "a mask of that rank is not supported");
    const rlx_scope *s = rlx_builder_scope(c->m->b);
    m = rlx_onnx_cast(c, m, RELAX_INT64);
    if (n > 1) {
        m = rlx_onnx_expand_dims(c, m, n == 2 ? two : &one, n == 2 ? 2 : 1);
        open = rlx_onnx_with(c, "greater", m, 0);
    } else {
        const rlx_prim *twice = rlx_fold_mul(c->ctx, h->batch, rlx_int64(c->ctx, 2));
        const rlx_prim *all = rlx_fold_add(c->ctx, rlx_fold_add(c->ctx, twice, h->batch), rlx_int64(c->ctx, 2));
        bool alone = rlx_prove_equal(c->ctx, s, d[0], h->batch) == RLX_EQUAL, ends = alone;
        if (!alone && rlx_prove_equal(c->ctx, s, d[0], rlx_onnx_simplify(c, all)) == RLX_EQUAL)
            ends = true;
        else if (!alone && rlx_prove_equal(c->ctx, s, d[0], twice) != RLX_EQUAL)
            return rlx_onnx_fail(c, RLX_ON05, "a mask of rank 1 is expected to have batch, 2 batch or 3 batch + 2 elements");
        const rlx_expr *key = positions(c, h->keys, false), *end = m;
        if (!alone)
            end = rlx_onnx_slice(c, m, 0, rlx_int64(c->ctx, 0), h->batch);
        open = rlx_onnx_call2(c, "less", key, rlx_onnx_expand_dims(c, end, three, 3));
        if (!ends)
            open = rlx_onnx_call2(c, "logical_and", open,
                                  rlx_onnx_call2(c, "greater_equal", key,
                                                 rlx_onnx_expand_dims(c, rlx_onnx_slice(c, m, 0, h->batch, twice),
                                                                      three, 3)));
    }
    rlx_dtype t = rlx_onnx_dtype_of(c, h->q);
    double filter = rlx_onnx_float(c, "mask_filter_value", -10000), most = rlx_dtype_greatest(t);
    return rlx_onnx_where(c, open, rlx_onnx_scalar(c, t, 0),
                          rlx_onnx_scalar(c, t, filter < -most ? -most : filter));
}

static bool set_sizes(rlx_onnx_conv *c, heads *h)
{
    if (!h->q || !h->k || !h->v)
        return false;
    h->batch = rlx_onnx_dim(c, h->q, 0);
    h->queries = rlx_onnx_dim(c, h->q, 2);
    h->keys = rlx_onnx_dim(c, h->k, 2);
    return h->batch && h->queries && h->keys && !c->failed;
}

/* ---- Attention --------------------------------------------------------------------------------- */

/* Columns from, to of the last axis, as heads */
static const rlx_expr *columns(rlx_onnx_conv *c, const rlx_expr *x, int64_t from, int64_t to, int64_t num)
{
    return rlx_onnx_split_heads(c, rlx_onnx_slice(c, x, 2, rlx_int64(c->ctx, from), rlx_int64(c->ctx, to)),
                                num);
}

/* Element i of the first axis of what came before */
static const rlx_expr *past_part(rlx_onnx_conv *c, const rlx_expr *past, int64_t i)
{
    return rlx_onnx_call(c, "take", "x x axis=i", past, rlx_onnx_scalar(c, RELAX_INT64, (double)i), (int64_t)0);
}

static bool finish_attention(rlx_onnx_conv *c, heads *h, size_t mask, size_t added)
{
    if (!set_sizes(c, h))
        return false;
    const rlx_expr *masked = rlx_onnx_has(c, mask) ? mask_added(c, h, mask) : NULL;
    h->added = sum_of(c, optional(c, added), masked);
    h->seen = rlx_onnx_int(c, "unidirectional", 0) ? causal(c, h) : NULL;
    return !c->failed && rlx_onnx_output(c, 0, attend(c, h));
}

RLX_ONNX_CONVERTER(convert_ms_attention)
{
    static const int64_t front = 0;
    heads h = { .num = rlx_onnx_int(c, "num_heads", 0) };
    int64_t all, third;
    size_t count;
    const int64_t *sizes = rlx_onnx_int_list(c, "qkv_hidden_sizes", &count);
    const rlx_expr *x = rlx_onnx_input(c, 0), *w = rlx_onnx_input(c, 1);
    if (rlx_onnx_int(c, "do_rotary", 0) || rlx_onnx_int(c, "past_present_share_buffer", 0))
        return rlx_onnx_fail(c, RLX_ON05, "do_rotary and past_present_share_buffer are not supported") != NULL;
    if (!w || !rlx_onnx_static_dim(c, w, 1, &all) || (sizes && count != 3))
        return !c->failed && rlx_onnx_fail(c, RLX_ON08, "the sizes of the weights have to be known") != NULL;
    x = rlx_onnx_call2(c, "matmul", x, w);
    if (rlx_onnx_has(c, 2))
        x = rlx_onnx_call2(c, "add", x, rlx_onnx_input(c, 2));
    third = all / 3;
    int64_t q = sizes ? sizes[0] : third, k = q + (sizes ? sizes[1] : third);
    h.q = columns(c, x, 0, q, h.num);
    h.k = columns(c, x, q, k, h.num);
    h.v = columns(c, x, k, all, h.num);
    if (rlx_onnx_has(c, 4)) {
        const rlx_expr *past = rlx_onnx_input(c, 4);
        const rlx_expr *ks[2] = { past_part(c, past, 0), h.k }, *vs[2] = { past_part(c, past, 1), h.v };
        h.past = ks[0] ? rlx_onnx_dim(c, ks[0], 2) : NULL;
        h.k = rlx_onnx_concat(c, ks, 2, 2);
        h.v = rlx_onnx_concat(c, vs, 2, 2);
    }
    if (rlx_onnx_wants(c, 1)) {
        const rlx_expr *keys = rlx_onnx_expand_dims(c, h.k, &front, 1);
        const rlx_expr *values = rlx_onnx_expand_dims(c, h.v, &front, 1), *kv[2] = { keys, values };
        if (!rlx_onnx_output(c, 1, rlx_onnx_concat(c, kv, 2, 0)))
            return false;
    }
    return finish_attention(c, &h, 3, 5);
}

/* ---- MultiHeadAttention ------------------------------------------------------------------------ */

/* (batch, length, heads, parts, size): part i as (batch, heads, length, size) */
static const rlx_expr *packed_part(rlx_onnx_conv *c, const rlx_expr *x, int64_t i)
{
    static const int64_t perm[] = { 0, 2, 1, 3 };
    return rlx_onnx_transpose(c, rlx_onnx_call(c, "take", "x x axis=i", x,
                                               rlx_onnx_scalar(c, RELAX_INT64, (double)i), (int64_t)3), perm, 4);
}

static const rlx_expr *with_bias(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *bias, int64_t *at)
{
    int64_t n;
    if (!bias || !x || rlx_onnx_rank(c, x) != 3)
        return x;
    if (!rlx_onnx_static_dim(c, x, 2, &n))
        return rlx_onnx_fail(c, RLX_ON08, "the size of the state has to be known");
    x = rlx_onnx_call2(c, "add", x, rlx_onnx_slice(c, bias, 0, rlx_int64(c->ctx, *at), rlx_int64(c->ctx, *at + n)));
    *at += n;
    return x;
}

static const rlx_expr *in_heads(rlx_onnx_conv *c, const rlx_expr *x, int64_t num)
{
    return x && rlx_onnx_rank(c, x) == 3 ? rlx_onnx_split_heads(c, x, num) : x;
}

RLX_ONNX_CONVERTER(convert_multi_head_attention)
{
    heads h = { .num = rlx_onnx_int(c, "num_heads", 0) };
    const rlx_expr *q = rlx_onnx_input(c, 0), *k = optional(c, 1), *v = optional(c, 2), *bias = optional(c, 3);
    int64_t at = 0;
    int rank = q ? rlx_onnx_rank(c, q) : -1;
    if (rank != 3 && rank != 5)
        return rank >= 0 && rlx_onnx_fail(c, RLX_ON05, "a query of rank %d is not supported", rank) != NULL;
    if ((rank == 5 || (k && rlx_onnx_rank(c, k) == 5)) && bias)
        return rlx_onnx_fail(c, RLX_ON05, "a bias on packed operands is not supported") != NULL;
    if (rank == 3 && !k)
        return rlx_onnx_fail(c, RLX_ON10, "the key is missing") != NULL;
    bool pair = rank == 3 && rlx_onnx_rank(c, k) == 5;
    if (rank == 3 && !pair && !v)
        return rlx_onnx_fail(c, RLX_ON10, "the value is missing") != NULL;
    h.q = rank == 5 ? packed_part(c, q, 0) : in_heads(c, with_bias(c, q, bias, &at), h.num);
    h.k = rank == 5 ? packed_part(c, q, 1) : pair ? packed_part(c, k, 0) : in_heads(c, with_bias(c, k, bias, &at), h.num);
    h.v = rank == 5 ? packed_part(c, q, 2) : pair ? packed_part(c, k, 1) : in_heads(c, with_bias(c, v, bias, &at), h.num);
    if (rlx_onnx_has(c, 6) && rlx_onnx_has(c, 7)) {
        const rlx_expr *ks[2] = { rlx_onnx_input(c, 6), h.k }, *vs[2] = { rlx_onnx_input(c, 7), h.v };
        h.past = ks[0] ? rlx_onnx_dim(c, ks[0], 2) : NULL;
        h.k = rlx_onnx_concat(c, ks, 2, 2);
        h.v = rlx_onnx_concat(c, vs, 2, 2);
    }
    if ((rlx_onnx_wants(c, 1) && !rlx_onnx_output(c, 1, h.k)) || (rlx_onnx_wants(c, 2) && !rlx_onnx_output(c, 2, h.v)))
        return false;
    if (rlx_onnx_wants(c, 3))
        return rlx_onnx_fail(c, RLX_ON05, "the output of scores is not supported") != NULL;
    return finish_attention(c, &h, 4, 5);
}

/* ---- GroupQueryAttention ----------------------------------------------------------------------- */

/* The place of each query: (batch, 1, length, 1). The first prompt begins at 0. */
static const rlx_expr *query_places(rlx_onnx_conv *c, const rlx_prim *length, bool has_past)
{
    static const int64_t three[] = { 1, 2, 3 }, around[] = { 0, 1, 3 };
    const rlx_expr *p = rlx_onnx_expand_dims(c, rlx_onnx_arange(c, length, RELAX_INT64), around, 3);
    if (!has_past)
        return p;
    const rlx_expr *total = rlx_onnx_cast(c, rlx_onnx_input(c, 6), RELAX_INT64), *n = size_tensor(c, length);
    const rlx_expr *ends = rlx_onnx_cast(c, rlx_onnx_input(c, 5), RELAX_INT64);
    if (total && rlx_onnx_rank(c, total) != 0)
        total = rlx_onnx_reshape_ints(c, total, NULL, 0);
    if (ends && rlx_onnx_rank(c, ends) == 2) {
        static const int64_t last = 1;
        ends = rlx_onnx_call(c, "squeeze", "x axis=I", ends, &last, (size_t)1);
    }
    const rlx_expr *before = rlx_onnx_call2(c, "subtract", rlx_onnx_with(c, "add", ends, 1), n);
    before = rlx_onnx_where(c, rlx_onnx_call2(c, "equal", total, n), rlx_onnx_scalar(c, RELAX_INT64, 0), before);
    return rlx_onnx_call2(c, "add", rlx_onnx_expand_dims(c, before, three, 3), p);
}

/* Keys or values of before, as long as they have to be, with the new ones in their places. */
static const rlx_expr *present(rlx_onnx_conv *c, size_t i, const rlx_expr *fresh, const rlx_expr *places,
                               const rlx_prim *total)
{
    size_t n, m;
    const rlx_expr *past = rlx_onnx_input(c, i);
    const rlx_prim *const *p = past ? rlx_onnx_dims(c, &past, &n) : NULL;
    const rlx_prim *const *d = fresh ? rlx_onnx_dims(c, &fresh, &m) : NULL;
    if (!p || !d || n != 4 || m != 4)
        return NULL;
    const rlx_prim *more = rlx_onnx_simplify(
        c, rlx_fold_binary(c->ctx, RLX_NODE_MAX, rlx_int64(c->ctx, 0), rlx_fold_sub(c->ctx, total, p[2])));
    const rlx_prim *dims[] = { p[0], p[1], more, p[3] };
    const rlx_expr *parts[2] = { past, rlx_onnx_full(c, dims, 4, rlx_onnx_dtype_of(c, past), 0) };
    const rlx_expr *all = rlx_is_int_value(more, 0) ? past : rlx_onnx_concat(c, parts, 2, 2);
    const rlx_expr *at = rlx_onnx_call(c, "broadcast_to", "x x", places, rlx_shape_new(c->ctx, d, 4));
    return rlx_onnx_call(c, "scatter_elements", "x x x axis=i", all, at, fresh, (int64_t)2);
}

static const rlx_expr *turned(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *places)
{
    static const int64_t flat[] = { 3 };
    int64_t size, half;
    const rlx_expr *co = rlx_onnx_input(c, 7), *si = rlx_onnx_input(c, 8);
    if (!x || !co || !si || !rlx_onnx_static_dim(c, x, 3, &size) || !rlx_onnx_static_dim(c, co, 1, &half))
        return !c->failed ? rlx_onnx_fail(c, RLX_ON08, "the size of a head has to be known") : NULL;
    const rlx_expr *at = rlx_onnx_call(c, "squeeze", "x axis=I", places, flat, (size_t)1); /* (batch, 1, length) */
    co = rlx_onnx_call(c, "take", "x x axis=i", co, at, (int64_t)0);
    si = rlx_onnx_call(c, "take", "x x axis=i", si, at, (int64_t)0);
    return rlx_onnx_rotate(c, x, co, si, size, 2 * half, rlx_onnx_int(c, "rotary_interleaved", 0) != 0);
}

static bool read_groups(rlx_onnx_conv *c, heads *h)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int64_t all;
    h->num = rlx_onnx_int(c, "num_heads", 0);
    h->kv_num = rlx_onnx_int(c, "kv_num_heads", 0);
    if (h->num < 1 || h->kv_num < 1 || h->num % h->kv_num)
        return rlx_onnx_fail(c, RLX_ON05, "num_heads and kv_num_heads do not fit") != NULL;
    if (rlx_onnx_has(c, 1)) {
        h->q = rlx_onnx_split_heads(c, x, h->num);
        h->k = rlx_onnx_split_heads(c, rlx_onnx_input(c, 1), h->kv_num);
        h->v = rlx_onnx_split_heads(c, rlx_onnx_input(c, 2), h->kv_num);
        return h->v != NULL;
    }
    if (!x || !rlx_onnx_static_dim(c, x, 2, &all))
        return !c->failed && rlx_onnx_fail(c, RLX_ON08, "the size of packed operands has to be known") != NULL;
    int64_t size = all / (h->num + 2 * h->kv_num), q = size * h->num, k = q + size * h->kv_num;
    h->q = columns(c, x, 0, q, h->num);
    h->k = columns(c, x, q, k, h->kv_num);
    h->v = columns(c, x, k, all, h->kv_num);
    return h->v != NULL;
}

RLX_ONNX_CONVERTER(convert_group_query_attention)
{
    static const int64_t last[] = { 0, 2, 3 };
    heads h = { .num = 0 };
    rlx_onnx_ints total;
    int64_t window = rlx_onnx_int(c, "local_window_size", -1);
    bool has_past = rlx_onnx_has(c, 3) && rlx_onnx_has(c, 4);
    if (!read_groups(c, &h) || !(h.queries = rlx_onnx_dim(c, h.q, 2)))
        return false;
    const rlx_expr *places = query_places(c, h.queries, has_past);
    if (rlx_onnx_int(c, "do_rotary", 0)) {
        h.q = turned(c, h.q, places);
        h.k = turned(c, h.k, places);
    }
    if (has_past) {
        if (!rlx_onnx_sizes(c, 6, "total_sequence_length", &total) || total.len != 1)
            return false;
        h.k = present(c, 3, h.k, places, total.data[0]);
        h.v = present(c, 4, h.v, places, total.data[0]);
    }
    if (!set_sizes(c, &h) || (rlx_onnx_wants(c, 1) && !rlx_onnx_output(c, 1, h.k)) ||
        (rlx_onnx_wants(c, 2) && !rlx_onnx_output(c, 2, h.v)))
        return false;
    const rlx_expr *key = positions(c, h.keys, false);
    h.seen = rlx_onnx_call2(c, "less_equal", key, places);
    if (window > 0)
        h.seen = rlx_onnx_call2(c, "logical_and", h.seen,
                                rlx_onnx_call2(c, "greater", key, rlx_onnx_with(c, "subtract", places, (double)window)));
    h.added = optional(c, 10);
    if (rlx_onnx_has(c, 11))
        h.sink = rlx_onnx_expand_dims(c, rlx_onnx_input(c, 11), last, 3);
    else if (rlx_onnx_int(c, "smooth_softmax", 0) > 0)
        h.sink = rlx_onnx_scalar(c, RELAX_FLOAT32, 0);
    return !c->failed && rlx_onnx_output(c, 0, attend(c, &h));
}

/* ---- embeddings -------------------------------------------------------------------------------- */

static const rlx_expr *rows_of(rlx_onnx_conv *c, size_t table, const rlx_expr *at)
{
    return rlx_onnx_call(c, "take", "x x axis=i", rlx_onnx_input(c, table), at, (int64_t)0);
}

RLX_ONNX_CONVERTER(convert_embed_layer_norm)
{
    const rlx_expr *ids = rlx_onnx_input(c, 0), *at, *x;
    size_t n;
    const rlx_prim *const *d = ids ? rlx_onnx_dims(c, &ids, &n) : NULL;
    static const int64_t last = 1;
    if (!d || n != 2)
        return !c->failed && rlx_onnx_fail(c, RLX_ON05, "numbers of words are expected as (batch, length)") != NULL;
    at = rlx_onnx_has(c, 8) ? rlx_onnx_input(c, 8) : rlx_onnx_arange(c, d[1], RELAX_INT64);
    at = rows_of(c, 3, at);
    x = rlx_onnx_call2(c, "add", rows_of(c, 2, ids), at);
    if (rlx_onnx_has(c, 1) && rlx_onnx_has(c, 4))
        x = rlx_onnx_call2(c, "add", x, rows_of(c, 4, rlx_onnx_input(c, 1)));
    if (rlx_onnx_wants(c, 2) && !rlx_onnx_output(c, 2, x))
        return false;
    if (rlx_onnx_wants(c, 1)) {
        const rlx_expr *count =
            rlx_onnx_has(c, 7)
                ? rlx_onnx_reduce(c, "sum", rlx_onnx_cast(c, rlx_onnx_input(c, 7), RELAX_INT32), &last, 1, false)
                : rlx_onnx_full(c, d, 1, RELAX_INT32, 0);
        if (!rlx_onnx_output(c, 1, count))
            return false;
    }
    double epsilon = rlx_onnx_float(c, "epsilon", (double)1e-12f);
    const rlx_expr *bias = optional(c, 6);
    return rlx_onnx_layer_norm(c, x, rlx_onnx_input(c, 5), bias, epsilon);
}
