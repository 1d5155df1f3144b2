#!/usr/bin/env python3
"""PrimFuncs written by hand, called from Relax in every way, against numpy; several sizes each, zero and one among them."""
import os
import textwrap

import numpy as np

from cli_test import Suite

s = Suite()
rng = np.random.default_rng(11)
HEAD = """from tvm.script import ir as I
from tvm.script import tir as T
from tvm.script import relax as R

@I.ir_module
class M:
"""


def ints(*shape, low=-5, high=6, dtype="int32"):
    return rng.integers(low, high, shape).astype(dtype)


def quarters(*shape, dtype="float32"):
    return (rng.integers(-12, 13, shape) / 4).astype(dtype)


def same_numbers(got, want, tol):
    """Without a tolerance zeros have their signs."""
    if tol:
        return np.allclose(got, want, rtol=tol, atol=tol)
    return np.array_equal(got, want) and (want.dtype.kind != "f" or np.array_equal(np.signbit(got), np.signbit(want)))


def case(what, text, inputs, f, tol=0.0, native=False):
    """inputs: a list of argument lists; f: what the program computes. Every level, from text and from a file, the second print too;
    native: as C as well."""
    s.write("p.py", HEAD + textwrap.indent(textwrap.dedent(text), "    "))
    rc, printed, err = s.run("print", "p.py")
    if not s.check(f"{what}: is read", rc == 0, err[-800:]):
        return
    s.write("q.py", printed)
    rc, again, err = s.run("print", "q.py")
    s.check(f"{what}: printing is stable", rc == 0 and again == printed, err[-600:] or "the second print differs")
    files = ["q.py"]
    for level in "012":
        rc, out, err = s.run("build", "p.py", "-o", f"p{level}.rlx", "--opt", level, "--no-warn", "PU06")
        if s.check(f"{what}: builds at level {level}", rc == 0, err[-800:]):
            files.append(f"p{level}.rlx")
    if native:
        rc, out, err = s.run("build", "p.py", "-o", "pc.rlx", "--target", "c", env={"RELAX_CC": os.environ.get("CC", "cc")})
        if s.equal(f"{what}: builds for target c", (rc, err), (0, "")):
            files.append("pc.rlx")
    for n, args in enumerate(inputs):
        want = f(*args)
        want = want if isinstance(want, tuple) else (want,)
        given = []
        for i, a in enumerate(args):
            if isinstance(a, np.ndarray):
                np.save(s.path(f"a{i}.npy"), a)
            given += ["--input", f"a{i}.npy" if isinstance(a, np.ndarray) else a]
        for file in files:
            rc, out, err = s.run("run", file, *given, "--output", "out", *(["--allow-native"] if file == "pc.rlx" else []))
            if not s.check(f"{what}: {file} runs on input {n}", rc == 0, err[-600:]):
                continue
            for i, w in enumerate(want):
                got, w = np.load(s.path(f"out/{i}.npy")), np.asarray(w)
                same = got.shape == w.shape and got.dtype == w.dtype and same_numbers(got, w, tol)
                s.check(f"{what}: {file}, result {i} of input {n}", same,
                        f"got {got.dtype}{got.shape} {got.ravel()[:12]}, wanted {w.dtype}{w.shape} {w.ravel()[:12]}")


case("loops without blocks", """
@T.prim_func
def scale(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32")):
    for i in range(4):
        for j in range(3):
            B[i, j] = A[i, j] * T.float32(2) + T.Cast("float32", i * 10 + j)

@R.function
def main(a: R.Tensor((4, 3), "float32")):
    cls = M
    b = R.call_tir(cls.scale, (a,), out_sinfo=R.Tensor((4, 3), "float32"))
    return b
""", [[quarters(4, 3)]], lambda a: a * 2 + (np.arange(4)[:, None] * 10 + np.arange(3)).astype("float32"))

case("a block over symbolic sizes", """
@T.prim_func
def transpose(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "int32")
    B = T.match_buffer(b, (m, n), "int32")
    for i, j in T.grid(m, n):
        with T.block("t"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] - T.int32(1)

@R.function
def main(a: R.Tensor(("n", "m"), "int32")):
    n, m = T.int64(), T.int64()
    cls = M
    b = R.call_tir(cls.transpose, (a,), out_sinfo=R.Tensor((m, n), "int32"))
    return b
""", [[ints(3, 5)], [ints(1, 1)], [ints(0, 4)], [ints(130, 3)]], lambda a: a.T - 1)

