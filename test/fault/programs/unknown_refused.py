# the operator does not take the rank that it meets
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor) -> R.Tensor:
        y = R.negative(x)
        z = R.nn.conv2d(y, y)
        return z
