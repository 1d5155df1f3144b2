/* test_micro_moves.c: copies and panels of every set that this machine has: the bytes of one loop
 * in plain C, and none outside of the box. */
/* built for speed */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/base.h"
#include "fenced.h"
#include "micro/micro.h"

enum { ROOM = 1 << 20, WRITTEN = 1 << 18 };
static fenced to_memory, from_memory;
static unsigned char *want;

/* Elements of 4 bytes as they are have functions of their own in some sets. */
static bool are_words(enum rlx_kernel_elem to, enum rlx_kernel_elem from)
{
    return to == from && rlx_kernel_elems[to].bytes == 4;
}

/* ---- one element ---------------------------------------------------------------------------- */

static void move_element(void *dst, enum rlx_kernel_elem to, int64_t i, const void *src,
                         enum rlx_kernel_elem from, int64_t k)
{
    size_t bytes = rlx_kernel_elems[to].bytes;
    if (to == from) {
        memcpy((char *)dst + i * (int64_t)bytes, (const char *)src + k * (int64_t)bytes, bytes);
        if (to == RLX_ELEM_BOOL)
            ((uint8_t *)dst)[i] = ((uint8_t *)dst)[i] != 0;
        return;
    }
    switch (from) {
    case RLX_ELEM_F16: ((float *)dst)[i] = rlx_half_to_float(((const uint16_t *)src)[k]); break;
    case RLX_ELEM_BF16: ((float *)dst)[i] = rlx_bfloat_to_float(((const uint16_t *)src)[k]); break;
    case RLX_ELEM_F8_E4M3FN:
        ((float *)dst)[i] = rlx_e4m3fn_to_float(((const uint8_t *)src)[k]);
        break;
    case RLX_ELEM_F8_E5M2:
        ((float *)dst)[i] = rlx_e5m2_to_float(((const uint8_t *)src)[k]);
        break;
    case RLX_ELEM_I8: ((int32_t *)dst)[i] = ((const int8_t *)src)[k]; break;
    case RLX_ELEM_U8: ((int32_t *)dst)[i] = ((const uint8_t *)src)[k]; break;
    case RLX_ELEM_I16: ((int32_t *)dst)[i] = ((const int16_t *)src)[k]; break;
    default: ((int32_t *)dst)[i] = ((const uint16_t *)src)[k]; break;
    }
}

static void compare(const char *set, const char *what, enum rlx_kernel_elem to,
                    enum rlx_kernel_elem from, int n)
{
    for (size_t i = 0; to != from && to == RLX_ELEM_F32 && i < to_memory.size / 4; i++)
        if (isnan(((float *)want)[i]) && isnan(((float *)to_memory.bytes)[i]))
            memcpy(want + i * 4, to_memory.bytes + i * 4, 4);
    if (memcmp(want, to_memory.bytes, to_memory.size) != 0)
        fail_msg("set %s, %s, dtype %d from %d, case %d", set, what, (int)to, (int)from, n);
}

static void clear_memory(void)
{
    memset(to_memory.bytes, 0x5a, to_memory.size);
}

static const char *const set_names[] = { "baseline", "avx2", "avx512", "avx512vnni", "avx512amx", "neon", "neondot" };

/* ---- boxes ---------------------------------------------------------------------------------- */

/* Least and greatest offset. */
static void ends(const int64_t *extent, const int64_t *stride, int n, int64_t *low, int64_t *high)
{
    for (int i = 0; i < n; i++) {
        int64_t way = (extent[i] - 1) * stride[i];
        *(way < 0 ? low : high) += way;
    }
}

/* Dimensions of dst in any order, now and then backwards or with gaps; those of src in any other order, or repeated. */
static void random_strides(rlx_micro_box *b, bool reads)
{
    int order[4] = { 0, 1, 2, 3 };
    for (int i = 3; i > 0 && once_in(2); i--) {
        int k = (int)below(i + 1), t = order[i];
        order[i] = order[k], order[k] = t;
    }
    int64_t step = once_in(6) ? 2 : 1;
    for (int i = 3; i >= 0; i--) {
        (reads ? b->src_stride : b->dst_stride)[order[i]] = once_in(12) ? -step : step;
        step = step * b->extent[order[i]] + (once_in(3) ? below(4) : 0);
    }
    for (int i = 0; i < 4 && reads; i++)
        if (once_in(10))
            b->src_stride[i] = below(3);
}

/* Rows of elements each of which stands there several times, or that are read backwards; by chance alone these are rare. */
static void row_strides(rlx_micro_box *b)
{
    const bool repeats = once_in(2);
    if (once_in(2))
        b->extent[3] = 2;
    int64_t step = 1, from = repeats ? 1 : b->extent[3];
    for (int i = 3; i >= 0; i--) {
        b->dst_stride[i] = step;
        step *= b->extent[i];
        b->src_stride[i] = i == 3 ? (repeats ? 0 : -1) : from;
        from *= i == 3 ? 1 : b->extent[i];
    }
}

