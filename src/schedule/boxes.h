/*- boxes.h: loops over rows, and where the statements in them touch memory.
 *
 *     for t in range(n // 32):                    outer: t
 *         for i < 32, j < m:  T[t * 32 + i, j]    the box of T: [t * 32, 0] with 32 by m elements
 *         for i < 32:  S[i] = ...                 the box of S: [0] with 32
 */
#ifndef RLX_SCHEDULE_BOXES_H
#define RLX_SCHEDULE_BOXES_H

#include "schedule/accesses.h"

#define RLX_MOST_OUTER 8             /* loops around everything */

/* Where memory is touched in one iteration. */
typedef struct rlx_box {
    const rlx_buffer *buffer;
    bool mixed;                      /* nothing is known */
    bool loads, stores;
    const rlx_prim *base[RLX_TIR_MAX_DIMS];   /* of the type of the index */
    const rlx_prim *extent[RLX_TIR_MAX_DIMS]; /* int64 */
} rlx_box;

/* Loops around statements, with the temporaries of an iteration. */
typedef struct rlx_rows {
    rlx_sched_loop outer[RLX_MOST_OUTER];
    size_t count;
    rlx_ptrs covers;                 /* Allocate and DeclBuffer around the statements, outermost first */
    rlx_ptrs parts;                  /* the statements */
    rlx_ptrs temporaries;            /* buffers of an iteration that are new */
    RLX_VEC(rlx_box) boxes;
    rlx_ptrmap box_of;               /* memory -> its number + 1 */
    rlx_ptrmap inside;               /* variables that are defined in it */
    size_t joined;
    rlx_place place;
} rlx_rows;
void rlx_rows_init(rlx_context *ctx, rlx_rows *r);
void rlx_rows_free(rlx_context *ctx, rlx_rows *r);
/* Loops from 0, in each other, around more than a store; *is: it is that. False: out of memory. */
bool rlx_rows_read(rlx_context *ctx, const rlx_for_stmt *nest, rlx_rows *r, bool *is);
const rlx_stmt *rlx_rows_write(rlx_context *ctx, const rlx_rows *r);
/* Adds the boxes of the statements from number `first` on. False: out of memory. */
bool rlx_find_boxes(rlx_context *ctx, rlx_rows *r, size_t first);
/* NULL: that memory is not touched. */
const rlx_box *rlx_find_box(const rlx_rows *r, const rlx_node *memory);
/* base = coefficient * outer loop number `loop`, or 0 (loop -1); the coefficient is int64. */
bool rlx_box_base(rlx_context *ctx, const rlx_rows *r, const rlx_prim *base, int *loop, const rlx_prim **coeff);
/* Has each iteration a box of its own? */
bool rlx_is_apart(rlx_context *ctx, const rlx_rows *r, const rlx_box *b);
bool rlx_is_same_box(const rlx_box *a, const rlx_box *b);

/* Statements and the temporaries around them become part of r. False: out of memory. */
bool rlx_rows_take_apart(rlx_context *ctx, rlx_rows *r, const rlx_stmt *body);

/* What is in the loops of r, cut.c. *is false: it cannot be. False: out of memory. The nest is cut along the boxes of what it has in
 * common with r, which are exactly all of that; rows have loops like those of r. */
bool rlx_rows_of_nest(rlx_context *ctx, const rlx_rows *r, const rlx_for_stmt *nest, rlx_rows *out, bool *is);
bool rlx_rows_of_rows(rlx_context *ctx, const rlx_rows *r, const rlx_rows *b, rlx_rows *out, bool *is);

#endif
