#!/usr/bin/env python3
"""The exported symbols are the promised ones, each under its version node; the manifest is up to date."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gen_api

TOP = Path(__file__).resolve().parent.parent.parent
LIBRARY = Path(os.environ.get("RELAX_OUT", TOP)) / "lib" / "librelax.so"
ABI = TOP / "test" / "abi"


def tool(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def manifest_is_current():
    result = subprocess.run([sys.executable, ABI / "gen_api.py", "--check"], stdout=subprocess.PIPE, text=True,
                            check=False)
    yield from result.stdout.splitlines() if result.returncode else []


def exported():
    """{name: version node} of what the library defines; the nodes themselves are left out."""
    found = {}
    for line in tool("nm", "-D", "--defined-only", "--with-symbol-versions", str(LIBRARY)).splitlines():
        kind, symbol = line.split()[-2:]
        name, _, node = symbol.partition("@")
        if kind != "A":
            found[name] = node.lstrip("@")
    return found


def symbols_are_promised():
    found, promised = exported(), (ABI / "symbols").read_text().split()
    yield from (f"promised in test/abi/symbols but not exported: {n}" for n in promised if n not in found)
    yield from (f"exported but not promised: {n}" for n in sorted(found) if n not in promised)
    yield from (f"not a relax_ name: {n}" for n in sorted(found) if not n.startswith("relax_"))
    if not promised:
        yield "test/abi/symbols is empty"


def nodes_are_right():
    since = {f["name"]: f["since"] for f in json.loads((ABI / "api.json").read_text())["functions"]}
    for name, node in sorted(exported().items()):
        if name in since and node != f"RELAX_{since[name]}":
            yield f"{name} is under node {node or '(none)'}, its header says {since[name]}"


def is_taken_into_use(name, fact, now, before):
    """A member `reserved`, 0 until then, has a name now: a new one, in the same place and of the same type."""
    owner, _, member = name.rpartition(".")
    return member == "reserved" and any(n.rpartition(".")[0] == owner and f == fact and n not in before for n, f in now.items())


def facts_are_kept():
    """Enumerators are passed as plain integers, so abidiff does not see them; they never change or go away, nor does a
    member of a struct."""
    now = gen_api.facts(json.loads((ABI / "api.json").read_text()))
    before = dict(line.split(" ", 1) for line in (ABI / "baseline_facts").read_text().splitlines())
    for name, fact in before.items():
        if now.get(name) != fact and not (name not in now and is_taken_into_use(name, fact, now, before)):
            yield f"{name} was {fact}, is now {now.get(name, 'gone')}"


def soname_is_right():
    """The SONAME carries the minor while the version is 0.x; the file carries the whole version."""
    name = re.search(r"\(SONAME\).*\[(.*)\]", tool("readelf", "-dW", str(LIBRARY))).group(1)
    version = re.search(r"^librelax\.so\.(\d+)\.(\d+)\.\d+$", LIBRARY.resolve().name)
    wanted = f"librelax.so.0.{version.group(2)}" if version.group(1) == "0" else f"librelax.so.{version.group(1)}"
    if name != wanted:
        yield f"SONAME is {name}, not {wanted}"
    if os.readlink(LIBRARY) != name:
        yield f"{LIBRARY.name} points to {os.readlink(LIBRARY)}, not to {name}"


def nodes_are_chained():
    """Each node of the version script but the first inherits the one before it."""
    nodes = re.findall(r"^(RELAX_(\d+)\.(\d+)) \{.*?^\}(?: (\S+))?;", (TOP / "lib/librelax.map").read_text(), re.M | re.S)
    before = ""
    for node, _, _, parent in sorted(nodes, key=lambda n: (int(n[1]), int(n[2]))):
        if parent != before:
            yield f"node {node} inherits {parent or 'nothing'}, not {before or 'nothing'}"
        before = node


def debug_information_is_there():
    """Without it abidiff compares names only and misses, for example, a renumbered enum."""
    if ".debug_info" not in tool("readelf", "-SW", str(LIBRARY)):
        yield "no .debug_info in the library: build with -g"


CHECKS = [("manifest", manifest_is_current), ("symbols", symbols_are_promised), ("version nodes", nodes_are_right),
          ("numbers of enums, members of structs", facts_are_kept),
          ("soname", soname_is_right), ("chain of nodes", nodes_are_chained), ("debug info", debug_information_is_there)]


def main():
    if os.environ.get("RELAX_VARIANT", "release") != "release":
        print("only the plain build is released")
        return 77
    failed = 0
    for name, check in CHECKS:
        found = list(check())
        failed += bool(found)
        print(f"{'FAILED' if found else 'ok'} {name}")
        print("".join(f"    {line}\n" for line in found), end="")
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
