/* builtin.c: the run-time builtins of builtin.def. */
/* built for size */
#include "runtime/runtime_int.h"

static bool no_memory(rlx_fault *why, const char *what)
{
    return rlx_fail(why, RLX_RT10, "out of memory for %s", what);
}

/* The argument as a tensor of ours with one more reference; foreign tensors get an object of
 * ours around them. */
static rlx_tensor_object *hold_tensor(rlx_pool *p, const relax_value *v, const char *who,
                                      rlx_fault *why)
{
    rlx_tensor_object *t = rlx_value_tensor(v);
    const DLTensor *view = rlx_value_view(v);
    if (t) {
        rlx_object_retain(t);
        return t;
    }
    if (!view || v->type_index != RELAX_VALUE_TENSOR) {
        rlx_fail(why, RLX_RT02, "%s: expected a tensor", who);
        return NULL;
    }
    size_t bytes;
    if (!rlx_shape_bytes(rlx_dl_dtype(view), view->ndim, view->shape, &bytes, why))
        return NULL;
    rlx_object_retain(v->v.p);
    rlx_storage *s = rlx_storage_wrap(p, rlx_view_data(view), bytes, rlx_object_release, v->v.p);
    t = s ? rlx_tensor_view(p, s, 0, rlx_dl_dtype(view), view->ndim, view->shape) : NULL;
    if (s) {
        relax_value drop = rlx_value_object(RELAX_VALUE_OBJECT, s);
        rlx_pool_drop(p, &drop);
    }
    if (!t)
        no_memory(why, who);
    return t;
}

static bool give_tensor(rlx_tensor_object *t, relax_value *result, rlx_fault *why)
{
    if (!t)
        return no_memory(why, "a tensor");
    *result = rlx_value_object(RELAX_VALUE_TENSOR, t);
    return true;
}

/* A new tensor, with its size checked first. */
static rlx_tensor_object *new_tensor(rlx_pool *p, rlx_dtype dtype, int32_t ndim,
                                     const int64_t *dims, rlx_fault *why)
{
    size_t bytes;
    if (!rlx_shape_bytes(dtype, ndim, dims, &bytes, why))
        return NULL;
    rlx_tensor_object *t = rlx_tensor_make(p, dtype, ndim, dims);
    if (!t)
        no_memory(why, "a tensor");
    return t;
}

static const DLTensor *want_view(const relax_value *v, const char *who, rlx_fault *why)
{
    const DLTensor *t = rlx_value_view(v);
    if (!t)
        rlx_fail(why, RLX_RT02, "%s: expected a tensor", who);
    return t;
}

static bool builtin_copy(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                         rlx_fault *why)
{
    const DLTensor *src = want_view(&args[0], "copy", why);
    rlx_tensor_object *t =
        src ? new_tensor(p, rlx_dl_dtype(src), src->ndim, src->shape, why) : NULL;
    return t && rlx_tensor_copy(src, &t->view, why) && give_tensor(t, result, why);
}

static bool builtin_writable(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                             rlx_fault *why)
{
    const rlx_tensor_object *own = rlx_value_tensor(&args[0]);
    if (!own || own->read_only)
        return builtin_copy(p, args, n, result, why);
    rlx_tensor_object *t = hold_tensor(p, &args[0], "writable", why);
    return t && give_tensor(t, result, why);
}

static bool builtin_copy_into(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                              rlx_fault *why)
{
    const DLTensor *src = want_view(&args[0], "copy_into", why),
                   *dst = want_view(&args[1], "copy_into", why);
    const rlx_tensor_object *t = rlx_value_tensor(&args[1]);
    if (t && t->read_only)
        return rlx_fail(why, RLX_RT02, "copy_into: the destination is a constant");
    return src && dst && rlx_tensor_copy(src, dst, why);
}

static bool give_shape(rlx_pool *p, const int64_t *dims, size_t ndim, relax_value *result,
                       rlx_fault *why)
{
    rlx_shape_object *s = rlx_shape_make(p, dims, ndim);
    if (!s)
        return no_memory(why, "a shape");
    *result = rlx_value_object(RELAX_VALUE_SHAPE, s);
    return true;
}

