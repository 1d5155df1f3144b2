#!/usr/bin/env python3
"""The calls of test/op/numbers.txt on tensors of which a program knows rank and dtype only, one of these, or nothing: what numpy gave for them comes out all
the same.

UNKNOWN_OP=name takes the calls of one operator, and shows the programs that fail.
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
EACH = 8 if "asan" in os.environ.get("LD_PRELOAD", "") and not LONG else 1 << 30     # calls of one operator
TOGETHER = 40                             # functions of a module
KNOWN = {                                 # what is known of an operand -> its annotation
    "rank and dtype": 'R.Tensor("{dtype}", ndim={ndim})',
    "dtype": 'R.Tensor("{dtype}")',
    "rank": "R.Tensor(ndim={ndim})",
    "nothing": "R.Tensor",
}
# Rules that want a rank or a dtype of their operands (TVM 0.20 has the same): without it they are TY08.
WANTS_RANK = ("permute_dims", "full", "full_like", "nn.pad", "nn.layer_norm", "nn.rms_norm", "nn.group_norm", "nn.batch_norm", "quantize", "dequantize")
WANTS_DTYPE = ("where", "scatter_nd", "multinomial_from_uniform", "quantize", "dequantize", "nn.layer_norm", "nn.rms_norm", "nn.group_norm", "nn.batch_norm")


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
        self.params.append((name, dtype, x.ndim))
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

    def text(self, known):
        return f"@I.ir_module\nclass M:\n{self.function('main', known)}"

    def function(self, name, known="rank and dtype"):
        params = ", ".join(f"{name}: {KNOWN[known].format(dtype=dtype, ndim=ndim)}" for name, dtype, ndim in self.params)
        args = [f"({', '.join(self.args)},)"] if self.op in ("concat", "einsum") else self.args
        if self.op == "nn.attention_var_len":    # the order of the text is another one
            args = args[:4] + [args[5], args[4], args[6]]
        return f"""    @R.function
    def {name}({params}):
        r = R.{self.op}({", ".join(args + self.attrs)})
        return r
"""


def refusal(call, known):
    """The code of a call that the rule of its operator does not accept with so little known; None of others."""
    if call.op == "reshape":
        return "TY08" if any(size in call.args[1][9:-2].split(",") for size in ("0", "-1")) else None
    wants = {"rank and dtype": (), "dtype": WANTS_RANK, "rank": WANTS_DTYPE, "nothing": WANTS_RANK + WANTS_DTYPE}[known]
    no_axis = call.op == "take" and "axis=None" in call.attrs and "rank" not in known
    if not no_axis and call.op not in wants:
        return None
    try:
        Module(call.text(known))
    except Failed as e:
        return e.code
    return None


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


def judge(call, exe, name, known):
    """Why the call is wrong, or None."""
    try:
        got = exe.call(name, call.given)
    except Failed as e:
        return None if e.code == call.fault else f"{e.code} {str(e)[:300]}"
    if call.fault:
        return f"wanted {call.fault}, it ran"
    if len(got) != len(call.outs) or not all(same(g, w, max(4 * float(call.tol), 1e-7)) for g, w in zip(got, call.outs)):
        return f"got {got}, wanted {call.outs}"[:800]
    return None


def refused(call, known):
    """Is it a call that is refused, and rightly?"""
    code = refusal(call, known)
    if code:
        s.check(f"{call.op}, {known} known", code == "TY08", code)
    return code is not None


def run_together(some, known, level):
    """Calls as functions of one module; those that do not fit into one (a mistake is found when it is built) alone."""
    try:
        exe = Module("@I.ir_module\nclass M:\n" + "".join(call.function(f"f{i}", known) for i, call in enumerate(some))).compile(level)
        each = [(call, exe, f"f{i}") for i, call in enumerate(some)]
    except Failed:
        each = [(call, None, "main") for call in some]
    for call, exe, name in each:
        try:
            why = judge(call, exe or Module(call.text(known)).compile(level), name, known)
        except Failed as e:
            why = None if e.code == call.fault else f"{e.code} {str(e)[:300]}"
        if not s.check(f"{call.op} at level {level}, {known} known", why is None, why) and ONLY:
            print(call.text(known))


every = list(calls())
for known in KNOWN:
    some = [call for call in every if not refused(call, known)]
    for level in (0, 2) if known == "rank and dtype" else (2,):
        for at in range(0, len(some), TOGETHER):
            run_together(some[at:at + TOGETHER], known, level)
if not ONLY:
    as_c()
s.done()
