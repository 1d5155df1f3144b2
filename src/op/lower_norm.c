/* lower_norm.c: layer_norm, rms_norm, group_norm, batch_norm, dropout, losses.
 *
 * The statistics run over a view of data: its sizes, for group_norm with the channel axis cut
 * in two (group, channel in the group). Two passes: the mean, then the mean of squared
 * distances from it. Narrow floats in float32. All of it row by row (lower_rows.c), in nests
 * that are one instruction each (schedule/plan.h).
 */
/* built for size */
#include "op/lower_int.h"

typedef struct norm {
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_dtype wide;
    rlx_lowering_list view;             /* loops of the statistics */
    bool marked[RLX_LOW_RANK + 1];      /* which of them are reduced */
    rlx_lowering_rows rows;
    /* axis of the groups in the view, SIZE_MAX: no axis is cut */
    size_t cut;
    const rlx_prim *per_group;
    /* one value for each place that is kept; mean NULL: taken as 0 */
    const rlx_buffer *mean, *spread;
    bool given;                         /* these are of the whole tensor, not of a tile */
    const rlx_buffer *widened;          /* of a tile: x in the wide dtype; NULL: as loaded */
    const rlx_prim *epsilon;
} norm;

/* Index of data for an index of the view. */
static rlx_lowering_list data_index(norm *n, const rlx_lowering_list *view)
{
    rlx_tir *t = &n->b.t;
    rlx_lowering_list at = { .n = 0 };
    for (size_t i = 0; i < view->n; i++) {
        if (i != n->cut) {
            at.at[at.n++] = view->at[i];
            continue;
        }
        at.at[at.n++] = rlx_tir_add(t, rlx_tir_mul(t, view->at[i], n->per_group), view->at[i + 1]);
        i++;
    }
    return at;
}

static rlx_lowering_list kept(const norm *n, const rlx_lowering_list *view)
{
    rlx_lowering_list k = { .n = 0 };
    for (size_t i = 0; i < view->n; i++)
        if (!n->marked[i])
            k.at[k.n++] = view->at[i];
    return k;
}

static const rlx_prim *load(norm *n, const rlx_buffer *b, const rlx_lowering_list *at)
{
    return rlx_tir_load(&n->b.t, b, rlx_lowering_items(at));
}

static void store(norm *n, const rlx_buffer *b, const rlx_lowering_list *at, const rlx_prim *value)
{
    rlx_tir_store(&n->b.t, b, rlx_lowering_items(at), value);
}

/* x in the wide dtype */
static const rlx_prim *element(norm *n, const rlx_lowering_list *inside)
{
    if (n->widened)
        return load(n, n->widened, inside);
    rlx_lowering_list view = rlx_lowering_rows_whole(&n->rows, inside), at = data_index(n, &view);
    return rlx_tir_cast(&n->b.t, n->wide, load(n, n->x.buffer, &at));
}

/* A statistic of the row. */
static const rlx_prim *of_row(norm *n, const rlx_buffer *b, const rlx_lowering_list *inside)
{
    rlx_lowering_list view = rlx_lowering_rows_whole(&n->rows, inside), at = kept(n, &view);
    if (!n->given)
        at = rlx_lowering_rows_kept(&n->rows, inside);
    return load(n, b, &at);
}

static const rlx_prim *distance(norm *n, const rlx_lowering_list *inside)
{
    const rlx_prim *x = element(n, inside);
    return n->mean ? rlx_tir_sub(&n->b.t, x, of_row(n, n->mean, inside)) : x;
}

static const rlx_prim *count_of(norm *n)
{
    return rlx_tir_cast(&n->b.t, n->wide, rlx_lowering_product(&n->b, &n->view, n->marked));
}

/* sum[row] += x, or the square of its distance from the mean */
static void sum_block(norm *n, const char *name, const rlx_buffer *sum, bool squares)
{
    rlx_tir *t = &n->b.t;
    rlx_lowering_list index;
    rlx_lowering_rows_fold(&n->rows, name, &index);
    rlx_lowering_list at = rlx_lowering_rows_kept(&n->rows, &index);
    if (n->rows.by_rows)
        rlx_lowering_partial_sums(&n->b, n->wide);
    rlx_tir_init(t, sum, rlx_lowering_items(&at), rlx_tir_number(t, n->wide, 0));
    const rlx_prim *x = squares ? distance(n, &index) : element(n, &index);
    x = squares ? rlx_tir_mul(t, x, x) : x;
    store(n, sum, &at, rlx_tir_add(t, load(n, sum, &at), x));
    rlx_tir_end_block(t);
}

