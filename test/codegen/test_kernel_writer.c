/* test_kernel_writer.c: kernels against the evaluator, bit for bit, on programs of every shape;
 * expected numbers from numpy where stored. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kernel_c.h"

static const rlx_dtype dtypes[] = { RELAX_BOOL,   RELAX_INT8,    RELAX_INT16,    RELAX_INT32,
                                    RELAX_INT64,  RELAX_UINT8,   RELAX_UINT16,   RELAX_UINT32,
                                    RELAX_UINT64, RELAX_FLOAT16, RELAX_BFLOAT16, RELAX_FLOAT32,
                                    RELAX_FLOAT64, RELAX_FLOAT8_E4M3FN,
                                    RELAX_FLOAT8_E5M2 };
#define L RLX_TIR_LIST

static rlx_context *begin(rlx_tir *t)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    assert_non_null(ctx);
    rlx_tir_begin(t, ctx, RLX_NO_PLACE);
    return ctx;
}

/* ---- elementwise ---------------------------------------------------------------------------- */

typedef const rlx_prim *make_fn(rlx_tir *t, const rlx_prim *a, const rlx_prim *b);

static void elementwise(rlx_dtype dtype, make_fn *make, int64_t n, int64_t m)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *dn = rlx_tir_dim(&t, "n"), *dm = rlx_tir_dim(&t, "m");
    const rlx_buffer *a = rlx_tir_param(&t, "A", dtype, L(dn, dm)),
                     *b = rlx_tir_param(&t, "B", dtype, L(dn, dm));
    kc c = { .seed = (uint64_t)dtype * 77 + (uint64_t)(n * m) };
    kc_tensor2(&c, dtype, n, m);
    kc_tensor2(&c, dtype, n, m);
    rlx_tir_begin_block(&t, "e");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", dn), *j = rlx_tir_spatial(&t, "j", dm);
    const rlx_prim *v = make(&t, rlx_tir_load(&t, a, L(i, j)), rlx_tir_load(&t, b, L(i, j)));
    assert_non_null(v);
    const rlx_buffer *o = rlx_tir_param(&t, "O", rlx_prim_dtype(v), L(dn, dm));
    kc_tensor2(&c, rlx_prim_dtype(v), n, m);
    rlx_tir_store(&t, o, L(i, j), v);
    rlx_tir_end_block(&t);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

static bool is_float(rlx_dtype t) { return rlx_dtype_is_float(t); }

#define BINARY(name)                                                                   \
    static const rlx_prim *do_##name(rlx_tir *t, const rlx_prim *a, const rlx_prim *b) \
    {                                                                                  \
        return rlx_tir_##name(t, a, b);                                                \
    }
BINARY(add)
BINARY(sub) BINARY(mul) BINARY(min) BINARY(max) BINARY(eq) BINARY(ne) BINARY(lt) BINARY(le)
    BINARY(gt) BINARY(ge) static const rlx_prim *one(rlx_tir *t, const rlx_prim *b)
{
    return rlx_tir_number(t, rlx_prim_dtype(b), 1);
}
static const rlx_prim *three(rlx_tir *t, const rlx_prim *b)
{
    return rlx_tir_number(t, rlx_prim_dtype(b), 3);
}
/* divisors without 0 */
static const rlx_prim *odd(rlx_tir *t, const rlx_prim *b)
{
    return is_float(rlx_prim_dtype(b)) ? b : rlx_tir_call2(t, "bitwise_or", b, one(t, b));
}
static const rlx_prim *do_div(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_div(t, a, odd(t, b));
}
static const rlx_prim *do_mod(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_mod(t, a, odd(t, b));
}
static const rlx_prim *do_floor_div(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_floor_div(t, a, odd(t, b));
}
static const rlx_prim *do_floor_mod(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_floor_mod(t, a, odd(t, b));
}
static const rlx_prim *do_div3(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_add(t, rlx_tir_floor_div(t, a, three(t, a)),
                       rlx_tir_floor_mod(t, b, three(t, b)));
}
static const rlx_prim *do_nested(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    const rlx_prim *s = rlx_tir_add(t, a, b), *d = rlx_tir_sub(t, a, b);
    return rlx_tir_select(t, rlx_tir_lt(t, s, d), rlx_tir_mul(t, s, s),
                          rlx_tir_max(t, rlx_tir_mul(t, d, a), s));
}

/* Numbers are true unless they are 0. */
static const rlx_prim *do_and(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_and(t, rlx_tir_lt(t, b, one(t, b)), rlx_tir_and(t, a, b));
}
static const rlx_prim *do_or(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_or(t, rlx_tir_not(t, a), rlx_tir_or(t, a, b));
}
static const rlx_prim *do_choose(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_select(t, a, b, rlx_tir_if_then_else(t, b, a, one(t, b)));
}

static void arithmetic_of_every_dtype(void **state)
{
    make_fn *any[] = { do_min, do_max, do_eq, do_ne, do_lt, do_le,
                       do_gt,  do_ge,  do_and, do_or, do_choose };
    make_fn *numbers[] = { do_add, do_sub, do_mul, do_div, do_mod, do_nested };
    make_fn *integers[] = { do_floor_div, do_floor_mod, do_div3 };
    for (size_t d = 0; d < RLX_COUNT(dtypes); d++) {
        for (size_t i = 0; i < RLX_COUNT(any); i++)
            elementwise(dtypes[d], any[i], 7, 50);
        for (size_t i = 0; i < RLX_COUNT(numbers) && dtypes[d] != RELAX_BOOL; i++)
            elementwise(dtypes[d], numbers[i], 9, 60);
        for (size_t i = 0;
             i < RLX_COUNT(integers) && !is_float(dtypes[d]) && dtypes[d] != RELAX_BOOL; i++)
            elementwise(dtypes[d], integers[i], 3, 100);
    }
}

static void sizes_around_a_strip(void **state)
{
    static const int64_t sizes[][2] = { { 0, 5 },   { 5, 0 },   { 1, 1 },   { 1, 255 }, { 1, 256 },
                                        { 1, 257 }, { 2, 256 }, { 3, 511 }, { 700, 1 },
                                        { 1, 1025 }, { 1, 2047 }, { 1, 2049 } };
    for (size_t i = 0; i < RLX_COUNT(sizes); i++) {
        elementwise(RELAX_FLOAT32, do_nested, sizes[i][0], sizes[i][1]);
        elementwise(RELAX_INT8, do_nested, sizes[i][0], sizes[i][1]);
    }
}

static rlx_dtype cast_to;
static const rlx_prim *do_cast(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    /* widen the range first where that is possible, so that casts wrap and saturate */
    if (is_float(rlx_prim_dtype(a)))
        a = rlx_tir_mul(t, a, rlx_tir_number(t, rlx_prim_dtype(a), 1000));
    return rlx_tir_cast(t, cast_to, a);
}

static void casts_between_all_dtypes(void **state)
{
    for (size_t from = 0; from < RLX_COUNT(dtypes); from++)
        for (size_t to = 0; to < RLX_COUNT(dtypes); to++) {
            cast_to = dtypes[to];
            elementwise(dtypes[from], do_cast, 2, 150);
        }
}

