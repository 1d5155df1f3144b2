#!/bin/sh
# Builds the measuring programs into build/bench and runs them all: a table on stdout, build/bench.json beside it.
# `bench/run.sh linear OPTIONS` measures growth with the size of modules alone, see linear.py.
# Called by `make bench`, which builds the library first; CC, PYTHON and OUT (where lib/ and bin/ are) come from there.
set -e
cd "$(dirname "$0")/.."
out=${OUT:-.}
build=${BENCH_BUILD:-build/bench}
cc=${CC:-cc}
flags="-std=c11 -O2 -g -D_GNU_SOURCE -Iinclude -Isrc"
mkdir -p "$build"

for name in builder vm linear; do
    $cc $flags -o "$build/bench_$name" "bench/bench_$name.c" "$out/lib/librelax.a" -lm -lpthread -ldl
done
for name in text digits start; do
    $cc $flags -o "$build/bench_$name" "bench/bench_$name.c" -L"$out/lib" -Wl,-rpath,"$(realpath "$out/lib")" -lrelax
done
$cc $flags -o "$build/bench_adder" bench/bench_adder.c -L"$out/lib" -Wl,-rpath,"$(realpath "$out/lib")" -lrelax -lminizip

# The floors are those of the machine, not of a baseline processor.
$cc $flags -march=native -o "$build/floor" bench/floor.c 2>/dev/null || $cc $flags -o "$build/floor" bench/floor.c

if [ "$1" != linear ]; then
    "${PYTHON:-python3}" bench/run.py --out "$out" --build "$build"
    exec "${PYTHON:-python3}" bench/linear.py --build "$build"
fi
shift
exec "${PYTHON:-python3}" bench/linear.py --build "$build" "$@"
