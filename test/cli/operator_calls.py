"""Calls of operators as text: built and run with known sizes and with variables, at levels 0 and 2, and compared with numpy."""
import os, shutil, sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "test", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np
import relax_run

passed, failures = 0, []
unknown = False # are calls tried with nothing known of their operands as well?


def annotation(a, symbolic, names):
    if symbolic is None:
        return "R.Tensor"
    sizes = [f'"{names.setdefault(n, "n" + str(n))}"' if symbolic else str(n) for n in a.shape]
    return f'R.Tensor(({", ".join(sizes)}{"," if len(sizes) == 1 else ""}), "{a.dtype}")'


def check(call, args, want, tol=0.0, symbolic=True):
    """call: text with x0, x1 ... for the arguments. want: arrays."""
    global passed
    want = want if isinstance(want, (list, tuple)) else [want]
    for variables in (False,) + ((True,) if symbolic else ()) + ((None,) if unknown else ()):
        names = {}
        params = ", ".join(f"x{i}: {annotation(a, variables, names)}" for i, a in enumerate(args))
        text = f"@R.function\ndef main({params}):\n    y = {call}\n    return y\n"
        for level in (0, 2):
            try:
                found = relax_run.Module(text).compile(level).call("main", list(args))
                good = len(found) == len(want) and all(
                    f.shape == np.shape(w) and f.dtype == np.asarray(w).dtype and np.allclose(f, w, rtol=tol, atol=tol, equal_nan=True)
                    for f, w in zip(found, want))
                why = f"got {[f.tolist() for f in found]}, wanted {[np.asarray(w).tolist() for w in want]}"
            except relax_run.Failed as e:
                good, why = False, str(e)
            if good:
                passed += 1
            else:
                failures.append(f"{call} level {level}{' with variables' if variables else ' nothing known' if variables is None else ''}: {why[:600]}")


def refused(call, args, code):
    """Wrong sizes that only the run finds."""
    global passed
    names = {}
    params = ", ".join(f'x{i}: R.Tensor(({", ".join(f"{chr(34)}a{i}_{k}{chr(34)}" for k in range(a.ndim))},), "{a.dtype}")'
                       for i, a in enumerate(args))
    try:
        relax_run.Module(f"@R.function\ndef main({params}):\n    y = {call}\n    return y\n").compile(2).call("main", list(args))
        failures.append(f"{call}: nothing refused it")
    except relax_run.Failed as e:
        if e.code == code:
            passed += 1
        else:
            failures.append(f"{call}: {e.code} {e}")


def every_way(calls, args):
    """One program of all calls: as it is and as it prints, at each level, with the least instruction set and compiled by cc, gives the same bits."""
    global passed
    for variables in (False, True):
        names = {}
        params = ", ".join(f"x{i}: {annotation(a, variables, names)}" for i, a in enumerate(args))
        lines = "".join(f"    y{i} = {call}\n" for i, call in enumerate(calls))
        text = f"@R.function\ndef main({params}):\n{lines}    return ({', '.join(f'y{i}' for i in range(len(calls)))},)\n"
        module = relax_run.Module(text)
        again = relax_run.Module(module.printed())
        ways = {"level 2": lambda: module.compile(2), "level 0": lambda: module.compile(0), "level 1 of its print": lambda: again.compile(1),
                "baseline": lambda: module.compile(2, instruction_set="baseline")}
        if shutil.which("cc"):
            ways["as C"] = lambda: module.compile(2, target="c")
        if not module.equals(again):
            failures.append(f"the print of a program with {calls[0]} is another")
        want = None
        for way, make in ways.items():
            try:
                found = [(r.dtype, r.shape, np.where(r != r, 0, r).tobytes(), (r != r).tobytes()) for r in make().call("main", list(args))]
            except relax_run.Failed as e:
                failures.append(f"{way}{' with variables' if variables else ''}: {e}")
                continue
            want = want or found
            wrong = [i for i, (f, w) in enumerate(zip(found, want)) if f != w]
            if wrong:
                failures.append(f"{way}{' with variables' if variables else ''}: results {wrong} have other bits")
            else:
                passed += 1


def same(what, a, b):
    """Two lists of arrays with the same bits."""
    global passed
    if len(a) == len(b) and all(f.dtype == g.dtype and f.shape == g.shape and f.tobytes() == g.tobytes() for f, g in zip(a, b)):
        passed += 1
    else:
        failures.append(f"{what}: other bits")


def done():
    for f in failures[:20]:
        print("FAILED", f)
    print(f"{passed} passed, {len(failures)} failed")
