#!/usr/bin/env python3
"""Each public header compiles alone, without a warning, as C99, C11, C++11 and C++17, by gcc and by clang where
there is one, and for 32 bits (syntax only, without a C library)."""
import concurrent.futures
import os
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


def main():
    headers = sorted((TOP / "include" / "relax").glob("*.h"))
    jobs = [(h, label, command) for label, command in compilers() for h in headers]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [f for f in pool.map(compile_alone, jobs) if f]
    print("\n".join(failures), end="")
    print(f"{len(jobs) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
