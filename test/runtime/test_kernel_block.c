/* test_kernel_block.c: instructions that work on blocks of memory, on random operands: sizes,
 * strides and offsets that fit, and those that do not. What is done is compared with loops over
 * single elements; what may not be done ends in a fault, and nothing outside of a buffer is touched.
 * Each set of instructions does the same. RELAX_LONG=1 tries more. */
/* built for speed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "format/kernel_math.h"
#include "runtime/kernel_int.h"

enum { MOST_BUFFERS = RLX_NORMALIZE_SIDES, MOST_ELEMENTS = 3000, MOST_STEPS = 60000 };

typedef struct block {
    uint64_t seed;
    unsigned op;
    int64_t x[RLX_KERNEL_BLOCK_OPERANDS];
    int num_buffers;
    rlx_kernel_buffer buffers[MOST_BUFFERS];
    int64_t count[MOST_BUFFERS];
    unsigned char *data[MOST_BUFFERS], *want[MOST_BUFFERS];
    bool fits, plain;       /* every access is in range; no element is written that is read elsewhere */
} block;

static uint32_t roll(block *b, uint32_t n)
{
    b->seed = b->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(b->seed >> 33) % n;
}

/* ---- operands --------------------------------------------------------------------------------- */

static const enum rlx_kernel_elem sums[] = { RLX_ELEM_F32, RLX_ELEM_F64, RLX_ELEM_I32,
                                             RLX_ELEM_I64, RLX_ELEM_U32, RLX_ELEM_U64 };

static void new_buffer(block *b, enum rlx_kernel_elem e)
{
    int i = b->num_buffers++;
    size_t bytes = rlx_kernel_elems[e].bytes;
    bool real = rlx_kernel_elems[e].klass >= RLX_CLASS_F32;
    b->buffers[i] = (rlx_kernel_buffer){ .elem = (uint8_t)e, .bytes = (uint8_t)bytes };
    b->count[i] = 1 + roll(b, roll(b, 3) ? 60 : MOST_ELEMENTS);
    b->data[i] = malloc((size_t)b->count[i] * bytes);
    b->want[i] = malloc((size_t)b->count[i] * bytes);
    for (int64_t k = 0; k < b->count[i]; k++) {
        unsigned char *at = b->data[i] + (size_t)k * bytes;
        int64_t v = (int64_t)roll(b, 7) - 3;
        if (real)
            rlx_dtype_store_float(rlx_kernel_elems[e].dtype, at, (double)v);
        else
            memcpy(at, &v, bytes);
    }
    memcpy(b->want[i], b->data[i], (size_t)b->count[i] * bytes);
}

static int64_t hostile(block *b, int64_t v)
{
    static const int64_t odd[] = { 0, -1, 1, 31, 32, 33, 600, -600, INT32_MAX, INT64_MAX, INT64_MIN,
                                   INT64_MAX / 2, INT64_MIN / 2, (int64_t)1 << 40 };
    return (int64_t)((uint64_t)odd[roll(b, RLX_COUNT(odd))] + (roll(b, 4) ? 0 : (uint64_t)v));
}

/* Extents and strides of a box that is compact but for some gaps; its elements. */
static void any_box(block *b, int n, int64_t *extents, int64_t *strides)
{
    int64_t stride = 1 + (roll(b, 4) == 0);
    for (int i = n; i-- > 0;) {
        extents[i] = roll(b, 5) ? 1 + (int64_t)roll(b, 7) : 1 + (int64_t)roll(b, 40);
        strides[i] = stride;
        stride *= extents[i] + (roll(b, 5) == 0);
    }
}

static int64_t any_stride(block *b) { return roll(b, 3) ? (int64_t)roll(b, 9) - 2 : 0; }

static void make_copy(block *b)
{
    enum rlx_kernel_elem from, to;
    do {
        from = roll(b, RLX_ELEM_COUNT);
        to = roll(b, 2) ? from : RLX_ELEM_F32;
    } while (!rlx_micro_find("baseline")->copy[to][from]);
    new_buffer(b, to);
    new_buffer(b, from);
    bool same = to == from && roll(b, 20) == 0;
    int64_t *x = b->x;
    x[2] = !same;
    x[1] = (int64_t)roll(b, 4), x[3] = (int64_t)roll(b, 30);
    any_box(b, 4, x + 4, x + 8);
    for (int i = 0; i < 4; i++)
        x[12 + i] = roll(b, 3) ? x[8 + i] : any_stride(b);
    b->plain = !same;
}

