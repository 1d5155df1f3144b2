/* crc32.c: the checksum of zip files, by carry-less products where the CPU has them; zlib's is a
 * third as fast. */
#include "cli/cli.h"

#include <zlib.h>

#if defined(RLX_HAS_TARGETS)
#include <immintrin.h>

#define FOLDS RLX_TARGET("pclmul,sse2")

/* The bytes of `x` moved away from the end by as many bytes as `by` stands for (x to that power
 * modulo the polynomial, bits reversed), with `next` in their place. */
FOLDS static inline __m128i fold(__m128i x, __m128i by, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

FOLDS static inline __m128i load(const unsigned char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* `size` is at least 64. What is left of folding are 16 bytes with the same remainder. */
FOLDS static uint32_t by_products(const unsigned char *p, size_t size)
{
    const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4),
                  by_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(-1)), b = load(p + 16), c = load(p + 32),
            d = load(p + 48);
    for (p += 64, size -= 64; size >= 64; p += 64, size -= 64) {
        a = fold(a, by_64, load(p));
        b = fold(b, by_64, load(p + 16));
        c = fold(c, by_64, load(p + 32));
        d = fold(d, by_64, load(p + 48));
    }
    a = fold(fold(fold(a, by_16, b), by_16, c), by_16, d);
    for (; size >= 16; p += 16, size -= 16)
        a = fold(a, by_16, load(p));
    unsigned char rest[16];
    _mm_storeu_si128((__m128i *)(void *)rest, a);
    return (uint32_t)crc32_z(crc32_z(0xffffffff, rest, sizeof rest), p, size);
}

uint32_t cli_crc32(const unsigned char *data, size_t size)
{
    return size >= 64 && RLX_CPU_HAS("pclmul") ? by_products(data, size)
                                               : (uint32_t)crc32_z(0, data, size);
}

#else

uint32_t cli_crc32(const unsigned char *data, size_t size)
{
    return (uint32_t)crc32_z(0, data, size);
}

#endif
