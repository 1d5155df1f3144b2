/* generic.c: copies and panels, for every machine. */
#include <string.h>

#include "base/base.h"
#include "micro/micro_int.h"

/* ---- transposing ---------------------------------------------------------------------------- */

typedef RLX_VECTOR(uint32_t, 16) u32x4;
RLX_ALWAYS_INLINE void transpose_square(uint32_t *d, int64_t d_step, const uint32_t *s,
                                        int64_t s_step)
{
    u32x4 a = *(const u32x4 *)s, b = *(const u32x4 *)(s + s_step),
          c = *(const u32x4 *)(s + 2 * s_step), e = *(const u32x4 *)(s + 3 * s_step);
    u32x4 ab = RLX_SHUFFLE(a, b, 0, 4, 1, 5), ce = RLX_SHUFFLE(c, e, 0, 4, 1, 5),
          ab_high = RLX_SHUFFLE(a, b, 2, 6, 3, 7), ce_high = RLX_SHUFFLE(c, e, 2, 6, 3, 7);
    *(u32x4 *)d = RLX_SHUFFLE(ab, ce, 0, 1, 4, 5);
    *(u32x4 *)(d + d_step) = RLX_SHUFFLE(ab, ce, 2, 3, 6, 7);
    *(u32x4 *)(d + 2 * d_step) = RLX_SHUFFLE(ab_high, ce_high, 0, 1, 4, 5);
    *(u32x4 *)(d + 3 * d_step) = RLX_SHUFFLE(ab_high, ce_high, 2, 3, 6, 7);
}

/* Two lanes: pairs, mostly side by side. */
static void transpose_pairs(uint32_t *d, int64_t d_step, const uint32_t *s, int64_t s_step, int64_t steps)
{
    typedef RLX_VECTOR(uint64_t, 16) pairs;
    int64_t k = 0;
    for (; k + 4 <= steps; k += 4, d += 4 * d_step) {
        u32x4 a = *(const u32x4 *)(s + k), b = *(const u32x4 *)(s + s_step + k);
        pairs low = (pairs)RLX_SHUFFLE(a, b, 0, 4, 1, 5), high = (pairs)RLX_SHUFFLE(a, b, 2, 6, 3, 7);
        if (d_step == 2) {
            *(u32x4 *)d = (u32x4)low;
            *(u32x4 *)(d + 4) = (u32x4)high;
            continue;
        }
        memcpy(d, &low, 8);
        memcpy(d + d_step, (char *)&low + 8, 8);
        memcpy(d + 2 * d_step, &high, 8);
        memcpy(d + 3 * d_step, (char *)&high + 8, 8);
    }
    for (; k < steps; k++, d += d_step)
        d[0] = s[k], d[1] = s[s_step + k];
}

/*- A square of small elements, N = 16 / sizeof(T) of them in a row: each round moves the first bit of the number of an element, which is its
 * row and its place in the row, behind the last one.
 *     a0 a1 a2 a3        a0 c0 a1 c1        a0 b0 c0 d0
 *     b0 b1 b2 b3   ->   a2 c2 a3 c3   ->   a1 b1 c1 d1
 *     c0 c1 c2 c3        b0 d0 b1 d1        a2 b2 c2 d2
 *     d0 d1 d2 d3        b2 d2 b3 d3        a3 b3 c3 d3  */
#define TURN_SQUARE(name, T, ROUNDS, LOW, HIGH, EACH)                                   \
    static void turn_square_##name(T *d, int64_t d_step, const T *s, int64_t s_step)    \
    {                                                                                   \
        enum { N = 1 << ROUNDS };                                                       \
        typedef RLX_VECTOR(T, 16) line;                                                 \
        line at[2][N];                                                                  \
        EACH for (int i = 0; i < N; i++) at[0][i] = *(const line *)(s + i * s_step);    \
        EACH for (int round = 0; round < ROUNDS; round++) {                             \
            const line *from = at[round & 1];                                           \
            line *to = at[~round & 1];                                                  \
            EACH for (int i = 0; i < N / 2; i++) {                                      \
                to[2 * i] = RLX_SHUFFLE(from[i], from[i + N / 2], LOW);                 \
                to[2 * i + 1] = RLX_SHUFFLE(from[i], from[i + N / 2], HIGH);            \
            }                                                                           \
        }                                                                               \
        EACH for (int i = 0; i < N; i++) *(line *)(d + i * d_step) = at[ROUNDS & 1][i]; \
    }
