from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function
    def main(x: R.Tensor((3,), "float32"), kk: R.Prim(value="k")) -> R.Shape(ndim=1):
        k = T.int64()

        @R.function
        def get() -> R.Shape([k + 1]):
            return R.shape([k + 1])
        s = get()
        return s
