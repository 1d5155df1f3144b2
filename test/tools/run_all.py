#!/usr/bin/env python3
"""Runs every suite of the tree and closes with `N passed, N failed`; called by `make check`.

A suite ROOM/NAME is one of
    test/ROOM/test_NAME.c           a cmocka program, built by make
    test/golden/ROOM/NAME.test      golden text, run by test/run_golden.py
    test/ROOM/check_NAME.sh|.py     a script: counts in its last lines, or its exit code alone; 77 = skipped
    test/ROOM/long_NAME.sh|.py      the same, only with --long; so are programs called test_long_NAME.c
Several may share one name; `--only ROOM/NAME` then runs them all, `--only ROOM` runs a room.
"""
import argparse
import concurrent.futures
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
SANITIZER_EXIT = 99
SHOWN_LINES = 120       # of a failing suite's output
LOOK_EVERY = 5          # seconds between two looks at the processor time of a suite
LONGEST = 10            # suites whose processor time closes a whole run
TICKS = os.sysconf("SC_CLK_TCK")


class Suite:
    def __init__(self, kind, name, command, source):
        self.kind, self.name, self.command, self.source = kind, name, command, source
        self.passed = self.failed = self.skipped = 0
        self.seconds = self.processor = 0.0
        self.output, self.problem = "", None


# --- finding the suites ------------------------------------------------------------------------------

def c_suites(build, long):
    for path in sorted(TOP.glob("test/*/test_*.c")):
        name = path.stem[len("test_"):]
        if name.startswith("long_") and not long:
            continue
        program = build / path.relative_to(TOP).with_suffix("")
        yield Suite("c", f"{path.parent.name}/{name}", [str(program)], path)


def golden_suites():
    for path in sorted(TOP.glob("test/golden/*/*.test")):
        name = f"{path.parent.name}/{path.stem}"
        yield Suite("golden", name, [sys.executable, str(TOP / "test/run_golden.py"), "--jobs", "1", name], path)


def script_suites(long):
    for prefix in ("check_", "long_") if long else ("check_",):
        for path in sorted([*TOP.glob(f"test/*/{prefix}*.sh"), *TOP.glob(f"test/*/{prefix}*.py")]):
            start = ["sh"] if path.suffix == ".sh" else [sys.executable]
            yield Suite("script", f"{path.parent.name}/{path.stem[len(prefix):]}", [*start, str(path)], path)


def choose(suites, only):
    """Those that `only` (ROOM, ROOM/NAME or ROOM/NAME:CASE) names; a case is passed on as it is."""
    if not only:
        return suites
    name, colon, case = only.partition(":")
    chosen = [s for s in suites if name in (s.name, s.name.split("/")[0])]
    if colon:
        golden = [s for s in chosen if s.kind == "golden"]
        chosen = golden or chosen
        for suite in chosen:
            suite.command = suite.command[:-1] + [only] if suite.kind == "golden" else suite.command + [case]
    return chosen


# --- running one -------------------------------------------------------------------------------------

def not_built(suite, build):
    """A program that failed to compile may have left an older one behind: do not believe that one."""
    if suite.kind != "c":
        return False
    program = Path(suite.command[0])
    unit = build / suite.source.relative_to(TOP).with_suffix(".o")
    return not program.exists() or not unit.exists() or program.stat().st_mtime < unit.stat().st_mtime


def run(suite, options, environment):
    started = time.monotonic()
    if not_built(suite, options.build):
        suite.failed, suite.problem = 1, "was not built"
    else:
        with tempfile.TemporaryDirectory(prefix="relax-check-") as scratch:
            code = execute(suite, dict(environment, TMPDIR=scratch), options.limit)
        count(suite, code)
    suite.seconds = time.monotonic() - started
    return suite


