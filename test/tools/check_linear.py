#!/usr/bin/env python3
"""Costs grow with the size of a program: memory and instructions of every stage at one size and at four times that size. To read and
check a program takes at most six bytes of memory for each of its text.

No times: bytes and blocks come from the allocator's counters, instructions from callgrind, function by function, where valgrind is
installed. A function whose cost grows with the square of the size grows sixteenfold.
"""
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from linear_texts import COSTLY, TEXTS

TOP = Path(os.environ.get("TOP") or Path(__file__).resolve().parent.parent.parent)
OUT = Path(os.environ.get("RELAX_OUT") or TOP)
RELAX = os.environ.get("RELAX") or TOP / "bin/relax"
SHAPES = ("deep", "wide", "functions", "symbols", "kernels", "renamed", "branches", "mirrored")
TIMES = 4
LARGER = 2 if os.environ.get("RELAX_LONG") else 1
COUNTED_SIZES = {"kernels": 40 * LARGER, "mirrored": 250 * LARGER}    # the others: COUNTED_SIZE
MEMORY_SIZE, COUNTED_SIZE = 4000, 80 * LARGER
# Of linear_texts.py. What is scheduled or given sizes that are new costs so much for each line that a step in the growth, which asks for
# a third size, is a minute.
TEXT_SIZE, COSTLY_SIZE = 200 * LARGER, 200 * LARGER if LARGER > 1 else 64
TEXT_SHAPES, MOST_FOR_TEXT = ("deep", "wide", "functions", "symbols"), 6.0
CHUNK = 2 << 20             # memory comes in chunks of up to that size
MOST_BYTES, MOST_BLOCKS = 5.0, 5.0
MOST_INSTRUCTIONS, MOST_OF_ONE = 5.0, 7.0
MOST_OF_ONE_FOR_TOOL = 13.0 # tables that double, and malloc, come in larger steps there
SHARE = 0.003               # of all instructions: below that a function is not looked at

if os.environ.get("RELAX_VARIANT") == "asan":
    print("the sanitizers' own memory and instructions would be counted")
    sys.exit(77)


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def build(folder):
    program = folder / "bench_linear"
    run(*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-O1", "-D_GNU_SOURCE", f"-I{TOP}/include", f"-I{TOP}/src", "-o", program,
        TOP / "bench/bench_linear.c", OUT / "lib/librelax.a", "-lm", "-lpthread", "-ldl")
    return program


def text_of(folder, shape, size):
    path = folder / f"{shape}{size}.py"
    path.write_text(run(sys.executable, TOP / "bench/gen_module.py", shape, size))
    return path


def memory(program, folder, shape, size):
    """{stage: (peak, kept, blocks)}; bytes of the text"""
    lines = run(program, text_of(folder, shape, size), 1).splitlines()
    fields = {f[0]: f[1:] for f in (line.split("\t") for line in lines)}
    return {stage: tuple(map(int, f[2:])) for stage, f in fields.items() if stage not in ("text", "touch")}, int(fields["text"][0])


def text_faults(shape, size, figures, text):
    """Read, then check what is kept of that."""
    peak, kept, _ = figures["parse"]
    held = max(peak, kept + figures["check"][0])
    if shape in TEXT_SHAPES and held > MOST_FOR_TEXT * text:
        yield f"{shape}, {size} bindings: {held} bytes to read and check a text of {text}, {held / text:.2f} for each"


def memory_faults(program, folder, shape):
    (small, text), (large, large_text) = (memory(program, folder, shape, n) for n in (MEMORY_SIZE, MEMORY_SIZE * TIMES))
    yield from text_faults(shape, MEMORY_SIZE, small, text)
    yield from text_faults(shape, MEMORY_SIZE * TIMES, large, large_text)
    for stage, figures in large.items():
        for what, one, four, most, slack in zip(("most bytes held", "bytes kept", "blocks asked for"), small[stage], figures,
                                                (MOST_BYTES, MOST_BYTES, MOST_BLOCKS), (5 * CHUNK, 5 * CHUNK, 100)):
            if four > most * one + slack:
                yield f"{shape}, {stage}: {what}: {one} for {MEMORY_SIZE} bindings, {four} for {TIMES} times as many"


def instructions(out, *command):
    """{function: instructions, without what it calls}"""
    counts, names = {}, {}
    run("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command)
    function, of_call = None, False
    for line in out.read_text().splitlines():
        head = re.match(r"fn=\((\d+)\)(?: (.*))?", line)
        called = re.match(r"cfn=\((\d+)\) (.*)", line)
        if head or called:
            number, name = (head or called).groups()
            if name:
                names[number] = name
            function = names[number] if head else function
        elif line.startswith("calls="):
            of_call = True
        elif re.match(r"[-+*\d]", line):
            if not of_call and function:
                counts[function] = counts.get(function, 0) + int(line.split()[1])
            of_call = False
    return counts


def lasting_faults(name, size, count, most):
    """What grows too much from one size to the next has to do so once more, as what is quadratic does: copying has a step where vectors
    become large. count: instructions of each function at a size."""
    faults = []
    small = count(size)
    for larger in (size * TIMES, size * TIMES * TIMES):
        large = count(larger)
        faults = list(growth_faults(name, larger // TIMES, small, large, most))
        if not faults:
            break
        small = large
    yield from faults


def instruction_faults(program, folder, shape):
    def count(n):
        return instructions(folder / f"{shape}{n}.callgrind", program, text_of(folder, shape, n), 1)
    yield from lasting_faults(shape, COUNTED_SIZES.get(shape, COUNTED_SIZE), count, MOST_OF_ONE)


def tool_faults(program, folder, text):
    """The tool on a text of linear_texts.py, from start to end."""
    yield from lasting_faults(text.__name__, COSTLY_SIZE if text in COSTLY else TEXT_SIZE, lambda n: tool_instructions(folder, text, n), MOST_OF_ONE_FOR_TOOL)


def tool_instructions(folder, text, size):
    path = folder / f"{text.__name__}{size}.py"
    path.write_text(text(size))
    command, *options = TEXTS[text]
    return instructions(folder / f"{text.__name__}{size}.callgrind", RELAX, command, path, *options)


def growth_faults(shape, size, small, large, most_of_one):
    total = sum(large.values())
    if total > MOST_INSTRUCTIONS * sum(small.values()):
        yield f"{shape}: {sum(small.values())} instructions for {size} bindings, {total} for {TIMES} times as many"
    for name, count in large.items():
        before = small.get(name, 0)
        if before and count > SHARE * total and count > most_of_one * before:
            yield f"{shape}: {name}: {before} instructions for {size} bindings, {count} for {TIMES} times as many"


def faults_of(check, *arguments):
    return list(check(*arguments))


def main():
    checks, texts = [(memory_faults, "memory")], ()
    if shutil.which("valgrind"):
        checks.append((instruction_faults, "instructions"))
        texts = TEXTS
    else:
        print("valgrind is not installed: instructions are not counted")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = Path(scratch)
        program = build(folder)
        jobs = [(f"{what} of {shape}", pool.submit(faults_of, check, program, folder, shape)) for shape in SHAPES for check, what in checks]
        jobs += [(f"{' '.join(TEXTS[t])}, {t.__name__}", pool.submit(faults_of, tool_faults, program, folder, t)) for t in texts]
        for name, job in jobs:
            faults = job.result()
            failed += bool(faults)
            print(f"{'FAILED' if faults else 'ok'}  {name}")
            for fault in faults:
                print(f"        {fault}")
    print(f"{len(jobs) - failed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
