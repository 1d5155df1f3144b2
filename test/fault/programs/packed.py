from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        a = R.call_dps_packed("test.scale", (x,), R.Tensor((n, 4), "float32"))
        b = R.call_packed("test.keep", a, R.str("a text longer than a cell"), R.shape([n, 4]), sinfo_args=R.Tensor((n, 4), "float32"))
        return (a, b)
