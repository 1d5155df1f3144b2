/* lower_elementwise.c: unary and binary operators, comparisons, where, clip, astype. One block,
 * one store. */
/* built for size */
#include "op/lower_int.h"

/* ---- one operand ---------------------------------------------------------------------------- */

static const rlx_prim *number(rlx_lowering *b, rlx_dtype t, double v)
{
    return rlx_tir_number(&b->t, t, v);
}

static bool is_unsigned(rlx_dtype t)
{
    return rlx_dtype_code(t) == RELAX_DTYPE_UINT;
}

const rlx_prim *rlx_unary_abs(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    if (rlx_lowering_is_float(t))
        return rlx_tir_call1(&b->t, "fabs", x);
    if (is_unsigned(t))
        return x;
    const rlx_prim *zero = number(b, t, 0);
    return rlx_tir_select(&b->t, rlx_tir_ge(&b->t, x, zero), x, rlx_tir_sub(&b->t, zero, x));
}

const rlx_prim *rlx_unary_bitwise_not(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    if (rlx_dtype_is_bool(t))
        return rlx_tir_not(&b->t, x);
    return rlx_dtype_is_int(t) ? rlx_tir_call1(&b->t, "bitwise_not", x) : NULL;
}

const rlx_prim *rlx_unary_logical_not(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    if (rlx_dtype_is_bool(t))
        return rlx_tir_not(&b->t, x);
    return rlx_tir_cast(&b->t, t, rlx_tir_eq(&b->t, x, number(b, t, 0)));
}

/* Times -1, not 0 - x: the sign of zero turns too. */
const rlx_prim *rlx_unary_negative(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    if (rlx_dtype_is_bool(t))
        return NULL;
    return rlx_lowering_is_float(t) ? rlx_tir_mul(&b->t, x, number(b, t, -1))
                                    : rlx_tir_sub(&b->t, number(b, t, 0), x);
}

const rlx_prim *rlx_unary_sign(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    const rlx_prim *zero = number(b, t, 0), *one = number(b, t, 1);
    if (rlx_dtype_is_bool(t))
        return x;
    const rlx_prim *positive = rlx_tir_gt(&b->t, x, zero);
    if (is_unsigned(t))
        return rlx_tir_select(&b->t, positive, one, zero);
    /* neither greater nor less: a zero or NaN */
    const rlx_prim *rest = rlx_lowering_is_float(t) ? x : zero;
    return rlx_tir_select(
        &b->t, positive, one,
        rlx_tir_select(&b->t, rlx_tir_lt(&b->t, x, zero), number(b, t, -1), rest));
}

const rlx_prim *rlx_unary_square(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    return rlx_dtype_is_bool(t) ? x : rlx_tir_mul(&b->t, x, x);
}

const rlx_prim *rlx_unary_relu(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    return is_unsigned(t) ? x : rlx_tir_max(&b->t, x, number(b, t, 0));
}

const rlx_prim *rlx_unary_gelu(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    const rlx_prim *e =
        rlx_tir_call1(&b->t, "erf", rlx_tir_mul(&b->t, x, number(b, t, 0.70710678118654752440)));
    return rlx_tir_mul(&b->t, rlx_tir_mul(&b->t, x, number(b, t, 0.5)),
                       rlx_tir_add(&b->t, e, number(b, t, 1)));
}

const rlx_prim *rlx_unary_gelu_tanh(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    const rlx_prim *cube = rlx_tir_mul(&b->t, rlx_tir_mul(&b->t, x, x), x);
    const rlx_prim *inner =
        rlx_tir_add(&b->t, x, rlx_tir_mul(&b->t, cube, number(b, t, 0.044715)));
    const rlx_prim *e = rlx_tir_call1(
        &b->t, "tanh", rlx_tir_mul(&b->t, inner, number(b, t, 0.79788456080286535588)));
    return rlx_tir_mul(&b->t, rlx_tir_mul(&b->t, x, number(b, t, 0.5)),
                       rlx_tir_add(&b->t, e, number(b, t, 1)));
}

