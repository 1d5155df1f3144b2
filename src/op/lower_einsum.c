/* lower_einsum.c: out[output labels] = sum over the other labels of the product of all
 * operands.
 *
 * Labels are numbered: those of the result first, in its order, so that stores run along its
 * last one; then the summed ones. Dimensions of the ellipsis are labels of their own, aligned
 * right. Sizes of 1 broadcast.
 */
/* built for size */
#include "op/lower_int.h"

#define MAX_OPERANDS RLX_EINSUM_OPERANDS
#define SLOTS (RLX_EINSUM_ELLIPSIS + RLX_DIMS_INLINE)

typedef struct einsum {
    rlx_lowering b;
    rlx_equation e;
    rlx_lowering_tensor in[MAX_OPERANDS], out;
    int number[SLOTS];                          /* of a label, -1: none yet */
    int dims[MAX_OPERANDS][RLX_LOW_RANK];       /* label of each dimension */
    rlx_lowering_shape all;                     /* sizes of the labels */
    size_t num_out;
} einsum;

/* Slots of the dimensions that the letters stand for; how many. */
static size_t expand(const rlx_labels *l, size_t rest, unsigned char *slots)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->at[i] != RLX_EINSUM_ELLIPSIS)
            slots[n++] = l->at[i];
        for (size_t k = 0; l->at[i] == RLX_EINSUM_ELLIPSIS && k < rest; k++)
            slots[n++] = (unsigned char)(RLX_EINSUM_ELLIPSIS + RLX_DIMS_INLINE - rest + k);
    }
    return n;
}

/* The number of a label; a new one starts with size 1. */
static bool number_of(einsum *s, unsigned char slot, int *out)
{
    if (s->number[slot] < 0) {
        if (s->all.sizes.n == RLX_LOW_RANK)
            return rlx_lowering_give_up(&s->b, "more than 16 labels");
        s->all.program[s->all.sizes.n] = rlx_int64(s->b.l->ctx, 1);
        s->all.sizes.at[s->all.sizes.n] = rlx_tir_int(&s->b.t, 1);
        s->number[slot] = (int)s->all.sizes.n++;
    }
    *out = s->number[slot];
    return true;
}

static bool read_operands(einsum *s, const rlx_tuple_sinfo *tuple)
{
    size_t rest = 0;
    for (size_t i = 0; i < tuple->num_fields; i++) {
        char name[RLX_LOW_NAME];
        rlx_lowering_name(name, 'x', i);
        if (!rlx_lowering_input_field(&s->b, 0, i, name, &s->in[i]))
            return false;
        const rlx_labels *l = &s->e.in[i];
        size_t n = s->in[i].shape.sizes.n, named = l->n - l->ellipsis;
        if (!s->in[i].buffer || n < named || (n > named && !l->ellipsis))
            return rlx_lowering_give_up(&s->b, "the subscripts do not fit the ranks");
        rest = l->ellipsis && n - named > rest ? n - named : rest;
    }
    s->e.num_rest = rest;
    return true;
}

static bool number_labels(einsum *s)
{
    unsigned char slots[2 * RLX_LOW_RANK];
    int unused;
    memset(s->number, -1, sizeof s->number);
    size_t n = expand(&s->e.out, s->e.num_rest, slots);
    for (size_t i = 0; i < n; i++)
        if (!number_of(s, slots[i], &unused))
            return false;
    if (s->all.sizes.n != n)
        return rlx_lowering_give_up(&s->b, "a label of the result is repeated");
    s->num_out = n;
    for (size_t k = 0; k < s->e.count; k++) {
        size_t named = s->e.in[k].n - s->e.in[k].ellipsis;
        n = expand(&s->e.in[k], s->in[k].shape.sizes.n - named, slots);
        for (size_t i = 0; i < n; i++) {
            if (!number_of(s, slots[i], &s->dims[k][i]) ||
                !rlx_lowering_join(&s->b, &s->in[k].shape, i, &s->all, (size_t)s->dims[k][i]))
                return false;
        }
    }
    return true;
}

