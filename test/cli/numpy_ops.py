"""What operators compute, said once more in numpy: the other side of check_numpy.py. Nothing here looks at the library."""
import math

import numpy as np

FLOATS = ("float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTS
ALL = NUMBERS + ("bool",)


def every_number(bits, mantissa, infinite):
    """The numbers of a float of so many bits by their bits, sign not set; an infinity where it has one, NaN behind it."""
    width = bits - 1 - mantissa
    bias, m = 2 ** (width - 1) - 1, 2 ** mantissa
    i = np.arange(2 ** (bits - 1))
    e, f = i // m, i % m
    values = np.where(e == 0, f * 2.0 ** (1 - bias - mantissa), (m + f) * 2.0 ** (np.maximum(e, 1) - bias - mantissa))
    if infinite:
        values[e == 2 ** width - 1] = np.nan
        values[(2 ** width - 1) * m] = np.inf
    else:
        values[-1] = np.nan
    return values


class Narrow:
    """A float that numpy does not know: what it computes is float32, rounded to it after each operation."""

    def __init__(self, bits, mantissa, infinite, rtol):
        self.bytes, self.precision, self.rtol = bits // 8, mantissa + 1, rtol
        self.unsigned, values = f"uint{bits}", every_number(bits, mantissa, infinite)
        self.values = np.concatenate([values, -values]).astype("float32")
        self.numbers = values[np.isfinite(values)]
        # what the next number would be, with the same exponent or the next one: halfway to it ends what is finite
        self.ends = np.append(self.numbers, 2 * self.numbers[-1] - self.numbers[-2])
        self.beyond = np.inf if infinite else np.nan

    def encode(self, x):
        """The bits of the nearest numbers, of two as near of the even one."""
        x = np.asarray(x, "float32")
        size = np.abs(x).astype("float64")
        bounded = np.where(size < self.ends[-1], size, self.ends[-1])
        high = np.searchsorted(self.ends, bounded)
        low = np.maximum(high - 1, 0)
        up, down = self.ends[high] - bounded, bounded - self.ends[low]
        at = np.where((up < down) | ((up == down) & (high % 2 == 0)), high, low)
        at = np.where(np.isnan(x), len(self.values) // 2 - 1, at)
        return (at + np.where(np.signbit(x), len(self.values) // 2, 0)).astype(self.unsigned)

    def decode(self, bits):
        return self.values[bits]

    def round(self, x):
        return np.asarray(self.decode(self.encode(x)), "float32")


NARROW = {"bfloat16": Narrow(16, 7, True, 6e-2), "float8_e4m3fn": Narrow(8, 3, False, 0.4), "float8_e5m2": Narrow(8, 2, True, 0.8)}


def held(dtype):
    """The dtype of numpy that holds the numbers of `dtype`."""
    return "float32" if dtype in NARROW else dtype


def rounded(x, dtype):
    return NARROW[dtype].round(x) if dtype in NARROW else x


def ends(dtype):
    """Where a dtype ends, and what is special."""
    if dtype in NARROW:
        n = NARROW[dtype].numbers
        return rounded(np.append(ends("float32"), [n[-1], -n[-1], n[1], -n[1], n[-1] * 1.05, n[1] / 2, n[1] * 1.5]), dtype)
    if np.dtype(dtype).kind in "iu":
        i = np.iinfo(dtype)
        return np.array([i.min, i.max, i.min + 1, i.max - 1, i.max // 2 + 1, i.max // 3, 0, 1], dtype)
    f = np.finfo(dtype)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, f.max, f.min, f.tiny, f.smallest_subnormal, 0.1, -1.5, 2.5, 1e-3, 300.0, -1e4], dtype)


def wide(f):
    """f computed in float64 and rounded once."""
    return lambda x: f(x.astype("float64")).astype(x.dtype)


def is_float(x):
    return np.asarray(x).dtype.kind == "f"


def keep_ints(f):
    return lambda x: f(x) if is_float(x) else x


erf = np.vectorize(math.erf, otypes=["float64"])
SELU = (1.0507009873554804934193349852946, 1.6732632423543772848170429916717)

# name: (function, dtypes, is the result the same bits everywhere)
UNARY = {
    "abs": (np.abs, NUMBERS, True), "negative": (lambda x: (0 - x).astype(x.dtype) if x.dtype.kind == "u" else -x, NUMBERS, True),
    "square": (lambda x: x * x, NUMBERS, True), "sign": (np.sign, NUMBERS, True),
    "floor": (keep_ints(np.floor), NUMBERS, True), "ceil": (keep_ints(np.ceil), NUMBERS, True), "round": (keep_ints(np.round), NUMBERS, True),
    "bitwise_not": (np.invert, INTS + ("bool",), True), "logical_not": (np.logical_not, ("bool",), True),
    "nn.relu": (lambda x: np.where(np.isnan(x), x, np.maximum(x, 0).astype(x.dtype)) if is_float(x) else np.maximum(x, 0).astype(x.dtype), NUMBERS, True),
    "isnan": (np.isnan, FLOATS, True), "isinf": (np.isinf, FLOATS, True), "isfinite": (np.isfinite, FLOATS, True),
    "sqrt": (np.sqrt, FLOATS, True), "rsqrt": (wide(lambda x: 1 / np.sqrt(x)), FLOATS, False),
    "exp": (wide(np.exp), FLOATS, False), "log": (wide(np.log), FLOATS, False),
    "sin": (wide(np.sin), FLOATS, False), "cos": (wide(np.cos), FLOATS, False), "tan": (wide(np.tan), FLOATS, False),
    "sinh": (wide(np.sinh), FLOATS, False), "cosh": (wide(np.cosh), FLOATS, False), "tanh": (wide(np.tanh), FLOATS, False),
    "asin": (wide(np.arcsin), FLOATS, False), "acos": (wide(np.arccos), FLOATS, False), "atan": (wide(np.arctan), FLOATS, False),
    "asinh": (wide(np.arcsinh), FLOATS, False), "acosh": (wide(np.arccosh), FLOATS, False), "atanh": (wide(np.arctanh), FLOATS, False),
    "erf": (wide(erf), FLOATS, False), "sigmoid": (wide(lambda x: 1 / (1 + np.exp(-x))), FLOATS, False),
    "nn.silu": (wide(lambda x: x / (1 + np.exp(-x))), FLOATS, False),
    "nn.gelu": (wide(lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))), FLOATS, False),
    "nn.gelu_tanh": (wide(lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))), FLOATS, False),
    "nn.selu": (wide(lambda x: SELU[0] * np.where(x > 0, x, SELU[1] * np.expm1(x))), FLOATS, False),
    "nn.leakyrelu": (wide(lambda x: np.where(x > 0, x, 0.01 * x)), FLOATS, False),
    "nn.softplus": (wide(lambda x: np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 30))))), FLOATS, False),
}


