#include "base/map.h"

#include "base/intern.h"

#include <limits.h>

/* uthash is told where memory comes from and what to do when there is none. Its macros expand inside
 * functions that have a local `memory`. */
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
        return NULL;
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

size_t rlx_map_count(const rlx_map *m)
{
    return HASH_COUNT(m->head);
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

/* --- pointer maps: linear probing, a power of two of slots, at most 2/3 of them used --- */

#define FIRST_SLOTS ((size_t)16)

void rlx_ptrmap_init(rlx_ptrmap *m, rlx_memory *memory)
{
    *m = (rlx_ptrmap){ .memory = memory };
}

void rlx_ptrmap_free(rlx_ptrmap *m)
{
    rlx_mem_free(m->memory, m->slots, m->cap * sizeof *m->slots);
    rlx_ptrmap_init(m, m->memory);
}

void rlx_ptrmap_clear(rlx_ptrmap *m)
{
    if (m->len)
        memset(m->slots, 0, m->cap * sizeof *m->slots);
    m->len = 0;
}

static size_t home(const void *key, size_t mask)
{
    return (size_t)rlx_hash_mix(0, (uint64_t)(uintptr_t)key) & mask;
}

/* The slot that holds the key, or the empty one where it belongs. Needs at least one empty slot. */
static rlx_ptrslot *slot_of(const rlx_ptrmap *m, const void *key)
{
    size_t mask = m->cap - 1;
    size_t at = home(key, mask);
    while (m->slots[at].key && m->slots[at].key != key)
        at = (at + 1) & mask;
    return &m->slots[at];
}

static bool grow(rlx_ptrmap *m)
{
    rlx_ptrmap bigger = *m;
    size_t bytes;
    bigger.cap = m->cap ? m->cap * 2 : FIRST_SLOTS;
    if (bigger.cap < m->cap || !rlx_mul_size(bigger.cap, sizeof *m->slots, &bytes))
        return false;
    bigger.slots = rlx_mem_alloc_zero(m->memory, bytes);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < m->cap; i++)
        if (m->slots[i].key)
            *slot_of(&bigger, m->slots[i].key) = m->slots[i];
    rlx_mem_free(m->memory, m->slots, m->cap * sizeof *m->slots);
    *m = bigger;
    return true;
}

bool rlx_ptrmap_put(rlx_ptrmap *m, const void *key, uintptr_t value)
{
    rlx_ptrslot *s = m->cap ? slot_of(m, key) : NULL;
    if (s && s->key) {
        s->value = value;
        return true;
    }
    if (m->len + 1 > m->cap - m->cap / 3) {
        if (!grow(m))
            return false;
        s = slot_of(m, key);
    }
    *s = (rlx_ptrslot){ key, value };
    m->len++;
    return true;
}

bool rlx_ptrmap_find(const rlx_ptrmap *m, const void *key, uintptr_t *value)
{
    if (!m->len || !key)
        return false;
    const rlx_ptrslot *s = slot_of(m, key);
    if (!s->key)
        return false;
    *value = s->value;
    return true;
}

void rlx_ptrmap_remove(rlx_ptrmap *m, const void *key)
{
    if (!m->len || !key)
        return;
    rlx_ptrslot *hole = slot_of(m, key);
    if (!hole->key)
        return;
    size_t mask = m->cap - 1;
    size_t empty = (size_t)(hole - m->slots);
    /* Close the gap: move back each later key of the run whose way from home passes the hole. */
    for (size_t at = (empty + 1) & mask; m->slots[at].key; at = (at + 1) & mask) {
        size_t from_home = (at - home(m->slots[at].key, mask)) & mask;
        size_t from_hole = (at - empty) & mask;
        if (from_home >= from_hole) {
            m->slots[empty] = m->slots[at];
            empty = at;
        }
    }
    m->slots[empty] = (rlx_ptrslot){ NULL, 0 };
    m->len--;
}
