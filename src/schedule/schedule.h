/* schedule.h: in which order the loops of a PrimFunc run, and what is copied where before it is read.
 *
 * A schedule changes no number: each sum keeps the order of its steps. What comes out is TIR, which prints, runs in
 * the evaluator, and ends in nests that kernels have one instruction for (schedule/plan.h).
 */
#ifndef RLX_SCHEDULE_H
#define RLX_SCHEDULE_H

#include "tir/tir.h"

/* f with its blocks lowered, contractions in tiles and their operands packed; f itself where there is nothing to
 * gain, or where it says that it is scheduled (attribute tir.is_scheduled). NULL with a diagnostic, or when out of
 * memory. */
const rlx_prim_func *rlx_schedule(rlx_context *ctx, const rlx_prim_func *f);

/* The same with panels in place of parameters where that is a gain: of those with constant[i], which the caller can
 * pack once. What several places read, each its part of it, comes as a parameter for each: these stand behind those that f has. */
typedef struct rlx_with_panels {
    const rlx_prim_func *function;
    size_t num_params;
    /* By parameter of the function: which of f it is, and what fills its panels, the second parameter of that, from what this was;
     * NULL where it stays. All parameters of one of f have panels, or it is one and has not. */
    const size_t *of;
    const rlx_prim_func **packs;
} rlx_with_panels;
/* False with a diagnostic, or when out of memory. */
bool rlx_schedule_packed(rlx_context *ctx, const rlx_prim_func *f, const bool *constant, rlx_with_panels *out);

/* Some of the panels that such a function fills. */
typedef struct rlx_panel_piece {
    const rlx_prim_func *pack;       /* fills them from a box of what the parameter was */
    int64_t first[RLX_TIR_MAX_DIMS], size[RLX_TIR_MAX_DIMS]; /* the box, by dimension */
    size_t bytes;                    /* of panels */
} rlx_panel_piece;
/* The piece that begins at byte `from` of all panels: at most `most` bytes, or a single panel. False: out of memory, or
 * they can only be filled as a whole. */
bool rlx_panel_piece_at(rlx_context *ctx, const rlx_prim_func *pack, size_t from, size_t most,
                        rlx_panel_piece *out);

#endif
