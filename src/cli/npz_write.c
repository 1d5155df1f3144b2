/* npz_write.c: archives of arrays: stored, elements aligned, sizes of any length. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ALIGN = 64, LOCAL = 30, CENTRAL = 46, WIDE = 20, PAD_FIELD = 0xd935 };
#define SMALL 0xffffffffu /* sizes and places from here on stand in a field of 64 bits */

static unsigned char *put(unsigned char *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *p++ = (unsigned char)(v >> (8 * i));
    return p;
}

void cli_npz_begin(cli_npz *z, const char *path)
{
    *z = (cli_npz){ .at = 0 };
    cli_stream_begin(&z->out, path);
}

static bool append(cli_npz *z, const void *data, size_t size)
{
    bool ok = !z->failed && cli_stream_write(&z->out, z->at, data, size);
    z->at += ok ? size : 0;
    return ok;
}

static unsigned char *room_in_directory(cli_npz *z, size_t size)
{
    if (z->directory_room - z->directory_size < size) {
        size_t room = 2 * z->directory_room + size + 4096;
        unsigned char *more = realloc(z->directory, room);
        z->failed |= !more;
        if (!more)
            return NULL;
        z->directory = more;
        z->directory_room = room;
    }
    return z->directory + z->directory_size;
}

/* What local header and directory have in common: from the version that is needed to the name's length. */
static unsigned char *put_common(unsigned char *p, uint32_t crc, uint64_t size, size_t name_len)
{
    uint32_t shown = size < SMALL ? (uint32_t)size : SMALL;
    p = put(p, size < SMALL ? 20 : 45, 2);
    p = put(p, 0, 2); /* flags */
    p = put(p, 0, 2); /* stored */
    p = put(p, 0, 2); /* no time */
    p = put(p, 0x21, 2); /* 1 January 1980 */
    p = put(p, crc, 4);
    p = put(p, shown, 4);
    p = put(p, shown, 4);
    return put(p, name_len, 2);
}

static bool put_entry(cli_npz *z, const char *name, uint32_t crc, uint64_t size, uint64_t at)
{
    size_t name_len = strlen(name), wide = size >= SMALL || at >= SMALL ? 4 : 0;
    wide += (size >= SMALL ? 16 : 0) + (at >= SMALL ? 8 : 0);
    unsigned char *p = room_in_directory(z, CENTRAL + name_len + wide);
    if (!p)
        return false;
    p = put(put(p, 0x02014b50, 4), 45, 2);
    p = put_common(p, crc, size, name_len);
    p = put(put(put(put(p, wide, 2), 0, 2), 0, 2), 0, 2);
    p = put(put(p, 0, 4), at < SMALL ? at : SMALL, 4);
    memcpy(p, name, name_len);
    p += name_len;
    if (wide)
        p = put(put(p, 1, 2), wide - 4, 2);
    if (size >= SMALL)
        p = put(put(p, size, 8), size, 8);
    if (at >= SMALL)
        p = put(p, at, 8);
    z->directory_size = (size_t)(p - z->directory);
    z->num_members++;
    return true;
}

/* The local header, filled up so that what follows is aligned. */
static bool put_local(cli_npz *z, const char *name, uint32_t crc, uint64_t size)
{
    unsigned char head[LOCAL + 512 + WIDE + 4 + ALIGN], *p = head;
    size_t name_len = strlen(name), wide = size >= SMALL ? WIDE : 0;
    if (name_len > 512)
        return false;
    size_t fixed = LOCAL + name_len + wide + 4, pad = (ALIGN - (size_t)((z->at + fixed) % ALIGN)) % ALIGN;
    p = put_common(put(p, 0x04034b50, 4), crc, size, name_len);
    p = put(p, wide + 4 + pad, 2);
    memcpy(p, name, name_len);
    p += name_len;
    if (wide)
        p = put(put(put(put(p, 1, 2), 16, 2), size, 8), size, 8);
    p = put(put(p, PAD_FIELD, 2), pad, 2);
    memset(p, 0, pad);
    return append(z, head, (size_t)(p - head) + pad);
}

bool cli_npz_add(cli_npz *z, const char *name, relax_dtype dtype, const int64_t *shape, int ndim,
                 const void *data, size_t size)
{
    char head[CLI_NPY_HEAD], file[520];
    int n = cli_npy_head(dtype, shape, ndim, head);
    if (!n || strlen(name) > 500)
        return false;
    snprintf(file, sizeof file, "%s.npy", name);
    uint32_t crc = (uint32_t)crc32_combine(cli_crc32((unsigned char *)head, (size_t)n),
                                           cli_crc32(data, size), (z_off_t)size);
    uint64_t at = z->at, total = (uint64_t)n + size;
    return put_local(z, file, crc, total) && append(z, head, (size_t)n) && append(z, data, size) &&
           put_entry(z, file, crc, total, at);
}

static bool put_end(cli_npz *z)
{
    unsigned char end[56 + 20 + 22], *p = end;
    uint64_t at = z->at, size = z->directory_size, n = z->num_members;
    bool wide = at >= SMALL || size >= SMALL || n >= 0xffff;
    if (!append(z, z->directory ? (const void *)z->directory : "", z->directory_size))
        return false;
    if (wide) {
        uint64_t here = z->at;
        p = put(put(put(put(p, 0x06064b50, 4), 44, 8), 45, 2), 45, 2);
        p = put(put(put(put(put(put(p, 0, 8), n, 8), n, 8), size, 8), at, 8), 0x07064b50, 4);
        p = put(put(put(p, 0, 4), here, 8), 1, 4);
    }
    p = put(put(p, 0x06054b50, 4), 0, 4);
    p = put(put(p, n < 0xffff ? n : 0xffff, 2), n < 0xffff ? n : 0xffff, 2);
    p = put(put(put(p, size < SMALL ? size : SMALL, 4), at < SMALL ? at : SMALL, 4), 0, 2);
    return append(z, end, (size_t)(p - end));
}

bool cli_npz_end(const cli *c, cli_npz *z, const char *path, bool keep)
{
    bool ok = keep && put_end(z), closed = cli_stream_close(&z->out);
    bool kept = cli_stream_end(&z->out, ok && closed);
    if (keep && !kept)
        cli_error(c, "IO02", path, "cannot be written: %s", strerror(z->failed ? ENOMEM : errno));
    free(z->directory);
    return kept;
}
