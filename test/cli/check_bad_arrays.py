#!/usr/bin/env python3
"""Arrays and archives that lie, and compiled programs that want to be shown without end: `relax run` says what is wrong with a
code, exits with 1, and takes neither much time nor much memory. Headers are written by hand: numpy would not."""
import io
import os
import resource
import struct
import sys
import zipfile
import zlib

import numpy as np

from cli_test import Suite

s = Suite()
s.write("one.py", '''@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        return x
    @R.function
    def any(x: R.Object) -> R.Object:
        return x
''')
s.equal("build", s.run("build", "one.py", "-o", "one.rlx"), (0, "", ""))


def npy(header, data=b"", version=(1, 0), length=None, magic=b"\x93NUMPY"):
    head = header if isinstance(header, bytes) else header.encode()
    size = struct.pack("<H" if version[0] < 2 else "<I", len(head) if length is None else length)
    return magic + bytes(version) + size + head + data


def header(descr="'<f4'", order="False", shape="(2, 3)", end=" }"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s,%s" % (descr, order, shape, end)


def fails(what, args, code):
    """Exit 1, one line with a code that begins with `code`."""
    rc, out, err = s.run(*args)
    s.check(what, rc == 1 and not out and err.count("\n") == 1 and f"error[{code}" in err, (rc, out[:200], err[:400]))


def reads(what, data, want=None):
    """The array is read; `want` are the first values shown."""
    s.write("x.npy", data)
    rc, out, err = s.run("run", "one.rlx", "--entry", "any", "--input", "x.npy")
    s.check(what, rc == 0 and not err and (want is None or want in out), (rc, out, err))


def lies(what, data, code):
    s.write("x.npy", data)
    for entry in ("main", "any"):
        fails(f"{what} ({entry})", ["run", "one.rlx", "--entry", entry, "--input", "x.npy"], code)


SIX = np.arange(6, dtype="<f4").tobytes()
# ---- headers that are sound, in every dress
reads("plain", npy(header(), SIX), "float32 (2, 3) [0, 1, 2, 3, 4, 5]")
reads("padded to 64 bytes", npy(header().ljust(117) + "\n", SIX))
reads("padded to 16 bytes", npy(header().ljust(69) + "\n", SIX))
reads("no padding", npy(header(), SIX))
reads("no comma at the end", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", SIX))
reads("another order of keys", npy('{"shape": (2, 3), "fortran_order": False, "descr": "<f4"}', SIX))
reads("no spaces", npy("{'descr':'<f4','fortran_order':False,'shape':(2,3)}", SIX))
reads("version 2", npy(header(), SIX, (2, 0)))
reads("version 3", npy(header(), SIX, (3, 0)))
reads("column-major", npy(header(order="True"), SIX), "[0, 2, 4, 1, 3, 5]")
reads("column-major of rank 1", npy(header(order="True", shape="(6,)"), SIX), "[0, 1, 2, 3, 4, 5]")
reads("column-major and empty", npy(header(order="True", shape="(4294967296, 0, 4294967296)")))
reads("rank 0", npy(header(shape="()"), SIX[:4]))
reads("no elements", npy(header(shape="(0, 9223372036854775807)")))
reads("native order", npy(header(descr="'=f4'"), SIX))
reads("rank 64", npy(header(shape="(" + "1, " * 64 + ")"), SIX[:4]))
reads("a Boolean that is neither 0 nor 1", npy(header(descr="'|b1'", shape="(2,)"), b"\x02\x00"), "[True, False]")

# ---- headers that lie
lies("rank 65", npy(header(shape="(" + "1, " * 65 + ")"), SIX[:4]), "NP02")
for what, shape, code in (("a size of 2^63", "(9223372036854775808, 3)", "NP02"), ("a size of 10^400", f"({10 ** 400}, 3)", "NP02"),
                          ("a negative size", "(-2, 3)", "NP02"), ("two negative sizes", "(-2, -3)", "NP02"), ("a product of 2^64", "(4294967296, 4294967296)", "NP08"),
                          ("a product of 2^64 + 6", "(3, 6148914691236517207, 2)", "NP08"), ("bytes beyond 2^64", "(4611686018427387904,)", "NP08"),
                          ("more than is there", "(2, 4)", "NP04"), ("less than is there", "(2, 2)", "NP04"), ("2^62 elements", "(1152921504606846976,)", "NP04"),
                          ("a number", "6", "NP02"), ("a number in brackets", "(6)", "NP02"), ("a list", "[2, 3]", "NP02"),
                          ("a float", "(2.0, 3)", "NP02"), ("an expression", "(2+0, 3)", "NP02"), ("text", "('2', 3)", "NP02"), ("no end", "(2, 3", "NP02"),
                          ("None", "None", "NP02"), ("a nested one", "((2, 3),)", "NP02"), ("hexadecimal", "(0x2, 3)", "NP02")):
    lies("a shape that is " + what, npy(header(shape=shape), SIX), code)
for descr in ("'>f4'", "'>i8'", "'|O'", "'<U3'", "'|S4'", "'<c8'", "'<M8[s]'", "'<m8'", "'|V4'", "'<f3'", "'<f16'", "'<x4'", "''", "'<f4 '", "'float32'",
              "[('a', '<f4')]", "[('ä', '<f4'), ('b', '|O')]", "'\\x1b'"):
    lies("descr " + descr, npy(header(descr=descr), SIX, (3, 0)), "NP03")
for what, text in (("no brace", "'descr': '<f4'"), ("nothing", ""), ("spaces only", "   \n"), ("no descr", "{'fortran_order': False, 'shape': (2, 3)}"),
                   ("no shape", "{'descr': '<f4', 'fortran_order': False}"), ("no order", "{'descr': '<f4', 'shape': (2, 3)}"),
                   ("descr twice", header(end="'descr': '<f4'}")), ("shape twice", header(end="'shape': (2, 3)}")), ("another key", header(end="'x': 1}")),
                   ("code", "__import__('os').system('true')"), ("order 1", header(order="1")), ("order true", header(order="true")),
                   ("text behind", header() + "x"), ("NUL behind", header() + "\0"), ("no comma between", header().replace(", '", " '")),
                   ("an open string", "{'descr"), ("a long key", "{'" + "k" * 5000 + "': 1}"), ("a long descr", header(descr="'" + "f" * 5000 + "'")),
                   ("only braces", "{" * 60000), ("a tuple as descr", header(descr="('<f4', (3,))")), ("None as descr", header(descr="None")),
                   ("not UTF-8", header().encode().replace(b"descr", b"d\xff\xfesc"))):
    lies("a header with " + what, npy(text, SIX), "NP02")
lies("header length beyond the file", npy(header(), SIX, length=60000), "NP02")
lies("header length one more", npy(header(), b"", length=len(header()) + 1), "NP02")
lies("header length of 4 GiB", npy(header(), SIX, (2, 0), length=0xffffffff), "NP02")
lies("header length 0", npy(header(), SIX, length=0), "NP02")
lies("a header of 2 MiB", npy(header() + " " * (2 << 20), SIX, (2, 0)), "NP02")
for version in ((0, 0), (4, 0), (255, 255)):
    lies(f"version {version}", npy(header(), SIX, version), "NP02")
lies("version 1 read as 2", npy(header(), SIX, (2, 0), length=len(header()) | 0x7b000000), "NP02")
for cut in range(0, 12):
    lies(f"{cut} bytes", npy(header(), SIX)[:cut], "NP01" if cut < 10 else "NP02")
whole = npy(header(), SIX)
for cut in range(12, len(whole), 5):
    lies(f"{cut} bytes", whole[:cut], "NP")
s.write("x.npy", npy(header(descr="'\x1b]0;x\x07\x1b[31m'"), SIX))
rc, out, err = s.run("run", "one.rlx", "--input", "x.npy")
s.check("no control characters on the terminal", rc == 1 and "\x1b" not in err and "\x07" not in err and "error[NP03]" in err, repr(err))

# ---- archives


def local(name, data, method=0, flags=0, crc=None, packed=None, size=None, extra=b""):
    crc = zlib.crc32(data) if crc is None else crc
    return struct.pack("<IHHHHHIIIHH", 0x04034b50, 45, flags, method, 0, 0, crc, len(data) if packed is None else packed, len(data) if size is None else size,
                       len(name), len(extra)) + name + extra + data


def central(name, data, at, method=0, flags=0, crc=None, packed=None, size=None, extra=b""):
    crc = zlib.crc32(data) if crc is None else crc
    return struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, flags, method, 0, 0, crc, len(data) if packed is None else packed,
                       len(data) if size is None else size, len(name), len(extra), 0, 0, 0, 0, at) + name + extra


def end(entries, size, at):
    return struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, min(entries, 0xffff), min(entries, 0xffff), size, at, 0)


