/* test_number.c: numbers in and out, compared with the C library on fixed-seed random values. */
#include "cmocka_all.h"

#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"

static rlx_memory memory;
static rlx_buf buffer;

static uint64_t state = 0x1234567;

static uint64_t random64(void)
{
    state += 0x9E3779B97F4A7C15ull;
    uint64_t z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static double from_bits(uint64_t u)
{
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

static uint64_t to_bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

static const char *printed(void (*print)(rlx_buf *, double), double v)
{
    buffer.len = 0;
    print(&buffer, v);
    assert_false(buffer.failed);
    return buffer.data;
}

static void check_parse(const char *text)
{
    double got = -1;
    if (!rlx_parse_double(rlx_slice_z(text), &got))
        fail_msg("not read: %s", text);
    double want = strtod(text, NULL);
    if (to_bits(got) != to_bits(want))
        fail_msg("%s: got %a, want %a", text, got, want);
}

static const char *const literals[] = {
    "0",
    "0.0",
    "1",
    "1.",
    ".5",
    "1.5",
    "1e5",
    "1E+5",
    "1e-5",
    "0e99999999999",
    "123456789012345678901234567890",
    "9007199254740993",
    "9007199254740992.5",
    "9007199254740993.00000000000000000000000000001",
    "1e22",
    "1e23",
    "8.5e27",
    "1e308",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "1e309",
    "1e999999999999",
    "4.9e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "2.5e-324",
    "1e-323",
    "1e-400",
    "1e-99999999999",
    "2.2250738585072011e-308",
    "2.2250738585072014e-308",
    "0.1",
    "0.000000000000000000000000000000000001",
    "5e-324",
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977"
    "587207096330"
    "286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764"
    "4757302700698555713"
    "66959622842914819860834936475292719074168444365510704342711559699508093042880.5",
    "2.4703282292062327208299439434e-324",
    "2.47032822920623272088284396434110686182e-324",
    "2.47032822920623272088284396434110686183e-324",
    "000001.5",
    "0.00000",
    "7.2057594037927933e16",
};

static void reads_literals(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(literals); i++)
        check_parse(literals[i]);
}

static void reads_very_long_literals(void **unused)
{
    /* 1 + 2^-53 exactly, a tie; then the same with something far behind it; then just below. */
    char text[2100];
    strcpy(text, "1.00000000000000011102230246251565404236316680908203125");
    check_parse(text);
    size_t len = strlen(text);
    memset(text + len, '0', 2000);
    text[len + 2000] = 0;
    check_parse(text);
    text[len + 1999] = '1';
    check_parse(text);
    memset(text, '9', 2000);
    strcpy(text + 2000, "e-1990");
    check_parse(text);
    strcpy(text + 2000, "e-2320");
    check_parse(text);
    memset(text, '0', 2000);
    strcpy(text, "0.");
    text[2] = '0';
    strcpy(text + 2000, "123e2000");
    check_parse(text);
}

static void reads_underscores(void **unused)
{
    double v;
    assert_true(rlx_parse_double(RLX_SLICE("1_000.000_1e1_0"), &v));
    assert_true(v == 1000.0001e10);
}

static void refuses_what_is_no_float(void **unused)
{
    static const char *const bad[] = { "",     ".",   "e5",  ".e5",  "1e",   "1e+",
                                       "+1",   "-1",  " 1",  "1 ",   "1f",   "0x1p3",
                                       "1__0", "_1",  "1_",  "1_.5", "1._5", "1e_5",
                                       "inf",  "nan", "1,5", "1.5.5" };
    double v;
    for (size_t i = 0; i < RLX_COUNT(bad); i++)
        if (rlx_parse_double(rlx_slice_z(bad[i]), &v))
            fail_msg("read: '%s'", bad[i]);
}

static void agrees_with_libc_on_random_doubles(void **unused)
{
    char text[64];
    for (int i = 0; i < 40000; i++) {
        double v = fabs(from_bits(random64()));
        if (i % 4 == 1)
            v = from_bits(random64() >> 12);            /* subnormal */
        if (i % 4 == 2)
            /* everyday sizes */
            v = (double)(random64() >> (random64() % 64)) / (double)(1 + random64() % 100000);
        if (!isfinite(v))
            continue;
        snprintf(text, sizeof text, "%.17g", v);
        assert_string_equal(printed(rlx_print_double_17g, v), text);
        check_parse(text);
        snprintf(text, sizeof text, "%.*g", (int)(1 + random64() % 25), v);
        check_parse(text);
        snprintf(text, sizeof text, "%llu%llue%d", (unsigned long long)random64(),
                 (unsigned long long)random64(), (int)(random64() % 700) - 360);
        check_parse(text);
    }
}

static void prints_any_precision(void **unused)
{
    char text[400];
    for (int i = 0; i < 4000; i++) {
        double v = from_bits(random64());
        if (!isfinite(v))
            continue;
        int digits = 1 + (int)(random64() % 40);
        snprintf(text, sizeof text, "%.*g", digits, v);
        buffer.len = 0;
        rlx_print_double_g(&buffer, v, digits);
        assert_string_equal(buffer.data, text);
    }
}

static const struct { double v; const char *g17, *tvm, *short64; } prints[] = {
    { 0.0, "0", "0.0", "0.0" },
    { -0.0, "-0", "-0.0", "-0.0" },
    { 1.0, "1", "1.0", "1.0" },
    { -2.5, "-2.5", "-2.5", "-2.5" },
    { 0.1, "0.10000000000000001", "0.10000000000000001", "0.1" },
    { 1e-5, "1.0000000000000001e-05", "1.0000000000000001e-05", "1e-05" },
    { 0.0001, "0.0001", "0.0001", "0.0001" },
    { 1e16, "10000000000000000", "10000000000000000.0", "1e+16" },
    { 1e17, "1e+17", "100000000000000000.0", "1e+17" },
    { 1e20, "1e+20", "100000000000000000000.0", "1e+20" },
    { 1e23, "9.9999999999999992e+22", "99999999999999991611392.0", "1e+23" },
    { 123456789.0, "123456789", "123456789.0", "123456789.0" },
    { 4503599627370495.5, "4503599627370495.5", "4503599627370495.5", "4503599627370495.5" },
    { 5e-324, "4.9406564584124654e-324", "4.9406564584124654e-324", "5e-324" },
    { 1.7976931348623157e308, "1.7976931348623157e+308", NULL, "1.7976931348623157e+308" },
    { INFINITY, "inf", "inf", "inf" },
    { -INFINITY, "-inf", "-inf", "-inf" },
    { NAN, "nan", "nan", "nan" },
};

static void print_short(rlx_buf *b, double v)
{
    rlx_print_double_short(b, v, false);
}

static void print_short32(rlx_buf *b, double v)
{
    rlx_print_double_short(b, v, true);
}

static void prints_as_listed(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(prints); i++) {
        assert_string_equal(printed(rlx_print_double_17g, prints[i].v), prints[i].g17);
        if (prints[i].tvm)
            assert_string_equal(printed(rlx_print_double_tvm, prints[i].v), prints[i].tvm);
        assert_string_equal(printed(print_short, prints[i].v), prints[i].short64);
    }
    char text[400];
    snprintf(text, sizeof text, "%.1f", 1.7976931348623157e308);
    assert_string_equal(printed(rlx_print_double_tvm, 1.7976931348623157e308), text);
}

