#!/usr/bin/python3
"""How the cost of every stage grows with a module's size: a table for each shape of gen_module.py, and build/linear.json.

    linear.py --build DIR [--sizes 1000,10000,100000] [--shapes deep,wide,...]

Each line: nanoseconds of processor time per binding at each size, best of at least three runs in one process whose malloc keeps
what is freed; the exponent of the least-squares line through log(time) over log(size). Then for the largest size: the time of the
first run, which meets fresh memory; what the first touch alone of as many bytes as the stage holds at most costs here; bytes per
binding that the stage keeps and that it holds at most beside what was there, and that peak divided by the bytes of the canonical
text. Targets: at 100,000 bindings at most 2.5 times the cost per binding at 1,000, at 1,000,000 at most 4 times; to read and check
at most 6 bytes for each of the text.
"""
import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
WORK = 60000        # bindings measured at each size, in runs of which the best counts
RUNS = 3, 20
TARGETS = {100000: 2.5, 1000000: 4.0}
MOST_MEMORY = 6.0

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", type=Path, default=TOP / "build" / "bench")
parser.add_argument("--sizes", default="1000,10000,100000")
parser.add_argument("--shapes", default="deep,wide,functions,symbols")
options = parser.parse_args()
sizes = [int(s) for s in options.sizes.split(",")]


def output(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    return done.stdout if done.returncode == 0 else sys.exit(f"linear: {' '.join(map(str, command))} failed")


def measure(shape, size):
    """{stage: (nanoseconds, of the first run, peak, kept)} per binding; the bytes of the text as stage "text"; "touch": per byte."""
    file = options.build / f"{shape}{size}.py"
    file.write_text(output(sys.executable, TOP / "bench" / "gen_module.py", shape, size))
    lines = output(options.build / "bench_linear", file, min(max(RUNS[0], WORK // size), RUNS[1])).splitlines()
    file.unlink()
    stages = {}
    for line in lines:
        stage, *figures = line.split("\t")
        best, first, peak, kept, _ = map(float, figures)
        each = best / size if stage == "text" else best * 1e9 if stage == "touch" else best * 1e9 / size
        stages[stage] = (each, first * 1e9 / size, peak / size, kept / size)
    return stages


def exponent(times):
    """Slope through (log size, log time of the whole)."""
    points = [(math.log(n), math.log(t * n)) for n, t in times.items() if t > 0]
    mean_x, mean_y = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else math.nan


def missed(times):
    return [n for n, most in TARGETS.items() if n in times and min(times) < n and times[n] > most * times[min(times)]]


def tabulate(shape):
    measured = {n: measure(shape, n) for n in sizes}
    texts = {n: measured[n]["text"][0] for n in sizes}
    largest = measured[sizes[-1]]
    text, touch = largest.pop("text")[0], largest.pop("touch")[0]
    rows = []
    print(f"{shape}, {text:.0f} bytes of text per binding")
    print(f"  {'':22} " + " ".join(f"{n:>9,}" for n in sizes) + f" {'exponent':>9} {'first':>8} {'touch':>7} {'kept B':>7} {'peak B':>7} {'peak/text':>9}")
    for stage in largest:
        times = {n: measured[n][stage][0] for n in sizes}
        _, first, peak, kept = largest[stage]
        late = missed(times)
        print(f"  {stage:22} " + " ".join(f"{t:9.1f}" for t in times.values()) + f" {exponent(times):9.2f} {first:8.1f} {peak * touch:7.1f} {kept:7.0f} {peak:7.0f} "
              f"{peak / text:9.2f}" + (f"  missed at {late[-1]:,}" if late else ""))
        rows.append({"shape": shape, "stage": stage, "ns_per_binding": times, "exponent": exponent(times), "ns_first_run": first,
                     "ns_first_touch": peak * touch, "kept_per_binding": kept, "peak_per_binding": peak, "peak_per_text": peak / text, "met": not late})
    for n in sizes:
        held = most_held(measured[n]) / texts[n]
        print(f"  read and checked, {n:,}: at most {held:.2f} bytes for each of the text" + ("" if held <= MOST_MEMORY else "  missed"))
        rows.append({"shape": shape, "stage": "read and checked", "size": n, "peak_per_text": held, "met": held <= MOST_MEMORY})
    return rows


def most_held(stages):
    return max(stages["parse"][2], stages["parse"][3] + stages["check"][2])


rows = [row for shape in options.shapes.split(",") for row in tabulate(shape)]
target = options.build.parent / "linear.json"
target.write_text(json.dumps(rows, indent=1) + "\n")
print(f"\nalso in {target}")
