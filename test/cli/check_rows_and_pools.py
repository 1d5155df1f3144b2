#!/usr/bin/env python3
"""Softmax of rows of any shape, sums over several axes, maxima and their places, and pooling of pictures, against numpy; the same bits at all levels and with all instruction sets.

ROWS_SEED=n takes that program alone and prints it; ROWS_COUNT=k as many from there on.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import LONG, Suite, seeds
from relax_run import Arguments, Failed, Module, instruction_sets

np.seterr(all="ignore")
s = Suite()
SETS = instruction_sets()
HEAD = "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass M:\n    @R.function\n    def main(x: "


def program(shape, call, named):
    dims = "".join(f'"d{i}", ' if named and i == 0 else f"{d}, " for i, d in enumerate(shape))
    return HEAD + f'R.Tensor(({dims}), "float32")):\n        y = R.{call}\n        return y\n'


def values(rng, shape):
    """Numbers, and sometimes what is not: a comparison of bits sees whether NaN and infinities come out alike."""
    x = rng.standard_normal(shape).astype(np.float32) * np.float32(rng.choice([0.1, 3, 40]))
    odd = rng.random()
    if odd < 0.2 and x.size:
        x.flat[rng.integers(0, x.size, 1 + x.size // 50)] = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0], 1 + x.size // 50)
    return x


# ---- rows -----------------------------------------------------------------------------------------------------
def softmax(x, logarithm):
    w = x.astype(np.float64)
    top = w.max(-1, keepdims=True)
    e = np.exp(w - top)
    total = e.sum(-1, keepdims=True)
    return w - top - np.log(total) if logarithm else e / total


def rows(pick, rng):
    """Few columns or many; more axes in front of the rows than one, so small that a tile holds several; enough for two tiles."""
    columns = pick.choice([1, 2, 3, 4, 7, 10, 15, 16, 17, 31, 32, 33, 49, 64, 65, 100, 129, 255])
    most = 20000 // columns
    front = [pick.choice([1, 2, 3, 5, 8, 12]) for _ in range(pick.randrange(4))] + [pick.choice([1, 2, 7, 49, 100, 400, 1000])]
    while np.prod(front) > most:
        front[pick.randrange(len(front))] = 1
        front[-1] = min(front[-1], most)
    x = values(rng, (*front, columns))
    if pick.random() < 0.3:
        return x, "max(x, axis=[-1])", x.max(-1)
    logarithm = pick.random() < 0.4
    return x, f"nn.{'log_' * logarithm}softmax(x, axis=-1)", softmax(x, logarithm)


def sums(pick, rng):
    """Over the last axes, which are one run or an axis that repeats one, or over any."""
    shape = [pick.choice([1, 2, 3, 5, 8]) for _ in range(pick.randint(1, 4))] + [pick.choice([1, 3, 16, 31, 32, 33, 64, 96])]
    x = values(rng, tuple(shape))
    axes = list(range(pick.randrange(len(shape)), len(shape)))
    kind = pick.choice(["sum", "mean", "max", "min"])
    if pick.random() < 0.3:
        axes = sorted(pick.sample(range(len(shape)), pick.randint(1, len(shape))))
    return x, f"{kind}(x, axis={axes})", getattr(np, kind)(x.astype(np.float64), tuple(axes))


# ---- places ---------------------------------------------------------------------------------------------------
def places(pick, rng):
    """Of the greatest or least along any axis, some of which are met twice."""
    shape = [pick.choice([1, 2, 3, 8, 31, 64]) for _ in range(pick.randrange(3))] + [pick.choice([1, 3, 17, 33, 100, 140]), pick.choice([1, 5, 16, 17, 40, 200])]
    while np.prod(shape) > 60000:
        shape[0] = 1 + shape[0] // 2
        shape[-1] = 1 + shape[-1] // 2
    x = values(rng, tuple(shape))
    x = np.round(x) if pick.random() < 0.6 else x
    kind, axis = pick.choice(["argmax", "argmin"]), pick.randrange(len(shape))
    keeps = pick.random() < 0.3
    return x, f"{kind}(x, axis={axis}, keepdims={keeps})", getattr(np, kind)(x, axis, keepdims=keeps)


# ---- pools ----------------------------------------------------------------------------------------------------
def pools(pick, rng):
    """Windows that are maxima of maxima, with places next to each other or further apart than a vector reaches, over several channels."""
    n = pick.choice([1, 2, 2, 2, 3])
    sizes = [pick.randint(4, {1: 150, 2: 40, 3: 12}[n]) for _ in range(n)]
    size = [pick.randint(1, min(7, d)) for d in sizes]
    stride = [pick.choice([1, 1, 2, 3, 4, 5, 7]) for _ in range(n)]
    pad = [pick.randint(0, k // 2) for k in size]
    channels = pick.choice([1, 3, 8, 24, 32])
    if n == 2 and pick.random() < 0.1:     # more than stays near, so that some channels are pooled at a time
        sizes, channels = [pick.randint(100, 120), pick.randint(100, 120)], pick.choice([48, 60])
    x = values(rng, (pick.choice([1, 1, 2]), channels, *sizes))
    maximum = pick.random() < 0.7
    wide = np.pad(x.astype(np.float64), [(0, 0)] * 2 + [(p, p) for p in pad], constant_values=-np.inf if maximum else 0)
    windows = np.lib.stride_tricks.sliding_window_view(wide, size, tuple(range(2, 2 + n)))[(slice(None),) * 2 + tuple(slice(None, None, k) for k in stride)]
    last = tuple(range(2 + n, 2 + 2 * n))
    inside = not maximum and pick.random() < 0.5
    there = np.pad(np.ones_like(x), [(0, 0)] * 2 + [(p, p) for p in pad]) if inside else np.ones_like(wide)
    there = np.lib.stride_tricks.sliding_window_view(there, size, tuple(range(2, 2 + n)))[(slice(None),) * 2 + tuple(slice(None, None, k) for k in stride)]
    want = windows.max(last) if maximum else windows.sum(last) / there.sum(last)
    count = "" if maximum else f", count_include_pad={not inside}"
    return x, f"nn.{'max' if maximum else 'avg'}_pool{n}d(x, pool_size={size}, strides={stride}, padding={pad * 2}{count})", want


# ---- both -----------------------------------------------------------------------------------------------------
def same_bits(a, b):
    if a.dtype != np.float32:
        return np.array_equal(a, b)
    return bool(((a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))).all())


def make(seed):
    pick, rng = random.Random(seed), np.random.default_rng(seed)
    x, call, want = (rows, pools, sums, places)[seed % 4](pick, rng)
    return program(x.shape, call, pick.random() < 0.3), x, want


def check(seed):
    text, x, want = make(seed)
    known = None
    ways = [(f"level {level}", {"level": level}) for level in (0, 1, 2)] + [(name, {"level": 2, "instruction_set": name}) for name in SETS]
    for way, how in ways:
        what = f"program {seed}, {way}"
        try:
            got = Module(text).compile(**how).call("main", Arguments([x]))[0]
        except Failed as e:
            s.check(f"{what}: {e.code}: {e}", False, text)
            continue
        size = np.abs(x[np.isfinite(x)]).max(initial=1)
        ok = got.shape == want.shape and np.allclose(got, want, rtol=1e-5, atol=1e-6 * size * max(1, (x.size / max(1, want.size)) ** 0.5), equal_nan=True)
        s.check(f"{what}: numbers", ok, text)
        known = got if known is None else known
        s.check(f"{what}: the same bits", got.shape == known.shape and same_bits(got, known), text)
    return True


numbers = seeds("ROWS", 4000 if LONG else 200)
s.each("ROWS", numbers, check, (lambda seed: print(make(seed)[0])) if len(numbers) == 1 else None)
s.done()
