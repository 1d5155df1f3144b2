from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function(private=True)
    def down(i: R.Tensor((), "int64"), k: R.Callable((R.Tensor((), "int64"),), R.Tensor((), "int64"))) -> R.Tensor((), "int64"):
        c = R.less(i, R.const(1, "int64"))
        if c:
            r: R.Tensor((), "int64") = k(i)
        else:
            j = R.subtract(i, R.const(1, "int64"))
            @R.function
            def next(v: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
                w = R.add(v, R.const(2, "int64"))
                q: R.Tensor((), "int64") = k(w)
                return q
            r = Module.down(j, next)
        return r
    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        @R.function
        def id(v: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
            return v
        y = Module.down(n, id)
        return y
