/*- fold_batchnorm_to_conv2d: batch_norm right behind conv2d becomes part of its weights.
 *     c = R.nn.conv2d(x, w)                         s = gamma / sqrt(var + epsilon)
 *     b = R.nn.batch_norm(c, gamma, beta,     ->    d = R.nn.conv2d(x, w * s)
 *                         mean, var, axis=1)        y = d + (beta - mean * s)
 *     y = b[0]
 * s along the axis of the output channels, which fold_constant makes constants of where weights and
 * statistics are constants. For inference, whatever the operator's `training` says: the statistics are
 * the given ones. needs: normal form, struct info. keeps: all else. Where all three are bound in one
 * block, each is used by the next alone, axis is that of the channels, layouts have four plain axes,
 * and nobody writes to an operand. Numbers differ in rounding. */
#include "transform/edit.h"
#include "transform/transform_int.h"

typedef struct fold { const rlx_call *conv, *norm; } fold;

typedef struct folding {
    rlx_context *ctx;
    rlx_env env;
    rlx_use_def uses;
    rlx_written written;
    rlx_ptrmap blocks;            /* variable of a conv2d or a batch_norm -> its block */
    rlx_ptrmap dropped;           /* bindings that the next one takes in */
    rlx_ptrmap folds;             /* binding of the item -> its number + 1 */
    RLX_VEC(fold) list;
    const fold *now;              /* of the binding under way */
    const rlx_op_row *conv2d, *batch_norm;
} folding;

/* ---- where ---------------------------------------------------------------------------------- */

/* The axis called `name` in a layout of four plain axes; -1: it is another. */
static int64_t axis_of(rlx_slice layout, char name)
{
    int64_t axis = -1;
    for (size_t i = 0; i < layout.len; i++) {
        if (layout.data[i] < 'A' || layout.data[i] > 'Z')
            return -1;
        if (layout.data[i] == name)
            axis = (int64_t)i;
    }
    return layout.len == 4 ? axis : -1;
}

static int64_t channel_axis(const rlx_call *conv)
{
    rlx_slice out = rlx_attr_text(rlx_call_attr(conv, "out_layout"));
    return axis_of(out.len ? out : rlx_attr_text(rlx_call_attr(conv, "data_layout")), 'C');
}

static int64_t output_axis(const rlx_call *conv)
{
    return axis_of(rlx_attr_text(rlx_call_attr(conv, "kernel_layout")), 'O');
}

/* The call of `row` that v is bound to in this block and only used for one thing; NULL: another. */
static const rlx_call *only_use(const folding *f, const rlx_expr *v, const rlx_op_row *row,
                                const rlx_block *block)
{
    const rlx_var_uses *u = rlx_as_var(v) ? rlx_uses_of(&f->uses, v) : NULL;
    if (!u || !u->binding || u->count != 1 || u->binding->kind != RLX_NODE_VAR_BINDING ||
        rlx_ptrmap_get(&f->blocks, v) != block)
        return NULL;
    const rlx_expr *value = rlx_binding_value(u->binding);
    return rlx_callee_op(value) == row ? (const rlx_call *)value : NULL;
}

static bool is_written(const folding *f, const rlx_call *call)
{
    for (size_t i = 0; i < call->num_args; i++)
        if (rlx_is_written(&f->written, call->args[i]))
            return true;
    return false;
}

/* Ranks, dtypes and axes are as the arithmetic needs them. */
static bool fits(const folding *f, const rlx_call *conv, const rlx_call *norm)
{
    const rlx_tensor_sinfo *out = rlx_as_tensor_sinfo(((const rlx_var *)norm->args[0])->sinfo);
    const rlx_tensor_sinfo *weight =
        rlx_as_tensor_sinfo(rlx_leaf_sinfo(f->ctx, &f->env, conv->args[1]));
    int64_t axis = rlx_attr_as_int(rlx_call_attr(norm, "axis"), 0);
    axis += axis < 0 ? 4 : 0;
    return out && weight && out->ndim == 4 && weight->ndim == 4 &&
           rlx_dtype_is_float(out->dtype) && out->dtype == weight->dtype &&
           axis >= 0 && axis == channel_axis(conv) && output_axis(conv) >= 0;
}

