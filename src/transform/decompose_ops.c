/*- decompose_ops: decompose_ops_for_inference and decompose_ops_for_training. Normalisation as
 * arithmetic that other passes know how to fold and fuse.
 *     y = R.nn.batch_norm(x, gamma, beta, mean, var, axis=1)
 *         ->  a = subtract(x, expand_dims(mean)); b = sqrt(add(expand_dims(var), 1e-5))
 *             c = add(multiply(divide(a, b), expand_dims(gamma)), expand_dims(beta))
 *             y = (c, mean, var)
 * For inference whatever the operator's `training` says: that is what who asks for it wants. For
 * training, mean and var are those of the batch, and the second and third field the moved ones;
 * layer_norm likewise. Both:
 *     s = R.tensor_to_shape(t)   ->  s_1 = call_pure_packed("vm.builtin.tensor_to_shape", t)
 *                                    _ = match_cast(s_1, R.Shape([x, x_1])); s = R.shape([x, x_1])
 * needs: normal form, struct info. keeps: what is not replaced. Left alone: tensors whose rank is not
 * known. What is computed in float16 was computed in float32 by the operator. */
#include "transform/edit.h"
#include "transform/transform_int.h"

typedef struct decompose {
    rlx_mutator *m;
    rlx_context *ctx;
    rlx_place place;
    const rlx_call *call;
    const rlx_tensor_sinfo *x;      /* its first argument, of known rank */
    bool training;
} decompose;

static const rlx_expr *apply(const decompose *d, const char *op, const rlx_expr *a,
                             const rlx_expr *b)
{
    return a && b ? rlx_op_call(d->ctx, op, a, b, NULL, NULL, d->place) : NULL;
}

static const rlx_expr *number(const decompose *d, double v)
{
    return rlx_float_constant(d->ctx, d->x->dtype, v, d->place);
}

static double float_attr(const decompose *d, const char *name, double otherwise)
{
    return rlx_attr_as_float(rlx_call_attr(d->call, name), otherwise);
}

static bool flag_attr(const decompose *d, const char *name)
{
    return rlx_attr_as_bool(rlx_call_attr(d->call, name), true);
}

/* A statistic of x over axes, bound to a variable. */
static const rlx_expr *statistic(const decompose *d, const char *op, const int64_t *axes,
                                 size_t count, bool keepdims)
{
    const rlx_attr *keys[2] = { rlx_attr_string_new(d->ctx, RLX_SLICE("axis")),
                                rlx_attr_string_new(d->ctx, RLX_SLICE("keepdims")) };
    const rlx_attr *values[2] = { rlx_ints_attr(d->ctx, axes, count),
                                  rlx_attr_bool_new(d->ctx, keepdims) };
    const rlx_attr *given = rlx_attrs_new(d->ctx, keys, values, 2);
    const rlx_expr *call =
        given ? rlx_call_op_z(d->ctx, op, d->call->args, 1, given, d->place) : NULL;
    rlx_emit how = { .number = -1, .place = d->place };
    return call ? (const rlx_expr *)rlx_builder_emit(d->m->builder, call, &how) : NULL;
}

/* (x - mean) / sqrt(variance + epsilon) * gamma + beta, all of them broadcast already */
static const rlx_expr *normalised(const decompose *d, const rlx_expr *mean,
                                  const rlx_expr *variance, const rlx_expr *gamma,
                                  const rlx_expr *beta)
{
    const rlx_expr *spread = apply(d, "add", variance, number(d, float_attr(d, "epsilon", 1e-5)));
    const rlx_expr *out =
        apply(d, "divide", apply(d, "subtract", d->call->args[0], mean),
              spread ? rlx_op_call(d->ctx, "sqrt", spread, NULL, NULL, NULL, d->place) : NULL);
    if (flag_attr(d, "scale"))
        out = apply(d, "multiply", out, gamma);
    return flag_attr(d, "center") ? apply(d, "add", out, beta) : out;
}

/* (1 - momentum) * given + momentum * batch */
static const rlx_expr *moved(const decompose *d, const rlx_expr *given, const rlx_expr *batch)
{
    double momentum = float_attr(d, "momentum", 0.1);
    return apply(d, "add", apply(d, "multiply", number(d, 1 - momentum), given),
                 apply(d, "multiply", number(d, momentum), batch));
}

static const rlx_expr *decompose_batch_norm(const decompose *d)
{
    const rlx_expr *const *given = d->call->args, *wide[4], *fields[3];
    size_t ndim = (size_t)d->x->ndim, count = 0;
    int64_t axis = rlx_attr_as_int(rlx_call_attr(d->call, "axis"), 0), others[RLX_PASS_MAX_RANK];
    axis += axis < 0 ? d->x->ndim : 0;
    for (size_t i = 0; i < ndim; i++)
        if ((int64_t)i != axis)
            others[count++] = (int64_t)i;
    const rlx_expr *mean = given[3], *variance = given[4];
    if (d->training) {
        mean = statistic(d, "mean", others, count, false);
        variance = mean ? statistic(d, "variance", others, count, false) : NULL;
    }
    const rlx_expr *narrow[4] = { mean, variance, given[1], given[2] };
    for (size_t i = 0; i < 4; i++)
        if (!(wide[i] = narrow[i] ? rlx_spread_along(d->ctx, narrow[i], ndim, &axis, 1, d->place)
                                  : NULL))
            return NULL;
    fields[0] = normalised(d, wide[0], wide[1], wide[2], wide[3]);
    fields[1] = d->training ? moved(d, given[3], mean) : mean;
    fields[2] = d->training ? moved(d, given[4], variance) : variance;
    return rlx_tuple_new(d->ctx, fields, 3, d->place);
}

