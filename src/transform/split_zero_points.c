/*- split_zero_points: products of bytes less their zero points become products of bytes, and sums of them.
 *
 *     a = astype(x, int32) - s                                y = matmul(x, w, int32)
 *     b = astype(w, int32) - t        x, w: int8, uint8 ->    z = y - s * (column sums of w) - (row sums of a) * t
 *     z = matmul(a, b)
 *
 *     sum (x - s)(w - t)  =  sum x w  -  s sum w  -  t sum (x - s)          in 32 bits, which wrap around
 *
 * So do convolutions, which are padded with the zero point first. Sums of bytes have tiles (micro/dot_text.h) that are several
 * times as fast as those of 32 bits, and weights stay bytes. Constants of 32 bits that bytes and a zero point can hold become
 * those. Convolutions in groups of few channels have no such tiles; they are computed in float32 where every sum is below 2^24
 * and so exact. needs: normal form, struct info. keeps: all numbers. What nothing reads any more goes, so
 * that weights of 32 bits are not computed. stops at: zero points that are not the same for all that
 * is summed up, vectors, layouts in blocks, groups of weights with zero points, zero points around data that cannot hold them.
 */
/* built for size */
#include "transform/edit.h"
#include "transform/transform_int.h"

enum {
    MOST_AXES = 5,               /* of a convolution */
    FEW_CHANNELS = 8,            /* of a group; fewer have no tiles */
    EXACT_IN_FLOAT = 1 << 24,
    MOST_ONES = 1 << 20          /* bytes of a constant */
};

typedef struct splitting {
    const rlx_module *module;
    rlx_env env;
    const rlx_op_row *matmul, *conv[3];
    rlx_ptrmap values;           /* variable of the function under way -> its value, a call */
    rlx_written written;
    bool is_off;                 /* what the binding under way reads is written somewhere */
} splitting;

/* An operand: x less zero. */
typedef struct bytes {
    const rlx_expr *x, *zero;    /* zero: int32, NULL if it is 0 */
    rlx_dtype dtype;             /* of x */
    const rlx_expr *centred;     /* the difference, int32 */
    const rlx_tensor_sinfo *info; /* of the difference */
    int64_t bound;               /* no element of the difference is farther from 0; 0: not known */
} bytes;

/* The call under way. */
typedef struct product {
    rlx_mutator *m;
    rlx_context *ctx;
    const rlx_call *call;
    rlx_place place;
    bytes a, b;
} product;

/* ---- making calls ------------------------------------------------------------------------------- */

static const rlx_expr *bind(product *p, const rlx_expr *e)
{
    rlx_emit how = { .number = -1, .place = p->place };
    return e ? (const rlx_expr *)rlx_builder_emit(p->m->builder, e, &how) : NULL;
}

/* A call. format: that of rlx_call_op_words; NULL if an expression is. */
static const rlx_expr *call(product *p, const char *op, const char *format, va_list *args)
{
    const rlx_op_row *row = rlx_op_find(rlx_slice_z(op));
    return row ? rlx_call_op_words(p->ctx, row, p->place, format, args)
               : RLX_BUG(p->ctx, "operator %s has no row", op);
}

static const rlx_expr *value(product *p, const char *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const rlx_expr *e = call(p, op, format, &args);
    va_end(args);
    return e;
}

/* The same, bound to a variable. */
static const rlx_expr *make(product *p, const char *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const rlx_expr *e = bind(p, call(p, op, format, &args));
    va_end(args);
    return e;
}

/* y (a call, or a variable if there are products) less products. */
typedef struct term { const rlx_expr *a, *b; } term;

static const rlx_expr *less_products(product *p, const rlx_expr *y, const term *terms, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* first, as the order of arguments is the compiler's */
        const rlx_expr *less = make(p, "multiply", "x x", terms[i].a, terms[i].b);
        y = value(p, "subtract", "x x", rlx_as_var(y) ? y : bind(p, y), less);
    }
    return y;
}

static const rlx_expr *scalar(product *p, int32_t v)
{
    return rlx_constant_new(p->ctx, RELAX_INT32, NULL, 0, &v, p->place);
}

