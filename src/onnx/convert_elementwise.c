/* convert_elementwise.c: operators on elements, broadcast. */
#include "onnx/onnx_int.h"

#include <math.h>

#define MOST_BROADCAST 3 /* operands, of Where */

RLX_ONNX_CONVERTER(convert_unary)
{
    return rlx_onnx_output(c, 0, rlx_onnx_call1(c, c->row->argument, rlx_onnx_input(c, 0)));
}

/* Of integers too, whose results are integers. */
RLX_ONNX_CONVERTER(convert_erf)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    if (x && !rlx_dtype_is_float(t))
        x = rlx_onnx_cast(c, x, RELAX_FLOAT32);
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, rlx_onnx_call1(c, "erf", x), t));
}

RLX_ONNX_CONVERTER(convert_identity)
{
    return c->num_inputs && c->inputs[0] ? rlx_onnx_output_value(c, 0, c->inputs[0])
                                         : rlx_onnx_input(c, 0) != NULL;
}

/* ---- integers that are sizes ------------------------------------------------------------------- */

/* Truncating division of what is not negative is floor division. */
static const rlx_prim *divide_sizes(rlx_onnx_conv *c, enum rlx_node_kind kind, const rlx_prim *a,
                                    const rlx_prim *b)
{
    const rlx_scope *s = rlx_builder_scope(c->m->b);
    int64_t low, high, d;
    if (!rlx_int_literal(b, &d) || d <= 0)
        return NULL;
    rlx_bounds(c->ctx, s, a, &low, &high);
    return low >= 0 || kind == RLX_NODE_FLOOR_MOD ? rlx_fold_binary(c->ctx, kind, a, b) : NULL;
}

static const rlx_prim *one_of(rlx_onnx_conv *c, bool truth, bool known)
{
    return known ? rlx_int64(c->ctx, truth) : NULL;
}

static const rlx_prim *compare_sizes(rlx_onnx_conv *c, enum rlx_node_kind kind, const rlx_prim *a,
                                     const rlx_prim *b)
{
    const rlx_scope *s = rlx_builder_scope(c->m->b);
    if (kind == RLX_NODE_EQ) {
        enum rlx_answer equal = rlx_prove_equal(c->ctx, s, a, b);
        return one_of(c, equal == RLX_EQUAL, equal != RLX_UNKNOWN);
    }
    enum rlx_truth t = rlx_prove_compare(c->ctx, s, kind, a, b);
    return one_of(c, t == RLX_TRUE, t != RLX_MAYBE);
}

static const struct { const char *op; enum rlx_node_kind kind; } size_rules[] = {
    { "add", RLX_NODE_ADD },       { "subtract", RLX_NODE_SUB },  { "multiply", RLX_NODE_MUL },
    { "divide", RLX_NODE_FLOOR_DIV }, { "floor_mod", RLX_NODE_FLOOR_MOD }, { "minimum", RLX_NODE_MIN },
    { "maximum", RLX_NODE_MAX },   { "equal", RLX_NODE_EQ },      { "less", RLX_NODE_LT },
    { "less_equal", RLX_NODE_LE }, { "greater", RLX_NODE_GT },    { "greater_equal", RLX_NODE_GE }
};

static const rlx_prim *combine_sizes(rlx_onnx_conv *c, const char *op, const rlx_prim *a,
                                     const rlx_prim *b)
{
    for (size_t i = 0; i < sizeof size_rules / sizeof size_rules[0]; i++) {
        enum rlx_node_kind k = size_rules[i].kind;
        if (strcmp(size_rules[i].op, op))
            continue;
        const rlx_prim *p = k == RLX_NODE_FLOOR_DIV || k == RLX_NODE_FLOOR_MOD
                                ? divide_sizes(c, k, a, b)
                            : i >= 7 ? compare_sizes(c, k, a, b)
                                     : rlx_fold_binary(c->ctx, k, a, b);
        return rlx_onnx_simplify(c, p);
    }
    return NULL;
}

