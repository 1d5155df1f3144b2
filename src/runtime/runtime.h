/* runtime: values on the run side: objects and their counts, tensors and storage, errors,
 * registries, builtins.
 *
 * Kernels have their own header, runtime/kernel.h.
 *
 * Objects are made with a reference to the rlx_shared_memory they come from, so they may
 * outlive their maker. A VM makes them through an rlx_pool, which hands memory of dead objects
 * out again without touching the allocator; an object that leaves the VM is freed by its
 * deleter like any other.
 */
#ifndef RLX_RUNTIME_H
#define RLX_RUNTIME_H

#include "base/base.h"
#include "desc/desc.h"
#include "format/format.h"
#include "runtime/kernel.h"
#include "runtime/native.h"
#include "runtime/workers.h"

/* ---- counting ------------------------------------------------------------------------------- */

RLX_INLINE void rlx_object_retain(void *object)
{
    atomic_fetch_add_explicit(&((rlx_object *)object)->refs, 1, memory_order_relaxed);
}
/* Drops a strong reference; the last one destroys. Nested tuples are taken apart without
 * recursion. */
void rlx_object_release(void *object);
RLX_INLINE void rlx_value_hold(const relax_value *v)
{
    if (rlx_value_is_boxed(v))
        rlx_object_retain(v->v.p);
}
RLX_INLINE void rlx_value_drop(relax_value *v)
{
    if (rlx_value_is_boxed(v))
        rlx_object_release(v->v.p);
    *v = rlx_value_none();
}
/* The deleter of every object of ours, and of no other. */
void rlx_object_delete(void *self, int flags);
RLX_INLINE bool rlx_object_is_ours(const rlx_object *o) { return o->deleter == rlx_object_delete; }
/* Does nobody but the holder have a reference? Then it may be written without atomics. */
RLX_INLINE bool rlx_object_is_unique(const void *object)
{
    return atomic_load_explicit(&((const rlx_object *)object)->refs, memory_order_acquire) ==
           RLX_REFS_UNIQUE;
}

/* ---- pools ---------------------------------------------------------------------------------- */

#define RLX_POOL_BLOCK_STEP 32       /* sizes of small blocks are multiples of it */
#define RLX_POOL_BLOCK_MAX 512
#define RLX_POOL_KEEP ((size_t)64 << 20) /* bytes of dead storage kept for reuse at least */
#define RLX_POOL_RETURN ((size_t)64 << 10) /* bytes of one from which on it comes back from outside */

/* Memory of dead objects, for one VM. All zero but `memory` is empty. Counters are of the
 * current call. */
typedef struct rlx_pool {
    rlx_shared_memory *memory;
    /* by size, linked through their first word */
    void *blocks[RLX_POOL_BLOCK_MAX / RLX_POOL_BLOCK_STEP + 1];
    rlx_storage *storages[64];                                  /* by log2 of capacity */
    size_t kept_bytes;
    size_t calls;                  /* begun: the number of the one in which a storage died is its size while it is kept */
    size_t live_bytes, live_buffers, peak_bytes, peak_buffers;  /* storages handed out */
    /* Asked every millisecond by builtins with much to do; nonzero stops them with RT12. NULL:
     * never asked. */
    int (*poll)(void *user); void *poll_user;
    bool takes_back;
} rlx_pool;

bool rlx_pool_init(rlx_pool *p, rlx_shared_memory *memory); /* retains memory */
void rlx_pool_free(rlx_pool *p);                            /* what it handed out lives on */
/* From now on large storages that die outside, on any thread, come back: fresh pages cost more than what most results are
 * computed with. Up to RLX_POOL_KEEP bytes wait until the pool is asked to look for them. */
void rlx_pool_takes_back(rlx_pool *p);
void rlx_pool_look(rlx_pool *p);
/* Gives up one reference, like rlx_value_drop, but keeps the memory of what dies. */
void rlx_pool_drop(rlx_pool *p, relax_value *v);

/* ---- making objects: NULL when out of memory. `p` is where memory comes from. --------------- */

