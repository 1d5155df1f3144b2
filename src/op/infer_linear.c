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
    size_t na = a->t->ndim > 2 ? (size_t)a->t->ndim - 2 : 0,
           nb = b->t->ndim > 2 ? (size_t)b->t->ndim - 2 : 0;
    int all = 1;
    for (size_t i = 0; i < batch; i++) {
        bool in_a = i + na >= batch, in_b = i + nb >= batch;
        const rlx_prim *x = in_a ? a->dims[i + na - batch] : NULL,
                       *y = in_b ? b->dims[i + nb - batch] : NULL;
        int one = 1;
        if (in_a && in_b)
            one = rlx_broadcast_dim(in, x, y, &out->at[i]);
        else
            out->at[i] = in_a ? x : y;
        if (one < 0) {
            rlx_infer_fail(in, "batch sizes %s and %s do not broadcast", rlx_show(in->ctx, x),
                           rlx_show(in->ctx, y));
            return -1;
        }
        all &= one;
    }
    return all;
}

static const rlx_sinfo *matmul_dims(rlx_infer *in, const matrix *a, const matrix *b, int64_t ndim,
                                    rlx_dtype dtype, const rlx_node *vdevice)
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
        return rlx_infer_fail(
            in, "the last size of %s is %s, expected %s, that of %s it is summed with",
            in->row->args[0].name, rlx_show(in->ctx, ka), rlx_show(in->ctx, kb),
            in->row->args[1].name);
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

/* ---- einsum --------------------------------------------------------------------------------- */

#define MAX_OPERANDS RLX_EINSUM_OPERANDS
#define ELLIPSIS RLX_EINSUM_ELLIPSIS
typedef rlx_labels labels;
typedef rlx_equation equation;

static bool parse_labels(rlx_slice text, labels *out)
{
    *out = (labels){ .n = 0 };
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == ' ')
            continue;
        bool dots = c == '.' && i + 2 < text.len && text.data[i + 1] == '.' &&
                    text.data[i + 2] == '.' && !out->ellipsis;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (out->n == RLX_DIMS_INLINE || !(dots || letter))
            return false;
        out->ellipsis |= dots;
        i += dots ? 2 : 0;
        out->at[out->n++] = dots ? ELLIPSIS : (unsigned char)c;
    }
    return true;
}

bool rlx_equation_parse(rlx_slice text, rlx_equation *e)
{
    bool arrow = false;
    int seen[ELLIPSIS] = { 0 };
    size_t from = 0;
    *e = (equation){ .count = 0 };
    for (size_t i = 0; i <= text.len; i++) {
        bool at_arrow = i + 1 < text.len && text.data[i] == '-' && text.data[i + 1] == '>';
        if (i < text.len && text.data[i] != ',' && !at_arrow)
            continue;
        if (e->count == MAX_OPERANDS ||
            !parse_labels((rlx_slice){ text.data + from, i - from }, &e->in[e->count]))
            return false;
        e->count++;
        from = i + 1;
        if (!at_arrow)
            continue;
        arrow = true;
        from = i + 2;
        break;
    }
    if (arrow)
        return parse_labels((rlx_slice){ text.data + from, text.len - from }, &e->out);
    for (size_t k = 0; k < e->count; k++)
        for (size_t i = 0; i < e->in[k].n; i++)
            if (e->in[k].at[i] == ELLIPSIS)
                e->out.ellipsis = true;
            else
                seen[e->in[k].at[i]]++;
    if (e->out.ellipsis)
        e->out.at[e->out.n++] = ELLIPSIS;
    for (int c = 0; c < ELLIPSIS && e->out.n < RLX_DIMS_INLINE; c++)
        if (seen[c] == 1)
            e->out.at[e->out.n++] = (unsigned char)c;
    return true;
}

/* Extents under one label: equal ones, or 1 gives way; what is not known to be either is the
 * greater. */
static bool join_extent(rlx_infer *in, const rlx_prim **have, const rlx_prim *size)
{
    int64_t a, b;
    if (!*have || rlx_is_int_value(*have, 1)) {
        *have = size;
        return true;
    }
    if (*have == size || rlx_is_int_value(size, 1) ||
        rlx_infer_equal(in, *have, size) == RLX_EQUAL)
        return true;
    if (rlx_int_literal(*have, &a) && rlx_int_literal(size, &b)) {
        rlx_infer_fail(in, "sizes %lld and %lld stand under one label", (long long)a,
                       (long long)b);
        return false;
    }
    *have = rlx_fold_binary(in->ctx, RLX_NODE_MAX, *have, size);
    return *have != NULL || (in->failed = true, false);
}