static void short_text_reads_back(void **unused)
{
    assert_string_equal(printed(print_short32, 0.1f), "0.1");
    assert_string_equal(printed(print_short32, 16777216.0f), "16777216.0");
    assert_string_equal(printed(print_short32, 1e-45f), "1e-45");
    assert_string_equal(printed(print_short32, 3.4028235e38f), "3.4028235e+38");
    for (int i = 0; i < 20000; i++) {
        double v = from_bits(random64());
        uint32_t u = (uint32_t)random64();
        float f;
        memcpy(&f, &u, sizeof f);
        if (isfinite(v))
            assert_true(strtod(printed(print_short, v), NULL) == v);
        if (isfinite(f))
            assert_true(strtof(printed(print_short32, f), NULL) == f);
        if (isfinite(v) && fabs(v) > 1e-300) { /* one digit fewer would not do */
            char text[64];
            int digits = 0;
            do
                snprintf(text, sizeof text, "%.*e", digits++, v);
            while (strtod(text, NULL) != v);
            size_t got = 0;
            for (const char *p = printed(print_short, v); *p && *p != 'e'; p++)
                got += *p >= '0' && *p <= '9';
            if (fabs(v) > 1e17)
                assert_true(got == (size_t)digits);
        }
    }
}

/* Numbers must not depend on the host's locale, rounding mode or errno. */
static void ignores_the_environment(void **unused)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
    for (size_t i = 0; i < RLX_COUNT(names) && !setlocale(LC_ALL, names[i]); i++)
        ;
    static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST };
    for (size_t i = 0; i < RLX_COUNT(modes); i++) {
        double v = 0;
        fesetround(modes[i]);
        errno = 77;
        bool read = rlx_parse_double(RLX_SLICE("0.1"), &v);
        const char *text = printed(rlx_print_double_17g, v);
        int mode = fegetround();
        fesetround(FE_TONEAREST);
        assert_true(read && mode == modes[i] && errno == 77);
        assert_string_equal(text, "0.10000000000000001");
    }
    setlocale(LC_ALL, "C");
    errno = 0;
}