static void make_pack(block *b)
{
    enum rlx_kernel_elem from, to;
    do {
        from = roll(b, RLX_ELEM_COUNT);
        to = roll(b, 2) ? from : RLX_ELEM_F32;
    } while (!rlx_micro_find("baseline")->pack[to][from]);
    new_buffer(b, to);
    new_buffer(b, from);
    const int64_t x[16] = { roll(b, 2) ? 8 : 32, 0, roll(b, 4), 1, roll(b, 30),
                            (int64_t)roll(b, 70) - 4, (int64_t)roll(b, 40) - 8, 1 + roll(b, 20),
                            any_stride(b), any_stride(b), 1 + roll(b, 3), 1 + roll(b, 3),
                            1 + roll(b, 5), any_stride(b), any_stride(b), any_stride(b) };
    memcpy(b->x, x, sizeof x);
    if (from == to && rlx_kernel_is_byte(from) && roll(b, 3)) {
        b->x[0] |= RLX_KERNEL_FOURS;
        b->x[10] = 1 + roll(b, 20);
    }
    b->plain = true;
}

/* Steps in fours, as tiles of bytes read them. */
static void make_fours(block *b)
{
    int64_t *x = b->x, *extents = x + 20, panels = (extents[2] + 31) / 32;
    extents[3] = 1 + roll(b, 6), extents[4] = 4;
    const int64_t of_a[5] = { roll(b, 2) ? 4 * extents[1] * extents[3] : 0, 4, 0, 4 * extents[1], 1 },
                  of_b[5] = { 0, 0, 4, roll(b, 4) ? 128 * panels : 4 * extents[2], 1 };
    memcpy(x + 8, of_a, sizeof of_a);
    memcpy(x + 15, of_b, sizeof of_b);
}

static void new_bytes(block *b)
{
    b->x[0] = roll(b, 2) ? RLX_KERNEL_FROM_ZERO : 0;
    new_buffer(b, RLX_ELEM_I32);
    for (int i = 0; i < 2; i++)
        new_buffer(b, roll(b, 2) ? RLX_ELEM_I8 : RLX_ELEM_U8);
}

static void make_sum(block *b, bool contract)
{
    int64_t *x = b->x, *extents = x + (contract ? 20 : 13), *strides = x + 3;
    enum rlx_kernel_elem e;
    do {
        e = sums[roll(b, RLX_COUNT(sums))];
        x[0] = roll(b, contract ? 4 : RLX_KERNEL_REDUCE_COUNT);
    } while (!(contract ? rlx_micro_find("baseline")->contract[x[0] & RLX_KERNEL_EXACT][e]
                        : rlx_micro_find("baseline")->reduce[x[0]][e]));
    bool bytes = contract && roll(b, 4) == 0;
    if (bytes)
        new_bytes(b);
    for (int i = 0; i < (contract ? 3 : 2) && !bytes; i++)
        new_buffer(b, e);
    any_box(b, 3, extents, strides);
    x[1] = 0, x[2] = roll(b, 4);
    for (int i = 1; i < (contract ? 3 : 2); i++) {
        const int64_t side[7] = { i, roll(b, 30), any_stride(b), any_stride(b),
                                  roll(b, 2) ? i == 2 : any_stride(b), any_stride(b),
                                  roll(b, 2) ? 1 : any_stride(b) };
        memcpy(x + 7 * i - 1, side, sizeof side);
    }
    extents[3] = 1 + roll(b, 3), extents[4] = 1 + roll(b, 20);
    if (bytes && roll(b, 3))
        make_fours(b);
    b->plain = true;
}

