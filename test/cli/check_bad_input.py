#!/usr/bin/env python3
"""Bad input of every kind: a clear error with code and place, exit 1, no crash, nothing left behind."""
import io
import os
import struct
import zipfile

import numpy as np

from cli_test import Suite

s = Suite()
GOOD = '''@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor(("n", 3), "float32"):
        with R.dataflow():
            z = R.add(x, y)
            R.output(z)
        return z
'''


def text_error(what, text, code=None, line=None):
    """Both check and build refuse the text, name a code and the line, and leave no file."""
    name = "bad.py"
    s.write(name, text)
    for args in (["check", name], ["build", name, "-o", "bad.rlx"]):
        rc, out, err = s.run(*args)
        ok = rc == 1 and "error[" in err and (code is None or f"error[{code}]" in err) and (line is None or f"{name}:{line}:" in err)
        s.check(f"{what}: {args[0]}", ok, f"exit {rc}: {err[:300]!r}")
    s.check(f"{what}: nothing written", not os.path.exists(s.path("bad.rlx")) and not [f for f in os.listdir(s.dir) if f.startswith("bad.rlx")])


# ---- malformed text
text_error("unclosed bracket", GOOD.replace("R.add(x, y)", "R.add(x, y"), line=6)
text_error("unclosed string", GOOD.replace('"float32"))', '"float32))', 1))
text_error("bad indentation", GOOD.replace("            z =", "          z ="))
text_error("unexpected indentation", GOOD.replace("        return", "          return"))
text_error("unknown variable", GOOD.replace("R.add(x, y)", "R.add(x, w)"), "PA10", 6)
text_error("unknown operator", GOOD.replace("R.add", "R.ad"), "PA11", 6)
text_error("unknown keyword", GOOD.replace("R.add(x, y)", "R.add(x, y, fast=True)"), line=6)
text_error("too few arguments", GOOD.replace("R.add(x, y)", "R.add(x)"), line=6)
text_error("a dtype of no legal width", GOOD.replace("float32", "float33"), "WF20", 4)
text_error("no return", GOOD.replace("        return z\n", ""))
text_error("two functions of one name", GOOD + GOOD[GOOD.index("    @R.function"):])
text_error("not UTF-8", GOOD.encode().replace(b"R.add(x", b"R.add(\xff\xfex"))
text_error("NUL byte", GOOD.replace("R.add(x", "R.add(\0x"))
text_error("NUL byte at the end", GOOD + "\0")
text_error("nothing", "")
text_error("only a comment", "# nothing here\n")
text_error("not a program", "hello world\n")
text_error("a huge number", GOOD.replace("(3,)", "(" + "9" * 5000 + ",)"))
text_error("deep nesting", GOOD.replace("R.add(x, y)", "(" * 5000 + "x" + ")" * 5000), line=6)
text_error("binary", bytes(range(256)) * 20)
rc, out, err = s.run("check", s.write("several.py", GOOD.replace("R.add(x, y)", "R.add(x, w)").replace("return z", "return q")))
s.check("several errors of one file are reported", err.count("error[") >= 2 and "several.py:6:" in err and "several.py:8:" in err, err)

# ---- ill-formed and ill-typed modules
text_error("wrong dtype", GOOD.replace('(3,), "float32"', '(3,), "int32"'), "TY08", 6)
text_error("sizes that clash", GOOD.replace("(3,)", "(4,)"), "TY08", 6)
text_error("result against annotation", GOOD.replace('-> R.Tensor(("n", 3)', '-> R.Tensor(("n", 4)'), "TY07")
text_error("impure call in a pure function", GOOD.replace("        return z", '        u = R.print(z, format="x")\n        return z'), "PU02")
text_error("impure call in dataflow", GOOD.replace("            R.output", '            u = R.call_packed("f", z, sinfo_args=R.Object)\n            R.output'), "PU01")
text_error("unbound shape variable", GOOD.replace("            R.output", '            k = T.int64()\n            v = R.zeros(R.shape([k]), "float32")\n            R.output'), "WF05")
text_error("composite dimension only", GOOD.replace('("n", 3), "float32"), y', '("n * m", 3), "float32"), y'))
text_error("symbol differs from the name", GOOD.replace("        with R", '        R.func_attr({"global_symbol": "other"})\n        with R'), "WF13")
text_error("call of a tensor", GOOD.replace("R.add(x, y)", "x(y)"), "TY02")

