/* convert_reduce.c: reductions, running sums, positions of extremes, order. */
#include "onnx/onnx_int.h"

#include <math.h>

/* ---- reductions -------------------------------------------------------------------------------- */

typedef struct reduction {
    const rlx_expr *x;
    const int64_t *axes; size_t count;
    bool keep;
    bool nothing;               /* no axes, which here means no axis */
    const rlx_expr **conds;     /* axes found when the program runs: for each, is it one of them? */
    size_t num_conds;
    rlx_dtype dtype;
} reduction;

/* Over all of a tensor whose rank is not known: the order is that of a flat one. */
static const rlx_expr *whole_operand(rlx_onnx_conv *c)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    const rlx_tensor_sinfo *t = x ? rlx_onnx_info(c, x) : NULL;
    bool all = !rlx_onnx_attr(c, "axes") && !rlx_onnx_has(c, 1) &&
               !rlx_onnx_int(c, "noop_with_empty_axes", 0) && !rlx_onnx_int(c, "keepdims", 1);
    return t && t->ndim < 0 && all ? rlx_onnx_call1(c, "flatten", x) : x;
}

/* Axes as they are given, where the rank is not known. */
static bool named_axes(rlx_onnx_conv *c, reduction *r)
{
    rlx_onnx_ints known;
    r->axes = rlx_onnx_int_list(c, "axes", &r->count);
    if (!r->axes && rlx_onnx_known(c, 1, &known) && known.len)
        r->axes = rlx_onnx_literals(c, 1, "axes", &r->count);
    r->keep = rlx_onnx_int(c, "keepdims", 1) != 0;
    r->dtype = rlx_onnx_dtype_of(c, r->x);
    return r->axes && r->count;
}

/* Axes that are a tensor of some length. */
static bool found_axes(rlx_onnx_conv *c, reduction *r, int n)
{
    rlx_onnx_ints known;
    int64_t length;
    if (rlx_onnx_attr(c, "axes") || !rlx_onnx_has(c, 1) || rlx_onnx_known(c, 1, &known) || c->m->bind_first)
        return false;
    const rlx_expr *axes = rlx_onnx_input(c, 1);
    const rlx_tensor_sinfo *t = axes ? rlx_onnx_info(c, axes) : NULL;
    if (!t || t->ndim != 1 || !rlx_onnx_static_dim(c, axes, 0, &length) || length < 1 || length > n)
        return false;
    c->m->needed |= c->inputs[1]->depends;
    r->conds = rlx_onnx_array(c, (size_t)n, sizeof *r->conds);
    for (int i = 0; r->conds && i < n; i++)
        if (!(r->conds[i] = rlx_onnx_is_axis(c, axes, i, n)))
            return false;
    r->num_conds = (size_t)n;
    r->count = (size_t)length;
    return r->conds != NULL;
}

static bool read_reduction(rlx_onnx_conv *c, reduction *r)
{
    bool ok;
    *r = (reduction){ .x = whole_operand(c) };
    if (r->x && !rlx_onnx_has_rank(c, r->x) && named_axes(c, r))
        return !c->failed;
    int n = r->x ? rlx_onnx_rank(c, r->x) : -1;
    if (n < 0)
        return false;
    r->keep = rlx_onnx_int(c, "keepdims", 1) != 0;
    r->dtype = rlx_onnx_dtype_of(c, r->x);
    if (found_axes(c, r, n))
        return true;
    r->axes = rlx_onnx_axes(c, 1, n, &r->count, &ok);
    r->nothing = !r->count && rlx_onnx_int(c, "noop_with_empty_axes", 0);
    if (!r->count && !r->nothing) {
        int64_t *all = rlx_onnx_array(c, (size_t)n, sizeof *all);
        for (int i = 0; all && i < n; i++)
            all[i] = i;
        r->axes = all;
        r->count = (size_t)n;
    }
    return ok && !c->failed;
}

/* What the greatest of nothing is: the least number of the dtype, and the other way round. */
static double identity_of(rlx_dtype t, bool greatest)
{
    int bits = rlx_dtype_bits(t);
    if (rlx_dtype_is_float(t))
        return greatest ? -INFINITY : INFINITY;
    if (rlx_dtype_code(t) == RELAX_DTYPE_UINT)
        return greatest ? 0 : ldexp(1, bits) - 1;
    return greatest ? -ldexp(1, bits - 1) : ldexp(1, bits - 1) - 1;
}

