#!/bin/sh
# Elementary functions against MPFR: ours of float32, and those of float64 that op/elementary judges by.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
echo '#include <stdio.h>
#include <mpfr.h>
int main(void) { return mpfr_get_version() == 0; }' > "$dir/probe.c"
if ! ${CC:-cc} "$dir/probe.c" -o "$dir/probe" -lmpfr -lgmp 2>/dev/null; then
    echo "no MPFR here (libmpfr-dev)"
    exit 77
fi
${CC:-cc} -std=c11 -O2 -ffp-contract=off -Wall -Wextra -D_GNU_SOURCE -Iinclude -Isrc ${CPPFLAGS:-} test/op/judge.c -o "$dir/judge" \
    -lmpfr -lgmp -lm || exit 1
"$dir/judge" "${JUDGE_COUNT:-200000}"
