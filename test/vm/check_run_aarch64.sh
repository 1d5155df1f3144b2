#!/bin/sh
# The run side on aarch64: compiled across and run by an emulator of user programs, where both are there. Programs of other tests are compiled
# and run here first, and their calls recorded: there they have to give the same bits, with each instruction set, and on two threads.
set -u
cd "${TOP:-$(dirname "$0")/../..}" || exit 1
cc=aarch64-linux-gnu-gcc run=qemu-aarch64 python=${PYTHON:-/usr/bin/python3}
if ! command -v $cc >/dev/null || ! command -v $run >/dev/null || ! "$python" -c 'import numpy' 2>/dev/null; then
    echo "skipped: no $cc, no $run or no numpy"
    exit 77
fi
if [ "${RELAX_VARIANT:-release}" != release ]; then
    echo "skipped: another build would say nothing of aarch64"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/aarch64.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
passed=0 failed=0

attempt() { # what, command...
    what=$1; shift
    if "$@" > "$work/log" 2>&1; then
        passed=$((passed + 1)); echo "ok $what: $(tail -n 1 "$work/log")"
    else
        failed=$((failed + 1)); echo "FAILED $what"; tail -n 40 "$work/log" | sed 's/^/    /'
    fi
}
compile_all() {
    mkdir "$work/o" || return 1
    for file in src/base/*.c src/format/*.c src/desc/*.c src/micro/*.c src/runtime/*.c src/vm/*.c src/api/run_*.c test/vm/replay.c; do
        case $file in src/micro/set_*) how=-O2 ;; *) how=-O1 ;; esac # where it decides what instructions there are
        $cc -std=c11 $how -Wall -Wextra -Werror -Wno-unused-parameter -ffp-contract=off -fno-strict-aliasing -fno-tree-vectorize \
            -ffunction-sections -D_GNU_SOURCE -Iinclude -Isrc -c -o "$work/o/$(basename "$file" .c).o" "$file" || return 1
    done
    $cc -static -Wl,--gc-sections -o "$work/replay" "$work"/o/*.o -lm -lpthread -ldl
}
record() { # tape, script, variables and arguments...
    tape=$1 script=$2; shift 2
    attempt "record $tape" env TMPDIR="$work" RELAX_TAPE="$work/$tape" "$@" "$python" "$script"
}

attempt "compile" compile_all
record kernels test/cli/check_numpy_kernels.py PRIMFUNC_SEED=40 PRIMFUNC_COUNT=40
record rows test/cli/check_rows_and_pools.py ROWS_SEED=0 ROWS_COUNT=45
record networks test/vm/record_networks.py WINDOWS_COUNT=30 INT8_COUNT=15
for tape in kernels rows networks; do
    attempt "replay $tape" $run "$work/replay" "$work/$tape" neon:1 neondot:2 baseline:1
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
