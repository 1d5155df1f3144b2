#!/usr/bin/env python3
"""Programs on tensors of unknown rank and dtype: chains, branches, loops, tuples, closures, casts; two ranks in turn; what fails and how; counters."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import Suite
from relax_run import Failed, Module, lib

s = Suite()
HEAD = "@I.ir_module\nclass M:\n"


def f32(*shape):
    return np.arange(int(np.prod(shape)), dtype="float32").reshape(shape) - 2


def programs(text):
    """Compiled at each level."""
    module = Module(HEAD + "\n".join("    " + line for line in text.strip("\n").split("\n")))
    return [module.compile(level) for level in (0, 1, 2)]


def runs(name, text, *cases):
    for level, exe in enumerate(programs(text)):
        for i, (args, want) in enumerate(cases):
            try:
                got = exe.call("main", args)
                good = len(got) == len(want) and all(g.dtype == w.dtype and np.array_equal(g, w) for g, w in zip(got, want))
                s.check(f"{name}, case {i} at level {level}", good, f"got {got}, wanted {want}")
            except Failed as e:
                s.check(f"{name}, case {i} at level {level}", False, f"{e.code} {e}")


def fails(name, text, args, code, *said):
    for level, exe in enumerate(programs(text)):
        try:
            got = exe.call("main", args)
            s.check(f"{name} at level {level}", False, f"it ran: {got}")
        except Failed as e:
            s.check(f"{name} at level {level}", e.code == code and all(t in str(e) for t in said), f"{e.code} {e}")


def counters(exe):
    c = lib.new("relax_vm_counters")
    c.struct_size = ctypes.sizeof(c)
    lib.relax_vm_get_counters(exe.vm, c)
    return c


a, b, v = f32(2, 3), f32(2, 3) * 3, f32(3)

# ---- what runs
runs("a chain", """
@R.function
def main(x: R.Tensor, y: R.Tensor):
    with R.dataflow():
        a = R.add(x, y)
        b = R.negative(a)
        c = R.multiply(b, y)
        R.output(c)
    return c
""", ([a, b], [-(a + b) * b]), ([v, b], [-(v + b) * b]), ([a.astype("int8"), b.astype("int8")], [-(a + b).astype("int8") * b.astype("int8")]), ([f32(0, 3), v], [f32(0, 3)]))
runs("the same tensor twice, then two", """
@R.function
def main(x: R.Tensor, y: R.Tensor):
    a = R.add(x, x)
    b = R.add(y, x)
    return (a, b)
""", ([a, v], [a + a, v + a]), ([a, a], [a + a, a + a]), ([a, f32(1, 3)], [a + a, f32(1, 3) + a]), ([f32(1, 3), a], [f32(1, 3) * 2, f32(1, 3) + a]))
runs("branches of different ranks", """
@R.function
def main(c: R.Tensor((), "bool"), x: R.Tensor("float32", ndim=1), y: R.Tensor("float32", ndim=2)):
    if c:
        r = R.negative(x)
    else:
        r = R.add(y, y)
    z = R.add(r, r)
    return z
""", ([np.array(True), v, a], [-v * 2]), ([np.array(False), v, a], [a * 4]))
runs("a loop that adds a dimension each time", """
@R.function
def main(n: R.Tensor((), "int64"), x: R.Tensor) -> R.Tensor:
    cls = M
    c = R.greater(n, R.const(0, "int64"))
    if c:
        m = R.subtract(n, R.const(1, "int64"))
        y = R.expand_dims(x, axis=0)
        z = R.add(y, x)
        r = cls.main(m, z)
    else:
        r = R.negative(x)
    return r
""", ([np.array(3), v], [-v.reshape(1, 1, 1, 3) * 8]), ([np.array(0), a], [-a]))
runs("tuples", """
@R.function
def main(t: R.Tuple(R.Tensor, R.Tensor)):
    c = R.concat(t, axis=0)
    s = R.split(c, 2, axis=0)
    p = s[0]
    q = R.add(p, t[1])
    return (q, s)
""", ([[a, a]], [a + a, a, a]), ([[v, v]], [v + v, v, v]))
runs("a closure and a cast of what it gives", """
@R.function
def main(x: R.Tensor, y: R.Tensor("float32", ndim=2)):
    n, m = T.int64(), T.int64()
    @R.function
    def f(z: R.Tensor) -> R.Tensor:
        r = R.add(z, x)
        return r
    a = f(y)
    b = R.match_cast(a, R.Tensor((n, m), "float32"))
    c = R.reshape(b, R.shape([m, n]))
    return c
