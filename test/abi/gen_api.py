#!/usr/bin/env python3
"""Reads include/relax/*.h and writes what follows from them:

    test/abi/api.json       the manifest: functions, enums, structs, handles, callbacks, with ownership and threads
    test/abi/symbols        the sorted list of exported functions
    lib/librelax.map        the version script, one chained node per minor version

    gen_api.py              write the files that changed
    gen_api.py --check      say which are out of date and what in the headers breaks the rules; exit 1 if any
    gen_api.py --baseline   write the numbers of enumerators and the members of structs to test/abi/baseline_facts, to be
                            kept for ever

The headers are written in one regular style (doc comment, markers, prototype); anything else is an error here
rather than a guess. `TOP` in the environment names another tree.
"""
import json
import os
import re
import sys
from pathlib import Path

TOP = Path(os.environ.get("TOP", Path(__file__).resolve().parent.parent.parent))
INCLUDE = TOP / "include" / "relax"
MANIFEST, SYMBOLS, MAP = TOP / "test/abi/api.json", TOP / "test/abi/symbols", TOP / "lib/librelax.map"

SCALARS = {"int", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t",
           "float", "double"}
# Types that an FFI cannot express the same way everywhere; never in a prototype or a public struct.
UNWELCOME = {"bool", "_Bool", "long", "unsigned", "short", "signed", "char", "float"}
OWNERSHIP = {"RELAX_OWN": "own", "RELAX_BORROWED": "borrowed"}
FLAGS = {"RELAX_NULLABLE": "nullable", "RELAX_INOUT": "inout"}
MAX_PARAMS = 10
# Structs that never grow: the value cell and its payload (and DLPack's own).
FIXED_STRUCTS = {"relax_value", "relax_payload"}

# ops.h holds inline functions over the others; it is generated from the operator table.
NOT_THE_ABI = {"relax_experimental.h", "ops.h"}


class Malformed(Exception):
    pass


# --- text to declarations ----------------------------------------------------------------------------

class Header:
    """A header cut into top-level declarations, each with the comment directly above it."""

    def __init__(self, path):
        self.name = path.name
        self.macros = {}
        text = path.read_text(encoding="utf-8")
        self.text = self.drop_directives(text)
        self.declarations = list(self.split())

    def drop_directives(self, text):
        """Blanks preprocessor lines and what only C++ sees; keeps positions. Integer macros are noted."""
        out, depth_cxx, stack = [], 0, []
        for line in re.sub(r"\\\n", lambda m: "  ", text).split("\n"):
            bare = line.strip()
            if bare.startswith("#"):
                word = re.match(r"#\s*(\w+)\s*(.*)", bare)
                kind, rest = (word.group(1), word.group(2)) if word else ("", "")
                if kind in ("if", "ifdef", "ifndef"):
                    stack.append("cxx" if kind != "ifndef" and "__cplusplus" in rest else "other")
                elif kind in ("else", "elif") and stack:
                    stack[-1] = "other" if stack[-1] == "cxx" else stack[-1]
                elif kind == "endif" and stack:
                    stack.pop()
                elif kind == "define":
                    self.note_macro(rest)
                out.append("")
            else:
                out.append("" if "cxx" in stack else line)
        return "\n".join(out)

    def note_macro(self, rest):
        match = re.match(r"(RELAX_\w+)\s+\(?(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)?\s*(?:/\*.*)?$", rest)
        if match:
            self.macros[match.group(1)] = int(match.group(2), 0)
        match = re.match(r"(RELAX_\w+)\s+\(\(size_t\)-1\)$", rest)
        if match:                                        # its number is the platform's
            self.macros[match.group(1)] = "SIZE_MAX"

    def split(self):
        """Yields (line, comment, text with inner comments turned to blanks)."""
        text, pos, start, depth, comment, last_comment_end = self.text, 0, None, 0, "", -1
        buffer, group, group_end = [], "", -1
        while pos < len(text):
            if text.startswith("/*", pos):
                end = text.index("*/", pos) + 2
                if start is None:
                    comment, last_comment_end = text[pos:end], end
                buffer.append(" ")
                pos = end
                continue
            char = text[pos]
            if start is None:
                if char.isspace():
                    pos += 1
                    continue
                start, buffer = pos, []
                gap = text[last_comment_end:pos] if last_comment_end >= 0 else "\n\n"
                if gap.count("\n") > 1 or comment.startswith("/* ---"):
                    comment = ""
                # Handles and callbacks without a blank line between them are a group; the first one's comment is for all.
                follows = group_end >= 0 and text[group_end:pos].count("\n") == 1
                if not comment and follows and text.startswith("typedef", pos):
                    comment = group
            buffer.append(char)
            depth += (char == "{") - (char == "}")
            pos += 1
            body_ends = char == "}" and depth == 0 and "".join(buffer).lstrip().startswith("static")
            if (char == ";" and depth == 0) or body_ends:
                line = text.count("\n", 0, start) + 1
                # a comment on the same line after the declaration belongs to it if there is none above
                tail = re.match(r"[ \t]*/\*(.*?)\*/", text[pos:], re.S)
                used = comment or (tail.group(0) if tail else "")
                yield line, clean_comment(used), " ".join("".join(buffer).split())
                if tail:
                    pos += tail.end()
                group, group_end = (used, pos) if text.startswith("typedef", start) else ("", -1)
                start, comment, last_comment_end = None, "", -1
        if start is not None:
            raise Malformed(f"{self.name}: the last declaration has no end")


