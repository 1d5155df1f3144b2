/* kernel_strips.c: the loops of the kernel interpreter. Compiled at -O3; nothing here decides
 * anything.
 *
 * One function per value instruction over n elements. Operands of one instruction overlap
 * exactly or not at all. */
/* built for speed */
#include "runtime/kernel_int.h"
#include "base/base.h"
#include "format/kernel_math.h"
#include "format/narrow.h"

/* ---- values --------------------------------------------------------------------------------- */

/* One loop of vectors and one for single elements: the latter, unrolled, would be longer than the former. */
#define EACH_OF(n) RLX_ROLLED RLX_INDEPENDENT for (size_t i = 0; i < (n); i++)

#define VALUE1(name, R, T, expr)                                                            \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        R *d = dp;                                                                          \
        const T *p = ap;                                                                    \
        EACH_OF(n) {                                                                        \
            T a = p[i];                                                                     \
            d[i] = (R)(expr);                                                               \
        }                                                                                   \
        return RLX_TROUBLE_NONE;                                                            \
    }
#define VALUE2(name, R, T, expr)                                                            \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        R *d = dp;                                                                          \
        const T *p = ap, *q = bp;                                                           \
        EACH_OF(n) {                                                                        \
            T a = p[i], b = q[i];                                                           \
            d[i] = (R)(expr);                                                               \
        }                                                                                   \
        return RLX_TROUBLE_NONE;                                                            \
    }
#define BYTES1(name, expr) VALUE1(name, uint8_t, uint8_t, expr)
#define BYTES2(name, expr) VALUE2(name, uint8_t, uint8_t, expr)
/* fails: a condition on a and b where the mask (NULL: everywhere) is on; elements that would
 * fail are left 0. Operands are read once, as what is tested is what is computed with: they may be views of memory that
 * another thread of a hostile kernel writes. */
#define RISKY(name, T, fails, why, expr)                                                    \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        T *d = dp;                                                                          \
        const volatile T *p = ap, *q = bp;                                                  \
        const int32_t *mask = cp;                                                           \
        for (size_t i = 0; i < n; i++) {                                                    \
            T a = p[i], b = q[i];                                                           \
            if (RLX_LIKELY(!(fails)))                                                       \
                d[i] = (expr);                                                              \
            else if (!mask || mask[i])                                                      \
                return why;                                                                 \
            else                                                                            \
                d[i] = 0;                                                                   \
        }                                                                                   \
        return RLX_TROUBLE_NONE;                                                            \
    }
#define CHOOSE(T)                                                                           \
    RLX_CLONES static int choose_##T(T *d, const int32_t *m, const T *p, const T *q, size_t n)         \
    {                                                                                       \
        EACH_OF(n) {                                                                        \
            T a = p[i], b = q[i]; /* both are read: no branch */                            \
            d[i] = m[i] ? a : b;                                                            \
        }                                                                                   \
        return RLX_TROUBLE_NONE;                                                            \
    }
CHOOSE(uint32_t)
CHOOSE(uint64_t)
#define SELECT(name, T)                                                                     \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        return sizeof(T) == 4 ? choose_uint32_t(dp, ap, bp, cp, n) : choose_uint64_t(dp, ap, bp, cp, n); \
    }
#define COPY(name, bytes, expr)                                                             \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        memmove(dp, ap, n * (bytes));                                                       \
        return RLX_TROUBLE_NONE;                                                            \
    }
/* LANES elements at a time, the last ones in copies: no second loop for single elements, which
 * would be as long again. Vectors of fewer lanes are a short loop in the loop for that reason. */
#define LANES ((size_t)16)
#define ALL_LANES EACH_OF(LANES)
#define LANES1_BODY(R, T, expr)                                                             \
    T last_a[LANES] = { 0 };                                                                \
    R last[LANES], *d = dp;                                                                 \
    const T *p = ap;                                                                        \
    size_t left = n % LANES, whole = n - left;                                              \
    for (size_t at = 0; at < n; at += LANES, p += LANES, d += LANES) {                      \
        if (at == whole) {                                                                  \
            p = memcpy(last_a, p, left * sizeof(T));                                        \
            d = last;                                                                       \
        }                                                                                   \
        ALL_LANES                                                                           \
        {                                                                                   \
            T a = p[i];                                                                     \
            d[i] = (R)(expr);                                                               \
        }                                                                                   \
    }                                                                                       \
    memcpy((R *)dp + whole, last, left * sizeof(R));                                        \
    return RLX_TROUBLE_NONE;
