/* lower_vision.c: grids of positions in images, samples of images at them, regions of interest. */
/* built for size */
#include "op/lower_int.h"

typedef struct vision {
    rlx_lowering_tensor x, g, out;
    rlx_dtype wide;                  /* what positions are computed in */
    bool corners, nearest, is_max, by_corner, aligned, channels_last;
    enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } padding;
    double scale;
    int64_t ratio;
} vision;

static const rlx_prim *whole(rlx_lowering *b, int64_t v) { return rlx_tir_int(&b->t, v); }
static const rlx_prim *real(rlx_lowering *b, const vision *v, double f)
{
    return rlx_tir_float(&b->t, v->wide, f);
}

static const rlx_prim *widened(rlx_lowering *b, const vision *v, const rlx_prim *x)
{
    return rlx_tir_cast(&b->t, v->wide, x);
}

/* ---- affine_grid ---------------------------------------------------------------------------- */

/* Where place i of `size` lies in -1 .. 1. */
static const rlx_prim *normalized(rlx_lowering *b, const vision *v, const rlx_prim *i,
                                  const rlx_prim *size)
{
    rlx_tir *t = &b->t;
    const rlx_prim *one = real(b, v, 1), *two = real(b, v, 2), *n = widened(b, v, size);
    i = widened(b, v, i);
    if (v->corners)
        return rlx_tir_sub(t, rlx_tir_div(t, rlx_tir_mul(t, i, two), rlx_tir_sub(t, n, one)), one);
    return rlx_tir_sub(t, rlx_tir_div(t, rlx_tir_add(t, rlx_tir_mul(t, i, two), one), n), one);
}

static const rlx_prim *affine(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    vision *v = user;
    rlx_tir *t = &b->t;
    size_t axes = index->n - 2;
    const rlx_prim *sum = NULL;
    for (size_t k = 0; k <= axes; k++) { /* the shift, then the slowest axis first */
        size_t column = axes - k;
        const rlx_prim *at[3] = { index->at[0], index->at[1], whole(b, (int64_t)column) };
        const rlx_prim *m = widened(b, v, rlx_tir_load(t, v->x.buffer, RLX_TIR_ITEMS(at, 3)));
        sum = !sum ? m
                   : rlx_tir_multiply_add(t, sum, m,
                                          normalized(b, v, index->at[1 + k],
                                                     v->out.shape.sizes.at[1 + k]));
    }
    return rlx_tir_cast(t, v->out.dtype, sum);
}

const rlx_prim_func *rlx_lower_affine_grid(rlx_lower_request *l)
{
    rlx_lowering b;
    vision v = { .corners = rlx_attr_as_bool(rlx_lowering_attr(l, 0), true) };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &v.x) || !rlx_lowering_output(&b, NULL, &v.out))
        return rlx_lowering_end(&b);
    v.wide = rlx_lowering_accumulator(v.x.dtype);
    for (size_t i = 2; v.corners && i < v.out.shape.sizes.n; i++)
        rlx_lowering_require(&b, rlx_tir_gt(&b.t, v.out.shape.sizes.at[i], whole(&b, 1)),
                             RLX_ASSERTION_SIZES, "with align_corners sizes are above 1");
    return rlx_lowering_mapped(&b, &v.out, affine, &v);
}

/* ---- grid_sample ---------------------------------------------------------------------------- */

/* Reflected between the ends until it is inside. */
static const rlx_prim *reflected(rlx_lowering *b, const vision *v, const rlx_prim *x,
                                 const rlx_prim *size)
{
    rlx_tir *t = &b->t;
    const rlx_prim *low = real(b, v, v->corners ? 0 : -0.5);
    const rlx_prim *span = v->corners ? rlx_tir_sub(t, size, real(b, v, 1)) : size;
    const rlx_prim *away = rlx_tir_call1(t, "fabs", rlx_tir_sub(t, x, low));
    const rlx_prim *times = rlx_tir_call1(t, "floor", rlx_tir_div(t, away, span));
    const rlx_prim *rest = rlx_tir_sub(t, away, rlx_tir_mul(t, times, span));
    const rlx_prim *odd = rlx_tir_ne(t, rlx_tir_call2(t, "fmod", times, real(b, v, 2)),
                                     real(b, v, 0));
    return rlx_tir_add(t, rlx_tir_select(t, odd, rlx_tir_sub(t, span, rest), rest), low);
}

/* The place along axis `axis` of data that the grid names. */
static const rlx_prim *source(rlx_lowering *b, vision *v, const rlx_lowering_list *index,
                              size_t axis)
{
    rlx_tir *t = &b->t;
    rlx_lowering_list at = *index;
    at.at[1] = whole(b, (int64_t)(index->n - 1 - axis)); /* x first */
    const rlx_prim *g = widened(b, v, rlx_tir_load(t, v->g.buffer, rlx_lowering_items(&at)));
    const rlx_prim *size = widened(b, v, v->x.shape.sizes.at[axis]), *one = real(b, v, 1);
    const rlx_prim *half = real(b, v, 0.5), *moved = rlx_tir_add(t, g, one);
    const rlx_prim *x =
        v->corners
            ? rlx_tir_mul(t, rlx_tir_mul(t, moved, rlx_tir_sub(t, size, one)), half)
            : rlx_tir_sub(t, rlx_tir_mul(t, rlx_tir_mul(t, moved, size), half), half);
    if (v->padding == PAD_REFLECTION)
        x = reflected(b, v, x, size);
    return v->padding == PAD_ZEROS
               ? x
               : rlx_tir_min(t, rlx_tir_max(t, x, real(b, v, 0)), rlx_tir_sub(t, size, one));
}

/* The element at whole numbers `at` of the spatial axes, 0 outside. */
static const rlx_prim *pixel(rlx_lowering *b, vision *v, const rlx_lowering_list *index,
                             const rlx_prim *const *at)
{
    rlx_tir *t = &b->t;
    rlx_lowering_list from = *index;
    const rlx_prim *inside = NULL;
    for (size_t i = 2; i < index->n; i++) {
        const rlx_prim *size = widened(b, v, v->x.shape.sizes.at[i]);
        const rlx_prim *good = rlx_tir_and(t, rlx_tir_ge(t, at[i], real(b, v, 0)),
                                           rlx_tir_lt(t, at[i], size));
        inside = inside ? rlx_tir_and(t, inside, good) : good;
        from.at[i] = rlx_tir_cast(t, RELAX_INT64, at[i]);
    }
    return rlx_tir_if_then_else(
        t, inside, widened(b, v, rlx_tir_load(t, v->x.buffer, rlx_lowering_items(&from))),
        real(b, v, 0));
}

