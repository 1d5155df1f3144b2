/* ops.h: the operators as C functions, for those who write C by hand. Written by `make abi`
 * from the operator table.
 *
 * `R.matmul(a, b)` is relax_r_matmul(ctx, a, b, NULL): arguments and attributes that must be given
 * are parameters. What may be left out is in a struct, relax_NAME_attrs, which comes last; NULL
 * stands for the defaults, those of relax_NAME_attrs_init:
 *
 *     int64_t axes[] = { 0, 2 };
 *     relax_sum_attrs how;
 *     relax_sum_attrs_init(&how);
 *     how.axis = axes;
 *     how.num_axis = 2;
 *     how.keepdims = 1;
 *     relax_expr *y = relax_r_sum(ctx, x, &how);
 *
 * In a struct NULL leaves an optional argument out (then also those after it); lists are a
 * pointer and a count; NULL for a string or a list is None where None is allowed and the
 * default elsewhere; strings end with NUL. Operators that state their result take it before the
 * struct. The calls carry no place: that of the binding stands for them. Failure as in
 * relax_call_op_new, which does all the work: nothing here is part of the library, and its structs
 * may differ between versions; bindings of other languages generate theirs from relax/op.h.
 */
#ifndef RELAX_OPS_H
#define RELAX_OPS_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what the wrappers share ---------------------------------------------------------------- */

/* Arguments in front that are given; the first `required` always count. */
static inline size_t relax_r_given(const relax_expr *const *args, size_t required, size_t count)
{
    size_t n = required;
    while (n < count && args[n])
        n++;
    return n;
}
static inline const relax_attr *relax_r_set(relax_context *ctx, const relax_attr *attrs,
                                            const char *name, size_t name_len,
                                            const relax_attr *value)
{
    return value ? relax_attr_map_with(ctx, attrs, name, name_len, value) : attrs;
}
static inline const relax_attr *relax_r_text(relax_context *ctx, const char *text)
{
    size_t len = 0;
    while (text && text[len])
        len++;
    return text ? relax_attr_string_new(ctx, text, len) : NULL;
}
static inline const relax_attr *relax_r_text_or_none(relax_context *ctx, const char *text)
{
    return text ? relax_r_text(ctx, text) : relax_attr_none_new(ctx);
}
static inline const relax_attr *relax_r_int_or_none(relax_context *ctx, const int64_t *value)
{
    return value ? relax_attr_int_new(ctx, *value) : relax_attr_none_new(ctx);
}
static inline const relax_attr *relax_r_float_or_none(relax_context *ctx, const double *value)
{
    return value ? relax_attr_float_new(ctx, *value) : relax_attr_none_new(ctx);
}
static inline const relax_attr *relax_r_ints(relax_context *ctx, const int64_t *values,
                                             size_t count)
{
    return values || count ? relax_attr_ints_new(ctx, values, count) : NULL;
}
static inline const relax_attr *relax_r_ints_or_none(relax_context *ctx, const int64_t *values,
                                                     size_t count)
{
    return values || count ? relax_attr_ints_new(ctx, values, count) : relax_attr_none_new(ctx);
}

/* ---- operators ------------------------------------------------------------------------------ */

/* R.abs: absolute value of each element */
static inline relax_expr *relax_r_abs(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.abs", 9, given, 1, NULL, 0);
}

/* R.acos: inverse cosine of each element, in radians */
static inline relax_expr *relax_r_acos(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.acos", 10, given, 1, NULL, 0);
}

/* R.acosh: inverse hyperbolic cosine of each element */
static inline relax_expr *relax_r_acosh(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.acosh", 11, given, 1, NULL, 0);
}

/* R.add: sum, element by element with broadcasting */
static inline relax_expr *relax_r_add(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.add", 9, given, 2, NULL, 0);
}

/* R.arange: start, start + step, ... before end; with one argument 0 ... before it
 * defaults: dtype void
 */
typedef struct relax_arange_attrs {
    const relax_expr *end;
    const relax_expr *step;
    relax_dtype dtype;
} relax_arange_attrs;
static inline void relax_arange_attrs_init(relax_arange_attrs *attrs)
{
    attrs->end = NULL;
    attrs->step = NULL;
    attrs->dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_arange(relax_context *ctx, const relax_expr *start,
        const relax_arange_attrs *attrs)
{
    const relax_expr *given[] = { start, attrs ? attrs->end : NULL, attrs ? attrs->step : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.arange", 12, given, relax_r_given(given, 1, 3), map, 0);
}

/* R.argmax: position of the first greatest element, or of the first NaN
 * defaults: axis None, keepdims False
 */
typedef struct relax_argmax_attrs {
    const int64_t *axis;
    int32_t keepdims;
} relax_argmax_attrs;
static inline void relax_argmax_attrs_init(relax_argmax_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_argmax(relax_context *ctx, const relax_expr *x,
        const relax_argmax_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_int_or_none(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.argmax", 12, given, 1, map, 0);
}

/* R.argmin: position of the first least element, or of the first NaN
 * defaults: axis None, keepdims False
 */
typedef struct relax_argmin_attrs {
    const int64_t *axis;
    int32_t keepdims;
} relax_argmin_attrs;
static inline void relax_argmin_attrs_init(relax_argmin_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_argmin(relax_context *ctx, const relax_expr *x,
        const relax_argmin_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_int_or_none(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.argmin", 12, given, 1, map, 0);
}

/* R.argsort: positions that would sort along an axis; stable
 * defaults: axis -1, descending False, dtype int32
 */
typedef struct relax_argsort_attrs {
    int64_t axis;
    int32_t descending;
    relax_dtype dtype;
} relax_argsort_attrs;
static inline void relax_argsort_attrs_init(relax_argsort_attrs *attrs)
{
    attrs->axis = -1;
    attrs->descending = 0;
    attrs->dtype = RELAX_INT32;
}
static inline relax_expr *relax_r_argsort(relax_context *ctx, const relax_expr *data,
        const relax_argsort_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "descending", 10, relax_attr_bool_new(ctx, attrs->descending));
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.argsort", 13, given, 1, map, 0);
}

/* R.asin: inverse sine of each element, in radians */
static inline relax_expr *relax_r_asin(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.asin", 10, given, 1, NULL, 0);
}

/* R.asinh: inverse hyperbolic sine of each element */
static inline relax_expr *relax_r_asinh(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.asinh", 11, given, 1, NULL, 0);
}

/* R.assert_op: fails the run if the condition is false
 * `args`: condition, format, values ...
 */
static inline relax_expr *relax_r_assert_op(relax_context *ctx, const relax_expr *const *args,
        size_t num_args)
{
    return relax_call_op_new(ctx, "relax.assert_op", 15, args, num_args, NULL, 0);
}

/* R.astype: each element converted to another dtype; to integers toward zero, saturating */
static inline relax_expr *relax_r_astype(relax_context *ctx, const relax_expr *x,
        relax_dtype dtype)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, dtype));
    return relax_call_op_new(ctx, "relax.astype", 12, given, 1, map, 0);
}

/* R.atan: inverse tangent of each element, in radians */
static inline relax_expr *relax_r_atan(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.atan", 10, given, 1, NULL, 0);
}

/* R.atan2: angle of the point (x2, x1), in radians, with broadcasting */
static inline relax_expr *relax_r_atan2(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.atan2", 11, given, 2, NULL, 0);
}

/* R.atanh: inverse hyperbolic tangent of each element */
static inline relax_expr *relax_r_atanh(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.atanh", 11, given, 1, NULL, 0);
}

/* R.bitwise_and: bits set in both integers, with broadcasting */
static inline relax_expr *relax_r_bitwise_and(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.bitwise_and", 17, given, 2, NULL, 0);
}

/* R.bitwise_not: all bits of each integer flipped; for bool, not */
static inline relax_expr *relax_r_bitwise_not(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.bitwise_not", 17, given, 1, NULL, 0);
}

/* R.bitwise_or: bits set in one of two integers, with broadcasting */
static inline relax_expr *relax_r_bitwise_or(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.bitwise_or", 16, given, 2, NULL, 0);
}

/* R.bitwise_xor: bits set in exactly one of two integers, with broadcasting */
static inline relax_expr *relax_r_bitwise_xor(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.bitwise_xor", 17, given, 2, NULL, 0);
}

/* R.broadcast_to: x repeated along dimensions of size 1 to a given shape */
static inline relax_expr *relax_r_broadcast_to(relax_context *ctx, const relax_expr *x,
        const relax_expr *shape)
{
    const relax_expr *given[] = { x, shape };
    return relax_call_op_new(ctx, "relax.broadcast_to", 18, given, 2, NULL, 0);
}

/* R.bucketize: how many of the rising boundaries lie below each element
 * defaults: out_int32 False, right False
 */
typedef struct relax_bucketize_attrs {
    int32_t out_int32;
    int32_t right;
} relax_bucketize_attrs;
static inline void relax_bucketize_attrs_init(relax_bucketize_attrs *attrs)
{
    attrs->out_int32 = 0;
    attrs->right = 0;
}
static inline relax_expr *relax_r_bucketize(relax_context *ctx, const relax_expr *input_tensor,
        const relax_expr *boundaries, const relax_bucketize_attrs *attrs)
{
    const relax_expr *given[] = { input_tensor, boundaries };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "out_int32", 9, relax_attr_bool_new(ctx, attrs->out_int32));
        map = relax_r_set(ctx, map, "right", 5, relax_attr_bool_new(ctx, attrs->right));
    }
    return relax_call_op_new(ctx, "relax.bucketize", 15, given, 2, map, 0);
}

/* R.builtin.alloc_tensor: a new tensor, its elements undefined */
typedef struct relax_builtin_alloc_tensor_attrs {
    const relax_expr *storage_scope;
} relax_builtin_alloc_tensor_attrs;
static inline void relax_builtin_alloc_tensor_attrs_init(relax_builtin_alloc_tensor_attrs *attrs)
{
    attrs->storage_scope = NULL;
}
static inline relax_expr *relax_r_builtin_alloc_tensor(relax_context *ctx, const relax_expr *shape,
        const relax_expr *dtype, const relax_expr *runtime_device_index,
        const relax_builtin_alloc_tensor_attrs *attrs)
{
    const relax_expr *given[] = { shape, dtype, runtime_device_index,
        attrs ? attrs->storage_scope : NULL };
    return relax_call_op_new(ctx, "relax.builtin.alloc_tensor", 26, given, relax_r_given(given, 3,
        4), NULL, 0);
}

/* R.builtin.stop_lift_params: x itself; what comes before it may not be computed with the
 *   weights
 */
static inline relax_expr *relax_r_builtin_stop_lift_params(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.builtin.stop_lift_params", 30, given, 1, NULL, 0);
}

/* R.call_builtin_with_ctx: calls a function of the run time, which also gets the machine */
static inline relax_expr *relax_r_call_builtin_with_ctx(relax_context *ctx, const relax_expr *func,
        const relax_expr *args, const relax_struct_info *result)
{
    const relax_expr *given[] = { func, args };
    return relax_call_op_new_with_result(ctx, "relax.call_builtin_with_ctx", 27, given, 2, NULL,
        result, 0);
}

/* R.call_dps_packed: calls a packed function with allocated outputs, which are the result */
static inline relax_expr *relax_r_call_dps_packed(relax_context *ctx, const relax_expr *func,
        const relax_expr *args, const relax_struct_info *result)
{
    const relax_expr *given[] = { func, args };
    return relax_call_op_new_with_result(ctx, "relax.call_dps_packed", 21, given, 2, NULL, result,
        0);
}

/* R.call_inplace_packed: calls a packed function that writes results over arguments
 * `args`: func, args ...
 */
static inline relax_expr *relax_r_call_inplace_packed(relax_context *ctx,
        const relax_expr *const *args, size_t num_args, const int64_t *inplace_indices,
        size_t num_inplace_indices, const relax_struct_info *result)
{
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "inplace_indices", 15, relax_r_ints(ctx, inplace_indices,
        num_inplace_indices));
    return relax_call_op_new_with_result(ctx, "relax.call_inplace_packed", 25, args, num_args, map,
        result, 0);
}

/* R.call_pure_packed: calls a packed function that the caller vouches is pure
 * `args`: func, args ...
 */
static inline relax_expr *relax_r_call_pure_packed(relax_context *ctx,
        const relax_expr *const *args, size_t num_args, const relax_struct_info *result)
{
    return relax_call_op_new_with_result(ctx, "relax.call_pure_packed", 22, args, num_args, NULL,
        result, 0);
}

/* R.call_tir: calls a TIR function with allocated outputs, which are the result */
typedef struct relax_call_tir_attrs {
    const relax_expr *tir_vars;
} relax_call_tir_attrs;
static inline void relax_call_tir_attrs_init(relax_call_tir_attrs *attrs)
{
    attrs->tir_vars = NULL;
}
static inline relax_expr *relax_r_call_tir(relax_context *ctx, const relax_expr *gvar,
        const relax_expr *args, const relax_struct_info *result, const relax_call_tir_attrs *attrs)
{
    const relax_expr *given[] = { gvar, args, attrs ? attrs->tir_vars : NULL };
    return relax_call_op_new_with_result(ctx, "relax.call_tir", 14, given, relax_r_given(given, 2,
        3), NULL, result, 0);
}

/* R.call_tir_inplace: call_tir that writes outputs over arguments */
typedef struct relax_call_tir_inplace_attrs {
    const relax_expr *tir_vars;
} relax_call_tir_inplace_attrs;
static inline void relax_call_tir_inplace_attrs_init(relax_call_tir_inplace_attrs *attrs)
{
    attrs->tir_vars = NULL;
}
static inline relax_expr *relax_r_call_tir_inplace(relax_context *ctx, const relax_expr *gvar,
        const relax_expr *args, const int64_t *inplace_indices, size_t num_inplace_indices,
        const relax_struct_info *result, const relax_call_tir_inplace_attrs *attrs)
{
    const relax_expr *given[] = { gvar, args, attrs ? attrs->tir_vars : NULL };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "inplace_indices", 15, relax_r_ints(ctx, inplace_indices,
        num_inplace_indices));
    return relax_call_op_new_with_result(ctx, "relax.call_tir_inplace", 22, given,
        relax_r_given(given, 2, 3), map, result, 0);
}

/* R.call_tir_with_grad: call_tir that names its gradient
 * defaults: te_grad_kwargs {}
 */
typedef struct relax_call_tir_with_grad_attrs {
    const relax_expr *tir_vars;
    const relax_attr *te_grad_kwargs;
} relax_call_tir_with_grad_attrs;
static inline void relax_call_tir_with_grad_attrs_init(relax_call_tir_with_grad_attrs *attrs)
{
    attrs->tir_vars = NULL;
    attrs->te_grad_kwargs = NULL;
}
static inline relax_expr *relax_r_call_tir_with_grad(relax_context *ctx, const relax_expr *gvar,
        const relax_expr *args, const char *te_grad_name, const relax_struct_info *result,
        const relax_call_tir_with_grad_attrs *attrs)
{
    const relax_expr *given[] = { gvar, args, attrs ? attrs->tir_vars : NULL };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "te_grad_name", 12, relax_r_text(ctx, te_grad_name));
    if (attrs) {
        map = relax_r_set(ctx, map, "te_grad_kwargs", 14, attrs->te_grad_kwargs);
    }
    return relax_call_op_new_with_result(ctx, "relax.call_tir_with_grad", 24, given,
        relax_r_given(given, 2, 3), map, result, 0);
}

/* R.ccl.allgather: x of all workers joined along axis 0
 * defaults: in_group True
 */
typedef struct relax_ccl_allgather_attrs {
    int32_t in_group;
} relax_ccl_allgather_attrs;
static inline void relax_ccl_allgather_attrs_init(relax_ccl_allgather_attrs *attrs)
{
    attrs->in_group = 1;
}
static inline relax_expr *relax_r_ccl_allgather(relax_context *ctx, const relax_expr *x,
        int64_t num_workers, const relax_ccl_allgather_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "num_workers", 11, relax_attr_int_new(ctx, num_workers));
    if (attrs) {
        map = relax_r_set(ctx, map, "in_group", 8, relax_attr_bool_new(ctx, attrs->in_group));
    }
    return relax_call_op_new(ctx, "relax.ccl.allgather", 19, given, 1, map, 0);
}

/* R.ccl.allreduce: x reduced over all workers
 * defaults: op_type sum, in_group True
 */
typedef struct relax_ccl_allreduce_attrs {
    const char *op_type;
    int32_t in_group;
} relax_ccl_allreduce_attrs;
static inline void relax_ccl_allreduce_attrs_init(relax_ccl_allreduce_attrs *attrs)
{
    attrs->op_type = "sum";
    attrs->in_group = 1;
}
static inline relax_expr *relax_r_ccl_allreduce(relax_context *ctx, const relax_expr *x,
        const relax_ccl_allreduce_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "op_type", 7, relax_r_text(ctx, attrs->op_type));
        map = relax_r_set(ctx, map, "in_group", 8, relax_attr_bool_new(ctx, attrs->in_group));
    }
    return relax_call_op_new(ctx, "relax.ccl.allreduce", 19, given, 1, map, 0);
}

/* R.ccl.broadcast_from_worker0: x of the first worker */
static inline relax_expr *relax_r_ccl_broadcast_from_worker0(relax_context *ctx,
        const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.ccl.broadcast_from_worker0", 32, given, 1, NULL, 0);
}

/* R.ccl.scatter_from_worker0: each worker's part of the first worker's x
 * defaults: axis 0
 */
typedef struct relax_ccl_scatter_from_worker0_attrs {
    int64_t axis;
} relax_ccl_scatter_from_worker0_attrs;
static inline void relax_ccl_scatter_from_worker0_attrs_init(
        relax_ccl_scatter_from_worker0_attrs *attrs)
{
    attrs->axis = 0;
}
static inline relax_expr *relax_r_ccl_scatter_from_worker0(relax_context *ctx, const relax_expr *x,
        int64_t num_workers, const relax_ccl_scatter_from_worker0_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "num_workers", 11, relax_attr_int_new(ctx, num_workers));
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.ccl.scatter_from_worker0", 30, given, 1, map, 0);
}

/* R.ceil: least integer not below each element; integers stay */
static inline relax_expr *relax_r_ceil(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.ceil", 10, given, 1, NULL, 0);
}

/* R.clip: each element limited to min .. max; NaN stays */
static inline relax_expr *relax_r_clip(relax_context *ctx, const relax_expr *x,
        const relax_expr *min, const relax_expr *max)
{
    const relax_expr *given[] = { x, min, max };
    return relax_call_op_new(ctx, "relax.clip", 10, given, 3, NULL, 0);
}

/* R.collapse_sum_like: data summed to the shape of another tensor: the reverse of broadcasting */
static inline relax_expr *relax_r_collapse_sum_like(relax_context *ctx, const relax_expr *data,
        const relax_expr *collapse_target)
{
    const relax_expr *given[] = { data, collapse_target };
    return relax_call_op_new(ctx, "relax.collapse_sum_like", 23, given, 2, NULL, 0);
}

