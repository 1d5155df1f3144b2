#!/usr/bin/env python3
"""Constants that are written: a constant is a new tensor each time it is evaluated. Whoever has a name for that tensor sees what is
written, the next evaluation sees the constant. At every level, by bytecode and as C, also for what the passes make of a program."""
import os
import re
import shutil

import numpy as np

from cli_test import Suite

s = Suite()
HEAD = """@I.ir_module
class M:
    @T.prim_func
    def inc(a: T.handle):
        A = T.match_buffer(a, (3,), "float32")
        for i in range(3):
            A[i] = A[i] + T.float32(1)

    @T.prim_func
    def add_to(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (3,), "float32")
        B = T.match_buffer(b, (3,), "float32")
        for i in range(3):
            B[i] = B[i] + A[i]

    @R.function(pure=False)
    def bump(x: R.Tensor((3,), "float32")) -> R.Tuple():
        cls = M
        _ = cls.inc(x)
        return R.tuple()

    @R.function
    def same(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return x

    @R.function
    def fresh() -> R.Tensor((3,), "float32"):
        return R.const([1.0, 2.0, 3.0], "float32")

"""
C = 'R.const([1.0, 2.0, 3.0], "float32")'
ONE = np.array([1, 2, 3], "float32")
# Each a body, and how often each result was incremented; None: not of the constant.
CASES = {
    "a name, written twice": (f"c = {C}\n_ = cls.inc(c)\n_1 = cls.inc(c)\nreturn (c,)", [2]),
    "an alias": (f"c = {C}\nd = c\n_ = cls.inc(c)\n_1 = cls.inc(d)\ne = d\nreturn (c, d, e)", [2, 2, 2]),
    "two constants of one content": (f"c = {C}\nd = {C}\n_ = cls.inc(c)\nreturn (c, d)", [1, 0]),
    "two that are both written": (f"c = {C}\nd = {C}\n_ = cls.inc(c)\n_1 = cls.inc(d)\n_2 = cls.inc(d)\nreturn (c, d)", [1, 2]),
    "in a tuple": (f"c = {C}\nt = (c, c)\ne = t[1]\n_ = cls.inc(e)\nf = t[0]\nreturn (c, e, f)", [1, 1, 1]),
    "written out in a tuple": (f"t = ({C}, {C})\na = t[0]\nb = t[1]\n_ = cls.inc(a)\nd = t[0]\nreturn (a, b, d)", [1, 0, 1]),
    "a nested tuple": (f"c = {C}\nt = ((c, {C}), c)\nu = t[0]\na = u[1]\n_ = cls.inc(a)\nv = u[0]\nreturn (c, a, v)", [0, 1, 0]),
    "a cast": (f'c = {C}\nd = R.match_cast(c, R.Tensor((3,), "float32"))\n_ = cls.inc(d)\nreturn (c, d)', [1, 1]),
    "a branch gives it": (f"c = {C}\nif yes:\n    y = c\nelse:\n    y = x\n_ = cls.inc(y)\nreturn (c, y)", [1, 1]),
    "a branch makes it": (f"if yes:\n    y = {C}\nelse:\n    y = x\n_ = cls.inc(y)\nreturn (y,)", [1]),
    "written in a branch": (f"c = {C}\nif yes:\n    _ = cls.inc(c)\n    y = c\nelse:\n    y = x\nreturn (c, y)", [1, 1]),
    "passed as it is": (f"_ = cls.inc({C})\n_1 = cls.bump({C})\nc = {C}\nreturn (c,)", [0]),
    "a function writes it": (f"c = {C}\n_ = cls.bump(c)\n_1 = cls.bump(c)\nreturn (c,)", [2]),
    "a function gives it back": (f"c = {C}\nd = cls.same(c)\n_ = cls.inc(d)\nreturn (c, d)", [1, 1]),
    "a function makes it": ("a = cls.fresh()\n_ = cls.inc(a)\nb = cls.fresh()\nreturn (a, b)", [1, 0]),
    "in place": (f'c = {C}\nd = R.call_tir_inplace(cls.inc, (c,), [0], R.Tensor((3,), "float32"))\nreturn (c, d)', [1, 1]),
    "in place twice": (f'c = {C}\nd = R.call_tir_inplace(cls.inc, (c,), [0], R.Tensor((3,), "float32"))\n'
                       'e = R.call_tir_inplace(cls.inc, (d,), [0], R.Tensor((3,), "float32"))\nreturn (c, e)', [2, 2]),
    "in a dataflow block": (f'with R.dataflow():\n    c = {C}\n    d = R.call_tir_inplace(cls.inc, (c,), [0], R.Tensor((3,), "float32"))\n'
                            '    R.output(c, d)\nreturn (c, d)', [1, 1]),
    "computed from constants": (f"c = {C}\nd = R.multiply(c, R.const(1.0, \"float32\"))\n_ = cls.inc(d)\nreturn (c, d)", [0, 1]),
    "read between writes": (f'c = {C}\na = R.add(c, R.const(0.0, "float32"))\n_ = cls.inc(c)\nb = R.add(c, R.const(0.0, "float32"))\n_1 = cls.inc(c)\nreturn (a, b, c)', [0, 1, 2]),
    "beside one that is read": (f'c = {C}\nd = R.const([1.0, 1.0, 1.0], "float32")\n_ = cls.add_to(d, c)\n_1 = cls.add_to(d, c)\nreturn (c,)', [2]),
}


