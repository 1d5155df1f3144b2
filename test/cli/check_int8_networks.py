#!/usr/bin/env python3
"""Networks of bytes in the forms that exporters write (dequantised operands, QLinearMatMul and QLinearConv, ranges found at run time, MatMulInteger, ConvInteger) against
numpy, to the last bit; the same at all levels, with all instruction sets, on one thread and on two.

INT8_SEED=n takes that network alone and prints it; INT8_COUNT=k as many from there on.
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "ffi"), os.path.join(HERE, "..", "onnx")]
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from cli_test import LONG, Suite, seeds
from onnx_file import model, node, value
from relax_run import instruction_sets

s = Suite()
SETS = instruction_sets()
F = np.float32


def limited(y, zero):
    """Rounded half to even, shifted by the zero point, limited; y: float32."""
    ends = np.iinfo(zero.dtype)
    return np.clip(np.rint(y) + F(zero), ends.min, ends.max).astype(zero.dtype)


def words(sums):
    return sums.astype(np.int64).astype(np.uint32).view(np.int32)


class Network:
    """Up to three layers of one form, rows of bytes or floats."""

    def __init__(self, seed):
        self.pick, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.weights, self.count = [], {}, 0
        pick = self.pick
        self.form = pick.choice(["dequantised", "dequantised", "convolved", "windows", "windows", "qlinear", "dynamic", "integer"])
        self.batch = pick.choice([1, 1, 2, 3, 8, 17, 33, 40, 64, 70])
        pictures = self.form in ("convolved", "windows")
        self.open = self.form != "convolved" and pick.random() < 0.25      # the number of rows is not known
        self.kind = np.dtype(pick.choice(["uint8", "uint8", "int8"]))
        widths = [pick.choice([1, 3, 4, 10, 32, 48, 64, 96, 130, 256, pick.randint(1, 300)]) for _ in range(pick.choice([2, 3, 3, 4]))]
        floats = self.form in ("dequantised", "convolved", "dynamic")
        shape = (pick.randint(1, 2), pick.choice([1, 3, 4, 8, 16, 33, 64]), pick.randint(3, 15), pick.randint(3, 30)) if pictures else (self.batch, widths[0])
        self.x = self.rng.standard_normal(shape).astype(F) if floats else self.bytes_of(self.kind, *shape)
        self.last, self.value = "x", self.x
        layers = widths[1:2] if self.form == "integer" else widths[1:]
        for i, width in enumerate(layers[:2] if pictures else layers):
            getattr(self, self.form)(width, i + 2 == len(widths))

    def bytes_of(self, kind, *shape):
        ends = np.iinfo(kind)
        return self.rng.integers(ends.min, ends.max + 1, shape).astype(kind)

    def weight(self, values):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(values)
        return name

    def emit(self, op, inputs, result, **attributes):
        self.count += 1
        self.last, self.value = f"v{self.count}", result
        self.nodes.append(node(op, inputs, [self.last], **attributes))
        return self.last

    def scale(self, *shape, size=0.02):
        return (F(size) * (F(0.5) + self.rng.random(shape).astype(F))).astype(F)

    def zero(self, kind, *shape):
        return self.bytes_of(kind, *shape) if self.pick.random() < 0.6 else np.zeros(shape, kind)

    def quantised(self, kind, size):
        """The last value in bytes; their scale and zero point."""
        scale, zero = self.scale(size=size), self.zero(kind)
        self.emit("QuantizeLinear", [self.last, self.weight(scale), self.weight(zero)], limited(self.value / scale, zero))
        return scale, zero

    def dequantised_weight(self, w, axis):
        """Its name, its values less the zero point, its scale."""
        each = self.pick.random() < 0.5
        sizes = (w.shape[axis],) if each else ()
        scale, zero = self.scale(*sizes, size=0.004), self.zero(w.dtype, *sizes) if self.pick.random() < 0.3 else np.zeros(sizes, w.dtype)
        name = f"d{len(self.weights)}"
        self.nodes.append(node("DequantizeLinear", [self.weight(w), self.weight(scale), self.weight(zero)], [name], **({"axis": axis} if each else {})))
        spread = [-1 if i == axis else 1 for i in range(w.ndim)]
        return name, w.astype(np.int64) - (zero.reshape(spread) if each else zero).astype(np.int64), scale

    def operand(self):
        """The last value in bytes and back: those less the zero point, and the scale."""
        scale, zero = self.quantised(self.kind, 0.03)
        whole = self.value.astype(np.int64) - int(zero)
        self.emit("DequantizeLinear", [self.last, self.weight(scale), self.weight(zero)], None)
        return whole, scale

    def behind(self, y, last):
        """Bounds, and for the last layer bytes."""
        if self.pick.random() < 0.6:
            y = np.maximum(y, F(0))
            self.emit("Relu", [self.last], y)
        self.value = y
        if last and self.pick.random() < 0.7:
            self.quantised(self.kind, 0.05)

    def dequantised(self, width, last):
        a, sa = self.operand()
        name, turned, behind = self.last, self.pick.random() < 0.4, self.pick.random() < 0.2     # behind: transposed once it is floats
        w = self.bytes_of(self.pick.choice(["int8", "int8", "uint8"]), a.shape[1], width)
        lies = turned != behind
        of_w, b, sw = self.dequantised_weight(np.ascontiguousarray(w.T) if lies else w, 0 if lies else 1)
        if behind:
            self.nodes.append(node("Transpose", [of_w], [of_w + "_t"], **({"perm": [1, 0]} if self.pick.random() < 0.5 else {})))
            of_w, b = of_w + "_t", b.T
        y = words(a @ (b.T if turned else b)).astype(F) * (sa * sw)
        bias = self.rng.standard_normal(width).astype(F)
        if turned:
            y = y + bias
            self.emit("Gemm", [name, of_w, self.weight(bias)], y, transB=1)
        else:
            self.emit("MatMul", [name, of_w], y)
            if self.pick.random() < 0.7:
                y = y + bias
                self.emit("Add", [self.last, self.weight(bias)], y)
        self.behind(y, last)

    def convolved(self, width, last):
        a, sa = self.operand()
        name, channels, width = self.last, a.shape[1], self.pick.choice([1, 4, 8, 24, 32, 40])
        k, stride, pad = self.pick.choice([1, 3, 3]), self.pick.choice([1, 1, 2]), self.pick.choice([0, 1])
        k = k if min(a.shape[2:]) + 2 * pad >= k else 1
        w = self.bytes_of("int8", width, channels, k, k)
        of_w, b, sw = self.dequantised_weight(w, 0)
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(a, [(0, 0)] * 2 + [(pad, pad)] * 2), (k, k), (2, 3))[:, :, ::stride, ::stride]
        y = words(np.einsum("nchwkl,ockl->nohw", windows, b, optimize=True)).astype(F) * (sa * sw.reshape(-1, 1, 1) if sw.ndim else sa * sw)
        inputs = [name, of_w]
        if self.pick.random() < 0.7:
            bias = self.rng.standard_normal(width).astype(F)
            y = y + bias.reshape(-1, 1, 1)
            inputs.append(self.weight(bias))
        self.emit("Conv", inputs, y, pads=[pad] * 4, strides=[stride] * 2)
        self.behind(y, last)

    def windows(self, width, last):
        """QLinearConv, or in the last layer ConvInteger: strides, dilations, zero points around the picture, groups; behind it, sometimes, a residual."""
        pick, channels = self.pick, self.value.shape[1]
        whole = last and pick.random() < 0.25
        group = pick.choice([g for g in (1, 1, 1, 2, 4, channels) if channels % g == 0])
        width = group * pick.choice([1, 2]) if group == channels else group * max(1, pick.choice([4, 24, 32, 64, 100, 140]) // group)
        room = min(self.value.shape[2:])
        k, stride, dilation, pad = pick.choice([1, 1, 3, 3, 5]), pick.choice([1, 1, 2, 3]), pick.choice([1, 1, 1, 2]), pick.choice([0, 1, 2])
        k = k if room + 2 * pad > (k - 1) * dilation else 1
        reach = (k - 1) * dilation + 1
        w = self.bytes_of(pick.choice(["int8", "int8", "uint8"]), width, channels // group, k, k)
        sizes = (width,) if pick.random() < 0.5 and not whole else ()
        za, zy = self.zero(self.value.dtype), self.zero(self.kind)
        zw = self.zero(w.dtype, *sizes) if group == 1 and pick.random() < 0.3 else np.zeros(sizes, w.dtype)
        sa, sw, sy = self.scale(), self.scale(*sizes, size=0.002), self.scale()
        a = np.pad(self.value.astype(np.int64) - int(za), [(0, 0)] * 2 + [(pad, pad)] * 2)
        b = w.astype(np.int64) - zw.astype(np.int64).reshape((-1, 1, 1, 1) if sizes else ())
        views = np.lib.stride_tricks.sliding_window_view(a, (reach, reach), (2, 3))[:, :, ::stride, ::stride, ::dilation, ::dilation]
        parts = [np.einsum("nchwkl,ockl->nohw", v, p, optimize=True) for v, p in zip(np.split(views, group, 1), np.split(b, group))]
        sums, how = np.concatenate(parts, 1), dict(pads=[pad] * 4, strides=[stride] * 2, dilations=[dilation] * 2, group=group)
        if whole:
            self.emit("ConvInteger", [self.last] + [self.weight(v) for v in (w, za, zw)], words(sums), **how)
            return
        given = [self.last] + [self.weight(v) for v in (sa, za, w, sw, zw, sy, zy)]
        if pick.random() < 0.6:
            bias = self.rng.integers(-9999, 9999, width).astype(np.int32)
            sums = sums + bias.reshape(-1, 1, 1)
            given.append(self.weight(bias))
        factor = sa * sw / sy
        self.emit("QLinearConv", given, limited(words(sums).astype(F) * (factor.reshape(-1, 1, 1) if sizes else factor), zy), **how)
        if last and pick.random() < 0.4:
            scale, zero, other = self.scale(), self.zero(self.kind), self.bytes_of(self.kind, *self.value.shape[1:])
            name = self.emit("DequantizeLinear", [self.last, self.weight(scale), self.weight(zero)], (self.value.astype(F) - F(zero)) * scale)
            self.nodes.append(node("DequantizeLinear", [self.weight(other), self.weight(scale), self.weight(zero)], [f"o{self.count}"]))
            y = np.maximum(self.value + (other.astype(F) - F(zero)) * scale, F(0))
            self.emit("Add", [name, f"o{self.count}"], None)
            self.emit("Relu", [self.last], y)
            self.quantised(self.kind, 0.03)

    def qlinear(self, width, last):
        w = self.bytes_of(self.pick.choice(["int8", "int8", "uint8"]), self.value.shape[1], width)
        sizes = (width,) if self.pick.random() < 0.5 else ()
        za, zw, zy = self.zero(self.kind), self.zero(w.dtype, *sizes) if self.pick.random() < 0.5 else np.zeros(sizes, w.dtype), self.zero(self.kind)
        sa, sw, sy = self.scale(), self.scale(*sizes, size=0.002), self.scale()
        sums = words((self.value.astype(np.int64) - int(za)) @ (w.astype(np.int64) - zw.astype(np.int64)))
        given = [self.last] + [self.weight(v) for v in (sa, za, w, sw, zw, sy, zy)]
        self.emit("QLinearMatMul", given, limited(sums.astype(F) * (sa * sw / sy), zy))

    def dynamic(self, width, last):
        low, high = np.minimum(np.min(self.value), F(0)), np.maximum(np.max(self.value), F(0))
        sa = (high - low) / F(255)
        step = sa if sa else F(1)
        za = np.rint(np.clip(-low / step, F(0), F(255)))
        q = np.clip(np.rint(self.value / step) + za, 0, 255).astype(np.int64)
        names = [f"{n}{self.count}" for n in ("q", "s", "z")]
        self.nodes.append(node("DynamicQuantizeLinear", [self.last], names))
        w = self.bytes_of(self.pick.choice(["int8", "int8", "uint8"]), self.value.shape[1], width)
        sizes = (width,) if self.pick.random() < 0.5 else ()
        zw = self.zero(w.dtype, *sizes) if self.pick.random() < 0.5 else np.zeros(sizes, w.dtype)
        sw, bias = self.scale(*sizes, size=0.004), self.rng.standard_normal(width).astype(F)
        sums = words((q - int(za)) @ (w.astype(np.int64) - zw.astype(np.int64)))
        self.emit("MatMulInteger", [names[0], self.weight(w), names[2], self.weight(zw)], sums)
        whole = self.emit("Cast", [self.last], None, to=1)
        factor = self.emit("Mul", [names[1], self.weight(sw)], None)
        y = sums.astype(F) * (sa * sw) + bias
        self.emit("Add", [self.emit("Mul", [whole, factor], None), self.weight(bias)], y)
        if not last:
            self.emit("Relu", [self.last], np.maximum(y, F(0)))

    def integer(self, width, last):
        w = self.bytes_of(self.pick.choice(["int8", "uint8"]), self.value.shape[1], width)
        za, zw = self.zero(self.kind), self.zero(w.dtype)
        given = [self.last, self.weight(w)] + ([self.weight(za), self.weight(zw)] if self.pick.random() < 0.6 else [])
        if len(given) == 2:
            za, zw = 0, 0
        self.emit("MatMulInteger", given, words((self.value.astype(np.int64) - int(za)) @ (w.astype(np.int64) - int(zw))))

    def file(self):
        sizes = ["n" if self.open else self.x.shape[0], *self.x.shape[1:]]
        return model(self.nodes, [value("x", self.x.dtype.name, sizes)], [value(self.last, self.value.dtype.name, None)], self.weights)

    def text(self):
        rows = "n" if self.open else self.x.shape[0]
        return f"{self.form}, x: {self.x.dtype} ({rows}, {self.x.shape[1:]}), weights: {[(k, v.dtype.name, v.shape) for k, v in self.weights.items()]}"


def result(level, *how):
    rc, out, err = s.run("build", s.path("m.onnx"), "-o", s.path("m.rlx"), "--opt", str(level))
    if not rc:
        rc, out, err = s.run("run", s.path("m.rlx"), "--input", f"x={s.path('x.npy')}", "--output", s.path("out"), *how)
    return err or out if rc else np.load(os.path.join(s.path("out"), "0.npy"))


def check(seed):
    net = Network(seed)
    s.write("m.onnx", net.file())
    np.save(s.path("x.npy"), net.x)
    ways = [("level 0", 0, ()), ("level 1", 1, ()), ("level 2", 2, ("--threads", "1")), ("two threads", 2, ("--threads", "2"))]
    for way, level, how in ways + [(name, 2, ("--threads", "1", "--instruction-set", name)) for name in SETS]:
        got, what = result(level, *how), f"network {seed}, {way}"
        if not s.check(f"{what}: runs", isinstance(got, np.ndarray), lambda: f"{str(got)[:400]}\n{net.text()}"):
            return True
        same = got.dtype == net.value.dtype and got.shape == net.value.shape and got.tobytes() == np.ascontiguousarray(net.value).tobytes()
        s.check(f"{what}: as numpy", same, lambda: f"{np.sum(got != net.value) if got.shape == net.value.shape else got.shape} are others\n{net.text()}")
    return True


if __name__ == "__main__":
    numbers = seeds("INT8", 1500 if LONG else 30)
    s.each("INT8", numbers, check, (lambda seed: print(Network(seed).text())) if len(numbers) == 1 else None)
    s.done()
