/* lower_reduce.c: sums, extremes, positions, softmax. Narrow floats accumulate in float32, in a
 * temporary. */
/* built for size */
#include "op/lower_int.h"

typedef struct reduction {
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    bool marked[RLX_LOW_RANK];    /* axes of x that are reduced */
    bool keepdims;
    rlx_lowering_list kept; /* sizes of the axes that stay */
} reduction;

/* Axes in range: inference has checked them, unless it did not know the rank. */
static bool mark_axes(rlx_lowering *b, const rlx_attr *list, size_t ndim, bool *marked)
{
    bool all = rlx_attr_is_none(list);
    memset(marked, all, RLX_LOW_RANK * sizeof *marked);
    for (size_t i = 0; !all && i < rlx_attr_count(list); i++) {
        int64_t axis = rlx_attr_item(list, i);
        axis += axis < 0 ? (int64_t)ndim : 0;
        if (axis < 0 || axis >= (int64_t)ndim)
            return rlx_lowering_give_up(b, "an axis is out of range");
        marked[axis] = true;
    }
    return true;
}

/* Result sizes in the program and the kernel: reduced axes dropped or 1. */
static void reduced_shape(reduction *r, rlx_lowering_shape *out)
{
    const rlx_lowering_shape *x = &r->x.shape;
    memset(out, 0, sizeof *out);
    r->kept.n = 0;
    for (size_t i = 0; i < x->sizes.n; i++) {
        if (!r->marked[i])
            r->kept.at[r->kept.n++] = x->sizes.at[i];
        if (r->marked[i] && !r->keepdims)
            continue;
        out->program[out->sizes.n] = r->marked[i] ? rlx_int64(r->b.l->ctx, 1) : x->program[i];
        out->sizes.at[out->sizes.n++] = r->marked[i] ? rlx_tir_int(&r->b.t, 1) : x->sizes.at[i];
    }
}

static bool begin(reduction *r, rlx_lower_request *l)
{
    rlx_lowering_shape shape;
    memset(r, 0, sizeof *r);
    rlx_lowering_begin(&r->b, l);
    if (!rlx_lowering_input(&r->b, 0, &r->x) ||
        !mark_axes(&r->b, rlx_lowering_attr(l, 0), r->x.shape.sizes.n, r->marked))
        return false;
    r->keepdims = rlx_attr_as_bool(rlx_lowering_attr(l, 1), false);
    reduced_shape(r, &shape);
    return rlx_lowering_output(&r->b, &shape, &r->out);
}

/* Index of a temporary (kept axes only), and of the result, for an index of x. */
static rlx_lowering_list kept_index(const reduction *r, const rlx_lowering_list *index)
{
    rlx_lowering_list k = { .n = 0 };
    for (size_t i = 0; i < index->n; i++)
        if (!r->marked[i])
            k.at[k.n++] = index->at[i];
    return k;
}

static rlx_lowering_list out_index(reduction *r, const rlx_lowering_list *kept)
{
    rlx_lowering_list k = { .n = 0 };
    for (size_t i = 0, from = 0; i < r->x.shape.sizes.n; i++) {
        if (!r->marked[i])
            k.at[k.n++] = kept->at[from++];
        else if (r->keepdims)
            k.at[k.n++] = rlx_tir_int(&r->b.t, 0);
    }
    return k;
}

static const rlx_prim *element(reduction *r, const rlx_lowering_list *index, rlx_dtype t)
{
    return rlx_tir_cast(&r->b.t, t, rlx_tir_load(&r->b.t, r->x.buffer, rlx_lowering_items(index)));
}

static void require_some(reduction *r, const char *message)
{
    const rlx_prim *count = rlx_lowering_product(&r->b, &r->x.shape.sizes, r->marked);
    int64_t v;
    if (rlx_int_literal(count, &v) && v > 0)
        return;
    rlx_lowering_require(&r->b, rlx_tir_gt(&r->b.t, count, rlx_tir_int(&r->b.t, 0)),
                         RLX_ASSERTION_VALUE, message);
}

/* ---- some runs at a time ---------------------------------------------------------------------- */

/* Of an axis that is reduced, and what is behind it: a run for each index of those in front. So many runs are a part; parts of the axis before.
 * all: elements. Sizes that are too many are a very large number. */
typedef struct axis_runs { size_t axis; int64_t all, steps, inner, runs, parts; } axis_runs;

/* False: it is not one axis with another in front, or sizes are not known. */
static bool find_axis(const reduction *r, axis_runs *out)
{
    const rlx_lowering_list *sizes = &r->x.shape.sizes;
    int64_t marks = 0, size;
    *out = (axis_runs){ .inner = 1, .all = 1 };
    for (size_t i = 0; i < sizes->n; i++) {
        if (!rlx_int_literal(sizes->at[i], &size) || size < 1)
            return false;
        if (r->marked[i])
            out->axis = i, out->steps = size, marks++;
        out->inner = r->marked[i] ? 1 : size < INT32_MAX / out->inner ? out->inner * size : INT32_MAX;
        out->all = size < INT32_MAX / out->all ? out->all * size : INT32_MAX;
    }
    return marks == 1 && out->axis > 0;
}

/* Runs of a part: `most` at most. */
static void divide_runs(const reduction *r, axis_runs *a, int64_t most)
{
    int64_t before = 1;
    (void)rlx_int_literal(r->x.shape.sizes.at[a->axis - 1], &before);
    a->runs = most < before ? most : before;
    while (a->runs > 1 && before % a->runs)
        a->runs--;
    a->parts = a->runs > 0 ? before / a->runs : 0;
}

