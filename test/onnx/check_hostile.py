#!/usr/bin/env python3
"""Files that lie, and files that are damaged: an error within a second, never a crash, whatever the bytes are.

FUZZ_SEED=n begins with that seed.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import random

import numpy as np

from cli_test import LONG, Suite
from onnx_file import attribute, field, function, graph, model, node, tensor, value, varint

s = Suite()
RELEASE = os.environ.get("RELAX_VARIANT", "release") == "release"
x = [value("x", "float32", [2, 3])]
y = [value("y", "float32", None)]


def check(what, content, code=None, words=""):
    begin = time.monotonic()
    rc, out, err = s.run("check", s.write("h.onnx", content))
    took = time.monotonic() - begin
    ok = rc == 1 and "error[" in err and (code is None or f"error[{code}]" in err) and words in err
    s.check(what, ok, f"exit {rc}, wanted {code} with {words!r}: {err[:400]!r}")
    s.check(f"{what}: in time", took < (1 if RELEASE else 20), f"took {took:.2f} s")


def big_tensor(dims, kind=1, raw=b""):
    return b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, "w") + field(9, raw)


def with_tensor(t):
    return model([node("Add", ["x", "w"], ["y"])], x, y, [t])


# ---- the wire
good = model([node("Relu", ["x"], ["y"])], x, y)
check("empty", b"", "ON01", "empty")
check("no graph", field(1, 8), "ON01", "no graph")
check("text", b"<ir_version: 8>", "ON01")
check("JSON", b'{"irVersion": 8}', "ON01", "another format")
check("ORT", b"\x20\0\0\0ORTM" + bytes(64), "ON01", "another format")
for what, begin, words in (("Git LFS", b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"), ("gzip", b"\x1f\x8b\x08", "unpack it"), ("a ZIP archive", b"PK\3\4", "export"),
                           ("a page", b"<!DOCTYPE html>", "page"), ("TensorFlow Lite", b"\x1c\0\0\0TFL3", "TensorFlow Lite"), ("HDF5", b"\x89HDF\r\n\x1a\n", "HDF5")):
    check(what, begin + bytes(64), "ON01", words)
check("a length beyond the file", varint(7 << 3 | 2) + varint(1 << 31) + b"abc", "ON01", "beyond the end")
check("a length of 2^63", varint(7 << 3 | 2) + varint(1 << 63) + b"abc", "ON01", "beyond the end")
check("a number of eleven bytes", b"\x08" + b"\xff" * 11, "ON01", "number")
check("a number of 65 bits", b"\x08" + b"\xff" * 9 + b"\x02", "ON01", "64 bits")
check("field 0", b"\x00\x01", "ON01", "no such field")
check("a group", b"\x0b\x0c", "ON01", "group")
check("wire type 7", b"\x0f", "ON01", "wire type")
check("another wire type", field(7, 5), "ON01", "another wire type")
check("half a number in a list", field(7, field(5, field(1, b"\x80"))), "ON01", "amid a number")
deep = b""
for _ in range(400):
    deep = field(5, field(6, field(1, deep)))   # attribute of a node, its graph, a node
check("graphs in graphs", field(7, field(1, deep)), "ON02", "too deep")
deep = field(1, 1)
for _ in range(100):
    deep = field(4, field(1, deep))
check("types in types", field(7, field(11, field(1, "x") + field(2, deep))), "ON02", "too deep")
check("a million empty nodes and more", field(7, field(1, b"") * 1050000), "ON02")
for cut in range(1, len(good), 7):
    rc, out, err = s.run("check", s.write("h.onnx", good[:cut]))
    s.check(f"{cut} bytes", rc in (0, 1) and (rc == 0 or "error[" in err), f"exit {rc}: {err[:300]}")

# ---- sizes
check("dimensions without end", with_tensor(big_tensor([1 << 40, 1 << 40])), "ON02", "can be counted")
check("dimensions without data", with_tensor(big_tensor([1 << 20, 1 << 11])), "ON01", "is not that of its dimensions")
check("a negative dimension", with_tensor(big_tensor([-1])), "ON01", "negative")
check("0 among dimensions without end", with_tensor(big_tensor([1 << 62, 0, 1 << 62], raw=b"1234")), "ON01")
check("65 dimensions", with_tensor(big_tensor([1] * 65, raw=b"1234")), "ON02", "64")
check("dtype 0", with_tensor(big_tensor([1], kind=0, raw=b"1234")), "ON06")
check("dtype 1000", with_tensor(big_tensor([1], kind=1000, raw=b"1234")), "ON06")
huge = model([node("ConstantOfShape", ["n"], ["c"]), node("Add", ["c", "x"], ["y"])], x, y, {"n": np.array([1 << 40, 1 << 40])})
rc, out, err = s.run("check", s.write("h.onnx", huge))
s.check("a constant of 2^80 elements", rc in (0, 1), f"exit {rc}")
laugh = [function("f0", ["a"], ["b"], [node("Exp", ["a"], ["b"])])]
for i in range(1, 40):
    f = function(f"f{i}", ["a"], ["c"], [node(f"f{i - 1}", ["a"], ["b"], domain="local"), node(f"f{i - 1}", ["b"], ["c"], domain="local")])
    laugh.append(f + field(9, field(1, "local") + field(2, 1)))
check("functions that call the one before twice", model([node("f39", ["x"], ["y"], domain="local")], x, y, functions=laugh, domains=["local"]))

doubled = [node("Shape", ["x"], ["s0"])] + [node("Concat", [f"s{i}", f"s{i}"], [f"s{i + 1}"], axis=0) for i in range(40)]
check("sizes that double at each node", model(doubled + [node("Reshape", ["x", "s40"], ["y"])], x, y), "ON07", "has to be known")

# ---- names, attributes
many = [value("/" * (1 + i % 500) + "\u00e9" * (i // 500), "float32", [2]) for i in range(20000)]
path = s.write("h.onnx", model([node("Relu", ["x"], ["y"])], x + many, y))
begin = time.monotonic()
rc, out, err = s.run("check", path)
s.check("inputs whose names become the same", rc == 0, err[:300])
s.check("inputs whose names become the same: in time", time.monotonic() - begin < (1 if RELEASE else 20), f"took {time.monotonic() - begin:.2f} s")
check("two inputs with one name", model([node("Relu", ["x"], ["y"])], x + x, y), "ON10", "another input")
check("cyclic functions", model([node("f", ["x"], ["y"], domain="local")], x, y, domains=["local"], functions=[
    function(a, ["a"], ["b"], [node(b, ["a"], ["b"], domain="local")]) + field(9, field(1, "local") + field(2, 1)) for a, b in (("f", "g"), ("g", "f"))]), "ON10", "calls itself")
check("a cycle of nodes", model([node("Relu", ["b"], ["a"]), node("Relu", ["a"], ["b"]), node("Add", ["a", "x"], ["y"])], x, y), "ON10", "nothing before it")
check("two nodes define one name", model([node("Relu", ["x"], ["y"]), node("Exp", ["x"], ["y"])], x, y), "ON10", "two nodes")
check("operator set -1", model([node("Relu", ["x"], ["y"])], x, y, opset=-1), "ON04")
check("invalid UTF-8", model([node("Relu", [b"\xff\xfe"], ["y"])], x, y), "ON10")
check("NUL in a name", model([node("Rel\0u", ["x"], ["y"])], x, y), "ON03")
check("a long name", model([node("A" * 100000, ["x"], ["y"])], x, y), "ON03")
check("no operands", model([node("Add", [], ["y"])], x, y), "ON10", "missing")
check("an attribute of another type", model([node("Softmax", ["x"], ["y"], axis="1")], x, y), "ON05", "another type")
check("perm is none", model([node("Transpose", ["x"], ["y"], perm=[0, 0])], x, y))
check("perm is short", model([node("Transpose", ["x"], ["y"], perm=[0])], x, y), "ON05")
for name, v in (("strides", [0]), ("dilations", [0]), ("kernel_shape", [0]), ("pads", [-1, 0]), ("group", 0), ("pads", [1])):
    check(f"Conv with {name} {v}", model([node("Conv", ["x", "w"], ["y"], **{name: v})], [value("x", "float32", [1, 2, 8])], y,
                                         {"w": np.ones((2, 2, 3), "float32")}))
check("a block size of 0", model([node("DepthToSpace", ["x"], ["y"], blocksize=0)], [value("x", "float32", [1, 4, 2, 2])], y), "ON05")
check("a scale of 0", model([node("Resize", ["x", "", "s"], ["y"])], x, y, {"s": np.zeros(2, "float32")}), "ON05")
check("a step of 0", model([node("Slice", ["x", "z", "z", "z", "z"], ["y"])], x, y, {"z": np.array([0])}), "ON05")
check("Cast to nothing", model([node("Cast", ["x"], ["y"], to=99)], x, y), "ON06")
check("If without a branch", model([node("If", ["c"], ["y"], then_branch=graph([]))], [value("c", "bool", [])], y), "ON10")
check("Loop without a body", model([node("Loop", ["", "", "x"], ["y"])], x, y), "ON10")
once = graph([node("Relu", ["a"], ["r"])], [value("a", "float32", [3])], [value("r", "float32", [3])])
for n in (-1, 0, 3, 1 << 62):
    for version in (8, 16):
        check(f"Scan {version} of {n} operands", model([node("Scan", ["", "x"], ["y"], body=once, num_scan_inputs=n)], [value("x", "float32", [1, 2, 3])], y, opset=version), "ON10")
check("LRN over 2^62 of n channels", model([node("LRN", ["x"], ["y"], size=1 << 62)], [value("x", "float32", [1, "n", 2])], y), "ON05", "too large")
for op in ("Reshape", "Expand", "Tile", "Gather", "Pad", "Split", "TopK", "OneHot", "LSTM", "Attention", "GridSample", "Scan", "Einsum", "Unsqueeze"):
    check(f"{op} without operands", model([node(op, [], ["y"])], x, y, opset=23))
    check(f"{op} of one operand again and again", model([node(op, ["x"] * 8, ["y"])], x, y, opset=23))

# ---- random damage
rng = random.Random(int(os.environ.get("FUZZ_SEED", 0)))
seeds = [good, huge, model([node("Conv", ["x", "w"], ["c"], pads=[1, 1], group=1), node("Reshape", ["c", "s"], ["y"])],
                           [value("x", "float32", ["n", 2, 8])], y, {"w": np.ones((2, 2, 3), "float32"), "s": np.array([0, -1])}),
         model([node("f1", ["x"], ["y"], domain="local")], x, y, functions=laugh[:2], domains=["local"])]
for i in range((3000 if LONG else 150) if RELEASE else 60):
    content = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(content))
        how = rng.randrange(3)
        if how == 0:
            content[at] = rng.randrange(256)
        elif how == 1:
            del content[at:at + rng.randint(1, 4)]
        else:
            content[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
    rc, out, err = s.run("check", s.write("h.onnx", bytes(content)))
    s.check(f"damage {i}", rc in (0, 1) and (rc == 0 or "error[" in err), f"exit {rc}: {err[:300]}")
s.done()