static bool is_literal(const rlx_onnx_ints *v)
{
    int64_t x;
    for (size_t i = 0; i < v->len; i++)
        if (!rlx_int_literal(v->data[i], &x))
            return false;
    return true;
}

static bool is_comparison(const char *op)
{
    return !strcmp(op, "equal") || !strncmp(op, "less", 4) || !strncmp(op, "greater", 7);
}

/* Sizes of shape variables, element by element. False: the node is computed when it runs. */
static bool on_sizes(rlx_onnx_conv *c, const char *op)
{
    rlx_onnx_ints a, b;
    bool any = c->num_inputs == 2 && ((c->inputs[0] && c->inputs[0]->has_ints) ||
                                      (c->inputs[1] && c->inputs[1]->has_ints));
    if (!any || !rlx_onnx_known(c, 0, &a) || !rlx_onnx_known(c, 1, &b) ||
        (is_literal(&a) && is_literal(&b)) || (a.len != b.len && a.len != 1 && b.len != 1))
        return false;
    size_t n = a.len == 1 ? b.len : a.len;
    const rlx_prim **out = rlx_onnx_array(c, n, sizeof *out);
    for (size_t i = 0; out && i < n; i++) {
        out[i] = combine_sizes(c, op, a.data[a.len == 1 ? 0 : i], b.data[b.len == 1 ? 0 : i]);
        if (!out[i])
            return false;
    }
    return out && rlx_onnx_output_ints(c, 0, out, n, a.is_scalar && b.is_scalar,
                                       is_comparison(op) ? RELAX_BOOL : a.dtype);
}

/* ---- two operands ------------------------------------------------------------------------------ */

/* Before operator set 7 the second operand is aligned at an axis of the first, where asked for. */
static const rlx_expr *aligned(rlx_onnx_conv *c, const rlx_expr *a, const rlx_expr *b)
{
    if (c->version >= 7 || !a || !b || !rlx_onnx_int(c, "broadcast", 0))
        return b;
    int na = rlx_onnx_rank(c, a), nb = rlx_onnx_rank(c, b);
    int64_t axis = rlx_onnx_int(c, "axis", na - nb), axes[64];
    if (nb == 0)
        return b;
    if (na < 0 || nb < 0 || na > 64 || (na > nb && !rlx_onnx_axis(c, &axis, na)))
        return NULL;
    int behind = na - nb - (int)axis;
    if (behind <= 0)
        return b;
    for (int i = 0; i < behind; i++)
        axes[i] = nb + i;
    return rlx_onnx_expand_dims(c, b, axes, (size_t)behind);
}

static const rlx_prim *size_at(const rlx_prim *const *dims, size_t n, size_t from_end)
{
    return from_end < n ? dims[n - 1 - from_end] : NULL;
}

/* Is it the least of b and a number above 1? Then it is 1 only where b is, and beside b it is b, or nothing. */
static bool is_least_of(rlx_onnx_conv *c, const rlx_prim *a, const rlx_prim *b)
{
    const rlx_binary *least = rlx_is(a, RLX_NODE_MIN) ? (const rlx_binary *)a : NULL;
    const rlx_scope *s = rlx_builder_scope(c->m->b);
    int64_t k;
    return least && ((rlx_int_literal(least->a, &k) && k > 1 && rlx_prove_equal_sizes(c->ctx, s, least->b, b) == RLX_EQUAL) ||
                     (rlx_int_literal(least->b, &k) && k > 1 && rlx_prove_equal_sizes(c->ctx, s, least->a, b) == RLX_EQUAL));
}

/* The size of a and b broadcast; NULL: it cannot be told. A literal above 1 decides: the other is the same, or 1. */
static const rlx_prim *broadcast_size(rlx_onnx_conv *c, const rlx_prim *a, const rlx_prim *b)
{
    int64_t k;
    if (!a || !b || rlx_is_int_value(a, 1))
        return b ? b : a;
    if (rlx_is_int_value(b, 1) || (rlx_int_literal(a, &k) && k > 1) || is_least_of(c, b, a))
        return a;
    return (rlx_int_literal(b, &k) && k > 1) || is_least_of(c, a, b) ||
                   rlx_prove_equal(c->ctx, rlx_builder_scope(c->m->b), a, b) == RLX_EQUAL
               ? b
               : NULL;
}

