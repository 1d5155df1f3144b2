#!/usr/bin/env python3
"""Runs the golden text files test/golden/ROOM/*.test; see test/README.md for the format.

    test/run_golden.py [--update] [--jobs N] [-v] [ROOM | ROOM/FILE | ROOM/FILE:CASE]...

RELAX in the environment names the tool (default bin/relax). The last line is `N passed, N failed`.
"""
import argparse
import concurrent.futures
import difflib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
GOLDEN = TOP / "test" / "golden"
INPUT = "m.py"

# What a section may be: kind -> does it take an argument ("need", "may", "no")
KINDS = {
    "input": "no", "file": "need", "bytes": "need", "stdin": "no",
    "setup": "need", "cmd": "need", "pass": "need", "print": "may", "check": "may", "run": "may",
    "expect": "no", "same": "no", "expect-has": "no", "expect-err": "no", "expect-err-has": "no",
    "exit": "need",
}
# The short forms of a command; {} is the section's argument.
COMMANDS = {
    "cmd": "{}",
    "pass": "relax print --pass {} @",
    "print": "relax print {} @",
    "check": "relax check {} @",
    "run": "relax run @ {}",
}
EXPECTATIONS = ("expect", "same", "expect-has", "expect-err", "expect-err-has", "exit")
HEAD = re.compile(r"--- ([a-z][a-z-]*)(?:: ?(.*))?$")


class Malformed(Exception):
    pass


class Section:
    def __init__(self, kind, arg, line):
        self.kind, self.arg, self.line, self.raw = kind, arg, line, []

    def lines(self):
        """The body without the blank lines that separate it from what follows."""
        last = len(self.raw)
        while last and not self.raw[last - 1].strip():
            last -= 1
        return [unescape(text) for text in self.raw[:last]]

    def text(self):
        return "".join(line + "\n" for line in self.lines())

    def replace(self, text):
        """Puts `text` in; keeps the blank lines after the body."""
        blank = len(self.raw) - len(self.lines())
        lines = text.rstrip("\n").split("\n") if text.rstrip("\n") else []
        self.raw = [escape(line) for line in lines] + self.raw[len(self.raw) - blank:]


def unescape(line):
    return line[1:] if line.startswith(("\\---", "\\===", "\\\\")) else line


def escape(line):
    return "\\" + line if line.startswith(("---", "===", "\\---", "\\===", "\\\\")) else line


class Case:
    def __init__(self, file, name, line):
        self.file, self.name, self.line, self.sections = file, name, line, []

    def get(self, kind):
        return next((s for s in self.sections if s.kind == kind), None)

    def all(self, kind):
        return [s for s in self.sections if s.kind == kind]


class GoldenFile:
    """One file, kept line for line so that --update changes nothing but expectations."""

    def __init__(self, path):
        self.path = path
        self.suite = path.relative_to(GOLDEN).with_suffix("").as_posix()
        self.preface, self.cases = [], []
        current = self.preface
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if line.startswith("=== "):
                self.cases.append(Case(self, line[4:].strip(), number))
                current = []            # text between a case's name and its first section
                self.cases[-1].comment = current
            elif line.startswith("---"):
                current = self.open_section(line, number)
            else:
                current.append(line)
        self.validate()

    def where(self, line):
        return f"{self.path.relative_to(TOP)}:{line}"

    def open_section(self, line, number):
        match = HEAD.match(line)
        if not match or match.group(1) not in KINDS:
            raise Malformed(f"{self.where(number)}: not a section: {line!r} (start a body line with \\ to keep it)")
        kind, arg = match.group(1), match.group(2)
        if not self.cases:
            raise Malformed(f"{self.where(number)}: a section before the first case")
        rule = KINDS[kind]
        if (rule == "need" and not arg) or (rule == "no" and arg):
            raise Malformed(f"{self.where(number)}: `{kind}` {'needs' if rule == 'need' else 'takes no'} argument")
        section = Section(kind, arg or "", number)
        self.cases[-1].sections.append(section)
        return section.raw

    def validate(self):
        names = set()
        if not self.cases:
            raise Malformed(f"{self.where(1)}: no case in this file")
        for case in self.cases:
            if case.name in names:
                raise Malformed(f"{self.where(case.line)}: a second case called {case.name!r}")
            names.add(case.name)
            commands = [s for s in case.sections if s.kind in COMMANDS]
            if len(commands) != 1:
                raise Malformed(f"{self.where(case.line)}: case {case.name!r} has {len(commands)} commands, not one")
            if commands[0].kind != "check" and not any(s.kind in EXPECTATIONS for s in case.sections):
                raise Malformed(f"{self.where(case.line)}: case {case.name!r} expects nothing")
            case.command = commands[0]

    def write(self):
        out = list(self.preface)
        for case in self.cases:
            out += ["=== " + case.name] + case.comment
            for s in case.sections:
                out += ["--- " + s.kind + (": " + s.arg if s.arg else "")] + s.raw
        self.path.write_text("\n".join(out), encoding="utf-8")


