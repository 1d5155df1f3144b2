#!/usr/bin/env python3
"""Calls every exported function wrongly in every way that the manifest lets one think of, one wrong argument at a time:

    NULL for a pointer, for all of them; a handle of another kind of its side; lists that are NULL, hold NULL or a handle of
    another kind; numbers out of every range; strings with NUL bytes, not UTF-8, empty; options structs of every length
    up to theirs, and longer ones with a tail that is 0 and one that is not. Debug builds see more: nodes of another
    context, where the diagnostic must name the call, and handles that were given up.

Writes a C program from test/abi/api.json, builds it against this build's library and runs each call in a child
of its own. A call must come back: no signal, no exit, no hang. And it must say no: where what is wrong is a handle that
must be given, a string or an options struct, a function that returns a handle returns NULL, one that returns
relax_status not RELAX_OK. Structs of older headers and longer ones that end in 0 are as good as the present one.

The pointers that are not NULL are made as well as the manifest allows: a handle by the functions that return one,
the first that does, with arguments made in the same way; strings, arrays and places for results are small and valid.
    check_misuse.py [FUNCTION]
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(os.environ.get("TOP", Path(__file__).resolve().parent.parent.parent))
OUT = Path(os.environ.get("RELAX_OUT", TOP))
BUILD = Path(os.environ.get("RELAX_BUILD", TOP / "build/release"))
ASAN = os.environ.get("RELAX_VARIANT") == "asan"
DEBUG = os.environ.get("RELAX_VARIANT") in ("asan", "debug")
POINTERS = {"handle", "handle_array", "handle_out", "handle_inout", "struct", "opaque", "string", "string_array", "string_out",
            "buffer", "array", "out", "pointer", "callback"}
# What string parameters of these names hold instead of "x", so that more handles can be made.
STRINGS = {
    "path": "/nonexistent", "name": "main", "entry": "main",
    "text": "x = 1", "op": "add", "pass": "normalize",
}
# Handles of one side: each may be mistaken for another one of it.
NODES = ["relax_struct_info", "relax_prim_expr", "relax_expr", "relax_base_func", "relax_binding", "relax_block", "relax_stmt",
         "relax_attr", "relax_module", "relax_buffer", "relax_pattern"]
COUNTED = ["relax_tensor", "relax_packed_func", "relax_error", "relax_executable", "relax_vm", "relax_registry", "relax_bytes"]
# (wanted, given) that is no mistake: any node may be an attribute, function literals are expressions and members of modules.
SAME = {("relax_expr", "relax_base_func"), ("relax_base_func", "relax_expr")} | {("relax_attr", n) for n in NODES}
# Functions that take a handle of any kind or string of any content for what it is; relax_error_status gives a status as a fact.
TAKES_ANY_HANDLE = re.compile(r"_as_node$|^relax_error_status$")
TAKES_ANY_TEXT = {"relax_value_set_string.data"}
# Lists in which NULL says something: any size.
TAKES_NULL_INSIDE = {"relax_pattern_shape_new.dims", "relax_pattern_with_shape.dims"}
TAKES_ANY_BUT_NUL = {"relax_executable_save.path"}
WRONG_STRINGS = [("NUL inside", r'"a\0b"', 3), ("not UTF-8", r'"\xff\xfe"', 2), ("cut character", r'"a\xc3"', 2), ("empty", '""', 0)]
WRONG_NUMBERS = {"int32_t": ["INT32_MIN", "-1", "1", "2", "1000", "INT32_MAX"], "int64_t": ["INT64_MIN", "-1", "INT64_MAX"], "uint32_t": ["UINT32_MAX"],
                 "uint64_t": ["UINT64_MAX"], "size_t": ["SIZE_MAX"], "relax_dtype": ["-1", "0", "0x7fffffff", "0x00010002"],
                 "relax_place": ["UINT64_MAX"], "double": ["0.0 / 0.0", "1e308 * 10"]}
# Numbers that say how much there is behind a pointer: a wrong one is a lie that nobody can see.
COUNTS = re.compile(r"^(num_|count$|ndim$|capacity$|size$|.*_size$|.*_len$|len$)")
# Lists that may be NULL although their length is not 0, for what is said of neither is used.
MAY_LACK = set()
# Numbers that name one of a few things: others are refused.
ENUMS = {"relax_module_well_formed.stage", "relax_prim_binary_new.op", "relax_tir_axis.kind", "relax_tir_for.kind", "relax_pipeline_add_build.opt_level"}
# Functions that take nodes of any context: they only read.
ANY_CONTEXT = {"relax_module_copy", "relax_node_equal", "relax_node_hash", "relax_node_print", "relax_node_print_to", "relax_builder_find"}
# Handles that are gone with their last reference, and how it is given up.
GIVEN_UP = {h: h + "_release" for h in COUNTED + ["relax_context"]} | {
    h: h + "_destroy" for h in ("relax_module_builder", "relax_builder", "relax_tir_builder", "relax_pipeline", "relax_prover", "relax_use_def",
                                    "relax_liveness", "relax_block_edit", "relax_relay_module")}
# Handles that no call with plain arguments gives.
RECIPES = {
    "relax_expr": 'relax_var_new(make_relax_context(), "x", 1, relax_struct_info_object_new(make_relax_context()), 0)',
    "relax_module": "parsed(relax_text, sizeof relax_text - 1)",
    "relax_buffer": 'relax_tir_param(relax_tir_builder_create(make_relax_context(), 0), "A", 1, RELAX_FLOAT32, NULL, 0)',
    "relax_base_func": "relax_module_function(make_relax_module(), 0)",
    "relax_block": "relax_seq_block(relax_expr_operand(relax_base_func_as_expr(make_relax_base_func()), 1), 0)",
    "relax_binding": "relax_block_binding(make_relax_block(), 0)",
    "relax_block_edit": "edited()",
    "relax_relay_module": 'relax_relay_module_parse(make_relax_context(), "m.rly", 5, "1 + 1", 5)',
    "relax_onnx_query": "relax_onnx_query_memory(make_relax_context(), onnx_model, sizeof onnx_model - 1)",
    "relax_stmt": "relax_base_func_body(relax_module_function(parsed(tir_text, sizeof tir_text - 1), 0))",
}
# Handles that live while a callback runs: calls with them are made from inside of one.
INSIDE = ["relax_call_view", "relax_mutator", "relax_kind_sink", "relax_onnx_node", "relax_relay_call"]
# Handles that only calls of those give.
GIVEN_INSIDE = {"relax_relay_type": "relax_relay_call"}
# Functions tried to make one handle.
MAX_TRIES = 12
PARSED = r"""
/* y = Op(x) of the domain "host", x of two elements */
static const char onnx_model[] =
    "\x08\x08\x3a\x39\x0a\x12\x0a\x01\x78\x12\x01\x79\x1a\x00\x22\x02\x4f\x70\x3a\x04\x68\x6f\x73\x74\x12\x01\x67\x5a\x0f\x0a\x01\x78"
    "\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x02\x62\x0f\x0a\x01\x79\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x02\x42\x04\x0a\x00"
    "\x10\x11\x42\x08\x0a\x04\x68\x6f\x73\x74\x10\x01";
