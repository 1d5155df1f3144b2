#!/usr/bin/env python3
"""Operators that are run-time builtins: sorting, distinct elements, positions, slices by run-time bounds; against numpy."""
import itertools

import numpy as np

from cli_test import Suite

s = Suite()
HEAD = """from tvm.script import ir as I
from tvm.script import tir as T
from tvm.script import relax as R

@I.ir_module
class M:
    @R.function
"""
rng = np.random.default_rng(17)


def annotation(a, named):
    dims = "".join(f'"d{i}", ' if named else f"{d}, " for i, d in enumerate(a.shape))
    return f'R.Tensor(({dims}), "{a.dtype.name}")'


def run(what, exprs, arrays, wants, named=False):
    """Each expression (of x0, x1 ...) against what numpy gives, or the code with which the call fails."""
    params = ", ".join(f"x{i}: {annotation(a, named and i == 0)}" for i, a in enumerate(arrays))
    lines = [f"        r{i} = {e}" for i, e in enumerate(exprs)]
    s.write("p.py", HEAD + f"    def main({params}):\n" + "\n".join(lines) + f"\n        return ({', '.join(f'r{i}' for i in range(len(exprs)))},)\n")
    given = []
    for i, a in enumerate(arrays):
        np.save(s.path(f"x{i}.npy"), a)
        given += ["--input", f"x{i}.npy"]
    if isinstance(wants, str):
        s.fails(what, ["run", "p.py", *given], wants)
        return
    rc, out, err = s.run("run", "p.py", *given, "--output", "out")
    if not s.equal(f"{what}: runs", (rc, err), (0, "")):
        return
    for i, w in enumerate(wants):
        got = np.load(s.path(f"out/{i}.npy"))
        same = got.dtype == w.dtype and got.shape == w.shape and np.array_equal(got, w, equal_nan=w.dtype.kind == "f")
        s.check(f"{what}: result {i}", same, (exprs, got, w))


def order(x, axis, descending):
    """Stable; NaN is the greatest."""
    key = x.astype("float64") if x.dtype.kind in "fb" else x.astype(object)
    if x.dtype.kind == "f":
        key = np.where(np.isnan(key), np.inf, key) + 0.0
        tie = np.isnan(x)
    else:
        tie = np.zeros(x.shape, bool)
    out = np.empty(x.shape, "int64")
    for line in np.ndindex(*[d for i, d in enumerate(x.shape) if i != axis % x.ndim]):
        at = line[: axis % x.ndim] + (slice(None),) + line[axis % x.ndim:]
        pairs = list(zip(key[at], tie[at]))
        out[at] = sorted(range(len(pairs)), key=lambda k: pairs[k]) if not descending else sorted(reversed(range(len(pairs))), key=lambda k: pairs[k])[::-1]
    return out


def some(dtype, *shape):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.choice(np.array([info.min, info.max, 0, 1, 2, 3, info.max - 1], dtype), shape)
    return rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 3.0, 1e-3], dtype), shape)


for dtype in ("float16", "float32", "float64", "int8", "uint8", "int32", "int64", "uint64", "bool"):
    x = some(dtype, 3, 7)
    exprs, wants = [], []
    for axis, down in itertools.product((0, 1, -1), (False, True)):
        k = order(x, axis, down)
        exprs += [f"R.sort(x0, axis={axis}, descending={down})", f'R.argsort(x0, axis={axis}, descending={down}, dtype="int64")']
        wants += [np.take_along_axis(x, k, axis), k]
        exprs += [f'R.topk(x0, k=2, axis={axis}, ret_type="both", largest={down}, dtype="int32")']
        first = np.take(k, [0, 1], axis)
        wants += [np.take_along_axis(x, first, axis), first.astype("int32")]
    run(f"order of {dtype}", exprs, [x], wants, named=dtype == "float32")

x = some("float32", 2, 5)
k = order(x, 1, True)
run("parts of topk", ['R.topk(x0, k=3, ret_type="values")', 'R.topk(x0, k=3, ret_type="indices", dtype="int64")', 'R.topk(x0, k=0, ret_type="values")', 'R.topk(x0, k=9, ret_type="values")'],
    [x], [np.take_along_axis(x, k[:, :3], 1), k[:, :3], np.take_along_axis(x, k, 1), np.take_along_axis(x, k, 1)])
