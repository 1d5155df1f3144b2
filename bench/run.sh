#!/bin/sh
# Builds the measuring programs into build/bench and runs them all: a table on stdout, build/bench.json beside it.
# `bench/run.sh linear OPTIONS` measures growth with the size of modules alone, see linear.py; `bench/run.sh peers OPTIONS`
# kernels and networks beside other libraries, see peers/peers.py.
# Called by `make bench`, which builds the library first; CC, PYTHON and OUT (where lib/ and bin/ are) come from there.
set -e
cd "$(dirname "$0")/.."
out=${OUT:-.}
build=${BENCH_BUILD:-build/bench}
cc=${CC:-cc}
flags="-std=c11 -O2 -g -D_GNU_SOURCE -Iinclude -Isrc"
mkdir -p "$build"

for name in builder vm linear chain; do
    $cc $flags -o "$build/bench_$name" "bench/bench_$name.c" "$out/lib/librelax.a" -lm -lpthread -ldl
done
for name in text digits start late decode relay onnx; do
    $cc $flags -o "$build/bench_$name" "bench/bench_$name.c" -L"$out/lib" -Wl,-rpath,"$(realpath "$out/lib")" -lrelax
done
$cc $flags -o "$build/bench_adder" bench/bench_adder.c -L"$out/lib" -Wl,-rpath,"$(realpath "$out/lib")" -lrelax -lminizip

# The floors are those of the machine, not of a baseline processor.
$cc $flags -march=native -o "$build/floor" bench/floor.c 2>/dev/null || $cc $flags -o "$build/floor" bench/floor.c

# Peers live in an environment of their own where `make bench-peers` made one. The host is code for this machine, and
# its products are contracted: it says what the machine can do.
python=${PYTHON:-python3}
peers_python=$(dirname "$build")/peers/bin/python
[ -x "$peers_python" ] || peers_python=$python
dnnl=$(echo '#include <dnnl.h>' | $cc -E - >/dev/null 2>&1 && echo -DHAVE_DNNL -ldnnl || true)
host() {
    $cc $flags "$@" -ffp-contract=fast -shared -fPIC -o "$build/libpeer_host.so" bench/peers/peer_host.c \
        -L"$out/lib" -Wl,-rpath,"$(realpath "$out/lib")" -lrelax -ldl $dnnl
}
host -march=native 2>/dev/null || host
peers() {
    "$peers_python" -c 'import numpy' 2>/dev/null || { echo "bench: numpy is not installed: peers left out" >&2; return; }
    "$peers_python" bench/peers/peers.py --out "$out" --build "$build" "$@"
}

case ${1:-all} in
    linear) shift; exec "$python" bench/linear.py --build "$build" "$@" ;;
    peers) shift; peers "$@" ;;
    *) "$python" bench/run.py --out "$out" --build "$build"
       "$python" bench/linear.py --build "$build"
       peers ;;
esac
