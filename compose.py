from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function(private=True)
    def compose(f: R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")), g: R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32"))) -> R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")):
        @R.function
        def h(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            a: R.Tensor((3,), "float32") = f(x)
            b: R.Tensor((3,), "float32") = g(a)
            return b
        return h
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        @R.function
        def inc(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            w = R.add(v, R.const(1, "float32"))
            return w
        @R.function
        def mul(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            w = R.multiply(v, x)
            return w
        h = Module.compose(inc, mul)
        k = Module.compose(h, h)
        r: R.Tensor((3,), "float32") = k(x)
        return r
