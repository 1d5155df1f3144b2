#!/usr/bin/env python3
"""Checks the direction of includes and of calls between the rooms of src/ (doc/ARCHITECTURE.md, rooms).

An object file names what it needs of others: a function that is declared twice, or in a public header, is no include
and is found so. Objects are those of the build (RELAX_BUILD, else build/release).

Prints `file:line: what is wrong` for each violation and exits 1 if there is one.
    check_includes.py [TOP]
"""
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent.parent).resolve()

# room: (side, layer). Includes point to lower layers of the same side, and from both sides to the
# shared rooms, which know neither side.
ROOMS = {
    "base": ("shared", 0), "format": ("shared", 1), "desc": ("shared", 2),
    "ir": ("compile", 1), "arith": ("compile", 2), "sinfo": ("compile", 3), "tir": ("compile", 3),
    "schedule": ("compile", 4), "op": ("compile", 4), "script": ("compile", 4), "analysis": ("compile", 5), "relay": ("compile", 7),
    "transform": ("compile", 6), "codegen": ("compile", 7), "onnx": ("compile", 7),
    "micro": ("run", 1), "runtime": ("run", 2), "vm": ("run", 3),
    "api": ("api", 8), "cli": ("cli", 9),
}
# A room's front doors, which other rooms may include, are the headers that the paragraph "Front doors: ..." of its
# README names; where there is none, ROOM/ROOM.h alone. Beside them others may include: all of format, which is tables
# and inline helpers only, and the spelling of compiler extensions.
OPEN_ROOMS = {"format"}
OPEN_FILES = {"base/compiler.h"}
# What the tool reads too: tables, and the spelling of compiler extensions that they use. Nothing of it has to be linked.
TABLES = OPEN_FILES | {"base/dtype.def", "base/half.def", "base/float_bits.def"}
# System headers that only these files may include.
GUARDED = {"uthash.h": ("src/base/map.c", "src/base/map.h"), "utarray.h": (), "utstring.h": (), "utlist.h": (),
           "assert.h": ("src/base/compiler.h",)}