/* scale * (x > 0 ? x : alpha * (exp(x) - 1)) */
const rlx_prim *rlx_unary_selu(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    const rlx_prim *e = rlx_tir_sub(&b->t, rlx_tir_call1(&b->t, "exp", x), number(b, t, 1));
    const rlx_prim *low = rlx_tir_mul(&b->t, e, number(b, t, 1.6732632423543772848));
    const rlx_prim *y = rlx_tir_select(&b->t, rlx_tir_gt(&b->t, x, number(b, t, 0)), x, low);
    return rlx_tir_mul(&b->t, y, number(b, t, 1.0507009873554804934));
}

const rlx_prim *rlx_unary_silu(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    return rlx_tir_mul(&b->t, x, rlx_tir_call1(&b->t, "sigmoid", x));
}

static double attr_number(rlx_lowering *b, size_t i, double otherwise)
{
    return rlx_attr_as_float(rlx_lowering_attr(b->l, i), otherwise);
}

/* With a slope above 0, up to 1, the product is no greater than a number above 0 and no less than one below: the greater of the two is what is
 * wanted, and a chain goes on with it. */
const rlx_prim *rlx_unary_leakyrelu(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    const double alpha = attr_number(b, 0, 0.01), slope = rlx_dtype_round(t, alpha);
    const rlx_prim *low = rlx_tir_mul(&b->t, x, number(b, t, alpha));
    if (slope > 0 && slope <= 1)
        return rlx_tir_max(&b->t, x, low);
    return rlx_tir_select(&b->t, rlx_tir_gt(&b->t, x, number(b, t, 0)), x, low);
}

const rlx_prim *rlx_unary_softplus(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    const rlx_prim *beta = number(b, t, attr_number(b, 0, 1)),
                   *scaled = rlx_tir_mul(&b->t, x, beta);
    const rlx_prim *soft = rlx_tir_div(
        &b->t, rlx_tir_call1(&b->t, "log1p", rlx_tir_call1(&b->t, "exp", scaled)), beta);
    return rlx_tir_select(&b->t, rlx_tir_gt(&b->t, scaled, number(b, t, attr_number(b, 1, 20))), x,
                          soft);
}

/* One intrinsic of floats. Of integers rounding is the value itself, and no element is special. */
static const rlx_prim *intrinsic(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    uint32_t id = b->l->row->member.number;
    const rlx_tir_intrinsic_row *f = &rlx_tir_intrinsics[id];
    if (rlx_lowering_is_float(t))
        return rlx_tir_call1(&b->t, f->name, x);
    if (f->result == RLX_TIR_BOOL)
        return number(b, RELAX_BOOL, id == RLX_TIR_isfinite);
    return f->rule == RLX_TIR_RULE_ROUND ? x : NULL;
}

/* Opens the block of an elementwise operator whose result has the shape of x. */
static bool open_like(rlx_lowering *b, rlx_lowering_tensor *x, rlx_lowering_tensor *out,
                      rlx_lowering_list *index)
{
    if (!rlx_lowering_input(b, 0, x) || !rlx_lowering_output(b, &x->shape, out))
        return false;
    rlx_lowering_open(b, b->l->name.data, &out->shape.sizes, index);
    return !b->t.incomplete;
}

static const rlx_prim_func *finish(rlx_lowering *b, const rlx_lowering_tensor *out,
                                   const rlx_lowering_list *index, const rlx_prim *value)
{
    if (value)
        rlx_tir_store(&b->t, out->buffer, rlx_lowering_items(index), value);
    rlx_tir_end_block(&b->t);
    return rlx_lowering_end(b);
}

/* Narrow floats arrive as float32. */
static const rlx_prim_func *lower_unary(rlx_lower_request *l,
                                        const rlx_prim *(*value)(rlx_lowering *b, const rlx_prim *x,
                                                                 rlx_dtype t))
{
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    if (!open_like(&b, &x, &out, &index))
        return rlx_lowering_end(&b);
    rlx_dtype t = rlx_lowering_accumulator(x.dtype);
    const rlx_prim *v = rlx_tir_cast(&b.t, t, rlx_lowering_load(&b, &x, &index, &out.shape.sizes));
    v = value(&b, v, t);
    if (!v)
        rlx_lowering_refuse_dtype(&b);
    return finish(&b, &out, &index, v);
}