/* The index of x for one of the loops around parts: a run of the part, a step (NULL: none), and what follows the axis. */
static rlx_lowering_list run_index(reduction *r, const axis_runs *a, const rlx_lowering_list *around, const rlx_prim *run, const rlx_prim *k,
                                   const rlx_prim *const *rest)
{
    rlx_lowering_list at = *around;
    const rlx_prim *first = rlx_tir_mul(&r->b.t, around->at[a->axis - 1], rlx_tir_int(&r->b.t, a->runs));
    at.at[a->axis - 1] = rlx_tir_add(&r->b.t, first, run);
    if (k)
        at.at[at.n++] = k;
    for (size_t i = a->axis + 1; i < r->x.shape.sizes.n; i++)
        at.at[at.n++] = *rest++;
    return at;
}

/* Opens the loops over parts. box: sizes of a part, runs first, then steps and what follows. */
static void open_runs(reduction *r, const axis_runs *a, rlx_lowering_list *around, rlx_lowering_list *box)
{
    const rlx_lowering_list *sizes = &r->x.shape.sizes;
    rlx_lowering_list outer = { .n = a->axis };
    memcpy(outer.at, sizes->at, outer.n * sizeof *outer.at);
    outer.at[a->axis - 1] = rlx_tir_int(&r->b.t, a->parts);
    *box = (rlx_lowering_list){ { rlx_tir_int(&r->b.t, a->runs) }, 1 };
    for (size_t i = a->axis; i < sizes->n; i++)
        box->at[box->n++] = sizes->at[i];
    rlx_lowering_open(&r->b, "runs", &outer, around);
}

/* ---- folding one value per place ------------------------------------------------------------ */

typedef const rlx_prim *(*fold_fn)(rlx_tir *t, const rlx_prim *so_far, const rlx_prim *x);

static const rlx_prim *fold_add(rlx_tir *t, const rlx_prim *a, const rlx_prim *x)
{
    return rlx_tir_add(t, a, x);
}
static const rlx_prim *fold_mul(rlx_tir *t, const rlx_prim *a, const rlx_prim *x)
{
    return rlx_tir_mul(t, a, x);
}
static const rlx_prim *fold_max(rlx_tir *t, const rlx_prim *a, const rlx_prim *x)
{
    return rlx_tir_max(t, a, x);
}
static const rlx_prim *fold_min(rlx_tir *t, const rlx_prim *a, const rlx_prim *x)
{
    return rlx_tir_min(t, a, x);
}
static const rlx_prim *fold_or(rlx_tir *t, const rlx_prim *a, const rlx_prim *x)
{
    return rlx_tir_or(t, a, x);
}
static const rlx_prim *fold_and(rlx_tir *t, const rlx_prim *a, const rlx_prim *x)
{
    return rlx_tir_and(t, a, x);
}

/* One block: target starts as `first`, then takes every element. to_out: target is indexed like
 * the result. */
static void fold_block(reduction *r, const char *name, const rlx_buffer *target, bool to_out,
                       rlx_dtype t, const rlx_prim *first, fold_fn fold)
{
    rlx_lowering_list index;
    rlx_lowering_open_reduce(&r->b, name, &r->x.shape.sizes, r->marked, &index);
    rlx_lowering_list at = kept_index(r, &index);
    at = to_out ? out_index(r, &at) : at;
    if (fold == fold_add)
        rlx_lowering_partial_sums(&r->b, t);
    rlx_tir_init(&r->b.t, target, rlx_lowering_items(&at), first);
    const rlx_prim *so_far = rlx_tir_load(&r->b.t, target, rlx_lowering_items(&at));
    rlx_tir_store(&r->b.t, target, rlx_lowering_items(&at),
                  fold(&r->b.t, so_far, element(r, &index, t)));
    rlx_tir_end_block(&r->b.t);
}

static const rlx_prim *start_value(rlx_tir *t, enum rlx_fold which, rlx_dtype dtype)
{
    if (which == RLX_FOLD_MAX)
        return rlx_lowering_is_float(dtype) ? rlx_tir_infinity(t, dtype, true)
                                            : rlx_tir_lowest(t, dtype);
    if (which == RLX_FOLD_MIN)
        return rlx_lowering_is_float(dtype) ? rlx_tir_infinity(t, dtype, false)
                                            : rlx_tir_highest(t, dtype);
    return rlx_tir_number(t, dtype, which == RLX_FOLD_PROD);
}

static fold_fn fold_of(enum rlx_fold which, rlx_dtype t)
{
    bool logical = rlx_dtype_is_bool(t);
    switch (which) {
    case RLX_FOLD_SUM: return logical ? fold_or : fold_add;
    case RLX_FOLD_PROD: return logical ? fold_and : fold_mul;
    case RLX_FOLD_MAX: return logical ? fold_or : fold_max;
    default: return logical ? fold_and : fold_min;
    }
}

/* The result from a temporary of the kept sizes: value(temporary[...]) */
static void finish_block(reduction *r, const char *name, const rlx_buffer *temporary,
                         const rlx_prim *(*value)(reduction *r, const rlx_prim *v))
{
    rlx_lowering_list index;
    rlx_lowering_open(&r->b, name, &r->kept, &index);
    rlx_lowering_list at = out_index(r, &index);
    rlx_tir_store(&r->b.t, r->out.buffer, rlx_lowering_items(&at),
                  value(r, rlx_tir_load(&r->b.t, temporary, rlx_lowering_items(&index))));
    rlx_tir_end_block(&r->b.t);
}

static const rlx_prim *converted(reduction *r, const rlx_prim *v)
{
    return rlx_tir_cast(&r->b.t, r->out.dtype, v);
}

