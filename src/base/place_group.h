/*- place_group.h: what a place stands for where several pieces of a program have become one.
 *
 *     place of the call of a group  ->  (name, place) of each binding that the group holds, in order
 *
 * Kept beside nodes, as a node has one place. Names are copied; what is forgotten (with the sources) costs messages a line. */
#ifndef RLX_BASE_PLACE_GROUP_H
#define RLX_BASE_PLACE_GROUP_H

#include "base/map.h"
#include "base/region.h"
#include "base/vec.h"

typedef struct rlx_held_place { const char *name; size_t name_len; uint64_t place; } rlx_held_place;
typedef struct rlx_place_group { uint64_t group; size_t count; rlx_held_place held[]; } rlx_place_group;
typedef struct rlx_place_groups {
    rlx_region region;               /* groups and names */
    rlx_ptrmap by_place;             /* rlx_place_group */
} rlx_place_groups;

void rlx_place_groups_init(rlx_place_groups *g, rlx_memory *m);
void rlx_place_groups_free(rlx_place_groups *g);     /* usable again */
/* Remembers what is held, in place of what was known of this group before. False: out of memory. */
bool rlx_place_groups_put(rlx_place_groups *g, uint64_t group, const rlx_held_place *held, size_t count);
/* NULL: nothing is known. */
const rlx_place_group *rlx_place_groups_find(const rlx_place_groups *g, uint64_t group);

#endif
