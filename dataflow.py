from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            @R.function
            def f(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                w = R.add(v, x)
                return w
            y = f(x)
            R.output(y)
        return y
