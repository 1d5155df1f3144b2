/* lower_det.c: determinants, by elimination with the greatest pivot of each column. */
/* built for size */
#include "op/lower_int.h"

typedef struct det {
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_dtype wide;
    const rlx_prim *n;                           /* rows and columns */
    const rlx_buffer *m, *product, *pivot;       /* what is left of the matrix; so far; the row */
    rlx_lowering_list at;                        /* of the matrix */
} det;

static const rlx_prim *load(det *d, const rlx_prim *i, const rlx_prim *j)
{
    return rlx_tir_load(&d->b.t, d->m, RLX_TIR_LIST(i, j));
}

static const rlx_prim *first_of(det *d, const rlx_buffer *of)
{
    return rlx_tir_load(&d->b.t, of, RLX_TIR_LIST(rlx_tir_int(&d->b.t, 0)));
}

static void set_first(det *d, const rlx_buffer *of, const rlx_prim *v)
{
    rlx_tir_store(&d->b.t, of, RLX_TIR_LIST(rlx_tir_int(&d->b.t, 0)), v);
}

static const rlx_prim *open_loop(det *d, const char *name, const rlx_prim *from)
{
    rlx_tir *t = &d->b.t;
    return rlx_tir_for(t, name, from, from ? rlx_tir_sub(t, d->n, from) : d->n, RLX_FOR_SERIAL);
}

static void copy_matrix(det *d)
{
    rlx_tir *t = &d->b.t;
    rlx_lowering_list from = d->at;
    const rlx_prim *i = open_loop(d, "i", NULL), *j = open_loop(d, "j", NULL);
    from.at[from.n++] = i;
    from.at[from.n++] = j;
    rlx_tir_store(t, d->m, RLX_TIR_LIST(i, j),
                  rlx_tir_cast(t, d->wide, rlx_tir_load(t, d->x.buffer, rlx_lowering_items(&from))));
    rlx_tir_end_for(t);
    rlx_tir_end_for(t);
}

/* The row with the greatest element of column k goes to its place. */
static void move_pivot(det *d, const rlx_prim *k)
{
    rlx_tir *t = &d->b.t;
    set_first(d, d->pivot, k);
    const rlx_prim *i = open_loop(d, "i", rlx_tir_add(t, k, rlx_tir_int(t, 1)));
    const rlx_prim *more = rlx_tir_gt(t, rlx_tir_call1(t, "fabs", load(d, i, k)),
                                      rlx_tir_call1(t, "fabs", load(d, first_of(d, d->pivot), k)));
    set_first(d, d->pivot, rlx_tir_if_then_else(t, more, i, first_of(d, d->pivot)));
    rlx_tir_end_for(t);
    rlx_tir_if(t, rlx_tir_ne(t, first_of(d, d->pivot), k));
    const rlx_prim *j = open_loop(d, "j", NULL);
    const rlx_prim *upper = rlx_tir_let(t, "upper", load(d, k, j)),
                   *lower = rlx_tir_let(t, "lower", load(d, first_of(d, d->pivot), j));
    rlx_tir_store(t, d->m, RLX_TIR_LIST(first_of(d, d->pivot), j), upper);
    rlx_tir_store(t, d->m, RLX_TIR_LIST(k, j), lower);
    rlx_tir_end_for(t);
    set_first(d, d->product, rlx_tir_sub(t, rlx_tir_number(t, d->wide, 0), first_of(d, d->product)));
    rlx_tir_end_if(t);
}

/* Rows below k lose their column k; without a pivot the determinant is 0 already. */
static void eliminate(det *d, const rlx_prim *k)
{
    rlx_tir *t = &d->b.t;
    const rlx_prim *next = rlx_tir_add(t, k, rlx_tir_int(t, 1)), *zero = rlx_tir_number(t, d->wide, 0);
    const rlx_prim *top = rlx_tir_let(t, "top", load(d, k, k));
    set_first(d, d->product, rlx_tir_mul(t, first_of(d, d->product), top));
    rlx_tir_if(t, rlx_tir_ne(t, top, zero));
    const rlx_prim *i = open_loop(d, "i", next);
    const rlx_prim *f = rlx_tir_let(t, "factor", rlx_tir_div(t, load(d, i, k), top));
    const rlx_prim *j = open_loop(d, "j", next);
    rlx_tir_store(t, d->m, RLX_TIR_LIST(i, j), rlx_tir_sub(t, load(d, i, j), rlx_tir_mul(t, f, load(d, k, j))));
    for (int loop = 0; loop < 2; loop++)
        rlx_tir_end_for(t);
    rlx_tir_end_if(t);
}

