"""Cases for gen_numbers.py: regions, moved windows, positions of pooling, sizes of any axes, determinants. Each is small enough to be said by
slices; test/cli/check_vision.py goes through many more."""
import numpy as np


def add(case, Text):
    x = np.arange(48, dtype=np.float32).reshape(1, 2, 4, 6) * 7 % 31 - 9

    # the greatest of two neighbours
    left, right = x[..., :-1], x[..., 1:]
    at = np.arange(48).reshape(x.shape)
    by_columns = np.arange(48).reshape(1, 2, 6, 4).swapaxes(2, 3)
    for columns, places in ((False, at), (True, by_columns)):
        case("nn.max_pool2d_with_indices", [("float32", x)], [("float32", np.maximum(left, right)), ("int64", np.where(right > left, places[..., 1:], places[..., :-1]))],
             pool_size=[1, 2], column_major=columns)

    # windows beyond the borders: the first greatest one, or number, of those that are inside
    y = x.copy()
    y[0, 0, 1, 1:3], y[0, 1, 2, 3], y[0, 1, :2, :2] = np.nan, np.nan, -np.inf
    z = np.pad(np.where(np.isnan(y), np.inf, y), ((0, 0), (0, 0), (2, 1), (1, 2)), constant_values=-np.inf)
    inside = np.pad(at, ((0, 0), (0, 0), (2, 1), (1, 2)), constant_values=-1)
    steps = [(slice(None), slice(None), slice(k, k + 5, 2), slice(j, j + 7, 3)) for k in range(0, 3, 2) for j in range(3)]
    best, where = np.full((1, 2, 3, 3), -np.inf), np.full((1, 2, 3, 3), -1)
    for s in steps:
        better = (inside[s] >= 0) & ((where < 0) | (z[s] > best))
        best, where = np.where(better, z[s], best), np.where(better, inside[s], where)
    case("nn.max_pool2d_with_indices", [("float32", y)], [("float32", np.where(best == np.inf, np.nan, best)), ("int64", where)],
         pool_size=[2, 3], strides=[2, 3], dilation=[2, 1], padding=[2, 1, 1, 2])

    # large windows, axis by axis
    wide = np.pad(x, ((0, 0), (0, 0), (2, 2), (1, 1)), constant_values=-np.inf)
    case("nn.max_pool2d", [("float32", x)], ("float32", np.lib.stride_tricks.sliding_window_view(wide, (5, 3), (2, 3)).max((4, 5))), pool_size=[5, 3], padding=[2, 1])

    # windows of one element, moved by whole pixels: what lies outside is 0
    offset = np.zeros((1, 2, 4, 6), np.float32)
    offset[:, 0], offset[:, 1] = 1, -2
    moved = np.zeros_like(x)
    moved[..., :3, 2:] = x[..., 1:, :4]
    weight = np.array([[1, 2], [0, -1], [3, 0]], np.float32).reshape(3, 2, 1, 1)
    want = np.einsum("oi,nihw->nohw", weight[..., 0, 0], moved)
    case("nn.deformable_conv2d", [("float32", x), ("float32", offset), ("float32", weight)], ("float32", want), 1e-6)
    mask = np.full((1, 1, 4, 6), 0.5, np.float32)
    case("nn.deformable_conv2d", [("float32", x), ("float32", offset), ("float32", weight), ("float32", mask)], ("float32", want / 2), 1e-6)

    # regions that are whole pixels
    rois = np.array([[0, 0, 0, 5, 3], [0, 2, 1, 3, 2]], np.float32)
    pooled = np.stack([np.stack([x[0, :, y:y + 2, z:z + 3].max((1, 2)) for y in (0, 2) for z in (0, 3)], 1).reshape(2, 2, 2), x[0, :, 1:3, 2:4]])
    case("vision.roi_pool", [("float32", x), ("float32", rois)], ("float32", pooled), pooled_size=[2, 2], spatial_scale=1.0)
    corners = np.array([[0, 1, 1, 3, 3]], np.float32)
    middles = (x[0, :, 1:3, 1:3] + x[0, :, 2:4, 1:3] + x[0, :, 1:3, 2:4] + x[0, :, 2:4, 2:4])[None] / 4
    for ratio in (1, -1):
        case("vision.roi_align", [("float32", x), ("float32", corners)], ("float32", middles), 1e-6, pooled_size=[2, 2], spatial_scale=1.0, sample_ratio=ratio, mode=Text("avg"))
    case("vision.roi_align", [("float32", x), ("float32", corners)], ("float32", middles), 1e-6, pooled_size=[2, 2], spatial_scale=1.0, sample_ratio=1, mode=Text("max"))

    # a region of the middles of 9 * 8 bins, many for one tile
    slope = np.arange(96, dtype=np.float32).reshape(1, 1, 8, 12)
    bins = np.array([[0, 0.5, 0.5, 8.5, 5]], np.float32)
    case("vision.roi_align", [("float32", slope), ("float32", bins)], ("float32", (12 * (0.75 + np.arange(9) / 2)[:, None] + 1 + np.arange(8)).reshape(1, 1, 9, 8)), 1e-6,
         pooled_size=[9, 8], spatial_scale=1.0, sample_ratio=1, mode=Text("avg"))

    # pixels times weights, in all channels; the last one is 0
    for channels in (2, 12):
        pixels = np.arange(2 * channels * 5, dtype=np.float32).reshape(2, channels, 5)
        index = np.array([[[0, 4, -1], [2, -3, 1]], [[3, 3, 0], [4, 1, 2]]])
        share = np.array([[[1, 2, 3], [0.5, 4, 5]], [[2, 0.25, 8], [1, 1, -1]]], np.float32)
        taken = np.take_along_axis(np.pad(pixels, ((0, 0), (0, 0), (0, 1)))[:, None], index[:, :, None] % 6, 3)
        case("image.sum_pixels", [("float32", pixels), ("int64", index), ("float32", share)], ("float32", (taken * share[:, :, None]).sum(1)))

    # scores as they are; anchors that nothing moves
    scores = np.array([[[0.25, 0.5], [0.75, 0.5]]], np.float32)
    anchor = np.array([[[0, 1, 2, 4], [1, 1, 3, 2]]], np.float32)
    case("vision.multibox_transform_loc", [("float32", scores), ("float32", np.zeros((1, 8))), ("float32", anchor)],
         [("float32", anchor[..., [1, 0, 3, 2]]), ("float32", [[[0, 0], [0.75, 0.5]]])], 1e-6, threshold=0.5, keep_background=False, apply_softmax=False)

    # sizes
    case("image.resize", [("float32", x), ("shape", (8, 3))], ("float32", x.repeat(2, 2)[..., ::2]), 0.0,
         axes=[2, 3], method=Text("nearest_neighbor"), coordinate_transformation_mode=Text("asymmetric"), rounding_method=Text("floor"))
    photo = np.arange(31 * 40 * 6).reshape(1, 31, 40, 6).astype(np.uint8)
    for sizes in ((13, 9, 8), (13, 64, 4)):
        picked = [np.ceil((np.arange(want) + 0.5) * have / want - 1).clip(0).astype(int) for have, want in zip(photo.shape[1:], sizes)]
        case("image.resize", [("uint8", photo), ("shape", sizes)], ("uint8", photo[:, picked[0]][:, :, picked[1]][..., picked[2]]), 0.0, axes=[1, 2, 3],
             method=Text("nearest_neighbor"))
    # linear shares that are the same everywhere: a half, a third (whose second share is 0, an operand all the same), a quarter; long rows, short ones
    for planes, rows, columns in ((6, 8, 12), (2, 4, 276)):
        wide = (np.arange(planes * rows * columns) % 97).reshape(2, planes // 2, rows, columns).astype(np.float32)
        wide[1, -1, 2, 5] = float("inf")
        in_pairs = lambda v: (v[..., ::2] + v[..., 1::2]) / 2
        turned = lambda v: v.swapaxes(2, 3)
        case("image.resize", [("float32", wide), ("shape", (rows // 2, columns // 2))], ("float32", turned(in_pairs(turned(in_pairs(wide))))), 0.0, axes=[2, 3])
        case("image.resize", [("float32", wide), ("shape", (columns // 3,))], ("float32", wide[..., 1::3] + wide[..., 2::3] * 0), 0.0, axes=[3])
        case("image.resize", [("float32", wide), ("shape", (rows // 4, columns // 2))], ("float32", turned(turned(wide[..., ::2] + wide[..., 1::2] * 0)[..., ::4] + turned(wide[..., ::2] + wide[..., 1::2] * 0)[..., 1::4] * 0)), 0.0,
             axes=[2, 3], coordinate_transformation_mode=Text("asymmetric"))
        case("image.resize", [("float32", wide), ("shape", (columns // 4,))], ("float32", (wide[..., 1::4] + wide[..., 2::4]) / 2), 0.0, axes=[3])
    shares = np.array([[4, 3, 1, 0], [0, 1, 3, 4]]) / 8
    case("image.resize", [("float32", x), ("shape", (2,))], ("float32", np.einsum("ij,ncjw->nciw", shares, x)), 1e-6, axes=[2], antialias=True)
    case("image.resize", [("float32", x), ("shape", (2,)), ("float64", np.ones(1)), ("float64", np.array([0.5, 2]))], ("float32", np.stack([x[..., 1, :] / 2 + x[..., 2, :] / 2, x[..., 0, :] * 0 + 9], 2)), 1e-6,
         axes=[2], coordinate_transformation_mode=Text("tf_crop_and_resize"), extrapolation_value=9.0)
    volume = x.reshape(1, 2, 2, 2, 6)
    case("image.resize3d", [("float32", volume), ("shape", (3, 2, 3))], ("float32", np.stack([volume[:, :, 0], volume.mean(2), volume[:, :, 1]], 2).reshape(1, 2, 3, 2, 3, 2).mean(-1)), 1e-6)

    # determinants; the first number of a seed
    case("linalg.det", [("float64", np.array([[[0, 2], [3, 4]], [[1, 2], [2, 4]]], float))], ("float64", np.array([-6.0, 0])), 1e-12)
    turned = np.array([[[0, 2, 1], [3, 4, 0], [1, k - 4, 2]] for k in range(9)], float)
    case("linalg.det", [("float64", turned)], ("float64", np.array([-12.0 + 3 * (k - 4) - 4 for k in range(9)])), 1e-12)
    words = np.array([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8], np.uint64)
    case("random.uniform", [("shape", (2, 2))], ("float32", ((words >> np.uint64(8)) / 2.0**24).reshape(2, 2)))
