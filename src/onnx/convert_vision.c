/* convert_vision.c: sampling at places that are computed, and images out of columns. */
#include "onnx/onnx_int.h"

#include <math.h>

static const rlx_expr *size_as(rlx_onnx_conv *c, const rlx_prim *p, rlx_dtype t)
{
    const rlx_expr *e = p ? rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &p, 1)) : NULL;
    return rlx_onnx_cast(c, e, t);
}

/* ---- grids ------------------------------------------------------------------------------------- */

enum padding { ZEROS, BORDER, REFLECTION };
typedef struct sampler {
    const rlx_expr *x;                 /* (image, channel, pixel) */
    const rlx_expr *place[3];          /* of each spatial axis, in elements: (image, place) */
    const rlx_expr *size[3];           /* as numbers of the places' dtype */
    const rlx_expr *count[3];          /* as integers */
    size_t n;
    enum padding padding;
    bool corners;
    rlx_dtype t;
} sampler;

/* Mirrored at both ends as often as needed: a triangle of period 2 (high - low). */
static const rlx_expr *reflected(rlx_onnx_conv *c, const sampler *s, const rlx_expr *x, size_t axis)
{
    double low = s->corners ? 0 : -0.5;
    const rlx_expr *range = s->corners ? rlx_onnx_with(c, "subtract", s->size[axis], 1) : s->size[axis];
    range = rlx_onnx_with(c, "maximum", range, 1e-30);
    const rlx_expr *twice = rlx_onnx_with(c, "multiply", range, 2);
    const rlx_expr *y = rlx_onnx_with(c, "subtract", x, low);
    y = rlx_onnx_call2(c, "floor_mod", y, twice);
    y = rlx_onnx_call2(c, "minimum", y, rlx_onnx_call2(c, "subtract", twice, y));
    return rlx_onnx_with(c, "add", y, low);
}

static const rlx_expr *limited(rlx_onnx_conv *c, const sampler *s, const rlx_expr *x, size_t axis)
{
    const rlx_expr *last = rlx_onnx_with(c, "subtract", s->size[axis], 1);
    return rlx_onnx_call2(c, "minimum", rlx_onnx_with(c, "maximum", x, 0), last);
}

/* Which pixels are at whole places, -1 outside where that is zero: (image, 1, place). */
static const rlx_expr *pixels_at(rlx_onnx_conv *c, const sampler *s, const rlx_expr *const *at)
{
    static const int64_t one = 1;
    const rlx_expr *row = NULL, *inside = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const rlx_expr *p = s->padding == REFLECTION ? reflected(c, s, at[i], i) : at[i];
        const rlx_expr *l = limited(c, s, p, i);
        if (s->padding == ZEROS) {
            const rlx_expr *same = rlx_onnx_call2(c, "equal", p, l);
            inside = inside ? rlx_onnx_call2(c, "logical_and", inside, same) : same;
        }
        const rlx_expr *index = rlx_onnx_cast(c, rlx_onnx_call1(c, "round", l), RELAX_INT64);
        row = row ? rlx_onnx_call2(c, "add", rlx_onnx_call2(c, "multiply", row, s->count[i]), index) : index;
    }
    if (inside)
        row = rlx_onnx_where(c, inside, row, rlx_onnx_scalar(c, RELAX_INT64, -1));
    return rlx_onnx_expand_dims(c, row, &one, 1);
}