def clean_comment(text):
    lines = re.sub(r"^\s*/\*+|\*+/\s*$", "", text).split("\n")
    return "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() for line in lines).strip()


# --- types -------------------------------------------------------------------------------------------

def take_markers(text):
    """Splits markers off a declarator: (ownership or None, the yes/no ones by name, rest)."""
    ownership, flags = None, {}
    for marker, value in OWNERSHIP.items():
        if re.search(rf"\b{marker}\b", text):
            ownership, text = value, re.sub(rf"\b{marker}\b", " ", text)
    for marker, name in FLAGS.items():
        if re.search(rf"\b{marker}\b", text):
            flags[name], text = True, re.sub(rf"\b{marker}\b", " ", text)
    return ownership, flags, " ".join(text.split())


def split_commas(text):
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return parts + ([current.strip()] if current.strip() else [])


def spell(base, const, stars):
    """`const relax_expr *const *` from its parts."""
    text = ("const " if const else "") + base
    return text + ((" " + "".join("*const " if c else "*" for c in stars)) if stars else "").rstrip()


FUNCTION_POINTER = re.compile(r"^(.*?)\(\s*\*\s*(?:const\s*)?(\w*)\s*\)\s*\((.*)\)$")
PLAIN = re.compile(r"^(?P<pre>(?:const\s+|volatile\s+|struct\s+|union\s+|enum\s+|unsigned\s+|long\s+)*)(?P<base>\w+)\s*(?P<post>const\b)?\s*"
                   r"(?P<stars>(?:\*\s*(?:const\b)?\s*)*)(?P<name>[A-Za-z_]\w*)?\s*(?P<array>(?:\[[^\]]*\])*)$")


def parse_declarator(text, where, named=True):
    """One parameter, field or result as a dict."""
    ownership, flags, text = take_markers(text)
    function = FUNCTION_POINTER.match(text)
    if function:
        entry = {"name": function.group(2), "type": "function", "kind": "callback",
                 "callback": {"returns": parse_result(function.group(1).strip(), where),
                              "params": parse_params(function.group(3), where)}}
    else:
        match = PLAIN.match(text)
        if not match or (named and not match.group("name") and match.group("base") != "void"):
            raise Malformed(f"{where}: cannot read `{text}`")
        stars = [bool(s) for s in re.findall(r"\*\s*(const\b)?", match.group("stars"))]
        base = ("unsigned " if "unsigned" in match.group("pre") else "") + (
            "long " if "long" in match.group("pre") else "") + match.group("base")
        const = "const" in match.group("pre") or bool(match.group("post"))
        tag = re.search(r"\b(struct|union|enum)\b", match.group("pre"))
        entry = {"name": match.group("name") or "", "type": spell((tag.group() + " " if tag else "") + base, const, stars),
                 "base": base,
                 "pointer": len(stars), "const": const}
        array = re.findall(r"\[\s*([^\]]*?)\s*\]", match.group("array"))
        if array:
            entry["array"] = array
    if ownership:
        entry["ownership"] = ownership
    entry.update(flags)
    return entry


