/* lower_arrange.c: tensors put together and taken apart in other ways: stack, meshgrid, outer,
 * pixel_shuffle, positions and slices that are written, sequences, windows. */
/* built for size */
#include "op/lower_int.h"

#include <math.h>

enum { MAX_PARTS = 16 };

typedef struct arrange {
    rlx_lowering_tensor x, y, z, out;
    rlx_lowering_tensor part[MAX_PARTS];
    rlx_lowering_list common;        /* sizes of indices, which broadcast */
    size_t parts, axis, batch;
    const rlx_prim *start, *end, *step;
    int64_t factor;
    bool flag;
} arrange;

static const rlx_prim *number(rlx_lowering *b, int64_t v) { return rlx_tir_int(&b->t, v); }

static const rlx_prim *load(rlx_lowering *b, const rlx_lowering_tensor *x,
                            const rlx_lowering_list *at)
{
    return rlx_tir_load(&b->t, x->buffer, rlx_lowering_items(at));
}

static bool read_parts(rlx_lowering *b, arrange *a, size_t arg)
{
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(b->l->args[arg]);
    a->parts = tuple ? tuple->num_fields : 0;
    if (!a->parts || a->parts > MAX_PARTS)
        return rlx_lowering_give_up(b, "there are none, or more than 16 tensors");
    for (size_t i = 0; i < a->parts; i++) {
        char name[RLX_LOW_NAME];
        rlx_lowering_name(name, arg ? 'k' : 'x', i);
        if (!rlx_lowering_input_field(b, arg, i, name, &a->part[i]))
            return false;
    }
    return true;
}

/* ---- stack, meshgrid, outer ----------------------------------------------------------------- */

const rlx_prim_func *rlx_lower_stack(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    if (!read_parts(&b, &a, 0) || !rlx_lowering_output(&b, NULL, &a.out) ||
        !rlx_lowering_axis(&b, rlx_attr_as_int(rlx_lowering_attr(l, 0), 0),
                           a.out.shape.sizes.n, &a.axis))
        return rlx_lowering_end(&b);
    for (size_t i = 0; i < a.parts; i++) {
        rlx_lowering_list index, to = { .n = a.out.shape.sizes.n };
        for (size_t k = 0; i && k < a.part[0].shape.sizes.n; k++)
            rlx_lowering_require(&b, rlx_tir_eq(&b.t, a.part[i].shape.sizes.at[k],
                                                a.part[0].shape.sizes.at[k]),
                                 RLX_ASSERTION_SIZES, "sizes of the stacked tensors differ");
        rlx_lowering_open(&b, "stack", &a.part[0].shape.sizes, &index);
        for (size_t k = 0; k < to.n; k++)
            to.at[k] = k == a.axis ? number(&b, (int64_t)i) : index.at[k < a.axis ? k : k - 1];
        rlx_tir_store(&b.t, a.out.buffer, rlx_lowering_items(&to), load(&b, &a.part[i], &index));
        rlx_tir_end_block(&b.t);
    }
    return rlx_lowering_end(&b);
}

const rlx_prim_func *rlx_lower_meshgrid(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .axis = 0 };
    rlx_lowering_tensor out[MAX_PARTS];
    rlx_lowering_begin(&b, l);
    if (!read_parts(&b, &a, 0) || !rlx_lowering_outputs(&b, NULL, out, a.parts))
        return rlx_lowering_end(&b);
    bool swapped = rlx_slice_is(rlx_attr_text(rlx_lowering_attr(l, 0)), "xy") && a.parts > 1;
    for (size_t i = 0; i < a.parts; i++) {
        rlx_lowering_list index, from = { .n = a.part[i].shape.sizes.n };
        rlx_lowering_open(&b, "meshgrid", &out[i].shape.sizes, &index);
        if (from.n)
            from.at[0] = index.at[swapped && i < 2 ? 1 - i : i];
        rlx_tir_store(&b.t, out[i].buffer, rlx_lowering_items(&index),
                      load(&b, &a.part[i], &from));
        rlx_tir_end_block(&b.t);
    }
    return rlx_lowering_end(&b);
}

static const rlx_prim *outer(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    arrange *a = user;
    return rlx_tir_mul(&b->t, rlx_tir_load(&b->t, a->x.buffer, RLX_TIR_ITEMS(index->at, 1)),
                       rlx_tir_load(&b->t, a->y.buffer, RLX_TIR_ITEMS(index->at + 1, 1)));
}

