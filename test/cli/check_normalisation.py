#!/usr/bin/env python3
"""What decompose_ops_for_inference, decompose_ops_for_training and fold_batchnorm_to_conv2d make of a program, against numpy: sizes that are
numbers and that are variables, every axis and layout, statistics as arguments and as constants, at two levels."""
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import Suite
from relax_run import Failed, Module

s = Suite()
rng = np.random.default_rng(7)
HEAD = "from tvm.script import ir as I\nfrom tvm.script import tir as T\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass M:\n    @R.function\n    def main("


def program(params, lines, result):
    return HEAD + ", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in params) + "):\n" + \
        "".join(f"        {line}\n" for line in lines) + f"        return {result}\n"


def shape_text(shape, prefix=None):
    """Sizes as numbers, or as variables named after them, so that equal sizes are equal variables."""
    return "(" + "".join((f'"{prefix}{n}"' if prefix else str(n)) + ", " for n in shape) + ")"


def close(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=2e-5, atol=2e-5)


def judge(what, text, passes, args, want, gone):
    for level in (0, 2):
        try:
            made = text
            for name in passes:
                made = Module(made).after(name)
            got = Module(made).compile(level).call("main", args)
        except Failed as failure:
            s.check(f"{what}: {failure.code} {failure}", False)
            continue
        s.check(f"{what}: {gone} is gone", gone not in made)
        s.check(f"{what}, level {level}", len(got) == len(want) and all(close(a, b) for a, b in zip(got, want)))


def wide(v, ndim, axes):
    shape = [1] * ndim
    for k, axis in enumerate(axes):
        shape[axis] = v.shape[k]
    return v.reshape(shape)


def normalised(x, mean, var, gamma, beta, axes, epsilon):
    m, v, g, b = (wide(a.astype("float64"), x.ndim, axes) for a in (mean, var, gamma, beta))
    return ((x - m) / np.sqrt(v + epsilon) * g + b).astype("float32")


def draw(*shape):
    return rng.uniform(-1, 1, shape).astype("float32")


# ---- batch_norm
for shape, prefix, center, scale in itertools.product([(2, 3), (2, 3, 5), (2, 3, 4, 5)], [None, "s"], [True, False], [True, False]):
    for axis in range(-1, len(shape) - 1):
        n = shape[axis]
        x, gamma, beta, mean, var = draw(*shape), draw(n), draw(n), draw(n), draw(n) + 1.5
        names = ["x", "gamma", "beta", "mean", "var"]
        params = [(name, shape_text(a.shape, prefix)) for name, a in zip(names, (x, gamma, beta, mean, var))]
        text = program(params, [f"a = R.nn.batch_norm(x, gamma, beta, mean, var, axis={axis}, epsilon=0.001, center={center}, scale={scale}, momentum=0.25)"], "a")
        g, b = (gamma if scale else np.ones_like(gamma)), (beta if center else np.zeros_like(beta))
        own = tuple(k for k in range(len(shape)) if k != axis % len(shape))
        what = f"batch_norm of {shape} along {axis}, {'variables' if prefix else 'numbers'}, center {center}, scale {scale}"
        judge(what + ", inference", text, ["decompose_ops_for_inference"], [x, gamma, beta, mean, var],
              [normalised(x, mean, var, g, b, [axis], 1e-3), mean, var], "batch_norm")
        m, v = x.mean(own, "float64").astype("float32"), x.astype("float64").var(own).astype("float32")
        judge(what + ", training", text, ["decompose_ops_for_training", "eliminate_common_subexpr", "canonicalize_bindings"], [x, gamma, beta, mean, var],
              [normalised(x, m, v, g, b, [axis], 1e-3), mean * .75 + m * .25, var * .75 + v * .25], "batch_norm")

