#!/usr/bin/env python3
"""Operators down to the bit, as doc/numbers.md defines them: random shapes against a model of single operations in numpy,
at all levels, with every set of instructions and as C, with both settings of --arithmetic.

NUMBERS_SEED=n takes that case alone and shows it; NUMBERS_COUNT=k as many from there on.
"""
import itertools
import os
import random
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import LONG, Suite, seeds
from numpy_compare import same_bits
from relax_run import Failed, Module, instruction_sets

np.seterr(all="ignore")
warnings.simplefilter("ignore")
s = Suite()
AS_C = 4 if LONG else 8     # one case of so many
SETS = instruction_sets()


# ---- the model

def fma32(a, b, c):
    """One rounding: the sum of the exact product and c in float64, rounded to odd, has more bits than float32 can tell apart."""
    p, c = a.astype("f8") * b.astype("f8"), c.astype("f8")
    total = np.asarray(p + c)
    part = total - p
    error = (p - (total - part)) + (c - part)
    bits = total.view("i8")
    inexact = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    return np.where(inexact, bits + np.where((error > 0) == (total > 0), 1, -1), bits).view("f8").astype("f4")


def rounded(a, b, c):
    return c + a * b


def partial_sums(x, axes):
    """Sums of float32 or float64 in 32 partial sums; x[.., outer axes, run]."""
    axes = sorted(axes)
    run = [axes[-1]]
    while run[0] - 1 in axes:
        run.insert(0, run[0] - 1)
    kept, outer = [a for a in range(x.ndim) if a not in axes], [a for a in axes if a not in run]
    sizes = [x.shape[a] for a in kept]
    y = x.transpose(kept + outer + run).reshape(sizes + [int(np.prod([x.shape[a] for a in outer])), int(np.prod([x.shape[a] for a in run]))])
    p = np.zeros(sizes + [32], x.dtype)
    for o, t in itertools.product(range(y.shape[-2]), range(y.shape[-1])):
        p[..., t % 32] += y[..., o, t]
    while p.shape[-1] > 1:
        half = p.shape[-1] // 2
        p = p[..., :half] + p[..., half:]
    return p[..., 0]


def extreme(x, axes, greatest):
    """NaN wins, -0 is less than +0."""
    found = (np.max if greatest else np.min)(x, axes)
    zeros = np.where(x == 0, np.where(np.signbit(x), -1, 1), 0)
    sign = (np.max(np.where(zeros == 0, -2, zeros), axes) if greatest else np.min(np.where(zeros == 0, 2, zeros), axes))
    return np.where(found == 0, np.copysign(np.zeros_like(found), sign.astype(x.dtype)), found)


# ---- cases: the text, arguments, and what each arithmetic gives

HEAD = "@I.ir_module\nclass M:\n"


