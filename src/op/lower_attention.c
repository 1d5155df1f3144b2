/*- lower_attention.c: softmax(query key^T * scale + bias) value, a tile of queries at a time.
 *
 *     for b, n, tile in T.grid(batch, heads, ceil(queries / rows)):       block "queries"
 *         score[r, j]          one per query of the tile and key that one of them may see; -inf
 *                              where a mask hides the key from the query
 *         top[r], total[r]     greatest score and sum of exponentials of each query; a query that
 *                              sees nothing gives zeros
 *         out[b, i, n, v]      sum over j of exp(score - top) * value, divided by the total
 *
 * Masks of one sequence are bounds of j: keys that no query of the tile sees are not read.
 * Layout: (batch, sequence, heads, size). Sequences of attention_var_len lie one after another:
 * a key is seen only from its own sequence, masks count inside it.
 */
/* built for size */
#include "op/lower_int.h"

#include <math.h>

typedef struct attention {
    rlx_lowering b;
    rlx_lowering_tensor q, k, v, bias, out;
    rlx_lowering_tensor starts_q, starts_k; /* var_len */
    bool has_bias, var_len;
    const rlx_prim *scale;
    enum { NO_MASK, TOP_LEFT, BOTTOM_RIGHT } mask;
    int64_t window;                         /* 0: none */
    rlx_dtype wide;
    /* the tile: batch, head, first query, queries, first key, keys */
    const rlx_prim *batch, *head, *start, *rows, *first_key, *keys;
    int64_t most_rows;
    const rlx_buffer *score, *top, *total, *sum;
    /* var_len: of the sequence of each query */
    const rlx_buffer *base_q, *base_k, *end_k, *end_q;
} attention;

static const rlx_prim *size(const rlx_lowering_tensor *t, size_t i) { return t->shape.sizes.at[i]; }

/* Query head n reads key head n // (heads of query / heads of key). */
static const rlx_prim *shared_head(attention *a, const rlx_prim *n, const rlx_lowering_tensor *of)
{
    rlx_tir *t = &a->b.t;
    const rlx_prim *heads = size(&a->q, 2), *have = size(of, 2);
    return heads == have ? n : rlx_tir_floor_div(t, n, rlx_tir_floor_div(t, heads, have));
}

/* May query i see key j? NULL: always. */
static const rlx_prim *visible(attention *a, const rlx_prim *i, const rlx_prim *j)
{
    rlx_tir *t = &a->b.t;
    const rlx_prim *ok = NULL, *last = i, *length_q = size(&a->q, 1), *length_k = size(&a->k, 1);
    if (a->var_len) {
        const rlx_prim *from = rlx_tir_load(t, a->base_k, RLX_TIR_LIST(i)),
                       *to = rlx_tir_load(t, a->end_k, RLX_TIR_LIST(i));
        const rlx_prim *from_q = rlx_tir_load(t, a->base_q, RLX_TIR_LIST(i));
        ok = rlx_tir_and(t, rlx_tir_ge(t, j, from), rlx_tir_lt(t, j, to));
        length_q = rlx_tir_sub(t, rlx_tir_load(t, a->end_q, RLX_TIR_LIST(i)), from_q);
        length_k = rlx_tir_sub(t, to, from);
        last = rlx_tir_sub(t, i, from_q);
        j = rlx_tir_sub(t, j, from);
    }
    if (a->mask == BOTTOM_RIGHT)
        last = rlx_tir_add(t, last, rlx_tir_sub(t, length_k, length_q));
    if (a->mask) {
        const rlx_prim *before = rlx_tir_le(t, j, last);
        ok = ok ? rlx_tir_and(t, ok, before) : before;
    }
    if (a->window) {
        const rlx_prim *near = rlx_tir_gt(t, j, rlx_tir_sub(t, last, rlx_tir_int(t, a->window)));
        ok = ok ? rlx_tir_and(t, ok, near) : near;
    }
    return ok;
}

static const rlx_prim *wide_load(attention *a, const rlx_lowering_tensor *x, rlx_prim_list at)
{
    return rlx_tir_cast(&a->b.t, a->wide, rlx_tir_load(&a->b.t, x->buffer, at));
}

/* Rows of a tile: many, so that keys are packed for all of them, and their scores stay in the cache. */
static int64_t rows_of_tile(const attention *a)
{
    enum { FEW = 32, MANY = 128, SCORES = 32768 };
    int64_t keys, rows = 64;
    if (rlx_int_literal(size(&a->k, 1), &keys))
        rows = keys > SCORES / FEW ? FEW : keys < SCORES / MANY ? MANY : SCORES / keys;
    return rows;
}

