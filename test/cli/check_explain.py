"""The examples of relax explain, as they are shown: the bad one gives its code and nothing else,
the cured one gives nothing. Where no text can show a mistake, tests of the API do."""
import io
import os
import re
import sys
import zipfile

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli_test

s = cli_test.Suite()
TOP = cli_test.TOP
BY_API = "".join(open(os.path.join(TOP, "test", name)).read()
                 for name in ("analysis/test_rules_by_api.c", "analysis/test_well_formed.c",
                              "api/test_api_extend_op.c"))
NAMES = re.findall(r"^CODE\((\w{4}),", open(os.path.join(TOP, "src/format/codes.def")).read(), re.M)
# shown by a line or two only: what they speak of is no program text
OTHER = {"RT", "NP"}


def part(page, heading):
    lines = page.split("\n")
    if heading not in lines:
        return None
    taken = []
    for line in lines[lines.index(heading) + 1:]:
        if line and not line.startswith("  "):
            break
        taken.append(line[2:])
    return "\n".join(taken).rstrip("\n") + "\n"


def archive(names):
    """A file of weights, each of one element."""
    with zipfile.ZipFile(s.path("weights.npz"), "w") as z:
        for name in names:
            array = io.BytesIO()
            numpy.save(array, numpy.zeros(1, "float32"))
            z.writestr(name + ".npy", array.getvalue())
    return s.path("weights.npz")


def command_of(line):
    """What the first line asks for; without one: check."""
    words = line.split()[2:] if line.startswith("# relax ") else ["check"]
    command = [words[0], "-"]
    if words[0] == "build":
        command += ["--target", "interp", "-o", s.path("out.rlx")]
    if words[0] == "run":
        command += ["--target", "interp"]
    if "archive" in words:
        return command + ["--params", archive(words[words.index("of") + 1::2])]
    return command + words[1:]


def told(text):
    command = command_of(text.split("\n", 1)[0])
    err = s.run(*command, stdin=text)[2]
    return re.findall(r"^\S+ (?:error|warning|note)\[(\w+)\]", err, re.M), err


shown = 0
for code in NAMES:
    page = s.run("explain", code)[1]
    bad, good = part(page, "Example that breaks it"), part(page, "Example cured")
    if good is not None:
        shown += 1
        codes, text = told(bad)
        s.check(code + " gives " + code, codes == [code], text)
        s.equal(code + " cured gives nothing", told(good)[1], "")
    elif bad is not None and bad.startswith("# by builder"):
        s.check(code + " is tried by the API", '"%s"' % code in BY_API, code)
    elif bad is not None and code[:2] not in OTHER:
        s.check(code + " has an example that runs", False, bad)
s.check("most rules of programs are shown", shown >= 75, str(shown))
s.done()
