#!/usr/bin/env python3
"""Programs that once went wrong, and sizes that are known only when the program runs; each at every level, against numpy or against a code."""
import numpy as np

from numpy_case import Cases, HEAD, f32

s = Cases()
program = s.program

# ---- sizes known only when the program runs
program("an annotation on trust", """
@R.function
def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor((4,), "float32"):
    y: R.Tensor((4,), "float32") = R.add(x, x)
    return y
""", [([f32(4)], [f32(4) * 2]), ([f32(3)], "RT06"), ([f32(0)], "RT06")])

x, y = f32(3, 4), f32(4)
program("broadcasting of unknown sizes", """
@R.function
def main(x: R.Tensor("float32", ndim=2), y: R.Tensor("float32", ndim=1), c: R.Tensor((), "bool")) -> R.Tensor("float32", ndim=2):
    with R.dataflow():
        a = R.add(x, y)
        b = R.subtract(a, x)
        R.output(b)
    if c:
        d = R.add(b, y)
        e = R.negative(d)
    else:
        e = R.subtract(b, y)
    f = R.maximum(e, x)
    return f
""", [([x, y, np.array(True)], [np.maximum(-(x + y - x + y), x)]), ([x, y, np.array(False)], [np.maximum(x + y - x - y, x)]),
      ([x[:, :1], y, np.array(True)], [np.maximum(-(x[:, :1] + y - x[:, :1] + y), x[:, :1])]), ([x[:0], y[:1], np.array(True)], [x[:0]]),
      ([x, y[:3], np.array(True)], "RT05"), ([x[:, :0], y, np.array(True)], "RT05"), ([x[0], y, np.array(True)], "RT04")])

program("operators of every family on unknown sizes", """
@R.function
def main(x: R.Tensor("float32", ndim=2), w: R.Tensor("float32", ndim=2), s: R.Shape(ndim=1)):
    a = R.matmul(x, w)
    b = R.permute_dims(a)
    c = R.concat((b, b), axis=1)
    d = R.sum(c, axis=0, keepdims=True)
    e = R.squeeze(d, axis=[0])
    g = R.reshape(x, s)
    h = R.expand_dims(R.argmax(c, axis=0), axis=[1])
    i = R.where(R.greater(c, d), c, d)
    j = R.zeros_like(i)
    k = R.astype(R.shape_to_tensor(R.shape_of(i)), "int32")
    return e, g, h, i, j, k
""", [([x, f32(4, 2), "shape:12"],
       (lambda c: [c.sum(0), x.reshape(12), c.argmax(0)[:, None], np.where(c > c.sum(0, keepdims=True), c, c.sum(0, keepdims=True)), np.zeros(c.shape, "float32"),
                   np.array(c.shape, "int32")])(np.concatenate([(x @ f32(4, 2)).T] * 2, 1))),
      ([x, f32(3, 2), "shape:12"], "RT05"), ([x, f32(4, 2), "shape:11"], "RT05")])

program("concat of a tuple given whole", """
@R.function
def main(t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor("float32", ndim=1))):
    a = R.concat(t)
    b = R.add(a, a)
    return b
""", [])
np.save(s.path("two.npy"), f32(2))
np.save(s.path("three.npy"), f32(3))
rc, out, err = s.run("run", "p.py", "--input", "t.0=two.npy", "--input", "t.1=three.npy", "--output", "out")
if s.equal("concat of a tuple given whole: runs", (rc, err), (0, "")):
    s.check("concat of a tuple given whole: result", np.array_equal(np.load(s.path("out/0.npy")), np.concatenate([f32(2), f32(3)]) * 2), out)

# Each step of the chain could double the text of its sizes.
steps = "\n".join(f"    v{i + 1} = R.add(v{i}, y)" for i in range(60))
program("a long chain of broadcasts", f"""
@R.function
def main(v0: R.Tensor("float32", ndim=1), y: R.Tensor("float32", ndim=1)):
{steps}
    return v60
""", [([np.zeros(1, "float32"), f32(3)], [f32(3) * 60])])

for what, annotation in (("rank", 'R.Tensor("float32")'), ("dtype", "R.Tensor(ndim=2)"), ("rank and dtype", "R.Tensor")):
    program(f"an unknown {what}", f"""
@R.function
def main(x: {annotation}):
    y = R.negative(x)
    z = R.add(y, y)
    return z
""", [([f32(2, 3)], [f32(2, 3) * -2])])

