/*- realize_vdevice: every tensor gets its device, hints become copies or nothing (language 8).
 *     x: R.Tensor((4,), "float32")             ->   x: R.Tensor((4,), "float32", "cuda:0")
 *     a = R.add(x, x)                               a = R.add(x, x)
 *     b = R.hint_on_device(a, R.cuda(0))            b = a
 *     c = R.hint_on_device(b, R.cuda(1))            c = R.to_vdevice(b, "cuda:1")
 * needs: normal form, struct info. keeps: normal form, struct info. A module that lists no
 * devices is left alone. Reports VD01 to VD03, and by inferring again what is not where an
 * annotation has it. */
#include "transform/device_propagation.h"
#include "transform/transform_int.h"

typedef struct realize { rlx_context *ctx; rlx_device_propagation propagation; } realize;

/* ---- signatures ----------------------------------------------------------------------------- */

/* A description of f with the devices of its parameters and result. */
static const rlx_sinfo *signature(realize *r, const rlx_function *f, const rlx_sinfo *described)
{
    const rlx_func_sinfo *s = rlx_as_func_sinfo(described);
    if (!s || s->derive || s->num_params != f->num_params)
        return described;
    size_t bytes = (s->num_params + 1) * sizeof *s->params;
    const rlx_sinfo **params = rlx_mem_alloc(&r->ctx->memory, bytes), *out = NULL,
                    *like = rlx_device_result_info(r->ctx, f),
                    *ret = rlx_device_propagation_sinfo(&r->propagation, &f->node, like, s->ret);
    bool good = params;
    for (size_t i = 0; good && i < s->num_params; i++) {
        const rlx_var *v = rlx_as_var(f->params[i]);
        params[i] =
            v ? rlx_device_propagation_sinfo(&r->propagation, &v->node, v->sinfo, s->params[i])
              : s->params[i];
        good = params[i] != NULL;
    }
    if (good && ret)
        out = rlx_func_info(r->ctx, s->binders, s->num_binders, params, s->num_params, ret,
                            s->is_pure);
    rlx_mem_free(&r->ctx->memory, params, bytes);
    return out;
}

static bool same_params(const rlx_function *a, const rlx_expr *const *params)
{
    for (size_t i = 0; i < a->num_params; i++)
        if (a->params[i] != params[i])
            return false;
    return true;
}

/* now with its new parameters, result and signature. */
static const rlx_function *with_signature(realize *r, const rlx_function *old,
                                          const rlx_function *now, const rlx_expr *const *params)
{
    const rlx_sinfo *like = rlx_device_result_info(r->ctx, old), *ret = now->ret_sinfo,
                    *sinfo = signature(r, old, old->sinfo);
    ret = rlx_device_propagation_sinfo(&r->propagation, &old->node, like, ret);
    if ((old->sinfo && !sinfo) || (now->ret_sinfo && !ret))
        return NULL;
    if (same_params(now, params) && ret == now->ret_sinfo && sinfo == now->sinfo)
        return now;
    const rlx_function *f =
        rlx_function_new(r->ctx, params, now->num_params, now->body, ret, now->ret_stated,
                         now->is_pure, now->attrs, sinfo, now->place);
    if (f)
        rlx_function_take_places(f, now, true);
    return f;
}

static const rlx_function *realize_function(rlx_seq_pass *p, const rlx_function *old,
                                            const rlx_function *now)
{
    size_t bytes = (now->num_params + 1) * sizeof *now->params;
    const rlx_expr **params = rlx_mem_alloc(&p->ctx->memory, bytes);
    bool good = params;
    for (size_t i = 0; good && i < now->num_params; i++)
        good = (params[i] = rlx_seq_rename(p, now->params[i])) != NULL;
    const rlx_function *f = good ? with_signature(p->user, old, now, params) : NULL;
    rlx_mem_free(&p->ctx->memory, params, bytes);
    return f;
}

/* ---- bindings ------------------------------------------------------------------------------- */