/* One operation of what lies in memory, and others. */
static const rlx_prim *do_both(rlx_tir *t, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_and(t, a, b); }
static const rlx_prim *do_either(rlx_tir *t, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_or(t, a, b); }
static const rlx_prim *do_not(rlx_tir *t, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_not(t, a); }
static const rlx_prim *do_neither(rlx_tir *t, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_not(t, rlx_tir_or(t, a, b)); }
static const rlx_prim *do_bits(rlx_tir *t, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_call2(t, "bitwise_xor", a, b); }

static void bools_in_memory(void **state)
{
    static const int64_t lengths[] = { 0, 1, 15, 16, 33, 511, 2048, 2049, 5000 };
    make_fn *all[] = { do_both, do_either, do_not, do_neither, do_ne, do_bits };
    for (size_t i = 0; i < RLX_COUNT(lengths); i++)
        for (size_t k = 0; k < RLX_COUNT(all); k++) {
            elementwise(RELAX_BOOL, all[k], 1, lengths[i]);
            elementwise(RELAX_BOOL, all[k], lengths[i], 3);
        }
}

/* Rounded quotients in bytes; steps of it that something else wants, too. */
static const rlx_prim *rounded(rlx_tir *t, const rlx_prim *x) { return rlx_tir_call1(t, "round", x); }
static const rlx_prim *do_quantize(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    const rlx_prim *scale = rlx_tir_number(t, rlx_prim_dtype(a), 0.01);
    return rlx_tir_cast(t, cast_to, rlx_tir_add(t, rounded(t, rlx_tir_div(t, a, scale)), b));
}
static const rlx_prim *do_round_to(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    const rlx_prim *scale = rlx_tir_number(t, rlx_prim_dtype(a), 100);
    return rlx_tir_cast(t, cast_to, rlx_tir_add(t, rlx_tir_call1(t, "nearbyint", rlx_tir_mul(t, a, scale)), rlx_tir_div(t, b, a)));
}
static const rlx_prim *do_quantize_twice(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    const rlx_prim *q = rounded(t, rlx_tir_div(t, a, b)), *s = rlx_tir_add(t, q, b);
    return rlx_tir_add(t, rlx_tir_cast(t, RELAX_FLOAT32, rlx_tir_cast(t, cast_to, s)), rlx_tir_add(t, q, rounded(t, s)));
}

static void quotients_in_bytes(void **state)
{
    static const rlx_dtype bytes[] = { RELAX_INT8, RELAX_UINT8, RELAX_INT16 };
    make_fn *all[] = { do_quantize, do_round_to, do_quantize_twice };
    for (size_t i = 0; i < RLX_COUNT(bytes); i++)
        for (size_t k = 0; k < RLX_COUNT(all); k++) {
            cast_to = bytes[i];
            elementwise(RELAX_FLOAT32, all[k], 3, 700);
            elementwise(RELAX_FLOAT32, all[k], 1, 1);
        }
}

/* Casts that change nothing of a strip, whose operand is wanted once or twice. */
static const rlx_prim *do_widen(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    const rlx_prim *x = rlx_tir_cast(t, cast_to, a), *y = rlx_tir_cast(t, cast_to, b);
    return rlx_tir_add(t, rlx_tir_mul(t, x, y), rlx_tir_add(t, x, rlx_tir_cast(t, cast_to, rlx_tir_max(t, a, b))));
}

static void casts_of_nothing(void **state)
{
    static const rlx_dtype wide[] = { RELAX_INT16, RELAX_UINT16, RELAX_INT32, RELAX_INT64, RELAX_UINT64, RELAX_FLOAT32 };
    for (size_t from = 0; from < RLX_COUNT(dtypes); from++)
        for (size_t to = 0; to < RLX_COUNT(wide); to++) {
            cast_to = wide[to];
            elementwise(dtypes[from], do_widen, 3, 400);
        }
}

static const char *op_name;
static const rlx_prim *do_call1(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_call1(t, op_name, a);
}
static const rlx_prim *do_call2(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    bool shift = !strncmp(op_name, "shift", 5);
    return rlx_tir_call2(
        t, op_name, a,
        shift && !is_float(rlx_prim_dtype(a))
            ? rlx_tir_call2(t, "bitwise_and", b, rlx_tir_number(t, rlx_prim_dtype(b), 31))
            : b);
}

static void intrinsics_of_floats(void **state)
{
    static const char *const unary[] = {
        "acos",  "acosh", "asin",  "asinh",     "atan",  "atanh", "ceil",    "cos",
        "cosh",  "erf",   "exp",   "exp2",      "exp10", "fabs",  "floor",   "log",
        "log1p", "log2",  "log10", "nearbyint", "round", "rsqrt", "sigmoid", "sin",
        "sinh",  "sqrt",  "tan",   "tanh",      "trunc", "isnan", "isinf",   "isfinite"
    };
    static const char *const binary[] = {
        "atan2", "copysign", "fmod", "hypot", "nextafter", "pow"
    };
    for (size_t d = 0; d < RLX_COUNT(dtypes); d++) {
        if (!is_float(dtypes[d]))
            continue;
        for (size_t i = 0; i < RLX_COUNT(unary); i++) {
            op_name = unary[i];
            elementwise(dtypes[d], do_call1, 1, 300);
        }
        for (size_t i = 0; i < RLX_COUNT(binary); i++) {
            op_name = binary[i];
            elementwise(dtypes[d], do_call2, 1, 300);
        }
    }
}

static void intrinsics_of_integers(void **state)
{
    static const char *const unary[] = { "bitwise_not", "popcount", "clz", "round", "floor" };
    static const char *const binary[] = { "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left",
                                          "shift_right" };
    for (size_t d = 0; d < RLX_COUNT(dtypes); d++) {
        if (is_float(dtypes[d]) || dtypes[d] == RELAX_BOOL)
            continue;
        for (size_t i = 0; i < RLX_COUNT(unary); i++) {
            op_name = unary[i];
            elementwise(dtypes[d], do_call1, 1, 300);
        }
        for (size_t i = 0; i < RLX_COUNT(binary); i++) {
            op_name = binary[i];
            elementwise(dtypes[d], do_call2, 1, 300);
        }
    }
}

/* ---- values that are easy to get wrong: from numpy, or from the definition ------------------ */

