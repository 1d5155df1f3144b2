from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        @R.function(pure=False)
        def f(w: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            _ = R.print(w, format="{}")
            b = R.add(w, x)
            return b
        y = f(x)
        return y