static bool look_at_item(folding *f, const rlx_block *block, const rlx_binding *b)
{
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(rlx_binding_value(b));
    const rlx_call *norm = get && get->index == 0
                               ? only_use(f, get->tuple, f->batch_norm, block) : NULL;
    const rlx_call *conv = norm ? only_use(f, norm->args[0], f->conv2d, block) : NULL;
    if (!conv || b->kind != RLX_NODE_VAR_BINDING || !fits(f, conv, norm) ||
        is_written(f, conv) || is_written(f, norm))
        return true;
    return rlx_vec_push(&f->ctx->memory, &f->list, ((fold){ conv, norm })) &&
           rlx_ptrmap_put(&f->folds, b, f->list.len) &&
           rlx_ptrmap_put(&f->dropped, rlx_uses_of(&f->uses, get->tuple)->binding, 1) &&
           rlx_ptrmap_put(&f->dropped, rlx_uses_of(&f->uses, norm->args[0])->binding, 1);
}

static bool look_at_binding(folding *f, const rlx_block *block, const rlx_binding *b)
{
    const rlx_var *v = rlx_binding_var(b);
    const rlx_op_row *row = rlx_callee_op(rlx_binding_value(b));
    if (v && row && (row == f->conv2d || row == f->batch_norm))
        return rlx_ptrmap_put(&f->blocks, v, (uintptr_t)block);
    return !v || look_at_item(f, block, b);
}

static const rlx_function *find_folds(rlx_mutator *m, const rlx_function *function, bool *keep)
{
    folding *f = m->user;
    enum rlx_event_kind event;
    rlx_body_walk w = { 0 };
    if (f->uses.ctx)
        rlx_use_def_free(&f->uses);
    f->list.len = 0;
    bool good = rlx_use_def_find(&f->uses, m->ctx, &function->node) &&
                rlx_body_begin(&w, m->ctx, function->body);
    while (good && (event = rlx_body_next(&w)) != RLX_EVENT_DONE) {
        const rlx_seq_cursor *at = &rlx_body_top(&w)->at;
        if (event == RLX_EVENT_VALUE)
            good = rlx_body_into(&w);
        else if (event == RLX_EVENT_BIND)
            good = look_at_binding(f, at->block, at->binding);
    }
    rlx_body_free(&w);
    *keep = !f->list.len;
    return good ? function : NULL;
}

/* ---- what becomes of it --------------------------------------------------------------------- */

static enum rlx_begin begin_binding(rlx_mutator *m, const rlx_binding *old, rlx_place *place)
{
    folding *f = m->user;
    uintptr_t number;
    (void)place;
    f->now = rlx_ptrmap_find(&f->folds, old, &number) ? &f->list.data[number - 1] : NULL;
    return rlx_ptrmap_has(&f->dropped, old) ? RLX_BEGIN_DONE : RLX_BEGIN_REWRITE;
}

static const rlx_expr *apply(rlx_mutator *m, const char *op, const rlx_expr *a, const rlx_expr *b,
                             rlx_place place)
{
    return a && b ? rlx_op_call(m->ctx, op, a, b, NULL, NULL, place) : NULL;
}

/* x along one of four axes */
static const rlx_expr *along(rlx_mutator *m, const rlx_expr *x, int64_t axis, rlx_place place)
{
    return x ? rlx_spread_along(m->ctx, x, 4, &axis, 1, place) : NULL;
}

static const rlx_expr *bind(rlx_mutator *m, const rlx_expr *e, rlx_place place)
{
    rlx_emit how = { .number = -1, .place = place };
    return e ? (const rlx_expr *)rlx_builder_emit(m->builder, e, &how) : NULL;
}