class Case:
    def __init__(self, seed):
        self.rng, self.values = random.Random(seed), np.random.default_rng(seed)
        self.kind = ("matmul", "conv", "total", "extreme", "maximum", "block", "dot")[seed % 7]
        self.args, self.text, self.want = [], "", {}
        getattr(self, self.kind)()

    def size(self, most=70):
        return self.rng.choice([1, 2, 3, 5, 8, 17, 31, 32, 33, 64, 65, self.rng.randrange(1, most + 1)])

    def array(self, shape, dtype="float32", odd=None):
        x = self.values.standard_normal(shape) * 10.0 ** self.values.integers(-6, 7, shape)
        if self.rng.random() < 0.3 if odd is None else odd:
            picked = self.values.random(shape)
            x = np.where(picked < 0.1, self.values.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e30], shape), x)
        x = x.astype(dtype)
        self.args.append(x)
        return x

    def sizes(self, shape):
        """As text, some of them symbolic."""
        return "(" + "".join((f'"{self.rng.choice("abcd")}{i}x{n}", ' if self.rng.random() < 0.3 else f"{n}, ") for i, n in enumerate(shape)) + ")"

    def function(self, body):
        params = ", ".join(f'x{i}: R.Tensor({self.sizes(a.shape)}, "{a.dtype}")' for i, a in enumerate(self.args))
        self.text = f"{HEAD}    @R.function\n    def main({params}):\n        y = {body}\n        return y\n"

    def wanted(self, f):
        self.want = {"fused": f(fma32), "separate": f(rounded)}

    def matmul(self):
        m, k, n = self.size(), self.size(600), self.size()
        a, b = self.array((m, k)), self.array((k, n))

        def product(step):
            c = np.zeros((m, n), "f4")
            for i in range(k):
                c = step(a[:, i:i + 1], b[i:i + 1], c)
            return c

        self.function("R.matmul(x0, x1)")
        self.wanted(product)

    def dot(self):
        n = self.size(3000)
        a, b = self.array((n,)), self.array((n,))

        def product(step):
            p = np.zeros(32, "f4")
            for t in range(0, n, 32):
                m = min(32, n - t)
                p[:m] = step(a[t:t + m], b[t:t + m], p[:m])
            while len(p) > 1:
                p = p[:len(p) // 2] + p[len(p) // 2:]
            return p[0] + np.float32(0)

        self.function("R.matmul(x0, x1)")
        self.wanted(product)

    def conv(self):
        c, h, w, o = self.rng.randrange(1, 9), self.rng.randrange(3, 20), self.rng.randrange(3, 20), self.rng.randrange(1, 20)
        kh, kw, stride, pad, dilation = self.rng.randrange(1, 4), self.rng.randrange(1, 4), self.rng.randrange(1, 3), self.rng.randrange(0, 3), self.rng.choice([1, 1, 2])
        x, k = self.array((self.rng.randrange(1, 3), c, h, w)), self.array((o, c, kh, kw))
        rows, columns = (h + 2 * pad - (kh - 1) * dilation - 1) // stride + 1, (w + 2 * pad - (kw - 1) * dilation - 1) // stride + 1
        if rows < 1 or columns < 1:
            return self.again(self.conv)
        padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))

        def convolved(step):
            y = np.zeros((len(x), o, rows, columns), "f4")
            for i, a, b in itertools.product(range(c), range(kh), range(kw)):
                part = padded[:, i, a * dilation:a * dilation + (rows - 1) * stride + 1:stride, b * dilation:b * dilation + (columns - 1) * stride + 1:stride]
                y = step(part[:, None], k[None, :, i, a, b, None, None], y)
            return y

        self.function(f"R.nn.conv2d(x0, x1, strides={stride}, padding={pad}, dilation={dilation})")
        self.wanted(convolved)

    def again(self, f):
        self.args = []
        return f()

    def shape(self):
        shape = [self.size() for _ in range(self.rng.randrange(1, 5))]
        while np.prod(shape) > 20000:
            shape[self.rng.randrange(len(shape))] = self.rng.randrange(1, 8)
        if len(shape) < 3 and self.rng.random() < 0.3:
            shape[-1] = self.rng.choice([0, 1000, 1024, 2100])
        return shape

    def total(self):
        dtype, op = self.rng.choice(["float32", "float32", "float64", "float16"]), self.rng.choice(["sum", "sum", "mean"])
        shape = self.shape()
        axes = self.rng.sample(range(len(shape)), self.rng.randrange(1, len(shape) + 1))
        x = self.array(shape, dtype)
        y = partial_sums(x.astype("f4") if dtype == "float16" else x, axes)
        y = y / y.dtype.type(np.prod([shape[a] for a in axes])) if op == "mean" else y
        self.function(f"R.{op}(x0, axis={sorted(axes)})")
        self.wanted(lambda _: np.asarray(y, y.dtype).astype(dtype))

    def extreme(self):
        shape, greatest = [n or 1 for n in self.shape()], self.rng.random() < 0.5
        axes = tuple(self.rng.sample(range(len(shape)), self.rng.randrange(1, len(shape) + 1)))
        x = self.array(shape, self.rng.choice(["float32", "float64"]), True)
        if self.rng.random() < 0.5:
            x[...] = np.where(self.values.random(shape) < 0.5, 0.0, -0.0)
        self.function(f"R.{'max' if greatest else 'min'}(x0, axis={sorted(axes)})")
        self.wanted(lambda _: extreme(x, axes, greatest))

    def maximum(self):
        shape, greatest, dtype = self.shape(), self.rng.random() < 0.5, self.rng.choice(["float32", "float64"])
        a, b = self.array(shape, dtype, True), self.array(shape, dtype, True)
        picked = self.values.random(shape) < 0.3
        a[picked] = self.values.choice([0.0, -0.0], shape)[picked]
        b[picked] = self.values.choice([0.0, -0.0], shape)[picked]
        params = ", ".join(f'x{i}: R.Tensor({tuple(a.shape)}, "{dtype}")' for i in range(2))
        self.text = f"{HEAD}    @R.function\n    def main({params}):\n        y = R.{'maximum' if greatest else 'minimum'}(x0, x1)\n        return y\n"
        self.wanted(lambda _: extreme(np.stack([a, b]), 0, greatest))

    def block(self):
        """A block of a program: X = X + a * b or a * b + X under a reduction axis."""
        m, k, n = self.size(), self.size(), self.size()
        a, b = self.array((m, k)), self.array((n, k))
        sum_of = self.rng.choice(["C[vi, vj] + {}", "{} + C[vi, vj]"]).format("A[vi, vk] * B[vj, vk]")
        self.text = f"""{HEAD}    @T.prim_func(private=True)
    def f(A: T.Buffer(({m}, {k}), "float32"), B: T.Buffer(({n}, {k}), "float32"), C: T.Buffer(({m}, {n}), "float32")):
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.block("f"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = {sum_of}

    @R.function
    def main(x: R.Tensor(({m}, {k}), "float32"), y: R.Tensor(({n}, {k}), "float32")):
        z = R.call_tir(M.f, (x, y), out_sinfo=R.Tensor(({m}, {n}), "float32"))
        return z
"""

        def product(step):
            c = np.zeros((m, n), "f4")
            for i in range(k):
                c = step(a[:, None, i], b[None, :, i], c)
            return c

        self.wanted(product)


