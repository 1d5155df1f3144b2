/* common.h: what every header of librelax shares: markers, status codes, dtypes, allocators,
 * bytes.
 *
 * Plain C99, no other include than <stddef.h> and <stdint.h>.
 */
#ifndef RELAX_COMMON_H
#define RELAX_COMMON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Symbol visibility. */
#if defined(_WIN32) || !defined(__GNUC__)
#define RELAX_API
#else
#define RELAX_API __attribute__((visibility("default")))
#endif

/*- Markers, all empty: people, documentation and binding generators read them.
 *   RELAX_SINCE(major, minor)  first version that has the declaration
 *   RELAX_ANY                  may be called from any thread at any time
 *   RELAX_EXCL(object)         one thread at a time for that object
 *   RELAX_INIT                 before the object is shared between threads
 *   RELAX_OWN                  the caller owns one reference of what comes back
 *   RELAX_BORROWED             lives as long as its owner, nobody frees it
 *   RELAX_NULLABLE             may be NULL
 *   RELAX_INOUT                an array or cell of the caller's that is read, and written on
 *                              success
 */
#define RELAX_SINCE(major, minor)
#define RELAX_ANY
#define RELAX_EXCL(object)
#define RELAX_INIT
#define RELAX_OWN
#define RELAX_BORROWED
#define RELAX_NULLABLE
#define RELAX_INOUT

/* A string literal as two arguments, its bytes and their number: relax_module_find(m,
 * RELAX_STR("main")). */
#define RELAX_STR(literal) (literal), (sizeof(literal) - 1)

/* Counts and indices are size_t. This one stands for "none": no such name, nothing to count, or the
 * call failed; the comment of each function says which. */
#define RELAX_NOT_FOUND ((size_t)-1)

/* Result of every call that can fail and has no handle to return. Numbers never change. */
typedef int32_t relax_status;
/* Values of relax_status. */
enum relax_status_code {
    RELAX_OK = 0,
    RELAX_ERROR_INVALID_ARGUMENT = 1, /* NULL, out of range, wrong kind, bad options (OP) */
    RELAX_ERROR_OUT_OF_MEMORY = 2,    /* the allocator said no, or a cap was reached */
    RELAX_ERROR_TEXT = 3,             /* text could not be read (PA) */
    RELAX_ERROR_ILL_FORMED = 4,       /* normal form or well-formedness (NF, WF, WX) */
    RELAX_ERROR_TYPE = 5,             /* structural information, purity, devices (TY, PU, VD) */
    RELAX_ERROR_RUNTIME = 6,          /* a run failed (RT) */
    RELAX_ERROR_LOAD = 7,             /* a file is damaged, hostile or too new (LD) */
    RELAX_ERROR_CODEGEN = 8,          /* a program cannot be compiled (CG) */
    RELAX_ERROR_IO = 9,               /* the operating system refused a file */
    RELAX_ERROR_NOT_FOUND = 10,       /* no function, pass, operator or member of that name */
    RELAX_ERROR_UNSUPPORTED = 11,     /* not part of this build */
    RELAX_ERROR_CANCELLED = 12,       /* deadline or cancel flag */
    RELAX_ERROR_INTERNAL = 13,        /* our own broken invariant: please report */
    RELAX_ERROR_USER = 14             /* a host callback failed with a token of its own */
};

/* The enumerator of a status, "RELAX_ERROR_TYPE"; static. NULL for a number that is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_status_name(relax_status status);

/* A data type, packed as DLPack has it: code | bits << 8 | lanes << 16. `bool` is an unsigned
 * integer of 1 bit (stored one byte per element); "not known" is RELAX_VOID.
 */
