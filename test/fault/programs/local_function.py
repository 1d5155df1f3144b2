from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()

        @R.function
        def inner(y: R.Tensor((n, 4), "float32")) -> R.Tensor((n, 4), "float32"):
            z = R.add(y, x)
            return z

        w = inner(x)
        return w
