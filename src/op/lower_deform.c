/*- lower_deform.c: convolutions whose windows are moved.
 *
 *     for n in range(batch):                                   block "images"
 *         moved[c, y, x, p, q]    data between its pixels at the place that offset gives for element (y, x) of the
 *                                 window at (p, q), times mask; pixels outside are 0
 *         out[n, o, p, q]         sum over c, y, x of moved * weight[o, c, y, x]
 *
 * A place and its shares of four pixels are found once for all channels that move together.
 */
/* built for size */
#include "op/lower_int.h"

enum { Y, X, AXES };

typedef struct deform {
    rlx_lowering b;
    rlx_lowering_side x, w, out;
    rlx_lowering_tensor offset, mask;
    int64_t stride[AXES], before[AXES], dilation[AXES], moved_groups, groups;
    const rlx_buffer *moved;
    const rlx_prim *batch;
    const rlx_prim *channels;                  /* of data that move together */
    rlx_dtype wide, places;                    /* of sums; of what is computed of places */
} deform;

static const rlx_prim *number(deform *d, int64_t v) { return rlx_tir_int(&d->b.t, v); }

static const rlx_prim *data_at(deform *d, const rlx_prim *c, const rlx_prim *y, const rlx_prim *x)
{
    const rlx_prim *index[RLX_LOW_AXES] = { d->batch, c, y, x };
    rlx_lowering_list at = rlx_lowering_placed(&d->b, &d->x, index);
    return rlx_tir_cast(&d->b.t, d->wide, rlx_tir_load(&d->b.t, d->x.t.buffer, rlx_lowering_items(&at)));
}

/* One of the two pixels around a place along an axis: where it is, moved to the edge if there is
 * none, and its share, 0 then. */
typedef struct side { const rlx_prim *at, *share; } side;

static void sides_of(deform *d, size_t axis, const rlx_prim *place, side out[2])
{
    rlx_tir *t = &d->b.t;
    rlx_dtype f = d->places;
    const rlx_prim *size = rlx_tir_cast(t, f, d->x.size[2 + axis]), *zero = rlx_tir_number(t, f, 0),
                   *one = rlx_tir_number(t, f, 1);
    place = rlx_tir_let(t, "place", place);
    const rlx_prim *low = rlx_tir_let(t, "low", rlx_tir_call1(t, "floor", place));
    const rlx_prim *part = rlx_tir_let(t, "part", rlx_tir_sub(t, place, low));
    for (int k = 0; k < 2; k++) {
        const rlx_prim *at = k ? rlx_tir_add(t, low, one) : low, *last = rlx_tir_sub(t, size, one);
        const rlx_prim *inside = rlx_tir_and(t, rlx_tir_ge(t, at, zero), rlx_tir_le(t, at, last));
        const rlx_prim *share = k ? part : rlx_tir_sub(t, one, part);
        out[k].share = rlx_tir_let(t, "share", rlx_tir_select(t, inside, share, zero));
        const rlx_prim *near = rlx_tir_cast(t, RELAX_INT64, rlx_tir_select(t, inside, at, zero));
        out[k].at = rlx_tir_let(t, "pixel", near);
    }
}

/* The offsets or the mask of group g, element (y, x) of the window, place (p, q): number k of `of`. */
static const rlx_prim *at_place(deform *d, const rlx_lowering_tensor *of, const rlx_prim *const *i,
                                int64_t k, int64_t numbers)
{
    rlx_tir *t = &d->b.t;
    const rlx_prim *c = rlx_tir_flatten(t, RLX_TIR_ITEMS(i, 3),
                                        RLX_TIR_LIST(number(d, d->moved_groups), d->w.size[2], d->w.size[3]));
    c = rlx_tir_add(t, rlx_tir_mul(t, c, number(d, numbers)), number(d, k));
    return rlx_tir_load(t, of->buffer, RLX_TIR_LIST(d->batch, c, i[3], i[4]));
}

