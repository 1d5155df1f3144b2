from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function(private=True)
    def narrow(x: R.Tensor(("k", 4), "float32")) -> R.Tensor(("k", 4), "float32"):
        R.func_attr({"tir_var_upper_bound": {"k": 0}})
        k = T.int64()
        y: R.Tensor((T.min(k, 100), 4), "float32") = R.exp(x)
        return y

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        R.func_attr({"tir_var_upper_bound": {"n": 64, "m": 1}, "tir_non_negative_var": ["n"]})
        n = T.int64()
        cls = Module
        a = cls.narrow(x)
        b: R.Tensor((n, 4), "float32") = R.exp(a)
        return b
