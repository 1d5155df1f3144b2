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
run("axes that are an input, found when it runs", axes, [cube, np.array([-2])], [cube.sum(1)], "--no-bind")


def found(what, op, x, given, want, rank=1, **attributes):
    """An operator whose other operands are known when the program runs only."""
    ins = [value("x", str(x.dtype), [f"n{i}" for i in range(x.ndim)])]
    ins += [value(f"g{i}", str(g.dtype), list(g.shape)) for i, g in enumerate(given)]
    ops = [node(op, ["x"] + [f"g{i}" for i in range(len(given))], ["y"], **attributes)]
    run(f"found when it runs: {what}", model(ops, ins, [value("y", str(want.dtype), None)], opset=19), [x, *given], [want], "--no-bind")


found("axes", "ReduceMax", cube, [np.array([0, -1])], cube.max((0, 2)), keepdims=0)
found("axes, kept", "ReduceMean", cube, [np.array([2, 1])], cube.mean((1, 2), keepdims=True))
found("axes of a sum of squares", "ReduceSumSquare", cube, [np.array([1])], np.square(cube).sum(1), keepdims=0)
found("axes of a logarithm", "ReduceLogSumExp", cube, [np.array([0])], np.log(np.exp(cube).sum(0)), keepdims=0)
found("an axis", "CumSum", cube, [np.array(-2)], np.cumsum(cube, 1))
found("an axis backwards", "CumSum", cube, [np.array(0)], np.cumsum(cube[::-1], 0)[::-1], reverse=1)
for mode in ("constant", "edge", "reflect", "wrap"):
    found(f"pads, {mode}", "Pad", cube, [np.array([1, 0, 3, 0, 2, 1])], np.pad(cube, ((1, 0), (0, 2), (3, 1)), mode), mode=mode)
found("a crop and a pad", "CenterCropPad", cube, [np.array([5, 2, 1])], np.pad(cube, ((1, 2), (0, 0), (0, 0)))[:, :2, 1:2])
found("a depth", "OneHot", np.array([1, -1, 7]), [np.array(3), np.array([2.0, 5.0], "float32")],
      np.array([[2, 5, 2], [2, 2, 5], [2, 2, 2]], "float32"))
rising = model([node("Range", ["a", "b", "c"], ["y"])], [value(k, "float32", []) for k in "abc"], [value("y", "float32", None)])
run("found when it runs: a range", rising, [np.float32(1), np.float32(-1.1), np.float32(-0.5)], [np.array([1, 0.5, 0, -0.5, -1], "float32")], "--no-bind")
rising = model([node("Range", ["a", "b", "c"], ["y"])], [value(k, "int64", []) for k in "abc"], [value("y", "int64", None)])
run("found when it runs: a range of integers", rising, [np.array(-2), np.array(9), np.array(4)], [np.arange(-2, 9, 4)], "--no-bind")
grams = model([node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 2],
                    ngram_indexes=[3, 0, 1], pool_int64s=[7, 5, 5, 7])], [value("x", "int64", ["n", "k"])], [value("y", "float32", None)])
run("grams", grams, [np.array([[5, 5, 7, 5], [7, 7, 1, 7]])], [np.array([[3, 2, 0, 1], [0, 0, 0, 3]], "float32")], "--no-bind")


def lstm(x, w, r, b, lengths, h=0, c=0):
    steps, gates = [], lambda v: 1 / (1 + np.exp(-v))
    for t in range(len(x)):
        i, o, f, n = np.split(x[t] @ w.T + np.dot(h, r.T) * np.ones(1) + b, 4, -1) if t else np.split(x[t] @ w.T + b, 4, -1)
        c1 = gates(f) * c + gates(i) * np.tanh(n)
        h1 = gates(o) * np.tanh(c1)
        on = (t < lengths)[:, None]
        h, c = np.where(on, h1, h), np.where(on, c1, c)
        steps.append(np.where(on, h1, 0))
    return np.stack(steps), h, c


xs, w4, r4, b4, lengths = floats(40, 2, 3), floats(1, 20, 3), floats(1, 20, 5), floats(1, 40), np.array([40, 17], "int32")
ys, last, cell = lstm(xs, w4[0], r4[0], b4[0, :20] + b4[0, 20:], lengths)
layer = model([node("LSTM", ["x", "w", "r", "b", "n"], ["y", "h", "c"], hidden_size=5)],
              [value("x", "float32", ["time", "batch", 3]), value("n", "int32", ["batch"])],
              [value(k, "float32", None) for k in "yhc"], {"w": w4, "r": r4, "b": b4})