/* A tile in the wide dtype. */
static void widen(norm *n)
{
    rlx_lowering_list index;
    const rlx_buffer *wide = rlx_lowering_rows_alloc(&n->rows, "wide", n->wide, false);
    rlx_lowering_open(&n->b, "wide", &n->rows.inside, &index);
    store(n, wide, &index, element(n, &index));
    rlx_tir_end_block(&n->b.t);
    n->widened = wide;
}

/* average[row] = sum of x, or of squares of distances from the mean, divided by the count */
static const rlx_buffer *statistic(norm *n, const char *name, bool squares)
{
    rlx_tir *t = &n->b.t;
    rlx_lowering_list index, sizes = rlx_lowering_rows_kept(&n->rows, &n->rows.inside);
    const rlx_buffer *sum = rlx_lowering_rows_alloc(&n->rows, name, n->wide, true);
    const rlx_buffer *average = rlx_lowering_rows_alloc(&n->rows, name, n->wide, true);
    sum_block(n, name, sum, squares);
    rlx_lowering_open(&n->b, "average", &sizes, &index);
    store(n, average, &index, rlx_tir_div(t, load(n, sum, &index), count_of(n)));
    rlx_tir_end_block(t);
    return average;
}

/* factor[row] = 1 / sqrt(spread + epsilon), times a weight of the row (NULL: none; outer NULL: indexed by the row): once
 * for each row, not for each element */
static void invert_spread(norm *n, const rlx_lowering_tensor *weight, const rlx_prim *outer)
{
    rlx_tir *t = &n->b.t;
    rlx_lowering_list index,
        sizes = n->given ? kept(n, &n->view) : rlx_lowering_rows_kept(&n->rows, &n->rows.inside);
    const rlx_buffer *factor = n->given
                                   ? rlx_tir_alloc(t, "factor", n->wide, rlx_lowering_items(&sizes))
                                   : rlx_lowering_rows_alloc(&n->rows, "factor", n->wide, true);
    rlx_lowering_open(&n->b, "factor", &sizes, &index);
    const rlx_prim *v = rlx_tir_add(t, load(n, n->spread, &index), n->epsilon);
    v = rlx_tir_call1(t, "rsqrt", v);
    if (weight) {
        const rlx_lowering_list around = { .at = { outer }, .n = 1 };
        v = rlx_tir_mul(
            t, v, rlx_tir_cast(t, n->wide, load(n, weight->buffer, outer ? &around : &index)));
    }
    store(n, factor, &index, v);
    rlx_tir_end_block(t);
    n->spread = factor;
}

/* A parameter of the operator and the axes of the view by which it is indexed; none: left out. */
typedef struct weight { rlx_lowering_tensor t; const rlx_attr *axes; size_t axis; } weight;

static const rlx_prim *weight_at(norm *n, const weight *w, const rlx_lowering_list *index)
{
    rlx_lowering_list at = { .n = w->axes ? rlx_attr_count(w->axes) : 1 };
    for (size_t i = 0; i < at.n; i++) {
        int64_t axis = w->axes ? rlx_attr_item(w->axes, i) : (int64_t)w->axis;
        at.at[i] = index->at[axis < 0 ? (size_t)axis + index->n : (size_t)axis];
    }
    return rlx_tir_cast(&n->b.t, n->wide,
                        rlx_tir_load(&n->b.t, w->t.buffer, rlx_lowering_items(&at)));
}

/* out = (x - mean) * factor * gamma + beta */
static void normalise(norm *n, const weight *gamma, const weight *beta)
{
    rlx_tir *t = &n->b.t;
    rlx_lowering_list inside;
    rlx_lowering_open(&n->b, n->b.l->name.data, &n->rows.inside, &inside);
    rlx_lowering_list view = rlx_lowering_rows_whole(&n->rows, &inside), index = data_index(n, &view);
    const rlx_prim *v = rlx_tir_mul(t, distance(n, &inside), of_row(n, n->spread, &inside));
    if (gamma)
        v = rlx_tir_mul(t, v, weight_at(n, gamma, &index));
    if (beta)
        v = rlx_tir_add(t, v, weight_at(n, beta, &index));
    store(n, n->out.buffer, &index, v);
    rlx_tir_end_block(t);
}

