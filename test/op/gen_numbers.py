#!/usr/bin/python3
"""Writes test/op/numbers.txt: operator calls with arguments and the results numpy gives. Run by hand when cases are
added; the file is tracked, so that the tests need no numpy.

    op NAME
    attr NAME TYPE VALUE            int, bool, float, string, dtype, ints, floats, none
    arg DTYPE SHAPE HEX             little-endian bytes, row-major; "scalar DTYPE VALUE" for R.prim_value
    shape SIZES                     R.shape argument
    tuple NUMBERS, bounds NUMBERS   a tuple of R.prim_value; "bounds", "bound NUMBER": variables where sizes are
    out DTYPE SHAPE HEX             one for each result; or: fault RT14
    tol RELATIVE
    loose                           only with unproved sizes: known ones are an error of inference already
"""
import math, os, sys
import numpy as np
import detection_cases, number_cases, window_cases

np.seterr(all="ignore")
lines = []
NAN, INF = float("nan"), float("inf")


def bf_bits(a):
    """Bits of bfloat16, which numpy lacks; values of it are held as float32 that are already rounded."""
    u = np.atleast_1d(np.asarray(a, np.float32)).view(np.uint32).astype(np.uint64)
    r = ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    nan = np.isnan(np.atleast_1d(np.asarray(a, np.float32)))
    r[nan.reshape(r.shape)] = 0x7FC0
    return r.reshape(np.asarray(a).shape)


def to_bf(a):
    return (np.atleast_1d(bf_bits(a)).astype(np.uint32) << np.uint32(16)).astype(np.uint32).view(np.float32).reshape(np.asarray(a).shape)


def emit(tag, dtype, a):
    a = np.ascontiguousarray(a).reshape(np.asarray(a).shape)
    if dtype == "bfloat16":
        raw = bf_bits(a).astype("<u2")
    elif dtype == "bool":
        raw = a.astype(np.uint8)
    else:
        raw = a.astype(dtype)
    shape = ",".join(map(str, a.shape)) or "-"
    lines.append(f"{tag} {dtype} {shape} {np.ascontiguousarray(raw).tobytes().hex() or '-'}")


class Text(str):
    """A string attribute (others are dtypes)."""


def attr(name, v):
    if v is None:
        lines.append(f"attr {name} none -")
    elif isinstance(v, bool):
        lines.append(f"attr {name} bool {int(v)}")
    elif isinstance(v, int):
        lines.append(f"attr {name} int {v}")
    elif isinstance(v, float):
        lines.append(f"attr {name} float {v!r}")
    elif isinstance(v, (list, tuple)) and v and isinstance(v[0], float):
        lines.append(f"attr {name} floats {','.join(map(repr, v))}")
    elif isinstance(v, Text):
        lines.append(f"attr {name} string {v}")
    elif isinstance(v, (list, tuple)):
        lines.append(f"attr {name} ints {','.join(map(str, v)) or '-'}")
    else:
        lines.append(f"attr {name} dtype {v}")


def case(op, args, out, tol=0.0, loose=False, **attrs):
    """args: (dtype, array), ("shape", list), ("scalar", dtype, value), ("tuple", list), ("bounds", list) or ("bound", int);
    out: (dtype, array), a list of them or "RT14"."""
    lines.append(f"op {op}")
    if loose:
        lines.append("loose")
    for k, v in attrs.items():
        attr(k, v)
    for a in args:
        if a[0] == "shape":
            lines.append("shape " + (",".join(map(str, a[1])) or "-"))
        elif a[0] == "scalar":
            lines.append(f"scalar {a[1]} {a[2]!r}")
        elif a[0] == "bound":
            lines.append(f"bound {a[1]}")
        elif a[0] in ("tuple", "bounds"):
            lines.append(f"{a[0]} " + (",".join(map(str, a[1])) or "-"))
        else:
            emit("arg", *a)
    if isinstance(out, str):
        lines.append(f"fault {out}")
    else:
        for o in out if isinstance(out, list) else [out]:
            emit("out", *o)
        lines.append(f"tol {tol!r}")
    lines.append("")


FLOATS = {"float32": (np.float32, 1e-6), "float64": (np.float64, 1e-13), "float16": (np.float16, 2e-3), "bfloat16": (None, 1.6e-2)}


