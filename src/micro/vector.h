/*- vector.h: vectors of one instruction set, inside src/micro only. The file of a set says which before it includes
 * this: RLX_SET_AVX512, RLX_SET_AVX2, RLX_SET_NEON, or none for 16 bytes of whatever the target has. It is the only
 * place with intrinsics; the texts that are written once for all sets use these names:
 *
 *   SET                         stands before every function: built for the set, whatever the file is built for
 *   X_vec, X_LANES              a vector of elements X: f32, f64, u32, u64
 *   X_tail                      which lanes of a vector there are; X_first(n): the first n of them, 0 < n <= X_LANES
 *   X_load, X_store             any address
 *   X_load_part, X_store_part   those lanes alone touch memory; the others are read as zero
 *   X_even, X_even_part         elements 0, 2, 4 .. of twice as many; the last one read is an even one
 *   X_fill(x)                   all lanes x
 *   X_fma(a, b, c)              a * b + c, rounded once; X_fma_one: of one element
 */
#ifndef RLX_MICRO_VECTOR_H
#define RLX_MICRO_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

#if defined(RLX_SET_AVX512) || defined(RLX_SET_AVX2) || defined(__SSE2__)
#include <immintrin.h>
#elif defined(RLX_SET_NEON)
#include <arm_neon.h>
#endif

#if defined(RLX_SET_AVX512)
#define SET RLX_TARGET("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c,bmi2")
#define SET_BYTES 64
#elif defined(RLX_SET_AVX2)
#define SET RLX_TARGET("avx2,fma,f16c,bmi2")
#define SET_BYTES 32
#else
#define SET
#define SET_BYTES 16
#endif
#define SET_INLINE SET RLX_ALWAYS_INLINE

enum {
    f32_LANES = SET_BYTES / 4,
    f64_LANES = SET_BYTES / 8,
    u32_LANES = SET_BYTES / 4,
    u64_LANES = SET_BYTES / 8
};
typedef RLX_WHOLE_VECTOR(float, SET_BYTES) f32_vec;
typedef RLX_WHOLE_VECTOR(double, SET_BYTES) f64_vec;
typedef RLX_WHOLE_VECTOR(uint32_t, SET_BYTES) u32_vec;
typedef RLX_WHOLE_VECTOR(uint64_t, SET_BYTES) u64_vec;
typedef RLX_VECTOR(float, SET_BYTES) f32_anywhere;
typedef RLX_VECTOR(double, SET_BYTES) f64_anywhere;
typedef RLX_VECTOR(uint32_t, SET_BYTES) u32_anywhere;
typedef RLX_VECTOR(uint64_t, SET_BYTES) u64_anywhere;

#define WHOLE(X, T)                                                                       \
    SET_INLINE X##_vec X##_load(const T *p) { return *(const X##_anywhere *)p; }          \
    SET_INLINE void X##_store(T *p, X##_vec v) { *(X##_anywhere *)p = v; }                \
    SET_INLINE X##_vec X##_fill(T x) { return x - (X##_vec){ 0 }; }
WHOLE(f32, float)
WHOLE(f64, double)
WHOLE(u32, uint32_t)
WHOLE(u64, uint64_t)
#undef WHOLE

/* ---- parts of vectors ----------------------------------------------------------------------- */

#if defined(RLX_SET_AVX512)
typedef __mmask16 f32_tail, u32_tail;
typedef __mmask8 f64_tail, u64_tail;
#define PART(X, T, bits, load, store, cast, take, even)                                             \
    SET_INLINE X##_tail X##_first(int64_t n) { return (X##_tail)((1u << n) - 1); }                  \
    SET_INLINE X##_vec X##_load_part(const T *p, X##_tail t) { return (X##_vec)load(t, p); }        \
    SET_INLINE void X##_store_part(T *p, X##_vec v, X##_tail t) { store(p, t, (cast)v); }           \
    SET_INLINE X##_vec X##_pick(cast low, cast high)                                                \
    {                                                                                               \
        return (X##_vec)take(low, even, high);                                                      \
    }                                                                                               \
    SET_INLINE X##_vec X##_even_part(const T *p, X##_tail t)                                        \
    {                                                                                               \
        /* all below the last even one, and that */                                                 \
        uint32_t m = _pdep_u32(t, 0x55555555u);                                                     \
        m |= m >> 1;                                                                                \
        return X##_pick(load((X##_tail)m, p), load((X##_tail)(m >> X##_LANES), p + X##_LANES));     \
    }
#define EVEN_16 \
    _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define EVEN_8 _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14)
