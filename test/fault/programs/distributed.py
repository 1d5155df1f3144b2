@I.ir_module
class Module:
    I.module_attrs({"device_num": 10})
    I.module_global_infos({"mesh": [R.device_mesh((2, 2), I.Range(0, 4)), R.dist.device_mesh([2], [4, 6])]})

    @T.prim_func
    def twice(x: T.Buffer((T.int64(8), T.int64(4)), "float32"), y: T.Buffer((T.int64(8), T.int64(4)), "float32")):
        for i, j in T.grid(T.int64(8), T.int64(4)):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.DTensor(("n", 4), "float32", device_mesh="mesh[0]", placement="S[0], R"), w: R.DTensor((4, 6), "float32", "mesh[0]", "R, S[1]"),
             u: R.DTensor(dtype="float32", device_mesh="mesh[1]", placement="R", ndim=3)):
        n = T.int64()
        a = R.matmul(x, w)
        b = R.nn.gelu(a)
        c = R.sum(b, axis=[1])
        d = R.sum(b, axis=[0], keepdims=True)
        e = R.permute_dims(b)
        f = R.multiply(b, R.dist.const(2.0, R.DTensor((), "float32", "mesh[0]", "R, R")))
        g = R.reshape(b, R.shape([n, 2, 3]))
        h = R.dist.redistribute(b, device_mesh="mesh[0]", placement="R,R")
        k = R.dist.annotate_sharding(h, "mesh[0]", "S[1], R")
        l = R.nn.softmax(x)
        m = R.exp(u)
        o = R.dist.redistribute_replica_to_shard(u, num_workers=2, axis=2)
        t = R.add(x, l)
        return (c, d, e, f, g, k, m, o, t)

    @R.function
    def calls(x: R.DTensor((8, 4), "float32", "mesh[0]", "S[0], R")):
        y = R.dist.call_tir(Module.twice, x, R.DTensor(shape=(8, 4), dtype="float32", device_mesh="mesh[0]", placement="S[0], R"))
        z = R.dist.call_tir_local_view(Module.twice, (y,), out_sinfo=R.DTensor((8, 4), "float32", "mesh[0]", "S[0], R"))
        return z
