#!/usr/bin/env python3
"""The contract of the tool: commands, options, exit codes, where output goes."""
import json
import os
import resource
import subprocess
import time

import numpy as np

from cli_test import RELAX, TOP, Suite

s = Suite()
GOOD = '''@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y
'''
BAD = GOOD.replace("R.add(x, x)", "R.add(x, z)")
s.write("good.py", GOOD)
s.write("bad.py", BAD)

# ---- usage: exit 2
for args in ([], ["nonsense"], ["check"], ["print"], ["print", "good.py", "more.py"], ["check", "--nonsense", "good.py"], ["build", "good.py"],
             ["build", "good.py", "-o"], ["build", "good.py", "-o", "x.rlx", "--opt", "7"], ["run", "good.py", "--repeat", "x"],
             ["run", "good.py", "--target", "gpu"], ["build", "good.py", "-o", "x.rlx", "--target=C"], ["build", "good.py", "-o", "x", "--emit", "asm"],
             ["run", "good.py", "--cpu", "old"],
             ["check", "good.py", "--diagnostics", "xml"], ["check", "good.py", "--no-warn", "ZZ99"], ["run", "good.py", "--timeout", "-1"],
             ["run", "good.py", "--threads", "-1"], ["run", "good.py", "--threads", "257"]):
    rc, out, err = s.run(*args)
    s.check(f"usage {args}", rc == 2 and err and not out, f"exit {rc}, stdout {out[:80]!r}, stderr {err[:200]!r}")
rc, out, err = s.run("run", "good.py", "--target", "gpu")
s.check("an unknown target says which there are", "interp, c" in err, err)
s.check("nothing was written", not os.path.exists(s.path("x.rlx")))

# ---- help: exit 0, on standard output
for command in ("check", "print", "opt", "build", "run", "info", "dis", "ops", "passes", "explain", "version"):
    rc, out, err = s.run(command, "--help")
    s.check(f"{command} --help", rc == 0 and out.startswith(f"relax {command}") and not err, (rc, out[:100], err))
rc, out, err = s.run("--help")
s.check("--help", rc == 0 and "relax check" in out and not err)

# ---- check
s.equal("check good", s.run("check", "good.py"), (0, "", ""))
s.equal("check from standard input", s.run("check", "-", stdin=GOOD), (0, "", ""))
rc, out, err = s.run("check", "bad.py")
s.check("check bad", rc == 1 and not out and err.startswith("bad.py:6:") and "error[" in err, err)
s.check("source line and caret", "y = R.add(x, z)" in err and "^" in err, err)
rc, out, err = s.run("check", "good.py", "bad.py")
s.check("check goes on after a good file", rc == 1 and "bad.py" in err, err)
rc, out, err = s.run("check", "bad.py", "--diagnostics", "json")
lines = [json.loads(l) for l in err.splitlines()]
s.check("JSON diagnostics", rc == 1 and lines and lines[0]["severity"] == "error" and lines[0]["line"] == 6 and lines[0]["code"], err)
rc, out, err = s.run("check", "missing.py")
s.check("check missing file", rc == 1 and "error[IO01]" in err, (rc, err))

# ---- print
rc, out, err = s.run("print", "good.py")
s.check("print", rc == 0 and not err and "class Module:" in out and 'R.Tensor(("n", 3), dtype="float32")' in out, (rc, out, err))
s.equal("opt is print", s.run("opt", "good.py"), (rc, out, err))
s.equal("print of print", s.run("print", "-", stdin=out)[1], out)
rc, legal, err = s.run("print", "good.py", "--pass", "legalize-ops")
s.check("print after a pass", rc == 0 and "R.call_tir" in legal and "T.prim_func" in legal, (rc, legal, err))
s.equal("lists of passes", s.run("print", "good.py", "--pass", "normalize,legalize_ops")[0], 0)
s.fails("unknown pass", ["print", "good.py", "--pass", "legalise_ops"], "OP10")
rc, out, err = s.run("print", "-", stdin=GOOD.replace("R.add(x, x)", 'R.add(x, R.const([1, 2], "float32"))'))
s.check("print what was read though inference failed", rc == 1 and "error[TY08]" in err and "R.add" in out, (rc, out, err))

