/*- fuse_tir: a function with the attribute Primitive becomes one TIR function: the bodies of those that it calls, one
 * after the other, with temporaries between them.
 *     @R.function(private=True)                              @T.prim_func(private=True)
 *     def fused_add_exp(x, c):                               def fused_add_exp(x, c, y):
 *         lv = call_tir(cls.add, (x, c), ...)      ->            lv = T.alloc_buffer(...)
 *         y = call_tir(cls.exp, (lv,), ...)                      ... add ...; ... exp ...
 *     z = cls.fused_add_exp(x, c)                            z = call_tir(cls.fused_add_exp, (x, c), ...)
 *
 * Tuples among parameters and results are taken apart, parameters that nothing reads are left out, and sizes that no
 * tensor binds are passed as tir_vars. What is written over a parameter comes out as a result that is written in place.
 * Left as it is: a function that does anything but call_tir (proved to fit: tir_call.h) and tuples, or that is public,
 * mentioned other than called, or called with tensors of unknown sizes.
 * needs: normal form. keeps: the rest, but for what nothing uses afterwards (dead_code_elimination). */
#include "transform/fusion.h"
#include "transform/tir_call.h"

typedef struct fusing {
    rlx_context *ctx;
    const rlx_module *module;
    rlx_env env;
    rlx_ptrmap done;                     /* GlobalVar -> its rlx_fused_function */
    rlx_ptrmap infos;                    /* call -> struct info of its outputs, then the tir_vars as a shape */
} fusing;

#define MEMORY(z) (&(z)->ctx->memory)

static const rlx_fused_function *fused_of(const fusing *z, const rlx_expr *e)
{
    const rlx_call *call = rlx_as_call(e);
    return call ? rlx_ptrmap_get(&z->done, call->op) : NULL;
}

/* ---- which functions? ----------------------------------------------------------------------- */

/* Outputs and scalars in the sizes of the function. */
static const rlx_sinfo *inner_info(rlx_context *ctx, const rlx_fused_function *f)
{
    const rlx_sinfo **infos = rlx_new(ctx, (f->num_outputs + 1) * sizeof *infos);
    for (size_t i = 0; infos && i < f->num_outputs; i++)
        infos[i] = f->outputs[i];
    if (!infos || !(infos[f->num_outputs] = rlx_shape_info(ctx, f->scalars, f->num_scalars)))
        return NULL;
    return rlx_tuple_info(ctx, infos, f->num_outputs + 1);
}

static bool is_known(const rlx_sinfo *info)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(info);
    size_t n;
    for (size_t i = 0; t && i + 1 < t->num_fields; i++)
        if (!rlx_listed_dims(t->fields[i], &n))
            return false;
    return t && rlx_as_shape_sinfo(t->fields[t->num_fields - 1])->has_values;
}

/* Nothing is left that the function would check when it is entered. */
static bool fits_all(fusing *z, const rlx_fused_function *f, const rlx_call *call, rlx_mapping *map)
{
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_sinfo *have = rlx_leaf_sinfo(z->ctx, &z->env, call->args[i]),
                        *want = rlx_mapping_apply(map, rlx_as_var(f->function->params[i])->sinfo);
        if (!have || !want || rlx_assignable(z->ctx, NULL, have, want, NULL) != RLX_ASSIGNABLE_YES)
            return false;
    }
    return true;
}

