from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(X: T.Buffer((12, 5, 5), "float32"), W: T.Buffer((12, 3, 3), "float32"), Y: T.Buffer((12, 3, 3), "float32"), M: T.Buffer((12,), "float32"), V: T.Buffer((12,), "float32"), Z: T.Buffer((24, 6), "float32")):
        T.func_attr({"tir.noalias": True})
        P = T.alloc_buffer((12, 7, 7))
        S = T.alloc_buffer((12, 3, 3))
        for c, i, j in T.grid(12, 7, 7):
            P[c, i, j] = T.if_then_else(1 <= i and i < 6 and 1 <= j and j < 6, X[c, i - 1, j - 1], T.float32(0))
        for c, i, j in T.grid(12, 3, 3):
            S[c, i, j] = T.float32(0)
        for c, i, j, u, v in T.grid(12, 3, 3, 3, 3):
            S[c, i, j] = T.fma(P[c, i * 2 + u, j * 2 + v], W[c, u, v], S[c, i, j])
        for c, i, j in T.grid(12, 3, 3):
            Y[c, i, j] = T.max(S[c, i, j], T.float32(0))
        for c in range(12):
            M[c] = T.float32(0)
            V[c] = T.float32(0)
        for c, i in T.grid(12, 9):
            m: T.float32 = M[c] + Y[c, i // 3, i % 3]
            v: T.float32 = V[c] + Y[c, i // 3, i % 3] * Y[c, i // 3, i % 3]
            M[c] = m
            V[c] = v
        for i, j in T.grid(24, 6):
            Z[i, j] = T.if_then_else(j % 2 == 0, Y[i % 12, (j // 6 + i % 3) % 3, j // 2], T.float32(1))

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor((24, 6), "float32"):
        cls = Module
        with R.dataflow():
            p = R.ones(R.shape([12, 5, 5]), dtype="float32")
            w = R.ones(R.shape([12, 3, 3]), dtype="float32")
            y = R.call_tir(cls.f, (p, w), out_sinfo=[R.Tensor((12, 3, 3), "float32"), R.Tensor((12,), "float32"), R.Tensor((12,), "float32"), R.Tensor((24, 6), "float32")])
            z = y[3]
            R.output(z)
        return z
