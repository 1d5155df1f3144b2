"""The kernels that are measured: (group, name, how to build it, the same in numpy or None, exact results or None).

The sizes are those of networks, and beside them awkward ones: 1, 7, 17, 1000, primes, symbolic dimensions.
In numpy: x are inputs, w weights, out the result.
"""
import numpy as np

from graph import Dim

ROWS = []


def row(group, name, build, in_numpy=None, exact=None):
    ROWS.append((group, name, build, in_numpy, exact))


def batch(value):
    return Dim("n", value)


def shown(shape):
    return "x".join(f"({d.name}={int(d)})" if isinstance(d, Dim) else str(d) for d in shape)


# --- matrix products: rows x depth x columns -----------------------------------------------------

def product(x, w, out):
    np.matmul(x[0], (x + w)[1], out=out)


def matmul(m, k, n, name=None, given=False):
    """given: both sides are inputs, nothing can be packed ahead."""
    row("matmul", name or shown((m, k, n)), lambda g: g.matmul(g.input(m, k), g.input(k, n) if given else g.draw(k, n)), product)


for size in (64, 128, 256, 512, 1024):
    matmul(size, size, size)
for size in (7, 17, 31, 127, 509, 1000):
    matmul(size, size, size)
for rows in (1, 2, 7, 16, 17):
    matmul(rows, 1024, 1024)
matmul(360, 64, 10)
matmul(1000, 1000, 1)
matmul(1000, 1, 1000)
matmul(127, 131, 137)
matmul(128, 256, 1024)
matmul(512, 512, 512, "512 both given", True)
matmul(1, 1024, 1024, "1x1024x1024 both given", True)
for rows in (1, 7, 128):
    matmul(batch(rows), 768, 768)
row("matmul", "8 heads 128x64x128 transposed", lambda g: g.matmul(g.input(8, 128, 64), g.transpose(g.input(8, 128, 64), [0, 2, 1])),
    lambda x, w, out: np.matmul(x[0], x[1].transpose(0, 2, 1), out=out))
row("matmul", "12 heads 197x64x197", lambda g: g.matmul(g.input(12, 197, 64), g.input(12, 64, 197)), product)

# --- convolutions --------------------------------------------------------------------------------


def conv(name, shape, *arguments, **more):
    row("convolution", name, lambda g: g.conv(g.input(*shape), *arguments, **more))


conv("3x3 64ch 56", (1, 64, 56, 56), 64, 3, 1, 1)
conv("3x3 512ch 4", (1, 512, 4, 4), 512, 3, 1, 1)
conv("3x3 64-128ch 56 stride 2", (1, 64, 56, 56), 128, 3, 2, 1)
conv("3x3 64ch 28 dilated 2", (1, 64, 28, 28), 64, 3, 1, 2, 2)
conv("3x3 64ch 28 in 4 groups", (1, 64, 28, 28), 64, 3, 1, 1, groups=4)
conv("3x3 17-31ch 29", (1, 17, 29, 29), 31, 3, 1, 1)
conv("1x1 64ch 56", (1, 64, 56, 56), 64, 1)
conv("1x1 960-160ch 4", (1, 960, 4, 4), 160, 1)
conv("1x1 64-128ch 56 stride 2", (1, 64, 56, 56), 128, 1, 2)
conv("7x7 3-64ch 112 stride 2", (1, 3, 112, 112), 64, 7, 2, 3)
conv("5x5 1-6ch 28", (1, 1, 28, 28), 6, 5, 1, 2)
conv("1x7 64ch 17", (1, 64, 17, 17), 64, (1, 7), 1, (0, 3))
conv("n=4 3x3 32ch 28", (batch(4), 32, 28, 28), 32, 3, 1, 1)
conv("3x3x3 16-32ch 16x28x28", (1, 16, 16, 28, 28), 32, 3, 1, 1)
conv("3x3x3 16-32ch 16x28x28 stride 2", (1, 16, 16, 28, 28), 32, 3, 2, 1)
row("convolution", "transposed 2x2 64-32ch 28", lambda g: g.up(g.input(1, 64, 28, 28), 32))
row("convolution", "transposed 3x3 64-32ch 28", lambda g: g.up(g.input(1, 64, 28, 28), 32, 2, 3))
row("convolution", "transposed 4x4 64-32ch 28", lambda g: g.up(g.input(1, 64, 28, 28), 32, 2, 4))
conv("depthwise 3x3 64ch 56", (1, 64, 56, 56), 64, 3, 1, 1, groups=64)
conv("depthwise 3x3 96ch 56 stride 2", (1, 96, 56, 56), 96, 3, 2, 1, groups=96)
conv("depthwise 5x5 120ch 7", (1, 120, 7, 7), 120, 5, 1, 2, groups=120)

