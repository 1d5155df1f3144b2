#!/usr/bin/env python3
"""Target c: what the compiler makes, what happens when it does not, where compiled kernels are kept, native code in files."""
import ctypes
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import time

import numpy as np

from cli_test import RELAX, Suite

s = Suite()
CC = os.environ.get("CC") or "cc"
os.mkdir(s.path("tmp"))
BASE = {"RELAX_CC": CC, "TMPDIR": s.path("tmp"), "XDG_CACHE_HOME": s.path("xdg")}
os.mkdir(s.path("xdg"))

HEAD = '''@I.ir_module
class Module:
'''
PROGRAM = HEAD + '''    @R.function
    def main(x: R.Tensor(("n", 10), "float32")) -> R.Tensor(("n", 10), "float32"):
        with R.dataflow():
            a = R.nn.softmax(R.multiply(x, R.const(1.5, "float32")))
            y = R.add(a, x)
            R.output(y)
        return y
'''
X = np.random.default_rng(3).standard_normal((37, 10)).astype("float32")
np.save(s.path("x.npy"), X)
s.write("p.py", PROGRAM)


def nothing_left(what):
    left = os.listdir(s.path("tmp"))
    s.check(f"{what}: nothing stays in TMPDIR", not left, left)
    for name in left:
        shutil.rmtree(s.path("tmp/" + name), ignore_errors=True)


def run(what, *args, program="p.py", env=None, code=0, output=True, given="x.npy"):
    """(profile, stderr, result)."""
    for name in ("prof.json", "out"):
        shutil.rmtree(s.path(name), ignore_errors=True)
    options = ["--input", given, "--output", "out", "--profile", "prof.json", *args]
    rc, out, err = s.run("run", program, *options, env={**BASE, **(env or {})})
    s.check(f"{what}: exit", rc == code, f"exit {rc}: {err[-800:]}")
    nothing_left(what)
    if rc or not output:
        return {}, err, None
    with open(s.path("prof.json")) as f:
        return json.load(f), err, np.load(s.path("out/0.npy"))


_, _, WANT = run("interpreted", "--target", "interp", env={"RELAX_CC": ""})


def compiled(what, *args, processes, warnings="", env=None, program="p.py", want=WANT):
    profile, err, got = run(what, "--target", "c", *args, env=env, program=program)
    s.equal(f"{what}: compiler processes", profile.get("compiler_processes"), processes)
    s.check(f"{what}: kernels are native", profile.get("native_kernels", 0) > 0, profile)
    s.check(f"{what}: numbers", want is None or (got is not None and np.array_equal(got, want)), got)
    s.check(f"{what}: messages", err == "" if not warnings else warnings in err, err)