def as_float(dtype, v):
    v = np.asarray(v, np.float64)
    return to_bf(v.astype(np.float32)) if dtype == "bfloat16" else v.astype(FLOATS[dtype][0])


def rounded(dtype, v):
    return as_float(dtype, v)


# ---- one operand ----------------------------------------------------------------------------------------
erf = np.vectorize(math.erf, otypes=[float])
sig = lambda x: 1 / (1 + np.exp(-x))
unary = {
    "abs": (np.abs, "any"), "acos": (np.arccos, "unit"), "acosh": (np.arccosh, "above"), "asin": (np.arcsin, "unit"),
    "asinh": (np.arcsinh, "any"), "atan": (np.arctan, "any"), "atanh": (np.arctanh, "unit"), "ceil": (np.ceil, "half"),
    "cos": (np.cos, "small"), "cosh": (np.cosh, "small"), "exp": (np.exp, "small"), "floor": (np.floor, "half"),
    "log": (np.log, "above"), "negative": (lambda x: -x, "any"), "round": (np.rint, "half"),
    "rsqrt": (lambda x: 1 / np.sqrt(x), "above"), "sigmoid": (sig, "any"), "sign": (np.sign, "any"), "sin": (np.sin, "small"),
    "sinh": (np.sinh, "small"), "square": (lambda x: x * x, "half"), "sqrt": (np.sqrt, "above"), "tan": (np.tan, "small"),
    "tanh": (np.tanh, "any"), "erf": (erf, "any"), "nn.relu": (lambda x: np.maximum(x, 0), "any"),
    "nn.gelu": (lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))), "small"),
    "nn.gelu_tanh": (lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "small"),
    "nn.selu": (lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(np.minimum(x, 0)) - 1)), "small"),
    "nn.silu": (lambda x: x * sig(x), "small"),
}
domain = {
    "any": [-INF, -3.5, -0.75, -0.0, 0.0, 0.3, 2.0, NAN, INF, 1e-3], "unit": [-1, -0.5, 0, 0.25, 1, 2, NAN],
    "above": [1, 1.5, 2, 10, 100, INF, NAN], "half": [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.7, -2.7, NAN, -0.0],
    "small": [-2.5, -1, -0.1, -0.0, 0, 0.5, 1, 3, NAN],
}
for name, (f, d) in unary.items():
    for dtype, (_, tol) in FLOATS.items():
        x = as_float(dtype, domain[d])
        exact = name in ("abs", "ceil", "floor", "negative", "round", "sign", "nn.relu")
        want = rounded(dtype, f(x.astype(np.float64)))
        if name == "nn.relu":
            want = np.where(np.isnan(x), x, np.maximum(x, np.zeros_like(x)))
        case(name, [(dtype, x)], (dtype, want), 0.0 if exact else tol * (30 if name in ("nn.gelu_tanh", "nn.selu", "nn.gelu") else 4))
    x = np.array([[0.5, 0.25, 1.0], [1.0, 0.125, 0.75]], np.float32) + (1 if d == "above" else 0)
    case(name, [("float32", x)], ("float32", f(x.astype(np.float64))), 4e-6)
    case(name, [("float32", np.float32(x[0, 0]))], ("float32", f(np.float64(x[0, 0]))), 4e-6)
    case(name, [("float32", np.zeros((0, 3), np.float32))], ("float32", np.zeros((0, 3))), 0.0)

ints = {"int8": [-128, -5, -1, 0, 1, 7, 127], "uint8": [0, 1, 7, 200, 255], "int16": [-32768, -3, 0, 9, 32767],
        "uint16": [0, 5, 65535], "int32": [-2147483648, -5, -1, 0, 3, 2147483647], "uint32": [0, 9, 4294967295],
        "int64": [-(2**63), -2, 0, 5, 2**63 - 1], "uint64": [0, 1, 2**63, 2**64 - 1]}
