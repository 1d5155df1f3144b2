"""Random programs as text, together with what they compute by numpy.

A program is made for several assignments of its symbolic dimensions at once: every value is known for all of them while the
text is written, so an operator is taken only where numpy can do it, and a size is written as an expression that has the right
value in all of them. Numbers are kept where comparing makes sense: `exact` values have the same bits everywhere; what jumps
(rounding, comparing, converting to integers) is done with exact values only. Tame programs keep magnitudes small. Wild ones
have NaN, infinities, -0.0, the ends of every dtype; there an inexact value that is not tame is a result at most.
bfloat16 and the floats of 8 bits are float32 rounded to them after each operation (numpy_ops.NARROW).
"""
import random

import numpy as np

import numpy_ops as ref

LIMIT = 6000            # elements of a value
POOL = (2, 3, 4, 5, 7)  # ordinary sizes
STRIPS = (63, 64, 65, 130, 256, 257, 300)  # around the lengths of strips


class Reject(Exception):
    """The statement cannot be taken."""


class Values(list):
    """One array per assignment, with the name of the dtype, which numpy does not know where it is one of NARROW."""

    def __init__(self, values, dtype=None):
        super().__init__(map(np.asarray, values))
        self.dtype = dtype or getattr(values, "dtype", None) or self[0].dtype.name
        if self.dtype in NARROW:
            self[:] = (ref.rounded(v, self.dtype) for v in self)


class Value:
    """signed: is the sign of its zeros known? dead: neither exact nor tame, so that nothing is computed from it."""

    def __init__(self, name, values, exact=True, sure=False, signed=True):
        values = Values(values)
        self.name, self.values, self.dtype, self.exact, self.sure, self.signed = name, values, values.dtype, exact, sure, signed
        self.dead = not exact and not is_tame(values)
        self.text = None  # the expression, where it may stand in place of the name

    @property
    def ndim(self):
        return self.values[0].ndim

    def dims(self):
        return [tuple(v.shape[i] for v in self.values) for i in range(self.ndim)]


class Tuple:
    """A tuple of the program, by the names and values of its fields."""

    def __init__(self, name, fields):
        self.name, self.fields = name, fields


def leaves(item, path=""):
    """The values of a result, with the way there."""
    if isinstance(item, Value):
        yield path, item
    else:
        for i, field in enumerate(item.fields):
            yield from leaves(field, f"{path}[{i}]")


def is_tame(values):
    return all(v.dtype.kind != "f" or np.all(np.abs(v) <= 900) for v in values)


def on_grid(x, bits):
    """Sums of these are exact: multiples of one power of two, not too many of them."""
    w = np.abs(x.astype("float64"))
    if not np.all(np.isfinite(w)):
        return False
    for k in range(13):
        if np.all(w * 2 ** k == np.floor(w * 2 ** k)):
            return float(np.sum(w)) * 2 ** k < 2 ** bits
    return False


NARROW = tuple(ref.NARROW)
FLOATS = (*ref.FLOATS, *NARROW)
NUMBERS = (*ref.NUMBERS, *NARROW)
BITS = {name: row.precision for name, row in ref.NARROW.items()} | {"float16": 11, "float32": 24, "float64": 53}
# Where continuous functions stay tame: name -> least and greatest input
DOMAIN = {
    "sqrt": (0.1, 900), "rsqrt": (0.1, 900), "exp": (-8, 4), "log": (0.1, 900), "sin": (-50, 50), "cos": (-50, 50), "tanh": (-50, 50),
    "sinh": (-3, 3), "cosh": (-3, 3), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atan": (-50, 50), "asinh": (-50, 50), "acosh": (1.2, 50),
    "atanh": (-0.9, 0.9), "erf": (-50, 50), "sigmoid": (-50, 50), "tan": (-1, 1),
}
JUMPS = {"sign", "floor", "ceil", "round", "logical_not", "floor_divide", "mod", "floor_mod", "equal", "not_equal", "less", "less_equal",
         "greater", "greater_equal", "isnan", "isinf", "isfinite"}
# Which zero comes out is left open, or which one went in shows
ZERO_OPEN = {"sign", "minimum", "maximum", "nn.relu", "floor_divide", "floor_mod"}
ZERO_SHOWS = {"divide", "floor_divide", "power", "rsqrt"}


def takes(dtypes, v):
    """May v be an operand where numpy's dtypes are these? Narrow floats go where float32 goes."""
    return ref.held(v.dtype) in dtypes


def number_text(x):
    x = x.item() if isinstance(x, np.generic) else x
    return f'float("{x}")' if isinstance(x, float) and not np.isfinite(x) else repr(x)


def list_text(x):
    return number_text(x) if not isinstance(x, list) else "[" + ", ".join(map(list_text, x)) + "]"


