/*- fold_constant: a call whose arguments are all constants becomes its value; the shape of a
 * tensor with known sizes that shape.
 *     y = add(2.0, 3.0)          ->   y = 5.0
 *     s = shape_of(x)            ->   s = R.shape([n, 4])        with x: R.Tensor((n, 4))
 *     lv = 5.0; z = mul(x, lv)   ->   lv = 5.0; z = mul(x, 5.0)  where lv is a dataflow variable
 * needs: normal form, struct info. keeps: variables and their struct info. Operators are
 * lowered and run, as are call_tirs of pure PrimFuncs of the module: small ones by the evaluator
 * of tir, others as kernels where the context has somebody who does that; the bits are the same.
 * A value that somebody may write to is not known, and no call becomes one. Left alone: results
 * over max_bytes or much larger than what goes in, calls that fail or take more than max_steps. */
#include "transform/transform_int.h"

enum {
    MAY_GROW_TO = 4096,  /* bytes: full(1.0, (1000, 1000)) is better computed than stored */
    SMALL_STEPS = 4000   /* take the evaluator as long as a kernel takes to be made */
};

typedef struct fold {
    const rlx_module *module;
    rlx_env env;
    rlx_module_builder *mb;                 /* holds lowered functions, thrown away */
    rlx_written written;
    rlx_ptrmap constants;                   /* variable -> the constant it is bound to */
    RLX_VEC(const rlx_expr *) args;
    RLX_VEC(rlx_tir_arg) buffers;
    int64_t max_bytes, max_steps;
    /* of the constants among the arguments of the call under way */
    size_t input_bytes;
} fold;

/* ---- arguments ------------------------------------------------------------------------------ */

/* The constant a leaf stands for; other leaves that hold no variable are themselves; NULL: not
 * known. */
static const rlx_expr *known_leaf(const fold *f, const rlx_expr *e)
{
    const rlx_expr *c = rlx_as_var(e) ? rlx_ptrmap_get(&f->constants, e) : NULL;
    if (c)
        return c;
    const rlx_constant *own = rlx_as_constant(e);
    bool fixed = own ? !own->sharding : rlx_node_is_closed(e);
    return fixed ? e : NULL;
}

static void count_input(fold *f, const rlx_expr *e)
{
    const rlx_constant *c = rlx_as_constant(e);
    if (c)
        f->input_bytes += c->data->size + 1;
}

static const rlx_expr *known_tuple(rlx_seq_pass *p, const rlx_tuple *t)
{
    fold *f = p->user;
    size_t mark = f->args.len;
    const rlx_expr *out = NULL;
    for (size_t i = 0; i < t->num_fields; i++) {
        const rlx_expr *e = known_leaf(f, t->fields[i]);
        if (!e || !rlx_vec_push(&p->ctx->memory, &f->args, e))
            goto done;
        count_input(f, e);
    }
    out = rlx_tuple_new(p->ctx, f->args.data + mark, t->num_fields, t->place);
done:
    f->args.len = mark;
    return out;
}

/* The call with constants in place of the variables that stand for them; NULL: some argument is
 * not known. */
static const rlx_call *known_call(rlx_seq_pass *p, const rlx_call *call)
{
    fold *f = p->user;
    f->args.len = f->input_bytes = 0;
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_tuple *t = rlx_as_tuple(call->args[i]);
        bool callee = rlx_as_global_var(call->args[i]) != NULL;
        const rlx_expr *e = callee ? call->args[i]
                            : t    ? known_tuple(p, t)
                                   : known_leaf(f, call->args[i]);
        if (!e || !rlx_vec_push(&p->ctx->memory, &f->args, e))
            return NULL;
        count_input(f, e);
    }
    /* Without any constant the call makes data out of nothing: that stays in the program. */
    if (!f->input_bytes)
        return NULL;
    return rlx_as_call(rlx_call_new(p->ctx, call->op, f->args.data, f->args.len, call->sinfo_args,
                                    call->num_sinfo_args, call->attrs, call->place));
}

/* ---- running -------------------------------------------------------------------------------- */

