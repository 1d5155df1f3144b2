#!/usr/bin/env python3
"""Tensors without elements in every operator that takes them: static and symbolic sizes, as parameters, results and constants,
from .npy and to .npy, against numpy. What has no answer (the maximum of nothing) is RT14."""
import numpy as np

from cli_test import Suite

s = Suite()
HEAD = "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass M:\n    @R.function\n"
X, Y, V, M, ONE = (np.zeros((0, 3), "float32"), np.zeros((3, 0), "float32"), np.zeros(0, "float32"),
                   np.arange(6, dtype="float32").reshape(2, 3), np.ones((1, 3), "float32"))
GIVEN = {"x": X, "y": Y, "v": V, "m": M, "o": ONE}
# (expression, what numpy says): each is a field of one big result
FIELDS = [
    ("R.add(x, x)", X), ("R.add(x, o)", X), ("R.add(o, x)", X), ("R.multiply(y, R.const(2.0, \"float32\"))", Y), ("R.exp(v)", V), ("R.less(x, x)", X < X),
    ("R.where(R.less(x, x), x, x)", X), ("R.clip(x, 0, 1)", X), ("R.nn.relu(v)", V), ("R.astype(x, \"int32\")", X.astype("int32")),
    ("R.sum(x)", np.sum(X)), ("R.sum(x, axis=[0])", np.sum(X, 0)), ("R.sum(x, axis=[1])", np.sum(X, 1)), ("R.sum(x, axis=[0], keepdims=True)", np.sum(X, 0, keepdims=True)),
    ("R.sum(v)", np.sum(V)), ("R.prod(x, axis=[0])", np.prod(X, 0)), ("R.prod(v)", np.prod(V)), ("R.max(x, axis=[1])", np.max(X, 1)), ("R.min(x, axis=[1])", np.min(X, 1)),
    ("R.mean(x, axis=[1])", np.zeros(0, "float32")), ("R.mean(v)", np.float32(np.nan)), ("R.mean(x, axis=[0])", np.full(3, np.nan, "float32")),
    ("R.argmax(x, axis=1)", np.zeros(0, "int64")), ("R.nn.softmax(x)", X), ("R.nn.softmax(y)", Y), ("R.nn.softmax(v)", V), ("R.nn.log_softmax(y, axis=-1)", Y),
    ("R.matmul(x, y)", X @ Y), ("R.matmul(y, x)", Y @ X), ("R.matmul(m, y)", M @ Y), ("R.matmul(x, R.permute_dims(m))", X @ M.T), ("R.matmul(v, x)", V @ X),
    ("R.concat((x, m), axis=0)", M), ("R.concat((x, x), axis=0)", X), ("R.concat((x, x), axis=1)", np.zeros((0, 6), "float32")), ("R.concat((y, y), axis=1)", Y),
    ("R.reshape(x, (3, 0))", Y), ("R.reshape(x, (0, 7))", np.zeros((0, 7), "float32")), ("R.reshape(v, (5, 0, 2))", np.zeros((5, 0, 2), "float32")), ("R.flatten(x)", V),
    ("R.permute_dims(x)", Y), ("R.expand_dims(v, axis=0)", np.zeros((1, 0), "float32")), ("R.squeeze(R.expand_dims(v, axis=0), axis=[0])", V),
    ("R.broadcast_to(v, (4, 0))", np.zeros((4, 0), "float32")), ("R.broadcast_to(o, (0, 3))", X), ("R.zeros((0,), dtype=\"float32\")", V), ("R.ones((2, 0), dtype=\"float32\")", np.ones((2, 0), "float32")),
    ("R.full((0, 2), R.const(1.0, \"float32\"), dtype=\"float32\")", np.ones((0, 2), "float32")), ("R.add(x, R.zeros((0, 3), dtype=\"float32\"))", X),
    ("R.sum(R.matmul(y, x))", np.float32(0)), ("R.max(R.matmul(y, x))", np.float32(0)),
]
NOTHING = ["R.max(x)", "R.min(v)", "R.max(x, axis=[0])", "R.argmax(v, axis=0)", "R.argmin(x, axis=0)", "R.max(R.exp(v))"]
STATIC = 'x: R.Tensor((0, 3), "float32"), y: R.Tensor((3, 0), "float32"), v: R.Tensor((0,), "float32"), m: R.Tensor((2, 3), "float32"), o: R.Tensor((1, 3), "float32")'
SYMBOLIC = 'x: R.Tensor(("a", 3), "float32"), y: R.Tensor((3, "a"), "float32"), v: R.Tensor(("a",), "float32"), m: R.Tensor(("b", 3), "float32"), o: R.Tensor((1, 3), "float32")'


def program(params, expressions):
    lines = "".join(f"        r{i} = {e}\n" for i, e in enumerate(expressions))
    result = "r0" if len(expressions) == 1 else "(" + ", ".join(f"r{i}" for i in range(len(expressions))) + ")"
    return f"{HEAD}    def main({params}):\n{lines}        return {result}\n"


def inputs():
    for name, array in GIVEN.items():
        np.save(s.path(name + ".npy"), array)
    return [a for name in GIVEN for a in ("--input", name + ".npy")]


GIVEN_ARGS = inputs()
for kind, params in (("static", STATIC), ("symbolic", SYMBOLIC)):
    # 0 in the shape of a reshape copies a size where it is not known that there is nothing
    fields = [f for f in FIELDS if kind == "static" or not f[0].startswith("R.reshape")]
    s.write("p.py", program(params, [e for e, _ in fields]))
    rc, out, err = s.run("run", "p.py", *GIVEN_ARGS, "--output", kind)
    if not s.check(f"{kind}: runs", rc == 0, err[-2000:]):
        continue
    for i, (expression, want) in enumerate(fields):
        got = np.load(s.path(f"{kind}/{i}.npy"))
        want = np.asarray(want)
        s.check(f"{kind} {expression}", got.shape == want.shape and got.dtype == want.dtype and np.array_equal(got, want, equal_nan=got.dtype.kind == "f"),
                f"{got.dtype}{got.shape} {got.tolist()}, wanted {want.dtype}{want.shape} {want.tolist()}")
    for expression in NOTHING:
        s.write("p.py", program(params, [expression]))
        s.fails(f"{kind} {expression}", ["run", "p.py", *GIVEN_ARGS], "RT14")

# constants without elements, printed and read again, in files, bound as weights
s.write("c.py", program('x: R.Tensor((0, 3), "float32"), w: R.Tensor((0, 3), "float32")', ["R.add(x, w)", "w"]))
np.savez(s.path("w.npz"), w=X)
rc, out, err = s.run("build", "c.py", "--params", "w.npz", "-o", "c.rlx")
if s.check("weights without elements", rc == 0, err):
    rc, out, err = s.run("run", "c.rlx", "--input", "x.npy", "--output", "c")
    s.check("run with them", rc == 0 and np.load(s.path("c/1.npy")).shape == (0, 3), err)
s.done()
