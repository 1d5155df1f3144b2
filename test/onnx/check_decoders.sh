#!/bin/sh
# Our reader and protobuf-c, compiled from fields.proto, read the same out of the fuzzer's kept models, the models and
# tensors of Debian's libonnx-testdata, and damaged copies of them. Skipped where protoc-c is not installed.
set -u
cd "${TOP:-$(dirname "$0")/../..}" || exit 1
out=${RELAX_OUT:-.} cc=${CC:-cc} flags= copies=8
[ "${RELAX_VARIANT:-release}" != asan ] || flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
[ -z "${RELAX_LONG:-}" ] || copies=200
command -v protoc-c > /dev/null && echo '#include <protobuf-c/protobuf-c.h>' | $cc -E - > /dev/null 2>&1 || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/decoders.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
protoc-c --proto_path=test/onnx --c_out="$work" fields.proto &&
    $cc -std=c11 -g -O1 -D_GNU_SOURCE $flags -Iinclude -Isrc -I"$work" -o "$work/decode_twice" test/onnx/decode_twice.c "$work/fields.pb-c.c" \
        "$out/lib/librelax.a" -lprotobuf-c -lm -lpthread -ldl || { echo "0 passed, 1 failed"; exit 1; }
data=/usr/share/libonnx-testdata
{ find test/fuzz/corpus/onnx -type f; [ ! -d $data ] || find $data -name '*.onnx' -o -name '*.pb'; } | LC_ALL=C sort |
    "$work/decode_twice" $copies