static void make_unpack(block *b)
{
    static const enum rlx_kernel_elem words[] = { RLX_ELEM_U32, RLX_ELEM_I32, RLX_ELEM_U8,
                                                  RLX_ELEM_I8 };
    int64_t *x = b->x;
    new_buffer(b, RLX_ELEM_F32);
    new_buffer(b, words[roll(b, 4)]);
    new_buffer(b, RLX_ELEM_F32);
    for (int64_t k = 0; k < b->count[1]; k++) /* all bits of words count */
        for (int i = 0; i < b->buffers[1].bytes; i++)
            b->want[1][k * b->buffers[1].bytes + i] = b->data[1][k * b->buffers[1].bytes + i] =
                (unsigned char)roll(b, 256);
    x[0] = 1 + (int64_t)roll(b, b->buffers[1].bytes == 1 ? 8 : 16);
    for (int i = 0; i < 3; i++)
        x[1 + 2 * i] = i, x[2 + 2 * i] = (int64_t)roll(b, 4);
    x[7] = (int64_t)roll(b, 9);
    int64_t strides[4];
    any_box(b, 4, x + 8, strides);
    if (roll(b, 8))
        x[10] = 1 + (int64_t)roll(b, (uint32_t)(b->buffers[1].bytes * 8 / x[0]));
    if (roll(b, 2))
        x[11] = 32 * (1 + (int64_t)roll(b, 3));
    const int64_t compact[3] = { x[9] * x[10] * x[11], x[10] * x[11], x[11] };
    memcpy(x + 12, compact, sizeof compact);
    for (int i = 15; i < 18; i++)
        x[i] = roll(b, 2) ? x[11] : any_stride(b);
    b->plain = true;
}

static void make_partial(block *b)
{
    int64_t *x = b->x, *extents = x + 20, *strides = x + 3;
    enum rlx_kernel_elem e = roll(b, 2) ? RLX_ELEM_F32 : RLX_ELEM_F64;
    for (int i = 0; i < 3; i++)
        new_buffer(b, e);
    any_box(b, 3, extents, strides);
    x[0] = roll(b, RLX_KERNEL_VALUE_COUNT) + (roll(b, 2) ? RLX_KERNEL_PARTIAL_FROM_ZERO : 0);
    x[1] = 0, x[2] = roll(b, 4);
    for (int i = 1; i < 3; i++) {
        const int64_t side[7] = { i, roll(b, 30), any_stride(b), any_stride(b),
                                  roll(b, 2) ? i == 1 : any_stride(b), any_stride(b),
                                  roll(b, 2) ? i == 1 : any_stride(b) };
        memcpy(x + 7 * i - 1, side, sizeof side);
    }
    extents[3] = 1 + roll(b, 3), extents[4] = 1 + roll(b, roll(b, 3) ? 8 : 80);
    b->plain = true;
}

static void make_normalize(block *b)
{
    int64_t *x = b->x, box[2], strides[2];
    for (int i = 0; i < RLX_NORMALIZE_SIDES; i++)
        new_buffer(b, RLX_ELEM_F32);
    any_box(b, 2, box, strides);
    x[0] = roll(b, RLX_NORMALIZE_BITS + 1);
    for (int i = 0; i < 2; i++) { /* bounds between -4 and 3, the greater one second */
        float bound = (float)(roll(b, 4) - 4 * (1 - i));
        uint32_t bits;
        memcpy(&bits, &bound, sizeof bits);
        x[1 + i] = (int64_t)bits;
    }
    for (int i = 0; i < RLX_NORMALIZE_SIDES; i++) {
        int64_t *side = x + 3 + 4 * i;
        side[0] = i, side[1] = roll(b, 4);
        side[2] = i < 2 ? strides[0] : any_stride(b);
        side[3] = i < 2 ? strides[1] : roll(b, 4) ? i > 3 && roll(b, 2) : any_stride(b);
    }
    x[3 + 4 * RLX_NORMALIZE_SIDES] = box[0], x[4 + 4 * RLX_NORMALIZE_SIDES] = box[1];
    b->plain = true;
}

static void make_map(block *b)
{
    int64_t *x = b->x;
    x[0] = roll(b, RLX_KERNEL_MAP_COUNT);
    for (int i = 0; i < 3; i++) {
        new_buffer(b, RLX_ELEM_F32);
        x[1 + 4 * i] = i, x[2 + 4 * i] = roll(b, 30);
    }
    any_box(b, 2, x + 13, x + 3);
    for (int i = 1; i < 3; i++)
        for (int d = 0; d < 2; d++)
            x[3 + 4 * i + d] = roll(b, 3) ? (i == 1 || !d ? x[3 + d] : 0) : any_stride(b);
    b->plain = true;
    if (roll(b, 4) == 0) /* in place */
        memcpy(x + 5, x + 1, 4 * sizeof *x);
}

