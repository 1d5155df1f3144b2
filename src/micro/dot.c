/* dot.c: sums of products of 8-bit integers that lie in any way, and panels of them, for every machine. */
/* built for speed */
#include <string.h>

#include "micro/micro_int.h"

bool rlx_micro_is_in_fours(const rlx_micro_sum *r)
{
    return r->b_fours && r->depth == RLX_PANEL_FOURS && r->a_k == 1 && r->b_k == 1 && r->a_j == 0 &&
           r->b_i == 0 && (r->acc_j == 1 || r->columns == 1);
}

/* sign: 128 where the byte has one, else 0. */
static int32_t value_of(uint8_t byte, int32_t sign) { return (byte ^ sign) - sign; }

void rlx_micro_dot_any(const rlx_micro_sum *r)
{
    int32_t sign_a = r->a_signed ? 128 : 0, sign_b = r->b_signed ? 128 : 0;
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j++) {
            uint32_t *acc = (uint32_t *)r->acc + i * r->acc_i + j * r->acc_j, s = r->fresh ? 0 : *acc;
            const uint8_t *a = (const uint8_t *)r->a + i * r->a_i + j * r->a_j,
                          *b = (const uint8_t *)r->b + i * r->b_i + j * r->b_j;
            for (int64_t t = 0; t < r->turns; t++, a += r->a_t, b += r->b_t)
                RLX_ROLLED for (int64_t k = 0; k < r->depth; k++)
                    s += (uint32_t)(value_of(a[k * r->a_k], sign_a) * value_of(b[k * r->b_k], sign_b));
            *acc = s;
        }
}

void rlx_micro_add_dots(const rlx_micro_sum *r, int64_t row, int64_t rows, int64_t column, const uint32_t *sums,
                        int64_t width)
{
    int64_t n = rlx_micro_less(r->columns - column, width);
    for (int64_t i = 0; i < rows; i++, sums += width) {
        uint32_t *acc = (uint32_t *)r->acc + (row + i) * r->acc_i + column;
        if (r->fresh)
            memcpy(acc, sums, (size_t)n * sizeof *acc);
        else
            RLX_INDEPENDENT for (int64_t j = 0; j < n; j++) acc[j] += sums[j];
    }
}

/* ---- panels --------------------------------------------------------------------------------- */

typedef RLX_VECTOR(uint8_t, 16) bytes_16;
#define ZIP_LOW(a, b) \
    RLX_SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_HIGH(a, b) \
    RLX_SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
typedef RLX_VECTOR(uint16_t, 16) pairs_8;
#define ZIP_PAIRS_LOW(a, b) RLX_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_PAIRS_HIGH(a, b) RLX_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)

/* Sixteen lanes that stand side by side, of four rows. */
RLX_ALWAYS_INLINE void zip_16(uint32_t *d, const uint8_t *s, int64_t step)
{
    bytes_16 a = *(const bytes_16 *)s, b = *(const bytes_16 *)(s + step),
             c = *(const bytes_16 *)(s + 2 * step), e = *(const bytes_16 *)(s + 3 * step);
    pairs_8 ab = (pairs_8)ZIP_LOW(a, b), ce = (pairs_8)ZIP_LOW(c, e),
            ab_high = (pairs_8)ZIP_HIGH(a, b), ce_high = (pairs_8)ZIP_HIGH(c, e);
    *(pairs_8 *)d = ZIP_PAIRS_LOW(ab, ce);
    *(pairs_8 *)(d + 4) = ZIP_PAIRS_HIGH(ab, ce);
    *(pairs_8 *)(d + 8) = ZIP_PAIRS_LOW(ab_high, ce_high);
    *(pairs_8 *)(d + 12) = ZIP_PAIRS_HIGH(ab_high, ce_high);
}

/* Words that are there as they are. */
static void pack_words(const rlx_fours_run *r, int64_t words)
{
    for (int64_t l = 0; l < r->lanes; l++) {
        const uint8_t *s = r->s + l * r->stride;
        uint32_t *d = r->d + l;
        for (int64_t q = 0; q < words; q++, s += 4, d += r->d_step)
            memcpy(d, s, sizeof *d);
    }
}

/* Lanes [from, lanes) of words [first, end), byte by byte. */
RLX_NOINLINE static void pack_bytes(const rlx_fours_run *r, int64_t from, int64_t first, int64_t end)
{
    const int64_t step = r->step;
    for (int64_t q = first; q < end; q++) {
        const uint8_t *s = r->s + from * r->stride + 4 * q * step;
        const int64_t left = r->count - 4 * q;
        uint8_t *d = (uint8_t *)(r->d + q * r->d_step + from);
        RLX_ROLLED for (int64_t l = from; l < r->lanes; l++, s += r->stride, d += RLX_PANEL_FOURS)
        {
            d[0] = s[0];
            d[1] = left > 1 ? s[step] : 0;
            d[2] = left > 2 ? s[2 * step] : 0;
            d[3] = left > 3 ? s[3 * step] : 0;
        }
    }
}

static void pack_run(const rlx_fours_run *r)
{
    int64_t whole = r->count / 4, beside = r->stride == 1 && r->lanes >= 16 ? r->lanes : 0;
    if (r->step == 1)
        pack_words(r, whole);
    else {
        for (int64_t q = 0; q < whole && beside; q++)
            for (int64_t l = 0; l < beside; l += 16) {
                int64_t at = rlx_micro_less(l, beside - 16); /* the last sixteen end where the run does */
                zip_16(r->d + q * r->d_step + at, r->s + 4 * q * r->step + at, r->step);
            }
        pack_bytes(r, beside, 0, whole);
    }
    pack_bytes(r, 0, whole, (r->count + 3) / 4);
}

static void pack_lanes(const rlx_micro_pack *p, rlx_fours_run_fn *pack, uint32_t *d, int64_t first, int64_t lanes)
{
    int64_t at = p->start + first, high = at / p->width, low = at % p->width;
    rlx_fours_run r = { .stride = p->lane_stride[1],
                        .count = p->depth[0],
                        .step = p->depth_stride[0],
                        .d_step = p->panel * p->depth[1] * p->depth[2] };
    for (int64_t l = 0; l < lanes; l += r.lanes, high++, low = 0) {
        const uint8_t *lane = (const uint8_t *)p->src + high * p->lane_stride[0] + low * r.stride;
        r.lanes = rlx_micro_less(p->width - low, lanes - l);
        for (int64_t i = 0; i < p->depth[1]; i++)
            for (int64_t j = 0; j < p->depth[2]; j++) {
                r.d = d + l + (i * p->depth[2] + j) * p->panel;
                r.s = lane + i * p->depth_stride[1] + j * p->depth_stride[2];
                pack(&r);
            }
    }
}

/* One of it for all, though this file knows what it calls. */
RLX_NOINLINE void rlx_micro_pack_fours_by(const rlx_micro_pack *p, rlx_fours_run_fn *pack)
{
    int64_t w = p->panel, steps = (p->depth[0] + 3) / 4 * p->depth[1] * p->depth[2];
    uint32_t *d = p->dst;
    for (int64_t l = 0; !l || l < p->lanes; l += w, d += steps * w) {
        int64_t n = rlx_micro_less(p->lanes - l, w);
        pack_lanes(p, pack, d, l, n);
        for (int64_t k = 0; k < steps && n < w; k++)
            memset(d + k * w + n, 0, (size_t)(w - n) * sizeof *d);
    }
}

void rlx_micro_pack_fours(const rlx_micro_pack *p) { rlx_micro_pack_fours_by(p, pack_run); }
