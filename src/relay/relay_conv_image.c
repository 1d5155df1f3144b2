/* relay_conv_image.c: pictures at another size, sampled at positions, regions and boxes in them. */
#include "relay/relay_convert.h"

#define CONVERTER(name) const rlx_expr *rlx_relay_convert_##name(rlx_relay_conv *c)

/* ---- another size ---------------------------------------------------------------------------------------- */

/* Relay's rule for nearest_neighbor where none is said: round with align_corners, else floor. */
static const char *rounding_of(const char *rounding, const char *mode)
{
    return *rounding ? rounding : strcmp(mode, "align_corners") == 0 ? "round" : "floor";
}

/* As the attributes of resize2d and its kin say; `size` is a shape of n numbers. */
static const rlx_expr *resize(rlx_relay_conv *c, const rlx_expr *x, const rlx_expr *size, size_t n, const char *layout)
{
    size_t num_roi;
    const char *mode = rlx_relay_attr_text(c, "coordinate_transformation_mode");
    double *roi = rlx_relay_attr_floats(c, "roi", &num_roi), none[6] = { 0 };
    return rlx_relay_make(c, n == 3 ? "image.resize3d" : "image.resize2d",
                          "x x roi=F layout=s method=s coordinate_transformation_mode=s rounding_method=s cubic_alpha=f "
                          "cubic_exclude=i extrapolation_value=f out_dtype=d", x, size, num_roi == 2 * n ? roi : none,
                          2 * n, layout, rlx_relay_attr_text(c, "method"), mode,
                          rounding_of(rlx_relay_attr_text(c, "rounding_method"), mode),
                          rlx_relay_attr_float(c, "cubic_alpha"), rlx_relay_attr_int(c, "cubic_exclude"),
                          rlx_relay_attr_float(c, "extrapolation_value"), rlx_relay_attr_dtype(c, "out_dtype"));
}

/* The attribute size as n numbers; false after a report. */
static bool wanted_size(rlx_relay_conv *c, size_t n, int64_t *out)
{
    size_t count;
    int64_t *size = rlx_relay_attr_ints(c, "size", &count);
    if (count != 1 && count != n)
        return rlx_relay_cannot(c, "size has %zu items, found %zu", n, count) != NULL;
    for (size_t i = 0; i < n; i++)
        out[i] = size[count == 1 ? 0 : i];
    return true;
}

/* One axis: a picture of height 1. */
CONVERTER(resize1d)
{
    int64_t size[2] = { 1 }, at;
    const char *layout = rlx_relay_attr_text(c, "layout");
    if (!wanted_size(c, 1, size + 1) || !rlx_relay_letters(c, layout, "W", &at))
        return NULL;
    if (strcmp(layout, "NCW") != 0 && strcmp(layout, "NWC") != 0)
        return rlx_relay_cannot(c, "the layout %s is none of NCW and NWC", layout);
    const rlx_expr *x = rlx_relay_expand(c, rlx_relay_arg(c, 0), &at, 1);
    x = rlx_relay_emit(c, resize(c, x, rlx_shape_of_ints(c->ctx, size, 2), 2, at == 1 ? "NHWC" : "NCHW"));
    return rlx_relay_make(c, "squeeze", "x axis=I", x, &at, (size_t)1);
}

CONVERTER(resize2d)
{
    int64_t size[2];
    return wanted_size(c, 2, size) ? resize(c, rlx_relay_arg(c, 0), rlx_shape_of_ints(c->ctx, size, 2), 2,
                                            rlx_relay_attr_text(c, "layout")) : NULL;
}

CONVERTER(resize3d)
{
    int64_t size[3];
    return wanted_size(c, 3, size) ? resize(c, rlx_relay_arg(c, 0), rlx_shape_of_ints(c->ctx, size, 3), 3,
                                            rlx_relay_attr_text(c, "layout")) : NULL;
}

CONVERTER(dyn_resize2d)
{
    return resize(c, rlx_relay_arg(c, 0), rlx_relay_shape_argument(c, 1, NULL), 2, rlx_relay_attr_text(c, "layout"));
}

