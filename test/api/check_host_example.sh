#!/bin/sh
# examples/host/host.c as a stranger would use it: `make install`, then cc with pkg-config's flags, for a plain PREFIX
# and for a package (DESTDIR); then linked statically without the text form of the library. Each run's numbers are
# compared with those of numpy, and the lines that say that nothing was copied, called twice or forgotten.
set -u
cd "${TOP:-$(dirname "$0")/../..}" || exit 1
variant=${RELAX_VARIANT:-release}
work=$(mktemp -d "${TMPDIR:-/tmp}/host.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
unset MAKEFLAGS MFLAGS MAKELEVEL PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
cc=${CC:-cc} python=${PYTHON:-/usr/bin/python3} pkg_config=${PKG_CONFIG:-pkg-config}
passed=0 failed=0 flags= settings=
case $variant in
asan) settings="SAN=1" flags="-fsanitize=address,undefined" ;;
debug) settings="DEBUG=1" ;;
esac
out=${RELAX_OUT:-.}
case $out in */release) settings="$settings O=${out%/release}" ;; esac

report() { # what, status
    if [ "$2" = 0 ]; then
        passed=$((passed + 1)); echo "ok $1"
    else
        failed=$((failed + 1)); echo "FAILED $1"; sed 's/^/    /' "$work/log" | tail -n 40
    fi
}
attempt() { # what, command...
    what=$1; shift
    "$@" > "$work/log" 2>&1
    report "$what" $?
}
# The program prints what it must, and nothing else goes wrong.
judge() { # what, with text or not, command...
    what=$1 text=$2; shift 2
    "$@" > "$work/log" 2> "$work/err"
    code=$?
    { cat "$work/err"; echo "exit $code"; } >> "$work/log"
    [ $code = 0 ] && [ ! -s "$work/err" ] && "$python" test/api/host_numbers.py "$work/log" >> "$work/log" &&
        grep -qx "input is the program's own array: yes" "$work/log" &&
        grep -qx "host function called 1 time(s)" "$work/log" &&
        grep -qx "array given back 1 time(s)" "$work/log" &&
        [ "$(grep -c 'R\.call_dps_packed("host\.cool_down"' "$work/log")" = "$text" ]
    report "$what" $?
}

# The build under test, as it is: nothing is compiled.
install_built() { make -s install BUILT=1 $settings "$@"; }

# --- a prefix of one's own
attempt "make install PREFIX" install_built PREFIX="$work/prefix"
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
attempt "compiled with pkg-config" sh -c "$cc $flags examples/host/host.c \$($pkg_config --cflags --libs relax) -o $work/shared"
judge "run with the shared library" 1 env LD_LIBRARY_PATH="$work/prefix/lib" "$work/shared"
attempt "the tool runs from its place" "$work/prefix/bin/relax" version
attempt "the tool checks a program" "$work/prefix/bin/relax" check examples/digits/digits.py

attempt "the interface is installed for bindings" test -s "$work/prefix/share/relax/api.json"

# --- the run side alone: its own .pc file says all that a link needs
cat > "$work/alone.c" <<'END'
#include <relax/vm.h>
int main(void)
{
    relax_executable *exe = NULL;
    return relax_executable_load(RELAX_STR("no program"), NULL, &exe, NULL) != RELAX_ERROR_LOAD;
}
END
attempt "compiled with the run-only library" sh -c "$cc $flags $work/alone.c \$($pkg_config --cflags --libs relax-runtime) -o $work/alone"
attempt "run with nothing else" sh -c "$work/alone && ! ldd $work/alone | grep librelax"

# --- CMake, where there is one, finds the whole also where it has been moved to
if command -v cmake > "$work/log"; then
    mv "$work/prefix" "$work/moved"
    mkdir "$work/cmake"
    cat > "$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.10)
