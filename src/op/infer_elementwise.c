/* infer_elementwise.c: one result element per element: unary, binary, comparisons, where. */
#include "op/op_int.h"

/* ---- one tensor ----------------------------------------------------------------------------- */

const rlx_sinfo *rlx_infer_same(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    return x ? &x->node : NULL;
}

const rlx_sinfo *rlx_infer_same_float(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    return x && rlx_infer_float(in, x->dtype) ? &x->node : NULL;
}

const rlx_sinfo *rlx_infer_same_bool(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    return x ? rlx_infer_with_dtype(in, x, RELAX_BOOL) : NULL;
}

/* Whatever the first argument is, tensor or not. */
const rlx_sinfo *rlx_infer_first(rlx_infer *in)
{
    return rlx_infer_arg(in, 0);
}

const rlx_sinfo *rlx_infer_clip(rlx_infer *in)
{
    const rlx_sinfo *x = rlx_infer_arg(in, 0);
    return x && rlx_infer_arg(in, 1) && rlx_infer_arg(in, 2) ? x : NULL;
}

const rlx_sinfo *rlx_infer_astype(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    return x ? rlx_infer_with_dtype(in, x, rlx_attr_as_dtype(rlx_infer_attr(in, 0))) : NULL;
}

/* ---- two operands --------------------------------------------------------------------------- */

/* A tensor as it is; a scalar value acts as a tensor of shape (1,). */
typedef struct operand {
    const rlx_tensor_sinfo *tensor; /* NULL: scalar */
    rlx_dtype dtype;
    int ndim;
    const rlx_prim *one;
    const rlx_prim *const *dims;    /* NULL: unknown */
    const rlx_node *vdevice;
} operand;

static bool read_operand(rlx_infer *in, size_t i, operand *o)
{
    const rlx_sinfo *s = rlx_infer_arg(in, i);
    if (!s)
        return false;
    o->tensor = rlx_as_tensor_sinfo(s);
    if (RLX_LIKELY(o->tensor != NULL)) {
        size_t n;
        o->dtype = o->tensor->dtype;
        o->ndim = o->tensor->ndim;
        o->vdevice = o->tensor->vdevice;
        o->dims = rlx_shape_dims(o->tensor->shape, &n);
        return true;
    }
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(s);
    if (!p) {
        rlx_infer_fail(in, "%s is %s, expected a tensor or a scalar%s", in->row->args[i].name,
                       rlx_show(in->ctx, s), rlx_infer_cure(s));
        return false;
    }
    o->dtype = p->dtype;
    o->ndim = 1;
    o->vdevice = NULL;
    o->one = rlx_int64(in->ctx, 1);
    o->dims = &o->one;
    in->failed |= !o->one;
    return o->one != NULL;
}

/* Right-aligned. 1: out is set; 0: some pair is not provable; -1 after a report. */
static int broadcast(rlx_infer *in, const rlx_prim *const *a, size_t na, const rlx_prim *const *b,
                     size_t nb, rlx_dims *out)
{
    if (!rlx_dims_init(in, out, na > nb ? na : nb))
        return -1;
    size_t pad_a = out->count - na, pad_b = out->count - nb;
    int all = 1;
    for (size_t i = out->count; i-- > 0;) {
        if (i < pad_a) {
            out->at[i] = b[i];
            continue;
        }
        if (i < pad_b) {
            out->at[i] = a[i];
            continue;
        }
        int one = rlx_broadcast_dim(in, a[i - pad_a], b[i - pad_b], &out->at[i]);
        if (one < 0) {
            rlx_infer_fail(in, "sizes %s and %s do not broadcast (dimension %zu of the result)",
                           rlx_show(in->ctx, a[i - pad_a]), rlx_show(in->ctx, b[i - pad_b]), i);
            return -1;
        }
        all &= one;
    }
    return all;
}