#define LANES1(name, R, T, expr)                                                            \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        LANES1_BODY(R, T, expr)                                                             \
    }
#define LANES2(name, R, T, expr)                                                            \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        T last_a[LANES] = { 0 }, last_b[LANES] = { 0 };                                     \
        R last[LANES], *d = dp;                                                             \
        const T *p = ap, *q = bp;                                                           \
        size_t left = n % LANES, whole = n - left;                                          \
        for (size_t at = 0; at < n; at += LANES, p += LANES, q += LANES, d += LANES) {      \
            if (at == whole) {                                                              \
                p = memcpy(last_a, p, left * sizeof(T));                                    \
                q = memcpy(last_b, q, left * sizeof(T));                                    \
                d = last;                                                                   \
            }                                                                               \
            ALL_LANES                                                                       \
            {                                                                               \
                T a = p[i], b = q[i];                                                       \
                d[i] = (R)(expr);                                                           \
            }                                                                               \
        }                                                                                   \
        memcpy((R *)dp + whole, last, left * sizeof(R));                                    \
        return RLX_TROUBLE_NONE;                                                            \
    }
#define WIDE_LANES1(name, R, T, expr) RLX_CLONES LANES1(name, R, T, expr)
#define WIDE_LANES2(name, R, T, expr) RLX_CLONES LANES2(name, R, T, expr)
#define WIDEST1(name, R, T, expr) RLX_CLONES_512 LANES1(name, R, T, expr)
/* One strip is either all near or goes the far way; NaN is far. */
#define FAR_UNLESS_BELOW(name, limit)                                                       \
    const float *x = ap;                                                                    \
    int32_t greatest = 0;                                                                   \
    EACH_OF(n) {                                                                            \
        int32_t bits = (int32_t)(rlx_float_bits(x[i]) & 0x7fffffffu);                       \
        greatest = bits > greatest ? bits : greatest;                                       \
    }                                                                                       \
    if (greatest >= (int32_t)rlx_float_bits(limit))                                         \
        return v_##name##_far(dp, ap, bp, cp, n);
#define NEAR1(name, near)                                                                   \
    RLX_CLONES_512                                                                          \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        FAR_UNLESS_BELOW(name, 0x1p17f)                                                     \
        LANES1_BODY(float, float, near)                                                     \
    }
static int compute_row(float *d, const float *a, uint32_t step, size_t n)
{
    const rlx_micro_step steps[] = { RLX_STEP_STRIP(RLX_STEP_LOAD, (float *)a), RLX_STEP_ALONE(step), RLX_STEP_STRIP(RLX_STEP_STORE, d),
                                     RLX_STEP_ALONE(RLX_STEP_END) };
    rlx_micro_find(NULL)->chain(steps, (int64_t)n);
    return RLX_TROUBLE_NONE;
}
#define TURN1(name, expr, near) LANES1(name##_far, float, float, expr) NEAR1(name, near)
#define WHOLE1(name, R, expr, near)                                                         \
    RLX_NOINLINE VALUE1(name##_far, R, float, expr)                                         \
    RLX_CLONES static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        FAR_UNLESS_BELOW(name, 0x1p31f)                                                     \
        R *d = dp;                                                                          \
        EACH_OF(n) {                                                                        \
            float a = x[i];                                                                 \
            d[i] = (R)(near);                                                               \
        }                                                                                   \
        return RLX_TROUBLE_NONE;                                                            \
    }
#define SHORT1(name, R)                                                                     \
    RLX_NOINLINE VALUE1(name##_far, R, int64_t, a)                                          \
    RLX_CLONES static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        const uint64_t *p = ap;                                                             \
        R *d = dp;                                                                          \
        uint64_t all = 0;                                                                   \
        EACH_OF(n)                                                                          \
            all |= p[i] + 0x80000000u;                                                      \
        if (all >> 32)                                                                      \
            return v_##name##_far(dp, ap, bp, cp, n);                                       \
        EACH_OF(n)                                                                          \
            d[i] = (R)(int32_t)p[i];                                                        \
        return RLX_TROUBLE_NONE;                                                            \
    }
