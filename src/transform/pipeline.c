/* pipeline.c: the lists of passes in front of code generation. What leaves them is in
 * README.md. */
#include "transform/transform_int.h"

/* Level 0 lowers only; level 1 cleans up before and after, plans memory and puts loops in order; level 2 lets what follows
 * each other run together. */
static const struct { uint8_t level; const char *pass; } build_passes[] = {
    { 0, "normalize" },
    { 0, "fuse_multiply_add" },
    { 1, "fold_constant" },
    { 0, "lambda_lift" },
    { 0, "realize_vdevice" },
    { 0, "copy_constants" },
    { 1, "canonicalize_bindings" },
    { 2, "convert_layout" },
    { 1, "split_zero_points" },
    { 1, "turn_pixels" },
    { 2, "combine_split_matmul" },
    { 1, "fold_constant" },
    { 1, "dead_code_elimination" },
    { 2, "fuse_attention" },
    { 0, "legalize_ops" },
    { 2, "annotate_tir_op_pattern" },
    { 2, "fuse_ops" },
    { 2, "fuse_tir" },
    { 0, "call_tir_rewrite" },
    { 1, "dead_code_elimination" },
    { 1, "place_views" },
    { 1, "place_parts" },
    { 1, "pack_constants" },
    { 1, "schedule_tir" },
    { 1, "reuse_operands" },
    { 1, "lift_temporaries" },
    { 1, "plan_memory" },
};

size_t rlx_build_pipeline(int opt_level, rlx_pass_step *steps)
{
    size_t n = 0;
    for (size_t i = 0; i < RLX_COUNT(build_passes); i++)
        if (build_passes[i].level <= opt_level)
            steps[n++] =
                (rlx_pass_step){ .row = rlx_pass_find(rlx_slice_z(build_passes[i].pass)),
                                 .in_order = true };
    return n;
}
