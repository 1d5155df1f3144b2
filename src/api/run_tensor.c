/* run_tensor.c: tensors as the host sees them, and DLPack (relax/value.h, relax/dlpack.h). */
#include <relax/dlpack.h>
#include <relax/value.h>

#include "runtime/runtime.h"

static rlx_tensor_object *object_of(const relax_tensor *t)
{
    return (rlx_tensor_object *)(uintptr_t)t;
}
static bool is_tensor(const relax_tensor *t) { return rlx_handle_is(t, RELAX_VALUE_TENSOR); }

static const relax_tensor_options tensor_defaults = { .struct_size =
                                                          sizeof(relax_tensor_options) };

relax_status relax_tensor_options_init(relax_tensor_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &tensor_defaults, sizeof tensor_defaults);
}

/* ---- making --------------------------------------------------------------------------------- */

static relax_status fail(relax_error **out_error, const rlx_fault *why)
{
    return rlx_error_give(NULL, out_error, why);
}

static relax_status misuse(relax_error **out_error, enum rlx_code_id code, const char *what)
{
    rlx_fault why;
    rlx_fail(&why, code, "%s", what);
    return fail(out_error, &why);
}

/* Sizes and dtype of a new tensor. */
static bool check_shape(rlx_dtype dtype, const int64_t *shape, int32_t ndim, size_t *bytes,
                        rlx_fault *why)
{
    if (ndim < 0 || ndim > RLX_MAX_RANK)
        return rlx_fail(why, RLX_OP03, "rank %d is not in 0 .. %d", (int)ndim, RLX_MAX_RANK);
    if (ndim > 0 && !shape)
        return rlx_fail(why, RLX_OP01, "the shape is NULL");
    return rlx_shape_bytes(dtype, ndim, shape, bytes, why);
}

static bool open_pool(rlx_pool *p, const relax_allocator *host)
{
    memset(p, 0, sizeof *p);
    p->memory = rlx_shared_memory_create(host, SIZE_MAX);
    return p->memory != NULL;
}

static relax_status read_options(const relax_tensor_options *options, const relax_allocator **host)
{
    relax_tensor_options o = tensor_defaults;
    rlx_memory probe;
    if (!rlx_options_read(&o, sizeof o, options) || !rlx_memory_init(&probe, o.allocator, 0))
        return RELAX_ERROR_INVALID_ARGUMENT;
    *host = o.allocator;
    return RELAX_OK;
}

relax_status relax_tensor_create(relax_dtype dtype, const int64_t *shape, int32_t ndim,
                                 const relax_tensor_options *options, relax_tensor **out,
                                 relax_error **out_error)
{
    rlx_fault why;
    rlx_pool p;
    size_t bytes;
    const relax_allocator *host;
    if (out)
        *out = NULL;
    if (out_error)
        *out_error = NULL;
    if (!out)
        return misuse(out_error, RLX_OP01, "relax_tensor_create: out is NULL");
    if (read_options(options, &host) != RELAX_OK)
        return misuse(out_error, RLX_OP05, "relax_tensor_create: malformed options");
    if (!open_pool(&p, host))
        return rlx_error_no_memory(out_error);
    bool fits = check_shape(dtype, shape, ndim, &bytes, &why);
    rlx_tensor_object *t = fits ? rlx_tensor_make(&p, dtype, ndim, shape) : NULL;
    relax_status status = t      ? RELAX_OK
                          : fits ? rlx_error_no_memory(out_error)
                                 : rlx_error_give(p.memory, out_error, &why);
    rlx_pool_free(&p);
    *out = (relax_tensor *)t;
    return status;
}

/* A tensor over foreign bytes. destroy runs also on failure. */
static relax_status wrap(rlx_dtype dtype, const int64_t *shape, int32_t ndim, void *data,
                         size_t bytes, bool read_only, void *user, void (*destroy)(void *),
                         relax_tensor **out, relax_error **out_error)
{
    rlx_pool p;
    if (!open_pool(&p, NULL)) {
        if (destroy)
            destroy(user);
        return rlx_error_no_memory(out_error);
    }
    rlx_storage *s = rlx_storage_wrap(&p, data, bytes, destroy, user);
    rlx_tensor_object *t = s ? rlx_tensor_view(&p, s, 0, dtype, ndim, shape) : NULL;
    rlx_object_release(s);
    rlx_pool_free(&p);
    if (t)
        t->read_only = read_only;
    *out = (relax_tensor *)t;
    return t ? RELAX_OK : rlx_error_no_memory(out_error);
}

/* Data must lie where elements of its dtype may lie. */
static bool check_data(rlx_dtype dtype, const void *data, size_t bytes, rlx_fault *why)
{
    size_t element = rlx_dtype_bytes(rlx_dtype_with_lanes(dtype, 1));
    if (bytes && !data)
        return rlx_fail(why, RLX_OP01, "the data of the tensor is NULL");
    return !bytes || (uintptr_t)data % element == 0 ||
           rlx_fail(why, RLX_OP03, "the data is not aligned to its elements of %zu bytes",
                    element);
}