def parse_params(text, where):
    if text.strip() in ("", "void"):
        return []
    params = []
    for part in split_commas(text):
        if part == "...":
            raise Malformed(f"{where}: variable arguments")
        param = parse_declarator(part, where)
        if param.pop("array", None) is not None:       # an array parameter is a pointer
            param["pointer"] += 1
            param["type"] = spell(param["base"], param["const"], [False] * param["pointer"])
        params.append(param)
    return params


def parse_result(text, where):
    entry = parse_declarator(text, where, named=False)
    if entry.get("name"):
        raise Malformed(f"{where}: cannot read the result `{text}`")
    del entry["name"]
    return entry


def parse_fields(body, where):
    """Fields of a struct or union body; nested unions and structs keep theirs."""
    fields, depth, current = [], 0, ""
    for char in body:
        depth += (char == "{") - (char == "}")
        if char == ";" and depth == 0:
            fields += parse_field(current.strip(), where)
            current = ""
        else:
            current += char
    if current.strip():
        raise Malformed(f"{where}: cannot read `{current.strip()}`")
    return fields


def parse_field(text, where):
    nested = re.match(r"^(union|struct)(?:\s+\w+)?\s*\{(.*)\}\s*(\w*)$", text)
    if nested:
        return [{"name": nested.group(3), "kind": nested.group(1), "fields": parse_fields(nested.group(2), where)}]
    if ":" in text:
        raise Malformed(f"{where}: a bit field: `{text}`")
    if FUNCTION_POINTER.match(take_markers(text)[2]):
        return [parse_declarator(text, where)]
    parts = split_commas(text)
    first = parse_declarator(parts[0], where)
    fields = [first]
    for part in parts[1:]:                              # `int32_t a, b;` and `size_t a, *b;`
        head = re.match(r"^((?:const\s+|struct\s+|union\s+)*\w+)", take_markers(parts[0])[2]).group(1)
        fields.append(parse_declarator(f"{head} {part}", where))
    return fields


# --- declarations to the manifest --------------------------------------------------------------------

