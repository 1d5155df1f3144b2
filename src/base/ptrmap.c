/* ptrmap.c: maps from pointers, linear probing, a power of two of slots, at most 2/3 of them
 * used. */
#include "base/intern.h"
#include "base/map.h"
#include "base/region.h"

#include <string.h>

#define FIRST_SLOTS ((size_t)16)
#define MOST_FLAT_SLOTS ((size_t)8192)
#define MOST_CLEARED_SLOTS ((size_t)256)
#define PAGE_BITS 14
#define FIRST_PAGES ((size_t)256)
#define FIRST_PAGE_SLOTS ((size_t)4)

/* The keys of one page of addresses; cap 0: the entry is not used. */
typedef struct page { uintptr_t number; rlx_ptrslot *slots; uint32_t len, cap; } page;
struct rlx_ptrpages {
    page *table;     /* by number, linear probing, at most half of it used */
    size_t len, cap;
    rlx_region region; /* the slots; those of a page that grew are left behind */
};

/* ---- one table of slots */

static size_t home(const void *key, size_t mask)
{
    return (size_t)rlx_hash_mix(0, (uint64_t)(uintptr_t)key) & mask;
}

/* The slot that holds the key, or the empty one where it belongs. Needs at least one empty
 * slot. */
static rlx_ptrslot *slot_of(rlx_ptrslot *slots, size_t cap, const void *key)
{
    size_t mask = cap - 1;
    size_t at = home(key, mask);
    while (slots[at].key && slots[at].key != key)
        at = (at + 1) & mask;
    return &slots[at];
}

static bool is_full(size_t len, size_t cap)
{
    return len + 1 > cap - cap / 3;
}

static void move_slots(const rlx_ptrslot *from, size_t count, rlx_ptrslot *to, size_t cap)
{
    for (size_t i = 0; i < count; i++)
        if (from[i].key)
            *slot_of(to, cap, from[i].key) = from[i];
}

/* Closes the gap: moves back each later key of the run whose way from home passes the hole. */
static void empty_slot(rlx_ptrslot *slots, size_t cap, size_t empty)
{
    size_t mask = cap - 1;
    for (size_t at = (empty + 1) & mask; slots[at].key; at = (at + 1) & mask) {
        size_t from_home = (at - home(slots[at].key, mask)) & mask;
        size_t from_hole = (at - empty) & mask;
        if (from_home >= from_hole) {
            slots[empty] = slots[at];
            empty = at;
        }
    }
    slots[empty] = (rlx_ptrslot){ NULL, 0 };
}

/* ---- pages */

static uintptr_t page_number(const void *key)
{
    return (uintptr_t)key >> PAGE_BITS;
}

/* The page of that number, or the entry where it belongs. */
static page *page_of(const rlx_ptrpages *p, uintptr_t number)
{
    size_t mask = p->cap - 1, at = (size_t)rlx_hash_mix(0, number) & mask;
    while (p->table[at].cap && p->table[at].number != number)
        at = (at + 1) & mask;
    return &p->table[at];
}

static void free_pages(rlx_memory *m, rlx_ptrpages *p)
{
    if (!p)
        return;
    rlx_mem_free(m, p->table, p->cap * sizeof *p->table);
    rlx_region_drop(&p->region);
    rlx_mem_free(m, p, sizeof *p);
}

static rlx_ptrpages *make_pages(rlx_memory *m)
{
    rlx_ptrpages *p = rlx_mem_alloc(m, sizeof *p);
    if (!p)
        return NULL;
    *p = (rlx_ptrpages){ .cap = FIRST_PAGES };
    rlx_region_init(&p->region, m);
    p->table = rlx_mem_alloc_zero(m, p->cap * sizeof *p->table);
    if (p->table)
        return p;
    rlx_mem_free(m, p, sizeof *p);
    return NULL;
}

static bool double_table(rlx_memory *m, rlx_ptrpages *p)
{
    page *old = p->table;
    size_t count = p->cap, bytes;
    if (!rlx_mul_size(count * 2, sizeof *old, &bytes))
        return rlx_mem_overflow(m);
    page *table = rlx_mem_alloc_zero(m, bytes);
    if (!table)
        return false;
    p->table = table;
    p->cap = count * 2;
    for (size_t i = 0; i < count; i++)
        if (old[i].cap)
            *page_of(p, old[i].number) = old[i];
    rlx_mem_free(m, old, count * sizeof *old);
    return true;
}

/* A new page gets a capacity of as many keys as pages have, so that few grow. */
static size_t usual_slots(const rlx_ptrpages *p, size_t keys)
{
    size_t want = p->len ? keys / p->len + keys / p->len / 2 : 0, cap = FIRST_PAGE_SLOTS;
    while (cap < want && cap < MOST_FLAT_SLOTS)
        cap *= 2;
    return cap;
}

static page *add_page(rlx_memory *m, rlx_ptrpages *p, uintptr_t number, size_t keys)
{
    if ((p->len + 1) * 2 > p->cap && !double_table(m, p))
        return NULL;
    size_t cap = usual_slots(p, keys);
    rlx_ptrslot *slots = rlx_region_zero(&p->region, cap * sizeof *slots);
    if (!slots)
        return NULL;
    page *g = page_of(p, number);
    *g = (page){ number, slots, 0, (uint32_t)cap };
    p->len++;
    return g;
}