# --- running one case ------------------------------------------------------------------------------

def words(template, arg):
    """The argument vector of a command; @ is the input, $TOP the top of the tree, relax the tool."""
    found = []
    for word in shlex.split(template.replace("{}", arg)):
        found.append(INPUT if word == "@" else word.replace("$TOP", str(TOP)))
    if found and found[0] == "relax":
        found[0] = TOOL
    return found


def input_of(case):
    """The input is the section `input`, or else the body of the command's own section."""
    section = case.get("input") or case.command
    return section.text()


def prepare(case, folder):
    (folder / INPUT).write_text(input_of(case), encoding="utf-8")
    for section in case.all("file"):
        (folder / section.arg).write_text(section.text(), encoding="utf-8")
    for section in case.all("bytes"):
        joined = "".join(section.lines())
        (folder / section.arg).write_bytes(joined.encode("latin-1").decode("unicode_escape").encode("latin-1"))


def execute(argv, folder, stdin):
    """Runs a command; returns (exit code, stdout, stderr); the code is a text for a crash or a time-out."""
    with subprocess.Popen(argv, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            out, err = process.communicate(stdin.encode(), timeout=TIMEOUT)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            code = f"no end after {TIMEOUT} s"
    if isinstance(code, int) and code < 0:
        code = "killed by " + signal.Signals(-code).name
    elif code == SANITIZER_EXIT:
        code = "stopped by a sanitizer"
    return code, out.decode("utf-8", "backslashreplace"), err.decode("utf-8", "backslashreplace")


def diff(want, got, what):
    lines = difflib.unified_diff(want.rstrip("\n").split("\n"), got.rstrip("\n").split("\n"),
                                 f"wanted {what}", f"got {what}", lineterm="", n=3)
    return ["    " + line for line in lines]


def missing_lines(section, text, what):
    lost = [line for line in section.lines() if line.strip() and line not in text]
    return [f"    wanted in {what}: {line}" for line in lost] + (
        [f"    {what} was:"] + ["    | " + line for line in text.rstrip("\n").split("\n")] if lost else [])


def judge(case, code, out, err):
    """What is wrong with the outcome, as lines; none if the case passes."""
    problems = []
    wanted = int(case.get("exit").arg) if case.get("exit") else 0
    if code != wanted:
        problems.append(f"    wanted exit {wanted}, got {code if isinstance(code, str) else f'exit {code}'}")
    if case.get("same"):
        problems += diff(input_of(case), out, "stdout (the input itself)")
    if case.get("expect"):
        problems += diff(case.get("expect").text(), out, "stdout")
    for section in case.all("expect-has"):
        problems += missing_lines(section, out, "stdout")
    for section in case.all("expect-err-has"):
        problems += missing_lines(section, err, "stderr")
    if case.get("expect-err"):
        problems += diff(case.get("expect-err").text(), err, "stderr")
    elif not case.get("expect-err-has") and err:
        problems += ["    wanted nothing on stderr, got:"] + ["    | " + x for x in err.rstrip("\n").split("\n")]
    return problems


def run_case(case):
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name)
        prepare(case, folder)
        for section in case.all("setup"):
            code, out, err = execute(words("{}", section.arg), folder, "")
            if code != 0:
                return [f"    setup `{section.arg}`: {code}"] + ["    | " + x for x in err.split("\n")], None
        stdin = case.get("stdin")
        argv = words(COMMANDS[case.command.kind], case.command.arg)
        result = execute(argv, folder, stdin.text() if stdin else "")
        return judge(case, *result), result