/* A constant of int32 or bytes, all elements 1 */
static const rlx_expr *ones(product *p, const int64_t *shape, size_t ndim)
{
    size_t count = 1;
    for (size_t i = 0; i < ndim; i++)
        if (!rlx_mul_size(count, (size_t)shape[i], &count))
            return NULL;
    rlx_blob *data = rlx_blob_create(&p->ctx->memory, NULL, count);
    if (!data)
        return NULL;
    memset(data->data, 1, count);
    const rlx_expr *e = rlx_constant_blob(p->ctx, RELAX_INT8, shape, ndim, data, p->place);
    rlx_blob_release(data);
    return e;
}

/* In the top layer. */
static void *top_array(rlx_context *ctx, size_t count, size_t size)
{
    return rlx_mul_size(count, size, &size) ? rlx_new(ctx, size) : NULL;
}

/* ---- constants ---------------------------------------------------------------------------------- */

static bool is_byte(rlx_dtype t) { return t == RELAX_INT8 || t == RELAX_UINT8; }

static size_t element_count(const rlx_constant *c)
{
    size_t size = rlx_dtype_bytes(c->dtype);
    return size ? c->data->size / size : 0;
}

static int32_t element(const void *data, rlx_dtype t, size_t i)
{
    return t == RELAX_INT8    ? ((const int8_t *)data)[i]
           : t == RELAX_UINT8 ? ((const uint8_t *)data)[i]
                              : ((const int32_t *)data)[i];
}

static const rlx_expr *value_of(const product *p, const rlx_expr *e)
{
    return rlx_as_var(e) ? rlx_builder_lookup(p->m->builder, rlx_as_var(e)) : e;
}

static const rlx_constant *constant_of(const product *p, const rlx_expr *e)
{
    const rlx_expr *v = value_of(p, e);
    const rlx_constant *c = v ? rlx_as_constant(v) : NULL;
    return c && !c->sharding && (is_byte(c->dtype) || c->dtype == RELAX_INT32) ? c : NULL;
}

static const rlx_call *call_of(const product *p, const rlx_expr *e, const char *op)
{
    const rlx_expr *v = value_of(p, e);
    const rlx_op_row *row = v ? rlx_callee_op(v) : NULL;
    return row && row == rlx_op_find(rlx_slice_z(op)) ? (const rlx_call *)v : NULL;
}

/* The limits of a constant's elements. False: there are none, or it is out of memory. */
static bool limits_of(product *p, const rlx_constant *c, int32_t *low, int32_t *high)
{
    size_t n = element_count(c);
    const void *data = n ? rlx_aligned_content(p->ctx, c) : NULL;
    if (!data)
        return false;
    *low = *high = element(data, c->dtype, 0);
    for (size_t i = 1; i < n; i++) {
        int32_t v = element(data, c->dtype, i);
        *low = v < *low ? v : *low;
        *high = v > *high ? v : *high;
    }
    return true;
}

/* Of each place along `axis`: the constant seen as (outer, size, inner). */
typedef struct lanes { size_t outer, size, inner; } lanes;

static lanes lanes_of(const rlx_constant *c, size_t axis)
{
    lanes l = { 1, (size_t)c->shape[axis], 1 };
    for (size_t i = 0; i < c->num_shape; i++)
        if (i != axis)
            *(i < axis ? &l.outer : &l.inner) *= (size_t)c->shape[i];
    return l;
}

/* c, of 32 bits, as bytes (uint8) more than `least` of each lane. */
static const rlx_expr *stored_above(product *p, const rlx_constant *c, lanes l, const int32_t *least,
                                    rlx_dtype dtype)
{
    const int32_t *data = rlx_aligned_content(p->ctx, c);
    rlx_blob *out = data ? rlx_blob_create(&p->ctx->memory, NULL, element_count(c)) : NULL;
    uint8_t *to = out ? out->data : NULL;
    for (size_t o = 0; out && o < l.outer; o++)
        for (size_t j = 0; j < l.size; j++)
            for (size_t i = 0; i < l.inner; i++)
                *to++ = (uint8_t)(*data++ - least[j]);
    const rlx_expr *e =
        out ? rlx_constant_blob(p->ctx, dtype, c->shape, c->num_shape, out, p->place) : NULL;
    rlx_blob_release(out);
    return e;
}

