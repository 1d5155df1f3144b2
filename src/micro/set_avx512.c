/* set_avx512.c: 512-bit vectors. Tiles of up to 14 rows and 2 vectors: 28 sums in 32 registers. */
#include "format/kernel_math.h"
#include "micro/micro_int.h"

#if defined(RLX_X86_SETS)
#define RLX_SET_AVX512
#include "micro/vector.h"

#define F32_TILES(W, part) HIGH_TILES_##W(part) TILE(8, W, part) TILE(4, W, part) TILE(2, W, part) TILE(1, W, part)
#define F32_CASES(W, part) HIGH_CASES_##W(part) CASE(8, W, part) LOW_CASES_##W(part) CASE(4, W, part) ODD_CASE_##W(part) CASE(2, W, part)
#define HIGH_TILES_2(part) TILE(9, 2, part) TILE(5, 2, part) TILE(3, 2, part)
#define HIGH_CASES_2(part) CASE(9, 2, part)
#define LOW_CASES_2(part) CASE(5, 2, part)
#define ODD_CASE_2(part) CASE(3, 2, part)
#define HIGH_TILES_1(part)
#define HIGH_CASES_1(part)
#define LOW_CASES_1(part)
#define ODD_CASE_1(part)
/* As few tiles as there can be, all about as high: each reads all of b. */
static const uint8_t next_rows[] = { 0, 1, 2, 3, 4, 5, 3, 5, 8, 9, 5, 8, 8, 8, 9, 8, 8, 9, 9 };
#define F32_NEXT(W, n) (W == 1 ? (n) : (n) < (int64_t)sizeof next_rows ? next_rows[n] : 9)
/* Where all columns are there, 8, 12 or 14 rows are one tile, too; 0: none of these. */
static const uint8_t next_long[] = { 0, 0, 0, 0, 0, 0, 8, 8, 8, 0, 12, 12, 12, 14, 14, 8, 8, 12, 14, 12, 12, 14, 14, 12, 12, 14, 14, 14, 14, 12, 14, 14, 12 };
#define LONG_ROWS(n) ((n) < (int64_t)sizeof next_long ? next_long[n] : (n) % 12 ? 14 : 12)
/* Of a single vector 14 rows are one, too, or fewer of them, where that leaves none that wait for themselves: of 16, 17 and 19 to 21 eight go first. */
#define IS_SINGLE_LONG(n) ((n) >= 32 || (0xffc4fe80u >> (n) & 1))
/* Loads of a part cost an instruction where products are computed, so that whole vectors have tiles of their own. */
#define LONG_TILES                                                                      \
    LONG_TILE(14, 2, , IN_ROWS, 3) LONG_TILE(12, 2, , IN_ROWS, 2) LONG_TILE(8, 2, , IN_ROWS, 2) LONG_TILE(14, 1, _part, IN_ROWS, 1) \
    LONG_TILE(8, 2, , IN_PANEL, 2) LONG_TILE(8, 1, _part, IN_PANEL, 2)
#define LONG_CASES                                                                      \
    if (r->a_k != 8 || r->a_i != 1) {                                                   \
        const int64_t high = columns >= 2 * LANES ? LONG_ROWS(n) : 0;                   \
        LONG_CASE(14, 2, , IN_ROWS, high == 14)                                         \
        LONG_CASE(12, 2, , IN_ROWS, high == 12)                                         \
        LONG_CASE(8, 2, , IN_ROWS, high == 8)                                           \
        LONG_CASE(14, 1, _part, IN_ROWS, columns <= LANES && IS_SINGLE_LONG(n))         \
    } else if (n >= 8) {                                                                \
        LONG_CASE(8, 2, , IN_PANEL, columns >= 2 * LANES)                               \
        LONG_CASE(8, 1, _part, IN_PANEL, columns <= LANES)                              \
    }
#define SET_LENDER rlx_micro_avx2
#define SET_LENDS_RANGES 1
#define SET_LENDS_ROUNDED 1
#define SET_LENDS_INTEGERS 1
#define SET_LENDS_PARTIAL 1
#define SET_LENDS_ALIKE
#define SET_ROWS_BESIDE
#define SET_LENDS_WINDOWS
#define SET_LENDS_WORDS 1
#define CHAIN_VECTORS 8
#define CHAIN_BESIDE 4
#define SET_FUSES 1
/* Of the other types, tiles are low. */
#define F64_TILES(W, part) TILE(4, W, part) TILE(1, W, part)
#define F64_CASES(W, part) CASE(4, W, part)
#define DOT_ROWS 8
/* Windows of few columns: half of a vector would be empty, and its loads cross lines. Those of every second column are rare: channels
 * of such are lanes. Columns whose steps lie side by side, for few rows, are turned there in registers. */
#define SET_NARROW rlx_micro_avx2.contract[1][RLX_ELEM_F32]
#include "micro/set_text.h"

/* Few columns behind whole vectors are left to that set, which has the rows of many panels as its lanes. */
RLX_SMALL SET static bool contract_groups(const rlx_micro_sum *sum, const rlx_micro_groups *groups)
{
    enum { FEW = 4, NEAR = 2 * f32_LANES };
    const int64_t few = sum->columns % f32_LANES, whole = sum->columns - few;
    rlx_micro_sum part;
    rlx_micro_copy_sum(&part, sum);
    part.acc = (float *)sum->acc + whole, part.b = (const float *)sum->b + whole, part.columns = few;
    if (few == 0 || few > FEW || sum->b_j != 1 || !SET_LENDER.groups(&part, groups))
        return contract_lanes(sum, groups) || (sum->columns < f32_LANES && SET_LENDER.groups(sum, groups));
    for (int64_t j = 0; j < whole; j += NEAR)
        for (int64_t n = 0; n < groups->count; n++) {
            part.acc = (float *)sum->acc + n * groups->acc + j;
            part.a = (const float *)sum->a + n * groups->a;
            part.b = (const float *)sum->b + j;
            part.columns = rlx_micro_less(whole - j, NEAR);
            contract_f32_exact(&part);
        }
    return true;
}

#define FUNCTIONS                  \
    .contract = contractions,      \
    .groups = contract_groups,      \
    .reduce = reductions,          \
    .partial = partials,           \
    .normalize = normalize_f32,    \
    .copy = rlx_micro_copies,      \
    .pack = rlx_micro_packs,       \
    .copy_words = copy_words,      \
    .pack_words = pack_words,      \
    .map = maps,                   \
    .greatest = row_greatest,      \
    .exp_sum = exp_sum
const rlx_micro_set rlx_micro_avx512 = {
    .name = "avx512", .dot = rlx_micro_dot_avx2, .dot_groups = rlx_micro_dot_groups_avx2, .pack_fours = rlx_micro_pack_fours, .chain = chain, FUNCTIONS
};
/* Where bytes are multiplied by one instruction. */
const rlx_micro_set rlx_micro_avx512vnni = { .name = "avx512vnni", .dot = dot, .pack_fours = rlx_micro_pack_fours, .chain = chain, FUNCTIONS };
#if defined(RLX_AMX_SET)
/* Where tiles of them are. */
const rlx_micro_set rlx_micro_avx512amx = {
    .name = "avx512amx", .dot = rlx_micro_dot_amx, .dot_groups = rlx_micro_dot_groups_amx, .pack_fours = rlx_micro_pack_fours_amx, .chain = rlx_micro_chain_amx,
    FUNCTIONS
};
#endif
#endif
