#!/usr/bin/env python3
"""The numbers that examples/host/host.c must print, computed by numpy: its weights, its images, its host function.

    host_numbers.py OUTPUT      compares the lines `image I: P P P ... sum S` of the file
"""
import re
import sys

import numpy as np

PIXELS, HIDDEN, BATCH, TEMPERATURE = 64, (128, 64), 3, 2.0


def weights(seed, rows, columns):
    """The generator of host.c: a linear congruence, eight bits of each state."""
    count, values = (rows or 1) * columns, []
    for _ in range(count):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        values.append(((seed >> 16 & 0xFF) - 128) / 1024.0)
    return np.array(values, dtype="float64").reshape((rows, columns) if rows else (columns,))


def probabilities():
    x = np.array([i * 7 % 17 / 16.0 for i in range(BATCH * PIXELS)]).reshape(BATCH, PIXELS)
    x = np.maximum(x @ weights(1, PIXELS, HIDDEN[0]) + weights(2, 0, HIDDEN[0]), 0)
    x = np.maximum(x @ weights(3, HIDDEN[0], HIDDEN[1]) + weights(4, 0, HIDDEN[1]), 0)
    scores = (x @ weights(5, HIDDEN[1], 10) + weights(6, 0, 10)) / TEMPERATURE
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        rows = re.findall(r"^image (\d+): (\S+) (\S+) (\S+) \.\.\. sum (\S+)$", f.read(), re.M)
    want = probabilities()
    if [int(r[0]) for r in rows] != list(range(BATCH)):
        print(f"wanted {BATCH} images, got {rows}")
        return 1
    for row in rows:
        got = np.array([float(v) for v in row[1:4]])
        if not np.abs(got - want[int(row[0])][:3]).max() < 2e-6 or abs(float(row[4]) - 1) > 1e-3:
            print(f"image {row[0]}: wanted {want[int(row[0])][:3]}, got {row[1:]}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