#define ROW1(name, expr, step)                                                              \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        return compute_row(dp, ap, step, n);                                                \
    }
/* The integers that have 32 bits or less share a loop. */
static int saturate(void *dp, const void *ap, int32_t low, int32_t high, size_t n)
{
    LANES1_BODY(int32_t, double, rlx_saturate_i32(a, low, high))
}
RLX_CLONES
static int saturate_f32(void *dp, const void *ap, int32_t low, int32_t high, size_t n)
{
    LANES1_BODY(int32_t, float, rlx_saturate_f32(a, low, high))
}
#define SATURATE_F32(name, low, high)                                                       \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        return saturate_f32(dp, ap, low, high, n);                                          \
    }
#define SATURATE(name, low, high)                                                           \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        return saturate(dp, ap, low, high, n);                                              \
    }
/* Narrow floats in runs: halves, and bfloats, are what there is much of. The last ones go through a copy. */
typedef RLX_VECTOR(uint16_t, 16) eight_words;
#define HALVES(function)                                                                  \
    static int narrow_##function##_any(void *dp, const void *ap, size_t n)                \
    {                                                                                     \
        const size_t each = RLX_FOUR_LANES * sizeof(uint16_t), left = n % RLX_FOUR_LANES; \
        const float *a = ap;                                                              \
        float last[RLX_FOUR_LANES] = { 0 };                                               \
        char *d = dp;                                                                     \
        for (size_t i = 0; i < n; i += RLX_FOUR_LANES, a += RLX_FOUR_LANES, d += each) {  \
            const bool whole = i + left < n;                                              \
            rlx_four_ints v;                                                              \
            if (!whole)                                                                   \
                a = memcpy(last, a, left * sizeof *a);                                    \
            memcpy(&v, a, sizeof v);                                                      \
            eight_words w = (eight_words)rlx_narrow_##function##_four(v);                 \
            w = RLX_SHUFFLE(w, w, 0, 2, 2, 2, 4, 5, 6, 7); /* each is one instruction */  \
            w = RLX_SHUFFLE(w, w, 0, 1, 2, 3, 4, 6, 6, 6);                                \
            v = RLX_SHUFFLE((rlx_four_ints)w, (rlx_four_ints)w, 0, 2, 2, 2);              \
            if (whole)                                                                    \
                memcpy(d, &v, each);                                                      \
            else                                                                          \
                memcpy(d, &v, left * sizeof(uint16_t));                                   \
        }                                                                                 \
        return RLX_TROUBLE_NONE;                                                          \
    }
#define ROUNDED(function)                                                                 \
    static int round_##function(void *dp, const void *ap, size_t n)                       \
    {                                                                                     \
        uint16_t narrow[64];                                                              \
        float *d = dp;                                                                    \
        const float *a = ap;                                                              \
        for (size_t i = 0, count; i < n; i += count) {                                    \
            count = n - i < RLX_COUNT(narrow) ? n - i : RLX_COUNT(narrow);                \
            (void)narrow_##function(narrow, a + i, count);                                \
            widen_##function(d + i, narrow, (int64_t)count);                              \
        }                                                                                 \
        return RLX_TROUBLE_NONE;                                                          \
    }
#define widen_half rlx_micro_widen_F16
#define widen_bfloat rlx_micro_widen_BF16
HALVES(half)
HALVES(bfloat)
/* By an instruction for it, where there is one, up to a NaN, and a few that it is among. */
static int narrow_half(void *dp, const void *ap, size_t n)
{
    uint16_t *d = dp;
    const float *a = ap;
    for (size_t done = 0, some; done < n; done += some) {
        done += rlx_micro_narrow_halves(d + done, a + done, n - done);
        some = n - done < RLX_HALVES ? n - done : RLX_HALVES;
        (void)narrow_half_any(d + done, a + done, some);
    }
    return RLX_TROUBLE_NONE;
}
#define narrow_bfloat narrow_bfloat_any
ROUNDED(half)
ROUNDED(bfloat)
#define FLOAT8(function, C)                                                            \
    static int round_##function(void *dp, const void *ap, size_t n)                    \
    {                                                                                  \
        const float *a = ap;                                                           \
        float *d = dp;                                                                 \
        for (size_t i = 0; i < n; i++)                                                 \
            d[i] = rlx_##function##_to_float(rlx_float_to_##function(a[i]));           \
        return RLX_TROUBLE_NONE;                                                       \
    }                                                                                  \
    static int narrow_##function(void *dp, const void *ap, size_t n)                   \
    {                                                                                  \
        const float *a = ap;                                                           \
        C *d = dp;                                                                     \
        for (size_t i = 0; i < n; i++)                                                 \
            d[i] = rlx_float_to_##function(a[i]);                                      \
        return RLX_TROUBLE_NONE;                                                       \
    }
