#!/bin/sh
# The kept files of the fuzzers, each through its target, built without a fuzzer. A crash, a failed allocation that is
# not handled or a broken promise ends the target; the last file it named is the one.
set -u
cd "${TOP:-$(dirname "$0")/../..}" || exit 1
out=${RELAX_OUT:-.} cc=${CC:-cc} flags=
[ "${RELAX_VARIANT:-release}" != asan ] || flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
work=$(mktemp -d "${TMPDIR:-/tmp}/corpora.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
passed=0 failed=0

replay() { # name, what it is linked with
    name=$1; shift
    if $cc -std=c11 -g -O1 -D_GNU_SOURCE -DFUZZ_REPLAY $flags -Iinclude -Isrc -Itest/support -o "$work/$name" \
        test/fuzz/fuzz_$name.c test/fuzz/replay.c "$@" -lm -lpthread -ldl > "$work/log" 2>&1 &&
        find "test/fuzz/corpus/$name" -type f | LC_ALL=C sort | "$work/$name" > "$work/said" 2> "$work/log"; then
        passed=$((passed + $(sed -n 's/ passed.*//p' "$work/said")))
    else
        failed=$((failed + 1)); echo "FAILED $name"; tail -n 40 "$work/log" | sed 's/^/    /'
    fi
}

replay rlx test/support/compiled_file.c "$out/lib/librelax-runtime.a"
replay script test/support/text_case.c "$out/lib/librelax.a"
replay relay "$out/lib/librelax.a"
replay onnx "$out/lib/librelax.a"
replay npy src/cli/npy.c src/cli/npz.c src/cli/zip.c src/cli/crc32.c "$out/lib/librelax-runtime.a" -lz

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