static void run_unary32(const char *op, const float *in, const float *want, size_t n)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *d = rlx_tir_int(&t, (int64_t)n);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(d)),
                     *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(d));
    rlx_tir_begin_block(&t, "e");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", d);
    rlx_tir_store(&t, o, L(i), rlx_tir_call1(&t, op, rlx_tir_load(&t, a, L(i))));
    rlx_tir_end_block(&t);
    kc c = { .seed = 1 };
    memcpy(kc_tensor1(&c, RELAX_FLOAT32, (int64_t)n), in, n * sizeof *in);
    float *got = kc_tensor1(&c, RELAX_FLOAT32, (int64_t)n);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    for (size_t k = 0; k < n; k++)
        if (memcmp(&got[k], &want[k], 4) && !(isnan(got[k]) && isnan(want[k])) &&
            fabsf(got[k] - want[k]) > 2e-7f * fabsf(want[k]))
            fail_msg("%s(%.9g): wanted %.9g, got %.9g", op, (double)in[k], (double)want[k],
                     (double)got[k]);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void numbers_of_intrinsics(void **state)
{
    static const float x[] = { 0,     -0.0f, 0.5f,    1.5f,   2.5f,     -0.5f,     -1.5f, -2.5f,
                               88.0f, 89.0f, -104.0f, -87.5f, INFINITY, -INFINITY, NAN };
    static const float rounded[] = { 0,  -0.0f, 0,    2,   2,        -0.0f,     -2, -2,
                                     88, 89,    -104, -88, INFINITY, -INFINITY, NAN };
    static const float expd[] = { 1,
                                  1,
                                  1.64872122f,
                                  4.48168898f,
                                  12.182494f,
                                  0.606530666f,
                                  0.223130166f,
                                  0.0820849985f,
                                  1.65163627e38f,
                                  INFINITY,
                                  0,
                                  9.9823514e-39f,
                                  INFINITY,
                                  0,
                                  NAN };
    static const float sigmoids[] = { 0.5f,
                                      0.5f,
                                      0.622459352f,
                                      0.817574501f,
                                      0.924141824f,
                                      0.377540678f,
                                      0.182425529f,
                                      0.0758581758f,
                                      1,
                                      1,
                                      0,
                                      9.9823514e-39f,
                                      1,
                                      0,
                                      NAN };
    run_unary32("round", x, rounded, RLX_COUNT(x));
    run_unary32("exp", x, expd, RLX_COUNT(x));
    run_unary32("sigmoid", x, sigmoids, RLX_COUNT(x));
}

static void saturating_casts(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    static const float in[] = { 300, -300, 1.9f, -1.9f, NAN, INFINITY, -INFINITY, 127.5f };
    static const int8_t want[] = { 127, -128, 1, -1, 0, 127, -128, 127 };
    const rlx_prim *n = rlx_tir_int(&t, 8);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n)),
                     *o = rlx_tir_param(&t, "O", RELAX_INT8, L(n));
    rlx_tir_begin_block(&t, "e");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n);
    rlx_tir_store(&t, o, L(i), rlx_tir_load(&t, a, L(i)));
    rlx_tir_end_block(&t);
    kc c = { .seed = 1 };
    memcpy(kc_tensor1(&c, RELAX_FLOAT32, 8), in, sizeof in);
    int8_t *got = kc_tensor1(&c, RELAX_INT8, 8);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    assert_memory_equal(got, want, sizeof want);
    kc_free(&c);
    rlx_context_release(ctx);
}

/* An integer is never -0.0, whatever a compiler makes of the two conversions. */
static void casts_there_and_back(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    static const double in[] = { -0.5, -0.0, -1, -1.5, 0.5, NAN, -0.999, 1e300 },
                        want[] = { 0, 0, -1, -1, 0, 0, 0, 9223372036854775807.0 };
    const rlx_prim *n = rlx_tir_int(&t, 8);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT64, L(n)),
                     *o = rlx_tir_param(&t, "O", RELAX_FLOAT64, L(n));
    rlx_tir_begin_block(&t, "e");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n);
    rlx_tir_store(&t, o, L(i), rlx_tir_cast(&t, RELAX_INT64, rlx_tir_load(&t, a, L(i))));
    rlx_tir_end_block(&t);
    kc c = { .seed = 1 };
    memcpy(kc_tensor1(&c, RELAX_FLOAT64, 8), in, sizeof in);
    double *got = kc_tensor1(&c, RELAX_FLOAT64, 8);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    assert_memory_equal(got, want, sizeof want);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void nan_goes_through_max(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_int(&t, 4);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n)),
                     *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(n));
    rlx_tir_begin_block(&t, "e");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *zero = rlx_tir_float(&t, RELAX_FLOAT32, 0);
    const rlx_prim *x = rlx_tir_load(&t, a, L(i));
    rlx_tir_store(&t, o, L(i),
                  rlx_tir_min(&t, rlx_tir_float(&t, RELAX_FLOAT32, 1), rlx_tir_max(&t, x, zero)));
    rlx_tir_end_block(&t);
    kc c = { .seed = 1 };
    memcpy(kc_tensor1(&c, RELAX_FLOAT32, 4), (float[]){ NAN, -1, 0.5f, 3 }, 16);
    float *got = kc_tensor1(&c, RELAX_FLOAT32, 4);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    assert_true(isnan(got[0]) && got[1] == 0 && got[2] == 0.5f && got[3] == 1);
    kc_free(&c);
    rlx_context_release(ctx);
}

/* ---- layouts -------------------------------------------------------------------------------- */

static void broadcast_and_transpose(void **state)
{
    for (int k = 0; k < 4; k++) {
        static const int64_t sizes[][2] = { { 5, 300 }, { 300, 5 }, { 1, 1 }, { 40, 40 } };
        int64_t n = sizes[k][0], m = sizes[k][1];
        rlx_tir t;
        rlx_context *ctx = begin(&t);
        const rlx_prim *dn = rlx_tir_dim(&t, "n"), *dm = rlx_tir_dim(&t, "m");
        const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(dm, dn)),
                         *r = rlx_tir_param(&t, "R", RELAX_FLOAT32, L(dm));
        const rlx_buffer *s = rlx_tir_param(&t, "S", RELAX_FLOAT32, L(dn)),
                         *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(dn, dm));
        rlx_tir_begin_block(&t, "t");
        const rlx_prim *i = rlx_tir_spatial(&t, "i", dn), *j = rlx_tir_spatial(&t, "j", dm);
        rlx_tir_store(
            &t, o, L(i, j),
            rlx_tir_mul(&t,
                        rlx_tir_add(&t, rlx_tir_load(&t, a, L(j, i)), rlx_tir_load(&t, r, L(j))),
                        rlx_tir_load(&t, s, L(i))));
        rlx_tir_end_block(&t);
        kc c = { .seed = 5 };
        kc_tensor2(&c, RELAX_FLOAT32, m, n);
        kc_tensor1(&c, RELAX_FLOAT32, m);
        kc_tensor1(&c, RELAX_FLOAT32, n);
        kc_tensor2(&c, RELAX_FLOAT32, n, m);
        assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
        kc_free(&c);
        rlx_context_release(ctx);
    }
}