/*- Least floats, some runs at a time: maxima are what sets of instructions have in vectors, and NaN and the signs of zeros come out alike.
 *
 *     for some i:   negative[i, k, j] = x[i, k, j] * -1        out[i, j] = max over k of negative[i, k, j] * -1
 */
static bool are_maxima_better(const reduction *r, axis_runs *a)
{
    enum { NEAR = 8192, SHORT = 64, FAR = 256, FEW = 2048 };
    if (r->x.dtype != RELAX_FLOAT32 || !find_axis(r, a) || a->all < FEW || (a->inner == 1 ? a->steps > SHORT : a->inner >= FAR))
        return false;
    divide_runs(r, a, NEAR / a->inner / a->steps);
    return a->runs > 0;
}

static const rlx_prim *negative(rlx_tir *t, const rlx_prim *x) { return rlx_tir_mul(t, x, rlx_tir_number(t, RELAX_FLOAT32, -1)); }

/* Of a list for runs, steps and what follows the axis, what is left without steps. */
static rlx_lowering_list without_steps(const rlx_lowering_list *all)
{
    rlx_lowering_list left = *all;
    memmove(left.at + 1, left.at + 2, (--left.n - 1) * sizeof *left.at);
    return left;
}

static void fold_negative(reduction *r, const axis_runs *a)
{
    rlx_tir *t = &r->b.t;
    rlx_lowering_list around, box, index, kept, at;
    open_runs(r, a, &around, &box);
    kept = without_steps(&box);
    const rlx_buffer *from = rlx_tir_alloc(t, "negative", RELAX_FLOAT32, rlx_lowering_items(&box)),
                     *top = rlx_tir_alloc(t, "top", RELAX_FLOAT32, rlx_lowering_items(&kept));
    rlx_lowering_open(&r->b, "negative", &box, &index);
    at = run_index(r, a, &around, index.at[0], index.at[1], index.at + 2);
    rlx_tir_store(t, from, rlx_lowering_items(&index), negative(t, rlx_tir_load(t, r->x.buffer, rlx_lowering_items(&at))));
    rlx_tir_end_block(t);
    const bool second[RLX_LOW_RANK] = { false, true };
    rlx_lowering_open_reduce(&r->b, r->b.l->name.data, &box, second, &index);
    at = without_steps(&index);
    rlx_tir_init(t, top, rlx_lowering_items(&at), start_value(t, RLX_FOLD_MAX, RELAX_FLOAT32));
    rlx_tir_store(t, top, rlx_lowering_items(&at),
                  rlx_tir_max(t, rlx_tir_load(t, top, rlx_lowering_items(&at)), rlx_tir_load(t, from, rlx_lowering_items(&index))));
    rlx_tir_end_block(t);
    rlx_lowering_open(&r->b, "result", &kept, &index);
    at = run_index(r, a, &around, index.at[0], NULL, index.at + 1);
    at = out_index(r, &at);
    rlx_tir_store(t, r->out.buffer, rlx_lowering_items(&at), negative(t, rlx_tir_load(t, top, rlx_lowering_items(&index))));
    rlx_tir_end_block(t);
    rlx_tir_end_block(t);
}

static void fold_all(reduction *r)
{
    enum rlx_fold which = (enum rlx_fold)r->b.l->row->member.number;
    rlx_dtype t = rlx_lowering_accumulator(r->x.dtype);
    const char *name = r->b.l->name.data;
    const rlx_prim *first =
        rlx_dtype_is_bool(t)
            ? rlx_tir_number(&r->b.t, t, which == RLX_FOLD_PROD || which == RLX_FOLD_MIN)
            : start_value(&r->b.t, which, t);
    if (which == RLX_FOLD_MAX || which == RLX_FOLD_MIN)
        require_some(r, which == RLX_FOLD_MAX ? "maximum of nothing" : "minimum of nothing");
    axis_runs runs;
    if (which == RLX_FOLD_MIN && are_maxima_better(r, &runs)) {
        fold_negative(r, &runs);
        return;
    }
    if (t == r->x.dtype) {
        fold_block(r, name, r->out.buffer, true, t, first, fold_of(which, t));
        return;
    }
    const rlx_buffer *wide = rlx_tir_alloc(&r->b.t, "wide", t, rlx_lowering_items(&r->kept));
    fold_block(r, name, wide, false, t, first, fold_of(which, t));
    finish_block(r, "narrow", wide, converted);
}

/* ---- mean, variance, std -------------------------------------------------------------------- */

/* Sums of integers must not wrap before they are divided. */
static rlx_dtype mean_dtype(const reduction *r)
{
    rlx_dtype t = r->x.dtype;
    if (rlx_lowering_is_float(t))
        return rlx_lowering_accumulator(t);
    return rlx_dtype_code(t) == RELAX_DTYPE_UINT ? RELAX_UINT64 : RELAX_INT64;
}

static const rlx_prim *divided(reduction *r, const rlx_prim *sum)
{
    rlx_dtype t = rlx_prim_dtype(sum);
    const rlx_prim *count =
        rlx_tir_cast(&r->b.t, t, rlx_lowering_product(&r->b, &r->x.shape.sizes, r->marked));
    const rlx_prim *q = rlx_tir_div(&r->b.t, sum, count);
    return rlx_dtype_is_bool(r->out.dtype) ? rlx_tir_ne(&r->b.t, q, rlx_tir_number(&r->b.t, t, 0))
                                           : converted(r, q);
}