static const char relax_text[] = "from tvm.script import relax as R\n\n@R.function\ndef main(x: R.Tensor((2,), \"float32\")):\n"
                                 "    gv = R.exp(x)\n    return gv\n";
static const char dataflow_text[] = "from tvm.script import relax as R\n\n@R.function\ndef main(x: R.Tensor((2,), \"float32\")):\n"
                                    "    with R.dataflow():\n        gv = R.exp(x)\n        R.output(gv)\n    return gv\n";
static const char tir_text[] = "from tvm.script import tir as T\n\n@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n"
                               "    for i in range(4):\n        A[i] = T.float32(0.0)\n";
static relax_module *parsed(const char *text, size_t len)
{
    return relax_module_parse(make_relax_context(), "m.py", 4, text, len);
}
static relax_block_edit *edited(void)
{
    relax_module *m = parsed(dataflow_text, sizeof dataflow_text - 1);
    const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, 0));
    return relax_block_edit_create(make_relax_context(), m, "main", 4, relax_seq_block(relax_expr_operand(f, 1), 0));
}
"""
WITHIN = r"""
/* The row under way runs in a child of its own, which ends in the callback. */
static int (*row)(void);
static relax_call_view *view_now;
static relax_mutator *mutator_now;
static relax_kind_sink *sink_now;
static relax_onnx_node *node_now;
static relax_relay_call *relay_now;
static relax_call_view *make_relax_call_view(void) { return view_now; }
static relax_mutator *make_relax_mutator(void) { return mutator_now; }
static relax_kind_sink *make_relax_kind_sink(void) { return sink_now; }
static relax_onnx_node *make_relax_onnx_node(void) { return node_now; }
static relax_relay_call *make_relax_relay_call(void) { return relay_now; }

