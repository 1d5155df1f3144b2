#!/usr/bin/env python3
"""Checks that every rule that a comment or document cites exists in the tree.

Cited are
    language 5.4, language section 3, language sections 5.4 and 5.5, language D16     doc/language.md
    tvmscript 6.2, tvmscript section 8                                                doc/tvmscript.md
    relay 3.4                                                                         doc/relay.md
    D14, D15.5, PR01, BD01                                                            doc/language.md
    NF01, WF03, TY08 and the like                                                     src/format/codes.def
    doc/NAME.md, src/ROOM/NAME.c and other paths                                      the file itself
Prints `file:line: what is wrong` for each violation and exits 1 if there is one.
    check_citations.py [TOP]
"""
import re
import sys
from pathlib import Path

TOP = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent.parent).resolve()
FOLDERS = ["include", "src", "test", "doc", "bench", "examples"]
KINDS = {".c", ".h", ".def", ".py", ".sh", ".md", ".test", ".txt"}
# check_machinery.py makes files of its own, and breaks rules in them.
SKIPPED = {"test/abi/api.json", "test/tools/check_machinery.py", "test/tools/check_citations.py"}

NUMBER = r"\d+(?:\.\d+)*"
DERIVATION = r"D\d{1,2}[a-d]?(?:\.\d+)?"
RULE = rf"(?:{NUMBER}|{DERIVATION})"
# Comments break lines: a star may stand between two words.
GAP = r"[\s*]+"
MANUAL = re.compile(rf"\b(?P<book>language|tvmscript|relay)(?:{GAP}reference)?(?:\.md)?(?:{GAP}sections?)?{GAP}"
                    rf"(?P<rules>{RULE}(?:(?:,{GAP}|{GAP}and{GAP}|{GAP}){RULE}(?![\w.]*[\w]))*)")
ALONE = re.compile(rf"(?<![\w.\"'#$-])(?P<rule>{DERIVATION}|(?:PR|BD)\d\d)(?![\w*])")
# A rule without its book: nobody can tell which. Numbers with a dot in parentheses are rules.
BARE = re.compile(r"(?<![\w])\((?P<rule>\d{1,2}\.[1-9]\d?(?:\.\d+)?)\)")
FOREIGN = re.compile(r"\b(?:op-semantics|passes-and-analyses|c-abi|inference-facts|DESIGN\.md|DESIGN \d)")
PATHS = re.compile(r"(?<![\w/.$-])(?:doc|src|include|test|bench|examples)/[\w./-]*\w\.(?:c|h|def|md|py|sh|txt|json|test)\b")
RANGE = re.compile(r"\b([A-Z]{2})(\d\d) to \1(\d\d)\b")
FAMILIES = ("PA", "NF", "WF", "WX", "RY", "TY", "PU", "VD", "OP", "RT", "LD", "CG", "IO", "NP", "IN")
CODE = re.compile(rf"(?<![\w\"'-])(?:{'|'.join(FAMILIES)})\d\d(?!\w)")


def rules_of(path):
    """The numbers and names that a manual defines: of headings and of rules in bold."""
    text = path.read_text(encoding="utf-8")
    found = set(re.findall(rf"^#+ ({NUMBER})\.? ", text, re.M))
    found |= set(re.findall(rf"^- \*\*({RULE})\*\*", text, re.M))
    for section in re.split(r"^- \*\*", text, flags=re.M)[1:]:
        name = section.split("**")[0]
        body = re.split(r"\n(?:#|- \*\*)", section)[0]
        found |= {f"{name}.{step}" for step in re.findall(r"^  (\d+)\. ", body, re.M)}
    for family, low, high in RANGE.findall(text):
        found |= {f"{family}{n:02}" for n in range(int(low), int(high) + 1)}
    return found


BOOKS = {name: rules_of(TOP / "doc" / f"{name}.md") for name in ("language", "tvmscript", "relay")}
CODES = set(re.findall(r"^CODE\((\w+),", (TOP / "src/format/codes.def").read_text(encoding="utf-8"), re.M))


def comments_of(path, text):
    """[(offset, text)] of what people read: comments of C, and all of any other file but programs and tables."""
    if path.suffix in (".c", ".h", ".def"):
        tokens = re.finditer(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', text, re.S)
        return [(m.start(), m[0]) for m in tokens if m[0][0] == "/"]
    if path.suffix in (".py", ".sh"):
        return [(m.start(), m[0]) for m in re.finditer(r'"""(?!\w).*?"""|(?m:(?:^|(?<=\s))#[^\n]*)', text, re.S)]
    if path.suffix == ".md":
        return [(0, text)]
    return []


def faults(path, text):
    """[(offset, what is wrong)]"""
    for start, comment in comments_of(path, text):
        for m in MANUAL.finditer(comment):
            for rule in re.findall(RULE, m["rules"]):
                if rule not in BOOKS[m["book"]]:
                    yield start + m.start(), f"doc/{m['book']}.md has no rule {rule}"
        for m in ALONE.finditer(comment):
            if m["rule"] not in BOOKS["language"]:
                yield start + m.start(), f"doc/language.md has no rule {m['rule']}"
        for m in CODE.finditer(comment):
            if m[0] not in CODES:
                yield start + m.start(), f"src/format/codes.def has no {m[0]}"
        for m in BARE.finditer(comment) if path.suffix in (".c", ".h", ".def") else ():
            yield start + m.start(), f"{m['rule']} of which document?"
        for m in FOREIGN.finditer(comment):
            yield start + m.start(), f"{m[0]} is no document of the tree"
        for m in PATHS.finditer(comment):
            if "NAME" not in m[0] and not (TOP / m[0]).exists():
                yield start + m.start(), f"there is no {m[0]}"


def main():
    found, cited = [], 0
    for folder in [*FOLDERS, "README.md"]:
        paths = [TOP / folder] if folder.endswith(".md") else sorted((TOP / folder).rglob("*"))
        for path in paths:
            name = path.relative_to(TOP).as_posix()
            if path.suffix not in KINDS or name in SKIPPED:
                continue
            text = path.read_text(encoding="utf-8")
            cited += len(MANUAL.findall(text)) + len(CODE.findall(text))
            found += [f"{name}:{text.count(chr(10), 0, at) + 1}: {fault}" for at, fault in faults(path, text)]
    print("\n".join(found) if found else f"{cited} citations of rules name rules of the tree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
