/* npz.c: archives of arrays: zip files whose members are .npy files. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
    cli_zip zip;
    uint64_t packed, unpacked, most;
    bool may_map;
} archive;

/* What the arrays may take: what the user allows, or else what the machine has. */
static uint64_t memory_limit(const cli *c)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (c->max_memory > 0)
        return (uint64_t)c->max_memory;
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : MAX_MEMBER;
}

static bool add_array(cli_arrays *out, const char *name, size_t len, relax_tensor *tensor,
                      DLTensor *mapped)
{
    cli_array *items = realloc(out->items, (out->count + 1) * sizeof *items);
    if (items)
        out->items = items;
    char *copy = items ? malloc(len + 1) : NULL;
    if (!copy)
        return false;
    memcpy(copy, name, len);
    copy[len] = 0;
    out->items[out->count++] = (cli_array){ copy, tensor, mapped };
    return true;
}

/* Keeps count of what members take. */
static bool fits_memory(archive *a, const char *label, const cli_zip_member *m)
{
    a->packed += m->packed;
    a->unpacked += m->unpacked;
    if (a->packed > a->zip.size)
        return cli_error(a->c, "NP05", label,
                         "the archive's members have more bytes than the file: they overlap"),
               false;
    if (a->unpacked > a->most)
        return cli_error(a->c, "NP08", label, "the arrays need %llu bytes, %llu may be used",
                         (unsigned long long)a->unpacked, (unsigned long long)a->most),
               false;
    return true;
}

static bool check_member(archive *a, const char *label, const cli_zip_member *m)
{
    if (m->method != 0 && m->method != 8)
        return cli_error(a->c, "NP07", label, "compression method %d is not supported", m->method),
               false;
    if (m->flags & 1)
        return cli_error(a->c, "NP07", label, "the member is encrypted"), false;
    if (m->method == 0 && m->packed != m->unpacked)
        return cli_error(a->c, "NP05", label, "the member is stored, but its two sizes differ"),
               false;
    if (m->unpacked > MAX_MEMBER || m->packed > a->zip.size ||
        m->unpacked / MAX_RATIO > m->packed + 1)
        return cli_error(a->c, "NP05", label,
                         "the archive states a size of %llu bytes, which cannot be",
                         (unsigned long long)m->unpacked),
               false;
    return fits_memory(a, label, m);
}

/* The member's content as a tensor; NULL after a report. */
static relax_tensor *read_member(archive *a, const char *label, const cli_zip_member *m)
{
    size_t room = ((size_t)m->unpacked / CLI_DATA_ALIGN + 1) * CLI_DATA_ALIGN;
    unsigned char *data = aligned_alloc(CLI_DATA_ALIGN, room);
    const char *code = "IN02", *why = "out of memory";
    if (data)
        why = cli_zip_read(&a->zip, m, data, &code);
    if (!why)
        return cli_npy_take(a->c, label, data, (size_t)m->unpacked);
    cli_error(a->c, code, label, "%s", why);
    free(data);
    return NULL;
}

static DLTensor *map_member(archive *a, const cli_zip_member *m)
{
    const unsigned char *data = a->may_map ? cli_zip_stored(&a->zip, m) : NULL;
    return data ? cli_npy_view(data, (size_t)m->unpacked) : NULL;
}

static bool read_current(archive *a, const cli_zip_member *m, const char *wanted, cli_arrays *out,
                         bool *found)
{
    char name[1024], label[2048];
    size_t len = m->name_len;
    if (len >= sizeof name)
        return cli_error(a->c, "NP05", a->path, "an entry of the archive is malformed"), false;
    memcpy(name, m->name, len);
    name[len] = 0;
    if (strlen(name) != len)
        return cli_error(a->c, "NP05", a->path, "the name of a member holds a NUL byte"), false;
    bool npy = len > 4 && !strcmp(name + len - 4, ".npy");
    if (npy)
        len -= 4;
    if (wanted && (strlen(wanted) != len || memcmp(wanted, name, len)) && strcmp(wanted, name))
        return true;
    if (!npy && !wanted)
        return true; /* archives may hold other files */
    if (*found && wanted)
        return cli_error(a->c, "NP10", a->path, "the archive has two members %s", wanted), false;
    *found = true;
    snprintf(label, sizeof label, "%s:%.*s", a->path, (int)len, name);
    if (!check_member(a, label, m))
        return false;
    DLTensor *mapped = map_member(a, m);
    relax_tensor *t = mapped ? NULL : read_member(a, label, m);
    if (!mapped && !t)
        return false;
    if (add_array(out, name, len, t, mapped))
        return true;
    relax_tensor_release(t);
    free(mapped);
    return cli_error(a->c, "IN02", label, "out of memory"), false;
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
    cli_zip_member m;
    enum cli_zip_step step;
    while ((step = cli_zip_next(&a->zip, &m)) == CLI_ZIP_MEMBER)
        if (!read_current(a, &m, member, out, &found))
            return false;
    if (step == CLI_ZIP_DAMAGED)
        return cli_error(a->c, "NP05", a->path, "the directory of the archive is damaged"), false;
    if (member && !found)
        return cli_error(a->c, "NP06", a->path, "the archive has no member %s", member), false;
    return names_differ(a->c, a->path, out, "the archive has two members");
}

static bool ends_with_npy(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".npy");
}

static bool read_archive(const cli *c, const char *path, const char *member, bool may_map,
                         cli_arrays *out)
{
    archive a = { .c = c, .path = path, .most = memory_limit(c), .may_map = may_map };
    *out = (cli_arrays){ 0 };
    if (access(path, F_OK))
        return cli_error(c, "IO01", path, "cannot be read: no such file"), false;
    if (!cli_zip_open(&a.zip, path))
        return cli_error(c, "NP05", path, "is not a readable .npz archive%s",
                         ends_with_npy(path) ? ", in which arrays have names (numpy.savez writes such)" : ""),
               false;
    bool ok = read_members(&a, member, out);
    out->map_size = (size_t)a.zip.size;
    out->map = cli_zip_take_map(&a.zip);
    cli_zip_close(&a.zip);
    if (!ok)
        cli_arrays_free(out);
    return ok;
}

bool cli_npz_read(const cli *c, const char *path, const char *member, cli_arrays *out)
{
    return read_archive(c, path, member, false, out);
}

relax_tensor *cli_array_tensor(const cli *c, cli_array *array)
{
    const DLTensor *m = array->mapped;
    relax_error *error = NULL;
    relax_dtype dtype =
        m ? (relax_dtype)(m->dtype.code | m->dtype.bits << 8 | m->dtype.lanes << 16) : RELAX_VOID;
    if (!m || array->tensor)
        return array->tensor;
    if (relax_tensor_create(dtype, m->shape, m->ndim, NULL, &array->tensor, &error) != RELAX_OK) {
        cli_run_error(c, array->name, error);
        return NULL;
    }
    memcpy(relax_tensor_data(array->tensor), m->data, relax_tensor_bytes(array->tensor));
    return array->tensor;
}

char cli_name_byte(char b)
{
    bool plain = (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') ||
                 (unsigned char)b >= 0x80;
    return plain ? b : '_';
}

bool cli_weights_read(const cli *c, const char *path, cli_arrays *out)
{
    if (!read_archive(c, path, NULL, true, out))
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
        free(a->items[i].mapped);
    }
    free(a->items);
    if (a->map)
        munmap(a->map, a->map_size);
    *a = (cli_arrays){ 0 };
}
