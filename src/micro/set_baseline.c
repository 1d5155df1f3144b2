/* set_baseline.c: 16 bytes of whatever every machine of the architecture has. Tiles of 4 rows and 2 vectors: 8 sums in
 * 16 registers, beside the product that is rounded on its own. */
#include "format/kernel_math.h"
#include "micro/micro_int.h"
#include "micro/vector.h"

#define MANY_TILES(W, part) TILE(4, W, part) TILE(2, W, part) TILE(1, W, part)
#define MANY_CASES(W, part) CASE(4, W, part) CASE(2, W, part)
#define FEW_TILES(W, part) TILE(4, W, part) TILE(1, W, part)
#define FEW_CASES(W, part) CASE(4, W, part)
#define EXACT_TILES(W, part) TILE(1, W, part)
#define EXACT_CASES(W, part)
#define FITS(R)
#include "micro/set_text.h"

const rlx_micro_set rlx_micro_baseline = {
    .name = "baseline",
    .contract = contractions,
    .reduce = reductions,
    .copy = rlx_micro_copies,
    .pack = rlx_micro_packs,
};