LOCAL = '''@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    @R.function
    def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        w = R.add(y, x)
        return w
    z = inner(x)
    return z
'''
s.write("local.py", LOCAL)
s.equal("local functions are checked", s.run("check", "local.py"), (0, "", ""))
rc, out, err = s.run("build", "local.py", "-o", "local.rlx")
s.check("local functions are built", rc == 0 and not err and os.path.exists(s.path("local.rlx")), err)

# ---- arguments of a run
s.write("good.py", GOOD)
s.equal("build", s.run("build", "good.py", "-o", "good.rlx"), (0, "", ""))
ok = {"x": np.ones((2, 3), "float32"), "y": np.ones(3, "float32")}
for name, array in ok.items():
    np.save(s.path(name + ".npy"), array)
s.equal("run", s.run("run", "good.rlx", "--input", "x.npy", "--input", "y.npy")[0], 0)
for what, array, code in (("dtype", np.ones((2, 3), "float64"), "RT03"), ("rank", np.ones(6, "float32"), "RT04"), ("size", np.ones((2, 4), "float32"), "RT05")):
    np.save(s.path("wrong.npy"), array)
    s.fails(f"argument of wrong {what}", ["run", "good.rlx", "--input", "wrong.npy", "--input", "y.npy", "--output", "never"], code)
s.fails("argument of wrong kind", ["run", "good.rlx", "--input", "int64:5", "--input", "y.npy"], "RT02")
s.fails("too few arguments", ["run", "good.rlx", "--input", "x.npy"], "RT01")
s.fails("too many arguments", ["run", "good.rlx", "--input", "x.npy", "--input", "y.npy", "--input", "y.npy"], "RT01")
s.check("no results of failed runs", not os.path.exists(s.path("never")))

# ---- weights of a build
for what, weights in (("dtype", {"y": np.ones(3, "float64")}), ("rank", {"y": np.ones((3, 1), "float32")}), ("size", {"y": np.ones(4, "float32")})):
    np.savez(s.path("w.npz"), **weights)
    rc, out, err = s.run("build", "good.py", "-o", "w.rlx", "--params", "w.npz")
    s.check(f"weight of wrong {what}", rc == 1 and "error[" in err and "y" in err and not os.path.exists(s.path("w.rlx")), err)
np.savez(s.path("w.npz"), nobody=np.ones(3, "float32"))
rc, out, err = s.run("build", "good.py", "-o", "w.rlx", "--params", "w.npz")
s.check("weight that no function has", rc == 1 and "nobody" in err and not os.path.exists(s.path("w.rlx")), err)

# ---- what fails while running
PACKED = '''@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), take: R.Tensor((), "bool")) -> R.Object:
        if take:
            r = R.call_pure_packed("nobody.has.this", x, sinfo_args=R.Object)
        else:
            r = R.call_pure_packed("vm.builtin.null_value", sinfo_args=R.Object)
        return r
    @R.function
    def cast(x: R.Tensor("float32", ndim=1)) -> R.Tensor((4,), "float32"):
        y = R.match_cast(x, R.Tensor((4,), "float32"))
        return y
    @R.function
    def claim(x: R.Tensor("float32", ndim=1)) -> R.Tensor((4,), "float32"):
        y: R.Tensor((4,), "float32") = R.add(x, x)
        return y
'''
s.write("packed.py", PACKED)
np.save(s.path("v.npy"), np.ones(3, "float32"))
np.save(s.path("four.npy"), np.ones(4, "float32"))
np.save(s.path("yes.npy"), np.array(True))
s.fails("missing packed function", ["run", "packed.py", "--input", "v.npy", "--input", "yes.npy"], "RT08", text="nobody.has.this")
s.fails("failing match_cast", ["run", "packed.py", "--entry", "cast", "--input", "v.npy"], "RT06")
s.equal("match_cast that holds", s.run("run", "packed.py", "--entry", "cast", "--input", "four.npy")[0], 0)
s.fails("annotation that does not hold", ["run", "packed.py", "--entry", "claim", "--input", "v.npy"], "RT06")

