/* layout_gain.c: what channels last are worth: tables of what was measured on kernels of this library (AVX2, one thread), each a share of a
 * time that is known from sizes.
 *
 * Sums over channels of single pixels read and write runs of channels instead of planes of pixels, which are no whole vectors where pictures
 * are small. Windows of several channels are the same either way, but for few channels. Windows of one channel (depthwise) have lanes
 * that are channels in place of places in a row: worth it where rows are short.
 */
#include "transform/layout_gain.h"

enum { AXES = 4 };               /* convolutions of other ranks are not known */

typedef struct sizes { int64_t n, c, h, w; } sizes;

/* A limit and what holds from there on, of tables that end with 0. */
typedef struct step { int64_t from; double share; } step;

static double share_of(const step *table, int64_t value)
{
    while (table->from > value)
        table++;
    return table->share;
}

/* Sizes of a tensor by the letters of a layout; an unknown batch counts as 1. False: another is not known. */
static bool sizes_of(const rlx_sinfo *s, rlx_slice layout, sizes *out)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    size_t count = 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &count) : NULL;
    *out = (sizes){ 1, 1, 1, 1 };
    if (!dims || count != AXES || layout.len != AXES || t->dtype != RELAX_FLOAT32)
        return false;
    for (size_t i = 0; i < AXES; i++) {
        const char letter = layout.data[i];
        int64_t *to = letter == 'N' ? &out->n : letter == 'C' || letter == 'O' ? &out->c : letter == 'H' ? &out->h : &out->w;
        if (!rlx_int_literal(dims[i], to) && letter != 'N')
            return false;
        if (*to < 1 || *to > INT32_MAX)
            return false;
    }
    return true;
}

static double elements_of(const sizes *s)
{
    return (double)s->n * (double)s->c * (double)s->h * (double)s->w;
}

/* Nothing counts for more than a second: sums of many such stay in range, and below what is asked for. */
static int64_t nanoseconds(double time)
{
    const double most = 1e9;
    return (int64_t)(time > most ? most : time < -most ? -most : time);
}

/* ---- convolutions ------------------------------------------------------------------------------- */

/* By pixels of the result, as a share of the time of the products: more channels come out than a few that go in, or not. */
static const step widening[] = { { 500, -.13 }, { 100, 0 }, { 30, .14 }, { 10, .02 }, { 0, -.3 } };
static const step narrowing[] = { { 500, .06 }, { 100, .15 }, { 30, .25 }, { 10, .01 }, { 0, -.3 } };
/* Windows of several channels: by pixels. */
static const step windows[] = { { 100, 0 }, { 0, -.2 } };
/* Windows of one channel: by the length of rows of the result, ns an element of it for a window of 3 by 3. */
static const step rows_alone[] = { { 20, -.3 }, { 10, 0 }, { 5, .4 }, { 0, .5 } };

enum { FEW_CHANNELS = 32, MANY_CHANNELS = 64 };
#define PRODUCTS_IN_NS 50.0

static double gain_of_conv(const sizes *data, const sizes *result, const sizes *weights, int64_t groups)
{
    const double window = (double)weights->h * (double)weights->w, out = elements_of(result),
                 products = out * window * (double)data->c / (double)groups / PRODUCTS_IN_NS;
    const int64_t pixels = result->h * result->w;
    if (groups == data->c && groups > 1)
        return out * share_of(rows_alone, result->w) * window / 9;
    if (groups > 1)
        return -3 * products;
    if (data->c < FEW_CHANNELS && window > 1)
        return -.3 * products;
    if (window > 1)
        return products * share_of(windows, pixels);
    return products * share_of(result->c > data->c && data->c < MANY_CHANNELS ? widening : narrowing, pixels);
}

/* ---- the others --------------------------------------------------------------------------------- */

/* ns an element of what is read: reductions and windows over planes of pixels are long runs before. */
#define OTHERS_COST .3

int64_t rlx_layout_gain(rlx_context *ctx, const rlx_env *env, const rlx_layout_turn *turn, const rlx_layout_row *row, const rlx_call *call,
                        const rlx_sinfo *result)
{
    sizes data, out, weights;
    const bool anchor = rlx_layout_is_anchor(row);
    if (rlx_layout_is_elementwise(row) || turn->rank != AXES)
        return 0;
    const rlx_tuple *joined = rlx_as_tuple(call->args[0]);
    if (!sizes_of(joined ? result : rlx_leaf_sinfo(ctx, env, call->args[0]), turn->from, &data))
        return 0;
    if (!anchor)
        return nanoseconds(-OTHERS_COST * elements_of(&data));
    if (!sizes_of(result, turn->from, &out) ||
        !sizes_of(rlx_leaf_sinfo(ctx, env, call->args[1]), rlx_attr_text(rlx_call_attr(call, "kernel_layout")), &weights))
        return 0;
    return nanoseconds(gain_of_conv(&data, &out, &weights, rlx_attr_as_int(rlx_call_attr(call, "groups"), 1)));
}

/* An element, and a kernel of its own, in ns; what computes the tensor may not be one with what reads it any more. */
#define TURN_COST .8
#define TURN_KERNEL 2000

int64_t rlx_layout_cost_of_turn(const rlx_layout_turn *turn, const rlx_sinfo *tensor)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(tensor);
    size_t count = 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &count) : NULL;
    double all = 1;
    int64_t size, last = -1;
    bool moves = false;
    for (size_t i = 0; dims && i < count && count == turn->rank; i++) {
        if (!rlx_int_literal(dims[turn->order[i]], &size))
            size = 2;
        all *= (double)size;
        moves |= size != 1 && turn->order[i] < last;
        last = size != 1 ? turn->order[i] : last;
    }
    return moves ? nanoseconds(TURN_COST * all + TURN_KERNEL) : 0;
}