/* Bytes of a tensor of literal sizes within the limit, and not much more than goes in; dims are
 * written to shape. */
static bool fixed_size(const fold *f, const rlx_tensor_sinfo *t, int64_t *shape, size_t *bytes)
{
    size_t ndim;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &ndim) : NULL;
    *bytes = t ? rlx_dtype_bytes(t->dtype) : 0;
    if (!dims || ndim > RLX_TIR_MAX_DIMS || !rlx_dtype_is_computable(t->dtype))
        return false;
    for (size_t i = 0; i < ndim; i++)
        if (!rlx_int_literal(dims[i], &shape[i]) || shape[i] < 0 ||
            !rlx_mul_size(*bytes, (size_t)shape[i], bytes))
            return false;
    bool grows = *bytes > MAY_GROW_TO && *bytes / 4 > f->input_bytes;
    return !grows && (uint64_t)*bytes <= (uint64_t)(f->max_bytes > 0 ? f->max_bytes : 0);
}

static bool push_buffer(rlx_seq_pass *p, const rlx_expr *e)
{
    fold *f = p->user;
    const rlx_constant *c = rlx_as_constant(e);
    const rlx_prim_value *v = rlx_as_prim_value(e);
    const rlx_int_imm *i = v ? rlx_as_int_imm(v->value) : NULL;
    const rlx_float_imm *x = v ? rlx_as_float_imm(v->value) : NULL;
    rlx_tir_arg a = { 0 };
    const void *data = c ? rlx_aligned_content(p->ctx, c) : NULL;
    if (c && !data)
        return false;
    if (c)
        a = (rlx_tir_arg){ .dtype = c->dtype,
                           .data = (void *)(uintptr_t)data,
                           .shape = c->shape,
                           .ndim = (int32_t)c->num_shape };
    else if (i || x)
        a = (rlx_tir_arg){ .dtype = rlx_prim_dtype(v->value),
                           .i = i ? i->value : 0,
                           .f = x ? x->value : 0 };
    else
        return false;
    return rlx_vec_push(&p->ctx->memory, &f->buffers, a);
}

static const rlx_prim_func *callee_of(const fold *f, const rlx_expr *gv)
{
    const rlx_global_var *name = rlx_as_global_var(gv);
    const rlx_node *made = name ? rlx_module_builder_function(f->mb, name) : NULL;
    int64_t at = name ? rlx_module_index(f->module, name) : -1;
    return rlx_as_prim_func(made ? made : at >= 0 ? f->module->functions[at] : NULL);
}

static bool push_arguments(rlx_seq_pass *p, const rlx_call *call, rlx_tir_arg output)
{
    fold *f = p->user;
    const rlx_tuple *inputs = call->num_args > 1 ? rlx_as_tuple(call->args[1]) : NULL;
    const rlx_shape_expr *sizes = call->num_args > 2 ? rlx_as_shape_expr(call->args[2]) : NULL;
    f->buffers.len = 0;
    for (size_t i = 0; inputs && i < inputs->num_fields; i++)
        if (!push_buffer(p, inputs->fields[i]))
            return false;
    if (!inputs || (call->num_args > 2 && !sizes) ||
        !rlx_vec_push(&p->ctx->memory, &f->buffers, output))
        return false;
    for (size_t i = 0; sizes && i < sizes->num_values; i++) {
        rlx_tir_arg a = { .dtype = RELAX_INT64 };
        if (!rlx_int_literal(sizes->values[i], &a.i) ||
            !rlx_vec_push(&p->ctx->memory, &f->buffers, a))
            return false;
    }
    return true;
}

/* Runs func on f->buffers, the last but its sizes being `output`. */
static bool run_function(rlx_seq_pass *p, const rlx_prim_func *func, void *output, size_t bytes)
{
    fold *f = p->user;
    const rlx_kernel_runner *kernels = p->ctx->kernels;
    uint64_t most = (uint64_t)(f->max_steps > 0 ? f->max_steps : 1);
    rlx_tir_limits limits = { .max_steps = kernels && most > SMALL_STEPS ? SMALL_STEPS : most,
                              .max_bytes = (size_t)(f->max_bytes > 0 ? f->max_bytes : 1) };
    rlx_fault why = { 0 };
    memset(output, 0, bytes);
    if (rlx_tir_eval(p->ctx, func, f->buffers.data, f->buffers.len, &limits, &why))
        return true;
    if (why.code != RLX_RT12 || limits.max_steps == most)
        return false;
    limits.max_steps = most;
    memset(output, 0, bytes);
    return kernels->run(p->ctx, func, f->buffers.data, f->buffers.len, &limits, &why);
}

