#!/usr/bin/env python3
"""Kernels and networks beside ONNX Runtime, oneDNN and numpy: a table, peers.json and peers.svg in the build folder.

    bench/run.sh peers [--only TEXT ...] [--targets interp,c] [--before peers.json] [--seconds 0.3] [--threads 2]

Each row is built with the tool, opened beside its peers in one process, and called in turns with them (race.py); what stands
in the table is the shortest call in microseconds. The results of all are compared in the same run. What is not installed
leaves its column empty; `make bench-peers` installs it. --only takes rows whose group or name contains one of the texts,
--before prints the ratios of an earlier run beside.
"""
import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

wanted = argparse.ArgumentParser(add_help=False)
wanted.add_argument("--threads", type=int, default=1, help="of all contenders; above 1 with columns of what they are worth to us")
THREADS = wanted.parse_known_args()[0].threads
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):     # read when the libraries are loaded
    os.environ[threads] = str(THREADS)

import numpy as np

import kernels
import networks
from graph import Graph
from picture import draw
from race import Function, Host, aligned, race

TOP = Path(__file__).resolve().parent.parent.parent
PEERS = ("ort", "onednn", "numpy")
# Times of ONNX Runtime that a row may take, and the geometric mean of its group.
TARGETS = {"matmul": 1.1, "network": 1.1}
TARGET_MEANS = {"matmul": 1.0}
OTHER_TARGET, LARGE_TARGET = 1.15, 1.5
# Largest difference from a peer's results, beside the largest of them: float32 summed in another order.
TOLERANCE = 2e-5

parser = argparse.ArgumentParser(description=__doc__, parents=[wanted], formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", type=Path, default=TOP)
parser.add_argument("--build", type=Path, default=TOP / "build" / "bench")
parser.add_argument("--only", nargs="*", default=[])
parser.add_argument("--targets", default="interp,c")
parser.add_argument("--before", type=Path)
parser.add_argument("--opt", help="optimisation level; else that of the tool")
parser.add_argument("--seconds", type=float, default=.3, help="for each contender of a row; networks get four times as much")
parser.add_argument("--json", type=Path)


def random_inputs(values):
    random = np.random.RandomState(5)
    arrays = []
    for value in values:
        array = aligned(value.shape, value.dtype)
        array[...] = (random.standard_normal(value.shape) if value.dtype == "float32" else
                      random.randint(-100, 100, value.shape) if value.dtype == "int8" else
                      random.randint(0, 256, value.shape) if value.dtype == "uint8" else random.randint(0, 10, value.shape))
        arrays.append(np.abs(array, out=array) if value.positive else array)
    return arrays


def spent_since(before):
    """Milliseconds of processor time of child processes."""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def build(options, made, target):
    """Compiles with the tool; the file and the milliseconds of processor time that took, compilers included."""
    path = made["path"]
    out = path.with_suffix(f".{target}.rlx")
    command = [options.out / "bin" / "relax", "build", path.with_suffix(".py"), "-o", out, "--target", target]
    command += ["--opt", options.opt] if options.opt else []
    command += ["--params", path.with_suffix(".npz")] if made["weights"] else []
    command += ["--cpu", "native", "--cache", ""] if target == "c" else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout.strip()[-400:])
    return out, spent_since(before)


def off(results, reference):
    """The largest difference, beside the largest number of the reference; infinite where a number is none."""
    worst = 0.
    for a, b in zip(results, reference):
        a, b = a.astype("f8"), b.astype("f8")
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            return math.inf
        worst = max(worst, float(np.abs(a - b).max() / (np.abs(b).max() + 1e-30)))
    return worst


def measure_shared(host, path, inputs, results, row):
    """The part of the first target's processor time that threads can share, whatever else the machine does."""
    alone = host.open("alone", path, inputs, results)
    row["shared"] = alone.shared(20)
    alone.close()


