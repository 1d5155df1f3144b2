/*- object_layout.h: boxed values in memory.
 *
 *    0   refs: strong count in the low half, weak count in the high half
 *    8   type_index
 *   12   bytes of the block (padding in tvm-ffi)
 *   16   deleter(self, flags): 1 destroy the content, 2 free the memory
 *   24   depends on the type: DLTensor, {data, size} of strings and shapes, ...
 *
 * The first 24 bytes are as tvm-ffi has them, so that its callees can count and free our
 * objects, and we theirs. An object is read beyond what its type number promises only if it is
 * one of ours: index 64 says which of ours in `mark`, tensors by their `mark`, functions and
 * errors by their deleter (runtime/runtime.h).
 */
#ifndef RLX_FORMAT_OBJECT_LAYOUT_H
#define RLX_FORMAT_OBJECT_LAYOUT_H

#include <stdatomic.h>
#include "base/base.h"
#include "format/value_tags.h"

typedef struct rlx_object {
    _Atomic uint64_t refs;
    int32_t type_index;
    uint32_t block;
    void (*deleter)(void *self, int flags);
} rlx_object;

#define RLX_REFS_UNIQUE (((uint64_t)1 << 32) | 1) /* nobody else has it */

/* Counted things that are no values have their number in the place of a type number, so that a
 * handle of the wrong kind is seen. */
enum {
    RLX_TAG_EXECUTABLE = -1,
    RLX_TAG_VM = -2,
    RLX_TAG_REGISTRY = -3,
    RLX_TAG_OWNED_BYTES = -4,
    RLX_TAG_GONE = -5
};
/* Whoever frees what hosts have handles of says so first. Debug builds mark it, so that a
 * handle that was released is refused like one of another kind for as long as nobody has got
 * the memory again. */
#ifdef RLX_DEBUG
RLX_INLINE void rlx_handle_ends(void *handle)
{
    ((rlx_object *)handle)->type_index = RLX_TAG_GONE;
}
#else
RLX_INLINE void rlx_handle_ends(void *handle) { (void)handle; }
#endif
/* Is the handle of the host (may be NULL) of this kind? */
RLX_INLINE bool rlx_handle_is(const void *handle, int32_t tag)
{
    return handle && ((const rlx_object *)handle)->type_index == tag;
}

typedef struct rlx_string_object {
    rlx_object base;
    const char *data;
    size_t size;
    rlx_shared_memory *memory;
    char bytes[];
} rlx_string_object;

typedef struct rlx_shape_object {
    rlx_object base;
    const int64_t *dims;
    size_t ndim;
    rlx_shared_memory *memory;
    int64_t values[];
} rlx_shape_object;

/* Bytes that tensors view. `data` is 64-byte aligned unless it is foreign. */
typedef struct rlx_storage {
    rlx_object base;
    uint64_t mark; /* RLX_MARK_STORAGE */
    rlx_shared_memory *memory;
    unsigned char *data;
    size_t size;     /* usable bytes */
    size_t capacity; /* bytes allocated; 0: foreign, destroy is called instead of freeing */
    void (*destroy)(void *user);
    void *user;      /* of destroy; else the instruction that made it, NULL: another maker */
    struct rlx_storage *next; /* in a pool */
} rlx_storage;

typedef struct rlx_tensor_object {
    rlx_object base;
    DLTensor view;        /* shape and strides point at dims; device CPU; byte_offset 0 */
    /* &rlx_tensor_mark: also found from a DLTensor* alone, see rlx_tensor_of_view */
    const void *mark;
    rlx_shared_memory *memory;
    rlx_storage *storage; /* holds one reference */
    uint32_t read_only;
    uint32_t reserved;
    int64_t dims[];       /* ndim sizes, ndim strides */
} rlx_tensor_object;

typedef struct rlx_tuple_object {
    rlx_object base;
    uint64_t mark; /* RLX_MARK_TUPLE; RLX_MARK_CLOSURE: a function, then its last arguments */
    rlx_shared_memory *memory;
    size_t count;
    /* of a closure: what it has bound fits its function, which binds no sizes; found at a call */
    _Atomic uint64_t bound_fits;
    relax_value fields[]; /* owned */
} rlx_tuple_object;