static void mean_all(reduction *r)
{
    rlx_dtype t = mean_dtype(r);
    const rlx_buffer *sum = rlx_tir_alloc(&r->b.t, "sum", t, rlx_lowering_items(&r->kept));
    fold_block(r, "sum", sum, false, t, rlx_tir_number(&r->b.t, t, 0), fold_add);
    finish_block(r, "mean", sum, divided);
}

static const rlx_prim *root_of_divided(reduction *r, const rlx_prim *sum)
{
    rlx_dtype t = rlx_prim_dtype(sum);
    const rlx_prim *count =
        rlx_tir_cast(&r->b.t, t, rlx_lowering_product(&r->b, &r->x.shape.sizes, r->marked));
    return converted(r, rlx_tir_call1(&r->b.t, "sqrt", rlx_tir_div(&r->b.t, sum, count)));
}

/* Two passes: the mean, then the mean of squared distances from it. Integers in float64. */
static void spread_all(reduction *r, const rlx_prim *(*value)(reduction *r, const rlx_prim *sum))
{
    rlx_tir *t = &r->b.t;
    rlx_dtype wide =
        rlx_lowering_is_float(r->x.dtype) ? rlx_lowering_accumulator(r->x.dtype) : RELAX_FLOAT64;
    const rlx_buffer *sum = rlx_tir_alloc(t, "sum", wide, rlx_lowering_items(&r->kept));
    const rlx_buffer *mean = rlx_tir_alloc(t, "mean", wide, rlx_lowering_items(&r->kept));
    const rlx_buffer *squares = rlx_tir_alloc(t, "squares", wide, rlx_lowering_items(&r->kept));
    const rlx_prim *zero = rlx_tir_number(t, wide, 0);
    rlx_lowering_list index;
    const rlx_prim *count =
        rlx_tir_cast(t, wide, rlx_lowering_product(&r->b, &r->x.shape.sizes, r->marked));
    fold_block(r, "sum", sum, false, wide, zero, fold_add);
    rlx_lowering_open(&r->b, "mean", &r->kept, &index);
    rlx_tir_store(t, mean, rlx_lowering_items(&index),
                  rlx_tir_div(t, rlx_tir_load(t, sum, rlx_lowering_items(&index)), count));
    rlx_tir_end_block(t);
    rlx_lowering_open_reduce(&r->b, "squares", &r->x.shape.sizes, r->marked, &index);
    rlx_lowering_list at = kept_index(r, &index);
    rlx_lowering_partial_sums(&r->b, wide);
    rlx_tir_init(t, squares, rlx_lowering_items(&at), zero);
    const rlx_prim *d =
        rlx_tir_sub(t, element(r, &index, wide), rlx_tir_load(t, mean, rlx_lowering_items(&at)));
    rlx_tir_store(
        t, squares, rlx_lowering_items(&at),
        rlx_tir_add(t, rlx_tir_load(t, squares, rlx_lowering_items(&at)), rlx_tir_mul(t, d, d)));
    rlx_tir_end_block(t);
    finish_block(r, r->b.l->name.data, squares, value);
}

const rlx_prim_func *rlx_lower_fold(rlx_lower_request *l)
{
    reduction r;
    if (begin(&r, l))
        fold_all(&r);
    return rlx_lowering_end(&r.b);
}

const rlx_prim_func *rlx_lower_mean(rlx_lower_request *l)
{
    reduction r;
    if (begin(&r, l))
        mean_all(&r);
    return rlx_lowering_end(&r.b);
}

const rlx_prim_func *rlx_lower_std(rlx_lower_request *l)
{
    reduction r;
    if (begin(&r, l))
        spread_all(&r, root_of_divided);
    return rlx_lowering_end(&r.b);
}

const rlx_prim_func *rlx_lower_variance(rlx_lower_request *l)
{
    reduction r;
    if (begin(&r, l))
        spread_all(&r, divided);
    return rlx_lowering_end(&r.b);
}

/* ---- argmax, argmin ------------------------------------------------------------------------- */

/* Row-major position among the reduced axes. */
static const rlx_prim *position(reduction *r, const rlx_lowering_list *index)
{
    const rlx_prim *p = rlx_tir_int(&r->b.t, 0);
    for (size_t i = 0; i < index->n; i++)
        if (r->marked[i])
            p = rlx_tir_add(&r->b.t, rlx_tir_mul(&r->b.t, p, r->x.shape.sizes.at[i]),
                            index->at[i]);
    return p;
}

/* Does the best so far stay? Not where x is strictly better, so the first wins; the first NaN beats all numbers. */
static const rlx_prim *stays(rlx_tir *t, bool greatest, bool is_float, const rlx_prim *x, const rlx_prim *best)
{
    const rlx_prim *worse = greatest ? rlx_tir_le(t, x, best) : rlx_tir_ge(t, x, best); /* not, if one is NaN */
    return is_float ? rlx_tir_or(t, worse, rlx_tir_ne(t, best, best)) : worse;
}

/*- Along the last axis: the greatest element of a row first, then the least place that holds it. Both are one instruction.
 *
 *     top[i] = max over k of x[i, k]        place[i, k] = k where x[i, k] is that, else n        out[i] = min over k of place[i, k]
 */
enum { SHORTEST_ARG_ROW = 32 };

/* What rows are compared in; void: they are not. */
static rlx_dtype arg_row_dtype(rlx_dtype t)
{
    bool small = rlx_dtype_bits(t) <= 16;
    return rlx_lowering_is_float(t)  ? rlx_lowering_accumulator(t)
           : small                   ? RELAX_INT32
           : t == RELAX_UINT64       ? RELAX_VOID
           : t == RELAX_UINT32       ? RELAX_INT64
                                     : t;
}

