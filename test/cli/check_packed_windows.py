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

from all_ways import Program, check as check_all_ways
from cli_test import LONG, Suite, seeds

s = Suite()


class Windows(Program):
    """A convolution over 1, 2 or 3 axes, channels first or (2 axes) last, and up to three operators behind it."""

    def __init__(self, seed):
        super().__init__(np.random.default_rng(seed))
        self.pick = random.Random(seed)
        n = self.pick.choice([1, 2, 2, 2, 2, 3])
        self.last_axis = n == 2 and self.pick.random() < 0.3
        self.axis = 3 if self.last_axis else 1
        self.convolve(n)
        for kind in self.pick.sample(["bias", "norm", "add", "relu", "gelu", "silu", "clip"], self.pick.randrange(4)):
            getattr(self, kind)(n)

    def convolve(self, n):
        pick = self.pick
        groups = pick.choice([1, 1, 1, 1, 2, 4])
        most = {1: 70, 2: 20, 3: 7}[n]
        size = [pick.choice([1, 4, 7, 8, 9, 10, 14, 16, pick.randint(1, most)]) if n < 3 else pick.randint(2, most) for _ in range(n)]
        if n < 3 and pick.random() < 0.25:     # lines so long that they are cut, or strips of them come without a picture
            size[-1] = pick.choice([96, 120, 128, 200, 240, 500]) if n == 1 else pick.randint(40, 70)
            size[:-1] = [min(s, pick.choice([6, 20])) for s in size[:-1]]
        channels = groups * pick.choice([1, 3, 8, 16, 40])
        out = groups * pick.choice([1, 8, 16, 24, 32, 48, 64, 80, 96, pick.randint(1, 40)])
        if pick.random() < 0.2:     # a window for each channel
            groups = channels = out = pick.choice([8, 12, 24, 32, 40])
        if n == 2 and pick.random() < (0.25 if self.last_axis else 0.05):     # weights that come from afar
            groups, channels, out = 1, 120, pick.choice([256, 270])
        kernel = [pick.choice([1, 1, 3, 3, 3, 2, 5] if n > 1 else [1, 3, 3, 2, 5, 7, 9]) for _ in range(n)]
        stride, dilation = [pick.choice([1, 1, 1, 2, 3]) for _ in range(n)], [pick.choice([1, 1, 1, 2]) for _ in range(n)]
        before, after = ([pick.randint(0, k // 2) for k in kernel] for _ in range(2))
        for i in range(n):
            size[i] = max(size[i], dilation[i] * (kernel[i] - 1) + 1)
        x, w = self.draw(pick.choice([1, 1, 1, 2, 3]), channels, *size), self.draw(out, channels // groups, *kernel)
        self.inputs["x"] = self.lay(x)
        wide = np.pad(x.astype(np.float64), [(0, 0)] * 2 + list(zip(before, after)))
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
        windows = np.lib.stride_tricks.sliding_window_view(wide, reach, tuple(range(2, 2 + n)))
        windows = windows[(slice(None),) * 2 + tuple(slice(None, None, k) for k in stride) + tuple(slice(None, None, d) for d in dilation)]
        parts = [np.einsum(windows[:, g * w.shape[1]:(g + 1) * w.shape[1]], [0, 1, *range(2, 2 + 2 * n)], part.astype(np.float64), [20, 1, *range(2 + n, 2 + 2 * n)],
                           [0, 20, *range(2, 2 + n)], optimize=True) for g, part in enumerate(np.split(w, groups))]
        layout = ', data_layout="NHWC"' if self.last_axis else ""
        self.emit(f"R.nn.conv{n}d(x, {self.weight(w)}, strides={stride}, padding={before + after}, dilation={dilation}, groups={groups}{layout})",
                  self.lay(np.concatenate(parts, 1)))

    def lay(self, values):
        """As the program has it, of values whose channels are the second axis."""
        return np.ascontiguousarray(np.moveaxis(values, 1, -1)) if self.last_axis else values

    def each(self, values, n):
        return values.reshape(1, *[1] * (self.axis - 1), -1, *[1] * (n + 1 - self.axis)).astype(np.float64)

    def bias(self, n):
        b = self.draw(self.value.shape[self.axis])
        name = self.weight(self.each(b, n).astype(np.float32))
        self.emit(f"R.add({self.last}, {name})", self.value + self.each(b, n))

    def norm(self, n):
        g, b, m = (self.draw(self.value.shape[self.axis]) for _ in range(3))
        v = np.abs(self.draw(self.value.shape[self.axis])) + np.float32(0.5)
        names = ", ".join(self.weight(a) for a in (g, b, m, v))
        self.lines.append(f"v{len(self.lines)} = R.nn.batch_norm({self.last}, {names}, axis={self.axis}, training=False)")
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


def check(seed):
    check_all_ways(s, Windows(seed), f"program {seed}")
    return True


if __name__ == "__main__":
    numbers = seeds("WINDOWS", 2000 if LONG else 60)
    s.each("WINDOWS", numbers, check, (lambda seed: print(Windows(seed).text())) if len(numbers) == 1 else None)
    s.done()
