from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        a = R.exp(x)
        b = R.call_packed("test.refuse", a, (a, x), sinfo_args=R.Object)
        return b
