#!/bin/sh
# Threads under ThreadSanitizer: the library is built for it into build/tsan, then test_threads runs.
set -u
if ! echo 'int main(void) { return 0; }' | ${CC:-cc} -x c - -fsanitize=thread -o "${TMPDIR:-/tmp}/tsan_probe" 2>/dev/null ||
    ! "${TMPDIR:-/tmp}/tsan_probe" 2>/dev/null; then
    echo "no ThreadSanitizer here"
    exit 77
fi
make -s TSAN=1 CC="${CC:-cc}" build/tsan/test/manners/test_threads || exit 1
TSAN_OPTIONS=exitcode=99 build/tsan/test/manners/test_threads