/* Everything, row by row. */
static void norm_rows(norm *n, bool centred, const weight *gamma, const weight *beta)
{
    rlx_lowering_rows_begin(&n->rows, &n->b, &n->view, n->marked, false);
    if (n->rows.by_rows && n->x.dtype != n->wide)
        widen(n);
    n->mean = centred ? statistic(n, "mean", false) : NULL;
    n->spread = statistic(n, "spread", true);
    invert_spread(n, NULL, NULL);
    normalise(n, gamma, beta);
    rlx_lowering_rows_end(&n->rows);
}

static bool begin(norm *n, rlx_lower_request *l)
{
    memset(n, 0, sizeof *n);
    n->cut = SIZE_MAX;
    rlx_lowering_begin(&n->b, l);
    return true;
}

static bool read_data(norm *n, double epsilon)
{
    if (!rlx_lowering_input(&n->b, 0, &n->x))
        return false;
    if (!rlx_lowering_is_float(n->x.dtype))
        return rlx_lowering_refuse_dtype(&n->b);
    n->wide = rlx_lowering_accumulator(n->x.dtype);
    n->view = n->x.shape.sizes;
    n->epsilon = rlx_tir_number(&n->b.t, n->wide, epsilon);
    return true;
}

static bool mark(norm *n, const rlx_attr *axes)
{
    for (size_t i = 0; i < rlx_attr_count(axes); i++) {
        size_t axis;
        if (!rlx_lowering_axis(&n->b, rlx_attr_item(axes, i), n->x.shape.sizes.n, &axis))
            return false;
        n->marked[axis] = true;
    }
    return true;
}

static const rlx_tensor_sinfo *data_info(const rlx_lower_request *l)
{
    return rlx_as_tensor_sinfo(l->args[0]);
}

/* Sizes of argument i are those of data along the axes. */
static void trust_axes(norm *n, size_t i, const rlx_attr *axes)
{
    const rlx_tensor_sinfo *x = data_info(n->b.l);
    for (size_t k = 0; x && x->ndim >= 0 && k < rlx_attr_count(axes); k++) {
        int64_t axis = rlx_attr_item(axes, k);
        rlx_lowering_trust(&n->b, 0, (size_t)(axis < 0 ? axis + x->ndim : axis), i, k);
    }
}

/* layer_norm (data, gamma, beta), attributes axes, epsilon, center, scale; rms_norm (data,
 * weight), axes, epsilon */
const rlx_prim_func *rlx_lower_norm(rlx_lower_request *l)
{
    norm n;
    weight w[2];
    bool rms = l->row->num_args == 2;
    const rlx_attr *axes = rlx_lowering_attr(l, 0);
    bool center = !rms && rlx_attr_as_bool(rlx_lowering_attr(l, 2), true),
         scale = rms || rlx_attr_as_bool(rlx_lowering_attr(l, 3), true);
    begin(&n, l);
    for (size_t i = 1; i < l->row->num_args; i++)
        trust_axes(&n, i, axes);
    if (!read_data(&n, rlx_attr_as_float(rlx_lowering_attr(l, 1), 1e-5)) || !mark(&n, axes))
        return rlx_lowering_end(&n.b);
    for (size_t i = 0; i + 1 < l->row->num_args; i++) {
        w[i] = (weight){ .axes = axes };
        if (!rlx_lowering_input(&n.b, i + 1, &w[i].t))
            return rlx_lowering_end(&n.b);
    }
    if (!rlx_lowering_output(&n.b, &n.x.shape, &n.out))
        return rlx_lowering_end(&n.b);
    norm_rows(&n, !rms, scale ? &w[0] : NULL, center ? &w[1] : NULL);
    return rlx_lowering_end(&n.b);
}

/* The view of group_norm: the channel axis as groups and channels in each. */
static bool cut_channels(norm *n, size_t channel, int64_t groups)
{
    rlx_tir *t = &n->b.t;
    if (n->view.n == RLX_LOW_RANK)
        return rlx_lowering_give_up(&n->b, "the rank is above 15");
    const rlx_prim *channels = n->view.at[channel], *k = rlx_tir_int(t, groups);
    rlx_lowering_require(&n->b, rlx_tir_eq(t, rlx_tir_floor_mod(t, channels, k), rlx_tir_int(t, 0)),
                         RLX_ASSERTION_SIZES, "the channels do not divide into the groups");
    memmove(n->view.at + channel + 1, n->view.at + channel,
            (n->view.n++ - channel) * sizeof *n->view.at);
    memmove(n->marked + channel + 1, n->marked + channel,
            (RLX_LOW_RANK - channel) * sizeof *n->marked);
    n->cut = channel;
    n->per_group = n->view.at[channel + 1] = rlx_tir_floor_div(t, channels, k);
    n->view.at[channel] = k;
    n->marked[channel] = false;
    n->marked[channel + 1] = true;
    return true;
}

