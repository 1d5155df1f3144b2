#!/usr/bin/env python3
"""What make does a second time: nothing, in whatever order the objects were made; and all that a changed flag concerns. The Makefile runs
in a small tree made here, with a source of each kind: plain, built for size by its room or by itself, for speed, the tool."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
ROOM = "src/"  # of the tree that is made here
SOURCES = {ROOM + "base/plain.c": "int plain(void); int plain(void) { return 1; }\n",
           ROOM + "api/cold.c": "int cold(void); int cold(void) { return 2; }\n",
           ROOM + "api/hot.c": "/* built for speed */\nint hot(void); int hot(void) { return 4; }\n",
           ROOM + "base/rare.c": "/* rare.c: . */\n/* built for size */\nint rare(void); int rare(void) { return 5; }\n",
           "src/runtime/kernel_strips.c": "/* built for speed */\nint strips(void); int strips(void) { return 3; }\n",
           "src/cli/main.c": "int main(void) { return 0; }\n"}
LEVELS = dict.fromkeys(SOURCES, "-O2") | {ROOM + "api/cold.c": "-Os", ROOM + "base/rare.c": "-Os", ROOM + "api/hot.c": "-O3",
                                          "src/runtime/kernel_strips.c": "-O3"}
OBJECTS = {name: "build/release/" + name[:-1] + "o" for name in SOURCES}
passed = failed = 0


def check(what, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what}: {detail}")


def make(*arguments):
    """What make did, a line each."""
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CFLAGS", "CPPFLAGS", "LDFLAGS", "T", "SAN", "DEBUG", "TSAN", "O")
    environment = {k: v for k, v in os.environ.items() if k not in outer}
    r = subprocess.run([os.environ.get("MAKE", "make"), *arguments], cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return r.returncode, r.stdout + r.stderr


def compiled(text):
    return sorted(name for name in SOURCES if f"CC    {name}" in text)


tree = Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
shutil.copy(TOP / "Makefile", tree)
for name, text in [*SOURCES.items(), ("src/api/SIZE", ""), ("pkgconfig/relax.pc.in", "Name: relax\n"), ("pkgconfig/relax-runtime.pc.in", "Name: relax-runtime\n"), ("include/relax/relax.h", "")]:
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)

for order in (list(SOURCES), list(reversed(SOURCES))):
    shutil.rmtree(tree / "build", ignore_errors=True)
    for name in order:
        rc, text = make(OBJECTS[name])
        check(f"{name} alone", rc == 0 and compiled(text) == [name], text)
    rc, text = make("-j2", "all")
    check("all after each alone", rc == 0 and not compiled(text) and "LINK" in text, text)
    rc, text = make("all")
    check("all again", rc == 0 and not text, text)
    check("make -q finds nothing", make("-q", "lib", "bin/relax", *OBJECTS.values())[0] == 0)
    check("make -n finds nothing", "CC" not in make("-n", "all")[1])
    check("objects again", not compiled(make(*(OBJECTS[name] for name in order))[1]))

for name, level in LEVELS.items():
    (tree / OBJECTS[name]).unlink()
    text = make("V=1", OBJECTS[name])[1]
    check(f"{name} is built with {level}", [o for o in ("-O2", "-Os", "-O3") if f" {o} " in text] == [level], text)

for flags in ("CFLAGS", "FAST_OPT", "SIZE_OPT", "OPT"):
    check(f"{flags} changed", compiled(make(*OBJECTS.values(), f"{flags}=-O0")[1]) == sorted(SOURCES))
make("all")
(tree / ROOM / "base/plain.c").write_text(SOURCES[ROOM + "base/plain.c"] + "\n")
check("a source changed", compiled(make("all")[1]) == [ROOM + "base/plain.c"])
(tree / ROOM / "base/plain.c").write_text("/* built for size */\n" + SOURCES[ROOM + "base/plain.c"])
text = make("V=1", "all")[1]
check("a source that is built for size from now on", text.count(" -c -o ") == 1 and " -Os " in text, text)
(tree / ROOM / "base/plain.c").unlink()
rc, text = make("all")
check("a source gone", rc == 0 and not compiled(text) and "AR" in text and "LINK" in text, text)
(tree / ROOM / "base/SIZE").write_text("")
rc, text = make("V=1", OBJECTS[ROOM + "api/cold.c"], OBJECTS["src/cli/main.c"])
check("a room that is built for size from now on", text.count(" -c -o ") == 2, text)
shutil.rmtree(tree)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
