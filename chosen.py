from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function
    def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((3,), "float32"):
        @R.function
        def a(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            z = R.add(y, x)
            return z
        @R.function
        def b(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            z = R.multiply(y, x)
            return z
        if c:
            g = a
        else:
            g = b
        t = (a, g, x)
        h = t[1]
        r = h(t[2])
        return r
