/*- pointwise.h: nests whose iterations store elements of their own, as data.
 *
 *     for i, j:    T[i, j] = A[i, j] * A[i, j]          loops i, j; stores T, Y; loads A[i, j], T[i, j], B[j]
 *                  Y[j, i] = exp(T[i, j]) + B[j]
 *
 * Each loop is told apart by every store, so the loops may run in any order. What is stored is loaded at that place only.
 * Loops that surely run once are none: their variables are 0.
 */
#ifndef RLX_SCHEDULE_POINTWISE_H
#define RLX_SCHEDULE_POINTWISE_H

#include "schedule/accesses.h"

typedef struct rlx_point_store {
    const rlx_buffer *buffer;
    const rlx_prim *const *indices;
    size_t num_indices;
    const rlx_prim *value;
    rlx_place place;
    bool whole;                      /* indices are loops, each as long as its dimension */
} rlx_point_store;

/* A load that a value is computed from. */
typedef struct rlx_point_load {
    const rlx_buffer_load *load;
    uint32_t edges;                  /* operators that have it as an operand */
    bool sure;                       /* computed in every iteration */
} rlx_point_load;
typedef RLX_VEC(rlx_point_load) rlx_point_loads;

typedef struct rlx_pointwise {
    const rlx_stmt *original;        /* the nest, while it is as it was; else NULL */
    rlx_sched_loop loops[RLX_TIR_MAX_DIMS];
    size_t count;
    RLX_VEC(rlx_point_store) stores; /* in their order */
    rlx_point_loads loads;           /* of all values */
    int64_t strip;                   /* likely length of a strip */
    uint8_t form;                    /* enum rlx_plan_form of the nest as it was */
    bool biased;                     /* a bias of rows, and functions that are one chain with it */
    bool transposes;                 /* a load is contiguous along another loop than the store is */
    rlx_place place;
} rlx_pointwise;

/* Reads the nest; *is: it is one. False: out of memory. Freed by the caller in either case. */
bool rlx_read_pointwise(rlx_context *ctx, const rlx_for_stmt *nest, rlx_pointwise *out, bool *is);
void rlx_free_pointwise(rlx_context *ctx, rlx_pointwise *p);
/* Loads of a value, those in indices too, each once. False: out of memory. */
bool rlx_collect_loads(rlx_context *ctx, const rlx_prim *value, rlx_point_loads *out);
/* Finds the loads again after values have changed; then it is no more as it was. */
bool rlx_renew_loads(rlx_context *ctx, rlx_pointwise *p);
/* The store to that memory, NULL: none. */
const rlx_point_store *rlx_find_store(const rlx_pointwise *p, const rlx_node *memory);
/* Where p has loop variables, to[..] stands, by number of loop. False: out of memory. */
bool rlx_rename_loops(rlx_context *ctx, rlx_pointwise *p, const rlx_sched_loop *to);
/* The nest. Memory that is a key of `locals` is not stored to: what was to be stored there, at this place only, is a value
 * of the iteration. NULL: out of memory. */
const rlx_stmt *rlx_write_pointwise(rlx_context *ctx, const rlx_pointwise *p, const rlx_ptrmap *locals);

#endif
