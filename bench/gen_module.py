#!/usr/bin/python3
"""Canonical modules of a wanted size, as text.

    gen_module.py big|many BINDINGS > FILE.py

big: one function. many: functions of 16 bindings each. Bindings come in groups of eight with mixed operators, constants and
names of their own; half of the groups (big) or of the functions (many) work on shapes that repeat, the others on shapes that
occur in that group alone. The text is what the printer writes for what the reader makes of it.
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


if __name__ == "__main__":
    kinds = {"big": big, "many": many}
    if len(sys.argv) != 3 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    sys.stdout.write(kinds[sys.argv[1]](int(sys.argv[2])))
