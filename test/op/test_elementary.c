/* test_elementary.c: the elementary functions of float32. Their errors against float64 of libm,
 * special values, and the same bits from a strip, from single elements, the evaluator and
 * generated C. In the long run all 2^32 arguments of those of one argument, in two threads; the
 * greatest error of each is printed. */
/* built for speed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/base.h"
#include "format/kernel_math.h"
#include "kernel_c.h"
#include "runtime/kernel_int.h"
#include "tir/tir.h"

static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
static double rsqrt(double x) { return 1 / sqrt(x); }

/* bound: of the error in ulp. parity: 1: f(-x) = f(x), -1: f(-x) = -f(x), else 0. */
typedef struct row {
    const char *name;
    unsigned op;
    double bound;
    int parity;
    float (*got)(float);
    double (*want)(double);
} row;
#define ROW(name, bound, parity) \
    { #name, RLX_K_##name##_F32, bound, parity, rlx_##name##_f32, name },
static const row rows[] = {
    ROW(exp, 1.02, 0)      ROW(tanh, 1.99, -1)   ROW(sigmoid, 1.9, 0)  ROW(erf, 1.95, -1)
    ROW(log, 0.9, 0)     ROW(cos, 1.7, 1)     ROW(exp2, 1.4, 0)     ROW(sin, 1.7, -1)
    ROW(exp10, 1.4, 0)   ROW(tan, 0.51, -1)   ROW(log2, 0.51, 0)    ROW(rsqrt, 1.6, 0)
    ROW(log10, 0.51, 0)  ROW(atan, 0.51, -1)  ROW(log1p, 0.51, 0)   ROW(asin, 0.51, -1)
    ROW(acos, 0.51, 0)   ROW(sinh, 0.51, -1)  ROW(acosh, 0.51, 0)   ROW(asinh, 0.51, -1)
    ROW(cosh, 0.51, 1)   ROW(atanh, 0.51, -1)
};

typedef struct row2 {
    const char *name;
    unsigned op;
    double bound;
    float (*got)(float, float);
    double (*want)(double, double);
} row2;
#define ROW2(name, bound) { #name, RLX_K_##name##_F32, bound, rlx_##name##_f32, name },
static const row2 rows2[] = { ROW2(pow, 0.51) ROW2(atan2, 0.51) ROW2(hypot, 0.51) };

static const float special[] = {
    0, 0x1p-149f, 0x1.8p-148f, 0x1.fffffcp-127f, 0x1p-126f, 0x1p-24f, 0x1p-12f, 0.25f, 0.5f, 0.55f,
    0.99999994f, 1, 1.0000001f, 1.125f, 2, 3, 10, 16777215, 16777216, 87.5f, 88.72284f, 88.72283f,
    88.8f, 103.97f, 103.98f, 104, 126, 128, 149, 150, 131071.99f, 131072, 0x1p51f, 0x1p77f,
    0x1p103f, 0x1.fffffep127f, INFINITY, NAN, 3.1415927f, 1.5707964f,
};

/* The error of `got` in units of the last place of the exact `want`, as if float32 went on above
 * its greatest number; huge where only one is NaN or where the signs of zeros differ. */
static double error_of(float got, double want)
{
    float nearest = (float)want;
    double a = fabs(want), d;
    uint64_t unit;
    if (got != got || want != want)
        return (got != got) == (want != want) ? 0 : 1e9;
    if (signbit(got) != signbit(nearest))
        return 1e8;
    if (got == nearest && (got == 0 || got - got != 0))
        return 0;
    if (got - got != 0 || a >= 0x1p128)
        return (got - got != 0) != (nearest - nearest != 0) ? 1e7 : 0;
    a = a < 0x1p-126 ? 0x1p-126 : a;
    memcpy(&unit, &a, 8); /* 2^(e - 23) of a = 2^e m */
    unit = (unit & 0x7ff0000000000000u) - ((uint64_t)23 << 52);
    memcpy(&d, &unit, 8);
    return fabs((double)got - want) / d;
}

static bool is_same(float a, float b)
{
    return rlx_float_bits(a) == rlx_float_bits(b) || (a != a && b != b);
}

/* ---- errors --------------------------------------------------------------------------------- */

enum { STRIP = 4096 };
typedef struct errors { double worst; float at, at2; } errors;

static void note(errors *e, double error, float x, float y)
{
    if (!(error <= e->worst))
        *e = (errors){ error, x, y };
}

/* n <= STRIP arguments, all at once as the interpreter computes them. What is rounded correctly is
 * within 0.5 ulp. */
static void measure(const row *r, const float *x, size_t n, errors *e)
{
    float y[STRIP];
    rlx_value_fns[r->op](y, x, NULL, NULL, n);
    for (size_t i = 0; i < n; i++) {
        double want = r->want((double)x[i]);
        if (y[i] != (float)want || want == 0)
            note(e, error_of(y[i], want), x[i], 0);
    }
}

/* All exponents, of each some mantissas; step is odd. */
static void measure_some(const row *r, uint32_t step, errors *e)
{
    float x[STRIP];
    size_t n = 0;
    for (uint64_t u = 0; u <= UINT32_MAX; u += step) {
        x[n++] = rlx_bits_float((uint32_t)u);
        if (n == STRIP) {
            measure(r, x, n, e);
            n = 0;
        }
    }
    measure(r, x, n, e);
    for (n = 0; n < 2 * RLX_COUNT(special); n++)
        x[n] = n & 1 ? -special[n / 2] : special[n / 2];
    measure(r, x, n, e);
}

/* Every argument; negative ones by the sign where there is a parity. */
static void measure_all(const row *r, errors *e)
{
    static const uint32_t sign = 0x80000000u;
    float x[STRIP], minus[STRIP], y[STRIP], z[STRIP];
    for (uint64_t u = 0; u <= (r->parity ? sign - 1 : UINT32_MAX); u += STRIP) {
        for (uint32_t i = 0; i < STRIP; i++) {
            x[i] = rlx_bits_float((uint32_t)u + i);
            minus[i] = rlx_bits_float(((uint32_t)u + i) ^ sign);
        }
        measure(r, x, STRIP, e);
        if (!r->parity)
            continue;
        rlx_value_fns[r->op](y, x, NULL, NULL, STRIP);
        rlx_value_fns[r->op](z, minus, NULL, NULL, STRIP);
        for (size_t i = 0; i < STRIP; i++)
            note(e, is_same(z[i], r->parity < 0 ? -y[i] : y[i]) ? 0 : 1e6, minus[i], 0);
    }
}

typedef struct half { size_t first; bool is_long; errors found[RLX_COUNT(rows)]; } half;

static void *measure_half(void *p)
{
    half *h = p;
    for (size_t i = h->first; i < RLX_COUNT(rows); i += 2) {
        h->found[i].worst = 0.5;
        measure_some(&rows[i], h->is_long ? 65537 : 30011, &h->found[i]);
        if (!h->is_long)
            continue;
        measure_all(&rows[i], &h->found[i]);
        print_message("%-8s %.4f ulp at %a\n", rows[i].name, h->found[i].worst,
                      (double)h->found[i].at);
    }
    return NULL;
}

static void one_argument(void **state)
{
    bool is_long = getenv("RELAX_LONG") != NULL;
    static half halves[2];
    pthread_t other;
    for (size_t i = 0; i < 2; i++)
        halves[i] = (half){ .first = i, .is_long = is_long };
    assert_int_equal(pthread_create(&other, NULL, measure_half, &halves[1]), 0);
    measure_half(&halves[0]);
    assert_int_equal(pthread_join(other, NULL), 0);
    bool good = true;
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        const errors *e = &halves[i & 1].found[i];
        bool fits = e->worst <= rows[i].bound;
        if (!fits)
            print_message("%-8s %.4f ulp at %a, bound %g\n", rows[i].name, e->worst,
                          (double)e->at, rows[i].bound);
        good &= fits;
    }
    assert_true(good);
}

