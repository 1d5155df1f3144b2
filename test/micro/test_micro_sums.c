/* test_micro_sums.c: sums of products, and reductions, of every set that this machine has: the numbers of one loop in
 * plain C, bit by bit, and no byte outside of the box. */
/* built for speed */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "fenced.h"
#include "format/kernel_math.h"
#include "micro/micro.h"

enum { ROOM = 1 << 20 };
static fenced acc_memory, a_memory, b_memory;
static unsigned char *before, *want;

/* ---- numbers -------------------------------------------------------------------------------- */

enum mood { SMOOTH, TIES, WILD, MOODS };

/* Short numbers of far apart sizes: halves of a last place, and a little more or less, come up all the time. */
static double short_number(void)
{
    double x = ldexp((double)(1 + below(1 << (1 + below(12)))), (int)below(40) - 26);
    return once_in(2) ? -x : x;
}

static double wild_number(bool wide)
{
    static const double odd[] = { 0.0,  -0.0,     INFINITY, -INFINITY, NAN,        1e-45, -1e-45,
                                  1e-40, 1.2e-38, 3.4e38,   -3.4e38,   1.00000012, 1e-20, -1.0 };
    static const double odd_wide[] = { 5e-324, -5e-324, 2e-308, 1.7e308, 1e-160, -1e-160 };
    if (!once_in(12))
        return ldexp((double)below(1 << 24) - (1 << 23), (int)below(60) - 50);
    return wide && once_in(2) ? odd_wide[below(6)] : odd[below(14)];
}

static double number(enum mood mood, bool wide)
{
    if (mood == WILD && once_in(3))
        return wild_number(wide);
    return mood == TIES ? short_number() : ldexp((double)below(1 << 24) - (1 << 23), -22);
}

static void fill(unsigned char *p, size_t size, enum rlx_kernel_elem e, enum mood mood)
{
    size_t n = size / (size_t)rlx_kernel_elems[e].bytes;
    for (size_t i = 0; i < n; i++)
        switch (e) {
        case RLX_ELEM_F32: ((float *)p)[i] = (float)number(mood, false); break;
        case RLX_ELEM_F64: ((double *)p)[i] = number(mood, true); break;
        case RLX_ELEM_I32:
        case RLX_ELEM_U32: ((uint32_t *)p)[i] = (uint32_t)(random_bits() * 0x9e3779b97f4a7c15u >> 13); break;
        default: ((uint64_t *)p)[i] = random_bits() * 0x9e3779b97f4a7c15u; break;
        }
}

/* ---- what it should be ---------------------------------------------------------------------- */

#define FOR_ALL(T, ...)                                                                             \
    for (int64_t i = 0; i < s->rows; i++)                                                           \
        for (int64_t j = 0; j < s->columns; j++) {                                                  \
            T *acc = (T *)s->acc + i * s->acc_i + j * s->acc_j;                                     \
            *acc = s->fresh ? 0 : *acc;                                                             \
            for (int64_t n = 0; n < s->turns * s->depth; n++) {                                     \
                int64_t t = n / s->depth, k = n % s->depth;                                         \
                T a = ((const T *)s->a)[i * s->a_i + j * s->a_j + t * s->a_t + k * s->a_k];         \
                T b = s->b ? ((const T *)s->b)[i * s->b_i + j * s->b_j + t * s->b_t + k * s->b_k]   \
                           : 0;                                                                     \
                *acc = __VA_ARGS__;                                                                 \
                (void)b;                                                                            \
            }                                                                                       \
        }

static void contract_plainly(const rlx_micro_sum *s, enum rlx_kernel_elem e, bool exact)
{
    volatile double product;
    volatile float product_f32;
    switch (e) {
    case RLX_ELEM_F32:
        FOR_ALL(float, exact ? fmaf(a, b, *acc) : (product_f32 = a * b, *acc + product_f32))
        break;
    case RLX_ELEM_F64:
        FOR_ALL(double, exact ? fma(a, b, *acc) : (product = a * b, *acc + product))
        break;
    case RLX_ELEM_I32:
    case RLX_ELEM_U32: FOR_ALL(uint32_t, *acc + a * b) break;
    default: FOR_ALL(uint64_t, *acc + a * b) break;
    }
}

#define LEAST(x, y) ((x) < (y) ? (x) : (y))
#define GREATEST(x, y) ((x) > (y) ? (x) : (y))
/* NaN wins, -0 < +0. */
static double least(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x == y ? (signbit(x) ? x : y) : LEAST(x, y);
}
static double greatest(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x == y ? (signbit(x) ? y : x) : GREATEST(x, y);
}

#define REDUCE_ALL(T, signed_T, low, high)                                                   \
    switch (op) {                                                                            \
    case RLX_KERNEL_REDUCE_ADD: FOR_ALL(T, *acc + a) break;                                  \
    case RLX_KERNEL_REDUCE_MUL: FOR_ALL(T, *acc *a) break;                                   \
    case RLX_KERNEL_REDUCE_MIN: FOR_ALL(T, (T)low((signed_T)*acc, (signed_T)a)) break;       \
    default: FOR_ALL(T, (T)high((signed_T)*acc, (signed_T)a)) break;                         \
    }
static void reduce_plainly(const rlx_micro_sum *s, enum rlx_kernel_elem e, int op)
{
    switch (e) {
    case RLX_ELEM_F32: REDUCE_ALL(float, float, least, greatest) break;
    case RLX_ELEM_F64: REDUCE_ALL(double, double, least, greatest) break;
    case RLX_ELEM_I32: REDUCE_ALL(uint32_t, int32_t, LEAST, GREATEST) break;
    case RLX_ELEM_U32: REDUCE_ALL(uint32_t, uint32_t, LEAST, GREATEST) break;
    case RLX_ELEM_I64: REDUCE_ALL(uint64_t, int64_t, LEAST, GREATEST) break;
    default: REDUCE_ALL(uint64_t, uint64_t, LEAST, GREATEST) break;
    }
}

