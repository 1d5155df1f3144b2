/* place_group.c: places of groups, and what these hold. */
/* built for size */
#include "base/place_group.h"

void rlx_place_groups_init(rlx_place_groups *g, rlx_memory *m)
{
    rlx_region_init(&g->region, m);
    rlx_ptrmap_init(&g->by_place, m);
}

void rlx_place_groups_free(rlx_place_groups *g)
{
    rlx_region_drop(&g->region);
    rlx_ptrmap_free(&g->by_place);
}

static const void *key_of(uint64_t group) { return (const void *)(uintptr_t)group; }

const rlx_place_group *rlx_place_groups_find(const rlx_place_groups *g, uint64_t group)
{
    const rlx_place_group *known = group ? rlx_ptrmap_get(&g->by_place, key_of(group)) : NULL;
    return known && known->group == group ? known : NULL;
}

/* A module that is compiled again says the same again. */
static bool is_known(const rlx_place_group *known, const rlx_held_place *held, size_t count)
{
    bool same = known && known->count == count;
    for (size_t i = 0; same && i < count; i++)
        same = known->held[i].place == held[i].place && known->held[i].name_len == held[i].name_len &&
               memcmp(known->held[i].name, held[i].name, held[i].name_len) == 0;
    return same;
}

bool rlx_place_groups_put(rlx_place_groups *g, uint64_t group, const rlx_held_place *held, size_t count)
{
    if (!group || is_known(rlx_place_groups_find(g, group), held, count))
        return true;
    rlx_place_group *made = rlx_region_alloc(&g->region, sizeof *made + count * sizeof *made->held);
    if (!made)
        return false;
    *made = (rlx_place_group){ .group = group, .count = count };
    for (size_t i = 0; i < count; i++) {
        made->held[i] = held[i];
        made->held[i].name = rlx_region_copy(&g->region, held[i].name, held[i].name_len);
        if (held[i].name_len && !made->held[i].name)
            return false;
    }
    return rlx_ptrmap_put(&g->by_place, key_of(group), (uintptr_t)made);
}