/* A size times the scale, rounded; of an unknown size only by a whole scale. */
static const rlx_prim *scaled(rlx_relay_conv *c, const rlx_prim *size, double by)
{
    int64_t v;
    if (rlx_int_literal(size, &v))
        return rlx_int64(c->ctx, rlx_relay_whole((double)v * by + 0.5));
    if (by >= 1 && by < 1e6 && by == (double)rlx_relay_whole(by))
        return rlx_fold_mul(c->ctx, size, rlx_int64(c->ctx, rlx_relay_whole(by)));
    return rlx_relay_cannot(c, "an unknown extent is scaled by whole numbers only, found %g", by);
}

/* The methods of upsampling by Relax's names. */
static const char *method_of(const char *method)
{
    static const char *const names[][2] = { { "bilinear", "linear" }, { "trilinear", "linear" }, { "bicubic", "cubic" } };
    for (size_t i = 0; i < RLX_COUNT(names); i++)
        if (strcmp(method, names[i][0]) == 0)
            return names[i][1];
    return method;
}

static const rlx_expr *upsample(rlx_relay_conv *c, const rlx_expr *x, const rlx_expr *size)
{
    const char *mode = rlx_relay_attr_bool(c, "align_corners") ? "align_corners" : "asymmetric";
    return rlx_relay_make(c, "image.resize2d", "x x layout=s method=s coordinate_transformation_mode=s "
                          "rounding_method=s cubic_alpha=f", x, size, rlx_relay_attr_text(c, "layout"),
                          method_of(rlx_relay_attr_text(c, "method")), mode, rounding_of("", mode), -0.5);
}

CONVERTER(upsampling)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t at[2];
    size_t n;
    const rlx_prim *const *sizes = rlx_relay_sizes(c, &x, &n);
    if (!sizes || !rlx_relay_letters(c, rlx_relay_attr_text(c, "layout"), "HW", at) || n != 4)
        return NULL;
    const rlx_prim *want[] = { scaled(c, sizes[at[0]], rlx_relay_attr_float(c, "scale_h")),
                               scaled(c, sizes[at[1]], rlx_relay_attr_float(c, "scale_w")) };
    return want[0] && want[1] ? upsample(c, x, rlx_shape_new(c->ctx, want, 2)) : NULL;
}

CONVERTER(upsampling3d)
{
    static const char *const scales[] = { "scale_d", "scale_h", "scale_w" };
    const rlx_expr *x = rlx_relay_arg(c, 0);
    const char *mode = rlx_relay_attr_text(c, "coordinate_transformation_mode");
    int64_t at[3];
    size_t n;
    const rlx_prim *const *sizes = rlx_relay_sizes(c, &x, &n), *want[3];
    if (!sizes || !rlx_relay_letters(c, rlx_relay_attr_text(c, "layout"), "DHW", at) || n != 5)
        return NULL;
    for (size_t i = 0; i < 3; i++)
        if (!(want[i] = scaled(c, sizes[at[i]], rlx_relay_attr_float(c, scales[i]))))
            return NULL;
    return rlx_relay_make(c, "image.resize3d", "x x layout=s method=s coordinate_transformation_mode=s rounding_method=s",
                          x, rlx_shape_new(c->ctx, want, 3), rlx_relay_attr_text(c, "layout"),
                          method_of(rlx_relay_attr_text(c, "method")), mode, rounding_of("", mode));
}