case("a reduction with init", """
@T.prim_func
def rowsum(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, j in T.grid(n, m):
        with T.block("sum"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]

@R.function
def main(a: R.Tensor(("n", "m"), "float32")):
    n = T.int64()
    cls = M
    b = R.call_tir(cls.rowsum, (a,), out_sinfo=R.Tensor((n,), "float32"))
    c = R.add(b, b)
    return b, c
""", [[quarters(3, 5)], [quarters(1, 300)], [quarters(2, 1)], [quarters(0, 2)]], lambda a: (a.sum(1), a.sum(1) * 2))

case("matmul with the reduction in the middle", """
@T.prim_func
def mm(a: T.handle, b: T.handle, c: T.handle):
    n, k, m = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (n, k), "int64")
    B = T.match_buffer(b, (k, m), "int64")
    C = T.match_buffer(c, (n, m), "int64")
    for i, p, j in T.grid(n, k, m):
        with T.block("mm"):
            vi, vp, vj = T.axis.remap("SRS", [i, p, j])
            with T.init():
                C[vi, vj] = T.int64(0)
            C[vi, vj] = C[vi, vj] + A[vi, vp] * B[vp, vj]

@R.function
def main(a: R.Tensor(("n", "k"), "int64"), b: R.Tensor(("k", "m"), "int64")):
    n, m = T.int64(), T.int64()
    cls = M
    c = R.call_tir(cls.mm, (a, b), out_sinfo=R.Tensor((n, m), "int64"))
    return c
""", [[ints(3, 5, dtype="int64"), ints(5, 2, dtype="int64")], [ints(1, 1, dtype="int64"), ints(1, 1, dtype="int64")],
      [ints(0, 3, dtype="int64"), ints(3, 70, dtype="int64")], [ints(9, 33, dtype="int64"), ints(33, 65, dtype="int64")]], lambda a, b: a @ b)

case("position and value of the greatest", """
@T.prim_func
def argmax(a: T.handle, at: T.handle, value: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    I = T.match_buffer(at, (n,), "int64")
    V = T.match_buffer(value, (n,), "float32")
    for i, j in T.grid(n, m):
        with T.block("argmax"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                I[vi] = T.int64(-1)
                V[vi] = T.min_value("float32")
            if A[vi, vj] > V[vi]:
                I[vi] = vj
                V[vi] = A[vi, vj]

@R.function
def main(a: R.Tensor(("n", "m"), "float32")):
    n = T.int64()
    cls = M
    r = R.call_tir(cls.argmax, (a,), out_sinfo=[R.Tensor((n,), "int64"), R.Tensor((n,), "float32")])
    p = r[0]
    q = r[1]
    return r, p, q
""", [[quarters(4, 9)], [quarters(1, 1)], [quarters(3, 200)], [quarters(0, 3)]],
     lambda a: (a.argmax(1), a.max(1), a.argmax(1), a.max(1)) if a.size else (np.zeros(0, "int64"), np.zeros(0, "float32")) * 2)

case("position by select, both at once", """
@T.prim_func
def argmin(A: T.Buffer((6,), "int32"), I: T.Buffer((), "int32")):
    with T.block("root"):
        V = T.alloc_buffer((1,), "int32")
        I[()] = 0
        V[0] = T.max_value("int32")
        for j in range(6):
            I[()] = T.Select(A[j] < V[0], j, I[()])
            V[0] = T.min(V[0], A[j])

@R.function
def main(a: R.Tensor((6,), "int32")):
    cls = M
    r = R.call_tir(cls.argmin, (a,), out_sinfo=R.Tensor((), "int32"))
    return r
""", [[ints(6)], [ints(6)]], lambda a: np.asarray(a.argmin(), "int32"))