static const relax_struct_info *run_in_infer(void *user, relax_context *ctx, const relax_call_view *view)
{
    (void)user, (void)ctx;
    view_now = (relax_call_view *)view;
    _exit(row() ? 3 : 0);
}

static void within_relax_call_view(void)
{
    relax_context *ctx = make_relax_context();
    relax_op_options options;
    relax_op_options_init(&options, sizeof options);
    options.name = "host.op";
    options.name_len = 7;
    options.infer = run_in_infer;
    relax_op_register(ctx, &options);
    relax_builder *b = make_relax_builder();
    relax_builder_begin_function(b, "f", 1, NULL, 0, NULL);
    relax_builder_infer(b, relax_call_op_new(ctx, "host.op", 7, NULL, 0, NULL, 0));
}

static const relax_expr *run_in_mutator(void *user, relax_mutator *mutator, const relax_expr *expr)
{
    (void)user, (void)expr;
    mutator_now = mutator;
    _exit(row() ? 3 : 0);
}

static void within_relax_mutator(void)
{
    relax_mutations t = { .struct_size = sizeof t, .call = run_in_mutator };
    relax_module_mutate(make_relax_context(), make_relax_module(), NULL, 0, &t);
}

static int32_t run_in_converter(void *user, relax_builder *builder, relax_onnx_node *node)
{
    (void)user, (void)builder;
    node_now = node;
    _exit(row() ? 3 : 0);
}

static void within_relax_onnx_node(void)
{
    static const relax_onnx_converter own = { sizeof own, "host", "Op", run_in_converter, NULL }, *all = &own;
    relax_onnx_options options;
    relax_onnx_options_init(&options, sizeof options);
    options.converters = &all;
    options.num_converters = 1;
    relax_onnx_import_memory(make_relax_context(), onnx_model, sizeof onnx_model - 1, &options, NULL, NULL);
}

static int32_t run_in_relation(void *user, const relax_relay_call *call)
{
    (void)user;
    relay_now = (relax_relay_call *)call;
    _exit(row() ? 3 : 0);
}

static void within_relax_relay_call(void)
{
    static const char text[] = "fn (%x: Tensor[(2), float32]) { host.op(%x) }";
    relax_context *ctx = make_relax_context();
    relax_relay_op_options options;
    relax_relay_relation_register(ctx, "host.R", 6, run_in_relation, NULL, NULL, NULL);
    relax_relay_op_options_init(&options, sizeof options);
    options.name = "host.op";
    options.name_len = 7;
    options.num_inputs = 1;
    options.relation = "host.R";
    options.relation_len = 6;
    relax_relay_op_register(ctx, &options);
    relax_relay_module_infer(relax_relay_module_parse(ctx, "m", 1, text, sizeof text - 1));
}

static int32_t run_in_print(void *user, const relax_struct_info *info, relax_kind_sink *sink)
{
    (void)user, (void)info;
    sink_now = sink;
    _exit(row() ? 3 : 0);
}

static const relax_struct_info *read_nothing(void *user, relax_context *ctx, const relax_node *const *args, const char *const *names,
                                             size_t count)
{
    (void)user, (void)ctx, (void)args, (void)names, (void)count;
    return NULL;
}