/* A NaN may have any payload. */
static void join_nans(enum rlx_kernel_elem e, size_t size)
{
    for (size_t i = 0; i < size / 4 && e == RLX_ELEM_F32; i++)
        if (isnan(((float *)want)[i]) && isnan(((float *)acc_memory.bytes)[i]))
            memcpy(want + i * 4, acc_memory.bytes + i * 4, 4);
    for (size_t i = 0; i < size / 8 && e == RLX_ELEM_F64; i++)
        if (isnan(((double *)want)[i]) && isnan(((double *)acc_memory.bytes)[i]))
            memcpy(want + i * 8, acc_memory.bytes + i * 8, 8);
}

/* ---- boxes ---------------------------------------------------------------------------------- */

/* How the two sides lie: every fast way of a set, and some that are none. */
enum layout {
    PANELS,        /* a in panels of rows, b in panels of columns */
    A_IN_PLACE,    /* b in panels */
    MANY_TILES,    /* b in panels, that some tiles read in turns */
    ONE_ROW,       /* by panels behind each other */
    BOTH_IN_PLACE,
    FEW_ROWS,      /* many columns in place */
    WINDOWS,       /* each row its own b */
    WINDOWS_BY_TWO,
    SHORT_WINDOWS, /* rows side by side */
    WINDOWS_BELOW, /* turns are rows below each other, each part of several sums */
    B_TRANSPOSED,
    ACC_TRANSPOSED,
    B_ONE,         /* b is one for all columns, a contiguous */
    ELEMENTS,      /* a and b along the columns */
    ONE_COLUMN,
    ANY,
    LAYOUTS
};
static const char *const layout_names[LAYOUTS] = {
    "panels", "a in place", "many tiles", "one row", "both in place", "few rows", "windows", "windows by two", "short windows", "windows below each other", "b transposed",
    "acc transposed", "b one", "elements", "one column", "any"
};

static int64_t any_stride(void) { return below(9) - 3; }

static rlx_micro_sum random_sum(enum layout layout)
{
    rlx_micro_sum s = { .rows = 1 + below(15), .columns = 1 + below(70), .depth = 1 + below(20),
                        .turns = once_in(2) ? 1 : 1 + below(4), .fresh = once_in(3) };
    if (once_in(8))
        s.depth = 1 + below(70);
    if (layout == PANELS)
        s.rows = once_in(2) ? 8 : 1 + below(8);
    if (layout == PANELS || layout == A_IN_PLACE)
        s.columns = once_in(4) ? 32 : 1 + below(32);
    if (layout == MANY_TILES)
        s.rows = 1 + below(40), s.columns = 1 + below(32), s.depth = 100 + below(200), s.turns = 1 + once_in(4);
    if (layout == ONE_ROW)
        s.rows = 1 + below(4), s.columns = 32;
    if (layout == FEW_ROWS)
        s.rows = 1 + below(4), s.columns = 1 + below(700), s.depth = 1 + below(30);
    if (layout == ONE_COLUMN)
        s.columns = 1, s.depth = 1 + below(300);
    if (layout == B_TRANSPOSED && once_in(2)) /* few rows by columns that may be turned in registers */
        s.rows = 1 + below(4), s.columns = 1 + below(100), s.depth = 4 * (1 + below(20)), s.turns = 1 + once_in(4);
    if (layout == SHORT_WINDOWS)
        s.rows = 1 + below(8), s.columns = 1 + below(9), s.fresh = !once_in(4);
    if (layout == WINDOWS_BELOW)
        s.turns = 1 + below(8), s.depth = 1 + below(9), s.fresh = !once_in(4);
    int64_t wide = s.columns + below(3), deep = s.depth + below(3);
    s.acc_i = wide, s.acc_j = 1;
    s.a_i = deep, s.a_k = 1;
    s.b_j = 1, s.b_k = wide;
    s.a_t = s.turns == 1 ? 0 : below(2) * deep, s.b_t = s.turns == 1 ? 0 : below(40) - 5;
    switch (layout) {
    case PANELS: s.a_i = 1, s.a_k = 8, s.b_k = 32; break;
    case A_IN_PLACE: case MANY_TILES: s.b_k = 32; break;
    case ONE_ROW: s.a_i = 0, s.b_i = 32 * s.depth, s.b_k = 32; break;
    case WINDOWS: s.a_i = below(2), s.b_i = below(100), s.b_k = 1 + below(3); break;
    case WINDOWS_BY_TWO:
        s.a_i = below(2) * deep, s.b_i = below(2) * (1 + below(100)), s.b_j = 2, s.b_k = 1 + below(3);
        break;
    case SHORT_WINDOWS: s.a_i = 0, s.b_i = s.columns + below(5), s.b_k = 1 + below(3); break;
    case WINDOWS_BELOW:
        s.a_i = 0, s.a_t = deep, s.b_i = s.columns + s.depth + below(5), s.b_t = s.b_i, s.b_k = 1;
        break;
    case B_TRANSPOSED: s.b_j = deep, s.b_k = 1; break;
    case ACC_TRANSPOSED: s.acc_j = s.rows + below(2), s.acc_i = 1; break;
    case B_ONE: s.a_i = wide * s.depth, s.a_j = 1, s.a_k = wide, s.b_j = 0, s.b_i = below(2) * deep, s.b_k = 1; break;
    case ELEMENTS: s.a_j = 1, s.a_i = wide, s.a_k = below(2) * wide; break;
    case ONE_COLUMN: s.b_i = below(2) * deep, s.b_k = 1; break;
    case ANY:
        s.acc_j = 2, s.acc_i = 2 * wide + 1;
        s.a_i = any_stride(), s.a_j = any_stride(), s.a_k = any_stride();
        s.b_i = any_stride(), s.b_j = any_stride(), s.b_k = any_stride();
        break;
    default: break;
    }
    return s;
}

