# Branches, recursion, match_cast, tuples, functions as values, packed functions.
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")) -> R.Object:
        n = T.int64()
        cls = Module
        if c:
            y = R.add(x, x)
            r = (y, R.shape([n, n * 2 + 1]), R.prim_value(n))
        else:
            z = R.call_packed("test.echo", x, sinfo_args=R.Tensor((n,), "float32"))
            r = (z, R.shape([n, 7]), R.prim_value(n + 1))
        s = r[1]
        m = T.int64()
        k = T.int64()
        u = R.match_cast(s, R.Shape([m, k]))
        f = cls.count
        v = f(R.shape([3]))
        return (r, v, u, R.str("text"), R.dtype("float16"))

    @R.function
    def count(s: R.Shape(["n"])) -> R.Tensor((), "int64"):
        n = T.int64()
        cls = Module
        c = R.less(R.const(0, "int64"), R.prim_value(n))
        d = R.call_pure_packed("test.echo", R.const(1, "int64"), sinfo_args=R.Tensor((), "int64"))
        e = R.less(R.const(0, "int64"), d)
        if e:
            r = R.const(1, "int64")
        else:
            q = cls.count(R.shape([n - 1]))
            r = R.add(q, R.const(1, "int64"))
        return r
