"""Random programs as text, together with what they compute by numpy.

A program is made for several assignments of its symbolic dimensions at once: every value is known for all of them while the
text is written, so an operator is taken only where numpy can do it, and a size is written as an expression that has the right
value in all of them. Numbers are kept where comparing makes sense: `exact` values have the same bits everywhere; what jumps
(rounding, comparing, converting to integers) is done with exact values only, and magnitudes stay small.
"""
import random

import numpy as np

import numpy_ops as ref

LIMIT = 6000            # elements of a value
POOL = (2, 3, 4, 5, 7)  # ordinary sizes
STRIPS = (63, 64, 65, 130, 256, 257, 300)  # around the lengths of strips


class Reject(Exception):
    """The statement cannot be taken."""


class Value:
    def __init__(self, name, values, exact=True, sure=False, kind="tensor"):
        self.name, self.values, self.exact, self.sure, self.kind = name, values, exact, sure, kind
        self.text = None  # the expression, where it may stand in place of the name

    @property
    def dtype(self):
        return self.values[0].dtype.name

    @property
    def ndim(self):
        return self.values[0].ndim

    def dims(self):
        return [tuple(v.shape[i] for v in self.values) for i in range(self.ndim)]


def on_grid(x, bits):
    """Sums of these are exact: multiples of one power of two, not too many of them."""
    w = np.abs(x.astype("float64"))
    if not np.all(np.isfinite(w)):
        return False
    for k in range(13):
        if np.all(w * 2 ** k == np.floor(w * 2 ** k)):
            return float(np.sum(w)) * 2 ** k < 2 ** bits
    return False


BITS = {"float16": 11, "float32": 24, "float64": 53}
# Where continuous functions stay tame: name -> least and greatest input
DOMAIN = {
    "sqrt": (0.1, 900), "rsqrt": (0.1, 900), "exp": (-8, 4), "log": (0.1, 900), "sin": (-50, 50), "cos": (-50, 50), "tanh": (-50, 50),
    "sinh": (-3, 3), "cosh": (-3, 3), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atan": (-50, 50), "asinh": (-50, 50), "acosh": (1.2, 50),
    "atanh": (-0.9, 0.9), "erf": (-50, 50), "sigmoid": (-50, 50), "tan": (-1, 1),
}
JUMPS = {"sign", "floor", "ceil", "round", "logical_not", "floor_divide", "mod", "floor_mod", "equal", "not_equal", "less", "less_equal",
         "greater", "greater_equal"}