/* R.collapse_sum_to: data summed to a shape: the reverse of broadcasting */
static inline relax_expr *relax_r_collapse_sum_to(relax_context *ctx, const relax_expr *data,
        const relax_expr *shape)
{
    const relax_expr *given[] = { data, shape };
    return relax_call_op_new(ctx, "relax.collapse_sum_to", 21, given, 2, NULL, 0);
}

/* R.concat: tensors joined along one axis
 * defaults: axis 0
 */
typedef struct relax_concat_attrs {
    const int64_t *axis;
} relax_concat_attrs;
static inline void relax_concat_attrs_init(relax_concat_attrs *attrs)
{
    static const int64_t axis = 0;
    attrs->axis = &axis;
}
static inline relax_expr *relax_r_concat(relax_context *ctx, const relax_expr *tensors,
        const relax_concat_attrs *attrs)
{
    const relax_expr *given[] = { tensors };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_int_or_none(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.concat", 12, given, 1, map, 0);
}

/* R.cos: cosine of each element, in radians */
static inline relax_expr *relax_r_cos(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.cos", 9, given, 1, NULL, 0);
}

/* R.cosh: hyperbolic cosine of each element */
static inline relax_expr *relax_r_cosh(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.cosh", 10, given, 1, NULL, 0);
}

/* R.cumprod: running product
 * defaults: axis None, dtype void, exclusive False
 */
typedef struct relax_cumprod_attrs {
    const int64_t *axis;
    relax_dtype dtype;
    const relax_attr *exclusive;
} relax_cumprod_attrs;
static inline void relax_cumprod_attrs_init(relax_cumprod_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->dtype = RELAX_VOID;
    attrs->exclusive = NULL;
}
static inline relax_expr *relax_r_cumprod(relax_context *ctx, const relax_expr *data,
        const relax_cumprod_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_int_or_none(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
        map = relax_r_set(ctx, map, "exclusive", 9, attrs->exclusive);
    }
    return relax_call_op_new(ctx, "relax.cumprod", 13, given, 1, map, 0);
}

/* R.cumsum: running sum
 * defaults: axis None, dtype void, exclusive False
 */
typedef struct relax_cumsum_attrs {
    const int64_t *axis;
    relax_dtype dtype;
    const relax_attr *exclusive;
} relax_cumsum_attrs;
static inline void relax_cumsum_attrs_init(relax_cumsum_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->dtype = RELAX_VOID;
    attrs->exclusive = NULL;
}
static inline relax_expr *relax_r_cumsum(relax_context *ctx, const relax_expr *data,
        const relax_cumsum_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_int_or_none(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
        map = relax_r_set(ctx, map, "exclusive", 9, attrs->exclusive);
    }
    return relax_call_op_new(ctx, "relax.cumsum", 12, given, 1, map, 0);
}

/* R.dequantize: (x - zero_point) * scale
 * defaults: out_dtype float32, axis -1
 */
typedef struct relax_dequantize_attrs {
    relax_dtype out_dtype;
    int64_t axis;
} relax_dequantize_attrs;
static inline void relax_dequantize_attrs_init(relax_dequantize_attrs *attrs)
{
    attrs->out_dtype = RELAX_FLOAT32;
    attrs->axis = -1;
}
static inline relax_expr *relax_r_dequantize(relax_context *ctx, const relax_expr *data,
        const relax_expr *scale, const relax_expr *zero_point, const relax_dequantize_attrs *attrs)
{
    const relax_expr *given[] = { data, scale, zero_point };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.dequantize", 16, given, 3, map, 0);
}

/* R.dist.annotate_sharding: input itself, and how it is to lie on the mesh */
static inline relax_expr *relax_r_dist_annotate_sharding(relax_context *ctx,
        const relax_expr *input, const relax_attr *device_mesh, const char *placement)
{
    const relax_expr *given[] = { input };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "device_mesh", 11, device_mesh);
    map = relax_r_set(ctx, map, "placement", 9, relax_r_text(ctx, placement));
    return relax_call_op_new(ctx, "relax.dist.annotate_sharding", 28, given, 1, map, 0);
}

/* R.dist.call_tir_local_view: call_tir of each device on its part of the arguments */
typedef struct relax_dist_call_tir_local_view_attrs {
    const relax_expr *tir_vars;
} relax_dist_call_tir_local_view_attrs;
static inline void relax_dist_call_tir_local_view_attrs_init(
        relax_dist_call_tir_local_view_attrs *attrs)
{
    attrs->tir_vars = NULL;
}
static inline relax_expr *relax_r_dist_call_tir_local_view(relax_context *ctx,
        const relax_expr *gvar, const relax_expr *args, const relax_struct_info *result,
        const relax_dist_call_tir_local_view_attrs *attrs)
{
    const relax_expr *given[] = { gvar, args, attrs ? attrs->tir_vars : NULL };
    return relax_call_op_new_with_result(ctx, "relax.dist.call_tir_local_view", 30, given,
        relax_r_given(given, 2, 3), NULL, result, 0);
}

/* R.dist.redistribute: a distributed tensor brought to another mesh or placement */
static inline relax_expr *relax_r_dist_redistribute(relax_context *ctx, const relax_expr *input,
        const relax_attr *device_mesh, const char *placement)
{
    const relax_expr *given[] = { input };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "device_mesh", 11, device_mesh);
    map = relax_r_set(ctx, map, "placement", 9, relax_r_text(ctx, placement));
    return relax_call_op_new(ctx, "relax.dist.redistribute", 23, given, 1, map, 0);
}

/* R.dist.redistribute_replica_to_shard: each worker's part of what all of them have */
static inline relax_expr *relax_r_dist_redistribute_replica_to_shard(relax_context *ctx,
        const relax_expr *input, int64_t num_workers, int64_t axis)
{
    const relax_expr *given[] = { input };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "num_workers", 11, relax_attr_int_new(ctx, num_workers));
    map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, axis));
    return relax_call_op_new(ctx, "relax.dist.redistribute_replica_to_shard", 40, given, 1, map,
        0);
}

/* R.divide: quotient with broadcasting; of integers toward zero */
static inline relax_expr *relax_r_divide(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.divide", 12, given, 2, NULL, 0);
}

/* R.dynamic_strided_slice: strided_slice whose bounds are tensors */
static inline relax_expr *relax_r_dynamic_strided_slice(relax_context *ctx, const relax_expr *x,
        const relax_expr *begin, const relax_expr *end, const relax_expr *strides)
{
    const relax_expr *given[] = { x, begin, end, strides };
    return relax_call_op_new(ctx, "relax.dynamic_strided_slice", 27, given, 4, NULL, 0);
}

/* R.einsum: products summed as the subscripts say */
static inline relax_expr *relax_r_einsum(relax_context *ctx, const relax_expr *operands,
        const char *subscripts)
{
    const relax_expr *given[] = { operands };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "subscripts", 10, relax_r_text(ctx, subscripts));
    return relax_call_op_new(ctx, "relax.einsum", 12, given, 1, map, 0);
}

/* R.equal: true where elements are equal, with broadcasting */
static inline relax_expr *relax_r_equal(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.equal", 11, given, 2, NULL, 0);
}

/* R.erf: error function of each element */
static inline relax_expr *relax_r_erf(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.erf", 9, given, 1, NULL, 0);
}

/* R.ewise_fma: x1 * x2 + x3 of equal shapes */
static inline relax_expr *relax_r_ewise_fma(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2, const relax_expr *x3)
{
    const relax_expr *given[] = { x1, x2, x3 };
    return relax_call_op_new(ctx, "relax.ewise_fma", 15, given, 3, NULL, 0);
}

/* R.exp: e to the power of each element */
static inline relax_expr *relax_r_exp(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.exp", 9, given, 1, NULL, 0);
}

/* R.expand_dims: new dimensions of size 1 */
static inline relax_expr *relax_r_expand_dims(relax_context *ctx, const relax_expr *x,
        const int64_t *axis, size_t num_axis)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "axis", 4, relax_r_ints(ctx, axis, num_axis));
    return relax_call_op_new(ctx, "relax.expand_dims", 17, given, 1, map, 0);
}

/* R.eye: n by m, 1 on the k-th diagonal, else 0
 * defaults: dtype float32
 */
typedef struct relax_eye_attrs {
    const relax_expr *m;
    const relax_expr *k;
    relax_dtype dtype;
} relax_eye_attrs;
static inline void relax_eye_attrs_init(relax_eye_attrs *attrs)
{
    attrs->m = NULL;
    attrs->k = NULL;
    attrs->dtype = RELAX_FLOAT32;
}
static inline relax_expr *relax_r_eye(relax_context *ctx, const relax_expr *n,
        const relax_eye_attrs *attrs)
{
    const relax_expr *given[] = { n, attrs ? attrs->m : NULL, attrs ? attrs->k : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.eye", 9, given, relax_r_given(given, 1, 3), map, 0);
}

/* R.eye_like: 1 on the k-th diagonal, else 0, in the shape of a matrix
 * defaults: dtype void
 */
typedef struct relax_eye_like_attrs {
    const relax_expr *k;
    relax_dtype dtype;
} relax_eye_like_attrs;
static inline void relax_eye_like_attrs_init(relax_eye_like_attrs *attrs)
{
    attrs->k = NULL;
    attrs->dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_eye_like(relax_context *ctx, const relax_expr *x,
        const relax_eye_like_attrs *attrs)
{
    const relax_expr *given[] = { x, attrs ? attrs->k : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.eye_like", 14, given, relax_r_given(given, 1, 2), map, 0);
}

/* R.flatten: the elements of x in row-major order, rank 1 */
static inline relax_expr *relax_r_flatten(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.flatten", 13, given, 1, NULL, 0);
}

/* R.flip: elements in reverse along one axis */
static inline relax_expr *relax_r_flip(relax_context *ctx, const relax_expr *data, int64_t axis)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, axis));
    return relax_call_op_new(ctx, "relax.flip", 10, given, 1, map, 0);
}

/* R.floor: greatest integer not above each element; integers stay */
static inline relax_expr *relax_r_floor(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.floor", 11, given, 1, NULL, 0);
}

/* R.floor_divide: quotient rounded down, with broadcasting */
static inline relax_expr *relax_r_floor_divide(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.floor_divide", 18, given, 2, NULL, 0);
}

/* R.floor_mod: remainder with the sign of x2, with broadcasting */
static inline relax_expr *relax_r_floor_mod(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.floor_mod", 15, given, 2, NULL, 0);
}

/* R.full: one value in a shape
 * defaults: dtype void
 */
typedef struct relax_full_attrs {
    relax_dtype dtype;
} relax_full_attrs;
static inline void relax_full_attrs_init(relax_full_attrs *attrs)
{
    attrs->dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_full(relax_context *ctx, const relax_expr *shape,
        const relax_expr *fill_value, const relax_full_attrs *attrs)
{
    const relax_expr *given[] = { shape, fill_value };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.full", 10, given, 2, map, 0);
}

/* R.full_like: one value in the shape of a tensor
 * defaults: dtype void
 */
typedef struct relax_full_like_attrs {
    relax_dtype dtype;
} relax_full_like_attrs;
static inline void relax_full_like_attrs_init(relax_full_like_attrs *attrs)
{
    attrs->dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_full_like(relax_context *ctx, const relax_expr *x,
        const relax_expr *fill_value, const relax_full_like_attrs *attrs)
{
    const relax_expr *given[] = { x, fill_value };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.full_like", 15, given, 2, map, 0);
}

/* R.gather_elements: elements of data at positions given for one axis
 * defaults: axis 0
 */
typedef struct relax_gather_elements_attrs {
    int64_t axis;
} relax_gather_elements_attrs;
static inline void relax_gather_elements_attrs_init(relax_gather_elements_attrs *attrs)
{
    attrs->axis = 0;
}
static inline relax_expr *relax_r_gather_elements(relax_context *ctx, const relax_expr *data,
        const relax_expr *indices, const relax_gather_elements_attrs *attrs)
{
    const relax_expr *given[] = { data, indices };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.gather_elements", 21, given, 2, map, 0);
}

/* R.gather_nd: slices of data at positions in the last dimension of indices
 * defaults: batch_dims 0
 */
typedef struct relax_gather_nd_attrs {
    int64_t batch_dims;
} relax_gather_nd_attrs;
static inline void relax_gather_nd_attrs_init(relax_gather_nd_attrs *attrs)
{
    attrs->batch_dims = 0;
}
static inline relax_expr *relax_r_gather_nd(relax_context *ctx, const relax_expr *data,
        const relax_expr *indices, const relax_gather_nd_attrs *attrs)
{
    const relax_expr *given[] = { data, indices };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "batch_dims", 10, relax_attr_int_new(ctx, attrs->batch_dims));
    }
    return relax_call_op_new(ctx, "relax.gather_nd", 15, given, 2, map, 0);
}

/* R.grad.avg_pool2d_backward: gradient of avg_pool2d
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCHW, out_layout None
 */
typedef struct relax_grad_avg_pool2d_backward_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
} relax_grad_avg_pool2d_backward_attrs;
static inline void relax_grad_avg_pool2d_backward_attrs_init(
        relax_grad_avg_pool2d_backward_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCHW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_grad_avg_pool2d_backward(relax_context *ctx,
        const relax_expr *output_grad, const relax_expr *data,
        const relax_grad_avg_pool2d_backward_attrs *attrs)
{
    const relax_expr *given[] = { output_grad, data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.grad.avg_pool2d_backward", 30, given, 2, map, 0);
}

/* R.grad.end_checkpoint: input itself; ends a checkpoint */
static inline relax_expr *relax_r_grad_end_checkpoint(relax_context *ctx, const relax_expr *input)
{
    const relax_expr *given[] = { input };
    return relax_call_op_new(ctx, "relax.grad.end_checkpoint", 25, given, 1, NULL, 0);
}

/* R.grad.max_pool2d_backward: gradient of max_pool2d
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCHW, out_layout None
 */
typedef struct relax_grad_max_pool2d_backward_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
} relax_grad_max_pool2d_backward_attrs;
static inline void relax_grad_max_pool2d_backward_attrs_init(
        relax_grad_max_pool2d_backward_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCHW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_grad_max_pool2d_backward(relax_context *ctx,
        const relax_expr *output_grad, const relax_expr *data,
        const relax_grad_max_pool2d_backward_attrs *attrs)
{
    const relax_expr *given[] = { output_grad, data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.grad.max_pool2d_backward", 30, given, 2, map, 0);
}

/* R.grad.nll_loss_backward: gradient of nll_loss
 * defaults: reduction mean, ignore_index -100
 */
typedef struct relax_grad_nll_loss_backward_attrs {
    const relax_expr *weights;
    const char *reduction;
    int64_t ignore_index;
} relax_grad_nll_loss_backward_attrs;
static inline void relax_grad_nll_loss_backward_attrs_init(
        relax_grad_nll_loss_backward_attrs *attrs)
{
    attrs->weights = NULL;
    attrs->reduction = "mean";
    attrs->ignore_index = -100;
}
static inline relax_expr *relax_r_grad_nll_loss_backward(relax_context *ctx,
        const relax_expr *output_grad, const relax_expr *predictions, const relax_expr *targets,
        const relax_grad_nll_loss_backward_attrs *attrs)
{
    const relax_expr *given[] = { output_grad, predictions, targets,
        attrs ? attrs->weights : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "reduction", 9, relax_r_text(ctx, attrs->reduction));
        map = relax_r_set(ctx, map, "ignore_index", 12, relax_attr_int_new(ctx,
            attrs->ignore_index));
    }
    return relax_call_op_new(ctx, "relax.grad.nll_loss_backward", 28, given, relax_r_given(given,
        3, 4), map, 0);
}

/* R.grad.no_grad: input itself, a constant to differentiation */
static inline relax_expr *relax_r_grad_no_grad(relax_context *ctx, const relax_expr *input)
{
    const relax_expr *given[] = { input };
    return relax_call_op_new(ctx, "relax.grad.no_grad", 18, given, 1, NULL, 0);
}

/* R.grad.start_checkpoint: input itself; what follows is computed again when differentiating */
static inline relax_expr *relax_r_grad_start_checkpoint(relax_context *ctx,
        const relax_expr *input)
{
    const relax_expr *given[] = { input };
    return relax_call_op_new(ctx, "relax.grad.start_checkpoint", 27, given, 1, NULL, 0);
}

/* R.grad.take_backward: gradient of take
 * defaults: axis None, mode fast
 */
typedef struct relax_grad_take_backward_attrs {
    const int64_t *axis;
    const char *mode;
} relax_grad_take_backward_attrs;
static inline void relax_grad_take_backward_attrs_init(relax_grad_take_backward_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->mode = "fast";
}
static inline relax_expr *relax_r_grad_take_backward(relax_context *ctx,
        const relax_expr *output_grad, const relax_expr *x, const relax_expr *indices,
        const relax_grad_take_backward_attrs *attrs)
{
    const relax_expr *given[] = { output_grad, x, indices };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_int_or_none(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "mode", 4, relax_r_text(ctx, attrs->mode));
    }
    return relax_call_op_new(ctx, "relax.grad.take_backward", 24, given, 3, map, 0);
}

/* R.greater: true where x1 > x2, with broadcasting */
static inline relax_expr *relax_r_greater(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.greater", 13, given, 2, NULL, 0);
}

/* R.greater_equal: true where x1 >= x2, with broadcasting */
static inline relax_expr *relax_r_greater_equal(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.greater_equal", 19, given, 2, NULL, 0);
}

/* R.hamming_window: alpha - beta * cos(2 pi k / (n - 1)); n for a periodic window
 * defaults: dtype float32
 */
typedef struct relax_hamming_window_attrs {
    relax_dtype dtype;
} relax_hamming_window_attrs;
static inline void relax_hamming_window_attrs_init(relax_hamming_window_attrs *attrs)
{
    attrs->dtype = RELAX_FLOAT32;
}
static inline relax_expr *relax_r_hamming_window(relax_context *ctx, const relax_expr *window_size,
        const relax_expr *periodic, const relax_expr *alpha, const relax_expr *beta,
        const relax_hamming_window_attrs *attrs)
{
    const relax_expr *given[] = { window_size, periodic, alpha, beta };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.hamming_window", 20, given, 4, map, 0);
}

/* R.hint_on_device: where a tensor is wished to be
 * defaults: dev_id 0
 */
typedef struct relax_hint_on_device_attrs {
    int64_t dev_id;
} relax_hint_on_device_attrs;
static inline void relax_hint_on_device_attrs_init(relax_hint_on_device_attrs *attrs)
{
    attrs->dev_id = 0;
}
static inline relax_expr *relax_r_hint_on_device(relax_context *ctx, const relax_expr *data,
        int64_t dev_type, const relax_hint_on_device_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "dev_type", 8, relax_attr_int_new(ctx, dev_type));
    if (attrs) {
        map = relax_r_set(ctx, map, "dev_id", 6, relax_attr_int_new(ctx, attrs->dev_id));
    }
    return relax_call_op_new(ctx, "relax.hint_on_device", 20, given, 1, map, 0);
}

