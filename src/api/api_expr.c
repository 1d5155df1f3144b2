/* api_expr.c: making Relax expressions. */
#include "api/api_int.h"

#include <stdio.h>
#include <string.h>
#include "op/op.h"

static bool exprs(relax_context *ctx, const relax_expr *const *items, size_t count,
                  const char *what)
{
    return rlx_api_family_array(ctx, (const void *const *)items, count, RLX_FAMILY_EXPR, what);
}

relax_expr *relax_constant_new(relax_context *ctx, relax_dtype dtype, const int64_t *shape,
                               size_t ndim, const void *data, size_t data_size)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_dtype(ctx, dtype, false, "dtype") ||
        (ndim && !rlx_api_required(ctx, shape, "shape")) ||
        (data_size && !rlx_api_required(ctx, data, "data")))
        return give(ctx, NULL);
    size_t size = rlx_dtype_bytes(dtype);
    if (!size || !rlx_dtype_is_computable(dtype))
        return give(ctx, rlx_error(ctx, RLX_OP03, RLX_NO_PLACE,
                                   "a constant has elements of a dtype that can be stored"));
    for (size_t i = 0; i < ndim; i++)
        if (shape[i] < 0 || !rlx_mul_size(size, (size_t)shape[i], &size))
            return give(ctx, rlx_error(ctx, RLX_OP03, RLX_NO_PLACE,
                                       "size %lld of dimension %zu is negative or too large",
                                       (long long)shape[i], i));
    if (size != data_size)
        return give(ctx, rlx_error(ctx, RLX_OP03, RLX_NO_PLACE,
                                   "a constant of that shape has %zu bytes, found %zu", size,
                                   data_size));
    return give(ctx, rlx_constant_new(ctx, dtype, shape, ndim, data, RLX_NO_PLACE));
}

relax_expr *relax_var_new(relax_context *ctx, const char *name, size_t name_len,
                          const relax_struct_info *info, relax_place place)
{
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_name(ctx, name, name_len, "name", &slice) ||
        !rlx_api_family(ctx, info, RLX_FAMILY_SINFO, "info"))
        return give(ctx, NULL);
    const rlx_string *text = rlx_string_intern(ctx, slice);
    return give(ctx, text ? rlx_var_new(ctx, false, text, -1, node_of(info), place) : NULL);
}

relax_expr *relax_tuple_new(relax_context *ctx, const relax_expr *const *fields, size_t count)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx, exprs(ctx, fields, count, "fields")
                         ? rlx_tuple_new(ctx, nodes_of(fields), count, RLX_NO_PLACE)
                         : NULL);
}

relax_expr *relax_tuple_get_item_new(relax_context *ctx, const relax_expr *tuple, size_t index)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_family(ctx, tuple, RLX_FAMILY_EXPR, "tuple"))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    if (index > INT64_MAX)
        return give(ctx, rlx_error(ctx, RLX_OP03, RLX_NO_PLACE,
                                   "an index is at most %lld, found %zu", (long long)INT64_MAX,
                                   index));
    return give(ctx, rlx_tuple_get_item_new(ctx, node_of(tuple), (int64_t)index, RLX_NO_PLACE));
}

relax_expr *relax_shape_expr_new(relax_context *ctx, const relax_prim_expr *const *values,
                                 size_t count)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok =
        rlx_api_family_array(ctx, (const void *const *)values, count, RLX_FAMILY_PRIM, "values");
    return give(ctx, ok ? rlx_shape_new(ctx, nodes_of(values), count) : NULL);
}

relax_expr *relax_prim_value_new(relax_context *ctx, const relax_prim_expr *value)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx, rlx_api_family(ctx, value, RLX_FAMILY_PRIM, "value")
                         ? rlx_prim_value_new(ctx, node_of(value))
                         : NULL);
}

relax_expr *relax_string_imm_new(relax_context *ctx, const char *text, size_t len)
{
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx,
                rlx_api_required(ctx, text, "text") && rlx_api_text(ctx, text, len, "text", &slice)
                    ? rlx_string_imm_new(ctx, slice)
                    : NULL);
}

