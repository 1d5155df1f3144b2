/*- convert_linear_attention.c: attention whose keys and values are summed up in a matrix.
 *
 *     S = exp(decay) S                          gated rules
 *     v = beta (v - k S)                        delta rules
 *     S = S + k^T v,    o = scale q S           for each step of the sequence
 *
 * S has shape (batch, heads of keys, size of a key, size of a value). Queries that share a head of keys are
 * rows of one matrix. All is computed in float32 at least.
 */
#include "onnx/onnx_int.h"

#include <math.h>

enum { MOST_STEPS = 64 }; /* in a row; more are a function that calls itself */

typedef struct sums {
    /* a first axis for the steps, then (batch, heads of keys, rows, columns) */
    const rlx_expr *q, *k, *k_row, *v, *decay, *beta;
    const rlx_prim *batch, *length, *key, *value; /* sizes */
    int64_t q_heads, kv_heads;
    rlx_dtype dtype, wide;
} sums;

static const rlx_prim *over(rlx_onnx_conv *c, const rlx_prim *size, int64_t by)
{
    return rlx_onnx_simplify(
        c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, size, rlx_int64(c->ctx, by)));
}

/* Operand i, (batch, length, size), NULL if it is left out. *size: of its last axis */
static const rlx_expr *read_operand(rlx_onnx_conv *c, sums *s, size_t i, const rlx_prim **size)
{
    size_t n;
    const rlx_expr *x = rlx_onnx_of_rank(c, rlx_onnx_input(c, i), 3);
    const rlx_prim *const *d = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!d || n != 3)
        return !c->failed ? rlx_onnx_fail(c, RLX_ON05, "operand %zu is not of rank 3", i) : NULL;
    if (i == 0) {
        s->batch = d[0];
        s->length = d[1];
    }
    *size = d[2];
    return rlx_onnx_cast(c, x, s->wide);
}

/* (batch, length, size) to (length, batch, heads, rows, columns) */
static const rlx_expr *by_steps(rlx_onnx_conv *c, const sums *s, const rlx_expr *x,
                                const rlx_prim *heads, const rlx_prim *rows,
                                const rlx_prim *columns)
{
    static const int64_t steps_first[] = { 1, 0, 2, 3, 4 };
    const rlx_prim *five[] = { s->batch, s->length, heads, rows, columns };
    return rlx_onnx_transpose(c, rlx_onnx_reshape(c, x, five, 5), steps_first, 5);
}

static const rlx_expr *scaled_query(rlx_onnx_conv *c, const sums *s, const rlx_expr *q)
{
    double scale = rlx_onnx_float(c, "scale", 0);
    int64_t size;
    if (scale == 0 && !rlx_int_literal(s->key, &size))
        return rlx_onnx_fail(c, RLX_ON08, "the size of a head has to be known, or the scale");
    if (scale == 0)
        scale = 1 / sqrt((double)size);
    return rlx_onnx_call2(c, "multiply", q, rlx_onnx_scalar(c, s->wide, scale));
}

static bool read_rule(rlx_onnx_conv *c, bool *gated, bool *delta)
{
    rlx_slice rule = rlx_onnx_string(c, "update_rule", "gated_delta");
    bool both = rlx_slice_is(rule, "gated_delta");
    *gated = both || rlx_slice_is(rule, "gated");
    *delta = both || rlx_slice_is(rule, "delta");
    if (!*gated && !*delta && !rlx_slice_is(rule, "linear"))
        return rlx_onnx_fail(c, RLX_ON05, "there is no such update_rule") != NULL;
    if (rlx_onnx_has(c, 4) != *gated)
        return rlx_onnx_fail(c, RLX_ON05, "decay (operand 4) %s by its update_rule",
                             *gated ? "is wanted" : "has no meaning") != NULL;
    if (rlx_onnx_has(c, 5) != *delta)
        return rlx_onnx_fail(c, RLX_ON05, "beta (operand 5) %s by its update_rule",
                             *delta ? "is wanted" : "has no meaning") != NULL;
    return true;
}

static bool read_sums(rlx_onnx_conv *c, sums *s)
{
    bool gated, delta;
    const rlx_prim *one = rlx_int64(c->ctx, 1), *nq, *nk, *nv, *n;
    const rlx_expr *q = rlx_onnx_input(c, 0), *k, *v, *e;
    s->q_heads = rlx_onnx_int(c, "q_num_heads", 0);
    s->kv_heads = rlx_onnx_int(c, "kv_num_heads", 0);
    if (!q || !read_rule(c, &gated, &delta))
        return false;
    if (s->kv_heads < 1 || s->q_heads < 1 || s->q_heads % s->kv_heads)
        return rlx_onnx_fail(c, RLX_ON05, "q_num_heads is no multiple of kv_num_heads") != NULL;
    s->dtype = rlx_onnx_dtype_of(c, q);
    s->wide = s->dtype == RELAX_FLOAT64 ? RELAX_FLOAT64 : RELAX_FLOAT32;
    q = read_operand(c, s, 0, &nq);
    k = read_operand(c, s, 1, &nk);
    v = read_operand(c, s, 2, &nv);
    if (!q || !k || !v)
        return false;
    const rlx_prim *heads = rlx_int64(c->ctx, s->kv_heads),
                   *group = rlx_int64(c->ctx, s->q_heads / s->kv_heads);
    s->key = over(c, nq, s->q_heads);
    s->value = over(c, nv, s->kv_heads);
    s->q = by_steps(c, s, scaled_query(c, s, q), heads, group, s->key);
    s->k = by_steps(c, s, k, heads, s->key, one);
    s->k_row = by_steps(c, s, k, heads, one, s->key);
    s->v = by_steps(c, s, v, heads, one, s->value);
    if (gated) { /* for each head, or each of its places */
        e = read_operand(c, s, 4, &n);
        s->decay = e ? by_steps(c, s, rlx_onnx_call1(c, "exp", e), heads, over(c, n, s->kv_heads), one)
                     : NULL;
    }
    if (delta) { /* for each head, or one for all */
        e = read_operand(c, s, 5, &n);
        s->beta = e ? by_steps(c, s, e, n, one, one) : NULL;
    }
    return !c->failed;
}

