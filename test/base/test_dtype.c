/* test_dtype.c: dtype names, and the narrow floats exhaustively. */
#include "cmocka_all.h"

#include <float.h>
#include <math.h>

#include "base/base.h"

static const struct {
    const char *text;
    rlx_dtype want;
    const char *name;
    size_t bytes;
} good[] = {
    { "int8", RELAX_INT8, "int8", 1 },
    { "int", RELAX_INT32, "int32", 4 },
    { "int64", RELAX_INT64, "int64", 8 },
    { "uint16", RELAX_UINT16, "uint16", 2 },
    { "float", RELAX_FLOAT32, "float32", 4 },
    { "float16", RELAX_FLOAT16, "float16", 2 },
    { "float64", RELAX_FLOAT64, "float64", 8 },
    { "bfloat16", RELAX_BFLOAT16, "bfloat16", 2 },
    { "bool", RELAX_BOOL, "bool", 1 },
    { "uint1", RELAX_BOOL, "bool", 1 },
    { "uint1x4", 0x00040101, "uint1x4", 4 },
    { "void", RELAX_VOID, "void", 0 },
    { "", RELAX_VOID, "void", 0 },
    { "handle", RELAX_HANDLE, "handle", 8 },
    { "float32x4", 0x00042002, "float32x4", 16 },
    { "float32x1", RELAX_FLOAT32, "float32", 4 },
    { "int4", 0x00010400, "int4", 1 },
    { "int4x8", 0x00080400, "int4x8", 4 },
    { "int1", 0x00010100, "int1", 1 },
    { "float8_e4m3fn", 0x0001080a, "float8_e4m3fn", 1 },
    { "float8_e5m2", 0x0001080c, "float8_e5m2", 1 },
    { "float8_e5m2x4", 0x0004080c, "float8_e5m2x4", 4 },
    { "float4_e2m1fn", 0x00010411, "float4_e2m1fn", 1 },
    { "float32xvscalex4", (rlx_dtype)0xfffc2002u, "float32xvscalex4", 4 * 65532 },
};

static void reads_and_names(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(good); i++) {
        rlx_dtype t = 0;
        char name[RLX_DTYPE_TEXT];
        if (!rlx_dtype_parse(rlx_slice_z(good[i].text), &t) || t != good[i].want)
            fail_msg("%s: got %x", good[i].text, (unsigned)t);
        assert_int_equal(rlx_dtype_name(t, name), strlen(good[i].name));
        assert_string_equal(name, good[i].name);
        assert_int_equal(rlx_dtype_bytes(t), good[i].bytes);
    }
}

/* is_large: the number is v read as unsigned. */
static const struct { rlx_dtype t; int64_t v; bool is_large, has, has_bits;
} numbers[] = {
    { RELAX_INT8, -128, false, true, true },      { RELAX_INT8, 128, false, false, false },
    { RELAX_UINT8, 255, false, true, true },      { RELAX_UINT8, -1, false, false, false },
    { RELAX_UINT32, UINT32_MAX, false, true, true }, { RELAX_UINT32, -1, false, false, false },
    { RELAX_INT64, INT64_MIN, false, true, true }, { RELAX_INT64, -1, true, false, true },
    { RELAX_UINT64, -1, false, false, true },     { RELAX_UINT64, -1, true, true, true },
    { RELAX_UINT64, INT64_MAX, false, true, true }, { RELAX_BOOL, 1, false, true, true },
    { RELAX_BOOL, 2, false, false, false },       { RELAX_FLOAT32, 0, false, false, false },
    { 0x00010400 /* int4 */, -9, false, false, false }, { RELAX_VOID, 0, false, false, false },
};

static void has_integers(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(numbers); i++) {
        assert_int_equal(rlx_dtype_has_int(numbers[i].t, numbers[i].v, numbers[i].is_large),
                         numbers[i].has);
        assert_int_equal(rlx_dtype_has_bits(numbers[i].t, numbers[i].v), numbers[i].has_bits);
    }
    assert_int_equal(rlx_dtype_wrap(RELAX_INT8, 300), 44);
    assert_int_equal(rlx_dtype_wrap(RELAX_UINT16, -1), 65535);
    assert_int_equal(rlx_dtype_wrap(RELAX_UINT64, -1), -1);
    assert_int_equal(rlx_dtype_wrap(RELAX_BOOL, 2), 0);
}