static void within_relax_kind_sink(void)
{
    relax_context *ctx = make_relax_context();
    relax_kind_options options;
    relax_kind_options_init(&options, sizeof options);
    options.name = "Host";
    options.name_len = 4;
    options.print = run_in_print;
    options.read = read_nothing;
    relax_kind_register(ctx, &options);
    relax_node_print(ctx, relax_struct_info_as_node(relax_struct_info_extension_new(ctx, "Host", 4, NULL, 0)), NULL);
}
"""
NAMED = r"""
/* Does the newest diagnostic begin so? */
static int named(relax_context *ctx, const char *call)
{
    size_t count = relax_context_num_diagnostics(ctx);
    const char *said = count ? relax_diagnostic_message(ctx, count - 1, NULL) : "";
    if (strncmp(said, call, strlen(call)) != 0)
        printf("%s: said \"%s\"\n", call, said);
    return strncmp(said, call, strlen(call)) == 0;
}

/* A builder that takes bindings; 1: in an if, 2: in its other branch. */
static void ready_builder(int inside)
{
    relax_builder *b = make_relax_builder();
    relax_expr *flag = relax_var_new(make_relax_context(), "c", 1, relax_struct_info_tensor_of_ints(make_relax_context(), NULL, 0, RELAX_BOOL), 0);
    relax_builder_begin_function(b, "f", 1, NULL, 0, NULL);
    if (inside)
        relax_builder_begin_if(b, flag);
    if (inside == 2)
        relax_builder_begin_else(b, flag);
}
"""
# What numbers of these types are instead of 0.
NUMBERS = {"relax_dtype": "0x00012002"}

PRELUDE = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>
%(includes)s

enum { SECONDS = 120 };
typedef union room { unsigned char bytes[512]; int64_t align; void *pointer; } room;
static room zeros;              /* what is only read */

/* Options of `size` bytes as a host with another header has them; known_size of them are `from`. */
static void *resized(const void *from, size_t known_size, size_t size, size_t claimed, unsigned char tail)
{
    unsigned char *bytes = malloc(size < sizeof claimed ? sizeof claimed : size);
    memset(bytes, tail, size);
    memcpy(bytes, from, known_size < size ? known_size : size);
    memcpy(bytes, &claimed, sizeof claimed);
    return bytes;
}

/* Which of two contexts handles are made in. */
static int world;

/* Room for what parameter `i` may be written to; empty at the beginning of each call. */
static void *fresh(int i)
{
    static room rooms[16];
    return memset(&rooms[i], 0, sizeof rooms[i]);
}
"""

DRIVER = r"""
static const struct { const char *name; int (*call)(void); void (*within)(void); } calls[] = {
%(table)s
};

/* 0: it came back and said what it should */
static int judge(size_t i)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        row = calls[i].call;
        if (calls[i].within) {
            calls[i].within();
            _exit(4);                   /* the callback was not reached */
        }
        _exit(row() ? 3 : 0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
        printf("FAILED %%s: was not refused, or was where it should not be\n", calls[i].name);
    else if (WIFEXITED(status))
        printf("FAILED %%s: exit %%d\n", calls[i].name, WEXITSTATUS(status));
    else
        printf("FAILED %%s: %%s\n", calls[i].name, WTERMSIG(status) == SIGALRM ? "no end" : strsignal(WTERMSIG(status)));
    return 1;
}

int main(void)
{
    size_t count = sizeof calls / sizeof calls[0], failed = 0;
    for (size_t i = 0; i < count; i++)
        failed += (size_t)judge(i);
%(made)s    printf("%%zu passed, %%zu failed\n", count - failed, failed);
    return failed != 0;
}
"""


