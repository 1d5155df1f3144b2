/* set_neon.c: 128-bit vectors with fused products, which every aarch64 has. Tiles of 8 rows and 2 vectors: 16 sums in 32
 * registers. */
#include "format/kernel_math.h"
#include "micro/micro_int.h"

#if defined(RLX_NEON_SET)
#define RLX_SET_NEON
#include "micro/vector.h"

#define F32_TILES(W, part) TILE(8, W, part) TILE(4, W, part) TILE(2, W, part) TILE(1, W, part)
#define F32_CASES(W, part) CASE(8, W, part) CASE(4, W, part) CASE(2, W, part)
#define F32_NEXT ALL
#define CHAIN_VECTORS 8
#define CHAIN_BESIDE 4
#define SET_FUSES 1
#define F64_TILES(W, part) TILE(4, W, part) TILE(1, W, part)
#define F64_CASES(W, part) CASE(4, W, part)
#define INT_TILES(W, part) TILE(4, W, part) TILE(1, W, part)
#define INT_CASES(W, part) CASE(4, W, part)
#define DOT_ROWS 8
#include "micro/set_text.h"

const rlx_micro_set rlx_micro_neon = {
    .name = "neon",
    .contract = contractions,
    .groups = contract_lanes,
    .dot = dot,
    .reduce = reductions,
    .partial = partials,
    .normalize = normalize_f32,
    .copy = rlx_micro_copies,
    .pack = rlx_micro_packs,
    .map = maps,
    .greatest = row_greatest,
    .exp_sum = exp_sum,
    .chain = chain,
};
#endif