/* The least element of each lane, in the top layer. NULL: the elements of one do not fit into bytes, or out of memory. */
static int32_t *least_of_lanes(product *p, const rlx_constant *c, lanes l)
{
    const int32_t *data = rlx_aligned_content(p->ctx, c);
    int32_t *low = top_array(p->ctx, 2 * l.size, sizeof *low), *high = low ? low + l.size : NULL;
    if (!data || !low)
        return NULL;
    for (size_t j = 0; j < l.size; j++)
        low[j] = high[j] = data[j * l.inner];
    for (size_t o = 0; o < l.outer; o++)
        for (size_t j = 0; j < l.size; j++)
            for (size_t i = 0; i < l.inner; i++, data++) {
                low[j] = *data < low[j] ? *data : low[j];
                high[j] = *data > high[j] ? *data : high[j];
            }
    for (size_t j = 0; j < l.size; j++)
        if ((int64_t)high[j] - low[j] > UINT8_MAX || low[j] == INT32_MIN)
            return NULL;
    return low;
}

/* c, of 32 bits, as bytes and a zero point: none if it can be, else one, else one for each lane along `axis`. */
static bool narrow(product *p, const rlx_constant *c, size_t axis, bytes *out)
{
    int32_t low, high, none = 0;
    lanes all = { 1, 1, element_count(c) };
    if (!limits_of(p, c, &low, &high))
        return false;
    int64_t below = -(int64_t)low, above = high;
    out->bound = below > above ? below : above;
    out->dtype = RELAX_UINT8;
    if ((low >= INT8_MIN && high <= INT8_MAX) || (low >= 0 && high <= UINT8_MAX)) {
        out->dtype = low < 0 ? RELAX_INT8 : RELAX_UINT8;
        out->x = stored_above(p, c, all, &none, out->dtype);
        return out->x != NULL;
    }
    if (above + below <= UINT8_MAX && low > INT32_MIN) {
        out->x = stored_above(p, c, all, &low, RELAX_UINT8);
        out->zero = scalar(p, -low);
        return out->x && out->zero;
    }
    int64_t shape[RLX_PASS_MAX_RANK];
    lanes l = lanes_of(c, axis);
    int32_t *least = least_of_lanes(p, c, l);
    if (!least)
        return false;
    out->x = stored_above(p, c, l, least, RELAX_UINT8);
    for (size_t i = 0; i < c->num_shape; i++)
        shape[i] = i == axis ? c->shape[i] : 1;
    for (size_t j = 0; j < l.size; j++)
        least[j] = -least[j];
    out->zero = rlx_constant_new(p->ctx, RELAX_INT32, shape, c->num_shape, least, p->place);
    return out->x && out->zero;
}

/* Sums of a constant over those axes that are not kept, of the shape that is given. */
static const rlx_expr *sums_of_constant(product *p, const rlx_constant *c, const bool *kept,
                                        const int64_t *shape, size_t ndim)
{
    size_t stride[RLX_PASS_MAX_RANK], at[RLX_PASS_MAX_RANK] = { 0 }, count = 1, to = 0;
    for (size_t i = c->num_shape; i-- > 0;) {
        stride[i] = kept[i] ? count : 0;
        count *= kept[i] ? (size_t)c->shape[i] : 1;
    }
    const void *data = rlx_aligned_content(p->ctx, c);
    uint32_t *sums = top_array(p->ctx, count, sizeof *sums);
    if (!data || !sums)
        return NULL;
    memset(sums, 0, count * sizeof *sums);
    for (size_t i = 0, n = element_count(c); i < n; i++) {
        sums[to] += (uint32_t)element(data, c->dtype, i);
        for (size_t d = c->num_shape; d-- > 0;) {
            to += stride[d];
            if (++at[d] < (size_t)c->shape[d])
                break;
            to -= stride[d] * at[d];
            at[d] = 0;
        }
    }
    return rlx_constant_new(p->ctx, RELAX_INT32, shape, ndim, sums, p->place);
}

/* ---- operands ----------------------------------------------------------------------------------- */

static const rlx_tensor_sinfo *info_of(const product *p, const rlx_expr *e)
{
    const splitting *s = p->m->user;
    return e ? rlx_as_tensor_sinfo(rlx_leaf_sinfo(p->ctx, &s->env, e)) : NULL;
}

