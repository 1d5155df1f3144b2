"""Texts that nobody would write: each is legal or nearly, and large, deep or odd in one way.

cases(n) yields (name, text): n is the depth or count of the deep ones (100,000 in earnest), sizes in bytes follow from it.
"""

MODULE = "@I.ir_module\nclass M:\n"
HEAD = '    @R.function\n    def main(x: R.Tensor(("n", 3), "float32")) -> R.Object:\n'
PRIM = '    @T.prim_func\n    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'


def relax(body, head=HEAD):
    """A module of one Relax function; body is indented by eight blanks already."""
    return MODULE + head + body + ("" if body.endswith("\n") else "\n")


def value(expression):
    return relax(f"        y = {expression}\n        return x")


def shape(dimension, params=""):
    return MODULE + f'    @R.function\n    def main({params}x: R.Tensor(("n", "m", "k"), "float32"), y: R.Tensor(({dimension},), "float32")) -> R.Object:\n        return y\n'


def prim(body):
    return MODULE + PRIM + body + ("" if body.endswith("\n") else "\n")


def store(expression):
    return prim(f"        B[0] = {expression}")


def equal_dimensions(left, right, variables):
    """The same size in two forms, to be proved equal by a match_cast, a call and a return."""
    names = ", ".join(f'"{v}"' for v in variables)
    binder = f's: R.Shape([{names}])'
    declared = "".join(f"        {v} = T.int64()\n" for v in variables)
    return (MODULE + f'    @R.function\n    def g({binder}, a: R.Tensor(({left},), "float32")) -> R.Tensor(({right},), "float32"):\n{declared}'
            f'        b = R.match_cast(a, R.Tensor(({right},), "float32"))\n        return b\n'
            f'    @R.function\n    def main({binder}, a: R.Tensor(({right},), "float32")) -> R.Tensor(({left},), "float32"):\n{declared}'
            f'        cls = M\n        b: R.Tensor(({right},), "float32") = cls.g(s, a)\n        return a\n')


def nested_blocks(header, n, inner, start=8):
    """n headers, each a blank deeper than the one before: n * n / 2 bytes, so n stays modest."""
    lines = [" " * (start + i) + header + "\n" for i in range(n)]
    return "".join(lines) + " " * (start + n) + inner + "\n"


def lines_of_functions(n, make):
    return MODULE + "".join(make(i) for i in range(n))