static const rlx_prim *sampled(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    vision *v = user;
    rlx_tir *t = &b->t;
    const rlx_prim *at[RLX_LOW_AXES], *floor_of[RLX_LOW_AXES], *part[RLX_LOW_AXES], *sum = NULL;
    for (size_t i = 2; i < index->n; i++) {
        at[i] = source(b, v, index, i);
        floor_of[i] = rlx_tir_call1(t, v->nearest ? "round" : "floor", at[i]);
        part[i] = rlx_tir_sub(t, at[i], floor_of[i]);
    }
    if (v->nearest)
        return rlx_tir_cast(t, v->out.dtype, pixel(b, v, index, floor_of));
    size_t corners = (size_t)1 << (index->n - 2);
    for (size_t c = 0; c < corners; c++) {
        const rlx_prim *place[RLX_LOW_AXES], *weight = NULL;
        for (size_t i = 2; i < index->n; i++) {
            bool upper = c >> (index->n - 1 - i) & 1;
            const rlx_prim *share = upper ? part[i] : rlx_tir_sub(t, real(b, v, 1), part[i]);
            place[i] = upper ? rlx_tir_add(t, floor_of[i], real(b, v, 1)) : floor_of[i];
            weight = weight ? rlx_tir_mul(t, weight, share) : share;
        }
        const rlx_prim *one = rlx_tir_mul(t, pixel(b, v, index, place), weight);
        sum = sum ? rlx_tir_add(t, sum, one) : one;
    }
    return rlx_tir_cast(t, v->out.dtype, sum);
}

const rlx_prim_func *rlx_lower_grid_sample(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_slice method = rlx_attr_text(rlx_lowering_attr(l, 0)),
              padding = rlx_attr_text(rlx_lowering_attr(l, 2));
    vision v = { .corners = rlx_attr_as_bool(rlx_lowering_attr(l, 3), false),
                 .nearest = rlx_slice_is(method, "nearest"),
                 .padding = rlx_slice_is(padding, "border")       ? PAD_BORDER
                            : rlx_slice_is(padding, "reflection") ? PAD_REFLECTION
                                                                  : PAD_ZEROS };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &v.x) || !rlx_lowering_input(&b, 1, &v.g) ||
        !rlx_lowering_output(&b, NULL, &v.out))
        return rlx_lowering_end(&b);
    v.wide = rlx_lowering_accumulator(v.x.dtype);
    if (!v.nearest && !rlx_slice_is(method, "bilinear") && !rlx_slice_is(method, "trilinear"))
        rlx_lowering_give_up(&b, "of the methods only nearest and bilinear are computed");
    if (v.padding == PAD_ZEROS && !rlx_slice_is(padding, "zeros"))
        rlx_lowering_give_up(&b, "padding_mode is none of zeros, border and reflection");
    return rlx_lowering_mapped(&b, &v.out, sampled, &v);
}

/* Where the block reads is computed inside of it, so that it says all of the tensor. */
static void reads_all(rlx_lowering *b, const rlx_lowering_tensor *x)
{
    rlx_lowering_list mins = { .n = x->shape.sizes.n };
    for (size_t i = 0; i < mins.n; i++)
        mins.at[i] = whole(b, 0);
    rlx_tir_region(&b->t, false, x->buffer, rlx_lowering_items(&mins), rlx_lowering_items(&x->shape.sizes));
}

/*- ---- sum_pixels --------------------------------------------------------------------------------
 *
 *     pixel[n, r, c]      images with their channels last, a row of zeros behind each
 *     for n, and tiles of places:
 *         for k:
 *             tap[p, c] = pixel[n, index[n, k, p], c]
 *             sum[p, c] = sum[p, c] + tap[p, c] * weight[n, k, p]
 *         out[n, c, p] = sum[p, c]
 *
 * For a few channels elements are picked one by one.
 */
enum { FEW_CHANNELS = 8, MOST_TAPS = 64, ELEMENTS_OF_TILE = 4096, ROWS_OF_TILE = 64 };
typedef struct picks {
    rlx_lowering_tensor x, index, weight, out;
    const rlx_prim *images, *channels, *pixels, *places;
    const rlx_buffer *pixel, *tap, *product, *sum;
    const rlx_prim *image, *first, *rows;       /* of a tile */
    int64_t taps;
} picks;

static const rlx_prim *picked(rlx_lowering *b, const picks *s, const rlx_prim *image, int64_t tap, const rlx_prim *place)
{
    rlx_tir *t = &b->t;
    const rlx_prim *k = rlx_tir_load(t, s->index.buffer, RLX_TIR_LIST(image, whole(b, tap), place));
    return rlx_lowering_position(b, k, rlx_tir_add(t, s->pixels, whole(b, 1)));
}

static const rlx_prim *weight_of(rlx_lowering *b, const picks *s, const rlx_prim *image, int64_t tap, const rlx_prim *place)
{
    return rlx_tir_load(&b->t, s->weight.buffer, RLX_TIR_LIST(image, whole(b, tap), place));
}

static void copy_pixels(rlx_lowering *b, picks *s, bool last)
{
    rlx_tir *t = &b->t;
    const rlx_prim *more = rlx_tir_add(t, s->pixels, whole(b, 1));
    rlx_lowering_list sizes = { { s->images, s->pixels, s->channels }, 3 }, at;
    s->pixel = rlx_tir_alloc(t, "pixel", s->x.dtype, last ? RLX_TIR_LIST(s->images, more, s->channels) : RLX_TIR_LIST(s->images, s->channels, more));
    for (int border = 0; border < 2; border++) {
        sizes.at[1] = border ? whole(b, 1) : s->pixels;
        rlx_lowering_open(b, border ? "nothing" : "pixel", &sizes, &at);
        const rlx_prim *n = at.at[0], *c = at.at[2], *to = border ? s->pixels : at.at[1];
        rlx_tir_store(t, s->pixel, last ? RLX_TIR_LIST(n, to, c) : RLX_TIR_LIST(n, c, to),
                      border ? rlx_tir_number(t, s->x.dtype, 0) : rlx_tir_load(t, s->x.buffer, RLX_TIR_LIST(n, c, at.at[1])));
        rlx_tir_end_block(t);
    }
}

static const rlx_prim *sum_of_elements(rlx_lowering *b, void *user, const rlx_lowering_list *at)
{
    const picks *s = user;
    rlx_tir *t = &b->t;
    const rlx_prim *sum = NULL;
    for (int64_t k = 0; k < s->taps; k++) {
        const rlx_prim *x = rlx_tir_load(t, s->pixel, RLX_TIR_LIST(at->at[0], at->at[1], picked(b, s, at->at[0], k, at->at[2])));
        x = rlx_tir_mul(t, x, weight_of(b, s, at->at[0], k, at->at[2]));
        sum = sum ? rlx_tir_add(t, sum, x) : x;
    }
    return sum ? sum : rlx_tir_number(t, s->x.dtype, 0);
}

