# Kernels of several kinds over symbolic sizes, storage that is planned and shared.
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def pick(A: T.handle, I: T.handle, B: T.handle):
        n = T.int64()
        m = T.int64()
        a = T.match_buffer(A, (n,), "float32")
        i = T.match_buffer(I, (m,), "int64")
        b = T.match_buffer(B, (m,), "float32")
        for k in range(m):
            with T.block("pick"):
                v = T.axis.spatial(m, k)
                b[v] = a[i[v]] + T.exp(a[0])

    @R.function
    def main(x: R.Tensor(("n",), "float32"), i: R.Tensor(("m",), "int64")) -> R.Tensor(("m",), "float32"):
        m = T.int64()
        cls = Module
        with R.dataflow():
            a = R.exp(x)
            b = R.multiply(a, x)
            c = R.add(b, R.sum(b))
            d = R.call_tir(cls.pick, (c, i), out_sinfo=R.Tensor((m,), "float32"))
            e = R.add(d, d)
            R.output(e)
        return e

    @R.function
    def other(x: R.Tensor((3, 4), "int32"), y: R.Tensor(("k", 4), "float64")) -> R.Tuple(R.Tensor((4, 3), "int32"), R.Tensor(("k",), "float64"), R.Tensor((3, 4), "bool")):
        k = T.int64()
        with R.dataflow():
            t = R.permute_dims(R.add(x, R.const(2, "int32")))
            p = R.max(y, axis=[1])
            g = R.greater(x, R.const(0, "int32"))
            R.output(t, p, g)
        return (t, p, g)