def long_lines(n):
    """Ten megabytes (with n = 100,000) on one line."""
    yield "one line of names", relax("        " + "a " * (50 * n) + "\n        return x")
    yield "one name", value("a" * (100 * n))
    yield "one name that is bound", relax("        " + "a" * (100 * n) + " = x\n        return x")
    yield "one tuple of names", value("(" + "x, " * (33 * n) + ")")
    yield "one tuple of numbers", value("(" + "1, " * (33 * n) + ")")
    yield "one shape", value("R.shape([" + "1, " * (33 * n) + "])")
    yield "one list of strings", relax('        R.func_attr({"a": [' + '"b", ' * (20 * n) + "]})\n        return x")
    yield "one dictionary", relax('        R.func_attr({' + ", ".join(f'"k{i}": {i}' for i in range(6 * n)) + "})\n        return x")
    yield "one dictionary of one key", relax('        R.func_attr({' + '"b": 1, ' * (12 * n) + "})\n        return x")
    yield "one string", value('R.str("' + "s" * (100 * n) + '")')
    yield "one string of escapes", value('R.str("' + "\\x41" * (25 * n) + '")')
    yield "one string of quotes", value('R.str("' + '\\"' * (50 * n) + '")')
    yield "strings in a row", value("R.str(" + '"a" ' * (25 * n) + ")")
    yield "triple quoted", value('R.str("""' + "s\n" * (50 * n) + '""")')
    yield "quotes inside triple quotes", value('R.str("""' + '"" ' * (33 * n) + '""")')
    yield "comment", relax("        # " + "c" * (100 * n) + "\n        return x")
    yield "comments", relax("        #\n" * (10 * n) + "        return x")
    yield "trailing comment", relax("        return x  #" + " c" * (50 * n))
    yield "doc string", relax('        """' + "d\n" * (50 * n) + '"""\n        return x')
    yield "doc string of the module", MODULE + '    """' + "d" * (100 * n) + '"""\n' + relax("        return x")[len(MODULE):]
    yield "bytes", value('b"' + "\\x00" * (25 * n) + '"')
    yield "blanks", relax("        y = " + " " * (100 * n) + "x\n        return y")
    yield "blank file", " " * (100 * n)
    yield "empty lines", "\n" * (100 * n)
    yield "empty lines in a function", relax("\n" * (100 * n) + "        return x")
    yield "lines of blanks", relax((" " * 99 + "\n") * n + "        return x")
    yield "deep indentation", MODULE + " " * (10 * n) + "@R.function\n"
    yield "deep indentation of a body", MODULE + HEAD + " " * (10 * n) + "return x\n"
    yield "deep indentation of many lines", MODULE + HEAD + (" " * 1000 + "y = x\n") * (n // 10) + " " * 1000 + "return x\n"
    yield "error at the end of a line", relax("        y = (" + "x, " * (33 * n) + ") )\n        return x")
    yield "errors on one line", relax("        y = (" + "z, " * (33 * n) + ")\n        return x")
    yield "statements on one line", relax("        " + "y = x; " * (10 * n) + "\n        return x")
    yield "errors in statements on one line", relax("        " + "y = z; " * (10 * n) + "\n        return x")
    yield "semicolons", relax("        " + ";" * (100 * n) + "\n        return x")
    yield "commas", value("(" + "," * (100 * n) + ")")
    yield "no spaces, no sense", "!" * (100 * n)
    yield "question marks", relax("        y = " + "?" * (100 * n))
    yield "dots", relax("        y = " + "." * (100 * n))
    yield "colons", relax("        y " + ":" * (100 * n))
    yield "equals signs", relax("        y " + "= y " * (25 * n))
    yield "decorator", MODULE + "    @R.function(" + "pure=True, " * (9 * n) + ")\n" + HEAD.split("\n", 1)[1] + "        return x\n"
    yield "decorators", MODULE + "    @R.function\n" * (7 * n) + HEAD.split("\n", 1)[1] + "        return x\n"
    yield "import", "from a import " + "b, " * (33 * n) + "\n" + relax("        return x")
    yield "import path", "import " + "a." * (50 * n) + "b\n" + relax("        return x")
    yield "imports", "import a\n" * (10 * n) + relax("        return x")
    yield "nonlocal", relax("        nonlocal " + "b, " * (33 * n) + "b\n        return x")
    yield "with items", relax("        with " + "R.dataflow(), " * (7 * n) + "R.dataflow():\n            y = x\n        return x")
    yield "lambda parameters", value("lambda " + "a, " * (33 * n) + "b: b")
    yield "for targets", prim("        for " + "i, " * (33 * n) + "j in T.grid(2, 2):\n            B[0] = A[0]\n")
    yield "for targets, apart", prim("        for " + ", ".join(f"i{k}" for k in range(n)) + " in T.grid(" + "2, " * n + "):\n            B[0] = A[0]\n")
    yield "line continuations", relax("        y = \\\n" + "  \\\n" * n + "x\n        return y")
    yield "line continuations in a sum", prim("        B[0] = A[0] \\\n" + "  + A[0] \\\n" * n + "  + A[0]\n")


def long_chains(n):
    yield "calls of calls", value("x" + "()" * n)
    yield "accesses", value("x" + ".a" * n)
    yield "indices", value("x" + "[0]" * n)
    yield "call chain", value("x" + ".astype('float32')" * n)
    for name, operator in (("sum", "+"), ("difference", "-"), ("product", "*"), ("quotient", "/"), ("floor division", "//"), ("remainder", "%"),
                           ("power", "**"), ("and", " and "), ("or", " or "), ("comparison", "<"), ("equality", "=="), ("shift", "<<"),
                           ("bit or", "|"), ("matmul", "@"), ("is", " is ")):
        yield f"{name} of tensors", value(operator.join("x" for _ in range(n)))
        yield f"{name} of numbers", value(operator.join("2" for _ in range(n)))
        yield f"{name} in a PrimFunc", store(operator.join("A[0]" for _ in range(n)))
        yield f"{name} in an annotation", shape(operator.join("n" for _ in range(n)))
        yield f"{name} in a string dimension", shape('"' + operator.join("n" for _ in range(n)) + '"')
        yield f"{name} of numbers in an annotation", shape(operator.join("2" for _ in range(n)))
    yield "sum of different names in a string dimension", shape('"' + "+".join(f"n * {i}" for i in range(n)) + '"')
    yield "one dimension of many variables", shape("+".join(f"v{i}" for i in range(n)), params="s: R.Shape([" + ", ".join(f'"v{i}"' for i in range(n)) + "]), ")
    for name, operator in (("minus", "-"), ("plus", "+"), ("tilde", "~"), ("not", "not ")):
        yield f"unary {name}", value(operator * n + "x")
        yield f"unary {name} of a number", value(operator * n + "1")
        yield f"unary {name} in a PrimFunc", store(operator * n + "A[0]")
        yield f"unary {name} in an annotation", shape(operator * n + "n")
    yield "choices", value("1 if x else " * n + "2")
    yield "choices first", value("x " + "if x else x " * n)
    yield "lambdas", value("lambda a: " * n + "a")
    yield "stars", value("(" + "*" * n + "x)")
    yield "arrows", MODULE + HEAD.replace(" -> R.Object:", " -> R.Object" * n + ":") + "        return x\n"
    yield "at signs", "@" * n + "\n"
    yield "else after else", relax("        if x:\n            y = x\n" + "        else:\n            y = x\n" * n + "        return x")
    yield "elifs", relax("        if x:\n            y = x\n" + "        elif x:\n            y = x\n" * n + "        else:\n            y = x\n        return y")
    yield "elifs in a PrimFunc", prim("        if A[0] > T.float32(0):\n            B[0] = A[0]\n" + "        elif A[0] > T.float32(0):\n            B[0] = A[0]\n" * n)
    yield "ifs in a row", relax("".join(f"        if c:\n            y{i} = x\n        else:\n            y{i} = x\n" for i in range(n)) + "        return x",
                                HEAD.replace("x:", 'c: R.Tensor((), "bool"), x:'))
    yield "selections in a sum", prim("        for i in range(4):\n            B[i] = " + " + ".join(f"T.Select(i > {k}, A[i], T.float32({k}))" for k in range(n // 10)) + "\n")
    yield "ifs in a row in a PrimFunc", prim("        if A[0] > T.float32(0):\n            B[0] = A[0]\n" * n)
    yield "dataflow blocks in a row", relax("".join(f"        with R.dataflow():\n            y{i} = x\n            R.output(y{i})\n" for i in range(n)) + "        return x")
    yield "loops in a row", prim("        for i in range(4):\n            B[i] = A[i]\n" * n)
    yield "blocks in a row", prim("        for i in range(4):\n            with T.block(\"b\"):\n                v = T.axis.spatial(4, i)\n                B[v] = A[v]\n" * n)
    yield "asserts in a row", prim('        assert A[0] > T.float32(0), "no"\n' * n)
    yield "let bindings in a row", prim("".join(f"        v{i}: T.float32 = A[0]\n" for i in range(n)) + "        B[0] = v0\n")
    yield "allocations in a row", prim("".join(f'        a{i} = T.allocate([4], "float32", "global")\n' for i in range(n)) + "        B[0] = A[0]\n")
    yield "match buffers in a row", prim("        with T.block(\"root\"):\n" + "".join(f"            C{i} = T.match_buffer(A[0:4], (4,))\n" for i in range(n)) + "            B[0] = A[0]\n")
    yield "axes of one block", prim("        for i in range(4):\n            with T.block(\"b\"):\n" + "".join(f"                v{i} = T.axis.spatial(4, i)\n" for i in range(n)) + "                B[v0] = A[v0]\n")
    yield "chained bindings", relax("        y0 = x\n" + "".join(f"        y{i + 1} = R.add(y{i}, x)\n" for i in range(n)) + f"        return y{n}")
    yield "chained tuples", relax("        y0 = (x, x)\n" + "".join(f"        y{i + 1} = (y{i}, y{i})\n" for i in range(12)) + "        return x")
    yield "doubled tuples in every annotation", relax("        y0 = (x, x)\n" + "".join(f"        y{i + 1} = (y{i}, y{i})\n" for i in range(15)) + "        z = y15\n" * (n // 100) + "        return x")
    yield "tuples in tuples", relax("        y0 = (x,)\n" + "".join(f"        y{i + 1} = (y{i},)\n" for i in range(n // 10)) + "        return x")
    yield "doubled tensors", relax("        y0 = x\n" + "".join(f"        y{i + 1} = R.concat((y{i}, y{i}), axis=0)\n" for i in range(min(n, 2000))) + "        return y0")
    yield "doubled products", relax("        y0 = R.reshape(x, (n * 3,))\n" + "".join(f"        y{i + 1} = R.reshape(R.outer(y{i}, y{i}), R.shape([-1]))\n" for i in range(40)) + "        return y0")


def deep_nests(n):
    yield "parentheses", value("(" * n + "x" + ")" * n)
    yield "open parentheses", value("(" * n)
    yield "closed parentheses", value("x" + ")" * n)
    yield "brackets", value("[" * n + "x" + "]" * n)
    yield "braces", value("{" * n + "x" + "}" * n)
    yield "dictionaries", relax('        R.func_attr({"a": ' + '{"a": ' * n + "1" + "}" * n + "})\n        return x")
    yield "lists", relax('        R.func_attr({"a": ' + "[" * n + "1" + "]" * n + "})\n        return x")
    yield "tuples", value("(" * n + "x" + ",)" * n)
    yield "calls", value("R.add(x, " * n + "x" + ")" * n)
    yield "unknown calls", value("f(" * n + "x" + ")" * n)
    yield "indices in indices", value("x[" * n + "0" + "]" * n)
    yield "brackets without order", value("([{" * n)
    yield "brackets against each other", value("(]" * n)
    yield "lines of brackets", relax("        y = (\n" * n)
    yield "lines that open and do not close", relax("        y = f(\n        z = 1\n" * n)
    yield "tuple annotations", relax("        y: " + "R.Tuple(" * n + "R.Object" + ")" * n + " = x\n        return x")
    yield "function annotations", relax("        y: " + "R.Callable((" * n + "R.Object" + ",), R.Object)" * n + " = x\n        return x")
    yield "results of function annotations", relax("        y: " + "R.Callable((), " * n + "R.Object" + ")" * n + " = x\n        return x")
    yield "annotations of arguments", value("R.call_packed(\"f\", sinfo_args=" + "R.Tuple(" * n + "R.Object" + ")" * n + ")")
    yield "choices in a PrimFunc", store("T.if_then_else(A[0] > T.float32(0), " * n + "A[0]" + ", A[0])" * n)
    yield "minimums", store("T.min(A[0], " * n + "A[0]" + ")" * n)
    yield "loads in indices", store("A[T.Cast(\"int32\", " * n + "A[0]" + ")]" * n)
    yield "strings in strings", shape('"' + "\\'" * n + 'n"')
    depth = min(n, 3000)
    yield "blocks", nested_blocks("with R.dataflow():", depth, "y = x", 0)
    yield "ifs", MODULE + HEAD + nested_blocks("if x:", depth, "y = x")
    yield "withs", MODULE + HEAD + nested_blocks("with R.dataflow():", depth, "y = x")
    yield "defs", MODULE + HEAD + "".join(" " * (8 + i) + "@R.function\n" + " " * (8 + i) + f"def f{i}(x: R.Object) -> R.Object:\n" for i in range(depth)) + " " * (8 + depth) + "return x\n"
    yield "classes", nested_blocks("class M:", depth, "pass", 0)
    yield "loops", MODULE + PRIM + nested_blocks("for i in T.serial(4):", depth, "B[0] = A[0]")
    yield "whiles", MODULE + PRIM + nested_blocks("while A[0] > T.float32(0):", depth, "B[0] = A[0]")
    yield "loops and blocks", MODULE + PRIM + nested_blocks('with T.block(""):', depth, "B[0] = A[0]")
    yield "ifs of a PrimFunc", MODULE + PRIM + nested_blocks("if A[0] > T.float32(0):", depth, "B[0] = A[0]")
    yield "ninety ifs", MODULE + HEAD.replace("x:", 'c: R.Tensor((), "bool"), x:') + "".join(" " * (8 + i) + "if c:\n" for i in range(90)) + " " * 98 + "y = x\n" + "".join(
        " " * (8 + i) + "else:\n" + " " * (9 + i) + "y = x\n" for i in reversed(range(90))) + "        return y\n"
    yield "ninety loops", MODULE + PRIM + "".join(" " * (8 + i) + f"for i{i} in range(2):\n" for i in range(90)) + " " * 98 + "B[0] = A[0]\n"
    yield "indented one deeper each", relax("".join(" " * (8 + i) + "y = x\n" for i in range(depth)))
    yield "steps down that match nothing", relax("        if x:\n" + "".join(" " * (5000 - i) + "y = x\n" for i in range(depth)))
    yield "as deep as allowed", value("(" * 190 + "x" + ",)" * 190)
    yield "annotations as deep as allowed", relax("        y: " + "R.Tuple(" * 190 + "R.Object" + ")" * 190 + " = R.call_packed(\"f\", sinfo_args=R.Object)\n        return x")
    yield "chain as deep as allowed", value("x" + "[0]" * 190)


def numbers(n):
    digits = "9" * (n // 20)
    for name, text in (("integer", digits), ("negative integer", "-" + digits), ("float", digits + ".5"), ("fraction", "0." + digits), ("exponent", "1e" + digits),
                       ("negative exponent", "1e-" + digits), ("long float with exponent", digits + "." + digits + "e-" + str(n // 20)), ("hexadecimal", "0x" + "f" * (n // 20)),
                       ("binary", "0b" + "1" * (n // 20)), ("octal", "0o" + "7" * (n // 20)), ("underscores", "1_0" * (n // 20)), ("zeros", "0" * (n // 20)),
                       ("small fraction", "0." + "0" * (n // 20) + "1"), ("megabyte of digits", "7" * (10 * n)), ("megabyte of fraction", "1." + "3" * (10 * n)),
                       ("megabyte of hexadecimal float", "0x1." + "3" * (10 * n) + "p5"), ("number with letters", "1" + "a" * (10 * n)), ("two points", "1.2" * n)):
        yield f"{name} as a value", value(f"R.prim_value({text})")
        yield f"{name} as a constant", value(f'R.const({text}, "float32")')
        yield f"{name} in an annotation", shape(text)
        yield f"{name} in a PrimFunc", store(f"T.float32({text})")
        yield f"{name} as an attribute", relax(f'        R.func_attr({{"a": {text}}})\n        return x')
    yield "many numbers", relax("        y = (" + ", ".join(f'R.const({i}.{i}e{i % 300}, "float64")' for i in range(n // 4)) + ")\n        return x")
    yield "overflowing product", shape("9223372036854775807 * n * 9223372036854775807")
    yield "overflowing power", shape("2 ** 63 * n")
    yield "huge power", value("2 ** 1000000000")
    yield "towers of powers", value("9 ** 9 ** 9 ** 9 ** 9")
    yield "huge shift", value("1 << 1000000000000")
    yield "huge repetition", value('"abc" * 1000000000')
    yield "huge list repetition", value("[x] * 1000000000")
    yield "huge range", prim("        for i in T.serial(9223372036854775807):\n            B[i] = A[i]\n")
    yield "huge allocation", prim('        C = T.allocate([9223372036854775807, 9223372036854775807], "float32", "global")\n        B[0] = A[0]\n')
    yield "huge rank", relax('        y: R.Tensor("float32", ndim=9223372036854775807) = x\n        return x')
    yield "rank of a million", relax('        y: R.Tensor("float32", ndim=1000000) = R.call_packed("f", sinfo_args=R.Object)\n        return x')
    yield "huge lanes", relax('        y: R.Tensor((3,), "float32x99999999999999999999") = x\n        return x')
    yield "huge constant", value('R.zeros(R.shape([9223372036854775807, 9223372036854775807]), "float32")')
    yield "huge broadcast", value("R.broadcast_to(x, R.shape([9223372036854775807, 9223372036854775807, n, 3]))")
    yield "huge repeat", value("R.repeat(x, 9223372036854775807, axis=0)")
    yield "huge split", value("R.split(x, 1000000000, axis=0)")
    yield "huge arange", value('R.arange(R.prim_value(0), R.prim_value(9223372036854775807), R.prim_value(1), dtype="int64")')
    yield "huge index", value("(x, x)[9999999999]")
    yield "unpacking a number", value("(*5,)")
    yield "unpacking a doubled list", relax("        a = [x, x]\n" + "".join("        a = [*a, *a]\n" for _ in range(60)) + "        return x")
    yield "doubled list", relax("        a = [1, 1]\n" + "".join("        a = a + a\n" for _ in range(60)) + "        return x")
    yield "a list in itself", MODULE + "    a = [1]\n" + "    a = [a]\n" * n + relax("        return x")[len(MODULE):]
    yield "a list in itself twice", MODULE + "    a = [1]\n" + "    a = [a, a]\n" * 60 + relax("        return x")[len(MODULE):]
    yield "a list doubled and copied", MODULE + "    a = [1, 1]\n" + "    a = [*a, *a]\n" * 18 + "".join(f"    b{i} = [*a]\n" for i in range(100)) + relax("        return x")[len(MODULE):]
    yield "a dictionary in itself", MODULE + '    a = {"a": 1}\n' + '    a = {"a": a, "b": a}\n' * 60 + relax("        return x")[len(MODULE):]
    yield "a path of long names", value("R" + (".a" + "b" * (n // 4)) * 190)
    yield "doubled string", relax('        a = "ab"\n' + "".join("        a = a + a\n" for _ in range(60)) + "        return x")
    yield "grid of a huge count", prim("        for " + ", ".join(f"i{k}" for k in range(200)) + " in T.grid(" + ", ".join("4" for _ in range(200)) + "):\n            B[0] = A[0]\n")


def metadata(n):
    def with_metadata(text, use='metadata["relax.expr.Constant"][0]'):
        return '# from tvm.script import ir as I\nmetadata = tvm.ir.load_json("""' + text + '""")\n' + value(use)
    yield "nested lists in JSON", with_metadata("[" * n + "]" * n)
    yield "nested objects in JSON", with_metadata('{"a": ' * n + "1" + "}" * n)
    yield "open lists in JSON", with_metadata("[" * n)
    yield "long list in JSON", with_metadata('{"root": 1, "nodes": [' + '{"type_key": ""}, ' * (6 * n) + '{"type_key": ""}]}')
    yield "long string in JSON", with_metadata('{"root": 1, "nodes": ["' + "s" * (100 * n) + '"]}')
    yield "escapes in JSON", with_metadata('{"root": 1, "nodes": ["' + "\\\\u0041" * (14 * n) + '"]}')
    yield "numbers in JSON", with_metadata('{"root": 1, "nodes": [' + "1e308, " * (14 * n) + "1]}")
    yield "keys in JSON", with_metadata("{" + '"a": 1, ' * (12 * n) + '"root": 1}')
    yield "different keys in JSON", with_metadata("{" + "".join(f'"a{i}": 1, ' for i in range(n)) + '"root": 1}')
    yield "tensors without end in JSON", with_metadata('{"root": 1, "nodes": [], "b64ndarrays": ["' + "A" * (100 * n) + '"]}')
    yield "references in a circle in JSON", with_metadata(
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["relax.expr.Constant"], "data": [2]}, {"type_key": "Array", "data": [2]}], "b64ndarrays": []}')
    yield "array of arrays in JSON", with_metadata('{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["relax.expr.Constant"], "data": [2]}, ' + ", ".join(
        f'{{"type_key": "Array", "data": [{i + 3}, {i + 3}]}}' for i in range(n)) + ', {"type_key": "Array", "data": []}], "b64ndarrays": []}')
    yield "huge root in JSON", with_metadata('{"root": 99999999999999999999, "nodes": []}')
    yield "many uses of metadata", MODULE + HEAD + 'y = metadata["relax.expr.Constant"][0]\n' * n


def arithmetic(n):
    variables = [f"v{i}" for i in range(40)]
    sums = "*".join(f"({variables[2 * i]}+{variables[2 * i + 1]})" for i in range(20))
    turned = "*".join(f"({variables[2 * i + 1]}+{variables[2 * i]})" for i in reversed(range(20)))
    yield "product of twenty sums", equal_dimensions(sums, turned, variables)
    few = variables[:4]
    powers = "*".join("(" + "+".join(few) + ")" for _ in range(30))
    yield "power of one sum", equal_dimensions(powers, powers.replace("v0+v1", "v1+v0"), few)
    for name, join in (("floor divisions", "({0})//({1}+1)"), ("remainders", "({0})%({1}+7)"), ("minimums", "T.min({0}, {1}*2)"), ("maximums", "T.max({0}, {1}+3)"),
                       ("selections", "T.Select({1} > 3, {0}, {1})"), ("products and divisions", "({0})*({1}+1)//(({1}+2))")):
        left = right = "v0"
        for i in range(60):
            left, right = join.format(left, variables[i % 40]), join.format(right, f"(0+{variables[i % 40]})")
        yield f"tower of {name}", equal_dimensions(left, right, variables)
    left = right = "v0+v1"
    for i in range(7):
        left, right = f"T.min({left}, ({left})+v{i})", f"T.min(({right})+v{i}, {right})"
    yield "doubled minimums", equal_dimensions(left, right, variables)
    left = right = "v0+v1"
    for i in range(7):
        left, right = f"({left})//2+({left})%3", f"({right})%3+({right})//2"
    yield "doubled divisions", equal_dimensions(left, right, variables)
    for count in (300, 3000):
        names = [f"v{i}" for i in range(count)]
        yield f"sum of {count} variables", equal_dimensions("+".join(names), "+".join(reversed(names)), names)
        yield f"product of {count} variables", equal_dimensions("*".join(names), "*".join(reversed(names)), names)
        yield f"sum of {count} divisions", equal_dimensions("+".join(f"{v}//3" for v in names), "+".join(f"{v}//3" for v in reversed(names)), names)
        yield f"sum of {count} minimums", equal_dimensions("+".join(f"T.min({v}, v0)" for v in names), "+".join(f"T.min(v0, {v})" for v in reversed(names)), names)
    yield "squared sum of 300 variables", equal_dimensions("*".join("(" + "+".join(f"v{i}" for i in range(300)) + ")" for _ in range(2)), "*".join(
        "(" + "+".join(f"v{i}" for i in reversed(range(300))) + ")" for _ in range(2)), [f"v{i}" for i in range(300)])
    dims = ", ".join(f"({sums})" for _ in range(50))
    yield "many products of sums", equal_dimensions(dims, dims.replace("v0+v1", "v1+v0"), variables)
    calls = "".join(f"        b{i} = R.match_cast(a, R.Tensor(({turned},), \"float32\"))\n" for i in range(200))
    yield "the same hard proof again and again", MODULE + f'    @R.function\n    def main(s: R.Shape([{", ".join(chr(34) + v + chr(34) for v in variables)}]), a: R.Tensor(({sums},), "float32")) -> R.Object:\n' + "".join(
        f"        {v} = T.int64()\n" for v in variables) + calls + "        return a\n"
    yield "different hard proofs", MODULE + f'    @R.function\n    def main(s: R.Shape([{", ".join(chr(34) + v + chr(34) for v in variables)}]), a: R.Tensor(({sums},), "float32")) -> R.Object:\n' + "".join(
        f"        {v} = T.int64()\n" for v in variables) + "".join(f"        b{i} = R.add(a, R.zeros(R.shape([{turned}+{i}]), \"float32\"))\n" for i in range(200)) + "        return a\n"
    yield "reshapes of hard products", MODULE + f'    @R.function\n    def main(s: R.Shape([{", ".join(chr(34) + v + chr(34) for v in variables)}]), a: R.Tensor(({sums},), "float32")) -> R.Object:\n' + "".join(
        f"        {v} = T.int64()\n" for v in variables) + "".join(f"        b{i} = R.reshape(a, R.shape([{turned}]))\n" for i in range(50)) + "        return a\n"


def many_things(n):
    m = 10 * n # a million
    yield "shape variables", MODULE + "    @R.function\n    def main(s: R.Shape([" + ", ".join(f'"n{i}"' for i in range(m)) + "])) -> R.Object:\n        return s\n"
    yield "declared shape variables", relax("".join(f"        n{i} = T.int64()\n" for i in range(n)) + "        return x")
    yield "dimensions", relax("        y: R.Tensor((" + "n, " * n + '), "float32") = R.call_packed("f", sinfo_args=R.Object)\n        return x')
    yield "bindings of one name", relax("        y = x\n" * m + "        return y")
    yield "bindings", relax("".join(f"        y{i} = x\n" for i in range(m)) + "        return x")
    yield "calls in a row", relax("        y = R.add(x, x)\n" * (m // 3) + "        return y")
    yield "calls with annotations", relax('        y: R.Tensor((n, 3), "float32") = R.add(x, x)\n' * (m // 10) + "        return y", HEAD)
    yield "parameters", MODULE + "    @R.function\n    def main(" + ", ".join(f"p{i}: R.Object" for i in range(n)) + ") -> R.Object:\n        return p0\n"
    yield "parameters of one name", MODULE + "    @R.function\n    def main(" + "p: R.Object, " * n + ") -> R.Object:\n        return p\n"
    yield "parameters of a PrimFunc", MODULE + "    @T.prim_func\n    def f(" + ", ".join(f'P{i}: T.Buffer((4,), "float32")' for i in range(n)) + "):\n        P0[0] = P1[0]\n"
    yield "handles of a PrimFunc", MODULE + "    @T.prim_func\n    def f(" + ", ".join(f"p{i}: T.handle" for i in range(n)) + "):\n" + "".join(
        f'        P{i} = T.match_buffer(p{i}, (4,), "float32")\n' for i in range(n)) + "        P0[0] = P1[0]\n"
    yield "functions", lines_of_functions(n, lambda i: f"    @R.function\n    def f{i}(x: R.Object) -> R.Object:\n        return x\n")
    yield "functions of one name", lines_of_functions(n, lambda i: "    @R.function\n    def f(x: R.Object) -> R.Object:\n        return x\n")
    yield "functions without a body", lines_of_functions(n, lambda i: f"    @R.function\n    def f{i}(x: R.Object) -> R.Object:\n")
    yield "functions that call each other", lines_of_functions(n, lambda i: f"    @R.function\n    def f{i}(x: R.Object) -> R.Object:\n        cls = M\n        y: R.Object = cls.f{(i + 1) % n}(x)\n        return y\n")
    yield "a chain of functions without results", lines_of_functions(n, lambda i: f"    @R.function\n    def f{i}(x: R.Object):\n        cls = M\n        y = cls.f{i + 1}(x)\n        return y\n")
    yield "PrimFuncs", lines_of_functions(n, lambda i: f'    @T.prim_func\n    def f{i}(A: T.Buffer((4,), "float32")):\n        A[0] = A[1]\n')
    yield "local functions", relax("".join(f"        @R.function\n        def f{i}(a: R.Object) -> R.Object:\n            return a\n" for i in range(n)) + "        return x")
    yield "modules", "".join(f"@I.ir_module\nclass M{i}:\n    pass\n" for i in range(n))
    yield "names nobody knows", relax("        y = (" + ", ".join(f"u{i}" for i in range(m)) + ")\n        return x")
    yield "distinct strings", relax("        R.func_attr({" + ", ".join(f'"k{i}": "v{i}"' for i in range(m // 2)) + "})\n        return x")
    yield "errors, one per line", relax("        y = z\n" * n + "        return x")
    yield "syntax errors, one per line", relax("        y = = x\n" * n + "        return x")
    yield "errors of types", relax("        y = R.add(x, s)\n" * n + "        return x", HEAD.replace("x:", "s: R.Shape(ndim=2), x:"))
    yield "unknown operators", relax("".join(f"        y = R.unknown_{i}(x)\n" for i in range(n)) + "        return x")
    yield "unknown keywords", relax("        y = R.add(x, x, wrong=1)\n" * n + "        return x")
    yield "unknown decorators", "@nothing\n" * n
    yield "notes", relax("        y = relax.op.add(x, x)\n" * n + "        return x")
    yield "unused dataflow variables", relax("        with R.dataflow():\n" + "            y = R.add(x, x)\n" * n + "            R.output(y)\n        return y")
    yield "outputs", relax("        with R.dataflow():\n" + "".join(f"            y{i} = R.add(x, x)\n" for i in range(n)) + "            R.output(" + ", ".join(f"y{i}" for i in range(n)) + ")\n        return x")
    yield "outputs that are none", relax("        with R.dataflow():\n            y = x\n            R.output(" + ", ".join(f"z{i}" for i in range(n)) + ")\n        return x")
    yield "one output many times", relax("        with R.dataflow():\n            y = x\n            R.output(" + "y, " * n + "y)\n        return x")
    yield "R.output many times", relax("        with R.dataflow():\n            y = x\n" + "            R.output(y)\n" * n + "        return x")
    yield "attributes", relax('        R.func_attr({"a": 1})\n' * n + "        return x")
    yield "global attributes", MODULE + '    I.module_attrs({"a": 1})\n' * n + HEAD + "        return x\n"
    yield "global information", MODULE + '    I.module_global_infos({"vdevice": [' + 'I.vdevice("llvm"), ' * n + "]})\n" + HEAD + "        return x\n"
    yield "arguments of an operator", value("R.add(" + "x, " * n + ")")
    yield "arguments of a packed function", value('R.call_packed("f", ' + "x, " * n + "sinfo_args=R.Object)")
    yield "keywords of an operator", value("R.add(x, x, " + ", ".join(f"a{i}=1" for i in range(n)) + ")")
    yield "keywords of a packed function", value('R.call_packed("f", x, ' + ", ".join(f"a{i}=1" for i in range(n)) + ", sinfo_args=R.Object)")
    yield "concatenation", value("R.concat((" + "x, " * n + "), axis=0)")
    yield "indices of one access", value("x[" + "0, " * n + "]")
    yield "indices of one store", store("A[" + "0, " * n + "]")
    yield "axes", value("R.permute_dims(x, axes=[" + "0, " * n + "])")
    yield "returned tuple", relax("        return (" + "x, " * n + ")")
    yield "result annotation", MODULE + HEAD.replace("R.Object", "R.Tuple(" + "R.Object, " * n + "R.Object)") + "        return (" + "x, " * n + "x)\n"


def odd_bytes(n):
    good = relax("        y = R.add(x, x)\n        return y").encode()
    yield "CRLF", good.replace(b"\n", b"\r\n")
    yield "CR alone", good.replace(b"\n", b"\r")
    yield "CR before text", good.replace(b"        y", b"        \ry")
    yield "mixed line ends", good.replace(b"\n", b"\r\n", 3)
    yield "many CRs", good + b"\r" * (10 * n)
    yield "LFCR", good.replace(b"\n", b"\n\r")
    yield "NUL in the middle", good.replace(b"R.add", b"R.\0add")
    yield "NULs", b"\0" * n
    yield "BOM", b"\xef\xbb\xbf" + good
    yield "two BOMs", b"\xef\xbb\xbf\xef\xbb\xbf" + good
    yield "BOM in the middle", good.replace(b"y =", b"\xef\xbb\xbfy =")
    yield "UTF-16", good.decode().encode("utf-16")
    yield "tabs", good.replace(b"        ", b"\t")
    yield "tabs and blanks", good.replace(b"        y", b"\ty")
    yield "blank before tab", good.replace(b"        y", b" \ty")
    yield "form feeds", good.replace(b"        y", b"\f        y")
    yield "form feeds inside", good.replace(b"y =", b"y\f=")
    yield "a megabyte of form feeds", good.replace(b"        y", b"\f" * (10 * n) + b"        y")
    yield "vertical tab", good.replace(b"y =", b"y\x0b=")
    yield "no line end", good.rstrip(b"\n")
    yield "no line end after a header", (MODULE + HEAD).rstrip("\n").encode()
    yield "backslash at the end", good.rstrip(b"\n") + b"\\"
    yield "backslash before blank", good.replace(b"y = ", b"y = \\ \n")
    yield "backslashes", b"\\" * n
    yield "quote at the end", good + b'"'
    yield "triple quote at the end", good + b'"""'
    yield "open string", good.replace(b"x, x", b'"x, x')
    yield "open triple quotes", good.replace(b"R.add", b'"""R.add')
    yield "many open strings", relax("        y = \"\n" * n).encode()
    yield "many open triple quotes", relax("        y = \"\"\"\n" * (n | 1)).encode()
    yield "only quotes", b'"' * n
    yield "only single quotes", b"'" * (n + 1)
    yield "only hashes", b"#" * n
    yield "only at signs in lines", b"@\n" * n
    yield "only colons in lines", b":\n" * n
    for name, raw in (("lone continuation byte", b"\x80"), ("0xFF", b"\xff"), ("overlong slash", b"\xc0\xaf"), ("overlong NUL", b"\xc0\x80"), ("overlong in three", b"\xe0\x80\xaf"),
                      ("surrogate", b"\xed\xa0\x80"), ("beyond unicode", b"\xf4\x90\x80\x80"), ("five bytes", b"\xf8\x88\x80\x80\x80"), ("cut short", b"\xe2\x82")):
        yield f"{name} in a name", good.replace(b"y =", b"y" + raw + b" =")
        yield f"{name} in a string", good.replace(b"float32", b"float" + raw)
        yield f"{name} in a comment", good.replace(b"M:", b"M: #" + raw)
        yield f"{name} at the end", good + raw
    for name, text in (("identifier with umlaut", "y\u00e4"), ("identifier in Greek", "\u03b1\u03b2"), ("identifier in Chinese", "\u4f60\u597d"), ("bidirectional controls", "y\u202e\u2066"),
                       ("zero width joiner", "y\u200d"), ("no-break space", "y\u00a0"), ("line separator", "y\u2028"), ("next line", "y\u0085"), ("emoji", "\U0001f600"),
                       ("full width digits", "\uff11"), ("noncharacter", "y\uffff")):
        changed = good.decode().replace("y = ", text + " = ").replace("return y", "return " + text)
        yield name, changed.encode()
        yield name + " in a string", relax(f'        y = R.str("{text}")\n        return x').encode()
        yield name + " in a comment", relax(f"        # {text}\n        return x").encode()
    yield "surrogate escapes", relax('        y = R.str("\\ud800\\udc00\\ud800")\n        return x').encode()
    yield "escapes beyond unicode", relax('        y = R.str("\\U00110000\\Uffffffff")\n        return x').encode()
    yield "cut escapes", relax('        y = R.str("\\x\\u12\\U123")\n        return x').encode()
    yield "named escapes", relax('        y = R.str("\\N{BULLET}")\n        return x').encode()
    yield "NUL escapes", relax('        y = R.str("\\0\\x00")\n        R.func_attr({"\\0": "a\\0b"})\n        return x').encode()
    yield "NUL in a dtype", good.replace(b"float32", b"float32\\0")
    yield "NUL in a dimension", good.replace(b'"n"', b'"n\\0m"')
    yield "NUL in a packed name", relax('        y = R.call_packed("f\\0g", x, sinfo_args=R.Object)\n        return x').encode()


# What stands around an operand: (before, operand, behind). In statements of Relax functions, annotations, sizes, PrimFuncs, attributes.
AROUND_VALUES = [
    ("R.nn.relu(", "x", ")"), ("R.nn.softmax(", "x", ", axis=-1)"), ("R.sum(x, axis=[", "0", "])"), ("R.add(x, ", "x", ")"), ("x + (", "x", ")"), ("-", "x", ""),
    ("R.concat((", "x", ",), axis=0)"), ("R.where(x > x, ", "x", ", x)"), ("R.take(x, ", "x", ", axis=0)"), ("R.reshape(", "x", ", R.shape([3]))"),
    ("R.nn.linear(", "x", ", x)"), ("R.nn.attention(", "x", ", x, x)"), ("R.nn.batch_norm(", "x", ", x, x, x, x, axis=1)"), ("R.einsum((", "x", ',), subscripts="ab->ab")'),
    ("R.astype(", "x", ', dtype="float32")'), ("x.astype(", '"float32"', ")"), ("R.to_vdevice(", "x", ', "llvm:0")'), ("R.print(", "x", ', format="{}")'),
    ("R.assert_op(", "x", ', x, format="")'), ('R.call_packed("f", ', "x", ", sinfo_args=R.Object)"), ('R.call_pure_packed("f", ', "x", ", sinfo_args=R.Object)"),
    ('R.call_dps_packed("f", (', "x", ',), out_sinfo=R.Tensor((2,), "float32"))'), ("R.invoke_pure_closure(x, (", "x", ",), sinfo_args=R.Object)"),
    ('R.call_tir(cls.f, (', "x", ',), out_sinfo=R.Tensor((2,), "float32"))'), ("M.main(", "x", ")"), ("(", "x", ")"), ("(", "x", ",)"), ("[", "x", "]"), ("R.tuple(", "x", ")"), ("((", "x", ",)[0],)"),
    ("R.const([", "1", "])"), ("[", "1", "]"), ("R.shape([", "1", "])"), ("R.prim_value(", "1", ")"), ("x[", "0", "]"), ("x.shape[", "0", "]"),
    ('R.call_packed("f", a={"a": ', "1", "}, sinfo_args=R.Object)"), ("lambda a: ", "a", ""), ("not ", "x", ""), ("{1: ", "2", "}"),
]
AROUND_ANNOTATIONS = [("R.Tuple(", "R.Object", ")"), ("R.Callable((", "R.Object", ",), R.Object)"), ("R.Callable((R.Object,), ", "R.Object", ")"), ("R.Shape([", "1", "])"),
                      ("R.Tensor((", "1", ',), "float32")')]
AROUND_SIZES = [("T.min(n, ", "n", ")"), ("(n * ", "n", ")"), ("(n // ", "n", ")"), ("T.Select(n < 3, ", "n", ", n)"), ('T.Cast("int64", ', "n", ")"), ("-", "n", ""), ("T.max(", "n", ", n)")]
AROUND_ELEMENTS = [
    ("T.max(A[0], ", "A[0]", ")"), ('A[T.Cast("int32", ', "0", ")]"), ('A[T.Cast("int32", A[', "0", "])]"), ("T.exp(", "A[0]", ")"), ("T.Select(A[0] < 1.0, ", "A[0]", ", A[0])"),
    ("T.if_then_else(A[0] < 1.0, ", "A[0]", ", A[0])"), ('T.Cast("float32", ', "A[0]", ")"), ("T.Let(", "A[0]", ", where={T.float32(): A[0]})"), ("T.Broadcast(", "A[0]", ", 1)"),
    ('T.call_extern("float32", "f", ', "A[0]", ")"), ('T.tvm_call_packed("f", ', "A[0]", ")"), ("(A[0] * ", "A[0]", ")"), ("T.Shuffle([", "A[0]", "], [0])"), ("-", "A[0]", ""),
    ("T.float32(", "1.0", ")"), ("T.And(A[0] < 1.0, ", "True", ")"), ("T.Not(", "True", ")"), ("T.Ramp(", "0", ", 1, 1)"), ("cls.f(", "A[0]", ")"),
]
AROUND_ATTRIBUTES = [('{"a": ', "1", "}"), ("[", "1", "]"), ("T.max(1, ", "2", ")")]


def as_deep_as_allowed(n):
    """Around the limit of nesting, a little below and above half of it too, as some count twice."""
    def attributes(e):
        return relax(f'        R.func_attr({{"a": {e}}})\n        return x')

    def annotation(e):
        return relax("        return x", head=f"    @R.function\n    def main(x: {e}) -> R.Object:\n")

    tables = (("value", AROUND_VALUES, value), ("annotation", AROUND_ANNOTATIONS, annotation), ("size", AROUND_SIZES, shape),
              ("element", AROUND_ELEMENTS, store), ("attribute", AROUND_ATTRIBUTES, attributes))
    for what, table, place in tables:
        for before, operand, behind in table:
            for depth in (66, 98, 197, 201):
                yield f"{depth} times {what} {before}{operand}{behind}", place(before * depth + operand + behind * depth)


GROUPS = (odd_bytes, long_lines, long_chains, deep_nests, as_deep_as_allowed, numbers, metadata, arithmetic, many_things)


def cases(n):
    for group in GROUPS:
        for name, text in group(n):
            yield f"{group.__name__.replace('_', ' ')}: {name}", text if isinstance(text, bytes) else text.encode()
