#!/usr/bin/env python3
"""The library from Python by ctypes, through nothing but the manifest: build, print, read back, compile, run with a
host function, let it fail in each way, and release everything in every order."""
import ctypes
import random
import sys

import relax_ffi

relax_ffi.under_sanitizer()
lib = relax_ffi.load()
text = relax_ffi.text
ROUNDS, SEED = 300, 20


class Suite:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, ok, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED {what}: {detail}")
        return ok

    def equal(self, what, got, want):
        return self.check(what, got == want, f"wanted {want!r}, got {got!r}")


s = Suite()


def take_bytes(handle):
    """The content of owned bytes, which are given back."""
    content = ctypes.string_at(lib.relax_bytes_data(handle), lib.relax_bytes_size(handle)) if handle else None
    lib.relax_bytes_release(handle)
    return content


def diagnostics(ctx):
    return [take_bytes(lib.relax_diagnostic_render(ctx, i)).decode() for i in range(lib.relax_context_num_diagnostics(ctx))]


# --- building ------------------------------------------------------------------------------------------

def call_op(ctx, op, *args, result=None):
    handles = lib.handles(args)
    if result:
        return lib.relax_call_op_new_with_result(ctx, *text(op), handles, len(args), None, result, 0)
    return lib.relax_call_op_new(ctx, *text(op), handles, len(args), None, 0)


def build(ctx):
    """main(x: (n, 4)) = host.twice(relu(x)) + 1"""
    builder = lib.relax_module_builder_create(ctx, None)
    b = lib.relax_builder_create(ctx, builder)
    n = lib.relax_shape_var_new(ctx, *text("n"))
    info = lib.relax_struct_info_tensor_new(ctx, lib.handles([n, lib.relax_prim_int_new(ctx, 4)]), 2, lib.RELAX_FLOAT32)
    x = lib.relax_var_new(ctx, *text("x"), info, 0)
    lib.relax_builder_begin_function(b, *text("main"), lib.handles([x]), 1, None)
    lib.relax_builder_begin_dataflow(b)
    y = lib.relax_builder_emit(b, call_op(ctx, "nn.relu", x), None, 0, 0)
    fields = lib.relax_tuple_new(ctx, lib.handles([y]), 1)
    y = lib.relax_builder_emit(b, call_op(ctx, "call_dps_packed", lib.relax_extern_func_new(ctx, *text("host.twice")), fields, result=info),
                               *text("twice"), 0)
    one = (ctypes.c_float * 1)(1.0)
    constant = lib.relax_constant_new(ctx, lib.RELAX_FLOAT32, None, 0, ctypes.cast(one, ctypes.c_void_p), 4)
    out = lib.relax_builder_emit_output(b, call_op(ctx, "add", y, constant), None, 0, 0)
    lib.relax_builder_end_dataflow(b)
    lib.relax_builder_end_function(b, out)
    module = lib.relax_module_builder_finish(builder)
    lib.relax_builder_destroy(b)
    lib.relax_module_builder_destroy(builder)
    return module


def build_and_read_back():
    ctx = lib.relax_context_create(None)
    module = build(ctx)
    s.check("module built", module, diagnostics(ctx))
    node = lib.relax_module_as_node(module)
    printed = take_bytes(lib.relax_node_print(ctx, node, None)).decode()
    s.check("printed", 'R.call_dps_packed("host.twice"' in printed and "def main(x: R.Tensor((" in printed, printed)
    again = lib.relax_module_parse(ctx, *text("printed.py"), *text(printed))
    s.check("read back equal", again and lib.relax_node_equal(ctx, node, lib.relax_module_as_node(again), 0) == 1, diagnostics(ctx))
    s.equal("hashes", lib.relax_node_hash(ctx, node), lib.relax_node_hash(ctx, lib.relax_module_as_node(again)))
    s.equal("no diagnostics", diagnostics(ctx), [])

    s.check("bad text gives no module", lib.relax_module_parse(ctx, *text("bad.py"), *text("@R.function\ndef f(:\n")) is None)
    shown = "".join(diagnostics(ctx))
    s.check("and says where", shown.startswith("bad.py:2:7: error[PA") and "^" in shown, shown)
    s.check("NULL gives NULL and counts", lib.relax_struct_info_tuple_new(ctx, None, 1) is None and lib.relax_context_num_errors(ctx) > 1)
    lib.relax_context_release(ctx)


# --- running -------------------------------------------------------------------------------------------

class Host:
    """A packed function of Python: `mode` says what it does; `alive` counts what the library still holds."""

    def __init__(self):
        self.mode, self.calls, self.alive = "work", 0, 0
        self.fn = lib.callback("relax_packed_fn", self.call)
        self.drop = lib.callback("relax_registry_register.destroy", self.destroy)
        self.drop_token = lib.callback("relax_value_set_user_error.destroy", self.destroy_token)
        self.tokens = 0

    def call(self, _self, args, num_args, result):
        self.calls += 1
        lib.relax_value_set_null(result)
        if self.mode == "fail":
            return lib.relax_value_set_error(result, *text("ValueError"), *text("größer als erlaubt"))
        if self.mode == "token":
            self.tokens += 1
            return lib.relax_value_set_user_error(result, 0x5eed, self.drop_token)
        source, target = (ctypes.cast(args[i].v.p, ctypes.POINTER(lib.structs["DLTensor"])).contents for i in range(2))
        count = source.shape[0] * source.shape[1]
        floats = ctypes.POINTER(ctypes.c_float)
        for i in range(count):
            ctypes.cast(target.data, floats)[i] = 2 * ctypes.cast(source.data, floats)[i]
        return 0

    def destroy(self, _user):
        self.alive -= 1

    def destroy_token(self, token):
        self.tokens -= token == 0x5eed