def divide(a, b):
    if is_float(a):
        return a / b
    need(b != 0)
    q = a // b
    return (q + ((a - q * b != 0) & ((a < 0) != (b < 0)))).astype(a.dtype)


def need(cond):
    """A call that must fail has no value here."""
    if not np.all(cond):
        raise ValueError("no value")


def by_nonzero(f):
    def g(a, b):
        if not is_float(a):
            need(b != 0)
        return f(a, b)
    return g


def power(a, b):
    if not is_float(a):
        need((b >= 0) | (a == 1) | (a == -1))
        a, b = np.broadcast_arrays(a, b)
        bits = a.dtype.itemsize * 8
        flat = [pow(int(x), int(y) if y >= 0 else int(y) & 1, 1 << bits) if y >= 0 or x in (1, -1) else 0 for x, y in zip(a.ravel(), b.ravel())]
        return np.array(flat, dtype=f"uint{bits}").astype(a.dtype).reshape(a.shape)
    return np.power(a.astype("float64"), b.astype("float64")).astype(a.dtype)


def shift(f):
    def g(a, b):
        need(b >= 0)
        return f(a, b)
    return g


BINARY = {
    "add": (np.add, NUMBERS, True), "subtract": (np.subtract, NUMBERS, True), "multiply": (np.multiply, NUMBERS, True),
    "divide": (divide, NUMBERS, True), "floor_divide": (by_nonzero(np.floor_divide), NUMBERS, True),
    "mod": (by_nonzero(np.fmod), NUMBERS, True), "floor_mod": (by_nonzero(np.mod), NUMBERS, True),
    "power": (power, NUMBERS, False),
    "minimum": (np.minimum, NUMBERS, True), "maximum": (np.maximum, NUMBERS, True),
    "logical_and": (np.logical_and, ("bool",), True), "logical_or": (np.logical_or, ("bool",), True), "logical_xor": (np.logical_xor, ("bool",), True),
    "bitwise_and": (np.bitwise_and, INTS + ("bool",), True), "bitwise_or": (np.bitwise_or, INTS + ("bool",), True),
    "bitwise_xor": (np.bitwise_xor, INTS + ("bool",), True),
    "left_shift": (shift(np.left_shift), INTS, True), "right_shift": (shift(np.right_shift), INTS, True),
    "equal": (np.equal, ALL, True), "not_equal": (np.not_equal, ALL, True), "less": (np.less, NUMBERS, True),
    "less_equal": (np.less_equal, NUMBERS, True), "greater": (np.greater, NUMBERS, True), "greater_equal": (np.greater_equal, NUMBERS, True),
}


