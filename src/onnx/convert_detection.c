/* convert_detection.c: regions and boxes of images, convolutions with moved windows, the bits of numbers, random
 * numbers. */
#include "onnx/onnx_int.h"

#include <math.h>

/* ---- regions ----------------------------------------------------------------------------------- */

RLX_ONNX_CONVERTER(convert_max_roi_pool)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *rois = rlx_onnx_input(c, 1);
    size_t n;
    const int64_t *bins = rlx_onnx_int_list(c, "pooled_shape", &n);
    if (!x || !rois)
        return false;
    if (!bins || n != 2)
        return rlx_onnx_fail(c, RLX_ON10, "pooled_shape is no list of two numbers") != NULL;
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "vision.roi_pool", "x x pooled_size=I spatial_scale=f",
                                               x, rois, bins, n, rlx_onnx_float(c, "spatial_scale", 1)));
}

/* (image, x1, y1, x2, y2) in pixels of the image, of which half ones are the middles. */
static const rlx_expr *scaled_rois(rlx_onnx_conv *c, const rlx_expr *rois, const rlx_expr *images, bool half)
{
    const int64_t last = 1;
    rlx_dtype t = rlx_onnx_dtype_of(c, rois) == RELAX_FLOAT64 ? RELAX_FLOAT64 : RELAX_FLOAT32;
    double scale = rlx_onnx_float(c, "spatial_scale", 1);
    rois = rlx_onnx_cast(c, rois, t);
    if (scale != 1)
        rois = rlx_onnx_call2(c, "multiply", rois, rlx_onnx_scalar(c, t, scale));
    if (half)
        rois = rlx_onnx_call2(c, "subtract", rois, rlx_onnx_scalar(c, t, 0.5));
    const rlx_expr *parts[2] = { rlx_onnx_expand_dims(c, rlx_onnx_cast(c, images, t), &last, 1), rois };
    return rlx_onnx_concat(c, parts, 2, 1);
}

RLX_ONNX_CONVERTER(convert_roi_align)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *rois = rlx_onnx_input(c, 1), *images = rlx_onnx_input(c, 2);
    rlx_slice mode = rlx_onnx_string(c, "mode", "avg");
    rlx_slice places = rlx_onnx_string(c, "coordinate_transformation_mode",
                                       c->version < 16 ? "output_half_pixel" : "half_pixel");
    bool half = rlx_slice_is(places, "half_pixel"), most = rlx_slice_is(mode, "max");
    const int64_t height = rlx_onnx_int(c, "output_height", 1), width = rlx_onnx_int(c, "output_width", 1);
    const int64_t bins[2] = { height, width };
    if (!x || !rois || !images)
        return false;
    if (!half && !rlx_slice_is(places, "output_half_pixel"))
        return rlx_onnx_fail(c, RLX_ON05, "the coordinate_transformation_mode is not known") != NULL;
    if (!most && !rlx_slice_is(mode, "avg"))
        return rlx_onnx_fail(c, RLX_ON05, "the mode is not known") != NULL;
    rois = scaled_rois(c, rois, images, half);
    return rlx_onnx_output(
        c, 0, rlx_onnx_call(c, "vision.roi_align", "x x pooled_size=I spatial_scale=f sample_ratio=i aligned=b mode=s", x,
                            rois, bins, (size_t)2, 1.0, rlx_onnx_int(c, "sampling_ratio", 0), (int)half,
                            most ? "max_corner" : "avg"));
}

/* ---- boxes ------------------------------------------------------------------------------------- */

static const rlx_expr *limit(rlx_onnx_conv *c, size_t i, rlx_dtype dtype, double otherwise)
{
    return rlx_onnx_has(c, i) ? rlx_onnx_input(c, i) : rlx_onnx_scalar(c, dtype, otherwise);
}

RLX_ONNX_CONVERTER(convert_non_max_suppression)
{
    const rlx_expr *boxes = rlx_onnx_input(c, 0), *scores = rlx_onnx_input(c, 1);
    size_t n;
    if (!boxes || !scores)
        return false;
    bool by_centre = rlx_onnx_int(c, "center_point_box", 0) != 0;
    const rlx_expr *score = limit(c, 4, RELAX_FLOAT32, -INFINITY);
    const rlx_expr *overlap = limit(c, 3, RELAX_FLOAT32, 0);
    const rlx_expr *most = limit(c, 2, RELAX_INT64, 0);
    const rlx_expr *y = rlx_onnx_call(c, "vision.dynamic_non_max_suppression", "x x x x x center_point_box=b", boxes,
                                      scores, most, overlap, score, (int)by_centre);
    return y && rlx_onnx_dims(c, &y, &n) && rlx_onnx_output(c, 0, y);
}