static void make(block *b, uint64_t seed)
{
    static const unsigned ops[] = { RLX_K_COPY, RLX_K_PACK, RLX_K_CONTRACT, RLX_K_REDUCE,
                                    RLX_K_UNPACK, RLX_K_PARTIAL, RLX_K_NORMALIZE, RLX_K_MAP };
    memset(b, 0, sizeof *b);
    b->seed = seed * 2654435761u + 1;
    b->op = ops[roll(b, RLX_COUNT(ops))];
    if (b->op == RLX_K_COPY)
        make_copy(b);
    else if (b->op == RLX_K_PACK)
        make_pack(b);
    else if (b->op == RLX_K_UNPACK)
        make_unpack(b);
    else if (b->op == RLX_K_PARTIAL)
        make_partial(b);
    else if (b->op == RLX_K_NORMALIZE)
        make_normalize(b);
    else if (b->op == RLX_K_MAP)
        make_map(b);
    else
        make_sum(b, b->op == RLX_K_CONTRACT);
    const char *letters = rlx_kernel_ops[b->op].operands;
    if (roll(b, 3) == 0) /* registers may have any value */
        for (uint32_t left = 1 + roll(b, 2); left > 0; left--) {
            uint32_t i = roll(b, (uint32_t)strlen(letters));
            if (letters[i] == 'r')
                b->x[i] = hostile(b, b->x[i]), b->plain = false;
        }
}

/* ---- the same by single elements -------------------------------------------------------------- */

static unsigned char *element(block *b, int64_t buffer, __int128 at)
{
    if (at < 0 || at >= b->count[buffer]) {
        b->fits = false;
        return NULL;
    }
    return b->want[buffer] + (size_t)at * b->buffers[buffer].bytes;
}

static void copy_element(block *b, int64_t to, __int128 at, int64_t from, __int128 source)
{
    unsigned char *d = element(b, to, at), *s = element(b, from, source);
    if (!d || !s)
        return;
    if (b->buffers[to].elem == RLX_ELEM_BOOL)
        *d = *s != 0;
    else if (b->buffers[to].elem == b->buffers[from].elem)
        memcpy(d, s, b->buffers[to].bytes);
    else {
        float v = (float)rlx_dtype_load_float(rlx_kernel_elems[b->buffers[from].elem].dtype, s);
        memcpy(d, &v, sizeof v);
    }
}

static bool is_small(const int64_t *extents, int n)
{
    __int128 all = 1;
    for (int i = 0; i < n && all <= MOST_STEPS; i++)
        all *= extents[i] > 0 ? extents[i] : 0;
    return all <= MOST_STEPS;
}

static __int128 at_digits(const int64_t *digits, const int64_t *strides, int n)
{
    __int128 at = 0;
    for (int i = 0; i < n; i++)
        at += (__int128)digits[i] * strides[i];
    return at;
}

static bool next_digits(int64_t *digits, const int64_t *extents, int n)
{
    while (n-- > 0) {
        if (++digits[n] < extents[n])
            return true;
        digits[n] = 0;
    }
    return false;
}

static bool is_empty(const int64_t *extents, int n)
{
    for (int i = 0; i < n; i++)
        if (extents[i] <= 0)
            return true;
    return false;
}

static void model_copy(block *b)
{
    const int64_t *x = b->x;
    int64_t i[4] = { 0 };
    if (is_empty(x + 4, 4))
        return;
    do
        copy_element(b, x[0], x[1] + at_digits(i, x + 8, 4), x[2], x[3] + at_digits(i, x + 12, 4));
    while (b->fits && next_digits(i, x + 4, 4));
}

static void model_pack(block *b)
{
    const int64_t *x = b->x;
    int64_t w = x[0] & ~(int64_t)RLX_KERNEL_FOURS, together = w == x[0] ? 1 : 4, lanes = x[5] > 0 ? x[5] : 0,
            all = lanes ? (lanes + w - 1) / w * w : w, filled[3] = { x[10], x[11], x[12] };
    if (is_empty(x + 10, 3))
        return;
    filled[0] += together - 1 - (filled[0] - 1) % together;
    __int128 rest = (__int128)x[11] * x[12], steps = filled[0] * rest;
    for (int64_t l = 0; l < all && b->fits; l++) {
        int64_t d[3] = { 0 };
        __int128 step = 0, lane = (__int128)x[6] + l, width = lanes ? x[7] : 1,
                 high = lane / width - (lane % width < 0), low = lane - high * width;
        do {
            __int128 group = step / rest / together * rest + step % rest,
                     at = x[2] + l / w * w * steps + (group * w + l % w) * together + d[0] % together;
            step++;
            if (l < lanes && d[0] < x[10])
                copy_element(b, x[1], at, x[3],
                             x[4] + high * x[8] + low * x[9] + at_digits(d, x + 13, 3));
            else if (element(b, x[1], at))
                memset(element(b, x[1], at), 0, b->buffers[x[1]].bytes);
        } while (b->fits && next_digits(d, filled, 3));
    }
}

