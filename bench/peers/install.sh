#!/bin/sh
# Makes a virtual environment with the Python packages that `make bench` compares with. What it has stays.
#   install.sh DIRECTORY
set -eu
python=${PYTHON:-python3}
[ -x "$1/bin/python" ] || "$python" -m venv "$1"
"$1/bin/python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || "$1/bin/python" -m pip install --quiet numpy onnx onnxruntime
"$1/bin/python" -c 'import numpy, onnx, onnxruntime as o; print(f"ONNX Runtime {o.__version__}, onnx {onnx.__version__}, numpy {numpy.__version__}")'
