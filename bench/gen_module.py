#!/usr/bin/python3
"""Canonical modules of a wanted size, as text.

    gen_module.py SHAPE BINDINGS > FILE.py

big: one function. many: functions of 16 bindings each. In these two bindings come in groups of eight with mixed operators, constants and
names of their own; half of the groups (big) or of the functions (many) work on shapes that repeat, the others on shapes that
occur in that group alone. The other shapes each have one thing that grows, and use every value:
deep: a chain. wide: independent bindings, all of them outputs and fields of tuples. functions: functions of eight bindings
that call the one before. symbols: shape variables, from casts and parameters, and expressions of them, distinct all.
kernels: sizes that are distinct numbers, so that lowering needs a PrimFunc for each. renamed: values that are shapes of others, which
lowering replaces. branches: one `if` after the other, six bindings in each. mirrored: in one branch what the first half makes
is used in reverse by the second.
The text is what the printer writes for what the reader makes of it.
"""
import sys

HEAD = """# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
"""
UNARY = ["nn.relu", "tanh", "sigmoid", "exp"]
PARAMS = 'x: R.Tensor(("n", 64), dtype="float32"), w: R.Tensor((64, 64), dtype="float32")'
GROUP, FUNCTION = 8, 16


def tensor(shape, dtype="float32"):
    return f'R.Tensor(({shape}), dtype="{dtype}")'


def constant(g):
    return f'R.const({g * 0.125 + 0.25!r}, "float32")'      # exact in float32


def repeated(g, y):
    """Eight bindings over (n, 64) that go on from `y`; name, struct info and value of each, the last is what comes out."""
    t = tensor("n, 64")
    last = (f"R.nn.softmax(sub{g}, axis=-1)", f"R.multiply(sub{g}, back{g})", f"R.maximum(sub{g}, {constant(g)})")[g % 3]
    return [
        (f"hidden{g}", t, f'R.matmul({y}, w, out_dtype="void")'),
        (f"sum{g}", t, f"R.add(hidden{g}, {constant(g)})"),
        (f"act{g}", t, f"R.{UNARY[g % 4]}(sum{g})"),
        (f"turned{g}", tensor("64, n"), f"R.permute_dims(act{g}, axes=[1, 0])"),
        (f"back{g}", t, f"R.permute_dims(turned{g}, axes=[1, 0])"),
        (f"mean{g}", tensor("n, 1"), f"R.mean(back{g}, axis=[1], keepdims=True)"),
        (f"sub{g}", t, f"R.subtract(back{g}, mean{g})"),
        (f"out{g}", t, last)], f"out{g}", t


def distinct(g):
    """Eight bindings over sizes of their own."""
    n, c = f"n + {g + 1}", f"cast{g}"
    small, flat, wide = tensor(f"{n}, 2, 2", "float16"), tensor(f"{n}, 4"), tensor(f"1, {n}, 2, 2", "float16")
    return [
        (f"fresh{g}", flat, f'R.zeros(R.shape([{n}, 4]), dtype="float32")'),
        (f"scaled{g}", flat, f"R.multiply(fresh{g}, {constant(g)})"),
        (f"split{g}", tensor(f"{n}, 2, 2"), f"R.reshape(scaled{g}, R.shape([{n}, 2, 2]))"),
        (c, small, f'R.astype(split{g}, dtype="float16")'),
        (f"wide{g}", wide, f"R.expand_dims({c}, axis=[0])"),
        (f"pair{g}", f"R.Tuple({wide}, {small})", f"wide{g}, {c}"),
        (f"second{g}", small, f"pair{g}[1]"),
        (f"total{g}", tensor(f"{n},", "float16"), f"R.sum(second{g}, axis=[1, 2], keepdims=False)")], f"total{g}", tensor(f"{n},", "float16")


def in_signature(info):
    return info.replace("(n, 64)", '("n", 64)') if "(n, 64)" in info else info.replace("R.Tensor((", 'R.Tensor(("').replace(",)", '",)')


