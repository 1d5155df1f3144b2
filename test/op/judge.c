/* judge.c: MPFR over elementary functions: those of float64, which test_elementary.c judges by, and ours of float32, sampled.
 * long_judge.sh builds and runs it. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpfr.h>

#include "base/base.h"
#include "format/kernel_math.h"

enum { BITS = 160 };   /* of what MPFR gives: an error of it is no part of any that is measured */

/* ---- what is exact -------------------------------------------------------------------------- */

typedef void exact_fn(mpfr_t out, const mpfr_t x, const mpfr_t y);

#define EXACT1(name) \
    static void exact_##name(mpfr_t out, const mpfr_t x, const mpfr_t y) { (void)y, mpfr_##name(out, x, MPFR_RNDN); }
#define EXACT2(name) \
    static void exact_##name(mpfr_t out, const mpfr_t x, const mpfr_t y) { mpfr_##name(out, x, y, MPFR_RNDN); }
EXACT1(exp) EXACT1(exp2) EXACT1(exp10) EXACT1(log) EXACT1(log2) EXACT1(log10) EXACT1(log1p)
EXACT1(sin) EXACT1(cos) EXACT1(tan) EXACT1(asin) EXACT1(acos) EXACT1(atan)
EXACT1(sinh) EXACT1(cosh) EXACT1(tanh) EXACT1(asinh) EXACT1(acosh) EXACT1(atanh) EXACT1(erf)
EXACT2(pow) EXACT2(atan2) EXACT2(hypot) EXACT2(fmod)

static void exact_rsqrt(mpfr_t out, const mpfr_t x, const mpfr_t y)
{
    (void)y;
    mpfr_sqrt(out, x, MPFR_RNDN);
    mpfr_ui_div(out, 1, out, MPFR_RNDN);
}
/* 1 / (1 + e^-x), of which neither side is lost: MPFR's exponents go far beyond those of float64. */
static void exact_sigmoid(mpfr_t out, const mpfr_t x, const mpfr_t y)
{
    (void)y;
    mpfr_neg(out, x, MPFR_RNDN);
    mpfr_exp(out, out, MPFR_RNDN);
    mpfr_add_ui(out, out, 1, MPFR_RNDN);
    mpfr_ui_div(out, 1, out, MPFR_RNDN);
}

/* ---- functions ------------------------------------------------------------------------------ */

static double judge_sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
static double judge_rsqrt(double x) { return 1 / sqrt(x); }

/* Judges are within JUDGE ulp of float64, whichever libm it is: of float32 that is 2^-27, nothing beside the bounds of ours. */
enum { JUDGE = 4 };
typedef struct row {
    const char *name;
    double float64, ours;   /* bounds in ulp; 0: exact */
    exact_fn *exact;
    double (*judge)(double);
    float (*got)(float);
    double (*judge2)(double, double);
    float (*got2)(float, float);
} row;
#define ROW(name, ours) { #name, JUDGE, ours, exact_##name, name, rlx_##name##_f32, NULL, NULL },
#define JUDGED(name, ours) { #name, JUDGE, ours, exact_##name, judge_##name, rlx_##name##_f32, NULL, NULL },
#define ROW2(name, ours) { #name, JUDGE, ours, exact_##name, NULL, NULL, name, rlx_##name##_f32 },
#define OF_C(name) { #name, 0, 0, exact_##name, NULL, NULL, name, rlx_##name##_f32 },
static const row rows[] = {
    ROW(exp, 1.02)    ROW(exp2, 1.4)    ROW(exp10, 1.4)   ROW(log, 0.9)     ROW(log2, 0.51)   ROW(log10, 0.51)
    ROW(log1p, 0.51)  ROW(sin, 1.7)     ROW(cos, 1.7)     ROW(tan, 0.51)    ROW(asin, 0.51)   ROW(acos, 0.51)
    ROW(atan, 0.51)   ROW(sinh, 0.51)   ROW(cosh, 0.51)   ROW(tanh, 1.99)   ROW(asinh, 0.51)  ROW(acosh, 0.51)
    ROW(atanh, 0.51)  ROW(erf, 1.95)    JUDGED(sigmoid, 1.9)  JUDGED(rsqrt, 1.6)
    ROW2(pow, 0.51)   ROW2(atan2, 0.51) ROW2(hypot, 0.51) OF_C(fmod)
};

/* ---- errors --------------------------------------------------------------------------------- */

/* A format: how many bits, and the exponents of its least normal number and of what is beyond its greatest, as powers of two. */
typedef struct format { int bits, least, beyond; } format;
static const format float32 = { 24, -126, 128 }, float64 = { 53, -1022, 1024 };

/* The error of `got` in units of the last place of `exact`, as if the format went on above its greatest number; huge where only
 * one is NaN or where signs differ. */
