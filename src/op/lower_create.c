/* lower_create.c: tensors whose elements follow from their positions: ranges, identity,
 * triangles. */
/* built for size */
#include "op/lower_int.h"

typedef struct create {
    rlx_lowering_tensor x, out;
    const rlx_prim *start, *step;
    rlx_dtype wide;
} create;

/* column - row against the diagonal k */
static const rlx_prim *on_diagonal(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    create *c = user;
    const rlx_prim *row = rlx_tir_add(&b->t, index->at[index->n - 2], c->start),
                   *column = index->at[index->n - 1];
    return rlx_tir_cast(&b->t, c->out.dtype, rlx_tir_eq(&b->t, column, row));
}

static const rlx_prim *in_triangle(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    create *c = user;
    const rlx_prim *row = rlx_tir_add(&b->t, index->at[index->n - 2], c->start),
                   *column = index->at[index->n - 1];
    enum rlx_node_kind kind = (enum rlx_node_kind)b->l->row->member.node.kind;
    const rlx_prim *x = rlx_tir_load(&b->t, c->x.buffer, rlx_lowering_items(index));
    return rlx_tir_select(&b->t, rlx_tir_binary(&b->t, kind, column, row), x,
                          rlx_tir_number(&b->t, c->out.dtype, 0));
}

/* Floats in float64, so that the last element of a long range is as exact as the first. */
static const rlx_prim *in_range(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    create *c = user;
    const rlx_prim *k = rlx_tir_cast(&b->t, c->wide, index->at[0]);
    return rlx_tir_cast(&b->t, c->out.dtype,
                        rlx_tir_add(&b->t, c->start, rlx_tir_mul(&b->t, k, c->step)));
}

/* eye (n, m, k), eye_like (x, k): sizes come from the result */
const rlx_prim_func *rlx_lower_eye(rlx_lower_request *l)
{
    rlx_lowering b;
    create c = { .start = NULL };
    rlx_lowering_begin(&b, l);
    c.start = rlx_lowering_scalar(&b, l->call->num_args - 1, RELAX_INT64);
    return !c.start || !rlx_lowering_output(&b, NULL, &c.out)
               ? rlx_lowering_end(&b)
               : rlx_lowering_mapped(&b, &c.out, on_diagonal, &c);
}

const rlx_prim_func *rlx_lower_triangle(rlx_lower_request *l)
{
    rlx_lowering b;
    create c = { .start = NULL };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &c.x))
        return rlx_lowering_end(&b);
    c.start = rlx_lowering_scalar(&b, 1, RELAX_INT64);
    return !c.start || !rlx_lowering_output(&b, &c.x.shape, &c.out)
               ? rlx_lowering_end(&b)
               : rlx_lowering_mapped(&b, &c.out, in_triangle, &c);
}

static bool is_float_arg(const rlx_lower_request *l, size_t i)
{
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(l->args[i]);
    return p && rlx_dtype_is_float(p->dtype);
}

/* arange (start, end, step) */
const rlx_prim_func *rlx_lower_arange(rlx_lower_request *l)
{
    rlx_lowering b;
    create c = { .wide = is_float_arg(l, 0) || is_float_arg(l, 2) ? RELAX_FLOAT64 : RELAX_INT64 };
    rlx_lowering_begin(&b, l);
    c.start = rlx_lowering_scalar(&b, 0, c.wide);
    c.step = rlx_lowering_scalar(&b, 2, c.wide);
    if (!c.start || !c.step || !rlx_lowering_output(&b, NULL, &c.out))
        return rlx_lowering_end(&b);
    return rlx_lowering_mapped(&b, &c.out, in_range, &c);
}
