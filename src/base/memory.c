/* memory.c: the host's allocator behind a count, a cap and a latch. */
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#define DEFAULT_ALIGN ((size_t)16)
/* Of large pages, where a machine has them. */
#define LARGE_PAGE ((size_t)2 << 20)

/* The default allocator. malloc may write errno when it fails; hosts do not expect that of us. Compilers that think it never does would leave
 * out what puts it back. */
static void put_back(int saved)
{
    RLX_MEMORY_IS_WRITTEN();
    errno = saved;
}

/* Arenas and panels of large networks have thousands of small pages, more than a processor keeps the places of: a tenth of the time of such a
 * network is looking for them. Whole large pages only, so that no more memory is used than is asked for. */
static void *large_alloc(size_t size, size_t align)
{
    void *p = NULL;
    if (posix_memalign(&p, align < LARGE_PAGE ? LARGE_PAGE : align, size) != 0)
        return NULL;
#if defined(MADV_HUGEPAGE)
    (void)madvise(p, size & ~(LARGE_PAGE - 1), MADV_HUGEPAGE);
#endif
    return p;
}

static void *system_alloc(void *user, size_t size, size_t align)
{
    int saved = errno;
    void *p = NULL;
    if (align <= _Alignof(max_align_t))
        p = malloc(size);
    else if (size >= LARGE_PAGE)
        p = large_alloc(size, align);
    else if (posix_memalign(&p, align, size) != 0)
        p = NULL;
    put_back(saved);
    return p;
}

static void system_free(void *user, void *ptr, size_t size, size_t align)
{
    int saved = errno;
    free(ptr);
    put_back(saved);
}

static void *system_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    if (align > _Alignof(max_align_t)) { /* realloc would lose it */
        void *moved = system_alloc(user, new_size, align);
        if (!moved)
            return NULL;
        if (old_size)
            memcpy(moved, ptr, old_size < new_size ? old_size : new_size);
        system_free(user, ptr, old_size, align);
        return moved;
    }
    int saved = errno;
    void *p = realloc(ptr, new_size);
    put_back(saved);
    return p;
}

static const relax_allocator system_allocator = {
    .struct_size = sizeof(relax_allocator),
    .alloc = system_alloc,
    .resize = system_resize,
    .free = system_free,
};

bool rlx_memory_init(rlx_memory *m, const relax_allocator *host, size_t cap)
{
    memset(m, 0, sizeof *m);
    atomic_init(&m->live, 0);
    atomic_init(&m->peak, 0);
    atomic_init(&m->count, 0);
    m->cap = cap;
    m->host = system_allocator;
    if (!host)
        return true;
    if (host->struct_size < sizeof(relax_allocator) || !host->alloc || !host->resize ||
        !host->free)
        return false;
    m->host = *host;
    m->host.struct_size = sizeof(relax_allocator);
    return true;
}

/* Books `size` more bytes, unless that would pass the cap. */
static bool charge(rlx_memory *m, size_t size)
{
    size_t live = atomic_load_explicit(&m->live, memory_order_relaxed);
    do {
        if (live > m->cap || size > m->cap - live)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&m->live, &live, live + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    size_t now = live + size;
    size_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak_explicit(
                             &m->peak, &peak, now, memory_order_relaxed, memory_order_relaxed))
        ;
    return true;
}

static void discharge(rlx_memory *m, size_t size)
{
    atomic_fetch_sub_explicit(&m->live, size, memory_order_relaxed);
}

/* Before a request goes to the host. */
static bool book(rlx_memory *m, size_t size)
{
    if (size == 0 || !charge(m, size))
        return false;
    atomic_fetch_add_explicit(&m->count, 1, memory_order_relaxed);
    return true;
}

/* A request for nothing gets nothing, and that is no failure. */
static void *refused(rlx_memory *m, size_t size)
{
    if (m->latch && size)
        *m->latch = true;
    return NULL;
}

bool rlx_mem_overflow(rlx_memory *m) { return refused(m, SIZE_MAX) != NULL; }

static void *alloc_raw(rlx_memory *m, size_t size, size_t align)
{
    if (!book(m, size))
        return refused(m, size);
    void *p = m->host.alloc(m->host.user, size, align);
    if (p)
        return p;
    discharge(m, size);
    return refused(m, size);
}

void *rlx_mem_try(rlx_memory *m, size_t size)
{
    if (!book(m, size))
        return NULL;
    void *p = m->host.alloc(m->host.user, size, DEFAULT_ALIGN);
    if (!p)
        discharge(m, size);
    return p;
}

void *rlx_mem_alloc(rlx_memory *m, size_t size)
{
    return alloc_raw(m, size, DEFAULT_ALIGN);
}

/* Fresh pages of the system are zero: calloc need not touch them. */
static void *system_alloc_zero(size_t size)
{
    int saved = errno;
    void *p = calloc(1, size);
    put_back(saved);
    return p;
}

void *rlx_mem_alloc_zero(rlx_memory *m, size_t size)
{
    if (m->host.alloc != system_alloc) {
        void *p = alloc_raw(m, size, DEFAULT_ALIGN);
        return p ? memset(p, 0, size) : NULL;
    }
    if (!book(m, size))
        return refused(m, size);
    void *p = system_alloc_zero(size);
    if (p)
        return p;
    discharge(m, size);
    return refused(m, size);
}

/* Smaller alignments are raised so that every block is at least 16-byte aligned. */
static size_t effective_align(size_t align)
{
    return align < DEFAULT_ALIGN ? DEFAULT_ALIGN : align;
}

void *rlx_mem_alloc_aligned(rlx_memory *m, size_t size, size_t align)
{
    return alloc_raw(m, size, effective_align(align));
}

void *rlx_mem_resize(rlx_memory *m, void *ptr, size_t old_size, size_t new_size)
{
    if (!ptr)
        return alloc_raw(m, new_size, DEFAULT_ALIGN);
    if (new_size == 0 || (new_size > old_size && !charge(m, new_size - old_size)))
        return refused(m, new_size);
    atomic_fetch_add_explicit(&m->count, 1, memory_order_relaxed);
    void *p = m->host.resize(m->host.user, ptr, old_size, new_size, DEFAULT_ALIGN);
    if (!p) {
        if (new_size > old_size)
            discharge(m, new_size - old_size);
        return refused(m, new_size);
    }
    if (new_size < old_size)
        discharge(m, old_size - new_size);
    return p;
}

void rlx_mem_free(rlx_memory *m, void *ptr, size_t size)
{
    rlx_mem_free_aligned(m, ptr, size, DEFAULT_ALIGN);
}

void rlx_mem_free_aligned(rlx_memory *m, void *ptr, size_t size, size_t align)
{
    if (!ptr)
        return;
    m->host.free(m->host.user, ptr, size, effective_align(align));
    discharge(m, size);
}

size_t rlx_mem_live(const rlx_memory *m)
{
    return atomic_load_explicit(&m->live, memory_order_relaxed);
}
