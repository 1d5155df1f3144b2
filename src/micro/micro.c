/* micro.c: the sets of functions, and which of them this machine has. */
#include "micro/micro_int.h"

#include <string.h>

static const rlx_micro_set baseline = {
    .name = "baseline",
    .contract = rlx_micro_contractions,
    .reduce = rlx_micro_reductions,
    .copy = rlx_micro_copies,
    .pack = rlx_micro_packs,
};

const rlx_micro_set *rlx_micro_find(const char *name)
{
    return !name || strcmp(name, baseline.name) == 0 ? &baseline : NULL;
}