/*- ---- many small matrices: side by side, a lane each
 *
 *     m[i, j, b], top[j, b]   what is left of matrix b, and its row k
 *     for k:
 *         pivot[b]            the row below with the greatest element of column k, or k
 *         for i below k:      rows change places in the lanes where i is the pivot
 *         for i, j below k:   m[i, j, b] = m[i, j, b] - m[i, k, b] / top[k, b] * top[j, b], where there is a pivot
 *
 * so each matrix has the steps that it has alone.
 */
enum { MOST_ROWS = 16, FEWEST_LANES = 8, MOST_LANES = 256 };
typedef struct lanes {
    int64_t n, count;                            /* rows; matrices */
    const rlx_prim *first, *b;                   /* of a tile; the lane, in a loop */
    const rlx_buffer *m, *top, *best, *pivot, *product, *factor;
} lanes;

static const rlx_prim *whole(det *d, int64_t v) { return rlx_tir_int(&d->b.t, v); }

static const rlx_prim *open_lanes(det *d, lanes *l)
{
    return l->b = rlx_tir_for(&d->b.t, "b", NULL, rlx_tir_min(&d->b.t, whole(d, MOST_LANES), rlx_tir_sub(&d->b.t, whole(d, l->count), l->first)),
                              RLX_FOR_SERIAL);
}

static const rlx_prim *lane(det *d, const lanes *l, const rlx_buffer *of) { return rlx_tir_load(&d->b.t, of, RLX_TIR_LIST(l->b)); }

static void set_lane(det *d, const lanes *l, const rlx_buffer *of, const rlx_prim *v)
{
    rlx_tir_store(&d->b.t, of, RLX_TIR_LIST(l->b), v);
}

/* The first row below k, and all that follow. */
static const rlx_prim *open_below(det *d, const lanes *l, const char *name, int64_t k)
{
    return rlx_tir_add(&d->b.t, rlx_tir_for(&d->b.t, name, NULL, whole(d, l->n - k - 1), RLX_FOR_SERIAL), whole(d, k + 1));
}

static void copy_matrices(det *d, lanes *l)
{
    rlx_tir *t = &d->b.t;
    rlx_lowering_list from = { .n = d->out.shape.sizes.n };
    const rlx_prim *i = rlx_tir_for(t, "i", NULL, whole(d, l->n), RLX_FOR_SERIAL), *j = rlx_tir_for(t, "j", NULL, whole(d, l->n), RLX_FOR_SERIAL);
    open_lanes(d, l);
    rlx_tir_unflatten(t, rlx_tir_add(t, l->first, l->b), rlx_lowering_items(&d->out.shape.sizes), from.at);
    from.at[from.n++] = i;
    from.at[from.n++] = j;
    rlx_tir_store(t, l->m, RLX_TIR_LIST(i, j, l->b), rlx_tir_cast(t, d->wide, rlx_tir_load(t, d->x.buffer, rlx_lowering_items(&from))));
    for (int loop = 0; loop < 3; loop++)
        rlx_tir_end_for(t);
    open_lanes(d, l);
    set_lane(d, l, l->product, rlx_tir_number(t, d->wide, 1));
    rlx_tir_end_for(t);
}

static void find_pivots(det *d, lanes *l, int64_t k)
{
    rlx_tir *t = &d->b.t;
    open_lanes(d, l);
    set_lane(d, l, l->best, rlx_tir_call1(t, "fabs", rlx_tir_load(t, l->m, RLX_TIR_LIST(whole(d, k), whole(d, k), l->b))));
    set_lane(d, l, l->pivot, rlx_tir_number(t, RELAX_INT32, (double)k));
    rlx_tir_end_for(t);
    const rlx_prim *i = open_below(d, l, "i", k);
    open_lanes(d, l);
    const rlx_prim *x = rlx_tir_let(t, "x", rlx_tir_call1(t, "fabs", rlx_tir_load(t, l->m, RLX_TIR_LIST(i, whole(d, k), l->b))));
    const rlx_prim *best = rlx_tir_let(t, "best", lane(d, l, l->best));
    const rlx_prim *more = rlx_tir_let(t, "more", rlx_tir_gt(t, x, best));
    set_lane(d, l, l->best, rlx_tir_select(t, more, x, best));
    set_lane(d, l, l->pivot, rlx_tir_select(t, more, rlx_tir_cast(t, RELAX_INT32, i), lane(d, l, l->pivot)));
    rlx_tir_end_for(t);
    rlx_tir_end_for(t);
}