/* The rest of a norm whose gamma and beta, scale and center say whether there are any, have an element for each
 * channel. */
static const rlx_prim_func *by_channel(norm *n, size_t channel, const rlx_attr *center, const rlx_attr *scale)
{
    weight w[2];
    for (size_t i = 0; i < 2; i++) {
        w[i] = (weight){ .axis = channel };
        if (!rlx_lowering_input(&n->b, i + 1, &w[i].t))
            return rlx_lowering_end(&n->b);
    }
    if (rlx_lowering_output(&n->b, &n->x.shape, &n->out))
        norm_rows(n, true, rlx_attr_as_bool(scale, true) ? &w[0] : NULL,
                  rlx_attr_as_bool(center, true) ? &w[1] : NULL);
    return rlx_lowering_end(&n->b);
}

/* (data, gamma, beta), attributes num_groups, channel_axis, axes, epsilon, center, scale */
const rlx_prim_func *rlx_lower_group_norm(rlx_lower_request *l)
{
    norm n;
    size_t channel = 0;
    const rlx_tensor_sinfo *x = data_info(l);
    int64_t axis = rlx_attr_as_int(rlx_lowering_attr(l, 1), 0),
            groups = rlx_attr_as_int(rlx_lowering_attr(l, 0), 1);
    axis += x && axis < 0 ? x->ndim : 0;
    begin(&n, l);
    for (size_t i = 1; i < 3; i++)
        rlx_lowering_trust(&n.b, 0, (size_t)axis, i, 0);
    if (!read_data(&n, rlx_attr_as_float(rlx_lowering_attr(l, 3), 1e-5)) ||
        !rlx_lowering_axis(&n.b, axis, n.x.shape.sizes.n, &channel) ||
        !mark(&n, rlx_lowering_attr(l, 2)) || !cut_channels(&n, channel, groups))
        return rlx_lowering_end(&n.b);
    return by_channel(&n, channel, rlx_lowering_attr(l, 4), rlx_lowering_attr(l, 5));
}

/* (data, gamma, beta), attributes channel_axis, axes, epsilon, center, scale: as group_norm with a
 * group for each channel */
const rlx_prim_func *rlx_lower_instance_norm(rlx_lower_request *l)
{
    norm n;
    size_t channel = 0;
    const rlx_tensor_sinfo *x = data_info(l);
    int64_t axis = rlx_attr_as_int(rlx_lowering_attr(l, 0), 0);
    axis += x && axis < 0 ? x->ndim : 0;
    begin(&n, l);
    for (size_t i = 1; i < 3; i++)
        rlx_lowering_trust(&n.b, 0, (size_t)axis, i, 0);
    if (!read_data(&n, rlx_attr_as_float(rlx_lowering_attr(l, 2), 1e-5)) ||
        !rlx_lowering_axis(&n.b, axis, n.x.shape.sizes.n, &channel) ||
        !mark(&n, rlx_lowering_attr(l, 1)))
        return rlx_lowering_end(&n.b);
    return by_channel(&n, channel, rlx_lowering_attr(l, 3), rlx_lowering_attr(l, 4));
}

/* ---- batch_norm ----------------------------------------------------------------------------- */

/* A given statistic in the wide dtype. */
static const rlx_buffer *widened(norm *n, const char *name, const rlx_lowering_tensor *given)
{
    rlx_tir *t = &n->b.t;
    rlx_lowering_list index;
    const rlx_buffer *wide =
        rlx_tir_alloc(t, name, n->wide, rlx_lowering_items(&given->shape.sizes));
    rlx_lowering_open(&n->b, name, &given->shape.sizes, &index);
    rlx_tir_store(
        t, wide, rlx_lowering_items(&index),
        rlx_tir_cast(t, n->wide, rlx_tir_load(t, given->buffer, rlx_lowering_items(&index))));
    rlx_tir_end_block(t);
    return wide;
}

