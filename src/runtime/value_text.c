/* value_text.c: values inside of messages. Short: scalars as numbers, the first elements of
 * tensors. */
/* built for size */
#include "runtime/runtime_int.h"

#define SHOWN 6 /* elements of a tensor */

static void put_dims(rlx_buf *b, const int64_t *dims, size_t ndim)
{
    rlx_buf_char(b, '(');
    for (size_t i = 0; i < ndim; i++) {
        if (i)
            rlx_buf_lit(b, ", ");
        rlx_buf_i64(b, dims[i]);
    }
    rlx_buf_z(b, ndim == 1 ? ",)" : ")");
}

static void put_element(rlx_buf *b, rlx_dtype t, const unsigned char *at)
{
    size_t bytes = rlx_dtype_bytes(t);
    uint64_t u = 0;
    memcpy(&u, at, bytes <= 8 ? bytes : 0);
    if (rlx_dtype_is_bool(t))
        rlx_buf_z(b, u ? "True" : "False");
    else if (rlx_dtype_is_float(t))
        rlx_print_double_g(b, rlx_dtype_load_float(t, at), 7);
    else if (rlx_dtype_code(t) == RELAX_DTYPE_UINT)
        rlx_buf_u64(b, u);
    else
        rlx_buf_i64(b, bytes == 8 ? (int64_t)u
                                  : (int64_t)(u << (64 - 8 * bytes)) >> (64 - 8 * bytes));
}

static void put_tensor(rlx_buf *b, const DLTensor *t)
{
    rlx_dtype dtype = rlx_dl_dtype(t);
    char name[RLX_DTYPE_TEXT];
    int64_t count = rlx_shape_elements(t->ndim, t->shape);
    if (t->ndim == 0) {
        put_element(b, dtype, rlx_view_data(t));
        return;
    }
    rlx_dtype_name(dtype, name);
    rlx_buf_z(b, name);
    rlx_buf_char(b, ' ');
    put_dims(b, t->shape, (size_t)t->ndim);
    rlx_buf_lit(b, " [");
    for (int64_t i = 0; i < count && i < SHOWN; i++) {
        if (i)
            rlx_buf_lit(b, ", ");
        put_element(b, dtype, rlx_view_data(t) + (size_t)i * rlx_dtype_bytes(dtype));
    }
    rlx_buf_z(b, count > SHOWN ? ", ...]" : "]");
}

static void put_value(rlx_buf *b, const relax_value *v)
{
    const DLTensor *t = rlx_value_view(v);
    const rlx_shape_object *s = rlx_value_shape(v);
    const rlx_tuple_object *tuple = rlx_value_tuple(v);
    const rlx_string_object *text = v->type_index == RELAX_VALUE_STRING ? v->v.p : NULL;
    if (t)
        put_tensor(b, t);
    else if (s)
        put_dims(b, s->dims, s->ndim);
    else if (tuple)
        rlx_buf_format(b, "tuple of %zu", tuple->count);
    else if (text)
        rlx_buf_put(b, text->data, text->size);
    else if (v->type_index == RELAX_VALUE_INT)
        rlx_buf_i64(b, v->v.i);
    else if (v->type_index == RELAX_VALUE_BOOL)
        rlx_buf_z(b, v->v.i ? "True" : "False");
    else if (v->type_index == RELAX_VALUE_FLOAT)
        rlx_print_double_g(b, v->v.f, 7);
    else
        rlx_buf_z(b, v->type_index == RELAX_VALUE_NONE ? "null" : "an object");
}

void rlx_format_values(rlx_buf *b, const char *format, size_t len, const relax_value *values,
                       size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        bool pair =
            i + 1 < len && (format[i] == '{' || format[i] == '}') && format[i + 1] == format[i];
        bool hole = i + 1 < len && format[i] == '{' && format[i + 1] == '}' && used < count;
        if (hole)
            put_value(b, &values[used++]);
        else
            rlx_buf_char(b, format[i]);
        i += pair || hole;
    }
}