static void *place(fenced f, const rlx_micro_sum *s, int64_t i, int64_t j, int64_t t, int64_t k, size_t bytes)
{
    int64_t low = 0, high = 0, ends[4] = { i * (s->rows - 1), j * (s->columns - 1), t * (s->turns - 1),
                                           k * (s->depth - 1) };
    for (int n = 0; n < 4; n++)
        ends[n] < 0 ? (low += ends[n]) : (high += ends[n]);
    return fenced_place(f, low, high, bytes, once_in(2));
}

static const char *const set_names[] = { "baseline", "avx2", "avx512", "avx512vnni", "avx512amx", "neon", "neondot" };

static const char *const elem_names[RLX_ELEM_COUNT] = {
#define INTEGER(name, elem, text, ...) text,
#define NARROW(name, elem, text, ...) text,
#define REAL(name, elem, text, ...) text,
#include "base/dtype.def"
};

/* One box by all sets; b not read for op >= 0, a reduction. */
static void try_box(const rlx_micro_sum *box, enum rlx_kernel_elem e, bool exact, int op, enum mood mood,
                    const char *layout)
{
    rlx_micro_sum s = *box;
    size_t bytes = (size_t)rlx_kernel_elems[e].bytes, used = 1 << 16;
    s.acc = place(acc_memory, &s, s.acc_i, s.acc_j, 0, 0, bytes);
    s.a = place(a_memory, &s, s.a_i, s.a_j, s.a_t, s.a_k, bytes);
    s.b = op < 0 ? place(b_memory, &s, s.b_i, s.b_j, s.b_t, s.b_k, bytes) : NULL;
    /* the pieces of memory at the fences */
    fill(acc_memory.bytes, used, e, mood);
    fill(acc_memory.bytes + acc_memory.size - used, used, e, mood);
    memcpy(before, acc_memory.bytes, acc_memory.size);
    op < 0 ? contract_plainly(&s, e, exact) : reduce_plainly(&s, e, op);
    memcpy(want, acc_memory.bytes, acc_memory.size);
    for (size_t n = 0; n < sizeof set_names / sizeof *set_names; n++) {
        const rlx_micro_set *set = rlx_micro_find(set_names[n]);
        if (!set)
            continue;
        memcpy(acc_memory.bytes, before, acc_memory.size);
        (op < 0 ? set->contract[exact][e] : set->reduce[op][e])(&s);
        join_nans(e, acc_memory.size);
        if (memcmp(want, acc_memory.bytes, acc_memory.size) == 0)
            continue;
        size_t at = 0;
        while (want[at] == acc_memory.bytes[at])
            at++;
        fail_msg("set %s, %s, %s, exact %d, op %d, fresh %d: %lld x %lld x %lld x %lld, acc %lld %lld, a %lld %lld %lld, b %lld "
                 "%lld %lld: element %lld of the memory, box at %lld",
                 set->name, layout, elem_names[e], exact, op, s.fresh, (long long)s.rows, (long long)s.columns,
                 (long long)s.turns, (long long)s.depth, (long long)s.acc_i, (long long)s.acc_j, (long long)s.a_i,
                 (long long)s.a_j, (long long)s.a_k, (long long)s.b_i, (long long)s.b_j, (long long)s.b_k,
                 (long long)(at / bytes), (long long)(((unsigned char *)s.acc - acc_memory.bytes) / (long)bytes));
    }
}

static const enum rlx_kernel_elem elems[] = { RLX_ELEM_F32, RLX_ELEM_F64, RLX_ELEM_I32,
                                              RLX_ELEM_U32, RLX_ELEM_I64, RLX_ELEM_U64 };

/* All boxes of one element type and mood read the same numbers. */
static void test_contract(void **state)
{
    int rounds = rounds_of(25);
    for (int e = 0; e < 6; e++)
        for (int exact = 0; exact < 2 && (e < 2 || !exact); exact++)
            for (int mood = 0; mood < (e < 2 ? MOODS : 1); mood++) {
                fill(a_memory.bytes, a_memory.size, elems[e], (enum mood)mood);
                fill(b_memory.bytes, b_memory.size, elems[e], (enum mood)mood);
                for (int layout = 0; layout < LAYOUTS; layout++)
                    for (int n = 0; n < rounds; n++) {
                        rlx_micro_sum s = random_sum((enum layout)layout);
                        try_box(&s, elems[e], exact, -1, (enum mood)mood, layout_names[layout]);
                    }
            }
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static int32_t byte_at(const void *p, int64_t i, bool has_sign)
{
    return has_sign ? ((const int8_t *)p)[i] : ((const uint8_t *)p)[i];
}

static void dot_plainly(const rlx_micro_sum *s)
{
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = 0; j < s->columns; j++) {
            uint32_t *acc = (uint32_t *)s->acc + i * s->acc_i + j * s->acc_j;
            *acc = s->fresh ? 0 : *acc;
            for (int64_t t = 0; t < s->turns; t++)
                for (int64_t k = 0; k < s->depth; k++)
                    *acc += (uint32_t)byte_at(s->a, i * s->a_i + j * s->a_j + t * s->a_t + k * s->a_k, s->a_signed) *
                            (uint32_t)byte_at(s->b, i * s->b_i + j * s->b_j + t * s->b_t + k * s->b_k, s->b_signed);
        }
}

