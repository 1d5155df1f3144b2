/*- vector.h: vectors of one instruction set, inside src/micro only. The file of a set says which before it includes
 * this: RLX_SET_AVX512, RLX_SET_AVX2, RLX_SET_NEON, or none for 16 bytes of whatever the target has. It is the only
 * place with intrinsics; the texts that are written once for all sets use these names:
 *
 *   SET                         stands before every function: built for the set, whatever the file is built for
 *   X_vec, X_LANES              a vector of elements X: f32, f64, u32, u64
 *   X_tail                      which lanes of a vector there are; X_first(n): the first n of them, 0 < n <= X_LANES
 *   X_load, X_store             any address
 *   X_load_part, X_store_part   those lanes alone touch memory; the others are read as zero
 *   X_store_end(p, v, t, n)     X_store_part of the first n lanes, which t is; by n alone where masked stores take long: SET_SLOW_PARTS
 *   X_both(p, &even, &odd)      elements 0, 2, 4 .. and 1, 3, 5 .. of twice as many; X_first_both(n), X_both_part: of n lanes
 *   X_even                      elements 0, 2, 4 .. of twice as many; X_turn(v) puts the lanes of these four in their order, and back
 *   X_pair, X_first_pair(n),    the same of n lanes; what follows the last of them is not read
 *   X_even_part
 *   X_merge(v, w, t)            w where there are lanes, else v; where SET_PARTS
 *   u32_rows(p, step)           four words of each of u32_LANES / 4 rows; u32_low, u32_high(v, w): of each four words of v and w
 *                               the lower or upper two in turn; u32_low_pairs, u32_high_pairs: those two of v, then of w. Where
 *                               SET_TURNS
 *   X_fill(x)                   all lanes x
 *   X_fold(v, join)             join(upper half, lower half) of v in its lower half, until that is two lanes
 *   X_min_number, X_max_number  (s, y): of what is no NaN. What they cannot tell is in an X_seen beside: X_look(s) begins it,
 *                               X_see_min, X_see_max(seen, y) go on, X_settle(s, seen) makes X_min, X_max of it. Where SET_RANGES
 *   X_min, X_max                NaN wins, -0 < +0; of integers with a sign
 *   X_fma(a, b, c)              a * b + c, rounded once; X_fma_one: of one element
 *   i16_dot(a, b)               of each two neighbours the sum of their products, as 32 bits
 *   i8_dot(a, b, c)             c + the sum of the four products in each word: of bytes of b with a sign and bytes of a,
 *   u8_dot(a, b, c)             of bytes of b without one; those of a have the other kind where SET_DOTS_UNLIKE, else the same. Where
 *                               SET_DOTS, in functions that begin with SET_DOT; i8_dot_word, u8_dot_word: of a word of bytes of a, as a float's
 *                               bits, where SET_DOT_WORDS
 *   f32_least, f32_greatest     (b, x): X_min and X_max where b is not NaN, nor -0 or +0; NaN and zeros of x stay
 *   f32_at_most(x, high)        x, or high where x is greater; NaN stays
 *   f32_clamp(x, low, high)     x, or the bound that it is beyond; NaN stays
 *   f32_sqrt(x)
 *   f32_nearest(x)              rounded half to even; of zero the sign may be another
 *   f32_of_words(v), words_of_f32(x)  int32 as float32, and back: of numbers in range, cut off
 *   f32_where_sign(x, v, w)     v where the sign of x is set, else w
 *   f32_not_below(x, low)       an f32_live: which are above low, or NaN
 *   f32_times_2_to(x, k, z, live) x * 2^k, rounded once, 0 of what is not live; 0.5 < x < 2, k an integer from -151 to 128, or NaN;
 *                               z: 12583166 + k. What is not live may be anything where SET_MASKS, else as the others
 *   f32_times_2_down_to(x, k, z, live) the same where k <= 0; z: 12583104 + k, and x has F32_DOWN_UNIT as a factor already
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
#define SET_MASKS 1 /* parts of vectors cost no more than whole ones */
#define SET_SHORT_PARTS 1 /* they are few instructions */
#elif defined(RLX_SET_AVX2)
#define SET RLX_TARGET("avx2,fma,f16c,bmi2")
#define SET_BYTES 32
#define SET_SHORT_PARTS 1
#define SET_SLOW_PARTS 1 /* their stores, on some machines */
#else
#define SET
#define SET_BYTES 16
#endif
#if defined(RLX_SET_AVX512) || defined(RLX_SET_AVX2)
#define SET_PARTS 1 /* there are parts of vectors, without branches */
#else
#define SET_PARTS 0
#endif
#if !defined(SET_MASKS)
#define SET_MASKS 0
#endif
#if !defined(SET_SLOW_PARTS)
#define SET_SLOW_PARTS 0
#endif
#if !defined(SET_SHORT_PARTS)
#define SET_SHORT_PARTS 0
#endif
#if SET_SHORT_PARTS || defined(RLX_SET_NEON)
#define SET_TURNS 1 /* squares of four by four words are transposed in registers */
#else
#define SET_TURNS 0
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
typedef RLX_WHOLE_VECTOR(int32_t, SET_BYTES) i32_vec;
typedef RLX_WHOLE_VECTOR(int64_t, SET_BYTES) i64_vec;
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
/* Words of bytes, which lie anywhere. */
typedef RLX_VECTOR(unsigned char, SET_BYTES) bytes_anywhere;
SET_INLINE u32_vec u32_of_bytes(const void *p) { return (u32_vec) * (const bytes_anywhere *)p; }

