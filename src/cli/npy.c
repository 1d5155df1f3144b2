/*- npy.c: arrays in numpy's format.
 *
 *     \x93NUMPY | major u8 | minor u8 | header length: u16, from version 2 on u32 | header | data
 *
 *     header   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n
 *
 * Every size is checked against the bytes that are there. Source: the NEP 1 description of the
 * format.
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64
#define MAX_HEADER (1u << 20)

static const struct { const char *descr; relax_dtype dtype;
} dtypes[] = {
#define INTEGER(name, elem, text, code, bits, klass, C, npy) { npy, RELAX_##name },
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) { npy, RELAX_##name },
#define REAL(name, elem, text, code, bits, klass, C, greatest, npy) { npy, RELAX_##name },
#include "base/dtype.def"
    { "<f1", RELAX_FLOAT8_E5M2 }, /* as ml_dtypes writes it */
    { "|V2", RELAX_BFLOAT16 }     /* "<V2" that numpy has read and written again */
};

typedef struct header {
    relax_dtype dtype;
    int64_t shape[MAX_RANK];
    int ndim;
    bool has_descr, has_order, has_shape;
    bool fortran;
} header;

/* ---- the header: a Python dictionary of three known keys ------------------------------------ */

typedef struct cursor { const char *p, *end; } cursor;

static void skip_space(cursor *at)
{
    while (at->p < at->end && (*at->p == ' ' || *at->p == '\n' || *at->p == '\t'))
        at->p++;
}

static bool take(cursor *at, char c)
{
    skip_space(at);
    if (at->p == at->end || *at->p != c)
        return false;
    at->p++;
    return true;
}

static bool take_string(cursor *at, char *out, size_t capacity)
{
    skip_space(at);
    if (at->p == at->end || (*at->p != '\'' && *at->p != '"'))
        return false;
    char quote = *at->p++;
    size_t n = 0;
    while (at->p < at->end && *at->p != quote && n + 1 < capacity)
        out[n++] = *at->p++;
    out[n] = 0;
    return at->p < at->end && *at->p++ == quote;
}

static bool take_size(cursor *at, int64_t *out)
{
    skip_space(at);
    const char *from = at->p;
    int64_t value = 0;
    while (at->p < at->end && *at->p >= '0' && *at->p <= '9') {
        if (RLX_MUL_OVERFLOWS(value, 10, &value) ||
            RLX_ADD_OVERFLOWS(value, *at->p - '0', &value))
            return false;
        at->p++;
    }
    *out = value;
    return at->p > from;
}

static bool take_shape(cursor *at, header *h)
{
    if (!take(at, '('))
        return false;
    while (!take(at, ')')) {
        if (h->ndim == MAX_RANK || !take_size(at, &h->shape[h->ndim]))
            return false;
        h->ndim++;
        if (!take(at, ',')) {
            if (h->ndim == 1)
                return false; /* (3) is a number in Python, not a shape */
            return take(at, ')');
        }
    }
    return true;
}

static bool take_word(cursor *at, const char *word)
{
    size_t len = strlen(word);
    skip_space(at);
    if ((size_t)(at->end - at->p) < len || memcmp(at->p, word, len))
        return false;
    at->p += len;
    return true;
}

static bool find_dtype(const char *descr, relax_dtype *out)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        bool one_byte = dtypes[i].descr[0] == '|';
        if (!strcmp(descr, dtypes[i].descr) ||
            (descr[0] && !strcmp(descr + 1, dtypes[i].descr + 1) &&
             (one_byte || descr[0] == '='))) {
            *out = dtypes[i].dtype;
            return true;
        }
    }
    return false;
}

/* False: malformed. An unknown descr leaves dtype RELAX_VOID and its text in `descr`. */
static bool read_header(const char *text, size_t size, header *h, char descr[64])
{
    cursor at = { text, text + size };
    char key[32];
    if (!take(&at, '{'))
        return false;
    while (!take(&at, '}')) {
        if (!take_string(&at, key, sizeof key) || !take(&at, ':'))
            return false;
        if (!strcmp(key, "descr") && !h->has_descr) {
            h->has_descr = true;
            skip_space(&at);
            if (at.p < at.end && *at.p == '[') /* fields of a record */
                return snprintf(descr, 64, "a record"), true;
            if (!take_string(&at, descr, 64))
                return false;
            find_dtype(descr, &h->dtype);
        } else if (!strcmp(key, "fortran_order") && !h->has_order) {
            h->has_order = true;
            h->fortran = take_word(&at, "True");
            if (!h->fortran && !take_word(&at, "False"))
                return false;
        } else if (!strcmp(key, "shape") && !h->has_shape) {
            h->has_shape = true;
            if (!take_shape(&at, h))
                return false;
        } else {
            return false;
        }
        if (!take(&at, ',')) {
            if (!take(&at, '}'))
                return false;
            break;
        }
    }
    skip_space(&at);
    return at.p == at.end && h->has_descr && h->has_order && h->has_shape;
}

