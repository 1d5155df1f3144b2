/*- annotate_tir_op_pattern: TIR functions say how what they write hangs on what they read, which is what fuse_ops goes by.
 *     T.func_attr({"tir.noalias": T.bool(True)})   ->   T.func_attr({"op_pattern": 0, "tir.noalias": T.bool(True)})
 * 0 elementwise, 1 broadcast, 2 injective, 3 reduction, 4 out-elementwise-fusible, 8 opaque (analysis/op_pattern.c).
 * What a function says already stays.
 * needs: any program. keeps: the rest. */
#include "transform/transform_int.h"

static const rlx_prim_func *annotate(rlx_context *ctx, const rlx_prim_func *f)
{
    int64_t stated;
    if (rlx_stated_op_pattern(f, &stated))
        return f;
    const rlx_attr *value = rlx_attr_int_new(ctx, rlx_op_pattern_of(ctx, f));
    rlx_prim_func *now = value ? rlx_prim_func_with_body(ctx, f, f->body) : NULL;
    if (!now || ctx->diags.out_of_memory || !(now->attrs = rlx_attrs_with(ctx, f->attrs, "op_pattern", value)))
        return NULL;
    now->num_attr_places = 0;
    return now;
}

const rlx_module *rlx_pass_annotate_tir_op_pattern(rlx_pass_run *run, const rlx_module *m)
{
    const rlx_node **functions = rlx_new(run->ctx, (m->num_functions + 1) * sizeof *functions);
    if (!functions)
        return NULL;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_prim_func *f = rlx_as_prim_func(m->functions[i]);
        functions[i] = f ? (const rlx_node *)annotate(run->ctx, f) : m->functions[i];
        if (!functions[i])
            return NULL;
    }
    return rlx_module_with(run->ctx, m, functions);
}
