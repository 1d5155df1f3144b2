#!/usr/bin/python3
"""Networks as TVM prints them, generated here: ResNet-50, MobileNet and a GPT-2 of two layers, narrow ones of full depth, against numpy."""
import itertools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
from relay_numbers import HEAD, Failed, Numbers, Relay, annotation

f32 = np.float32


class Network:
    """Writes the text and computes along with it."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)
        self.params, self.lines, self.count = [], [], 0

    def param(self, name, *shape, scale=1.0, shift=0.0, array=None):
        array = (self.rng.randn(*shape) * scale + shift).astype(f32) if array is None else array
        self.params.append((name, array))
        return f"%{name}", array

    def emit(self, call, value):
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {call};")
        return name, value

    def text(self, unknown_batch=False):
        def type_of(i, a):
            written = annotation(a, False)
            return written.replace(f"({a.shape[0]},", "(?,", 1) if unknown_batch and i == 0 else written

        params = ", ".join(f"%{n}: {type_of(i, a)}" for i, (n, a) in enumerate(self.params))
        last, _, value = self.lines[-1].strip().partition(" = ")
        return f"{HEAD}def @main({params}) {{\n" + "\n".join(self.lines[:-1]) + f"\n  {value[:-1]}\n}}\n"

    # layers
    def conv(self, x, name, channels, kernel, stride, groups=1):
        x, v = x
        pad = kernel // 2
        w, wv = self.param(f"{name}_weight", channels, v.shape[1] // groups, kernel, kernel, scale=(2 / (kernel * kernel * v.shape[1] / groups)) ** 0.5)
        return self.emit(f"nn.conv2d({x}, {w}, strides=[{stride}, {stride}], padding=[{pad}, {pad}, {pad}, {pad}], groups={groups}, channels={channels}, "
                         f"kernel_size=[{kernel}, {kernel}])", convolve(v, wv, stride, pad, groups))

    def norm(self, x, name):
        x, v = x
        c = v.shape[1]
        parts = [self.param(f"{name}_gamma", c, scale=0.1, shift=1), self.param(f"{name}_beta", c, scale=0.1), self.param(f"{name}_moving_mean", c, scale=0.1),
                 self.param(f"{name}_moving_var", c, array=(self.rng.rand(c) + 0.5).astype(f32))]
        g, b, m, s = (p[1][:, None, None] for p in parts)
        t = self.emit(f"nn.batch_norm({x}, {', '.join(p[0] for p in parts)}, epsilon=2e-05f)", None)
        return self.emit(f"{t[0]}.0", (v - m) / np.sqrt(s + f32(2e-5)) * g + b)

    def relu(self, x):
        return self.emit(f"nn.relu({x[0]})", np.maximum(x[1], 0))

    def head(self, x, classes):
        x = self.emit(f"nn.global_avg_pool2d({x[0]})", x[1].mean((2, 3), keepdims=True))
        x = self.emit(f"nn.batch_flatten({x[0]})", x[1].reshape(x[1].shape[0], -1))
        w, b = self.param("fc_weight", classes, x[1].shape[1], scale=0.1), self.param("fc_bias", classes)
        x = self.emit(f"nn.dense({x[0]}, {w[0]}, units={classes})", x[1] @ w[1].T)
        x = self.emit(f"nn.bias_add({x[0]}, {b[0]}, axis=-1)", x[1] + b[1])
        return self.softmax(x)

    def softmax(self, x):
        e = np.exp(x[1] - x[1].max(-1, keepdims=True))
        return self.emit(f"nn.softmax({x[0]})", e / e.sum(-1, keepdims=True))


def convolve(x, w, stride, pad, groups):
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    k, each, per = w.shape[2], w.shape[0] // groups, w.shape[1]
    h, v = ((n - k) // stride + 1 for n in x.shape[2:])
    out = np.zeros((x.shape[0], w.shape[0], h, v), f32)
    for i, j in itertools.product(range(k), repeat=2):
        part = x[:, :, i:i + (h - 1) * stride + 1:stride, j:j + (v - 1) * stride + 1:stride]
        if per == 1 and each == 1:
            out += part * w[:, 0, i, j][:, None, None]
            continue
        for g in range(groups):
            out[:, g * each:(g + 1) * each] += np.tensordot(w[g * each:(g + 1) * each, :, i, j], part[:, g * per:(g + 1) * per], (1, 1)).swapaxes(0, 1)
    return out


def resnet50(batch, size, width):
    net = Network(1)
    x = net.param("data", batch, 3, size, size)
    x = net.relu(net.norm(net.conv(x, "conv0", width, 7, 2), "bn0"))
    padded = np.pad(x[1], [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    n = (padded.shape[2] - 3) // 2 + 1
    pooled = np.max([padded[:, :, i:i + 2 * n - 1:2, j:j + 2 * n - 1:2] for i in range(3) for j in range(3)], 0)
    x = net.emit(f"nn.max_pool2d({x[0]}, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])", pooled)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        channels = width * 4 << stage
        for block in range(blocks):
            name, stride = f"stage{stage + 1}_unit{block + 1}", 2 if block == 0 and stage else 1
            y = net.relu(net.norm(net.conv(x, f"{name}_conv1", channels // 4, 1, 1), f"{name}_bn1"))
            y = net.relu(net.norm(net.conv(y, f"{name}_conv2", channels // 4, 3, stride), f"{name}_bn2"))
            y = net.norm(net.conv(y, f"{name}_conv3", channels, 1, 1), f"{name}_bn3")
            if block == 0:
                x = net.norm(net.conv(x, f"{name}_sc", channels, 1, stride), f"{name}_sc_bn")
            x = net.relu(net.emit(f"add({y[0]}, {x[0]})", y[1] + x[1]))
    return net, net.head(x, 100)[1]


def mobilenet(batch, size, alpha):
    net = Network(2)
    x = net.param("data", batch, 3, size, size)
    x = net.relu(net.norm(net.conv(x, "conv_block_1_conv", int(32 * alpha), 3, 2), "conv_block_1_bn"))
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    for k, (channels, stride) in enumerate(plan):
        name = f"separable_conv_block_{k + 1}"
        x = net.relu(net.norm(net.conv(x, f"{name}_depthwise_conv1", x[1].shape[1], 3, stride, x[1].shape[1]), f"{name}_bn1"))
        x = net.relu(net.norm(net.conv(x, f"{name}_conv2", int(channels * alpha), 1, 1), f"{name}_bn2"))
    return net, net.head(x, 50)[1]


def gpt2(layers, tokens, width, heads):
    """As imported: Conv1D as reshape, dense, reshape; the mask by where; gelu by tanh."""
    net = Network(3)
    ids = net.param("ids", array=net.rng.randint(0, 50, (1, tokens)).astype("int64"))
    table, places = net.param("wte", 50, width), net.param("wpe", tokens, width, scale=0.5)
    x = net.emit(f"take({ids[0]}, 0i64, axis=0)", ids[1][0])
    x = net.emit(f"take({table[0]}, {x[0]}, axis=0)", table[1][x[1]])
    x = net.emit(f"expand_dims({x[0]}, axis=0)", x[1][None])
    p = net.emit(f"expand_dims({places[0]}, axis=0)", places[1][None])
    x = net.emit(f"add({x[0]}, {p[0]})", x[1] + p[1])
    mask = net.param("mask", array=np.tril(np.ones((tokens, tokens), bool))[None, None])

    def normal(x, name):
        g, b = net.param(f"{name}_g", width, scale=0.1, shift=1), net.param(f"{name}_b", width, scale=0.1)
        m, s = x[1].mean(-1, keepdims=True), x[1].var(-1, keepdims=True)
        return net.emit(f"nn.layer_norm({x[0]}, {g[0]}, {b[0]}, axis=-1, epsilon=1e-05f)", (x[1] - m) / np.sqrt(s + 1e-5) * g[1] + b[1])

    def linear(x, name, out):
        w, b = net.param(f"{name}_w", out, x[1].shape[-1], scale=0.2), net.param(f"{name}_b", out, scale=0.1)
        n = x[1].shape[-1]
        y = net.emit(f"reshape({x[0]}, newshape=[-1, {n}])", x[1].reshape(-1, n))
        y = net.emit(f"nn.dense({y[0]}, {w[0]}, units={out})", y[1] @ w[1].T)
        y = net.emit(f"reshape({y[0]}, newshape=[1, -1, {out}])", y[1].reshape(1, -1, out))
        return net.emit(f"add({y[0]}, {b[0]})", y[1] + b[1])

    d = width // heads
    for k in range(layers):
        y = linear(normal(x, f"h{k}_ln1"), f"h{k}_attn", 3 * width)
        parts, pieces = net.emit(f"split({y[0]}, indices_or_sections=3, axis=2)", np.split(y[1], 3, 2))
        q, key, v = (net.emit(f"{parts}.{i}", pieces[i]) for i in range(3))
        split = []
        for one, order in ((q, (0, 2, 1, 3)), (key, (0, 2, 3, 1)), (v, (0, 2, 1, 3))):
            r = net.emit(f"reshape({one[0]}, newshape=[0, 0, {heads}, {d}])", one[1].reshape(1, tokens, heads, d))
            r = net.emit(f"transpose({r[0]}, axes=[{', '.join(map(str, order))}])", r[1].transpose(order))
            split.append(net.emit(f"reshape({r[0]}, newshape=[-3, -2])", r[1].reshape(heads, *r[1].shape[2:])))
        s = net.emit(f"nn.batch_matmul({split[0][0]}, {split[1][0]})", split[0][1] @ split[1][1])
        s = net.emit(f"reshape({s[0]}, newshape=[-4, 1, -1, -2])", s[1][None])
        s = net.emit(f"divide({s[0]}, {float(np.sqrt(d))}f)", s[1] / f32(np.sqrt(d)))
        s = net.emit(f"where({mask[0]}, {s[0]}, -10000f)", np.where(mask[1], s[1], f32(-10000)))
        s = net.softmax(s)
        s = net.emit(f"squeeze({s[0]}, axis=[0])", s[1][0])
        a = net.emit(f"nn.batch_matmul({s[0]}, {split[2][0]})", s[1] @ split[2][1])
        a = net.emit(f"reshape({a[0]}, newshape=[1, {heads}, {tokens}, {d}])", a[1][None])
        a = net.emit(f"transpose({a[0]}, axes=[0, 2, 1, 3])", a[1].transpose(0, 2, 1, 3))
        a = net.emit(f"reshape({a[0]}, newshape=[0, 0, -3])", a[1].reshape(1, tokens, width))
        x = net.emit(f"add({x[0]}, {(b := linear(a, f'h{k}_proj', width))[0]})", x[1] + b[1])
        y = linear(normal(x, f"h{k}_ln2"), f"h{k}_fc", 4 * width)
        c = net.emit(f"power({y[0]}, 3f)", y[1] ** 3)
        c = net.emit(f"multiply({c[0]}, 0.044715f)", c[1] * f32(0.044715))
        c = net.emit(f"add({y[0]}, {c[0]})", y[1] + c[1])
        c = net.emit(f"multiply({c[0]}, 0.7978846f)", c[1] * f32(0.7978846))
        c = net.emit(f"tanh({c[0]})", np.tanh(c[1]))
        c = net.emit(f"add({c[0]}, 1f)", c[1] + 1)
        c = net.emit(f"multiply({y[0]}, {c[0]})", y[1] * c[1])
        c = net.emit(f"multiply({c[0]}, 0.5f)", c[1] * f32(0.5))
        x = net.emit(f"add({x[0]}, {(b := linear(c, f'h{k}_mlp', width))[0]})", x[1] + b[1])
    x = normal(x, "ln_f")
    y = net.emit(f"reshape({x[0]}, newshape=[-1, {width}])", x[1].reshape(-1, width))
    return net, net.emit(f"nn.dense({y[0]}, {table[0]}, units=50)", y[1] @ table[1].T)[1]


t = Numbers(1)


def run(what, network, tol, unknown=(False,)):
    net, want = network
    for q in unknown:
        try:
            found = Relay(net.text(q)).compile(2).call("main", [a for _, a in net.params])
            worst = float(np.abs(found[0] - want).max() / np.abs(want).max())
            t.said(len(found) == 1 and found[0].shape == want.shape and found[0].dtype == want.dtype and worst < tol, f"{what}: off by {worst}, {found[0].shape}")
        except Failed as e:
            t.said(False, f"{what}{' with ?' if q else ''}: {e}")


run("ResNet-50", resnet50(2, 64, 16), 1e-4, (False, True))
run("MobileNet", mobilenet(2, 64, 0.25), 1e-4, (False, True))
run("GPT-2", gpt2(2, 12, 48, 4), 1e-4)
t.finish()