/* The size that operands have together, counted from the last axis; NULL: it cannot be told. */
static const rlx_prim *size_of_all(rlx_onnx_conv *c, const rlx_tensor_sinfo *const *operands, size_t count, size_t from_end)
{
    const rlx_prim *size = NULL;
    bool told = true;
    int64_t k;
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        const rlx_prim *const *dims = rlx_shape_dims(operands[i]->shape, &n);
        const rlx_prim *both = dims ? broadcast_size(c, size, size_at(dims, n, from_end)) : NULL;
        told &= both != NULL || (dims && from_end >= n);
        size = both ? both : size;
    }
    return told || (size && rlx_int_literal(size, &k) && k > 1) ? size : NULL;
}

const rlx_expr *rlx_onnx_keep_sizes(rlx_onnx_conv *c, const rlx_expr *y, const rlx_expr *const *operands, size_t count, size_t tail)
{
    const rlx_tensor_sinfo *t = y ? rlx_onnx_info(c, y) : NULL, *of[MOST_BROADCAST];
    bool any = false;
    if (!t || t->shape || t->ndim < 1 || count > MOST_BROADCAST)
        return y;
    for (size_t i = 0; i < count; i++)
        if (!(of[i] = rlx_onnx_info(c, operands[i])))
            return NULL;
    const rlx_prim **dims = rlx_onnx_array(c, (size_t)t->ndim, sizeof *dims);
    for (size_t i = 0, n = (size_t)t->ndim; dims && i < n; i++) {
        size_t rank = 0, from_end = n - 1 - i;
        const rlx_prim *const *own = from_end < tail ? rlx_shape_dims(of[count - 1 - from_end]->shape, &rank) : NULL;
        dims[i] = from_end < tail ? size_at(own, own ? rank : 0, from_end) : size_of_all(c, of, count, from_end);
        any |= dims[i] != NULL;
        if (!dims[i] && !(dims[i] = rlx_onnx_fresh(c, "d")))
            return NULL;
    }
    const rlx_expr *shape = dims && any ? rlx_shape_new(c->ctx, dims, (size_t)t->ndim) : NULL;
    return shape ? rlx_onnx_match(c, y, rlx_tensor_info(c->ctx, shape, t->dtype, t->ndim, NULL)) : y;
}

static const rlx_expr *broadcast(rlx_onnx_conv *c, const char *op, const rlx_expr *a, const rlx_expr *b)
{
    const rlx_expr *both[] = { a, b };
    return rlx_onnx_keep_sizes(c, rlx_onnx_call2(c, op, a, b), both, 2, 0);
}

RLX_ONNX_CONVERTER(convert_binary)
{
    if (on_sizes(c, c->row->argument))
        return true;
    const rlx_expr *a = rlx_onnx_input(c, 0), *b = aligned(c, a, rlx_onnx_input(c, 1));
    return rlx_onnx_output(c, 0, broadcast(c, c->row->argument, a, b));
}

RLX_ONNX_CONVERTER(convert_mod)
{
    bool fmod = rlx_onnx_int(c, "fmod", 0) != 0;
    if (!fmod && on_sizes(c, "floor_mod"))
        return true;
    const rlx_expr *a = rlx_onnx_input(c, 0), *b = rlx_onnx_input(c, 1);
    return rlx_onnx_output(c, 0, broadcast(c, fmod ? "mod" : "floor_mod", a, b));
}

/* One operand or more. */
RLX_ONNX_CONVERTER(convert_variadic)
{
    if (c->num_inputs == 2 && on_sizes(c, c->row->argument))
        return true;
    const rlx_expr *x = rlx_onnx_input(c, 0);
    for (size_t i = 1; x && i < c->num_inputs; i++)
        x = broadcast(c, c->row->argument, x, rlx_onnx_input(c, i));
    return rlx_onnx_output(c, 0, x);
}