static bool same_dims(const rlx_dims *d, const operand *o)
{
    if (!o->tensor || !rlx_as_shape_expr(o->tensor->shape) || (size_t)o->ndim != d->count)
        return false;
    for (size_t i = 0; i < d->count; i++)
        if (d->at[i] != o->dims[i])
            return false;
    return true;
}

static bool is_like(const operand *o, rlx_dtype dtype, const rlx_node *vdevice)
{
    return o->dtype == dtype && o->vdevice == vdevice;
}

/* Nothing was inferred of the shape: keep the expression if both have the same one. */
static const rlx_sinfo *without_dims(rlx_infer *in, const operand *a, const operand *b, int ndim,
                                     rlx_dtype dtype, const rlx_node *vdevice)
{
    const rlx_expr *shape =
        a->tensor && b->tensor && a->tensor->shape == b->tensor->shape ? a->tensor->shape : NULL;
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, shape, dtype, ndim, vdevice));
}

static const rlx_sinfo *elementwise(rlx_infer *in, const operand *a, const operand *b,
                                    rlx_dtype dtype)
{
    const rlx_node *vdevice;
    rlx_dims out;
    if (!rlx_infer_common_device(in, a->vdevice, b->vdevice, &vdevice))
        return NULL;
    int ndim = a->ndim < 0 || b->ndim < 0 ? -1 : a->ndim > b->ndim ? a->ndim : b->ndim;
    if (!a->dims || !b->dims)
        return without_dims(in, a, b, ndim, dtype, vdevice);
    int known = broadcast(in, a->dims, (size_t)a->ndim, b->dims, (size_t)b->ndim, &out);
    if (known < 0)
        return NULL;
    if (!known)
        return without_dims(in, a, b, ndim, dtype, vdevice);
    /* Interned struct info of an operand saves two look-ups. */
    if (is_like(a, dtype, vdevice) && same_dims(&out, a))
        return &a->tensor->node;
    if (is_like(b, dtype, vdevice) && same_dims(&out, b))
        return &b->tensor->node;
    return rlx_infer_dims_result(in, &out, dtype, vdevice);
}

const rlx_sinfo *rlx_infer_binary(rlx_infer *in)
{
    operand a, b;
    rlx_dtype dtype;
    const rlx_sinfo *s = rlx_infer_arg(in, 0);
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    /* x + x, and all sums of equal shapes: the answer is the operand, unless its shape is a
     * variable. */
    if (RLX_LIKELY(t && in->call->num_args == 2) &&
        in->sinfo_of(in->user, in->call->args[1]) == s && !rlx_as_var(t->shape))
        return s;
    if (!s || !read_operand(in, 0, &a) || !read_operand(in, 1, &b))
        return NULL;
    if (!rlx_infer_common_dtype(in, a.dtype, b.dtype, &dtype))
        return NULL;
    if (!a.tensor && !b.tensor)
        return rlx_infer_done(in, rlx_prim_info(in->ctx, dtype, NULL));
    return elementwise(in, &a, &b, dtype);
}

const rlx_sinfo *rlx_infer_compare(rlx_infer *in)
{
    operand a, b;
    if (!read_operand(in, 0, &a) || !read_operand(in, 1, &b))
        return NULL;
    if (!a.tensor && !b.tensor)
        return rlx_infer_done(in, rlx_prim_info(in->ctx, RELAX_BOOL, NULL));
    return elementwise(in, &a, &b, RELAX_BOOL);
}

/* ---- three operands ------------------------------------------------------------------------- */

typedef struct three {
    const rlx_tensor_sinfo *t[3];
    const rlx_prim *const *dims[3];
    size_t n[3];
    bool all_literal, same_shape;
    const rlx_node *vdevice;
} three;