for dtype, v in ints.items():
    x = np.array(v, dtype)
    case("abs", [(dtype, x)], (dtype, np.abs(x)))
    case("negative", [(dtype, x)], (dtype, (np.zeros_like(x) - x)))
    case("sign", [(dtype, x)], (dtype, np.sign(x)))
    case("square", [(dtype, x)], (dtype, x * x))
    case("nn.relu", [(dtype, x)], (dtype, np.maximum(x, np.zeros_like(x))))
    case("bitwise_not", [(dtype, x)], (dtype, ~x))
    case("logical_not", [(dtype, x)], (dtype, (x == 0).astype(dtype)))
    for op in ("ceil", "floor", "round"):
        case(op, [(dtype, x)], (dtype, x))
    for op in ("isnan", "isinf", "isfinite"):
        case(op, [(dtype, x)], ("bool", np.full(x.shape, op == "isfinite")))
b = np.array([True, False, True])
case("bitwise_not", [("bool", b)], ("bool", ~b))
case("logical_not", [("bool", b)], ("bool", ~b))
case("nn.relu", [("bool", b)], ("bool", b))
for dtype in FLOATS:
    x = as_float(dtype, domain["any"])
    for op, f in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        case(op, [(dtype, x)], ("bool", f(x)))
    case("logical_not", [(dtype, x)], (dtype, (x == 0).astype(np.float32)))
    case("nn.leakyrelu", [(dtype, x)], (dtype, rounded(dtype, np.where(x > 0, x, x.astype(np.float64) * 0.2))), FLOATS[dtype][1] * 2, alpha=0.2)
x = np.array([-30, -1, 0, 1, 9, 11, 30], np.float32)
case("nn.softplus", [("float32", x)], ("float32", np.where(x * 2 > 20, x, np.log1p(np.exp(2 * x.astype(float))) / 2)), 4e-6, beta=2.0, threshold=20.0)

# ---- two operands ------------------------------------------------------------------------------------------
def trunc_div(a, b):
    q = abs(int(a)) // abs(int(b))
    return q if (a < 0) == (b < 0) else -q


def wrap(v, dtype):
    bits = np.dtype(dtype).itemsize * 8
    v &= (1 << bits) - 1
    return v - (1 << bits) if np.dtype(dtype).kind == "i" and v >> (bits - 1) else v


def int_op(f, dtype):
    def g(a, b):
        a, b = np.broadcast_arrays(np.asarray(a, object), np.asarray(b, object))
        return np.array([wrap(f(int(x), int(y)), dtype) for x, y in zip(a.ravel(), b.ravel())], dtype).reshape(a.shape)
    return g


def shift_left(bits):
    return lambda a, n: a << n if n < bits else 0


def shift_right(bits):
    return lambda a, n: a >> n if n < bits else (-1 if a < 0 else 0)


int_ops = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "divide": trunc_div,
           "floor_divide": lambda a, b: a // b, "mod": lambda a, b: a - b * trunc_div(a, b), "floor_mod": lambda a, b: a % b,
           "minimum": min, "maximum": max, "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b,
           "bitwise_xor": lambda a, b: a ^ b, "logical_and": lambda a, b: int(a != 0 and b != 0),
           "logical_or": lambda a, b: int(a != 0 or b != 0), "logical_xor": lambda a, b: int((a != 0) != (b != 0))}
for dtype, v in ints.items():
    bits = np.dtype(dtype).itemsize * 8
    a = np.array(v, dtype)
    c = np.array([x if x != 0 else 3 for x in reversed(v)], dtype)
    for op, f in int_ops.items():
        case(op, [(dtype, a), (dtype, c)], (dtype, int_op(f, dtype)(a, c)))
    if np.dtype(dtype).kind == "i":
        low = np.array([v[0], v[0], 7, -7, 7, -7], dtype)
        den = np.array([-1, 1, 2, 2, -2, -2], dtype)
        for op in ("divide", "floor_divide", "mod", "floor_mod"):
            case(op, [(dtype, low), (dtype, den)], (dtype, int_op(int_ops[op], dtype)(low, den)))
            case(op, [(dtype, low), (dtype, den * 0)], "RT14")
        case("left_shift", [(dtype, low), (dtype, den)], "RT14")
        case("right_shift", [(dtype, low), (dtype, den)], "RT14")
    n = np.array([0, 1, 3, bits - 1, bits, bits + 3][: len(v)] + [2] * max(0, len(v) - 6), dtype)
    case("left_shift", [(dtype, a), (dtype, n)], (dtype, int_op(shift_left(bits), dtype)(a, n)))
    case("right_shift", [(dtype, a), (dtype, n)], (dtype, int_op(shift_right(bits), dtype)(a, n)))
    e = np.array([0, 1, 2, 3, 5, 6, 7][: len(v)], dtype)
    case("power", [(dtype, a), (dtype, e)], (dtype, int_op(lambda x, y: x**y, dtype)(a, e)))
    for op, f in (("equal", np.equal), ("not_equal", np.not_equal), ("less", np.less), ("less_equal", np.less_equal),
                  ("greater", np.greater), ("greater_equal", np.greater_equal)):
        case(op, [(dtype, a), (dtype, a[::-1])], ("bool", f(a, a[::-1])))
