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

bool rlx_builtin_median(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                        rlx_fault *why);
bool rlx_builtin_valid_counts(rlx_pool *p, const relax_value *args, int32_t n,
                              relax_value *result, rlx_fault *why);
bool rlx_builtin_suppress(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                          rlx_fault *why);
bool rlx_builtin_suppress_classes(rlx_pool *p, const relax_value *args, int32_t n,
                                  relax_value *result, rlx_fault *why);
bool rlx_builtin_suppress_dynamic(rlx_pool *p, const relax_value *args, int32_t n,
                                  relax_value *result, rlx_fault *why);

/* ---- what builtins in files of their own share (builtin_order.c) ----------------------------- */

/* Work between two questions whether to go on: keys compared or elements moved. */
enum { RLX_BUILTIN_FUEL = 1 << 15 };
typedef struct rlx_builtin_work {
    const rlx_pool *pool;
    int64_t fuel;
    bool stopped;
} rlx_builtin_work;
#define RLX_BUILTIN_WORK(p) { (p), RLX_BUILTIN_FUEL, false }
bool rlx_builtin_ask(rlx_builtin_work *w);
/* False: the call has been stopped, for good. */
RLX_INLINE bool rlx_builtin_goes_on(rlx_builtin_work *w, size_t done)
{
    w->fuel -= (int64_t)done;
    return RLX_LIKELY(w->fuel > 0) || rlx_builtin_ask(w);
}
/* All of these report in *why, and return false or NULL then. */
bool rlx_builtin_stopped(const char *who, rlx_fault *why);
bool rlx_builtin_no_memory(rlx_fault *why, const char *who);

/* A stable sort of positions by keys of up to 64 bits (builtin_sort.c). */
enum { RLX_SORTER_GAP = 8 };       /* room behind the keys, so that those of lines side by side lie apart in the cache */
typedef struct rlx_key_kind {      /* how elements become keys */
    uint64_t zero, inverted;       /* the key of 0; what is turned at the end */
    uint64_t greatest;             /* 0: no float. Sizes above it are NaN */
    size_t bytes;                  /* of an element */
    unsigned lead;                 /* lower bits of a key, all 0 */
} rlx_key_kind;
rlx_key_kind rlx_key_kind_of(rlx_dtype t);
typedef struct rlx_sorter {
    rlx_memory *memory;
    rlx_builtin_work work;
    uint64_t *keys;                /* width keys for each position */
    int64_t *at, *spare;           /* positions, in order after the sort */
    size_t count, width, bytes;
    uint64_t *block;
    rlx_key_kind kind;
    unsigned place;                /* bits of a position */
} rlx_sorter;
bool rlx_sorter_open(rlx_sorter *s, rlx_pool *p, rlx_dtype t, bool descending, int64_t count, int64_t width,
                     const char *who, rlx_fault *why);
void rlx_sorter_close(rlx_sorter *s);
/* Keys of n elements (kind, work) that are `step` bytes apart, to every to_step-th number. */
void rlx_sorter_read(rlx_sorter *s, const unsigned char *from, size_t step, size_t n, uint64_t *to, size_t to_step);
/* Positions in the order of their keys, equal ones as they are, and in `spare` where those that
 * are equal begin; how many beginnings. Once stopped there are none of either. */
int64_t rlx_sorter_sort(rlx_sorter *s);
/* The same of those n that stand in at[0 .. n). */
int64_t rlx_sorter_order(rlx_sorter *s, size_t n);
/* The first so many positions only; width is 1, few from 1 to half of count. */
void rlx_sorter_first(rlx_sorter *s, size_t few);

const DLTensor *rlx_want_tensor(const relax_value *v, const char *who, rlx_fault *why);
bool rlx_want_int(const relax_value *v, const char *who, int64_t *out, rlx_fault *why);
rlx_tensor_object *rlx_result_tensor(rlx_pool *p, rlx_dtype t, int32_t ndim, const int64_t *dims,
                                     const char *who, rlx_fault *why);
void rlx_result_drop(rlx_pool *p, rlx_tensor_object *t);
/* New tensors; NULL where the rank is below 0. False: then there are none. */
typedef struct rlx_result { rlx_dtype dtype; int32_t ndim; const int64_t *dims; } rlx_result;
bool rlx_results_make(rlx_pool *p, const rlx_result *w, size_t n, rlx_tensor_object **parts, const char *who,
                      rlx_fault *why);
/* Takes over the tensors (NULL: not asked for): one alone, several as a tuple. */
bool rlx_result_give(rlx_pool *p, rlx_tensor_object *const *parts, size_t n, relax_value *result,
                     rlx_fault *why);

/* The same unless the call has been stopped: then they go. */
bool rlx_result_finish(const rlx_builtin_work *w, rlx_pool *p, rlx_tensor_object *const *parts, size_t n,
                       const char *who, relax_value *result, rlx_fault *why);

/* The text with {} replaced by values, {{ and }} by braces; values that are left over are left
 * out. */
void rlx_format_values(rlx_buf *b, const char *format, size_t len, const relax_value *values,
                       size_t count);

#endif