RLX_ONNX_CONVERTER(convert_mean)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    for (size_t i = 1; x && i < c->num_inputs; i++)
        x = broadcast(c, "add", x, rlx_onnx_input(c, i));
    const rlx_expr *n =
        x ? rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), (double)c->num_inputs) : NULL;
    return rlx_onnx_output(c, 0, c->num_inputs == 1 ? x : rlx_onnx_call2(c, "divide", x, n));
}

/* The result has the first operand's dtype, whatever that of the exponent is. */
const rlx_expr *rlx_onnx_power(rlx_onnx_conv *c, const rlx_expr *x, double e, bool positive)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    bool real = rlx_dtype_is_float(t), wide = real && rlx_dtype_bits(t) > 16; /* a step costs it little */
    if (e == 1)
        return x;
    if (e == 2)
        return rlx_onnx_call1(c, "square", x);
    if (e == 3 && wide)
        return rlx_onnx_call2(c, "multiply", rlx_onnx_call1(c, "square", x), x);
    if (e == 0.5 && real && positive)
        return rlx_onnx_call1(c, "sqrt", x);
    if (e == 0.75 && wide && positive) {
        const rlx_expr *root = rlx_onnx_call1(c, "sqrt", x);
        return rlx_onnx_call2(c, "multiply", root, rlx_onnx_call1(c, "sqrt", root));
    }
    return rlx_onnx_with(c, "power", x, e);
}

RLX_ONNX_CONVERTER(convert_pow)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *y = aligned(c, x, rlx_onnx_input(c, 1));
    if (!x || !y)
        return false;
    rlx_dtype a = rlx_onnx_dtype_of(c, x), b = rlx_onnx_dtype_of(c, y);
    rlx_dtype t = a;
    size_t n = 0;
    const double *e = rlx_dtype_is_float(a) && rlx_onnx_rank(c, y) <= rlx_onnx_rank(c, x) ? rlx_onnx_floats_of(c, y, &n) : NULL;
    if (e && n == 1 && (*e == 2 || *e == 3))
        return rlx_onnx_output(c, 0, rlx_onnx_power(c, x, *e, false));
    if (a != b && !rlx_dtype_is_float(a) && rlx_dtype_is_float(b))
        t = b == RELAX_FLOAT64 || rlx_dtype_bits(a) > 24 ? RELAX_FLOAT64 : b;
    else if (a != b && !rlx_dtype_is_float(b) && !rlx_dtype_is_float(a))
        t = rlx_dtype_bits(a) < rlx_dtype_bits(b) ? b : a;
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, rlx_onnx_call_as(c, "power", t, x, y), a));
}

/* Counts of at least the width, and below 0, shift everything out: of the latter Relax says otherwise. */
RLX_ONNX_CONVERTER(convert_bit_shift)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *n = rlx_onnx_input(c, 1);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    bool left = rlx_slice_is(rlx_onnx_string(c, "direction", ""), "LEFT");
    bool is_signed = rlx_dtype_code(t) == RELAX_DTYPE_INT;
    if (!x || !n)
        return false;
    if (!is_signed)
        return rlx_onnx_output(c, 0, rlx_onnx_call2(c, left ? "left_shift" : "right_shift", x, n));
    const rlx_expr *width = rlx_onnx_scalar(c, t, rlx_dtype_bits(t));
    const rlx_expr *zero = rlx_onnx_scalar(c, t, 0);
    const rlx_expr *below = rlx_onnx_call2(c, "less", n, zero);
    const rlx_expr *far = rlx_onnx_call2(c, "logical_or", rlx_onnx_call2(c, "greater_equal", n, width), below);
    const rlx_expr *count = rlx_onnx_where(c, far, zero, n);
    const rlx_expr *y = rlx_onnx_call2(c, left ? "left_shift" : "right_shift", x, count);
    const rlx_expr *gone = zero;
    if (!left)
        gone = rlx_onnx_where(c, rlx_onnx_call2(c, "less", x, zero), rlx_onnx_scalar(c, t, -1),
                              zero);
    return rlx_onnx_output(c, 0, rlx_onnx_where(c, far, gone, y));
}

/* ---- selection --------------------------------------------------------------------------------- */