class Job:
    """One compiled program with everything that its caller holds: (name, release function, handle)."""

    def __init__(self, host):
        self.held, self.host = [], host
        self.ctx = self.hold(lib.relax_context_create(None), "context")
        self.exe = self.hold(lib.relax_module_compile(self.ctx, build(self.ctx), None), "executable")
        if not self.exe:
            print("".join(diagnostics(self.ctx)))
        out, host.alive = lib.out("relax_registry"), host.alive + 1
        lib.relax_registry_create(None, out.ref, None)
        self.registry = self.hold(out.value, "registry")
        lib.relax_registry_register(self.registry, *text("host.twice"), host.fn, None, host.drop, None)
        options = lib.new("relax_vm_options")
        lib.relax_vm_options_init(options, ctypes.sizeof(options))
        options.registry = self.registry
        out = lib.out("relax_vm")
        lib.relax_vm_create(self.exe, options, out.ref, None)
        self.vm = self.hold(out.value, "vm")

    def hold(self, handle, kind):
        if handle:
            self.held.append((kind, getattr(lib, f"relax_{kind}_release"), handle))
        return handle

    def hold_value(self, value):
        self.held.append(("value", lib.relax_value_release, value))
        return value

    def tensor(self, values):
        shape = (ctypes.c_int64 * 2)(len(values) // 4, 4)
        out = lib.out("relax_tensor")
        lib.relax_tensor_create(lib.RELAX_FLOAT32, shape, 2, None, out.ref, None)
        data = (ctypes.c_float * len(values))(*values)
        lib.relax_tensor_copy_in(out.value, ctypes.cast(data, ctypes.c_void_p), ctypes.sizeof(data))
        return self.hold(out.value, "tensor")

    def run(self, values):
        """(status, numbers, error)"""
        arg, result, error = lib.new("relax_value"), lib.new("relax_value"), lib.out("relax_error")
        lib.relax_value_set_tensor(arg, self.tensor(values))
        self.hold_value(arg)
        status = lib.relax_vm_call(self.vm, *text("main"), arg, 1, result, error.ref)
        self.hold(error.value, "error")
        self.hold_value(result)
        tensor = lib.relax_value_get_tensor(result)
        numbers = None
        if tensor:
            size = lib.relax_tensor_bytes(tensor)
            numbers = list((ctypes.c_float * (size // 4)).from_address(lib.relax_tensor_data(tensor))) if size else []
        return status, numbers, error.value

    def release(self, order):
        order.shuffle(self.held)
        for kind, release, handle in self.held:
            release(ctypes.byref(handle) if kind == "value" else handle)
        self.held = []


def message(error):
    length = ctypes.c_size_t()
    return ctypes.string_at(lib.relax_error_message(error, ctypes.byref(length)), length.value).decode()


def run_and_fail():
    host = Host()
    job = Job(host)
    status, numbers, error = job.run([-1, 2, -3, 4])
    s.equal("run", (status, numbers, error), (lib.RELAX_OK, [1, 5, 1, 9], None))
    s.equal("run on nothing", job.run([])[:2], (lib.RELAX_OK, []))

    host.mode = "fail"
    status, numbers, error = job.run([1, 2, 3, 4])
    s.equal("failing host function", (status, numbers, lib.relax_error_code(error)), (lib.RELAX_ERROR_RUNTIME, None, b"RT16"))
    s.check("its text", "größer als erlaubt" in message(error), message(error))
    s.check("its name", "host.twice" in message(error), message(error))
    cause = lib.relax_error_cause(error) or error
    s.equal("its kind", lib.relax_error_kind(cause, None), b"ValueError")
    s.check("the trace", b"main" in lib.relax_error_trace(error, None), lib.relax_error_trace(error, None))

    host.mode = "token"
    status, numbers, error = job.run([1, 2, 3, 4])
    s.equal("token of the host", (status, numbers, lib.relax_error_user_token(error)), (lib.RELAX_ERROR_USER, None, 0x5eed))
    s.equal("token is kept", host.tokens, 1)

    host.mode = "work"
    s.equal("works again", job.run([0, 0, 0, 1])[:2], (lib.RELAX_OK, [1, 1, 1, 3]))
    arg, result, out = lib.new("relax_value"), lib.new("relax_value"), lib.out("relax_error")
    lib.relax_value_set_int(arg, 3)
    status = lib.relax_vm_call(job.vm, *text("main"), arg, 1, result, out.ref)
    s.equal("wrong argument", (status, lib.relax_error_code(job.hold(out.value, "error"))[:2]), (lib.RELAX_ERROR_RUNTIME, b"RT"))
    job.release(random.Random(0))
    s.equal("host function and token were given back once", (host.alive, host.tokens), (0, 0))


def shuffled():
    """Everything a job holds is released in a random order, many times; what is still held in between still works."""
    order, host = random.Random(SEED), Host()
    for number in range(ROUNDS):
        job = Job(host)
        for mode in order.sample(["work", "fail", "token"], 2):
            host.mode = mode
            job.run([1, 2, 3, 4])
        extra = order.choice(("executable", "vm", "registry", "context"))
        handle = next(h for kind, _, h in job.held if kind == extra)
        job.hold(getattr(lib, f"relax_{extra}_retain")(handle), extra)
        job.release(order)
        if (host.alive, host.tokens) != (0, 0):
            s.check(f"round {number} of seed {SEED}", False, f"{host.alive} functions and {host.tokens} tokens left")
            return
    s.check("shuffled releases", True)


build_and_read_back()
run_and_fail()
shuffled()
print(f"{s.passed} passed, {s.failed} failed")
sys.exit(1 if s.failed or not s.passed else 0)