case("power", [("int32", np.array([1, -1, -1, 1], np.int32)), ("int32", np.array([-3, -3, -4, -1], np.int32))], ("int32", np.array([1, -1, 1, 1], np.int32)))
case("power", [("int32", np.array([2], np.int32)), ("int32", np.array([-1], np.int32))], "RT14")
case("power", [("int32", np.array([0], np.int32)), ("int32", np.array([-1], np.int32))], "RT14")
t, f_ = np.array([True, True, False, False]), np.array([True, False, True, False])
for op, f in (("add", np.logical_or), ("multiply", np.logical_and), ("maximum", np.logical_or), ("minimum", np.logical_and),
              ("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor),
              ("bitwise_and", np.logical_and), ("bitwise_or", np.logical_or), ("bitwise_xor", np.logical_xor)):
    case(op, [("bool", t), ("bool", f_)], ("bool", f(t, f_)))
for op, f in (("equal", np.equal), ("not_equal", np.not_equal), ("less", np.less), ("less_equal", np.less_equal),
              ("greater", np.greater), ("greater_equal", np.greater_equal)):
    case(op, [("bool", t), ("bool", f_)], ("bool", f(t, f_)))

float_ops = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "floor_divide": np.floor_divide,
             "power": np.power, "mod": np.fmod, "floor_mod": np.mod, "minimum": np.minimum, "maximum": np.maximum}
fa = [1.0, -1.0, 7.5, -7.5, 7.5, -7.5, 0.0, NAN, 3.0, INF, 1.0, -0.0, 2.0]
fb = [0.1, 0.1, 2.0, 2.0, -2.0, -2.0, 5.0, 1.0, NAN, 2.0, 0.0, -3.0, INF]
for dtype, (_, tol) in FLOATS.items():
    a, c = as_float(dtype, fa), as_float(dtype, fb)
    for op, f in float_ops.items():
        wide = np.float64 if dtype == "float64" else np.float32
        want = f(a.astype(wide), c.astype(wide))
        case(op, [(dtype, a), (dtype, c)], (dtype, rounded(dtype, want)), tol)
    for op, f in (("equal", np.equal), ("not_equal", np.not_equal), ("less", np.less), ("less_equal", np.less_equal),
                  ("greater", np.greater), ("greater_equal", np.greater_equal)):
        case(op, [(dtype, a), (dtype, c)], ("bool", f(a, c)))
    for op, f in (("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)):
        case(op, [(dtype, a), (dtype, c[::-1])], (dtype, f(a, c[::-1]).astype(np.float32)))

rng = np.random.RandomState(7)
def rand(*shape):
    return rng.randint(-9, 9, shape).astype(np.float32) / np.float32(4)


for sa, sb in [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 2)), ((2, 2), ()), ((0, 3), (3,)), ((0, 1), (1, 5)), ((4, 1, 2), (3, 1)), ((), ()),
               ((1,), (1, 1)), ((2, 3, 4), (2, 3, 4)), ((1, 3), (0, 3))]:
    a, c = rand(*sa), rand(*sb)
    for op, f in (("add", np.add), ("maximum", np.maximum), ("less", np.less)):
        r = f(a, c)
        case(op, [("float32", a), ("float32", c)], ("bool" if op == "less" else "float32", r))
    case("where", [("bool", a > 0), ("float32", a), ("float32", c)], ("float32", np.where(a > 0, a, c)))
