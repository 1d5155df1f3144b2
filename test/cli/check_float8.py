#!/usr/bin/env python3
"""The floats of 8 bits against exact fractions: every number, every halfway case, every way of converting and computing."""
import os
import sys
import warnings
from bisect import bisect_left
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import Suite
from relax_run import NARROW, Failed, Module

np.seterr(all="ignore")
warnings.simplefilter("ignore")
s = Suite()
HEAD = "@I.ir_module\nclass M:\n"


class Format:
    """Numbers by their bits, the sign apart. infinite: has an infinity, and NaNs behind it; else one NaN."""

    def __init__(self, name, exponent_bits, mantissa_bits, infinite):
        self.name, self.dtype = name, NARROW[name]
        bias, m = 2 ** (exponent_bits - 1) - 1, 2 ** mantissa_bits
        top = (2 ** exponent_bits - 1) * m if infinite else 127
        self.numbers = [Fraction(i % m + (m if i >= m else 0), m) * Fraction(2) ** (max(i // m, 1) - bias) for i in range(top)]
        self.beyond = top       # the bits of what is too large
        self.nan = range(top + 1, 128) if infinite else range(127, 128)
        self.infinite = infinite
        i = top                 # as if the numbers went on: halfway to it ends what is finite
        self.next = Fraction(i % m + m, m) * Fraction(2) ** (i // m - bias)
        self.halves = [(a + b) / 2 for a, b in zip(self.numbers, self.numbers[1:] + [self.next])]

    def encode(self, x):
        """The bits of the nearest; None: any NaN. Of the middle of two the even one."""
        sign = 128 if np.signbit(x) else 0
        if np.isnan(x):
            return None
        i = self.beyond
        if np.isfinite(x):
            size = abs(Fraction(float(x)))
            i = bisect_left(self.halves, size)
            if i < len(self.halves) and size == self.halves[i]:
                i += i % 2
        return sign | i if self.infinite or i < self.beyond else None

    def value(self, bits):
        i = bits & 127
        size = float(self.numbers[i]) if i < len(self.numbers) else float("inf") if self.infinite and i == self.beyond else float("nan")
        return -size if bits & 128 else size

    def all(self):
        return np.array([self.value(b) for b in range(256)])

    def want(self, x):
        return [self.encode(v) for v in np.asarray(x).ravel()]


FORMATS = (Format("float8_e4m3fn", 4, 3, False), Format("float8_e5m2", 5, 2, True))


def ways(text):
    """Executables of a module: every level, from its print too, and as C."""
    module = Module(HEAD + text)
    printed = Module(module.printed())
    s.check("prints as it is read", printed.equals(module), module.printed())
    for level in range(3):
        yield f"level {level}", module.compile(level=level)
    yield "as printed", printed.compile(level=1)
    yield "as C", module.compile(level=2, target="c")


def agrees(f, got, want):
    """Bits, a NaN for a NaN."""
    return [i for i, (g, w) in enumerate(zip(got, want)) if (int(g) & 127 not in f.nan if w is None else int(g) != w)]


def bits(array):
    return array.view("uint8").ravel()


def to_text(name, dtype, to):
    return f"""    @R.function
    def {name}(x: R.Tensor(("n",), "{dtype}")) -> R.Tensor(("n",), "{to}"):
        n = T.int64()
        with R.dataflow():
            y: R.Tensor((n,), "{to}") = R.astype(x, "{to}")
            R.output(y)
        return y
"""


def float_cases(f, dtype):
    """Halfway between each two numbers and right beside it, the numbers, what is too large, NaN."""
    t = np.dtype(dtype).type
    middle = np.array([float(h) for h in f.halves]).astype(dtype)
    middle = middle[np.isfinite(middle)]
    x = np.concatenate([middle, np.nextafter(middle, t(0)), np.nextafter(middle, t(np.inf)), f.all()[:128].astype(dtype),
                        np.array([np.nan, np.inf, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal, 0], dtype)])
    return np.concatenate([x, -x])


INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
for f in FORMATS:
    floats = ("float16", "float32", "float64")
    others = tuple(o.name for o in FORMATS if o is not f)
    names = floats + INTS + ("bool", "bfloat16") + others
    text = "".join(to_text(f"to_{d}", f.name, d) + to_text(f"from_{d}", d, f.name) for d in names)
    every = np.arange(256, dtype="uint8").view(f.dtype)
    for way, exe in ways(text):
        what = f"{f.name}, {way}"
        for d in floats:
            x = float_cases(f, d)
            bad = agrees(f, bits(exe.call(f"from_{d}", [x])[0]), f.want(x))
            s.check(f"{what}: from {d} rounds to nearest even", not bad, [x[i] for i in bad[:5]])
            got = exe.call(f"to_{d}", [every])[0]
            s.check(f"{what}: all numbers as {d}", np.array_equal(got, f.all().astype(d), equal_nan=True) and
                    np.array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(f.all())[~np.isnan(got)]), got)
            s.check(f"{what}: there and back by {d}", not agrees(f, bits(exe.call(f"from_{d}", [got])[0]), f.want(f.all())))
        for d in INTS:
            i = np.iinfo(d)
            x = np.array([v for v in {i.min, i.max, *range(-600, 600), *(int(h) + k for h in f.halves for k in (-1, 0, 1))} if i.min <= v <= i.max], d)
            bad = agrees(f, bits(exe.call(f"from_{d}", [x])[0]), [f.encode(float(v)) for v in x.tolist()])
            s.check(f"{what}: from {d}", not bad, x[bad[:5]])
            want = [0 if np.isnan(v) else max(i.min, min(i.max, int(max(-2e19, min(2e19, v))))) for v in f.all()]
            s.check(f"{what}: to {d}", exe.call(f"to_{d}", [every])[0].tolist() == want)
        s.check(f"{what}: to bool", np.array_equal(exe.call("to_bool", [every])[0], f.all() != 0))
        s.check(f"{what}: from bool", not agrees(f, bits(exe.call("from_bool", [np.array([True, False])])[0]), f.want([1.0, 0.0])))
        brain = exe.call("to_bfloat16", [every])[0]
        s.check(f"{what}: by bfloat16", not agrees(f, bits(exe.call("from_bfloat16", [brain])[0]), f.want(f.all())))
        for o in FORMATS:
            if o is not f:
                s.check(f"{what}: to {o.name}", not agrees(o, bits(exe.call(f"to_{o.name}", [every])[0]), o.want(f.all())))

# Arithmetic of all pairs: computed in float32, rounded once. Constants fold to the same.
OPERATORS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
for f in FORMATS:
    pair = f'(x: R.Tensor((256, 1), "{f.name}"), y: R.Tensor((1, 256), "{f.name}")) -> R.Tensor((256, 256), "{f.name}")'
    text = "".join(f"    @R.function\n    def {name}{pair}:\n        with R.dataflow():\n            z = R.{name}(x, y)\n            R.output(z)\n        return z\n"
                   for name in OPERATORS)
    every, x = np.arange(256, dtype="uint8"), f.all().astype("float32")
    table = {b: f.encode(v) for b, v in enumerate(x)}
    for way, exe in ways(text):
        for name, compute in OPERATORS.items():
            z = compute(x[:, None], x[None, :]).astype("float32")
            numbers, where = np.unique(z.view("uint32"), return_inverse=True)
            known = f.want(numbers.view("float32"))
            got = bits(exe.call(name, [every.view(f.dtype).reshape(256, 1), every.view(f.dtype).reshape(1, 256)])[0])
            s.check(f"{f.name}, {way}: {name} of all pairs", not agrees(f, got, [known[i] for i in where.ravel()]))

# Literals: of Relax, and of scalars, which fold; NaN and infinities are read back.
VALUES = [0.0, -0.0, 1.5, -2.25, 0.1, 464.0, 465.0, 448.0, 1e9, -1e9, 2.0 ** -9, 2.0 ** -10, 2.0 ** -17, float("nan"), float("inf"), -float("inf")]


def literal(v):
    return repr(v) if np.isfinite(v) else f'float("{v}")'


for f in FORMATS:
    ones = ", ".join(literal(v) for v in VALUES)
    stores = "\n".join(f"        B[{i}] = T.{f.name}({literal(v) if np.isfinite(v) else chr(34) + str(v) + chr(34)})\n"
                       f"        C[{i}] = T.{f.name}(1) * T.{f.name}({literal(v) if np.isfinite(v) else chr(34) + str(v) + chr(34)})" for i, v in enumerate(VALUES))
    tensor = f'R.Tensor(({len(VALUES)},), "{f.name}")'
    buffer = f'T.Buffer(({len(VALUES)},), "{f.name}")'
    text = f"""    @T.prim_func
    def k(B: {buffer}, C: {buffer}):
{stores}

    @R.function
    def main() -> R.Tuple({tensor}, {tensor}, {tensor}):
        with R.dataflow():
            z = R.call_tir(M.k, R.tuple(), out_sinfo=[{tensor}, {tensor}])
            c = R.const([{ones}], "{f.name}")
            t: R.Tuple({tensor}, {tensor}, {tensor}) = (z[0], z[1], c)
            R.output(t)
        return t

    @R.function
    def one() -> R.Tensor((), "{f.name}"):
        return R.const(1.5, "{f.name}")
"""
    for way, exe in ways(text):
        for i, got in enumerate(exe.call("main", [])):
            bad = agrees(f, bits(got), f.want(VALUES))
            s.check(f"{f.name}, {way}: literals, place {i}", not bad, [VALUES[k] for k in bad])
        s.check(f"{f.name}, {way}: a scalar", bits(exe.call("one", [])[0]).tolist() == [f.encode(1.5)])

# Files: the tool reads what it writes, under the name that numpy can read.
for f, npy in zip(FORMATS, (b"'<V1'", b"'|V1'")):
    s.write("f.py", HEAD + f"""    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "{f.name}"):
        return R.astype(x, "{f.name}")

    @R.function
    def back(x: R.Tensor(("n",), "{f.name}")) -> R.Tensor(("n",), "float32"):
        return R.astype(x, "float32")
""")
    np.save(s.path("x.npy"), f.all().astype("float32"))
    rc, out, err = s.run("run", "f.py", "--input", "x.npy", "--output", "made")
    s.check(f"{f.name}: the tool writes it", rc == 0 and f.name in out, out + err)
    with open(s.path("made/0.npy"), "rb") as file:
        content = file.read()
    s.check(f"{f.name}: the type in the file", npy in content, content[:128])
    s.check(f"{f.name}: the bytes in the file", not agrees(f, content[-256:], f.want(f.all())))
    rc, out, err = s.run("run", "f.py", "--entry", "back", "--input", "made/0.npy", "--output", "again")
    s.check(f"{f.name}: the tool reads it", rc == 0 and np.array_equal(np.load(s.path("again/0.npy")), f.all().astype("float32"), equal_nan=True), err)

s.done()