def running_in(folder):
    """Command lines of the processes that work in `folder`, whoever is their parent now."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd").startswith(folder):
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    found.append(f.read().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:     # ended meanwhile, or not ours to look at
            pass
    return found


def interpreted(what, text, *args, env=None, code="CG13"):
    """The compiler is of no use: a warning, and the same numbers."""
    profile, err, got = run(what, "--target", "c", "--cache", "", *args, env=env)
    s.equal(f"{what}: no native kernel", profile.get("native_kernels"), 0)
    s.check(f"{what}: numbers", got is not None and np.array_equal(got, WANT), got)
    s.check(f"{what}: says why", f"warning[{code}]" in err and text in err, err[:600])


def script(name, text):
    path = s.write(name, "#!/bin/sh\nfor a; do case \"$last\" in -o) out=$a;; esac; case $a in *.c) in=$a;; esac; last=$a; done\n" + text)
    os.chmod(path, 0o755)
    return {"RELAX_CC": f'"{path}"'}


# ---- the cache
compiled("first run", processes=1)
compiled("second run", processes=0)
compiled("the first again", processes=0)
profile, err, _ = run("default target", "--cache", s.path("unused"), env=script("never", f"touch {s.path('asked')}; exit 3"))
s.check("bytecode is the default", profile["native_kernels"] == 0 and not err, (profile, err))
s.check("and starts no compiler, makes no cache", not os.path.exists(s.path("asked")) and not os.path.exists(s.path("unused")))
compiled("other flags", processes=1, env={"RELAX_CC": f"{CC} -O1"})
compiled("no cache", "--cache", "", processes=1)
compiled("a cache of one's own", "--cache", s.path("own"), processes=1)
compiled("a cache of one's own, again", "--cache", s.path("own"), processes=0)
s.equal("mode of the cache", os.stat(s.path("own")).st_mode & 0o777, 0o700)


def entries(directory="own"):
    return [os.path.join(s.path(directory), name) for name in sorted(os.listdir(s.path(directory)))]


def spoil(what, change, processes=1):
    change(entries()[0])
    compiled(what, "--cache", s.path("own"), processes=processes)
    s.check(f"{what}: one good entry", len(entries()) == 1 and os.path.isfile(entries()[0]) and not os.path.islink(entries()[0]), entries())


def patch(path, at, data):
    with open(path, "r+b") as f:
        f.seek(at if at >= 0 else os.path.getsize(path) + at)
        f.write(data)


def to_link(path):
    os.rename(path, s.path("elsewhere"))
    os.symlink(s.path("elsewhere"), path)


spoil("a byte of an entry changed", lambda p: patch(p, 5000, b"\xaa\x55\xaa"))
spoil("the digest of an entry changed", lambda p: patch(p, 12, b"\x00\x00\x00"))
spoil("an entry cut short", lambda p: os.truncate(p, 3000))
spoil("an empty entry", lambda p: os.truncate(p, 0))
spoil("an entry that is a link", to_link)
spoil("an entry that others may write", lambda p: os.chmod(p, 0o666))
spoil("an entry that is fine", lambda p: None, processes=0)
os.mkfifo(s.path("own/fifo"))
compiled("a pipe in the cache", "--cache", s.path("own"), processes=0)

os.symlink(s.path("own"), s.path("link"))
os.mkdir(s.path("open"), 0o755)
os.chmod(s.path("open"), 0o755)
s.write("file", "no directory")
for name, why in (("link", "link"), ("open", "0700"), ("file", "no directory"), ("none/none", "made")):
    compiled(f"cache {name}", "--cache", s.path(name), processes=1, warnings=f"warning[CG17]")
    _, err, _ = run(f"cache {name}", "--target", "c", "--cache", s.path(name))
    s.check(f"cache {name}: why", why in err, err)
if os.geteuid() == 0:
    os.mkdir(s.path("foreign"), 0o700)
    os.chown(s.path("foreign"), 12345, 12345)
    compiled("cache of somebody else", "--cache", s.path("foreign"), processes=1, warnings="warning[CG17]")
    s.equal("nothing was put there", os.listdir(s.path("foreign")), [])

# ---- compilers that are none
interpreted("missing", "there is no such program", env={"RELAX_CC": "/nowhere/cc"})
interpreted("not on the path", "there is no such program", env={"RELAX_CC": "no-such-compiler-anywhere"})
interpreted("empty", "no C compiler is named", env={"RELAX_CC": "  "})
interpreted("a directory", "there is no such program", env={"RELAX_CC": s.dir})
interpreted("failing", "it failed", env=script("failing", "echo 'kernel trouble' >&2; exit 3"))
_, err, _ = run("failing", "--target", "c", "--cache", "", env=script("failing", "echo 'kernel trouble' >&2; exit 3"))
s.check("what it said is shown", "kernel trouble" in err, err)
interpreted("killed", "it failed", env=script("killed", "kill -SEGV $$"))
interpreted("talkative", "it failed", env=script("talkative", "head -c 3000000 /dev/zero | tr '\\0' x; exit 1"))
interpreted("lying", "made nothing", env=script("lying", "exit 0"))
interpreted("making text", "no shared object", env=script("text", "echo hello > $out"))
interpreted("making nothing much", "made nothing", env=script("zero", ": > $out"))
interpreted("making a link", "made nothing", env=script("linking", f"{CC} -shared -fPIC -w -o $out.so $in -lm && ln -s $out.so $out"))
interpreted("another machine", "no shared object", env=script("arch", f"{CC} \"$@\" && printf '\\363' | dd of=$out bs=1 seek=18 conv=notrunc 2>/dev/null"))
interpreted("cut short", "no shared object", env=script("cut", f"{CC} \"$@\" && head -c 5000 $out > $out.2 && mv $out.2 $out"))
interpreted("another program", "no shared object", env=script("other", f"echo 'int x;' > $in; {CC} \"$@\""))
interpreted("another version", "another version", env=script("version", f"sed -i 's/^    RELAX_KERNEL_ABI,/    99,/' $in; {CC} \"$@\""))
interpreted("fewer kernels", "another program", env=script("fewer", f"sed -i 's/^    RELAX_KERNEL_ABI, [0-9]*,/    RELAX_KERNEL_ABI, 1,/' $in; {CC} \"$@\""))
interpreted("unresolved", "kernels are interpreted", env=script("unresolved", f"echo 'int nowhere(void); int here(void) {{ return nowhere(); }}' >> $in; {CC} \"$@\""))
interpreted("hanging", "took too long", "--timeout", "0.5", env=script("hanging", "sleep 1000 & sleep 1000"))
interpreted("hanging on with its output closed", "took too long", "--timeout", "0.5", env=script("silent", "exec >&- 2>&-; sleep 1000"))
interpreted("no temporary directory", "no temporary directory", env={"TMPDIR": s.path("not/there")})
# behind a script nobody sees that it is clang, which is asked a second time
once = 2 if "clang" in CC else 1
compiled("leaving a child behind", "--cache", "", processes=once, env=script("background", f"sleep 1000 & {CC} \"$@\""))
compiled("words and quotes", "--cache", "", processes=1, env={"RELAX_CC": f"{CC} '-DA=\"b c\"' -DB=x\\ y"})
os.mkdir(s.path("with blanks"))
env = script("with blanks/my cc", f"exec {CC} \"$@\"")
compiled("a path with blanks", "--cache", "", processes=once, env=env)
left = running_in(str(s.dir))
s.check("what compilers started is gone", not left, left)

# ---- a tool that is ended takes compiler and directory with it
ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def start(env, ignored=()):
    """A run that waits for its compiler, beside others. Of the signals that end it, it ignores these, whatever we ourselves
    were started with (nohup)."""
    def set_signals():
        for number in ENDINGS:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    before = sum("sleep 1000" in line for line in running_in(str(s.dir)))
    tool = subprocess.Popen([RELAX, "run", "p.py", "--target", "c", "--cache", "", "--input", "x.npy"], cwd=s.dir, env={**os.environ, **BASE, **env}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, preexec_fn=set_signals)
    for _ in range(1000):
        if sum("sleep 1000" in line for line in running_in(str(s.dir))) >= before + 2:
            break
        time.sleep(0.01)
    return tool


def gone():
    for _ in range(200):
        if not running_in(str(s.dir)):
            return True
        time.sleep(0.01)
    return False


WAITING = script("waiting", "sleep 1000 & sleep 1000")
for number in ENDINGS:
    tool = start(WAITING)
    tool.send_signal(number)
    out, err = tool.communicate(timeout=60)
    s.equal(f"ended by {number.name}", (tool.returncode, out, err), (-number, "", ""))
    s.check(f"{number.name}: compilers are gone", gone(), running_in(str(s.dir)))
    nothing_left(number.name)
tool = start(WAITING, ignored=(signal.SIGHUP,))
tool.send_signal(signal.SIGHUP)
time.sleep(0.1)
s.check("a signal that the caller has ignored", tool.poll() is None)
tool.send_signal(signal.SIGTERM)
tool.communicate(timeout=60)
nothing_left("an ignored signal")
first, second = start(WAITING), start(WAITING)
first.kill()
first.communicate()
s.equal("killed: directories", len(os.listdir(s.path("tmp"))), 2)
second.send_signal(signal.SIGTERM)
second.communicate(timeout=60)
os.mkdir(s.path("tmp/relax-others"), 0o700)
s.write("tmp/relax-others/file", "no lock: somebody is about to begin")
s.check("killed: its compiler goes on", running_in(str(s.dir)))
rc, out, err = s.run("run", "p.py", "--target", "c", "--cache", "", "--input", "x.npy", env=BASE)
s.equal("killed: the next one", (rc, err), (0, ""))
s.check("killed: the next one ends its compiler", gone(), running_in(str(s.dir)))
s.equal("killed: the next one takes its directory, and no other", os.listdir(s.path("tmp")), ["relax-others"])
shutil.rmtree(s.path("tmp/relax-others"))

# ---- what a compiler may take
interpreted("memory", "2097152", env=script("memory", "ulimit -v >&2; exit 1"))
interpreted("memory given", "1024000", "--compiler-memory", "1048576000", env=script("memory", "ulimit -v >&2; exit 1"))
interpreted("too little memory", "failed", "--compiler-memory", "20000000")

# ---- where compilers are looked for
for where in ("bin", "here"):
    os.mkdir(s.path(where))
    s.write(f"{where}/my-cc", f"#!/bin/sh\necho {where} >> {s.path('called')}\nexec {shutil.which(CC)} \"$@\"\n")
    os.chmod(s.path(f"{where}/my-cc"), 0o755)
shutil.copy(s.path("here/my-cc"), s.path("my-cc"))
SYSTEM = os.environ["PATH"]
for path, found in ((f"{s.path('bin')}:{SYSTEM}", True), (f":{SYSTEM}", False), (f"{SYSTEM}:", False), (f".:{SYSTEM}", False), (f"here:{SYSTEM}", False), (f"::here:.:{s.path('bin')}:{SYSTEM}", True),
                    ("", False), (":", False)):
    rc, out, err = s.run("run", "p.py", "--target", "c", "--cache", "", "--input", "x.npy", env={**BASE, "RELAX_CC": "my-cc", "PATH": path})
    s.check(f"PATH={path}", rc == 0 and (not err if found else "no such program" in err), err)
s.equal("programs that ran", set(open(s.path("called")).read().split()), {"bin"})
interpreted("PATH that a compiler sees", "PATH=/usr/bin:/bin.", env={**script("path", 'echo "PATH=$PATH." >&2; exit 1'), "PATH": ":/usr/bin:.::bin:/bin:"})
for command in ("'cc", 'cc "-DX=1', "cc '", f"{CC} -O1 \\\"'"):
    rc, out, err = s.run("run", "p.py", "--target", "c", "--cache", "", "--input", "x.npy", env={**BASE, "RELAX_CC": command})
    s.check(f"RELAX_CC={command}", rc == 1 and not out and "error[OP05]" in err and "quote" in err, (rc, err))

# ---- a parent that ignores SIGCHLD: nobody learns how the compiler ended
r = subprocess.run([RELAX, "run", "p.py", "--target", "c", "--cache", "", "--input", "x.npy", "--output", "out", "--profile", "prof.json"], cwd=s.dir,
                   env={**os.environ, **BASE}, capture_output=True, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), check=False)
with open(s.path("prof.json")) as f:
    profile = json.load(f)
s.check("SIGCHLD ignored", r.returncode == 0 and profile["native_kernels"] > 0 and not r.stderr, r.stderr)
for name, text in (("failing", "failed"), ("lying", "made nothing")):
    r = subprocess.run([RELAX, "run", "p.py", "--target", "c", "--cache", "", "--input", "x.npy"], cwd=s.dir, env={**os.environ, **BASE, "RELAX_CC": f'"{s.path(name)}"'},
                       capture_output=True, text=True, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), check=False)
    s.check(f"SIGCHLD ignored, {name}", r.returncode == 0 and "warning[CG13]" in r.stderr, r.stderr)
nothing_left("SIGCHLD ignored")


# ---- no room for what is written
def small_files(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


for what, size, text in (("source", 3000, "cannot be written"), ("object", 15500, "failed")):
    r = subprocess.run([RELAX, "run", "p.py", "--target", "c", "--cache", s.path("full"), "--input", "x.npy"], cwd=s.dir, env={**os.environ, **BASE},
                       capture_output=True, text=True, preexec_fn=lambda size=size: small_files(size), check=False)
    s.check(f"no room for the {what}", r.returncode == 0 and "warning[CG13]" in r.stderr and text in r.stderr and r.stdout, r.stderr)
    nothing_left(f"no room for the {what}")

# ---- many kernels, few processes
def many(constant):
    """100 PrimFuncs, each with a constant of its own."""
    text = HEAD
    for i in range(100):
        text += f'''    @T.prim_func(private=True)
    def k{i}(A: T.Buffer((T.int64(20),), "float32"), B: T.Buffer((T.int64(20),), "float32")):
        for i in range(20):
            with T.block("b"):
                v = T.axis.spatial(20, i)
                B[v] = A[v] + T.float32({constant if i == 70 else i})

'''
    text += "    @R.function\n    def main(x: R.Tensor((20,), \"float32\")):\n        cls = Module\n        a = x\n"
    for i in range(100):
        text += f'        a{i} = R.call_tir(cls.k{i}, ({"x" if i == 0 else f"a{i - 1}"},), out_sinfo=R.Tensor((20,), "float32"))\n'
    return text.replace("        a = x\n", "") + "        return a99\n"


np.save(s.path("y.npy"), np.zeros(20, dtype="float32"))
for constant, least, most in ((0, 1, 4), (0, 0, 0), (5, 1, 1), (5, 0, 0)):
    s.write("many.py", many(constant))
    profile, err, got = run("many kernels", "--target", "c", given="y.npy", program="many.py")
    s.check("many kernels: processes", least <= profile["compiler_processes"] <= most and profile["native_kernels"] == 100 and not err, (profile["compiler_processes"], err))
    s.check("many kernels: numbers", (got == sum(range(100)) - 70 + constant).all(), got)

# ---- kernels that are faster as bytecode leave it long calls
s.write("choice.py", HEAD + '''    @R.function
    def main(x: R.Tensor((64, 100), "float32"), y: R.Tensor(("n",), "float32")):
        a = R.exp(x)
        b = R.sqrt(x)
        c = R.tanh(y)
        d = R.nn.softmax(x)
        return (a, b, c, d)
''')
np.save(s.path("cx.npy"), np.abs(np.resize(X, (64, 100))))
wants = {}
for count in (5, 50000):
    np.save(s.path("cy.npy"), np.resize(X, count))
    for target in ("interp", "c"):
        profile, err, got = run("the choice", "--target", target, "--input", "cy.npy", given="cx.npy", program="choice.py")
        native, is_c = {k["name"]: k["native"] for k in profile["kernels"]}, int(target == "c")
        s.equal(f"the choice for {target}: native calls", (native, profile["native_kernels"], err),
                ({"exp": 0, "sqrt": is_c, "tanh": is_c * (count == 5), "softmax": 0}, 4 * is_c, ""))
        results = [open(s.path(f"out/{i}.npy"), "rb").read() for i in range(4)]
        s.equal(f"the choice for {target}: numbers", results, wants.setdefault(count, results))

# ---- native code in files
rc, out, err = s.run("build", "p.py", "-o", "c.rlx", "--target", "c", env=BASE)
s.equal("build", (rc, err), (0, ""))
rc, out, err = s.run("build", "p.py", "-o", "here.rlx", "--target", "c", "--cpu", "native", env=BASE)
s.equal("build for this CPU", (rc, err), (0, ""))
rc, out, err = s.run("build", "p.py", "-o", "i.rlx", "--target", "interp", env=BASE)
s.equal("build without", (rc, err), (0, ""))


def from_file(what, name, native, *args, why=None):
    """why: in the warning that says so."""
    profile, err, got = run(what, *args, program=name, env={"RELAX_CC": ""})
    s.check(f"{what}: what is said", not err if why is None else "warning[LD18]" in err and why in err and err.count("\n") == 1, err)
    s.check(f"{what}: native {native}", (profile.get("native_kernels", 0) > 0) == native and profile.get("compiler_processes") == 0, (profile, err))
    s.check(f"{what}: numbers", got is not None and np.array_equal(got, WANT), got)


from_file("a file, allowed", "c.rlx", True, "--allow-native")
from_file("a file, not allowed", "c.rlx", False)
from_file("a file for this CPU", "here.rlx", True, "--allow-native")
from_file("a file without", "i.rlx", False, "--allow-native")
rc, out, err = s.run("dis", "c.rlx", "--verify")
s.check("the verifier knows the section", rc == 0 and "sound" in out, err)


def crc32c(data):
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    crc = 0xFFFFFFFF
    for b in data:
        crc = crc >> 8 ^ table[(crc ^ b) & 255]
    return crc ^ 0xFFFFFFFF


def altered(change, name="c.rlx"):
    """A copy of the file with its native section changed and all checksums right again."""
    data = bytearray(open(s.path(name), "rb").read())
    count = struct.unpack_from("<I", data, 16)[0]
    for i in range(count):
        at = 64 + 32 * i
        kind, _, offset, length = struct.unpack_from("<IIQQ", data, at)
        if kind == 10:
            section = data[offset:offset + length]
            change(section)
            data[offset:offset + length] = section
            struct.pack_into("<I", data, at + 4, crc32c(section))
    struct.pack_into("<I", data, 20, 0)
    struct.pack_into("<I", data, 20, crc32c(data[:64 + 32 * count]))
    s.write("altered.rlx", bytes(data))


def put(at, form, *values):
    return lambda section: struct.pack_into(form, section, at, *values)


altered(lambda section: None)
from_file("a copy", "altered.rlx", True, "--allow-native")
altered(put(16, "<16s", b"m68k-amiga"))
from_file("for another machine", "altered.rlx", False, "--allow-native", why="kind of machine")
from_file("for another machine, not allowed", "altered.rlx", False)
altered(put(48, "<16s", b"a-different-cpu"))
from_file("for another CPU", "altered.rlx", False, "--allow-native", why="another CPU")
altered(put(0, "<I", 7))
from_file("of another version", "altered.rlx", False, "--allow-native", why="another version")
HEAD_BYTES, OBJECT = 144, 72
altered(lambda section: section.__setitem__(-900, section[-900] ^ 0xFF))
from_file("a changed object, not allowed", "altered.rlx", False)
s.fails("a changed object", ["run", "altered.rlx", "--input", "x.npy", "--allow-native"], "LD18")
for what, change in (("an object outside", put(HEAD_BYTES, "<Q", 1 << 40)), ("an object at an odd place", put(HEAD_BYTES, "<Q", 65)),
                     ("an object too long", put(HEAD_BYTES + 8, "<Q", 1 << 50)), ("too many objects", put(4, "<I", 60000)), ("too few kernels", put(8, "<I", 1)),
                     ("a kernel that is not there", put(HEAD_BYTES + OBJECT, "<I", 0xFFFE)), ("target without an end", put(16, "<32s", b"x" * 32)),
                     ("reserved bytes", put(12, "<I", 1))):
    altered(change)
    s.fails(what, ["run", "altered.rlx", "--input", "x.npy"], "LD05")
    s.fails(what + ", allowed", ["run", "altered.rlx", "--input", "x.npy", "--allow-native"], "LD05")

# ---- failures inside of kernels: the same codes
TIR = '''@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(A: T.Buffer((T.int64(8),), "int32"), B: T.Buffer((T.int64(8),), "int32")):
        for i in range(8):
            with T.block("b"):
                v = T.axis.spatial(8, i)
                B[v] = BODY

    @R.function
    def main(x: R.Tensor((8,), "int32")):
        cls = Module
        y = R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((8,), "int32"))
        return y
'''
np.save(s.path("i.npy"), np.array([3, 1, 0, 2, 7, 5, 6, 4], dtype="int32"))
np.save(s.path("j.npy"), np.array([3, 1, 8, 2, 7, 5, 6, -4], dtype="int32"))
for body, bad in (("A[A[v]]", "RT09"), ("100 // A[v]", "RT14"), ("T.shift_left(1, A[v])", "RT14"), ("A[v + 1]", "RT09")):
    s.write("k.py", TIR.replace("BODY", body))
    for values in ("i.npy", "j.npy"):
        results = []
        for target in ("interp", "c"):
            rc, out, err = s.run("run", "k.py", "--target", target, "--input", values, env=BASE)
            results.append((rc, out, err.replace("kernel", "")))
        s.check(f"{body} of {values}: the same", results[0] == results[1], results)
    s.check(f"{body}: the code", rc == 0 or f"error[{bad}]" in err, err)
s.write("k.py", TIR.replace("BODY", "A[A[v]]"))
rc, out, err = s.run("run", "k.py", "--target", "c", "--unchecked", "--input", "i.npy", env=BASE)
s.check("unchecked, in range", rc == 0 and "[2, 1, 3, 0," in out, (out, err))
s.write("k.py", TIR.replace("BODY", 'T.call_extern("int32", "system", A[v])'))
s.fails("a function that nobody registered", ["run", "k.py", "--input", "i.npy", "--target", "c"], "CG07", text='call_extern of "system"')

# ---- a long kernel ends when it should
s.write("long.py", TIR.replace("BODY", "A[v]").replace("range(8)", "range(8)").replace("                B[v] = A[v]", '''                for j, k in T.grid(2000000, 3000000):
                    B[v] = B[v] * 3 + T.bitwise_xor(A[v], T.Cast("int32", k))'''))
profile, err, _ = run("a long kernel", "--target", "c", "--timeout", "1.5", given="i.npy", program="long.py", code=1, output=False)
s.check("a long kernel is stopped", "error[RT12]" in err, err)

# and one that spends its time in sums of products, which it hands to its caller
s.write("square.py", '''@I.ir_module
class Module:
    @R.function
    def main(s: R.Shape(["n"])) -> R.Tensor(("n", "n"), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.full(R.shape([n, n]), R.const(1, "float32"), "float32")
            y = R.matmul(a, a)
            R.output(y)
        return y
''')
s.equal("squares of matrices", s.run("build", "square.py", "--target", "c", "-o", "square.rlx", env=BASE), (0, "", ""))


def spend(*args):
    """What a run of them ends with, and the processor time that it takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    rc, _, err = s.run("run", "square.rlx", "--allow-native", "--profile", "square.json", "--input", "shape:3000", *args, env=BASE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return rc, err, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


rc, err, whole = spend()
with open(s.path("square.json"), encoding="utf-8") as f:
    s.check("squares of matrices, whole", rc == 0 and not err and json.load(f)["native_kernels"] == 2, (rc, err))
rc, err, part = spend("--timeout", "0.1")
s.check("a long sum of products is stopped", rc == 1 and "error[RT12]" in err, (rc, err))
s.check("and soon", part < whole * .7, f"{part:.2f} s of processor time, all of it takes {whole:.2f}")

# ---- C to read
rc, out, err = s.run("build", "p.py", "--emit", "c", "-o", "src")
s.equal("emit", (rc, err, sorted(os.listdir(s.path("src")))), (0, "", ["kernels.c", "relax_kernels.h"]))
for compiler in ("gcc", "clang"):
    if shutil.which(compiler):
        r = subprocess.run([compiler, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-O1", "-fPIC", "-shared", "-o", s.path("k.so"), s.path("src/kernels.c"), "-lm"],
                           capture_output=True, text=True, check=False)
        s.check(f"{compiler} has nothing to say", r.returncode == 0 and not r.stderr, r.stderr[:1500])
        r = subprocess.run([compiler, "-std=c99", "-fsyntax-only", "-Wall", "-Werror", "-x", "c", s.path("src/relax_kernels.h")], capture_output=True, text=True, check=False)
        s.check(f"{compiler}: the header alone", r.returncode == 0, r.stderr[:800])
library = ctypes.CDLL(s.path("k.so"))
s.equal("version in the library", ctypes.c_uint32.in_dll(library, "relax_kernels").value, 6)
rc, out, err = s.run("build", "p.py", "--emit", "c", "-o", s.path("file"))
s.check("emit to a file", rc == 1 and "IO03" in err, err)
s.done()
