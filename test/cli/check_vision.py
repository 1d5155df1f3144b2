#!/usr/bin/python3
"""Operators of detection and of images against numpy, which goes through boxes one by one."""
import itertools, math

from operator_calls import check, done, every_way, refused

import numpy as np

np.seterr(all="ignore")
rng = np.random.RandomState(7)


def quarters(*shape):
    return (rng.randint(-9, 9, shape) / 4).astype(np.float32)


def some_boxes(*shape):
    """Corners in any order, many of them shared."""
    return (rng.randint(0, 13, shape + (4,)) / 2).astype(np.float32)


# ---- determinants
for shape in ((1, 1), (4, 4), (2, 3, 5, 5), (3, 9, 9), (2, 0, 0), (0, 3, 3), (5, 4, 5, 5), (300, 3, 3), (9, 1, 1)):
    for dtype, tol in (("float32", 1e-4), ("float64", 1e-11)):
        x = rng.randint(-4, 5, shape).astype(dtype)
        x[..., :1, :1] = 0  # the first pivot is another one
        check("R.linalg.det(x0)", [x], np.linalg.det(x) if x.size else np.ones(shape[:-2], dtype), tol)
check("R.linalg.det(x0)", [np.array([[[0, 1], [0, 5]], [[np.inf, 1], [2, 3]], [[0, 0], [0, np.nan]]], np.float64)], np.array([0, np.inf, np.nan]))
special = [[[0, 1], [0, 5]], [[np.inf, 1], [2, 3]], [[0, 0], [0, np.nan]], [[0, 2], [3, 4]], [[1, 2], [2, 4]], [[-1, 0], [0, 1]], [[5, 1], [-5, 1]], [[0, 0], [0, 0]]]
check("R.linalg.det(x0)", [np.array(special, np.float64)], np.array([0, np.inf, np.nan, -6, 0, -1, 10, 0]), 1e-12)
refused("R.linalg.det(x0)", [np.zeros((2, 3), np.float32)], "RT05")


# ---- random numbers
def philox(k, seed):
    """Four words for counter k."""
    c, key = [k & 0xffffffff, k >> 32, 0, 0], [seed & 0xffffffff, seed >> 32 & 0xffffffff]
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [q >> 32 ^ c[1] ^ key[0], q & 0xffffffff, p >> 32 ^ c[3] ^ key[1], p & 0xffffffff]
        key = [(key[0] + 0x9E3779B9) & 0xffffffff, (key[1] + 0xBB67AE85) & 0xffffffff]
    return c


def random_words(n, seed):
    return np.array([philox(k, seed) for k in range(-(-n // 4))], np.uint64).ravel()[:n]


assert philox(0xffffffffffffffff, -1)[0] != 0 and philox(0, 0) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
for seed in (0, 7, -1, 1 << 40):
    w = random_words(21, seed)
    check(f"R.random.uniform(R.shape([3, 7]), seed={seed})", [], ((w >> np.uint64(8)) / 2.0 ** 24).astype("float32").reshape(3, 7))
    check(f'R.random.uniform(R.shape([21]), dtype="float16", seed={seed}, low=-2, high=2)', [], ((w >> np.uint64(21)) / 2.0 ** 9 - 2).astype("float16"))
    d = random_words(42, seed).reshape(21, 2)
    d = ((d[:, 0] >> np.uint64(5)) * 2.0 ** 26 + (d[:, 1] >> np.uint64(6))) / 2.0 ** 53
    check(f'R.random.uniform(R.shape([21]), dtype="float64", seed={seed})', [], d)
    u, v = (random_words(42, seed).reshape(21, 2) >> np.uint64(8)).T / 2.0 ** 24
    check(f"R.random.normal(R.shape([21]), seed={seed}, mean=1, scale=2)", [], (np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v) * 2 + 1).astype("float32"), 2e-6)
d = random_words(84, 3).reshape(21, 2, 2)
u, v = ((d[..., 0] >> np.uint64(5)) * 2.0 ** 26 + (d[..., 1] >> np.uint64(6))).T / 2.0 ** 53
check('R.random.normal(R.shape([21]), dtype="float64", seed=3)', [], np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v), 1e-13)


# ---- median
for dtype in ("float32", "float16", "float64", "int32", "uint8"):
    x = rng.randint(0, 9, (3, 4, 5)).astype(dtype)
    order = np.argsort(x, 1, kind="stable")[:, 1:2]
    check("R.median(x0, axis=[1])", [x], [np.take_along_axis(x, order, 1)[:, 0], order[:, 0]])
    check("R.median(x0, axis=[-2], keepdims=True)", [x], [np.take_along_axis(x, order, 1), order])
    check("R.median(x0)", [x], np.sort(x.ravel())[29])
    both = np.moveaxis(x, 1, 2).reshape(15, 4)
    check("R.median(x0, axis=[0, 2])", [x], np.sort(np.moveaxis(x, 1, 0).reshape(4, 15), 1)[:, 7])
    check("R.median(x0, axis=[0, 2], keepdims=True)", [x], np.sort(np.moveaxis(x, 1, 0).reshape(4, 15), 1)[:, 7].reshape(1, 4, 1))
check("R.median(x0, axis=[0])", [np.array([np.nan, 1, -np.inf, 0], np.float32)], [np.float32(0), np.int64(3)])
refused("R.median(x0, axis=[1])", [np.zeros((2, 0), np.float32)], "RT14")


# ---- boxes
def corners(b, centered=False):
    h = b.dtype.type(0.5)
    if centered:
        b = np.stack([b[0] - b[2] * h, b[1] - b[3] * h, b[0] + b[2] * h, b[1] + b[3] * h])
    return np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])


