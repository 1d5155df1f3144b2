/* plan_int.h: inside the plans of nests. */
#ifndef RLX_SCHEDULE_PLAN_INT_H
#define RLX_SCHEDULE_PLAN_INT_H

#include "format/kernel_format.h"
#include "format/kernel_math.h"
#include "schedule/plan.h"

/* Is it a nest that fills panels? Then plan->pack is filled in. Accesses have been measured. */
bool rlx_plan_packing(rlx_context *ctx, const rlx_plan_scope *scope, rlx_nest_plan *plan);

/* Is it a nest that copies a box? Then plan->copy is filled in, and the roles of its loops are given. */
bool rlx_plan_copying(rlx_context *ctx, rlx_nest_plan *plan);

/* Is it a nest that makes floats of fields of bits? Then plan->unpack is filled in, and the roles of its loops are given. */
bool rlx_plan_unpacking(rlx_context *ctx, rlx_nest_plan *plan);

/* Is it a nest that normalizes rows? Then plan->normalize is filled in, and the roles of its loops are given. */
bool rlx_plan_normalizing(rlx_context *ctx, rlx_nest_plan *plan);

/* Is it a nest that computes a function of rows? Then plan->map is filled in, and the roles of its loops are given. */
bool rlx_plan_mapping(rlx_nest_plan *plan);

#endif