case("indirect reads and writes", """
@T.prim_func
def scatter(A: T.handle, I: T.handle, B: T.handle):
    n = T.int64()
    a = T.match_buffer(A, (n,), "float32")
    at = T.match_buffer(I, (n,), "int64")
    b = T.match_buffer(B, (8,), "float32")
    for i in range(8):
        b[i] = T.float32(0)
    for i in range(n):
        b[at[i]] = b[at[i]] + a[i]

@R.function
def main(a: R.Tensor(("n",), "float32"), i: R.Tensor(("n",), "int64")):
    cls = M
    r = R.call_tir(cls.scatter, (a, i), out_sinfo=R.Tensor((8,), "float32"))
    return r
""", [[quarters(5), ints(5, low=0, high=8, dtype="int64")], [quarters(0), ints(0, dtype="int64")], [quarters(300), ints(300, low=0, high=8, dtype="int64")]],
     lambda a, i: np.bincount(i, weights=a, minlength=8).astype("float32"))

case("a scan: each element needs the one before", """
@T.prim_func
def scan(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        if i == 0:
            B[i] = A[i]
        else:
            B[i] = B[i - 1] + A[i]

@R.function
def main(a: R.Tensor(("n",), "int32")):
    n = T.int64()
    cls = M
    b = R.call_tir(cls.scan, (a,), out_sinfo=R.Tensor((n,), "int32"))
    return b
""", [[ints(7)], [ints(1)], [ints(0)], [ints(500)]], lambda a: np.cumsum(a, dtype="int32"))


def collatz(a):
    out = np.zeros_like(a)
    for i, v in enumerate(a.tolist()):
        while v != 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            out[i] += 1
    return out


case("while", """
@T.prim_func
def steps(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int64")
    B = T.match_buffer(b, (n,), "int64")
    with T.block("root"):
        V = T.alloc_buffer((1,), "int64")
        for i in range(n):
            V[0] = A[i]
            B[i] = T.int64(0)
            while V[0] != T.int64(1):
                if V[0] % T.int64(2) == T.int64(0):
                    V[0] = V[0] // T.int64(2)
                else:
                    V[0] = V[0] * T.int64(3) + T.int64(1)
                B[i] = B[i] + T.int64(1)

@R.function
def main(a: R.Tensor(("n",), "int64")):
    n = T.int64()
    cls = M
    b = R.call_tir(cls.steps, (a,), out_sinfo=R.Tensor((n,), "int64"))
    return b
""", [[np.arange(1, 30)], [np.array([1])], [np.zeros(0, "int64")]], collatz)

case("let, conditions, several branches", """
@T.prim_func
def pieces(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("p"):
            v = T.axis.spatial(n, i)
            x: T.float32 = A[v] * T.float32(2)
            if x < T.float32(-2):
                B[v] = T.float32(-1)
            else:
                if x > T.float32(2) and v % T.int64(2) == T.int64(0):
                    B[v] = x
                else:
                    B[v] = T.if_then_else(T.abs(x) < T.float32(1), x * x, T.max(x, T.float32(0)))

@R.function
def main(a: R.Tensor(("n",), "float32")):
    n = T.int64()
    cls = M
    b = R.call_tir(cls.pieces, (a,), out_sinfo=R.Tensor((n,), "float32"))
    return b
""", [[quarters(20)], [quarters(1)], [quarters(0)], [quarters(777)]],
     lambda a: np.where(a * 2 < -2, np.float32(-1), np.where((a * 2 > 2) & (np.arange(len(a)) % 2 == 0), a * 2,
                                                             np.where(np.abs(a * 2) < 1, 4 * a * a, np.maximum(a * 2, 0)))).astype("float32"))

case("0.0 less a number that is 0", """
@T.prim_func
def negated(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "float64")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        B[i] = T.float64(0.0) - T.Cast("float64", A[i])
        C[i] = (T.float32(0.0) - T.Cast("float32", i)) * T.float32(2.0)

@R.function
def main(a: R.Tensor(("n",), "int32")):
    n = T.int64()
    cls = M
    r = R.call_tir(cls.negated, (a,), out_sinfo=[R.Tensor((n,), "float64"), R.Tensor((n,), "float32")])
    return r
""", [[ints(9)], [np.zeros(3, "int32")], [ints(0)]], lambda a: (0.0 - a.astype("float64"), (0 - np.arange(len(a), dtype="float32")) * np.float32(2)), native=True)