/* Index of a channel's values for an index of the rows kept inside: none where channels are loops around. */
static rlx_lowering_list channel_index(const norm *n, size_t channel, const rlx_lowering_list *inside)
{
    return n->rows.outer[channel]
               ? (rlx_lowering_list){ .at = { n->rows.index.at[channel] }, .n = 1 }
               : *inside;
}

/* out = (1 - momentum) * given + momentum * batch, or the given statistic */
static void give_moved(norm *n, size_t channel, const rlx_lowering_tensor *given,
                       const rlx_buffer *batch, double momentum, const rlx_lowering_tensor *out)
{
    rlx_tir *t = &n->b.t;
    rlx_lowering_list index, sizes = given->shape.sizes;
    if (batch)
        sizes = rlx_lowering_rows_kept(&n->rows, &n->rows.inside);
    rlx_lowering_open(&n->b, "moved", &sizes, &index);
    rlx_lowering_list at = batch ? channel_index(n, channel, &index) : index;
    const rlx_prim *v = load(n, given->buffer, &at);
    if (batch) {
        v = rlx_tir_mul(t, rlx_tir_cast(t, n->wide, v), rlx_tir_number(t, n->wide, 1 - momentum));
        v = rlx_tir_add(
            t, v, rlx_tir_mul(t, load(n, batch, &index), rlx_tir_number(t, n->wide, momentum)));
    }
    store(n, out->buffer, &at, v);
    rlx_tir_end_block(t);
}

/* (data, gamma, beta, moving_mean, moving_var), attributes axis, epsilon, center, scale,
 * momentum, training */
const rlx_prim_func *rlx_lower_batch_norm(rlx_lower_request *l)
{
    norm n;
    weight w[4];
    rlx_lowering_tensor out[3];
    size_t channel = 0;
    const rlx_tensor_sinfo *x = data_info(l);
    int64_t axis = rlx_attr_as_int(rlx_lowering_attr(l, 0), 0);
    axis += x && axis < 0 ? x->ndim : 0;
    bool training = rlx_attr_as_bool(rlx_lowering_attr(l, 5), true);
    double momentum = rlx_attr_as_float(rlx_lowering_attr(l, 4), 0.1);
    begin(&n, l);
    for (size_t i = 1; i < 5; i++)
        rlx_lowering_trust(&n.b, 0, (size_t)axis, i, 0);
    if (!read_data(&n, rlx_attr_as_float(rlx_lowering_attr(l, 1), 1e-5)) ||
        !rlx_lowering_axis(&n.b, axis, n.x.shape.sizes.n, &channel))
        return rlx_lowering_end(&n.b);
    memset(n.marked, true, sizeof n.marked);
    n.marked[channel] = false;
    for (size_t i = 0; i < 4; i++) {
        w[i] = (weight){ .axis = channel };
        if (!rlx_lowering_input(&n.b, i + 1, &w[i].t))
            return rlx_lowering_end(&n.b);
    }
    const rlx_lowering_shape *shapes[3] = { &n.x.shape, &w[2].t.shape, &w[3].t.shape };
    if (!rlx_lowering_outputs(&n.b, shapes, out, 3))
        return rlx_lowering_end(&n.b);
    n.out = out[0];
    n.given = !training;
    const rlx_lowering_tensor *scale =
        rlx_attr_as_bool(rlx_lowering_attr(l, 3), true) ? &w[0].t : NULL;
    if (n.given) {
        n.mean = widened(&n, "mean", &w[2].t);
        n.spread = widened(&n, "spread", &w[3].t);
        invert_spread(&n, scale, NULL);
    }
    rlx_lowering_rows_begin(&n.rows, &n.b, &n.view, n.marked, false);
    if (training) {
        if (n.rows.by_rows && n.x.dtype != n.wide)
            widen(&n);
        n.mean = statistic(&n, "mean", false);
        n.spread = statistic(&n, "spread", true);
        give_moved(&n, channel, &w[2].t, n.mean, momentum, &out[1]);
        give_moved(&n, channel, &w[3].t, n.spread, momentum, &out[2]);
        invert_spread(&n, scale, n.rows.outer[channel] ? n.rows.index.at[channel] : NULL);
    }
    normalise(&n, NULL,
              rlx_attr_as_bool(rlx_lowering_attr(l, 2), true) ? &w[1] : NULL);
    rlx_lowering_rows_end(&n.rows);
    if (n.given) {
        give_moved(&n, channel, &w[2].t, NULL, momentum, &out[1]);
        give_moved(&n, channel, &w[3].t, NULL, momentum, &out[2]);
    }
    return rlx_lowering_end(&n.b);
}

