#!/bin/sh
# The built library keeps what test/abi/baseline.abi promises. abidiff's exit code is a set of bits:
# 1 and 2 it could not work, 4 something changed, 8 something incompatible changed. 4 fails as well: a change
# is meant only if the baseline (`make abi-baseline`) and the changelog change with it. New functions are no
# change of the promise; test/abi/symbols lists them.
set -u
baseline=test/abi/baseline.abi
library=${RELAX_LIB:-lib/librelax.so}
if [ "${RELAX_VARIANT:-release}" != release ]; then
    echo "only the plain build is released"
    exit 77
fi
if [ ! -f "$baseline" ]; then
    echo "no baseline yet: \`make abi-baseline\` writes $baseline"
    exit 77
fi
# Types that are in no public header are ours to change.
report=$(abidiff --suppressions test/abi/private_types.abignore --no-added-syms \
    --headers-dir2 include --drop-private-types --no-show-locs "$baseline" "$library" 2>&1)
bits=$?
if [ "$bits" = 0 ]; then
    echo "1 passed, 0 failed"
    exit 0
fi
echo "$report" | head -n 80
if [ $((bits & 8)) != 0 ]; then
    echo "incompatible: programs linked to the baseline break (abidiff exit $bits)"
elif [ $((bits & 4)) != 0 ]; then
    echo "changed: if it is meant, run \`make abi-baseline\` and add a line to CHANGELOG.md (abidiff exit $bits)"
else
    echo "abidiff could not compare (exit $bits)"
fi
echo "0 passed, 1 failed"
exit 1