static void try_dot(const rlx_micro_sum *box, const char *layout)
{
    rlx_micro_sum s = *box, whole = s;
    size_t used = 1 << 16;
    /* panels of b are read as a whole, and nothing beyond */
    whole.columns = s.b_fours ? (s.columns + 31) / 32 * 32 : s.columns;
    s.acc = place(acc_memory, &s, s.acc_i, s.acc_j, 0, 0, 4);
    s.a = place(a_memory, &s, s.a_i, s.a_j, s.a_t, s.a_k, 1);
    s.b = place(b_memory, &whole, s.b_i, s.b_j, s.b_t, s.b_k, 1);
    fill(acc_memory.bytes, used, RLX_ELEM_U32, SMOOTH);
    fill(acc_memory.bytes + acc_memory.size - used, used, RLX_ELEM_U32, SMOOTH);
    memcpy(before, acc_memory.bytes, acc_memory.size);
    dot_plainly(&s);
    memcpy(want, acc_memory.bytes, acc_memory.size);
    for (size_t n = 0; n < sizeof set_names / sizeof *set_names; n++) {
        const rlx_micro_set *set = rlx_micro_find(set_names[n]);
        if (!set)
            continue;
        memcpy(acc_memory.bytes, before, acc_memory.size);
        set->dot(&s);
        if (memcmp(want, acc_memory.bytes, acc_memory.size) != 0)
            fail_msg("set %s, bytes %s, signed %d %d, fresh %d: %lld x %lld x %lld x %lld, a %lld %lld %lld, b %lld %lld %lld",
                     set->name, layout, s.a_signed, s.b_signed, s.fresh, (long long)s.rows, (long long)s.columns,
                     (long long)s.turns, (long long)s.depth, (long long)s.a_i, (long long)s.a_t, (long long)s.a_k,
                     (long long)s.b_j, (long long)s.b_t, (long long)s.b_k);
    }
}

/* Steps in fours, both sides in panels or a in place. */
static rlx_micro_sum random_fours(void)
{
    static const int64_t turns[] = { 1, 2, 5, 73, 250 }, rows[] = { 1, 2, 7, 8, 16, 31, 33 }, columns[] = { 1, 7, 31, 32, 33, 100 };
    rlx_micro_sum s = { .rows = rows[below(7)], .columns = columns[below(6)], .turns = turns[below(5)], .depth = 4,
                        .acc_j = 1, .a_k = 1, .b_k = 1, .b_j = 4, .b_fours = true };
    s.acc_i = s.columns + below(3);
    s.b_t = (s.columns + 31) / 32 * 128 + 4 * below(2);
    s.a_i = once_in(2) ? 4 : s.turns * 4 + below(4);
    s.a_t = s.a_i == 4 ? 4 * s.rows : 4;
    return s;
}

/* The same of groups: what one call computes is what each group alone is. */
static void compare_dot_groups(const rlx_micro_sum *sum, const rlx_micro_groups *groups)
{
    const rlx_micro_sum s = *sum;
    const rlx_micro_groups g = *groups;
    fill(acc_memory.bytes, acc_memory.size, RLX_ELEM_U32, SMOOTH);
    memcpy(before, acc_memory.bytes, acc_memory.size);
    for (int64_t i = 0; i < g.count; i++) {
        rlx_micro_sum one = s;
        one.acc = (uint32_t *)s.acc + i * g.acc, one.a = (const char *)s.a + i * g.a, one.b = (const char *)s.b + i * g.b;
        dot_plainly(&one);
    }
    memcpy(want, acc_memory.bytes, acc_memory.size);
    for (size_t n = 0; n < sizeof set_names / sizeof *set_names; n++) {
        const rlx_micro_set *set = rlx_micro_find(set_names[n]);
        if (!set || !set->dot_groups)
            continue;
        memcpy(acc_memory.bytes, before, acc_memory.size);
        if (set->dot_groups(&s, &g) && memcmp(want, acc_memory.bytes, acc_memory.size) != 0)
            fail_msg("set %s, %lld groups of bytes, signed %d %d, fresh %d: %lld x %lld x %lld, a %lld %lld %lld, b %lld, acc %lld %lld",
                     set->name, (long long)g.count, s.a_signed, s.b_signed, s.fresh, (long long)s.rows, (long long)s.columns,
                     (long long)s.turns, (long long)g.a, (long long)s.a_i, (long long)s.a_t, (long long)g.b, (long long)g.acc,
                     (long long)s.acc_i);
    }
}

/* Panels of columns for the same rows. */
static bool try_dot_panels(const rlx_micro_sum *box)
{
    rlx_micro_sum s = *box, panels = s, sums = s;
    rlx_micro_groups g = { 1 + below(5), s.columns + below(3), 0, s.turns * s.b_t };
    panels.rows = g.count, panels.columns = (s.columns + 31) / 32 * 32;
    sums.columns = g.count * g.acc;
    s.acc_i = sums.columns + below(3);
    s.a = place(a_memory, &s, s.a_i, 0, s.a_t, s.a_k, 1);
    s.b = place(b_memory, &panels, g.b, s.b_j, s.b_t, s.b_k, 1);
    s.acc = place(acc_memory, &sums, s.acc_i, 1, 0, 0, 4);
    compare_dot_groups(&s, &g);
    const rlx_micro_set *widest = rlx_micro_find(NULL);
    return widest->dot_groups && widest->dot_groups(&s, &g) && g.count > 1;
}

