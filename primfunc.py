from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
@I.ir_module
class Module:

    @T.prim_func(private=True)
    def inc(a: T.Buffer((3,), "float32"), b: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("b"):
                v = T.axis.spatial(3, i)
                b[v] = a[v] + T.float32(1)
    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        out = R.builtin.alloc_tensor(R.shape([3]), R.dtype("float32"), R.prim_value(0))
        f = Module.inc
        g = R.make_closure(Module.inc, (out,))
        _ = R.invoke_closure(g, (x,), sinfo_args=R.Object)
        return out
