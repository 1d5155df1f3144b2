#!/usr/bin/env python3
"""check_names.py: names of the library are unique and carry its prefix.

1. Every global symbol of the archives begins with rlx_ or relax_: a host that links them
   statically keeps all other names for itself.
2. A shared name (rlx_, RLX_, relax_) means one thing in the whole tree: it is a function or a
   type, a type is defined in one file, a constant in one enumeration or #define. What several
   .c files define before they include a template is an argument of it.
"""
import collections
import os
import re
import subprocess
import sys

TOP = os.environ.get('TOP', '.')
ARCHIVES = ('librelax.a', 'librelax-runtime.a')
NOISE = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.S)
TAG = re.compile(r'\b(struct|union|enum)\s+((?:rlx|relax)_\w+)\s*\{')
TYPEDEF = re.compile(r'\btypedef\b[^;{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})?[^;{}]*;')
LAST_WORD = re.compile(r'\b((?:rlx|relax)_\w+)\s*(?:\[[^\]]*\])?;\Z')
POINTER = re.compile(r'\(\s*\*\s*((?:rlx|relax)_\w+)\s*\)')
FUNCTION = re.compile(r'^(?!typedef)[A-Za-z_][^;{}()=#]*?\b((?:rlx|relax)_\w+)\(', re.M)
MACRO = re.compile(r'^\s*#\s*define\s+((?:rlx|RLX)_\w+)', re.M)
ENUM = re.compile(r'\benum\s+\w*\s*\{([^}]*)\}')
CONSTANT = re.compile(r'(?:^|,)\s*(RLX_\w+)')


def sources():
    out = subprocess.check_output(['git', 'ls-files', 'src', 'include'], text=True, cwd=TOP)
    return [f for f in out.split() if f.endswith(('.c', '.h'))]


def unprefixed():
    lib = os.path.join(os.environ.get('RELAX_OUT', TOP), 'lib')
    wrong = set()
    for name in ARCHIVES:
        out = subprocess.check_output(['nm', '-g', '--defined-only', os.path.join(lib, name)],
                                      text=True, stderr=subprocess.DEVNULL)
        for line in out.splitlines():
            parts = line.split()
            if len(parts) == 3 and not re.match(r'(rlx|relax)_|_*(asan|odr|tsan)|\w+\.resolver$', parts[2]): # of clones, by clang
                wrong.add(parts[2])
    return [f'{s}: a global symbol without rlx_ or relax_' for s in sorted(wrong)]


def collect():
    """Where each shared name is a type, a function or a constant."""
    types, functions = collections.defaultdict(set), collections.defaultdict(set)
    constants, tags = collections.defaultdict(list), {}
    for path in sources():
        with open(os.path.join(TOP, path), encoding='utf-8') as f:
            text = NOISE.sub(' ', f.read())
        for kind, name in TAG.findall(text):
            types[name].add(path)
            tags.setdefault(name, set()).add(kind)
        for piece in TYPEDEF.findall(text):
            for name in POINTER.findall(piece) or LAST_WORD.findall(piece):
                if not re.search(r'\b(?:struct|union|enum)\s+' + name + r'\b', piece):
                    types[name].add(path)
        for name in FUNCTION.findall(text):
            functions[name].add(path)
        for body in ENUM.findall(text):
            for name in CONSTANT.findall(re.sub(r'\s+', ' ', body)):
                constants[name].append(path)
        for name in MACRO.findall(text):
            constants[name].append('#define ' + path)
    return types, functions, constants, tags


def ambiguous():
    types, functions, constants, tags = collect()
    wrong = []
    for name, where in sorted(types.items()):
        if len(where) > 1:
            wrong.append(f'{name}: a type in {", ".join(sorted(where))}')
        if name in functions:
            wrong.append(f'{name}: a type in {min(where)} and a function in '
                         f'{min(functions[name])}')
        if len(tags.get(name, ())) > 1:
            wrong.append(f'{name}: {" and ".join(sorted(tags[name]))}')
    for name, where in sorted(functions.items()):
        headers = [p for p in where if p.endswith('.h')]
        if len(headers) > 1:
            wrong.append(f'{name}: declared in {", ".join(sorted(headers))}')
    for name, where in sorted(constants.items()):
        places = {w.replace('#define ', '') for w in where}
        arguments = all(w.startswith('#define') and w.endswith('.c') for w in where)
        if len(places) > 1 and not arguments:
            wrong.append(f'{name}: a constant in {", ".join(sorted(places))}')
    return len(types) + len(functions) + len(constants), wrong


def main():
    count, wrong = ambiguous()
    wrong += unprefixed()
    for line in wrong:
        print(line)
    print(f'{count - len(wrong)} passed, {len(wrong)} failed')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
