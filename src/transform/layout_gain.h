/* layout_gain.h: what channels last are worth on this kind of kernels, in nanoseconds of one thread, about. */
#ifndef RLX_LAYOUT_GAIN_H
#define RLX_LAYOUT_GAIN_H

#include "transform/layout_follow.h"

/* A call that turns: so much less time than before, below 0: more. 0: nothing is known of it. */
int64_t rlx_layout_gain(rlx_context *ctx, const rlx_env *env, const rlx_layout_turn *turn, const rlx_layout_row *row, const rlx_call *call,
                        const rlx_sinfo *result);
/* A tensor that permute_dims turns; 0: its elements stay where they are. */
int64_t rlx_layout_cost_of_turn(const rlx_layout_turn *turn, const rlx_sinfo *tensor);

#endif
