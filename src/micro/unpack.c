/* unpack.c: fields of bits as floats, for every machine. Fields are at most 16 bits without a sign or whole bytes with one, so
 * that every one is a float. */
/* built for speed */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "micro/micro_int.h"

enum { RUN = 32 };

/* 2^23 + field: the last bits of such a float are a number; no conversion. */
enum { UNIT = 0x4b000000 };
RLX_ALWAYS_INLINE float beyond_unit(uint32_t field)
{
    uint32_t bits = field | UNIT;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* A word for each of RUN lanes: a row for each of its fields. */
RLX_CLONES_512
static void unpack_run(const rlx_micro_unpack *u, float *d, const uint32_t *w, const float *s)
{
    const uint32_t mask = u->mask;
    const float zero = 0x1p23f + u->zero; /* exact, as is the distance of two of them */
    for (int64_t v = 0; v < u->extent[2]; v++, d += u->dst_stride[2]) {
        uint32_t by = (uint32_t)(v * u->bits);
        RLX_INDEPENDENT for (int l = 0; l < RUN; l++) d[l] =
            (beyond_unit((w[l] >> by) & mask) - zero) * s[l];
    }
}

/* The same for any number of lanes, words with a sign, and any zero. */
static void unpack_lanes(const rlx_micro_unpack *u, float *d, const uint32_t *w, const float *s,
                         int64_t n)
{
    for (int64_t v = 0; v < u->extent[2]; v++, d += u->dst_stride[2]) {
        uint32_t by = (uint32_t)(v * u->bits);
        RLX_ROLLED RLX_INDEPENDENT for (int64_t l = 0; l < n; l++) d[l] =
            ((float)(int32_t)(w[l] >> by & u->mask) - u->zero) * s[l];
    }
}

/* Words [at, at + n): there, or widened in `room`. */
static const uint32_t *words_at(const rlx_micro_unpack *u, int64_t at, int64_t n, int32_t *room)
{
    if (u->elem == RLX_ELEM_U8)
        rlx_micro_widen_U8(room, (const uint8_t *)u->words + at, n);
    else if (u->elem == RLX_ELEM_I8)
        rlx_micro_widen_I8(room, (const int8_t *)u->words + at, n);
    else
        return (const uint32_t *)u->words + at;
    return (const uint32_t *)room;
}

/* What stands behind a row of words begins to come: it is often what is unpacked next. */
static void fetch_behind(const rlx_micro_unpack *u, int64_t at)
{
    int64_t bytes = (int64_t)rlx_kernel_elems[u->elem].bytes;
    uintptr_t next = (uintptr_t)u->words + (uintptr_t)((at + u->extent[3]) * bytes);
    for (int64_t i = 0; i < rlx_micro_less(u->extent[3] * bytes, 1024); i += 64)
        RLX_PREFETCH(next + (uintptr_t)i);
}

void rlx_micro_unpack_fields(const rlx_micro_unpack *u)
{
    int32_t room[RUN];
    bool plain = u->mask == UINT32_MAX || !(fabsf(u->zero) <= 0x1p20f);
    for (int64_t g = 0; g < u->extent[0]; g++)
        for (int64_t i = 0; i < u->extent[1]; i++) {
            fetch_behind(u, g * u->word_stride[0] + i * u->word_stride[1]);
            for (int64_t l = 0; l < u->extent[3]; l += RUN) {
                int64_t n = rlx_micro_less(u->extent[3] - l, RUN);
                float *d = u->dst + g * u->dst_stride[0] + i * u->dst_stride[1] + l;
                const float *s = u->scales + g * u->scale_stride + l;
                const uint32_t *w =
                    words_at(u, g * u->word_stride[0] + i * u->word_stride[1] + l, n, room);
                if (n == RUN && !plain)
                    unpack_run(u, d, w, s);
                else
                    unpack_lanes(u, d, w, s, n);
            }
        }
}