/* ---- the data ------------------------------------------------------------------------------- */

/* Column-major to row-major: the last index varies fastest on our side. */
static void reorder(const header *h, size_t item, const unsigned char *from, unsigned char *to,
                    size_t count)
{
    size_t strides[MAX_RANK], index[MAX_RANK] = { 0 }, stride = item, at = 0;
    for (int i = 0; i < h->ndim; i++) {
        strides[i] = stride;
        stride *= (size_t)h->shape[i];
    }
    for (size_t n = 0; n < count; n++, to += item) {
        memcpy(to, from + at, item);
        for (int i = h->ndim - 1; i >= 0; i--) {
            at += strides[i];
            if (++index[i] < (size_t)h->shape[i])
                break;
            at -= strides[i] * (size_t)h->shape[i];
            index[i] = 0;
        }
    }
}

static bool data_size(const header *h, size_t *count, size_t *bytes)
{
    *count = 1;
    bool empty = false;
    for (int i = 0; i < h->ndim; i++)
        empty |= h->shape[i] == 0;
    for (int i = 0; i < h->ndim && !empty; i++)
        if (RLX_MUL_OVERFLOWS(*count, (size_t)h->shape[i], count))
            return false;
    if (empty)
        *count = 0;
    return !RLX_MUL_OVERFLOWS(*count, relax_dtype_size(h->dtype), bytes);
}

/* *own: malloc'ed memory that `data` is part of; NULL once the tensor has it. */
static relax_tensor *make_tensor(const cli *c, const char *file, const header *h,
                                 unsigned char *data, size_t size, unsigned char **own)
{
    size_t count, bytes;
    if (!data_size(h, &count, &bytes)) {
        cli_error(c, "NP08", file, "the array is too large");
        return NULL;
    }
    if (bytes != size) {
        cli_error(c, "NP04", file,
                  "the array needs %zu bytes by its shape and dtype, the file holds %zu", bytes,
                  size);
        return NULL;
    }
    relax_tensor *t = NULL;
    relax_error *error = NULL;
    bool adopt = own && *own && size && (!h->fortran || h->ndim < 2) &&
                 (uintptr_t)data % CLI_DATA_ALIGN == 0;
    relax_status made;
    if (adopt) {
        made = relax_tensor_from_memory(h->dtype, h->shape, h->ndim, data, *own, free, &t, &error);
        *own = NULL; /* freed by a failure, too */
    } else
        made = relax_tensor_create(h->dtype, h->shape, h->ndim, NULL, &t, &error);
    if (made != RELAX_OK) {
        cli_run_error(c, file, error);
        return NULL;
    }
    if (adopt)
        ; /* it is there */
    else if (h->fortran && h->ndim > 1)
        reorder(h, relax_dtype_size(h->dtype), data, relax_tensor_data(t), count);
    else if (size)
        memcpy(relax_tensor_data(t), data, size);
    if (h->dtype == RELAX_BOOL) /* any byte but 0 counts as true */
        for (size_t i = 0; i < size; i++)
            ((uint8_t *)relax_tensor_data(t))[i] = ((uint8_t *)relax_tensor_data(t))[i] != 0;
    return t;
}

enum form { NPY_GOOD, NPY_OTHER, NPY_VERSION, NPY_MALFORMED };

/* The header of a file, and where its data begins. */
static enum form find_array(const unsigned char *data, size_t size, header *h, char descr[64],
                            size_t *begin)
{
    if (size < 10 || memcmp(data, "\x93NUMPY", 6))
        return NPY_OTHER;
    size_t wide = data[6] >= 2, at = wide ? 12 : 10;
    if (data[6] < 1 || data[6] > 3 || size < at)
        return NPY_VERSION;
    size_t len = (size_t)data[8] | (size_t)data[9] << 8;
    if (wide)
        len |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (len > size - at || len > MAX_HEADER || !read_header((const char *)data + at, len, h, descr))
        return NPY_MALFORMED;
    *begin = at + len;
    return NPY_GOOD;
}

