from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        y = R.host.halve(x)
        s: R.Marked(R.shape([n, 5]), R.str("s")) = R.host.mark(y)
        z = R.add(y, x)
        return z

    @R.function
    def marked(c: R.Tensor((), "bool"), a: R.Marked(R.shape([2]), R.str("a")), b: R.Marked(R.shape([3]), R.str("b"))):
        if c:
            m = a
        else:
            m = b
        return m

    @R.function
    def derived(f: R.Callable(derive_func="host.first", purity=True), x: R.Tensor(("m",), "int64")) -> R.Tensor(("m",), "int64"):
        y = f(x)
        return y
