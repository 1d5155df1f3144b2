/* convert_vision.c: sampling at places that are computed, and images out of columns. */
#include "onnx/onnx_int.h"

#include <math.h>

static const rlx_expr *with(rlx_onnx_conv *c, const char *op, const rlx_expr *x, double v)
{
    return x ? rlx_onnx_call2(c, op, x, rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), v)) : NULL;
}

static const rlx_expr *size_as(rlx_onnx_conv *c, const rlx_prim *p, rlx_dtype t)
{
    const rlx_expr *e = p ? rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &p, 1)) : NULL;
    return rlx_onnx_cast(c, e, t);
}

/* ---- grids ------------------------------------------------------------------------------------- */

enum padding { ZEROS, BORDER, REFLECTION };
typedef struct sampler {
    const rlx_expr *x;                 /* channels last */
    const rlx_expr *place[3];          /* of each spatial axis, in elements */
    const rlx_expr *size[3];           /* as numbers of the places' dtype */
    size_t n;
    enum padding padding;
    bool corners;
    rlx_dtype t;
} sampler;

/* Mirrored at both ends as often as needed: a triangle of period 2 (high - low). */
static const rlx_expr *reflected(rlx_onnx_conv *c, const sampler *s, const rlx_expr *x, size_t axis)
{
    double low = s->corners ? 0 : -0.5;
    const rlx_expr *range = s->corners ? with(c, "subtract", s->size[axis], 1) : s->size[axis];
    range = with(c, "maximum", range, 1e-30);
    const rlx_expr *twice = with(c, "multiply", range, 2);
    const rlx_expr *y = with(c, "subtract", x, low);
    y = rlx_onnx_call2(c, "floor_mod", y, twice);
    y = rlx_onnx_call2(c, "minimum", y, rlx_onnx_call2(c, "subtract", twice, y));
    return with(c, "add", y, low);
}

static const rlx_expr *limited(rlx_onnx_conv *c, const sampler *s, const rlx_expr *x, size_t axis)
{
    return rlx_onnx_call2(c, "minimum", with(c, "maximum", x, 0),
                          with(c, "subtract", s->size[axis], 1));
}

/* The elements at whole places; zeros outside in that mode. */
static const rlx_expr *fetch(rlx_onnx_conv *c, const sampler *s, const rlx_expr *const *at)
{
    const rlx_expr *index[3] = { NULL }, *inside = NULL;
    int64_t last = (int64_t)s->n + 1;
    for (size_t i = 0; i < s->n; i++) {
        const rlx_expr *p = s->padding == REFLECTION ? reflected(c, s, at[i], i) : at[i];
        const rlx_expr *l = limited(c, s, p, i);
        if (s->padding == ZEROS) {
            const rlx_expr *same = rlx_onnx_call2(c, "equal", p, l);
            inside = inside ? rlx_onnx_call2(c, "logical_and", inside, same) : same;
        }
        index[i] = rlx_onnx_expand_dims(
            c, rlx_onnx_cast(c, rlx_onnx_call1(c, "round", l), RELAX_INT64), &last, 1);
    }
    const rlx_expr *y = rlx_onnx_call(c, "gather_nd", "x x batch_dims=i", s->x,
                                      rlx_onnx_concat(c, index, s->n, last), (int64_t)1);
    return inside ? rlx_onnx_where(c, rlx_onnx_expand_dims(c, inside, &last, 1), y,
                                   rlx_onnx_scalar(c, s->t, 0))
                  : y;
}

/* Weight of the tap at distance d (in elements) of a place. */
static const rlx_expr *tap_weight(rlx_onnx_conv *c, const rlx_expr *fraction, int tap, bool cubic)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, fraction);
    const double a = -0.75;
    const rlx_expr *one = rlx_onnx_scalar(c, t, 1), *d, *y;
    if (!cubic)
        return tap ? fraction : rlx_onnx_call2(c, "subtract", one, fraction);
    d = tap <= 0 ? with(c, "add", fraction, -tap)
                 : rlx_onnx_call2(c, "subtract", rlx_onnx_scalar(c, t, tap), fraction);
    if (tap == 0 || tap == 1) { /* ((a + 2) d - (a + 3)) d^2 + 1 */
        y = with(c, "add", with(c, "multiply", d, a + 2), -(a + 3));
        return with(c, "add",
                    rlx_onnx_call2(c, "multiply", y, rlx_onnx_call2(c, "multiply", d, d)), 1);
    }
    y = with(c, "add", with(c, "multiply", d, a), -5 * a);
    y = with(c, "add", rlx_onnx_call2(c, "multiply", y, d), 8 * a);
    return with(c, "add", rlx_onnx_call2(c, "multiply", y, d), -4 * a);
}