#define ODD_8(v, w) RLX_SHUFFLE(v, w, 1, 3, 5, 7, 9, 11, 13, 15)
#define ODD_16(v, w) \
    RLX_SHUFFLE(v, w, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define EVEN_2(v, w) RLX_SHUFFLE(v, w, 0, 2)
#define EVEN_4(v, w) RLX_SHUFFLE(v, w, 0, 2, 4, 6)
#define EVEN_8(v, w) RLX_SHUFFLE(v, w, 0, 2, 4, 6, 8, 10, 12, 14)
#define EVEN_16(v, w) \
    RLX_SHUFFLE(v, w, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#if SET_BYTES == 64
#define EVEN_OF_32 EVEN_16
#define EVEN_OF_64 EVEN_8
#define ODD_OF_32 ODD_16
#define ODD_OF_64 ODD_8
#elif SET_BYTES == 32
/* Within halves of vectors, which is one instruction: X_turn. */
#define EVEN_OF_32(v, w) RLX_SHUFFLE(v, w, 0, 2, 8, 10, 4, 6, 12, 14)
#define EVEN_OF_64(v, w) RLX_SHUFFLE(v, w, 0, 4, 2, 6)
#define EVEN_TO_32(v, w) RLX_SHUFFLE(v, w, 0, 2, 9, 11, 4, 6, 13, 15)
#define EVEN_TO_64(v, w) RLX_SHUFFLE(v, w, 0, 5, 2, 7)
#define ODD_OF_32(v, w) RLX_SHUFFLE(v, w, 1, 3, 9, 11, 5, 7, 13, 15)
#define ODD_OF_64(v, w) RLX_SHUFFLE(v, w, 1, 5, 3, 7)
#else
#define EVEN_OF_32 EVEN_4
#define EVEN_OF_64 EVEN_2
#endif
/* Its halves are joined until there are two lanes. */
#define FOLD_2(v, join) (void)0
#define FOLD_4(v, join) v = join(v, RLX_SHUFFLE(v, v, 2, 3, 0, 1))
#define FOLD_8(v, join)                                        \
    v = join(v, RLX_SHUFFLE(v, v, 4, 5, 6, 7, 0, 1, 2, 3));    \
    v = join(v, RLX_SHUFFLE(v, v, 2, 3, 0, 1, 6, 7, 4, 5))
#define FOLD_16(v, join)                                                                   \
    v = join(v, RLX_SHUFFLE(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));  \
    v = join(v, RLX_SHUFFLE(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));  \
    v = join(v, RLX_SHUFFLE(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13))
#if SET_BYTES == 64
#define FOLD_OF_32 FOLD_16
#define FOLD_OF_64 FOLD_8
#elif SET_BYTES == 32
#define FOLD_OF_32 FOLD_8
#define FOLD_OF_64 FOLD_4
#else
#define FOLD_OF_32 FOLD_4
#define FOLD_OF_64 FOLD_2
#endif
#define f32_fold FOLD_OF_32
#define u32_fold FOLD_OF_32
#define f64_fold FOLD_OF_64
#define u64_fold FOLD_OF_64

/* The second vector begins one earlier where that costs nothing, so that nothing behind the last of these elements is read. */
#if SET_BYTES == 32
#define EVEN(X, T, bits) \
    SET_INLINE X##_vec X##_even(const T *p) { return EVEN_TO_##bits(X##_load(p), X##_load(p + X##_LANES - 1)); }
#else
#define EVEN(X, T, bits) \
    SET_INLINE X##_vec X##_even(const T *p) { return EVEN_OF_##bits(X##_load(p), X##_load(p + X##_LANES)); }
#endif
EVEN(f32, float, 32)
EVEN(f64, double, 64)
EVEN(u32, uint32_t, 32)
EVEN(u64, uint64_t, 64)
#undef EVEN

/* ---- parts of vectors ----------------------------------------------------------------------- */

#if defined(RLX_SET_AVX512)
typedef __mmask16 f32_tail, u32_tail;
typedef __mmask8 f64_tail, u64_tail;
#define PART(X, T, load, store, cast)                                                        \
    SET_INLINE X##_tail X##_first(int64_t n) { return (X##_tail)((1u << n) - 1); }           \
    SET_INLINE X##_vec X##_load_part(const T *p, X##_tail t) { return (X##_vec)load(t, p); } \
    SET_INLINE void X##_store_part(T *p, X##_vec v, X##_tail t) { store(p, t, (cast)v); }
PART(f32, float, _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps, __m512)
PART(f64, double, _mm512_maskz_loadu_pd, _mm512_mask_storeu_pd, __m512d)
PART(u32, uint32_t, _mm512_maskz_loadu_epi32, _mm512_mask_storeu_epi32, __m512i)
PART(u64, uint64_t, _mm512_maskz_loadu_epi64, _mm512_mask_storeu_epi64, __m512i)
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
/* Processors of AMD take 16 cycles for a masked store. */
SET static RLX_NOINLINE void f32_store_few(float *p, f32_vec v, int64_t n)
{
    __m128 x = _mm256_castps256_ps128(v);
    if (n & 4) {
        _mm_storeu_ps(p, x);
        p += 4, x = _mm256_extractf128_ps(v, 1);
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)p, x);
        p += 2, x = _mm_movehl_ps(x, x);
    }
    if (n & 1)
        _mm_store_ss(p, x);
}
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

