#!/bin/sh
# Refused memory once more, with regions that ask the allocator for nearly every node, under AddressSanitizer: each refusal hits another
# place, and each node ends where its block ends.
set -u
if ! echo 'int main(void) { return 0; }' | ${CC:-cc} -x c - -fsanitize=address -o "${TMPDIR:-/tmp}/asan_probe" 2>/dev/null ||
    ! "${TMPDIR:-/tmp}/asan_probe" 2>/dev/null; then
    echo "no AddressSanitizer here"
    exit 77
fi
out="${RELAX_BUILD:-build/release}/tiny"
make -s -j2 SAN=1 TSAN= O="$out" CC="${CC:-cc}" CPPFLAGS=-DRLX_TINY_REGIONS=1 "$out/asan/test/fault/test_memory_failure" || exit 1
unset RELAX_LONG
"$out/asan/test/fault/test_memory_failure"
