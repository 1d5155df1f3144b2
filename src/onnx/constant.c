/* constant.c: tensors of the file as constants. Bytes that lie there as they are in memory stay there. */
#include "onnx/onnx_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Number, name and dtype of each type of elements. field: where typed data is. packed: bits of
 * elements in the file that narrow.c makes values of. */
enum typed_field { IN_INT32, IN_INT64, IN_UINT64, IN_FLOAT, IN_DOUBLE, IN_NOTHING };
typedef struct element {
    const char *name;
    rlx_dtype dtype;
    uint8_t field, packed;
} element;
static const element elements[] = {
    [1] = { "FLOAT", RELAX_FLOAT32, IN_FLOAT, 0 },
    [2] = { "UINT8", RELAX_UINT8, IN_INT32, 0 },
    [3] = { "INT8", RELAX_INT8, IN_INT32, 0 },
    [4] = { "UINT16", RELAX_UINT16, IN_INT32, 0 },
    [5] = { "INT16", RELAX_INT16, IN_INT32, 0 },
    [6] = { "INT32", RELAX_INT32, IN_INT32, 0 },
    [7] = { "INT64", RELAX_INT64, IN_INT64, 0 },
    [8] = { "STRING", RELAX_VOID, IN_NOTHING, 0 },
    [9] = { "BOOL", RELAX_BOOL, IN_INT32, 0 },
    [10] = { "FLOAT16", RELAX_FLOAT16, IN_INT32, 0 },
    [11] = { "DOUBLE", RELAX_FLOAT64, IN_DOUBLE, 0 },
    [12] = { "UINT32", RELAX_UINT32, IN_UINT64, 0 },
    [13] = { "UINT64", RELAX_UINT64, IN_UINT64, 0 },
    [14] = { "COMPLEX64", RELAX_VOID, IN_NOTHING, 0 },
    [15] = { "COMPLEX128", RELAX_VOID, IN_NOTHING, 0 },
    [16] = { "BFLOAT16", RELAX_BFLOAT16, IN_INT32, 0 },
    [17] = { "FLOAT8E4M3FN", RELAX_FLOAT8_E4M3FN, IN_INT32, 0 },
    [18] = { "FLOAT8E4M3FNUZ", RELAX_FLOAT16, IN_INT32, 8 },
    [19] = { "FLOAT8E5M2", RELAX_FLOAT8_E5M2, IN_INT32, 0 },
    [20] = { "FLOAT8E5M2FNUZ", RELAX_FLOAT16, IN_INT32, 8 },
    [21] = { "UINT4", RELAX_UINT8, IN_INT32, 4 },
    [22] = { "INT4", RELAX_INT8, IN_INT32, 4 },
    [23] = { "FLOAT4E2M1", RELAX_FLOAT16, IN_INT32, 4 },
    [24] = { "FLOAT8E8M0", RELAX_FLOAT32, IN_INT32, 8 },
    [25] = { "UINT2", RELAX_UINT8, IN_INT32, 2 },
    [26] = { "INT2", RELAX_INT8, IN_INT32, 2 },
    [27] = { "FLOAT6E2M3", RELAX_FLOAT16, IN_INT32, 8 },
    [28] = { "FLOAT6E3M2", RELAX_FLOAT16, IN_INT32, 8 }
};

static const element *element_of(int64_t t)
{
    bool known = t > 0 && t < (int64_t)(sizeof elements / sizeof elements[0]);
    return known ? &elements[t] : NULL;
}

bool rlx_onnx_dtype(int64_t data_type, rlx_dtype *out)
{
    const element *e = element_of(data_type);
    if (!e || e->dtype == RELAX_VOID)
        return false;
    *out = e->dtype;
    return true;
}

const char *rlx_onnx_dtype_name(int64_t data_type)
{
    const element *e = element_of(data_type);
    return e ? e->name : "unknown";
}

/* ---- content -------------------------------------------------------------------------------- */

typedef struct content { rlx_importer *m; const rlx_onnx_tensor *t; const element *e; rlx_place place; size_t count, bytes, stored; } content;

static void *refuse(const content *c, enum rlx_code_id code, const char *what)
{
    rlx_slice name = c->t->name;
    return rlx_onnx_issue_add(c->m, code, false, (rlx_slice){ "", 0 }, (rlx_slice){ "", 0 }, 0,
                              c->place, "tensor %.*s: %s",
                              (int)(name.len < 60 ? name.len : 60), name.data ? name.data : "",
                              what);
}

