/* narrow.h: the narrow floats of base/half.def without a branch, the same numbers: what compilers make vectors of, and vectors. */
#ifndef RLX_FORMAT_NARROW_H
#define RLX_FORMAT_NARROW_H

#include "format/kernel_math.h"

RLX_ALWAYS_INLINE float rlx_widen_half(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13,
             greatest = magnitude >= 0x0f800000u ? 0x7f800000u : 0; /* infinities and NaN */
    /* a power of two less than it should be: exact, and normal where the half is not */
    float f = rlx_bits_float(magnitude) * 0x1p112f;
    return rlx_bits_float(rlx_float_bits(f) | greatest | (uint32_t)(h & 0x8000) << 16);
}
RLX_ALWAYS_INLINE float rlx_widen_bfloat(uint16_t b) { return rlx_bits_float((uint32_t)b << 16); }
RLX_ALWAYS_INLINE float rlx_widen_e5m2(uint8_t b) { return rlx_widen_half((uint16_t)(b << 8)); }
#define rlx_widen_e4m3fn rlx_e4m3fn_to_float

/* Four at a time: vectors of 16 bytes, which every machine has. */
enum { RLX_FOUR_LANES = 4 };
typedef RLX_VECTOR(uint32_t, 16) rlx_four_words;
typedef RLX_VECTOR(int32_t, 16) rlx_four_ints;
typedef RLX_VECTOR(float, 16) rlx_four_floats;

RLX_ALWAYS_INLINE rlx_four_ints rlx_choose_four(rlx_four_ints yes, rlx_four_ints a, rlx_four_ints b) { return (a & yes) | (b & ~yes); }

/* The bits of halves, to nearest even, where the host rounds so: a power of two is added whose last place is that of the half, the smallest
 * normal one's or its own. What is counted in such places carries over into the exponent by itself. */
RLX_ALWAYS_INLINE rlx_four_ints rlx_narrow_half_four(rlx_four_ints u)
{
    const int32_t least = 0x38800000, infinity = 0x47800000; /* the first that is normal; 65536 */
    rlx_four_ints magnitude = u & 0x7fffffff, nan = (rlx_four_ints)(magnitude > 0x7f800000), payload = magnitude >> 13 & 0x3ff,
                  f = rlx_choose_four((rlx_four_ints)(magnitude < infinity), magnitude, (u ^ u) + infinity), power = f & 0x7f800000;
    power = rlx_choose_four((rlx_four_ints)(power > least), power, (u ^ u) + least);
    rlx_four_ints far = power + (13 << 23), places = (rlx_four_ints)((rlx_four_floats)f + (rlx_four_floats)far) - far;
    payload |= (rlx_four_ints)(payload == 0) & 0x200;
    return (places + ((power - (113 << 23)) >> 13)) | (payload & nan) | (u >> 16 & 0x8000);
}
RLX_ALWAYS_INLINE rlx_four_ints rlx_narrow_bfloat_four(rlx_four_ints u)
{
    rlx_four_words bits = (rlx_four_words)u, kept = bits >> 16;
    rlx_four_ints nan = (rlx_four_ints)kept | ((rlx_four_ints)((kept & 0x7f) == 0) & 0x40);
    return rlx_choose_four((u & 0x7fffffff) > 0x7f800000, nan, (rlx_four_ints)((bits + 0x7fffu + (kept & 1)) >> 16));
}
#endif