FLOAT8(e5m2, uint8_t)
FLOAT8(e4m3fn, uint8_t)
#define WIDE1(name, R, T, expr) RLX_CLONES VALUE1(name, R, T, expr)
#define WIDE2(name, R, T, expr) RLX_CLONES VALUE2(name, R, T, expr)
#define LDEXP(name, T, expr)                                                                \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        T *d = dp;                                                                          \
        const T *p = ap;                                                                    \
        const int64_t *q = bp;                                                              \
        for (size_t i = 0; i < n; i++) {                                                    \
            T a = p[i];                                                                     \
            int64_t b = q[i];                                                               \
            d[i] = (expr);                                                                  \
        }                                                                                   \
        return RLX_TROUBLE_NONE;                                                            \
    }
#define FMA(name, T, expr)                                                                  \
    RLX_CLONES_FMA                                                                          \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        T *d = dp;                                                                          \
        const T *p = ap, *q = bp, *r = cp;                                                  \
        EACH_OF(n) {                                                                        \
            T a = p[i], b = q[i], c = r[i];                                                 \
            d[i] = (expr);                                                                  \
        }                                                                                   \
        return RLX_TROUBLE_NONE;                                                            \
    }
#define ROUND1(name, function)                                                              \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        return round_##function(dp, ap, n);                                                 \
    }
/* The same as rlx_round_f32 where the host rounds to nearest even, as it does here: what is below 2^23 has no fraction beside it. */
RLX_ALWAYS_INLINE float round_nearest(float x)
{
    float a = fabsf(x), r = (a + 0x1p23f) - 0x1p23f;
    return copysignf(a < 0x1p23f ? r : a, x);
}
/* As rlx_quantize_f32; both ends are numbers of float32. Divisions take their time beside all the rest. */
RLX_CLONES
static int quantize(void *dp, const void *ap, const void *bp, const void *cp, int32_t low, int32_t high, size_t n)
{
    const float *p = ap, *q = bp, *r = cp, least = (float)low, most = (float)high;
    int32_t *d = dp;
    EACH_OF(n) {
        float v = round_nearest(p[i] / q[i]) + r[i], u = v > least ? v : least;
        u = u < most ? u : most;
        d[i] = v == v ? (int32_t)u : 0;
    }
    return RLX_TROUBLE_NONE;
}
#define QUANTIZE(name, low, high)                                                           \
    static int v_##name(void *dp, const void *ap, const void *bp, const void *cp, size_t n) \
    {                                                                                       \
        return quantize(dp, ap, bp, cp, low, high, n);                                      \
    }
#define rlx_round_f32 round_nearest
#include "format/kernel_value.def"

rlx_value_fn *const rlx_value_fns[RLX_K_COUNT] = {
#define OP(name, text, operands)
#define VALUE(name, text, operands) [RLX_K_##name] = v_##name,
#include "format/kernel_opcode.def"
};

RLX_CLONES
static void fill_strip(uint64_t *d, uint64_t v, size_t n)
{
    EACH_OF(n)
        d[i] = v;
}

void rlx_fill_strip(void *dp, const void *a, int klass, size_t n)
{
    uint32_t half;
    uint64_t v;
    if (klass == RLX_CLASS_I32 || klass == RLX_CLASS_F32) { /* in pairs */
        memcpy(&half, a, 4);
        if (n % 2)
            memcpy((char *)dp + 4 * --n, &half, 4);
        v = half | (uint64_t)half << 32;
        n /= 2;
    } else
        memcpy(&v, a, 8);
    fill_strip(dp, v, n);
}