/* First key and number of keys that some query of the tile may see. */
static void bound_keys(attention *a)
{
    rlx_tir *t = &a->b.t;
    const rlx_prim *zero = rlx_tir_int(t, 0), *all = size(&a->k, 1), *from = zero, *to = all,
                   *shift = zero;
    if (a->mask == BOTTOM_RIGHT && !a->var_len)
        shift = rlx_tir_sub(t, all, size(&a->q, 1));
    const rlx_prim *last = rlx_tir_add(t, a->start, shift); /* key of the first query */
    if (a->mask && !a->var_len)
        to = rlx_tir_min(t, all, rlx_tir_add(t, last, a->rows));
    if (a->window && !a->var_len)
        from = rlx_tir_max(t, zero, rlx_tir_sub(t, last, rlx_tir_int(t, a->window - 1)));
    a->first_key = from;
    a->keys = from == zero && to == all ? all : rlx_tir_max(t, zero, rlx_tir_sub(t, to, from));
}

static void open_tile(attention *a)
{
    rlx_tir *t = &a->b.t;
    const rlx_prim *queries = size(&a->q, 1), *most = rlx_tir_int(t, a->most_rows), *tiles;
    int64_t n;
    tiles = rlx_tir_floor_div(t, rlx_tir_add(t, queries, rlx_tir_int(t, a->most_rows - 1)), most);
    rlx_tir_begin_block(t, "queries");
    a->batch = rlx_tir_spatial(t, "b", size(&a->q, 0));
    a->head = rlx_tir_spatial(t, "n", size(&a->q, 2));
    a->start = rlx_tir_mul(t, rlx_tir_spatial(t, "tile", tiles), most);
    a->rows = rlx_int_literal(queries, &n) && n % a->most_rows == 0
                  ? most
                  : rlx_tir_min(t, most, rlx_tir_sub(t, queries, a->start));
    bound_keys(a);
    a->score = rlx_tir_alloc(t, "score", a->wide, RLX_TIR_LIST(most, size(&a->k, 1)));
    a->top = rlx_tir_alloc(t, "top", a->wide, RLX_TIR_LIST(most));
    a->total = rlx_tir_alloc(t, "total", a->wide, RLX_TIR_LIST(most));
    a->sum = rlx_tir_alloc(t, "sum", a->wide, RLX_TIR_LIST(most, size(&a->v, 3)));
}

static const rlx_prim *query(attention *a, const rlx_prim *row)
{
    return rlx_tir_add(&a->b.t, a->start, row);
}

static const rlx_prim *key(attention *a, const rlx_prim *j)
{
    return rlx_tir_add(&a->b.t, a->first_key, j);
}

static void score_block(attention *a)
{
    rlx_tir *t = &a->b.t;
    rlx_tir_begin_block(t, "scores");
    const rlx_prim *r = rlx_tir_spatial(t, "r", a->rows), *j = rlx_tir_spatial(t, "j", a->keys);
    const rlx_prim *h = rlx_tir_reduce(t, "h", size(&a->q, 3));
    rlx_tir_init(t, a->score, RLX_TIR_LIST(r, j), rlx_tir_number(t, a->wide, 0));
    const rlx_prim *q = wide_load(a, &a->q, RLX_TIR_LIST(a->batch, query(a, r), a->head, h)),
                   *k = wide_load(a, &a->k, RLX_TIR_LIST(a->batch, key(a, j),
                                                         shared_head(a, a->head, &a->k), h)),
                   *sum = rlx_tir_load(t, a->score, RLX_TIR_LIST(r, j));
    rlx_tir_store(t, a->score, RLX_TIR_LIST(r, j), rlx_tir_multiply_add(t, sum, q, k));
    rlx_tir_end_block(t);
}

static void mask_block(attention *a)
{
    rlx_tir *t = &a->b.t;
    rlx_tir_begin_block(t, "masked");
    const rlx_prim *r = rlx_tir_spatial(t, "r", a->rows), *j = rlx_tir_spatial(t, "j", a->keys);
    rlx_lowering_list index = { .at = { a->batch, a->head, query(a, r), key(a, j) }, .n = 4 },
                      sizes = { .at = { size(&a->q, 0), size(&a->q, 2), size(&a->q, 1),
                                        size(&a->k, 1) },
                                .n = 4 };
    const rlx_prim *v =
                       rlx_tir_mul(t, rlx_tir_load(t, a->score, RLX_TIR_LIST(r, j)), a->scale),
                   *ok = visible(a, query(a, r), key(a, j));
    if (a->has_bias)
        v = rlx_tir_add(
            t, v, rlx_tir_cast(t, a->wide, rlx_lowering_load(&a->b, &a->bias, &index, &sizes)));
    if (ok)
        v = rlx_tir_select(t, ok, v, rlx_tir_infinity(t, a->wide, true));
    rlx_tir_store(t, a->score, RLX_TIR_LIST(r, j), v);
    rlx_tir_end_block(t);
}

