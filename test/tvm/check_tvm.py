"""What TVM 0.27 makes of our texts: `make check-tvm`, outside of `make check`, as it needs that package.

    check_tvm.py RELAX FILE...      FILE: programs, or golden files, of which the expected programs count

Each program is printed for TVM 0.27, read by it, printed by it, read by us and printed for it again: TVM must read both texts, as
modules that are structurally equal. Programs that `relax check` refuses, and what TVM has no text for (NOT_FOR_TVM), are left out.
doc/tvmscript.md says the reasons of what is listed here."""
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
# What 0.27 reads, and does not say again: sizes that a scalar parameter names, descriptions of packed functions.
MEANT = re.compile(r'R\.Prim\(value="\w+"\)|derive_func=')
# What 0.27 says of programs that it reads, and finds fault with where 0.20 does not, or infers other sizes.
DIFFERS = ("DataflowVar cannot be used as a dependent type", r"Var \w+ is not defined", r"R\.cumprod\(x7, axis=None", r"R\.arange\(10, 0, -1",
           r"R\.layout_transform\(y, index_map=T\.index_map\(lambda i: \(2 - i", r"(?s)R\.layout_transform.*is_zero\(range->min\)",
           "redistribute_replica_to_shard should have defined shape")
# What 0.27 says where it cannot read what 0.20 can.
UNREADABLE = ("default for relax.DTensorType", r"got `ffi\.BigInt`", r"T\.Not\(0\)", r"T\.Add\(n, 0\)", "no attribute 'inspect'", r"got `Array\[index 0: ir\.Var\]`",
              "IRModule frame not find", "type mismatch: expected T.int32, given T.int64", r"tvm_access_ptr\(\) missing")
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


def read(text):
    """What TVM makes of a text, also of one that it reads and finds fault with as DIFFERS says."""
    try:
        return from_source(text)
    except Exception as e:
        if "not well-formed" not in str(e):
            raise
    module = from_source(text, check_well_formed=False)
    try:
        tvm.relax.analysis.well_formed(module)
    except Exception as e:
        if any(re.search(pattern, str(e)) for pattern in DIFFERS):
            return module
        raise
    return module


def difference(a, b):
    try:
        tvm.ir.assert_structural_equal(a, b, map_free_vars=True)
    except Exception as e:
        return str(e)[:300]
    return ""


def attempt(text):
    """None: left out. An empty string: fine."""
    if NOT_FOR_TVM.search(text) or run(["check"], text)[0]:
        return None
    status, ours, said = run(["print", "--dialect", "0.27"], text)
    if status:
        return "we do not print it: " + said[:200]
    try:
        first = read(ours)
    except Exception as e:
        if any(re.search(pattern, str(e)) for pattern in UNREADABLE):
            return None
        return "TVM does not read it: " + str(e)[:300]
    again = first.script()
    if "metadata[" in again:
        return ""
    try:
        own = read(again)
    except Exception:
        return ""  # TVM does not read what it prints itself
    if MEANT.search(text):
        return ""
    status, second, said = run(["print", "--dialect", "0.27"], again)
    if status:
        return "we do not read what TVM prints: " + said[:300]
    # Where TVM's text is that of another program than it was printed from, it is the text that must come back.
    differs = difference(own if difference(first, own) else first, read(second))
    return "it comes back as another program: " + differs if differs else ""


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