/* The same in the sizes of the caller; NULL: they are not known there, or checked where the function is entered. */
static const rlx_sinfo *outer_info(fusing *z, const rlx_fused_function *f, const rlx_call *call)
{
    rlx_prim_vars binders = { 0 };
    rlx_mapping map;
    bool good = call->num_args == f->function->num_params;
    for (size_t i = 0; good && i < call->num_args; i++)
        good = rlx_collect_prim_vars(MEMORY(z), rlx_as_var(f->function->params[i])->sinfo, true, &binders);
    rlx_mapping_init(&map, z->ctx, NULL, (const rlx_prim *const *)(const void *)binders.data, binders.len);
    for (size_t i = 0; good && i < call->num_args; i++) {
        const rlx_sinfo *have = rlx_leaf_sinfo(z->ctx, &z->env, call->args[i]);
        if ((good = have != NULL))
            rlx_mapping_add(&map, rlx_as_var(f->function->params[i])->sinfo, have, (int32_t)i);
    }
    for (size_t i = 0; good && i < binders.len; i++)
        good = rlx_ptrmap_has(&map.pairs, binders.data[i]);
    good = good && !map.conflict && !map.unproved && fits_all(z, f, call, &map);
    const rlx_sinfo *inner = good ? inner_info(z->ctx, f) : NULL;
    const rlx_sinfo *out = inner ? rlx_mapping_result(&map, inner) : NULL;
    rlx_mapping_free(&map);
    rlx_vec_free(MEMORY(z), &binders);
    return is_known(out) ? out : NULL;
}

static enum rlx_step check_use(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    fusing *z = user;
    const rlx_call *call = rlx_as_call(parent);
    const rlx_fused_function *f = fused_of(z, n);
    (void)via;
    if (f) {
        const rlx_sinfo *info = outer_info(z, f, rlx_as_call(n));
        if (!info)
            rlx_ptrmap_remove(&z->done, rlx_as_call(n)->op);
        else if (!rlx_ptrmap_put(&z->infos, n, (uintptr_t)info))
            return RLX_STEP_STOP;
    }
    if (n->kind == RLX_NODE_GLOBAL_VAR && !(call && call->op == n))
        rlx_ptrmap_remove(&z->done, n);
    return RLX_STEP_ON;
}

static bool is_candidate(const rlx_node *function)
{
    const rlx_function *f = rlx_as_function(function);
    return f && f->body && rlx_flag_attr(f->attrs, "Primitive") && !rlx_link_name(function);
}

static bool find_functions(fusing *z)
{
    const rlx_module *m = z->module;
    rlx_walker w = { .enter = check_use, .user = z, .code = true };
    bool lost = false;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_fused_function *fused =
            is_candidate(m->functions[i]) ? rlx_fuse_function(z->ctx, m, rlx_as_function(m->functions[i])) : NULL;
        if (z->ctx->diags.out_of_memory || (fused && !rlx_ptrmap_put(&z->done, m->gvars[i], (uintptr_t)fused)))
            return false;
    }
    for (size_t i = 0; z->done.len && i < m->num_functions; i++)
        if (rlx_as_function(m->functions[i]) &&
            (rlx_walk(MEMORY(z), m->functions[i], &w, &lost) == RLX_STEP_STOP || lost))
            return false;
    return true;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Field i of a tuple, which is bound to a variable if the tuple is one. */
static const rlx_expr *field_of(rlx_seq_pass *p, const rlx_expr *e, size_t i, rlx_place place)
{
    const fusing *z = p->user;
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_tuple_sinfo *info = t ? NULL : rlx_as_tuple_sinfo(rlx_leaf_sinfo(p->ctx, &z->env, e));
    if (t)
        return t->fields[i];
    const rlx_expr *get = info ? rlx_tuple_get_item_new(p->ctx, e, (int64_t)i, place) : NULL;
    const rlx_var *v = get ? rlx_seq_bind(p, "field", info->fields[i], get, place) : NULL;
    return v ? &v->node : NULL;
}

/* The part-th tensor of e, whose struct info is s. */
static const rlx_expr *tensor_of(rlx_seq_pass *p, const rlx_expr *e, const rlx_sinfo *s, size_t part, rlx_place place)
{
    const rlx_tuple_sinfo *t;
    while (e && (t = rlx_as_tuple_sinfo(s)) != NULL) {
        size_t i = 0;
        for (int64_t n; (n = rlx_count_parts(t->fields[i])) <= (int64_t)part; i++)
            part -= (size_t)n;
        e = field_of(p, e, i, place);
        s = t->fields[i];
    }
    return e;
}

