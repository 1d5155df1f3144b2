/* unpack.c: fields of bits as floats, for every machine. Fields are at most 16 bits without a sign or whole bytes with one, so
 * that every one is a float. */
/* built for speed */
#include "base/base.h"
#include "micro/micro_int.h"

enum { RUN = 32 };

/* A word for each of n lanes: a row for each of its fields. */
RLX_ALWAYS_INLINE void unpack_lanes(const rlx_micro_unpack *u, float *d, const uint32_t *w,
                                    const float *s, int64_t n)
{
    for (int64_t v = 0; v < u->extent[2]; v++, d += u->dst_stride[2]) {
        uint32_t by = (uint32_t)(v * u->bits), mask = u->mask;
        float zero = u->zero;
        RLX_INDEPENDENT for (int64_t l = 0; l < n; l++) d[l] =
            ((float)(int32_t)((w[l] >> by) & mask) - zero) * s[l];
    }
}

RLX_CLONES_512
static void unpack_run(const rlx_micro_unpack *u, float *d, const uint32_t *w, const float *s,
                       int64_t n)
{
    if (n == RUN)
        unpack_lanes(u, d, w, s, RUN);
    else
        unpack_lanes(u, d, w, s, n);
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

/* The words of some rows further on begin to come: rows are far from each other. */
enum { AHEAD = 12 };
static void fetch(const rlx_micro_unpack *u, int64_t row)
{
    int64_t g = row / u->extent[1], i = row % u->extent[1], n = rlx_micro_less(u->extent[3], 2 * RUN);
    const char *words = u->words;
    size_t bytes = rlx_kernel_elems[u->elem].bytes;
    if (g >= u->extent[0])
        return;
    words += (g * u->word_stride[0] + i * u->word_stride[1]) * (int64_t)bytes;
    for (int64_t at = 0; at < n * (int64_t)bytes; at += 64)
        RLX_FETCH(words + at);
}

void rlx_micro_unpack_fields(const rlx_micro_unpack *u)
{
    int32_t room[RUN];
    for (int64_t g = 0; g < u->extent[0]; g++)
        for (int64_t i = 0; i < u->extent[1]; i++, fetch(u, g * u->extent[1] + i + AHEAD))
            for (int64_t l = 0; l < u->extent[3]; l += RUN) {
                int64_t n = rlx_micro_less(u->extent[3] - l, RUN);
                unpack_run(u, u->dst + g * u->dst_stride[0] + i * u->dst_stride[1] + l,
                           words_at(u, g * u->word_stride[0] + i * u->word_stride[1] + l, n, room),
                           u->scales + g * u->scale_stride + l, n);
            }
}
