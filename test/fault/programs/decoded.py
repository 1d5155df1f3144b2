from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def decode(x: T.handle, Q: T.Buffer((2, 40), "uint8"), S: T.Buffer((1, 40), "float32"), y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, 4))
        Y = T.match_buffer(y, (n, 40))
        D = T.alloc_buffer((4, 40))
        W = T.alloc_buffer((4, 40))
        for i, j in T.grid(4, 40):
            D[i, j] = T.Cast("float32", T.bitwise_and(T.shift_right(Q[i // 2, j], T.Cast("uint8", i % 2 * 4)), T.uint8(15)))
        for i, j in T.grid(4, 40):
            W[i, j] = (D[i, j] - T.float32(7)) * S[i // 4, j]
        for i, j in T.grid(n, 40):
            Y[i, j] = T.float32(0)
        for i, j, k in T.grid(n, 40, 4):
            Y[i, j] = Y[i, j] + X[i, k] * W[k, j]

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 40), "float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            q = R.ones(R.shape([2, 40]), dtype="uint8")
            s = R.ones(R.shape([1, 40]), dtype="float32")
            a = R.call_tir(cls.decode, (x, q, s), R.Tensor((n, 40), "float32"))
            R.output(a)
        return a