/* Scales that are arguments: numbers that are known, or the sizes are computed first. */
CONVERTER(dyn_upsampling)
{
    const rlx_expr *x = rlx_relay_arg(c, 0), *parts[2];
    int64_t at[2], zero = 0;
    size_t n, known;
    const rlx_prim *const *sizes = rlx_relay_sizes(c, &x, &n), *want[2] = { NULL };
    if (!sizes || !rlx_relay_letters(c, rlx_relay_attr_text(c, "layout"), "HW", at) || n != 4)
        return NULL;
    const double *h = rlx_relay_known_floats(c, rlx_relay_arg(c, 1), &known);
    const double *w = rlx_relay_known_floats(c, rlx_relay_arg(c, 2), &known);
    if (h && w) {
        want[0] = scaled(c, sizes[at[0]], h[0]);
        want[1] = scaled(c, sizes[at[1]], w[0]);
        return want[0] && want[1] ? upsample(c, x, rlx_shape_new(c->ctx, want, 2)) : NULL;
    }
    for (size_t i = 0; i < 2; i++) { /* round(size * scale) */
        const rlx_expr *s = rlx_relay_call(c, "shape_to_tensor", "x", rlx_shape_new(c->ctx, &sizes[at[i]], 1));
        const rlx_expr *by = rlx_relay_astype(c, rlx_relay_arg(c, i + 1), RELAX_FLOAT64);
        if (by && rlx_relay_rank(c, by) == 0)
            by = rlx_relay_expand(c, by, &zero, 1);
        parts[i] = rlx_relay_call2(c, "multiply", rlx_relay_astype(c, s, RELAX_FLOAT64), by);
    }
    const rlx_expr *both = rlx_relay_call1(c, "round", rlx_relay_concat(c, parts, 2, 0));
    return upsample(c, x, rlx_relay_shape_of_tensor(c, rlx_relay_astype(c, both, RELAX_INT64), 2));
}

/* ---- depth and space ---------------------------------------------------------------------------------------- */

/* The axes that a picture has as N, C, H, W in another order, and back. */
static const rlx_expr *to_order(rlx_relay_conv *c, const rlx_expr *x, const int64_t *at, bool back)
{
    int64_t order[4];
    for (int64_t i = 0; i < 4; i++)
        order[back ? at[i] : i] = back ? i : at[i];
    return rlx_relay_transpose(c, x, order, 4);
}

/* Depth into space: (N, b, b, C, H, W) or, in mode CRD, (N, C, b, b, H, W) becomes (N, C, H, b, W, b). Space into
 * depth: (N, C, H, b, W, b) becomes (N, b, b, C, H, W). */
CONVERTER(depth_to_space)
{
    static const int64_t dcr[] = { 0, 3, 4, 1, 5, 2 }, crd[] = { 0, 1, 4, 2, 5, 3 }, to_depth[] = { 0, 3, 5, 1, 2, 4 };
    bool to_space = strcmp(c->row->argument, "space") == 0;
    bool crd_mode = to_space && strcmp(rlx_relay_attr_text(c, "mode"), "CRD") == 0;
    int64_t b = rlx_relay_attr_int(c, "block_size"), at[4];
    const rlx_expr *x = rlx_relay_arg(c, 0);
    size_t n;
    if (!rlx_relay_letters(c, rlx_relay_attr_text(c, "layout"), "NCHW", at) || b < 1 || b > 1 << 20)
        return b < 1 ? rlx_relay_cannot(c, "block_size must be positive") : NULL;
    x = to_order(c, x, at, false);
    const rlx_prim *const *s = x ? rlx_relay_sizes(c, &x, &n) : NULL;
    if (!s || n != 4)
        return NULL;
    const rlx_prim *size = rlx_int64(c->ctx, b), *square = rlx_int64(c->ctx, b * b);
    const rlx_prim *six[6], *four[4];
    if (to_space) {
        const rlx_prim *depth = rlx_relay_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, s[1], square));
        six[0] = s[0], six[4] = s[2], six[5] = s[3];
        six[crd_mode ? 1 : 3] = depth;
        six[crd_mode ? 2 : 1] = size;
        six[crd_mode ? 3 : 2] = size;
        four[1] = depth;
        four[2] = rlx_relay_simplify(c, rlx_fold_mul(c->ctx, s[2], size));
        four[3] = rlx_relay_simplify(c, rlx_fold_mul(c->ctx, s[3], size));
    } else {
        four[1] = rlx_relay_simplify(c, rlx_fold_mul(c->ctx, s[1], square));
        four[2] = rlx_relay_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, s[2], size));
        four[3] = rlx_relay_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, s[3], size));
        six[0] = s[0], six[1] = s[1], six[2] = four[2], six[3] = size, six[4] = four[3], six[5] = size;
    }
    four[0] = s[0];
    x = rlx_relay_reshape(c, x, six, 6);
    x = rlx_relay_transpose(c, x, to_space ? (crd_mode ? crd : dcr) : to_depth, 6);
    return to_order(c, rlx_relay_reshape(c, x, four, 4), at, true);
}

