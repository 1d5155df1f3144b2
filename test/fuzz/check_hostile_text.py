#!/usr/bin/env python3
"""Generated hostile texts through the tool: read and checked, printed, built. Each ends soon and in little memory, in acceptance or
in a located error, on a stack of the size that the library asks for; what is accepted prints a text that is accepted and prints the same. In earnest (RELAX_LONG) the texts are
100,000 deep or 10 MB long, else a fiftieth of that, and every third of the large ones is taken. One case: its name, or a part of it, as argument."""
import os
import re
import resource
import subprocess
import sys
import tempfile

import hostile_text

RELAX = os.environ.get("RELAX", "bin/relax")
LONG = bool(os.environ.get("RELAX_LONG"))
SANITIZED = os.environ.get("RELAX_VARIANT") == "asan"
DEPTH = 100000 if LONG else 2000
SECONDS = 10 * (8 if SANITIZED else 1)      # of processor time; a quiet machine needs one
BYTES = 1 << 30
STACK = 256 << 10                           # see relax/context.h
MOST_SAID = 300000                          # bytes on standard error: a hundred messages
LARGE = 30 << 20                            # printed text beyond this is not read again


class Run:
    def __init__(self, folder, *args):
        out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen([RELAX, *args], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, preexec_fn=self.limit)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = self.code = os.waitstatus_to_exitcode(status)
        self.seconds, self.bytes = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        self.said = os.path.getsize(err)
        with open(err, "rb") as f:
            self.err = f.read(MOST_SAID).decode("utf-8", "replace")
        self.out = out

    @staticmethod
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))

    def problem(self):
        if self.code not in (0, 1):
            return f"ended with {self.code} after {self.seconds:.2f} s"
        if self.code == 1 and not re.search(r"\.py:\d+:\d+: error\[(?!IN)", self.err):
            return "refused without an error that has a place"
        if self.said > MOST_SAID:
            return f"said {self.said} bytes"
        return None


def try_text(folder, text):
    """What does not hold, or None; and what it took."""
    path = os.path.join(folder, "m.py")
    with open(path, "wb") as f:
        f.write(text)
    slowest = most = 0
    build, show = ("build", path, "-o", os.path.join(folder, "m.rlx")), ("print", path)
    for args in (("check", path), show, build) if LONG else (build, show): # a build reads and checks as well
        run = Run(folder, *args)
        slowest, most = max(slowest, run.seconds), max(most, run.bytes)
        if run.problem():
            return f"{args[0]}: {run.problem()}: {run.err[:300]}", slowest, most
        if args[0] != "print" and run.code and "error[CG" not in run.err:
            break
        if args[0] == "print" and run.code == 0 and os.path.getsize(run.out) < LARGE:
            again = os.path.join(folder, "again.py")
            os.rename(run.out, again)
            run = Run(folder, "print", again)
            with open(again, "rb") as first, open(run.out, "rb") as second:
                if run.code or first.read() != second.read():
                    return f"what was printed does not print the same: {run.err[:300]}", slowest, most
    return None, slowest, most


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    passed = failed = 0
    took = []
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        for number, (name, text) in enumerate(hostile_text.cases(DEPTH)):
            if wanted not in name or not (LONG or wanted or number % 3 == 0 or name.startswith("odd bytes")):
                continue
            problem, seconds, size = try_text(folder, text)
            took.append((seconds, size, name))
            passed, failed = passed + (not problem), failed + bool(problem)
            if problem:
                print(f"FAIL {name} ({len(text)} bytes): {problem}")
    print("slowest: " + "; ".join(f"{name} {seconds:.2f} s" for seconds, _, name in sorted(took, reverse=True)[:8]))
    print("largest: " + "; ".join(f"{name} {size >> 20} MB" for _, size, name in sorted(took, key=lambda t: -t[1])[:5]))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