/* ---- dropout: the identity, with a mask of ones --------------------------------------------- */

const rlx_prim_func *rlx_lower_dropout(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor x, out[2];
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &x))
        return rlx_lowering_end(&b);
    const rlx_lowering_shape *shapes[2] = { &x.shape, &x.shape };
    if (!rlx_lowering_outputs(&b, shapes, out, 2))
        return rlx_lowering_end(&b);
    for (size_t i = 0; i < 2; i++) {
        rlx_lowering_open(&b, i ? "mask" : "dropout", &x.shape.sizes, &index);
        const rlx_prim *v = i ? rlx_tir_number(&b.t, x.dtype, 1)
                              : rlx_tir_load(&b.t, x.buffer, rlx_lowering_items(&index));
        rlx_tir_store(&b.t, out[i].buffer, rlx_lowering_items(&index), v);
        rlx_tir_end_block(&b.t);
    }
    return rlx_lowering_end(&b);
}

/* ---- losses --------------------------------------------------------------------------------- */

/* One cell that sums up. */
static const rlx_buffer *cell(rlx_lowering *b, const char *name, rlx_dtype t)
{
    const rlx_buffer *c = rlx_tir_alloc(&b->t, name, t, RLX_TIR_NONE);
    rlx_tir_store(&b->t, c, RLX_TIR_NONE, rlx_tir_number(&b->t, t, 0));
    return c;
}

static void add_to(rlx_lowering *b, const rlx_buffer *c, const rlx_prim *v)
{
    rlx_tir_store(&b->t, c, RLX_TIR_NONE,
                  rlx_tir_add(&b->t, rlx_tir_load(&b->t, c, RLX_TIR_NONE), v));
}

/* -sum(predictions * labels), divided by the batch size for rank 2 and more */
const rlx_prim_func *rlx_lower_cross_entropy(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor p, y, out;
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    rlx_tir *t = &b.t;
    const rlx_tensor_sinfo *x = data_info(l);
    for (size_t i = 0; x && (int)i < x->ndim; i++)
        rlx_lowering_trust(&b, 0, i, 1, i);
    if (!rlx_lowering_input(&b, 0, &p) || !rlx_lowering_input(&b, 1, &y) ||
        !rlx_lowering_output(&b, NULL, &out))
        return rlx_lowering_end(&b);
    if (!rlx_lowering_is_float(p.dtype))
        rlx_lowering_refuse_dtype(&b);
    rlx_dtype wide = rlx_lowering_accumulator(p.dtype);
    const rlx_buffer *sum = cell(&b, "sum", wide);
    index.n = p.shape.sizes.n;
    for (size_t i = 0; i < index.n; i++)
        index.at[i] = rlx_tir_for(t, "i", NULL, p.shape.sizes.at[i], RLX_FOR_SERIAL);
    const rlx_prim *a =
        rlx_tir_cast(t, wide, rlx_tir_load(t, p.buffer, rlx_lowering_items(&index)));
    add_to(&b, sum,
           rlx_tir_mul(
               t, a, rlx_tir_cast(t, wide, rlx_tir_load(t, y.buffer, rlx_lowering_items(&index)))));
    for (size_t i = 0; i < index.n; i++)
        rlx_tir_end_for(t);
    const rlx_prim *v =
        rlx_tir_mul(t, rlx_tir_load(t, sum, RLX_TIR_NONE), rlx_tir_number(t, wide, -1));
    if (index.n > 1)
        v = rlx_tir_div(t, v, rlx_tir_cast(t, wide, p.shape.sizes.at[0]));
    rlx_tir_store(t, out.buffer, RLX_TIR_NONE, v);
    return rlx_lowering_end(&b);
}

/* first: the argument that is predictions, which targets and weights follow; g: gradient of the
 * loss, NULL buffer: the loss itself is computed */
typedef struct nll {
    rlx_lowering b;
    rlx_lowering_tensor p, y, w, g, out;
    size_t first;
    bool weighted;
    rlx_dtype wide;
    int64_t ignore;
} nll;

/* Size i of the targets in program and kernel: that of predictions without the classes. A gradient
 * reads no predictions: their sizes are its own. */