/* out[i, j] = i * m + j, as int32 and as float: values of loop variables */
static void values_of_loop_variables(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *m = rlx_tir_dim(&t, "m");
    const rlx_buffer *o = rlx_tir_param(&t, "O", RELAX_INT32, L(n, m)),
                     *p = rlx_tir_param(&t, "P", RELAX_FLOAT16, L(n, m));
    rlx_tir_begin_block(&t, "iota");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *j = rlx_tir_spatial(&t, "j", m);
    const rlx_prim *v = rlx_tir_add(&t, rlx_tir_mul(&t, i, m), j);
    rlx_tir_store(&t, o, L(i, j), v);
    rlx_tir_store(&t, p, L(i, j), v);
    rlx_tir_end_block(&t);
    kc c = { .seed = 5 };
    int32_t *got = kc_tensor2(&c, RELAX_INT32, 6, 300);
    kc_tensor2(&c, RELAX_FLOAT16, 6, 300);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    assert_int_equal(got[1799], 1799);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void padding_is_guarded(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *m = rlx_tir_dim(&t, "m"),
                   *one_ = rlx_tir_int(&t, 1), *two = rlx_tir_int(&t, 2);
    const rlx_prim *pn = rlx_tir_add(&t, n, two), *pm = rlx_tir_add(&t, m, two);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n, m)),
                     *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(pn, pm));
    rlx_tir_begin_block(&t, "pad");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", pn), *j = rlx_tir_spatial(&t, "j", pm);
    const rlx_prim *in =
        rlx_tir_and(&t, rlx_tir_and(&t, rlx_tir_le(&t, one_, i), rlx_tir_le(&t, i, n)),
                    rlx_tir_and(&t, rlx_tir_le(&t, one_, j), rlx_tir_le(&t, j, m)));
    const rlx_prim *x = rlx_tir_load(&t, a, L(rlx_tir_sub(&t, i, one_), rlx_tir_sub(&t, j, one_)));
    rlx_tir_store(&t, o, L(i, j),
                  rlx_tir_if_then_else(&t, in, x, rlx_tir_float(&t, RELAX_FLOAT32, 0)));
    rlx_tir_end_block(&t);
    kc c = { .seed = 5 };
    kc_tensor2(&c, RELAX_FLOAT32, 7, 260);
    kc_tensor2(&c, RELAX_FLOAT32, 9, 262);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

/* ---- reductions ----------------------------------------------------------------------------- */

static const rlx_prim_func *matmul(rlx_tir *t, rlx_dtype dtype, bool transposed)
{
    const rlx_prim *n = rlx_tir_dim(t, "n"), *k = rlx_tir_dim(t, "k"), *m = rlx_tir_dim(t, "m");
    const rlx_buffer *a = rlx_tir_param(t, "A", dtype, L(n, k));
    const rlx_buffer *b =
        transposed ? rlx_tir_param(t, "B", dtype, L(m, k)) : rlx_tir_param(t, "B", dtype, L(k, m));
    const rlx_buffer *c = rlx_tir_param(t, "C", dtype, L(n, m));
    rlx_tir_begin_block(t, "mm");
    const rlx_prim *i = rlx_tir_spatial(t, "i", n), *j = rlx_tir_spatial(t, "j", m),
                   *l = rlx_tir_reduce(t, "l", k);
    rlx_tir_init(t, c, L(i, j), rlx_tir_number(t, dtype, 0));
    const rlx_prim *y = transposed ? rlx_tir_load(t, b, L(j, l)) : rlx_tir_load(t, b, L(l, j));
    rlx_tir_store(t, c, L(i, j),
                  rlx_tir_add(t, rlx_tir_load(t, c, L(i, j)),
                              rlx_tir_mul(t, rlx_tir_load(t, a, L(i, l)), y)));
    rlx_tir_end_block(t);
    return rlx_tir_end(t);
}

static void matrix_products(void **state)
{
    static const int64_t sizes[][3] = { { 1, 1, 1 },  { 5, 7, 33 },   { 4, 64, 10 },
                                        { 9, 3, 41 }, { 3, 0, 4 },    { 0, 3, 4 },
                                        { 6, 5, 0 },  { 13, 17, 70 }, { 2, 3, 300 } };
    for (size_t d = 1; d < RLX_COUNT(dtypes); d++)
        for (size_t s = 0; s < RLX_COUNT(sizes); s++)
            for (int transposed = 0; transposed < 2; transposed++) {
                rlx_tir t;
                rlx_context *ctx = begin(&t);
                const rlx_prim_func *f = matmul(&t, dtypes[d], transposed);
                kc c = { .seed = s + 3 };
                kc_tensor2(&c, dtypes[d], sizes[s][0], sizes[s][1]);
                kc_tensor2(&c, dtypes[d], transposed ? sizes[s][2] : sizes[s][1],
                           transposed ? sizes[s][1] : sizes[s][2]);
                kc_tensor2(&c, dtypes[d], sizes[s][0], sizes[s][2]);
                assert_int_equal(kc_run(ctx, f, &c, NULL), RLX_CODE_NONE);
                kc_free(&c);
                rlx_context_release(ctx);
            }
}

/* out[i] = op over k of A[i, k], or of A[k, i] */
static void reduce(rlx_dtype dtype, enum rlx_node_kind kind, bool leading, int64_t n, int64_t m)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *dn = rlx_tir_dim(&t, "n"), *dm = rlx_tir_dim(&t, "m");
    const rlx_buffer *a = leading ? rlx_tir_param(&t, "A", dtype, L(dm, dn))
                                  : rlx_tir_param(&t, "A", dtype, L(dn, dm));
    const rlx_buffer *o = rlx_tir_param(&t, "O", dtype, L(dn));
    rlx_tir_begin_block(&t, "r");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", dn), *k = rlx_tir_reduce(&t, "k", dm);
    const rlx_prim *start = kind == RLX_NODE_ADD   ? rlx_tir_number(&t, dtype, 0)
                            : kind == RLX_NODE_MUL ? rlx_tir_number(&t, dtype, 1)
                            : kind == RLX_NODE_MAX ? rlx_tir_lowest(&t, dtype)
                                                   : rlx_tir_highest(&t, dtype);
    rlx_tir_init(&t, o, L(i), start);
    rlx_tir_store(
        &t, o, L(i),
        rlx_tir_binary(&t, kind, rlx_tir_load(&t, o, L(i)),
                       leading ? rlx_tir_load(&t, a, L(k, i)) : rlx_tir_load(&t, a, L(i, k))));
    rlx_tir_end_block(&t);
    kc c = { .seed = 9 };
    kc_tensor2(&c, dtype, leading ? m : n, leading ? n : m);
    kc_tensor1(&c, dtype, n);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void reductions(void **state)
{
    static const enum rlx_node_kind kinds[] = { RLX_NODE_ADD, RLX_NODE_MUL, RLX_NODE_MIN,
                                                RLX_NODE_MAX };
    static const int64_t sizes[][2] = { { 1, 1 }, { 3, 500 }, { 500, 3 }, { 20, 21 },
                                        { 4, 0 }, { 0, 4 },   { 1, 1000 } };
    for (size_t d = 1; d < RLX_COUNT(dtypes); d++)
        for (size_t k = 0; k < RLX_COUNT(kinds); k++)
            for (size_t s = 0; s < RLX_COUNT(sizes); s++) {
                reduce(dtypes[d], kinds[k], false, sizes[s][0], sizes[s][1]);
                reduce(dtypes[d], kinds[k], true, sizes[s][0], sizes[s][1]);
            }
}

