from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function(private=True)
    def adder(c: R.Tensor(("n",), "float32")) -> R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",), "float32")):
        n = T.int64()
        @R.function
        def inner(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            z = R.add(y, c)
            return z
        return inner
    @R.function
    def main(x: R.Tensor((3,), "float32"), c: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        f = Module.adder(c)
        g = Module.adder(x)
        a: R.Tensor((3,), "float32") = f(x)
        b: R.Tensor((3,), "float32") = g(a)
        return b