const rlx_prim_func *rlx_lower_intrinsic(rlx_lower_request *l)
{
    return lower_unary(l, intrinsic);
}

const rlx_prim_func *rlx_lower_unary(rlx_lower_request *l)
{
    return lower_unary(l, l->row->member.unary);
}

const rlx_prim_func *rlx_lower_astype(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    if (!open_like(&b, &x, &out, &index))
        return rlx_lowering_end(&b);
    const rlx_prim *v = rlx_lowering_load(&b, &x, &index, &out.shape.sizes);
    bool to_bool = rlx_dtype_is_bool(out.dtype) && !rlx_dtype_is_bool(x.dtype);
    v = to_bool ? rlx_tir_ne(&b.t, v, number(&b, x.dtype, 0)) : rlx_tir_cast(&b.t, out.dtype, v);
    return finish(&b, &out, &index, v);
}

/* A bound in the dtype of x; a literal beyond its range is the end of the range. */
static const rlx_prim *clip_bound(rlx_lowering *b, size_t i, rlx_dtype t)
{
    const rlx_prim_value *v = rlx_as_prim_value(b->l->call->args[i]);
    int64_t n = 0;
    if (rlx_lowering_is_float(t) || !v || !rlx_int_literal(v->value, &n))
        return rlx_lowering_scalar(b, i, t); /* a float saturates by itself */
    bool large = rlx_dtype_is_large(rlx_prim_dtype(v->value), n);
    if (rlx_dtype_has_int(t, n, large))
        return rlx_tir_cast(&b->t, t, v->value);
    return n < 0 && !large ? rlx_tir_lowest(&b->t, t) : rlx_tir_highest(&b->t, t);
}

const rlx_prim_func *rlx_lower_clip(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &x))
        return rlx_lowering_end(&b);
    const rlx_prim *low = clip_bound(&b, 1, x.dtype), *high = clip_bound(&b, 2, x.dtype);
    if (!low || !high || !rlx_lowering_output(&b, &x.shape, &out))
        return rlx_lowering_end(&b);
    rlx_lowering_open(&b, "clip", &out.shape.sizes, &index);
    const rlx_prim *v = rlx_tir_max(&b.t, rlx_lowering_load(&b, &x, &index, &out.shape.sizes), low);
    return finish(&b, &out, &index, rlx_tir_min(&b.t, v, high));
}

/* ---- two operands --------------------------------------------------------------------------- */

static const rlx_prim *truth(rlx_lowering *b, const rlx_prim *x, rlx_dtype t)
{
    return rlx_dtype_is_bool(t) ? x : rlx_tir_ne(&b->t, x, number(b, t, 0));
}

static const rlx_prim *signs_differ(rlx_lowering *b, const rlx_prim *r, const rlx_prim *y,
                                    rlx_dtype t)
{
    const rlx_prim *zero = number(b, t, 0);
    const rlx_prim *differ =
        rlx_tir_ne(&b->t, rlx_tir_lt(&b->t, r, zero), rlx_tir_lt(&b->t, y, zero));
    return rlx_tir_and(&b->t, rlx_tir_ne(&b->t, r, zero), differ);
}

/* As numpy: from the exact remainder, so that 1.0 // 0.1 is 9; x / 0 is IEEE's. */
static const rlx_prim *float_floor_divide(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                          rlx_dtype t)
{
    const rlx_prim *r = rlx_tir_call2(&b->t, "fmod", x, y), *one = number(b, t, 1);
    const rlx_prim *q = rlx_tir_div(&b->t, rlx_tir_sub(&b->t, x, r), y);
    q = rlx_tir_sub(&b->t, q,
                    rlx_tir_select(&b->t, signs_differ(b, r, y, t), one, number(b, t, 0)));
    const rlx_prim *f = rlx_tir_call1(&b->t, "floor", q);
    const rlx_prim *above = rlx_tir_gt(&b->t, rlx_tir_sub(&b->t, q, f), number(b, t, 0.5));
    f = rlx_tir_select(&b->t, above, rlx_tir_add(&b->t, f, one), f);
    return rlx_tir_select(&b->t, rlx_tir_eq(&b->t, y, number(b, t, 0)), rlx_tir_div(&b->t, x, y),
                          f);
}