static bool is_arg_of_rows(const reduction *r)
{
    size_t n = r->x.shape.sizes.n;
    int64_t length;
    bool is = n > 1 && arg_row_dtype(r->x.dtype) != RELAX_VOID && rlx_int_literal(r->x.shape.sizes.at[n - 1], &length) &&
              length >= SHORTEST_ARG_ROW && length < INT32_MAX;
    for (size_t i = 0; i < n && is; i++)
        is = r->marked[i] == (i + 1 == n);
    return is;
}

/* A block that folds the elements of rows into one value for each. */
static void fold_rows(rlx_lowering_rows *rows, const char *name, const rlx_buffer *from, bool whole, const rlx_buffer *to,
                      const rlx_prim *first, fold_fn fold)
{
    rlx_tir *t = &rows->b->t;
    rlx_lowering_list index;
    rlx_lowering_rows_fold(rows, name, &index);
    rlx_lowering_list at = rlx_lowering_rows_kept(rows, &index), place = whole ? rlx_lowering_rows_whole(rows, &index) : index;
    rlx_tir_init(t, to, rlx_lowering_items(&at), first);
    rlx_tir_store(t, to, rlx_lowering_items(&at),
                  fold(t, rlx_tir_load(t, to, rlx_lowering_items(&at)), rlx_tir_load(t, from, rlx_lowering_items(&place))));
    rlx_tir_end_block(t);
}

/* to[inside] = value of x there, in rows of a tile. */
static const rlx_buffer *widen_rows(reduction *r, rlx_lowering_rows *rows, rlx_dtype wide)
{
    rlx_lowering_list index;
    const rlx_buffer *to = rlx_lowering_rows_alloc(rows, "wide", wide, false);
    rlx_lowering_open(&r->b, "wide", &rows->inside, &index);
    rlx_lowering_list from = rlx_lowering_rows_whole(rows, &index);
    rlx_tir_store(&r->b.t, to, rlx_lowering_items(&index), element(r, &from, wide));
    rlx_tir_end_block(&r->b.t);
    return to;
}

/* Is x as great, or as small, as it gets? Where that is NaN, the elements that are NaN. */
static const rlx_prim *is_top(rlx_tir *t, bool greatest, bool is_float, const rlx_prim *x, const rlx_prim *top)
{
    if (!is_float)
        return rlx_tir_eq(t, x, top);
    return rlx_tir_or(t, rlx_tir_call1(t, "isnan", x), greatest ? rlx_tir_ge(t, x, top) : rlx_tir_le(t, x, top));
}

static void arg_of_rows(reduction *r, enum rlx_fold which)
{
    rlx_tir *t = &r->b.t;
    rlx_lowering_rows rows;
    rlx_lowering_list index;
    const bool greatest = which == RLX_FOLD_MAX;
    const size_t last = r->x.shape.sizes.n - 1;
    const rlx_dtype wide = arg_row_dtype(r->x.dtype);
    const rlx_prim *none = rlx_tir_cast(t, RELAX_INT32, r->x.shape.sizes.at[last]);
    /* the numbers of places, once for all rows */
    const rlx_buffer *number = rlx_tir_alloc(t, "number", RELAX_INT32, RLX_TIR_LIST(r->x.shape.sizes.at[last]));
    rlx_lowering_list length = { { r->x.shape.sizes.at[last] }, 1 };
    rlx_lowering_open(&r->b, "number", &length, &index);
    rlx_tir_store(t, number, rlx_lowering_items(&index), rlx_tir_cast(t, RELAX_INT32, index.at[0]));
    rlx_tir_end_block(t);
    rlx_lowering_rows_begin(&rows, &r->b, &r->x.shape.sizes, r->marked, false);
    const bool whole = wide == r->x.dtype;
    const rlx_buffer *x = whole ? r->x.buffer : widen_rows(r, &rows, wide), *top = rlx_lowering_rows_alloc(&rows, "top", wide, true),
                     *place = rlx_lowering_rows_alloc(&rows, "place", RELAX_INT32, false),
                     *first = rlx_lowering_rows_alloc(&rows, "first", RELAX_INT32, true);
    fold_rows(&rows, "top", x, whole, top, start_value(t, which, wide), greatest ? fold_max : fold_min);
    rlx_lowering_open(&r->b, "place", &rows.inside, &index);
    rlx_lowering_list at = whole ? rlx_lowering_rows_whole(&rows, &index) : index, kept = rlx_lowering_rows_kept(&rows, &index);
    const rlx_prim *hit = is_top(t, greatest, rlx_lowering_is_float(wide), rlx_tir_load(t, x, rlx_lowering_items(&at)),
                                 rlx_tir_load(t, top, rlx_lowering_items(&kept)));
    rlx_tir_store(t, place, rlx_lowering_items(&index),
                  rlx_tir_select(t, hit, rlx_tir_load(t, number, RLX_TIR_LIST(index.at[index.n - 1])), none));
    rlx_tir_end_block(t);
    fold_rows(&rows, "first", place, false, first, none, fold_min);
    rlx_lowering_list sizes = rows.inside;
    sizes.at[sizes.n - 1] = rlx_tir_int(t, 1); /* one value for each row */
    rlx_lowering_open(&r->b, r->b.l->name.data, &sizes, &index);
    at = rlx_lowering_rows_whole(&rows, &index);
    kept = kept_index(r, &at);
    at = out_index(r, &kept);
    kept = rlx_lowering_rows_kept(&rows, &index);
    rlx_tir_store(t, r->out.buffer, rlx_lowering_items(&at),
                  rlx_tir_cast(t, r->out.dtype, rlx_tir_load(t, first, rlx_lowering_items(&kept))));
    rlx_tir_end_block(t);
    rlx_lowering_rows_end(&rows);
}

