#!/usr/bin/env python3
"""Calls every exported function with NULL for each of its pointers in turn, and with nothing but NULL and 0.

Writes a C program from test/abi/api.json, builds it against this build's library and runs each call in a child
of its own. A call must come back: no signal, no exit, no hang. And it must say no: where a parameter is a handle
and not RELAX_NULLABLE, a function that returns a handle returns NULL, one that returns relax_status not RELAX_OK.

The pointers that are not NULL are made as well as the manifest allows: a handle by the functions that return one,
the first that does, with arguments made in the same way; strings, arrays and places for results are small and valid.
    check_null.py [FUNCTION]
"""
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

TOP = Path(os.environ.get("TOP", Path(__file__).resolve().parent.parent.parent))
OUT = Path(os.environ.get("RELAX_OUT", TOP))
BUILD = Path(os.environ.get("RELAX_BUILD", TOP / "build/release"))
ASAN = os.environ.get("RELAX_VARIANT") == "asan"
POINTERS = {"handle", "handle_array", "handle_out", "struct", "opaque", "string", "string_array", "string_out",
            "buffer", "array", "out", "pointer", "callback"}
# What string parameters of these names hold instead of "x", so that more handles can be made.
STRINGS = {
    "path": "/nonexistent", "name": "main", "entry": "main",
    "text": "# from tvm.script import relax as R\n\n@R.function\ndef main(x: R.Tensor((2,), dtype=\"float32\")) -> "
            "R.Tensor((2,), dtype=\"float32\"):\n    gv: R.Tensor((2,), dtype=\"float32\") = R.exp(x)\n    return gv\n",
}
# Functions tried to make one handle.
MAX_TRIES = 12
# What numbers of these types are instead of 0.
NUMBERS = {"relax_dtype": "0x00012002"}

PRELUDE = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>
%(includes)s

enum { SECONDS = 10 };
typedef union room { unsigned char bytes[512]; int64_t align; void *pointer; } room;
static room zeros;              /* what is only read */

/* Room for what parameter `i` may be written to; empty at the beginning of each call. */
static void *fresh(int i)
{
    static room rooms[16];
    return memset(&rooms[i], 0, sizeof rooms[i]);
}
"""

DRIVER = r"""
static const struct { const char *name; int (*call)(void); } calls[] = {
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
        _exit(calls[i].call() ? 3 : 0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
        printf("FAILED %%s: accepted NULL for a handle that is not RELAX_NULLABLE\n", calls[i].name);
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
    printf("%%zu passed, %%zu failed\n", count - failed, failed);
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
        self.text += [f"static {made} *make_{made}(void);\n" for made in self.makers]
        for made, functions in self.makers.items():
            tries = "".join(f"        if (!made)\n            {self.attempt(made, f)};\n" for f in functions)
            self.text.append(f"static {made} *make_{made}(void)\n{{\n    static {made} *made;\n    static int tried;\n"
                             f"    if (!tried) {{\n        tried = 1;\n{tries}    }}\n    return made;\n}}\n")

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
        name = f"call_{len(self.table)}"
        call = f"{function['name']}({', '.join(arguments)})"
        returns = function["returns"]
        if must_refuse and (returns["kind"] == "handle" or returns["type"] == "relax_status"):
            wrong = "!= NULL" if returns["kind"] == "handle" else "== 0"
            body = f"return {call} {wrong};"
        else:
            body = f"(void){call};\n    return 0;"
        # handles first: making one may write to the rooms that `fresh` clears for this call
        made = sorted({a for a in arguments if a.startswith("make_")})
        self.text.append(f"static int {name}(void)\n{{\n" + "".join(f"    (void){m};\n" for m in made)
                         + f"    {body}\n}}\n")
        self.table.append(f"    {{ \"{function['name']}: {label}\", {name} }},")

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

    def source(self, only):
        chosen = [f for f in self.api["functions"] if not only or f["name"] == only]
        self.write_structs()
        self.write_makers()
        for function in chosen:
            self.write_calls(function)
        includes = "\n".join(f"#include <relax/{h}>" for h in self.api["headers"])
        return (PRELUDE % {"includes": includes} + "\n".join(self.text)
                + DRIVER % {"table": "\n".join(self.table)})


def main():
    api = json.loads((TOP / "test/abi/api.json").read_text(encoding="utf-8"))
    only = sys.argv[1] if len(sys.argv) > 1 else None
    program = Program(api)
    folder = BUILD / "test" / "abi"
    folder.mkdir(parents=True, exist_ok=True)
    source, target = folder / "null_calls.c", folder / "null_calls"
    source.write_text(program.source(only), encoding="utf-8")
    if not program.table:
        print("no function to call\n0 passed, 1 failed")
        return 1
    unmade = [h["name"] for h in api["handles"] if h["name"] not in program.makers]
    if unmade:
        print("always NULL, for want of a maker: " + ", ".join(unmade))
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if ASAN else []
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-g", "-w", *flags, f"-I{TOP / 'include'}",
               str(source), f"-L{OUT / 'lib'}", "-lrelax", f"-Wl,-rpath,{OUT / 'lib'}", "-o", str(target)]
    subprocess.run(command, check=True)
    sys.stdout.flush()
    # children leave by _exit with whatever they made: leaks are looked for elsewhere
    environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:handle_segv=1")
    return subprocess.run([str(target)], check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
