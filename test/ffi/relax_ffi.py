"""Builds ctypes bindings of librelax from the manifest test/abi/api.json; nothing here knows a function by name.

    import relax_ffi
    relax_ffi.under_sanitizer()              # first of all in a script that `make check-asan` runs too
    lib = relax_ffi.load()
    ctx = lib.relax_context_create(None)
    text = relax_ffi.text(source)            # (bytes, length): `*text` fills pointer and length
    module = lib.relax_module_parse(ctx, *relax_ffi.text("m.py"), *text)
    options = lib.new("relax_vm_options", max_depth=100)      # struct_size filled in
    function = lib.callback("relax_packed", python_function)  # keep it alive as long as C may call it
    out = lib.out("relax_tensor")            # room for a handle; pass out.ref, read out.value
    lib.RELAX_ERROR_TYPE                     # enumerators and integer constants

Types: handles and `void *` are integers (None for NULL), `const char *` bytes, numbers numbers; structs are ctypes
structures, pointers to them byref() or a structure; arrays are ctypes arrays (`lib.handles([a, b])`).
"""
import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

TOP = Path(os.environ.get("TOP", Path(__file__).resolve().parent.parent.parent))

SCALARS = {
    "int": ctypes.c_int, "int8_t": ctypes.c_int8, "int16_t": ctypes.c_int16, "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64, "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16, "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "float": ctypes.c_float, "double": ctypes.c_double,
    "char": ctypes.c_char,
}


def under_sanitizer():
    """Starts the script again with the sanitizer's library loaded first, if this build has one. Python itself
    leaks on purpose, so leaks are not looked for then."""
    if os.environ.get("RELAX_VARIANT") != "asan" or "libasan" in os.environ.get("LD_PRELOAD", ""):
        return
    compiler = os.environ.get("CC", "cc").split()
    found = subprocess.run([*compiler, "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True, check=True)
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    environment = dict(os.environ, LD_PRELOAD=os.path.realpath(found.stdout.strip()), ASAN_OPTIONS=options)
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def text(string):
    """UTF-8 bytes and their number, for a pair of parameters."""
    data = string if isinstance(string, bytes) else string.encode("utf-8")
    return data, len(data)


class Out:
    """Room for one result: pass `ref`, read `value` afterwards."""

    def __init__(self, ctype):
        self.cell = ctype()
        self.ref = ctypes.byref(self.cell)

    @property
    def value(self):
        return getattr(self.cell, "value", self.cell)


class Library:
    """The functions, types and constants of the manifest as attributes."""

    def __init__(self, path, manifest):
        self.manifest = manifest
        self.native = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
        self.handles_known = {h["name"] for h in manifest["handles"]}
        self.aliases = {a["name"]: a for a in manifest["aliases"]}
        self.struct_entries = {s["name"]: s for s in manifest["structs"]}
        self.callback_entries = {c["name"]: c for c in manifest["callbacks"]}
        self.structs, self.callbacks = {}, {}
        for name in self.struct_entries:
            self.struct(name)
        for name, value in manifest["constants"].items():
            setattr(self, name, ctypes.c_size_t(-1).value if value == "SIZE_MAX" else value)
        for enum in manifest["enums"]:
            for row in enum["values"]:
                setattr(self, row["name"], row["value"])
        self.functions = {f["name"]: self.bind(f) for f in manifest["functions"]}

    def bind(self, entry):
        function = getattr(self.native, entry["name"])
        function.argtypes = [self.ctype(p) for p in entry["params"]]
        function.restype = self.ctype(entry["returns"])
        setattr(self, entry["name"], function)
        return function

    # --- types
    def base(self, name):
        """The ctypes type of a type name without stars; None for void and for handles."""
        if name in SCALARS:
            return SCALARS[name]
        if name in self.aliases:
            alias = self.aliases[name]
            return ctypes.c_void_p if alias["pointer"] else self.base(alias["base"])
        if name in self.struct_entries:
            return self.struct(name)
        if name in self.callback_entries:
            return self.callback_type(name)
        return None

    def ctype(self, entry):
        """The ctypes type of a parameter, result or field."""
        if "callback" in entry:
            return self.function_type(entry["callback"])
        pointer, base = entry["pointer"], entry["base"]
        if base == "char" and pointer == 1 and entry["const"]:
            result = ctypes.c_char_p
        elif base == "char" and pointer == 2:
            result = ctypes.POINTER(ctypes.c_char_p)
        else:
            inner = self.base(base)
            if inner is None and pointer:            # void * and handles are one word already
                inner, pointer = ctypes.c_void_p, pointer - 1
            for _ in range(pointer):
                inner = ctypes.POINTER(inner)
            result = inner
        for size in reversed(entry.get("array", [])):
            result = result * (self.manifest["constants"].get(size) or int(size, 0))
        return result

    def function_type(self, entry):
        return ctypes.CFUNCTYPE(self.callback_ctype(entry["returns"]), *map(self.callback_ctype, entry["params"]))

    def callback_ctype(self, entry):
        """As ctype, but strings stay addresses: Python would read them up to a NUL that need not be there."""
        return ctypes.c_void_p if entry.get("kind") == "string" else self.ctype(entry)

    def callback_type(self, name):
        if name not in self.callbacks:
            self.callbacks[name] = self.function_type(self.callback_entries[name])
        return self.callbacks[name]

    def struct(self, name):
        if name not in self.structs:
            entry = self.struct_entries[name]
            kind = ctypes.Union if entry["kind"] == "union" else ctypes.Structure
            self.structs[name] = made = type(name, (kind,), {})   # known before its fields: it may point to itself
            made._fields_ = [self.field(name, f) for f in entry["fields"]]
        return self.structs[name]

    def field(self, owner, entry):
        if "fields" not in entry:
            return entry["name"], self.ctype(entry)
        kind = ctypes.Union if entry["kind"] == "union" else ctypes.Structure
        inner = type(f"{owner}_{entry['name']}", (kind,), {"_fields_": [self.field(owner, f) for f in entry["fields"]]})
        return entry["name"], inner

    # --- values
    def new(self, name, **fields):
        """A zeroed struct with struct_size, where it has one, and the fields given."""
        value = self.struct(name)()
        if hasattr(value, "struct_size"):
            value.struct_size = ctypes.sizeof(value)
        for key, item in fields.items():
            setattr(value, key, item)
        return value

    def array(self, name, count):
        """`count` zeroed elements of a struct or number type."""
        return (self.base(name) * count)()

    def handles(self, items):
        """An array of handles and its length are `array, len(array)`."""
        return (ctypes.c_void_p * len(items))(*items)

    def out(self, name):
        return Out(ctypes.c_char_p if name == "string" else self.base(name) or ctypes.c_void_p)

    def callback(self, name, function):
        """`function` as C sees it; `name` is a callback type, or "function.parameter" or "struct.field"."""
        if name in self.callback_entries:
            return self.callback_type(name)(function)
        owner, _, part = name.partition(".")
        entries = self.struct_entries[owner]["fields"] if owner in self.struct_entries else next(
            f["params"] for f in self.manifest["functions"] if f["name"] == owner)
        return self.ctype(next(e for e in entries if e["name"] == part))(function)


def load(path=None, manifest=None):
    """The library of this build (RELAX_LIB, else lib/librelax.so) with the tracked manifest."""
    path = path or os.environ.get("RELAX_LIB") or TOP / "lib" / "librelax.so"
    manifest = manifest or json.loads((TOP / "test/abi/api.json").read_text(encoding="utf-8"))
    return Library(path, manifest)