static const rlx_expr *copied(rlx_context *ctx, const rlx_expr *x, const rlx_node *device,
                              rlx_place place)
{
    const rlx_attr *key = rlx_attr_string_new(ctx, RLX_SLICE("dst_vdevice"));
    const rlx_attr *attrs = key ? rlx_attrs_in_order(ctx, &key, &device, 1) : NULL;
    return attrs && x ? rlx_call_op_z(ctx, "relax.to_vdevice", &x, 1, attrs, place) : NULL;
}

/* The value in place of a hint: its operand where it is there already, else a copy. */
static const rlx_expr *realized_hint(realize *r, const rlx_call *old, const rlx_call *now)
{
    const rlx_node *device = rlx_hinted_device(r->propagation.module, old);
    if (!device)
        return RLX_BUG(r->ctx, "a hint names no device");
    if (rlx_device_propagation_is_on(&r->propagation, old->args[0], device))
        return now->args[0];
    return copied(r->ctx, now->args[0], device, now->place);
}

/* A tuple is copied field by field; inference has bounded its depth, so recursion is. */
static const rlx_expr *copied_tuple(rlx_seq_pass *p, const rlx_expr *x, const rlx_sinfo *from,
                                    const rlx_sinfo *to, const rlx_node *device, rlx_place place)
{
    const rlx_tuple_sinfo *a = rlx_as_tuple_sinfo(from), *b = rlx_as_tuple_sinfo(to);
    if (!a || !b || a->num_fields != b->num_fields)
        return copied(p->ctx, x, device, place);
    size_t bytes = (a->num_fields + 1) * sizeof(const rlx_expr *);
    const rlx_expr **fields = rlx_mem_alloc(&p->ctx->memory, bytes), *out = NULL;
    bool good = fields;
    for (size_t i = 0; good && i < a->num_fields; i++) {
        const rlx_expr *item = rlx_tuple_get_item_new(p->ctx, x, (int64_t)i, place);
        const rlx_var *v = rlx_seq_bind(p, "item", a->fields[i], item, place);
        const rlx_expr *copy =
            v ? copied_tuple(p, &v->node, a->fields[i], b->fields[i], device, place) : NULL;
        v = copy ? rlx_seq_bind(p, "copy", b->fields[i], copy, place) : NULL;
        fields[i] = (const rlx_expr *)v;
        good = v != NULL;
    }
    if (good)
        out = rlx_tuple_new(p->ctx, fields, a->num_fields, place);
    rlx_mem_free(&p->ctx->memory, fields, bytes);
    return out;
}

/* Copies of tuples become copies of their fields. */
static const rlx_expr *realized_copy(rlx_seq_pass *p, const rlx_call *c, const rlx_sinfo *result)
{
    const rlx_sinfo *s = c->num_args ? rlx_leaf_sinfo(p->ctx, NULL, c->args[0]) : NULL;
    const rlx_node *device = rlx_call_attr(c, "dst_vdevice");
    if (!rlx_as_tuple_sinfo(s) || !rlx_as_tuple_sinfo(result))
        return &c->node;
    return copied_tuple(p, c->args[0], s, result, device, c->place);
}

/* Calls that state their result state its device too. */
static const rlx_expr *stated_call(realize *r, const rlx_node *owner, const rlx_sinfo *like,
                                   const rlx_call *c)
{
    enum rlx_op_id id = rlx_op_id_of(c->op);
    bool states = id == RLX_OP_ID_CALL_TIR || id == RLX_OP_ID_CALL_TIR_INPLACE ||
                  id == RLX_OP_ID_CALL_TIR_WITH_GRAD || id == RLX_OP_ID_CALL_DPS_PACKED;
    if (!states || c->num_sinfo_args != 1)
        return &c->node;
    const rlx_sinfo *s =
        rlx_device_propagation_sinfo(&r->propagation, owner, like, c->sinfo_args[0]);
    if (!s || s == c->sinfo_args[0])
        return s ? &c->node : NULL;
    return rlx_call_new(r->ctx, c->op, c->args, c->num_args, &s, 1, c->attrs, c->place);
}

