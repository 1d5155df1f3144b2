from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        cls = Module
        n = T.int64()
        flat = R.reshape(x, R.shape([12]))
        some: R.Tensor = flat
        sized = R.match_cast(some, R.Tensor((n,), "float32"))

        @R.function
        def f(a: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            b = R.add(a, sized)
            return b

        @R.function
        def g(a: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
            m = T.int64()
            b = R.negative(a)
            return b

        t = (f, g)
        h = t[0]
        made = R.make_closure(cls.twice, (h, g))
        y = R.invoke_pure_closure(made, (sized,), sinfo_args=(R.Tensor((n,), "float32"),))
        z = R.invoke_pure_closure(made, (y,), sinfo_args=(R.Tensor((n,), "float32"),))
        r = R.reshape(z, R.shape([3, 4]))
        return r

    @R.function(private=True)
    def twice(
        a: R.Tensor(("k",), "float32"),
        p: R.Callable((R.Tensor(("j",), "float32"),), R.Tensor(("j",), "float32")),
        q: R.Callable((R.Tensor(("j",), "float32"),), R.Tensor(("j",), "float32")),
    ) -> R.Tensor(("k",), "float32"):
        k = T.int64()
        b = p(a)
        c = q(b)
        d = p(c)
        e: R.Tensor((k,), "float32") = R.add(d, a)
        return e
