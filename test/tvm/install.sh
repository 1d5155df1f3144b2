#!/bin/sh
# TVM 0.27 for Python, in a folder of its own: install.sh FOLDER. Says how to do it by hand where that fails.
set -e
dir=$1
[ -x "$dir/bin/python" ] && "$dir/bin/python" -c 'import tvm' 2>/dev/null && exit 0
"${PYTHON:-python3}" -m venv "$dir" && "$dir/bin/python" -m pip install --quiet 'apache-tvm==0.27.*' && exit 0
echo "cannot install TVM: make a virtual environment in $dir with apache-tvm 0.27, or give TVM_PYTHON=PYTHON that has it" >&2
exit 77
