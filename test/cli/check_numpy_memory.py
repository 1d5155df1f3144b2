#!/usr/bin/env python3
"""Operators about the memory of tensors, and those that give back what they get: views, what a tensor is, gradients' marks, collectives."""
import numpy as np

from numpy_case import HEAD, Cases, f32

s = Cases()
BOTH = ("interp", "c")


def viewed(x, dtype=None, shape=None, offset=0):
    """The bytes of x from `offset` on as another tensor."""
    dtype, shape = np.dtype(dtype or x.dtype), x.shape if shape is None else shape
    return np.frombuffer(x.tobytes(), dtype, int(np.prod(shape)), offset).reshape(shape)


# ---- views of parameters, of constants, of what is computed
x = f32(4, 6)
s.program("views under another shape, dtype and offset", """
@R.function
def main(x: R.Tensor((4, 6), "float32")):
    with R.dataflow():
        a = R.memory.view(x, R.shape([2, 12]))
        b = R.memory.view(x, R.shape([4, 12]), R.dtype("int16"))
        c = R.memory.view(x, R.shape([5]), R.dtype("uint8"), R.prim_value(7))
        d = R.memory.view(x, R.shape([2, 3]), relative_byte_offset=R.prim_value(24))
        e = R.memory.view(x)
        f = R.add(x, x)
        g = R.memory.view(f, R.shape([24]), R.dtype("int32"))
        h = R.bitwise_and(g, g)
        i = R.memory.view(R.memory.view(h, R.shape([12]), relative_byte_offset=R.prim_value(48)), dtype=R.dtype("float32"))
        j = R.negative(f)
        k = R.memory.view(R.const([1, 2, 3, 4], "int16"), R.shape([2]), R.dtype("int32"))
        R.output(a, b, c, d, e, g, h, i, j, k)
    return a, b, c, d, e, g, h, i, j, k
""", [([x], [viewed(x, shape=(2, 12)), viewed(x, "int16", (4, 12)), viewed(x, "uint8", (5,), 7), viewed(x, shape=(2, 3), offset=24), x, viewed(x + x, "int32", (24,)),
             viewed(x + x, "int32", (24,)), viewed(x + x, shape=(12,), offset=48), -(x + x), np.array([1 + (2 << 16), 3 + (4 << 16)], "int32")])], BOTH)

s.program("views whose bounds are known when the program runs", """
@R.function
def main(x: R.Tensor(("n", 4), "int32"), s: R.Shape(["m", "k"]), at: R.Prim("int64")):
    m, k = T.int64(), T.int64()
    a = R.memory.view(x, R.shape([m, k]), R.dtype("int16"), at)
    b = R.add(a, a)
    return a, b
""", [([v := np.arange(12, dtype="int32").reshape(3, 4), "shape:2,3", "int:4"], [viewed(v, "int16", (2, 3), 4), 2 * viewed(v, "int16", (2, 3), 4)]),
      ([v, "shape:4,6", "int:0"], [viewed(v, "int16", (4, 6)), 2 * viewed(v, "int16", (4, 6))]),
      ([v, "shape:0,9", "int:48"], [np.zeros((0, 9), "int16")] * 2), ([v[:0], "shape:5,0", "int:0"], [np.zeros((5, 0), "int16")] * 2),
      ([v, "shape:4,6", "int:2"], "RT05"), ([v, "shape:1,1", "int:1"], "RT05"), ([v, "shape:1,1", "int:-2"], "RT05"), ([v, "shape:0,0", "int:49"], "RT05"),
      ([v, "shape:-1,1", "int:0"], "RT05")], BOTH)

s.program("views of what nothing is known of", """
@R.function
def main(x: R.Tensor):
    a = R.memory.view(x, dtype=R.dtype("int32"))
    b = R.memory.ensure_zero_offset(a)
    return a, b
""", [([f32(2, 3)], [viewed(f32(2, 3), "int32")] * 2), ([f32(2, 3).astype("float64")], [viewed(f32(2, 3).astype("float64"), "int32", (2, 3))] * 2), ([np.zeros(4, "int8")], "RT05")])

for dtype in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"):
    v = np.arange(16).astype(dtype)
    half = v.itemsize * 8
    s.program(f"views of {dtype}", f"""
@R.function
def main(x: R.Tensor((16,), "{dtype}")):
    a = R.memory.view(x, R.shape([2, 4]), relative_byte_offset=R.prim_value({half}))
    b = R.memory.view(x, R.shape([{v.nbytes}]), R.dtype("uint8"))
    c = R.memory.view(b, R.shape([16]), R.dtype("{dtype}"))
    d = R.equal(c, x)
    return a, b, c, d
""", [([v], [v[8:].reshape(2, 4), viewed(v, "uint8", (v.nbytes,)), v, np.ones(16, bool)])])

