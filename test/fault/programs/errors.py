from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def wrong(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((3,), "int32")):
        n = T.int64()
        a = R.add(x, y)
        b = R.nn.softmax(x, axis=7)
        c = R.no_such_operator(x)
        d = R.matmul(x, R.zeros((5, 2), "float32"))
        e = undefined_name
        return a

    @R.function
    def broken(x: R.Tensor(("n", 4), "float32"):
        return x

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i, 0] = T.no_such(1)
        B[0] = 1

    @R.function
    def fine(x: R.Tensor(("n", 4), "float32")) -> R.Tensor((3,), "float32"):
        y = R.exp(x)
        return y