/* What places are counted in: half as wide as the result if that can be. */
static rlx_dtype place_dtype(reduction *r)
{
    int64_t count;
    return rlx_int_literal(rlx_lowering_product(&r->b, &r->x.shape.sizes, r->marked), &count) && count < INT32_MAX ? RELAX_INT32 : RELAX_INT64;
}

/* The axis that is reduced is the outermost loop, so that all others are one. */
static void open_turned(reduction *r, const rlx_lowering_list *sizes, rlx_lowering_list *index)
{
    char label[RLX_LOW_NAME];
    rlx_tir_begin_block(&r->b.t, r->b.l->name.data);
    index->n = sizes->n;
    for (size_t i = 0; i < sizes->n; i++) {
        rlx_lowering_name(label, i ? 'i' : 'k', i);
        index->at[i] = (i ? rlx_tir_spatial : rlx_tir_reduce)(&r->b.t, label, sizes->at[i]);
    }
}

/* The best so far of all places that stay, and where it was, element after element. turned: x with the axis that is reduced in front, which
 * is an index of `sizes`; NULL: x. */
static const rlx_buffer *find_places(reduction *r, enum rlx_fold which, const rlx_lowering_list *sizes, const bool *marked, const rlx_buffer *turned)
{
    rlx_tir *t = &r->b.t;
    const bool greatest = which == RLX_FOLD_MAX;
    const rlx_dtype wide = rlx_dtype_is_bool(r->x.dtype) ? RELAX_UINT8 : r->x.dtype, places = place_dtype(r);
    rlx_lowering_list kept = { .n = 0 }, index, at = { .n = 0 };
    for (size_t i = 0; i < sizes->n; i++)
        if (!marked[i])
            kept.at[kept.n++] = sizes->at[i];
    const rlx_buffer *place = rlx_tir_alloc(t, "place", places, rlx_lowering_items(&kept)),
                     *best = rlx_tir_alloc(t, "best", wide, rlx_lowering_items(&kept));
    if (turned)
        open_turned(r, sizes, &index);
    else
        rlx_lowering_open_reduce(&r->b, r->b.l->name.data, sizes, marked, &index);
    for (size_t i = 0; i < index.n; i++)
        if (!marked[i])
            at.at[at.n++] = index.at[i];
    rlx_tir_init(t, place, rlx_lowering_items(&at), rlx_tir_number(t, places, 0));
    rlx_tir_init(t, best, rlx_lowering_items(&at), start_value(t, which, wide));
    const rlx_prim *x = rlx_tir_let(t, "x", turned ? rlx_tir_load(t, turned, rlx_lowering_items(&index)) : element(r, &index, wide)),
                   *so_far = rlx_tir_load(t, best, rlx_lowering_items(&at)), *k = turned ? index.at[0] : position(r, &index);
    const rlx_prim *stay = rlx_tir_let(t, "stay", stays(t, greatest, rlx_lowering_is_float(wide), x, so_far));
    rlx_tir_store(t, place, rlx_lowering_items(&at),
                  rlx_tir_select(t, stay, rlx_tir_load(t, place, rlx_lowering_items(&at)), rlx_tir_cast(t, places, k)));
    rlx_tir_store(t, best, rlx_lowering_items(&at), greatest ? rlx_tir_max(t, so_far, x) : rlx_tir_min(t, so_far, x));
    rlx_tir_end_block(t);
    return place;
}

/*- Where places that are neighbours are few, several runs of them become one, or rows are turned:
 *
 *     for some i:   turned[k, i, j] = x[i, k, j]     then its places, which are long strips
 */
static bool find_runs(const reduction *r, axis_runs *a)
{
    enum { STRIP = 1024, NEAR = 32768, LEAST_RUNS = 4, LONGEST_ROW = 128 };
    if (rlx_dtype_is_bool(r->x.dtype) || !find_axis(r, a) || (a->inner == 1 && a->steps > LONGEST_ROW))
        return false;
    const int64_t strip = STRIP / a->inner, near = NEAR / a->inner / a->steps;
    divide_runs(r, a, strip < near ? strip : near);
    return a->runs >= LEAST_RUNS;
}

static void arg_of_runs(reduction *r, enum rlx_fold which, const axis_runs *a)
{
    rlx_tir *t = &r->b.t;
    rlx_lowering_list around, box, index;
    open_runs(r, a, &around, &box);
    const rlx_prim *runs = box.at[0];
    box.at[0] = box.at[1], box.at[1] = runs;
    const rlx_buffer *turned = rlx_tir_alloc(t, "turned", r->x.dtype, rlx_lowering_items(&box));
    rlx_lowering_open(&r->b, "turn", &box, &index);
    rlx_lowering_list at = run_index(r, a, &around, index.at[1], index.at[0], index.at + 2);
    rlx_tir_store(t, turned, rlx_lowering_items(&index), rlx_tir_load(t, r->x.buffer, rlx_lowering_items(&at)));
    rlx_tir_end_block(t);
    const bool first[RLX_LOW_RANK] = { true };
    const rlx_buffer *place = find_places(r, which, &box, first, turned);
    rlx_lowering_list kept = { .n = box.n - 1 };
    memcpy(kept.at, box.at + 1, kept.n * sizeof *kept.at);
    rlx_lowering_open(&r->b, "result", &kept, &index);
    at = run_index(r, a, &around, index.at[0], NULL, index.at + 1);
    at = out_index(r, &at);
    rlx_tir_store(t, r->out.buffer, rlx_lowering_items(&at), rlx_tir_cast(t, r->out.dtype, rlx_tir_load(t, place, rlx_lowering_items(&index))));
    rlx_tir_end_block(t);
    rlx_tir_end_block(t);
}

