/*- call_tir_rewrite.c: results are allocated, functions are called directly with them as last
 * arguments.
 *     lv = call_tir(cls.f, (x,), out_sinfo=R.Tensor((n,), "float32"), tir_vars=R.shape([n]))
 *     ->
 *     lv = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0),
 *                                 R.str("global"))
 *     _ = cls.f(x, lv, R.prim_value(n))
 * Several outputs: one variable each, lv is their tuple and fields of it are used directly.
 * call_tir_inplace writes over its arguments: a constant is copied first, what was not made
 * here goes through vm.builtin.writable, as it may be a constant of somebody else.
 * An argument whose rank or dtype is not known is cast to those of its parameter: a call asks for
 * both, where call_tir looks when it runs.
 * call_dps_packed likewise; call_pure_packed and call_inplace_packed become plain calls.
 * Dataflow blocks become ordinary ones first, as the calls are impure; a pure function that
 * changed gets relax.force_pure.
 * needs: normal form. keeps: variables and their struct info, order, the function's own purity. */
#include "transform/transform_int.h"

typedef struct rewrite {
    const rlx_module *module;
    const rlx_string *blank;          /* "_" */
    RLX_VEC(const rlx_expr *) args;   /* of the call under way */
    RLX_VEC(const rlx_expr *) results;
    rlx_ptrmap tuples;                /* variable of several outputs -> their TUPLE */
    RLX_VEC(const rlx_expr *) made;   /* variables of tensors made here */
    rlx_ptrmap fresh;                 /* the same, as far as somebody has asked */
    size_t num_fresh;
    const rlx_sinfo *last;            /* output allocated last, of sizes that stand in it */
    const rlx_expr *last_args[4];     /* how */
} rewrite;

/* ---- pieces --------------------------------------------------------------------------------- */

static bool push_arg(rlx_seq_pass *p, const rlx_expr *arg)
{
    rewrite *r = p->user;
    return arg && rlx_vec_push(&p->ctx->memory, &r->args, arg);
}

/* Position of a device in the module's list; 0 if there is none. */
static int64_t device_index(const rlx_module *m, const rlx_node *vdevice)
{
    const rlx_attr_list *list = vdevice ? rlx_listed_vdevices(m) : NULL;
    for (size_t i = 0; list && i < list->num_items; i++)
        if (list->items[i] == vdevice)
            return (int64_t)i;
    return 0;
}

static const rlx_expr *shape_of_dims(rlx_context *ctx, const rlx_prim *const *dims, size_t ndim)
{
    return ndim ? rlx_shape_new(ctx, dims, ndim) : rlx_shape_of_ints(ctx, NULL, 0);
}

/* A shape value whose numbers have no name gets names: a cast that binds fresh shape variables. */
static const rlx_expr *name_sizes(rlx_seq_pass *p, const rlx_expr *shape, size_t count,
                                  rlx_place place)
{
    rlx_context *ctx = p->ctx;
    const rlx_string *name = rlx_string_z(ctx, "s");
    const rlx_prim **vars = rlx_mem_alloc_zero(&ctx->memory, (count + 1) * sizeof *vars);
    const rlx_expr *out = NULL;
    bool good = vars && name;
    for (size_t i = 0; good && i < count; i++)
        good =
            (vars[i] = (const rlx_prim *)rlx_prim_var_new(ctx, name, RELAX_INT64, place)) != NULL;
    const rlx_sinfo *target = good ? rlx_shape_info(ctx, vars, count) : NULL;
    if (target && rlx_seq_emit(p, rlx_match_cast_new(ctx, NULL, target, shape, place)))
        out = shape_of_dims(ctx, vars, count);
    rlx_mem_free(&ctx->memory, vars, (count + 1) * sizeof *vars);
    return out ? out : NULL;
}

/* The sizes of an output as a list: as written, as known of the variable that gives them, or
 * named here. */
