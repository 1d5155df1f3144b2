/* memory.h: the one door through which all memory of the library comes and goes.
 *
 * An rlx_memory wraps the host's allocator, counts live bytes and enforces a cap. Blocks carry no
 * header: whoever frees says how large the block was. All functions may be called from any thread.
 */
#ifndef RLX_BASE_MEMORY_H
#define RLX_BASE_MEMORY_H

#include <relax/common.h>
#include <stdatomic.h>
#include "base/compiler.h"

typedef struct rlx_memory {
    relax_allocator host;
    atomic_size_t live;   /* bytes handed out and not yet freed */
    atomic_size_t peak;
    /* allocations ever made; with fail_at the n-th can be made to fail by a host */
    atomic_size_t count;
    size_t cap;           /* live may not exceed it; SIZE_MAX: none */
    /* Set when a request is refused or cannot be counted; may be NULL. On the compile side it is
     * the only flag for memory: who fails for want of memory just says false or NULL. */
    bool *latch;
} rlx_memory;

/* Copies `host` (NULL: malloc). False if `host` is malformed (struct_size, missing functions). */
bool rlx_memory_init(rlx_memory *m, const relax_allocator *host, size_t cap);

/* 16-byte aligned, not cleared. NULL if the host refuses, the cap is reached or size is 0. */
RLX_NODISCARD void *rlx_mem_alloc(rlx_memory *m, size_t size);
/* For what the caller can do without (a cache, a tidying up): a refusal is not latched. What a
 * result depends on is never of that kind. */
RLX_NODISCARD void *rlx_mem_try(rlx_memory *m, size_t size);
RLX_NODISCARD void *rlx_mem_alloc_zero(rlx_memory *m, size_t size);
RLX_NODISCARD void *rlx_mem_alloc_aligned(rlx_memory *m, size_t size, size_t align);
/* `ptr` may be NULL (then old_size is 0). On failure the old block stands. */
RLX_NODISCARD void *rlx_mem_resize(rlx_memory *m, void *ptr, size_t old_size, size_t new_size);
/* NULL is fine. `size` is what was asked for. */
void rlx_mem_free(rlx_memory *m, void *ptr, size_t size);
void rlx_mem_free_aligned(rlx_memory *m, void *ptr, size_t size, size_t align);
/* A size that cannot be counted is a request that is refused: sets the latch. Gives false. */
bool rlx_mem_overflow(rlx_memory *m);
size_t rlx_mem_live(const rlx_memory *m);

/* Sizes from files and callers: false on overflow, *out untouched. */
RLX_INLINE bool rlx_mul_size(size_t a, size_t b, size_t *out)
{
    return !RLX_MUL_OVERFLOWS(a, b, out);
}
RLX_INLINE bool rlx_add_size(size_t a, size_t b, size_t *out)
{
    return !RLX_ADD_OVERFLOWS(a, b, out);
}
RLX_INLINE bool rlx_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    return !RLX_MUL_OVERFLOWS(a, b, out);
}
RLX_INLINE bool rlx_add_i64(int64_t a, int64_t b, int64_t *out)
{
    return !RLX_ADD_OVERFLOWS(a, b, out);
}
RLX_INLINE bool rlx_sub_i64(int64_t a, int64_t b, int64_t *out)
{
    return !RLX_SUB_OVERFLOWS(a, b, out);
}

#endif
