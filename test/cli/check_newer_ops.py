#!/usr/bin/python3
"""The operators that TVM 0.27 has beside those of 0.20: what they compute against numpy, with known sizes, with variables, and with nothing
known of the operands, at levels 0 and 2."""
import itertools, math

import operator_calls
from operator_calls import check, done, refused

operator_calls.unknown = True

import numpy as np

np.seterr(all="ignore")
rng = np.random.RandomState(5)


def numbers(*shape):
    return (rng.randint(-16, 16, shape) / 4).astype(np.float32)


# ---- element by element ---------------------------------------------------------------------------------------------------
x, y = numbers(3, 4), numbers(3, 4)
check("R.trunc(x0)", [x], np.trunc(x))
check("R.trunc(x0)", [x.astype(np.int32)], x.astype(np.int32))
check("R.atan2(x0, x1)", [x, y], np.arctan2(x, y), 1e-6)
check("R.atan2(x0, x1)", [x, y[0]], np.arctan2(x, y[0]), 1e-6)
check("R.log_add_exp(x0, x1)", [x * 20, y * 20], np.logaddexp(x * 20, y * 20), 1e-6)
ends = np.array([np.inf, -np.inf, np.nan, 0, 88, -200], np.float32)
pairs = np.array(list(itertools.product(ends, ends)), np.float32)
check("R.log_add_exp(x0, x1)", [pairs[:, 0].copy(), pairs[:, 1].copy()], np.logaddexp(pairs[:, 0], pairs[:, 1]), 1e-6)
check("R.nn.prelu(x0, x1, axis=1)", [x, y[0]], np.where(x > 0, x, x * y[0]))
check("R.nn.prelu(x0, x1, axis=0)", [x, y[:1, 0].copy()], np.where(x > 0, x, x * y[0, 0]))
refused("R.nn.prelu(x0, x1, axis=1)", [x, y[0, :3].copy()], "RT05")

# ---- put together ---------------------------------------------------------------------------------------------------------
for axis in (0, 1, 2, -1, -3):
    check(f"R.stack((x0, x1), axis={axis})", [x, y], np.stack([x, y], axis))
check("R.stack((x0,), axis=0)", [x], np.stack([x]))
refused("R.stack((x0, x1), axis=0)", [x, y[:, :3].copy()], "RT05")
a, b, c = numbers(2), numbers(3), numbers(5)
for how in ("ij", "xy"):
    check(f'R.meshgrid((x0, x1, x2), indexing="{how}")', [a, b, c], np.meshgrid(a, b, c, indexing=how))
check("R.outer(x0, x1)", [a, c], np.outer(a, c))
check("R.size(x0)", [numbers(2, 3, 4)], np.int64(24))
check("R.size(x0)", [numbers(0, 3)], np.int64(0))
z = numbers(2, 8, 3, 5)
check("R.nn.batch_flatten(x0)", [z], z.reshape(2, -1))
shuffled = z.reshape(2, 2, 2, 2, 3, 5).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 10)
check("R.nn.pixel_shuffle(x0, 2)", [z], shuffled)
refused("R.nn.pixel_shuffle(x0, 2)", [numbers(6, 2, 2)], "RT05")

# ---- positions ------------------------------------------------------------------------------------------------------------
edges = np.array([-2, -1, 0.5, 3], np.float32)
v = np.array([[-5, -2, -1.5], [0.5, 3, 7]], np.float32)
for right in (False, True):
    for small in (False, True):
        want = np.searchsorted(edges, v, "right" if right else "left").astype(np.int32 if small else np.int64)
        check(f"R.bucketize(x0, x1, out_int32={small}, right={right})", [v, edges], want)
s = numbers(3, 5, 2)
lengths = np.array([5, 0, 3], np.int64)
want = s.copy()
for k, n in enumerate(lengths):
    want[k, :n] = s[k, :n][::-1]
