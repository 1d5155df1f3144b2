#!/usr/bin/env python3
"""Operators of detection, sizes and random numbers as ONNX has them, against numpy: with the values of a run bound, and with none."""
import itertools
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import numpy as np

from cli_test import Suite
from onnx_file import model, node, value

s = Suite()
rng = np.random.RandomState(3)
np.seterr(all="ignore")


def run(what, op, inputs, want, outputs=1, opset=22, tol=1e-5, constants=(), of="float32", **attributes):
    """One node; inputs: arrays, None where one is left out. constants: those of them that are in the file. Sizes have
    names. want: arrays, None where nothing is compared and the dtype is `of`."""
    names = [f"i{k}" if a is not None else "" for k, a in enumerate(inputs)]
    given = [k for k, a in enumerate(inputs) if a is not None and k not in constants]
    ins = [value(names[k], inputs[k].dtype.name, [f"d{k}_{j}" for j in range(inputs[k].ndim)] if inputs[k].ndim > 1 else list(inputs[k].shape)) for k in given]
    outs = [f"o{k}" for k in range(outputs)]
    path = s.write("m.onnx", model([node(op, names, outs, **attributes)], ins, [value(o, of if w is None else w.dtype.name) for o, w in zip(outs, want)],
                                   {names[k]: inputs[k] for k in constants}, opset))
    for k in given:
        np.save(s.path(f"in{k}.npy"), inputs[k])
    for options in ((), ("--no-bind",)):
        rc, _, err = s.run("run", path, *(["--input", *[s.path(f"in{k}.npy") for k in given]] if given else []), "--output", s.path("out"), *options)
        if not s.check(f"{what} {' '.join(options)}: runs", rc == 0, err[:600]):
            continue
        for k, w in enumerate(want):
            got = np.load(os.path.join(s.path("out"), f"{k}.npy"))
            ok = w is None or got.shape == w.shape and got.dtype == w.dtype and np.allclose(got, w, rtol=tol, atol=tol, equal_nan=True)
            s.check(f"{what} {' '.join(options)}: output {k}", ok, lambda: f"wanted {w.dtype} {w.shape}\n{w}\ngot {got.dtype} {got.shape}\n{got}")
    return got


def quarters(*shape):
    return (rng.randint(-9, 9, shape) / 4).astype("float32")


# ---- positions of pooling
x = rng.permutation(2 * 3 * 4 * 6).reshape(2, 3, 4, 6).astype("float32")
windows = np.stack([x[..., i::2, j::2] for i, j in np.ndindex(2, 2)], -1)
rows = np.stack([np.arange(x.size).reshape(x.shape)[..., i::2, j::2] for i, j in np.ndindex(2, 2)], -1)
columns = np.arange(x.size).reshape(2, 3, 6, 4).swapaxes(2, 3)
columns = np.stack([columns[..., i::2, j::2] for i, j in np.ndindex(2, 2)], -1)
best = windows.argmax(-1)[..., None]
for order, places in ((0, rows), (1, columns)):
    run(f"positions, order {order}", "MaxPool", [x], [windows.max(-1), np.take_along_axis(places, best, -1)[..., 0]], outputs=2, kernel_shape=[2, 2], strides=[2, 2], storage_order=order)

places = np.take_along_axis(rows, best, -1)[..., 0]
back = np.where(np.isin(np.arange(x.size), places).reshape(x.shape), x, 0)
run("MaxUnpool", "MaxUnpool", [windows.max(-1), places], [back.astype("float32")], kernel_shape=[2, 2], strides=[2, 2])
wider = np.zeros((2, 3, 5, 8), "float32")
wider[:, :, :4, :6] = back
run("MaxUnpool to another size", "MaxUnpool", [windows.max(-1), places, np.array(wider.shape)], [wider], kernel_shape=[2, 2], strides=[2, 2])

# ---- regions
rois = np.array([[1, 1, 4, 5], [0.5, 2, 3, 2.5], [-2, -1, 8, 7]], "float32")
images = np.array([0, 1, 1])
pixels = quarters(2, 3, 6, 7)


def regions(x, rois, images, size, scale, ratio, half, mode):
    out = np.zeros((len(rois), x.shape[1]) + size)
    for k, r in enumerate(rois.astype(float) * scale - (0.5 if half else 0)):
        begin, length = [r[1], r[0]], [r[3] - r[1], r[2] - r[0]]
        length = length if half else [max(v, 1) for v in length]
        steps = [ratio or math.ceil(length[i] / size[i]) for i in range(2)]
        for at in np.ndindex(size):
            values = []
            for step in np.ndindex(*steps):
                p = [begin[i] + (at[i] + (step[i] + 0.5) / steps[i]) * length[i] / size[i] for i in range(2)]
                if any(v < -1 or v > n for v, n in zip(p, x.shape[2:])):
                    values.append(np.zeros((4, x.shape[1])))
                    continue
                p = [min(max(v, 0), n - 1) for v, n in zip(p, x.shape[2:])]
                values.append(np.array([x[images[k]][:, min(int(p[0]) + i, x.shape[2] - 1), min(int(p[1]) + j, x.shape[3] - 1)]
                                        * (p[0] % 1 if i else 1 - p[0] % 1) * (p[1] % 1 if j else 1 - p[1] % 1) for i, j in np.ndindex(2, 2)]))
            values = np.array(values)
            out[(k, slice(None)) + at] = values.sum(1).mean(0) if mode == "avg" else values.max((0, 1))
    return out.astype("float32")