#define ALTERNATE_8(a) a, a + 8, a + 1, a + 9, a + 2, a + 10, a + 3, a + 11
#define ALTERNATE_16(a) a, a + 16, a + 1, a + 17, a + 2, a + 18, a + 3, a + 19, a + 4, a + 20, a + 5, a + 21, a + 6, a + 22, a + 7, a + 23
TURN_SQUARE(1, uint8_t, 4, ALTERNATE_16(0), ALTERNATE_16(8), RLX_UNROLL)
TURN_SQUARE(2, uint16_t, 3, ALTERNATE_8(0), ALTERNATE_8(4), RLX_UNROLL)
#define turn_square_4 transpose_square
static void turn_square_8(uint64_t *d, int64_t d_step, const uint64_t *s, int64_t s_step) { *d = *s; }
enum { SQUARE_1 = 16, SQUARE_2 = 8, SQUARE_4 = 4, SQUARE_8 = 1 };

/* d[k * d_step + l] = s[l * s_step + k] for l < lanes, k < steps: blocks whose sides are a line of
 * the cache, in squares, the last of which may cover some elements once more; two lanes of 4 bytes in pairs. */
#define TRANSPOSE(name, T)                                                                     \
    static void transpose_each_##name(T *d, int64_t d_step, const T *s, int64_t s_step,        \
                                      int64_t lanes, int64_t steps)                            \
    {                                                                                          \
        for (int64_t l = 0; l < lanes; l++)                                                    \
            for (int64_t k = 0; k < steps; k++)                                                \
                d[k * d_step + l] = s[l * s_step + k];                                         \
    }                                                                                          \
    static void transpose_block_##name(T *d, int64_t d_step, const T *s, int64_t s_step,       \
                                       int64_t lanes, int64_t steps)                           \
    {                                                                                          \
        enum { N = SQUARE_##name };                                                            \
        if (N > 1 && lanes >= N && steps >= N) {                                               \
            for (int64_t l = 0; l < lanes; l += N) {                                           \
                l = rlx_micro_less(l, lanes - N);                                              \
                for (int64_t k = 0; k < steps; k += N) {                                       \
                    k = rlx_micro_less(k, steps - N);                                          \
                    turn_square_##name(d + k * d_step + l, d_step, s + l * s_step + k, s_step); \
                }                                                                              \
            }                                                                                  \
        } else                                                                                 \
            transpose_each_##name(d, d_step, s, s_step, lanes, steps);                         \
    }                                                                                          \
    /* Lines that are a page apart fall on each other in the cache: each is written once, whole. */ \
    static void transpose_far_##name(T *d, int64_t d_step, const T *s, int64_t s_step,         \
                                     int64_t lanes, int64_t steps)                             \
    {                                                                                          \
        T tile[SIDE_##name * SIDE_##name];                                                     \
        (void)lanes;                                                                           \
        transpose_block_##name(tile, SIDE_##name, s, s_step, SIDE_##name, steps);              \
        for (int64_t k = 0; k < steps; k++)                                                    \
            memcpy(d + k * d_step, tile + k * SIDE_##name, SIDE_##name * sizeof(T));           \
    }                                                                                          \
    static void transpose_##name(T *d, int64_t d_step, const T *s, int64_t s_step,             \
                                 int64_t lanes, int64_t steps)                                 \
    {                                                                                          \
        bool far = d_step % (512 / (int64_t)sizeof(T)) == 0;                                   \
        if (sizeof(T) == 4 && lanes == 2) {                                                    \
            transpose_pairs((uint32_t *)(void *)d, d_step, (const uint32_t *)(const void *)s, s_step, steps); \
            return;                                                                            \
        }                                                                                      \
        for (int64_t k = 0; k < steps; k += SIDE_##name)                                       \
            for (int64_t l = 0; l < lanes; l += SIDE_##name)                                   \
                (far && lanes - l >= SIDE_##name ? transpose_far_##name : transpose_block_##name)( \
                    d + k * d_step + l, d_step, s + l * s_step + k, s_step,                    \
                    rlx_micro_less(lanes - l, SIDE_##name),                                    \
                    rlx_micro_less(steps - k, SIDE_##name));                                   \
    }
enum { SIDE_1 = 64, SIDE_2 = 32, SIDE_4 = 16, SIDE_8 = 8 };
TRANSPOSE(1, uint8_t)
TRANSPOSE(2, uint16_t)
TRANSPOSE(4, uint32_t)
TRANSPOSE(8, uint64_t)

/* ---- runs ----------------------------------------------------------------------------------- */

/* A few elements: vectors, the last of which may cover some once more. */
RLX_ALWAYS_INLINE void copy_run(void *to, const void *from, size_t bytes)
{
    typedef RLX_VECTOR(uint8_t, 16) bytes_16;
    char *d = to;
    const char *s = from;
    if (bytes > 256 || bytes < 16) {
        memmove(d, s, bytes); /* files that nobody made well may copy a buffer into itself */
        return;
    }
    bytes_16 last = *(const bytes_16 *)(s + bytes - 16);
    for (size_t i = 0; i + 16 < bytes; i += 16)
        *(bytes_16 *)(d + i) = *(const bytes_16 *)(s + i);
    *(bytes_16 *)(d + bytes - 16) = last;
}

/* d[k * w + l] = s[k * step + l * stride] for l < run, k < steps. */
#define SAME_BLOCK(name, T)                                                                   \
    static void block_##name(T *d, int64_t w, const T *s, int64_t run, int64_t stride,        \
                             int64_t steps, int64_t step)                                     \
    {                                                                                         \
        if (stride == 1 && run == RLX_PANEL_COLUMNS)                                          \
            for (int64_t k = 0; k < steps; k++, s += step, d += w)                            \
                memcpy(d, s, RLX_PANEL_COLUMNS * sizeof *d);                                  \
        else if (stride == 1 && run == RLX_PANEL_ROWS)                                        \
            for (int64_t k = 0; k < steps; k++, s += step, d += w)                            \
                memcpy(d, s, RLX_PANEL_ROWS * sizeof *d);                                     \
        else if (stride == 1)                                                                 \
            for (int64_t k = 0; k < steps; k++, s += step, d += w)                            \
                copy_run(d, s, (size_t)run * sizeof *d);                                      \
        else if (step == 1)                                                                   \
            transpose_##name(d, w, s, stride, run, steps);                                    \
        else                                                                                  \
            for (int64_t k = 0; k < steps; k++, s += step, d += w)                            \
                for (int64_t l = 0; l < run; l++)                                             \
                    d[l] = s[l * stride];                                                     \
    }
/* Elements that become wider: how many bytes they have, and how a run of them does. What they become has four. */
typedef struct widening { int64_t bytes; void (*run)(void *d, const void *s, int64_t n); } widening;

/* The same of such elements, strides in bytes. Where steps lie side by side a few of each lane become wider where they are near, and
 * are turned then. */
static void block_wider(uint32_t *d, int64_t w, const char *s, int64_t run, int64_t stride, int64_t steps, int64_t step,
                        const widening *z)
{
    enum { STEPS = 32 };
    uint32_t near[RLX_PANEL_COLUMNS * STEPS];
    const bool turns = stride != z->bytes && step == z->bytes;
    for (int64_t k = 0, n; k < steps; k += n, s += n * step, d += n * w) {
        n = turns ? rlx_micro_less(steps - k, STEPS) : 1;
        if (stride == z->bytes)
            z->run(d, s, run);
        else
            for (int64_t l = 0; l < run; l++)
                z->run(turns ? near + l * STEPS : d + l, s + l * stride, n);
        if (turns)
            transpose_4(d, w, near, STEPS, run, n);
    }
}

/* ---- boxes ---------------------------------------------------------------------------------- */

RLX_NOINLINE static void exchange(rlx_micro_box *b, int i, int j)
{
    int64_t *const of[3] = { b->extent, b->dst_stride, b->src_stride };
    for (int n = 0; n < 3; n++) {
        int64_t t = of[n][i];
        of[n][i] = of[n][j], of[n][j] = t;
    }
}

bool rlx_micro_straighten_box(rlx_micro_box *b)
{
    for (int i = 0; i < 3 && (b->dst_stride[3] != 1 || b->extent[3] == 1); i++)
        if (b->dst_stride[i] == 1 && b->extent[i] > 1)
            exchange(b, i, 3);
    for (int i = 0; i < 2 && b->src_stride[3] != 1 && b->src_stride[2] != 1; i++)
        if (b->src_stride[i] == 1 && b->extent[i] > 1)
            exchange(b, i, 2);
    for (int i = 2; i >= 0 && b->dst_stride[3] == 1 && b->src_stride[3] == 1; i--)
        if (b->dst_stride[i] == b->extent[3] && b->src_stride[i] == b->extent[3]) {
            b->extent[3] *= b->extent[i];
            b->extent[i] = 1;
        }
    for (int i = 1; i >= 0 && b->extent[2] == 1; i--)
        exchange(b, i, 2);
    /* each element a few times: in turns */
    if (!b->src_stride[3] && b->extent[3] < 8 && b->extent[3] < b->extent[2])
        exchange(b, 2, 3);
    return b->src_stride[2] == 1 && (uint64_t)b->src_stride[3] > 1 && (b->extent[2] <= 4 || b->dst_stride[2] % 512);
}

/* The two inner dimensions of a box. */
#define SAME_PLANE(name, T)                                                                   \
    static void plane_##name(T *d, const T *s, const rlx_micro_box *b)                        \
    {                                                                                         \
        const int64_t *n = b->extent, *to = b->dst_stride, *from = b->src_stride;             \
        if (to[3] == 1 && from[3] == 1)                                                       \
            for (int64_t k = 0; k < n[2]; k++, d += to[2], s += from[2])                      \
                copy_run(d, s, (size_t)n[3] * sizeof *d);                                     \
        else if (rlx_micro_move_rows(d, s, sizeof(T), b))                                         \
            return;                                                                           \
        else if (to[3] == 1 && from[2] == 1)                                                  \
            transpose_##name(d, to[2], s, from[3], n[3], n[2]);                               \
        else                                                                                  \
            for (int64_t k = 0; k < n[2]; k++, d += to[2], s += from[2])                      \
                for (int64_t l = 0; l < n[3]; l++)                                            \
                    d[l * to[3]] = s[l * from[3]];                                            \
    }
#define COPY(name, D, S)                                                                      \
    static void copy_##name(const rlx_micro_box *box)                                         \
    {                                                                                         \
        rlx_micro_box b = *box;                                                               \
        (void)rlx_micro_straighten_box(&b);                                                   \
        for (int64_t i = 0; i < b.extent[0]; i++)                                             \
            for (int64_t j = 0; j < b.extent[1]; j++)                                         \
                plane_##name((D *)b.dst + i * b.dst_stride[0] + j * b.dst_stride[1],          \
                             (const S *)b.src + i * b.src_stride[0] + j * b.src_stride[1],    \
                             &b);                                                             \
    }

static void copy_wider(const rlx_micro_box *box, const widening *z)
{
    rlx_micro_box b = *box;
    rlx_micro_straighten_box(&b);
    const int64_t *n = b.extent, *to = b.dst_stride, *from = b.src_stride;
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t k = 0; k < n[2]; k++) {
                uint32_t *d = (uint32_t *)b.dst + i * to[0] + j * to[1] + k * to[2];
                const char *s = (const char *)b.src + (i * from[0] + j * from[1] + k * from[2]) * z->bytes;
                const bool together = to[3] == 1 && from[3] == 1;
                for (int64_t l = 0; l < (together ? 1 : n[3]); l++)
                    z->run(d + l * to[3], s + l * from[3] * z->bytes, together ? n[3] : 1);
            }
}

/* ---- panels --------------------------------------------------------------------------------- */

/* Lanes [first, first + n) of one panel: runs in which the high digit of the lane's number stands
 * still. */
#define PACK(name, D, S, more, given)                                                         \
    static void pack_lanes_##name(const rlx_micro_pack *p, D *dst, int64_t first, int64_t n more) \
    {                                                                                         \
        int64_t w = p->panel, stride = p->lane_stride[1], from = p->start + first,            \
                high = from / p->width, low = from % p->width;                                \
        for (int64_t l = 0, run; l < n; l += run, high++, low = 0) {                          \
            run = rlx_micro_less(p->width - low, n - l);                                      \
            const S *lane = (const S *)p->src + high * p->lane_stride[0] + low * stride;      \
            D *d = dst + l;                                                                   \
            for (int64_t i = 0; i < p->depth[0]; i++)                                         \
                for (int64_t j = 0; j < p->depth[1]; j++, d += p->depth[2] * w) {             \
                    const S *s = lane + i * p->depth_stride[0] + j * p->depth_stride[1];      \
                    block_##name(d, w, s, run, stride, p->depth[2], p->depth_stride[2] given); \
                }                                                                             \
        }                                                                                     \
    }                                                                                         \
    static void pack_##name(const rlx_micro_pack *p more)                                     \
    {                                                                                         \
        int64_t w = p->panel, steps = p->depth[0] * p->depth[1] * p->depth[2];                \
        D *dst = p->dst;                                                                      \
        for (int64_t l = 0; !l || l < p->lanes; l += w, dst += steps * w) {                   \
            int64_t n = rlx_micro_less(p->lanes - l, w);                                      \
            pack_lanes_##name(p, dst, l, n given);                                            \
            for (int64_t k = 0; k < steps && n < w; k++)                                      \
                memset(dst + k * w + n, 0, (size_t)(w - n) * sizeof *dst);                    \
        }                                                                                     \
    }

#define SAME(name, T)                                           \
    SAME_BLOCK(name, T) SAME_PLANE(name, T) COPY(name, T, T)    \
    PACK(name, T, T, , )
#define COMMA ,
PACK(wider, uint32_t, char, COMMA const widening *z, COMMA z)
/* A stride along an extent of 1 may be anything. */
static int64_t in_bytes(int64_t stride, const widening *z) { return (int64_t)((uint64_t)stride * (uint64_t)z->bytes); }
static void pack_widening(const rlx_micro_pack *p, const widening *z)
{
    rlx_micro_pack q = *p;
    for (int i = 0; i < 2; i++)
        q.lane_stride[i] = in_bytes(p->lane_stride[i], z);
    for (int i = 0; i < 3; i++)
        q.depth_stride[i] = in_bytes(p->depth_stride[i], z);
    pack_wider(&q, z);
}
#define WIDER(name, D, S)                                                                            \
    static void widen_##name(void *d, const void *s, int64_t n) { rlx_micro_widen_##name(d, s, n); } \
    static const widening wide_##name = { sizeof(S), widen_##name };                                 \
    static void copy_##name(const rlx_micro_box *b) { copy_wider(b, &wide_##name); }                 \
    static void pack_##name(const rlx_micro_pack *p) { pack_widening(p, &wide_##name); }
SAME(1, uint8_t)
SAME(2, uint16_t)
SAME(4, uint32_t)
SAME(8, uint64_t)
/* Whatever is not 0 is 1, as it is where a bool is loaded. */
static void make_bools(uint8_t *d, int64_t step, int64_t n)
{
    typedef RLX_VECTOR(uint8_t, 16) bytes_16;
    for (; step == 1 && n >= 16; n -= 16, d += 16)
        *(bytes_16 *)d = (bytes_16)(*(bytes_16 *)d != 0) & 1;
    for (; n > 0; n--, d += step)
        *d = *d != 0;
}

static void copy_bools(const rlx_micro_box *box)
{
    rlx_micro_box b = *box;
    (void)rlx_micro_straighten_box(&b);
    copy_1(&b);
    const int64_t *to = b.dst_stride;
    for (int64_t i = 0; i < b.extent[0]; i++)
        for (int64_t j = 0; j < b.extent[1]; j++)
            for (int64_t k = 0; k < b.extent[2]; k++)
                make_bools((uint8_t *)b.dst + i * to[0] + j * to[1] + k * to[2], to[3], b.extent[3]);
}
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    WIDER(elem, float, C)
#include "base/dtype.def"
WIDER(I8, int32_t, int8_t)
WIDER(U8, int32_t, uint8_t)
WIDER(I16, int32_t, int16_t)
WIDER(U16, int32_t, uint16_t)

/* What rlx_kernel_copies says: elements keep their bits, narrow floats may become float32, small integers int32. */
#define SMALL(table)                                      \
    [RLX_ELEM_I32][RLX_ELEM_I8] = table##_I8,             \
    [RLX_ELEM_I32][RLX_ELEM_U8] = table##_U8,             \
    [RLX_ELEM_I32][RLX_ELEM_I16] = table##_I16,           \
    [RLX_ELEM_I32][RLX_ELEM_U16] = table##_U16,
#define SAME_1(table, name) SAME_BOOL_##table
#define SAME_BOOL_pack
#define SAME_BOOL_copy [RLX_ELEM_BOOL][RLX_ELEM_BOOL] = copy_bools,
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