class Api:
    def __init__(self):
        self.headers, self.functions, self.enums, self.structs = [], [], [], []
        self.handles, self.callbacks, self.aliases, self.constants = {}, [], [], {}
        self.inline = []
        self.values = {}

    def add_header(self, header):
        self.headers.append(header.name)
        self.constants.update(header.macros)
        for line, comment, text in header.declarations:
            where = f"include/relax/{header.name}:{line}"
            self.add(text, comment, header.name, where)

    def add(self, text, comment, header, where):
        body = text.rstrip(";").strip()
        common = {"header": header, "comment": comment}
        if body.startswith("static"):
            match = re.search(r"(\w+)\s*\(", body)
            self.inline.append({"name": match.group(1) if match else "?", **common})
        elif re.match(r"^(typedef\s+)?enum\b", body):
            self.add_enum(body, common, where)
        elif "{" in body and re.match(r"^(typedef\s+)?(struct|union)\b", body):
            self.add_struct(body, common, where)
        elif re.match(r"^(typedef\s+)?struct\s+\w+(\s+\w+)?$", body):
            self.handles.setdefault(body.split()[-1], {"name": body.split()[-1], **common})
        elif body.startswith("typedef"):
            self.add_typedef(body[len("typedef"):].strip(), common, where)
        elif "RELAX_API" in body:
            self.add_function(body, common, where)
        else:
            raise Malformed(f"{where}: neither a type nor RELAX_API: `{body[:60]}`")

    def add_enum(self, body, common, where):
        match = re.match(r"^(?:typedef\s+)?enum\s*(\w*)\s*\{(.*)\}\s*(\w*)$", body)
        if not match:
            raise Malformed(f"{where}: cannot read the enum")
        values = []
        for part in split_commas(match.group(2)):
            name, equals, expression = (x.strip() for x in part.partition("="))
            if not equals:
                raise Malformed(f"{where}: {name} has no explicit number")
            self.values[name] = self.evaluate(expression, where)
            values.append({"name": name, "value": self.values[name]})
        self.enums.append({"name": match.group(3) or match.group(1), "values": values, **common})

    def evaluate(self, expression, where):
        text = re.sub(r"\(\s*u?int\d+_t\s*\)", "", expression)
        text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
        text = re.sub(r"\bRELAX_\w+\b", lambda m: str(self.values.get(m.group(), self.constants.get(m.group(), "?"))),
                      text)
        if not re.fullmatch(r"[\d\sxXa-fA-F()|<>&~+*-]+", text):
            raise Malformed(f"{where}: cannot compute `{expression}`")
        return eval(text, {"__builtins__": {}})   # digits and operators only, checked above

    def add_struct(self, body, common, where):
        match = re.match(r"^(?:typedef\s+)?(struct|union)\s*(\w*)\s*\{(.*)\}\s*(\w*)$", body)
        if not match:
            raise Malformed(f"{where}: cannot read the struct")
        self.structs.append({"name": match.group(4) or match.group(2), "kind": match.group(1),
                             "fields": parse_fields(match.group(3), where), **common})

    def add_typedef(self, body, common, where):
        entry = parse_declarator(body, where)
        if entry.get("kind") == "callback":
            self.callbacks.append({"name": entry["name"], **entry["callback"], **common})
        elif re.match(r"^(.*?)\b(\w+)\s*\((.*)\)$", body):
            raise Malformed(f"{where}: a function type; use a pointer to function")
        else:
            self.aliases.append({"name": entry["name"], "type": entry["type"], "base": entry["base"],
                                 "pointer": entry["pointer"], **common})

    def add_function(self, body, common, where):
        since = re.search(r"\bRELAX_SINCE\(\s*(\d+)\s*,\s*(\d+)\s*\)", body)
        threads = re.findall(r"\bRELAX_(ANY|INIT|EXCL)\b(?:\(\s*([^)]*?)\s*\))?", body)
        deprecated = re.search(r"\bRELAX_DEPRECATED\w*\b", body)
        rest = re.sub(r"\bRELAX_(API|ANY|INIT)\b|\bRELAX_(SINCE|EXCL|DEPRECATED\w*)\b(\([^)]*\))?", " ", body)
        match = re.match(r"^(.*?)\b(relax_\w+)\s*\((.*)\)$", " ".join(rest.split()))
        if not match:
            raise Malformed(f"{where}: cannot read the prototype `{body[:80]}`")
        function = {"name": match.group(2), "returns": parse_result(match.group(1).strip(), where),
                    "params": parse_params(match.group(3), where),
                    "since": f"{since.group(1)}.{since.group(2)}" if since else None,
                    "thread": [{"class": c.lower(), **({"object": o} if o else {})} for c, o in threads],
                    **common, "where": where}
        if deprecated:
            function["deprecated"] = True
        self.functions.append(function)

    # what an entry is, once all names are known: every binding needs it, none should have to guess
    def classify(self):
        defined = {s["name"] for s in self.structs}
        self.handles = {n: h for n, h in self.handles.items() if n not in defined}
        kinds = {"callback": {c["name"] for c in self.callbacks}, "enum": {e["name"] for e in self.enums},
                 "alias": {a["name"]: a for a in self.aliases}, "struct": defined}
        for function in self.functions:
            for entry in [function["returns"], *function["params"]]:
                entry["kind"] = self.kind_of(entry, kinds)
        for callback in self.callbacks:
            for entry in [callback["returns"], *callback["params"]]:
                entry["kind"] = self.kind_of(entry, kinds)
        for struct in self.structs:
            self.classify_fields(struct["fields"], kinds)
        for handle in self.handles.values():
            ends = [f["name"] for f in self.functions if f["name"] in (handle["name"] + "_release", handle["name"] + "_destroy")]
            if ends:
                handle["release"] = ends[0]
        for function in self.functions:
            self.add_enums(function)
            for place, param in enumerate(function["params"]):
                length = length_of(function["params"], place)
                if length:
                    param["length"] = length

    def add_enums(self, function):
        """The enum whose numbers an int32_t result has, as the comment says: `enum relax_x` or `RELAX_X_...`."""
        returns = function["returns"]
        if returns["base"] != "int32_t" or returns["pointer"]:
            return
        named = re.search(r"\benum\s+(relax_\w+)", function["comment"])
        prefix = re.search(r"\b(RELAX_\w+_)\.\.\.", function["comment"])
        of_prefix = [e["name"] for e in self.enums if prefix and all(v["name"].startswith(prefix.group(1)) for v in e["values"])]
        known = {e["name"] for e in self.enums}
        if named and named.group(1) in known:
            returns["enum"] = named.group(1)
        elif len(of_prefix) == 1 and not named:
            returns["enum"] = of_prefix[0]

    def classify_fields(self, fields, kinds):
        for field in fields:
            if "fields" in field:
                self.classify_fields(field["fields"], kinds)
            else:
                field["kind"] = self.kind_of(field, kinds)

    def kind_of(self, entry, kinds):
        if "callback" in entry:
            for inner in [entry["callback"]["returns"], *entry["callback"]["params"]]:
                inner["kind"] = self.kind_of(inner, kinds)
            return "callback"
        base, pointer = entry["base"], entry["pointer"]
        if base in self.handles:
            many = "handle_inout" if entry.get("inout") else "handle_array" if self.is_input(entry) else "handle_out"
            return ("unknown", "handle", many)[min(pointer, 2)]
        if base in kinds["callback"]:
            return "callback" if pointer == 0 else "pointer"
        if base in kinds["struct"]:
            return ("struct_value", "struct", "pointer")[min(pointer, 2)]
        if base == "void":
            return ("void", "opaque", "pointer")[min(pointer, 2)]
        if base == "char":
            return ("char", "string" if entry["const"] else "buffer",
                    "string_array" if self.is_input(entry) else "string_out")[min(pointer, 2)]
        if base in SCALARS or base in kinds["alias"] or base in UNWELCOME or base in kinds["enum"]:
            return "scalar" if pointer == 0 else ("array" if entry["const"] else "out") if pointer == 1 else "pointer"
        return "unknown"

    @staticmethod
    def is_input(entry):
        """Of two stars: is the inner pointer const, so that the callee only reads the array?"""
        return "*const *" in entry["type"]

    def manifest(self):
        functions = [{k: v for k, v in f.items() if k != "where"} for f in self.functions]
        return {"headers": self.headers, "constants": self.constants, "handles": list(self.handles.values()),
                "aliases": self.aliases, "enums": self.enums, "structs": self.structs, "callbacks": self.callbacks,
                "functions": functions, "inline": self.inline}