# --- rows and reductions -------------------------------------------------------------------------

for shape in ((256, 128), (256, 512), (256, 1024), (256, 4096), (17, 31), (1000, 1000), (batch(7), 1000)):
    row("rows", "softmax " + shown(shape), lambda g, s=shape: g.softmax(g.input(*s)))
row("rows", "log_softmax 128x1000", lambda g: g.softmax(g.input(128, 1000), "LogSoftmax"))
for shape in ((128, 768), (7, 1000), (1000, 17), (1, 4096), (batch(128), 768)):
    row("rows", "layer_norm " + shown(shape), lambda g, s=shape: g.layer_norm(g.input(*s)))
row("rows", "rms_norm 128x768", lambda g: g.rms_norm(g.input(128, 768)))
row("rows", "rms_norm 7x1000", lambda g: g.rms_norm(g.input(7, 1000)))
row("rows", "batch_norm 64x56x56", lambda g: g.batch_norm(g.input(1, 64, 56, 56)))
row("rows", "max pool 3x3 stride 2 64ch 112", lambda g: g.pool("Max", g.input(1, 64, 112, 112), 3, 2, 1))
row("rows", "max pool 2x2 16ch 28", lambda g: g.pool("Max", g.input(1, 16, 28, 28), 2, 2))
row("rows", "average pool 2x2 64ch 56", lambda g: g.pool("Average", g.input(1, 64, 56, 56), 2, 2))
for kind, shape, axes in (("Sum", (1024, 1024), [1]), ("Sum", (1024, 1024), [0]), ("Max", (1000, 1000), [1]), ("Sum", (1000003,), [0]),
                          ("Mean", (1, 512, 7, 7), [2, 3]), ("Mean", (128, 17, 31), [1])):
    row("rows", f"{kind.lower()} {shown(shape)} over {axes}",
        lambda g, k=kind, s=shape, a=axes: g.reduce(k, g.input(*s, positive=True), a),
        lambda x, w, out, f=getattr(np, kind.lower()), a=tuple(axes): f(x[0], axis=a, out=out))
row("rows", "attention 8 heads 128x64", lambda g: g.attention(*(g.input(1, 128, 8, 64) for _ in range(3))))
row("rows", "attention 12 heads 197x64", lambda g: g.attention(*(g.input(1, 197, 12, 64) for _ in range(3))))
row("rows", "attention 8 heads 1 of 255x32", lambda g: g.attention(g.input(1, 1, 8, 32), *(g.input(1, 255, 8, 32) for _ in range(2))))

# --- elementwise ---------------------------------------------------------------------------------

for kind, function in (("Tanh", np.tanh), ("Exp", np.exp), ("Sigmoid", None), ("Gelu", None), ("Erf", None), ("Sqrt", np.sqrt),
                       ("Log", np.log)):
    row("elementwise", f"{kind.lower()} 128x3072", lambda g, k=kind: g.unary(k, g.input(128, 3072, positive=k in ("Sqrt", "Log"))),
        function and (lambda x, w, out, f=function: f(x[0], out=out)))
row("elementwise", "tanh (n=7)x17", lambda g: g.tanh(g.input(batch(7), 17)), lambda x, w, out: np.tanh(x[0], out=out))


def alternate(g, count):
    """x + x, relu, + x, relu: `count` operators on 1 MB."""
    x = value = g.input(256, 1024)
    for i in range(count):
        value = g.relu(value) if i % 2 else g.add(value, x)
    return value


for count in (1, 2, 4, 8):
    row("elementwise", f"chain of {count}, 256x1024", lambda g, c=count: alternate(g, c))
row("elementwise", "add 1000003", lambda g: g.add(g.input(1000003), g.input(1000003)), lambda x, w, out: np.add(*x, out=out))
row("elementwise", "divide 1000x1000 by a column", lambda g: g.divide(g.input(1000, 1000), g.between(.5, 2, 1000, 1)),
    lambda x, w, out: np.divide(x[0], w[0], out=out))