static void open_tile(rlx_lowering *b, picks *s, int64_t rows)
{
    rlx_tir *t = &b->t;
    const rlx_prim *most = whole(b, rows), *zero = whole(b, 0);
    const rlx_prim *tiles = rlx_tir_floor_div(t, rlx_tir_add(t, s->places, whole(b, rows - 1)), most);
    rlx_tir_begin_block(t, b->l->name.data);
    s->image = rlx_tir_spatial(t, "n", s->images);
    s->first = rlx_tir_mul(t, rlx_tir_spatial(t, "tile", tiles), most);
    reads_all(b, &s->index);
    reads_all(b, &s->weight);
    rlx_tir_region(t, false, s->pixel, RLX_TIR_LIST(zero, zero, zero),
                   RLX_TIR_LIST(s->images, rlx_tir_add(t, s->pixels, whole(b, 1)), s->channels));
    rlx_prim_list row = RLX_TIR_LIST(most, s->channels);
    s->tap = rlx_tir_alloc(t, "tap", s->x.dtype, row);
    s->product = rlx_tir_alloc(t, "product", s->x.dtype, row);
    s->sum = rlx_tir_alloc(t, "sum", s->x.dtype, row);
    s->rows = rlx_tir_min(t, most, rlx_tir_sub(t, s->places, s->first));
}

static void open_places(rlx_lowering *b, const picks *s, const rlx_prim **at)
{
    at[0] = rlx_tir_for(&b->t, "p", NULL, s->rows, RLX_FOR_SERIAL);
    at[1] = rlx_tir_for(&b->t, "c", NULL, s->channels, RLX_FOR_SERIAL);
}

static void close_places(rlx_lowering *b)
{
    rlx_tir_end_for(&b->t);
    rlx_tir_end_for(&b->t);
}

static void add_tap(rlx_lowering *b, const picks *s, int64_t k)
{
    rlx_tir *t = &b->t;
    const rlx_prim *at[2];
    open_places(b, s, at);
    const rlx_prim *row = picked(b, s, s->image, k, rlx_tir_add(t, s->first, at[0]));
    rlx_tir_store(t, s->tap, RLX_TIR_ITEMS(at, 2), rlx_tir_load(t, s->pixel, RLX_TIR_LIST(s->image, row, at[1])));
    close_places(b);
    open_places(b, s, at);
    const rlx_prim *w = weight_of(b, s, s->image, k, rlx_tir_add(t, s->first, at[0]));
    rlx_tir_store(t, k ? s->product : s->sum, RLX_TIR_ITEMS(at, 2), rlx_tir_mul(t, rlx_tir_load(t, s->tap, RLX_TIR_ITEMS(at, 2)), w));
    close_places(b);
    if (!k)
        return;
    open_places(b, s, at);
    rlx_tir_store(t, s->sum, RLX_TIR_ITEMS(at, 2),
                  rlx_tir_add(t, rlx_tir_load(t, s->sum, RLX_TIR_ITEMS(at, 2)), rlx_tir_load(t, s->product, RLX_TIR_ITEMS(at, 2))));
    close_places(b);
}

static void sum_tiles(rlx_lowering *b, picks *s, int64_t rows)
{
    rlx_tir *t = &b->t;
    const rlx_prim *at[2];
    open_tile(b, s, rows);
    for (int64_t k = 0; k < s->taps; k++)
        add_tap(b, s, k);
    at[1] = rlx_tir_for(t, "c", NULL, s->channels, RLX_FOR_SERIAL);
    at[0] = rlx_tir_for(t, "p", NULL, s->rows, RLX_FOR_SERIAL);
    rlx_tir_store(t, s->out.buffer, RLX_TIR_LIST(s->image, at[1], rlx_tir_add(t, s->first, at[0])),
                  rlx_tir_load(t, s->sum, RLX_TIR_ITEMS(at, 2)));
    close_places(b);
    rlx_tir_end_block(t);
}

const rlx_prim_func *rlx_lower_sum_pixels(rlx_lower_request *l)
{
    rlx_lowering b;
    picks s = { .taps = 0 };
    int64_t channels = -1;
    rlx_lowering_begin(&b, l);
    rlx_lowering_trust(&b, 0, 0, 1, 0);
    for (size_t i = 0; i < 3; i++)
        rlx_lowering_trust(&b, 1, i, 2, i);
    if (!rlx_lowering_input(&b, 0, &s.x) || !rlx_lowering_input(&b, 1, &s.index) || !rlx_lowering_input(&b, 2, &s.weight) ||
        !rlx_lowering_output(&b, NULL, &s.out))
        return rlx_lowering_end(&b);
    s.images = s.x.shape.sizes.at[0];
    s.channels = s.x.shape.sizes.at[1];
    s.pixels = s.x.shape.sizes.at[2];
    s.places = s.index.shape.sizes.at[2];
    if (s.weight.dtype != s.x.dtype || s.index.dtype != RELAX_INT64)
        rlx_lowering_refuse_dtype(&b);
    else if (!rlx_int_literal(s.index.shape.sizes.at[1], &s.taps) || s.taps > MOST_TAPS)
        rlx_lowering_give_up(&b, "how many pixels are summed up is not known, or above 64");
    if (b.why)
        return rlx_lowering_end(&b);
    const bool few = s.taps < 1 || (rlx_int_literal(s.channels, &channels) && channels <= FEW_CHANNELS);
    copy_pixels(&b, &s, !few);
    if (few)
        return rlx_lowering_mapped(&b, &s.out, sum_of_elements, &s);
    int64_t rows = channels > 0 ? ELEMENTS_OF_TILE / channels : ROWS_OF_TILE;
    sum_tiles(&b, &s, rows < ROWS_OF_TILE ? ROWS_OF_TILE : rows);
    return rlx_lowering_end(&b);
}

/*- ---- regions of interest ---------------------------------------------------------------------
 *
 *     for k, p, q in T.grid(regions, bins, bins):
 *         best[c] = start
 *         for the places of bin (p, q) of region k:
 *             for c: best[c] = best[c] + (or max) what is there in channel c
 *         out[k, c, p, q] = best[c], divided
 *
 * so that what is to be known of a place is found once for all channels.
 */

static const rlx_prim *roi(rlx_lowering *b, vision *v, const rlx_prim *k, int64_t column)
{
    return widened(b, v, rlx_tir_load(&b->t, v->g.buffer, RLX_TIR_LIST(k, whole(b, column))));
}

static const rlx_prim *roi_scaled(rlx_lowering *b, vision *v, const rlx_prim *k, int64_t column)
{
    return rlx_tir_mul(&b->t, roi(b, v, k, column), real(b, v, v->scale));
}

/* Size i of an image: batch, channels, height, width. */
static size_t image_axis(const vision *v, size_t i)
{
    return !v->channels_last || !i ? i : i == 1 ? 3 : i - 1;
}

static const rlx_prim *image_size(const vision *v, const rlx_lowering_tensor *x, size_t i)
{
    return x->shape.sizes.at[image_axis(v, i)];
}