# ---- build, dis, run
s.equal("build", s.run("build", "good.py", "-o", "good.rlx"), (0, "", ""))
rc, out, err = s.run("dis", "good.rlx", "--verify")
s.check("dis", rc == 0 and "main" in out and "verified" in out and not err, (rc, out[:200], err))
s.write("row.py", """@R.function
def main(x: R.Tensor((2, 20000), "float32")):
    y = R.nn.log_softmax(x, axis=-1)
    return y
""")
s.run("build", "row.py", "-o", "row.rlx")
rc, out, err = s.run("dis", "row.rlx")
lines = [line.split()[1] for line in out.splitlines() if line.startswith("   ")]
first = lines.index("map") if "map" in lines else -1
s.check("exp of a long row and its sum stand side by side, so that they are one", first >= 0 and lines[first + 1] == "partial", out)
s.fails("dis of something else", ["dis", "good.py", "--verify"], "LD01")
rc, out, err = s.run("build", "good.py", "-o", "dump.rlx", "--dump-after", "all")
s.check("dump after all", rc == 0 and "after legalize_ops" in out, (rc, out[:200], err))
s.fails("build of a bad program", ["build", "bad.py", "-o", "bad.rlx"], None)
s.check("a failed build leaves nothing", not os.path.exists(s.path("bad.rlx")))
s.fails("build into nowhere", ["build", "good.py", "-o", "no/such/dir/x.rlx"], "IO02")
s.fails("run without arguments", ["run", "good.rlx"], "RT01")
s.fails("private functions are not callable", ["run", "-", "--entry", "helper"], "RT20",
        stdin=GOOD.replace("class M:", 'class M:\n    @R.function(private=True)\n    def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n        return x\n'))

# ---- arguments of every kind
KINDS = '''@I.ir_module
class M:
    @R.function
    def main(i: R.Prim("int64"), s: R.Shape(["a", "b"]), t: R.Tuple(R.Prim("int64"), R.Shape(["a"]))) -> R.Tuple(R.Prim("int64"), R.Shape(ndim=2), R.Tuple(R.Prim("int64"), R.Shape(ndim=1))):
        a = T.int64()
        b = T.int64()
        return (i, s, t)
'''
s.write("kinds.py", KINDS)
rc, out, err = s.run("run", "kinds.py", "--input", "int64:5", "--input", "s=shape:2,3", "--input", "t.0=int64:-7", "--input", "t.1=shape:2", "--output", "kinds")
s.equal("scalars, shapes, tuples", (rc, out, err), (0, "0: int64 () [5]\n1: shape (2, 3)\n2: int64 () [-7]\n3: shape (2,)\n", ""))
s.check("results as files", sorted(os.listdir(s.path("kinds"))) == ["0.npy", "1.npy", "2.npy", "3.npy"])
s.fails("sizes that do not agree", ["run", "kinds.py", "--input", "int64:5", "--input", "shape:2,3", "--input", "t.0=int64:1", "--input", "t.1=shape:4"], "RT05")
s.fails("an argument too many", ["run", "kinds.py"] + ["--input", "int64:1"] * 4, "RT01")
s.fails("a parameter that is not there", ["run", "kinds.py", "--input", "zz=int64:1"], "RT01")
for bad in ("int64:x", "shape:2,,3", "shape:a", "int64:99999999999999999999"):
    rc, out, err = s.run("run", "kinds.py", "--input", bad)
    s.check(f"input {bad}", rc == 2 and err, (rc, err))

# ---- facts
rc, ops, err = s.run("ops")
s.check("ops", rc == 0 and "relax.nn.softmax" in ops and "relax.matmul" in ops)
rc, out, err = s.run("ops", "R.nn.softmax")
s.check("ops NAME", rc == 0 and "axis=-1" in out and "pure" in out, out)
s.fails("ops of no operator", ["ops", "softmacks"], "OP06")
rc, passes, err = s.run("passes")
s.check("passes", rc == 0 and all(p in passes for p in ("normalize", "legalize_ops", "fold_constant", "dead_code_elimination", "canonicalize_bindings",
                                                        "call_tir_rewrite", "place_views", "place_parts", "reuse_operands", "lift_temporaries", "plan_memory")), passes)