def archive(*members, **lie):
    """Members (name, data, what both headers say, what the directory says beyond)."""
    body, directory = b"", b""
    for name, data, both, more in members:
        at = len(body)
        body += local(name, data, **both)
        directory += central(name, data, at, **{**both, **more})
    return body + directory + end(lie.get("entries", len(members)), lie.get("size", len(directory)), lie.get("at", len(body)))


def refuses(what, data, code, member="x", entry="any"):
    s.write("x.npz", data)
    fails(what, ["run", "one.rlx", "--entry", entry, "--input", f"x.npz:{member}"], code)
    if member == "x":
        fails(what + " as weights", ["run", "one.rlx", "--entry", entry, "--params", "x.npz"], code)


X = npy(header(), SIX)
s.write("x.npz", archive((b"x.npy", X, {}, {})))
s.equal("an archive written by hand", s.run("run", "one.rlx", "--entry", "any", "--input", "x.npz:x")[0], 0)
raw = zlib.compressobj(9, zlib.DEFLATED, -15)
DEFLATED = raw.compress(X) + raw.flush()
deflated = {"method": 8, "crc": zlib.crc32(X), "size": len(X)}
s.write("x.npz", archive((b"x.npy", DEFLATED, deflated, {})))
s.equal("a deflated one", s.run("run", "one.rlx", "--entry", "any", "--input", "x.npz:x")[0], 0)
with zipfile.ZipFile(s.path("x.npz"), "w") as z, z.open("x.npy", "w", force_zip64=True) as f:
    f.write(X)