class Function:
    def __init__(self, program, name, private=False):
        self.program, self.name, self.private = program, name, private
        self.rng, self.k = program.rng, program.k
        self.symbols, self.signature, self.inputs, self.lines, self.scopes = {}, [], {}, [], [[]]
        self.indent, self.counter = 2, 0
        self.declared, self.used_symbols, self.picked, self.local_symbols = [], set(), [], []

    # ---- text
    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def fresh(self, prefix="v"):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def size_text(self, vector):
        """An expression that has these values, or None."""
        if len(set(vector)) == 1:
            return str(vector[0])
        for name, values in self.symbols.items():
            if values == vector:
                self.used_symbols.add(name)
                return name
        for a, x in self.symbols.items():
            for c in (1, 2, 3, 4, 5, 7):
                for text, f in ((f"{a} + {c}", lambda v: v + c), (f"{a} * {c}", lambda v: v * c), (f"{a} // {c + 1}", lambda v: v // (c + 1))):
                    if tuple(map(f, x)) == vector:
                        self.used_symbols.add(a)
                        return text
            for b, y in self.symbols.items():
                for op, f in (("*", lambda v, w: v * w), ("+", lambda v, w: v + w)):
                    if tuple(map(f, x, y)) == vector:
                        self.used_symbols |= {a, b}
                        return f"{a} {op} {b}"
        return None

    def shape_text(self, dims):
        texts = [self.size_text(d) for d in dims]
        return None if None in texts else texts

    def info_text(self, v, how):
        """Struct info of a tensor. how: full, rank"""
        texts = self.shape_text(v.dims()) if how == "full" else None
        if texts is None:
            return f'R.Tensor(dtype="{v.dtype}", ndim={v.ndim})', False
        return f'R.Tensor(({"".join(t + ", " for t in texts)}), "{v.dtype}")', True

    # ---- values
    def visible(self):
        return [v for scope in self.scopes for v in scope]

    def tensors(self, test=lambda v: True):
        return [v for v in self.visible() if isinstance(v, Value) and not v.dead and test(v)]

    def pick(self, test=lambda v: True):
        found = self.tensors(test)
        if not found:
            raise Reject("nothing fits")
        # Late ones are more interesting.
        self.picked.append(found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))])
        return self.picked[-1]

    def check(self, values):
        if any(v.size > LIMIT or v.ndim > 5 for v in values):
            raise Reject("too large")
        if not self.program.wild and not is_tame(values):
            raise Reject("not tame")
        first = values[0]
        if any(v.dtype != first.dtype or v.ndim != first.ndim for v in values):
            raise Reject("rank differs")

    def emit(self, text, values, exact=True, sure=False, signed=True, annotate=True):
        values = Values(values)
        self.check(values)
        v = Value(self.fresh(), values, exact, sure, signed and all(p.signed for p in self.picked))
        note = ""
        if annotate and self.rng.random() < 0.15:
            info, full = self.info_text(v, self.rng.choice(["full", "full", "rank"]))
            v.sure = full
            note = ": " + info
        self.line(f"{v.name}{note} = {text}")
        v.text = text if not note and len(text) < 80 else None
        self.scopes[-1].append(v)
        return v

    def use(self, v):
        """An operand: by name, or written out once more."""
        return v.text if v.text and self.rng.random() < 0.2 else v.name

    def apply(self, f, *operands, dtype=None):
        """f of the operands' values. A float32 of narrow operands is as narrow, unless `dtype` says what it is."""
        if len(operands) > 1 and max(np.prod([float(o.values[k].size) for o in operands]) for k in range(self.k)) > 300000:
            raise Reject("slow")
        values = [np.asarray(f(*xs)) for xs in zip(*(o.values for o in operands))]
        narrow = [o.dtype for o in operands if o.dtype in NARROW] if values[0].dtype == np.float32 else []
        return Values(values, dtype or (narrow[0] if narrow else None))

    # ---- parameters and constants
    def random_array(self, shape, dtype):
        g = self.program.np_rng
        if dtype == "bool":
            return g.integers(0, 2, shape).astype(bool)
        if dtype in ref.UNSIGNED:
            return g.integers(0, 9, shape).astype(dtype)
        if dtype in ref.SIGNED:
            return g.integers(-6, 7, shape).astype(dtype)
        return (g.integers(-12, 13, shape) / 4).astype(ref.held(dtype))

    def wild_array(self, shape, dtype):
        """Where dtypes end, here and there."""
        x = np.asarray(self.random_array(shape, dtype))
        if dtype == "bool":
            return x
        ends = ref.ends(dtype)
        g = self.program.np_rng
        return np.where(g.random(shape) < g.choice([0.05, 0.3, 0.8]), g.choice(ends, shape), x).astype(x.dtype)

    def array(self, shape, dtype):
        return self.wild_array(shape, dtype) if self.program.wild and self.rng.random() < 0.7 else self.random_array(shape, dtype)

    def arrays(self, dims, dtype):
        return Values([self.array(tuple(d[k] for d in dims), dtype) for k in range(self.k)], dtype)

    def random_dtype(self):
        return self.rng.choice(["float32"] * 6 + ["int64", *ref.ALL, *NARROW])

    def param(self, dims, dtype):
        v = Value(self.fresh("p"), self.arrays(dims, dtype), True, True)
        self.add_param(v)
        return v

    def signature_size(self, vector):
        """How a size is written in a signature; a new symbol if it has none."""
        known = next((n for n, values in self.symbols.items() if values == vector), None)
        if len(set(vector)) == 1:
            return str(vector[0])
        if not known or self.rng.random() < 0.1:  # equal sizes of two names: nothing is proved of them
            known = "nmkpqrstuvw"[len(self.symbols) % 11] + (str(len(self.symbols) // 11) if len(self.symbols) > 10 else "")
            self.symbols[known] = vector
            self.declared.append(known)
        return f'"{known}"'

    def tuple_param(self, shapes):
        """A tuple of tensors and of a tuple of one; its fields are bound where the body begins."""
        t = self.fresh("t")
        infos, fields = [], []
        for dims in shapes:
            dtype = self.random_dtype()
            fields.append(self.arrays(dims, dtype))
            infos.append(f'R.Tensor(({"".join(self.signature_size(d) + ", " for d in dims)}), "{dtype}")')
        infos[-1] = f"R.Tuple({infos[-1]})"
        self.signature.append(f"{t}: R.Tuple({', '.join(infos)})")
        for i, values in enumerate(fields):
            last = i == len(fields) - 1
            self.inputs[f"{t}.{i}" + (".0" if last else "")] = values
            self.emit(f"{t}[{i}][0]" if last else f"{t}[{i}]", values, True, True)

    def shape_param(self, dims):
        """A shape, whose numbers are symbols from here on, and a tensor of it."""
        s = self.fresh("s")
        self.signature.append(f"{s}: R.Shape([{', '.join(self.signature_size(d) for d in dims)}])")
        self.inputs[s] = ["shape:" + ",".join(str(d[k]) for d in dims) for k in range(self.k)]
        if max(np.prod(d) for d in zip(*dims)) <= LIMIT:
            self.emit(f'R.ones({s}, "float32")', [np.ones(d, "float32") for d in zip(*dims)], True)  # its shape is a value: inference keeps the rank

    def add_param(self, v, how=None):
        how = how or ("full" if self.rng.random() < 0.8 else "rank")
        if how == "full":
            texts = [self.signature_size(d) for d in v.dims()]
            info = f'R.Tensor(({"".join(t + ", " for t in texts)}), "{v.dtype}")'
        else:
            info = f'R.Tensor(dtype="{v.dtype}", ndim={v.ndim})'
        v.sure = how == "full"
        self.signature.append(f"{v.name}: {info}")
        self.inputs[v.name] = v.values
        self.scopes[0].append(v)

    # ---- statements. Each raises Reject or emits
    def unary(self):
        name = self.rng.choice(list(ref.UNARY))
        f, dtypes, bits = ref.UNARY[name]
        low, high = DOMAIN.get(name, (-900, 900))

        def fits(v):
            if not takes(dtypes, v) or not v.exact and name in JUMPS or not v.signed and name in ZERO_SHOWS:
                return False
            return v.dtype not in FLOATS or self.program.wild and v.exact or all(np.all((x >= low) & (x <= high)) for x in v.values)
        x = self.pick(fits)
        self.emit(f"R.{name}({self.use(x)})", self.apply(f, x), x.exact and bits, x.sure, signed=name not in ZERO_OPEN)

    def binary(self):
        name = self.rng.choice(list(ref.BINARY))
        f, dtypes, bits = ref.BINARY[name]
        a = self.pick(lambda v: takes(dtypes, v) and (v.exact or name not in JUMPS))
        b = self.pick(lambda v: v.dtype == a.dtype and (v.exact or name not in JUMPS))
        text_b = self.use(b)
        if self.rng.random() < 0.2:
            b, text_b = self.constant(a.dtype, ())
        floating, exact = a.dtype in FLOATS, a.exact and b.exact
        if floating and not (self.program.wild and exact):
            if name in ("divide", "floor_divide", "mod", "floor_mod") and any(np.any(np.abs(x) < 0.2) for x in b.values):
                raise Reject("divisor near 0")
            if name == "power" and (any(np.any(x < 0.25) or np.any(x > 4) for x in a.values) or any(np.any(np.abs(x) > 3) for x in b.values)):
                raise Reject("power not tame")
        if floating and name in ZERO_SHOWS and not (a.signed and b.signed):
            raise Reject("signs of zeros")
        if a.dtype in ref.INTS and name == "power" and any(np.any(x > 40) for x in b.values):
            raise Reject("power not tame")
        same = a.dims() == b.dims()
        self.emit(f"R.{name}({self.use(a)}, {text_b})", self.apply(f, a, b), exact and bits, a.sure and b.sure and (same or not b.ndim),
                  signed=name not in ZERO_OPEN)

    def constant(self, dtype, shape):
        """A constant and its text; the value is the same for all assignments."""
        x = self.array(shape, dtype)
        return Value("", Values([x] * self.k, dtype), True, True), f'R.const({list_text(x.tolist())}, "{dtype}")'

    def const(self):
        dtype = self.random_dtype()
        shape = self.rng.choice([(), (1,), (3,), (2, 2), (1, 4)])
        v, text = self.constant(dtype, shape)
        self.emit(text, v.values, True, True, annotate=False)

    def where(self):
        c = self.pick(lambda v: v.dtype == "bool")
        a = self.pick()
        b = self.pick(lambda v: v.dtype == a.dtype)
        self.emit(f"R.where({self.use(c)}, {self.use(a)}, {self.use(b)})", self.apply(np.where, c, a, b), a.exact and b.exact)

    def clip(self):
        x = self.pick(lambda v: v.dtype in NUMBERS)
        low = self.rng.randrange(0, 3)
        high = low + self.rng.randrange(0, 4)
        text = f"{low}, {high}" if x.dtype in ref.INTS or self.rng.random() < 0.5 else f"{low}.5, {high}.75"
        if "." in text:
            low, high = low + 0.5, high + 0.75
        self.emit(f"R.clip({self.use(x)}, {text})", self.apply(lambda v: ref.clip(v, low, high), x), x.exact, x.sure, signed=False)

    def astype(self):
        to = self.rng.choice((*ref.ALL, *NARROW))
        x = self.pick(lambda v: v.exact or to in FLOATS and BITS[to] <= BITS.get(v.dtype, 99))
        values = self.apply(lambda v: ref.astype(v, to), x, dtype=to)
        self.emit(f'R.astype({self.use(x)}, "{to}")', values, x.exact, x.sure)

    def matmul(self):
        a = self.pick(lambda v: v.dtype in ("float16", "float32", "float64", *NARROW, "int32", "int64", "int8", "uint8") and v.ndim >= 1 and self.sums(v))
        b = self.pick(lambda v: v.dtype == a.dtype and v.ndim >= 1 and self.sums(v))
        if any(x.size == 0 or y.size == 0 for x, y in zip(a.values, b.values)) and self.rng.random() < 0.3:
            raise Reject("often enough")
        values = self.apply(ref.matmul, a, b)
        self.emit(f"R.matmul({self.use(a)}, {self.use(b)})", values, a.dtype in ref.INTS)

    @staticmethod
    def sums(v):
        """Are sums and products of it the same in every order, but for rounding?"""
        return v.dtype in ref.INTS or is_tame(v.values)

    def axis(self, v):
        return self.rng.randrange(-v.ndim, v.ndim)

    def reduce(self):
        name = self.rng.choice(list(ref.REDUCE))
        f, dtypes, bits = ref.REDUCE[name]
        x = self.pick(lambda v: takes(dtypes, v) and (name in ("max", "min") or self.sums(v)))
        keepdims = self.rng.random() < 0.4
        axis = None
        if x.ndim and self.rng.random() < 0.8:
            count = self.rng.randrange(1, x.ndim + 1)
            axis = [a - x.ndim if self.rng.random() < 0.3 else a for a in self.rng.sample(range(x.ndim), count)]
            if len(axis) == 1 and self.rng.random() < 0.5:
                axis = axis[0]
        values = self.apply(lambda v: f(v, axis, keepdims), x)
        exact = x.exact and bits
        if x.dtype in FLOATS and name == "sum":
            exact = exact and all(on_grid(v, BITS[x.dtype]) for v in x.values)
        elif x.dtype in FLOATS and name == "prod":
            exact = False
        self.emit(f"R.{name}({self.use(x)}, axis={axis}, keepdims={keepdims})", values, exact, x.sure, signed=False)

    def arg(self):
        name = self.rng.choice(list(ref.ARG))
        x = self.pick(lambda v: v.dtype in NUMBERS and v.exact)
        axis = self.axis(x) if x.ndim and self.rng.random() < 0.8 else None
        keepdims = self.rng.random() < 0.4
        if x.ndim == 0:
            raise Reject("no axis")
        self.emit(f"R.{name}({self.use(x)}, axis={axis}, keepdims={keepdims})", self.apply(lambda v: ref.ARG[name][0](v, axis, keepdims), x), True, x.sure)

    def softmax(self):
        x = self.pick(lambda v: v.dtype in FLOATS and v.ndim >= 1)
        axis = self.axis(x)
        name, f = self.rng.choice([("nn.softmax", ref.softmax), ("nn.log_softmax", ref.log_softmax)])
        self.emit(f"R.{name}({self.use(x)}, axis={axis})", self.apply(lambda v: f(v, axis), x), False, x.sure)

    def reshape(self):
        x = self.pick()
        dims = x.dims()
        at = self.rng.randrange(4)
        if at == 0 and len(dims) >= 2:  # two neighbours become one
            i = self.rng.randrange(len(dims) - 1)
            dims[i:i + 2] = [tuple(a * b for a, b in zip(dims[i], dims[i + 1]))]
        elif at == 1 and dims:          # another order of the same sizes
            self.rng.shuffle(dims)
        elif at == 2:
            dims.insert(self.rng.randrange(len(dims) + 1), (1,) * self.k)
        texts = self.shape_text(dims)
        if texts is None or "0" in texts:  # a literal 0 copies a size
            raise Reject("no text")
        if self.rng.random() < 0.4 and texts and x.sure and all(v.size for v in x.values):
            texts[self.rng.randrange(len(texts))] = "-1"
        shapes = [tuple(d[k] for d in dims) for k in range(self.k)]
        values = Values([v.reshape(s) for v, s in zip(x.values, shapes)], x.dtype)
        if self.rng.random() < 0.25 and "-1" not in texts:
            s = self.fresh("s")
            self.line(f"{s} = R.shape([{', '.join(texts)}])")
            self.emit(f"R.reshape({self.use(x)}, {s})", values, x.exact)
        elif self.rng.random() < 0.5:
            self.emit(f"R.reshape({self.use(x)}, R.shape([{', '.join(texts)}]))", values, x.exact, x.sure and "-1" not in texts)
        else:
            self.emit(f"R.reshape({self.use(x)}, ({''.join(t + ', ' for t in texts)}))", values, x.exact, x.sure and "-1" not in texts)

    def reshape_like(self):
        """The shape is a value: that of another tensor."""
        x, y = self.pick(), self.pick()
        values = self.apply(lambda a, b: a.reshape(b.shape), x, y, dtype=x.dtype)
        s = self.fresh("s")
        self.line(f"{s} = R.shape_of({self.use(y)})")
        self.emit(f"R.reshape({self.use(x)}, {s})", values, x.exact)

    def broadcast_to(self):
        x, y = self.pick(), self.pick()
        values = self.apply(lambda a, b: np.broadcast_to(a, b.shape).copy(), x, y, dtype=x.dtype)
        texts = self.shape_text(y.dims())
        if texts is None or self.rng.random() < 0.4:
            s = self.fresh("s")
            self.line(f"{s} = R.shape_of({self.use(y)})")
            self.emit(f"R.broadcast_to({self.use(x)}, {s})", values, x.exact)
        else:
            self.emit(f"R.broadcast_to({self.use(x)}, R.shape([{', '.join(texts)}]))", values, x.exact, True)

    def permute(self):
        x = self.pick(lambda v: v.ndim >= 1)
        axes = list(range(x.ndim))
        self.rng.shuffle(axes)
        if self.rng.random() < 0.2:
            self.emit(f"R.permute_dims({self.use(x)})", self.apply(np.transpose, x), x.exact, x.sure)
            return
        written = [a - x.ndim if self.rng.random() < 0.2 else a for a in axes]
        self.emit(f"R.permute_dims({self.use(x)}, axes={written})", self.apply(lambda v: v.transpose(axes).copy(), x), x.exact, x.sure)

    def expand(self):
        x = self.pick(lambda v: v.ndim <= 3)
        n = self.rng.choice([1, 1, 2])
        axis = self.rng.sample(range(x.ndim + n), n)
        self.emit(f"R.expand_dims({self.use(x)}, axis={axis})", self.apply(lambda v: np.expand_dims(v, tuple(axis)), x), x.exact, x.sure)

    def squeeze(self):
        x = self.pick(lambda v: any(set(d) == {1} for d in v.dims()))
        ones = [i for i, d in enumerate(x.dims()) if set(d) == {1}]
        axis = self.rng.sample(ones, self.rng.randrange(1, len(ones) + 1))
        self.emit(f"R.squeeze({self.use(x)}, axis={axis})", self.apply(lambda v: np.squeeze(v, tuple(axis)), x), x.exact, x.sure)

    def concat(self):
        x = self.pick(lambda v: v.ndim >= 1)
        parts = [x] + [self.pick(lambda v: v.dtype == x.dtype and v.ndim == x.ndim) for _ in range(self.rng.randrange(0, 3))]
        axis = self.axis(x)
        values = Values([np.concatenate([p.values[k] for p in parts], axis) for k in range(self.k)], x.dtype)
        exact = all(p.exact for p in parts)
        if self.rng.random() < 0.3:
            t = self.fresh("t")
            self.line(f"{t} = ({''.join(self.use(p) + ', ' for p in parts)})")
            self.emit(f"R.concat({t}, axis={axis})", values, exact)
        else:
            self.emit(f"R.concat(({''.join(self.use(p) + ', ' for p in parts)}), axis={axis})", values, exact)

    def flatten(self):
        x = self.pick(lambda v: v.ndim != 1)
        self.emit(f"R.flatten({self.use(x)})", self.apply(lambda v: v.reshape(-1), x), x.exact)

    def create(self):
        y = self.pick()
        dtype = self.random_dtype()
        name, f = self.rng.choice([("zeros", np.zeros), ("ones", np.ones)])
        made = Values([f(v.shape, ref.held(dtype)) for v in y.values], dtype)
        texts = self.shape_text(y.dims())
        kind = self.rng.randrange(4)
        if kind == 0:
            self.emit(f'R.{name}_like({self.use(y)}, "{dtype}")', made, True, y.sure)
        elif kind == 1 and texts is not None:
            self.emit(f'R.{name}(R.shape([{", ".join(texts)}]), "{dtype}")', made, True, True)
        elif kind == 2 and texts is not None:
            fill = self.pick(lambda v: v.ndim == 0)
            self.emit(f"R.full(R.shape([{', '.join(texts)}]), {self.use(fill)})",
                      self.apply(lambda v, w: np.full(v.shape, w), y, fill, dtype=fill.dtype), fill.exact, True)
        elif kind == 3:
            fill = self.pick(lambda v: v.ndim == 0)
            values = self.apply(lambda v, w: np.full(v.shape, w, w.dtype), y, fill, dtype=fill.dtype)
            self.emit(f'R.full_like({self.use(y)}, {self.use(fill)}, "{fill.dtype}")', values, fill.exact, y.sure)
        else:
            raise Reject("no text")

    def match_cast(self):
        x = self.pick(lambda v: v.ndim >= 1)
        texts, new = [], {}
        for d in x.dims():
            known = self.size_text(d)
            if known is None or self.rng.random() < 0.3:
                fresh = next((n for n, values in new.items() if values == d), None)
                name = fresh or f"c{self.counter}_{len(new)}"
                new[name] = d
                texts.append(name)
            else:
                texts.append(known)
        # New symbols are declared where the function begins; they are known from here on.
        self.declared += new
        self.used_symbols |= set(new)
        info = f'R.Tensor(({"".join(t + ", " for t in texts)}), "{x.dtype}")'
        v = self.emit(f"R.match_cast({self.use(x)}, {info})", x.values, x.exact, True, annotate=False)
        v.text = None
        self.local_symbols.append(list(new))
        self.symbols.update(new)
        return v

    def copy_cast(self):
        """A copy of a cast, which may check nothing at all."""
        v = self.match_cast()
        self.emit(v.name, v.values, v.exact, True)

    def tuples(self):
        fields = [self.pick() for _ in range(self.rng.randrange(1, 4))]
        known = [t for t in self.visible() if isinstance(t, Tuple)]
        if known and self.rng.random() < 0.3:
            fields.append(self.rng.choice(known))
        t = Tuple(self.fresh("t"), fields)
        self.line(f"{t.name} = ({''.join((self.use(f) if isinstance(f, Value) else f.name) + ', ' for f in fields)})")
        self.scopes[-1].append(t)

    def field(self):
        """A field of a tuple; of a tuple in it either at once or by another name."""
        known = [t for t in self.visible() if isinstance(t, Tuple)]
        if not known:
            raise Reject("no tuple")
        t = self.rng.choice(known)
        i = self.rng.randrange(len(t.fields))
        f, path = t.fields[i], f"{t.name}[{i}]"
        if isinstance(f, Tuple) and self.rng.random() < 0.5:
            named = Tuple(self.fresh("t"), f.fields)
            self.line(f"{named.name} = {path}")
            self.scopes[-1].append(named)
            return
        rest, v = self.rng.choice([*leaves(f)])
        self.emit(path + rest, v.values, v.exact, v.sure, v.signed)

    def alias(self):
        x = self.pick()
        self.emit(self.use(x), x.values, x.exact, x.sure)

    # ---- parts and places
    def split(self):
        x = self.pick(lambda v: v.ndim >= 1)
        axis = self.axis(x)
        sizes = [v.shape[axis] for v in x.values]
        if self.rng.random() < 0.5:
            count = self.rng.randrange(1, 4)
            length = [-(-n // count) for n in sizes]
            if any(k * (count - 1) > n for k, n in zip(length, sizes)):
                raise Reject("the rest is negative")
            how, bounds = str(count), [[min(k * i, n) for i in range(count)] + [n] for k, n in zip(length, sizes)]
        else:
            at = sorted(self.rng.sample(range(0, 6), self.rng.randrange(1, 4)))
            how, bounds = str(at), [[0, *(min(i, n) for i in at), n] for n in sizes]
        if len(bounds[0]) == 2:
            self.emit(f"R.split({self.use(x)}, {how}, axis={axis})", x.values, x.exact, x.sure)
            return
        t = self.fresh("t")
        self.line(f"{t} = R.split({self.use(x)}, {how}, axis={axis})")
        for i in self.rng.sample(range(len(bounds[0]) - 1), min(2, len(bounds[0]) - 1)):
            parts = [np.take(v, range(b[i], max(b[i], b[i + 1])), axis) for v, b in zip(x.values, bounds)]
            self.emit(f"{t}[{i}]", Values(parts, x.dtype), x.exact)

    def indices(self, bound):
        """Integers from -bound to bound - 1: a constant, or what is left of a value."""
        if bound < 1:
            raise Reject("no index")
        if self.rng.random() < 0.5:
            shape = self.rng.choice([(), (1,), (4,), (2, 3)])
            dtype = self.rng.choice(["int32", "int64"])
            x = self.program.np_rng.integers(-bound, bound, shape).astype(dtype)
            return Value("", [x] * self.k), f'R.const({list_text(x.tolist())}, "{dtype}")'
        x = self.pick(lambda v: v.dtype in ("int32", "int64") and v.ndim <= 2)
        rest = self.apply(lambda a: np.mod(a, np.asarray(bound, a.dtype)), x)
        v = self.emit(f'R.floor_mod({self.use(x)}, R.const({bound}, "{x.dtype}"))', rest, True, x.sure)
        return v, v.name

    def take(self):
        x = self.pick(lambda v: v.ndim >= 1)
        axis = self.axis(x)
        i, text = self.indices(min(v.shape[axis] for v in x.values))
        self.emit(f"R.take({self.use(x)}, {text}, axis={axis})", self.apply(lambda v, at: np.take(v, at, axis), x, i), x.exact)

    def strided_slice(self):
        x = self.pick(lambda v: v.ndim >= 1)
        axes = self.rng.sample(range(x.ndim), self.rng.randrange(1, min(x.ndim, 2) + 1))
        rows, cuts = [], [[slice(None)] * x.ndim for _ in range(self.k)]
        for a in axes:
            size, step = x.dims()[a], self.rng.choice([1, 1, 1, 2, 3, -1, -2])
            ends = []
            for _ in range(2):
                number, text = self.rng.randrange(-7, 8), self.size_text(size)
                symbolic = text and self.rng.random() < 0.25
                ends.append((f"{text} - {abs(number) % 3}", [n - abs(number) % 3 for n in size]) if symbolic else (str(number), [number] * self.k))
            rows.append((a - x.ndim if self.rng.random() < 0.2 else a, ends[0][0], ends[1][0], step))
            for k in range(self.k):
                cuts[k][a] = slice(ends[0][1][k], ends[1][1][k], step)
        axis, begin, end, step = ("[" + ", ".join(map(str, c)) + "]" for c in zip(*rows))
        values = Values([v[tuple(c)] for v, c in zip(x.values, cuts)], x.dtype)
        self.emit(f"R.strided_slice({self.use(x)}, axes={axis}, begin={begin}, end={end}, strides={step})", values, x.exact)

    def dynamic_slice(self):
        x = self.pick(lambda v: 1 <= v.ndim <= 3)
        begin, end = ([self.rng.randrange(-7, 8) for _ in range(x.ndim)] for _ in range(2))
        step = [self.rng.choice([1, 1, 2, -1, -2]) for _ in range(x.ndim)]
        cut = tuple(map(slice, begin, end, step))
        texts = ", ".join(f'R.const({c}, "int64")' for c in (begin, end, step))
        self.emit(f"R.dynamic_strided_slice({self.use(x)}, {texts})", self.apply(lambda v: v[cut], x), x.exact)

    def pad(self):
        x = self.pick(lambda v: v.ndim >= 1)
        width = [(self.rng.choice([0, 0, 1, 2, 3]), self.rng.choice([0, 0, 1, 2])) for _ in range(x.ndim)]
        flat = [w for pair in width for w in pair]
        mode, name = self.rng.choice([("constant", "constant")] * 3 + [("edge", "edge"), ("reflect", "reflect"), ("wrap", "circular")])
        more = {}
        text = f'pad_width={flat}, pad_mode="{name}"'
        if mode == "constant":
            value = self.rng.choice([0, 0, 1, 2.5, 3, -3.0, 300.0, -0.0]) if self.program.wild else self.rng.choice([0, 1, 2.5])
            more["constant_values"] = ref.astype(np.asarray(value, "float64"), ref.held(x.dtype))
            text += f", pad_value={value}"
        elif any(max(w) > (n if mode == "wrap" else n - (mode == "reflect")) for v in x.values for w, n in zip(width, v.shape)):
            raise Reject("pads further than there is")
        self.emit(f"R.nn.pad({self.use(x)}, {text})", self.apply(lambda v: np.pad(v, width, mode, **more), x), x.exact)

    def scan(self):
        name, f = self.rng.choice([("cumsum", np.cumsum), ("cumprod", np.cumprod)])
        x = self.pick(lambda v: v.dtype in NUMBERS and self.sums(v))
        axis = self.axis(x) if x.ndim and self.rng.random() < 0.8 else None
        exclusive = self.rng.random() < 0.3
        to = self.rng.choice(["int64", "int32", "uint8"]) if x.dtype in ref.INTS and self.rng.random() < 0.3 else x.dtype
        work = "float32" if to == "float16" else ref.held(to)

        def scanned(v):
            w = f(v.astype(work), axis, dtype=work)
            if exclusive:
                along = 0 if axis is None else axis
                w = np.insert(np.delete(w, -1, along), 0, name == "cumprod", along) if w.shape[along] else w
            return w if to in NARROW else w.astype(to)
        exact = to in ref.INTS or name == "cumsum" and x.exact and all(on_grid(v, BITS[to]) for v in x.values)
        more = f', dtype="{to}"' if to != x.dtype else ""
        self.emit(f"R.{name}({self.use(x)}, axis={axis}{more}, exclusive={exclusive})", self.apply(scanned, x, dtype=to), exact and x.exact, signed=False)

    def norm(self):
        x = self.pick(lambda v: v.dtype in FLOATS and v.ndim >= 1 and v.exact and is_tame(v.values) and all(a.size for a in v.values))
        size = self.size_text(x.dims()[-1])
        fits = self.tensors(lambda v: v.dtype == x.dtype and v.dims() == x.dims()[-1:] and is_tame(v.values))
        if fits and self.rng.random() < 0.6:
            scale = self.rng.choice(fits)
            text, weight = scale.name, scale.values
        elif size:
            text, weight = f'R.ones(R.shape([{size}]), "{x.dtype}")', [np.ones(v.shape[-1:], v.dtype) for v in x.values]
        else:
            raise Reject("no weight")
        form = self.rng.choice(["R.nn.layer_norm({0}, {1}, {1}, axes=[-1])", "R.nn.rms_norm({0}, {1}, axes=[-1])"])
        f = ref.layer_norm if "layer" in form else ref.rms_norm
        self.emit(form.format(self.use(x), text), Values([f(v, w) for v, w in zip(x.values, weight)], x.dtype), False)

    def sort(self):
        name = self.rng.choice(["sort", "argsort", "topk"])
        x = self.pick(lambda v: v.ndim >= 1 and (v.exact or name == "sort"))
        axis, down = self.axis(x), self.rng.random() < 0.5
        order = self.apply(lambda v: ref.order(v, axis, down), x, dtype="int64")
        sorted_values = Values([np.take_along_axis(v, o, axis) for v, o in zip(x.values, order)], x.dtype)
        if name == "sort":
            self.emit(f"R.sort({self.use(x)}, axis={axis}, descending={down})", sorted_values, x.exact, x.sure)
            return
        dtype = self.rng.choice(["int32", "int64"])
        indices = [o.astype(dtype) for o in order]
        if name == "argsort":
            self.emit(f'R.argsort({self.use(x)}, axis={axis}, descending={down}, dtype="{dtype}")', indices, True, x.sure)
            return
        least = min(v.shape[axis] for v in x.values)
        if not least:
            raise Reject("nothing to take")
        t, k = self.fresh("t"), self.rng.randrange(1, min(least, 4) + 1)
        self.line(f'{t} = R.topk({self.use(x)}, k={k}, axis={axis}, ret_type="both", largest={down}, dtype="{dtype}")')
        self.emit(f"{t}[0]", Values([np.take(v, range(k), axis) for v in sorted_values], x.dtype), x.exact)
        self.emit(f"{t}[1]", [np.take(v, range(k), axis) for v in indices], True)

    def one_hot(self):
        x = self.pick(lambda v: v.dtype in ref.INTS and v.ndim <= 3)
        depth, axis, dtype = self.rng.randrange(1, 6), self.rng.randrange(-x.ndim - 1, x.ndim + 1), self.rng.choice(["float32", "int32", "uint8", "float16"])
        on, off = self.rng.choice([(1, 0), (3, 2)])
        classes = np.arange(depth).reshape([depth if i == axis % (x.ndim + 1) else 1 for i in range(x.ndim + 1)])
        hot = self.apply(lambda v: np.where(np.expand_dims(v, axis) == classes, np.asarray(on, dtype), np.asarray(off, dtype)), x)
        self.emit(f"R.one_hot({self.use(x)}, R.prim_value(T.{dtype}({on})), R.prim_value(T.{dtype}({off})), depth={depth}, axis={axis})", hot, True)

    def place(self):
        """Elements at other places: flip, tile, repeat, a triangle, by the order of the elements."""
        way = self.rng.randrange(6)
        x = self.pick(lambda v: v.ndim >= (2 if way == 3 else 1) and (v.exact or way < 4))
        axis = self.axis(x)
        if way == 0:
            self.emit(f"R.flip({self.use(x)}, axis={axis})", self.apply(lambda v: np.flip(v, axis), x), x.exact, x.sure)
        elif way == 1:
            times = [self.rng.randrange(1, 4) for _ in range(self.rng.randrange(1, x.ndim + 2))]
            self.emit(f"R.tile({self.use(x)}, {times})", self.apply(lambda v: np.tile(v, times), x), x.exact)
        elif way == 2:
            times = self.rng.randrange(1, 4)
            axis = self.rng.choice([axis, None])
            self.emit(f"R.repeat({self.use(x)}, {times}, axis={axis})", self.apply(lambda v: np.repeat(v, times, axis), x), x.exact)
        elif way == 3:
            name, f, k = *self.rng.choice([("tril", np.tril), ("triu", np.triu)]), self.rng.randrange(-2, 3)
            self.emit(f"R.{name}({self.use(x)}, {k})", self.apply(lambda v: f(v, k), x), x.exact, x.sure)
        else:
            order = self.apply(lambda v: ref.order(v, axis, False), x, dtype="int64")
            at = self.emit(f'R.argsort({self.use(x)}, axis={axis}, dtype="int64")', order, True, x.sure)
            if way == 4:
                self.emit(f"R.gather_elements({x.name}, {at.name}, axis={axis})",
                          self.apply(lambda v, o: np.take_along_axis(v, o, axis), x, at, dtype=x.dtype), x.exact)
            else:
                self.emit(f'R.scatter_elements({x.name}, {at.name}, {x.name}, axis={axis}, reduction="update")',
                          self.apply(lambda v, o: ref.scattered(v, o, v, axis), x, at, dtype=x.dtype), x.exact)

    def distinct(self):
        """How many there are is known when it runs."""
        x = self.pick(lambda v: v.exact)
        if self.rng.random() < 0.5:
            self.emit(f"R.nonzero({self.use(x)})", self.apply(lambda v: np.stack(np.nonzero(v)) if v.ndim else np.zeros((0, int(v != 0)), "int64"), x), True)
        else:
            self.emit(f"R.unique({self.use(x)})", self.apply(lambda v: np.unique(np.where(v == 0, np.zeros_like(v), v)), x), x.exact, signed=False)

    def arange(self):
        size = self.size_text(self.pick(lambda v: v.ndim >= 1).dims()[0])
        start, step, dtype = self.rng.randrange(-3, 4), self.rng.choice([1, 1, 2, -1, 3]), self.rng.choice(["int64", "int32", "float32"])
        if size is None:
            raise Reject("no text")
        stop = [v.shape[0] for v in self.picked[-1].values]
        self.emit(f'R.arange({start}, {size}, {step}, dtype="{dtype}")', [np.arange(start, n, step).astype(dtype) for n in stop], True)

    def shape_tensor(self):
        x = self.pick(lambda v: v.ndim >= 1)
        s = self.fresh("s")
        self.line(f"{s} = R.shape_of({self.use(x)})")
        self.emit(f"R.shape_to_tensor({s})", self.apply(lambda v: np.array(v.shape, "int64"), x), True)

    def call(self):
        """A call of a new function of the module."""
        if self.program.depth >= 2:
            raise Reject("deep enough")
        callee, args = self.program.helper(self)
        result = self.fresh("r")
        self.line(f"{result} = cls.{callee.name}({', '.join(a.name for a in args)})")
        for path, v in leaves(callee.result):
            if not path:
                self.scopes[-1].append(Value(result, v.values, v.exact, False, v.signed))
            elif self.rng.random() < 0.7:
                self.emit(result + path, v.values, v.exact, False, v.signed)

    SIMPLE = ["unary"] * 5 + ["binary"] * 6 + ["reduce"] * 3 + ["reshape"] * 2 + ["permute", "expand", "squeeze", "concat", "concat", "where", "where", "clip",
              "astype", "astype", "matmul", "matmul", "matmul", "arg", "softmax", "flatten", "create", "create", "const", "broadcast_to",
              "match_cast", "copy_cast", "copy_cast", "tuples", "tuples", "field", "alias", "alias", "reshape_like", "shape_tensor", "split", "take",
              "strided_slice", "strided_slice", "dynamic_slice", "pad", "scan", "norm", "sort", "one_hot", "place", "place", "distinct", "arange"]

    def simple(self, kinds):
        for _ in range(30):
            mark, values = len(self.lines), len(self.scopes[-1])
            self.picked = []
            try:
                with np.errstate(all="ignore"):
                    getattr(self, self.rng.choice(kinds))()
                return True
            except (Reject, ValueError, ZeroDivisionError, np.AxisError):
                del self.lines[mark:], self.scopes[-1][values:]
        return False

    # ---- blocks
    def dataflow_block(self, count):
        self.line("with R.dataflow():")
        self.indent += 1
        self.scopes.append([])
        self.local_symbols = []
        for _ in range(count):
            self.simple(self.SIMPLE + (["call"] if self.program.depth == 0 else []))
        found = self.scopes.pop()
        outputs = sorted(self.rng.sample(found, min(len(found), self.rng.choice([1, 2, 3, 20]))), key=lambda v: int(v.name[1:])) if found else []
        if not outputs:
            x = self.pick()
            outputs = [Value(self.fresh(), x.values, x.exact, x.sure, x.signed)]
            self.line(f"{outputs[0].name} = {x.name}")
        for v in outputs:
            v.text = None  # it may mention what is not visible outside
        self.line(f"R.output({', '.join(v.name for v in outputs)})")
        self.indent -= 1
        self.forget_symbols()
        self.scopes[-1] += outputs

    def forget_symbols(self):
        for names in self.local_symbols:
            for n in names:
                self.symbols.pop(n, None)
        self.local_symbols = []

    def branch(self):
        """if: the condition a parameter, a comparison, or of symbolic dimensions."""
        way = self.rng.randrange(3)
        if way == 0 and self.symbols and self.indent == 2:
            name = self.rng.choice(list(self.symbols))
            bound = self.rng.randrange(1, 6)
            cond, taken = f"R.prim_value({name} < {bound})", [v < bound for v in self.symbols[name]]
            self.used_symbols.add(name)
        else:
            scalars = self.tensors(lambda v: v.dtype == "bool" and v.ndim == 0)
            if not scalars:
                x = self.pick(lambda v: v.dtype in ref.INTS or v.dtype in ref.FLOATS and v.exact and all(on_grid(a, 20) for a in v.values))
                with np.errstate(all="ignore"):
                    total = [ref.total(v, None, False) for v in x.values]
                a, c = self.fresh(), self.fresh()
                self.line(f"{a} = R.sum({x.name})")
                self.line(f'{c} = R.greater({a}, R.const(1, "{x.dtype}"))')
                value = Value(c, [np.asarray(t > np.asarray(1, x.dtype)) for t in total])
                self.scopes[-1].append(value)
                scalars = [value]
            c = self.rng.choice(scalars)
            cond, taken = c.name, [bool(v) for v in c.values]
        name = self.fresh()
        want = self.pick(lambda v: v.signed)
        results = []
        for head in (f"if {cond}:", "else:"):
            self.line(head)
            self.indent += 1
            self.scopes.append([])
            self.local_symbols = []
            for _ in range(self.rng.randrange(0, 4)):
                self.simple(self.SIMPLE)
            if self.indent < 4 and self.rng.random() < 0.2:
                saved = self.local_symbols
                try:
                    self.branch()
                except Reject:
                    self.line(f"{self.fresh()} = {want.name}")
                self.local_symbols = saved
            x = self.pick(lambda v: v.dtype == want.dtype and v.ndim == want.ndim and v.signed)
            form = self.rng.choice(["{0}", "R.add({0}, {0})" if want.dtype in ref.INTS else "{0}"])
            self.line(f"{name} = " + form.format(x.name))
            results.append(([v + v if "add" in form else v for v in x.values], x.exact))
            self.scopes.pop()
            self.forget_symbols()
            self.indent -= 1
        values = [(results[0] if t else results[1])[0][k] for k, t in enumerate(taken)]
        self.scopes[-1].append(Value(name, Values(values, want.dtype), results[0][1] and results[1][1]))

    # ---- the whole
    def body(self, size):
        while size > 0:
            self.local_symbols = []
            at = self.rng.random()
            if at < 0.45:
                self.dataflow_block(min(size, self.rng.randrange(2, 9)))
                size -= 5
            elif at < 0.6:
                mark, scope = len(self.lines), len(self.scopes[-1])
                depth, indent = len(self.scopes), self.indent
                try:
                    self.branch()
                except Reject:
                    del self.lines[mark:], self.scopes[depth:]
                    del self.scopes[-1][scope:]
                    self.indent = indent
                size -= 3
            else:
                self.simple(self.SIMPLE + ["call"] * 3)
                size -= 1
        self.finish()

    def finish(self):
        """The result: a value, a tuple by its name, or a tuple of values and tuples."""
        late = self.visible()[-self.rng.choice([4, 8, 30]):]
        chosen = self.rng.sample(late, min(len(late), self.rng.choice([1, 2, 3, 4, 30])))
        self.result = chosen[0] if len(chosen) == 1 and self.rng.random() < 0.7 else Tuple("", chosen)
        if len(chosen) > 2 and self.rng.random() < 0.3:
            self.result = Tuple("", [chosen[0], Tuple("", chosen[1:])])
        self.line("return " + self.item_text(self.result))

    def item_text(self, item):
        if isinstance(item, Value):
            return self.use(item)
        return item.name or f"({''.join(self.item_text(f) + ', ' for f in item.fields)})"

    def text(self):
        used = [n for n in self.declared if n in self.used_symbols]
        head = ["    @R.function(private=True)" if self.private else "    @R.function",
                f"    def {self.name}({', '.join(self.signature)}):",
                "        cls = M"]
        head += [f"        {n} = T.int64()" for n in used]
        return "\n".join(head + self.lines) + "\n"


class Program:
    def __init__(self, seed, long=False):
        self.rng, self.np_rng = random.Random(seed), np.random.default_rng(seed)
        self.k, self.depth, self.helpers, self.done = 4, 0, 0, []
        self.wild = self.rng.random() < 0.5
        sizes = self.sizes()
        self.main = Function(self, "main")
        for _ in range(self.rng.randrange(2, 6)):
            ndim = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
            dims = [self.rng.choice(sizes) for _ in range(ndim)]
            while max(np.prod(d) for d in zip(*dims)) > LIMIT if dims else False:
                dims.pop()
            self.main.param(dims, self.main.random_dtype() if self.rng.random() < 0.6 else "float32")
        if self.rng.random() < 0.4:
            self.main.param([], "bool")
        if self.rng.random() < 0.3:
            self.main.tuple_param([[self.rng.choice(sizes)] for _ in range(self.rng.randrange(1, 4))])
        if self.rng.random() < 0.3:
            self.main.shape_param([self.rng.choice(sizes) for _ in range(self.rng.randrange(1, 3))])
        self.main.body(self.rng.randrange(6, 22) * (2 if long else 1))

    def sizes(self):
        """Sizes of dimensions in each assignment: some symbolic, some fixed; zero and one among them."""
        out = []
        for _ in range(self.rng.randrange(1, 4)):
            ordinary = self.rng.sample(POOL if self.rng.random() < 0.85 else STRIPS, 2)
            out.append((ordinary[0], self.rng.choice([1, 2, 6]), self.rng.choice([0, 1, 4]), ordinary[1]))
        out += [(self.rng.choice([1, 2, 3, 4]),) * self.k for _ in range(3)]
        return out + out[:1] * 2

    def helper(self, caller):
        """A new private function whose parameters are like some values of the caller."""
        args = [caller.pick(lambda v: v.exact) for _ in range(caller.rng.randrange(1, 4))]
        self.helpers += 1
        f = Function(self, f"helper{self.helpers}", private=self.rng.random() < 0.7)
        self.depth += 1
        for a in args:
            p = Value(f.fresh("p"), a.values, a.exact, False, a.signed)
            f.add_param(p, "full" if a.sure and self.rng.random() < 0.8 else "rank")
        f.body(self.rng.randrange(2, 8))
        self.depth -= 1
        self.done.append(f)
        return f, args

    def text(self):
        head = "from tvm.script import ir as I\nfrom tvm.script import tir as T\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass M:\n"
        return head + "\n".join(f.text() for f in [*self.done, self.main])

    def inputs(self, k):
        return {name: values[k] for name, values in self.main.inputs.items()}

    def outputs(self, k):
        """Values of the results, in depth first order, with their arrays for that assignment."""
        return [(v, v.values[k]) for _, v in leaves(self.main.result)]
