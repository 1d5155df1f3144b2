/* well_formed.h: does a module keep the rules of the language? */
#ifndef RLX_WELL_FORMED_H
#define RLX_WELL_FORMED_H

#include "ir/ir.h"

/* ---- well-formedness (language section 4). One row of a table per criterion; criteria of one
 * stage all run. */
enum rlx_stage {
    RLX_STAGE_ANY,     /* every program, also before normalisation */
    RLX_STAGE_NORMAL,  /* after normalisation: NF and WF23 too */
    RLX_STAGE_EXPLICIT, /* an explicit check: also WF12 as a warning, and notes on request */
    RLX_STAGE_BUILD    /* every program, before an executable is made: also WF12 */
};
/* Reports every violation; true if there was no error. */
bool rlx_well_formed(rlx_context *ctx, const rlx_module *m, enum rlx_stage stage);
/* Stage RLX_STAGE_ANY for a module in which errors were found while it was read: a place that has
 * been reported is not reported again. */
bool rlx_well_formed_too(rlx_context *ctx, const rlx_module *m);
/* Every criterion of one function, after normalisation, for the functions that are not those of
 * `before` at their place, as after a rewriting. */
bool rlx_well_formed_since(rlx_context *ctx, const rlx_module *m, const rlx_module *before);
/* Of one function whose module is not complete: what holds in it alone, variables and scopes above
 * all. */
bool rlx_well_formed_alone(rlx_context *ctx, const rlx_global_var *gv, const rlx_function *f);

/* May tensors have that dtype (WF20)? */
bool rlx_dtype_is_legal(rlx_dtype t);

/* ---- normal form (language section 3) of one function: NF01 - NF04, NF06 - NF08, NF10.
 * report: a diagnostic for each violation, else the first one ends it. False: not normal, or
 * out of memory (latched in ctx). */
bool rlx_is_normal(rlx_context *ctx, const rlx_function *f, bool report);

#endif
