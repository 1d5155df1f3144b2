"""Random PrimFuncs as text, together with what they compute by numpy.

Everything is known while the text is written: an expression is its text and its values over the loops around it, for each
assignment of the symbolic sizes. So an index is taken only where it is in range, a divisor only where it is not 0. `exact`
values have the same bits everywhere; what is not (exp and the like) is stored and read no more. Integers wrap, narrow floats
round after each operation; those that numpy does not know are float32 rounded to them.
"""
import random

import numpy as np

import numpy_ops as ref
from numpy_programs import FLOATS, NARROW, Reject, Values

SIZES = (0, 1, 2, 3, 5, 16, 17, 65, 260)
CELLS = 3000        # of the loops of a stage
DTYPES = (*ref.ALL, *NARROW)
K = 3               # assignments of the sizes


class Expr:
    """values: an array per assignment, over the axes of the stage or with 1 in place of some. signed: are the signs of zeros known?"""

    def __init__(self, text, dtype, values, exact=True, signed=True):
        self.text, self.dtype, self.values, self.exact, self.signed = text, dtype, Values(values, dtype), exact, signed


class Axis:
    """A loop: the text of its extent, and the extent in each assignment."""

    def __init__(self, name, text, sizes, reduces=False):
        self.name, self.text, self.sizes, self.reduces = name, text, sizes, reduces


class Buffer:
    def __init__(self, name, dtype, dims, values=None, exact=True, signed=True):
        """dims: [(text, sizes)]"""
        self.name, self.dtype, self.dims, self.values, self.exact, self.signed = name, dtype, dims, values, exact, signed


def numpy_dtype(dtype):
    return ref.held(dtype)


def bits(dtype):
    return np.dtype(dtype).itemsize * 8


def convert(x, dtype):
    return np.asarray(ref.astype(x, dtype))


def zero_is_open(a, b):
    """The least or greatest of 0.0 and -0.0 may be either."""
    return any(np.any((x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))) for x, y in zip(a.values, b.values))


def truncated(a, b):
    return ref.divide(a, b)


def remainder(a, b):
    return (a - truncated(a, b) * b).astype(a.dtype)


def shifted(f):
    return lambda a, b: f(a, b).astype(a.dtype)


# text: function of numpy
ARITHMETIC = {"{0} + {1}": np.add, "{0} - {1}": np.subtract, "{0} * {1}": np.multiply, "T.min({0}, {1})": np.minimum, "T.max({0}, {1})": np.maximum}
DIVISION = {"{0} // {1}": np.floor_divide, "{0} % {1}": np.mod, "T.floordiv({0}, {1})": np.floor_divide, "T.floormod({0}, {1})": np.mod,
            "T.truncdiv({0}, {1})": truncated, "T.truncmod({0}, {1})": remainder}
BITWISE = {"{0} & {1}": np.bitwise_and, "{0} | {1}": np.bitwise_or, "{0} ^ {1}": np.bitwise_xor}
SHIFTS = {"{0} << {1}": shifted(np.left_shift), "T.shift_right({0}, {1})": shifted(np.right_shift)}
COMPARISONS = {"{0} == {1}": np.equal, "{0} != {1}": np.not_equal, "{0} < {1}": np.less, "{0} <= {1}": np.less_equal,
               "{0} > {1}": np.greater, "{0} >= {1}": np.greater_equal}
LOGIC = {"{0} and {1}": np.logical_and, "{0} or {1}": np.logical_or}
EXACT_FLOAT = {"T.fabs({0})": np.abs, "T.abs({0})": np.abs, "T.floor({0})": np.floor, "T.ceil({0})": np.ceil, "T.trunc({0})": np.trunc,
               "T.round({0})": np.round, "T.nearbyint({0})": np.round, "T.sqrt({0})": np.sqrt}
ROUGH_FLOAT = {"T.exp({0})": np.exp, "T.sin({0})": np.sin, "T.tanh({0})": np.tanh, "T.log({0})": np.log, "T.sigmoid({0})": lambda x: 1 / (1 + np.exp(-x)),
               "T.rsqrt({0})": lambda x: 1 / np.sqrt(x), "T.erf({0})": ref.erf, "T.atan({0})": np.arctan}


