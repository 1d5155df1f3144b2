#!/usr/bin/env python3
"""Random PrimFuncs against numpy, at all levels and as C.

PRIMFUNC_SEED=n takes that kernel alone, prints it and leaves it behind; PRIMFUNC_COUNT=k as many from there on.
"""
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import LONG, NATIVE, Suite, seeds
from numpy_compare import close, difference, plain, same_bits, to_library
from numpy_kernels import K, Kernel
from relax_run import Arguments, Failed, Module, instruction_sets

np.seterr(all="ignore")
warnings.simplefilter("ignore")
s = Suite()
SETS = instruction_sets()
GROUP = 20              # kernels of one module
AS_C = 2 if NATIVE else 4 if LONG else 8    # one module of so many
HEAD = "@I.ir_module\nclass M:\n"


def module_text(kernels):
    return HEAD + "\n".join(k.text() for k in kernels)


class Group:
    """Kernels of one module; `bad` counts what is wrong with each."""

    def __init__(self, numbers):
        self.kernels = {seed: Kernel(seed) for seed in numbers}
        self.seen, self.bad = {}, dict.fromkeys(numbers, 0)
        self.args = {seed: [Arguments([to_library(b.values[k], b.dtype) for b in kernel.params]) for k in range(K)] for seed, kernel in self.kernels.items()}

    def check(self, seed, what, ok, detail=""):
        if not s.check(f"kernel {seed}: {what}", ok, detail, quiet=self.bad[seed] > 2):
            self.bad[seed] += 1

    def sound(self, f):
        """f of a module of those kernels; where it fails, of each alone: one failure must not hide the others."""
        try:
            return [(list(self.kernels), f(Module(module_text(self.kernels.values()))))]
        except Failed:
            pass
        made = []
        for seed, kernel in self.kernels.items():
            try:
                made.append(([seed], f(Module(module_text([kernel])))))
            except Failed as e:
                self.check(seed, "is compiled", False, e)
        return made

    def run(self, way, f):
        for numbers, executable in self.sound(f):
            for seed in numbers:
                for k in range(K):
                    self.compare(way, executable, seed, k)
        return self

    def compare(self, way, executable, seed, k):
        try:
            got = executable.call(f"f{seed}", self.args[seed][k])
        except Failed as e:
            self.check(seed, f"{way}, assignment {k}", False, f"{e.code}: {e}")
            return
        self.check(seed, f"{way}: results", len(got) == len(self.kernels[seed].outputs))
        for b, g in zip(self.kernels[seed].outputs, got):
            self.check(seed, f"{way}: {b.name} of assignment {k}", close(g, b, b.values[k]), lambda: difference(g, b, b.values[k]))
        got = [plain(g) for g in got]
        known_way, known = self.seen.setdefault((seed, k), (way, got))
        self.check(seed, f"{way}: the same bits on assignment {k} as {known_way}", all(map(same_bits, got, known)), lambda: f"{got}, {known}"[:600])


def printed(module):
    """Built from what it prints, which has to be stable."""
    text = module.printed()
    again = Module(text)
    if again.printed() != text:
        raise Failed("", "the second print differs")
    return again.compile(1)


def check(first):
    group = Group(range(first, min(first + GROUP, numbers.stop)))
    group.run("as printed", printed)
    for level in (0, 1, 2):
        group.run(f"at level {level}", lambda m: m.compile(level))
    for name in SETS:
        group.run(f"with {name}", lambda m: m.compile(1, instruction_set=name))
    if first // GROUP % AS_C == 1:
        group.run("as C", lambda m: m.compile(first // GROUP // AS_C % 3, "c", os.environ.get("CC", "cc")))
    for seed in filter(group.bad.get, group.bad):
        print(f"alone: PRIMFUNC_SEED={seed} {' '.join(sys.argv)}")
    return True


def show(seed):
    kernel = Kernel(seed)
    s.write("p.py", module_text([kernel]))
    for k in range(K):
        np.savez(s.path(f"in{k}.npz"), **{b.name: to_library(b.values[k], b.dtype) for b in kernel.params})
    print(f"{module_text([kernel])}\nleft in {s.dir}")


numbers = seeds("PRIMFUNC", 10000 if LONG else 800)
s.each("PRIMFUNC", numbers[::GROUP], check, show if len(numbers) == 1 else None)
s.done()