/* A plane that is transposed into rows a page, or half of one, apart. */
static void far_rows(rlx_micro_box *b)
{
    b->extent[0] = b->extent[1] = 1;
    b->dst_stride[2] = once_in(2) ? 512 : 1024, b->dst_stride[3] = 1;
    b->src_stride[2] = 1, b->src_stride[3] = b->extent[2] + below(3);
}

/* Pixels of a few channels side by side, as planes of one channel each. */
static void planes_of_pixels(rlx_micro_box *b)
{
    b->extent[0] = 1, b->extent[2] = 2 + below(4), b->extent[3] = 1 + below(100);
    b->dst_stride[2] = once_in(3) ? 512 : b->extent[3] + below(3), b->dst_stride[3] = 1;
    b->dst_stride[1] = b->extent[2] * b->dst_stride[2];
    b->src_stride[2] = 1, b->src_stride[3] = b->extent[2] + (once_in(4) ? 1 : 0);
    b->src_stride[1] = b->extent[3] * b->src_stride[3];
    if (once_in(3)) /* or the other way */
        for (int i = 1; i < 4; i++) {
            const int64_t step = b->dst_stride[i];
            b->dst_stride[i] = b->src_stride[i], b->src_stride[i] = step;
        }
}

static void try_copy(enum rlx_kernel_elem to, enum rlx_kernel_elem from, int n)
{
    rlx_micro_box b = { 0 };
    for (int i = 0; i < 4; i++)
        b.extent[i] = i < 2 ? 1 + below(4) : 1 + below(once_in(3) ? 45 : 9);
    random_strides(&b, false);
    random_strides(&b, true);
    if (once_in(8))
        row_strides(&b);
    else if (once_in(8))
        far_rows(&b);
    else if (once_in(8))
        planes_of_pixels(&b);
    int64_t low = 0, high = 0, from_low = 0, from_high = 0;
    ends(b.extent, b.dst_stride, 4, &low, &high);
    ends(b.extent, b.src_stride, 4, &from_low, &from_high);
    if ((high - low + 1) * 8 > WRITTEN || (from_high - from_low + 1) * 8 > ROOM)
        return;
    b.dst = fenced_place(to_memory, low, high, rlx_kernel_elems[to].bytes, once_in(2));
    b.src = fenced_place(from_memory, from_low, from_high, rlx_kernel_elems[from].bytes, once_in(2));
    clear_memory();
    for (int64_t i = 0; i < b.extent[0]; i++)
        for (int64_t j = 0; j < b.extent[1]; j++)
            for (int64_t k = 0; k < b.extent[2]; k++)
                for (int64_t l = 0; l < b.extent[3]; l++)
                    move_element(b.dst, to,
                                 i * b.dst_stride[0] + j * b.dst_stride[1] + k * b.dst_stride[2] +
                                     l * b.dst_stride[3],
                                 b.src, from,
                                 i * b.src_stride[0] + j * b.src_stride[1] + k * b.src_stride[2] +
                                     l * b.src_stride[3]);
    memcpy(want, to_memory.bytes, to_memory.size);
    for (size_t s = 0; s < RLX_COUNT(set_names); s++) {
        const rlx_micro_set *set = rlx_micro_find(set_names[s]);
        rlx_micro_copy_fn *ways[] = { set ? set->copy[to][from] : NULL,
                                      set && are_words(to, from) ? set->copy_words : NULL };
        for (size_t w = 0; w < RLX_COUNT(ways); w++)
            if (ways[w]) {
                clear_memory();
                ways[w](&b);
                compare(set->name, w ? "copy of words" : "copy", to, from, n);
            }
    }
}

/* ---- panels --------------------------------------------------------------------------------- */