relax_status relax_tensor_from_memory(relax_dtype dtype, const int64_t *shape, int32_t ndim,
                                      void *data, void *user, void (*destroy)(void *user),
                                      relax_tensor **out, relax_error **out_error)
{
    rlx_fault why = { 0 };
    size_t bytes = 0;
    if (out)
        *out = NULL;
    if (out_error)
        *out_error = NULL;
    bool ok =
        out ? check_shape(dtype, shape, ndim, &bytes, &why) && check_data(dtype, data, bytes, &why)
            : rlx_fail(&why, RLX_OP01, "relax_tensor_from_memory: out is NULL");
    if (ok)
        return wrap(dtype, shape, ndim, data, bytes, false, user, destroy, out, out_error);
    if (destroy)
        destroy(user);
    return fail(out_error, &why);
}

/* ---- reading -------------------------------------------------------------------------------- */

relax_tensor *relax_tensor_retain(relax_tensor *tensor)
{
    if (!is_tensor(tensor))
        return NULL;
    rlx_object_retain(tensor);
    return tensor;
}

void relax_tensor_release(relax_tensor *tensor)
{
    if (is_tensor(tensor))
        rlx_object_release(tensor);
}

relax_dtype relax_tensor_dtype(const relax_tensor *tensor)
{
    return is_tensor(tensor) ? rlx_dl_dtype(&object_of(tensor)->view) : RELAX_VOID;
}

int32_t relax_tensor_ndim(const relax_tensor *tensor)
{
    return is_tensor(tensor) ? object_of(tensor)->view.ndim : -1;
}

const int64_t *relax_tensor_shape(const relax_tensor *tensor)
{
    return is_tensor(tensor) ? object_of(tensor)->view.shape : NULL;
}

void *relax_tensor_data(const relax_tensor *tensor)
{
    return is_tensor(tensor) ? object_of(tensor)->view.data : NULL;
}

size_t relax_tensor_bytes(const relax_tensor *tensor)
{
    size_t bytes = 0;
    if (is_tensor(tensor)) {
        const DLTensor *t = &object_of(tensor)->view;
        rlx_shape_bytes(rlx_dl_dtype(t), t->ndim, t->shape, &bytes, NULL);
    }
    return bytes;
}

int32_t relax_tensor_is_read_only(const relax_tensor *tensor)
{
    return is_tensor(tensor) ? (int32_t)object_of(tensor)->read_only : 0;
}

static bool sizes_agree(const relax_tensor *tensor, const void *data, size_t size)
{
    return is_tensor(tensor) && (data || !size) && size == relax_tensor_bytes(tensor);
}

relax_status relax_tensor_copy_in(relax_tensor *tensor, const void *data, size_t size)
{
    if (!sizes_agree(tensor, data, size) || object_of(tensor)->read_only)
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (size)
        memcpy(object_of(tensor)->view.data, data, size);
    return RELAX_OK;
}

relax_status relax_tensor_copy_out(const relax_tensor *tensor, void *data, size_t size)
{
    if (!sizes_agree(tensor, data, size))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (size)
        memcpy(data, object_of(tensor)->view.data, size);
    return RELAX_OK;
}

void relax_value_set_tensor(relax_value *out, relax_tensor *tensor)
{
    if (!out)
        return;
    *out = is_tensor(tensor) ? rlx_value_object(RELAX_VALUE_TENSOR, tensor) : rlx_value_none();
    rlx_value_hold(out);
}

relax_tensor *relax_value_get_tensor(const relax_value *value)
{
    return value ? (relax_tensor *)rlx_value_tensor(value) : NULL;
}

const DLTensor *relax_tensor_view(const relax_tensor *tensor)
{
    return is_tensor(tensor) ? &object_of(tensor)->view : NULL;
}

/* ---- DLPack in ------------------------------------------------------------------------------ */

typedef struct DLManagedTensorVersioned versioned;

static void end_versioned(void *managed)
{
    versioned *m = managed;
    if (m->deleter)
        m->deleter(m);
}

static void end_legacy(void *managed)
{
    DLManagedTensor *m = managed;
    if (m->deleter)
        m->deleter(m);
}

static bool check_import(const DLTensor *t, size_t *bytes, rlx_fault *why)
{
    if (t->device.device_type != 1)
        return rlx_fail(why, RLX_RT13, "the tensor is on device type %d, expected the CPU",
                        (int)t->device.device_type);
    if (!check_shape(rlx_dl_dtype(t), t->shape, t->ndim, bytes, why))
        return false;
    if (!rlx_view_is_compact(t))
        return rlx_fail(
            why, RLX_OP02,
            "the tensor is not contiguous in row-major order: make it so before handing it over");
    return check_data(rlx_dl_dtype(t), *bytes ? rlx_view_data(t) : NULL, *bytes, why);
}

