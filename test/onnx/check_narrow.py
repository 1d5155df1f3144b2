#!/usr/bin/env python3
"""Element types of ONNX that have no dtype, and float8: stored, cast, quantised. Values come from the definition of each format, by search."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import numpy as np

from cli_test import Suite
from onnx_file import TYPES, field, fields, model, node, value

s = Suite()
rng = np.random.default_rng(3)
INF, NAN = np.inf, np.nan

# name: number, bits, bits of the fraction, bias of the exponent, what the last codes are
FLOATS = {"float8e4m3fn": (17, 8, 3, 7, "nan"), "float8e4m3fnuz": (18, 8, 3, 8, "unsigned zero"), "float8e5m2": (19, 8, 2, 15, "inf"),
          "float8e5m2fnuz": (20, 8, 2, 16, "unsigned zero"), "float4e2m1": (23, 4, 1, 1, "finite"), "float6e2m3": (27, 6, 3, 1, "finite"),
          "float6e3m2": (28, 6, 2, 3, "finite")}
INTS = {"uint4": (21, 4, 0, 15), "int4": (22, 4, -8, 7), "uint2": (25, 2, 0, 3), "int2": (26, 2, -2, 1)}
for name, facts in {**FLOATS, **INTS, "float8e8m0": (24,)}.items():
    TYPES[name] = facts[0]


def decode(name, code):
    number, bits, fraction, bias, kind = FLOATS[name]
    sign, code = code >> (bits - 1), code & (1 << (bits - 1)) - 1
    exponent, part = code >> fraction, code & (1 << fraction) - 1
    if kind == "unsigned zero" and sign and not code:
        return NAN
    if kind == "nan" and code == (1 << (bits - 1)) - 1:
        return NAN
    if kind == "inf" and exponent == 31:
        return NAN if part else -INF if sign else INF
    v = part * 2.0 ** (1 - bias - fraction) if exponent == 0 else (1 + part / 2 ** fraction) * 2.0 ** (exponent - bias)
    return -v if sign else v


def table(name):
    return np.array([decode(name, c) for c in range(1 << FLOATS[name][1])], "float32")


def nearest(name, x, saturate):
    """The value that x becomes: the nearest, of two the one with an even code."""
    kind, t = FLOATS[name][4], table(name).astype("float64")
    codes = [c for c in range(1 << (FLOATS[name][1] - 1)) if np.isfinite(t[c])]
    most = t[codes[-1]]
    if np.isnan(x):
        return 0.0 if kind == "finite" else NAN
    a = abs(float(x))
    ulp = most - t[codes[-2]]
    if a >= most + ulp / 2 and not (a == most + ulp / 2 and codes[-1] % 2 == 0):
        v = most if saturate or kind == "finite" else INF if kind == "inf" else NAN
    else:
        v = t[min(codes, key=lambda c: (abs(t[c] - a), c % 2))]
    return -v if x < 0 else v


def run(what, content, inputs, want, *options):
    path = s.write("m.onnx", content)
    given = []
    for i, a in enumerate(inputs):
        np.save(s.path(f"in{i}.npy"), a)
        given.append(s.path(f"in{i}.npy"))
    rc, out, err = s.run("run", path, *(["--input", *given] if given else []), "--output", s.path("out"), *options)
    if not s.check(f"{what}: runs", rc == 0, err[:600]):
        return None
    got = np.load(os.path.join(s.path("out"), "0.npy"))
    if want is not None:
        s.check(what, got.shape == want.shape and got.dtype == want.dtype and np.array_equal(got, want, equal_nan=got.dtype.kind == "f"),
                lambda: f"wanted {want.dtype} {want.shape}\n{want}\ngot {got.dtype} {got.shape}\n{got}")
    return got


def single(op, inputs, out, opset=25, constants=(), **attributes):
    names = [n for n, _, _ in inputs] + [n for n, _ in constants]
    return model([node(op, names, ["y"], **attributes)], [value(*i) for i in inputs], [value("y", *out)], [t for _, t in constants], opset=opset, ir=11)


def raw(name, kind, shape, content):
    return name, fields(1, shape) + field(2, TYPES[kind]) + field(8, name) + field(9, content)


# ---- codes to values and back
for name in FLOATS:
    t = table(name)
    codes = np.arange(len(t)).astype("uint8")
    run(f"{name}: all codes", single("Cast", [("x", name, ["n"])], ("float32", ["n"]), to=1), [codes], t)
    run(f"{name}: all codes, sizes open", single("Cast", [("x", name, ["n"])], ("float32", ["n"]), to=1), [codes], t, "--no-bind")
    finite = np.unique(t[np.isfinite(t)]).astype("float64")
    x = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, finite * 1.07, [1e6, -1e6, 1e-9, -1e-9, INF, -INF, NAN]]).astype("float32")
    for saturate in (1, 0):
        want = np.array([nearest(name, v, saturate) for v in x], "float32")
        got = run(f"{name}: from float32, saturate {saturate}",
                  single("Cast", [("x", "float32", ["n"])], (name, ["n"]), to=TYPES[name], saturate=saturate), [x], None)
        if got is not None:
            got = t[got.view("uint8")]
            s.check(f"{name}: from float32, saturate {saturate}: values", np.array_equal(got, want, equal_nan=True),
                    lambda: [(a, g, w) for a, g, w in zip(x, got, want) if not (g == w or (g != g and w != w))][:9])
    like = single("CastLike", [("x", "float32", ["n"]), ("z", name, [0])], (name, ["n"]))
    got = run(f"{name}: as another", like, [finite.astype("float32"), np.zeros(0, "uint8")], None)
    s.check(f"{name}: as another: values", got is not None and np.array_equal(t[got.view("uint8")], finite.astype("float32")), got)

for name, (number, bits, low, high) in INTS.items():
    codes = np.arange(1 << bits).astype("uint8")
    want = np.where(codes > high, codes.astype(int) - (1 << bits), codes).astype("int8")
    run(f"{name}: all codes", single("Cast", [("x", name, ["n"])], ("int8", ["n"]), to=3), [codes], want)
    x = np.array([-9, -3.7, -1, 0, 0.9, 1.5, 3, 7, 8, 15, 16, 100], "float32")
    run(f"{name}: from float32", single("Cast", [("x", "float32", ["n"])], (name, ["n"]), to=number), [x],
        (np.trunc(x).astype(int) & (1 << bits) - 1).astype("uint8"))
    # a constant, packed from the low bits on, of an odd number of elements
    per = 8 // bits
    v = np.array([codes[i % len(codes)] for i in range(3 * per - 1)])
    content = bytes(sum(int(c) << bits * k for k, c in enumerate(v[i:i + per])) for i in range(0, len(v), per))
    kept = model([node("Cast", ["w"], ["y"], to=6)], [], [value("y", "int32", [len(v)])], [raw("w", name, [len(v)], content)[1]], opset=25, ir=11)
    run(f"{name}: a constant", kept, [], want[v].astype("int32"))
    short = model([node("Cast", ["w"], ["y"], to=6)], [], [value("y", "int32", [len(v)])], [raw("w", name, [len(v)], content[:-1])[1]], opset=25, ir=11)
    rc, out, err = s.run("check", s.write("m.onnx", short))
    s.check(f"{name}: a constant with too few bytes", rc == 1 and "error[ON01]" in err, err)
    scale = np.array(0.25, "float32")
    zero = low + 1
    q = single("QuantizeLinear", [("x", "float32", ["n"]), ("s", "float32", [])], (name, ["n"]), constants=[raw("z", name, [], bytes([zero & 255]))])
    given = rng.uniform(-4, 4, 50).astype("float32")
    want_q = np.clip(np.rint(given / scale) + zero, low, high).astype(int) & (1 << bits) - 1
    run(f"{name}: quantised", q, [given, scale], want_q.astype("uint8"))

# ---- blocks of packed weights
w = rng.integers(-8, 8, (4, 6))
content = np.array([(a & 15) | (b & 15) << 4 for a, b in w.reshape(-1, 2)], "uint8").tobytes()
scales = rng.uniform(0.1, 1, (2, 6)).astype("float32")
blocks = model([node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=2), node("MatMul", ["x", "d"], ["y"])],
               [value("x", "float32", ["n", 4])], [value("y", "float32", ["n", 6])],
               [raw("w", "int4", [4, 6], content)[1], raw("s", "float32", [2, 6], scales.tobytes())[1]], opset=21, ir=10)
x = rng.integers(-3, 4, (3, 4)).astype("float32")
got = run("blocks of int4", blocks, [x], None)
s.check("blocks of int4: values", got is not None and np.allclose(got, x @ (w * np.repeat(scales, 2, 0)), rtol=1e-5, atol=1e-5), got)

# ---- float8 with scales
for name in ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2"):
    given, scale = rng.uniform(-900, 900, 40).astype("float32"), np.array(2, "float32")
    q = single("QuantizeLinear", [("x", "float32", ["n"]), ("s", "float32", [])], (name, ["n"]), opset=23, output_dtype=TYPES[name])
    got = run(f"{name}: quantised", q, [given, scale], None)
    want = np.array([nearest(name, v, True) for v in given / scale], "float32")
    s.check(f"{name}: quantised: values", got is not None and np.array_equal(table(name)[got.view("uint8")], want), got)

# ---- exponents
x = np.array([0, 2.0 ** -127, 1, 1.2, 1.5, 1.75, 2, 3, 2.0 ** 127, 3e38, INF, NAN, -1.2], "float32")
for mode, want in (("up", [0, 0, 127, 128, 128, 128, 128, 129, 254, 254, 255, 255, 128]),
                   ("down", [0, 0, 127, 127, 127, 127, 128, 128, 254, 254, 255, 255, 127]),
                   ("nearest", [0, 0, 127, 127, 128, 128, 128, 129, 254, 254, 255, 255, 127])):
    run(f"float8e8m0, {mode}", single("Cast", [("x", "float32", ["n"])], ("float8e8m0", ["n"]), to=24, round_mode=mode), [x],
        np.array(want, "uint8"))
codes = np.arange(256).astype("uint8")
want = np.append(2.0 ** (np.arange(255) - 127.0), NAN).astype("float32")
run("float8e8m0: all codes", single("Cast", [("x", "float8e8m0", ["n"])], ("float32", ["n"]), to=1), [codes], want)

s.done()
