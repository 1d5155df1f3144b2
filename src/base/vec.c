#include "base/vec.h"

#define FIRST_ITEMS ((size_t)8)

bool rlx_vec_reserve_bytes(rlx_memory *m, void **data, size_t *cap, size_t want, size_t item)
{
    if (want <= *cap)
        return true;
    size_t grown = *cap < FIRST_ITEMS / 2 ? FIRST_ITEMS : *cap <= SIZE_MAX / 2 ? *cap * 2 : want;
    if (grown < want)
        grown = want;
    size_t new_bytes;
    if (!rlx_mul_size(grown, item, &new_bytes))
        return false;
    void *p = rlx_mem_resize(m, *data, *cap * item, new_bytes);
    if (!p)
        return false;
    *data = p;
    *cap = grown;
    return true;
}
