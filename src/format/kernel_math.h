/* kernel_math.h: what one scalar operation gives, wherever it is computed: interpreter of kernels, evaluator,
 * constant folding. All are total; those that can fail tell so beside the value. */
#ifndef RLX_FORMAT_KERNEL_MATH_H
#define RLX_FORMAT_KERNEL_MATH_H

#include <math.h>
#include <string.h>
#include "base/compiler.h"

/* ---- integers: wrap around; b != 0 for the divisions */
RLX_INLINE int32_t rlx_div_i32(int32_t a, int32_t b) { return b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b; }
RLX_INLINE int64_t rlx_div_i64(int64_t a, int64_t b) { return b == -1 ? (int64_t)(0u - (uint64_t)a) : a / b; }
RLX_INLINE int32_t rlx_mod_i32(int32_t a, int32_t b) { return b == -1 ? 0 : a % b; }
RLX_INLINE int64_t rlx_mod_i64(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
RLX_INLINE int32_t rlx_floor_mod_i32(int32_t a, int32_t b)
{
    int32_t r = rlx_mod_i32(a, b);
    return r && (r < 0) != (b < 0) ? r + b : r;
}
RLX_INLINE int64_t rlx_floor_mod_i64(int64_t a, int64_t b)
{
    int64_t r = rlx_mod_i64(a, b);
    return r && (r < 0) != (b < 0) ? r + b : r;
}
RLX_INLINE int32_t rlx_floor_div_i32(int32_t a, int32_t b)
{
    return b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b - (a % b && (a < 0) != (b < 0));
}
RLX_INLINE int64_t rlx_floor_div_i64(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0u - (uint64_t)a) : a / b - (a % b && (a < 0) != (b < 0));
}
/* Counts >= 0; the width or more shifts everything out. */
RLX_INLINE int32_t rlx_shl_i32(int32_t a, int32_t n) { return n > 31 ? 0 : (int32_t)((uint32_t)a << n); }
RLX_INLINE int64_t rlx_shl_i64(int64_t a, int64_t n) { return n > 63 ? 0 : (int64_t)((uint64_t)a << n); }
RLX_INLINE int32_t rlx_shr_i32(int32_t a, int32_t n) { return a >> (n > 31 ? 31 : n); }
RLX_INLINE int64_t rlx_shr_i64(int64_t a, int64_t n) { return a >> (n > 63 ? 63 : n); }
RLX_INLINE uint64_t rlx_shl_u64(uint64_t a, uint64_t n) { return n > 63 ? 0 : a << n; }
RLX_INLINE uint64_t rlx_shr_u64(uint64_t a, uint64_t n) { return n > 63 ? 0 : a >> n; }
/* a to the power n, wrapped; n < 0 only for a of 1 or -1. */
RLX_INLINE uint64_t rlx_pow_u64(uint64_t a, uint64_t n)
{
    uint64_t r = 1;
    for (; n; n >>= 1, a *= a)
        if (n & 1)
            r *= a;
    return r;
}
RLX_INLINE int64_t rlx_pow_i64(int64_t a, int64_t n)
{
    return (int64_t)rlx_pow_u64((uint64_t)a, n < 0 ? (uint64_t)(n & 1) : (uint64_t)n);
}
RLX_INLINE bool rlx_pow_fails(int64_t a, int64_t n) { return n < 0 && a != 1 && a != -1; }
RLX_INLINE int32_t rlx_popcount_u64(uint64_t a)
{
    a -= a >> 1 & 0x5555555555555555u;
    a = (a & 0x3333333333333333u) + (a >> 2 & 0x3333333333333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int32_t)(a * 0x0101010101010101u >> 56);
}
RLX_INLINE int32_t rlx_clz_u64(uint64_t a) /* 64 for 0 */
{
    int32_t n = 64;
    for (int s = 32; s; s >>= 1)
        if (a >> s) {
            a >>= s;
            n -= s;
        }
    return a ? n - 1 : n;
}

/* ---- floats. NaN if either side is NaN */
RLX_INLINE float rlx_max_f32(float a, float b) { return a > b || a != a ? a : b; }
RLX_INLINE float rlx_min_f32(float a, float b) { return a < b || a != a ? a : b; }
RLX_INLINE double rlx_max_f64(double a, double b) { return a > b || a != a ? a : b; }
RLX_INLINE double rlx_min_f64(double a, double b) { return a < b || a != a ? a : b; }

/* Toward zero, saturating; NaN gives 0. */
RLX_INLINE int64_t rlx_saturate(double v, int64_t low, int64_t high)
{
    return v != v ? 0 : v <= (double)low ? low : v >= (double)high ? high : (int64_t)v;
}
RLX_INLINE uint64_t rlx_saturate_u64(double v)
{
    return !(v > 0) ? 0 : v >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)v;
}

/* 2^k * 2^r with k the nearest integer to x / ln 2, the second factor by its Taylor polynomial of degree 8: relative
 * error 2e-10, so that the float result is within 0.51 ulp. k comes out of adding 1.5 * 2^52 and goes into the
 * exponent bits; nothing here stops a compiler from doing several at once. */
RLX_INLINE double rlx_exp_of_float(double x)
{
    double c = x > 120.0 ? 120.0 : x;
    c = c < -120.0 ? -120.0 : c;
    double t = c * 1.4426950408889634, z = t + 6755399441055744.0, r = t - (z - 6755399441055744.0);
    double p = 1.3215486790144309e-6;
    p = p * r + 1.5252733804059841e-5;
    p = p * r + 1.5403530393381610e-4;
    p = p * r + 1.3333558146428443e-3;
    p = p * r + 9.6181291076284772e-3;
    p = p * r + 5.5504108664821580e-2;
    p = p * r + 2.4022650695910071e-1;
    p = p * r + 6.9314718055994531e-1;
    p = p * r + 1.0;
    uint64_t zb, pb;
    memcpy(&zb, &z, 8);
    memcpy(&pb, &p, 8);
    pb += zb << 52;
    memcpy(&p, &pb, 8);
    return p;
}
RLX_INLINE float rlx_exp_f32(float x) { return (float)rlx_exp_of_float((double)x); }
RLX_INLINE float rlx_sigmoid_f32(float x) { return (float)(1.0 / (1.0 + rlx_exp_of_float(-(double)x))); }
RLX_INLINE double rlx_sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }
RLX_INLINE float rlx_rsqrt_f32(float x) { return (float)(1.0 / sqrt((double)x)); }
RLX_INLINE double rlx_rsqrt_f64(double x) { return 1.0 / sqrt(x); }
/* Halves to even in every rounding mode: adding and taking away 2^52 would follow the mode. */
RLX_INLINE double rlx_round_f64(double x)
{
    double f = floor(x), d = x - f;
    double r = d > 0.5 || (d == 0.5 && f * 0.5 != floor(f * 0.5)) ? f + 1.0 : f;
    return copysign(r, x);
}
RLX_INLINE float rlx_round_f32(float x) { return (float)rlx_round_f64((double)x); }
RLX_INLINE double rlx_exp10_f64(double x) { return pow(10.0, x); }
RLX_INLINE float rlx_exp10_f32(float x) { return (float)pow(10.0, (double)x); }
RLX_INLINE int rlx_ldexp_count(int64_t n) { return n > 100000 ? 100000 : n < -100000 ? -100000 : (int)n; }

#endif
