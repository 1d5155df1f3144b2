#!/usr/bin/env python3
"""Each public header compiles alone, without a warning, as C99, C11, C++11 and C++17, by gcc and by clang where
there is one, and for 32 bits (syntax only, without a C library). So do the examples in the headers."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
COMMON = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{TOP / 'include'}"]
C_ONLY = ["-Wstrict-prototypes", "-Wmissing-prototypes"]


def first(*names):
    return next((shutil.which(n) for n in names if shutil.which(n)), None)


def compilers():
    """[(label, command)]; a missing optional compiler is left out."""
    pairs = [("gcc", first("gcc", "cc"), first("g++", "c++")),
             ("clang", first("clang", "clang-14"), first("clang++", "clang++-14"))]
    for label, cc, cxx in pairs:
        if cc:
            yield from ((f"{label} {std}", [cc, "-x", "c", f"-std={std}", *C_ONLY]) for std in ("c99", "c11"))
        if cxx:
            yield from ((f"{label} {std}", [cxx, "-x", "c++", f"-std={std}"]) for std in ("c++11", "c++17"))
    gcc = first("gcc", "cc")
    probe = gcc and subprocess.run([gcc, "-m32", "-ffreestanding", "-fsyntax-only", "-x", "c", os.devnull],
                                   stderr=subprocess.DEVNULL, check=False)
    if probe and probe.returncode == 0:
        yield "gcc c99 -m32", [gcc, "-m32", "-ffreestanding", "-x", "c", "-std=c99", *C_ONLY]


def compile_alone(job):
    header, label, command = job
    with tempfile.NamedTemporaryFile("w", suffix=".inc") as unit:
        unit.write(f"#include <relax/{header.name}>\n#include <relax/{header.name}>\n")
        unit.flush()
        result = subprocess.run([*command, *COMMON, unit.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, check=False)
    return None if result.returncode == 0 else f"FAILED {header.name} as {label}\n{result.stdout}"


# What the example at the head of a header takes for granted.
EXAMPLES = {
    "builder.h": "relax_context *ctx, const relax_expr *x, const relax_expr *const *params",
    "ops.h": "relax_context *ctx, const relax_expr *x",
    "pattern.h": "relax_context *ctx, const relax_module *m, relax_rewrite_fn fuse",
    "prove.h": "relax_context *ctx, const relax_struct_info *info, const relax_prim_expr *n, const relax_prim_expr *m2, "
               "const relax_prim_expr *a, const relax_prim_expr *b",
    "rewrite.h": "relax_context *ctx, const relax_module *module, size_t n",
}


def example_of(header):
    """The lines of the head comment that are indented: functions as they are, the others in one of their own."""
    head = re.match(r"/\*(.*?)\*/", header.read_text(encoding="utf-8"), re.S).group(1)
    lines = [line[7:] for line in head.split("\n") if line.startswith(" *     ")]
    functions, statements, inside = [], [], False
    for line in lines:
        inside = inside or line.startswith("static ")
        # words behind a statement explain it
        (functions if inside else statements).append(line if inside else re.sub(r";  +\w.*$", ";", line))
        inside = inside and line.strip() != "}"
    names = f"#include <string.h>\n#include <relax/relax.h>\n#include <relax/ops.h>\n#include <relax/{header.name}>\n"
    return names + "\n".join(functions) + f"\nvoid example({EXAMPLES[header.name]});\nvoid example({EXAMPLES[header.name]})\n{{\n" + \
        "\n".join(statements) + "\n}\n"


def compile_example(header):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as unit:
        unit.write(example_of(header))
        unit.flush()
        result = subprocess.run([first("gcc", "cc", "clang"), "-std=c11", *COMMON, "-Wno-unused", "-Wno-unused-parameter",
                                 "-Wno-missing-field-initializers", unit.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, check=False)
    return None if result.returncode == 0 else f"FAILED the example of {header.name}\n{result.stdout}"


def main():
    headers = sorted((TOP / "include" / "relax").glob("*.h"))
    jobs = [(h, label, command) for label, command in compilers() for h in headers]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [f for f in pool.map(compile_alone, jobs) if f]
    examples = [h for h in headers if h.name in EXAMPLES]
    failures += [f for f in map(compile_example, examples) if f]
    jobs += examples
    print("\n".join(failures), end="")
    print(f"{len(jobs) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