class Program:
    def __init__(self, api):
        self.api = api
        self.structs = {s["name"]: s for s in api["structs"]}
        self.names = {f["name"] for f in api["functions"]}
        self.callbacks = {c["name"]: c for c in api["callbacks"]}
        self.stubs, self.makers, self.table = {}, {}, []
        self.text = []
        self.find_makers()

    # --- makers: per handle type a function that tries everything that can give one
    def find_makers(self):
        for function in self.api["functions"]:
            made = self.makes(function)
            if made:
                self.makers.setdefault(made, []).append(function)
        self.makers.update((made, []) for made in INSIDE)
        for made, functions in self.makers.items():     # `relax_x_create` before `relax_y_get_x`
            functions.sort(key=lambda f: (not f["name"].startswith(made + "_"), "create" not in f["name"]))
            del functions[MAX_TRIES:]

    def makes(self, function):
        """The handle type that a function gives, by its result or through an `out`, or None."""
        if function["returns"]["kind"] == "handle":
            made = function["returns"]["base"]
        else:
            made = next((p["base"] for p in function["params"] if p["kind"] == "handle_out"), None)
        own = any(p["kind"] == "handle" and p["base"] == made and not p.get("nullable") for p in function["params"])
        return None if own or function["name"].endswith("_release") else made

    def write_makers(self):
        """A maker that is asked for again while it works gives NULL, so circles end."""
        self.text += [f"static {made} *make_{made}(void);\n" for made in self.makers] + [PARSED, WITHIN]
        for made, functions in self.makers.items():
            if made in INSIDE:
                continue
            tries = f"        made = ({made} *){RECIPES[made]};\n" if made in RECIPES else ""
            tries += "".join(f"        if (!made)\n            {self.attempt(made, f)};\n" for f in functions)
            self.text.append(f"static {made} *make_{made}(void)\n{{\n    static {made} *all[2];\n    static int tried[2];\n"
                             f"    {made} *made = NULL;\n    int here = world;\n    if (!tried[here]) {{\n        tried[here] = 1;\n"
                             f"{tries}        all[here] = made;\n    }}\n    return all[here];\n}}\n"
                             f"static {made} *other_{made}(void)\n{{\n    world = 1;\n    {made} *made = make_{made}();\n"
                             f"    world = 0;\n    return made;\n}}\n")
            if made in GIVEN_UP:
                maker = "relax_context_create(NULL)" if made == "relax_context" else f"make_{made}()"   # nobody else holds it
                self.text.append(f"static {made} *gone_{made}(void)\n{{\n    {made} *made = {maker};\n"
                                 f"    {GIVEN_UP[made]}(made);\n    return made;\n}}\n")

    def attempt(self, made, function):
        arguments = [self.argument(p, function) for p in function["params"]]
        if function["returns"]["kind"] == "handle":
            return f"made = ({made} *){function['name']}({', '.join(arguments)})"
        index = next(i for i, p in enumerate(function["params"]) if p["kind"] == "handle_out" and p["base"] == made)
        arguments[index] = f"({function['params'][index]['type']})&made"
        return f"(void){function['name']}({', '.join(arguments)})"

    # --- arguments
    def callback_stub(self, param):
        """A function of the right type that does nothing; its name."""
        if "callback" in param:
            shape, name = param["callback"], "stub_" + str(len(self.stubs))
        else:
            shape, name = self.callbacks[param["base"]], "stub_" + param["base"]
        key = json.dumps(shape["params"]) + shape["returns"]["type"]
        if key not in self.stubs:
            self.stubs[key] = name
            params = ", ".join(self.declare(p, f"p{i}") for i, p in enumerate(shape["params"])) or "void"
            uses = "".join(f" (void)p{i};" for i in range(len(shape["params"])))
            result = "" if shape["returns"]["type"] == "void" else " return 0;"
            self.text.append(f"static {shape['returns']['type']} {name}({params}) {{{uses}{result} }}\n")
        return self.stubs[key]

    def declare(self, param, name):
        if "callback" in param:
            inner = ", ".join(self.declare(p, "") for p in param["callback"]["params"]) or "void"
            return f"{param['callback']['returns']['type']} (*{name})({inner})"
        return f"{param['type']} {name}"

    def argument(self, param, function):
        """A valid value where one can be had."""
        kind = param["kind"]
        if kind == "scalar":
            return self.scalar(param, function)
        if kind == "handle":
            return f"make_{param['base']}()" if param["base"] in self.makers else "NULL"
        if kind == "string":
            return json.dumps(STRINGS.get(param["name"], "x"))
        if kind == "callback":
            return self.callback_stub(param)
        if kind == "struct" and param["base"] == "relax_allocator":
            return "NULL"                               # malloc
        if kind == "struct" and self.structs[param["base"]]["fields"][0]["name"] == "struct_size":
            return f"sized_{param['base']}()"
        if kind in POINTERS and (kind.endswith("out") or not param["const"]):
            return f"({param['type']})fresh({function['params'].index(param)})"
        if kind in POINTERS:
            return f"({param['type']})(void *)zeros.bytes"
        return "0"

    def scalar(self, param, function):
        """Lengths fit the strings before them; everything else, counts of arrays included, is 0."""
        index = function["params"].index(param)
        before = function["params"][index - 1] if index else None
        if before and before["kind"] == "string" and param["base"] == "size_t":
            return str(len(STRINGS.get(before["name"], "x")))
        if param["base"] == "size_t" and param["name"].endswith("struct_size"):
            target = next((p for p in function["params"] if p["kind"] == "struct"), None)
            return f"sizeof({target['base']})" if target else "0"
        if f"{function['name']}.{param['name']}" in ENUMS:
            return "1"
        return NUMBERS.get(param["base"], "0")

    def write_structs(self):
        for struct in self.api["structs"]:
            if struct["fields"] and struct["fields"][0].get("name") == "struct_size":
                name = struct["name"]
                defaults = f"(void){name}_init(&options, sizeof options);" if name + "_init" in self.names else ""
                self.text.append(f"static {name} *sized_{name}(void)\n{{\n    static {name} options;\n"
                                 f"    memset(&options, 0, sizeof options);\n    {defaults}\n"
                                 f"    options.struct_size = sizeof options;\n    return &options;\n}}\n")

    # --- calls
    def write_call(self, function, label, arguments, must_refuse):
        """One row of the table: the call, and whether it must say no."""
        returns = function["returns"]
        call = f"{function['name']}({', '.join(arguments)})"
        says_no = self.says_no(returns, call) if must_refuse else None
        self.write_row(function, label, arguments, f"return !({says_no});" if says_no else f"(void){call};\n    return 0;")

    @staticmethod
    def says_no(returns, call):
        if returns["kind"] == "handle":
            return f"{call} == NULL"
        return f"{call} != 0" if returns["type"] == "relax_status" else None

    def write_row(self, function, label, arguments, body):
        name = f"call_{len(self.table)}"
        # handles first: making one may write to the rooms that `fresh` clears for this call
        made = sorted({m for a in arguments for m in re.findall(r"(?:make|other)_\w+\(\)", a)})
        self.text.append(f"static int {name}(void)\n{{\n" + "".join(f"    (void){m};\n" for m in made)
                         + f"    {body}\n}}\n")
        needed = [h for h in INSIDE if f"make_{h}()" in arguments] + [h for t, h in GIVEN_INSIDE.items() if f"make_{t}()" in arguments]
        within = f"within_{needed[0]}" if needed else "NULL"
        self.table.append(f"    {{ \"{function['name']}: {label}\", {name}, {within} }},")

    def null(self, param):
        return "NULL" if param["kind"] in POINTERS else "0"

    def required(self, param):
        return param["kind"] == "handle" and not param.get("nullable")

    def write_calls(self, function):
        params = function["params"]
        valid = [self.argument(p, function) for p in params]
        self.write_call(function, "all NULL and 0", [self.null(p) for p in params], any(map(self.required, params)))
        for i, param in enumerate(params):
            if param["kind"] in POINTERS:
                arguments = valid[:i] + [self.null(param)] + valid[i + 1:]
                self.write_call(function, f"{param['name']} is NULL", arguments, self.required(param))
            self.write_wrong(function, valid, i)
            self.write_list(function, valid, i)
            if DEBUG:
                self.write_debug(function, valid, i)

    def write_list(self, function, valid, i):
        """Lists and their lengths: NULL that is said to have items, items that are NULL or of another kind."""
        params = function["params"]
        param, after = params[i], params[i + 1] if i + 1 < len(params) else {"name": "", "base": ""}
        if param["kind"] not in ("handle_array", "array", "opaque", "string") or not COUNTS.match(after["name"]):
            return
        required = not param.get("nullable") and f"{function['name']}.{param['name']}" not in MAY_LACK

        def put(label, value, must_refuse, count=1):
            self.write_call(function, f"{param['name']} is {label}", valid[:i] + [value, str(count)] + valid[i + 2:], must_refuse)

        put("NULL with items", "NULL", required, 2)
        if param["kind"] != "handle_array":
            return
        put("a list of NULL", f"({param['type']})(void *)(void *[1]){{ NULL }}", f"{function['name']}.{param['name']}" not in TAKES_NULL_INSIDE)
        for side in (NODES, COUNTED):
            for other in side if param["base"] in side else ():
                if other in self.makers and other != param["base"]:
                    items = f"({param['type']})(void *)(void *[1]){{ make_{other}() }}"
                    put(f"a list of a {other}", items, (param["base"], other) not in SAME)

    def write_debug(self, function, valid, i):
        param, name = function["params"][i], function["name"]
        base = param.get("base")
        if base in NODES and base in self.makers and self.context_of(function) and name not in ANY_CONTEXT:
            if param["kind"] == "handle":
                self.write_foreign(function, valid, i, f"other_{base}()", 0)
            elif param["kind"] == "handle_array" and i + 1 < len(valid):
                self.write_foreign(function, valid, i, f"({param['type']})(void *)(void *[1]){{ other_{base}() }}", 1)
        if param["kind"] == "handle" and base in GIVEN_UP and base in self.makers and not ASAN and not TAKES_ANY_HANDLE.search(name):
            self.write_call(function, f"{param['name']} is given up", valid[:i] + [f"gone_{base}()"] + valid[i + 1:], True)

    @staticmethod
    def context_of(function):
        """How the context is reached that the call reports to; None if it has none."""
        first = function["params"][0]
        known = first["kind"] == "handle" and first["base"] in ("relax_context", "relax_module_builder", "relax_builder", "relax_tir_builder",
                                                                "relax_pipeline", "relax_prover", "relax_block_edit", "relax_relay_module")
        return "make_relax_context()" if known else None

    @staticmethod
    def length_of(function, i):
        """The parameter that says how long the list of parameter i is."""
        return next(k for k, p in enumerate(function["params"]) if k > i and p["base"] == "size_t" and not p["pointer"])

    def write_foreign(self, function, valid, i, value, count):
        """A node of another context: refused, in so many words."""
        arguments = list(valid)
        arguments[i] = value
        if count:
            arguments[self.length_of(function, i)] = str(count)
        call = f"{function['name']}({', '.join(arguments)})"
        no = self.says_no(function["returns"], call) or f"((void){call}, 1)"
        context = self.context_of(function)
        ready = ""
        if function["params"][0]["base"] == "relax_builder":
            inside = {"relax_builder_begin_else": 1, "relax_builder_end_if": 2}.get(function["name"], 0)
            ready = f"ready_builder({inside});\n    "
        self.write_row(function, f"{function['params'][i]['name']} of another context", arguments,
                       f"{ready}relax_context_clear_diagnostics({context});\n    return !({no}) || !named({context}, \"{function['name']}: \");")

    def write_wrong(self, function, valid, i):
        param = function["params"][i]

        def put(label, value, must_refuse, length=None):
            arguments = list(valid)
            arguments[i] = value
            if length is not None and i + 1 < len(valid):
                arguments[i + 1] = str(length)
            self.write_call(function, f"{param['name']} is {label}", arguments, must_refuse)

        if param["kind"] == "handle":
            for side in (NODES, COUNTED):
                for other in side if param["base"] in side else ():
                    if other != param["base"] and other in self.makers:
                        refuse = (param["base"], other) not in SAME and not TAKES_ANY_HANDLE.search(function["name"])
                        put(f"a {other}", f"({param['type']})(void *)make_{other}()", refuse)
        elif param["kind"] == "string" and self.has_length(function, i):
            place = f"{function['name']}.{param['name']}"
            for label, literal, length in WRONG_STRINGS:
                fine = not length or place in TAKES_ANY_TEXT or (place in TAKES_ANY_BUT_NUL and "NUL" not in label)
                put(label, literal, not fine, length)
        elif param["kind"] == "scalar" and not COUNTS.match(param["name"]):
            few = f"{function['name']}.{param['name']}" in ENUMS
            for number in WRONG_NUMBERS.get(param["base"], ()):
                put(number, number, few and number not in ("1", "2"))
        elif param["kind"] == "struct" and valid[i].startswith("sized_") and param["const"]:
            self.write_sizes(function, valid, i)

    @staticmethod
    def has_length(function, i):
        after = function["params"][i + 1] if i + 1 < len(function["params"]) else None
        return bool(after) and after["base"] == "size_t" and after["name"].endswith("len")

    def write_sizes(self, function, valid, i):
        """Options of other sizes. A struct without an _init has no defaults, so a shorter one need not be of use."""
        name, returns = function["params"][i]["base"], function["returns"]
        has_defaults = name + "_init" in self.names

        def sized(size, claimed, tail):
            arguments = list(valid)
            arguments[i] = f"({name} *)resized({valid[i]}, sizeof({name}), {size}, {claimed}, {tail})"
            return arguments

        known = f"sizeof({name})"
        for label, arguments in (
                ("without size", sized(known, "(size_t)0", 0)), ("of 4 bytes", sized(known, "(size_t)4", 0)),
                ("of half a field", sized(known, f"{known} - 4", 0)), ("of absurd size", sized(known, "SIZE_MAX", 0)),
                ("longer and not 0", sized(f"{known} + 16", f"{known} + 16", 1))):
            self.write_call(function, f"{name} {label}", arguments, True)
        for size in range(1, 8):                        # of no header: fields have 4 or 8 bytes, structs multiples of 8
            for whole in ("4096 + 8", f"{known} + 8", known, f"{known} / 2 / 8 * 8", "8"):
                claimed = f"({whole} - {8 - size})"
                self.write_call(function, f"{name} of {claimed} bytes", sized(claimed, claimed, 0), True)
        longer = [("longer", sized(f"{known} + {n}", f"{known} + {n}", 0)) for n in (8, 64)]
        shorter = [(f"{n} bytes shorter", sized(f"{known} - {n}", f"{known} - {n}", 0x5a)) for n in range(8, 256, 8)]
        for label, arguments in longer + (shorter if has_defaults else []):
            good, other = (self.says_no(returns, f"{function['name']}({', '.join(a)})") for a in (valid, arguments))
            if good:
                shortened = label.split()[0]
                guard = f"if (sizeof({name}) < {shortened} + sizeof(size_t))\n        return 0;\n    " if shortened.isdigit() else ""
                self.write_row(function, f"{name} {label}", arguments, f"{guard}int refused = {good};\n    return refused != ({other});")

    def source(self, only):
        chosen = [f for f in self.api["functions"] if not only or f["name"] == only]
        self.write_structs()
        self.write_makers()
        self.text.append(NAMED)
        for function in chosen:
            self.write_calls(function)
        includes = "\n".join(f"#include <relax/{h}>" for h in self.api["headers"])
        return (PRELUDE % {"includes": includes} + "\n".join(self.text)
                + DRIVER % {"table": "\n".join(self.table), "made": "".join(map(self.check_maker, sorted(self.makers)))})

    @staticmethod
    def check_maker(made):
        """A handle that cannot be made leaves its functions untested: that is a failure too, of its rows if it is of INSIDE."""
        if made in INSIDE or made in GIVEN_INSIDE:
            return ""
        text = f"FAILED no {made} could be made"
        return f'    if (!make_{made}()) {{\n        puts("{text}");\n        failed++;\n    }}\n'


