# nothing of the input is known: operators are compiled when they meet it, one by its sizes
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor) -> R.Tensor((3, 4), "float32"):
        a = R.negative(x)
        b = R.add(a, x)
        c = R.expand_dims(b, axis=0)
        d = R.concat((c, c), axis=0)
        e = R.sum(d, axis=[0])
        f = R.squeeze(c)
        g = R.add(e, f)
        h = R.multiply(g, x)
        return h
