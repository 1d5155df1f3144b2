/* fuzz_npy: bytes as an array file and as an archive of arrays, through the readers of the
 * tool. What an archive holds is packed with sums that fit when the input says so (its first
 * byte is 'Z'), so that changes reach the arrays inside. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- what the readers need of the tool: nothing is shown, no more than a limit is ever read
 * ------------------------ */

static int complaints;
int cli_error(const cli *c, const char *code, const char *file, const char *format, ...)
{
    complaints++;
    return CLI_FAULT;
}

int cli_run_error(const cli *c, const char *file, relax_error *error)
{
    complaints++;
    relax_error_release(error);
    return CLI_FAULT;
}

bool cli_read(const cli *c, const char *path, cli_file *out) { return false; }
void cli_file_free(cli_file *f) {}
bool cli_write(const cli *c, const char *path, const void *head, size_t head_size,
               const void *data, size_t size)
{
    return true;
}

/* ---- one input ------------------------------------------------------------------------------ */

static void want(bool ok)
{
    if (!ok)
        abort();
}

static volatile unsigned char looked_at; /* keeps the reading in */
/* A reader either gives arrays that are whole, or says what is wrong. */
static void check_tensor(const relax_tensor *t)
{
    unsigned char sum = 0;
    size_t elements = 1;
    for (int32_t i = 0; i < relax_tensor_ndim(t); i++)
        elements *= (size_t)relax_tensor_shape(t)[i];
    want(elements * relax_dtype_size(relax_tensor_dtype(t)) == relax_tensor_bytes(t));
    for (size_t i = 0; i < relax_tensor_bytes(t); i++)
        sum ^= ((const unsigned char *)relax_tensor_data(t))[i];
    looked_at = sum;
}

static void try_array(const cli *c, const uint8_t *data, size_t size)
{
    complaints = 0;
    relax_tensor *t = cli_npy_parse(c, "x.npy", data, size);
    want((t != NULL) == (complaints == 0));
    if (t)
        check_tensor(t);
    relax_tensor_release(t);
}

/* As weights, which are used where they lie if that can be. */
static void try_weights(const cli *c, const char *path)
{
    cli_arrays arrays;
    complaints = 0;
    bool ok = cli_weights_read(c, path, &arrays);
    want(ok == (complaints == 0));
    for (size_t i = 0; i < arrays.count; i++) {
        want((arrays.items[i].tensor != NULL) != (arrays.items[i].mapped != NULL));
        check_tensor(cli_array_tensor(c, &arrays.items[i]));
    }
    want(ok || arrays.count == 0);
    cli_arrays_free(&arrays);
}

static void try_archive(const cli *c, const uint8_t *data, size_t size, const char *member)
{
    char path[64];
    cli_arrays arrays;
    int fd = memfd_create("fuzz", 0);
    if (fd < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    want(write(fd, data, size) == (ssize_t)size);
    complaints = 0;
    bool ok = cli_npz_read(c, path, member, &arrays);
    want(ok == (complaints == 0));
    for (size_t i = 0; i < arrays.count; i++)
        check_tensor(arrays.items[i].tensor);
    want(ok || arrays.count == 0);
    cli_arrays_free(&arrays);
    if (!member)
        try_weights(c, path);
    close(fd);
}

static void put(uint8_t **out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *(*out)++ = (uint8_t)(value >> 8 * i);
}

/* What the entry in front of a member and the one in the directory have in common; method, time
 * and flags are 0. */
static void put_entry(uint8_t **out, uint32_t sum, uint32_t size)
{
    put(out, 20, 2);
    *out += 8;
    put(out, sum, 4);
    put(out, size, 4);
    put(out, size, 4);
    put(out, 5, 4);
}

/* An archive of one stored member a.npy with the content `data`. */
static uint8_t *pack(const uint8_t *data, size_t size, size_t *out_size)
{
    uint8_t *out = calloc(1, size + 256), *p = out;
    uint32_t sum = (uint32_t)crc32(0, data, (unsigned)size);
    put(&p, 0x04034b50, 4);
    put_entry(&p, sum, (uint32_t)size);
    memcpy(p, "a.npy", 5);
    memcpy(p + 5, data, size);
    p += 5 + size;
    uint32_t directory = (uint32_t)(p - out);
    put(&p, 0x02014b50, 4);
    put(&p, 20, 2);
    put_entry(&p, sum, (uint32_t)size);
    memcpy(p + 14, "a.npy", 5);
    p += 14 + 5;
    uint32_t length = (uint32_t)(p - out) - directory;
    put(&p, 0x06054b50, 4);
    p += 4;
    put(&p, 0x00010001, 4);
    put(&p, length, 4);
    put(&p, directory, 4);
    p += 2;
    *out_size = (size_t)(p - out);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const cli c = { .command = "run", .max_memory = 64 << 20 };
    if (size > 1 && data[0] == 'Z') {
        size_t packed_size;
        uint8_t *packed = pack(data + 1, size - 1, &packed_size);
        try_archive(&c, packed, packed_size, NULL);
        free(packed);
        try_array(&c, data + 1, size - 1);
        return 0;
    }
    try_array(&c, data, size);
    try_archive(&c, data, size, NULL);
    try_archive(&c, data, size, "a");
    return 0;
}
