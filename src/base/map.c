/* map.c: maps from bytes to pointers, over uthash. The only file that includes it. */
/* built for size */
#include "base/map.h"

#include "base/intern.h"

#include <limits.h>

/* uthash is told where memory comes from and what to do when there is none. Its macros expand
 * inside functions that have a local `memory`. */
#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) rlx_mem_alloc(memory, (size))
#define uthash_free(ptr, size) rlx_mem_free(memory, (ptr), (size))
#define uthash_nonfatal_oom(entry) ((void)(added = false))
#define HASH_FUNCTION(key, len, hash) ((hash) = (unsigned)rlx_hash_bytes((key), (len)))
#include <uthash.h>

struct rlx_map_entry {
    UT_hash_handle hh;
    void *value;
    size_t len;
    char key[]; /* len bytes */
};

void rlx_map_init(rlx_map *m, rlx_memory *memory)
{
    *m = (rlx_map){ .memory = memory };
}

static void free_entry(rlx_memory *memory, rlx_map_entry *e)
{
    rlx_mem_free(memory, e, sizeof *e + e->len);
}

void rlx_map_free(rlx_map *m)
{
    rlx_memory *memory = m->memory;
    rlx_map_entry *e = m->head;
    HASH_CLEAR(hh, m->head);
    while (e) {
        rlx_map_entry *next = e->hh.next;
        free_entry(memory, e);
        e = next;
    }
}

static rlx_map_entry *find(const rlx_map *m, rlx_slice key)
{
    rlx_map_entry *e = NULL;
    if (key.len > UINT_MAX)
        return NULL;
    const char *data = key.len ? key.data : "";
    HASH_FIND(hh, m->head, data, key.len, e);
    return e;
}

static rlx_map_entry *make_entry(rlx_memory *memory, rlx_slice key, void *value)
{
    size_t size;
    if (key.len > UINT_MAX || !rlx_add_size(sizeof(rlx_map_entry), key.len, &size))
        return rlx_mem_overflow(memory), NULL;
    rlx_map_entry *e = rlx_mem_alloc_zero(memory, size);
    if (!e)
        return NULL;
    e->value = value;
    e->len = key.len;
    if (key.len)
        memcpy(e->key, key.data, key.len);
    return e;
}

bool rlx_map_put(rlx_map *m, rlx_slice key, void *value)
{
    rlx_memory *memory = m->memory;
    rlx_map_entry *e = find(m, key);
    if (e) {
        e->value = value;
        return true;
    }
    e = make_entry(memory, key, value);
    if (!e)
        return false;
    bool added = true;
    HASH_ADD_KEYPTR(hh, m->head, e->key, e->len, e);
    if (!added)
        free_entry(memory, e);
    return added;
}

void *rlx_map_get(const rlx_map *m, rlx_slice key)
{
    const rlx_map_entry *e = find(m, key);
    return e ? e->value : NULL;
}

bool rlx_map_has(const rlx_map *m, rlx_slice key)
{
    return find(m, key) != NULL;
}

bool rlx_map_remove(rlx_map *m, rlx_slice key)
{
    rlx_memory *memory = m->memory;
    rlx_map_entry *e = find(m, key);
    if (!e)
        return false;
    HASH_DEL(m->head, e);
    free_entry(memory, e);
    return true;
}

bool rlx_map_next(const rlx_map *m, rlx_map_entry **it, rlx_slice *key, void **value)
{
    rlx_map_entry *e = *it ? (*it)->hh.next : m->head;
    *it = e;
    if (!e)
        return false;
    if (key)
        *key = (rlx_slice){ e->key, e->len };
    if (value)
        *value = e->value;
    return true;
}
