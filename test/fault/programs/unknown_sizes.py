from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)) -> R.Tensor(dtype="float32", ndim=2):
        a = R.exp(x)
        b = R.concat((a, x), axis=0)
        c = R.add(b, R.const(1.0, "float32"))
        d = R.matmul(c, R.permute_dims(c))
        e = R.nn.softmax(d, axis=-1)
        return e
