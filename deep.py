from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        @R.function
        def f(i: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
            c = R.less(i, n)
            if c:
                j = R.add(i, R.const(1, "int64"))
                s = f(j)
                r = R.add(s, R.const(1, "int64"))
            else:
                r = R.const(0, "int64")
            return r
        y = f(R.const(0, "int64"))
        return y