static void argmax(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *m = rlx_tir_dim(&t, "m");
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n, m)),
                     *at = rlx_tir_param(&t, "I", RELAX_INT64, L(n));
    const rlx_buffer *best = rlx_tir_alloc(&t, "V", RELAX_FLOAT32, L(n));
    rlx_tir_begin_block(&t, "argmax");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *k = rlx_tir_reduce(&t, "k", m);
    rlx_tir_init(&t, at, L(i), rlx_tir_int(&t, -1));
    rlx_tir_init(&t, best, L(i), rlx_tir_infinity(&t, RELAX_FLOAT32, true));
    const rlx_prim *x = rlx_tir_load(&t, a, L(i, k)), *v = rlx_tir_load(&t, best, L(i)),
                   *keep = rlx_tir_ge(&t, v, x);
    const rlx_prim *p =
        rlx_tir_let(&t, "p", rlx_tir_select(&t, keep, rlx_tir_load(&t, at, L(i)), k));
    const rlx_prim *q = rlx_tir_let(&t, "q", rlx_tir_select(&t, keep, v, x));
    rlx_tir_store(&t, at, L(i), p);
    rlx_tir_store(&t, best, L(i), q);
    rlx_tir_end_block(&t);
    kc c = { .seed = 2 };
    float *in = kc_tensor2(&c, RELAX_FLOAT32, 300, 11);
    int64_t *got = kc_tensor1(&c, RELAX_INT64, 300);
    in[4] = 100, in[7] = 100;
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    assert_int_equal(got[0], 4);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void softmax_in_stages(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *m = rlx_tir_int(&t, 4), *i, *j;
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n, m)),
                     *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(n, m));
    const rlx_buffer *high = rlx_tir_alloc(&t, "M", RELAX_FLOAT32, L(n)),
                     *e = rlx_tir_alloc(&t, "E", RELAX_FLOAT32, L(n, m));
    const rlx_buffer *s = rlx_tir_alloc(&t, "S", RELAX_FLOAT32, L(n));
    rlx_tir_begin_block(&t, "max");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_reduce(&t, "k", m);
    rlx_tir_init(&t, high, L(i), rlx_tir_lowest(&t, RELAX_FLOAT32));
    rlx_tir_store(&t, high, L(i),
                  rlx_tir_max(&t, rlx_tir_load(&t, high, L(i)), rlx_tir_load(&t, a, L(i, j))));
    rlx_tir_end_block(&t);
    rlx_tir_begin_block(&t, "exp");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_spatial(&t, "j", m);
    rlx_tir_store(&t, e, L(i, j),
                  rlx_tir_call1(&t, "exp",
                                rlx_tir_sub(&t, rlx_tir_load(&t, a, L(i, j)),
                                            rlx_tir_load(&t, high, L(i)))));
    rlx_tir_end_block(&t);
    rlx_tir_begin_block(&t, "sum");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_reduce(&t, "k", m);
    rlx_tir_init(&t, s, L(i), rlx_tir_float(&t, RELAX_FLOAT32, 0));
    rlx_tir_store(&t, s, L(i),
                  rlx_tir_add(&t, rlx_tir_load(&t, s, L(i)), rlx_tir_load(&t, e, L(i, j))));
    rlx_tir_end_block(&t);
    rlx_tir_begin_block(&t, "div");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_spatial(&t, "j", m);
    rlx_tir_store(&t, o, L(i, j),
                  rlx_tir_div(&t, rlx_tir_load(&t, e, L(i, j)), rlx_tir_load(&t, s, L(i))));
    rlx_tir_end_block(&t);
    kc c = { .seed = 2 };
    memcpy(kc_tensor2(&c, RELAX_FLOAT32, 2, 4), (float[]){ 1, 2, 3, 4, -1, 0, 0, 100 }, 32);
    float *got = kc_tensor2(&c, RELAX_FLOAT32, 2, 4);
    /* numpy: e = exp(x - x.max(1)); e / e.sum(1) in float32 */
    static const float want[] = { 0.0320586041f,   0.0871443227f,   0.236882836f,    0.643914282f,
                                  1.36853946e-44f, 3.78350585e-44f, 3.78350585e-44f, 1 };
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    for (int x = 0; x < 8; x++)
        assert_true(fabsf(got[x] - want[x]) <= 1e-7f * want[x] + 2e-45f);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void convolution(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *c3 = rlx_tir_int(&t, 3), *n = rlx_tir_dim(&t, "n"),
                   *h = rlx_tir_sub(&t, n, rlx_tir_int(&t, 2)), *o4 = rlx_tir_int(&t, 4);
    const rlx_buffer *x = rlx_tir_param(&t, "X", RELAX_FLOAT32, L(c3, n, n)),
                     *w = rlx_tir_param(&t, "W", RELAX_FLOAT32, L(o4, c3, c3, c3));
    const rlx_buffer *y = rlx_tir_param(&t, "Y", RELAX_FLOAT32, L(o4, h, h));
    rlx_tir_begin_block(&t, "conv");
    const rlx_prim *o = rlx_tir_spatial(&t, "o", o4), *i = rlx_tir_spatial(&t, "i", h),
                   *j = rlx_tir_spatial(&t, "j", h);
    const rlx_prim *c = rlx_tir_reduce(&t, "c", c3), *p = rlx_tir_reduce(&t, "p", c3),
                   *q = rlx_tir_reduce(&t, "q", c3);
    rlx_tir_init(&t, y, L(o, i, j), rlx_tir_float(&t, RELAX_FLOAT32, 0));
    const rlx_prim *v =
        rlx_tir_mul(&t, rlx_tir_load(&t, x, L(c, rlx_tir_add(&t, i, p), rlx_tir_add(&t, j, q))),
                    rlx_tir_load(&t, w, L(o, c, p, q)));
    rlx_tir_store(&t, y, L(o, i, j), rlx_tir_add(&t, rlx_tir_load(&t, y, L(o, i, j)), v));
    rlx_tir_end_block(&t);
    kc k = { .seed = 2 };
    kc_tensor(&k, RELAX_FLOAT32, 3, (int64_t[]){ 3, 12, 12 });
    kc_tensor(&k, RELAX_FLOAT32, 4, (int64_t[]){ 4, 3, 3, 3 });
    kc_tensor(&k, RELAX_FLOAT32, 3, (int64_t[]){ 4, 10, 10 });
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &k, NULL), RLX_CODE_NONE);
    kc_free(&k);
    rlx_context_release(ctx);
}

/* ---- what cannot be done side by side ------------------------------------------------------- */

