/* relay_rel_further.c: relations of operators that few models have: pictures sampled at positions, boxes, gradients of
 * pooling, blocks in the batch, dynamic forms (relay 4.2). */
#include "relay/relay_rel.h"

/* ---- pictures ------------------------------------------------------------------------------------------ */

/* (N, 2, 3) to (N, 2, H, W) of target_shape */
REL(AffineGrid)
{
    TENSOR(x, 0);
    int64_t size[2 * RLX_RELAY_MAX_RANK];
    int n;
    if (!rlx_relay_rel_ints(g, "target_shape", size, &n))
        return RLX_RELAY_FAILS;
    if (x->tensor.ndim != 3 || n < 2 || n > 3)
        return rlx_relay_rel_fail(g, "the data has rank 3, target_shape two or three numbers");
    rlx_relay_dim dims[5] = { rlx_relay_extent(x, 0), rlx_relay_int(n) };
    for (int i = 0; i < n; i++)
        dims[2 + i] = rlx_relay_int(size[i]);
    return rlx_relay_rel_give(g, 1, dims, (size_t)n + 2, x->tensor.dtype);
}

/* (N, C, spatial) at a grid (N, axes, spatial of the result) */
REL(GridSample)
{
    TENSOR(x, 0);
    TENSOR(grid, 1);
    size_t n = x->tensor.ndim;
    rlx_relay_dim dims[5];
    if ((n != 4 && n != 5) || grid->tensor.ndim != n)
        return rlx_relay_rel_fail(g, "data and grid have rank 4 or 5");
    for (size_t i = 0; i < n; i++)
        dims[i] = rlx_relay_extent(i < 2 ? x : grid, i);
    return rlx_relay_rel_give(g, 2, dims, n, x->tensor.dtype);
}

static outcome regions(rlx_relay_goal *g)
{
    TENSOR(x, 0);
    TENSOR(rois, 1);
    int64_t size[2 * RLX_RELAY_MAX_RANK];
    int n;
    bool last = rlx_slice_is(rlx_relay_rel_text(g, "layout"), "NHWC");
    if (!rlx_relay_rel_ints(g, "pooled_size", size, &n))
        return RLX_RELAY_FAILS;
    if (x->tensor.ndim != 4 || rois->tensor.ndim != 2 || n < 1 || n > 2)
        return rlx_relay_rel_fail(g, "the data has rank 4, the regions rank 2, pooled_size one or two numbers");
    rlx_relay_dim c = rlx_relay_extent(x, last ? 3 : 1);
    rlx_relay_dim h = rlx_relay_int(size[0]), w = rlx_relay_int(size[n - 1]);
    rlx_relay_dim dims[] = { rlx_relay_extent(rois, 0), last ? h : c, last ? w : h, last ? c : w };
    return rlx_relay_rel_give(g, 2, dims, 4, x->tensor.dtype);
}
REL(ROIAlign) { return regions(g); }
REL(ROIPool) { return regions(g); }

/* ---- boxes ----------------------------------------------------------------------------------------------- */

static outcome give_tuple(rlx_relay_goal *g, rlx_relay_type *const *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!fields[i])
            return RLX_RELAY_FAILS;
    return rlx_relay_rel_assign(g, rlx_relay_rel_out(g), rlx_relay_tuple(g->solver, fields, n));
}

REL(GetValidCount)
{
    TENSOR(x, 0);
    if (x->tensor.ndim != 3)
        return rlx_relay_rel_fail(g, "the boxes have rank 3: batch, boxes, numbers");
    rlx_relay_dim dims[] = { rlx_relay_extent(x, 0), rlx_relay_extent(x, 1) };
    rlx_relay_type *fields[] = { rlx_relay_tensor(g->solver, dims, 1, RELAX_INT32), rlx_relay_find(g->types[0]),
                                 rlx_relay_tensor(g->solver, dims, 2, RELAX_INT32) };
    return give_tuple(g, fields, 3);
}

