/* map.h: hash maps.
 *
 * rlx_map: byte keys (copied) to pointers, insertion order kept; uthash inside, and only inside
 * map.c. rlx_ptrmap: pointer keys to pointer-sized values, open addressing, for hot paths.
 */
#ifndef RLX_BASE_MAP_H
#define RLX_BASE_MAP_H

#include "base/memory.h"
#include "base/text.h"

typedef struct rlx_map_entry rlx_map_entry;
typedef struct rlx_map { rlx_memory *memory; rlx_map_entry *head; } rlx_map;

void rlx_map_init(rlx_map *m, rlx_memory *memory);
void rlx_map_free(rlx_map *m);                                  /* values are not touched */
/* inserts or replaces; false: out of memory */
bool rlx_map_put(rlx_map *m, rlx_slice key, void *value);
void *rlx_map_get(const rlx_map *m, rlx_slice key);              /* NULL: absent */
bool rlx_map_has(const rlx_map *m, rlx_slice key);
bool rlx_map_remove(rlx_map *m, rlx_slice key);
/* Walk in insertion order: start with *it = NULL; false at the end. */
bool rlx_map_next(const rlx_map *m, rlx_map_entry **it, rlx_slice *key, void **value);

typedef struct rlx_ptrslot { const void *key; uintptr_t value; } rlx_ptrslot;
/*- Small: one table. Large: a table for each page of addresses that keys lie in, so that going
 * through neighbours, as whoever goes through a program does, stays in the cache:
 *
 *     slots [key value] ...                          up to some thousand keys
 *     pages [page number, slots, len, cap] ...       each: [key value] ...
 *
 * Worth: on a chain of 100,000 bindings (bench/gen_module.py deep) one flat table makes hashing 2.3
 * times, copying 1.9 times and the whole pipeline 1.5 times as slow.
 */
typedef struct rlx_ptrpages rlx_ptrpages;
typedef struct rlx_ptrmap {
    rlx_memory *memory;
    rlx_ptrslot *slots;
    size_t len, cap;
    rlx_ptrpages *pages;
} rlx_ptrmap;

void rlx_ptrmap_init(rlx_ptrmap *m, rlx_memory *memory);
void rlx_ptrmap_free(rlx_ptrmap *m);
/* keeps the memory, unless there was much for few */
void rlx_ptrmap_clear(rlx_ptrmap *m);
bool rlx_ptrmap_put(rlx_ptrmap *m, const void *key, uintptr_t value); /* key not NULL; replaces */
bool rlx_ptrmap_find(const rlx_ptrmap *m, const void *key, uintptr_t *value);
RLX_INLINE void *rlx_ptrmap_get(const rlx_ptrmap *m, const void *key)
{
    uintptr_t v;
    return rlx_ptrmap_find(m, key, &v) ? (void *)v : NULL;
}
RLX_INLINE bool rlx_ptrmap_has(const rlx_ptrmap *m, const void *key)
{
    uintptr_t v;
    return rlx_ptrmap_find(m, key, &v);
}
void rlx_ptrmap_remove(rlx_ptrmap *m, const void *key);

#endif