/* sizes: a tensor that has those of x where they are known better; NULL: x */
typedef struct along { const char *op; const rlx_expr *x; int64_t axis; const rlx_expr *sizes; } along;

static const rlx_expr *reduce_along(rlx_onnx_conv *c, const void *user)
{
    const along *a = user;
    bool greatest = !strcmp(a->op, "max");
    int64_t size;
    if ((!greatest && strcmp(a->op, "min")) || 
        !rlx_onnx_static_dim(c, a->sizes ? a->sizes : a->x, (size_t)a->axis, &size) || size)
        return rlx_onnx_reduce(c, a->op, a->x, &a->axis, 1, true);
    size_t n;
    const rlx_expr *x = a->x;
    const rlx_prim *const *dims = rlx_onnx_dims(c, &x, &n);
    const rlx_prim **out = dims ? rlx_onnx_array(c, n, sizeof *out) : NULL;
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    for (size_t i = 0; out && i < n; i++)
        out[i] = (int64_t)i == a->axis ? rlx_int64(c->ctx, 1) : dims[i];
    return out ? rlx_onnx_full(c, out, n, t, identity_of(t, greatest)) : NULL;
}

/* y without the sizes of 1 at axes that are found when the program runs: those that stay come first in the
 * order of what is reduced. */
static const rlx_expr *without_found(rlx_onnx_conv *c, const reduction *r, const rlx_expr *y)
{
    size_t n, stay = r->num_conds - r->count;
    static const int64_t one = 1;
    const rlx_expr *x = r->x;
    const rlx_prim *const *dims = rlx_onnx_dims(c, &x, &n);
    const rlx_expr **flags = rlx_onnx_array(c, r->num_conds, sizeof *flags);
    const rlx_prim **sizes = rlx_onnx_array(c, stay, sizeof *sizes);
    if (!dims || !flags || !sizes)
        return NULL;
    if (!stay)
        return rlx_onnx_reshape(c, y, sizes, 0);
    for (size_t i = 0; i < r->num_conds; i++)
        flags[i] = rlx_onnx_reshape_ints(c, rlx_onnx_cast(c, r->conds[i], RELAX_INT64), &one, 1);
    const rlx_expr *order = rlx_onnx_call(c, "argsort", "x axis=i dtype=d",
                                          rlx_onnx_concat(c, flags, r->num_conds, 0), (int64_t)0, RELAX_INT64);
    order = rlx_onnx_slice(c, order, 0, rlx_int64(c->ctx, 0), rlx_int64(c->ctx, (int64_t)stay));
    const rlx_expr *all = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, dims, n));
    const rlx_expr *some = rlx_onnx_call(c, "take", "x x axis=i", all, order, (int64_t)0);
    for (size_t i = 0; i < stay; i++)
        if (!(sizes[i] = rlx_onnx_fresh(c, "d")))
            return NULL;
    return rlx_onnx_match(c, rlx_onnx_call1(c, "tensor_to_shape", some), rlx_shape_info(c->ctx, sizes, stay))
               ? rlx_onnx_reshape(c, y, sizes, stay)
               : NULL;
}

/* One axis after the other, those that are found to be meant. */
static const rlx_expr *reduce_found(rlx_onnx_conv *c, const reduction *r, const char *op, const rlx_expr *x)
{
    for (size_t i = 0; x && i < r->num_conds; i++) {
        along a = { op, x, (int64_t)i, r->x };
        x = rlx_onnx_choose(c, r->conds[i], reduce_along, &a, x);
    }
    return x;
}

/* Over no axes nothing is reduced; a scalar stays itself. */
static const rlx_expr *reduce_keep(rlx_onnx_conv *c, const reduction *r, const char *op, const rlx_expr *x,
                                   bool keep)
{
    if (!r->conds)
        return r->count ? rlx_onnx_reduce(c, op, x, r->axes, r->count, keep) : x;
    x = reduce_found(c, r, op, x);
    return x && !keep ? without_found(c, r, x) : x;
}

static const rlx_expr *reduce(rlx_onnx_conv *c, const reduction *r, const char *op,
                              const rlx_expr *x)
{
    return reduce_keep(c, r, op, x, r->keep);
}

