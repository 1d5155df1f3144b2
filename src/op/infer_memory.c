/* infer_memory.c: storage, views, devices: what lowering puts into a program. */
/* built for size */
#include "op/op_int.h"

static bool dtype_literal(rlx_infer *in, size_t i, rlx_dtype *out)
{
    const rlx_dtype_imm *d = rlx_as_dtype_imm(rlx_infer_value(in, i));
    if (d)
        *out = d->value;
    return d != NULL;
}

const rlx_sinfo *rlx_infer_alloc_builtin(rlx_infer *in)
{
    rlx_dtype dtype;
    const rlx_expr *shape = rlx_infer_expr(in, 0);
    if (!rlx_infer_arg(in, 0))
        return NULL;
    if (!rlx_as_shape_expr(shape))
        return rlx_infer_fail(in, "shape is %s, expected R.shape", rlx_show(in->ctx, shape));
    if (!rlx_as_dtype_imm(rlx_infer_expr(in, 1)) || !dtype_literal(in, 1, &dtype))
        return rlx_infer_fail(in, "dtype is no R.dtype literal");
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, shape, dtype, -1, NULL));
}

/* memory.alloc_tensor, vm.alloc_tensor: (storage, offset, shape, dtype) */
const rlx_sinfo *rlx_infer_alloc_tensor(rlx_infer *in)
{
    const rlx_shape_sinfo *s = rlx_infer_shape_arg(in, 2);
    rlx_dtype dtype = RELAX_VOID;
    if (!s)
        return NULL;
    dtype_literal(in, 3, &dtype);
    const rlx_expr *shape = rlx_infer_expr(in, 2);
    if (!rlx_as_shape_expr(shape) && s->has_values)
        shape = rlx_shape_new(in->ctx, s->values, s->num_values);
    else if (!rlx_as_shape_expr(shape) && !rlx_as_var(shape))
        shape = NULL;
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, shape, dtype, s->ndim, NULL));
}

/* ---- memory.view ---------------------------------------------------------------------------- */

typedef struct view {
    const rlx_tensor_sinfo *x;
    bool keep_shape, keep_dtype;
    rlx_dtype dtype;               /* void: not known */
    const rlx_prim *const *dims;   /* of the view; NULL: not known */
    size_t n;
    int ndim;
    const rlx_prim *offset;        /* NULL: not known */
} view;

static bool is_unit(const rlx_sinfo *s)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    return t && t->num_fields == 0;
}

static bool view_shape(rlx_infer *in, view *v)
{
    const rlx_sinfo *s = rlx_infer_arg(in, 1);
    if (!s)
        return false;
    v->keep_shape = is_unit(s);
    v->ndim = v->x->ndim;
    v->dims = v->keep_shape ? rlx_shape_dims(v->x->shape, &v->n) : NULL;
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    if (!v->keep_shape && !shape)
        return rlx_infer_fail(in, "shape is %s, expected a shape or R.tuple()",
                              rlx_show(in->ctx, s)),
               false;
    if (!shape)
        return true;
    v->ndim = shape->ndim;
    if (shape->has_values) {
        static const rlx_prim *const none[1];
        v->dims = shape->num_values ? shape->values : none;
        v->n = shape->num_values;
    }
    return true;
}

static bool view_dtype(rlx_infer *in, view *v)
{
    const rlx_sinfo *s = rlx_infer_arg(in, 2);
    if (!s)
        return false;
    v->keep_dtype = is_unit(s);
    v->dtype = v->keep_dtype ? v->x->dtype : RELAX_VOID;
    if (v->keep_dtype || dtype_literal(in, 2, &v->dtype) || rlx_is(s, RLX_NODE_OBJECT_SINFO))
        return true;
    return rlx_infer_fail(in, "dtype is %s, expected R.dtype or R.tuple()", rlx_show(in->ctx, s)),
           false;
}

static bool view_offset(rlx_infer *in, view *v)
{
    const rlx_sinfo *s = rlx_infer_arg(in, 3);
    if (!s)
        return false;
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(s);
    v->offset = is_unit(s) ? rlx_int64(in->ctx, 0) : p ? p->value : NULL;
    if (is_unit(s) || (p && p->dtype == RELAX_INT64))
        return true;
    return rlx_infer_fail(in, "relative_byte_offset is %s, expected an int64 scalar or R.tuple()",
                          rlx_show(in->ctx, s)),
           false;
}

