/* generic.c: copies and panels in plain C, for every machine. */
/* built for speed */
#include <string.h>

#include "base/base.h"
#include "micro/micro_int.h"

/* ---- boxes ---------------------------------------------------------------------------------- */

#define COPY(name, D, S, expr)                                                                 \
    static void copy_##name(const rlx_micro_box *b)                                            \
    {                                                                                          \
        int64_t e0 = b->extent[0], e1 = b->extent[1], e2 = b->extent[2], e3 = b->extent[3],    \
                to = b->dst_stride[3], from = b->src_stride[3];                                \
        for (int64_t i = 0; i < e0; i++)                                                       \
            for (int64_t j = 0; j < e1; j++)                                                   \
                for (int64_t k = 0; k < e2; k++) {                                             \
                    D *d = (D *)b->dst + i * b->dst_stride[0] + j * b->dst_stride[1] +         \
                           k * b->dst_stride[2];                                               \
                    const S *s = (const S *)b->src + i * b->src_stride[0] +                    \
                                 j * b->src_stride[1] + k * b->src_stride[2];                  \
                    if (to == 1 && from == 1) {                                                \
                        RLX_INDEPENDENT for (int64_t l = 0; l < e3; l++)                       \
                        {                                                                      \
                            S v = s[l];                                                        \
                            d[l] = expr;                                                       \
                        }                                                                      \
                    } else {                                                                   \
                        RLX_INDEPENDENT for (int64_t l = 0; l < e3; l++)                       \
                        {                                                                      \
                            S v = s[l * from];                                                 \
                            d[l * to] = expr;                                                  \
                        }                                                                      \
                    }                                                                          \
                }                                                                              \
    }

/* ---- panels --------------------------------------------------------------------------------- */

/* Lanes [from, from + count) of one panel: runs in which the high digit of the lane's number stands still. */
#define PACK(name, D, S, expr)                                                                 \
    static void pack_lanes_##name(const rlx_micro_pack *p, D *dst, int64_t first, int64_t n)   \
    {                                                                                          \
        int64_t w = p->panel;                                                                  \
        for (int64_t l = 0; l < n;) {                                                          \
            int64_t at = p->start + first + l, high = at / p->width, low = at % p->width,      \
                    run = p->width - low < n - l ? p->width - low : n - l,                     \
                    stride = p->lane_stride[1];                                                \
            const S *lane = (const S *)p->src + high * p->lane_stride[0] + low * stride;       \
            D *d = dst + l;                                                                    \
            for (int64_t i = 0; i < p->depth[0]; i++)                                          \
                for (int64_t j = 0; j < p->depth[1]; j++) {                                    \
                    const S *s = lane + i * p->depth_stride[0] + j * p->depth_stride[1];       \
                    for (int64_t k = 0; k < p->depth[2]; k++, s += p->depth_stride[2], d += w) \
                        for (int64_t c = 0; c < run; c++) {                                    \
                            S v = s[c * stride];                                               \
                            d[c] = expr;                                                       \
                        }                                                                      \
                }                                                                              \
            l += run;                                                                          \
        }                                                                                      \
    }                                                                                          \
    static void pack_##name(const rlx_micro_pack *p)                                           \
    {                                                                                          \
        int64_t w = p->panel, steps = p->depth[0] * p->depth[1] * p->depth[2];                 \
        D *dst = p->dst;                                                                       \
        for (int64_t l = 0; !l || l < p->lanes; l += w, dst += steps * w) {                          \
            int64_t n = p->lanes - l < w ? p->lanes - l : w;                                   \
            pack_lanes_##name(p, dst, l, n);                                                   \
            for (int64_t k = 0; k < steps && n < w; k++)                                       \
                memset(dst + k * w + n, 0, (size_t)(w - n) * sizeof *dst);                     \
        }                                                                                      \
    }

#define BOTH(name, D, S, expr) COPY(name, D, S, expr) PACK(name, D, S, expr)
BOTH(1, uint8_t, uint8_t, v)
BOTH(2, uint16_t, uint16_t, v)
BOTH(4, uint32_t, uint32_t, v)
BOTH(8, uint64_t, uint64_t, v)
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    BOTH(elem, float, C, rlx_##function##_to_float(v))
#include "base/dtype.def"
BOTH(I8, int32_t, int8_t, v)
BOTH(U8, int32_t, uint8_t, v)
BOTH(I16, int32_t, int16_t, v)
BOTH(U16, int32_t, uint16_t, v)

/* What rlx_kernel_copies says: elements keep their bits, narrow floats may become float32, small integers int32. */
#define SMALL(table)                                      \
    [RLX_ELEM_I32][RLX_ELEM_I8] = table##_I8,             \
    [RLX_ELEM_I32][RLX_ELEM_U8] = table##_U8,             \
    [RLX_ELEM_I32][RLX_ELEM_I16] = table##_I16,           \
    [RLX_ELEM_I32][RLX_ELEM_U16] = table##_U16,
#define SAME_1(table, name)
#define SAME_8(table, name) [RLX_ELEM_##name][RLX_ELEM_##name] = table##_1,
#define SAME_16(table, name) [RLX_ELEM_##name][RLX_ELEM_##name] = table##_2,
#define SAME_32(table, name) [RLX_ELEM_##name][RLX_ELEM_##name] = table##_4,
#define SAME_64(table, name) [RLX_ELEM_##name][RLX_ELEM_##name] = table##_8,

rlx_micro_copy_fn *const rlx_micro_copies[RLX_ELEM_COUNT][RLX_ELEM_COUNT] = {
#define INTEGER(name, elem, text, code, bits, ...) SAME_##bits(copy, elem)
#define NARROW(name, elem, text, code, bits, ...) \
    SAME_##bits(copy, elem)[RLX_ELEM_F32][RLX_ELEM_##elem] = copy_##elem,
#define REAL(name, elem, text, code, bits, ...) SAME_##bits(copy, elem)
#include "base/dtype.def"
    SMALL(copy)
};
rlx_micro_pack_fn *const rlx_micro_packs[RLX_ELEM_COUNT][RLX_ELEM_COUNT] = {
#define INTEGER(name, elem, text, code, bits, ...) SAME_##bits(pack, elem)
#define NARROW(name, elem, text, code, bits, ...) \
    SAME_##bits(pack, elem)[RLX_ELEM_F32][RLX_ELEM_##elem] = pack_##elem,
#define REAL(name, elem, text, code, bits, ...) SAME_##bits(pack, elem)
#include "base/dtype.def"
    SMALL(pack)
};