/* target[r] = all scores of the query folded; of exponentials, which replace the scores */
static void fold_block(attention *a, const char *name, const rlx_buffer *target, bool greatest)
{
    rlx_tir *t = &a->b.t;
    rlx_tir_begin_block(t, name);
    const rlx_prim *r = rlx_tir_spatial(t, "r", a->rows), *j = rlx_tir_reduce(t, "j", a->keys);
    if (!greatest)
        rlx_lowering_partial_sums(&a->b, a->wide);
    rlx_tir_init(t, target, RLX_TIR_LIST(r),
                 greatest ? rlx_tir_infinity(t, a->wide, true) : rlx_tir_number(t, a->wide, 0));
    const rlx_prim *old = rlx_tir_load(t, target, RLX_TIR_LIST(r)),
                   *x = rlx_tir_load(t, a->score, RLX_TIR_LIST(r, j));
    rlx_tir_store(t, target, RLX_TIR_LIST(r),
                  greatest ? rlx_tir_max(t, old, x) : rlx_tir_add(t, old, x));
    rlx_tir_end_block(t);
}

/* What is taken off the scores: nothing of a query that sees nothing. */
static void shift_block(attention *a)
{
    rlx_tir *t = &a->b.t;
    rlx_tir_begin_block(t, "shift");
    const rlx_prim *r = rlx_tir_spatial(t, "r", a->rows);
    const rlx_prim *top = rlx_tir_load(t, a->top, RLX_TIR_LIST(r)),
                   *none = rlx_tir_infinity(t, a->wide, true);
    rlx_tir_store(
        t, a->top, RLX_TIR_LIST(r),
        rlx_tir_select(t, rlx_tir_eq(t, top, none), rlx_tir_number(t, a->wide, 0), top));
    rlx_tir_end_block(t);
}

static void raise_block(attention *a)
{
    rlx_tir *t = &a->b.t;
    rlx_tir_begin_block(t, "exp");
    const rlx_prim *r = rlx_tir_spatial(t, "r", a->rows), *j = rlx_tir_spatial(t, "j", a->keys);
    const rlx_prim *x = rlx_tir_sub(t, rlx_tir_load(t, a->score, RLX_TIR_LIST(r, j)),
                                    rlx_tir_load(t, a->top, RLX_TIR_LIST(r)));
    rlx_tir_store(t, a->score, RLX_TIR_LIST(r, j), rlx_tir_call1(t, "exp", x));
    rlx_tir_end_block(t);
}

static void product_block(attention *a)
{
    rlx_tir *t = &a->b.t;
    rlx_tir_begin_block(t, "products");
    const rlx_prim *r = rlx_tir_spatial(t, "r", a->rows), *j = rlx_tir_reduce(t, "j", a->keys);
    const rlx_prim *v = rlx_tir_spatial(t, "v", size(&a->v, 3));
    rlx_tir_init(t, a->sum, RLX_TIR_LIST(r, v), rlx_tir_number(t, a->wide, 0));
    const rlx_prim *p = rlx_tir_load(t, a->score, RLX_TIR_LIST(r, j));
    const rlx_prim *x = wide_load(a, &a->v, RLX_TIR_LIST(a->batch, key(a, j),
                                                         shared_head(a, a->head, &a->v), v)),
                   *sum = rlx_tir_load(t, a->sum, RLX_TIR_LIST(r, v));
    rlx_tir_store(t, a->sum, RLX_TIR_LIST(r, v), rlx_tir_multiply_add(t, sum, p, x));
    rlx_tir_end_block(t);
}

/* No query sees nothing, unless all of its scores are infinite. */
static bool sees_all(const attention *a) { return !a->has_bias && !a->var_len && !a->mask && !a->window; }

/* total[r] = 1 where it is 0, so that rows can be divided as they stand. */
static void guard_block(attention *a)
{
    rlx_tir *t = &a->b.t;
    rlx_tir_begin_block(t, "divisor");
    const rlx_prim *r = rlx_tir_spatial(t, "r", a->rows), *total = rlx_tir_load(t, a->total, RLX_TIR_LIST(r));
    rlx_tir_store(t, a->total, RLX_TIR_LIST(r),
                  rlx_tir_select(t, rlx_tir_eq(t, total, rlx_tir_number(t, a->wide, 0)), rlx_tir_number(t, a->wide, 1), total));
    rlx_tir_end_block(t);
}