class Function:
    def __init__(self, program, name, private=False):
        self.program, self.name, self.private = program, name, private
        self.rng, self.k = program.rng, program.k
        self.symbols, self.signature, self.inputs, self.lines, self.scopes = {}, [], {}, [], [[]]
        self.indent, self.counter, self.dataflow = 2, 0, False
        self.declared, self.used_symbols = [], set()

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
        return [v for v in self.visible() if v.kind == "tensor" and test(v)]

    def pick(self, test=lambda v: True):
        found = self.tensors(test)
        if not found:
            raise Reject("nothing fits")
        # Late ones are more interesting.
        return found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]

    def check(self, values, exact):
        for v in values:
            if v.size > LIMIT or v.ndim > 5:
                raise Reject("too large")
            if v.dtype.kind == "f" and (not np.all(np.isfinite(v)) or (v.size and np.max(np.abs(v.astype("float64"))) > 900)):
                raise Reject("not tame")
        first = values[0]
        if any(v.dtype != first.dtype or v.ndim != first.ndim for v in values):
            raise Reject("rank differs")
        return exact

    def emit(self, text, values, exact=True, sure=False, prefix="v", annotate=True):
        values = [np.asarray(v) for v in values]
        self.check(values, exact)
        v = Value(self.fresh(prefix), values, exact, sure)
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

    def apply(self, f, *operands):
        if len(operands) > 1 and max(np.prod([float(o.values[k].size) for o in operands]) for k in range(self.k)) > 300000:
            raise Reject("slow")
        return [np.asarray(f(*xs)) for xs in zip(*(o.values for o in operands))]

    # ---- parameters and constants
    def random_array(self, shape, dtype):
        g = self.program.np_rng
        if dtype == "bool":
            return g.integers(0, 2, shape).astype(bool)
        if dtype in ref.UNSIGNED:
            return g.integers(0, 9, shape).astype(dtype)
        if dtype in ref.SIGNED:
            return g.integers(-6, 7, shape).astype(dtype)
        return (g.integers(-12, 13, shape) / 4).astype(dtype)

    def random_dtype(self):
        return self.rng.choice(["float32"] * 6 + ["float64", "float16", "int32", "int64", "int64", "bool", "int8", "uint8", "int16", "uint16", "uint32", "uint64"])

    def param(self, dims, dtype):
        v = Value(self.fresh("p"), [self.random_array(tuple(d[k] for d in dims), dtype) for k in range(self.k)], True, True)
        self.add_param(v)
        return v

    def signature_size(self, vector):
        """How a size is written in a signature; a new symbol if it has none."""
        known = next((n for n, values in self.symbols.items() if values == vector), None)
        if len(set(vector)) == 1:
            return str(vector[0])
        if not known:
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
            fields.append([self.random_array(tuple(d[k] for d in dims), dtype) for k in range(self.k)])
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
            return v.dtype in dtypes and (v.exact or name not in JUMPS) and \
                (v.dtype not in ref.FLOATS or all(x.size == 0 or (x.min() >= low and x.max() <= high) for x in v.values))
        x = self.pick(fits)
        values = self.apply(f, x)
        exact = x.exact and bits and (x.dtype not in ref.FLOATS or name != "square" or all(np.array_equal(v, x64.astype("float64") ** 2) for v, x64 in zip(values, x.values)))
        if name == "sqrt":
            exact = False
        self.emit(f"R.{name}({self.use(x)})", values, exact, x.sure)

    def binary(self):
        name = self.rng.choice(list(ref.BINARY))
        f, dtypes, bits = ref.BINARY[name]
        a = self.pick(lambda v: v.dtype in dtypes and (v.exact or name not in JUMPS))
        b = self.pick(lambda v: v.dtype == a.dtype and (v.exact or name not in JUMPS))
        text_b = self.use(b)
        if self.rng.random() < 0.2:
            b, text_b = self.constant(a.dtype, ())
        floating = a.dtype in ref.FLOATS
        if floating and name in ("divide", "floor_divide", "mod", "floor_mod") and any(np.any(np.abs(x) < 0.2) for x in b.values):
            raise Reject("divisor near 0")
        if floating and name == "power":
            if any(np.any(x < 0.25) or np.any(x > 4) for x in a.values) or any(np.any(np.abs(x) > 3) for x in b.values):
                raise Reject("power not tame")
        if a.dtype in ref.INTS and name == "power" and any(np.any(x > 40) for x in b.values):
            raise Reject("power not tame")
        values = self.apply(f, a, b)
        exact = a.exact and b.exact and bits
        if floating and exact and values[0].dtype.kind == "f" and name not in ("minimum", "maximum"):
            exact = all(np.array_equal(v.astype("float64"), f(x.astype("float64"), y.astype("float64")))
                        for v, x, y in zip(values, a.values, b.values))
            if not exact and name in JUMPS:
                raise Reject("rounds")
        if name in JUMPS and not exact and floating:
            raise Reject("rounds")
        same = a.dims() == b.dims()
        self.emit(f"R.{name}({self.use(a)}, {text_b})", values, exact, a.sure and b.sure and (same or not b.ndim))

    def constant(self, dtype, shape):
        """A constant and its text; the value is the same for all assignments."""
        x = self.random_array(shape, dtype)
        text = str(x.tolist())
        return Value("", [x] * self.k, True, True), f'R.const({text}, "{dtype}")'

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
        x = self.pick(lambda v: v.dtype in ref.NUMBERS)
        low = self.rng.randrange(0, 3)
        high = low + self.rng.randrange(0, 4)
        text = f"{low}, {high}" if x.dtype in ref.INTS or self.rng.random() < 0.5 else f"{low}.5, {high}.75"
        if "." in text:
            low, high = low + 0.5, high + 0.75
        self.emit(f"R.clip({self.use(x)}, {text})", self.apply(lambda v: ref.clip(v, low, high), x), x.exact, x.sure)

    def astype(self):
        to = self.rng.choice(ref.ALL)
        x = self.pick(lambda v: v.exact or to in ref.FLOATS and ref.FLOATS.index(to) <= ref.FLOATS.index(v.dtype))
        exact = x.exact
        values = self.apply(lambda v: ref.astype(v, to), x)
        if to in ref.FLOATS:
            exact = exact and all(np.array_equal(v.astype("float64"), w.astype("float64")) for v, w in zip(values, x.values))
        self.emit(f'R.astype({self.use(x)}, "{to}")', values, exact, x.sure)

    def matmul(self):
        a = self.pick(lambda v: v.dtype in ("float16", "float32", "float64", "int32", "int64", "int8", "uint8") and v.ndim >= 1)
        b = self.pick(lambda v: v.dtype == a.dtype and v.ndim >= 1)
        if any(x.size == 0 or y.size == 0 for x, y in zip(a.values, b.values)) and self.rng.random() < 0.3:
            raise Reject("often enough")
        values = self.apply(ref.matmul, a, b)
        self.emit(f"R.matmul({self.use(a)}, {self.use(b)})", values, a.dtype in ref.INTS)

    def axis(self, v):
        return self.rng.randrange(-v.ndim, v.ndim)

    def reduce(self):
        name = self.rng.choice(list(ref.REDUCE))
        f, dtypes, bits = ref.REDUCE[name]
        x = self.pick(lambda v: v.dtype in dtypes)
        keepdims = self.rng.random() < 0.4
        axis = None
        if x.ndim and self.rng.random() < 0.8:
            count = self.rng.randrange(1, x.ndim + 1)
            axis = [a - x.ndim if self.rng.random() < 0.3 else a for a in self.rng.sample(range(x.ndim), count)]
            if len(axis) == 1 and self.rng.random() < 0.5:
                axis = axis[0]
        values = self.apply(lambda v: f(v, axis, keepdims), x)
        exact = x.exact and bits
        if x.dtype in ref.FLOATS and name == "sum":
            exact = exact and all(on_grid(v, BITS[x.dtype]) for v in x.values)
        elif x.dtype in ref.FLOATS and name == "prod":
            exact = False
        self.emit(f"R.{name}({self.use(x)}, axis={axis}, keepdims={keepdims})", values, exact, x.sure)

    def arg(self):
        name = self.rng.choice(list(ref.ARG))
        x = self.pick(lambda v: v.dtype in ref.NUMBERS and v.exact)
        axis = self.axis(x) if x.ndim and self.rng.random() < 0.8 else None
        keepdims = self.rng.random() < 0.4
        if x.ndim == 0:
            raise Reject("no axis")
        self.emit(f"R.{name}({self.use(x)}, axis={axis}, keepdims={keepdims})", self.apply(lambda v: ref.ARG[name][0](v, axis, keepdims), x), True, x.sure)

    def softmax(self):
        x = self.pick(lambda v: v.dtype in ref.FLOATS and v.ndim >= 1)
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
        values = [v.reshape(s) for v, s in zip(x.values, shapes)]
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
        values = self.apply(lambda a, b: a.reshape(b.shape), x, y)
        s = self.fresh("s")
        self.line(f"{s} = R.shape_of({self.use(y)})")
        self.emit(f"R.reshape({self.use(x)}, {s})", values, x.exact)

    def broadcast_to(self):
        x, y = self.pick(), self.pick()
        values = self.apply(lambda a, b: np.broadcast_to(a, b.shape).copy(), x, y)
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
        values = [np.concatenate([p.values[k] for p in parts], axis) for k in range(self.k)]
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
        texts = self.shape_text(y.dims())
        kind = self.rng.randrange(4)
        if kind == 0:
            self.emit(f'R.{name}_like({self.use(y)}, "{dtype}")', self.apply(lambda v: f(v.shape, dtype), y), True, y.sure)
        elif kind == 1 and texts is not None:
            self.emit(f'R.{name}(R.shape([{", ".join(texts)}]), "{dtype}")', self.apply(lambda v: f(v.shape, dtype), y), True, True)
        elif kind == 2 and texts is not None:
            fill = self.pick(lambda v: v.ndim == 0)
            self.emit(f"R.full(R.shape([{', '.join(texts)}]), {self.use(fill)})", self.apply(lambda v, w: np.full(v.shape, w), y, fill), fill.exact, True)
        elif kind == 3:
            fill = self.pick(lambda v: v.ndim == 0)
            values = self.apply(lambda v, w: np.full(v.shape, w, w.dtype), y, fill)
            self.emit(f'R.full_like({self.use(y)}, {self.use(fill)}, "{fill.dtype}")', values, fill.exact, y.sure)
        else:
            raise Reject("no text")

    def match_cast(self):
        x = self.pick(lambda v: v.ndim >= 1)
        texts, new = [], {}
        for d in x.dims():
            known = self.size_text(d)
            if known is None or (self.rng.random() < 0.3 and len(set(d)) > 1):
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
        self.emit(f"R.match_cast({self.use(x)}, {info})", x.values, x.exact, True, annotate=False).text = None
        self.local_symbols.append(list(new))
        self.symbols.update(new)

    def tuples(self):
        parts = [self.pick() for _ in range(self.rng.randrange(1, 4))]
        t = self.fresh("t")
        self.line(f"{t} = ({''.join(self.use(p) + ', ' for p in parts)})")
        i = self.rng.randrange(len(parts))
        self.emit(f"{t}[{i}]", parts[i].values, parts[i].exact, parts[i].sure)

    def alias(self):
        x = self.pick()
        self.emit(self.use(x), x.values, x.exact, x.sure)

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
        rows = [v.values for v in callee.outputs]
        result = self.fresh("r")
        self.line(f"{result} = cls.{callee.name}({', '.join(a.name for a in args)})")
        if callee.single:
            v = Value(result, rows[0], callee.outputs[0].exact and all(a.exact for a in args))
            self.scopes[-1].append(v)
            return
        for i, values in enumerate(rows):
            if self.rng.random() < 0.7:
                self.emit(f"{result}[{i}]", values, callee.outputs[i].exact)

    SIMPLE = ["unary"] * 5 + ["binary"] * 6 + ["reduce"] * 3 + ["reshape"] * 2 + ["permute", "expand", "squeeze", "concat", "concat", "where", "where", "clip",
              "astype", "astype", "matmul", "matmul", "matmul", "arg", "softmax", "flatten", "create", "create", "const", "broadcast_to",
              "match_cast", "tuples", "alias", "reshape_like", "shape_tensor"]

    def simple(self, kinds):
        for _ in range(30):
            mark, values = len(self.lines), len(self.scopes[-1])
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
        local = self.scopes.pop()
        found = [v for v in local if v.kind == "tensor"]
        outputs = sorted(self.rng.sample(found, min(len(found), self.rng.randrange(1, 4))), key=lambda v: int(v.name[1:])) if found else []
        if not outputs:
            x = self.pick()
            v = Value(self.fresh(), x.values, x.exact, x.sure)
            self.line(f"{v.name} = {x.name}")
            outputs = [v]
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
        want = self.pick()
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
            x = self.pick(lambda v: v.dtype == want.dtype and v.ndim == want.ndim)
            form = self.rng.choice(["{0}", "R.add({0}, {0})" if want.dtype in ref.INTS else "{0}"])
            self.line(f"{name} = " + form.format(x.name))
            results.append([v + v if "add" in form else v for v in x.values])
            exact = x.exact
            results[-1] = (results[-1], exact)
            self.scopes.pop()
            self.forget_symbols()
            self.indent -= 1
        values = [(results[0] if t else results[1])[0][k] for k, t in enumerate(taken)]
        self.scopes[-1].append(Value(name, values, results[0][1] and results[1][1]))

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
        found = self.tensors()
        late = found[-6:]
        self.outputs = self.rng.sample(late, min(len(late), self.rng.randrange(1, 5)))
        self.single = len(self.outputs) == 1 and self.rng.random() < 0.7
        self.line("return " + (self.use(self.outputs[0]) if self.single else f"({''.join(self.use(v) + ', ' for v in self.outputs)})"))

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
            p = Value(f.fresh("p"), a.values, a.exact)
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
        """Result values and whether they are exact."""
        return [(v.values[k], v.exact) for v in self.main.outputs]
