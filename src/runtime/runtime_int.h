/* runtime_int.h: shared by the files of runtime. */
#ifndef RLX_RUNTIME_INT_H
#define RLX_RUNTIME_INT_H

#include "runtime/runtime.h"

/* A block with a filled header, one reference, holding a reference to the memory; the rest is
 * not cleared. */
void *rlx_object_alloc(rlx_pool *p, size_t size, int32_t type_index);

/* A pool for one object, made outside a VM: memory NULL is malloc. False: out of memory. Must
 * be closed. */
bool rlx_pool_open_once(rlx_pool *p, rlx_shared_memory *memory, const relax_allocator *host);

/* Builtins in files of their own; like those of builtin.c. */
bool rlx_builtin_sort(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                      rlx_fault *why);
bool rlx_builtin_argsort(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                         rlx_fault *why);
bool rlx_builtin_topk(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                      rlx_fault *why);
bool rlx_builtin_unique(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                        rlx_fault *why);
bool rlx_builtin_nonzero(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                         rlx_fault *why);
bool rlx_builtin_dynamic_slice(rlx_pool *p, const relax_value *args, int32_t n,
                               relax_value *result, rlx_fault *why);

/* The text with {} replaced by values, {{ and }} by braces; values that are left over are left
 * out. */
void rlx_format_values(rlx_buf *b, const char *format, size_t len, const relax_value *values,
                       size_t count);

#endif