static void divide_block(attention *a)
{
    rlx_tir *t = &a->b.t;
    if (sees_all(a))
        guard_block(a);
    rlx_tir_begin_block(t, a->b.l->name.data);
    const rlx_prim *r = rlx_tir_spatial(t, "r", a->rows),
                   *v = rlx_tir_spatial(t, "v", size(&a->v, 3));
    const rlx_prim *total = rlx_tir_load(t, a->total, RLX_TIR_LIST(r)),
                   *zero = rlx_tir_number(t, a->wide, 0),
                   *x = rlx_tir_div(t, rlx_tir_load(t, a->sum, RLX_TIR_LIST(r, v)), total);
    rlx_tir_store(t, a->out.buffer, RLX_TIR_LIST(a->batch, query(a, r), a->head, v),
                  sees_all(a) ? x : rlx_tir_select(t, rlx_tir_eq(t, total, zero), zero, x));
    rlx_tir_end_block(t);
}

/* ---- sequences one after another ------------------------------------------------------------ */

/* The greatest start not behind each query, and the next one, for queries and keys. */
static void sequence_block(attention *a)
{
    rlx_tir *t = &a->b.t;
    const rlx_prim *length = size(&a->q, 1), *one = rlx_tir_int(t, 1), *zero = rlx_tir_int(t, 0);
    const rlx_buffer **to[4] = { &a->base_q, &a->end_q, &a->base_k, &a->end_k };
    for (size_t k = 0; k < 4; k++)
        *to[k] = rlx_tir_alloc(t, "bound", RELAX_INT64, RLX_TIR_LIST(length));
    const rlx_prim *i = rlx_tir_for(t, "i", NULL, length, RLX_FOR_SERIAL);
    for (size_t k = 0; k < 4; k++)
        rlx_tir_store(t, *to[k], RLX_TIR_LIST(i), zero);
    const rlx_prim *s = rlx_tir_for(t, "s", NULL, rlx_tir_sub(t, size(&a->starts_q, 0), one),
                                    RLX_FOR_SERIAL),
                   *next = rlx_tir_add(t, s, one);
    const rlx_prim *begin =
        rlx_tir_cast(t, RELAX_INT64, rlx_tir_load(t, a->starts_q.buffer, RLX_TIR_LIST(s)));
    const rlx_prim *end =
        rlx_tir_cast(t, RELAX_INT64, rlx_tir_load(t, a->starts_q.buffer, RLX_TIR_LIST(next)));
    rlx_tir_if(t, rlx_tir_and(t, rlx_tir_le(t, begin, i), rlx_tir_lt(t, i, end)));
    for (size_t k = 0; k < 4; k++) {
        const rlx_lowering_tensor *from = k < 2 ? &a->starts_q : &a->starts_k;
        const rlx_prim *v = rlx_tir_load(t, from->buffer, RLX_TIR_LIST(k % 2 ? next : s));
        rlx_tir_store(t, *to[k], RLX_TIR_LIST(i), rlx_tir_cast(t, RELAX_INT64, v));
    }
    rlx_tir_end_if(t);
    rlx_tir_end_for(t);
    rlx_tir_end_for(t);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static bool read_attrs(attention *a, rlx_lower_request *l)
{
    rlx_slice mask = rlx_attr_text(rlx_lowering_attr(l, 1));
    const rlx_attr *scale = rlx_lowering_attr(l, 0);
    rlx_tir *t = &a->b.t;
    int64_t h;
    a->window =
        rlx_attr_is_none(rlx_lowering_attr(l, 2)) ? 0 : rlx_attr_as_int(rlx_lowering_attr(l, 2), 0);
    a->mask = rlx_slice_is(mask, "TopLeft")       ? TOP_LEFT
              : rlx_slice_is(mask, "BottomRight") ? BOTTOM_RIGHT
                                                  : NO_MASK;
    if ((mask.len && a->mask == NO_MASK) || a->window < 0)
        return rlx_lowering_give_up(&a->b, "the mask is not known");
    if (!rlx_attr_is_none(scale))
        a->scale = rlx_tir_number(t, a->wide, rlx_attr_as_float(scale, 1));
    else if (rlx_int_literal(size(&a->q, 3), &h))
        a->scale = rlx_tir_number(t, a->wide, h > 0 ? 1 / sqrt((double)h) : 1);
    else
        a->scale = rlx_tir_call1(t, "rsqrt", rlx_tir_cast(t, a->wide, size(&a->q, 3)));
    return true;
}

static void trust_sizes(attention *a)
{
    rlx_lowering *b = &a->b;
    for (size_t i = 1; i < 3; i++)
        rlx_lowering_trust(b, 0, 0, i, 0);
    rlx_lowering_trust(b, 1, 1, 2, 1);
    rlx_lowering_trust(b, 0, 3, 1, 3);
}

/* Groups of heads must be whole: checked where inference trusts it. */
static void require_groups(attention *a, const rlx_lowering_tensor *of)
{
    rlx_tir *t = &a->b.t;
    const rlx_prim *zero = rlx_tir_int(t, 0), *rest;
    if (size(&a->q, 2) == size(of, 2))
        return;
    rlx_lowering_require(&a->b, rlx_tir_gt(t, size(of, 2), zero),
                         RLX_ASSERTION_SIZES, "there are no heads of keys or values");
    rest = rlx_tir_floor_mod(t, size(&a->q, 2), size(of, 2));
    rlx_lowering_require(&a->b, rlx_tir_eq(t, rest, zero),
                         RLX_ASSERTION_SIZES, "the heads do not divide into groups");
}

static bool check_bias(attention *a)
{
    const rlx_lowering_list want = {
        .at = { size(&a->q, 0), size(&a->q, 2), size(&a->q, 1), size(&a->k, 1) }, .n = 4
    };
    rlx_tir *t = &a->b.t;
    for (size_t i = 0; i < 4; i++) {
        const rlx_prim *have = size(&a->bias, i);
        if (have != want.at[i] && !(i < 3 && rlx_is_int_value(have, 1)))
            rlx_lowering_require(&a->b,
                                 rlx_tir_or(t, rlx_tir_eq(t, have, want.at[i]),
                                            rlx_tir_eq(t, have, rlx_tir_int(t, 1))),
                                 RLX_ASSERTION_SIZES, "sizes do not broadcast");
    }
    return true;
}

static bool read_arguments(attention *a, rlx_lower_request *l)
{
    rlx_lowering *b = &a->b;
    a->has_bias = l->row->num_args == 4;
    a->var_len = l->row->num_args > 4;
    trust_sizes(a);
    if (!rlx_lowering_input(b, 0, &a->q) || !rlx_lowering_input(b, 1, &a->k) ||
        !rlx_lowering_input(b, 2, &a->v))
        return false;
    if (!rlx_lowering_is_float(a->q.dtype) || a->k.dtype != a->q.dtype ||
        a->v.dtype != a->q.dtype)
        return rlx_lowering_refuse_dtype(b);
    if (a->q.shape.sizes.n != 4 || a->k.shape.sizes.n != 4 || a->v.shape.sizes.n != 4)
        return rlx_lowering_give_up(b, "the operator does not compute with these ranks");
    a->wide = rlx_lowering_accumulator(a->q.dtype);
    if (a->has_bias &&
        (!rlx_lowering_input(b, 3, &a->bias) || a->bias.shape.sizes.n != 4 || !check_bias(a)))
        return rlx_lowering_give_up(b, "the bias has no rank of 4");
    if (a->var_len &&
        (!rlx_lowering_input(b, 3, &a->starts_q) || !rlx_lowering_input(b, 4, &a->starts_k)))
        return false;
    if (a->var_len && (a->starts_q.shape.sizes.n != 1 || a->starts_k.shape.sizes.n != 1))
        return rlx_lowering_give_up(b, "the starts of sequences have no rank of 1");
    require_groups(a, &a->k);
    require_groups(a, &a->v);
    rlx_lowering_shape shape = { .program = { a->q.shape.program[0], a->q.shape.program[1],
                                              a->q.shape.program[2], a->v.shape.program[3] },
                                 .sizes = { .at = { size(&a->q, 0), size(&a->q, 1), size(&a->q, 2),
                                                    size(&a->v, 3) },
                                            .n = 4 } };
    return read_attrs(a, l) && rlx_lowering_output(b, &shape, &a->out);
}

const rlx_prim_func *rlx_lower_attention(rlx_lower_request *l)
{
    attention a = { .has_bias = false };
    rlx_lowering_begin(&a.b, l);
    rlx_tir *t = &a.b.t;
    if (!read_arguments(&a, l))
        return rlx_lowering_end(&a.b);
    a.most_rows = rows_of_tile(&a);
    if (a.var_len)
        sequence_block(&a);
    open_tile(&a);
    score_block(&a);
    mask_block(&a);
    fold_block(&a, "top", a.top, true);
    shift_block(&a);
    raise_block(&a);
    fold_block(&a, "total", a.total, false);
    product_block(&a);
    divide_block(&a);
    rlx_tir_end_block(t);
    return rlx_lowering_end(&a.b);
}
