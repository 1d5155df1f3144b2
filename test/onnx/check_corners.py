#!/usr/bin/env python3
"""Corners of operators: sizes of 0, bounds and shapes found when the program runs, integers where floats are usual, versions long ago. What is
wanted is computed here, with numpy."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import numpy as np

from cli_test import Suite
from onnx_file import graph, model, node, value

s = Suite()
rng = np.random.default_rng(5)
MS = "com.microsoft"


def floats(*shape):
    return rng.standard_normal(shape).astype("float32")


def run(what, nodes, inputs, want, *options, constants=(), opset=17, shapes=None, outputs=("y",), rtol=1e-5, atol=1e-6):
    """inputs: name to array. shapes: None: sizes with names; else name to what is declared."""
    declared = [value(k, str(a.dtype), (shapes or {}).get(k, [f"{k}_{i}" for i in range(a.ndim)])) for k, a in inputs.items()]
    want = want if isinstance(want, list) else [want]
    content = model(nodes, declared, [value(o, str(w.dtype), None) for o, w in zip(outputs, want)], dict(constants), opset=opset,
                    domains=[MS])
    given = []
    for k, a in inputs.items():
        np.save(s.path(k + ".npy"), a)
        given.append(s.path(k + ".npy"))
    rc, out, err = s.run("run", s.write("m.onnx", content), *(["--input", *given] if given else []), "--output", s.path("out"), *options)
    if not s.check(f"{what}: runs", rc == 0, err[:600]):
        return
    for i, w in enumerate(want):
        got = np.load(os.path.join(s.path("out"), f"{i}.npy"))
        ok = got.shape == w.shape and got.dtype == w.dtype and np.allclose(got, w, rtol=rtol, atol=atol, equal_nan=True)
        s.check(f"{what}: output {i}", ok, lambda: f"wanted {w.dtype} {w.shape}\n{w}\ngot {got.dtype} {got.shape}\n{got}")


def ints(*v):
    return np.array(v, "int64")


# ---- slices: a start of steps back ends at 0, an end at -1
x = floats(5, 4)
for open_bounds in (False, True):
    for start, end, step, want in ((-9, -9, -1, x[0:1]), (9, -9, -2, x[::-2]), (-1, 1, -1, x[4:1:-1]), (-9, 9, 2, x[::2]), (-2, -9, 1, x[:0]),
                                   (2, -1, 1, x[2:4]), (-2**63, 2**63 - 1, 1, x), (2**63 - 1, -2**63, -3, x[::-3]), (3, -2, -1, x[:0])):
        what = f"slice {start}:{end}:{step}, {'found when it runs' if open_bounds else 'known'}"
        bounds, known = {"a": ints(start), "b": ints(end)}, {"ax": ints(0), "st": ints(step)}
        run(what, [node("Slice", ["x", "a", "b", "ax", "st"], ["y"])], {"x": x, **(bounds if open_bounds else {})}, want, "--no-bind",
            constants={**known, **({} if open_bounds else bounds)}, shapes={"a": [1], "b": [1]})
run("slice of nothing backwards", [node("Slice", ["x", "a", "b", "ax", "st"], ["y"])], {"x": x[:0], "a": ints(-1), "b": ints(-9)}, x[:0], "--no-bind",
    constants={"ax": ints(0), "st": ints(-1)}, shapes={"a": [1], "b": [1]})
run("slice of two axes, found when it runs", [node("Slice", ["x", "a", "b", "ax"], ["y"])], {"x": x, "a": np.array([-3, 1], "int32"),
    "b": np.array([-1, 2**31 - 1], "int32")}, x[1:, 1:3], "--no-bind", constants={"ax": ints(-1, 0)}, shapes={"a": [2], "b": [2]})

# ---- what is chosen by where elements are: its rank is known from that of what is looked through
chosen = floats(3, 2, 5)
for n in (3, 0):
    x = np.abs(chosen) * n
    found = np.argwhere(x > 0.5)
    run(f"gather by positions of {len(found)} elements, sums", [node("Greater", ["x", "half"], ["m"]), node("NonZero", ["m"], ["c"]), node("Transpose", ["c"], ["i"], perm=[1, 0]),
        node("GatherND", ["x", "i"], ["v"]), node("CumSum", ["v", "zero"], ["y"])], {"x": x}, np.cumsum(x[x > 0.5], dtype="float32"),
        constants={"half": np.float32(0.5), "zero": np.int32(0)})
    run(f"compressed to {len(found)} elements, sums", [node("Greater", ["x", "half"], ["m"]), node("Reshape", ["m", "all"], ["c"]), node("Compress", ["x", "c"], ["v"]),
        node("CumSum", ["v", "zero"], ["y"])], {"x": x}, np.cumsum(x[x > 0.5], dtype="float32"),
        constants={"half": np.float32(0.5), "all": ints(-1), "zero": np.int32(0)})

# ---- sizes that were halved and doubled are those of what is joined with them, as is found when it runs
for h in (4, 1, 7):
    x = floats(1, 2, h, 6)
    up = np.repeat(np.repeat(x[:, :, ::2, ::2], 2, 2), 2, 3)
    nodes = [node("MaxPool", ["x"], ["d"], kernel_shape=[1, 1], strides=[2, 2]), node("Resize", ["d", "", "by"], ["u"], mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="asymmetric"), node("Concat", ["x", "u"], ["j"], axis=1), node("Reshape", ["j", "groups"], ["r"]),
             node("ReduceMean", ["r"], ["y"], axes=[2], keepdims=0)]
    known = {"by": np.array([1, 1, 2, 2], "float32"), "groups": ints(0, 2, -1)}
    if h % 2 == 0:
        run(f"joined with what was halved and doubled, {h} rows", nodes, {"x": x}, np.concatenate([x, up], 1).reshape(1, 2, -1).mean(2),
            constants=known, shapes={"x": ["n", 2, "h", "w"]})
        continue
    np.save(s.path("x.npy"), x)
    rc, _, err = s.run("run", s.write("m.onnx", model(nodes, [value("x", "float32", ["n", 2, "h", "w"])], [value("y", "float32", None)], known)),
                       "--input", s.path("x.npy"))
    s.check(f"joined with another number of rows, {h}", rc == 1 and "RT06" in err and "dimension 2" in err, err)

# ---- a mask of at most 8 rows that is cut to the size of what it is for: the result has that size, so that what follows knows its sizes
mask = np.tril(np.ones((1, 1, 8, 8), bool))
for n in (8, 3, 1, 9):
    x = floats(2, 2, n, n)
    nodes = [node("Shape", ["x"], ["sizes"]), node("Gather", ["sizes", "last"], ["n"], axis=0), node("Slice", ["mask", "zero", "n", "rows"], ["some"]),
             node("Slice", ["some", "zero", "n", "columns"], ["m"]), node("Where", ["m", "x", "off"], ["w"]), node("MatMul", ["w", "x"], ["p"]),
             node("Shape", ["p"], ["of"]), node("Gather", ["of", "last"], ["long"], axis=0), node("Concat", ["both", "long"], ["to"], axis=0),
             node("Reshape", ["p", "to"], ["y"])]
    known = {"mask": mask, "zero": ints(0), "rows": ints(2), "columns": ints(3), "last": ints(3), "off": np.float32(-2), "both": ints(0, -1)}
    if n <= 8:
        run(f"cut mask, {n}", nodes, {"x": x}, (np.where(mask[:, :, :n, :n], x, np.float32(-2)) @ x).reshape(2, -1, n), constants=known,
            shapes={"x": ["n", 2, "s", "s"]})
        continue
    np.save(s.path("x.npy"), x)
    rc, _, err = s.run("run", s.write("m.onnx", model(nodes, [value("x", "float32", ["n", 2, "s", "s"])], [value("y", "float32", None)], known)),
                       "--no-bind", "--input", s.path("x.npy"))
    s.check(f"cut mask, {n}", rc == 1 and "RT05" in err, err)

# ---- products of three and four are made one after the other
a, b, c, d = floats(2, 3, 4), floats(5, 4, 6), floats(2, 7, 6), floats(3, 7)
for equation, operands in (("nai,kij,ncj->nkac", (a, b, c)), ("nai, kij, ncj -> ", (a, b, c)), ("nai,kij,ncj,ac->nk", (a, b, c, d)),
                           ("ac,nai,ncj->nij", (d, a, c)), ("nai,kij,ncj", (a, b, c))):
    run(f"einsum {equation}", [node("Einsum", list("abcd")[:len(operands)], ["y"], equation=equation)], dict(zip("abcd", operands)),
        np.asarray(np.einsum(equation, *[o.astype("float64") for o in operands]), "float32"), atol=1e-4)

# ---- rows that an axis of one element stands behind
x = floats(3, 70, 5, 1, 1)
e = np.exp(x - x.max(2, keepdims=True))
run("softmax in front of axes of one element", [node("Softmax", ["x"], ["y"], axis=2)], {"x": x}, e / e.sum(2, keepdims=True),
    shapes={"x": ["n", 70, 5, 1, 1]})
run("softmax beside axes of one element", [node("Softmax", ["x"], ["y"], axis=3)], {"x": x}, np.ones_like(x), shapes={"x": ["n", 70, 5, 1, 1]})

# ---- nearest elements where a size is a multiple of one that has a name: as often repeated in some modes, other ones in others
def nearest(have, k, mode, rounding):
    o = np.arange(have * k, dtype="float64")
    at = {"asymmetric": o / k, "half_pixel": (o + 0.5) / k - 0.5, "pytorch_half_pixel": (o + 0.5) / k - 0.5 if have * k > 1 else o * 0,
          "align_corners": o * (have - 1) / (have * k - 1) if have * k > 1 else o * 0}[mode]
    way = {"floor": np.floor, "ceil": np.ceil, "round_prefer_floor": lambda v: np.ceil(v - 0.5), "round_prefer_ceil": lambda v: np.floor(v + 0.5)}[rounding]
    return np.clip(way(at), 0, have - 1).astype(int)


for mode in ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"):
    for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        for k, (h, w) in ((2, (3, 1)), (3, (1, 5)), (7, (4, 2))):
            x = floats(1, 2, h, w)
            run(f"nearest of {h} by {w}, {k} times, {mode}, {rounding}", [node("Resize", ["x", "", "by"], ["y"], mode="nearest", nearest_mode=rounding,
                coordinate_transformation_mode=mode)], {"x": x}, x[:, :, nearest(h, k, mode, rounding)][..., nearest(w, k, mode, rounding)], "--no-bind",
                constants={"by": np.array([1, 1, k, k], "float32")}, shapes={"x": ["n", 2, "h", "w"]})

# ---- -1 beside a size that is a product: factors cancel, so that what follows sees that sizes agree
x = np.sin(np.arange(120, dtype="float32")).reshape(2, 3, 5, 4)
nodes = [node("Shape", ["x"], ["of"]), node("Gather", ["of", "zero"], ["n"], axis=0), node("Mul", ["n", "three"], ["all"]), node("Concat", ["all", "open"], ["to"], axis=0),
         node("Reshape", ["x", "to"], ["rows"]), node("Transpose", ["rows"], ["columns"], perm=[0, 2, 1]), node("MatMul", ["rows", "columns"], ["p"]),
         node("Reshape", ["p", "back"], ["b"]), node("Add", ["b", "x2"], ["y"])]
x2 = np.cos(np.arange(50, dtype="float32")).reshape(2, 1, 5, 5)
run("rows of all heads", nodes, {"x": x, "x2": x2}, x @ x.transpose(0, 1, 3, 2) + x2, constants={"zero": ints(0), "three": ints(3), "open": ints(-1, 4),
    "back": ints(-1, 3, 5, 5)}, shapes={"x": ["n", 3, "s", 4], "x2": ["n", 1, "s", "s"]})
run("a number as a list", [node("Reshape", ["x", "to"], ["y"])], {"x": np.float32(3)}, np.array([3], "float32"), constants={"to": ints(-1)}, shapes={"x": []})

# ---- parts that do not fit are seen when the model is read
for what, shapes, code in (("other sizes", (["n", 8, "h"], ["n", 9, "h"]), "TY08"), ("other ranks", (["n", 8, "h"], ["n", 8]), "TY08"), ("no axis", ([], []), "ON05")):
    content = model([node("Concat", ["x", "x2"], ["y"], axis=2)], [value(k, "float32", d) for k, d in zip(("x", "x2"), shapes)], [value("y", "float32", None)])
    rc, _, err = s.run("check", s.write("m.onnx", content))
    s.check(f"joined with {what}", rc == 1 and code in err and "Concat" in err, err)

# ---- shapes found when it runs
cube = floats(2, 3, 4)
for to, want in ((ints(6, 4), (6, 4)), (ints(-1, 4), (6, 4)), (ints(0, -1), (2, 12)), (ints(4, -1), (4, 6)), (ints(0, 12), (2, 12))):
    run(f"reshape to {to}, found when it runs", [node("Reshape", ["x", "to"], ["y"])], {"x": cube, "to": to}, cube.reshape(want), "--no-bind",
        shapes={"to": [2]})
run("reshape that keeps a 0", [node("Reshape", ["x", "to"], ["y"], allowzero=1)], {"x": floats(2, 2, 0)}, floats(2, 0, 0), constants={"to": ints(2, 0, 0)})
run("reshape that keeps a 0, found when it runs", [node("Reshape", ["x", "to"], ["y"], allowzero=1)], {"x": floats(2, 2, 0), "to": ints(3, 0)},
    floats(3, 0), "--no-bind", shapes={"to": [2]})

# ---- auto_pad with strides


def windows(a, kernel, stride, upper, fill):
    """The windows over the last axis, in a new one."""
    count = -(-a.shape[-1] // stride)
    total = max((count - 1) * stride + kernel - a.shape[-1], 0)
    before = total // 2 if upper else total - total // 2
    a = np.pad(a, [(0, 0)] * (a.ndim - 1) + [(before, total - before)], constant_values=fill)
    return np.stack([a[..., i * stride:i * stride + kernel] for i in range(count)], -2)


for size in (5, 6, 7, 1):
    for pad in ("SAME_UPPER", "SAME_LOWER"):
        a, w, upper = floats(2, 3, size), floats(4, 3, 4), pad == "SAME_UPPER"
        how = {"auto_pad": pad, "strides": [3], "kernel_shape": [4]}
        run(f"convolution, {pad} of {size} by 3", [node("Conv", ["x", "w"], ["y"], **how)], {"x": a},
            np.einsum("bcok,fck->bfo", windows(a, 4, 3, upper, 0), w).astype("float32"), "--no-bind", constants={"w": w})
        run(f"greatest, {pad} of {size} by 3", [node("MaxPool", ["x"], ["y"], **how)], {"x": a}, windows(a, 4, 3, upper, -np.inf).max(-1), "--no-bind")
        parts = windows(a, 4, 3, upper, np.nan)
        run(f"mean, {pad} of {size} by 3", [node("AveragePool", ["x"], ["y"], **how)], {"x": a}, np.nanmean(parts, -1).astype("float32"), "--no-bind")
        run(f"mean with padding, {pad} of {size} by 3", [node("AveragePool", ["x"], ["y"], count_include_pad=1, **how)], {"x": a},
            windows(a, 4, 3, upper, 0).mean(-1).astype("float32"), "--no-bind")

line = np.abs(floats(1, 1, 3))
run("the last window of LpPool counts what there is", [node("LpPool", ["x"], ["y"], kernel_shape=[2], strides=[2], ceil_mode=1, p=1)], {"x": line},
    np.stack([line[..., 0] + line[..., 1], line[..., 2]], -1), "--no-bind", opset=18)

for p in (1, 2, 3):
    planes = floats(2, 3, 4, 4)
    sums = (np.abs(planes).astype("float64") ** p).reshape(2, 3, 2, 2, 2, 2).sum((3, 5))
    run(f"LpPool of p {p}", [node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], p=p)], {"x": planes}, (sums ** (1 / p)).astype("float32"), opset=18, rtol=1e-6, atol=0)
    run(f"GlobalLpPool of p {p}", [node("GlobalLpPool", ["x"], ["y"], p=p)], {"x": planes}, (sums.sum((2, 3), keepdims=True) ** (1 / p)).astype("float32"), rtol=1e-6, atol=0)

# ---- powers: by a constant 2 or 3 they are products, each rounded by itself
with np.errstate(over="ignore", under="ignore"):
    for dtype in ("float32", "float64", "float16"):
        x = np.concatenate([floats(500), floats(500) * 1e20, np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30])]).astype(dtype)
        run(f"squares of {dtype}", [node("Pow", ["x", "e"], ["y"])], {"x": x}, x * x, constants={"e": np.array(2, "float32")}, rtol=0, atol=0)
        run(f"squares of {dtype} as a matrix", [node("Pow", ["x", "e"], ["y"])], {"x": x}, (x * x)[None], constants={"e": np.array([[2]], dtype)})
        if dtype != "float16":
            run(f"cubes of {dtype}", [node("Pow", ["x", "e"], ["y"])], {"x": x}, x * x * x, constants={"e": np.array([3], "int64")}, rtol=0, atol=0)
            run(f"cubes of {dtype} by an operand", [node("Pow", ["x", "e"], ["y"])], {"x": x, "e": np.array([3], dtype)}, x * x * x)
rows = floats(2, 6, 5)
for beta, bias in ((0.75, 1), (0.75, 0), (0.5, 2), (1, 1), (0.3, 1), (0.75, -1e-3)):
    near = np.pad(rows.astype("float64") ** 2, ((0, 0), (1, 1), (0, 0)))
    near = bias + 0.5 / 3 * (near[:, :-2] + near[:, 1:-1] + near[:, 2:])
    run(f"LRN by the power {beta} of {bias} and more", [node("LRN", ["x"], ["y"], size=3, alpha=0.5, beta=float(beta), bias=float(bias))], {"x": rows}, (rows / near ** beta).astype("float32"), atol=0)

# ---- Fourier transforms: sums are float64, so that float32 is as near as it can be; 1100 is beyond what is kept as a constant
for n in (1, 5, 256, 1100):
    x = floats(2, n, 2)
    whole = np.fft.fft(x[..., 0] + 1j * x[..., 1])
    want = np.stack([whole.real, whole.imag], -1).astype("float32")
    for what, shape in (("known", [2, n, 2]), ("found when it runs", ["b", "n", 2])):
        run(f"transform of {n}, {what}", [node("DFT", ["x"], ["y"], axis=1)], {"x": x}, want, shapes={"x": shape}, rtol=1e-6, atol=1e-5)
        run(f"transform of {n} and back, {what}", [node("DFT", ["x"], ["m"], axis=1), node("DFT", ["m"], ["y"], axis=1, inverse=1)], {"x": x}, x, shapes={"x": shape}, atol=1e-5)
    half = np.fft.rfft(x[..., 0])
    run(f"half of a transform of {n}", [node("DFT", ["x"], ["y"], axis=1, onesided=1)], {"x": x[..., :1].copy()}, np.stack([half.real, half.imag], -1).astype("float32"),
        shapes={"x": [2, n, 1]}, rtol=1e-6, atol=1e-5)

# ---- products and activations of com.microsoft
a, b = floats(3, 2, 4), floats(2, 4, 5)
run("product with the batch behind the rows", [node("FusedMatMul", ["a", "b"], ["y"], domain=MS, transBatchA=1, alpha=0.5)], {"a": a, "b": b},
    (0.5 * np.einsum("mbk,bkn->bmn", a, b)).astype("float32"))
run("product with the batch behind the columns", [node("FusedMatMul", ["a", "b"], ["y"], domain=MS, transBatchA=1, transA=1)],
    {"a": floats(4, 2, 3) * 0 + a.transpose(2, 1, 0), "b": b}, np.einsum("mbk,bkn->bmn", a, b).astype("float32"))
w = floats(2, 3, 1)
plain = np.einsum("bcl,fc->bfl", cube, w[:, :, 0]).astype("float32")
for name, parameters, want in (("LeakyRelu", [0.2], np.where(plain < 0, np.float32(0.2) * plain, plain)), ("Clip", [-0.3, 0.6], np.clip(plain, -0.3, 0.6)),
                               ("HardSigmoid", [0.2, 0.5], np.clip(np.float32(0.2) * plain + np.float32(0.5), 0, 1))):
    run(f"convolution with {name}", [node("FusedConv", ["x", "w"], ["y"], domain=MS, activation=name, activation_params=parameters)], {"x": cube},
        want.astype("float32"), constants={"w": w}, shapes={"x": [2, 3, 4]})
h = np.array([[0.003, -0.001]], "float32")
run("a skipped layer norm has a small epsilon", [node("SkipSimplifiedLayerNormalization", ["x", "z", "g"], ["y"], domain=MS)], {"x": h, "z": 0 * h},
    (h / np.sqrt((h.astype("float64") ** 2).mean())).astype("float32"), constants={"g": np.ones(2, "float32")})

q = rng.integers(-100, 100, (1, 4, 6, 2)).astype("int8")
plain = (q.astype("float32") - 3).reshape(1, 2, 2, 3, 2, 2).mean((2, 4)) * np.float32(0.1) / np.float32(0.23) - 5
how = {"x": q}, np.clip(np.round(plain), -128, 127).astype("int8")
numbers = {"f": np.float32(0.1), "z": np.int8(3), "g": np.float32(0.23), "w": np.int8(-5)}
run("means of channels that come last", [node("QLinearAveragePool", ["x", "f", "z", "g", "w"], ["y"], domain=MS, kernel_shape=[2, 2], strides=[2, 2],
    channels_last=1)], *how, "--no-bind", constants=numbers)
plain = (q.astype("float32") - 3).mean((1, 2), keepdims=True) * np.float32(0.1) / np.float32(0.23) - 5
run("means of all places of channels that come last", [node("QLinearGlobalAveragePool", ["x", "f", "z", "g", "w"], ["y"], domain=MS, channels_last=1)], {"x": q},
    np.clip(np.round(plain), -128, 127).astype("int8"), "--no-bind", constants=numbers)
codes = rng.integers(0, 16, (3, 32)).astype("uint8")
bits, by = np.abs(floats(3, 2)) + np.float32(0.1), np.array([1] * 12 + [0] * 12)
a = floats(2, 24)
run("columns of few bits whose blocks are told", [node("MatMulNBits", ["x", "w", "f", "", "g"], ["y"], domain=MS, K=24, N=3, bits=4, block_size=16)], {"x": a},
    (a @ ((codes[:, :24].astype("float32") - 8) * bits[:, by]).T).astype("float32"),
    constants={"w": (codes[:, ::2] | codes[:, 1::2] << 4).reshape(3, 2, 8), "f": bits, "g": by.astype("int32")})
a = floats(2, 3)
mean, deviation = a.mean(1, keepdims=True), a.std(1, keepdims=True)
run("layer norm of an optimised model", [node("LayerNormalization", ["x", "g"], ["y"], epsilon=0.0)], {"x": a}, (a - mean) / deviation,
    constants={"g": np.ones(3, "float32")}, opset=11)
queries, keys = floats(2, 2, 4), floats(2, 3, 4)
lengths = np.array([2, 3, 0, 2, 4, 0, 3, 6], "int32")
scores = np.einsum("bqd,bkd->bqk", queries, keys) / 2 + np.where(np.arange(3) < lengths[:2, None, None], 0, -10000)
shares = np.exp(scores - scores.max(-1, keepdims=True))
run("attention with lengths and beginnings", [node("MultiHeadAttention", ["x", "k", "k", "", "m"], ["y"], domain=MS, num_heads=1)],
    {"x": queries, "k": keys, "m": lengths}, np.einsum("bqk,bkd->bqd", shares / shares.sum(-1, keepdims=True), keys).astype("float32"))

# ---- integers, none, nothing
n = rng.integers(-6, 7, (3, 4)).astype("int32")
run("log of summed exponentials of integers", [node("ReduceLogSumExp", ["x", "a"], ["y"], keepdims=0)], {"x": n},
    np.trunc(np.log(np.exp(n.astype("float64")).sum(1))).astype("int32"), constants={"a": ints(1)}, opset=18)
run("shrunk integers", [node("Shrink", ["x"], ["y"], lambd=1.5, bias=0.75)], {"x": n},
    np.trunc(np.where(n < -1.5, n + 0.75, np.where(n > 1.5, n - 0.75, 0))).astype("int32"))
run("none of the greatest", [node("TopK", ["x", "k"], ["y", "at"], axis=1)], {"x": cube}, [cube[:, :0], np.zeros((2, 0, 4), "int64")],
    constants={"k": ints(0)}, outputs=("y", "at"))
for dtype in ("float32", "int32", "uint8", "bool"):
    for op, picks in (("ReduceMax", np.max), ("ReduceMin", np.min)):
        least = {"float32": -np.inf, "int32": -2**31, "uint8": 0, "bool": False}[dtype]
        most = {"float32": np.inf, "int32": 2**31 - 1, "uint8": 255, "bool": True}[dtype]
        for size in (0, 3):
            a = rng.integers(0, 2, (2, size, 3)).astype(dtype)
            want = picks(a, 1, keepdims=True, initial=least if op == "ReduceMax" else most).astype(dtype)
            run(f"{op} of {size} {dtype}", [node(op, ["x", "a"], ["y"])], {"x": a}, want, "--no-bind", constants={"a": ints(1)}, opset=20)
for op, most in (("ReduceMax", -np.inf), ("ReduceMin", np.inf), ("ReduceLogSumExp", -np.inf)):
    run(f"{op} of nothing along an axis found when it runs", [node(op, ["x", "a"], ["y"])], {"x": floats(2, 0, 3), "a": ints(-2)},
        np.full((2, 1, 3), most, "float32"), "--no-bind", shapes={"x": [2, 0, 3], "a": [1]}, opset=20)
run("log of summed exponentials of nothing", [node("ReduceLogSumExp", ["x", "a"], ["y"])], {"x": floats(2, 0)}, np.full((2, 1), -np.inf, "float32"),
    "--no-bind", constants={"a": ints(1)}, opset=18)
for shape, axis in (((2, 0), 1), ((0, 3), 1), ((3, 0, 2), 0), ((2, 3), -1)):
    a = floats(*shape)
    run(f"Hardmax of {shape}", [node("Hardmax", ["x"], ["y"], axis=axis)], {"x": a},
        (np.arange(3) == a.argmax(-1)[:, None]).astype("float32") if a.size else a, "--no-bind")
half = np.array([-0.45239258, 1.5, -3], "float16")
run("Celu of 16 bits", [node("Celu", ["x"], ["y"], alpha=2.0)], {"x": half},
    np.where(half > 0, half, 2 * (np.exp(half.astype("float32") / 2) - 1)).astype("float16"))

# ---- versions long ago
run("Tile of one axis", [node("Tile", ["x", "n", "a"], ["y"])], {"x": cube}, np.tile(cube, (1, 3, 1)),
    constants={"n": np.array([3], "float32"), "a": np.array([1], "float32")}, opset=1)
image = floats(1, 2, 3, 4)
run("Upsample of images", [node("Upsample", ["x"], ["y"], height_scale=2.0, width_scale=3.0, mode="nearest")], {"x": image},
    image.repeat(2, 2).repeat(3, 3), opset=1)
run("nearest elements of smaller images", [node("Resize", ["x", "f"], ["y"], mode="nearest")], {"x": image}, image[:, :, [0, 0, 1, 1, 2, 2]][..., [0, 2]],
    constants={"f": np.array([1, 1, 2, 0.6], "float32")}, opset=10)

# ---- sizes and places of Resize
line = floats(1, 1, 5)
for options in ((), ("--no-bind",)):
    run(f"2.6 times 5 {options}", [node("Resize", ["x", "", "f"], ["y"], coordinate_transformation_mode="asymmetric", nearest_mode="floor")], {"x": line},
        line[..., (np.arange(13) / 2.6).astype(int)], *options, constants={"f": np.array([1, 1, 2.6], "float32")})
run("2.6 times 5, found when it runs", [node("Resize", ["x", "", "f"], ["y"], coordinate_transformation_mode="asymmetric", nearest_mode="floor")],
    {"x": line, "f": np.array([1, 1, 2.6], "float32")}, line[..., (np.arange(13) / 2.6).astype(int)], "--no-bind", shapes={"f": [3]})
run("one place in pytorch's way", [node("Resize", ["x", "", "", "n"], ["y"], mode="cubic", coordinate_transformation_mode="pytorch_half_pixel")],
    {"x": image}, image[:, :, :1, :1], constants={"n": ints(1, 2, 1, 1)})
run("a part that begins at a whole place", [node("Resize", ["x", "r", "", "n"], ["y"], coordinate_transformation_mode="tf_crop_and_resize", nearest_mode="ceil")],
    {"x": np.arange(6, dtype="float32")[None]}, np.array([[3, 5]], "float32"), constants={"r": np.array([0, 0.6, 1, 1], "float32"), "n": ints(1, 2)})

# ---- others
items = [floats(2), floats(2)]
body = graph([node("Mul", ["i", "o"], ["j"]), node("Neg", ["j"], ["k"])], [value("i", "float32", [2])], [value("j", "float32", [2]), value("k", "float32", [2])])
run("a sequence through a body", [node("SequenceConstruct", ["a", "b"], ["q"]), node("SequenceMap", ["q"], ["r", "t"], body=body),
    node("ConcatFromSequence", ["r"], ["y"], axis=0), node("ConcatFromSequence", ["t"], ["z"], axis=0, new_axis=1)],
    {"a": items[0], "b": items[1], "o": items[0]}, [np.concatenate([items[0] ** 2, items[0] * items[1]]), -np.stack([items[0] ** 2, items[0] * items[1]])],
    shapes={"a": [2], "b": [2], "o": [2]}, outputs=("y", "z"))
pair = graph([node("Sub", ["i", "j"], ["k"])], [value("i", "float32", [2]), value("j", "float32", [2])], [value("k", "float32", [2])])
run("two sequences through a body", [node("SequenceConstruct", ["a", "b"], ["q"]), node("SequenceConstruct", ["b", "a"], ["p"]),
    node("SequenceMap", ["q", "p"], ["r"], body=pair), node("ConcatFromSequence", ["r"], ["y"], axis=0)], {"a": items[0], "b": items[1]},
    np.concatenate([items[0] - items[1], items[1] - items[0]]), shapes={"a": [2], "b": [2]})
scales = np.abs(floats(1, 3)) + np.float32(0.5)
x = floats(1, 5)
run("blocks that do not divide", [node("QuantizeLinear", ["x", "f"], ["y"], axis=1, block_size=2, output_dtype=3)], {"x": x},
    np.round(x / scales.repeat(2, 1)[:, :5]).astype("int8"), "--no-bind", constants={"f": scales}, opset=21)
x = floats(7)
run("wrapped behind what is cut off", [node("Pad", ["x", "p"], ["y"], mode="wrap")], {"x": x}, np.pad(x[:-1], (2, 0), "wrap"),
    constants={"p": ints(2, -1)}, opset=19)

x = floats(3, 4)
for axes, amounts in (((0,), (2, 1)), ((-1,), (1, 0)), ((1, 0), (1, 2, 3, 0))):
    before, after = np.zeros(2, int), np.zeros(2, int)
    before[list(axes)], after[list(axes)] = amounts[:len(axes)], amounts[len(axes):]
    for mode in ("constant", "edge"):
        run(f"{mode} pads of axes {axes} found when it runs", [node("Pad", ["x", "p", "", "a"], ["y"], mode=mode)], {"x": x, "p": ints(*amounts), "a": ints(*axes)},
            np.pad(x, list(zip(before, after)), mode), "--no-bind", shapes={"p": [len(amounts)], "a": [len(axes)]}, opset=18)


def images(columns, image, block, stride, pad):
    """What F.fold of PyTorch gives, for squares."""
    n, steps = columns.shape[0], [(d + 2 * pad - block) // stride + 1 for d in image]
    parts = columns.reshape(n, -1, block, block, *steps)
    out = np.zeros((n, parts.shape[1], image[0] + 2 * pad, image[1] + 2 * pad), "float32")
    for i, j, a, b in np.ndindex(block, block, *steps):
        out[:, :, a * stride + i, b * stride + j] += parts[:, :, i, j, a, b]
    return out[:, :, pad:pad + image[0], pad:pad + image[1]]


for image, block, stride, pad in (((5, 4), 2, 1, 0), ((5, 7), 3, 2, 1), ((4, 4), 2, 2, 0), ((3, 3), 3, 1, 2)):
    steps = [(d + 2 * pad - block) // stride + 1 for d in image]
    x = floats(2, 3 * block * block, steps[0] * steps[1])
    run(f"columns to an image of {image}, blocks of {block} by {stride}", [node("Col2Im", ["x", "i", "b"], ["y"], strides=[stride] * 2, pads=[pad] * 4)],
        {"x": x, "i": ints(*image), "b": ints(block, block)}, images(x, image, block, stride, pad), "--no-bind", shapes={"i": [2], "b": [2]}, opset=18)

x = floats(3, 4)
drop = [node("Dropout", ["x", "r", "t"], ["y", "m"])]
how = {"shapes": {"r": [], "t": []}, "outputs": ("y", "m"), "opset": 13}
for trains, ratio in ((False, 0.9), (True, 0.0)):
    run(f"Dropout of {ratio}, training {trains}, found when it runs", drop, {"x": x, "r": np.float32(ratio), "t": np.array(trains)}, [x, np.ones_like(x, bool)],
        "--no-bind", **how)
run("Dropout of all, found when it runs", drop, {"x": x, "r": np.float32(1), "t": np.array(True)}, [0 * x, np.zeros_like(x, bool)], "--no-bind", **how)

# ---- inputs of unknown rank: the run knows the rank, and then that it needs a value
x = floats(7)
run("an input without a rank, one whose value decides", [node("Pad", ["x", "p"], ["y"], mode="reflect")], {"x": x, "p": ints(2, 1)},
    np.pad(x, (2, 1), "reflect"), shapes={"x": None, "p": None})
run("an input without a rank and without elements", [node("CumSum", ["x", "a"], ["y"])], {"x": floats(1, 0, 2), "a": np.array(-1)}, floats(1, 0, 2),
    shapes={"x": None})
s.done()
