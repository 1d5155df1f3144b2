#!/bin/sh
# Installs what building or testing needs and is missing. Says what it does; asks for nothing it has.
#   deps.sh build|check|long|bench|peers|fuzz
# A thing is looked for by using it, so hand-made installations and other systems count as well.
set -u
what=${1:-check}
cc=${CC:-cc}
fuzz_cc=${FUZZ_CC:-clang-14}
# the interpreter that Debian's python3-numpy serves
python=${PYTHON:-$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3)}
CPPFLAGS=${CPPFLAGS:-}
missing=

need() {    # need PACKAGE COMMAND...: the package is missing if the command fails
    package=$1
    shift
    "$@" >/dev/null 2>&1 && return
    case " $missing " in *" $package "*) ;; *) missing="${missing:+$missing }$package" ;; esac
}
has_header() {
    printf '#include <%s>\n' stddef.h stdarg.h setjmp.h stdint.h "$1" | $cc $CPPFLAGS -E -
}
has_fuzzer() {
    dir=$(mktemp -d) || return
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return p && n == 0; }' > "$dir/t.c"
    "$fuzz_cc" -fsanitize=fuzzer,address "$dir/t.c" -o "$dir/t"
    found=$?
    rm -rf "$dir"
    return $found
}

look() {
    missing=
    need build-essential command -v $cc
    need build-essential has_header stdio.h
    need uthash-dev has_header uthash.h
    need libminizip-dev has_header minizip/unzip.h
    need zlib1g-dev has_header zlib.h
    [ "$what" = build ] && return
    if [ "$what" = long ]; then
        need libmpfr-dev has_header mpfr.h
        need gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
        need libc6-dev-arm64-cross test -e /usr/aarch64-linux-gnu/include/stdio.h
        need qemu-user command -v qemu-aarch64
        return
    fi
    need python3 command -v $python
    if [ "$what" = peers ]; then
        need python3-venv $python -c 'import ensurepip'
        need libdnnl-dev has_header dnnl.h
        return
    fi
    need python3-numpy $python -c 'import numpy'
    need libonnx-testdata test -d /usr/share/libonnx-testdata/data/node
    if [ "$what" = bench ]; then
        need libopenblas0-pthread sh -c 'ldconfig -p | grep -q libopenblas'
        return
    fi
    if [ "$what" = fuzz ]; then
        need clang-14 command -v "$fuzz_cc"
        need libclang-rt-14-dev has_fuzzer
        return
    fi
    need build-essential command -v g++
    need pkg-config command -v pkg-config
    need libcmocka-dev has_header cmocka.h
    need protobuf-c-compiler command -v protoc-c
    need libprotobuf-c-dev has_header protobuf-c/protobuf-c.h
    need zlib1g-dev has_header zlib.h
    need abigail-tools command -v abidiff
    need locales test -e /usr/share/i18n/locales/de_DE
}

look
[ -z "$missing" ] && exit 0

by_hand="apt-get update && apt-get install -y --no-install-recommends $missing"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "missing: $missing (Debian's names; install the same with the package manager of this system)" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "missing: $missing" >&2
    echo "install it by hand, then call make again:  sudo sh -c '$by_hand'" >&2
    exit 1
fi
echo "installing: $missing"
echo "  ($by_hand)"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Package lists may be there already; fetch them only if the first try fails.
if ! apt-get install -y --no-install-recommends $missing >"$log" 2>&1; then
    { apt-get update && apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        echo "could not install: $missing; by hand:  $by_hand" >&2
        exit 1
    }
fi
look
[ -z "$missing" ] && exit 0
echo "still missing after the installation: $missing" >&2
exit 1
