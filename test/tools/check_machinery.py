#!/usr/bin/env python3
"""Tests the tests: each tool of the machinery runs over a small tree made here, and must fail where it should."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent

TOOL = """#!/bin/sh
# a tool of three commands: print copies, check complains of `bad`, run dies
for last; do :; done
case $1 in
print) cat "$last" ;;
check) grep -q bad m.py || exit 0; echo "m.py:1:1: error: bad" >&2; exit 1 ;;
run) kill -SEGV $$ ;;
esac
"""

# name of the case: (its sections, whether it passes)
GOLDEN = {
    "same": ("--- print\nx\n\ny\n--- same\n", True),
    "text": ("--- pass: a,b\nx\n--- expect\nx\n", True),
    "other text": ("--- pass: a,b\nx\n--- expect\ny\n", False),
    "escaped": ("--- print\n\\--- x\n--- expect-has\n\\--- x\n", True),
    "exit and stderr": ("--- check\nbad\n--- exit: 1\n--- expect-err\nm.py:1:1: error: bad\n", True),
    "part of stderr": ("--- check\nbad\n--- exit: 1\n--- expect-err-has\nerror: bad\n", True),
    "other part of stderr": ("--- check\nbad\n--- exit: 1\n--- expect-err-has\nerror: good\n", False),
    "stderr not mentioned": ("--- check\nbad\n--- exit: 1\n", False),
    "other exit": ("--- check\ngood\n--- exit: 1\n", False),
    "crash": ("--- run\nx\n--- exit: 1\n", False),
}

SUITES = {
    "check_counts.sh": ("echo '3 passed, 0 failed'", "3 passed"),
    "check_code.sh": ("exit 0", "1 passed"),
    "check_fails.sh": ("echo '2 passed, 1 failed'; exit 1", "2 passed, 1 failed"),
    "check_lies.sh": ("echo '2 passed, 0 failed'; exit 1", "2 passed, 1 failed"),
    "check_none.sh": ("echo '0 passed, 0 failed'", "0 passed, 1 failed"),
    "check_dies.sh": ("kill -SEGV $$", "0 passed, 1 failed"),
    "check_skips.sh": ("exit 77", "0 passed, 1 skipped"),
}

# With a limit of one second.
HANGS = {
    "check_spins.sh": ("while :; do :; done", "no end after 1 s of processor time"),
    "check_spins_below.sh": ("sh -c 'while :; do :; done'; true", "no end after 1 s of processor time"),
    "check_sleeps.sh": ("sleep 60", "no end, and nothing done for 1 s"),
}

# file: (text, what is complained of, None for nothing)
SOURCES = {
    "src/ir/ir.h": ('#include "base/base.h"\n', None),
    "src/base/base.h": ("", None),
    "src/base/up.c": ('#include "base/base.h"\n#include "ir/ir.h"\n', "src/base/up.c:2"),
    "src/ir/ir_int.h": ("", None),
    "src/op/op.h": ('#include "ir/ir.h"\n', None),
    "src/op/back_door.c": ('#include "ir/ir_int.h"\n', "src/op/back_door.c:1"),
    "src/sinfo/README.md": ("# sinfo\n\nFront doors: `sinfo.h`, and for those\nwho build `builder.h`, `gone.h`.\n", "src/sinfo/README.md:3"),
    "src/sinfo/sinfo.h": ("", None),
    "src/sinfo/builder.h": ("", None),
    "src/op/doors.c": ('#include "sinfo/sinfo.h"\n#include "sinfo/builder.h"\n', None),
    "src/sinfo/edit.h": ("", None),
    "src/op/no_door.c": ('#include "sinfo/edit.h"\n', "src/op/no_door.c:1"),
    "src/script/script.h": ('#include "op/op.h"\n', "src/script/script.h:1"),
    "src/runtime/runtime.h": ("", None),
    "src/vm/sides.c": ('#include "runtime/runtime.h"\n#include "op/op.h"\n', "src/vm/sides.c:2"),
    "src/api/text.c": ('#include "script/script.h"\n', None),
    "src/api/other.c": ('\n#include "script/script.h"\n', "src/api/other.c:2"),
    "src/api/api_int.h": ('#include "ir/ir.h"\n', None),
    "src/api/run_call.c": ('#include "api/api_int.h"\n', "src/api/run_call.c:1"),
    "src/cli/main.c": ('#include "base/base.h"\n', "src/cli/main.c:1"),
    "src/base/compiler.h": ("", None),
    "src/cli/files.c": ('#include "base/compiler.h"\n', None),
    "src/arith/table.c": ("#include <uthash.h>\n", "src/arith/table.c:1"),
    "include/relax/a.h": ("#include <stdio.h>\n", "include/relax/a.h:1"),
}

# file: (text, what its object is blamed for, None for nothing). Declarations beside the headers are what includes do not show.
CALLS = {
    "src/base/low.c": ("int rlx_low(void) { return 1; }\n", None),
    "src/ir/down.c": ("int rlx_low(void);\nint rlx_down(void) { return rlx_low(); }\n", None),
    "src/base/climbs.c": ("int rlx_down(void);\nint rlx_climbs(void) { return rlx_down(); }\n", "rlx_down of src/ir/down.c"),
    "src/base/reads.c": ("extern const int rlx_table[];\nint rlx_reads(void) { return rlx_table[0]; }\n",
                         "rlx_table of src/ir/table.c"),
    "src/ir/table.c": ("const int rlx_table[] = { 1 };\n", None),
    "src/api/run_count.c": ("void relax_x_release(void *x) { (void)x; }\n", None),
    "src/vm/calls.c": ("void relax_x_release(void *x);\nvoid rlx_calls(void) { relax_x_release(0); }\n",
                       "relax_x_release of src/api/run_count.c"),
    "src/vm/crosses.c": ("int rlx_down(void);\nint rlx_crosses(void) { return rlx_down(); }\n", "rlx_down of src/ir/down.c"),
    "src/api/other.c": ("int relax_other(void) { return 1; }\n", None),
    "src/api/run_half.c": ("int relax_other(void);\nint relax_half(void) { return relax_other(); }\n",
                           "relax_other of src/api/other.c"),
    "src/cli/main.c": ("void relax_x_release(void *);\nint rlx_low(void);\n"
                       "int main(void) { relax_x_release(0); return rlx_low(); }\n", "rlx_low of src/base/low.c"),
}

HEADER = """
#define RELAX_LIMIT 0x10u
typedef struct relax_ctx relax_ctx; /* everything */
/* Letters. */
enum relax_kind { RELAX_A = 1, RELAX_B = RELAX_A << 4 };
/* Made with care. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN relax_ctx *relax_ctx_fork(relax_ctx *ctx, RELAX_NULLABLE const int64_t *dims, size_t count,
                                    void (*destroy)(void *user), relax_ctx **out);
"""


def put(root, name, text, mode=0o644):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def run(*command, **environment):
    result = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False, env=dict(os.environ, **environment))
    return result.returncode, result.stdout


def golden(root):
    tool = put(root, "relax", TOOL, 0o755)
    runner = root / "test/run_golden.py"
    runner.parent.mkdir(parents=True)
    shutil.copy(TOP / "test/run_golden.py", runner)
    file = put(root, "test/golden/room/file.test",
               "preface\n\n" + "\n".join(f"=== {name}\n{text}" for name, (text, _) in GOLDEN.items()))
    for name, (_, passes) in GOLDEN.items():
        code, output = run(sys.executable, runner, f"room/file:{name}", RELAX=str(tool))
        yield f"golden case: {name}", code == (0 if passes else 1), output
    code, output = run(sys.executable, runner, "nosuch", RELAX=str(tool))
    yield "golden: nothing chosen fails", code == 1, output
    before = file.read_text()
    run(sys.executable, runner, "--update", "room/file:other text", RELAX=str(tool))
    yield "golden: update", file.read_text() == before.replace("--- expect\ny\n", "--- expect\nx\n"), file.read_text()


def suites(root):
    shutil.copytree(TOP / "test/tools", root / "test/tools", ignore=lambda *_: ["check_machinery.py", "__pycache__"])
    for path in (root / "test/tools").glob("check_*"):
        path.unlink()
    for name, (text, _) in SUITES.items():
        put(root, f"test/room/{name}", text + "\n")
    put(root, "test/room/test_unbuilt.c", "int main(void) { return 0; }\n")
    runner = [sys.executable, root / "test/tools/run_all.py", "--build", "build/release", "--variant", "toy"]
    for name, (_, want) in SUITES.items():
        code, output = run(*runner, "--only", "room/" + name[len("check_"):-len(".sh")])
        yield f"suite {name}", f" {want}  " in output.split("\n")[0], output
        yield f"exit of {name}", code == (1 if "failed" in want else 0), output
    for name, (text, want) in HANGS.items():
        put(root, f"test/hang/{name}", text + "\n")
        code, output = run(*runner, "--limit", "1", "--only", "hang/" + name[len("check_"):-len(".sh")])
        yield f"suite {name}", code == 1 and want in output, output
        (root / "test/hang" / name).unlink()
    code, output = run(*runner, "--only", "room/unbuilt")
    yield "a program that was not built fails", code == 1 and "was not built" in output, output
    put(root, "test/room/check_works.sh", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done\n")
    code, output = run(*runner)
    yield "the whole fails", code == 1, ""
    yield "the longest is said", re.search(r" s of processor time, the longest: room/works \d+, ", output), output
    yield "the longest comes first", run(*runner, "--jobs", "1")[1].startswith("  ok    room/works "), output
    yield "no suite fails", run(*runner, "--only", "nowhere")[0] == 1, ""


def programs(_):
    """Every named program is read by the test beside it."""
    for path in sorted(TOP.glob("test/*/*.programs")):
        source = next(p for p in (path.with_name(f"test_{path.stem}.c"), path.with_suffix(".c")) if p.exists()).read_text()
        all_read = f'text_file_parts("{path.relative_to(TOP)}"' in source
        for name in re.findall(r"^=== (.*)$", path.read_text(), re.M):
            plain = name.removesuffix(", corrected")     # analysis/well_formed puts the second half of those names on
            yield f"{path.name}: {name} is read", all_read or f'"{plain}"' in source or f'"= {plain}"' in source, ""


