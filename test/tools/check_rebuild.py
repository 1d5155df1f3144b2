#!/usr/bin/env python3
"""What make does a second time: nothing, in whatever order the objects were made; and all that a changed flag concerns. The Makefile runs
in a small tree made here, with a source of each kind: plain, built for size, the strips, the tool."""
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
           "src/runtime/kernel_strips.c": "int strips(void); int strips(void) { return 3; }\n",
           "src/cli/main.c": "int main(void) { return 0; }\n"}
OBJECTS = {name: "build/release/" + name[:-1] + "o" for name in SOURCES}
passed = failed = 0


def check(what, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what}: {detail}")


def make(*arguments):
    """What make did, a line each."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CFLAGS", "CPPFLAGS", "LDFLAGS", "T")}
    r = subprocess.run([os.environ.get("MAKE", "make"), *arguments], cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return r.returncode, r.stdout + r.stderr


def compiled(text):
    return sorted(name for name in SOURCES if f"CC    {name}" in text)


tree = Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
shutil.copy(TOP / "Makefile", tree)
for name, text in [*SOURCES.items(), ("pkgconfig/relax.pc.in", "Name: relax\n"), ("include/relax/relax.h", "")]:
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

for flags in ("CFLAGS", "STRIPS_OPT", "COLD_OPT", "OPT"):
    check(f"{flags} changed", compiled(make(*OBJECTS.values(), f"{flags}=-O0")[1]) == sorted(SOURCES))
make("all")
(tree / ROOM / "base/plain.c").write_text(SOURCES[ROOM + "base/plain.c"] + "\n")
check("a source changed", compiled(make("all")[1]) == [ROOM + "base/plain.c"])
(tree / ROOM / "base/plain.c").unlink()
rc, text = make("all")
check("a source gone", rc == 0 and not compiled(text) and "AR" in text and "LINK" in text, text)
shutil.rmtree(tree)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
