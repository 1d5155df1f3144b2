/* plan_int.h: inside the plans of nests. */
#ifndef RLX_SCHEDULE_PLAN_INT_H
#define RLX_SCHEDULE_PLAN_INT_H

#include "format/kernel_format.h"
#include "format/kernel_math.h"
#include "schedule/plan.h"

/* Is it a nest that fills panels? Then plan->pack is filled in. Accesses have been measured. */
bool rlx_plan_packing(rlx_context *ctx, const rlx_plan_scope *scope, rlx_nest_plan *plan);

/* Lanes of the widest panel: longer runs are copied as they are. */
enum { RLX_LONGEST_LANES = 32 };

/* Is it a nest that copies a box? Then plan->copy is filled in, and the roles of its loops are given. longer: only one
 * with runs of more elements that are contiguous on both sides; 0: any. */
bool rlx_plan_copying(rlx_context *ctx, rlx_nest_plan *plan, int64_t longer);

/* Is it a nest that makes floats of fields of bits? Then plan->unpack is filled in, and the roles of its loops are given. */
bool rlx_plan_unpacking(rlx_context *ctx, rlx_nest_plan *plan);

/* Is it a nest that normalizes rows? Then plan->normalize is filled in, and the roles of its loops are given. */
bool rlx_plan_normalizing(rlx_context *ctx, rlx_nest_plan *plan);

/* Is it a nest that computes a function of rows? Then plan->map is filled in, and the roles of its loops are given. */
bool rlx_plan_mapping(rlx_context *ctx, rlx_nest_plan *plan);

/* Is what the strip loop runs through a row that lies where an integer says? Then it becomes plan->row, and a loop that moves the
 * row the strip. */
bool rlx_plan_gathering(rlx_context *ctx, const rlx_plan_scope *scope, rlx_nest_plan *plan);

/* Chooses the loop that threads may share: plan->parallel. The rest of the plan is made. */
void rlx_plan_sharing(rlx_context *ctx, const rlx_for_stmt *nest, rlx_nest_plan *plan);

/* ---- what the plans share */
/* Do accesses of one buffer touch one place in each iteration? */
bool rlx_plan_same_place(const rlx_plan_access *a, const rlx_plan_access *b);
/* The access of a load; as many as there are if it is none of the plan. */
size_t rlx_plan_find_access(const rlx_nest_plan *n, const rlx_prim *load);
/* Does it mention one of the variables, or read memory? */
bool rlx_plan_hangs_on(rlx_context *ctx, const rlx_prim *p, const rlx_ptrmap *vars);
/* 64 where it is not known. */
int64_t rlx_plan_likely_size(const rlx_prim *extent);

/* Loops of a nest, those that only continue another one on all sides being one: plan_dimensions.c. */
enum { RLX_PLAN_SIDES = RLX_NORMALIZE_SIDES };
typedef struct rlx_plan_dimension {
    const rlx_prim *extent, *stride[RLX_PLAN_SIDES];
    uint64_t loops;
} rlx_plan_dimension;
typedef struct rlx_plan_dimensions {
    rlx_plan_dimension at[RLX_PLAN_MAX_NEST];
    size_t count;
} rlx_plan_dimensions;
/* Outermost first. sides: num_sides of them; one that is NULL stands still. */
void rlx_plan_collect(rlx_context *ctx, const rlx_nest_plan *plan, const rlx_plan_access *const *sides,
                      size_t num_sides, rlx_plan_dimensions *out);
void rlx_plan_drop(rlx_plan_dimensions *d, size_t i);
/* Its loops are part of a box. */
void rlx_plan_take(rlx_nest_plan *plan, const rlx_plan_dimension *d);

#endif
