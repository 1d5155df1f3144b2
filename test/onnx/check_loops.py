#!/usr/bin/env python3
"""Loop, Scan and If whose course is found when the program runs: functions that call themselves, sizes that change, branches of different ranks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import numpy as np

from cli_test import Suite
from onnx_file import field, graph, model, node, value

s = Suite()
rng = np.random.default_rng(2)
f32 = np.float32
FLOAT = "float32"


def run(what, content, inputs, want, *options):
    """The model gives these results with both targets, and its text reads back."""
    path = s.write("m.onnx", content)
    given = []
    for i, a in enumerate(inputs):
        np.save(s.path(f"in{i}.npy"), a)
        given.append(s.path(f"in{i}.npy"))
    for target in ("interp", "c") if os.environ.get("RELAX_VARIANT", "release") == "release" else ("interp",):
        rc, out, err = s.run("run", path, "--no-bind", "--target", target, "--input", *given, "--output", s.path("out"), *options)
        if not s.check(f"{what}, {target}: runs", rc == 0, err[:600]):
            return
        for i, w in enumerate(want):
            got = np.load(os.path.join(s.path("out"), f"{i}.npy"))
            ok = got.shape == w.shape and got.dtype == w.dtype and np.allclose(got, w, rtol=1e-5, atol=1e-6)
            s.check(f"{what}, {target}: output {i}", ok, lambda: f"wanted {w.dtype} {w.shape}\n{w}\ngot {got.dtype} {got.shape}\n{got}")
    rc, printed, err = s.run("print", path)
    with open(s.path("m.py"), "w") as f:
        f.write(printed)
    rc, out, err = s.run("print", s.path("m.py"))
    s.equal(f"{what}: the text reads back", out, printed)
    return printed


def same(a, b):
    return node("Identity", [a], [b])


def step(nodes, carried, results, constants=(), cond="go2"):
    """A body of Loop: carried and results are names in and out."""
    if cond == "go2":
        nodes = nodes + [same("go", "go2")]
    return graph(nodes, [value("i", "int64", []), value("go", "bool", [])] + [value(c, FLOAT) for c in carried],
                 [value(cond, "bool", [])] + [value(r, FLOAT) for r in results], constants)


N2 = value("x", FLOAT, ["n", 2])
COUNT = value("m", "int64", [])
x = np.abs(rng.standard_normal((3, 2))).astype(f32)

# ---- a number of steps that is an input; what the body takes from outside
body = step([node("Cast", ["i"], ["i1"], to=1), node("Add", ["v", "i1"], ["t"]), node("Mul", ["t", "w"], ["v2"]), same("v2", "row")],
            ["v"], ["v2", "row"])
counted = model([node("Sqrt", ["x"], ["w"]), node("Loop", ["m", "", "x"], ["y", "rows"], body=body)], [N2, COUNT],
                [value("y", FLOAT), value("rows", FLOAT)])
for count in (0, 1, 7):
    v, rows = x, []
    for i in range(count):
        v = (v + f32(i)) * np.sqrt(x)
        rows.append(v)
    run(f"{count} steps", counted, [x, np.array(count)], [v, np.array(rows, f32).reshape(count, 3, 2)])
many = step([node("Add", ["v", "one"], ["v2"])], ["v"], ["v2"], {"one": np.array(1, f32)})
run("100,000 steps", model([node("Loop", ["m", "", "x"], ["y"], body=many)], [value("x", FLOAT, [1]), COUNT], [value("y", FLOAT)]),
    [np.zeros(1, f32), np.array(100000)], [np.array([100000], f32)])

# ---- a condition
body = step([node("Mul", ["v", "two"], ["v2"]), node("ReduceSum", ["v2"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["more"])],
            ["v"], ["v2"], {"two": np.array(2, f32), "limit": np.array(100, f32)}, cond="more")
while_ = model([node("Loop", ["", "c", "x"], ["y"], body=body)], [N2, value("c", "bool", [])], [value("y", FLOAT)])
v = x
while True:
    v = v * 2
    if v.sum() >= 100:
        break
run("a condition", while_, [x, np.array(True)], [v])
run("a condition that is false", while_, [x, np.array(False)], [x])
both = model([node("Loop", ["m", "c", "x"], ["y"], body=body)], [N2, value("c", "bool", []), COUNT], [value("y", FLOAT)])
run("a condition and a number", both, [x, np.array(True), np.array(2)], [x * 4])

# ---- sizes that change, loops in loops, rows of sizes that are found
body = step([node("Concat", ["v", "x"], ["v2"], axis=0), node("Shape", ["v2"], ["row"])], ["v"], ["v2", "row"])
run("a size that grows", model([node("Loop", ["m", "", "x"], ["y", "rows"], body=body)], [N2, COUNT], [value("y", FLOAT), value("rows", "int64")]),
    [x, np.array(4)], [np.concatenate([x] * 5), np.array([[3 * k, 2] for k in range(2, 6)])])
inner = graph([node("Add", ["u", "v"], ["u2"]), same("g", "g2"), node("ReduceSum", ["u2"], ["r"], keepdims=0)],
              [value("j", "int64", []), value("g", "bool", []), value("u", FLOAT)], [value("g2", "bool", []), value("u2", FLOAT), value("r", FLOAT)])
body = step([node("Add", ["i", "one"], ["k"]), node("Loop", ["k", "", "x"], ["u9", "rs"], body=inner), node("Add", ["v", "u9"], ["v2"]),
             node("ReduceSum", ["rs"], ["row"], keepdims=0)], ["v"], ["v2", "row"], {"one": np.array(1)})
v, rows = x.astype("float64"), []
for i in range(3):
    u, sums = x.astype("float64"), 0.0
    for j in range(i + 1):
        u = u + v
        sums += u.sum()
    v = v + u
    rows.append(sums)
run("a loop in a loop", model([node("Loop", ["m", "", "x"], ["y", "rows"], body=body)], [N2, COUNT], [value("y", FLOAT), value("rows", FLOAT)]),
    [x, np.array(3)], [v.astype(f32), np.array(rows, f32)])
body = step([node("NonZero", ["x"], ["found"]), node("Cast", ["found"], ["row"], to=1)], [], ["row"])
run("rows whose sizes are found", model([node("Loop", ["m", ""], ["rows"], body=body)], [N2, COUNT], [value("rows", FLOAT)]),
    [x, np.array(3)], [np.stack([np.array(np.nonzero(x), f32)] * 3)])

# ---- Scan over a size that is not known
body = graph([node("Add", ["s", "p"], ["s2"]), node("Mul", ["s2", "p"], ["o"])], [value("s", FLOAT), value("p", FLOAT)],
             [value("s2", FLOAT), value("o", FLOAT)])
scan = model([node("Scan", ["z", "x"], ["y", "rows"], body=body, num_scan_inputs=1)], [value("z", FLOAT, [2]), N2],
             [value("y", FLOAT), value("rows", FLOAT)])
sums = np.cumsum(x, 0)
printed = run("a scan", scan, [np.zeros(2, f32), x], [sums[-1], sums * x])
s.check("a scan: how many rows there are is known", "R.Tensor((n, 2), dtype=\"float32\") = R.match_cast(" in (printed or ""), printed)
scan = model([node("Scan", ["z", "x"], ["y", "rows"], body=body, num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1],
                   scan_output_axes=[1], scan_output_directions=[1])],
             [value("z", FLOAT, ["n"]), value("x", FLOAT, ["n", "t"])], [value("y", FLOAT), value("rows", FLOAT)])
sums = np.cumsum(x[:, ::-1], 1)
run("a scan backwards along another axis", scan, [np.zeros(3, f32), x], [sums[:, -1], (sums * x[:, ::-1])[:, ::-1]])

# ---- sequences of a fixed length through a loop and through branches
TENSORS = field(2, field(4, field(1, field(1, field(1, 1)))))
body = graph([node("SequenceAt", ["s", "zero"], ["a"]), node("SequenceAt", ["s", "one"], ["b"]), node("Add", ["a", "b"], ["ab"]),
              node("SequenceConstruct", ["b", "ab"], ["s2"]), same("go", "go2")],
             [value("i", "int64", []), value("go", "bool", []), field(1, "s") + TENSORS], [value("go2", "bool", []), field(1, "s2") + TENSORS],
             {"zero": np.array(0), "one": np.array(1)})
fibonacci = model([node("SequenceConstruct", ["x", "x"], ["q"]), node("Loop", ["m", "", "q"], ["q2"], body=body),
                   node("SequenceAt", ["q2", "one"], ["y"])], [N2, COUNT], [value("y", FLOAT)], {"one": np.array(1)})
run("a sequence that steps hand on", fibonacci, [x, np.array(6)], [x * 21])
yes = graph([node("SequenceConstruct", ["x", "e"], ["t"])], outputs=[field(1, "t") + TENSORS])
no = graph([node("SequenceConstruct", ["e", "x"], ["f"])], outputs=[field(1, "f") + TENSORS])
pick = model([node("Exp", ["x"], ["e"]), node("If", ["c"], ["q"], then_branch=yes, else_branch=no), node("SequenceAt", ["q", "one"], ["y"])],
             [N2, value("c", "bool", [])], [value("y", FLOAT)], {"one": np.array(1)})
run("a sequence out of a branch", pick, [x, np.array(True)], [np.exp(x)])
run("a sequence out of the other", pick, [x, np.array(False)], [x])

# ---- branches of different ranks, and sizes that both of them need
yes = graph([node("Squeeze", ["x", "ax"], ["t"])], outputs=[value("t", FLOAT, ["n"])], constants={"ax": np.array([1])})
no = graph([same("x", "f")], outputs=[value("f", FLOAT, ["n", 1])])
column = x[:, :1]
ranks = model([node("If", ["c"], ["b"], then_branch=yes, else_branch=no), node("Exp", ["b"], ["y"])], [value("x", FLOAT, ["n", 1]), value("c", "bool", [])],
              [value("y", FLOAT)])
run("ranks: the lower one", ranks, [column, np.array(True)], [np.exp(column[:, 0])])
run("ranks: the higher one", ranks, [column, np.array(False)], [np.exp(column)])
after = model([node("If", ["c"], ["b"], then_branch=yes, else_branch=no), node("Shape", ["b"], ["s"]), node("Add", ["b", "b"], ["d"]),
               node("ReduceSum", ["d"], ["y"], keepdims=0)], [value("x", FLOAT, ["n", 1]), value("c", "bool", [])],
              [value("y", FLOAT), value("s", "int64")])
run("ranks: what comes after", after, [column, np.array(True)], [np.array(2 * column.sum(), f32), np.array([3])])
yes = graph([node("Expand", ["x", "sh"], ["t"])], outputs=[value("t", FLOAT)])
no = graph([node("ConstantOfShape", ["sh"], ["f"])], outputs=[value("f", FLOAT)])
sizes = model([node("If", ["c"], ["b"], then_branch=yes, else_branch=no), node("Expand", ["x", "sh"], ["e"]), node("Add", ["b", "e"], ["y"])],
              [value("x", FLOAT, [1, 2]), value("sh", "int64", [2]), value("c", "bool", [])], [value("y", FLOAT)])
row = np.broadcast_to(x[:1], (4, 2))
run("sizes in a branch", sizes, [x[:1], np.array([4, 2]), np.array(True)], [row * 2])
run("sizes in the other", sizes, [x[:1], np.array([4, 2]), np.array(False)], [row])

# ---- what cannot be
endless = model([node("Loop", ["", "", "x"], ["y"], body=many)], [value("x", FLOAT, [1])], [value("y", FLOAT)])
rc, out, err = s.run("check", s.write("m.onnx", endless))
s.check("a loop without an end", rc == 1 and "never ends" in err, err)
body = graph([node("SequenceInsert", ["s", "x"], ["s2"]), same("go", "go2")], [value("i", "int64", []), value("go", "bool", []), field(1, "s") + TENSORS],
             [value("go2", "bool", []), field(1, "s2") + TENSORS])
longer = model([node("SequenceConstruct", ["x"], ["q"]), node("Loop", ["m", "", "q"], ["q2"], body=body), node("SequenceAt", ["q2", "zero"], ["y"])],
               [N2, COUNT], [value("y", FLOAT)], {"zero": np.array(0)})
rc, out, err = s.run("check", s.write("m.onnx", longer))
s.check("a sequence that grows for an unknown number of steps", rc == 1 and "error[ON08]" in err and "length of a sequence" in err, err)
s.done()
