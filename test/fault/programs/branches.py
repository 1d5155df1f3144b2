from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        c = R.less(R.sum(x), R.const(5.0, "float32"))
        if c:
            a = R.exp(x)
            y = R.tanh(a)
        else:
            d = R.greater(R.max(x), R.const(2.5, "float32"))
            if d:
                z = R.negative(x)
            else:
                z = R.add(x, x)
            y = R.multiply(z, z)
        return y