const rlx_prim *rlx_binary_floor_divide(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                           rlx_dtype t)
{
    if (rlx_dtype_is_bool(t))
        return NULL;
    return rlx_lowering_is_float(t) ? float_floor_divide(b, x, y, t)
                                    : rlx_tir_floor_div(&b->t, x, y);
}

const rlx_prim *rlx_binary_mod(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                  rlx_dtype t)
{
    if (rlx_dtype_is_bool(t))
        return NULL;
    return rlx_lowering_is_float(t) ? rlx_tir_call2(&b->t, "fmod", x, y) : rlx_tir_mod(&b->t, x, y);
}

const rlx_prim *rlx_binary_floor_mod(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                        rlx_dtype t)
{
    if (rlx_dtype_is_bool(t))
        return NULL;
    if (!rlx_lowering_is_float(t))
        return rlx_tir_floor_mod(&b->t, x, y);
    const rlx_prim *r = rlx_tir_call2(&b->t, "fmod", x, y), *zero = number(b, t, 0);
    const rlx_prim *turned =
        rlx_tir_select(&b->t, signs_differ(b, r, y, t), rlx_tir_add(&b->t, r, y), r);
    return rlx_tir_select(&b->t, rlx_tir_eq(&b->t, r, zero),
                          rlx_tir_call2(&b->t, "copysign", zero, y), turned);
}

static const rlx_prim *logical(rlx_lowering *b, enum rlx_node_kind kind, const rlx_prim *x,
                               const rlx_prim *y, rlx_dtype t)
{
    return rlx_tir_cast(&b->t, t, rlx_tir_binary(&b->t, kind, truth(b, x, t), truth(b, y, t)));
}

static const rlx_prim *bits(rlx_lowering *b, const char *intrinsic, enum rlx_node_kind of_bool,
                            const rlx_prim *x, const rlx_prim *y, rlx_dtype t)
{
    if (rlx_dtype_is_bool(t))
        return rlx_tir_binary(&b->t, of_bool, x, y);
    return rlx_dtype_is_int(t) ? rlx_tir_call2(&b->t, intrinsic, x, y) : NULL;
}

/* Whole powers of integers by squaring; a negative exponent of anything but 1 and -1 divides by
 * zero (RT14). */
static const rlx_prim *int_power(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y, rlx_dtype t)
{
    rlx_tir *k = &b->t;
    const rlx_prim *zero = number(b, t, 0), *one = number(b, t, 1), *minus = number(b, t, -1);
    const rlx_prim *exponent = rlx_tir_let(k, "exponent", y), *base = rlx_tir_let(k, "base", x);
    const rlx_buffer *power = rlx_tir_alloc(k, "power", t, RLX_TIR_LIST(rlx_tir_int(k, 2)));
    const rlx_prim *r = rlx_tir_int(k, 0), *s = rlx_tir_int(k, 1);
    rlx_tir_store(k, power, RLX_TIR_LIST(r), one);
    rlx_tir_store(k, power, RLX_TIR_LIST(s), base);
    const rlx_prim *bit = rlx_tir_for(
        k, "bit", NULL, rlx_tir_int(k, rlx_dtype_bits(t) - !is_unsigned(t)), RLX_FOR_SERIAL);
    const rlx_prim *square = rlx_tir_load(k, power, RLX_TIR_LIST(s)),
                   *so_far = rlx_tir_load(k, power, RLX_TIR_LIST(r));
    const rlx_prim *shifted = rlx_tir_call2(k, "shift_right", exponent, rlx_tir_cast(k, t, bit));
    const rlx_prim *odd = rlx_tir_ne(k, rlx_tir_call2(k, "bitwise_and", shifted, one), zero);
    rlx_tir_store(k, power, RLX_TIR_LIST(r),
                  rlx_tir_select(k, odd, rlx_tir_mul(k, so_far, square), so_far));
    rlx_tir_store(k, power, RLX_TIR_LIST(s), rlx_tir_mul(k, square, square));
    rlx_tir_end_for(k);
    const rlx_prim *whole = rlx_tir_load(k, power, RLX_TIR_LIST(r));
    if (is_unsigned(t))
        return whole;
    const rlx_prim *unit = rlx_tir_or(k, rlx_tir_eq(k, base, one), rlx_tir_eq(k, base, minus));
    const rlx_prim *parity = rlx_tir_eq(k, rlx_tir_call2(k, "bitwise_and", exponent, one), zero);
    const rlx_prim *inverse =
        rlx_tir_div(k, rlx_tir_select(k, parity, one, base), rlx_tir_select(k, unit, one, zero));
    return rlx_tir_if_then_else(k, rlx_tir_lt(k, exponent, zero), inverse, whole);
}