case("a name is read again after it was widened", """
@T.prim_func
def again(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int64")
    B = T.match_buffer(b, (n,), "int64")
    for i in range(n):
        x: T.uint32 = T.Cast("uint32", A[i])
        B[i] = T.min(T.Cast("int64", x), T.int64(0)) + T.Select(T.Cast("bool", x), A[i], T.int64(-1))

@R.function
def main(a: R.Tensor(("n",), "int64")):
    n = T.int64()
    cls = M
    b = R.call_tir(cls.again, (a,), out_sinfo=R.Tensor((n,), "int64"))
    return b
""", [[ints(20, low=0, dtype="int64")], [ints(0, dtype="int64")], [ints(300, low=0, dtype="int64")]], lambda a: np.where(a != 0, a, -1), native=True)

case("stages through a buffer of symbolic size", """
@T.prim_func
def softmax(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    with T.block("root"):
        top = T.alloc_buffer((n,), "float32")
        e = T.alloc_buffer((n, m), "float32")
        total = T.alloc_buffer((n,), "float32")
        for i, j in T.grid(n, m):
            with T.block("top"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    top[vi] = T.min_value("float32")
                top[vi] = T.max(top[vi], A[vi, vj])
        for i, j in T.grid(n, m):
            with T.block("e"):
                vi, vj = T.axis.remap("SS", [i, j])
                e[vi, vj] = T.exp(A[vi, vj] - top[vi])
        for i, j in T.grid(n, m):
            with T.block("total"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + e[vi, vj]
        for i, j in T.grid(n, m):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = e[vi, vj] / total[vi]

@R.function
def main(a: R.Tensor(("n", "m"), "float32")):
    n, m = T.int64(), T.int64()
    cls = M
    b = R.call_tir(cls.softmax, (a,), out_sinfo=R.Tensor((n, m), "float32"))
    return b
""", [[quarters(3, 5)], [quarters(1, 1)], [quarters(0, 3)], [quarters(2, 0)], [quarters(5, 131)]],
     lambda a: np.exp(a - a.max(1, keepdims=True)) / np.exp(a - a.max(1, keepdims=True)).sum(1, keepdims=True) if a.size else a, tol=1e-6)

case("integers of the program by tir_vars", """
@T.prim_func
def tile(a: T.handle, b: T.handle, times: T.int64, shift: T.int64):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (m,), "int32")
    for i in range(m):
        B[i] = A[(i + shift) % n] + T.Cast("int32", times)

@R.function
def main(a: R.Tensor(("n",), "int32"), s: R.Shape(["k", "o"])):
    n, k, o = T.int64(), T.int64(), T.int64()
    cls = M
    b = R.call_tir(cls.tile, (a,), out_sinfo=R.Tensor((n * k,), "int32"), tir_vars=R.shape([k, o]))
    c = R.call_tir(cls.tile, (a,), out_sinfo=R.Tensor((n * k,), "int32"), tir_vars=s)
    return b, c
""", [[ints(4), "shape:3,1"], [ints(1), "shape:5,0"], [ints(3), "shape:0,2"]],
     lambda a, t: (np.roll(np.tile(a, int(t[6:].split(",")[0])), -int(t.split(",")[1])) + np.int32(t[6:].split(",")[0]),) * 2)

case("in place, one output over its input and one new", """
@T.prim_func
def both(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        C[i] = A[i] * B[i]
        A[i] = A[i] + B[i]

@R.function
def main(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32")):
    n = T.int64()
    cls = M
    with R.dataflow():
        x = R.add(a, a)
        r = R.call_tir_inplace(cls.both, (x, b), inplace_indices=[0, -1], out_sinfo=[R.Tensor((n,), "float32"), R.Tensor((n,), "float32")])
        s = r[0]
        p = r[1]
        t = R.subtract(s, b)
        R.output(s, p, t)
    return s, p, t, a
""", [[quarters(5), quarters(5)], [quarters(1), quarters(1)], [quarters(0), quarters(0)]], lambda a, b: (a + a + b, (a + a) * b, a + a, a))

case("a constant written in place", """
@T.prim_func
def bump(A: T.Buffer((3,), "int32")):
    for i in range(3):
        A[i] = A[i] + 1

@R.function
def once():
    cls = M
    c = R.call_tir_inplace(cls.bump, (R.const([1, 2, 3], "int32"),), inplace_indices=[0], out_sinfo=R.Tensor((3,), "int32"))
    return c

@R.function
def main():
    cls = M
    a = cls.once()
    b = cls.once()
    return a, b
""", [[]], lambda: (np.array([2, 3, 4], "int32"),) * 2)