RLX_ONNX_CONVERTER(convert_reduce)
{
    reduction r;
    return read_reduction(c, &r) && rlx_onnx_output(c, 0, reduce(c, &r, c->row->argument, r.x));
}

/* Is there nothing along an axis that is reduced? */
static bool reduces_nothing(rlx_onnx_conv *c, const reduction *r)
{
    int64_t n;
    for (size_t i = 0; i < r->count && r->axes; i++)
        if (rlx_onnx_static_dim(c, r->x, (size_t)r->axes[i], &n) && n == 0)
            return true;
    return false;
}

static const rlx_expr *filled(rlx_onnx_conv *c, const reduction *r, double value)
{
    size_t n, len = 0;
    const rlx_expr *x = r->x;
    const rlx_prim *const *dims = rlx_onnx_dims(c, &x, &n);
    const rlx_prim **out = dims ? rlx_onnx_array(c, n, sizeof *out) : NULL;
    for (size_t i = 0; out && i < n; i++) {
        bool reduced = false;
        for (size_t k = 0; k < r->count; k++)
            reduced |= r->axes[k] == (int64_t)i;
        if (!reduced || r->keep)
            out[len++] = reduced ? rlx_int64(c->ctx, 1) : dims[i];
    }
    return out ? rlx_onnx_full(c, out, len, r->dtype, value) : NULL;
}

/* How many elements there are along the axes that are reduced, where that is not known; NULL: more than none */
static const rlx_expr *open_count(rlx_onnx_conv *c, const reduction *r)
{
    const rlx_prim *all = rlx_int64(c->ctx, 1);
    for (size_t i = 0; all && i < r->count && r->axes && !r->conds && rlx_onnx_has_rank(c, r->x); i++) {
        const rlx_prim *d = rlx_onnx_dim(c, r->x, (size_t)r->axes[i]);
        all = d ? rlx_fold_mul(c->ctx, all, d) : NULL;
    }
    if (!all || rlx_prove_compare(c->ctx, rlx_builder_scope(c->m->b), RLX_NODE_GT, all, rlx_int64(c->ctx, 0)) == RLX_TRUE)
        return NULL;
    all = rlx_onnx_simplify(c, all);
    return rlx_onnx_reshape_ints(c, rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &all, 1)), NULL, 0);
}

typedef struct guarded {
    const reduction *r;
    const char *op;
    const rlx_expr *(*make)(rlx_onnx_conv *c, const reduction *r, const char *op);
} guarded;

static const rlx_expr *make_guarded(rlx_onnx_conv *c, const void *user)
{
    const guarded *g = user;
    return g->make(c, g->r, g->op);
}

/* What `make` gives, or `value` everywhere where there is nothing to reduce. */
static bool output_guarded(rlx_onnx_conv *c, const guarded *g, double value)
{
    if (reduces_nothing(c, g->r))
        return rlx_onnx_output(c, 0, filled(c, g->r, value));
    const rlx_expr *count = open_count(c, g->r);
    if (!count || c->failed)
        return rlx_onnx_output(c, 0, g->make(c, g->r, g->op));
    const rlx_expr *some = rlx_onnx_call2(c, "greater", count, rlx_onnx_scalar(c, RELAX_INT64, 0));
    return rlx_onnx_output(c, 0, rlx_onnx_choose(c, some, make_guarded, g, filled(c, g->r, value)));
}

static const rlx_expr *extreme(rlx_onnx_conv *c, const reduction *r, const char *op)
{
    if (r->dtype != RELAX_BOOL)
        return reduce(c, r, op, r->x);
    return rlx_onnx_cast(c, reduce(c, r, op, rlx_onnx_cast(c, r->x, RELAX_UINT8)), RELAX_BOOL);
}

RLX_ONNX_CONVERTER(convert_extreme)
{
    reduction r;
    bool greatest = !strcmp(c->row->argument, "max");
    if (!read_reduction(c, &r))
        return false;
    guarded g = { &r, c->row->argument, extreme };
    return output_guarded(c, &g, r.dtype == RELAX_BOOL ? !greatest : identity_of(r.dtype, greatest));
}

double rlx_onnx_least(rlx_dtype t) { return identity_of(t, true); }