def main():
    api = json.loads((TOP / "test/abi/api.json").read_text(encoding="utf-8"))
    only = sys.argv[1] if len(sys.argv) > 1 else None
    program = Program(api)
    folder = BUILD / "test" / "abi"
    folder.mkdir(parents=True, exist_ok=True)
    source, target = folder / "misuse.c", folder / "misuse"
    source.write_text(program.source(only), encoding="utf-8")
    if not program.table:
        print("no function to call\n0 passed, 1 failed")
        return 1
    unmade = [h["name"] for h in api["handles"] if h["name"] not in program.makers]
    if unmade:
        print("FAILED always NULL, for want of a maker: " + ", ".join(unmade) + "\n0 passed, 1 failed")
        return 1
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if ASAN else []
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-g", "-w", *flags, f"-I{TOP / 'include'}",
               str(source), f"-L{OUT / 'lib'}", "-lrelax", f"-Wl,-rpath,{OUT / 'lib'}", "-o", str(target)]
    subprocess.run(command, check=True)
    sys.stdout.flush()
    # children leave by _exit with whatever they made: leaks are looked for elsewhere
    environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:handle_segv=1")
    with tempfile.TemporaryDirectory() as scratch:      # some calls write files
        return subprocess.run([str(target.resolve())], check=False, env=environment, cwd=scratch).returncode


if __name__ == "__main__":
    sys.exit(main())
