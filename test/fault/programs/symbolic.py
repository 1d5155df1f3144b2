from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(4)))
        B = T.match_buffer(b, (n * T.int64(2), T.int64(4)))
        for i, j in T.grid(n, T.int64(4)):
            B[i, j] = A[i, j]
            B[n + i, j] = A[i, j] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n * 12",), "float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.twice, (x,), R.Tensor((n * 2, 4), "float32"))
            b = R.concat((a, x), axis=0)
            c = R.reshape(b, R.shape([n * 12]))
            R.output(c)
        return c