const rlx_prim_func *rlx_lower_arg_reduce(rlx_lower_request *l)
{
    reduction r;
    axis_runs runs;
    rlx_lowering_list index;
    if (!begin(&r, l))
        return rlx_lowering_end(&r.b);
    rlx_tir *t = &r.b.t;
    const enum rlx_fold which = (enum rlx_fold)l->row->member.number;
    require_some(&r, which == RLX_FOLD_MAX ? "position of the maximum of nothing" : "position of the minimum of nothing");
    if (find_runs(&r, &runs)) {
        arg_of_runs(&r, which, &runs);
        return rlx_lowering_end(&r.b);
    }
    if (is_arg_of_rows(&r)) {
        arg_of_rows(&r, which);
        return rlx_lowering_end(&r.b);
    }
    const rlx_buffer *place = find_places(&r, which, &r.x.shape.sizes, r.marked, NULL);
    rlx_lowering_open(&r.b, "result", &r.kept, &index);
    rlx_lowering_list to = out_index(&r, &index);
    rlx_tir_store(t, r.out.buffer, rlx_lowering_items(&to), rlx_tir_cast(t, r.out.dtype, rlx_tir_load(t, place, rlx_lowering_items(&index))));
    rlx_tir_end_block(t);
    return rlx_lowering_end(&r.b);
}

/* ---- softmax -------------------------------------------------------------------------------- */

/* exp(x - max) * (1 / sum), or x - max - log(sum): a row of -inf only gives NaN, as -inf - -inf does. */
typedef struct softmax {
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_lowering_rows r;
    rlx_dtype wide;
    bool logarithm;
    const rlx_buffer *widened, *top, *raised, *sum; /* widened NULL: x as it is */
    bool in_place;                                  /* raised is the result */
} softmax;

static const rlx_prim *softmax_element(softmax *s, const rlx_lowering_list *inside)
{
    rlx_lowering_list at = s->widened ? rlx_lowering_rows_at(&s->r, inside) : rlx_lowering_rows_whole(&s->r, inside);
    return rlx_tir_load(&s->b.t, s->widened ? s->widened : s->x.buffer, rlx_lowering_items(&at));
}

static const rlx_prim *softmax_kept(softmax *s, const rlx_buffer *of, const rlx_lowering_list *inside)
{
    rlx_lowering_list at = rlx_lowering_rows_kept(&s->r, inside);
    return rlx_tir_load(&s->b.t, of, rlx_lowering_items(&at));
}

static void softmax_widen(softmax *s)
{
    rlx_tir *t = &s->b.t;
    rlx_lowering_list index;
    s->widened = rlx_lowering_rows_alloc(&s->r, "wide", s->wide, false);
    rlx_lowering_open(&s->b, "wide", &s->r.inside, &index);
    rlx_lowering_list from = rlx_lowering_rows_whole(&s->r, &index), at = rlx_lowering_rows_at(&s->r, &index);
    rlx_tir_store(
        t, s->widened, rlx_lowering_items(&at),
        rlx_tir_cast(t, s->wide, rlx_tir_load(t, s->x.buffer, rlx_lowering_items(&from))));
    rlx_tir_end_block(t);
}

static void softmax_top(softmax *s)
{
    rlx_tir *t = &s->b.t;
    rlx_lowering_list index;
    rlx_lowering_rows_fold(&s->r, "max", &index);
    rlx_lowering_list at = rlx_lowering_rows_kept(&s->r, &index);
    rlx_tir_init(t, s->top, rlx_lowering_items(&at), rlx_tir_infinity(t, s->wide, true));
    rlx_tir_store(t, s->top, rlx_lowering_items(&at),
                  rlx_tir_max(t, rlx_tir_load(t, s->top, rlx_lowering_items(&at)),
                              softmax_element(s, &index)));
    rlx_tir_end_block(t);
}

/* exp(x - max) once for each element */
static void softmax_raise(softmax *s)
{
    rlx_tir *t = &s->b.t;
    rlx_lowering_list index;
    rlx_lowering_open(&s->b, "exp", &s->r.inside, &index);
    rlx_lowering_list at = s->in_place ? rlx_lowering_rows_whole(&s->r, &index) : rlx_lowering_rows_at(&s->r, &index);
    const rlx_prim *v =
        rlx_tir_sub(t, softmax_element(s, &index), softmax_kept(s, s->top, &index));
    rlx_tir_store(t, s->raised, rlx_lowering_items(&at), rlx_tir_call1(t, "exp", v));
    rlx_tir_end_block(t);
}

/* What the elements of a row are made with: log(sum), or 1 / sum. */
static void softmax_settle(softmax *s)
{
    rlx_tir *t = &s->b.t;
    rlx_lowering_list index, kept = rlx_lowering_rows_kept(&s->r, &s->r.inside);
    const char *name = s->logarithm ? "log" : "factor";
    const rlx_buffer *of = rlx_lowering_rows_alloc(&s->r, name, s->wide, true);
    rlx_lowering_open(&s->b, name, &kept, &index);
    const rlx_prim *sum = rlx_tir_load(t, s->sum, rlx_lowering_items(&index));
    rlx_tir_store(t, of, rlx_lowering_items(&index),
                  s->logarithm ? rlx_tir_call1(t, "log", sum)
                               : rlx_tir_div(t, rlx_tir_number(t, s->wide, 1), sum));
    rlx_tir_end_block(t);
    s->sum = of;
}

typedef const rlx_prim *binary_fn(rlx_tir *t, const rlx_prim *a, const rlx_prim *b);