const rlx_prim_func *rlx_lower_outer(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &a.x) || !rlx_lowering_input(&b, 1, &a.y) ||
        !rlx_lowering_output(&b, NULL, &a.out))
        return rlx_lowering_end(&b);
    if (rlx_dtype_is_bool(a.x.dtype))
        rlx_lowering_refuse_dtype(&b);
    return rlx_lowering_mapped(&b, &a.out, outer, &a);
}

/* ---- one tensor ----------------------------------------------------------------------------- */

static const rlx_prim *size_of(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    arrange *a = user;
    return rlx_lowering_product(b, &a->x.shape.sizes, NULL);
}

const rlx_prim_func *rlx_lower_size(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    return rlx_lowering_input(&b, 0, &a.x) && rlx_lowering_output(&b, NULL, &a.out)
               ? rlx_lowering_mapped(&b, &a.out, size_of, &a)
               : rlx_lowering_end(&b);
}

static const rlx_prim *shuffled(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    arrange *a = user;
    rlx_tir *t = &b->t;
    size_t n = index->n;
    const rlx_prim *r = number(b, a->factor), *y = index->at[n - 2], *x = index->at[n - 1];
    rlx_lowering_list at = *index;
    const rlx_prim *inside = rlx_tir_add(t, rlx_tir_mul(t, rlx_tir_floor_mod(t, y, r), r),
                                         rlx_tir_floor_mod(t, x, r));
    at.at[n - 3] = rlx_tir_add(
        t, rlx_tir_mul(t, index->at[n - 3], number(b, a->factor * a->factor)), inside);
    at.at[n - 2] = rlx_tir_floor_div(t, y, r);
    at.at[n - 1] = rlx_tir_floor_div(t, x, r);
    return load(b, &a->x, &at);
}

const rlx_prim_func *rlx_lower_pixel_shuffle(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .factor = rlx_attr_as_int(rlx_lowering_attr(l, 0), 1) };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &a.x) || !rlx_lowering_output(&b, NULL, &a.out))
        return rlx_lowering_end(&b);
    size_t n = a.x.shape.sizes.n;
    if (n < 3)
        rlx_lowering_give_up(&b, "the rank is below 3");
    else
        rlx_lowering_require(
            &b, rlx_tir_eq(&b.t, rlx_tir_floor_mod(&b.t, a.x.shape.sizes.at[n - 3],
                                                   number(&b, a.factor * a.factor)),
                           number(&b, 0)),
            RLX_ASSERTION_SIZES, "the channels do not divide into the square of upscale_factor");
    return rlx_lowering_mapped(&b, &a.out, shuffled, &a);
}

static const rlx_prim *prelu(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    arrange *a = user;
    rlx_tir *t = &b->t;
    const rlx_prim *x = load(b, &a->x, index), *at = index->at[a->axis];
    if (a->y.shape.sizes.at[0] != a->x.shape.sizes.at[a->axis])
        at = rlx_tir_select(t, rlx_tir_eq(t, a->y.shape.sizes.at[0], number(b, 1)), number(b, 0),
                            at);
    const rlx_prim *slope = rlx_tir_load(t, a->y.buffer, RLX_TIR_LIST(at));
    return rlx_tir_select(t, rlx_tir_gt(t, x, rlx_tir_number(t, a->x.dtype, 0)), x,
                          rlx_tir_mul(t, x, slope));
}

const rlx_prim_func *rlx_lower_prelu(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &a.x) || !rlx_lowering_input(&b, 1, &a.y) ||
        !rlx_lowering_output(&b, &a.x.shape, &a.out) ||
        !rlx_lowering_axis(&b, rlx_attr_as_int(rlx_lowering_attr(l, 0), 1), a.x.shape.sizes.n,
                           &a.axis))
        return rlx_lowering_end(&b);
    const rlx_prim *have = a.y.shape.sizes.at[0], *want = a.x.shape.sizes.at[a.axis];
    rlx_lowering_require(
        &b, rlx_tir_or(&b.t, rlx_tir_eq(&b.t, have, want), rlx_tir_eq(&b.t, have, number(&b, 1))),
        RLX_ASSERTION_SIZES, "alpha has another number of elements than the axis of data");
    return rlx_lowering_mapped(&b, &a.out, prelu, &a);
}