PART(f32, float, 32, _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps, __m512, _mm512_permutex2var_ps,
     EVEN_16)
PART(f64, double, 64, _mm512_maskz_loadu_pd, _mm512_mask_storeu_pd, __m512d,
     _mm512_permutex2var_pd, EVEN_8)
PART(u32, uint32_t, 32, _mm512_maskz_loadu_epi32, _mm512_mask_storeu_epi32, __m512i,
     _mm512_permutex2var_epi32, EVEN_16)
PART(u64, uint64_t, 64, _mm512_maskz_loadu_epi64, _mm512_mask_storeu_epi64, __m512i,
     _mm512_permutex2var_epi64, EVEN_8)
#undef PART

#elif defined(RLX_SET_AVX2)
typedef __m256i f32_tail, u32_tail, f64_tail, u64_tail;
static const int32_t tail_of_32[16] = { -1, -1, -1, -1, -1, -1, -1, -1 };
static const int64_t tail_of_64[8] = { -1, -1, -1, -1 };
#define PART(X, T, bits, P, load, store, cast)                                                \
    SET_INLINE X##_tail X##_first(int64_t n)                                                  \
    {                                                                                         \
        return _mm256_loadu_si256((const __m256i *)(tail_of_##bits + X##_LANES - n));         \
    }                                                                                         \
    SET_INLINE X##_vec X##_load_part(const T *p, X##_tail t)                                  \
    {                                                                                         \
        return (X##_vec)load((const P *)p, t);                                                \
    }                                                                                         \
    SET_INLINE void X##_store_part(T *p, X##_vec v, X##_tail t) { store((P *)p, t, (cast)v); }
PART(f32, float, 32, float, _mm256_maskload_ps, _mm256_maskstore_ps, __m256)
PART(f64, double, 64, double, _mm256_maskload_pd, _mm256_maskstore_pd, __m256d)
PART(u32, uint32_t, 32, int, _mm256_maskload_epi32, _mm256_maskstore_epi32, __m256i)
PART(u64, uint64_t, 64, long long, _mm256_maskload_epi64, _mm256_maskstore_epi64, __m256i)
#undef PART

#else
typedef int64_t f32_tail, u32_tail, f64_tail, u64_tail;
/* Pieces of memory of constant size: the compiler moves them through registers. */
#define PART_OF_4(X, T)                                                                       \
    SET_INLINE X##_tail X##_first(int64_t n) { return n; }                                    \
    SET_INLINE X##_vec X##_load_part(const T *p, X##_tail n)                                  \
    {                                                                                         \
        X##_vec v = { 0 };                                                                    \
        v[0] = p[0];                                                                          \
        if (n > 1)                                                                            \
            v[1] = p[1];                                                                      \
        if (n > 2)                                                                            \
            v[2] = p[2];                                                                      \
        if (n > 3)                                                                            \
            v[3] = p[3];                                                                      \
        return v;                                                                             \
    }                                                                                         \
    SET_INLINE void X##_store_part(T *p, X##_vec v, X##_tail n)                               \
    {                                                                                         \
        p[0] = v[0];                                                                          \
        if (n > 1)                                                                            \
            p[1] = v[1];                                                                      \
        if (n > 2)                                                                            \
            p[2] = v[2];                                                                      \
        if (n > 3)                                                                            \
            p[3] = v[3];                                                                      \
    }
#define PART_OF_2(X, T)                                                                       \
    SET_INLINE X##_tail X##_first(int64_t n) { return n; }                                    \
    SET_INLINE X##_vec X##_load_part(const T *p, X##_tail n)                                  \
    {                                                                                         \
        return (X##_vec){ p[0], n > 1 ? p[1] : 0 };                                           \
    }                                                                                         \
    SET_INLINE void X##_store_part(T *p, X##_vec v, X##_tail n)                               \
    {                                                                                         \
        p[0] = v[0];                                                                          \
        if (n > 1)                                                                            \
            p[1] = v[1];                                                                      \
    }
PART_OF_4(f32, float)
PART_OF_2(f64, double)
PART_OF_4(u32, uint32_t)
PART_OF_2(u64, uint64_t)
#undef PART_OF_4
#undef PART_OF_2
#endif

/* ---- products that are not rounded ---------------------------------------------------------- */

SET_INLINE float f32_fma_one(float a, float b, float c) { return RLX_FMA_F32(a, b, c); }
SET_INLINE double f64_fma_one(double a, double b, double c) { return RLX_FMA_F64(a, b, c); }
#if defined(RLX_SET_AVX512)
SET_INLINE f32_vec f32_fma(f32_vec a, f32_vec b, f32_vec c) { return _mm512_fmadd_ps(a, b, c); }
SET_INLINE f64_vec f64_fma(f64_vec a, f64_vec b, f64_vec c) { return _mm512_fmadd_pd(a, b, c); }

#elif defined(RLX_SET_AVX2)
SET_INLINE f32_vec f32_fma(f32_vec a, f32_vec b, f32_vec c) { return _mm256_fmadd_ps(a, b, c); }
SET_INLINE f64_vec f64_fma(f64_vec a, f64_vec b, f64_vec c) { return _mm256_fmadd_pd(a, b, c); }

#elif defined(RLX_SET_NEON)
SET_INLINE f32_vec f32_fma(f32_vec a, f32_vec b, f32_vec c) { return vfmaq_f32(c, a, b); }
SET_INLINE f64_vec f64_fma(f64_vec a, f64_vec b, f64_vec c) { return vfmaq_f64(c, a, b); }

#else
#if defined(__SSE2__)
/* The product is exact in double. Their sum is rounded to odd: cut toward zero, and its last bit set where something
 * was cut off. Rounding that to float gives what rounding the exact sum once gives, as a double has more than two bits
 * to spare; numbers too small for a normal float included. What was cut off is exact (two-sum); it is NaN where the
 * sum is not finite, which no comparison holds for. Nothing under- or overflows in double. */
SET_INLINE __m128d sum_to_odd(__m128d product, __m128d c)
{
    __m128d sum = product + c, b = sum - product, rest = (product - (sum - b)) + (c - b),
            way = rest * sum, zero = _mm_setzero_pd();
    __m128i less = _mm_castpd_si128(_mm_cmplt_pd(way, zero)),
            cut = _mm_or_si128(less, _mm_castpd_si128(_mm_cmpgt_pd(way, zero)));
    __m128i bits = _mm_add_epi64(_mm_castpd_si128(sum), less); /* less is -1 */
    return _mm_castsi128_pd(_mm_or_si128(bits, _mm_srli_epi64(cut, 63)));
}
SET_INLINE f32_vec f32_fma(f32_vec a, f32_vec b, f32_vec c)
{
    __m128d low = sum_to_odd(_mm_cvtps_pd(a) * _mm_cvtps_pd(b), _mm_cvtps_pd(c));
    a = _mm_movehl_ps(a, a), b = _mm_movehl_ps(b, b), c = _mm_movehl_ps(c, c);
    __m128d high = sum_to_odd(_mm_cvtps_pd(a) * _mm_cvtps_pd(b), _mm_cvtps_pd(c));
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}
#else
SET_INLINE f32_vec f32_fma(f32_vec a, f32_vec b, f32_vec c)
{
    for (int i = 0; i < f32_LANES; i++)
        c[i] = f32_fma_one(a[i], b[i], c[i]);
    return c;
}
#endif
SET_INLINE f64_vec f64_fma(f64_vec a, f64_vec b, f64_vec c)
{
    return (f64_vec){ f64_fma_one(a[0], b[0], c[0]), f64_fma_one(a[1], b[1], c[1]) };
}
#endif

#endif