/* R.image.affine_grid: positions that affine maps give for the pixels of an image
 * defaults: align_corners True
 */
typedef struct relax_image_affine_grid_attrs {
    int32_t align_corners;
} relax_image_affine_grid_attrs;
static inline void relax_image_affine_grid_attrs_init(relax_image_affine_grid_attrs *attrs)
{
    attrs->align_corners = 1;
}
static inline relax_expr *relax_r_image_affine_grid(relax_context *ctx, const relax_expr *data,
        const relax_expr *size, const relax_image_affine_grid_attrs *attrs)
{
    const relax_expr *given[] = { data, size };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "align_corners", 13, relax_attr_bool_new(ctx,
            attrs->align_corners));
    }
    return relax_call_op_new(ctx, "relax.image.affine_grid", 23, given, 2, map, 0);
}

/* R.image.grid_sample: images sampled at the positions of a grid
 * defaults: method bilinear, layout NCHW, padding_mode zeros, align_corners False
 */
typedef struct relax_image_grid_sample_attrs {
    const char *method;
    const char *layout;
    const char *padding_mode;
    int32_t align_corners;
} relax_image_grid_sample_attrs;
static inline void relax_image_grid_sample_attrs_init(relax_image_grid_sample_attrs *attrs)
{
    attrs->method = "bilinear";
    attrs->layout = "NCHW";
    attrs->padding_mode = "zeros";
    attrs->align_corners = 0;
}
static inline relax_expr *relax_r_image_grid_sample(relax_context *ctx, const relax_expr *data,
        const relax_expr *grid, const relax_image_grid_sample_attrs *attrs)
{
    const relax_expr *given[] = { data, grid };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "method", 6, relax_r_text(ctx, attrs->method));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "padding_mode", 12, relax_r_text(ctx, attrs->padding_mode));
        map = relax_r_set(ctx, map, "align_corners", 13, relax_attr_bool_new(ctx,
            attrs->align_corners));
    }
    return relax_call_op_new(ctx, "relax.image.grid_sample", 23, given, 2, map, 0);
}

/* R.image.resize: axes at another size; scales that are 0 or left out are the quotients of the
 *   sizes; roi: where each axis begins, then where it ends
 * defaults: method linear, coordinate_transformation_mode half_pixel, rounding_method
 *   round_prefer_floor, cubic_alpha -0.75, cubic_exclude False, antialias False,
 *   extrapolation_value 0.0
 */
typedef struct relax_image_resize_attrs {
    const relax_expr *scales;
    const relax_expr *roi;
    const char *method;
    const char *coordinate_transformation_mode;
    const char *rounding_method;
    double cubic_alpha;
    int32_t cubic_exclude;
    int32_t antialias;
    double extrapolation_value;
} relax_image_resize_attrs;
static inline void relax_image_resize_attrs_init(relax_image_resize_attrs *attrs)
{
    attrs->scales = NULL;
    attrs->roi = NULL;
    attrs->method = "linear";
    attrs->coordinate_transformation_mode = "half_pixel";
    attrs->rounding_method = "round_prefer_floor";
    attrs->cubic_alpha = -0.75;
    attrs->cubic_exclude = 0;
    attrs->antialias = 0;
    attrs->extrapolation_value = 0.0;
}
static inline relax_expr *relax_r_image_resize(relax_context *ctx, const relax_expr *data,
        const relax_expr *size, const int64_t *axes, size_t num_axes,
        const relax_image_resize_attrs *attrs)
{
    const relax_expr *given[] = { data, size, attrs ? attrs->scales : NULL,
        attrs ? attrs->roi : NULL };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "axes", 4, relax_r_ints(ctx, axes, num_axes));
    if (attrs) {
        map = relax_r_set(ctx, map, "method", 6, relax_r_text(ctx, attrs->method));
        map = relax_r_set(ctx, map, "coordinate_transformation_mode", 30, relax_r_text(ctx,
            attrs->coordinate_transformation_mode));
        map = relax_r_set(ctx, map, "rounding_method", 15, relax_r_text(ctx,
            attrs->rounding_method));
        map = relax_r_set(ctx, map, "cubic_alpha", 11, relax_attr_float_new(ctx,
            attrs->cubic_alpha));
        map = relax_r_set(ctx, map, "cubic_exclude", 13, relax_attr_bool_new(ctx,
            attrs->cubic_exclude));
        map = relax_r_set(ctx, map, "antialias", 9, relax_attr_bool_new(ctx, attrs->antialias));
        map = relax_r_set(ctx, map, "extrapolation_value", 19, relax_attr_float_new(ctx,
            attrs->extrapolation_value));
    }
    return relax_call_op_new(ctx, "relax.image.resize", 18, given, relax_r_given(given, 2, 4), map,
        0);
}

/* R.image.resize1d: lines at another size
 * defaults: roi [0.0, 0.0], layout NCW, method linear, coordinate_transformation_mode
 *   half_pixel, rounding_method , cubic_alpha -0.75, cubic_exclude 0, extrapolation_value 0.0,
 *   out_dtype void
 */
typedef struct relax_image_resize1d_attrs {
    const relax_attr *roi;
    const char *layout;
    const char *method;
    const char *coordinate_transformation_mode;
    const char *rounding_method;
    double cubic_alpha;
    int64_t cubic_exclude;
    double extrapolation_value;
    relax_dtype out_dtype;
} relax_image_resize1d_attrs;
static inline void relax_image_resize1d_attrs_init(relax_image_resize1d_attrs *attrs)
{
    attrs->roi = NULL;
    attrs->layout = "NCW";
    attrs->method = "linear";
    attrs->coordinate_transformation_mode = "half_pixel";
    attrs->rounding_method = "";
    attrs->cubic_alpha = -0.75;
    attrs->cubic_exclude = 0;
    attrs->extrapolation_value = 0.0;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_image_resize1d(relax_context *ctx, const relax_expr *data,
        const relax_expr *size, const relax_image_resize1d_attrs *attrs)
{
    const relax_expr *given[] = { data, size };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "roi", 3, attrs->roi);
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "method", 6, relax_r_text(ctx, attrs->method));
        map = relax_r_set(ctx, map, "coordinate_transformation_mode", 30, relax_r_text(ctx,
            attrs->coordinate_transformation_mode));
        map = relax_r_set(ctx, map, "rounding_method", 15, relax_r_text(ctx,
            attrs->rounding_method));
        map = relax_r_set(ctx, map, "cubic_alpha", 11, relax_attr_float_new(ctx,
            attrs->cubic_alpha));
        map = relax_r_set(ctx, map, "cubic_exclude", 13, relax_attr_int_new(ctx,
            attrs->cubic_exclude));
        map = relax_r_set(ctx, map, "extrapolation_value", 19, relax_attr_float_new(ctx,
            attrs->extrapolation_value));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.image.resize1d", 20, given, 2, map, 0);
}

/* R.image.resize2d: images at another size
 * defaults: roi [0.0, 0.0, 0.0, 0.0], layout NCHW, method linear,
 *   coordinate_transformation_mode half_pixel, rounding_method round, cubic_alpha -0.5,
 *   cubic_exclude 0, extrapolation_value 0.0, out_dtype void
 */
typedef struct relax_image_resize2d_attrs {
    const relax_attr *roi;
    const char *layout;
    const char *method;
    const char *coordinate_transformation_mode;
    const char *rounding_method;
    double cubic_alpha;
    int64_t cubic_exclude;
    double extrapolation_value;
    relax_dtype out_dtype;
} relax_image_resize2d_attrs;
static inline void relax_image_resize2d_attrs_init(relax_image_resize2d_attrs *attrs)
{
    attrs->roi = NULL;
    attrs->layout = "NCHW";
    attrs->method = "linear";
    attrs->coordinate_transformation_mode = "half_pixel";
    attrs->rounding_method = "round";
    attrs->cubic_alpha = -0.5;
    attrs->cubic_exclude = 0;
    attrs->extrapolation_value = 0.0;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_image_resize2d(relax_context *ctx, const relax_expr *data,
        const relax_expr *size, const relax_image_resize2d_attrs *attrs)
{
    const relax_expr *given[] = { data, size };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "roi", 3, attrs->roi);
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "method", 6, relax_r_text(ctx, attrs->method));
        map = relax_r_set(ctx, map, "coordinate_transformation_mode", 30, relax_r_text(ctx,
            attrs->coordinate_transformation_mode));
        map = relax_r_set(ctx, map, "rounding_method", 15, relax_r_text(ctx,
            attrs->rounding_method));
        map = relax_r_set(ctx, map, "cubic_alpha", 11, relax_attr_float_new(ctx,
            attrs->cubic_alpha));
        map = relax_r_set(ctx, map, "cubic_exclude", 13, relax_attr_int_new(ctx,
            attrs->cubic_exclude));
        map = relax_r_set(ctx, map, "extrapolation_value", 19, relax_attr_float_new(ctx,
            attrs->extrapolation_value));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.image.resize2d", 20, given, 2, map, 0);
}

/* R.image.resize3d: images of three axes at another size
 * defaults: roi [0.0, 0.0, 0.0, 0.0, 0.0, 0.0], layout NCDHW, method linear,
 *   coordinate_transformation_mode half_pixel, rounding_method , cubic_alpha -0.75,
 *   cubic_exclude 0, extrapolation_value 0.0, out_dtype void
 */
typedef struct relax_image_resize3d_attrs {
    const relax_attr *roi;
    const char *layout;
    const char *method;
    const char *coordinate_transformation_mode;
    const char *rounding_method;
    double cubic_alpha;
    int64_t cubic_exclude;
    double extrapolation_value;
    relax_dtype out_dtype;
} relax_image_resize3d_attrs;
static inline void relax_image_resize3d_attrs_init(relax_image_resize3d_attrs *attrs)
{
    attrs->roi = NULL;
    attrs->layout = "NCDHW";
    attrs->method = "linear";
    attrs->coordinate_transformation_mode = "half_pixel";
    attrs->rounding_method = "";
    attrs->cubic_alpha = -0.75;
    attrs->cubic_exclude = 0;
    attrs->extrapolation_value = 0.0;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_image_resize3d(relax_context *ctx, const relax_expr *data,
        const relax_expr *size, const relax_image_resize3d_attrs *attrs)
{
    const relax_expr *given[] = { data, size };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "roi", 3, attrs->roi);
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "method", 6, relax_r_text(ctx, attrs->method));
        map = relax_r_set(ctx, map, "coordinate_transformation_mode", 30, relax_r_text(ctx,
            attrs->coordinate_transformation_mode));
        map = relax_r_set(ctx, map, "rounding_method", 15, relax_r_text(ctx,
            attrs->rounding_method));
        map = relax_r_set(ctx, map, "cubic_alpha", 11, relax_attr_float_new(ctx,
            attrs->cubic_alpha));
        map = relax_r_set(ctx, map, "cubic_exclude", 13, relax_attr_int_new(ctx,
            attrs->cubic_exclude));
        map = relax_r_set(ctx, map, "extrapolation_value", 19, relax_attr_float_new(ctx,
            attrs->extrapolation_value));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.image.resize3d", 20, given, 2, map, 0);
}

/* R.image.sum_pixels: sums of pixels (n, c, pixel) at indices (n, k, place) times weights of
 *   that shape, over k in its order: (n, c, place); behind the last pixel is one of zeros
 */
static inline relax_expr *relax_r_image_sum_pixels(relax_context *ctx, const relax_expr *data,
        const relax_expr *index, const relax_expr *weight)
{
    const relax_expr *given[] = { data, index, weight };
    return relax_call_op_new(ctx, "relax.image.sum_pixels", 22, given, 3, NULL, 0);
}

/* R.index_put: data with values put at indices that broadcast
 * defaults: accumulate False
 */
typedef struct relax_index_put_attrs {
    int32_t accumulate;
} relax_index_put_attrs;
static inline void relax_index_put_attrs_init(relax_index_put_attrs *attrs)
{
    attrs->accumulate = 0;
}
static inline relax_expr *relax_r_index_put(relax_context *ctx, const relax_expr *data,
        const relax_expr *indices, const relax_expr *values, const relax_index_put_attrs *attrs)
{
    const relax_expr *given[] = { data, indices, values };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "accumulate", 10, relax_attr_bool_new(ctx, attrs->accumulate));
    }
    return relax_call_op_new(ctx, "relax.index_put", 15, given, 3, map, 0);
}

/* R.index_tensor: elements at indices that broadcast, one for each leading axis */
static inline relax_expr *relax_r_index_tensor(relax_context *ctx, const relax_expr *data,
        const relax_expr *indices)
{
    const relax_expr *given[] = { data, indices };
    return relax_call_op_new(ctx, "relax.index_tensor", 18, given, 2, NULL, 0);
}

/* R.inspect.tensor_byte_offset: offset of a tensor in its memory, in bytes */
static inline relax_expr *relax_r_inspect_tensor_byte_offset(relax_context *ctx,
        const relax_expr *tensor)
{
    const relax_expr *given[] = { tensor };
    return relax_call_op_new(ctx, "relax.inspect.tensor_byte_offset", 32, given, 1, NULL, 0);
}

/* R.inspect.tensor_dtype_bits: bits of a tensor's dtype */
static inline relax_expr *relax_r_inspect_tensor_dtype_bits(relax_context *ctx,
        const relax_expr *tensor)
{
    const relax_expr *given[] = { tensor };
    return relax_call_op_new(ctx, "relax.inspect.tensor_dtype_bits", 31, given, 1, NULL, 0);
}

/* R.inspect.tensor_dtype_code: code of a tensor's dtype as in DLPack */
static inline relax_expr *relax_r_inspect_tensor_dtype_code(relax_context *ctx,
        const relax_expr *tensor)
{
    const relax_expr *given[] = { tensor };
    return relax_call_op_new(ctx, "relax.inspect.tensor_dtype_code", 31, given, 1, NULL, 0);
}

/* R.inspect.tensor_dtype_lanes: lanes of a tensor's dtype */
static inline relax_expr *relax_r_inspect_tensor_dtype_lanes(relax_context *ctx,
        const relax_expr *tensor)
{
    const relax_expr *given[] = { tensor };
    return relax_call_op_new(ctx, "relax.inspect.tensor_dtype_lanes", 32, given, 1, NULL, 0);
}

/* R.inspect.tensor_elem_offset: offset of a tensor in its memory, in elements */
static inline relax_expr *relax_r_inspect_tensor_elem_offset(relax_context *ctx,
        const relax_expr *tensor)
{
    const relax_expr *given[] = { tensor };
    return relax_call_op_new(ctx, "relax.inspect.tensor_elem_offset", 32, given, 1, NULL, 0);
}

/* R.inspect.tensor_ndim: rank of a tensor */
static inline relax_expr *relax_r_inspect_tensor_ndim(relax_context *ctx, const relax_expr *tensor)
{
    const relax_expr *given[] = { tensor };
    return relax_call_op_new(ctx, "relax.inspect.tensor_ndim", 25, given, 1, NULL, 0);
}

/* R.inspect.tensor_shape_i: size of one dimension of a tensor */
static inline relax_expr *relax_r_inspect_tensor_shape_i(relax_context *ctx,
        const relax_expr *tensor, const relax_expr *axis)
{
    const relax_expr *given[] = { tensor, axis };
    return relax_call_op_new(ctx, "relax.inspect.tensor_shape_i", 28, given, 2, NULL, 0);
}

/* R.inspect.tensor_stride_i: elements from one index to the next along a dimension */
static inline relax_expr *relax_r_inspect_tensor_stride_i(relax_context *ctx,
        const relax_expr *tensor, const relax_expr *axis)
{
    const relax_expr *given[] = { tensor, axis };
    return relax_call_op_new(ctx, "relax.inspect.tensor_stride_i", 29, given, 2, NULL, 0);
}

/* R.invoke_closure: calls a closure */
static inline relax_expr *relax_r_invoke_closure(relax_context *ctx, const relax_expr *closure,
        const relax_expr *args, const relax_struct_info *result)
{
    const relax_expr *given[] = { closure, args };
    return relax_call_op_new_with_result(ctx, "relax.invoke_closure", 20, given, 2, NULL, result,
        0);
}

/* R.invoke_pure_closure: calls a closure that is pure */
static inline relax_expr *relax_r_invoke_pure_closure(relax_context *ctx,
        const relax_expr *closure, const relax_expr *args, const relax_struct_info *result)
{
    const relax_expr *given[] = { closure, args };
    return relax_call_op_new_with_result(ctx, "relax.invoke_pure_closure", 25, given, 2, NULL,
        result, 0);
}

/* R.isfinite: true where an element is neither infinite nor NaN */
static inline relax_expr *relax_r_isfinite(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.isfinite", 14, given, 1, NULL, 0);
}

/* R.isinf: true where an element is an infinity */
static inline relax_expr *relax_r_isinf(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.isinf", 11, given, 1, NULL, 0);
}

/* R.isnan: true where an element is NaN */
static inline relax_expr *relax_r_isnan(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.isnan", 11, given, 1, NULL, 0);
}

/* R.layout_transform: elements moved to new indices
 * defaults: pad_value None, axis_separators [], input_axis_separators []
 */
typedef struct relax_layout_transform_attrs {
    const relax_attr *pad_value;
    const int64_t *axis_separators;
    size_t num_axis_separators;
    const int64_t *input_axis_separators;
    size_t num_input_axis_separators;
} relax_layout_transform_attrs;
static inline void relax_layout_transform_attrs_init(relax_layout_transform_attrs *attrs)
{
    attrs->pad_value = NULL;
    attrs->axis_separators = NULL;
    attrs->num_axis_separators = 0;
    attrs->input_axis_separators = NULL;
    attrs->num_input_axis_separators = 0;
}
static inline relax_expr *relax_r_layout_transform(relax_context *ctx, const relax_expr *x,
        const relax_attr *index_map, const relax_layout_transform_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "index_map", 9, index_map);
    if (attrs) {
        map = relax_r_set(ctx, map, "pad_value", 9, attrs->pad_value);
        map = relax_r_set(ctx, map, "axis_separators", 15, relax_r_ints(ctx,
            attrs->axis_separators, attrs->num_axis_separators));
        map = relax_r_set(ctx, map, "input_axis_separators", 21, relax_r_ints(ctx,
            attrs->input_axis_separators, attrs->num_input_axis_separators));
    }
    return relax_call_op_new(ctx, "relax.layout_transform", 22, given, 1, map, 0);
}

/* R.left_shift: x1 shifted left by x2 bits, with broadcasting */
static inline relax_expr *relax_r_left_shift(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.left_shift", 16, given, 2, NULL, 0);
}

/* R.less: true where x1 < x2, with broadcasting */
static inline relax_expr *relax_r_less(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.less", 10, given, 2, NULL, 0);
}

/* R.less_equal: true where x1 <= x2, with broadcasting */
static inline relax_expr *relax_r_less_equal(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.less_equal", 16, given, 2, NULL, 0);
}

/* R.linalg.det: determinants of the square matrices in the last two dimensions */
static inline relax_expr *relax_r_linalg_det(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.linalg.det", 16, given, 1, NULL, 0);
}