def run(case, arithmetic, **how):
    try:
        got = Module(case.text).compile(arithmetic=arithmetic, **how).call("main", case.args)[0]
    except Failed as e:
        return str(e)
    want = np.asarray(case.want[arithmetic])
    if same_bits(got, want):
        return ""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}, wanted {want.dtype}{want.shape}"
    wrong = np.argwhere(~((got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)))
    return f"{len(wrong)} of {got.size} differ, first at {tuple(wrong[0])}: {got[tuple(wrong[0])]!r}, wanted {want[tuple(wrong[0])]!r}"


def check(seed):
    case = Case(seed)
    ways = [(f"{arithmetic}, level {level}", arithmetic, {"level": level}) for arithmetic in ("fused", "separate") for level in (0, 1)]
    ways += [(f"fused, {name}", "fused", {"instruction_set": name}) for name in SETS]
    if seed // 7 % AS_C == 0:
        ways += [(f"{arithmetic}, C {cpu}", arithmetic, {"target": "c", "cpu": cpu}) for arithmetic, cpu in (("fused", "native"), ("separate", "native"), ("fused", None))]
    for what, arithmetic, how in ways:
        why = run(case, arithmetic, **how)
        s.check(f"NUMBERS_SEED={seed} ({case.kind}) {what}", not why, why)
    return True


def show(seed):
    case = Case(seed)
    print(case.text, *(f"{a.dtype}{a.shape}" for a in case.args))


numbers = seeds("NUMBERS", 5600 if LONG else 280)
s.each("NUMBERS", numbers, check, show if len(numbers) == 1 else None)
s.done()