static bool where_on_sizes(rlx_onnx_conv *c)
{
    rlx_onnx_ints k, a, b;
    bool any = false;
    for (size_t i = 0; i < c->num_inputs; i++)
        any |= c->inputs[i] && c->inputs[i]->has_ints;
    if (!any || c->num_inputs != 3 || !rlx_onnx_known(c, 0, &k) || !rlx_onnx_known(c, 1, &a) ||
        !rlx_onnx_known(c, 2, &b))
        return false;
    size_t n = k.len > a.len ? k.len : a.len;
    n = b.len > n ? b.len : n;
    if ((k.len != n && k.len != 1) || (a.len != n && a.len != 1) || (b.len != n && b.len != 1))
        return false;
    const rlx_prim **out = rlx_onnx_array(c, n, sizeof *out);
    for (size_t i = 0; out && i < n; i++) {
        int64_t truth;
        if (!rlx_int_literal(k.data[k.len == 1 ? 0 : i], &truth))
            return false;
        out[i] = truth ? a.data[a.len == 1 ? 0 : i] : b.data[b.len == 1 ? 0 : i];
    }
    return out && rlx_onnx_output_ints(c, 0, out, n, k.is_scalar && a.is_scalar && b.is_scalar,
                                       a.dtype);
}

RLX_ONNX_CONVERTER(convert_where)
{
    if (where_on_sizes(c))
        return true;
    const rlx_expr *no = rlx_onnx_input(c, 2), *yes = rlx_onnx_input(c, 1), *cond = rlx_onnx_input(c, 0);
    const rlx_expr *all[] = { cond, yes, no };
    return rlx_onnx_output(c, 0, rlx_onnx_keep_sizes(c, rlx_onnx_where(c, cond, yes, no), all, 3, 0));
}

/* First the lower bound, then the upper one: where they cross, the upper one holds. */
RLX_ONNX_CONVERTER(convert_clip)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    bool low = rlx_onnx_has(c, 1), high = rlx_onnx_has(c, 2);
    const rlx_expr *least = low ? rlx_onnx_input(c, 1) : NULL;
    const rlx_expr *most = high ? rlx_onnx_input(c, 2) : NULL;
    if (c->version < 11) {
        low = rlx_onnx_attr(c, "min") != NULL;
        high = rlx_onnx_attr(c, "max") != NULL;
        least = low ? rlx_onnx_scalar(c, t, rlx_onnx_float(c, "min", 0)) : NULL;
        most = high ? rlx_onnx_scalar(c, t, rlx_onnx_float(c, "max", 0)) : NULL;
    }
    if (low)
        x = rlx_onnx_call2(c, "maximum", x, least);
    if (high)
        x = rlx_onnx_call2(c, "minimum", x, most);
    return rlx_onnx_output(c, 0, x);
}

/* ---- activations ------------------------------------------------------------------------------- */

/* Arithmetic with numbers of x's dtype. */
static const rlx_expr *positive(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *below)
{
    return rlx_onnx_where(c, rlx_onnx_with(c, "greater", x, 0), x, below);
}

RLX_ONNX_CONVERTER(convert_leaky_relu)
{
    double alpha = rlx_onnx_float(c, "alpha", (double)0.01f);
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "nn.leakyrelu", "x alpha=f", rlx_onnx_input(c, 0), alpha));
}

RLX_ONNX_CONVERTER(convert_prelu)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *slope = rlx_onnx_input(c, 1);
    if (!x || !slope)
        return false;
    int nx = rlx_onnx_rank(c, x), ns = rlx_onnx_rank(c, slope);
    int64_t channels = 0, axes[64];
    /* before operator set 7: one slope for each channel */
    if (c->version < 7 && ns == 1 && nx > 2 && nx < 64 &&
        (!rlx_onnx_static_dim(c, slope, 0, &channels) || channels != 1)) {
        for (int i = 0; i < nx - 2; i++)
            axes[i] = i + 1;
        slope = rlx_onnx_expand_dims(c, slope, axes, (size_t)nx - 2);
    }
    const rlx_expr *below = rlx_onnx_call2(c, "multiply", x, slope);
    return rlx_onnx_output(c, 0, rlx_onnx_where(c, rlx_onnx_with(c, "less", x, 0), below, x));
}

