/* pipeline.c: the lists of passes in front of code generation. What leaves them is in
 * README.md. */
#include "transform/transform_int.h"

/* Level 0 lowers only; level 1 cleans up before and after, and plans memory; 2 is 1 until
 * fusion exists. */
static const struct { uint8_t level; const char *pass; } build_passes[] = {
    { 0, "normalize" },
    { 0, "lambda_lift" },
    { 0, "fuse_multiply_add" },
    { 0, "realize_vdevice" },
    { 0, "copy_constants" },
    { 1, "canonicalize_bindings" },
    { 1, "fold_constant" },
    { 1, "dead_code_elimination" },
    { 0, "legalize_ops" },
    { 0, "call_tir_rewrite" },
    { 1, "dead_code_elimination" },
    { 1, "plan_memory" },
    { 1, "pack_constants" },
    { 1, "schedule_tir" },
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