case("vectorised, unrolled and parallel loops", """
@T.prim_func
def kinds(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in T.parallel(4):
        for j in T.unroll(2):
            for k in T.vectorized(4):
                B[i, j * 4 + k] = A[3 - i, j * 4 + k] + T.float32(1)

@R.function
def main(a: R.Tensor((4, 8), "float32")):
    cls = M
    b = R.call_tir(cls.kinds, (a,), out_sinfo=R.Tensor((4, 8), "float32"))
    return b
""", [[quarters(4, 8)]], lambda a: a[::-1] + 1)

case("tiles with a rest", """
@T.prim_func
def tiled(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float64")
    B = T.match_buffer(b, (n,), "float64")
    for o, i in T.grid((n + T.int64(15)) // T.int64(16), T.int64(16)):
        with T.block("t"):
            v = T.axis.spatial(n, o * T.int64(16) + i)
            T.where(o * T.int64(16) + i < n)
            B[v] = A[v] * A[v] - T.float64(1)

@R.function
def main(a: R.Tensor(("n",), "float64")):
    n = T.int64()
    cls = M
    b = R.call_tir(cls.tiled, (a,), out_sinfo=R.Tensor((n,), "float64"))
    return b
""", [[quarters(n, dtype="float64")] for n in (0, 1, 15, 16, 17, 100)], lambda a: a * a - 1)

case("a triangle: the inner loop depends on the outer", """
@T.prim_func
def lower(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, n), "int32")
    B = T.match_buffer(b, (n, n), "int32")
    for i in range(n):
        for j in range(n):
            B[i, j] = 0
        for j in range(i + T.int64(1)):
            B[i, j] = A[i, j] - A[j, i]

@R.function
def main(a: R.Tensor(("n", "n"), "int32")):
    n = T.int64()
    cls = M
    b = R.call_tir(cls.lower, (a,), out_sinfo=R.Tensor((n, n), "int32"))
    return b
""", [[ints(5, 5)], [ints(1, 1)], [ints(0, 0)], [ints(70, 70)]], lambda a: np.tril(a - a.T))

case("a window: maximum of neighbours", """
@T.prim_func
def pool(a: T.handle, b: T.handle):
    n, c = T.int64(), T.int64()
    A = T.match_buffer(a, (n, c), "int16")
    B = T.match_buffer(b, (n - T.int64(2), c), "int16")
    for i, j, k in T.grid(n - T.int64(2), c, T.int64(3)):
        with T.block("pool"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = T.min_value("int16")
            B[vi, vj] = T.max(B[vi, vj], A[vi + vk, vj])

@R.function
def main(a: R.Tensor(("n", "c"), "int16")):
    n, c = T.int64(), T.int64()
    cls = M
    b = R.call_tir(cls.pool, (a,), out_sinfo=R.Tensor((n - 2, c), "int16"))
    return b
""", [[ints(5, 3, dtype="int16")], [ints(3, 1, dtype="int16")], [ints(2, 4, dtype="int16")], [ints(40, 150, dtype="int16")]],
     lambda a: np.maximum(np.maximum(a[:-2], a[1:-1]), a[2:]))

case("booleans, bits and narrow integers", """
@T.prim_func
def bits(A: T.Buffer((16,), "uint8"), B: T.Buffer((16,), "bool"), C: T.Buffer((16,), "int8"), D: T.Buffer((16,), "uint8")):
    for i in range(16):
        B[i] = (A[i] & T.uint8(3)) == T.uint8(1) or not (A[i] < T.uint8(100))
        C[i] = T.Cast("int8", A[i]) - T.int8(1)
        D[i] = T.shift_left(A[i], T.uint8(3)) ^ T.shift_right(A[i], T.uint8(2))

@R.function
def main(a: R.Tensor((16,), "uint8")):
    cls = M
    r = R.call_tir(cls.bits, (a,), out_sinfo=[R.Tensor((16,), "bool"), R.Tensor((16,), "int8"), R.Tensor((16,), "uint8")])
    return r
""", [[ints(16, low=0, high=256, dtype="uint8")], [ints(16, low=0, high=256, dtype="uint8")]],
     lambda a: (((a & 3) == 1) | ~(a < 100), a.astype("int8") - np.int8(1), (a << 3) ^ (a >> 2)))

