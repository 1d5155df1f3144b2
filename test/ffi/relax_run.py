"""Programs as text, compiled and run on numpy arrays inside this process: a thousandth of a second each.

    module = Module(text)                                   # Failed with its diagnostics where it cannot be read
    results = module.compile(2).call("main", [array, ...])  # a flat list of arrays; Failed with code and message

With RELAX_TAPE=FILE calls of bytecode without packed functions are recorded there, for test/vm/replay.c to compare on another machine.

numpy has no bfloat16 and no floats of 8 bits: NARROW has dtypes of their bits. An argument may also be a list (a tuple) or "shape:2,3".
"""
import ctypes
import os
import struct

import numpy as np

import relax_ffi

lib = relax_ffi.load()
text = relax_ffi.text
NARROW = {name: np.dtype([(name, bits)]) for name, bits in (("bfloat16", "<u2"), ("float8_e4m3fn", "u1"), ("float8_e5m2", "u1"))}
NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
CODES = {np.dtype(name): getattr(lib, f"RELAX_{name.upper()}") for name in NAMES} | {dtype: getattr(lib, f"RELAX_{name.upper()}") for name, dtype in NARROW.items()}
DTYPES = {code: dtype for dtype, code in CODES.items()}


class Failed(Exception):
    """The first code, and everything that was said."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def take_bytes(handle):
    content = ctypes.string_at(lib.relax_bytes_data(handle), lib.relax_bytes_size(handle)).decode() if handle else ""
    lib.relax_bytes_release(handle)
    return content


class Module:
    def __init__(self, source, name="p.py"):
        self.ctx = lib.relax_context_create(None)
        self.handle = lib.relax_module_parse(self.ctx, *text(name), *text(source))
        if not self.handle or lib.relax_context_num_errors(self.ctx):
            self.fail()

    def __del__(self):
        lib.relax_context_release(self.ctx)

    def fail(self):
        """Errors go first: what is listed before may be a warning."""
        found = [i for i in range(lib.relax_context_num_diagnostics(self.ctx)) if lib.relax_diagnostic_severity(self.ctx, i) == 0]
        code = lib.relax_diagnostic_code(self.ctx, found[0]).decode() if found else ""
        message = "".join(take_bytes(lib.relax_diagnostic_render(self.ctx, i)) for i in found)
        lib.relax_context_clear_diagnostics(self.ctx)
        raise Failed(code, message or "no reason was given")

    def printed(self):
        return take_bytes(lib.relax_node_print(self.ctx, lib.relax_module_as_node(self.handle), None))

    def equals(self, other):
        """Is it the module `other`, which has a context of its own?"""
        return lib.relax_node_hash(self.ctx, lib.relax_module_as_node(self.handle)) == \
            lib.relax_node_hash(other.ctx, lib.relax_module_as_node(other.handle))

    def after(self, name):
        """The printed text of what a pass makes of it."""
        made = lib.relax_pass_run(self.ctx, self.handle, *text(name), None)
        if not made:
            self.fail()
        return take_bytes(lib.relax_node_print(self.ctx, lib.relax_module_as_node(made), None))

    def compile(self, level=1, target="interp", compiler=None, instruction_set=None, arithmetic=None, cpu=None, ranks=(), dtypes=(), no_late=False, packed=None, max_depth=None):
        options = lib.new("relax_compile_options")
        lib.relax_compile_options_init(options, ctypes.sizeof(options))
        options.opt_level, options.target = level, target.encode()
        options.arithmetic, options.cpu = arithmetic and arithmetic.encode(), cpu and cpu.encode()
        for field, said in (("ranks", ranks), ("dtypes", dtypes)):
            setattr(options, field, (ctypes.c_char_p * (len(said) + 1))(*(s.encode() for s in said), None))
        load = lib.new("relax_load_options")
        lib.relax_load_options_init(load, ctypes.sizeof(load))
        if target == "c":
            options.allow_compiler, options.compiler = 1, (compiler or "cc").encode()
            load.allow_native = 1
            options.load = ctypes.pointer(load)
        handle = lib.relax_module_compile(self.ctx, self.handle, options)
        if not handle:
            self.fail()
        return Executable(handle, instruction_set, no_late, packed, max_depth)


class Executable:
    """packed: name -> function of this executable, argument cells, their number and the cell of the result; what it raises as
    Failed is a failure of the packed function."""

    def __init__(self, handle, instruction_set=None, no_late=False, packed=None, max_depth=None):
        self.handle, out, error = handle, lib.out("relax_vm"), lib.out("relax_error")
        self.vm, options = None, lib.new("relax_vm_options")
        lib.relax_vm_options_init(options, ctypes.sizeof(options))
        options.no_late = int(no_late)
        options.instruction_set = instruction_set.encode() if instruction_set else None
        options.max_depth = max_depth or options.max_depth
        self.registry, self.callbacks = lib.out("relax_registry"), []
        if packed:
            self.register(packed)
            options.registry = self.registry.value
        if lib.relax_vm_create(handle, options, out.ref, error.ref) != lib.RELAX_OK:
            raise failure(error.value)
        self.vm = out.value
        self.is_plain = not (instruction_set or packed or max_depth)
        self.native, self.compilers = lib.relax_executable_num_native_kernels(handle), lib.relax_executable_compiler_processes(handle)

    def __del__(self):
        lib.relax_vm_release(self.vm)
        lib.relax_executable_release(self.handle)
        if self.callbacks:
            lib.relax_registry_release(self.registry.value)

    def register(self, packed):
        lib.relax_registry_create(None, self.registry.ref, None)
        register = lib.relax_registry_register
        for name, function in packed.items():
            def callback(user, args, count, result, function=function):
                try:
                    function(self, args, count, result)
                    return 0
                except Failed:
                    return -1
            self.callbacks.append(register.argtypes[3](callback))
            register(self.registry.value, *text(name), self.callbacks[-1], None, register.argtypes[5](), None)

    def call(self, name, args):
        """`args` as a list, or made before by Arguments, for several calls."""
        args = args if isinstance(args, Arguments) else Arguments(args)
        result, error = lib.new("relax_value"), lib.out("relax_error")
        if lib.relax_vm_call(self.vm, *text(name), args.cells, args.count, result, error.ref) != lib.RELAX_OK:
            raise failure(error.value)
        found = []
        flatten(result, found)
        lib.relax_value_release(result)
        if TAPE and self.is_plain and not self.native:
            record(self, name, args, found)
        return found


def instruction_sets():
    """Those that this machine has."""
    module, found = Module("@T.prim_func\ndef f(A: T.Buffer((1,), \"float32\")):\n    A[0] = T.float32(0)\n"), []
    for name in ("baseline", "avx2", "avx512", "avx512vnni", "avx512amx", "neon", "neondot"):
        try:
            module.compile(instruction_set=name)
            found.append(name)
        except Failed as e:
            if "instruction set" not in str(e):
                raise
    return found


def failure(error):
    length = ctypes.c_size_t()
    message = ctypes.string_at(lib.relax_error_message(error, ctypes.byref(length)), length.value).decode()
    made = Failed(lib.relax_error_code(error).decode(), message)
    lib.relax_error_release(error)
    return made


TAPE = os.environ.get("RELAX_TAPE")
recorded = []           # the program that the end of the tape is about


def record(executable, name, args, found):
    with open(TAPE, "ab") as tape:
        if recorded != [executable]:
            recorded[:] = [executable]
            lib.relax_executable_save(executable.handle, *text(TAPE + ".rlx"), None)
            with open(TAPE + ".rlx", "rb") as program:
                content = program.read()
            tape.write(struct.pack("QQ", 1, len(content)) + content)
        name = name.encode()
        tape.write(struct.pack("QQ", 2, len(name)) + name)
        for values in (args.values, found):
            tape.write(struct.pack("Q", len(values)) + b"".join(map(on_tape, values)))


def on_tape(value):
    if isinstance(value, list):
        return struct.pack("QQ", 1, len(value)) + b"".join(map(on_tape, value))
    if isinstance(value, str):
        dims = [int(d) for d in value.partition(":")[2].split(",") if d]
        return struct.pack(f"{2 + len(dims)}Q", 2, len(dims), *dims)
    value = np.asarray(value)
    return struct.pack(f"{4 + value.ndim}Q", 0, CODES[value.dtype], value.ndim, *value.shape, value.nbytes) + value.tobytes()


class Arguments:
    """Values of the library made of arrays."""

    def __init__(self, values):
        self.count, self.values = len(values), values if TAPE else None
        self.cells = lib.array("relax_value", max(1, self.count))
        for i, value in enumerate(values):
            put(self.cells[i], value)

    def __del__(self):
        for i in range(self.count):
            lib.relax_value_release(self.cells[i])


def put(cell, value):
    if isinstance(value, list):
        fields = Arguments(value)
        lib.relax_value_set_tuple(cell, fields.cells, fields.count, None)
        return
    if isinstance(value, str):
        dims = [int(d) for d in value.partition(":")[2].split(",") if d]
        array = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        lib.relax_value_set_shape(cell, array, len(dims), None)
        return
    out, value = lib.out("relax_tensor"), np.asarray(value)
    value = value if value.flags.c_contiguous else value.copy()
    lib.relax_tensor_create(CODES[value.dtype], (ctypes.c_int64 * max(1, value.ndim))(*value.shape), value.ndim, None, out.ref, None)
    lib.relax_tensor_copy_in(out.value, value.ctypes.data, value.nbytes)
    lib.relax_value_set_tensor(cell, out.value)
    lib.relax_tensor_release(out.value)


def flatten(value, found):
    """Tensors of a result depth first; a shape as an array of its sizes."""
    kind = lib.relax_value_kind(value)
    if kind == lib.RELAX_VALUE_KIND_TUPLE:
        for i in range(lib.relax_value_tuple_size(value)):
            field = lib.new("relax_value")
            lib.relax_value_tuple_get(value, i, field)
            flatten(field, found)
    elif kind == lib.RELAX_VALUE_KIND_TENSOR:
        tensor = lib.relax_value_get_tensor(value)
        shape = lib.relax_tensor_shape(tensor)
        size = [shape[i] for i in range(lib.relax_tensor_ndim(tensor))]
        array = np.empty(size, DTYPES[lib.relax_tensor_dtype(tensor)])
        lib.relax_tensor_copy_out(tensor, array.ctypes.data, array.nbytes)
        found.append(array)
    else:
        raise Failed("", f"a result of kind {kind}")
