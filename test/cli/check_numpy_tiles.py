#!/usr/bin/env python3
"""Matrix products and convolutions whose sizes lie around those of tiles and panels (8, 32, 128, 512, 1024), against numpy.

Each program runs on both targets and at the levels 0, where no schedule is made, and 1: all four give the same bits, which are near
those of float64. Operands may be of less bits, sizes may be symbolic, weights may be decoded from fields of bits in front of the sum.
"""
import os
import random

import numpy as np

from cli_test import LONG, Suite

s = Suite()
rng = random.Random(int(os.environ.get("NUMPY_SEED", "3")))
data = np.random.default_rng(7)
TIMES = 12 if LONG else 1
MODULE = """@I.ir_module
class M:
    @R.function
    def main({params}):
        with R.dataflow():
            y = {value}
            R.output(y)
        return y
"""
WIDE = {"float16": "float16", "float32": "float32", "float64": "float64", "int8": "int32", "uint8": "int32", "int32": "int32"}
TOLERANCE = {"float16": 3e-3, "float32": 2e-6, "float64": 1e-14}


def around(*tiles):
    """A size near a multiple of a tile, or small."""
    t = rng.choice(tiles)
    return max(1, rng.choice([t - 1, t, t + 1, t // 2 + 3, 2 * t + 5, rng.randint(1, 9)]))


def array(shape, dtype):
    if np.dtype(dtype).kind in "iu":
        return data.integers(-100 if dtype != "uint8" else 0, 100, shape).astype(dtype)
    return data.standard_normal(shape).astype(dtype)


def tensor(a, names=()):
    dims = ", ".join(f'"{names[i]}"' if i < len(names) and names[i] else str(n) for i, n in enumerate(a.shape))
    return f'R.Tensor(({dims},), "{a.dtype}")'


def result(model, args, target, level):
    flags = ["--target", target, "--opt", str(level)]
    rc, out, err = s.run("build", model, "-o", s.path("m.rlx"), *flags)
    if rc:
        return err or out
    inputs = [x for name in args for x in ("--input", f"{s.path('in.npz')}:{name}")]
    rc, out, err = s.run("run", s.path("m.rlx"), *inputs, "--output", s.path("out"))
    return err or out if rc else np.load(os.path.join(s.path("out"), "0.npy"))


def compare(what, params, value, args, want, dtype, text=None):
    model = s.write("m.py", text or MODULE.format(params=params, value=value))
    np.savez(s.path("in.npz"), **args)
    first = None
    for target, level in (("interp", 1), ("interp", 0), ("c", 1), ("c", 0)):
        got = result(model, args, target, level)
        name = f"{what} on {target} at level {level}"
        if not s.check(name, isinstance(got, np.ndarray) and got.shape == want.shape, str(got)[:400]):
            return
        if first is None:
            first = got
            wide = np.asarray(got, "float64")
            near = np.array_equal(got, want) if got.dtype.kind in "iu" else \
                np.max(np.abs(wide - want), initial=0) <= TOLERANCE[dtype] * max(1.0, np.max(np.abs(want), initial=0)) * np.sqrt(args["x"].size)
            s.check(f"{name} near numpy", near, lambda: f"off by {np.max(np.abs(wide - want))}")
        s.check(f"{name}: the same bits", got.tobytes() == first.tobytes(), "others than at level 1 of the interpreter")


def matmul(dtype, symbolic):
    m, k, n = around(8, 32, 128), around(32, 128, 512), around(32, 128)
    if rng.random() < 0.15:
        m, k, n = rng.choice([(1030, 70, 40), (40, 1030, 33), (17, 2048, 130), (1025, 512, 8)])
    batch = rng.choice([(), (), (3,), (2, 2)])
    share = bool(batch) and rng.random() < 0.4
    x, w = array(batch + (m, k), dtype), array((() if share else batch) + (k, n), dtype)
    wide = "float64" if np.dtype(dtype).kind == "f" else "int32"
    want = np.matmul(x.astype(wide), w.astype(wide))
    names = ["b", "c"][:len(batch)] if symbolic else [None] * len(batch)
    params = f'x: {tensor(x, [*names, "m"] if symbolic else [])}, w: {tensor(w, [] if share or not symbolic else names)}'
    out = f', out_dtype="{WIDE[dtype]}"' if WIDE[dtype] != dtype else ""
    value = f"R.matmul(x, w{out})"
    if rng.random() < 0.3 and not symbolic and not batch:
        w = np.ascontiguousarray(w.T)
        params, value = f"x: {tensor(x)}, w: {tensor(w)}", f"R.matmul(x, R.permute_dims(w){out})"
    compare(f"matmul {x.shape} {w.shape} {dtype}", params, value, {"x": x, "w": w}, want, dtype)


def product_of_bytes(m, k, n, left, right, extreme):
    """Any two kinds of bytes, or all of them as far from 0 as there are."""
    def draw(shape, dtype):
        info = np.iinfo(dtype)
        return np.full(shape, info.min or info.max, dtype) if extreme else data.integers(info.min, info.max, shape, dtype, endpoint=True)
    x, w = draw((m, k), left), draw((k, n), right)
    compare(f"product of {left} {x.shape} and {right} {w.shape}{', extreme' if extreme else ''}", f"x: {tensor(x)}, w: {tensor(w)}",
            'R.matmul(x, w, out_dtype="int32")', {"x": x, "w": w}, x.astype("int32") @ w.astype("int32"), "int8")


def convolve(x, w, stride, pad, dilation, groups):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    n, o, kh, kw = x.shape[0], w.shape[0], w.shape[2], w.shape[3]
    oh, ow = (x.shape[2] - dilation * (kh - 1) - 1) // stride + 1, (x.shape[3] - dilation * (kw - 1) - 1) // stride + 1
    y, per = np.zeros((n, o, oh, ow), x.dtype), o // groups
    for g in range(groups):
        for a in range(kh):
            for b in range(kw):
                part = x[:, g * w.shape[1]:(g + 1) * w.shape[1], a * dilation:a * dilation + oh * stride:stride, b * dilation:b * dilation + ow * stride:stride]
                y[:, g * per:(g + 1) * per] += np.einsum("nchw,oc->nohw", part, w[g * per:(g + 1) * per, :, a, b])
    return y


def conv(dtype, symbolic):
    groups = rng.choice([1, 1, 1, 2, 4])
    c, o, size, k = groups * rng.choice([1, 3, 8, 40]), groups * rng.choice([1, 4, 9, 33]), rng.choice([4, 7, 8, 11, 14, 19]), rng.choice([1, 1, 3, 3, 5])
    stride, dilation = rng.choice([1, 1, 2]), rng.choice([1, 1, 1, 2])
    pad = rng.choice([0, k // 2, 1])
    if size + 2 * pad < dilation * (k - 1) + 1:
        return
    x, w = array((rng.choice([1, 1, 3]), c, size, size), dtype), array((o, c // groups, k, k), dtype)
    layout = rng.random() < 0.25 and groups == 1
    want = convolve(x.astype("float64"), w.astype("float64"), stride, pad, dilation, groups)
    flags = f"strides=({stride}, {stride}), padding=({pad}, {pad}), dilation=({dilation}, {dilation}), groups={groups}"
    flags += f', out_dtype="{WIDE[dtype]}"' if WIDE[dtype] != dtype else ""
    if layout:
        x, w, want = (np.ascontiguousarray(np.moveaxis(v, *way)) for v, way in ((x, (1, 3)), (w, ((0, 1), (3, 2))), (want, (1, 3))))
        flags += ', data_layout="NHWC", kernel_layout="HWIO"'
    names = ["b"] if symbolic else []
    compare(f"conv2d {x.shape} {w.shape} {flags} {dtype}", f"x: {tensor(x, names)}, w: {tensor(w)}", f"R.nn.conv2d(x, w, {flags})",
            {"x": x, "w": w}, want, dtype)


DECODED = '''@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(x: T.handle, Q: T.Buffer({q}, "{word}"), S: T.Buffer({s}, "float32"), y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, {k}))
        Y = T.match_buffer(y, (n, {n}))
        W = T.alloc_buffer({w})
        for i, j in T.grid{w}:
            with T.block("decode"):
                vi, vj = T.axis.remap("SS", [i, j])
                W[vi, vj] = (T.Cast("float32", {field}) - T.float32({zero})) * S[{scale}]
        for i, j, k in T.grid(n, {n}, {k}):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * {read}

    @R.function
    def main(x: R.Tensor(("n", {k}), "float32"), q: R.Tensor({q}, "{word}"), s: R.Tensor({s}, "float32")) -> R.Tensor(("n", {n}), "float32"):
        n = T.int64()
        with R.dataflow():
            y = R.call_tir(M.f, (x, q, s), out_sinfo=R.Tensor((n, {n}), dtype="float32"))
            R.output(y)
        return y
'''


def decoded():
    """Weights of a few bits, `per` of them in a word, one scale for each group; both layouts."""
    word, bits, per = rng.choice([("uint32", 4, 8), ("uint32", 4, 8), ("uint32", 8, 4), ("uint32", 3, 10), ("uint32", 2, 16),
                                  ("int32", 4, 8), ("uint8", 4, 2), ("uint8", 8, 1), ("int8", 8, 1)])
    group = per * rng.choice([1, 4, 4, 16])
    k, n = group * rng.randint(1, max(1, 1200 // group)), around(32, 128)
    m = rng.choice([1, 1, 7, 17, 130])
    turned = rng.random() < 0.5                 # W[n, k]
    shape, axis = ((n, k), 1) if turned else ((k, n), 0)
    info = np.iinfo(word)
    q = data.integers(info.min, info.max, [s // per if i == axis else s for i, s in enumerate(shape)], endpoint=True).astype(word)
    scales = data.standard_normal([x // group if i == axis else x for i, x in enumerate(shape)]).astype("float32")
    zero = rng.choice([0, 7, 8, 3])
    digits = np.arange(k) % per * bits
    wide = np.take(q, np.arange(k) // per, axis).astype("int64")
    field = wide if word == "int8" else wide >> (digits[None] if turned else digits[:, None]) & ((1 << bits) - 1)
    w = (field.astype("float32") - np.float32(zero)) * np.take(scales, np.arange(k) // group, axis)
    x = data.standard_normal((m, k)).astype("float32")
    step = "vj" if turned else "vi"
    at, scale = (f"vi, vj // {per}", f"vi, vj // {group}") if turned else (f"vi // {per}, vj", f"vi // {group}, vj")
    text = DECODED.format(
        q=q.shape, s=scales.shape, w=shape, k=k, n=n, word=word, zero=zero, scale=scale, read="W[vj, vk]" if turned else "W[vk, vj]",
        field=f"Q[{at}]" if per == 1 else
        f'T.bitwise_and(T.shift_right(Q[{at}], T.Cast("{word}", {step} % {per}) * T.{word}({bits})), T.{word}({(1 << bits) - 1}))')
    compare(f"decoded {bits} bits of {word} in groups of {group}, {m} rows, {shape}", "", "", {"x": x, "q": q, "s": scales},
            x.astype("float64") @ (w.T if turned else w).astype("float64"), "float32", text)


PRODUCED = '''@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(x: T.handle, A: T.Buffer({shape}, "{dtype}"), y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, {k}))
        Y = T.match_buffer(y, (n, {n}))
        W = T.alloc_buffer({shape})
        for i, j in T.grid{shape}:
            W[i, j] = {value}
        for i, j in T.grid(n, {n}):
            Y[i, j] = T.float32(0)
        for i, j, k in T.grid(n, {n}, {k}):
            Y[i, j] = Y[i, j] + X[i, k] * {read}

    @R.function
    def main(x: R.Tensor(("n", {k}), "float32"), a: R.Tensor({shape}, "{dtype}")) -> R.Tensor(("n", {n}), "float32"):
        n = T.int64()
        with R.dataflow():
            y = R.call_tir(M.f, (x, a), out_sinfo=R.Tensor((n, {n}), dtype="float32"))
            R.output(y)
        return y
'''


def produced(m, k, n, turned, dtype):
    """Weights that are made of others of their size in front of the sum."""
    shape = (n, k) if turned else (k, n)
    a, x = array(shape, dtype), array((m, k), "float32")
    value = "T.max(A[i, j], T.float32(0)) * T.float32(3)" if dtype == "float32" else 'T.Cast("float32", A[i, j])'
    w = np.maximum(a, 0) * np.float32(3) if dtype == "float32" else a.astype("float32")
    text = PRODUCED.format(shape=shape, dtype=dtype, k=k, n=n, value=value, read="W[j, k]" if turned else "W[k, j]")
    compare(f"made of {dtype} {shape}, {m} rows", "", "", {"x": x, "a": a}, x.astype("float64") @ (w.T if turned else w).astype("float64"), "float32", text)


for turned in (False, True):
    produced(rng.choice([1, 5]), 2048, 1056, turned, "float32")     # large ones are computed in panels
    produced(around(8, 32), around(32, 128, 512), around(32, 128), turned, "float32")
    produced(around(8, 32), around(32, 128, 512), around(32, 128), turned, "float16")
for i in range(TIMES * 10):
    decoded()
for i in range(TIMES * 24):
    matmul(("float32", "float32", "float64", "float16", "int8", "float32", "uint8", "int32")[i % 8], rng.random() < 0.3)
for i in range(TIMES * 16):
    conv(("float32", "int8", "float32", "float64", "uint8", "float16")[i % 6], rng.random() < 0.3)
for i, (m, k, n) in enumerate(((1, 1000, 33), (7, 17, 1000), (17, 33, 7), (33, 1, 17), (33, 1000, 1), (1, 7, 1))):
    product_of_bytes(m, k, n, ("int8", "uint8")[i % 2], ("int8", "int8", "uint8", "uint8")[i % 4], False)
for i in range(4):
    product_of_bytes(9, 1000, 40, ("int8", "uint8")[i % 2], ("int8", "uint8")[i // 2], True)
s.done()
