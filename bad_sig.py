from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Object:
        n = T.int64()
        @R.function
        def f(w: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            b = R.add(w, R.ones((n,), "float32"))
            return b
        g: R.Object = f
        h = R.match_cast(g, R.Callable((R.Tensor((4,), "float32"),), R.Tensor((4,), "float32")))
        return x
