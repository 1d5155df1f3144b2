/* erase.c: erasure (language 5.8) and erasure to static types (language section 9). */
#include "sinfo/sinfo_int.h"

bool rlx_all_prim_vars(rlx_context *ctx, const rlx_node *n,
                       bool (*test)(void *user, const rlx_prim_var *v), void *user)
{
    rlx_prim_vars vars = { 0 };
    if (!(n->flags & RLX_FLAG_HAS_VARS) && n->kind != RLX_NODE_PRIM_VAR)
        return true;
    if (n->kind == RLX_NODE_PRIM_VAR)
        return test && test(user, (const rlx_prim_var *)n);
    bool all = rlx_collect_prim_vars(&ctx->memory, n, false, &vars);
    for (size_t i = 0; all && i < vars.len; i++)
        all = test && test(user, vars.data[i]);
    rlx_vec_free(&ctx->memory, &vars);
    return all;
}

/* Binders of the function descriptions around the place, innermost first. */
typedef struct binder_frame {
    const rlx_func_sinfo *func;
    const struct binder_frame *outer;
} binder_frame;

typedef struct eraser {
    rlx_context *ctx;
    const rlx_visible *visible;
    const binder_frame *binders;
    rlx_budget budget;
} eraser;

static bool stays(void *user, const rlx_prim_var *v)
{
    const eraser *e = user;
    for (const binder_frame *f = e->binders; f; f = f->outer)
        for (size_t i = 0; i < f->func->num_binders; i++)
            if (f->func->binders[i] == &v->node)
                return true;
    return e->visible && e->visible->shape_var && e->visible->shape_var(e->visible->user, v);
}

static bool all_stay(eraser *e, const rlx_prim *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!rlx_all_prim_vars(e->ctx, values[i], stays, e))
            return false;
    return true;
}

/* A shape that is a variable may leave behind the sizes it is known to have. */
static const rlx_expr *erase_shape(eraser *e, const rlx_expr *shape)
{
    const rlx_var *v = rlx_as_var(shape);
    size_t count;
    if (v && e->visible && e->visible->var && e->visible->var(e->visible->user, v))
        return shape;
    const rlx_prim *const *dims = rlx_shape_dims(shape, &count);
    if (!dims || !all_stay(e, dims, count))
        return NULL;
    return v ? rlx_shape_new(e->ctx, dims, count) : shape;
}

static const rlx_sinfo *erase_tensor(eraser *e, const rlx_tensor_sinfo *t)
{
    const rlx_expr *shape = t->shape ? erase_shape(e, t->shape) : NULL;
    return shape == t->shape ? &t->node
                             : rlx_tensor_info(e->ctx, shape, t->dtype, t->ndim, t->vdevice);
}

static const rlx_sinfo *erase_any(eraser *e, const rlx_sinfo *s);

/* Fields or parameters; *changed tells whether out differs. The capacity of out is count. Large
 * tuples repeat their fields. */
static bool erase_list(eraser *e, const rlx_sinfo *const *in, size_t count, const rlx_sinfo **out,
                       bool *changed)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = i && in[i] == in[i - 1] ? out[i - 1] : erase_any(e, in[i]);
        if (!out[i])
            return false;
        *changed |= out[i] != in[i];
    }
    return true;
}

static const rlx_sinfo *erase_tuple(eraser *e, const rlx_tuple_sinfo *t)
{
    rlx_memory *m = &e->ctx->memory;
    bool changed = false;
    const rlx_sinfo **fields = rlx_mem_alloc(m, (t->num_fields + 1) * sizeof *fields), *out = NULL;
    if (!fields)
        return NULL;
    if (erase_list(e, t->fields, t->num_fields, fields, &changed))
        out = changed ? rlx_tuple_info(e->ctx, fields, t->num_fields) : &t->node;
    rlx_mem_free(m, fields, (t->num_fields + 1) * sizeof *fields);
    return out;
}

static const rlx_sinfo *erase_function(eraser *e, const rlx_func_sinfo *f)
{
    rlx_memory *m = &e->ctx->memory;
    binder_frame frame = { f, e->binders };
    bool changed = false;
    const rlx_sinfo **params = rlx_mem_alloc(m, (f->num_params + 1) * sizeof *params), *ret = NULL,
                    *out = NULL;
    if (!params)
        return NULL;
    e->binders = &frame;
    if (erase_list(e, f->params, f->num_params, params, &changed) &&
        (ret = erase_any(e, f->ret)) != NULL) {
        if (!changed && ret == f->ret)
            out = &f->node;
        else if (f->derive)
            out = rlx_opaque_func_info(e->ctx, (enum rlx_derive)f->derive, f->derive_name, ret,
                                       f->is_pure);
        else
            out = rlx_func_info(e->ctx, f->binders, f->num_binders, params, f->num_params, ret,
                                f->is_pure);
    }
    e->binders = frame.outer;
    rlx_mem_free(m, params, (f->num_params + 1) * sizeof *params);
    return out;
}

/* Does an operand of a kind of the host mean the same outside? */
static bool operand_stays(eraser *e, const rlx_node *operand)
{
    const rlx_var *v = rlx_as_var(operand);
    if (v)
        return e->visible && e->visible->var && e->visible->var(e->visible->user, v);
    if (rlx_family_of(operand) == RLX_FAMILY_SINFO)
        return erase_any(e, operand) == operand;
    return rlx_all_prim_vars(e->ctx, operand, stays, e);
}

