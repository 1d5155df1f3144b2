#!/usr/bin/env python3
"""layout_transform by random index maps: sizes and elements against the map applied to every index of a numpy array.

A map splits axes into digits of random sizes, the first of which holds whatever is left; then it shuffles the digits and fuses
some of them. So the size of each axis of the result is known: a digit counts in full, the first one is rounded up.
"""
import itertools
import os
import random

import numpy as np

from cli_test import Suite

s = Suite()
rng = random.Random(int(os.environ.get("NUMPY_SEED", "5")))
MAPS = 3000 if os.environ.get("RELAX_LONG") else 400
DTYPES = [("float32", "-1.5"), ("float16", "0.25"), ("float64", "2.5"), ("int8", "-7"), ("uint8", "200"), ("int32", "9"), ("int64", "-3"), ("bool", "True")]
HEAD = "@I.ir_module\nclass M:\n"


def ceil(a, b):
    return -(-a // b)


def digits_of(name, size):
    """[(expression, size), ...] of an index below `size`, most significant first."""
    radices = [rng.choice([1, 2, 3, 4, 5, 7]) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
    if not radices:
        return [(name, size)]
    out, lower = [], 1
    for r in reversed(radices):
        text = f"{name} // {lower} % {r}" if lower > 1 else f"{name} % {r}"
        if lower > 1 and rng.random() < 0.5:
            text = f"{name} % {lower * r} // {lower}"
        out.append((text, r))
        lower *= r
    if rng.random() < 0.15 and size <= lower:  # no first digit: everything is below the remainders
        return out[::-1]
    return [(f"{name} // {lower}", ceil(size, lower))] + out[::-1]


def fuse(parts):
    """One index out of several, and how many values it may take."""
    text, size = [], 1
    for expr, n in reversed(parts):
        text.append(f"({expr}) * {size}" if rng.random() < 0.5 else f"{size} * ({expr})" if size > 1 else f"{expr}")
        size *= n
    if size == 0:
        return None
    return " + ".join(reversed(text)), size


def random_map(sizes):
    """Text of the indices of the result, and their sizes."""
    names = [f"i{k}" for k in range(len(sizes))]
    if len(sizes) > 1 and rng.random() < 0.25:  # rows joined to one index, which is then cut
        total = int(np.prod(sizes))
        text = names[0]
        for name, n in zip(names[1:], sizes[1:]):
            text = f"({text}) * {n} + {name}"
        digits = digits_of(f"({text})", total)
    else:
        digits = [d for name, n in zip(names, sizes) for d in digits_of(name, n)]
    rng.shuffle(digits)
    out = []
    while digits:
        n = rng.choice([1, 1, 1, 2, 3])
        part, digits = digits[:n], digits[n:]
        fused = fuse(part) if len(part) > 1 else part[0]
        out += [fused] if fused else part
    if rng.random() < 0.2:
        k = rng.randrange(len(out))
        out[k] = (f"{out[k][1] - 1} - ({out[k][0]})", out[k][1])
    return out


def moved(x, indices, shape, pad):
    names = [f"i{k}" for k in range(x.ndim)]
    out = np.full(shape, pad, x.dtype)
    code = [compile(e, "index", "eval") for e in indices]
    for at in itertools.product(*(range(n) for n in x.shape)):
        out[tuple(eval(c, dict(zip(names, at))) for c in code)] = x[at]
    return out


def some(dtype, shape):
    n = int(np.prod(shape))
    return (np.arange(n) % 2 == 0).reshape(shape) if dtype == "bool" else (np.arange(n) % 100 + 1).reshape(shape).astype(dtype)


def function(number, x, named, indices, pad):
    dims = "".join(f'"n{k}", ' if k in named else f"{n}, " for k, n in enumerate(x.shape))
    names = ", ".join(f"i{k}" for k in range(x.ndim))
    narrow = ', index_dtype="int32"' if number % 5 == 0 else ""
    value = "" if pad is None else f", pad_value=R.prim_value(T.{x.dtype.name}({pad}))"
    return (f'    @R.function\n    def f{number}(x: R.Tensor(({dims}), "{x.dtype.name}")):\n'
            f"        y = R.layout_transform(x, index_map=T.index_map(lambda {names}: ({', '.join(indices)},){narrow}){value})\n        return y\n")


def batch(first, count):
    text, arrays, wants = HEAD, {}, []
    for number in range(first, first + count):
        sizes = [rng.choice([0, 1, 2, 3, 4, 5, 6, 8, 10, 14]) if rng.random() < 0.9 else 24 for _ in range(rng.choice([1, 1, 2, 2, 3]))]
        found = random_map(sizes)
        dtype, pad = rng.choice(DTYPES)
        pad = None if rng.random() < 0.4 else pad
        # Sizes of rows that are joined, and those that an index is taken from, stand in the map as numbers.
        named = [] if any(" - (" in e for e, _ in found) else [k for k in range(len(sizes)) if rng.random() < 0.4 and k == 0]
        x = some(dtype, sizes)
        text += function(number, x, named, [e for e, _ in found], pad)
        arrays[f"x{number}"] = x
        wants.append((number, [e for e, _ in found], moved(x, [e for e, _ in found], [n for _, n in found], 0 if pad is None else {"True": True}.get(pad, pad))))
    np.savez(s.path("x.npz"), **arrays)
    s.write("m.py", text)
    level = str(first // count % 3)
    rc, out, err = s.run("build", "m.py", "-o", "m.rlx", "--opt", level)
    if not s.equal(f"maps {first} ..: build", (rc, err), (0, "")):
        print(text)
        return
    for number, indices, want in wants:
        rc, out, err = s.run("run", "m.rlx", "--entry", f"f{number}", "--input", f"x.npz:x{number}", "--output", "out")
        what = f"map {number} of {arrays[f'x{number}'].shape}: {indices}"
        if s.equal(f"{what}: runs", (rc, err), (0, "")):
            got = np.load(s.path("out/0.npy"))
            s.check(what, got.shape == want.shape and got.dtype == want.dtype and np.array_equal(got, want), f"got {got.shape} {got.ravel()[:20]}, wanted {want.shape} {want.ravel()[:20]}")


for first in range(0, MAPS, 40):
    batch(first, 40)

# Sizes that the program does not know: what does not fit is found when it runs.
s.write("n.py", HEAD + """    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        y = R.layout_transform(x, index_map=T.index_map(lambda i: (i % 16,)))
        return y
""")
for n in (0, 3, 16):
    x = np.arange(1, n + 1, dtype="float32")
    np.save(s.path("x.npy"), x)
    rc, out, err = s.run("run", "n.py", "--input", "x.npy", "--output", "out")
    if s.equal(f"{n} elements by i % 16: runs", (rc, err), (0, "")):
        s.check(f"{n} elements by i % 16", np.array_equal(np.load(s.path("out/0.npy")), np.pad(x, (0, 16 - n))))
np.save(s.path("x.npy"), np.ones(17, "float32"))
s.fails("17 elements by i % 16", ["run", "n.py", "--input", "x.npy"], "RT05")
s.done()
