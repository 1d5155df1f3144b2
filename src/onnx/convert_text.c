/*- convert_text.c: TfIdfVectorizer over integers.
 *
 *     For each skip and each length of grams that the pool holds: windows of the input, compared with all
 *     grams of that length, and counted. Grams stand in the pool by length, and ngram_indexes says where
 *     each one's count goes. */
#include "onnx/onnx_int.h"

typedef struct vectorizer {
    const rlx_expr *x;                   /* (batch, length), int64 */
    const rlx_prim *batch, *length;
    const int64_t *pool, *counts, *indexes;
    size_t pool_len, num_lengths, num_grams;
    int64_t shortest, longest, skips;
    const rlx_expr *found[64]; size_t num_found; /* counts (batch, grams of a length) */
} vectorizer;

/* Column k of windows of `n` elements that are `apart` apart, against column k of the grams. */
static const rlx_expr *equal_at(rlx_onnx_conv *c, const vectorizer *v, const int64_t *grams, size_t count, int64_t n,
                                int64_t k, int64_t apart)
{
    static const int64_t behind = 2;
    int64_t shape[2] = { 1, (int64_t)count };
    int64_t *column = rlx_onnx_array(c, count, sizeof *column);
    for (size_t i = 0; column && i < count; i++)
        column[i] = grams[(int64_t)i * n + k];
    const rlx_prim *zero = rlx_int64(c->ctx, 0);
    const rlx_prim *windows = rlx_fold_sub(c->ctx, v->length, rlx_int64(c->ctx, (n - 1) * apart));
    windows = rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_MAX, windows, zero));
    const rlx_prim *from = rlx_onnx_simplify(
        c, rlx_fold_binary(c->ctx, RLX_NODE_MIN, rlx_int64(c->ctx, k * apart), v->length));
    const rlx_expr *part =
        rlx_onnx_slice(c, v->x, 1, from, rlx_onnx_simplify(c, rlx_fold_add(c->ctx, from, windows)));
    const rlx_expr *wanted = column ? rlx_onnx_const_ints(c, RELAX_INT64, column, count) : NULL;
    wanted = rlx_onnx_reshape_ints(c, wanted, shape, 2);
    return rlx_onnx_call2(c, "equal", rlx_onnx_expand_dims(c, part, &behind, 1), wanted);
}

static const rlx_expr *count_grams(rlx_onnx_conv *c, const vectorizer *v, const int64_t *grams, size_t count, int64_t n,
                                   int64_t apart)
{
    static const int64_t windows = 1;
    const rlx_expr *same = NULL;
    for (int64_t k = 0; k < n; k++) {
        const rlx_expr *e = equal_at(c, v, grams, count, n, k, apart);
        same = same ? rlx_onnx_call2(c, "logical_and", same, e) : e;
    }
    return rlx_onnx_reduce(c, "sum", rlx_onnx_cast(c, same, RELAX_FLOAT32), &windows, 1, false);
}

/* Grams of n elements: those of the lengths asked for are counted, the others are not found. */
static bool find_grams(rlx_onnx_conv *c, vectorizer *v, const int64_t *grams, size_t count, int64_t n)
{
    const rlx_expr *sum = NULL;
    bool asked = n >= v->shortest && n <= v->longest;
    for (int64_t skip = 0; asked && skip <= (n == 1 ? 0 : v->skips); skip++) {
        const rlx_expr *e = count_grams(c, v, grams, count, n, skip + 1);
        sum = sum ? rlx_onnx_call2(c, "add", sum, e) : e;
    }
    const rlx_prim *dims[2] = { v->batch, rlx_int64(c->ctx, (int64_t)count) };
    v->found[v->num_found++] = asked ? sum : rlx_onnx_full(c, dims, 2, RELAX_FLOAT32, 0);
    v->num_grams += count;
    return v->found[v->num_found - 1] != NULL;
}

