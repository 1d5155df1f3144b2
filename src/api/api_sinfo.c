/* api_sinfo.c: struct info: constructors and getters. */
#include "api/api_int.h"

#include "arith/arith.h"
#include "sinfo/sinfo.h"

#define INFO(p) ((const rlx_sinfo *)(const void *)(p))

static bool prims(relax_context *ctx, const relax_prim_expr *const *values, size_t count,
                  const char *what)
{
    return rlx_api_family_array(ctx, (const void *const *)values, count, RLX_FAMILY_PRIM, what);
}

static bool infos(relax_context *ctx, const relax_struct_info *const *values, size_t count,
                  const char *what)
{
    return rlx_api_family_array(ctx, (const void *const *)values, count, RLX_FAMILY_SINFO, what);
}

/* Dimensions are int64; narrower literals are widened, anything else is refused by WX06 later. */
static bool rank_fits(relax_context *ctx, int32_t ndim)
{
    if (ndim >= -1 && ndim <= INT32_MAX)
        return true;
    rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "a rank is -1 or more, found %d", ndim);
    return false;
}

relax_struct_info *relax_struct_info_object_new(relax_context *ctx)
{
    return RLX_API_CONTEXT(ctx) ? give(ctx, rlx_object_info(ctx)) : NULL;
}

relax_struct_info *relax_struct_info_prim_new(relax_context *ctx, relax_dtype dtype,
                                              const relax_prim_expr *value)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok = rlx_api_dtype(ctx, dtype, false, "dtype") &&
              (!value || rlx_api_family(ctx, value, RLX_FAMILY_PRIM, "value"));
    if (ok && value && rlx_prim_dtype(node_of(value)) != dtype)
        ok = rlx_error(ctx, RLX_WF22, RLX_NO_PLACE,
                       "the value of R.Prim has another dtype than R.Prim says") != NULL;
    return give(ctx, ok ? rlx_prim_info(ctx, dtype, node_of(value)) : NULL);
}

relax_struct_info *relax_struct_info_shape_new(relax_context *ctx,
                                               const relax_prim_expr *const *values, size_t count)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx, prims(ctx, values, count, "values")
                         ? rlx_shape_info(ctx, nodes_of(values), count)
                         : NULL);
}

relax_struct_info *relax_struct_info_shape_of_rank(relax_context *ctx, int32_t ndim)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx, rank_fits(ctx, ndim) ? rlx_shape_info_rank(ctx, ndim) : NULL);
}

static bool are_integers(relax_context *ctx, const relax_prim_expr *const *dims, size_t ndim)
{
    for (size_t i = 0; i < ndim; i++) {
        rlx_dtype t = rlx_prim_dtype(nodes_of(dims)[i]);
        if (rlx_dtype_is_int(t) && rlx_dtype_lanes(t) == 1)
            continue;
        char have[RLX_DTYPE_TEXT];
        rlx_dtype_name(t, have);
        rlx_error(ctx, RLX_WX06, RLX_NO_PLACE, "dimension %zu has dtype %s, expected an integer", i, have);
        return false;
    }
    return true;
}

relax_struct_info *relax_struct_info_tensor_new(relax_context *ctx,
                                                const relax_prim_expr *const *dims, size_t ndim,
                                                relax_dtype dtype)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!prims(ctx, dims, ndim, "dims") || !are_integers(ctx, dims, ndim) ||
        !rlx_api_dtype(ctx, dtype, true, "dtype"))
        return give(ctx, NULL);
    const rlx_expr *shape = rlx_shape_new(ctx, nodes_of(dims), ndim);
    return give(ctx, shape ? rlx_tensor_info(ctx, shape, dtype, (int)ndim, NULL) : NULL);
}

