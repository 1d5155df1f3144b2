/* set_avx2.c: 256-bit vectors with fused products. Tiles of float32 that are 12 sums in 16 registers, of several shapes (wide_text.h). */
#include "format/kernel_math.h"
#include "micro/micro_int.h"

#if defined(RLX_X86_SETS)
#define RLX_SET_AVX2
#include "micro/vector.h"

#define SET_WIDE_TILES
#define SET_LENDER rlx_micro_baseline
#define SET_LENDS_RANGES 1
#define SET_LENDS_PARTIAL 0
#define SET_LENDS_ROUNDED 1
#define SET_LENDS_INTEGERS 0
#define SET_LENDS_WORDS 0
#define CHAIN_VECTORS 4
#define CHAIN_BESIDE 2
#define CHAIN_STRIP 1024
#define SUMS_BESIDE 4
#define ERF_BESIDE 1
#define SET_FUSES 1
#define SET_WINDOWS 1
#define F64_TILES(W, part) TILE(4, W, part) TILE(1, W, part)
#define F64_CASES(W, part) CASE(4, W, part)
#define INT_TILES(W, part) TILE(4, W, part) TILE(1, W, part)
#define INT_CASES(W, part) CASE(4, W, part)
#include "micro/set_text.h"

void rlx_micro_dot_avx2(const rlx_micro_sum *r) { dot(r); }
bool rlx_micro_dot_groups_avx2(const rlx_micro_sum *r, const rlx_micro_groups *g) { return dot_groups(r, g); }

static bool contract_groups(const rlx_micro_sum *r, const rlx_micro_groups *g)
{
    return contract_row_panels_f32_exact(r, g) || contract_lanes(r, g);
}

const rlx_micro_set rlx_micro_avx2 = {
    .name = "avx2",
    .contract = contractions,
    .groups = contract_groups,
    .dot = dot,
    .dot_groups = dot_groups,
    .reduce = reductions,
    .partial = partials,
    .normalize = normalize_f32,
    .copy = rlx_micro_copies,
    .pack = rlx_micro_packs,
    .pack_fours = rlx_micro_pack_fours,
    .copy_words = copy_words,
    .pack_words = pack_words,
    .map = maps,
    .greatest = row_greatest,
    .exp_sum = exp_sum,
    .chain = chain,
};
#endif
