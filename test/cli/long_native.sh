#!/bin/sh
# The suites that compare with numpy, with kernels compiled as C wherever the tool would do so.
set -u
export RELAX_CC="${CC:-cc}" RELAX_TEST_NATIVE=1
unset RELAX_LONG
passed=0 failed=0
for suite in digits numpy numpy_kernels numpy_cases numpy_table numpy_tir; do
    if "${PYTHON:-python3}" "test/cli/check_$suite.py" > "$TMPDIR/$suite.log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $suite"
        tail -n 20 "$TMPDIR/$suite.log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
