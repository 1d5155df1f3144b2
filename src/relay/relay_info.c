/* relay_info.c: types as structural information (relay 5.2), and the type parameters in force. */
#include "analysis/well_formed.h"
#include "relay/relay_translate.h"

/* built for size */

/* ---- type parameters -------------------------------------------------------------------------------- */

static const rlx_relay_types *in_force(const rlx_relay_translation *t)
{
    return t->types.len ? &rlx_vec_last(&t->types) : NULL;
}

rlx_relay_type *rlx_relay_closed(rlx_relay_translation *t, rlx_relay_type *type)
{
    const rlx_relay_types *f = in_force(t);
    return f && f->count ? rlx_relay_substitute(&t->s, type, f->params, f->args, f->count) : type;
}

/* Each entry holds those of the functions around it as well, so that one substitution does. */
bool rlx_relay_push_types(rlx_relay_translation *t, rlx_relay_type_var *const *params,
                          rlx_relay_type *const *args, size_t count)
{
    const rlx_relay_types *outer = in_force(t);
    size_t before = outer ? outer->count : 0;
    rlx_relay_type_var **p = rlx_region_array(&t->region, before + count + 1, sizeof *p);
    rlx_relay_type **a = rlx_region_array(&t->region, before + count + 1, sizeof *a);
    for (size_t i = 0; p && a && i < before + count; i++) {
        p[i] = i < before ? outer->params[i] : params[i - before];
        a[i] = i < before ? outer->args[i] : args[i - before];
    }
    return p && a && rlx_vec_push(&t->ctx->memory, &t->types, ((rlx_relay_types){ p, a, before + count }));
}

bool rlx_relay_arguments(rlx_relay_translation *t, const rlx_relay_type *generic,
                         const rlx_relay_type *wanted, rlx_relay_type *const **args)
{
    rlx_relay_type body = *generic;
    body.func.params = NULL;
    body.func.num_params = 0;
    rlx_relay_type *copy = rlx_region_copy(&t->m->region, &body, sizeof body);
    if (!copy || !rlx_relay_fresh_args(&t->s, generic->func.params, generic->func.num_params,
                                       generic->place, args))
        return false;
    copy = rlx_relay_substitute(&t->s, copy, generic->func.params, *args, generic->func.num_params);
    return copy && rlx_relay_unify(&t->s, copy, (rlx_relay_type *)(uintptr_t)wanted, wanted->place,
                                   "a generic function and its use");
}

/* ---- struct info ------------------------------------------------------------------------------------ */

enum { MOST_NESTED = 200 };
typedef struct making { rlx_relay_translation *t; bool fresh_sizes; unsigned depth; } making;

static const rlx_sinfo *info_of(making *k, const rlx_relay_type *type);

static const rlx_prim *new_size(rlx_relay_translation *t, rlx_slice name)
{
    const rlx_string *id = rlx_string_identifier(t->ctx, name, "d");
    rlx_buf b;
    rlx_buf_init(&b, &t->ctx->memory);
    if (!name.len && t->now->fresh++) { /* d, d_1, d_2 ... */
        rlx_buf_char(&b, 'd');
        rlx_buf_char(&b, '_');
        rlx_buf_i64(&b, t->now->fresh - 1);
        id = b.failed ? NULL : rlx_string_intern(t->ctx, (rlx_slice){ b.data, b.len });
    }
    rlx_buf_free(&b);
    rlx_prim_var *v = id ? rlx_prim_var_new(t->ctx, id, RELAX_INT64, RLX_NO_PLACE) : NULL;
    return v ? &v->node : NULL;
}

/* NULL: not known, or out of memory. */
static const rlx_prim *size_of(making *k, rlx_relay_dim d)
{
    rlx_relay_translation *t = k->t;
    d = rlx_relay_dim_find(d);
    if (d.kind == RLX_RELAY_DIM_INT)
        return rlx_int64(t->ctx, d.value);
    const rlx_prim *p = d.kind == RLX_RELAY_DIM_VAR ? rlx_ptrmap_get(&t->now->sizes, d.var) : NULL;
    if (p || !k->fresh_sizes)
        return p;
    p = new_size(t, d.kind == RLX_RELAY_DIM_VAR ? d.var->name : (rlx_slice){ "", 0 });
    if (p && d.kind == RLX_RELAY_DIM_VAR && !rlx_ptrmap_put(&t->now->sizes, d.var, (uintptr_t)p))
        return NULL;
    return p;
}

