from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        m = T.int64()
        @R.function
        def f(w: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            b = R.add(w, R.ones((n,), "float32"))
            return b
        g: R.Object = f
        h = R.match_cast(g, R.Callable((R.Object,), R.Object))
        r0 = h(y)
        r = R.match_cast(r0, R.Tensor((n,), "float32"))
        return r