def overlap(a, b, centered=False):
    (al, ah), (bl, bh) = corners(a, centered), corners(b, centered)
    side = np.maximum(np.minimum(ah, bh) - np.maximum(al, bl), 0)
    both = side[0] * side[1]
    whole = (ah - al).prod() + (bh - bl).prod() - both
    return both / whole if whole > 0 else a.dtype.type(0)


def valid_counts(x, threshold, id_index, score_index):
    out, where, count = np.full_like(x, -1), np.full(x.shape[:2], -1, np.int32), np.zeros(len(x), np.int32)
    for b in range(len(x)):
        for i, row in enumerate(x[b]):
            if row[score_index] > threshold and (id_index < 0 or row[id_index] >= 0):
                out[b, count[b]], where[b, count[b]] = row, i
                count[b] += 1
    return [count, out, where]


def detections(batch, n, dtype="float32"):
    x = np.concatenate([rng.randint(-1, 3, (batch, n, 1)), rng.randint(-2, 8, (batch, n, 1)) / 8, some_boxes(batch, n)], 2)
    return x.astype(dtype)


for dtype in ("float32", "float64", "float16"):
    x = detections(2, 9, dtype)
    for threshold, id_index in ((0.0, 0), (0.25, -1)):
        check(f"R.vision.get_valid_counts(x0, score_threshold={threshold}, id_index={id_index}, score_index=1)", [x], valid_counts(x, threshold, id_index, 1))


# ---- other sizes: each axis is a matrix
def weights(have, want, method, mode, rounding, alpha=-0.75, exclude=False):
    m = np.zeros((want, have))
    for o in range(want):
        half = (o + 0.5) * have / want
        x = {"half_pixel": half - 0.5, "asymmetric": o * have / want, "align_corners": o * (have - 1) / max(want - 1, 1), "tf_half_pixel_for_nn": half,
             "pytorch_half_pixel": half - 0.5 if want > 1 else 0.0}[mode]
        if method == "nearest_neighbor":
            k = {"floor": math.floor, "ceil": math.ceil, "round_prefer_ceil": lambda v: math.floor(v + 0.5)}.get(rounding, lambda v: math.ceil(v - 0.5))(x)
            taps = [(k, 1.0)]
        else:
            taps = []
            for k in range(math.floor(x) - 1, math.floor(x) + 3):
                d = abs(x - k)
                near, far = ((alpha + 2) * d - (alpha + 3)) * d * d + 1, ((alpha * d - 5 * alpha) * d + 8 * alpha) * d - 4 * alpha
                taps.append((k, max(1 - d, 0) if method == "linear" else near if d <= 1 else far if d < 2 else 0))
            if exclude:
                taps = [(k, w) for k, w in taps if 0 <= k < have]
                taps = [(k, w / sum(v for _, v in taps)) for k, w in taps]
        for k, w in taps:
            m[o, min(max(k, 0), have - 1)] += w
    return m


def resized(x, size, *rule):
    x = x.astype(np.float64)
    for i, n in enumerate(size):
        x = np.moveaxis(np.tensordot(weights(x.shape[2 + i], n, *rule), x, (1, 2 + i)), 0, 2 + i)
    return x


