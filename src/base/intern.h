/*- intern.h: hashing and the open-addressing table behind every interned thing.
 *
 * The table stores (hash, item) pairs; equality is the caller's. Look-up and insertion are one
 * probe:
 *
 *     size_t at;
 *     for (item = rlx_intern_first(t, hash, &at); item; item = rlx_intern_next(t, hash, &at))
 *         if (same(item, key)) return item;
 *     if (!rlx_intern_add(t, hash, item)) out of memory
 */
#ifndef RLX_BASE_INTERN_H
#define RLX_BASE_INTERN_H

#include "base/memory.h"

typedef struct rlx_intern_slot { uint64_t hash; void *item; } rlx_intern_slot;
typedef struct rlx_intern {
    rlx_memory *memory;
    rlx_intern_slot *slots;
    size_t len, cap;
} rlx_intern;

void rlx_intern_init(rlx_intern *t, rlx_memory *memory);
void rlx_intern_free(rlx_intern *t);
bool rlx_intern_add(rlx_intern *t, uint64_t hash, void *item); /* does not look for equal items */

RLX_INLINE void *rlx_intern_next(const rlx_intern *t, uint64_t hash, size_t *at)
{
    size_t mask = t->cap - 1;
    for (;;) {
        *at = (*at + 1) & mask;
        const rlx_intern_slot *s = &t->slots[*at];
        if (!s->item || s->hash == hash)
            return s->item;
    }
}
RLX_INLINE void *rlx_intern_first(const rlx_intern *t, uint64_t hash, size_t *at)
{
    if (!t->cap)
        return NULL;
    *at = (size_t)hash - 1;
    return rlx_intern_next(t, hash, at);
}

/* Mixing: good avalanche, never 0 in practice, no seed (same input, same answer). */
RLX_INLINE uint64_t rlx_hash_mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9E3779B97F4A7C15ull;
    return h ^ (h >> 32);
}
uint64_t rlx_hash_bytes(const void *data, size_t len);

#endif