class Kernel:
    def __init__(self, seed):
        self.rng, self.np_rng = random.Random(seed), np.random.default_rng(seed)
        self.name, self.lines, self.indent = f"k{seed}", [], 2
        self.wild = self.rng.random() < 0.5
        self.static = self.rng.random() < 0.3
        self.axes, self.own, self.names, self.constants = [], [], 0, None
        self.sizes = [("n", self.some_sizes()), ("m", self.some_sizes())]
        self.params = [self.param([self.sizes[0], self.sizes[1]])] + [self.param(self.some_dims()) for _ in range(self.rng.randrange(0, 3))]
        self.buffers, self.scratch, self.outputs = list(self.params), [], []
        stages, outputs = self.rng.randrange(1, 4), self.rng.choice([1, 1, 1, 2])
        for i in range(max(stages, outputs)):
            self.stage(i >= max(stages, outputs) - outputs)

    # ---- sizes and buffers
    def some_sizes(self):
        if self.static:
            return (self.rng.choice([1, 2, 3, 4, 8, 12]),) * K
        return tuple(self.rng.choice(SIZES if i != 1 else (0, 1, 1, 2)) for i in range(K))

    def some_dims(self):
        dims = [self.some_dim() for _ in range(self.rng.randrange(0, 4))]
        while max(np.prod([d[1][k] for d in dims]) for k in range(K)) > CELLS:
            dims.pop()
        return dims

    def some_dim(self):
        return self.rng.choice([*self.sizes, *self.sizes, *((str(c), (c,) * K) for c in (1, 2, 3, 4, 8))])

    def dim_text(self, dim):
        return str(dim[1][0]) if self.static else dim[0]

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def some_array(self, shape, dtype):
        g = self.np_rng
        if dtype == "bool":
            return g.integers(0, 2, shape).astype(bool)
        low = -6 if dtype in ref.SIGNED else 0
        x = g.integers(low, 9, shape).astype(dtype) if dtype in ref.INTS else (g.integers(-12, 13, shape) / 4).astype(numpy_dtype(dtype))
        return np.where(g.random(shape) < 0.4, g.choice(self.ends(dtype), shape), x).astype(x.dtype) if self.wild else x

    @staticmethod
    def ends(dtype):
        return ref.ends(dtype)

    def param(self, dims):
        dtype = self.rng.choice(DTYPES)
        values = Values([self.some_array([d[1][k] for d in dims], dtype) for k in range(K)], dtype)
        return Buffer(self.fresh("A"), dtype, dims, values)

    # ---- expressions
    def over(self, k, i):
        """The numbers of axis i in assignment k, along that axis."""
        shape = [1] * len(self.axes)
        shape[i] = self.axes[i].sizes[k]
        return np.arange(self.axes[i].sizes[k], dtype="int64").reshape(shape)

    def cells(self, k):
        return int(np.prod([a.sizes[k] for a in self.axes]))

    def index(self, dim, lanes=False):
        """An index of a dimension that is in range: text, a list of arrays. lanes: a vector of neighbours."""
        axes = [i for i, a in enumerate(self.axes) if (a.name == "lane") == lanes]
        for _ in range(6):
            if not axes:
                break
            i = self.rng.choice(axes)
            a = self.axes[i]
            v, c = a.name, self.rng.randrange(0, 4)
            size = self.dim_text(dim)
            text, f = self.rng.choice([
                (v, lambda x, n, e: x), (v, lambda x, n, e: x), (v, lambda x, n, e: x), (f"{a.text} - 1 - {v}", lambda x, n, e: e - 1 - x),
                (f"{v} + {c}", lambda x, n, e: x + c), (f"{v} * 2", lambda x, n, e: x * 2), (f"{v} // 2", lambda x, n, e: x // 2),
                (f"({v} * 3 + {c}) % {size}", lambda x, n, e: (x * 3 + c) % max(n, 1)), (f"T.min({v}, {size} - 1)", lambda x, n, e: np.minimum(x, n - 1))])
            values = [np.asarray(f(self.over(k, i), dim[1][k], a.sizes[k])) for k in range(K)]
            if all(self.cells(k) == 0 or np.all((x >= 0) & (x < dim[1][k])) for k, x in enumerate(values)):
                return text, values
        if any(self.cells(k) and not dim[1][k] for k in range(K)):
            raise Reject("no index")
        c = self.rng.randrange(0, max(1, min((dim[1][k] for k in range(K) if self.cells(k)), default=1)))
        return str(c), [np.full([1] * len(self.axes), c if dim[1][k] else 0) for k in range(K)]

    def load(self):
        b = self.rng.choice([b for b in [*self.buffers, *self.own] if b.exact])
        if b in self.own:
            return Expr(b.name, b.dtype, b.values, b.exact, b.signed)
        at = [self.index(d) for d in b.dims]
        values = []
        for k in range(K):
            if not self.cells(k):
                values.append(np.zeros([a.sizes[k] for a in self.axes], numpy_dtype(b.dtype)))
            elif at:
                values.append(b.values[k][tuple(np.broadcast_arrays(*(i[k] for _, i in at)))])
            else:
                values.append(b.values[k].reshape([1] * len(self.axes)))
        return Expr(f"{b.name}[{', '.join(t for t, _ in at) or '()'}]", b.dtype, values, b.exact, b.signed)

    def constant(self, dtype):
        """A number, an end of the dtype among them; a place for it where they are collected."""
        e = self.a_constant(dtype)
        if self.constants is not None:
            self.constants.append(e)
            return Expr(f"<{len(self.constants) - 1}>", dtype, e.values)
        return e

    def a_constant(self, dtype):
        x = self.rng.choice(self.ends(dtype)) if self.wild and dtype != "bool" and self.rng.random() < 0.5 else self.some_array((), dtype)[()]
        if dtype in FLOATS and self.rng.random() < 0.1:
            x = np.dtype(numpy_dtype(dtype)).type(self.rng.choice([0.0, 1.0, 0.0, -1.0]))
        if np.abs(x) > 3.4e38 and np.isfinite(x):
            x = np.dtype(numpy_dtype(dtype)).type(1e30)
        return Expr(self.number(x, dtype), dtype, [np.full([1] * len(self.axes), x)] * K)

    def number(self, x, dtype):
        if dtype in FLOATS:
            return f'T.{dtype}({repr(float(x)) if np.isfinite(x) else chr(34) + str(float(x)) + chr(34)})'
        if dtype == "uint64" and x >= 1 << 63:
            less = (1 << 64) - int(x)
            return f"(T.uint64(0) - T.uint64({less}))" if x > 1 << 63 and self.rng.random() < 0.5 else f'T.Cast("uint64", T.int64({-less}))'
        return f"T.{dtype}({x})"

    def leaf(self, dtype):
        way = self.rng.random()
        if way < 0.3 or self.constants is not None:
            return self.constant(dtype)
        if way < 0.4 and self.axes and dtype != "bool":
            i = self.rng.randrange(len(self.axes))
            return Expr(f'T.Cast("{dtype}", {self.axes[i].name})', dtype, [convert(self.over(k, i), dtype) for k in range(K)])
        try:
            x = self.load()
        except Reject:
            return self.constant(dtype)
        return x if x.dtype == dtype else self.cast(x, dtype)

    def cast(self, x, dtype):
        if x.dtype == dtype:
            return x
        return Expr(f'T.Cast("{dtype}", {x.text})', dtype, [convert(v, dtype) for v in x.values], x.exact, x.signed)

    def apply(self, form, f, *operands, dtype=None, wide=False):
        """f of the operands; the form is put into parentheses where it is an operator."""
        texts = [o.text for o in operands]
        if not form.startswith("T."):
            form = f"({form})"
        arrays = [[v.astype("float64") for v in o.values] if wide else o.values for o in operands]
        values = [np.asarray(f(*xs)) for xs in zip(*arrays)]
        dtype = dtype or operands[0].dtype
        values = [v if v.dtype == numpy_dtype(dtype) else v.astype(numpy_dtype(dtype)) for v in values]
        return Expr(form.format(*texts), dtype, values, all(o.exact for o in operands) and not wide, all(o.signed for o in operands))

    def pick(self, table):
        return self.rng.choice(list(table.items()))

    def expr(self, dtype, depth):
        if depth <= 0:
            return self.leaf(dtype)
        way = self.rng.random()
        if way < 0.12 and dtype != "bool":
            return self.choice_of(dtype, depth)
        if way < 0.24:
            return self.cast(self.expr(self.rng.choice(DTYPES), depth - 1), dtype)
        if dtype == "bool":
            return self.condition(depth)
        a = self.expr(dtype, depth - 1)
        if dtype in FLOATS:
            return self.float_expr(a, depth)
        return self.int_expr(a, depth)

    def choice_of(self, dtype, depth):
        c, a, b = self.condition(depth - 1), self.expr(dtype, depth - 1), self.expr(dtype, depth - 1)
        out = self.apply(self.rng.choice(["T.Select({0}, {1}, {2})", "T.if_then_else({0}, {1}, {2})"]), np.where, c, a, b, dtype=dtype)
        out.exact, out.signed = a.exact and b.exact, a.signed and b.signed
        return out

    def condition(self, depth):
        way = self.rng.random()
        if depth <= 0:
            return self.leaf("bool")
        if way < 0.25:
            form, f = self.pick(LOGIC)
            return self.apply(form, f, self.condition(depth - 1), self.condition(depth - 1))
        if way < 0.35:
            return self.apply("not {0}", np.logical_not, self.condition(depth - 1))
        dtype = self.rng.choice([d for d in DTYPES if d != "bool"])
        if way < 0.42 and dtype in ("float32", "float64"):
            return self.apply("T.isnan({0})", np.isnan, self.expr(dtype, depth - 1), dtype="bool")
        form, f = self.pick(COMPARISONS)
        return self.apply(form, f, self.expr(dtype, depth - 1), self.expr(dtype, depth - 1), dtype="bool")

    def int_expr(self, a, depth):
        way = self.rng.random()
        if way < 0.08:
            return self.apply("~{0}", np.invert, a)
        if way < 0.13 and a.dtype in ref.SIGNED:
            return self.apply(*self.rng.choice([("T.abs({0})", np.abs), ("-{0}", np.negative)]), a)
        if way < 0.23:
            form, f = self.pick(SHIFTS)
            if self.rng.random() < 0.5:
                count = self.number_expr(self.rng.randrange(0, bits(a.dtype)), a.dtype)
            else:
                count = self.apply("{0} & {1}", np.bitwise_and, self.expr(a.dtype, depth - 1), self.number_expr(7, a.dtype))
            return self.apply(form, f, a, count)
        b = self.expr(a.dtype, depth - 1)
        if way < 0.5:
            if any(np.any(v == 0) for v in b.values):
                b = self.apply("{0} | {1}", np.bitwise_or, b, self.number_expr(1, a.dtype))
            return self.apply(*self.pick(DIVISION), a, b)
        return self.apply(*self.pick(BITWISE if way < 0.65 else ARITHMETIC), a, b)

    def number_expr(self, x, dtype):
        return Expr(self.number(x, dtype), dtype, [np.full([1] * len(self.axes), x, dtype)] * K)

    def float_expr(self, a, depth):
        way = self.rng.random()
        if way < 0.2:
            return self.apply(*self.pick(EXACT_FLOAT), a)
        b = self.expr(a.dtype, depth - 1)
        if way < 0.35:
            if not b.signed:
                raise Reject("signs of zeros")
            return self.apply("{0} / {1}", np.divide, a, b)
        form, f = self.pick(ARITHMETIC)
        out = self.apply(form, f, a, b)
        if f in (np.minimum, np.maximum) and zero_is_open(a, b):
            out.signed = False
        return out

    def value(self, dtype, depth=None):
        """An expression to be stored."""
        depth = self.rng.randrange(1, 4) if depth is None else depth
        for _ in range(20):
            try:
                e = self.expr(dtype, depth)
            except Reject:
                continue
            if len(e.text) < 900:
                return e
        return self.constant(dtype)

    def rough(self, e):
        """Something of it that has no bits of its own."""
        if e.dtype not in FLOATS or self.rng.random() > 0.1 or not e.signed:
            return e
        form, f = self.pick(ROUGH_FLOAT)
        return self.apply(form, f, e, wide=True)

    # ---- text
    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def body(self, text):
        self.line(text)
        self.indent += 1

    def new_buffer(self, output, dtype, dims):
        b = Buffer(self.fresh("O" if output else "B"), dtype, dims)
        (self.outputs if output else self.scratch).append(b)
        return b

    def finish(self, b, values, exact=True, signed=True):
        b.values = Values([np.broadcast_to(v, [d[1][k] for d in b.dims]).copy() for k, v in enumerate(values)], b.dtype)
        b.exact, b.signed = exact, signed
        self.buffers.append(b)
        self.axes, self.own, self.indent = [], [], 2

    def full(self, k, x):
        return np.broadcast_to(x, [a.sizes[k] for a in self.axes])

    # ---- stages: each writes a buffer
    def stage(self, output):
        kinds = ["elementwise"] * 5 + ["reduction"] * 3 + ["tiled", "branches", "counting", "running", "twice", "beside", "beside"]
        kinds += ["vectors", "view", "region"] * 2 if self.static else []
        while True:
            mark, buffers, rows = len(self.lines), len(self.buffers), (list(self.outputs), list(self.scratch))
            try:
                with np.errstate(all="ignore"):
                    getattr(self, self.rng.choice(kinds))(output)
                return
            except Reject:
                del self.lines[mark:], self.buffers[buffers:]
                self.outputs, self.scratch = rows
                self.axes, self.own, self.indent = [], [], 2

    def spatial(self, count):
        axes = []
        for _ in range(count):
            text, sizes = self.some_dim()
            axes.append(Axis(self.fresh("v"), self.dim_text((text, sizes)), sizes))
        return axes

    def limit(self):
        if any(self.cells(k) > CELLS for k in range(K)):
            raise Reject("too many cells")

    def loops(self, order, block=True):
        """Loops around a block that binds the axes, in that order; or plain ones."""
        if not block:
            for a in order:
                self.body(f"for {a.name} in {self.rng.choice(['range', 'T.serial', 'range', 'T.parallel'])}({a.text}):")
            return
        if len(order) > 1 and self.rng.random() < 0.6:
            self.body(f"for {', '.join('i' + a.name for a in order)} in T.grid({', '.join(a.text for a in order)}):")
        else:
            for a in order:
                kind = self.rng.choice(["range", "range", "T.parallel" if not a.reduces else "T.serial", "T.unroll" if a.text.isdigit() else "range"])
                self.body(f"for i{a.name} in {kind}({a.text}):")
        self.body(f'with T.block("{self.fresh("b")}"):')
        for a in self.rng.sample(order, len(order)):
            self.line(f"{a.name} = T.axis.{'reduce' if a.reduces else 'spatial'}({a.text}, i{a.name})")

    def shuffled(self, axes):
        return self.rng.sample(axes, len(axes))

    def store(self, b, place, e):
        self.line(f"{b.name}[{', '.join(a.name for a in place) or '()'}] = {e.text}")

    def stored(self, place, values):
        """Values over all axes as the buffer has them: its dimensions are the axes in the order of `place`."""
        order = [self.axes.index(a) for a in place]
        return [self.full(k, v).transpose(order) for k, v in enumerate(values)]

    def target(self, output, dtype, place):
        return self.new_buffer(output, dtype, [(a.text, a.sizes) for a in place])

    def let(self, depth=2):
        """A name for a value, or none."""
        if self.rng.random() < 0.25:
            e = self.value(self.rng.choice(DTYPES), depth)
            name = self.fresh("x")
            if self.rng.random() < 0.7:
                self.line(f"{name}: T.{e.dtype} = {e.text}")
            else:
                self.body(f"with T.LetStmt({e.text}) as {name}:")
            self.own.append(Buffer(name, e.dtype, [], e.values, e.exact, e.signed))

    def elementwise(self, output):
        self.axes = self.spatial(self.rng.randrange(0, 4))
        self.limit()
        place, dtype = self.shuffled(self.axes), self.rng.choice(DTYPES)
        b = self.target(output, dtype, place)
        self.loops(self.shuffled(self.axes), block=self.rng.random() < 0.7)
        self.let()
        e = self.rough(self.value(dtype))
        self.store(b, place, e)
        self.finish(b, self.stored(place, e.values), e.exact, e.signed)

    def twice(self, output):
        """What was stored is read and stored again."""
        self.axes = self.spatial(self.rng.randrange(1, 3))
        self.limit()
        dtype = self.rng.choice([d for d in DTYPES if d != "bool"])
        b = self.target(output, dtype, self.axes)
        self.loops(self.axes, block=self.rng.random() < 0.5)
        e = self.value(dtype, 2)
        self.store(b, self.axes, e)
        self.own.append(Buffer(f"{b.name}[{', '.join(a.name for a in self.axes)}]", dtype, [], e.values, e.exact, e.signed))
        form, f = self.pick(ARITHMETIC)
        first, second = self.own[-1], self.value(dtype, 1)
        first = Expr(first.name, dtype, first.values, e.exact, e.signed)
        out = self.apply(form, f, first, second)
        self.store(b, self.axes, out)
        self.finish(b, self.stored(self.axes, out.values), out.exact, out.signed and not zero_is_open(first, second))

    def reduction(self, output):
        self.axes = self.spatial(self.rng.randrange(0, 3))
        reduce = [Axis(self.fresh("r"), *d, True) for d in ((self.dim_text(d), d[1]) for d in (self.some_dim() for _ in range(self.rng.randrange(1, 3))))]
        if any(0 in a.sizes for a in reduce):
            raise Reject("without a first element nothing is set")
        place, dtype = self.shuffled(self.axes), self.rng.choice(DTYPES)
        self.axes = self.axes + reduce
        self.limit()
        b = self.target(output, dtype, place)
        order = self.shuffled(self.axes)
        self.loops(order)
        self.let()
        at = f"{b.name}[{', '.join(a.name for a in place) or '()'}]"
        form, f = self.pick(LOGIC if dtype == "bool" else ARITHMETIC)
        if f is np.subtract:
            form, f = "{1} + {0}", np.add
        start = self.some_array((), dtype)
        e = self.value(dtype, self.rng.randrange(0, 3))
        self.body("with T.init():")
        self.line(f"{at} = {self.number(start[()], dtype)}")
        self.indent -= 1
        self.line(f"{at} = {form.format(at, e.text)}")
        inner = [self.axes.index(a) for a in order if a.reduces]
        outer = [self.axes.index(a) for a in place]
        values, signed = [], e.signed
        for k, v in enumerate(e.values):
            rows = self.full(k, v).transpose(outer + inner).reshape([a.sizes[k] for a in place] + [int(np.prod([a.sizes[k] for a in reduce]))])
            out = np.full(rows.shape[:-1], start)
            for i in range(rows.shape[-1]):     # in the order of the loops, rounding each time
                if f in (np.minimum, np.maximum) and dtype in FLOATS:
                    signed = signed and not np.any((out == 0) & (rows[..., i] == 0) & (np.signbit(out) != np.signbit(rows[..., i])))
                out = np.asarray(f(out, rows[..., i]))
                out = ref.rounded(out, dtype).astype(start.dtype)
            values.append(out)
        self.finish(b, values, e.exact, signed)

    def tiled(self, output):
        """Tiles with a rest, cut off by a predicate."""
        dim, tile = self.some_dim(), self.rng.choice([2, 4, 8, 16])
        dtype, size = self.rng.choice(DTYPES), self.dim_text(dim)
        self.axes = [Axis(self.fresh("v"), size, dim[1])]
        v = self.axes[0].name
        b = self.target(output, dtype, self.axes)
        o, i = self.fresh("o"), self.fresh("i")
        self.body(f"for {o}, {i} in T.grid(({size} + {tile - 1}) // {tile}, {tile}):")
        self.body(f'with T.block("{self.fresh("b")}"):')
        self.line(f"{v} = T.axis.spatial({size}, {o} * {tile} + {i})")
        self.line(f"T.where({o} * {tile} + {i} < {size})")
        e = self.value(dtype)
        self.store(b, self.axes, e)
        self.finish(b, e.values, e.exact, e.signed)

    def branches(self, output):
        self.axes = self.spatial(self.rng.randrange(1, 3))
        self.limit()
        dtype = self.rng.choice(DTYPES)
        b = self.target(output, dtype, self.axes)
        self.loops(self.axes, block=self.rng.random() < 0.5)
        self.let()
        c, first, second = self.condition(2), self.value(dtype, 2), self.value(dtype, 2)
        otherwise = self.rng.random() < 0.7
        if not otherwise:
            self.store(b, self.axes, second)
        self.body(f"if {c.text}:")
        self.store(b, self.axes, first)
        self.indent -= 1
        if otherwise:
            self.body("else:")
            self.store(b, self.axes, second)
        values = [np.where(x, y, z) for x, y, z in zip(c.values, first.values, second.values)]
        self.finish(b, self.stored(self.axes, values), first.exact and second.exact, first.signed and second.signed)

    def cell(self, dtype):
        b = Buffer(self.fresh("S"), dtype, [("1", (1,) * K)])
        self.scratch.append(b)
        return b.name + "[0]"

    def counting(self, output):
        """while: a step done as often as an element says."""
        self.axes = self.spatial(1)
        dtype = self.rng.choice(ref.INTS)
        b, v, c = self.target(output, dtype, self.axes), self.cell(dtype), self.cell("int32")
        self.loops(self.axes, block=False)
        self.lines[-1] = self.lines[-1].replace("T.parallel", "range")  # all iterations share the cells
        start, x = self.value(dtype, 1), self.value(dtype, 1)
        times = self.apply("{0} & {1}", np.bitwise_and, self.cast(self.value("int32", 1), "int32"), self.number_expr(7, "int32"))
        one, three = (np.asarray(i, dtype) for i in (1, 3))
        form, step = self.rng.choice([
            (f"{v} * T.{dtype}(3) + ({x.text})", lambda a, y: a * three + y),
            (f"T.max({v} // T.{dtype}(3), {x.text})", lambda a, y: np.maximum(a // three, y)),
            (f"({v} ^ {x.text}) - T.{dtype}(1)", lambda a, y: (a ^ y) - one),
            (f"T.Select({v} < {x.text}, {v} + T.{dtype}(3), ~{v})", lambda a, y: np.where(a < y, a + three, ~a))])
        self.line(f"{v} = {start.text}")
        self.line(f"{c} = 0")
        self.body(f"while {c} < {times.text}:")
        self.line(f"{v} = {form}")
        self.line(f"{c} = {c} + 1")
        self.indent -= 1
        self.line(f"{b.name}[{self.axes[0].name}] = {v}")
        values = []
        for k in range(K):
            a, y, t = (self.full(k, e.values[k]) for e in (start, x, times))
            for i in range(7):
                a = np.where(i < t, step(a, y), a).astype(dtype)
            values.append(a)
        self.finish(b, values)

    def running(self, output):
        """A scan: each element needs the one before."""
        self.axes = self.spatial(1)
        dtype = self.rng.choice([*ref.INTS, "float32", "float16", *NARROW, "float64"])
        b, v = self.target(output, dtype, self.axes), self.axes[0].name
        self.body(f"for {v} in range({self.axes[0].text}):")
        x = self.value(dtype, 2)
        form, f = self.rng.choice([("{0} + {1}", np.add), ("{0} * {1}", np.multiply), ("{1} - {0}", lambda p, q: q - p)])
        before = f"{b.name}[{v} - 1]"
        if self.rng.random() < 0.5:
            self.line(f"{b.name}[{v}] = T.if_then_else({v} == 0, {x.text}, {form.format(before, x.text)})")
        else:
            self.body(f"if {v} == 0:")
            self.line(f"{b.name}[{v}] = {x.text}")
            self.indent -= 1
            self.body("else:")
            self.line(f"{b.name}[{v}] = {form.format(before, x.text)}")
        values = []
        for k in range(K):
            a = self.full(k, x.values[k]).copy()
            for i in range(1, len(a)):
                a[i:i + 1] = convert(np.asarray(f(a[i - 1:i], a[i:i + 1])), dtype) if dtype in NARROW else f(a[i - 1:i], a[i:i + 1])
            values.append(a)
        self.finish(b, values, x.exact, x.signed)

    def beside(self, output):
        """An expression of constants, and the same of elements that hold them."""
        dtype = self.rng.choice(DTYPES)
        b, self.constants = self.new_buffer(output, dtype, [("2", (2,) * K)]), []
        e = self.value(dtype, self.rng.choice([1, 2, 2, 3]))
        constants, self.constants = self.constants, None
        folded, held = e.text, e.text
        for i, c in enumerate(constants):
            if f"<{i}>" in e.text:
                cell = self.cell(c.dtype)
                self.line(f"{cell} = {c.text}")
                folded, held = folded.replace(f"<{i}>", c.text), held.replace(f"<{i}>", cell)
        self.line(f"{b.name}[0] = {folded}")
        self.line(f"{b.name}[1] = {held}")
        self.finish(b, [np.broadcast_to(v, (2,)) for v in e.values], e.exact, e.signed)

    # ---- static sizes only
    def vectors(self, output):
        """Stores of lanes: slices and ramps, of loads, constants and their sums."""
        lanes, rows = self.rng.choice([2, 4, 8]), self.rng.choice([1, 2, 3])
        dtype = self.rng.choice(["float32", "int32", "int8", "uint8", "float64", "int64", "uint16"])
        i, b = self.fresh("v"), None
        source = [x for x in self.buffers if x.exact and x.dtype == dtype and len(x.dims) == 1 and x.dims[0][1][0] >= lanes]
        a = np.arange(rows)[:, None]
        lane = np.arange(lanes)

        def one():
            if source and self.rng.random() < 0.6:
                x = self.rng.choice(source)
                size = x.dims[0][1][0]
                if size >= lanes * rows and self.rng.random() < 0.7:
                    return f"{x.name}[{i} * {lanes}:{i} * {lanes} + {lanes}]", [v[a * lanes + lane] for v in x.values], x.signed
                return f"{x.name}[T.Ramp({lanes - 1}, -1, {lanes})]", [np.broadcast_to(v[lanes - 1 - lane], (rows, lanes)) for v in x.values], x.signed
            if dtype in ("int32", "int64") and self.rng.random() < 0.5:
                return f'T.Ramp(T.Cast("{dtype}", {i}), T.{dtype}(3), {lanes})', [(a + 3 * lane).astype(dtype)] * K, True
            x = self.some_array((), dtype)
            return f"T.Broadcast({self.number(x[()], dtype)}, {lanes})", [np.full((rows, lanes), x)] * K, True
        x, y = (Expr(t, dtype, v, True, s) for t, v, s in (one(), one()))
        form, f = self.pick({**ARITHMETIC, "T.Select({0} < {1}, {0}, {1})": lambda p, q: np.where(p < q, p, q)})
        e = self.apply(form, f, x, y)
        if f in (np.minimum, np.maximum) and zero_is_open(x, y):
            e.signed = False
        to = self.rng.choice([dtype, dtype, "float32", "int16"])
        if to != dtype:
            e = Expr(f'T.Cast("{to}x{lanes}", {e.text})', to, [convert(v, to) for v in e.values], True, e.signed)
        total = rows * lanes
        b = self.new_buffer(output, to, [(str(total), (total,) * K)])
        self.body(f"for {i} in range({rows}):")
        way = self.rng.randrange(3)
        if way == 0:
            self.line(f"{b.name}[{i} * {lanes}:{i} * {lanes} + {lanes}] = {e.text}")
        elif way == 1:
            self.line(f"{b.name}[T.Ramp({i}, {rows}, {lanes})] = {e.text}")
        else:
            self.line(f"{b.name}[T.Ramp({total - 1} - {i} * {lanes}, -1, {lanes})] = {e.text}")
        arrange = (lambda v: v.reshape(-1), lambda v: v.T.reshape(-1), lambda v: v.reshape(-1)[::-1])[way]
        self.finish(b, [arrange(v) for v in e.values], True, e.signed)

    def view(self, output):
        """A buffer written by way of another one over its data, with strides and an offset."""
        p, q, dtype = self.rng.choice([1, 2, 3]), self.rng.choice([2, 4, 5]), self.rng.choice(DTYPES)
        b = self.new_buffer(output, dtype, [(str(p * q), (p * q,) * K)])
        strides, offset, arrange = self.rng.choice([((1, p), 0, lambda v: v.T.reshape(-1)), ((-q, -1), p * q - 1, lambda v: v.reshape(-1)[::-1]),
                                                    ((q, -1), q - 1, lambda v: v[:, ::-1].reshape(-1)), ((q, 1), 0, lambda v: v.reshape(-1))])
        name = self.fresh("W")
        self.line(f'{name} = T.decl_buffer(({p}, {q}), "{dtype}", data={b.name}.data, strides={strides}, elem_offset={offset})')
        self.axes = [Axis(self.fresh("v"), str(n), (n,) * K) for n in (p, q)]
        self.loops(self.axes, block=False)
        e = self.value(dtype, 2)
        self.line(f"{name}[{', '.join(a.name for a in self.axes)}] = {e.text}")
        self.finish(b, [arrange(self.full(k, v)) for k, v in enumerate(e.values)], e.exact, e.signed)

    def region(self, output):
        """A part of a buffer by another name, with the strides that it has."""
        fits = [x for x in self.buffers if x.exact and len(x.dims) == 2]
        if not fits:
            raise Reject("no matrix")
        x = self.rng.choice(fits)
        (r0, r1), (c0, c1) = (sorted(self.rng.sample(range(d[1][0] + 1), 2)) for d in x.dims)
        part, name = [v[r0:r1, c0:c1] for v in x.values], self.fresh("D")
        self.axes = [Axis(self.fresh("v"), str(n), (n,) * K) for n in (r1 - r0, c1 - c0)]
        place = self.shuffled(self.axes)
        b = self.target(output, x.dtype, place)
        self.body(f'with T.block("{self.fresh("b")}"):')
        self.line(f"T.reads({x.name}[{r0}:{r1}, {c0}:{c1}])")
        self.line(f"T.writes({b.name}[{', '.join(f'0:{a.text}' for a in place)}])")
        self.line(f'{name} = T.match_buffer({x.name}[{r0}:{r1}, {c0}:{c1}], ({r1 - r0}, {c1 - c0}), "{x.dtype}", '
                  f'strides=("{name}s", "{name}t"), offset_factor=1)')
        self.loops(self.axes, block=False)
        self.store(b, place, Expr(f"{name}[{', '.join(a.name for a in self.axes)}]", x.dtype, part))
        self.finish(b, self.stored(place, part), True, x.signed)

    # ---- the whole
    def shape_text(self, b):
        return f"({''.join(self.dim_text(d) + ', ' for d in b.dims)})"

    def text(self):
        """A PrimFunc k1 and a function f1 that calls it."""
        every = [*self.params, *self.outputs]
        out = ["    @T.prim_func(private=True)"]
        if self.static:
            out.append(f"    def {self.name}({', '.join(f'{b.name}: T.Buffer({self.shape_text(b)}, {chr(34)}{b.dtype}{chr(34)})' for b in every)}):")
        else:
            out.append(f"    def {self.name}({', '.join(f'h{b.name}: T.handle' for b in every)}):")
            out.append("        n, m = T.int64(), T.int64()")
            out += [f'        {b.name} = T.match_buffer(h{b.name}, {self.shape_text(b)}, "{b.dtype}"{self.strides_text(b)})' for b in every]
        body = [f'        {b.name} = T.alloc_buffer({self.shape_text(b)}, "{b.dtype}")' for b in self.scratch] + self.lines
        if self.scratch:
            body = ['        with T.block("root"):'] + ["    " + line for line in body]
        infos = [f'R.Tensor({self.shape_text(b)}, "{b.dtype}")' for b in self.outputs]
        params = [f'{b.name}: R.Tensor({self.param_text(b)}, "{b.dtype}")' for b in self.params]
        info = infos[0] if len(infos) == 1 else f"[{', '.join(infos)}]"
        call = f"        r = R.call_tir(cls.{self.name}, ({''.join(b.name + ', ' for b in self.params)}), out_sinfo={info})"
        relax = ["", "    @R.function", f"    def f{self.name[1:]}({', '.join(params)}):", "        cls = M"]
        relax += [] if self.static else ["        n, m = T.int64(), T.int64()"]
        return "\n".join(out + body + relax + [call, "        return r", ""])

    def strides_text(self, b):
        """What they are anyhow, said by some."""
        return f", strides=({self.dim_text(b.dims[1])}, 1), elem_offset=0" if len(b.dims) == 2 and int(b.name[1:]) % 5 == 0 else ""

    def param_text(self, b):
        texts = [self.dim_text(d) for d in b.dims]
        return f"({''.join((t if t.isdigit() else chr(34) + t + chr(34)) + ', ' for t in texts)})"