/* The value of a call_tir with one output; NULL: it cannot be had here. */
static const rlx_expr *run_call(rlx_seq_pass *p, const rlx_call *call)
{
    fold *f = p->user;
    const rlx_prim_func *func = call->num_args ? callee_of(f, call->args[0]) : NULL;
    const rlx_tensor_sinfo *out =
        call->num_sinfo_args == 1 ? rlx_as_tensor_sinfo(call->sinfo_args[0]) : NULL;
    int64_t shape[RLX_TIR_MAX_DIMS];
    size_t bytes;
    if (!func || !out || out->vdevice || !fixed_size(f, out, shape, &bytes))
        return NULL;
    rlx_blob *data = rlx_blob_create(&p->ctx->memory, NULL, bytes);
    if (!data)
        return NULL;
    rlx_tir_arg output = {
        .dtype = out->dtype, .data = data->data, .shape = shape, .ndim = out->ndim
    };
    const rlx_expr *value = NULL;
    if (push_arguments(p, call, output) && run_function(p, func, data->data, bytes))
        value = rlx_constant_blob(p->ctx, out->dtype, shape, (size_t)out->ndim, data, call->place);
    rlx_blob_release(data);
    return value;
}

static const rlx_expr *fold_call(rlx_seq_pass *p, const rlx_call *call, const rlx_op_row *row)
{
    fold *f = p->user;
    const char *why = NULL;
    if (call->num_sinfo_args && rlx_is_distributed(call->sinfo_args[0]))
        return NULL;
    if (!row->lower)
        return rlx_is_call_op(&call->node, RLX_OP_ID_CALL_TIR) ? run_call(p, call) : NULL;
    const rlx_sinfo *result = rlx_op_infer(p->ctx, &p->scope, &f->env, call, true);
    int64_t shape[RLX_TIR_MAX_DIMS];
    size_t bytes;
    if (!result || !fixed_size(f, rlx_as_tensor_sinfo(result), shape, &bytes))
        return NULL;
    const rlx_call *lowered = rlx_as_call(rlx_op_lower(f->mb, &p->scope, call, result, &why));
    return lowered ? run_call(p, lowered) : NULL;
}

/* ---- shapes --------------------------------------------------------------------------------- */

/* The sizes as a constant, if all are numbers. */
static const rlx_expr *sizes_of(rlx_context *ctx, const rlx_shape_expr *s, rlx_place place)
{
    int64_t sizes[RLX_TIR_MAX_DIMS], count = s ? (int64_t)s->num_values : 0;
    if (!s || s->num_values > RLX_TIR_MAX_DIMS)
        return NULL;
    for (size_t i = 0; i < s->num_values; i++)
        if (!rlx_int_literal(s->values[i], &sizes[i]))
            return NULL;
    return rlx_constant_new(ctx, RELAX_INT64, &count, 1, sizes, place);
}