/* alpha * (exp(x) - 1) where x <= 0 */
RLX_ONNX_CONVERTER(convert_elu)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    double alpha = rlx_onnx_float(c, "alpha", 1);
    const rlx_expr *e = rlx_onnx_with(c, "subtract", rlx_onnx_call1(c, "exp", x), 1);
    return rlx_onnx_output(c, 0, positive(c, x, alpha == 1 ? e : rlx_onnx_with(c, "multiply", e, alpha)));
}

RLX_ONNX_CONVERTER(convert_selu)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    double alpha = rlx_onnx_float(c, "alpha", c->version < 6 ? 1.6732 : 1.67326319217681884765625);
    double gamma = rlx_onnx_float(c, "gamma", c->version < 6 ? 1.0507 : 1.05070102214813232421875);
    const rlx_expr *e =
        rlx_onnx_with(c, "multiply", rlx_onnx_with(c, "subtract", rlx_onnx_call1(c, "exp", x), 1), alpha);
    return rlx_onnx_output(c, 0, rlx_onnx_with(c, "multiply", positive(c, x, e), gamma));
}

RLX_ONNX_CONVERTER(convert_celu)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    double alpha = rlx_onnx_float(c, "alpha", 1);
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    if (x && rlx_dtype_bits(t) < 32) /* exp - 1 loses what 16 bits have */
        x = rlx_onnx_cast(c, x, RELAX_FLOAT32);
    const rlx_expr *e = rlx_onnx_call1(c, "exp", rlx_onnx_with(c, "divide", x, alpha));
    e = rlx_onnx_with(c, "minimum", rlx_onnx_with(c, "multiply", rlx_onnx_with(c, "subtract", e, 1), alpha), 0);
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, rlx_onnx_call2(c, "add", rlx_onnx_with(c, "maximum", x, 0), e), t));
}

RLX_ONNX_CONVERTER(convert_thresholded_relu)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    const rlx_expr *cond = rlx_onnx_with(c, "greater", x, rlx_onnx_float(c, "alpha", 1));
    const rlx_expr *zero = x ? rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), 0) : NULL;
    return rlx_onnx_output(c, 0, rlx_onnx_where(c, cond, x, zero));
}

static const rlx_expr *hard_sigmoid(rlx_onnx_conv *c, const rlx_expr *x, double alpha, double beta)
{
    const rlx_expr *y = rlx_onnx_with(c, "add", rlx_onnx_with(c, "multiply", x, alpha), beta);
    return rlx_onnx_with(c, "minimum", rlx_onnx_with(c, "maximum", y, 0), 1);
}

RLX_ONNX_CONVERTER(convert_hard_sigmoid)
{
    double beta = rlx_onnx_float(c, "beta", 0.5), alpha = rlx_onnx_float(c, "alpha", (double)0.2f);
    return rlx_onnx_output(c, 0, hard_sigmoid(c, rlx_onnx_input(c, 0), alpha, beta));
}

/* What the attributes activation and activation_params of a fused node say; none: y itself. */
const rlx_expr *rlx_onnx_activated(rlx_onnx_conv *c, const rlx_expr *y)
{
    static const char *const plain[][2] = { { "Relu", "nn.relu" }, { "Tanh", "tanh" }, { "Sigmoid", "sigmoid" } };
    rlx_slice name = rlx_onnx_string(c, "activation", "");
    size_t n;
    const double *p = rlx_onnx_float_list(c, "activation_params", &n);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (rlx_slice_is(name, plain[i][0]))
            return rlx_onnx_call1(c, plain[i][1], y);
    if (!name.len)
        return y;
    if (p && n == 1 && rlx_slice_is(name, "LeakyRelu"))
        return rlx_onnx_call(c, "nn.leakyrelu", "x alpha=f", y, p[0]);
    if (p && n == 2 && rlx_slice_is(name, "Clip"))
        return rlx_onnx_with(c, "minimum", rlx_onnx_with(c, "maximum", y, p[0]), p[1]);
    if (p && n == 2 && rlx_slice_is(name, "HardSigmoid"))
        return hard_sigmoid(c, y, p[0], p[1]);
    int length = (int)(name.len < 64 ? name.len : 64);
    return rlx_onnx_fail(c, RLX_ON05, "the activation %.*s with %zu parameters is not supported", length,
                         (const char *)name.data, p ? n : 0);
}

