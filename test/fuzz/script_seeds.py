#!/usr/bin/env python3
"""What the fuzzer of texts begins with: script_seeds.py OUT writes OUT/script.dict, every word that the text form knows (from the
tables of the sources), and below OUT/seeds/script every program of the golden files and examples, a file each."""
import hashlib
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent


def words():
    found = set()
    for row in re.findall(r'"relax\.([\w.]+)"', (TOP / "src/op/op.def").read_text()):
        found.add(f"R.{row}(")
    for path in sorted(TOP.glob("src/script/reader*.c")):
        text = path.read_text()
        space = "T." if path.stem.startswith("reader_tir") else "R."
        found.update(f"{space}{name}(" for name in re.findall(r'^\s*(?:\{ "[\w.]+".*?\}, )*\{ "([\w.]+)", [^}]*\}', text, re.M))
        found.update(f"{space}{name}(" for name in re.findall(r'\{ "([\w.]+)", (?:NULL|\w+), ', text))
        for names in re.findall(r"RLX_PARAMS\(([^)]*)\)", text):
            found.update(name + "=" for name in re.findall(r'"(\w+)"', names))
    for token in re.findall(r'TOK\(\w+, "\'([^\']+)\'"\)', (TOP / "src/script/lexer.h").read_text()):
        found.add(token)
    found.update(("@R.function\n", "@T.prim_func\n", "@I.ir_module\n", "class M:\n", "def f(", "    ", "\n    ", '"float32"', '"int64"', '"""', "R.Object", "R.Tensor(",
                  "R.Tuple(", "R.Shape(", "R.Callable(", "R.Prim(", "T.Buffer(", "T.handle", "T.int64()", "cls = M\n", "R.output(", "with R.dataflow():\n", "metadata[",
                  'ndim=-1', "dtype=", "9223372036854775807", "-1", "1e400"))
    return sorted(found)


def quoted(word):
    return '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\x{ord(c):02x}" for c in word) + '"'


def programs():
    for path in sorted(TOP.glob("test/golden/*/*.test")):
        for section in re.split(r"^(?:---|===) .*\n", path.read_text(), flags=re.M):
            if re.search(r"@(I\.ir_module|R\.function|T\.prim_func)", section):
                yield section.strip("\n") + "\n"
    for path in sorted(TOP.glob("examples/*/*.py")):
        yield path.read_text()


def main():
    out = Path(sys.argv[1])
    seeds = out / "seeds" / "script"
    seeds.mkdir(parents=True, exist_ok=True)
    (out / "script.dict").write_text("".join(quoted(word) + "\n" for word in words()))
    for text in programs():
        data = text.encode()
        (seeds / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


main()