static const rlx_expr *realized_value(rlx_seq_pass *p, const rlx_binding *old,
                                      const rlx_binding *binding)
{
    realize *r = p->user;
    const rlx_expr *now = rlx_binding_value(binding);
    const rlx_match_cast *cast = rlx_as_match_cast(old);
    const rlx_var *v = rlx_binding_var(old);
    const rlx_call *c = rlx_as_call(now), *before = rlx_as_call(rlx_binding_value(old));
    if (!c || !before)
        return now;
    if (rlx_is_call_op(now, RLX_OP_ID_HINT_ON_DEVICE))
        return realized_hint(r, before, c);
    if (rlx_is_call_op(now, RLX_OP_ID_TO_VDEVICE))
        return realized_copy(p, c, v ? rlx_binding_var(binding)->sinfo : NULL);
    return stated_call(r, cast ? old : (const rlx_node *)v,
                       cast ? cast->sinfo : v ? v->sinfo : NULL, c);
}

static bool realize_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    realize *r = p->user;
    const rlx_match_cast *cast = rlx_as_match_cast(now), *before = rlx_as_match_cast(old);
    const rlx_expr *value = realized_value(p, old, now);
    if (!value)
        return false;
    const rlx_var *v = cast ? NULL : rlx_binding_var(now);
    if (v && rlx_device_propagation_assumes(&r->propagation, rlx_binding_var(old)))
        return rlx_seq_emit(p, rlx_match_cast_new(p->ctx, v, v->sinfo, value, rlx_place_of(now)));
    if (!cast)
        return rlx_seq_emit(p, rlx_with_value(p->ctx, now, value));
    const rlx_sinfo *target =
        rlx_device_propagation_sinfo(&r->propagation, old, before->sinfo, cast->sinfo);
    if (target == cast->sinfo)
        return rlx_seq_emit(p, rlx_with_value(p->ctx, now, value));
    return target && rlx_seq_emit(p, rlx_match_cast_new(p->ctx, rlx_binding_var(now), target, value,
                                                        rlx_place_of(now)));
}

/* ---- module --------------------------------------------------------------------------------- */

static bool replace(rlx_seq_pass *p, const rlx_var *v, const rlx_sinfo *s)
{
    if (!s || s == v->sinfo)
        return s != NULL;
    const rlx_var *now =
        rlx_var_like(p->ctx, v, v->node.kind == RLX_NODE_DATAFLOW_VAR, s);
    return now && rlx_seq_replace(p, &v->node, &now->node);
}

/* Variables as they are from now on. */
static bool replace_vars(rlx_seq_pass *p, realize *r)
{
    rlx_device_propagation *d = &r->propagation;
    for (size_t i = 0; i < d->vars.len; i++) {
        const rlx_var *v = rlx_as_var(d->vars.data[i].node);
        const rlx_node *constant = rlx_ptrmap_get(&d->scattered, v);
        if (constant
                ? !rlx_seq_replace(p, &v->node, constant)
                : v->sinfo &&
                      !replace(p, v, rlx_device_propagation_sinfo(d, &v->node, v->sinfo, v->sinfo)))
            return false;
    }
    for (size_t i = 0; i < d->locals.len; i++) {
        const rlx_var *v = rlx_as_var(d->locals.data[i].node);
        const rlx_function *f = rlx_ptrmap_get(&d->literals, v);
        if (v->sinfo && !replace(p, v, signature(r, f, v->sinfo)))
            return false;
    }
    return true;
}

static const rlx_module *rewritten(realize *r, const rlx_module *m)
{
    rlx_seq_pass p;
    rlx_seq_init(&p, r->ctx, m, r);
    p.binding = realize_binding;
    p.function = realize_function;
    p.keep_names = true;
    const rlx_module *out = replace_vars(&p, r) ? rlx_seq_module(&p, m) : NULL;
    rlx_seq_free(&p);
    return out;
}

const rlx_module *rlx_pass_realize_vdevice(rlx_pass_run *run, const rlx_module *m)
{
    realize r = { .ctx = run->ctx };
    size_t errors = rlx_error_count(run->ctx);
    if (!rlx_listed_vdevices(m))
        return m;
    bool found = rlx_device_propagation_find(&r.propagation, run->ctx, m);
    const rlx_module *out =
        found && rlx_error_count(run->ctx) == errors ? rewritten(&r, m) : NULL;
    rlx_device_propagation_free(&r.propagation);
    return out ? rlx_infer_module_again(run->ctx, out, true) : NULL;
}