run("topk of more than there is, where k was promised", ['R.topk(x0, k=9, ret_type="values")'], [x], "RT06", named=True)
many = rng.integers(0, 9, (3, 101)).astype("float32") # few of many, many of them equal
many[0, 40], many[1, 50:53], many[2, 7] = np.nan, np.inf, -0.0
many[1, 90:] = np.nan
for count in (1, 2, 7, 24, 25):
    exprs, wants = [], []
    for down in (False, True):
        exprs += [f'R.topk(x0, k={count}, ret_type="both", largest={down}, dtype="int64")']
        first = order(many, 1, down)[:, :count]
        wants += [np.take_along_axis(many, first, 1), first]
    run(f"{count} of many", exprs, [many], wants)
# Long lines, side by side and not; numbers that differ in their upper bits, in their lower ones, or in both.
few = rng.integers(0, 4, (2, 2, 1500))
for dtype, lines in (("float32", rng.standard_normal(few[0].shape)), ("uint8", few[0]), ("int64", (few[0] << 60) - few[1]), ("int64", few[0] - 2), ("float64", 1 + few[1] * 2.0**-52 + few[0]), ("float16", few[0] * few[1])):
    lines = lines.astype(dtype)
    down, up = order(lines, 1, True), order(lines, 1, False)
    exprs = ['R.argsort(x0, descending=True, dtype="int64")', "R.sort(x0)"] + [f'R.topk(x0, k={k}, ret_type="indices", largest=True, dtype="int64")' for k in (3, 40, 300)]
    wants = [down, np.take_along_axis(lines, up, 1)] + [down[:, :k] for k in (3, 40, 300)]
    run(f"long lines of {dtype}", exprs, [lines], wants)
    run(f"long columns of {dtype}", [e.replace("(x0", "(x0, axis=0") for e in exprs], [lines.T.copy()], [w.T for w in wants])
    values, inverse, counts = np.unique(lines, return_inverse=True, return_counts=True)
    run(f"distinct elements of long lines of {dtype}", ["R.unique(x0, sorted=R.prim_value(1), return_index=R.prim_value(0), return_inverse=R.prim_value(1), return_counts=R.prim_value(1))"],
        [lines], [values, inverse.ravel(), counts])
    run(f"positions in long lines of {dtype}", ["R.nonzero(x0)"], [lines], [np.stack(np.nonzero(lines))])
    flat = np.sort(lines, axis=None)
    run(f"middle of long lines of {dtype}", ["R.median(x0)", "R.median(x0, axis=[0, 1], keepdims=True)"], [lines], [flat[(lines.size - 1) // 2], flat[(lines.size - 1) // 2].reshape(1, 1)])
for shape in ((70, 130), (3, 5, 65), (4, 4), (64, 64), (3, 200), (5, 0)):
    rows = rng.standard_normal(shape).astype("float32")
    sums = np.cumsum(rows, -1, dtype="float32")
    before = np.concatenate([np.zeros(shape[:-1] + (1,), "float32"), sums], -1)[..., :shape[-1]]
    run(f"running sums of rows {shape}", ["R.cumsum(x0, axis=-1)", "R.cumsum(x0, axis=-1, exclusive=True)", "R.cumprod(x0, axis=-1)", 'R.cumsum(x0, axis=-1, dtype="int32")'], [rows],
        [sums, before, np.cumprod(rows, -1, dtype="float32"), np.cumsum(rows.astype("int32"), -1, dtype="int32")], named=True)
run("nothing to sort", ["R.sort(x0)", 'R.argsort(x0, axis=0, dtype="int64")'], [x[:0]], [x[:0], np.zeros((0, 5), "int64")])
run("lines without elements", ["R.sort(x0)"], [x[:, :0]], [x[:, :0]])

# ---- unique
for dtype in ("float32", "int32", "uint8", "bool"):
    x = some(dtype, 4, 3)
    flat = np.where(x == 0, 0, x).ravel().astype(dtype)
    values, index, inverse, counts = np.unique(flat, return_index=True, return_inverse=True, return_counts=True)
    values = x.ravel()[index]
    run(f"distinct elements of {dtype}", ["R.unique(x0, sorted=R.prim_value(1), return_index=R.prim_value(1), return_inverse=R.prim_value(1), return_counts=R.prim_value(1))",
                                          "R.unique(x0)"], [x], [values, index, inverse.ravel(), counts, values])
x = rng.integers(0, 2, (5, 2, 2)).astype("int16")
for axis in (0, 1, 2):
    got = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    run(f"distinct slices along {axis}", ["R.unique(x0, sorted=R.prim_value(1), return_index=R.prim_value(1), return_inverse=R.prim_value(1), "
                                          f"return_counts=R.prim_value(1), axis=R.prim_value({axis}))"], [x], [got[0], got[1], got[2].ravel(), got[3]])

# ---- nonzero
for x in (some("float32", 3, 4), some("int64", 5), some("bool", 2, 3, 2), some("float64", 0, 3), np.array(3, "int32"), np.array(0, "int32")):
    want = np.stack(np.nonzero(x)).astype("int64") if x.ndim else np.zeros((0, int(x != 0)), "int64")
    run(f"nonzero of {x.dtype} {x.shape}", ["R.nonzero(x0)"], [x], [want])

# ---- slices
def by_rule(n, b, e, k):
    low, high = (0, n) if k > 0 else (-1, n - 1)
    b, e = (min(max(v + n if v < 0 else v, low), high) for v in (b, e))
    return list(range(b, e, k))


x = rng.standard_normal((4, 40000))
bounds = [np.array(v) for v in ([3, -1], [-9, -50000], [-2, -2])]
run("a slice of long rows", ["R.dynamic_strided_slice(x0, x1, x2, x3)"], [x, *bounds], [x[3::-2, ::-2]])
run("whole long rows", ["R.dynamic_strided_slice(x0, x1, x2, x3)"], [x, np.array([1, 1]), np.array([3, 40000]), np.array([1, 1])], [x[1:3, 1:]])
x = np.arange(30, dtype="int32").reshape(5, 6)
for _ in range(12):
    b, e = rng.integers(-8, 9, 2), rng.integers(-8, 9, 2)
    k = rng.choice([-3, -2, -1, 1, 2, 3], 2)
    want = x[np.ix_(by_rule(5, b[0], e[0], k[0]), by_rule(6, b[1], e[1], k[1]))]
    run(f"slice {b} {e} {k}", ["R.dynamic_strided_slice(x0, x1, x2, x3)"], [x, b, e, k], [want], named=True)
run("a slice of stride 0", ["R.dynamic_strided_slice(x0, x1, x2, x3)"], [x, np.array([0, 0]), np.array([5, 6]), np.array([1, 0])], "RT14")

# ---- what they give goes on
x = some("float32", 6)
x = np.where(np.isnan(x), 1, x).astype("float32")
s.write("q.py", HEAD + """    def main(x: R.Tensor(("n",), "float32")):
        m = T.int64()
        u = R.unique(x)
        v = R.match_cast(u, R.Tensor((m,), "float32"))
        w = R.add(v, v)
        t = R.topk(x, k=2, ret_type="both")
        a = t[0]
        b = R.add(a, a)
        i = R.nonzero(R.greater(x, R.const(0.0, "float32")))
        j = R.squeeze(i, axis=[0])
        z = R.take(x, j, axis=0)
        return w, b, z
""")
np.save(s.path("x0.npy"), x)
for level in "012":
    rc, out, err = s.run("build", "q.py", "-o", "q.rlx", "--opt", level, "--no-warn", "TY01,TY07")
    if s.equal(f"builds at level {level}", (rc, err), (0, "")) and s.equal("runs", s.run("run", "q.rlx", "--input", "x0.npy", "--output", "out")[0], 0):
        top = np.sort(x)[::-1][:2]
        for i, want in enumerate((np.unique(x) * 2, top * 2, x[x > 0])):
            s.check(f"result {i} at level {level}", np.array_equal(np.load(s.path(f"out/{i}.npy")), want), want)
s.done()
