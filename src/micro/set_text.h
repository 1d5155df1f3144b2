/* set_text.h: the functions of one instruction set and the table of them, included once by the file of each set, which
 * has said what tiles there are: F32_TILES(W, part) makes those of all heights, F32_CASES(W, part) chooses one for n
 * rows; the same for F64, and for INT; with SET_WIDE_TILES float32 needs none. SET_FUSES: 1 where products that are not rounded are the fast ones, 0 where they
 * are emulated and those that are rounded are fast. SET_LONG_PARTS: 1 where a part of a vector is so many instructions that tiles of whole ones are
 * worth their code for all types. The other kind, and integers of 64 bits, have tiles of one row. */
#if !defined(SET_LONG_PARTS)
#define SET_LONG_PARTS 0
#endif
#define LOW_TILES(W, part) TILE(1, W, part)
#define LOW_CASES(W, part)
#define ALL(W, n) (n)
#if SET_FUSES
#define EXACT(fast, other) fast
#define ROUNDED(fast, other) other
#else
#define EXACT(fast, other) other
#define ROUNDED(fast, other) fast
#endif
#define OF(X, what) OF_(X, what)
#define OF_(X, what) X##_##what
#define NAME(what) NAME_(what, X, KIND)
#define NAME_(what, X, KIND) NAME__(what, X, KIND)
#define NAME__(what, X, KIND) what##_##X##_##KIND

/* Every element, or every second one, of what is contiguous. */
#define TAIL_one tail
#define FIRST_one first
#define STEP_one 1
#define GET_one load
#define GET_PART_one load_part
#define PAIRS_one 0
#define TURN_one(X, v) (v)
#define TURN_two(X, v) OF(X, turn)(v)
#define PAIRS_two (SET_PARTS && (ANY_ORDER || !SET_MASKS))
#define TAIL_two pair
#define FIRST_two first_pair
#define STEP_two 2
#define GET_two even
#define GET_PART_two even_part

/* What is wanted seldom is that of a set with shorter vectors, SET_LENDER: each instruction set has so many bytes of code. Its
 * least floats, least and greatest integers are good enough where SET_LENDS_RANGES; its sums of float64 where
 * SET_LENDS_PARTIAL; its products of float64 that are rounded on their own where SET_LENDS_ROUNDED, of integers of 32 bits where
 * SET_LENDS_INTEGERS; its pooling by three lines of three where SET_LENDS_WINDOWS. */
#define LENT(name, function) \
    static void name(const rlx_micro_sum *r) { SET_LENDER.function(r); }

/* ---- sums of products ----------------------------------------------------------------------- */

/* Steps that are asked for ahead of their time; a turn of tiles that share this, of how many it is one, and how many tiles there may be: more where
 * a tile takes so many rows that to begin it anew costs little. */
enum { AHEAD = 32, SHARED_STEPS = 128 };
#if SET_MASKS
enum { LEAST_SHARED = SHARED_STEPS / 2, MOST_SHARES = 8 };
#else
enum { LEAST_SHARED = SHARED_STEPS, MOST_SHARES = 3 };
#endif

#define X f32
#define T float
#define KIND exact
#define SUM(a, b, c) f32_fma(a, b, c)
#define COMMON EXACT(1, 0)
#define TILES EXACT(F32_TILES, LOW_TILES)
#define CASES EXACT(F32_CASES, LOW_CASES)
#define NEXT EXACT(F32_NEXT, ALL)
#include "micro/contract_text.h"

#define X f32
#define T float
#define KIND rounded
#define SUM(a, b, c) ((a) * (b) + (c))
#define COMMON ROUNDED(1, 0)
#define TILES ROUNDED(F32_TILES, LOW_TILES)
#define CASES ROUNDED(F32_CASES, LOW_CASES)
#define NEXT ROUNDED(F32_NEXT, ALL)
#include "micro/contract_text.h"

