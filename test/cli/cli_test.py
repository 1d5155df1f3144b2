"""What the command line tests share: running the tool, comparing, counting."""
import os
import subprocess
import sys
import tempfile

RELAX = os.environ.get("RELAX", "bin/relax")
TOP = os.environ.get("TOP", os.getcwd())


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
        if args and args[0] == "run" and os.environ.get("RELAX_TEST_NATIVE"):
            args = [*args, "--allow-native"]
        variables = {k: v for k, v in {**os.environ, **(env or {})}.items() if v is not None}
        r = subprocess.run([RELAX, *args], input=data if data is not None else b"", capture_output=True, timeout=600, cwd=self.dir, env=variables)
        return r.returncode, r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")

    def check(self, what, ok, detail=""):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {what}: {detail}")
        return ok

    def equal(self, what, got, want):
        return self.check(what, got == want, f"wanted {want!r}, got {got!r}")

    def fails(self, what, args, code, exit_code=1, text=None, stdin=None):
        """The command ends with the exit code and names the diagnostic code; nothing on standard output is needed."""
        rc, out, err = self.run(*args, stdin=stdin)
        ok = rc == exit_code and (code is None or f"error[{code}]" in err) and (text is None or text in err)
        return self.check(what, ok, f"exit {rc}, wanted {exit_code} with {code} {text or ''}; stderr: {err[:400]!r}")

    def done(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)