static bool same_shape(const rlx_tensor_sinfo *a, const rlx_tensor_sinfo *b)
{
    size_t n, m;
    const rlx_prim *const *da = a ? rlx_shape_dims(a->shape, &n) : NULL,
                           *const *db = b ? rlx_shape_dims(b->shape, &m) : NULL;
    bool same = da && db && n == m;
    for (size_t i = 0; same && i < n; i++)
        same = da[i] == db[i];
    return same;
}

/* Is the zero point the same along this axis of something of that rank? */
static bool is_same_along(const product *p, const rlx_expr *zero, int ndim, int axis)
{
    size_t n;
    const rlx_tensor_sinfo *t = info_of(p, zero);
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &n) : NULL;
    int at = dims ? axis - (ndim - (int)n) : 0;
    return dims && (int)n <= ndim && (at < 0 || rlx_is_int_value(dims[at], 1));
}

static bool is_same_everywhere(const product *p, const rlx_expr *zero, int ndim, int except)
{
    bool is = true;
    for (int i = 0; i < ndim && is; i++)
        is = i == except || is_same_along(p, zero, ndim, i);
    return is;
}

/* A variable of a block can be named where `like`, which was made of it, is used. */
static bool is_visible(const rlx_expr *e, const rlx_expr *like)
{
    return e->kind != RLX_NODE_DATAFLOW_VAR || like->kind == RLX_NODE_DATAFLOW_VAR;
}

/* The bytes that e, of 32 bits, is: astype of them, or a constant. */
static bool widened(product *p, const rlx_expr *e, size_t axis, bytes *out)
{
    const rlx_call *cast = call_of(p, e, "astype");
    const rlx_constant *c = cast ? NULL : constant_of(p, e);
    const rlx_tensor_sinfo *t = cast ? info_of(p, cast->args[0]) : NULL;
    if (c)
        return c->dtype == RELAX_INT32 && c->num_shape <= RLX_PASS_MAX_RANK && narrow(p, c, axis, out);
    if (!t || !is_byte(t->dtype) || !is_visible(cast->args[0], e))
        return false;
    out->x = cast->args[0];
    out->dtype = t->dtype;
    out->bound = t->dtype == RELAX_INT8 ? -INT8_MIN : UINT8_MAX;
    return true;
}

/* What is known of the zero point of bytes that are at most `bound` themselves. */
static void look_at_zero(product *p, bytes *b)
{
    const rlx_call *cast = call_of(p, b->zero, "astype");
    const rlx_constant *c = constant_of(p, cast ? cast->args[0] : b->zero);
    const rlx_tensor_sinfo *from = cast ? info_of(p, cast->args[0]) : NULL;
    int32_t low, high;
    if (c && limits_of(p, c, &low, &high)) {
        int64_t most = high > -(int64_t)low ? high : -(int64_t)low;
        b->bound += most;
        if (!low && !high)
            b->zero = NULL;
    } else
        b->bound = from && is_byte(from->dtype) ? b->bound + UINT8_MAX : 0;
}

/* e, of 32 bits, as bytes less a zero point. axis: that along which constants may have one each. */
static bool find_bytes(product *p, const rlx_expr *e, size_t axis, bytes *out)
{
    const rlx_call *less = call_of(p, e, "subtract");
    *out = (bytes){ .centred = e, .info = info_of(p, e) };
    if (!out->info || out->info->dtype != RELAX_INT32 || out->info->ndim <= (int)axis)
        return false;
    if (!less)
        return widened(p, e, axis, out) && same_shape(out->info, info_of(p, out->x));
    if (!widened(p, less->args[0], axis, out) || out->zero || !is_visible(out->x, e) ||
        !is_visible(less->args[1], e) || !same_shape(out->info, info_of(p, out->x)))
        return false;
    out->zero = less->args[1];
    look_at_zero(p, out);
    return true;
}

/* ---- matmul ------------------------------------------------------------------------------------- */

/* Sums of b over its last axis but one, which stays with size 1. */
static const rlx_expr *column_sums(product *p)
{
    const rlx_constant *c = constant_of(p, p->b.x);
    size_t n = (size_t)p->b.info->ndim, count;
    const rlx_prim *const *dims = rlx_shape_dims(p->b.info->shape, &count), *two[2];
    bool kept[RLX_PASS_MAX_RANK];
    int64_t shape[RLX_PASS_MAX_RANK];
    for (size_t i = 0; i < n && c; i++) {
        kept[i] = i + 2 != n;
        shape[i] = kept[i] ? c->shape[i] : 1;
    }
    if (c)
        return sums_of_constant(p, c, kept, shape, n);
    two[0] = rlx_int64(p->ctx, 1);
    two[1] = dims[n - 2];
    const rlx_expr *one = make(p, "ones", "x dtype=d", rlx_shape_new(p->ctx, two, 2), RELAX_INT8);
    return make(p, "matmul", "x x out_dtype=d", one, p->b.x, RELAX_INT32);
}