/* The first seq_lengths[batch] places of the axis in reverse. */
static const rlx_prim *reversed(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    arrange *a = user;
    rlx_tir *t = &b->t;
    const rlx_prim *at = index->at[a->axis];
    const rlx_prim *len = rlx_tir_cast(
        t, RELAX_INT64, rlx_tir_load(t, a->y.buffer, RLX_TIR_LIST(index->at[a->batch])));
    rlx_lowering_list from = *index;
    from.at[a->axis] =
        rlx_tir_select(t, rlx_tir_lt(t, at, len),
                       rlx_tir_sub(t, rlx_tir_sub(t, len, number(b, 1)), at), at);
    return load(b, &a->x, &from);
}

const rlx_prim_func *rlx_lower_reverse_sequence(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    if (rlx_lowering_input(&b, 0, &a.x) && rlx_lowering_input(&b, 1, &a.y) &&
        rlx_lowering_axis(&b, rlx_attr_as_int(rlx_lowering_attr(l, 0), 1), a.x.shape.sizes.n,
                          &a.axis) &&
        rlx_lowering_axis(&b, rlx_attr_as_int(rlx_lowering_attr(l, 1), 0), a.x.shape.sizes.n,
                          &a.batch) &&
        rlx_lowering_output(&b, &a.x.shape, &a.out))
        return rlx_lowering_mapped(&b, &a.out, reversed, &a);
    return rlx_lowering_end(&b);
}

/* How many boundaries lie below each element; NaN lies behind all. */
const rlx_prim_func *rlx_lower_bucketize(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .flag = rlx_attr_as_bool(rlx_lowering_attr(l, 1), false) };
    bool reduced[RLX_LOW_RANK] = { false };
    rlx_lowering_begin(&b, l);
    rlx_tir *t = &b.t;
    if (!rlx_lowering_input(&b, 0, &a.x) || !rlx_lowering_input(&b, 1, &a.y) ||
        !rlx_lowering_output(&b, &a.x.shape, &a.out))
        return rlx_lowering_end(&b);
    rlx_lowering_list sizes = a.x.shape.sizes, at;
    if (sizes.n == RLX_LOW_RANK) {
        rlx_lowering_give_up(&b, "the rank is above 15");
        return rlx_lowering_end(&b);
    }
    reduced[sizes.n] = true;
    sizes.at[sizes.n++] = a.y.shape.sizes.at[0];
    rlx_lowering_open_reduce(&b, l->name.data, &sizes, reduced, &at);
    const rlx_prim *edge = rlx_tir_load(t, a.y.buffer, RLX_TIR_LIST(at.at[at.n - 1]));
    at.n--;
    const rlx_prim *x = load(&b, &a.x, &at);
    if (rlx_prim_dtype(edge) != rlx_prim_dtype(x)) {
        x = rlx_tir_cast(t, RELAX_FLOAT64, x);
        edge = rlx_tir_cast(t, RELAX_FLOAT64, edge);
    }
    const rlx_prim *behind =
        rlx_tir_not(t, a.flag ? rlx_tir_lt(t, x, edge) : rlx_tir_le(t, x, edge));
    rlx_tir_init(t, a.out.buffer, rlx_lowering_items(&at), rlx_tir_number(t, a.out.dtype, 0));
    rlx_tir_store(t, a.out.buffer, rlx_lowering_items(&at),
                  rlx_tir_add(t, load(&b, &a.out, &at),
                              rlx_tir_cast(t, a.out.dtype, behind)));
    rlx_tir_end_block(t);
    return rlx_lowering_end(&b);
}

/* ---- positions ------------------------------------------------------------------------------ */

/* Element of data for index `at` in (common sizes of the indices) + (rest of data). */
static rlx_lowering_list positions(rlx_lowering *b, arrange *a, const rlx_lowering_list *at)
{
    rlx_lowering_list from = { .n = a->x.shape.sizes.n }, index = { .n = a->common.n };
    memcpy(index.at, at->at, index.n * sizeof *index.at);
    for (size_t i = 0; i < from.n; i++)
        from.at[i] = i < a->parts
                         ? rlx_lowering_position(
                               b, rlx_lowering_load(b, &a->part[i], &index, &a->common),
                               a->x.shape.sizes.at[i])
                         : at->at[a->common.n + i - a->parts];
    return from;
}

/* Common sizes of the indices, then what is left of data. False after giving up. */
static bool indexed_shape(rlx_lowering *b, arrange *a, rlx_lowering_shape *out)
{
    const rlx_lowering_tensor *parts[MAX_PARTS];
    for (size_t i = 0; i < a->parts; i++)
        parts[i] = &a->part[i];
    if (!rlx_lowering_broadcast(b, parts, a->parts, out))
        return false;
    a->common = out->sizes;
    if (a->parts > a->x.shape.sizes.n ||
        out->sizes.n + a->x.shape.sizes.n - a->parts > RLX_LOW_RANK)
        return rlx_lowering_give_up(b, "the ranks do not fit");
    for (size_t i = a->parts; i < a->x.shape.sizes.n; i++) {
        out->program[out->sizes.n] = a->x.shape.program[i];
        out->sizes.at[out->sizes.n++] = a->x.shape.sizes.at[i];
    }
    return true;
}

