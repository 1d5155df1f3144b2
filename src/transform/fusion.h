/*- fusion.h: a function that calls TIR functions, as one TIR function (fuse_function.c), and what its callers need.
 *
 *     inputs     where each tensor comes from: a part of a parameter, or a constant of the function
 *     outputs    what it makes, and what of that is written over an input
 *     results    what the function gave back, tensor by tensor: an output, or an input as it came
 */
#ifndef RLX_FUSION_H
#define RLX_FUSION_H

#include "transform/transform_int.h"

typedef struct rlx_fused_input {
    const rlx_expr *constant;            /* NULL: of a parameter */
    uint32_t param, part;                /* the part-th tensor in the struct info of the parameter */
} rlx_fused_input;
typedef struct rlx_fused_function {
    const rlx_function *function;        /* as it was */
    const rlx_prim_func *prim;
    const rlx_fused_input *inputs; size_t num_inputs;
    const rlx_sinfo *const *outputs; size_t num_outputs;   /* in sizes of the function */
    const int64_t *inplace;              /* by output: the input, or -1 */
    bool writes;                         /* any of them is */
    const int64_t *results; size_t num_results;            /* output, or -1 - input */
    const rlx_prim *const *scalars; size_t num_scalars;    /* the tir_vars, in sizes of the function */
} rlx_fused_function;

/* NULL: it cannot be done, or out of memory (latched). */
const rlx_fused_function *rlx_fuse_function(rlx_context *ctx, const rlx_module *m, const rlx_function *f);

/* Tensors in struct info, tuples taken apart; -1: there is something else in it than tensors of listed sizes, shapes,
 * scalars and tuples of such. */
int64_t rlx_count_parts(const rlx_sinfo *s);

#endif