/* site: of what dies with the frame that asks, the instruction. It gets what it had before, however large. NULL: of others. */
rlx_storage *rlx_storage_create(rlx_pool *p, size_t size, const void *site);
/* Bytes of somebody else; destroy (may be NULL) runs once, also on failure. */
rlx_storage *rlx_storage_wrap(rlx_pool *p, void *data, size_t size, void (*destroy)(void *),
                              void *user);
/* A tensor over storage->data + offset; takes a reference of its own. dims must be valid
 * (rlx_shape_bytes). */
rlx_tensor_object *rlx_tensor_view(rlx_pool *p, rlx_storage *storage, size_t offset,
                                   rlx_dtype dtype, int32_t ndim, const int64_t *dims);
/* With storage of its own. */
rlx_tensor_object *rlx_tensor_make(rlx_pool *p, rlx_dtype dtype, int32_t ndim,
                                   const int64_t *dims);
rlx_string_object *rlx_string_make(rlx_pool *p, rlx_slice text);
rlx_shape_object *rlx_shape_make(rlx_pool *p, const int64_t *dims_or_null, size_t ndim);
/* Fields are null values; the caller fills them. */
rlx_tuple_object *rlx_tuple_make(rlx_pool *p, size_t count);
rlx_module_function *rlx_module_function_make(rlx_pool *p);
rlx_extern_function *rlx_extern_function_make(rlx_pool *p);

/* Bytes of a compact tensor. False (RT05, RT19, RT10 "too large"): a negative size, a dtype
 * without storage, overflow. */
bool rlx_shape_bytes(rlx_dtype dtype, int32_t ndim, const int64_t *dims, size_t *out,
                     rlx_fault *why);
int64_t rlx_shape_elements(int32_t ndim, const int64_t *dims); /* of valid dims */
/* Are the strides (may be NULL) those of a compact row-major tensor? */
bool rlx_view_is_compact(const DLTensor *t);
/* First byte of the content of a view. */
RLX_INLINE unsigned char *rlx_view_data(const DLTensor *t)
{
    return t->data ? (unsigned char *)t->data + t->byte_offset : NULL;
}

extern const char rlx_tensor_mark;
/* The boxed tensor of ours that a borrowed DLTensor belongs to; NULL if it is not one of ours. */
rlx_tensor_object *rlx_tensor_of_view(const DLTensor *view);
/* The boxed tensor of ours in a cell, or NULL. */
rlx_tensor_object *rlx_value_tensor(const relax_value *v);
/* Makes a value that a packed function gave back fit to live in a frame: raw strings are
 * copied, borrowed tensors of ours boxed, foreign tensors checked. False (RT16): a raw tensor that
 * nobody owns, or one that is not compact on the CPU. */
bool rlx_value_adopt(rlx_pool *p, relax_value *v, rlx_fault *why);

/* ---- packed functions and registries -------------------------------------------------------- */

/* Layout of tvm-ffi's Function: safe_call at +24. */
typedef struct rlx_packed {
    rlx_object base;
    int (*safe_call)(void *self, const relax_value *args, int32_t num_args, relax_value *result);
    void *cpp_call; /* NULL */
    relax_packed_fn fn;
    void *user;
    void (*destroy)(void *user);
    rlx_shared_memory *memory;
} rlx_packed;
/* destroy runs once, also on failure. */
rlx_packed *rlx_packed_make(rlx_shared_memory *memory, relax_packed_fn fn, void *user,
                            void (*destroy)(void *));
/* Is the function object one of ours (so that fn and user may be read)? */
bool rlx_packed_is_ours(const rlx_object *function);

struct relax_registry {
    _Atomic uint64_t refs;
    int32_t tag;       /* RLX_TAG_REGISTRY */
    rlx_shared_memory *memory;
    rlx_map functions; /* name to rlx_packed, one reference each */
};
/* An empty registry, one reference; it holds one to the memory. NULL: out of memory. */
struct relax_registry *rlx_registry_make(rlx_shared_memory *memory);
struct relax_registry *rlx_registry_retain(struct relax_registry *registry); /* NULL gives NULL */
void rlx_registry_release(struct relax_registry *registry);                  /* NULL is fine */