static void try_pack(enum rlx_kernel_elem to, enum rlx_kernel_elem from, int n)
{
    rlx_micro_pack p = { .panel = once_in(2) ? RLX_PANEL_COLUMNS : RLX_PANEL_ROWS };
    p.lanes = once_in(3) ? RLX_PANEL_COLUMNS * below(3) : below(70); /* panels that are all full, too */
    p.width = once_in(2) ? 1 + below(12) : 1 + below(100);
    p.start = below(p.width);
    for (int i = 0; i < 3; i++)
        p.depth[i] = 1 + below(i < 2 ? 4 : 40);
    if (!p.lanes)
        p.start = 0, p.width = 1;
    /* lanes contiguous, depth contiguous, by two, or neither */
    static const int64_t strides[][2] = { { 1, 50 }, { 50, 1 }, { 2, 1 }, { 2, 5 }, { 0, 3 }, { -1, 7 } };
    int64_t kind = below(6);
    p.lane_stride[1] = strides[kind][0], p.depth_stride[2] = strides[kind][1];
    p.lane_stride[0] = once_in(4) ? p.width * p.lane_stride[1] : below(80) - 5;
    p.depth_stride[0] = below(300), p.depth_stride[1] = below(60);
    bool fours = to == from && rlx_kernel_is_byte(to) && once_in(2);
    if (fours) { /* the outermost depth is the one that they are of */
        int64_t depth = p.depth[0], stride = p.depth_stride[0];
        p.depth[0] = p.depth[2], p.depth_stride[0] = p.depth_stride[2];
        p.depth[2] = depth, p.depth_stride[2] = stride;
    }
    int64_t rows = p.lanes ? (p.start + p.lanes - 1) / p.width + 1 : 1,
            extent[5] = { rows, rows > 1 ? p.width : p.start + p.lanes, p.depth[0], p.depth[1], p.depth[2] },
            stride[5] = { p.lane_stride[0], p.lane_stride[1], p.depth_stride[0], p.depth_stride[1],
                          p.depth_stride[2] };
    int64_t low = 0, high = 0, steps = p.depth[0] * p.depth[1] * p.depth[2], w = p.panel,
            rest = p.depth[1] * p.depth[2], panel = fours ? (p.depth[0] + 3) / 4 * 4 * rest * w : steps * w,
            all = (p.lanes ? (p.lanes + w - 1) / w : 1) * panel;
    if (all * 8 > WRITTEN)
        return;
    ends(extent, stride, 5, &low, &high);
    p.dst = fenced_place(to_memory, 0, all - 1, rlx_kernel_elems[to].bytes, once_in(2));
    p.src = p.lanes ? fenced_place(from_memory, low, high, rlx_kernel_elems[from].bytes, once_in(2)) : NULL;
    clear_memory();
    memset(p.dst, 0, (size_t)all * rlx_kernel_elems[to].bytes);
    for (int64_t l = 0; l < p.lanes; l++)
        for (int64_t d = 0; d < steps; d++) {
            int64_t d2 = d % p.depth[2], d1 = d / p.depth[2] % p.depth[1], d0 = d / p.depth[2] / p.depth[1],
                    at = p.start + l;
            int64_t four = ((d0 / 4 * rest + d % rest) * w + l % w) * 4 + d0 % 4;
            move_element(p.dst, to, l / w * panel + (fours ? four : d * w + l % w), p.src, from,
                         at / p.width * p.lane_stride[0] + at % p.width * p.lane_stride[1] +
                             d0 * p.depth_stride[0] + d1 * p.depth_stride[1] + d2 * p.depth_stride[2]);
        }
    memcpy(want, to_memory.bytes, to_memory.size);
    for (size_t s = 0; s < RLX_COUNT(set_names); s++) {
        const rlx_micro_set *set = rlx_micro_find(set_names[s]);
        rlx_micro_pack_fn *ways[] = { set ? set->pack[to][from] : NULL,
                                      set && are_words(to, from) ? set->pack_words : NULL };
        if (fours)
            ways[0] = set ? set->pack_fours : NULL;
        for (size_t way = 0; way < RLX_COUNT(ways); way++)
            if (ways[way]) {
                clear_memory();
                ways[way](&p);
                compare(set->name, fours ? "pack in fours" : way ? "pack of words" : "pack", to, from, n);
            }
    }
}

/* ---- all pairs of element types ------------------------------------------------------------- */

static void for_all_pairs(void (*try)(enum rlx_kernel_elem, enum rlx_kernel_elem, int))
{
    int rounds = rounds_of(200);
    const rlx_micro_set *set = rlx_micro_find("baseline");
    for (int to = 0; to < RLX_ELEM_COUNT; to++)
        for (int from = 0; from < RLX_ELEM_COUNT; from++)
            for (int n = 0, some = rounds * (are_words(to, from) ? 10 : 1); n < some && set->copy[to][from]; n++)
                try((enum rlx_kernel_elem)to, (enum rlx_kernel_elem)from, n);
}
static void test_copy(void **state) { for_all_pairs(try_copy); }
static void test_pack(void **state) { for_all_pairs(try_pack); }

static int set_up(void **state)
{
    to_memory = fenced_make(WRITTEN), from_memory = fenced_make(ROOM);
    want = malloc(to_memory.size);
    for (size_t i = 0; i < from_memory.size; i++)
        from_memory.bytes[i] = (unsigned char)(random_bits() >> 3);
    return !want;
}

static int tear_down(void **state)
{
    fenced_free(to_memory), fenced_free(from_memory);
    free(want);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_pack),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