static uint64_t state_of_random = 0x9e3779b97f4a7c15u;
static uint64_t next_random(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    return state_of_random ^= state_of_random << 17;
}

/* Any bits; or of moderate size, where powers are finite; or a special value. */
static float any_float(void)
{
    uint64_t r = next_random();
    float v = rlx_bits_float((uint32_t)(r >> 32));
    switch (r & 7) {
    case 0: return v;
    case 1: return special[(r >> 4) % RLX_COUNT(special)] * (r & 8 ? 1 : -1);
    case 2: return (float)((int)(r >> 8 & 63) - 32);
    default: return (float)((double)(int64_t)r * 0x1p-63 * (r & 16 ? 100 : 2));
    }
}

static void two_arguments(void **state)
{
    enum { N = 256 };
    float x[N], y[N], z[N];
    size_t rounds = getenv("RELAX_LONG") ? 200000 : 2000;
    for (size_t k = 0; k < RLX_COUNT(rows2); k++) {
        errors e = { 0 };
        for (size_t j = 0; j < rounds; j++) {
            for (size_t i = 0; i < N; i++)
                x[i] = any_float(), y[i] = any_float();
            rlx_value_fns[rows2[k].op](z, x, y, NULL, N);
            for (size_t i = 0; i < N; i++)
                note(&e, error_of(z[i], rows2[k].want((double)x[i], (double)y[i])), x[i], y[i]);
        }
        if (rounds > 2000 || e.worst > rows2[k].bound)
            print_message("%-8s %.4f ulp at %a, %a\n", rows2[k].name, e.worst, (double)e.at,
                          (double)e.at2);
        assert_true(e.worst <= rows2[k].bound);
    }
}