def includes(root):
    for name, (text, _) in SOURCES.items():
        put(root, name, text)
    code, output = run(sys.executable, TOP / "test/tools/check_includes.py", root, RELAX_BUILD="")
    blamed = {line.rsplit(": ", 1)[0] for line in output.splitlines()}
    for name, (_, want) in SOURCES.items():
        found = any(line.startswith((want or name) + ":") for line in output.splitlines())
        yield f"include: {name}", found == bool(want), output
    yield "include: exit", code == 1 and len(blamed) > 0, output


def calls(root):
    compiler = os.environ.get("CC") or "cc"
    for name, (text, _) in CALLS.items():
        path = put(root, name, text)
        target = root / "build/release" / Path(name).with_suffix(".o")
        target.parent.mkdir(parents=True, exist_ok=True)
        code, output = run(*compiler.split(), "-c", "-o", target, path)
        yield f"call: {name} compiles", code == 0, output
    checker = TOP / "test/tools/check_includes.py"
    code, output = run(sys.executable, checker, root, RELAX_BUILD="build/release")
    for name, (_, want) in CALLS.items():
        blamed = [line for line in output.splitlines() if line.startswith(name + ":")]
        good = len(blamed) == 1 and f": needs {want}: " in blamed[0] if want else not blamed
        yield f"call: {name}", good, output
    yield "call: exit", code == 1, output
    (root / "build/release/src/ir/down.o").unlink()
    output = run(sys.executable, checker, root, RELAX_BUILD="build/release")[1]
    yield "call: an object that is missing", "src/ir/down.c:1: was not built" in output, output