SET_INLINE void f32_store_end(float *p, f32_vec v, f32_tail t, int64_t n)
{
#if SET_SLOW_PARTS
    if (n == f32_LANES)
        f32_store(p, v);
    else
        f32_store_few(p, v, n);
#else
    f32_store_part(p, v, t);
#endif
}
SET_INLINE void f64_store_end(double *p, f64_vec v, f64_tail t, int64_t n) { f64_store_part(p, v, t); }

#if defined(RLX_SET_AVX512)
SET_INLINE f32_vec f32_merge(f32_vec v, f32_vec w, f32_tail t) { return _mm512_mask_mov_ps(v, t, w); }
SET_INLINE f32_vec f32_load_over(f32_vec v, const float *p, f32_tail t) { return _mm512_mask_loadu_ps(v, t, p); }
SET_INLINE f64_vec f64_merge(f64_vec v, f64_vec w, f64_tail t) { return _mm512_mask_mov_pd(v, t, w); }
#elif defined(RLX_SET_AVX2)
SET_INLINE f32_vec f32_merge(f32_vec v, f32_vec w, f32_tail t)
{
    return _mm256_blendv_ps(v, w, _mm256_castsi256_ps(t));
}
SET_INLINE f64_vec f64_merge(f64_vec v, f64_vec w, f64_tail t)
{
    return _mm256_blendv_pd(v, w, _mm256_castsi256_pd(t));
}
#endif

#if defined(RLX_SET_AVX512)
#define OF_FOURS(what, name) \
    SET_INLINE u32_vec u32_##what(u32_vec v, u32_vec w) { return (u32_vec)_mm512_##name((__m512i)v, (__m512i)w); }
#elif defined(RLX_SET_AVX2)
#define OF_FOURS(what, name) \
    SET_INLINE u32_vec u32_##what(u32_vec v, u32_vec w) { return (u32_vec)_mm256_##name((__m256i)v, (__m256i)w); }
