"""Texts with one thing that grows, each with the command of the tool whose cost grows with it. They need not be canonical, nor right."""

MODULE = "@I.ir_module\nclass Module:\n"
FOUR = 'R.Tensor((4,), "float32")'
BUFFERS = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'


def function(lines, params, private=False):
    return (f'    @R.function(private={private})\n    def {"helper" if private else "main"}({params}) -> R.Object:\n        cls = Module\n'
            + "".join(f"        {line}\n" for line in lines))


def prim(lines, params=BUFFERS, name="f"):
    return f"    @T.prim_func\n    def {name}({params}):\n" + "".join(f"        {line}\n" for line in lines)


def overwritten(n):
    """A chain of calls in place: each is asked for what it overwrites."""
    fill = prim(["for i in range(4):", "    A[i] = T.float32(1)"], 'A: T.Buffer((4,), "float32")', "fill")
    calls = [f"x{i + 1} = R.call_tir_inplace(cls.fill, (x{i},), out_sinfo={FOUR}, inplace_indices=[0])" for i in range(n)]
    return MODULE + fill + function(["x0 = R.exp(x)", *calls, f"return x{n}"], f"x: {FOUR}")


def renamed_fields(n):
    """Names of fields of tuples of such names, overwritten in the end."""
    fill = prim(["for i in range(4):", "    A[i] = T.float32(1)"], 'A: T.Buffer((4,), "float32")', "fill")
    lines = ["t0 = (x, x)"]
    for i in range(n):
        lines += [f"t{i + 1} = (t{i}[1], t{i}[0])", f"y{i} = R.call_tir_inplace(cls.fill, (t{i}[0],), out_sinfo={FOUR}, inplace_indices=[0])"]
    return MODULE + fill + function([*lines, "return x"], f"x: {FOUR}")


def unpacked(n):
    names = ", ".join(f"y{i}" for i in range(n))
    return MODULE + function([f"{names} = t", "return y0"], "t: R.Tuple(" + ", ".join(["R.Object"] * n) + ")")


def scopes(n):
    """Buffers that nothing declares, each in the scope of an allocation inside the one before."""
    lines = [line for k in range(n) for line in (f'a{k} = T.allocate([4], "float32", "global")', f'C{k} = T.Buffer((4,), "float32", data=a{k})', f"C{k}[0] = A[0]")]
    return MODULE + prim([*lines, "B[0] = A[0]"])


def read_buffers(n):
    """A block that does not say what it reads."""
    params = "".join(f'A{k}: T.Buffer((4,), "float32"), ' for k in range(n)) + 'B: T.Buffer((4,), "float32")'
    return MODULE + prim(["for i in range(4):", '    with T.block("b"):', "        v = T.axis.spatial(4, i)", *(f"        B[v] = A{k}[v]" for k in range(n))], params)


def equal_functions(n):
    """Private functions that are equal after their operators are lowered."""
    copies = "".join(function(["y = R.exp(x)", "return y"], f"x: {FOUR}", True).replace("helper", f"f{i}") for i in range(n))
    return MODULE + copies + function([*(f"y{i} = cls.f{i}(x)" for i in range(n)), "return x"], f"x: {FOUR}")


def stores(n):
    """Stores to one buffer in a loop."""
    return MODULE + prim(["for i in range(4):", *(f"    B[i] = A[i] + T.float32({k % 9})" for k in range(n))])


def long_index(n):
    return MODULE + prim(["for i in range(4):", "    B[" + " + ".join(["i"] * n) + "] = A[0]"])


def devices(n):
    """As many as are used."""
    listed = "".join(f'I.vdevice("{("llvm", "cuda")[i % 2]}", {i}), ' for i in range(2 * n))
    return (MODULE + f'    I.module_global_infos({{"vdevice": [{listed}]}})\n'
            + function([*(f'y{i} = R.to_vdevice(x, "llvm:{i}")' for i in range(n)), "return x"], f"x: {FOUR}"))


def growing(params, first, joined):
    """What has been joined so far, and one more: the sizes are sums."""
    return lambda n: MODULE + function([f"y0 = R.exp({first})", *(f"y{i + 1} = R.concat((y{i}, {joined(i)}), axis=0)" for i in range(n)), f"return y{n}"], params(n))


growing_by_the_same = growing(lambda n: 'x: R.Tensor(("n",), "float32")', "x", lambda i: "x")
growing_by_a_number = growing(lambda n: f"x: {FOUR}", "x", lambda i: "x")
growing_by_others = growing(lambda n: ", ".join(f'x{i}: R.Tensor(("n{i}",), "float32")' for i in range(n)), "x0", lambda i: f"x{i}")
for name in ("growing_by_the_same", "growing_by_a_number", "growing_by_others"):
    globals()[name].__name__ = name


def fibonacci(n):
    """Each of the two before it; anew after 80, where the numbers get too large."""
    lines = []
    for i in range(n):
        lines.append(f"a{i} = R.exp({'xy'[i % 80]})" if i % 80 < 2 else f"a{i} = R.concat((a{i - 1}, a{i - 2}), axis=0)")
    return MODULE + function([*lines, f"return a{n - 1}"], 'x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")')


def casts(n):
    """One value under many names of its size, added up."""
    lines = [line for i in range(n) for line in (f"m{i} = T.int64()", f'y{i} = R.match_cast(x, R.Tensor((m{i},), "float32"))')]
    return MODULE + function([*lines, "z0 = R.exp(y0)", *(f"z{i} = R.add(z{i - 1}, y{i})" for i in range(1, n)), f"return z{n - 1}"], 'x: R.Tensor("float32", ndim=1)')


def product(k):
    """A product of matrices that is put into tiles."""
    return ("    for i, j, k in T.grid(200, 300, 600):", f"        C[{k}, i, j] = C[{k}, i, j] + A[i, k] * B[k, j]")


def products(n):
    """Products of matrices, one after the other in one function."""
    return MODULE + prim([line[4:] for k in range(n) for line in product(k)],
                         f'A: T.Buffer((200, 600), "float32"), B: T.Buffer((600, 300), "float32"), C: T.Buffer(({n}, 200, 300), "float32")')


def product_functions(n):
    params = 'A: T.Buffer((200, 600), "float32"), B: T.Buffer((600, 300), "float32"), C: T.Buffer((1, 200, 300), "float32")'
    return MODULE + "".join(prim([line[4:] for line in product(0)], params, f"f{k}") for k in range(n))


def products_in_a_loop(n):
    """The same inside of one loop."""
    return MODULE + prim(["for x in range(2):", *(line for k in range(n) for line in product(k))],
                         f'A: T.Buffer((200, 600), "float32"), B: T.Buffer((600, 300), "float32"), C: T.Buffer(({n}, 200, 300), "float32")')


INTERPRETED = ("build", "-o", "/dev/null", "--target", "interp")
TEXTS = {
    overwritten: ("check",), renamed_fields: ("check",), unpacked: ("check",), scopes: ("print",), read_buffers: ("check",),
    equal_functions: ("print", "--pass", "legalize_ops"), stores: ("build", "-o", "/dev/null"), devices: ("print",), long_index: ("build", "-o", "/dev/null"),
    growing_by_the_same: INTERPRETED, growing_by_a_number: INTERPRETED, growing_by_others: INTERPRETED, fibonacci: INTERPRETED, casts: INTERPRETED,
    products: ("print", "--pass", "schedule_tir"), products_in_a_loop: ("print", "--pass", "schedule_tir"), product_functions: ("print", "--pass", "schedule_tir"),
}
COSTLY = {products, products_in_a_loop, product_functions, growing_by_a_number, casts}
