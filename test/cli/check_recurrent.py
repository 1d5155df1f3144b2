#!/usr/bin/python3
"""Recurrent layers against numpy, step by step, and against the operators of which a step is made, to the bit."""
from operator_calls import check, done, every_way, refused, same

import numpy as np
import relax_run

rng = np.random.RandomState(5)
GATES = {"nn.lstm": 4, "nn.gru": 3, "nn.gru_reset_before": 3, "nn.rnn": 1}


def some(*shape, dtype="float32"):
    return rng.uniform(-1, 1, shape).astype(dtype)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def operands(op, steps, batch, n, dtype="float32"):
    x, weight, state = some(steps, batch, GATES[op] * n, dtype=dtype), some(n, GATES[op] * n, dtype=dtype), some(batch, n, dtype=dtype)
    if op == "nn.lstm":
        return [x, weight, state, some(batch, n, dtype=dtype)]
    if op == "nn.rnn":
        return [x, weight, state]
    bias = some(3 * n, dtype=dtype)
    return [x, weight, state, bias] if op == "nn.gru" else [x, weight[:, :2 * n].copy(), state, bias, some(n, n, dtype=dtype)]


def layer(op, args, lengths=None, backward=False):
    args = [a.astype("float64") for a in args]
    x, weight, h = args[:3]
    n, c, rows = h.shape[1], args[3] if len(args) > 3 else None, np.zeros(x.shape[:2] + h.shape[1:])
    part = lambda v, k: v[..., k * n:k * n + n]
    for t in range(len(x))[::-1 if backward else 1]:
        s, cell = h @ weight, c
        if op == "nn.lstm":
            i, o, f, g = (part(x[t] + s, k) for k in range(4))
            cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            new = sigmoid(o) * np.tanh(cell)
        elif op == "nn.rnn":
            new = np.tanh(x[t] + s)
        else:
            z, r = (sigmoid(part(x[t], k) + part(s, k) + part(args[3], k)) for k in range(2))
            inner = r * (part(s, 2) + part(args[3], 2)) if op == "nn.gru" else (r * h) @ args[4] + part(args[3], 2)
            new = (1 - z) * np.tanh(part(x[t], 2) + inner) + z * h
        on = (t < lengths)[:, None] if lengths is not None else np.full((x.shape[1], 1), True)
        rows[t] = np.where(on, new, 0)
        h = np.where(on, new, h)
        c = np.where(on, cell, c) if op == "nn.lstm" else c
    return [rows, h] + ([c] if op == "nn.lstm" else [])


def text(op, args, lengths, backward):
    return f"R.{op}({', '.join(f'x{i}' for i in range(len(args) + (lengths is not None)))}{', backward=True' if backward else ''})"


for op in GATES:
    for steps, batch, n in ((5, 2, 3), (1, 1, 40), (3, 7, 33), (4, 1, 1), (2, 3, 64), (0, 2, 4), (3, 0, 4)):
        for dtype, tol in (("float32", 2e-6), ("float64", 1e-12)):
            for lengths in (None, rng.randint(0, steps + 1, batch).astype("int32" if n % 2 else "int64")):
                args, backward = operands(op, steps, batch, n, dtype), bool(rng.randint(2))
                want = [w.astype(dtype) for w in layer(op, args, lengths, backward)]
                check(text(op, args, lengths, backward), args + ([] if lengths is None else [lengths]), want, tol)
    args = operands(op, 6, 3, 5)
    every_way([text(op, args, None, False), text(op, args, None, True)], args)
    every_way([text(op, args, args, False), text(op, args, args, True)], args + [np.array([6, 0, 4], "int32")])
    args = operands(op, 3, 4, 40, "float16")
    every_way([text(op, args, None, False)], args)
    for i, axis in [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1)] + ([(3, 0)] if len(args) > 3 else []) + ([(4, 1)] if len(args) > 4 else []):
        wrong = operands(op, 3, 2, 4)
        wrong[i] = np.concatenate([wrong[i], wrong[i]], axis)
        refused(text(op, wrong, None, False), wrong, "RT05")
    refused(text(op, args, args, False), operands(op, 3, 2, 4) + [np.array([3, 3, 3], "int32")], "RT05")

# ---- a program of the operators of which a step is made gives the same bits
PROGRAM = """
@R.function
def main(x: R.Tensor((3, 4, 160), "float32"), w: R.Tensor((40, 160), "float32"), h0: R.Tensor((4, 40), "float32"), c0: R.Tensor((4, 40), "float32")):
    with R.dataflow():
        y = R.nn.lstm(x, w, h0, c0)
{}
        z = (y[1], y[2], h3, c3)
        R.output(z)
    return z
"""
STEP = """
        x{0} = R.take(x, R.const({0}, "int64"), axis=0)
        g{0} = R.add(x{0}, R.matmul(h{0}, w))
        s{0} = R.split(g{0}, 4, axis=1)
        a{0} = R.multiply(R.sigmoid(s{0}[2]), c{0})
        b{0} = R.multiply(R.sigmoid(s{0}[0]), R.tanh(s{0}[3]))
        c{1} = R.add(a{0}, b{0})
        h{1} = R.multiply(R.sigmoid(s{0}[1]), R.tanh(c{1}))
"""
module = relax_run.Module(PROGRAM.format("".join(STEP.format(t, t + 1) for t in range(3))))
for level in (0, 2):
    found = module.compile(level).call("main", operands("nn.lstm", 3, 4, 40))
    same("steps of operators", found[:2], found[2:])
done()
