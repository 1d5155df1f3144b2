/* repeat.c: rows whose elements are repeated, stand backwards, or lie between those of a few other rows, for every machine. */
/* built for size */
#include <string.h>

#include "micro/micro_int.h"

typedef RLX_VECTOR(uint32_t, 16) u32x4;
typedef RLX_VECTOR(uint8_t, 16) bytes_16;

/* One element, as often as fills so many bytes; as many as 16 of them at least. */
static void fill_run(char *d, const char *one, size_t size, size_t bytes)
{
    bytes_16 all = { 0 };
    for (size_t i = 0; i < sizeof all; i++)
        ((char *)&all)[i] = one[i & (size - 1)]; /* sizes are powers of two */
    for (size_t i = 0; i + sizeof all < bytes; i += sizeof all)
        *(bytes_16 *)(d + i) = all;
    *(bytes_16 *)(d + bytes - sizeof all) = all;
}

/* d[2 * k] = d[2 * k + 1] = s[k] for k < n */
static void move_twice(uint32_t *d, const uint32_t *s, int64_t n)
{
    for (; n >= 4; n -= 4, s += 4, d += 8) {
        u32x4 v = *(const u32x4 *)s;
        *(u32x4 *)d = RLX_SHUFFLE(v, v, 0, 0, 1, 1);
        *(u32x4 *)(d + 4) = RLX_SHUFFLE(v, v, 2, 2, 3, 3);
    }
    for (; n > 0; n--, s++, d += 2)
        d[0] = d[1] = *s;
}

/* d[k] = s[-k] for k < n */
static void move_backward(uint32_t *d, const uint32_t *s, int64_t n)
{
    for (; n >= 4; n -= 4, s -= 4, d += 4) {
        u32x4 v = *(const u32x4 *)(s - 3);
        *(u32x4 *)d = RLX_SHUFFLE(v, v, 3, 2, 1, 0);
    }
    for (; n > 0; n--)
        *d++ = *s--;
}

/* Four pixels of up to four bytes: those of the first channel in the first word, and so on. */
#define ALTERNATE 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
RLX_ALWAYS_INLINE u32x4 load_bytes(const char *s, int64_t pixel)
{
    bytes_16 at[4];
    RLX_UNROLL for (int i = 0; i < 4; i++, s += pixel) {
        uint32_t word;
        memcpy(&word, s, 4);
        at[i] = (bytes_16)(u32x4){ word };
    }
    at[0] = RLX_SHUFFLE(at[0], at[2], ALTERNATE);
    at[1] = RLX_SHUFFLE(at[1], at[3], ALTERNATE);
    return (u32x4)RLX_SHUFFLE(at[0], at[1], ALTERNATE);
}

/* Channels of pixels side by side, up to four of 1 or 4 bytes, become rows: d[c][k] = s[k][c]. What a pixel lacks of four channels is the
 * next pixel, stored first where the last channel comes then. The last pixels, some of which are moved twice, are read from a copy. */