static double value_of(enum rlx_kernel_elem e, const unsigned char *p)
{
    int32_t small;
    int64_t large;
    if (rlx_kernel_elems[e].klass >= RLX_CLASS_F32)
        return rlx_dtype_load_float(rlx_kernel_elems[e].dtype, p);
    if (rlx_kernel_is_byte(e))
        return e == RLX_ELEM_I8 ? (int8_t)*p : *p;
    memcpy(&small, p, sizeof small);
    if (rlx_kernel_elems[e].bytes == 4)
        return small;
    memcpy(&large, p, sizeof large);
    return (double)large;
}

static void model_unpack(block *b)
{
    const int64_t *x = b->x, to[4] = { x[12], x[13], x[14], 1 }, from[4] = { x[15], x[16], 0, 1 },
                  scales[4] = { x[17], 0, 0, 1 };
    int64_t i[4] = { 0 }, size = b->buffers[1].bytes * 8;
    if (is_empty(x + 8, 4))
        return;
    b->fits = x[10] <= size / x[0];
    while (b->fits) {
        float *d = (void *)element(b, 0, x[2] + at_digits(i, to, 4)),
              *s = (void *)element(b, 2, x[6] + at_digits(i, scales, 4));
        unsigned char *w = element(b, 1, x[4] + at_digits(i, from, 4));
        uint32_t word = 0;
        if (!d || !s || !w)
            return;
        memcpy(&word, w, b->buffers[1].bytes);
        word = word >> (x[0] * i[2]) & ((1u << x[0]) - 1);
        bool sign = b->buffers[1].elem == RLX_ELEM_I8 && x[0] == 8 && word > 127;
        *d = (float)((int32_t)word - (sign ? 256 : 0)) - (float)x[7];
        *d *= *s;
        if (!next_digits(i, x + 8, 4))
            return;
    }
}

static double combine(int64_t op, double x, double y)
{
    switch (op) {
    case RLX_KERNEL_REDUCE_ADD: return x + y;
    case RLX_KERNEL_REDUCE_MUL: return x * y;
    case RLX_KERNEL_REDUCE_MIN: return x < y ? x : y;
    default: return x > y ? x : y;
    }
}

static void model_sum(block *b, bool contract)
{
    const int64_t *x = b->x, *extents = x + (contract ? 20 : 13);
    int64_t i[5] = { 0 };
    if (is_empty(extents, 5))
        return;
    do {
        enum rlx_kernel_elem e = (enum rlx_kernel_elem)b->buffers[x[1]].elem;
        unsigned char *acc = element(b, x[1], x[2] + at_digits(i, x + 3, 3)),
                      *p = element(b, x[6], x[7] + at_digits(i, x + 8, 5)),
                      *q = contract ? element(b, x[13], x[14] + at_digits(i, x + 15, 5)) : p;
        if (!acc || !p || !q)
            return;
        bool fresh = contract && x[0] & RLX_KERNEL_FROM_ZERO && i[3] == 0 && i[4] == 0;
        double of_p = value_of((enum rlx_kernel_elem)b->buffers[x[6]].elem, p),
               of_q = contract ? value_of((enum rlx_kernel_elem)b->buffers[x[13]].elem, q) : 0;
        double v = contract ? (fresh ? 0 : value_of(e, acc)) + of_p * of_q : combine(x[0], value_of(e, acc), of_p);
        int64_t whole = (int64_t)v;
        b->plain &= v >= -0x1p23 && v <= 0x1p23; /* beyond, rounding and wrapping begin */
        if (rlx_kernel_elems[e].klass >= RLX_CLASS_F32)
            rlx_dtype_store_float(rlx_kernel_elems[e].dtype, acc, v);
        else
            memcpy(acc, &whole, b->buffers[x[1]].bytes);
    } while (b->fits && next_digits(i, extents, 5));
}