/* ---- one text ------------------------------------------------------------------------------- */

static void check_strip(const row *r, const float *x, size_t n)
{
    float z[301];
    memcpy(z, x, n * sizeof *x);
    z[n] = 42;
    rlx_value_fns[r->op](z, z, NULL, NULL, n);
    for (size_t i = 0; i < n; i++)
        if (!is_same(z[i], r->got(x[i])))
            fail_msg("%s(%a) is %a in a strip of %zu", r->name, (double)x[i], (double)z[i], n);
    assert_true(z[n] == 42);
}

/* What is computed in a shorter way where all of a strip is near 0: as far as that goes, and with one element beyond. */
static void near_strips(void **state)
{
    static const struct { float most, beyond; } limits[] = {
        { 1, NAN }, { 87, 0x1.5c0002p+6f }, { 87, -INFINITY }, { 0x1.fffffep16f, 0x1p17f },
    };
    float x[300];
    for (size_t j = 0; j < 40 * RLX_COUNT(limits); j++) {
        size_t n = 1 + next_random() % 300, at = next_random() % n;
        float most = limits[j / 40].most;
        for (size_t i = 0; i < n; i++)
            x[i] = i % 5 ? (float)((double)(int64_t)next_random() * 0x1p-63) * most : i & 1 ? most : -most;
        for (size_t k = 0; k < RLX_COUNT(rows); k++) {
            float kept = x[at];
            check_strip(&rows[k], x, n);
            x[at] = limits[j / 40].beyond;
            check_strip(&rows[k], x, n);
            x[at] = kept;
        }
    }
}

/* A strip of any length, in place too, gives what single elements give. */
static void strips_and_single_elements(void **state)
{
    float x[300], y[300], z[301];
    for (size_t n = 0; n <= 300; n = n < 40 ? n + 1 : n + 37) {
        for (size_t i = 0; i < n; i++)
            x[i] = any_float(), y[i] = any_float();
        for (size_t k = 0; k < RLX_COUNT(rows); k++)
            check_strip(&rows[k], x, n);
        for (size_t k = 0; k < RLX_COUNT(rows2); k++) {
            memcpy(z, x, sizeof x);
            rlx_value_fns[rows2[k].op](z, z, y, NULL, n);
            for (size_t i = 0; i < n; i++)
                if (!is_same(z[i], rows2[k].got(x[i], y[i])))
                    fail_msg("%s(%a, %a) is %a in a strip of %zu", rows2[k].name, (double)x[i],
                             (double)y[i], (double)z[i], n);
        }
    }
}