static bool builtin_shape_of(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                             rlx_fault *why)
{
    const DLTensor *t = want_view(&args[0], "shape_of", why);
    return t && give_shape(p, t->shape, (size_t)t->ndim, result, why);
}

/* The sizes of a tensor to be. */
static const rlx_shape_object *want_shape(const relax_value *v, const char *who, rlx_fault *why)
{
    const rlx_shape_object *s = rlx_value_shape(v);
    if (!s)
        rlx_fail(why, RLX_RT02, "%s: expected a shape", who);
    else if (s->ndim > RLX_MAX_RANK)
        rlx_fail(why, RLX_RT04, "%s: rank %zu is more than %d", who, s->ndim, RLX_MAX_RANK);
    else
        return s;
    return NULL;
}

static bool want_dtype(const relax_value *v, rlx_dtype *out, rlx_fault *why)
{
    DLTensor t = { .ndim = 0 };
    if (v->type_index != RELAX_VALUE_DTYPE)
        return rlx_fail(why, RLX_RT02, "expected a dtype");
    memcpy(&t.dtype, v->v.bytes, sizeof t.dtype);
    *out = rlx_dl_dtype(&t);
    return rlx_dtype_lanes(*out) == 1 ||
           rlx_fail(why, RLX_RT19, "tensors of vectors cannot be made");
}

/* How a view looks at the memory of a tensor, from a byte on. */
typedef struct look {
    rlx_dtype dtype;
    int32_t ndim;
    const int64_t *dims;
    int64_t offset;
} look;

static bool give_view(rlx_pool *p, const relax_value *of, const char *who, const look *l,
                      relax_value *result, rlx_fault *why)
{
    rlx_tensor_object *from = hold_tensor(p, of, who, why);
    if (!from)
        return false;
    size_t begin =
        from->view.data ? (size_t)((unsigned char *)from->view.data - from->storage->data) : 0;
    rlx_tensor_object *t = rlx_tensor_view(p, from->storage, begin + (size_t)l->offset, l->dtype,
                                           l->ndim, l->dims);
    if (t)
        t->read_only = from->read_only;
    rlx_object_release(from);
    return give_tensor(t, result, why);
}

/* Fills in the one size that is -1. */
static bool infer_size(int64_t *dims, size_t ndim, int64_t elements, rlx_fault *why)
{
    int64_t known = 1;
    size_t open = ndim;
    for (size_t i = 0; i < ndim; i++) {
        if (dims[i] == -1 && open == ndim)
            open = i;
        else if (dims[i] < 0 || !rlx_mul_i64(known, dims[i], &known))
            return rlx_fail(why, RLX_RT05, "reshape: dimension %zu is %lld", i,
                            (long long)dims[i]);
    }
    if (open < ndim) {
        if (known == 0 || elements % known)
            return rlx_fail(why, RLX_RT05, "reshape: %lld elements cannot fill that shape",
                            (long long)elements);
        dims[open] = elements / known;
        known *= dims[open];
    }
    return known == elements ||
           rlx_fail(why, RLX_RT05, "reshape: %lld elements into a shape of %lld",
                    (long long)elements, (long long)known);
}

static bool builtin_reshape(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                            rlx_fault *why)
{
    const rlx_shape_object *s = want_shape(&args[1], "reshape", why);
    const DLTensor *view = s ? want_view(&args[0], "reshape", why) : NULL;
    int64_t dims[RLX_MAX_RANK];
    if (!view)
        return false;
    memcpy(dims, s->dims, s->ndim * sizeof *dims);
    look l = { rlx_dl_dtype(view), (int32_t)s->ndim, dims, 0 };
    return infer_size(dims, s->ndim, rlx_shape_elements(view->ndim, view->shape), why) &&
           give_view(p, &args[0], "reshape", &l, result, why);
}

static bool is_left_out(const relax_value *v)
{
    const rlx_tuple_object *t = rlx_value_tuple(v);
    return v->type_index == RELAX_VALUE_NONE || (t && !t->count);
}

