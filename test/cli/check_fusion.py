#!/usr/bin/env python3
"""Random graphs that fuse: what level 2 builds, as bytecode and as C, gives the bits of levels 0 and 1.

Every program is one dataflow block of elementwise calls, broadcasts, reductions, sums of products, moves, tuples; sizes are literal or
symbolic. FUSION_SEED=n takes that program alone and prints it; FUSION_COUNT=k as many from there on.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import LONG, NATIVE, Suite, seeds
from numpy_compare import plain, same_bits, to_library
from relax_run import Failed, Module

s = Suite()
AS_C = 5 if NATIVE else 40  # one program of so many
UNARY = ("exp", "tanh", "sigmoid", "nn.relu", "nn.gelu", "nn.silu", "negative", "sqrt", "abs", "floor", "sin", "erf")
BINARY = ("add", "multiply", "subtract", "maximum", "minimum", "divide")
SIZES = {"n": (3, 1, 17), "m": (4, 8, 5)}


class Graph:
    """Values are (name, dimensions); a dimension is a number or the name of one."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.dtype = self.r.choice(("float32", "float32", "float32", "float16", "bfloat16", "float64", "int32"))
        self.rows, self.columns = self.r.choice(("n", 6)), self.r.choice(("m", 8))
        self.inputs = [("x", (self.rows, self.columns)), ("y", (self.rows, self.columns)), ("b", (self.columns,)), ("c", (self.rows, 1)), ("w", (self.columns, self.columns)),
                       ("i", (2, 4, 6, 6)), ("k", (4, 4, 3, 3)), ("g", (1, 4, 1, 1))]
        self.values, self.lines, self.uses = self.inputs[:2] + self.inputs[5:6], [], {}
        for _ in range(self.r.randrange(4, 18)):
            self.step()
        last = self.values[-1][0]
        self.out = [last] + [name for name, _ in self.values[:-1] if name[0] == "v" and (not self.uses.get(name) or not self.r.randrange(9))]

    def pick(self, *ranks):
        found = [v for v in self.values if len(v[1]) in ranks]
        return self.r.choice(found[-4:] if self.r.randrange(3) else found)

    def emit(self, text, dims, *used):
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = R.{text}")
        for u in used:
            self.uses[u] = self.uses.get(u, 0) + 1
        if dims:
            self.values.append((name, dims))
        return name

    def step(self):
        (a, dims), whole = self.pick(2, 4), self.dtype == "int32"
        like = [name for name, d in self.values if d == dims]
        kind = self.r.choice(("unary", "unary", "binary", "binary", "binary", "broadcast", "broadcast", "reduce", "product", "move", "tuple", "scalar"))
        if kind == "unary":
            return self.emit(f"{self.r.choice(('negative', 'abs') if whole else UNARY)}({a})", dims, a)
        if kind == "binary":
            b = self.r.choice(like)
            return self.emit(f"{self.r.choice(BINARY[:-1] if whole else BINARY)}({a}, {b})", dims, a, b)
        if kind == "scalar":
            return self.emit(f'{self.r.choice(BINARY[:-1])}({a}, R.const({self.r.randrange(1, 5)}, "{self.dtype}"))', dims, a)
        if kind == "broadcast":
            small = "g" if len(dims) == 4 else self.r.choice(("b", "c")) if dims == (self.rows, self.columns) else None
            wide = (dims[0], 4, *dims[2:]) if len(dims) == 4 else dims
            return self.emit(f"{self.r.choice(BINARY[:-1])}({a}, {small})", wide, a) if small else None
        if kind == "reduce":
            axis = self.r.randrange(len(dims))
            kept = tuple(1 if i == axis else d for i, d in enumerate(dims))
            name = self.emit(f"{self.r.choice(('sum', 'max', 'min'))}({a}, axis={axis}, keepdims=True)", None, a)
            return self.emit(f"subtract({a}, {name})", dims, a, name) if self.r.randrange(2) else self.values.append((name, kept))
        if kind == "product" and len(dims) == 4 and not whole and dims[1] == 4:
            return self.emit(f"nn.conv2d({a}, k, padding=(1, 1))", dims, a)
        if kind == "product" and dims == (self.rows, self.columns):
            return self.emit(f"matmul({a}, w)", dims, a)
        if kind == "move" and len(dims) == 2:
            back = self.emit(f"permute_dims({a})", None, a)
            back = self.emit(f"{self.r.choice(('negative', 'abs'))}({back})", None, back)
            return self.emit(f"permute_dims({back})", dims, back)
        if kind == "move":
            flat = self.emit(f"reshape({a}, ({dims[0]}, {dims[1] * dims[2] * dims[3]}))", None, a)
            return self.emit(f"reshape({flat}, {dims})", dims, flat)
        if kind == "tuple" and len(dims) == 4 and dims[1] == 4:
            parts = self.emit(f"split({a}, 2, axis=1)", None, a)
            self.lines += [f"p{len(self.lines)} = {parts}[0]"]
            self.lines += [f"p{len(self.lines)} = {parts}[1]"]
            n = len(self.lines)
            return self.emit(f"concat((p{n - 1}, p{n - 2}), axis=1)", dims)
        return None

    def text(self):
        def info(dims):
            return "R.Tensor((" + ", ".join(f'"{d}"' if isinstance(d, str) else str(d) for d in dims) + f',), "{self.dtype}")'
        params = ", ".join(f"{name}: {info(dims)}" for name, dims in self.inputs)
        body = "".join(f"            {line}\n" for line in self.lines)
        out = ", ".join(self.out)
        return ("from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n    @R.function\n"
                f"    def main({params}):\n        with R.dataflow():\n{body}            R.output({out})\n        return ({out},)\n")

    def arguments(self, k):
        random_numbers = np.random.RandomState(k)
        sizes = {name: values[k] for name, values in SIZES.items()}
        out = []
        for _, dims in self.inputs:
            shape = [sizes.get(d, d) for d in dims]
            value = random_numbers.standard_normal(shape)
            value = (value * 8).astype("int32") if self.dtype == "int32" else value.astype(self.dtype if self.dtype != "bfloat16" else "float32")
            out.append(to_library(value, self.dtype))
        return out


