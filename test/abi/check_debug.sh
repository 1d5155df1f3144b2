#!/bin/sh
# The library of a debug build sees more wrong calls: nodes of another context, handles that were given up, builders for one
# another. Builds it below this build and runs the suites of misuse there; they know which build they are in.
[ "$RELAX_VARIANT" = release ] || exit 77
unset MAKEFLAGS MFLAGS T LONG O
debug="$(realpath --relative-to=. "$RELAX_BUILD")/misuse"   # as the compiler writes it into lists of what depends on what
make -s -j"$(nproc 2>/dev/null || echo 2)" DEBUG=1 O="$debug" T=api/api_misuse lib tests || exit 1
out="$(cd "$debug/debug" && pwd)"
RELAX_VARIANT=debug RELAX_OUT="$out" RELAX_BUILD="$out" "${PYTHON:-python3}" test/abi/check_misuse.py > "$out/sweep.txt" 2>&1
grep -v ' passed, ' "$out/sweep.txt"
"$out/test/api/test_api_misuse" > "$out/misuse.txt" 2>&1
by_hand=$?
[ $by_hand = 0 ] || cat "$out/misuse.txt"
swept=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' "$out/sweep.txt") failed=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p' "$out/sweep.txt")
tested=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$out/misuse.txt")
echo "$((${swept:-0} + ${tested:-0})) passed, $((${failed:-1} + (by_hand != 0))) failed"
