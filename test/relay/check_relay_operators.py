#!/usr/bin/python3
"""Every operator of Relay's table against numpy: with known extents and with `?`, with several attributes, at levels 0 and 2."""
import itertools
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
from relay_numbers import Numbers, operators

t = Numbers(7)
check, floats, ints = t.check, t.floats, t.ints
f32 = np.float32

# ---- elementwise
x = floats(2, 3)
p = np.abs(x) + f32(0.25)
u = (x / 5).astype(f32)
erf = np.vectorize(math.erf)
FUNCTIONS = [
    ("log", p, np.log), ("log2", p, np.log2), ("log10", p, np.log10), ("exp", x, np.exp), ("sqrt", p, np.sqrt), ("rsqrt", p, lambda v: 1 / np.sqrt(v)),
    ("sigmoid", x, lambda v: 1 / (1 + np.exp(-v))), ("tanh", x, np.tanh), ("erf", x, erf), ("sin", x, np.sin), ("cos", x, np.cos), ("tan", u, np.tan),
    ("asin", u, np.arcsin), ("acos", u, np.arccos), ("atan", x, np.arctan), ("sinh", x, np.sinh), ("cosh", x, np.cosh), ("asinh", x, np.arcsinh),
    ("acosh", p + 1, np.arccosh), ("atanh", u, np.arctanh), ("fast_exp", x, np.exp), ("fast_tanh", x, np.tanh), ("fast_erf", x, erf)]
for name, a, f in FUNCTIONS:
    check(f"{name}(%x0)", [a], f(a.astype("float64")).astype(f32), tol=1e-6)
for name, f in [("floor", np.floor), ("ceil", np.ceil), ("round", np.round), ("trunc", np.trunc), ("sign", np.sign), ("abs", np.abs), ("negative", np.negative),
                ("copy", lambda v: v), ("zeros_like", np.zeros_like), ("ones_like", np.ones_like), ("nn.relu", lambda v: np.maximum(v, 0))]:
    check(f"{name}(%x0)", [x], f(x).astype(f32))
special = np.array([1, np.nan, np.inf, -np.inf], f32)
for name, f in [("isnan", np.isnan), ("isfinite", np.isfinite), ("isinf", np.isinf)]:
    check(f"{name}(%x0)", [special], f(special))