def processor_seconds(session):
    """What the processes of a session have used, with those they waited for; 0 where there is no /proc."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()   # from the third on: state, parent, group, session
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS


class Hang(Exception):
    pass


class Limit:
    """Of processor time, so a busy machine breaks no test; what uses none has as much time to wait for something."""
    def __init__(self, session, seconds):
        self.session, self.seconds = session, seconds
        self.last, self.moved = 0, time.monotonic()

    def look(self):
        used, now = processor_seconds(self.session), time.monotonic()
        if used > self.last + 0.1:
            self.last, self.moved = used, now
        if used > self.seconds:
            raise Hang(f"no end after {self.seconds} s of processor time")
        if now - self.moved > self.seconds:
            raise Hang(f"no end, and nothing done for {self.seconds} s")


def read_all(stream, limit, chunks):
    """What a suite prints, into chunks, until nobody can write any more."""
    wait = min(LOOK_EVERY, limit.seconds)
    looked = time.monotonic()
    while True:
        ready = select.select([stream], [], [], wait)[0]
        chunk = os.read(stream.fileno(), 1 << 16) if ready else None
        if chunk == b"":
            return
        chunks += [chunk] if chunk else []
        if time.monotonic() - looked >= wait:
            limit.look()
            looked = time.monotonic()


def reap(process, limit):
    """Its exit code, and the seconds of processor time of all that it waited for: wait4 alone tells them of one process."""
    while True:
        pid, status, usage = os.wait4(process.pid, 0 if limit is None else os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        time.sleep(0.02)
        limit.look()


def execute(suite, environment, seconds):
    chunks = []
    with subprocess.Popen(suite.command, cwd=TOP, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
        limit = Limit(process.pid, seconds)
        try:
            read_all(process.stdout, limit, chunks)
            suite.processor = reap(process, limit)
        except Hang as hang:
            suite.problem = str(hang)
            os.killpg(process.pid, signal.SIGKILL)
            suite.processor = reap(process, None)
            chunks.append(process.stdout.read())
        suite.output = b"".join(chunks).decode("utf-8", "backslashreplace")
        return process.returncode


CMOCKA = {kind: re.compile(r"^\[  " + kind + r" *\] (\d+) test\(s\)", re.M) for kind in ("PASSED", "FAILED", "SKIPPED")}
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)


def count(suite, code):
    """Counts come from cmocka's summaries or a closing line; the exit code must agree with them."""
    cmocka = [sum(map(int, CMOCKA[kind].findall(suite.output))) for kind in ("PASSED", "FAILED", "SKIPPED")]
    closing = CLOSING.findall(suite.output)
    if any(cmocka) and (suite.kind == "c" or not closing):
        suite.passed, suite.failed, suite.skipped = cmocka
    elif closing:
        suite.passed, suite.failed, suite.skipped = (int(n or 0) for n in closing[-1])
    elif code == SKIPPED:
        suite.skipped = 1
    elif code == 0 and suite.kind == "script":
        suite.passed = 1
    if code < 0 and not suite.problem:
        suite.problem = "killed by " + signal.Signals(-code).name
    elif code == SANITIZER_EXIT:
        suite.problem = "stopped by a sanitizer"
    elif code not in (0, SKIPPED) and not suite.failed:
        suite.problem = suite.problem or f"exit {code}"
    elif suite.passed + suite.failed + suite.skipped == 0:
        suite.problem = suite.problem or "ran no test"
    if suite.problem and not suite.failed:
        suite.failed = 1


# --- reporting ---------------------------------------------------------------------------------------

def alone(suite, variant):
    check = "check-asan" if variant == "asan" else "check"
    debug = " DEBUG=1" if variant == "debug" else ""
    return f"make {check}{debug} T={shlex.quote(suite.name)}"


def show(suite, variant):
    state = "FAIL" if suite.failed else "ok" if suite.passed else "skip"
    counts = f"{suite.passed} passed" + (f", {suite.failed} failed" if suite.failed else "") + (
        f", {suite.skipped} skipped" if suite.skipped else "")
    print(f"  {state:4}  {label(suite):44} {counts:34} {suite.seconds:6.2f} s {suite.processor:6.2f} s", flush=True)
    lines = suite.output.rstrip("\n").split("\n")
    if suite.failed:
        if len(lines) > SHOWN_LINES:
            lines = [f"... {len(lines) - SHOWN_LINES} lines before"] + lines[-SHOWN_LINES:]
        if suite.output:
            print("\n".join("        " + line for line in lines))
        print(f"        {suite.source.relative_to(TOP)}: {suite.problem or 'failed'}; alone: {alone(suite, variant)}",
              flush=True)
    elif not suite.passed and lines[-1]:
        print("        " + lines[-1])


def stripped_size(path, scratch):
    target = Path(scratch) / "stripped"
    subprocess.run([os.environ.get("STRIP", "strip"), "-o", target, path], check=True)
    return target.stat().st_size


def sizes(options):
    """Both libraries as they would be deployed: linked and stripped. The run-only one is an archive."""
    library = options.out / "lib" / "librelax.so"
    archive = options.out / "lib" / "librelax-runtime.a"
    with tempfile.TemporaryDirectory() as scratch:
        linked = Path(scratch) / "runtime.so"
        exports = Path(scratch) / "exports"
        exports.write_text("{ global: relax_*; local: *; };\n")
        # As a host links it: the public functions and what they need, nothing else.
        link = [*shlex.split(os.environ.get("CC", "cc")), "-shared", "-o", linked, "-Wl,--whole-archive", archive,
                "-Wl,--no-whole-archive", "-Wl,--gc-sections", f"-Wl,--version-script={exports}", "-lm", "-lpthread", "-ldl"]
        subprocess.run(link, check=True)
        code = int(re.search(r"^\.text\s+(\d+)", subprocess.run(["size", "-A", linked], capture_output=True, text=True, check=True).stdout,
                             re.MULTILINE)[1])
        print(f"librelax.so, stripped: {stripped_size(library, scratch)} bytes")
        print(f"run-only library (librelax-runtime.a linked): {code} bytes of code, stripped file {stripped_size(linked, scratch)} bytes")