RLX_ONNX_CONVERTER(convert_hard_swish)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "multiply", x,
                                                hard_sigmoid(c, x, 1.0 / 6, 0.5)));
}

RLX_ONNX_CONVERTER(convert_mish)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    const rlx_expr *t = rlx_onnx_call1(c, "tanh", rlx_onnx_call1(c, "nn.softplus", x));
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "multiply", x, t));
}

RLX_ONNX_CONVERTER(convert_gelu)
{
    bool tanh = rlx_slice_is(rlx_onnx_string(c, "approximate", "none"), "tanh");
    return rlx_onnx_output(c, 0, rlx_onnx_call1(c, tanh ? "nn.gelu_tanh" : "nn.gelu",
                                                rlx_onnx_input(c, 0)));
}

/* Of operand 0, with the attribute alpha */
static const rlx_expr *swish(rlx_onnx_conv *c, double otherwise)
{
    double alpha = rlx_onnx_float(c, "alpha", otherwise);
    const rlx_expr *x = rlx_onnx_input(c, 0);
    if (alpha == 1)
        return rlx_onnx_call1(c, "nn.silu", x);
    return rlx_onnx_call2(c, "multiply", x,
                          rlx_onnx_call1(c, "sigmoid", rlx_onnx_with(c, "multiply", x, alpha)));
}

RLX_ONNX_CONVERTER(convert_swish)
{
    return rlx_onnx_output(c, 0, swish(c, 1));
}

RLX_ONNX_CONVERTER(convert_quick_gelu)
{
    return rlx_onnx_output(c, 0, swish(c, (double)1.702f));
}

RLX_ONNX_CONVERTER(convert_swiglu)
{
    const rlx_expr *y = swish(c, 1);
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "multiply", y, rlx_onnx_input(c, 1)));
}

RLX_ONNX_CONVERTER(convert_bias_gelu)
{
    return rlx_onnx_output(c, 0, rlx_onnx_call1(c, "nn.gelu", rlx_onnx_call_inputs(c, "add", 0, 1)));
}

RLX_ONNX_CONVERTER(convert_fast_gelu)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    if (rlx_onnx_has(c, 1))
        x = rlx_onnx_call2(c, "add", x, rlx_onnx_input(c, 1));
    return rlx_onnx_output(c, 0, rlx_onnx_call1(c, "nn.gelu_tanh", x));
}

RLX_ONNX_CONVERTER(convert_shrink)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    double lambd = rlx_onnx_float(c, "lambd", 0.5), bias = rlx_onnx_float(c, "bias", 0);
    if (!x)
        return false;
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    if (!rlx_dtype_is_float(t)) /* the numbers need not be whole */
        x = rlx_onnx_cast(c, x, RELAX_FLOAT64);
    const rlx_expr *zero = rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), 0);
    const rlx_expr *less = rlx_onnx_with(c, "subtract", x, bias);
    const rlx_expr *above = rlx_onnx_where(c, rlx_onnx_with(c, "greater", x, lambd), less, zero);
    const rlx_expr *more = rlx_onnx_with(c, "add", x, bias);
    const rlx_expr *y = rlx_onnx_where(c, rlx_onnx_with(c, "less", x, -lambd), more, above);
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, y, t));
}

RLX_ONNX_CONVERTER(convert_reciprocal)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    const rlx_expr *one = x ? rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), 1) : NULL;
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "divide", one, x));
}

RLX_ONNX_CONVERTER(convert_softsign)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    const rlx_expr *d = rlx_onnx_with(c, "add", rlx_onnx_call1(c, "abs", x), 1);
    return rlx_onnx_output(c, 0, rlx_onnx_call2(c, "divide", x, d));
}

