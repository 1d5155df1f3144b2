"""A program with one result, run at levels 0 and 2, on one thread and two, and with all instruction sets: near numpy, and the same bits each time."""
import os

import numpy as np

from relax_run import instruction_sets

SETS = instruction_sets()
TEXT = """from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class M:
    @R.function
    def main({params}) -> R.Tensor:
        R.func_attr({{"num_input": {inputs}}})
        with R.dataflow():
{lines}
            R.output({last})
        return {last}
"""


class Program:
    """Bindings that are written one by one, with what numpy makes of each in float64."""

    def __init__(self, rng):
        self.rng = rng
        self.lines, self.inputs, self.weights, self.names = [], {}, {}, {}     # names: of sizes of inputs, where they are not known
        self.last, self.value, self.size = "x", None, 1.0     # size: of the largest number so far, which roundings are small beside

    def draw(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def input(self, name, values):
        self.inputs[name] = values
        return name

    def weight(self, values):
        self.weights[f"w{len(self.weights)}"] = values
        return f"w{len(self.weights) - 1}"

    def emit(self, call, value):
        self.lines.append(f"v{len(self.lines)} = {call}")
        self.last, self.value = f"v{len(self.lines) - 1}", value
        if value is not None:
            self.size = max(self.size, np.max(np.abs(value), initial=0))
        return self.last

    def text(self):
        tensors = ", ".join(f'{k}: R.Tensor({self.names.get(k, v.shape)}, "float32")' for k, v in {**self.inputs, **self.weights}.items())
        return TEXT.format(params=tensors, inputs=len(self.inputs), lines="\n".join(" " * 12 + line for line in self.lines), last=self.last)


def result(s, p, level, threads=1, instructions=None):
    """What program p gives in suite s, or what the tool says."""
    rc, out, err = s.run("build", s.path("m.py"), "--params", s.path("w.npz"), "-o", s.path("m.rlx"), "--opt", str(level))
    if rc:
        return err or out
    inputs = [x for name in p.inputs for x in ("--input", f"{s.path('in.npz')}:{name}")]
    rc, out, err = s.run("run", s.path("m.rlx"), *inputs, "--output", s.path("out"), "--threads", str(threads),
                         *(("--instruction-set", instructions) if instructions else ()))
    return err or out if rc else np.load(os.path.join(s.path("out"), "0.npy"))


def check(s, p, name, most_off=1e-5):
    """Checks in suite s what program p gives; most_off: of its largest number."""
    text, known = p.text(), None
    s.write("m.py", text)
    np.savez(s.path("w.npz"), **p.weights)
    np.savez(s.path("in.npz"), **p.inputs)
    for way, how in [("level 0", (0,)), ("level 2", (2,)), ("two threads", (2, 2))] + [(one, (2, 1, one)) for one in SETS]:
        got, what = result(s, p, *how), f"{name}, {way}"
        if not s.check(f"{what}: runs", isinstance(got, np.ndarray) and got.shape == p.value.shape, f"{str(got)[:400]}\n{text}"):
            return
        off = np.max(np.abs(got - p.value), initial=0) / p.size
        s.check(f"{what}: near numpy", off < most_off, f"off by {off}\n{text}")
        known = got if known is None else known
        s.check(f"{what}: the same bits", got.tobytes() == known.tobytes(), text)
