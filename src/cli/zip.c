/* zip.c: reads zip files, those above 4 GiB among them: the directory at their end, and members
 * that are stored or deflated. Nothing that a file states is believed before it was compared:
 * sizes with the place that there is, the directory with the header in front of the member.
 *
 *-  local header, data | local header, data | ... | directory | zip64 end, locator | end
 *
 * Sizes and places that do not fit into 32 bits are 0xffffffff there and stand in the extra field
 * number 1 of the member, those of the directory in the zip64 end. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define LOCAL 0x04034b50u
#define ENTRY 0x02014b50u
#define END 0x06054b50u
#define LOCATOR 0x07064b50u
#define END64 0x06064b50u
enum { LOCAL_SIZE = 30, ENTRY_SIZE = 46, END_SIZE = 22, LOCATOR_SIZE = 20, END64_SIZE = 56 };
#define MAX_DIRECTORY ((uint64_t)1 << 28)
#define ELSEWHERE 0xffffffffu  /* in the extra field */
#define SIZES_BEHIND 8         /* flag: the local header was written before they were known */

static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | p[bytes];
    return value;
}

static bool read_at(const cli_zip *z, uint64_t at, void *to, uint64_t size)
{
    char *p = to;
    if (at > z->size || size > z->size - at)
        return false;
    while (size) {
        ssize_t n = pread(z->fd, p, size < 1 << 30 ? (size_t)size : 1 << 30, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n, at += (uint64_t)n, size -= (uint64_t)n;
    }
    return true;
}

/* ---- the directory -------------------------------------------------------------------------- */

/* The record at the end of the file, in front of a comment of any kind. */
static bool find_end(const cli_zip *z, unsigned char end[END_SIZE], uint64_t *at)
{
    uint64_t size = z->size < END_SIZE + 0xffff ? z->size : END_SIZE + 0xffff;
    unsigned char *tail = malloc(size + 1);
    bool found = false;
    if (tail && size >= END_SIZE && read_at(z, z->size - size, tail, size))
        for (uint64_t i = size - END_SIZE + 1; i-- > 0 && !found;) {
            found = number(tail + i, 4) == END && number(tail + i + 20, 2) <= size - i - END_SIZE;
            if (found) {
                memcpy(end, tail + i, END_SIZE);
                *at = z->size - size + i;
            }
        }
    free(tail);
    return found;
}

/* Where the directory is and how many entries it has; *before: it ends there or earlier. */
static bool find_directory(cli_zip *z, uint64_t *size, uint64_t *before)
{
    unsigned char end[END_SIZE], locator[LOCATOR_SIZE], more[END64_SIZE];
    if (!find_end(z, end, before))
        return false;
    z->entries = number(end + 10, 2);
    z->counted = 0xffff; /* more are counted anew */
    *size = number(end + 12, 4);
    z->directory_at = number(end + 16, 4);
    if (*before < LOCATOR_SIZE || !read_at(z, *before - LOCATOR_SIZE, locator, LOCATOR_SIZE) ||
        number(locator, 4) != LOCATOR)
        return true;
    uint64_t at = number(locator + 8, 8);
    if (*before < LOCATOR_SIZE + END64_SIZE || at > *before - LOCATOR_SIZE - END64_SIZE ||
        !read_at(z, at, more, END64_SIZE) || number(more, 4) != END64)
        return false;
    z->entries = number(more + 32, 8);
    z->counted = UINT64_MAX;
    *size = number(more + 40, 8);
    z->directory_at = number(more + 48, 8);
    *before = at;
    return true;
}

bool cli_zip_open(cli_zip *z, const char *path)
{
    struct stat st;
    uint64_t size, before;
    *z = (cli_zip){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    bool ok = z->fd >= 0 && !fstat(z->fd, &st) && S_ISREG(st.st_mode);
    z->size = ok ? (uint64_t)st.st_size : 0;
    ok = ok && find_directory(z, &size, &before) && size <= MAX_DIRECTORY &&
         z->directory_at <= before && size <= before - z->directory_at &&
         (z->directory = malloc(size + 1)) != NULL &&
         read_at(z, z->directory_at, z->directory, size);
    if (ok)
        z->directory_size = (size_t)size;
    else
        cli_zip_close(z);
    return ok;
}

void cli_zip_close(cli_zip *z)
{
    if (z->fd >= 0)
        close(z->fd);
    if (z->map)
        munmap(z->map, z->size);
    free(z->directory);
    *z = (cli_zip){ .fd = -1 };
}

/* ---- members -------------------------------------------------------------------------------- */

/* Values that stand in the extra field come from there, in order. */
static bool read_extra(const unsigned char *p, size_t len, uint64_t *const *values, size_t count)
{
    const unsigned char *field = NULL;
    uint64_t left = 0;
    for (; len >= 4 && !field; len -= 4 + (size_t)left, p += 4 + left) {
        left = number(p + 2, 2);
        if (left > len - 4)
            break;
        if (number(p, 2) == 1)
            field = p + 4;
    }
    for (size_t i = 0; i < count; i++) {
        if (*values[i] != ELSEWHERE)
            continue;
        if (!field || left < 8)
            return false;
        *values[i] = number(field, 8);
        field += 8;
        left -= 8;
    }
    return true;
}

enum cli_zip_step cli_zip_next(cli_zip *z, cli_zip_member *m)
{
    size_t left = z->directory_size - z->next;
    const unsigned char *p = z->directory + z->next;
    if (!left)
        return (z->seen ^ z->entries) & z->counted ? CLI_ZIP_DAMAGED : CLI_ZIP_END;
    if (left < ENTRY_SIZE || number(p, 4) != ENTRY)
        return CLI_ZIP_DAMAGED;
    size_t name = number(p + 28, 2), extra = number(p + 30, 2), comment = number(p + 32, 2);
    if (name + extra + comment > left - ENTRY_SIZE)
        return CLI_ZIP_DAMAGED;
    *m = (cli_zip_member){ .name = (const char *)p + ENTRY_SIZE,
                           .name_len = name,
                           .flags = (uint16_t)number(p + 8, 2),
                           .method = (uint16_t)number(p + 10, 2),
                           .crc = (uint32_t)number(p + 16, 4),
                           .packed = number(p + 20, 4),
                           .unpacked = number(p + 24, 4),
                           .at = number(p + 42, 4) };
    uint64_t *const values[] = { &m->unpacked, &m->packed, &m->at };
    z->next += ENTRY_SIZE + name + extra + comment;
    z->seen++;
    return read_extra(p + ENTRY_SIZE + name, extra, values, 3) ? CLI_ZIP_MEMBER : CLI_ZIP_DAMAGED;
}

static bool same_sizes(const cli_zip_member *m, const unsigned char *local,
                       const unsigned char *extra, size_t extra_len)
{
    uint64_t packed = number(local + 18, 4), unpacked = number(local + 22, 4);
    uint64_t *const values[] = { &unpacked, &packed };
    return read_extra(extra, extra_len, values, 2) && packed == m->packed &&
           unpacked == m->unpacked && number(local + 14, 4) == m->crc;
}

/* Where its data is, if the header in front of it says what the directory says. */
static bool find_data(const cli_zip *z, const cli_zip_member *m, uint64_t *at)
{
    unsigned char local[LOCAL_SIZE];
    if (!read_at(z, m->at, local, LOCAL_SIZE) || number(local, 4) != LOCAL ||
        number(local + 8, 2) != m->method || number(local + 26, 2) != m->name_len)
        return false;
    size_t extra = number(local + 28, 2);
    unsigned char *rest = malloc(m->name_len + extra + 1);
    *at = m->at + LOCAL_SIZE + m->name_len + extra;
    bool ok = rest && read_at(z, m->at + LOCAL_SIZE, rest, m->name_len + extra) &&
              !memcmp(rest, m->name, m->name_len) &&
              (number(local + 6, 2) & SIZES_BEHIND ||
               same_sizes(m, local, rest + m->name_len, extra)) &&
              *at <= z->directory_at && m->packed <= z->directory_at - *at;
    free(rest);
    return ok;
}

static const char damaged[] = "the member is truncated or its compressed data is damaged";

/* `to` has capacity for one byte more than there should be: too much is seen by it. */
static const char *unpack(const cli_zip *z, const cli_zip_member *m, uint64_t at,
                          unsigned char *to)
{
    z_stream s = { 0 };
    unsigned char part[65536];
    uint64_t left = m->packed, done = 0;
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK)
        return "there is no memory to unpack it";
    int result = Z_OK;
    while (result == Z_OK && done <= m->unpacked) {
        if (!s.avail_in && left) {
            size_t n = left < sizeof part ? (size_t)left : sizeof part;
            if (!read_at(z, at, part, n))
                break;
            s.next_in = part;
            s.avail_in = (uInt)n;
            at += n, left -= n;
        }
        uint64_t capacity = m->unpacked + 1 - done;
        s.next_out = to + done;
        s.avail_out = capacity < 1u << 30 ? (uInt)capacity : 1u << 30;
        result = inflate(&s, Z_NO_FLUSH);
        done = (uint64_t)(s.next_out - to);
    }
    bool whole = result == Z_STREAM_END && !left && !s.avail_in;
    inflateEnd(&s);
    return done > m->unpacked               ? "the member is longer than the archive says"
           : !whole || done != m->unpacked ? damaged
                                            : NULL;
}

const char *cli_zip_read(const cli_zip *z, const cli_zip_member *m, unsigned char *to,
                         const char **code)
{
    uint64_t at;
    *code = "NP05";
    if (!find_data(z, m, &at))
        return "the member cannot be opened: its headers do not agree";
    const char *why = m->method ? unpack(z, m, at, to)
                      : read_at(z, at, to, m->unpacked) ? NULL
                                                        : damaged;
    if (why)
        return why;
    *code = "NP09";
    return cli_crc32(to, m->unpacked) == m->crc ? NULL
                                                 : "the checksum of the member does not match";
}

const unsigned char *cli_zip_stored(cli_zip *z, const cli_zip_member *m)
{
    uint64_t at;
    if (m->method || m->packed != m->unpacked || !find_data(z, m, &at))
        return NULL;
    if (!z->map) {
        void *map = mmap(NULL, z->size, PROT_READ, MAP_PRIVATE, z->fd, 0);
        z->map = map == MAP_FAILED ? NULL : map;
    }
    const unsigned char *data = z->map ? (const unsigned char *)z->map + at : NULL;
    return data && cli_crc32(data, m->unpacked) == m->crc ? data : NULL;
}

void *cli_zip_take_map(cli_zip *z)
{
    void *map = z->map;
    z->map = NULL;
    return map;
}