static const rlx_prim *indexed(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    arrange *a = user;
    rlx_lowering_list from = positions(b, a, index);
    return load(b, &a->x, &from);
}

const rlx_prim_func *rlx_lower_index_tensor(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .axis = 0 };
    rlx_lowering_shape shape;
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &a.x) || !read_parts(&b, &a, 1) ||
        !indexed_shape(&b, &a, &shape) || !rlx_lowering_output(&b, &shape, &a.out))
        return rlx_lowering_end(&b);
    return rlx_lowering_mapped(&b, &a.out, indexed, &a);
}

/* A copy of data. */
static void copy_data(rlx_lowering *b, arrange *a)
{
    rlx_lowering_list index;
    rlx_lowering_open(b, "copy", &a->x.shape.sizes, &index);
    rlx_tir_store(&b->t, a->out.buffer, rlx_lowering_items(&index), load(b, &a->x, &index));
    rlx_tir_end_block(&b->t);
}

/* Plain loops in row-major order: where positions meet, the last value stays. */
const rlx_prim_func *rlx_lower_index_put(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .flag = rlx_attr_as_bool(rlx_lowering_attr(l, 0), false) };
    rlx_lowering_shape shape;
    rlx_lowering_begin(&b, l);
    rlx_tir *t = &b.t;
    if (!rlx_lowering_input(&b, 0, &a.x) || !read_parts(&b, &a, 1) ||
        !rlx_lowering_input(&b, 2, &a.z) || !indexed_shape(&b, &a, &shape) ||
        !rlx_lowering_output(&b, &a.x.shape, &a.out))
        return rlx_lowering_end(&b);
    if (a.z.shape.sizes.n > shape.sizes.n) {
        rlx_lowering_give_up(&b, "values have a higher rank than what they are put into");
        return rlx_lowering_end(&b);
    }
    for (size_t i = 0, pad = shape.sizes.n - a.z.shape.sizes.n; i < a.z.shape.sizes.n; i++)
        rlx_lowering_require(
            &b, rlx_tir_or(t, rlx_tir_eq(t, a.z.shape.sizes.at[i], shape.sizes.at[i + pad]),
                           rlx_tir_eq(t, a.z.shape.sizes.at[i], number(&b, 1))),
            RLX_ASSERTION_SIZES, "values do not broadcast to the indexed shape");
    copy_data(&b, &a);
    rlx_lowering_list at = { .n = shape.sizes.n };
    for (size_t i = 0; i < at.n; i++) {
        char name[RLX_LOW_NAME];
        rlx_lowering_name(name, 'i', i);
        at.at[i] = rlx_tir_for(t, name, number(&b, 0), shape.sizes.at[i], RLX_FOR_SERIAL);
    }
    rlx_lowering_list to = positions(&b, &a, &at);
    const rlx_prim *v = rlx_lowering_load(&b, &a.z, &at, &shape.sizes);
    if (a.flag)
        v = rlx_dtype_is_bool(a.x.dtype) ? rlx_tir_or(t, load(&b, &a.out, &to), v)
                                         : rlx_tir_add(t, load(&b, &a.out, &to), v);
    rlx_tir_store(t, a.out.buffer, rlx_lowering_items(&to), v);
    for (size_t i = 0; i < at.n; i++)
        rlx_tir_end_for(t);
    return rlx_lowering_end(&b);
}

/* src where the place along the axis is start, start + step ... before end, else data. */
static const rlx_prim *scattered(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    arrange *a = user;
    rlx_tir *t = &b->t;
    const rlx_prim *at = index->at[a->axis], *from = rlx_tir_sub(t, at, a->start);
    const rlx_prim *inside = rlx_tir_and(
        t, rlx_tir_and(t, rlx_tir_ge(t, at, a->start), rlx_tir_lt(t, at, a->end)),
        rlx_tir_eq(t, rlx_tir_floor_mod(t, from, a->step), number(b, 0)));
    rlx_lowering_list place = *index;
    place.at[a->axis] = rlx_tir_floor_div(t, from, a->step);
    return rlx_tir_if_then_else(t, inside, load(b, &a->y, &place), load(b, &a->x, index));
}

