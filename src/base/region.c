/* region.c: bump allocation in chunks that are freed together. */
#include "base/region.h"

#include <string.h>

/* With RLX_TINY_REGIONS nearly every request goes to the allocator: a build for tests that
 * refuse requests or watch the ends of blocks. */
#ifdef RLX_TINY_REGIONS
#define FIRST_CHUNK ((size_t)64)
#define MIDDLE_CHUNK ((size_t)64)
#define LARGEST_CHUNK ((size_t)64)
#else
#define FIRST_CHUNK ((size_t)1024)
#define MIDDLE_CHUNK ((size_t)4 * 1024)
#define LARGEST_CHUNK ((size_t)2 * 1024 * 1024)
#endif

/* The payload follows the header. Chunks hang newest first. A chunk of its own ("single") holds
 * one large request; `bump` is then the chunk that small requests were taken from when it was
 * made, so that rewinding to it finds that chunk in one step. */
struct rlx_chunk {
    rlx_chunk *older;
    rlx_chunk *bump; /* itself, unless single */
    size_t size;     /* header included */
    size_t unused;   /* keeps the payload 16-byte aligned */
};

/* Where an empty region points: requests of size 0 must give a pointer that is not NULL. */
static const uint64_t nothing;

static char *chunk_end(rlx_chunk *c)
{
    return (char *)c + c->size;
}

static void point_nowhere(rlx_region *r)
{
    r->next = r->end = (char *)(uintptr_t)&nothing;
}

void rlx_region_init(rlx_region *r, rlx_memory *m)
{
    memset(r, 0, sizeof *r);
    r->memory = m;
    r->next_chunk = FIRST_CHUNK;
    point_nowhere(r);
}

static void free_chunk(rlx_region *r, rlx_chunk *c)
{
    if (!c)
        return;
    size_t size = c->size;
#ifdef RLX_DEBUG
    memset(c, 0xDD, size); /* a handle into it is no node any more */
#endif
    rlx_mem_free(r->memory, c, size);
}

/* The first of a list of chunks. */
static rlx_chunk *take(rlx_chunk **list)
{
    rlx_chunk *c = *list;
    *list = c->older;
    return c;
}

void rlx_region_drop(rlx_region *r)
{
    while (r->chunks)
        free_chunk(r, take(&r->chunks));
    while (r->spare)
        free_chunk(r, take(&r->spare));
    rlx_region_init(r, r->memory);
}

/* The newest chunks are the largest. */
void rlx_region_inherit(rlx_region *r, rlx_region *from, size_t most)
{
    rlx_chunk **end = &r->spare;
    while (*end)
        end = &(*end)->older;
    memset(from->found, 0, sizeof from->found);
    while (from->chunks) {
        rlx_chunk *c = take(&from->chunks);
        if (c->bump != c || c->size > most) {
            free_chunk(from, c);
            continue;
        }
        most -= c->size;
        c->older = NULL;
        *end = c;
        end = &c->older;
    }
    rlx_region_drop(from);
}

rlx_region_mark rlx_region_save(const rlx_region *r)
{
    return (rlx_region_mark){ r->chunks, r->next, r->bytes };
}

/* Keeps the larger of the spare chunk and `c`, frees the other. */
static void keep_or_free(rlx_region *r, rlx_chunk *c)
{
    if (c->bump == c && (!r->spare || r->spare->size < c->size)) {
        c->older = r->spare ? r->spare->older : NULL;
        free_chunk(r, r->spare);
        r->spare = c;
    } else {
        free_chunk(r, c);
    }
}

/* Chunks of `given` bytes were needed and are likely to be again: one chunk will hold as much, and
 * stay. */
static void expect_again(rlx_region *r, size_t given)
{
    size_t size = FIRST_CHUNK;
    while (size < given && size < LARGEST_CHUNK)
        size *= 2;
    if (!r->spare || r->spare->size >= size)
        return;
    free_chunk(r, take(&r->spare));
    r->next_chunk = size;
}