case("where", [("bool", np.array([[True], [False]])), ("int32", np.array([1, 2, 3], np.int32)), ("int32", np.int32(9))], ("int32", np.array([[1, 2, 3], [9, 9, 9]])))
a = np.array([1.5, -2, 9, NAN], np.float32)
case("multiply", [("float32", a), ("scalar", "float32", 2.0)], ("float32", a * 2))
case("subtract", [("scalar", "float32", 1.0), ("float32", a)], ("float32", 1 - a))
case("add", [("float32", np.float32(2)), ("scalar", "float32", 3.0)], ("float32", np.array([5], np.float32)))
case("clip", [("float32", a), ("scalar", "int64", -1), ("scalar", "int64", 2)], ("float32", np.clip(a, -1, 2)))
case("clip", [("int8", np.array([-128, -3, 0, 90, 127], np.int8)), ("scalar", "int64", -1000), ("scalar", "int64", 50)], ("int8", np.array([-128, -3, 0, 50, 50])))
case("clip", [("uint8", np.array([0, 90, 255], np.uint8)), ("scalar", "float64", 7.5), ("scalar", "int64", 300)], ("uint8", np.array([7, 90, 255])))

# ---- astype ------------------------------------------------------------------------------------------------------
f = np.array([-1.7, -0.2, 0.0, 0.6, 2.5, 300.0, -300.0, 1e20, -1e20, NAN, INF, -INF], np.float64)
for src in ("float64", "float32", "float16", "bfloat16"):
    x = as_float(src, f)
    for dst in ints:
        info = np.iinfo(dst)
        want = [0 if math.isnan(v) else max(info.min, min(info.max, int(v) if math.isfinite(v) else (info.max if v > 0 else info.min))) for v in x.astype(float)]
        case("astype", [(src, x)], (dst, np.array(want, dst)), dtype=dst)
    case("astype", [(src, x)], ("bool", x != 0), dtype="bool")
    for dst in FLOATS:
        case("astype", [(src, x)], (dst, rounded(dst, x)), 0.0, dtype=dst)
for src, v in ints.items():
    x = np.array(v, src)
    for dst in ints:
        case("astype", [(src, x)], (dst, np.array([wrap(int(k), dst) for k in v], dst)), dtype=dst)
    case("astype", [(src, x)], ("bool", x != 0), dtype="bool")
    case("astype", [(src, x)], ("float32", x.astype(np.float32)), dtype="float32")
case("astype", [("bool", b)], ("int32", b.astype(np.int32)), dtype="int32")
case("astype", [("bool", b)], ("float16", b.astype(np.float16)), dtype="float16")

# ---- matmul ---------------------------------------------------------------------------------------------------------
for sa, sb in [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)),
               ((5, 1, 2, 3), (4, 3, 2)), ((3,), (5, 3, 2)), ((5, 2, 3), (3,)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((1, 1), (1, 1))]:
    a, c = rand(*sa), rand(*sb)
    case("matmul", [("float32", a), ("float32", c)], ("float32", np.matmul(a, c)), 1e-6)
    for dtype in ("float16", "bfloat16", "float64"):
        x, y = as_float(dtype, a), as_float(dtype, c)
        case("matmul", [(dtype, x), (dtype, y)], (dtype, rounded(dtype, np.matmul(x.astype(np.float32), y.astype(np.float32)))), FLOATS[dtype][1])
    x, y = (a * 4).astype(np.int32), (c * 4).astype(np.int32)
    case("matmul", [("int32", x), ("int32", y)], ("int32", np.matmul(x, y)))
a, c = (rand(2, 5) * 13).astype(np.int8), (rand(5, 3) * 13).astype(np.int8)
case("matmul", [("int8", a), ("int8", c)], ("int32", np.matmul(a.astype(np.int32), c.astype(np.int32))), out_dtype="int32")
a, c = rand(2, 5).astype(np.float16), rand(5, 3).astype(np.float16)
case("matmul", [("float16", a), ("float16", c)], ("float32", np.matmul(a.astype(np.float32), c.astype(np.float32))), 1e-6, out_dtype="float32")

# ---- shape ------------------------------------------------------------------------------------------------------------
x = rand(2, 3, 4)
for s, to in [((2, 3, 4), (6, 4)), ((2, 3, 4), (24,)), ((2, 3, 4), (4, 3, 2)), ((6,), (2, 3)), ((1, 6, 1), (6,)), ((6,), (1, 6, 1)), ((), (1, 1)),
              ((1,), ()), ((0, 3), (0, 1, 3)), ((2, 3), (3, 1, 2))]:
    v = rand(*s)
    case("reshape", [("float32", v), ("shape", to)], ("float32", v.reshape(to)))