/* A function of the elements, summed up, and a function of the sum: "abs" "" for L1. */
static bool reduce_sum_of(rlx_onnx_conv *c, const char *before, const char *after)
{
    reduction r;
    if (!read_reduction(c, &r))
        return false;
    const rlx_expr *y = before ? rlx_onnx_call1(c, before, r.x) : r.x;
    y = reduce(c, &r, "sum", y);
    if (after && !rlx_dtype_is_float(r.dtype))
        y = rlx_onnx_cast(c, rlx_onnx_call1(c, after, rlx_onnx_cast(c, y, RELAX_FLOAT64)), r.dtype);
    else if (after)
        y = rlx_onnx_call1(c, after, y);
    return rlx_onnx_output(c, 0, y);
}

RLX_ONNX_CONVERTER(convert_reduce_l1) { return reduce_sum_of(c, "abs", NULL); }
RLX_ONNX_CONVERTER(convert_reduce_l2) { return reduce_sum_of(c, "square", "sqrt"); }
RLX_ONNX_CONVERTER(convert_reduce_log_sum) { return reduce_sum_of(c, NULL, "log"); }
RLX_ONNX_CONVERTER(convert_reduce_sum_square) { return reduce_sum_of(c, "square", NULL); }

/* The greatest element is taken out first, unless it is infinite. */
static const rlx_expr *log_sum_exp(rlx_onnx_conv *c, const reduction *given, const char *op)
{
    reduction r = *given;
    (void)op;
    if (!rlx_dtype_is_float(r.dtype)) {
        r.x = rlx_onnx_cast(c, r.x, RELAX_FLOAT64);
        r.dtype = RELAX_FLOAT64;
    }
    const rlx_expr *zero = rlx_onnx_scalar(c, r.dtype, 0);
    const rlx_expr *m = reduce_keep(c, &r, "max", r.x, true);
    m = rlx_onnx_where(c, rlx_onnx_call1(c, "isfinite", m), m, zero);
    const rlx_expr *y = rlx_onnx_call1(c, "exp", rlx_onnx_call2(c, "subtract", r.x, m));
    y = rlx_onnx_call1(c, "log", reduce_keep(c, &r, "sum", y, true));
    y = rlx_onnx_cast(c, rlx_onnx_call2(c, "add", y, m), given->dtype);
    if (r.keep)
        return y;
    return r.conds ? without_found(c, &r, y) : rlx_onnx_call(c, "squeeze", "x axis=I", y, r.axes, r.count);
}

RLX_ONNX_CONVERTER(convert_reduce_log_sum_exp)
{
    reduction r;
    if (!read_reduction(c, &r))
        return false;
    if (!r.count)
        return rlx_onnx_output(c, 0, r.x);
    guarded g = { &r, NULL, log_sum_exp };
    return output_guarded(c, &g, rlx_dtype_is_float(r.dtype) ? -INFINITY : identity_of(r.dtype, true));
}

/* Mean over everything but batch and channels. */
RLX_ONNX_CONVERTER(convert_global_pool)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axes[64];
    if (n < 3 || n > 64)
        return n < 0 ? false
                     : rlx_onnx_fail(c, RLX_ON05, "the operand has rank %d, expected at least 3",
                                     n) != NULL;
    for (int i = 2; i < n; i++)
        axes[i - 2] = i;
    if (strcmp(c->row->argument, "lp"))
        return rlx_onnx_output(c, 0, rlx_onnx_reduce(c, c->row->argument, x, axes, (size_t)n - 2,
                                                     true));
    double p = c->version < 2 ? rlx_onnx_float(c, "p", 2) : (double)rlx_onnx_int(c, "p", 2);
    const rlx_expr *y = rlx_onnx_power(c, rlx_onnx_call1(c, "abs", x), p, true);
    y = rlx_onnx_reduce(c, "sum", y, axes, (size_t)n - 2, true);
    return rlx_onnx_output(c, 0, rlx_onnx_power(c, y, 1 / p, true));
}

/* ---- positions --------------------------------------------------------------------------------- */

