#!/usr/bin/env python3
"""Every operator on every dtype: it is inferred, built, run and compared with numpy, where the dtype makes sense. Elsewhere it is
refused with the operator's name, or runs. Sizes are numbers, and then names; then nothing is known of the operands.

Elements are small whole numbers, which every dtype has, so that results are exact where arithmetic is; what is not has the
tolerance of its dtype. Where no function of numpy stands beside an operator, its result in float64 is compared with, which other
suites compare with numpy."""
import os
import sys

sys.path[:0] = [os.path.join(os.environ.get("TOP", "."), "test", room) for room in ("ffi", "cli")]
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

import numpy_ops as ref
from cli_test import Suite
from relax_run import Failed, Module, NARROW

s = Suite()
np.seterr(all="ignore")
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ref.SIGNED + ref.UNSIGNED
NUMBERS, ALL = FLOATS + INTS, FLOATS + INTS + ("bool",)
TOLERANCE = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 2e-5, "float64": 1e-5}


# Rules that want a rank or a dtype (TVM 0.20 has the same): TY08 where it is not known.
WANT_KINDS = ("permute_dims", "full", "full_like", "where", "scatter_nd", "multinomial_from_uniform", "quantize", "dequantize",
              "nn.pad", "nn.layer_norm", "nn.rms_norm", "nn.group_norm", "nn.batch_norm")
UNKNOWN = "nothing known"


def some(*shape, most=4):
    return np.arange(int(np.prod(shape))).reshape(shape) * 7 % 11 % most


class D:
    """An operand of the dtype that is tried."""

    def __init__(self, array):
        self.array = np.asarray(array)


class Case:
    """expr: of x0, x1 ... and {d}; wanted: of the arrays, None: what float64 gives. dtypes: those that it has to take. result: dtype of
    the result, "d": that of the operands. named: whether names may stand for sizes."""

    def __init__(self, expr, inputs, wanted=None, dtypes=ALL, result="d", named=True):
        self.expr, self.wanted, self.dtypes, self.result, self.named = expr, wanted, dtypes, result, named
        self.inputs = inputs
        self.name = expr.split("(")[0][2:]

    def text(self, dtype, named):
        params = []
        for i, x in enumerate(self.inputs):
            array, of = (x.array, dtype) if isinstance(x, D) else (x, x.dtype.name)
            dims = "".join(f'"n{i}_{k}", ' if named and n > 1 else f"{n}, " for k, n in enumerate(array.shape))
            params.append(f"x{i}: R.Tensor" if named == UNKNOWN else f'x{i}: R.Tensor(({dims}), "{of}")')
        return f"@R.function\ndef main({', '.join(params)}):\n    y = {self.expr.replace('{d}', dtype)}\n    return y\n"


def as_dtype(array, dtype):
    """The array as the library takes it."""
    if dtype in NARROW:
        return ref.NARROW[dtype].encode(array).view(NARROW[dtype])
    return array.astype(dtype)


def as_numbers(array):
    for name, dtype in NARROW.items():
        if array.dtype == dtype:
            return ref.NARROW[name].decode(array.view(f"uint{8 * dtype.itemsize}")), name
    return array, array.dtype.name


def run(case, dtype, named, level):
    args = [as_dtype(x.array, dtype) if isinstance(x, D) else x for x in case.inputs]
    return [as_numbers(r) for r in Module(case.text(dtype, named)).compile(level).call("main", args)]


def same(got, want, dtype):
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if dtype not in TOLERANCE:
        return np.array_equal(got, want.astype(got.dtype))
    if got.dtype.kind == "b":
        return np.array_equal(got, want.astype(bool))
    return np.allclose(got.astype("float64"), want.astype("float64"), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True)


def wanted(case, dtype):
    arrays = [x.array.astype(ref.held(dtype)) if isinstance(x, D) else x for x in case.inputs]
    if case.wanted:
        results = case.wanted(*arrays)
    else:
        results = [x for x, _ in run(case, "float64", False, 0)]
    return results if isinstance(results, (list, tuple)) else [results]