static bool count_elements(content *c)
{
    const rlx_wire_ints *d = &c->t->dims;
    bool empty = false;
    c->count = 1;
    for (size_t i = 0; i < d->len; i++) {
        if (d->data[i] < 0)
            return refuse(c, RLX_ON01, "a dimension is negative") != NULL;
        empty |= !d->data[i];
    }
    for (size_t i = 0; i < d->len && !empty; i++)
        if (!rlx_mul_size(c->count, (size_t)d->data[i], &c->count))
            return refuse(c, RLX_ON02, "it has more elements than can be counted") != NULL;
    c->count = empty ? 0 : c->count;
    if (d->len > 64)
        return refuse(c, RLX_ON02, "it has more than 64 dimensions") != NULL;
    if (!rlx_mul_size(c->count, rlx_dtype_bytes(c->e->dtype), &c->bytes))
        return refuse(c, RLX_ON02, "it has more bytes than can be counted") != NULL;
    size_t per = c->e->packed ? 8u / c->e->packed : 1;
    c->stored = c->e->packed ? c->count / per + (c->count % per != 0) : c->bytes;
    return true;
}

static void release_file(void *user, void *data, size_t size)
{
    (void)data;
    (void)size;
    rlx_blob_release(user);
}

/* Bytes inside of `owner`, which they keep. */
static rlx_blob *lend(content *c, rlx_blob *owner, const char *data, size_t size)
{
    return rlx_blob_wrap(&c->m->ctx->memory, (void *)(uintptr_t)data, size, release_file,
                         rlx_blob_retain(owner));
}

static rlx_blob *make_blob(content *c)
{
    size_t total = c->m->constant_bytes;
    if (!rlx_add_size(total, c->bytes, &total) || total > c->m->options->most_constants)
        return refuse(c, RLX_ON02, "there are more bytes of constants than are made at import");
    c->m->constant_bytes = total;
    rlx_blob *b = rlx_blob_create(&c->m->ctx->memory, NULL, c->bytes);
    if (b)
        memset(b->data, 0, c->bytes);
    return b;
}

static rlx_blob *from_bool_bytes(content *c, rlx_slice raw)
{
    rlx_blob *b = make_blob(c);
    for (size_t i = 0; b && i < c->count; i++)
        b->data[i] = raw.data[i] != 0;
    return b;
}

/* Codes, the first in the low bits of the first byte, as values. */
static rlx_blob *from_codes(content *c, const rlx_wire_ints *entries, rlx_slice raw)
{
    unsigned bits = c->e->packed, per = 8 / bits;
    size_t width = rlx_dtype_bytes(c->e->dtype);
    rlx_blob *b = make_blob(c);
    for (size_t i = 0; b && i < c->count; i++) {
        unsigned byte = entries ? (unsigned)entries->data[i / per] & 255
                                : (unsigned char)raw.data[i / per];
        double v = rlx_onnx_narrow_value(c->t->data_type, byte >> bits * (i % per));
        if (rlx_dtype_is_float(c->e->dtype))
            rlx_dtype_store_float(c->e->dtype, b->data + i * width, v);
        else
            b->data[i] = (unsigned char)(int)v;
    }
    return b;
}

static rlx_blob *from_raw(content *c, rlx_slice raw, rlx_blob *owner)
{
    if (raw.len != c->stored)
        return refuse(c, RLX_ON01, "the size of its data is not that of its dimensions");
    if (c->e->packed)
        return from_codes(c, NULL, raw);
    if (c->e->dtype == RELAX_BOOL)
        return from_bool_bytes(c, raw);
    return raw.len ? lend(c, owner, raw.data, raw.len)
                   : rlx_blob_create(&c->m->ctx->memory, "", 0);
}

static rlx_blob *from_ints(content *c, const rlx_wire_ints *v)
{
    if (v->len != (c->e->packed ? c->stored : c->count))
        return refuse(c, RLX_ON01, "the number of its elements is not that of its dimensions");
    if (c->e->packed)
        return from_codes(c, v, (rlx_slice){ NULL, 0 });
    rlx_blob *b = make_blob(c);
    size_t width = rlx_dtype_bytes(c->e->dtype);
    for (size_t i = 0; b && i < v->len; i++) {
        int64_t x = c->e->dtype == RELAX_BOOL ? v->data[i] != 0 : v->data[i];
        memcpy(b->data + i * width, &x, width); /* the low bytes */
    }
    return b;
}

static rlx_blob *from_fixed(content *c, rlx_slice v)
{
    return v.len != c->bytes
               ? refuse(c, RLX_ON01, "the number of its elements is not that of its dimensions")
               : rlx_blob_create(&c->m->ctx->memory, v.data, v.len);
}

/* ---- external data -------------------------------------------------------------------------- */