/* What the sum is after one more product of all operands; the last one is multiplied and added. */
static const rlx_prim *summed(einsum *s, const rlx_prim *old, const rlx_lowering_list *index,
                              rlx_dtype wide)
{
    rlx_tir *t = &s->b.t;
    bool logical = rlx_dtype_is_bool(wide);
    const rlx_prim *p = NULL;
    for (size_t k = 0; k < s->e.count; k++) {
        rlx_lowering_list at = { .n = s->in[k].shape.sizes.n }, sizes = at;
        for (size_t i = 0; i < at.n; i++) {
            at.at[i] = index->at[s->dims[k][i]];
            sizes.at[i] = s->all.sizes.at[s->dims[k][i]];
        }
        const rlx_prim *x = rlx_tir_cast(t, wide, rlx_lowering_load(&s->b, &s->in[k], &at, &sizes));
        if (p && k + 1 == s->e.count)
            return rlx_tir_multiply_add(t, old, p, x);
        p = !p ? x : logical ? rlx_tir_and(t, p, x) : rlx_tir_mul(t, p, x);
    }
    return logical ? rlx_tir_or(t, old, p) : rlx_tir_add(t, old, p);
}

/* Nothing is summed up: what the sum of one product is, for each place. */
static void multiply_all(einsum *s)
{
    rlx_lowering_list index;
    rlx_dtype wide = rlx_lowering_accumulator(s->out.dtype);
    rlx_lowering_open(&s->b, "einsum", &s->all.sizes, &index);
    rlx_tir_store(&s->b.t, s->out.buffer, rlx_lowering_items(&index), summed(s, rlx_tir_number(&s->b.t, wide, 0), &index, wide));
    rlx_tir_end_block(&s->b.t);
}

static void sum_products(einsum *s)
{
    rlx_tir *t = &s->b.t;
    bool reduced[RLX_LOW_RANK];
    rlx_lowering_list index;
    rlx_dtype wide = rlx_lowering_accumulator(s->out.dtype);
    const rlx_buffer *sum =
        wide == s->out.dtype
            ? s->out.buffer
            : rlx_tir_alloc(t, "wide", wide, rlx_lowering_items(&s->out.shape.sizes));
    for (size_t i = 0; i < s->all.sizes.n; i++)
        reduced[i] = i >= s->num_out;
    rlx_lowering_open_reduce(&s->b, "einsum", &s->all.sizes, reduced, &index);
    rlx_prim_list at = RLX_TIR_ITEMS(index.at, s->num_out);
    if (s->e.count == 1 || (s->e.count == 2 && s->num_out == 0 && s->all.sizes.n == 1))
        rlx_lowering_partial_sums(&s->b, wide);
    rlx_tir_init(t, sum, at, rlx_tir_number(t, wide, 0));
    rlx_tir_store(t, sum, at, summed(s, rlx_tir_load(t, sum, at), &index, wide));
    rlx_tir_end_block(t);
    if (sum == s->out.buffer)
        return;
    rlx_lowering_open(&s->b, "narrow", &s->out.shape.sizes, &index);
    rlx_tir_store(t, s->out.buffer, rlx_lowering_items(&index),
                  rlx_tir_load(t, sum, rlx_lowering_items(&index)));
    rlx_tir_end_block(t);
}

const rlx_prim_func *rlx_lower_einsum(rlx_lower_request *l)
{
    einsum s = { .num_out = 0 };
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(l->args[0]);
    rlx_lowering_begin(&s.b, l);
    if (!tuple || !rlx_equation_parse(rlx_attr_text(rlx_lowering_attr(l, 0)), &s.e) ||
        s.e.count != tuple->num_fields) {
        rlx_lowering_give_up(&s.b, "the subscripts do not fit the operands");
        return rlx_lowering_end(&s.b);
    }
    if (!read_operands(&s, tuple) || !number_labels(&s))
        return rlx_lowering_end(&s.b);
    rlx_lowering_shape shape = s.all;
    shape.sizes.n = s.num_out;
    if (rlx_lowering_output(&s.b, &shape, &s.out))
        (s.num_out == s.all.sizes.n ? multiply_all : sum_products)(&s);
    return rlx_lowering_end(&s.b);
}