static relax_tensor *parse(const cli *c, const char *file, unsigned char *data, size_t size,
                           unsigned char **own)
{
    header h = { .dtype = RELAX_VOID };
    char descr[64] = "";
    size_t at = 0;
    switch (find_array(data, size, &h, descr, &at)) {
    case NPY_OTHER:
        cli_error(c, "NP01", file,
                  "is not an .npy file: it does not begin with numpy's signature");
        return NULL;
    case NPY_VERSION:
        cli_error(c, "NP02", file, "version %d.%d of the format is not known", data[6], data[7]);
        return NULL;
    case NPY_MALFORMED: cli_error(c, "NP02", file, "the header is malformed"); return NULL;
    case NPY_GOOD: break;
    }
    if (h.dtype == RELAX_VOID) {
        cli_error(
            c, "NP03", file,
            "dtype %s is not supported: Booleans, integers and floats in little-endian order are",
            descr);
        return NULL;
    }
    return make_tensor(c, file, &h, data + at, size - at, own);
}

DLTensor *cli_npy_view(const unsigned char *data, size_t size)
{
    header h = { .dtype = RELAX_VOID };
    char descr[64] = "";
    size_t at = 0, count, bytes;
    if (find_array(data, size, &h, descr, &at) != NPY_GOOD || h.dtype == RELAX_VOID ||
        h.dtype == RELAX_BOOL || (h.fortran && h.ndim > 1) || !data_size(&h, &count, &bytes) ||
        !bytes || bytes != size - at)
        return NULL;
    DLTensor *view = malloc(sizeof *view + (size_t)h.ndim * sizeof *h.shape);
    if (!view)
        return NULL;
    *view = (DLTensor){ .data = (void *)(uintptr_t)(data + at),
                        .device = { 1, 0 },
                        .ndim = h.ndim,
                        .dtype = { (uint8_t)h.dtype, (uint8_t)(h.dtype >> 8),
                                   (uint16_t)(h.dtype >> 16) },
                        .shape = (int64_t *)(void *)(view + 1) };
    memcpy(view->shape, h.shape, (size_t)h.ndim * sizeof *h.shape);
    return view;
}

relax_tensor *cli_npy_parse(const cli *c, const char *file, const unsigned char *data, size_t size)
{
    return parse(c, file, (unsigned char *)(uintptr_t)data, size, NULL);
}

relax_tensor *cli_npy_take(const cli *c, const char *file, unsigned char *data, size_t size)
{
    unsigned char *own = data;
    relax_tensor *t = parse(c, file, data, size, &own);
    free(own);
    return t;
}

relax_tensor *cli_npy_read(const cli *c, const char *path)
{
    cli_file file;
    if (!cli_read(c, path, &file))
        return NULL;
    relax_tensor *t = cli_npy_parse(c, file.name, (const unsigned char *)file.data, file.size);
    cli_file_free(&file);
    return t;
}

int cli_npy_head(relax_dtype dtype, const int64_t *shape, int ndim, char head[CLI_NPY_HEAD])
{
    const char *descr = NULL;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0] && !descr; i++)
        descr = dtypes[i].dtype == dtype ? dtypes[i].descr : NULL;
    if (!descr || ndim > 64)
        return 0;
    int n =
        snprintf(head, CLI_NPY_HEAD,
                 "\x93NUMPY\x01%c__{'descr': '%s', 'fortran_order': False, 'shape': (", 1, descr);
    head[7] = 0;
    for (int i = 0; i < ndim; i++)
        n += snprintf(head + n, CLI_NPY_HEAD - (size_t)n, "%s%lld", i ? ", " : "",
                      (long long)shape[i]);
    n += snprintf(head + n, CLI_NPY_HEAD - (size_t)n, "%s), }", ndim == 1 ? "," : "");
    while ((n + 1) % 64)
        head[n++] = ' ';
    head[n++] = '\n';
    head[8] = (char)((n - 10) & 0xff);
    head[9] = (char)((n - 10) >> 8);
    return n;
}

bool cli_npy_write(const cli *c, const char *path, relax_dtype dtype, const int64_t *shape,
                   int ndim, const void *data, size_t size)
{
    char head[CLI_NPY_HEAD];
    int n = cli_npy_head(dtype, shape, ndim, head);
    if (n)
        return cli_write(c, path, head, (size_t)n, data, size);
    cli_error(c, "NP03", path, "results of this dtype have no form in .npy files");
    return false;
}