#elif defined(RLX_SET_NEON)
SET_INLINE u32_vec u32_low(u32_vec v, u32_vec w) { return (u32_vec)vzip1q_u32((uint32x4_t)v, (uint32x4_t)w); }
SET_INLINE u32_vec u32_high(u32_vec v, u32_vec w) { return (u32_vec)vzip2q_u32((uint32x4_t)v, (uint32x4_t)w); }
SET_INLINE u32_vec u32_low_pairs(u32_vec v, u32_vec w) { return (u32_vec)vzip1q_u64((uint64x2_t)v, (uint64x2_t)w); }
SET_INLINE u32_vec u32_high_pairs(u32_vec v, u32_vec w) { return (u32_vec)vzip2q_u64((uint64x2_t)v, (uint64x2_t)w); }
SET_INLINE u32_vec u32_rows(const uint32_t *p, int64_t step) { return u32_load(p); }
#endif
#if SET_SHORT_PARTS
OF_FOURS(low, unpacklo_epi32)
OF_FOURS(high, unpackhi_epi32)
OF_FOURS(low_pairs, unpacklo_epi64)
OF_FOURS(high_pairs, unpackhi_epi64)
#undef OF_FOURS
SET_INLINE u32_vec u32_rows(const uint32_t *p, int64_t step)
{
#define ROW(i) _mm_loadu_si128((const __m128i *)(const void *)(p + (i) * step))
#if defined(RLX_SET_AVX512)
    __m512i v = _mm512_inserti32x4(_mm512_castsi128_si512(ROW(0)), ROW(1), 1);
    return (u32_vec)_mm512_inserti32x4(_mm512_inserti32x4(v, ROW(2), 2), ROW(3), 3);
#else
    return (u32_vec)_mm256_inserti128_si256(_mm256_castsi128_si256(ROW(0)), ROW(1), 1);
#endif
#undef ROW
}
#endif
#if SET_TURNS
/* Four elements from p on of each of a vector of rows: each column as one vector. */
SET_INLINE void turn_four(const uint32_t *p, int64_t step, u32_vec *columns)
{
    u32_vec v[4];
    RLX_UNROLL for (int i = 0; i < 4; i++) v[i] = u32_rows(p + i * step, 4 * step);
    u32_vec low[2] = { u32_low(v[0], v[1]), u32_low(v[2], v[3]) }, high[2] = { u32_high(v[0], v[1]), u32_high(v[2], v[3]) };
    columns[0] = u32_low_pairs(low[0], low[1]);
    columns[1] = u32_high_pairs(low[0], low[1]);
    columns[2] = u32_low_pairs(high[0], high[1]);
    columns[3] = u32_high_pairs(high[0], high[1]);
}
#endif

#if defined(RLX_SET_AVX2)
#define TURN_OF_32(v) RLX_SHUFFLE(v, v, 0, 1, 4, 5, 2, 3, 6, 7)
#define TURN_OF_64(v) RLX_SHUFFLE(v, v, 0, 2, 1, 3)
#else
#define TURN_OF_32(v) (v)
#define TURN_OF_64(v) (v)
#endif
#define TURN(X, bits) \
    SET_INLINE X##_vec X##_turn(X##_vec v) { return TURN_OF_##bits(v); }
TURN(f32, 32)
TURN(f64, 64)
TURN(u32, 32)
TURN(u64, 64)
#undef TURN