check("R.reverse_sequence(x0, x1, seq_axis=1, batch_axis=0)", [s, lengths], want)
check("R.reverse_sequence(x0, x1, seq_axis=0, batch_axis=-2)", [s.transpose(1, 0, 2).copy(), lengths.astype(np.int32)], want.transpose(1, 0, 2))
i, j = np.array([2, 0, -1], np.int64), np.array([[1], [-5]], np.int32)
check("R.index_tensor(x0, (x1,))", [s, i], s[i])
check("R.index_tensor(x0, (x1, x2))", [s, i, j], s[i, j])
put = numbers(2, 3, 2)
want = s.copy()
want[i, j] = put
check("R.index_put(x0, (x1, x2), x3)", [s, np.array([2, 0, 1], np.int64), j, put], (lambda w: (w.__setitem__((np.array([2, 0, 1]), j), put), w)[1])(s.copy()))
want = s.copy()
np.add.at(want, (i, j), put)
check("R.index_put(x0, (x1, x2), x3, accumulate=True)", [s, i, j, put], want, 1e-6)
refused("R.index_tensor(x0, (x1,))", [s, np.array([3], np.int64)], "RT09")
for start, end, step in ((1, 4, 1), (0, 5, 2), (-3, 100, 2), (4, 2, 1)):
    part = np.s_[:, start:end:step] if end > start or start < 0 else np.s_[:, 0:0]
    src = numbers(*s[part].shape)
    want = s.copy()
    want[part] = src
    check(f"R.slice_scatter(x0, x1, R.prim_value({start}), R.prim_value({end}), R.prim_value({step}), axis=1)", [s, src], want, symbolic=src.size > 0)
refused("R.slice_scatter(x0, x1, R.prim_value(0), R.prim_value(3), R.prim_value(1), axis=1)", [s, s[:, :2].copy()], "RT05")

# ---- windows and norms ----------------------------------------------------------------------------------------------------
check('R.hamming_window(R.prim_value(9), R.prim_value(0), R.prim_value(T.float64(0.54)), R.prim_value(T.float64(0.46)), dtype="float32")', [],
      np.hamming(9).astype(np.float32), 1e-6, False)
check('R.hamming_window(R.prim_value(8), R.prim_value(1), R.prim_value(T.float64(0.54)), R.prim_value(T.float64(0.46)), dtype="float64")', [],
      np.hamming(9)[:8], 1e-12, False)
g, h = numbers(8), numbers(8)
mean, var = z.mean((2, 3), keepdims=True), z.var((2, 3), keepdims=True)
want = (z - mean) / np.sqrt(var + 1e-5) * g.reshape(1, 8, 1, 1) + h.reshape(1, 8, 1, 1)
check("R.nn.instance_norm(x0, x1, x2, channel_axis=1, axes=[2, 3], epsilon=1e-05)", [z, g, h], want, 2e-5)
check("R.nn.instance_norm(x0, x1, x2, channel_axis=1, axes=[2, 3], epsilon=1e-05, center=False, scale=False)", [z, g, h],
      (z - mean) / np.sqrt(var + 1e-5), 2e-5)
w3, d3 = numbers(2, 3, 2, 2, 2), numbers(1, 2, 3, 3, 3)
full = np.zeros((1, 3, 6, 6, 6), np.float32)
for n, ic, oc in itertools.product(range(1), range(2), range(3)):
    for p in itertools.product(range(3), repeat=3):
        at = tuple(2 * k for k in p)
        full[n, oc, at[0]:at[0] + 2, at[1]:at[1] + 2, at[2]:at[2] + 2] += d3[n, ic][p] * w3[ic, oc]
check("R.nn.conv3d_transpose(x0, x1, strides=2)", [d3, w3], full, 1e-5)


# ---- images ---------------------------------------------------------------------------------------------------------------
def affine(m, sizes, corners):
    axes = len(sizes)
    coords = [(np.arange(n) * 2 / (n - 1) - 1) if corners else ((2 * np.arange(n) + 1) / n - 1) for n in sizes]
    grid = np.stack(np.meshgrid(*coords, indexing="ij") [::-1] + [np.ones(sizes)])
    return np.einsum("nij,j...->ni...", m.astype(np.float64), grid).astype(np.float32)


for corners in (True, False):
    m2, m3 = numbers(2, 2, 3), numbers(2, 3, 4)
    check(f"R.image.affine_grid(x0, R.shape([3, 5]), align_corners={corners})", [m2], affine(m2, (3, 5), corners), 1e-5, False)
    check(f"R.image.affine_grid(x0, R.shape([2, 3, 4]), align_corners={corners})", [m3], affine(m3, (2, 3, 4), corners), 1e-5, False)


def sample(x, grid, method, padding, corners):
    axes, out = x.ndim - 2, np.zeros(x.shape[:2] + grid.shape[2:], np.float64)
    for n in range(x.shape[0]):
        for at in np.ndindex(grid.shape[2:]):
            place = []
            for k in range(axes):
                size, v = x.shape[2 + k], float(grid[(n, axes - 1 - k) + at])
                p = (v + 1) * (size - 1) / 2 if corners else ((v + 1) * size - 1) / 2
                if padding == "reflection":
                    low, span = (0, size - 1) if corners else (-0.5, size)
                    q = abs(p - low)
                    turns, rest = divmod(q, span)
                    p = (span - rest if turns % 2 else rest) + low
                place.append(min(max(p, 0), size - 1) if padding != "zeros" else p)
            for corner in [(0,) * axes] if method == "nearest" else itertools.product((0, 1), repeat=axes):
                whole = [round(p) if method == "nearest" else math.floor(p) + d for p, d in zip(place, corner)]
                weight = 1.0 if method == "nearest" else math.prod((p - math.floor(p)) if d else 1 - (p - math.floor(p)) for p, d in zip(place, corner))
                if all(0 <= i < x.shape[2 + k] for k, i in enumerate(whole)):
                    out[(n, slice(None)) + at] += x[(n, slice(None)) + tuple(whole)] * weight
    return out.astype(np.float32)