/* R.log: natural logarithm of each element */
static inline relax_expr *relax_r_log(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.log", 9, given, 1, NULL, 0);
}

/* R.log_add_exp: log(exp(x1) + exp(x2)) without overflow, with broadcasting */
static inline relax_expr *relax_r_log_add_exp(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.log_add_exp", 17, given, 2, NULL, 0);
}

/* R.logical_and: both elements differ from 0, with broadcasting */
static inline relax_expr *relax_r_logical_and(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.logical_and", 17, given, 2, NULL, 0);
}

/* R.logical_not: 1 where an element is 0, else 0 */
static inline relax_expr *relax_r_logical_not(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.logical_not", 17, given, 1, NULL, 0);
}

/* R.logical_or: an element differs from 0, with broadcasting */
static inline relax_expr *relax_r_logical_or(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.logical_or", 16, given, 2, NULL, 0);
}

/* R.logical_xor: exactly one element differs from 0, with broadcasting */
static inline relax_expr *relax_r_logical_xor(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.logical_xor", 17, given, 2, NULL, 0);
}

/* R.make_closure: a function with some arguments bound */
static inline relax_expr *relax_r_make_closure(relax_context *ctx, const relax_expr *func,
        const relax_expr *args)
{
    const relax_expr *given[] = { func, args };
    return relax_call_op_new(ctx, "relax.make_closure", 18, given, 2, NULL, 0);
}

/* R.matmul: matrix product of the last two dimensions; leading ones broadcast, rank 1 acts as
 *   row or column
 * defaults: out_dtype void
 */
typedef struct relax_matmul_attrs {
    relax_dtype out_dtype;
} relax_matmul_attrs;
static inline void relax_matmul_attrs_init(relax_matmul_attrs *attrs)
{
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_matmul(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2, const relax_matmul_attrs *attrs)
{
    const relax_expr *given[] = { x1, x2 };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.matmul", 12, given, 2, map, 0);
}

/* R.max: greatest element over axes; NaN stays
 * defaults: axis None, keepdims False
 */
typedef struct relax_max_attrs {
    const int64_t *axis;
    size_t num_axis;
    int32_t keepdims;
} relax_max_attrs;
static inline void relax_max_attrs_init(relax_max_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->num_axis = 0;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_max(relax_context *ctx, const relax_expr *x,
        const relax_max_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_ints_or_none(ctx, attrs->axis,
            attrs->num_axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.max", 9, given, 1, map, 0);
}

/* R.maximum: greater of two elements, with broadcasting; NaN stays */
static inline relax_expr *relax_r_maximum(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.maximum", 13, given, 2, NULL, 0);
}

/* R.mean: mean over axes; of integers toward zero
 * defaults: axis None, keepdims False
 */
typedef struct relax_mean_attrs {
    const int64_t *axis;
    size_t num_axis;
    int32_t keepdims;
} relax_mean_attrs;
static inline void relax_mean_attrs_init(relax_mean_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->num_axis = 0;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_mean(relax_context *ctx, const relax_expr *x,
        const relax_mean_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_ints_or_none(ctx, attrs->axis,
            attrs->num_axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.mean", 10, given, 1, map, 0);
}

/* R.median: middle element over axes, along one axis with its position
 * defaults: axis None, keepdims False
 */
typedef struct relax_median_attrs {
    const int64_t *axis;
    size_t num_axis;
    int32_t keepdims;
} relax_median_attrs;
static inline void relax_median_attrs_init(relax_median_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->num_axis = 0;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_median(relax_context *ctx, const relax_expr *x,
        const relax_median_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_ints_or_none(ctx, attrs->axis,
            attrs->num_axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.median", 12, given, 1, map, 0);
}

/* R.memory.alloc_storage: storage of a number of bytes */
static inline relax_expr *relax_r_memory_alloc_storage(relax_context *ctx, const relax_expr *size,
        const relax_expr *virtual_device_index, const relax_expr *storage_scope,
        const relax_expr *dtype)
{
    const relax_expr *given[] = { size, virtual_device_index, storage_scope, dtype };
    return relax_call_op_new(ctx, "relax.memory.alloc_storage", 26, given, 4, NULL, 0);
}

/* R.memory.alloc_tensor: a tensor inside storage */
static inline relax_expr *relax_r_memory_alloc_tensor(relax_context *ctx,
        const relax_expr *storage, const relax_expr *offset, const relax_expr *shape,
        const relax_expr *dtype)
{
    const relax_expr *given[] = { storage, offset, shape, dtype };
    return relax_call_op_new(ctx, "relax.memory.alloc_tensor", 25, given, 4, NULL, 0);
}

/* R.memory.ensure_zero_offset: x, copied if its description has a byte offset */
static inline relax_expr *relax_r_memory_ensure_zero_offset(relax_context *ctx,
        const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.memory.ensure_zero_offset", 31, given, 1, NULL, 0);
}

/* R.memory.kill_storage: storage is not used from here on */
static inline relax_expr *relax_r_memory_kill_storage(relax_context *ctx,
        const relax_expr *storage)
{
    const relax_expr *given[] = { storage };
    return relax_call_op_new(ctx, "relax.memory.kill_storage", 25, given, 1, NULL, 0);
}

/* R.memory.kill_tensor: a tensor is not used from here on */
static inline relax_expr *relax_r_memory_kill_tensor(relax_context *ctx, const relax_expr *tensor)
{
    const relax_expr *given[] = { tensor };
    return relax_call_op_new(ctx, "relax.memory.kill_tensor", 24, given, 1, NULL, 0);
}

/* R.memory.view: the memory of a tensor under another shape, dtype or offset */
typedef struct relax_memory_view_attrs {
    const relax_expr *shape;
    const relax_expr *dtype;
    const relax_expr *relative_byte_offset;
} relax_memory_view_attrs;
static inline void relax_memory_view_attrs_init(relax_memory_view_attrs *attrs)
{
    attrs->shape = NULL;
    attrs->dtype = NULL;
    attrs->relative_byte_offset = NULL;
}
static inline relax_expr *relax_r_memory_view(relax_context *ctx, const relax_expr *data,
        const relax_memory_view_attrs *attrs)
{
    const relax_expr *given[] = { data, attrs ? attrs->shape : NULL, attrs ? attrs->dtype : NULL,
        attrs ? attrs->relative_byte_offset : NULL };
    return relax_call_op_new(ctx, "relax.memory.view", 17, given, relax_r_given(given, 1, 4), NULL,
        0);
}

/* R.meshgrid: coordinates of a grid from those of its axes
 * defaults: indexing ij
 */
typedef struct relax_meshgrid_attrs {
    const char *indexing;
} relax_meshgrid_attrs;
static inline void relax_meshgrid_attrs_init(relax_meshgrid_attrs *attrs)
{
    attrs->indexing = "ij";
}
static inline relax_expr *relax_r_meshgrid(relax_context *ctx, const relax_expr *tensors,
        const relax_meshgrid_attrs *attrs)
{
    const relax_expr *given[] = { tensors };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "indexing", 8, relax_r_text(ctx, attrs->indexing));
    }
    return relax_call_op_new(ctx, "relax.meshgrid", 14, given, 1, map, 0);
}

/* R.min: least element over axes; NaN stays
 * defaults: axis None, keepdims False
 */
typedef struct relax_min_attrs {
    const int64_t *axis;
    size_t num_axis;
    int32_t keepdims;
} relax_min_attrs;
static inline void relax_min_attrs_init(relax_min_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->num_axis = 0;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_min(relax_context *ctx, const relax_expr *x,
        const relax_min_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_ints_or_none(ctx, attrs->axis,
            attrs->num_axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.min", 9, given, 1, map, 0);
}

/* R.minimum: lesser of two elements, with broadcasting; NaN stays */
static inline relax_expr *relax_r_minimum(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.minimum", 13, given, 2, NULL, 0);
}

/* R.mod: remainder with the sign of x1, with broadcasting */
static inline relax_expr *relax_r_mod(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.mod", 9, given, 2, NULL, 0);
}

/* R.multinomial_from_uniform: the first class whose running probability exceeds a uniform
 *   sample
 * defaults: dtype int64
 */
typedef struct relax_multinomial_from_uniform_attrs {
    relax_dtype dtype;
} relax_multinomial_from_uniform_attrs;
static inline void relax_multinomial_from_uniform_attrs_init(
        relax_multinomial_from_uniform_attrs *attrs)
{
    attrs->dtype = RELAX_INT64;
}
static inline relax_expr *relax_r_multinomial_from_uniform(relax_context *ctx,
        const relax_expr *prob, const relax_expr *uniform_sample, const relax_expr *sample_indices,
        const relax_multinomial_from_uniform_attrs *attrs)
{
    const relax_expr *given[] = { prob, uniform_sample, sample_indices };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.multinomial_from_uniform", 30, given, 3, map, 0);
}

/* R.multiply: product, element by element with broadcasting */
static inline relax_expr *relax_r_multiply(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.multiply", 14, given, 2, NULL, 0);
}

/* R.negative: each element with its sign changed; integers wrap around */
static inline relax_expr *relax_r_negative(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.negative", 14, given, 1, NULL, 0);
}

/* R.nn.adaptive_avg_pool1d: means over as many even parts of one axis as asked for
 * defaults: output_size None, layout NCW, out_layout None
 */
typedef struct relax_nn_adaptive_avg_pool1d_attrs {
    const int64_t *output_size;
    size_t num_output_size;
    const char *layout;
    const char *out_layout;
} relax_nn_adaptive_avg_pool1d_attrs;
static inline void relax_nn_adaptive_avg_pool1d_attrs_init(
        relax_nn_adaptive_avg_pool1d_attrs *attrs)
{
    attrs->output_size = NULL;
    attrs->num_output_size = 0;
    attrs->layout = "NCW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_nn_adaptive_avg_pool1d(relax_context *ctx,
        const relax_expr *data, const relax_nn_adaptive_avg_pool1d_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "output_size", 11, relax_r_ints_or_none(ctx,
            attrs->output_size, attrs->num_output_size));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.nn.adaptive_avg_pool1d", 28, given, 1, map, 0);
}

/* R.nn.adaptive_avg_pool2d: means over as many even parts of two axes as asked for
 * defaults: output_size None, layout NCHW, out_layout None
 */
typedef struct relax_nn_adaptive_avg_pool2d_attrs {
    const int64_t *output_size;
    size_t num_output_size;
    const char *layout;
    const char *out_layout;
} relax_nn_adaptive_avg_pool2d_attrs;
static inline void relax_nn_adaptive_avg_pool2d_attrs_init(
        relax_nn_adaptive_avg_pool2d_attrs *attrs)
{
    attrs->output_size = NULL;
    attrs->num_output_size = 0;
    attrs->layout = "NCHW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_nn_adaptive_avg_pool2d(relax_context *ctx,
        const relax_expr *data, const relax_nn_adaptive_avg_pool2d_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "output_size", 11, relax_r_ints_or_none(ctx,
            attrs->output_size, attrs->num_output_size));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.nn.adaptive_avg_pool2d", 28, given, 1, map, 0);
}

/* R.nn.adaptive_avg_pool3d: means over as many even parts of three axes as asked for
 * defaults: output_size None, layout NCDHW, out_layout None
 */
typedef struct relax_nn_adaptive_avg_pool3d_attrs {
    const int64_t *output_size;
    size_t num_output_size;
    const char *layout;
    const char *out_layout;
} relax_nn_adaptive_avg_pool3d_attrs;
static inline void relax_nn_adaptive_avg_pool3d_attrs_init(
        relax_nn_adaptive_avg_pool3d_attrs *attrs)
{
    attrs->output_size = NULL;
    attrs->num_output_size = 0;
    attrs->layout = "NCDHW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_nn_adaptive_avg_pool3d(relax_context *ctx,
        const relax_expr *data, const relax_nn_adaptive_avg_pool3d_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "output_size", 11, relax_r_ints_or_none(ctx,
            attrs->output_size, attrs->num_output_size));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.nn.adaptive_avg_pool3d", 28, given, 1, map, 0);
}

/* R.nn.attention: softmax(query key^T * scale) value, layout (batch, sequence, heads, size)
 * defaults: scale None, causal_mask None, window_size None
 */
typedef struct relax_nn_attention_attrs {
    const double *scale;
    const char *causal_mask;
    const int64_t *window_size;
} relax_nn_attention_attrs;
static inline void relax_nn_attention_attrs_init(relax_nn_attention_attrs *attrs)
{
    attrs->scale = NULL;
    attrs->causal_mask = NULL;
    attrs->window_size = NULL;
}
static inline relax_expr *relax_r_nn_attention(relax_context *ctx, const relax_expr *query,
        const relax_expr *key, const relax_expr *value, const relax_nn_attention_attrs *attrs)
{
    const relax_expr *given[] = { query, key, value };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "scale", 5, relax_r_float_or_none(ctx, attrs->scale));
        map = relax_r_set(ctx, map, "causal_mask", 11, relax_r_text_or_none(ctx,
            attrs->causal_mask));
        map = relax_r_set(ctx, map, "window_size", 11, relax_r_int_or_none(ctx,
            attrs->window_size));
    }
    return relax_call_op_new(ctx, "relax.nn.attention", 18, given, 3, map, 0);
}

/* R.nn.attention_bias: attention with a bias added to the scores
 * defaults: scale None, causal_mask None, window_size None
 */
typedef struct relax_nn_attention_bias_attrs {
    const double *scale;
    const char *causal_mask;
    const int64_t *window_size;
} relax_nn_attention_bias_attrs;
static inline void relax_nn_attention_bias_attrs_init(relax_nn_attention_bias_attrs *attrs)
{
    attrs->scale = NULL;
    attrs->causal_mask = NULL;
    attrs->window_size = NULL;
}
static inline relax_expr *relax_r_nn_attention_bias(relax_context *ctx, const relax_expr *query,
        const relax_expr *key, const relax_expr *value, const relax_expr *bias,
        const relax_nn_attention_bias_attrs *attrs)
{
    const relax_expr *given[] = { query, key, value, bias };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "scale", 5, relax_r_float_or_none(ctx, attrs->scale));
        map = relax_r_set(ctx, map, "causal_mask", 11, relax_r_text_or_none(ctx,
            attrs->causal_mask));
        map = relax_r_set(ctx, map, "window_size", 11, relax_r_int_or_none(ctx,
            attrs->window_size));
    }
    return relax_call_op_new(ctx, "relax.nn.attention_bias", 23, given, 4, map, 0);
}

/* R.nn.attention_var_len: attention of sequences that lie one after another
 * defaults: scale None, causal_mask None, window_size None
 */
typedef struct relax_nn_attention_var_len_attrs {
    const relax_expr *max_seqlen_k;
    const double *scale;
    const char *causal_mask;
    const int64_t *window_size;
} relax_nn_attention_var_len_attrs;
static inline void relax_nn_attention_var_len_attrs_init(relax_nn_attention_var_len_attrs *attrs)
{
    attrs->max_seqlen_k = NULL;
    attrs->scale = NULL;
    attrs->causal_mask = NULL;
    attrs->window_size = NULL;
}
static inline relax_expr *relax_r_nn_attention_var_len(relax_context *ctx,
        const relax_expr *queries, const relax_expr *keys, const relax_expr *values,
        const relax_expr *seqstart_q, const relax_expr *seqstart_k, const relax_expr *max_seqlen_q,
        const relax_nn_attention_var_len_attrs *attrs)
{
    const relax_expr *given[] = { queries, keys, values, seqstart_q, seqstart_k, max_seqlen_q,
        attrs ? attrs->max_seqlen_k : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "scale", 5, relax_r_float_or_none(ctx, attrs->scale));
        map = relax_r_set(ctx, map, "causal_mask", 11, relax_r_text_or_none(ctx,
            attrs->causal_mask));
        map = relax_r_set(ctx, map, "window_size", 11, relax_r_int_or_none(ctx,
            attrs->window_size));
    }
    return relax_call_op_new(ctx, "relax.nn.attention_var_len", 26, given, relax_r_given(given, 6,
        7), map, 0);
}

/* R.nn.avg_pool1d: mean of each window along one axis
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCW, out_layout None
 */
typedef struct relax_nn_avg_pool1d_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
} relax_nn_avg_pool1d_attrs;
static inline void relax_nn_avg_pool1d_attrs_init(relax_nn_avg_pool1d_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_nn_avg_pool1d(relax_context *ctx, const relax_expr *data,
        const relax_nn_avg_pool1d_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.nn.avg_pool1d", 19, given, 1, map, 0);
}

/* R.nn.avg_pool2d: mean of each window along two axes
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCHW, out_layout None
 */
typedef struct relax_nn_avg_pool2d_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
} relax_nn_avg_pool2d_attrs;
static inline void relax_nn_avg_pool2d_attrs_init(relax_nn_avg_pool2d_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCHW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_nn_avg_pool2d(relax_context *ctx, const relax_expr *data,
        const relax_nn_avg_pool2d_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.nn.avg_pool2d", 19, given, 1, map, 0);
}

/* R.nn.avg_pool3d: mean of each window along three axes
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCDHW, out_layout None
 */
typedef struct relax_nn_avg_pool3d_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
} relax_nn_avg_pool3d_attrs;
static inline void relax_nn_avg_pool3d_attrs_init(relax_nn_avg_pool3d_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCDHW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_nn_avg_pool3d(relax_context *ctx, const relax_expr *data,
        const relax_nn_avg_pool3d_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.nn.avg_pool3d", 19, given, 1, map, 0);
}

/* R.nn.batch_flatten: all axes but the first as one */
static inline relax_expr *relax_r_nn_batch_flatten(relax_context *ctx, const relax_expr *data)
{
    const relax_expr *given[] = { data };
    return relax_call_op_new(ctx, "relax.nn.batch_flatten", 22, given, 1, NULL, 0);
}

/* R.nn.batch_norm: data normalised per channel, and the moved mean and variance
 * defaults: epsilon 1e-05, center True, scale True, momentum 0.1, training True
 */
typedef struct relax_nn_batch_norm_attrs {
    double epsilon;
    int32_t center;
    int32_t scale;
    double momentum;
    int32_t training;
} relax_nn_batch_norm_attrs;
static inline void relax_nn_batch_norm_attrs_init(relax_nn_batch_norm_attrs *attrs)
{
    attrs->epsilon = 1e-05;
    attrs->center = 1;
    attrs->scale = 1;
    attrs->momentum = 0.1;
    attrs->training = 1;
}
static inline relax_expr *relax_r_nn_batch_norm(relax_context *ctx, const relax_expr *data,
        const relax_expr *gamma, const relax_expr *beta, const relax_expr *moving_mean,
        const relax_expr *moving_var, int64_t axis, const relax_nn_batch_norm_attrs *attrs)
{
    const relax_expr *given[] = { data, gamma, beta, moving_mean, moving_var };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, axis));
    if (attrs) {
        map = relax_r_set(ctx, map, "epsilon", 7, relax_attr_float_new(ctx, attrs->epsilon));
        map = relax_r_set(ctx, map, "center", 6, relax_attr_bool_new(ctx, attrs->center));
        map = relax_r_set(ctx, map, "scale", 5, relax_attr_bool_new(ctx, attrs->scale));
        map = relax_r_set(ctx, map, "momentum", 8, relax_attr_float_new(ctx, attrs->momentum));
        map = relax_r_set(ctx, map, "training", 8, relax_attr_bool_new(ctx, attrs->training));
    }
    return relax_call_op_new(ctx, "relax.nn.batch_norm", 19, given, 5, map, 0);
}