static const rlx_expr *output_shape(rlx_seq_pass *p, const rlx_tensor_sinfo *t, rlx_place place)
{
    size_t ndim;
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &ndim);
    const rlx_shape_sinfo *s = t->shape && rlx_as_var(t->shape)
                                   ? rlx_as_shape_sinfo(((const rlx_var *)t->shape)->sinfo)
                                   : NULL;
    if (rlx_as_shape_expr(t->shape))
        return t->shape;
    if (dims)
        return shape_of_dims(p->ctx, dims, ndim);
    int64_t rank = t->ndim >= 0 ? t->ndim : s ? s->ndim : -1;
    if (t->shape && rank >= 0)
        return name_sizes(p, t->shape, (size_t)rank, place);
    if (t->shape)
        return rlx_seq_rename(p, t->shape); /* a shape value of any rank */
    return rlx_error(p->ctx, RLX_TY10, place,
                     "output %s has no known sizes, so it cannot be allocated",
                     rlx_show(p->ctx, &t->node));
}

/* The arguments of builtin.alloc_tensor for an output; most outputs are like the one before. */
static const rlx_expr *const *allocation(rlx_seq_pass *p, const rlx_tensor_sinfo *t,
                                         rlx_place place)
{
    rewrite *r = p->user;
    rlx_context *ctx = p->ctx;
    const rlx_vdevice *device = rlx_as_vdevice(t->vdevice);
    if (r->last == &t->node)
        return r->last_args;
    r->last = rlx_as_shape_expr(t->shape) ? &t->node : NULL;
    r->last_args[0] = output_shape(p, t, place);
    r->last_args[1] = rlx_dtype_imm_new(ctx, t->dtype);
    r->last_args[2] =
        rlx_prim_value_new(ctx, rlx_int64(ctx, device_index(r->module, t->vdevice)));
    r->last_args[3] = rlx_string_imm_new(
        ctx, device && device->scope ? rlx_string_slice(device->scope) : RLX_SLICE("global"));
    return r->last_args;
}

/* builtin.alloc_tensor for an output. */
static const rlx_expr *allocate(rlx_seq_pass *p, const rlx_sinfo *out, rlx_place place)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(out);
    if (!t || t->dtype == RELAX_VOID)
        return rlx_error(p->ctx, RLX_TY10, place,
                         "output %s is no tensor with a dtype, so it cannot be allocated",
                         rlx_show(p->ctx, out));
    return rlx_plain_call(p->ctx, "relax.builtin.alloc_tensor", allocation(p, t, place), 4,
                          place);
}

/* `_ = callee(args so far)`, for its effect. */
static bool emit_call(rlx_seq_pass *p, const rlx_expr *callee, const rlx_sinfo *result,
                      rlx_place place)
{
    const rewrite *r = p->user;
    const rlx_expr *call =
        callee ? rlx_call_new(p->ctx, callee, r->args.data, r->args.len, NULL, 0, NULL, place)
               : NULL;
    const rlx_var *v = call ? rlx_var_new(p->ctx, false, r->blank, -1, result, place) : NULL;
    return v && rlx_seq_emit(p, rlx_var_binding_new(p->ctx, v, call, place));
}

/* ---- the call_tir family -------------------------------------------------------------------- */

/* How many parameters the callee has beyond the arguments so far; -1: not known. */
static int64_t parameters_left(rlx_seq_pass *p, const rlx_expr *callee)
{
    const rewrite *r = p->user;
    rlx_env env = rlx_module_env(r->module);
    const rlx_func_sinfo *s = rlx_as_func_sinfo(rlx_leaf_sinfo(p->ctx, &env, callee));
    return s && !s->derive && s->num_params >= r->args.len ? (int64_t)(s->num_params - r->args.len)
                                                           : -1;
}

/* Extra integers of the PrimFunc: one scalar argument each. */
static bool push_tir_vars(rlx_seq_pass *p, const rlx_expr *callee, const rlx_expr *shape,
                          rlx_place place)
{
    const rlx_shape_expr *list = rlx_as_shape_expr(shape);
    const rlx_var *v = rlx_as_var(shape);
    const rlx_shape_sinfo *info = v ? rlx_as_shape_sinfo(v->sinfo) : NULL;
    if (!list && info && info->has_values)
        list = rlx_as_shape_expr(shape_of_dims(p->ctx, info->values, info->num_values));
    int64_t rank = info && info->ndim >= 0 ? info->ndim : parameters_left(p, callee);
    if (!list && rank >= 0)
        list = rlx_as_shape_expr(name_sizes(p, shape, (size_t)rank, place));
    if (!list) {
        if (!p->ctx->diags.out_of_memory)
            rlx_error(p->ctx, RLX_TY10, place, "the number of tir_vars is not known");
        return false;
    }
    for (size_t i = 0; i < list->num_values; i++)
        if (!push_arg(p, rlx_prim_value_new(p->ctx, list->values[i])))
            return false;
    return true;
}