static double error_of(double got, const mpfr_t exact, const format *f, mpfr_t room)
{
    if (got != got || mpfr_nan_p(exact))
        return (got != got) == (mpfr_nan_p(exact) != 0) ? 0 : 1e9;
    if ((signbit(got) != 0) != (mpfr_signbit(exact) != 0))
        return 1e8;
    if (mpfr_inf_p(exact))
        return isinf(got) ? 0 : 1e7;
    if (isinf(got)) {
        if (mpfr_cmpabs_ui(exact, 0) > 0 && mpfr_get_exp(exact) > f->beyond)
            return 0;
        mpfr_set_ui_2exp(room, 1, f->beyond, MPFR_RNDN);
        mpfr_setsign(room, room, signbit(got) != 0, MPFR_RNDN);
    } else
        mpfr_set_d(room, got, MPFR_RNDN);
    /* 2^(e - 1) <= |exact| < 2^e */
    mpfr_exp_t e = mpfr_zero_p(exact) ? f->least : mpfr_get_exp(exact) - 1;
    e = e < f->least ? f->least : e;
    mpfr_sub(room, room, exact, MPFR_RNDN);
    mpfr_mul_2si(room, room, f->bits - 1 - e, MPFR_RNDN);
    return fabs(mpfr_get_d(room, MPFR_RNDN));
}

typedef struct errors { double worst, at, at2; } errors;
static void note(errors *e, double error, double x, double y)
{
    if (error > e->worst)
        *e = (errors){ error, x, y };
}

/* ---- arguments ------------------------------------------------------------------------------ */

static uint64_t state_of_random = 0x9e3779b97f4a7c15u;
static uint64_t next_random(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    return state_of_random ^= state_of_random << 17;
}

static const float special[] = {
    0, 0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f, 0x1p-24f, 0x1p-12f, 0.25f, 0.5f, 0.99999994f, 1, 1.0000001f, 2, 3, 10, 16777215,
    16777216, 87.5f, 88.72284f, 88.8f, 103.97f, 104, 126, 128, 149, 150, 131072, 0x1p77f, 0x1.fffffep127f, INFINITY, NAN, 3.1415927f,
};

/* Any bits; special values; whole numbers; numbers of moderate size. */
static float any_float(void)
{
    uint64_t r = next_random();
    switch (r & 7) {
    case 0: case 1: return rlx_bits_float((uint32_t)(r >> 32));
    case 2: return special[(r >> 4) % RLX_COUNT(special)] * (r & 8 ? 1 : -1);
    case 3: return (float)((int)(r >> 8 & 63) - 32);
    default: return (float)((double)(int64_t)next_random() * 0x1p-63 * (r & 16 ? 100 : 2));
    }
}

/* ---- measuring ------------------------------------------------------------------------------ */

typedef struct room { mpfr_t x, y, exact, rest; } room;

static void measure(const row *r, room *m, long samples, errors *judge, errors *ours)
{
    for (long i = 0; i < samples; i++) {
        float x = any_float(), y = r->judge ? 0 : any_float();
        mpfr_set_flt(m->x, x, MPFR_RNDN), mpfr_set_flt(m->y, y, MPFR_RNDN);
        r->exact(m->exact, m->x, m->y);
        double wide = r->judge ? r->judge((double)x) : r->judge2((double)x, (double)y);
        double got = (double)(r->got ? r->got(x) : r->got2(x, y));
        note(judge, error_of(wide, m->exact, &float64, m->rest), (double)x, (double)y);
        note(ours, error_of(got, m->exact, &float32, m->rest), (double)x, (double)y);
    }
}

static bool is_within(const char *name, const char *of, const errors *e, double bound)
{
    bool good = e->worst <= bound;
    printf("%-8s %s %.4f ulp at %a, %a%s\n", name, of, e->worst, e->at, e->at2, good ? "" : ": above its bound");
    return good;
}

int main(int argc, char **argv)
{
    long samples = argc > 1 ? atol(argv[1]) : 1000;
    int passed = 0;
    room m;
    mpfr_inits2(BITS, m.x, m.y, m.exact, m.rest, (mpfr_ptr)NULL);
    for (size_t k = 0; k < RLX_COUNT(rows); k++) {
        errors judge = { 0 }, ours = { 0 };
        measure(&rows[k], &m, samples, &judge, &ours);
        passed += is_within(rows[k].name, "float64", &judge, rows[k].float64);
        passed += is_within(rows[k].name, "float32", &ours, rows[k].ours);
    }
    mpfr_clears(m.x, m.y, m.exact, m.rest, (mpfr_ptr)NULL);
    mpfr_free_cache();
    int all = 2 * (int)RLX_COUNT(rows);
    printf("%d passed, %d failed\n", passed, all - passed);
    return passed != all;
}