image, grid = numbers(2, 3, 4, 5), (rng.rand(2, 2, 3, 4) * 3.9 - 1.95).astype(np.float32)
for method, padding, corners in itertools.product(("bilinear", "nearest"), ("zeros", "border", "reflection"), (True, False)):
    check(f'R.image.grid_sample(x0, x1, method="{method}", padding_mode="{padding}", align_corners={corners})', [image, grid],
          sample(image, grid, method, padding, corners), 2e-4)
volume, grid3 = numbers(1, 2, 3, 4, 3), (rng.rand(1, 3, 2, 2, 3) * 2 - 1).astype(np.float32)
check('R.image.grid_sample(x0, x1, layout="NCDHW")', [volume, grid3], sample(volume, grid3, "bilinear", "zeros", False), 2e-4)


def roi_align(x, rois, size, scale, ratio, aligned, mode):
    out = np.zeros((len(rois), x.shape[1]) + size, np.float64)
    for k, r in enumerate(rois.astype(np.float64)):
        begin, length = [r[2] * scale, r[1] * scale], [(r[4] - r[2]) * scale, (r[3] - r[1]) * scale]
        length = length if aligned else [max(1.0, v) for v in length]
        for at in np.ndindex(size):
            values = []
            for s in np.ndindex(ratio, ratio):
                p = [begin[i] + (at[i] + (s[i] + 0.5) / ratio) * length[i] / size[i] for i in range(2)]
                if any(v < -1 or v > x.shape[2 + i] for i, v in enumerate(p)):
                    values.append(np.zeros(x.shape[1]))
                    continue
                p = [min(max(v, 0), x.shape[2 + i] - 1) for i, v in enumerate(p)]
                lo = [math.floor(v) for v in p]
                hi = [min(v + 1, x.shape[2 + i] - 1) for i, v in enumerate(lo)]
                f = [v - w for v, w in zip(p, lo)]
                image = x[int(r[0])]
                values.append(image[:, lo[0], lo[1]] * (1 - f[0]) * (1 - f[1]) + image[:, lo[0], hi[1]] * (1 - f[0]) * f[1]
                              + image[:, hi[0], lo[1]] * f[0] * (1 - f[1]) + image[:, hi[0], hi[1]] * f[0] * f[1])
            out[(k, slice(None)) + at] = np.mean(values, 0) if mode == "avg" else np.max(values, 0)
    return out.astype(np.float32)


def roi_pool(x, rois, size, scale):
    out = np.zeros((len(rois), x.shape[1]) + size, np.float32)
    for k, r in enumerate(rois):
        first = [math.floor(r[2] * scale + 0.5), math.floor(r[1] * scale + 0.5)]
        last = [math.floor(r[4] * scale + 0.5), math.floor(r[3] * scale + 0.5)]
        for at in np.ndindex(size):
            box = []
            for i in range(2):
                bin_size = max(last[i] - first[i] + 1, 1) / size[i]
                box.append((min(max(math.floor(at[i] * bin_size) + first[i], 0), x.shape[2 + i]),
                            min(max(math.ceil((at[i] + 1) * bin_size) + first[i], 0), x.shape[2 + i])))
            part = x[int(r[0]), :, box[0][0]:box[0][1], box[1][0]:box[1][1]]
            out[(k, slice(None)) + at] = part.max((1, 2)) if part.size else 0
    return out


image = numbers(2, 3, 6, 7)
rois = np.array([[0, 0.5, 1, 4, 5], [1, 2, 2, 2.5, 2.25], [1, -3, -2, 9, 8], [0, 9, 9, 12, 12]], np.float32)
for ratio, aligned, mode in itertools.product((1, 2), (False, True), ("avg", "max")):
    check(f'R.vision.roi_align(x0, x1, (2, 3), 0.5, {ratio}, aligned={aligned}, mode="{mode}")', [image, rois],
          roi_align(image, rois, (2, 3), 0.5, ratio, aligned, mode), 2e-4)
check("R.vision.roi_pool(x0, x1, (2, 2), 1.0)", [image, rois], roi_pool(image, rois, (2, 2), 1.0))

done()
