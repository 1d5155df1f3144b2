#!/usr/bin/python3
"""The digits network in numpy.

    digits_numpy.py WEIGHTS.npz IMAGES.f32 BATCH SECONDS    prints the time of one evaluation
"""
import sys
import time

import numpy as np

w = dict(np.load(sys.argv[1]))
x = np.fromfile(sys.argv[2], np.float32).reshape(-1, 64)[:int(sys.argv[3])].copy()


def network():
    h = np.maximum(x @ w["w1"] + w["b1"], 0)
    h = np.maximum(h @ w["w2"] + w["b2"], 0)
    s = h @ w["w3"] + w["b3"]
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


network()
times, end = [], time.perf_counter() + float(sys.argv[4])
while len(times) < 5 or time.perf_counter() < end:
    start = time.perf_counter()
    network()
    times.append(time.perf_counter() - start)
times.sort()
print(f"numpy\t{times[0] * 1e6:.4g}\t{times[len(times) // 2] * 1e6:.4g}\tus")