/* What the arguments of a view say, of what x is where they are left out. */
static bool read_look(const DLTensor *x, const relax_value *args, look *l, rlx_fault *why)
{
    *l = (look){ rlx_dl_dtype(x), x->ndim, x->shape, 0 };
    if (!is_left_out(&args[1])) {
        const rlx_shape_object *s = want_shape(&args[1], "view", why);
        if (!s)
            return false;
        l->ndim = (int32_t)s->ndim;
        l->dims = s->dims;
    }
    if (!is_left_out(&args[2]) && !want_dtype(&args[2], &l->dtype, why))
        return false;
    if (args[3].type_index == RELAX_VALUE_INT)
        l->offset = args[3].v.i;
    else if (!is_left_out(&args[3]))
        return rlx_fail(why, RLX_RT02, "view: expected a number of bytes");
    return true;
}

/* A view stays inside of x, and its elements lie as those of a tensor do. */
static bool look_fits(const DLTensor *x, const look *l, rlx_fault *why)
{
    size_t have, want;
    if (!rlx_view_is_compact(x))
        return rlx_fail(why, RLX_RT05, "view: the tensor is not compact");
    if (!rlx_shape_bytes(rlx_dl_dtype(x), x->ndim, x->shape, &have, why) ||
        !rlx_shape_bytes(l->dtype, l->ndim, l->dims, &want, why))
        return false;
    if (l->offset < 0 || (uint64_t)l->offset > have || want > have - (size_t)l->offset)
        return rlx_fail(why, RLX_RT05, "view: %zu bytes from byte %lld on of a tensor of %zu",
                        want, (long long)l->offset, have);
    return want == 0 || ((uintptr_t)rlx_view_data(x) + (size_t)l->offset) % rlx_dtype_bytes(l->dtype) == 0 ||
           rlx_fail(why, RLX_RT05, "view: byte %lld is not aligned for elements of %zu bytes",
                    (long long)l->offset, rlx_dtype_bytes(l->dtype));
}

static bool builtin_view(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                         rlx_fault *why)
{
    const DLTensor *x = want_view(&args[0], "view", why);
    look l;
    return x && read_look(x, args, &l, why) && look_fits(x, &l, why) &&
           give_view(p, &args[0], "view", &l, result, why);
}

static bool builtin_ensure_zero_offset(rlx_pool *p, const relax_value *args, int32_t n,
                                       relax_value *result, rlx_fault *why)
{
    const DLTensor *x = want_view(&args[0], "ensure_zero_offset", why);
    if (!x || x->byte_offset)
        return x && builtin_copy(p, args, n, result, why);
    rlx_tensor_object *t = hold_tensor(p, &args[0], "ensure_zero_offset", why);
    return t && give_tensor(t, result, why);
}

/* ---- what a tensor is ----------------------------------------------------------------------- */

static uint64_t elements_before(const DLTensor *x)
{
    size_t bytes = rlx_dtype_bytes(rlx_dl_dtype(x));
    return bytes ? x->byte_offset / bytes : 0; /* elements of a foreign dtype may be narrower */
}

