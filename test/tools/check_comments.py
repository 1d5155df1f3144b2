#!/usr/bin/env python3
"""Checks the comments of C files: drawings are marked and whole, and every file says what it is.

A drawing is a table, a layout or an example of code: lines of a comment that are indented by two columns
or more, or hold columns (a run of three blanks inside). A comment that holds one opens with `/*-`, so that
no tool reflows it. Columns at the margin of a comment are a drawing that was joined into a paragraph.
A file opens with a comment that opens with its name.

Prints `file:line: what is wrong` for each violation and exits 1 if there is one.
    check_comments.py [TOP]
"""
import re
import sys
from pathlib import Path

TOP = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent.parent).resolve()
FOLDERS = ["include", "src", "test", "bench", "examples"]
TEXTS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
COLUMNS = re.compile(r"\S {3,}\S")
GENERATED = {"include/relax/ops.h"}     # by gen_ops.py


def comments(text):
    """(line number, comment) of each block comment; quotes inside of strings are no comments."""
    return [(text.count("\n", 0, m.start()) + 1, m[0]) for m in TEXTS.finditer(text) if m[0].startswith("/*")]


def lines_of(comment):
    """[(text behind the star, at least two columns in)] of the lines after the first, or None if it has no stars."""
    lines = comment.removesuffix("*/").split("\n")[1:]
    lines = [line.strip() for line in lines if line.strip()]
    if not all(line.startswith("*") for line in lines):
        return None
    return [(line[1:].strip(), line.startswith("*   ")) for line in lines]


def faults(comment):
    """[(lines below the comment's first, what is wrong)]"""
    lines = lines_of(comment)
    if "\n" not in comment or not lines:
        return
    marked = comment.startswith("/*-")
    drawn = [text for text, indented in lines if text and (indented or COLUMNS.search(text))]
    if drawn and not marked:
        yield f'holds a drawing ("{drawn[0][:30]}"): open it with /*-'
    if marked and not drawn:
        yield "opens with /*-, but holds no drawing"
    for text, indented in lines:
        if not indented and COLUMNS.search(text):
            yield f'columns at the margin ("{text[:30]}"): a drawing joined into a paragraph?'


def check(path):
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(TOP)
    for line, comment in comments(text):
        for fault in faults(comment):
            yield f"{name}:{line}: {fault}"
    if path.suffix != ".def" and not re.match(r"/\*-? " + re.escape(path.stem) + r"(\.[ch])?: ", text):
        yield f"{name}:1: opens with a comment /* {path.name}: what it is. */"


def main():
    paths = [p for folder in FOLDERS for p in sorted((TOP / folder).rglob("*")) if p.suffix in (".c", ".h", ".def")
             and p.relative_to(TOP).as_posix() not in GENERATED]
    found = [fault for path in paths for fault in check(path)]
    print("\n".join(found) if found else f"the comments of {len(paths)} files are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