/* ---- windows that are moved -------------------------------------------------------------------- */

static bool two_numbers(rlx_onnx_conv *c, const char *name, size_t n, int64_t otherwise, int64_t *out)
{
    size_t len;
    const int64_t *v = rlx_onnx_int_list(c, name, &len);
    for (size_t i = 0; i < n; i++)
        out[i] = v && i < len ? v[i] : otherwise;
    return !v || len == n ||
           rlx_onnx_fail(c, RLX_ON05, "%s has %zu numbers, expected %zu: only images are supported", name, len, n) != NULL;
}

RLX_ONNX_CONVERTER(convert_deform_conv)
{
    static const int64_t behind[] = { 1, 2 };
    const rlx_expr *x = rlx_onnx_input(c, 0), *weight = rlx_onnx_input(c, 1), *offset = rlx_onnx_input(c, 2);
    int64_t strides[2], dilations[2], pads[4];
    if (!x || !weight || !offset || !two_numbers(c, "strides", 2, 1, strides) ||
        !two_numbers(c, "dilations", 2, 1, dilations) || !two_numbers(c, "pads", 4, 0, pads))
        return false;
    bool masked = rlx_onnx_has(c, 4);
    const char *format = masked ? "x x x x strides=I padding=I dilation=I deformable_groups=i groups=i"
                                : "x x x strides=I padding=I dilation=I deformable_groups=i groups=i";
    int64_t moved = rlx_onnx_int(c, "offset_group", 1), groups = rlx_onnx_int(c, "group", 1);
    const rlx_expr *y =
        masked ? rlx_onnx_call(c, "nn.deformable_conv2d", format, x, offset, weight, rlx_onnx_input(c, 4), strides,
                               (size_t)2, pads, (size_t)4, dilations, (size_t)2, moved, groups)
               : rlx_onnx_call(c, "nn.deformable_conv2d", format, x, offset, weight, strides, (size_t)2, pads, (size_t)4,
                               dilations, (size_t)2, moved, groups);
    if (y && rlx_onnx_has(c, 3))
        y = rlx_onnx_call2(c, "add", y, rlx_onnx_expand_dims(c, rlx_onnx_input(c, 3), behind, 2));
    return rlx_onnx_output(c, 0, y);
}

/* ---- the bits of numbers ----------------------------------------------------------------------- */

RLX_ONNX_CONVERTER(convert_bit_cast)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    rlx_dtype to;
    size_t n;
    if (!rlx_onnx_dtype(rlx_onnx_int(c, "to", 0), &to) || rlx_dtype_is_bool(to) || !rlx_dtype_is_computable(to))
        return rlx_onnx_fail(c, RLX_ON05, "the bits of a number as that dtype are not supported") != NULL;
    rlx_dtype from = rlx_onnx_dtype_of(c, x);
    const rlx_prim *const *dims = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!dims)
        return false;
    if (!rlx_dtype_is_computable(from) || rlx_dtype_bytes(from) != rlx_dtype_bytes(to))
        return rlx_onnx_fail(c, RLX_ON05, "a number has other bytes in the dtype that is asked for") != NULL;
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "memory.view", "x x x x", x, rlx_shape_new(c->ctx, dims, n),
                                               rlx_dtype_imm_new(c->ctx, to), rlx_onnx_prim(c, 0)));
}

/* ---- random numbers ---------------------------------------------------------------------------- */

/* That of the node, or one that follows from its place in the model, so that no two nodes give the same and each run
 * gives the same. */
static int64_t seed_of(rlx_onnx_conv *c)
{
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, "seed");
    if (!a)
        return (int64_t)c->m->num_nodes;
    if (strcmp(c->row->op, "Dropout") == 0)
        return rlx_onnx_int(c, "seed", 0);
    double seed = rlx_onnx_float(c, "seed", 0);
    if (seed == floor(seed) && fabs(seed) < 0x1p62)
        return (int64_t)seed;
    int64_t bits;
    memcpy(&bits, &seed, sizeof bits);
    return bits;
}

