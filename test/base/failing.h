/* failing.h: a host allocator that refuses the n-th request, and checks what is given back. */
#ifndef TEST_BASE_FAILING_H
#define TEST_BASE_FAILING_H

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

typedef struct failing {
    relax_allocator allocator;
    size_t calls;   /* requests so far */
    size_t fail_at; /* 1: the first; 0: none */
    size_t live;    /* bytes that the library says it has */
    size_t blocks;
} failing;

static inline int failing_refuses(failing *f)
{
    return ++f->calls == f->fail_at;
}

static inline void *failing_alloc(void *user, size_t size, size_t align)
{
    failing *f = user;
    void *p = NULL;
    if (failing_refuses(f) || posix_memalign(&p, align < 16 ? 16 : align, size) != 0)
        return NULL;
    memset(p, 0xA5, size); /* nobody may count on zeros */
    f->live += size;
    f->blocks++;
    return p;
}

static inline void failing_free(void *user, void *ptr, size_t size, size_t align)
{
    failing *f = user;
    f->live -= size;
    f->blocks--;
    free(ptr);
}

static inline void *failing_resize(void *user, void *ptr, size_t old_size, size_t new_size,
                                   size_t align)
{
    void *p = failing_alloc(user, new_size, align);
    if (!p)
        return NULL;
    memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    failing_free(user, ptr, old_size, align);
    return p;
}

static inline void failing_init(failing *f, rlx_memory *m, size_t fail_at)
{
    *f = (failing){ .fail_at = fail_at };
    f->allocator = (relax_allocator){ sizeof(relax_allocator), f, failing_alloc, failing_resize,
                                      failing_free };
    if (!rlx_memory_init(m, &f->allocator, SIZE_MAX))
        abort();
}

#endif