case("no output but the written argument; a PrimFunc called as a function", """
@T.prim_func
def fill(a: T.handle, v: T.float32):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        A[i] = v

@R.function(pure=False)
def main(a: R.Tensor(("n",), "float32")):
    n = T.int64()
    cls = M
    b = R.add(a, a)
    _ = cls.fill(b, R.prim_value(T.float32(2.5)))
    return b
""", [[quarters(4)], [quarters(0)]], lambda a: np.full_like(a, 2.5))

# ---- vectors and threads ---------------------------------------------------------------------------------------
case("vectors of lanes: ramps, broadcasts, casts, Select, names", """
@T.prim_func
def lanes(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((4, 4), "int32")):
    for i in range(4):
        x = A[i * 4:i * 4 + 4] * T.Broadcast(T.float32(2), 4)
        B[T.Ramp(15 - i * 4, -1, 4)] = T.Select(x > T.Broadcast(T.float32(0), 4), x, T.exp(x))
        C[i, T.Ramp(0, 1, 4)] = T.Cast("int32x4", A[T.Ramp(i, 4, 4)]) + T.Ramp(i, 10, 4)

@R.function
def main(a: R.Tensor((16,), "float32")):
    cls = M
    r = R.call_tir(cls.lanes, (a,), out_sinfo=[R.Tensor((16,), "float32"), R.Tensor((4, 4), "int32")])
    return r
""", [[quarters(16)], [quarters(16)]],
     lambda a: (np.where(a * 2 > 0, a * 2, np.exp(a * 2))[::-1], a.reshape(4, 4).T.astype("int32") + np.arange(4, dtype="int32")[:, None] + np.arange(4, dtype="int32") * 10), tol=1e-6)

case("a vector is read before any of it is written", """
@T.prim_func
def shift(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = A[i]
    B[1:9] = B[0:8]
    B[T.Ramp(15, -1, 4)] = B[T.Ramp(12, 1, 4)] - B[T.Ramp(15, -1, 4)]

@R.function
def main(a: R.Tensor((16,), "int32")):
    cls = M
    r = R.call_tir(cls.shift, (a,), out_sinfo=R.Tensor((16,), "int32"))
    return r
""", [[ints(16)], [ints(16)]], lambda a: np.concatenate([a[:1], a[:8], a[9:12], (a[12:] - a[:11:-1])[::-1]]))

case("stores and loads under predicates, in a view of a buffer", """
@T.prim_func
def masked(A: T.Buffer((8,), "float32"), B: T.Buffer((2, 8), "float32")):
    with T.block("root"):
        T.reads(A[0:8])
        T.writes(B[0:2, 0:8])
        D = T.match_buffer(B[1, 0:8], (8,), "float32")
        for i in range(8):
            B[0, i] = T.float32(-1)
            D[i] = T.float32(-2)
        B.vstore([0, T.Ramp(0, 1, 8)], A[T.Ramp(0, 1, 8)], predicate=T.Ramp(0, 1, 8) < T.Broadcast(5, 8))
        D[T.Ramp(0, 2, 4)] = A.vload([T.Ramp(4, 1, 4)], predicate=T.Ramp(0, 1, 4) != T.Broadcast(2, 4))

@R.function
def main(a: R.Tensor((8,), "float32")):
    cls = M
    r = R.call_tir(cls.masked, (a,), out_sinfo=R.Tensor((2, 8), "float32"))
    return r
""", [[quarters(8)], [quarters(8)]],
     lambda a: np.array([np.where(np.arange(8) < 5, a, -1), np.stack([np.where(np.arange(4) != 2, a[4:], 0), np.full(4, -2)], 1).ravel()], "float32"))

case("threads run one after another", """
@T.prim_func
def bound(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for b in T.thread_binding(4, "blockIdx.x"):
        for t in T.thread_binding(8, "threadIdx.x"):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [b, t])
                B[vi, vj] = A[vi, 7 - vj]

@T.prim_func
def launched(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    b = T.launch_thread("blockIdx.x", 4)
    t = T.launch_thread("threadIdx.x", 8)
    B[b * 8 + t] = A[b * 8 + t] + T.float32(1)

@R.function
def main(a: R.Tensor((4, 8), "float32")):
    cls = M
    x = R.call_tir(cls.bound, (a,), out_sinfo=R.Tensor((4, 8), "float32"))
    f = R.flatten(a)
    y = R.call_tir(cls.launched, (f,), out_sinfo=R.Tensor((32,), "float32"))
    return x, y
""", [[quarters(4, 8)]], lambda a: (a[:, ::-1], a.ravel() + 1))