/* R.nn.conv1d: cross-correlation along one axis
 * defaults: strides [1], padding [0], dilation [1], groups 1, data_layout NCW, kernel_layout
 *   OIW, out_layout None, out_dtype void
 */
typedef struct relax_nn_conv1d_attrs {
    const int64_t *strides;
    size_t num_strides;
    const int64_t *padding;
    size_t num_padding;
    const int64_t *dilation;
    size_t num_dilation;
    int64_t groups;
    const char *data_layout;
    const char *kernel_layout;
    const char *out_layout;
    relax_dtype out_dtype;
} relax_nn_conv1d_attrs;
static inline void relax_nn_conv1d_attrs_init(relax_nn_conv1d_attrs *attrs)
{
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->groups = 1;
    attrs->data_layout = "NCW";
    attrs->kernel_layout = "OIW";
    attrs->out_layout = NULL;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_nn_conv1d(relax_context *ctx, const relax_expr *data,
        const relax_expr *weight, const relax_nn_conv1d_attrs *attrs)
{
    const relax_expr *given[] = { data, weight };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "groups", 6, relax_attr_int_new(ctx, attrs->groups));
        map = relax_r_set(ctx, map, "data_layout", 11, relax_r_text(ctx, attrs->data_layout));
        map = relax_r_set(ctx, map, "kernel_layout", 13, relax_r_text(ctx, attrs->kernel_layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.nn.conv1d", 15, given, 2, map, 0);
}

/* R.nn.conv1d_transpose: transposed convolution along one axis
 * defaults: strides [1], padding [0], output_padding [0], dilation [1], groups 1, data_layout
 *   NCW, kernel_layout IOW, out_layout None, out_dtype void
 */
typedef struct relax_nn_conv1d_transpose_attrs {
    const int64_t *strides;
    size_t num_strides;
    const int64_t *padding;
    size_t num_padding;
    const int64_t *output_padding;
    size_t num_output_padding;
    const int64_t *dilation;
    size_t num_dilation;
    int64_t groups;
    const char *data_layout;
    const char *kernel_layout;
    const char *out_layout;
    relax_dtype out_dtype;
} relax_nn_conv1d_transpose_attrs;
static inline void relax_nn_conv1d_transpose_attrs_init(relax_nn_conv1d_transpose_attrs *attrs)
{
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->output_padding = NULL;
    attrs->num_output_padding = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->groups = 1;
    attrs->data_layout = "NCW";
    attrs->kernel_layout = "IOW";
    attrs->out_layout = NULL;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_nn_conv1d_transpose(relax_context *ctx, const relax_expr *data,
        const relax_expr *weight, const relax_nn_conv1d_transpose_attrs *attrs)
{
    const relax_expr *given[] = { data, weight };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "output_padding", 14, relax_r_ints(ctx, attrs->output_padding,
            attrs->num_output_padding));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "groups", 6, relax_attr_int_new(ctx, attrs->groups));
        map = relax_r_set(ctx, map, "data_layout", 11, relax_r_text(ctx, attrs->data_layout));
        map = relax_r_set(ctx, map, "kernel_layout", 13, relax_r_text(ctx, attrs->kernel_layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.nn.conv1d_transpose", 25, given, 2, map, 0);
}

/* R.nn.conv2d: cross-correlation along two axes
 * defaults: strides [1], padding [0], dilation [1], groups 1, data_layout NCHW, kernel_layout
 *   OIHW, out_layout None, out_dtype void
 */
typedef struct relax_nn_conv2d_attrs {
    const int64_t *strides;
    size_t num_strides;
    const int64_t *padding;
    size_t num_padding;
    const int64_t *dilation;
    size_t num_dilation;
    int64_t groups;
    const char *data_layout;
    const char *kernel_layout;
    const char *out_layout;
    relax_dtype out_dtype;
} relax_nn_conv2d_attrs;
static inline void relax_nn_conv2d_attrs_init(relax_nn_conv2d_attrs *attrs)
{
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->groups = 1;
    attrs->data_layout = "NCHW";
    attrs->kernel_layout = "OIHW";
    attrs->out_layout = NULL;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_nn_conv2d(relax_context *ctx, const relax_expr *data,
        const relax_expr *weight, const relax_nn_conv2d_attrs *attrs)
{
    const relax_expr *given[] = { data, weight };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "groups", 6, relax_attr_int_new(ctx, attrs->groups));
        map = relax_r_set(ctx, map, "data_layout", 11, relax_r_text(ctx, attrs->data_layout));
        map = relax_r_set(ctx, map, "kernel_layout", 13, relax_r_text(ctx, attrs->kernel_layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.nn.conv2d", 15, given, 2, map, 0);
}

/* R.nn.conv2d_transpose: transposed convolution along two axes
 * defaults: strides [1], padding [0], output_padding [0], dilation [1], groups 1, data_layout
 *   NCHW, kernel_layout IOHW, out_layout None, out_dtype void
 */
typedef struct relax_nn_conv2d_transpose_attrs {
    const int64_t *strides;
    size_t num_strides;
    const int64_t *padding;
    size_t num_padding;
    const int64_t *output_padding;
    size_t num_output_padding;
    const int64_t *dilation;
    size_t num_dilation;
    int64_t groups;
    const char *data_layout;
    const char *kernel_layout;
    const char *out_layout;
    relax_dtype out_dtype;
} relax_nn_conv2d_transpose_attrs;
static inline void relax_nn_conv2d_transpose_attrs_init(relax_nn_conv2d_transpose_attrs *attrs)
{
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->output_padding = NULL;
    attrs->num_output_padding = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->groups = 1;
    attrs->data_layout = "NCHW";
    attrs->kernel_layout = "IOHW";
    attrs->out_layout = NULL;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_nn_conv2d_transpose(relax_context *ctx, const relax_expr *data,
        const relax_expr *weight, const relax_nn_conv2d_transpose_attrs *attrs)
{
    const relax_expr *given[] = { data, weight };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "output_padding", 14, relax_r_ints(ctx, attrs->output_padding,
            attrs->num_output_padding));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "groups", 6, relax_attr_int_new(ctx, attrs->groups));
        map = relax_r_set(ctx, map, "data_layout", 11, relax_r_text(ctx, attrs->data_layout));
        map = relax_r_set(ctx, map, "kernel_layout", 13, relax_r_text(ctx, attrs->kernel_layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.nn.conv2d_transpose", 25, given, 2, map, 0);
}

/* R.nn.conv3d: cross-correlation along three axes
 * defaults: strides [1], padding [0], dilation [1], groups 1, data_layout NCDHW, kernel_layout
 *   OIDHW, out_layout None, out_dtype void
 */
typedef struct relax_nn_conv3d_attrs {
    const int64_t *strides;
    size_t num_strides;
    const int64_t *padding;
    size_t num_padding;
    const int64_t *dilation;
    size_t num_dilation;
    int64_t groups;
    const char *data_layout;
    const char *kernel_layout;
    const char *out_layout;
    relax_dtype out_dtype;
} relax_nn_conv3d_attrs;
static inline void relax_nn_conv3d_attrs_init(relax_nn_conv3d_attrs *attrs)
{
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->groups = 1;
    attrs->data_layout = "NCDHW";
    attrs->kernel_layout = "OIDHW";
    attrs->out_layout = NULL;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_nn_conv3d(relax_context *ctx, const relax_expr *data,
        const relax_expr *weight, const relax_nn_conv3d_attrs *attrs)
{
    const relax_expr *given[] = { data, weight };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "groups", 6, relax_attr_int_new(ctx, attrs->groups));
        map = relax_r_set(ctx, map, "data_layout", 11, relax_r_text(ctx, attrs->data_layout));
        map = relax_r_set(ctx, map, "kernel_layout", 13, relax_r_text(ctx, attrs->kernel_layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.nn.conv3d", 15, given, 2, map, 0);
}

/* R.nn.conv3d_transpose: transposed convolution along three axes
 * defaults: strides [1], padding [0], output_padding [0], dilation [1], groups 1, data_layout
 *   NCDHW, kernel_layout IODHW, out_layout None, out_dtype void
 */
typedef struct relax_nn_conv3d_transpose_attrs {
    const int64_t *strides;
    size_t num_strides;
    const int64_t *padding;
    size_t num_padding;
    const int64_t *output_padding;
    size_t num_output_padding;
    const int64_t *dilation;
    size_t num_dilation;
    int64_t groups;
    const char *data_layout;
    const char *kernel_layout;
    const char *out_layout;
    relax_dtype out_dtype;
} relax_nn_conv3d_transpose_attrs;
static inline void relax_nn_conv3d_transpose_attrs_init(relax_nn_conv3d_transpose_attrs *attrs)
{
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->output_padding = NULL;
    attrs->num_output_padding = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->groups = 1;
    attrs->data_layout = "NCDHW";
    attrs->kernel_layout = "IODHW";
    attrs->out_layout = NULL;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_nn_conv3d_transpose(relax_context *ctx, const relax_expr *data,
        const relax_expr *weight, const relax_nn_conv3d_transpose_attrs *attrs)
{
    const relax_expr *given[] = { data, weight };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "output_padding", 14, relax_r_ints(ctx, attrs->output_padding,
            attrs->num_output_padding));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "groups", 6, relax_attr_int_new(ctx, attrs->groups));
        map = relax_r_set(ctx, map, "data_layout", 11, relax_r_text(ctx, attrs->data_layout));
        map = relax_r_set(ctx, map, "kernel_layout", 13, relax_r_text(ctx, attrs->kernel_layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.nn.conv3d_transpose", 25, given, 2, map, 0);
}

/* R.nn.cross_entropy_with_logits: -sum(predictions * labels), divided by the batch size;
 *   predictions are log-probabilities
 */
static inline relax_expr *relax_r_nn_cross_entropy_with_logits(relax_context *ctx,
        const relax_expr *predictions, const relax_expr *labels)
{
    const relax_expr *given[] = { predictions, labels };
    return relax_call_op_new(ctx, "relax.nn.cross_entropy_with_logits", 34, given, 2, NULL, 0);
}

/* R.nn.deformable_conv2d: convolution whose window's elements are moved by offset (rows, then
 *   columns), sampled between pixels, and multiplied by mask
 * defaults: strides [1], padding [0], dilation [1], deformable_groups 1, groups 1, data_layout
 *   NCHW, kernel_layout OIHW, out_layout None, out_dtype void
 */
typedef struct relax_nn_deformable_conv2d_attrs {
    const relax_expr *mask;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *padding;
    size_t num_padding;
    const int64_t *dilation;
    size_t num_dilation;
    int64_t deformable_groups;
    int64_t groups;
    const char *data_layout;
    const char *kernel_layout;
    const char *out_layout;
    relax_dtype out_dtype;
} relax_nn_deformable_conv2d_attrs;
static inline void relax_nn_deformable_conv2d_attrs_init(relax_nn_deformable_conv2d_attrs *attrs)
{
    attrs->mask = NULL;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->deformable_groups = 1;
    attrs->groups = 1;
    attrs->data_layout = "NCHW";
    attrs->kernel_layout = "OIHW";
    attrs->out_layout = NULL;
    attrs->out_dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_nn_deformable_conv2d(relax_context *ctx, const relax_expr *data,
        const relax_expr *offset, const relax_expr *weight,
        const relax_nn_deformable_conv2d_attrs *attrs)
{
    const relax_expr *given[] = { data, offset, weight, attrs ? attrs->mask : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "deformable_groups", 17, relax_attr_int_new(ctx,
            attrs->deformable_groups));
        map = relax_r_set(ctx, map, "groups", 6, relax_attr_int_new(ctx, attrs->groups));
        map = relax_r_set(ctx, map, "data_layout", 11, relax_r_text(ctx, attrs->data_layout));
        map = relax_r_set(ctx, map, "kernel_layout", 13, relax_r_text(ctx, attrs->kernel_layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
    }
    return relax_call_op_new(ctx, "relax.nn.deformable_conv2d", 26, given, relax_r_given(given, 3,
        4), map, 0);
}

/* R.nn.dropout: data and a mask of what was kept; in inference data itself and ones
 * defaults: rate 0.5
 */
typedef struct relax_nn_dropout_attrs {
    double rate;
} relax_nn_dropout_attrs;
static inline void relax_nn_dropout_attrs_init(relax_nn_dropout_attrs *attrs)
{
    attrs->rate = 0.5;
}
static inline relax_expr *relax_r_nn_dropout(relax_context *ctx, const relax_expr *data,
        const relax_nn_dropout_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "rate", 4, relax_attr_float_new(ctx, attrs->rate));
    }
    return relax_call_op_new(ctx, "relax.nn.dropout", 16, given, 1, map, 0);
}

/* R.nn.gelu: x * (1 + erf(x / sqrt(2))) / 2 */
static inline relax_expr *relax_r_nn_gelu(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.nn.gelu", 13, given, 1, NULL, 0);
}

/* R.nn.gelu_tanh: gelu by its tanh approximation */
static inline relax_expr *relax_r_nn_gelu_tanh(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.nn.gelu_tanh", 18, given, 1, NULL, 0);
}

/* R.nn.group_norm: data normalised per group of channels
 * defaults: epsilon 1e-05, center True, scale True
 */
typedef struct relax_nn_group_norm_attrs {
    double epsilon;
    int32_t center;
    int32_t scale;
} relax_nn_group_norm_attrs;
static inline void relax_nn_group_norm_attrs_init(relax_nn_group_norm_attrs *attrs)
{
    attrs->epsilon = 1e-05;
    attrs->center = 1;
    attrs->scale = 1;
}
static inline relax_expr *relax_r_nn_group_norm(relax_context *ctx, const relax_expr *data,
        const relax_expr *gamma, const relax_expr *beta, int64_t num_groups, int64_t channel_axis,
        const int64_t *axes, size_t num_axes, const relax_nn_group_norm_attrs *attrs)
{
    const relax_expr *given[] = { data, gamma, beta };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "num_groups", 10, relax_attr_int_new(ctx, num_groups));
    map = relax_r_set(ctx, map, "channel_axis", 12, relax_attr_int_new(ctx, channel_axis));
    map = relax_r_set(ctx, map, "axes", 4, relax_r_ints(ctx, axes, num_axes));
    if (attrs) {
        map = relax_r_set(ctx, map, "epsilon", 7, relax_attr_float_new(ctx, attrs->epsilon));
        map = relax_r_set(ctx, map, "center", 6, relax_attr_bool_new(ctx, attrs->center));
        map = relax_r_set(ctx, map, "scale", 5, relax_attr_bool_new(ctx, attrs->scale));
    }
    return relax_call_op_new(ctx, "relax.nn.group_norm", 19, given, 3, map, 0);
}

/* R.nn.gru: all steps of a layer: rows, the last state; x: what gates z, r, h are given; r
 *   times (state weight + bias) goes into h
 * defaults: backward False
 */
typedef struct relax_nn_gru_attrs {
    const relax_expr *lengths;
    int32_t backward;
} relax_nn_gru_attrs;
static inline void relax_nn_gru_attrs_init(relax_nn_gru_attrs *attrs)
{
    attrs->lengths = NULL;
    attrs->backward = 0;
}
static inline relax_expr *relax_r_nn_gru(relax_context *ctx, const relax_expr *x,
        const relax_expr *weight, const relax_expr *state, const relax_expr *bias,
        const relax_nn_gru_attrs *attrs)
{
    const relax_expr *given[] = { x, weight, state, bias, attrs ? attrs->lengths : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "backward", 8, relax_attr_bool_new(ctx, attrs->backward));
    }
    return relax_call_op_new(ctx, "relax.nn.gru", 12, given, relax_r_given(given, 4, 5), map, 0);
}

/* R.nn.gru_reset_before: as nn.gru, but weight is of z and r only, and (r times state)
 *   candidate + bias goes into h
 * defaults: backward False
 */
typedef struct relax_nn_gru_reset_before_attrs {
    const relax_expr *lengths;
    int32_t backward;
} relax_nn_gru_reset_before_attrs;
static inline void relax_nn_gru_reset_before_attrs_init(relax_nn_gru_reset_before_attrs *attrs)
{
    attrs->lengths = NULL;
    attrs->backward = 0;
}
static inline relax_expr *relax_r_nn_gru_reset_before(relax_context *ctx, const relax_expr *x,
        const relax_expr *weight, const relax_expr *state, const relax_expr *bias,
        const relax_expr *candidate, const relax_nn_gru_reset_before_attrs *attrs)
{
    const relax_expr *given[] = { x, weight, state, bias, candidate,
        attrs ? attrs->lengths : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "backward", 8, relax_attr_bool_new(ctx, attrs->backward));
    }
    return relax_call_op_new(ctx, "relax.nn.gru_reset_before", 25, given, relax_r_given(given, 5,
        6), map, 0);
}

/* R.nn.instance_norm: each channel of each image less its mean, over its standard deviation
 * defaults: epsilon 1e-05, center True, scale True
 */
typedef struct relax_nn_instance_norm_attrs {
    double epsilon;
    int32_t center;
    int32_t scale;
} relax_nn_instance_norm_attrs;
static inline void relax_nn_instance_norm_attrs_init(relax_nn_instance_norm_attrs *attrs)
{
    attrs->epsilon = 1e-05;
    attrs->center = 1;
    attrs->scale = 1;
}
static inline relax_expr *relax_r_nn_instance_norm(relax_context *ctx, const relax_expr *data,
        const relax_expr *gamma, const relax_expr *beta, int64_t channel_axis, const int64_t *axes,
        size_t num_axes, const relax_nn_instance_norm_attrs *attrs)
{
    const relax_expr *given[] = { data, gamma, beta };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "channel_axis", 12, relax_attr_int_new(ctx, channel_axis));
    map = relax_r_set(ctx, map, "axes", 4, relax_r_ints(ctx, axes, num_axes));
    if (attrs) {
        map = relax_r_set(ctx, map, "epsilon", 7, relax_attr_float_new(ctx, attrs->epsilon));
        map = relax_r_set(ctx, map, "center", 6, relax_attr_bool_new(ctx, attrs->center));
        map = relax_r_set(ctx, map, "scale", 5, relax_attr_bool_new(ctx, attrs->scale));
    }
    return relax_call_op_new(ctx, "relax.nn.instance_norm", 22, given, 3, map, 0);
}

/* R.nn.layer_norm: data normalised over axes
 * defaults: epsilon 1e-05, center True, scale True
 */
typedef struct relax_nn_layer_norm_attrs {
    double epsilon;
    int32_t center;
    int32_t scale;
} relax_nn_layer_norm_attrs;
static inline void relax_nn_layer_norm_attrs_init(relax_nn_layer_norm_attrs *attrs)
{
    attrs->epsilon = 1e-05;
    attrs->center = 1;
    attrs->scale = 1;
}
static inline relax_expr *relax_r_nn_layer_norm(relax_context *ctx, const relax_expr *data,
        const relax_expr *gamma, const relax_expr *beta, const int64_t *axes, size_t num_axes,
        const relax_nn_layer_norm_attrs *attrs)
{
    const relax_expr *given[] = { data, gamma, beta };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "axes", 4, relax_r_ints(ctx, axes, num_axes));
    if (attrs) {
        map = relax_r_set(ctx, map, "epsilon", 7, relax_attr_float_new(ctx, attrs->epsilon));
        map = relax_r_set(ctx, map, "center", 6, relax_attr_bool_new(ctx, attrs->center));
        map = relax_r_set(ctx, map, "scale", 5, relax_attr_bool_new(ctx, attrs->scale));
    }
    return relax_call_op_new(ctx, "relax.nn.layer_norm", 19, given, 3, map, 0);
}

/* R.nn.leakyrelu: x where x > 0, else alpha * x
 * defaults: alpha 0.01
 */
typedef struct relax_nn_leakyrelu_attrs {
    double alpha;
} relax_nn_leakyrelu_attrs;
static inline void relax_nn_leakyrelu_attrs_init(relax_nn_leakyrelu_attrs *attrs)
{
    attrs->alpha = 0.01;
}
static inline relax_expr *relax_r_nn_leakyrelu(relax_context *ctx, const relax_expr *data,
        const relax_nn_leakyrelu_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "alpha", 5, relax_attr_float_new(ctx, attrs->alpha));
    }
    return relax_call_op_new(ctx, "relax.nn.leakyrelu", 18, given, 1, map, 0);
}

/* R.nn.log_softmax: logarithm of softmax along one axis
 * defaults: axis -1
 */
typedef struct relax_nn_log_softmax_attrs {
    int64_t axis;
} relax_nn_log_softmax_attrs;
static inline void relax_nn_log_softmax_attrs_init(relax_nn_log_softmax_attrs *attrs)
{
    attrs->axis = -1;
}
static inline relax_expr *relax_r_nn_log_softmax(relax_context *ctx, const relax_expr *data,
        const relax_nn_log_softmax_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.nn.log_softmax", 20, given, 1, map, 0);
}

/* R.nn.lstm: all steps of a layer: rows, the last state, the last cell; x: what gates i, o, f,
 *   c are given beside state weight
 * defaults: backward False
 */
typedef struct relax_nn_lstm_attrs {
    const relax_expr *lengths;
    int32_t backward;
} relax_nn_lstm_attrs;
static inline void relax_nn_lstm_attrs_init(relax_nn_lstm_attrs *attrs)
{
    attrs->lengths = NULL;
    attrs->backward = 0;
}
static inline relax_expr *relax_r_nn_lstm(relax_context *ctx, const relax_expr *x,
        const relax_expr *weight, const relax_expr *state, const relax_expr *cell,
        const relax_nn_lstm_attrs *attrs)
{
    const relax_expr *given[] = { x, weight, state, cell, attrs ? attrs->lengths : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "backward", 8, relax_attr_bool_new(ctx, attrs->backward));
    }
    return relax_call_op_new(ctx, "relax.nn.lstm", 13, given, relax_r_given(given, 4, 5), map, 0);
}

/* R.nn.max_pool1d: greatest element of each window along one axis
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCW, out_layout None
 */
typedef struct relax_nn_max_pool1d_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
} relax_nn_max_pool1d_attrs;
static inline void relax_nn_max_pool1d_attrs_init(relax_nn_max_pool1d_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_nn_max_pool1d(relax_context *ctx, const relax_expr *data,
        const relax_nn_max_pool1d_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.nn.max_pool1d", 19, given, 1, map, 0);
}

/* R.nn.max_pool1d_with_indices: max_pool1d, and the positions in data of what it takes, the
 *   first of equal ones
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCW, out_layout None, column_major False
 */
typedef struct relax_nn_max_pool1d_with_indices_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
    int32_t column_major;
} relax_nn_max_pool1d_with_indices_attrs;
static inline void relax_nn_max_pool1d_with_indices_attrs_init(
        relax_nn_max_pool1d_with_indices_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCW";
    attrs->out_layout = NULL;
    attrs->column_major = 0;
}
static inline relax_expr *relax_r_nn_max_pool1d_with_indices(relax_context *ctx,
        const relax_expr *data, const relax_nn_max_pool1d_with_indices_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "column_major", 12, relax_attr_bool_new(ctx,
            attrs->column_major));
    }
    return relax_call_op_new(ctx, "relax.nn.max_pool1d_with_indices", 32, given, 1, map, 0);
}