/* Weight of the tap at distance d (in elements) of a place. */
static const rlx_expr *tap_weight(rlx_onnx_conv *c, const rlx_expr *fraction, int tap, bool cubic)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, fraction);
    const double a = -0.75;
    const rlx_expr *one = rlx_onnx_scalar(c, t, 1), *d, *y;
    if (!cubic)
        return tap ? fraction : rlx_onnx_call2(c, "subtract", one, fraction);
    d = tap <= 0 ? rlx_onnx_with(c, "add", fraction, -tap)
                 : rlx_onnx_call2(c, "subtract", rlx_onnx_scalar(c, t, tap), fraction);
    if (tap == 0 || tap == 1) { /* ((a + 2) d - (a + 3)) d^2 + 1 */
        y = rlx_onnx_with(c, "add", rlx_onnx_with(c, "multiply", d, a + 2), -(a + 3));
        return rlx_onnx_with(c, "add",
                    rlx_onnx_call2(c, "multiply", y, rlx_onnx_call2(c, "multiply", d, d)), 1);
    }
    y = rlx_onnx_with(c, "add", rlx_onnx_with(c, "multiply", d, a), -5 * a);
    y = rlx_onnx_with(c, "add", rlx_onnx_call2(c, "multiply", y, d), 8 * a);
    return rlx_onnx_with(c, "add", rlx_onnx_call2(c, "multiply", y, d), -4 * a);
}

enum { MOST_CORNERS = 64 };

static const rlx_expr *interpolate(rlx_onnx_conv *c, const sampler *s, bool cubic)
{
    static const int64_t one = 1;
    int first = cubic ? -1 : 0, taps = cubic ? 4 : 2;
    size_t total = 1;
    const rlx_expr *base[3], *weights[3][4], *index[MOST_CORNERS], *weight[MOST_CORNERS];
    for (size_t i = 0; i < s->n; i++, total *= (size_t)taps) {
        base[i] = rlx_onnx_call1(c, "floor", s->place[i]);
        const rlx_expr *f = rlx_onnx_call2(c, "subtract", s->place[i], base[i]);
        for (int k = 0; k < taps && f; k++)
            weights[i][k] = tap_weight(c, f, first + k, cubic);
    }
    for (size_t k = 0; k < total && !c->failed; k++) {
        const rlx_expr *at[3], *w = NULL;
        for (size_t i = 0, rest = k; i < s->n; i++, rest /= (size_t)taps) {
            int tap = (int)(rest % (size_t)taps);
            at[i] = rlx_onnx_with(c, "add", base[i], first + tap);
            w = w ? rlx_onnx_call2(c, "multiply", w, weights[i][tap]) : weights[i][tap];
        }
        index[k] = pixels_at(c, s, at);
        weight[k] = rlx_onnx_expand_dims(c, rlx_onnx_cast(c, w, s->t), &one, 1);
    }
    if (c->failed)
        return NULL;
    const rlx_expr *all_weights = rlx_onnx_concat(c, weight, total, 1);
    return rlx_onnx_call(c, "image.sum_pixels", "x x x", s->x, rlx_onnx_concat(c, index, total, 1), all_weights);
}

/* The pixels themselves. */
static const rlx_expr *nearest(rlx_onnx_conv *c, const sampler *s)
{
    static const int64_t more[] = { 0, 0, 0, 0, 0, 1 }, turn[] = { 0, 2, 1 };
    const rlx_expr *at[3], *x = s->x;
    for (size_t i = 0; i < s->n; i++)
        at[i] = rlx_onnx_call1(c, "round", s->place[i]);
    if (s->padding == ZEROS)
        x = rlx_onnx_call(c, "nn.pad", "x pad_width=I", x, more, (size_t)6);
    const rlx_expr *rows = rlx_onnx_transpose(c, x, turn, 3), *index = rlx_onnx_transpose(c, pixels_at(c, s, at), turn, 3);
    return rlx_onnx_transpose(c, rlx_onnx_call(c, "gather_nd", "x x batch_dims=i", rows, index, (int64_t)1), turn, 3);
}

/* The product of sizes from `first` on. */
static const rlx_prim *product_of(rlx_onnx_conv *c, const rlx_prim *const *d, size_t first, size_t end)
{
    const rlx_prim *all = rlx_int64(c->ctx, 1);
    for (size_t i = first; i < end; i++)
        all = rlx_fold_mul(c->ctx, all, d[i]);
    return rlx_onnx_simplify(c, all);
}

