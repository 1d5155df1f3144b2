/*- sparse_kind.h: the sparse tensor of the tests, as a host would add it:
 *     R.SparseTensor(shape, R.dtype(dtype))         shape: dimensions or a variable
 *     R.SparseTensor(shape, R.dtype(dtype), nnz)    with the number of elements that are there
 */
#ifndef SPARSE_KIND_H
#define SPARSE_KIND_H

#include "api_fixture.h"

/* What the callbacks did, and what they are to do wrong. */
typedef struct sparse {
    int equal, fits, lubs, erasures, types, destroyed;
    int32_t wrong_fit;              /* not 0: what fit answers */
    const relax_struct_info *wrong; /* not NULL: what lub, erase and static_type give */
    int mode;                       /* of the tests of misuse */
    int loose;                      /* 1: the number of elements does not count as a difference */
} sparse;

static inline const relax_node *operand(const relax_struct_info *s, size_t i)
{
    return relax_struct_info_operand(s, i);
}

static inline relax_struct_info *sparse_of(relax_context *ctx, const relax_node *shape,
                                           const relax_node *dtype, const relax_node *nnz)
{
    const relax_node *operands[] = { shape, dtype, nnz };
    return relax_struct_info_extension_new(ctx, Z("SparseTensor"), operands, nnz ? 3 : 2);
}

/* RELAX_FIT_... of two integers or shapes. */
static inline int32_t fit_sizes(relax_context *ctx, const relax_node *a, const relax_node *b)
{
    static const int32_t fits[] = { RELAX_ASSIGNABLE_VALUE, RELAX_ASSIGNABLE_YES,
                                    RELAX_ASSIGNABLE_NO };
    const relax_prim_expr *x = relax_node_as_prim_expr(a), *y = relax_node_as_prim_expr(b);
    const relax_expr *s = relax_node_as_expr(a), *t = relax_node_as_expr(b);
    int32_t worst = RELAX_ASSIGNABLE_YES;
    if (x && y)
        return fits[relax_prim_prove_equal(ctx, x, y)];
    if (relax_expr_kind(s) != RELAX_EXPR_KIND_SHAPE || relax_expr_kind(t) != RELAX_EXPR_KIND_SHAPE)
        return a == b ? RELAX_ASSIGNABLE_YES : RELAX_ASSIGNABLE_VALUE;
    for (size_t i = 0; relax_expr_value(s, i) || relax_expr_value(t, i); i++) {
        x = relax_expr_value(s, i);
        y = relax_expr_value(t, i);
        int32_t one = x && y ? fits[relax_prim_prove_equal(ctx, x, y)] : RELAX_ASSIGNABLE_NO;
        worst = one < worst ? one : worst;
    }
    return worst;
}

static inline int32_t sparse_fit(void *user, relax_context *ctx, const relax_struct_info *a,
                                 const relax_struct_info *b)
{
    sparse *s = user;
    s->fits++;
    if (s->wrong_fit)
        return s->wrong_fit;
    if (operand(a, 1) != operand(b, 1))
        return RELAX_ASSIGNABLE_NO;
    int32_t fit = fit_sizes(ctx, operand(a, 0), operand(b, 0));
    if (!operand(b, 2) || !fit)
        return fit; /* any number of elements */
    int32_t nnz =
        operand(a, 2) ? fit_sizes(ctx, operand(a, 2), operand(b, 2)) : RELAX_ASSIGNABLE_VALUE;
    return nnz < fit ? nnz : fit;
}

static inline int32_t sparse_equal(void *user, relax_context *ctx, const relax_struct_info *a,
                                   const relax_struct_info *b)
{
    sparse *s = user;
    s->equal++;
    return s->loose && operand(a, 1) == operand(b, 1) &&
           fit_sizes(ctx, operand(a, 0), operand(b, 0)) == RELAX_ASSIGNABLE_YES;
}

static inline const relax_struct_info *sparse_lub(void *user, relax_context *ctx,
                                                  const relax_struct_info *a,
                                                  const relax_struct_info *b)
{
    sparse *s = user;
    s->lubs++;
    if (s->wrong)
        return s->wrong;
    if (operand(a, 1) != operand(b, 1) ||
        fit_sizes(ctx, operand(a, 0), operand(b, 0)) != RELAX_ASSIGNABLE_YES)
        return NULL;
    return sparse_of(ctx, operand(a, 0), operand(a, 1), NULL);
}

static inline const relax_struct_info *sparse_erase(void *user, relax_context *ctx,
                                                    const relax_struct_info *info,
                                                    const int32_t *visible, size_t count)
{
    sparse *s = user;
    s->erasures++;
    if (s->wrong)
        return s->wrong;
    if (!visible[0])
        return NULL;
    return sparse_of(ctx, operand(info, 0), operand(info, 1),
                     count > 2 && visible[2] ? operand(info, 2) : NULL);
}

static inline const relax_struct_info *sparse_type(void *user, relax_context *ctx,
                                                   const relax_struct_info *info)
{
    (void)ctx;
    ((sparse *)user)->types++;
    return ((sparse *)user)->wrong ? info : NULL;
}

static inline void sparse_destroy(void *user) { ((sparse *)user)->destroyed++; }

static inline relax_kind_options sparse_options(sparse *s)
{
    relax_kind_options o;
    relax_kind_options_init(&o, sizeof o);
    o.name = "SparseTensor";
    o.name_len = strlen(o.name);
    o.min_operands = 2;
    o.max_operands = 3;
    o.equal = sparse_equal;
    o.fit = sparse_fit;
    o.lub = sparse_lub;
    o.erase = sparse_erase;
    o.static_type = sparse_type;
    o.user = s;
    o.destroy = sparse_destroy;
    return o;
}

#endif
