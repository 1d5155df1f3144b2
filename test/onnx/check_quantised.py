#!/usr/bin/env python3
"""Products and convolutions of bytes with zero points, against the formulas of ONNX in numpy: equal to the last integer."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import numpy as np

from cli_test import Suite
from onnx_file import model, node, value

s = Suite()
rng = np.random.default_rng(5)


def drawn(dtype, *shape):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def run(what, nodes, inputs, weights, out, want, *options):
    """inputs: name -> (array, its sizes in the model)."""
    ins = [value(n, a.dtype.name, sizes) for n, (a, sizes) in inputs.items()]
    path = s.write("m.onnx", model(nodes, ins, [value("y", out, None)], weights, domains=["com.microsoft"]))
    given = []
    for n, (a, _) in inputs.items():
        np.save(s.path(n + ".npy"), a)
        given += ["--input", f"{n}={s.path(n + '.npy')}"]
    rc, _, err = s.run("run", path, *given, "--output", s.path("out"), *options)
    if s.check(f"{what}: runs", rc == 0, err[:600]):
        got = np.load(os.path.join(s.path("out"), "0.npy"))
        ok = got.dtype == want.dtype and got.shape == want.shape and np.array_equal(got, want)
        s.check(what, ok, lambda: f"wanted {want.dtype} {want.shape}\n{want}\ngot {got.dtype} {got.shape}\n{got}")


def less(x, zero):
    return x.astype("int64") - np.asarray(zero).astype("int64")


def words(sums):
    return sums.astype("uint64").astype("uint32").view("int32")


def requantised(sums, scale, zero):
    """As QLinearMatMul and QLinearConv: in float32, half to even, limited."""
    y = np.rint(sums.astype("float32") * scale.astype("float32")) + np.float32(zero)
    limits = np.iinfo(zero.dtype)
    return np.clip(y, limits.min, limits.max).astype(zero.dtype)


# ---- MatMulInteger: kinds of bytes, zero points of either side, for all or one for each row or column
def product(what, a, b, za, zb, given, sizes=None, *options):
    """given: which operands the model holds; the others are inputs. sizes: those of a in the model."""
    values = {"a": a, "b": b, "za": za, "zb": zb}
    operands = [n if values[n] is not None else "" for n in ("a", "b", "za", "zb")]
    weights = {n: values[n] for n in operands if n and n in given}
    shapes = {n: list(values[n].shape) for n in operands if n and n not in given}
    if sizes:
        shapes["a"] = sizes
    left = less(a, 0 if za is None else za.reshape(-1, 1) if za.ndim == 1 and za.size > 1 else za)
    right = less(b, 0 if zb is None else zb)
    run(what, [node("MatMulInteger", operands, ["y"])], {n: (values[n], shape) for n, shape in shapes.items()}, weights, "int32",
        words(left @ right), *options)


for ta in ("uint8", "int8"):
    for tb in ("uint8", "int8"):
        for m, k, n in ((1, 7, 5), (17, 33, 40), (3, 1, 1), (64, 70, 96)):
            a, b = drawn(ta, m, k), drawn(tb, k, n)
            one, other = drawn(ta), drawn(tb)
            what = f"{ta} {tb} {m}x{k}x{n}"
            product(f"{what}, both zero points", a, b, one, other, ("b", "za", "zb"))
            product(f"{what}, one for each row and column", a, b, drawn(ta, m), drawn(tb, n), ("b", "za", "zb"))
            product(f"{what}, nothing known", a, b, one, drawn(tb, n), ())
a, b = drawn("uint8", 5, 19), drawn("int8", 19, 12)
product("no zero point", a, b, None, None, ("b",))
product("zero points that are 0", a, b, np.uint8(0), np.zeros(12, "int8"), ("b", "za", "zb"))
product("the left one alone, not known", a, b, np.uint8(200), None, ("b",))
product("the right one alone", a, b, None, np.int8(-3), ("b", "zb"))
product("of one element", a, b, np.array([9], "uint8"), np.array([-7], "int8"), ("b", "za", "zb"))
product("rows without a number", a, b, np.uint8(200), drawn("int8", 12), ("b", "za", "zb"), ["rows", 19])
product("no size known", a, b, np.uint8(200), drawn("int8", 12), (), ["rows", "depth"])
product("no rows", a[:0], b, np.uint8(200), np.int8(3), ("b", "za", "zb"), ["rows", 19])
product("level 0", a, b, np.uint8(200), np.int8(3), ("b", "za", "zb"), None, "--opt", "0")
product("batches", drawn("uint8", 2, 3, 4, 9), drawn("uint8", 3, 9, 6), drawn("uint8", 2, 3, 4, 1), drawn("uint8", 3, 1, 6), ("b", "zb"))
product("a batch of the right", drawn("int8", 4, 9), drawn("uint8", 3, 9, 6), np.int8(5), drawn("uint8", 3, 1, 6), ("b", "za", "zb"))
product("vectors", drawn("uint8", 9), drawn("uint8", 9, 6), np.uint8(5), np.uint8(200), ("b", "za", "zb"))
product("a vector on the right", drawn("uint8", 4, 9), drawn("uint8", 9), np.uint8(5), np.uint8(200), ("b", "za", "zb"))
full = np.full((2, 70000), 255, "uint8")
product("sums that wrap around", full, full.T.copy(), np.uint8(0), np.uint8(0), ("b", "za", "zb"))
product("sums of the right that wrap around, too", full, np.full((70000, 2), -128, "int8"), np.uint8(255), np.int8(127), ("b", "za", "zb"))

# ---- QLinearMatMul, DynamicQuantizeLinear and what follows it
a, b = drawn("uint8", 6, 50), drawn("uint8", 50, 24)
names = ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"]
scales = dict(sa=np.float32(.02), za=np.uint8(113), sb=rng.uniform(.01, .03, 24).astype("float32"), zb=drawn("uint8", 24),
              sy=np.float32(.7), zy=np.uint8(131))
want = requantised(words(less(a, scales["za"]) @ less(b, scales["zb"])), scales["sa"] * scales["sb"] / scales["sy"], scales["zy"])
run("QLinearMatMul", [node("QLinearMatMul", names, ["y"])], {"a": (a, ["n", 50])}, {"b": b, **scales}, "uint8", want)

x, w = rng.standard_normal((4, 30)).astype("float32"), drawn("int8", 30, 8)
low, high = min(x.min(), 0), max(x.max(), 0)
step = np.float32((high - low) / np.float32(255))
zero = np.rint(np.clip(-low / step, 0, 255)).astype("uint8")
q = np.clip(np.rint(x / step) + np.float32(zero), 0, 255).astype("uint8")
run("DynamicQuantizeLinear", [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("MatMulInteger", ["q", "w", "z"], ["y"])],
    {"x": (x, [4, 30])}, {"w": w}, "int32", words(less(q, zero) @ less(w, 0)))

want = words(less(q, zero) @ less(w, -3)).astype("float32") * (np.float32(.25) * step)
run("DynamicQuantizeMatMul", [node("DynamicQuantizeMatMul", ["x", "w", "sw", "zw"], ["y"], domain="com.microsoft")], {"x": (x, ["n", 30])},
    {"w": w, "sw": np.float32(.25), "zw": np.int8(-3)}, "float32", want)

# ---- QGemm with both sides transposed, zero points of columns
a, b = drawn("uint8", 20, 6), drawn("int8", 9, 20)
zb, sb = drawn("int8", 9), rng.uniform(.01, .03, 9).astype("float32")
names = ["a", "sa", "za", "b", "sb", "zb", "", "sy", "zy"]
more = dict(sa=np.float32(.02), za=np.uint8(99), sb=sb, zb=zb, sy=np.float32(.5), zy=np.uint8(101))
sums = words(less(a, 99).T @ (less(b, 0).T - less(zb, 0)))
y = np.rint(sums.astype("float32") * (np.float32(.02) * sb) / np.float32(.5)) + np.float32(101)
run("QGemm", [node("QGemm", names, ["y"], domain="com.microsoft", transA=1, transB=1)], {"a": (a, [20, 6])}, {"b": b, **more}, "uint8",
    np.clip(y, 0, 255).astype("uint8"))


# ---- convolutions, padded with the zero point
def windows(x, w, strides, pads, dilations, groups):
    """x and w with their zero points taken off, so that 0 is around them."""
    axes = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(pads[i], pads[i + axes]) for i in range(axes)])
    reach = [(w.shape[2 + i] - 1) * dilations[i] + 1 for i in range(axes)]
    sizes = [(x.shape[2 + i] - reach[i]) // strides[i] + 1 for i in range(axes)]
    y = np.zeros((x.shape[0], w.shape[0], *sizes), "int64")
    each, depth = w.shape[0] // groups, w.shape[1]
    for g in range(groups):
        for at in np.ndindex(*w.shape[2:]):
            part = x[(slice(None), slice(g * depth, (g + 1) * depth),
                      *[slice(at[i] * dilations[i], at[i] * dilations[i] + (sizes[i] - 1) * strides[i] + 1, strides[i]) for i in range(axes)])]
            y[:, g * each:(g + 1) * each] += np.einsum("nc...,oc->no...", part, w[(slice(g * each, (g + 1) * each), slice(None), *at)])
    return y


def convolution(what, tx, tw, shape, kernel, zx, zw, known=("w", "zx", "zw"), strides=None, pads=None, dilations=None, groups=1, sizes=None):
    axes = len(shape) - 2
    x, w = drawn(tx, *shape), drawn(tw, *kernel)
    strides, pads, dilations = strides or [1] * axes, pads or [0] * 2 * axes, dilations or [1] * axes
    per_channel = np.asarray(zw).reshape(-1, *[1] * (axes + 1)) if np.asarray(zw).ndim else zw
    sums = windows(less(x, zx), less(w, per_channel), strides, pads, dilations, groups)
    values = {"x": x, "w": w, "zx": np.asarray(zx, tx), "zw": np.asarray(zw, tw)}
    inputs = {n: (values[n], sizes if n == "x" and sizes else list(values[n].shape)) for n in values if n not in known}
    how = dict(strides=strides, pads=pads, dilations=dilations, group=groups)
    weights = {n: values[n] for n in known}
    run(f"ConvInteger: {what}", [node("ConvInteger", ["x", "w", "zx", "zw"], ["y"], **how)], inputs, weights, "int32", words(sums))
    if "w" not in known or np.asarray(zx).ndim:
        return
    bias = rng.integers(-1000, 1000, kernel[0]).astype("int32")
    scale = rng.uniform(.01, .02, kernel[0]).astype("float32")
    more = dict(sx=np.float32(.03), sw=scale, sy=np.float32(.4), zy=np.int8(-3) if tx == "int8" else np.uint8(125), b=bias)
    along = (-1, *[1] * axes)
    want = requantised(words(sums + bias.reshape(along)), (np.float32(.03) * scale / np.float32(.4)).reshape(along), more["zy"])
    run(f"QLinearConv: {what}", [node("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], ["y"], **how)], inputs,
        {**weights, **more}, more["zy"].dtype.name, want)


for tx, tw, zx, zw in (("uint8", "int8", 113, 0), ("uint8", "uint8", 113, 140), ("int8", "int8", -5, 3), ("uint8", "uint8", 0, 128)):
    what = f"{tx} {tw} {zx} {zw}"
    convolution(f"{what}, padding", tx, tw, (2, 5, 9, 8), (12, 5, 3, 3), zx, zw, pads=[1, 2, 0, 1])
    convolution(f"{what}, strides and dilations", tx, tw, (1, 8, 13, 12), (16, 8, 3, 2), zx, zw, strides=[2, 1], dilations=[1, 2], pads=[1, 1, 1, 1])
    convolution(f"{what}, one by one", tx, tw, (1, 33, 6, 7), (40, 33, 1, 1), zx, zw)
    convolution(f"{what}, one for each channel", tx, tw, (1, 4, 6, 7), (10, 4, 3, 3), zx, drawn(tw, 10), pads=[1] * 4)
    convolution(f"{what}, depthwise", tx, tw, (1, 6, 9, 8), (12, 1, 3, 3), zx, drawn(tw, 12), pads=[1] * 4, groups=6)
    convolution(f"{what}, two groups", tx, tw, (1, 8, 6, 7), (32, 4, 3, 3), zx, zw, pads=[1] * 4, groups=2)
    convolution(f"{what}, nothing known", tx, tw, (1, 5, 7, 6), (9, 5, 3, 3), zx, zw, known=(), pads=[1] * 4)
convolution("one axis", "uint8", "int8", (2, 7, 20), (9, 7, 5), 30, 0, pads=[2, 2])
convolution("three axes", "uint8", "int8", (1, 3, 5, 6, 4), (9, 3, 2, 3, 2), 30, 4, pads=[1, 1, 0, 0, 1, 1])
convolution("sizes that are not known", "uint8", "int8", (2, 7, 9, 8), (9, 7, 3, 3), 30, 0, pads=[1] * 4, sizes=["n", 7, "h", "w"])
convolution("sizes and zero points that are not known", "uint8", "int8", (2, 7, 9, 8), (9, 7, 3, 3), 30, -6, known=("w",), pads=[1] * 4,
            sizes=["n", 7, "h", "w"])
convolution("depthwise, beyond the integers of float32", "uint8", "uint8", (1, 3, 20, 20), (3, 1, 17, 17), 0, 0, groups=3)
s.done()
