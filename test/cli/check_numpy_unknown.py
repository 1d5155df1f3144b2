#!/usr/bin/env python3
"""The calls of test/op/numbers.txt on tensors of which a program knows rank and dtype only: what numpy gave for them comes out all the same.

UNKNOWN_OP=name takes the calls of one operator, all of them, and shows the programs that fail.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import LONG, TOP, Suite
from relax_run import NARROW, Failed, Module

s = Suite()
ONLY = os.environ.get("UNKNOWN_OP")
EACH = 1 << 30 if ONLY or LONG else 8     # calls of one operator


def array(dtype, shape, content):
    shape = () if shape == "-" else tuple(map(int, shape.split(",")))
    content = b"" if content == "-" else bytes.fromhex(content)
    return np.frombuffer(content, NARROW.get(dtype) or np.dtype(dtype)).reshape(shape)


class Call:
    def __init__(self, lines):
        self.op, self.attrs, self.params, self.args, self.given, self.outs, self.fault, self.tol = "", [], [], [], [], [], None, 0.0
        for tag, _, rest in (line.partition(" ") for line in lines):
            getattr(self, tag)(rest) if tag not in ("op", "fault", "tol") else setattr(self, tag, rest)

    def loose(self, rest):
        pass

    def attr(self, rest):
        name, kind, value = (rest + " ").split(" ")[:3]
        texts = {"none": "None", "bool": str(value == "1"), "string": f'"{value}"', "dtype": f'"{value}"', "ints": f"[{'' if value == '-' else value}]", "floats": f"[{value}]"}
        self.attrs.append(f"{name}={texts.get(kind, value)}")

    def arg(self, rest):
        dtype, x = rest.split(" ")[0], array(*rest.split(" "))
        name = f"x{len(self.given)}"
        self.params.append(f'{name}: R.Tensor("{dtype}", ndim={x.ndim})')
        self.args.append(name)
        self.given.append(x)

    def out(self, rest):
        self.outs.append(array(*rest.split(" ")))

    def scalar(self, rest):
        dtype, value = rest.split(" ")
        self.args.append(f"R.prim_value(T.{dtype}({value}))")

    def bound(self, rest):
        self.args.append(f"R.prim_value({rest})")

    def shape(self, rest):
        self.args.append(f"R.shape([{'' if rest == '-' else rest}])")

    def tuple(self, rest):
        self.args.append(f"[{'' if rest == '-' else rest}]")

    bounds = tuple

    def text(self):
        return f"@I.ir_module\nclass M:\n{self.function('main')}"

    def function(self, name):
        args = [f"({', '.join(self.args)},)"] if self.op in ("concat", "einsum") else self.args
        if self.op == "nn.attention_var_len":    # the order of the text is another one
            args = args[:4] + [args[5], args[4], args[6]]
        return f"""    @R.function
    def {name}({", ".join(self.params)}):
        r = R.{self.op}({", ".join(args + self.attrs)})
        return r
"""


def needs_sizes(call):
    """The code of a call whose result has no known rank without the sizes themselves, or whose arguments say so little of it; None of others."""
    if call.op == "reshape":
        return "TY08" if any(size in call.args[1][9:-2].split(",") for size in ("0", "-1")) else None
    return "CG04" if call.op == "gather_nd" or (call.op == "squeeze" and not call.attrs) else None


def calls():
    """In the order of the file, those of one operator spread over all that it has."""
    with open(os.path.join(TOP, "test/op/numbers.txt")) as f:
        blocks = [b.split("\n") for b in f.read().split("\n\n") if b.strip()]
    found = {}
    for lines in blocks:
        found.setdefault(lines[0][3:], []).append(lines)
    for op, of in found.items():
        if not ONLY or op == ONLY:
            yield from (Call([line for line in of[i] if line]) for i in sorted({k * len(of) // min(EACH, len(of)) for k in range(min(EACH, len(of)))}))


def wide(x):
    """bfloat16 as float32."""
    return (x.reshape(-1).view("uint16").astype("uint32") << 16).reshape(-1).view("float32").reshape(x.shape) if x.dtype.names else x


def same(got, want, tol):
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    a, b = wide(got), wide(want)
    return np.array_equal(a, b) if a.dtype.kind not in "f" else np.allclose(a.astype("float64"), b.astype("float64"), rtol=tol, atol=tol, equal_nan=True)


def as_c():
    """One module of the operators whose loops are no instructions, each compiled once: the bits of the bytecode."""
    some = {}
    for call in calls():
        if call.op.startswith(("image.", "grad.", "multinomial", "collapse_sum_like")) and not call.fault:
            some.setdefault(call.op, []).append(call)
    some = [call for of in some.values() for call in (of[0], of[-1])]
    module = Module("@I.ir_module\nclass M:\n" + "".join(call.function(f"f{i}") for i, call in enumerate(some)))
    plain, native = module.compile(1), module.compile(1, target="c", compiler=os.environ.get("CC", "cc"))
    s.check("is native", native.native or not native.compilers)
    for i, call in enumerate(some):
        want, got = plain.call(f"f{i}", call.given), native.call(f"f{i}", call.given)
        s.check(f"{call.op} as C", [w.tobytes() for w in want] == [g.tobytes() for g in got], f"{got}, {want}"[:600])


for call in calls():
    text, why = call.text(), None
    for level in (0, 2):
        try:
            got = Module(text).compile(level).call("main", call.given)
            if needs_sizes(call) or call.fault:
                why = f"wanted {needs_sizes(call) or call.fault}, it ran"
            elif len(got) != len(call.outs) or not all(same(g, w, max(4 * float(call.tol), 1e-7)) for g, w in zip(got, call.outs)):
                why = f"got {got}, wanted {call.outs}"[:800]
        except Failed as e:
            why = None if e.code == (needs_sizes(call) or call.fault) else f"{e.code} {str(e)[:300]}"
        if not s.check(f"{call.op} at level {level}", why is None, why) and ONLY:
            print(text)
if not ONLY:
    as_c()
s.done()