static bool read_nll(nll *n, rlx_lower_request *l)
{
    size_t at = n->first;
    const rlx_tensor_sinfo *p = rlx_as_tensor_sinfo(l->args[at]),
                           *y = rlx_as_tensor_sinfo(l->args[at + 1]);
    n->weighted = l->call->num_args > at + 2;
    n->ignore = rlx_attr_as_int(rlx_lowering_attr(l, 1), -100);
    for (size_t i = 0; y && (int)i < y->ndim; i++)
        rlx_lowering_trust(&n->b, at, i ? i + 1 : 0, at + 1, i);
    if (n->weighted && p)
        rlx_lowering_trust(&n->b, at, p->ndim > 1, at + 2, 0);
    return (n->first || rlx_lowering_input(&n->b, at, &n->p)) &&
           rlx_lowering_input(&n->b, at + 1, &n->y) &&
           (!n->weighted || rlx_lowering_input(&n->b, at + 2, &n->w));
}

static bool nll_fits(nll *n)
{
    if (!rlx_lowering_is_float(n->p.dtype))
        return rlx_lowering_refuse_dtype(&n->b);
    return n->p.shape.sizes.n == n->y.shape.sizes.n + 1 ||
           rlx_lowering_give_up(&n->b, "the ranks differ");
}

/* Class and weight (0 where it counts for nothing) of one target, as lets in the open construct;
 * the place of its class in predictions. */
static rlx_lowering_list read_target(nll *n, const rlx_lowering_list *index, const rlx_prim **used,
                                     const rlx_prim **share)
{
    rlx_tir *t = &n->b.t;
    const rlx_lowering_list *sizes = &n->p.shape.sizes;
    size_t class = sizes->n > 1;
    const rlx_prim *y = rlx_tir_let(
        t, "y",
        rlx_tir_cast(t, RELAX_INT64, rlx_tir_load(t, n->y.buffer, rlx_lowering_items(index))));
    *used = rlx_tir_ne(t, y, rlx_tir_int(t, n->ignore));
    const rlx_prim *zero = rlx_tir_int(t, 0), *one = rlx_tir_number(t, n->wide, 1),
                   *none = rlx_tir_number(t, n->wide, 0);
    const rlx_prim *fits =
        rlx_tir_and(t, rlx_tir_ge(t, y, zero), rlx_tir_lt(t, y, sizes->at[class]));
    rlx_tir_assert(t, rlx_tir_or(t, fits, rlx_tir_not(t, *used)),
                   RLX_ASSERTION_INDEX, "a target is none of the classes");
    rlx_lowering_list at = { .n = sizes->n };
    for (size_t i = 0, k = 0; i < at.n; i++)
        at.at[i] = i == class ? y : index->at[k++];
    const rlx_prim *w =
        n->weighted ? rlx_tir_cast(t, n->wide, rlx_tir_load(t, n->w.buffer, RLX_TIR_LIST(y)))
                    : one;
    *share = rlx_tir_let(t, "weight", rlx_tir_if_then_else(t, *used, w, none));
    return at;
}

/* Loss and weight of one target. */
static void one_target(nll *n, const rlx_lowering_list *index, const rlx_prim **loss,
                       const rlx_prim **share)
{
    rlx_tir *t = &n->b.t;
    const rlx_prim *used, *none = rlx_tir_number(t, n->wide, 0);
    rlx_lowering_list at = read_target(n, index, &used, share);
    const rlx_prim *p =
        rlx_tir_cast(t, n->wide, rlx_tir_load(t, n->p.buffer, rlx_lowering_items(&at)));
    *loss = rlx_tir_if_then_else(t, used, rlx_tir_sub(t, none, rlx_tir_mul(t, p, *share)), none);
}

static rlx_lowering_list open_targets(nll *n)
{
    rlx_lowering_list index = { .n = n->y.shape.sizes.n };
    for (size_t i = 0; i < index.n; i++)
        index.at[i] = rlx_tir_for(&n->b.t, "i", NULL, n->y.shape.sizes.at[i], RLX_FOR_SERIAL);
    return index;
}

static void end_targets(nll *n)
{
    for (size_t i = 0; i < n->y.shape.sizes.n; i++)
        rlx_tir_end_for(&n->b.t);
}

static void sum_losses(nll *n, bool mean)
{
    rlx_tir *t = &n->b.t;
    const rlx_buffer *sum = cell(&n->b, "sum", n->wide), *used = cell(&n->b, "used", n->wide);
    const rlx_prim *loss, *share;
    rlx_lowering_list index = open_targets(n);
    one_target(n, &index, &loss, &share);
    add_to(&n->b, sum, loss);
    add_to(&n->b, used, share);
    end_targets(n);
    const rlx_prim *v = rlx_tir_load(t, sum, RLX_TIR_NONE);
    v = mean ? rlx_tir_div(t, v, rlx_tir_load(t, used, RLX_TIR_NONE)) : v;
    rlx_tir_store(t, n->out.buffer, RLX_TIR_NONE, v);
}