def compare(case, dtype, named, level, want):
    what = f"{case.expr} of {dtype}{f', {named}' if named else ''}, level {level}"
    try:
        got = run(case, dtype, named, level)
    except Failed as e:
        if named == UNKNOWN:
            refused = e.code in (("TY08",) if case.name in WANT_KINDS else ("RT21", "RT03", "TY08") if dtype not in case.dtypes else ())
        else:
            refused = e.code in ("TY08", "CG03") and dtype not in case.dtypes
        s.check(f"{what}: {e.code}", refused, str(e)[:400])
        return
    if case.result and dtype in case.dtypes:
        s.equal(f"{what}: dtype", got[0][1], dtype if case.result == "d" else case.result)
    if dtype not in case.dtypes:
        return
    for i, ((x, of), w) in enumerate(zip(got, want())):
        s.check(f"{what}: result {i}", same(x, w, of if of in TOLERANCE else dtype if dtype in TOLERANCE else of), (x, w))


def sweep(case):
    for dtype in ALL:
        kept = []

        def want():
            if not kept:
                kept.append(wanted(case, dtype))
            return kept[0]
        for named in (False, "sizes with names", UNKNOWN) if case.named else (False, UNKNOWN):
            for level in (2,) if named else (0, 2):
                compare(case, dtype, named, level, want)


m34, t234 = D(some(3, 4)), D(some(2, 3, 4))
image, volume, line = D(some(1, 2, 5, 5)), D(some(1, 2, 4, 4, 4)), D(some(1, 2, 6))
i64, i32 = np.int64, np.int32
ix = np.array([2, 0, 1, 1], i64)


def one_hot(x):
    return np.eye(3)[x] * 2 + 1


def taken(x, i):
    return np.take(x, i, axis=1)


def scattered(x, i, u):
    x = x.copy()
    np.put_along_axis(x, i, u, 0)
    return x


def scattered_nd(x, i, u):
    x = x.copy()
    x[i[:, 0]] = u
    return x


def convolved(x, w):
    """Two-dimensional, no padding."""
    out = np.zeros((x.shape[0], w.shape[0], x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1), x.dtype)
    for i, j in np.ndindex(w.shape[2:]):
        product = np.einsum("nchw,oc->nohw", x[:, :, i:i + out.shape[2], j:j + out.shape[3]].astype("int64"), w[:, :, i, j].astype("int64"))
        out = out + product if x.dtype == bool else out + product.astype(x.dtype)
    return out


def largest(x):
    return np.maximum(np.maximum(x[..., :-1, :-1], x[..., 1:, :-1]), np.maximum(x[..., :-1, 1:], x[..., 1:, 1:]))


def in_sequences(x, of_queries, of_keys=None):
    """Attention of x to itself, sequence by sequence."""
    of_keys, x = of_queries if of_keys is None else of_keys, x.astype("float64")
    out = np.zeros_like(x)
    for a, b, c, d in zip(of_queries, of_queries[1:], of_keys, of_keys[1:]):
        score = np.exp(np.einsum("bqhd,bkhd->bhqk", x[:, a:b], x[:, c:d]) / np.sqrt(x.shape[-1]))
        out[:, a:b] = np.einsum("bhqk,bkhd->bqhd", score / score.sum(-1, keepdims=True), x[:, c:d])
    return out


def fused_sum(x, axis):
    return x.sum(axis, dtype=x.dtype)