def module(text):
    body = "".join(f"        {line}\n" for line in text.splitlines())
    signature = '(x: R.Tensor((3,), "float32"), yes: R.Tensor((), "bool"))'
    inner = f"    @R.function(pure=False)\n    def once{signature}:\n        cls = M\n{body}\n"
    # A second evaluation is as the first: by a caller, by itself.
    outer = f"    @R.function(pure=False)\n    def main{signature}:\n        cls = M\n        a = cls.once(x, yes)\n        b = cls.once(x, yes)\n        return (a, b)\n"
    return HEAD + inner + outer


def judge(what, file, want, *options):
    rc, out, err = s.run("run", file, "--input", "x.npy", "--input", "yes.npy", "--no-warn", "PU06", *options)
    if s.equal(f"{what}: runs", rc, 0) is False:
        print(err)
        return
    line = " ".join(f"[{', '.join(f'{v:g}' for v in ONE + k)}]" for k in want + want)
    s.equal(what, " ".join(re.findall(r"\[[^]]*\]", out)), line)


np.save(s.path("x.npy"), np.array([10, 20, 30], "float32"))
np.save(s.path("yes.npy"), np.array(True))
TARGETS = ["interp"] + (["c"] if shutil.which(os.environ.get("RELAX_CC") or "cc") else [])
PASSES = ["fold_constant", "dead_code_elimination", "eliminate_common_subexpr", "convert_to_dataflow", "copy_constants", "copy_constants,canonicalize_bindings,fold_constant,dead_code_elimination", "to_non_dataflow,fold_constant"]
for name, (text, want) in CASES.items():
    s.write("p.py", module(text))
    for level in "012":
        judge(f"{name}, level {level}", "p.py", want, "--opt", level, "--target", "interp")
    if "c" in TARGETS:
        judge(f"{name}, as C", "p.py", want, "--target", "c", "--cache", "")
    for passes in PASSES:
        rc, out, err = s.run("print", "p.py", "--pass", passes, "--no-warn", "PU06")
        if s.equal(f"{name}: {passes}", rc, 0):
            s.write("q.py", out)
            judge(f"{name} after {passes}", "q.py", want)

# A function that calls itself has a constant of its own in each call.
s.write("r.py", HEAD + f"""    @R.function(pure=False)
    def again(n: R.Prim("int64"), x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = M
        c = {C}
        _ = cls.inc(c)
        _1 = cls.add_to(c, x)
        return x

    @R.function(pure=False)
    def deep(x: R.Tensor((3,), "float32"), go: R.Tensor((), "bool")) -> R.Tensor((3,), "float32"):
        cls = M
        c = {C}
        _ = cls.inc(c)
        if go:
            y = cls.deep(c, R.const(False, "bool"))
        else:
            y = c
        _1 = cls.add_to(y, c)
        return c

    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32"), yes: R.Tensor((), "bool")):
        cls = M
        a = cls.deep(x, yes)
        return (a,)
""")
for level in "012":
    rc, out, err = s.run("run", "r.py", "--input", "x.npy", "--input", "yes.npy", "--opt", level, "--target", "interp", "--no-warn", "PU06")
    s.equal(f"recursion, level {level}", (rc, out), (0, "0: float32 (3,) [6, 9, 12]\n"))

# Weights that a function writes into: one tensor for all that names the parameter.
s.write("w.py", HEAD + """    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32"), w: R.Tensor(("n",), "float32")):
        cls = M
        n = T.int64()
        y = R.add(x, w)
        with R.dataflow():
            z = R.add(w, y)
            R.output(z)
        _ = cls.inc(w)
        v = w
        _1 = cls.inc(v)
        return (y, w, v)
""")
np.savez(s.path("w.npz"), w=ONE)
for level in "012":
    rc, out, err = s.run("build", "w.py", "--params", "w.npz", "-o", "w.rlx", "--opt", level, "--no-warn", "PU06,TY04")
    for n in (1, 2):
        rc, out, err = s.run("run", "w.rlx", "--input", "x.npy")
        s.equal(f"bound weights, level {level}, run {n}", out, "0: float32 (3,) [11, 22, 33]\n1: float32 (3,) [3, 4, 5]\n2: float32 (3,) [3, 4, 5]\n")
s.done()