static void refuses(void **unused)
{
    static const char *const bad[] = { "int08",
                                       "int0",
                                       "int256",
                                       "boolx4",
                                       "float32x",
                                       "float32x0",
                                       "float32x4x4",
                                       "Float",
                                       "float32 ",
                                       " float32",
                                       "float8_e4m3fnq",
                                       "floatx",
                                       "i32",
                                       "int32x99999",
                                       "handle32",
                                       "xvscalex4",
                                       "int-8",
                                       "voidx2",
                                       "float99999999999999999999" };
    rlx_dtype t;
    for (size_t i = 0; i < RLX_COUNT(bad); i++)
        if (rlx_dtype_parse(rlx_slice_z(bad[i]), &t))
            fail_msg("read: '%s' as %x", bad[i], (unsigned)t);
}

static void knows_kinds(void **unused)
{
    assert_true(rlx_dtype_is_int(RELAX_UINT8) && rlx_dtype_is_int(0x00010100) &&
                !rlx_dtype_is_int(RELAX_BOOL));
    assert_true(rlx_dtype_is_float(RELAX_BFLOAT16) && rlx_dtype_is_float(0x0001080a) &&
                !rlx_dtype_is_float(RELAX_INT8));
    assert_true(rlx_dtype_is_computable(RELAX_BOOL) && rlx_dtype_is_computable(0x0001080a) &&
                !rlx_dtype_is_computable(0x00010808 /* float8_e4m3 */));
    assert_true(rlx_dtype_is_narrow_float(RELAX_FLOAT8_E5M2));
    assert_false(rlx_dtype_is_narrow_float(RELAX_FLOAT32) ||
                 rlx_dtype_is_narrow_float(0x00010808));
    assert_false(rlx_dtype_is_computable(0x00042002) || rlx_dtype_is_computable(RELAX_VOID));
    for (int code = 0; code < 256; code++) { /* every name fits, whatever the code */
        char name[RLX_DTYPE_TEXT];
        assert_true(rlx_dtype_name(rlx_dtype_make(code, 255, 0x8001), name) < RLX_DTYPE_TEXT);
    }
}

static uint32_t bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static float half_value(unsigned h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double v = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return (float)(h & 0x8000 ? -v : v);
}

static void every_half_round_trips(void **unused)
{
    for (unsigned h = 0; h < 65536; h++) {
        float f = rlx_half_to_float((uint16_t)h);
        if ((h >> 10 & 31) != 31)
            assert_int_equal(bits(f), bits(half_value(h)));
        assert_int_equal(rlx_float_to_half(f), h);
        float b = rlx_bfloat_to_float((uint16_t)h);
        assert_int_equal(rlx_float_to_bfloat(b), h);
        if (!isnan(f))
            assert_int_equal(rlx_double_to_half(f), h);
        if (!isnan(b))
            assert_int_equal(rlx_double_to_bfloat(b), h);
    }
    assert_true(isinf(rlx_half_to_float(0x7c00)) && isnan(rlx_half_to_float(0x7c01)));
}

/* Between each two neighbours: the middle goes to the even one, a little more or less to the
 * nearer. */
static void halves_round_to_nearest_even(void **unused)
{
    for (unsigned h = 0; h < 0x7bff; h++) {
        double low = half_value(h), high = half_value(h + 1), middle = (low + high) / 2;
        unsigned even = h & 1 ? h + 1 : h;
        assert_int_equal(rlx_float_to_half((float)middle), even);
        assert_int_equal(rlx_double_to_half(middle), even);
        assert_int_equal(rlx_double_to_half(nextafter(middle, 0)), h);
        assert_int_equal(rlx_double_to_half(nextafter(middle, INFINITY)), h + 1);
        assert_int_equal(rlx_float_to_half(nextafterf((float)middle, 0)), h);
        assert_int_equal(rlx_float_to_half(nextafterf((float)-middle, -INFINITY)),
                         (h + 1) | 0x8000);
    }
    assert_int_equal(rlx_float_to_half(65519.996f), 0x7bff);
    assert_int_equal(rlx_float_to_half(65520.0f), 0x7c00);
    assert_int_equal(rlx_double_to_half(65520.0), 0x7c00);
    assert_int_equal(rlx_double_to_half(1e300), 0x7c00);
    assert_int_equal(rlx_double_to_half(-5e-324), 0x8000);
    assert_int_equal(rlx_float_to_half(from_bits(0x7f800001)), 0x7e00);
    assert_true((rlx_double_to_half(NAN) & 0x7fff) > 0x7c00);
}

