from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        m = T.int64()
        with R.dataflow():
            y = R.exp(x)
            z = R.call_packed("f", y, sinfo_args=R.Tensor((m, 4), "float32"))
            R.output(y)
        return y