for mode, ratio, half in itertools.product(("avg", "max"), (0, 2), (True, False)):
    run(f"RoiAlign {mode} {ratio} {half}", "RoiAlign", [pixels, rois, images], [regions(pixels, rois, images, (2, 3), 0.5, ratio, half, mode)], tol=1e-4, mode=mode, output_height=2,
        output_width=3, sampling_ratio=ratio, spatial_scale=0.5, coordinate_transformation_mode="half_pixel" if half else "output_half_pixel")
run("RoiAlign of operator set 10", "RoiAlign", [pixels, rois, images], [regions(pixels, rois, images, (1, 1), 1, 0, False, "avg")], tol=1e-4, opset=10)
numbered = np.array([[0, 1, 1, 4, 4], [1, 0, 2, 6, 5]], "float32")
bins = [[pixels[int(b), :, y[0]:y[1], z[0]:z[1]].max((1, 2)) for y in ((int(r[1]), int(r[1]) + 2), (int(r[1]) + 2, int(r[3]) + 1)) for z in ((int(r[0]), math.ceil(r[0] + (r[2] - r[0] + 1) / 2)), (math.floor(r[0] + (r[2] - r[0] + 1) / 2), int(r[2]) + 1))]
        for b, r in zip(numbered[:, 0], numbered[:, 1:])]
run("MaxRoiPool", "MaxRoiPool", [pixels, numbered], [np.moveaxis(np.array(bins), 1, 2).reshape(2, 3, 2, 2)], pooled_shape=[2, 2])

# ---- boxes
boxes = (rng.randint(0, 9, (2, 7, 4)) / 2).astype("float32")
scores = (rng.randint(0, 9, (2, 3, 7)) / 8).astype("float32")


def kept(most, iou, threshold, centered):
    rows = []
    b = np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], -1) if centered else boxes
    low, high = np.minimum(b[..., :2], b[..., 2:]), np.maximum(b[..., :2], b[..., 2:])
    for n, c in np.ndindex(scores.shape[:2]):
        chosen = []
        for i in np.argsort(-scores[n, c], kind="stable"):
            side = [np.maximum(np.minimum(high[n, i], high[n, j]) - np.maximum(low[n, i], low[n, j]), 0) for j in chosen]
            both = np.array([v.prod() for v in side], np.float32)
            whole = np.array([(high[n, i] - low[n, i]).prod() + (high[n, j] - low[n, j]).prod() for j in chosen], np.float32) - both
            if len(chosen) < most and (threshold is None or scores[n, c, i] > threshold) and not np.any((whole > 0) & (both / whole > np.float32(iou))):
                chosen.append(i)
        rows += [(n, c, i) for i in chosen]
    return np.array(rows, "int64").reshape(-1, 3)


for most, iou, threshold, centered in ((3, 0.25, 0.375, 0), (9, 0.125, None, 1), (2, None, 0.25, 0), (None, 0.5, 0.0, 0)):
    run(f"NonMaxSuppression {most} {iou} {threshold}", "NonMaxSuppression", [boxes, scores] + [np.array([v], t) if v is not None else None for v, t in ((most, "int64"), (iou, "float32"), (threshold, "float32"))],
        [kept(most or 0, iou or 0, threshold, centered)], center_point_box=centered)

# Few of many: those that count are put in order when the first ones are not enough.
boxes = (rng.randint(0, 9, (1, 200, 4)) / 2).astype("float32")
scores = np.stack([np.arange(200), rng.randint(0, 9, 200), np.where(np.arange(200) % 7, np.nan, 1), np.zeros(200)]).astype("float32")[None]
for most, iou, threshold in ((2, 0.25, 8.0), (4, 0.01, -1.0), (3, 0.6, 0.0), (200, 0.25, 3.0)):
    run(f"NonMaxSuppression of many {most} {iou} {threshold}", "NonMaxSuppression", [boxes, scores] + [np.array([v], t) if v is not None else None for v, t in ((most, "int64"), (iou, "float32"), (threshold, "float32"))],
        [kept(most, iou, threshold, 0)])

# ---- windows that are moved
x, w, bias = quarters(1, 4, 5, 5), quarters(2, 2, 3, 3), quarters(2)
offset, mask = rng.randint(-2, 3, (1, 36, 3, 3)).astype("float32"), quarters(1, 18, 3, 3)
padded, moved = np.pad(x, ((0, 0), (0, 0), (9, 9), (9, 9))), np.zeros((1, 2, 3, 3))
for o, p, q, c, y, z in np.ndindex(2, 3, 3, 2, 3, 3):
    g, k = (o * 2 + c) // 2, (o * 2 + c) // 2 * 9 + y * 3 + z
    dy, dx = offset[0, 2 * k, p, q], offset[0, 2 * k + 1, p, q]
    moved[0, o, p, q] += padded[0, o * 2 + c, int(9 + p + y + dy), int(9 + q + z + dx)] * mask[0, k, p, q] * w[o, c, y, z]
