/* id_map.h: from nodes with serial numbers (variables of all kinds, buffers) to numbers. Stands
 * in
 * for rlx_ptrmap where many of them are asked for in the order they were made: pages by serial
 * number, so neighbours lie side by side and nothing is hashed. Costs 8 bytes for every 256
 * numbers the context has given out, and the pages that are touched. Two nodes of one number
 * (moved between layers, of two contexts) are told apart. */
#ifndef RLX_IR_ID_MAP_H
#define RLX_IR_ID_MAP_H

#include "ir/node.h"

#define RLX_ID_PAGE 256

typedef struct rlx_id_map {
    rlx_memory *memory;
    rlx_ptrslot **pages;
    size_t num_pages;
    rlx_ptrmap others;   /* nodes whose place is taken by another of the same number */
} rlx_id_map;

void rlx_id_map_init(rlx_id_map *m, rlx_memory *memory);
void rlx_id_map_free(rlx_id_map *m);
/* Inserts or replaces. False: out of memory. */
bool rlx_id_map_put(rlx_id_map *m, const rlx_node *n, uintptr_t value);

RLX_INLINE rlx_ptrslot *rlx_id_map_slot(const rlx_id_map *m, uint32_t id)
{
    size_t page = id / RLX_ID_PAGE;
    return page < m->num_pages && m->pages[page] ? &m->pages[page][id % RLX_ID_PAGE] : NULL;
}
RLX_INLINE bool rlx_id_map_find(const rlx_id_map *m, const rlx_node *n, uintptr_t *value)
{
    const rlx_ptrslot *s = rlx_id_map_slot(m, n->id);
    if (s && s->key == n)
        return *value = s->value, true;
    return m->others.len && rlx_ptrmap_find(&m->others, n, value);
}

#endif