static bool read_vectorizer(rlx_onnx_conv *c, vectorizer *v, bool *flat)
{
    static const int64_t front = 0;
    size_t indexes;
    v->x = rlx_onnx_input(c, 0);
    v->pool = rlx_onnx_int_list(c, "pool_int64s", &v->pool_len);
    v->counts = rlx_onnx_int_list(c, "ngram_counts", &v->num_lengths);
    v->indexes = rlx_onnx_int_list(c, "ngram_indexes", &indexes);
    v->shortest = rlx_onnx_int(c, "min_gram_length", 1);
    v->longest = rlx_onnx_int(c, "max_gram_length", 1);
    v->skips = rlx_onnx_int(c, "max_skip_count", 0);
    int n = v->x ? rlx_onnx_rank(c, v->x) : -1;
    if (!v->pool)
        return !c->failed && rlx_onnx_fail(c, RLX_ON03, "strings are not supported") != NULL;
    if (n < 1 || n > 2 || !v->counts || !v->indexes || v->num_lengths > 32 || v->skips < 0 || v->skips > 64)
        return !c->failed && rlx_onnx_fail(c, RLX_ON05, "the attributes do not fit") != NULL;
    *flat = n == 1;
    v->x = rlx_onnx_cast(c, n == 1 ? rlx_onnx_expand_dims(c, v->x, &front, 1) : v->x, RELAX_INT64);
    size_t ndim;
    const rlx_prim *const *d = v->x ? rlx_onnx_dims(c, &v->x, &ndim) : NULL;
    if (!d)
        return false;
    v->batch = d[0];
    v->length = d[1];
    for (size_t i = 0; i < v->num_lengths; i++) {
        int64_t end = i + 1 < v->num_lengths ? v->counts[i + 1] : (int64_t)v->pool_len, size = end - v->counts[i];
        int64_t len = (int64_t)i + 1;
        if (v->counts[i] < 0 || size < 0 || end > (int64_t)v->pool_len || size % len)
            return rlx_onnx_fail(c, RLX_ON05, "ngram_counts does not fit the pool") != NULL;
        if (size && !find_grams(c, v, v->pool + v->counts[i], (size_t)(size / len), len))
            return false;
    }
    return (v->num_grams == indexes && indexes) ||
           rlx_onnx_fail(c, RLX_ON05, "ngram_indexes does not fit the pool") != NULL;
}

/* Where each place of the result finds its count; behind the last one are zeros. */
static const rlx_expr *in_places(rlx_onnx_conv *c, const vectorizer *v, const rlx_expr *all)
{
    int64_t most = 0;
    for (size_t i = 0; i < v->num_grams; i++)
        most = v->indexes[i] > most ? v->indexes[i] : most;
    if (most > 1 << 24)
        return rlx_onnx_fail(c, RLX_ON02, "the result has more than 16,777,216 places");
    int64_t *at = rlx_onnx_array(c, (size_t)most + 1, sizeof *at);
    for (int64_t i = 0; at && i <= most; i++)
        at[i] = (int64_t)v->num_grams;
    for (size_t i = 0; at && i < v->num_grams; i++) {
        if (v->indexes[i] < 0)
            return rlx_onnx_fail(c, RLX_ON05, "an index is negative");
        at[v->indexes[i]] = (int64_t)i;
    }
    const rlx_prim *dims[2] = { v->batch, rlx_int64(c->ctx, 1) };
    const rlx_expr *both[2] = { all, rlx_onnx_full(c, dims, 2, RELAX_FLOAT32, 0) };
    return at ? rlx_onnx_call(c, "take", "x x axis=i", rlx_onnx_concat(c, both, 2, 1),
                              rlx_onnx_const_ints(c, RELAX_INT64, at, (size_t)most + 1), (int64_t)1)
              : NULL;
}

RLX_ONNX_CONVERTER(convert_tf_idf)
{
    static const int64_t front = 0;
    vectorizer v = { .num_found = 0 };
    bool flat = false;
    size_t num_weights;
    rlx_slice mode = rlx_onnx_string(c, "mode", "");
    bool tf = rlx_slice_is(mode, "TF"), idf = rlx_slice_is(mode, "IDF"), both = rlx_slice_is(mode, "TFIDF");
    const double *weights = rlx_onnx_float_list(c, "weights", &num_weights);
    if (!tf && !idf && !both)
        return rlx_onnx_fail(c, RLX_ON05, "mode is TF, IDF or TFIDF") != NULL;
    if (!read_vectorizer(c, &v, &flat))
        return false;
    const rlx_expr *y = rlx_onnx_concat(c, v.found, v.num_found, 1);
    if (idf)
        y = rlx_onnx_cast(c, rlx_onnx_call2(c, "greater", y, rlx_onnx_scalar(c, RELAX_FLOAT32, 0)), RELAX_FLOAT32);
    if (!tf && weights) {
        int64_t shape[2] = { 1, (int64_t)num_weights };
        if (num_weights != v.num_grams)
            return rlx_onnx_fail(c, RLX_ON05, "there are not as many weights as grams") != NULL;
        y = rlx_onnx_call2(c, "multiply", y, rlx_onnx_const(c, RELAX_FLOAT32, shape, 2, weights));
    }
    y = in_places(c, &v, y);
    return rlx_onnx_output(c, 0, flat ? rlx_onnx_call(c, "squeeze", "x axis=I", y, &front, (size_t)1) : y);
}
