/* schedule_int.h: inside src/schedule only. */
#ifndef RLX_SCHEDULE_INT_H
#define RLX_SCHEDULE_INT_H

#include "arith/arith.h"
#include "schedule/plan.h"
#include "schedule/schedule.h"

/* ---- sizes: int64 expressions, folded */
const rlx_prim *rlx_ceil_div(rlx_context *ctx, const rlx_prim *a, int64_t b);
const rlx_prim *rlx_least(rlx_context *ctx, const rlx_prim *a, const rlx_prim *b);

/* ---- loops that are put around a body, innermost first */
typedef struct rlx_sched_loop {
    const rlx_prim *var;         /* 0 where it runs once */
    const rlx_prim *extent;
} rlx_sched_loop;
/* A loop from 0; one that surely runs once is none, and its variable is 0. */
rlx_sched_loop rlx_sched_loop_new(rlx_context *ctx, const char *name, const rlx_prim *extent);
const rlx_stmt *rlx_sched_wrap(rlx_context *ctx, const rlx_sched_loop *l, const rlx_stmt *body,
                               rlx_place place);

/* ---- buffers */
/* Another buffer over the memory of b, compact. */
const rlx_buffer *rlx_view_new(rlx_context *ctx, const rlx_buffer *b, const rlx_prim *const *shape,
                               size_t ndim);
const rlx_stmt *rlx_declare_view(rlx_context *ctx, const rlx_buffer *view, const rlx_stmt *body,
                                 rlx_place place);
const rlx_stmt *rlx_allocate_around(rlx_context *ctx, const rlx_buffer *b, const rlx_stmt *body,
                                    rlx_place place);

/* A contraction in tiles: contract.c. init: the nest in front of it, or NULL; it is part of what comes back. `nest`
 * itself where that is no gain (then init is no part of it); NULL: out of memory. */
const rlx_stmt *rlx_schedule_contraction(rlx_context *ctx, const rlx_for_stmt *init,
                                         const rlx_for_stmt *nest);

#endif