/* Bytes of an element; 0: not known. */
static int64_t element_size(rlx_dtype dtype)
{
    return rlx_dtype_is_void(dtype)
               ? 0
               : ((int64_t)rlx_dtype_bits(dtype) * rlx_dtype_lanes(dtype) + 7) / 8;
}

static bool certainly(rlx_infer *in, enum rlx_node_kind kind, const rlx_prim *a, const rlx_prim *b)
{
    return a && b && rlx_prove_compare(in->ctx, in->scope, kind, a, b) == RLX_TRUE;
}

/* How much of the offset counts beside sizes in units of an unknown number of bytes, of which
 * only is known that there is one: one unit if it is positive. Unknown offsets are 0 or more. */
static const rlx_prim *offset_units(rlx_infer *in, const view *v, bool bytes)
{
    const rlx_prim *zero = rlx_int64(in->ctx, 0);
    if (!v->offset || !zero || bytes)
        return v->offset ? v->offset : zero;
    return rlx_int64(in->ctx, certainly(in, RLX_NODE_GT, v->offset, zero));
}

/* Refuses only what certainly leaves the memory of x. What is not known but stays (the shape, or
 * the dtype) is a factor of both sides: it is left out of them. */
static bool view_fits(rlx_infer *in, const view *v)
{
    size_t n = 0;
    const rlx_prim *const *have = rlx_shape_dims(v->x->shape, &n), *const *want = v->dims;
    int64_t from_size = element_size(v->x->dtype), to_size = element_size(v->dtype);
    bool elements = have && want, bytes = from_size && to_size, same_dtype = v->keep_dtype;
    const rlx_prim *zero = rlx_int64(in->ctx, 0);
    if (certainly(in, RLX_NODE_LT, v->offset, zero))
        return rlx_infer_fail(in, "the view begins at byte %s, before x",
                              rlx_show(in->ctx, v->offset)),
               false;
    if ((!elements && !v->keep_shape) || (!bytes && !same_dtype))
        return true;
    const rlx_prim *from = rlx_dims_total(in->ctx, have, elements ? n : 0, bytes ? from_size : 1),
                   *to = rlx_dims_total(in->ctx, want, elements ? v->n : 0, bytes ? to_size : 1),
                   *offset = offset_units(in, v, bytes && elements),
                   *end = to && offset ? rlx_fold_add(in->ctx, to, offset) : NULL;
    if (!certainly(in, RLX_NODE_GT, end, from))
        return true;
    if (bytes && elements)
        rlx_infer_fail(in, "the view ends at byte %s, x has only %s", rlx_show(in->ctx, end),
                       rlx_show(in->ctx, from));
    else if (!rlx_is_int_value(offset, 0))
        rlx_infer_fail(in, "the view is not smaller than x and begins at byte %s",
                       rlx_show(in->ctx, v->offset));
    else
        rlx_infer_fail(in, "the view has %s %s, x has only %s", rlx_show(in->ctx, to),
                       elements ? "elements" : "bytes for each element", rlx_show(in->ctx, from));
    return false;
}

const rlx_sinfo *rlx_infer_view(rlx_infer *in)
{
    view v = { .x = rlx_infer_tensor(in, 0) };
    if (!v.x || !view_shape(in, &v) || !view_dtype(in, &v) || !view_offset(in, &v) ||
        !view_fits(in, &v))
        return NULL;
    const rlx_expr *shape = v.keep_shape ? v.x->shape
                            : v.dims     ? rlx_shape_new(in->ctx, v.dims, v.n)
                                         : NULL;
    if (v.dims && !v.keep_shape && !shape)
        return rlx_infer_done(in, NULL);
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, shape, v.dtype, v.ndim, v.x->vdevice));
}

/* An argument left out is the empty tuple: keep. */
bool rlx_prepare_view(rlx_op_draft *d)
{
    for (size_t i = 1; i < 4; i++)
        if (!d->args[i] && !(d->args[i] = rlx_tuple_new(d->ctx, NULL, 0, d->place)))
            return false;
    d->num_args = 4;
    return true;
}

/* builtin.alloc_tensor, vm.alloc_storage: the last argument is the scope, "global" if left out. */
bool rlx_prepare_scope(rlx_op_draft *d)
{
    if (!d->args[3] && !(d->args[3] = rlx_string_imm_new(d->ctx, RLX_SLICE("global"))))
        return false;
    d->num_args = 4;
    return true;
}

/* ---- devices -------------------------------------------------------------------------------- */