static const struct { const char *text; bool good, overflow; uint64_t want; } integers[] = {
    { "0", true, false, 0 },
    { "00", true, false, 0 },
    { "0_0", true, false, 0 },
    { "007", false, false, 0 },
    { "42", true, false, 42 },
    { "1_000", true, false, 1000 },
    { "1__0", false, false, 0 },
    { "_1", false, false, 0 },
    { "1_", false, false, 0 },
    { "0x_ff", true, false, 255 },
    { "0xFF", true, false, 255 },
    { "0x", false, false, 0 },
    { "0x_", false, false, 0 },
    { "0o17", true, false, 15 },
    { "0o8", false, false, 0 },
    { "0B101", true, false, 5 },
    { "0b2", false, false, 0 },
    { "12a", false, false, 0 },
    { "", false, false, 0 },
    { "-1", false, false, 0 },
    { "18446744073709551615", true, false, UINT64_MAX },
    { "18446744073709551616", true, true, UINT64_MAX },
    { "0xffffffffffffffff", true, false, UINT64_MAX },
    { "0x10000000000000000", true, true, UINT64_MAX },
    { "99999999999999999999999999999999999999", true, true, UINT64_MAX },
};

static void reads_integers(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(integers); i++) {
        uint64_t got = 0;
        bool overflow = false;
        bool good = rlx_parse_u64(rlx_slice_z(integers[i].text), &got, &overflow);
        if (good != integers[i].good || overflow != integers[i].overflow ||
            got != integers[i].want)
            fail_msg("'%s': %d %d %llu", integers[i].text, good, overflow,
                     (unsigned long long)got);
    }
}

int main(void)
{
    rlx_memory_init(&memory, NULL, SIZE_MAX);
    rlx_buf_init(&buffer, &memory);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_literals),
        cmocka_unit_test(reads_very_long_literals),
        cmocka_unit_test(reads_underscores),
        cmocka_unit_test(refuses_what_is_no_float),
        cmocka_unit_test(agrees_with_libc_on_random_doubles),
        cmocka_unit_test(prints_any_precision),
        cmocka_unit_test(prints_as_listed),
        cmocka_unit_test(short_text_reads_back),
        cmocka_unit_test(ignores_the_environment),
        cmocka_unit_test(reads_integers),
    };
    int failures = cmocka_run_group_tests_name("number", tests, NULL, NULL);
    rlx_buf_free(&buffer);
    return failures;
}