s.equal("a zip64 one", s.run("run", "one.rlx", "--entry", "any", "--input", "x.npz:x")[0], 0)

refuses("encrypted", archive((b"x.npy", X, {"flags": 1}, {})), "NP07")
for method in (1, 6, 9, 12, 14, 93, 95, 99, 65535):
    refuses(f"method {method}", archive((b"x.npy", X, {"method": method}, {})), "NP07")
refuses("stored, said to be deflated", archive((b"x.npy", X, {"method": 8}, {})), "NP05")
refuses("deflated, said to be stored", archive((b"x.npy", DEFLATED, {**deflated, "method": 0}, {})), "NP")
refuses("damaged deflate data", archive((b"x.npy", b"\xff" * len(DEFLATED), deflated, {})), "NP05")
refuses("wrong sum", archive((b"x.npy", X, {"crc": 1}, {})), "NP09")
refuses("wrong sum, deflated", archive((b"x.npy", DEFLATED, {**deflated, "crc": 1}, {})), "NP09")
for size in (0, 1, len(X) - 1, len(X) + 1, 1 << 20, 0xfffffffe):
    refuses(f"unpacked size {size} in both places", archive((b"x.npy", X, {"size": size}, {})), "NP")
    refuses(f"unpacked size {size} in the directory", archive((b"x.npy", X, {}, {"size": size})), "NP")
    refuses(f"unpacked size {size}, deflated", archive((b"x.npy", DEFLATED, {**deflated, "size": size}, {})), "NP")
    refuses(f"packed size {size}", archive((b"x.npy", X, {"packed": size}, {})), "NP")
zip64 = struct.pack("<HHQQ", 1, 16, 1 << 62, 1 << 62)
refuses("sizes of 2^62 (zip64)", archive((b"x.npy", X, {"size": 0xffffffff, "packed": 0xffffffff, "extra": zip64}, {})), "NP")
refuses("zip64 without its sizes", archive((b"x.npy", X, {"size": 0xffffffff, "packed": 0xffffffff, "extra": zip64[:4]}, {})), "NP")
refuses("two members of one name", archive((b"x.npy", X, {}, {}), (b"x.npy", X, {}, {})), "NP10")
refuses("a name with NUL", archive((b"x.npy\0.npy", X, {}, {})), "NP05")
refuses("a name of 60000 bytes", archive((b"x" * 60000 + b".npy", X, {}, {})), "NP05")
refuses("no such member", archive((b"y.npy", X, {}, {})), "NP06", member="z")
refuses("no members", archive(), "NP", member="z")
refuses("more entries than there are", archive((b"x.npy", X, {}, {}), entries=3), "NP")
refuses("the directory's place", archive((b"x.npy", X, {}, {}), at=0x7fffffff), "NP05")
refuses("the directory's size", archive((b"x.npy", X, {}, {}), size=0x7fffffff), "NP05")
refuses("a member's place", X + central(b"x.npy", X, 0x7fffffff) + end(1, 51, len(X)), "NP05")
refuses("a member's place in the directory", archive((b"x.npy", X, {}, {})).replace(b"PK\x03\x04", b"PK\x03\x05", 1), "NP05")
good = archive((b"x.npy", X, {}, {}))
for cut in range(0, len(good) - 8, 9):
    refuses(f"the first {cut} bytes", good[:cut], "NP")