/* A function of a module as a value. */
typedef struct rlx_module_function {
    rlx_object base;
    uint64_t mark; /* RLX_MARK_FUNCTION */
    rlx_shared_memory *memory;
    /* of the executable it belongs to; one reference, so that descs stays valid */
    rlx_blob *image;
    uint32_t number;
    uint32_t signature;    /* item in descs, or RLX_NO_INDEX */
    const int64_t *descs;
} rlx_module_function;

/* The value of an ExternFunc that is not looked up yet. */
typedef struct rlx_extern_function {
    rlx_object base;
    uint64_t mark; /* RLX_MARK_EXTERN */
    rlx_shared_memory *memory;
    rlx_blob *image; /* one reference */
    uint32_t packed;
} rlx_extern_function;

/* Mark of an object with index 64: 'RLXo' and a number. */
#define RLX_MARK(n) ((uint64_t)0x524c586f << 32 | (n))
#define RLX_MARK_TUPLE RLX_MARK(1)
#define RLX_MARK_STORAGE RLX_MARK(2)
#define RLX_MARK_FUNCTION RLX_MARK(3)
#define RLX_MARK_EXTERN RLX_MARK(4)
#define RLX_MARK_DTYPE RLX_MARK(5)
/* A function with arguments bound, laid out as a tuple: field 0 is the function, which is no
 * closure itself; the others follow the arguments of a call. */
#define RLX_MARK_CLOSURE RLX_MARK(6)
/* A tuple of one value that changes: what a reference of Relay is. */
#define RLX_MARK_CELL RLX_MARK(7)

RLX_INLINE bool rlx_value_has_mark(const relax_value *v, uint64_t mark)
{
    return v->type_index == RELAX_VALUE_OBJECT && ((const rlx_tuple_object *)v->v.p)->mark == mark;
}
/* NULL if v is no tuple. */
RLX_INLINE const rlx_tuple_object *rlx_value_tuple(const relax_value *v)
{
    return rlx_value_has_mark(v, RLX_MARK_TUPLE) ? v->v.p : NULL;
}
/* NULL if v is no closure. */
RLX_INLINE const rlx_tuple_object *rlx_value_closure(const relax_value *v)
{
    return rlx_value_has_mark(v, RLX_MARK_CLOSURE) ? v->v.p : NULL;
}
/* What a call of v runs, and what it passes behind the arguments. */
RLX_INLINE const relax_value *rlx_value_callee(const relax_value *v, const relax_value **captured,
                                               size_t *num_captured)
{
    const rlx_tuple_object *c = rlx_value_closure(v);
    *captured = c ? c->fields + 1 : NULL;
    *num_captured = c ? c->count - 1 : 0;
    return c ? c->fields : v;
}
/* A function in any form: of a module, with arguments bound, packed, by its name. */
RLX_INLINE bool rlx_value_is_function(const relax_value *v)
{
    return v->type_index == RELAX_VALUE_FUNCTION || rlx_value_has_mark(v, RLX_MARK_FUNCTION) ||
           rlx_value_has_mark(v, RLX_MARK_EXTERN) || rlx_value_has_mark(v, RLX_MARK_CLOSURE);
}
/* The tensor's description, boxed or borrowed; NULL if v is no tensor. */
RLX_INLINE const DLTensor *rlx_value_view(const relax_value *v)
{
    if (RLX_LIKELY(v->type_index == RELAX_VALUE_TENSOR))
        return (const DLTensor *)((const char *)v->v.p + sizeof(rlx_object));
    return v->type_index == RELAX_VALUE_TENSOR_VIEW ? v->v.p : NULL;
}
RLX_INLINE const rlx_shape_object *rlx_value_shape(const relax_value *v)
{
    return v->type_index == RELAX_VALUE_SHAPE ? v->v.p : NULL;
}

#endif
