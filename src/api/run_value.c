/* run_value.c: values as the host sees them (relax/value.h). */
#include <relax/value.h>

#include "runtime/runtime.h"

static const rlx_slice no_text = { "", 0 };

/* ---- any value ------------------------------------------------------------------------------ */

static int32_t kind_of_object(const relax_value *v)
{
    if (rlx_value_has_mark(v, RLX_MARK_TUPLE))
        return RELAX_VALUE_KIND_TUPLE;
    if (rlx_value_is_function(v))
        return RELAX_VALUE_KIND_FUNCTION;
    return RELAX_VALUE_KIND_OTHER;
}

int32_t relax_value_kind(const relax_value *value)
{
    static const uint8_t kinds[] = {
        [RELAX_VALUE_NONE] = RELAX_VALUE_KIND_NULL,
        [RELAX_VALUE_INT] = RELAX_VALUE_KIND_INT,
        [RELAX_VALUE_BOOL] = RELAX_VALUE_KIND_BOOL,
        [RELAX_VALUE_FLOAT] = RELAX_VALUE_KIND_FLOAT,
        [RELAX_VALUE_POINTER] = RELAX_VALUE_KIND_POINTER,
        [RELAX_VALUE_DTYPE] = RELAX_VALUE_KIND_DTYPE,
        [RELAX_VALUE_DEVICE] = RELAX_VALUE_KIND_DEVICE,
        [RELAX_VALUE_TENSOR_VIEW] = RELAX_VALUE_KIND_TENSOR,
        [RELAX_VALUE_RAW_STRING] = RELAX_VALUE_KIND_STRING,
        [RELAX_VALUE_BYTE_ARRAY] = RELAX_VALUE_KIND_BYTES,
        [RELAX_VALUE_RVALUE_REF] = RELAX_VALUE_KIND_OTHER,
        [RELAX_VALUE_SMALL_STRING] = RELAX_VALUE_KIND_STRING,
        [RELAX_VALUE_SMALL_BYTES] = RELAX_VALUE_KIND_BYTES,
        [RELAX_VALUE_STRING] = RELAX_VALUE_KIND_STRING,
        [RELAX_VALUE_BYTES] = RELAX_VALUE_KIND_BYTES,
        [RELAX_VALUE_ERROR] = RELAX_VALUE_KIND_ERROR,
        [RELAX_VALUE_FUNCTION] = RELAX_VALUE_KIND_FUNCTION,
        [RELAX_VALUE_SHAPE] = RELAX_VALUE_KIND_SHAPE,
        [RELAX_VALUE_TENSOR] = RELAX_VALUE_KIND_TENSOR,
    };
    if (!value)
        return RELAX_VALUE_KIND_NULL;
    int32_t tag = value->type_index;
    if (tag == RELAX_VALUE_OBJECT)
        return value->v.p ? kind_of_object(value) : RELAX_VALUE_KIND_OTHER;
    bool known = tag >= 0 && tag < (int32_t)RLX_COUNT(kinds) &&
                 (tag <= RELAX_VALUE_SMALL_BYTES || tag >= RLX_TAG_BOXED);
    return known ? kinds[tag] : RELAX_VALUE_KIND_OTHER;
}

void relax_value_retain(const relax_value *value)
{
    if (value && value->v.p)
        rlx_value_hold(value);
}

void relax_value_release(relax_value *value)
{
    if (!value)
        return;
    if (rlx_value_is_boxed(value) && value->v.p)
        rlx_object_release(value->v.p);
    *value = rlx_value_none();
}

/* A copy, if one must be made, comes from `allocator`. */
static relax_status keep(const relax_value *value, const relax_allocator *allocator,
                         relax_value *out)
{
    if (!out)
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_value v = value ? *value : rlx_value_none();
    *out = rlx_value_none();
    if (!value)
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_status status = RELAX_OK;
    if (v.type_index == RELAX_VALUE_TENSOR_VIEW) {
        rlx_tensor_object *t = rlx_tensor_of_view(v.v.p);
        if (!t)
            return RELAX_ERROR_INVALID_ARGUMENT;
        v = rlx_value_object(RELAX_VALUE_TENSOR, t);
    } else if (v.type_index == RELAX_VALUE_RAW_STRING) {
        const char *text = v.v.s ? v.v.s : "";
        status = relax_value_set_string(&v, text, strlen(text), allocator);
        *out = v;
        return status;
    /* `reserved` is not ours to use outside the cell it is in */
    } else if (v.type_index == RELAX_VALUE_SMALL_STRING) {
        return relax_value_set_string(out, (const char *)v.v.bytes,
                                      v.reserved > 7 ? 7 : v.reserved, allocator);
    } else if (v.type_index == RELAX_VALUE_SMALL_BYTES || v.type_index == RELAX_VALUE_BYTE_ARRAY ||
               v.type_index == RELAX_VALUE_RVALUE_REF || (rlx_value_is_boxed(&v) && !v.v.p)) {
        return RELAX_ERROR_INVALID_ARGUMENT;
    }
    relax_value_retain(&v);
    *out = v;
    return RELAX_OK;
}

