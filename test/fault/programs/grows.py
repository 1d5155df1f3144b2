from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n + 1", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            s = R.sum(x, axis=[0], keepdims=True)
            y = R.concat((x, s), axis=0)
            R.output(y)
        return y