/* The axes ascend, so that gamma and beta can be broadcast as they are. */
static const rlx_expr *decompose_layer_norm(const decompose *d)
{
    const rlx_attr *list = rlx_call_attr(d->call, "axes");
    const rlx_expr *wide[2];
    size_t count = rlx_attr_count(list);
    int64_t axes[RLX_PASS_MAX_RANK];
    for (size_t i = 0; i < count; i++) {
        axes[i] = rlx_attr_item(list, i);
        axes[i] += axes[i] < 0 ? d->x->ndim : 0;
        if (i && axes[i] <= axes[i - 1])
            return &d->call->node;
    }
    if (!count)
        return &d->call->node;
    const rlx_expr *mean = statistic(d, "mean", axes, count, true);
    const rlx_expr *variance = mean ? statistic(d, "variance", axes, count, true) : NULL;
    for (size_t i = 0; i < 2; i++)
        if (!(wide[i] = rlx_spread_along(d->ctx, d->call->args[1 + i], (size_t)d->x->ndim, axes,
                                         count, d->place)))
            return NULL;
    return variance ? normalised(d, mean, variance, wide[0], wide[1]) : NULL;
}

/* R.Shape([x, x_1, ...]) of new variables, as struct info and as value. */
static bool name_sizes(const decompose *d, size_t count, const rlx_sinfo **info,
                       const rlx_expr **shape)
{
    RLX_VEC(const rlx_prim *) sizes = { 0 };
    const rlx_string *x = rlx_string_z(d->ctx, "x");
    bool good = x != NULL;
    for (size_t i = 0; good && i < count; i++) {
        const rlx_prim_var *v = rlx_prim_var_new(d->ctx, x, RELAX_INT64, d->place);
        good = v && rlx_vec_push(&d->ctx->memory, &sizes, &v->node);
    }
    *info = good ? rlx_shape_info(d->ctx, sizes.data, count) : NULL;
    *shape = good ? rlx_shape_new(d->ctx, sizes.data, count) : NULL;
    rlx_vec_free(&d->ctx->memory, &sizes);
    return *info && *shape;
}

static const rlx_expr *name_shape(const decompose *d)
{
    const rlx_sinfo *known = rlx_builder_infer(d->m->builder, &d->call->node), *info;
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(known);
    const rlx_expr *shape, *args[2] = {
        rlx_extern_func_new(d->ctx, RLX_SLICE("vm.builtin.tensor_to_shape")), d->call->args[0]
    };
    rlx_emit how = { .number = -1, .place = d->place };
    if (!known || !s || s->ndim < 0)
        return known ? &d->call->node : NULL;
    const rlx_expr *call =
        args[0] ? rlx_call_op_sinfo(d->ctx, rlx_op_find(RLX_SLICE("call_pure_packed")), args, 2,
                                    &known, 1, NULL, d->place)
                : NULL;
    const rlx_var *v = call ? rlx_builder_emit(d->m->builder, call, &how) : NULL;
    return v && name_sizes(d, (size_t)s->ndim, &info, &shape) &&
                   rlx_builder_emit_match(d->m->builder, &v->node, info, &how, true)
               ? shape
               : NULL;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static const rlx_expr *decompose_call(rlx_mutator *m, const rlx_expr *now)
{
    const bool *training = m->user;
    const rlx_op_row *row = rlx_callee_op(now);
    decompose d = { .m = m, .ctx = m->ctx, .place = rlx_place_of(now), .call = rlx_as_call(now),
                    .training = *training };
    bool shape = row && row == rlx_op_find(RLX_SLICE("tensor_to_shape"));
    bool batch = row && row == rlx_op_find(RLX_SLICE("nn.batch_norm"));
    bool layer = row && row == rlx_op_find(RLX_SLICE("nn.layer_norm")) && *training;
    if (shape)
        return name_shape(&d);
    if (!batch && !layer)
        return now;
    const rlx_sinfo *info = rlx_builder_infer(m->builder, d.call->args[0]);
    d.x = rlx_as_tensor_sinfo(info);
    /* statistics over no axes at all are nothing that reductions know */
    int least = layer ? 1 : d.training ? 2 : 0;
    if (!d.x || d.x->ndim < least || d.x->ndim > RLX_PASS_MAX_RANK ||
        !rlx_dtype_is_float(d.x->dtype))
        return info ? now : NULL;
    return batch ? decompose_batch_norm(&d) : decompose_layer_norm(&d);
}

static const rlx_module *decompose_ops(rlx_pass_run *run, const rlx_module *m, bool training)
{
    rlx_mutator_hooks hooks = { .leave = decompose_call };
    rlx_mutation how = { .hooks = &hooks, .user = &training };
    return rlx_pass_function(run, m, &how.gv) ? rlx_mutate_module(run->ctx, m, &how) : NULL;
}

const rlx_module *rlx_pass_decompose_ops_for_inference(rlx_pass_run *run, const rlx_module *m)
{
    return decompose_ops(run, m, false);
}

const rlx_module *rlx_pass_decompose_ops_for_training(rlx_pass_run *run, const rlx_module *m)
{
    return decompose_ops(run, m, true);
}
