/* micro_int.h: inside src/micro only. */
#ifndef RLX_MICRO_MICRO_INT_H
#define RLX_MICRO_MICRO_INT_H

#include "micro/micro.h"

#include "base/compiler.h"

/* The sets of this architecture, one file each: set_*.c. Those that not every machine has are found while running. */
#if defined(RLX_HAS_TARGETS)
#define RLX_X86_SETS 1
extern const rlx_micro_set rlx_micro_avx512, rlx_micro_avx512vnni, rlx_micro_avx2;
#if defined(RLX_HAS_TILES)
#define RLX_AMX_SET 1
extern const rlx_micro_set rlx_micro_avx512amx;
#endif
#elif defined(__aarch64__)
#define RLX_NEON_SET 1
extern const rlx_micro_set rlx_micro_neon;
#if defined(RLX_HAS_DOTS)
#define RLX_NEON_DOT_SET 1
extern const rlx_micro_set rlx_micro_neondot;
#endif
#endif
extern const rlx_micro_set rlx_micro_baseline;

/* The same sums, so that a fast way is seen: columns are what is contiguous in acc; of a product, a is the side that does
 * not move with them. */
/* *to = *from, word by word: what copies by vectors words that have just been written waits for all stores before them, which may be those of
 * sums that leave the cache. */
void rlx_micro_copy_sum(rlx_micro_sum *to, const rlx_micro_sum *from);
void rlx_micro_straighten(rlx_micro_sum *r, bool product);

/* What each step of a tile asks for before it is read: memory from here on, so many bytes further with each step and
 * with each tile. */
typedef struct rlx_micro_ask { uintptr_t at; int64_t step, tile; } rlx_micro_ask;

/* Sums of products whose columns of b are not contiguous, from column `from` on: b is brought into panels, of which `tiles` computes
 * the sums. */
void rlx_micro_gather_columns(const rlx_micro_sum *r, size_t bytes, rlx_micro_sum_fn *tiles, int64_t from);

/* Of a reduction that is straight, whose rows are windows of three lines by three steps, and neighbours share two lines: how many columns, the first
 * ones, are vectors of so many lanes, if some begin earlier: any of them, or the second of two. Else 0. */
int64_t rlx_micro_shared_columns(const rlx_micro_sum *r, int64_t lanes, bool any_order);

/* Those of any strides. */
rlx_micro_sum_fn rlx_micro_contract_any_f32_exact, rlx_micro_contract_any_f32_rounded, rlx_micro_contract_any_f64_exact,
    rlx_micro_contract_any_f64_rounded, rlx_micro_contract_any_u32_wraps, rlx_micro_contract_any_u64_wraps;

/* Reductions and partial sums of any strides, as good as any set has them: sum.c. */
#define REDUCE_ANY(X)                                                         \
    rlx_micro_sum_fn rlx_micro_reduce_any_##X##_add, rlx_micro_reduce_any_##X##_mul, \
        rlx_micro_reduce_any_##X##_min, rlx_micro_reduce_any_##X##_max;
REDUCE_ANY(f32)
REDUCE_ANY(f64)
REDUCE_ANY(u32)
REDUCE_ANY(u64)
#undef REDUCE_ANY
/* Least floats of a set that has no function of its own: runs of them in its vectors (row.c), else those of the set it borrows from. */
void rlx_micro_reduce_lent_min(const rlx_micro_sum *r, const rlx_micro_set *lender);
rlx_micro_partial_fn rlx_micro_partial_any_f32_elements, rlx_micro_partial_any_f64_elements,
    rlx_micro_partial_any_f32_squares, rlx_micro_partial_any_f64_squares;
/* For k < depth and l = k mod 32: p[l * p_k + c] gets a[k * a_k + c] added, for c < n; where k is below 32, but not below begun, there is
 * nothing yet, which is +0. Of p whole vectors are written, what is behind n of any number. */
typedef void rlx_micro_turn_fn(float *p, int64_t p_k, const float *a, int64_t a_k, int64_t depth, int64_t begun, int64_t n);
/* Partial sums of elements whose columns lie side by side in a and acc, as the set adds a turn. */
void rlx_micro_partial_columns(const rlx_micro_partial *r, rlx_micro_turn_fn *add_turn);

/* The columns from that one on, whatever the strides. */
void rlx_micro_normalize_end(const rlx_micro_normalize *z, int64_t from);
/* Are all rows shifted and scaled alike, without r, and short, or m is not one number? So are channels that come last. */
bool rlx_micro_is_alike(const rlx_micro_normalize *z);

/* Sums of products of 8-bit integers: dot.c. Are four steps of each row and of each column a word? */
bool rlx_micro_is_in_fours(const rlx_micro_sum *r);
rlx_micro_sum_fn rlx_micro_dot_any;
/* Rows [row, row + rows) of the result, columns from `column` on, get `width` sums each, or as many as there are columns. */
void rlx_micro_add_dots(const rlx_micro_sum *r, int64_t row, int64_t rows, int64_t column, const uint32_t *sums,
                        int64_t width);
