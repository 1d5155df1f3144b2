from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((5,), "float32"), k: R.Tensor((), "float32")) -> R.Tuple(R.Tensor((3,), "float32"), R.Tensor((5,), "float32")):
        @R.function
        def scale(v: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
            m = T.int64()
            z = R.multiply(v, k)
            return z
        a = scale(x)
        b = scale(y)
        return (a, b)