run("DeformConv", "DeformConv", [x, w, offset, bias, mask], [(moved + bias[:, None, None]).astype("float32")], tol=1e-4, offset_group=2, group=2)
run("DeformConv without offsets", "DeformConv", [x, quarters(2, 4, 1, 1) * 0 + 1, np.zeros((1, 2, 3, 5), "float32")], [np.repeat(x.sum(1, keepdims=True), 2, 1)[:, :, ::2]], strides=[2, 1])

# ---- sizes
ramp = np.arange(24, dtype="float32").reshape(1, 1, 4, 6)
none = np.zeros(0, "float32")
run("Resize by scales", "Resize", [ramp, none, np.array([1, 1, 2, 0.5], "float32")], [np.repeat(ramp, 2, 2)[..., [0, 2, 4]]], mode="nearest", constants=(1,))
run("Resize to sizes", "Resize", [ramp, None, None, np.array([1, 1, 2, 2])], [np.array([[[[4, 7], [16, 19]]]], "float32")], mode="linear")
shares = np.array([[4, 3, 1, 0], [0, 1, 3, 4]], "float32") / 8
run("Resize with antialias", "Resize", [ramp, None, None, np.array([2, 6])], [(shares @ ramp[0, 0]).reshape(1, 1, 2, 6)], mode="linear", antialias=1, axes=[2, 3])
run("Resize of one axis", "Resize", [ramp, None, np.array([2.5], "float32")], [ramp[..., [min(int(i / 2.5), 5) for i in range(15)]]], mode="nearest", axes=[3], nearest_mode="floor",
    coordinate_transformation_mode="asymmetric")
run("Upsample", "Upsample", [ramp, np.array([1, 1, 2, 2], "float32")], [ramp.repeat(2, 2).repeat(2, 3)], opset=9, mode="nearest")
run("ConvTranspose of three axes", "ConvTranspose", [np.ones((1, 1, 2, 2, 2), "float32"), np.ones((1, 2, 2, 2, 2), "float32")],
    [np.broadcast_to(np.einsum("i,j,k", *[[1.0, 2, 1]] * 3), (1, 2, 3, 3, 3)).astype("float32")], constants=(1,))

# ---- bits
f = quarters(2, 3)
run("BitCast", "BitCast", [f], [f.view("int32")], opset=26, to=6)
run("BitCast back", "BitCast", [f.view("int32")], [f], opset=26, to=1)
matrices = rng.randint(-4, 5, (2, 6, 6)).astype("float32")
run("Det of six rows", "Det", [matrices], [np.linalg.det(matrices)], tol=1e-3)

# ---- random numbers: what their distributions say, and the same again
like = np.zeros((40, 50), "float32")
for op, inputs, more, mean, deviation in (("RandomUniform", [], dict(shape=[40, 50], low=2.0, high=4.0), 3, 3 ** -0.5), ("RandomNormal", [], dict(shape=[40, 50], mean=1.0, scale=3.0), 1, 3),
                                          ("RandomUniformLike", [like], dict(), 0.5, 12 ** -0.5), ("RandomNormalLike", [like], dict(dtype=11), 0, 1), ("Bernoulli", [like + 0.25], dict(), 0.25, 0.433)):
    found = [run(op, op, inputs, [None], of="float64" if "dtype" in more else "float32", **more, **seed) for seed in (dict(), dict(seed=5.0), dict(seed=5.0), dict(seed=6.5))]
    s.check(f"{op}: mean and deviation", all(abs(a.mean() - mean) < 0.1 * deviation and abs(a.std() - deviation) < 0.1 * deviation for a in found), lambda: [(a.mean(), a.std()) for a in found])
    s.check(f"{op}: a seed gives the same", np.array_equal(found[1], found[2]) and not np.array_equal(found[1], found[3]) and found[0].shape == (40, 50))
classes = run("Multinomial", "Multinomial", [np.log(np.array([[1, 2, 5], [8, 0, 0]], "float32"))], [None], of="int32", sample_size=4000, seed=1.0)
s.check("Multinomial", classes.dtype == np.int32 and classes.shape == (2, 4000) and np.allclose(np.bincount(classes[0], minlength=3) / 4000, [1 / 8, 1 / 4, 5 / 8], atol=0.04) and not classes[1].any(),
        lambda: np.bincount(classes[0]))
dropped = run("Dropout in training", "Dropout", [like + 1, np.array(0.25, "float32"), np.array(True)], [None], constants=(1, 2))
s.check("Dropout in training: elements", set(np.unique(dropped)) == {np.float32(0), np.float32(1) / np.float32(0.75)} and abs((dropped == 0).mean() - 0.25) < 0.04, lambda: np.unique(dropped))
s.done()