/* Clones are called in the file where they are: compilers name them for others in their own ways. */
static RLX_CLONES bool place_strip(int64_t *d, const int64_t *index, const uint64_t *p, size_t n)
{
    const uint64_t step = p[1], last = p[3] - 1, behind = p[4];
    const uint32_t stride = (uint32_t)p[2];
    uint64_t at = p[0], wrong = 0;
    EACH_OF(n) {
        const int64_t k = index[i];
        const uint64_t place = (uint64_t)k + ((uint64_t)(k < 0 ? -1 : 0) & behind);
        wrong |= place | (last - place); /* the sign says so */
        d[i] = (int64_t)(at + (uint64_t)(uint32_t)place * stride);
        at += step;
    }
    return (int64_t)wrong >= 0;
}

bool rlx_place_strip(int64_t *d, const int64_t *index, const uint64_t *p, size_t n) { return place_strip(d, index, p, n); }

void rlx_iota_strip(int64_t *d, int64_t start, int64_t step, size_t n)
{
    for (size_t i = 0; i < n; i++)
        d[i] = (int64_t)((uint64_t)start + i * (uint64_t)step);
}

/* ---- memory --------------------------------------------------------------------------------- */

#define LOAD(name, T, R, from)                                                                    \
    static void load_##name(void *dp, const void *mp, int64_t stride, size_t n)                   \
    {                                                                                             \
        R *d = dp;                                                                                \
        const T *p = mp;                                                                          \
        EACH_OF(n) {                                                                              \
            T v = p[i];                                                                           \
            d[i] = (R)(from);                                                                     \
        }                                                                                         \
    }
#define STORE(name, T, R, to)                                                                     \
    static void store_##name(void *mp, int64_t stride, const void *ap, size_t n)                  \
    {                                                                                             \
        T *p = mp;                                                                                \
        const R *a = ap;                                                                          \
        EACH_OF(n) {                                                                              \
            R v = a[i];                                                                           \
            p[i] = (T)(to);                                                                       \
        }                                                                                         \
    }
/* Those that do not lie side by side, one after the other: vectors of them would be put together element by element, which takes as
 * long and many times the code. Addresses are numbers: behind the last element there need not be one. */
#define LOAD_APART(name, T, R, from)                                                              \
    static void load_strided_##name(void *dp, const void *mp, int64_t stride, size_t n)           \
    {                                                                                             \
        R *d = dp;                                                                                \
        uintptr_t at = (uintptr_t)mp, by = (uintptr_t)stride * sizeof(T);                         \
        for (size_t i = 0; i < n; i++, at += by) {                                                \
            RLX_UNKNOWN_VALUE(at);                                                                \
            T v = *(const T *)at;                                                                 \
            d[i] = (R)(from);                                                                     \
        }                                                                                         \
    }                                                                                             \
    static int64_t load_each_##name(void *dp, const void *mp, const int64_t *at,                  \
                                    const int32_t *mask, size_t n, int64_t count)                 \
    {                                                                                             \
        R *d = dp;                                                                                \
        const T *p = mp;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                          \
            if (mask && !mask[i]) {                                                               \
                d[i] = 0;                                                                         \
                continue;                                                                         \
            }                                                                                     \
            if (RLX_UNLIKELY((uint64_t)at[i] >= (uint64_t)count))                                 \
                return (int64_t)i;                                                                \
            T v = p[at[i]];                                                                       \
            d[i] = (R)(from);                                                                     \
        }                                                                                         \
        return -1;                                                                                \
    }