relax_struct_info *relax_struct_info_tensor_of_ints(relax_context *ctx, const int64_t *dims,
                                                    size_t ndim, relax_dtype dtype)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if ((ndim && !rlx_api_required(ctx, dims, "dims")) || !rlx_api_dtype(ctx, dtype, true, "dtype"))
        return give(ctx, NULL);
    for (size_t i = 0; i < ndim; i++)
        if (dims[i] < 0)
            return give(ctx, rlx_error(ctx, RLX_TY15, RLX_NO_PLACE,
                                       "dimension %zu is %lld; sizes are never negative", i,
                                       (long long)dims[i]));
    return give(ctx, rlx_tensor_ints(ctx, dims, ndim, dtype));
}

relax_struct_info *relax_struct_info_tensor_of_rank(relax_context *ctx, int32_t ndim,
                                                    relax_dtype dtype)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok = rank_fits(ctx, ndim) && rlx_api_dtype(ctx, dtype, true, "dtype");
    return give(ctx, ok ? rlx_tensor_info(ctx, NULL, dtype, ndim, NULL) : NULL);
}

relax_struct_info *relax_struct_info_with_device(relax_context *ctx,
                                                 const relax_struct_info *tensor,
                                                 const relax_attr *device)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, tensor, RLX_FAMILY_SINFO, "tensor") ||
        (device && !rlx_api_family(ctx, device, RLX_FAMILY_DEVICE, "device")))
        return give(ctx, NULL);
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(node_of(tensor));
    const rlx_vdevice *v = rlx_as_vdevice(node_of(device));
    if (!t || (device && !v)) {
        const char *what =
            t ? "device is no virtual device" : "tensor is no description of Tensor kind";
        return give(ctx, rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "%s", what));
    }
    return give(ctx,
                rlx_tensor_info(ctx, t->shape, t->dtype, t->ndim, v ? &v->node : NULL));
}

const relax_attr *relax_struct_info_device(const relax_struct_info *info)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(node_of(info));
    const rlx_vdevice *v = t ? rlx_as_vdevice(t->vdevice) : NULL;
    return v ? (const relax_attr *)(const void *)v : NULL;
}

int32_t relax_struct_info_is_distributed(const relax_struct_info *info)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(node_of(info));
    return t && rlx_as_sharding(t->vdevice);
}

relax_struct_info *relax_struct_info_tensor_of_shape(relax_context *ctx, const relax_expr *shape,
                                                     relax_dtype dtype)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, shape, RLX_FAMILY_EXPR, "shape") ||
        !rlx_api_dtype(ctx, dtype, true, "dtype"))
        return give(ctx, NULL);
    const rlx_var *var = rlx_as_var(node_of(shape));
    const rlx_shape_sinfo *info = var ? rlx_as_shape_sinfo(var->sinfo) : NULL;
    if (!info)
        return give(
            ctx, rlx_error(
                     ctx, RLX_TY14, RLX_NO_PLACE,
                     "the shape of a tensor is a variable of Shape kind or a list of dimensions"));
    return give(ctx, rlx_tensor_info(ctx, &var->node, dtype, info->ndim, NULL));
}

relax_struct_info *relax_struct_info_tuple_new(relax_context *ctx,
                                               const relax_struct_info *const *fields, size_t count)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx, infos(ctx, fields, count, "fields")
                         ? rlx_tuple_info(ctx, nodes_of(fields), count)
                         : NULL);
}

static bool never_bound(void *user, const rlx_prim_var *v)
{
    (void)user;
    (void)v;
    return false;
}

relax_struct_info *relax_struct_info_func_new(relax_context *ctx,
                                              const relax_struct_info *const *params,
                                              size_t num_params, const relax_struct_info *ret,
                                              int32_t pure)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!infos(ctx, params, num_params, "params") ||
        !rlx_api_family(ctx, ret, RLX_FAMILY_SINFO, "ret"))
        return give(ctx, NULL);
    const rlx_sinfo *open =
        rlx_func_info(ctx, NULL, 0, nodes_of(params), num_params, node_of(ret), pure != 0);
    return give(ctx, open ? rlx_close_binders(ctx, open, never_bound, NULL) : NULL);
}