for flags in (0x08, 0x40, 0x800, 0x2000):
    s.write("x.npz", archive((b"x.npy", X, {"flags": flags}, {})))
    rc, out, err = s.run("run", "one.rlx", "--entry", "any", "--input", "x.npz:x")
    s.check(f"flags {flags:x}", rc == 0 or (rc == 1 and "error[NP" in err), (rc, err))
s.write("x.npz", archive((b"\x1b[31m\xff.npy", npy(header(), SIX[:4]), {}, {})))
rc, out, err = s.run("run", "one.rlx", "--entry", "any", "--params", "x.npz", "--diagnostics", "json")
s.check("a name of no text in JSON", rc == 1 and "\\u001b[31m?" in err and "NP04" in err, repr(err))
rc, out, err = s.run("run", "one.rlx", "--entry", "any", "--params", "x.npz")
s.check("a name of no text", rc == 1 and "\x1b" not in err and "?[31m?" in err, repr(err))

# ---- zip64: sizes and places that do not fit into 32 bits, or might not
ALL = 0xffffffff


def extra64(*values, kind=1, length=None):
    return struct.pack("<HH", kind, 8 * len(values) if length is None else length) + struct.pack(f"<{len(values)}Q", *values)


def end64(entries, size, at, place=None, magic=0x06064b50):
    """Record, locator and an end that says nothing; place: where the record is said to be."""
    record = struct.pack("<IQHHIIQQQQ", magic, 44, 45, 45, 0, 0, entries, entries, size, at)
    return record + struct.pack("<IIQI", 0x07064b50, 0, (at + size) % 2 ** 64 if place is None else place, 1) + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, ALL, ALL, 0)


def archive64(data=X, crc=None, method=0, unpacked=None, packed=None, at=0, local_extra=None, extra=None, gap=b"", **lie):
    """One member x.npy that states everything in 64 bits, `gap` in front of it."""
    unpacked, packed = len(data) if unpacked is None else unpacked, len(data) if packed is None else packed
    crc = zlib.crc32(X) if crc is None else crc
    local_extra = extra64(unpacked, packed) if local_extra is None else local_extra
    extra = extra64(unpacked, packed, at) if extra is None else extra
    body = gap + local(b"x.npy", data, method, crc=crc, packed=ALL, size=ALL, extra=local_extra)
    directory = bytearray(central(b"x.npy", data, 0, method, crc=crc, packed=ALL, size=ALL, extra=extra))
    struct.pack_into("<I", directory, 42, ALL)
    return body + bytes(directory) + end64(lie.get("entries", 1), lie.get("size", len(directory)), lie.get("directory", len(body)), lie.get("place"), lie.get("magic", 0x06064b50))


def reads64(what, data):
    s.write("x.npz", data)
    for args in (["--input", "x.npz:x"], ["--input", "x.npz:x.npy"]):
        rc, out, err = s.run("run", "one.rlx", "--entry", "any", *args)
        s.check(f"zip64: {what}", rc == 0 and not err and "float32 (2, 3) [0, 1, 2, 3, 4, 5]" in out, (rc, out, err))