want = [ys[:, None].astype("float32"), last[None].astype("float32"), cell[None].astype("float32")]
run("a recurrent layer of any number of steps", layer, [xs, lengths], want, "--no-bind")
run("a recurrent layer of many steps", layer, [xs, lengths], want, "--dim", "time=40")
s.check("a recurrent layer is one operator", text(layer).count("R.nn.lstm(") == 1 and "R.tanh" not in text(layer), lambda: text(layer))
clipped = model([node("LSTM", ["x", "w", "r", "b", "n"], ["y", "h", "c"], hidden_size=5, clip=1e3)],
                [value("x", "float32", ["time", "batch", 3]), value("n", "int32", ["batch"])],
                [value(k, "float32", None) for k in "yhc"], {"w": w4, "r": r4, "b": b4})
run("a recurrent layer of operators", clipped, [xs, lengths], want, "--no-bind")
run("a recurrent layer of operators, many steps", clipped, [xs, lengths], want, "--dim", "time=40")
s.check("a recurrent layer of operators calls a function", "R.nn.lstm(" not in text(clipped) and "R.tanh" in text(clipped), lambda: text(clipped))
refused("axes that are an input, not known", model([node("Transpose", ["x"], ["t"]), node("ReduceSum", ["t", "a"], ["y"], keepdims=0)],
        [value("x", "float32", ["n", "h", "k"]), value("a", "int64", ["some"])], [value("y", "float32", None)]), "ON07", "depends on the input a")

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

# ---- a text and an archive; inputs that are constants
deep = model([node("Constant", [], ["k"], value=Tensor(tensor("", floats(40)[:40]))), node("Add", ["x", "k"], ["a"]), node("MatMul", ["a", "w"], ["y"])],
             [value("x", "float32", ["n", 40])], [value("y", "float32", None)], {"w": floats(40, 30)})
with open(s.path("deep.onnx"), "wb") as f:
    f.write(deep)
rc, out, err = s.run("import", s.path("deep.onnx"), "-o", s.path("deep.py"), "--params", s.path("deep.npz"))
s.equal("import: runs", (rc, out, err), (0, "", ""))
archive = np.load(s.path("deep.npz"))
s.equal("import: the weights", {k: archive[k].shape for k in archive}, {"k": (40,), "w": (40, 30)})
with open(s.path("deep.py")) as f:
    written = f.read()
s.check("import: parameters behind the inputs", '"num_input": 1' in written and "metadata" not in written, written)
np.save(s.path("x.npy"), floats(3, 40))
rc, plain, err = s.run("run", s.path("deep.onnx"), "--input", s.path("x.npy"), "--json")
rc, apart, err = s.run("run", s.path("deep.py"), "--params", s.path("deep.npz"), "--input", s.path("x.npy"), "--json")
s.check("import: text and archive give the same", rc == 0 and apart == plain, err)
rc, out, err = s.run("import", s.path("deep.onnx"))
s.check("import: without an archive the text holds the weights", rc == 0 and "metadata" in out and "num_input" not in out, out)
rc, out, err = s.run("import", s.path("deep.onnx"), "-o", s.path("d.py"), "--params", s.path("d.npz"), "--params-from", "1000")
s.check("import: small weights stay", rc == 0 and sorted(np.load(s.path("d.npz"))) == ["w"], err)
rc, out, err = s.run("import", s.path("deep.onnx"), "-o", s.path("d.py"), "--params", "/nonexistent/d.npz")
s.check("import: an archive that cannot be written", rc == 1 and "error[IO02]" in err, err)
np.save(s.path("to.npy"), np.array([6, 4]))
bound = text(by_value, "--bind", "to=" + s.path("to.npy"))
s.check("--bind: the input is a constant", "to:" not in bound and "R.shape([6, 4])" in bound, bound)
for wrong, code in ((["--bind", "to"], 1), (["--bind", "to=/nonexistent.npy"], 1), (["--bind", "nothing=" + s.path("to.npy")], 1)):
    rc, out, err = s.run("print", s.write("m.onnx", by_value), *wrong)
    s.check(f"--bind: {' '.join(wrong)[:20]}", rc == code and err, f"{rc} {err}")

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
s.check("report: what helps", "\tcompose" in out or len(out.splitlines()[1].split("\t")) == 6 and out.splitlines()[1].split("\t")[5], out)
rc, as_json, err = s.run("check", s.path("m.onnx"), "--onnx-report", "--json")
report = json.loads(as_json)
s.equal("report: as JSON", [report["imported"], report["nodes"], len(report["issues"]), report["issues"][0]["count"], report["issues"][0]["operator"]],
        [False, 6, 3, 2, "StringSplit"])
s.check("report: as JSON, what helps", all(i["cure"] and i["reason"] and i["severity"] == "error" for i in report["issues"]), as_json)
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
# ---- a window of channels that is larger than there are
a = floats(2, 5, 3)
square = np.sum(a * a, axis=1, keepdims=True)
run("LRN over more channels than there are", model([node("LRN", ["x"], ["y"], size=1 << 40, alpha=float(1 << 40), beta=1.0)], [value("x", "float32", [2, 5, 3])],
                                                   [value("y", "float32", None)]), [a], [a / (1 + square)])
s.done()