const rlx_prim *rlx_binary_power(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                    rlx_dtype t)
{
    if (rlx_lowering_is_float(t))
        return rlx_tir_call2(&b->t, "pow", x, y);
    return rlx_dtype_is_int(t) ? int_power(b, x, y, t) : NULL;
}

const rlx_prim *rlx_binary_atan2(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y, rlx_dtype t)
{
    return rlx_lowering_is_float(t) ? rlx_tir_call2(&b->t, "atan2", x, y) : NULL;
}

/* max(x, y) + log1p(exp(-|x - y|)). Of two equal infinities the distance is NaN: it counts as 0. */
const rlx_prim *rlx_binary_log_add_exp(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                       rlx_dtype t)
{
    rlx_tir *tir = &b->t;
    if (!rlx_lowering_is_float(t))
        return NULL;
    const rlx_prim *zero = number(b, t, 0);
    const rlx_prim *apart =
        rlx_tir_select(tir, rlx_tir_eq(tir, x, y), zero,
                       rlx_tir_call1(tir, "fabs", rlx_tir_sub(tir, x, y)));
    return rlx_tir_add(tir, rlx_tir_max(tir, x, y),
                       rlx_tir_call1(tir, "log1p",
                                     rlx_tir_call1(tir, "exp", rlx_tir_sub(tir, zero, apart))));
}

const rlx_prim *rlx_binary_logical_xor(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                          rlx_dtype t)
{
    return logical(b, RLX_NODE_NE, x, y, t);
}
const rlx_prim *rlx_binary_logical_and(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                          rlx_dtype t)
{
    return logical(b, RLX_NODE_AND, x, y, t);
}
const rlx_prim *rlx_binary_logical_or(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                         rlx_dtype t)
{
    return logical(b, RLX_NODE_OR, x, y, t);
}
const rlx_prim *rlx_binary_bitwise_and(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                          rlx_dtype t)
{
    return bits(b, "bitwise_and", RLX_NODE_AND, x, y, t);
}
const rlx_prim *rlx_binary_bitwise_or(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                         rlx_dtype t)
{
    return bits(b, "bitwise_or", RLX_NODE_OR, x, y, t);
}
const rlx_prim *rlx_binary_bitwise_xor(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                          rlx_dtype t)
{
    return bits(b, "bitwise_xor", RLX_NODE_NE, x, y, t);
}
const rlx_prim *rlx_binary_left_shift(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                         rlx_dtype t)
{
    return rlx_dtype_is_int(t) ? rlx_tir_call2(&b->t, "shift_left", x, y) : NULL;
}
const rlx_prim *rlx_binary_right_shift(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                          rlx_dtype t)
{
    return rlx_dtype_is_int(t) ? rlx_tir_call2(&b->t, "shift_right", x, y) : NULL;
}

static bool is_ordering(uint8_t kind)
{
    return kind == RLX_NODE_LT || kind == RLX_NODE_LE || kind == RLX_NODE_GT ||
           kind == RLX_NODE_GE;
}

static const rlx_prim *node(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y, rlx_dtype t)
{
    bool is_bool = rlx_dtype_is_bool(t);
    uint8_t kind = is_bool ? b->l->row->member.node.of_bool : b->l->row->member.node.kind;
    if (!kind)
        return NULL;
    if (is_bool && is_ordering(kind)) {
        x = rlx_tir_cast(&b->t, RELAX_UINT8, x);
        y = rlx_tir_cast(&b->t, RELAX_UINT8, y);
    }
    return rlx_tir_binary(&b->t, (enum rlx_node_kind)kind, x, y);
}

typedef const rlx_prim *(*binary_fn)(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                     rlx_dtype t);