# ---- found by random programs
program("an output named like a copy that is itself known", """
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        t = (x, x)
        a = t[1]
        b = a
        c = R.negative(b)
        R.output(b, c)
    d = R.concat((b, c))
    return d
""", [([f32(2)], [np.concatenate([f32(2), -f32(2)])])])

program("a tensor whose shape is a variable keeps its rank when read back", """
@R.function
def main(x: R.Tensor("int32", ndim=1), y: R.Tensor("int32", ndim=2)):
    with R.dataflow():
        s = R.shape_of(y)
        a = R.reshape(x, s)
        b = R.add(a, y)
        R.output(b)
    return b
""", [([np.arange(6, dtype="int32"), np.ones((2, 3), "int32")], [np.arange(6, dtype="int32").reshape(2, 3) + 1])])

program("a shape parameter gives the sizes of what is computed with", """
@R.function
def main(s: R.Shape(["n", 4])):
    a = R.ones(s, "float32")
    with R.dataflow():
        b = R.flatten(R.ones(s, "float32"))
        c = R.expand_dims(R.negative(a), axis=[1])
        d = R.sum(c, axis=[0, 1])
        R.output(b, d)
    e = R.multiply(R.add(a, a), a)
    return b, d, e
""", [([f"shape:{n},4"], [np.ones(4 * n, "float32"), np.full(4, 0 - n, "float32"), np.full((n, 4), 2, "float32")]) for n in (0, 1, 3)])

# ---- calls that have no value
program("integer division by zero", """
@R.function
def main(x: R.Tensor(("n",), "int32"), y: R.Tensor(("n",), "int32")):
    z = R.floor_divide(x, y)
    return z
""", [([np.array([7, -7], "int32"), np.array([2, 2], "int32")], [np.array([3, -4], "int32")]), ([np.array([7], "int32"), np.array([0], "int32")], "RT14"),
      ([np.array([-2 ** 31], "int32"), np.array([-1], "int32")], [np.array([-2 ** 31], "int32")])])
program("the greatest of nothing", """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")):
    z = R.max(x, axis=1)
    i = R.argmax(x, axis=1)
    return z, i
""", [([f32(2, 3)], [f32(2, 3).max(1), f32(2, 3).argmax(1)]), ([f32(2, 0)], "RT14"), ([f32(0, 3)], [f32(0), np.zeros(0, "int64")])])
program("negative shifts and exponents", """
@R.function
def main(x: R.Tensor(("n",), "int64"), y: R.Tensor(("n",), "int64")):
    z = R.power(x, y)
    w = R.left_shift(x, y)
    return z, w
""", [([np.array([3, -2]), np.array([4, 5])], [np.array([81, -32]), np.array([48, -64])]), ([np.array([3]), np.array([-1])], "RT14")])

# ---- functions that call themselves and each other
program("recursion over a condition", """
@R.function
def main(x: R.Tensor((), "int64"), acc: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
    cls = M
    stop = R.less_equal(x, R.const(0, "int64"))
    if stop:
        r = acc
    else:
        x1 = R.subtract(x, R.const(1, "int64"))
        acc1 = R.add(acc, x)
        r = cls.main(x1, acc1)
    return r
""", [([np.array(10), np.array(0)], [np.array(55)]), ([np.array(100), np.array(1)], [np.array(5051)])])
program("one function at several sizes", """
@R.function(private=True)
def double(x: R.Tensor(("k",), "float32")) -> R.Tensor(("k * 2",), "float32"):
    y = R.concat((x, x))
    return y

@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n * 8",), "float32"):
    cls = M
    a = cls.double(x)
    b = cls.double(a)
    c = cls.double(b)
    return c
""", [([f32(n)], [np.tile(f32(n), 8)]) for n in (0, 1, 3)])
program("tuples in tuples, fields returned twice", """
@R.function(private=True)
def pair(x: R.Tensor(("n",), "float32")) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tuple(R.Tensor(("n",), "float32"), R.Tensor((), "float32"))):
    y = R.negative(x)
    z = R.sum(x)
    return x, (y, z)

@R.function
def main(x: R.Tensor(("n",), "float32")):
    cls = M
    p = cls.pair(x)
    a = p[1]
    b = a[0]
    q = cls.pair(b)
    return q, b, (p, p)
""", [([f32(3)], [-f32(3), f32(3), (-f32(3)).sum(), -f32(3)] + [f32(3), -f32(3), f32(3).sum()] * 2)])
program("sizes by match_cast and by R.Shape parameters", """
@R.function
def main(x: R.Tensor("float32", ndim=2), s: R.Shape(["a", "b"])):
    a, b, n, m = T.int64(), T.int64(), T.int64(), T.int64()
    y = R.match_cast(x, R.Tensor((n, m), "float32"))
    z = R.reshape(y, R.shape([m, n]))
    w = R.broadcast_to(R.const(2.0, "float32"), R.shape([a + n, b * 2]))
    v = R.match_cast(R.shape_of(w), R.Shape([a + n, b * 2]))
    u = R.ones(v, "int8")
    return z, w, u
""", [([x, "shape:1,2"], [x.reshape(4, 3), np.full((4, 4), 2, "float32"), np.ones((4, 4), "int8")]),
      ([x[:0], "shape:0,0"], [x[:0].reshape(4, 0), np.zeros((0, 0), "float32"), np.zeros((0, 0), "int8")])])

