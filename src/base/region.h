/*- region.h: bump allocation. Everything in a region is freed at once.
 *
 *   region -> [chunk n] -> [chunk n-1] -> ... each: header, then payload handed out upward
 *
 * A region is used by one thread at a time. It must be made by rlx_region_init (all zero is not
 * enough).
 *
 * Chunks grow with the region: half of it each, from 1 KiB to 4 KiB, then a sixteenth, to
 * 2 MiB. A request larger than a quarter of a chunk gets one of its own.
 */
#ifndef RLX_BASE_REGION_H
#define RLX_BASE_REGION_H

#include "base/memory.h"

typedef struct rlx_chunk rlx_chunk;
typedef struct rlx_region {
    rlx_memory *memory;
    rlx_chunk *chunks; /* newest first */
    char *next, *end;
    size_t bytes;      /* payload handed out */
    size_t next_chunk; /* size of the next chunk */
    rlx_chunk *spare;  /* kept for reuse, the largest first; or NULL */
    /* chunks that rlx_region_owns found last: begin and size; size 0: none */
    struct { uintptr_t begin; size_t size; } found[4];
    uint32_t next_found;
} rlx_region;

typedef struct rlx_region_mark { rlx_chunk *chunk; char *next; size_t bytes; } rlx_region_mark;

void rlx_region_init(rlx_region *r, rlx_memory *m);
void rlx_region_drop(rlx_region *r);              /* frees all; usable again */
/* Empties `from`; up to `most` bytes of its chunks wait in r for reuse. Memory that has been
 * touched is cheaper than new memory. */
void rlx_region_inherit(rlx_region *r, rlx_region *from, size_t most);
rlx_region_mark rlx_region_save(const rlx_region *r);
/* Forgets what came after the mark. One chunk is kept for reuse, or the next one will hold all
 * that was forgotten: a region used again and again soon asks for nothing. */
void rlx_region_rewind(rlx_region *r, rlx_region_mark mark);
/* slow path of rlx_region_alloc */
RLX_NODISCARD void *rlx_region_grow(rlx_region *r, size_t size);

/* 8-byte aligned, not cleared; NULL when out of memory. size 0 gives a valid pointer. */
RLX_INLINE void *rlx_region_alloc(rlx_region *r, size_t size)
{
    if (RLX_UNLIKELY(size > SIZE_MAX - 7))
        return rlx_region_grow(r, size); /* which refuses it */
    size = (size + 7) & ~(size_t)7;
    if (RLX_UNLIKELY(size > (size_t)(r->end - r->next)))
        return rlx_region_grow(r, size);
    void *p = r->next;
    r->next += size;
    r->bytes += size;
    return p;
}
RLX_NODISCARD void *rlx_region_zero(rlx_region *r, size_t size);
RLX_NODISCARD void *rlx_region_copy(rlx_region *r, const void *data, size_t size);
/* Does p lie in memory of r? p may point anywhere. Looks through the chunks unless p lies where
 * one of the last questions found theirs; there are some 150 in 32 MiB. */
bool rlx_region_owns(rlx_region *r, const void *p);
/* count * size with overflow check. */
RLX_NODISCARD void *rlx_region_array(rlx_region *r, size_t count, size_t size);

#endif
