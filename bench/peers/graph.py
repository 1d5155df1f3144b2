"""One description of a network, written twice: as TVMScript with its weights for librelax, and as ONNX for ONNX Runtime.

A method of Graph appends an operator to both sides and returns its result. Weights are drawn from the seed. Without the
package onnx only our side is written. A dimension may be symbolic: Dim("n", 7) is called n in both texts and is 7 when run.
"""
import numpy as np

try:
    import onnx
    from onnx import helper, numpy_helper
except ImportError:
    onnx = None


INT8_WEIGHT_SCALE = 1 / 4096


class Dim(int):
    """A dimension that has a name in the program and a value in the measurement."""

    def __new__(cls, name, value):
        self = super().__new__(cls, value)
        self.name = name
        return self


class Value:
    """Something with a name, a shape and a dtype; `data` of weights; `positive`: inputs above 0."""

    def __init__(self, name, shape, dtype="float32", data=None, positive=False):
        self.name, self.shape, self.dtype, self.data, self.positive = name, tuple(shape), dtype, data, positive


def numbers(text):
    return ", ".join(map(str, text))


def shape_text(shape, quoted=True):
    names = [(f'"{d.name}"' if quoted else d.name) if isinstance(d, Dim) else str(int(d)) for d in shape]
    return "(" + ", ".join(names) + ("," if len(names) == 1 else "") + ")"


def annotation(value, quoted=True):
    return f'R.Tensor({shape_text(value.shape, quoted)}, "{value.dtype}")'


def broadcast(a, b):
    """The common shape; dimensions keep their names."""
    width = max(len(a), len(b))
    a, b = (1,) * (width - len(a)) + tuple(a), (1,) * (width - len(b)) + tuple(b)
    return tuple(y if x == 1 else x for x, y in zip(a, b))