static bool remember_fresh(rlx_seq_pass *p, const rlx_expr *var)
{
    rewrite *r = p->user;
    return rlx_vec_push(&p->ctx->memory, &r->made, var);
}

/* False also when out of memory, which is latched. */
static bool is_fresh(rlx_seq_pass *p, const rlx_expr *var)
{
    rewrite *r = p->user;
    for (; r->num_fresh < r->made.len; r->num_fresh++)
        if (!rlx_ptrmap_put(&r->fresh, r->made.data[r->num_fresh], 1))
            return false;
    return rlx_ptrmap_has(&r->fresh, var);
}

/* Argument `index` of an in-place call, fit to be written: constants are shared, so a copy of
 * them. */
static const rlx_expr *writable(rlx_seq_pass *p, size_t index, const rlx_sinfo *out,
                                rlx_place place)
{
    rewrite *r = p->user;
    const rlx_expr *arg = r->args.data[index];
    bool constant = arg->kind == RLX_NODE_CONSTANT;
    if (is_fresh(p, arg))
        return arg;
    rlx_slice name = constant ? RLX_SLICE("vm.builtin.copy") : RLX_SLICE("vm.builtin.writable");
    const rlx_expr *call =
        rlx_call_new(p->ctx, rlx_extern_func_new(p->ctx, name), &arg, 1, &out, 1, NULL, place);
    const rlx_var *v =
        call ? rlx_seq_bind(p, constant ? "copy" : "writable", out, call, place) : NULL;
    if (!v || !remember_fresh(p, &v->node))
        return NULL;
    r->args.data[index] = &v->node;
    return &v->node;
}

/* The output that becomes the variable `var` (NULL: a new one), allocated or an argument. */
static const rlx_expr *make_output(rlx_seq_pass *p, const rlx_binding *keep, const rlx_sinfo *out,
                                   int64_t inplace, size_t num_args, rlx_place place)
{
    if (inplace >= 0)
        return (uint64_t)inplace < num_args
                   ? writable(p, (size_t)inplace, out, place)
                   : rlx_error(p->ctx, RLX_TY10, place, "in-place index %lld is out of range",
                               (long long)inplace);
    const rlx_expr *alloc = allocate(p, out, place);
    if (!alloc)
        return NULL;
    if (!keep) {
        const rlx_var *v = rlx_seq_bind(p, "alloc", out, alloc, place);
        return v && remember_fresh(p, &v->node) ? &v->node : NULL;
    }
    const rlx_expr *var = &rlx_binding_var(keep)->node;
    return rlx_seq_emit(p, rlx_with_value(p->ctx, keep, alloc)) && remember_fresh(p, var) ? var
                                                                                          : NULL;
}

static int64_t inplace_index(const rlx_call *call, size_t output)
{
    const rlx_attr_list *list = rlx_as_attr_list(rlx_call_attr(call, "inplace_indices"));
    return list && output < list->num_items ? rlx_attr_as_int(list->items[output], -1) : -1;
}

/* The variable keeps its name for a single allocated output, if it is bound (not cast) to what
 * is allocated. */
static bool keeps_variable(const rlx_binding *now, const rlx_sinfo *out)
{
    return now->kind == RLX_NODE_VAR_BINDING && rlx_binding_var(now)->sinfo == out;
}

/* `call` is as it was before renaming. */
static bool make_outputs(rlx_seq_pass *p, const rlx_binding *now, const rlx_call *call,
                         const rlx_sinfo *out)
{
    rewrite *r = p->user;
    const rlx_tuple_sinfo *several = rlx_as_tuple_sinfo(out);
    size_t count = several ? several->num_fields : 1, num_args = r->args.len;
    bool inplace = rlx_is_call_op(&call->node, RLX_OP_ID_CALL_TIR_INPLACE) != NULL;
    for (size_t i = 0; i < count; i++) {
        int64_t index = inplace ? inplace_index(call, i) : -1;
        const rlx_sinfo *info = several ? several->fields[i] : out;
        const rlx_expr *made = make_output(p, !several && keeps_variable(now, out) ? now : NULL,
                                           info, index, num_args, call->place);
        if (!made || !rlx_vec_push(&p->ctx->memory, &r->results, made) ||
            (index < 0 && !push_arg(p, made)))
            return made ? false : false;
    }
    return true;
}