static rlx_slice entry(const rlx_onnx_tensor *t, const char *key)
{
    for (size_t i = 0; i < t->external_data.len; i++) {
        const rlx_onnx_entry *e = RLX_ONNX_ITEM(rlx_onnx_entry, t->external_data, i);
        if (rlx_slice_is(e->key, key))
            return e->value;
    }
    return (rlx_slice){ NULL, 0 };
}

static bool read_decimal(rlx_slice s, size_t *out)
{
    size_t v = 0;
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < '0' || s.data[i] > '9' || RLX_MUL_OVERFLOWS(v, (size_t)10, &v) ||
            !rlx_add_size(v, (size_t)(s.data[i] - '0'), &v))
            return false;
    *out = v;
    return s.len > 0;
}

/* A path below the model's folder: no way up, nothing absolute on any system. */
static const char *wrong_location(rlx_slice s)
{
    if (!s.len || s.len > 4000)
        return "it names no file for its external data";
    if (s.data[0] == '/' || memchr(s.data, '\\', s.len) || memchr(s.data, 0, s.len) ||
        (s.len > 1 && s.data[1] == ':'))
        return "the location of its external data is not a relative path";
    for (size_t i = 0; i < s.len;) {
        const char *end = memchr(s.data + i, '/', s.len - i);
        size_t n = end ? (size_t)(end - s.data) - i : s.len - i;
        if (n == 2 && !memcmp(s.data + i, "..", 2))
            return "the location of its external data leads out of the model's folder";
        i += n + 1;
    }
    return NULL;
}

/* Opens a path component by component, following no link. */
static int open_below(const char *directory, rlx_slice location, bool links)
{
    int at = open(*directory ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; at >= 0 && i < location.len;) {
        char name[4004];
        const char *end = memchr(location.data + i, '/', location.len - i);
        size_t n = end ? (size_t)(end - location.data) - i : location.len - i;
        bool last = i + n == location.len;
        memcpy(name, location.data + i, n);
        name[n] = 0;
        int flags = last ? O_RDONLY | O_NONBLOCK | (links ? 0 : O_NOFOLLOW)
                         : O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
        i += n + 1;
        if (!n) /* two slashes */
            continue;
        int next = openat(at, name, flags | O_CLOEXEC), error = errno;
        close(at);
        errno = error;
        at = next;
    }
    return at;
}

static void unmap(void *user, void *data, size_t size)
{
    (void)user;
    munmap(data, size);
}

static rlx_blob *map_external(content *c, int fd, size_t *size)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 0)
        return refuse(c, RLX_ON09, "its external data is no regular file");
    *size = (size_t)st.st_size;
    if (!*size)
        return rlx_blob_create(&c->m->ctx->memory, "", 0);
    void *data = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return refuse(c, RLX_ON09, "its external data cannot be mapped");
    return rlx_blob_wrap(&c->m->ctx->memory, data, *size, unmap, NULL);
}

/* One mapping for each file. */
static rlx_blob *external_file(content *c, rlx_slice location)
{
    rlx_blob *known = rlx_map_get(&c->m->external, location);
    if (known)
        return known;
    int fd = open_below(c->m->options->directory, location, c->m->options->allow_links);
    if (fd < 0)
        return refuse(c, RLX_ON09, errno == ELOOP
                                       ? "its external data is a symbolic link, which needs leave"
                                       : "its external data cannot be opened");
    size_t size;
    rlx_blob *b = map_external(c, fd, &size);
    close(fd);
    if (b && !rlx_map_put(&c->m->external, location, b)) {
        rlx_blob_release(b);
        return NULL;
    }
    return b;
}

static rlx_blob *from_external(content *c)
{
    rlx_slice location = entry(c->t, "location"), from = entry(c->t, "offset"),
              length = entry(c->t, "length");
    const char *wrong = wrong_location(location);
    size_t offset = 0, size = c->stored;
    if (!c->m->options->directory)
        wrong = "its data is in another file, and the model is read from memory";
    if (wrong)
        return refuse(c, RLX_ON09, wrong);
    if ((from.len && !read_decimal(from, &offset)) || (length.len && !read_decimal(length, &size)))
        return refuse(c, RLX_ON09, "offset or length of its external data is no number");
    if (size != c->stored)
        return refuse(c, RLX_ON09, "the length of its external data is not that of its dimensions");
    rlx_blob *file = external_file(c, location);
    if (!file)
        return NULL;
    if (offset > file->size || size > file->size - offset)
        return refuse(c, RLX_ON09, "its external data goes beyond the end of the file");
    return from_raw(c, (rlx_slice){ (const char *)file->data + offset, size }, file);
}

/* ---- tensors -------------------------------------------------------------------------------- */

