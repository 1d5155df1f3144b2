#!/bin/sh
# The tests of the micro-kernels on aarch64: compiled across and run by an emulator of user
# programs, where both are there.
cc=aarch64-linux-gnu-gcc
run=qemu-aarch64
if ! command -v $cc >/dev/null || ! command -v $run >/dev/null; then
    echo "skipped: no $cc or no $run"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
header=$(echo "#include <cmocka.h>" | ${CC:-cc} -E - 2>/dev/null |
    sed -n 's/^# [0-9]* "\(.*cmocka\.h\)".*/\1/p' | head -n 1)
mkdir "$dir/include" && cp "$header" "$dir/include/" || exit 77
# cmocka itself is not there for aarch64: the little of it that these tests use
cat > "$dir/cmocka.c" <<'END'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
void print_error(const char *const format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}
void _fail(const char *const file, const int line)
{
    printf("%s:%d: failed\n", file, line);
    exit(1);
}
void _assert_true(const LargestIntegralType result, const char *const expression, const char *const file, const int line)
{
    if (!result) {
        printf("%s is false\n", expression);
        _fail(file, line);
    }
}
int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *const tests,
                            const size_t count, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    void *state = NULL;
    if (set_up && set_up(&state) != 0)
        return 1;
    for (size_t i = 0; i < count; i++)
        tests[i].test_func(&state);
    return tear_down ? tear_down(&state) : 0;
}
END
passed=0
failed=0
flags="-std=c11 -O1 -ffunction-sections -ffp-contract=off -fno-strict-aliasing -D_GNU_SOURCE -Iinclude -Isrc -Itest/support -I$dir/include"
for file in src/micro/*.c src/format/kernel_format.c src/base/dtype.c "$dir/cmocka.c"; do
    $cc $flags -c -o "$dir/$(basename "$file" .c).o" "$file" || exit 1
done
for name in micro_sums micro_moves micro_chain; do
    if $cc $flags -Wl,--gc-sections -static -o "$dir/$name" "test/micro/test_$name.c" "$dir"/*.o -lm 2> "$dir/log" &&
        MICRO_SHARE=10 $run "$dir/$name" > "$dir/log" 2>&1; then
        passed=$((passed + 1))
    else
        echo "$name:"
        head -n 20 "$dir/log"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