/* shape_of a tensor whose sizes are listed; tensor_to_shape of a constant; shape_to_tensor of numbers. */
static const rlx_expr *fold_shape(rlx_seq_pass *p, const rlx_call *call, const rlx_op_row *row)
{
    const rlx_var *x = call->num_args == 1 ? rlx_as_var(call->args[0]) : NULL;
    const rlx_tensor_sinfo *t = x ? rlx_as_tensor_sinfo(x->sinfo) : NULL;
    const rlx_expr *leaf = call->num_args == 1 ? known_leaf(p->user, call->args[0]) : NULL;
    const rlx_constant *c = rlx_as_constant(leaf);
    if (rlx_is_call_op(&call->node, RLX_OP_ID_SHAPE_OF))
        return c ? rlx_shape_of_ints(p->ctx, c->shape, c->num_shape)
               : t && rlx_as_shape_expr(t->shape) ? t->shape
                                                  : NULL;
    if (rlx_is_call_op(&call->node, RLX_OP_ID_TENSOR_TO_SHAPE) && c && c->dtype == RELAX_INT64 &&
        c->num_shape == 1) {
        const int64_t *values = rlx_aligned_content(p->ctx, c);
        return values ? rlx_shape_of_ints(p->ctx, values, (size_t)c->shape[0]) : NULL;
    }
    if (leaf && rlx_slice_is(rlx_slice_z(row->short_name), "shape_to_tensor"))
        return sizes_of(p->ctx, rlx_as_shape_expr(leaf), call->place);
    return NULL;
}

/* ---- the pass ------------------------------------------------------------------------------- */

/* Asked only where a constant is met: in most programs nobody has to look. False: out of memory. */
static bool ask_written(rlx_seq_pass *p, const rlx_binding *b, bool *written)
{
    fold *f = p->user;
    if (!rlx_find_written(p->ctx, f->module, &f->written))
        return false;
    *written = rlx_is_written(&f->written, (const rlx_node *)rlx_binding_var(b));
    return true;
}

/* Uses of a dataflow variable become the constant. */
static bool note_constant(rlx_seq_pass *p, const rlx_var *v, const rlx_expr *constant)
{
    fold *f = p->user;
    return rlx_ptrmap_put(&f->constants, v, (uintptr_t)constant) &&
           (v->node.kind != RLX_NODE_DATAFLOW_VAR || rlx_seq_replace(p, &v->node, constant));
}

static bool fold_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const rlx_expr *value = rlx_binding_value(now);
    const rlx_call *call = rlx_as_call(value);
    const rlx_op_row *row = rlx_callee_op(value);
    size_t errors = rlx_error_count(p->ctx);
    const rlx_expr *folded = row ? fold_shape(p, call, row) : NULL;
    const rlx_call *known =
        row && !folded && row->flags & RLX_OP_PURE ? known_call(p, call) : NULL;
    bool written = false;
    if ((known || rlx_is(folded ? folded : value, RLX_NODE_CONSTANT)) &&
        !ask_written(p, old, &written))
        return false;
    if (written && rlx_is(folded, RLX_NODE_CONSTANT))
        folded = NULL;
    if (known && !written)
        folded = fold_call(p, known, row);
    if (rlx_error_count(p->ctx) > errors)
        return false;
    const rlx_var *v = rlx_binding_var(now);
    const rlx_expr *bound = folded ? folded : value;
    if (v && !written && now->kind == RLX_NODE_VAR_BINDING && bound->kind == RLX_NODE_CONSTANT &&
        !note_constant(p, v, bound))
        return false;
    return rlx_seq_emit(p, folded ? rlx_with_value(p->ctx, now, folded) : now);
}

const rlx_module *rlx_pass_fold_constant(rlx_pass_run *run, const rlx_module *m)
{
    fold f = { .module = m,
               .env = rlx_module_env(m),
               .mb = rlx_module_builder_create(run->ctx, NULL),
               .max_bytes = rlx_pass_int(run, "max_bytes", 16 << 20),
               .max_steps = rlx_pass_int(run, "max_steps", 20000000) };
    rlx_seq_pass p;
    if (!f.mb)
        return NULL;
    rlx_module_builder_set_attrs(f.mb, m->attrs, NULL);
    rlx_seq_init(&p, run->ctx, m, &f);
    rlx_ptrmap_init(&f.constants, &run->ctx->memory);
    p.binding = fold_binding;
    p.use_scope = true;
    const rlx_module *out = rlx_seq_module(&p, m);
    rlx_seq_free(&p);
    rlx_ptrmap_free(&f.constants);
    rlx_written_free(&f.written);
    rlx_vec_free(&run->ctx->memory, &f.args);
    rlx_vec_free(&run->ctx->memory, &f.buffers);
    rlx_module_builder_free(f.mb);
    return out;
}