def length_of(params, place):
    """Name of the parameter that says how long a string or array parameter is; None: it ends by itself, or as the comment says."""
    param = params[place]
    if param["kind"] not in ("string", "array", "handle_array", "handle_inout", "string_array", "buffer", "opaque", "handle_out", "out"):
        return None
    counts = [p["name"] for p in params if p.get("base") in ("size_t", "int32_t") and not p["pointer"]]
    direct = [c for c in (param["name"] + "_len", "num_" + param["name"]) if c in counts]
    if direct:
        return direct[0]
    if param["kind"] == "string":
        after = params[place + 1]["name"] if place + 1 < len(params) else ""
        return after if after == "len" else None
    if param["kind"] in ("handle_out", "out"):
        return "capacity" if "capacity" in counts else None
    later = [p["name"] for p in params[place + 1:] if p["name"] in counts]
    words = {"opaque": ("size",), "buffer": ("capacity",)}.get(param["kind"], ("count", "ndim", "num_args", "num_params"))
    return next((c for c in later if c in words or c.startswith("num_")), None)


# --- the rules of the headers ----------------------------------------------------------------------

def broken_rules(api):
    """Lines that say where a header breaks a rule of our own."""
    names = set()
    for f in api.functions:
        at, name = f["where"], f["name"]
        if name in names:
            yield f"{at}: {name} is declared twice"
        names.add(name)
        if not f["since"]:
            yield f"{at}: {name} has no RELAX_SINCE"
        if not f["thread"]:
            yield f"{at}: {name} has no thread class (RELAX_ANY, RELAX_EXCL(x) or RELAX_INIT)"
        for t in f["thread"]:
            if t["class"] == "excl" and t.get("object") not in {p["name"] for p in f["params"]}:
                yield f"{at}: {name}: RELAX_EXCL({t.get('object', '')}) names no parameter"
        if not f["comment"]:
            yield f"{at}: {name} has no comment directly above"
        if len(f["params"]) > MAX_PARAMS:
            yield f"{at}: {name} has {len(f['params'])} parameters; use an options struct"
        if f["returns"]["kind"] == "handle" and "ownership" not in f["returns"]:
            yield f"{at}: {name} returns a handle without RELAX_OWN or RELAX_BORROWED"
        for entry in [f["returns"], *f["params"]]:
            yield from broken_type(at, name, entry)
    for s in api.structs:
        fields = s["fields"]
        sized = fields and fields[0].get("name") == "struct_size"
        if not sized and s["name"] not in FIXED_STRUCTS and not s["name"].startswith("DL"):
            yield f"include/relax/{s['header']}: {s['name']} does not begin with struct_size"
    for e in api.enums:
        if not e["comment"]:
            yield f"include/relax/{e['header']}: enum {e['name']} has no comment directly above"
    for f in api.functions:
        yield from broken_names(f)
        yield from broken_numbers(f)
    yield from unknown_names()