static const rlx_expr *interpolate(rlx_onnx_conv *c, const sampler *s, bool cubic)
{
    int first = cubic ? -1 : 0, taps = cubic ? 4 : 2, total = 1;
    int64_t last = (int64_t)s->n + 1;
    const rlx_expr *base[3], *weights[3][4], *sum = NULL;
    for (size_t i = 0; i < s->n; i++, total *= taps) {
        base[i] = rlx_onnx_call1(c, "floor", s->place[i]);
        const rlx_expr *f = rlx_onnx_call2(c, "subtract", s->place[i], base[i]);
        for (int k = 0; k < taps && f; k++)
            weights[i][k] = tap_weight(c, f, first + k, cubic);
    }
    for (int k = 0; k < total && !c->failed; k++) {
        const rlx_expr *at[3], *w = NULL;
        for (size_t i = 0, rest = (size_t)k; i < s->n; i++, rest /= (size_t)taps) {
            int tap = (int)(rest % (size_t)taps);
            at[i] = with(c, "add", base[i], first + tap);
            w = w ? rlx_onnx_call2(c, "multiply", w, weights[i][tap]) : weights[i][tap];
        }
        const rlx_expr *y = rlx_onnx_call2(
            c, "multiply", fetch(c, s, at),
            rlx_onnx_expand_dims(c, rlx_onnx_cast(c, w, s->t), &last, 1));
        sum = sum ? rlx_onnx_call2(c, "add", sum, y) : y;
    }
    return sum;
}

RLX_ONNX_CONVERTER(convert_grid_sample)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *grid = rlx_onnx_input(c, 1);
    int rank = x ? rlx_onnx_rank(c, x) : -1;
    rlx_slice mode = rlx_onnx_string(c, "mode", "linear");
    rlx_slice pad = rlx_onnx_string(c, "padding_mode", "zeros");
    if (rank < 3 || rank > 5 || !grid)
        return !c->failed && rlx_onnx_fail(c, RLX_ON05, "rank %d is not supported", rank) != NULL;
    sampler s = { .n = (size_t)rank - 2, .t = rlx_onnx_dtype_of(c, x) };
    s.padding = rlx_slice_is(pad, "border") ? BORDER : rlx_slice_is(pad, "reflection") ? REFLECTION : ZEROS;
    s.corners = rlx_onnx_int(c, "align_corners", 0) != 0;
    bool cubic = rlx_slice_is(mode, "cubic") || rlx_slice_is(mode, "bicubic");
    rlx_dtype g = rlx_onnx_dtype_of(c, grid);
    int64_t perm[5] = { 0 }, back[5] = { 0, rank - 1 };
    for (int i = 2; i < rank; i++)
        perm[i - 1] = i, back[i] = i - 1;
    perm[rank - 1] = 1;
    for (size_t i = 0; i < s.n; i++) {
        s.size[i] = size_as(c, rlx_onnx_dim(c, x, i + 2), g);
        /* the last axis of the grid begins with the last axis of the image */
        const rlx_expr *p = rlx_onnx_call(c, "take", "x x axis=i", grid,
                                          rlx_onnx_scalar(c, RELAX_INT64, (double)(s.n - 1 - i)),
                                          (int64_t)s.n + 1);
        p = with(c, "add", p, 1);
        p = s.corners ? rlx_onnx_call2(c, "multiply", p, with(c, "subtract", s.size[i], 1))
                      : with(c, "subtract", rlx_onnx_call2(c, "multiply", p, s.size[i]), 1);
        p = with(c, "divide", p, 2);
        s.place[i] = s.padding == BORDER && !cubic       ? limited(c, &s, p, i)
                     : s.padding == REFLECTION && !cubic ? reflected(c, &s, p, i)
                                                         : p;
    }
    s.x = rlx_onnx_transpose(c, x, perm, (size_t)rank);
    const rlx_expr *y;
    if (rlx_slice_is(mode, "nearest")) {
        const rlx_expr *at[3];
        for (size_t i = 0; i < s.n; i++)
            at[i] = rlx_onnx_call1(c, "round", s.place[i]);
        y = fetch(c, &s, at);
    } else {
        y = interpolate(c, &s, cubic);
    }
    return rlx_onnx_output(c, 0, rlx_onnx_transpose(c, y, back, (size_t)rank));
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

