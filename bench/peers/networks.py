"""The networks that are measured, with random weights: ROWS maps a name to a function that builds it in a graph.

The ten of MEAN make the geometric mean; the others are there because other shapes are met in use.
"""
import numpy as np

from graph import Dim, INT8_WEIGHT_SCALE


def perceptron(batch, *widths):
    def build(g):
        x = g.input(batch, widths[0])
        for width in widths[1:-1]:
            x = g.relu(g.linear(x, width))
        return g.softmax(g.linear(x, widths[-1]))
    return build


INT8_SCALE, INT8_ZERO = 1 / 32, 128                        # of the input; behind relu the zero point is 0


def int8_perceptron(batch, *widths):
    def build(g):
        x, zero = g.input(batch, widths[0]), INT8_ZERO
        for width in widths[1:-1]:
            x, zero = g.relu(g.int8_linear(x, width, INT8_SCALE, zero)), 0
        return g.int8_linear(x, widths[-1], INT8_SCALE, zero)
    return build


def exact_int8_perceptron(inputs, weights):
    x, zero = inputs[0], INT8_ZERO
    for weight, bias in zip(weights[::2], weights[1::2]):
        q = np.clip(np.rint(x / np.float32(INT8_SCALE)) + zero, 0, 255)
        y = ((q - zero).astype("f8") @ weight.astype("f8")).astype("f4") * np.float32(INT8_SCALE * INT8_WEIGHT_SCALE) + bias
        x, zero = np.maximum(y, 0), 0
    return y


def lenet(g):
    x = g.pool("Max", g.relu(g.conv(g.input(1, 1, 28, 28), 6, 5, 1, 2, bias=True)), 2, 2)
    x = g.pool("Max", g.relu(g.conv(x, 16, 5, bias=True)), 2, 2)
    x = g.relu(g.linear(g.reshape(x, (1, 400)), 120))
    return g.softmax(g.linear(g.relu(g.linear(x, 84)), 10))


def chain(g):
    """A hundred small operators: what a call costs."""
    x = value = g.input(1, 8)
    steps = [g.tanh, lambda v: g.add(v, x), g.relu, lambda v: g.scale(v, .5)]
    for i in range(100):
        value = steps[i % 4](value)
    return value


def zeros(g, *shape):
    return g.weight(np.zeros(shape, "float32"))


def lstm(g, steps=16, width=128, hidden=256):
    pieces = g.split(g.input(steps, width), steps, 0)
    of_input, of_state, offset = g.draw(width, 4 * hidden), g.draw(hidden, 4 * hidden), g.draw(4 * hidden, scale=.1)
    state, cell = zeros(g, 1, hidden), zeros(g, 1, hidden)
    for piece in pieces:
        gates = g.add(g.add(g.matmul(piece, of_input), g.matmul(state, of_state)), offset)
        enter, forget, leave, new = g.split(gates, 4, 1)
        cell = g.add(g.multiply(g.sigmoid(forget), cell), g.multiply(g.sigmoid(enter), g.tanh(new)))
        state = g.multiply(g.sigmoid(leave), g.tanh(cell))
    return state


def gru(g, steps=16, width=128, hidden=256):
    pieces = g.split(g.input(steps, width), steps, 0)
    of_input, of_state, offset = g.draw(width, 3 * hidden), g.draw(hidden, 3 * hidden), g.draw(3 * hidden, scale=.1)
    state = zeros(g, 1, hidden)
    for piece in pieces:
        ours, before = g.split(g.add(g.matmul(piece, of_input), offset), 3, 1), g.split(g.matmul(state, of_state), 3, 1)
        reset, keep = g.sigmoid(g.add(ours[0], before[0])), g.sigmoid(g.add(ours[1], before[1]))
        new = g.tanh(g.add(ours[2], g.multiply(reset, before[2])))
        state = g.add(new, g.multiply(keep, g.subtract(state, new)))
    return state


def feed_forward(g, x):
    return g.linear(g.gelu(g.linear(x, 4 * x.shape[-1])), x.shape[-1])


