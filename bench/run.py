#!/usr/bin/python3
"""Runs the measuring programs, prints a table, writes build/bench.json. Called by run.sh, which builds them.

A figure is the best of its runs (the machine may be shared); the JSON has the median beside it. Every figure stands beside a floor:
what the machine needs for the innermost part of the same work, measured in the same run by floor.c, or a peer.
"""
import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DIGITS = TOP / "examples" / "digits"
ADDER = TOP / "examples" / "adder"
SIZES = {1000: 60, 10000: 20, 100000: 5}     # bindings, runs
ALTERNATIONS = 5

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=TOP)
parser.add_argument("--build", type=Path, default=TOP / "build" / "bench")
options = parser.parse_args()
pin = ["taskset", "-c", str(max(os.sched_getaffinity(0)))] if shutil.which("taskset") else []


def output(*command, environment=None):
    done = subprocess.run([*pin, *map(str, command)], stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        sys.exit(f"bench: {' '.join(map(str, command))} failed")
    return done.stdout


def measure(*command, environment=None):
    """{key: (best, median, unit)} of a program's lines."""
    figures = {}
    for line in output(*command, environment=environment).splitlines():
        key, best, median, unit = line.split("\t")
        figures[key] = (float(best), float(median), unit)
    return figures


# --- the table -------------------------------------------------------------------------------------

rows = []


def row(what, figure, target=None, floor=None, unit=None):
    """`figure` and `floor` are (best, median, unit); a rate is good when high, everything else when low."""
    best, median, unit = *figure[:2], unit or figure[2]
    rate = unit == "MB/s"
    met = None if target is None else (best >= target if rate else best <= target)
    ratio = None if floor is None else (floor[0] / best if rate else best / floor[0])
    rows.append({"what": what, "figure": best, "median": median, "unit": unit, "target": target, "met": met,
                 "floor": floor and floor[0], "ratio": ratio})


def short(number):
    return "" if number is None else f"{number:.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def print_table():
    print(f"{'':50} {'best':>9} {'median':>9} {'unit':5} {'target':>8} {'':6} {'floor':>9} {'ratio':>6}")
    for r in rows:
        if "title" in r:
            print(r["title"])
            continue
        met = {None: "", True: "met", False: "missed"}[r["met"]]
        print(f"  {r['what']:48} {short(r['figure']):>9} {short(r['median']):>9} {r['unit']:5} {short(r['target']):>8} {met:6} "
              f"{short(r['floor']):>9} {short(r['ratio']):>6}")


def title(text):
    rows.append({"title": text})


# --- subjects --------------------------------------------------------------------------------------

def builder(floor):
    title("building, per binding with inference (floor: a look-up of a node in a hash table)")
    figures = measure(options.build / "bench_builder")
    at_10000 = figures["fresh 10000"]
    targets = {"fresh 10000": 300, "fresh 100000": round(2.5 * at_10000[0], 1)}
    for key, figure in figures.items():
        kind, count = key.split()
        row(f"{int(count):,} bindings, {kind} context", figure, targets.get(key), floor["interned node"])


def onnx():
    title("ONNX models: nodes to a module; a thousand nodes to a program")
    figures = measure(options.build / "bench_onnx")
    for key, what, target in (("onnx.import", "20,000 nodes, per node", 2), ("onnx.import_few", "1,000 nodes, per node", 2),
                              ("onnx.build", "1,000 nodes, to a compiled program", 200)):
        row(what, figures[key], target)


def text(floor):
    title("text (floors: cutting into tokens by a table of characters; writing from pieces)")
    figures = {}
    for kind in ("big", "many"):
        for count in SIZES:
            figures.update(text_figures(kind, count))
    for what, target, against in (("read and check", 100, "lex"), ("read", None, "lex"), ("print", 300, "write"), ("drop", None, None)):
        for kind in ("big", "many"):
            for count in SIZES:
                row(f"{what}, {count:,} bindings, {'one function' if kind == 'big' else 'many functions'}",
                    figures[f"{what} {kind} {count}"], target, floor.get(against))


def text_figures(kind, count):
    file = options.build / f"{kind}{count}.py"
    file.write_text(output(sys.executable, TOP / "bench" / "gen_module.py", kind, count))
    return measure(options.build / "bench_text", f"{kind} {count}", file, SIZES[count])


def machine(floor):
    title("the machine, per operation (floors: the same in a machine that does nothing else)")
    figures = json.loads(output(options.build / "bench_vm", "--json"))
    targets = {"packed call, three checked tensors": 20, "Relax call, three tensors, proved": 30, "branch": 3,
               "match_cast, 1 dimension": 18, "match_cast, 2 dimensions": 21, "match_cast, 4 dimensions": 27}
    targets["closure call, two tensors and one captured"] = round(1.5 * figures["compiled Relax call, three tensors"], 1)
    targets["closure call that gives back what it captured"] = round(1.5 * figures["compiled Relax call that gives back a counted tensor"], 1)
    for what, ns in figures.items():
        if not what.startswith("floor"):
            against = "vm move" if what in ("move", "branch") else "vm call" if "call," in what else None
            row(what, (ns, ns, "ns"), targets.get(what), floor.get(against))


def late():
    title("operators bound when they meet their operands (floors: bound early, all sizes known)")
    figures = measure(options.build / "bench_late")
    for name in ("negative", "add"):
        early = figures[f"early {name}"]
        row(f"{name}, sizes unknown", figures[f"sizes {name}"], None, early)
        row(f"{name}, nothing known", figures[f"late {name}"], early[0] + 150, early)
    for name in ("negative", "add", "matmul", "sum", "concat", "softmax"):
        row(f"{name}, met for the first time", figures[f"first {name}"], 100, None)


def relay():
    title("texts of Relay (floors: half as many)")
    figures = measure(options.build / "bench_relay")
    row("a call, read and typed", figures["typed calls 10000"], 1.5, None)
    row("a call, translated", figures["translated calls 10000"], 1.0, None)
    for what, few, many in (("arms", 1000, 2000), ("functions", 100, 200)):
        for stage in ("typed", "translated"):
            row(f"one of {many} {what}, {stage}", figures[f"{stage} {what} {many}"], None, figures[f"{stage} {what} {few}"])


def decoding():
    title("caches of keys and values that grow by a row each step (floors: the first 64 steps)")
    figures = measure(options.build / "bench_decode")
    for how in ("handed over", "lent"):
        row(f"a step of 512, {how}", figures[f"all {how}"])
        first = figures[f"first {how}"]
        row(f"of the last 64, {how}", figures[f"last {how}"], round(1.5 * first[0], 1) if how == "handed over" else None, first)


def chains():
    title("nests of elements in one function, by kernel bytecode (floors: one of them; gelu in one nest)")
    figures = measure(options.build / "bench_chain")
    for size in (4096, 65536, 1 << 20):
        one = figures[f"one {size}"]
        row(f"8 nests, {size:,} elements", figures[f"chain {size}"], round(1.2 * one[0], 1) if size == 1 << 20 else None, one)
        row(f"8 nests as they stand, {size:,} elements", figures[f"apart {size}"], None, one)
        row(f"gelu in 5 nests, {size:,} elements", figures[f"gelu nests {size}"], None, figures[f"gelu {size}"])


def numpy_environment():
    """One thread, and the kernels that fit: OpenBLAS does not know new processors and takes slow ones."""
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    info = Path("/proc/cpuinfo")
    if info.exists() and "avx512f" in info.read_text():
        environment.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
    return environment


def across(figures):
    """Medians of several (best, median, unit)."""
    return (*(sorted(f[i] for f in figures)[len(figures) // 2] for i in (0, 1)), figures[0][2])


def build(folder, name, weights, program, *more):
    """Compiles an example; the milliseconds it took."""
    begin = time.monotonic()
    output(options.out / "bin" / "relax", "build", folder / name, "--params", folder / weights, "-o", program, *more)
    return (time.monotonic() - begin) * 1e3


def build_natively(scratch, folder, name, weights, program, cpu):
    """Compiles an example with kernels as C, twice with one cache; the times of both."""
    cache = scratch / f"cache-{folder.name}-{cpu}"
    return [build(folder, name, weights, program, "--target", "c", "--cpu", cpu, "--cache", cache) for _ in range(2)]


def build_times(times):
    for what, took in zip(("nothing cached", "all cached"), times):
        row(f"build, {what}", (took, took, "ms"))


def digits(scratch):
    import numpy as np
    title("digits by kernel bytecode (floor: numpy, both on one core, alternating)")
    program = scratch / "digits.rlx"
    interpreted = build(DIGITS, "digits.py", "mlp_weights.npz", program, "--target", "interp")
    data = np.load(DIGITS / "test_images.npz")
    images, result = scratch / "images.f32", scratch / "result.f32"
    data["images"].astype(np.float32).tofile(images)
    for batch in (1, 360):
        ours, theirs = [], []
        for _ in range(ALTERNATIONS):
            ours.append(measure(options.build / "bench_digits", program, images, batch, 0.3, result)["digits"])
            theirs.append(measure(sys.executable, TOP / "bench" / "digits_numpy.py", DIGITS / "mlp_weights.npz", images, batch, 0.3,
                                  environment=numpy_environment())["numpy"])
        off = np.abs(np.fromfile(result, np.float32).reshape(batch, 10) - data["mlp_probabilities"][:batch]).max()
        if off > 1e-5:
            sys.exit(f"bench: digits: probabilities are off by {off}")
        ours, theirs = across(ours), across(theirs)
        row(f"batch {batch}", ours, round(theirs[0] * (1 if batch == 1 else 10), 1), theirs)
    row("build", (interpreted, interpreted, "ms"))
    title("digits by kernels compiled as C (floor: numpy, from above)")
    for cpu in ("any", "native"):
        native = scratch / f"native-{cpu}.rlx"
        times = build_natively(scratch, DIGITS, "digits.py", "mlp_weights.npz", native, cpu)
        turns = [measure(options.build / "bench_digits", native, images, 360, 0.3, result)["digits"] for _ in range(ALTERNATIONS)]
        row(f"batch 360, code for {'this CPU' if cpu == 'native' else 'any CPU'}", across(turns), round(theirs[0] * 5, 1), theirs)
    build_times(times)
    title("starting, from process start to end (floor: a process that does nothing)")
    start, relax = options.build / "bench_start", options.out / "bin" / "relax"
    nothing = measure(start, "true", 200, shutil.which("true"))["true"]
    row("relax version", measure(start, "version", 200, relax, "version")["version"], 3, nothing)
    row("digits.rlx loaded and first result", measure(start, "first", 200, options.build / "bench_digits", program, images)["first"], 5, nothing)


def adder(scratch):
    title("the adder transformer (floor: numpy, the same steps, both on one core, alternating)")
    program, native, prompts = scratch / "adder.rlx", scratch / "adder-native.rlx", ADDER / "prompts.npz"
    build(ADDER, "adder.py", "weights.npz", program, "--target", "interp")
    times = build_natively(scratch, ADDER, "adder.py", "weights.npz", native, "native")
    turns = {"bytecode": [], "kernels as C": [], "numpy": []}
    for _ in range(ALTERNATIONS):
        turns["bytecode"].append(measure(options.build / "bench_adder", program, prompts, 0.5))
        turns["kernels as C"].append(measure(options.build / "bench_adder", native, prompts, 0.5))
        turns["numpy"].append(measure(sys.executable, TOP / "bench" / "adder_numpy.py", ADDER / "weights.npz", prompts, 0.5,
                                      environment=numpy_environment()))
    for key, what in (("prefill", "a prompt of 8 tokens"), ("decode", "a token behind it")):
        best = {side: across([figures[key] for figures in of]) for side, of in turns.items()}
        for side in ("bytecode", "kernels as C"):
            target = round(best["numpy"][0] / 3, 1) if key == "decode" and side != "bytecode" else None
            row(f"{what}, {side}", best[side], target, best["numpy"])
    build_times(times)


def small_kernels(scratch):
    """A hundred PrimFuncs that differ in their constants."""
    title("100 small kernels compiled as C")
    lines = ["from tvm.script import ir as I, tir as T, relax as R", "@I.ir_module", "class Many:"]
    for i in range(100):
        lines += ["    @T.prim_func(private=True)", f"    def k{i}(x: T.handle, y: T.handle):", "        n = T.int64()",
                  '        X = T.match_buffer(x, (n,), "float32")', '        Y = T.match_buffer(y, (n,), "float32")',
                  "        for i in range(n):", f"            Y[i] = X[i] * T.float32(0.5) + T.float32({i})"]
    lines += ["    @R.function", '    def main(x: R.Tensor(("n",), "float32")):', "        n = T.int64()", "        y0 = x"]
    lines += [f'        y{i + 1} = R.call_tir(Many.k{i}, (y{i},), out_sinfo=R.Tensor((n,), "float32"))' for i in range(100)]
    (scratch / "many.py").write_text("\n".join(lines + ["        return y100"]) + "\n")
    (scratch / "x.npy").write_bytes(b"\x93NUMPY\x01\x00\x36\x00" + b"{'descr':'<f4','fortran_order':False,'shape':(2,)}".ljust(53) + b"\n" + bytes(8))
    for what in ("nothing cached", "all cached"):
        begin = time.monotonic()
        output(options.out / "bin" / "relax", "run", scratch / "many.py", "--target", "c", "--cache", scratch / "cache-many",
               "--input", scratch / "x.npy", "--profile", scratch / "profile.json")
        took = (time.monotonic() - begin) * 1e3
        started = json.loads((scratch / "profile.json").read_text())["compiler_processes"]
        row(f"compiled and run, {what}", (took, took, "ms"))
        row(f"compiler processes, {what}", (started, started, ""), 4 if what == "nothing cached" else 0)


def sizes(scratch):
    """The library as a file; of the run-only archive the code that a host links in: public functions and what they need."""
    title("sizes, linked and stripped")
    strip, cc = os.environ.get("STRIP", "strip"), os.environ.get("CC", "cc").split()
    run_only, exports = scratch / "runtime.so", scratch / "exports"
    exports.write_text("{ global: relax_*; local: *; };\n")
    output(*cc, "-shared", "-o", run_only, "-Wl,--whole-archive", options.out / "lib" / "librelax-runtime.a", "-Wl,--no-whole-archive",
           "-Wl,--gc-sections", f"-Wl,--version-script={exports}", "-lm", "-lpthread", "-ldl")
    code = int(re.search(r"^\.text\s+(\d+)", output("size", "-A", run_only), re.MULTILINE)[1]) / 1000
    for what, path, target in (("librelax.so", options.out / "lib" / "librelax.so", 600), ("run-only library", run_only, None)):
        output(strip, "-o", scratch / "stripped", path)
        size = (scratch / "stripped").stat().st_size / 1000
        row(what, (size, size, "kB"), target)
    row("run-only code", (code, code, "kB"), 200)


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    floor = measure(options.build / "floor")
    with tempfile.TemporaryDirectory() as folder:
        builder(floor)
        text(floor)
        onnx()
        machine(floor)
        late()
        relay()
        decoding()
        chains()
        try:
            digits(Path(folder))
            adder(Path(folder))
            small_kernels(Path(folder))
        except ImportError:
            print("bench: numpy is not installed (Debian: python3-numpy, libopenblas0-pthread): networks left out", file=sys.stderr)
        sizes(Path(folder))
    print_table()
    target = options.build.parent / "bench.json"
    target.write_text(json.dumps({"processor": processor(), "cores": os.cpu_count(), "floors": floor,
                                  "rows": [r for r in rows if "title" not in r]}, indent=1) + "\n")
    print(f"\nalso in {target}")


if __name__ == "__main__":
    main()