RLX_ONNX_CONVERTER(convert_arg)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axis = rlx_onnx_int(c, "axis", 0);
    int keep = rlx_onnx_int(c, "keepdims", 1) != 0;
    if (n < 0 || !rlx_onnx_axis(c, &axis, n))
        return false;
    bool last = rlx_onnx_int(c, "select_last_index", 0) != 0;
    if (last)
        x = rlx_onnx_call(c, "flip", "x axis=i", x, axis);
    const rlx_expr *y =
        rlx_onnx_call(c, c->row->argument, "x axis=i keepdims=b", x, axis, keep);
    const rlx_prim *size = last && y ? rlx_onnx_dim(c, x, (size_t)axis) : NULL;
    if (size) {
        const rlx_prim *top = rlx_fold_sub(c->ctx, size, rlx_int64(c->ctx, 1));
        const rlx_expr *s = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &top, 1));
        s = rlx_onnx_reshape_ints(c, s, NULL, 0);
        y = rlx_onnx_call2(c, "subtract", s, y);
    }
    return rlx_onnx_output(c, 0, y);
}

RLX_ONNX_CONVERTER(convert_topk)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axis = rlx_onnx_int(c, "axis", -1), k = rlx_onnx_int(c, "k", 0);
    int largest = rlx_onnx_int(c, "largest", 1) != 0;
    if (n < 0 || !rlx_onnx_axis(c, &axis, n))
        return false;
    rlx_onnx_ints ks = { NULL, 0, false, RELAX_INT64 };
    if (c->version >= 10 && !rlx_onnx_sizes(c, 1, "k", &ks))
        return false;
    if (ks.len == 1 && (!rlx_int_literal(ks.data[0], &k) || !k)) { /* for topk 0 are all */
        const rlx_prim *zero = rlx_int64(c->ctx, 0);
        const rlx_expr *order = rlx_onnx_call(c, "argsort", "x axis=i descending=b dtype=d", x, axis,
                                              largest, RELAX_INT64);
        const rlx_expr *at = rlx_onnx_slice(c, order, axis, zero, ks.data[0]);
        const rlx_expr *v = rlx_onnx_call(c, "gather_elements", "x x axis=i", x, at, axis);
        return rlx_onnx_output(c, 0, v) && rlx_onnx_output(c, 1, at);
    }
    const rlx_expr *both = rlx_onnx_call(c, "topk", "x k=i axis=i ret_type=s largest=b dtype=d", x,
                                         k, axis, "both", largest, RELAX_INT64);
    bool ok = rlx_onnx_wants(c, 0) ? rlx_onnx_output(c, 0, rlx_onnx_item(c, both, 0)) : both != NULL;
    return ok && (!rlx_onnx_wants(c, 1) || rlx_onnx_output(c, 1, rlx_onnx_item(c, both, 1)));
}

/* ---- running sums ------------------------------------------------------------------------------ */

static const rlx_expr *cumulate_along(rlx_onnx_conv *c, const void *user)
{
    const along *a = user;
    const rlx_expr *x = a->x;
    bool reverse = rlx_onnx_int(c, "reverse", 0) != 0;
    if (reverse)
        x = rlx_onnx_call(c, "flip", "x axis=i", x, a->axis);
    x = rlx_onnx_call(c, a->op, "x axis=i exclusive=b", x, a->axis, rlx_onnx_int(c, "exclusive", 0) != 0);
    return reverse ? rlx_onnx_call(c, "flip", "x axis=i", x, a->axis) : x;
}

/* Of an axis that is found when the program runs, whichever it is. */
RLX_ONNX_CONVERTER(convert_cumulate)
{
    along a = { c->row->argument, rlx_onnx_input(c, 0), 0, NULL };
    rlx_onnx_ints known;
    int n = a.x ? rlx_onnx_rank(c, a.x) : -1;
    if (n < 0)
        return false;
    if (!rlx_onnx_has(c, 1) || rlx_onnx_known(c, 1, &known) || c->m->bind_first)
        return rlx_onnx_literal(c, 1, "axis", &a.axis) && rlx_onnx_axis(c, &a.axis, n) &&
               rlx_onnx_output(c, 0, cumulate_along(c, &a));
    const rlx_expr *axis = rlx_onnx_input(c, 1), *y = a.x;
    for (; y && a.axis < n; a.axis++)
        y = rlx_onnx_choose(c, rlx_onnx_is_axis(c, axis, a.axis, n), cumulate_along, &a, y);
    return rlx_onnx_output(c, 0, y);
}