#define MAX_TUPLE_DEPTH 32

/* The tensor, or the tuple of tensors, on another device. Depth is bounded, so recursion is. */
static const rlx_sinfo *moved(rlx_infer *in, const rlx_sinfo *s, const rlx_node *device, int depth)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(s);
    if (t)
        return rlx_infer_done(in, rlx_tensor_info(in->ctx, t->shape, t->dtype, t->ndim, device));
    if (!tuple || depth == 0)
        return rlx_infer_fail(in, "data is %s, expected a tensor or a tuple of tensors",
                              rlx_show(in->ctx, s));
    const rlx_sinfo **fields = rlx_new(in->ctx, (tuple->num_fields + 1) * sizeof *fields);
    for (size_t i = 0; fields && i < tuple->num_fields; i++)
        if (!(fields[i] = moved(in, tuple->fields[i], device, depth - 1)))
            return NULL;
    return rlx_infer_done(in, fields ? rlx_tuple_info(in->ctx, fields, tuple->num_fields) : NULL);
}

const rlx_sinfo *rlx_infer_to_vdevice(rlx_infer *in)
{
    const rlx_sinfo *s = rlx_infer_arg(in, 0);
    const rlx_attr *device = rlx_infer_attr(in, 0);
    if (!s)
        return NULL;
    if (!rlx_as_vdevice(device))
        return rlx_infer_fail(in, "dst_vdevice is no device of the module");
    return moved(in, s, device, MAX_TUPLE_DEPTH);
}

/* ---- looking at a tensor -------------------------------------------------------------------- */

static const rlx_sinfo *known_int(rlx_infer *in, rlx_dtype dtype, bool known, int64_t v)
{
    const rlx_prim *p = known ? rlx_int(in->ctx, dtype, v) : NULL;
    return rlx_infer_done(in, known && !p ? NULL : rlx_prim_info(in->ctx, dtype, p));
}

const rlx_sinfo *rlx_infer_inspect_dtype(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    if (!x)
        return NULL;
    bool known = !rlx_dtype_is_void(x->dtype);
    switch ((enum rlx_inspected)in->row->member.number) {
    case RLX_INSPECT_CODE: return known_int(in, RELAX_UINT8, known, rlx_dtype_code(x->dtype));
    case RLX_INSPECT_BITS: return known_int(in, RELAX_UINT8, known, rlx_dtype_bits(x->dtype));
    case RLX_INSPECT_LANES: return known_int(in, RELAX_UINT16, known, rlx_dtype_lanes(x->dtype));
    case RLX_INSPECT_NDIM: return known_int(in, RELAX_INT32, x->ndim >= 0, x->ndim);
    default: return known_int(in, RELAX_UINT64, x->shape != NULL, 0); /* offsets */
    }
}

/* tensor_shape_i, tensor_stride_i: (tensor, axis) */
const rlx_sinfo *rlx_infer_inspect_axis(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_sinfo *s = x ? rlx_infer_arg(in, 1) : NULL;
    int64_t axis = 0;
    if (!s)
        return NULL;
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(s);
    if (!p)
        return rlx_infer_fail(in, "axis is %s, expected a scalar value", rlx_show(in->ctx, s));
    bool literal = rlx_int_literal(p->value, &axis);
    if (literal && (axis < 0 || (x->ndim >= 0 && axis >= x->ndim)))
        return rlx_infer_fail(in, "axis %lld is out of range for a tensor of rank %d",
                              (long long)axis, x->ndim);
    size_t n;
    const rlx_prim *const *dims = rlx_shape_dims(x->shape, &n);
    if (!literal || !dims)
        return rlx_infer_done(in, rlx_prim_info(in->ctx, RELAX_INT64, NULL));
    const rlx_prim *v = in->row->member.number == RLX_INSPECT_STRIDE
                            ? rlx_dims_product(in->ctx, dims + axis + 1, n - (size_t)axis - 1)
                            : dims[axis];
    return rlx_infer_done(in, v ? rlx_prim_info(in->ctx, rlx_prim_dtype(v), v) : NULL);
}

/* A value that is known becomes the scalar itself. */
const rlx_expr *rlx_normalize_inspect(rlx_infer *in)
{
    bool quiet = in->quiet, failed = in->failed;
    in->quiet = true;
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(in->row->infer(in));
    in->quiet = quiet;
    in->failed = failed;
    return p && p->value ? rlx_prim_value_new(in->ctx, p->value) : &in->call->node;
}