/* moved[c, y, x, p, q]; without pixels there is nothing to load. */
static void move_windows(deform *d)
{
    rlx_tir *t = &d->b.t;
    const rlx_prim *all[RLX_LOW_AXES + 1] = { d->x.size[1], d->w.size[2], d->w.size[3], d->out.size[2], d->out.size[3] };
    rlx_lowering_list sizes = { { number(d, d->moved_groups), all[1], all[2], all[3], all[4] }, 5 }, at;
    side s[AXES][2];
    d->moved = rlx_tir_alloc(t, "moved", d->wide, RLX_TIR_ITEMS(all, 5));
    rlx_lowering_open(&d->b, "move", &sizes, &at);
    for (size_t i = 0; i < AXES; i++) {
        const rlx_prim *first = rlx_tir_sub(t, rlx_tir_mul(t, at.at[3 + i], number(d, d->stride[i])), number(d, d->before[i]));
        first = rlx_tir_add(t, first, rlx_tir_mul(t, at.at[1 + i], number(d, d->dilation[i])));
        const rlx_prim *more = rlx_tir_cast(t, d->places, at_place(d, &d->offset, at.at, (int64_t)i, 2));
        sides_of(d, i, rlx_tir_add(t, rlx_tir_cast(t, d->places, first), more), s[i]);
    }
    const rlx_prim *factor = d->mask.buffer ? rlx_tir_let(t, "factor", rlx_tir_cast(t, d->wide, at_place(d, &d->mask, at.at, 0, 1)))
                                            : NULL;
    const rlx_prim *share[4];
    for (size_t k = 0; k < 4; k++)
        share[k] = rlx_tir_let(t, "share", rlx_tir_cast(t, d->wide, rlx_tir_mul(t, s[Y][k / 2].share, s[X][k % 2].share)));
    const rlx_prim *c = rlx_tir_for(t, "c", NULL, d->channels, RLX_FOR_SERIAL), *sum = NULL;
    const rlx_prim *channel = rlx_tir_add(t, rlx_tir_mul(t, at.at[0], d->channels), c);
    for (size_t k = 0; k < 4; k++) { /* a share of 0 is of no pixel: what is at the edge may be NaN */
        const rlx_prim *x = data_at(d, channel, s[Y][k / 2].at, s[X][k % 2].at), *none = rlx_tir_number(t, d->wide, 0);
        x = rlx_tir_if_then_else(t, rlx_tir_eq(t, share[k], none), none, rlx_tir_mul(t, x, share[k]));
        sum = sum ? rlx_tir_add(t, sum, x) : x;
    }
    sum = factor ? rlx_tir_mul(t, sum, factor) : sum;
    rlx_tir_store(t, d->moved, RLX_TIR_LIST(channel, at.at[1], at.at[2], at.at[3], at.at[4]), sum);
    rlx_tir_end_for(t);
    rlx_tir_end_block(t);
}

/* out[n, o, p, q], into a buffer of wider numbers first where the result is narrow. */
static void multiply(deform *d)
{
    rlx_tir *t = &d->b.t;
    bool own = d->wide != d->out.t.dtype;
    const rlx_prim *const *o = d->out.size, *const *w = d->w.size;
    rlx_lowering_list sizes = { { o[1], o[2], o[3], w[1], w[2], w[3] }, 6 }, at;
    const bool reduced[RLX_LOW_RANK] = { [3] = true, [4] = true, [5] = true };
    const rlx_buffer *sum = own ? rlx_tir_alloc(t, "sum", d->wide, RLX_TIR_LIST(o[1], o[2], o[3])) : d->out.t.buffer;
    rlx_lowering_open_reduce(&d->b, d->b.l->name.data, &sizes, reduced, &at);
    const rlx_prim *to[RLX_LOW_AXES] = { d->batch, at.at[0], at.at[1], at.at[2] };
    rlx_lowering_list placed = rlx_lowering_placed(&d->b, &d->out, to);
    rlx_prim_list here = own ? RLX_TIR_ITEMS(at.at, 3) : rlx_lowering_items(&placed);
    const rlx_prim *in = at.at[3], *from[RLX_LOW_AXES] = { at.at[0], at.at[3], at.at[4], at.at[5] };
    if (d->groups > 1) {
        const rlx_prim *each = rlx_tir_floor_div(t, o[1], number(d, d->groups));
        in = rlx_tir_add(t, rlx_tir_mul(t, rlx_tir_floor_div(t, at.at[0], each), w[1]), in);
    }
    rlx_lowering_list weight = rlx_lowering_placed(&d->b, &d->w, from);
    rlx_tir_init(t, sum, here, rlx_tir_number(t, d->wide, 0));
    const rlx_prim *x = rlx_tir_load(t, d->moved, RLX_TIR_LIST(in, at.at[4], at.at[5], at.at[1], at.at[2]));
    const rlx_prim *v = rlx_tir_cast(t, d->wide, rlx_tir_load(t, d->w.t.buffer, rlx_lowering_items(&weight)));
    rlx_tir_store(t, sum, here, rlx_tir_multiply_add(t, rlx_tir_load(t, sum, here), x, v));
    rlx_tir_end_block(t);
    if (!own)
        return;
    sizes.n = 3;
    rlx_lowering_open(&d->b, "narrow", &sizes, &at);
    memcpy(to + 1, at.at, 3 * sizeof *to);
    placed = rlx_lowering_placed(&d->b, &d->out, to);
    rlx_tir_store(t, d->out.t.buffer, rlx_lowering_items(&placed),
                  rlx_tir_cast(t, d->out.t.dtype, rlx_tir_load(t, sum, rlx_lowering_items(&at))));
    rlx_tir_end_block(t);
}