""", ([v, a], [(v + a).reshape(3, 2)]))
runs("sizes of the program", """
@R.function
def main(x: R.Tensor, y: R.Tensor(("n", "m"), "float32")):
    n, m = T.int64(), T.int64()
    a = R.broadcast_to(x, R.shape([2, n, m]))
    b = R.reshape(x, R.shape([m, 1]))
    c = R.strided_slice(y, axes=[0], begin=(R.prim_value(n - 1),), end=(R.prim_value(n),))
    return (a, b, c)
""", ([v, a], [np.broadcast_to(v, (2, 2, 3)), v.reshape(3, 1), a[1:]]))
runs("shapes of any rank", """
@R.function
def main(x: R.Tensor, s: R.Shape):
    a = R.broadcast_to(x, s)
    b = R.zeros(s, "int32")
    c = R.reshape(a, R.shape_of(b))
    return (c, b)
""", ([v, "shape:2,3"], [np.broadcast_to(v, (2, 3)), np.zeros((2, 3), "int32")]), ([v, "shape:2,1,3"], [np.broadcast_to(v, (2, 1, 3)), np.zeros((2, 1, 3), "int32")]))
runs("results that depend on sizes", """
@R.function
def main(x: R.Tensor):
    a = R.squeeze(x)
    b = R.add(a, x)
    return (a, b)
""", ([f32(1, 3, 1)], [f32(3), f32(3) + f32(1, 3, 1)]), ([f32(3, 1)], [f32(3), f32(3) + f32(3, 1)]), ([f32(1, 3, 1) * 2], [f32(3) * 2, (f32(3) + f32(1, 3, 1)) * 2]))
runs("a function of the module with unknown operands", """
@R.function(private=True)
def twice(x: R.Tensor) -> R.Tensor:
    y = R.add(x, x)
    return y
@R.function
def main(x: R.Tensor, y: R.Tensor):
    cls = M
    a = cls.twice(x)
    b = cls.twice(y)
    c = cls.twice(a)
    return (b, c)
""", ([a, v.astype("float64")], [v.astype("float64") * 2, a * 4]))
runs("a known operand beside an unknown one", """
@R.function
def main(x: R.Tensor, w: R.Tensor((3, 4), "float32")):
    y = R.matmul(x, w)
    z = R.add(y, R.const(1.0, "float32"))
    return z
""", ([a, f32(3, 4)], [a @ f32(3, 4) + 1]), ([v, f32(3, 4)], [v @ f32(3, 4) + 1]))
runs("dtypes that only the run knows", """
@R.function
def main(x: R.Tensor, y: R.Tensor(ndim=1)):
    a = R.astype(x, "float64")
    b = R.astype(y, "float64")
    c = R.add(a, b)
    return c
""", ([a.astype("int8"), v], [a.astype("float64") + v]), ([a.astype("float16"), v.astype("uint8")], [a.astype("float64") + v.astype("uint8")]))
big = f32(200, 300)
runs("large operands", """
@R.function
def main(x: R.Tensor, y: R.Tensor):
    a = R.add(x, y)
    b = R.sum(a, axis=[0])
    return (a, b)
""", ([big, big[:1]], [big + big[:1], (big + big[:1]).sum(axis=0, dtype="float32")]))

# ---- what fails
ADD = """
@R.function
def main(x: R.Tensor, y: R.Tensor):
    z = R.add(x, y)
    return z