# ---- layer_norm
for axes in ([0], [1], [2], [1, 2], [0, 2], [0, 1, 2], [-1], [-2, -1]):
    x = draw(3, 4, 5)
    own = tuple(a % 3 for a in axes)
    gamma, beta = draw(*[x.shape[a] for a in own]), draw(*[x.shape[a] for a in own])
    params = [("x", shape_text(x.shape)), ("gamma", shape_text(gamma.shape)), ("beta", shape_text(beta.shape))]
    text = program(params, [f"a = R.nn.layer_norm(x, gamma, beta, axes={axes})"], "a")
    m, v = x.mean(own, "float64", keepdims=True), x.astype("float64").var(own, keepdims=True)
    want = (x - m) / np.sqrt(v + 1e-5) * wide(gamma, 3, own) + wide(beta, 3, own)
    judge(f"layer_norm over {axes}", text, ["decompose_ops_for_training"], [x, gamma, beta], [want.astype("float32")], "layer_norm")

# ---- tensor_to_shape
text = HEAD + 't: R.Tensor((3,), "int64"), x: R.Tensor((24,), "float32")):\n        a = R.tensor_to_shape(t)\n        b = R.reshape(x, a)\n        return b\n'
x = draw(24)
judge("tensor_to_shape", text, ["decompose_ops_for_inference"], [np.array([2, 3, 4]), x], [x.reshape(2, 3, 4)], "R.tensor_to_shape")


# ---- conv2d and batch_norm
def convolved(x, w, groups, pad):
    """NCHW, OIHW"""
    x = np.pad(x.astype("float64"), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    rows, columns = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    out = np.zeros((x.shape[0], w.shape[0], rows, columns))
    per_in, per_out = x.shape[1] // groups, w.shape[0] // groups
    for o, i, r, c in itertools.product(range(w.shape[0]), range(w.shape[1]), range(w.shape[2]), range(w.shape[3])):
        out[:, o] += x[:, o // per_out * per_in + i, r:r + rows, c:c + columns] * w[o, i, r, c]
    return out


def laid_out(a, was, to):
    return np.ascontiguousarray(a.transpose([was.index(c) for c in to]))


LAYOUTS = [("NCHW", "OIHW", None), ("NHWC", "HWIO", None), ("NHWC", "OHWI", "NCHW"), ("NCHW", "IOHW", "NHWC"), ("NHWC", "OIHW", "NHWC")]
for (data, kernel, out), groups, center, constant in itertools.product(LAYOUTS, (1, 2), (True, False), (False, True)):
    if groups == 2 and kernel.index("I") < kernel.index("O") and kernel == "IOHW":
        continue    # inputs of a group first: weights of one group only
    x, w, pad = draw(2, 4, 6, 5), draw(6, 4 // groups, 3, 3), 1
    gamma, beta, mean, var = draw(6), draw(6), draw(6), draw(6) + 1.5
    axis = (out or data).index("C")
    lines = [f'c = R.nn.conv2d(x, w, padding=[{pad}, {pad}], groups={groups}, data_layout="{data}", kernel_layout="{kernel}"' + (f', out_layout="{out}")' if out else ")"),
             f"b = R.nn.batch_norm(c, gamma, beta, mean, var, axis={axis}, center={center}, training=False)", "y = b[0]"]
    args = [laid_out(x, "NCHW", data), laid_out(w, "OIHW", kernel), gamma, beta, mean, var]
    names = ["x", "w", "gamma", "beta", "mean", "var"]
    if constant:    # what numbers these are is told to the program
        for name, a in list(zip(names, args))[2:]:
            lines.insert(0, f"{name} = R.const({[float(v) for v in a]}, \"float32\")")
        names, args = names[:2], args[:2]
    text = program([(name, shape_text(a.shape)) for name, a in zip(names, args)], lines, "y")
    want = normalised(convolved(x, w, groups, pad), mean, var, gamma, beta if center else np.zeros_like(beta), [1], 1e-5)
    judge(f"{data} {kernel} {out}, {groups} groups, center {center}, constants {constant}", text,
          ["fold_batchnorm_to_conv2d"] + (["canonicalize_bindings", "fold_constant", "dead_code_elimination"] if constant else []),
          args, [laid_out(want, "NCHW", out or data)], "batch_norm")

s.done()