static bool find_inputs(rlx_seq_pass *p, const rlx_fused_function *f, const rlx_call *call, const rlx_expr **inputs)
{
    for (size_t i = 0; i < f->num_inputs; i++) {
        const rlx_fused_input *in = &f->inputs[i];
        const rlx_sinfo *s = in->constant ? NULL : rlx_as_var(f->function->params[in->param])->sinfo;
        inputs[i] = in->constant ? in->constant : tensor_of(p, call->args[in->param], s, in->part, call->place);
        if (!inputs[i])
            return false;
    }
    return true;
}

/* NULL: nothing is written in place, or out of memory. */
static const rlx_attr *inplace_attrs(rlx_context *ctx, const rlx_fused_function *f)
{
    const rlx_attr **items = f->writes ? rlx_new(ctx, (f->num_outputs + 1) * sizeof *items) : NULL;
    for (size_t i = 0; items && i < f->num_outputs; i++)
        items[i] = rlx_attr_int_new(ctx, f->inplace[i]);
    const rlx_attr *list = items ? rlx_attr_list_new(ctx, items, f->num_outputs) : NULL;
    return list ? rlx_attrs_with(ctx, NULL, "inplace_indices", list) : NULL;
}

/* The call_tir; inputs: what goes in. */
static const rlx_expr *make_call(rlx_seq_pass *p, const rlx_fused_function *f, const rlx_call *call,
                                 const rlx_expr **inputs)
{
    const fusing *z = p->user;
    rlx_context *ctx = p->ctx;
    const rlx_tuple_sinfo *info = rlx_ptrmap_get(&z->infos, call);
    const rlx_shape_sinfo *sizes = rlx_as_shape_sinfo(info->fields[f->num_outputs]);
    if (!find_inputs(p, f, call, inputs))
        return NULL;
    const rlx_expr *args[3] = { call->op, rlx_tuple_new(ctx, inputs, f->num_inputs, call->place),
                                rlx_shape_new(ctx, sizes->values, sizes->num_values) };
    const rlx_sinfo *out =
        f->num_outputs == 1 ? info->fields[0] : rlx_tuple_info(ctx, info->fields, f->num_outputs);
    const rlx_attr *attrs = inplace_attrs(ctx, f);
    const rlx_op_row *row = rlx_op_find(rlx_slice_z(f->writes ? "relax.call_tir_inplace" : "relax.call_tir"));
    if (!args[1] || !args[2] || !out || (f->writes && !attrs))
        return NULL;
    return rlx_call_op_sinfo(ctx, row, args, f->num_scalars ? 3 : 2, &out, 1, attrs, call->place);
}

/* Are the results the outputs as they come? */
static bool is_plain(const rlx_fused_function *f)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(f->function->ret_sinfo);
    bool plain = f->num_results == f->num_outputs &&
                 (t ? t->num_fields == f->num_results && f->num_results > 1 : f->num_results == 1);
    for (size_t i = 0; plain && t && i < t->num_fields; i++)
        plain = rlx_as_tensor_sinfo(t->fields[i]) != NULL;
    for (size_t i = 0; plain && i < f->num_results; i++)
        plain = f->results[i] == (int64_t)i;
    return plain;
}

/* A value of that struct info, of tensors in order. */
static const rlx_expr *assemble(rlx_context *ctx, const rlx_sinfo *s, const rlx_expr *const **tensors, rlx_place place)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    if (!t)
        return *(*tensors)++;
    const rlx_expr **fields = rlx_new(ctx, (t->num_fields + 1) * sizeof *fields);
    for (size_t i = 0; fields && i < t->num_fields; i++)
        if (!(fields[i] = assemble(ctx, t->fields[i], tensors, place)))
            return NULL;
    return fields ? rlx_tuple_new(ctx, fields, t->num_fields, place) : NULL;
}