static const rlx_expr *random_numbers(rlx_onnx_conv *c, const rlx_prim *const *dims, size_t n, rlx_dtype dtype)
{
    const rlx_expr *shape = rlx_shape_new(c->ctx, dims, n);
    bool normal = strcmp(c->row->argument, "normal") == 0;
    double second = rlx_onnx_float(c, normal ? "scale" : "high", 1);
    double first = rlx_onnx_float(c, normal ? "mean" : "low", 0);
    int64_t seed = seed_of(c);
    if (normal)
        return rlx_onnx_call(c, "random.normal", "x dtype=d seed=i mean=f scale=f", shape, dtype, seed, first, second);
    return rlx_onnx_call(c, "random.uniform", "x dtype=d seed=i low=f high=f", shape, dtype, seed, first, second);
}

/* The attribute dtype, a float. */
static bool random_dtype(rlx_onnx_conv *c, rlx_dtype otherwise, rlx_dtype *out)
{
    *out = otherwise;
    if (rlx_onnx_attr(c, "dtype") && !rlx_onnx_dtype(rlx_onnx_int(c, "dtype", 0), out))
        return rlx_onnx_fail(c, RLX_ON05, "the dtype is not supported") != NULL;
    return rlx_dtype_is_float(*out) ||
           rlx_onnx_fail(c, RLX_ON05, "random numbers of a dtype that is no float are not supported") != NULL;
}

RLX_ONNX_CONVERTER(convert_random)
{
    size_t n;
    rlx_dtype dtype;
    const int64_t *shape = rlx_onnx_int_list(c, "shape", &n);
    if (!shape)
        return rlx_onnx_fail(c, RLX_ON10, "shape is missing") != NULL;
    const rlx_prim **dims = rlx_onnx_array(c, n, sizeof *dims);
    if (!dims || !random_dtype(c, RELAX_FLOAT32, &dtype))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (shape[i] < 0)
            return rlx_onnx_fail(c, RLX_ON05, "shape holds a number below 0") != NULL;
        dims[i] = rlx_int64(c->ctx, shape[i]);
    }
    return rlx_onnx_output(c, 0, random_numbers(c, dims, n, dtype));
}

RLX_ONNX_CONVERTER(convert_random_like)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    size_t n;
    rlx_dtype dtype;
    const rlx_prim *const *dims = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    return dims && random_dtype(c, rlx_onnx_dtype_of(c, x), &dtype) &&
           rlx_onnx_output(c, 0, random_numbers(c, dims, n, dtype));
}

/* 1 with the probability that the operand gives for each element. */
RLX_ONNX_CONVERTER(convert_bernoulli)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    rlx_dtype dtype = rlx_onnx_dtype_of(c, x), out = dtype;
    size_t n;
    const rlx_prim *const *dims = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!dims)
        return false;
    if (rlx_onnx_attr(c, "dtype") && !rlx_onnx_dtype(rlx_onnx_int(c, "dtype", 0), &out))
        return rlx_onnx_fail(c, RLX_ON05, "the dtype is not supported") != NULL;
    const rlx_expr *y = rlx_onnx_call2(c, "less", random_numbers(c, dims, n, dtype), x);
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, y, out));
}

bool rlx_onnx_drop(rlx_onnx_conv *c, double ratio)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    size_t n;
    const rlx_prim *const *dims = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!dims)
        return false;
    if (!(ratio <= 1))
        return rlx_onnx_fail(c, RLX_ON05, "the ratio is not between 0 and 1") != NULL;
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    const rlx_expr *u = rlx_onnx_call(c, "random.uniform", "x dtype=d seed=i", rlx_shape_new(c->ctx, dims, n),
                                      RELAX_FLOAT32, seed_of(c));
    const rlx_expr *stays = rlx_onnx_call2(c, "greater_equal", u, rlx_onnx_scalar(c, RELAX_FLOAT32, ratio));
    const rlx_expr *y = rlx_onnx_call2(c, "multiply", x, rlx_onnx_scalar(c, t, ratio < 1 ? 1 / (1 - ratio) : 0));
    y = rlx_onnx_where(c, stays, y, rlx_onnx_scalar(c, t, 0));
    return rlx_onnx_output(c, 0, y) && (!rlx_onnx_wants(c, 1) || rlx_onnx_output(c, 1, stays));
}