relax_status relax_value_keep(const relax_value *value, relax_value *out)
{
    return keep(value, NULL, out);
}

/* ---- plain values --------------------------------------------------------------------------- */

void relax_value_set_null(relax_value *out)
{
    if (out)
        *out = rlx_value_none();
}

void relax_value_set_int(relax_value *out, int64_t value)
{
    if (out)
        *out = rlx_value_int(value);
}

void relax_value_set_bool(relax_value *out, int32_t value)
{
    if (out)
        *out = rlx_value_bool(value != 0);
}

void relax_value_set_float(relax_value *out, double value)
{
    if (out)
        *out = rlx_value_float(value);
}

void relax_value_set_dtype(relax_value *out, relax_dtype dtype)
{
    if (!out)
        return;
    DLDataType d = rlx_dl_from_dtype(dtype);
    *out = rlx_value_none();
    out->type_index = RELAX_VALUE_DTYPE;
    memcpy(out->v.bytes, &d, sizeof d);
}

static bool has_tag(const relax_value *value, int32_t tag)
{
    return value && value->type_index == tag && (tag < RLX_TAG_BOXED || value->v.p);
}

relax_status relax_value_get_int(const relax_value *value, int64_t *out)
{
    bool ok = has_tag(value, RELAX_VALUE_INT) && out;
    if (out)
        *out = ok ? value->v.i : 0;
    return ok ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_value_get_bool(const relax_value *value, int32_t *out)
{
    bool ok = has_tag(value, RELAX_VALUE_BOOL) && out;
    if (out)
        *out = ok ? value->v.i != 0 : 0;
    return ok ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_value_get_float(const relax_value *value, double *out)
{
    bool is_float = has_tag(value, RELAX_VALUE_FLOAT), is_int = has_tag(value, RELAX_VALUE_INT);
    if (out)
        *out = is_float ? value->v.f : is_int ? (double)value->v.i : 0;
    return out && (is_float || is_int) ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_value_get_dtype(const relax_value *value, relax_dtype *out)
{
    DLTensor t = { .ndim = 0 };
    bool ok = has_tag(value, RELAX_VALUE_DTYPE) && out;
    if (ok)
        memcpy(&t.dtype, value->v.bytes, sizeof t.dtype);
    if (out)
        *out = ok ? rlx_dl_dtype(&t) : 0;
    return ok ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

/* ---- boxed values --------------------------------------------------------------------------- */

/* Memory for one object of the host's. */
static relax_status open_pool(rlx_pool *p, const relax_allocator *allocator)
{
    rlx_memory probe;
    memset(p, 0, sizeof *p);
    if (!rlx_memory_init(&probe, allocator, 0))
        return RELAX_ERROR_INVALID_ARGUMENT;
    p->memory = rlx_shared_memory_create(allocator, SIZE_MAX);
    return p->memory ? RELAX_OK : RELAX_ERROR_OUT_OF_MEMORY;
}

static relax_status box(relax_value *out, int32_t tag, void *object)
{
    if (!object)
        return RELAX_ERROR_OUT_OF_MEMORY;
    *out = rlx_value_object(tag, object);
    return RELAX_OK;
}

relax_status relax_value_set_string(relax_value *out, const char *data, size_t len,
                                    const relax_allocator *allocator)
{
    rlx_pool p;
    relax_value_set_null(out);
    if (!out || (!data && len))
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_status status = open_pool(&p, allocator);
    if (status != RELAX_OK)
        return status;
    rlx_string_object *s = rlx_string_make(&p, len ? (rlx_slice){ data, len } : no_text);
    rlx_pool_free(&p);
    return box(out, RELAX_VALUE_STRING, s);
}

relax_status relax_value_get_string(const relax_value *value, const char **data, size_t *len)
{
    if (data)
        *data = NULL;
    if (len)
        *len = 0;
    if (!value || !data || !len)
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (has_tag(value, RELAX_VALUE_STRING)) {
        const rlx_string_object *s = value->v.p;
        *data = s->data;
        *len = s->size;
    } else if (value->type_index == RELAX_VALUE_RAW_STRING && value->v.s) {
        *data = value->v.s;
        *len = strlen(value->v.s);
    } else if (value->type_index == RELAX_VALUE_SMALL_STRING) {
        *data = (const char *)value->v.bytes;
        *len = value->reserved > 7 ? 7 : value->reserved;
    }
    return *data ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_value_set_shape(relax_value *out, const int64_t *dims, size_t ndim,
                                   const relax_allocator *allocator)
{
    rlx_pool p;
    relax_value_set_null(out);
    if (!out || (!dims && ndim))
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_status status = open_pool(&p, allocator);
    if (status != RELAX_OK)
        return status;
    rlx_shape_object *s = rlx_shape_make(&p, dims, ndim);
    rlx_pool_free(&p);
    return box(out, RELAX_VALUE_SHAPE, s);
}

relax_status relax_value_get_shape(const relax_value *value, const int64_t **dims, size_t *ndim)
{
    bool ok = has_tag(value, RELAX_VALUE_SHAPE) && dims && ndim;
    const rlx_shape_object *s = ok ? value->v.p : NULL;
    if (dims)
        *dims = s ? s->dims : NULL;
    if (ndim)
        *ndim = s ? s->ndim : 0;
    return ok ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_value_set_tuple(relax_value *out, const relax_value *fields, size_t count,
                                   const relax_allocator *allocator)
{
    rlx_pool p;
    relax_value_set_null(out);
    if (!out || (!fields && count))
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_status status = open_pool(&p, allocator);
    if (status != RELAX_OK)
        return status;
    rlx_tuple_object *t = rlx_tuple_make(&p, count);
    rlx_pool_free(&p);
    status = t ? RELAX_OK : RELAX_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; t && i < count && status == RELAX_OK; i++)
        status = keep(&fields[i], allocator, &t->fields[i]);
    if (status == RELAX_OK)
        return box(out, RELAX_VALUE_OBJECT, t);
    rlx_object_release(t);
    return status;
}

static const rlx_tuple_object *tuple_in(const relax_value *value)
{
    return value && value->v.p ? rlx_value_tuple(value) : NULL;
}

size_t relax_value_tuple_size(const relax_value *value)
{
    const rlx_tuple_object *t = tuple_in(value);
    return t ? t->count : RELAX_NOT_FOUND;
}

relax_status relax_value_tuple_get(const relax_value *value, size_t index, relax_value *out)
{
    const rlx_tuple_object *t = tuple_in(value);
    bool ok = t && out && index < t->count;
    if (out)
        *out = ok ? t->fields[index] : rlx_value_none();
    return ok ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

/* ---- failing -------------------------------------------------------------------------------- */

int relax_value_set_error(relax_value *result, const char *kind, size_t kind_len,
                          const char *message, size_t message_len)
{
    if (!result)
        return -1;
    *result = rlx_value_none();
    rlx_slice text = message ? (rlx_slice){ message, message_len } : no_text;
    relax_error *e = rlx_error_text(kind ? (rlx_slice){ kind, kind_len } : no_text, text);
    if (e)
        *result = rlx_value_object(RELAX_VALUE_ERROR, e);
    return -1;
}

int relax_value_set_user_error(relax_value *result, void *token, void (*destroy)(void *token))
{
    static const rlx_slice text = { "the host's own error", 20 };
    relax_error *e = result ? rlx_error_text(no_text, text) : NULL;
    if (result)
        *result = rlx_value_none();
    if (!e) {
        if (destroy)
            destroy(token);
        return -1;
    }
    e->status = RELAX_ERROR_USER;
    e->token = token;
    e->destroy = destroy;
    *result = rlx_value_object(RELAX_VALUE_ERROR, e);
    return -1;
}

/* ---- functions ------------------------------------------------------------------------------ */

static rlx_packed *packed_of(const relax_packed_func *f) { return (rlx_packed *)(uintptr_t)f; }
static bool is_function(const relax_packed_func *f)
{
    return rlx_handle_is(f, RELAX_VALUE_FUNCTION);
}

relax_packed_func *relax_packed_func_create(relax_packed_fn fn, void *user,
                                            void (*destroy)(void *user))
{
    if (fn)
        return (relax_packed_func *)rlx_packed_make(NULL, fn, user, destroy);
    if (destroy)
        destroy(user);
    return NULL;
}

relax_packed_func *relax_packed_func_retain(relax_packed_func *function)
{
    if (!is_function(function))
        return NULL;
    rlx_object_retain(function);
    return function;
}

void relax_packed_func_release(relax_packed_func *function)
{
    if (is_function(function))
        rlx_object_release(function);
}

int relax_packed_func_call(const relax_packed_func *function, const relax_value *args,
                           int32_t num_args, relax_value *result)
{
    const rlx_packed *f = packed_of(function);
    if (result)
        *result = rlx_value_none();
    if (!is_function(function) || !result || num_args < 0 || (!args && num_args))
        return -1;
    return f->fn(f->user, args, num_args, result);
}

void relax_value_set_packed_func(relax_value *out, relax_packed_func *function)
{
    if (!out)
        return;
    *out = is_function(function) ? rlx_value_object(RELAX_VALUE_FUNCTION, function)
                                 : rlx_value_none();
    relax_value_retain(out);
}

relax_packed_func *relax_value_get_packed_func(const relax_value *value)
{
    bool ours = has_tag(value, RELAX_VALUE_FUNCTION) && rlx_packed_is_ours(value->v.p);
    return ours ? value->v.p : NULL;
}