static const rlx_sinfo *ask_host(eraser *e, const rlx_extension_sinfo *h, const int32_t *visible)
{
    const rlx_sinfo *out = rlx_extension_erase(e->ctx, &h->node, visible);
    const rlx_extension_sinfo *again = rlx_as_extension_sinfo(out);
    for (size_t i = 0; again && i < again->num_operands; i++)
        if (!operand_stays(e, again->operands[i])) {
            rlx_error(e->ctx, RLX_OP17, RLX_NO_PLACE,
                      "erasure of %s gave %s, which mentions what is not visible",
                      rlx_show(e->ctx, &h->node), rlx_show(e->ctx, out));
            return rlx_object_info(e->ctx);
        }
    return again || !out ? out : erase_any(e, out);
}

static const rlx_sinfo *erase_host(eraser *e, const rlx_extension_sinfo *h)
{
    size_t bytes = (h->num_operands + 1) * sizeof(int32_t);
    int32_t *visible = rlx_mem_alloc(&e->ctx->memory, bytes);
    bool all = true;
    if (!visible)
        return NULL;
    for (size_t i = 0; i < h->num_operands; i++) {
        visible[i] = operand_stays(e, h->operands[i]);
        all &= visible[i] != 0;
    }
    const rlx_sinfo *out = all ? &h->node : ask_host(e, h, visible);
    rlx_mem_free(&e->ctx->memory, visible, bytes);
    return out;
}

static const rlx_sinfo *erase_kind(eraser *e, const rlx_sinfo *s)
{
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(s);
    const rlx_shape_sinfo *sh = rlx_as_shape_sinfo(s);
    switch (s->kind) {
    case RLX_NODE_PRIM_SINFO:
        return all_stay(e, &p->value, 1) ? s : rlx_prim_info(e->ctx, p->dtype, NULL);
    case RLX_NODE_SHAPE_SINFO:
        return all_stay(e, sh->values, sh->num_values) ? s : rlx_shape_info_rank(e->ctx, sh->ndim);
    case RLX_NODE_TENSOR_SINFO: return erase_tensor(e, rlx_as_tensor_sinfo(s));
    case RLX_NODE_TUPLE_SINFO: return erase_tuple(e, rlx_as_tuple_sinfo(s));
    case RLX_NODE_EXTENSION_SINFO: return erase_host(e, rlx_as_extension_sinfo(s));
    default: return erase_function(e, rlx_as_func_sinfo(s));
    }
}

static const rlx_sinfo *erase_any(eraser *e, const rlx_sinfo *s)
{
    if (!(s->flags & RLX_FLAG_HAS_VARS))
        return s;
    if (!rlx_budget_enter(&e->budget))
        return rlx_object_info(e->ctx);
    s = erase_kind(e, s);
    rlx_budget_leave(&e->budget);
    return s;
}

const rlx_sinfo *rlx_erase(rlx_context *ctx, const rlx_sinfo *s, const rlx_visible *visible)
{
    eraser e = { .ctx = ctx, .visible = visible, .budget = RLX_FRESH_BUDGET };
    return s ? erase_any(&e, s) : NULL;
}

/* --- static types --- */

static const rlx_sinfo *static_of(rlx_context *ctx, rlx_budget *budget, const rlx_sinfo *s);

static const rlx_sinfo *static_list(rlx_context *ctx, rlx_budget *budget, const rlx_tuple_sinfo *t,
                                    const rlx_func_sinfo *f)
{
    const rlx_sinfo *const *in = t ? t->fields : f->params;
    size_t count = t ? t->num_fields : f->num_params, i = 0;
    const rlx_sinfo **items = rlx_mem_alloc(&ctx->memory, (count + 1) * sizeof *items),
                    *out = NULL;
    if (!items)
        return NULL;
    while (i < count && (items[i] = static_of(ctx, budget, in[i])) != NULL)
        i++;
    if (i == count)
        out = t ? rlx_tuple_info(ctx, items, count)
                : rlx_func_info(ctx, NULL, 0, items, count, static_of(ctx, budget, f->ret), true);
    rlx_mem_free(&ctx->memory, items, (count + 1) * sizeof *items);
    return out;
}

static const rlx_sinfo *static_of(rlx_context *ctx, rlx_budget *budget, const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_func_sinfo *f = rlx_as_func_sinfo(s);
    const rlx_sinfo *out = s;
    if (!rlx_budget_enter(budget))
        return rlx_object_info(ctx);
    switch (s->kind) {
    case RLX_NODE_PRIM_SINFO: out = rlx_prim_info(ctx, rlx_as_prim_sinfo(s)->dtype, NULL); break;
    case RLX_NODE_SHAPE_SINFO: out = rlx_shape_info_rank(ctx, rlx_as_shape_sinfo(s)->ndim); break;
    case RLX_NODE_TENSOR_SINFO: out = rlx_tensor_info(ctx, NULL, t->dtype, t->ndim, NULL); break;
    case RLX_NODE_TUPLE_SINFO: out = static_list(ctx, budget, rlx_as_tuple_sinfo(s), NULL); break;
    case RLX_NODE_FUNC_SINFO:
        out = f->derive ? rlx_opaque_func_info(ctx, RLX_DERIVE_DEFAULT, NULL, rlx_object_info(ctx),
                                               false)
                        : static_list(ctx, budget, NULL, f);
        break;
    case RLX_NODE_EXTENSION_SINFO: out = rlx_extension_static(ctx, s); break;
    default: break;
    }
    rlx_budget_leave(budget);
    return out;
}

const rlx_sinfo *rlx_erase_to_static(rlx_context *ctx, const rlx_sinfo *s)
{
    rlx_budget budget = RLX_FRESH_BUDGET;
    return s ? static_of(ctx, &budget, s) : NULL;
}