/* ---- positions in pictures ------------------------------------------------------------------------------------ */

CONVERTER(affine_grid)
{
    size_t n;
    int64_t *size = rlx_relay_attr_ints(c, "target_shape", &n);
    return size ? rlx_relay_make(c, "image.affine_grid", "x x", rlx_relay_arg(c, 0), rlx_shape_of_ints(c->ctx, size, n))
                : NULL;
}

CONVERTER(grid_sample)
{
    return rlx_relay_make(c, "image.grid_sample", "x x method=s layout=s padding_mode=s align_corners=b",
                          rlx_relay_arg(c, 0), rlx_relay_arg(c, 1), rlx_relay_attr_text(c, "method"),
                          rlx_relay_attr_text(c, "layout"), rlx_relay_attr_text(c, "padding_mode"),
                          (int)rlx_relay_attr_bool(c, "align_corners"));
}

/* ---- regions and boxes ------------------------------------------------------------------------------------------ */

CONVERTER(roi_align)
{
    size_t n;
    int64_t *size = rlx_relay_attr_ints(c, "pooled_size", &n);
    return rlx_relay_make(c, "vision.roi_align", "x x pooled_size=I spatial_scale=f sample_ratio=i layout=s mode=s",
                          rlx_relay_arg(c, 0), rlx_relay_arg(c, 1), size, n, rlx_relay_attr_float(c, "spatial_scale"),
                          rlx_relay_attr_int(c, "sample_ratio"), rlx_relay_attr_text(c, "layout"),
                          rlx_relay_attr_text(c, "mode"));
}

CONVERTER(roi_pool)
{
    size_t n;
    int64_t *size = rlx_relay_attr_ints(c, "pooled_size", &n);
    return rlx_relay_make(c, "vision.roi_pool", "x x pooled_size=I spatial_scale=f layout=s", rlx_relay_arg(c, 0),
                          rlx_relay_arg(c, 1), size, n, rlx_relay_attr_float(c, "spatial_scale"),
                          rlx_relay_attr_text(c, "layout"));
}

/* Numbers that Relay has as arguments are attributes of Relax: they must be constants. */
CONVERTER(valid_counts)
{
    double threshold;
    if (!rlx_relay_constant_number(c, 1, "the least score", &threshold))
        return NULL;
    return rlx_relay_make(c, "vision.get_valid_counts", "x score_threshold=f id_index=i score_index=i",
                          rlx_relay_arg(c, 0), threshold, rlx_relay_attr_int(c, "id_index"),
                          rlx_relay_attr_int(c, "score_index"));
}

CONVERTER(nms)
{
    double most, share;
    if (!rlx_relay_constant_number(c, 3, "the number of boxes", &most) ||
        !rlx_relay_constant_number(c, 4, "the share of overlap", &share))
        return NULL;
    return rlx_relay_make(c, "vision.non_max_suppression", "x x x max_output_size=i iou_threshold=f force_suppress=b "
                          "top_k=i coord_start=i score_index=i id_index=i return_indices=b invalid_to_bottom=b",
                          rlx_relay_arg(c, 0), rlx_relay_arg(c, 1), rlx_relay_arg(c, 2), rlx_relay_whole(most), share,
                          (int)rlx_relay_attr_bool(c, "force_suppress"), rlx_relay_attr_int(c, "top_k"),
                          rlx_relay_attr_int(c, "coord_start"), rlx_relay_attr_int(c, "score_index"),
                          rlx_relay_attr_int(c, "id_index"), (int)rlx_relay_attr_bool(c, "return_indices"),
                          (int)rlx_relay_attr_bool(c, "invalid_to_bottom"));
}

CONVERTER(all_class_nms)
{
    return rlx_relay_make(c, "vision.all_class_non_max_suppression", "x x x x x output_format=s", rlx_relay_arg(c, 0),
                          rlx_relay_arg(c, 1), rlx_relay_arg(c, 2), rlx_relay_arg(c, 3), rlx_relay_arg(c, 4),
                          rlx_relay_attr_text(c, "output_format"));
}