REL(NMS)
{
    TENSOR(x, 0);
    if (x->tensor.ndim != 3)
        return rlx_relay_rel_fail(g, "the boxes have rank 3: batch, boxes, numbers");
    if (!rlx_relay_rel_bool(g, "return_indices"))
        return rlx_relay_rel_assign(g, rlx_relay_rel_out(g), g->types[0]);
    rlx_relay_dim dims[] = { rlx_relay_extent(x, 0), rlx_relay_extent(x, 1) };
    rlx_relay_dim one[] = { dims[0], rlx_relay_int(1) };
    rlx_relay_type *fields[] = { rlx_relay_tensor(g->solver, dims, 2, RELAX_INT32),
                                 rlx_relay_tensor(g->solver, one, 2, RELAX_INT32) };
    return give_tuple(g, fields, 2);
}

REL(AllClassNMS)
{
    TENSOR(boxes, 0);
    TENSOR(scores, 1);
    if (boxes->tensor.ndim != 3 || scores->tensor.ndim != 3)
        return rlx_relay_rel_fail(g, "boxes (batch, n, 4), scores (batch, classes, n)");
    rlx_relay_dim all[] = { rlx_relay_extent(scores, 0), rlx_relay_extent(scores, 1), rlx_relay_extent(boxes, 1) };
    rlx_relay_dim rows[] = { all[0], rlx_relay_any() }, one = rlx_relay_int(1);
    if (rlx_slice_is(rlx_relay_rel_text(g, "output_format"), "onnx")) {
        rlx_relay_dim triples[] = { rlx_relay_any(), rlx_relay_int(3) };
        if (!rlx_relay_product(g, all, 3, &triples[0]))
            return RLX_RELAY_FAILS;
        rlx_relay_type *fields[] = { rlx_relay_tensor(g->solver, triples, 2, RELAX_INT64),
                                     rlx_relay_tensor(g->solver, &one, 1, RELAX_INT64) };
        return give_tuple(g, fields, 2);
    }
    if (!rlx_relay_product(g, all + 1, 2, &rows[1]))
        return RLX_RELAY_FAILS;
    rlx_relay_dim pairs[] = { rows[0], rows[1], rlx_relay_int(2) };
    rlx_relay_type *fields[] = { rlx_relay_tensor(g->solver, pairs, 3, RELAX_INT64),
                                 rlx_relay_tensor(g->solver, rows, 2, RELAX_FLOAT32),
                                 rlx_relay_tensor(g->solver, rows, 1, RELAX_INT64) };
    return give_tuple(g, fields, 3);
}

/* ---- windows and blocks ------------------------------------------------------------------------------------- */

/* The gradient of the data has its shape. */
REL(PoolGrad) { return rlx_relay_rel_assign(g, 2, g->types[1]); }

/* Zeros between the elements: (n - 1) * stride + 1 */
REL(Dilate)
{
    TENSOR(x, 0);
    int64_t strides[2 * RLX_RELAY_MAX_RANK];
    int n;
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!rlx_relay_rel_ints(g, "strides", strides, &n))
        return RLX_RELAY_FAILS;
    if (n != (int)x->tensor.ndim)
        return rlx_relay_rel_fail(g, "strides has %zu items, found %d", x->tensor.ndim, n);
    rlx_relay_extents(x, dims);
    for (int i = 0; i < n; i++) {
        if (strides[i] < 1 || strides[i] > INT32_MAX)
            return rlx_relay_rel_fail(g, "strides are positive");
        if (!rlx_relay_is_int(dims[i]) || dims[i].value <= 0)
            continue;
        if (dims[i].value > INT32_MAX)
            return rlx_relay_rel_fail(g, "the result does not fit 64 bits");
        dims[i].value = (dims[i].value - 1) * strides[i] + 1;
    }
    return rlx_relay_rel_give(g, 1, dims, (size_t)n, x->tensor.dtype);
}

static bool is_pad(rlx_relay_value v) { return v.kind == RLX_RELAY_VALUE_INT && v.i >= 0 && v.i <= INT32_MAX; }