static void running_sums_stay_in_order(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *one_ = rlx_tir_int(&t, 1);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n));
    const rlx_prim *i = rlx_tir_for(&t, "i", one_, rlx_tir_sub(&t, n, one_), RLX_FOR_SERIAL);
    rlx_tir_store(&t, a, L(i),
                  rlx_tir_add(&t, rlx_tir_load(&t, a, L(i)),
                              rlx_tir_load(&t, a, L(rlx_tir_sub(&t, i, one_)))));
    rlx_tir_end_for(&t);
    kc c = { .seed = 2 };
    kc_tensor1(&c, RELAX_FLOAT32, 700);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void histogram(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *bins = rlx_tir_int(&t, 256), *i;
    const rlx_buffer *v = rlx_tir_param(&t, "V", RELAX_UINT8, L(n)),
                     *h = rlx_tir_param(&t, "H", RELAX_INT32, L(bins));
    i = rlx_tir_for(&t, "i", NULL, bins, RLX_FOR_SERIAL);
    rlx_tir_store(&t, h, L(i), rlx_tir_int(&t, 0));
    rlx_tir_end_for(&t);
    i = rlx_tir_for(&t, "i", NULL, n, RLX_FOR_SERIAL);
    const rlx_prim *x = rlx_tir_load(&t, v, L(i)), *at = rlx_tir_cast(&t, RELAX_INT64, x);
    rlx_tir_if(&t, rlx_tir_ne(&t, x, rlx_tir_number(&t, RELAX_UINT8, 0)));
    rlx_tir_store(&t, h, L(at),
                  rlx_tir_add(&t, rlx_tir_load(&t, h, L(at)), rlx_tir_number(&t, RELAX_INT32, 1)));
    rlx_tir_end_if(&t);
    rlx_tir_end_for(&t);
    kc c = { .seed = 2 };
    kc_tensor1(&c, RELAX_UINT8, 1000);
    kc_tensor1(&c, RELAX_INT32, 256);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void gather_and_scatter(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *m = rlx_tir_dim(&t, "m"), *k = rlx_tir_dim(&t, "k");
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n, m)),
                     *index = rlx_tir_param(&t, "I", RELAX_INT32, L(k));
    const rlx_buffer *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(k, m)),
                     *s = rlx_tir_param(&t, "S", RELAX_FLOAT32, L(m, k));
    rlx_tir_begin_block(&t, "take_rows");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", k), *j = rlx_tir_spatial(&t, "j", m),
                   *at = rlx_tir_cast(&t, RELAX_INT64, rlx_tir_load(&t, index, L(i)));
    rlx_tir_store(&t, o, L(i, j), rlx_tir_load(&t, a, L(at, j)));
    rlx_tir_end_block(&t);
    rlx_tir_begin_block(&t, "take_along");
    i = rlx_tir_spatial(&t, "i", m), j = rlx_tir_spatial(&t, "j", k),
    at = rlx_tir_cast(&t, RELAX_INT64, rlx_tir_load(&t, index, L(j)));
    rlx_tir_store(&t, s, L(i, j), rlx_tir_load(&t, a, L(at, i)));
    rlx_tir_end_block(&t);
    const rlx_prim_func *f = rlx_tir_end(&t);
    for (int bad = 0; bad < 2; bad++) {
        kc c = { .seed = 2 };
        char text[256];
        kc_tensor2(&c, RELAX_FLOAT32, 20, 6);
        int32_t *idx = kc_tensor1(&c, RELAX_INT32, 300);
        kc_tensor2(&c, RELAX_FLOAT32, 300, 6);
        kc_tensor2(&c, RELAX_FLOAT32, 6, 300);
        for (int x = 0; x < 300; x++)
            idx[x] = (x * 7) % 20;
        if (bad)
            idx[260] = 20;
        assert_int_equal(kc_run(ctx, f, &c, text), bad ? RLX_RT09 : RLX_CODE_NONE);
        if (bad)
            assert_string_equal(
                text,
                "kernel k: index 20 is out of range for dimension 0 of A, which has size 20");
        kc_free(&c);
    }
    rlx_context_release(ctx);
}

/* Places that count from the end, where repeated ones are added up, or the last one stays, in their order. */
static void places_from_the_end(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *m = rlx_tir_dim(&t, "m"), *k = rlx_tir_dim(&t, "k"), *zero = rlx_tir_int(&t, 0);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n, m)), *index = rlx_tir_param(&t, "I", RELAX_INT64, L(k)),
                     *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(m, k)), *sum = rlx_tir_param(&t, "S", RELAX_FLOAT32, L(n, m)),
                     *last = rlx_tir_param(&t, "T", RELAX_FLOAT32, L(n, m));
    rlx_tir_begin_block(&t, "pick");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", m), *j = rlx_tir_spatial(&t, "j", k), *at = rlx_tir_load(&t, index, L(j));
    at = rlx_tir_select(&t, rlx_tir_lt(&t, at, zero), rlx_tir_add(&t, at, n), at);
    rlx_tir_store(&t, o, L(i, j), rlx_tir_load(&t, a, L(at, i)));
    rlx_tir_end_block(&t);
    for (int adds = 0; adds < 2; adds++) {
        const rlx_buffer *to = adds ? sum : last;
        i = rlx_tir_for(&t, "i", NULL, m, RLX_FOR_SERIAL);
        j = rlx_tir_for(&t, "j", NULL, k, RLX_FOR_SERIAL);
        at = rlx_tir_load(&t, index, L(j));
        at = rlx_tir_select(&t, rlx_tir_lt(&t, at, zero), rlx_tir_add(&t, at, n), at);
        const rlx_prim *x = rlx_tir_load(&t, o, L(i, j));
        rlx_tir_store(&t, to, L(at, i), adds ? rlx_tir_add(&t, rlx_tir_load(&t, to, L(at, i)), x) : x);
        rlx_tir_end_for(&t);
        rlx_tir_end_for(&t);
    }
    const rlx_prim_func *f = rlx_tir_end(&t);
    static const struct { int64_t index; const char *wrong; } wrong[] = {
        { -20, NULL },
        { 20, "index 20 is out of range for dimension 0 of A, which has size 20" },
        { -21, "index -1 is out of range for dimension 0 of A, which has size 20" },
        { INT64_MIN, "index -9223372036854775788 is out of range for dimension 0 of A, which has size 20" },
    };
    for (size_t w = 0; w < RLX_COUNT(wrong); w++) {
        kc c = { .seed = 5 };
        char text[256];
        kc_tensor2(&c, RELAX_FLOAT32, 20, 6);
        int64_t *idx = kc_tensor1(&c, RELAX_INT64, 300);
        kc_tensor2(&c, RELAX_FLOAT32, 6, 300);
        kc_tensor2(&c, RELAX_FLOAT32, 20, 6);
        kc_tensor2(&c, RELAX_FLOAT32, 20, 6);
        for (int x = 0; x < 300; x++)
            idx[x] = x * 7 % 40 - 20;
        idx[260] = wrong[w].index;
        assert_int_equal(kc_run(ctx, f, &c, text), wrong[w].wrong ? RLX_RT09 : RLX_CODE_NONE);
        if (wrong[w].wrong && !strstr(text, wrong[w].wrong))
            fail_msg("%s", text);
        kc_free(&c);
    }
    rlx_context_release(ctx);
}