v = rand(2, 3, 4)
case("reshape", [("float32", v), ("shape", (0, -1))], ("float32", v.reshape(2, 12)))
case("reshape", [("float32", v), ("shape", (-1, 4))], ("float32", v.reshape(6, 4)))
case("flatten", [("float32", v)], ("float32", v.reshape(-1)))
case("flatten", [("int8", np.int8(5))], ("int8", np.array([5], np.int8)))
case("flatten", [("float32", np.zeros((0, 4), np.float32))], ("float32", np.zeros(0, np.float32)))
for axes in (None, [0, 1, 2], [2, 0, 1], [-1, 0, 1], [1, 0, 2]):
    case("permute_dims", [("float32", v)], ("float32", np.transpose(v, axes)), axes=axes)
case("permute_dims", [("int64", np.arange(6).reshape(2, 3))], ("int64", np.arange(6).reshape(2, 3).T))
case("permute_dims", [("bool", np.array(True))], ("bool", np.array(True)))
case("expand_dims", [("float32", v)], ("float32", v[None, :, :, :, None]), axis=[0, -1])
case("expand_dims", [("float32", np.float32(3))], ("float32", np.array([[3]], np.float32)), axis=[0, 1])
w = rand(1, 3, 1, 2)
case("squeeze", [("float32", w)], ("float32", w.reshape(3, 2)))
case("squeeze", [("float32", w)], ("float32", w.reshape(1, 3, 2)), axis=[-2])
for to in [(2, 3, 4), (5, 2, 3, 4)]:
    case("broadcast_to", [("float32", v), ("shape", to)], ("float32", np.broadcast_to(v, to)))
q = rand(3, 1)
case("broadcast_to", [("float32", q), ("shape", (2, 3, 4))], ("float32", np.broadcast_to(q, (2, 3, 4))))
case("broadcast_to", [("float32", np.float32(2)), ("shape", (2, 2))], ("float32", np.full((2, 2), 2)))
case("broadcast_to", [("float32", q), ("shape", (0, 3, 2))], ("float32", np.zeros((0, 3, 2))))
case("zeros", [("shape", (2, 3))], ("float32", np.zeros((2, 3))), dtype="float32")
case("ones", [("shape", ())], ("int8", np.ones(())), dtype="int8")
case("ones", [("shape", (0, 2))], ("bool", np.ones((0, 2), bool)), dtype="bool")
case("full", [("shape", (2, 2)), ("float32", np.float32(2.5))], ("int32", np.full((2, 2), 2)), dtype="int32")
case("full", [("shape", (3,)), ("bfloat16", np.float32(2.5))], ("bfloat16", np.full(3, 2.5)))
case("zeros_like", [("float16", np.float16([1, 2]))], ("float16", np.zeros(2)))
case("ones_like", [("float32", v)], ("int64", np.ones((2, 3, 4), np.int64)), dtype="int64")
case("full_like", [("float32", v), ("float32", np.float32(-1))], ("float32", np.full((2, 3, 4), -1)))

# ---- reductions -----------------------------------------------------------------------------------------------------------
def order_sum(a, axis, keepdims):
    return a.astype(np.float64).sum(axis, keepdims=keepdims)


def ax(v):
    return tuple(v) if isinstance(v, list) else v


shapes = [((2, 3, 4), None), ((2, 3, 4), [1]), ((2, 3, 4), [-1]), ((2, 3, 4), [0, 2]), ((2, 3, 4), [0]), ((5,), [0]), ((), None), ((0, 3), [1]), ((3, 1), [1])]
for dtype, (_, tol) in FLOATS.items():
    for s, axis in shapes:
        for keep in (False, True):
            a = as_float(dtype, rand(*s))
            w = a.astype(np.float64)
            for op, g in (("sum", np.sum), ("mean", np.mean), ("prod", np.prod), ("max", np.max), ("min", np.min), ("variance", np.var), ("std", np.std)):
                if op in ("max", "min") and a.size == 0 and s != (0, 3):
                    continue
                case(op, [(dtype, a)], (dtype, rounded(dtype, g(w, ax(axis), keepdims=keep))), tol * 4 if op not in ("max", "min") else 0.0, axis=axis, keepdims=keep)