/* Sums of a less its zero point over its last axis, which stays with size 1: bytes times ones have tiles, of more rows than one. */
static const rlx_expr *row_sums(product *p)
{
    static const int64_t last = -1;
    size_t n;
    const rlx_prim *const *dims = rlx_shape_dims(p->a.info->shape, &n);
    int64_t shape[2] = { 0, 1 };
    if (!rlx_int_literal(dims[n - 1], &shape[0]) || shape[0] < 1 || shape[0] > MOST_ONES || rlx_is_int_value(dims[n - 2], 1))
        return make(p, "sum", "x axis=I keepdims=b", p->a.centred, &last, (size_t)1, 1);
    const term all = { p->a.zero, scalar(p, (int32_t)shape[0]) };
    const rlx_expr *y = value(p, "matmul", "x x out_dtype=d", p->a.x, ones(p, shape, 2), RELAX_INT32);
    return bind(p, less_products(p, y, &all, p->a.zero ? 1 : 0));
}

static const rlx_expr *split_matmul(product *p)
{
    const rlx_tensor_sinfo *a = info_of(p, p->call->args[0]), *b = info_of(p, p->call->args[1]);
    if (!a || !b || a->ndim < 2 || b->ndim < 2 || a->ndim > RLX_PASS_MAX_RANK || b->ndim > RLX_PASS_MAX_RANK ||
        !find_bytes(p, p->call->args[0], (size_t)a->ndim - 2, &p->a) ||
        !find_bytes(p, p->call->args[1], (size_t)b->ndim - 1, &p->b))
        return &p->call->node;
    if ((p->a.zero && !is_same_along(p, p->a.zero, a->ndim, a->ndim - 1)) ||
        (p->b.zero && !is_same_along(p, p->b.zero, b->ndim, b->ndim - 2)))
        return &p->call->node;
    term terms[2];
    size_t count = 0;
    const rlx_expr *y = value(p, "matmul", "x x out_dtype=d", p->a.x, p->b.x, RELAX_INT32);
    if (p->b.zero) /* what follows is fused with the first product */
        y = bind(p, y);
    if (p->a.zero)
        terms[count++] = (term){ p->a.zero, column_sums(p) };
    if (p->b.zero)
        terms[count++] = (term){ row_sums(p), p->b.zero };
    return less_products(p, y, terms, count);
}

/* ---- convolutions ------------------------------------------------------------------------------- */

typedef struct window {
    int axes;                                /* of all three tensors */
    int output, weight_input;                /* axes of the weight */
    int channel;                             /* axis of data and result */
    int64_t weight[MOST_AXES];               /* sizes of the weight */
    int64_t depth;                           /* products in a sum */
    int64_t groups;
    int64_t pads[2 * MOST_AXES];             /* for each axis of data, before and after */
    bool is_padded;
} window;

static int axis_called(rlx_slice layout, char name)
{
    const char *at = memchr(layout.data, name, layout.len);
    return at ? (int)(at - layout.data) : -1;
}

/* One letter for each axis, none of them divided? */
static bool is_plain(rlx_slice layout, size_t axes)
{
    bool plain = layout.len == axes;
    for (size_t i = 0; plain && i < axes; i++)
        plain = layout.data[i] >= 'A' && layout.data[i] <= 'Z';
    return plain;
}

static bool read_pads(const rlx_call *call, rlx_slice layout, window *w)
{
    const rlx_attr *padding = rlx_call_attr(call, "padding");
    size_t n = rlx_attr_count(padding), spatial = layout.len - 2, at = 0;
    if (n != 1 && n != spatial && n != 2 * spatial)
        return false;
    for (size_t i = 0; i < layout.len; i++) {
        if (layout.data[i] == 'N' || layout.data[i] == 'C')
            continue;
        w->pads[2 * i] = rlx_attr_item(padding, n == 1 ? 0 : at);
        w->pads[2 * i + 1] = rlx_attr_item(padding, n == 1 ? 0 : n == spatial ? at : at + spatial);
        w->is_padded |= w->pads[2 * i] || w->pads[2 * i + 1];
        at++;
    }
    return true;
}

