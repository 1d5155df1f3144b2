/* blob.c: reference-counted bytes, and allocators shared by objects of several threads. */
/* built for size */
#include "base/blob.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Marks bytes of somebody else that nobody frees: free_data tells foreign bytes from our own. */
static void free_nothing(void *user, void *data, size_t size)
{
}

static rlx_blob *make_header(rlx_memory *m, void *data, size_t size)
{
    rlx_blob *b = rlx_mem_alloc_zero(m, sizeof *b);
    if (!b)
        return NULL;
    atomic_init(&b->refs, 1);
    b->memory = m;
    b->data = data;
    b->size = size;
    return b;
}

#define PAGE ((uintptr_t)4096)
#define TOUCH_FROM ((size_t)1 << 18)

void rlx_blob_touch(rlx_blob *b)
{
#if defined(MADV_POPULATE_WRITE)
    uintptr_t from = ((uintptr_t)b->data + PAGE - 1) & ~(PAGE - 1),
              to = ((uintptr_t)b->data + b->size) & ~(PAGE - 1);
    int saved = errno;
    if (b->size >= TOUCH_FROM)
        madvise((void *)from, to - from, MADV_POPULATE_WRITE); /* older kernels refuse: no harm */
    errno = saved;
#endif
}

rlx_blob *rlx_blob_create(rlx_memory *m, const void *data_or_null, size_t size)
{
    size_t bytes;
    if (!rlx_add_size(size, 1, &bytes))
        return rlx_mem_overflow(m), NULL;
    unsigned char *data = rlx_mem_alloc_aligned(m, bytes, RLX_BLOB_ALIGN);
    if (!data)
        return NULL;
    rlx_blob *b = make_header(m, data, size);
    if (!b) {
        rlx_mem_free_aligned(m, data, bytes, RLX_BLOB_ALIGN);
        return NULL;
    }
    if (data_or_null && size) {
        rlx_blob_touch(b);
        memcpy(data, data_or_null, size);
    }
    data[size] = 0;
    return b;
}

rlx_blob *rlx_blob_wrap(rlx_memory *m, void *data, size_t size,
                        void (*free_data)(void *, void *, size_t), void *user)
{
    rlx_blob *b = make_header(m, data, size);
    if (!b) {
        if (free_data)
            free_data(user, data, size);
        return NULL;
    }
    b->free_data = free_data ? free_data : free_nothing;
    b->free_user = user;
    return b;
}

rlx_blob *rlx_blob_defer(rlx_memory *m, size_t size, rlx_deferred *d)
{
    rlx_blob *b = make_header(m, NULL, size);
    if (b)
        b->deferred = d;
    else
        d->end(d);
    return b;
}

bool rlx_blob_write(const rlx_blob *b, void *to)
{
    size_t made = 0, n = 1;
    for (; b->deferred && n && made < b->size; made += n)
        n = b->deferred->make(b->deferred, made, (unsigned char *)to + made);
    if (!b->deferred && b->size)
        memcpy(to, b->data, b->size);
    return n > 0;
}

rlx_blob *rlx_blob_retain(rlx_blob *b)
{
    if (b)
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void rlx_blob_release(rlx_blob *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (b->deferred)
        b->deferred->end(b->deferred);
    else if (b->free_data)
        b->free_data(b->free_user, b->data, b->size);
    else
        rlx_mem_free_aligned(b->memory, b->data, b->size + 1, RLX_BLOB_ALIGN);
    rlx_mem_free(b->memory, b, sizeof *b);
}

rlx_shared_memory *rlx_shared_memory_create(const relax_allocator *host, size_t cap)
{
    rlx_memory first;
    if (!rlx_memory_init(&first, host, cap))
        return NULL;
    /* Taken from the host directly: it cannot be counted by the counter it contains. */
    rlx_shared_memory *s = first.host.alloc(first.host.user, sizeof *s, 16);
    if (!s)
        return NULL;
    if (!rlx_memory_init(&s->memory, host, cap))
        return NULL; /* not reached: the same host was good above */
    atomic_init(&s->refs, 1);
    atomic_init(&s->returned, NULL);
    atomic_init(&s->returned_bytes, 0);
    atomic_init(&s->takes_back, false);
    return s;
}

rlx_shared_memory *rlx_shared_memory_retain(rlx_shared_memory *s)
{
    if (s)
        atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void rlx_shared_memory_release(rlx_shared_memory *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    relax_allocator host = s->memory.host;
    host.free(host.user, s, sizeof *s, 16);
}