# ---- functions as values, and calls of the run time
u, v = f32(4), f32(4) * 3
program("closures hold their last arguments", """
@R.function(private=True)
def join(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32"), c: R.Tensor((), "float32")) -> R.Tensor(("n",), "float32"):
    d = R.add(R.multiply(a, c), b)
    return d

@R.function(private=True)
def give(a: R.Object) -> R.Object:
    return a

@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32"), wrong: R.Tensor(("m",), "float32"), c: R.Tensor((), "bool")):
    n = T.int64()
    cls = M
    h = R.add(x, x)
    f = R.make_closure(cls.join, (h, R.const(2, "float32")))
    g = R.make_closure(cls.give, (f,))
    k = R.make_closure(cls.join, ())
    i = R.negative(y)
    j = R.add(i, i)
    a = R.invoke_pure_closure(f, (j,), sinfo_args=[R.Tensor((n,), "float32")])
    e = R.invoke_closure(g, (), sinfo_args=[R.Object])
    b = R.invoke_closure(e, (a,), sinfo_args=[R.Tensor((n,), "float32")])
    args = (x, y, R.const(3, "float32"))
    d = R.invoke_closure(k, args, sinfo_args=[R.Tensor("float32", ndim=1)])
    if c:
        w = R.invoke_closure(f, (wrong,), sinfo_args=[R.Tensor((n,), "float32")])
    else:
        w = R.multiply(h, h)
    return a, b, d, w
""", [([u, v, v, np.array(c)], [2 * -2 * v + 2 * u, 2 * (-4 * v + 2 * u) + 2 * u, 3 * u + v, 2 * v + 2 * u if c else 4 * u * u]) for c in (True, False)] +
     [([u, v, v[:3], np.array(True)], "RT05"), ([u[:0], v[:0], v[:0], np.array(True)], [u[:0]] * 4)])
for what, text, code in (("too few arguments", "R.invoke_closure(f, (), sinfo_args=[R.Object])", "RT01"), ("too many arguments", "R.invoke_closure(f, (x, x), sinfo_args=[R.Object])", "RT01"),
                         ("another result", 'R.invoke_closure(f, (x,), sinfo_args=[R.Tensor((3,), "float32")])', "RT06"),
                         ("a result of another kind", "R.invoke_closure(f, (x,), sinfo_args=[R.Shape(ndim=1)])", "RT06"),
                         ("no closure", "R.invoke_closure(x, (x,), sinfo_args=[R.Object])", "RT18")):
    program(f"a closure and {what}", f"""
@R.function(private=True)
def join(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    d = R.add(a, b)
    return d

@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")):
    cls = M
    f = R.make_closure(cls.join, (x,))
    y = {text}
    return y
""", [([u], code)])
program("calls of the run time, and of kernels by a shape", """
@T.prim_func(private=True)
def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), n: T.int64, m: T.int64):
    for i in range(4):
        with T.block("b"):
            v = T.axis.spatial(4, i)
            B[v] = A[v] * T.Cast("float32", n) + T.Cast("float32", m)

@R.function(pure=False)
def main(x: R.Tensor((4,), "float32"), y: R.Tensor(("n",), "float32"), s: R.Shape(["k", "l"])):
    n = T.int64()
    cls = M
    a = R.zeros(R.shape([4]), "float32")
    _ = R.vm.call_tir_dyn(cls.scale, (x, a, R.shape([n, 2])))
    b = R.zeros(R.shape([4]), "float32")
    _1 = R.vm.call_tir_dyn(cls.scale, (a, b, s))
    c = R.call_builtin_with_ctx("vm.builtin.copy", (b,), sinfo_args=[R.Tensor((4,), "float32")])
    args = (x, R.shape([2, 2]))
    d = R.call_builtin_with_ctx("vm.builtin.reshape", args, sinfo_args=[R.Tensor((2, 2), "float32")])
    e = R.const([1, 2, 3, 4], "float32")
    _2 = R.vm.call_tir_dyn(cls.scale, (x, e, s))
    _3 = R.call_builtin_with_ctx("vm.builtin.copy_into", (a, b))
    return a, b, c, d, e
""", [([u, f32(3), "shape:5,7"], [3 * u + 2, 3 * u + 2, 5 * (3 * u + 2) + 7, u.reshape(2, 2), 5 * u + 7])] * 2, ("interp", "c"))
s.write("u.py", HEAD + """    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_builtin_with_ctx("vm.builtin.nothing", (x,), sinfo_args=[R.Object])
        return y
""")
s.fails("a function that the run time does not have", ["build", "u.py", "-o", "u.rlx"], "CG02", text="vm.builtin.nothing")