RLX_ONNX_CONVERTER(convert_grid_sample)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *grid = rlx_onnx_input(c, 1);
    int rank = x ? rlx_onnx_rank(c, x) : -1;
    size_t n, m;
    rlx_slice mode = rlx_onnx_string(c, "mode", "linear");
    rlx_slice pad = rlx_onnx_string(c, "padding_mode", "zeros");
    if (rank < 3 || rank > 5 || !grid)
        return !c->failed && rlx_onnx_fail(c, RLX_ON05, "rank %d is not supported", rank) != NULL;
    sampler s = { .n = (size_t)rank - 2, .t = rlx_onnx_dtype_of(c, x) };
    s.padding = rlx_slice_is(pad, "border") ? BORDER : rlx_slice_is(pad, "reflection") ? REFLECTION : ZEROS;
    s.corners = rlx_onnx_int(c, "align_corners", 0) != 0;
    bool cubic = rlx_slice_is(mode, "cubic") || rlx_slice_is(mode, "bicubic");
    rlx_dtype g = rlx_onnx_dtype_of(c, grid);
    const rlx_prim *const *d = rlx_onnx_dims(c, &x, &n), *const *dg = d ? rlx_onnx_dims(c, &grid, &m) : NULL;
    if (!dg)
        return false;
    if (m != n)
        return rlx_onnx_fail(c, RLX_ON05, "the grid has rank %zu, expected %zu", m, n) != NULL;
    const rlx_prim *pixels[] = { d[0], d[1], product_of(c, d, 2, n) }, *out[5] = { d[0], d[1] },
                   *places[] = { dg[0], product_of(c, dg, 1, n - 1), dg[n - 1] };
    memcpy(out + 2, dg + 1, s.n * sizeof *out);
    for (size_t i = 0; i < s.n; i++) {
        s.size[i] = size_as(c, rlx_onnx_dim(c, x, (int)i + 2), g);
        s.count[i] = size_as(c, rlx_onnx_dim(c, x, (int)i + 2), RELAX_INT64);
    }
    grid = rlx_onnx_reshape(c, grid, places, 3);
    for (size_t i = 0; i < s.n; i++) {
        /* the last axis of the grid begins with the last axis of the image */
        const rlx_expr *p = rlx_onnx_call(c, "take", "x x axis=i", grid,
                                          rlx_onnx_scalar(c, RELAX_INT64, (double)(s.n - 1 - i)), (int64_t)2);
        p = rlx_onnx_with(c, "add", p, 1);
        p = s.corners ? rlx_onnx_call2(c, "multiply", p, rlx_onnx_with(c, "subtract", s.size[i], 1))
                      : rlx_onnx_with(c, "subtract", rlx_onnx_call2(c, "multiply", p, s.size[i]), 1);
        p = rlx_onnx_with(c, "divide", p, 2);
        s.place[i] = s.padding == BORDER && !cubic       ? limited(c, &s, p, i)
                     : s.padding == REFLECTION && !cubic ? reflected(c, &s, p, i)
                                                         : p;
    }
    s.x = rlx_onnx_reshape(c, x, pixels, 3);
    const rlx_expr *y = rlx_slice_is(mode, "nearest") ? nearest(c, &s) : interpolate(c, &s, cubic);
    return rlx_onnx_output(c, 0, rlx_onnx_reshape(c, y, out, n));
}

/* Places between -1 and 1 along one axis, in the shape of the grid's base. */
static void grid_line(double *out, int64_t n, bool corners)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = corners ? (n > 1 ? 2.0 * (double)i / (double)(n - 1) - 1 : -1)
                         : (2.0 * (double)i + 1) / (double)n - 1;
}