a = np.zeros((2, 0), np.float32)
case("sum", [("float32", a)], ("float32", np.zeros(2)), axis=[1], keepdims=False)
case("prod", [("float32", a)], ("float32", np.ones(2)), axis=[1], keepdims=False)
case("mean", [("float32", a)], ("float32", np.full(2, NAN)), axis=[1], keepdims=False)
case("variance", [("float32", a)], ("float32", np.full(2, NAN)), axis=[1], keepdims=False)
for op in ("max", "min"):
    case(op, [("float32", a)], "RT14", axis=[1], keepdims=False)
for op in ("argmax", "argmin"):
    case(op, [("float32", a)], "RT14", axis=1, keepdims=False)
n = np.array([[1, NAN, 3], [NAN, -1, NAN], [-INF, -INF, -INF], [INF, 2, INF]], np.float32)
for op, g in (("max", np.max), ("min", np.min)):
    case(op, [("float32", n)], ("float32", g(n, 1)), axis=[1], keepdims=False)
    case(op, [("float16", n.astype(np.float16))], ("float16", g(n, 0)), axis=[0], keepdims=False)
case("sum", [("float16", np.full((1, 4096), 1.0, np.float16))], ("float16", np.array([4096], np.float16)), axis=[1], keepdims=False)
case("mean", [("float16", np.full((3000,), 60000.0, np.float16))], ("float16", np.float16(60000)))
for dtype, v0 in ints.items():
    a = np.array([v0, v0[::-1]], dtype)
    for op, g in (("sum", lambda r: sum(r)), ("prod", lambda r: math.prod(r)), ("max", max), ("min", min)):
        want = [wrap(g([int(k) for k in row]), dtype) for row in a]
        case(op, [(dtype, a)], (dtype, np.array(want, dtype)), axis=[1], keepdims=False)
    small = np.array([[-7, 2, 1], [5, 1, 1]]) if np.dtype(dtype).kind == "i" else np.array([[7, 2, 1], [5, 1, 1]])
    want = [trunc_div(int(r.sum()), 3) for r in small]
    case("mean", [(dtype, small.astype(dtype))], (dtype, np.array(want, dtype)), axis=[1], keepdims=False)
case("mean", [("int8", np.array([127, 127, 127], np.int8))], ("int8", np.int8(127)))
case("mean", [("int32", np.zeros((2, 0), np.int32))], "RT14", axis=[1], keepdims=False)
bb = np.array([[True, False], [True, True], [False, False]])
for op, g in (("sum", np.any), ("max", np.any), ("prod", np.all), ("min", np.all)):
    case(op, [("bool", bb)], ("bool", g(bb, 1)), axis=[1], keepdims=False)
def nan_arg(a, axis, keep, least):
    g = np.argmin if least else np.argmax
    return g(a, axis, keepdims=keep)


for a, axis in [(rand(2, 3, 4), None), (rand(2, 3, 4), 1), (rand(2, 3, 4), -1), (n, 1), (n, None), (n, 0), (np.float32(4).reshape(()), None), (np.zeros((3, 2), np.float32), 0)]:
    for keep in (False, True):
        for op in ("argmax", "argmin"):
            case(op, [("float32", a)], ("int64", nan_arg(np.asarray(a), axis, keep, op == "argmin")), axis=axis, keepdims=keep)
for dtype, v0 in ints.items():
    a = np.array([v0, v0[::-1]], dtype)
    case("argmax", [(dtype, a)], ("int64", np.argmax(a, 1)), axis=1)
    case("argmin", [(dtype, a)], ("int64", np.argmin(a, 1)), axis=1)
case("argmax", [("bool", bb)], ("int64", np.argmax(bb, 1)), axis=1)
case("argmax", [("float16", n.astype(np.float16))], ("int64", np.argmax(n, 1)), axis=1)