/* block_shape, and a pair for each of its axes, which follow the batch; `to_batch`: pairs are paddings, else crops. */
static outcome batch_and_space(rlx_relay_goal *g, const char *pairs_name, bool to_batch)
{
    TENSOR(x, 0);
    int64_t block[2 * RLX_RELAY_MAX_RANK];
    int n;
    rlx_relay_value pairs = rlx_relay_rel_attr(g, pairs_name);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    if (!rlx_relay_rel_ints(g, "block_shape", block, &n))
        return RLX_RELAY_FAILS;
    if (n < 0 || (size_t)n >= x->tensor.ndim || pairs.kind != RLX_RELAY_VALUE_LIST || pairs.list.count != (size_t)n)
        return rlx_relay_rel_fail(g, "block_shape and %s have an item for each of the axes behind the batch", pairs_name);
    rlx_relay_extents(x, dims);
    int64_t all = 1;
    for (int i = 0; i < n; i++) {
        const rlx_relay_value *pair = &pairs.list.items[i];
        if (pair->kind != RLX_RELAY_VALUE_LIST || pair->list.count != 2 || block[i] < 1 || block[i] > 1 << 20 ||
            !is_pad(pair->list.items[0]) || !is_pad(pair->list.items[1]))
            return rlx_relay_rel_fail(g, "%s are pairs, blocks positive", pairs_name);
        int64_t both = pair->list.items[0].i + pair->list.items[1].i;
        all = all > INT32_MAX ? all : all * block[i];
        rlx_relay_dim *d = &dims[1 + i];
        if (!rlx_relay_is_int(*d))
            continue;
        if (d->value > INT64_MAX >> 24)
            return rlx_relay_rel_fail(g, "the result does not fit 64 bits");
        if (to_batch && (d->value + both) % block[i])
            return rlx_relay_rel_fail(g, "%lld is no multiple of %lld", (long long)(d->value + both), (long long)block[i]);
        d->value = to_batch ? (d->value + both) / block[i] : d->value * block[i] - both;
    }
    if (rlx_relay_is_int(dims[0])) {
        if (all > INT32_MAX || dims[0].value > INT32_MAX)
            return rlx_relay_rel_fail(g, "the batch does not fit");
        if (!to_batch && dims[0].value % all)
            return rlx_relay_rel_fail(g, "the batch %lld is no multiple of %lld", (long long)dims[0].value, (long long)all);
        dims[0].value = to_batch ? dims[0].value * all : dims[0].value / all;
    }
    return rlx_relay_rel_give(g, 1, dims, x->tensor.ndim, x->tensor.dtype);
}
REL(SpaceToBatchND) { return batch_and_space(g, "paddings", true); }
REL(BatchToSpaceND) { return batch_and_space(g, "crops", false); }

/* ---- elements by position ------------------------------------------------------------------------------------- */

/* Positions from valid_length on are masked. */
REL(SequenceMask)
{
    TENSOR(x, 0);
    TENSOR(n, 1);
    int64_t axis = rlx_relay_rel_int(g, "axis");
    if (x->tensor.ndim < 2 || n->tensor.ndim != 1 || (axis != 0 && axis != 1))
        return rlx_relay_rel_fail(g, "the data has at least rank 2, the lengths rank 1, axis is 0 or 1");
    if (rlx_relay_differ(rlx_relay_extent(n, 0), rlx_relay_extent(x, (size_t)(1 - axis))))
        return rlx_relay_rel_fail(g, "the lengths are one for each item of the batch");
    return rlx_relay_rel_assign(g, 2, g->types[0]);
}

/* Values, positions of their first occurrences, for each element the place of its value, how many there are, and on
 * request how often each occurs. */
