/* npz.c: archives of arrays: zip files whose members are .npy files. The zip part is minizip's. */
#include "cli/cli.h"

#include <minizip/unzip.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_MEMBER ((uint64_t)1 << 36)
/* Deflate cannot shrink data further than about 1032:1; a member that claims more is lying
 * about its size. */
#define MAX_RATIO 1040

/* `packed` and `unpacked`: bytes of the members read so far. Members that lie apart cannot have
 * more bytes than the file: so a small file cannot unfold without end by naming one member many
 * times. */
typedef struct archive {
    const cli *c;
    const char *path;
    unzFile zip;
    uint64_t file_size, packed, unpacked, most;
} archive;

/* What the arrays may take: what the user allows, or else what the machine has. */
static uint64_t memory_limit(const cli *c)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (c->max_memory > 0)
        return (uint64_t)c->max_memory;
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : MAX_MEMBER;
}

static bool add_array(cli_arrays *out, const char *name, size_t len, relax_tensor *tensor)
{
    cli_array *items = realloc(out->items, (out->count + 1) * sizeof *items);
    if (items)
        out->items = items;
    char *copy = items ? malloc(len + 1) : NULL;
    if (!copy)
        return false;
    memcpy(copy, name, len);
    copy[len] = 0;
    out->items[out->count++] = (cli_array){ copy, tensor };
    return true;
}

static bool read_bytes(const archive *a, const char *label, unsigned char *data, uint64_t size)
{
    uint64_t at = 0;
    while (at < size) {
        unsigned want = size - at > 1u << 30 ? 1u << 30 : (unsigned)(size - at);
        int got = unzReadCurrentFile(a->zip, data + at, want);
        if (got <= 0)
            return cli_error(a->c, "NP05", label,
                             "the member is truncated or its compressed data is damaged"),
                   false;
        at += (uint64_t)got;
    }
    char extra;
    if (unzReadCurrentFile(a->zip, &extra, 1) != 0)
        return cli_error(a->c, "NP05", label, "the member is longer than the archive says"), false;
    return true;
}

/* Keeps count of what members take. */
static bool has_room(archive *a, const char *label, const unz_file_info64 *info)
{
    a->packed += info->compressed_size;
    a->unpacked += info->uncompressed_size;
    if (a->packed > a->file_size)
        return cli_error(a->c, "NP05", label,
                         "the archive's members have more bytes than the file: they overlap"),
               false;
    if (a->unpacked > a->most)
        return cli_error(a->c, "NP08", label, "the arrays need %llu bytes, %llu may be used",
                         (unsigned long long)a->unpacked, (unsigned long long)a->most),
               false;
    return true;
}

/* The current member's content, malloc'ed; NULL after a report. */
static unsigned char *read_member(archive *a, const char *label, const unz_file_info64 *info)
{
    if (info->compression_method != 0 && info->compression_method != 8)
        return cli_error(a->c, "NP07", label, "compression method %lu is not supported",
                         info->compression_method),
               NULL;
    if (info->flag & 1)
        return cli_error(a->c, "NP07", label, "the member is encrypted"), NULL;
    if (info->compression_method == 0 && info->compressed_size != info->uncompressed_size)
        return cli_error(a->c, "NP05", label, "the member is stored, but its two sizes differ"),
               NULL;
    if (info->uncompressed_size > MAX_MEMBER || info->compressed_size > a->file_size ||
        info->uncompressed_size / MAX_RATIO > info->compressed_size + 1)
        return cli_error(a->c, "NP05", label,
                         "the archive states a size of %llu bytes, which cannot be",
                         (unsigned long long)info->uncompressed_size),
               NULL;
    if (!has_room(a, label, info))
        return NULL;
    if (unzOpenCurrentFile(a->zip) != UNZ_OK)
        return cli_error(a->c, "NP05", label,
                         "the member cannot be opened: its headers do not agree"),
               NULL;
    unsigned char *data = malloc((size_t)info->uncompressed_size + 1);
    bool ok = data ? read_bytes(a, label, data, info->uncompressed_size)
                   : (cli_error(a->c, "IN02", label, "out of memory"), false);
    if (unzCloseCurrentFile(a->zip) == UNZ_CRCERROR && ok) {
        cli_error(a->c, "NP09", label, "the checksum of the member does not match");
        ok = false;
    }
    if (ok)
        return data;
    free(data);
    return NULL;
}

