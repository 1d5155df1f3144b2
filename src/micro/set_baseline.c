/* set_baseline.c: 16 bytes of whatever every machine of the architecture has. Tiles of 4 rows and 2 vectors: 8 sums in
 * 16 registers, beside the product that is rounded on its own; where a product takes many instructions, one row at a time. */
#include "format/kernel_math.h"
#include "micro/micro_int.h"
#include "micro/vector.h"

#define F32_TILES(W, part) TILE(4, W, part) TILE(1, W, part)
#define F32_CASES(W, part) CASE(4, W, part)
#define F32_NEXT ALL
#define SET_LENDS_WORDS 0
#define CHAIN_VECTORS 8
#define CHAIN_BESIDE 1
#define SET_FUSES 0
#define F64_TILES LOW_TILES
#define F64_CASES LOW_CASES
#define INT_TILES LOW_TILES
#define INT_CASES LOW_CASES
#include "micro/set_text.h"

const rlx_micro_set rlx_micro_baseline = {
    .name = "baseline",
    .contract = contractions,
    .dot = dot,
    .dot_groups = dot_groups,
    .reduce = reductions,
    .partial = partials,
    .normalize = normalize_f32,
    .copy = rlx_micro_copies,
    .pack = rlx_micro_packs,
    .pack_fours = rlx_micro_pack_fours,
    .map = maps,
    .greatest = row_greatest,
    .exp_sum = exp_sum,
    .chain = chain,
};
