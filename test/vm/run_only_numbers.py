#!/usr/bin/env python3
"""The digits images as raw bytes for run_only.c, and the judgement of what it wrote.

    run_only_numbers.py write IMAGES.npz ROWS FILE      the first ROWS images
    run_only_numbers.py compare IMAGES.npz ROWS FILE    the probabilities of FILE against the stored ones
"""
import sys

import numpy as np


def main():
    mode, data, rows, path = sys.argv[1], np.load(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if mode == "write":
        np.ascontiguousarray(data["images"][:rows]).tofile(path)
        return 0
    got, want = np.fromfile(path, dtype="float32"), data["mlp_probabilities"][:rows]
    if got.size != want.size:
        print(f"wanted {want.size} numbers, got {got.size}")
        return 1
    largest = np.abs(got.reshape(want.shape) - want).max() if want.size else 0.0
    right = (got.reshape(want.shape).argmax(1) == data["labels"][:rows]).sum()
    print(f"{rows} images: largest difference {largest:.2g}, {right} right")
    return 0 if largest < 1e-5 and right >= 0.98 * rows else 1


if __name__ == "__main__":
    sys.exit(main())