#define X f64
#define T double
#define KIND exact
#define SUM(a, b, c) f64_fma(a, b, c)
#define COMMON 0
#define TILES EXACT(F64_TILES, LOW_TILES)
#define CASES EXACT(F64_CASES, LOW_CASES)
#define NEXT ALL
#include "micro/contract_text.h"

#if defined(SET_LENDER) && SET_LENDS_ROUNDED
LENT(contract_f64_rounded, contract[0][RLX_ELEM_F64])
#else
#define X f64
#define T double
#define KIND rounded
#define SUM(a, b, c) ((a) * (b) + (c))
#define COMMON 0
#define TILES ROUNDED(F64_TILES, LOW_TILES)
#define CASES ROUNDED(F64_CASES, LOW_CASES)
#define NEXT ALL
#include "micro/contract_text.h"
#endif

#if defined(SET_LENDER) && SET_LENDS_INTEGERS
LENT(contract_u32_wraps, contract[0][RLX_ELEM_U32])
#else
#define X u32
#define T uint32_t
#define KIND wraps
#define SUM(a, b, c) ((a) * (b) + (c))
#define COMMON 0
#define TILES INT_TILES
#define CASES INT_CASES
#define NEXT ALL
#include "micro/contract_text.h"
#endif

#if defined(SET_LENDER)
LENT(contract_u64_wraps, contract[0][RLX_ELEM_U64])
#else
#define X u64
#define T uint64_t
#define KIND wraps
#define SUM(a, b, c) ((a) * (b) + (c))
#define COMMON 0
#define TILES LOW_TILES
#define CASES LOW_CASES
#define NEXT ALL
#include "micro/contract_text.h"
#endif

static rlx_micro_sum_fn *const contractions[2][RLX_ELEM_COUNT] = {
    {
        [RLX_ELEM_F32] = contract_f32_rounded,
        [RLX_ELEM_F64] = contract_f64_rounded,
        [RLX_ELEM_I32] = contract_u32_wraps,
        [RLX_ELEM_U32] = contract_u32_wraps,
        [RLX_ELEM_I64] = contract_u64_wraps,
        [RLX_ELEM_U64] = contract_u64_wraps,
    },
    { [RLX_ELEM_F32] = contract_f32_exact, [RLX_ELEM_F64] = contract_f64_exact },
};

#include "micro/dot_text.h"

#if SET_FUSES
#include "micro/lanes_text.h"
#endif

/* ---- moves ---------------------------------------------------------------------------------- */

#if SET_TURNS
#include "micro/move_text.h"
#endif

/* Maxima of windows whose lines are shared: SET_WINDOWS. */
#if !defined(SET_WINDOWS)
#define SET_WINDOWS 0
#endif

/* ---- reductions ----------------------------------------------------------------------------- */

/* Integers are those of all sets: their order is free, so compilers find vectors by themselves. */
#define X f32
#define T float
#define COMMON 1
#define KIND add
#define JOIN(x, y) ((x) + (y))
#define JOIN_ONE(x, y) ((x) + (y))
#define ANY_ORDER 0
#define SEES 0
#if defined(SET_LENDS_WINDOWS)
#define SHARED SET_LENDER.reduce[RLX_KERNEL_REDUCE_ADD][RLX_ELEM_F32]
#endif
#include "micro/reduce_text.h"
#if defined(SET_LENDER) && SET_LENDS_RANGES
static void reduce_f32_min(const rlx_micro_sum *r) { rlx_micro_reduce_lent_min(r, &SET_LENDER); }
#else
#if defined(SET_LENDER)
#undef COMMON
#define COMMON 0
#define SELDOM SET_LENDER.reduce[RLX_KERNEL_REDUCE_MIN][RLX_ELEM_F32]
#endif
#define KIND min
#define JOIN(x, y) f32_min(x, y)
#define SEES SET_RANGES
#if SET_RANGES
#define MORE(x, y) f32_min_number(x, y)
#define SEE(seen, y) f32_see_min(seen, y)
#define SEE_BOTH(seen, y, z) f32_see_mins(seen, y, z)
#endif
#define JOIN_ONE(x, y) rlx_min_f32(x, y)
#define ANY_ORDER 1
#include "micro/reduce_text.h"
#undef SELDOM
#undef COMMON
#define COMMON 1
#endif
#define KIND max
#define JOIN(x, y) f32_max(x, y)
#define SEES SET_RANGES
#if SET_RANGES
#define MORE(x, y) f32_max_number(x, y)
#define SEE(seen, y) f32_see_max(seen, y)
#define SEE_BOTH(seen, y, z) f32_see_maxs(seen, y, z)
#endif
#define JOIN_ONE(x, y) rlx_max_f32(x, y)
#define ANY_ORDER 1
#if defined(SET_LENDS_WINDOWS)
#define SHARED SET_LENDER.reduce[RLX_KERNEL_REDUCE_MAX][RLX_ELEM_F32]
#endif
#include "micro/reduce_text.h"
#undef X
#undef T
#undef COMMON

