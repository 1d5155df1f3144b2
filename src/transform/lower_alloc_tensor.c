/*- lower_alloc_tensor: a tensor that no plan has given storage gets storage of its own.
 *     x = R.builtin.alloc_tensor(R.shape([4, n]), "float32", 0)
 *  ->
 *     storage = R.memory.alloc_storage(R.shape([n * 16]), 0, "global", "uint8")
 *     x = R.memory.alloc_tensor(storage, 0, R.shape([4, n]), "float32")
 * needs: normal form, struct info. keeps: the rest. */
#include "transform/transform_int.h"

static const rlx_expr *bytes_of(rlx_context *ctx, const rlx_shape_expr *shape, rlx_dtype dtype)
{
    const rlx_prim *n = rlx_int64(ctx, 1);
    for (size_t i = 0; n && i < shape->num_values; i++)
        n = rlx_fold_mul(ctx, n, shape->values[i]);
    n = n ? rlx_fold_mul(ctx, n, rlx_int64(ctx, (int64_t)rlx_dtype_bytes(dtype))) : NULL;
    return n ? rlx_shape_new(ctx, &n, 1) : NULL;
}

static bool lower(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    rlx_context *ctx = p->ctx;
    const rlx_call *c = rlx_as_call(rlx_binding_value(now));
    const rlx_op_row *row = rlx_callee_op(rlx_binding_value(now));
    bool alloc = row && strcmp(row->short_name, "builtin.alloc_tensor") == 0 && c->num_args == 4;
    const rlx_shape_expr *shape = alloc ? rlx_as_shape_expr(c->args[0]) : NULL;
    const rlx_dtype_imm *dtype = alloc ? rlx_as_dtype_imm(c->args[1]) : NULL;
    if (!shape || !dtype)
        return rlx_seq_emit(p, now);
    const rlx_prim *zero = rlx_int64(ctx, 0);
    const rlx_expr *size[4] = { bytes_of(ctx, shape, dtype->value), c->args[2], c->args[3],
                                rlx_dtype_imm_new(ctx, RELAX_UINT8) };
    const rlx_expr *call = rlx_plain_call(ctx, "relax.memory.alloc_storage", size, 4, c->place);
    const rlx_var *storage =
        call ? rlx_seq_bind(p, "storage", ctx->object, call, c->place) : NULL;
    const rlx_expr *args[4] = { storage ? &storage->node : NULL,
                                zero ? rlx_prim_value_new(ctx, zero) : NULL, c->args[0],
                                c->args[1] };
    const rlx_expr *tensor =
        storage ? rlx_plain_call(ctx, "relax.memory.alloc_tensor", args, 4, c->place) : NULL;
    return tensor && rlx_seq_emit(p, rlx_with_value(ctx, now, tensor));
}

const rlx_module *rlx_pass_lower_alloc_tensor(rlx_pass_run *run, const rlx_module *m)
{
    rlx_seq_pass p;
    rlx_seq_init(&p, run->ctx, m, NULL);
    p.binding = lower;
    const rlx_module *out = rlx_seq_module(&p, m);
    rlx_seq_free(&p);
    return out;
}
