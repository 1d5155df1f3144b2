#!/usr/bin/env python3
"""Arrays of more than 4 GiB in archives, stored and deflated, as Python's zipfile writes them (numpy's savez does it by it)."""
import os
import zipfile

from cli_test import Suite

s = Suite()
s.write("id.py", '''@I.ir_module
class M:
    @R.function
    def main(x: R.Object) -> R.Object:
        return x
''')
BYTES = (4 << 30) + 3
text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({BYTES},), }}".encode()
text += b" " * (-(len(text) + 11) % 64) + b"\n"
HEADER = b"\x93NUMPY\1\0" + bytes([len(text) & 255, len(text) >> 8]) + text
BLOCK = bytes(range(7, 23)) * (1 << 20)


def write(name, method):
    with zipfile.ZipFile(s.path(name), "w", method, compresslevel=1) as z:
        with z.open("a.npy", "w", force_zip64=True) as f:
            f.write(HEADER)
            for at in range(0, BYTES, len(BLOCK)):
                f.write(BLOCK[:BYTES - at])
        z.writestr("last.npy", b"\x93NUMPY\1\0\x3c\0{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }".ljust(69) + b"\n\1\2")


for name, method in (("stored.npz", zipfile.ZIP_STORED), ("deflated.npz", zipfile.ZIP_DEFLATED)):
    write(name, method)
    for member, shown in (("a", f"0: uint8 ({BYTES},) [7, 8, 9, 10, 11, 12, ...]\n"), ("last", "0: uint8 (2,) [1, 2]\n")):
        s.equal(f"{name}:{member}", s.run("run", "id.py", "--target", "interp", "--input", f"{name}:{member}"), (0, shown, ""))
    with open(s.path(name), "r+b") as f:
        f.seek(os.path.getsize(f.name) // 2)
        f.write(b"\0\0\0\0")
    s.fails(f"{name}, damaged", ["run", "id.py", "--target", "interp", "--input", f"{name}:a"], None, text="error[NP")
    os.unlink(s.path(name))
s.done()