def function(name, bindings, result, info):
    lines = [f"    @R.function\n    def {name}({PARAMS}) -> {in_signature(info)}:\n        n = T.int64()\n        with R.dataflow():\n"]
    lines += [f"            {v}: {s} = {e}\n" for v, s, e in bindings]
    lines += [f"            R.output({result})\n        return {result}\n"]
    return "".join(lines)


def big(count):
    y, bindings, info = "x", [], None
    for g in range(count // GROUP):
        if g % 2:
            bindings += distinct(g)[0]
        else:
            more, y, info = repeated(g, y)
            bindings += more
    return HEAD + function("main", bindings, y, info)


def many(count):
    functions = []
    for f in range(count // FUNCTION):
        y, bindings, info = "x", [], None
        for g in range(f * 2, f * 2 + 2):
            more, y, info = distinct(g) if f % 2 else repeated(g, y)
            bindings += more
        functions.append(function(f"f{f:06}", bindings, y, info))
    return HEAD + "\n".join(functions)


def lines(name, params, info, declared, bindings, outputs, result):
    """One function, bindings as (name, struct info, value)."""
    yield f"    @R.function\n    def {name}({params}) -> {info}:\n"
    yield from (f"        {v} = T.int64()\n" for v in declared)
    yield "        with R.dataflow():\n"
    yield from (f"            {v}: {s} = {e}\n" for v, s, e in bindings)
    yield f"            R.output({outputs})\n        return {result}\n"


X, SCALAR = 'x: R.Tensor(("n", 64), dtype="float32")', 'R.Tensor((), dtype="float32")'
ROWS, ROWS_OUT = tensor("n, 64"), in_signature(tensor("n, 64"))
CHAIN = ["add(lv{}, x)", "nn.relu(lv{})", "multiply(lv{0}, lv{0})", "tanh(lv{})"]


def chain(count):
    yield "lv0", ROWS, "R.exp(x)"
    for i in range(1, count):
        yield f"lv{i}", ROWS, "R." + CHAIN[i % 4].format(i - 1)


def deep(count):
    last = f"lv{count - 1}"
    return HEAD + "".join(lines("main", X, ROWS_OUT, ["n"], chain(count), last, last))


def parts_of(items):
    """At most 1,000 each: more than 65,535 operands do not fit an instruction."""
    return [items[i:i + 1000] for i in range(0, len(items), 1000)]


def wide(count):
    fields = [f"lv{i}" for i in range(count)]
    bindings = [(v, ROWS, f"R.{UNARY[i % 4]}(x)" if i % 2 else f"R.add(x, {constant(i)})") for i, v in enumerate(fields)]
    parts = [(f"part{i}", len(p), p) for i, p in enumerate(parts_of(fields))]
    names = [name for name, _, _ in parts]
    bindings += [(name, "R.Tuple(" + ", ".join([ROWS] * n) + ")", ", ".join(p)) for name, n, p in parts]
    bindings.append(("all", "R.Tuple(" + ", ".join("R.Tuple(" + ", ".join([ROWS] * n) + ")" for _, n, _ in parts) + ")",
                     ", ".join(names) if len(names) > 1 else f"({names[0]},)"))
    info = "R.Tuple(" + ", ".join("R.Tuple(" + ", ".join([ROWS_OUT] * n) + ")" for _, n, _ in parts) + ")"
    return HEAD + "".join(lines("main", X, info, ["n"], bindings, ", ".join([*fields, *names, "all"]), "all"))


def functions(count):
    texts = []
    for f in range(count // 8):
        bindings = list(chain(8))
        if f:
            bindings[7] = "lv7", ROWS, f"cls.f{f - 1:06}(lv6)"
        text = "".join(lines(f"f{f:06}", X, ROWS_OUT, ["n"], bindings, "lv7", "lv7"))
        texts.append(text.replace("        with", "        cls = Module\n        with", 1) if f else text)
    return HEAD + "\n".join(texts)


def added(name, info, value, before, after):
    """Four bindings: a tensor, and its sum added to what there was."""
    return [(name, info, value), (f"exp_{name}", info, f"R.exp({name})"),
            (f"sum_{name}", SCALAR, f"R.sum(exp_{name}, axis=None, keepdims=False)"), (after, SCALAR, f"R.add({before}, sum_{name})")]


def symbols(count):
    groups = count // 8
    sizes, casts, bindings = [f"p{g}" for g in range(groups)], [f"c{g}" for g in range(groups)], []
    for g in range(groups):
        size = f"p{g} * 2 + {g + 1}"
        cast = tensor(f"c{g}, 64")
        bindings += added(f"made{g}", tensor(f"{size}, 4"), f'R.zeros(R.shape([{size}, 4]), dtype="float32")',
                          f"total{g - 1}" if g else "zero", f"half{g}")
        bindings += added(f"cast{g}", cast, f"R.match_cast(x, {cast})", f"half{g}", f"total{g}")
    shapes = [f"s{i}: R.Shape([" + ", ".join(f'"{v}"' for v in part) + "])" for i, part in enumerate(parts_of(sizes))]
    params = 'x: R.Tensor(dtype="float32", ndim=2), zero: R.Tensor((), dtype="float32"), ' + ", ".join(shapes)
    last = f"total{groups - 1}"
    return HEAD + "".join(lines("main", params, SCALAR, sizes + casts, bindings, last, last))


def kernels(count):
    bindings = []
    for g in range(count // 4):
        bindings += added(f"made{g}", tensor(f"{g + 1}, 4"), f'R.zeros(R.shape([{g + 1}, 4]), dtype="float32")',
                          f"total{g - 1}" if g else "x", f"total{g}")
    last = f"total{count // 4 - 1}"
    return HEAD.replace("# from tvm.script import tir as T\n", "") + "".join(lines("main", 'x: R.Tensor((), dtype="float32")', SCALAR, [], bindings, last, last))


def renamed(count):
    bindings, before = [], "x"
    for g in range(count // 2):
        info = f'R.Tensor(size{g}, dtype="float32")' if g < count // 2 - 1 else 'R.Tensor(dtype="float32", ndim=2)'
        bindings += [(f"size{g}", "R.Shape(ndim=2)", f"R.shape_of({before})"), (f"lv{g}", info, f'R.ones(size{g}, dtype="float32")')]
        before = f"lv{g}"
    info = 'R.Tensor(dtype="float32", ndim=2)'
    return HEAD.replace("# from tvm.script import tir as T\n", "") + "".join(lines("main", f"x: {info}", info, [], bindings, before, before))


def branches(count):
    text, before = [], "x"
    for g in range(count // 6):
        for head, side, first, second in (("if c", "then", f"R.exp({before})", "x"), ("else", "else", f"R.tanh({before})", before)):
            text.append(f"        {head}:\n            a{g}_{side}: {ROWS} = {first}\n"
                        f"            y{g}_{side}: {ROWS} = R.add(a{g}_{side}, {second})\n            y{g}: {ROWS} = y{g}_{side}\n")
        before = f"y{g}"
    return HEAD + (f'    @R.function\n    def main({X}, c: R.Tensor((), dtype="bool")) -> {ROWS_OUT}:\n        n = T.int64()\n'
                   + "".join(text) + f"        return {before}\n")


def mirrored(count):
    half = count // 2
    bindings = [(f"lv{i}", ROWS, f"R.tanh({f'lv{i - 1}' if i else 'x'})") for i in range(half)]
    bindings += [(f"back{i}", ROWS, f"R.add({f'back{i - 1}' if i else 'x'}, lv{half - 1 - i})") for i in range(half)]
    bindings.append(("y", ROWS, f"back{half - 1}"))
    return HEAD + (f'    @R.function\n    def main({X}, c: R.Tensor((), dtype="bool")) -> {ROWS_OUT}:\n        n = T.int64()\n        if c:\n'
                   + "".join(f"            {v}: {s} = {e}\n" for v, s, e in bindings)
                   + f"        else:\n            other: {ROWS} = R.exp(x)\n            y: {ROWS} = other\n        return y\n")


if __name__ == "__main__":
    shapes = {f.__name__: f for f in (big, many, deep, wide, functions, symbols, kernels, renamed, branches, mirrored)}
    if len(sys.argv) != 3 or sys.argv[1] not in shapes:
        sys.exit(__doc__)
    sys.stdout.write(shapes[sys.argv[1]](int(sys.argv[2])))
