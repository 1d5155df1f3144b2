#!/bin/sh
# The main job, start to end: a program and weights in, one compiled file out, the file run on real images.
# Called by `make demo`, which sets RELAX (the tool) and RELAX_DEMO (digits_demo.c, compiled).
set -e
here=$(dirname "$0")
relax=${RELAX:-$here/../../bin/relax}
demo=${RELAX_DEMO:-$here/../../build/digits_demo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

echo "== $here/digits.py"
"$relax" check "$here/digits.py"
echo "checked: well-formed and well-typed"
"$relax" print "$here/digits.py" | sed -n '5,14p'
echo "..."
"$relax" build "$here/digits.py" --params "$here/mlp_weights.npz" -o "$work/digits.rlx"
echo
echo "== compiled with the weights inside: $(wc -c < "$work/digits.rlx") bytes"
"$relax" run "$work/digits.rlx" --input "$here/test_images.npz:images" --output "$work/out"
echo
"$demo" "$work/digits.rlx" "$here/test_images.npz"
