/* value.c: strings, shapes, tuples, functions as values; what comes back from packed functions. */
/* built for size */
#include "runtime/runtime_int.h"

bool rlx_pool_open_once(rlx_pool *p, rlx_shared_memory *memory, const relax_allocator *host)
{
    memset(p, 0, sizeof *p);
    p->memory =
        memory ? rlx_shared_memory_retain(memory) : rlx_shared_memory_create(host, SIZE_MAX);
    return p->memory != NULL;
}

rlx_string_object *rlx_string_make(rlx_pool *p, rlx_slice text)
{
    size_t bytes;
    if (!rlx_add_size(text.len, sizeof(rlx_string_object) + 1, &bytes))
        return NULL;
    rlx_string_object *s = rlx_object_alloc(p, bytes, RELAX_VALUE_STRING);
    if (!s)
        return NULL;
    s->data = s->bytes;
    s->size = text.len;
    s->memory = p->memory;
    if (text.len)
        memcpy(s->bytes, text.data, text.len);
    s->bytes[text.len] = 0;
    return s;
}

rlx_shape_object *rlx_shape_make(rlx_pool *p, const int64_t *dims_or_null, size_t ndim)
{
    size_t bytes;
    if (!rlx_mul_size(ndim, sizeof(int64_t), &bytes) ||
        !rlx_add_size(bytes, sizeof(rlx_shape_object), &bytes))
        return NULL;
    rlx_shape_object *s = rlx_object_alloc(p, bytes, RELAX_VALUE_SHAPE);
    if (!s)
        return NULL;
    s->dims = s->values;
    s->ndim = ndim;
    s->memory = p->memory;
    if (dims_or_null && ndim)
        memcpy(s->values, dims_or_null, ndim * sizeof *s->values);
    return s;
}

rlx_tuple_object *rlx_tuple_make(rlx_pool *p, size_t count)
{
    size_t bytes;
    if (!rlx_mul_size(count, sizeof(relax_value), &bytes) ||
        !rlx_add_size(bytes, sizeof(rlx_tuple_object), &bytes))
        return NULL;
    rlx_tuple_object *t = rlx_object_alloc(p, bytes, RELAX_VALUE_OBJECT);
    if (!t)
        return NULL;
    t->mark = RLX_MARK_TUPLE;
    t->memory = p->memory;
    t->count = count;
    atomic_init(&t->bound_fits, 0);
    memset(t->fields, 0, count * sizeof *t->fields);
    return t;
}

rlx_module_function *rlx_module_function_make(rlx_pool *p)
{
    rlx_module_function *f = rlx_object_alloc(p, sizeof *f, RELAX_VALUE_OBJECT);
    if (!f)
        return NULL;
    f->mark = RLX_MARK_FUNCTION;
    f->memory = p->memory;
    f->image = NULL;
    f->number = f->signature = RLX_NO_INDEX;
    f->descs = NULL;
    return f;
}

rlx_extern_function *rlx_extern_function_make(rlx_pool *p)
{
    rlx_extern_function *f = rlx_object_alloc(p, sizeof *f, RELAX_VALUE_OBJECT);
    if (!f)
        return NULL;
    f->mark = RLX_MARK_EXTERN;
    f->memory = p->memory;
    f->image = NULL;
    f->packed = RLX_NO_INDEX;
    return f;
}

/* ---- results of packed functions ------------------------------------------------------------ */

static bool adopt_text(rlx_pool *p, relax_value *v, rlx_slice text, int32_t tag, rlx_fault *why)
{
    rlx_string_object *s = rlx_string_make(p, text);
    if (!s)
        return rlx_fail(why, RLX_RT10, "out of memory for a string");
    s->base.type_index = tag;
    *v = rlx_value_object(tag, s);
    return true;
}

static bool adopt_view(relax_value *v, rlx_fault *why)
{
    rlx_tensor_object *t = rlx_tensor_of_view(v->v.p);
    if (!t)
        return rlx_fail(why, RLX_RT16, "a raw DLTensor came back, which nobody owns");
    rlx_object_retain(t);
    *v = rlx_value_object(RELAX_VALUE_TENSOR, t);
    return true;
}

static bool foreign_tensor_fits(const DLTensor *t, rlx_fault *why)
{
    size_t bytes;
    if (t->device.device_type != 1)
        return rlx_fail(why, RLX_RT13, "a tensor on device type %d came back",
                        (int)t->device.device_type);
    if (t->ndim < 0 || t->ndim > RLX_MAX_RANK || (t->ndim > 0 && !t->shape))
        return rlx_fail(why, RLX_RT04, "a tensor of rank %d came back", t->ndim);
    if (!rlx_shape_bytes(rlx_dl_dtype(t), t->ndim, t->shape, &bytes, why))
        return false;
    if (!rlx_view_is_compact(t) || (bytes && !t->data))
        return rlx_fail(why, RLX_RT16, "a tensor came back that is not compact");
    return true;
}

bool rlx_value_adopt(rlx_pool *p, relax_value *v, rlx_fault *why)
{
    relax_value was = *v;
    switch (v->type_index) {
    case RELAX_VALUE_TENSOR_VIEW:
        return v->v.p ? adopt_view(v, why) : rlx_fail(why, RLX_RT16, "a NULL tensor came back");
    case RELAX_VALUE_RAW_STRING:
        return adopt_text(p, v, rlx_slice_z(was.v.s), RELAX_VALUE_STRING, why);
    case RELAX_VALUE_SMALL_STRING:
    case RELAX_VALUE_SMALL_BYTES:
        return adopt_text(
            p, v, (rlx_slice){ (const char *)was.v.bytes, was.reserved > 7 ? 7 : was.reserved },
            v->type_index == RELAX_VALUE_SMALL_STRING ? RELAX_VALUE_STRING : RELAX_VALUE_BYTES,
            why);
    case RELAX_VALUE_BYTE_ARRAY:
    case RELAX_VALUE_RVALUE_REF:
        return rlx_fail(why, RLX_RT16, "a value of type %d came back", (int)v->type_index);
    default: break;
    }
    v->reserved = 0;
    if (v->type_index < 0 ||
        (v->type_index > RELAX_VALUE_SMALL_BYTES && v->type_index < RLX_TAG_BOXED))
        return rlx_fail(why, RLX_RT16, "a value of unknown type %d came back", (int)v->type_index);
    if (rlx_value_is_boxed(v) && !v->v.p)
        return rlx_fail(why, RLX_RT16, "a NULL object came back");
    if (v->type_index == RELAX_VALUE_TENSOR && !rlx_object_is_ours(v->v.p))
        return foreign_tensor_fits(rlx_value_view(v), why);
    return true;
}
