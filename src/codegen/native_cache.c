/* native_cache: compiled objects of earlier runs, one file each, named by what they depend on.
 *
 * Machine code from a directory is as trusted as whoever can write there: it must be a
 * directory of ours that nobody else can enter, reached without a link at its end. Files carry
 * their digest in front of the object; both are read from one open descriptor, and what was
 * read is what is used. Written to a temporary file and renamed. */
#include "codegen/native_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ENTRIES 4096
#define MAGIC "RLXNAT1\n" /* then 32 bytes of digest, then the object */
#define HEAD (8 + RLX_SHA256_BYTES)

/* ---- the directory -------------------------------------------------------------------------- */

static int no_cache(rlx_cache *c, int fd, const char *why)
{
    if (fd >= 0)
        close(fd);
    c->why = why;
    return -1;
}

static int open_directory(rlx_cache *c, const char *dir)
{
    struct stat s;
    if (mkdir(dir, 0700) && errno != EEXIST)
        return no_cache(c, -1, "its directory cannot be made");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return no_cache(c, -1,
                        errno == ELOOP || errno == ENOTDIR
                            ? "its directory is a link or no directory"
                            : "its directory cannot be opened");
    if (fstat(fd, &s))
        return no_cache(c, fd, "its directory cannot be opened");
    if (s.st_uid != geteuid())
        return no_cache(c, fd, "its directory belongs to somebody else");
    if (s.st_mode & 077)
        return no_cache(c, fd, "others may enter its directory (its mode must be 0700)");
    return fd;
}

void rlx_cache_open(rlx_cache *c, const char *dir, uint64_t most)
{
    int saved = errno;
    *c = (rlx_cache){ .fd = -1, .most = most };
    if (dir)
        c->fd = open_directory(c, dir);
    errno = saved;
}

void rlx_cache_close(rlx_cache *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

/* ---- entries -------------------------------------------------------------------------------- */

static bool read_all(int fd, char *to, size_t size, off_t at)
{
    while (size) {
        ssize_t n = pread(fd, to, size, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n, size -= (size_t)n, at += n;
    }
    return true;
}

static bool write_all(int fd, const char *from, size_t size)
{
    while (size) {
        ssize_t n = write(fd, from, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n, size -= (size_t)n;
    }
    return true;
}

static bool read_entry(int fd, rlx_buf *object)
{
    struct stat s;
    char head[HEAD];
    unsigned char digest[RLX_SHA256_BYTES];
    if (fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_uid != geteuid() || s.st_nlink != 1 ||
        (s.st_mode & 022) || s.st_size <= HEAD || s.st_size > (off_t)1 << 28)
        return false;
    size_t size = (size_t)s.st_size - HEAD;
    if (!read_all(fd, head, HEAD, 0) || memcmp(head, MAGIC, 8) != 0 ||
        !rlx_buf_grow(object, size) || !read_all(fd, object->data, size, HEAD))
        return false;
    rlx_sha256(object->data, size, digest);
    if (memcmp(digest, head + 8, sizeof digest) != 0)
        return false;
    object->len = size;
    return true;
}

/* A damaged entry is as good as none; it is removed, so that the next one takes its place. */
bool rlx_cache_get(rlx_cache *c, const char *key, rlx_buf *object)
{
    if (c->fd < 0)
        return false;
    int saved = errno, fd = openat(c->fd, key, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool ok = fd >= 0 && read_entry(fd, object);
    if (ok)
        futimens(fd, NULL); /* used just now: the last to be thrown out */
    else if ((fd >= 0 && !object->failed) || (fd < 0 && errno == ELOOP))
        unlinkat(c->fd, key, 0);
    if (fd >= 0)
        close(fd);
    errno = saved;
    return ok;
}

/* ---- size ----------------------------------------------------------------------------------- */

typedef struct entry {
    struct timespec used;
    uint64_t size;
    char name[2 * RLX_SHA256_BYTES + 32];
} entry;

static bool is_older(const entry *x, const entry *y)
{
    return x->used.tv_sec != y->used.tv_sec ? x->used.tv_sec < y->used.tv_sec
                                            : x->used.tv_nsec < y->used.tv_nsec;
}

/* Temporary files of runs that ended in the middle count, and go, like entries. */
static size_t collect(int fd, entry *entries, uint64_t *total)
{
    rlx_listing l;
    size_t n = 0;
    *total = 0;
    rlx_listing_begin(&l, fd);
    for (const char *name = rlx_listing_next(&l); name && n < MAX_ENTRIES;
         name = rlx_listing_next(&l)) {
        struct stat s;
        if (name[0] == '.' || strlen(name) >= sizeof entries->name ||
            fstatat(fd, name, &s, AT_SYMLINK_NOFOLLOW) || S_ISDIR(s.st_mode))
            continue;
        entries[n].used = s.st_mtim;
        entries[n].size = (uint64_t)s.st_size;
        *total += (uint64_t)s.st_size;
        memset(entries[n].name, 0, sizeof entries->name);
        memcpy(entries[n++].name, name, strlen(name));
    }
    rlx_listing_end(&l);
    return n;
}

static void shrink(rlx_cache *c, rlx_memory *m)
{
    entry *entries = rlx_mem_try(m, MAX_ENTRIES * sizeof *entries);
    uint64_t total;
    if (!entries)
        return; /* the next one will */
    size_t n = collect(c->fd, entries, &total);
    /* few go at a time; qsort may call malloc */
    while (n && (total > c->most || n > MAX_ENTRIES / 2)) {
        size_t oldest = 0;
        for (size_t i = 1; i < n; i++)
            oldest = is_older(&entries[i], &entries[oldest]) ? i : oldest;
        if (unlinkat(c->fd, entries[oldest].name, 0) == 0)
            total -= entries[oldest].size;
        entries[oldest] = entries[--n];
    }
    rlx_mem_free(m, entries, MAX_ENTRIES * sizeof *entries);
}

void rlx_cache_put(rlx_cache *c, const char *key, const rlx_buf *object)
{
    char name[2 * RLX_SHA256_BYTES + 32], head[HEAD] = MAGIC;
    if (c->fd < 0 || object->len + HEAD > c->most)
        return;
    int saved = errno;
    snprintf(name, sizeof name, "%.64s.%d.new", key, (int)getpid());
    rlx_sha256(object->data, object->len, (unsigned char *)head + 8);
    int fd = openat(c->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write_all(fd, head, HEAD) && write_all(fd, object->data, object->len);
    if (fd >= 0 && close(fd))
        ok = false;
    if (!ok || renameat(c->fd, name, c->fd, key))
        unlinkat(c->fd, name, 0);
    else
        shrink(c, object->memory);
    errno = saved;
}
