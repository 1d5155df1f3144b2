/* widen.c: runs of elements of less bits than what is computed with. */
/* built for speed */
#include <string.h>

#include "base/base.h"
#include "micro/micro_int.h"

/* The same numbers as those of base/half.def, without a branch, so that several are widened at once. */
RLX_ALWAYS_INLINE float float_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
RLX_ALWAYS_INLINE float widen_half(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13,
             greatest = magnitude >= 0x0f800000u ? 0x7f800000u : 0; /* infinities and NaN */
    /* a power of two less than it should be: exact, and normal where the half is not */
    float f = float_of_bits(magnitude) * 0x1p112f;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return float_of_bits(bits | greatest | (uint32_t)(h & 0x8000) << 16);
}
RLX_ALWAYS_INLINE float widen_bfloat(uint16_t b) { return float_of_bits((uint32_t)b << 16); }
RLX_ALWAYS_INLINE float widen_e5m2(uint8_t b) { return widen_half((uint16_t)(b << 8)); }
#define widen_e4m3fn rlx_e4m3fn_to_float

#define WIDEN(name, D, S, expr)                                                \
    void rlx_micro_widen_##name(D *d, const S *s, int64_t n)                   \
    {                                                                          \
        RLX_INDEPENDENT for (int64_t i = 0; i < n; i++)                        \
        {                                                                      \
            S v = s[i];                                                        \
            d[i] = expr;                                                       \
        }                                                                      \
    }
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    WIDEN(elem, float, C, widen_##function(v))
#include "base/dtype.def"
WIDEN(I8, int32_t, int8_t, v)
WIDEN(U8, int32_t, uint8_t, v)
WIDEN(I16, int32_t, int16_t, v)
WIDEN(U16, int32_t, uint16_t, v)