/* R.nn.max_pool2d: greatest element of each window along two axes
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCHW, out_layout None
 */
typedef struct relax_nn_max_pool2d_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
} relax_nn_max_pool2d_attrs;
static inline void relax_nn_max_pool2d_attrs_init(relax_nn_max_pool2d_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCHW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_nn_max_pool2d(relax_context *ctx, const relax_expr *data,
        const relax_nn_max_pool2d_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.nn.max_pool2d", 19, given, 1, map, 0);
}

/* R.nn.max_pool2d_with_indices: max_pool2d, and the positions in data of what it takes, the
 *   first of equal ones
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCHW, out_layout None, column_major False
 */
typedef struct relax_nn_max_pool2d_with_indices_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
    int32_t column_major;
} relax_nn_max_pool2d_with_indices_attrs;
static inline void relax_nn_max_pool2d_with_indices_attrs_init(
        relax_nn_max_pool2d_with_indices_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCHW";
    attrs->out_layout = NULL;
    attrs->column_major = 0;
}
static inline relax_expr *relax_r_nn_max_pool2d_with_indices(relax_context *ctx,
        const relax_expr *data, const relax_nn_max_pool2d_with_indices_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "column_major", 12, relax_attr_bool_new(ctx,
            attrs->column_major));
    }
    return relax_call_op_new(ctx, "relax.nn.max_pool2d_with_indices", 32, given, 1, map, 0);
}

/* R.nn.max_pool3d: greatest element of each window along three axes
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCDHW, out_layout None
 */
typedef struct relax_nn_max_pool3d_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
} relax_nn_max_pool3d_attrs;
static inline void relax_nn_max_pool3d_attrs_init(relax_nn_max_pool3d_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCDHW";
    attrs->out_layout = NULL;
}
static inline relax_expr *relax_r_nn_max_pool3d(relax_context *ctx, const relax_expr *data,
        const relax_nn_max_pool3d_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
    }
    return relax_call_op_new(ctx, "relax.nn.max_pool3d", 19, given, 1, map, 0);
}

/* R.nn.max_pool3d_with_indices: max_pool3d, and the positions in data of what it takes, the
 *   first of equal ones
 * defaults: pool_size [1], strides [1], dilation [1], padding [0], ceil_mode False,
 *   count_include_pad False, layout NCDHW, out_layout None, column_major False
 */
typedef struct relax_nn_max_pool3d_with_indices_attrs {
    const int64_t *pool_size;
    size_t num_pool_size;
    const int64_t *strides;
    size_t num_strides;
    const int64_t *dilation;
    size_t num_dilation;
    const int64_t *padding;
    size_t num_padding;
    int32_t ceil_mode;
    int32_t count_include_pad;
    const char *layout;
    const char *out_layout;
    int32_t column_major;
} relax_nn_max_pool3d_with_indices_attrs;
static inline void relax_nn_max_pool3d_with_indices_attrs_init(
        relax_nn_max_pool3d_with_indices_attrs *attrs)
{
    attrs->pool_size = NULL;
    attrs->num_pool_size = 0;
    attrs->strides = NULL;
    attrs->num_strides = 0;
    attrs->dilation = NULL;
    attrs->num_dilation = 0;
    attrs->padding = NULL;
    attrs->num_padding = 0;
    attrs->ceil_mode = 0;
    attrs->count_include_pad = 0;
    attrs->layout = "NCDHW";
    attrs->out_layout = NULL;
    attrs->column_major = 0;
}
static inline relax_expr *relax_r_nn_max_pool3d_with_indices(relax_context *ctx,
        const relax_expr *data, const relax_nn_max_pool3d_with_indices_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "pool_size", 9, relax_r_ints(ctx, attrs->pool_size,
            attrs->num_pool_size));
        map = relax_r_set(ctx, map, "strides", 7, relax_r_ints(ctx, attrs->strides,
            attrs->num_strides));
        map = relax_r_set(ctx, map, "dilation", 8, relax_r_ints(ctx, attrs->dilation,
            attrs->num_dilation));
        map = relax_r_set(ctx, map, "padding", 7, relax_r_ints(ctx, attrs->padding,
            attrs->num_padding));
        map = relax_r_set(ctx, map, "ceil_mode", 9, relax_attr_bool_new(ctx, attrs->ceil_mode));
        map = relax_r_set(ctx, map, "count_include_pad", 17, relax_attr_bool_new(ctx,
            attrs->count_include_pad));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "out_layout", 10, relax_r_text_or_none(ctx,
            attrs->out_layout));
        map = relax_r_set(ctx, map, "column_major", 12, relax_attr_bool_new(ctx,
            attrs->column_major));
    }
    return relax_call_op_new(ctx, "relax.nn.max_pool3d_with_indices", 32, given, 1, map, 0);
}

/* R.nn.nll_loss: negative log likelihood of target classes
 * defaults: reduction mean, ignore_index -100
 */
typedef struct relax_nn_nll_loss_attrs {
    const relax_expr *weights;
    const char *reduction;
    int64_t ignore_index;
} relax_nn_nll_loss_attrs;
static inline void relax_nn_nll_loss_attrs_init(relax_nn_nll_loss_attrs *attrs)
{
    attrs->weights = NULL;
    attrs->reduction = "mean";
    attrs->ignore_index = -100;
}
static inline relax_expr *relax_r_nn_nll_loss(relax_context *ctx, const relax_expr *predictions,
        const relax_expr *targets, const relax_nn_nll_loss_attrs *attrs)
{
    const relax_expr *given[] = { predictions, targets, attrs ? attrs->weights : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "reduction", 9, relax_r_text(ctx, attrs->reduction));
        map = relax_r_set(ctx, map, "ignore_index", 12, relax_attr_int_new(ctx,
            attrs->ignore_index));
    }
    return relax_call_op_new(ctx, "relax.nn.nll_loss", 17, given, relax_r_given(given, 2, 3), map,
        0);
}

/* R.nn.pad: data with elements added at the ends of its dimensions
 * defaults: pad_value 0.0, pad_mode constant
 */
typedef struct relax_nn_pad_attrs {
    double pad_value;
    const char *pad_mode;
} relax_nn_pad_attrs;
static inline void relax_nn_pad_attrs_init(relax_nn_pad_attrs *attrs)
{
    attrs->pad_value = 0.0;
    attrs->pad_mode = "constant";
}
static inline relax_expr *relax_r_nn_pad(relax_context *ctx, const relax_expr *data,
        const int64_t *pad_width, size_t num_pad_width, const relax_nn_pad_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "pad_width", 9, relax_r_ints(ctx, pad_width, num_pad_width));
    if (attrs) {
        map = relax_r_set(ctx, map, "pad_value", 9, relax_attr_float_new(ctx, attrs->pad_value));
        map = relax_r_set(ctx, map, "pad_mode", 8, relax_r_text(ctx, attrs->pad_mode));
    }
    return relax_call_op_new(ctx, "relax.nn.pad", 12, given, 1, map, 0);
}

/* R.nn.pixel_shuffle: channels moved into larger images */
static inline relax_expr *relax_r_nn_pixel_shuffle(relax_context *ctx, const relax_expr *data,
        int64_t upscale_factor)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "upscale_factor", 14, relax_attr_int_new(ctx, upscale_factor));
    return relax_call_op_new(ctx, "relax.nn.pixel_shuffle", 22, given, 1, map, 0);
}

/* R.nn.prelu: x where x > 0, else alpha * x, a slope for each place of an axis
 * defaults: axis 1
 */
typedef struct relax_nn_prelu_attrs {
    int64_t axis;
} relax_nn_prelu_attrs;
static inline void relax_nn_prelu_attrs_init(relax_nn_prelu_attrs *attrs)
{
    attrs->axis = 1;
}
static inline relax_expr *relax_r_nn_prelu(relax_context *ctx, const relax_expr *data,
        const relax_expr *alpha, const relax_nn_prelu_attrs *attrs)
{
    const relax_expr *given[] = { data, alpha };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.nn.prelu", 14, given, 2, map, 0);
}

/* R.nn.relu: max(x, 0); NaN stays */
static inline relax_expr *relax_r_nn_relu(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.nn.relu", 13, given, 1, NULL, 0);
}

/* R.nn.rms_norm: data divided by the root of its mean square over axes, times weight
 * defaults: axes [-1], epsilon 1e-05
 */
typedef struct relax_nn_rms_norm_attrs {
    const int64_t *axes;
    size_t num_axes;
    double epsilon;
} relax_nn_rms_norm_attrs;
static inline void relax_nn_rms_norm_attrs_init(relax_nn_rms_norm_attrs *attrs)
{
    attrs->axes = NULL;
    attrs->num_axes = 0;
    attrs->epsilon = 1e-05;
}
static inline relax_expr *relax_r_nn_rms_norm(relax_context *ctx, const relax_expr *data,
        const relax_expr *weight, const relax_nn_rms_norm_attrs *attrs)
{
    const relax_expr *given[] = { data, weight };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axes", 4, relax_r_ints(ctx, attrs->axes, attrs->num_axes));
        map = relax_r_set(ctx, map, "epsilon", 7, relax_attr_float_new(ctx, attrs->epsilon));
    }
    return relax_call_op_new(ctx, "relax.nn.rms_norm", 17, given, 2, map, 0);
}

/* R.nn.rnn: all steps of a layer: rows, the last state; state = tanh(x + state weight)
 * defaults: backward False
 */
typedef struct relax_nn_rnn_attrs {
    const relax_expr *lengths;
    int32_t backward;
} relax_nn_rnn_attrs;
static inline void relax_nn_rnn_attrs_init(relax_nn_rnn_attrs *attrs)
{
    attrs->lengths = NULL;
    attrs->backward = 0;
}
static inline relax_expr *relax_r_nn_rnn(relax_context *ctx, const relax_expr *x,
        const relax_expr *weight, const relax_expr *state, const relax_nn_rnn_attrs *attrs)
{
    const relax_expr *given[] = { x, weight, state, attrs ? attrs->lengths : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "backward", 8, relax_attr_bool_new(ctx, attrs->backward));
    }
    return relax_call_op_new(ctx, "relax.nn.rnn", 12, given, relax_r_given(given, 3, 4), map, 0);
}

/* R.nn.selu: scaled exponential linear unit, constants as in PyTorch */
static inline relax_expr *relax_r_nn_selu(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.nn.selu", 13, given, 1, NULL, 0);
}

/* R.nn.silu: x * sigmoid(x) */
static inline relax_expr *relax_r_nn_silu(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.nn.silu", 13, given, 1, NULL, 0);
}

/* R.nn.softmax: exp(x - max) divided by its sum along one axis
 * defaults: axis -1
 */
typedef struct relax_nn_softmax_attrs {
    int64_t axis;
} relax_nn_softmax_attrs;
static inline void relax_nn_softmax_attrs_init(relax_nn_softmax_attrs *attrs)
{
    attrs->axis = -1;
}
static inline relax_expr *relax_r_nn_softmax(relax_context *ctx, const relax_expr *data,
        const relax_nn_softmax_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.nn.softmax", 16, given, 1, map, 0);
}

/* R.nn.softplus: log(1 + exp(beta * x)) / beta
 * defaults: beta 1.0, threshold 20.0
 */
typedef struct relax_nn_softplus_attrs {
    double beta;
    double threshold;
} relax_nn_softplus_attrs;
static inline void relax_nn_softplus_attrs_init(relax_nn_softplus_attrs *attrs)
{
    attrs->beta = 1.0;
    attrs->threshold = 20.0;
}
static inline relax_expr *relax_r_nn_softplus(relax_context *ctx, const relax_expr *data,
        const relax_nn_softplus_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "beta", 4, relax_attr_float_new(ctx, attrs->beta));
        map = relax_r_set(ctx, map, "threshold", 9, relax_attr_float_new(ctx, attrs->threshold));
    }
    return relax_call_op_new(ctx, "relax.nn.softplus", 17, given, 1, map, 0);
}

/* R.nonzero: positions of elements that are not 0, one column each */
static inline relax_expr *relax_r_nonzero(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.nonzero", 13, given, 1, NULL, 0);
}

/* R.not_equal: true where elements differ (NaN differs from all), with broadcasting */
static inline relax_expr *relax_r_not_equal(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.not_equal", 15, given, 2, NULL, 0);
}

/* R.null_value: the null object: operand left out */
static inline relax_expr *relax_r_null_value(relax_context *ctx)
{
    return relax_call_op_new(ctx, "relax.null_value", 16, NULL, 0, NULL, 0);
}

/* R.one_hot: on_value at each index along a new axis, else off_value
 * defaults: axis -1
 */
typedef struct relax_one_hot_attrs {
    int64_t axis;
} relax_one_hot_attrs;
static inline void relax_one_hot_attrs_init(relax_one_hot_attrs *attrs)
{
    attrs->axis = -1;
}
static inline relax_expr *relax_r_one_hot(relax_context *ctx, const relax_expr *indices,
        const relax_expr *on_value, const relax_expr *off_value, int64_t depth,
        const relax_one_hot_attrs *attrs)
{
    const relax_expr *given[] = { indices, on_value, off_value };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "depth", 5, relax_attr_int_new(ctx, depth));
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.one_hot", 13, given, 3, map, 0);
}

/* R.ones: ones of a shape */
static inline relax_expr *relax_r_ones(relax_context *ctx, const relax_expr *shape,
        relax_dtype dtype)
{
    const relax_expr *given[] = { shape };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, dtype));
    return relax_call_op_new(ctx, "relax.ones", 10, given, 1, map, 0);
}

/* R.ones_like: ones in the shape of a tensor
 * defaults: dtype void
 */
typedef struct relax_ones_like_attrs {
    relax_dtype dtype;
} relax_ones_like_attrs;
static inline void relax_ones_like_attrs_init(relax_ones_like_attrs *attrs)
{
    attrs->dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_ones_like(relax_context *ctx, const relax_expr *x,
        const relax_ones_like_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.ones_like", 15, given, 1, map, 0);
}

/* R.outer: products of all pairs of elements of two vectors */
static inline relax_expr *relax_r_outer(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.outer", 11, given, 2, NULL, 0);
}

/* R.permute_dims: dimensions in another order
 * defaults: axes None
 */
typedef struct relax_permute_dims_attrs {
    const int64_t *axes;
    size_t num_axes;
} relax_permute_dims_attrs;
static inline void relax_permute_dims_attrs_init(relax_permute_dims_attrs *attrs)
{
    attrs->axes = NULL;
    attrs->num_axes = 0;
}
static inline relax_expr *relax_r_permute_dims(relax_context *ctx, const relax_expr *x,
        const relax_permute_dims_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axes", 4, relax_r_ints_or_none(ctx, attrs->axes,
            attrs->num_axes));
    }
    return relax_call_op_new(ctx, "relax.permute_dims", 18, given, 1, map, 0);
}

