/* few_requests.h: a host allocator that grants so many requests and refuses all that follow. */
#ifndef TEST_FEW_REQUESTS_H
#define TEST_FEW_REQUESTS_H

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static inline void *few_alloc(void *user, size_t size, size_t align)
{
    void *p = NULL;
    return (*(long *)user)-- > 0 &&
                   posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size) == 0
               ? p
               : NULL;
}

static inline void *few_resize(void *user, void *ptr, size_t old_size, size_t new_size,
                               size_t align)
{
    void *p = few_alloc(user, new_size, align);
    if (p && ptr) {
        memcpy(p, ptr, old_size < new_size ? old_size : new_size);
        free(ptr);
    }
    return p;
}

static inline void few_free(void *user, void *ptr, size_t size, size_t align)
{
    free(ptr);
}

/* *left: how many requests are granted from here on. */
static inline relax_allocator few_requests(long *left)
{
    return (relax_allocator){ sizeof(relax_allocator), left, few_alloc, few_resize, few_free };
}

#endif
