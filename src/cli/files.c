/* files.c: whole files in and out. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE ((size_t)1 << 36) /* 64 GiB */

static bool read_all(const cli *c, int fd, cli_file *out)
{
    size_t capacity = 1 << 16;
    struct stat st;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && (size_t)st.st_size < MAX_FILE)
        capacity = (size_t)st.st_size + 1;
    out->data = malloc(capacity + 1);
    for (;;) {
        if (!out->data)
            return cli_error(c, "IN02", out->name, "out of memory"), false;
        ssize_t got = read(fd, out->data + out->size, capacity - out->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cli_error(c, "IO01", out->name, "cannot be read: %s", strerror(errno)), false;
        if (got == 0)
            break;
        out->size += (size_t)got;
        if (out->size > MAX_FILE)
            return cli_error(c, "IO04", out->name, "is larger than 64 GiB"), false;
        if (out->size == capacity) {
            char *more = realloc(out->data, capacity * 2 + 1);
            if (!more)
                return cli_error(c, "IN02", out->name, "out of memory"), false;
            out->data = more;
            capacity *= 2;
        }
    }
    out->data[out->size] = 0;
    return true;
}

bool cli_read(const cli *c, const char *path, cli_file *out)
{
    bool standard = !strcmp(path, "-");
    *out = (cli_file){ .name = standard ? "<stdin>" : path };
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        cli_error(c, "IO01", path, "cannot be read: %s", strerror(errno));
        return false;
    }
    bool ok = cli_is_onnx(path) || read_all(c, fd, out); /* that is mapped by the library */
    if (!standard)
        close(fd);
    if (!ok)
        cli_file_free(out);
    return ok;
}

static const char magic[4] = "\x89RLX";

bool cli_is_compiled(const cli_file *f)
{
    return f->size >= sizeof magic && !memcmp(f->data, magic, sizeof magic);
}

bool cli_can_map(const char *path)
{
    struct stat st;
    char head[sizeof magic];
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    bool can = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
               pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
               !memcmp(head, magic, sizeof head);
    if (fd >= 0)
        close(fd);
    return can;
}

void cli_file_free(cli_file *f)
{
    free(f->data);
    f->data = NULL;
    f->size = 0;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t done = write(fd, data, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        data += done;
        size -= (size_t)done;
    }
    return true;
}

/* Devices and pipes cannot be replaced by renaming: they are written directly. */
static bool is_special(const char *path)
{
    struct stat st;
    return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static bool write_both(int fd, const void *head, size_t head_size, const void *data, size_t size)
{
    return write_all(fd, head, head_size) && write_all(fd, data, size);
}

/* What a link leads to, or the path itself; malloc'ed. */
static char *follow(const char *path)
{
    struct stat st;
    return lstat(path, &st) || !S_ISLNK(st.st_mode) ? strdup(path) : realpath(path, NULL);
}

static bool write_direct(char *path, const void *head, size_t head_size, const void *data,
                         size_t size)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write_both(fd, head, head_size, data, size);
    int error = errno;
    if (fd >= 0 && close(fd) && ok)
        ok = false, error = errno;
    free(path);
    errno = error;
    return ok;
}

/* A temporary file beside the target, which it replaces when it is whole. */
static bool open_stream(cli_stream *s)
{
    size_t len = s->target ? strlen(s->target) : 0;
    s->temporary = s->target ? malloc(len + 8) : NULL;
    if (!s->temporary) {
        s->error = s->target ? ENOMEM : errno;
        return false;
    }
    memcpy(s->temporary, s->target, len);
    memcpy(s->temporary + len, ".XXXXXX", 8);
    cli_hold_signals(true);
    s->fd = mkostemp(s->temporary, O_CLOEXEC);
    s->error = s->fd < 0 ? errno : 0;
    cli_unfinished(s->fd >= 0 ? s->temporary : NULL);
    cli_hold_signals(false);
    return s->fd >= 0;
}

void cli_stream_begin(cli_stream *s, const char *path)
{
    *s = (cli_stream){ .target = follow(path), .fd = -1 };
    s->error = s->target ? 0 : errno;
}

int32_t cli_stream_write(void *stream, uint64_t offset, const void *data, size_t size)
{
    cli_stream *s = stream;
    const char *from = data;
    if (s->error || (s->fd < 0 && !open_stream(s)))
        return 0;
    while (size && !s->error) {
        ssize_t done = pwrite(s->fd, from, size, (off_t)offset);
        if (done < 0 && errno != EINTR)
            s->error = errno;
        if (done > 0)
            from += done, offset += (uint64_t)done, size -= (size_t)done;
    }
    return !s->error;
}

bool cli_stream_close(cli_stream *s)
{
    mode_t mask = umask(0);
    umask(mask);
    if (s->fd >= 0 && !s->error && fchmod(s->fd, 0666 & ~mask))
        s->error = errno;
    if (s->fd >= 0 && close(s->fd) && !s->error)
        s->error = errno;
    return !s->error;
}

bool cli_stream_end(cli_stream *s, bool keep)
{
    bool made = s->fd >= 0;
    if (keep && !s->error && rename(s->temporary, s->target))
        s->error = errno;
    if (made && (!keep || s->error))
        unlink(s->temporary);
    cli_unfinished(NULL);
    free(s->temporary);
    free(s->target);
    errno = s->error;
    return keep && !s->error;
}

static bool replace(char *target, const void *head, size_t head_size, const void *data, size_t size)
{
    cli_stream s = { .target = target, .fd = -1 };
    bool ok = cli_stream_write(&s, 0, head, head_size) &&
              cli_stream_write(&s, head_size, data, size);
    return cli_stream_end(&s, cli_stream_close(&s) && ok);
}

bool cli_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return a && b && !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           S_ISREG(x.st_mode);
}

bool cli_can_replace(const char *path) { return strcmp(path, "-") && !is_special(path); }

bool cli_write(const cli *c, const char *path, const void *head, size_t head_size,
               const void *data, size_t size)
{
    bool standard = !strcmp(path, "-");
    char *target = standard ? NULL : follow(path);
    bool ok = standard            ? !fflush(stdout) && write_both(STDOUT_FILENO, head, head_size,
                                                       data, size)
              : !target           ? false
              : is_special(target) ? write_direct(target, head, head_size, data, size)
                                   : replace(target, head, head_size, data, size);
    if (!ok)
        cli_error(c, "IO02", standard ? "<stdout>" : path, "cannot be written: %s",
                  strerror(errno));
    return ok;
}

bool cli_make_directory(const cli *c, const char *path)
{
    struct stat st;
    if (!mkdir(path, 0777))
        return true;
    if (errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode))
        return true;
    cli_error(c, "IO03", path, "cannot be made or used as a directory: %s", strerror(errno));
    return false;
}