/* False: it is not of the kind that can be split. */
static bool read_window(product *p, window *w)
{
    const rlx_tensor_sinfo *a = info_of(p, p->call->args[0]), *b = info_of(p, p->call->args[1]);
    rlx_slice data = rlx_attr_text(rlx_call_attr(p->call, "data_layout")),
              weight = rlx_attr_text(rlx_call_attr(p->call, "kernel_layout")),
              out = rlx_attr_text(rlx_call_attr(p->call, "out_layout"));
    size_t n = a && b && a->ndim == b->ndim && a->ndim <= MOST_AXES ? (size_t)a->ndim : 0, count;
    const rlx_prim *const *dims = n ? rlx_shape_dims(b->shape, &count) : NULL;
    *w = (window){ .axes = (int)n, .depth = 1,
                   .groups = rlx_attr_as_int(rlx_call_attr(p->call, "groups"), 1) };
    if (!dims || n < 3 || !is_plain(data, n) || !is_plain(weight, n) ||
        (out.len && !rlx_slice_equal(out, data)))
        return false;
    w->output = axis_called(weight, 'O');
    w->channel = axis_called(data, 'C');
    if (w->output < 0 || w->channel < 0 || axis_called(data, 'N') < 0 || axis_called(weight, 'I') < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!rlx_int_literal(dims[i], &w->weight[i]) || w->weight[i] < 1 ||
            ((int)i != w->output && !rlx_mul_i64(w->depth, w->weight[i], &w->depth)))
            return false;
    return read_pads(p->call, data, w);
}

/* The same convolution of other operands, a call. padding false: there is none. */
static const rlx_expr *convolve(product *p, const window *w, const rlx_expr *x, const rlx_expr *weight,
                                bool padding, rlx_dtype dtype)
{
    static const int64_t none[2 * MOST_AXES] = { 0 };
    const rlx_expr *args[2] = { x, weight };
    const rlx_attr *attrs = rlx_attrs_with(p->ctx, p->call->attrs, "out_dtype", rlx_attr_dtype_new(p->ctx, dtype));
    if (!padding)
        attrs = attrs ? rlx_attrs_with(p->ctx, attrs, "padding",
                                       rlx_ints_attr(p->ctx, none, 2 * (size_t)(w->axes - 2)))
                      : NULL;
    return attrs && x && weight ? rlx_call_new(p->ctx, p->call->op, args, 2, NULL, 0, attrs, p->place)
                                : NULL;
}

/* Can data hold its zero point? */
static bool holds_zero(product *p)
{
    rlx_dtype t = p->a.dtype;
    const rlx_call *cast = call_of(p, p->a.zero, "astype");
    const rlx_constant *zero = constant_of(p, p->a.zero);
    const rlx_tensor_sinfo *from = cast ? info_of(p, cast->args[0]) : NULL;
    int32_t low, high;
    if (zero)
        return limits_of(p, zero, &low, &high) && low >= (t == RELAX_INT8 ? INT8_MIN : 0) &&
               high <= (t == RELAX_INT8 ? INT8_MAX : UINT8_MAX);
    return from && from->dtype == t;
}

/* Data with its zero point around it. */
static const rlx_expr *padded(product *p, const window *w)
{
    const rlx_constant *zero = constant_of(p, p->a.zero);
    size_t n = 2 * (size_t)w->axes;
    int32_t low, high;
    if (zero && limits_of(p, zero, &low, &high))
        return make(p, "nn.pad", "x pad_width=I pad_value=f", p->a.x, w->pads, n, (double)low);
    const rlx_expr *x = make(p, "nn.pad", "x pad_width=I", p->a.centred, w->pads, n);
    return make(p, "astype", "x dtype=d", make(p, "add", "x x", x, p->a.zero), p->a.dtype);
}

/* A vector of output channels as it lies along those of the result */
static const rlx_expr *along_channels(product *p, const window *w, const rlx_expr *v)
{
    int64_t axis = w->channel;
    const rlx_expr *e = v ? rlx_spread_along(p->ctx, v, (size_t)w->axes, &axis, 1, p->place) : NULL;
    return e == v ? e : bind(p, e);
}

