/* repeat.c: rows whose elements are repeated, or stand backwards, for every machine. */
/* built for size */
#include "micro/micro_int.h"

typedef RLX_VECTOR(uint32_t, 16) u32x4;

/* One element, as often as fills so many bytes; as many as 16 of them at least. */
static void fill_run(char *d, const char *one, size_t size, size_t bytes)
{
    typedef RLX_VECTOR(uint8_t, 16) bytes_16;
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

/* Rows of one element each, rows backwards, each element twice. False: it is nothing of that. */
bool rlx_micro_move_rows(void *to, const void *from, size_t size, const rlx_micro_box *b)
{
    const int64_t n = b->extent[3], step = b->src_stride[3];
    const bool twice = size == 4 && b->dst_stride[3] == 2 && step == 1 && b->extent[2] == 2 && b->dst_stride[2] == 1 && !b->src_stride[2],
               fills = !step && (size_t)n >= 16 / size, rows = b->dst_stride[3] == 1 && (fills || (size == 4 && step == -1));
    char *d = to;
    const char *s = from;
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
