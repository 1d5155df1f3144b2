#!/usr/bin/env python3
"""Random programs against numpy: every way of building and running gives the numbers that numpy gives.

NUMPY_SEED=n takes that program alone and leaves it in the working directory of the test.
"""
import os
import shutil
import sys

import numpy as np

from cli_test import Suite
from numpy_programs import Program

s = Suite()
LONG = bool(os.environ.get("RELAX_LONG"))
RTOL = {"float16": 3e-2, "float32": 3e-4, "float64": 1e-9}
PASSES = ("normalize", "canonicalize_bindings", "fold_constant", "dead_code_elimination", "legalize_ops", "to_non_dataflow")


def close(got, want, exact):
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if exact or want.dtype.kind != "f":
        return np.array_equal(got, want)
    tol = RTOL[want.dtype.name]
    scale = max(1.0, float(np.max(np.abs(want.astype("float64")), initial=0)))
    return np.allclose(got.astype("float64"), want.astype("float64"), rtol=tol, atol=tol * scale)


def arguments(program, ks):
    """Arguments of a run: parameter i from assignment ks[i % len(ks)]."""
    given = []
    for i, name in enumerate(program.inputs(0)):
        k = ks[i % len(ks)]
        value = program.inputs(k)[name]
        given += ["--input", f"{name}={value if isinstance(value, str) else f'in.npz:{k}_{name}'}"]
    return given


def mixed(what, program, file):
    """Sizes that do not belong together: a failure of the run, or a result, and nothing else."""
    rc, out, err = s.run("run", file, *arguments(program, (0, 3, 1)))
    s.check(f"{what}: sizes mixed up", rc == 0 or rc == 1 and "error[RT" in err, f"exit {rc}: {err[-600:]}")


def compare(what, program, k, file, *options):
    """Runs `file` on the k-th assignment."""
    inputs = arguments(program, (k,))
    shutil.rmtree(s.path("out"), ignore_errors=True)
    rc, out, err = s.run("run", file, *inputs, "--output", "out", *options)
    if not s.check(f"{what}: runs on assignment {k}", rc == 0, f"exit {rc}: {err[-600:]}"):
        return False
    good = True
    for i, (want, exact) in enumerate(program.outputs(k)):
        got = np.load(s.path(f"out/{i}.npy"))
        good &= s.check(f"{what}: result {i} of assignment {k}", close(got, want, exact),
                        f"got {got.dtype}{got.shape} {got.ravel()[:12]}, wanted {want.dtype}{want.shape} {want.ravel()[:12]}")
    return good


def compiled(what, program):
    """The same with kernels compiled as C."""
    rc, out, err = s.run("build", "p.py", "-o", "c.rlx", "--target", "c", env={"RELAX_CC": os.environ.get("CC", "cc")})
    if not s.check(f"{what}: builds for target c", rc == 0 and "[CG" not in err, err[-900:]):
        return False
    good = True
    for k in range(4):
        good &= compare(f"{what} as C", program, k, "c.rlx", "--allow-native")
    mixed(f"{what} as C", program, "c.rlx")
    return good


def check(seed):
    program = Program(seed, LONG)
    what = f"program {seed}"
    s.write("p.py", program.text())
    np.savez(s.path("in.npz"), **{f"{k}_{name}": v for k in range(program.k) for name, v in program.inputs(k).items() if not isinstance(v, str)})
    rc, printed, err = s.run("print", "p.py")
    if not s.check(f"{what}: is read", rc == 0, err[-1500:]):
        return False
    s.write("q.py", printed)
    rc, again, err = s.run("print", "q.py")
    good = s.check(f"{what}: printing is stable", rc == 0 and again == printed, err[-600:] or "the second print differs")
    for level, ks in (("0", (0, 2)), ("1", (0, 1, 2, 3)), ("2", (1, 3))):
        rc, out, err = s.run("build", "p.py", "-o", "p.rlx", "--opt", level)
        if not s.check(f"{what}: builds at level {level}", rc == 0, err[-900:]):
            return False
        for k in ks:
            good &= compare(f"{what} at level {level}", program, k, "p.rlx")
    mixed(what, program, "p.rlx")
    if LONG or seed % 15 == 4:
        good &= compiled(what, program)
    good &= compare(f"{what} as printed", program, seed % program.k, "q.py")
    for name in PASSES if LONG else (PASSES[seed % len(PASSES)],):
        rc, out, err = s.run("print", "p.py", "--pass", name)
        if s.check(f"{what}: {name}", rc == 0, err[-600:]):
            s.write("r.py", out)
            good &= compare(f"{what} after {name}", program, seed % program.k, "r.py")
    return good


if os.environ.get("NUMPY_SEED"):
    if not check(int(os.environ["NUMPY_SEED"])):
        print(f"left in {s.dir}")
    s.done()
for seed in range(1000 if LONG else 150):
    if not check(seed):
        print(f"alone: NUMPY_SEED={seed} {' '.join(sys.argv)}")
s.done()