#define X f64
#define T double
#define COMMON 0
#if defined(SET_LENDER) && SET_LENDS_PARTIAL
LENT(reduce_f64_add, reduce[RLX_KERNEL_REDUCE_ADD][RLX_ELEM_F64])
#else
#define KIND add
#define JOIN(x, y) ((x) + (y))
#define JOIN_ONE(x, y) ((x) + (y))
#define ANY_ORDER 0
#define SEES 0
#include "micro/reduce_text.h"
#endif
#if defined(SET_LENDER)
LENT(reduce_f64_min, reduce[RLX_KERNEL_REDUCE_MIN][RLX_ELEM_F64])
LENT(reduce_f64_max, reduce[RLX_KERNEL_REDUCE_MAX][RLX_ELEM_F64])
#else
#define KIND min
#define JOIN(x, y) f64_min(x, y)
#define SEES SET_RANGES
#if SET_RANGES
#define MORE(x, y) f64_min_number(x, y)
#define SEE(seen, y) f64_see_min(seen, y)
#define SEE_BOTH(seen, y, z) f64_see_mins(seen, y, z)
#endif
#define JOIN_ONE(x, y) rlx_min_f64(x, y)
#define ANY_ORDER 1
#include "micro/reduce_text.h"
#define KIND max
#define JOIN(x, y) f64_max(x, y)
#define SEES SET_RANGES
#if SET_RANGES
#define MORE(x, y) f64_max_number(x, y)
#define SEE(seen, y) f64_see_max(seen, y)
#define SEE_BOTH(seen, y, z) f64_see_maxs(seen, y, z)
#endif
#define JOIN_ONE(x, y) rlx_max_f64(x, y)
#define ANY_ORDER 1
#include "micro/reduce_text.h"
#endif
#undef X
#undef T
#undef COMMON

#define SUMS                                                                          \
    {                                                                                           \
        [RLX_ELEM_F32] = reduce_f32_add, [RLX_ELEM_F64] = reduce_f64_add,                     \
        [RLX_ELEM_I32] = rlx_micro_reduce_any_u32_add, [RLX_ELEM_U32] = rlx_micro_reduce_any_u32_add, \
        [RLX_ELEM_I64] = rlx_micro_reduce_any_u64_add, [RLX_ELEM_U64] = rlx_micro_reduce_any_u64_add, \
    }
#define EXTREME(op)                                                                             \
    {                                                                                           \
        [RLX_ELEM_F32] = reduce_f32_##op, [RLX_ELEM_F64] = reduce_f64_##op,                     \
        [RLX_ELEM_I32] = rlx_micro_reduce_any_u32_##op, [RLX_ELEM_I64] = rlx_micro_reduce_any_u64_##op,       \
    }
