#!/usr/bin/env python3
"""What somebody does first: what a program takes, arguments without files, comparing, JSON, times of passes; what an error of a run names."""
import json
import os

import numpy as np

from cli_test import Suite

s = Suite()
MODEL = '''@R.function
def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor(("m", 2), "float32")):
    first = R.nn.relu(x)
    hidden = R.matmul(first, w)
    out = R.add(hidden, hidden)
    return out
'''
MANY = '''@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 2), "float32"), t: R.Tuple(R.Tensor(("n",), "int32"), R.Shape(["k"])), b: R.Prim("bool"), i: R.Prim("int64"), h: R.Tensor((2,), "float16"), u: R.Tensor((), "uint8")):
        n = T.int64()
        y = R.call_packed("my.f", x, sinfo_args=R.Tensor((n, 2), "float32"))
        z: R.Tensor((n * 2, 1), "float32") = R.reshape(y, (n * 2, 1))
        return (z, t)
    @R.function
    def twice(x: R.Tensor(("n",), "float64"), flags: R.Tensor((3,), "bool")):
        return (R.add(x, x), flags, R.shape([2, 3]), R.str("text"), R.dtype("int8"))
'''
s.write("m.py", MODEL)
s.write("many.py", MANY)


def ok(what, *args, **more):
    rc, out, err = s.run(*args, **more)
    s.check(what, rc == 0 and not err, (rc, out[:200], err[:400]))
    return out


# ---- relax info
out = ok("info of a text", "info", "m.py")
s.check("its signature", 'takes  x: R.Tensor((n, 4), dtype="float32")' in out and 'gives  R.Tensor((n, 2), dtype="float32")' in out, out)
s.check("it needs nothing", "needs no packed functions" in out, out)
ok("build", "build", "many.py", "-o", "many.rlx")
out = ok("info of a compiled file", "info", "many.rlx")
s.check("packed functions", "needs packed functions: my.f\n" in out, out)
info = json.loads(ok("info as JSON", "info", "many.rlx", "--json"))
s.equal("its functions", [f["name"] for f in info["functions"]], ["main", "twice"])
main = info["functions"][0]
s.equal("names", [p["name"] for p in main["params"]], ["x", "t", "b", "i", "h", "u"])
s.equal("kinds", [p["kind"] for p in main["params"]], ["tensor", "tuple", "bool", "int", "tensor", "tensor"])
s.equal("sizes", main["params"][0]["shape"], ["n", 2])
s.equal("fields", [(f["kind"], f.get("dtype"), f["shape"]) for f in main["params"][1]["fields"]], [("tensor", "int32", ["n"]), ("shape", None, ["k"])])
s.equal("a size that is computed is open", main["result"]["fields"][0]["shape"], [None, 1])
s.equal("packed", info["packed"], ["my.f"])
s.check("bytes", info["bytes"] == os.path.getsize(s.path("many.rlx")) > info["constant_bytes"] and info["native"] is None, info)
s.fails("info of nothing", ["info", "none.rlx"], "IO01")
s.fails("info of a bad text", ["info", "-"], "PA33", stdin="")

# ---- arguments without files
TWICE = ["run", "many.py", "--entry", "twice"]


def result(*args):
    return json.loads(ok(" ".join(args), *args, "--json"))["results"]