static const rlx_expr *at(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *step)
{
    return rlx_onnx_call(c, "take", "x x axis=i", x, step, (int64_t)0);
}

/* The state after a step; *row is what the step gives. */
static const rlx_expr *one_step(rlx_onnx_conv *c, const sums *s, const rlx_expr *step,
                                const rlx_expr *state, const rlx_expr **row)
{
    const rlx_expr *v = at(c, s->v, step);
    if (s->decay)
        state = rlx_onnx_call2(c, "multiply", state, at(c, s->decay, step));
    if (s->beta) {
        const rlx_expr *held = rlx_onnx_call2(c, "matmul", at(c, s->k_row, step), state);
        v = rlx_onnx_call2(c, "subtract", v, held);
        v = rlx_onnx_call2(c, "multiply", at(c, s->beta, step), v);
    }
    state = rlx_onnx_call2(c, "add", state, rlx_onnx_call2(c, "multiply", at(c, s->k, step), v));
    *row = rlx_onnx_call2(c, "matmul", at(c, s->q, step), state);
    return state;
}

static bool step_of_function(rlx_onnx_conv *c, const void *user, const rlx_expr *i,
                             const rlx_expr *const *carried, const rlx_expr **out)
{
    out[0] = one_step(c, user, i, carried[0], &out[1]);
    return !c->failed;
}

static const rlx_expr *first_state(rlx_onnx_conv *c, const sums *s, rlx_dtype *dtype)
{
    const rlx_prim *d[] = { s->batch, rlx_int64(c->ctx, s->kv_heads), s->key, s->value };
    *dtype = s->dtype;
    if (!rlx_onnx_has(c, 3))
        return rlx_onnx_full(c, d, 4, s->wide, 0);
    const rlx_expr *e = rlx_onnx_input(c, 3);
    if (!e)
        return NULL;
    *dtype = rlx_onnx_dtype_of(c, e);
    e = rlx_onnx_cast(c, e, s->wide);
    const rlx_sinfo *want =
        rlx_tensor_info(c->ctx, rlx_shape_new(c->ctx, d, 4), s->wide, 4, NULL);
    const rlx_tensor_sinfo *t = e ? rlx_onnx_info(c, e) : NULL;
    return t && &t->node == want ? e : rlx_onnx_match(c, e, want);
}

/* The rows of `count` steps, along a first axis. */
static const rlx_expr *run_row(rlx_onnx_conv *c, const sums *s, int64_t count,
                               const rlx_expr **state)
{
    int64_t front = 0;
    const rlx_expr **rows = rlx_onnx_array(c, (size_t)count, sizeof *rows);
    for (int64_t i = 0; rows && i < count && !c->failed; i++) {
        *state = one_step(c, s, rlx_onnx_scalar(c, RELAX_INT64, (double)i), *state, &rows[i]);
        rows[i] = rlx_onnx_expand_dims(c, rows[i], &front, 1);
    }
    return rows && !c->failed ? rlx_onnx_concat(c, rows, (size_t)count, 0) : NULL;
}

static const rlx_expr *run_function(rlx_onnx_conv *c, const sums *s, const rlx_expr **state)
{
    static const size_t only[] = { 0 };
    const rlx_expr *size = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &s->length, 1));
    rlx_onnx_value *carried[1] = { rlx_onnx_value_of(c, *state) }, *results[2] = { NULL, NULL };
    rlx_onnx_loop l = { .step = step_of_function,
                        .user = s,
                        .count = s->length,
                        .carried = carried,
                        .num_carried = 1,
                        .rows = only,
                        .num_rows = 1 };
    l.limit = rlx_onnx_reshape_ints(c, size, NULL, 0);
    if (c->failed || !l.limit || !rlx_onnx_loop_function(c, &l, results))
        return NULL;
    *state = results[0]->expr;
    return results[1]->expr;
}

RLX_ONNX_CONVERTER(convert_linear_attention)
{
    static const int64_t batch_first[] = { 1, 0, 2, 3, 4 };
    sums s = { .q = NULL };
    rlx_dtype kept;
    int64_t count;
    if (!read_sums(c, &s))
        return false;
    const rlx_expr *state = first_state(c, &s, &kept);
    bool few = rlx_int_literal(s.length, &count) && count > 0 && count <= MOST_STEPS;
    const rlx_expr *y = !state ? NULL : few ? run_row(c, &s, count, &state) : run_function(c, &s, &state);
    if (!y)
        return false;
    const rlx_prim *heads = rlx_int64(c->ctx, s.q_heads);
    const rlx_prim *three[] = { s.batch, s.length,
                                rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, heads, s.value)) };
    y = rlx_onnx_reshape(c, rlx_onnx_transpose(c, y, batch_first, 5), three, 3);
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, y, s.dtype)) &&
           (!rlx_onnx_wants(c, 1) || rlx_onnx_output(c, 1, rlx_onnx_cast(c, state, kept)));
}