/* Products are rare: no vectors. */
#define PRODUCTS                                                                                       \
    {                                                                                                  \
        [RLX_ELEM_F32] = rlx_micro_reduce_any_f32_mul, [RLX_ELEM_F64] = rlx_micro_reduce_any_f64_mul,  \
        [RLX_ELEM_I32] = rlx_micro_reduce_any_u32_mul, [RLX_ELEM_U32] = rlx_micro_reduce_any_u32_mul,  \
        [RLX_ELEM_I64] = rlx_micro_reduce_any_u64_mul, [RLX_ELEM_U64] = rlx_micro_reduce_any_u64_mul,  \
    }
static rlx_micro_sum_fn *const reductions[RLX_KERNEL_REDUCE_COUNT][RLX_ELEM_COUNT] = {
    [RLX_KERNEL_REDUCE_ADD] = SUMS,
    [RLX_KERNEL_REDUCE_MUL] = PRODUCTS,
    [RLX_KERNEL_REDUCE_MIN] = EXTREME(min),
    [RLX_KERNEL_REDUCE_MAX] = EXTREME(max),
};

/* ---- rows that are normalized --------------------------------------------------------------- */

#include "micro/normalize_text.h"

/* ---- partial sums --------------------------------------------------------------------------- */

#define ADD(x, y) ((x) + (y))
#define X f32
#define T float
#define COMMON 1
#define KIND elements
#define READS 1
#define JOIN(s, a, b) ((s) + (a))
#include "micro/partial_text.h"
#define KIND squares
#define READS 2
#define JOIN(s, a, b) ((s) + ((a) - (b)) * ((a) - (b)))
#include "micro/partial_text.h"
#undef X
#undef T
#undef COMMON

#if SET_LENDS_PARTIAL
static void partial_f64_elements(const rlx_micro_partial *r)
{
    SET_LENDER.partial[RLX_KERNEL_VALUE_ELEMENT][RLX_ELEM_F64](r);
}
#else
#define X f64
#define T double
#define COMMON 0
#define KIND elements
#define READS 1
#define JOIN(s, a, b) ((s) + (a))
#include "micro/partial_text.h"
#undef X
#undef T
#undef COMMON
#endif

static rlx_micro_partial_fn *const partials[RLX_KERNEL_VALUE_COUNT][RLX_ELEM_COUNT] = {
    [RLX_KERNEL_VALUE_ELEMENT] = { [RLX_ELEM_F32] = partial_f32_elements, [RLX_ELEM_F64] = partial_f64_elements },
    [RLX_KERNEL_VALUE_SQUARE] = { [RLX_ELEM_F32] = partial_f32_squares, [RLX_ELEM_F64] = rlx_micro_partial_any_f64_squares },
};

/* ---- functions of elements ------------------------------------------------------------------ */

#include "micro/chain_text.h"

#undef ADD

static float row_greatest(float x, const float *a, int64_t n)
{
    if (n >= f32_LANES)
        return reduce_run_f32_max(x, a, n);
    for (int64_t k = 0; k < n; k++)
        x = rlx_max_f32(x, a[k]);
    return x;
}

static void row_exp_sub(float *d, const float *a, float b, int64_t columns)
{
    rlx_micro_row_exp_sub(chain, d, a, b, columns);
}

static rlx_micro_row_fn *const maps[RLX_KERNEL_MAP_COUNT] = {
    [RLX_KERNEL_MAP_ADD] = rlx_micro_row_add,
    [RLX_KERNEL_MAP_SUB] = rlx_micro_row_sub,
    [RLX_KERNEL_MAP_MUL] = rlx_micro_row_mul,
    [RLX_KERNEL_MAP_DIV] = rlx_micro_row_div,
    [RLX_KERNEL_MAP_EXP_SUB] = row_exp_sub,
    [RLX_KERNEL_MAP_RECIPROCAL] = rlx_micro_row_reciprocal,
    [RLX_KERNEL_MAP_LOG] = rlx_micro_row_log,
};