"""
fails("dtypes that differ", ADD, [a, a.astype("int32")], "RT21", "R.add(x, y)", "dtypes differ", 'R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "int32")')
fails("sizes that do not broadcast", ADD, [a, f32(2)], "RT05", "R.add(x, y)", "sizes do not broadcast")
fails("a rank that the operator cannot take", "@R.function\ndef main(x: R.Tensor):\n    z = R.nn.conv2d(x, x)\n    return z", [a], "RT21", "R.nn.conv2d(x)", "data has rank 2")
fails("an axis out of range", "@R.function\ndef main(x: R.Tensor):\n    z = R.sum(x, axis=[2])\n    return z", [a], "RT21", "axis")
fails("sizes that a kernel checks", "@R.function\ndef main(x: R.Tensor, y: R.Tensor):\n    z = R.matmul(x, y)\n    return z", [a, a], "RT05", "R.matmul(x, y)")
fails("a cast that does not hold", "@R.function\ndef main(x: R.Tensor):\n    y = R.negative(x)\n    z = R.match_cast(y, R.Tensor(ndim=1))\n    return z", [a], "RT06", "match_cast of z")
fails("a stated result that does not hold", "@R.function\ndef main(x: R.Tensor) -> R.Tensor(ndim=1):\n    y = R.negative(x)\n    return y", [a], "RT07")

s.write("p.py", HEAD + "".join(f"    {line}\n" for line in ADD.strip("\n").split("\n")))
np.save(s.path("x.npy"), a)
np.save(s.path("y.npy"), a.astype("int32"))
rc, out, err = s.run("run", "p.py", "--input", "x.npy", "--input", "y.npy")
s.check("the binding and its place", rc == 1 and "error[RT21]: R.add(x, y)" in err and "in main, binding z (p.py:5:9)" in err, err)

# ---- what is kept
exe = programs(ADD)[2]
for i in range(3):
    exe.call("main", [a, b])
    exe.call("main", [f32(4, 5), f32(4, 5)])
c = counters(exe)
s.equal("one program for any sizes", (c.late_calls, c.late_compiled, c.late_kept), (6, 1, 1))
exe.call("main", [v, v])
exe.call("main", [a, v])
exe.call("main", [a.astype("int32"), b.astype("int32")])
c = counters(exe)
s.equal("one for each rank, dtype and broadcast", (c.late_calls, c.late_compiled), (9, 4))
for i in range(200):
    exe.call("main", [a, b])
s.equal("a better one where it is called often", counters(exe).late_compiled, 5)
exe = programs("@R.function\ndef main(x: R.Tensor):\n    z = R.squeeze(x)\n    return z")[2]
for i in range(1, 1200):
    exe.call("main", [np.zeros((1, i), "int8")])
c = counters(exe)
s.check("no more than 1,024 are kept", c.late_kept <= 1024 and c.late_compiled == 1199, f"{c.late_kept} {c.late_compiled}")
s.check("the oldest went", len(exe.call("main", [np.zeros((1, 1), "int8")])) == 1 and counters(exe).late_compiled == 1200)

# ---- compiled ahead
TWO = """
@I.ir_module
class M:
    @R.function(private=True)
    def half(x: R.Tensor) -> R.Tensor:
        y = R.multiply(x, R.const(0.5, "float32"))
        return y
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor, y: R.Tensor):
        cls = M
        z = R.add(x, y)
        if c:
            r = cls.half(z)
        else:
            r = R.negative(z)
        t = R.sum(r, axis=[0])
        u = R.concat((t, t), axis=0)
        return (r, u)
