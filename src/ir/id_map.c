/* id_map.c: numbers by serial number of a node, in pages. */
#include "ir/id_map.h"

#include <string.h>

void rlx_id_map_init(rlx_id_map *m, rlx_memory *memory)
{
    *m = (rlx_id_map){ .memory = memory };
    rlx_ptrmap_init(&m->others, memory);
}

void rlx_id_map_free(rlx_id_map *m)
{
    for (size_t i = 0; i < m->num_pages; i++)
        rlx_mem_free(m->memory, m->pages[i], m->pages[i] ? RLX_ID_PAGE * sizeof **m->pages : 0);
    rlx_mem_free(m->memory, m->pages, m->num_pages * sizeof *m->pages);
    rlx_ptrmap_free(&m->others);
    rlx_id_map_init(m, m->memory);
}

/* One page more than asked for and half as many again, so that growing stays linear. */
static bool grow(rlx_id_map *m, size_t page)
{
    size_t count = page + 1 + page / 2;
    rlx_ptrslot **pages = rlx_mem_alloc_zero(m->memory, count * sizeof *pages);
    if (!pages)
        return false;
    if (m->num_pages)
        memcpy(pages, m->pages, m->num_pages * sizeof *pages);
    rlx_mem_free(m->memory, m->pages, m->num_pages * sizeof *pages);
    m->pages = pages;
    m->num_pages = count;
    return true;
}

static rlx_ptrslot *slot_for(rlx_id_map *m, uint32_t id)
{
    size_t page = id / RLX_ID_PAGE;
    if (page >= m->num_pages && !grow(m, page))
        return NULL;
    if (!m->pages[page])
        m->pages[page] = rlx_mem_alloc_zero(m->memory, RLX_ID_PAGE * sizeof **m->pages);
    return m->pages[page] ? &m->pages[page][id % RLX_ID_PAGE] : NULL;
}

bool rlx_id_map_put(rlx_id_map *m, const rlx_node *n, uintptr_t value)
{
    rlx_ptrslot *s = slot_for(m, n->id);
    if (!s)
        return false;
    if (s->key && s->key != n)
        return rlx_ptrmap_put(&m->others, n, value);
    *s = (rlx_ptrslot){ n, value };
    return true;
}