def heads(g, x, count):
    return [g.reshape(g.linear(x, x.shape[-1]), (*x.shape[:-1], count, x.shape[-1] // count)) for _ in range(3)]


def encoder(blocks, sequence=128, width=256, count=8):
    def build(g):
        x = g.input(1, sequence, width)
        for _ in range(blocks):
            mixed = g.reshape(g.attention(*heads(g, x, count)), x.shape)
            x = g.layer_norm(g.add(x, g.linear(mixed, width)))
            x = g.layer_norm(g.add(x, feed_forward(g, x)))
        return x
    return build


def decoder(g, blocks=4, width=256, past=255, count=8):
    """One token behind 255: reads the caches of keys and values and returns longer ones."""
    x, caches = g.input(1, 1, width), []
    for _ in range(blocks):
        query, key, value = heads(g, g.layer_norm(x), count)
        caches += [g.concat([g.input(1, past, count, width // count), new], 1) for new in (key, value)]
        x = g.add(x, g.linear(g.reshape(g.attention(query, *caches[-2:]), x.shape), width))
        x = g.add(x, feed_forward(g, g.layer_norm(x)))
    return [g.layer_norm(x), *caches]


def mobilenet(g, size=112):
    def layer(x, *arguments, **more):
        return g.batch_norm(g.conv(x, *arguments, **more))
    x = g.relu6(layer(g.input(1, 3, size, size), 32, 3, 2, 1))
    for widen, channels, count, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            wide, stride, y = x.shape[1] * widen, 1 if i else first, x
            if widen > 1:
                y = g.relu6(layer(y, wide, 1))
            y = layer(g.relu6(layer(y, wide, 3, stride, 1, groups=wide)), channels, 1)
            x = g.add(x, y) if stride == 1 and x.shape[1] == channels else y
    return g.linear(g.reduce("Mean", g.relu6(layer(x, 1280, 1)), [2, 3]), 1000)


def resnet18(g, size=112):
    def layer(x, *arguments):
        return g.batch_norm(g.conv(x, *arguments))
    x = g.pool("Max", g.relu(layer(g.input(1, 3, size, size), 64, 7, 2, 3)), 3, 2, 1)
    for channels in (64, 128, 256, 512):
        for i in range(2):
            stride = 2 if channels > 64 and i == 0 else 1
            y = layer(g.relu(layer(x, channels, 3, stride, 1)), channels, 3, 1, 1)
            x = g.relu(g.add(y, x if stride == 1 else layer(x, channels, 1, stride)))
    return g.linear(g.reduce("Mean", x, [2, 3]), 1000)


def unet(g, size=64):
    def twice(x, channels):
        for _ in range(2):
            x = g.relu(g.batch_norm(g.conv(x, channels, 3, 1, 1)))
        return x
    x, levels = twice(g.input(1, 3, size, size), 16), []
    for channels in (32, 64):
        levels.append(x)
        x = twice(g.pool("Max", x, 2, 2), channels)
    for level in reversed(levels):
        x = twice(g.concat([level, g.up(x, level.shape[1])], 1), level.shape[1])
    return g.conv(x, 4, 1, bias=True)


def convnext(g, blocks=2, width=96, size=28):
    x = g.input(1, width, size, size)
    for _ in range(blocks):
        y = g.layer_norm(g.transpose(g.conv(x, width, 7, 1, 3, groups=width), [0, 2, 3, 1]))
        x = g.add(x, g.transpose(feed_forward(g, y), [0, 3, 1, 2]))
    return x


def shufflenet(g, blocks=3, width=120, size=28, groups=3):
    x = g.input(1, width, size, size)
    for _ in range(blocks):
        y = g.relu(g.batch_norm(g.conv(x, width, 1, groups=groups)))
        y = g.transpose(g.reshape(y, (1, groups, width // groups, size, size)), [0, 2, 1, 3, 4])
        y = g.batch_norm(g.conv(g.reshape(y, x.shape), width, 3, 1, 1, groups=width))
        x = g.relu(g.add(x, g.batch_norm(g.conv(y, width, 1, groups=groups))))
    return x


def temporal(g, width=64, length=256):
    """Convolutions along time, each twice as far apart as the one before, that see the past only."""
    x = g.input(1, width, 1, length)
    for step in (1, 2, 4, 8):
        past = g.concat([g.weight(np.zeros((1, width, 1, 2 * step), "float32")), x], 3)
        x = g.relu(g.add(x, g.conv(past, width, (1, 3), dilation=step, bias=True)))
    return x


def written_out(g, query, key, value, mask=None):
    """Attention in matmul and softmax, as exporters write it: (1, heads, sequence, size) each."""
    scores = g.scale(g.matmul(query, g.transpose(key, [0, 1, 3, 2])), float(1 / np.sqrt(query.shape[-1])))
    scores = g.add(scores, mask) if mask else scores
    return g.transpose(g.matmul(g.softmax(scores), value), [0, 2, 1, 3])


def three_heads(g, x, count):
    """One product for all of query, key and value, cut apart."""
    shape = (*x.shape[:-1], count, x.shape[-1] // count)
    return [g.transpose(g.reshape(v, shape), [0, 2, 1, 3]) for v in g.split(g.linear(x, 3 * x.shape[-1]), 3, 2)]


def gelu_by_tanh(g, x):
    cube = g.multiply(g.multiply(x, x), x)
    inner = g.scale(g.add(x, g.scale(cube, .044715)), float(np.sqrt(2 / np.pi)))
    return g.multiply(g.scale(x, .5), g.add(g.tanh(inner), g.weight(np.ones((1,), "float32"))))


def gpt(blocks, rows, past, width=256, count=8):
    """Rows of text behind `past` others, whose keys and values are caches (1, heads, past, size)."""
    def build(g):
        x, caches, size = g.input(1, rows, width), [], width // count
        mask = g.weight(np.triu(np.full((rows, past + rows), -1e9, "float32"), past + 1)) if rows > 1 else None
        for _ in range(blocks):
            query, *new = three_heads(g, g.layer_norm(x), count)
            new = [g.concat([g.input(1, count, past, size), v], 2) if past else v for v in new]
            caches += new
            x = g.add(x, g.linear(g.reshape(written_out(g, query, *new, mask), x.shape), width))
            y = g.linear(gelu_by_tanh(g, g.linear(g.layer_norm(x), 4 * width)), width)
            x = g.add(x, y)
        return [g.layer_norm(x), *caches]
    return build


def vit(g, size=64, patch=8, width=192, blocks=2, count=3):
    x = g.conv(g.input(1, 3, size, size), width, patch, patch, bias=True)
    rows = (size // patch) ** 2
    x = g.transpose(g.reshape(x, (1, width, rows)), [0, 2, 1])
    x = g.add(g.concat([g.draw(1, 1, width), x], 1), g.draw(1, rows + 1, width))
    for _ in range(blocks):
        mixed = written_out(g, *three_heads(g, g.layer_norm(x), count))
        x = g.add(x, g.linear(g.reshape(mixed, x.shape), width))
        x = g.add(x, feed_forward(g, g.layer_norm(x)))
    return g.linear(g.reshape(g.slice(g.layer_norm(x), 1, 0, 1, 1), (1, width)), 100)


def efficient(g, size=56):
    """Wide blocks with a gate for each channel, and x * sigmoid(x)."""
    def swish(x):
        return g.multiply(x, g.sigmoid(x))

    def layer(x, *arguments, **more):
        return g.batch_norm(g.conv(x, *arguments, **more))
    x = swish(layer(g.input(1, 3, 2 * size, 2 * size), 32, 3, 2, 1))
    for widen, channels, kernel, stride in ((1, 16, 3, 1), (6, 24, 3, 2), (6, 24, 3, 1), (6, 40, 5, 2), (6, 40, 5, 1)):
        wide, y = x.shape[1] * widen, x
        y = swish(layer(y, wide, 1)) if widen > 1 else y
        y = swish(layer(y, wide, kernel, stride, kernel // 2, groups=wide))
        gate = g.reshape(g.reduce("Mean", y, [2, 3]), (1, wide, 1, 1))
        gate = g.sigmoid(g.conv(swish(g.conv(gate, max(x.shape[1] // 4, 4), 1, bias=True)), wide, 1, bias=True))
        y = layer(g.multiply(y, gate), channels, 1)
        x = g.add(x, y) if y.shape == x.shape else y
    return x


def dense(g, layers=4, grow=32, size=28):
    x = g.input(1, 64, size, size)
    for _ in range(layers):
        y = g.conv(g.relu(g.batch_norm(x)), 4 * grow, 1)
        x = g.concat([x, g.conv(g.relu(g.batch_norm(y)), grow, 3, 1, 1)], 1)
    return g.pool("Average", g.conv(g.relu(g.batch_norm(x)), 96, 1), 2, 2)


ROWS = {
    "digits, 1 image": perceptron(1, 64, 128, 64, 10), "digits, 360 images": perceptron(360, 64, 128, 64, 10), "lenet": lenet,
    "chain of 100": chain, "lstm 16 steps": lstm, "gru 16 steps": gru, "decoder 4 blocks": decoder, "encoder 4 blocks": encoder(4),
    "mobilenet_v2 112": mobilenet, "resnet18 112": resnet18,
    "mlp 784-512-512-10, n=1": perceptron(Dim("n", 1), 784, 512, 512, 10), "mlp 784-512-512-10, n=17": perceptron(Dim("n", 17), 784, 512, 512, 10),
    "int8 mlp 784-512-512-10, n=1": int8_perceptron(Dim("n", 1), 784, 512, 512, 10), "int8 mlp 784-512-512-10, n=128": int8_perceptron(Dim("n", 128), 784, 512, 512, 10),
    "encoder 2 blocks, 37 of 192": encoder(2, 37, 192, 6),
    "u-net 64": unet, "convnext 2 blocks 28": convnext, "shufflenet 3 blocks 28": shufflenet, "temporal 4 layers 256": temporal,
    "gpt 2 blocks, 64 rows": gpt(2, 64, 0), "gpt 2 blocks, 1 row behind 100": gpt(2, 1, 100), "gpt 2 blocks, 1 row behind 1000": gpt(2, 1, 1000), "vit 2 blocks 64": vit, "efficient 5 blocks 56": efficient,
    "dense 4 layers 28": dense,
}
EXACT = {name: exact_int8_perceptron for name in ROWS if name.startswith("int8")}     # peers round otherwise
MEAN = list(ROWS)[:10]
LARGE = ("mobilenet_v2 112", "resnet18 112")
