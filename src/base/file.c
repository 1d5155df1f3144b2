/* file.c: whole files in and out. */
/* built for size */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const rlx_file_why rlx_file_no_memory = { RLX_FILE_NO_MEMORY, "out of memory" };
static const rlx_file_why too_large = { RLX_FILE_TOO_LARGE, "too large" };

static rlx_file_why refused(const char *text) { return (rlx_file_why){ RLX_FILE_REFUSED, text }; }

static rlx_file_why reason(int error)
{
    static const struct { int error; const char *text; } reasons[] = {
        { ENOENT, "no such file" },
        { EACCES, "permission denied" },
        { EPERM, "not permitted" },
        { EISDIR, "is a directory" },
        { ENOTDIR, "a part of the path is not a directory" },
        { ENAMETOOLONG, "name too long" },
        { ELOOP, "too many symbolic links" },
        { EMFILE, "too many open files" },
        { ENFILE, "too many open files in the system" },
        { ENOSPC, "no space left on the device" },
        { EDQUOT, "disk quota exceeded" },
        { EROFS, "the file system is read-only" },
        { EIO, "input/output error" },
    };
    if (error == ENOMEM)
        return rlx_file_no_memory;
    if (error == EFBIG)
        return too_large;
    for (size_t i = 0; i < RLX_COUNT(reasons); i++)
        if (reasons[i].error == error)
            return refused(reasons[i].text);
    return refused("the system refused it");
}

static int open_retry(const char *path, int flags)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Opens a regular file for reading and tells its size. -1 and *why on failure. Non-blocking,
 * because opening a pipe that nobody writes to would wait for ever; regular files do not care. */
static int open_regular(const char *path, size_t max, size_t *size, rlx_file_why *why)
{
    struct stat st;
    int fd = open_retry(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        *why = reason(errno);
        return -1;
    }
    if (fstat(fd, &st) != 0)
        *why = reason(errno);
    else if (S_ISDIR(st.st_mode))
        *why = refused("is a directory");
    else if (!S_ISREG(st.st_mode))
        *why = refused("not a regular file");
    else if ((uintmax_t)st.st_size > max || (uintmax_t)st.st_size >= SIZE_MAX)
        *why = too_large;
    else {
        *size = (size_t)st.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

/* Exactly `size` bytes. */
static bool read_all(int fd, unsigned char *to, size_t size, rlx_file_why *why)
{
    while (size) {
        ssize_t n = read(fd, to, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            *why = n < 0 ? reason(errno)
                         : refused("the file became shorter while it was read");
            return false;
        }
        to += n;
        size -= (size_t)n;
    }
    return true;
}

static rlx_blob *read_open(rlx_memory *m, int fd, size_t size, rlx_file_why *why)
{
    rlx_blob *b = rlx_blob_create(m, NULL, size);
    if (!b) {
        *why = rlx_file_no_memory;
        return NULL;
    }
    rlx_blob_touch(b);
    if (!read_all(fd, b->data, size, why)) {
        rlx_blob_release(b);
        return NULL;
    }
    return b;
}

static void unmap(void *user, void *data, size_t size)
{
    int saved = errno;
    munmap(data, size);
    errno = saved;
}

static rlx_blob *map_open(rlx_memory *m, int fd, size_t size, rlx_file_why *why)
{
    if (size == 0) { /* nothing cannot be mapped */
        rlx_blob *empty = rlx_blob_create(m, NULL, 0);
        if (!empty)
            *why = rlx_file_no_memory;
        return empty;
    }
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        *why = reason(errno);
        return NULL;
    }
    rlx_blob *b = rlx_blob_wrap(m, data, size, unmap, NULL); /* unmaps if it fails */
    if (!b)
        *why = rlx_file_no_memory;
    return b;
}

/* A regular file's first `size` bytes as get_bytes gives them; leaves errno as it was. */
static rlx_blob *get(rlx_memory *m, const char *path, size_t max, rlx_file_why *why,
                     rlx_blob *get_bytes(rlx_memory *, int fd, size_t size, rlx_file_why *why))
{
    int saved = errno;
    size_t size = 0;
    rlx_blob *b = NULL;
    int fd = open_regular(path, max, &size, why);
    if (fd >= 0) {
        b = get_bytes(m, fd, size, why);
        close(fd);
    }
    errno = saved;
    return b;
}

rlx_blob *rlx_file_read(rlx_memory *m, const char *path, size_t max, rlx_file_why *why)
{
    return get(m, path, max, why, read_open);
}

rlx_blob *rlx_file_map(rlx_memory *m, const char *path, size_t max, rlx_file_why *why)
{
    return get(m, path, max, why, map_open);
}

/* --- writing --- */

static bool write_all(int fd, const unsigned char *from, size_t size, rlx_file_why *why)
{
    while (size) {
        ssize_t n = write(fd, from, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            *why = reason(errno);
            return false;
        }
        from += n;
        size -= (size_t)n;
    }
    return true;
}

/* Writes and closes; some file systems report a full disk only at the end. */
static bool write_and_close(int fd, const void *data, size_t size, rlx_file_why *why)
{
    bool good = write_all(fd, data, size, why);
    if (close(fd) != 0 && good && errno != EINTR) {
        *why = reason(errno);
        good = false;
    }
    return good;
}

#define NAME_TRIES 100

/* Creates PATH.PID-TIME.tmp in `name`. -1 and errno on failure. */
static int create_beside(const char *path, char name[PATH_MAX])
{
    struct timespec now = { 0 };
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        int len = snprintf(name, PATH_MAX, "%s.%ld-%lx%u.tmp", path, (long)getpid(),
                           (unsigned long)now.tv_nsec, i);
        if (len < 0 || len >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open_retry(name, O_WRONLY | O_CREAT | O_EXCL);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* A new file replaces the old one as a whole and keeps its permissions. */
static bool replace(const char *path, const struct stat *old, const void *data, size_t size,
                    rlx_file_why *why)
{
    char name[PATH_MAX];
    int fd = create_beside(path, name);
    if (fd < 0) {
        *why = reason(errno);
        return false;
    }
    if (old && fchmod(fd, old->st_mode & 07777) != 0)
        errno = 0; /* permissions are a courtesy */
    bool good = write_and_close(fd, data, size, why);
    if (good && rename(name, path) != 0) {
        *why = reason(errno);
        good = false;
    }
    if (!good)
        unlink(name);
    return good;
}

/* Devices and pipes are written to, not replaced. */
static bool write_into(const char *path, const void *data, size_t size, rlx_file_why *why)
{
    int fd = open_retry(path, O_WRONLY | O_NOCTTY);
    if (fd < 0) {
        *why = reason(errno);
        return false;
    }
    return write_and_close(fd, data, size, why);
}

static bool write_path(const char *path, const void *data, size_t size, rlx_file_why *why)
{
    struct stat st;
    char target[PATH_MAX];
    if (stat(path, &st) != 0)
        return replace(path, NULL, data, size, why);
    if (S_ISDIR(st.st_mode)) {
        *why = refused("is a directory");
        return false;
    }
    if (!S_ISREG(st.st_mode))
        return write_into(path, data, size, why);
    if (!realpath(path, target)) { /* a link stays, what it points to is replaced */
        *why = reason(errno);
        return false;
    }
    return replace(target, &st, data, size, why);
}

bool rlx_file_write(rlx_memory *m, const char *path, const void *data, size_t size,
                    rlx_file_why *why)
{
    int saved = errno;
    bool good = write_path(path, data, size, why);
    errno = saved;
    return good;
}