packed64 = {"data": DEFLATED, "method": 8, "unpacked": len(X)}
reads64("stored", archive64())
reads64("deflated", archive64(**packed64))
reads64("other extra fields around", archive64(extra=extra64(7, kind=0x5455) + extra64(len(X), len(X), 0) + extra64(9, kind=0x7075)))
reads64("a gap in front", archive64(gap=b"-" * 100, at=100))
reads64("sizes in the directory alone", archive((b"x.npy", X, {}, {"size": ALL, "packed": ALL, "extra": extra64(len(X), len(X))})))
reads64("one size alone", archive((b"x.npy", X, {}, {"size": ALL, "extra": extra64(len(X))})))
for what, lie in (("a size of 2^62", {"unpacked": 1 << 62}), ("both sizes 2^62", {"unpacked": 1 << 62, "packed": 1 << 62}), ("sizes of 2^64 - 1", {"unpacked": 2 ** 64 - 1, "packed": 2 ** 64 - 1}),
                  ("sizes beyond the file", {"unpacked": 1 << 33, "packed": 1 << 33}), ("one byte more", {"unpacked": len(X) + 1, "packed": len(X) + 1}),
                  ("one byte less", {"unpacked": len(X) - 1, "packed": len(X) - 1}), ("a place beyond the file", {"at": 1 << 40}), ("a place of 2^64 - 1", {"at": 2 ** 64 - 1}),
                  ("a place 2^63 away", {"at": 1 << 63}), ("the wrong place", {"at": 1}), ("another place than the member's", {"gap": b"-" * 64}), ("no extra field", {"extra": b""}),
                  ("an extra field of another kind", {"extra": extra64(len(X), len(X), 0, kind=2)}), ("an extra field cut short", {"extra": extra64(len(X), len(X))}),
                  ("an extra field without its length", {"extra": extra64(len(X), len(X), 0, length=500)}), ("no local extra field", {"local_extra": b""}),
                  ("local sizes of 0", {"local_extra": extra64(0, 0)}), ("local sizes of 2^62", {"local_extra": extra64(1 << 62, 1 << 62)}), ("a wrong sum", {"crc": 1}),
                  ("more entries", {"entries": 2}), ("2^63 entries", {"entries": (1 << 63) + 1}), ("a directory of 2^62", {"size": 1 << 62}), ("a directory at 2^62", {"directory": 1 << 62}),
                  ("a directory at 2^64 - 1", {"directory": 2 ** 64 - 1}), ("an empty directory", {"size": 0}), ("an end elsewhere", {"place": 1 << 62}), ("an end at 0", {"place": 0}),
                  ("another end", {"magic": 0x06064b51})):
    refuses(f"zip64: {what}", archive64(**lie), "NP")
for size in (len(X) + 1, len(X) - 1, 0, 1 << 33, 1 << 40, 1 << 62):
    refuses(f"zip64: deflated, {size} bytes", archive64(**{**packed64, "unpacked": size}), "NP05")
good = archive64()
for cut in range(0, len(good) - 1, 11):
    refuses(f"zip64: the first {cut} bytes", good[:cut], "NP")

# A member behind 5 GiB of another: holes cost nothing, and only what is asked for is read.
FAR = 5 << 30
s.write("far.npz", local(b"big.npy", b"", packed=ALL, size=ALL, extra=extra64(FAR, FAR)))
with open(s.path("far.npz"), "r+b") as f:
    at = f.seek(0, 2) + FAR
    f.seek(at)
    f.write(local(b"x.npy", X))
    directory = central(b"big.npy", b"", 0, packed=ALL, size=ALL, extra=extra64(FAR, FAR)) + central(b"x.npy", X, 0, extra=extra64(at))[:42] + struct.pack("<I", ALL) + b"x.npy" + extra64(at)
    begin = f.tell()
    f.write(directory + end64(2, len(directory), begin))
rc, out, err = s.run("run", "one.rlx", "--entry", "any", "--input", "far.npz:x")
s.check("a member behind 5 GiB", rc == 0 and not err and "[0, 1, 2, 3, 4, 5]" in out, (rc, out, err))
os.unlink(s.path("far.npz"))

# ---- bombs: much from little
ZEROS = 512 << 20
head = npy(header(shape=f"({ZEROS // 4},)"))
packer = zlib.compressobj(9, zlib.DEFLATED, -15)
packed, crc = packer.compress(head), zlib.crc32(head)
for _ in range(ZEROS >> 20):
    packed += packer.compress(bytes(1 << 20))
    crc = zlib.crc32(bytes(1 << 20), crc)
packed += packer.flush()
bomb = {"method": 8, "crc": crc, "size": ZEROS + len(head)}
s.write("bomb.npz", archive((b"x.npy", packed, bomb, {})))
s.fails("512 MiB of zeros with a limit", ["run", "one.rlx", "--entry", "any", "--max-memory", "100000000", "--input", "bomb.npz:x"], "NP08")
s.fails("the same as weights", ["run", "one.rlx", "--entry", "any", "--max-memory", "100000000", "--params", "bomb.npz"], "NP08")
refuses("a member that unpacks to more than it says", archive((b"x.npy", packed, {**bomb, "size": len(X)}, {})), "NP")
refuses("a member that would grow 2000-fold", archive((b"x.npy", packed, {**bomb, "size": len(packed) * 2000}, {})), "NP05")
# 500 names for the same 512 MiB: the first are read, then the members have more bytes than the file
BLOCK = bytes(4 << 20)
small = zlib.compressobj(9, zlib.DEFLATED, -15)
inner = npy(header(shape=f"({len(BLOCK) // 4},)"), BLOCK)
data = small.compress(inner) + small.flush()
says = {"method": 8, "crc": zlib.crc32(inner), "size": len(inner)}
names = [b"x%d.npy" % i for i in range(500)]
directory = b"".join(central(n, data, 0, **says) for n in names)
overlap = local(names[0], data, **says)
s.write("x.npz", overlap + directory + end(len(names), len(directory), len(overlap)))
s.fails("one member under 500 names", ["run", "one.rlx", "--entry", "any", "--params", "x.npz"], "NP05")

