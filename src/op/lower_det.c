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