#if defined(RLX_SET_AVX512) || defined(RLX_SET_AVX2)
/* The last element there is is an even one: 2 * n - 1 elements are read. */
#define PAIR(X, T, bits)                                                                       \
    SET_INLINE void X##_split(X##_vec low, X##_vec high, X##_vec *even, X##_vec *odd)          \
    {                                                                                          \
        *even = EVEN_OF_##bits(low, high);                                                     \
        *odd = ODD_OF_##bits(low, high);                                                       \
    }                                                                                          \
    SET_INLINE void X##_both(const T *p, X##_vec *even, X##_vec *odd)                          \
    {                                                                                          \
        X##_split(X##_load(p), X##_load(p + X##_LANES), even, odd);                            \
    }                                                                                          \
    typedef struct X##_pair {                                                                  \
        X##_tail low, high;                                                                    \
    } X##_pair;                                                                                \
    SET_INLINE X##_pair X##_first_pair(int64_t n)                                              \
    {                                                                                          \
        n = 2 * n - 1;                                                                         \
        return (X##_pair){ X##_first(n < X##_LANES ? n : X##_LANES),                           \
                           X##_first(n < X##_LANES ? 0 : n - X##_LANES) };                     \
    }                                                                                          \
    SET_INLINE X##_pair X##_first_both(int64_t n)                                              \
    {                                                                                          \
        n = 2 * n;                                                                             \
        return (X##_pair){ X##_first(n < X##_LANES ? n : X##_LANES),                           \
                           X##_first(n < X##_LANES ? 0 : n - X##_LANES) };                     \
    }                                                                                          \
    SET_INLINE void X##_both_part(const T *p, X##_pair t, X##_vec *even, X##_vec *odd)         \
    {                                                                                          \
        X##_split(X##_load_part(p, t.low), X##_load_part(p + X##_LANES, t.high), even, odd);   \
    }                                                                                          \
    SET_INLINE X##_vec X##_even_part(const T *p, X##_pair t)                                   \
    {                                                                                          \
        X##_vec low = X##_load_part(p, t.low), high = X##_load_part(p + X##_LANES, t.high);    \
        return EVEN_OF_##bits(low, high);                                                      \
    }
#else
#define PAIR(X, T, bits)                                          \
    typedef int64_t X##_pair;                                     \
    SET_INLINE int64_t X##_first_pair(int64_t n) { return n; }    \
    SET_INLINE int64_t X##_first_both(int64_t n) { return n; }    \
    SET_INLINE void X##_both(const T *p, X##_vec *even, X##_vec *odd) { *even = *odd = X##_load(p); } \
    SET_INLINE void X##_both_part(const T *p, int64_t n, X##_vec *even, X##_vec *odd) { X##_both(p, even, odd); } \
    SET_INLINE X##_vec X##_even_part(const T *p, int64_t n)       \
    {                                                             \
        X##_vec v = { 0 };                                        \
        for (int i = 0; i < X##_LANES && i < n; i++)              \
            v[i] = p[2 * i];                                      \
        return v;                                                 \
    }
#endif
PAIR(f32, float, 32)
PAIR(f64, double, 64)
PAIR(u32, uint32_t, 32)
PAIR(u64, uint64_t, 64)
#undef PAIR

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

/* ---- products of bytes and of 16 bits ------------------------------------------------------- */

typedef RLX_WHOLE_VECTOR(int16_t, SET_BYTES) i16_vec;
#if defined(RLX_SET_AVX512)
SET_INLINE u32_vec i16_dot(i16_vec a, i16_vec b) { return (u32_vec)_mm512_madd_epi16((__m512i)a, (__m512i)b); }
#elif defined(RLX_SET_AVX2)
SET_INLINE u32_vec i16_dot(i16_vec a, i16_vec b) { return (u32_vec)_mm256_madd_epi16((__m256i)a, (__m256i)b); }
#elif defined(__SSE2__)
SET_INLINE u32_vec i16_dot(i16_vec a, i16_vec b) { return (u32_vec)_mm_madd_epi16((__m128i)a, (__m128i)b); }
#elif defined(RLX_SET_NEON)
SET_INLINE u32_vec i16_dot(i16_vec a, i16_vec b)
{
    int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    return (u32_vec)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}
#else
SET_INLINE u32_vec i16_dot(i16_vec a, i16_vec b)
{
    i32_vec x = (i32_vec)a, y = (i32_vec)b, low = (x << 16 >> 16) * (y << 16 >> 16);
    return (u32_vec)low + (u32_vec)((x >> 16) * (y >> 16));
}
#endif

#if defined(RLX_SET_AVX512)
#define SET_DOTS 1
#define SET_DOTS_UNLIKE 1
#define SET_DOT RLX_TARGET("avx512vnni,avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c,bmi2")
#define i8_dot(a, b, c) ((u32_vec)_mm512_dpbusd_epi32((__m512i)(c), (__m512i)(a), (__m512i)(b)))
#define u8_dot(a, b, c) i8_dot(b, a, c)
#elif defined(RLX_SET_NEON) && defined(RLX_SET_DOTS)
#define SET_DOTS 1
#define SET_DOTS_UNLIKE 0
#define SET_DOT RLX_DOT_TARGET
/* A word that need not be spread over a vector is loaded without an instruction for vectors. */
#define SET_DOT_WORDS 1
#define DOT(name, A, instruction) \
    SET_DOT RLX_ALWAYS_INLINE u32_vec name(A a, u32_vec b, u32_vec c) \
    {                                                                 \
        instruction(a, b, c);                                         \
        return c;                                                     \
    }
DOT(i8_dot, u32_vec, RLX_DOT_I8)
DOT(u8_dot, u32_vec, RLX_DOT_U8)
DOT(i8_dot_word, float, RLX_DOT_I8)
DOT(u8_dot_word, float, RLX_DOT_U8)
#undef DOT
#else
#define SET_DOTS 0
#endif

/* ---- least and greatest --------------------------------------------------------------------- */

/* NaN wins, -0 < +0. The instructions of x86 give their second operand where one is NaN or both are zero: both ways
 * round, zeros are joined by their signs. */
#if defined(RLX_SET_AVX512)
#define EXTREME(X, V, suffix, op, join)                                                      \
    SET_INLINE X##_vec X##_##op(X##_vec a, X##_vec b)                                           \
    {                                                                                           \
        V m = _mm512_##join##_##suffix(_mm512_##op##_##suffix(a, b), _mm512_##op##_##suffix(b, a)); \
        return _mm512_mask_add_##suffix(m, _mm512_cmp_##suffix##_mask(a, b, _CMP_UNORD_Q), a, b); \
    }
#elif defined(RLX_SET_AVX2)
#define EXTREME(X, V, suffix, op, join)                                                      \
    SET_INLINE X##_vec X##_##op(X##_vec a, X##_vec b)                                           \
    {                                                                                           \
        V m = _mm256_##join##_##suffix(_mm256_##op##_##suffix(a, b), _mm256_##op##_##suffix(b, a)); \
        return _mm256_blendv_##suffix(m, a + b, _mm256_cmp_##suffix(a, b, _CMP_UNORD_Q));       \
    }
#elif defined(__SSE2__)
#define EXTREME(X, V, suffix, op, join)                                                      \
    SET_INLINE X##_vec X##_##op(X##_vec a, X##_vec b)                                           \
    {                                                                                           \
        V m = _mm_##join##_##suffix(_mm_##op##_##suffix(a, b), _mm_##op##_##suffix(b, a)),      \
          nan = _mm_cmpunord_##suffix(a, b);                                                    \
        return _mm_or_##suffix(_mm_and_##suffix(nan, a + b), _mm_andnot_##suffix(nan, m));      \
    }
#endif
#if defined(__SSE2__)
#if defined(RLX_SET_AVX512)
EXTREME(f32, __m512, ps, min, or)
EXTREME(f32, __m512, ps, max, and)
EXTREME(f64, __m512d, pd, min, or)
EXTREME(f64, __m512d, pd, max, and)
#elif defined(RLX_SET_AVX2)
EXTREME(f32, __m256, ps, min, or)
EXTREME(f32, __m256, ps, max, and)
EXTREME(f64, __m256d, pd, min, or)
EXTREME(f64, __m256d, pd, max, and)
#else
EXTREME(f32, __m128, ps, min, or)
EXTREME(f32, __m128, ps, max, and)
EXTREME(f64, __m128d, pd, min, or)
EXTREME(f64, __m128d, pd, max, and)
#endif
#undef EXTREME
#elif defined(RLX_SET_NEON)
SET_INLINE f32_vec f32_min(f32_vec a, f32_vec b) { return vminq_f32(a, b); }
SET_INLINE f32_vec f32_max(f32_vec a, f32_vec b) { return vmaxq_f32(a, b); }
SET_INLINE f64_vec f64_min(f64_vec a, f64_vec b) { return vminq_f64(a, b); }
SET_INLINE f64_vec f64_max(f64_vec a, f64_vec b) { return vmaxq_f64(a, b); }
#else
#define EXTREME(X, op)                                    \
    SET_INLINE X##_vec X##_##op(X##_vec a, X##_vec b)     \
    {                                                     \
        for (int i = 0; i < X##_LANES; i++)               \
            a[i] = rlx_##op##_##X(a[i], b[i]);            \
        return a;                                         \
    }
EXTREME(f32, min)
EXTREME(f32, max)
EXTREME(f64, min)
EXTREME(f64, max)
#undef EXTREME
#endif

/* An instruction that gives the number where the other is NaN, and has -0 < +0: what NaN there was is seen beside it. */
#if defined(RLX_SET_AVX512)
#define SET_RANGES 1
typedef __mmask16 f32_seen;
typedef __mmask8 f64_seen;
#define RANGES(X, suffix)                                                                                \
    SET_INLINE X##_vec X##_min_number(X##_vec a, X##_vec b) { return _mm512_range_##suffix(a, b, 4); }   \
    SET_INLINE X##_vec X##_max_number(X##_vec a, X##_vec b) { return _mm512_range_##suffix(a, b, 5); }   \
    SET_INLINE X##_seen X##_see_min(X##_seen seen, X##_vec y)                                            \
    {                                                                                                    \
        return _mm512_mask_cmp_##suffix##_mask(seen, y, y, _CMP_ORD_Q);                                  \
    }                                                                                                    \
    SET_INLINE X##_seen X##_see_max(X##_seen seen, X##_vec y) { return X##_see_min(seen, y); }           \
    SET_INLINE X##_seen X##_see_mins(X##_seen seen, X##_vec y, X##_vec z)                                \
    {                                                                                                    \
        return _mm512_mask_cmp_##suffix##_mask(seen, y, z, _CMP_ORD_Q);                                  \
    }                                                                                                    \
    SET_INLINE X##_seen X##_see_maxs(X##_seen seen, X##_vec y, X##_vec z)                                \
    {                                                                                                    \
        return X##_see_mins(seen, y, z);                                                                 \
    }                                                                                                    \
    SET_INLINE X##_seen X##_look(X##_vec y) { return X##_see_min((X##_seen)-1, y); }                     \
    SET_INLINE X##_vec X##_settle(X##_vec s, X##_seen seen)                                              \
    {                                                                                                    \
        return _mm512_mask_mov_##suffix(X##_fill((float)NAN), seen, s);                                  \
    }
RANGES(f32, ps)
RANGES(f64, pd)
#undef RANGES
#elif defined(RLX_SET_AVX2)
/* Of maxima alone, as least floats are lent. The instruction of x86 leaves open which zero it is: that of the signs that there were, joined, which is
 * the sign of every result; so it is wrong only where it is set too much. It gives its second operand where one is NaN, so that a number stays one. */
#define SET_RANGES 1
typedef struct f32_seen { f32_vec nan, signs; } f32_seen;
SET_INLINE f32_vec f32_max_number(f32_vec s, f32_vec y) { return _mm256_max_ps(y, s); }
SET_INLINE f32_seen f32_look(f32_vec y) { return (f32_seen){ _mm256_cmp_ps(y, y, _CMP_UNORD_Q), y }; }
SET_INLINE f32_seen f32_see_maxs(f32_seen seen, f32_vec y, f32_vec z)
{
    seen.nan = _mm256_or_ps(seen.nan, _mm256_cmp_ps(y, z, _CMP_UNORD_Q));
    seen.signs = _mm256_and_ps(seen.signs, _mm256_and_ps(y, z));
    return seen;
}
SET_INLINE f32_seen f32_see_max(f32_seen seen, f32_vec y) { return f32_see_maxs(seen, y, y); }
SET_INLINE f32_vec f32_settle(f32_vec s, f32_seen seen)
{
    u32_vec bits = (u32_vec)s & ((u32_vec)seen.signs | 0x7fffffffu);
    return _mm256_or_ps((f32_vec)bits, seen.nan);
}
#else
#define SET_RANGES 0
#endif

#define EXTREME(X, signed_vec, op, less)                                     \
    SET_INLINE X##_vec X##_##op(X##_vec a, X##_vec b)                        \
    {                                                                        \
        X##_vec first = (X##_vec)((signed_vec)a less (signed_vec)b);         \
        return (a & first) | (b & ~first);                                   \
    }
EXTREME(u32, i32_vec, min, <)
EXTREME(u32, i32_vec, max, >)
EXTREME(u64, i64_vec, min, <)
EXTREME(u64, i64_vec, max, >)
#undef EXTREME

/* ---- one operand that decides nothing by itself ---------------------------------------------- */

/* The instructions of x86 give their second operand where one is NaN or both are zero. */
#if defined(RLX_SET_AVX512)
SET_INLINE f32_vec f32_least(f32_vec b, f32_vec x) { return _mm512_min_ps(b, x); }
SET_INLINE f32_vec f32_greatest(f32_vec b, f32_vec x) { return _mm512_max_ps(b, x); }
SET_INLINE f32_vec f32_sqrt(f32_vec x) { return _mm512_sqrt_ps(x); }
#elif defined(RLX_SET_AVX2)
SET_INLINE f32_vec f32_least(f32_vec b, f32_vec x) { return _mm256_min_ps(b, x); }
SET_INLINE f32_vec f32_greatest(f32_vec b, f32_vec x) { return _mm256_max_ps(b, x); }
SET_INLINE f32_vec f32_sqrt(f32_vec x) { return _mm256_sqrt_ps(x); }
#elif defined(__SSE2__)
SET_INLINE f32_vec f32_least(f32_vec b, f32_vec x) { return _mm_min_ps(b, x); }
SET_INLINE f32_vec f32_greatest(f32_vec b, f32_vec x) { return _mm_max_ps(b, x); }
SET_INLINE f32_vec f32_sqrt(f32_vec x) { return _mm_sqrt_ps(x); }
#elif defined(RLX_SET_NEON)
SET_INLINE f32_vec f32_least(f32_vec b, f32_vec x) { return vminq_f32(b, x); }
SET_INLINE f32_vec f32_greatest(f32_vec b, f32_vec x) { return vmaxq_f32(b, x); }
SET_INLINE f32_vec f32_sqrt(f32_vec x) { return vsqrtq_f32(x); }
#else
SET_INLINE f32_vec f32_least(f32_vec b, f32_vec x) { return f32_min(b, x); }
SET_INLINE f32_vec f32_greatest(f32_vec b, f32_vec x) { return f32_max(b, x); }
SET_INLINE f32_vec f32_sqrt(f32_vec x)
{
    for (int i = 0; i < f32_LANES; i++)
        x[i] = sqrtf(x[i]);
    return x;
}
#endif
#if defined(RLX_SET_AVX512)
SET_INLINE f32_vec f32_nearest(f32_vec x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#elif defined(RLX_SET_AVX2)
SET_INLINE f32_vec f32_nearest(f32_vec x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#else
/* What is 2^23 or more has no fraction. */
SET_INLINE f32_vec f32_nearest(f32_vec x)
{
    u32_vec sign = (u32_vec)x & 0x80000000u;
    f32_vec a = (f32_vec)((u32_vec)x & 0x7fffffffu), r = (a + 0x1p23f) - 0x1p23f;
    u32_vec small = (u32_vec)(a < 0x1p23f);
    return (f32_vec)(((u32_vec)r & small) | ((u32_vec)a & ~small) | sign);
}
#endif
SET_INLINE f32_vec f32_of_words(u32_vec v) { return RLX_CONVERT((i32_vec)v, f32_vec); }
SET_INLINE u32_vec words_of_f32(f32_vec x) { return (u32_vec)RLX_CONVERT(x, i32_vec); }
SET_INLINE f32_vec f32_at_most(f32_vec x, float high) { return f32_least(f32_fill(high), x); }
SET_INLINE f32_vec f32_clamp(f32_vec x, float low, float high)
{
    return f32_greatest(f32_fill(low), f32_at_most(x, high));
}

/* ---- powers of two -------------------------------------------------------------------------- */

/* A product too small for a normal number takes a hundred times as long, though it be 0: what becomes that is 0 before. */
#if defined(RLX_SET_AVX512)
#define F32_DOWN_UNIT 1.0f
typedef __mmask16 f32_live;
SET_INLINE f32_live f32_not_below(f32_vec x, float low) { return _mm512_cmp_ps_mask(x, f32_fill(low), _CMP_NLE_UQ); }
SET_INLINE f32_vec f32_times_2_to(f32_vec x, f32_vec k, f32_vec z, f32_live live) { return _mm512_maskz_scalef_ps(live, x, k); }
SET_INLINE f32_vec f32_times_2_down_to(f32_vec x, f32_vec k, f32_vec z, f32_live live) { return _mm512_maskz_scalef_ps(live, x, k); }
#else
#define F32_DOWN_UNIT 0x1p-65f /* what the other factor, a normal number, has too much */
typedef u32_vec f32_live;
SET_INLINE f32_live f32_not_below(f32_vec x, float low) { return ~(u32_vec)(x <= f32_fill(low)); }
/* Two factors, so that a result below the normal numbers is rounded once. */
SET_INLINE f32_vec f32_times_2_to(f32_vec x, f32_vec k, f32_vec z, f32_live live)
{
    u32_vec b = (u32_vec)z, h = b >> 1;
    return (f32_vec)((u32_vec)x & live) * (f32_vec)((b - h) << 23) * (f32_vec)(h << 23);
}
SET_INLINE f32_vec f32_times_2_down_to(f32_vec x, f32_vec k, f32_vec z, f32_live live)
{
    return (f32_vec)((u32_vec)x & live) * (f32_vec)((u32_vec)z << 23);
}
#endif

#if defined(RLX_SET_AVX512)
SET_INLINE f32_vec f32_where_sign(f32_vec x, f32_vec v, f32_vec w)
{
    return _mm512_mask_mov_ps(w, _mm512_movepi32_mask((__m512i)x), v);
}
#elif defined(RLX_SET_AVX2)
SET_INLINE f32_vec f32_where_sign(f32_vec x, f32_vec v, f32_vec w) { return _mm256_blendv_ps(w, v, x); }
#else
SET_INLINE f32_vec f32_where_sign(f32_vec x, f32_vec v, f32_vec w)
{
    u32_vec set = (u32_vec)((i32_vec)x >> 31);
    return (f32_vec)(((u32_vec)v & set) | ((u32_vec)w & ~set));
}
#endif

#endif