for n, method, mode in itertools.product((1, 3), ("nearest_neighbor", "linear", "cubic"), ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")):
    x, layout, size = quarters(*((2, 2, 7) if n == 1 else (1, 2, 3, 4, 5))), ["NCW", "NWC"] if n == 1 else ["NCDHW", "NDHWC"], [11] if n == 1 else [5, 1, 7]
    for rounding, exclude in [(r, False) for r in ("", "floor", "ceil", "round_prefer_ceil")] if method == "nearest_neighbor" else [("", False)] + [("", True)] * (method == "cubic"):
        want = resized(x, size, method, mode, rounding, -0.75, exclude).astype("float32")
        text = f'R.image.resize{n}d(x0, R.shape({size}), method="{method}", coordinate_transformation_mode="{mode}", rounding_method="{rounding}", cubic_exclude={int(exclude)}'
        check(text + ")", [x], want, 2e-5)
        check(text + f', layout="{layout[1]}")', [np.moveaxis(x, 1, -1).copy()], np.moveaxis(want, 1, -1), 2e-5)
for dtype, tol in (("float16", 4e-3), ("float64", 1e-12)):
    x = quarters(1, 2, 3, 4, 5).astype(dtype)
    check('R.image.resize3d(x0, R.shape([5, 1, 7]), method="cubic")', [x], resized(x, [5, 1, 7], "cubic", "half_pixel", "").astype(dtype), tol)


# ---- any axes at another size, by ONNX's formulas
def cubic(d, a):
    d = abs(d)
    return ((a + 2) * d - (a + 3)) * d * d + 1 if d < 1 else ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0


def axis_matrix(have, want, scale, method, mode="half_pixel", rounding="round_prefer_floor", alpha=-0.75, exclude=False, antialias=False, roi=(0, 1)):
    """What each place is made of, and whether it lies outside."""
    m, outside = np.zeros((want, have)), np.zeros(want, bool)
    length, least = scale * have, min(scale, 1) if antialias and method != "nearest_neighbor" else 1
    for o in range(want):
        x = {"half_pixel": (o + 0.5) / scale - 0.5, "asymmetric": o / scale, "tf_half_pixel_for_nn": (o + 0.5) / scale,
             "align_corners": o * (have - 1) / (length - 1) if length != 1 else 0, "pytorch_half_pixel": (o + 0.5) / scale - 0.5 if want > 1 else 0,
             "half_pixel_symmetric": have / 2 * (1 - want / length) + (o + 0.5) / scale - 0.5,
             "tf_crop_and_resize": roi[0] * (have - 1) + o * (roi[1] - roi[0]) * (have - 1) / (want - 1) if want > 1 else (roi[0] + roi[1]) / 2 * (have - 1)}[mode]
        outside[o] = not 0 <= x <= have - 1
        if method == "nearest_neighbor":
            k = {"floor": math.floor(x), "ceil": math.ceil(x), "round_prefer_ceil": math.floor(x + 0.5), "round_prefer_floor": math.ceil(x - 0.5)}[rounding]
            m[o, min(max(k, 0), have - 1)] = 1
            continue
        reach = (1 if method == "linear" else 2) / least
        taps = range(math.floor(x) - math.ceil(reach) - 1, math.floor(x) + math.ceil(reach) + 3)
        shares = {k: max(1 - abs(k - x) * least, 0) if method == "linear" else cubic((k - x) * least, alpha) for k in taps}
        if exclude:
            shares = {k: w for k, w in shares.items() if 0 <= k < have}
        total = sum(shares.values())
        for k, w in shares.items():
            m[o, min(max(k, 0), have - 1)] += w / total if (exclude or least < 1) and total else w
    return m, outside


def resized_axes(x, axes, size, scales, *rule, fill=0.0, roi=None, **more):
    y = x.astype(np.float64)
    for i in reversed(range(len(axes))):
        m, outside = axis_matrix(x.shape[axes[i]], size[i], scales[i] or size[i] / x.shape[axes[i]], *rule, **more, **({"roi": (roi[i], roi[i + len(axes)])} if roi else {}))
        y = np.moveaxis(np.tensordot(m, y, (1, axes[i])), 0, axes[i])
        if roi:
            y[(slice(None),) * axes[i] + (outside,)] = fill
    return y


x = quarters(2, 3, 6, 7)
for method, mode in itertools.product(("nearest_neighbor", "linear", "cubic"), ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn", "half_pixel_symmetric")):
    for size, scales in (([9, 4], [0, 0]), ([3, 16], [0.6, 2.3]), ([1, 7], [0.2, 1.1])):
        for more in [dict(rounding=r) for r in ("floor", "ceil", "round_prefer_ceil")] if method == "nearest_neighbor" else [{}, dict(exclude=True), dict(antialias=True), dict(antialias=True, exclude=True, alpha=-0.5)]:
            names = {"rounding": "rounding_method", "exclude": "cubic_exclude", "alpha": "cubic_alpha"}
            text = ", ".join([""] + [f"{names.get(k, k)}={v!r}".replace("'", '"') for k, v in more.items()])
            check(f'R.image.resize(x0, R.shape({size}), x1, axes=[2, 3], method="{method}", coordinate_transformation_mode="{mode}"{text})', [x, np.array(scales, np.float64)],
                  resized_axes(x, [2, 3], size, scales, method, mode, **more).astype("float32"), 2e-5)
# nearest elements in groups of places that go on: 0 0 1, 2 2 3, ..; with another axis that is repeated, or has a table
z = quarters(2, 3, 8, 12)
for mode, rounding in itertools.product(("half_pixel", "asymmetric"), ("floor", "ceil", "round_prefer_ceil", "round_prefer_floor")):
    for size in ([12, 18], [10, 9], [16, 15], [20, 18], [8, 18], [11, 8]):
        want = resized_axes(z, [2, 3], size, [0, 0], "nearest_neighbor", mode, rounding)
        rule = f'coordinate_transformation_mode="{mode}", rounding_method="{rounding}"'
        check(f'R.image.resize(x0, R.shape({size}), axes=[2, 3], method="nearest_neighbor", {rule})', [z], want.astype("float32"))
        flat = np.moveaxis(z, 1, 3).astype("int8")
        want = np.moveaxis(resized_axes(np.moveaxis(flat, 3, 1), [2, 3], size, [0, 0], "nearest_neighbor", mode, rounding), 1, 3)
        check(f'R.image.resize(x0, R.shape({size}), axes=[1, 2], method="nearest_neighbor", {rule})', [flat], want.astype("int8"))
for method, antialias in itertools.product(("nearest_neighbor", "linear", "cubic"), (False, True)):
    roi = [0.25, -0.25, 0.75, 1.5]
    check(f'R.image.resize(x0, R.shape([5, 4]), x1, x2, axes=[-1, 0], method="{method}", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7, antialias={antialias})',
          [x, np.array([0.5, 2.0], np.float32), np.array(roi)], resized_axes(x, [3, 0], [5, 4], [0.5, 2.0], method, "tf_crop_and_resize", roi=roi, fill=7.0, antialias=antialias).astype("float32"), 2e-5)
for dtype, tol in (("float64", 1e-12), ("float16", 4e-3), ("uint8", 0), ("int32", 0)):
    y = rng.randint(0, 9, (3, 8)).astype(dtype)
    want = resized_axes(y, [1], [3], [0], "linear", antialias=True)
    check("R.image.resize(x0, R.shape([3]), axes=[1], antialias=True)", [y], want.astype(dtype) if dtype[0] == "f" else np.trunc(want + 1e-9).astype(dtype), tol)
check("R.image.resize(x0, R.shape([]), axes=[])", [x], x)
check('R.image.resize(x0, R.shape([1]), x1, axes=[3], antialias=True)', [x, np.array([1e-30])], x[..., -1:])  # ends, far beyond data
refused("R.image.resize(x0, R.shape([4]), axes=[1])", [np.zeros((2, 0), np.float32)], "RT05")
refused("R.image.resize(x0, R.shape([4]), x1, axes=[1])", [np.zeros((2, 3), np.float32), np.ones(2)], "RT05")


# ---- pooling with positions
def pooled(x, size, strides, pads, dilation, ceil=False, columns=False):
    """Values, and where they are; NaN is greatest, the first of equals wins."""
    n = len(size)
    out = []
    for i in range(n):
        room = x.shape[2 + i] + pads[i] + pads[n + i] - dilation[i] * (size[i] - 1) - 1
        count = (-(-room // strides[i]) if ceil else room // strides[i]) + 1
        if ceil and (count - 1) * strides[i] >= x.shape[2 + i] + pads[i]:
            count -= 1
        out.append(count)
    values, where = np.zeros(x.shape[:2] + tuple(out), x.dtype), np.zeros(x.shape[:2] + tuple(out), np.int64)
    spatial = np.arange(math.prod(x.shape[2:])).reshape(x.shape[2:], order="F" if columns else "C")
    for at in np.ndindex(values.shape):
        best = None
        for k in np.ndindex(*size):
            p = [at[2 + i] * strides[i] - pads[i] + k[i] * dilation[i] for i in range(n)]
            if all(0 <= v < x.shape[2 + i] for i, v in enumerate(p)):
                v = x[(*at[:2], *p)]
                if best is None or v > best[0] or (v != v and best[0] == best[0]):
                    best = (v, (at[0] * x.shape[1] + at[1]) * spatial.size + spatial[tuple(p)])
        values[at], where[at] = best
    return [values, where]


for shape, size, strides, pads, dilation, ceil in (((2, 3, 9), [3], [2], [1, 1], [1], False), ((1, 2, 6, 7), [2, 3], [1, 2], [1, 0, 0, 1], [1, 1], True),
                                                   ((2, 1, 8, 7), [2, 2], [2, 2], [0, 0, 0, 0], [2, 3], False), ((1, 2, 4, 5, 3), [2, 2, 2], [2, 1, 1], [1] * 6, [1] * 3, False)):
    for dtype, columns in itertools.product(("float32", "float16", "float64", "int8", "uint8"), (False, True)):
        x = rng.randint(0, 6, shape).astype(dtype)
        if dtype == "float32":
            x.flat[::7] = np.nan
        check(f"R.nn.max_pool{len(size)}d_with_indices(x0, pool_size={size}, strides={strides}, padding={pads}, dilation={dilation}, ceil_mode={ceil}, column_major={columns})",
              [x], pooled(x, size, strides, pads, dilation, ceil, columns))
# pictures so large that some channels are pooled at a time, or one, several times in a group; multiples of a quarter, whose sums are exact
for shape, size, strides, pads in (((2, 6, 33, 50), 3, 1, 1), ((1, 6, 60, 50), 3, 2, 1), ((1, 2, 90, 100), 5, 3, 2), ((1, 9, 20, 61), 2, 1, 1), ((1, 48, 56, 54), 3, 1, 1),
                                   ((2, 48, 40, 40), 3, 2, 1), ((1, 8, 80, 13), 3, 1, 1)):
    x = quarters(*shape)
    x[0, 0, :2, :3] = np.nan, np.inf, -0.0
    bound = [(v + 2 * pads - size) // strides + 1 for v in shape[2:]]
    some = dict(pool_size=[size, size], strides=[strides, strides], padding=[pads] * 4)
    attrs = ", ".join(f"{k}={v}" for k, v in some.items())

    def taps(x, fill):
        wide = np.pad(x, [(0, 0), (0, 0), (pads, pads), (pads, pads)], constant_values=fill)
        return [wide[:, :, i:i + (bound[0] - 1) * strides + 1:strides, j:j + (bound[1] - 1) * strides + 1:strides] for i in range(size) for j in range(size)]

    with_padding = sum(taps(x, 0)) / np.float32(size * size)
    check(f"R.nn.max_pool2d(x0, {attrs})", [x], np.maximum.reduce(taps(x, -np.inf)))
    check(f"R.nn.avg_pool2d(x0, {attrs})", [x], sum(taps(x, 0)) / sum(taps(np.ones_like(x), 0)), 1e-7)
    check(f"R.nn.avg_pool2d(x0, {attrs}, count_include_pad=True)", [x], with_padding, 1e-7)
x = rng.randint(0, 6, (2, 5, 6, 3)).astype("float32")
values, _ = pooled(np.moveaxis(x, 3, 1).copy(), [2, 2], [2, 2], [0] * 4, [1, 1])
places = np.moveaxis(np.arange(x.size).reshape(x.shape), 3, 1)
planes = np.stack([np.stack([np.moveaxis(x, 3, 1)[..., i:4 + i:2, j:6 + j:2] for j in (0, 1)], -1) for i in (0, 1)], -2).reshape(2, 3, 2, 3, 4)
first = np.stack([np.stack([places[..., i:4 + i:2, j:6 + j:2] for j in (0, 1)], -1) for i in (0, 1)], -2).reshape(2, 3, 2, 3, 4)
at = np.take_along_axis(first, planes.argmax(-1)[..., None], -1)[..., 0]
check('R.nn.max_pool2d_with_indices(x0, pool_size=[2, 2], strides=[2, 2], layout="NHWC")', [x], [np.moveaxis(values, 1, 3), np.moveaxis(at, 1, 3)])


# ---- convolutions with moved windows
def deformed(x, offset, w, mask=None, strides=(1, 1), pads=(0, 0, 0, 0), dilation=(1, 1), moved=1, groups=1):
    (n, _, height, width), (o, inputs, kh, kw), (oh, ow) = x.shape, w.shape, offset.shape[2:]
    x, offset, out = x.astype(np.float64), offset.astype(np.float64).reshape(n, moved, kh, kw, 2, oh, ow), np.zeros((n, o, oh, ow))
    for b, to, p, q, c, y, z in np.ndindex(n, o, oh, ow, inputs, kh, kw):
        channel = to // (o // groups) * inputs + c
        g = channel // (x.shape[1] // moved)
        at = [p * strides[0] - pads[0] + y * dilation[0] + offset[b, g, y, z, 0, p, q], q * strides[1] - pads[1] + z * dilation[1] + offset[b, g, y, z, 1, p, q]]
        low, v = [math.floor(a) for a in at], 0
        for i, j in np.ndindex(2, 2):
            if 0 <= low[0] + i < height and 0 <= low[1] + j < width:
                v += x[b, channel, low[0] + i, low[1] + j] * (1 - abs(at[0] - low[0] - i)) * (1 - abs(at[1] - low[1] - j))
        if mask is not None:
            v *= mask.reshape(n, moved, kh, kw, oh, ow)[b, g, y, z, p, q]
        out[b, to, p, q] += v * w[to, c, y, z]
    return out


for dtype, tol in (("float32", 2e-5), ("float64", 1e-12), ("float16", 2e-2)):
    x, w = quarters(2, 4, 5, 6).astype(dtype), quarters(4, 4, 2, 3).astype(dtype)
    offset, mask = quarters(2, 12, 4, 4).astype(dtype), quarters(2, 6, 4, 4).astype(dtype)
    check("R.nn.deformable_conv2d(x0, x1, x2)", [x, offset, w], deformed(x, offset, w).astype(dtype), tol, symbolic=False)
    check("R.nn.deformable_conv2d(x0, x1, x2, x3)", [x, offset, w, mask], deformed(x, offset, w, mask).astype(dtype), tol)
x, w = quarters(1, 6, 7, 6), quarters(4, 3, 3, 2)
offset, mask = quarters(1, 36, 4, 4) * 3, quarters(1, 18, 4, 4)
check("R.nn.deformable_conv2d(x0, x1, x2, x3, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 3], deformable_groups=3, groups=2)", [x, offset, w, mask],
      deformed(x, offset, w, mask, (2, 1), (1, 0), (1, 3), 3, 2).astype("float32"), 1e-4, symbolic=False)
check('R.nn.deformable_conv2d(x0, x1, x2, data_layout="NHWC", kernel_layout="HWIO")', [np.moveaxis(x, 1, 3).copy(), quarters(1, 12, 5, 5) * 0, np.moveaxis(quarters(2, 6, 3, 2) * 0 + 1, (0, 1), (3, 2)).copy()],
      np.stack([np.moveaxis(sum(x[:, :, i:5 + i, j:5 + j] for i in range(3) for j in range(2)).sum(1, keepdims=True), 1, 3)] * 2, -1)[..., 0, :], 1e-5)
refused("R.nn.deformable_conv2d(x0, x1, x2)", [x, quarters(1, 12, 4, 4), quarters(2, 6, 3, 2)], "RT05")


# ---- regions
def roi_align(x, rois, size, scale, ratio, aligned, mode):
    x, out = x.astype(np.float64), np.zeros((len(rois), x.shape[1]) + size)
    for k, r in enumerate(rois.astype(np.float64)):
        begin, length = [r[2] * scale, r[1] * scale], [(r[4] - r[2]) * scale, (r[3] - r[1]) * scale]
        length = length if aligned else [max(1.0, v) for v in length]
        steps = [ratio if ratio > 0 else math.ceil(length[i] / size[i]) for i in range(2)]
        for at in np.ndindex(size):
            values = []
            for s in itertools.product(*(range(v) for v in steps)):
                p = [begin[i] + (at[i] + (s[i] + 0.5) / steps[i]) * length[i] / size[i] for i in range(2)]
                if any(v < -1 or v > x.shape[2 + i] for i, v in enumerate(p)):
                    values.append(np.zeros(x.shape[1]))
                    continue
                p = [min(max(v, 0), x.shape[2 + i] - 1) for i, v in enumerate(p)]
                low = [math.floor(v) for v in p]
                parts = [x[int(r[0])][:, min(low[0] + i, x.shape[2] - 1), min(low[1] + j, x.shape[3] - 1)]
                         * (p[0] - low[0] if i else 1 - p[0] + low[0]) * (p[1] - low[1] if j else 1 - p[1] + low[1]) for i, j in np.ndindex(2, 2)]
                values.append(np.max(parts, 0) if mode == "max_corner" else sum(parts))
            if values:
                out[(k, slice(None)) + at] = np.mean(values, 0) if mode == "avg" else np.max(values, 0)
    return out


rois = np.array([[0, 0.5, 1, 4.5, 5.25], [1, 2, 2, 2.5, 2.25], [1, -3, -2, 9.5, 8.25], [0, 9, 9, 12, 12], [1, 4, 3, 2, 5]], np.float32)
image = quarters(2, 3, 6, 7)
for ratio, aligned, mode in itertools.product((-1, 0, 3), (False, True), ("avg", "max", "max_corner")):
    for dtype, tol in (("float32", 2e-4), ("float64", 1e-9), ("float16", 2e-2)):
        want = roi_align(image, rois, (2, 3), 0.75, ratio, aligned, mode).astype(dtype)
        text = f'R.vision.roi_align(x0, x1, (2, 3), 0.75, {ratio}, aligned={aligned}, mode="{mode}"'
        check(text + ")", [image.astype(dtype), rois.astype("float64" if dtype == "float64" else "float32")], want, tol, symbolic=dtype == "float32")
        if dtype == "float32":
            check(text + ', layout="NHWC")', [np.moveaxis(image, 1, 3).copy(), rois], np.moveaxis(want, 1, 3), tol)
hostile = np.array([[0, np.nan, 0, 3, 3], [1, 0, 0, np.inf, 2]], np.float32)
check("R.vision.roi_align(x0, x1, (1, 1), 1.0)", [image, hostile], np.zeros((2, 3, 1, 1), np.float32))
for number in (-2.0 ** 63, -1, 2, 2.0 ** 62):   # images that there are not, also those whose place would wrap around
    refused("R.vision.roi_align(x0, x1, (1, 1), 1.0)", [quarters(2, 3, 3, 3), np.array([[number, 0, 0, 2, 2]], np.float32)], "RT09")
check('R.vision.roi_pool(x0, x1, (2, 2), 1.0, layout="NHWC")', [np.full((2, 6, 7, 3), -2.0, np.float32), rois[:2]], np.full((2, 2, 2, 3), -2.0, np.float32))


# ---- boxes of anchors
def decoded(scores, moves, anchor, variances, clip, threshold, background, softmax):
    moves, a = moves.reshape(len(moves), -1, 4).astype(np.float64) * variances, anchor[0].astype(np.float64)
    size, middle = a[:, 2:] - a[:, :2], (a[:, 2:] + a[:, :2]) / 2
    centre, half = moves[..., :2] * size + middle, np.exp(moves[..., 2:]) * size / 2
    boxes = np.concatenate([(centre - half)[..., ::-1], (centre + half)[..., ::-1]], -1)
    s = scores.astype(np.float64)
    if softmax:
        s = np.exp(s - s.max(1, keepdims=True))
        s /= s.sum(1, keepdims=True)
    s = np.where(s >= threshold, s, 0)
    if not background:
        s[:, 0] = 0
    return [np.clip(boxes, 0, 1) if clip else boxes, s]


for (clip, background, softmax), (dtype, tol) in zip(itertools.product((False, True), repeat=3), [("float32", 1e-5), ("float64", 1e-12), ("float16", 1e-2), ("float32", 1e-5)] * 2):
    scores, moves, anchor = quarters(2, 5, 3).astype(dtype), quarters(2, 12).astype(dtype), (quarters(1, 3, 4) / 4).astype(dtype)
    check(f"R.vision.multibox_transform_loc(x0, x1, x2, clip={clip}, threshold=0.126, variances=(0.5, 0.25, 0.125, 1.0), keep_background={background}, apply_softmax={softmax})",
          [scores, moves, anchor], [v.astype(dtype) for v in decoded(scores, moves, anchor, [0.5, 0.25, 0.125, 1.0], clip, 0.126, background, softmax)], tol)
refused("R.vision.multibox_transform_loc(x0, x1, x2)", [quarters(2, 5, 3), quarters(2, 11), quarters(1, 3, 4)], "RT05")


# ---- boxes that overlap
def suppressed(x, valid, indices, most=-1, iou=0.5, force=False, top=-1, coords=2, score=1, ids=0, positions=True, bottom=False, sigma=0.0, least=0.0):
    """TVM's rule; scores and what is computed of boxes have the dtype of x."""
    t = x.dtype.type
    data, where, count = np.full_like(x, -1), np.full(x.shape[:2], -1, np.int32), np.zeros((len(x), 1), np.int32)
    for b in range(len(x)):
        rows = x[b].copy()
        order = sorted(range(valid[b]), key=lambda i: -rows[i, score])[:top if top > 0 else None]
        limit = t(least) if sigma > 0 else t(0)
        left, kept = [i for i in order], []
        while left and (most <= 0 or len(kept) < most):
            best = max(left, key=lambda i: rows[i, score])
            if not rows[best, score] > limit:
                break
            left.remove(best)
            kept.append(best)
            for i in list(left):
                if not (force or ids < 0 or rows[best, ids] == rows[i, ids]):
                    continue
                v = overlap(rows[best, coords:coords + 4], rows[i, coords:coords + 4])
                if v >= t(iou):
                    left.remove(i)
                elif sigma > 0:
                    rows[i, score] *= np.exp(t(-0.5 / sigma) * v * v)
        for k, i in enumerate(kept):
            at = k if bottom or sigma > 0 else order.index(i)
            data[b, at], where[b, k] = rows[i], indices[b, i]
        count[b] = len(kept)
    if not positions:
        return [data]
    return ([data] if sigma > 0 else []) + [where, count]


for dtype, n in (("float32", 12), ("float64", 7), ("float32", 40)):
    x = detections(2, n, dtype)
    valid, indices = np.array([n, n - 3], np.int32), rng.permutation(2 * n).reshape(2, n).astype(np.int32)
    for most, iou, force, top, ids in ((-1, 0.5, False, -1, 0), (3, 0.25, True, -1, 0), (-1, 0.125, False, 5, -1), (2, 0.5, False, 6, 0)):
        text = f"R.vision.non_max_suppression(x0, x1, x2, max_output_size={most}, iou_threshold={iou}, force_suppress={force}, top_k={top}, id_index={ids}"
        for more in (dict(), dict(positions=False), dict(positions=False, bottom=True)):
            check(f"{text}, return_indices={more.get('positions', True)}, invalid_to_bottom={more.get('bottom', False)})", [x, valid, indices],
                  suppressed(x, valid, indices, most, iou, force, top, ids=ids, **more))
    check("R.vision.non_max_suppression(x0, x1, x2, iou_threshold=0.6, soft_nms_sigma=0.5, score_threshold=0.125)", [x, valid, indices],
          suppressed(x, valid, indices, iou=0.6, sigma=0.5, least=0.125), 1e-6)


def by_class(boxes, scores, most, iou, threshold, reaches, centered=False):
    """Rows of batch, class, box."""
    rows = []
    for b, c in np.ndindex(scores.shape[:2]):
        s, kept = scores[b, c], []
        for i in sorted((i for i in range(len(s)) if s[i] > threshold), key=lambda i: -s[i]):
            v = [overlap(boxes[b, k], boxes[b, i], centered) for k in kept]
            if len(kept) < most and not any(o >= np.float32(iou) if reaches else o > np.float32(iou) for o in v):
                kept.append(i)
        rows += [(b, c, i) for i in kept]
    return np.array(rows, np.int64).reshape(-1, 3)


def limits(most, iou, threshold):
    return f'R.const({most}, "int64"), R.const({iou}, "float32"), R.const({threshold}, "float32")'


for batch, classes, n, most, iou, threshold, dtype in ((1, 1, 6, 3, 0.5, 0.0, "float32"), (2, 3, 11, 4, 0.25, 0.25, "float32"), (2, 2, 5, 9, 0.125, 0.5, "float64"), (1, 2, 4, 0, 0.5, 0.0, "float32")):
    boxes, scores = some_boxes(batch, n).astype(dtype), (rng.randint(0, 16, (batch, classes, n)) / 16).astype(dtype)
    rows = by_class(boxes, scores, most, iou, threshold, False)
    check(f"R.vision.dynamic_non_max_suppression(x0, x1, {limits(most, iou, threshold)})", [boxes, scores], rows)
    check(f"R.vision.dynamic_non_max_suppression(x0, x1, {limits(most, iou, threshold)}, center_point_box=True)", [boxes, scores],
          by_class(boxes, scores, most, iou, threshold, False, True))
    rows = by_class(boxes, scores, most, iou, threshold, True)
    whole = np.zeros((batch * classes * n, 3), np.int64)
    whole[:len(rows)] = rows
    check(f"R.vision.all_class_non_max_suppression(x0, x1, {limits(most, iou, threshold)})", [boxes, scores], [whole, np.array([len(rows)])])
    pairs, best, count = np.zeros((batch, classes * n, 2), np.int64), np.zeros((batch, classes * n), dtype), np.zeros(batch, np.int64)
    for b, c, i in rows:
        pairs[b, count[b]], best[b, count[b]] = (c, i), scores[b, c, i]
        count[b] += 1
    check(f'R.vision.all_class_non_max_suppression(x0, x1, {limits(most, iou, threshold)}, output_format="tensorflow")', [boxes, scores], [pairs, best, count])

# ---- each way to run them
limit = limits(2, 0.5, 0.25)
every_way(["R.median(x0)", "R.median(x0, axis=[2])", "R.nn.max_pool2d_with_indices(x0, pool_size=[2, 2], padding=[1, 1], column_major=True)",
           "R.nn.deformable_conv2d(x0, x1, x2, x3, padding=[1, 1])", "R.vision.roi_align(x0, x4, (2, 3), 0.75)", 'R.vision.roi_align(x0, x4, (2, 3), 0.75, 2, mode="max_corner")',
           "R.vision.roi_pool(x0, x4, (2, 2), 1.0)", 'R.image.resize(x0, R.shape([5, 9]), axes=[2, 3], method="cubic")', "R.image.resize(x0, R.shape([3, 4]), axes=[2, 3], antialias=True)",
           'R.image.resize(x0, R.shape([3]), x7, x8, axes=[2], coordinate_transformation_mode="tf_crop_and_resize")',
           'R.image.resize3d(x9, R.shape([3, 2, 5]), method="cubic")', "R.image.resize1d(R.squeeze(x0, axis=[0]), R.shape([3]))", "R.random.normal(R.shape([3, 50]), seed=7)",
           'R.random.uniform(R.shape([50]), "float16", seed=7)', "R.linalg.det(x10)", "R.linalg.det(R.reshape(x10, R.shape([12, 4, 4])))", f"R.vision.dynamic_non_max_suppression(x5, x6, {limit})",
           f"R.vision.all_class_non_max_suppression(x5, x6, {limit})", f'R.vision.all_class_non_max_suppression(x5, x6, {limit}, output_format="tensorflow")',
           "R.image.sum_pixels(R.reshape(x0, R.shape([1, 3, 42])), x11, x12)", "R.image.sum_pixels(R.reshape(x1, R.shape([1, 16, 28])), x11, x12)",
           "R.vision.get_valid_counts(x5, score_threshold=1.0)", "R.vision.multibox_transform_loc(x6, R.reshape(x5, R.shape([1, 28])), x5)"],
          [quarters(1, 3, 6, 7), quarters(1, 8, 7, 8), quarters(2, 3, 2, 2), quarters(1, 4, 7, 8), (rois[[0, 3, 4]] * [[0, 1, 1, 1, 1]]).astype(np.float32),
           some_boxes(1, 7), quarters(1, 2, 7), np.array([0.5]), np.array([0.25, 1.5], np.float32), quarters(1, 2, 3, 4, 5), quarters(3, 8, 8), rng.randint(-1, 28, (1, 3, 300)), quarters(1, 3, 300)])
refused("R.image.sum_pixels(x0, x1, x2)", [quarters(1, 2, 3), np.array([[[0, 4]]]), quarters(1, 1, 2)], "RT09")
refused("R.image.sum_pixels(x0, x1, x2)", [quarters(1, 12, 3), np.array([[[-5, 0]]]), quarters(1, 1, 2)], "RT09")
done()