static void require_equal(deform *d, const rlx_prim *a, const rlx_prim *b, const char *why)
{
    if (a != b)
        rlx_lowering_require(&d->b, rlx_tir_eq(&d->b.t, a, b), RLX_ASSERTION_SIZES, why);
}

/* Sizes that inference could not compare. */
static void check_sizes(deform *d)
{
    rlx_tir *t = &d->b.t;
    const rlx_prim *window = rlx_tir_mul(t, d->w.size[2], d->w.size[3]);
    const rlx_lowering_tensor *of[2] = { &d->offset, &d->mask };
    require_equal(d, d->x.size[1], rlx_tir_mul(t, d->w.size[1], number(d, d->groups)), "channels of data and kernel differ");
    require_equal(d, rlx_tir_floor_mod(t, d->x.size[1], number(d, d->moved_groups)), number(d, 0),
                  "channels do not divide into the deformable groups");
    for (size_t i = 0; i < 2 && of[i]->buffer; i++) {
        const rlx_prim *const *s = of[i]->shape.sizes.at;
        const rlx_prim *channels = rlx_tir_mul(t, window, number(d, d->moved_groups * (i ? 1 : 2)));
        const rlx_prim *fits = rlx_tir_and(t, rlx_tir_eq(t, s[0], d->x.size[0]), rlx_tir_eq(t, s[1], channels));
        fits = rlx_tir_and(t, fits, rlx_tir_and(t, rlx_tir_eq(t, s[2], d->out.size[2]), rlx_tir_eq(t, s[3], d->out.size[3])));
        rlx_lowering_require(&d->b, fits, RLX_ASSERTION_SIZES, "offset or mask do not fit the window and the result");
    }
}

/* arguments data, offset, weight, mask; attributes strides, padding, dilation, deformable_groups,
 * groups, layouts, out_dtype */
static bool read_deform(deform *d, rlx_lower_request *l)
{
    rlx_lowering *b = &d->b;
    if (!rlx_lowering_input(b, 0, &d->x.t) || !rlx_lowering_input(b, 1, &d->offset) ||
        !rlx_lowering_input(b, 2, &d->w.t) ||
        (l->call->num_args > 3 && l->call->args[3] && !rlx_lowering_input(b, 3, &d->mask)) ||
        !rlx_lowering_output(b, NULL, &d->out.t) ||
        !rlx_lowering_read_side(b, &d->x, rlx_lowering_attr(l, 5), rlx_data_axes[2]) ||
        !rlx_lowering_read_side(b, &d->w, rlx_lowering_attr(l, 6), rlx_kernel_axes[2]) ||
        !rlx_lowering_read_side(b, &d->out, rlx_lowering_attr(l, 7), rlx_data_axes[2]))
        return false;
    if (!rlx_dtype_is_float(d->x.t.dtype) || !rlx_dtype_is_float(d->offset.dtype) || !rlx_dtype_is_float(d->out.t.dtype))
        return rlx_lowering_refuse_dtype(b);
    for (size_t i = 0; i < AXES; i++) {
        d->stride[i] = rlx_attr_item(rlx_lowering_attr(l, 0), i);
        d->before[i] = rlx_attr_item(rlx_lowering_attr(l, 1), i);
        d->dilation[i] = rlx_attr_item(rlx_lowering_attr(l, 2), i);
    }
    d->moved_groups = rlx_attr_as_int(rlx_lowering_attr(l, 3), 1);
    d->groups = rlx_attr_as_int(rlx_lowering_attr(l, 4), 1);
    d->wide = rlx_lowering_accumulator(d->out.t.dtype);
    d->places = rlx_lowering_accumulator(d->offset.dtype);
    return true;
}

const rlx_prim_func *rlx_lower_deformable_conv(rlx_lower_request *l)
{
    deform d = { .batch = NULL };
    rlx_lowering_begin(&d.b, l);
    rlx_tir *t = &d.b.t;
    if (!read_deform(&d, l))
        return rlx_lowering_end(&d.b);
    check_sizes(&d);
    d.channels = rlx_tir_floor_div(t, d.x.size[1], number(&d, d.moved_groups));
    rlx_tir_begin_block(t, "images");
    d.batch = rlx_tir_spatial(t, "n", d.out.size[0]);
    move_windows(&d);
    multiply(&d);
    rlx_tir_end_block(t);
    return rlx_lowering_end(&d.b);
}