row("elementwise", "bias and relu 128x768", lambda g: g.relu(g.add(g.input(128, 768), g.draw(768, scale=.1))))
row("elementwise", "bias and relu (n=17)x1000", lambda g: g.relu(g.add(g.input(batch(17), 1000), g.draw(1000, scale=.1))))

# --- movement ------------------------------------------------------------------------------------

for shape, order in (((1024, 1024), [1, 0]), ((1000, 1009), [1, 0]), ((17, 7), [1, 0]), ((1, 128, 8, 64), [0, 2, 1, 3]),
                     ((1, 56, 56, 64), [0, 3, 1, 2]), ((1, 64, 56, 56), [0, 2, 3, 1])):
    row("movement", f"transpose {shown(shape)} to {''.join(map(str, order))}",
        lambda g, s=shape, o=order: g.transpose(g.input(*s), o), lambda x, w, out, o=tuple(order): np.copyto(out, x[0].transpose(o)))
row("movement", "concat 2 of 512x512, columns", lambda g: g.concat([g.input(512, 512), g.input(512, 512)], 1),
    lambda x, w, out: np.concatenate(x, 1, out=out))
row("movement", "concat 2 of 7x1000, rows", lambda g: g.concat([g.input(7, 1000), g.input(7, 1000)], 0),
    lambda x, w, out: np.concatenate(x, 0, out=out))
row("movement", "slice 1024x1024, every other row", lambda g: g.slice(g.input(1024, 1024), 0, 0, 1024, 2),
    lambda x, w, out: np.copyto(out, x[0][::2]))
row("movement", "slice 1000x1000, every third column", lambda g: g.slice(g.input(1000, 1000), 1, 1, 1000, 3),
    lambda x, w, out: np.copyto(out, x[0][:, 1::3]))
row("movement", "take 512 of 10000x256", lambda g: g.take(g.draw(10000, 256), g.input(512, dtype="int64")),
    lambda x, w, out: np.take(w[0], x[0], axis=0, out=out))

# --- integers ------------------------------------------------------------------------------------


def int8_weight(g, *shape):
    return g.weight(g.random.randint(-100, 100, shape).astype("int8"))


def exact_product(zero_a=0, zero_b=0):
    """What a product of bytes is: float64 holds it without rounding. It judges all, and is not measured."""
    return lambda x, w: np.matmul(x[0].astype("f8") - zero_a, w[0].astype("f8") - zero_b)


def exact_conv(zero, padding):
    def reference(x, w):
        kernel = w[0].shape[2]
        wide = np.pad(x[0].astype("f8") - zero, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel), axis=(2, 3))
        return np.einsum("ncyxij,ocij->noyx", windows, w[0].astype("f8"), optimize=True)
    return reference


row("integer", "int8 256x256x256", lambda g: g.matmul(g.input(256, 256, dtype="int8"), int8_weight(g, 256, 256)),
    exact=exact_product())
row("integer", "int8 128x1024x1024", lambda g: g.matmul(g.input(128, 1024, dtype="int8"), int8_weight(g, 1024, 1024)),
    exact=exact_product())
row("integer", "int8 1x4096x4096", lambda g: g.matmul(g.input(1, 4096, dtype="int8"), int8_weight(g, 4096, 4096)),
    exact=exact_product())
row("integer", "int8 17x1000x1000", lambda g: g.matmul(g.input(17, 1000, dtype="int8"), int8_weight(g, 1000, 1000)),
    exact=exact_product())
row("integer", "zero points 128x1024x1024", lambda g: g.matmul_integer(g.input(128, 1024, dtype="uint8"), int8_weight(g, 1024, 1024), 121, 0),
    exact=exact_product(121))
row("integer", "two zero points (n=17)x1000x1000", lambda g: g.matmul_integer(g.input(batch(17), 1000, dtype="uint8"), int8_weight(g, 1000, 1000), 121, -3),
    exact=exact_product(121, -3))
row("integer", "zero point conv 3x3 64ch 56", lambda g: g.conv_integer(g.input(1, 64, 56, 56, dtype="uint8"), 64, 3, 1, 121),
    exact=exact_conv(121, 1))