/* out = of op row: the rest of the operator, or a part of it. */
static void softmax_store(softmax *s, binary_fn *op, const rlx_buffer *of, bool of_whole, const rlx_buffer *row)
{
    rlx_tir *t = &s->b.t;
    rlx_lowering_list index;
    rlx_lowering_open(&s->b, s->b.l->name.data, &s->r.inside, &index);
    rlx_lowering_list whole = rlx_lowering_rows_whole(&s->r, &index), at = rlx_lowering_rows_at(&s->r, &index);
    const rlx_prim *x = rlx_tir_load(t, of, rlx_lowering_items(of_whole ? &whole : &at));
    rlx_tir_store(t, s->r.turned ? of : s->out.buffer, rlx_lowering_items(s->r.turned ? &at : &whole), op(t, x, softmax_kept(s, row, &index)));
    rlx_tir_end_block(t);
}

/* A turned tile as the rows that it is. */
static void softmax_turn_back(softmax *s, const rlx_buffer *of)
{
    rlx_tir *t = &s->b.t;
    rlx_lowering_list index;
    rlx_lowering_open(&s->b, s->b.l->name.data, &s->r.inside, &index);
    rlx_lowering_list whole = rlx_lowering_rows_whole(&s->r, &index), at = rlx_lowering_rows_at(&s->r, &index);
    rlx_tir_store(t, s->out.buffer, rlx_lowering_items(&whole), rlx_tir_cast(t, s->out.dtype, rlx_tir_load(t, of, rlx_lowering_items(&at))));
    rlx_tir_end_block(t);
}

/* x - top, and that less the logarithm, each a function of the rows of a tile; in the narrow dtype it would be rounded in between. */
static void softmax_give_logarithm(softmax *s)
{
    rlx_tir *t = &s->b.t;
    rlx_lowering_list index;
    if (s->r.turned) {
        softmax_store(s, rlx_tir_sub, s->widened, false, s->top);
        softmax_store(s, rlx_tir_sub, s->widened, false, s->sum);
        softmax_turn_back(s, s->widened);
        return;
    }
    if (!s->widened && s->out.dtype == s->wide && s->r.tiled != SIZE_MAX) {
        softmax_store(s, rlx_tir_sub, s->x.buffer, true, s->top);
        softmax_store(s, rlx_tir_sub, s->out.buffer, true, s->sum);
        return;
    }
    rlx_lowering_open(&s->b, s->b.l->name.data, &s->r.inside, &index);
    rlx_lowering_list whole = rlx_lowering_rows_whole(&s->r, &index);
    const rlx_prim *v = rlx_tir_sub(t, softmax_element(s, &index), softmax_kept(s, s->top, &index));
    rlx_tir_store(t, s->out.buffer, rlx_lowering_items(&whole), rlx_tir_sub(t, v, softmax_kept(s, s->sum, &index)));
    rlx_tir_end_block(t);
}

/* Axes of one element behind those that are reduced are reduced, too: then the others are rows. */
static void mark_ones(const rlx_lowering_list *sizes, bool *marked)
{
    size_t last = sizes->n;
    while (last > 0 && !marked[last - 1] && rlx_is_int_value(sizes->at[last - 1], 1))
        last--;
    for (size_t i = last; last > 0 && marked[last - 1] && i < sizes->n; i++)
        marked[i] = true;
}

static const rlx_prim_func *lower_softmax(rlx_lower_request *l, bool logarithm)
{
    softmax s = { .logarithm = logarithm };
    bool marked[RLX_LOW_RANK];
    rlx_lowering_begin(&s.b, l);
    if (!rlx_lowering_input(&s.b, 0, &s.x) ||
        !mark_axes(&s.b, rlx_lowering_attr(l, 0), s.x.shape.sizes.n, marked) ||
        !rlx_lowering_output(&s.b, &s.x.shape, &s.out))
        return rlx_lowering_end(&s.b);
    if (!rlx_lowering_is_float(s.x.dtype)) {
        rlx_lowering_refuse_dtype(&s.b);
        return rlx_lowering_end(&s.b);
    }
    s.wide = rlx_lowering_accumulator(s.x.dtype);
    mark_ones(&s.x.shape.sizes, marked);
    rlx_lowering_rows_begin(&s.r, &s.b, &s.x.shape.sizes, marked, true);
    s.in_place = !logarithm && s.out.dtype == s.wide && !s.r.turned;
    s.top = rlx_lowering_rows_alloc(&s.r, "top", s.wide, true);
    s.sum = rlx_lowering_rows_alloc(&s.r, "sum", s.wide, true);
    if (s.x.dtype != s.wide || s.r.turned)
        softmax_widen(&s);
    s.raised = s.in_place ? s.out.buffer : s.r.turned && !logarithm ? s.widened : rlx_lowering_rows_alloc(&s.r, "raised", s.wide, false);
    softmax_top(&s);
    softmax_raise(&s);
    rlx_lowering_rows_sum(&s.r, "sum", s.sum, s.raised, s.in_place);
    softmax_settle(&s);
    if (logarithm)
        softmax_give_logarithm(&s);
    else {
        softmax_store(&s, rlx_tir_mul, s.raised, s.in_place, s.sum);
        if (s.r.turned)
            softmax_turn_back(&s, s.raised);
    }
    rlx_lowering_rows_end(&s.r);
    return rlx_lowering_end(&s.b);
}

const rlx_prim_func *rlx_lower_softmax(rlx_lower_request *l)
{
    return lower_softmax(l, false);
}

const rlx_prim_func *rlx_lower_log_softmax(rlx_lower_request *l)
{
    return lower_softmax(l, true);
}
