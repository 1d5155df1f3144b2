/*- layout_follow.c: what operators become when the axes of their tensors change places.
 *
 *     R.nn.batch_norm(x, ..., axis=1)                  R.nn.batch_norm(x, ..., axis=3)
 *     R.mean(x, axis=[2, 3], keepdims=True)       ->   R.mean(x, axis=[1, 2], keepdims=True)
 *     R.nn.max_pool2d(x, layout="NCHW")                R.nn.max_pool2d(x, layout="NHWC")
 *
 * An operator follows if it computes the same numbers in the same order of steps: sums over several axes do where these keep
 * their order. Operators of no row stay.
 */
#include "transform/layout_follow.h"
#include "transform/transform_int.h"

#include <string.h>

enum how {
    ANCHOR,      /* a convolution: its attribute names the axes, the weight has layouts of its own */
    NAMES,       /* an attribute names the axes of the first operand */
    EACH,        /* all operands, element by element; those of fewer axes lie along the last ones */
    ONE_AXIS,    /* an attribute is an axis of the first operand */
    CUT,         /* an attribute is the axis along which tensors are joined or cut */
    AXES,        /* an attribute lists axes of it that are reduced */
    PAIRS,       /* an attribute has two numbers for each axis of it */
    ORDER        /* permute_dims */
};

struct rlx_layout_row { const char *op, *attr; uint8_t how, result; };

static const rlx_layout_row rows[] = {
    { "nn.conv1d", "data_layout", ANCHOR, RLX_LAYOUT_FOLLOWS },
    { "nn.conv2d", "data_layout", ANCHOR, RLX_LAYOUT_FOLLOWS },
    { "nn.conv3d", "data_layout", ANCHOR, RLX_LAYOUT_FOLLOWS },
    { "nn.max_pool1d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "nn.max_pool2d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "nn.max_pool3d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "nn.avg_pool1d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "nn.avg_pool2d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "nn.avg_pool3d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "nn.adaptive_avg_pool1d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "nn.adaptive_avg_pool2d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "nn.adaptive_avg_pool3d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "image.resize2d", "layout", NAMES, RLX_LAYOUT_FOLLOWS },
    { "nn.batch_norm", "axis", ONE_AXIS, RLX_LAYOUT_FIRST_FIELD },
    { "nn.prelu", "axis", ONE_AXIS, RLX_LAYOUT_FOLLOWS },
    { "quantize", "axis", ONE_AXIS, RLX_LAYOUT_FOLLOWS },
    { "dequantize", "axis", ONE_AXIS, RLX_LAYOUT_FOLLOWS },
    { "concat", "axis", CUT, RLX_LAYOUT_FOLLOWS },
    { "split", "axis", CUT, RLX_LAYOUT_FIELDS },
    { "sum", "axis", AXES, RLX_LAYOUT_FOLLOWS },
    { "mean", "axis", AXES, RLX_LAYOUT_FOLLOWS },
    { "max", "axis", AXES, RLX_LAYOUT_FOLLOWS },
    { "min", "axis", AXES, RLX_LAYOUT_FOLLOWS },
    { "nn.pad", "pad_width", PAIRS, RLX_LAYOUT_FOLLOWS },
    { "permute_dims", "axes", ORDER, RLX_LAYOUT_READS },
    { "astype", NULL, EACH, RLX_LAYOUT_FOLLOWS },
    { "nn.leakyrelu", NULL, EACH, RLX_LAYOUT_FOLLOWS },
    { "nn.softplus", NULL, EACH, RLX_LAYOUT_FOLLOWS },
};
/* Elementwise operators that have no attributes. */
static const rlx_layout_row each_row = { NULL, NULL, EACH, RLX_LAYOUT_FOLLOWS };

bool rlx_layout_turn_between(rlx_slice from, rlx_slice to, rlx_layout_turn *out)
{
    uint32_t seen = 0;
    *out = (rlx_layout_turn){ .rank = to.len, .from = from, .to = to };
    if (from.len != to.len || to.len > RLX_LAYOUT_MAX_RANK || rlx_slice_equal(from, to))
        return false;
    for (size_t i = 0; i < to.len; i++) {
        const char *at = to.data[i] >= 'A' && to.data[i] <= 'Z' ? memchr(from.data, to.data[i], from.len) : NULL;
        if (!at || (seen & 1u << (to.data[i] - 'A')))
            return false;
        seen |= 1u << (to.data[i] - 'A');
        out->order[i] = at - from.data;
        out->back[at - from.data] = (int64_t)i;
    }
    return true;
}

/* ---- which calls follow ------------------------------------------------------------------------- */

static const rlx_layout_row *row_of(const rlx_op_row *op)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        if (strcmp(op->short_name, rows[i].op) == 0)
            return &rows[i];
    bool each = op->num_args && !op->num_attrs && (op->pattern == RLX_ELEMWISE || op->pattern == RLX_BROADCAST);
    for (size_t i = 0; i < op->num_args && each; i++)
        each = op->args[i].kind == RLX_ARG_TENSOR || op->args[i].kind == RLX_ARG_TENSOR_PRIM || op->args[i].kind == RLX_ARG_PRIM;
    return each ? &each_row : NULL;
}