r = result(*TWICE, "--input", "x=1.5,-2,1e3", "--input", "flags=true,0,True")
s.equal("numbers", r[0], {"kind": "tensor", "dtype": "float64", "shape": [3], "data": [3, -4, 2000]})
s.equal("truth values", r[1]["data"], [True, False, True])
s.equal("other kinds", [x["kind"] for x in r], ["tensor", "tensor", "shape", "string", "dtype"])
s.equal("their values", [r[2]["data"], r[3]["value"], r[4]["value"]], [[2, 3], "text", "int8"])
s.equal("zeros, ones", [x["data"] for x in result(*TWICE, "--input", "zeros:2", "--input", "ones")[:2]], [[0, 0], [True] * 3])
a = result(*TWICE, "--input", "x=random:7:1000", "--input", "flags=random")[0]["data"]
s.check("random numbers", len(a) == 1000 and len(set(a)) > 990 and -2 <= min(a) < -1.9 and 1.9 < max(a) < 2 and abs(sum(a)) < 150, a[:5])
s.equal("the same seed", result(*TWICE, "--input", "x=random:7:1000", "--input", "flags=random")[0]["data"], a)
s.check("another seed", result(*TWICE, "--input", "x=random:8:1000", "--input", "flags=random")[0]["data"] != a)
s.equal("an infinite result", result(*TWICE, "--input", "x=inf,-inf,nan", "--input", "flags=ones")[0]["data"], ["inf", "-inf", "nan"])
s.equal("sizes by name", result("run", "m.py", "--input", "x=ones", "--input", "w=ones", "--size", "n=3,m=4")[0], {"kind": "tensor", "dtype": "float32", "shape": [3, 2], "data": [8] * 6})
s.equal("a size that the elements say", result("run", "m.py", "--input", "x=1,2,3,4,5,6,7,8", "--input", "w=ones:4,2")[0]["data"], [20, 20, 52, 52])
TUPLE = MANY.replace('R.call_packed("my.f", x, sinfo_args=R.Tensor((n, 2), "float32"))', "x")
s.write("tuple.py", TUPLE.replace("return (z, t)", "return (z, t, b, i, h, u)"))
r = result("run", "tuple.py", "--input", "x=ones:3,2", "--input", "t.0=random:1", "--input", "t.1=5", "--input", "b=true", "--input", "i=-7", "--input", "h=0.1,65504", "--input", "u=255")
s.equal("sizes from other arguments, fields, scalars, narrow floats", [x["data"] for x in r[2:]], [[5], [True], [-7], [0.0999755859, 65504], [255]])
s.check("integers are from 0 to 9", r[1]["shape"] == [3] and all(0 <= v <= 9 for v in r[1]["data"]), r[1])
r = result("run", "tuple.py", "--input", "x=ones:3,2", "--input", "t=zeros", "--input", "b=false", "--input", "i=0", "--input", "h=zeros", "--input", "u=zeros", "--size", "k=9")
s.equal("a whole tuple", [x["data"] for x in r[1:3]], [[0, 0, 0], [9]])
for what, args, code, rc, text in (
        ("a size that nothing says", ["x=zeros", "w=zeros"], "RT01", 1, "size n of x is not known: give --size n=N"),
        ("too few elements", ["x=1,2,3", "w=zeros:4,2"], "RT05", 1, 'x is R.Tensor((n, 4), dtype="float32"), which 3 elements do not fill'),
        ("a parameter that is not there", ["y=zeros"], "RT01", 1, "main has no parameter y; it has: x, w"),
        ("one too many", ["zeros:3,4", "zeros:4,2", "zeros"], "RT01", 1, "main takes 2 arguments, found one more: zeros"),
        ("one is missing", ["zeros:3,4"], "RT01", 1, 'no argument for parameter 2 (w: R.Tensor((m, 2), dtype="float32"))')):
    s.fails(what, ["run", "m.py", *[x for a in args for x in ("--input", a)]], code, rc, text)
for what, args, text in (("no seed", ["x=random:a"], "random:SEED"), ("no sizes", ["x=zeros:a"], "sizes are numbers"), ("no --size", ["x=zeros", "--size", "n"], "--size NAME=N"),
                         ("no integer", ["u=1.5"], "u is uint8, which 1.5 is not"), ("too large", ["u=256"], "u is uint8, which 256 is not"),
                         ("no truth value", ["b=bool:5"], "true or false")):
    rc, out, err = s.run("run", "tuple.py" if args[0][0] in "ub" else "m.py", "--input", *args)
    s.check(what, rc == 2 and text in err, (rc, err))
rc, out, err = s.run("run", "tuple.py", "--input", "i=1,2")
s.check("two numbers for a scalar", rc == 2 and "i is one number, found 1,2" in err, err)

# ---- --expect
ARGS = ["run", "m.py", "--input", "x=random:1:3,4", "--input", "w=random:2:4,2"]
ok("results as files", *ARGS, "--output", "want")
s.check("as expected: a directory", "as expected: 1 result" in ok("a directory", *ARGS, "--expect", "want"))
s.check("as expected: a file", "as expected: 1 result" in ok("a file", *ARGS, "--expect", "want/0.npy"))
right = np.load(s.path("want/0.npy"))
np.savez(s.path("two.npz"), **{"0": right, "1": right})
np.savez(s.path("one.npz"), out=right)
ok("an archive", *ARGS, "--expect", "one.npz")
s.fails("an archive with more", [*ARGS, "--expect", "two.npz"], "RT07", 1, "2 arrays, but 1 results")
wrong = right.copy()
wrong[2, 1] += np.float32(0.5)
np.save(s.path("wrong.npy"), wrong)
s.fails("a wrong element", [*ARGS, "--expect", "wrong.npy"], "RT07", 1, "result 0: 1 of 6 elements differ; the worst, at [2, 1], is")
ok("a tolerance", *ARGS, "--expect", "wrong.npy", "--atol", "0.6")
np.save(s.path("near.npy"), right * np.float32(1 + 1e-6))
ok("near", *ARGS, "--expect", "near.npy")
s.fails("near, but not the same", [*ARGS, "--expect", "near.npy", "--rtol", "0", "--atol", "0"], "RT07")
np.save(s.path("f64.npy"), right.astype("float64"))
s.fails("another dtype", [*ARGS, "--expect", "f64.npy"], "RT07", 1, "result 0 is float32 (3, 2), expected float64 (3, 2)")
s.fails("no such file", [*ARGS, "--expect", "none.npy"], "IO01")
ok("texts", *TWICE, "--input", "x=nan", "--input", "flags=ones", "--output", "texts")
s.check("NaN is NaN, texts", "5 results" in ok("texts compared", *TWICE, "--input", "x=nan", "--input", "flags=ones", "--expect", "texts"))
s.write("texts/3.txt", "other")
s.fails("another text", [*TWICE, "--input", "x=nan", "--input", "flags=ones", "--expect", "texts"], "RT07", 1, "result 3 is another text")
rc, out, err = s.run(*ARGS, "--expect", "wrong.npy", "--rtol", "-1")
s.check("a tolerance below 0", rc == 2 and "--rtol" in err, err)

