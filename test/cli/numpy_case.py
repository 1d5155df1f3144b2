"""Programs as text with what numpy makes of their arguments: built at every level, and as C, and run."""
import os
import shutil
import textwrap

import numpy as np

from cli_test import Suite

CC = os.environ.get("CC", "cc")
QUIET = ("--no-warn", "TY01,TY07,PU06")
HEAD = """from tvm.script import ir as I
from tvm.script import tir as T
from tvm.script import relax as R

@I.ir_module
class M:
"""


def f32(*shape):
    return (np.arange(int(np.prod(shape))).reshape(shape) / 4 - 1).astype("float32")


class Cases(Suite):
    def program(self, what, text, runs, targets=("interp",), near=None):
        """runs: (arguments, results, or the code it fails with); near: how far results may be from them, relative and absolute."""
        self.write("p.py", HEAD + textwrap.indent(textwrap.dedent(text), "    "))
        rc, printed, err = self.run("print", "p.py", *QUIET)
        self.check(f"{what}: is read", rc == 0, err[-600:])
        self.write("q.py", printed)
        self.equal(f"{what}: printing is stable", self.run("print", "q.py", *QUIET)[:2], (0, printed))
        for target, level in [(t, o) for t in targets for o in "012" if t == "interp" or (o != "1" and shutil.which(CC))]:
            way = f"at level {level}" + ("" if target == "interp" else " as C")
            rc, out, err = self.run("build", "p.py", "-o", "p.rlx", "--opt", level, "--target", target, *QUIET, env={"RELAX_CC": CC})
            if self.equal(f"{what}: builds {way}", (rc, err), (0, "")):
                for n, (args, want) in enumerate(runs):
                    self.one_run(f"run {n} {way}", what, target, args, want, near)

    def one_run(self, way, what, target, args, want, near):
        given = ["--allow-native"] if target == "c" else []
        for i, a in enumerate(args):
            if isinstance(a, np.ndarray):
                np.save(self.path(f"a{i}.npy"), a)
                a = f"a{i}.npy"
            given += ["--input", a]
        if isinstance(want, str):
            self.fails(f"{what}: {way}", ["run", "p.rlx", *given], want)
            return
        rc, out, err = self.run("run", "p.rlx", *given, "--output", "out")
        if not self.equal(f"{what}: {way}", (rc, err), (0, "")):
            return
        for i, w in enumerate(want):
            got = np.load(self.path(f"out/{i}.npy"))
            same = got.dtype == w.dtype and got.shape == w.shape
            equal = same and (np.allclose(got, w, *near, equal_nan=True) if near else np.array_equal(got, w, equal_nan=got.dtype.kind == "f"))
            self.check(f"{what}: result {i} of {way}", equal, (got, w))