# --- surroundings ------------------------------------------------------------------------------------

def german_locale(build):
    """A locale with a decimal comma, made below build/ so that no system setting is touched."""
    folder = build.parent / "locale"
    target, fresh = folder / "de_DE.UTF-8", folder / f"new-{os.getpid()}"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(fresh)],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        try:
            fresh.rename(target)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)    # another run was faster, or there is no localedef data
    return folder


def surroundings(options):
    """What a suite finds in its environment; see test/README.md."""
    environment = dict(os.environ)
    environment.update(
        LC_ALL="C.UTF-8", TOP=str(TOP), PYTHON=sys.executable, RELAX_VARIANT=options.variant,
        RELAX=str(options.out / "bin" / "relax"), RELAX_LIB=str(options.out / "lib" / "librelax.so"),
        RELAX_BUILD=str(options.build), RELAX_OUT=str(options.out),
        PKG_CONFIG_PATH=str(options.out / "pkgconfig"), PYTHONDONTWRITEBYTECODE="1",
        # the interpreter that has numpy comes first for scripts that say `python3`
        PATH=str(Path(sys.executable).parent) + os.pathsep + environment.get("PATH", ""),
        ASAN_OPTIONS=f"exitcode={SANITIZER_EXIT}:detect_leaks=1:handle_segv=2:handle_sigbus=2:handle_sigfpe=2",
        # suites that want compiled kernels say so
        RELAX_CC="", XDG_CACHE_HOME=str(options.build / "test-cache"),
        UBSAN_OPTIONS=f"exitcode={SANITIZER_EXIT}:print_stacktrace=1",
        LSAN_OPTIONS=f"exitcode={SANITIZER_EXIT}")
    if shutil.which("localedef"):
        environment["LOCPATH"] = str(german_locale(options.build))
    if options.long:
        environment["RELAX_LONG"] = "1"
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "T", "CMOCKA_MESSAGE_OUTPUT", "CMOCKA_XML_FILE"):
        environment.pop(name, None)
    return environment


def arguments():
    parser = argparse.ArgumentParser(description="runs every suite of the tree")
    parser.add_argument("--variant", default="release")
    parser.add_argument("--build", default="build/release", help="where the test programs are")
    parser.add_argument("--out", default=".", help="above lib/ and bin/")
    parser.add_argument("--only", metavar="ROOM[/NAME[:CASE]]")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=300, help="seconds of processor time for a suite")
    parser.add_argument("--list", action="store_true", help="print the suites' names and stop")
    options = parser.parse_args()
    options.build, options.out = (TOP / options.build).resolve(), (TOP / options.out).resolve()
    options.limit *= (10 if options.long else 1) * (3 if options.variant == "asan" else 1)
    return options


def main():
    options = arguments()
    suites = [*c_suites(options.build, options.long), *golden_suites(), *script_suites(options.long)]
    chosen = choose(suites, options.only)
    if options.list:
        print("\n".join(sorted({s.name for s in chosen})))
        return 0
    if not chosen:
        print(f"no suite is called {options.only}" if options.only else "no suite found")
        print("0 passed, 1 failed")
        return 1
    environment, lock = surroundings(options), threading.Lock()

    def one(suite):
        run(suite, options, environment)
        with lock:
            show(suite, options.variant)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, longest_first(chosen, options)))
    return close(chosen, options)


def record_of(options):
    return options.build / ("processor_seconds_long" if options.long else "processor_seconds")


def label(suite):
    return f"{suite.name} ({suite.kind})"


def longest_first(chosen, options):
    """By what the run before has measured, so that no core waits for the other in the end; what is new comes first."""
    try:
        before = json.loads(record_of(options).read_text())
    except (OSError, ValueError):
        before = {}
    return sorted(chosen, key=lambda s: -before.get(label(s), float("inf")))


def show_longest(chosen, options):
    options.build.mkdir(parents=True, exist_ok=True)
    record_of(options).write_text(json.dumps({label(s): round(s.processor, 2) for s in chosen}, indent=0))
    longest = sorted(chosen, key=lambda s: -s.processor)[:LONGEST]
    print(f"{sum(s.processor for s in chosen):.0f} s of processor time, the longest: "
          + ", ".join(f"{s.name} {s.processor:.0f}" for s in longest))


def close(chosen, options):
    if not options.only:
        show_longest(chosen, options)
    bad = [s for s in chosen if s.failed]
    if bad and len(chosen) > 1:
        print("\nfailed:")
        for suite in bad:
            print(f"  {suite.name:36} {alone(suite, options.variant)}")
    if options.variant == "release" and not options.only:
        try:
            sizes(options)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"sizes not known: {error}")
    passed, failed, skipped = (sum(getattr(s, what) for s in chosen) for what in ("passed", "failed", "skipped"))
    if passed + failed == 0 and not options.only:
        print("no test ran")
        failed = 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