rc, out, err = s.run("passes", "fold-constant")
s.check("passes NAME", rc == 0 and out.startswith("fold_constant:"), out)
rc, out, err = s.run("explain", "WF03")
s.check("explain", rc == 0 and out.startswith("WF03:") and "Cure" in out, out)
s.equal("explain nothing", s.run("explain", "QQ01")[0], 1)
rc, out, err = s.run("version")
s.check("version", rc == 0 and out.startswith("relax 0.2.0\n"), out)

# ---- passes: names, options, needs
LOWER = "normalize,legalize_ops,call_tir_rewrite"
for args, code, text in ((["print", "--pass", "plan_memry"], "OP10", "did you mean plan_memory"), (["build", "-o", "no.rlx", "--dump-after", "fold-constnt"], "OP10", "did you mean fold_constant"),
                         (["build", "-o", "no.rlx", "--dump-after", "nopass"], "OP10", "unknown pass nopass"), (["build", "-o", "no.rlx", "--dump-after", ""], "OP03", "empty"),
                         (["build", "-o", "no.rlx", "--opt", "0", "--dump-after", "plan_memory"], "OP10", "--opt 0"), (["build", "-o", "no.rlx", "--dump-after", "bind_params"], "OP10", "no part"),
                         (["print", "--pass", "plan_memory"], "OP21", "needs call_tir_rewrite"), (["print", "--pass", "legalize_ops,plan_memory"], "OP21", "run pass call_tir_rewrite first"),
                         (["print", "--pass", "call_tir_rewrite,plan_memory"], "OP21", "run pass legalize_ops first"), (["print", "--pass", "fold_constant{max_byte=3}"], "OP11", "no option max_byte"),
                         (["print", "--pass", "fold_constant{max_bytes=x}"], "OP11", "wrong kind"), (["print", "--pass", "bind_symbolic_vars{zz=4}"], "OP15", "zz"),
                         (["print", "--pass", "bind_symbolic_vars{n=four}"], "OP11", "n"), (["print", "--pass", "bind_symbolic_vars{n=4,function=nowhere}"], "OP15", "")):
    s.fails(" ".join(args), [args[0], "good.py", *args[1:]], code, text=text)
s.equal("nothing was built", os.path.exists(s.path("no.rlx")), False)
for passes, text in (("bind_symbolic_vars", ":n=4"), ("bind-symbolic-vars{}", ":n=4"), ("bind_params", "--params"), ("fold_constant{max_bytes}", "NAME=VALUE"), ("fold_constant{=3}", "NAME=VALUE"),
                     ("fold_constant{max_bytes=3", "no }"), ("fold_constant{}normalize", "comma")):
    s.fails(f"--pass {passes}", ["print", "good.py", "--pass", passes], None, 2, text=text)
rc, out, err = s.run("print", "good.py", "--pass", "bind-symbolic-vars{n=7,function=main},fold_constant{max_bytes=100,max_steps=5}")
s.check("options of passes", rc == 0 and not err and "(7, 3)" in out and '"n"' not in out, (rc, out, err))
rc, out, err = s.run("build", "good.py", "-o", "dump.rlx", "--dump-after", "plan-memory")
s.check("a hyphen in --dump-after", rc == 0 and out.count("# ---- after") == 1, (rc, out, err))
rc, lowered, err = s.run("print", "good.py", "--pass", LOWER)
s.write("lowered.py", lowered)
rc, out, err = s.run("print", "lowered.py", "--pass", "plan_memory")
s.equal("a module that was lowered before", (rc, out), (0, s.run("print", "good.py", "--pass", LOWER + ",plan_memory")[1]))
np.savez(s.path("w.npz"), x=np.zeros((2, 3), "float32"))
for args in (["--params", "w.npz"], ["--params", "w.npz", "--pass", "bind_params"], ["--params", "w.npz", "--pass", "normalize,bind_params"]):
    rc, out, err = s.run("print", "good.py", *args)
    s.check(f"print {args}", rc == 0 and not err and "metadata" in out, (rc, out, err))

