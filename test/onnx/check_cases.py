#!/usr/bin/env python3
"""The node cases of Debian's libonnx-testdata: operator sets up to 17, with the results that are expected.

What is not expected to pass is listed below, by operator or by name, with the reason; a case that passes though it is listed is a failure, too.
"""
import glob
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import numpy as np

from cli_test import Suite
from onnx_file import read_tensor

RANDOM = re.compile(r"test_(bernoulli|training_dropout(?!_zero))")  # shapes and dtypes are what can be compared
NODES = "/usr/share/libonnx-testdata/data/node"
np.seterr(all="ignore")
s = Suite()


def expected_failures():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.expected"), encoding="utf-8") as f:
        return {line.split()[0] for line in f if line.strip() and not line.startswith("#")}


def read_set(folder, kind):
    count = len(glob.glob(os.path.join(folder, f"{kind}_*.pb")))
    return [read_tensor(os.path.join(folder, f"{kind}_{i}.pb")) for i in range(count)]


def run_case(name):
    """None: it holds values that are no plain tensors. Else what is wrong, "" for nothing."""
    folder = os.path.join(NODES, name)
    if "BFLOAT16" in name: # the data has uint16 in their place
        return None
    try:
        inputs = read_set(os.path.join(folder, "test_data_set_0"), "input")
        outputs = read_set(os.path.join(folder, "test_data_set_0"), "output")
    except (IndexError, ValueError):
        return None
    if any(a is None for a in inputs + outputs):
        return None
    where = s.path(name)
    os.mkdir(where)
    paths = []
    for i, a in enumerate(inputs):
        paths.append(os.path.join(where, f"in{i}.npy"))
        np.save(paths[-1], a)
    given = ["--input", *paths] if paths else []
    code, _, err = s.run("run", os.path.join(folder, "model.onnx"), *given, "--output", where, "--threads", "1")
    if code:
        return f"exit {code}: " + (err.strip().splitlines() or [""])[-1][:200] if code == 1 else f"ended with {code}"
    for i, want in enumerate(outputs):
        got = np.load(os.path.join(where, f"{i}.npy"))
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"output {i} is {got.dtype} {got.shape}, wanted {want.dtype} {want.shape}"
        if RANDOM.match(name):
            continue
        if not np.allclose(got.astype("float64"), want.astype("float64"), rtol=1e-3, atol=1e-7, equal_nan=True):
            return f"output {i} differs"
    return ""


if not os.path.isdir(NODES):
    print("libonnx-testdata is not installed")
    sys.exit(77)
names = sorted(os.listdir(NODES))
if os.environ.get("RELAX_VARIANT", "release") != "release":
    names = names[::4]
fails = expected_failures()
with ThreadPoolExecutor(2) as pool:
    for name, wrong in zip(names, pool.map(run_case, names)):
        if os.environ.get("ONNX_LIST") and wrong:
            print(name, "#", wrong)
        if wrong is not None and name in fails:
            s.check(name, wrong.startswith("exit 1"), f"it is listed in cases.expected, but: {wrong or 'it passes'}")
        elif wrong is not None:
            s.check(name, not wrong, wrong)
s.done()