#if defined(RLX_X86_SETS)
rlx_micro_sum_fn rlx_micro_dot_avx2;
rlx_micro_groups_fn rlx_micro_dot_groups_avx2;
#endif
#if defined(RLX_NEON_DOT_SET)
rlx_micro_sum_fn rlx_micro_dot_neon;
#endif
#if defined(RLX_AMX_SET)
rlx_micro_sum_fn rlx_micro_dot_amx;
rlx_micro_groups_fn rlx_micro_dot_groups_amx;
rlx_micro_chain_fn rlx_micro_chain_amx;
rlx_micro_pack_fn rlx_micro_pack_fours_amx;
#endif

/*- Panels of fours by what packs a run of lanes whose high digit stands still, at one d1 and d2: word q of lane l is
 *     d[q * d_step + l] = the bytes at s + l * stride + (4 * q + r) * step, r < 4, 0 from `count` on */
typedef struct rlx_fours_run {
    uint32_t *d;
    const uint8_t *s;
    int64_t d_step, lanes, stride, count, step;
} rlx_fours_run;
typedef void rlx_fours_run_fn(const rlx_fours_run *r);
void rlx_micro_pack_fours_by(const rlx_micro_pack *p, rlx_fours_run_fn *pack);

RLX_INLINE int64_t rlx_micro_less(int64_t a, int64_t b) { return a < b ? a : b; }

/* The same box: the dimension that is contiguous in dst innermost, then the one in src, so that a
 * plane of both can be transposed. A run that goes on in the next dimension is one run. Gives whether that plane may be transposed as
 * vectors come: where more than a few rows of dst are a page apart, their lines have to be written at once, as transpose_far_4 does. */
bool rlx_micro_straighten_box(rlx_micro_box *b);
/* Rows of a box of one element each, backwards, with each element twice, or a few made of what lies side by side (repeat.c). False: it is
 * nothing of that. */
bool rlx_micro_move_rows(void *to, const void *from, size_t size, const rlx_micro_box *b);

/* Plain C, for every machine: generic.c. [dst][src] */
extern rlx_micro_copy_fn *const rlx_micro_copies[RLX_ELEM_COUNT][RLX_ELEM_COUNT];
extern rlx_micro_pack_fn *const rlx_micro_packs[RLX_ELEM_COUNT][RLX_ELEM_COUNT];

/* Functions of rows that are one operation: row.c. */
rlx_micro_row_fn rlx_micro_row_add, rlx_micro_row_sub, rlx_micro_row_mul, rlx_micro_row_div, rlx_micro_row_reciprocal,
    rlx_micro_row_log;

/* Integers that lie beside each other, joined with x: row.c. */
uint32_t rlx_micro_run_u32_add(uint32_t x, const uint32_t *a, int64_t n);
uint32_t rlx_micro_run_u32_min(uint32_t x, const uint32_t *a, int64_t n);
uint32_t rlx_micro_run_u32_max(uint32_t x, const uint32_t *a, int64_t n);
uint64_t rlx_micro_run_u64_add(uint64_t x, const uint64_t *a, int64_t n);

/* The last `block` elements of strips whose length is no multiple of it: chain.c. Steps work on copies, taken before any of these elements
 * changes, and what they have stored goes where it belongs when all others are done. Elements that are in a whole block, too, are computed
 * twice, with the same result; of strips shorter than a block there are zeros behind them.
 */
enum { RLX_CHAIN_BLOCK = 128 };
typedef struct rlx_micro_chain_end {
    rlx_micro_step steps[RLX_CHAIN_STEPS];
    _Alignas(64) float block[RLX_CHAIN_STRIPS][RLX_CHAIN_BLOCK];
    float *strip[RLX_CHAIN_STRIPS];
    bool stored[RLX_CHAIN_STRIPS];
    size_t count;
    int64_t at, n;             /* where they begin, and how many there are */
} rlx_micro_chain_end;
/* n: of all elements. The steps for the block, of which there is one alone. */
const rlx_micro_step *rlx_micro_chain_begin_end(rlx_micro_chain_end *e, const rlx_micro_step *steps, int64_t n, int64_t block);
void rlx_micro_chain_store_end(const rlx_micro_chain_end *e);
bool rlx_micro_chain_has_functions(const rlx_micro_step *steps);
/* Elements that steps may take at a time: a strip of what is held between them, all n where a single one holds nothing. */
int64_t rlx_micro_chain_at_once(const rlx_micro_step *steps, int64_t n, int64_t strip);
/* Some steps from a MUL by a number on, which are one: x = min(max(x * line[0] + line[1], line[2]) + line[3], line[4]), as it stands; what
 * is not there changes nothing. Gives the last of them; the first one if they are less than three. */
enum { RLX_LINE_NUMBERS = 5 };
const rlx_micro_step *rlx_micro_chain_line(const rlx_micro_step *steps, float *line);
/* d[j] = exp(a[j] - b) by a chain of this set. */
void rlx_micro_row_exp_sub(rlx_micro_chain_fn *chain, float *d, const float *a, float b, int64_t columns);

#endif