case("several kinds of axes, a scan along one", """
@T.prim_func
def running(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "int64")
    B = T.match_buffer(b, (n, m), "int64")
    for i, j in T.grid(n, m):
        with T.block("scan"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.scan(m, j)
            B[vi, vj] = T.if_then_else(vj == T.int64(0), A[vi, vj], B[vi, T.max(vj - T.int64(1), T.int64(0))] + A[vi, vj])

@R.function
def main(a: R.Tensor(("n", "m"), "int64")):
    n, m = T.int64(), T.int64()
    cls = M
    b = R.call_tir(cls.running, (a,), out_sinfo=R.Tensor((n, m), "int64"))
    return b
""", [[ints(3, 5, dtype="int64")], [ints(1, 200, dtype="int64")], [ints(0, 4, dtype="int64")]], lambda a: np.cumsum(a, 1))

case("views with strides and offsets, temporaries by pointer", """
@T.prim_func
def views(A: T.Buffer((4, 4), "float32"), B: T.Buffer((16,), "float32")):
    C = T.decl_buffer((16,), "float32", data=A.data)
    D = T.decl_buffer((4, 2), "float32", data=A.data, strides=(4, 2), elem_offset=1)
    V = T.decl_buffer((4,), "float32", data=B.data, strides=(-1,), elem_offset=15)
    E = T.decl_buffer((4,), "float32")
    F = T.allocate([4], "float32", "global")
    G = T.decl_buffer((4,), "float32", data=F)
    for i in range(4):
        E[i] = D[i, 0] + D[i, 1]
        G[i] = E[i] + T.float32(1)
    for i in range(16):
        B[i] = C[i] + E[i // 4] * G[i // 4]
    for i in range(4):
        V[i] = V[i] + A[0, i]

@R.function
def main(a: R.Tensor((4, 4), "float32")):
    cls = M
    r = R.call_tir(cls.views, (a,), out_sinfo=R.Tensor((16,), "float32"))
    return r
""", [[quarters(4, 4)], [quarters(4, 4)]],
     lambda a: (lambda e: (a + (e * (e + 1))[:, None]).ravel() + np.concatenate([np.zeros(12), a[0, ::-1]]))(a[:, 1] + a[:, 3]).astype("float32"))

# A constant with a name is one tensor for each time it is evaluated: every name for it sees what is written.
case("in place over what may be a constant", """
@T.prim_func
def bump(A: T.Buffer((3,), "int32")):
    for i in range(3):
        A[i] = A[i] + 1

@R.function(private=True)
def over(x: R.Tensor((3,), "int32")) -> R.Tensor((3,), "int32"):
    cls = M
    r = R.call_tir_inplace(cls.bump, (x,), inplace_indices=[0], out_sinfo=R.Tensor((3,), "int32"))
    return r

@R.function
def once(x: R.Tensor((3,), "int32"), c: R.Tensor((), "bool")):
    cls = M
    k = R.const([1, 2, 3], "int32")
    t = (k, x)
    a = t[0]
    r = R.call_tir_inplace(cls.bump, (a,), inplace_indices=[0], out_sinfo=R.Tensor((3,), "int32"))
    if c:
        b = k
    else:
        b = R.add(x, x)
    s = R.call_tir_inplace(cls.bump, (b,), inplace_indices=[0], out_sinfo=R.Tensor((3,), "int32"))
    u = cls.over(k)
    return r, s, u, k

@R.function
def main(x: R.Tensor((3,), "int32")):
    cls = M
    p = cls.once(x, R.const(True, "bool"))
    q = cls.once(x, R.const(False, "bool"))
    return p, q
""", [[ints(3)]], lambda x: (lambda k: (k + 3, k + 3, k + 3, k + 3, k + 2, x + x + 1, k + 2, k + 2))(np.array([1, 2, 3], "int32")))
s.done()
