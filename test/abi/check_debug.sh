#!/bin/sh
# The library of a debug build sees more wrong calls: nodes of another context, handles that were given up, builders for one
# another. Builds it below this build and runs the suites of misuse there; they know which build they are in.
[ "$RELAX_VARIANT" = release ] || exit 77
unset MAKEFLAGS MFLAGS T LONG O
debug="$(realpath --relative-to=. "$RELAX_BUILD")/misuse"   # as the compiler writes it into lists of what depends on what
# Without debug information, which takes time to write and which nobody reads here.
make -s -j"$(nproc 2>/dev/null || echo 2)" DEBUG=1 CFLAGS=-g0 O="$debug" lib "$debug/debug/test/api/test_api_misuse" "$debug/debug/test/api/test_api_reentry" || exit 1
out="$(cd "$debug/debug" && pwd)"
RELAX_VARIANT=debug RELAX_OUT="$out" RELAX_BUILD="$out" "${PYTHON:-python3}" test/abi/check_misuse.py > "$out/sweep.txt" 2>&1
grep -v ' passed, ' "$out/sweep.txt"
by_hand=0
: > "$out/misuse.txt"
for suite in test_api_misuse test_api_reentry; do
    "$out/test/api/$suite" >> "$out/misuse.txt" 2>&1 || by_hand=$((by_hand + 1))
done
[ $by_hand = 0 ] || cat "$out/misuse.txt"
swept=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' "$out/sweep.txt") failed=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p' "$out/sweep.txt")
tested=$(grep -c '^\[       OK \]' "$out/misuse.txt")
echo "$((${swept:-0} + tested)) passed, $((${failed:-1} + by_hand)) failed"