static const rlx_tensor_sinfo *info_of(rlx_context *ctx, const rlx_env *env, const rlx_expr *e)
{
    return rlx_is_leaf(e) ? rlx_as_tensor_sinfo(rlx_leaf_sinfo(ctx, env, e)) : NULL;
}

/* Is e a tensor of the rank that turns, or a tuple of such ones? */
static bool has_rank(rlx_context *ctx, const rlx_env *env, const rlx_layout_turn *turn, const rlx_expr *e)
{
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_tensor_sinfo *x = t ? NULL : info_of(ctx, env, e);
    if (!t)
        return x && x->ndim == (int)turn->rank;
    bool all = t->num_fields > 0;
    for (size_t i = 0; i < t->num_fields && all; i++)
        all = !rlx_as_tuple(t->fields[i]) && has_rank(ctx, env, turn, t->fields[i]);
    return all;
}

/* Operands of an elementwise operator: tensors of at most that rank, one of them of it, and integers. */
static bool are_spread(rlx_context *ctx, const rlx_env *env, const rlx_layout_turn *turn, const rlx_call *call)
{
    bool one = false;
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_tensor_sinfo *t = info_of(ctx, env, call->args[i]);
        if (rlx_is(call->args[i], RLX_NODE_PRIM_VALUE))
            continue;
        if (!t || t->ndim < 0 || t->ndim > (int)turn->rank)
            return false;
        one |= t->ndim == (int)turn->rank;
    }
    return one;
}

static int64_t axis_at(const rlx_layout_turn *turn, const rlx_attr *list, size_t i)
{
    int64_t axis = rlx_attr_item(list, i);
    return axis < 0 ? axis + (int64_t)turn->rank : axis;
}

/* Do these axes still follow each other in their order when they have turned? */
static bool keep_order(const rlx_layout_turn *turn, const bool *in, bool which)
{
    int64_t last = -1;
    for (size_t i = 0; i < turn->rank; i++)
        if (in[turn->order[i]] == which) {
            if (turn->order[i] < last)
                return false;
            last = turn->order[i];
        }
    return true;
}

/* A reduction over several axes takes its steps in the same order; without the axes that it has reduced, its result is as before. */
static enum rlx_layout_result reduces(const rlx_layout_turn *turn, const rlx_call *call, const rlx_attr *list)
{
    bool in[RLX_LAYOUT_MAX_RANK] = { false };
    for (size_t i = 0; i < rlx_attr_count(list); i++) {
        int64_t axis = axis_at(turn, list, i);
        if (axis < 0 || axis >= (int64_t)turn->rank)
            return RLX_LAYOUT_STAYS;
        in[axis] = true;
    }
    if (!rlx_attr_count(list) || !keep_order(turn, in, true))
        return RLX_LAYOUT_STAYS;
    if (rlx_attr_as_bool(rlx_call_attr(call, "keepdims"), false))
        return RLX_LAYOUT_FOLLOWS;
    return keep_order(turn, in, false) ? RLX_LAYOUT_READS : RLX_LAYOUT_STAYS;
}

/* Do the letters of data, and of the result, say what turns? */
static bool names_axes(const rlx_layout_turn *turn, const rlx_call *call, const char *attr)
{
    rlx_slice out = rlx_attr_text(rlx_call_attr(call, "out_layout"));
    return rlx_slice_equal(rlx_attr_text(rlx_call_attr(call, attr)), turn->from) && (!out.len || rlx_slice_equal(out, turn->from));
}

bool rlx_layout_weights_turn(const rlx_layout_turn *turn, const rlx_call *call, rlx_layout_turn *weights)
{
    rlx_slice have = rlx_attr_text(rlx_call_attr(call, "kernel_layout"));
    return turn->weights.len && !rlx_slice_equal(have, turn->weights) && rlx_layout_turn_between(have, turn->weights, weights);
}