/* Both forms, from here on: `end` gives the tensor back. */
static relax_status import(const DLTensor *t, bool read_only, void *managed, void (*end)(void *),
                           relax_tensor **out, relax_error **out_error)
{
    rlx_fault why = { 0 };
    size_t bytes;
    if (check_import(t, &bytes, &why))
        return wrap(rlx_dl_dtype(t), t->shape, t->ndim, bytes ? rlx_view_data(t) : NULL, bytes,
                    read_only, managed, end, out, out_error);
    end(managed);
    return fail(out_error, &why);
}

relax_status relax_tensor_from_dlpack(versioned *managed, relax_tensor **out,
                                      relax_error **out_error)
{
    if (out)
        *out = NULL;
    if (out_error)
        *out_error = NULL;
    if (!managed || !out) {
        if (managed)
            end_versioned(managed);
        return misuse(out_error, RLX_OP01, "relax_tensor_from_dlpack: an argument is NULL");
    }
    if (managed->version.major != 1) { /* nothing but the head may be looked at */
        end_versioned(managed);
        return misuse(out_error, RLX_OP02,
                      "relax_tensor_from_dlpack: this library reads version 1 of DLPack");
    }
    return import(&managed->dl_tensor, managed->flags & 1, managed, end_versioned, out, out_error);
}

relax_status relax_tensor_from_dlpack_legacy(DLManagedTensor *managed, relax_tensor **out,
                                             relax_error **out_error)
{
    if (out)
        *out = NULL;
    if (out_error)
        *out_error = NULL;
    if (!managed || !out) {
        if (managed)
            end_legacy(managed);
        return misuse(out_error, RLX_OP01, "relax_tensor_from_dlpack_legacy: an argument is NULL");
    }
    return import(&managed->dl_tensor, false, managed, end_legacy, out, out_error);
}

/* ---- DLPack out ----------------------------------------------------------------------------- */

static void delete_versioned(versioned *self)
{
    rlx_tensor_object *t = self->manager_ctx;
    rlx_shared_memory *memory = rlx_shared_memory_retain(t->memory);
    rlx_object_release(t);
    rlx_mem_free(&memory->memory, self, sizeof *self);
    rlx_shared_memory_release(memory);
}

static void delete_legacy(DLManagedTensor *self)
{
    rlx_tensor_object *t = self->manager_ctx;
    rlx_shared_memory *memory = rlx_shared_memory_retain(t->memory);
    rlx_object_release(t);
    rlx_mem_free(&memory->memory, self, sizeof *self);
    rlx_shared_memory_release(memory);
}

relax_status relax_tensor_to_dlpack(relax_tensor *tensor, versioned **out, relax_error **out_error)
{
    if (out)
        *out = NULL;
    if (out_error)
        *out_error = NULL;
    if (!is_tensor(tensor) || !out)
        return misuse(out_error, tensor && out ? RLX_OP02 : RLX_OP01,
                      "relax_tensor_to_dlpack: an argument is NULL or no tensor");
    rlx_tensor_object *t = object_of(tensor);
    versioned *m = rlx_mem_alloc_zero(&t->memory->memory, sizeof *m);
    if (!m)
        return rlx_error_no_memory(out_error);
    rlx_object_retain(t);
    m->version = (DLPackVersion){ 1, 1 };
    m->manager_ctx = t;
    m->deleter = delete_versioned;
    m->flags = t->read_only ? 1 : 0;
    m->dl_tensor = t->view;
    *out = m;
    return RELAX_OK;
}

relax_status relax_tensor_to_dlpack_legacy(relax_tensor *tensor, DLManagedTensor **out,
                                           relax_error **out_error)
{
    if (out)
        *out = NULL;
    if (out_error)
        *out_error = NULL;
    if (!is_tensor(tensor) || !out)
        return misuse(out_error, tensor && out ? RLX_OP02 : RLX_OP01,
                      "relax_tensor_to_dlpack_legacy: an argument is NULL or no tensor");
    rlx_tensor_object *t = object_of(tensor);
    if (t->read_only)
        return misuse(
            out_error, RLX_OP02,
            "relax_tensor_to_dlpack_legacy: the tensor is read-only, which this form cannot say");
    DLManagedTensor *m = rlx_mem_alloc_zero(&t->memory->memory, sizeof *m);
    if (!m)
        return rlx_error_no_memory(out_error);
    rlx_object_retain(t);
    m->manager_ctx = t;
    m->deleter = delete_legacy;
    m->dl_tensor = t->view;
    *out = m;
    return RELAX_OK;
}
