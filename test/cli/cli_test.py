"""What the command line tests share: running the tool, comparing, counting."""
import os
import struct
import subprocess
import sys
import tempfile

RELAX = os.path.abspath(os.environ.get("RELAX", "bin/relax"))
TOP = os.environ.get("TOP", os.getcwd())
LONG = bool(os.environ.get("RELAX_LONG"))
NATIVE = bool(os.environ.get("RELAX_TEST_NATIVE"))
CHUNK = 100     # seeds of one child


def seeds(name, count):
    """The seeds that the environment asks for: NAME_SEED alone or with NAME_COUNT, otherwise `count` from 0; fewer under a sanitizer."""
    first = int(os.environ.get(f"{name}_SEED", 0))
    count = count if os.environ.get("RELAX_VARIANT", "release") == "release" else count // 4
    return range(first, first + int(os.environ.get(f"{name}_COUNT", 1 if f"{name}_SEED" in os.environ else count)))


class Suite:
    """Counts checks; the last line is what the runner reads."""

    def __init__(self):
        self.passed = self.failed = 0
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TMPDIR"))

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content):
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(self.path(name), mode) as f:
            f.write(content)
        return self.path(name)

    def run(self, *args, stdin=None, env=None):
        """Exit code, stdout, stderr; a signal is a negative exit code. env: variables to set, or to take away (None)."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        if args and args[0] == "run" and NATIVE:
            args = [*args, "--allow-native"]
        variables = {k: v for k, v in {**os.environ, **(env or {})}.items() if v is not None}
        r = subprocess.run([RELAX, *args], input=data if data is not None else b"", capture_output=True, timeout=600, cwd=self.dir, env=variables)
        return r.returncode, r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")

    def check(self, what, ok, detail="", quiet=False):
        """detail: why not, or a function that says it. quiet: enough was said."""
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            if not quiet:
                print(f"FAIL {what}: {detail() if callable(detail) else detail}")
        return ok

    def equal(self, what, got, want):
        return self.check(what, got == want, f"wanted {want!r}, got {got!r}")

    def fails(self, what, args, code, exit_code=1, text=None, stdin=None):
        """The command ends with the exit code and names the diagnostic code; nothing on standard output is needed."""
        rc, out, err = self.run(*args, stdin=stdin)
        ok = rc == exit_code and (code is None or f"error[{code}]" in err) and (text is None or text in err)
        return self.check(what, ok, f"exit {rc}, wanted {exit_code} with {code} {text or ''}; stderr: {err[:400]!r}")

    def each(self, name, numbers, check, show):
        """check(seed) for each in a child process: what ends it is the failure of one seed. show(seed) if there is one only, or None."""
        if len(numbers) == 1 and show:
            show(numbers[0])
        while numbers:
            sys.stdout.flush()
            source, sink = os.pipe()
            child = os.fork()
            if not child:
                self.check_chunk(numbers[:CHUNK], check, name, sink)
            os.close(sink)
            with os.fdopen(source, "rb") as f:
                seed, passed, failed = list(struct.iter_unpack("qqq", f.read()))[-1]
            status = os.waitpid(child, 0)[1]
            self.passed, self.failed = self.passed + passed, self.failed + failed
            if status or seed not in numbers[:CHUNK][-1:]:
                self.check(f"{name}_SEED={seed}", False, f"ended the process, status {status}")
            numbers = numbers[numbers.index(seed) + 1:]

    def check_chunk(self, numbers, check, name, sink):
        """In the child: says where it is and what it counted."""
        self.passed = self.failed = 0
        for seed in numbers:
            os.write(sink, struct.pack("qqq", seed, self.passed, self.failed))
            if not check(seed):
                print(f"alone: {name}_SEED={seed} {' '.join(sys.argv)}")
        os.write(sink, struct.pack("qqq", numbers[-1], self.passed, self.failed))
        sys.stdout.flush()
        os._exit(0)

    def done(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)