/* R.power: x1 to the power of x2, with broadcasting */
static inline relax_expr *relax_r_power(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.power", 11, given, 2, NULL, 0);
}

/* R.print: writes values; {} in the format stands for one each
 * `args`: format, values ...
 */
static inline relax_expr *relax_r_print(relax_context *ctx, const relax_expr *const *args,
        size_t num_args)
{
    return relax_call_op_new(ctx, "relax.print", 11, args, num_args, NULL, 0);
}

/* R.prod: product over axes; 1 over an empty one
 * defaults: axis None, keepdims False
 */
typedef struct relax_prod_attrs {
    const int64_t *axis;
    size_t num_axis;
    int32_t keepdims;
} relax_prod_attrs;
static inline void relax_prod_attrs_init(relax_prod_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->num_axis = 0;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_prod(relax_context *ctx, const relax_expr *x,
        const relax_prod_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_ints_or_none(ctx, attrs->axis,
            attrs->num_axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.prod", 10, given, 1, map, 0);
}

/* R.quantize: round(x / scale) + zero_point, limited to the dtype
 * defaults: out_dtype int8, axis -1
 */
typedef struct relax_quantize_attrs {
    relax_dtype out_dtype;
    int64_t axis;
} relax_quantize_attrs;
static inline void relax_quantize_attrs_init(relax_quantize_attrs *attrs)
{
    attrs->out_dtype = RELAX_INT8;
    attrs->axis = -1;
}
static inline relax_expr *relax_r_quantize(relax_context *ctx, const relax_expr *data,
        const relax_expr *scale, const relax_expr *zero_point, const relax_quantize_attrs *attrs)
{
    const relax_expr *given[] = { data, scale, zero_point };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "out_dtype", 9, relax_attr_dtype_new(ctx, attrs->out_dtype));
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.quantize", 14, given, 3, map, 0);
}

/* R.random.normal: random numbers of a normal distribution, by a seed
 * defaults: dtype float32, seed 0, mean 0.0, scale 1.0
 */
typedef struct relax_random_normal_attrs {
    relax_dtype dtype;
    int64_t seed;
    double mean;
    double scale;
} relax_random_normal_attrs;
static inline void relax_random_normal_attrs_init(relax_random_normal_attrs *attrs)
{
    attrs->dtype = RELAX_FLOAT32;
    attrs->seed = 0;
    attrs->mean = 0.0;
    attrs->scale = 1.0;
}
static inline relax_expr *relax_r_random_normal(relax_context *ctx, const relax_expr *shape,
        const relax_random_normal_attrs *attrs)
{
    const relax_expr *given[] = { shape };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
        map = relax_r_set(ctx, map, "seed", 4, relax_attr_int_new(ctx, attrs->seed));
        map = relax_r_set(ctx, map, "mean", 4, relax_attr_float_new(ctx, attrs->mean));
        map = relax_r_set(ctx, map, "scale", 5, relax_attr_float_new(ctx, attrs->scale));
    }
    return relax_call_op_new(ctx, "relax.random.normal", 19, given, 1, map, 0);
}

/* R.random.uniform: random numbers that are equally likely, by a seed
 * defaults: dtype float32, seed 0, low 0.0, high 1.0
 */
typedef struct relax_random_uniform_attrs {
    relax_dtype dtype;
    int64_t seed;
    double low;
    double high;
} relax_random_uniform_attrs;
static inline void relax_random_uniform_attrs_init(relax_random_uniform_attrs *attrs)
{
    attrs->dtype = RELAX_FLOAT32;
    attrs->seed = 0;
    attrs->low = 0.0;
    attrs->high = 1.0;
}
static inline relax_expr *relax_r_random_uniform(relax_context *ctx, const relax_expr *shape,
        const relax_random_uniform_attrs *attrs)
{
    const relax_expr *given[] = { shape };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
        map = relax_r_set(ctx, map, "seed", 4, relax_attr_int_new(ctx, attrs->seed));
        map = relax_r_set(ctx, map, "low", 3, relax_attr_float_new(ctx, attrs->low));
        map = relax_r_set(ctx, map, "high", 4, relax_attr_float_new(ctx, attrs->high));
    }
    return relax_call_op_new(ctx, "relax.random.uniform", 20, given, 1, map, 0);
}

/* R.repeat: each element repeated
 * defaults: axis None
 */
typedef struct relax_repeat_attrs {
    const int64_t *axis;
} relax_repeat_attrs;
static inline void relax_repeat_attrs_init(relax_repeat_attrs *attrs)
{
    attrs->axis = NULL;
}
static inline relax_expr *relax_r_repeat(relax_context *ctx, const relax_expr *data,
        int64_t repeats, const relax_repeat_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "repeats", 7, relax_attr_int_new(ctx, repeats));
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_int_or_none(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.repeat", 12, given, 1, map, 0);
}

/* R.reshape: the elements of x in row-major order in another shape; in the list 0 copies a
 *   size, -1 is what is left
 */
static inline relax_expr *relax_r_reshape(relax_context *ctx, const relax_expr *x,
        const relax_expr *shape)
{
    const relax_expr *given[] = { x, shape };
    return relax_call_op_new(ctx, "relax.reshape", 13, given, 2, NULL, 0);
}

/* R.reverse_sequence: the first places of each sequence in reverse
 * defaults: seq_axis 1, batch_axis 0
 */
typedef struct relax_reverse_sequence_attrs {
    int64_t seq_axis;
    int64_t batch_axis;
} relax_reverse_sequence_attrs;
static inline void relax_reverse_sequence_attrs_init(relax_reverse_sequence_attrs *attrs)
{
    attrs->seq_axis = 1;
    attrs->batch_axis = 0;
}
static inline relax_expr *relax_r_reverse_sequence(relax_context *ctx, const relax_expr *data,
        const relax_expr *seq_lengths, const relax_reverse_sequence_attrs *attrs)
{
    const relax_expr *given[] = { data, seq_lengths };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "seq_axis", 8, relax_attr_int_new(ctx, attrs->seq_axis));
        map = relax_r_set(ctx, map, "batch_axis", 10, relax_attr_int_new(ctx, attrs->batch_axis));
    }
    return relax_call_op_new(ctx, "relax.reverse_sequence", 22, given, 2, map, 0);
}

/* R.right_shift: x1 shifted right by x2 bits, sign kept, with broadcasting */
static inline relax_expr *relax_r_right_shift(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.right_shift", 17, given, 2, NULL, 0);
}

/* R.round: nearest integer, halves to the even one; integers stay */
static inline relax_expr *relax_r_round(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.round", 11, given, 1, NULL, 0);
}

/* R.rsqrt: 1 over the square root of each element */
static inline relax_expr *relax_r_rsqrt(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.rsqrt", 11, given, 1, NULL, 0);
}

/* R.scatter_elements: data with elements changed at positions given for one axis
 * defaults: axis 0, reduction update
 */
typedef struct relax_scatter_elements_attrs {
    int64_t axis;
    const char *reduction;
} relax_scatter_elements_attrs;
static inline void relax_scatter_elements_attrs_init(relax_scatter_elements_attrs *attrs)
{
    attrs->axis = 0;
    attrs->reduction = "update";
}
static inline relax_expr *relax_r_scatter_elements(relax_context *ctx, const relax_expr *data,
        const relax_expr *indices, const relax_expr *updates,
        const relax_scatter_elements_attrs *attrs)
{
    const relax_expr *given[] = { data, indices, updates };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "reduction", 9, relax_r_text(ctx, attrs->reduction));
    }
    return relax_call_op_new(ctx, "relax.scatter_elements", 22, given, 3, map, 0);
}

/* R.scatter_nd: data with slices changed at positions in the last dimension of indices
 * defaults: reduction update
 */
typedef struct relax_scatter_nd_attrs {
    const char *reduction;
} relax_scatter_nd_attrs;
static inline void relax_scatter_nd_attrs_init(relax_scatter_nd_attrs *attrs)
{
    attrs->reduction = "update";
}
static inline relax_expr *relax_r_scatter_nd(relax_context *ctx, const relax_expr *data,
        const relax_expr *indices, const relax_expr *updates, const relax_scatter_nd_attrs *attrs)
{
    const relax_expr *given[] = { data, indices, updates };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "reduction", 9, relax_r_text(ctx, attrs->reduction));
    }
    return relax_call_op_new(ctx, "relax.scatter_nd", 16, given, 3, map, 0);
}

/* R.shape_of: the shape of a tensor */
static inline relax_expr *relax_r_shape_of(relax_context *ctx, const relax_expr *input)
{
    const relax_expr *given[] = { input };
    return relax_call_op_new(ctx, "relax.shape_of", 14, given, 1, NULL, 0);
}

/* R.shape_to_tensor: the sizes of a shape as an int64 tensor of rank 1 */
static inline relax_expr *relax_r_shape_to_tensor(relax_context *ctx, const relax_expr *input)
{
    const relax_expr *given[] = { input };
    return relax_call_op_new(ctx, "relax.shape_to_tensor", 21, given, 1, NULL, 0);
}

/* R.sigmoid: 1 / (1 + exp(-x)) */
static inline relax_expr *relax_r_sigmoid(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.sigmoid", 13, given, 1, NULL, 0);
}

/* R.sign: -1, 0 or 1 by the sign of each element; NaN stays */
static inline relax_expr *relax_r_sign(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.sign", 10, given, 1, NULL, 0);
}

/* R.sin: sine of each element, in radians */
static inline relax_expr *relax_r_sin(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.sin", 9, given, 1, NULL, 0);
}

/* R.sinh: hyperbolic sine of each element */
static inline relax_expr *relax_r_sinh(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.sinh", 10, given, 1, NULL, 0);
}

/* R.size: number of elements, of rank 0 */
static inline relax_expr *relax_r_size(relax_context *ctx, const relax_expr *expr)
{
    const relax_expr *given[] = { expr };
    return relax_call_op_new(ctx, "relax.size", 10, given, 1, NULL, 0);
}

/* R.slice_scatter: a tensor with src in the place of a slice
 * defaults: axis 0
 */
typedef struct relax_slice_scatter_attrs {
    int64_t axis;
} relax_slice_scatter_attrs;
static inline void relax_slice_scatter_attrs_init(relax_slice_scatter_attrs *attrs)
{
    attrs->axis = 0;
}
static inline relax_expr *relax_r_slice_scatter(relax_context *ctx, const relax_expr *input_tensor,
        const relax_expr *src, const relax_expr *start, const relax_expr *end,
        const relax_expr *step, const relax_slice_scatter_attrs *attrs)
{
    const relax_expr *given[] = { input_tensor, src, start, end, step };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.slice_scatter", 19, given, 5, map, 0);
}

/* R.sort: elements in order along an axis; stable, NaN counts as the greatest
 * defaults: axis -1, descending False
 */
typedef struct relax_sort_attrs {
    int64_t axis;
    int32_t descending;
} relax_sort_attrs;
static inline void relax_sort_attrs_init(relax_sort_attrs *attrs)
{
    attrs->axis = -1;
    attrs->descending = 0;
}
static inline relax_expr *relax_r_sort(relax_context *ctx, const relax_expr *x,
        const relax_sort_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "descending", 10, relax_attr_bool_new(ctx, attrs->descending));
    }
    return relax_call_op_new(ctx, "relax.sort", 10, given, 1, map, 0);
}

/* R.split: x cut into parts along one axis
 * defaults: axis 0
 */
typedef struct relax_split_attrs {
    int64_t axis;
} relax_split_attrs;
static inline void relax_split_attrs_init(relax_split_attrs *attrs)
{
    attrs->axis = 0;
}
static inline relax_expr *relax_r_split(relax_context *ctx, const relax_expr *x,
        const relax_attr *indices_or_sections, const relax_split_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "indices_or_sections", 19, indices_or_sections);
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.split", 11, given, 1, map, 0);
}

/* R.sqrt: square root of each element */
static inline relax_expr *relax_r_sqrt(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.sqrt", 10, given, 1, NULL, 0);
}

/* R.square: each element times itself */
static inline relax_expr *relax_r_square(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.square", 12, given, 1, NULL, 0);
}

/* R.squeeze: dimensions of size 1 dropped
 * defaults: axis None
 */
typedef struct relax_squeeze_attrs {
    const int64_t *axis;
    size_t num_axis;
} relax_squeeze_attrs;
static inline void relax_squeeze_attrs_init(relax_squeeze_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->num_axis = 0;
}
static inline relax_expr *relax_r_squeeze(relax_context *ctx, const relax_expr *x,
        const relax_squeeze_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_ints_or_none(ctx, attrs->axis,
            attrs->num_axis));
    }
    return relax_call_op_new(ctx, "relax.squeeze", 13, given, 1, map, 0);
}

/* R.stack: tensors of one shape side by side along a new axis
 * defaults: axis 0
 */
typedef struct relax_stack_attrs {
    int64_t axis;
} relax_stack_attrs;
static inline void relax_stack_attrs_init(relax_stack_attrs *attrs)
{
    attrs->axis = 0;
}
static inline relax_expr *relax_r_stack(relax_context *ctx, const relax_expr *tensors,
        const relax_stack_attrs *attrs)
{
    const relax_expr *given[] = { tensors };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
    }
    return relax_call_op_new(ctx, "relax.stack", 11, given, 1, map, 0);
}

/* R.std: standard deviation over axes (divided by the count)
 * defaults: axis None, keepdims False
 */
typedef struct relax_std_attrs {
    const int64_t *axis;
    size_t num_axis;
    int32_t keepdims;
} relax_std_attrs;
static inline void relax_std_attrs_init(relax_std_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->num_axis = 0;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_std(relax_context *ctx, const relax_expr *x,
        const relax_std_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_ints_or_none(ctx, attrs->axis,
            attrs->num_axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.std", 9, given, 1, map, 0);
}

/* R.strided_slice: from begin to before end by strides, by Python's rule
 * defaults: assume_inbound False
 */
typedef struct relax_strided_slice_attrs {
    const relax_expr *strides;
    int32_t assume_inbound;
} relax_strided_slice_attrs;
static inline void relax_strided_slice_attrs_init(relax_strided_slice_attrs *attrs)
{
    attrs->strides = NULL;
    attrs->assume_inbound = 0;
}
static inline relax_expr *relax_r_strided_slice(relax_context *ctx, const relax_expr *x,
        const relax_expr *axes, const relax_expr *begin, const relax_expr *end,
        const relax_strided_slice_attrs *attrs)
{
    const relax_expr *given[] = { x, axes, begin, end, attrs ? attrs->strides : NULL };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "assume_inbound", 14, relax_attr_bool_new(ctx,
            attrs->assume_inbound));
    }
    return relax_call_op_new(ctx, "relax.strided_slice", 19, given, relax_r_given(given, 4, 5),
        map, 0);
}

/* R.subtract: difference, element by element with broadcasting */
static inline relax_expr *relax_r_subtract(relax_context *ctx, const relax_expr *x1,
        const relax_expr *x2)
{
    const relax_expr *given[] = { x1, x2 };
    return relax_call_op_new(ctx, "relax.subtract", 14, given, 2, NULL, 0);
}

/* R.sum: sum over axes; 0 over an empty one
 * defaults: axis None, keepdims False
 */
typedef struct relax_sum_attrs {
    const int64_t *axis;
    size_t num_axis;
    int32_t keepdims;
} relax_sum_attrs;
static inline void relax_sum_attrs_init(relax_sum_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->num_axis = 0;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_sum(relax_context *ctx, const relax_expr *x,
        const relax_sum_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_ints_or_none(ctx, attrs->axis,
            attrs->num_axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.sum", 9, given, 1, map, 0);
}

/* R.take: slices of x at indices; negative ones count from the end
 * defaults: axis None, mode fast
 */
typedef struct relax_take_attrs {
    const int64_t *axis;
    const char *mode;
} relax_take_attrs;
static inline void relax_take_attrs_init(relax_take_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->mode = "fast";
}
static inline relax_expr *relax_r_take(relax_context *ctx, const relax_expr *x,
        const relax_expr *indices, const relax_take_attrs *attrs)
{
    const relax_expr *given[] = { x, indices };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_int_or_none(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "mode", 4, relax_r_text(ctx, attrs->mode));
    }
    return relax_call_op_new(ctx, "relax.take", 10, given, 2, map, 0);
}

/* R.tan: tangent of each element, in radians */
static inline relax_expr *relax_r_tan(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.tan", 9, given, 1, NULL, 0);
}

/* R.tanh: hyperbolic tangent of each element */
static inline relax_expr *relax_r_tanh(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.tanh", 10, given, 1, NULL, 0);
}

/* R.tensor_to_shape: the elements of a tensor of integers, rank 1, as a shape */
static inline relax_expr *relax_r_tensor_to_shape(relax_context *ctx, const relax_expr *input)
{
    const relax_expr *given[] = { input };
    return relax_call_op_new(ctx, "relax.tensor_to_shape", 21, given, 1, NULL, 0);
}

/* R.tile: the whole tensor repeated along its axes */
static inline relax_expr *relax_r_tile(relax_context *ctx, const relax_expr *data,
        const int64_t *repeats, size_t num_repeats)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "repeats", 7, relax_r_ints(ctx, repeats, num_repeats));
    return relax_call_op_new(ctx, "relax.tile", 10, given, 1, map, 0);
}

/* R.to_vdevice: data copied to a device */
static inline relax_expr *relax_r_to_vdevice(relax_context *ctx, const relax_expr *data,
        const relax_attr *dst_vdevice)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "dst_vdevice", 11, dst_vdevice);
    return relax_call_op_new(ctx, "relax.to_vdevice", 16, given, 1, map, 0);
}

/* R.topk: the k greatest elements along an axis, in order, and their positions
 * defaults: k 1, axis -1, ret_type both, largest True, dtype int32
 */
typedef struct relax_topk_attrs {
    int64_t k;
    int64_t axis;
    const char *ret_type;
    int32_t largest;
    relax_dtype dtype;
} relax_topk_attrs;
static inline void relax_topk_attrs_init(relax_topk_attrs *attrs)
{
    attrs->k = 1;
    attrs->axis = -1;
    attrs->ret_type = "both";
    attrs->largest = 1;
    attrs->dtype = RELAX_INT32;
}
static inline relax_expr *relax_r_topk(relax_context *ctx, const relax_expr *data,
        const relax_topk_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "k", 1, relax_attr_int_new(ctx, attrs->k));
        map = relax_r_set(ctx, map, "axis", 4, relax_attr_int_new(ctx, attrs->axis));
        map = relax_r_set(ctx, map, "ret_type", 8, relax_r_text(ctx, attrs->ret_type));
        map = relax_r_set(ctx, map, "largest", 7, relax_attr_bool_new(ctx, attrs->largest));
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.topk", 10, given, 1, map, 0);
}