/* Binds what stands for the variable of the call now. */
static bool bind_result(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now,
                        const rlx_sinfo *out, rlx_place place)
{
    rewrite *r = p->user;
    const rlx_var *var = rlx_binding_var(now), *name = rlx_binding_var(old);
    if (rlx_as_tuple_sinfo(out)) {
        const rlx_expr *tuple = rlx_tuple_new(p->ctx, r->results.data, r->results.len, place);
        if (tuple && var && !rlx_ptrmap_put(&r->tuples, var, (uintptr_t)tuple))
            return false;
        return tuple && rlx_seq_emit(p, rlx_with_value(p->ctx, now, tuple));
    }
    const rlx_expr *only = r->results.data[0];
    if (only == (const rlx_expr *)var)
        return true;
    /* In place, cast, or under an annotation: a copy of the handle keeps the check where it
     * was. */
    if (now->kind == RLX_NODE_VAR_BINDING && rlx_as_var(only) &&
        var->sinfo == ((const rlx_var *)only)->sinfo)
        return rlx_seq_replace(p, &name->node, only);
    return rlx_seq_emit(p, rlx_with_value(p->ctx, now, only));
}

/* Parameter `index` of the PrimFunc that is called; NULL: it says nothing of tensors. */
static const rlx_tensor_sinfo *parameter(rlx_seq_pass *p, const rlx_expr *callee, size_t index)
{
    const rewrite *r = p->user;
    rlx_env env = rlx_module_env(r->module);
    const rlx_func_sinfo *s = rlx_as_func_sinfo(rlx_leaf_sinfo(p->ctx, &env, callee));
    return s && index < s->num_params ? rlx_as_tensor_sinfo(s->params[index]) : NULL;
}

/* The argument as a tensor of known rank and dtype. */
static const rlx_expr *as_tensor(rlx_seq_pass *p, const rlx_call *call, size_t index,
                                 const rlx_expr *arg)
{
    const rlx_var *v = rlx_as_var(arg);
    const rlx_tensor_sinfo *have = v ? rlx_as_tensor_sinfo(v->sinfo) : NULL;
    if (!v || (have && have->dtype != RELAX_VOID && have->ndim >= 0))
        return arg;
    const rlx_tensor_sinfo *want = parameter(p, call->args[0], index);
    if (!want || rlx_assignable(p->ctx, NULL, v->sinfo, &want->node, NULL) != RLX_ASSIGNABLE_KIND)
        return arg;
    const rlx_sinfo *target =
        rlx_tensor_info(p->ctx, have && have->ndim >= 0 ? have->shape : NULL, want->dtype,
                        want->ndim, have ? have->vdevice : NULL);
    const rlx_var *now =
        target ? rlx_var_new(p->ctx, false, v->name, -1, target, call->place) : NULL;
    return now && rlx_seq_emit(p, rlx_match_cast_new(p->ctx, now, target, arg, call->place))
               ? &now->node
               : NULL;
}

static bool push_inputs(rlx_seq_pass *p, const rlx_call *call, const rlx_tuple *inputs)
{
    for (size_t i = 0; i < inputs->num_fields; i++) {
        const rlx_expr *arg = rlx_seq_rename(p, inputs->fields[i]);
        if (!arg || !push_arg(p, as_tensor(p, call, i, arg)))
            return false;
    }
    return true;
}

static bool rewrite_dps(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now,
                        const rlx_call *call)
{
    rewrite *r = p->user;
    const rlx_tuple *inputs = call->num_args > 1 ? rlx_as_tuple(call->args[1]) : NULL;
    const rlx_sinfo *out =
        call->num_sinfo_args == 1 ? rlx_seq_rename(p, call->sinfo_args[0]) : NULL;
    if (!inputs || call->num_sinfo_args != 1)
        return rlx_error(p->ctx, RLX_TY10, call->place,
                         "a call in destination-passing style needs its arguments as a tuple and "
                         "one output description"),
               false;
    r->args.len = r->results.len = 0;
    if (!out || !push_inputs(p, call, inputs) || !make_outputs(p, now, call, out))
        return false;
    const rlx_expr *sizes = call->num_args > 2 ? rlx_seq_rename(p, call->args[2]) : NULL;
    if (call->num_args > 2 && (!sizes || !push_tir_vars(p, call->args[0], sizes, call->place)))
        return false;
    /* A packed function may return anything: nobody looks at it. */
    const rlx_sinfo *unit =
        call->args[0]->kind == RLX_NODE_EXTERN_FUNC ? p->ctx->object : p->ctx->unit;
    const rlx_expr *callee = rlx_seq_rename(p, call->args[0]);
    return callee && emit_call(p, callee, unit, call->place) &&
           bind_result(p, old, now, out, call->place);
}