/* The numbers are small integers, whose sums do not depend on their order. */
static void model_partial(block *b)
{
    const int64_t *x = b->x;
    enum rlx_kernel_elem e = (enum rlx_kernel_elem)b->buffers[0].elem;
    int64_t i[5] = { 0 };
    if (is_empty(x + 20, 5))
        return;
    do {
        unsigned char *acc = element(b, x[1], x[2] + at_digits(i, x + 3, 3)),
                      *p = element(b, x[6], x[7] + at_digits(i, x + 8, 5)),
                      *q = element(b, x[13], x[14] + at_digits(i, x + 15, 5));
        if (!acc || !p || !q)
            return;
        double d = value_of(e, p) - value_of(e, q), sum = value_of(e, acc);
        if (x[0] & RLX_KERNEL_PARTIAL_FROM_ZERO && !i[3] && !i[4])
            sum = 0;
        sum += (x[0] & 3) == RLX_KERNEL_VALUE_SQUARE       ? d * d
               : (x[0] & 3) == RLX_KERNEL_VALUE_OWN_SQUARE ? value_of(e, p) * value_of(e, p)
                                                           : value_of(e, p);
        b->plain &= sum <= 0x1p23;
        rlx_dtype_store_float(rlx_kernel_elems[e].dtype, acc, sum);
    } while (b->fits && next_digits(i, x + 20, 5));
}

static void model_normalize(block *b)
{
    const int64_t *x = b->x, *extents = x + 3 + 4 * RLX_NORMALIZE_SIDES;
    int64_t i[2] = { 0 };
    if (is_empty(extents, 2))
        return;
    do {
        static const float missing[RLX_NORMALIZE_SIDES] = { 0, 0, 0, 1, 1, 0, 0 };
        float v[RLX_NORMALIZE_SIDES], bound;
        unsigned char *to = NULL;
        for (int k = 0; k < RLX_NORMALIZE_SIDES; k++) {
            const int64_t *side = x + 3 + 4 * k;
            bool there = k < 2 || x[0] >> (k - 2) & 1;
            unsigned char *p = there ? element(b, side[0], side[1] + at_digits(i, side + 2, 2)) : NULL;
            if (there && !p)
                return;
            v[k] = p ? (float)value_of(RLX_ELEM_F32, p) : missing[k];
            to = k ? to : p;
        }
        v[1] = (v[1] - v[2]) * v[3] * v[4];
        v[1] = x[0] & 8 ? v[1] + v[5] : v[1];
        v[1] = x[0] & 16 ? v[1] + v[6] : v[1];
        for (int k = 0; k < 2 && x[0] & RLX_NORMALIZE_BOUNDED; k++) {
            uint32_t bits = (uint32_t)x[1 + k];
            memcpy(&bound, &bits, sizeof bound);
            v[1] = (k ? v[1] > bound : v[1] < bound) ? bound : v[1];
        }
        memcpy(to, &v[1], sizeof v[1]);
    } while (b->fits && next_digits(i, extents, 2));
}

static float mapped(int64_t function, float a, float b)
{
    switch (function) {
    case RLX_KERNEL_MAP_ADD: return a + b;
    case RLX_KERNEL_MAP_SUB: return a - b;
    case RLX_KERNEL_MAP_MUL: return a * b;
    case RLX_KERNEL_MAP_DIV: return a / b;
    case RLX_KERNEL_MAP_RECIPROCAL: return 1 / b;
    case RLX_KERNEL_MAP_LOG: return rlx_log_f32(b);
    default: return rlx_exp_f32(a - b);
    }
}

static void model_map(block *b)
{
    const int64_t *x = b->x;
    int64_t i[2] = { 0 };
    if (is_empty(x + 13, 2))
        return;
    do {
        float v[2];
        unsigned char *d = element(b, x[1], x[2] + at_digits(i, x + 3, 2)),
                      *p = element(b, x[5], x[6] + at_digits(i, x + 7, 2)),
                      *q = element(b, x[9], x[10] + at_digits(i, x + 11, 2));
        if (!d || !p || !q)
            return;
        memcpy(v, p, sizeof *v);
        memcpy(v + 1, q, sizeof *v);
        v[0] = mapped(x[0], v[0], v[1]);
        memcpy(d, v, sizeof *v);
    } while (b->fits && next_digits(i, x + 13, 2));
}

