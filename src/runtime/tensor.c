/* tensor.c: tensors over storage. */
#include "runtime/runtime_int.h"

const char rlx_tensor_mark = 't';

bool rlx_shape_bytes(rlx_dtype dtype, int32_t ndim, const int64_t *dims, size_t *out,
                     rlx_fault *why)
{
    size_t bytes = rlx_dtype_bytes(dtype);
    bool none = false;
    if (bytes == 0 || !rlx_dtype_is_computable(rlx_dtype_with_lanes(dtype, 1))) {
        char name[RLX_DTYPE_TEXT];
        rlx_dtype_name(dtype, name);
        return rlx_fail(why, RLX_RT19, "tensors of dtype %s cannot be stored", name);
    }
    for (int32_t i = 0; i < ndim; i++) {
        if (dims[i] < 0)
            return rlx_fail(why, RLX_RT05, "dimension %d is %lld, a size is not negative", (int)i,
                            (long long)dims[i]);
        if (dims[i] == 0)
            none = true;
    }
    for (int32_t i = 0; i < ndim && !none; i++)
        if (!rlx_mul_size(bytes, (size_t)dims[i], &bytes) || bytes > (size_t)INT64_MAX)
            return rlx_fail(why, RLX_RT10, "a tensor has more elements than memory can hold");
    *out = none ? 0 : bytes;
    return true;
}

int64_t rlx_shape_elements(int32_t ndim, const int64_t *dims)
{
    int64_t n = 1;
    for (int32_t i = 0; i < ndim; i++)
        if (dims[i] == 0)
            return 0;
    for (int32_t i = 0; i < ndim; i++)
        n *= dims[i];
    return n;
}

bool rlx_view_is_compact(const DLTensor *t)
{
    uint64_t expected = 1; /* may only wrap where another size is 0 */
    bool compact = true;
    if (!t->strides)
        return true;
    for (int32_t i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] == 0)
            return true;
        if (t->shape[i] != 1 && (uint64_t)t->strides[i] != expected)
            compact = false;
        expected *= (uint64_t)t->shape[i];
    }
    return compact;
}

/* Takes over one reference to `storage`, also on failure. */
static rlx_tensor_object *tensor_over(rlx_pool *p, rlx_storage *storage, size_t offset,
                                      rlx_dtype dtype, int32_t ndim, const int64_t *dims)
{
    rlx_tensor_object *t =
        rlx_object_alloc(p, sizeof *t + 2 * (size_t)ndim * sizeof(int64_t), RELAX_VALUE_TENSOR);
    if (!t) {
        relax_value v = rlx_value_object(RELAX_VALUE_OBJECT, storage);
        rlx_pool_drop(p, &v);
        return NULL;
    }
    int64_t stride = 1;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        t->dims[i] = dims[i];
        t->dims[ndim + i] = stride;
        /* may only wrap where another size is 0 */
        stride = (int64_t)((uint64_t)stride * (uint64_t)dims[i]);
    }
    t->view = (DLTensor){ .data = stride ? storage->data + offset : NULL,
                          .device = { 1, 0 },
                          .ndim = ndim,
                          .dtype = rlx_dl_from_dtype(dtype),
                          .shape = t->dims,
                          .strides = t->dims + ndim };
    t->mark = &rlx_tensor_mark;
    t->memory = p->memory;
    t->storage = storage;
    t->read_only = t->reserved = 0;
    return t;
}

rlx_tensor_object *rlx_tensor_view(rlx_pool *p, rlx_storage *storage, size_t offset,
                                   rlx_dtype dtype, int32_t ndim, const int64_t *dims)
{
    rlx_object_retain(storage);
    return tensor_over(p, storage, offset, dtype, ndim, dims);
}

rlx_tensor_object *rlx_tensor_make(rlx_pool *p, rlx_dtype dtype, int32_t ndim, const int64_t *dims)
{
    size_t bytes;
    if (!rlx_shape_bytes(dtype, ndim, dims, &bytes, NULL))
        return NULL;
    rlx_storage *s = rlx_storage_create(p, bytes, NULL);
    return s ? tensor_over(p, s, 0, dtype, ndim, dims) : NULL;
}

rlx_tensor_object *rlx_tensor_of_view(const DLTensor *view)
{
    /* Ours have their sizes behind the view at a fixed distance: only then is it safe to look
     * for the mark. */
    const size_t dims_at = offsetof(rlx_tensor_object, dims) - offsetof(rlx_tensor_object, view);
    if (!view || (const char *)view->shape != (const char *)view + dims_at)
        return NULL;
    rlx_tensor_object *t =
        (rlx_tensor_object *)((char *)(uintptr_t)view - offsetof(rlx_tensor_object, view));
    return t->mark == &rlx_tensor_mark ? t : NULL;
}

rlx_tensor_object *rlx_value_tensor(const relax_value *v)
{
    if (v->type_index == RELAX_VALUE_TENSOR)
        return v->v.p && rlx_object_is_ours(v->v.p) ? v->v.p : NULL;
    return v->type_index == RELAX_VALUE_TENSOR_VIEW ? rlx_tensor_of_view(v->v.p) : NULL;
}

bool rlx_tensor_copy(const DLTensor *src, const DLTensor *dst, rlx_fault *why)
{
    size_t bytes;
    if (rlx_dl_dtype(src) != rlx_dl_dtype(dst))
        return rlx_fail(why, RLX_RT03, "copy between tensors of different dtypes");
    if (src->ndim != dst->ndim)
        return rlx_fail(why, RLX_RT04, "copy of a tensor of rank %d into one of rank %d",
                        src->ndim, dst->ndim);
    for (int32_t i = 0; i < src->ndim; i++)
        if (src->shape[i] != dst->shape[i])
            return rlx_fail(why, RLX_RT05, "dimension %d is %lld, the destination has %lld",
                            (int)i, (long long)src->shape[i], (long long)dst->shape[i]);
    if (!rlx_shape_bytes(rlx_dl_dtype(src), src->ndim, src->shape, &bytes, why))
        return false;
    if (bytes && rlx_view_data(src) != rlx_view_data(dst))
        memmove(rlx_view_data(dst), rlx_view_data(src), bytes);
    return true;
}