/* Rows that share b. */
static void try_dot_groups(const rlx_micro_sum *box)
{
    rlx_micro_sum s = *box, whole = s, groups_of_rows = s;
    rlx_micro_groups g = { 1 + below(6), s.rows * s.acc_i + below(2), s.rows * s.a_i, 0 };
    if (s.a_i == 4)
        g.a = s.turns * s.a_t + 4 * below(2); /* panels after each other */
    whole.columns = (s.columns + 31) / 32 * 32;
    groups_of_rows.rows = g.count, groups_of_rows.columns = s.rows;
    s.a = place(a_memory, &groups_of_rows, g.a, s.a_i, s.a_t, s.a_k, 1);
    s.b = place(b_memory, &whole, 0, s.b_j, s.b_t, s.b_k, 1);
    whole = s;
    whole.rows = (g.count * g.acc + s.acc_i - 1) / s.acc_i;
    s.acc = place(acc_memory, &whole, s.acc_i, 1, 0, 0, 4);
    compare_dot_groups(&s, &g);
}

/* Every byte of both sides the least or the greatest that there is, or any. */
static void test_dot(void **state)
{
    static const unsigned char edges[] = { 0x80, 0x7f, 0xff, 0 };
    int known = 0;
    for (int mood = 0; mood < 6; mood++) {
        fill(a_memory.bytes, a_memory.size, RLX_ELEM_U32, SMOOTH);
        fill(b_memory.bytes, b_memory.size, RLX_ELEM_U32, SMOOTH);
        if (mood > 1) {
            memset(a_memory.bytes, edges[mood % 4], a_memory.size);
            memset(b_memory.bytes, edges[mood == 2 ? 2 : mood == 3 ? 0 : below(4)], b_memory.size);
        }
        for (int n = 0; n < rounds_of(16); n++)
            for (int signs = 0; signs < 4; signs++) {
                rlx_micro_sum s = n % 4 ? random_fours() : random_sum((enum layout)(n / 4 % LAYOUTS));
                s.fresh = once_in(2);
                s.a_signed = signs & 1, s.b_signed = signs & 2;
                try_dot(&s, s.b_fours ? "in fours" : layout_names[n / 4 % LAYOUTS]);
                if (n % 4)
                    try_dot_groups(&s);
                if (n % 4)
                    known += try_dot_panels(&s);
            }
    }
    if (rlx_micro_find(NULL)->dot_groups && !known)
        fail_msg("no panels of columns that set %s knows", rlx_micro_find(NULL)->name);
}

/* Every number of rows, columns and turns up to 70: whole tiles of all sets, and all that is left of one. */
static void test_dot_ends(void **state)
{
    fill(a_memory.bytes, a_memory.size, RLX_ELEM_U32, SMOOTH);
    fill(b_memory.bytes, b_memory.size, RLX_ELEM_U32, SMOOTH);
    for (int n = 0; n < 3 * 70 * rounds_of(1); n++)
        for (int signs = 0; signs < 4; signs++) {
            int64_t extents[3] = { 1 + below(70), 1 + below(70), 1 + below(70) };
            extents[n % 3] = 1 + n / 3 % 70;
            rlx_micro_sum s = random_fours();
            s.rows = extents[0], s.columns = extents[1], s.turns = extents[2];
            s.acc_i = s.columns + below(3);
            s.b_t = (s.columns + 31) / 32 * 128 + 4 * below(2);
            s.a_i = s.turns * 4 + below(70), s.a_t = 4;
            s.fresh = once_in(2);
            s.a_signed = signs & 1, s.b_signed = signs & 2;
            try_dot(&s, "in fours");
            try_dot_groups(&s);
            try_dot_panels(&s);
        }
}

static void test_reduce(void **state)
{
    int rounds = rounds_of(15);
    for (int e = 0; e < 6; e++)
        for (int op = 0; op < RLX_KERNEL_REDUCE_COUNT; op++)
            for (int mood = 0; mood < (e < 2 ? MOODS : 1); mood++) {
                fill(a_memory.bytes, a_memory.size, elems[e], (enum mood)mood);
                for (int layout = 0; layout < LAYOUTS; layout++)
                    for (int n = 0; n < rounds; n++) {
                        rlx_micro_sum s = random_sum((enum layout)layout);
                        s.a_i = s.b_i, s.a_j = s.b_j, s.a_k = s.b_k;
                        s.a_t = s.b_t, s.fresh = false;
                        if (layout == WINDOWS_BELOW && once_in(2)) /* lines that windows share */
                            s.turns = s.depth = 3, s.a_k = 1 + below(3), s.a_i = s.a_t - (once_in(4) && s.a_t > 1);
                        if (rlx_micro_find(NULL)->reduce[op][elems[e]])
                            try_box(&s, elems[e], false, op, (enum mood)mood, layout_names[layout]);
                    }
            }
}

/* ---- partial sums --------------------------------------------------------------------------- */

/* How a and the sums lie: rows, columns beside each other, anything. */
static rlx_micro_partial random_partial(int layout)
{
    rlx_micro_partial s = { .rows = 1 + below(6), .columns = 1 + below(5), .turns = 1 + once_in(3) * below(3),
                            .depth = 1 + below(once_in(2) ? 20 : 150), .ends = true };
    if (layout == 1)
        s.columns = 1 + below(70), s.rows = 1 + below(3);
    if (layout == 1 && once_in(3))
        s.columns += below(230), s.rows = 1, s.depth = 1 + (s.depth - 1) % 70;
    int64_t wide = s.columns + below(3), deep = s.depth + below(3);
    s.acc_i = wide, s.acc_j = 1;
    s.b_i = wide, s.b_j = 1;
    if (layout == 0)
        s.a_k = 1, s.a_t = deep, s.a_j = deep * s.turns, s.a_i = s.a_j * s.columns;
    else if (layout == 1)
        s.a_j = 1, s.a_k = wide, s.a_t = wide * deep, s.a_i = s.a_t * s.turns;
    else {
        s.acc_j = 2, s.acc_i = 2 * wide + 1;
        s.a_i = any_stride(), s.a_j = any_stride(), s.a_t = any_stride(), s.a_k = any_stride();
        s.b_i = any_stride(), s.b_j = any_stride(), s.b_t = any_stride(), s.b_k = any_stride();
    }
    return s;
}