/* R.tril: the part of each matrix on and below the k-th diagonal, else 0 */
typedef struct relax_tril_attrs {
    const relax_expr *k;
} relax_tril_attrs;
static inline void relax_tril_attrs_init(relax_tril_attrs *attrs)
{
    attrs->k = NULL;
}
static inline relax_expr *relax_r_tril(relax_context *ctx, const relax_expr *x,
        const relax_tril_attrs *attrs)
{
    const relax_expr *given[] = { x, attrs ? attrs->k : NULL };
    return relax_call_op_new(ctx, "relax.tril", 10, given, relax_r_given(given, 1, 2), NULL, 0);
}

/* R.triu: the part of each matrix on and above the k-th diagonal, else 0 */
typedef struct relax_triu_attrs {
    const relax_expr *k;
} relax_triu_attrs;
static inline void relax_triu_attrs_init(relax_triu_attrs *attrs)
{
    attrs->k = NULL;
}
static inline relax_expr *relax_r_triu(relax_context *ctx, const relax_expr *x,
        const relax_triu_attrs *attrs)
{
    const relax_expr *given[] = { x, attrs ? attrs->k : NULL };
    return relax_call_op_new(ctx, "relax.triu", 10, given, relax_r_given(given, 1, 2), NULL, 0);
}

/* R.trunc: each element without its fraction; integers stay */
static inline relax_expr *relax_r_trunc(relax_context *ctx, const relax_expr *x)
{
    const relax_expr *given[] = { x };
    return relax_call_op_new(ctx, "relax.trunc", 11, given, 1, NULL, 0);
}

/* R.unique: distinct elements in ascending order, with index, inverse and counts on request */
typedef struct relax_unique_attrs {
    const relax_expr *sorted;
    const relax_expr *return_index;
    const relax_expr *return_inverse;
    const relax_expr *return_counts;
    const relax_expr *axis;
} relax_unique_attrs;
static inline void relax_unique_attrs_init(relax_unique_attrs *attrs)
{
    attrs->sorted = NULL;
    attrs->return_index = NULL;
    attrs->return_inverse = NULL;
    attrs->return_counts = NULL;
    attrs->axis = NULL;
}
static inline relax_expr *relax_r_unique(relax_context *ctx, const relax_expr *x,
        const relax_unique_attrs *attrs)
{
    const relax_expr *given[] = { x, attrs ? attrs->sorted : NULL,
        attrs ? attrs->return_index : NULL, attrs ? attrs->return_inverse : NULL,
        attrs ? attrs->return_counts : NULL, attrs ? attrs->axis : NULL };
    return relax_call_op_new(ctx, "relax.unique", 12, given, relax_r_given(given, 1, 6), NULL, 0);
}

/* R.variance: variance over axes (divided by the count)
 * defaults: axis None, keepdims False
 */
typedef struct relax_variance_attrs {
    const int64_t *axis;
    size_t num_axis;
    int32_t keepdims;
} relax_variance_attrs;
static inline void relax_variance_attrs_init(relax_variance_attrs *attrs)
{
    attrs->axis = NULL;
    attrs->num_axis = 0;
    attrs->keepdims = 0;
}
static inline relax_expr *relax_r_variance(relax_context *ctx, const relax_expr *x,
        const relax_variance_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "axis", 4, relax_r_ints_or_none(ctx, attrs->axis,
            attrs->num_axis));
        map = relax_r_set(ctx, map, "keepdims", 8, relax_attr_bool_new(ctx, attrs->keepdims));
    }
    return relax_call_op_new(ctx, "relax.variance", 14, given, 1, map, 0);
}

/* R.vision.all_class_non_max_suppression: for each class the boxes without those that overlap a
 *   better one
 * defaults: output_format onnx
 */
typedef struct relax_vision_all_class_non_max_suppression_attrs {
    const char *output_format;
} relax_vision_all_class_non_max_suppression_attrs;
static inline void relax_vision_all_class_non_max_suppression_attrs_init(
        relax_vision_all_class_non_max_suppression_attrs *attrs)
{
    attrs->output_format = "onnx";
}
static inline relax_expr *relax_r_vision_all_class_non_max_suppression(relax_context *ctx,
        const relax_expr *boxes, const relax_expr *scores,
        const relax_expr *max_output_boxes_per_class, const relax_expr *iou_threshold,
        const relax_expr *score_threshold,
        const relax_vision_all_class_non_max_suppression_attrs *attrs)
{
    const relax_expr *given[] = { boxes, scores, max_output_boxes_per_class, iou_threshold,
        score_threshold };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "output_format", 13, relax_r_text(ctx, attrs->output_format));
    }
    return relax_call_op_new(ctx, "relax.vision.all_class_non_max_suppression", 42, given, 5, map,
        0);
}

/* R.vision.dynamic_non_max_suppression: rows of batch, class and box, as many as boxes stay
 *   that overlap no better one of their class
 * defaults: center_point_box False
 */
typedef struct relax_vision_dynamic_non_max_suppression_attrs {
    int32_t center_point_box;
} relax_vision_dynamic_non_max_suppression_attrs;
static inline void relax_vision_dynamic_non_max_suppression_attrs_init(
        relax_vision_dynamic_non_max_suppression_attrs *attrs)
{
    attrs->center_point_box = 0;
}
static inline relax_expr *relax_r_vision_dynamic_non_max_suppression(relax_context *ctx,
        const relax_expr *boxes, const relax_expr *scores,
        const relax_expr *max_output_boxes_per_class, const relax_expr *iou_threshold,
        const relax_expr *score_threshold,
        const relax_vision_dynamic_non_max_suppression_attrs *attrs)
{
    const relax_expr *given[] = { boxes, scores, max_output_boxes_per_class, iou_threshold,
        score_threshold };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "center_point_box", 16, relax_attr_bool_new(ctx,
            attrs->center_point_box));
    }
    return relax_call_op_new(ctx, "relax.vision.dynamic_non_max_suppression", 40, given, 5, map,
        0);
}

/* R.vision.get_valid_counts: boxes whose score is high enough, first, and how many they are
 * defaults: score_threshold 0.0, id_index 0, score_index 1
 */
typedef struct relax_vision_get_valid_counts_attrs {
    double score_threshold;
    int64_t id_index;
    int64_t score_index;
} relax_vision_get_valid_counts_attrs;
static inline void relax_vision_get_valid_counts_attrs_init(
        relax_vision_get_valid_counts_attrs *attrs)
{
    attrs->score_threshold = 0.0;
    attrs->id_index = 0;
    attrs->score_index = 1;
}
static inline relax_expr *relax_r_vision_get_valid_counts(relax_context *ctx,
        const relax_expr *data, const relax_vision_get_valid_counts_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "score_threshold", 15, relax_attr_float_new(ctx,
            attrs->score_threshold));
        map = relax_r_set(ctx, map, "id_index", 8, relax_attr_int_new(ctx, attrs->id_index));
        map = relax_r_set(ctx, map, "score_index", 11, relax_attr_int_new(ctx,
            attrs->score_index));
    }
    return relax_call_op_new(ctx, "relax.vision.get_valid_counts", 29, given, 1, map, 0);
}

/* R.vision.multibox_transform_loc: boxes from anchors and offsets, and their scores
 * defaults: clip False, threshold 0.0, variances [1.0, 1.0, 1.0, 1.0], keep_background True,
 *   apply_softmax True
 */
typedef struct relax_vision_multibox_transform_loc_attrs {
    int32_t clip;
    double threshold;
    const relax_attr *variances;
    int32_t keep_background;
    int32_t apply_softmax;
} relax_vision_multibox_transform_loc_attrs;
static inline void relax_vision_multibox_transform_loc_attrs_init(
        relax_vision_multibox_transform_loc_attrs *attrs)
{
    attrs->clip = 0;
    attrs->threshold = 0.0;
    attrs->variances = NULL;
    attrs->keep_background = 1;
    attrs->apply_softmax = 1;
}
static inline relax_expr *relax_r_vision_multibox_transform_loc(relax_context *ctx,
        const relax_expr *cls_pred, const relax_expr *loc_pred, const relax_expr *anchor,
        const relax_vision_multibox_transform_loc_attrs *attrs)
{
    const relax_expr *given[] = { cls_pred, loc_pred, anchor };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "clip", 4, relax_attr_bool_new(ctx, attrs->clip));
        map = relax_r_set(ctx, map, "threshold", 9, relax_attr_float_new(ctx, attrs->threshold));
        map = relax_r_set(ctx, map, "variances", 9, attrs->variances);
        map = relax_r_set(ctx, map, "keep_background", 15, relax_attr_bool_new(ctx,
            attrs->keep_background));
        map = relax_r_set(ctx, map, "apply_softmax", 13, relax_attr_bool_new(ctx,
            attrs->apply_softmax));
    }
    return relax_call_op_new(ctx, "relax.vision.multibox_transform_loc", 35, given, 3, map, 0);
}

/* R.vision.non_max_suppression: boxes without those that overlap a better one
 * defaults: max_output_size -1, iou_threshold 0.5, force_suppress False, top_k -1, coord_start
 *   2, score_index 1, id_index 0, return_indices True, invalid_to_bottom False, soft_nms_sigma
 *   0.0, score_threshold 0.0
 */
typedef struct relax_vision_non_max_suppression_attrs {
    int64_t max_output_size;
    double iou_threshold;
    int32_t force_suppress;
    int64_t top_k;
    int64_t coord_start;
    int64_t score_index;
    int64_t id_index;
    int32_t return_indices;
    int32_t invalid_to_bottom;
    double soft_nms_sigma;
    double score_threshold;
} relax_vision_non_max_suppression_attrs;
static inline void relax_vision_non_max_suppression_attrs_init(
        relax_vision_non_max_suppression_attrs *attrs)
{
    attrs->max_output_size = -1;
    attrs->iou_threshold = 0.5;
    attrs->force_suppress = 0;
    attrs->top_k = -1;
    attrs->coord_start = 2;
    attrs->score_index = 1;
    attrs->id_index = 0;
    attrs->return_indices = 1;
    attrs->invalid_to_bottom = 0;
    attrs->soft_nms_sigma = 0.0;
    attrs->score_threshold = 0.0;
}
static inline relax_expr *relax_r_vision_non_max_suppression(relax_context *ctx,
        const relax_expr *data, const relax_expr *valid_count, const relax_expr *indices,
        const relax_vision_non_max_suppression_attrs *attrs)
{
    const relax_expr *given[] = { data, valid_count, indices };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "max_output_size", 15, relax_attr_int_new(ctx,
            attrs->max_output_size));
        map = relax_r_set(ctx, map, "iou_threshold", 13, relax_attr_float_new(ctx,
            attrs->iou_threshold));
        map = relax_r_set(ctx, map, "force_suppress", 14, relax_attr_bool_new(ctx,
            attrs->force_suppress));
        map = relax_r_set(ctx, map, "top_k", 5, relax_attr_int_new(ctx, attrs->top_k));
        map = relax_r_set(ctx, map, "coord_start", 11, relax_attr_int_new(ctx,
            attrs->coord_start));
        map = relax_r_set(ctx, map, "score_index", 11, relax_attr_int_new(ctx,
            attrs->score_index));
        map = relax_r_set(ctx, map, "id_index", 8, relax_attr_int_new(ctx, attrs->id_index));
        map = relax_r_set(ctx, map, "return_indices", 14, relax_attr_bool_new(ctx,
            attrs->return_indices));
        map = relax_r_set(ctx, map, "invalid_to_bottom", 17, relax_attr_bool_new(ctx,
            attrs->invalid_to_bottom));
        map = relax_r_set(ctx, map, "soft_nms_sigma", 14, relax_attr_float_new(ctx,
            attrs->soft_nms_sigma));
        map = relax_r_set(ctx, map, "score_threshold", 15, relax_attr_float_new(ctx,
            attrs->score_threshold));
    }
    return relax_call_op_new(ctx, "relax.vision.non_max_suppression", 32, given, 3, map, 0);
}

/* R.vision.roi_align: samples of regions of images, on average or the greatest
 * defaults: sample_ratio -1, aligned False, layout NCHW, mode avg
 */
typedef struct relax_vision_roi_align_attrs {
    int64_t sample_ratio;
    int32_t aligned;
    const char *layout;
    const char *mode;
} relax_vision_roi_align_attrs;
static inline void relax_vision_roi_align_attrs_init(relax_vision_roi_align_attrs *attrs)
{
    attrs->sample_ratio = -1;
    attrs->aligned = 0;
    attrs->layout = "NCHW";
    attrs->mode = "avg";
}
static inline relax_expr *relax_r_vision_roi_align(relax_context *ctx, const relax_expr *data,
        const relax_expr *rois, const int64_t *pooled_size, size_t num_pooled_size,
        double spatial_scale, const relax_vision_roi_align_attrs *attrs)
{
    const relax_expr *given[] = { data, rois };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "pooled_size", 11, relax_r_ints(ctx, pooled_size,
        num_pooled_size));
    map = relax_r_set(ctx, map, "spatial_scale", 13, relax_attr_float_new(ctx, spatial_scale));
    if (attrs) {
        map = relax_r_set(ctx, map, "sample_ratio", 12, relax_attr_int_new(ctx,
            attrs->sample_ratio));
        map = relax_r_set(ctx, map, "aligned", 7, relax_attr_bool_new(ctx, attrs->aligned));
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
        map = relax_r_set(ctx, map, "mode", 4, relax_r_text(ctx, attrs->mode));
    }
    return relax_call_op_new(ctx, "relax.vision.roi_align", 22, given, 2, map, 0);
}

/* R.vision.roi_pool: greatest element of each bin of regions of images
 * defaults: layout NCHW
 */
typedef struct relax_vision_roi_pool_attrs {
    const char *layout;
} relax_vision_roi_pool_attrs;
static inline void relax_vision_roi_pool_attrs_init(relax_vision_roi_pool_attrs *attrs)
{
    attrs->layout = "NCHW";
}
static inline relax_expr *relax_r_vision_roi_pool(relax_context *ctx, const relax_expr *data,
        const relax_expr *rois, const int64_t *pooled_size, size_t num_pooled_size,
        double spatial_scale, const relax_vision_roi_pool_attrs *attrs)
{
    const relax_expr *given[] = { data, rois };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "pooled_size", 11, relax_r_ints(ctx, pooled_size,
        num_pooled_size));
    map = relax_r_set(ctx, map, "spatial_scale", 13, relax_attr_float_new(ctx, spatial_scale));
    if (attrs) {
        map = relax_r_set(ctx, map, "layout", 6, relax_r_text(ctx, attrs->layout));
    }
    return relax_call_op_new(ctx, "relax.vision.roi_pool", 21, given, 2, map, 0);
}

/* R.vm.alloc_storage: storage of the machine */
typedef struct relax_vm_alloc_storage_attrs {
    const relax_expr *storage_scope;
} relax_vm_alloc_storage_attrs;
static inline void relax_vm_alloc_storage_attrs_init(relax_vm_alloc_storage_attrs *attrs)
{
    attrs->storage_scope = NULL;
}
static inline relax_expr *relax_r_vm_alloc_storage(relax_context *ctx, const relax_expr *shape,
        const relax_expr *runtime_device_index, const relax_expr *dtype,
        const relax_vm_alloc_storage_attrs *attrs)
{
    const relax_expr *given[] = { shape, runtime_device_index, dtype,
        attrs ? attrs->storage_scope : NULL };
    return relax_call_op_new(ctx, "relax.vm.alloc_storage", 22, given, relax_r_given(given, 3, 4),
        NULL, 0);
}

/* R.vm.alloc_tensor: a tensor inside storage of the machine */
static inline relax_expr *relax_r_vm_alloc_tensor(relax_context *ctx, const relax_expr *storage,
        const relax_expr *offset, const relax_expr *shape, const relax_expr *dtype)
{
    const relax_expr *given[] = { storage, offset, shape, dtype };
    return relax_call_op_new(ctx, "relax.vm.alloc_tensor", 21, given, 4, NULL, 0);
}

/* R.vm.call_tir_dyn: calls a TIR function whose last argument is a shape of integers */
static inline relax_expr *relax_r_vm_call_tir_dyn(relax_context *ctx, const relax_expr *func,
        const relax_expr *args)
{
    const relax_expr *given[] = { func, args };
    return relax_call_op_new(ctx, "relax.vm.call_tir_dyn", 21, given, 2, NULL, 0);
}

/* R.vm.kill_object: a register is not used from here on */
static inline relax_expr *relax_r_vm_kill_object(relax_context *ctx, const relax_expr *obj)
{
    const relax_expr *given[] = { obj };
    return relax_call_op_new(ctx, "relax.vm.kill_object", 20, given, 1, NULL, 0);
}

/* R.where: x1 where condition holds, else x2, with broadcasting */
static inline relax_expr *relax_r_where(relax_context *ctx, const relax_expr *condition,
        const relax_expr *x1, const relax_expr *x2)
{
    const relax_expr *given[] = { condition, x1, x2 };
    return relax_call_op_new(ctx, "relax.where", 11, given, 3, NULL, 0);
}

/* R.wrap_param: a parameter kept in one dtype and used in another
 * defaults: dtype float32
 */
typedef struct relax_wrap_param_attrs {
    relax_dtype dtype;
} relax_wrap_param_attrs;
static inline void relax_wrap_param_attrs_init(relax_wrap_param_attrs *attrs)
{
    attrs->dtype = RELAX_FLOAT32;
}
static inline relax_expr *relax_r_wrap_param(relax_context *ctx, const relax_expr *data,
        const relax_wrap_param_attrs *attrs)
{
    const relax_expr *given[] = { data };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.wrap_param", 16, given, 1, map, 0);
}

/* R.zeros: zeros of a shape */
static inline relax_expr *relax_r_zeros(relax_context *ctx, const relax_expr *shape,
        relax_dtype dtype)
{
    const relax_expr *given[] = { shape };
    const relax_attr *map = NULL;
    map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, dtype));
    return relax_call_op_new(ctx, "relax.zeros", 11, given, 1, map, 0);
}

/* R.zeros_like: zeros in the shape of a tensor
 * defaults: dtype void
 */
typedef struct relax_zeros_like_attrs {
    relax_dtype dtype;
} relax_zeros_like_attrs;
static inline void relax_zeros_like_attrs_init(relax_zeros_like_attrs *attrs)
{
    attrs->dtype = RELAX_VOID;
}
static inline relax_expr *relax_r_zeros_like(relax_context *ctx, const relax_expr *x,
        const relax_zeros_like_attrs *attrs)
{
    const relax_expr *given[] = { x };
    const relax_attr *map = NULL;
    if (attrs) {
        map = relax_r_set(ctx, map, "dtype", 5, relax_attr_dtype_new(ctx, attrs->dtype));
    }
    return relax_call_op_new(ctx, "relax.zeros_like", 16, given, 1, map, 0);
}

#ifdef __cplusplus
}
#endif
#endif
