/* lub.c: least upper bound (language 5.7). */
#include "sinfo/sinfo_int.h"

typedef struct joiner { rlx_context *ctx; const rlx_scope *scope; rlx_budget budget; } joiner;

static const rlx_sinfo *join(joiner *j, const rlx_sinfo *a, const rlx_sinfo *b);

static const rlx_sinfo *join_prims(joiner *j, const rlx_prim_sinfo *a, const rlx_prim_sinfo *b)
{
    if (a->dtype != b->dtype)
        return rlx_object_info(j->ctx);
    bool same =
        a->value && b->value && rlx_prove_equal(j->ctx, j->scope, a->value, b->value) == RLX_EQUAL;
    return same ? &a->node : rlx_prim_info(j->ctx, a->dtype, NULL);
}

static const rlx_sinfo *join_shapes(joiner *j, const rlx_shape_sinfo *a, const rlx_shape_sinfo *b)
{
    if (a->ndim != b->ndim)
        return rlx_shape_info_rank(j->ctx, -1);
    if (a->has_values && b->has_values &&
        rlx_prove_equal_list(j->ctx, j->scope, a->values, a->num_values, b->values,
                             b->num_values) == RLX_EQUAL)
        return &a->node;
    return rlx_shape_info_rank(j->ctx, a->ndim);
}

static const rlx_sinfo *join_tensors(joiner *j, const rlx_tensor_sinfo *a,
                                     const rlx_tensor_sinfo *b)
{
    int32_t index;
    if (a->vdevice != b->vdevice && (rlx_as_sharding(a->vdevice) || rlx_as_sharding(b->vdevice)))
        return rlx_object_info(j->ctx);
    int ndim = a->ndim == b->ndim ? a->ndim : -1;
    bool same_shape = ndim >= 0 && a->shape && b->shape &&
                      rlx_prove_shapes(j->ctx, j->scope, a->shape, b->shape, &index) == RLX_EQUAL;
    return rlx_tensor_info(j->ctx, same_shape ? a->shape : NULL,
                           a->dtype == b->dtype ? a->dtype : RELAX_VOID, ndim,
                           a->vdevice == b->vdevice ? a->vdevice : NULL);
}

static const rlx_sinfo *join_tuples(joiner *j, const rlx_tuple_sinfo *a, const rlx_tuple_sinfo *b)
{
    size_t n = a->num_fields, i = 0;
    if (n != b->num_fields)
        return rlx_object_info(j->ctx);
    const rlx_sinfo **fields = rlx_mem_alloc(&j->ctx->memory, (n + 1) * sizeof *fields),
                    *out = NULL;
    if (!fields)
        return NULL;
    while (i < n && (fields[i] = join(j, a->fields[i], b->fields[i])) != NULL)
        i++;
    if (i == n)
        out = rlx_tuple_info(j->ctx, fields, n);
    rlx_mem_free(&j->ctx->memory, fields, (n + 1) * sizeof *fields);
    return out;
}

/* --- functions --- */

typedef struct binder_pair { const rlx_func_sinfo *a, *b; const rlx_scope *scope; } binder_pair;

static bool is_binder(const rlx_func_sinfo *f, const rlx_prim_var *v)
{
    for (size_t i = 0; i < f->num_binders; i++)
        if (f->binders[i] == &v->node)
            return true;
    return false;
}

static bool no_binder(void *user, const rlx_prim_var *v)
{
    const binder_pair *p = user;
    return !is_binder(p->a, v) && !is_binder(p->b, v);
}

static bool any_var(void *user, const rlx_var *v)
{
    return true;
}

static const rlx_sinfo *erase_binders(joiner *j, const rlx_sinfo *s, const rlx_func_sinfo *a,
                                      const rlx_func_sinfo *b)
{
    binder_pair pair = { a, b, j->scope };
    return s ? rlx_erase(j->ctx, s, &(rlx_visible){ no_binder, any_var, &pair }) : NULL;
}

static const rlx_sinfo *opaque(joiner *j, const rlx_func_sinfo *a, const rlx_func_sinfo *b)
{
    const rlx_sinfo *ret = join(j, a->ret, b->ret);
    return rlx_opaque_func_info(j->ctx, RLX_DERIVE_CONST, NULL, erase_binders(j, ret, a, b),
                                a->is_pure && b->is_pure);
}

