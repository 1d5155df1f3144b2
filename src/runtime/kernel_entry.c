/*- kernel_entry.c: what calls of a kernel need not find out again.
 *
 *      0  want_dim %0:x, 0, 1         x is (1, 8): its sizes, their product and the strides of a compact
 *      4  want_dim %0:x, 1, 8         tensor are known when the kernel is loaded. Arguments are compared
 *      8  want_dim %1:out, 0, 1       with them where they are bound, and the call
 *     12  want_dim %1:out, 1, 8
 *     16  strip ...                   begins here. If an argument differs, it begins at 0, to say how.
 */
/* built for size */
#include "runtime/kernel_int.h"

/* Tensors of a higher rank are looked at by each call. */
static bool is_looked_at(const rlx_kernel_param *p, const rlx_kernel_buffer *buffers)
{
    return p->kind == RLX_KERNEL_PARAM_BUFFER && buffers[p->index].rank <= RLX_KERNEL_SIZED_RANK;
}

/* What is known of each parameter by itself; no size is yet. */
static void begin_param(rlx_kernel *k, rlx_kernel_param *p, uint32_t number, int64_t *sizes,
                        uint32_t *used)
{
    const rlx_kernel_buffer *b = &k->buffers[p->index];
    k->num_tensors++;
    k->written |= b->written ? (uint64_t)1 << (number < 63 ? number : 63) : 0;
    p->misaligned = (uint8_t)(b->bytes - 1);
    p->key = rlx_dl_key_make(b->rank, (rlx_dtype)p->dtype);
    if (!is_looked_at(p, k->buffers))
        return;
    p->sizes = *used;
    *used += 2u * b->rank;
    for (uint32_t d = 0; d < b->rank; d++)
        sizes[p->sizes + d] = -1;
}

/* The size that the instruction at `at` wants, if that is a constant; -1: anything else. Nothing
 * has been computed before it: registers of constants hold them. */
static int64_t wanted_size(const rlx_kernel *k, uint32_t at)
{
    const uint32_t *w = k->code + at;
    int64_t size;
    if ((w[0] & 0xffff) != RLX_K_WANT_DIM || w[3] / 8 >= k->num_consts)
        return -1;
    memcpy(&size, &k->consts[w[3] / 8], sizeof size);
    return size;
}

/* Are all sizes of the parameter known? Then so are their product and its strides. */
static bool complete(rlx_kernel_param *p, uint32_t rank, int64_t *sizes)
{
    p->count = 1;
    for (uint32_t d = rank; d-- > 0;) {
        sizes[rank + d] = p->count;
        if (sizes[d] < 0 || !rlx_mul_i64(p->count, sizes[d], &p->count) ||
            p->count > INT64_MAX / 8)
            return false;
    }
    return true;
}

static uint32_t plain_params(const rlx_kernel *k)
{
    bool plain = k->num_params && k->num_params < 32 && k->num_tensors == k->num_params && k->num_buffers == k->num_tensors;
    for (uint32_t i = 0; plain && i < k->num_params; i++)
        plain = k->params[i].index == i;
    return plain ? (1u << k->num_params) - 1 : 0;
}

void rlx_kernel_find_entry(rlx_kernel *k, rlx_kernel_param *params, int64_t *sizes)
{
    uint32_t used = 0, behind = 0;
    bool all_known = true;
    for (uint32_t i = 0; i < k->num_params; i++)
        if (params[i].kind == RLX_KERNEL_PARAM_BUFFER)
            begin_param(k, &params[i], i, sizes, &used);
    for (int64_t size; (size = wanted_size(k, behind)) >= 0; behind += 4) {
        const uint32_t *w = k->code + behind;
        const rlx_kernel_param *p = &params[k->buffers[w[1]].param];
        int64_t *known = is_looked_at(p, k->buffers) ? &sizes[p->sizes + w[2]] : NULL;
        if (known && *known < 0)
            *known = size;
        all_known &= known && *known == size;
    }
    for (uint32_t i = 0; i < k->num_params; i++)
        params[i].has_sizes = is_looked_at(&params[i], k->buffers) &&
                              complete(&params[i], k->buffers[params[i].index].rank,
                                       sizes + params[i].sizes);
    for (uint32_t at = 0; at < behind; at += 4)
        all_known &= params[k->buffers[k->code[at + 1]].param].has_sizes;
    k->entry = all_known ? behind : 0;
    k->sizes = sizes;
    k->plain = plain_params(k);
}

bool rlx_kernel_takes(const rlx_kernel *k, uint32_t param, rlx_dtype dtype, int32_t ndim,
                      const int64_t *dims)
{
    const rlx_kernel_param *p = &k->params[param];
    bool same = param < k->num_params && p->has_sizes && p->count > 0 &&
                p->key == rlx_dl_key_make(ndim, dtype);
    for (int32_t d = 0; same && d < ndim; d++)
        same = dims[d] == k->sizes[p->sizes + (uint32_t)d];
    return same;
}

uint64_t rlx_kernel_written(const rlx_kernel *k)
{
    return k->written;
}