b = t.rng.rand(2, 3) > 0.5
c = t.rng.rand(3) > 0.5
i, j = ints(-9, 9, (2, 3)), ints(1, 4, (3,))
check("logical_not(%x0)", [b], ~b)
check("bitwise_not(%x0)", [i], ~i)
check("clip(%x0, a_min=-1f, a_max=2f)", [x], np.clip(x, -1, 2))
check("clip(%x0, a_min=-3, a_max=2)", [i], np.clip(i, -3, 2))
check("clip(%x0, a_min=-300f, a_max=100f)", [i.astype("int8")], np.clip(i, -128, 100).astype("int8"))
check("nn.leaky_relu(%x0, alpha=0.125f)", [x], np.where(x > 0, x, x * f32(0.125)))
check("nn.leaky_relu(%x0)", [x], np.where(x > 0, x, x * f32(0.25)))
y = floats(3)
y[y == 0] = 1
BINARY = [("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("maximum", np.maximum), ("minimum", np.minimum)]
for name, f in BINARY:
    check(f"{name}(%x0, %x1)", [x, y], f(x, y))
    check(f"{name}(%x0, %x1)", [i, j], f(i, j))
check("divide(%x0, %x1)", [x, y], x / y, tol=1e-6)
check("divide(%x0, %x1)", [i, j], np.trunc(i / j).astype("int32"))
check("floor_divide(%x0, %x1)", [i, j], i // j)
check("floor_divide(%x0, %x1)", [x, y], np.floor(x / y))
check("trunc_divide(%x0, %x1)", [i, j], np.trunc(i / j).astype("int32"))
check("trunc_divide(%x0, %x1)", [x, y], np.trunc(x / y))
check("mod(%x0, %x1)", [i, j], np.fmod(i, j))
check("trunc_mod(%x0, %x1)", [i, j], np.fmod(i, j))
check("floor_mod(%x0, %x1)", [i, j], i % j)
check("floor_mod(%x0, %x1)", [x, y], x - y * np.floor(x / y))
check("power(%x0, %x1)", [p, y], np.power(p.astype("float64"), y).astype(f32), tol=1e-5)
check("atan2(%x0, %x1)", [x, y], np.arctan2(x, y), tol=1e-6)
check("left_shift(%x0, %x1)", [i, j], i << j)
check("right_shift(%x0, %x1)", [i, j], i >> j)
for name, f in [("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor)]:
    check(f"{name}(%x0, %x1)", [i, j], f(i, j))
for name, f in [("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)]:
    check(f"{name}(%x0, %x1)", [b, c], f(b, c))
for name, f in [("equal", np.equal), ("not_equal", np.not_equal), ("less", np.less), ("less_equal", np.less_equal), ("greater", np.greater), ("greater_equal", np.greater_equal)]:
    check(f"{name}(%x0, %x1)", [i, j], f(i, j))
check("where(%x0, %x1, %x2)", [b, x, y], np.where(b, x, y))
check("where(%x0, %x1, %x2)", [i, x, y], np.where(i != 0, x, y))

# ---- data types
check('cast(%x0, dtype="int32")', [x], np.trunc(x).astype("int32"))
check('cast(%x0, dtype="float32")', [x], x)
check("cast_like(%x0, %x1)", [x, i], np.trunc(x).astype("int32"))
check('reinterpret(%x0, dtype="int32")', [x], x.view("int32"))
check('reinterpret(%x0, dtype="float32")', [x], x)
t.refused('reinterpret(%x0, dtype="int8")', [x], "RY27", "the same width")

# ---- products
w = floats(4, 3)
check("nn.dense(%x0, %x1, units=None)", [x, w], x @ w.T)
check("nn.dense(%x0, %x1, units=4)", [x, w], x @ w.T)
x3 = floats(2, 2, 3)
check("nn.dense(%x0, %x1, units=None)", [x3, w], x3 @ w.T)
i8, w8 = ints(-9, 9, (2, 3), "int8"), ints(-9, 9, (4, 3), "int8")
check('nn.dense(%x0, %x1, units=4, out_dtype="int32")', [i8, w8], i8.astype("int32") @ w8.T.astype("int32"))
check("nn.matmul(%x0, %x1, units=None)", [x, np.ascontiguousarray(w.T)], x @ w.T)
check("nn.matmul(%x0, %x1, units=None, transpose_a=True, transpose_b=True)", [np.ascontiguousarray(x.T), w], x @ w.T)
ba, bb = floats(2, 3, 4), floats(2, 4, 5)
for ta, tb in itertools.product((False, True), repeat=2):
    left, right = ba.transpose(0, 2, 1).copy() if ta else ba, bb.transpose(0, 2, 1).copy() if tb else bb
    check(f"nn.batch_matmul(%x0, %x1, transpose_a={ta}, transpose_b={tb})", [left, right], ba @ bb)
check("nn.batch_matmul(%x0, %x1)", [ba, bb[:1].copy()], ba @ bb[:1])
check('einsum((%x0, %x1), equation="bij,bjk->bik")', [ba, bb], ba @ bb)
check("nn.bias_add(%x0, %x1, axis=-1)", [x, y], x + y)
x4 = floats(2, 4, 6, 5)
bias = floats(4)
check("nn.bias_add(%x0, %x1)", [x4, bias], x4 + bias[None, :, None, None])


# ---- convolutions
def conv(x, w, strides, pads, dilation, groups):
    """N C spatial by O I spatial."""
    d = x.ndim - 2
    x = np.pad(x.astype("float64"), [(0, 0), (0, 0)] + list(pads))
    k = w.shape[2:]
    size = [(x.shape[2 + a] - dilation[a] * (k[a] - 1) - 1) // strides[a] + 1 for a in range(d)]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    per, each = x.shape[1] // groups, w.shape[0] // groups
    for at in itertools.product(*map(range, k)):
        part = x[(slice(None), slice(None), *(slice(at[a] * dilation[a], at[a] * dilation[a] + (size[a] - 1) * strides[a] + 1, strides[a]) for a in range(d)))]
        for g in range(groups):
            out[:, g * each:(g + 1) * each] += np.einsum("nc...,oc->no...", part[:, g * per:(g + 1) * per], w[(slice(g * each, (g + 1) * each), slice(None), *at)].astype("float64"))
    return out.astype(f32)


def conv_transpose(x, w, strides, pads, dilation, groups, extra):
    """N C spatial by I O spatial."""
    d = x.ndim - 2
    k, per, each = w.shape[2:], x.shape[1] // groups, w.shape[1]
    full = [strides[a] * (x.shape[2 + a] - 1) + dilation[a] * (k[a] - 1) + 1 + extra[a] for a in range(d)]
    out = np.zeros((x.shape[0], each * groups, *full))
    for at in itertools.product(*map(range, k)):
        where = (slice(None), slice(None), *(slice(at[a] * dilation[a], at[a] * dilation[a] + strides[a] * (x.shape[2 + a] - 1) + 1, strides[a]) for a in range(d)))
        for g in range(groups):
            out[where][:, g * each:(g + 1) * each] += np.einsum("nc...,co->no...", x[:, g * per:(g + 1) * per].astype("float64"), w[(slice(g * per, (g + 1) * per), slice(None), *at)])
    return out[(slice(None), slice(None), *(slice(pads[a][0], full[a] - pads[a][1]) for a in range(d)))].astype(f32)


x1, w1 = floats(2, 4, 9), floats(6, 4, 3)
check("nn.conv1d(%x0, %x1, padding=[1, 2], strides=[2])", [x1, w1], conv(x1, w1, [2], [(1, 2)], [1], 1))
check('nn.conv1d(%x0, %x1, data_layout="NWC", kernel_layout="WIO")', [x1.transpose(0, 2, 1).copy(), w1.transpose(2, 1, 0).copy()], conv(x1, w1, [1], [(0, 0)], [1], 1).transpose(0, 2, 1))
w4 = floats(6, 4, 3, 2)
check("nn.conv2d(%x0, %x1)", [x4, w4], conv(x4, w4, [1, 1], [(0, 0)] * 2, [1, 1], 1))
check("nn.conv2d(%x0, %x1, strides=[2, 1], padding=[1, 2, 0, 1], dilation=[1, 2])", [x4, w4], conv(x4, w4, [2, 1], [(1, 0), (2, 1)], [1, 2], 1))
check("nn.conv2d(%x0, %x1, padding=[1], channels=6, kernel_size=[3, 2])", [x4, w4], conv(x4, w4, [1, 1], [(1, 1)] * 2, [1, 1], 1), unknown=False)
check('nn.conv2d(%x0, %x1, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO")', [x4.transpose(0, 2, 3, 1).copy(), w4.transpose(2, 3, 1, 0).copy()],
      conv(x4, w4, [1, 1], [(1, 1)] * 2, [1, 1], 1).transpose(0, 2, 3, 1))
wg = floats(6, 2, 3, 3)
check("nn.conv2d(%x0, %x1, padding=[1, 1], groups=2)", [x4, wg], conv(x4, wg, [1, 1], [(1, 1)] * 2, [1, 1], 2), unknown=False)
wd = floats(4, 1, 3, 3)
check("nn.conv2d(%x0, %x1, padding=[1, 1], groups=4, channels=4, kernel_size=[3, 3])", [x4, wd], conv(x4, wd, [1, 1], [(1, 1)] * 2, [1, 1], 4), unknown=False)
wm = floats(4, 2, 3, 3)   # depthwise with a multiplier
want = conv(x4, wm.reshape(8, 1, 3, 3), [1, 1], [(0, 0)] * 2, [1, 1], 4)
check("nn.conv2d(%x0, %x1, groups=4, channels=8, kernel_size=[3, 3])", [x4, wm], want, unknown=False)
check('nn.conv2d(%x0, %x1, groups=4, channels=8, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWOI")', [x4.transpose(0, 2, 3, 1).copy(), wm.transpose(2, 3, 0, 1).copy()],
      want.transpose(0, 2, 3, 1), unknown=False)
x5, w5 = floats(1, 2, 4, 5, 3), floats(3, 2, 2, 3, 2)
check("nn.conv3d(%x0, %x1, strides=[1, 2, 1], padding=[1, 0, 1])", [x5, w5], conv(x5, w5, [1, 2, 1], [(1, 1), (0, 0), (1, 1)], [1] * 3, 1))
wt = floats(4, 3, 3)
check("nn.conv1d_transpose(%x0, %x1, strides=[2], padding=[1], output_padding=[1])", [x1, wt], conv_transpose(x1, wt, [2], [(1, 1)], [1], 1, [1]))
wt = floats(4, 3, 3, 2)
check("nn.conv2d_transpose(%x0, %x1, strides=[2, 1], padding=[1, 0], output_padding=[1, 0])", [x4, wt], conv_transpose(x4, wt, [2, 1], [(1, 1), (0, 0)], [1, 1], 1, [1, 0]))
wt = floats(2, 3, 2, 2, 2)
check("nn.conv3d_transpose(%x0, %x1, strides=[2, 1, 1])", [x5, wt], conv_transpose(x5, wt, [2, 1, 1], [(0, 0)] * 3, [1] * 3, 1, [0] * 3))


# ---- pooling
def pool(x, size, strides, pads, f, ceil=False, include=False, dilation=None):
    d = x.ndim - 2
    dilation = dilation or [1] * d
    low = -np.inf if f == "max" else 0
    count = []
    more = [strides[a] - 1 if ceil else 0 for a in range(d)]
    out = [(x.shape[2 + a] + sum(pads[a]) - dilation[a] * (size[a] - 1) - 1 + more[a]) // strides[a] + 1 for a in range(d)]
    r = np.zeros((*x.shape[:2], *out), f32)
    for at in itertools.product(*map(range, out)):
        values, n = [], 0
        for k in itertools.product(*map(range, size)):
            where = [at[a] * strides[a] + k[a] * dilation[a] - pads[a][0] for a in range(d)]
            inside = all(0 <= where[a] < x.shape[2 + a] for a in range(d))
            if inside:
                values.append(x[(slice(None), slice(None), *where)])
            n += inside or (include and all(where[a] < x.shape[2 + a] + pads[a][1] for a in range(d)))
        r[(slice(None), slice(None), *at)] = np.max(values, 0) if f == "max" else np.sum(values, 0) / n
    return r


for f in ("max", "avg"):
    check(f"nn.{f}_pool1d(%x0, pool_size=[3], strides=[2], padding=[1, 1])", [x1], pool(x1, [3], [2], [(1, 1)], f), tol=1e-6)
    check(f"nn.{f}_pool2d(%x0, pool_size=[2, 2], strides=[2, 2])", [x4], pool(x4, [2, 2], [2, 2], [(0, 0)] * 2, f), tol=1e-6)
    check(f"nn.{f}_pool2d(%x0, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 0, 1])", [x4], pool(x4, [3, 3], [2, 2], [(1, 0), (1, 1)], f), tol=1e-6)
    check(f"nn.{f}_pool2d(%x0, pool_size=[2, 2], strides=[2, 2], ceil_mode=True)", [x4], pool(x4, [2, 2], [2, 2], [(0, 0)] * 2, f, ceil=True), tol=1e-6)
    check(f'nn.{f}_pool2d(%x0, pool_size=[2, 3], layout="NHWC")', [x4.transpose(0, 2, 3, 1).copy()], pool(x4, [2, 3], [1, 1], [(0, 0)] * 2, f).transpose(0, 2, 3, 1), tol=1e-6)
    check(f"nn.{f}_pool3d(%x0, pool_size=[2, 2, 1])", [x5], pool(x5, [2, 2, 1], [1] * 3, [(0, 0)] * 3, f), tol=1e-6)
check("nn.avg_pool2d(%x0, pool_size=[3, 3], padding=[1, 1], count_include_pad=True)", [x4], pool(x4, [3, 3], [1, 1], [(1, 1)] * 2, "avg", include=True), tol=1e-6)
check("nn.max_pool2d(%x0, pool_size=[2, 2], dilation=[2, 1])", [x4], pool(x4, [2, 2], [1, 1], [(0, 0)] * 2, "max", dilation=[2, 1]))
check("nn.global_max_pool2d(%x0)", [x4], x4.max((2, 3), keepdims=True))
check("nn.global_avg_pool2d(%x0)", [x4], x4.mean((2, 3), keepdims=True), tol=1e-6)
check('nn.global_avg_pool2d(%x0, layout="NHWC")', [x4], x4.mean((1, 2), keepdims=True), tol=1e-6)


def adaptive(x, size, f):
    for a, want in enumerate(size):
        n = x.shape[2 + a]
        x = np.stack([f(x.take(range(k * n // want, -(-(k + 1) * n // want)), 2 + a), 2 + a) for k in range(want)], 2 + a)
    return x.astype(f32)


for name, f in (("max", np.max), ("avg", np.mean)):
    known = name == "max"   # of unknown extents the parts are not known
    check(f"nn.adaptive_{name}_pool1d(%x0, output_size=[4])", [x1], adaptive(x1, [4], f), tol=1e-6, unknown=not known)
    check(f"nn.adaptive_{name}_pool2d(%x0, output_size=[3, 2])", [x4], adaptive(x4, [3, 2], f), tol=1e-6, unknown=not known)
    check(f"nn.adaptive_{name}_pool2d(%x0, output_size=[1])", [x4], adaptive(x4, [1, 1], f), tol=1e-6)
    check(f"nn.adaptive_{name}_pool2d(%x0, output_size=[3, 5])", [x4], adaptive(x4, [3, 5], f), tol=1e-6, unknown=not known)
    check(f"nn.adaptive_{name}_pool2d(%x0)", [x4], x4)
    check(f"nn.adaptive_{name}_pool3d(%x0, output_size=[2, 1, 3])", [x5], adaptive(x5, [2, 1, 3], f), tol=1e-6, unknown=not known)

# ---- pictures
up = x4.repeat(2, 2).repeat(3, 3)
check("nn.upsampling(%x0, scale_h=2f, scale_w=3f)", [x4], up)
check('nn.upsampling(%x0, scale_h=2f, scale_w=3f, layout="NHWC")', [x4.transpose(0, 2, 3, 1).copy()], up.transpose(0, 2, 3, 1))


def sample(x, n, place):
    """Linear along the last axis."""
    at = np.clip(np.array([place(k) for k in range(n)]), 0, x.shape[-1] - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, x.shape[-1] - 1)
    return (x[..., low] * (1 - (at - low)) + x[..., high] * (at - low)).astype(f32)


def linear(x, h, w, place):
    x = sample(x, w, lambda k: place(k, w, x.shape[3]))
    return sample(x.swapaxes(2, 3), h, lambda k: place(k, h, x.shape[2])).swapaxes(2, 3)


half = lambda k, n, m: (k + 0.5) * m / n - 0.5
corners = lambda k, n, m: k * (m - 1) / (n - 1)
asymmetric = lambda k, n, m: k * m / n
check('nn.upsampling(%x0, scale_h=2f, scale_w=2f, method="bilinear", align_corners=True)', [x4], linear(x4, 12, 10, corners), tol=1e-5)
check('nn.upsampling(%x0, scale_h=1.5f, scale_w=2f, method="bilinear")', [x4], linear(x4, 9, 10, asymmetric), tol=1e-5, unknown=False)
check("image.resize2d(%x0, size=[8, 3])", [x4], linear(x4, 8, 3, half), tol=1e-5)
check('image.resize2d(%x0, size=[8, 7], coordinate_transformation_mode="align_corners", layout="NHWC")', [x4.transpose(0, 2, 3, 1).copy()],
      linear(x4, 8, 7, corners).transpose(0, 2, 3, 1), tol=1e-5)
check('image.resize2d(%x0, size=[12, 15], method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor")', [x4], up)
check('image.resize2d(%x0, size=[12, 15], method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="")', [x4], up)


def to_space(x, b, mode):
    n, c, h, w = x.shape
    if mode == "DCR":
        return x.reshape(n, b, b, c // b // b, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // b // b, h * b, w * b)
    return x.reshape(n, c // b // b, b, b, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // b // b, h * b, w * b)


deep = floats(2, 8, 3, 2)
check("nn.depth_to_space(%x0, block_size=2)", [deep], to_space(deep, 2, "DCR"))
check('nn.depth_to_space(%x0, block_size=2, mode="CRD")', [deep], to_space(deep, 2, "CRD"))
check('nn.depth_to_space(%x0, block_size=2, layout="NHWC")', [deep.transpose(0, 2, 3, 1).copy()], to_space(deep, 2, "DCR").transpose(0, 2, 3, 1))
check("nn.space_to_depth(%x0, block_size=2)", [to_space(deep, 2, "DCR").copy()], deep)
check('nn.space_to_depth(%x0, block_size=2, layout="NHWC")', [to_space(deep, 2, "DCR").transpose(0, 2, 3, 1).copy()], deep.transpose(0, 2, 3, 1))

# ---- normalisation, losses
alpha = floats(4)
check("nn.prelu(%x0, %x1)", [x4, alpha], np.where(x4 > 0, x4, x4 * alpha[:, None, None]))
check("nn.prelu(%x0, %x1, axis=-1)", [x, y], np.where(x > 0, x, x * y))


def softmax(x, axis):
    e = np.exp(x.astype("float64") - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


for name in ("nn.softmax", "nn.fast_softmax"):
    check(f"{name}(%x0)", [x4], softmax(x4, -1).astype(f32), tol=1e-6)
    check(f"{name}(%x0, axis=1)", [x4], softmax(x4, 1).astype(f32), tol=1e-6)
check("nn.log_softmax(%x0, axis=1)", [x4], np.log(softmax(x4, 1)).astype(f32), tol=1e-5)
gamma, beta, mean, var = floats(4), floats(4), floats(4), np.abs(floats(4)) + 1


def along(v, axis, n):
    return v.reshape([-1 if k == axis else 1 for k in range(n)])


def normal(x, axes, eps, gamma=None, beta=None, axis=1):
    x64 = x.astype("float64")
    m, v = x64.mean(axes, keepdims=True), x64.var(axes, keepdims=True)
    y = (x64 - m) / np.sqrt(v + eps)
    y = y if gamma is None else y * along(gamma, axis, x.ndim)
    return (y if beta is None else y + along(beta, axis, x.ndim)).astype(f32)


bn = (x4 - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5)
check("nn.batch_norm(%x0, %x1, %x2, %x3, %x4).0", [x4, gamma, beta, mean, var], (bn * gamma[:, None, None] + beta[:, None, None]).astype(f32), tol=1e-5)
check("nn.batch_norm(%x0, %x1, %x2, %x3, %x4, epsilon=0.5f, center=False, scale=False)", [x4, gamma, beta, mean, var],
      ((x4 - mean[:, None, None]) / np.sqrt(var[:, None, None] + 0.5)).astype(f32), mean, var, tol=1e-5)
last = np.ascontiguousarray(x4.transpose(0, 2, 3, 1))
check("nn.batch_norm(%x0, %x1, %x2, %x3, %x4, axis=-1).0", [last, gamma, beta, mean, var], (bn * gamma[:, None, None] + beta[:, None, None]).transpose(0, 2, 3, 1).astype(f32), tol=1e-5)
check("nn.layer_norm(%x0, %x1, %x2)", [last, gamma, beta], normal(last, 3, 1e-5, gamma, beta, 3), tol=1e-4)
check("nn.layer_norm(%x0, %x1, %x2, axis=1, epsilon=0.1f)", [x4, gamma, beta], normal(x4, 1, 0.1, gamma, beta, 1), tol=1e-4)
grouped = normal(x4.reshape(2, 2, 2, 6, 5), (2, 3, 4), 1e-5).reshape(x4.shape)
check("nn.group_norm(%x0, %x1, %x2, num_groups=2)", [x4, gamma, beta], grouped * gamma[:, None, None] + beta[:, None, None], tol=1e-4)
check("nn.instance_norm(%x0, %x1, %x2)", [x4, gamma, beta], normal(x4, (2, 3), 1e-5, gamma, beta), tol=1e-4)
check("nn.instance_norm(%x0, %x1, %x2, axis=3, center=False)", [last, gamma, beta], normal(last, (1, 2), 1e-5, gamma, None, 3), tol=1e-4)


def lrn(x, size, axis, bias, alpha, beta):
    s = np.zeros(x.shape)
    n = x.shape[axis]
    for k in range(n):
        near = range(max(0, k - size // 2), min(n, k - size // 2 + size))
        s[tuple(k if a == axis else slice(None) for a in range(x.ndim))] = (x.take(near, axis).astype("float64") ** 2).sum(axis)
    return (x / (bias + alpha / size * s) ** beta).astype(f32)


check("nn.lrn(%x0)", [x4], lrn(x4, 5, 1, 2, 1e-4, 0.75), tol=1e-5)
check("nn.lrn(%x0, size=3, axis=3, bias=1f, alpha=0.5f, beta=0.5f)", [x4], lrn(x4, 3, 3, 1, 0.5, 0.5), tol=1e-5)
check("nn.l2_normalize(%x0, eps=0.5f, axis=[1])", [x4], (x4 / np.sqrt(np.maximum((x4 ** 2).sum(1, keepdims=True), 0.5))).astype(f32), tol=1e-6)
check("nn.dropout(%x0).0", [x], x)
check("nn.batch_flatten(%x0)", [x4], x4.reshape(2, -1))
check("nn.pad(%x0, 1.5f, pad_width=[[1, 0], [2, 1]])", [x], np.pad(x, [(1, 0), (2, 1)], constant_values=1.5))
check("nn.pad(%x0, 7, pad_width=[[1, 0], [2, 1]])", [i], np.pad(i, [(1, 0), (2, 1)], constant_values=7))
check('nn.pad(%x0, 0f, pad_width=[[1, 0], [2, 1]], pad_mode="edge")', [x], np.pad(x, [(1, 0), (2, 1)], mode="edge"))
check('nn.pad(%x0, 0f, pad_width=[[1, 0], [2, 1]], pad_mode="reflect")', [x], np.pad(x, [(1, 0), (2, 1)], mode="reflect"))
check("nn.pad(%x0, %x1, pad_width=[[1, 0], [2, 1]])", [x, np.float32(2.5)], np.pad(x, [(1, 0), (2, 1)], constant_values=2.5))
check('nn.mirror_pad(%x0, pad_width=[[1, 0], [2, 1]], mode="REFLECT")', [x], np.pad(x, [(1, 0), (2, 1)], mode="reflect"))
check("nn.mirror_pad(%x0, pad_width=[[1, 0], [2, 3]])", [x], np.pad(x, [(1, 0), (2, 3)], mode="symmetric"))
q = softmax(floats(3, 4), 1).astype(f32)
labels = np.eye(4, dtype=f32)[[0, 2, 3]]
check("nn.cross_entropy(%x0, %x1)", [q, labels], f32(-(np.log(q) * labels).sum() / 3), tol=1e-6)
check("nn.cross_entropy_with_logits(%x0, %x1)", [q, labels], f32(-(q * labels).sum() / 3), tol=1e-6)
target, weights = np.array([0, 3, 2], "int32"), np.array([1, 2, 0.5, 4], f32)
each = -q[range(3), target] * weights[target]
for reduction, want in (("none", each), ("sum", each.sum()), ("mean", each.sum() / weights[target].sum())):
    check(f'nn.nll_loss(%x0, %x1, %x2, reduction="{reduction}", ignore_index=-100)', [q, target, weights], want.astype(f32), tol=1e-6)
kept = np.array([1, 0, 1], f32)
check("nn.nll_loss(%x0, %x1, %x2, ignore_index=3)", [q, target, weights], f32((each * kept).sum() / (weights[target] * kept).sum()), tol=1e-6)

# ---- reductions
for name, f in [("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min), ("prod", np.prod)]:
    small = x4[:, :, :2, :3].copy()
    check(f"{name}(%x0)", [small], f32(f(small.astype("float64"))), tol=1e-4)
    check(f"{name}(%x0, axis=[1, -1])", [small], f(small, axis=(1, 3)), tol=1e-4)
    check(f"{name}(%x0, axis=2, keepdims=True)", [small], f(small, axis=2, keepdims=True), tol=1e-4)
    check(f"{name}(%x0, axis=[0, 2], exclude=True)", [small], f(small, axis=(1, 3)), tol=1e-4)
    check(f"{name}(%x0, axis=[0, 1, 2, 3], exclude=True)", [small], small)
check("all(%x0, axis=[1])", [b], b.all(1))
check("any(%x0, axis=[0], keepdims=True)", [b], b.any(0, keepdims=True))
check("any(%x0)", [b], b.any())
tied = ints(0, 3, (3, 4, 5)).astype(f32)
for name, f in [("argmax", np.argmax), ("argmin", np.argmin)]:
    check(f"{name}(%x0, axis=[1])", [tied], f(tied, 1).astype("int32"))
    check(f"{name}(%x0)", [tied], f(tied).astype("int32"))
    check(f"{name}(%x0, axis=-1, keepdims=True)", [tied], np.expand_dims(f(tied, 2), 2).astype("int32"))
    check(f"{name}(%x0, axis=[0, 2])", [tied], f(tied.transpose(1, 0, 2).reshape(4, -1), 1).astype("int32"))
    check(f"{name}(%x0, axis=[1], exclude=True, keepdims=True)", [tied], f(tied.transpose(1, 0, 2).reshape(4, -1), 1).astype("int32").reshape(1, 4, 1))
    check(f"{name}(%x0, axis=[1], select_last_index=True)", [tied], (3 - f(tied[:, ::-1], 1)).astype("int32"))
    check(f"{name}(%x0, select_last_index=True)", [tied], (59 - f(tied.ravel()[::-1])).astype("int32"))
m = x4.mean((1, 2), keepdims=True)
check("variance(%x0, %x1, axis=[1, 2])", [x4, m], x4.astype("float64").var((1, 2)).astype(f32), tol=1e-5)
check("variance(%x0, %x1, axis=[1, 2], keepdims=True, unbiased=True)", [x4, m], x4.astype("float64").var((1, 2), keepdims=True, ddof=1).astype(f32), tol=1e-5, unknown=False)
for name, f, start in [("cumsum", np.cumsum, 0), ("cumprod", np.cumprod, 1)]:
    check(f"{name}(%x0, axis=1)", [i], f(i, 1).astype("int32"))
    check(f"{name}(%x0)", [i], f(i).astype("int32"))
    check(f'{name}(%x0, axis=0, dtype="int64")', [i], f(i, 0).astype("int64"))
    shifted = np.concatenate([np.full((2, 1), start), f(i, 1)[:, :-1]], 1).astype("int32")
    check(f"{name}(%x0, axis=1, exclusive=True)", [i], shifted)
order = np.argsort(-tied, 2, kind="stable")
values = np.take_along_axis(tied, order, 2)
check("topk(%x0, k=2)", [tied], values[..., :2], order[..., :2].astype("int32"))
check('topk(%x0, k=3, axis=1, ret_type="values", is_ascend=True)', [tied], np.sort(tied, 1)[:, :3])
check('topk(%x0, k=0, ret_type="indices", dtype="int64")', [tied], order)
check("sort(%x0)", [tied], np.sort(tied, -1))
check("sort(%x0, axis=0, is_ascend=False)", [tied], -np.sort(-tied, 0))
check("argsort(%x0)", [tied], np.argsort(tied, -1, kind="stable").astype("int32"))
check('argsort(%x0, axis=1, is_ascend=False, dtype="float32")', [tied], np.argsort(-tied, 1, kind="stable").astype(f32))

# ---- shapes
check("reshape(%x0, newshape=[4, -1])", [x4], x4.reshape(4, -1))
check("reshape(%x0, newshape=[0, 0, -1])", [x4], x4.reshape(2, 4, -1))
check("reshape(%x0, newshape=[-2])", [x4], x4)
check("reshape(%x0, newshape=[0, -3, -2])", [x4], x4.reshape(2, 24, 5))
check("reshape(%x0, newshape=[-4, 1, -1, -2])", [x4], x4.reshape(1, 2, 4, 6, 5))
check("reshape(%x0, newshape=[0, -4, -1, 2, -3])", [x4], x4.reshape(2, 2, 2, 30))
check("reshape(%x0, newshape=[-1])", [x4], x4.reshape(-1))
check("reshape(%x0, newshape=[2, 4, 30])", [x4], x4.reshape(2, 4, 30))
check("contrib_reverse_reshape(%x0, newshape=[-1, 0, 0])", [x4], x4.reshape(8, 6, 5))
check("reshape_like(%x0, %x1)", [x4, floats(8, 30)], x4.reshape(8, 30))
check("reshape_like(%x0, %x1, lhs_begin=1, lhs_end=3, rhs_begin=1)", [x4, floats(3, 8, 3)], x4.reshape(2, 8, 3, 5))
check("transpose(%x0, axes=None)", [x4], x4.T)
check("transpose(%x0, axes=[0, -1, 1, 2])", [x4], x4.transpose(0, 3, 1, 2))
check("expand_dims(%x0, axis=1)", [x], x[:, None])
check("expand_dims(%x0, axis=-1, num_newaxis=2)", [x], x[:, :, None, None])
one = floats(1, 3, 1)
check("squeeze(%x0)", [one], one.squeeze(), unknown=False)
check("squeeze(%x0, axis=[0])", [one], one.squeeze(0))
check("squeeze(%x0, axis=[-1, 0])", [one], one.squeeze())
z = floats(2, 2)
check("concatenate((%x0, %x1), axis=1)", [x, z], np.concatenate([x, z], 1))
check("concatenate((%x0, %x1, %x0), axis=-2)", [x, x + 1], np.concatenate([x, x + 1, x], 0))
check("stack((%x0, %x1), axis=-1)", [x, x + 1], np.stack([x, x + 1], -1))
check("stack((%x0, %x1))", [x, x + 1], np.stack([x, x + 1]))
check("split(%x0, indices_or_sections=2, axis=1)", [x4], *np.split(x4, 2, 1))
check("split(%x0, indices_or_sections=[1, 4], axis=2)", [x4], *np.split(x4, [1, 4], 2))
check("split(%x0, indices_or_sections=[1, 4], axis=2).1", [x4], np.split(x4, [1, 4], 2)[1])
check("split(%x0, indices_or_sections=1, axis=2)", [x4], x4)
check("split(%x0, indices_or_sections=[]).0", [x4], x4)
check("strided_slice(%x0, begin=[0, 1], end=[2, 3], strides=[1, 2], axes=None)", [x4], x4[0:2, 1:3:2])
check("strided_slice(%x0, begin=[-4, 1], end=[-1, 100], axes=[2, 3])", [x4], x4[:, :, -4:-1, 1:])
check("strided_slice(%x0, begin=[5], end=[-7], strides=[-2], axes=[2])", [x4], x4[:, :, 5::-2])
check('strided_slice(%x0, begin=[1, 2], end=[-1, 3], slice_mode="size", axes=[1, 2])', [x4], x4[:, 1:, 2:5])
check('strided_slice(%x0, begin=[-3], end=[3], slice_mode="size", axes=[3])', [x4], x4[..., -3:])
check("slice_like(%x0, %x1, axes=None)", [x4, floats(1, 2, 3, 4)], x4[:1, :2, :3, :4])
check("slice_like(%x0, %x1, axes=[-1, 2])", [x4, floats(9, 9, 3, 4)], x4[:, :, :3, :4])
index = ints(0, 4, (2, 3))
wild = ints(-9, 9, (2, 3))
check("take(%x0, %x1, axis=1)", [x4, index], x4.take(index, 1))
check("take(%x0, %x1)", [x4, index], x4.ravel().take(index))
check("take(%x0, %x1, axis=1)", [x4, wild], x4.take(np.clip(wild, 0, 3), 1))
check('take(%x0, %x1, axis=2, mode="wrap")', [x4, wild], x4.take(wild % 6, 2))
check('take(%x0, %x1, axis=-1, mode="fast")', [x4, index], x4.take(index, 3))
check("take(%x0, %x1, axis=1)", [x4, np.int32(2)], x4[:, 2])
check("take(%x0, %x1, batch_dims=1, axis=1)", [x4, index], np.stack([x4[k].take(index[k], 0) for k in range(2)]))
check("take(%x0, %x1, batch_dims=1, axis=3)", [x4, wild], np.stack([x4[k].take(np.clip(wild[k], 0, 4), 2) for k in range(2)]))
for dtype in ("int32", "int64"):
    at = ints(0, 6, (2, 4, 3, 5), dtype)
    check("gather(%x0, %x1, axis=2)", [x4, at], np.take_along_axis(x4, at, 2))
pairs = np.stack([ints(0, 2, (3,)), ints(0, 4, (3,))])
check("gather_nd(%x0, %x1)", [x4, pairs], x4[pairs[0], pairs[1]], unknown=False)
batched = ints(0, 4, (1, 2, 3))
check("gather_nd(%x0, %x1, batch_dims=1)", [x4, batched], np.stack([x4[k][batched[0, k]] for k in range(2)]), unknown=False)
spots, news = np.array([[3, 0, 2]], "int32"), floats(1, 3)
five = floats(1, 5)
put = five.copy()
np.put_along_axis(put, spots, news, 1)
check("scatter_elements(%x0, %x1, %x2, axis=1)", [five, spots, news], put)
added = five.copy()
np.add.at(added, (np.array([[0, 0, 0]]), spots), news)
check('scatter_elements(%x0, %x1, %x2, axis=1, reduction="add")', [five, spots, news], added)
cells, fresh = np.array([[1, 0], [2, 1]], "int32"), floats(2, 5)
changed, summed = floats(3, 3, 5), None
summed = changed.copy()
summed[cells[0], cells[1]] += fresh
check('scatter_nd(%x0, %x1, %x2, mode="add")', [changed, cells, fresh], summed, unknown=False)
summed = changed.copy()
summed[cells[0], cells[1]] = fresh
check("scatter_nd(%x0, %x1, %x2)", [changed, cells, fresh], summed, unknown=False)
rows, columns = ints(0, 2, (3, 1), "int32"), ints(0, 4, (2,), "int64")
check("adv_index((%x0, %x1, %x2))", [x4, rows, columns], x4[rows, columns])
check("repeat(%x0, repeats=2, axis=1)", [x], x.repeat(2, 1))
check("repeat(%x0, repeats=3)", [x], x.repeat(3))
check("tile(%x0, reps=[2, 1, 3])", [x], np.tile(x, (2, 1, 3)))
check("tile(%x0, reps=[2])", [x], np.tile(x, 2))
check("reverse(%x0, axis=1)", [x4], x4[:, ::-1])
check("reverse_sequence(%x0, %x1, seq_axis=1, batch_axis=0)", [x4, np.array([1, 3], "int32")], np.stack([x4[0], np.concatenate([x4[1, 2::-1], x4[1, 3:]])]))
check("broadcast_to(%x0, shape=[4, 2, 3], dtype=None)", [x], np.broadcast_to(x, (4, 2, 3)))
check("broadcast_to_like(%x0, %x1)", [y, x], np.broadcast_to(y, (2, 3)))
check("collapse_sum_like(%x0, %x1)", [x, y], x.sum(0), unknown=False)
check("collapse_sum_to(%x0, %x1, shape=[2, 1], dtype=None)", [x, np.array([2, 1], "int64")], x.sum(1, keepdims=True), unknown=False)
check('full(2.5f, shape=[2, 3], dtype="float32")', [], np.full((2, 3), 2.5, f32))
check('full(%x0, shape=[4], dtype="int32")', [np.int32(7)], np.full(4, 7, "int32"))
check("full_like(%x0, %x1)", [x, np.float32(3)], np.full_like(x, 3))
check('zeros(shape=[2, 3], dtype="int8")', [], np.zeros((2, 3), "int8"))
check('ones(shape=[2, 3], dtype="float32")', [], np.ones((2, 3), f32))
check('arange(0, 7, 2, start=0, stop=7, step=2, dtype="int32")', [], np.arange(0, 7, 2, "int32"))
check('arange(1f, 3f, 0.5f, start=1f, stop=3f, step=0.5f, dtype="float32")', [], np.arange(1, 3, 0.5, f32))
for first, step in ((1, 2), (8, -3), (9, 2)):
    check('arange(%x0, 7, %x1, start=None, stop=None, step=None, dtype="int32")', [np.int32(first), np.int32(step)], np.arange(first, 7, step, "int32"))
check('arange(0f, %x0, 0.25f, start=None, stop=None, step=None, dtype="float32")', [np.float32(1.1)], np.arange(0, 1.1, 0.25, f32))
check('one_hot(%x0, 1f, 0f, depth=5, dtype="float32")', [index], np.eye(5, dtype=f32)[index])
check('one_hot(%x0, 3, -1, depth=4, axis=0, dtype="int32")', [index], np.where(np.arange(4)[:, None, None] == index, 3, -1).astype("int32"))
check('one_hot(%x0, %x1, 0f, depth=5, axis=1, dtype="float32")', [index, np.float32(3)], np.where(np.arange(5)[:, None] == index[:, None], 3, 0).astype(f32))
check("meshgrid((%x0, %x1))", [y, bias], *np.meshgrid(y, bias, indexing="ij"))
check('meshgrid((%x0, %x1), indexing="xy")', [y, bias], *np.meshgrid(y, bias))
check("meshgrid((%x0,))", [y], y)
check("concatenate((%x0,))", [x], x)
check("stack((%x0,))", [x], x[None])
check('layout_transform(%x0, src_layout="NCHW", dst_layout="NHWC")', [x4], x4.transpose(0, 2, 3, 1))
blocked = x4.reshape(2, 2, 2, 6, 5).transpose(0, 1, 3, 4, 2)
check('layout_transform(%x0, src_layout="NCHW", dst_layout="NCHW2c")', [x4], blocked)
check('layout_transform(%x0, src_layout="NCHW2c", dst_layout="NCHW")', [np.ascontiguousarray(blocked)], x4)
check('layout_transform(%x0, src_layout="NCHW2c", dst_layout="NHWC")', [np.ascontiguousarray(blocked)], x4.transpose(0, 2, 3, 1))
check('layout_transform(%x0, src_layout="NCHW4c", dst_layout="NCHW2c")', [np.ascontiguousarray(x4.reshape(2, 1, 4, 6, 5).transpose(0, 1, 3, 4, 2))], blocked)
square = floats(2, 4, 5)
check("trilu(%x0, 1, upper=True)", [square], np.triu(square, 1))
check("trilu(%x0, 0, upper=False)", [square], np.tril(square))
check("trilu(%x0, %x1)", [square, np.int32(-1)], np.triu(square, -1))
check("trilu(%x0, %x1, upper=False)", [square, np.int32(1)], np.tril(square, 1))
check("shape_of(%x0)", [x4], np.array(x4.shape, "int32"))
check('shape_of(%x0, dtype="int64")', [x4], np.array(x4.shape, "int64"))
check('ndarray_size(%x0, dtype="int64")', [x4], np.int64(240))
check("ndarray_size(%x0)", [x4], np.int32(240))
sparse = ints(0, 2, (3, 4))
check("argwhere(%x0)", [sparse], np.argwhere(sparse).astype("int32"))
for name in ("annotation.stop_fusion", "annotation.checkpoint", "annotation.bitpack_start", "annotation.bitpack_end", "annotation.compiler_begin",
             "annotation.compiler_end", "annotation.cast_hint", "on_device", "device_copy", "debug"):
    check(f"add({name}(%x0), %x0)", [x], x + x)

# ---- shapes that only the run knows
check("dyn.reshape(%x0, %x1, newshape=[])", [x4, np.array([8, 30], "int64")], x4.reshape(8, 30), unknown=False)
check("dyn.reshape(%x0, %x1, newshape=[])", [x4, np.array([0, -1, 5], "int32")], x4.reshape(2, -1, 5), unknown=False)
check("dyn.reshape(%x0, %x1, newshape=[])", [x, np.array([0, 1, -1, 1, 1], "int32")], x.reshape(2, 1, 3, 1, 1), unknown=False)
check("dyn.broadcast_to(%x0, %x1, shape=None, dtype=None)", [x, np.array([4, 2, 3], "int64")], np.broadcast_to(x, (4, 2, 3)), unknown=False)
check('dyn.full(%x0, %x1, shape=None, dtype="float32")', [np.float32(2), np.array([3, 2], "int64")], np.full((3, 2), 2, f32), unknown=False)
check('dyn.zeros(%x0, shape=None, dtype="int32")', [np.array([3, 2], "int64")], np.zeros((3, 2), "int32"), unknown=False)
check('dyn.ones(%x0, shape=None, dtype="float32")', [np.array([3, 2], "int32")], np.ones((3, 2), f32), unknown=False)


# ---- quantisation
def saturate(v, dtype):
    r = np.iinfo(dtype)
    return np.clip(v, r.min, r.max).astype(dtype)


def rescale(v, factor, away=False):
    """As TVM: a multiplier of 31 bits and a shift."""
    fraction, exponent = np.frexp(np.float64(factor))
    m = int(np.floor(fraction * 2.0 ** 31 + 0.5))
    if m == 1 << 31:
        m, exponent = m // 2, exponent + 1
    left, right = max(exponent, 0), 31 + max(-exponent, 0)
    out = []
    for k in np.ravel(v).tolist():
        k = (k << int(left)) * m
        half = (1 << int(right - 1)) - (1 if away and k < 0 else 0)
        out.append((k + half) >> int(right))
    return np.array(out, "int64").reshape(np.shape(v))


s = f32(0.125)
check('qnn.quantize(%x0, 0.125f, 3, out_dtype="int8")', [x4], saturate(np.round(x4 / s) + 3, "int8"))
check('qnn.quantize(%x0, %x1, %x2, out_dtype="uint8", axis=1)', [x4, np.array([0.5, 0.25, 1, 0.125], f32), np.array([1, 100, 0, 128], "int32")],
      saturate(np.round(x4 / np.array([0.5, 0.25, 1, 0.125], f32)[:, None, None]) + np.array([1, 100, 0, 128])[:, None, None], "uint8"))
q8 = ints(-128, 128, (2, 4, 6, 5), "int8")
check("qnn.dequantize(%x0, 0.125f, 3)", [q8], ((q8.astype("int32") - 3) * s).astype(f32))
check("qnn.dequantize(%x0, %x1, 0, axis=1)", [q8, np.array([0.5, 0.25, 1, 0.125], f32)], (q8 * np.array([0.5, 0.25, 1, 0.125], f32)[:, None, None]).astype(f32))
q32 = ints(-100000, 100000, (2, 4, 3))
for away in (False, True):
    mode = "TONEAREST" if away else "UPWARD"
    check(f'qnn.requantize(%x0, 0.0123f, 5, 1.7f, -4, out_dtype="int8", rounding="{mode}")', [q32], saturate(rescale(q32.astype("int64") - 5, f32(0.0123).astype("float64") / f32(1.7).astype("float64"), away) - 4, "int8"))
    check(f'qnn.requantize(%x0, 3f, 0, 0.5f, 0, out_dtype="int32", rounding="{mode}")', [q32], rescale(q32, 6.0, away).astype("int32"))
halves = np.arange(-7, 8).astype("int32")
check('qnn.requantize(%x0, 0.5f, 0, 1f, 0, out_dtype="int8", rounding="UPWARD")', [halves], np.floor(halves / 2 + 0.5).astype("int8"))
check('qnn.requantize(%x0, 0.5f, 0, 1f, 0, out_dtype="int8", rounding="TONEAREST")', [halves], (np.sign(halves) * np.floor(np.abs(halves) / 2 + 0.5)).astype("int8"))
check('qnn.requantize(%x0, 1f, 2, 1f, 3, out_dtype="uint8")', [halves], saturate(halves + 1, "uint8"))
check('qnn.requantize(%x0, %x1, 0, 1f, 1, out_dtype="int8", axis=1)', [q32, np.array([1e-4, 2e-4, 1e-3, 5e-5], f32)],
      saturate(np.round(q32.astype(f32) * np.array([1e-4, 2e-4, 1e-3, 5e-5], f32)[:, None]) + 1, "int8"))
ua, ub = ints(0, 256, (2, 3), "uint8"), ints(0, 256, (3,), "uint8")
fa, fb, fo = (np.float64(f32(v)) for v in (0.02, 0.05, 0.04))
left, right = rescale(ua.astype("int64") - 10, fa / fo), rescale(ub.astype("int64") - 200, fb / fo)
check("qnn.add(%x0, %x1, 0.02f, 10, 0.05f, 200, 0.04f, 100)", [ua, ub], saturate(left + right + 100, "uint8"))
check("qnn.subtract(%x0, %x1, 0.02f, 10, 0.05f, 200, 0.04f, 100)", [ua, ub], saturate(left - right + 100, "uint8"))
check("qnn.add(%x0, %x1, 1f, 0, 1f, 0, 1f, 0)", [ua, ub], saturate(ua.astype("int32") + ub, "uint8"))
product = (ua.astype("int64") - 10) * (ub.astype("int64") - 200)
check("qnn.mul(%x0, %x1, 0.02f, 10, 0.05f, 200, 0.04f, 100)", [ua, ub], saturate(rescale(product, np.float64(f32(0.02) * f32(0.05)) / fo) + 100, "uint8"))
check("qnn.add(%x0, %x1, %x2, 10, %x2, 200, %x2, 100)", [ua, ub, np.float32(0.5)], saturate(ua.astype("int32") - 10 + ub - 200 + 100, "uint8"))
d8, k8 = ints(-128, 128, (3, 5), "int8"), ints(-128, 128, (4, 5), "int8")
check('qnn.dense(%x0, %x1, 3, -2, 0.5f, 0.25f, units=4, out_dtype="int32")', [d8, k8], (d8.astype("int32") - 3) @ (k8.astype("int32") + 2).T)
check('qnn.dense(%x0, %x1, 0, 0, 0.5f, 0.25f, units=4, out_dtype="int32")', [d8, k8], d8.astype("int32") @ k8.astype("int32").T)
ku8 = ints(0, 256, (3, 5), "uint8")
check('qnn.dense(%x0, %x1, 0, 0, 0.5f, 0.25f, units=4, out_dtype="int32")', [ku8, k8], ku8.astype("int32") @ k8.astype("int32").T)
c8, f8 = ints(-128, 128, (1, 3, 5, 6), "int8"), ints(-128, 128, (4, 3, 3, 3), "int8")
want = conv(c8.astype(f32) - 7, f8.astype(f32), [1, 1], [(1, 1)] * 2, [1, 1], 1).astype("int32")
check('qnn.conv2d(%x0, %x1, 7, 0, 0.5f, 0.25f, padding=[1, 1], channels=4, kernel_size=[3, 3], out_dtype="int32")', [c8, f8], want, unknown=False)
want = conv(c8.astype(f32), f8.astype(f32), [2, 1], [(1, 1)] * 2, [1, 1], 1).astype("int32")
check('qnn.conv2d(%x0, %x1, 0, 0, 0.5f, 0.25f, strides=[2, 1], padding=[1, 1], out_dtype="int32")', [c8, f8], want, unknown=False)
want = conv(c8.astype(f32) - 7, f8.astype(f32) - 2, [1, 1], [(1, 1)] * 2, [1, 1], 1).astype("int32").transpose(0, 2, 3, 1)
check('qnn.conv2d(%x0, %x1, 7, 2, 0.5f, 0.25f, padding=[1, 1], channels=4, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32")',
      [c8.transpose(0, 2, 3, 1).copy(), f8.transpose(2, 3, 1, 0).copy()], want, unknown=False)

for name, f in [("exp", np.exp), ("tanh", np.tanh), ("sigmoid", lambda v: 1 / (1 + np.exp(-v))), ("erf", erf), ("abs", np.abs),
                ("hardswish", lambda v: v * np.clip(v + 3, 0, 6) / 6), ("softmax", lambda v: softmax(v, -1)), ("leaky_relu", lambda v: np.where(v > 0, v, v / 8))]:
    attrs = ", alpha=0.125f" if name == "leaky_relu" else ""
    check(f"qnn.{name}(%x0, 0.03125f, 3, 0.0156f, -5{attrs})", [d8], saturate(np.round(f((d8.astype("float64") - 3) / 32) / f32(0.0156)) - 5, "int8"))
p8 = ints(1, 128, (3, 5), "int8")
for name, f in [("sqrt", np.sqrt), ("rsqrt", lambda v: 1 / np.sqrt(v)), ("log", np.log)]:
    check(f"qnn.{name}(%x0, 0.03125f, 0, 0.0156f, -5)", [p8], saturate(np.round(f(p8.astype("float64") / 32) / f32(0.0156)) - 5, "int8"))
parts = [saturate(rescale(a.astype("int64") - z, np.float64(f32(v)) / fo) + 100, "uint8") for a, v, z in ((ua, 0.02, 10), (255 - ua, 0.05, 200))]
check("qnn.concatenate((%x0, %x1), (0.02f, 0.05f), (10, 200), 0.04f, 100, axis=1)", [ua, 255 - ua], np.concatenate(parts, 1))
e8, g8 = ints(-128, 128, (2, 3, 5), "int8"), ints(-128, 128, (2, 4, 5), "int8")
check('qnn.batch_matmul(%x0, %x1, 3, -2, 0.5f, 0.25f, out_dtype="int32")', [e8, g8], (e8.astype("int32") - 3) @ (g8.astype("int32") + 2).transpose(0, 2, 1))
h8 = ints(-128, 128, (3, 4, 3, 3), "int8")
want = conv_transpose(c8.astype(f32) - 7, h8.astype(f32) - 2, [2, 2], [(1, 1)] * 2, [1, 1], 1, [0, 0]).astype("int32")
check('qnn.conv2d_transpose(%x0, %x1, 7, 2, 0.5f, 0.25f, strides=[2, 2], padding=[1, 1], channels=4, kernel_size=[3, 3], out_dtype="int32")', [c8, h8], want, unknown=False)

# ---- further
for m, sh in ((1 << 30, 0), (1518500250, -3), (2147483647, 4), (1073741825, -20)):
    check(f"fixed_point_multiply(%x0, multiplier={m}, shift={sh})", [q32], rescale(q32, m / 2.0 ** 31 * 2.0 ** sh).astype("int32"))
check("image.resize1d(%x0, size=[7])", [x1], sample(x1, 7, lambda k: half(k, 7, 9)), tol=1e-5)
check('image.resize1d(%x0, size=7, layout="NWC", coordinate_transformation_mode="align_corners")', [x1.transpose(0, 2, 1).copy()],
      sample(x1, 7, lambda k: corners(k, 7, 9)).transpose(0, 2, 1), tol=1e-5)
theta = floats(2, 2, 3)
ys, xs = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 5), indexing="ij")
grid = (theta @ np.stack([xs.ravel(), ys.ravel(), np.ones(20)])).reshape(2, 2, 4, 5).astype(f32)
check("image.affine_grid(%x0, target_shape=[4, 5])", [theta], grid, tol=1e-5)


def sampled(x, grid):
    """Bilinear, corners aligned, zeros outside."""
    n, c, h, w = x.shape
    out = np.zeros((n, c, *grid.shape[2:]))
    for b, r, q in itertools.product(range(n), range(grid.shape[2]), range(grid.shape[3])):
        u, v = (grid[b, 0, r, q] + 1) * (w - 1) / 2, (grid[b, 1, r, q] + 1) * (h - 1) / 2
        for yy, xx in itertools.product((math.floor(v), math.floor(v) + 1), (math.floor(u), math.floor(u) + 1)):
            if 0 <= yy < h and 0 <= xx < w:
                out[b, :, r, q] += x[b, :, yy, xx] * (1 - abs(v - yy)) * (1 - abs(u - xx))
    return out.astype(f32)


near = (t.rng.rand(2, 2, 3, 4) * 2.4 - 1.2).astype(f32)
check("image.grid_sample(%x0, %x1)", [x4, near], sampled(x4, near), tol=1e-5)
rois = np.array([[0, 0, 0, 4, 5], [1, 1, 1, 3, 3]], f32)
pooled = np.stack([np.stack([x4[int(r[0]), :, int(r[2]) + a * (int(r[4]) - int(r[2]) + 1) // 2:int(r[2]) + -(-(a + 1) * (int(r[4]) - int(r[2]) + 1) // 2), int(r[1]):int(r[3]) + 1].max((1, 2))
                             for a in range(2)], 1)[:, :, None] for r in rois])
check("vision.roi_pool(%x0, %x1, pooled_size=[2, 1], spatial_scale=1f)", [x4, rois], pooled)


def align(x, rois, ph, pw, ratio):
    """Means of ratio * ratio bilinear samples in each bin."""
    out = np.zeros((len(rois), x.shape[1], ph, pw))
    h, w = x.shape[2:]
    for k, (b, x0, y0, x2, y2) in enumerate(rois):
        bh, bw = max(y2 - y0, 1) / ph, max(x2 - x0, 1) / pw
        for r, q, i, j in itertools.product(range(ph), range(pw), range(ratio), range(ratio)):
            v, u = y0 + (r + (i + 0.5) / ratio) * bh, x0 + (q + (j + 0.5) / ratio) * bw
            v, u = min(max(v, 0), h - 1), min(max(u, 0), w - 1)
            for yy, xx in itertools.product((math.floor(v), math.floor(v) + 1), (math.floor(u), math.floor(u) + 1)):
                if yy < h and xx < w:
                    out[k, :, r, q] += x[int(b), :, yy, xx] * (1 - abs(v - yy)) * (1 - abs(u - xx)) / ratio ** 2
    return out.astype(f32)


check("vision.roi_align(%x0, %x1, pooled_size=[2, 3], spatial_scale=1f, sample_ratio=2)", [x4, rois], align(x4, rois, 2, 3, 2), tol=1e-5)
dy = floats(2, 4, 3, 2)
avg = np.zeros_like(x4)
avg[:, :, :6, :4] = dy.repeat(2, 2).repeat(2, 3) / 4
check("nn.avg_pool2d_grad(%x0, %x1, pool_size=[2, 2], strides=[2, 2])", [dy, x4], avg)
distinct = t.rng.permutation(240).reshape(2, 4, 6, 5).astype(f32)
greatest = (distinct[:, :, :, :4] == pool(distinct, [2, 2], [2, 2], [(0, 0)] * 2, "max").repeat(2, 2).repeat(2, 3))
grad = np.zeros_like(x4)
grad[:, :, :, :4] = dy.repeat(2, 2).repeat(2, 3) * greatest
check("nn.max_pool2d_grad(%x0, %x1, pool_size=[2, 2], strides=[2, 2])", [dy, distinct], grad)
dilated = np.full((3, 3, 7), 1.5, f32)
dilated[::2, :, ::3] = floats(2, 3, 3)
check("nn.dilate(%x0, strides=[2, 1, 3], dilation_value=1.5f)", [dilated[::2, :, ::3].copy()], dilated)
space = floats(2, 3, 4, 2)
batch = np.pad(space, [(0, 0), (1, 0), (0, 2), (0, 0)], constant_values=0.5).reshape(2, 2, 2, 2, 3, 2).transpose(2, 4, 0, 1, 3, 5).reshape(12, 2, 2, 2)
check("nn.space_to_batch_nd(%x0, block_shape=[2, 3], paddings=[[1, 0], [0, 2]], pad_value=0.5f)", [space], batch)
check("nn.batch_to_space_nd(%x0, block_shape=[2, 3], crops=[[1, 0], [0, 2]])", [batch.copy()], space)


def trilinear(x, size, place):
    for a, n in enumerate(size):
        x = sample(x.swapaxes(2 + a, -1), n, lambda k: place(k, n, x.shape[2 + a])).swapaxes(2 + a, -1)
    return x


later = {"lowered": True}
still = np.zeros((2, 12, 4, 4), f32)
check("nn.deformable_conv2d(%x0, %x1, %x2, channels=6, kernel_size=[3, 2])", [x4, still, w4], conv(x4, w4, [1, 1], [(0, 0)] * 2, [1, 1], 1), tol=1e-5, unknown=False, **later)
moved = np.zeros((2, 12, 6, 5), f32)
moved[:, 0::2] = 1   # a row further down
want = conv(np.pad(x4, [(0, 0), (0, 0), (0, 1), (0, 0)])[:, :, 1:], w4, [1, 1], [(0, 2), (0, 1)], [1, 1], 1)
check("nn.deformable_conv2d(%x0, %x1, %x2, padding=[0, 0, 2, 1])", [x4, moved, w4], want, tol=1e-5, unknown=False, **later)
check("image.resize3d(%x0, size=[6, 3, 5])", [x5], trilinear(x5, (6, 3, 5), half), tol=1e-5, **later)
check('nn.upsampling3d(%x0, scale_d=2f, scale_h=1f, scale_w=3f, coordinate_transformation_mode="asymmetric")', [x5], x5.repeat(2, 2).repeat(3, 4), **later)
check('nn.upsampling3d(%x0, scale_d=2f, scale_h=1f, scale_w=3f, method="trilinear")', [x5], trilinear(x5, (8, 5, 9), half), tol=1e-5, **later)
boxes = np.array([[[0, 0.5, 0, 0, 4, 4], [1, 0.1, 0, 0, 1, 1], [0, 0.9, 1, 0, 4, 4], [-1, 0.8, 5, 5, 9, 9], [1, 0.7, 5, 5, 9, 9]]], f32)
valid = boxes.copy()
valid[0, 1:] = np.stack([boxes[0, 2], boxes[0, 4], -np.ones(6), -np.ones(6)])
check("vision.get_valid_counts(%x0, 0.25f)", [boxes], np.array([3], "int32"), valid, np.array([[0, 2, 4, -1, -1]], "int32"), **later)
counted = [valid, np.array([3], "int32"), np.array([[0, 2, 4, -1, -1]], "int32")]
check("vision.non_max_suppression(%x0, %x1, %x2, -1, 0.5f)", counted, np.array([[2, 4, -1, -1, -1]], "int32"), np.array([[2]], "int32"), **later)
t.refused("vision.non_max_suppression(%x0, %x1, %x2, %x3, 0.5f)", [*counted, np.int32(3)], "RY27", "argument 4")
corner, scores = boxes[..., 2:].copy(), np.array([[[0.5, 0.1, 0.9, 0.8, 0.7]]], f32)
limits = [np.array([2], "int64"), np.array([0.5], f32), np.array([0.2], f32)]
check("vision.all_class_non_max_suppression(%x0, %x1, %x2, %x3, %x4).1", [corner, scores, *limits], np.array([2], "int64"), unknown=False, **later)
check("%0 = vision.all_class_non_max_suppression(%x0, %x1, %x2, %x3, %x4); strided_slice(%0.0, begin=[0], end=[2], axes=[0])", [corner, scores, *limits],
      np.array([[0, 0, 2], [0, 0, 3]], "int64"), unknown=False, **later)
lengths = np.array([1, 3, 0, 6], "int32")
masked = x4.transpose(1, 0, 2, 3).copy()   # (4, 2, ..)
check("sequence_mask(%x0, %x1, mask_value=9f, axis=1)", [masked, lengths], np.where(np.arange(2)[:, None, None] < lengths[:, None, None, None], masked, 9).astype(f32))
check("sequence_mask(%x0, %x1)", [x4, lengths], np.where(np.arange(2)[:, None] < lengths, 1, 0)[:, :, None, None].astype(f32) * x4)
some = np.array([5, 1, 5, 3, 1, 9], "int32")
values, first, inverse, number = np.unique(some, True, True, True)
as32 = lambda *v: [np.asarray(a).astype("int32") for a in v]
check("unique(%x0, sorted=True, return_counts=True)", [some], *as32(values, first, inverse, [4], number))
check("unique(%x0, sorted=False, return_counts=True)", [some], *as32([5, 1, 3, 9], [0, 1, 3, 5], [0, 1, 0, 2, 1, 3], [4], [2, 2, 1, 1]))
check("unique(%x0)", [some], *as32(values, first, inverse, [4]))
rising = np.array([1, 3, 3, 8], f32)
for right in (False, True):
    for dtype in ("int32", "int64"):
        check(f'searchsorted(%x0, %x1, right={right}, dtype="{dtype}")', [rising, np.array([[0, 3], [8, 9]], f32)], np.searchsorted(rising, [[0, 3], [8, 9]], "right" if right else "left").astype(dtype))
check("embedding(%x0, %x1)", [w, index[:, :2].copy()], w[index[:, :2]])
check("invert_permutation(%x0)", [np.array([2, 0, 3, 1], "int32")], np.array([1, 3, 0, 2], "int32"))
begin, end, by = np.array([0, -1, 1, 0]), np.array([2, -5, 5, 100]), np.array([1, -2, 2, 1])
check("dyn.strided_slice(%x0, %x1, %x2, %x3, begin=None, end=None)", [x4, begin, end, by], x4[0:2, -1:-5:-2, 1:5:2], unknown=False)
check('dyn.strided_slice(%x0, %x1, %x2, %x3, begin=None, end=None, slice_mode="size")', [x4, np.array([0, 1, 2, 3]), np.array([1, -1, 3, 2]), by], x4[:1, 1:, 2:5, 3:5], unknown=False)
check("dyn.tile(%x0, %x1, reps=[])", [x, np.array([2, 1, 3], "int32")], np.tile(x, (2, 1, 3)), unknown=False)
check("dyn.tile(%x0, %x1, reps=[])", [x, np.array([3], "int64")], np.tile(x, 3), unknown=False)
order = np.argsort(-tied, 1, kind="stable")
check("dyn.topk(%x0, %x1, k=None, axis=1)", [tied, np.array([2], "int64")], np.take_along_axis(tied, order, 1)[:, :2], order[:, :2].astype("int32"))
check('dyn.topk(%x0, 3, k=None, ret_type="indices", is_ascend=True)', [tied], np.argsort(tied, 2, kind="stable")[..., :3].astype("int32"))
check('dyn.one_hot(%x0, 2f, -1f, %x1, axis=1, dtype="float32")', [index, np.int32(5)], np.where(np.arange(5)[None, :, None] == index[:, None], 2, -1).astype(f32))
check("dyn.nn.upsampling(%x0, %x1, %x2, scale_h=1f, scale_w=1f)", [x4, np.float32(2), np.float32(3)], up)
check("dyn.nn.upsampling(%x0, 2f, 3f, scale_h=1f, scale_w=1f)", [x4], up)
check("dyn.image.resize2d(%x0, %x1, %x2, size=None)", [x4, np.array([8, 3], "int64"), np.zeros(4, f32)], linear(x4, 8, 3, half), tol=1e-5, unknown=False)

# ---- what Relax cannot say: by name, with the reason
for name, words in (("random.uniform", "random numbers"), ("nn.sparse_dense", "sparse"), ("stft", "yet"), ("nn.contrib_dense_pack", "schedule"), ("nn.bitpack", "packed bits"),
                    ("dyn.squeeze", "only known when it runs")):
    t.refused(f"{name}(%x0)", [x], "RY21", name, words)
t.refused("vm.shape_of(%x0)", [x], "RY27", "vm.shape_of", "later stage")

# ---- every row
for name, refused in operators().items():
    t.said(refused or name in t.seen, f"{name}: no case")
t.finish()
