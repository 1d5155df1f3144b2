#!/usr/bin/env python3
"""Models of our own through the tool: the format, names, sizes, constants, functions, branches, external data, reports."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import numpy as np

from cli_test import Suite
from onnx_file import Tensor, attribute, external, field, function, graph, model, node, tensor, value

s = Suite()
rng = np.random.default_rng(1)


def floats(*shape):
    return rng.standard_normal(shape).astype("float32")


def run(what, content, inputs, want, *options):
    """The model gives these results for these inputs."""
    path = s.write("m.onnx", content)
    given = []
    for i, a in enumerate(inputs):
        np.save(s.path(f"in{i}.npy"), a)
        given.append(s.path(f"in{i}.npy"))
    rc, out, err = s.run("run", path, *(["--input", *given] if given else []), "--output", s.path("out"), *options)
    if not s.check(f"{what}: runs", rc == 0, err[:600]):
        return
    for i, w in enumerate(want):
        got = np.load(os.path.join(s.path("out"), f"{i}.npy"))
        ok = got.shape == w.shape and got.dtype == w.dtype and np.allclose(got, w, rtol=1e-5, atol=1e-6)
        s.check(f"{what}: output {i}", ok, lambda: f"wanted {w.dtype} {w.shape}\n{w}\ngot {got.dtype} {got.shape}\n{got}")


def text(content, *options):
    rc, out, err = s.run("print", s.write("m.onnx", content), *options)
    return out if rc == 0 else err


def refused(what, content, code, words, *options):
    rc, out, err = s.run("check", s.write("m.onnx", content), *options)
    ok = rc == 1 and f"error[{code}]" in err and words in err
    return s.check(what, ok, f"exit {rc}, wanted {code} with {words!r}: {err[:500]!r}")


# ---- a network, sizes with names, weights that stay in the file
x, w, b = floats(3, 8), floats(8, 4), floats(4)
net = [node("MatMul", ["x", "w"], ["h"]), node("Add", ["h", "b"], ["a"], "bias/add"), node("Relu", ["a"], ["y"])]
ins, outs = [value("x", "float32", ["batch", 8])], [value("y", "float32", ["batch", 4])]
mlp = model(net, ins, outs, {"w": w, "b": b})
run("network", mlp, [x], [np.maximum(x @ w + b, 0)])
printed = text(mlp)
s.check("network: the size keeps its name", 'R.Tensor(("batch", 8), dtype="float32")' in printed, printed)
s.check("network: values keep their names", " y: R.Tensor" in printed and "R.nn.relu(a)" in printed, printed)
s.check("network: --dim binds a size", "R.Tensor((5, 8)" in text(mlp, "--dim", "batch=5"), lambda: text(mlp, "--dim", "batch=5"))
with open(s.path("m.py"), "w") as f:
    f.write(printed)
rc, out, err = s.run("print", s.path("m.py"))
s.equal("network: the text reads back", out, printed)
run("typed data", model(net, ins, outs, [tensor("w", w, typed=True), tensor("b", b, typed=True)]), [x], [np.maximum(x @ w + b, 0)])
run("initialisers among the inputs", model(net, ins + [value("w", "float32", [8, 4]), value("b", "float32", [4])], outs, {"w": w, "b": b}, ir=3),
    [x], [np.maximum(x @ w + b, 0)])
s.check("dead nodes leave nothing", "R.exp" not in text(model(net + [node("Exp", ["h"], ["unused"])], ins, outs, {"w": w, "b": b})))
run("an input is an output, twice", model([], ins, [value("x", "float32", ["batch", 8])] * 2), [x], [x, x])
run("a constant is an output", model([], [], [value("w", "float32", [8, 4])], {"w": w}), [], [w])

# ---- integers that are sizes
flat = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0), node("Unsqueeze", ["n", "front"], ["n1"]),
        node("Concat", ["n1", "rest"], ["to"], axis=0), node("Reshape", ["x", "to"], ["y"])]
cube = floats(2, 3, 4)
sizes = {"zero": np.array(0), "front": np.array([0]), "rest": np.array([-1])}
shaped = model(flat, [value("x", "float32", ["n", "h", "k"])], [value("y", "float32", None)], sizes)
run("sizes", shaped, [cube], [cube.reshape(2, 12)])
s.check("sizes: a shape and no tensor of it", "shape_to_tensor" not in text(shaped) and "h * k" in text(shaped), lambda: text(shaped))
half = [node("Shape", ["x"], ["s"]), node("Slice", ["s", "one", "two"], ["h"]), node("Div", ["h", "two"], ["q"]), node("Mul", ["q", "two"], ["p"]),
        node("Slice", ["x", "zeros", "p", "one"], ["y"])]
k = {"one": np.array([1]), "two": np.array([2]), "zeros": np.array([0])}
run("sizes: arithmetic", model(half, [value("x", "float32", ["n", "h", "k"])], [value("y", "float32", None)], k), [cube], [cube[:, :2]])
by_value = model([node("Reshape", ["x", "to"], ["y"])], [value("x", "float32", ["n", "h", "k"]), value("to", "int64", [2])], [value("y", "float32", None)])
run("sizes that are an input", by_value, [cube, np.array([6, 4])], [cube.reshape(6, 4)])
run("sizes that are an input, found when it runs", by_value, [cube, np.array([6, 4])], [cube.reshape(6, 4)], "--no-bind")
axes = model([node("ReduceSum", ["x", "a"], ["y"], keepdims=0)], [value("x", "float32", ["n", "h", "k"]), value("a", "int64", [1])], [value("y", "float32", None)])
run("axes that are an input", axes, [cube, np.array([1])], [cube.sum(1)])
refused("axes that are an input, not known", axes, "ON07", "depends on the input a")

# ---- folding at import, functions, branches, loops
run("constants are computed", model([node("Constant", [], ["k"], value_float=2.0), node("Sqrt", ["k"], ["r"]), node("Mul", ["x", "r"], ["y"])], ins,
                                    [value("y", "float32", None)]), [x], [x * np.sqrt(np.float32(2))])
twice = function("Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])])
scaled = function("Scaled", ["a"], ["b"], [node("LeakyRelu", ["a"], ["t"]) + field(5, field(1, "alpha") + field(21, "slope") + field(20, 1)),
                                           node("Twice", ["t"], ["b"], domain="local")], attributes=["slope"])
scaled = scaled.replace(field(9, field(1, "") + field(2, 17)), field(9, field(1, "") + field(2, 17)) + field(9, field(1, "local") + field(2, 1)))
run("functions", model([node("Scaled", ["x"], ["y"], domain="local", slope=0.5)], ins, [value("y", "float32", None)], functions=[twice, scaled], domains=["local"]),
    [x], [2 * np.where(x > 0, x, x * np.float32(0.5))])
refused("a function that calls itself", model([node("F", ["x"], ["y"], domain="local")], ins, outs, functions=[function("F", ["a"], ["b"], [
    node("F", ["a"], ["b"], domain="local")])], domains=["local"]), "ON10", "calls itself")
yes = graph([node("Exp", ["x"], ["t"])], outputs=[value("t", "float32", None)])
no = graph([node("Neg", ["x"], ["f"])], outputs=[value("f", "float32", None)])
choice = [node("If", ["c"], ["y"], then_branch=yes, else_branch=no)]
branches = model(choice, ins + [value("c", "bool", [])], [value("y", "float32", None)])
run("a branch", branches, [x, np.array(True)], [np.exp(x)], "--no-bind")
run("the other branch", branches, [x, np.array(False)], [-x], "--no-bind")
taken = text(model(choice, ins, [value("y", "float32", None)], {"c": np.array(True)}))
s.check("a branch that is known leaves the other out", "R.exp" in taken and "negative" not in taken and "if " not in taken, taken)
body = graph([node("Add", ["v", "i1"], ["v2"]), node("Cast", ["i"], ["i1"], to=1)][::-1] + [node("Identity", ["go"], ["go2"]), node("Identity", ["v2"], ["row"])],
             [value("i", "int64", []), value("go", "bool", []), value("v", "float32", [2])],
             [value("go2", "bool", []), value("v2", "float32", [2]), value("row", "float32", [2])])
loop = model([node("Loop", ["m", "", "x"], ["y", "rows"], body=body)], [value("x", "float32", [2])],
             [value("y", "float32", [2]), value("rows", "float32", None)], {"m": np.array(3)})
v = floats(2)
run("a loop", loop, [v], [v + 3, np.stack([v, v + 1, v + 3])])

# ---- external data
with open(s.path("w.bin"), "wb") as f:
    f.write(b"\0" * 64 + w.tobytes())
os.makedirs(s.path("sub"), exist_ok=True)
os.symlink(s.path("w.bin"), s.path("link.bin"))


def beside(**entries):
    return model(net, ins, outs, [external("w", w, {k: str(v) for k, v in entries.items()}), tensor("b", b)])


run("external data", beside(location="w.bin", offset=64, length=w.nbytes), [x], [np.maximum(x @ w + b, 0)])
refused("external data: too short", beside(location="w.bin", offset=65), "ON09", "beyond the end")
refused("external data: wrong length", beside(location="w.bin", offset=0, length=4), "ON09", "is not that of its dimensions")
refused("external data: a link", beside(location="link.bin", offset=64), "ON09", "symbolic link")
for place in ("../w.bin", "/etc/passwd", "sub/../../w.bin", "a\\b", "C:x", "*/_ORT_MEM_ADDR_/*"):
    refused(f"external data: {place}", beside(location=place, offset=64), "ON09", "tensor w")

# ---- what is wrong, all at once
broken = model([node("StringSplit", ["x"], ["a"], "first"), node("StringSplit", ["x"], ["b"]), node("Nonsense", ["a"], ["c"], domain="here"),
                node("Softmax", ["x"], ["d"], axis=7), node("Add", ["c", "d"], ["e"]), node("Add", ["e", "b"], ["y"])], ins,
               [value("y", "float32", None)], opset=20)
rc, out, err = s.run("check", s.write("m.onnx", broken))
for words in ("StringSplit (operator set 20)", "here.Nonsense", "axis 7 is out of range for rank 2", "m.onnx:2:3", "here, too"):
    s.check(f"all that is wrong: {words}", rc == 1 and words in err, err)
s.equal("all that is wrong: each once", err.count("error["), 3)
rc, out, err = s.run("check", s.path("m.onnx"), "--onnx-report")
s.equal("report: first line and first reason", out.splitlines()[:1] + [line.split("\t")[:3] for line in out.splitlines()[1:2]],
        ["6 nodes, 3 reasons", ["ON03", "2", "StringSplit"]])
refused("a newer operator", model([node("Gelu", ["x"], ["y"])], ins, outs, opset=13), "ON04", "is not part of the operator set")
refused("a name that nothing defines", model([node("Relu", ["z"], ["y"])], ins, outs), "ON10", "nothing before it defines z")
refused("an input of strings", model([node("Identity", ["x"], ["y"])], [value("x", "string", [1])], [value("y", "string", [1])]), "ON06", "STRING")
refused("two definitions", model([node("Relu", ["x"], ["y"]), node("Exp", ["x"], ["y"])], ins, outs), "ON10", "two nodes define y")
rc, out, err = s.run("check", s.write("m.onnx", model([node("Relu", ["x"], ["y"])], ins, outs, opset=99)))
s.check("a newer operator set is a warning", rc == 0 and "warning[ON11]" in err, err)
rc, out, err = s.run("check", s.write("m.onnx", broken), "--diagnostics", "json")
s.check("report as JSON", all(json.loads(line)["code"].startswith("ON") for line in err.splitlines() if line.startswith("{")) and "{" in err, err)
s.done()