/* What the function gave, of `all` that the call gives and of its inputs. */
static const rlx_expr *take_apart(rlx_seq_pass *p, const rlx_fused_function *f, const rlx_var *all,
                                  const rlx_expr *const *inputs, rlx_place place)
{
    const rlx_expr **outputs = rlx_new_zero(p->ctx, (f->num_outputs + 1) * sizeof *outputs),
                   **tensors = rlx_new(p->ctx, (f->num_results + 1) * sizeof *tensors);
    if (rlx_as_tensor_sinfo(f->function->ret_sinfo) && f->num_outputs > 1 && f->results[0] >= 0)
        return rlx_tuple_get_item_new(p->ctx, &all->node, f->results[0], place);
    if (!outputs || !tensors)
        return NULL;
    for (size_t i = 0; i < f->num_results; i++) {
        int64_t from = f->results[i];
        if (from < 0)
            tensors[i] = inputs[-1 - from];
        else if (!outputs[from])
            outputs[from] = f->num_outputs == 1 ? &all->node : field_of(p, &all->node, (size_t)from, place);
        if (from >= 0 && !(tensors[i] = outputs[from]))
            return NULL;
    }
    const rlx_expr *const *at = tensors;
    return assemble(p->ctx, f->function->ret_sinfo, &at, place);
}

static bool call_fused(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const rlx_expr *value = rlx_binding_value(old);
    const rlx_fused_function *f = fused_of(p->user, value);
    if (!f)
        return rlx_seq_emit(p, now);
    const rlx_expr **inputs = rlx_new(p->ctx, (f->num_inputs + 1) * sizeof *inputs);
    rlx_place place = rlx_place_of(value);
    const rlx_expr *made = inputs ? make_call(p, f, rlx_as_call(value), inputs) : NULL;
    if (made && !is_plain(f)) {
        const rlx_sinfo *out = rlx_as_call(made)->sinfo_args[0];
        const rlx_var *all = rlx_seq_bind(p, "outputs", out, made, place);
        made = all ? take_apart(p, f, all, inputs, place) : NULL;
    }
    return made && rlx_seq_emit(p, rlx_with_value(p->ctx, now, made));
}

/* ---- the pass ------------------------------------------------------------------------------- */

/* Functions that are fused have become TIR functions of the same names. */
static const rlx_module *fuse_all(fusing *z)
{
    const rlx_module *m = z->module, *out = NULL;
    rlx_module_builder *mb = rlx_module_builder_create(z->ctx, m);
    rlx_seq_pass p;
    bool good = mb != NULL;
    rlx_seq_init(&p, z->ctx, m, z);
    p.binding = call_fused;
    for (size_t i = 0; good && i < m->num_functions; i++) {
        const rlx_fused_function *f = rlx_ptrmap_get(&z->done, m->gvars[i]);
        const rlx_function *plain = f ? NULL : rlx_as_function(m->functions[i]);
        const rlx_node *now = f       ? &f->prim->node
                              : plain ? (const rlx_node *)rlx_seq_function(&p, plain)
                                      : m->functions[i];
        good = now && (now == m->functions[i] ||
                       rlx_module_builder_define(mb, rlx_as_global_var(m->gvars[i]), now));
    }
    if (good)
        out = rlx_module_builder_finish(mb, m->place);
    rlx_seq_free(&p);
    rlx_module_builder_free(mb);
    return out;
}

const rlx_module *rlx_pass_fuse_tir(rlx_pass_run *run, const rlx_module *m)
{
    fusing z = { .ctx = run->ctx, .module = m, .env = rlx_module_env(m) };
    const rlx_module *out = NULL;
    rlx_ptrmap_init(&z.done, &run->ctx->memory);
    rlx_ptrmap_init(&z.infos, &run->ctx->memory);
    if (find_functions(&z))
        out = z.done.len ? fuse_all(&z) : m;
    rlx_ptrmap_free(&z.done);
    rlx_ptrmap_free(&z.infos);
    return out && out != m ? rlx_pass_dead_code_elimination(run, out) : out;
}