/* Fills in what is wanted, and whether it is known. */
static bool model(block *b)
{
    const int64_t *extents = b->x + (b->op == RLX_K_COPY       ? 4
                                     : b->op == RLX_K_PACK     ? 10
                                     : b->op == RLX_K_UNPACK                             ? 8
                                     : b->op == RLX_K_CONTRACT || b->op == RLX_K_PARTIAL ? 20
                                     : b->op == RLX_K_NORMALIZE                          ? 25
                                                                                         : 13);
    int dimensions = b->op == RLX_K_COPY || b->op == RLX_K_UNPACK ? 4
                     : b->op == RLX_K_PACK      ? 3
                     : b->op == RLX_K_NORMALIZE || b->op == RLX_K_MAP ? 2
                                                : 5;
    b->fits = true;
    if (!is_small(extents, dimensions) ||
        (b->op == RLX_K_PACK && (b->x[5] > 300 || (b->x[5] > 0 && b->x[7] <= 0))))
        return false;
    if (b->op == RLX_K_COPY)
        model_copy(b);
    else if (b->op == RLX_K_PACK)
        model_pack(b);
    else if (b->op == RLX_K_UNPACK)
        model_unpack(b);
    else if (b->op == RLX_K_PARTIAL)
        model_partial(b);
    else if (b->op == RLX_K_NORMALIZE)
        model_normalize(b);
    else if (b->op == RLX_K_MAP)
        model_map(b);
    else
        model_sum(b, b->op == RLX_K_CONTRACT);
    return true;
}

/* ---- the instruction -------------------------------------------------------------------------- */

static int stop_soon(void *left) { return --*(int *)left < 0; }

/* polls: those that let it go on */
static bool run(block *b, const rlx_micro_set *set, unsigned char *const *data, int polls, rlx_fault *why)
{
    rlx_kernel k = { .num_buffers = (uint32_t)b->num_buffers, .buffers = b->buffers, .names = "k" };
    rlx_kernel_view views[MOST_BUFFERS];
    rlx_kernel_env env;
    rlx_memory memory;
    int left = polls;
    rlx_memory_init(&memory, NULL, SIZE_MAX);
    rlx_kernel_env_init(&env, &memory);
    env.poll = stop_soon;
    env.poll_user = &left;
    for (int i = 0; i < b->num_buffers; i++)
        views[i] = (rlx_kernel_view){ data[i], b->count[i], &b->count[i] };
    rlx_kernel_run r = { .k = &k, .env = &env, .views = views, .why = why, .micro = set };
    int64_t x[RLX_KERNEL_BLOCK_OPERANDS];
    memcpy(x, b->x, sizeof x);
    return rlx_kernel_block(&r, b->op, x);
}

static void show(const block *b, uint64_t seed, const char *set)
{
    print_message("BLOCK %llu, %s: %s", (unsigned long long)seed, set, rlx_kernel_ops[b->op].text);
    for (size_t i = 0; i < strlen(rlx_kernel_ops[b->op].operands); i++)
        print_message(" %lld", (long long)b->x[i]);
    print_message("; sizes %lld %lld %lld, fits %d\n", (long long)b->count[0],
                  (long long)b->count[1], (long long)b->count[2], b->fits);
}

static const char *const sets[] = { "baseline", "avx2", "avx512", "avx512vnni", "avx512amx", "neon", "neondot" };
static size_t compared, refused, sets_run;

static void one_block(uint64_t seed)
{
    block b;
    make(&b, seed);
    bool known = model(&b);
    for (size_t s = 0; s < RLX_COUNT(sets); s++) {
        const rlx_micro_set *set = rlx_micro_find(sets[s]);
        unsigned char *data[MOST_BUFFERS] = { NULL };
        rlx_fault why = { 0 };
        if (!set)
            continue;
        for (int i = 0; i < b.num_buffers; i++) { /* of the very size, so that a sanitizer sees */
            size_t bytes = (size_t)b.count[i] * b.buffers[i].bytes;
            data[i] = memcpy(malloc(bytes), b.data[i], bytes);
        }
        bool ok = run(&b, set, data, 2, &why);
        sets_run++;
        /* the box of two digits may be larger than what is read of it */
        bool right = !known || ok == b.fits || (b.op == RLX_K_PACK && !ok);
        for (int i = 0; i < b.num_buffers && right && known && ok && b.plain; i++)
            right = memcmp(data[i], b.want[i], (size_t)b.count[i] * b.buffers[i].bytes) == 0;
        if (!right) {
            show(&b, seed, sets[s]);
            fail_msg("%s", ok ? "wrong" : why.text);
        }
        compared += known && ok && b.plain;
        refused += !ok;
        for (int i = 0; i < b.num_buffers; i++)
            free(data[i]);
    }
    for (int i = 0; i < b.num_buffers; i++) {
        free(b.data[i]);
        free(b.want[i]);
    }
}

