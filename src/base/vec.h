/*- vec.h: growable arrays.
 *
 * RLX_VEC(type) is a struct { type *data; size_t len, cap; }. The functions work on any of them:
 *
 *     RLX_VEC(int) v = {0};
 *     if (!rlx_vec_push(m, &v, 7)) return false;         (out of memory)
 *     rlx_vec_free(m, &v);
 */
#ifndef RLX_BASE_VEC_H
#define RLX_BASE_VEC_H

#include "base/memory.h"

#define RLX_VEC(type) struct { type *data; size_t len, cap; }
typedef RLX_VEC(void *) rlx_ptrs;

bool rlx_vec_reserve_bytes(rlx_memory *m, void **data, size_t *cap, size_t want, size_t item);
#define rlx_vec_reserve(m, v, n)       \
    ((n) <= (v)->cap ||                \
     rlx_vec_reserve_bytes((m), (void **)&(v)->data, &(v)->cap, (n), sizeof *(v)->data))
#define rlx_vec_push(m, v, item) \
    (rlx_vec_reserve((m), (v), (v)->len + 1) ? ((v)->data[(v)->len++] = (item), true) : false)
#define rlx_vec_pop(v) ((v)->data[--(v)->len])
#define rlx_vec_last(v) ((v)->data[(v)->len - 1])
#define rlx_vec_free(m, v)                                                         \
    (rlx_mem_free((m), (v)->data, (v)->cap * sizeof *(v)->data), (v)->data = NULL, \
     (v)->len = (v)->cap = 0)

#endif