#define PARTIAL_PLAINLY(T)                                                                   \
    for (int64_t i = 0; i < s->rows; i++)                                                    \
        for (int64_t j = 0; j < s->columns; j++) {                                           \
            T p[32] = { 0 }, *acc = (T *)s->acc + i * s->acc_i + j * s->acc_j;               \
            for (int64_t t = 0; t < s->turns; t++)                                           \
                for (int64_t k = 0; k < s->depth; k++) {                                     \
                    volatile T x = ((const T *)s->a)[i * s->a_i + j * s->a_j + t * s->a_t + k * s->a_k]; \
                    if (value == RLX_KERNEL_VALUE_SQUARE) {                                  \
                        x = x - ((const T *)s->b)[i * s->b_i + j * s->b_j + t * s->b_t + k * s->b_k]; \
                        x = x * x;                                                           \
                    }                                                                        \
                    p[k % 32] += x;                                                          \
                }                                                                            \
            for (int w = 16; w > 1; w /= 2)                                                  \
                for (int l = 0; l < w; l++)                                                  \
                    p[l] += p[l + w];                                                        \
            *acc = *acc + p[0] + p[1];                                                       \
        }
static void partial_plainly(const rlx_micro_partial *s, enum rlx_kernel_elem e, int value)
{
    if (e == RLX_ELEM_F32)
        PARTIAL_PLAINLY(float)
    else
        PARTIAL_PLAINLY(double)
}

static void *partial_place(fenced f, const rlx_micro_partial *s, const int64_t *strides, size_t bytes)
{
    const int64_t extents[4] = { s->rows, s->columns, s->turns, s->depth };
    int64_t low = 0, high = 0;
    for (int n = 0; n < 4; n++)
        *(strides[n] < 0 ? &low : &high) += (extents[n] - 1) * strides[n];
    return fenced_place(f, low, high, bytes, once_in(2));
}

/* At once, or in two parts of the depth. */
static void run_partial(rlx_micro_partial_fn *f, const rlx_micro_partial *s, size_t bytes, bool parts)
{
    double kept[32 * 300] = { 0 };
    int64_t first = s->depth / 2 / 32 * 32;
    rlx_micro_partial part = *s;
    if (!parts || !first || s->turns > 1) {
        f(s);
        return;
    }
    for (int64_t i = 0; i < s->rows; i++) {
        memset(kept, 0, sizeof kept);
        part.partial = kept, part.rows = 1, part.depth = first, part.ends = false;
        part.acc = (char *)s->acc + i * s->acc_i * (int64_t)bytes;
        part.a = (const char *)s->a + i * s->a_i * (int64_t)bytes;
        part.b = (const char *)s->b + i * s->b_i * (int64_t)bytes;
        f(&part);
        part.a = (const char *)part.a + first * s->a_k * (int64_t)bytes;
        part.b = (const char *)part.b + first * s->b_k * (int64_t)bytes;
        part.depth = s->depth - first, part.ends = true;
        f(&part);
    }
}

static void try_partial(const rlx_micro_partial *box, enum rlx_kernel_elem e, int value, int layout)
{
    rlx_micro_partial s = *box;
    size_t bytes = (size_t)rlx_kernel_elems[e].bytes, used = 1 << 16;
    s.acc = partial_place(acc_memory, &s, (const int64_t[]){ s.acc_i, s.acc_j, 0, 0 }, bytes);
    s.a = partial_place(a_memory, &s, (const int64_t[]){ s.a_i, s.a_j, s.a_t, s.a_k }, bytes);
    s.b = partial_place(b_memory, &s, (const int64_t[]){ s.b_i, s.b_j, s.b_t, s.b_k }, bytes);
    fill(acc_memory.bytes, used, e, SMOOTH);
    fill(acc_memory.bytes + acc_memory.size - used, used, e, WILD);
    memcpy(before, acc_memory.bytes, acc_memory.size);
    partial_plainly(&s, e, value);
    memcpy(want, acc_memory.bytes, acc_memory.size);
    for (size_t n = 0; n < 2 * sizeof set_names / sizeof *set_names; n++) {
        const rlx_micro_set *set = rlx_micro_find(set_names[n / 2]);
        if (!set)
            continue;
        memcpy(acc_memory.bytes, before, acc_memory.size);
        run_partial(set->partial[value][e], &s, bytes, n % 2);
        join_nans(e, acc_memory.size);
        if (memcmp(want, acc_memory.bytes, acc_memory.size) != 0)
            fail_msg("set %s, layout %d, %s, value %d, parts %d: %lld x %lld x %lld x %lld", set->name, layout,
                     elem_names[e], value, (int)(n % 2), (long long)s.rows, (long long)s.columns,
                     (long long)s.turns, (long long)s.depth);
    }
}

