/*- remove_purity_checking: nobody looks at purity any more; what vouched for it goes.
 *     @R.function                                        R.func_attr({"relax.force_pure": True})
 *     y = R.call_pure_packed("f", x, sinfo_args=S)   ->  y = R.call_packed("f", x, sinfo_args=S)
 * invoke_pure_closure becomes invoke_closure. Dataflow blocks, which hold no impure calls, become ordinary ones.
 * needs: normal form, struct info. keeps: order, names, struct info. */
#include "transform/transform_int.h"

static const rlx_expr *unwrapped(rlx_context *ctx, const rlx_call *c)
{
    if (rlx_is_op(c->op, RLX_OP_ID_INVOKE_PURE_CLOSURE)) {
        const rlx_op_row *row = rlx_op_find(RLX_SLICE("invoke_closure"));
        return row ? rlx_call_new(ctx, rlx_op_node(ctx, row), c->args, c->num_args, c->sinfo_args,
                                  c->num_sinfo_args, c->attrs, c->place)
                   : NULL;
    }
    const rlx_op_row *row = rlx_callee_op(&c->node);
    bool packed = rlx_is_op(c->op, RLX_OP_ID_CALL_PURE_PACKED) ||
                  (row && strcmp(row->short_name, "call_inplace_packed") == 0);
    if (!packed || !c->num_args)
        return &c->node;
    return rlx_call_new(ctx, c->args[0], c->args + 1, c->num_args - 1, c->sinfo_args,
                        c->num_sinfo_args, NULL, c->place);
}

static bool unwrap(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const rlx_call *c = rlx_as_call(rlx_binding_value(now));
    const rlx_expr *value = c ? unwrapped(p->ctx, c) : rlx_binding_value(now);
    return value && rlx_seq_emit(p, rlx_with_value(p->ctx, now, value));
}

static const rlx_function *force_pure(rlx_seq_pass *p, const rlx_function *old,
                                      const rlx_function *now)
{
    if (!now->is_pure || rlx_attrs_get(now->attrs, "relax.force_pure"))
        return now;
    const rlx_attr *yes = rlx_attr_bool_new(p->ctx, true);
    const rlx_attr *attrs =
        yes ? rlx_attrs_with(p->ctx, now->attrs, "relax.force_pure", yes) : NULL;
    return attrs ? rlx_function_with(p->ctx, now, now->body, attrs) : NULL;
}

const rlx_module *rlx_pass_remove_purity_checking(rlx_pass_run *run, const rlx_module *m)
{
    rlx_seq_pass p;
    rlx_seq_init(&p, run->ctx, m, NULL);
    p.binding = unwrap;
    p.function = force_pure;
    p.plain_blocks = true;
    const rlx_module *out = rlx_seq_module(&p, m);
    rlx_seq_free(&p);
    return out;
}