static rlx_blob *from_typed(content *c)
{
    switch ((enum typed_field)c->e->field) {
    case IN_INT32: return from_ints(c, &c->t->int32_data);
    case IN_INT64: return from_ints(c, &c->t->int64_data);
    case IN_UINT64: return from_ints(c, &c->t->uint64_data);
    case IN_FLOAT: return from_fixed(c, c->t->float_data);
    case IN_DOUBLE: return from_fixed(c, c->t->double_data);
    case IN_NOTHING: break;
    }
    return NULL;
}

static rlx_blob *content_of(content *c)
{
    const rlx_onnx_tensor *t = c->t;
    c->e = element_of(t->data_type);
    char text[80];
    if (!c->e || c->e->dtype == RELAX_VOID) {
        snprintf(text, sizeof text, "elements of type %lld (%s) are not supported",
                 (long long)t->data_type, rlx_onnx_dtype_name(t->data_type));
        return refuse(c, RLX_ON06, text);
    }
    if (!count_elements(c))
        return NULL;
    if (t->data_location == 1)
        return from_external(c);
    if (t->head.has >> RLX_ONNX_RAW_DATA & 1)
        return from_raw(c, t->raw_data, c->m->file);
    return from_typed(c);
}

const rlx_expr *rlx_onnx_tensor_constant(rlx_importer *m, const rlx_onnx_tensor *t, rlx_place place)
{
    const rlx_expr *known = rlx_ptrmap_get(&m->tensors, t);
    if (known)
        return known;
    content c = { .m = m, .t = t, .place = place };
    rlx_blob *data = content_of(&c);
    const rlx_expr *e =
        data ? rlx_constant_blob(m->ctx, c.e->dtype, t->dims.data, t->dims.len, data, place) : NULL;
    rlx_blob_release(data);
    return e && rlx_ptrmap_put(&m->tensors, t, (uintptr_t)e) ? e : NULL;
}

/* Where element i of the values goes; false: nowhere. */
static bool sparse_place(const rlx_onnx_sparse *s, const int64_t *index, size_t per, size_t i,
                         size_t count, size_t *at)
{
    uint64_t flat = 0;
    for (size_t k = 0; k < per; k++) {
        int64_t v = index[i * per + k];
        if (v < 0 || (per > 1 && v >= s->dims.data[k]))
            return false;
        flat = per > 1 ? flat * (uint64_t)s->dims.data[k] + (uint64_t)v : (uint64_t)v;
    }
    *at = (size_t)flat;
    return flat < count;
}

static bool fill_sparse(content *c, const rlx_onnx_sparse *s, const rlx_constant *values,
                        const rlx_constant *indices, unsigned char *to)
{
    size_t n = values->num_shape == 1 ? (size_t)values->shape[0] : SIZE_MAX;
    size_t per = indices->num_shape == 2 ? (size_t)indices->shape[1] : 1;
    size_t width = rlx_dtype_bytes(c->e->dtype), at;
    if (indices->dtype != RELAX_INT64 || !indices->num_shape || (size_t)indices->shape[0] != n ||
        (indices->num_shape == 2 && per != s->dims.len))
        return false;
    int64_t *index = rlx_region_copy(&c->m->region, indices->data->data, n * per * 8);
    for (size_t i = 0; index && i < n; i++) {
        if (!sparse_place(s, index, per, i, c->count, &at))
            return false;
        memcpy(to + at * width, values->data->data + i * width, width);
    }
    return index != NULL;
}

const rlx_expr *rlx_onnx_sparse_constant(rlx_importer *m, const rlx_onnx_sparse *s, rlx_place place)
{
    const rlx_expr *v = s->values ? rlx_onnx_tensor_constant(m, s->values, place) : NULL;
    const rlx_expr *x = s->indices ? rlx_onnx_tensor_constant(m, s->indices, place) : NULL;
    rlx_onnx_tensor shape = s->values ? *s->values : (rlx_onnx_tensor){ .data_type = 1 };
    shape.dims = s->dims;
    content c = { .m = m, .t = &shape, .place = place, .e = element_of(shape.data_type) };
    if (!v || !x || !count_elements(&c))
        return NULL;
    rlx_blob *data = make_blob(&c);
    const rlx_expr *e = NULL;
    if (data && fill_sparse(&c, s, rlx_as_constant(v), rlx_as_constant(x), data->data))
        e = rlx_constant_blob(m->ctx, c.e->dtype, s->dims.data, s->dims.len, data, place);
    else if (data)
        refuse(&c, RLX_ON01, "the indices of the sparse tensor do not fit it");
    rlx_blob_release(data);
    return e;
}