/* (predictions, targets, weights?), attributes reduction, ignore_index */
const rlx_prim_func *rlx_lower_nll_loss(rlx_lower_request *l)
{
    nll n = { .weighted = false };
    rlx_lowering_list index;
    const rlx_prim *loss, *share;
    rlx_slice how = rlx_attr_text(rlx_lowering_attr(l, 0));
    bool each = rlx_slice_is(how, "none");
    rlx_lowering_begin(&n.b, l);
    if (!read_nll(&n, l) || !nll_fits(&n) ||
        !rlx_lowering_output(&n.b, each ? &n.y.shape : NULL, &n.out))
        return rlx_lowering_end(&n.b);
    n.wide = rlx_lowering_accumulator(n.p.dtype);
    if (!each) {
        sum_losses(&n, rlx_slice_is(how, "mean"));
        return rlx_lowering_end(&n.b);
    }
    rlx_lowering_open(&n.b, "nll_loss", &n.y.shape.sizes, &index);
    one_target(&n, &index, &loss, &share);
    rlx_tir_store(&n.b.t, n.out.buffer, rlx_lowering_items(&index), loss);
    rlx_tir_end_block(&n.b.t);
    return rlx_lowering_end(&n.b);
}

/* Gradient of a mean: the sum of weights first. */
static const rlx_buffer *sum_weights(nll *n)
{
    const rlx_buffer *total = cell(&n->b, "total", n->wide);
    const rlx_prim *used, *share;
    rlx_lowering_list index = open_targets(n);
    read_target(n, &index, &used, &share);
    add_to(&n->b, total, share);
    end_targets(n);
    return total;
}

/* (output_grad, predictions, targets, weights?), attributes as above: zeros, but for the class of
 * each target that counts. */
const rlx_prim_func *rlx_lower_nll_loss_backward(rlx_lower_request *l)
{
    nll n = { .first = 1 };
    rlx_slice how = rlx_attr_text(rlx_lowering_attr(l, 0));
    bool each = rlx_slice_is(how, "none");
    rlx_lowering_begin(&n.b, l);
    rlx_tir *t = &n.b.t;
    const rlx_tensor_sinfo *y = rlx_as_tensor_sinfo(l->args[2]);
    for (size_t i = 0; each && y && (int)i < y->ndim; i++)
        rlx_lowering_trust(&n.b, 0, i, 2, i);
    if (!rlx_lowering_input(&n.b, 0, &n.g) || !read_nll(&n, l) ||
        !rlx_lowering_output(&n.b, NULL, &n.out))
        return rlx_lowering_end(&n.b);
    n.p = n.out;
    if (!nll_fits(&n) || n.g.shape.sizes.n != (each ? n.y.shape.sizes.n : 0)) {
        rlx_lowering_give_up(&n.b, "the ranks differ");
        return rlx_lowering_end(&n.b);
    }
    n.wide = rlx_lowering_accumulator(n.p.dtype);
    const rlx_buffer *total = rlx_slice_is(how, "mean") ? sum_weights(&n) : NULL;
    const rlx_prim *used, *share, *none = rlx_tir_number(t, n.wide, 0);
    rlx_lowering_list all, index;
    rlx_lowering_open(&n.b, "zeros", &n.out.shape.sizes, &all);
    rlx_tir_store(t, n.out.buffer, rlx_lowering_items(&all), none);
    rlx_tir_end_block(t);
    index = open_targets(&n);
    rlx_lowering_list at = read_target(&n, &index, &used, &share);
    rlx_tir_if(t, used);
    const rlx_prim *g = rlx_tir_load(t, n.g.buffer, each ? rlx_lowering_items(&index) : RLX_TIR_NONE);
    g = rlx_tir_sub(t, none, rlx_tir_mul(t, rlx_tir_cast(t, n.wide, g), share));
    g = total ? rlx_tir_div(t, g, rlx_tir_load(t, total, RLX_TIR_NONE)) : g;
    rlx_tir_store(t, n.out.buffer, rlx_lowering_items(&at), g);
    rlx_tir_end_if(t);
    end_targets(&n);
    return rlx_lowering_end(&n.b);
}