void rlx_region_rewind(rlx_region *r, rlx_region_mark mark)
{
    size_t given = 0;
    memset(r->found, 0, sizeof r->found);
    while (r->chunks && r->chunks != mark.chunk) {
        given += r->chunks->size;
        keep_or_free(r, take(&r->chunks));
    }
    expect_again(r, given);
    r->bytes = mark.bytes;
    rlx_chunk *bump = r->chunks ? r->chunks->bump : NULL;
    if (!bump) {
        point_nowhere(r);
        return;
    }
    r->next = mark.next;
    r->end = chunk_end(bump);
}

static rlx_chunk *make_chunk(rlx_region *r, size_t payload)
{
    size_t size;
    if (!rlx_add_size(payload, sizeof(rlx_chunk), &size))
        return rlx_mem_overflow(r->memory), NULL;
    rlx_chunk *c = rlx_mem_alloc(r->memory, size);
    if (c)
        c->size = size;
    return c;
}

/* The next chunk for small requests, this one of `size`: the spare one if that fits. */
static rlx_chunk *next_bump_chunk(rlx_region *r, size_t size)
{
    if (!r->spare || r->spare->size - sizeof *r->spare < size)
        return make_chunk(r, r->next_chunk - sizeof *r->spare);
    return take(&r->spare);
}

/* Half of what there is, of much a sixteenth: little is left over at any size, chunks are few. */
static void choose_next_chunk(rlx_region *r)
{
    size_t half = r->bytes / 2, next = half < MIDDLE_CHUNK ? half : MIDDLE_CHUNK;
    if (next < r->bytes / 16)
        next = r->bytes / 16;
    next = next / FIRST_CHUNK * FIRST_CHUNK;
    r->next_chunk = next < FIRST_CHUNK ? FIRST_CHUNK : next < LARGEST_CHUNK ? next : LARGEST_CHUNK;
}

void *rlx_region_grow(rlx_region *r, size_t size)
{
    if (size > SIZE_MAX - 7)
        return rlx_mem_overflow(r->memory), NULL;
    size = (size + 7) & ~(size_t)7;
    bool single = size > r->next_chunk / 4;
    rlx_chunk *c = single ? make_chunk(r, size) : next_bump_chunk(r, size);
    if (!c)
        return NULL;
    char *payload = (char *)(c + 1);
    c->bump = c;
    if (single)
        c->bump = r->chunks ? r->chunks->bump : NULL;
    else
        r->next = payload + size, r->end = chunk_end(c);
    c->older = r->chunks;
    r->chunks = c;
    r->bytes += size;
    choose_next_chunk(r);
    return payload;
}

void *rlx_region_zero(rlx_region *r, size_t size)
{
    void *p = rlx_region_alloc(r, size);
    if (p && size)
        memset(p, 0, size);
    return p;
}

void *rlx_region_copy(rlx_region *r, const void *data, size_t size)
{
    void *p = rlx_region_alloc(r, size);
    if (p && size)
        memcpy(p, data, size);
    return p;
}

void *rlx_region_array(rlx_region *r, size_t count, size_t size)
{
    size_t bytes;
    if (!rlx_mul_size(count, size, &bytes))
        return rlx_mem_overflow(r->memory), NULL;
    return rlx_region_alloc(r, bytes);
}

bool rlx_region_owns(rlx_region *r, const void *p)
{
    uintptr_t at = (uintptr_t)p;
    for (size_t i = 0; i < sizeof r->found / sizeof r->found[0]; i++)
        if (at - r->found[i].begin < r->found[i].size)
            return true;
    for (const rlx_chunk *c = r->chunks; c; c = c->older) {
        if (at - (uintptr_t)c >= c->size)
            continue;
        size_t next = r->next_found++ % (sizeof r->found / sizeof r->found[0]);
        r->found[next].begin = (uintptr_t)c;
        r->found[next].size = c->size;
        return true;
    }
    return false;
}
