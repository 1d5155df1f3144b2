#!/bin/sh
# The run side alone: the digits program is compiled to one file, its text is deleted, and a program that knows
# relax/vm.h only and is linked with librelax-runtime.a only runs the file on the test images.
set -u
cd "${TOP:-$(dirname "$0")/../..}" || exit 1
work=$(mktemp -d "${TMPDIR:-/tmp}/run.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
relax=$(realpath "${RELAX:-bin/relax}") cc=${CC:-cc} python=${PYTHON:-/usr/bin/python3} archive=${RELAX_OUT:-.}/lib/librelax-runtime.a
images=examples/digits/test_images.npz numbers=test/vm/run_only_numbers.py
passed=0 failed=0 flags=
[ "${RELAX_VARIANT:-release}" != asan ] || flags="-fsanitize=address,undefined"

attempt() { # what, command...
    what=$1; shift
    if "$@" > "$work/log" 2>&1; then
        passed=$((passed + 1)); echo "ok $what"
    else
        failed=$((failed + 1)); echo "FAILED $what"; sed 's/^/    /' "$work/log" | tail -n 40
    fi
}
refuses() { # what, code, command...
    what=$1 code=$2; shift 2
    attempt "$what" sh -c '"$@" 2>&1 | grep -F "error[$0" && ! "$@" 2> /dev/null' "$code" "$@"
}

cp examples/digits/digits.py "$work/net.py"
attempt "build" "$relax" build "$work/net.py" --params examples/digits/mlp_weights.npz -o "$work/net.rlx"
rm "$work/net.py"
attempt "link with the run side alone" $cc -std=c99 -Wall -Wextra -Werror $flags -Iinclude -o "$work/run_only" test/vm/run_only.c "$archive" -lm -lpthread -ldl
attempt "nothing of the compile side inside" sh -c "! nm $work/run_only | grep ' rlx_script_\| relax_context_create\| rlx_codegen\| rlx_op_find'"
for rows in 360 1 0; do
    "$python" $numbers write $images $rows "$work/in.raw"
    attempt "run on $rows images" "$work/run_only" "$work/net.rlx" "$work/in.raw" $rows 64 "$work/out.raw"
    attempt "numbers of $rows images" "$python" $numbers compare $images $rows "$work/out.raw"
done

# Errors have their texts here too.
"$python" $numbers write $images 63 "$work/in.raw"
refuses "wrong size" RT "$work/run_only" "$work/net.rlx" "$work/in.raw" 64 63 "$work/out.raw"
head -c 1000 "$work/net.rlx" > "$work/short.rlx"
refuses "truncated file" LD "$work/run_only" "$work/short.rlx" "$work/in.raw" 63 64 "$work/out.raw"
refuses "no file" LD "$work/run_only" "$work/absent.rlx" "$work/in.raw" 63 64 "$work/out.raw"

# Operators on operands that only the run knows: those that were compiled ahead.
cat > "$work/late.py" <<'END'
@R.function
def main(x: R.Tensor):
    y = R.nn.relu(x)
    z = R.sum(y, axis=[1])
    return z
END
"$python" $numbers write $images 63 "$work/in.raw"
attempt "build ahead" "$relax" build "$work/late.py" -o "$work/ahead.rlx" --ranks x=2 --dtypes x=float32
attempt "build, nothing ahead" "$relax" build "$work/late.py" -o "$work/late.rlx"
attempt "run what was compiled ahead" "$work/run_only" "$work/ahead.rlx" "$work/in.raw" 63 64 "$work/out.raw"
refuses "no compiler" RT22 "$work/run_only" "$work/late.rlx" "$work/in.raw" 63 64 "$work/out.raw"

# How much code that is, linked as a host does: the rest, micro as all machines have it, and each instruction set
# (doc/ARCHITECTURE.md, Size).
code_of() { # member of the archive, or none for what is linked
    size -A $1 | awk -v member="$2" '/:$/ || /ex / { inside = index($1, member) == 1 } $1 ~ /^\.text/ && inside { sum += $2 } END { print sum + 0 }'
}
at_most() { # what, bytes, limit
    attempt "$1: $2 bytes of code, at most $3" [ "$2" -le "$3" ]
}
is_gcc() { $cc --version | grep -qi 'free software foundation'; } # limits are those of what packages are built with
if [ "${RELAX_VARIANT:-release}" = release ] && is_gcc; then
    echo "{ global: relax_*; local: *; };" > "$work/exports"
    attempt "link all of it" $cc -shared -o "$work/all.so" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -Wl,--gc-sections \
        -Wl,--version-script="$work/exports" -lm -lpthread -ldl
    micro=0
    for part in src/micro/*.c; do
        case $part in */set_*) continue ;; esac
        micro=$((micro + $(code_of "$archive" "$(basename "$part" .c).o")))
    done
    at_most "micro for all machines" "$micro" 46100
    for set in baseline avx2 avx512 amx neon neon_dot; do
        bytes=$(code_of "$archive" "set_$set.o")
        at_most "instruction set $set" "$bytes" 60000
        micro=$((micro + bytes))
    done
    at_most "the run side without micro" $(($(code_of "$work/all.so" "") - micro)) 280850
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