/* Operand i; a number beside a tensor that has axes is part of the PrimFunc. */
static bool operand(rlx_lowering *b, size_t i, rlx_lowering_tensor *out)
{
    const rlx_tensor_sinfo *other = rlx_as_tensor_sinfo(b->l->args[1 - i]);
    const rlx_prim *number = other && other->ndim > 0 ? rlx_lowering_constant(b->l->ctx, b->l->call->args[i]) : NULL;
    if (!number)
        return rlx_lowering_input(b, i, out);
    *out = (rlx_lowering_tensor){ .dtype = rlx_prim_dtype(number), .scalar = number };
    return true;
}

/* wide: computed in float32 for narrower floats because it takes several steps. */
static const rlx_prim_func *lower_binary(rlx_lower_request *l, binary_fn value, bool wide)
{
    rlx_lowering b;
    rlx_lowering_tensor x, y, out;
    rlx_lowering_shape shape;
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    if (!rlx_as_tensor_sinfo(l->args[0]) && !rlx_as_tensor_sinfo(l->args[1]))
        rlx_lowering_give_up(&b, "both operands are scalars");
    if (b.why || !operand(&b, 0, &x) || !operand(&b, 1, &y))
        return rlx_lowering_end(&b);
    const rlx_lowering_tensor *operands[2] = { &x, &y };
    if (!rlx_lowering_broadcast(&b, operands, 2, &shape))
        return rlx_lowering_end(&b);
    if (x.scalar || y.scalar) /* a scalar acts as a tensor of shape (1,) */
        if (shape.sizes.n == 0) {
            shape.sizes = (rlx_lowering_list){ .at = { rlx_tir_int(&b.t, 1) }, .n = 1 };
            shape.program[0] = rlx_int64(l->ctx, 1);
        }
    if (!rlx_lowering_output(&b, &shape, &out))
        return rlx_lowering_end(&b);
    rlx_lowering_open(&b, l->name.data, &out.shape.sizes, &index);
    const rlx_prim *p = rlx_lowering_load(&b, &x, &index, &out.shape.sizes),
                   *q = rlx_lowering_load(&b, &y, &index, &out.shape.sizes), *v = NULL;
    if (p && q && rlx_match_types(l->ctx, &p, &q)) {
        rlx_dtype t = wide ? rlx_lowering_accumulator(rlx_prim_dtype(p)) : rlx_prim_dtype(p);
        v = value(&b, rlx_tir_cast(&b.t, t, p), rlx_tir_cast(&b.t, t, q), t);
    }
    if (!v)
        rlx_lowering_refuse_dtype(&b);
    return finish(&b, &out, &index, v);
}

const rlx_prim_func *rlx_lower_node(rlx_lower_request *l)
{
    return lower_binary(l, node, false);
}

const rlx_prim_func *rlx_lower_binary(rlx_lower_request *l)
{
    return lower_binary(l, l->row->member.binary, false);
}

const rlx_prim_func *rlx_lower_wide_binary(rlx_lower_request *l)
{
    return lower_binary(l, l->row->member.binary, true);
}

/* Narrow floats are rounded once. */
static const rlx_prim *product_and_sum(rlx_lowering *b, const rlx_prim *const *v, rlx_dtype t)
{
    rlx_dtype wide = rlx_lowering_accumulator(t);
    if (rlx_dtype_is_bool(t))
        return rlx_tir_or(&b->t, rlx_tir_and(&b->t, v[0], v[1]), v[2]);
    const rlx_prim *product =
        rlx_tir_mul(&b->t, rlx_tir_cast(&b->t, wide, v[0]), rlx_tir_cast(&b->t, wide, v[1]));
    return rlx_tir_add(&b->t, product, rlx_tir_cast(&b->t, wide, v[2]));
}

static const rlx_prim *chosen(rlx_lowering *b, const rlx_prim *const *v, rlx_dtype t)
{
    return rlx_tir_select(&b->t, v[0], v[1], v[2]);
}

