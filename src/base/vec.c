/* vec.c: how growable arrays grow. */
#include "base/vec.h"

#define FIRST_ITEMS ((size_t)8)
#define DOUBLED_BYTES ((size_t)16 * 1024)

/* Twice as many, of many half as many again: what lies idle counts then. */
static size_t more_items(size_t cap, size_t item)
{
    if (cap < FIRST_ITEMS / 2)
        return FIRST_ITEMS;
    size_t more = cap > DOUBLED_BYTES / item ? cap / 2 : cap;
    return cap <= SIZE_MAX - more ? cap + more : cap;
}

bool rlx_vec_reserve_bytes(rlx_memory *m, void **data, size_t *cap, size_t want, size_t item)
{
    if (want <= *cap)
        return true;
    size_t grown = more_items(*cap, item);
    if (grown < want)
        grown = want;
    size_t new_bytes;
    if (!rlx_mul_size(grown, item, &new_bytes))
        return rlx_mem_overflow(m);
    void *p = rlx_mem_resize(m, *data, *cap * item, new_bytes);
    if (!p)
        return false;
    *data = p;
    *cap = grown;
    return true;
}