RLX_ONNX_CONVERTER(convert_affine_grid)
{
    const rlx_expr *theta = rlx_onnx_input(c, 0);
    static const int64_t swap[] = { 0, 2, 1 };
    size_t len;
    const int64_t *size = theta ? rlx_onnx_literals(c, 1, "size", &len) : NULL;
    if (!size)
        return false;
    if (len < 4 || len > 5)
        return rlx_onnx_fail(c, RLX_ON05, "size has %zu numbers, expected 4 or 5", len) != NULL;
    bool corners = rlx_onnx_int(c, "align_corners", 0) != 0;
    size_t n = len - 2, total = 1;
    for (size_t i = 0; i < n; i++) {
        if (size[i + 2] < 1 || size[i + 2] > 1 << 14 || total > 1 << 24)
            return rlx_onnx_fail(c, RLX_ON02, "a size of the grid is out of range") != NULL;
        total *= (size_t)size[i + 2];
    }
    double *base = rlx_onnx_array(c, total * (n + 1), sizeof *base), *line[3];
    for (size_t i = 0; i < n; i++) {
        if (!(line[i] = rlx_onnx_array(c, (size_t)size[i + 2], sizeof *base)))
            return false;
        grid_line(line[i], size[i + 2], corners);
    }
    for (size_t k = 0; base && k < total; k++) {
        size_t rest = k;
        base[k * (n + 1) + n] = 1;
        for (size_t i = n; i-- > 0; rest /= (size_t)size[i + 2])
            base[k * (n + 1) + (n - 1 - i)] = line[i][rest % (size_t)size[i + 2]];
    }
    int64_t shape[2] = { (int64_t)total, (int64_t)n + 1 };
    const rlx_expr *g =
        base ? rlx_onnx_const(c, rlx_onnx_dtype_of(c, theta), shape, 2, base) : NULL;
    g = rlx_onnx_call2(c, "matmul", g, rlx_onnx_transpose(c, theta, swap, 3));
    int64_t out[5] = { size[0] };
    memcpy(out + 1, size + 2, n * sizeof *out);
    out[n + 1] = (int64_t)n;
    return rlx_onnx_output(c, 0, rlx_onnx_reshape_ints(c, g, out, n + 2));
}

/* ---- columns ----------------------------------------------------------------------------------- */

static bool list_or(rlx_onnx_conv *c, const char *name, size_t n, int64_t otherwise, int64_t *out)
{
    size_t len;
    const int64_t *v = rlx_onnx_int_list(c, name, &len);
    for (size_t i = 0; i < n; i++)
        out[i] = v && i < len ? v[i] : otherwise;
    return !v || len == n || rlx_onnx_fail(c, RLX_ON05, "%s has %zu numbers", name, len) != NULL;
}

enum { MOST_AXES = 4 };

/* Columns and the padded image that they come from. */
typedef struct columns {
    size_t n;                                      /* axes of the image */
    const rlx_prim *const *block;
    int64_t pads[2 * MOST_AXES], strides[MOST_AXES], dilations[MOST_AXES];
    const rlx_prim *padded[MOST_AXES], *steps[MOST_AXES], *cells, *count, *taps;
} columns;

static bool read_columns(rlx_onnx_conv *c, const rlx_onnx_ints *image, columns *k)
{
    rlx_onnx_ints block;
    if (!rlx_onnx_sizes(c, 2, "block_shape", &block))
        return false;
    k->n = image->len;
    k->block = block.data;
    if (k->n != block.len || k->n > MOST_AXES)
        return rlx_onnx_fail(c, RLX_ON05, "image_shape and block_shape have %zu and %zu numbers", k->n, block.len) != NULL;
    if (!list_or(c, "pads", 2 * k->n, 0, k->pads) || !list_or(c, "strides", k->n, 1, k->strides) ||
        !list_or(c, "dilations", k->n, 1, k->dilations))
        return false;
    const rlx_prim *one = rlx_int64(c->ctx, 1);
    k->cells = k->count = k->taps = one;
    for (size_t i = 0; i < k->n; i++) {
        const int64_t limit = 1 << 20, dilation = k->dilations[i], stride = k->strides[i];
        if (dilation < 1 || dilation > limit || stride < 1 || stride > limit)
            return rlx_onnx_fail(c, RLX_ON02, "a stride or dilation is out of range") != NULL;
        const rlx_prim *reach = rlx_fold_sub(c->ctx, k->block[i], one);
        reach = rlx_fold_add(c->ctx, rlx_fold_mul(c->ctx, reach, rlx_int64(c->ctx, dilation)), one);
        k->padded[i] = rlx_fold_add(c->ctx, image->data[i], rlx_int64(c->ctx, k->pads[i] + k->pads[i + k->n]));
        const rlx_prim *steps = rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, rlx_fold_sub(c->ctx, k->padded[i], reach),
                                                rlx_int64(c->ctx, stride));
        k->steps[i] = rlx_onnx_simplify(c, rlx_fold_add(c->ctx, steps, one));
        k->padded[i] = rlx_onnx_simplify(c, k->padded[i]);
        k->cells = rlx_fold_mul(c->ctx, k->cells, k->padded[i]);
        k->count = rlx_fold_mul(c->ctx, k->count, k->steps[i]);
        k->taps = rlx_fold_mul(c->ctx, k->taps, k->block[i]);
        int64_t steps_known = 1, block_known = 1;
        if ((k->steps[i] && rlx_int_literal(k->steps[i], &steps_known) && steps_known < 1) ||
            (rlx_int_literal(k->block[i], &block_known) && block_known < 1))
            return rlx_onnx_fail(c, RLX_ON05, "a block has no elements, or the image is smaller") != NULL;
    }
    k->cells = rlx_onnx_simplify(c, k->cells);
    k->count = rlx_onnx_simplify(c, k->count);
    k->taps = rlx_onnx_simplify(c, k->taps);
    return !c->failed;
}