# ---- weights that an archive stores are used where they lie, at any address; packed ones are unpacked: the same program comes of both
def builds(what, program, weights):
    s.write("weights.py", program)
    files = []
    for save in (np.savez, np.savez_compressed):
        save(s.path("weights.npz"), **weights)
        s.equal(f"{what}, {save.__name__}", s.run("build", "weights.py", "--params", "weights.npz", "-o", "weights.rlx", "--target", "interp"), (0, "", ""))
        files.append(open(s.path("weights.rlx"), "rb").read())
    s.check(f"{what}: the same file", files[0] == files[1])
    return files[0]


def program(weights, result, body):
    names = ", ".join(f'{n}: R.Tensor({w.shape}, "{w.dtype}")' for n, w in weights.items())
    return f'''@I.ir_module
class M:
    @R.function
    def main({names}) -> R.Tensor({result.shape}, "{result.dtype}"):
        with R.dataflow():
            y = {body}
            R.output(y)
        return y
'''


random = np.random.RandomState(5)
for dtype in ("float32", "float64", "float16", "int64", "int8", "uint8", "bool"):
    for count, name in ((0, "a"), (65, "ab"), (4096, "abc"), (20011, "abcd")):      # one address after the other
        w = (random.standard_normal(count) * 50).astype(dtype)
        file = builds(f"{count} of {dtype} as {name}", program({name: w}, w, name), {name: w})
        s.check(f"{count} of {dtype} as {name} are in the file", w.tobytes() in file)
for name in ("a", "ab", "abc", "abcd"):     # folded, and packed into panels
    w, m = random.standard_normal(3001), random.standard_normal((70, 96)).astype("float32")
    s.check(f"a sum of weights as {name}", (w + w).tobytes() in builds("a sum", program({name: w}, w, f"R.add({name}, {name})"), {name: w}))
    text = program({name: m}, np.zeros((9, 96), "float32"), f"R.matmul(x, {name})").replace("main(", 'main(x: R.Tensor((9, 70), "float32"), ')
    panels = np.concatenate([m[:, i:i + 32] for i in (0, 32, 64)])
    s.check(f"panels of weights as {name}", panels.tobytes() in builds("panels", text, {name: m}))
    across = np.asfortranarray(m)
    s.check(f"weights in the order of columns as {name}", panels.tobytes() in builds("columns", text, {name: across}))
np.savez(s.path("weights.npz"), a=w)
damaged = bytearray(open(s.path("weights.npz"), "rb").read())
damaged[len(damaged) // 2] ^= 4
s.write("weights.npz", bytes(damaged))
s.write("weights.py", program({"a": w}, w, "R.add(a, a)"))
s.fails("a byte of a stored weight", ["build", "weights.py", "--params", "weights.npz", "-o", "damaged.rlx"], "NP09")
s.check("nothing is left behind", not [f for f in os.listdir(s.dir) if f.startswith("damaged")])

# ---- results that have no end
s.write("deep.py", '''@I.ir_module
class M:
    @R.function
    def twice(x: R.Object) -> R.Object:
        t = (x, x)
        return t
    @R.function
    def main(x: R.Object) -> R.Object:
        cls = M
        t0 = cls.twice(x)
''' + "".join(f"        t{i} = cls.twice(t{i - 1})\n" for i in range(1, 40)) + "        return t39\n")
rc, out, err = s.run("run", "deep.py", "--input", "int64:5", "--target", "interp")
s.check("2^40 results", rc == 1 and "error[RT07]" in err and len(out) < 50 << 20, (rc, err[:200], len(out)))

used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
s.check(f"memory of the largest run: {used} MiB", used < (1500 if os.environ.get("RELAX_VARIANT") == "asan" else 300))
s.done()
