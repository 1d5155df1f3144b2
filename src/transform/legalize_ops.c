/*- legalize_ops: a call of an operator that has a lowering becomes a call_tir of the PrimFunc
 * that computes it.
 *     y = add(x, x)   ->   y = call_tir(cls.add, (x, x), R.Tensor((n, 4), "float32"))
 * Sizes that the program does not state are named by casts in front of the call (sized.h); a
 * variable that is known less well than its value keeps its struct info, and later operators
 * use the value:
 *     z = exp(x)      ->   x_1 = match_cast(x, R.Tensor((x_d0,), "float32"))
 *                          z_1 = call_tir(cls.exp, (x_1,), R.Tensor((x_d0,), "float32"))
 *                          z = z_1
 * An operator that is run by a packed function of the host becomes a call of that, and one that
 * gives its argument back becomes the argument, unless other passes look for it.
 * needs: normal form, struct info. keeps: variables, struct info, order. Left alone: operators
 * that are run-time builtins or lowered by later passes, and calls whose ranks or dtypes are
 * not known (code generation names them). */
#include "transform/transform_int.h"
#include "transform/sized.h"

typedef struct legalize {
    rlx_module_builder *mb;
    rlx_lower_cache *cache;
    const rlx_env *env;
    rlx_sized sized;
} legalize;

/* Struct info of the call by its own rule: the variable may be annotated with less, or with more
 * that is checked. */
static const rlx_sinfo *result_info(rlx_seq_pass *p, const rlx_env *env, const rlx_var *var,
                                    const rlx_call *call)
{
    const rlx_sinfo *inferred = rlx_op_infer(p->ctx, &p->scope, env, call, true);
    return inferred ? inferred : var ? var->sinfo : NULL;
}

static const rlx_call *lower(rlx_seq_pass *p, const rlx_var *var, const rlx_call *call)
{
    legalize *l = p->user;
    const rlx_sinfo *result = result_info(p, l->env, var, call);
    return rlx_as_call(result ? rlx_op_lower_cached(l->cache, &p->scope, call, result, NULL)
                              : NULL);
}

/* Lowered with sizes named that have no names. NULL: it has no lowering, or failed. */
static const rlx_call *lower_sized(rlx_seq_pass *p, const rlx_var *var, const rlx_call *call)
{
    legalize *l = p->user;
    const rlx_call *named = rlx_sized_call(&l->sized, call);
    const rlx_call *lowered = named && named != call ? lower(p, var, named) : NULL;
    if (lowered)
        return rlx_sized_keep(&l->sized) ? lowered : NULL;
    rlx_sized_drop(&l->sized);
    return NULL;
}

/* Is the value a tensor of plain sizes, unlike its variable? Sizes that are computed get names
 * at the next use instead: a chain of unproved broadcasts would double them at each step. */
static bool knows_more(const rlx_binding *now, const rlx_call *lowered)
{
    const rlx_var *var = rlx_binding_var(now);
    const rlx_tensor_sinfo *value =
        lowered->num_sinfo_args ? rlx_as_tensor_sinfo(lowered->sinfo_args[0]) : NULL;
    const rlx_tensor_sinfo *stated = var ? rlx_as_tensor_sinfo(var->sinfo) : NULL;
    const rlx_shape_expr *sizes = value ? rlx_as_shape_expr(value->shape) : NULL;
    if (now->kind != RLX_NODE_VAR_BINDING || !sizes || !stated || !rlx_sizes_missing(var->sinfo))
        return false;
    bool plain = stated->ndim == value->ndim && stated->dtype == value->dtype;
    for (size_t i = 0; plain && i < sizes->num_values; i++)
        plain = rlx_is(sizes->values[i], RLX_NODE_INT_IMM) ||
                rlx_is(sizes->values[i], RLX_NODE_PRIM_VAR);
    return plain;
}

/* The call with fields of tuples among its inputs bound to variables; NULL: out of memory. */
static const rlx_call *bind_fields(rlx_seq_pass *p, const rlx_call *lowered)
{
    rlx_context *ctx = p->ctx;
    const rlx_tuple *inputs = lowered->num_args > 1 ? rlx_as_tuple(lowered->args[1]) : NULL;
    const rlx_expr *args[3] = { lowered->args[0], NULL,
                                lowered->num_args > 2 ? lowered->args[2] : NULL };
    bool found = false;
    for (size_t i = 0; inputs && i < inputs->num_fields; i++)
        found |= rlx_is(inputs->fields[i], RLX_NODE_TUPLE_GET_ITEM);
    if (!found || lowered->num_args > 3)
        return lowered;
    const rlx_expr **fields =
        rlx_new_copy(ctx, inputs->fields, inputs->num_fields * sizeof *inputs->fields);
    for (size_t i = 0; fields && i < inputs->num_fields; i++) {
        const rlx_tuple_get_item *get = rlx_as_tuple_get_item(fields[i]);
        if (!get)
            continue;
        const rlx_sinfo *info = rlx_leaf_sinfo(ctx, ((legalize *)p->user)->env, get->tuple);
        const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(info);
        if (!t || !(fields[i] = (const rlx_expr *)rlx_seq_bind(p, "field", t->fields[get->index],
                                                               fields[i], lowered->place)))
            return NULL;
    }
    args[1] = fields ? rlx_tuple_new(ctx, fields, inputs->num_fields, inputs->place) : NULL;
    return args[1] ? rlx_as_call(rlx_call_new(ctx, lowered->op, args, lowered->num_args,
                                              lowered->sinfo_args, lowered->num_sinfo_args,
                                              lowered->attrs, lowered->place))
                   : NULL;
}