relax_struct_info *relax_struct_info_opaque_func_new(relax_context *ctx,
                                                     const relax_struct_info *ret, int32_t pure)
{
    if (!RLX_API_CONTEXT(ctx) || (ret && !rlx_api_family(ctx, ret, RLX_FAMILY_SINFO, "ret")))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    const rlx_sinfo *result = ret ? node_of(ret) : rlx_object_info(ctx);
    return give(ctx, rlx_opaque_func_info(ctx, ret ? RLX_DERIVE_CONST : RLX_DERIVE_EMPTY, NULL,
                                          result, pure != 0));
}

/* ---- getters: stored fields only, so that they may run while other threads read */

int32_t relax_struct_info_kind(const relax_struct_info *info)
{
    if (!info)
        return 0;
    switch (INFO(info)->kind) {
    case RLX_NODE_OBJECT_SINFO: return RELAX_STRUCT_INFO_KIND_OBJECT;
    case RLX_NODE_PRIM_SINFO: return RELAX_STRUCT_INFO_KIND_PRIM;
    case RLX_NODE_SHAPE_SINFO: return RELAX_STRUCT_INFO_KIND_SHAPE;
    case RLX_NODE_TENSOR_SINFO: return RELAX_STRUCT_INFO_KIND_TENSOR;
    case RLX_NODE_TUPLE_SINFO: return RELAX_STRUCT_INFO_KIND_TUPLE;
    case RLX_NODE_FUNC_SINFO: return RELAX_STRUCT_INFO_KIND_FUNC;
    case RLX_NODE_EXTENSION_SINFO: return RELAX_STRUCT_INFO_KIND_EXTENSION;
    default: return 0;
    }
}

relax_dtype relax_struct_info_dtype(const relax_struct_info *info)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(INFO(info));
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(INFO(info));
    return t ? t->dtype : p ? p->dtype : RELAX_VOID;
}

int32_t relax_struct_info_ndim(const relax_struct_info *info)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(INFO(info));
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(INFO(info));
    return t ? t->ndim : s ? s->ndim : -1;
}

const relax_prim_expr *relax_struct_info_dim(const relax_struct_info *info, size_t index)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(INFO(info));
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(INFO(info));
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(INFO(info));
    const rlx_shape_expr *shape = t ? rlx_as_shape_expr(t->shape) : NULL;
    const rlx_prim *dim = NULL;
    if (shape && index < shape->num_values)
        dim = shape->values[index];
    else if (s && index < s->num_values)
        dim = s->values[index];
    else if (p && index == 0)
        dim = p->value;
    return (const relax_prim_expr *)(const void *)dim;
}

size_t relax_struct_info_num_fields(const relax_struct_info *info)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(INFO(info));
    const rlx_func_sinfo *f = rlx_as_func_sinfo(INFO(info));
    if (t)
        return t->num_fields;
    return f && f->derive == RLX_DERIVE_NONE ? f->num_params : RELAX_NOT_FOUND;
}

const relax_struct_info *relax_struct_info_field(const relax_struct_info *info, size_t index)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(INFO(info));
    const rlx_func_sinfo *f = rlx_as_func_sinfo(INFO(info));
    const rlx_sinfo *field = NULL;
    if (t && index < t->num_fields)
        field = t->fields[index];
    else if (f && index < f->num_params)
        field = f->params[index];
    return (const relax_struct_info *)(const void *)field;
}

const relax_struct_info *relax_struct_info_ret(const relax_struct_info *info)
{
    const rlx_func_sinfo *f = rlx_as_func_sinfo(INFO(info));
    return (const relax_struct_info *)(const void *)(f ? f->ret : NULL);
}

int32_t relax_struct_info_is_pure(const relax_struct_info *info)
{
    const rlx_func_sinfo *f = rlx_as_func_sinfo(INFO(info));
    return f ? f->is_pure != 0 : 0;
}
