#!/bin/sh
# Threads under ThreadSanitizer: the library is built for it, below this build, then test_threads runs.
set -u
if ! echo 'int main(void) { return 0; }' | ${CC:-cc} -x c - -fsanitize=thread -o "${TMPDIR:-/tmp}/tsan_probe" 2>/dev/null ||
    ! "${TMPDIR:-/tmp}/tsan_probe" 2>/dev/null; then
    echo "no ThreadSanitizer here"
    exit 77
fi
out="${RELAX_BUILD:-build/release}/threads"
make -s -j2 TSAN=1 SAN= O="$out" CC="${CC:-cc}" "$out/tsan/test/manners/test_threads" || exit 1
TSAN_OPTIONS=exitcode=99 "$out/tsan/test/manners/test_threads"
