/* native_directory: the private directories of compilers, and what is in directories.
 *
 * A directory that is in use holds a file `lock` that its process has locked. The system lets go
 * of the lock however that process ends: what a killed one left behind, directory and what works
 * in it, goes when the next directory is made. */
#include "codegen/native_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "relax-"

/* ---- names ---------------------------------------------------------------------------------- */

void rlx_listing_begin(rlx_listing *l, int fd)
{
    l->fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    l->at = l->end = 0;
}

const char *rlx_listing_next(rlx_listing *l)
{
    while (l->fd >= 0) {
        if (l->at >= l->end)
            l->at = 0, l->end = getdents64(l->fd, (void *)&l->part, sizeof l->part);
        if (l->end <= 0) {
            rlx_listing_end(l);
            break;
        }
        const struct dirent64 *e = (const void *)(l->part.bytes + l->at);
        l->at += e->d_reclen;
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            return e->d_name;
    }
    return NULL;
}

void rlx_listing_end(rlx_listing *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

/* ---- removing ------------------------------------------------------------------------------- */

static void remove_files(int fd, int depth)
{
    rlx_listing l;
    rlx_listing_begin(&l, fd);
    for (const char *name = rlx_listing_next(&l); name; name = rlx_listing_next(&l)) {
        if (unlinkat(fd, name, 0) == 0 || depth == 0)
            continue;
        int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0) {
            remove_files(inner, depth - 1);
            close(inner);
        }
        unlinkat(fd, name, AT_REMOVEDIR);
    }
}

void rlx_directory_remove(rlx_directory *d)
{
    if (!d->path[0])
        return;
    int saved = errno, fd = open(d->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        remove_files(fd, 4); /* compilers make a level or two */
        close(fd);
    }
    rmdir(d->path);
    if (d->lock >= 0)
        close(d->lock);
    *d = (rlx_directory){ .lock = -1 };
    errno = saved;
}

/* ---- what others left ----------------------------------------------------------------------- */

static bool is_ours(int fd)
{
    struct stat s;
    return fstat(fd, &s) == 0 && s.st_uid == geteuid() && !(s.st_mode & 077);
}

static void sweep_one(int fd, const char *in, const char *name)
{
    char path[RLX_DIRECTORY_PATH];
    int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), lock = -1;
    if (inner >= 0 && is_ours(inner))
        lock = openat(inner, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (lock >= 0 && is_ours(lock) && flock(lock, LOCK_EX | LOCK_NB) == 0) {
        snprintf(path, sizeof path, "%.*s/%.40s", (int)(sizeof path - 64), in, name);
        rlx_process_end_strays(path);
        remove_files(inner, 4);
        unlinkat(fd, name, AT_REMOVEDIR);
    }
    if (lock >= 0)
        close(lock);
    if (inner >= 0)
        close(inner);
}

static void sweep(const char *in)
{
    rlx_listing l;
    int fd = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    rlx_listing_begin(&l, fd);
    for (const char *name = rlx_listing_next(&l); name; name = rlx_listing_next(&l))
        if (strncmp(name, PREFIX, sizeof PREFIX - 1) == 0 && strlen(name) == sizeof PREFIX + 5)
            sweep_one(fd, in, name);
    close(fd);
}

/* ---- one's own ------------------------------------------------------------------------------ */

/* The file gets its name when it is locked: nobody finds it unlocked before. One that cannot be
 * locked is never taken for left behind. */
static void lock(rlx_directory *d)
{
    char early[RLX_DIRECTORY_PATH + 16], name[RLX_DIRECTORY_PATH + 16];
    snprintf(early, sizeof early, "%s/lock.new", d->path);
    snprintf(name, sizeof name, "%s/lock", d->path);
    d->lock = open(early, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->lock >= 0 && (flock(d->lock, LOCK_EX | LOCK_NB) || rename(early, name))) {
        close(d->lock);
        d->lock = -1;
    }
}

bool rlx_directory_make(rlx_directory *d, const char *in)
{
    *d = (rlx_directory){ .lock = -1 };
    sweep(in);
    int n = snprintf(d->path, sizeof d->path, "%s/" PREFIX "XXXXXX", in);
    if (n < 0 || (size_t)n >= sizeof d->path - 64 || !mkdtemp(d->path)) {
        d->path[0] = 0;
        return false;
    }
    lock(d);
    return true;
}
