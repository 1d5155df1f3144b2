/* legalize_ops: a call of an operator that has a lowering becomes a call_tir of the PrimFunc that computes it.
 *     y = add(x, x)   ->   y = call_tir(cls.add, (x, x), R.Tensor((n, 4), "float32"))
 * needs: normal form, struct info. keeps: variables, struct info, order. Left alone: operators that are run-time builtins
 * or lowered by later passes, and calls whose ranks, dtypes or sizes are not known (code generation names them). */
#include "transform/transform_int.h"

typedef struct legalize {
    rlx_module_builder *mb;
    const rlx_env *env;
} legalize;

/* What the call gives by its own rule: the variable may be annotated with less, or with more that is checked. */
static const rlx_sinfo *result_info(rlx_seq_pass *p, const rlx_env *env, const rlx_var *var, const rlx_call *call)
{
    const rlx_sinfo *inferred = rlx_op_infer(p->ctx, &p->scope, env, call, true);
    return inferred ? inferred : var ? var->sinfo : NULL;
}

static bool legalize_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    legalize *l = p->user;
    const rlx_call *call = rlx_as_call(rlx_binding_value(now));
    const rlx_op_row *row = rlx_callee_op(rlx_binding_value(now));
    if (!row || !row->lower)
        return rlx_seq_emit(p, now);
    const char *why = NULL;
    size_t errors = rlx_error_count(p->ctx);
    const rlx_sinfo *result = result_info(p, l->env, rlx_binding_var(now), call);
    const rlx_expr *lowered = result ? rlx_op_lower(l->mb, &p->scope, call, result, &why) : NULL;
    if (rlx_error_count(p->ctx) > errors)
        return false;
    return rlx_seq_emit(p, lowered ? rlx_with_value(p->ctx, now, lowered) : now);
}

const rlx_module *rlx_pass_legalize_ops(rlx_pass_run *run, const rlx_module *m)
{
    const rlx_module *out = NULL;
    rlx_env env = rlx_module_env(m);
    legalize l = { rlx_module_builder_create(run->ctx, m), &env };
    rlx_seq_pass p;
    if (!l.mb)
        return NULL;
    rlx_seq_init(&p, run->ctx, m, &l);
    p.binding = legalize_binding;
    p.use_scope = true;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        const rlx_function *now = f ? rlx_seq_function(&p, f) : NULL;
        if (f && (!now || (now != f && !rlx_module_builder_define(l.mb, rlx_as_global_var(m->gvars[i]), &now->node))))
            goto done;
    }
    out = rlx_module_builder_finish(l.mb, m->place);
done:
    rlx_seq_free(&p);
    rlx_module_builder_free(l.mb);
    return out;
}
