/* value.h: values at run time, and the one signature of everything that can be called.
 *
 * A kernel author needs this header and <relax/dlpack.h>, nothing else.
 *
 * Layout of the cell and type numbers 0-12 equal those of tvm-ffi 0.1. Boxed values (64 and
 * above) are counted objects, opaque, read through the functions below only. A cell that a
 * function fills owns one reference; give it back with relax_value_release. Cells handed to a
 * packed function are borrowed.
 *
 * Memory of values: what is asked for with an allocator (NULL: malloc) comes from it: strings,
 * shapes, tuples and the strings copied into them, tensors. What has no such parameter comes from
 * malloc: relax_value_keep, errors, packed functions. Values that a VM makes come from that of its
 * options.
 */
#ifndef RELAX_VALUE_H
#define RELAX_VALUE_H

#include <relax/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Type numbers of a cell. Expect unknown ones. */
enum relax_value_type {
    RELAX_VALUE_NONE = 0,
    RELAX_VALUE_INT = 1,           /* v.i */
    RELAX_VALUE_BOOL = 2,          /* v.i, 0 or 1 */
    RELAX_VALUE_FLOAT = 3,         /* v.f */
    RELAX_VALUE_POINTER = 4,       /* v.p, nobody's */
    RELAX_VALUE_DTYPE = 5,         /* v.bytes: code, bits, lanes (2 bytes) as in DLPack */
    RELAX_VALUE_DEVICE = 6,        /* v.bytes: int32 type, int32 id */
    RELAX_VALUE_TENSOR_VIEW = 7,   /* v.p is a DLTensor*, valid during the call only */
    RELAX_VALUE_RAW_STRING = 8,    /* v.s, NUL-terminated, valid during the call only */
    RELAX_VALUE_BYTE_ARRAY = 9,    /* v.p, valid during the call only */
    RELAX_VALUE_RVALUE_REF = 10,   /* not used by this library */
    RELAX_VALUE_SMALL_STRING = 11, /* v.bytes, `reserved` is the length, at most 7 */
    RELAX_VALUE_SMALL_BYTES = 12,  /* likewise */
    RELAX_VALUE_OBJECT = 64,       /* v.p: tuples and everything without a number of its own */
    RELAX_VALUE_STRING = 65,
    RELAX_VALUE_BYTES = 66,
    RELAX_VALUE_ERROR = 67,
    RELAX_VALUE_FUNCTION = 68,
    RELAX_VALUE_SHAPE = 69,
    RELAX_VALUE_TENSOR = 70
};

/* What a value is, by relax_value_kind. Expect unknown numbers. */
enum relax_value_kind_code {
    RELAX_VALUE_KIND_NULL = 0,
    RELAX_VALUE_KIND_INT = 1,
    RELAX_VALUE_KIND_BOOL = 2,
    RELAX_VALUE_KIND_FLOAT = 3,
    RELAX_VALUE_KIND_POINTER = 4,
    RELAX_VALUE_KIND_DTYPE = 5,
    RELAX_VALUE_KIND_DEVICE = 6,
    RELAX_VALUE_KIND_TENSOR = 7,
    RELAX_VALUE_KIND_STRING = 8,
    RELAX_VALUE_KIND_BYTES = 9,
    RELAX_VALUE_KIND_TUPLE = 10,
    RELAX_VALUE_KIND_SHAPE = 11,
    RELAX_VALUE_KIND_FUNCTION = 12,
    RELAX_VALUE_KIND_ERROR = 13,
    RELAX_VALUE_KIND_OTHER = 14
};

union relax_payload {
    int64_t i;
    uint64_t u;
    double f;
    void *p;
    const char *s;
    uint8_t bytes[8];
};

/* 16 bytes. `reserved` is 0 but for small strings. Unused payload bytes are 0. */
typedef struct relax_value {
    int32_t type_index;
    uint32_t reserved;
    union relax_payload v;
} relax_value;

/* The signature of everything callable. `args` are borrowed; tensors come as
 * RELAX_VALUE_TENSOR_VIEW. `result` arrives as RELAX_VALUE_NONE, what is put there belongs to
 * the caller. Returns 0; anything else is a failure, described by relax_value_set_error or
 * relax_value_set_user_error on `result`.
 */
typedef int (*relax_packed_fn)(void *self, const relax_value *args, int32_t num_args,
                               relax_value *result);