INDEX = '''@I.ir_module
class M:
    @T.prim_func
    def pick(A: T.Buffer((4,), "float32"), I: T.Buffer((2,), "int64"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.block("pick"):
                v = T.axis.spatial(2, i)
                T.reads(A[0:4], I[v])
                T.writes(B[v])
                B[v] = A[I[v]]
    @R.function
    def main(a: R.Tensor((4,), "float32"), i: R.Tensor((2,), "int64")) -> R.Tensor((2,), "float32"):
        cls = M
        r = R.call_tir(cls.pick, (a, i), out_sinfo=R.Tensor((2,), "float32"))
        return r
'''
s.write("index.py", INDEX)
np.save(s.path("i.npy"), np.array([0, 3]))
np.save(s.path("far.npy"), np.array([0, 4]))
np.save(s.path("before.npy"), np.array([-1, 0]))
s.equal("indices in range", s.run("run", "index.py", "--input", "four.npy", "--input", "i.npy")[0], 0)
s.fails("index beyond the end", ["run", "index.py", "--input", "four.npy", "--input", "far.npy"], "RT09")
s.fails("index before the begin", ["run", "index.py", "--input", "four.npy", "--input", "before.npy"], "RT09")

# ---- damaged compiled files: every truncation of a sample, every byte changed in a sample
image = open(s.path("good.rlx"), "rb").read()
step = max(1, len(image) // 150)
refused = {"truncated": 0, "flipped": 0}
for n in range(0, len(image), step):
    s.write("cut.rlx", image[:n])
    rc, out, err = s.run("run", "cut.rlx", "--input", "x.npy", "--input", "y.npy")
    # Below four bytes it is not recognisable as a compiled file and is read as text.
    s.check(f"truncated at {n}", rc == 1 and ("error[LD" in err or n < 4), (rc, err[:200]))
    refused["truncated"] += rc == 1
for n in range(4, len(image), step):
    flipped = bytearray(image)
    flipped[n] ^= 1 << (n % 8)
    s.write("flip.rlx", bytes(flipped))
    rc, out, err = s.run("run", "flip.rlx", "--input", "x.npy", "--input", "y.npy")
    s.check(f"flipped at {n}", rc in (0, 1) and (rc == 0 or "error[" in err), (rc, err[:200]))
    refused["flipped"] += rc == 1
s.check("nearly every flip is noticed", refused["flipped"] > 0.9 * len(range(4, len(image), step)), refused)
s.fails("empty file", ["run", s.write("empty.rlx", b"")], None)

# ---- arrays that lie
good = io.BytesIO()
np.save(good, ok["x"])
npy = good.getvalue()


def lies(what, data, code):
    s.write("lie.npy", data)
    s.fails(what, ["run", "good.rlx", "--input", "lie.npy", "--input", "y.npy"], code)


lies("not an array", b"hello", "NP01")
lies("array cut in its header", npy[:40], "NP02")
lies("array cut in its data", npy[:-3], "NP04")
lies("array with more data", npy + b"1234", "NP04")
lies("shape larger than the data", npy.replace(b"(2, 3)", b"(9, 3)"), "NP04")
lies("shape of astronomical size", npy.replace(b"(2, 3), }    ", b"(2, 9223372036854775807), }")[:len(npy)], None)
lies("header length beyond the file", npy[:8] + struct.pack("<H", 60000) + npy[10:], "NP02")
lies("unknown version", npy[:6] + b"\x09" + npy[7:], "NP02")
lies("malformed header", npy.replace(b"'shape'", b"'shade'"), "NP02")
lies("negative size", npy.replace(b"(2, 3)", b"(-2, 3)"[:6]), "NP02")
for what, array in (("objects", np.array([{}, {}], dtype=object)), ("text", np.array(["a", "b"])), ("big-endian", np.ones((2, 3), ">f4")),
                    ("complex", np.ones((2, 3), "complex64")), ("records", np.zeros(2, [("a", "f4")]))):
    data = io.BytesIO()
    np.save(data, array, allow_pickle=True)
    lies(what, data.getvalue(), "NP03")


def archive(what, data, code, member="y"):
    s.write("lie.npz", data)
    s.fails(what, ["run", "good.rlx", "--input", "x.npy", "--input", f"lie.npz:{member}"], code)
    if member == "y":
        s.fails(what + " as weights", ["run", "good.rlx", "--input", "x.npy", "--params", "lie.npz"], code)


def zipped(**options):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as z:
        data = io.BytesIO()
        np.save(data, ok["y"])
        z.writestr("y.npy", data.getvalue())
    return out.getvalue()


stored, deflated = zipped(), zipped(compression=zipfile.ZIP_DEFLATED)
np.savez(s.path("ok.npz"), y=ok["y"])
s.equal("member of an archive", s.run("run", "good.rlx", "--input", "x.npy", "--input", "ok.npz:y")[0], 0)
archive("no archive", b"hello" * 100, "NP05")
archive("no such member", stored, "NP06", member="w")
archive("archive cut in half", stored[:len(stored) // 2], "NP05")
archive("archive without its directory", stored[:-40], "NP05")
archive("changed data under the old checksum", stored.replace(b"\x00\x00\x80\x3f", b"\x00\x00\x80\x40", 1), "NP09")
central = stored.rindex(b"PK\x01\x02")
for size in (7, 1 << 20, 0xFFFFFFF0):
    for at, where in ((central, 24), (0, 22)):
        lying = bytearray(stored)
        lying[at + where:at + where + 4] = struct.pack("<I", size)
        s.write("lie.npz", bytes(lying))
        rc, out, err = s.run("run", "good.rlx", "--input", "x.npy", "--input", "lie.npz:y")
        s.check(f"archive that states {size} bytes at {where}", rc == 1 and "error[NP" in err or (rc == 0 and at == 0), (rc, err[:200]))
bomb = io.BytesIO()
with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("y.npy", npy[:128] + b"\0" * (64 << 20))
archive("an array of zeros with the wrong size", bomb.getvalue(), "NP04")
with zipfile.ZipFile(bomb, "w", zipfile.ZIP_BZIP2) as z:
    z.writestr("y.npy", npy)
s.write("lie.npz", bomb.getvalue())
s.fails("another compression", ["run", "good.rlx", "--input", "x.npy", "--input", "lie.npz:y"], "NP07")
for n in range(0, len(stored), 7):
    flipped = bytearray(stored)
    flipped[n] ^= 0x55
    s.write("lie.npz", bytes(flipped))
    rc, out, err = s.run("run", "good.rlx", "--input", "x.npy", "--input", "lie.npz:y")
    s.check(f"archive changed at {n}", rc in (0, 1) and (rc == 0 or "error[" in err), (rc, err[:200]))

s.fails("missing input", ["run", "good.rlx", "--input", "nowhere.npy", "--input", "y.npy"], "IO01")
s.fails("directory as input", ["run", "good.rlx", "--input", ".", "--input", "y.npy"], "IO01")
s.write("afile", "x")
s.fails("file in place of the output directory", ["run", "good.rlx", "--input", "x.npy", "--input", "y.npy", "--output", "afile"], "IO03")
s.done()