/* call_pure_packed(g, a, b) -> g(a, b) */
static bool rewrite_packed(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now,
                           const rlx_call *call)
{
    if (!call->num_args)
        return rlx_seq_emit(p, now);
    const rlx_expr *plain =
        rlx_call_new(p->ctx, call->args[0], call->args + 1, call->num_args - 1, call->sinfo_args,
                     call->num_sinfo_args, NULL, call->place);
    return plain && rlx_seq_emit(p, rlx_with_value(p->ctx, now, plain));
}

/* ---- the pass ------------------------------------------------------------------------------- */

typedef bool rewrite_fn(rlx_seq_pass *, const rlx_binding *, const rlx_binding *,
                        const rlx_call *);

/* What rewrites a call of such an operator; NULL: nothing. */
static rewrite_fn *rewrite_of(const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    if (call && call->num_sinfo_args && rlx_is_distributed(call->sinfo_args[0]))
        return NULL; /* there is nowhere to allocate it */
    switch (call ? rlx_op_id_of(call->op) : RLX_OP_ID_NONE) {
    case RLX_OP_ID_CALL_TIR:
    case RLX_OP_ID_CALL_TIR_WITH_GRAD:
    case RLX_OP_ID_CALL_TIR_INPLACE:
    case RLX_OP_ID_CALL_DPS_PACKED: return rewrite_dps;
    case RLX_OP_ID_CALL_PURE_PACKED:
    case RLX_OP_ID_CALL_INPLACE_PACKED: return rewrite_packed;
    default: return NULL;
    }
}

/* The operands of these are taken one by one: the call with all of them renamed would be dropped
 * at once. */
static bool renames_itself(rlx_seq_pass *p, const rlx_expr *value)
{
    return rewrite_of(value) == rewrite_dps;
}

/* `x = t[i]` of outputs made here: x is the output, unless an annotation asks for a check. */
static const rlx_expr *known_field(const rewrite *r, const rlx_binding *now)
{
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(rlx_binding_value(now));
    const rlx_tuple *t = get ? rlx_ptrmap_get(&r->tuples, get->tuple) : NULL;
    const rlx_var *field =
        t && (uint64_t)get->index < t->num_fields ? rlx_as_var(t->fields[get->index]) : NULL;
    return field && now->kind == RLX_NODE_VAR_BINDING &&
                   rlx_binding_var(now)->sinfo == field->sinfo
               ? &field->node
               : NULL;
}

static bool rewrite_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const rlx_expr *field = known_field(p->user, now);
    if (field)
        return rlx_seq_replace(p, &rlx_binding_var(old)->node, field);
    const rlx_expr *value = rlx_binding_value(now);
    rewrite_fn *rewrite_call = rewrite_of(value);
    return rewrite_call ? rewrite_call(p, old, now, rlx_as_call(value)) : rlx_seq_emit(p, now);
}

const rlx_module *rlx_pass_call_tir_rewrite(rlx_pass_run *run, const rlx_module *m)
{
    rlx_seq_pass p;
    rewrite r = { .module = m, .blank = rlx_string_z(run->ctx, "_") };
    if (!r.blank)
        return NULL;
    rlx_seq_init(&p, run->ctx, m, &r);
    rlx_ptrmap_init(&r.tuples, &run->ctx->memory);
    rlx_ptrmap_init(&r.fresh, &run->ctx->memory);
    p.plain_blocks = true;
    p.binding = rewrite_binding;
    p.renames_itself = renames_itself;
    p.function = rlx_seq_force_pure;
    const rlx_module *out = rlx_seq_module(&p, m);
    rlx_seq_free(&p);
    rlx_vec_free(&run->ctx->memory, &r.args);
    rlx_vec_free(&run->ctx->memory, &r.results);
    rlx_vec_free(&run->ctx->memory, &r.made);
    rlx_ptrmap_free(&r.tuples);
    rlx_ptrmap_free(&r.fresh);
    return out;
}