static rlx_lowering_list image_index(const vision *v, const rlx_prim *n, const rlx_prim *c,
                                     const rlx_prim *y, const rlx_prim *x)
{
    const rlx_prim *of[4] = { n, c, y, x };
    rlx_lowering_list at = { .n = 4 };
    for (size_t i = 0; i < 4; i++)
        at.at[image_axis(v, i)] = of[i];
    return at;
}

static const rlx_prim *image_load(rlx_lowering *b, vision *v, const rlx_prim *n, const rlx_prim *c,
                                  const rlx_prim *y, const rlx_prim *x)
{
    rlx_lowering_list at = image_index(v, n, c, y, x);
    return rlx_tir_load(&b->t, v->x.buffer, rlx_lowering_items(&at));
}

static bool begin_roi(rlx_lowering *b, vision *v, rlx_lower_request *l, size_t layout)
{
    rlx_lowering_begin(b, l);
    if (!rlx_lowering_input(b, 0, &v->x) || !rlx_lowering_input(b, 1, &v->g) ||
        !rlx_lowering_output(b, NULL, &v->out))
        return false;
    v->wide = rlx_lowering_accumulator(v->g.dtype);
    if (!rlx_dtype_is_float(v->wide) || !rlx_dtype_is_float(v->x.dtype))
        return rlx_lowering_refuse_dtype(b);
    v->channels_last = rlx_slice_is(rlx_attr_text(rlx_lowering_attr(l, layout)), "NHWC");
    return true;
}

/* A bin that is open: its region's image, its place, and one number for each channel. */
typedef struct bin {
    const rlx_prim *k, *place[2], *image, *channel;
    const rlx_buffer *best;
} bin;

/* Opens the block over bins, with `start` in best. */
static void open_bin(rlx_lowering *b, vision *v, bin *o, rlx_dtype dtype, const rlx_prim *start)
{
    rlx_tir *t = &b->t;
    rlx_tir_begin_block(t, b->l->name.data);
    o->k = rlx_tir_spatial(t, "k", image_size(v, &v->out, 0));
    o->place[0] = rlx_tir_spatial(t, "p", image_size(v, &v->out, 2));
    o->place[1] = rlx_tir_spatial(t, "q", image_size(v, &v->out, 3));
    reads_all(b, &v->x);
    reads_all(b, &v->g);
    o->best = rlx_tir_alloc(t, "best", dtype, RLX_TIR_LIST(image_size(v, &v->x, 1)));
    o->image = rlx_tir_let(t, "image", rlx_tir_cast(t, RELAX_INT64, roi(b, v, o->k, 0)));
    const rlx_prim *c = rlx_tir_for(t, "c", NULL, image_size(v, &v->x, 1), RLX_FOR_SERIAL);
    rlx_tir_store(t, o->best, RLX_TIR_LIST(c), start);
    rlx_tir_end_for(t);
}

/* The loop over channels; what is stored there goes to best[channel]. */
static const rlx_prim *open_channels(rlx_lowering *b, vision *v, bin *o)
{
    o->channel = rlx_tir_for(&b->t, "c", NULL, image_size(v, &v->x, 1), RLX_FOR_SERIAL);
    return rlx_tir_load(&b->t, o->best, RLX_TIR_LIST(o->channel));
}

static void store_bin(rlx_lowering *b, vision *v, bin *o, const rlx_prim *value)
{
    rlx_lowering_list at = image_index(v, o->k, o->channel, o->place[0], o->place[1]);
    rlx_tir_store(&b->t, v->out.buffer, rlx_lowering_items(&at), rlx_tir_cast(&b->t, v->out.dtype, value));
    rlx_tir_end_for(&b->t);
    rlx_tir_end_block(&b->t);
}

/* Sums are of `sums`, and numbers of image dtype are multiplied in it. */
static rlx_dtype sums(const vision *v)
{
    return rlx_dtype_bits(v->wide) > rlx_dtype_bits(v->x.dtype) ? v->wide
                                                                : rlx_lowering_accumulator(v->x.dtype);
}

/* The four pixels around a place, and their shares. */
typedef struct corners4 { const rlx_prim *at[4][2], *share[4], *outside; } corners4;

static corners4 corners_of(rlx_lowering *b, vision *v, const rlx_prim *const *place)
{
    rlx_tir *t = &b->t;
    const rlx_prim *low[2], *part[2], *last[2];
    corners4 c = { .outside = NULL };
    for (size_t i = 0; i < 2; i++) {
        const rlx_prim *size = widened(b, v, image_size(v, &v->x, 2 + i));
        const rlx_prim *inside = rlx_tir_and(t, rlx_tir_ge(t, place[i], real(b, v, -1)),
                                             rlx_tir_le(t, place[i], size));
        const rlx_prim *bad = rlx_tir_not(t, inside); /* NaN is outside */
        const rlx_prim *in = rlx_tir_let(t, "at", rlx_tir_min(t, rlx_tir_max(t, place[i], real(b, v, 0)),
                                                              rlx_tir_sub(t, size, real(b, v, 1))));
        c.outside = c.outside ? rlx_tir_or(t, c.outside, bad) : bad;
        low[i] = rlx_tir_call1(t, "floor", in);
        part[i] = rlx_tir_let(t, "part", rlx_tir_sub(t, in, low[i]));
        low[i] = rlx_tir_let(t, "low", rlx_tir_cast(t, RELAX_INT64, low[i]));
        last[i] = rlx_tir_sub(t, image_size(v, &v->x, 2 + i), whole(b, 1));
    }
    c.outside = rlx_tir_let(t, "outside", c.outside);
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < 2; i++) {
            bool upper = k >> (1 - i) & 1;
            const rlx_prim *share = upper ? part[i] : rlx_tir_sub(t, real(b, v, 1), part[i]);
            c.at[k][i] = upper ? rlx_tir_min(t, rlx_tir_add(t, low[i], whole(b, 1)), last[i]) : low[i];
            c.share[k] = i ? rlx_tir_mul(t, c.share[k], share) : share;
        }
    for (size_t k = 0; k < 4; k++) {
        c.share[k] = rlx_tir_let(t, "share", rlx_tir_cast(t, sums(v), c.share[k]));
        for (size_t i = 0; i < 2; i++)
            c.at[k][i] = rlx_tir_let(t, "pixel", c.at[k][i]);
    }
    return c;
}

/*- ---- averages of samples: bins of a region side by side
 *
 *     pixel[n, y, x][c]   the images with their channels last, a row of zeros behind each
 *     for k (and p, where there are many bins):
 *         for i, j:       number of a sample, the same in all bins
 *             at[4][r], share[4][r]         pixels around it in bin r, what they count; outside: the row of zeros
 *             tap[r, c] = pixel[at[.][r], c]
 *             sample[r, c] = tap[r, c] * share[.][r], summed up over the four
 *             sum[r, c] = sum[r, c] + sample[r, c]
 *         out[k, c, r] = sum[r, c], divided
 */

/* Along an axis: where the region begins, how long a bin is, and how many samples it has: as many as it has pixels, if the number is
 * not given. No region needs more of them than the limit; one that reaches to infinity would never end. */