/* gamma / sqrt(var + epsilon), bound to a variable */
static const rlx_expr *channel_scale(rlx_mutator *m, const rlx_call *norm, rlx_dtype dtype)
{
    rlx_place at = norm->place;
    double epsilon = rlx_attr_as_float(rlx_call_attr(norm, "epsilon"), 1e-5);
    bool scaled = rlx_attr_as_bool(rlx_call_attr(norm, "scale"), true);
    const rlx_expr *gamma = scaled ? rlx_mutator_now(m, norm->args[1])
                                   : rlx_float_constant(m->ctx, dtype, 1, at);
    const rlx_expr *spread = apply(m, "add", rlx_mutator_now(m, norm->args[4]),
                                   rlx_float_constant(m->ctx, dtype, epsilon, at), at);
    const rlx_expr *root =
        spread ? rlx_op_call(m->ctx, "sqrt", spread, NULL, NULL, NULL, at) : NULL;
    return bind(m, apply(m, "divide", gamma, root, at), at);
}

/* beta - mean * scale */
static const rlx_expr *channel_offset(rlx_mutator *m, const rlx_call *norm, const rlx_expr *scale)
{
    const rlx_expr *mean =
        apply(m, "multiply", rlx_mutator_now(m, norm->args[3]), scale, norm->place);
    if (!rlx_attr_as_bool(rlx_call_attr(norm, "center"), true))
        return mean ? rlx_op_call(m->ctx, "negative", mean, NULL, NULL, NULL, norm->place) : NULL;
    return apply(m, "subtract", rlx_mutator_now(m, norm->args[2]), mean, norm->place);
}

static const rlx_expr *fold_item(rlx_mutator *m, const rlx_expr *now)
{
    const folding *f = m->user;
    if (!f->now || !rlx_as_tuple_get_item(now))
        return now;
    const rlx_call *conv = f->now->conv, *norm = f->now->norm;
    rlx_dtype dtype = ((const rlx_tensor_sinfo *)((const rlx_var *)norm->args[0])->sinfo)->dtype;
    const rlx_expr *scale = channel_scale(m, norm, dtype);
    const rlx_expr *weight =
        apply(m, "multiply", rlx_mutator_now(m, conv->args[1]),
              along(m, scale, output_axis(conv), norm->place), norm->place);
    const rlx_expr *args[2] = { rlx_mutator_now(m, conv->args[0]), weight };
    const rlx_expr *out =
        weight ? rlx_call_new(m->ctx, conv->op, args, 2, NULL, 0, conv->attrs, conv->place) : NULL;
    out = bind(m, out, conv->place);
    return out ? apply(m, "add", out,
                       along(m, channel_offset(m, norm, scale), channel_axis(conv), norm->place),
                       norm->place)
               : NULL;
}

const rlx_module *rlx_pass_fold_batchnorm_to_conv2d(rlx_pass_run *run, const rlx_module *m)
{
    rlx_mutator_hooks hooks = { .begin = begin_binding, .leave = fold_item };
    folding f = { .ctx = run->ctx, .env = rlx_module_env(m),
                  .conv2d = rlx_op_find(RLX_SLICE("nn.conv2d")),
                  .batch_norm = rlx_op_find(RLX_SLICE("nn.batch_norm")) };
    rlx_mutation how = { .hooks = &hooks, .user = &f, .enter = find_folds };
    rlx_ptrmap *maps[] = { &f.blocks, &f.dropped, &f.folds };
    rlx_memory *memory = &run->ctx->memory;
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], memory);
    const rlx_module *out =
        rlx_find_written(run->ctx, m, &f.written) ? rlx_mutate_module(run->ctx, m, &how) : NULL;
    if (f.uses.ctx)
        rlx_use_def_free(&f.uses);
    rlx_written_free(&f.written);
    rlx_vec_free(memory, &f.list);
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_free(maps[i]);
    return out;
}