REL(Unique)
{
    TENSOR(x, 0);
    rlx_relay_dim any = rlx_relay_any(), one = rlx_relay_int(1);
    if (x->tensor.ndim != 1)
        return rlx_relay_rel_fail(g, "the data has rank 1, found %zu", x->tensor.ndim);
    rlx_relay_type *fields[] = {
        rlx_relay_tensor(g->solver, &any, 1, x->tensor.dtype), rlx_relay_tensor(g->solver, &any, 1, RELAX_INT32),
        rlx_relay_tensor(g->solver, x->tensor.dims, 1, RELAX_INT32), rlx_relay_tensor(g->solver, &one, 1, RELAX_INT32),
        rlx_relay_tensor(g->solver, &any, 1, RELAX_INT32)
    };
    return give_tuple(g, fields, rlx_relay_rel_bool(g, "return_counts") ? 5 : 4);
}

REL(SearchSorted)
{
    TENSOR(s, 0);
    TENSOR(v, 1);
    rlx_dtype dtype;
    if (!s->tensor.ndim || !rlx_relay_rel_dtype(g, "dtype", RELAX_INT32, &dtype))
        return rlx_relay_rel_fail(g, "the sorted sequence has at least rank 1");
    return rlx_relay_rel_give(g, 2, v->tensor.dims, v->tensor.ndim, dtype);
}

REL(Embedding)
{
    TENSOR(table, 0);
    TENSOR(i, 1);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK + 1];
    size_t n = i->tensor.ndim;
    if (table->tensor.ndim != 2 || !rlx_dtype_is_int(i->tensor.dtype) || n == RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "the table has rank 2, the indices are integers");
    rlx_relay_extents(i, dims);
    dims[n] = rlx_relay_extent(table, 1);
    return rlx_relay_rel_give(g, 2, dims, n + 1, table->tensor.dtype);
}

/* ---- dynamic forms ----------------------------------------------------------------------------------------------- */

static outcome unknown_extents(rlx_relay_goal *g, size_t rank, rlx_dtype dtype)
{
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK];
    for (size_t i = 0; i < rank; i++)
        dims[i] = rlx_relay_any();
    return rlx_relay_rel_give(g, rlx_relay_rel_out(g), dims, rank, dtype);
}

REL(DynStridedSlice)
{
    TENSOR(x, 0);
    for (size_t i = 1; i < 4; i++) {
        TENSOR(b, i);
        if (b->tensor.ndim != 1 || !rlx_dtype_is_int(b->tensor.dtype))
            return rlx_relay_rel_fail(g, "argument %zu is a vector of integers", i + 1);
    }
    return unknown_extents(g, x->tensor.ndim, x->tensor.dtype);
}

REL(DynTile)
{
    TENSOR(x, 0);
    TENSOR(reps, 1);
    rlx_relay_dim n = reps->tensor.ndim == 1 ? rlx_relay_extent(reps, 0) : rlx_relay_any();
    if (!rlx_relay_is_int(n) || n.value > RLX_RELAY_MAX_RANK)
        return rlx_relay_rel_fail(g, "reps is a vector of known length");
    size_t rank = x->tensor.ndim > (size_t)n.value ? x->tensor.ndim : (size_t)n.value;
    return unknown_extents(g, rank, x->tensor.dtype);
}

REL(DynTopK)
{
    TENSOR(x, 0);
    return rlx_relay_rel_first(g, x, false, rlx_relay_any());
}

REL(DynOneHot)
{
    TENSOR(i, 0);
    rlx_relay_dim dims[RLX_RELAY_MAX_RANK + 1];
    size_t at, rank = i->tensor.ndim;
    rlx_dtype dtype;
    if (rank >= RLX_RELAY_MAX_RANK || !rlx_relay_axis(g, rlx_relay_rel_int(g, "axis"), rank + 1, &at) ||
        !rlx_relay_rel_dtype(g, "dtype", RELAX_FLOAT32, &dtype))
        return RLX_RELAY_FAILS;
    for (size_t k = 0; k <= rank; k++)
        dims[k] = k == at ? rlx_relay_any() : rlx_relay_extent(i, k > at ? k - 1 : k);
    return rlx_relay_rel_give(g, 4, dims, rank + 1, dtype);
}