def update(case, result):
    """Rewrites the expected sections that are there; false if the outcome cannot be written down."""
    code, out, err = result
    if isinstance(code, str):
        return False
    if case.get("expect"):
        case.get("expect").replace(out)
    if case.get("expect-err"):
        case.get("expect-err").replace(err)
    if case.get("exit"):
        case.get("exit").arg = str(code)
    return not judge(case, code, out, err)


# --- the whole ---------------------------------------------------------------------------------------

def select(filters):
    """The files and cases that the filters name: [(file, [case])]."""
    chosen = []
    for path in sorted(GOLDEN.glob("*/*.test")):
        suite = path.relative_to(GOLDEN).with_suffix("").as_posix()
        hits = [f.partition(":") for f in filters
                if f.partition(":")[0] in (suite, suite.split("/")[0])]
        if filters and not hits:
            continue
        file = GoldenFile(path)
        names = {name for _, colon, name in hits if colon}
        whole = not filters or any(not colon for _, colon, _ in hits)
        cases = [c for c in file.cases if whole or c.name in names]
        if cases:
            chosen.append((file, cases))
    return chosen


def report(case, problems):
    check = "check-asan" if os.environ.get("RELAX_VARIANT") == "asan" else "check"
    print(f"FAILED {case.file.suite}: {case.name}   ({case.file.where(case.line)})")
    print("\n".join(problems[:200]))
    print("    alone: make " + check + " T=" + shlex.quote(f"{case.file.suite}:{case.name}"), flush=True)


def main():
    parser = argparse.ArgumentParser(description="runs golden text files")
    parser.add_argument("filters", nargs="*", metavar="ROOM[/FILE[:CASE]]")
    parser.add_argument("--update", action="store_true", help="rewrite the expected sections in place")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    if not Path(TOOL).exists():
        sys.exit(f"{TOOL} is not there: run make first, or set RELAX")
    try:
        chosen = select(args.filters)
    except (Malformed, UnicodeDecodeError) as error:
        print(f"FAILED {error}\n0 passed, 1 failed")
        return 1
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for file, cases in chosen:
            changed = False
            for case, (problems, result) in zip(cases, pool.map(run_case, cases)):
                if problems and args.update and result:
                    changed = True
                    problems = [] if update(case, result) else problems
                if problems:
                    report(case, problems)
                elif args.verbose:
                    print(f"ok     {file.suite}: {case.name}")
                passed, failed = passed + (not problems), failed + bool(problems)
            if changed:
                file.write()
                print(f"updated {file.path.relative_to(TOP)}")
    if passed + failed == 0:
        print("no case is called " + " or ".join(args.filters) if args.filters else "no golden file found")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


TOOL = os.path.abspath(os.environ.get("RELAX", str(TOP / "bin" / "relax")))
TIMEOUT = int(os.environ.get("RELAX_CASE_TIMEOUT", "300"))   # a net for what hangs, far above what a case needs
# A sanitizer's own exit code must not look like "the program is at fault", which is 1.
SANITIZER_EXIT = 99
for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if "exitcode=" not in os.environ.get(variable, ""):
        os.environ[variable] = (os.environ.get(variable, "") + f":exitcode={SANITIZER_EXIT}").lstrip(":")

if __name__ == "__main__":
    sys.exit(main())
