/* intern.c: the hash of bytes, and open addressing over (hash, item) pairs. */
#include "base/intern.h"
#include "base/text.h"

#include <string.h>

#define FIRST_SLOTS ((size_t)64)
#define MOST_CLEARED_SLOTS ((size_t)256)

void rlx_intern_init(rlx_intern *t, rlx_memory *memory)
{
    *t = (rlx_intern){ .memory = memory };
}

void rlx_intern_free(rlx_intern *t)
{
    rlx_mem_free(t->memory, t->slots, t->cap * sizeof *t->slots);
    rlx_intern_init(t, t->memory);
}

static void place(rlx_intern_slot *slots, size_t mask, rlx_intern_slot slot)
{
    size_t at = (size_t)slot.hash & mask;
    while (slots[at].item)
        at = (at + 1) & mask;
    slots[at] = slot;
}

/* At most half of the slots are used, so that probes stay short and always meet an empty slot. */
static bool grow_to(rlx_intern *t, size_t cap)
{
    size_t bytes;
    if (cap < t->cap || !rlx_mul_size(cap, sizeof *t->slots, &bytes))
        return rlx_mem_overflow(t->memory);
    rlx_intern_slot *slots = rlx_mem_alloc_zero(t->memory, bytes);
    if (!slots)
        return false;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slots[i].item)
            place(slots, cap - 1, t->slots[i]);
    rlx_mem_free(t->memory, t->slots, t->cap * sizeof *t->slots);
    t->slots = slots;
    t->cap = cap;
    return true;
}

bool rlx_intern_add(rlx_intern *t, uint64_t hash, void *item)
{
    if (t->len + 1 > t->cap / 2 && !grow_to(t, t->cap ? t->cap * 2 : FIRST_SLOTS))
        return false;
    place(t->slots, t->cap - 1, (rlx_intern_slot){ hash, item });
    t->len++;
    return true;
}

/* One to seven bytes; some are loaded twice. */
static uint64_t load_rest(const unsigned char *p, size_t len)
{
    if (len >= 4)
        return rlx_load4(p) | rlx_load4(p + len - 4) << 32;
    return (uint64_t)p[0] | (uint64_t)p[len / 2] << 8 | (uint64_t)p[len - 1] << 16;
}

uint64_t rlx_hash_bytes(const void *data, size_t len)
{
    const unsigned char *p = data;
    uint64_t h = rlx_hash_mix(0x51ED270B0A1F39C1ull, len);
    for (; len >= 8; p += 8, len -= 8)
        h = rlx_hash_mix(h, rlx_load8(p));
    if (len)
        h = rlx_hash_mix(h, load_rest(p, len));
    return rlx_hash_mix(h, h >> 29);
}