def astype(x, dtype):
    if dtype in NARROW:
        return rounded(x, dtype)
    to = np.dtype(dtype)
    if is_float(x) and to.kind in "iu":
        info, w = np.iinfo(to), np.trunc(x.astype("float64"))
        high, low = w >= float(info.max) + (to.itemsize < 8), w <= info.min
        inside = np.where(high | low | np.isnan(w), 0, w).astype(to)
        return np.where(high, to.type(info.max), np.where(low, to.type(info.min), inside))
    if to.kind == "b":
        return (x != 0) | (x != x)
    return x.astype(to)


def accumulator(x):
    return x.astype("float32") if x.dtype == np.float16 else x


def axes(axis):
    return axis if axis is None or isinstance(axis, int) else tuple(axis)


def total(x, axis, keepdims):
    return np.sum(accumulator(x), axis=axes(axis), keepdims=keepdims, dtype=accumulator(x).dtype).astype(x.dtype)


def product(x, axis, keepdims):
    return np.prod(accumulator(x), axis=axes(axis), keepdims=keepdims, dtype=accumulator(x).dtype).astype(x.dtype)


def mean(x, axis, keepdims):
    if is_float(x):
        return np.mean(x.astype("float64"), axis=axes(axis), keepdims=keepdims).astype(x.dtype)
    s = np.sum(x, axis=axes(axis), keepdims=keepdims, dtype=x.dtype)
    count = np.sum(np.ones(x.shape, "int64"), axis=axes(axis), keepdims=keepdims)
    need(count != 0)
    return divide(s, count.astype(x.dtype))


def variance(x, axis, keepdims):
    return np.var(x.astype("float64"), axis=axes(axis), keepdims=keepdims).astype(x.dtype)


def deviation(x, axis, keepdims):
    return np.std(x.astype("float64"), axis=axes(axis), keepdims=keepdims).astype(x.dtype)


REDUCE = {
    "sum": (total, NUMBERS, True), "prod": (product, NUMBERS, True), "mean": (mean, FLOATS, False),
    "max": (lambda x, axis, keepdims: np.max(x, axis=axes(axis), keepdims=keepdims), NUMBERS, True),
    "min": (lambda x, axis, keepdims: np.min(x, axis=axes(axis), keepdims=keepdims), NUMBERS, True),
    "variance": (variance, FLOATS, False), "std": (deviation, FLOATS, False),
}
ARG = {
    "argmax": (lambda x, axis, keepdims: np.argmax(x, axis=axis, keepdims=keepdims).astype("int64"), NUMBERS, True),
    "argmin": (lambda x, axis, keepdims: np.argmin(x, axis=axis, keepdims=keepdims).astype("int64"), NUMBERS, True),
}


def softmax(x, axis):
    w = x.astype("float64")
    if w.size == 0:
        return x
    e = np.exp(w - np.max(w, axis=axis, keepdims=True))
    return (e / np.sum(e, axis=axis, keepdims=True)).astype(x.dtype)


def log_softmax(x, axis):
    w = x.astype("float64")
    if w.size == 0:
        return x
    d = w - np.max(w, axis=axis, keepdims=True)
    return (d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))).astype(x.dtype)


def layer_norm(x, weight):
    """The weight is the bias, too."""
    w = x.astype("float64")
    w = w - np.mean(w, -1, keepdims=True)
    return (w / np.sqrt(np.mean(w * w, -1, keepdims=True) + 1e-5) * weight + weight).astype(x.dtype)


def rms_norm(x, weight):
    w = x.astype("float64")
    return (w / np.sqrt(np.mean(w * w, -1, keepdims=True) + 1e-5) * weight).astype(x.dtype)


def order(x, axis, descending):
    """Stable both ways; NaN is the greatest."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    back = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(back, axis)


def scattered(x, indices, updates, axis):
    out = x.copy()
    np.put_along_axis(out, indices, updates, axis)
    return out


def matmul(a, b, out_dtype=None):
    to = np.dtype(out_dtype) if out_dtype else a.dtype
    w = np.dtype("float64") if to.kind == "f" else to
    return np.matmul(a.astype(w), b.astype(w)).astype(to)


def clip(x, low, high):
    return np.clip(x, np.asarray(low, x.dtype), np.asarray(high, x.dtype))