enum rlx_layout_result rlx_layout_follows(rlx_context *ctx, const rlx_env *env, const rlx_layout_turn *turn,
                                          const rlx_call *call, const rlx_layout_row **row)
{
    const rlx_op_row *op = rlx_callee_op(&call->node);
    const rlx_layout_row *r = *row = op ? row_of(op) : NULL;
    if (!r || !call->num_args)
        return RLX_LAYOUT_STAYS;
    if (r->how == EACH)
        return are_spread(ctx, env, turn, call) ? RLX_LAYOUT_FOLLOWS : RLX_LAYOUT_STAYS;
    const rlx_attr *value = rlx_call_attr(call, r->attr);
    const int64_t axis = rlx_attr_as_int(value, INT64_MIN);
    if (!has_rank(ctx, env, turn, call->args[0]))
        return RLX_LAYOUT_STAYS;
    switch (r->how) {
    case ANCHOR:
    case NAMES: return names_axes(turn, call, r->attr) ? r->result : RLX_LAYOUT_STAYS;
    case ONE_AXIS:
    case CUT:
        if (rlx_attr_as_bool(rlx_call_attr(call, "training"), false))
            return RLX_LAYOUT_STAYS; /* statistics that are sums over axes which change places */
        return axis >= -(int64_t)turn->rank && axis < (int64_t)turn->rank ? r->result : RLX_LAYOUT_STAYS;
    case AXES: return reduces(turn, call, value);
    case PAIRS: return rlx_attr_count(value) == 2 * turn->rank ? r->result : RLX_LAYOUT_STAYS;
    default: return rlx_attr_count(value) == turn->rank ? r->result : RLX_LAYOUT_STAYS;
    }
}

bool rlx_layout_is_anchor(const rlx_layout_row *row)
{
    return row->how == ANCHOR;
}

rlx_slice rlx_layout_of_anchor(const rlx_expr *e)
{
    const rlx_op_row *op = rlx_callee_op(e);
    const rlx_layout_row *r = op ? row_of(op) : NULL;
    return r && r->how == ANCHOR ? rlx_attr_text(rlx_call_attr((const rlx_call *)e, r->attr)) : RLX_SLICE("");
}

bool rlx_layout_is_elementwise(const rlx_layout_row *row)
{
    return row->how == EACH || row->how == ONE_AXIS;
}

bool rlx_layout_turns_operand(const rlx_layout_row *row, size_t i)
{
    return row->how == EACH || i == 0;
}

/* ---- attributes --------------------------------------------------------------------------------- */

static const rlx_attr *turned_list(rlx_context *ctx, const rlx_layout_turn *turn, const rlx_layout_row *row,
                                   const rlx_attr *value)
{
    int64_t items[2 * RLX_LAYOUT_MAX_RANK];
    size_t count = rlx_attr_count(value);
    if (count > RLX_COUNT(items))
        return RLX_BUG(ctx, "a list of %zu items", count);
    for (size_t i = 0; i < count; i++)
        items[i] = row->how == PAIRS ? rlx_attr_item(value, 2 * (size_t)turn->order[i / 2] + i % 2)
                                     : turn->back[axis_at(turn, value, i)];
    return rlx_ints_attr(ctx, items, count);
}

/* Layouts of a convolution or a window: of data, of the result if it is stated, of weights if they turn. */
static const rlx_attr *turned_names(rlx_context *ctx, const rlx_layout_turn *turn, const rlx_layout_row *row,
                                    const rlx_call *call)
{
    const rlx_attr *attrs = rlx_attrs_with(ctx, call->attrs, row->attr, rlx_attr_string_new(ctx, turn->to));
    rlx_layout_turn weights;
    if (attrs && rlx_attr_text(rlx_call_attr(call, "out_layout")).len)
        attrs = rlx_attrs_with(ctx, attrs, "out_layout", rlx_attr_string_new(ctx, turn->to));
    if (attrs && row->how == ANCHOR && rlx_layout_weights_turn(turn, call, &weights))
        attrs = rlx_attrs_with(ctx, attrs, "kernel_layout", rlx_attr_string_new(ctx, turn->weights));
    return attrs;
}

const rlx_attr *rlx_layout_attrs(rlx_context *ctx, const rlx_layout_turn *turn, const rlx_layout_row *row,
                                 const rlx_call *call)
{
    const rlx_attr *value = row->attr ? rlx_call_attr(call, row->attr) : NULL, *now;
    switch (row->how) {
    case EACH: return call->attrs;
    case ANCHOR:
    case NAMES: return turned_names(ctx, turn, row, call);
    case ONE_AXIS:
    case CUT: now = rlx_attr_int_new(ctx, turn->back[axis_at(turn, value, 0)]); break;
    default: now = turned_list(ctx, turn, row, value); break;
    }
    return now ? rlx_attrs_with(ctx, call->attrs, row->attr, now) : NULL;
}