static void random_blocks(void **state)
{
    uint64_t count = getenv("RELAX_LONG") ? 2000000 : 60000;
    for (uint64_t seed = 1; seed <= count; seed++)
        one_block(seed);
    print_message("%zu blocks compared, %zu refused\n", compared, refused);
    assert_true(compared > sets_run / 10 && refused > sets_run / 4); /* of each set that this machine has */
}

/* Sums of bytes that are cut into several pieces: of rows, of panels of columns, of turns. */
static void large_dots(void **state)
{
    static const struct { int64_t panels, rows, turns; } sizes[] = { { 3, 70, 700 }, { 1, 700, 300 }, { 5, 3, 9000 }, { 1, 2, 90000 } };
    for (size_t n = 0; n < RLX_COUNT(sizes); n++)
        for (int signs = 0; signs < 4; signs++) {
            const int64_t panels = sizes[n].panels, rows = sizes[n].rows, turns = sizes[n].turns, wide = 32 * panels;
            const enum rlx_kernel_elem elems[3] = { RLX_ELEM_I32, signs & 1 ? RLX_ELEM_I8 : RLX_ELEM_U8, signs & 2 ? RLX_ELEM_I8 : RLX_ELEM_U8 };
            block b = { .seed = n + 1, .op = RLX_K_CONTRACT, .num_buffers = 3, .count = { rows * wide, rows * turns * 4, wide * turns * 4 } };
            const int64_t x[] = { RLX_KERNEL_FROM_ZERO, 0, 0, 32, wide, 1, 1, 0, 0, 4 * turns, 0, 4, 1,
                                  2, 0, 128 * turns, 0, 4, 128, 1, panels, rows, 32, turns, 4 };
            memcpy(b.x, x, sizeof x);
            for (int i = 0; i < 3; i++) {
                b.buffers[i] = (rlx_kernel_buffer){ .elem = elems[i], .bytes = i ? 1 : 4 };
                b.data[i] = malloc((size_t)b.count[i] * b.buffers[i].bytes);
                for (int64_t k = 0; k < b.count[i] && i; k++)
                    b.data[i][k] = (unsigned char)roll(&b, 256);
            }
            uint32_t *got = (uint32_t *)b.data[0], *want = malloc((size_t)b.count[0] * sizeof *want);
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < wide; j++) {
                    const unsigned char *p = b.data[1] + i * 4 * turns, *q = b.data[2] + (j / 32 * turns * 32 + j % 32) * 4;
                    uint32_t sum = 0;
                    for (int64_t k = 0; k < 4 * turns; k++) {
                        unsigned char y = q[k / 4 * 128 + k % 4];
                        sum += (uint32_t)((signs & 1 ? (int8_t)p[k] : p[k]) * (signs & 2 ? (int8_t)y : y));
                    }
                    want[i * wide + j] = sum;
                }
            for (size_t s = 0; s < RLX_COUNT(sets); s++) {
                const rlx_micro_set *set = rlx_micro_find(sets[s]);
                rlx_fault why = { 0 };
                memset(got, 0x55, (size_t)b.count[0] * sizeof *got);
                if (set && !run(&b, set, b.data, INT32_MAX, &why))
                    fail_msg("%s: %s", set->name, why.text);
                if (set && memcmp(got, want, (size_t)b.count[0] * sizeof *want) != 0)
                    fail_msg("%s: %lld x %lld x %lld, signs %d", set->name, (long long)rows, (long long)wide, (long long)turns, signs);
            }
            for (int i = 0; i < 3; i++)
                free(b.data[i]);
            free(want);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_blocks), cmocka_unit_test(large_dots) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
