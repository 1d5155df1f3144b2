/*- infer_layout.c: layout_transform: the sizes that follow from an index map.
 *
 * Each expression of the map has a span: its values are low, low + step, ... and lie below end.
 * A remainder counts in full, so tiles are whole and the last one is padded:
 *     i in 0 .. n:     i // 4   0 .. (n + 3) // 4      i % 4   0 .. 4      i * 2   0 .. 2 n, step 2
 * The size of the result is the end of the span, which has to begin at 0.
 */
/* built for size */
#include "op/op_int.h"

typedef struct span {
    const rlx_prim *low, *end;
    int64_t step; /* positive */
} span;

typedef struct mapping {
    rlx_infer *in;
    const rlx_index_map *map;
    const rlx_prim *const *dims;  /* of x */
    int budget;                   /* expressions still looked at: they may share parts */
} mapping;

#define MAX_EXPRESSIONS 1024
#define MAX_DEPTH 64

static const rlx_prim *number(const mapping *m, int64_t v)
{
    return rlx_int64(m->in->ctx, v);
}

/* NULL: out of memory, or literals whose result is no int64. */
static const rlx_prim *add_index(const mapping *m, const rlx_prim *a, const rlx_prim *b)
{
    int64_t x, y, sum;
    if (!a || !b || (rlx_int_literal(a, &x) && rlx_int_literal(b, &y) && !rlx_add_i64(x, y, &sum)))
        return NULL;
    return rlx_fold_add(m->in->ctx, a, b);
}

static const rlx_prim *mul(const mapping *m, const rlx_prim *a, int64_t factor)
{
    int64_t x, product;
    if (!a || (rlx_int_literal(a, &x) && !rlx_mul_i64(x, factor, &product)))
        return NULL;
    return rlx_fold_mul(m->in->ctx, a, number(m, factor));
}

static const rlx_prim *floor_div(const mapping *m, const rlx_prim *a, int64_t by)
{
    const rlx_prim *divisor = number(m, by);
    return a && divisor ? rlx_fold_binary(m->in->ctx, RLX_NODE_FLOOR_DIV, a, divisor) : NULL;
}

/* ---- spans of operations -------------------------------------------------------------------- */

static bool simplify_span(const mapping *m, span *s)
{
    s->low = s->low ? rlx_simplify(m->in->ctx, m->in->scope, s->low) : NULL;
    s->end = s->end ? rlx_simplify(m->in->ctx, m->in->scope, s->end) : NULL;
    return s->low && s->end;
}

/* The greatest values are end - step of each; the sum of these is the greatest. */
static bool add_spans(const mapping *m, span a, span b, span *out)
{
    int64_t gap;
    out->step = (int64_t)rlx_gcd((uint64_t)a.step, (uint64_t)b.step);
    if (!rlx_add_i64(out->step - a.step, -b.step, &gap))
        return false;
    out->low = add_index(m, a.low, b.low);
    out->end = rlx_is(a.end, RLX_NODE_INT_IMM)
                   ? add_index(m, b.end, add_index(m, a.end, number(m, gap)))
                   : add_index(m, a.end, add_index(m, b.end, number(m, gap)));
    return simplify_span(m, out);
}

/* From -(end - step) to -low, which lies below step - low. */
static bool negate_span(const mapping *m, span a, span *out)
{
    out->step = a.step;
    out->low = add_index(m, mul(m, a.end, -1), number(m, a.step));
    out->end = add_index(m, mul(m, a.low, -1), number(m, a.step));
    return simplify_span(m, out);
}

static bool scale_span(const mapping *m, span a, int64_t factor, span *out)
{
    if (factor < 0 && (factor == INT64_MIN || !negate_span(m, a, &a)))
        return false;
    factor = factor < 0 ? -factor : factor;
    if (factor == 0) {
        *out = (span){ number(m, 0), number(m, 1), 1 };
        return out->low && out->end;
    }
    if (!rlx_mul_i64(a.step, factor, &out->step))
        return false;
    out->low = mul(m, a.low, factor);
    out->end = mul(m, a.end, factor);
    return simplify_span(m, out);
}

/* The greatest quotient is (end - step) // by. */
static bool divide_span(const mapping *m, span a, int64_t by, span *out)
{
    out->step = a.step % by == 0 && rlx_is_int_value(a.low, 0) ? a.step / by : 1;
    out->low = floor_div(m, a.low, by);
    out->end = out->step > 1 || a.step == by
                   ? floor_div(m, a.end, by)
                   : floor_div(m, add_index(m, a.end, number(m, by - a.step)), by);
    return simplify_span(m, out);
}

static bool remainder_span(const mapping *m, span a, int64_t by, span *out)
{
    bool multiples = rlx_is_int_value(a.low, 0);
    if (multiples && a.step % by == 0)
        by = 1;
    *out = (span){ number(m, 0), number(m, by), multiples && by % a.step == 0 ? a.step : 1 };
    return out->low && out->end;
}

/* What the bounds of all indices say, if these are literal. */
static bool bounded_span(const mapping *m, const rlx_prim *index, span *out)
{
    rlx_scope ranges;
    int64_t low, high, size;
    bool literal = true;
    rlx_scope_init(&ranges, m->in->ctx, NULL);
    for (size_t i = 0; i < m->map->num_initial && literal; i++)
        literal = rlx_int_literal(m->dims[i], &size) && size > 0 &&
                  rlx_scope_bound(&ranges, rlx_as_prim_var(m->map->initial[i]), 0, size - 1);
    rlx_bounds(m->in->ctx, &ranges, index, &low, &high);
    rlx_scope_free(&ranges);
    if (!literal || low == INT64_MIN || high == INT64_MAX)
        return false;
    *out = (span){ number(m, low), number(m, high + 1), 1 };
    return out->low && out->end;
}