/* 0, step, 2 step ... `count` of them along axis `at` of `rank` */
static const rlx_expr *places_along(rlx_onnx_conv *c, const rlx_prim *count, int64_t step, size_t at, size_t rank)
{
    int64_t behind[2 * MOST_AXES];
    for (size_t i = at + 1; i < rank; i++)
        behind[i - at - 1] = (int64_t)(i - at);
    const rlx_expr *e = rlx_onnx_with(c, "multiply", rlx_onnx_arange(c, count, RELAX_INT64), (double)step);
    return rlx_onnx_expand_dims(c, e, behind, rank - at - 1);
}

/* The cell of each tap of each column, in their order: the sum of its places along the axes, each weighed with the cells
 * behind that axis. */
static const rlx_expr *cells_of(rlx_onnx_conv *c, const columns *k)
{
    const rlx_prim *behind = rlx_int64(c->ctx, 1);
    const rlx_expr *sum = NULL;
    for (size_t i = k->n; i-- > 0;) {
        const rlx_expr *tap = places_along(c, k->block[i], k->dilations[i], i, 2 * k->n);
        const rlx_expr *at = rlx_onnx_call2(c, "add", tap, places_along(c, k->steps[i], k->strides[i], k->n + i, 2 * k->n));
        at = rlx_onnx_call2(c, "multiply", at, rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &behind, 1)));
        sum = sum ? rlx_onnx_call2(c, "add", at, sum) : at;
        behind = rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, behind, k->padded[i]));
    }
    return sum;
}

enum { MOST_PLANES = 32 };

/* Few taps that are known, each of which moves the picture of its columns as a whole. */
static bool is_in_planes(const columns *k, int64_t *taps)
{
    int64_t n;
    bool is = rlx_int_literal(k->taps, taps) && *taps >= 1 && *taps <= MOST_PLANES;
    for (size_t i = 0; i < k->n && is; i++)
        is = k->strides[i] == 1 && rlx_int_literal(k->padded[i], &n) && rlx_int_literal(k->steps[i], &n) && rlx_int_literal(k->block[i], &n);
    return is;
}

