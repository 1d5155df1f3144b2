#!/usr/bin/env python3
"""onnx_weights.py [MEGABYTES [EACH]]: a model with so many megabytes of weights (1024), each of so many (16), is built into a file: time, and memory beside
the mapped model.

Run by hand: it writes the model and the program to a temporary folder, twice that size in all.
"""
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "onnx"))
from onnx_file import field, fields, node, value, varint

RELAX = os.path.abspath(os.environ.get("RELAX", "bin/relax"))
SIDE = 2048                  # weights are SIDE x N and N x SIDE in turn, float32


def write_model(path, count, each):
    sizes = [SIDE, (each << 20) // 4 // SIDE]
    nodes = [node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(count)]
    rest = fields(1, nodes) + fields(11, [value("v0", "float32", ["n", SIDE])]) + fields(12, [value(f"v{count}", "float32", ["n", sizes[count % 2]])])
    heads = []
    for i in range(count):
        t = fields(1, [sizes[i % 2], sizes[1 - i % 2]]) + field(2, 1) + field(8, f"w{i}") + varint(9 << 3 | 2) + varint(each << 20)
        heads.append(varint(5 << 3 | 2) + varint(len(t) + (each << 20)) + t)
    size = len(rest) + sum(len(h) + (each << 20) for h in heads)
    with open(path, "wb") as f:
        f.write(field(1, 8) + field(8, field(1, "") + field(2, 17)) + varint(7 << 3 | 2) + varint(size) + rest)
        for h in heads:
            f.write(h)
            some = os.urandom(1 << 20) # each weight is another
            for _ in range(each):
                f.write(some)


def watch(pid, peak, done):
    """Anonymous memory: pages of the mapped model are the kernel's to drop."""
    while not done.is_set():
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                lines = dict(line.split(":", 1) for line in f if ":" in line)
            peak[0] = max(peak[0], int(lines["RssAnon"].split()[0]))
        except (OSError, KeyError):
            return
        time.sleep(0.005)


def main():
    each = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    count = max(1, int(sys.argv[1] if len(sys.argv) > 1 else 1024) // each)
    with tempfile.TemporaryDirectory() as folder:
        model, program = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.rlx")
        write_model(model, count, each)
        begin, peak, done = time.monotonic(), [0], threading.Event()
        p = subprocess.Popen([RELAX, "build", model, "-o", program])
        t = threading.Thread(target=watch, args=(p.pid, peak, done))
        t.start()
        code = p.wait()
        done.set()
        t.join()
        print(f"{count * each} MB of weights: exit {code}, {time.monotonic() - begin:.1f} s, "
              f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.1f} s of CPU, {peak[0] / 1024:.0f} MB beside the mapping, "
              f"{os.path.getsize(program) >> 20} MB written")
        return code


sys.exit(main())
