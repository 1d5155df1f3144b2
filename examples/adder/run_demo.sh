#!/bin/sh
# A transformer, start to end: program and weights in, one compiled file out, the stored prompts answered token by token.
# Called by `make demo`, which sets RELAX (the tool) and RELAX_DEMO (adder_demo.c, compiled).
set -e
here=$(dirname "$0")
relax=${RELAX:-$here/../../bin/relax}
demo=${RELAX_DEMO:-$here/../../build/adder_demo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

echo
echo "== $here/adder.py"
"$relax" check "$here/adder.py"
echo "checked: well-formed and well-typed"
"$relax" build "$here/adder.py" --params "$here/weights.npz" --target interp -o "$work/adder.rlx"
"$relax" build "$here/adder.py" --params "$here/weights.npz" --target c --cpu native -o "$work/native.rlx"
echo
echo "== compiled with the weights inside: $(wc -c < "$work/adder.rlx") bytes, with machine code too $(wc -c < "$work/native.rlx")"
"$demo" "$here/prompts.npz" "$work/adder.rlx" "$work/native.rlx"
