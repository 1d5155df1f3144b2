from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function(private=True)
    def pair(x: R.Tensor(("n", 4), "float32")) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Shape(["n", 4])):
        n = T.int64()
        y = R.sin(x)
        return (y, R.shape([n, 4]))

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        cls = Module
        p = cls.pair(x)
        a = R.cos(x)
        b = p[0]
        q = (a, (b, p, R.prim_value(3)), R.shape([n]))
        return q