# ---- what is no compiled file
s.run("build", "good.py", "-o", "whole.rlx")
whole = open(s.path("whole.rlx"), "rb").read()
np.save(s.path("some.npy"), np.zeros(3))
s.write("empty.rlx", b"")
for what, name in (("a text", "good.py"), ("an array", "some.npy"), ("nothing", "empty.rlx")):
    for args in ([], ["--verify"]):
        rc, out, err = s.run("dis", name, *args)
        s.check(f"dis of {what}", rc == 1 and not out and "error[LD" in err and err.count("\n") == 1, (rc, out, err))
for size in (5, 40, 200, len(whole) - 1):
    s.write("cut.rlx", whole[:size])
    rc, out, err = s.run("dis", "cut.rlx")
    s.check(f"dis of {size} bytes", rc == 1 and "error[LD" in err and "verified" not in out, (rc, out, err))
damaged = bytearray(whole)
damaged[len(whole) // 2] ^= 255
s.write("damaged.rlx", bytes(damaged))
rc, out, err = s.run("dis", "damaged.rlx")
s.check("dis of a damaged file", rc == 1 and out and "error[LD" in err, (rc, out, err))

# ---- where output goes
def raw(*args, **more):
    return subprocess.run([RELAX, *args], cwd=s.dir, stdin=subprocess.DEVNULL, capture_output=True, check=False, **more)


r = raw("build", "good.py", "-o", "-", "--target", "interp")
s.check("-o -", r.returncode == 0 and r.stdout[:4] == b"\x89RLX" and not r.stderr and not os.path.exists(s.path("-")), r.stderr)
s.write("piped.rlx", r.stdout)
s.equal("what came through the pipe", s.run("dis", "piped.rlx", "--verify")[0], 0)
for args in (["--emit", "c"], ["--dump-after", "all"]):
    s.fails(f"-o - {args}", ["build", "good.py", "-o", "-", *args], None, 2)
s.fails("run --output -", ["run", "good.py", "--output", "-"], None, 2)
controller, terminal = os.openpty()
r = subprocess.run([RELAX, "build", "good.py", "-o", "-"], cwd=s.dir, stdout=terminal, stderr=subprocess.PIPE, check=False)
s.check("-o - on a terminal", r.returncode == 2 and b"terminal" in r.stderr, r.stderr)
os.close(terminal), os.close(controller)
with open("/dev/full", "wb") as full:
    r = subprocess.run([RELAX, "build", "good.py", "-o", "-"], cwd=s.dir, stdout=full, stderr=subprocess.PIPE, check=False)
    s.check("-o - on a full device", r.returncode == 1 and b"IO02" in r.stderr, r.stderr)
os.mkdir(s.path("far"))
s.write("far/target.rlx", "old")
os.symlink("far/target.rlx", s.path("link.rlx"))
os.symlink("link.rlx", s.path("link2.rlx"))
os.symlink("nowhere/at/all", s.path("dangling.rlx"))
for name in ("link.rlx", "link2.rlx"):
    s.write("far/target.rlx", "old")
    s.equal(f"-o {name}", s.run("build", "good.py", "-o", name, "--target", "interp")[0], 0)
    s.check(f"-o {name}: the target", os.path.islink(s.path(name)) and open(s.path("far/target.rlx"), "rb").read(4) == b"\x89RLX" and os.listdir(s.path("far")) == ["target.rlx"])
s.fails("-o a link to nowhere", ["build", "good.py", "-o", "dangling.rlx"], "IO02")

# ---- files that become too large
for size in (0, 1000):
    r = raw("build", "good.py", "-o", "large.rlx", "--target", "interp", preexec_fn=lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    left = [name for name in os.listdir(s.dir) if name.startswith("large")]
    s.check(f"{size} bytes may be written", r.returncode == 1 and b"IO02" in r.stderr and not left, (r.returncode, r.stderr, left))

# ---- a large program goes to its file as it is made: the same as that which goes through a pipe, and nothing is left where it is ended
s.write("weights.py", '''@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((5, 1000), "float32"), a: R.Tensor((1000, 1200), "float32"), b: R.Tensor((1200, 1001), "float32")) -> R.Tensor((5, 1001), "float32"):
        with R.dataflow():
            y = R.matmul(x, a)
            z = R.matmul(y, b)
            R.output(z)
        return z
''')
np.savez(s.path("weights.npz"), a=np.random.RandomState(1).standard_normal((1000, 1200)).astype("float32"), b=np.ones((1200, 1001), "float32"))
BUILD = ["build", "weights.py", "--params", "weights.npz", "--target", "interp", "-o"]
s.equal("weights to a file", s.run(*BUILD, "weights.rlx"), (0, "", ""))
whole = open(s.path("weights.rlx"), "rb").read()
piped = subprocess.run([RELAX, *BUILD, "-"], cwd=s.dir, capture_output=True, check=False)
s.check("weights to a pipe: the same", piped.returncode == 0 and piped.stdout == whole and not piped.stderr, (piped.returncode, piped.stderr))
for size in (0, 100, 60000, 70000, 3 << 20, len(whole) - 1):
    r = raw(*BUILD, "large.rlx", preexec_fn=lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    left = [name for name in os.listdir(s.dir) if name.startswith("large")]
    s.check(f"{size} bytes of weights may be written", r.returncode == 1 and r.stderr.count(b"IO02") == 1 and r.stderr.count(b"\n") == 1 and not left, (r.returncode, r.stderr, left))
ended = 0
for ms in range(1, 40, 2):
    tool = subprocess.Popen([RELAX, *BUILD, "ended.rlx"], cwd=s.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(ms / 1000)
    tool.terminate()
    ended += tool.wait() != 0
    left = [name for name in os.listdir(s.dir) if name.startswith("ended.rlx.")]
    s.check(f"ended after {ms} ms: nothing is left", not left, left)
s.check("some were ended", ended > 0)

# ---- results that are text
s.write("text.py", '''@I.ir_module
class M:
    @R.function
    def main(x: R.Object) -> R.Object:
        t = (x, R.str("two\\nlines"), R.dtype("bfloat16"), R.prim_value(5))
        return t
''')
rc, out, err = s.run("run", "text.py", "--input", "str:grüße", "--output", "texts")
s.equal("texts", (rc, out, err), (0, '0: string "grüße"\n1: string "two\nlines"\n2: dtype bfloat16\n3: int64 () [5]\n', ""))
s.equal("files of texts", sorted(os.listdir(s.path("texts"))), ["0.txt", "1.txt", "2.txt", "3.npy"])
s.equal("texts as they are", [open(s.path(f"texts/{i}.txt"), encoding="utf-8").read() for i in range(3)], ["grüße", "two\nlines", "bfloat16"])

# ---- limits
LOOP = '''@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        cls = M
        y = cls.main(x)
        z = R.logical_not(y)
        return z
    @R.function
    def spin(x: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        cls = M
        y = cls.spin(x)
        return y
'''
s.write("loop.py", LOOP)
np.save(s.path("true.npy"), np.array(True))
s.fails("depth", ["run", "loop.py", "--input", "true.npy"], "RT11")
s.fails("depth given", ["run", "loop.py", "--input", "true.npy", "--max-depth", "50"], "RT11")
s.fails("timeout", ["run", "loop.py", "--entry", "spin", "--input", "true.npy", "--timeout", "0.2"], "RT12")
rc, out, err = s.run("run", "loop.py", "--input", "true.npy", "--entry", "spin", "--instruction-set", "mmx")
s.check("an unknown instruction set", rc != 0 and not out and "instruction set" in err, (rc, out, err))
np.save(s.path("x.npy"), np.ones((1000, 3), "float32"))
rc, out, err = s.run("run", "good.rlx", "--input", "x.npy", "--instruction-set", "baseline")
s.equal("an instruction set", (rc, out, err), s.run("run", "good.rlx", "--input", "x.npy"))
rc, out, err = s.run("run", "good.rlx", "--input", "x.npy", "--threads", "3")
s.equal("a number of threads", (rc, out, err), s.run("run", "good.rlx", "--input", "x.npy", "--threads", "1"))
s.fails("memory", ["run", "good.rlx", "--input", "x.npy", "--max-memory", "1000"], "RT10")
rc, out, err = s.run("run", "good.rlx", "--input", "x.npy", "--repeat", "5", "--profile", "p.json")
s.check("repeat and profile", rc == 0 and "median" in out and json.load(open(s.path("p.json"))), (rc, out, err))
s.done()
