from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @R.function
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        @R.function
        def outer(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            @R.function
            def inner(w: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
                a = R.add(w, c)
                b = R.multiply(a, y)
                return b
            r = inner(y)
            q = inner(r)
            return q
        z = outer(x)
        return z
