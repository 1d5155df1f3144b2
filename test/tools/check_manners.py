#!/usr/bin/env python3
"""Checks the manners of the library: it never prints, exits, aborts, reads the environment or a locale,
takes memory past base/memory.c, keeps mutable global state, or spells a compiler extension outside base/compiler.h.

Looks at the words of the sources and at the symbols of the built libraries. Prints `file:line: word` or the
symbol for each violation, then `N passed, N failed`.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
OUT = Path(os.environ.get("RELAX_OUT", TOP))
VARIANT = os.environ.get("RELAX_VARIANT", "release")
ABI = TOP / "test" / "abi"

# Words that are called nowhere in the library but in the files named.
WORDS = [
    ("printf vprintf fprintf vfprintf puts fputs putchar fputc putc perror psignal", ()),
    ("abort exit _Exit quick_exit atexit raise longjmp siglongjmp setjmp sigsetjmp", ()),
    ("assert", ("src/base/compiler.h",)),
    ("strtod strtof strtold atof scanf sscanf fscanf setlocale localeconv", ()),
    ("getenv secure_getenv setenv putenv unsetenv", ()),
    ("malloc calloc realloc free strdup strndup asprintf vasprintf aligned_alloc posix_memalign memalign",
     ("src/base/memory.c",)),
    ("fopen fdopen freopen tmpfile", ("src/base/file.c",)),
    ("system popen fork execv execvp tmpnam mktemp", ()),
    ("gets strcpy strcat sprintf vsprintf strtok rand srand alloca", ()),
    ("signal chdir umask", ()),
    # compilers are started in one place, and machine code is loaded in another
    ("posix_spawn posix_spawnp vfork execve _exit sigaction kill waitpid wait4", ("src/codegen/native_process.c",)),
    ("dlopen memfd_create", ("src/runtime/native.c",)),
]
EXTENSION = re.compile(r"\b(__builtin_\w+|__attribute__|__typeof__|typeof|__extension__|__asm__|_Pragma)\b")
STRIP_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
NEEDED_MAY = re.compile(r"^(libc|libm|libpthread|libdl)\.so\.\d+$|^ld-linux.*\.so\.\d+$")


def code_only(text):
    """The text with comments and literals blanked, lines kept."""
    return STRIP_TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def words_in_sources():
    """Calls of forbidden words; `x->free(...)` and `x.free(...)` are members, not the function."""
    for path in sorted((TOP / "src").rglob("*.[ch]")):
        name = path.relative_to(TOP).as_posix()
        if name.startswith("src/cli/"):
            continue
        banned = "|".join(w for words, where in WORDS if name not in where for w in words.split())
        pattern = re.compile(r"(?<![\w.])(?<!->)(" + banned + r")\s*\(")
        for number, line in enumerate(code_only(path.read_text(encoding="utf-8")).split("\n"), 1):
            for match in pattern.finditer(line):
                if not line.lstrip().startswith("#define RLX_ASSERT"):
                    yield f"{name}:{number}: {match.group(1)}"


def extensions_in_sources():
    """Spellings of one compiler; the tool is held to it as well."""
    for path in sorted((TOP / "src").rglob("*.[ch]")):
        name = path.relative_to(TOP).as_posix()
        if name == "src/base/compiler.h":
            continue
        for number, line in enumerate(code_only(path.read_text(encoding="utf-8")).split("\n"), 1):
            for match in EXTENSION.finditer(line):
                yield f"{name}:{number}: {match.group(1)}: base/compiler.h has or gets a macro for it"


def tool(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def listed(name):
    """The words of a tracked list; `#` starts a comment."""
    path = ABI / name
    lines = path.read_text().split("\n") if path.exists() else []
    return {word for line in lines for word in line.partition("#")[0].split()}


def imports():
    """Undefined symbols of the shared library that are not on the list."""
    allowed = listed("allowed_imports")
    for line in tool("nm", "-D", "-u", str(OUT / "lib/librelax.so")).split("\n"):
        if line.strip():
            symbol = line.split()[-1].partition("@")[0]
            if symbol not in allowed:
                yield f"librelax.so imports {symbol}, which test/abi/allowed_imports does not list"


def needed():
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", tool("readelf", "-dW", str(OUT / "lib/librelax.so"))):
        if not NEEDED_MAY.match(name):
            yield f"librelax.so needs {name}"


def globals_of_archive():
    """Objects in .data or .bss, and constructors. Tables of pointers are in .data.rel.ro: constant once loaded."""
    allowed, unit = listed("allowed_globals"), "?"
    for line in tool("objdump", "-t", str(OUT / "lib/librelax.a")).split("\n"):
        if ":     file format" in line:
            unit = line.split(":")[0]
        match = re.match(r"^[0-9a-f]+ .{7} (\S+)\t([0-9a-f]+) (?:\.hidden )?(\S+)$", line)
        if not match or int(match.group(2), 16) == 0:
            continue
        section, symbol = match.group(1), match.group(3)
        if re.match(r"\.(data|bss|tdata|tbss)(\.|$)|\*COM\*", section) and not section.startswith(".data.rel.ro"):
            if symbol.split(".")[0] not in allowed:
                yield f"{unit}: {symbol} in {section}: mutable global state"
    for line in tool("objdump", "-h", str(OUT / "lib/librelax.a")).split("\n"):
        if ":     file format" in line:
            unit = line.split(":")[0]
        match = re.match(r"^ *\d+ (\.(?:preinit_array|init_array|ctors|fini_array|dtors)\S*)", line)
        if match:
            yield f"{unit}: {match.group(1)}: code that runs when the library is loaded or unloaded"


def runs_alone():
    """The run-only archive needs no symbol of the compile side."""
    link = subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-o", os.devnull, "-Wl,-z,defs",
                           "-Wl,--whole-archive", str(OUT / "lib/librelax-runtime.a"), "-Wl,--no-whole-archive",
                           "-lm", "-lpthread", "-ldl"], stderr=subprocess.PIPE, text=True, check=False)
    for symbol in sorted(set(re.findall(r"undefined reference to `(.*?)'", link.stderr))):
        yield f"librelax-runtime.a needs {symbol}"
    if link.returncode and "undefined reference" not in link.stderr:
        yield link.stderr.strip()


CHECKS = [("forbidden calls", words_in_sources), ("compiler extensions", extensions_in_sources)]
# Other variants add symbols of the sanitizers and of assert.
if VARIANT == "release":
    CHECKS += [("imports", imports), ("needed libraries", needed), ("global state", globals_of_archive),
               ("run-only closure", runs_alone)]


def main():
    failed = 0
    for name, check in CHECKS:
        try:
            found = list(check())
        except (OSError, subprocess.CalledProcessError) as error:
            found = [f"cannot look: {error}"]
        failed += bool(found)
        print(f"{'FAILED' if found else 'ok'} {name}")
        print("".join(f"    {line}\n" for line in found), end="")
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