PUBLIC_MAY = {"stddef.h", "stdint.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')

DOORS = re.compile(r"^Front doors:.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)

violations = []


def includes(path):
    """[(line number, quoted, name)] of a file."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        match = INCLUDE.match(line)
        if match:
            found.append((number, match.group(1) is not None, match.group(1) or match.group(2)))
    return found


def doors_paragraph(room):
    readme = TOP / "src" / room / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    return readme, text, DOORS.search(text)


@functools.cache
def doors(room):
    """The headers of a room that other rooms may include."""
    _, _, paragraph = doors_paragraph(room)
    return re.findall(r"`(\w+\.h)`", paragraph.group()) if paragraph else [f"{room}.h"]


def check_doors(room):
    readme, text, paragraph = doors_paragraph(room)
    for name in doors(room) if paragraph else ():
        line = text.count("\n", 0, paragraph.start()) + 1
        if name.endswith("_int.h"):
            complain(readme, line, f"{name} is for the room alone")
        elif not (readme.parent / name).exists():
            complain(readme, line, f"there is no {name}")


def complain(path, line, text):
    violations.append(f"{path.relative_to(TOP)}:{line}: {text}")


def is_run_api(path):
    return path.name.startswith("run_")


def may_see(path, room, other):
    """Why a file of `room` may not include room `other`, or None if it may."""
    side, layer = ROOMS[room]
    other_side, other_layer = ROOMS[other]
    if side == "cli":
        return "the tool is a client of the public headers"
    if other_side in ("api", "cli"):
        return f"nothing below sees {other}"
    if side == "api":
        if is_run_api(path) and other_side == "compile":
            return "api/run_* belongs to the run-only library"
        if other == "script" and path.name != "text.c":
            return "api/text.c is the only file of api that calls script"
        return None
    if side != other_side:
        return None if other_side == "shared" else f"the {side} side does not see the {other_side} side"
    return None if other_layer < layer else f"{other} is not below {room}"


def check_quoted(path, room, line, name):
    """One #include "..." of a file in src/."""
    parts = name.split("/")
    if parts[0] == "relax":
        return
    if len(parts) == 1:
        # A bare name is a header beside the file or a generated one.
        if not name.endswith(".h") or (path.parent / name).exists():
            complain(path, line, f'write "{room}/{name}": the include path is src/')
        return
    other = parts[0]
    if other not in ROOMS:
        complain(path, line, f'"{name}" is in no room')
    elif other != room and name not in TABLES:
        why = may_see(path, room, other)
        if why:
            complain(path, line, f'"{name}": {why}')
        elif "/".join(parts[1:]) not in doors(other) and other not in OPEN_ROOMS:
            complain(path, line, f'"{name}": other rooms include {", ".join(doors(other))} only')


def check_source(path):
    room = path.relative_to(TOP / "src").parts[0]
    if room not in ROOMS:
        complain(path, 1, f"room {room} is not in the table of rooms")
        return
    for line, quoted, name in includes(path):
        if quoted:
            check_quoted(path, room, line, name)
        elif name in GUARDED and path.relative_to(TOP).as_posix() not in GUARDED[name]:
            complain(path, line, f"<{name}> is not for this file")
        elif name.split("/")[0] in ROOMS:
            complain(path, line, f'write "{name}" for our own headers')


def reached(path, seen):
    """Every file of src/ that `path` includes, directly or not."""
    for _, quoted, name in includes(path):
        target = TOP / "src" / name
        if quoted and target.exists() and target not in seen:
            seen.add(target)
            reached(target, seen)
    return seen


def check_reach(path):
    """The run side, and api without api/text.c, must link alone: nothing may come in by a detour either."""
    room = path.relative_to(TOP / "src").parts[0]
    run_only = ROOMS[room][0] in ("run", "shared") or (room == "api" and is_run_api(path))
    no_script = room == "api" and path.name != "text.c"
    for target in sorted(reached(path, set())):
        other = target.relative_to(TOP / "src").parts[0]
        if other not in ROOMS:
            continue
        if run_only and ROOMS[other][0] == "compile":
            complain(path, 1, f"reaches {target.relative_to(TOP)}, which is on the compile side")
        elif no_script and other == "script":
            complain(path, 1, f"reaches {target.relative_to(TOP)}: only api/text.c calls script")


def check_public(path):
    for line, _, name in includes(path):
        if name not in PUBLIC_MAY and not (path.parent / name.removeprefix("relax/")).exists():
            complain(path, line, f"a public header includes <stddef.h>, <stdint.h> and its like, not {name}")


def symbols(objects):
    """{object: (what it defines, what it needs)}"""
    found = {path: (set(), set()) for path in objects}
    out = subprocess.run(["nm", "-A", "-g", *map(str, objects)], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in out.splitlines():
        path, _, rest = line.partition(":")
        kind, name = rest.split()[-2:]
        found[Path(path)][kind in "Uwv"].add(name)
    return found


def check_call(path, room, name, home):
    """A symbol that the object of `path` needs and that of `home` defines."""
    other = home.relative_to(TOP / "src").parts[0]
    if room == "cli":
        why = None if name.startswith("relax_") or other == "cli" else "the tool is a client of the public headers"
    elif room == other:
        run_only = room == "api" and is_run_api(path) and not is_run_api(home)
        why = "api/run_* belongs to the run-only library" if run_only else None
    else:
        why = may_see(path, room, other)
    if why:
        complain(path, 1, f"needs {name} of {home.relative_to(TOP)}: {why}")


def check_calls(sources):
    """Calls, and tables that are read, follow the order of the includes. How many objects there were."""
    build = TOP / (os.environ.get("RELAX_BUILD") or "build/release")
    objects = {}
    for path in sources:
        target = build / path.relative_to(TOP).with_suffix(".o")
        if path.suffix == ".c" and path.relative_to(TOP / "src").parts[0] in ROOMS and target.exists():
            objects[target] = path
        elif path.suffix == ".c" and os.environ.get("RELAX_BUILD"):
            complain(path, 1, f"was not built: there is no {target}")
    if not objects:
        return 0
    found = symbols(objects)
    homes = {name: objects[target] for target, (defined, _) in found.items() for name in defined}
    for target, (_, needed) in found.items():
        path = objects[target]
        for name in sorted(needed & homes.keys()):
            check_call(path, path.relative_to(TOP / "src").parts[0], name, homes[name])
    return len(objects)


def main():
    sources = [p for p in sorted((TOP / "src").rglob("*")) if p.suffix in (".c", ".h", ".def")]
    names = {}
    for room in ROOMS:
        check_doors(room)
    for path in sources:
        check_source(path)
        if path.suffix == ".c" and path.relative_to(TOP / "src").parts[0] in ROOMS:
            check_reach(path)
            if path.name in names:
                complain(path, 1, f"there is a {names[path.name].relative_to(TOP)} already: names are unique in the tree")
            names[path.name] = path
    for path in sorted((TOP / "include").rglob("*.h")):
        check_public(path)
    objects = check_calls(sources)
    print("\n".join(violations) if violations else
          f"{len(sources)} files in {len(ROOMS)} rooms include, {objects} objects call as they may")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
