/*- lower_runtime_builtin: operators that the machine does itself become calls of its functions.
 *     y = R.reshape(x, s)             ->  y = R.call_packed("vm.builtin.reshape", x, s, sinfo_args=...)
 *     t = R.memory.alloc_tensor(..)   ->  t = R.vm.alloc_tensor(..)
 *     R.memory.kill_tensor(t)         ->  R.vm.kill_object(t)
 * A pure function that changed has relax.force_pure. needs: normal form, struct info. keeps: names, struct
 * info. */
#include "transform/transform_int.h"

/* How each is lowered: to a packed function, or to an operator with its arguments in another order. */
static const struct lowering { const char *op, *packed, *vm; uint8_t order[4]; } lowerings[] = {
    { "reshape", "vm.builtin.reshape", NULL, { 0 } },
    { "shape_of", "vm.builtin.shape_of", NULL, { 0 } },
    { "tensor_to_shape", "vm.builtin.tensor_to_shape", NULL, { 0 } },
    { "make_closure", "vm.builtin.make_closure", NULL, { 0 } },
    { "invoke_closure", "vm.builtin.invoke_closure", NULL, { 0 } },
    { "memory.view", "runtime.TVMArrayCreateView", NULL, { 0 } },
    { "memory.ensure_zero_offset", "vm.builtin.ensure_zero_offset", NULL, { 0 } },
    { "memory.alloc_storage", NULL, "relax.vm.alloc_storage", { 0, 1, 3, 2 } },
    { "memory.alloc_tensor", NULL, "relax.vm.alloc_tensor", { 0, 1, 2, 3 } },
    { "memory.kill_storage", NULL, "relax.vm.kill_object", { 0 } },
    { "memory.kill_tensor", NULL, "relax.vm.kill_object", { 0 } },
};

static const struct lowering *lowering_of(const rlx_op_row *row)
{
    for (size_t i = 0; row && i < RLX_COUNT(lowerings); i++)
        if (strcmp(row->short_name, lowerings[i].op) == 0)
            return &lowerings[i];
    return NULL;
}

/* A view is what its arguments say: the function comes with the rule. */
static const rlx_expr *described_view(rlx_context *ctx, const rlx_call *c, const char *name)
{
    const rlx_string *derive = rlx_string_z(ctx, "tvm.relax.struct_info.infer_view_sinfo");
    const rlx_sinfo *s = derive ? rlx_opaque_func_info(ctx, RLX_DERIVE_NAMED, derive, ctx->object,
                                                       true)
                                : NULL;
    const rlx_expr *f = s ? rlx_extern_func_of(ctx, rlx_slice_z(name), s) : NULL;
    return f ? rlx_call_new(ctx, f, c->args, c->num_args, NULL, 0, NULL, c->place) : NULL;
}

static const rlx_expr *lowered(rlx_seq_pass *p, const rlx_call *c, const struct lowering *how,
                               const rlx_sinfo *result)
{
    const rlx_expr *args[4];
    if (how->vm) {
        for (size_t i = 0; i < c->num_args && i < 4; i++)
            args[i] = c->args[c->num_args == 1 ? 0 : how->order[i]];
        return rlx_plain_call(p->ctx, how->vm, args, c->num_args, c->place);
    }
    if (strcmp(how->op, "memory.view") == 0)
        return described_view(p->ctx, c, how->packed);
    const rlx_expr *f = rlx_extern_func_new(p->ctx, rlx_slice_z(how->packed));
    return f && result ? rlx_call_new(p->ctx, f, c->args, c->num_args, &result, 1, NULL, c->place)
                       : NULL;
}

static bool lower(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const rlx_call *c = rlx_as_call(rlx_binding_value(now));
    const rlx_op_row *row = rlx_callee_op(rlx_binding_value(now));
    const struct lowering *how = lowering_of(row);
    const rlx_var *v = rlx_binding_var(now);
    if (row && strcmp(row->short_name, "builtin.alloc_tensor") == 0)
        return rlx_error(p->ctx, RLX_CG03, c->place,
                         "R.builtin.alloc_tensor: lower_alloc_tensor comes first") != NULL;
    if (!how || (how->vm && c->num_args > 4))
        return rlx_seq_emit(p, now);
    /* of a cast the value is not what the variable says */
    const rlx_env env = rlx_module_env(p->module);
    const rlx_sinfo *result = now->kind == RLX_NODE_VAR_BINDING && v
                                  ? v->sinfo
                                  : rlx_op_infer(p->ctx, NULL, &env, c, true);
    const rlx_expr *value = lowered(p, c, how, result);
    return value && rlx_seq_emit(p, rlx_with_value(p->ctx, now, value));
}

const rlx_module *rlx_pass_lower_runtime_builtin(rlx_pass_run *run, const rlx_module *m)
{
    rlx_seq_pass p;
    rlx_seq_init(&p, run->ctx, m, NULL);
    p.binding = lower;
    p.function = rlx_seq_force_pure;
    p.plain_blocks = true;
    const rlx_module *out = rlx_seq_module(&p, m);
    rlx_seq_free(&p);
    return out;
}
