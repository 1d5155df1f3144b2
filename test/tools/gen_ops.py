#!/usr/bin/env python3
"""Writes include/relax/ops.h, C wrappers of the operators, from the operator table of the built library.

    gen_ops.py            write the file if it changed
    gen_ops.py --check    say whether it is out of date; exit 1 if it is
"""
import os
import re
import sys
import textwrap
from pathlib import Path

TOP = Path(os.environ.get("TOP", Path(__file__).resolve().parent.parent.parent))
TARGET = TOP / "include/relax/ops.h"
sys.path.insert(0, str(TOP / "test/ffi"))
import relax_ffi  # noqa: E402  (found by the line above)

KEYWORDS = set("auto bool break case catch char class const continue default delete do double else enum export extern false "
               "float for friend goto if inline int long mutable namespace new operator private protected public register "
               "restrict return short signed sizeof static struct switch template this throw true try typedef union unsigned "
               "using virtual void volatile while ctx attrs all given result and or not xor".split())
WIDTH = 99

HEAD = """\
/* ops.h: the operators as C functions, for those who write C by hand. Written by `make abi`
 * from the operator table.
 *
 * `R.matmul(a, b)` is relax_r_matmul(ctx, a, b, NULL): arguments and attributes that must be given
 * are parameters. What may be left out is in a struct, relax_NAME_attrs, which comes last; NULL
 * stands for the defaults, those of relax_NAME_attrs_init:
 *
 *     int64_t axes[] = { 0, 2 };
 *     relax_sum_attrs how;
 *     relax_sum_attrs_init(&how);
 *     how.axis = axes;
 *     how.num_axis = 2;
 *     how.keepdims = 1;
 *     relax_expr *y = relax_r_sum(ctx, x, &how);
 *
 * In a struct NULL leaves an optional argument out (then also those after it); lists are a
 * pointer and a count; NULL for a string or a list is None where None is allowed and the
 * default elsewhere; strings end with NUL. Operators that state their result take it before the
 * struct. The calls carry no place: that of the binding stands for them. Failure as in
 * relax_call_op_new, which does all the work: nothing here is part of the library, and its structs
 * may differ between versions; bindings of other languages generate theirs from relax/op.h.
 */
#ifndef RELAX_OPS_H
#define RELAX_OPS_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what the wrappers share ---------------------------------------------------------------- */

/* Arguments in front that are given; the first `required` always count. */
static inline size_t relax_r_given(const relax_expr *const *args, size_t required, size_t count)
{
    size_t n = required;
    while (n < count && args[n])
        n++;
    return n;
}
static inline const relax_attr *relax_r_set(relax_context *ctx, const relax_attr *attrs,
                                            const char *name, size_t name_len,
                                            const relax_attr *value)
{
    return value ? relax_attr_map_with(ctx, attrs, name, name_len, value) : attrs;
}
static inline const relax_attr *relax_r_text(relax_context *ctx, const char *text)
{
    size_t len = 0;
    while (text && text[len])
        len++;
    return text ? relax_attr_string_new(ctx, text, len) : NULL;
}
static inline const relax_attr *relax_r_text_or_none(relax_context *ctx, const char *text)
{
    return text ? relax_r_text(ctx, text) : relax_attr_none_new(ctx);
}
static inline const relax_attr *relax_r_int_or_none(relax_context *ctx, const int64_t *value)
{
    return value ? relax_attr_int_new(ctx, *value) : relax_attr_none_new(ctx);
}
static inline const relax_attr *relax_r_float_or_none(relax_context *ctx, const double *value)
{
    return value ? relax_attr_float_new(ctx, *value) : relax_attr_none_new(ctx);
}
static inline const relax_attr *relax_r_ints(relax_context *ctx, const int64_t *values,
                                             size_t count)
{
    return values || count ? relax_attr_ints_new(ctx, values, count) : NULL;
}
static inline const relax_attr *relax_r_ints_or_none(relax_context *ctx, const int64_t *values,
                                                     size_t count)
{
    return values || count ? relax_attr_ints_new(ctx, values, count) : relax_attr_none_new(ctx);
}

/* ---- operators ------------------------------------------------------------------------------ */
"""

TAIL = """
#ifdef __cplusplus
}
#endif
#endif
"""