static bool read_current(archive *a, const char *member, cli_arrays *out, bool *found)
{
    unz_file_info64 info;
    char name[1024], label[2048];
    if (unzGetCurrentFileInfo64(a->zip, &info, name, sizeof name, NULL, 0, NULL, 0) != UNZ_OK ||
        info.size_filename >= sizeof name)
        return cli_error(a->c, "NP05", a->path, "an entry of the archive is malformed"), false;
    size_t len = strlen(name);
    if (len != info.size_filename)
        return cli_error(a->c, "NP05", a->path, "the name of a member holds a NUL byte"), false;
    bool npy = len > 4 && !strcmp(name + len - 4, ".npy");
    if (npy)
        len -= 4;
    if (member && (strlen(member) != len || memcmp(member, name, len)) && strcmp(member, name))
        return true;
    if (!npy && !member)
        return true; /* archives may hold other files */
    if (*found && member)
        return cli_error(a->c, "NP10", a->path, "the archive has two members %s", member), false;
    *found = true;
    snprintf(label, sizeof label, "%s:%.*s", a->path, (int)len, name);
    unsigned char *data = read_member(a, label, &info);
    relax_tensor *t =
        data ? cli_npy_parse(a->c, label, data, (size_t)info.uncompressed_size) : NULL;
    free(data);
    if (t && !add_array(out, name, len, t)) {
        relax_tensor_release(t);
        return cli_error(a->c, "IN02", label, "out of memory"), false;
    }
    return t != NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const cli_array *)a)->name, ((const cli_array *)b)->name);
}

/* Sorted, so that two of one name are neighbours; nobody relies on the order in the archive. */
static bool names_differ(const cli *c, const char *path, cli_arrays *arrays, const char *otherwise)
{
    if (arrays->count)
        qsort(arrays->items, arrays->count, sizeof *arrays->items, by_name);
    for (size_t i = 1; i < arrays->count; i++)
        if (!strcmp(arrays->items[i - 1].name, arrays->items[i].name))
            return cli_error(c, "NP10", path, "%s %s", otherwise, arrays->items[i].name), false;
    return true;
}

static bool read_members(archive *a, const char *member, cli_arrays *out)
{
    bool found = false;
    int at = unzGoToFirstFile(a->zip);
    for (; at == UNZ_OK; at = unzGoToNextFile(a->zip))
        if (!read_current(a, member, out, &found))
            return false;
    if (at != UNZ_OK && at != UNZ_END_OF_LIST_OF_FILE)
        return cli_error(a->c, "NP05", a->path, "the directory of the archive is damaged"), false;
    if (member && !found)
        return cli_error(a->c, "NP06", a->path, "the archive has no member %s", member), false;
    return names_differ(a->c, a->path, out, "the archive has two members");
}

bool cli_npz_read(const cli *c, const char *path, const char *member, cli_arrays *out)
{
    struct stat st;
    archive a = { .c = c, .path = path, .most = memory_limit(c) };
    *out = (cli_arrays){ 0 };
    if (stat(path, &st))
        return cli_error(c, "IO01", path, "cannot be read: no such file"), false;
    a.file_size = (uint64_t)st.st_size;
    a.zip = S_ISREG(st.st_mode) ? unzOpen64(path) : NULL;
    if (!a.zip)
        return cli_error(c, "NP05", path, "is not a readable .npz archive"), false;
    bool ok = read_members(&a, member, out);
    unzClose(a.zip);
    if (!ok)
        cli_arrays_free(out);
    return ok;
}

char cli_name_byte(char b)
{
    bool plain = (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') ||
                 (unsigned char)b >= 0x80;
    return plain ? b : '_';
}

bool cli_weights_read(const cli *c, const char *path, cli_arrays *out)
{
    if (!cli_npz_read(c, path, NULL, out))
        return false;
    for (size_t i = 0; i < out->count; i++)
        for (char *at = out->items[i].name; *at; at++)
            *at = cli_name_byte(*at);
    bool differ = names_differ(c, path, out, "two members are weights named");
    if (!differ)
        cli_arrays_free(out);
    return differ;
}

void cli_arrays_free(cli_arrays *a)
{
    for (size_t i = 0; i < a->count; i++) {
        free(a->items[i].name);
        relax_tensor_release(a->items[i].tensor);
    }
    free(a->items);
    *a = (cli_arrays){ 0 };
}