/* exp of a difference as each set of instructions computes it for rows. */
static void exp_of_rows(void **state)
{
    static const char *const sets[] = { "baseline", "avx2", "avx512", "avx512vnni", "avx512amx", "neon", "neondot" };
    float x[100], z[100];
    for (size_t round = 0; round < 10000; round++) {
        size_t columns = 1 + next_random() % 100;
        float y = round & 1 ? 0.0f : any_float();
        for (size_t i = 0; i < 100; i++)
            x[i] = any_float();
        for (size_t s = 0; s < RLX_COUNT(sets); s++) {
            const rlx_micro_set *set = rlx_micro_find(sets[s]);
            if (!set)
                continue;
            memset(z, 0, sizeof z);
            set->map[RLX_KERNEL_MAP_EXP_SUB](z, x, y, (int64_t)columns);
            for (size_t i = 0; i < 100; i++) {
                float d = x[i] - y, want = i < columns ? rlx_exp_f32(d) : 0;
                if (!is_same(z[i], want))
                    fail_msg("%s: exp(%a) is %a", sets[s], (double)d, (double)z[i]);
            }
        }
    }
}

enum { COUNT = 3000 };

/* O[i] = f(A[i]) or f(A[i], B[i]): evaluator, bytecode and C. */
static void run_everywhere(const char *name, bool is_two)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    assert_non_null(ctx);
    rlx_tir b;
    rlx_tir_begin(&b, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_int(&b, COUNT);
    const rlx_buffer *x = rlx_tir_param(&b, "A", RELAX_FLOAT32, RLX_TIR_LIST(n));
    const rlx_buffer *y = rlx_tir_param(&b, "B", RELAX_FLOAT32, RLX_TIR_LIST(n));
    rlx_tir_begin_block(&b, "e");
    const rlx_prim *i = rlx_tir_spatial(&b, "i", n);
    const rlx_prim *v[] = { rlx_tir_load(&b, x, RLX_TIR_LIST(i)),
                            rlx_tir_load(&b, y, RLX_TIR_LIST(i)) };
    const rlx_prim *value = rlx_prim_call_z(ctx, RELAX_FLOAT32, name, v, is_two ? 2 : 1);
    const rlx_buffer *o = rlx_tir_param(&b, "O", RELAX_FLOAT32, RLX_TIR_LIST(n));
    rlx_tir_store(&b, o, RLX_TIR_LIST(i), value);
    rlx_tir_end_block(&b);
    const rlx_prim_func *f = rlx_tir_end(&b);
    assert_non_null(f);
    kc c = { .seed = 1 };
    float *p = kc_tensor1(&c, RELAX_FLOAT32, COUNT), *q = kc_tensor1(&c, RELAX_FLOAT32, COUNT);
    kc_tensor1(&c, RELAX_FLOAT32, COUNT);
    for (size_t k = 0; k < COUNT; k++)
        p[k] = any_float(), q[k] = any_float();
    assert_int_equal(kc_run(ctx, f, &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void everywhere(void **state)
{
    kc_c_begin(1);
    for (size_t k = 0; k < RLX_COUNT(rows); k++)
        run_everywhere(rows[k].name, false);
    for (size_t k = 0; k < RLX_COUNT(rows2); k++)
        run_everywhere(rows2[k].name, true);
    kc_c_end();
}

/* ---- what is exact ---------------------------------------------------------------------------- */

/* Roundings, conversions and narrow floats: the bits of what strips give, by the functions that say what they are. */
static uint64_t bits_of(float x) { return rlx_float_bits(x); }
static uint64_t bits_or_nan(float x) { return x != x ? 0x7fc00000u : rlx_float_bits(x); }
static uint64_t saturated(float x, int64_t low, int64_t high) { return (uint64_t)rlx_saturate((double)x, low, high); }
#define EXACT(op, bytes, want) static uint64_t want_##op(float x) { return want; }
#define EXACTS                                                                                                  \
    EXACT(floor_F32, 4, bits_or_nan(floorf(x))) EXACT(ceil_F32, 4, bits_or_nan(ceilf(x)))                       \
    EXACT(trunc_F32, 4, bits_or_nan(truncf(x))) EXACT(round_F32, 4, bits_of(rlx_round_f32(x)))                  \
    EXACT(F32_TO_I8, 4, saturated(x, INT8_MIN, INT8_MAX)) EXACT(F32_TO_U8, 4, saturated(x, 0, UINT8_MAX))       \
    EXACT(F32_TO_I16, 4, saturated(x, INT16_MIN, INT16_MAX)) EXACT(F32_TO_U16, 4, saturated(x, 0, UINT16_MAX))  \
    EXACT(F32_TO_I32, 4, saturated(x, INT32_MIN, INT32_MAX)) EXACT(F32_TO_I64, 8, saturated(x, INT64_MIN, INT64_MAX)) \
    EXACT(ROUND_F16, 4, bits_of(rlx_half_to_float(rlx_float_to_half(x))))                                       \
    EXACT(ROUND_BF16, 4, bits_of(rlx_bfloat_to_float(rlx_float_to_bfloat(x))))
EXACTS
#undef EXACT
#define EXACT(op, bytes, want) { #op, RLX_K_##op, bytes, want_##op },
static const struct { const char *name; unsigned op; size_t bytes; uint64_t (*want)(float); } exacts[] = { EXACTS };

/* n <= STRIP */
static void check_exact(const float *x, size_t n)
{
    static const enum rlx_kernel_elem narrow[] = { RLX_ELEM_F16, RLX_ELEM_BF16 };
    uint64_t y[STRIP];
    uint16_t h[STRIP];
    for (size_t k = 0; k < RLX_COUNT(exacts); k++) {
        rlx_value_fns[exacts[k].op](y, x, NULL, NULL, n);
        for (size_t i = 0; i < n; i++) {
            uint64_t want = exacts[k].want(x[i]), got = 0;
            memcpy(&got, (char *)y + i * exacts[k].bytes, exacts[k].bytes);
            if (x[i] != x[i] && k < 3)
                got = bits_or_nan(rlx_bits_float((uint32_t)got));
            if (exacts[k].bytes == 4 ? (uint32_t)got != (uint32_t)want : got != want)
                fail_msg("%s(%a) is %llx, not %llx", exacts[k].name, (double)x[i], (unsigned long long)got, (unsigned long long)want);
        }
    }
    for (size_t k = 0; k < RLX_COUNT(narrow); k++) {
        rlx_access_fns[narrow[k]].store(h, 1, x, n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(h[i], k ? rlx_float_to_bfloat(x[i]) : rlx_float_to_half(x[i]));
    }
}

/* Rounded quotients as bytes, and int64 as float32, in strips whose numbers fit into 32 bits or not: by the functions that say what they are. */
static void quotients_and_integers(void **state)
{
    static const float scales[] = { 1, 0.01f, 0x1p-130f, 3e38f, 0, -0.5f };
    static const float zeros[] = { 0, 128, -3, 0.5f, -0x1p23f, NAN, INFINITY };
    float x[STRIP], y[STRIP], z[STRIP];
    int32_t d[STRIP];
    int64_t whole[STRIP];
    for (size_t round = 0; round < 3000; round++) {
        const size_t n = next_random() % (STRIP + 1);
        for (size_t i = 0; i < n; i++) {
            x[i] = round & 1 ? any_float() : (float)((int32_t)(next_random() % 1024) - 512) * 0.5f;
            y[i] = round % 5 ? scales[round % RLX_COUNT(scales)] : any_float();
            z[i] = round % 7 ? zeros[round % RLX_COUNT(zeros)] : any_float();
            whole[i] = (int64_t)next_random() >> (round & 3 ? 33 : next_random() % 64);
        }
        for (int byte = 0; byte < 2; byte++) {
            rlx_value_fns[byte ? RLX_K_QUANTIZE_U8 : RLX_K_QUANTIZE_I8](d, x, y, z, n);
            for (size_t i = 0; i < n; i++) {
                const float v = rlx_round_f32(x[i] / y[i]) + z[i];
                const int32_t want = (int32_t)rlx_saturate((double)v, byte ? 0 : INT8_MIN, byte ? UINT8_MAX : INT8_MAX);
                if (d[i] != want)
                    fail_msg("round(%a / %a) + %a is %d, not %d", (double)x[i], (double)y[i], (double)z[i], d[i], want);
            }
        }
        rlx_value_fns[RLX_K_I64_TO_F32](y, whole, NULL, NULL, n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(rlx_float_bits(y[i]), rlx_float_bits((float)whole[i]));
    }
}

/* All exponents; strips of any length, which have a NaN or not, with numbers beyond integers or not. In the long run all. */
static void exact_steps(void **state)
{
    static const float limits[] = { 1, 300, 0x1.fffffep30f, 0x1p31f, 0x1p33f, 0x1p63f };
    float x[STRIP];
    uint64_t step = getenv("RELAX_LONG") ? 1 : 30011;
    size_t n = 0;
    for (uint64_t u = 0; u <= UINT32_MAX; u += step) {
        x[n++] = rlx_bits_float((uint32_t)u);
        if (n == STRIP) {
            check_exact(x, n);
            n = 0;
        }
    }
    check_exact(x, n);
    for (n = 0; n < 300; n++)
        for (size_t k = 0; k <= RLX_COUNT(limits); k++) {
            for (size_t i = 0; i < n; i++)
                x[i] = k == RLX_COUNT(limits) ? any_float() : (float)((double)(int64_t)next_random() * 0x1p-63) * limits[k];
            if (n && k & 1)
                x[next_random() % n] = rlx_bits_float(0x7f800001u + (uint32_t)(next_random() & 0x7ffffe));
            check_exact(x, n);
        }
}

/* All halves, NaN of every kind among them, in runs of several lengths. */
static void halves_in_runs(void **state)
{
    float x[300];
    uint16_t h[300];
    for (uint32_t u = 0, n = 1; u < 0x10000u; u += n, n = 1 + (n * 7 + 3) % 300) {
        for (uint32_t i = 0; i < n; i++)
            h[i] = (uint16_t)(u + i);
        rlx_access_fns[RLX_ELEM_F16].load(x, h, 1, n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(rlx_float_bits(x[i]), rlx_float_bits(rlx_half_to_float(h[i])));
    }
}

/* Remainders that float64 has, and those that it has not: quotients at and beside integers, close exponents, the least normal number, the last
 * quotient of 27 bits. Bits are those of fmodf. */
static void remainders(void **state)
{
    const size_t rounds = getenv("RELAX_LONG") ? 100000 : 1000;
    float a[STRIP], b[STRIP], got[STRIP];
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < STRIP; i++) {
            const uint32_t few = (uint32_t)(next_random() % 7), times = (uint32_t)(next_random() >> (37 + next_random() % 20));
            b[i] = round % 4 == 3 ? rlx_bits_float(0x00800000u + few - 3) : any_float();
            const float whole = (float)((double)b[i] * times);
            const uint32_t apart = (uint32_t)(next_random() % 30) << 23;
            a[i] = round % 4 == 0   ? any_float()
                   : round % 4 == 1 ? rlx_bits_float(rlx_float_bits(whole) + few - 3)
                                    : rlx_bits_float((rlx_float_bits(b[i]) + apart + few - 3) ^ (uint32_t)(next_random() & 0x80000000u));
        }
        rlx_value_fns[RLX_K_fmod_F32](got, a, b, NULL, STRIP);
        for (size_t i = 0; i < STRIP; i++) {
            const float want = fmodf(a[i], b[i]);
            if (want == want ? rlx_float_bits(got[i]) != rlx_float_bits(want) : got[i] == got[i])
                fail_msg("fmod(%a, %a) is %a, not %a", (double)a[i], (double)b[i], (double)got[i], (double)want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_argument),
        cmocka_unit_test(two_arguments),
        cmocka_unit_test(near_strips),
        cmocka_unit_test(strips_and_single_elements),
        cmocka_unit_test(exp_of_rows),
        cmocka_unit_test(exact_steps),
        cmocka_unit_test(quotients_and_integers),
        cmocka_unit_test(remainders),
        cmocka_unit_test(halves_in_runs),
        cmocka_unit_test(everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, kc_c_teardown);
}
