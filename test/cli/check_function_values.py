#!/usr/bin/env python3
"""What programs mean whose functions are values: closures over tensors, sizes and each other, function struct info checked by casts, packed
functions and PrimFuncs as values, what aliases see, calls of the VM by what it calls, unknown ranks. Every program runs at all levels and as C; the
results, or the code and the words of the failure, are the same."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import Suite
from relax_run import Failed, Module, lib, text

s = Suite()
HEAD = "@I.ir_module\nclass M:\n"
CC = os.environ.get("CC", "cc")
WAYS = ((0, "interp"), (1, "interp"), (2, "interp"), (2, "c"))


# ---- packed functions
def give_back(exe, args, count, result):
    lib.relax_value_keep(args, result)


def call_first(exe, args, count, result):
    """The first argument, a function, is called with the others."""
    error = lib.out("relax_error")
    if lib.relax_vm_call_value(exe.vm, args, ctypes.cast(ctypes.byref(args[1]), type(args)), count - 1, result, error.ref) != lib.RELAX_OK:
        lib.relax_error_release(error.value)
        raise Failed("", "it failed")


def call_inner(exe, args, count, result):
    error = lib.out("relax_error")
    if lib.relax_vm_call(exe.vm, *text("main2"), args, 1, result, error.ref) != lib.RELAX_OK:
        lib.relax_error_release(error.value)
        raise Failed("", "it failed")


def three_floats(args, i):
    data = lib.relax_tensor_data(lib.relax_value_get_tensor(ctypes.byref(args[i])))
    return np.ctypeslib.as_array(ctypes.cast(data, ctypes.POINTER(ctypes.c_float)), (3,))


def double_in_place(exe, args, count, result):
    three_floats(args, 0)[:] *= 2


def add_one(exe, args, count, result):
    three_floats(args, 1)[:] = three_floats(args, 0) + 1


PACKED = {"id": give_back, "call1": call_first, "again": call_inner, "times2": double_in_place, "dps": add_one}


# ---- programs
def same(got, want):
    want = np.asarray(want)
    return got.dtype == want.dtype and got.shape == want.shape and np.array_equal(got, want)


def runs(name, program, *cases, native=True):
    """cases: arguments, and the results, or "CODE|words of the message"."""
    module = Module(HEAD + "\n".join("    " + line for line in program.strip("\n").split("\n")))
    for level, target in WAYS if native else WAYS[:3]:
        exe = module.compile(level, target, compiler=CC, packed=PACKED, max_depth=200000)
        for i, (args, want) in enumerate(cases):
            what = f"{name}, case {i} at level {level}, {target}"
            try:
                got = exe.call("main", args)
                s.check(what, not isinstance(want, str) and len(got) == len(want) and all(map(same, got, want)), f"got {got}, wanted {want}")
            except Failed as e:
                code, *words = want.split("|") if isinstance(want, str) else ("",)
                s.check(what, e.code == code and all(w in str(e) for w in words), f"{e.code} {e}, wanted {want}")


T3 = 'R.Tensor((3,), "float32")'
x, y, z = np.array([1, 2, 3], "float32"), np.array([10, 20, 30], "float32"), np.arange(6, dtype="float32").reshape(2, 3)

runs("capture tensor","""
@R.function
def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
    @R.function
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        r = R.add(a, y)
        return r
    p = f(x)
    q = f(p)
    return (p, q)
""",([x,y],[x+y,x+y+y]))
runs("shape variable captured","""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    @R.function
    def f(a: R.Tensor((n,), "float32")) -> R.Tensor((2 * n,), "float32"):
        r = R.concat((a, x), axis=0)
        s = R.shape([n])
        return r
    p = f(x)
    q0 = R.shape([n * 2, 7])
    q = R.shape_to_tensor(q0)
    return (p, q)
