/*- compute_prim_value: scalars that are neither literals nor variables are computed by functions of their own.
 *     R.assert_op(R.prim_value(n % 16 == 0))
 *  ->
 *     gv = cls.compute_symbolic_expr(R.prim_value(n))     @T.prim_func(private=True)
 *     R.assert_op(gv)                                     def compute_symbolic_expr(n: T.int64) -> T.bool:
 *                                                             T.func_attr({"tir.is_host_func": True})
 *                                                             T.ret(n % 16 == 0)
 * needs: normal form, struct info. keeps: names, struct info. */
#include "transform/transform_int.h"

typedef struct computer { rlx_module_builder *mb; } computer;

static bool is_computed(const rlx_expr *e)
{
    const rlx_prim_value *v = rlx_as_prim_value(e);
    return v && v->value->kind != RLX_NODE_INT_IMM && v->value->kind != RLX_NODE_PRIM_VAR;
}

/* The function of `vars` that gives `value`, in terms of parameters of its own. */
static const rlx_global_var *function_of(rlx_seq_pass *p, const rlx_prim *value,
                                         const rlx_prim_vars *vars)
{
    rlx_context *ctx = p->ctx;
    const computer *c = p->user;
    const rlx_expr **params = rlx_new(ctx, (vars->len + 1) * sizeof *params);
    const rlx_node **buffers = rlx_new_zero(ctx, (vars->len + 1) * sizeof *buffers);
    const rlx_prim **from = rlx_new(ctx, (vars->len + 1) * sizeof *from);
    if (!params || !buffers || !from)
        return NULL;
    for (size_t i = 0; i < vars->len; i++) {
        const rlx_prim_var *v = vars->data[i];
        const rlx_prim_var *own = rlx_prim_var_new(ctx, v->name, v->dtype, v->place);
        if (!own)
            return NULL;
        from[i] = &v->node;
        params[i] = &own->node;
    }
    const rlx_prim *body = vars->len ? rlx_substitute(ctx, value, from, params, vars->len) : value;
    const rlx_attr *yes = rlx_int(ctx, RELAX_BOOL, 1);
    const rlx_attr *attrs = yes ? rlx_attrs_with(ctx, NULL, "tir.is_host_func", yes) : NULL;
    rlx_evaluate *ret = rlx_node_new(ctx, RLX_NODE_EVALUATE);
    rlx_prim_func *f = rlx_node_new(ctx, RLX_NODE_PRIM_FUNC);
    if (!body || !attrs || !ret || !f)
        return NULL;
    ret->value = rlx_prim_call_z(ctx, rlx_prim_dtype(body), "ret", &body, 1);
    f->params = params;
    f->num_params = vars->len;
    f->buffers = buffers;
    f->num_buffers = vars->len;
    f->ret_dtype = rlx_prim_dtype(body);
    f->attrs = attrs;
    f->body = &ret->node;
    return ret->value ? rlx_module_builder_add(c->mb, RLX_SLICE("compute_symbolic_expr"), &f->node)
                      : NULL;
}

/* The call that computes e, or e if there is nothing to compute. NULL: failure. */
static const rlx_expr *call_for(rlx_seq_pass *p, const rlx_expr *e, rlx_place place)
{
    rlx_context *ctx = p->ctx;
    rlx_prim_vars vars = { 0 };
    if (!is_computed(e))
        return e;
    const rlx_prim *value = rlx_as_prim_value(e)->value;
    const rlx_expr *call = NULL;
    bool good = rlx_collect_prim_vars(&ctx->memory, value, false, &vars);
    const rlx_global_var *gv = good ? function_of(p, value, &vars) : NULL;
    const rlx_expr **args = gv ? rlx_new(ctx, (vars.len + 1) * sizeof *args) : NULL;
    for (size_t i = 0; args && i < vars.len; i++)
        if (!(args[i] = rlx_prim_value_new(ctx, &vars.data[i]->node)))
            args = NULL;
    if (args)
        call = rlx_call_new(ctx, &gv->node, args, vars.len, NULL, 0, NULL, place);
    rlx_vec_free(&ctx->memory, &vars);
    return call;
}

/* A variable with the value of e, or e. */
static const rlx_expr *leaf_for(rlx_seq_pass *p, const rlx_expr *e, rlx_place place)
{
    const rlx_expr *call = call_for(p, e, place);
    if (!call || call == e)
        return call;
    const rlx_prim *value = rlx_as_prim_value(e)->value;
    const rlx_sinfo *info = rlx_prim_info(p->ctx, rlx_prim_dtype(value), NULL);
    const rlx_var *v = info ? rlx_seq_bind(p, "gv", info, call, place) : NULL;
    return v ? &v->node : NULL;
}

static const rlx_expr *with_leaves(rlx_seq_pass *p, const rlx_call *c)
{
    const rlx_expr **args = NULL;
    for (size_t i = 0; i < c->num_args; i++) {
        if (!is_computed(c->args[i]))
            continue;
        if (!args && !(args = rlx_new_copy(p->ctx, c->args, c->num_args * sizeof *args)))
            return NULL;
        if (!(args[i] = leaf_for(p, c->args[i], c->place)))
            return NULL;
    }
    return args ? rlx_call_new(p->ctx, c->op, args, c->num_args, c->sinfo_args, c->num_sinfo_args,
                               c->attrs, c->place)
                : &c->node;
}

static bool compute(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const rlx_expr *value = rlx_binding_value(now);
    const rlx_call *c = rlx_as_call(value);
    const rlx_if_expr *branches = rlx_as_if_expr(value);
    rlx_place place = rlx_place_of(now);
    if (c) {
        value = with_leaves(p, c);
    } else if (branches && is_computed(branches->cond)) {
        const rlx_expr *cond = leaf_for(p, branches->cond, place);
        value = cond ? rlx_if_new(p->ctx, cond, branches->true_branch, branches->false_branch,
                                  branches->place)
                     : NULL;
    } else {
        value = call_for(p, value, place);
    }
    return value && rlx_seq_emit(p, rlx_with_value(p->ctx, now, value));
}

static const rlx_expr *compute_result(rlx_seq_pass *p, const rlx_expr *sequence,
                                      const rlx_expr *body)
{
    return leaf_for(p, body, rlx_place_of(sequence));
}

const rlx_module *rlx_pass_compute_prim_value(rlx_pass_run *run, const rlx_module *m)
{
    const rlx_module *out = NULL;
    computer c = { .mb = rlx_module_builder_create(run->ctx, m) };
    rlx_seq_pass p;
    if (!c.mb)
        return NULL;
    rlx_seq_init(&p, run->ctx, m, &c);
    p.binding = compute;
    p.result_of = compute_result;
    bool good = true;
    for (size_t i = 0; good && i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        const rlx_function *now = f ? rlx_seq_function(&p, f) : NULL;
        good = !f || (now && (now == f || rlx_module_builder_define(
                                              c.mb, rlx_as_global_var(m->gvars[i]), &now->node)));
    }
    if (good)
        out = rlx_module_builder_finish(c.mb, m->place);
    rlx_seq_free(&p);
    rlx_module_builder_free(c.mb);
    return out;
}