# ---- operators that pick, move and normalise, on sizes that are variables or not known
def picked(x, k, a, b):
    z = x[max(0, min(a, len(x))):max(0, min(b, len(x)))]
    return [x[:, : (x.shape[1] + 1) // 2], x[:, (x.shape[1] + 1) // 2:], np.take(x, k, 1), z, np.arange(a, a + 3 * len(x), 2), np.triu(x, a), np.cumsum(x.astype("float64")).astype("float32"),
            np.repeat(x[::-1], 2, 0), x, np.ones_like(x), np.einsum("ij,ik->jk", x, x), np.pad(x, [(1, 0), (0, 2)], constant_values=7)]


program("operators that pick and move", """
@R.function
def main(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor(("i",), "int32"), s: R.Shape(["a", "b"])):
    n, a, b = T.int64(), T.int64(), T.int64()
    with R.dataflow():
        t = R.split(x, 2, axis=1)
        v = R.take(x, k, axis=1)
        w = R.strided_slice(x, [0], [a], [b])
        z = R.arange(R.prim_value(a), R.prim_value(n * 3 + a), R.prim_value(2))
        y = R.triu(x, R.prim_value(a))
        o = R.cumsum(x)
        f = R.flip(x, axis=0)
        r = R.repeat(f, 2, axis=0)
        p = R.nn.dropout(x, rate=0.5)
        e = R.einsum((x, x), subscripts="ij,ik->jk")
        q = R.nn.pad(x, (1, 0, 0, 2), pad_value=7)
        R.output(t, v, w, z, y, o, r, p, e, q)
    return t, v, w, z, y, o, r, p, e, q
""", [([x, np.array([0, -1, 2], "int32"), "shape:1,3"], picked(x, [0, -1, 2], 1, 3)), ([x[:1], np.array([], "int32"), "shape:0,9"], picked(x[:1], np.array([], "int64"), 0, 9)),
      ([x[:, :3], np.array([1], "int32"), "shape:2,1"], picked(x[:, :3], [1], 2, 1)), ([x, np.array([4], "int32"), "shape:1,3"], "RT09"), ([x[:, :0], np.array([0], "int32"), "shape:0,1"], "RT09")])

g = f32(4)
mean = lambda v: v.mean(-1, keepdims=True)
program("normalising tensors of unknown sizes", """
@R.function
def main(x: R.Tensor("float32", ndim=2), g: R.Tensor("float32", ndim=1), q: R.Tensor(("b", "s", 2, "h"), "float32")):
    a = R.nn.layer_norm(x, g, g, axes=[-1])
    bb = R.nn.rms_norm(a, g)
    c = R.nn.attention(q, q, q, causal_mask="TopLeft")
    d = R.shape_of(bb)
    e = R.take(x, R.prim_value(-1), axis=0)
    return R.shape_to_tensor(d), c, e
""", [([x, g, np.ones((1, 3, 2, 4), "float32")], [np.array(x.shape), np.ones((1, 3, 2, 4), "float32"), x[-1]]),
      ([x[:2], g, np.zeros((0, 3, 2, 4), "float32")], [np.array((2, 4)), np.zeros((0, 3, 2, 4), "float32"), x[1]]), ([x, g[:3], np.ones((1, 3, 2, 4), "float32")], "RT05")])

program("unknown sizes that have to fit each other", """
@R.function
def main(x: R.Tensor("float32", ndim=2), y: R.Tensor("int8", ndim=2), s: R.Tensor("float32", ndim=1), k: R.Tensor("int64", ndim=2)):
    a = R.collapse_sum_like(x, y)
    b = R.quantize(x, s, R.const(0, "int8"), axis=1)
    c = R.scatter_nd(s, k, s)
    return a, b, c
""", [([x, np.zeros((3, 1), "int8"), np.full(4, 0.5, "float32"), np.array([[3], [2], [1], [0]])], [x.sum(1, keepdims=True), np.round(x / 0.5).astype("int8"), np.full(4, 0.5, "float32")]),
      ([x, np.zeros((1, 4), "int8"), np.full(4, 0.5, "float32"), np.array([[0]] * 4)], [x.sum(0, keepdims=True), np.round(x / 0.5).astype("int8"), np.full(4, 0.5, "float32")]),
      ([x, np.zeros((3, 4), "int8"), np.full(4, 0.5, "float32"), np.array([[0]] * 4)], [x, np.round(x / 0.5).astype("int8"), np.full(4, 0.5, "float32")]),
      ([x[:0], np.zeros((1, 1), "int8"), np.full(4, 0.5, "float32"), np.array([[0]] * 4)], [np.zeros((1, 1), "float32"), np.zeros((0, 4), "int8"), np.full(4, 0.5, "float32")]),
      ([x, np.zeros((2, 4), "int8"), np.full(4, 0.5, "float32"), np.array([[0]] * 4)], "RT05"), ([x, np.zeros((3, 4), "int8"), np.full(3, 0.5, "float32"), np.array([[0]] * 3)], "RT05"),
      ([x, np.zeros((3, 4), "int8"), np.full(4, 0.5, "float32"), np.array([[0, 0]] * 4)], "RT05")])

starts = np.array([0, 2, 5], "int32")
q = np.linspace(-1, 1, 5 * 2 * 4).reshape(1, 5, 2, 4).astype("float32")
parts = [np.einsum("qhd,khd->hqk", q[0, a:b], q[0, a:b]) / 2 for a, b in ((0, 2), (2, 5))]
parts = [np.exp(p - p.max(-1, keepdims=True)) for p in parts]
want = np.concatenate([np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), q[0, a:b]) for p, (a, b) in zip(parts, ((0, 2), (2, 5)))])[None].astype("float32")
program("attention of sequences, with arguments left out", """
@R.function
def main(q: R.Tensor((1, "n", 2, 4), "float32"), s: R.Tensor(("k",), "int32"), m: R.Tensor((), "int32"), u: R.Tensor("float32", ndim=4)):
    a = R.nn.attention_var_len(q, q, q, s, m)
    b = R.nn.attention_var_len(q, q, q, s, m, seqstart_k=s)
    c = R.nn.attention_var_len(q, q, q, s, m, max_seqlen_k=m)
    d = R.nn.attention_var_len(q, q, q, s, m, s, m, scale=0.5, causal_mask=None, window_size=None)
    e = R.nn.attention_var_len(u, q, u, s, m, scale=0.5)
    return a, b, c, d, e
""", [([q, starts, np.array(3, "int32"), q], [want] * 5), ([q, starts, np.array(3, "int32"), q[:, :4]], "RT05")], near=(1e-5, 1e-6))

img = (np.arange(2 * 4 * 3 * 3).reshape(2, 4, 3, 3) % 7).astype("float32")
program("layouts of images", """
@R.function
def main(x: R.Tensor((2, 4, 3, 3), "float32")):
    a = R.layout_transform(x, index_map=lambda n, c, h, w: (n, c // 2, h, w, c % 2))
    b = R.layout_transform(x, index_map=lambda n, c, h, w: (n, h, w, c))
    c = R.layout_transform(x, index_map=lambda n, c, h, w: (n, c // 3, h, w, c % 3), pad_value=R.prim_value(T.float32(-1)))
    d = R.nn.max_pool2d(x, pool_size=[2, 2])
    return a, b, c, d
""", [([img], [np.moveaxis(img.reshape(2, 2, 2, 3, 3), 2, -1), np.moveaxis(img, 1, -1),
              np.moveaxis(np.concatenate([img, np.full((2, 2, 3, 3), -1, "float32")], 1).reshape(2, 2, 3, 3, 3), 2, -1),
              np.max([img[:, :, a:a + 2, b:b + 2] for a in (0, 1) for b in (0, 1)], 0)])])
s.done()