""",([x],[np.concatenate([x,x]),np.array([6,7])]),([x[:1]],[np.concatenate([x[:1]]*2),np.array([2,7])]))
runs("own placeholder at two sizes","""
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    n, m = T.int64(), T.int64()
    @R.function
    def f(a: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
        k = T.int64()
        r = R.add(a, a)
        return r
    p = f(x)
    q = f(y)
    c = R.concat((p, q), axis=0)
    return c
""",([x,y[:2]],[np.concatenate([x*2,y[:2]*2])]),([x[:0],y],[np.concatenate([x[:0]*2,y*2])]))
runs("no parameters","""
@R.function
def main(x: R.Tensor((3,), "float32")):
    @R.function
    def f() -> R.Tensor((3,), "float32"):
        r = R.add(x, x)
        return r
    @R.function
    def g() -> R.Tensor((3,), "float32"):
        a = f()
        b = f()
        r = R.add(a, b)
        return r
    p = g()
    return p
""",([x],[x*4]))
runs("recursive with capture","""
@R.function
def main(x: R.Tensor((3,), "float32"), n: R.Tensor((), "int64")):
    @R.function
    def loop(i: R.Tensor((), "int64"), acc: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        c = R.less(i, n)
        if c:
            i1 = R.add(i, R.const(1, "int64"))
            a1 = R.add(acc, x)
            r = loop(i1, a1)
        else:
            r = acc
        return r
    z = R.zeros(R.shape([3]), "float32")
    p = loop(R.const(0, "int64"), z)
    return p
""",([x,np.array(5)],[x*5]),([x,np.array(0)],[x*0]))
runs("not a tail call, deep","""
@R.function
def main(n: R.Tensor((), "int64")):
    @R.function
    def f(i: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        c = R.greater(i, R.const(0, "int64"))
        if c:
            j = R.subtract(i, R.const(1, "int64"))
            s = f(j)
            r = R.add(s, i)
        else:
            r = i
        return r
    p = f(n)
    return p
""",([np.array(1000)],[np.array(500500)]),([np.array(99990)],[np.array(99990*99991//2)]),([np.array(300000)],"RT11|calls are active"), native=False)
runs("tail calls 10^6 through a value","""
@R.function(pure=False)
def main(n: R.Tensor((), "int64")):
    k = R.const(1, "int64")
    @R.function(pure=False)
    def f(i: R.Tensor((), "int64"), s: R.Tensor((), "int64"), g: R.Object) -> R.Tensor((), "int64"):
        c = R.greater(i, R.const(0, "int64"))
        if c:
            j = R.subtract(i, k)
            t = R.add(s, i)
            r: R.Tensor((), "int64") = R.invoke_closure(g, (j, t, g), sinfo_args=(R.Tensor((), "int64"),))
        else:
            r: R.Tensor((), "int64") = s
        return r
    o = R.call_packed("id", f, sinfo_args=(R.Object,))
    p = R.invoke_closure(o, (n, R.const(0, "int64"), o), sinfo_args=(R.Tensor((), "int64"),))
    return p
""",([np.array(1000000)],[np.array(500000500000)]), native=False)
runs("chosen by If, captured different things","""
@R.function
def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
    @R.function
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        r = R.add(a, x)
        return r
    @R.function
    def g(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        r = R.multiply(a, y)
        return r
    if c:
        h = f
    else:
        h = g
    p = h(x)
    q = h(p)
    return q
""",([x,y,np.array(True)],[x*3]),([x,y,np.array(False)],[x*y*y]))
runs("chosen among three kinds","""
@R.function
def g(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    r = R.multiply(a, a)
    return r
@R.function
def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool"), d: R.Tensor((), "bool")):
    cls = M
    @R.function
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        r = R.add(a, x)
        return r
    if c:
        h1 = cls.g
        if d:
            h: R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")) = h1
        else:
            h: R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")) = f
        k = h
    else:
        k = f
    p = k(x)
    return p
""",([x,np.array(True),np.array(True)],[x*x]),([x,np.array(True),np.array(False)],[x*2]),([x,np.array(False),np.array(False)],[x*2]))
runs("in tuples, nested, with sizes","""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    @R.function
    def f(a: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        r = R.add(a, x)
        return r
    @R.function
    def g(a: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        m = T.int64()
        r = R.negative(a)
        return r
    t = (f, (g, x))
    u = t[1]
    a = t[0]
    b = u[0]
    v = u[1]
    p = a(v)
    q = b(p)
    return q
""",([x],[-(x+x)]),([x[:0]],[x[:0]]))
runs("made in a recursion, list of closures","""
@R.function
def main(x: R.Tensor((3,), "float32"), n: R.Tensor((), "int64")):
    cls = M
    @R.function
    def zero(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return a
    h = cls.wrap(n, zero, x)
    p = h(x)
    return p
@R.function
def wrap(n: R.Tensor((), "int64"), f: R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")), x: R.Tensor((3,), "float32")) -> R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")):
    cls = M
    c = R.greater(n, R.const(0, "int64"))
    @R.function
    def g(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        b = f(a)
        r = R.add(b, x)
        return r
    if c:
        m = R.subtract(n, R.const(1, "int64"))
        h = cls.wrap(m, g, x)
    else:
        h: R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")) = f
    return h
""",([x,np.array(0)],[x]),([x,np.array(4)],[x*5]),([x,np.array(3000)],[x*3001]))
runs("invoke_pure_closure, make_closure","""
@R.function(private=True)
def f(a: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), c: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    t = R.subtract(a, b)
    r = R.multiply(t, c)
    return r
@R.function
def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
    cls = M
    k = R.make_closure(cls.f, (y, x))
    p = R.invoke_pure_closure(k, (x,), sinfo_args=(R.Tensor((3,), "float32"),))
    k2 = R.make_closure(cls.f, (x,))
    k3 = R.make_closure(k2, (y,))
    q = R.invoke_pure_closure(k3, (x,), sinfo_args=(R.Tensor((3,), "float32"),))
    return (p, q)
""",([x,y],[(x-y)*x,(x-y)*x]))
runs("make_closure with a wrong capture fails each time, also after a right one","""
@R.function(private=True)
def f(a: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    r = R.add(a, b)
    return r
@R.function
def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32"), w: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")):
    cls = M
    k = R.make_closure(cls.f, (y,))
    p = R.invoke_pure_closure(k, (x,), sinfo_args=(R.Tensor((3,), "float32"),))
    p2 = R.invoke_pure_closure(k, (p,), sinfo_args=(R.Tensor((3,), "float32"),))
    b = R.make_closure(cls.f, (w,))
    if c:
        k5: R.Object = b
    else:
        k5: R.Object = k
    q = R.invoke_pure_closure(k5, (p2,), sinfo_args=(R.Tensor((3,), "float32"),))
    return q
""",([x,y,z,np.array(False)],[x+y*3]),([x,y,z,np.array(True)],"RT04|argument 2 (b) of f"))
runs("a site meets functions that take, and do not take, what it passes","""
@R.function(private=True)
def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    r = R.add(a, a)
    return r
@R.function(private=True)
def g(a: R.Tensor((2, 3), "float32")) -> R.Tensor((3,), "float32"):
    r = R.sum(a, axis=[0])
    return r
@R.function(private=True)
def h(a: R.Object) -> R.Object:
    return a
@R.function
def main(x: R.Tensor((3,), "float32"), i: R.Tensor((), "int64")):
    cls = M
    c = R.equal(i, R.const(0, "int64"))
    d = R.equal(i, R.const(1, "int64"))
    if c:
        k: R.Object = cls.f
    else:
        if d:
            k0: R.Object = cls.g
        else:
            k0: R.Object = cls.h
        k: R.Object = k0
    p = R.invoke_pure_closure(k, (x,), sinfo_args=(R.Tensor((3,), "float32"),))
    q = R.invoke_pure_closure(k, (p,), sinfo_args=(R.Tensor((3,), "float32"),))
    return q
""",([x,np.array(0)],[x*4]),([x,np.array(1)],"RT04|argument 1"),([x,np.array(2)],[x]))
runs("a result that is not what the site says","""
@R.function(private=True)
def f(a: R.Tensor((3,), "float32")) -> R.Object:
    r = R.reshape(a, R.shape([3, 1]))
    return r
@R.function(private=True)
def g(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    return a
@R.function
def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
    cls = M
    if c:
        k: R.Object = cls.f
    else:
        k: R.Object = cls.g
    p = R.invoke_pure_closure(k, (x,), sinfo_args=(R.Tensor((3,), "float32"),))
    q = R.add(p, x)
    return q
""",([x,np.array(False)],[x*2]),([x,np.array(True)],"RT06|expected 1"))
def cast_to(sig):
    return f"""
@R.function
def f(a: R.Tensor(("n",), "float32"), b: R.Tensor((3,), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    r = R.add(a, a)
    return r
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    cls = M
    o = R.call_packed("id", cls.f, sinfo_args=(R.Object,))
    g = R.match_cast(o, {sig})
    return x
"""
fits = [([x],[x])]
for sig in (f"R.Callable(({T3}, {T3}), {T3}, True)", f"R.Callable((R.Tensor, R.Tensor), R.Object, True)", 
            f"R.Callable((R.Tensor((5,), 'float32'), {T3}), R.Tensor((5,), 'float32'), False)", "R.Callable((R.Object, R.Object), R.Object, False)", "R.Object"):
    runs("cast to "+sig,cast_to(sig),*fits, native=False)
for sig,code in ((f"R.Callable(({T3},), {T3}, True)","RT06|takes 2 arguments, expected 1"),(f"R.Callable(({T3}, R.Tensor((4,), 'float32')), {T3}, True)","RT06|another signature"),
                 (f"R.Callable(({T3}, {T3}), R.Tensor((3,3), 'float32'), True)","RT06|another signature"),(f"R.Callable(({T3}, {T3}), R.Shape, True)","RT06"),
                 (f"R.Callable((R.Tensor((3,), 'int8'), {T3}), R.Object, True)","RT06"),(T3,"RT06|found a function"),("R.Tuple(R.Object)","RT06|function"),("R.Shape","RT06")):
    runs("cast to "+sig,cast_to(sig),([x],code), native=False)
runs("cast of an impure function to a pure one","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    @R.function(pure=False)
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        _ = R.print(a, format="")
        return a
    o = R.call_packed("id", f, sinfo_args=(R.Object,))
    g = R.match_cast(o, R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32"), True))
    return x
""",([x],"RT06|impure"), native=False)
runs("sizes captured show in the cast","""
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    @R.function
    def f(a: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        r = R.add(a, x)
        return r
    o = R.call_packed("id", f, sinfo_args=(R.Object,))
    g = R.match_cast(o, R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32"), True))
    p = g(R.const([1, 2, 3], "float32"))
    return p
""",([x],[x * 2]),([x[:2]],"RT06|signature"))
runs("tensors are no functions","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    o = R.call_packed("id", x, sinfo_args=(R.Object,))
    p = R.invoke_closure(o, (x,), sinfo_args=(R.Object,))
    return x
""",([x],"RT18|no function"), native=False)
runs("host calls a closure, a packed function, a primfunc, a global","""
@T.prim_func(private=True)
def pf(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.block("b"):
            v = T.axis.spatial(3, i)
            B[v] = A[v] * T.float32(3)
@R.function
def g(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    r = R.multiply(a, a)
    return r
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    cls = M
    @R.function
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        r = R.add(a, x)
        return r
    p = R.call_packed("call1", f, x, sinfo_args=(R.Tensor((3,), "float32"),))
    q = R.call_packed("call1", cls.g, p, sinfo_args=(R.Tensor((3,), "float32"),))
    e = R.ExternFunc("id")
    u = R.call_packed("call1", e, q, sinfo_args=(R.Tensor((3,), "float32"),))
    out = R.zeros(R.shape([3]), "float32")
    _ = R.call_packed("call1", cls.pf, u, out, sinfo_args=(R.Tuple,))
    return (p, q, u, out)
""",([x],[x*2,x*x*4,x*x*4,x*x*12]))
runs("host calls a closure with what it does not take","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32"), y: R.Tensor((2,), "float32")):
    @R.function
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        r = R.add(a, x)
        return r
    p = R.call_packed("call1", f, y, sinfo_args=(R.Tensor((3,), "float32"),))
    return p
""",([x,y[:2]],"RT16"), native=False)
runs("mutation through a capture is seen","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    b = R.add(x, x)
    @R.function
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        r = R.add(a, b)
        return r
    p = f(x)
    _ = R.call_packed("times2", b, sinfo_args=(R.Object,))
    q = f(x)
    t = (b, b)
    _1 = R.call_packed("times2", t[0], sinfo_args=(R.Object,))
    u = t[1]
    v = R.add(u, R.const([0, 0, 0], "float32"))
    return (p, q, v)
""",([x],[x*3,x*5,x*8]))
runs("the host's tensor is mutated only where the program says","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    y = x
    z = R.reshape(x, R.shape([3]))
    w = R.add(z, R.const([0, 0, 0], "float32"))
    _ = R.call_packed("times2", w, sinfo_args=(R.Object,))
    k = R.const([1, 1, 1], "float32")
    _1 = R.call_packed("times2", k, sinfo_args=(R.Object,))
    k2 = R.const([1, 1, 1], "float32")
    return (x, y, w, k2)
""",([x],[x,x,x*2,np.ones(3,"float32")]),([x],[x,x,x*2,np.ones(3,"float32")]))
runs("call_tir_inplace","""
@T.prim_func(private=True)
def dbl(A: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.block("b"):
            v = T.axis.spatial(3, i)
            A[v] = A[v] + A[v]
@R.function
def main(x: R.Tensor((3,), "float32")):
    cls = M
    with R.dataflow():
        a = R.add(x, x)
        b = R.call_tir_inplace(cls.dbl, (a,), inplace_indices=[0], out_sinfo=R.Tensor((3,), "float32"))
        c = R.call_tir_inplace(cls.dbl, (b,), inplace_indices=[0], out_sinfo=R.Tensor((3,), "float32"))
        R.output(c)
    return c
""",([x],[x*8]))
runs("call_dps_packed, closure in between","""
@R.function
def main(x: R.Tensor((3,), "float32")):
    @R.function
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        r = R.call_dps_packed("dps", (a,), out_sinfo=R.Tensor((3,), "float32"))
        return r
    p = f(x)
    q = f(p)
    return q
""",([x],[x+2]))
runs("primfunc chosen as a value","""
@T.prim_func(private=True)
def p1(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.block("b"):
            v = T.axis.spatial(3, i)
            B[v] = A[v] * T.float32(3)
@T.prim_func(private=True)
def p2(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.block("b"):
            v = T.axis.spatial(3, i)
            B[v] = A[v] * T.float32(5)
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
    cls = M
    if c:
        k: R.Object = cls.p1
    else:
        k: R.Object = cls.p2
    out = R.zeros(R.shape([3]), "float32")
    _ = R.invoke_closure(k, (x, out), sinfo_args=(R.Tuple,))
    return out
""",([x,np.array(True)],[x*3]),([x,np.array(False)],[x*5]))
runs("missing packed function fails only when reached","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
    if c:
        p: R.Tensor((3,), "float32") = R.call_packed("nobody", x, sinfo_args=(R.Tensor((3,), "float32"),))
    else:
        p: R.Tensor((3,), "float32") = x
    return p
""",([x,np.array(False)],[x]),([x,np.array(True)],"RT08|nobody"), native=False)
runs("closure over a match_cast size","""
@R.function
def main(x: R.Tensor):
    n, m = T.int64(), T.int64()
    y = R.match_cast(x, R.Tensor((n, m), "float32"))
    @R.function
    def f(a: R.Tensor((m,), "float32")) -> R.Tensor((n, m), "float32"):
        b = R.broadcast_to(a, R.shape([n, m]))
        r = R.add(b, y)
        return r
    s = R.sum(y, axis=[0])
    p = f(s)
    return p
""",([z],[z+z.sum(0)]),([x],"RT06|match_cast of y: rank is 1, expected 2"),([z.astype("int8")],"RT06|dtype"))
runs("recursion over unknown rank","""
@R.function
def main(x: R.Tensor, n: R.Tensor((), "int64")):
    @R.function
    def f(a: R.Tensor, i: R.Tensor((), "int64")) -> R.Tensor:
        c = R.greater(i, R.const(0, "int64"))
        if c:
            b = R.expand_dims(a, axis=[0])
            d = R.concat((b, b), axis=0)
            j = R.subtract(i, R.const(1, "int64"))
            r = f(d, j)
        else:
            r = a
        return r
    p = f(x, n)
    return p
""",([x,np.array(3)],[np.broadcast_to(x,(2,2,2,3))]),([z.astype("int8"),np.array(0)],[z.astype("int8")]),([x,np.array(16)],"RT21|rank"))
runs("unknown branches meet","""
@R.function
def main(x: R.Tensor, y: R.Tensor, c: R.Tensor((), "bool")):
    if c:
        a = R.matmul(x, y)
    else:
        a = R.add(x, y)
    b = R.sum(a)
    d = R.negative(a)
    return (b, d)
""",([z,z.T.copy(),np.array(True)],[(z@z.T).sum(),-(z@z.T)]),([z,x,np.array(False)],[(z+x).sum(),-(z+x)]),([z,z,np.array(True)],"RT05"),([z,x[:2],np.array(False)],"RT05"))
runs("closure that takes anything","""
@R.function
def main(x: R.Tensor, y: R.Tensor(dtype="float32")):
    @R.function
    def f(a: R.Tensor) -> R.Tensor:
        r = R.add(a, y)
        return r
    p = f(x)
    q = f(p)
    return q
""",([x,y],[x+y+y]),([z,x],[z+x+x]),([np.float32(2),x],[2+x+x]))
runs("nested captures with sizes of both levels","""
@R.function
def main(x: R.Tensor(("n", "m"), "float32")):
    n, m = T.int64(), T.int64()
    @R.function
    def outer(y: R.Tensor(("a",), "float32")) -> R.Tensor("float32", ndim=1):
        a = T.int64()
        @R.function
        def inner(z: R.Tensor(("b",), "float32")) -> R.Tensor("float32", ndim=1):
            b = T.int64()
            r = R.ones(R.shape([a * n + m * b]), "float32")
            return r
        w = R.concat((y, y), axis=0)
        s = inner(w)
        t = inner(y)
        u = R.concat((s, t), axis=0)
        return u
    f = R.flatten(x)
    p = outer(f)
    q = outer(R.const([1, 2], "float32"))
    return (p, q)
""",([z],[np.ones(6*2+3*12+6*2+3*6,"float32"),np.ones(2*2+3*4+2*2+3*2,"float32")]))
runs("closures that share one capture; one mutates it","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    b = R.add(x, R.const([0, 0, 0], "float32"))
    @R.function(pure=False)
    def w() -> R.Tuple:
        _ = R.call_packed("times2", b, sinfo_args=(R.Object,))
        return R.tuple()
    @R.function
    def r(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        s = R.add(b, y)
        return s
    p = r(x)
    _1 = w()
    q = r(x)
    _2 = w()
    t = r(x)
    return (p, q, t)
""",([x],[x*2,x*3,x*5]))
runs("identity result is the argument or a copy; mutation after","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    b = R.multiply(x, R.const([1, 1, 1], "float32"))
    @R.function
    def idf(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return y
    c = idf(b)
    d = (c, b)
    e = d[0]
    _ = R.call_packed("times2", e, sinfo_args=(R.Object,))
    return (b, c)
""",([x],[x*2,x*2]))
runs("operators give new tensors even where they do nothing","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    b = R.add(x, R.const([0, 0, 0], "float32"))
    c = R.reshape(b, R.shape([3]))
    d = R.astype(b, "float32")
    e = R.permute_dims(b, axes=[0])
    f = R.broadcast_to(b, R.shape([3]))
    g = R.concat((b,), axis=0)
    h = R.strided_slice(b, axes=[0], begin=[0], end=[3])
    i = R.squeeze(b)
    k = R.flatten(b)
    l = R.nn.dropout(b)
    l0 = l[0]
    _ = R.call_packed("times2", b, sinfo_args=(R.Object,))
    return (b, c, d, e, f, g, h, i, k, l0)
""",([x],[x*2]+[x]*9))
runs("unknown rank: operators give new tensors","""
@R.function(pure=False)
def main(x: R.Tensor):
    b = R.add(x, x)
    c = R.reshape(b, R.shape([3]))
    d = R.astype(b, "float32")
    f = R.squeeze(b)
    k = R.flatten(b)
    _ = R.call_packed("times2", b, sinfo_args=(R.Object,))
    return (b, c, d, f, k)
""",([x],[x*4]+[x*2]*4))
runs("re-entrance with late calls","""
@R.function
def main2(x: R.Tensor):
    y = R.add(x, x)
    z = R.expand_dims(y, axis=[0])
    return z
@R.function(pure=False)
def main(x: R.Tensor):
    y = R.add(x, x)
    z = R.call_packed("again", y, sinfo_args=(R.Tensor,))
    w = R.add(z, y)
    u = R.call_packed("again", w, sinfo_args=(R.Tensor,))
    v = R.sum(u)
    return (w, v)
""",([x],[(x*6).reshape(1,3),np.float32((x*12).sum())]),([z],[(z*6).reshape(1,2,3),np.float32((z*12).sum())]))
runs("If in a closure with early constants","""
@R.function
def main(c: R.Tensor((), "bool"), x: R.Tensor((3,), "float32")):
    @R.function
    def f(d: R.Tensor((), "bool")) -> R.Tuple(R.Tensor((3,), "float32"), R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32"))):
        @R.function
        def g(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            if d:
                r = R.add(a, x)
            else:
                r = R.subtract(a, x)
            return r
        k = R.const([1, 1, 1], "float32")
        return (k, g)
    t = f(c)
    h = t[1]
    k = t[0]
    y = h(k)
    e = R.logical_not(c)
    t2 = f(e)
    h2 = t2[1]
    y2 = h2(y)
    return y2
""",([np.array(True),x],[np.ones(3,"float32")]),([np.array(False),x],[np.ones(3,"float32")]))
runs("mutual recursion of globals through values","""
@R.function
def even(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
    cls = M
    c = R.equal(n, R.const(0, "int64"))
    if c:
        r: R.Tensor((), "bool") = R.const(True, "bool")
    else:
        m = R.subtract(n, R.const(1, "int64"))
        o = cls.odd
        r: R.Tensor((), "bool") = o(m)
    return r
@R.function
def odd(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
    cls = M
    c = R.equal(n, R.const(0, "int64"))
    if c:
        r: R.Tensor((), "bool") = R.const(False, "bool")
    else:
        m = R.subtract(n, R.const(1, "int64"))
        e = cls.even
        r: R.Tensor((), "bool") = e(m)
    return r
@R.function
def main(n: R.Tensor((), "int64")):
    cls = M
    r = cls.even(n)
    return r
""",([np.array(10)],[np.array(True)]),([np.array(100001)],[np.array(False)]))
runs("two sizes at one closure value after match_cast","""
@R.function
def main(t: R.Tuple(R.Tensor, R.Tensor)):
    n = T.int64()
    @R.function
    def f(a: R.Tensor(("k",), "float32"), b: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
        k = T.int64()
        r = R.add(a, b)
        return r
    x = t[0]
    y = t[1]
    u = R.match_cast(x, R.Tensor((n,), "float32"))
    m = T.int64()
    v = R.match_cast(y, R.Tensor((m,), "float32"))
    p = f(u, u)
    q = f(v, v)
    r = R.match_cast(v, R.Tensor((n,), "float32"))
    s = f(u, r)
    return (p, q, s)
""",([[x,y]],[x*2,y*2,x+y]),([[x,y[:2]]],"RT06|dimension 0 is 2, expected n = 3"))
runs("wrong sizes inside a closure","""
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    n, m = T.int64(), T.int64()
    @R.function
    def f(a: R.Tensor(("k",), "float32"), b: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
        k = T.int64()
        r = R.add(a, b)
        return r
    p = f(x, y)
    return p
""",([x,y],[x+y]),([x,y[:2]],"RT05|argument 2 (b) of"))
runs("result annotation that lies","""
@R.function
def main(x: R.Tensor):
    @R.function
    def f(a: R.Tensor) -> R.Tensor((3,), "float32"):
        r = R.add(a, x)
        return r
    p = f(x)
    q = R.negative(p)
    return q
""",([x],[-2*x]),([z],"RT07|rank is 2, expected 1"))
runs("null object captured, string, dtype","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32")):
    k = R.null_value()
    @R.function(pure=False)
    def f(a: R.Tensor((3,), "float32"), u: R.Object) -> R.Object:
        t = (a, k, u)
        return t
    p = f(x, R.str("hi"))
    q = R.match_cast(p, R.Tuple(R.Tensor((3,), "float32"), R.Object, R.Object))
    r = q[0]
    return r
""",([x],[x]))
runs("assert_op in a closure","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
    @R.function(pure=False)
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        _ = R.assert_op(c, format="no luck")
        return a
    p = f(x)
    return p
""",([x,np.array(True)],[x]),([x,np.array(False)],"RT15|no luck"))
runs("condition no scalar","""
@R.function(pure=False)
def main(x: R.Tensor((3,), "float32"), c: R.Object):
    d = R.match_cast(c, R.Tensor((), "bool"))
    if d:
        r = R.add(x, x)
    else:
        r = R.negative(x)
    return r
""",([x,np.array(True)],[x*2]),([x,x],"RT06"),([x,3],"RT06"))
runs("a dataflow block around closures","""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    with R.dataflow():
        @R.function
        def f(a: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            with R.dataflow():
                b = R.add(a, x)
                c = R.add(b, x)
                R.output(c)
            return c
        p = f(x)
        q = f(p)
        R.output(q)
    return q
""",([x],[x*5]),([x[:0]],[x[:0]]))
runs("0-d, empty and rank 16","""
@R.function
def main(x: R.Tensor):
    @R.function
    def f(a: R.Tensor) -> R.Tensor:
        b = R.add(a, x)
        c = R.exp(b)
        d = R.subtract(c, c)
        return d
    p = f(x)
    return p
""",([np.float32(3)],[np.float32(0)]),([np.zeros((0,4),"float32")],[np.zeros((0,4),"float32")]),([np.ones((1,)*16,"float32")],[np.zeros((1,)*16,"float32")]),([np.array([1,2],"int32")],"RT21|exp"))
for dt in ("int8","uint64","bool","float16"):
    v=np.array([1,0,1]).astype(dt)
    runs("dtype of unknown "+dt,"""
@R.function
def main(x: R.Tensor, y: R.Tensor):
    a = R.maximum(x, y)
    b = R.equal(a, y)
    m = R.match_cast(b, R.Tensor(dtype="bool"))
    c = R.where(m, x, y)
    d = R.concat((c, a), axis=0)
    return d
""",([v,v[::-1].copy()],[np.concatenate([v,v])]))
s.done()
