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
#define LONG_TILES LONG_TILE(8, 2, , IN_LANES, 1)
#define LONG_CASES LONG_CASE(8, 2, , IN_LANES, r->a_k == RLX_PANEL_ROWS && r->a_i == 1 && n >= 8 && columns >= 2 * LANES)
#define LONG_ROWS(n) 0
#define SET_LONG_PARTS 1
#define SET_LENDS_WORDS 0
#define CHAIN_VECTORS 8
#define CHAIN_BESIDE 4
#define SET_FUSES 1
#define F64_TILES(W, part) TILE(8, W, part) TILE(4, W, part) TILE(1, W, part)
#define F64_CASES(W, part) CASE(8, W, part) CASE(4, W, part)
#define INT_TILES(W, part) TILE(4, W, part) TILE(1, W, part)
#define INT_CASES(W, part) CASE(4, W, part)
#include "micro/set_text.h"

#define FUNCTIONS             \
    .contract = contractions, \
    .groups = contract_lanes, \
    .reduce = reductions,     \
    .partial = partials,      \
    .normalize = normalize_f32, \
    .copy = rlx_micro_copies, \
    .pack = rlx_micro_packs,  \
    .pack_fours = rlx_micro_pack_fours, \
    .copy_words = copy_words, \
    .pack_words = pack_words, \
    .map = maps,              \
    .greatest = row_greatest, \
    .exp_sum = exp_sum,       \
    .chain = chain
const rlx_micro_set rlx_micro_neon = { .name = "neon", .dot = dot, .dot_groups = dot_groups, FUNCTIONS };
#if defined(RLX_NEON_DOT_SET)
/* Where bytes are multiplied by one instruction. */
const rlx_micro_set rlx_micro_neondot = { .name = "neondot", .dot = rlx_micro_dot_neon, FUNCTIONS };
#endif
#endif
