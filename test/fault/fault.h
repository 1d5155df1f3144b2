/* fault.h: allocators that say no, and a malloc that knows who called it.
 *
 * `fault` is a host allocator that counts, and refuses the n-th request or all from the n-th
 * on. Besides that the test program defines malloc and its relatives itself: between
 * fault_enter and fault_leave the library is on the stack, and whatever it asks of malloc is
 * counted (and can be refused, for hosts that give no allocator). What the host allocator
 * itself takes does not count.
 */
#ifndef TEST_FAULT_H
#define TEST_FAULT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <relax/relax.h>

#define Z(s) (s), strlen(s)
#define N(array) (sizeof(array) / sizeof(array)[0])

/* The sanitizers bring a malloc of their own: nothing is interposed there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAULT_SEES_MALLOC 0
#else
#define FAULT_SEES_MALLOC 1
#endif

/* When to refuse: request number `at` (1: the first, 0: none), or that and all after it. */
typedef struct fault_plan {
    size_t calls, at, refused;
    bool forever;
} fault_plan;

/* For a debugger: the stack here is that of the first request refused. */
__attribute__((noinline)) static void fault_first_refused(void) { __asm__ volatile(""); }

static bool fault_refuses(fault_plan *p)
{
    p->calls++;
    bool no = p->at && (p->forever ? p->calls >= p->at : p->calls == p->at);
    if (no && !p->refused)
        fault_first_refused();
    p->refused += no;
    return no;
}

/* ---- malloc */

static struct {
    /* the library is on the stack; volatile, as compilers know that malloc reads no variable of
     * ours */
    volatile bool inside;
    bool is_ours;     /* the host gave no allocator: the library may call malloc */
    fault_plan plan;  /* for those calls */
    size_t strangers; /* calls that went past the host's allocator */
    long blocks;      /* what the library has from malloc */
} fault_malloc;

#if FAULT_SEES_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *ptr);
void *memalign(size_t align, size_t size);

static bool malloc_says_no(void)
{
    if (!fault_malloc.inside)
        return false;
    if (!fault_malloc.is_ours)
        fault_malloc.strangers++;
    if (!fault_refuses(&fault_malloc.plan))
        return false;
    errno = ENOMEM;
    return true;
}

static void *booked(void *ptr)
{
    fault_malloc.blocks += fault_malloc.inside && ptr;
    return ptr;
}

void *malloc(size_t size) { return malloc_says_no() ? NULL : booked(__libc_malloc(size)); }
void *calloc(size_t count, size_t size)
{
    return malloc_says_no() ? NULL : booked(__libc_calloc(count, size));
}
void *memalign(size_t align, size_t size)
{
    return malloc_says_no() ? NULL : booked(__libc_memalign(align, size));
}
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }

void *realloc(void *ptr, size_t size)
{
    if (malloc_says_no())
        return NULL;
    void *p = __libc_realloc(ptr, size);
    return ptr ? p : booked(p);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    int saved = errno;
    void *p = memalign(align, size);
    errno = saved;
    if (p)
        *out = p;
    return p ? 0 : ENOMEM;
}

void free(void *ptr)
{
    fault_malloc.blocks -= fault_malloc.inside && ptr;
    __libc_free(ptr);
}
#endif

static inline void fault_enter(void) { fault_malloc.inside = true; }
static inline void fault_leave(void) { fault_malloc.inside = false; }

/* ---- the host's allocator */

typedef struct fault {
    relax_allocator allocator;
    fault_plan plan;
    size_t live, peak, blocks;
} fault;

/* Every block is followed by a guard that says how large it was. */
static void *fault_alloc(void *user, size_t size, size_t align)
{
    fault *f = user;
    void *p = NULL;
    bool inside = fault_malloc.inside;
    if (fault_refuses(&f->plan))
        return NULL;
    fault_malloc.inside = false;
    int saved = errno, failed = posix_memalign(&p, align < 16 ? 16 : align, size + sizeof size);
    errno = saved;
    fault_malloc.inside = inside;
    if (failed)
        return NULL;
    memset(p, 0xA5, size); /* nobody may count on zeros */
    memcpy((char *)p + size, &size, sizeof size);
    f->live += size;
    f->peak = f->live > f->peak ? f->live : f->peak;
    f->blocks++;
    return p;
}

static void fault_free(void *user, void *ptr, size_t size, size_t align)
{
    fault *f = user;
    bool inside = fault_malloc.inside;
    (void)align;
    if (!ptr)
        return;
    if (memcmp((char *)ptr + size, &size, sizeof size) != 0)
        fail_msg("a block is given back with another size (%zu), or its end was overwritten",
                 size);
    memset(ptr, 0x5A, size);
    f->live -= size;
    f->blocks--;
    fault_malloc.inside = false;
    free(ptr);
    fault_malloc.inside = inside;
}

static void *fault_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    fault *f = user;
    size_t peak = f->peak, live = f->live - old_size + new_size; /* as if it were done in place */
    void *p = fault_alloc(user, new_size, align);
    if (!p)
        return NULL;
    memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    fault_free(user, ptr, old_size, align);
    f->peak = live > peak ? live : peak;
    return p;
}

/* Entries of a folder, "." and ".." among them. */
static inline int fault_entries(const char *folder)
{
    int count = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d))
        count++;
    if (d)
        closedir(d);
    return count;
}

static inline void fault_init(fault *f)
{
    *f = (fault){ .allocator = { sizeof(relax_allocator), f, fault_alloc, fault_resize,
                                 fault_free } };
}

#endif