"""
for level in (0, 2):
    exe = Module(TWO).compile(level, ranks=["x=1,2", "y=2"], dtypes=["x=float32", "y=float32"], no_late=True)
    for flag in (True, False):
        for x in (a, v, f32(1, 3)):
            r = (x + b) * np.float32(0.5) if flag else -(x + b)
            try:
                got = exe.call("main", [np.array(flag), x, b])
                good = np.array_equal(got[0], r) and np.array_equal(got[1], np.concatenate([r[0] + r[1]] * 2))
                s.check(f"ahead, {flag}, {x.shape} at level {level}", good, got)
            except Failed as e:
                s.check(f"ahead, {flag}, {x.shape} at level {level}", False, f"{e.code} {e}")
    s.equal(f"nothing was compiled late at level {level}", counters(exe).late_compiled, 0)
    try:
        exe.call("main", [np.array(True), a.astype("float64"), b.astype("float64")])
        s.check("what was not compiled ahead", False)
    except Failed as e:
        s.check("what was not compiled ahead", e.code == "RT22" and "R.add(x, y)" in str(e), f"{e.code} {e}")
for said in ({"ranks": ["w=2"]}, {"ranks": ["x"]}, {"ranks": ["x="]}, {"ranks": ["x=2,"]}, {"ranks": ["x=65"]}, {"ranks": ["=1"]}, {"dtypes": ["x=float31"]},
             {"ranks": ["x=" + ",".join(map(str, range(20))), "y=" + ",".join(map(str, range(20)))]}):
    try:
        Module(TWO).compile(1, **said)
        s.check(f"{said} is refused", False)
    except Failed as e:
        s.check(f"{said} is refused", e.code in ("OP03", "OP15"), f"{e.code} {e}")
# ---- a compiler of the host
asked = []


def with_compiler(answer):
    """A VM over ADD whose late compiler is `answer`."""
    module = Module(HEAD + "".join(f"    {line}\n" for line in ADD.strip("\n").split("\n")))
    exe = module.compile(1)
    options, out, error = lib.new("relax_vm_options"), lib.out("relax_vm"), lib.out("relax_error")
    lib.relax_vm_options_init(options, ctypes.sizeof(options))
    options.late = type(options.late)(answer)
    lib.relax_vm_release(exe.vm)
    exe.vm = None
    assert lib.relax_vm_create(exe.handle, options, out.ref, error.ref) == lib.RELAX_OK
    exe.vm, exe.kept = out.value, options
    return exe


def host_compiler(answer):
    """What a call of such a VM gives, or its code, and what it says."""
    exe = with_compiler(answer)
    try:
        return exe.call("main", [a, b]), ""
    except Failed as e:
        return e.code, str(e)


def forwards(user, request):
    asked.append(ctypes.string_at(request.contents.program, request.contents.program_len).decode())
    return lib.relax_late_compile(None, request)


def delivers(content):
    def answer(user, request):
        buffer = ctypes.create_string_buffer(content, len(content))
        request.contents.deliver(request.contents.reply, ctypes.cast(buffer, ctypes.c_void_p), len(content))
        return lib.RELAX_OK
    return answer


def explains(status):
    def answer(user, request):
        request.contents.explain(request.contents.reply, b"not today", 9)
        return status
    return answer


def compiled(text):
    s.write("one.py", text)
    s.equal("compiles", s.run("build", "one.py", "-o", "one.rlx", "--no-warn", "TY01")[0], 0)
    with open(s.path("one.rlx"), "rb") as f:
        return f.read()


got, said = host_compiler(forwards)
s.check("a host forwards", not said and np.array_equal(got[0], a + b), f"{got} {said}")
s.equal("what it was asked for", asked, ['@R.function\ndef main(a0: R.Tensor(("d0", "d1"), "float32"), a1: R.Tensor(("d0", "d1"), "float32")) -> R.Tensor:\n    r = R.add(a0, a1)\n    return r\n'])
for what, answer, code, text in (
        ("refuses", explains(lib.RELAX_ERROR_CODEGEN), "RT21", "not today"),
        ("has no memory", explains(lib.RELAX_ERROR_OUT_OF_MEMORY), "RT10", ""),
        ("was cancelled", explains(lib.RELAX_ERROR_CANCELLED), "RT12", ""),
        ("says nothing", lambda user, request: lib.RELAX_OK, "RT21", "cannot be compiled"),
        ("delivers what is no file", delivers(b"no file"), "RT21", "too few for a compiled Relax file"),
        ("delivers a file without main", delivers(compiled("@R.function\ndef f(x: R.Tensor):\n    return x\n")), "RT21", "no function main"),
        ("delivers a late call", delivers(compiled("@R.function\ndef main(x: R.Tensor, y: R.Tensor):\n    z = R.add(x, y)\n    return z\n")), "RT21", "no function main"),
        ("delivers another number of parameters", delivers(compiled("@R.function\ndef main(x: R.Tensor):\n    return x\n")), "RT21", "takes 1 arguments"),
        ("delivers another result", delivers(compiled("@R.function\ndef main(x: R.Tensor, y: R.Tensor):\n    return R.shape([2])\n")), "RT06", ""),
        ("delivers other parameters", delivers(compiled("@R.function\ndef main(x: R.Tensor(ndim=1), y: R.Tensor):\n    return x\n")), "RT04", "R.add(x, y)")):
    got, said = host_compiler(answer)
    s.check(f"a host {what}", got == code and text in said, f"{got} {said}")

# A compiler that calls the VM that asks it: with other signatures, with the same one, with what fails, with more than a VM keeps.
def rank(n, dtype="float32", last=2):
    return np.arange(last, dtype=dtype).reshape((1,) * (n - 1) + (last,))


def calls_again(nested):
    """While the first program is compiled, and when it is compiled better, `nested` says what main is called with."""
    state = {"depth": 0, "wrong": []}

    def answer(user, request):
        if not state["depth"]:
            state["depth"] = 1
            for x, y, want in nested:
                try:
                    got = state["exe"].call("main", [x, y])[0]
                    good = want is not None and got.dtype == want.dtype and np.array_equal(got, want)
                except Failed as e:
                    good = want is None and e.code in ("RT05", "RT21")
                if not good:
                    state["wrong"].append((x.shape, x.dtype))
            state["depth"] = 0
        return lib.relax_late_compile(None, request)
    state["exe"] = with_compiler(answer)
    return state


three, six = rank(3, "int8"), rank(1, "float64")
many = [(rank(n, d), rank(n, d, k), rank(n, d) + rank(n, d, k)) for n in range(1, 17) for d in ("int8", "int16", "int32", "int64", "float32", "float64", "uint8", "uint16", "uint32") for k in (1, 2)]
for name, nested in (("other signatures", [(three, three, three + three), (six, six, six + six)]), ("the same signature", [(a, b, a + b), (a, a, a + a)]),
                     ("a failure", [(a, f32(5), None), (three, three, three + three)]), ("nothing", []), ("more than a VM keeps", many)):
    state = calls_again(nested)
    exe = state["exe"]
    rows = [(a, b), (three, three), (six, six), (b, a)] + [(x, y) for x, y, want in nested if want is not None]
    good = True
    for turn in range(1 if len(nested) > 10 else 70):  # often enough to be compiled better
        good = good and all(np.array_equal(exe.call("main", [x, y])[0], x + y) and exe.call("main", [x, y])[0].dtype == x.dtype for x, y in rows)
    s.check(f"a compiler that calls its VM: {name}", good and not state["wrong"], f"{state['wrong']}")
    if len(nested) < 10:
        s.equal(f"a compiler that calls its VM, {name}: programs", counters(exe).late_kept, 4 if name == "a failure" else 3)

# As C, where the host allows its late compiler to start one: only what is asked for again.
def native_late():
    """Whether the program was asked for briefly, and how many native kernels it then had, of each request."""
    options, how = lib.new("relax_late_options"), lib.new("relax_compile_options")
    lib.relax_late_options_init(options, ctypes.sizeof(options))
    lib.relax_compile_options_init(how, ctypes.sizeof(how))
    how.target, how.allow_compiler, how.compiler, how.opt_level = b"c", 1, os.environ.get("CC", "cc").encode(), 2
    options.compile = ctypes.pointer(how)
    given = []

    def answer(user, request):
        copy = type(request.contents)()
        ctypes.memmove(ctypes.byref(copy), request, ctypes.sizeof(copy))

        def deliver(reply, file, size):
            load, out, error = lib.new("relax_load_options"), lib.out("relax_executable"), lib.out("relax_error")
            lib.relax_load_options_init(load, ctypes.sizeof(load))
            load.allow_native = 1
            lib.relax_executable_load(file, size, load, out.ref, error.ref)
            given.append((request.contents.brief, lib.relax_executable_num_native_kernels(out.value) > 0))
            lib.relax_executable_release(out.value)
            request.contents.deliver(reply, file, size)
        copy.deliver = type(request.contents.deliver)(deliver)
        return lib.relax_late_compile(ctypes.cast(ctypes.pointer(options), ctypes.c_void_p), ctypes.byref(copy))
    exe = with_compiler(answer)
    results = [exe.call("main", [a, b])[0] for _ in range(100)]
    return given, all(np.array_equal(r, a + b) for r in results)


given, good = native_late()
s.equal("a better one is machine code", (given, good), ([(1, False), (0, True)], True))

# Cancelled in the middle of compiling: at each place where the compiler asks.
def cancelled_at(k):
    """The call's failure or result, how often the compiler asked, and what the next call gives."""
    flag, asked = ctypes.c_int32(0), [0]

    def answer(user, request):
        copy = type(request.contents)()
        ctypes.memmove(ctypes.byref(copy), request, ctypes.sizeof(copy))
        theirs = copy.cancelled

        def asks(reply):
            asked[0] += 1
            flag.value |= asked[0] == k
            return theirs(reply)
        copy.cancelled = type(theirs)(asks)
        return lib.relax_late_compile(None, ctypes.byref(copy))
    exe = with_compiler(answer)
    lib.relax_vm_set_cancel_flag(exe.vm, ctypes.byref(flag))
    try:
        said = exe.call("main", [a, b])[0]
    except Failed as e:
        said = e.code
    flag.value, times = 0, asked[0]
    k = -1
    return said, times, exe.call("main", [a, b])[0]


_, places, _ = cancelled_at(0)
s.check("the compiler asks whether it is cancelled", places > 2, places)
for k in range(1, places + 1):
    said, times, after = cancelled_at(k)
    s.check(f"cancelled at place {k}", isinstance(said, str) and said == "RT12" and np.array_equal(after, a + b), f"{said} {times} {after}")

s.write("two.py", TWO)
s.write("squeeze.py", "@R.function\ndef main(x: R.Tensor):\n    y = R.squeeze(x)\n    return y\n")
s.equal("by the tool", s.run("build", "two.py", "-o", "two.rlx", "--ranks", "x=2", "--ranks", "y=2", "--dtypes", "x=float32", "--dtypes=y=float32"), (0, "", ""))
rc, out, err = s.run("build", "squeeze.py", "-o", "squeeze.rlx", "--ranks", "x=2", "--dtypes", "x=float32")
s.check("what needs sizes is told", rc == 0 and err.count("warning[CG18]") == 1, err)
s.done()
