from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function
    def main(x: R.Tensor((3,), "float32"), n: R.Tensor((), "int64")) -> R.Tensor((3,), "float32"):
        @R.function
        def loop(i: R.Tensor((), "int64"), s: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            c = R.less(i, n)
            if c:
                j = R.add(i, R.const(1, "int64"))
                t = R.add(s, x)
                me = loop
                r = me(j, t)
            else:
                r = s
            return r
        y = loop(R.const(0, "int64"), x)
        return y