static bool span_of(mapping *m, const rlx_prim *index, int depth, span *out);

static bool binary_span(mapping *m, const rlx_binary *b, int depth, span *out)
{
    span x, y;
    int64_t literal;
    bool constant = rlx_int_literal(b->b, &literal);
    if (b->node.kind == RLX_NODE_MUL && !constant && rlx_int_literal(b->a, &literal))
        return span_of(m, b->b, depth, &y) && scale_span(m, y, literal, out);
    if (b->node.kind != RLX_NODE_ADD && b->node.kind != RLX_NODE_SUB && !constant)
        return false;
    if (!span_of(m, b->a, depth, &x))
        return false;
    switch (b->node.kind) {
    case RLX_NODE_MUL: return scale_span(m, x, literal, out);
    case RLX_NODE_FLOOR_DIV: return literal > 0 && divide_span(m, x, literal, out);
    case RLX_NODE_FLOOR_MOD: return literal > 0 && remainder_span(m, x, literal, out);
    case RLX_NODE_ADD: return span_of(m, b->b, depth, &y) && add_spans(m, x, y, out);
    case RLX_NODE_SUB:
        return span_of(m, b->b, depth, &y) && negate_span(m, y, &y) && add_spans(m, x, y, out);
    default: return false;
    }
}

/* False: not known. Depth is bounded, so recursion is. */
static bool span_of(mapping *m, const rlx_prim *index, int depth, span *out)
{
    int64_t literal;
    const rlx_binary *b = rlx_as_binary(index);
    if (m->budget-- <= 0 || depth == 0)
        return false;
    for (size_t i = 0; i < m->map->num_initial; i++)
        if (m->map->initial[i] == index) {
            *out = (span){ number(m, 0), m->dims[i], 1 };
            return out->low != NULL;
        }
    if (rlx_int_literal(index, &literal)) {
        *out = (span){ number(m, literal), add_index(m, number(m, literal), number(m, 1)), 1 };
        return out->low && out->end;
    }
    return (b && binary_span(m, b, depth - 1, out)) || bounded_span(m, index, out);
}

/* ---- the rule ------------------------------------------------------------------------------- */

/* Size `at` of the result. NULL: not known, or a report. */
static const rlx_prim *mapped_size(mapping *m, size_t at)
{
    rlx_infer *in = m->in;
    span s;
    int64_t end;
    const rlx_prim *zero = number(m, 0);
    if (!zero || !span_of(m, m->map->final[at], MAX_DEPTH, &s))
        return NULL;
    enum rlx_answer begins = rlx_infer_equal(in, s.low, zero);
    if (begins == RLX_DIFFERENT)
        return rlx_infer_fail(in, "index %zu of the result begins at %s, expected 0", at,
                              rlx_show(in->ctx, s.low)),
               NULL;
    if (begins != RLX_EQUAL)
        return NULL;
    /* Where x is empty, sums of indices have no greatest value. */
    if (rlx_int_literal(s.end, &end))
        return end < 0 ? zero : s.end;
    if (rlx_prove_compare(in->ctx, in->scope, RLX_NODE_GE, s.end, zero) == RLX_TRUE)
        return s.end;
    return rlx_fold_binary(in->ctx, RLX_NODE_MAX, s.end, zero);
}

/* Fewer places than elements: two elements would share one. */
static bool has_places(rlx_infer *in, const rlx_prim *const *dims, size_t n, const rlx_dims *out)
{
    const rlx_prim *have = rlx_dims_total(in->ctx, dims, n, 1),
                   *places = rlx_dims_total(in->ctx, out->at, out->count, 1);
    if (!have || !places)
        return true;
    if (rlx_prove_compare(in->ctx, in->scope, RLX_NODE_LT, places, have) != RLX_TRUE)
        return true;
    return rlx_infer_fail(in, "the index map moves the %s elements of x to only %s places",
                          rlx_show(in->ctx, have), rlx_show(in->ctx, places)),
           false;
}

/* attributes index_map, pad_value, axis_separators, input_axis_separators */
const rlx_sinfo *rlx_infer_layout_transform(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_index_map *map = rlx_as_index_map(rlx_infer_attr(in, 0));
    const rlx_prim_value *pad = rlx_as_prim_value(rlx_infer_attr(in, 1));
    if (!x)
        return NULL;
    if (!map)
        return rlx_infer_fail(in, "index_map is no index map");
    if (pad && !rlx_dtype_is_void(x->dtype) && rlx_prim_dtype(pad->value) != x->dtype)
        return rlx_infer_fail(in, "pad_value differs in dtype from x, which is %s",
                              rlx_show(in->ctx, &x->node));
    if (x->ndim >= 0 && (size_t)x->ndim != map->num_initial)
        return rlx_infer_fail(in, "x has rank %d, the index map takes %zu indices", x->ndim,
                              map->num_initial);
    rlx_dims out;
    size_t n;
    const rlx_prim *const *dims = rlx_shape_dims(x->shape, &n);
    if (!dims || !rlx_dims_init(in, &out, map->num_final))
        return dims ? NULL
                    : rlx_infer_rank_result(in, (int64_t)map->num_final, x->dtype, x->vdevice);
    mapping m = { in, map, dims, MAX_EXPRESSIONS };
    for (size_t i = 0; i < out.count; i++)
        if (!(out.at[i] = mapped_size(&m, i)))
            return in->failed
                       ? NULL
                       : rlx_infer_rank_result(in, (int64_t)out.count, x->dtype, x->vdevice);
    if (!has_places(in, dims, n, &out))
        return NULL;
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}
