#!/bin/sh
# include/relax/ops.h is what the operator table of this build gives.
cd "${TOP:-$(dirname "$0")/../..}" || exit 1
exec "${PYTHON:-/usr/bin/python3}" test/tools/gen_ops.py --check
