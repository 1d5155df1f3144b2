"""Cases of numbers.txt for windows: convolutions, pooling, and what else works on images. gen_numbers.py calls add()."""
import itertools, math
from fractions import Fraction
import numpy as np

rng = np.random.RandomState(23)
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def numbers(*shape):
    return rng.randint(-9, 9, shape).astype(np.float32) / np.float32(4)


def add(case, as_float, FLOATS, Text):
    convolutions(case, as_float, FLOATS, Text)
    transposed(case, Text)
    pools(case, as_float, FLOATS, Text)
    adaptive(case, Text)
    pool_gradients(case, as_float, FLOATS, Text)
    sums(case, as_float, FLOATS, Text)
    quantised(case)
    resizing(case, as_float, FLOATS, Text)
    transposed_by_phases(case, as_float, FLOATS, Text)
    transposed_more(case, as_float, FLOATS, Text)


def relaid(x, have, want):
    return np.transpose(x, [have.index(c) for c in want])


def blocked(x, axis, k):
    """Axis split: its part of k goes last."""
    shape = list(x.shape)
    shape[axis:axis + 1] = [shape[axis] // k, k]
    return np.moveaxis(x.reshape(shape), axis + 1, -1)


def full(v, n):
    return [v] * n if isinstance(v, int) else list(v)


def both_sides(p, n):
    p = [p] * (2 * n) if isinstance(p, int) else list(p)
    return p * 2 if len(p) == n else p


# ---- convolutions -------------------------------------------------------------------------------------------
def conv(x, w, strides=1, padding=0, dilation=1, groups=1):
    n = x.ndim - 2
    s, d, p = full(strides, n), full(dilation, n), both_sides(padding, n)
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0)] + [(p[i], p[i + n]) for i in range(n)])
    w = w.astype(np.float64)
    size = [(x.shape[2 + i] - d[i] * (w.shape[2 + i] - 1) - 1) // s[i] + 1 for i in range(n)]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    per = w.shape[0] // groups
    for o in range(w.shape[0]):
        first = o // per * w.shape[1]
        for at in itertools.product(*map(range, size)):
            part = x[(slice(None), slice(first, first + w.shape[1])) + tuple(slice(a * s[i], a * s[i] + d[i] * (w.shape[2 + i] - 1) + 1, d[i]) for i, a in enumerate(at))]
            out[(slice(None), o) + at] = (part * w[o]).reshape(part.shape[0], -1).sum(1)
    return out


def convolutions(case, as_float, FLOATS, Text):
    for dtype, (_, tol) in FLOATS.items():
        x, w = as_float(dtype, numbers(2, 3, 5, 6)), as_float(dtype, numbers(4, 3, 3, 2))
        for more in ({}, {"padding": [1]}, {"strides": [2, 1], "padding": [1, 0, 2, 1]}, {"dilation": [2, 2], "padding": [1, 2]}):
            case("nn.conv2d", [(dtype, x), (dtype, w)], (dtype, as_float(dtype, conv(x, w, **{k: v[0] if len(v) == 1 else v for k, v in more.items()}))), tol * 16, **more)
    x, w = numbers(2, 4, 5, 6), numbers(6, 2, 3, 3)
    want = conv(x, w, padding=1, groups=2)
    args = [("float32", x), ("float32", w)]
    case("nn.conv2d", args, ("float32", want), 1e-5, padding=[1], groups=2)
    x, w = numbers(1, 3, 4, 4), numbers(6, 1, 2, 2)
    case("nn.conv2d", [("float32", x), ("float32", w)], ("float32", conv(x, w, groups=3)), 1e-5, groups=3)
    x, w = numbers(2, 4, 5, 6), numbers(3, 4, 3, 2)
    want = conv(x, w, strides=[1, 2], padding=[0, 1])
    case("nn.conv2d", [("float32", relaid(x, "NCHW", "NHWC")), ("float32", relaid(w, "OIHW", "HWIO"))], ("float32", relaid(want, "NCHW", "NHWC")), 1e-5,
         strides=[1, 2], padding=[0, 1], data_layout=Text("NHWC"), kernel_layout=Text("HWIO"))
    case("nn.conv2d", [("float32", relaid(x, "NCHW", "NHWC")), ("float32", w)], ("float32", want), 1e-5, strides=[1, 2], padding=[0, 1],
         data_layout=Text("NHWC"), out_layout=Text("NCHW"))
    x4, w = numbers(2, 4, 4, 4), numbers(4, 4, 3, 3)
    want = conv(x4, w)
    case("nn.conv2d", [("float32", blocked(x4, 1, 2)), ("float32", w)], ("float32", blocked(want, 1, 2)), 1e-5, data_layout=Text("NCHW2c"))
    x, w = (numbers(1, 2, 4, 4) * 8).astype(np.int8), (numbers(2, 2, 2, 2) * 8).astype(np.int8)
    case("nn.conv2d", [("int8", x), ("int8", w)], ("int32", conv(x, w, padding=1).astype(np.int32)), padding=[1], out_dtype="int32")
    case("nn.conv2d", [("float32", numbers(0, 2, 4, 4)), ("float32", numbers(3, 2, 2, 2))], ("float32", np.zeros((0, 3, 3, 3))))
    case("nn.conv2d", [("float32", numbers(1, 0, 4, 4)), ("float32", numbers(3, 0, 2, 2))], ("float32", np.zeros((1, 3, 3, 3))))
    for x, w, op in ((numbers(2, 3, 9), numbers(4, 3, 3), "nn.conv1d"), (numbers(1, 2, 4, 5, 3), numbers(3, 2, 2, 3, 2), "nn.conv3d")):
        case(op, [("float32", x), ("float32", w)], ("float32", conv(x, w, strides=2, padding=1)), 1e-5, strides=[2], padding=[1])
        case(op, [("float32", x), ("float32", w)], ("float32", conv(x, w)), 1e-5)
    case("nn.conv2d", [("float32", numbers(1, 3, 4, 4)), ("float32", numbers(3, 2, 2, 2))], "RT05", loose=True)
    case("nn.conv2d", [("float32", numbers(1, 3, 4, 4)), ("float32", numbers(2, 2, 2, 2))], "RT05", loose=True, groups=2)


def spread(x, w, strides, padding, output_padding, dilation, groups):
    """Transposed: every element of data adds a scaled kernel to the result; the padding is cut off."""
    n = x.ndim - 2
    s, d, p, more = full(strides, n), full(dilation, n), both_sides(padding, n), full(output_padding, n)
    reach = [(x.shape[2 + i] - 1) * s[i] + d[i] * (w.shape[2 + i] - 1) + 1 for i in range(n)]
    out = np.zeros((x.shape[0], w.shape[0] * groups, *[r + m for r, m in zip(reach, more)]))
    inputs = x.shape[1] // groups
    for g, o, c in itertools.product(range(groups), range(w.shape[0]), range(inputs)):
        for at in itertools.product(*map(range, x.shape[2:])):
            for k in itertools.product(*map(range, w.shape[2:])):
                place = tuple(a * s[i] + k[i] * d[i] for i, a in enumerate(at))
                out[(slice(None), g * w.shape[0] + o) + place] += x[(slice(None), g * inputs + c) + at].astype(float) * float(w[(o, g * inputs + c) + k])
    cut = tuple(slice(p[i], out.shape[2 + i] - p[i + n]) for i in range(n))
    return out[(slice(None), slice(None)) + cut]


def transposed(case, Text):
    for shape, kernel in (((2, 3, 4, 3), (2, 3, 3, 2)), ((1, 2, 5), (3, 2, 4))):
        n = len(shape) - 2
        x, w = numbers(*shape), numbers(*kernel)
        for s, p, m, d in ((1, 0, 0, 1), (2, 0, 0, 1), (2, 1, 1, 1), (3, [1, 0, 0, 1][: 2 * n] if n == 2 else [2, 1], 2, 2)):
            want = spread(x, w, s, p, m, d, 1)
            stored = relaid(w, "OI" + SPATIAL[n], "IO" + SPATIAL[n])
            case(f"nn.conv{n}d_transpose", [("float32", x), ("float32", stored)], ("float32", want), 1e-5, strides=[s], padding=p if isinstance(p, list) else [p],
                 output_padding=[m], dilation=[d])
    x, w = numbers(1, 4, 3, 3), numbers(2, 4, 2, 2)
    case("nn.conv2d_transpose", [("float32", x), ("float32", relaid(w, "OIHW", "IOHW"))], ("float32", spread(x, w, 2, 0, 0, 1, 2)), 1e-5, strides=[2], groups=2)


def transposed_by_phases(case, as_float, FLOATS, Text):
    """Kernels whose extents are multiples of the strides; last, so that the numbers of other cases stay."""
    for shape, kernel in (((2, 3, 4, 3), (2, 3, 4, 2)), ((1, 2, 5), (3, 2, 6)), ((1, 2, 2, 3, 2), (2, 2, 2, 4, 2))):
        n = len(shape) - 2
        x, w = numbers(*shape), numbers(*kernel)
        stored = relaid(w, "OI" + SPATIAL[n], "IO" + SPATIAL[n])
        for p, m in ((0, 0), (0, 1), (1, 0), (1, 1)):
            case(f"nn.conv{n}d_transpose", [("float32", x), ("float32", stored)], ("float32", spread(x, w, 2, p, m, 1, 1)), 1e-5, strides=[2], padding=[p],
                 output_padding=[m])
    x, w = numbers(1, 3, 4, 5), numbers(2, 3, 3, 2)
    stored = relaid(w, "OIHW", "IOHW")
    for s, p, m in (([3, 1], [0, 0, 0, 0], [0, 0]), ([3, 2], [2, 1, 0, 0], [1, 1]), ([1, 2], [0, 3, 1, 2], [0, 1]), ([3, 2], [4, 0, 3, 1], [2, 0])):
        case("nn.conv2d_transpose", [("float32", x), ("float32", stored)], ("float32", spread(x, w, s, p, m, 1, 1)), 1e-5, strides=s, padding=p, output_padding=m)
    want = spread(x, w, [3, 2], [2, 1, 0, 0], [1, 1], 1, 1)
    case("nn.conv2d_transpose", [("float32", relaid(x, "NCHW", "NHWC")), ("float32", relaid(w, "OIHW", "HWIO"))], ("float32", relaid(want, "NCHW", "NHWC")), 1e-5,
         strides=[3, 2], padding=[2, 1, 0, 0], output_padding=[1, 1], data_layout=Text("NHWC"), kernel_layout=Text("HWIO"))
    for dtype, (_, tol) in FLOATS.items():
        x, w = as_float(dtype, numbers(1, 4, 3, 3)), as_float(dtype, numbers(2, 4, 2, 2))
        for groups in (1, 2):
            case("nn.conv2d_transpose", [(dtype, x), (dtype, relaid(w, "OIHW", "IOHW"))], (dtype, as_float(dtype, spread(x, w, 2, 0, 0, 1, groups))), tol * 16, strides=[2],
                 groups=groups)
            case("nn.conv2d_transpose", [(dtype, x), (dtype, relaid(w, "OIHW", "IOHW"))], (dtype, as_float(dtype, spread(x, w, 2, 1, 1, 1, groups))), tol * 16, strides=[2],
                 padding=[1], output_padding=[1], groups=groups)
    hit = np.array([[[[np.inf, 1], [2, 3]]]], np.float32)
    case("nn.conv2d_transpose", [("float32", hit), ("float32", np.ones((1, 1, 2, 2), np.float32))], ("float32", spread(hit, np.ones((1, 1, 2, 2)), 2, 0, 0, 1, 1)), strides=[2])
    for shape in ((0, 2, 3, 3), (1, 0, 3, 3)):
        w = numbers(3, shape[1], 2, 2)
        case("nn.conv2d_transpose", [("float32", numbers(*shape)), ("float32", relaid(w, "OIHW", "IOHW"))], ("float32", np.zeros((shape[0], 3, 6, 6))), strides=[2])
    # phases of different numbers of steps; all of a result's places at once, and not
    for shape, kernel, s in (((2, 3, 4, 3), (2, 3, 3, 5), [2, 2]), ((1, 2, 6), (3, 2, 7), [3]), ((1, 2, 2, 3, 3), (2, 2, 3, 2, 3), [2, 1, 2])):
        n = len(shape) - 2
        x, w = numbers(*shape), numbers(*kernel)
        stored = relaid(w, "OI" + SPATIAL[n], "IO" + SPATIAL[n])
        for p, m in ((0, 0), ([1] * n + [0] * n, 0), (1, [v - 1 for v in s])):
            case(f"nn.conv{n}d_transpose", [("float32", x), ("float32", stored)], ("float32", spread(x, w, s, p, m, 1, 1)), 1e-5, strides=s,
                 padding=p if isinstance(p, list) else [p], output_padding=m if isinstance(m, list) else [m])
    w = numbers(1, 1, 3, 3)
    case("nn.conv2d_transpose", [("float32", hit), ("float32", w)], ("float32", spread(hit, w, 2, 0, 0, 1, 1)), 1e-5, strides=[2])


def transposed_more(case, as_float, FLOATS, Text):
    """Phases by places, which many channels have; data of one element along each axis, which meets the kernel alone."""
    for shape, kernel, s in (((2, 1, 3, 2), (33, 1, 4, 2), [2, 2]), ((1, 2, 5), (32, 2, 3), [2]), ((1, 2, 2, 2), (32, 2, 3, 3), [2, 2]), ((1, 1, 1, 2, 2), (32, 1, 2, 2, 1), [2, 2, 1])):
        n = len(shape) - 2
        x, w = numbers(*shape), numbers(*kernel)
        stored = relaid(w, "OI" + SPATIAL[n], "IO" + SPATIAL[n])
        for p, m in (([1] * n * 2, [v - 1 for v in s]), ([1] * n * 2, [0] * n), ([1] * n + [0] * n, [0] * n), ([0] * n + [1] * n, [0] * n)):
            if all(v > 1 for v in w.shape[2:]) or not any(p):
                case(f"nn.conv{n}d_transpose", [("float32", x), ("float32", stored)], ("float32", spread(x, w, s, p, m, 1, 1)), 1e-5, strides=s, padding=p, output_padding=m)
    x, w = numbers(1, 2, 2, 2), numbers(32, 2, 4, 2)
    case("nn.conv2d_transpose", [("float32", relaid(x, "NCHW", "NHWC")), ("float32", relaid(w, "OIHW", "HWIO"))], ("float32", relaid(spread(x, w, 2, 1, 0, 1, 2), "NCHW", "NHWC")), 1e-5,
         strides=[2], padding=[1], groups=2, data_layout=Text("NHWC"), kernel_layout=Text("HWIO"))
    for batch, channels, outputs, size in ((1, 3, 2, [2, 3]), (3, 2, 40, [3]), (2, 5, 9, [2, 2, 3])):
        n = len(size)
        x, w = numbers(batch, channels, *[1] * n), numbers(outputs, channels, *size)
        stored = relaid(w, "OI" + SPATIAL[n], "IO" + SPATIAL[n])
        for s, p in ((1, [0] * 2 * n), (3, [1] + [0] * (2 * n - 1)), (2, [0] * (2 * n - 1) + [1])):
            case(f"nn.conv{n}d_transpose", [("float32", x), ("float32", stored)], ("float32", spread(x, w, s, p, 0, 1, 1)), 1e-5, strides=[s], padding=p)
        case(f"nn.conv{n}d_transpose", [("float32", x), ("float32", stored)], ("float32", spread(x, w, 2, 0, 1, 1, 1)), 1e-5, strides=[2], output_padding=[1])
    for dtype, (_, tol) in FLOATS.items():
        x, w = as_float(dtype, numbers(2, 4, 1, 1)), as_float(dtype, numbers(3, 4, 2, 2))
        for groups in (1, 2):
            case("nn.conv2d_transpose", [(dtype, x), (dtype, relaid(w, "OIHW", "IOHW"))], (dtype, as_float(dtype, spread(x, w, 1, 0, 0, 1, groups))), tol * 16, groups=groups)
    x, w = numbers(2, 3, 1, 1), numbers(4, 3, 3, 2)
    case("nn.conv2d_transpose", [("float32", relaid(x, "NCHW", "NHWC")), ("float32", relaid(w, "OIHW", "HWIO"))], ("float32", relaid(spread(x, w, 1, [1, 0, 0, 0], 0, 1, 1), "NCHW", "NHWC")), 1e-5,
         padding=[1, 0, 0, 0], data_layout=Text("NHWC"), kernel_layout=Text("HWIO"))
    for shape in ((0, 2, 1, 1), (1, 0, 1, 1)):
        w = numbers(3, shape[1], 2, 2)
        case("nn.conv2d_transpose", [("float32", numbers(*shape)), ("float32", relaid(w, "OIHW", "IOHW"))], ("float32", np.zeros((shape[0], 3, 2, 2))))


# ---- pooling ----------------------------------------------------------------------------------------------------
def pool(x, size, strides=1, padding=0, dilation=1, ceil_mode=False, count_include_pad=False, op="avg"):
    n = x.ndim - 2
    k, s, d, p = full(size, n), full(strides, n), full(dilation, n), both_sides(padding, n)
    out = []
    for i in range(n):
        room = x.shape[2 + i] + p[i] + p[i + n] - d[i] * (k[i] - 1) - 1
        count = (room + (s[i] - 1 if ceil_mode else 0)) // s[i] + 1
        out.append(min(count, (x.shape[2 + i] + p[i] - 1) // s[i] + 1) if ceil_mode else count)
    result = np.zeros(x.shape[:2] + tuple(out))
    for at in itertools.product(*map(range, out)):
        taken, padded = [], 0
        for step in itertools.product(*map(range, k)):
            place = [at[i] * s[i] - p[i] + step[i] * d[i] for i in range(n)]
            if all(0 <= place[i] < x.shape[2 + i] for i in range(n)):
                taken.append(x[(slice(None), slice(None)) + tuple(place)].astype(np.float64))
            padded += all(-p[i] <= place[i] < x.shape[2 + i] + p[i + n] for i in range(n))
        if op == "max":
            result[(slice(None), slice(None)) + at] = np.max(taken, 0)
        else:
            result[(slice(None), slice(None)) + at] = np.sum(taken, 0) / (padded if count_include_pad else len(taken))
    return result


def pools(case, as_float, FLOATS, Text):
    options = [dict(pool_size=[2]), dict(pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 1]), dict(pool_size=[2], strides=[3], ceil_mode=True),
               dict(pool_size=[3], strides=[2], padding=[1], ceil_mode=True), dict(pool_size=[2], dilation=[2]), dict(pool_size=[2], dilation=[3], padding=[1])]
    for dtype, (_, tol) in FLOATS.items():
        x = as_float(dtype, numbers(2, 2, 6, 7))
        for more in options:
            one = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in more.items() if k != "pool_size"}
            size = more["pool_size"] if len(more["pool_size"]) > 1 else more["pool_size"][0]
            case("nn.max_pool2d", [(dtype, x)], (dtype, as_float(dtype, pool(x, size, op="max", **one))), **more)
            for count in (False, True):
                case("nn.avg_pool2d", [(dtype, x)], (dtype, as_float(dtype, pool(x, size, count_include_pad=count, **one))), tol * 4, count_include_pad=count, **more)
    x = numbers(2, 3, 5, 4)
    want = pool(x, 2, 2, 1, op="max")
    case("nn.max_pool2d", [("float32", relaid(x, "NCHW", "NHWC"))], ("float32", relaid(want, "NCHW", "NHWC")), pool_size=[2], strides=[2], padding=[1], layout=Text("NHWC"))
    x[0, 0, 1, 1] = np.nan
    case("nn.max_pool2d", [("float32", x)], ("float32", pool(x, 2, op="max")), pool_size=[2])
    for dtype in ("int8", "uint8", "int32", "int64"):
        x = (numbers(1, 2, 4, 5) * 4 + (9 if dtype[0] == "u" else 0)).astype(np.int64).astype(dtype)
        case("nn.max_pool2d", [(dtype, x)], (dtype, pool(x, 2, padding=1, op="max")), pool_size=[2], padding=[1])
        case("nn.avg_pool2d", [(dtype, x)], (dtype, np.trunc(pool(x, 2))), pool_size=[2])
    for x, n in ((numbers(2, 2, 9), 1), (numbers(1, 2, 4, 5, 3), 3)):
        case(f"nn.max_pool{n}d", [("float32", x)], ("float32", pool(x, 2, 2, 1, op="max")), pool_size=[2], strides=[2], padding=[1])
        case(f"nn.avg_pool{n}d", [("float32", x)], ("float32", pool(x, 2, 2, 1)), 1e-6, pool_size=[2], strides=[2], padding=[1])
    case("nn.max_pool2d", [("float32", numbers(0, 2, 4, 4))], ("float32", np.zeros((0, 2, 3, 3))), pool_size=[2])


def pool_gradient(g, x, size, strides=1, padding=0, dilation=1, count_include_pad=False, op="avg", ceil_mode=False):
    """Each window hands its gradient to its elements: by equal shares, or to the first greatest."""
    n = x.ndim - 2
    k, s, d, p = full(size, n), full(strides, n), full(dilation, n), both_sides(padding, n)
    out, g = np.zeros(x.shape), g.astype(np.float64)
    for at in itertools.product(*map(range, g.shape)):
        inside, padded = [], 0
        for step in itertools.product(*map(range, k)):
            place = [at[2 + i] * s[i] - p[i] + step[i] * d[i] for i in range(n)]
            if all(0 <= place[i] < x.shape[2 + i] for i in range(n)):
                inside.append(at[:2] + tuple(place))
            padded += all(-p[i] <= place[i] < x.shape[2 + i] + p[i + n] for i in range(n))
        if op == "max" and inside:
            out[inside[int(np.argmax([x[q] for q in inside]))]] += g[at]
        for q in inside if op == "avg" else ():
            share = g[at] / (padded if count_include_pad else len(inside))
            out[q] += share if x.dtype.kind == "f" else np.trunc(share)
    return out


def pool_gradients(case, as_float, FLOATS, Text):
    options = [dict(pool_size=[2]), dict(pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 1]), dict(pool_size=[2], strides=[3], ceil_mode=True), dict(pool_size=[3], strides=[2], padding=[1], ceil_mode=True),
               dict(pool_size=[2], dilation=[2]), dict(pool_size=[2], dilation=[3], padding=[1]), dict(pool_size=[1], padding=[2]), dict(pool_size=[6, 7])]
    for dtype, (_, tol) in FLOATS.items():
        x = as_float(dtype, numbers(1, 2, 6, 7))
        for more in options:
            one = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in more.items() if k != "pool_size"}
            size = more["pool_size"] if len(more["pool_size"]) > 1 else more["pool_size"][0]
            with np.errstate(all="ignore"):
                shape = (pool(x, size, count_include_pad=True, **one) if more["pool_size"] != [1] else np.zeros((1, 2, 10, 11))).shape
            g = as_float(dtype, numbers(*shape))
            case("grad.max_pool2d_backward", [(dtype, g), (dtype, x)], (dtype, as_float(dtype, pool_gradient(g, x, size, op="max", **one))), tol * 8, **more)
            for count in (False, True):
                want = pool_gradient(g, x, size, count_include_pad=count, **one)
                case("grad.avg_pool2d_backward", [(dtype, g), (dtype, x)], (dtype, as_float(dtype, want)), tol * 8, count_include_pad=count, **more)
    x, g = numbers(2, 4, 5, 4), numbers(2, 4, 3, 3)
    for op in ("max", "avg"):
        want = pool_gradient(g, x, 2, 2, 1, op=op)
        more = dict(pool_size=[2], strides=[2], padding=[1])
        case(f"grad.{op}_pool2d_backward", [("float32", relaid(g, "NCHW", "NHWC")), ("float32", relaid(x, "NCHW", "NHWC"))], ("float32", relaid(want, "NCHW", "NHWC")), 1e-6, layout=Text("NHWC"), **more)
        case(f"grad.{op}_pool2d_backward", [("float32", blocked(g, 1, 2)), ("float32", blocked(x, 1, 2))], ("float32", blocked(want, 1, 2)), 1e-6, layout=Text("NCHW2c"), **more)
        case(f"grad.{op}_pool2d_backward", [("float32", g), ("float32", relaid(x, "NCHW", "NHWC"))], ("float32", relaid(want, "NCHW", "NHWC")), 1e-6, layout=Text("NHWC"),
             out_layout=Text("NCHW"), **more)
        case(f"grad.{op}_pool2d_backward", [("float32", g[:0]), ("float32", x[:0])], ("float32", x[:0]), **more)
        case(f"grad.{op}_pool2d_backward", [("float32", g[:, :, :2]), ("float32", x)], "RT05", **more)
        case(f"grad.{op}_pool2d_backward", [("float32", g[:, :3]), ("float32", x)], "RT05", **more)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        x, g = ((numbers(*v) * 4 + (9 if dtype[0] == "u" else 0)).astype(np.int64).astype(dtype) for v in ((1, 2, 4, 5), (1, 2, 5, 6)))
        g = (g.astype(np.int64) // 2).astype(dtype) if dtype[0] == "i" else (g // 8).astype(dtype)
        for op in ("max", "avg"):
            want = pool_gradient(g, x, 2, padding=1, op=op).astype(np.int64).astype(dtype)
            case(f"grad.{op}_pool2d_backward", [(dtype, g), (dtype, x)], (dtype, want), pool_size=[2], padding=[1])
    x = np.array([[[[1, 1, np.nan], [1, -np.inf, np.nan], [-np.inf, -np.inf, 2]]]], np.float32)
    g = np.array([[[[1, 2], [4, 8]]]], np.float32)
    case("grad.max_pool2d_backward", [("float32", g), ("float32", x)], ("float32", np.array([[[[1, 0, 2], [4, 0, 8], [0, 0, 0]]]])), pool_size=[2])
    x = np.full((1, 1, 2, 2), -np.inf, np.float32)
    case("grad.max_pool2d_backward", [("float32", g[:, :, :1, :1]), ("float32", x)], ("float32", np.array([[[[1, 0], [0, 0]]]])), pool_size=[2])


def adaptive(case, Text):
    for x, size in ((numbers(2, 2, 7), [3]), (numbers(1, 2, 5, 7), [2, 3]), (numbers(1, 2, 5, 7), [1, 1]), (numbers(1, 2, 2, 3), [4, 5]), (numbers(1, 1, 3, 4, 5), [2, 2, 2]),
                    (numbers(1, 2, 5, 7), None)):
        n = x.ndim - 2
        out = size or list(x.shape[2:])
        want = np.zeros(x.shape[:2] + tuple(out))
        for at in itertools.product(*map(range, out)):
            part = tuple(slice(at[i] * x.shape[2 + i] // out[i], -(-(at[i] + 1) * x.shape[2 + i] // out[i])) for i in range(n))
            want[(slice(None), slice(None)) + at] = x[(slice(None), slice(None)) + part].astype(np.float64).reshape(x.shape[0], x.shape[1], -1).mean(-1)
        case(f"nn.adaptive_avg_pool{n}d", [("float32", x)], ("float32", want), 1e-6, output_size=size)
    x = numbers(1, 2, 5, 7)
    case("nn.adaptive_avg_pool2d", [("float32", relaid(x, "NCHW", "NHWC"))], ("float32", relaid(x.astype(np.float64).mean((2, 3), keepdims=True), "NCHW", "NHWC")), 1e-6,
         output_size=[1], layout=Text("NHWC"))


# ---- einsum, quantisation ----------------------------------------------------------------------------------------
def sums(case, as_float, FLOATS, Text):
    for text, *shapes in (("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("ij->ji", (2, 3)), ("ij->", (2, 3)),
                          ("...ij,...jk->...ik", (2, 2, 3), (3, 4)), ("...i,i...->...", (2, 3, 4), (4, 2, 3)), ("bnsh,bnth->bnst", (2, 2, 3, 4), (2, 2, 5, 4)),
                          ("i,j,k->ijk", (2,), (3,), (2,)), ("ij,ij->j", (2, 3), (1, 3)), ("i,->i", (3,), ()), ("ij,jk->ik", (2, 0), (0, 3)), ("ba", (2, 3)),
                          ("a...b->b...", (2, 3, 4))):
        xs = [numbers(*v) for v in shapes]
        want = np.einsum(text, *[x.astype(np.float64) for x in xs])
        case("einsum", [("float32", x) for x in xs], ("float32", want), 1e-5, subscripts=Text(text.replace(" ", "")))
    for dtype, (_, tol) in FLOATS.items():
        xs = [as_float(dtype, numbers(2, 3)), as_float(dtype, numbers(3, 4))]
        case("einsum", [(dtype, x) for x in xs], (dtype, as_float(dtype, np.einsum("ij,jk->ik", *[x.astype(np.float64) for x in xs]))), tol * 8, subscripts=Text("ij,jk->ik"))
    xs = [(numbers(2, 3) * 4).astype(np.int32), (numbers(3, 4) * 4).astype(np.int32)]
    case("einsum", [("int32", x) for x in xs], ("int32", xs[0] @ xs[1]), subscripts=Text("ij,jk->ik"))
    case("einsum", [("float32", numbers(2, 3)), ("float32", numbers(2, 4))], "RT05", loose=True, subscripts=Text("ij,jk->ik"))


def quantised(case):
    x = np.array([[0.5, 1.5, -2.5, 100], [-1000, 1000, np.nan, 0.26]], np.float32)
    for dtype in ("int8", "uint8", "int16", "uint16"):
        i = np.iinfo(dtype)
        for scale, zero, axis in ((np.float32(0.5), np.int8(3), -1), (np.array([0.5, 0.25, 1, 2], np.float32), np.array([0, 1, -2, 3], np.int8), 1),
                                  (np.array([2, 0.25], np.float32), np.int8(-1), 0)):
            s, z = ((v.reshape(-1, 1) if axis == 0 and v.ndim else v) for v in (np.asarray(scale), np.asarray(zero)))
            want = np.clip(np.nan_to_num(np.rint(x.astype(np.float64) / s) + z, nan=0.0), i.min, i.max)
            case("quantize", [("float32", x), ("float32", scale), ("int8", zero)], (dtype, want.astype(dtype)), out_dtype=dtype, axis=axis)
            q = want.astype(dtype)
            case("dequantize", [(dtype, q), ("float32", scale), ("int8", zero)], ("float32", (q.astype(np.float64) - z) * s), 1e-6, out_dtype="float32", axis=axis)
    case("dequantize", [("int8", np.array([-128, 5], np.int8)), ("float16", np.float16(0.5)), ("int8", np.int8(1))], ("float16", np.array([-64.5, 2])), out_dtype="float16")


# ---- images at another size ----------------------------------------------------------------------------------------
def place(o, have, want, mode, begin, end):
    """Where place o of `want` lies among `have` elements, as a fraction."""
    half = Fraction(2 * o + 1, 2) * have / want - Fraction(1, 2)
    if mode == "tf_crop_and_resize":
        begin, end = Fraction(begin), Fraction(end)
        return begin * (have - 1) + o * (end - begin) * (have - 1) / (want - 1) if want > 1 else (begin + end) / 2 * (have - 1)
    return {"half_pixel": half, "align_corners": Fraction(o * (have - 1), max(want - 1, 1)), "asymmetric": Fraction(o * have, want),
            "pytorch_half_pixel": half if want > 1 else Fraction(0), "tf_half_pixel_for_nn": half + Fraction(1, 2)}[mode]


def cubic(d, a):
    """The cubic convolution kernel at distance d."""
    d = abs(d)
    return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0


def shares(at, have, method, rounding, alpha, exclude):
    """Elements of an axis and their shares."""
    low = math.floor(at)
    if method == "nearest_neighbor":
        up = {"floor": 0, "ceil": at > low, "round": at - low > Fraction(1, 2), "round_prefer_floor": at - low > Fraction(1, 2), "round_prefer_ceil": at - low >= Fraction(1, 2)}[rounding]
        taps = [(low + int(up), 1.0)]
    elif method == "linear":
        taps = [(low, float(1 - (at - low))), (low + 1, float(at - low))]
    else:
        taps = [(i, cubic(float(at - i), alpha)) for i in range(low - 1, low + 3)]
        if exclude:
            taps = [(i, w if 0 <= i < have else 0.0) for i, w in taps]
            taps = [(i, w / sum(v for _, v in taps)) for i, w in taps]
    return [(min(max(i, 0), have - 1), w) for i, w in taps]


def resize(x, size, method="linear", mode="half_pixel", rounding="round", alpha=-0.5, exclude=0, roi=(0, 0, 0, 0), fill=0.0):
    out = np.zeros(x.shape[:2] + tuple(size))
    for y, z in itertools.product(*map(range, size)):
        at = [place(o, x.shape[2 + i], size[i], mode, roi[i], roi[2 + i]) for i, o in enumerate((y, z))]
        if mode == "tf_crop_and_resize" and any(a < 0 or a > x.shape[2 + i] - 1 for i, a in enumerate(at)):
            out[:, :, y, z] = fill
            continue
        rows, columns = (shares(a, x.shape[2 + i], method, rounding, alpha, exclude) for i, a in enumerate(at))
        out[:, :, y, z] = sum(v * w * x[:, :, i, k].astype(np.float64) for i, v in rows for k, w in columns)
    return out


def resizing(case, as_float, FLOATS, Text):
    MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize")

    def both(x, size, tol, dtype="float32", want=None, **more):
        words = {"method": "method", "mode": "coordinate_transformation_mode", "rounding": "rounding_method", "alpha": "cubic_alpha", "exclude": "cubic_exclude", "fill": "extrapolation_value"}
        attrs = {words.get(k, k): Text(v) if isinstance(v, str) else list(map(float, v)) if k == "roi" else v for k, v in more.items()}
        w = resize(x, size, **more)
        case("image.resize2d", [(dtype, x), ("shape", size)], (dtype, w if want is None else want(w)), tol, **attrs)

    x = numbers(1, 2, 4, 5) + 5     # nothing cancels out
    for mode in MODES:
        roi = (0.25, 0, 0.75, 1) if mode == MODES[-1] else (0, 0, 0, 0)
        for size in ((8, 7), (3, 2), (4, 5), (1, 1), (7, 3)):
            for rounding in ("round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
                both(x, size, 0.0, method="nearest_neighbor", mode=mode, rounding=rounding, roi=roi)
            both(x, size, 2e-6, method="linear", mode=mode, roi=roi)
            for alpha, exclude in ((-0.5, 0), (-0.75, 0), (-0.75, 1)):
                both(x, size, 2e-5, method="cubic", mode=mode, alpha=alpha, exclude=exclude, roi=roi)
    # many short slices: they stand with the axis in front; whole factors
    many = numbers(1, 9, 4, 5) + 5
    for mode in MODES[:-1]:
        for size in ((8, 10), (2, 15), (5, 3)):
            for method in ("nearest_neighbor", "linear", "cubic"):
                both(many, size, 2e-5, method=method, mode=mode)
                if size[0] == 8:
                    case("image.resize2d", [("float32", relaid(many, "NCHW", "NHWC")), ("shape", size)], ("float32", relaid(resize(many, size, method, mode), "NCHW", "NHWC")), 2e-5,
                         method=Text(method), layout=Text("NHWC"), coordinate_transformation_mode=Text(mode))
    for method in ("nearest_neighbor", "linear", "cubic"):
        both(x, (6, 7), 2e-5, method=method, mode="tf_crop_and_resize", roi=(-0.5, 0.25, 1.5, 1.25), fill=7.5)
        both(x, (1, 4), 2e-5, method=method, mode="tf_crop_and_resize", roi=(0.5, 1, 0.25, 0), fill=7.5)
        both(x[:, :, :1, :1], (3, 2), 2e-6, method=method)
        both(x[:0], (3, 2), 0.0, method=method)
        both(x[:, :0], (3, 2), 0.0, method=method)
        case("image.resize2d", [("float32", x), ("shape", (0, 4))], ("float32", np.zeros((1, 2, 0, 4))), method=Text(method))
        case("image.resize2d", [("float32", x[:, :, :0]), ("shape", (2, 2))], "RT09", method=Text(method))
        want = resize(x, (6, 3), method)
        case("image.resize2d", [("float32", relaid(x, "NCHW", "NHWC")), ("shape", (6, 3))], ("float32", relaid(want, "NCHW", "NHWC")), 2e-5, method=Text(method), layout=Text("NHWC"))
        case("image.resize2d", [("float32", blocked(x, 1, 2)), ("shape", (6, 3))], ("float32", blocked(want, 1, 2)), 2e-5, method=Text(method), layout=Text("NCHW2c"))
        case("image.resize2d", [("float32", x), ("shape", (6, 3))], ("float64", np.float32(want).astype(float)), 2e-5, method=Text(method), out_dtype="float64")
        case("image.resize2d", [("float32", x * 8), ("shape", (4, 10))], ("int16", np.trunc(resize(x * 8, (4, 10), method, "asymmetric"))), 0.0, method=Text(method), out_dtype="int16",
             coordinate_transformation_mode=Text("asymmetric"))
        for dtype, (_, tol) in FLOATS.items():
            v = as_float(dtype, x)
            case("image.resize2d", [(dtype, v), ("shape", (7, 9))], (dtype, as_float(dtype, resize(v, (7, 9), method))), 0.0 if method[0] == "n" else tol * 8, method=Text(method))
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
            v = np.abs(x * 4 + 9).astype(dtype) if dtype[0] == "u" else (x * 4).astype(dtype)
            both(v, (8, 10), 0.0, dtype, np.trunc, method=method, mode="asymmetric")
    # a few slices at a time: of a batch; rows that would lie on each other; cubic
    for shape, size in (((2, 6, 5, 7), (4, 9)), ((1, 64, 16, 4), (8, 8)), ((1, 96, 6, 7), (7, 6)), ((2, 128, 4, 4), (3, 5))):
        slices = ((np.arange(math.prod(shape)) * 37 % 101) / 8).reshape(shape).astype(np.float32)
        for method in ("linear", "cubic"):
            case("image.resize2d", [("float32", slices), ("shape", size)], ("float32", resize(slices, size, method)), 2e-5, method=Text(method))
            case("image.resize", [("float32", slices), ("shape", size)], ("float32", resize(slices, size, method, alpha=-0.75)), 2e-5, axes=[2, 3], method=Text(method))
    b = x > 5
    case("image.resize2d", [("bool", b), ("shape", (3, 9))], ("bool", resize(b, (3, 9), "nearest_neighbor") != 0), method=Text("nearest_neighbor"))
    v = np.full((1, 1, 2, 2), 2**62 + 1, np.int64)
    case("image.resize2d", [("int64", v), ("shape", (3, 3))], ("int64", np.full((1, 1, 3, 3), 2**62 + 1)), method=Text("nearest_neighbor"))
    v = np.array([[[[np.nan, 1], [2, np.inf]]]], np.float32)
    case("image.resize2d", [("float32", v), ("shape", (2, 4))], ("float32", np.repeat(v, 2, 3)), method=Text("nearest_neighbor"))
