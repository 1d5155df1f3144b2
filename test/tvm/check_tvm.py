"""What TVM 0.27 makes of our texts: `make check-tvm`, outside of `make check`, as it needs that package.

    check_tvm.py RELAX FILE...      FILE: programs, or golden files, of which the expected programs count

Each program is printed for TVM 0.27, read by it, printed by it, read by us and printed for it again: TVM must read both texts, as
modules that are structurally equal. Programs that `relax check` refuses, and what TVM has no text for (NOT_FOR_TVM), are left out."""
import os, re, subprocess, sys, tempfile

try:
    import tvm
    from tvm.script import from_source
except ImportError:
    print("TVM is not installed: make check-tvm installs it")
    sys.exit(77)

# What 0.27 has no counterpart of, or cannot read itself.
NOT_FOR_TVM = re.compile(r"T\.LetStmt|T\.allocate|metadata\[|buffer_type=|T\.realize|T\.comm_reducer|T\.ptx_|pure_closure|R\.rewriter|"
                         r"tvm_check_return|predicate=|is_size_var|float8")
if len(sys.argv) < 3:  # make check: no part of it, wherever TVM is
    print("compares what make check-tvm names")
    sys.exit(77)
relax, files = sys.argv[1], sys.argv[2:]
passed, left_out, failures = 0, 0, []


def programs(path):
    text = open(path).read()
    if path.endswith(".py"):
        return [(path, text)]
    found = []
    for case in re.split(r"^=== ", text, flags=re.M)[1:]:
        name, _, rest = case.partition("\n")
        for section in re.split(r"^--- ", rest, flags=re.M)[1:]:
            title, _, body = section.partition("\n")
            if title.strip() == "expect" and ("@R.function" in body or "@T.prim_func" in body or "@I.ir_module" in body):
                found.append((f"{path}: {name}", body))
    return found


def run(command, text):
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(text)
        f.flush()
        done = subprocess.run([relax, *command, f.name], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def attempt(text):
    """None: left out. An empty string: fine."""
    if NOT_FOR_TVM.search(text) or run(["check"], text)[0]:
        return None
    status, ours, said = run(["print", "--dialect", "0.27"], text)
    if status:
        return "we do not print it: " + said[:200]
    try:
        first = from_source(ours)
        again = first.script()
    except Exception as e:
        return "TVM does not read it: " + str(e)[:300]
    if "metadata[" in again:
        return ""
    status, second, said = run(["print", "--dialect", "0.27"], again)
    if status:
        return "we do not read what TVM prints: " + said[:300]
    try:
        tvm.ir.assert_structural_equal(first, from_source(second), map_free_vars=True)
    except Exception as e:
        return "it comes back as another program: " + str(e)[:300]
    return ""


for path in files:
    for name, text in programs(path):
        what = attempt(text)
        if what is None:
            left_out += 1
        elif what:
            failures.append(f"FAILED {name}: {what}")
        else:
            passed += 1
print("\n".join(failures))
print(f"{left_out} left out")
print(f"{passed} passed, {len(failures)} failed")
sys.exit(bool(failures))