def contenders(options, host, made, inputs, in_numpy, row):
    """{name: what can be called}, {name: its results}; what was learnt on the way is in the row."""
    names = options.targets.split(",") + (["ort"] if host.ort else []) + (["numpy"] if in_numpy else [])
    plain = row["group"] == "matmul" and len(made["results"][0].shape) == 2
    names += ["onednn"] if host.has_sgemm and plain else []
    results = {name: [aligned(v.shape, v.dtype) for v in made["results"]] for name in names}
    sides = {}
    for name in names:
        if name == "ort":
            start = time.process_time()
            sides[name] = host.open("ort", made["path"].with_suffix(".onnx"), inputs, results[name])
            row["session_ms"] = (time.process_time() - start) * 1e3
        elif name == "numpy":
            sides[name] = Function(lambda: in_numpy(inputs, made["weights"], results["numpy"][0]), THREADS)
        elif name == "onednn":
            sides[name] = host.sgemm(*(inputs + made["weights"])[:2], results[name][0])
        else:
            path, row[f"build_{name}_ms"] = build(options, made, name)
            sides[name] = host.open("relax", path, inputs, results[name])
            if THREADS > 1 and name == names[0]:
                measure_shared(host, path, inputs, results[name], row)
                host.set_threads(1)
                sides["one"] = host.open("relax", path, inputs, results[name])
                host.set_threads(THREADS)
    row["bytes"] = sum(a.nbytes for a in inputs + made["weights"] + results[names[0]])
    return sides, results


def measure(options, host, row, describe, in_numpy=None, exact=None, seconds=1.):
    """Fills a row: ns of each contender, shares, how far results are apart."""
    graph = Graph()
    made = graph.save(options.build / "peers" / "row", describe(graph))
    row.update(flop=made["flop"], operators=made["operators"])
    inputs = random_inputs(made["inputs"])
    sides, results = contenders(options, host, made, inputs, in_numpy, row)
    peaks = [host.peak_fma()]
    best = race(sides, seconds)
    row.update(times=best, peak_gflops=max(peaks + [host.peak_fma()]), peak_gbs=host.peak_read(row["bytes"]))
    row["floor"] = max(row["flop"] / row["peak_gflops"], row["bytes"] / row["peak_gbs"])
    reference = next((p for p in PEERS if p in best), None)
    if exact:
        results["exact"], reference = [exact(inputs, made["weights"])], "exact"
        row["peer_error"] = max([off(results[name], results["exact"]) for name in PEERS if name in results], default=0)
    if reference:
        row["error"] = max([off(results[name], results[reference]) for name in options.targets.split(",")])
        row["wrong"] = row["error"] > (0 if exact else TOLERANCE)
    if "interp" in sides:
        row.update(sides["interp"].counters())
    for side in sides.values():
        side.close()


# --- the table -----------------------------------------------------------------------------------

def ratio(row, target):
    times = row.get("times", {})
    return times[target] / times["ort"] if target in times and "ort" in times else None


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None


def cell(number, width, form="{:.2f}"):
    return f"{'' if number is None else form.format(number):>{width}}"


def microseconds(ns):
    return "" if ns is None else f"{ns / 1e3:.{0 if ns >= 1e6 else 1 if ns >= 1e4 else 2}f}"


def print_head(targets):
    print(f"{'microseconds':38}" + "".join(f"{name:>9}" for name in [*targets, *PEERS]) + f"{'floor':>9}{'fma':>6}{'read':>6}"
          + "".join(f"{name + '/ort':>11}" for name in targets) + f"{'target':>8}{'':8}{'before':>7}{'error':>9}" + (f"{'shared':>8}{'gain':>6}" if THREADS > 1 else ""))


def print_row(row, targets, before):
    if "failed" in row:
        print(f"  {row['name']:36} failed: {row['failed']}", flush=True)
        return
    times, first = row["times"], row["times"][targets[0]]
    met = ratio(row, targets[0])
    met = "" if met is None else "met" if met <= row["target"] else "missed"
    print(f"  {row['name']:36}" + "".join(f"{microseconds(times.get(name)):>9}" for name in [*targets, *PEERS])
          + f"{microseconds(row['floor']):>9}" + cell(row["flop"] and 100 * row["flop"] / first / row["peak_gflops"] or None, 6, "{:.0f}%")
          + cell(100 * row["bytes"] / first / row["peak_gbs"], 6, "{:.0f}%")
          + "".join(cell(ratio(row, name), 11) for name in targets) + f"{row['target']:8.2f} {met:7}"
          + cell(before.get(row["name"]), 7) + cell(row.get("error"), 9, "{:.0e}") + (cell(100 * row["shared"], 8, "{:.1f}%") + cell(times["one"] / first, 6) if THREADS > 1 else "")
          + (" WRONG" if row.get("wrong") else " peer is not exact" if row.get("peer_error") else ""), flush=True)


