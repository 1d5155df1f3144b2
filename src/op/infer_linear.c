/* infer_linear.c: matmul and einsum. */
#include "op/op_int.h"

typedef struct matrix {
    const rlx_tensor_sinfo *t;
    const rlx_prim *const *dims; /* NULL: not literal */
    bool vector;                 /* rank 1: acts as a row on the left, as a column on the right */
} matrix;

static bool read_matrix(rlx_infer *in, size_t i, matrix *m)
{
    size_t n;
    m->t = rlx_infer_tensor(in, i);
    if (!m->t)
        return false;
    m->dims = rlx_literal_dims(m->t, &n);
    m->vector = m->t->ndim == 1;
    if (m->t->ndim == 0)
        rlx_infer_fail(in, "%s has rank 0, expected at least 1", in->row->args[i].name);
    return m->t->ndim != 0;
}

/* Both are on one device, or only one says where it is. */
static const rlx_node *matmul_device(const rlx_tensor_sinfo *a, const rlx_tensor_sinfo *b)
{
    if (!a->vdevice || !b->vdevice)
        return a->vdevice ? a->vdevice : b->vdevice;
    return a->vdevice == b->vdevice ? a->vdevice : NULL;
}

static const rlx_prim *contracted(const matrix *m, bool left)
{
    int n = m->t->ndim;
    return m->dims[left ? n - 1 : m->vector ? 0 : n - 2];
}

/* Batch dimensions into out, from the right. 1, 0 (not provable), -1 (reported). */
static int batch_dims(rlx_infer *in, const matrix *a, const matrix *b, rlx_dims *out, size_t batch)
{
    size_t na = a->t->ndim > 2 ? (size_t)a->t->ndim - 2 : 0, nb = b->t->ndim > 2 ? (size_t)b->t->ndim - 2 : 0;
    int all = 1;
    for (size_t i = 0; i < batch; i++) {
        bool in_a = i + na >= batch, in_b = i + nb >= batch;
        const rlx_prim *x = in_a ? a->dims[i + na - batch] : NULL, *y = in_b ? b->dims[i + nb - batch] : NULL;
        int one = 1;
        if (in_a && in_b)
            one = rlx_broadcast_dim(in, x, y, &out->at[i]);
        else
            out->at[i] = in_a ? x : y;
        if (one < 0) {
            rlx_infer_fail(in, "batch sizes %s and %s do not broadcast", rlx_show(in->ctx, x), rlx_show(in->ctx, y));
            return -1;
        }
        all &= one;
    }
    return all;
}

static const rlx_sinfo *matmul_dims(rlx_infer *in, const matrix *a, const matrix *b, int64_t ndim, rlx_dtype dtype, const rlx_node *vdevice)
{
    rlx_dims out;
    size_t n = (size_t)ndim, batch = n - !a->vector - !b->vector;
    if (!rlx_dims_init(in, &out, n))
        return NULL;
    int known = batch_dims(in, a, b, &out, batch);
    if (known < 0)
        return NULL;
    const rlx_prim *ka = contracted(a, true), *kb = contracted(b, false);
    if (rlx_infer_equal(in, ka, kb) == RLX_DIFFERENT)
        return rlx_infer_fail(in, "the last size of %s is %s, expected %s, that of %s it is summed with", in->row->args[0].name,
                              rlx_show(in->ctx, ka), rlx_show(in->ctx, kb), in->row->args[1].name);
    if (!known)
        return rlx_infer_rank_result(in, ndim, dtype, vdevice);
    if (!a->vector)
        out.at[batch++] = a->dims[a->t->ndim - 2];
    if (!b->vector)
        out.at[batch++] = b->dims[b->t->ndim - 1];
    return rlx_infer_dims_result(in, &out, dtype, vdevice);
}

const rlx_sinfo *rlx_infer_matmul(rlx_infer *in)
{
    matrix a, b;
    if (!read_matrix(in, 0, &a) || !read_matrix(in, 1, &b))
        return NULL;
    rlx_dtype dtype = rlx_attr_as_dtype(rlx_infer_attr(in, 0));
    if (rlx_dtype_is_void(dtype) && !rlx_infer_common_dtype(in, a.t->dtype, b.t->dtype, &dtype))
        return NULL;
    const rlx_node *vdevice = matmul_device(a.t, b.t);
    if (a.t->ndim < 0 || b.t->ndim < 0)
        return rlx_infer_rank_result(in, -1, dtype, vdevice);
    int64_t na = a.vector ? 2 : a.t->ndim, nb = b.vector ? 2 : b.t->ndim;
    int64_t ndim = (na > nb ? na : nb) - a.vector - b.vector;
    if (!a.dims || !b.dims)
        return rlx_infer_rank_result(in, ndim, dtype, vdevice);
    return matmul_dims(in, &a, &b, ndim, dtype, vdevice);
}
