"""The examples of relax explain, as they are shown: the bad one gives its code and nothing else,
the cured one gives nothing. Where no text can show a mistake, tests of the API do."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli_test

s = cli_test.Suite()
TOP = cli_test.TOP
BY_API = "".join(open(os.path.join(TOP, "test/analysis", name)).read()
                 for name in ("test_rules_by_api.c", "test_well_formed.c"))
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


def told(text):
    command = ["check", "-"]
    if text.startswith("# relax build"):
        command = ["build", "-", "--target", "interp", "-o", s.path("out.rlx")]
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
