#!/usr/bin/env python3
"""Convolutions whose weights are constants, with what stands behind them, against numpy; the same bits at all levels, with all instruction
sets, on one thread and on two.

Weights become panels when a program is built, so that small pictures, short lines, windows some columns apart and few channels each have a
way of their own. WINDOWS_SEED=n takes that program alone and prints it; WINDOWS_COUNT=k as many from there on.
"""
import os
import random
import sys
from math import erf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import LONG, Suite, seeds
from relax_run import instruction_sets

s = Suite()
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
    """A convolution over 1, 2 or 3 axes, and up to three operators behind it."""

    def __init__(self, seed):
        self.pick, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.lines, self.inputs, self.weights = [], {}, {}
        self.last, self.value, self.size = "x", None, 1.0     # size: of the largest number so far, which roundings are small beside
        n = self.pick.choice([1, 2, 2, 2, 2, 3])
        self.convolve(n)
        for kind in self.pick.sample(["bias", "norm", "add", "relu", "gelu", "silu", "clip"], self.pick.randrange(4)):
            getattr(self, kind)(n)

    def draw(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def weight(self, values):
        self.weights[f"w{len(self.weights)}"] = values
        return f"w{len(self.weights) - 1}"

    def emit(self, call, value):
        self.lines.append(f"v{len(self.lines)} = {call}")
        self.last, self.value = f"v{len(self.lines) - 1}", value
        self.size = max(self.size, np.max(np.abs(value), initial=0))

    def convolve(self, n):
        pick = self.pick
        groups = pick.choice([1, 1, 1, 1, 2, 4])
        most = {1: 70, 2: 20, 3: 7}[n]
        size = [pick.choice([1, 4, 7, 8, 9, 10, 14, 16, pick.randint(1, most)]) if n < 3 else pick.randint(2, most) for _ in range(n)]
        if n < 3 and pick.random() < 0.25:     # lines so long that they are cut, or strips of them come without a picture
            size[-1] = pick.choice([96, 120, 128, 200, 240, 500]) if n == 1 else pick.randint(40, 70)
            size[:-1] = [min(s, 6) for s in size[:-1]]
        channels = groups * pick.choice([1, 3, 8, 16, 40])
        out = groups * pick.choice([1, 8, 16, 24, 32, 48, 64, 80, 96, pick.randint(1, 40)])
        if pick.random() < 0.2:     # a window for each channel
            groups = channels = out = pick.choice([8, 12, 24, 32, 40])
        kernel = [pick.choice([1, 1, 3, 3, 3, 2, 5] if n > 1 else [1, 3, 3, 2, 5, 7, 9]) for _ in range(n)]
        stride, dilation = [pick.choice([1, 1, 1, 2, 3]) for _ in range(n)], [pick.choice([1, 1, 1, 2]) for _ in range(n)]
        before, after = ([pick.randint(0, k // 2) for k in kernel] for _ in range(2))
        for i in range(n):
            size[i] = max(size[i], dilation[i] * (kernel[i] - 1) + 1)
        x, w = self.draw(pick.choice([1, 1, 1, 2, 3]), channels, *size), self.draw(out, channels // groups, *kernel)
        self.inputs["x"] = x
        wide = np.pad(x.astype(np.float64), [(0, 0)] * 2 + list(zip(before, after)))
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
        windows = np.lib.stride_tricks.sliding_window_view(wide, reach, tuple(range(2, 2 + n)))
        windows = windows[(slice(None),) * 2 + tuple(slice(None, None, k) for k in stride) + tuple(slice(None, None, d) for d in dilation)]
        parts = [np.einsum(windows[:, g * w.shape[1]:(g + 1) * w.shape[1]], [0, 1, *range(2, 2 + 2 * n)], part.astype(np.float64), [20, 1, *range(2 + n, 2 + 2 * n)],
                           [0, 20, *range(2, 2 + n)], optimize=True) for g, part in enumerate(np.split(w, groups))]
        self.emit(f"R.nn.conv{n}d(x, {self.weight(w)}, strides={stride}, padding={before + after}, dilation={dilation}, groups={groups})",
                  np.concatenate(parts, 1))

    def each(self, values, n):
        return values.reshape(-1, *[1] * n).astype(np.float64)

    def bias(self, n):
        b = self.draw(self.value.shape[1])
        name = self.weight(b.reshape(1, -1, *[1] * n))
        self.emit(f"R.add({self.last}, {name})", self.value + self.each(b, n))

    def norm(self, n):
        g, b, m = (self.draw(self.value.shape[1]) for _ in range(3))
        v = np.abs(self.draw(self.value.shape[1])) + np.float32(0.5)
        names = ", ".join(self.weight(a) for a in (g, b, m, v))
        self.lines.append(f"v{len(self.lines)} = R.nn.batch_norm({self.last}, {names}, axis=1, training=False)")
        self.emit(f"v{len(self.lines) - 1}[0]", (self.value - self.each(m, n)) / np.sqrt(self.each(v, n) + 1e-5) * self.each(g, n) + self.each(b, n))

    def add(self, n):
        if "r" not in self.inputs:
            self.inputs["r"] = self.draw(*self.value.shape)
            self.emit(f"R.add({self.last}, r)", self.value + self.inputs["r"])

    def relu(self, n):
        self.emit(f"R.nn.relu({self.last})", np.maximum(self.value, 0))

    def clip(self, n):
        self.emit(f"R.clip({self.last}, -0.5, 2)", np.clip(self.value, -0.5, 2))

    def silu(self, n):
        self.emit(f"R.nn.silu({self.last})", self.value / (1 + np.exp(-self.value)))

    def gelu(self, n):
        self.emit(f"R.nn.gelu({self.last})", self.value * 0.5 * (1 + np.vectorize(erf)(self.value / np.sqrt(2))))

    def text(self):
        tensors = ", ".join(f'{k}: R.Tensor({v.shape}, "float32")' for k, v in {**self.inputs, **self.weights}.items())
        return TEXT.format(params=tensors, inputs=len(self.inputs), lines="\n".join(" " * 12 + line for line in self.lines), last=self.last)


def result(level, how):
    rc, out, err = s.run("build", s.path("m.py"), "--params", s.path("w.npz"), "-o", s.path("m.rlx"), "--opt", str(level))
    if rc:
        return err or out
    inputs = [x for name in how["inputs"] for x in ("--input", f"{s.path('in.npz')}:{name}")]
    rc, out, err = s.run("run", s.path("m.rlx"), *inputs, "--output", s.path("out"), "--threads", str(how.get("threads", 1)),
                         *(("--instruction-set", how["set"]) if "set" in how else ()))
    return err or out if rc else np.load(os.path.join(s.path("out"), "0.npy"))


def check(seed):
    p = Program(seed)
    text, known = p.text(), None
    s.write("m.py", text)
    np.savez(s.path("w.npz"), **p.weights)
    np.savez(s.path("in.npz"), **p.inputs)
    for way, level, how in [("level 0", 0, {}), ("level 2", 2, {}), ("two threads", 2, {"threads": 2})] + [(name, 2, {"set": name}) for name in SETS]:
        got, what = result(level, {**how, "inputs": p.inputs}), f"program {seed}, {way}"
        if not s.check(f"{what}: runs", isinstance(got, np.ndarray) and got.shape == p.value.shape, f"{str(got)[:400]}\n{text}"):
            return True
        off = np.max(np.abs(got - p.value), initial=0) / p.size
        s.check(f"{what}: near numpy", off < 1e-5, f"off by {off}\n{text}")
        known = got if known is None else known
        s.check(f"{what}: the same bits", got.tobytes() == known.tobytes(), text)
    return True


if __name__ == "__main__":
    numbers = seeds("WINDOWS", 2000 if LONG else 60)
    s.each("WINDOWS", numbers, check, (lambda seed: print(Program(seed).text())) if len(numbers) == 1 else None)
    s.done()