def print_means(rows, targets):
    """Geometric means of the groups, and of the ten networks."""
    means = {}
    print("\ngeometric means of times of ONNX Runtime" + " " * 15 + "".join(f"{t:>9}" for t in targets) + f"{'target':>8}{'rows':>6}")
    for group in dict.fromkeys(r["group"] for r in rows):
        of = [r for r in rows if r["group"] == group and "failed" not in r and (group != "network" or r["name"] in networks.MEAN)]
        means[group] = {t: geometric_mean([ratio(r, t) for r in of if ratio(r, t)]) for t in targets}
        print(f"  {group:53}" + "".join(cell(means[group][t], 9) for t in targets) + cell(TARGET_MEANS.get(group), 8) + f"{len(of):6}")
    return means


def print_gains(rows, targets):
    """What threads are worth: times of one thread by those of all, as geometric means."""
    print(f"\ntimes of one thread by those of {THREADS}, geometric means (of those above 200 microseconds)")
    for group in dict.fromkeys(r["group"] for r in rows):
        of = [r["times"] for r in rows if r["group"] == group and "failed" not in r]
        gains = [(t["one"] / t[targets[0]], t["one"]) for t in of]
        print(f"  {group:53}" + cell(geometric_mean([g for g, _ in gains]), 9)
              + cell(geometric_mean([g for g, one in gains if one > 2e5]), 9) + f"   least {min([g for g, _ in gains], default=0):.2f}")


def all_rows(only):
    """(row, how to build it, the same in numpy, exact results)"""
    every = [({"group": g, "name": n, "target": TARGETS.get(g, OTHER_TARGET)}, b, f, e) for g, n, b, f, e in kernels.ROWS]
    every += [({"group": "network", "name": n, "target": LARGE_TARGET if n in networks.LARGE else TARGETS["network"]}, b, None, networks.EXACT.get(n))
              for n, b in networks.ROWS.items()]
    return [r for r in every if not only or any(t in r[0]["name"] or t == r[0]["group"] for t in only)]


# --- building ------------------------------------------------------------------------------------

def processor_ms(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, check=True)
    return spent_since(before)


def building(options):
    """The encoder of 12 blocks with 38 MB of weights: processor time of the tool, beside a copy of its weights."""
    graph = Graph()
    made = graph.save(options.build / "peers" / "row", networks.encoder(12)(graph))
    weights = made["path"].with_suffix(".npz")
    copied, built = [], []
    for _ in range(5):
        copied.append(processor_ms("cp", weights, weights.with_suffix(".copy")))
        built.append(build(options, made, "interp")[1])
    weights.with_suffix(".copy").unlink()
    print(f"\nbuilding the encoder of 12 blocks, {weights.stat().st_size / 1e6:.0f} MB of weights, processor time: {min(built):.0f} ms; "
          f"copying its weights: {min(copied):.0f} ms (target: at most 3 times that)")
    return {"build_ms": min(built), "copy_ms": min(copied)}


def main():
    options = parser.parse_args()
    targets = options.targets.split(",")
    (options.build / "peers").mkdir(parents=True, exist_ok=True)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-THREADS:])     # so many cores, their caches
    host = Host(options.build / "libpeer_host.so")
    host.set_threads(THREADS)
    before = {}
    if options.before:
        before = {r["name"]: ratio(r, targets[0]) for r in json.loads(options.before.read_text())["rows"]}
    print(f"ONNX Runtime {host.ort or 'is not installed (make bench-peers)'}, threads: {THREADS}\n")
    print_head(targets)
    rows, group = [], None
    for row, describe, in_numpy, exact in all_rows(options.only):
        if row["group"] != group:
            group = row["group"]
            print(group)
        try:
            measure(options, host, row, describe, in_numpy, exact, options.seconds * (4 if group == "network" else 1))
        except RuntimeError as failure:
            row["failed"] = str(failure)
        rows.append(row)
        print_row(row, targets, before)
    means = print_means(rows, targets)
    if THREADS > 1:
        print_gains(rows, targets)
    figures = {"onnxruntime": host.ort, "threads": THREADS, "rows": rows, "means": means}
    if not options.only:
        figures["building"] = building(options)
    target = options.json or options.build.parent / "peers.json"
    target.write_text(json.dumps(figures, indent=1) + "\n")
    draw(figures, targets, target.with_suffix(".svg"))
    print(f"\nalso in {target} and {target.with_suffix('.svg')}")
    if any(r.get("wrong") or "failed" in r for r in rows):
        sys.exit("bench: a row failed or computes something else than its peer")


if __name__ == "__main__":
    main()