/* Each element of a column goes to its place in the padded image, where what meets is summed up. */
RLX_ONNX_CONVERTER(convert_col2im)
{
    enum { MOST = 4 };
    const rlx_expr *x = rlx_onnx_input(c, 0);
    size_t n, m;
    const int64_t *image = rlx_onnx_literals(c, 1, "image_shape", &n);
    const int64_t *block = image ? rlx_onnx_literals(c, 2, "block_shape", &m) : NULL;
    int64_t pads[2 * MOST], strides[MOST], dilations[MOST], padded[MOST], steps[MOST];
    if (!x || !block || n != m || n > MOST || !list_or(c, "pads", 2 * n, 0, pads) ||
        !list_or(c, "strides", n, 1, strides) || !list_or(c, "dilations", n, 1, dilations))
        return false;
    int64_t cells = 1, taps = 1, columns = 1;
    for (size_t i = 0; i < n; i++) {
        padded[i] = image[i] + pads[i] + pads[i + n];
        steps[i] = strides[i] > 0 ? (padded[i] - (dilations[i] * (block[i] - 1) + 1)) / strides[i] + 1 : 0;
        cells *= padded[i];
        taps *= block[i];
        columns *= steps[i];
        if (padded[i] < 1 || steps[i] < 1 || block[i] < 1 || cells > 1 << 24 || taps * columns > 1 << 22)
            return rlx_onnx_fail(c, RLX_ON02, "the sizes of image and block are out of range") != NULL;
    }
    int64_t *at = rlx_onnx_array(c, (size_t)(taps * columns), sizeof *at);
    for (int64_t k = 0; at && k < taps * columns; k++) {
        int64_t tap = k / columns, column = k % columns, place = 0, scale = 1;
        for (size_t i = n; i-- > 0; scale *= padded[i]) {
            place += scale * (tap % block[i] * dilations[i] + column % steps[i] * strides[i]);
            tap /= block[i];
            column /= steps[i];
        }
        at[k] = place;
    }
    size_t rank;
    const rlx_prim *const *d = rlx_onnx_dims(c, &x, &rank);
    if (!at || !d || rank != 3)
        return false;
    const rlx_prim *channels =
        rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, d[1], rlx_int64(c->ctx, taps)));
    const rlx_prim *rows[] = { rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, d[0], channels)),
                               rlx_int64(c->ctx, taps * columns) };
    const rlx_prim *to[] = { rows[0], rlx_int64(c->ctx, cells) }, *out[2 + MOST] = { d[0], channels };
    const rlx_expr *index = rlx_onnx_const_ints(c, RELAX_INT64, at, (size_t)(taps * columns));
    index = rlx_onnx_call(c, "broadcast_to", "x x", index, rlx_shape_new(c->ctx, rows, 2));
    const rlx_expr *y = rlx_onnx_full(c, to, 2, rlx_onnx_dtype_of(c, x), 0);
    y = rlx_onnx_call(c, "scatter_elements", "x x x axis=i reduction=s", y, index,
                      rlx_onnx_reshape(c, x, rows, 2), (int64_t)1, "add");
    for (size_t i = 0; i < n; i++)
        out[i + 2] = rlx_int64(c->ctx, padded[i]);
    y = rlx_onnx_reshape(c, y, out, n + 2);
    for (size_t i = 0; i < n && y; i++)
        if (pads[i] || pads[i + n])
            y = rlx_onnx_slice(c, y, (int64_t)i + 2, rlx_int64(c->ctx, pads[i]),
                               rlx_int64(c->ctx, pads[i] + image[i]));
    return rlx_onnx_output(c, 0, y);
}

/* ---- determinants ------------------------------------------------------------------------------ */

RLX_ONNX_CONVERTER(convert_det)
{
    return rlx_onnx_output(c, 0, rlx_onnx_call1(c, "linalg.det", rlx_onnx_input(c, 0)));
}