# Names and numbers that are not as relax.h says, with the reason.
EXCEPTIONS = {
    "relax_value_tuple_get": "fields of a value are read like its other contents, by relax_value_get_...",
    "relax_context_add_source": "the number of a source is part of a place, which has 32 bits for it",
    "relax_packed_func_call": "num_args as in relax_packed_fn, whose layout is that of tvm-ffi",
    "relax_abi_version": "a version, not an answer",
    "relax_prim_operator": "the enum depends on the kind of the expression",
}
RANKS = re.compile(r"_ndim$")


def broken_names(f):
    """Makers and look-ups are called by what they do."""
    at, name, returns = f["where"], f["name"], f["returns"]
    if re.search(r"_(lookup|search|index_of)(_|$)", name):
        yield f"{at}: {name}: a look-up is called _find"
    if name.endswith("_create") and returns["kind"] == "handle" and returns.get("ownership") != "own":
        yield f"{at}: {name} gives a borrowed handle; a maker of those is called _new"
    if name.endswith("_new") and returns.get("ownership") != "borrowed":
        yield f"{at}: {name} gives an owned handle; a maker of those is called _create"
    if re.search(r"_(init)$", name) and returns["base"] != "relax_status":
        yield f"{at}: {name} fills a struct and answers with a status"


def broken_numbers(f):
    """Counts and indices are size_t; an int32_t is 0 or 1, a rank, a sum of flags, or of an enum that is named."""
    at, name, returns = f["where"], f["name"], f["returns"]
    if name in EXCEPTIONS:
        return
    for p in f["params"]:
        if re.match(r"^(num_\w+|count|capacity|index|\w+_len|len)$", p["name"]) and p.get("base") != "size_t":
            yield f"{at}: {name}: {p['name']} is a count or an index, so size_t"
    if returns["pointer"] or returns["base"] not in ("int32_t", "int64_t", "uint32_t", "uint64_t"):
        return
    if re.search(r"_(count|find|index|size|position)$|_num_", name):
        yield f"{at}: {name} gives a count or an index, so size_t"
    elif returns["base"] == "int32_t" and "enum" not in returns and not RANKS.search(name) and \
            not re.search(r"(^|[ ,.;:(])[1](:| if| for| means)|^Is |Sum of", f["comment"]):
        yield f"{at}: {name}: the comment says neither what 1 means nor which enum the answer is of"


