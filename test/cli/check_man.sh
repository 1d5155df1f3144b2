#!/bin/sh
# The manual page says what the tool says of itself, and is sound.
cd "$TOP" || exit 1
"$PYTHON" test/tools/gen_man.py --check || { echo "0 passed, 1 failed"; exit 1; }
command -v groff >/dev/null || { echo "1 passed, 0 failed"; exit 0; }
warnings=$(groff -man -Tutf8 -ww doc/relax.1 2>&1 >/dev/null | grep -v "cannot \(break\|adjust\)")
[ -z "$warnings" ] && echo "2 passed, 0 failed" && exit 0
echo "$warnings"
echo "1 passed, 1 failed"
exit 1