static bool read_three(rlx_infer *in, three *o)
{
    o->all_literal = true;
    o->vdevice = NULL;
    for (size_t i = 0; i < 3; i++) {
        o->t[i] = rlx_infer_tensor(in, i);
        if (!o->t[i])
            return false;
        o->dims[i] = rlx_literal_dims(o->t[i], &o->n[i]);
        o->all_literal &= o->dims[i] != NULL;
        o->vdevice = rlx_device_join(o->vdevice, o->t[i]->vdevice);
    }
    o->same_shape =
        o->t[0]->shape && o->t[0]->shape == o->t[1]->shape && o->t[1]->shape == o->t[2]->shape;
    return true;
}

static int greatest_rank(const three *o)
{
    int ndim = 0;
    for (size_t i = 0; i < 3; i++)
        ndim = o->t[i]->ndim < 0 || ndim < 0 ? -1 : o->t[i]->ndim > ndim ? o->t[i]->ndim : ndim;
    return ndim;
}

const rlx_sinfo *rlx_infer_where(rlx_infer *in)
{
    three o;
    rlx_dtype dtype;
    if (!read_three(in, &o))
        return NULL;
    if (rlx_dtype_is_void(o.t[0]->dtype))
        return rlx_infer_fail(in, "the dtype of condition is not known, expected bool (R.match_cast states it)");
    if (!rlx_dtype_is_bool(o.t[0]->dtype)) {
        char x[RLX_DTYPE_TEXT];
        return rlx_infer_fail(in, "condition has dtype %s, expected bool",
                              rlx_dtype_text(o.t[0]->dtype, x));
    }
    if (!rlx_infer_common_dtype(in, o.t[1]->dtype, o.t[2]->dtype, &dtype))
        return NULL;
    if (o.all_literal) {
        rlx_dims both, all;
        int known = broadcast(in, o.dims[1], o.n[1], o.dims[2], o.n[2], &both);
        if (known > 0)
            known = broadcast(in, o.dims[0], o.n[0], both.at, both.count, &all);
        if (known < 0)
            return NULL;
        return known ? rlx_infer_dims_result(in, &all, dtype, o.vdevice)
                     : rlx_infer_rank_result(in, greatest_rank(&o), dtype, o.vdevice);
    }
    const rlx_expr *shape = o.same_shape ? o.t[0]->shape : NULL;
    return rlx_infer_done(in,
                          rlx_tensor_info(in->ctx, shape, dtype, greatest_rank(&o), o.vdevice));
}

/* No broadcasting: every size must be proved equal. */
const rlx_sinfo *rlx_infer_fma(rlx_infer *in)
{
    three o;
    rlx_dtype dtype;
    int ndim = -1;
    if (!read_three(in, &o) || !rlx_infer_common_dtype(in, o.t[0]->dtype, o.t[1]->dtype, &dtype))
        return NULL;
    if (!rlx_infer_common_dtype(in, dtype, o.t[2]->dtype, &dtype))
        return NULL;
    for (size_t i = 0; i < 3; i++) {
        if (o.t[i]->ndim >= 0 && ndim >= 0 && o.t[i]->ndim != ndim)
            return rlx_infer_fail(in, "ranks differ: %d and %d (operands do not broadcast)", ndim,
                                  o.t[i]->ndim);
        ndim = o.t[i]->ndim >= 0 ? o.t[i]->ndim : ndim;
    }
    for (size_t k = 0; o.all_literal && k < 3 * o.n[0]; k++) {
        const rlx_prim *a = o.dims[0][k / 3], *b = o.dims[k % 3][k / 3];
        if (rlx_infer_equal(in, a, b) != RLX_EQUAL)
            return rlx_infer_fail(in, "sizes %s and %s of dimension %zu are not proved equal",
                                  rlx_show(in->ctx, a), rlx_show(in->ctx, b), k / 3);
    }
    const rlx_expr *shape = o.all_literal || o.same_shape ? o.t[0]->shape : NULL;
    return rlx_infer_done(in, rlx_tensor_info(in->ctx, shape, dtype, ndim, o.vdevice));
}