/* Three operands that broadcast. */
static const rlx_prim_func *lower_ternary(rlx_lower_request *l,
                                          const rlx_prim *(*make)(rlx_lowering *b,
                                                                  const rlx_prim *const *v,
                                                                  rlx_dtype t))
{
    rlx_lowering b;
    rlx_lowering_tensor t[3], out;
    rlx_lowering_shape shape;
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    for (size_t i = 0; i < 3; i++)
        if (!rlx_lowering_input(&b, i, &t[i]))
            return rlx_lowering_end(&b);
    const rlx_lowering_tensor *operands[3] = { &t[0], &t[1], &t[2] };
    if (!rlx_lowering_broadcast(&b, operands, 3, &shape) || !rlx_lowering_output(&b, &shape, &out))
        return rlx_lowering_end(&b);
    rlx_lowering_open(&b, l->name.data, &out.shape.sizes, &index);
    const rlx_prim *v[3];
    for (size_t i = 0; i < 3; i++)
        v[i] = rlx_lowering_load(&b, &t[i], &index, &out.shape.sizes);
    const rlx_prim *value = make(&b, v, out.dtype);
    if (!value)
        rlx_lowering_refuse_dtype(&b);
    return finish(&b, &out, &index, value);
}

const rlx_prim_func *rlx_lower_where(rlx_lower_request *l)
{
    return lower_ternary(l, chosen);
}

const rlx_prim_func *rlx_lower_ewise_fma(rlx_lower_request *l)
{
    return lower_ternary(l, product_and_sum);
}

/* ---- quantize, dequantize ------------------------------------------------------------------- */

typedef struct quantized {
    rlx_lowering_tensor x, scale, zero, out;
    size_t axis;
    bool forward;
} quantized;

/* One value for all, or for each index of the axis; in float32. */
static const rlx_prim *along_axis(rlx_lowering *b, const quantized *q, const rlx_lowering_tensor *t,
                                  const rlx_lowering_list *index)
{
    rlx_prim_list at = t->shape.sizes.n ? RLX_TIR_ITEMS(&index->at[q->axis], 1) : RLX_TIR_NONE;
    return rlx_tir_cast(&b->t, RELAX_FLOAT32, rlx_tir_load(&b->t, t->buffer, at));
}

/* The cast to integers saturates: that is the limit to the range. */
static const rlx_prim *quantized_value(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    const quantized *q = user;
    rlx_tir *t = &b->t;
    const rlx_prim *x =
        rlx_tir_cast(t, RELAX_FLOAT32, rlx_tir_load(t, q->x.buffer, rlx_lowering_items(index)));
    const rlx_prim *scale = along_axis(b, q, &q->scale, index),
                   *zero = along_axis(b, q, &q->zero, index), *v;
    if (q->forward)
        v = rlx_tir_add(t, rlx_tir_call1(t, "nearbyint", rlx_tir_div(t, x, scale)), zero);
    else
        v = rlx_tir_mul(t, rlx_tir_sub(t, x, zero), scale);
    return rlx_tir_cast(t, q->out.dtype, v);
}

static const rlx_prim_func *lower_quantized(rlx_lower_request *l, bool forward)
{
    rlx_lowering b;
    quantized q = { .forward = forward };
    const rlx_tensor_sinfo *x = rlx_as_tensor_sinfo(l->args[0]);
    int64_t axis = rlx_attr_as_int(rlx_lowering_attr(l, 1), -1);
    axis += axis < 0 && x ? x->ndim : 0;
    rlx_lowering_begin(&b, l);
    for (size_t i = 1; i < 3; i++)
        rlx_lowering_trust(&b, 0, (size_t)axis, i, 0);
    if (!rlx_lowering_input(&b, 0, &q.x) || !rlx_lowering_input(&b, 1, &q.scale) ||
        !rlx_lowering_input(&b, 2, &q.zero) ||
        (q.x.shape.sizes.n && !rlx_lowering_axis(&b, axis, q.x.shape.sizes.n, &q.axis)) ||
        !rlx_lowering_output(&b, &q.x.shape, &q.out))
        return rlx_lowering_end(&b);
    return rlx_lowering_mapped(&b, &q.out, quantized_value, &q);
}

const rlx_prim_func *rlx_lower_quantize(rlx_lower_request *l)
{
    return lower_quantized(l, true);
}

const rlx_prim_func *rlx_lower_dequantize(rlx_lower_request *l)
{
    return lower_quantized(l, false);
}