static void while_loops(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_int(&t, 64), *one_ = rlx_tir_int(&t, 1),
                   *zero = rlx_tir_int(&t, 0);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_INT32, L(n)),
                     *r = rlx_tir_param(&t, "R", RELAX_INT64, L(one_));
    const rlx_buffer *lo = rlx_tir_alloc(&t, "lo", RELAX_INT64, L(one_));
    rlx_tir_store(&t, lo, L(zero), zero);
    const rlx_prim *at = rlx_tir_load(&t, lo, L(zero));
    rlx_tir_while(&t, rlx_tir_and(&t, rlx_tir_lt(&t, at, n),
                                  rlx_tir_ne(&t, rlx_tir_load(&t, a, L(at)),
                                             rlx_tir_number(&t, RELAX_INT32, 77))));
    rlx_tir_store(&t, lo, L(zero), rlx_tir_add(&t, at, one_));
    rlx_tir_end_while(&t);
    rlx_tir_store(&t, r, L(zero), at);
    const rlx_prim_func *f = rlx_tir_end(&t);
    for (int found = 0; found < 2; found++) {
        kc c = { .seed = 2 };
        int32_t *in = kc_tensor1(&c, RELAX_INT32, 64);
        int64_t *got = kc_tensor1(&c, RELAX_INT64, 1);
        if (found)
            in[40] = 77;
        assert_int_equal(kc_run(ctx, f, &c, NULL), RLX_CODE_NONE);
        assert_int_equal(*got, found ? 40 : 64);
        kc_free(&c);
    }
    rlx_context_release(ctx);
}

static void lets_keep_their_value(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n");
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n)),
                     *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, L(n));
    rlx_tir_begin_block(&t, "swap");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n);
    const rlx_prim *x = rlx_tir_let(&t, "x", rlx_tir_load(&t, a, L(i)));
    rlx_tir_store(&t, a, L(i), rlx_tir_load(&t, b, L(i)));
    rlx_tir_store(&t, b, L(i), x);
    rlx_tir_end_block(&t);
    kc c = { .seed = 2 };
    kc_tensor1(&c, RELAX_FLOAT32, 600);
    kc_tensor1(&c, RELAX_FLOAT32, 600);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void predicates_and_branches(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *eight = rlx_tir_int(&t, 8),
                   *seven = rlx_tir_int(&t, 7);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_INT64, L(n)),
                     *b = rlx_tir_param(&t, "B", RELAX_INT64, L(n));
    const rlx_prim *tiles = rlx_tir_floor_div(&t, rlx_tir_add(&t, n, seven), eight);
    const rlx_prim *i0 = rlx_tir_for(&t, "i0", NULL, tiles, RLX_FOR_SERIAL),
                   *i1 = rlx_tir_for(&t, "i1", NULL, eight, RLX_FOR_SERIAL);
    rlx_tir_begin_block(&t, "tail");
    const rlx_prim *at = rlx_tir_add(&t, rlx_tir_mul(&t, i0, eight), i1);
    const rlx_prim *v = rlx_tir_axis(&t, RLX_ITER_SPATIAL, "i", NULL, n, at);
    rlx_tir_where(&t, rlx_tir_lt(&t, at, n));
    const rlx_prim *x = rlx_tir_load(&t, a, L(v));
    rlx_tir_if(&t, rlx_tir_gt(&t, x, rlx_tir_int(&t, 0)));
    rlx_tir_store(&t, b, L(v), rlx_tir_floor_div(&t, rlx_tir_int(&t, 1000), x));
    rlx_tir_else(&t);
    rlx_tir_store(&t, b, L(v), rlx_tir_sub(&t, x, v));
    rlx_tir_end_if(&t);
    rlx_tir_end_block(&t);
    rlx_tir_end_for(&t);
    rlx_tir_end_for(&t);
    const rlx_prim_func *f = rlx_tir_end(&t);
    for (int64_t size = 0; size < 30; size += 13) {
        kc c = { .seed = 2 };
        kc_tensor1(&c, RELAX_INT64, size);
        kc_tensor1(&c, RELAX_INT64, size);
        assert_int_equal(kc_run(ctx, f, &c, NULL), RLX_CODE_NONE);
        kc_free(&c);
    }
    rlx_context_release(ctx);
}

/* ---- failures ------------------------------------------------------------------------------- */

static void faults(void **state)
{
    static const struct { const char *op; int64_t a, b; int code;
    } rows[] = {
        { "div", 5, 0, RLX_RT14 },          { "mod", 5, 0, RLX_RT14 },
        { "floor_div", 5, 0, RLX_RT14 },    { "floor_mod", 5, 0, RLX_RT14 },
        { "div", 5, 1, RLX_CODE_NONE },     { "shift_left", 1, -1, RLX_RT14 },
        { "shift_right", 1, -1, RLX_RT14 }, { "shift_left", 1, 64, RLX_CODE_NONE },
        { "pow", 2, -1, RLX_RT14 },         { "pow", -1, -3, RLX_CODE_NONE },
        { "pow", 0, -1, RLX_RT14 },
    };
    for (size_t r = 0; r < RLX_COUNT(rows); r++) {
        rlx_tir t;
        rlx_context *ctx = begin(&t);
        const rlx_prim *n = rlx_tir_int(&t, 300);
        const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_INT64, L(n)),
                         *b = rlx_tir_param(&t, "B", RELAX_INT64, L(n));
        const rlx_buffer *o = rlx_tir_param(&t, "O", RELAX_INT64, L(n));
        rlx_tir_begin_block(&t, "f");
        const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *x = rlx_tir_load(&t, a, L(i)),
                       *y = rlx_tir_load(&t, b, L(i)), *v;
        const char *op = rows[r].op;
        v = !strcmp(op, "div")         ? rlx_tir_div(&t, x, y)
            : !strcmp(op, "mod")       ? rlx_tir_mod(&t, x, y)
            : !strcmp(op, "floor_div") ? rlx_tir_floor_div(&t, x, y)
            : !strcmp(op, "floor_mod") ? rlx_tir_floor_mod(&t, x, y)
                                       : rlx_tir_call2(&t, op, x, y);
        rlx_tir_store(&t, o, L(i), v);
        rlx_tir_end_block(&t);
        kc c = { .seed = 2 };
        int64_t *pa = kc_tensor1(&c, RELAX_INT64, 300), *pb = kc_tensor1(&c, RELAX_INT64, 300);
        kc_tensor1(&c, RELAX_INT64, 300);
        for (int k = 0; k < 300; k++)
            pa[k] = 1, pb[k] = 1;
        pa[270] = rows[r].a, pb[270] = rows[r].b;
        assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), rows[r].code);
        kc_free(&c);
        rlx_context_release(ctx);
    }
}

static void division_guarded_by_a_choice(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *zero = rlx_tir_int(&t, 0);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_INT64, L(n)),
                     *o = rlx_tir_param(&t, "O", RELAX_INT64, L(n));
    rlx_tir_begin_block(&t, "f");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *x = rlx_tir_load(&t, a, L(i));
    rlx_tir_store(&t, o, L(i),
                  rlx_tir_if_then_else(&t, rlx_tir_ne(&t, x, zero),
                                       rlx_tir_div(&t, rlx_tir_int(&t, 100), x), zero));
    rlx_tir_end_block(&t);
    kc c = { .seed = 2 };
    kc_tensor1(&c, RELAX_INT64, 600);
    kc_tensor1(&c, RELAX_INT64, 600);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void index_out_of_range(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    char text[256];
    const rlx_prim *n = rlx_tir_dim(&t, "n");
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n)),
                     *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(n));
    rlx_tir_begin_block(&t, "f");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n);
    rlx_tir_store(&t, o, L(i), rlx_tir_load(&t, a, L(rlx_tir_add(&t, i, rlx_tir_int(&t, 1)))));
    rlx_tir_end_block(&t);
    kc c = { .seed = 2 };
    kc_tensor1(&c, RELAX_FLOAT32, 10);
    kc_tensor1(&c, RELAX_FLOAT32, 10);
    assert_int_equal(kc_run(ctx, rlx_tir_end(&t), &c, text), RLX_RT09);
    assert_string_equal(
        text, "kernel k: index 10 is out of range for dimension 0 of A, which has size 10");
    kc_free(&c);
    rlx_context_release(ctx);
}