class Graph:
    def __init__(self, seed=7):
        self.random = np.random.RandomState(seed)
        self.inputs, self.weights, self.constants, self.lines, self.nodes = [], [], {}, [], []
        self.count = self.flop = self.operators = 0

    # --- values ----------------------------------------------------------------------------------

    def name(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def input(self, *shape, dtype="float32", positive=False):
        self.inputs.append(Value(self.name("x"), shape, dtype, positive=positive))
        return self.inputs[-1]

    def weight(self, data):
        data = np.ascontiguousarray(data)
        self.weights.append(Value(self.name("w"), data.shape, str(data.dtype), data))
        return self.weights[-1]

    def draw(self, *shape, scale=None):
        """Weights that keep the size of what is multiplied by them."""
        depth = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        return self.weight((self.random.standard_normal(shape) * (scale or 1 / np.sqrt(depth))).astype("float32"))

    def between(self, low, high, *shape):
        return self.weight(self.random.uniform(low, high, shape).astype("float32"))

    def constant(self, data, dtype):
        """The name of a constant that ONNX wants as an operand and we as an attribute."""
        data = np.array(data, dtype)
        key = (data.tobytes(), dtype, data.shape)
        if key not in self.constants:
            self.constants[key] = (self.name("c"), data)
        return self.constants[key][0]

    # --- both sides ------------------------------------------------------------------------------

    def emit(self, expression, shape, dtype="float32"):
        value = Value(self.name(), shape, dtype)
        self.lines.append(f"{value.name} = {expression}")
        self.operators += 1
        return value

    def node(self, kind, operands, results, **attributes):
        self.nodes.append((kind, operands, [results] if isinstance(results, str) else results, attributes))

    def operator(self, ours, theirs, operands, shape=None, ours_more="", **attributes):
        """An operator that both sides have; `ours_more` follows the operands of ours."""
        names = [v.name for v in operands]
        result = self.emit(f"R.{ours}({', '.join(names)}{ours_more})", shape or operands[0].shape, operands[0].dtype)
        self.node(theirs, names, result.name, **attributes)
        return result

    # --- elementwise -----------------------------------------------------------------------------

    def binary(self, ours, theirs, a, b):
        return self.operator(ours, theirs, [a, b], broadcast(a.shape, b.shape))

    def add(self, a, b):
        return self.binary("add", "Add", a, b)

    def subtract(self, a, b):
        return self.binary("subtract", "Sub", a, b)

    def multiply(self, a, b):
        return self.binary("multiply", "Mul", a, b)

    def divide(self, a, b):
        return self.binary("divide", "Div", a, b)

    def scale(self, x, factor):
        result = self.emit(f'R.multiply({x.name}, R.const({factor!r}, "float32"))', x.shape)
        self.node("Mul", [x.name, self.constant(factor, "float32")], result.name)
        return result

    def unary(self, kind, x):
        """kind: the name of ONNX, which is ours written small."""
        room = "nn." if kind in ("Relu", "Gelu", "Softplus") else ""
        return self.operator(room + kind.lower(), kind, [x])

    def relu(self, x):
        return self.unary("Relu", x)

    def gelu(self, x):
        return self.unary("Gelu", x)

    def tanh(self, x):
        return self.unary("Tanh", x)

    def sigmoid(self, x):
        return self.unary("Sigmoid", x)

    def relu6(self, x):
        result = self.emit(f"R.clip({x.name}, R.prim_value(T.float32(0)), R.prim_value(T.float32(6)))", x.shape)
        self.node("Clip", [x.name, self.constant(0, "float32"), self.constant(6, "float32")], result.name)
        return result

    # --- contractions ----------------------------------------------------------------------------

    def matmul(self, a, b):
        shape = broadcast(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1])
        self.flop += 2 * int(np.prod(shape)) * int(a.shape[-1])
        if a.dtype != "int8":
            return self.operator("matmul", "MatMul", [a, b], shape)
        result = self.emit(f'R.matmul({a.name}, {b.name}, out_dtype="int32")', shape, "int32")
        self.node("MatMulInteger", [a.name, b.name], result.name)
        return result

    def centred(self, x, zero):
        """Ours: bytes less a zero point, as the importer of ONNX writes them."""
        wide = self.emit(f'R.astype({x.name}, "int32")', x.shape, "int32")
        return self.emit(f'R.subtract({wide.name}, R.const({zero}, "int32"))', x.shape, "int32")

    def matmul_integer(self, a, b, zero_a, zero_b):
        self.flop += 2 * int(np.prod(a.shape)) * int(b.shape[-1])
        left, right = self.centred(a, zero_a), self.centred(b, zero_b)
        result = self.emit(f"R.matmul({left.name}, {right.name})", a.shape[:-1] + b.shape[-1:], "int32")
        self.operators -= 4
        self.node("MatMulInteger", [a.name, b.name, self.constant(zero_a, a.dtype), self.constant(zero_b, b.dtype)], result.name)
        return result

    def conv_integer(self, x, channels, kernel, padding, zero):
        n, depth, *size = x.shape
        weight = self.weight(self.random.randint(-100, 100, (channels, depth, kernel, kernel)).astype("int8"))
        out = [s + 2 * padding - kernel + 1 for s in size]
        self.flop += 2 * int(np.prod([n, channels, *out, depth, kernel, kernel]))
        wide = self.emit(f'R.astype({weight.name}, "int32")', weight.shape, "int32")
        result = self.emit(f'R.nn.conv2d({self.centred(x, zero).name}, {wide.name}, padding=[{numbers([padding] * 4)}])', (n, channels, *out), "int32")
        self.operators -= 3
        self.node("ConvInteger", [x.name, weight.name, self.constant(zero, x.dtype)], result.name, kernel_shape=[kernel] * 2, pads=[padding] * 4)
        return result

    def linear(self, x, width):
        return self.add(self.matmul(x, self.draw(x.shape[-1], width)), self.draw(width, scale=.1))

    def int8_linear(self, x, width, scale, zero):
        """Rows quantised to uint8, weights to int8. Scales are powers of two, so that products with them are exact."""
        q = self.emit(f'R.astype(R.add(R.round(R.divide({x.name}, R.const({scale!r}, "float32"))), R.const({zero!r}, "float32")), "uint8")', x.shape, "uint8")
        weight, bias = self.weight(self.random.randint(-127, 128, (x.shape[-1], width)).astype("int8")), self.draw(width, scale=.1)
        y = self.emit(f'R.matmul({self.centred(q, zero).name}, R.astype({weight.name}, "int32"))', (*x.shape[:-1], width), "int32")
        y = self.emit(f'R.multiply(R.astype({y.name}, "float32"), R.const({scale * INT8_WEIGHT_SCALE!r}, "float32"))', y.shape)
        steps = [self.constant(v, "float32") for v in (scale, INT8_WEIGHT_SCALE)]
        zeros = [self.constant(zero, "uint8"), self.constant(0, "int8")]
        self.node("QuantizeLinear", [x.name, steps[0], zeros[0]], q.name)
        self.node("DequantizeLinear", [q.name, steps[0], zeros[0]], q.name + "_float")
        self.node("DequantizeLinear", [weight.name, steps[1], zeros[1]], weight.name + "_float")
        self.node("MatMul", [q.name + "_float", weight.name + "_float"], y.name)
        self.flop += 2 * int(np.prod(y.shape)) * x.shape[-1]
        return self.add(y, bias)

    def conv(self, x, channels, kernel, stride=1, padding=0, dilation=1, groups=1, bias=False):
        """A convolution of images or volumes; kernel: one size for all axes, or (height, width); so padding."""
        n, depth, *size = x.shape
        rank = len(size)
        kernel, padding = [(v,) * rank if isinstance(v, int) else v for v in (kernel, padding)]
        weight = self.draw(channels, depth // groups, *kernel)
        out = [(s + 2 * p - dilation * (k - 1) - 1) // stride + 1 for s, p, k in zip(size, padding, kernel)]
        self.flop += 2 * int(np.prod([n, channels, *out, depth // groups, *kernel]))
        theirs = dict(kernel_shape=kernel, strides=[stride] * rank, pads=padding * 2, dilations=[dilation] * rank, group=groups)
        result = self.emit(f"R.nn.conv{rank}d({x.name}, {weight.name}, strides=[{numbers([stride] * rank)}], padding=[{numbers(padding * 2)}], "
                           f"dilation=[{numbers([dilation] * rank)}], groups={groups})", (n, channels, *out))
        if not bias:
            self.node("Conv", [x.name, weight.name], result.name, **theirs)
            return result
        offset = self.draw(1, channels, 1, 1, scale=.1)     # we add it, ONNX has it as a third operand
        total = self.emit(f"R.add({result.name}, {offset.name})", result.shape)
        self.node("Conv", [x.name, weight.name, self.constant(offset.data.ravel(), "float32")], total.name, **theirs)
        return total

    def up(self, x, channels, factor=2, kernel=None):
        """A transposed convolution that makes an image `factor` times as large; kernel: as much as that, or more."""
        n, depth, *size = x.shape
        kernel = kernel or factor
        pad = (kernel - factor + 1) // 2
        more = factor - kernel + 2 * pad
        weight = self.draw(depth, channels, kernel, kernel)
        self.flop += 2 * int(np.prod([n, depth, *size, channels, kernel, kernel]))
        result = self.emit(f"R.nn.conv2d_transpose({x.name}, {weight.name}, strides=[{factor}, {factor}], padding=[{pad}, {pad}, {pad}, {pad}], "
                           f"output_padding=[{more}, {more}])", (n, channels, *[s * factor for s in size]))
        self.node("ConvTranspose", [x.name, weight.name], result.name, kernel_shape=[kernel] * 2, strides=[factor] * 2, pads=[pad] * 4,
                  output_padding=[more] * 2)
        return result

    def attention(self, query, key, value):
        """(batch, sequence, heads, size) each; ONNX writes it out."""
        batch, rows, heads, size = query.shape
        result = self.emit(f"R.nn.attention({query.name}, {key.name}, {value.name})", query.shape)
        turned = []
        for v, order in ((query, [0, 2, 1, 3]), (key, [0, 2, 3, 1]), (value, [0, 2, 1, 3])):
            turned.append(self.name("t"))
            self.node("Transpose", [v.name], turned[-1], perm=order)
        scores, scaled, weights, mixed = (self.name("t") for _ in range(4))
        self.node("MatMul", turned[:2], scores)
        self.node("Mul", [scores, self.constant(1 / np.sqrt(size), "float32")], scaled)
        self.node("Softmax", [scaled], weights, axis=-1)
        self.node("MatMul", [weights, turned[2]], mixed)
        self.node("Transpose", [mixed], result.name, perm=[0, 2, 1, 3])
        self.flop += 4 * int(np.prod([batch, heads, rows, key.shape[1], size]))
        return result

    # --- windows, rows, reductions ---------------------------------------------------------------

    def pool(self, kind, x, kernel, stride, padding=0):
        """kind: Max or Average."""
        n, c, *size = x.shape
        out = [(s + 2 * padding - kernel) // stride + 1 for s in size]
        ours = "nn.max_pool2d" if kind == "Max" else "nn.avg_pool2d"
        more = f", pool_size=[{kernel}, {kernel}], strides=[{stride}, {stride}], padding=[{numbers([padding] * 4)}]"
        return self.operator(ours, kind + "Pool", [x], (n, c, *out), more, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                             pads=[padding] * 4)

    def batch_norm(self, x):
        c = x.shape[1]
        parameters = [self.between(*limits, c) for limits in ((.8, 1.2), (-.1, .1), (-.1, .1), (.8, 1.2))]
        names = ", ".join(v.name for v in [x, *parameters])
        three = self.emit(f"R.nn.batch_norm({names}, axis=1, epsilon=1e-5, center=True, scale=True, momentum=0.1, training=False)", ())
        result = self.emit(f"{three.name}[0]", x.shape)
        self.node("BatchNormalization", [v.name for v in [x, *parameters]], result.name, epsilon=1e-5)
        return result

    def layer_norm(self, x):
        d = x.shape[-1]
        return self.operator("nn.layer_norm", "LayerNormalization", [x, self.between(.8, 1.2, d), self.between(-.1, .1, d)], None,
                             ", axes=[-1], epsilon=1e-5", axis=-1, epsilon=1e-5)

    def rms_norm(self, x):
        gain = self.between(.8, 1.2, x.shape[-1])
        result = self.emit(f"R.nn.rms_norm({x.name}, {gain.name}, axes=[-1], epsilon=1e-5)", x.shape)
        square, mean, above, root, quotient = (self.name("t") for _ in range(5))
        self.node("Mul", [x.name, x.name], square)
        self.node("ReduceMean", [square, self.constant([-1], "int64")], mean, keepdims=1)
        self.node("Add", [mean, self.constant(1e-5, "float32")], above)
        self.node("Sqrt", [above], root)
        self.node("Div", [x.name, root], quotient)
        self.node("Mul", [quotient, gain.name], result.name)
        return result

    def softmax(self, x, kind="Softmax"):
        ours = {"Softmax": "nn.softmax", "LogSoftmax": "nn.log_softmax"}[kind]
        return self.operator(ours, kind, [x], None, ", axis=-1", axis=-1)

    def reduce(self, kind, x, axes):
        """kind: Sum, Mean, Max."""
        axes = [a % len(x.shape) for a in axes]
        shape = [d for i, d in enumerate(x.shape) if i not in axes]
        result = self.emit(f"R.{kind.lower()}({x.name}, axis={axes})", shape)
        self.node("Reduce" + kind, [x.name, self.constant(axes, "int64")], result.name, keepdims=0)
        return result

    # --- movement --------------------------------------------------------------------------------

    def transpose(self, x, order):
        return self.operator("permute_dims", "Transpose", [x], [x.shape[i] for i in order], f", axes={order}", perm=order)

    def reshape(self, x, shape):
        """In ONNX one dimension may be 0: it stays as it is."""
        result = self.emit(f"R.reshape({x.name}, {shape_text(shape, quoted=False)})", shape, x.dtype)
        target = [0 if isinstance(d, Dim) else d for d in shape]
        self.node("Reshape", [x.name, self.constant(target, "int64")], result.name)
        return result

    def concat(self, values, axis):
        shape = list(values[0].shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        names = [v.name for v in values]
        result = self.emit(f"R.concat(({', '.join(names)}), axis={axis})", shape, values[0].dtype)
        self.node("Concat", names, result.name, axis=axis)
        return result

    def split(self, x, parts, axis):
        shape = list(x.shape)
        shape[axis] //= parts
        pieces = self.emit(f"R.split({x.name}, indices_or_sections={parts}, axis={axis})", ())
        values = []
        for i in range(parts):
            values.append(Value(self.name(), shape))
            self.lines.append(f"{values[-1].name} = {pieces.name}[{i}]")
        self.node("Split", [x.name], [v.name for v in values], axis=axis, num_outputs=parts)
        return values

    def take(self, table, indices):
        shape = (*indices.shape, *table.shape[1:])
        return self.operator("take", "Gather", [table, indices], shape, ", axis=0", axis=0)

    def slice(self, x, axis, begin, end, step):
        shape = list(x.shape)
        shape[axis] = -(-(end - begin) // step)
        result = self.emit(f"R.strided_slice({x.name}, axes=[{axis}], begin=[{begin}], end=[{end}], strides=[{step}])", shape)
        self.node("Slice", [x.name] + [self.constant([v], "int64") for v in (begin, end, axis, step)], result.name)
        return result

    # --- writing ---------------------------------------------------------------------------------

    def save(self, path, results):
        """Writes path.py, path.npz and path.onnx; returns what there is to know about them."""
        results = results if isinstance(results, list) else [results]
        self.save_script(path.with_suffix(".py"), results)
        if self.weights:
            np.savez(path.with_suffix(".npz"), **{w.name: w.data for w in self.weights})
        if onnx:
            self.save_onnx(path.with_suffix(".onnx"), results)
        return {"path": path, "inputs": self.inputs, "results": results, "flop": self.flop, "operators": self.operators,
                "weights": [w.data for w in self.weights]}

    def save_script(self, path, results):
        symbols = sorted({d.name for v in self.inputs for d in v.shape if isinstance(d, Dim)})
        parameters = "".join(f"        {v.name}: {annotation(v)},\n" for v in self.inputs + self.weights)
        last, kind = results[0].name, annotation(results[0])
        lines = list(self.lines)
        if len(results) > 1:
            last, kind = "out", "R.Tuple(" + ", ".join(map(annotation, results)) + ")"
            lines.append(f"out = ({', '.join(v.name for v in results)})")
        path.write_text(
            "from tvm.script import ir as I\nfrom tvm.script import relax as R\nfrom tvm.script import tir as T\n\n\n"
            f"@I.ir_module\nclass Module:\n    @R.function\n    def main(\n{parameters}    ) -> {kind}:\n"
            + "".join(f"        {s} = T.int64()\n" for s in symbols)
            + f'        R.func_attr({{"num_input": {len(self.inputs)}}})\n        with R.dataflow():\n'
            + "".join(f"            {line}\n" for line in lines) + f"            R.output({last})\n        return {last}\n")

    def save_onnx(self, path, results):
        def declared(value):
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
            return helper.make_tensor_value_info(value.name, kind, [d.name if isinstance(d, Dim) else d for d in value.shape])
        data = [(w.name, w.data) for w in self.weights] + list(self.constants.values())
        graph = helper.make_graph([helper.make_node(kind, operands, made, **attributes) for kind, operands, made, attributes in self.nodes],
                                  "main", list(map(declared, self.inputs)), list(map(declared, results)),
                                  [numpy_helper.from_array(array, name) for name, array in data])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
