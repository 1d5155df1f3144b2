#!/usr/bin/env python3
"""Writes doc/relax.1, the manual page of the tool, from what the tool says of itself.

    gen_man.py [FILE]     write it; gen_man.py --check: say whether it is out of date

In the environment: RELAX (the tool)."""
import os
import subprocess
import sys

COMMANDS = ["check", "print", "build", "run", "info", "dis", "ops", "passes", "explain", "version"]
relax = os.environ.get("RELAX", "bin/relax")


def says(*arguments):
    return subprocess.run([relax, *arguments], capture_output=True, text=True).stdout.rstrip("\n").split("\n")


def literal(text):
    """As it stands: a leading dot or quote is no request, a hyphen no dash."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def option(line):
    """  --pass P,Q     what it does"""
    name, _, text = line.strip().partition("  ")
    return [".TP", ".B " + literal(name), literal(text.strip())]


def command(name):
    lines = says(name, "--help")
    begin = lines.index("Options:") if "Options:" in lines else len(lines)
    out = [".SS " + literal(lines[0])]
    out += [".P" if not line.strip() else literal(line) for line in lines[1:begin]]
    return out


def options():
    """Each once, in the order of the commands."""
    seen, out = set(), []
    for name in COMMANDS:
        lines = says(name, "--help")
        for line in lines[lines.index("Options:") + 1:] if "Options:" in lines else []:
            if line.startswith("  ") and line not in seen:
                seen.add(line)
                out += option(line)
    return out


def page():
    head = says("--help")
    title, _, what = head[0].partition(": ")
    out = [".\\\" Written by test/tools/gen_man.py.", '.TH RELAX 1 "" "librelax" "User Commands"', ".SH NAME",
           f"{title} \\- {literal(what)}", ".SH SYNOPSIS", ".B relax", "COMMAND [OPTION]... [FILE]...", ".SH DESCRIPTION",
           "Programs are TVMScript as TVM 0.20 and 0.27 print it (.py), or ONNX models (.onnx); compiled programs are .rlx files.", ".P"]
    out += [literal(line) for line in head if line.startswith("relax COMMAND") or line.startswith("FILE may")]
    out += [".SH COMMANDS"]
    for name in COMMANDS:
        out += command(name)
    out += [".SH OPTIONS", "relax COMMAND \\-\\-help lists those of a command."] + options()
    out += [".SH EXIT STATUS"]
    for code, text in (("0", "success"), ("1", "the program or its input is at fault"), ("2", "wrong usage"), ("3", "our fault")):
        out += [".TP", ".B " + code, text]
    out += [".SH ENVIRONMENT", ".TP", ".B RELAX_CC", "The C compiler of the target c; empty: none."]
    out += [".SH SEE ALSO", "The headers in relax/relax.h are the manual of the library."]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "doc/relax.1"
    if path == "--check":
        same = open("doc/relax.1").read() == page()
        print("doc/relax.1 is as the tool says" if same else "doc/relax.1 is out of date: make man")
        sys.exit(not same)
    with open(path, "w") as f:
        f.write(page())
    print("wrote " + path)