/* A number of the tensor that is the first argument. */
#define INSPECT(name, number)                                                                   \
    static bool builtin_##name(rlx_pool *p, const relax_value *args, int32_t n,                 \
                               relax_value *result, rlx_fault *why)                             \
    {                                                                                           \
        const DLTensor *x = want_view(&args[0], #name, why);                                    \
        if (x)                                                                                  \
            *result = rlx_value_int((int64_t)(number));                                         \
        return x != NULL;                                                                       \
    }
INSPECT(tensor_dtype_code, rlx_dtype_code(rlx_dl_dtype(x)))
INSPECT(tensor_dtype_bits, rlx_dtype_bits(rlx_dl_dtype(x)))
INSPECT(tensor_dtype_lanes, rlx_dtype_lanes(rlx_dl_dtype(x)))
INSPECT(tensor_ndim, x->ndim)
INSPECT(tensor_byte_offset, x->byte_offset)
INSPECT(tensor_elem_offset, elements_before(x))
#undef INSPECT

/* The tensor and the dimension that the arguments name. */
static const DLTensor *want_dimension(const relax_value *args, const char *who, int64_t *axis,
                                      rlx_fault *why)
{
    const DLTensor *x = want_view(&args[0], who, why);
    if (!x)
        return NULL;
    *axis = args[1].v.i;
    if (args[1].type_index != RELAX_VALUE_INT)
        rlx_fail(why, RLX_RT02, "%s: expected an integer", who);
    else if (*axis < 0 || *axis >= x->ndim)
        rlx_fail(why, RLX_RT09, "%s: axis %lld is out of range for rank %d", who,
                 (long long)*axis, x->ndim);
    else
        return x;
    return NULL;
}

static bool builtin_tensor_shape_i(rlx_pool *p, const relax_value *args, int32_t n,
                                   relax_value *result, rlx_fault *why)
{
    int64_t axis;
    const DLTensor *x = want_dimension(args, "tensor_shape_i", &axis, why);
    if (x)
        *result = rlx_value_int(x->shape[axis]);
    return x != NULL;
}

/* Tensors are compact, so sizes say it: also where a description has other strides along
 * dimensions of one element. */
static bool builtin_tensor_stride_i(rlx_pool *p, const relax_value *args, int32_t n,
                                    relax_value *result, rlx_fault *why)
{
    int64_t axis;
    const DLTensor *x = want_dimension(args, "tensor_stride_i", &axis, why);
    if (x)
        *result = rlx_value_int(rlx_shape_elements(x->ndim - (int32_t)axis - 1, x->shape + axis + 1));
    return x != NULL;
}

/* Integer element i of a tensor, by width. */
static bool load_int(const DLTensor *t, int64_t i, int64_t *out)
{
    const unsigned char *at = rlx_view_data(t) + (size_t)i * rlx_dtype_bytes(rlx_dl_dtype(t));
    bool is_signed = t->dtype.code == RELAX_DTYPE_INT;
    switch (rlx_dtype_bytes(rlx_dl_dtype(t))) {
    case 1: *out = is_signed ? (int64_t) * (const int8_t *)at : (int64_t)*at; return true;
    case 2:
        *out = is_signed ? (int64_t) * (const int16_t *)at : (int64_t) * (const uint16_t *)at;
        return true;
    case 4:
        *out = is_signed ? (int64_t) * (const int32_t *)at : (int64_t) * (const uint32_t *)at;
        return true;
    default: *out = *(const int64_t *)at; return is_signed || *out >= 0;
    }
}

static bool builtin_tensor_to_shape(rlx_pool *p, const relax_value *args, int32_t n,
                                    relax_value *result, rlx_fault *why)
{
    const DLTensor *t = want_view(&args[0], "tensor_to_shape", why);
    if (!t)
        return false;
    if (t->ndim != 1)
        return rlx_fail(why, RLX_RT04, "tensor_to_shape: rank is %d, expected 1", t->ndim);
    if (!rlx_dtype_is_int(rlx_dl_dtype(t)))
        return rlx_fail(why, RLX_RT03, "tensor_to_shape: expected integers");
    if (!give_shape(p, NULL, (size_t)t->shape[0], result, why))
        return false;
    int64_t *to = ((rlx_shape_object *)result->v.p)->values;
    for (int64_t i = 0; i < t->shape[0]; i++)
        if (!load_int(t, i, &to[i])) {
            rlx_pool_drop(p, result);
            return rlx_fail(why, RLX_RT14, "tensor_to_shape: element %lld does not fit int64",
                            (long long)i);
        }
    return true;
}

static bool builtin_shape_to_tensor(rlx_pool *p, const relax_value *args, int32_t n,
                                    relax_value *result, rlx_fault *why)
{
    const rlx_shape_object *s = rlx_value_shape(&args[0]);
    if (!s)
        return rlx_fail(why, RLX_RT02, "shape_to_tensor: expected a shape");
    int64_t dim = (int64_t)s->ndim;
    rlx_tensor_object *t = new_tensor(p, RELAX_INT64, 1, &dim, why);
    if (!t)
        return false;
    if (s->ndim)
        memcpy(t->view.data, s->dims, s->ndim * sizeof(int64_t));
    return give_tensor(t, result, why);
}

static bool builtin_alloc_tensor(rlx_pool *p, const relax_value *args, int32_t n,
                                 relax_value *result, rlx_fault *why)
{
    const rlx_shape_object *s = want_shape(&args[0], "alloc_tensor", why);
    rlx_dtype dtype = RELAX_VOID;
    if (!s || !want_dtype(&args[1], &dtype, why))
        return false;
    rlx_tensor_object *t = new_tensor(p, dtype, (int32_t)s->ndim, s->dims, why);
    return t && give_tensor(t, result, why);
}

static bool builtin_null_value(rlx_pool *p, const relax_value *args, int32_t n,
                               relax_value *result, rlx_fault *why)
{
    return true;
}

/* Is it a Boolean scalar, and which? */
static bool truth(const relax_value *v, bool *out)
{
    const DLTensor *t = rlx_value_view(v);
    if (v->type_index == RELAX_VALUE_BOOL) {
        *out = v->v.i != 0;
        return true;
    }
    if (!t || t->ndim != 0 || !rlx_dtype_is_bool(rlx_dl_dtype(t)))
        return false;
    *out = *rlx_view_data(t) != 0;
    return true;
}

static bool builtin_assert_op(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                              rlx_fault *why)
{
    bool holds;
    if (!truth(&args[0], &holds))
        return rlx_fail(why, RLX_RT02, "assert_op: the condition is no Boolean scalar");
    if (holds)
        return true;
    const rlx_string_object *s =
        n > 1 && args[1].type_index == RELAX_VALUE_STRING ? args[1].v.p : NULL;
    rlx_buf text;
    rlx_buf_init(&text, &p->memory->memory);
    if (s)
        rlx_format_values(&text, s->data, s->size, args + 2, (size_t)(n - 2));
    rlx_fail(why, RLX_RT15, "assertion failed%s%.*s", text.len ? ": " : "",
             (int)(text.len & 0xffff), text.len ? text.data : "");
    rlx_buf_free(&text);
    return false;
}

static void store_scalar(unsigned char *at, rlx_dtype dtype, const relax_value *v)
{
    if (rlx_dtype_is_float(dtype))
        rlx_dtype_store_float(dtype, at,
                              v->type_index == RELAX_VALUE_FLOAT ? v->v.f : (double)v->v.i);
    else
        memcpy(at, &v->v.i, rlx_dtype_bytes(dtype)); /* little-endian: the low bytes come first */
}

static bool builtin_scalar_to_tensor(rlx_pool *p, const relax_value *args, int32_t n,
                                     relax_value *result, rlx_fault *why)
{
    rlx_dtype dtype = RELAX_VOID;
    int32_t tag = args[0].type_index;
    if (tag < RELAX_VALUE_INT || tag > RELAX_VALUE_FLOAT)
        return rlx_fail(why, RLX_RT02, "scalar_to_tensor: expected a scalar");
    if (!want_dtype(&args[1], &dtype, why))
        return false;
    if (tag == RELAX_VALUE_FLOAT && !rlx_dtype_is_float(dtype))
        return rlx_fail(why, RLX_RT03, "scalar_to_tensor: a float for an integer dtype");
    rlx_tensor_object *t = new_tensor(p, dtype, 0, NULL, why);
    if (!t)
        return false;
    store_scalar(t->view.data, dtype, &args[0]);
    return give_tensor(t, result, why);
}

static bool builtin_tensor_to_scalar(rlx_pool *p, const relax_value *args, int32_t n,
                                     relax_value *result, rlx_fault *why)
{
    const DLTensor *t = want_view(&args[0], "tensor_to_scalar", why);
    int64_t i = 0;
    if (!t)
        return false;
    if (t->ndim != 0)
        return rlx_fail(why, RLX_RT04, "tensor_to_scalar: rank is %d, expected 0", t->ndim);
    rlx_dtype dtype = rlx_dl_dtype(t);
    if (rlx_dtype_is_float(dtype)) {
        *result = rlx_value_float(rlx_dtype_load_float(dtype, rlx_view_data(t)));
        return true;
    }
    if (!load_int(t, 0, &i))
        return rlx_fail(why, RLX_RT14, "tensor_to_scalar: the element does not fit int64");
    *result = rlx_dtype_is_bool(dtype) ? rlx_value_bool(i != 0) : rlx_value_int(i);
    return true;
}

static bool builtin_tuple_size(rlx_pool *p, const relax_value *args, int32_t n,
                               relax_value *result, rlx_fault *why)
{
    const rlx_tuple_object *t = rlx_value_tuple(&args[0]);
    if (!t)
        return rlx_fail(why, RLX_RT02, "tuple_size: expected a tuple");
    *result = rlx_value_int((int64_t)t->count);
    return true;
}

static bool builtin_make_tuple(rlx_pool *p, const relax_value *args, int32_t n,
                               relax_value *result, rlx_fault *why)
{
    rlx_tuple_object *t = rlx_tuple_make(p, (size_t)n);
    if (!t)
        return no_memory(why, "a tuple");
    for (int32_t i = 0; i < n; i++) {
        t->fields[i] = args[i];
        rlx_value_hold(&t->fields[i]);
    }
    *result = rlx_value_object(RELAX_VALUE_OBJECT, t);
    return true;
}

/* A closure of a closure is one of its function: what it adds stands in front of what was bound. */
static bool builtin_make_closure(rlx_pool *p, const relax_value *args, int32_t n,
                                 relax_value *result, rlx_fault *why)
{
    const relax_value *bound;
    size_t added = (size_t)n - 1, num_bound;
    if (!rlx_value_is_function(&args[0]))
        return rlx_fail(why, RLX_RT18, "make_closure: the first argument is no function");
    const relax_value *callee = rlx_value_callee(&args[0], &bound, &num_bound);
    rlx_tuple_object *c = rlx_tuple_make(p, 1 + added + num_bound);
    if (!c)
        return no_memory(why, "a closure");
    c->mark = RLX_MARK_CLOSURE;
    c->fields[0] = *callee;
    memcpy(c->fields + 1, args + 1, added * sizeof *args);
    if (num_bound)
        memcpy(c->fields + 1 + added, bound, num_bound * sizeof *bound);
    for (size_t i = 0; i < c->count; i++) {
        c->fields[i].reserved = 0;
        rlx_value_hold(&c->fields[i]);
    }
    *result = rlx_value_object(RELAX_VALUE_OBJECT, c);
    return true;
}

static rlx_tuple_object *cell_of(const relax_value *v)
{
    return rlx_value_has_mark(v, RLX_MARK_CELL) ? v->v.p : NULL;
}

static bool builtin_cell(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                         rlx_fault *why)
{
    if (!builtin_make_tuple(p, args, n, result, why))
        return false;
    ((rlx_tuple_object *)result->v.p)->mark = RLX_MARK_CELL;
    return true;
}

static bool builtin_cell_read(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                              rlx_fault *why)
{
    const rlx_tuple_object *c = cell_of(&args[0]);
    if (!c)
        return rlx_fail(why, RLX_RT02, "cell_read: expected a cell");
    *result = c->fields[0];
    rlx_value_hold(result);
    return true;
}

static bool builtin_cell_write(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                               rlx_fault *why)
{
    rlx_tuple_object *c = cell_of(&args[0]);
    if (!c)
        return rlx_fail(why, RLX_RT02, "cell_write: expected a cell");
    if (!builtin_make_tuple(p, NULL, 0, result, why))
        return false;
    relax_value old = c->fields[0];
    c->fields[0] = args[1];
    c->fields[0].reserved = 0;
    rlx_value_hold(&c->fields[0]);
    rlx_value_drop(&old);
    return true;
}

#define builtin_sort rlx_builtin_sort
#define builtin_argsort rlx_builtin_argsort
#define builtin_topk rlx_builtin_topk
#define builtin_unique rlx_builtin_unique
#define builtin_nonzero rlx_builtin_nonzero
#define builtin_dynamic_slice rlx_builtin_dynamic_slice
#define builtin_median rlx_builtin_median
#define builtin_valid_counts rlx_builtin_valid_counts
#define builtin_suppress rlx_builtin_suppress
#define builtin_suppress_classes rlx_builtin_suppress_classes
#define builtin_suppress_dynamic rlx_builtin_suppress_dynamic
static const rlx_builtin rows[] = {
#define BUILTIN(fn, name, least, most, help) \
    { RLX_BUILTIN_PREFIX name, least, most, builtin_##fn, help },
#include "format/builtin.def"
#undef BUILTIN
};

const rlx_builtin *rlx_builtin_find(rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        if (rlx_slice_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}