static void test_partial(void **state)
{
    int rounds = rounds_of(60);
    for (int e = 0; e < 2; e++)
        for (int value = 0; value <= RLX_KERNEL_VALUE_SQUARE; value++)
            for (int mood = 0; mood < MOODS; mood++) {
                fill(a_memory.bytes, a_memory.size, elems[e], (enum mood)mood);
                fill(b_memory.bytes, b_memory.size, elems[e], (enum mood)mood);
                for (int layout = 0; layout < 3; layout++)
                    for (int n = 0; n < rounds; n++) {
                        rlx_micro_partial s = random_partial(layout);
                        if (value == RLX_KERNEL_VALUE_SQUARE && layout < 2 && once_in(2))
                            s.b_k = s.a_k;
                        try_partial(&s, elems[e], value, layout);
                    }
            }
}

/* ---- windows of many groups ------------------------------------------------------------------ */

/* Every group as the plain sum has it, whether a set knows a way for all of them or not: columns that move both operands, or a picture
 * for each group. */
/* Windows whose columns move both operands, or one. */
static void windows_of_groups(rlx_micro_sum *out, rlx_micro_groups *groups)
{
    int64_t by = 1 + once_in(3), wide = 1 + below(40), gap = below(5);
    const bool lanes = !once_in(4), swapped = once_in(2);
    rlx_micro_sum s = { .rows = 1 + below(19), .columns = wide, .turns = 1 + below(5), .depth = 1 + below(5), .fresh = !once_in(6) };
    s.acc_j = 1, s.acc_i = wide + once_in(6), s.a_k = 1, s.a_t = s.depth;
    s.b_j = lanes ? 1 : by, s.b_k = lanes ? wide + gap : by, s.b_i = s.b_k * by, s.b_t = s.b_k * (s.depth + below(3));
    rlx_micro_groups g = { 1 + below(5), s.rows * s.acc_i + below(3), lanes ? 0 : s.turns * s.depth, s.rows * s.b_i + below(40) };
    if (lanes)
        s.a_j = 1, s.a_k = wide, s.a_t = s.depth * wide;
    if (swapped) {
        rlx_micro_sum w = s;
        s.a_i = w.b_i, s.a_j = w.b_j, s.a_t = w.b_t, s.a_k = w.b_k, s.b_i = w.a_i, s.b_j = w.a_j, s.b_t = w.a_t, s.b_k = w.a_k;
        g = (rlx_micro_groups){ g.count, g.acc, g.b, g.a };
    }
    *out = s, *groups = g;
}

/* Panels of rows that share b: a panel of columns, rows in place, or a strip whose steps overlap. */
static void panels_of_groups(rlx_micro_sum *out, rlx_micro_groups *groups)
{
    const bool strip = once_in(3);
    rlx_micro_sum s = { .rows = RLX_PANEL_ROWS, .columns = 1 + below(80), .depth = 1 + below(strip ? 9 : 450), .turns = 1, .fresh = once_in(2) };
    if (strip)
        s.turns = 1 + below(200);
    s.acc_j = 1, s.acc_i = s.columns + below(3), s.a_i = 1, s.a_k = RLX_PANEL_ROWS, s.a_t = s.a_k * (s.depth + once_in(3));
    s.b_j = 1, s.b_k = strip ? 1 + below(2) : s.columns + below(20), s.b_t = s.columns + s.depth * s.b_k;
    *out = s;
    *groups = (rlx_micro_groups){ 1 + below(6), RLX_PANEL_ROWS * s.acc_i, s.turns * s.a_t + below(20), 0 };
}

static int64_t try_groups(void (*choose)(rlx_micro_sum *, rlx_micro_groups *))
{
    int64_t known = 0;
    rlx_micro_sum s;
    rlx_micro_groups g;
    choose(&s, &g);
    int64_t to = (g.count - 1) * g.acc + (s.rows - 1) * s.acc_i + s.columns - 1,
            a = (g.count - 1) * g.a + (s.rows - 1) * s.a_i + (s.columns - 1) * s.a_j + (s.turns - 1) * s.a_t + (s.depth - 1) * s.a_k,
            b = (g.count - 1) * g.b + (s.rows - 1) * s.b_i + (s.columns - 1) * s.b_j + (s.turns - 1) * s.b_t + (s.depth - 1) * s.b_k;
    float *acc = s.acc = fenced_place(acc_memory, 0, to, sizeof(float), once_in(2));
    s.a = fenced_place(a_memory, 0, a, sizeof(float), once_in(2));
    s.b = fenced_place(b_memory, 0, b, sizeof(float), once_in(2));
    memcpy(before, acc_memory.bytes, acc_memory.size);
    for (int64_t n = 0; n < g.count; n++) {
        rlx_micro_sum one = s;
        one.acc = acc + n * g.acc, one.a = (const float *)s.a + n * g.a, one.b = (const float *)s.b + n * g.b;
        contract_plainly(&one, RLX_ELEM_F32, true);
    }
    memcpy(want, acc_memory.bytes, acc_memory.size);
    for (size_t n = 0; n < sizeof set_names / sizeof *set_names; n++) {
        const rlx_micro_set *set = rlx_micro_find(set_names[n]);
        memcpy(acc_memory.bytes, before, acc_memory.size);
        if (!set || !set->groups || !set->groups(&s, &g))
            continue;
        known++;
        join_nans(RLX_ELEM_F32, acc_memory.size);
        if (memcmp(want, acc_memory.bytes, acc_memory.size) != 0)
            fail_msg("set %s: %lld groups of %lld x %lld, %lld x %lld steps", set->name, (long long)g.count, (long long)s.rows,
                     (long long)s.columns, (long long)s.turns, (long long)s.depth);
    }
    memcpy(acc_memory.bytes, before, acc_memory.size);
    return known;
}