static void bfloats_round_to_nearest_even(void **unused)
{
    for (unsigned h = 0; h < 0x7f7f; h++) {
        uint32_t middle = h << 16 | 0x8000;
        unsigned even = h & 1 ? h + 1 : h;
        assert_int_equal(rlx_float_to_bfloat(from_bits(middle)), even);
        assert_int_equal(rlx_float_to_bfloat(from_bits(middle - 1)), h);
        assert_int_equal(rlx_float_to_bfloat(from_bits(middle + 1)), h + 1);
        assert_int_equal(rlx_double_to_bfloat(from_bits(middle)), even);
        assert_int_equal(rlx_double_to_bfloat(nextafter(from_bits(middle), 1e300)), h + 1);
        assert_int_equal(rlx_double_to_bfloat(nextafter(from_bits(middle), 0)), h);
    }
    assert_int_equal(rlx_float_to_bfloat(3.4028235e38f), 0x7f80);
    assert_int_equal(rlx_double_to_bfloat(1e39), 0x7f80);
    assert_int_equal(rlx_double_to_bfloat(5e-324), 0);
    assert_int_equal(rlx_float_to_bfloat(from_bits(0x7f800001)), 0x7fc0);
}

/* infinite: has infinities; otherwise all bits set are the only NaN. */
static double byte_value(unsigned b, int mantissa, int bias, bool infinite)
{
    unsigned low = b & 127, exponent = low >> mantissa, rest = low & ((1u << mantissa) - 1);
    double v = exponent ? ldexp((1u << mantissa) + rest, (int)exponent - bias - mantissa)
                        : ldexp(rest, 1 - bias - mantissa);
    if (infinite && low >= 0x7c)
        v = low == 0x7c ? (double)INFINITY : (double)NAN;
    if (!infinite && low == 0x7f)
        v = (double)NAN;
    return b & 128 ? -v : v;
}

static const struct eighth {
    rlx_dtype dtype;
    int mantissa, bias;
    bool infinite;
    unsigned beyond; /* bits of what is too large */
    float (*load)(uint8_t);
    uint8_t (*store)(float), (*store_double)(double);
} eighths[] = {
    { RELAX_FLOAT8_E4M3FN, 3, 7, false, 0x7f, rlx_e4m3fn_to_float, rlx_float_to_e4m3fn,
      rlx_double_to_e4m3fn },
    { RELAX_FLOAT8_E5M2, 2, 15, true, 0x7c, rlx_e5m2_to_float, rlx_float_to_e5m2,
      rlx_double_to_e5m2 },
};

static void every_float8_round_trips(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(eighths); i++) {
        const struct eighth *e = &eighths[i];
        for (unsigned b = 0; b < 256; b++) {
            float f = e->load((uint8_t)b);
            double want = byte_value(b, e->mantissa, e->bias, e->infinite);
            assert_true(isnan(want) ? isnan(f) : bits(f) == bits((float)want));
            assert_int_equal(signbit(f) != 0, b >> 7);
            assert_int_equal(e->store(f), b);
            if (!isnan(f))
                assert_int_equal(e->store_double(f), b);
        }
        assert_int_equal(e->store(INFINITY), e->beyond);
        assert_int_equal(e->store(-FLT_MAX), e->beyond | 0x80);
        assert_int_equal(e->store_double(-1e300), e->beyond | 0x80);
        assert_int_equal(e->store_double(-5e-324), 0x80);
        assert_true(isnan(e->load(e->store(NAN))));
        assert_true(isnan(e->load(e->store(from_bits(0xff800001)))));
        assert_true(rlx_dtype_greatest(e->dtype) == e->load((uint8_t)(e->beyond - 1)));
    }
}

/* Also where the next number would be too large: halfway there ends what is finite. */
static void float8s_round_to_nearest_even(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(eighths); i++) {
        const struct eighth *e = &eighths[i];
        for (unsigned b = 0; b < e->beyond; b++) {
            double low = byte_value(b, e->mantissa, e->bias, false),
                   high = b == 0x7e ? 480 : byte_value(b + 1, e->mantissa, e->bias, false),
                   middle = (low + high) / 2;
            unsigned even = b & 1 ? b + 1 : b;
            assert_int_equal(e->store((float)middle), even);
            assert_int_equal(e->store_double(middle), even);
            assert_int_equal(e->store(nextafterf((float)middle, 0)), b);
            assert_int_equal(e->store(nextafterf((float)-middle, -INFINITY)), (b + 1) | 0x80);
            assert_int_equal(e->store_double(nextafter(middle, 0)), b);
            assert_int_equal(e->store_double(nextafter(middle, INFINITY)), b + 1);
            assert_true(rlx_dtype_round(e->dtype, nextafter(middle, 0)) == low);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_names),
        cmocka_unit_test(refuses),
        cmocka_unit_test(has_integers),
        cmocka_unit_test(knows_kinds),
        cmocka_unit_test(every_half_round_trips),
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(bfloats_round_to_nearest_even),
        cmocka_unit_test(every_float8_round_trips),
        cmocka_unit_test(float8s_round_to_nearest_even),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