typedef struct relax_tensor relax_tensor;     /* counted */
typedef struct relax_packed_func
    relax_packed_func; /* counted: a packed function with what it needs */

/* ---- any value ------------------------------------------------------------------------------ */

/* enum relax_value_kind_code; NULL counts as the null value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_value_kind(RELAX_NULLABLE const relax_value *value);
/* The word for a kind of value: "tensor", "shape", "int" ...; static. NULL for a number that is
 * none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_value_kind_name(int32_t kind);
/* Adds a reference if the cell holds a boxed value; nothing otherwise. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_value_retain(RELAX_NULLABLE const relax_value *value);
/* Drops the cell's reference, if it has one, and sets the cell to the null value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_value_release(RELAX_NULLABLE relax_value *value);
/* Makes an owned value of a borrowed one, so that a packed function can keep or return its
 * argument: tensors that a VM lent are shared, raw strings are copied, boxed values retained.
 * RELAX_ERROR_INVALID_ARGUMENT for a tensor view that does not belong to this library (import a
 * copy of it instead), and for a boxed cell without an object. `out` may be `value`.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_keep(const relax_value *value, relax_value *out);

/* Makes the cell the null value. Setters overwrite the cell without releasing what it held; a
 * NULL cell is ignored. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_value_set_null(relax_value *out);
/* Makes the cell an integer; what it held is not released. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_value_set_int(relax_value *out, int64_t value);
/* Makes the cell a Boolean (any number but 0 is true); what it held is not released. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_value_set_bool(relax_value *out, int32_t value);
/* Makes the cell a float; what it held is not released. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_value_set_float(relax_value *out, double value);
/* Makes the cell a dtype; what it held is not released. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_value_set_dtype(relax_value *out, relax_dtype dtype);

/* The integer in the cell. RELAX_ERROR_INVALID_ARGUMENT, and *out 0, if the value is of another
 * kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_get_int(const relax_value *value, int64_t *out);
/* The Boolean in the cell, 0 or 1. RELAX_ERROR_INVALID_ARGUMENT, and *out 0, if the value is of
 * another kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_get_bool(const relax_value *value, int32_t *out);
/* The float in the cell, or the integer in it converted. RELAX_ERROR_INVALID_ARGUMENT, and *out
 * 0, if the value is of another kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_get_float(const relax_value *value, double *out);
/* The dtype in the cell. RELAX_ERROR_INVALID_ARGUMENT, and *out 0, if the value is of another
 * kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_get_dtype(const relax_value *value, relax_dtype *out);

/* ---- strings, shapes, tuples ---------------------------------------------------------------- */

/* A copy of `data`, which may be any bytes. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_set_string(relax_value *out, const char *data, size_t len,
                                    RELAX_NULLABLE const relax_allocator *allocator);
/* Bytes live as long as the value (for small strings: as long as the cell itself). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_get_string(const relax_value *value, const char **data, size_t *len);
/* A shape value with a copy of `dims`; `ndim` 0 is a shape of rank 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_set_shape(relax_value *out, const int64_t *dims, size_t ndim,
                                   RELAX_NULLABLE const relax_allocator *allocator);
/* Dimensions live as long as the value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_get_shape(const relax_value *value, const int64_t **dims, size_t *ndim);
/* A tuple of `count` fields, each kept as by relax_value_keep. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_set_tuple(relax_value *out, const relax_value *fields, size_t count,
                                   RELAX_NULLABLE const relax_allocator *allocator);
/* Number of fields; RELAX_NOT_FOUND if the value is no tuple. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_value_tuple_size(const relax_value *value);
/* Lends field `index`: *out must not be released and lives as long as the tuple. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_value_tuple_get(const relax_value *value, size_t index,
                                   RELAX_BORROWED relax_value *out);

/* ---- failing in a packed function ----------------------------------------------------------- */

/* Puts an error into the result of a packed function that returns non-zero. `kind` is a class
 * name like "ValueError" (may be empty). Always returns -1, so that a function
 * can end with `return relax_value_set_error(...)`.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int relax_value_set_error(relax_value *result, const char *kind, size_t kind_len,
                          const char *message, size_t message_len);
/* Puts a token of the host's own (a pending exception) as error into the result of a packed
 * function that returns non-zero: the outermost call returns RELAX_ERROR_USER and
 * relax_error_user_token gives `token` back. `destroy` (may be NULL) runs once, when the last
 * owner of the error is gone. Always returns -1. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int relax_value_set_user_error(relax_value *result, void *token, void (*destroy)(void *token));

/* ---- packed functions ----------------------------------------------------------------------- */

