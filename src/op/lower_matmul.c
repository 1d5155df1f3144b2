/* lower_matmul.c: out[b, i, j] = sum over k of x1[b, i, k] * x2[b, k, j].
 *
 * Loop order b, i, k, j: stores run along j, each step adds one scalar times one row of x2,
 * the product of floats not rounded (T.fma).
 * Operands of rank 1 lack i or j. The summed sizes are one variable for both operands, so the
 * kernel's call checks that they agree.
 */
/* built for size */
#include "op/lower_int.h"

typedef struct product {
    rlx_lowering b;
    rlx_lowering_tensor x, y, out;
    bool row, column;                   /* x has a row index, y a column index */
    rlx_lowering_shape batch, shape;
} product;

static size_t batch_rank(const rlx_tensor_sinfo *t)
{
    return t->ndim > 2 ? (size_t)t->ndim - 2 : 0;
}

/* Both operands get the same size for the summed dimension: the literal one if there is one. */
static bool share_summed(product *p)
{
    const rlx_tensor_sinfo *a = rlx_as_tensor_sinfo(p->b.l->args[0]),
                           *c = rlx_as_tensor_sinfo(p->b.l->args[1]);
    if (!a || !c || a->ndim < 1 || c->ndim < 1)
        return rlx_lowering_give_up(&p->b, "the rank is not known");
    const rlx_shape_expr *sa = rlx_as_shape_expr(a->shape), *sc = rlx_as_shape_expr(c->shape);
    const rlx_prim *ka = sa ? sa->values[a->ndim - 1] : NULL,
                   *kc = sc ? sc->values[c->ndim > 1 ? c->ndim - 2 : 0] : NULL;
    rlx_lowering_alias(&p->b, ka, kc);
    return true;
}

static bool begin(product *p, rlx_lower_request *l)
{
    memset(p, 0, sizeof *p);
    rlx_lowering_begin(&p->b, l);
    if (!share_summed(p) || !rlx_lowering_input(&p->b, 0, &p->x) ||
        !rlx_lowering_input(&p->b, 1, &p->y))
        return false;
    p->row = p->x.shape.sizes.n > 1;
    p->column = p->y.shape.sizes.n > 1;
    const rlx_prim *ka = p->x.shape.sizes.at[p->x.shape.sizes.n - 1];
    const rlx_prim *kc = p->y.shape.sizes.at[p->column ? p->y.shape.sizes.n - 2 : 0];
    if (ka != kc)
        rlx_lowering_require(&p->b, rlx_tir_eq(&p->b.t, ka, kc),
                             RLX_ASSERTION_SIZES, "the sizes that are summed over differ");
    return true;
}

/* Batch dimensions of one operand as a tensor of its own, so that they broadcast like any
 * others. */
static rlx_lowering_tensor batch_of(const rlx_lowering_tensor *t, size_t rank)
{
    rlx_lowering_tensor b = *t;
    b.shape.sizes.n = rank;
    return b;
}

static bool result_shape(product *p)
{
    rlx_lowering_tensor x = batch_of(&p->x, batch_rank(rlx_as_tensor_sinfo(p->b.l->args[0])));
    rlx_lowering_tensor y = batch_of(&p->y, batch_rank(rlx_as_tensor_sinfo(p->b.l->args[1])));
    const rlx_lowering_tensor *both[2] = { &x, &y };
    if (!rlx_lowering_broadcast(&p->b, both, 2, &p->batch))
        return false;
    p->shape = p->batch;
    rlx_lowering_shape *s = &p->shape;
    if (p->row) {
        s->program[s->sizes.n] = p->x.shape.program[p->x.shape.sizes.n - 2];
        s->sizes.at[s->sizes.n++] = p->x.shape.sizes.at[p->x.shape.sizes.n - 2];
    }
    if (p->column) {
        s->program[s->sizes.n] = p->y.shape.program[p->y.shape.sizes.n - 1];
        s->sizes.at[s->sizes.n++] = p->y.shape.sizes.at[p->y.shape.sizes.n - 1];
    }
    return rlx_lowering_output(&p->b, s, &p->out);
}

/* An element: batch index broadcast as needed, then the last one or two indices. */
static const rlx_prim *element(product *p, const rlx_lowering_tensor *t,
                               const rlx_lowering_list *batch, const rlx_prim *first,
                               const rlx_prim *second, rlx_dtype to)
{
    rlx_lowering_list index = *batch, sizes = p->batch.sizes;
    const rlx_prim *last[2] = { first, second };
    size_t n = t->shape.sizes.n, tail = first && second ? 2 : 1;
    for (size_t i = 0; i < tail; i++) {
        index.at[index.n++] = last[i] ? last[i] : last[1];
        sizes.at[sizes.n++] = t->shape.sizes.at[n - tail + i];
    }
    return rlx_tir_cast(&p->b.t, to, rlx_lowering_load(&p->b, t, &index, &sizes));
}

static void multiply(product *p, const rlx_buffer *target, rlx_dtype to)
{
    rlx_tir *t = &p->b.t;
    rlx_lowering_list batch = { .n = 0 }, at;
    const rlx_prim *i = NULL, *j = NULL;
    rlx_tir_begin_block(t, "matmul");
    for (size_t a = 0; a < p->batch.sizes.n; a++) {
        char name[2] = { (char)('a' + a % 8), 0 };
        batch.at[batch.n++] = rlx_tir_spatial(t, name, p->batch.sizes.at[a]);
    }
    if (p->row)
        i = rlx_tir_spatial(t, "i", p->x.shape.sizes.at[p->x.shape.sizes.n - 2]);
    const rlx_prim *k = rlx_tir_reduce(t, "k", p->x.shape.sizes.at[p->x.shape.sizes.n - 1]);
    if (p->column)
        j = rlx_tir_spatial(t, "j", p->y.shape.sizes.at[p->y.shape.sizes.n - 1]);
    at = batch;
    if (i)
        at.at[at.n++] = i;
    if (j)
        at.at[at.n++] = j;
    if (!i && !j && !p->batch.sizes.n)
        rlx_lowering_partial_sums(&p->b, to);
    rlx_tir_init(t, target, rlx_lowering_items(&at), rlx_tir_number(t, to, 0));
    const rlx_prim *a = element(p, &p->x, &batch, i, k, to),
                   *b = element(p, &p->y, &batch, k, j, to),
                   *sum = rlx_tir_load(t, target, rlx_lowering_items(&at));
    rlx_tir_store(t, target, rlx_lowering_items(&at), rlx_tir_multiply_add(t, sum, a, b));
    rlx_tir_end_block(t);
}

const rlx_prim_func *rlx_lower_matmul(rlx_lower_request *l)
{
    product p;
    rlx_lowering_list index;
    if (!begin(&p, l) || !result_shape(&p))
        return rlx_lowering_end(&p.b);
    rlx_dtype to = rlx_lowering_accumulator(p.out.dtype);
    if (to == p.out.dtype) {
        multiply(&p, p.out.buffer, to);
    } else {
        const rlx_buffer *wide =
            rlx_tir_alloc(&p.b.t, "wide", to, rlx_lowering_items(&p.shape.sizes));
        multiply(&p, wide, to);
        rlx_lowering_open(&p.b, "narrow", &p.shape.sizes, &index);
        rlx_tir_store(&p.b.t, p.out.buffer, rlx_lowering_items(&index),
                      rlx_tir_load(&p.b.t, wide, rlx_lowering_items(&index)));
        rlx_tir_end_block(&p.b.t);
    }
    return rlx_lowering_end(&p.b);
}