/* ---- errors --------------------------------------------------------------------------------- */

typedef struct rlx_text { const char *data; size_t size; } rlx_text;
/* Begins like tvm-ffi's Error. All strings are in one block behind the struct. */
struct relax_error {
    rlx_object base;
    rlx_text kind, message, trace;
    void (*update_trace)(void *self, const void *text, int32_t mode);
    void *cause;            /* object of an error, one reference, or NULL */
    void *extra_context;    /* NULL */
    int32_t status;
    uint16_t code, inner;   /* enum rlx_code_id */
    void *token;            /* RELAX_ERROR_USER */
    void (*destroy)(void *token);
    rlx_shared_memory *memory;
};
/* One that needs no memory; never freed. */
extern const struct relax_error rlx_error_out_of_memory;
bool rlx_error_is_ours(const rlx_object *error);
/* Both know the error that is never freed. NULL is fine. */
relax_error *rlx_error_retain(relax_error *error);
void rlx_error_release(relax_error *error);
relax_status rlx_error_no_memory(relax_error **out); /* stores it if out is not NULL */
/* From a fault. Takes over `cause` (may be NULL). Never NULL: the out-of-memory error if there
 * is no memory. */
relax_error *rlx_error_make(rlx_shared_memory *memory, const rlx_fault *why, rlx_slice kind,
                            rlx_slice trace, relax_error *cause);
/* That of a packed function: kind and message only, memory from malloc. NULL: out of memory. */
relax_error *rlx_error_text(rlx_slice kind, rlx_slice message);
/* Status of a failure. cause may be NULL. */
relax_status rlx_fault_status(const rlx_fault *why, const struct relax_error *cause);
/* Stores the error in *out if out is not NULL and returns its status: out of memory if there is
 * none for the error. memory NULL: malloc. */
relax_status rlx_error_give(rlx_shared_memory *memory, relax_error **out, const rlx_fault *why);

/* ---- owned bytes of the API ----------------------------------------------------------------- */

struct relax_bytes {
    _Atomic uint64_t refs;
    int32_t tag /* RLX_TAG_OWNED_BYTES */;
    rlx_shared_memory *memory;
    rlx_buf buf;
    rlx_blob *owner;   /* NULL, or what buf only shows */
};
/* Takes over the content of `buf`, which must come from memory->memory; frees it on failure.
 * NULL: out of memory. */
relax_bytes *rlx_bytes_make(rlx_shared_memory *memory, rlx_buf *buf);
/* The content of a blob that memory->memory outlives, without a copy; a NUL follows it. */
relax_bytes *rlx_bytes_show(rlx_shared_memory *memory, rlx_blob *blob);
relax_bytes *rlx_bytes_retain(relax_bytes *bytes);
void rlx_bytes_release(relax_bytes *bytes);

/* Options structs of the host begin with their size. For relax_*_options_init: writes as much
 * of the defaults as `struct_size` covers. */
relax_status rlx_options_init(void *out, size_t struct_size, const void *defaults,
                              size_t known_size);
/* `known` holds the defaults; what `given` (NULL: nothing) covers replaces them. False: a size
 * that no version had, or something set beyond what we know. */
bool rlx_options_read(void *known, size_t known_size, const void *given);

/* ---- builtins ------------------------------------------------------------------------------- */

typedef bool (*rlx_builtin_fn)(rlx_pool *p, const relax_value *args, int32_t num_args,
                               relax_value *result, rlx_fault *why);
/* A row of builtin.def. Arguments come boxed and borrowed; the result is owned. */
typedef struct rlx_builtin {
    const char *name;
    int32_t min_args, max_args;
    rlx_builtin_fn fn;
    const char *help;
} rlx_builtin;
#define RLX_BUILTIN_PREFIX "vm.builtin."
/* By full name; NULL: none. */
const rlx_builtin *rlx_builtin_find(rlx_slice name);

/* A compact copy of src's content into dst; dtype and shape must be equal (RT03 - RT05), dst
 * writable. */
bool rlx_tensor_copy(const DLTensor *src, const DLTensor *dst, rlx_fault *why);

#endif