class Attr:
    """How one attribute is passed: its parameters and the expression of its value."""

    def __init__(self, lib, name, kind, default):
        self.name, self.default = name, default
        self.word = name + "_" if name in KEYWORDS else name
        w = self.word if default is None else "attrs->" + self.word
        self.lib, self.kind = lib, kind
        forms = {
            lib.RELAX_OP_ATTR_INT: (["int64_t "], f"relax_attr_int_new(ctx, {w})"),
            lib.RELAX_OP_ATTR_BOOL: (["int32_t "], f"relax_attr_bool_new(ctx, {w})"),
            lib.RELAX_OP_ATTR_FLOAT: (["double "], f"relax_attr_float_new(ctx, {w})"),
            lib.RELAX_OP_ATTR_STRING: (["const char *"], f"relax_r_text(ctx, {w})"),
            lib.RELAX_OP_ATTR_DTYPE: (["relax_dtype "], f"relax_attr_dtype_new(ctx, {w})"),
            lib.RELAX_OP_ATTR_INTS: (["const int64_t *", "size_t num_"], f"relax_r_ints(ctx, {w}, {self.counted(w)})"),
            lib.RELAX_OP_ATTR_INT_OR_NONE: (["const int64_t *"], f"relax_r_int_or_none(ctx, {w})"),
            lib.RELAX_OP_ATTR_INTS_OR_NONE: (["const int64_t *", "size_t num_"], f"relax_r_ints_or_none(ctx, {w}, {self.counted(w)})"),
            lib.RELAX_OP_ATTR_FLOAT_OR_NONE: (["const double *"], f"relax_r_float_or_none(ctx, {w})"),
            lib.RELAX_OP_ATTR_STRING_OR_NONE: (["const char *"], f"relax_r_text_or_none(ctx, {w})"),
        }
        types, self.value = forms.get(kind, (["const relax_attr *"], w))
        self.params = [type_ + self.word for type_ in types]

    def set(self):
        return f'map = relax_r_set(ctx, map, "{self.name}", {len(self.name)}, {self.value});'

    def counted(self, word):
        return word.replace(self.word, "num_" + self.word)

    def initial(self):
        """(declaration or None, value of each field): the defaults; NULL and 0 stand for those that have no form in C."""
        lib, text = self.lib, self.default.decode()
        numbers = (lib.RELAX_OP_ATTR_INT, lib.RELAX_OP_ATTR_FLOAT)
        if self.kind == lib.RELAX_OP_ATTR_INT_OR_NONE and text != "None":
            return f"static const int64_t {self.word} = {text};", [f"&{self.word}"]
        if self.kind in numbers:
            return None, [text]
        spelled = {lib.RELAX_OP_ATTR_BOOL: "1" if text == "True" else "0", lib.RELAX_OP_ATTR_STRING: f'"{text}"',
                   lib.RELAX_OP_ATTR_DTYPE: f"RELAX_{text.upper()}"}
        if self.kind in (lib.RELAX_OP_ATTR_FLOAT_OR_NONE, lib.RELAX_OP_ATTR_STRING_OR_NONE, lib.RELAX_OP_ATTR_INTS_OR_NONE) and text != "None":
            raise SystemExit(f"{self.name}: NULL is None, not {text}")
        return None, [spelled.get(self.kind, "NULL"), "0"][:len(self.params)]