static void move_rows(det *d, lanes *l, int64_t k)
{
    rlx_tir *t = &d->b.t;
    const rlx_prim *zero = rlx_tir_number(t, d->wide, 0);
    const rlx_prim *j = rlx_tir_add(t, rlx_tir_for(t, "j", NULL, whole(d, l->n - k), RLX_FOR_SERIAL), whole(d, k));
    open_lanes(d, l);
    rlx_tir_store(t, l->top, RLX_TIR_LIST(j, l->b), rlx_tir_load(t, l->m, RLX_TIR_LIST(whole(d, k), j, l->b)));
    rlx_tir_end_for(t);
    rlx_tir_end_for(t);
    const rlx_prim *i = open_below(d, l, "i", k);
    j = rlx_tir_add(t, rlx_tir_for(t, "j", NULL, whole(d, l->n - k), RLX_FOR_SERIAL), whole(d, k));
    open_lanes(d, l);
    const rlx_prim *is = rlx_tir_let(t, "is", rlx_tir_eq(t, lane(d, l, l->pivot), rlx_tir_cast(t, RELAX_INT32, i)));
    const rlx_prim *upper = rlx_tir_let(t, "upper", rlx_tir_load(t, l->top, RLX_TIR_LIST(j, l->b))),
                   *lower = rlx_tir_let(t, "lower", rlx_tir_load(t, l->m, RLX_TIR_LIST(i, j, l->b)));
    rlx_tir_store(t, l->top, RLX_TIR_LIST(j, l->b), rlx_tir_select(t, is, lower, upper));
    rlx_tir_store(t, l->m, RLX_TIR_LIST(i, j, l->b), rlx_tir_select(t, is, upper, lower));
    for (int loop = 0; loop < 3; loop++)
        rlx_tir_end_for(t);
    open_lanes(d, l);
    const rlx_prim *so_far = rlx_tir_let(t, "so_far", lane(d, l, l->product));
    const rlx_prim *moved = rlx_tir_ne(t, lane(d, l, l->pivot), rlx_tir_number(t, RELAX_INT32, (double)k));
    so_far = rlx_tir_select(t, moved, rlx_tir_sub(t, zero, so_far), so_far);
    set_lane(d, l, l->product, rlx_tir_mul(t, so_far, rlx_tir_load(t, l->top, RLX_TIR_LIST(whole(d, k), l->b))));
    rlx_tir_end_for(t);
}

static void eliminate_lanes(det *d, lanes *l, int64_t k)
{
    rlx_tir *t = &d->b.t;
    const rlx_prim *i = open_below(d, l, "i", k);
    open_lanes(d, l);
    set_lane(d, l, l->factor, rlx_tir_div(t, rlx_tir_load(t, l->m, RLX_TIR_LIST(i, whole(d, k), l->b)),
                                          rlx_tir_load(t, l->top, RLX_TIR_LIST(whole(d, k), l->b))));
    rlx_tir_end_for(t);
    const rlx_prim *j = open_below(d, l, "j", k);
    open_lanes(d, l);
    const rlx_prim *x = rlx_tir_let(t, "x", rlx_tir_load(t, l->m, RLX_TIR_LIST(i, j, l->b)));
    const rlx_prim *pivot = rlx_tir_load(t, l->top, RLX_TIR_LIST(whole(d, k), l->b));
    const rlx_prim *there = rlx_tir_let(t, "there", rlx_tir_ne(t, pivot, rlx_tir_number(t, d->wide, 0)));
    const rlx_prim *less = rlx_tir_sub(t, x, rlx_tir_mul(t, lane(d, l, l->factor), rlx_tir_load(t, l->top, RLX_TIR_LIST(j, l->b))));
    rlx_tir_store(t, l->m, RLX_TIR_LIST(i, j, l->b), rlx_tir_select(t, there, less, x));
    for (int loop = 0; loop < 3; loop++)
        rlx_tir_end_for(t);
}

