/* halves.c: float16 by the instructions of F16C, which round to nearest whatever the machine is set to, and keep small numbers; by those
 * of aarch64, which do so in the environment that kernels run in. */
#include "micro/micro_int.h"

#if defined(RLX_HAS_TARGETS)
#include <immintrin.h>

/* All machines with AVX2 have F16C, and not all compilers can ask for that. */
#define FITS() RLX_CPU_HAS("avx2")

RLX_TARGET("avx,f16c") static size_t narrow_run(uint16_t *d, const float *a, size_t n)
{
    size_t i = 0;
    for (; n - i >= RLX_HALVES; i += RLX_HALVES) {
        __m256 x = _mm256_loadu_ps(a + i);
        if (_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)))
            break;
        _mm_storeu_si128((__m128i *)(void *)(d + i), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    return i;
}

RLX_TARGET("avx,f16c") static size_t widen_run(float *d, const uint16_t *s, size_t n)
{
    size_t i = 0;
    for (; n - i >= RLX_HALVES; i += RLX_HALVES) {
        __m256 x = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(s + i)));
        if (_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)))
            break;
        _mm256_storeu_ps(d + i, x);
    }
    return i;
}
#elif defined(RLX_NEON_SET)
#include <arm_neon.h>

#define FITS() true

static bool has_nan(float32x4_t low, float32x4_t high)
{
    return vminvq_u32(vandq_u32(vceqq_f32(low, low), vceqq_f32(high, high))) == 0;
}

static size_t narrow_run(uint16_t *d, const float *a, size_t n)
{
    size_t i = 0;
    for (; n - i >= RLX_HALVES; i += RLX_HALVES) {
        float32x4_t low = vld1q_f32(a + i), high = vld1q_f32(a + i + RLX_HALVES / 2);
        if (has_nan(low, high))
            break;
        vst1q_u16(d + i, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(low), high)));
    }
    return i;
}

static size_t widen_run(float *d, const uint16_t *s, size_t n)
{
    size_t i = 0;
    for (; n - i >= RLX_HALVES; i += RLX_HALVES) {
        float16x8_t x = vreinterpretq_f16_u16(vld1q_u16(s + i));
        float32x4_t low = vcvt_f32_f16(vget_low_f16(x)), high = vcvt_high_f32_f16(x);
        if (has_nan(low, high))
            break;
        vst1q_f32(d + i, low);
        vst1q_f32(d + i + RLX_HALVES / 2, high);
    }
    return i;
}
#else
#define FITS() false
static size_t narrow_run(uint16_t *d, const float *a, size_t n) { return 0; }
static size_t widen_run(float *d, const uint16_t *s, size_t n) { return 0; }
#endif

size_t rlx_micro_narrow_halves(uint16_t *d, const float *a, size_t n) { return FITS() ? narrow_run(d, a, n) : 0; }
size_t rlx_micro_widen_halves(float *d, const uint16_t *s, size_t n) { return FITS() ? widen_run(d, s, n) : 0; }