static void arguments_are_checked(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim_func *f = matmul(&t, RELAX_FLOAT32, false);
    static const struct { rlx_dtype dtype; int64_t n, k, k2, m; int rank, code;
    } rows[] = {
        { RELAX_FLOAT32, 2, 3, 3, 4, 2, RLX_CODE_NONE },
        { RELAX_FLOAT64, 2, 3, 3, 4, 2, RLX_RT03 },
        { RELAX_FLOAT32, 2, 3, 5, 4, 2, RLX_RT05 },
        { RELAX_FLOAT32, 2, 3, 3, 4, 1, RLX_RT04 },
    };
    for (size_t r = 0; r < RLX_COUNT(rows); r++) {
        kc c = { .seed = 2 };
        kc_tensor2(&c, rows[r].dtype, rows[r].n, rows[r].k);
        kc_tensor2(&c, RELAX_FLOAT32, rows[r].k2, rows[r].m);
        kc_tensor2(&c, RELAX_FLOAT32, rows[r].n, rows[r].m);
        c.args[2].ndim = rows[r].rank;
        assert_int_equal(kc_run(ctx, f, &c, NULL), rows[r].code);
        kc_free(&c);
    }
    kc few = { .seed = 2 };
    kc_tensor2(&few, RELAX_FLOAT32, 2, 3);
    assert_int_equal(kc_run(ctx, f, &few, NULL), RLX_RT01);
    kc_free(&few);
    rlx_context_release(ctx);
}

static void scalar_parameters(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *k = rlx_tir_dim(&t, "k");
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n)),
                     *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(rlx_tir_add(&t, n, k)));
    rlx_tir_scalar_var(&t, k);
    rlx_tir_begin_block(&t, "tail");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n);
    rlx_tir_store(&t, o, L(rlx_tir_add(&t, i, k)), rlx_tir_load(&t, a, L(i)));
    rlx_tir_end_block(&t);
    const rlx_prim_func *f = rlx_tir_end(&t);
    for (int64_t wrong = 0; wrong < 2; wrong++) {
        kc c = { .seed = 2 };
        kc_tensor1(&c, RELAX_FLOAT32, 20);
        kc_tensor1(&c, RELAX_FLOAT32, 25);
        kc_int(&c, RELAX_INT64, 5 + wrong);
        assert_int_equal(kc_run(ctx, f, &c, NULL), wrong ? RLX_RT05 : RLX_CODE_NONE);
        kc_free(&c);
    }
    rlx_context_release(ctx);
}

static void assertions(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    char text[256];
    const rlx_prim *n = rlx_tir_dim(&t, "n");
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n));
    rlx_tir_assert(&t, rlx_tir_gt(&t, n, rlx_tir_int(&t, 3)), RLX_ASSERTION_OTHER,
                   "more than 3 elements are needed");
    rlx_tir_assert(&t, rlx_tir_lt(&t, n, rlx_tir_int(&t, 5)), RLX_ASSERTION_SIZES, "too many");
    rlx_tir_assert_text(&t, rlx_tir_lt(&t, n, rlx_tir_int(&t, 6)), "RT14: never reached");
    rlx_tir_store(&t, a, L(rlx_tir_int(&t, 0)), rlx_tir_float(&t, RELAX_FLOAT32, 1));
    const rlx_prim_func *f = rlx_tir_end(&t);
    static const struct { int64_t size; int code; const char *text; } rows[] = {
        { 3, RLX_RT15, "kernel k: more than 3 elements are needed" },
        { 4, RLX_CODE_NONE, "" },
        { 5, RLX_RT05, "kernel k: too many; A (5)" },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        kc c = { .seed = 2 };
        kc_tensor1(&c, RELAX_FLOAT32, rows[i].size);
        assert_int_equal(kc_run(ctx, f, &c, text), rows[i].code);
        assert_string_equal(text, rows[i].text);
        kc_free(&c);
    }
    rlx_context_release(ctx);
}

static void what_cannot_be_compiled(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    rlx_buf out;
    const rlx_prim *n = rlx_tir_int(&t, 8), *zero = rlx_tir_int(&t, 0);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n));
    rlx_tir_store(&t, a, L(zero), rlx_prim_call_z(ctx, RELAX_FLOAT32, "call_extern", &zero, 1));
    const rlx_prim_func *f = rlx_tir_end(&t);
    rlx_buf_init(&out, &ctx->memory);
    assert_false(rlx_kernel_write(ctx, f, RLX_SLICE("k"), &out, NULL));
    assert_non_null(ctx->diags.first);
    assert_string_equal(ctx->diags.first->code->name, "CG07");
    rlx_buf_free(&out);
    rlx_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_of_every_dtype),
        cmocka_unit_test(sizes_around_a_strip),
        cmocka_unit_test(casts_between_all_dtypes),
        cmocka_unit_test(bools_in_memory),
        cmocka_unit_test(quotients_in_bytes),
        cmocka_unit_test(casts_of_nothing),
        cmocka_unit_test(intrinsics_of_floats),
        cmocka_unit_test(intrinsics_of_integers),
        cmocka_unit_test(numbers_of_intrinsics),
        cmocka_unit_test(saturating_casts),
        cmocka_unit_test(casts_there_and_back),
        cmocka_unit_test(nan_goes_through_max),
        cmocka_unit_test(broadcast_and_transpose),
        cmocka_unit_test(values_of_loop_variables),
        cmocka_unit_test(padding_is_guarded),
        cmocka_unit_test(matrix_products),
        cmocka_unit_test(reductions),
        cmocka_unit_test(argmax),
        cmocka_unit_test(softmax_in_stages),
        cmocka_unit_test(convolution),
        cmocka_unit_test(running_sums_stay_in_order),
        cmocka_unit_test(histogram),
        cmocka_unit_test(gather_and_scatter),
        cmocka_unit_test(places_from_the_end),
        cmocka_unit_test(while_loops),
        cmocka_unit_test(lets_keep_their_value),
        cmocka_unit_test(predicates_and_branches),
        cmocka_unit_test(faults),
        cmocka_unit_test(division_guarded_by_a_choice),
        cmocka_unit_test(index_out_of_range),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(scalar_parameters),
        cmocka_unit_test(assertions),
        cmocka_unit_test(what_cannot_be_compiled),
    };
    kc_c_begin(getenv("RELAX_LONG") ? 1 : 16);
    return cmocka_run_group_tests(tests, NULL, kc_c_teardown);
}
