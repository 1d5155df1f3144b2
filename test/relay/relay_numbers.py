"""Calls of Relay's operators, translated, compiled and run inside this process, beside what numpy makes of their arguments."""
import os
import re
import sys

TOP = os.environ["TOP"]
sys.path.insert(0, os.path.join(TOP, "test", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()
import numpy as np
import relax_run
from relax_run import Failed, lib, take_bytes as take, text

np.seterr(all="ignore")
HEAD = '#[version = "0.0.5"]\n'


class Relay(relax_run.Module):
    """A text of Relay as the module of Relax that it becomes."""

    def __init__(self, source, name="m.rly"):
        self.ctx = lib.relax_context_create(None)
        self.handle = None
        relay = lib.relax_relay_module_parse(self.ctx, *text(name), *text(source))
        if relay and lib.relax_relay_module_infer(relay) == lib.RELAX_OK:
            self.handle = lib.relax_relay_module_translate(relay)
        lib.relax_relay_module_destroy(relay)
        if not self.handle or lib.relax_context_num_errors(self.ctx):
            self.fail()


def annotation(a, unknown):
    sizes = ", ".join("?" if unknown else str(n) for n in a.shape) + ("," if a.ndim == 1 else "")
    return f"Tensor[({sizes}), {a.dtype}]" if a.ndim else str(a.dtype)


def program(call, args, unknown=False):
    params = ", ".join(f"%x{i}: {annotation(a, unknown)}" for i, a in enumerate(args))
    return f"{HEAD}def @main({params}) {{ {call} }}\n"


class Numbers:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)
        self.passed, self.failures, self.seen = 0, [], set()

    def floats(self, *shape):
        return (self.rng.randint(-16, 16, shape) / 4).astype(np.float32)

    def ints(self, low, high, shape, dtype="int32"):
        return self.rng.randint(low, high, shape).astype(dtype)

    def said(self, good, what):
        if good:
            self.passed += 1
        else:
            self.failures.append(what[:900])

    def note(self, call):
        self.seen |= {name.strip() for name in re.findall(r"(?<![%@\w.])([a-z][\w.]*)\(", call)}

    def check(self, call, args, *want, tol=0.0, unknown=True, levels=(0, 2), lowered=True):
        """call: text with %x0, %x1 ... for the arguments, run with extents that are known and, unless told otherwise, with `?`
        for all of them. want: arrays. Not lowered: that Relax has no kernel for it is no failure."""
        self.note(call)
        for q in (False, True) if unknown else (False,):
            source = program(call, args, q)
            for level in levels if not q else levels[-1:]:
                try:
                    found = Relay(source).compile(level).call("main", list(args))
                    good = len(found) == len(want) and all(
                        f.shape == np.shape(w) and f.dtype == np.asarray(w).dtype and np.allclose(f, w, rtol=tol, atol=tol, equal_nan=True)
                        for f, w in zip(found, want))
                    why = "got {}, wanted {}".format([(f.dtype, f.shape, f.ravel()[:12].tolist()) for f in found],
                                                     [(np.asarray(w).dtype, np.shape(w), np.ravel(w)[:12].tolist()) for w in want])
                except Failed as e:
                    good, why = not lowered and ("has no lowering" in str(e) or "Relax has no operator" in str(e)), str(e)
                self.said(good, f"{call}{' with ?' if q else ''} at level {level}: {why}")

    def refused(self, call, args, code, *words):
        self.note(call)
        try:
            Relay(program(call, args))
            self.said(False, f"{call}: translated, expected {code}")
        except Failed as e:
            missing = [w for w in words if w not in str(e)]
            self.said(e.code == code and not missing, f"{call}: {e}, expected {code} {missing}")

    def finish(self):
        for f in self.failures:
            print(f)
        print(f"{self.passed} passed, {len(self.failures)} failed")
        sys.exit(1 if self.failures else 0)


def operators():
    """Rows of relay_convert.def: name, and whether it is refused."""
    source = open(os.path.join(TOP, "src/relay/relay_convert.def")).read()
    source = source[source.index("/* Elementwise: one input. */"):]
    return {name: kind == "REFUSE" for kind, name in re.findall(r'\b(CONVERT|SAME2?|REAL|REFUSE)\("([\w.]+)"', source)}
