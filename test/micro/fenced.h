/* fenced.h: blocks of memory that end, or begin, where the process may not touch: a byte too far is a crash. What lies
 * on the other side is compared by the test. */
#ifndef TEST_MICRO_FENCED_H
#define TEST_MICRO_FENCED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How often each kind of case is tried: less where an emulator runs it, more in the long run. */
static inline int rounds_of(int usual)
{
    const char *share = getenv("MICRO_SHARE");
    int rounds = getenv("RELAX_LONG") ? usual * 15 : usual;
    return share ? (rounds + atoi(share) - 1) / atoi(share) : rounds;
}

typedef struct fenced {
    unsigned char *bytes;
    size_t size;
} fenced;

static inline fenced fenced_make(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size = (size + page - 1) / page * page;
    unsigned char *p = mmap(NULL, size + 2 * page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) != 0 ||
        mprotect(p + page + size, page, PROT_NONE) != 0)
        abort();
    return (fenced){ p + page, size };
}

static inline void fenced_free(fenced f)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(f.bytes - page, f.size + 2 * page);
}

/* Elements from offset low to high, at one of the two fences; the address of offset 0. */
static inline void *fenced_place(fenced f, int64_t low, int64_t high, size_t bytes, bool at_end)
{
    size_t length = (size_t)(high - low + 1) * bytes;
    if (length > f.size)
        abort();
    return f.bytes + (at_end ? f.size - length : 0) - low * (int64_t)bytes;
}

/* Numbers that are the same in each run. */
static inline uint64_t random_bits(void)
{
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 20 ^ seed >> 41;
}
/* 0 .. n - 1 */
static inline int64_t below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }
static inline bool once_in(int64_t n) { return below(n) == 0; }

#endif