# rows that are long: the extreme comes first, then the first place that holds it
long = np.array([[0.0] * 40, [-INF] * 40, [3] * 20 + [7, 2] * 10, [1] * 33 + [NAN, 9, NAN] + [INF] * 4, [-0.0, 0.0] * 20, [5] + [-INF] * 38 + [5]], np.float32)
for op, g in (("argmax", np.argmax), ("argmin", np.argmin)):
    for keep in (False, True):
        case(op, [("float32", long)], ("int64", g(long, -1, keepdims=keep)), axis=-1, keepdims=keep)
    case(op, [("float16", long.astype(np.float16))], ("int64", g(long, 1)), axis=1)
    case(op, [("float32", long.reshape(2, 3, 40))], ("int64", g(long.reshape(2, 3, 40), 2)), axis=2)
    for dtype in ints:
        a = np.array([[9] * 35, [3, 1, 100] + [1, 100] * 16], dtype)
        case(op, [(dtype, a)], ("int64", g(a, 1)), axis=1)
    case(op, [("bool", long > 4)], ("int64", g(long > 4, 1)), axis=1)

# ---- softmax ----------------------------------------------------------------------------------------------------------------
def softmax(x, axis):
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


for dtype, (_, tol) in FLOATS.items():
    for s, axis in [((2, 3), -1), ((2, 3), 0), ((2, 3, 4), 1), ((5,), 0), ((0, 3), 1), ((1, 1), -1)]:
        a = as_float(dtype, rand(*s) * 8)
        case("nn.softmax", [(dtype, a)], (dtype, rounded(dtype, softmax(a.astype(np.float64), axis) if a.size else a)), tol * 4, axis=axis)
        with np.errstate(all="ignore"):
            w = a.astype(np.float64)
            m = np.max(w, axis, keepdims=True) if a.size else w
            want = w - m - np.log(np.exp(w - m).sum(axis, keepdims=True)) if a.size else w
        case("nn.log_softmax", [(dtype, a)], (dtype, rounded(dtype, want)), tol * 4, axis=axis)
a = np.array([[1e4, 1e4, 0], [-INF, -INF, -INF], [NAN, 0, 1], [-INF, 0, 0]], np.float32)
case("nn.softmax", [("float32", a)], ("float32", softmax(a.astype(float), 1)), 1e-6)

# ---- concat: the arguments form the tuple ---------------------------------------------------------------------------------
for parts, axis in [([(2, 3), (2, 1)], 1), ([(2, 3), (4, 3)], 0), ([(2, 3)], 0), ([(1,), (2,), (3,)], None), ([(2, 0), (2, 2)], -1), ([(2, 3, 1), (2, 3, 2), (2, 3, 3)], 2)]:
    vs = [rand(*s) for s in parts]
    case("concat", [("float32", v) for v in vs], ("float32", np.concatenate(vs, 0 if axis is None else axis)), axis=axis)

# ---- what inference trusted and is not so ------------------------------------------------------------------------------
def wrong(op, *shapes, to=None, **attrs):
    case(op, [("float32", rand(*s)) for s in shapes] + ([("shape", to)] if to is not None else []), "RT05", loose=True, **attrs)


wrong("add", (3,), (4,))
wrong("add", (2, 3), (2, 2))
wrong("add", (2, 3), (3, 1, 2))
wrong("less", (0,), (2,))
wrong("maximum", (5, 1), (4, 1))
wrong("matmul", (2, 3), (4, 2))
wrong("matmul", (3,), (4,))
wrong("matmul", (2, 2, 3), (3, 3, 2))
wrong("matmul", (2, 0), (1, 2))
wrong("concat", (2, 3), (3, 3), axis=1)
wrong("concat", (2, 3), (2, 3), (1, 4), axis=0)
wrong("squeeze", (2, 1, 3), axis=[0])
wrong("broadcast_to", (2, 3), to=(2, 4))
wrong("broadcast_to", (0,), to=(4,))
wrong("reshape", (2, 3), to=(4, 2))
wrong("reshape", (2, 3), to=(1,))
case("where", [("bool", np.array([True, False])), ("float32", rand(3)), ("float32", rand(1))], "RT05", loose=True)

number_cases.add(case, as_float, FLOATS, Text)
window_cases.add(case, as_float, FLOATS, Text)
detection_cases.add(case, Text)

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "numbers.txt"), "w") as out:
    out.write("\n".join(lines) + "\n")
print(sum(1 for l in lines if l.startswith("op ")), "cases")