/* The sum of these pictures, each with zeros around it, in the order of taps: the padded image. */
static const rlx_expr *sum_of_planes(rlx_onnx_conv *c, const columns *k, const rlx_expr *x, const rlx_prim *images,
                                     const rlx_prim *channels, int64_t taps)
{
    const rlx_prim *all[3 + MOST_AXES] = { images, channels, k->taps }, *one[2 + MOST_AXES] = { images, channels };
    memcpy(all + 3, k->steps, k->n * sizeof *all);
    memcpy(one + 2, k->steps, k->n * sizeof *one);
    const rlx_dtype own = rlx_onnx_dtype_of(c, x), wide = rlx_dtype_is_float(own) && rlx_dtype_bits(own) < 32 ? RELAX_FLOAT32 : own;
    x = rlx_onnx_cast(c, rlx_onnx_reshape(c, x, all, 3 + k->n), wide);
    const rlx_expr *sum = rlx_onnx_scalar(c, wide, 0);
    for (int64_t tap = 0; tap < taps && x; tap++) {
        const rlx_prim *at = rlx_int64(c->ctx, tap), *next = rlx_int64(c->ctx, tap + 1);
        const rlx_expr *plane = rlx_onnx_reshape(c, rlx_onnx_slice(c, x, 2, at, next), one, 2 + k->n);
        int64_t pads[2 * (2 + MOST_AXES)] = { 0 }, rest = tap, block = 1, steps = 0, padded = 0;
        for (size_t i = k->n; i-- > 0; rest /= block) {
            rlx_int_literal(k->block[i], &block);
            rlx_int_literal(k->steps[i], &steps);
            rlx_int_literal(k->padded[i], &padded);
            pads[2 * (2 + i)] = rest % block * k->dilations[i];
            pads[2 * (2 + i) + 1] = padded - steps - pads[2 * (2 + i)];
        }
        plane = rlx_onnx_call(c, "nn.pad", "x pad_width=I", plane, pads, 2 * (2 + k->n));
        sum = rlx_onnx_call2(c, "add", sum, plane);
    }
    return rlx_onnx_cast(c, sum, own);
}

/* Each element of a column goes to its place in the padded image, where what meets is summed up. */
RLX_ONNX_CONVERTER(convert_col2im)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    rlx_onnx_ints image;
    columns k;
    size_t rank;
    if (!x || !rlx_onnx_sizes(c, 1, "image_shape", &image) || !read_columns(c, &image, &k))
        return false;
    const rlx_prim *const *d = rlx_onnx_dims(c, &x, &rank);
    if (!d || rank != 3)
        return d && rlx_onnx_fail(c, RLX_ON05, "the operand has rank %zu, expected 3", rank);
    const rlx_prim *channels = rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, d[1], k.taps));
    const rlx_prim *rows[] = { rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, d[0], channels)),
                               rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, k.count, k.taps)) };
    const rlx_prim *to[] = { rows[0], k.cells }, *out[2 + MOST_AXES] = { d[0], channels };
    int64_t taps;
    const rlx_expr *y;
    if (is_in_planes(&k, &taps)) {
        y = sum_of_planes(c, &k, x, d[0], channels, taps);
        goto cut;
    }
    const rlx_expr *index = rlx_onnx_reshape(c, cells_of(c, &k), rows + 1, 1);
    index = rlx_onnx_call(c, "broadcast_to", "x x", index, rlx_shape_new(c->ctx, rows, 2));
    y = rlx_onnx_full(c, to, 2, rlx_onnx_dtype_of(c, x), 0);
    y = rlx_onnx_call(c, "scatter_elements", "x x x axis=i reduction=s", y, index, rlx_onnx_reshape(c, x, rows, 2), (int64_t)1,
                      "add");
    memcpy(out + 2, k.padded, k.n * sizeof *out);
    y = rlx_onnx_reshape(c, y, out, k.n + 2);
cut:
    for (size_t i = 0; i < k.n && y; i++)
        if (k.pads[i] || k.pads[i + k.n]) {
            const rlx_prim *begin = rlx_int64(c->ctx, k.pads[i]);
            y = rlx_onnx_slice(c, y, (int64_t)i + 2, begin, rlx_onnx_simplify(c, rlx_fold_add(c->ctx, begin, image.data[i])));
        }
    return rlx_onnx_output(c, 0, y);
}

/* ---- determinants ------------------------------------------------------------------------------ */

RLX_ONNX_CONVERTER(convert_det)
{
    return rlx_onnx_output(c, 0, rlx_onnx_call1(c, "linalg.det", rlx_onnx_input(c, 0)));
}