/* A function object. `destroy` (may be NULL) runs exactly once with `user`, also if creation
 * fails (NULL comes back). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY RELAX_OWN RELAX_NULLABLE
    relax_packed_func *relax_packed_func_create(relax_packed_fn fn, void *user,
                                                void (*destroy)(void *user));
/* Adds a reference and returns `function`. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY RELAX_OWN relax_packed_func *relax_packed_func_retain(
    relax_packed_func *function);
/* Drops a reference; the last one calls `destroy`. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY void relax_packed_func_release(relax_packed_func *function);
/* Calls it, with tensors as they are in `args`. Returns what the function returned, -1 for
 * NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
    int relax_packed_func_call(const relax_packed_func *function, const relax_value *args,
                               int32_t num_args, relax_value *result);
/* The cell gets a reference of its own. NULL gives the null value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
    void relax_value_set_packed_func(relax_value *out, relax_packed_func *function);
/* The function in a cell, lent; NULL if the value is no packed function of this library. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY RELAX_BORROWED RELAX_NULLABLE
    relax_packed_func *relax_value_get_packed_func(const relax_value *value);

/* ---- tensors -------------------------------------------------------------------------------- */
/* Contiguous, in row-major order, on the CPU. Elements are those of `dtype`; bool is one byte,
 * 0 or 1. */

typedef struct relax_tensor_options {
    size_t struct_size;
    const relax_allocator *allocator; /* NULL: malloc */
} relax_tensor_options;

/* Writes the defaults. RELAX_ERROR_INVALID_ARGUMENT for NULL or a `struct_size` too small to be
 * one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_tensor_options_init(relax_tensor_options *options, size_t struct_size);

/* A new tensor, its content not set, data aligned to 64 bytes. `shape` has `ndim` sizes >= 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_tensor_create(relax_dtype dtype, const int64_t *shape, int32_t ndim,
                                 RELAX_NULLABLE const relax_tensor_options *options,
                                 RELAX_OWN relax_tensor **out, RELAX_OWN relax_error **out_error);
/* A tensor over memory of the host, which must hold the whole tensor, aligned for its elements.
 * `destroy` (may be NULL) runs exactly once with `user`, when the tensor is gone, from
 * whichever thread that is; also on failure.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_tensor_from_memory(relax_dtype dtype, const int64_t *shape, int32_t ndim,
                                      void *data, void *user, void (*destroy)(void *user),
                                      RELAX_OWN relax_tensor **out,
                                      RELAX_OWN relax_error **out_error);
/* Adds a reference and returns `tensor`. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN relax_tensor *relax_tensor_retain(relax_tensor *tensor);
/* Drops a reference; the last one gives the memory back. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_tensor_release(relax_tensor *tensor);
/* RELAX_VOID for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_dtype relax_tensor_dtype(const relax_tensor *tensor);
/* -1 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_tensor_ndim(const relax_tensor *tensor);
/* `relax_tensor_ndim` sizes. NULL for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const int64_t *relax_tensor_shape(const relax_tensor *tensor);
/* First byte of the content; NULL if the tensor has no elements. Constants must not be written
 * (relax_tensor_is_read_only). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED void *relax_tensor_data(const relax_tensor *tensor);
/* Size of the content in bytes. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_tensor_bytes(const relax_tensor *tensor);
/* 1 for constants of an executable and imported read-only tensors. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_tensor_is_read_only(const relax_tensor *tensor);
/* Copies the whole content; `size` must be relax_tensor_bytes. Not while somebody else uses the
 * tensor. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(tensor)
relax_status relax_tensor_copy_in(relax_tensor *tensor, const void *data, size_t size);
/* Copies the whole content to `data`; `size` must be relax_tensor_bytes. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(tensor)
relax_status relax_tensor_copy_out(const relax_tensor *tensor, void *data, size_t size);
/* The cell gets a reference of its own. NULL gives the null value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_value_set_tensor(relax_value *out, relax_tensor *tensor);
/* The tensor in a cell, lent; also for a view that a VM passed to a packed function. NULL if
 * there is none of this library. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE relax_tensor *relax_value_get_tensor(const relax_value *value);

#ifdef __cplusplus
}
#endif
#endif