RLX_ONNX_CONVERTER(convert_is_inf)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *y = rlx_onnx_call1(c, "isinf", x);
    bool above = rlx_onnx_int(c, "detect_positive", 1) != 0;
    bool below = rlx_onnx_int(c, "detect_negative", 1) != 0;
    if (!above)
        y = rlx_onnx_call2(c, "logical_and", y, rlx_onnx_with(c, "less", x, 0));
    if (!below)
        y = rlx_onnx_call2(c, "logical_and", y, rlx_onnx_with(c, "greater", x, 0));
    return rlx_onnx_output(c, 0, y);
}

/* ---- dtypes ------------------------------------------------------------------------------------ */

/* Sizes stay sizes as long as they are integers. */
static bool cast_to(rlx_onnx_conv *c, rlx_dtype t)
{
    const rlx_onnx_value *v = c->num_inputs ? c->inputs[0] : NULL;
    if (v && v->has_ints && (t == RELAX_INT64 || t == RELAX_INT32) && v->dtype != RELAX_BOOL)
        return rlx_onnx_output_ints(c, 0, v->ints, v->num_ints, v->is_scalar, t);
    const rlx_expr *x = rlx_onnx_input(c, 0);
    if (x && t == RELAX_BOOL && rlx_onnx_dtype_of(c, x) != RELAX_BOOL)
        return rlx_onnx_output(c, 0, rlx_onnx_with(c, "not_equal", x, 0));
    if (x && rlx_dtype_is_float(t) && rlx_dtype_bits(t) == 8 && rlx_onnx_int(c, "saturate", 1)) {
        double most = rlx_dtype_greatest(t);
        if (!rlx_dtype_is_float(rlx_onnx_dtype_of(c, x)))
            x = rlx_onnx_cast(c, x, RELAX_FLOAT32);
        x = rlx_onnx_with(c, "minimum", rlx_onnx_with(c, "maximum", x, -most), most);
    }
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, x, t));
}

/* To a type without a dtype. */
static bool cast_to_narrow(rlx_onnx_conv *c, int64_t to)
{
    rlx_slice mode = rlx_onnx_string(c, "round_mode", "up");
    if (!rlx_slice_is(mode, "up") && !rlx_slice_is(mode, "down") && !rlx_slice_is(mode, "nearest"))
        return rlx_onnx_fail(c, RLX_ON05, "there is no such round_mode") != NULL;
    const rlx_expr *x = rlx_onnx_input(c, 0);
    if (rlx_onnx_narrow_of(c, 0) != to)
        x = rlx_onnx_to_narrow(c, to, x, rlx_onnx_int(c, "saturate", 1) != 0, *mode.data);
    rlx_onnx_value v = { .expr = x, .narrow = (uint8_t)to };
    return x && rlx_onnx_output_value(c, 0, &v);
}

/* Names of types, as the first versions have them; else the number. */
static int64_t data_type_of(rlx_onnx_conv *c, const char *name)
{
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, name);
    if (a && a->s.len)
        for (int64_t i = 1; i < 29; i++)
            if (rlx_slice_is(a->s, rlx_onnx_dtype_name(i)))
                return i;
    return a ? a->i : 0;
}

RLX_ONNX_CONVERTER(convert_cast)
{
    rlx_dtype t;
    int64_t to = data_type_of(c, "to");
    if (!rlx_onnx_dtype(to, &t))
        return rlx_onnx_fail(c, RLX_ON06, "elements of type %s (%lld) are not supported",
                             rlx_onnx_dtype_name(to), (long long)to) != NULL;
    return rlx_onnx_is_narrow(to) ? cast_to_narrow(c, to) : cast_to(c, t);
}

RLX_ONNX_CONVERTER(convert_cast_like)
{
    int64_t to = rlx_onnx_narrow_of(c, 1);
    if (to)
        return cast_to_narrow(c, to);
    const rlx_expr *like = rlx_onnx_input(c, 1);
    return like && cast_to(c, rlx_onnx_dtype_of(c, like));
}