class Op:
    def __init__(self, lib, number):
        self.lib, self.full = lib, lib.relax_op_name(number).decode()
        self.flags, self.help = lib.relax_op_flags(number), (lib.relax_op_help(number) or b"").decode()
        self.name = "relax_r_" + self.full.removeprefix("relax.").replace(".", "_")
        self.args = list(self.read_args(number))                       # (name, optional)
        self.attrs = list(self.read_attrs(number))
        optional = [i for i, (_, may_miss) in enumerate(self.args) if not may_miss]
        self.required = optional[-1] + 1 if optional else 0              # up to the last that must be given
        self.list = bool(self.flags & lib.RELAX_OP_FLAG_VARARGS)

    def read_args(self, number):
        index, optional = 0, self.lib.out("int32_t")
        while name := self.lib.relax_op_arg(number, index, None, optional.ref):
            word = name.decode()
            yield (word + "_" if word in KEYWORDS else word), bool(optional.value)
            index += 1

    def read_attrs(self, number):
        index, kind, default = 0, self.lib.out("int32_t"), self.lib.out("string")
        while name := self.lib.relax_op_attr(number, index, kind.ref, default.ref, None):
            yield Attr(self.lib, name.decode(), kind.value, default.value)
            index += 1

    def has_struct(self):
        return any(a.default is not None for a in self.attrs) or (self.required < len(self.args) and not self.list)

    def struct_name(self):
        return self.name.replace("relax_r_", "relax_", 1) + "_attrs"

    def optional(self):
        """(arguments, attributes) that may be left out."""
        return ([] if self.list else [n for n, _ in self.args[self.required:]]), [a for a in self.attrs if a.default is not None]

    def struct(self):
        """The struct of what may be left out, and its defaults."""
        args, attrs = self.optional()
        name = self.struct_name()
        fields = [f"const relax_expr *{n};" for n in args] + [f"{p};" for a in attrs for p in a.params]
        defaults = [a.initial() for a in attrs]
        fields_of = [p.split("*")[-1].split(" ")[-1] for a in attrs for p in a.params]
        body = [declared for declared, _ in defaults if declared] + [f"attrs->{n} = NULL;" for n in args]
        body += [f"attrs->{field} = {value};" for field, value in zip(fields_of, (v for _, values in defaults for v in values))]
        return (f"typedef struct {name} {{\n" + "".join(f"    {f}\n" for f in fields) + f"}} {name};\n" +
                self.wrapped(f"static inline void {name}_init(", [f"{name} *attrs)"], 8) + "\n{\n" +
                "".join(map(self.statement, body)) + "}\n")

    def comment(self):
        spelled = "R." + self.full.removeprefix("relax.")
        defaults = [f"{a.name} {a.default.decode()}" for a in self.attrs if a.default is not None]
        lines = [f"{spelled}: {self.help}"]
        if self.list:
            lines.append("`args`: " + ", ".join(name for name, _ in self.args) + " ...")
        if defaults:
            lines.append("defaults: " + ", ".join(defaults))
        lines = [part for line in lines for part in textwrap.wrap(line, WIDTH - 6, subsequent_indent="  ")]
        return "/* " + "\n * ".join(lines) + (" */" if len(lines) == 1 else "\n */")

    def function(self):
        """The wrapper."""
        names = [n for n, _ in self.args[:self.required]]
        optional, _ = self.optional()
        states = bool(self.flags & self.lib.RELAX_OP_FLAG_RESULT)
        params = ["relax_context *ctx"]
        params += ["const relax_expr *const *args", "size_t num_args"] if self.list else [f"const relax_expr *{n}" for n in names]
        params += [p for a in self.attrs if a.default is None for p in a.params] + (["const relax_struct_info *result"] if states else [])
        body = []
        if self.has_struct():
            params.append(f"const {self.struct_name()} *attrs")
        arguments = names + [f"attrs ? attrs->{n} : NULL" for n in optional]
        if arguments and not self.list:
            body.append(f"const relax_expr *given[] = {{ {', '.join(arguments)} }};")
        if self.attrs:
            body.append("const relax_attr *map = NULL;")
        body += [a.set() for a in self.attrs if a.default is None]
        if any(a.default is not None for a in self.attrs):
            body += ["if (attrs) {"] + ["    " + a.set() for a in self.attrs if a.default is not None] + ["}"]
        count = "num_args" if self.list else str(len(names))
        if optional:
            count = f"relax_r_given(given, {self.required}, {len(arguments)})"
        args = "args" if self.list else "given" if arguments else "NULL"
        call = f'"{self.full}", {len(self.full)}, {args}, {count}, {"map" if self.attrs else "NULL"}'
        body.append(f"return relax_call_op_new_with_result(ctx, {call}, result, 0);" if states else f"return relax_call_op_new(ctx, {call}, 0);")
        return self.head(self.name, params) + "\n{\n" + "".join(map(self.statement, body)) + "}\n"

    @staticmethod
    def wrapped(line, pieces, indent):
        """`line` and its pieces, broken into lines."""
        lines = []
        for piece in pieces:
            if len(line) + len(piece) + 1 > WIDTH:
                lines.append(line.rstrip())
                line = " " * indent
            line += ("" if line.endswith(("(", " ")) else " ") + piece
        return "\n".join(lines + [line])

    def head(self, name, params):
        """The prototype."""
        pieces = [p + "," for p in params[:-1]] + [params[-1] + ")"]
        return self.wrapped(f"static inline relax_expr *{name}(", pieces, 8)

    def statement(self, text):
        """One line of a body; where it is too long broken behind commas."""
        inner = len(text) - len(text.lstrip())
        return self.wrapped("    " + " " * inner, re.split(r"(?<=,) ", text.lstrip()), 8 + inner) + "\n" if len(text) + 4 > WIDTH else f"    {text}\n"

    def text(self):
        return "\n" + self.comment() + "\n" + (self.struct() if self.has_struct() else "") + self.function()


def main():
    lib = relax_ffi.load()
    ops = sorted((Op(lib, i) for i in range(lib.relax_op_count())), key=lambda op: op.name)
    names = [op.name for op in ops] + [n for op in ops if op.has_struct() for n in (op.struct_name(), op.struct_name() + "_init")]
    names += lib.functions
    clashes = {n for n in names if names.count(n) > 1}
    if clashes:
        print("operators with one C name: " + ", ".join(sorted(clashes)))
        return 1
    text = HEAD + "".join(op.text() for op in ops) + TAIL
    current = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
    if "--check" in sys.argv:
        print("1 passed, 0 failed" if current else f"{TARGET.relative_to(TOP)} is out of date: run `make abi`\n0 passed, 1 failed")
        return 0 if current else 1
    if not current:
        TARGET.write_text(text, encoding="utf-8")
        print(f"wrote {TARGET.relative_to(TOP)}")
    return 0


if __name__ == "__main__":
    relax_ffi.under_sanitizer()
    sys.exit(main())