/* An end of a slice: counted from the end if negative, then inside of the axis. */
static const rlx_prim *bound(rlx_lowering *b, const rlx_prim *v, const rlx_prim *size)
{
    rlx_tir *t = &b->t;
    v = rlx_tir_select(t, rlx_tir_lt(t, v, number(b, 0)), rlx_tir_add(t, v, size), v);
    return rlx_tir_min(t, rlx_tir_max(t, v, number(b, 0)), size);
}

const rlx_prim_func *rlx_lower_slice_scatter(rlx_lower_request *l)
{
    rlx_lowering b;
    arrange a = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    rlx_tir *t = &b.t;
    if (!rlx_lowering_input(&b, 0, &a.x) || !rlx_lowering_input(&b, 1, &a.y) ||
        !(a.start = rlx_lowering_scalar(&b, 2, RELAX_INT64)) ||
        !(a.end = rlx_lowering_scalar(&b, 3, RELAX_INT64)) ||
        !(a.step = rlx_lowering_scalar(&b, 4, RELAX_INT64)) ||
        !rlx_lowering_axis(&b, rlx_attr_as_int(rlx_lowering_attr(l, 0), 0), a.x.shape.sizes.n,
                           &a.axis) ||
        !rlx_lowering_output(&b, &a.x.shape, &a.out))
        return rlx_lowering_end(&b);
    const rlx_prim *size = a.x.shape.sizes.at[a.axis];
    rlx_lowering_require(&b, rlx_tir_gt(t, a.step, number(&b, 0)), RLX_ASSERTION_SIZES,
                         "step is not above 0");
    a.start = bound(&b, a.start, size);
    a.end = rlx_tir_max(t, bound(&b, a.end, size), a.start);
    const rlx_prim *count = rlx_tir_floor_div(
        t, rlx_tir_add(t, rlx_tir_sub(t, a.end, a.start), rlx_tir_sub(t, a.step, number(&b, 1))),
        a.step);
    for (size_t i = 0; i < a.x.shape.sizes.n && i < a.y.shape.sizes.n; i++)
        rlx_lowering_require(&b, rlx_tir_eq(t, a.y.shape.sizes.at[i],
                                            i == a.axis ? count : a.x.shape.sizes.at[i]),
                             RLX_ASSERTION_SIZES, "src has not the sizes of the slice");
    return rlx_lowering_mapped(&b, &a.out, scattered, &a);
}

/* ---- windows -------------------------------------------------------------------------------- */

typedef struct window { rlx_lowering_tensor out; const rlx_prim *periodic, *alpha, *beta; } window;

/* alpha - beta * cos(2 pi k / (n - 1)), n one more for a periodic window; a window of one is 1. */
static const rlx_prim *hamming(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    window *w = user;
    rlx_tir *t = &b->t;
    rlx_dtype wide = RELAX_FLOAT64;
    const rlx_prim *n = w->out.shape.sizes.at[0];
    const rlx_prim *period = rlx_tir_select(t, rlx_tir_ne(t, w->periodic, number(b, 0)), n,
                                            rlx_tir_sub(t, n, number(b, 1)));
    const rlx_prim *turn = rlx_tir_div(
        t, rlx_tir_mul(t, rlx_tir_cast(t, wide, index->at[0]),
                       rlx_tir_float(t, wide, 6.283185307179586)),
        rlx_tir_cast(t, wide, rlx_tir_max(t, period, number(b, 1))));
    const rlx_prim *v = rlx_tir_sub(t, w->alpha, rlx_tir_mul(t, w->beta,
                                                             rlx_tir_call1(t, "cos", turn)));
    return rlx_tir_cast(t, w->out.dtype,
                        rlx_tir_select(t, rlx_tir_eq(t, n, number(b, 1)),
                                       rlx_tir_float(t, wide, 1), v));
}

const rlx_prim_func *rlx_lower_hamming_window(rlx_lower_request *l)
{
    rlx_lowering b;
    window w;
    rlx_lowering_begin(&b, l);
    w.periodic = rlx_lowering_scalar(&b, 1, RELAX_INT64);
    w.alpha = w.periodic ? rlx_lowering_scalar(&b, 2, RELAX_FLOAT64) : NULL;
    w.beta = w.alpha ? rlx_lowering_scalar(&b, 3, RELAX_FLOAT64) : NULL;
    if (!w.beta || !rlx_lowering_output(&b, NULL, &w.out))
        return rlx_lowering_end(&b);
    return rlx_lowering_mapped(&b, &w.out, hamming, &w);
}
