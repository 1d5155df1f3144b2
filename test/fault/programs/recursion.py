from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function(private=True)
    def power(x: R.Tensor(("n", 4), "float32"), k: R.Tensor((), "int64")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        cls = Module
        c = R.greater(k, R.const(0, "int64"))
        if c:
            less = R.subtract(k, R.const(1, "int64"))
            rest: R.Tensor((n, 4), "float32") = cls.power(x, less)
            y = R.multiply(rest, x)
        else:
            y = R.ones_like(x)
        return y

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        cls = Module
        y = cls.power(x, R.const(7, "int64"))
        return y