MOVES = [
    Case("R.reshape(x0, R.shape([4, 3]))", [m34], lambda x: x.reshape(4, 3), named=False),
    Case("R.flatten(x0)", [t234], lambda x: x.ravel()),
    Case("R.permute_dims(x0, axes=[2, 0, 1])", [t234], lambda x: x.transpose(2, 0, 1)),
    Case("R.expand_dims(x0, axis=[1])", [m34], lambda x: x[:, None]),
    Case("R.squeeze(x0, axis=[0])", [D(some(1, 4))], lambda x: x[0]),
    Case("R.concat((x0, x1), axis=0)", [m34, D(some(2, 4))], lambda x, y: np.concatenate([x, y])),
    Case("R.split(x0, indices_or_sections=2, axis=1)", [m34], lambda x: np.split(x, 2, 1)),
    Case("R.split(x0, indices_or_sections=[1, 3], axis=1)", [m34], lambda x: np.split(x, [1, 3], 1)),
    Case("R.broadcast_to(x0, R.shape([2, 3, 4]))", [m34], lambda x: np.broadcast_to(x, (2, 3, 4)), named=False),
    Case("R.repeat(x0, repeats=2, axis=1)", [m34], lambda x: np.repeat(x, 2, 1)),
    Case("R.tile(x0, repeats=[2, 3])", [m34], lambda x: np.tile(x, (2, 3))),
    Case("R.flip(x0, axis=0)", [m34], lambda x: x[::-1]),
    Case("R.layout_transform(x0, index_map=lambda i, j: (j, i))", [m34], lambda x: x.T, named=False),
    Case("R.take(x0, x1, axis=1)", [m34, ix], taken),
    Case("R.take(x0, x1, axis=1)", [m34, ix.astype(i32)], taken),
    Case("R.strided_slice(x0, axes=[1], begin=[1], end=[4], strides=[2])", [m34], lambda x: x[:, 1:4:2]),
    Case("R.dynamic_strided_slice(x0, x1, x2, x3)", [m34, np.array([0, 1]), np.array([3, 4]), np.array([1, 2])], lambda x, b, e, t: x[0:3, 1:4:2], named=False),
    Case("R.gather_elements(x0, x1, axis=0)", [m34, some(2, 4, most=3).astype(i64)], lambda x, i: np.take_along_axis(x, i, 0)),
    Case("R.gather_nd(x0, x1)", [m34, np.array([[0, 1], [2, 3]], i64)], lambda x, i: x[i[:, 0], i[:, 1]], named=False),
    Case("R.scatter_elements(x0, x1, x2, axis=0)", [m34, np.array([[1, 2, 0, 1]], i64), D(some(1, 4))], scattered),
    Case("R.scatter_nd(x0, x1, x2)", [m34, np.array([[2], [0]], i64), D(some(2, 4))], scattered_nd, named=False),
    Case("R.where(x0, x1, x2)", [some(3, 4) > 1, m34, D(some(3, 4) + 1)], np.where),
    Case("R.nn.pad(x0, pad_width=[1, 0, 0, 2], pad_value=1.0)", [m34], lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=1)),
    Case('R.nn.pad(x0, pad_width=[1, 0, 0, 2], pad_mode="edge")', [m34], lambda x: np.pad(x, ((1, 0), (0, 2)), "edge")),
    Case('R.nn.pad(x0, pad_width=[1, 0, 0, 2], pad_mode="reflect")', [m34], lambda x: np.pad(x, ((1, 0), (0, 2)), "reflect")),
    Case("R.tril(x0, 0)", [m34], np.tril),
    Case("R.triu(x0, 1)", [m34], lambda x: np.triu(x, 1)),
    Case("R.memory.view(x0, R.shape([12]))", [m34], lambda x: x.ravel(), named=False),
    Case("R.memory.ensure_zero_offset(x0)", [m34], lambda x: x),
    Case("R.builtin.stop_lift_params(x0)", [m34], lambda x: x),
    Case("R.hint_on_device(x0, R.cpu(0))", [m34], lambda x: x),
    Case("R.grad.no_grad(x0)", [m34], lambda x: x),
    Case("R.grad.start_checkpoint(x0)", [m34], lambda x: x),
    Case("R.grad.end_checkpoint(x0)", [m34], lambda x: x),
]
MAKERS = [
    Case('R.zeros(R.shape([2, 3]), "{d}")', [], lambda: np.zeros((2, 3))),
    Case('R.ones(R.shape([2, 3]), "{d}")', [], lambda: np.ones((2, 3))),
    Case('R.full(R.shape([2, 3]), x0, dtype="{d}")', [D(np.array(1))], lambda x: np.full((2, 3), x)),
    Case('R.full(R.shape([2, 3]), R.const(1, "int32"), dtype="{d}")', [], lambda: np.ones((2, 3))),
    Case("R.zeros_like(x0)", [m34], np.zeros_like),
    Case("R.ones_like(x0)", [m34], np.ones_like),
    Case("R.full_like(x0, x1)", [m34, D(np.array(1))], lambda x, v: np.full_like(x, v)),
    Case('R.eye(3, 4, 1, dtype="{d}")', [], lambda: np.eye(3, 4, 1)),
    Case("R.eye_like(x0, k=1)", [m34], lambda x: np.eye(3, 4, 1)),
    Case('R.arange(1, 9, 3, dtype="{d}")', [], lambda: np.arange(1, 9, 3), dtypes=NUMBERS),
    Case("R.one_hot(x0, 3, 1, depth=3)", [D(np.array([0, 2, 1]))], lambda x: one_hot(x.astype(i64)), dtypes=INTS, result="int64"),
    Case('R.astype(x0, "float32")', [m34], lambda x: x.astype("float32"), result="float32"),
    Case('R.astype(x0, "{d}")', [some(3, 4).astype("float32")], lambda x: x),
    Case('R.wrap_param(x0, dtype="float32")', [m34], lambda x: x.astype("float32"), result="float32"),
    Case("R.shape_to_tensor(R.shape_of(x0))", [m34], lambda x: np.array(x.shape), result="int64"),
]
SUMS = [
    Case("R.sum(x0, axis=[1])", [t234], lambda x: fused_sum(x, 1), dtypes=NUMBERS),
    Case("R.prod(x0, axis=[1])", [D(some(3, 4) % 2 + 1)], lambda x: x.prod(1, dtype=x.dtype), dtypes=NUMBERS),
    Case("R.max(x0, axis=[1])", [t234], lambda x: x.max(1)),
    Case("R.min(x0, axis=[1])", [t234], lambda x: x.min(1)),
    Case("R.mean(x0, axis=[1])", [t234], lambda x: x.mean(1), dtypes=FLOATS),
    Case("R.variance(x0, axis=[1])", [t234], lambda x: x.var(1), dtypes=FLOATS),
    Case("R.std(x0, axis=[1])", [t234], lambda x: x.std(1), dtypes=FLOATS),
    Case("R.argmax(x0, axis=1)", [m34], lambda x: x.argmax(1), result="int64"),
    Case("R.argmin(x0, axis=1)", [m34], lambda x: x.argmin(1), result="int64"),
    Case("R.cumsum(x0, axis=1)", [m34], lambda x: x.cumsum(1, dtype=x.dtype), dtypes=NUMBERS),
    Case('R.cumsum(x0, axis=1, dtype="int32")', [m34], lambda x: x.astype(i32).cumsum(1), result="int32"),
    Case("R.cumprod(x0, axis=1, exclusive=True)", [m34], lambda x: np.concatenate([np.ones((3, 1), x.dtype), x.cumprod(1, dtype=x.dtype)[:, :-1]], 1), dtypes=NUMBERS),
    Case("R.collapse_sum_to(x0, R.shape([1, 4]))", [m34], lambda x: x.sum(0, keepdims=True, dtype=x.dtype), dtypes=NUMBERS, named=False),
    Case("R.collapse_sum_like(x0, x1)", [m34, D(some(1, 4))], lambda x, y: x.sum(0, keepdims=True, dtype=x.dtype), dtypes=NUMBERS, named=False),
    Case("R.matmul(x0, x1)", [m34, D(some(4, 5))], lambda x, y: x @ y),
    Case('R.matmul(x0, x1, out_dtype="float32")', [m34, D(some(4, 5))], lambda x, y: x.astype("float32") @ y.astype("float32"), dtypes=NUMBERS, result="float32"),
    Case('R.einsum((x0, x1), "ij,jk->ki")', [m34, D(some(4, 5))], lambda x, y: (x @ y).T),
    Case("R.ewise_fma(x0, x1, x1)", [m34, m34], lambda x, y: x * y + y, named=False),
    Case("R.sort(x0, axis=1, descending=True)", [m34], lambda x: np.sort(x, 1)[:, ::-1]),
    Case("R.argsort(x0, axis=1)", [m34], lambda x: np.argsort(x, 1, kind="stable"), result="int32"),
    Case('R.topk(x0, k=2, axis=1, ret_type="values")', [m34], lambda x: np.sort(x, 1)[:, ::-1][:, :2]),
    Case("R.unique(x0, True, False, False, False)", [m34], np.unique, named=False),
    Case('R.scatter_elements(x0, x1, x2, axis=0, reduction="add")', [m34, np.array([[1, 2, 0, 1]], i64), D(some(1, 4))],
         lambda x, i, u: scattered(x, i, np.take_along_axis(x, i, 0) + u), dtypes=NUMBERS),
]
FUNCTIONS = [Case(f"R.{name}(x0)", [m34], dtypes=FLOATS) for name in
             ("nn.gelu", "nn.gelu_tanh", "nn.selu", "nn.silu", "nn.leakyrelu", "nn.softplus", "nn.softmax", "nn.log_softmax", "exp", "erf", "sigmoid", "atanh", "rsqrt")]