enum { MOST_SAMPLES = 1 << 15, MOST_ROWS = 64 };
typedef struct bin_side { const rlx_prim *first, *extent, *count; } bin_side;

typedef struct samples {
    const rlx_prim *k, *p, *image, *rows, *channels, *all; /* all: rows of pixels */
    bin_side side[2];
    const rlx_buffer *pixel, *number[2], *at[4], *share[4], *tap, *product, *sample, *sum;
} samples;

static bin_side side_of(rlx_lowering *b, vision *v, const samples *s, size_t i)
{
    rlx_tir *t = &b->t;
    int64_t column = i ? 1 : 2;
    bin_side side = { .first = roi_scaled(b, v, s->k, column) };
    const rlx_prim *length = rlx_tir_sub(t, roi_scaled(b, v, s->k, column + 2), side.first);
    if (!v->aligned)
        length = rlx_tir_max(t, length, real(b, v, 1));
    side.first = rlx_tir_let(t, "first", side.first);
    side.extent = rlx_tir_let(t, "extent", rlx_tir_div(t, length, widened(b, v, image_size(v, &v->out, 2 + i))));
    const rlx_prim *most = real(b, v, MOST_SAMPLES);
    side.count = v->ratio > 0
                     ? whole(b, v->ratio)
                     : rlx_tir_let(t, "count", rlx_tir_cast(t, RELAX_INT64,
                                                            rlx_tir_min(t, rlx_tir_call1(t, "ceil", side.extent), most)));
    return side;
}

static const rlx_prim *picture_size(rlx_lowering *b, const vision *v)
{
    return rlx_tir_mul(&b->t, image_size(v, &v->x, 2), image_size(v, &v->x, 3));
}

/* Row of pixel (y, x) of an image. */
static const rlx_prim *pixel_row(rlx_lowering *b, const vision *v, const rlx_prim *image, const rlx_prim *y, const rlx_prim *x)
{
    rlx_tir *t = &b->t;
    const rlx_prim *picture = rlx_tir_add(t, picture_size(b, v), whole(b, 1));
    x = rlx_tir_add(t, rlx_tir_mul(t, y, image_size(v, &v->x, 3)), x);
    return rlx_tir_add(t, rlx_tir_mul(t, image, picture), x);
}

static void lay_pixels(rlx_lowering *b, vision *v, samples *s)
{
    rlx_tir *t = &b->t;
    const rlx_prim *images = rlx_tir_max(t, image_size(v, &v->x, 0), whole(b, 1)), *picture = picture_size(b, v);
    s->all = rlx_tir_mul(t, images, rlx_tir_add(t, picture, whole(b, 1)));
    rlx_lowering_list sizes = { .n = 4 }, at;
    for (size_t i = 0; i < 4; i++)
        sizes.at[i] = image_size(v, &v->x, i == 0 ? 0 : i == 3 ? 1 : i + 1);
    s->channels = sizes.at[3];
    s->pixel = rlx_tir_alloc(t, "pixel", v->x.dtype, RLX_TIR_LIST(s->all, s->channels));
    rlx_lowering_open(b, "pixel", &sizes, &at);
    rlx_tir_store(t, s->pixel, RLX_TIR_LIST(pixel_row(b, v, at.at[0], at.at[1], at.at[2]), at.at[3]),
                  image_load(b, v, at.at[0], at.at[3], at.at[1], at.at[2]));
    rlx_tir_end_block(t);
    sizes = (rlx_lowering_list){ { images, s->channels }, 2 };
    rlx_lowering_open(b, "nothing", &sizes, &at);
    const rlx_prim *last = rlx_tir_add(t, rlx_tir_mul(t, at.at[0], rlx_tir_add(t, picture, whole(b, 1))), picture);
    rlx_tir_store(t, s->pixel, RLX_TIR_LIST(last, at.at[1]), rlx_tir_number(t, v->x.dtype, 0));
    rlx_tir_end_block(t);
}

/* Which bins are the rows: all of a region, or a line of them. Their places along both axes as numbers. */
static void lay_rows(rlx_lowering *b, vision *v, samples *s)
{
    rlx_tir *t = &b->t;
    const rlx_prim *high = image_size(v, &v->out, 2), *wide = image_size(v, &v->out, 3), *at[2];
    int64_t h, w;
    bool all = rlx_int_literal(high, &h) && rlx_int_literal(wide, &w) && h >= 0 && w >= 0 && h <= MOST_ROWS && w <= MOST_ROWS &&
               h * w <= MOST_ROWS;
    rlx_lowering_list sizes = { .n = 1 }, r;
    s->rows = sizes.at[0] = all ? rlx_tir_mul(t, high, wide) : wide;
    for (size_t i = 0; i < 2; i++)
        s->number[i] = all || i ? rlx_tir_alloc(t, i ? "column" : "line", v->wide, rlx_lowering_items(&sizes)) : NULL;
    for (size_t i = 0; i < 2; i++) {
        if (!s->number[i])
            continue;
        rlx_lowering_open(b, i ? "column" : "line", &sizes, &r);
        if (all)
            rlx_tir_unflatten(t, r.at[0], RLX_TIR_LIST(high, wide), at);
        else
            at[1] = r.at[0];
        rlx_tir_store(t, s->number[i], RLX_TIR_LIST(r.at[0]), widened(b, v, at[i]));
        rlx_tir_end_block(t);
    }
}

static void open_region(rlx_lowering *b, vision *v, samples *s)
{
    rlx_tir *t = &b->t;
    const rlx_prim *zero = whole(b, 0);
    const rlx_dtype f = sums(v);
    rlx_prim_list table = RLX_TIR_LIST(s->rows), row = RLX_TIR_LIST(s->rows, s->channels);
    rlx_tir_begin_block(t, b->l->name.data);
    s->k = rlx_tir_spatial(t, "k", image_size(v, &v->out, 0));
    s->p = s->number[0] ? NULL : rlx_tir_spatial(t, "p", image_size(v, &v->out, 2));
    reads_all(b, &v->g);
    rlx_tir_region(t, false, s->pixel, RLX_TIR_LIST(zero, zero), RLX_TIR_LIST(s->all, s->channels));
    for (size_t i = 0; i < 2; i++)
        if (s->number[i])
            rlx_tir_region(t, false, s->number[i], RLX_TIR_LIST(zero), table);
    for (size_t i = 0; i < 4; i++) {
        s->at[i] = rlx_tir_alloc(t, "at", RELAX_INT64, table);
        s->share[i] = rlx_tir_alloc(t, "share", f, table);
    }
    s->tap = rlx_tir_alloc(t, "tap", v->x.dtype, row);
    s->product = rlx_tir_alloc(t, "product", f, row);
    s->sample = rlx_tir_alloc(t, "sample", f, row);
    s->sum = rlx_tir_alloc(t, "sum", f, row);
    /* one that is none stays out of range when it is multiplied */
    const rlx_prim *image = rlx_tir_max(t, rlx_tir_cast(t, RELAX_INT64, roi(b, v, s->k, 0)), whole(b, -1));
    s->image = rlx_tir_let(t, "image", rlx_tir_min(t, image, image_size(v, &v->x, 0)));
    for (size_t i = 0; i < 2; i++)
        s->side[i] = side_of(b, v, s, i);
}