/* sample_size classes of each row, whose logarithms of probabilities (up to a common summand) are given. */
RLX_ONNX_CONVERTER(convert_multinomial)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int64_t samples = rlx_onnx_int(c, "sample_size", 1), axis = 0;
    rlx_dtype out;
    size_t n;
    const rlx_prim *const *dims = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!dims)
        return false;
    if (n != 2 || samples < 1 || samples > INT32_MAX)
        return rlx_onnx_fail(c, RLX_ON05, "an operand of rank %zu with %lld samples is not supported", n,
                             (long long)samples) != NULL;
    if (!rlx_onnx_dtype(rlx_onnx_int(c, "dtype", 6), &out) || (out != RELAX_INT32 && out != RELAX_INT64))
        return rlx_onnx_fail(c, RLX_ON05, "classes of a dtype that is neither int32 nor int64") != NULL;
    const rlx_prim *rows = dims[0], *each = rlx_int64(c->ctx, samples);
    const rlx_prim *column[2] = { rlx_onnx_simplify(c, rlx_fold_mul(c->ctx, rows, each)), rlx_int64(c->ctx, 1) };
    const rlx_prim *result[2] = { rows, each };
    x = rlx_onnx_dtype_of(c, x) == RELAX_FLOAT64 ? x : rlx_onnx_cast(c, x, RELAX_FLOAT32);
    const rlx_expr *p = rlx_onnx_call(c, "nn.softmax", "x axis=i", x, (int64_t)-1);
    const rlx_expr *u = random_numbers(c, column, 2, rlx_onnx_dtype_of(c, x));
    const rlx_expr *row = rlx_onnx_call(c, "repeat", "x repeats=i axis=i", rlx_onnx_arange(c, rows, RELAX_INT64),
                                        samples, axis);
    const rlx_expr *y = rlx_onnx_call(c, "multinomial_from_uniform", "x x x dtype=d", p, u,
                                      rlx_onnx_reshape(c, row, column, 2), out);
    return rlx_onnx_output(c, 0, rlx_onnx_reshape(c, y, result, 2));
}

bool rlx_onnx_drop_found(rlx_onnx_conv *c, double ratio)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *trains = rlx_onnx_input(c, 2), *one, *share;
    size_t n;
    const rlx_prim *const *dims = x ? rlx_onnx_dims(c, &x, &n) : NULL;
    if (!dims || !trains || rlx_onnx_rank(c, trains) > 1)
        return trains && rlx_onnx_needs(c, 2, "training_mode") != NULL;
    c->m->needed |= c->inputs[2]->depends;
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    one = rlx_onnx_scalar(c, RELAX_FLOAT32, 1);
    share = rlx_onnx_has(c, 1) ? rlx_onnx_cast(c, rlx_onnx_input(c, 1), RELAX_FLOAT32)
                               : rlx_onnx_scalar(c, RELAX_FLOAT32, ratio);
    trains = rlx_onnx_reshape_ints(c, rlx_onnx_cast(c, trains, RELAX_BOOL), NULL, 0);
    const rlx_expr *u = rlx_onnx_call(c, "random.uniform", "x dtype=d seed=i", rlx_shape_new(c->ctx, dims, n),
                                      RELAX_FLOAT32, seed_of(c));
    const rlx_expr *runs = rlx_onnx_call1(c, "logical_not", trains);
    const rlx_expr *stays = rlx_onnx_call2(c, "logical_or", rlx_onnx_call2(c, "greater_equal", u, share), runs);
    const rlx_expr *factor = rlx_onnx_call2(c, "divide", one, rlx_onnx_call2(c, "subtract", one, share));
    factor = rlx_onnx_cast(c, rlx_onnx_where(c, trains, factor, one), t);
    const rlx_expr *y = rlx_onnx_where(c, stays, rlx_onnx_call2(c, "multiply", x, factor), rlx_onnx_scalar(c, t, 0));
    return rlx_onnx_output(c, 0, y) && (!rlx_onnx_wants(c, 1) || rlx_onnx_output(c, 1, stays));
}
