"""Cases of numbers.txt for operators that pick, move, normalise and attend: gen_numbers.py calls add()."""
import itertools, math
import numpy as np

NAN, INF = float("nan"), float("inf")
rng = np.random.RandomState(11)
KINDS = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "uint64", "bool")


def numbers(*shape):
    return rng.randint(-9, 9, shape).astype(np.float32) / np.float32(4)


def add(case, as_float, FLOATS, Text):
    def of(dtype, x):
        if dtype in FLOATS:
            return as_float(dtype, x)
        return (np.asarray(x) * 4).astype(np.int64).astype(dtype)

    moving(case, of, Text)
    picking(case, of, Text)
    creating(case, of)
    scans(case, as_float, FLOATS)
    norms(case, as_float, FLOATS)
    attention(case, as_float, FLOATS, Text)
    recurrent(case, as_float, FLOATS)
    losses(case, as_float, FLOATS, Text)
    gradients(case, of, as_float, FLOATS, Text)
    choices(case, as_float, FLOATS)


# ---- split, repeat, tile, flip, pad -------------------------------------------------------------------------
def ceil_split(x, k, axis):
    part = -(-x.shape[axis] // k)
    return np.split(x, [part * i for i in range(1, k)], axis)


def moving(case, of, Text):
    x = numbers(4, 6)
    for dtype in KINDS:
        v = of(dtype, x)
        case("split", [(dtype, v)], [(dtype, p) for p in np.split(v, 2, 1)], indices_or_sections=2, axis=1)
        case("flip", [(dtype, v)], (dtype, np.flip(v, 0)), axis=0)
        case("repeat", [(dtype, v)], (dtype, np.repeat(v, 2, 1)), repeats=2, axis=1)
        case("tile", [(dtype, v)], (dtype, np.tile(v, (2, 1))), repeats=[2, 1])
    v = of("int32", numbers(7, 2))
    for how in ([2, 5], [0, 3], [5, 2], [-3, -1], [3, 100], [-100, 4], [9, 9]):
        case("split", [("int32", v)], [("int32", p) for p in np.split(v, how, 0)], indices_or_sections=how, axis=0)
    for k in (1, 2, 4):
        parts = ceil_split(v, k, 0)
        case("split", [("int32", v)], [("int32", p) for p in parts] if k > 1 else ("int32", v), indices_or_sections=k, axis=-2)
    case("split", [("int32", v[:0])], [("int32", v[:0])] * 3, indices_or_sections=3, axis=0)
    for shape, axis in (((3,), 0), ((2, 3), -1), ((0, 2), 0), ((2, 3, 4), 1)):
        v = numbers(*shape)
        case("flip", [("float32", v)], ("float32", np.flip(v, axis)), axis=axis)
        for times in (0, 1, 3):
            case("repeat", [("float32", v)], ("float32", np.repeat(v, times, axis)), repeats=times, axis=axis)
            case("repeat", [("float32", v)], ("float32", np.repeat(v, times)), repeats=times, axis=None)
    case("repeat", [("float32", np.float32(3))], ("float32", np.full(4, 3.0)), repeats=4, axis=None)
    for shape, times in (((2, 3), [2, 2]), ((2, 3), [3]), ((3,), [2, 1, 2]), ((2, 3), [0, 1]), ((), [2, 2]), ((0, 2), [3, 2]), ((2,), [])):
        v = numbers(*shape)
        case("tile", [("float32", v)], ("float32", np.tile(v, times)), repeats=times)
    v = numbers(3, 4)
    for mode, name in (("constant", "constant"), ("edge", "edge"), ("reflect", "reflect"), ("wrap", "circular")):
        for width in ([1, 2, 0, 3], [0, 0, 5, 9], [2, 0, 0, 0], [0, 0, 0, 0]):
            more = {"constant_values": 1.5} if mode == "constant" else {}
            want = np.pad(v, [width[:2], width[2:]], mode=mode, **more)
            case("nn.pad", [("float32", v)], ("float32", want), pad_width=width, pad_value=1.5, pad_mode=Text(name))
    case("nn.pad", [("float32", v[:1])], ("float32", np.pad(v[:1], [[3, 2], [0, 0]], mode="reflect")), pad_width=[3, 2, 0, 0], pad_mode=Text("reflect"))
    case("nn.pad", [("float32", v[:0])], ("float32", np.zeros((3, 4))), pad_width=[1, 2, 0, 0], pad_mode=Text("constant"))
    case("nn.pad", [("float32", v[:0])], "RT05", pad_width=[1, 2, 0, 0], pad_mode=Text("edge"))
    rows = (np.arange(64) * 5 % 251).astype(np.uint8).reshape(1, 2, 32)
    for before, after in ((128, 131), (0, 128), (129, 0)):
        width = [0, 0, before, after, 0, 0]
        case("nn.pad", [("uint8", rows)], ("uint8", np.pad(rows, [width[:2], width[2:4], width[4:]], constant_values=7)), pad_width=width, pad_value=7.0,
             pad_mode=Text("constant"))
    case("nn.pad", [("float32", v)], ("float32", v[1:, :2]), pad_width=[-1, 0, 0, -2], pad_mode=Text("constant"))
    for dtype in KINDS:
        v = of(dtype, numbers(2, 3))
        case("nn.pad", [(dtype, v)], (dtype, np.pad(v, [[0, 1], [1, 0]])), pad_width=[0, 1, 1, 0])


# ---- take, gather, slices, one_hot, scatter -----------------------------------------------------------------
def sliced(x, axes, begin, end, strides):
    for a, b, e, k in zip(axes, begin, end, strides):
        n = x.shape[a]
        low, high = (0, n) if k > 0 else (-1, n - 1)
        b, e = (min(max(v + n if v < 0 else v, low), high) for v in (b, e))
        x = np.take(x, list(range(b, e, k)), a) if range(b, e, k) else np.take(x, [], a)
    return x


def wrapped(v, dtype):
    return np.array(v % 2 ** (dtype.itemsize * 8), np.uint64).astype(dtype)


def scatter(x, at, u, how, wide):
    """at: one index tuple for each item of the list u."""
    out = x.astype(wide)
    count = np.ones(x.shape, np.int64)
    for k, v in zip(at, u):
        if how == "update":
            out[k] = v
        elif how in ("add", "mean"):
            out[k] = out[k] + v
        elif how == "mul":
            out[k] = out[k] * v
        else:
            out[k] = min(out[k], v) if how == "min" else max(out[k], v)
        count[k] += 1
    if how == "mean":
        one = lambda a, n: wrapped(abs(int(a)) // int(n) * (1 if a > 0 else -1), x.dtype)
        out = out / count if out.dtype.kind == "f" else np.vectorize(one, otypes=[x.dtype])(out, count)
    return out.astype(x.dtype)


def picking(case, of, Text):
    x = numbers(5, 4, 3)
    for dtype in KINDS:
        v = of(dtype, x)
        k = np.array([[0, -1], [4, -5]], np.int64)
        case("take", [(dtype, v), ("int64", k)], (dtype, np.take(v, k, 0)), axis=0)
    for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64"):
        case("take", [("float32", x), (dtype, np.array([1, 0, 2], dtype))], ("float32", np.take(x, [1, 0, 2], -1)), axis=-1)
    flat = numbers(6)
    case("take", [("float32", flat), ("int32", np.array([5, -6, 0], np.int32))], ("float32", flat[[5, -6, 0]]), axis=None)
    case("take", [("float32", x), ("int64", np.int64(-2))], ("float32", x[:, -2]), axis=1)
    case("take", [("float32", x), ("bound", 2)], ("float32", x[:, 2]), axis=1)
    case("take", [("float32", x), ("scalar", "int64", -2)], ("float32", x[:, -2]), axis=1)
    case("take", [("float32", x), ("int64", np.zeros((2, 0), np.int64))], ("float32", np.zeros((5, 2, 0, 3))), axis=1)
    case("take", [("float32", x[:0]), ("int64", np.zeros(0, np.int64))], ("float32", np.zeros((0, 4, 3))), axis=0)
    for bad in (5, -6):
        case("take", [("float32", x), ("int64", np.array([0, bad]))], "RT09", axis=0)
    case("take", [("float32", x[:0]), ("int64", np.array([0]))], "RT09", axis=0)
    case("take", [("float32", flat), ("uint64", np.array([2**64 - 1], np.uint64))], "RT09", axis=0)
    k = rng.randint(-4, 4, (5, 2, 3))
    case("gather_elements", [("float32", x), ("int64", k)], ("float32", np.take_along_axis(x, k, 1)), axis=1)
    k = rng.randint(-3, 3, (2, 2, 2)).astype(np.int32)
    case("gather_elements", [("float32", x), ("int32", k)], ("float32", np.take_along_axis(x[:2, :2], k.astype(np.int64), 2)), axis=-1)
    case("gather_elements", [("float32", x), ("int64", np.full((1, 1, 1), 5))], "RT09", axis=0)
    case("gather_elements", [("float32", x), ("int64", np.zeros((0, 4, 3), np.int64))], ("float32", x[:0]), axis=0)
    k = np.array([[0, 1], [-1, -1], [4, 0]])
    case("gather_nd", [("float32", x), ("int64", k)], ("float32", x[k[:, 0], k[:, 1]]))
    case("gather_nd", [("float32", x), ("int64", np.array([[1, 2, 0], [-5, -4, -3]]))], ("float32", x[[1, 0], [2, 0], [0, 0]]))
    k = np.array([[[1], [0]], [[3], [-1]]])
    case("gather_nd", [("float32", x[:2]), ("int64", k)], ("float32", np.stack([x[0][[1, 0]], x[1][[3, -1]]])), batch_dims=1)
    case("gather_nd", [("float32", x), ("int64", np.array([[5, 0]]))], "RT09")
    v = of("int32", numbers(6, 5))
    bounds = [0, 1, 2, 5, 6, 9, -1, -2, -6, -9]
    some = list(itertools.product(bounds, bounds))
    for b, e in [some[i] for i in rng.permutation(len(some))[:40]]:
        for k in (1, 2, -1, -3):
            args = [("int32", v), ("tuple", [0]), ("bounds", [b]), ("bounds", [e]), ("tuple", [k])]
            case("strided_slice", args, ("int32", sliced(v, [0], [b], [e], [k])))
    case("strided_slice", [("int32", v), ("tuple", [-1, 0]), ("bounds", [1, 0]), ("bounds", [4, 6])], ("int32", v[:, 1:4]))
    case("strided_slice", [("int32", v), ("tuple", [1]), ("bounds", [1]), ("bounds", [4]), ("tuple", [2])], ("int32", v[:, 1:4:2]), assume_inbound=True)
    case("strided_slice", [("int32", v[:0]), ("tuple", [0]), ("bounds", [0]), ("bounds", [3])], ("int32", v[:0]))
    for dtype in KINDS:
        w = of(dtype, numbers(4, 3))
        case("strided_slice", [(dtype, w), ("tuple", [0, 1]), ("bounds", [3, 0]), ("bounds", [0, 2]), ("tuple", [-2, 1])], (dtype, w[3:0:-2, 0:2]))
    k = np.array([[0, 2], [3, -1]])
    for axis in (-1, 0, 1):
        want = np.where(np.expand_dims(k, axis if axis >= 0 else 2) == np.arange(3).reshape([3 if i == axis % 3 else 1 for i in range(3)]), 2.5, -1.0)
        case("one_hot", [("int64", k), ("scalar", "float32", 2.5), ("scalar", "float32", -1.0)], ("float32", want), depth=3, axis=axis)
    case("one_hot", [("uint8", np.array([1], np.uint8)), ("scalar", "int64", 7), ("scalar", "int64", 0)], ("int64", np.array([[0, 7]])), depth=2)
    scatters(case, of, Text)


def scatters(case, of, Text):
    x = numbers(4, 3)
    k = np.array([[0, 1, -1], [3, 1, 0], [-1, 1, 3]])
    u = numbers(3, 3)
    for dtype in KINDS:
        for how in ("update", "add", "mul", "min", "max", "mean"):
            a, b = of(dtype, x), of(dtype, u)
            if dtype == "bool":
                join = {"update": "update", "add": "max", "mul": "min", "min": "min", "max": "max"}.get(how)
                if not join:
                    continue
            at = [(int(k[i, j]) % 4, j) for i in range(3) for j in range(3)]
            wide = {"float16": np.float32, "bfloat16": np.float32, "bool": np.uint8}.get(dtype, dtype)
            want = scatter(a, at, b.ravel().astype(wide), join if dtype == "bool" else how, wide)
            tol = 2e-2 if dtype == "bfloat16" else 2e-3 if dtype == "float16" else 1e-6 if dtype in ("float32", "float64") else 0.0
            case("scatter_elements", [(dtype, a), ("int64", k), (dtype, b)], (dtype, want), tol, axis=0, reduction=Text(how))
    case("scatter_elements", [("float32", x), ("int32", np.array([[0], [-1]], np.int32)), ("float32", numbers(2, 1) * 0 + 9)],
         ("float32", np.concatenate([[[9, x[0, 1], x[0, 2]], [x[1, 0], x[1, 1], 9]], x[2:]])), axis=1)
    case("scatter_elements", [("float32", x), ("int64", np.array([[4]])), ("float32", numbers(1, 1))], "RT09", axis=0)
    case("scatter_elements", [("float32", x), ("int64", np.zeros((0, 3), np.int64)), ("float32", numbers(0, 3))], ("float32", x), axis=0)
    x, k = numbers(4, 3, 2), np.array([[0], [2], [-4]])
    u = numbers(3, 3, 2)
    for how in ("update", "add", "mul", "min", "max"):
        want = scatter_rows(x, [int(v) % 4 for v in k.ravel()], u, how)
        case("scatter_nd", [("float32", x), ("int64", k), ("float32", u)], ("float32", want), 1e-6, reduction=Text(how))
    k = np.array([[[0, 1, 1], [3, -1, 0]]])
    want = x.copy()
    want[0, 1, 1], want[3, 2, 0] = 5, 6
    case("scatter_nd", [("float32", x), ("int64", k), ("float32", np.array([[5, 6]], np.float32))], ("float32", want), reduction=Text("update"))
    case("scatter_nd", [("float32", x), ("int64", np.array([[0, 3]])), ("float32", numbers(1, 2))], "RT09", reduction=Text("add"))


def scatter_rows(x, rows, u, how):
    out = x.astype(np.float64)
    for r, v in zip(rows, u):
        out[r] = {"update": v, "add": out[r] + v, "mul": out[r] * v, "min": np.minimum(out[r], v), "max": np.maximum(out[r], v)}[how]
    return out


# ---- triangles, ranges, identity --------------------------------------------------------------------------------
def creating(case, of):
    for dtype in KINDS:
        x = of(dtype, numbers(3, 4))
        case("tril", [(dtype, x), ("scalar", "int64", 0)], (dtype, np.tril(x)))
        case("triu", [(dtype, x), ("bound", 1)], (dtype, np.triu(x, 1)))
    x = np.full((2, 3, 3), NAN, np.float32)
    for k in (-4, -1, 0, 2, 5):
        case("tril", [("float32", x), ("scalar", "int64", k)], ("float32", np.tril(x, k)))
        case("triu", [("float32", x), ("scalar", "int64", k)], ("float32", np.triu(x, k)))
        case("eye", [("bound", 3), ("bound", 4), ("scalar", "int64", k)], ("float32", np.eye(3, 4, k)), dtype="float32")
        case("eye_like", [("float32", x[0]), ("scalar", "int64", k)], ("int8", np.eye(3, 3, k)), dtype="int8")
    case("tril", [("float32", np.zeros((0, 3), np.float32)), ("scalar", "int64", 0)], ("float32", np.zeros((0, 3))))
    for a, b, k in ((0, 5, 1), (2, 9, 3), (9, 2, -3), (5, 5, 1), (5, 2, 1), (0, 7, 7), (-3, 4, 2), (4, -3, -2)):
        for dtype in ("int64", "int32", "float32", "uint8" if min(a, b) >= 0 else "int8"):
            args = [("bound", a), ("bound", b), ("scalar", "int64", k)]
            case("arange", args, (dtype, np.arange(a, b, k).astype(dtype)), dtype=dtype)
    for a, b, k in ((0.0, 1.0, 0.25), (1.5, -1.0, -0.5), (0.0, 1.0, 0.3), (1.0, 0.0, 1.0)):
        args = [("scalar", "float32", a), ("scalar", "float32", b), ("scalar", "float32", k)]
        case("arange", args, ("float32", np.arange(a, b, k)), 1e-6, dtype="float32")
        case("arange", args, ("float16", np.arange(a, b, k)), 1e-3, dtype="float16")


# ---- running sums, sums back --------------------------------------------------------------------------------------
def scans(case, as_float, FLOATS):
    for dtype, (_, tol) in FLOATS.items():
        x = as_float(dtype, numbers(3, 5))
        for axis in (None, 0, -1):
            for op, f, first in (("cumsum", np.cumsum, 0), ("cumprod", np.cumprod, 1)):
                w = f(x.astype(np.float64), axis)
                case(op, [(dtype, x)], (dtype, as_float(dtype, w)), tol * 4, axis=axis)
                shifted = np.roll(w, 1, 0 if axis is None else axis)
                shifted[(0,) if axis in (None, 0) else (slice(None), 0)] = first
                case(op, [(dtype, x)], (dtype, as_float(dtype, shifted)), tol * 4, axis=axis, exclusive=True)
    for dtype in ("int8", "uint8", "int32", "int64", "uint64"):
        x = np.array([[1, 2, 3], [100, 120, 5]]).astype(dtype)
        for axis in (0, 1):
            case("cumsum", [(dtype, x)], (dtype, np.cumsum(x, axis, dtype=dtype)), axis=axis)
            case("cumprod", [(dtype, x)], (dtype, np.cumprod(x, axis, dtype=dtype)), axis=axis)
        case("cumsum", [(dtype, x)], ("int64", np.cumsum(x, 1, dtype=np.int64)), axis=1, dtype="int64")
    b = np.array([True, False, True])
    case("cumsum", [("bool", b)], ("int32", np.cumsum(b, dtype=np.int32)), axis=0, dtype="int32")
    case("cumsum", [("bool", b)], ("bool", b | True), axis=0)
    case("cumsum", [("float32", np.float32(2))], ("float32", np.array([2.0])), axis=None)
    case("cumsum", [("float32", np.zeros((0, 3), np.float32))], ("float32", np.zeros((0, 3))), axis=0)
    case("cumsum", [("float32", np.zeros((2, 0), np.float32))], ("float32", np.zeros(0)), axis=None)
    x = numbers(2, 3, 4)
    case("cumsum", [("float32", x)], ("float32", np.cumsum(x.astype(np.float64), 1)), 1e-6, axis=1)
    case("cumsum", [("float16", np.ones(3000, np.float16))], ("float16", np.arange(1, 3001).astype(np.float16)), axis=0)
    case("cumsum", [("float32", np.array([1, NAN, 2, INF, -INF], np.float32))], ("float32", np.array([1, NAN, NAN, NAN, NAN])), axis=0)
    for dtype, (_, tol) in FLOATS.items():
        x = as_float(dtype, numbers(2, 3, 4))
        w = x.astype(np.float64)
        for shape, want in (((3, 4), w.sum(0)), ((1, 4), w.sum((0, 1), keepdims=True)[0]), ((2, 1, 4), w.sum(1, keepdims=True)), ((), w.sum()), ((2, 3, 4), w)):
            case("collapse_sum_to", [(dtype, x), ("shape", shape)], (dtype, as_float(dtype, want)), tol * 4)
        case("collapse_sum_like", [(dtype, x), (dtype, as_float(dtype, numbers(3, 1)))], (dtype, as_float(dtype, w.sum((0, 2))[:, None])), tol * 4)
        a, b, c = (as_float(dtype, numbers(2, 3)) for _ in range(3))
        want = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
        case("ewise_fma", [(dtype, a), (dtype, b), (dtype, c)], (dtype, as_float(dtype, want)), tol)


# ---- recurrent layers whose gates are open, shut or half open: 40 is as good as infinity ---------------------------
def recurrent(case, as_float, FLOATS):
    for dtype, (_, tol) in FLOATS.items():
        of = lambda v: (dtype, as_float(dtype, np.asarray(v, np.float64)))
        x, state, cell = np.zeros((2, 2, 4)), np.full((2, 1), 0.5), np.array([[0.25], [-0.5]])
        x[0, 0], x[1, 0], x[0, 1], x[1, 1] = [40, 40, -40, 40], [-40, 40, 40, 0], [0, 0, 40, 0], [-40, -40, 40, 0]
        rows = [[[np.tanh(1)], [np.tanh(-0.5) / 2]], [[np.tanh(1)], [0]]]
        case("nn.lstm", [of(x), of(np.zeros((1, 4))), of(state), of(cell)], [of(rows), of(rows[1]), of([[1], [-0.5]])], tol * 2)
        lengths = ("int32", np.array([1, 2], np.int32))
        behind = [rows[0], [[0], [0]]]
        case("nn.lstm", [of(x), of(np.zeros((1, 4))), of(state), of(cell), lengths], [of(behind), of([rows[0][0], [0]]), of([[1], [-0.5]])], tol * 2)
        z, bias = np.array([[[40.0, 0, 0]], [[-40, 40, 0]], [[0, 0, 0]]]), np.array([0, 0, 1.0])
        first = np.tanh(1 + 0.25 * 2)   # z shut, r open: of 0.25, weight 2 and bias 1
        second = (first + np.tanh((1 + first * 2) / 2)) / 2, (first + np.tanh(1 + first)) / 2
        for op, last, weights in (("nn.gru", second[0], [np.array([[0, 0, 2.0]])]), ("nn.gru_reset_before", second[1], [np.zeros((1, 2)), np.array([[2.0]])])):
            given = [of(z), of(weights[0]), of([[0.25]]), of(bias)] + [of(w) for w in weights[1:]]
            case(op, given, [of([[[0.25]], [[first]], [[last]]]), of([[last]])], tol * 4)
        w = np.array([[0, 1.0], [1, 0]])   # exchanges the two
        t = np.tanh
        case("nn.rnn", [of([[[0, 0.5]], [[0.25, 0]]]), of(w), of([[1, -1]])], [of([[[t(-1), t(1.5)]], [[t(0.25 + t(1.5)), t(t(-1))]]]), of([[t(0.25 + t(1.5)), t(t(-1))]])], tol * 4)
        case("nn.rnn", [of([[[0.25, 0]], [[0, 0.5]]]), of(w), of([[1, -1]])], [of([[[t(0.25 + t(1.5)), t(t(-1))]], [[t(-1), t(1.5)]]]), of([[t(0.25 + t(1.5)), t(t(-1))]])], tol * 4, backward=True)


# ---- normalisation --------------------------------------------------------------------------------------------------
def norms(case, as_float, FLOATS):
    for dtype, (_, tol) in FLOATS.items():
        tol *= 8
        for shape, axes in (((2, 3, 4), [-1]), ((2, 3, 4), [1, 2]), ((2, 3, 4), [0]), ((2, 3, 4), [2, 0]), ((5,), [0]), ((0, 3), [1])):
            x = as_float(dtype, numbers(*shape) + np.arange(shape[-1]))
            part = [shape[a] for a in axes]
            g, b = as_float(dtype, numbers(*part)), as_float(dtype, numbers(*part))
            w = x.astype(np.float64)
            spread = lambda v: np.expand_dims(np.transpose(v.astype(np.float64), np.argsort([a % len(shape) for a in axes])),
                                              [i for i in range(len(shape)) if i not in [a % len(shape) for a in axes]])
            z = (w - w.mean(tuple(axes), keepdims=True)) / np.sqrt(w.var(tuple(axes), keepdims=True) + 1e-3)
            args = [(dtype, x), (dtype, g), (dtype, b)]
            case("nn.layer_norm", args, (dtype, as_float(dtype, z * spread(g) + spread(b))), tol, axes=axes, epsilon=1e-3)
            if shape == (2, 3, 4):
                case("nn.layer_norm", args, (dtype, as_float(dtype, z)), tol, axes=axes, epsilon=1e-3, center=False, scale=False)
            r = w / np.sqrt((w * w).mean(tuple(axes), keepdims=True) + 1e-3)
            case("nn.rms_norm", args[:2], (dtype, as_float(dtype, r * spread(g))), tol, axes=axes, epsilon=1e-3)
        x = as_float(dtype, numbers(2, 4, 3) + np.arange(3))
        g, b = as_float(dtype, numbers(4)), as_float(dtype, numbers(4))
        w = x.astype(np.float64)
        if dtype != "bfloat16":
            for groups in (1, 2, 4):
                v = w.reshape(2, groups, 4 // groups, 3)
                z = ((v - v.mean((2, 3), keepdims=True)) / np.sqrt(v.var((2, 3), keepdims=True) + 1e-5)).reshape(w.shape)
                want = z * g.astype(np.float64)[:, None] + b.astype(np.float64)[:, None]
                case("nn.group_norm", [(dtype, x), (dtype, g), (dtype, b)], (dtype, as_float(dtype, want)), tol, num_groups=groups, channel_axis=1, axes=[2])
                y = np.moveaxis(x, 1, 2)
                case("nn.group_norm", [(dtype, y), (dtype, g), (dtype, b)], (dtype, as_float(dtype, np.moveaxis(want, 1, 2))), tol,
                     num_groups=groups, channel_axis=-1, axes=[1])
        m, s = as_float(dtype, numbers(4)), as_float(dtype, np.abs(numbers(4)) + 0.5)
        args = [(dtype, v) for v in (x, g, b, m, s)]
        col = lambda v: v.astype(np.float64)[:, None]
        want = (w - col(m)) / np.sqrt(col(s) + 1e-5) * col(g) + col(b)
        case("nn.batch_norm", args, [(dtype, as_float(dtype, want)), (dtype, m), (dtype, s)], tol, axis=1, training=False)
        bm, bv = w.mean((0, 2)), w.var((0, 2))
        want = (w - bm[:, None]) / np.sqrt(bv[:, None] + 1e-5) * col(g)
        moved = [0.75 * m.astype(np.float64) + 0.25 * bm, 0.75 * s.astype(np.float64) + 0.25 * bv]
        case("nn.batch_norm", args, [(dtype, as_float(dtype, v)) for v in [want] + moved], tol, axis=1, momentum=0.25, center=False)
        case("nn.dropout", [(dtype, x)], [(dtype, x), (dtype, np.ones_like(x))], rate=0.5)
    x = np.array([[1, NAN, 2], [INF, 1, 2], [3, 3, 3], [-0.0, 0, 0]], np.float32)
    w = x.astype(np.float64)
    z = (w - w.mean(1, keepdims=True)) / np.sqrt(w.var(1, keepdims=True) + 1e-5)
    one, none = np.ones(3, np.float32), np.zeros(3, np.float32)
    case("nn.layer_norm", [("float32", x), ("float32", one), ("float32", none)], ("float32", z), 1e-5, axes=[-1])


# ---- attention ----------------------------------------------------------------------------------------------------------
def attend(q, k, v, bias=None, scale=None, mask=None, window=None):
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    b, s, n, h = q.shape
    t, m = k.shape[1], k.shape[2]
    k, v = np.repeat(k, n // m, 2), np.repeat(v, n // v.shape[2], 2)
    score = np.einsum("bsnh,btnh->bnst", q, k) * (1 / math.sqrt(h) if scale is None else scale)
    if bias is not None:
        score = score + bias.astype(np.float64)
    i, j = np.arange(s)[:, None], np.arange(t)[None, :]
    last = i + (t - s if mask == "BottomRight" else 0)
    hidden = np.zeros((s, t), bool)
    if mask:
        hidden |= j > last
    if window:
        hidden |= j <= last - window
    score = np.where(hidden, -np.inf, score)
    top = score.max(-1, keepdims=True) if t else np.zeros((b, n, s, 1))
    e = np.exp(score - np.where(np.isneginf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return np.einsum("bnst,btnv->bsnv", np.where(total == 0, 0, e / np.where(total == 0, 1, total)), v)


def attention(case, as_float, FLOATS, Text):
    for dtype, (_, tol) in FLOATS.items():
        tol *= 8
        for (b, s, n, h), (t, m, p, w) in (((2, 3, 2, 4), (3, 2, 2, 4)), ((1, 2, 4, 3), (5, 2, 4, 2)), ((1, 4, 2, 2), (3, 1, 1, 3))):
            q, k, v = (as_float(dtype, numbers(*z)) for z in ((b, s, n, h), (b, t, m, h), (b, t, p, w)))
            args = [(dtype, a) for a in (q, k, v)]
            case("nn.attention", args, (dtype, as_float(dtype, attend(q, k, v))), tol)
            case("nn.attention", args, (dtype, as_float(dtype, attend(q, k, v, scale=0.3))), tol, scale=0.3)
            for mask in ("TopLeft", "BottomRight"):
                case("nn.attention", args, (dtype, as_float(dtype, attend(q, k, v, mask=mask))), tol, causal_mask=Text(mask))
                case("nn.attention", args, (dtype, as_float(dtype, attend(q, k, v, mask=mask, window=2))), tol, causal_mask=Text(mask), window_size=2)
            for shape in ((b, n, s, t), (1, n, 1, t), (1, 1, s, t)):
                bias = as_float(dtype, numbers(*shape))
                case("nn.attention_bias", args + [(dtype, bias)], (dtype, as_float(dtype, attend(q, k, v, bias))), tol)
    q, k = numbers(1, 2, 1, 2), numbers(1, 2, 1, 2)
    bias = np.array([[[[-INF, -INF], [0, -INF]]]], np.float32)
    case("nn.attention_bias", [("float32", q), ("float32", k), ("float32", k), ("float32", bias)], ("float32", attend(q, k, k, bias)), 1e-6)
    case("nn.attention", [("float32", q), ("float32", k[:, :0]), ("float32", k[:, :0])], ("float32", np.zeros((1, 2, 1, 2))))
    case("nn.attention", [("float32", q[:, :0]), ("float32", k), ("float32", k)], ("float32", np.zeros((1, 0, 1, 2))))
    q, k, v = numbers(1, 5, 2, 3), numbers(1, 6, 2, 3), numbers(1, 6, 2, 2)
    sq, sk = np.array([0, 2, 5], np.int32), np.array([0, 4, 6], np.int32)
    for mask in (None, "TopLeft", "BottomRight"):
        parts = [attend(q[:, a:b], k[:, c:d], v[:, c:d], mask=mask) for a, b, c, d in ((0, 2, 0, 4), (2, 5, 4, 6))]
        args = [("float32", q), ("float32", k), ("float32", v), ("int32", sq), ("int32", sk), ("int32", np.int32(3)), ("int32", np.int32(4))]
        case("nn.attention_var_len", args, ("float32", np.concatenate(parts, 1)), 8e-6, causal_mask=Text(mask) if mask else None)


# ---- losses -----------------------------------------------------------------------------------------------------------------
def losses(case, as_float, FLOATS, Text):
    for dtype, (_, tol) in FLOATS.items():
        p = as_float(dtype, numbers(3, 4))
        y = as_float(dtype, numbers(3, 4))
        w = p.astype(np.float64) * y.astype(np.float64)
        case("nn.cross_entropy_with_logits", [(dtype, p), (dtype, y)], (dtype, as_float(dtype, -w.sum() / 3)), tol * 8)
        case("nn.cross_entropy_with_logits", [(dtype, p[0]), (dtype, y[0])], (dtype, as_float(dtype, -w[0].sum())), tol * 8)
        t, c = np.array([0, 3, 2]), as_float(dtype, np.array([0.5, 1, 2, 0.25]))
        each = -p.astype(np.float64)[np.arange(3), t] * c.astype(np.float64)[t]
        for how, want in (("none", each), ("sum", each.sum()), ("mean", each.sum() / c.astype(np.float64)[t].sum())):
            case("nn.nll_loss", [(dtype, p), ("int64", t), (dtype, c)], (dtype, as_float(dtype, want)), tol * 8, reduction=Text(how))
    p = numbers(2, 3, 2)
    t = np.array([[0, -1], [2, 1]])
    each = np.array([[-p[0, 0, 0], 0], [-p[1, 2, 0], -p[1, 1, 1]]], np.float64)
    for how, want in (("none", each), ("sum", each.sum()), ("mean", each.sum() / 3)):
        case("nn.nll_loss", [("float32", p), ("int64", t)], ("float32", want), 1e-6, reduction=Text(how), ignore_index=-1)
        case("nn.nll_loss", [("float32", p), ("int64", t)], "RT09", reduction=Text(how))
    case("nn.nll_loss", [("float32", p[:, :, 0]), ("int32", np.array([-1, -1], np.int32))], ("float32", np.float32(NAN)), reduction=Text("mean"), ignore_index=-1)
    case("nn.nll_loss", [("float32", p[0, :, 0]), ("int64", np.int64(1))], ("float32", -p[0, 1, 0]), reduction=Text("mean"))


# ---- gradients of nll_loss and take -----------------------------------------------------------------------------
def nll_gradient(g, p, t, w, how, ignore):
    """Every target that counts takes its weight times g away from its class."""
    out, p = np.zeros(p.shape), np.asarray(p)
    total = sum(w[k] for k in np.asarray(t).ravel() if k != ignore)
    for at in np.ndindex(t.shape):
        k = int(t[at])
        if k != ignore:
            place = at[:1] + (k,) + at[1:] if p.ndim > 1 else (k,)
            out[place] = -w[k] * (g[at] if how == "none" else g) / (total if how == "mean" else 1)
    return out


def gradients(case, of, as_float, FLOATS, Text):
    for dtype, (_, tol) in FLOATS.items():
        for shape, t in (((3, 4), np.array([0, 3, 2])), ((2, 3, 2), np.array([[0, -1], [2, 1]])), ((4,), np.array(2)), ((0, 3), np.zeros(0, np.int64)), ((2, 3), np.array([-1, -1]))):
            p, w = as_float(dtype, numbers(*shape)), as_float(dtype, np.array([0.5, 1, 2, 0.25])[:shape[min(1, len(shape) - 1)]])
            for how in ("none", "sum", "mean"):
                g = as_float(dtype, numbers(*t.shape) if how == "none" else numbers())
                for more in ([], [(dtype, w)]):
                    want = nll_gradient(g.astype(float), p, t, w.astype(float) if more else np.ones(4), how, -1)
                    case("grad.nll_loss_backward", [(dtype, g), (dtype, p), ("int64", t), *more], (dtype, as_float(dtype, want)), tol * 4, reduction=Text(how), ignore_index=-1)
    p, t = numbers(3, 4), np.array([0, 4, 1], np.int32)
    for how in ("none", "sum", "mean"):
        g = numbers(3) if how == "none" else numbers()
        case("grad.nll_loss_backward", [("float32", g), ("float32", p), ("int32", t)], "RT09", reduction=Text(how))
        case("grad.nll_loss_backward", [("float32", g), ("float32", p), ("int32", t - 5)], "RT09", reduction=Text(how))
    case("grad.nll_loss_backward", [("float32", numbers(2)), ("float32", p), ("int32", t % 4)], "RT05", loose=True, reduction=Text("none"))
    case("grad.nll_loss_backward", [("float32", numbers()), ("float32", p), ("int32", t[:2] % 4)], "RT05", loose=True, reduction=Text("sum"))
    for dtype in KINDS:
        x = of(dtype, numbers(4, 3))
        for k, axis in ((np.array([[0, -1, 2], [2, 2, 0]]), 0), (np.array([1, -3, 1]), -1), (np.array(2), 1), (np.zeros((0, 2), np.int64), 0)):
            g = of(dtype, np.abs(numbers(*np.take(np.zeros((4, 3)), k, axis).shape)))
            wide = {"float16": np.float32, "bfloat16": np.float32, "bool": np.int64}.get(dtype, dtype)
            want, moved = np.zeros((4, 3), wide), np.moveaxis(g.astype(wide), range(axis % 2, axis % 2 + k.ndim), range(k.ndim)).reshape(-1, (3, 4)[axis % 2])
            for at, part in zip(k.ravel(), moved):
                want[(at, slice(None)) if axis == 0 else (slice(None), at)] += part
            tol = 2e-2 if dtype == "bfloat16" else 2e-3 if dtype == "float16" else 1e-6 if dtype in ("float32", "float64") else 0.0
            case("grad.take_backward", [(dtype, g), (dtype, x), ("int64", k)], (dtype, want != 0 if dtype == "bool" else want), tol, axis=axis)
    x, g = numbers(5), numbers(3)
    case("grad.take_backward", [("float32", g), ("float32", x), ("uint8", np.array([4, 1, 4], np.uint8))], ("float32", np.array([0, g[1], 0, 0, g[0] + g[2]])), axis=None)
    case("grad.take_backward", [("float32", numbers(0, 2)), ("float32", numbers(3, 2)), ("int32", np.zeros(0, np.int32))], ("float32", np.zeros((3, 2))), axis=0)
    for bad in (5, -6):
        case("grad.take_backward", [("float32", g), ("float32", x), ("int64", np.array([0, bad, 1]))], "RT09", axis=0)
    case("grad.take_backward", [("float32", g), ("float32", x), ("int64", np.array([0, 1]))], "RT05", loose=True, axis=0)
    case("grad.take_backward", [("float32", numbers(2, 4)), ("float32", numbers(5, 3)), ("int64", np.array([0, 1]))], "RT05", loose=True, axis=0)


# ---- choices by a uniform sample ------------------------------------------------------------------------------------
def choices(case, as_float, FLOATS):
    prob = np.array([[0.25, 0.5, 0.25], [0, 0, 1], [0.5, 0, 0.5], [0.125, 0.25, 0.5]])
    u = np.array([[0.0], [0.25], [0.75], [0.5], [0.49], [0.9], [0.999], [0.1], [0.3]])
    row = np.array([[0], [0], [0], [2], [-2], [3], [1], [-1], [1]])
    sums = np.cumsum(prob, 1)[row[:, 0]]
    want = np.array([[next((i for i in range(3) if s[i] > v), 2)] for s, v in zip(sums, u[:, 0])])
    for a in FLOATS:
        for b in ("float32", "float64") if a != "float32" else FLOATS:
            x, y = as_float(a, prob), as_float(b, u)
            want = np.array([[next((i for i in range(3) if s[i] > v), 2)] for s, v in zip(sums, y.astype(float)[:, 0])])
            for k, out in (("int32", "int64"), ("int8", "int32"), ("int64", "uint8")):
                case("multinomial_from_uniform", [(a, x), (b, y), (k, row.astype(k))], (out, want), dtype=out)
    case("multinomial_from_uniform", [("float32", prob), ("float32", u[:0]), ("uint16", row[:0])], ("int64", want[:0]), dtype="int64")
    case("multinomial_from_uniform", [("float32", prob[:, :0]), ("float32", u[:0]), ("int32", row[:0])], ("int64", want[:0]), dtype="int64")
    case("multinomial_from_uniform", [("float32", prob[:, :0]), ("float32", u), ("int32", row)], "RT14", dtype="int64")
    for bad in (4, -5):
        case("multinomial_from_uniform", [("float32", prob), ("float32", u[:1]), ("int32", np.array([[bad]]))], "RT09", dtype="int64")
    case("multinomial_from_uniform", [("float32", np.array([[0.5, 0.5, np.nan, 1]])), ("float32", np.array([[0.75], [1.5]])), ("int32", np.array([[0], [0]]))],
         ("int64", np.array([[1], [3]])), dtype="int64")