static bool emit_lowered(rlx_seq_pass *p, const rlx_binding *now, const rlx_call *lowered)
{
    legalize *l = p->user;
    const rlx_var *var = rlx_binding_var(now);
    lowered = bind_fields(p, lowered);
    if (!lowered || !knows_more(now, lowered))
        return lowered && rlx_seq_emit(p, rlx_with_value(p->ctx, now, &lowered->node));
    const rlx_var *value =
        rlx_var_like(p->ctx, var, rlx_seq_in_dataflow(p), lowered->sinfo_args[0]);
    return value &&
           rlx_seq_emit(p, rlx_var_binding_new(p->ctx, value, &lowered->node, lowered->place)) &&
           rlx_sized_put(&l->sized, &var->node, &value->node) &&
           rlx_seq_emit(p, rlx_with_value(p->ctx, now, &value->node));
}

/* A call of the packed function of the operator, with the result that the rule gives. */
static bool call_packed(rlx_seq_pass *p, const rlx_binding *now, const rlx_call *call)
{
    legalize *l = p->user;
    const char *why = NULL;
    size_t errors = rlx_error_count(p->ctx);
    const rlx_sinfo *result = result_info(p, l->env, rlx_binding_var(now), call);
    const rlx_expr *packed = result ? rlx_op_packed(p->ctx, call, result, &why) : NULL;
    if (packed)
        return rlx_seq_emit(p, rlx_with_value(p->ctx, now, packed));
    return why && rlx_error_count(p->ctx) == errors && rlx_seq_emit(p, now);
}

static bool legalize_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    legalize *l = p->user;
    const rlx_call *call = rlx_as_call(rlx_binding_value(now));
    const rlx_op_row *row = rlx_callee_op(rlx_binding_value(now));
    rlx_sized_leave(&l->sized, rlx_seq_depth(p) + 1);
    if (row && row->flags & RLX_OP_IDENTITY && row->id == RLX_OP_ID_NONE && call->num_args)
        return rlx_seq_emit(p, rlx_with_value(p->ctx, now, call->args[0]));
    if (!row || !row->lower)
        return row && row->packed ? call_packed(p, now, call) : rlx_seq_emit(p, now);
    size_t errors = rlx_error_count(p->ctx);
    const rlx_call *lowered = lower(p, rlx_binding_var(now), call);
    if (!lowered && rlx_error_count(p->ctx) == errors)
        lowered = lower_sized(p, rlx_binding_var(now), call);
    if (rlx_error_count(p->ctx) > errors)
        return false;
    if (!lowered && row->packed)
        return call_packed(p, now, call);
    return lowered ? emit_lowered(p, now, lowered) : rlx_seq_emit(p, now);
}

/* Names bound in a dataflow block are not known after it, those of a branch not after the
 * branch. */
static bool enter_block(rlx_seq_pass *p, const rlx_block *block)
{
    legalize *l = p->user;
    rlx_sized_leave(&l->sized, rlx_seq_depth(p));
    return true;
}

const rlx_module *rlx_pass_legalize_ops(rlx_pass_run *run, const rlx_module *m)
{
    const rlx_module *out = NULL;
    rlx_env env = rlx_module_env(m);
    legalize l = { .mb = rlx_module_builder_create(run->ctx, m), .env = &env };
    rlx_seq_pass p;
    l.cache = l.mb ? rlx_lower_cache_create(run->ctx, l.mb) : NULL;
    if (!l.cache) {
        rlx_module_builder_free(l.mb);
        return NULL;
    }
    rlx_seq_init(&p, run->ctx, m, &l);
    rlx_sized_init(&l.sized, &p);
    p.binding = legalize_binding;
    p.enter_block = enter_block;
    p.use_scope = true;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        rlx_sized_clear(&l.sized);
        const rlx_function *now = f ? rlx_seq_function(&p, f) : NULL;
        if (f && (!now || (now != f && !rlx_module_builder_define(
                                           l.mb, rlx_as_global_var(m->gvars[i]), &now->node))))
            goto done;
    }
    out = rlx_module_builder_finish(l.mb, m->place);
done:
    rlx_sized_free(&l.sized);
    rlx_seq_free(&p);
    rlx_lower_cache_free(l.cache);
    rlx_module_builder_free(l.mb);
    return out;
}