FUNCTIONS += [
    Case("R.nn.relu(x0)", [m34], lambda x: np.maximum(x, 0), dtypes=NUMBERS),
    Case("R.clip(x0, 1, 2)", [m34], lambda x: np.clip(x, 1, 2), dtypes=NUMBERS),
    Case("R.nn.layer_norm(x0, x1, x2, axes=[-1])", [m34, D(some(4)), D(some(4))], dtypes=FLOATS),
    Case("R.nn.rms_norm(x0, x1, axes=[-1])", [m34, D(some(4))], dtypes=FLOATS),
    Case("R.nn.group_norm(x0, x1, x2, num_groups=2, channel_axis=1, axes=[2, 3])", [image, D(some(2)), D(some(2))], dtypes=("float16", "float32", "float64")),
    Case("R.nn.batch_norm(x0, x1, x2, x3, x4, axis=1)", [image] + [D(some(2) + 1)] * 4, dtypes=FLOATS),
    Case("R.nn.dropout(x0, rate=0.5)", [m34], lambda x: x),
    Case("R.nn.lstm(x0, x1, x2, x3)", [D(some(2, 3, 8) / 8), D(some(2, 8) / 8), D(some(3, 2) / 8), D(some(3, 2) / 8)], dtypes=FLOATS),
    Case("R.nn.gru(x0, x1, x2, x3, x4)", [D(some(2, 3, 6) / 8), D(some(2, 6) / 8), D(some(3, 2) / 8), D(some(6) / 8), np.array([2, 0, 1], i32)], dtypes=FLOATS),
    Case("R.nn.gru_reset_before(x0, x1, x2, x3, x4)", [D(some(2, 3, 6) / 8), D(some(2, 4) / 8), D(some(3, 2) / 8), D(some(6) / 8), D(some(2, 2) / 8)], dtypes=FLOATS),
    Case("R.nn.rnn(x0, x1, x2, backward=True)", [D(some(2, 3, 2) / 8), D(some(2, 2) / 8), D(some(3, 2) / 8)], dtypes=FLOATS),
    Case("R.nn.cross_entropy_with_logits(x0, x1)", [m34, m34], dtypes=FLOATS),
    Case("R.nn.nll_loss(x0, x1)", [m34, np.array([1, 0, 3], i64)], dtypes=FLOATS),
    Case('R.nn.nll_loss(x0, x1, x2, reduction="sum")', [m34, np.array([1, 0, 3], i64), D(some(4))], dtypes=FLOATS),
    Case("R.grad.nll_loss_backward(x0, x1, x2)", [D(np.array(1)), m34, np.array([1, 0, 3], i64)], dtypes=FLOATS),
    Case("R.grad.take_backward(x0, x1, x2, axis=1)", [D(some(3, 2)), m34, np.array([1, 1], i64)], dtypes=FLOATS),
    Case("R.multinomial_from_uniform(x0, x1, x2)", [D(some(2, 4) % 2), D(np.array([[0], [0], [0]])), np.array([[0], [1], [1]], i64)], dtypes=(), result=None, named=False),
    Case('R.quantize(x0, R.const(0.5, "float32"), R.const(1, "int8"))', [D(some(3, 4))], dtypes=(), result=None),
    Case('R.dequantize(x0, R.const(0.5, "float32"), R.const(1, "int8"))', [D(some(3, 4))], dtypes=(), result=None),
    Case("R.nn.attention(x0, x0, x0)", [D(some(1, 3, 2, 4))], dtypes=FLOATS),
    Case("R.nn.attention(x0, x0, x0, x1)", [D(some(1, 3, 2, 4)), D(some(1, 2, 3, 3))], dtypes=FLOATS),
    Case("R.nn.attention_var_len(x0, x0, x0, x1, R.const(2, \"int32\"))", [D(some(1, 3, 2, 4)), np.array([0, 2, 3], i32)], in_sequences, dtypes=FLOATS, named=False),
    Case("R.nn.attention_var_len(x0, x0, x0, x1, R.const(2, \"int32\"), x2, R.const(2, \"int32\"))", [D(some(1, 3, 2, 4)), np.array([0, 2, 3], i32), np.array([0, 1, 3], i32)],
         in_sequences, dtypes=FLOATS, named=False),
]
WINDOWS = [
    Case("R.nn.conv2d(x0, x1)", [image, D(some(3, 2, 2, 2))], convolved),
    Case("R.nn.conv2d(x0, x1, padding=[1, 1])", [image, D(some(3, 2, 2, 2))], lambda x, w: convolved(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), w)),
    Case('R.nn.conv2d(x0, x1, out_dtype="int32")', [image, D(some(3, 2, 2, 2))], lambda x, w: convolved(x.astype(i32), w.astype(i32)), dtypes=INTS, result="int32"),
    Case("R.nn.conv1d(x0, x1)", [line, D(some(3, 2, 2))], dtypes=NUMBERS),
    Case("R.nn.conv3d(x0, x1)", [volume, D(some(3, 2, 2, 2, 2) % 2)], dtypes=NUMBERS),
    Case("R.nn.conv1d_transpose(x0, x1)", [line, D(some(2, 3, 2))], dtypes=NUMBERS),
    Case("R.nn.conv2d_transpose(x0, x1, strides=[2, 2])", [image, D(some(2, 3, 2, 2))], dtypes=NUMBERS),
    Case("R.nn.max_pool1d(x0, pool_size=[2])", [line], lambda x: np.maximum(x[..., 1:], x[..., :-1])),
    Case("R.nn.max_pool2d(x0, pool_size=[2, 2])", [image], largest),
    Case("R.nn.max_pool3d(x0, pool_size=[2, 2, 2])", [volume], lambda x: np.maximum(largest(x)[:, :, 1:], largest(x)[:, :, :-1])),
    Case("R.nn.avg_pool1d(x0, pool_size=[2])", [line], dtypes=FLOATS),
    Case("R.nn.avg_pool2d(x0, pool_size=[2, 2], padding=[1, 1], ceil_mode=True, strides=[2, 2])", [image], dtypes=FLOATS),
    Case("R.nn.avg_pool3d(x0, pool_size=[2, 2, 2])", [volume], dtypes=FLOATS),
    Case("R.nn.adaptive_avg_pool1d(x0, output_size=[3])", [line], dtypes=FLOATS),
    Case("R.nn.adaptive_avg_pool2d(x0, output_size=[2, 2])", [image], dtypes=FLOATS),
    Case("R.nn.adaptive_avg_pool3d(x0, output_size=[2, 2, 2])", [volume], dtypes=FLOATS),
    Case("R.grad.max_pool2d_backward(x0, x1, pool_size=[2, 2])", [D(some(1, 2, 4, 4)), image], dtypes=FLOATS),
    Case("R.grad.avg_pool2d_backward(x0, x1, pool_size=[2, 2])", [D(some(1, 2, 4, 4)), image], dtypes=FLOATS),
    Case("R.image.resize2d(x0, R.shape([3, 7]))", [image], dtypes=FLOATS),
    Case('R.image.resize2d(x0, R.shape([3, 7]), method="nearest_neighbor", rounding_method="floor", coordinate_transformation_mode="asymmetric")', [image],
         lambda x: x[:, :, np.arange(3) * 5 // 3][..., np.arange(7) * 5 // 7], dtypes=NUMBERS),
    Case('R.image.resize2d(x0, R.shape([3, 7]), method="cubic")', [image], dtypes=FLOATS),
]
boxes = D(some(1, 5, 4, most=7))
limits = 'R.const(2, "int64"), R.const(0.5, "float32"), R.const(0.0, "float32")'
rois = np.array([[0, 1, 0, 3, 4], [0, 2, 1, 2, 2]], "float32")
DETECTION = [
    Case("R.median(x0, axis=[1])", [m34], lambda x: [np.sort(x, 1)[:, 1], np.argsort(x, 1, kind="stable")[:, 1]]),
    Case("R.median(x0)", [m34], lambda x: np.sort(x.ravel())[5]),
    Case("R.nn.max_pool1d_with_indices(x0, pool_size=[2])", [line], dtypes=NUMBERS),
    Case("R.nn.max_pool2d_with_indices(x0, pool_size=[2, 2], padding=[1, 1])", [image], dtypes=NUMBERS),
    Case("R.nn.max_pool3d_with_indices(x0, pool_size=[2, 2, 2], column_major=True)", [volume], dtypes=NUMBERS),
    Case("R.nn.deformable_conv2d(x0, x1, x2)", [image, D(some(1, 8, 4, 4) / 4), D(some(3, 2, 2, 2))], dtypes=FLOATS),
    Case("R.nn.deformable_conv2d(x0, x1, x2, x3)", [image, D(some(1, 8, 4, 4) / 4), D(some(3, 2, 2, 2)), D(some(1, 4, 4, 4))], dtypes=FLOATS),
    Case("R.image.resize1d(x0, R.shape([9]))", [line], dtypes=FLOATS),
    Case("R.image.resize3d(x0, R.shape([3, 5, 2]))", [volume], dtypes=FLOATS),
    Case('R.image.resize3d(x0, R.shape([8, 2, 4]), method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor")', [volume],
         lambda x: x.repeat(2, 2)[..., ::2, :], dtypes=ALL),
    Case("R.image.resize(x0, R.shape([3, 2]), axes=[3, 1])", [image], dtypes=FLOATS),
    Case("R.image.resize(x0, R.shape([3]), axes=[3], antialias=True)", [image], dtypes=FLOATS),
    Case('R.image.resize(x0, R.shape([10]), axes=[3], method="nearest_neighbor")', [image], lambda x: x.repeat(2, 3), dtypes=ALL),
    Case("R.vision.roi_align(x0, x1, (2, 2), 1.0)", [image, rois], dtypes=FLOATS),
    Case('R.vision.roi_align(x0, x1, (2, 2), 1.0, 2, mode="max_corner")', [image, rois], dtypes=FLOATS),
    Case("R.vision.roi_pool(x0, x1, (2, 2), 1.0)", [image, rois], dtypes=FLOATS),
    Case("R.image.sum_pixels(x0, x1, x2)", [D(some(1, 2, 5)), np.array([[[0, 4, -1], [2, 1, 3]]]), D(some(1, 2, 3))], dtypes=FLOATS),
    Case("R.image.sum_pixels(x0, x1, x2)", [D(some(1, 12, 5)), np.array([[[0, 4, -1], [2, 1, 3]]]), D(some(1, 2, 3))], dtypes=FLOATS),
    Case("R.vision.get_valid_counts(x0, score_threshold=2.0)", [boxes], dtypes=FLOATS, result="int32"),
    Case("R.vision.non_max_suppression(x0, x1, x2, coord_start=0, id_index=-1)", [boxes, np.array([5], i32), np.arange(5, dtype=i32).reshape(1, 5)], dtypes=FLOATS, result="int32"),
    Case("R.vision.non_max_suppression(x0, x1, x2, coord_start=0, id_index=-1, return_indices=False, soft_nms_sigma=0.5)",
         [boxes, np.array([5], i32), np.arange(5, dtype=i32).reshape(1, 5)], dtypes=FLOATS),
    Case(f"R.vision.all_class_non_max_suppression(x0, x1, {limits})", [boxes, D(some(1, 2, 5))], dtypes=FLOATS, result="int64"),
    Case(f"R.vision.dynamic_non_max_suppression(x0, x1, {limits})", [boxes, D(some(1, 2, 5))], dtypes=FLOATS, result="int64"),
    Case("R.vision.multibox_transform_loc(x0, x1, x2)", [D(some(1, 3, 2)), D(some(1, 8) / 4), D(some(1, 2, 4))], dtypes=FLOATS),
    Case("R.linalg.det(x0)", [D(some(2, 3, 3))], dtypes=FLOATS),
    Case('R.less(R.random.uniform(R.shape([3, 4]), "{d}"), R.add(x0, R.const(1, "{d}")))', [m34], lambda x: np.ones((3, 4), bool), dtypes=FLOATS, result="bool", named=False),
    Case('R.isfinite(R.random.normal(R.shape([3, 4]), "{d}"))', [], lambda: np.ones((3, 4), bool), dtypes=FLOATS, result="bool", named=False),
]
ELEMENTS = [Case(f"R.{name}(x0)", [m34], f, [d for d in ALL if (d in dtypes or d in FLOATS and "float32" in dtypes)], None)
            for name, (f, dtypes, _) in ref.UNARY.items()]
ELEMENTS += [Case(f"R.{name}(x0, x1)", [m34, D(some(3, 4) % 3 + 1)], f, [d for d in ALL if (d in dtypes or d in FLOATS and "float32" in dtypes)], None, False)
             for name, (f, dtypes, _) in ref.BINARY.items()]
for case in ELEMENTS + MOVES + MAKERS + SUMS + FUNCTIONS + WINDOWS + DETECTION:
    sweep(case)
s.done()