/* The sum of the weights of each output channel */
static const rlx_expr *weight_sums(product *p, const window *w)
{
    const rlx_constant *c = constant_of(p, p->b.x);
    bool kept[MOST_AXES];
    int64_t shape[MOST_AXES], others[MOST_AXES];
    size_t count = 0;
    for (int i = 0; i < w->axes; i++) {
        kept[i] = i == w->output;
        shape[i] = i == w->channel ? w->weight[w->output] : 1;
        if (!kept[i])
            others[count++] = i;
    }
    if (c)
        return sums_of_constant(p, c, kept, shape, (size_t)w->axes);
    const rlx_expr *wide = make(p, "astype", "x dtype=d", p->b.x, RELAX_INT32);
    return along_channels(p, w, make(p, "sum", "x axis=I", wide, others, count));
}

/* The zero points of the weights along the channels of the result */
static const rlx_expr *weight_zeros(product *p, const window *w)
{
    const rlx_prim *count = rlx_int64(p->ctx, w->weight[w->output]);
    if (is_same_everywhere(p, p->b.zero, w->axes, -1))
        return p->b.zero;
    return along_channels(p, w, make(p, "reshape", "x x", p->b.zero, rlx_shape_new(p->ctx, &count, 1)));
}

/* The sums of the windows of data less their zero point: those of a weight of ones. */
static const rlx_expr *window_sums(product *p, const window *w, const rlx_expr *x, bool padding)
{
    int64_t shape[MOST_AXES];
    for (int i = 0; i < w->axes; i++)
        shape[i] = i == w->output ? 1 : w->weight[i];
    const term all = { p->a.zero, scalar(p, (int32_t)(uint32_t)w->depth) };
    const rlx_expr *y = convolve(p, w, x, ones(p, shape, (size_t)w->axes), padding, RELAX_INT32);
    return bind(p, less_products(p, y, &all, p->a.zero ? 1 : 0));
}

/* Is every sum of the convolution an integer that float32 holds? */
static bool is_exact(const product *p, const window *w)
{
    int64_t most;
    return p->a.bound && p->b.bound && rlx_mul_i64(p->a.bound, p->b.bound, &most) &&
           rlx_mul_i64(most, w->depth, &most) && most < EXACT_IN_FLOAT;
}

static const rlx_expr *split_conv(product *p)
{
    window w;
    if (!read_window(p, &w) || !find_bytes(p, p->call->args[0], (size_t)w.channel, &p->a) ||
        !find_bytes(p, p->call->args[1], (size_t)w.output, &p->b))
        return &p->call->node;
    if (w.groups > 1 && w.weight[w.output] / w.groups < FEW_CHANNELS) {
        if (!is_exact(p, &w))
            return &p->call->node;
        const rlx_expr *x = make(p, "astype", "x dtype=d", p->a.centred, RELAX_FLOAT32);
        const rlx_expr *weight = make(p, "astype", "x dtype=d", p->b.centred, RELAX_FLOAT32);
        return value(p, "astype", "x dtype=d", bind(p, convolve(p, &w, x, weight, true, RELAX_FLOAT32)), RELAX_INT32);
    }
    if ((p->a.zero && !is_same_everywhere(p, p->a.zero, w.axes, -1)) ||
        (p->b.zero && (w.groups > 1 || !is_same_everywhere(p, p->b.zero, w.axes, w.output))))
        return &p->call->node;
    bool fills = p->a.zero && w.is_padded;
    if (fills && !holds_zero(p))
        return &p->call->node;
    const rlx_expr *x = fills ? padded(p, &w) : p->a.x;
    term terms[2];
    size_t count = 0;
    if (p->a.zero)
        terms[count++] = (term){ p->a.zero, weight_sums(p, &w) };
    if (p->b.zero) {
        const rlx_expr *sums = window_sums(p, &w, x, !fills);
        terms[count++] = (term){ sums, weight_zeros(p, &w) };
    }
    return less_products(p, convolve(p, &w, x, p->b.x, !fills, RELAX_INT32), terms, count);
}

/* ---- functions ---------------------------------------------------------------------------------- */