def manifest(root):
    put(root, "include/relax/a.h", HEADER)
    for folder in ("test/abi", "lib"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    generator = [sys.executable, TOP / "test/abi/gen_api.py"]
    yield "manifest: out of date", run(*generator, "--check", TOP=str(root))[0] == 1, ""
    code, output = run(*generator, TOP=str(root))
    yield "manifest: written", code == 0, output
    yield "manifest: up to date", run(*generator, "--check", TOP=str(root))[0] == 0, ""
    api = json.loads((root / "test/abi/api.json").read_text())
    function = api["functions"][0]
    yield "manifest: kinds", [p["kind"] for p in function["params"]] == [
        "handle", "array", "scalar", "callback", "handle_out"], str(function)
    yield "manifest: markers", (function["since"], function["returns"].get("ownership"), function["params"][1].get(
        "nullable"), function["comment"]) == ("0.2", "own", True, "Made with care."), str(function)
    yield "manifest: enums", [v["value"] for v in api["enums"][0]["values"]] == [1, 16], str(api["enums"])
    yield "manifest: constants", api["constants"] == {"RELAX_LIMIT": 16}, str(api["constants"])
    for wrong in ("int relax_loose(void);", "RELAX_API int relax_f(int a, ...);", "enum relax_e { RELAX_Z };"):
        put(root, "include/relax/a.h", wrong)
        yield f"manifest: refuses {wrong}", run(*generator, TOP=str(root))[0] == 1, ""
    for wrong in ("bool relax_f(relax_ctx *c)", "void relax_f(relax_ctx c)", "void relax_f(long n)"):
        put(root, "include/relax/a.h", HEADER + f"/* . */\nRELAX_API RELAX_SINCE(0, 1) RELAX_ANY\n{wrong};\n")
        run(*generator, TOP=str(root))
        yield f"manifest: complains of {wrong}", run(*generator, "--check", TOP=str(root))[0] == 1, ""


def main():
    passed = failed = 0
    for part in (golden, suites, programs, includes, calls, manifest):
        with tempfile.TemporaryDirectory() as name:
            for what, good, output in part(Path(name)):
                passed, failed = passed + bool(good), failed + (not good)
                if not good:
                    print(f"FAILED {what}\n{output}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