static void test_groups(void **state)
{
    const rlx_micro_set *widest = rlx_micro_find(NULL);
    int64_t known = 0, panels = 0;
    for (int mood = 0; mood < MOODS; mood++) {
        fill(a_memory.bytes, a_memory.size, RLX_ELEM_F32, (enum mood)mood);
        fill(b_memory.bytes, b_memory.size, RLX_ELEM_F32, (enum mood)mood);
        for (int n = 0; n < rounds_of(200); n++)
            known += try_groups(windows_of_groups);
        for (int n = 0; n < rounds_of(30); n++)
            panels += try_groups(panels_of_groups);
    }
    if (widest->groups && !known)
        fail_msg("no groups that set %s knows", widest->name);
    if (rlx_micro_find("avx2") && !panels)
        fail_msg("no panels of rows that set avx2 knows");
}

/* ---- rows that are normalized --------------------------------------------------------------- */

static void *side_place(fenced f, const rlx_micro_normalize *z, int k)
{
    int64_t low = 0, high = 0;
    for (int i = 0; i < 2; i++) {
        int64_t way = ((i ? z->columns : z->rows) - 1) * z->stride[k][i];
        *(way < 0 ? &low : &high) += way;
    }
    return fenced_place(f, low, high, sizeof(float), once_in(2));
}

/* plain: without g and a. */
static void try_normalize(bool fast, bool plain)
{
    static float one = 1.0f, nothing = -0.0f, minus = -1.0f, zeros[70];
    rlx_micro_normalize z = { .rows = 1 + below(6), .columns = 1 + below(70) };
    int64_t wide = z.columns + below(3);
    static const float lows[] = { -INFINITY, 0.0f, -0.0f, -1.5f, 3.0f }, highs[] = { INFINITY, 0.0f, 6.0f, -2.0f };
    z.low = lows[below(5)], z.high = highs[below(4)], z.more = once_in(2);
    for (int k = 0; k < RLX_NORMALIZE_SIDES; k++) {
        z.stride[k][0] = k < 2 ? wide : any_stride();
        z.stride[k][1] = k < 2 ? 1 : k != 3 && once_in(2);
        if (!fast && k)
            z.stride[k][1] = any_stride();
        if (plain && k >= 4)
            z.stride[k][1] = 0;
        z.side[k] = side_place(k == 0 ? acc_memory : k % 2 ? a_memory : b_memory, &z, k);
    }
    if (fast && !plain && once_in(2)) { /* rows that are all alike, as channels that come last are */
        static float none = -0.0f;
        for (int k = 2; k < 6; k++)
            z.stride[k][0] = 0;
        z.stride[3][1] = 0, z.side[3] = &one;
        if (once_in(2))
            z.stride[6][0] = z.stride[6][1] = 0, z.side[6] = &none;
    }
    if (plain) {
        z.stride[4][0] = z.stride[6][0] = 0;
        z.side[4] = &one, z.side[6] = &nothing;
        if (!z.more && once_in(2))
            z.low = -INFINITY, z.high = INFINITY;
        if (once_in(4)) { /* all -0, before a bound of +0 */
            z.stride[1][0] = z.stride[2][0] = z.stride[3][0] = z.stride[5][0] = 0;
            z.stride[1][1] = 1, z.stride[2][1] = z.stride[3][1] = 0;
            z.side[1] = zeros, z.side[2] = zeros, z.side[3] = &minus, z.side[5] = &nothing;
        }
    }
    memcpy(want, acc_memory.bytes, acc_memory.size);
    float *to = (float *)(want + ((unsigned char *)z.side[0] - acc_memory.bytes));
    for (int64_t i = 0; i < z.rows; i++)
        for (int64_t j = 0; j < z.columns; j++) {
            volatile float v[RLX_NORMALIZE_SIDES];
            for (int k = 1; k < RLX_NORMALIZE_SIDES; k++)
                v[k] = ((float *)z.side[k])[i * z.stride[k][0] + j * z.stride[k][1]];
            v[1] = v[1] - v[2], v[1] = v[1] * v[3], v[1] = v[1] * v[4];
            v[1] = v[1] + v[5];
            if (z.more)
                v[1] = v[1] + v[6], v[1] = rlx_min_f32(rlx_max_f32(v[1], z.low), z.high);
            to[i * z.stride[0][0] + j] = v[1];
        }
    memcpy(before, acc_memory.bytes, acc_memory.size);
    for (size_t n = 0; n < sizeof set_names / sizeof *set_names; n++) {
        const rlx_micro_set *set = rlx_micro_find(set_names[n]);
        if (!set)
            continue;
        memcpy(acc_memory.bytes, before, acc_memory.size);
        set->normalize(&z);
        join_nans(RLX_ELEM_F32, acc_memory.size);
        if (memcmp(want, acc_memory.bytes, acc_memory.size) != 0)
            fail_msg("set %s, fast %d, plain %d: %lld x %lld", set->name, fast, plain, (long long)z.rows, (long long)z.columns);
    }
}

static void test_normalize(void **state)
{
    for (int mood = 0; mood < MOODS; mood++) {
        fill(a_memory.bytes, a_memory.size, RLX_ELEM_F32, (enum mood)mood);
        fill(b_memory.bytes, b_memory.size, RLX_ELEM_F32, (enum mood)mood);
        for (int n = 0; n < rounds_of(100); n++)
            try_normalize(n % 3, n % 4 == 0);
    }
}

static int set_up(void **state)
{
    acc_memory = fenced_make(1 << 17), a_memory = fenced_make(ROOM), b_memory = fenced_make(ROOM);
    before = malloc(acc_memory.size), want = malloc(acc_memory.size);
    return !before || !want;
}

static int tear_down(void **state)
{
    fenced_free(acc_memory), fenced_free(a_memory), fenced_free(b_memory);
    free(before), free(want);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_dot_ends),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_partial),
        cmocka_unit_test(test_normalize),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
