"""ONNX files written and read without the onnx package: only what tests need.

    model([node("Relu", ["x"], ["y"])], inputs=[value("x", "float32", [2, "n"])], outputs=[value("y", "float32", [2, "n"])])
"""
import struct

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float16": 10,
         "float64": 11, "uint32": 12, "uint64": 13}
NAMES = {number: name for name, number in TYPES.items()}


# ---- writing ------------------------------------------------------------------------------------

def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(v & 0x7f | (0x80 if v > 0x7f else 0))
        v >>= 7
        if not v:
            return bytes(out)


def field(number, content):
    """An integer as a varint, a float as four bytes, text and bytes with their length."""
    if isinstance(content, float):
        return varint(number << 3 | 5) + struct.pack("<f", content)
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def fields(number, contents):
    return b"".join(field(number, c) for c in contents)


def packed(number, ints):
    return field(number, b"".join(varint(i) for i in ints))


def tensor(name, array, typed=False):
    array = np.asarray(array)
    out = fields(1, [int(d) for d in array.shape]) + field(2, TYPES[array.dtype.name]) + field(8, name)
    if not typed:
        return out + field(9, array.tobytes())
    if array.dtype == np.float32:
        return out + field(4, array.tobytes())
    return out + packed(7 if array.dtype == np.int64 else 5, [int(v) for v in array.ravel()])


def external(name, array, entries):
    array = np.asarray(array)
    out = fields(1, [int(d) for d in array.shape]) + field(2, TYPES[array.dtype.name]) + field(8, name) + field(14, 1)
    return out + fields(13, [field(1, k) + field(2, v) for k, v in entries.items()])


def attribute(name, v):
    out = field(1, name)
    if isinstance(v, Graph):
        return out + field(6, v) + field(20, 5)
    if isinstance(v, Tensor):
        return out + field(5, v) + field(20, 4)
    if isinstance(v, float):
        return out + field(2, v) + field(20, 1)
    if isinstance(v, int):
        return out + field(3, v) + field(20, 2)
    if isinstance(v, str):
        return out + field(4, v) + field(20, 3)
    if v and isinstance(v[0], float):
        return out + fields(7, v) + field(20, 6)
    if v and isinstance(v[0], str):
        return out + fields(9, v) + field(20, 8)
    return out + packed(8, v) + field(20, 7)


class Graph(bytes):
    pass


class Tensor(bytes):
    pass


def node(op, inputs, outputs, name="", domain="", **attributes):
    return (fields(1, inputs) + fields(2, outputs) + field(3, name) + field(4, op) + field(7, domain) +
            fields(5, [attribute(k, v) for k, v in attributes.items()]))


def value(name, dtype, shape=None):
    dims = b"" if shape is None else field(2, fields(1, [field(2, d) if isinstance(d, str) else field(1, d) if d is not None else b""
                                                         for d in shape]))
    return field(1, name) + field(2, field(1, field(1, TYPES[dtype]) + dims))


def graph(nodes, inputs=(), outputs=(), constants=(), name="g", infos=()):
    """constants: {name: array}, or tensors that are written already"""
    tensors = [tensor(k, v) for k, v in constants.items()] if isinstance(constants, dict) else constants
    return Graph(fields(1, nodes) + field(2, name) + fields(5, tensors) + fields(11, inputs) + fields(12, outputs) + fields(13, infos))


def function(name, inputs, outputs, nodes, domain="local", opset=17, attributes=()):
    return (field(1, name) + fields(4, inputs) + fields(5, outputs) + fields(6, attributes) + fields(7, nodes) +
            field(9, field(1, "") + field(2, opset)) + field(10, domain))


def model(nodes, inputs=(), outputs=(), constants=(), opset=17, functions=(), domains=(), ir=8):
    content = field(1, ir) + field(7, graph(nodes, inputs, outputs, constants)) + field(8, field(1, "") + field(2, opset))
    content += fields(8, [field(1, d) + field(2, 1) for d in domains])
    return content + fields(25, functions)


# ---- reading: tensors of test data --------------------------------------------------------------

def items(content):
    """[(field number, wire type, value)] of a message"""
    at, out = 0, []

    def number():
        nonlocal at
        v = shift = 0
        while True:
            b = content[at]
            at += 1
            v |= (b & 0x7f) << shift
            shift += 7
            if b < 0x80:
                return v

    while at < len(content):
        tag = number()
        if tag & 7 == 0:
            v = number()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or number()
            v = content[at:at + size]
            at += size
        out.append((tag >> 3, tag & 7, v))
    return out


def ints(parts, number):
    out = []
    for n, wire, v in parts:
        if n == number and wire == 0:
            out.append(v)
        elif n == number:
            out += [i for _, _, i in items(b"".join(b"\x08" + p for p in split_varints(v)))]
    return [i - (1 << 64) if i >> 63 else i for i in out]


def split_varints(content):
    out, start = [], 0
    for i, b in enumerate(content):
        if b < 0x80:
            out.append(content[start:i + 1])
            start = i + 1
    return out


def read_tensor(path):
    """The array of a TensorProto; None: of another dtype, or no tensor"""
    with open(path, "rb") as f:
        parts = items(f.read())
    kind = dict((n, v) for n, w, v in parts if w == 0).get(2)
    dtype = NAMES.get(kind)
    if dtype is None or dtype == "string":
        return None
    shape = ints(parts, 1)
    raw = [v for n, w, v in parts if n == 9]
    if raw:
        return np.frombuffer(raw[0], dtype).reshape(shape)
    fixed = {"float32": (4, "<f4"), "float64": (10, "<f8")}.get(dtype)
    if fixed:
        return np.frombuffer(b"".join(v for n, w, v in parts if n == fixed[0]), fixed[1]).reshape(shape)
    values = ints(parts, {"int64": 7, "uint64": 11, "uint32": 11}.get(dtype, 5))
    if dtype == "float16":
        return np.array(values, "uint16").view("float16").reshape(shape)
    return np.array(values, dtype).reshape(shape)