def check(seed):
    graph, bad, known = Graph(seed), 0, {}
    try:
        module = Module(graph.text())
        ways = [(f"level {level}", {"level": level}) for level in (0, 1, 2)]
        if seed % AS_C == 1:
            ways.append(("level 2 as C", {"level": 2, "target": "c", "compiler": os.environ.get("CC", "cc")}))
        for way, options in ways:
            executable = module.compile(**options)
            for k in range(3):
                got = [plain(g) for g in executable.call("main", graph.arguments(k))]
                wanted = known.setdefault(k, got)
                bad += not s.check(f"program {seed}, {way}, sizes {k}: the bits of level 0", len(got) == len(wanted) and all(map(same_bits, got, wanted)),
                                   lambda: f"{got}, {wanted}"[:600], quiet=bad > 2)
    except Failed as e:
        bad += not s.check(f"program {seed}", False, e)
    return not bad


def groups(seed):
    """TIR functions of several calls that fusion makes of a program, and functions that were left as they are."""
    text = Graph(seed).text()
    for name in ("legalize_ops", "annotate_tir_op_pattern", "fuse_ops", "fuse_tir"):
        text = Module(text).after(name)
    return np.array([text.count("def fused_"), text.count('"Primitive"')])


s.each("FUSION", seeds("FUSION", 4000 if LONG else 200), check, lambda seed: print(Graph(seed).text()))
made, left = sum(groups(seed) for seed in range(30))
s.check("groups are fused", made > 40 and left == 0, f"{made}, and {left} that are no TIR function")
s.done()