/* Is it a product whose sums have 32 bits? */
static bool is_candidate(const splitting *s, const rlx_expr *e, const rlx_op_row *row)
{
    const rlx_call *call = row ? (const rlx_call *)e : NULL;
    bool is = row && (row == s->matmul || row == s->conv[0] || row == s->conv[1] || row == s->conv[2]);
    rlx_dtype stated = is ? rlx_attr_as_dtype(rlx_call_attr(call, "out_dtype")) : RELAX_VOID;
    return is && (stated == RELAX_VOID || stated == RELAX_INT32);
}

static bool is_of_words(const splitting *s, rlx_context *ctx, const rlx_call *call)
{
    for (size_t i = 0; i < 2; i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(rlx_leaf_sinfo(ctx, &s->env, call->args[i]));
        if (!t || t->dtype != RELAX_INT32)
            return false;
    }
    return true;
}

static bool look_at_binding(splitting *s, rlx_context *ctx, const rlx_binding *b, bool *keep)
{
    const rlx_expr *e = rlx_binding_value(b);
    const rlx_var *v = rlx_binding_var(b);
    const rlx_op_row *row = rlx_callee_op(e);
    *keep &= !is_candidate(s, e, row) || !is_of_words(s, ctx, (const rlx_call *)e);
    return !row || !v || rlx_ptrmap_put(&s->values, v, (uintptr_t)e);
}

/* Functions without such products stay as they are. */
static const rlx_function *look_at_function(rlx_mutator *m, const rlx_function *f, bool *keep)
{
    splitting *s = m->user;
    enum rlx_event_kind event;
    rlx_body_walk w = { 0 };
    *keep = true;
    rlx_ptrmap_clear(&s->values);
    bool good = rlx_body_begin(&w, m->ctx, f->body);
    while (good && (event = rlx_body_next(&w)) != RLX_EVENT_DONE) {
        const rlx_seq_cursor *at = &rlx_body_top(&w)->at;
        if (event == RLX_EVENT_VALUE)
            good = rlx_body_into(&w);
        else if (event == RLX_EVENT_BIND)
            good = look_at_binding(s, m->ctx, at->binding, keep);
    }
    rlx_body_free(&w);
    good = good && (*keep || rlx_find_written(m->ctx, s->module, &s->written));
    return good ? f : NULL;
}

static enum rlx_begin begin_binding(rlx_mutator *m, const rlx_binding *old, rlx_place *place)
{
    splitting *s = m->user;
    const rlx_expr *e = rlx_binding_value(old);
    (void)place;
    s->is_off = is_candidate(s, e, rlx_callee_op(e)) &&
                (rlx_reads_written(&s->written, &s->values, ((const rlx_call *)e)->args[0], 2) ||
                 rlx_reads_written(&s->written, &s->values, ((const rlx_call *)e)->args[1], 2));
    return RLX_BEGIN_REWRITE;
}

static const rlx_expr *split_product(rlx_mutator *m, const rlx_expr *now)
{
    const splitting *s = m->user;
    const rlx_op_row *row = rlx_callee_op(now);
    if (s->is_off || !is_candidate(s, now, row) || !is_of_words(s, m->ctx, (const rlx_call *)now))
        return now;
    product p = { .m = m, .ctx = m->ctx, .call = (const rlx_call *)now, .place = ((const rlx_call *)now)->place };
    return row == s->matmul ? split_matmul(&p) : split_conv(&p);
}

const rlx_module *rlx_pass_split_zero_points(rlx_pass_run *run, const rlx_module *m)
{
    rlx_mutator_hooks hooks = { .begin = begin_binding, .leave = split_product };
    splitting s = { .module = m,
                    .env = rlx_module_env(m),
                    .matmul = rlx_op_find(RLX_SLICE("matmul")),
                    .conv = { rlx_op_find(RLX_SLICE("nn.conv1d")), rlx_op_find(RLX_SLICE("nn.conv2d")),
                              rlx_op_find(RLX_SLICE("nn.conv3d")) } };
    rlx_mutation how = { .hooks = &hooks, .user = &s, .enter = look_at_function };
    rlx_ptrmap_init(&s.values, &run->ctx->memory);
    const rlx_module *out = rlx_mutate_module(run->ctx, m, &how);
    rlx_written_free(&s.written);
    rlx_ptrmap_free(&s.values);
    return out && out != m ? rlx_pass_dead_code_elimination(run, out) : out;
}