/* The more specific of the parameters, each of them; false: some pair is not comparable. */
static bool join_params(joiner *j, const rlx_func_sinfo *a, rlx_mapping *m,
                        const rlx_func_sinfo *b, const rlx_sinfo **out)
{
    for (size_t i = 0; i < a->num_params; i++) {
        const rlx_sinfo *p = a->params[i], *q = rlx_mapping_apply(m, b->params[i]);
        if (!q)
            return false;
        if (rlx_assignable(j->ctx, j->scope, p, q, NULL) == RLX_ASSIGNABLE_YES)
            out[i] = p;
        else if (rlx_assignable(j->ctx, j->scope, q, p, NULL) == RLX_ASSIGNABLE_YES)
            out[i] = q;
        else
            return false;
    }
    return true;
}

static bool not_placeholder(void *user, const rlx_prim_var *v)
{
    return no_binder(user, v); /* bound outside: all but the placeholders of the two */
}

static const rlx_sinfo *join_params_form(joiner *j, const rlx_func_sinfo *a,
                                         const rlx_func_sinfo *b)
{
    size_t n = a->num_params;
    rlx_mapping m;
    binder_pair pair = { a, b, j->scope };
    const rlx_sinfo **params = rlx_mem_alloc(&j->ctx->memory, (n + 1) * sizeof *params),
                    *out = NULL;
    if (!params)
        return NULL;
    rlx_mapping_init(&m, j->ctx, j->scope, b->binders, b->num_binders);
    for (size_t i = 0; i < n; i++)
        rlx_mapping_add(&m, b->params[i], a->params[i], (int32_t)i);
    if (!m.conflict && join_params(j, a, &m, b, params)) {
        const rlx_sinfo *ret = rlx_mapping_apply(&m, b->ret);
        ret = ret ? join(j, a->ret, ret) : NULL;
        out =
            ret ? rlx_func_info(j->ctx, NULL, 0, params, n, ret, a->is_pure && b->is_pure) : NULL;
        out = out ? rlx_close_binders(j->ctx, out, not_placeholder, &pair) : NULL;
    }
    rlx_mapping_free(&m);
    rlx_mem_free(&j->ctx->memory, params, (n + 1) * sizeof *params);
    return out ? out : opaque(j, a, b);
}

static const rlx_sinfo *join_functions(joiner *j, const rlx_func_sinfo *a, const rlx_func_sinfo *b)
{
    if (a->derive && a->derive == b->derive && a->derive_name == b->derive_name)
        return rlx_opaque_func_info(j->ctx, (enum rlx_derive)a->derive, a->derive_name,
                                    join(j, a->ret, b->ret), a->is_pure && b->is_pure);
    if (!a->derive && !b->derive && a->num_params == b->num_params)
        return join_params_form(j, a, b);
    return opaque(j, a, b);
}

static const rlx_sinfo *join_same_kind(joiner *j, const rlx_sinfo *a, const rlx_sinfo *b)
{
    switch (a->kind) {
    case RLX_NODE_PRIM_SINFO: return join_prims(j, rlx_as_prim_sinfo(a), rlx_as_prim_sinfo(b));
    case RLX_NODE_SHAPE_SINFO: return join_shapes(j, rlx_as_shape_sinfo(a), rlx_as_shape_sinfo(b));
    case RLX_NODE_TENSOR_SINFO:
        return join_tensors(j, rlx_as_tensor_sinfo(a), rlx_as_tensor_sinfo(b));
    case RLX_NODE_TUPLE_SINFO: return join_tuples(j, rlx_as_tuple_sinfo(a), rlx_as_tuple_sinfo(b));
    case RLX_NODE_EXTENSION_SINFO: return rlx_extension_lub(j->ctx, j->scope, a, b);
    default: return join_functions(j, rlx_as_func_sinfo(a), rlx_as_func_sinfo(b));
    }
}

static const rlx_sinfo *join(joiner *j, const rlx_sinfo *a, const rlx_sinfo *b)
{
    if (a == b)
        return a;
    if (!a || !b)
        return NULL;
    if (a == j->ctx->underived || b == j->ctx->underived)
        return j->ctx->underived;
    if (a->kind != b->kind || a->kind == RLX_NODE_OBJECT_SINFO || !rlx_budget_enter(&j->budget))
        return rlx_object_info(j->ctx);
    const rlx_sinfo *out = join_same_kind(j, a, b);
    rlx_budget_leave(&j->budget);
    return out;
}

const rlx_sinfo *rlx_lub(rlx_context *ctx, const rlx_scope *s, const rlx_sinfo *a,
                         const rlx_sinfo *b)
{
    joiner j = { .ctx = ctx, .scope = s, .budget = RLX_FRESH_BUDGET };
    return join(&j, a, b);
}