s.program("what is written in place is seen through no view of a constant", """
@T.prim_func(private=True)
def twice(x: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("b"):
            v = T.axis.spatial(4, i)
            x[v] = x[v] * 2

@R.function
def main(y: R.Tensor((4,), "int32")):
    cls = M
    x = R.add(y, y)
    a = R.memory.view(x, R.shape([2, 2]))
    b = R.add(a, a)
    c = R.call_tir_inplace(cls.twice, (x,), inplace_indices=[0], out_sinfo=[R.Tensor((4,), "int32")])
    k = R.memory.view(R.const([[1, 2], [3, 4]], "int32"), R.shape([4]))
    d = R.call_tir_inplace(cls.twice, (k,), inplace_indices=[0], out_sinfo=[R.Tensor((4,), "int32")])
    return b, c, d
""", [([v := np.arange(4, dtype="int32")], [(4 * v).reshape(2, 2), 4 * v, np.array([2, 4, 6, 8], "int32")])] * 2, BOTH)

# ---- what a tensor is
s.program("tensors are asked what they are", """
@R.function
def main(x: R.Tensor, i: R.Prim("int64")):
    a = R.inspect.tensor_shape_i(x, i)
    b = R.inspect.tensor_stride_i(x, i)
    c = R.inspect.tensor_dtype_code(x)
    d = R.inspect.tensor_dtype_bits(x)
    e = R.inspect.tensor_dtype_lanes(x)
    f = R.inspect.tensor_ndim(x)
    g = R.inspect.tensor_byte_offset(x)
    h = R.inspect.tensor_elem_offset(x)
    return a, b, c, d, e, f, g, h
""", [([v, f"int:{i}"], [np.int64(k) for k in (v.shape[i], np.prod(v.shape[i + 1:], dtype="int64"), *code, 1, v.ndim, 0, 0)])
      for v, code in ((f32(2, 3, 4), (2, 32)), (np.zeros(5, "int8"), (0, 8)), (np.zeros((2, 0, 7), "uint64"), (1, 64)), (np.zeros((1, 2), "float16"), (2, 16)))
      for i in range(v.ndim)] + [([f32(2), "int:1"], "RT09"), ([f32(2), "int:-1"], "RT09"), ([np.array(1, "float32"), "int:0"], "RT09")])

s.program("what is known of a tensor and what is not agree", """
@R.function
def main(x: R.Tensor((2, "n"), "bool"), y: R.Tensor):
    return (R.inspect.tensor_dtype_code(x), R.inspect.tensor_dtype_code(y), R.inspect.tensor_dtype_bits(x), R.inspect.tensor_dtype_bits(y), R.inspect.tensor_stride_i(x, 0),
            R.inspect.tensor_stride_i(y, 0), R.inspect.tensor_byte_offset(x), R.inspect.tensor_byte_offset(y))
""", [([np.zeros((2, 3), bool)] * 2, [np.int64(v) for v in (1, 1, 1, 1, 3, 3, 0, 0)])])

s.program("sizes that are asked for are computed with", """
@R.function
def main(x: R.Tensor("float32", ndim=2), i: R.Prim("int64")):
    a = R.inspect.tensor_shape_i(x, i)
    b = R.take(x, a, axis=0)
    return b
""", [([f32(4, 3), "int:1"], [f32(4, 3)[3]]), ([f32(4, 4), "int:1"], "RT09")], BOTH)

# ---- marks of differentiation
s.program("marks of differentiation give back what they get", """
@R.function
def main(x: R.Tensor(("n",), "float32"), p: R.Prim("int64")):
    n = T.int64()
    with R.dataflow():
        a = R.grad.no_grad(x)
        b = R.add(a, a)
        c = R.grad.start_checkpoint(b)
        d = R.multiply(c, x)
        e = R.grad.end_checkpoint(d)
        f = R.grad.no_grad((e, x))
        g = R.grad.no_grad(R.const(2, "float32"))
        h = R.multiply(f[0], g)
        i = R.grad.no_grad(R.shape([n, 2]))
        j = R.ones(i, "int8")
        k = R.grad.no_grad(p)
        l = R.builtin.stop_lift_params(R.const([1, 2], "int32"))
        R.output(a, e, f, h, j, k, l)
    return a, e, f, h, j, k, l
""", [([x := f32(n), "int:7"], [x, 2 * x * x, 2 * x * x, x, 4 * x * x, np.ones((n, 2), "int8"), np.int64(7), np.array([1, 2], "int32")]) for n in (3, 0)], BOTH)

# ---- collectives: programs build, the communicator is missing
for call, name in (('allreduce(x, op_type="sum")', "allreduce"), ("allgather(x, num_workers=2)", "allgather"), ("broadcast_from_worker0(x)", "broadcast_from_worker0"),
                   ("scatter_from_worker0(x, num_workers=2)", "scatter_from_worker0")):
    s.write("c.py", HEAD + f'    @R.function\n    def main(x: R.Tensor((4, 2), "float32")):\n        y = R.ccl.{call}\n        z = R.add(y, y)\n        return z\n')
    for level in "01":
        s.equal(f"{name} builds", s.run("build", "c.py", "-o", "c.rlx", "--opt", level)[::2], (0, ""))
        np.save(s.path("x.npy"), f32(4, 2))
        s.fails(f"{name} without a communicator", ["run", "c.rlx", "--input", "x.npy"], "RT08", text=f"relax.communicator.{name}")
s.done()