static bool double_page(rlx_ptrpages *p, page *g)
{
    size_t cap = (size_t)g->cap * 2;
    rlx_ptrslot *slots = rlx_region_zero(&p->region, cap * sizeof *slots);
    if (!slots)
        return false;
    move_slots(g->slots, g->cap, slots, cap);
    g->slots = slots;
    g->cap = (uint32_t)cap;
    return true;
}

/* `keys`: how many there are in all pages. *added: the key was not there. */
static bool put_in_page(rlx_memory *m, rlx_ptrpages *p, size_t keys, rlx_ptrslot item, bool *added)
{
    page *g = page_of(p, page_number(item.key));
    *added = false;
    if (!g->cap && !(g = add_page(m, p, page_number(item.key), keys)))
        return false;
    rlx_ptrslot *s = slot_of(g->slots, g->cap, item.key);
    if (!s->key) {
        if (is_full(g->len, g->cap)) {
            if (!double_page(p, g))
                return false;
            s = slot_of(g->slots, g->cap, item.key);
        }
        g->len++;
        *added = true;
    }
    *s = item;
    return true;
}

/* From one table to pages. On failure the map is as it was. */
static bool turn_to_pages(rlx_ptrmap *m)
{
    rlx_ptrpages *p = make_pages(m->memory);
    bool added, ok = p != NULL;
    for (size_t i = 0, keys = 0; ok && i < m->cap; i++)
        if (m->slots[i].key)
            ok = put_in_page(m->memory, p, keys++, m->slots[i], &added);
    if (!ok) {
        free_pages(m->memory, p);
        return false;
    }
    rlx_mem_free(m->memory, m->slots, m->cap * sizeof *m->slots);
    m->slots = NULL;
    m->cap = 0;
    m->pages = p;
    return true;
}

static bool put_paged(rlx_ptrmap *m, rlx_ptrslot item)
{
    bool added;
    bool ok = put_in_page(m->memory, m->pages, m->len, item, &added);
    m->len += added;
    return ok;
}

/* ---- maps */

void rlx_ptrmap_init(rlx_ptrmap *m, rlx_memory *memory)
{
    *m = (rlx_ptrmap){ .memory = memory };
}

void rlx_ptrmap_free(rlx_ptrmap *m)
{
    rlx_mem_free(m->memory, m->slots, m->cap * sizeof *m->slots);
    free_pages(m->memory, m->pages);
    rlx_ptrmap_init(m, m->memory);
}

/* A table that is large for few keys is given back: clearing again and again costs no more than
 * filling did. */
void rlx_ptrmap_clear(rlx_ptrmap *m)
{
    if (m->pages || (m->cap > MOST_CLEARED_SLOTS && m->len < m->cap / 16)) {
        rlx_ptrmap_free(m);
        return;
    }
    if (m->len)
        memset(m->slots, 0, m->cap * sizeof *m->slots);
    m->len = 0;
}

static bool grow(rlx_ptrmap *m)
{
    size_t cap = m->cap ? m->cap * 2 : FIRST_SLOTS;
    rlx_ptrslot *slots = rlx_mem_alloc_zero(m->memory, cap * sizeof *slots);
    if (!slots)
        return false;
    move_slots(m->slots, m->cap, slots, cap);
    rlx_mem_free(m->memory, m->slots, m->cap * sizeof *m->slots);
    m->slots = slots;
    m->cap = cap;
    return true;
}

bool rlx_ptrmap_put(rlx_ptrmap *m, const void *key, uintptr_t value)
{
    rlx_ptrslot item = { key, value };
    if (m->pages)
        return put_paged(m, item);
    rlx_ptrslot *s = m->cap ? slot_of(m->slots, m->cap, key) : NULL;
    if (s && s->key) {
        s->value = value;
        return true;
    }
    if (is_full(m->len, m->cap)) {
        if (m->cap >= MOST_FLAT_SLOTS)
            return turn_to_pages(m) && put_paged(m, item);
        if (!grow(m))
            return false;
        s = slot_of(m->slots, m->cap, key);
    }
    *s = item;
    m->len++;
    return true;
}

/* The table that would hold the key; *cap 0: none. */
static rlx_ptrslot *table_of(const rlx_ptrmap *m, const void *key, size_t *cap, page **in)
{
    *in = m->pages ? page_of(m->pages, page_number(key)) : NULL;
    *cap = *in ? (*in)->cap : m->cap;
    return *in ? (*in)->slots : m->slots;
}

bool rlx_ptrmap_find(const rlx_ptrmap *m, const void *key, uintptr_t *value)
{
    size_t cap;
    page *in;
    if (!m->len || !key)
        return false;
    rlx_ptrslot *slots = table_of(m, key, &cap, &in);
    const rlx_ptrslot *s = cap ? slot_of(slots, cap, key) : NULL;
    if (!s || !s->key)
        return false;
    *value = s->value;
    return true;
}

void rlx_ptrmap_remove(rlx_ptrmap *m, const void *key)
{
    size_t cap;
    page *in;
    if (!m->len || !key)
        return;
    rlx_ptrslot *slots = table_of(m, key, &cap, &in);
    rlx_ptrslot *hole = cap ? slot_of(slots, cap, key) : NULL;
    if (!hole || !hole->key)
        return;
    empty_slot(slots, cap, (size_t)(hole - slots));
    m->len--;
    if (in)
        in->len--;
}