static bool read_extents(rlx_infer *in, equation *e, size_t operand, const rlx_prim *const *dims,
                         size_t n)
{
    const labels *l = &e->in[operand];
    size_t named = l->n - l->ellipsis, rest = n - named;
    if (n < named || (rest && !l->ellipsis) || rest > RLX_DIMS_INLINE) {
        rlx_infer_fail(in, "operand %zu has rank %zu, the subscripts name %zu dimensions", operand,
                       n, named);
        return false;
    }
    for (size_t i = 0, d = 0; i < l->n; i++) {
        if (l->at[i] != ELLIPSIS) {
            if (!join_extent(in, &e->size[l->at[i]], dims[d++]))
                return false;
            continue;
        }
        for (size_t k = 0; k < rest; k++)
            if (!join_extent(in, &e->rest[RLX_DIMS_INLINE - rest + k], dims[d++]))
                return false;
        e->num_rest = rest > e->num_rest ? rest : e->num_rest;
    }
    return true;
}

static const rlx_sinfo *einsum_result(rlx_infer *in, const equation *e, rlx_dtype dtype,
                                      const rlx_node *vdevice)
{
    rlx_dims out;
    size_t n = 0;
    if (!rlx_dims_init(in, &out, e->out.n - e->out.ellipsis + (e->out.ellipsis ? e->num_rest : 0)))
        return NULL;
    for (size_t i = 0; i < e->out.n; i++) {
        if (e->out.at[i] == ELLIPSIS) {
            for (size_t k = 0; k < e->num_rest; k++)
                out.at[n++] = e->rest[RLX_DIMS_INLINE - e->num_rest + k];
        } else if (!(out.at[n++] = e->size[e->out.at[i]])) {
            return rlx_infer_fail(in, "label %c of the result is in no operand", e->out.at[i]);
        }
    }
    return rlx_infer_dims_result(in, &out, dtype, vdevice);
}

/* Dimensions of the result: its labels, and what the widest ellipsis of an operand stands for.
 * -1: not known. */
static int64_t einsum_rank(const equation *e, const rlx_tuple_sinfo *operands)
{
    int64_t rest = 0;
    for (size_t i = 0; e->out.ellipsis && i < e->count; i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(operands->fields[i]);
        int64_t named = (int64_t)(e->in[i].n - e->in[i].ellipsis);
        if (!e->in[i].ellipsis)
            continue;
        if (!t || t->ndim < named)
            return -1;
        rest = t->ndim - named > rest ? t->ndim - named : rest;
    }
    return (int64_t)(e->out.n - e->out.ellipsis) + rest;
}

const rlx_sinfo *rlx_infer_einsum(rlx_infer *in)
{
    const rlx_sinfo *s = rlx_infer_arg(in, 0);
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(s);
    rlx_slice text = rlx_attr_text(rlx_infer_attr(in, 0));
    const rlx_node *vdevice = NULL;
    rlx_dtype dtype = RELAX_VOID;
    equation e;
    if (!s)
        return NULL;
    if (!tuple || tuple->num_fields == 0)
        return rlx_infer_fail(in, "operands are %s, expected a tuple of tensors",
                              rlx_show(in->ctx, s));
    if (!rlx_equation_parse(text, &e) || e.count != tuple->num_fields)
        return rlx_infer_fail(in, "subscripts \"%.*s\" do not describe %zu operands",
                              (int)text.len, text.data, tuple->num_fields);
    for (size_t i = 0; i < tuple->num_fields; i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(tuple->fields[i]);
        if (!t || (i && t->dtype != dtype))
            return rlx_infer_fail(in,
                                  "operand %zu is %s, expected a tensor of the dtype of the first",
                                  i, rlx_show(in->ctx, tuple->fields[i]));
        dtype = t->dtype;
        vdevice = rlx_device_join(vdevice, t->vdevice);
    }
    for (size_t i = 0; i < tuple->num_fields; i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(tuple->fields[i]);
        size_t n;
        const rlx_prim *const *dims = rlx_literal_dims(t, &n);
        if (!dims)
            return rlx_infer_rank_result(in, einsum_rank(&e, tuple), dtype, vdevice);
        if (!read_extents(in, &e, i, dims, n))
            return NULL;
    }
    return einsum_result(in, &e, dtype, vdevice);
}

/* ---- determinants --------------------------------------------------------------------------- */

const rlx_sinfo *rlx_infer_det(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    rlx_dims out;
    size_t n;
    if (!x || !rlx_infer_float(in, x->dtype))
        return NULL;
    if (x->ndim >= 0 && x->ndim < 2)
        return rlx_infer_fail(in, "x has rank %d, expected at least 2", x->ndim);
    const rlx_prim *const *d = rlx_literal_dims(x, &n);
    if (!d)
        return rlx_infer_rank_result(in, x->ndim < 0 ? -1 : x->ndim - 2, x->dtype, x->vdevice);
    if (rlx_infer_equal(in, d[n - 2], d[n - 1]) == RLX_DIFFERENT)
        return rlx_infer_fail(in, "x is %s, expected square matrices", rlx_show(in->ctx, &x->node));
    if (!rlx_dims_init(in, &out, n - 2))
        return NULL;
    memcpy(out.at, d, (n - 2) * sizeof *d);
    return rlx_infer_dims_result(in, &out, x->dtype, x->vdevice);
}
