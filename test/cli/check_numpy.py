#!/usr/bin/env python3
"""Random programs against numpy: every way of building and running gives the numbers that numpy gives, and all the same bits.

NUMPY_SEED=n takes that program alone, prints it and leaves it behind; NUMPY_COUNT=k as many from there on.
"""
import io
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import LONG, NATIVE, Suite, seeds
from numpy_compare import close, difference, plain, same_bits, to_library
from numpy_programs import Program
from relax_run import NARROW, Arguments, Failed, Module, instruction_sets

np.seterr(all="ignore")
warnings.simplefilter("ignore")
s = Suite()
SETS = instruction_sets()
PASSES = ("normalize", "canonicalize_bindings", "fold_constant", "dead_code_elimination", "legalize_ops", "to_non_dataflow")
AS_C, BY_TOOL = (6, 50) if NATIVE else (40, 100) if LONG else (60, 50)  # one program of so many


def nested(given):
    """Arguments in order; those called `t.i` and `t.i.0` are fields of a tuple t."""
    out = []
    for name, value in given:
        head, _, rest = name.partition(".")
        if not rest:
            out.append((head, value))
            continue
        if not out or out[-1][0] != head:
            out.append((head, []))
        out[-1][1].append((rest, value))
    return [nested(v) if isinstance(v, list) else v for _, v in out]


def arguments(program, ks):
    """Arguments of a run by their names: parameter i from assignment ks[i % len(ks)]."""
    given = []
    for i, (name, values) in enumerate(program.main.inputs.items()):
        value = values[ks[i % len(ks)]]
        given.append((name, to_library(value, getattr(values, "dtype", None))))
    return given


def load(path):
    """An array as the tool writes it; numpy reads narrow floats as bytes only, and not by each name of them."""
    with open(path, "rb") as file:
        content = file.read()
    for name, npy in (("bfloat16", b"'<V2'"), ("float8_e4m3fn", b"'<V1'"), ("float8_e5m2", b"'|V1'")):
        if npy in content[:128]:
            raw = np.load(io.BytesIO(content.replace(npy, b"'|V" + npy[-2:], 1)))
            return raw.view(NARROW[name])
    return np.load(path)


class Case:
    """A program with what came out of it so far."""

    def __init__(self, seed):
        self.program, self.what, self.bad, self.seen = Program(seed, LONG), f"program {seed}", 0, {}
        self.args = [Arguments(nested(arguments(self.program, (k,)))) for k in range(self.program.k)]

    def check(self, what, ok, detail=""):
        self.bad += not s.check(f"{self.what}: {what}", ok, detail, quiet=self.bad > 2)
        return ok

    def work(self, what, f):
        """f(), or None if it fails."""
        try:
            return f()
        except Failed as e:
            self.check(what, False, e)

    def compare(self, way, executable, k):
        got = self.work(f"{way} on assignment {k}", lambda: executable.call("main", self.args[k]))
        if got is not None:
            self.judge(way, k, got)

    def judge(self, way, k, got):
        wanted = self.program.outputs(k)
        if not self.check(f"{way}: results of assignment {k}", len(got) == len(wanted), f"{len(got)}, wanted {len(wanted)}"):
            return
        for i, (value, want) in enumerate(wanted):
            self.check(f"{way}: result {i} of assignment {k}", close(got[i], value, want),
                       lambda: difference(got[i], value, want))
        got = [plain(g) for g in got]
        known_way, known = self.seen.setdefault(k, (way, got))
        self.check(f"{way}: the same bits on assignment {k} as {known_way}", all(map(same_bits, got, known)), lambda: f"{got}, {known}"[:600])

    def mixed(self, way, executable):
        """Sizes that do not belong together: a failure of the run, or a result, and nothing else."""
        try:
            executable.call("main", nested(arguments(self.program, (0, 3, 1))))
        except Failed as e:
            self.check(f"{way}: sizes mixed up", e.code.startswith("RT"), f"{e.code}: {e}")

    def build(self, way, module, ks, **options):
        executable = self.work(f"builds, {way}", lambda: module.compile(**options))
        for k in ks if executable else ():
            self.compare(way, executable, k)
        return executable

    def by_tool(self):
        """The same by the tool, from the text and from a file. numpy cannot write narrow floats to files."""
        if any(a.dtype in NARROW.values() for _, a in arguments(self.program, (0,)) if isinstance(a, np.ndarray)):
            return
        s.write("p.py", self.program.text())
        self.check("the tool builds it", s.run("build", "p.py", "-o", "p.rlx", "--opt", "2")[0] == 0)
        for file, k in (("p.py", 0), ("p.rlx", 1)):
            given = arguments(self.program, (k,))
            np.savez(s.path("in.npz"), **{name: v for name, v in given if not isinstance(v, str)})
            options = [o for name, v in given for o in ("--input", f"{name}={v if isinstance(v, str) else 'in.npz:' + name}")]
            rc, out, err = s.run("run", file, *options, "--output", f"out{k}")
            if self.check(f"the tool runs {file}", rc == 0, err[-600:]):
                got = [load(s.path(f"out{k}/{i}.npy")) for i in range(len(self.program.outputs(k)))]
                self.judge(f"the tool with {file}", k, got)


def check(seed):
    case = Case(seed)
    text = case.program.text()
    module = case.work("is read", lambda: Module(text))
    if not module:
        return False
    printed = module.printed()
    again = case.work("reads back", lambda: Module(printed))
    if again:
        case.check("printing is stable", again.printed() == printed, "the second print differs")
        case.build("as printed", again, (seed % case.program.k,))
    for level, ks in ((0, (0, 2)), (1, (0, 1, 2, 3)), (2, (0, 1, 2, 3))):
        executable = case.build(f"at level {level}", module, ks, level=level)
    if executable:
        case.mixed("at level 2", executable)
    case.build(f"with {SETS[seed % len(SETS)]}", module, range(4), instruction_set=SETS[seed % len(SETS)])
    name = PASSES[seed % len(PASSES)]
    after = case.work(name, lambda: Module(module.after(name)))
    if after:
        case.build(f"after {name}", after, ((seed + 1) % case.program.k,))
    if seed % AS_C == 4:
        executable = case.build("as C", module, range(4), level=seed // AS_C % 3, target="c", compiler=os.environ.get("CC", "cc"))
        case.check("is native", not executable or executable.native or not executable.compilers)
        case.mixed("as C", executable)
    if seed % BY_TOOL == 5:
        case.by_tool()
    return not case.bad


def show(seed):
    s.write("p.py", Program(seed, LONG).text())
    for k in range(4):
        np.savez(s.path(f"in{k}.npz"), **{name: v for name, v in arguments(Program(seed, LONG), (k,)) if not isinstance(v, str)})
    print(f"{Program(seed, LONG).text()}\nleft in {s.dir}")


s.each("NUMPY", seeds("NUMPY", 10000 if LONG else 600), check, show)
s.done()