def unknown_names():
    """What a comment mentions as if it were there; `relax_node_as_...` stands for all that begin so."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(INCLUDE.glob("*.h"))}
    known = {n for text in texts.values() for n in re.findall(r"\brelax_\w+", re.sub(r"/\*.*?\*/", "", text, flags=re.S))}
    for header, text in texts.items():
        for comment in re.findall(r"/\*.*?\*/", text, flags=re.S):
            for name in re.findall(r"\brelax_\w+\b(?!\.h)", comment):
                if name not in known and "NAME" not in name and "_X" not in name and not (name.endswith("_") and any(k.startswith(name) for k in known)):
                    yield f"include/relax/{header}: a comment mentions {name}, which there is not"


def broken_type(at, name, entry):
    kind = entry["kind"]
    if kind in ("unknown", "struct_value"):
        yield f"{at}: {name}: `{entry['type']}` is not a type for an interface"
    elif kind == "char" or (entry.get("base") in UNWELCOME - {"char", "float"}):
        yield f"{at}: {name}: `{entry['type']}` differs between platforms or languages"


def chained_map(functions):
    """The version script: each minor's node inherits the one before."""
    nodes = {}
    for f in functions:
        nodes.setdefault(tuple(map(int, (f["since"] or "0.1").split("."))), []).append(f["name"])
    out, before = ["/* Written by `make abi` from include/relax. What is not here is not exported. */"], ""
    for version in sorted(nodes):
        node = "RELAX_%d.%d" % version
        out += [f"{node} {{", "global:"] + [f"    {n};" for n in sorted(nodes[version])]
        out += ["local:", "    *;"] if not before else []
        out += ["}" + (f" {before}" if before else "") + ";"]
        before = node
    if not nodes:
        out += ["RELAX_0.2 {", "local:", "    *;", "};"]
    return "\n".join(out) + "\n"


def dump(manifest):
    """JSON with one line per parameter, value or field: a change of the interface is a readable diff."""
    def line(value):
        return json.dumps(value, ensure_ascii=False)

    def entry(value):
        parts = []
        for key, item in value.items():
            if isinstance(item, list) and item and isinstance(item[0], dict):
                rows = ",\n".join("    " + line(x) for x in item)
                parts.append(f"   {line(key)}: [\n{rows}\n   ]")
            else:
                parts.append(f"   {line(key)}: {line(item)}")
        return "  {\n" + ",\n".join(parts) + "\n  }"

    parts = []
    for key, value in manifest.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            parts.append(f" {line(key)}: [\n" + ",\n".join(entry(x) for x in value) + "\n ]")
        else:
            parts.append(f" {line(key)}: {line(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def facts(manifest):
    """{enumerator: number, STRUCT.MEMBER: place and type}: no symbol carries the numbers, so abidiff cannot watch over
    them, and what lets structs grow lets it overlook a member of another type."""
    found = {v["name"]: str(v["value"]) for e in manifest["enums"] for v in e["values"]}
    for struct in manifest["structs"]:
        for place, member in enumerate(struct["fields"]):
            found[f"{struct['name']}.{member['name']}"] = f"{place} {member['type']}"
    return found


def read_api():
    api = Api()
    for path in sorted(INCLUDE.glob("*.h")):
        if path.name not in NOT_THE_ABI:
            api.add_header(Header(path))
    api.classify()
    return api


def main():
    try:
        api = read_api()
    except Malformed as error:
        print(f"error: {error}")
        return 1
    wanted = {
        MANIFEST: dump(api.manifest()),
        SYMBOLS: "".join(sorted(f["name"] + "\n" for f in api.functions)),
        MAP: chained_map(api.functions),
    }
    if "--baseline" in sys.argv:
        lines = sorted(f"{name} {fact}\n" for name, fact in facts(api.manifest()).items())
        (TOP / "test/abi/baseline_facts").write_text("".join(lines))
        return 0
    stale = [p for p, text in wanted.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    broken = list(broken_rules(api))
    print("".join(f"{line}\n" for line in broken), end="")
    if "--check" in sys.argv:
        print("".join(f"{p.relative_to(TOP)} is out of date: run `make abi`\n" for p in stale), end="")
        return 1 if stale or broken else 0
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
        print(f"wrote {path.relative_to(TOP)}")
    print(f"{len(api.functions)} functions, {len(api.handles)} handles, {len(api.enums)} enums, "
          f"{len(api.structs)} structs, {len(api.callbacks)} callbacks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
