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

/* ---- parameters that may come as panels */
typedef struct rlx_panel_params {
    const rlx_prim_func *function;
    const bool *wanted;              /* by parameter; NULL: none */
    const rlx_buffer **panels;       /* what takes its place; NULL: nothing so far */
    const rlx_prim_func **packs;     /* what fills them */
} rlx_panel_params;
/* Its number, -1: b is none, or panels have its place. */
int rlx_panel_param(const rlx_panel_params *p, const rlx_buffer *b);
/* `body` fills the panels from the parameter. False: out of memory. */
bool rlx_take_panels(rlx_context *ctx, const rlx_panel_params *p, int param,
                     const rlx_buffer *panels, const rlx_stmt *body);

/* A contraction in tiles: contract.c. init: the nest in front of it, or NULL; it is part of what comes back. `nest`
 * itself where that is no gain (then init is no part of it); NULL: out of memory. */
const rlx_stmt *rlx_schedule_contraction(rlx_context *ctx, const rlx_panel_params *params,
                                         const rlx_for_stmt *init, const rlx_for_stmt *nest);

#endif