static void lower_lanes(det *d, lanes *l)
{
    rlx_tir *t = &d->b.t;
    const rlx_prim *n = whole(d, l->n), *most = whole(d, l->count < MOST_LANES ? l->count : MOST_LANES);
    rlx_prim_list each = RLX_TIR_LIST(most);
    rlx_lowering_list to = { .n = d->out.shape.sizes.n }, mins = { .n = d->x.shape.sizes.n };
    for (size_t i = 0; i < mins.n; i++)
        mins.at[i] = whole(d, 0);
    rlx_tir_begin_block(t, d->b.l->name.data);
    l->first = rlx_tir_mul(t, rlx_tir_spatial(t, "tile", whole(d, (l->count + MOST_LANES - 1) / MOST_LANES)), whole(d, MOST_LANES));
    rlx_tir_region(t, false, d->x.buffer, rlx_lowering_items(&mins), rlx_lowering_items(&d->x.shape.sizes));
    mins.n = to.n;
    rlx_tir_region(t, true, d->out.buffer, rlx_lowering_items(&mins), rlx_lowering_items(&d->out.shape.sizes));
    l->m = rlx_tir_alloc(t, "m", d->wide, RLX_TIR_LIST(n, n, most));
    l->top = rlx_tir_alloc(t, "top", d->wide, RLX_TIR_LIST(n, most));
    l->best = rlx_tir_alloc(t, "best", d->wide, each);
    l->factor = rlx_tir_alloc(t, "factor", d->wide, each);
    l->product = rlx_tir_alloc(t, "product", d->wide, each);
    l->pivot = rlx_tir_alloc(t, "pivot", RELAX_INT32, each);
    copy_matrices(d, l);
    for (int64_t k = 0; k < l->n; k++) {
        find_pivots(d, l, k);
        move_rows(d, l, k);
        eliminate_lanes(d, l, k);
    }
    open_lanes(d, l);
    rlx_tir_unflatten(t, rlx_tir_add(t, l->first, l->b), rlx_lowering_items(&d->out.shape.sizes), to.at);
    rlx_tir_store(t, d->out.buffer, rlx_lowering_items(&to), rlx_tir_cast(t, d->out.dtype, lane(d, l, l->product)));
    rlx_tir_end_for(t);
    rlx_tir_end_block(t);
}

/* Small ones, and enough of them? */
static bool is_in_lanes(const det *d, lanes *l)
{
    const rlx_lowering_list *sizes = &d->out.shape.sizes;
    int64_t size;
    bool is = rlx_int_literal(d->n, &l->n) && l->n >= 1 && l->n <= MOST_ROWS && d->x.shape.sizes.at[sizes->n] == d->n;
    l->count = 1;
    for (size_t i = 0; i < sizes->n && is; i++)
        is = rlx_int_literal(sizes->at[i], &size) && size >= 0 && rlx_mul_i64(l->count, size, &l->count);
    return is && l->count >= FEWEST_LANES;
}

const rlx_prim_func *rlx_lower_det(rlx_lower_request *l)
{
    det d = { .n = NULL };
    rlx_lowering_begin(&d.b, l);
    rlx_tir *t = &d.b.t;
    if (!rlx_lowering_input(&d.b, 0, &d.x) || !rlx_lowering_output(&d.b, NULL, &d.out))
        return rlx_lowering_end(&d.b);
    size_t rank = d.x.shape.sizes.n;
    if (!rlx_dtype_is_float(d.x.dtype) || rank < 2) {
        rlx_lowering_refuse_dtype(&d.b);
        return rlx_lowering_end(&d.b);
    }
    d.n = d.x.shape.sizes.at[rank - 1];
    d.wide = rlx_lowering_accumulator(d.x.dtype);
    if (d.x.shape.sizes.at[rank - 2] != d.n)
        rlx_lowering_require(&d.b, rlx_tir_eq(t, d.x.shape.sizes.at[rank - 2], d.n), RLX_ASSERTION_SIZES,
                             "the matrices have other numbers of rows than of columns");
    lanes side;
    if (is_in_lanes(&d, &side)) {
        lower_lanes(&d, &side);
        return rlx_lowering_end(&d.b);
    }
    rlx_lowering_open(&d.b, l->name.data, &d.out.shape.sizes, &d.at);
    d.m = rlx_tir_alloc(t, "m", d.wide, RLX_TIR_LIST(d.n, d.n));
    d.product = rlx_tir_alloc(t, "product", d.wide, RLX_TIR_LIST(rlx_tir_int(t, 1)));
    d.pivot = rlx_tir_alloc(t, "pivot", RELAX_INT64, RLX_TIR_LIST(rlx_tir_int(t, 1)));
    copy_matrix(&d);
    set_first(&d, d.product, rlx_tir_number(t, d.wide, 1));
    const rlx_prim *k = open_loop(&d, "k", NULL);
    move_pivot(&d, k);
    eliminate(&d, k);
    rlx_tir_end_for(t);
    rlx_tir_store(t, d.out.buffer, rlx_lowering_items(&d.at), rlx_tir_cast(t, d.out.dtype, first_of(&d, d.product)));
    rlx_tir_end_block(t);
    return rlx_lowering_end(&d.b);
}