static const rlx_sinfo *tensor_info(making *k, const rlx_relay_type *type)
{
    rlx_context *ctx = k->t->ctx;
    const rlx_relay_type *elem = type->tensor.elem ? rlx_relay_find(type->tensor.elem) : type;
    const rlx_relay_type *shape = type->tensor.shape ? rlx_relay_find(type->tensor.shape) : type;
    rlx_dtype dtype = elem->kind == RLX_RELAY_TYPE_TENSOR || elem->kind == RLX_RELAY_TYPE_DTYPE
                          ? elem->tensor.dtype : RELAX_VOID;
    char name[RLX_DTYPE_TEXT];
    if (dtype != RELAX_VOID && !rlx_dtype_is_legal(dtype)) {
        rlx_dtype_name(dtype, name);
        return rlx_relay_refuse(k->t, type->place, "Relax has no tensors of %s", name);
    }
    if (shape->kind != RLX_RELAY_TYPE_TENSOR && shape->kind != RLX_RELAY_TYPE_EXTENTS)
        return rlx_tensor_info(ctx, NULL, dtype, -1, NULL);
    size_t n = shape->tensor.ndim;
    const rlx_prim **dims = rlx_region_array(&k->t->region, n + 1, sizeof *dims);
    bool known = dims != NULL;
    for (size_t i = 0; known && i < n; i++)
        known = (dims[i] = size_of(k, shape->tensor.dims[i])) != NULL;
    const rlx_expr *e = known ? rlx_shape_new(ctx, dims, n) : NULL;
    return rlx_tensor_info(ctx, e, dtype, (int)n, NULL);
}

static const rlx_sinfo **infos_of(making *k, rlx_relay_type *const *types, size_t count)
{
    const rlx_sinfo **all = rlx_region_array(&k->t->region, count + 1, sizeof *all);
    for (size_t i = 0; all && i < count; i++)
        if (!(all[i] = info_of(k, types[i])))
            return NULL;
    return all;
}

/* Sizes within a function's description are no variables of their own: where they are not known
 * outside, they are just not known. */
static const rlx_sinfo *func_info(making *k, const rlx_relay_type *type)
{
    making inner = { k->t, false, k->depth };
    const rlx_sinfo **params = infos_of(&inner, type->func.args, type->func.num_args);
    const rlx_sinfo *ret = params ? info_of(&inner, type->func.result) : NULL;
    return ret ? rlx_func_info(k->t->ctx, NULL, 0, params, type->func.num_args, ret,
                               !k->t->impure_values)
               : NULL;
}

static const rlx_sinfo *info_of(making *k, const rlx_relay_type *type)
{
    rlx_context *ctx = k->t->ctx;
    const rlx_sinfo *made = NULL;
    type = rlx_relay_find((rlx_relay_type *)(uintptr_t)type);
    if (++k->depth > MOST_NESTED)
        return rlx_error(ctx, RLX_RY24, type->place, "a type is nested deeper than %d", MOST_NESTED);
    switch (type->kind) {
    case RLX_RELAY_TYPE_TENSOR: made = tensor_info(k, type); break;
    case RLX_RELAY_TYPE_TUPLE: {
        const rlx_sinfo **fields = infos_of(k, type->tuple.fields, type->tuple.count);
        made = fields ? rlx_tuple_info(ctx, fields, type->tuple.count) : NULL;
        break;
    }
    case RLX_RELAY_TYPE_FUNC: made = func_info(k, type); break;
    case RLX_RELAY_TYPE_CALL: made = type->call.adt && type->call.adt->is_extern
                                         ? rlx_object_info(ctx) : rlx_relay_adt_info(k->t); break;
    default: made = rlx_object_info(ctx); break;
    }
    k->depth--;
    return made;
}

const rlx_sinfo *rlx_relay_sinfo(rlx_relay_translation *t, const rlx_relay_type *type, bool fresh_sizes)
{
    making k = { t, fresh_sizes, 0 };
    type = rlx_relay_closed(t, (rlx_relay_type *)(uintptr_t)type);
    return type ? info_of(&k, type) : NULL;
}
