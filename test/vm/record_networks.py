"""Networks whose weights are constants, which only the tool makes of them: those of check_packed_windows.py and of check_int8_networks.py in
test/cli, attention (check_attention.py there) and products, for RELAX_TAPE. WINDOWS_COUNT, ATTENTION_COUNT and INT8_COUNT say how many."""
import os
import sys

TEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path += [os.path.join(TEST, "ffi"), os.path.join(TEST, "cli")]

import numpy as np

import check_attention
import check_int8_networks
import check_packed_windows
import relax_run
from cli_test import Suite, seeds

s = Suite()
PRODUCTS = [(1, 70, 90), (3, 40, 300), (8, 200, 64), (17, 33, 9), (37, 300, 101), (64, 130, 66)]     # rows, what is summed up, columns


def record(what, path, inputs, *options):
    built, out = s.path("m.rlx"), relax_run.lib.out("relax_executable")
    rc, _, err = s.run("build", path, "-o", built, *options)
    if s.check(what, rc == 0 and relax_run.lib.relax_executable_load_file(*relax_run.text(built), None, out.ref, None) == 0, err):
        relax_run.Executable(out.value).call("main", inputs)


programs = [(f"windows {n}", check_packed_windows.Windows(n)) for n in seeds("WINDOWS", 30)]
for what, program in programs + [(f"attention {n}", check_attention.Attention(n)) for n in seeds("ATTENTION", 10)]:
    np.savez(s.path("w.npz"), **program.weights)
    record(what, s.write("m.py", program.text()), list(program.inputs.values()), "--params", s.path("w.npz"))
for seed in seeds("INT8", 15):
    network = check_int8_networks.Network(seed)
    record(f"int8 {seed}", s.write("m.onnx", network.file()), [network.x])
rng = np.random.default_rng(0)
for dtype in ("float32", "float64", "int32"):
    for m, k, n in PRODUCTS:
        text = f'@R.function\ndef main(x: R.Tensor(({m}, {k}), "{dtype}"), w: R.Tensor(({k}, {n}), "{dtype}")):\n    y = R.matmul(x, w)\n    return y\n'
        args = [(rng.standard_normal(size) * 100).astype(dtype) for size in ((m, k), (k, n))]
        s.check(f"{dtype} {m} {k} {n}", relax_run.Module(text).compile(2).call("main", args)[0].shape == (m, n))
s.done()