RLX_ALWAYS_INLINE void move_channels(char *d, const char *s, size_t size, const rlx_micro_box *b)
{
    const bool words = size == 4;
    const int64_t n = b->extent[3], each = words ? 4 : 16, pixel = b->src_stride[3] * (int64_t)size, step = b->dst_stride[2] * (int64_t)size;
    char *const second = d + step, *const third = b->extent[2] > 2 ? second + step : second,
               *const fourth = b->extent[2] > 3 ? third + step : third;
    uint32_t end[4 * 4 + 4] = { 0 };
    for (int64_t k = 0; k < n; k += each) {
        const char *from = s + k * pixel;
        if (k + each >= n) {
            k = n - each;
            from = memcpy(end, s + k * pixel, (size_t)(each * pixel));
        }
        u32x4 v[4];
        if (words)
            RLX_UNROLL for (int i = 0; i < 4; i++) v[i] = *(const u32x4 *)(const void *)(from + i * pixel);
        else
            RLX_UNROLL for (int i = 0; i < 4; i++, from += 4 * pixel)
                v[i] = load_bytes(from, pixel);
        const int64_t at = k * (int64_t)size;
        u32x4 a = RLX_SHUFFLE(v[0], v[2], 0, 4, 1, 5), c = RLX_SHUFFLE(v[1], v[3], 0, 4, 1, 5),
              a_high = RLX_SHUFFLE(v[0], v[2], 2, 6, 3, 7), c_high = RLX_SHUFFLE(v[1], v[3], 2, 6, 3, 7);
        *(bytes_16 *)(fourth + at) = (bytes_16)RLX_SHUFFLE(a_high, c_high, 2, 6, 3, 7);
        *(bytes_16 *)(third + at) = (bytes_16)RLX_SHUFFLE(a_high, c_high, 0, 4, 1, 5);
        *(bytes_16 *)(second + at) = (bytes_16)RLX_SHUFFLE(a, c, 2, 6, 3, 7);
        *(bytes_16 *)(d + at) = (bytes_16)RLX_SHUFFLE(a, c, 0, 4, 1, 5);
    }
}

/* Three rows of words become pixels: d[k][c] = s[c][k] for k < n. What is stored behind a pixel is overwritten by the next one, which there is. */
static void join_channels(uint32_t *d, const uint32_t *s, int64_t step, int64_t n)
{
    for (; n > 4; n -= 4, s += 4, d += 12) {
        u32x4 a = *(const u32x4 *)s, b = *(const u32x4 *)(s + step), c = *(const u32x4 *)(s + 2 * step);
        u32x4 ab = RLX_SHUFFLE(a, b, 0, 4, 1, 5), ab_high = RLX_SHUFFLE(a, b, 2, 6, 3, 7);
        *(u32x4 *)d = RLX_SHUFFLE(ab, c, 0, 1, 4, 5);
        *(u32x4 *)(d + 3) = RLX_SHUFFLE(ab, c, 2, 3, 5, 6);
        *(u32x4 *)(d + 6) = RLX_SHUFFLE(ab_high, c, 0, 1, 6, 7);
        *(u32x4 *)(d + 9) = RLX_SHUFFLE(ab_high, c, 2, 3, 7, 7);
    }
    for (; n > 0; n--, s++, d += 3)
        d[0] = s[0], d[1] = s[step], d[2] = s[2 * step];
}

/* Rows of one element each, rows backwards, each element twice, a few rows that take turns. False: it is nothing of that. */
bool rlx_micro_move_rows(void *to, const void *from, size_t size, const rlx_micro_box *b)
{
    const int64_t n = b->extent[3], step = b->src_stride[3];
    const bool twice = size == 4 && b->dst_stride[3] == 2 && step == 1 && b->extent[2] == 2 && b->dst_stride[2] == 1 && !b->src_stride[2],
               fills = !step && (size_t)n >= 16 / size, rows = b->dst_stride[3] == 1 && (fills || (size == 4 && step == -1));
    char *d = to;
    const char *s = from;
    if (b->dst_stride[3] == 1 && b->src_stride[2] == 1 && step == b->extent[2] && step > 1 && step <= 4 && (size & 5) && n >= 16) {
        if (size == 1)
            move_channels(d, s, 1, b);
        else
            move_channels(d, s, 4, b);
        return true;
    }
    if (size == 4 && n == 3 && b->dst_stride[3] == 1 && b->dst_stride[2] == 3 && b->src_stride[2] == 1) {
        join_channels(to, from, step, b->extent[2]);
        return true;
    }
    if (twice)
        move_twice(to, from, n);
    for (int64_t k = 0; rows && k < b->extent[2]; k++) {
        if (fills)
            fill_run(d, s, size, (size_t)n * size);
        else
            move_backward((uint32_t *)(void *)d, (const uint32_t *)(const void *)s, n);
        d += b->dst_stride[2] * (int64_t)size;
        s += b->src_stride[2] * (int64_t)size;
    }
    return twice || rows;
}
