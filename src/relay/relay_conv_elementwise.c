/* relay_conv_elementwise.c: what acts on each element: mathematics, comparisons, data types. */
#include "relay/relay_convert.h"

#define CONVERTER(name) const rlx_expr *rlx_relay_convert_##name(rlx_relay_conv *c)

/* ---- one operand ------------------------------------------------------------------------------------- */

CONVERTER(unary) { return rlx_relay_make(c, c->row->argument, "x", rlx_relay_arg(c, 0)); }

/* Functions of real numbers. Relay types them on integers as well: the result is cut to an integer. */
CONVERTER(real)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    rlx_dtype t = rlx_relay_dtype_of(c, x);
    if (!x || rlx_dtype_is_float(t))
        return x ? rlx_relay_make(c, c->row->argument, "x", x) : NULL;
    const rlx_expr *y = rlx_relay_call1(c, c->row->argument, rlx_relay_astype(c, x, RELAX_FLOAT64));
    return rlx_relay_astype(c, y, t);
}

/* What changes nothing that a run shows: copies, hints where or how to compute. */
CONVERTER(identity) { return rlx_relay_arg(c, 0); }

/* log2, log10: the natural logarithm, scaled. */
CONVERTER(log_base)
{
    double factor = strcmp(c->row->argument, "2") == 0 ? 1.4426950408889634 : 0.4342944819032518;
    const rlx_expr *l = rlx_relay_call1(c, "log", rlx_relay_arg(c, 0));
    return l ? rlx_relay_make(c, "multiply", "x x", l, rlx_relay_const_scalar(c, rlx_relay_dtype_of(c, l), factor)) : NULL;
}

CONVERTER(clip)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    rlx_dtype t = rlx_relay_dtype_of(c, x), of = rlx_dtype_is_float(t) ? t : RELAX_FLOAT64;
    const rlx_expr *low = rlx_relay_number_prim(c, of, rlx_relay_attr_float(c, "a_min"));
    const rlx_expr *high = rlx_relay_number_prim(c, of, rlx_relay_attr_float(c, "a_max"));
    return rlx_relay_make(c, "clip", "x x x", x, low, high);
}

CONVERTER(leaky_relu)
{
    return rlx_relay_make(c, "nn.leakyrelu", "x alpha=f", rlx_relay_arg(c, 0), rlx_relay_attr_float(c, "alpha"));
}

CONVERTER(prelu)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axis = rlx_relay_attr_int(c, "axis");
    return rlx_relay_fit_axis(c, &axis, rlx_relay_rank(c, x))
               ? rlx_relay_make(c, "nn.prelu", "x x axis=i", x, rlx_relay_arg(c, 1), axis) : NULL;
}

/* ---- two operands and more ------------------------------------------------------------------------------ */

CONVERTER(binary)
{
    return rlx_relay_make(c, c->row->argument, "x x", rlx_relay_arg(c, 0), rlx_relay_arg(c, 1));
}

/* Toward zero: so divides Relax integers. */
CONVERTER(trunc_divide)
{
    const rlx_expr *x = rlx_relay_arg(c, 0), *y = rlx_relay_arg(c, 1);
    if (!rlx_dtype_is_float(rlx_relay_dtype_of(c, x)))
        return rlx_relay_make(c, "divide", "x x", x, y);
    return rlx_relay_make(c, "trunc", "x", rlx_relay_call2(c, "divide", x, y));
}

CONVERTER(where)
{
    const rlx_expr *cond = rlx_relay_astype(c, rlx_relay_arg(c, 0), RELAX_BOOL);
    return rlx_relay_make(c, "where", "x x x", cond, rlx_relay_arg(c, 1), rlx_relay_arg(c, 2));
}

/* ---- data types -------------------------------------------------------------------------------------------- */

CONVERTER(cast)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype"), had = rlx_relay_dtype_of(c, x);
    return t == RELAX_VOID || t == had ? x : rlx_relay_make(c, "astype", "x dtype=d", x, t);
}

CONVERTER(cast_like)
{
    rlx_dtype t = rlx_relay_dtype_of(c, rlx_relay_arg(c, 1));
    const rlx_expr *x = rlx_relay_arg(c, 0);
    return t == rlx_relay_dtype_of(c, x) ? x : rlx_relay_make(c, "astype", "x dtype=d", x, t);
}

/* The same bits, read as another type of the same width. */
CONVERTER(reinterpret)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype"), had = rlx_relay_dtype_of(c, x);
    if (t == RELAX_VOID || t == had)
        return x;
    if (rlx_dtype_bits(t) != rlx_dtype_bits(had))
        return rlx_relay_cannot(c, "the data types have %u and %u bits, expected the same width",
                                (unsigned)rlx_dtype_bits(had), (unsigned)rlx_dtype_bits(t));
    size_t n;
    const rlx_prim *const *sizes = rlx_relay_sizes(c, &x, &n);
    return sizes ? rlx_relay_make(c, "memory.view", "x x x", x, rlx_shape_new(c->ctx, sizes, n),
                                  rlx_dtype_imm_new(c->ctx, t)) : NULL;
}

/* ---- fixed point ------------------------------------------------------------------------------------------- */

/* x * multiplier * 2^(shift - 31), rounded half up, as TVM computes it in 64 bits: exact. */
CONVERTER(fixed_point_multiply)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    rlx_dtype t = rlx_relay_dtype_of(c, x);
    return rlx_relay_astype(c, rlx_relay_fixed_multiply(c, x, rlx_relay_attr_int(c, "multiplier"),
                                                      rlx_relay_attr_int(c, "shift")), t);
}

const rlx_expr *rlx_relay_fixed_multiply(rlx_relay_conv *c, const rlx_expr *x, int64_t multiplier, int64_t shift)
{
    int64_t left = shift > 0 ? shift : 0, right = 31;
    if (shift > 31 || shift < -31)
        return rlx_relay_cannot(c, "a shift of %lld does not fit 64 bits", (long long)shift);
    right -= shift - left;
    x = rlx_relay_astype(c, x, RELAX_INT64);
    if (left)
        x = rlx_relay_with(c, "left_shift", x, (double)left);
    x = rlx_relay_with(c, "multiply", x, (double)multiplier);
    x = rlx_relay_with(c, "add", x, (double)((int64_t)1 << (right - 1)));
    return rlx_relay_with(c, "right_shift", x, (double)right);
}