/* Loops over rows and channels; *at: their variables. */
static void open_rows(rlx_lowering *b, const samples *s, const rlx_prim **at)
{
    at[0] = rlx_tir_for(&b->t, "r", NULL, s->rows, RLX_FOR_SERIAL);
    at[1] = rlx_tir_for(&b->t, "c", NULL, s->channels, RLX_FOR_SERIAL);
}

static void store_row(rlx_lowering *b, const rlx_buffer *to, const rlx_prim *const *at, const rlx_prim *value)
{
    rlx_tir_store(&b->t, to, RLX_TIR_ITEMS(at, 2), value);
    rlx_tir_end_for(&b->t);
    rlx_tir_end_for(&b->t);
}

static const rlx_prim *load_row(rlx_lowering *b, const rlx_buffer *from, const rlx_prim *const *at)
{
    return rlx_tir_load(&b->t, from, RLX_TIR_ITEMS(at, 2));
}

/* The pixels around sample (i, j) of each bin. */
static void place_samples(rlx_lowering *b, vision *v, const samples *s, const rlx_prim *const *step)
{
    rlx_tir *t = &b->t;
    const rlx_prim *place[2], *r = rlx_tir_for(t, "r", NULL, s->rows, RLX_FOR_SERIAL);
    for (size_t i = 0; i < 2; i++) {
        const bin_side *side = &s->side[i];
        const rlx_prim *number = s->number[i] ? rlx_tir_load(t, s->number[i], RLX_TIR_LIST(r)) : widened(b, v, s->p);
        const rlx_prim *start = rlx_tir_add(t, side->first, rlx_tir_mul(t, number, side->extent));
        place[i] = rlx_tir_let(t, "place", rlx_tir_add(t, start, step[i]));
    }
    corners4 c = corners_of(b, v, place);
    const rlx_prim *nothing = picture_size(b, v);
    for (size_t k = 0; k < 4; k++) {
        const rlx_prim *row = pixel_row(b, v, s->image, c.at[k][0], c.at[k][1]);
        rlx_tir_store(t, s->at[k], RLX_TIR_LIST(r), rlx_tir_select(t, c.outside, nothing, row));
        rlx_tir_store(t, s->share[k], RLX_TIR_LIST(r), rlx_tir_select(t, c.outside, rlx_tir_number(t, sums(v), 0), c.share[k]));
    }
    rlx_tir_end_for(t);
}

/* Joins a sample to those before it. */
static void add_sample(rlx_lowering *b, vision *v, const samples *s)
{
    rlx_tir *t = &b->t;
    const rlx_prim *at[2];
    for (size_t k = 0; k < 4; k++) {
        open_rows(b, s, at);
        const rlx_prim *row = rlx_tir_load(t, s->at[k], RLX_TIR_LIST(at[0]));
        store_row(b, s->tap, at, rlx_tir_load(t, s->pixel, RLX_TIR_LIST(row, at[1])));
        open_rows(b, s, at);
        const rlx_prim *x = rlx_tir_cast(t, sums(v), load_row(b, s->tap, at));
        store_row(b, k ? s->product : s->sample, at, rlx_tir_mul(t, x, rlx_tir_load(t, s->share[k], RLX_TIR_LIST(at[0]))));
        if (!k)
            continue;
        open_rows(b, s, at);
        const rlx_prim *sample = load_row(b, s->sample, at), *product = load_row(b, s->product, at);
        sample = v->by_corner ? rlx_tir_max(t, sample, product) : rlx_tir_add(t, sample, product);
        if (k < 3) {
            store_row(b, s->sample, at, sample);
            continue;
        }
        const rlx_prim *old = load_row(b, s->sum, at);
        store_row(b, s->sum, at, v->is_max ? rlx_tir_max(t, old, sample) : rlx_tir_add(t, old, sample));
    }
}

/* The result of all bins, then turned: channels first. */
static void store_bins(rlx_lowering *b, vision *v, const samples *s)
{
    rlx_tir *t = &b->t;
    const rlx_prim *zero = rlx_tir_number(t, sums(v), 0), *at[2], *place[2];
    const rlx_prim *count = rlx_tir_mul(t, rlx_tir_max(t, s->side[0].count, whole(b, 0)),
                                        rlx_tir_max(t, s->side[1].count, whole(b, 0)));
    count = rlx_tir_let(t, "samples", count);
    open_rows(b, s, at);
    const rlx_prim *sum = load_row(b, s->sum, at);
    if (v->is_max)
        sum = rlx_tir_select(t, rlx_tir_gt(t, count, whole(b, 0)), sum, zero);
    else
        sum = rlx_tir_div(t, sum, rlx_tir_cast(t, sums(v), rlx_tir_max(t, count, whole(b, 1))));
    store_row(b, s->sum, at, sum);
    place[0] = s->p ? s->p : rlx_tir_for(t, "p", NULL, image_size(v, &v->out, 2), RLX_FOR_SERIAL);
    place[1] = rlx_tir_for(t, "q", NULL, image_size(v, &v->out, 3), RLX_FOR_SERIAL);
    at[1] = rlx_tir_for(t, "c", NULL, s->channels, RLX_FOR_SERIAL);
    at[0] = s->p ? place[1] : rlx_tir_add(t, rlx_tir_mul(t, place[0], image_size(v, &v->out, 3)), place[1]);
    rlx_lowering_list to = image_index(v, s->k, at[1], place[0], place[1]);
    rlx_tir_store(t, v->out.buffer, rlx_lowering_items(&to), rlx_tir_cast(t, v->out.dtype, load_row(b, s->sum, at)));
    for (size_t i = 0; i < (s->p ? 2 : 3); i++)
        rlx_tir_end_for(t);
}