relax_expr *relax_dtype_imm_new(relax_context *ctx, relax_dtype dtype)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx,
                rlx_api_dtype(ctx, dtype, true, "dtype") ? rlx_dtype_imm_new(ctx, dtype) : NULL);
}

relax_expr *relax_extern_func_new(relax_context *ctx, const char *name, size_t name_len)
{
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx, rlx_api_name(ctx, name, name_len, "name", &slice)
                         ? rlx_extern_func_new(ctx, slice)
                         : NULL);
}

/* The arguments of an operator, by its names of them. */
static bool op_args(relax_context *ctx, const rlx_op_row *row, const relax_expr *const *args,
                    size_t count)
{
    char what[128];
    if (count && !rlx_api_required(ctx, args, "args"))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (RLX_LIKELY(rlx_api_is(ctx, args[i], RLX_FAMILY_EXPR)))
            continue;
        const char *name = row->num_args ? row->args[i < row->num_args ? i : row->num_args - (size_t)1].name
                                         : "args";
        snprintf(what, sizeof what, "argument %zu (%s) of %s", i, name, row->short_name);
        return rlx_api_family(ctx, args[i], RLX_FAMILY_EXPR, what);
    }
    return true;
}

static const rlx_op_row *find_op(relax_context *ctx, const char *op, size_t op_len,
                                 relax_place place)
{
    rlx_slice name;
    if (!rlx_api_name(ctx, op, op_len, "op", &name))
        return NULL;
    const rlx_op_row *row = rlx_op_find_in(ctx, name);
    if (row)
        return row;
    const char *near = rlx_op_suggest(ctx, name);
    return rlx_error(ctx, RLX_OP06, place, "unknown operator %.*s%s%s", rlx_api_width(name),
                     name.data, near ? "; did you mean " : "", near ? near : "");
}

relax_expr *relax_call_op_new(relax_context *ctx, const char *op, size_t op_len,
                              const relax_expr *const *args, size_t num_args,
                              const relax_attr *attrs, relax_place place)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    const rlx_op_row *row = find_op(ctx, op, op_len, place);
    bool ok = row && op_args(ctx, row, args, num_args) && rlx_api_map_or_null(ctx, attrs, "attrs");
    rlx_float_env host = rlx_float_enter(); /* attributes become floats */
    const rlx_expr *call =
        ok ? rlx_call_op(ctx, row, nodes_of(args), num_args, node_of(attrs), place) : NULL;
    rlx_float_leave(host);
    return give(ctx, call);
}

relax_expr *relax_call_op_new_with_result(relax_context *ctx, const char *op, size_t op_len,
                                          const relax_expr *const *args, size_t num_args,
                                          const relax_attr *attrs, const relax_struct_info *result,
                                          relax_place place)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    const rlx_op_row *row = find_op(ctx, op, op_len, place);
    bool ok = row && op_args(ctx, row, args, num_args) &&
              rlx_api_map_or_null(ctx, attrs, "attrs") &&
              rlx_api_family(ctx, result, RLX_FAMILY_SINFO, "result");
    const rlx_sinfo *info = node_of(result);
    rlx_float_env host = rlx_float_enter();
    const rlx_expr *call =
        ok ? rlx_call_op_sinfo(ctx, row, nodes_of(args), num_args, &info, 1, node_of(attrs), place)
           : NULL;
    rlx_float_leave(host);
    return give(ctx, call);
}

relax_expr *relax_call_new(relax_context *ctx, const relax_expr *callee,
                           const relax_expr *const *args, size_t num_args,
                           const relax_struct_info *result, relax_place place)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok = rlx_api_family(ctx, callee, RLX_FAMILY_EXPR, "callee") &&
              exprs(ctx, args, num_args, "args") &&
              (!result || rlx_api_family(ctx, result, RLX_FAMILY_SINFO, "result"));
    if (ok && node_of(callee)->kind == RLX_NODE_OP)
        ok =
            rlx_error(ctx, RLX_OP02, place, "an operator is called with relax_call_op_new") != NULL;
    const rlx_sinfo *info = node_of(result);
    return give(ctx, ok ? rlx_call_new(ctx, node_of(callee), nodes_of(args), num_args, &info,
                                       result ? 1 : 0, NULL, place)
                        : NULL);
}
