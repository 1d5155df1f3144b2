#!/usr/bin/env python3
"""run_suite.py [--least PERCENT] [--group NAME] [--list] DIR...: whole suites of ONNX cases through the tool (make check-onnx CASES=DIR).

A DIR holds cases.tsv, a line for each case with the names of its columns first (name, side, group, op, outputs, rtol, atol), and SIDE/NAME/model.onnx
with in/K.npy and out/K.npy; a second data set of other sizes lies in in2 and out2. Two figures: with values that decide sizes bound, and
without (--no-bind). Fails if fewer than PERCENT (97) of a suite pass with values bound.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

np.seterr(all="ignore")
RELAX = os.path.abspath(os.environ.get("RELAX", "bin/relax"))


def array(path):
    """bfloat16, which numpy has not, as float32"""
    a = np.load(path, allow_pickle=False)
    if a.dtype.itemsize == 2 and a.dtype.kind == "V":
        return (a.view("<u2").astype(np.uint32) << 16).view(np.float32), "bfloat16"
    return a, a.dtype.name


def run_set(where, n, case, options):
    def files(kind):
        return [os.path.join(where, kind + n, f) for f in sorted(os.listdir(os.path.join(where, kind + n)), key=lambda f: int(f.split(".")[0]))]

    inputs, wanted = files("in"), files("out")
    if any(not f.endswith(".npy") for f in inputs + wanted):
        return None
    with tempfile.TemporaryDirectory() as out:
        command = [RELAX, "run", os.path.join(where, "model.onnx"), *(["--input", *inputs] if inputs else []), "--output", out, *options]
        try:
            p = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return "takes longer than two minutes"
        if p.returncode:
            lines = [line for line in p.stderr.decode("utf-8", "replace").splitlines() if "error" in line]
            return f"exit {p.returncode}: " + (lines or [""])[0][-200:]
        for f in wanted:
            got, got_type = array(os.path.join(out, os.path.basename(f)))
            want, want_type = array(f)
            if got.shape != want.shape or got_type != want_type:
                return f"{os.path.basename(f)} is {got_type} {got.shape}, wanted {want_type} {want.shape}"
            relative = max(float(case["rtol"]), 2.0 ** -6 if want_type == "bfloat16" else 0)
            if case["group"] != "random" and not np.allclose(got, want, rtol=relative, atol=float(case["atol"]), equal_nan=True):
                return f"{os.path.basename(f)} differs"
    return ""


def run_case(root, case, options):
    """"" if all is right, None if it cannot be judged"""
    where = os.path.join(root, case["side"], case["name"])
    if not os.path.isdir(where):
        return None
    for n in ("", "2"):
        wrong = run_set(where, n, case, options) if os.path.isdir(os.path.join(where, "in" + n)) else ""
        if wrong != "":
            return wrong
    return ""


def run_suite(root, a, options):
    with open(os.path.join(root, "cases.tsv"), encoding="utf-8") as f:
        head = f.readline().rstrip("\n").split("\t")
        cases = [dict(zip(head, line.rstrip("\n").split("\t"))) for line in f]
    cases = [c for c in cases if a.group in (c["group"], "all")]
    with ThreadPoolExecutor(a.jobs) as pool:
        results = list(pool.map(lambda c: run_case(root, c, options), cases))
    judged = [(c, r) for c, r in zip(cases, results) if r is not None]
    passed = sum(r == "" for _, r in judged)
    share = 100 * passed / len(judged) if judged else 0
    print(f"{root}{' ' if options else ''}{' '.join(options)}: {passed} of {len(judged)}, {share:.1f} %", flush=True)
    if a.list:
        for c, r in judged:
            if r:
                print(f"  {c['name']}: {r}")
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dirs", nargs="+")
    parser.add_argument("--least", type=float, default=97)
    parser.add_argument("--group", default="tensor")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    a = parser.parse_args()
    good = True
    for root in a.dirs:
        good = run_suite(root, a, []) >= a.least and good
        run_suite(root, a, ["--no-bind"])
    return 0 if good else 1


sys.exit(main())