# ---- times, JSON of tables, options of passes
rc, out, err = s.run(*ARGS, "--repeat", "3", "--warmup", "2", "--json")
s.check("times beside JSON", rc == 0 and json.loads(out) and "of 3 runs" in err, (out, err))
rc, out, err = s.run("build", "m.py", "-o", "m.rlx", "--time-passes")
s.check("times of passes", rc == 0 and "legalize_ops" in err and "ms" in err and not out, err)
rc, out, err = s.run("print", "m.py", "--pass", "fold_constant,legalize_ops", "--time-passes")
s.check("times of named passes", rc == 0 and len(err.splitlines()) == 2 and "fold_constant (nothing changed)" in err, err)
s.equal("options behind a colon", ok("colon", "print", "m.py", "--pass", "bind_symbolic_vars:n=3,m=4,fold_constant"), ok("braces", "print", "m.py", "--pass", "bind_symbolic_vars{n=3,m=4},fold_constant"))
for args in (["print", "m.py", "--pass", "fold_constant:wrong=1"], ["print", "m.py", "--pass", "bind_symbolic_vars:"]):
    rc, out, err = s.run(*args)
    s.check(" ".join(args), rc in (1, 2) and err and not out, (rc, out, err))
s.check("operators as JSON", {"relax.add", "relax.nn.conv2d"} <= {o["name"] for o in json.loads(ok("ops", "ops", "--json"))})
s.equal("one operator", json.loads(ok("op", "ops", "add", "--json"))["arguments"][1]["name"], "x2")
s.check("passes as JSON", any(p["name"] == "fuse_ops" and p["options"] for p in json.loads(ok("passes", "passes", "--json"))))

# ---- what an error of a run names
for opt in "012":
    run = lambda *inputs: ["run", "m.py", "--opt", opt, *[x for i in inputs for x in ("--input", i)]]
    s.fails(f"the binding of a kernel, opt {opt}", run("ones:3,4", "ones:5,2"), "RT05", 1, "dimension 0 of x2 is 5, expected 4\n  in main, binding hidden (m.py:4:14)")
    s.fails(f"the parameter, opt {opt}", run("ones:3,4", "ones:4,3"), "RT05", 1, "argument 2 (w) of main: dimension 1 is 3, expected 2")
s.write("reshape.py", '@R.function\ndef main(x: R.Tensor(("n", 4), "float32"), s: R.Shape(["k"])):\n    k = T.int64()\n    wide = R.reshape(x, (k, 3))\n    return wide\n')
s.fails("shapes", ["run", "reshape.py", "--input", "ones:3,4", "--input", "s=5"], "RT05", 1, "x (3, 4), out (5, 3)\n  in main, binding wide")
s.fails("memory", ["run", "m.py", "--input", "ones:3,4", "--input", "ones:4,2", "--max-memory", "10"], "RT10", 1, "--max-memory 10")

# ---- what was meant on the command line
for args, text in ((["chek", "m.py"], "did you mean check"), (["m.py"], "relax run m.py, relax check m.py"), (["run", "m.py", "--inputs", "x"], "did you mean --input;"),
                   (["run", "m.py", "--wrong"], "relax run has no option --wrong; relax run --help lists them"),
                   (["compile", "m.py"], "did you mean build"), (["check"], "as in relax check FILE..."),
                   (["run", "m.py", "--function", "f"], "did you mean --entry"), (["build", "m.py", "-o", "m.py"], "-o m.py is what is read"),
                   (["print", "m.py", "-o", "x.py"], "relax print FILE > OUT"), (["run", "m.py", "x.npy"], "given by --input x.npy"),
                   (["run", "m.py", "--dim", "n=3"], "--dim is for .onnx files, found m.py; --size n=3"),
                   (["print", "m.py", "--pass", ""], "--pass needs the name of a pass"),
                   (["print", "m.py", "--pass", "fold_constant,,legalize_ops"], "a name is missing in front of ',legalize_ops'")):
    rc, out, err = s.run(*args)
    s.check(" ".join(args), rc == 2 and text in err and not out, (rc, err))
s.check("the program is still there", "def main" in open(s.path("m.py")).read())
rc, out, err = s.run("run", "m.py", "--input", "ones:3,4", "--input", "ones:4,3", "--diagnostics", "json")
s.check("errors of a run as JSON", rc == 1 and err.startswith('{"severity":"error","code":"RT05",') and "in main" in json.loads(err)["trace"], err)
s.equal("help of a command", ok("help", "help", "run"), ok("--help", "run", "--help"))
s.equal("-i", ok("-i", "run", "m.py", "-i", "ones:1,4", "-i", "w=ones:4,2"), ok("--input", "run", "m.py", "--input", "ones:1,4", "--input", "w=ones:4,2"))
s.done()
