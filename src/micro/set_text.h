/* set_text.h: the functions of one instruction set and the table of them, included once by the file of each set, which
 * has said what a tile is: TILES(W, part) makes tiles of all heights, CASES(W, part) chooses one for n rows. */
#define OF(X, what) OF_(X, what)
#define OF_(X, what) X##_##what
#define NAME(what) NAME_(what, X, KIND)
#define NAME_(what, X, KIND) NAME__(what, X, KIND)
#define NAME__(what, X, KIND) what##_##X##_##KIND

/* ---- sums of products ----------------------------------------------------------------------- */

#define X f32
#define T float
#define KIND exact
#define SUM(a, b, c) f32_fma(a, b, c)
#define SUM_ONE(a, b, c) f32_fma_one(a, b, c)
#include "micro/contract_text.h"

#define X f32
#define T float
#define KIND rounded
#define SUM(a, b, c) ((a) * (b) + (c))
#define SUM_ONE(a, b, c) ((a) * (b) + (c))
#include "micro/contract_text.h"

#define X f64
#define T double
#define KIND exact
#define SUM(a, b, c) f64_fma(a, b, c)
#define SUM_ONE(a, b, c) f64_fma_one(a, b, c)
#include "micro/contract_text.h"

#define X f64
#define T double
#define KIND rounded
#define SUM(a, b, c) ((a) * (b) + (c))
#define SUM_ONE(a, b, c) ((a) * (b) + (c))
#include "micro/contract_text.h"

#define X u32
#define T uint32_t
#define KIND wraps
#define SUM(a, b, c) ((a) * (b) + (c))
#define SUM_ONE(a, b, c) ((a) * (b) + (c))
#include "micro/contract_text.h"

#define X u64
#define T uint64_t
#define KIND wraps
#define SUM(a, b, c) ((a) * (b) + (c))
#define SUM_ONE(a, b, c) ((a) * (b) + (c))
#include "micro/contract_text.h"

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
