#!/usr/bin/env python3
"""Every elementwise operator, conversion and reduction on every dtype, on the values where dtypes end: against numpy."""
import os

import numpy as np

import numpy_ops as ref
from cli_test import Suite

s = Suite()
np.seterr(all="ignore")
TOLERANCE = {"float16": 1e-3, "float32": 1e-6, "float64": 4e-15}
HEAD = "@I.ir_module\nclass M:\n"


def values(dtype):
    """Numbers at the borders of a dtype and a few between."""
    t = np.dtype(dtype)
    if t.kind == "b":
        return np.array([False, True])
    if t.kind in "iu":
        i = np.iinfo(t)
        some = [i.min, i.min + 1, -7, -2, -1, 0, 1, 2, 3, 5, 8, 31, 64, 100, i.max - 1, i.max]
        return np.array([v for v in some if i.min <= v <= i.max], dtype=t)
    f = np.finfo(t)
    some = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, 2.5, -2.5, 3.25, 7.0, -7.0, 0.1, -0.3, 20.5, -30.0, float(f.max), float(f.tiny), np.nan, np.inf, -np.inf]
    return np.array(some, dtype=t)


def same(got, want, exact):
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if exact or want.dtype.kind != "f":
        return np.array_equal(got, want, equal_nan=want.dtype.kind == "f")
    tol = TOLERANCE[want.dtype.name]
    # gelu takes a difference of nearly equal numbers: its error counts beside 1.
    return np.allclose(got.astype("float64"), want.astype("float64"), rtol=tol, atol=tol / 4, equal_nan=True)


class Table:
    """One module. Results of the same inputs are one function; each is compared on its own."""

    def __init__(self, name):
        self.name, self.groups, self.arrays = name, {}, {}

    def add(self, what, expr, inputs, want, exact):
        key = tuple((x.dtype.name, x.shape, x.tobytes()) for x in inputs)
        self.groups.setdefault(key, (inputs, []))[1].append((what, expr, want, exact))

    def function(self, number, inputs, rows):
        text = []
        for i, x in enumerate(inputs):
            self.arrays[f"f{number}_{i}"] = x
            dims = "".join(f"{d}, " for d in x.shape)
            text.append(f'x{i}: R.Tensor(({dims}), "{x.dtype.name}")')
        lines = [f"    @R.function\n    def f{number}({', '.join(text)}):\n"]
        lines += [f"        r{i} = {expr}\n" for i, (_, expr, _, _) in enumerate(rows)]
        return "".join(lines) + f"        return ({', '.join(f'r{i}' for i in range(len(rows)))},)\n"

    def run(self):
        text = "".join(self.function(i, *group) for i, group in enumerate(self.groups.values()))
        np.savez(s.path(self.name + ".npz"), **self.arrays)
        s.write(self.name + ".py", HEAD + text)
        rc, out, err = s.run("build", self.name + ".py", "-o", self.name + ".rlx")
        if not s.equal(f"{self.name}: build", (rc, err), (0, "")):
            return
        for number, (inputs, rows) in enumerate(self.groups.values()):
            args = [a for i in range(len(inputs)) for a in ("--input", f"{self.name}.npz:f{number}_{i}")]
            rc, out, err = s.run("run", self.name + ".rlx", "--entry", f"f{number}", *args, "--output", "out")
            if not s.equal(f"{self.name} f{number}: runs", (rc, err), (0, "")):
                continue
            for i, (what, _, want, exact) in enumerate(rows):
                got = np.load(s.path(f"out/{i}.npy"))
                s.check(what, same(got, want, exact), self.difference(inputs, got, want, exact))

    @staticmethod
    def difference(inputs, got, want, exact):
        """The first elements that differ, with the inputs where these have the same shape."""
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"got {got.dtype} {got.shape}, wanted {want.dtype} {want.shape}"
        beside = [x for x in inputs if x.shape == want.shape]
        return [(*(x[i] for x in beside), "got", got[i], "wanted", want[i]) for i in np.ndindex(want.shape)
                if not same(got[i].reshape(1), want[i].reshape(1), exact)][:6]


def pairs(dtype):
    v = values(dtype)
    a, b = np.meshgrid(v, v)
    return a.ravel().copy(), b.ravel().copy()


t = Table("unary")
for name, (f, dtypes, exact) in ref.UNARY.items():
    for dtype in dtypes:
        t.add(f"{name} of {dtype}", f"R.{name}(x0)", [values(dtype)], np.asarray(f(values(dtype))), exact)
t.run()

t = Table("binary")
for name, (f, dtypes, exact) in ref.BINARY.items():
    for dtype in dtypes:
        a, b = pairs(dtype)
        keep = np.ones(len(a), bool)
        if np.dtype(dtype).kind in "iu":
            if name in ("divide", "floor_divide", "mod", "floor_mod"):
                keep = b != 0
            elif name == "power":
                keep = (b >= 0) | (a == 1) | (a == -1)
            elif name.endswith("shift"):
                keep = b >= 0
        a, b = a[keep], b[keep]
        t.add(f"{name} of {dtype}", f"R.{name}(x0, x1)", [a, b], np.asarray(f(a, b)), exact)
t.run()

t = Table("astype")
for a in ref.ALL:
    for b in ref.ALL:
        t.add(f"astype {a} to {b}", f'R.astype(x0, "{b}")', [values(a)], ref.astype(values(a), b), True)
t.run()

t = Table("where")
rng = np.random.default_rng(5)
for dtype in ref.ALL:
    a, b = pairs(dtype)
    c = rng.integers(0, 2, len(a)).astype(bool)
    t.add(f"where of {dtype}", "R.where(x0, x1, x2)", [c, a, b], np.where(c, a, b), True)
    if dtype in ref.NUMBERS:
        t.add(f"clip of {dtype}", "R.clip(x0, 1, 3)", [values(dtype)], ref.clip(values(dtype), 1, 3), True)
t.run()

t = Table("reduce")
for dtype in ref.NUMBERS:
    small = rng.integers(0 if dtype[0] == "u" else -3, 4, (3, 4, 5)).astype(dtype)
    special = np.array(values(dtype))
    for name, (f, dtypes, exact) in (ref.REDUCE | ref.ARG).items():
        if dtype not in dtypes:
            continue
        for axis in (None, 0, 1, -1, [0, 2], [-1, 1]) if name in ref.REDUCE else (None, 0, 1, -1):
            for keepdims in (False, True):
                t.add(f"{name} of {dtype}, axis {axis}, keepdims {keepdims}", f"R.{name}(x0, axis={axis}, keepdims={keepdims})", [small],
                      np.asarray(f(small, axis, keepdims)), exact)
        if name in ("max", "min", "argmax", "argmin"):
            t.add(f"{name} of {dtype} at the ends", f"R.{name}(x0)", [special], np.asarray(f(special, None, False)), True)
t.run()
s.done()