const rlx_prim_func *rlx_lower_roi_align(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_slice mode = rlx_attr_text(rlx_lowering_attr(l, 5));
    vision v = { .scale = rlx_attr_as_float(rlx_lowering_attr(l, 1), 1),
                 .ratio = rlx_attr_as_int(rlx_lowering_attr(l, 2), -1),
                 .aligned = rlx_attr_as_bool(rlx_lowering_attr(l, 3), false),
                 .by_corner = rlx_slice_is(mode, "max_corner"),
                 .is_max = !rlx_slice_is(mode, "avg") };
    samples s = { .k = NULL };
    const rlx_prim *step[2], *at[2];
    rlx_tir *t = &b.t;
    if (!begin_roi(&b, &v, l, 4))
        return rlx_lowering_end(&b);
    if (v.is_max && !v.by_corner && !rlx_slice_is(mode, "max"))
        rlx_lowering_give_up(&b, "the mode is none of avg, max and max_corner");
    lay_pixels(&b, &v, &s);
    lay_rows(&b, &v, &s);
    open_region(&b, &v, &s);
    open_rows(&b, &s, at);
    store_row(&b, s.sum, at, v.is_max ? rlx_tir_infinity(t, sums(&v), true) : rlx_tir_number(t, sums(&v), 0));
    for (size_t i = 0; i < 2; i++) {
        step[i] = rlx_tir_for(t, i ? "j" : "i", NULL, s.side[i].count, RLX_FOR_SERIAL);
        const rlx_prim *half = rlx_tir_add(t, widened(&b, &v, step[i]), real(&b, &v, 0.5));
        step[i] = rlx_tir_let(t, "step", rlx_tir_div(t, rlx_tir_mul(t, half, s.side[i].extent), widened(&b, &v, s.side[i].count)));
    }
    place_samples(&b, &v, &s, step);
    add_sample(&b, &v, &s);
    for (size_t i = 0; i < 2; i++)
        rlx_tir_end_for(t);
    store_bins(&b, &v, &s);
    rlx_tir_end_block(t);
    return rlx_lowering_end(&b);
}

/* Where the bin begins and ends along axis i, in whole pixels of data. */
static void pool_bounds(rlx_lowering *b, vision *v, const bin *o, size_t i, const rlx_prim **from,
                        const rlx_prim **to)
{
    rlx_tir *t = &b->t;
    int64_t column = i ? 1 : 2;
    const rlx_prim *half = real(b, v, 0.5), *one = real(b, v, 1), *zero = real(b, v, 0);
    const rlx_prim *first = rlx_tir_call1(t, "floor", rlx_tir_add(t, roi_scaled(b, v, o->k, column), half));
    const rlx_prim *last = rlx_tir_call1(t, "floor", rlx_tir_add(t, roi_scaled(b, v, o->k, column + 2), half));
    first = rlx_tir_let(t, "first", first);
    const rlx_prim *length = rlx_tir_max(t, rlx_tir_add(t, rlx_tir_sub(t, last, first), one), one);
    const rlx_prim *extent = rlx_tir_div(t, length, widened(b, v, image_size(v, &v->out, 2 + i)));
    extent = rlx_tir_let(t, "extent", extent);
    const rlx_prim *at = widened(b, v, o->place[i]), *size = widened(b, v, image_size(v, &v->x, 2 + i));
    *from = rlx_tir_add(t, rlx_tir_call1(t, "floor", rlx_tir_mul(t, at, extent)), first);
    *to = rlx_tir_add(t, rlx_tir_call1(t, "ceil", rlx_tir_mul(t, rlx_tir_add(t, at, one), extent)), first);
    *from = rlx_tir_min(t, rlx_tir_max(t, *from, zero), size);
    *to = rlx_tir_min(t, rlx_tir_max(t, *to, zero), size);
    *from = rlx_tir_let(t, "begin", rlx_tir_cast(t, RELAX_INT64, *from));
    *to = rlx_tir_let(t, "end", rlx_tir_cast(t, RELAX_INT64, *to));
}

/* The greatest element of each bin, 0 of an empty one. */
const rlx_prim_func *rlx_lower_roi_pool(rlx_lower_request *l)
{
    rlx_lowering b;
    vision v = { .scale = rlx_attr_as_float(rlx_lowering_attr(l, 1), 1) };
    const rlx_prim *from[2], *to[2], *at[2];
    bin o;
    rlx_tir *t = &b.t;
    if (!begin_roi(&b, &v, l, 2))
        return rlx_lowering_end(&b);
    open_bin(&b, &v, &o, v.out.dtype, rlx_tir_infinity(t, v.out.dtype, true));
    for (size_t i = 0; i < 2; i++)
        pool_bounds(&b, &v, &o, i, &from[i], &to[i]);
    at[0] = rlx_tir_for(t, "y", from[0], rlx_tir_sub(t, to[0], from[0]), RLX_FOR_SERIAL);
    at[1] = rlx_tir_for(t, "x", from[1], rlx_tir_sub(t, to[1], from[1]), RLX_FOR_SERIAL);
    const rlx_prim *old = open_channels(&b, &v, &o);
    rlx_tir_store(t, o.best, RLX_TIR_LIST(o.channel),
                  rlx_tir_max(t, old, image_load(&b, &v, o.image, o.channel, at[0], at[1])));
    for (size_t i = 0; i < 3; i++)
        rlx_tir_end_for(t);
    const rlx_prim *best = open_channels(&b, &v, &o);
    const rlx_prim *some = rlx_tir_and(t, rlx_tir_lt(t, from[0], to[0]), rlx_tir_lt(t, from[1], to[1]));
    store_bin(&b, &v, &o, rlx_tir_select(t, some, best, rlx_tir_number(t, v.out.dtype, 0)));
    return rlx_lowering_end(&b);
}

/* ---- boxes from anchors and offsets ---------------------------------------------------------- */

/* attributes clip, threshold, variances, keep_background, apply_softmax */
typedef struct multibox {
    rlx_lowering_tensor scores, moves, anchor, box, out;
    const rlx_buffer *top, *sum;
    double threshold, variance[4];
    bool clip, background, softmax;
} multibox;

static const rlx_prim *anchor_at(rlx_lowering *b, const multibox *m, const rlx_prim *a, int64_t k)
{
    rlx_tir *t = &b->t;
    return rlx_tir_load(t, m->anchor.buffer, RLX_TIR_LIST(whole(b, 0), a, whole(b, k)));
}

static const rlx_prim *move_at(rlx_lowering *b, const multibox *m, const rlx_prim *n,
                               const rlx_prim *a, int64_t k)
{
    rlx_tir *t = &b->t;
    const rlx_prim *at = rlx_tir_add(t, rlx_tir_mul(t, a, whole(b, 4)), whole(b, k));
    return rlx_tir_mul(t, rlx_tir_load(t, m->moves.buffer, RLX_TIR_LIST(n, at)),
                       rlx_tir_number(t, m->box.dtype, m->variance[k]));
}

/* Boxes are top, left, bottom, right; anchors left, top, right, bottom; offsets x, y, width,
 * height. */