typedef int32_t relax_dtype;
/* The code of a dtype, its lowest byte. */
enum relax_dtype_code {
    RELAX_DTYPE_INT = 0,
    RELAX_DTYPE_UINT = 1,
    RELAX_DTYPE_FLOAT = 2,
    RELAX_DTYPE_HANDLE = 3,
    RELAX_DTYPE_BFLOAT = 4
};
/* The dtypes of one lane that have a name. */
enum relax_dtype_value {
    RELAX_VOID = 0x00000003,
    RELAX_BOOL = 0x00010101,
    RELAX_INT8 = 0x00010800,
    RELAX_INT16 = 0x00011000,
    RELAX_INT32 = 0x00012000,
    RELAX_INT64 = 0x00014000,
    RELAX_UINT8 = 0x00010801,
    RELAX_UINT16 = 0x00011001,
    RELAX_UINT32 = 0x00012001,
    RELAX_UINT64 = 0x00014001,
    RELAX_FLOAT16 = 0x00011002,
    RELAX_FLOAT32 = 0x00012002,
    RELAX_FLOAT64 = 0x00014002,
    RELAX_BFLOAT16 = 0x00011004,
    RELAX_FLOAT8_E4M3FN = 0x0001080a, /* without infinities: what is too large becomes NaN */
    RELAX_FLOAT8_E5M2 = 0x0001080c,
    RELAX_HANDLE = 0x00014003
};

/* Source of memory. A host gives one to count, cap or fail allocations; NULL means malloc. It must
 * be thread-safe, must outlive everything created with it, and `align` is a power of two. `free`
 * and `resize` are told the size and alignment the block was allocated with. */
typedef struct relax_allocator {
    size_t struct_size; /* sizeof(relax_allocator) */
    void *user;
    void *(*alloc)(void *user, size_t size, size_t align);
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t new_size, size_t align);
    void (*free)(void *user, void *ptr, size_t size, size_t align);
} relax_allocator;

/* Bytes that came out of the library (text, files, profiles): counted, immutable, release from
 * any thread. */
typedef struct relax_bytes relax_bytes;

/* The content: `relax_bytes_size` bytes, followed by a NUL that is not counted. NULL for NULL.
 * Lives as long as `bytes`. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_bytes_data(const relax_bytes *bytes);
/* Number of bytes; 0 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_bytes_size(const relax_bytes *bytes);
/* Adds a reference and returns `bytes`. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN relax_bytes *relax_bytes_retain(relax_bytes *bytes);
/* Drops a reference. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_bytes_release(relax_bytes *bytes);

/* Why a call on the run side failed: counted, immutable, release from any thread. Strings live
 * as long as the error, are UTF-8 and NUL-terminated; `len` (may be NULL) receives their
 * length.
 */
typedef struct relax_error relax_error;

/* The status that the failed call returned; RELAX_OK for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_error_status(RELAX_NULLABLE const relax_error *error);
/* The stable code ("RT05", "LD04"; "" if there is none). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_error_code(const relax_error *error);
/* The reason inside a failed cast or result check ("RT03" in an RT06); "" if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_error_inner_code(const relax_error *error);
/* What went wrong, lower-case, without the code. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_error_message(const relax_error *error,
                                               RELAX_NULLABLE size_t *len);
/* The kind a packed function gave ("ValueError"); "" if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_error_kind(const relax_error *error, RELAX_NULLABLE size_t *len);
/* One line per active Relax function, innermost first: "  in main, binding lv3 (m.py:7:5)"; what
 * was computed in the same kernel comes behind it: ", computed with lv1 (m.py:5:5), lv2 (m.py:6:5)". "" outside a run. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_error_trace(const relax_error *error, RELAX_NULLABLE size_t *len);
/* The error this one was made from (that of the packed function in an RT16), or NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_error *relax_error_cause(const relax_error *error);
/* The token of relax_value_set_user_error if status is RELAX_ERROR_USER, else NULL. Still owned
 * by the error. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_NULLABLE void *relax_error_user_token(const relax_error *error);
/* Adds a reference and returns `error`. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN relax_error *relax_error_retain(relax_error *error);
/* Drops a reference. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_error_release(relax_error *error);

#ifdef __cplusplus
}
#endif
#endif