#define STORE_APART(name, T, R, to)                                                               \
    static void store_strided_##name(void *mp, int64_t stride, const void *ap, size_t n)          \
    {                                                                                             \
        uintptr_t at = (uintptr_t)mp, by = (uintptr_t)stride * sizeof(T);                         \
        const R *a = ap;                                                                          \
        for (size_t i = 0; i < n; i++, at += by) {                                                \
            RLX_UNKNOWN_VALUE(at);                                                                \
            R v = a[i];                                                                           \
            *(T *)at = (T)(to);                                                                   \
        }                                                                                         \
    }                                                                                             \
    static int64_t store_each_##name(void *mp, const int64_t *at, const int32_t *mask,            \
                                     const void *ap, size_t n, int64_t count)                     \
    {                                                                                             \
        T *p = mp;                                                                                \
        const R *a = ap;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                          \
            if (mask && !mask[i])                                                                 \
                continue;                                                                         \
            if (RLX_UNLIKELY((uint64_t)at[i] >= (uint64_t)count))                                 \
                return (int64_t)i;                                                                \
            R v = a[i];                                                                           \
            p[at[i]] = (T)(to);                                                                   \
        }                                                                                         \
        return -1;                                                                                \
    }
#define LOADS(name, T, R, from) LOAD(name, T, R, from) LOAD_APART(name, T, R, from)
#define STORES(name, T, R, to) STORE(name, T, R, to) STORE_APART(name, T, R, to)

#define REG_I32 int32_t
#define REG_I64 int64_t
/* What is stored, and all that has 64 bits, is the same with and without a sign. */
#define store_U8 store_I8
#define store_strided_U8 store_strided_I8
#define store_each_U8 store_each_I8
#define store_U16 store_I16
#define store_strided_U16 store_strided_I16
#define store_each_U16 store_each_I16
#define load_U64 load_I64
#define load_strided_U64 load_strided_I64
#define load_each_U64 load_each_I64
#define store_U64 store_I64
#define store_strided_U64 store_strided_I64
#define store_each_U64 store_each_I64
#define INTEGER(name, elem, text, code, bits, klass, C, npy) INTEGER_##code##_##bits(elem, C, REG_##klass)
#define LOADS_SMALL(elem, C, R)                                                  \
    static void load_##elem(void *dp, const void *mp, int64_t stride, size_t n)  \
    {                                                                            \
        rlx_micro_widen_##elem(dp, mp, (int64_t)n);                              \
    }                                                                            \
    LOAD_APART(elem, C, R, v)
#define INTEGER_0_8(elem, C, R) LOADS_SMALL(elem, C, R) RLX_CLONES STORES(elem, C, R, v)
#define INTEGER_0_16(elem, C, R) LOADS_SMALL(elem, C, R) STORES(elem, C, R, v)
#define INTEGER_0_32(elem, C, R) LOADS(elem, C, R, v) STORES(elem, C, R, v)
#define INTEGER_0_64(elem, C, R) LOADS(elem, C, R, v) STORES(elem, C, R, v)
#define INTEGER_1_1(elem, C, R) LOADS(elem, C, R, v != 0) RLX_CLONES STORES(elem, C, R, v != 0)
#define INTEGER_1_8(elem, C, R) LOADS_SMALL(elem, C, R)
#define INTEGER_1_16(elem, C, R) LOADS_SMALL(elem, C, R)
#define INTEGER_1_32(elem, C, R) LOADS(elem, C, R, v) STORES(elem, C, R, v)
#define INTEGER_1_64(elem, C, R)
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    static void load_##elem(void *dp, const void *mp, int64_t stride, size_t n)   \
    {                                                                             \
        rlx_micro_widen_##elem(dp, mp, (int64_t)n);                               \
    }                                                                             \
    static void store_##elem(void *mp, int64_t stride, const void *ap, size_t n)  \
    {                                                                             \
        (void)narrow_##function(mp, ap, n);                                       \
    }                                                                             \
    LOAD_APART(elem, C, float, rlx_##function##_to_float(v))                      \
    STORE_APART(elem, C, float, rlx_float_to_##function(v))
#define REAL(name, elem, text, code, bits, klass, C, greatest, npy) LOADS(elem, C, C, v) STORES(elem, C, C, v)
#include "base/dtype.def"

#define ROW(E)                                                                   \
    [RLX_ELEM_##E] = { load_##E, load_strided_##E, store_##E, store_strided_##E, \
                       load_each_##E, store_each_##E },
const rlx_access_row rlx_access_fns[RLX_ELEM_COUNT] = {
#define INTEGER(name, elem, ...) ROW(elem)
#define NARROW(name, elem, ...) ROW(elem)
#define REAL(name, elem, ...) ROW(elem)
#include "base/dtype.def"
};
