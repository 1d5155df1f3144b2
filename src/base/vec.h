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

/* Sorts by counting. Items of the vector `from` say with their field `group` to which item of the
 * vector `groups` they belong; their field `item` goes to `out`, which is long enough. Those of
 * group g are then out[first] ... out[first + count - 1], in their order: its own two fields. */
#define rlx_vec_group(from, group, item, groups, out)                           \
    do {                                                                        \
        size_t rlx_at = 0;                                                      \
        for (size_t rlx_g = 0; rlx_g < (groups)->len; rlx_g++)                  \
            (groups)->data[rlx_g].count = 0;                                    \
        for (size_t rlx_i = 0; rlx_i < (from)->len; rlx_i++)                    \
            (groups)->data[(from)->data[rlx_i].group].count++;                  \
        for (size_t rlx_g = 0; rlx_g < (groups)->len; rlx_g++) {                \
            (groups)->data[rlx_g].first = rlx_at;                               \
            rlx_at += (groups)->data[rlx_g].count;                              \
            (groups)->data[rlx_g].count = 0;                                    \
        }                                                                       \
        for (size_t rlx_i = 0; rlx_i < (from)->len; rlx_i++) {                  \
            size_t rlx_g = (from)->data[rlx_i].group;                           \
            (out)[(groups)->data[rlx_g].first + (groups)->data[rlx_g].count++] = \
                (from)->data[rlx_i].item;                                       \
        }                                                                       \
    } while (0)

#endif
