/* layout_follow.h: what operators become when the axes of their tensors change places. */
#ifndef RLX_LAYOUT_FOLLOW_H
#define RLX_LAYOUT_FOLLOW_H

#include "op/op.h"
#include "sinfo/sinfo.h"

#define RLX_LAYOUT_MAX_RANK 5
#define RLX_LAYOUT_MOST_ARGS 5       /* of what follows */

/* Axes of tensors of one rank that change places: axis i of the new one is axis order[i] of the old one. */
typedef struct rlx_layout_turn {
    size_t rank;
    int64_t order[RLX_LAYOUT_MAX_RANK];
    int64_t back[RLX_LAYOUT_MAX_RANK];
    rlx_slice from, to;              /* letters of the axes, "NCHW" and "NHWC" */
    rlx_slice weights;               /* those of weights of convolutions; empty: they stay as they are */
} rlx_layout_turn;

/* False: the texts are not the same letters in different orders, or too many. */
bool rlx_layout_turn_between(rlx_slice from, rlx_slice to, rlx_layout_turn *out);

enum rlx_layout_result {
    RLX_LAYOUT_STAYS,                /* the operator does not follow */
    RLX_LAYOUT_READS,                /* its operands turn, its result is what it was */
    RLX_LAYOUT_FOLLOWS,              /* so does its result, */
    RLX_LAYOUT_FIRST_FIELD,          /* or the first field of it, */
    RLX_LAYOUT_FIELDS                /* or all fields */
};
/* How an operator follows, a row of a table. */
typedef struct rlx_layout_row rlx_layout_row;
/* Does this call follow? env: for struct info of what it reads. *row: for those below. */
enum rlx_layout_result rlx_layout_follows(rlx_context *ctx, const rlx_env *env, const rlx_layout_turn *turn,
                                          const rlx_call *call, const rlx_layout_row **row);
/* Is it a convolution, for whose sake others follow? */
bool rlx_layout_is_anchor(const rlx_layout_row *row);
/* The axes of data of such a call; empty: e is none. */
rlx_slice rlx_layout_of_anchor(const rlx_expr *e);
/* Does it take each element alone? Then it does not matter where they lie. */
bool rlx_layout_is_elementwise(const rlx_layout_row *row);
/* Does operand i turn, or what a tuple there holds? Others stay as they are. */
bool rlx_layout_turns_operand(const rlx_layout_row *row, size_t i);
/* Do the weights of a convolution turn, too, and how? */
bool rlx_layout_weights_turn(const rlx_layout_turn *turn, const rlx_call *call, rlx_layout_turn *weights);
/* The attributes of the call then. NULL: out of memory, or it has none. */
const rlx_attr *rlx_layout_attrs(rlx_context *ctx, const rlx_layout_turn *turn, const rlx_layout_row *row,
                                 const rlx_call *call);

#endif