project(host C)
find_package(relax 0.2 REQUIRED)
add_executable(host ${HOST})
target_link_libraries(host relax::relax)
add_executable(alone ${ALONE})
target_link_libraries(alone relax::runtime)
END
    attempt "CMake finds the package" cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$work/moved" \
        -DHOST="$PWD/examples/host/host.c" -DALONE="$work/alone.c" -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$flags"
    attempt "CMake builds with it" cmake --build "$work/cmake/build"
    judge "run as CMake built it" 1 "$work/cmake/build/host"
    attempt "run with the run side as CMake built it" "$work/cmake/build/alone"
    mv "$work/moved" "$work/prefix"
fi

# --- a package: nothing may name the place it was put together in
attempt "make install DESTDIR" install_built DESTDIR="$work/root" PREFIX=/opt/relax LIBDIR=/opt/relax/lib64
attempt "no trace of DESTDIR" sh -c "! grep -rlF '$work/root' '$work/root'/opt/relax/lib64/pkgconfig '$work/root'/opt/relax/bin"
export PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR="$work/root/opt/relax/lib64/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/root"
attempt "compiled against the package" sh -c "$cc $flags examples/host/host.c \$($pkg_config --cflags --libs relax) -o $work/packaged"
judge "run against the package" 1 env LD_LIBRARY_PATH="$work/root/opt/relax/lib64" "$work/packaged"
unset PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR

attempt "make uninstall DESTDIR" make -s uninstall DESTDIR="$work/root" PREFIX=/opt/relax LIBDIR=/opt/relax/lib64
attempt "which leaves nothing" sh -c "! find '$work/root' ! -type d | grep ."

# --- static, first whole, then without the text form. What the run asks to be compiled is text: that goes, too, and
# librelax-runtime.a behind the archive says so in its place.
archive=$work/prefix/lib/librelax.a run_archive=$work/prefix/lib/librelax-runtime.a system="-lm -lpthread -ldl"
late() { # what, program, lines that must be there...
    what=$1 program=$2; shift 2
    "$program" "$work/late.rlx" > "$work/log" 2>&1
    status=$?
    for line in "$@"; do
        grep -qF "$line" "$work/log" || { echo "missing: $line"; status=1; } >> "$work/log"
    done
    report "$what" $status
}
printf '@R.function\ndef main(x: R.Tensor):\n    y = R.nn.relu(x)\n    return y\n' > "$work/late.py"
attempt "late calls built" "$work/prefix/bin/relax" build "$work/late.py" -o "$work/late.rlx"
attempt "linked statically" sh -c "$cc $flags -I$work/prefix/include examples/host/host.c $archive $system -o $work/static"
judge "run linked statically" 1 "$work/static"
attempt "late calls linked statically" sh -c "$cc $flags -I$work/prefix/include test/api/no_text.c $archive $system -o $work/late"
late "late calls linked statically run" "$work/late" "compile: ok" "call: 0 5"
cp "$archive" "$work/no_text.a"
members="$(cd src/script && ls *.c | sed 's/c$/o/') text.o api_late.o"
attempt "script, api/text.c and api/api_late.c taken out" ${AR:-ar} d "$work/no_text.a" $members
attempt "no text form left" sh -c "! nm $work/no_text.a 2> /dev/null | grep -q 'T rlx_script_\|T relax_module_parse\|T relax_late_compile'"
attempt "linked without text" sh -c "$cc $flags -DNO_TEXT -I$work/prefix/include examples/host/host.c $work/no_text.a $run_archive $system -o $work/no_text"
judge "run without text" 0 "$work/no_text"
attempt "late calls linked without text" sh -c "$cc $flags -I$work/prefix/include test/api/no_text.c $work/no_text.a $run_archive $system -o $work/no_late"
late "late calls refused without text" "$work/no_late" "compile: refused" \
    "CG03: R.nn.relu takes an operand that only the run knows: its program is text, and this library is linked without the text form" \
    "call: RT22: R.nn.relu(x) is not compiled for what it met, and this library has no compiler, or is linked without the text form"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