static void write_boxes(rlx_lowering *b, multibox *m)
{
    rlx_tir *t = &b->t;
    rlx_dtype f = m->box.dtype;
    const rlx_prim *half = rlx_tir_number(t, f, 0.5), *zero = rlx_tir_number(t, f, 0), *one = rlx_tir_number(t, f, 1);
    rlx_lowering_list sizes = { { m->box.shape.sizes.at[0], m->box.shape.sizes.at[1] }, 2 }, at;
    rlx_lowering_open(b, "boxes", &sizes, &at);
    for (int64_t i = 0; i < 2; i++) { /* x, then y */
        const rlx_prim *low = anchor_at(b, m, at.at[1], i), *high = anchor_at(b, m, at.at[1], i + 2);
        const rlx_prim *size = rlx_tir_let(t, "size", rlx_tir_sub(t, high, low));
        const rlx_prim *middle = rlx_tir_mul(t, rlx_tir_add(t, low, high), half);
        middle = rlx_tir_add(t, rlx_tir_mul(t, move_at(b, m, at.at[0], at.at[1], i), size), middle);
        const rlx_prim *reach = rlx_tir_call1(t, "exp", move_at(b, m, at.at[0], at.at[1], i + 2));
        middle = rlx_tir_let(t, "middle", middle);
        reach = rlx_tir_let(t, "reach", rlx_tir_mul(t, rlx_tir_mul(t, half, reach), size));
        const rlx_prim *ends[2] = { rlx_tir_sub(t, middle, reach), rlx_tir_add(t, middle, reach) };
        for (int64_t k = 0; k < 2; k++) {
            if (m->clip)
                ends[k] = rlx_tir_max(t, zero, rlx_tir_min(t, one, ends[k]));
            rlx_tir_store(t, m->box.buffer, RLX_TIR_LIST(at.at[0], at.at[1], whole(b, 1 - i + 2 * k)), ends[k]);
        }
    }
    rlx_tir_end_block(t);
}

/* Greatest score of each anchor, then the sum of exp(score - greatest). */
static void sum_classes(rlx_lowering *b, multibox *m)
{
    rlx_tir *t = &b->t;
    const bool reduced[RLX_LOW_RANK] = { [1] = true };
    rlx_lowering_list at;
    rlx_dtype wide = rlx_lowering_accumulator(m->out.dtype);
    const rlx_prim *const *d = m->scores.shape.sizes.at;
    m->top = rlx_tir_alloc(t, "top", wide, RLX_TIR_LIST(d[0], d[2]));
    m->sum = rlx_tir_alloc(t, "sum", wide, RLX_TIR_LIST(d[0], d[2]));
    for (int pass = 0; pass < 2; pass++) {
        const rlx_buffer *to = pass ? m->sum : m->top;
        rlx_lowering_open_reduce(b, pass ? "sum" : "top", &m->scores.shape.sizes, reduced, &at);
        rlx_prim_list here = RLX_TIR_LIST(at.at[0], at.at[2]);
        const rlx_prim *x = rlx_tir_cast(t, wide, rlx_tir_load(t, m->scores.buffer, rlx_lowering_items(&at)));
        rlx_tir_init(t, to, here, pass ? rlx_tir_number(t, wide, 0) : rlx_tir_infinity(t, wide, true));
        const rlx_prim *old = rlx_tir_load(t, to, here);
        if (pass)
            x = rlx_tir_add(t, old, rlx_tir_call1(t, "exp", rlx_tir_sub(t, x, rlx_tir_load(t, m->top, here))));
        else
            x = rlx_tir_max(t, old, x);
        rlx_tir_store(t, to, here, x);
        if (pass)
            rlx_lowering_partial_sums(b, wide);
        rlx_tir_end_block(t);
    }
}

static const rlx_prim *class_score(rlx_lowering *b, void *user, const rlx_lowering_list *at)
{
    multibox *m = user;
    rlx_tir *t = &b->t;
    rlx_dtype f = m->out.dtype;
    const rlx_prim *x = rlx_tir_load(t, m->scores.buffer, rlx_lowering_items(at));
    const rlx_prim *zero = rlx_tir_number(t, f, 0);
    if (m->softmax) {
        rlx_dtype wide = rlx_lowering_accumulator(f);
        rlx_prim_list here = RLX_TIR_LIST(at->at[0], at->at[2]);
        x = rlx_tir_call1(t, "exp", rlx_tir_sub(t, rlx_tir_cast(t, wide, x), rlx_tir_load(t, m->top, here)));
        x = rlx_tir_cast(t, f, rlx_tir_div(t, x, rlx_tir_load(t, m->sum, here)));
    }
    const rlx_prim *keep = rlx_tir_ge(t, x, rlx_tir_number(t, f, m->threshold));
    if (!m->background)
        keep = rlx_tir_and(t, keep, rlx_tir_ne(t, at->at[1], whole(b, 0)));
    return rlx_tir_select(t, keep, x, zero);
}

const rlx_prim_func *rlx_lower_multibox(rlx_lower_request *l)
{
    rlx_lowering b;
    multibox m = { .clip = rlx_attr_as_bool(rlx_lowering_attr(l, 0), false),
                   .threshold = rlx_attr_as_float(rlx_lowering_attr(l, 1), 0),
                   .background = rlx_attr_as_bool(rlx_lowering_attr(l, 3), true),
                   .softmax = rlx_attr_as_bool(rlx_lowering_attr(l, 4), true) };
    const rlx_attr_list *variances = rlx_as_attr_list(rlx_lowering_attr(l, 2));
    rlx_lowering_tensor out[2];
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &m.scores) || !rlx_lowering_input(&b, 1, &m.moves) ||
        !rlx_lowering_input(&b, 2, &m.anchor) || !rlx_lowering_outputs(&b, NULL, out, 2))
        return rlx_lowering_end(&b);
    if (!variances || variances->num_items != 4)
        rlx_lowering_give_up(&b, "variances is no list of four numbers");
    else if (m.moves.shape.sizes.n != 2 || m.anchor.shape.sizes.n != 3)
        rlx_lowering_give_up(&b, "loc_pred has not rank 2, or anchor not rank 3");
    if (b.why || !variances)
        return rlx_lowering_end(&b);
    for (size_t i = 0; i < 4; i++)
        m.variance[i] = rlx_attr_as_float(variances->items[i], 1);
    if (!rlx_dtype_is_float(m.scores.dtype) || m.moves.dtype != m.scores.dtype || m.anchor.dtype != m.scores.dtype)
        rlx_lowering_refuse_dtype(&b);
    const rlx_prim *const *d = m.scores.shape.sizes.at, *count = rlx_tir_mul(&b.t, d[2], whole(&b, 4));
    rlx_lowering_require(&b, rlx_tir_and(&b.t, rlx_tir_eq(&b.t, m.moves.shape.sizes.at[0], d[0]),
                                         rlx_tir_eq(&b.t, m.moves.shape.sizes.at[1], count)),
                         RLX_ASSERTION_SIZES, "loc_pred has not four numbers for each anchor");
    rlx_lowering_require(&b, rlx_tir_and(&b.t, rlx_tir_eq(&b.t, m.anchor.shape.sizes.at[1], d[2]),
                                         rlx_tir_eq(&b.t, m.anchor.shape.sizes.at[2], whole(&b, 4))),
                         RLX_ASSERTION_SIZES, "anchor has not four numbers for each of cls_pred's");
    m.box = out[0];
    m.out = out[1];
    write_boxes(&b, &m);
    if (m.softmax)
        sum_classes(&b, &m);
    return rlx_lowering_mapped(&b, &m.out, class_score, &m);
}
