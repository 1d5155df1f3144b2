#!/usr/bin/env python3
"""Checks that no two arguments of a call, nor two initialisers, emit bindings: which comes first is the compiler's choice, and with it
the order of bindings in a module.

What emits is found by names: a function of the rooms below that calls one that emits. A function that is only passed on counts
where it is called.

Prints `file:line: what is wrong` for each violation and exits 1 if there is one.
    check_order.py [TOP]
"""
import re
import sys
from pathlib import Path

TOP = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent.parent).resolve()
ROOMS = ("onnx", "relay", "transform")
EMITS = re.compile(r"rlx_builder_(emit|emit_match|emit_binding|operand|normalize|begin_\w+|end_\w+)|rlx_module_builder_add|rlx_onnx_fresh")
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
FUNCTION = re.compile(r"^(static )?(?:[A-Za-z][^\n;{}=()]*\b)?(\w+)\(([^;{}]*)\)\n\{\n(.*?)^\}", re.S | re.M)
CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
TOKEN = re.compile(r"\b([A-Za-z_]\w*)(\()|(=\s*\{|\)\{|,\s*\{)|([(){},])")
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof"}


def blank(m):
    return re.sub(r"[^\n]", " ", m.group())


def read_functions():
    """(file, name of a static function or of any other with no file) -> (line, body)"""
    found = {}
    for room in ROOMS:
        for path in sorted((TOP / "src" / room).glob("*.c")):
            text = NOT_CODE.sub(blank, path.read_text(encoding="utf-8"))
            for m in FUNCTION.finditer(text):
                static, name, params, body = m.groups()
                if name.isupper():                          # CONVERTER(name)
                    static, name = True, params
                found[path if static else None, name] = (path, text.count("\n", 0, m.start(4)) + 1, body)
    return found


def find_emitting(functions):
    """Those that reach one that emits."""
    callers = {}
    for key, (path, _, body) in functions.items():
        for name in set(CALL.findall(body)):
            callee = (path, name) if (path, name) in functions else (None, name)
            callers.setdefault(callee, []).append(key)
    emitting = {callee for callee in callers if callee[0] is None and EMITS.fullmatch(callee[1])}
    todo = list(emitting)
    while todo:
        for key in callers.get(todo.pop(), ()):
            if key not in emitting:
                emitting.add(key)
                todo.append(key)
    return emitting


def check_body(path, line, body, emits):
    """Yields (line, name) of calls and initialisers of which two parts emit. A frame: the name, its parts that emit, the part at hand."""
    frames = []
    for m in TOKEN.finditer(body):
        name, opens, initialiser, mark = m.groups()
        if mark == "," and frames:
            frames[-1][2] += 1
        if initialiser == "){" or mark in (")", "}"):
            what, parts, _ = frames.pop() if frames else (None, (), 0)
            if what and len(parts) > 1:
                yield line + body.count("\n", 0, m.start()), what
        if opens and emits(name):
            for frame in frames:
                frame[1].add(frame[2])
        if initialiser and initialiser[0] == "," and frames:
            frames[-1][2] += 1
        if initialiser or opens or mark in ("(", "{"):
            frames.append([name if opens and name not in KEYWORDS else "an initialiser" if initialiser else None, set(), 0])


def main():
    functions = read_functions()
    emitting = find_emitting(functions)
    wrong = 0
    for path, line, body in functions.values():
        def emits(name):
            return ((path, name) if (path, name) in functions else (None, name)) in emitting
        for at, what in check_body(path, line, body, emits):
            print(f"{path.relative_to(TOP)}:{at}: two parts of {what} emit: name them in the order that is meant")
            wrong += 1
    if len(emitting) < 100:
        print(f"src: only {len(emitting)} functions emit: they are not found any more")
        wrong += 1
    print(f"{len(functions) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
