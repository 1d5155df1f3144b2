/* signature.c: descriptions of functions and PrimFuncs, and the placeholders in them. */
#include "sinfo/sinfo_int.h"

/* Keeps the first of each variable that is not bound outside. */
static bool keep_binders(rlx_context *ctx, bool (*bound)(void *user, const rlx_prim_var *v),
                         void *user, rlx_prim_vars *out)
{
    enum { FEW = 8 }; /* are compared with each other */
    rlx_ptrmap seen;
    size_t kept = 0, all = out->len;
    bool ok = true;
    rlx_ptrmap_init(&seen, &ctx->memory);
    for (size_t i = 0; ok && i < all; i++) {
        const rlx_prim_var *v = out->data[i];
        bool again = false;
        for (size_t k = 0; all <= FEW && k < kept && !again; k++)
            again = out->data[k] == v;
        if (again || rlx_ptrmap_has(&seen, v) || (bound && bound(user, v)))
            continue;
        ok = all <= FEW || rlx_ptrmap_put(&seen, v, 1);
        out->data[kept++] = v;
    }
    out->len = kept;
    rlx_ptrmap_free(&seen);
    return ok;
}

/* Shape variables standing alone in the list's struct infos, outside function descriptions,
 * without those that are bound outside. */
static bool collect_binders(rlx_context *ctx, const rlx_sinfo *const *params, size_t count,
                            bool (*bound)(void *user, const rlx_prim_var *v), void *user,
                            rlx_prim_vars *out)
{
    for (size_t i = 0; i < count; i++)
        if (params[i] && (params[i]->flags & RLX_FLAG_HAS_VARS) &&
            !rlx_collect_prim_vars(&ctx->memory, params[i], true, out))
            return false;
    return keep_binders(ctx, bound, user, out);
}

static bool in_scope(void *user, const rlx_prim_var *v)
{
    return rlx_scope_has(user, v);
}

static const rlx_sinfo *close_list(rlx_context *ctx, const rlx_sinfo *const *params, size_t count,
                                   const rlx_sinfo *ret, bool is_pure,
                                   bool (*bound)(void *user, const rlx_prim_var *v), void *user)
{
    rlx_prim_vars binders = { 0 };
    const rlx_sinfo *out = NULL;
    if (ret && collect_binders(ctx, params, count, bound, user, &binders))
        out = rlx_func_info(ctx, (const rlx_prim *const *)binders.data, binders.len, params, count,
                            ret, is_pure);
    rlx_vec_free(&ctx->memory, &binders);
    return out;
}

const rlx_sinfo *rlx_signature(rlx_context *ctx, const rlx_expr *const *params, size_t count,
                               const rlx_sinfo *ret, bool is_pure, const rlx_scope *outer)
{
    const rlx_sinfo **infos = rlx_mem_alloc(&ctx->memory, (count + 1) * sizeof *infos),
                    *out = NULL;
    bool ok = infos != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const rlx_var *v = rlx_as_var(params[i]);
        ok = (infos[i] = v ? rlx_var_sinfo(ctx, v) : NULL) != NULL;
    }
    if (ok)
        out = close_list(ctx, infos, count, ret ? ret : rlx_object_info(ctx), is_pure, in_scope,
                         (void *)(uintptr_t)outer);
    rlx_mem_free(&ctx->memory, infos, infos ? (count + 1) * sizeof *infos : 0);
    return out;
}

/* --- PrimFuncs (D16) --- */

static const rlx_sinfo *buffer_sinfo(rlx_context *ctx, const rlx_buffer *b)
{
    const rlx_prim *few[16], **dims = few;
    size_t n = b->num_shape;
    if (n > 16 && !(dims = rlx_mem_alloc(&ctx->memory, n * sizeof *dims)))
        return NULL;
    for (size_t i = 0; i < n; i++)
        dims[i] = rlx_fold_cast(ctx, RELAX_INT64, b->shape[i]);
    const rlx_expr *shape = rlx_shape_new(ctx, dims, n);
    if (dims != few)
        rlx_mem_free(&ctx->memory, dims, n * sizeof *dims);
    return shape ? rlx_tensor_info(ctx, shape, b->dtype, (int)n, NULL) : NULL;
}

static const rlx_sinfo *tir_param_sinfo(rlx_context *ctx, const rlx_prim *param,
                                        const rlx_node *buffer)
{
    rlx_dtype t = rlx_prim_dtype(param);
    if (buffer)
        return buffer_sinfo(ctx, rlx_as_buffer(buffer));
    return rlx_dtype_code(t) == RELAX_DTYPE_HANDLE ? rlx_object_info(ctx)
                                                   : rlx_prim_info(ctx, t, NULL);
}

/* A variable used through a cast in a buffer's shape counts as standing alone: it is mapped to
 * an int64 twin. */
static const rlx_sinfo *widen_alone(rlx_context *ctx, const rlx_sinfo *s, rlx_rewriter *r)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_shape_expr *shape = t ? rlx_as_shape_expr(t->shape) : NULL;
    for (size_t i = 0; shape && i < shape->num_values; i++) {
        const rlx_unary *cast = rlx_as_unary(shape->values[i]);
        const rlx_prim_var *v =
            cast && cast->node.kind == RLX_NODE_CAST ? rlx_as_prim_var(cast->a) : NULL;
        if (!v || rlx_ptrmap_has(&r->map, &cast->node))
            continue;
        const rlx_prim_var *twin = rlx_prim_var_new(ctx, v->name, RELAX_INT64, v->place);
        if (!twin)
            return NULL;
        if (!rlx_ptrmap_put(&r->map, &cast->node, (uintptr_t)twin))
            return NULL;
    }
    return s;
}

/* Writes nothing, asserts nothing, calls only what computes. Loads are no effect: what is read are
 * arguments, as operators read theirs. */
static enum rlx_step look_for_effects(void *user, const rlx_node *n, const rlx_field *via,
                                      const rlx_node *parent)
{
    const rlx_prim_call *c = rlx_as_prim_call(n);
    static const char *const harmless[] = {
#define SCALAR_FLOAT(name, ...) #name,
#define SCALAR_SYNONYM(name, ...) #name,
#define SCALAR_OTHER(name, ...) #name,
#include "format/scalar_op.def"
        "tvm_struct_get"
    };
    bool effect = n->kind == RLX_NODE_BUFFER_STORE || n->kind == RLX_NODE_ASSERT_STMT ||
                  n->kind == RLX_NODE_BUFFER_REALIZE || n->kind == RLX_NODE_PREFETCH;
    if (c) {
        effect = true;
        for (size_t i = 0; c->op && i < RLX_COUNT(harmless); i++)
            effect = effect && !rlx_slice_is(rlx_string_slice(c->op), harmless[i]);
    }
    *(bool *)user |= effect;
    return effect ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool only_computes(rlx_context *ctx, const rlx_prim_func *f)
{
    bool effect = false, lost = false;
    rlx_walker w = { .enter = look_for_effects, .user = &effect, .unique = true };
    rlx_walk(&ctx->memory, f->body, &w, &lost);
    return !effect && !lost;
}

const rlx_sinfo *rlx_prim_func_signature(rlx_context *ctx, const rlx_prim_func *f)
{
    size_t n = f->num_params;
    const rlx_sinfo **infos = rlx_mem_alloc(&ctx->memory, (n + 1) * sizeof *infos), *out = NULL;
    rlx_rewriter r;
    rlx_rewriter_init(&r, ctx);
    bool ok = infos != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        infos[i] = tir_param_sinfo(ctx, f->params[i], i < f->num_buffers ? f->buffers[i] : NULL);
        ok = infos[i] && widen_alone(ctx, infos[i], &r);
    }
    for (size_t i = 0; ok && r.map.len && i < n; i++)
        ok = (infos[i] = rlx_rewrite(&r, infos[i])) != NULL;
    const rlx_sinfo *ret = !ok ? NULL
                           : rlx_dtype_is_void(f->ret_dtype)
                               ? rlx_tuple_info(ctx, NULL, 0)
                               : rlx_prim_info(ctx, f->ret_dtype, NULL);
    if (ret)
        out = close_list(ctx, infos, n, ret, only_computes(ctx, f), NULL, NULL);
    rlx_rewriter_free(&r);
    rlx_mem_free(&ctx->memory, infos, infos ? (n + 1) * sizeof *infos : 0);
    return out;
}

/* --- binders of an annotation --- */

typedef struct closing {
    rlx_context *ctx;
    bool (*bound)(void *user, const rlx_prim_var *v);
    void *user;
    const rlx_prim_vars *around[RLX_SINFO_DEPTH]; /* binders of the descriptions around */
    int depth;
    rlx_budget budget;
} closing;

static bool known_around(void *user, const rlx_prim_var *v)
{
    closing *c = user;
    for (int i = 0; i < c->depth; i++)
        for (size_t k = 0; k < c->around[i]->len; k++)
            if (c->around[i]->data[k] == v)
                return true;
    return c->bound && c->bound(c->user, v);
}

static const rlx_sinfo *close_any(closing *c, const rlx_sinfo *s);

static const rlx_sinfo *close_items(closing *c, const rlx_tuple_sinfo *t, const rlx_func_sinfo *f,
                                    const rlx_prim_vars *binders)
{
    const rlx_sinfo *const *in = t ? t->fields : f->params;
    size_t n = t ? t->num_fields : f->num_params, i = 0;
    const rlx_sinfo **items = rlx_mem_alloc(&c->ctx->memory, (n + 1) * sizeof *items), *out = NULL;
    if (!items)
        return NULL;
    while (i < n && (items[i] = close_any(c, in[i])) != NULL)
        i++;
    if (i == n && t)
        out = rlx_tuple_info(c->ctx, items, n);
    else if (i == n)
        out = rlx_func_info(c->ctx, (const rlx_prim *const *)binders->data, binders->len, items, n,
                            close_any(c, f->ret), f->is_pure);
    rlx_mem_free(&c->ctx->memory, items, (n + 1) * sizeof *items);
    return out;
}

/* The outer description takes its placeholders first, inner ones then refer to them. */
static const rlx_sinfo *close_function(closing *c, const rlx_func_sinfo *f)
{
    rlx_prim_vars binders = { 0 };
    const rlx_sinfo *out = NULL;
    if (f->derive) {
        const rlx_sinfo *ret = close_any(c, f->ret);
        return ret == f->ret ? &f->node
                             : rlx_opaque_func_info(c->ctx, (enum rlx_derive)f->derive,
                                                    f->derive_name, ret, f->is_pure);
    }
    if (c->depth < RLX_SINFO_DEPTH &&
        collect_binders(c->ctx, f->params, f->num_params, known_around, c, &binders)) {
        c->around[c->depth++] = &binders;
        out = close_items(c, NULL, f, &binders);
        c->depth--;
    }
    rlx_vec_free(&c->ctx->memory, &binders);
    return out;
}

static const rlx_sinfo *close_any(closing *c, const rlx_sinfo *s)
{
    if (!s || !(s->flags & RLX_FLAG_HAS_FUNC) || !(s->flags & RLX_FLAG_HAS_VARS))
        return s;
    if (!rlx_budget_enter(&c->budget))
        return s;
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    const rlx_func_sinfo *f = rlx_as_func_sinfo(s);
    const rlx_sinfo *out = t ? close_items(c, t, NULL, NULL) : f ? close_function(c, f) : s;
    rlx_budget_leave(&c->budget);
    return out;
}

const rlx_sinfo *rlx_close_binders(rlx_context *ctx, const rlx_sinfo *s,
                                   bool (*bound)(void *user, const rlx_prim_var *v), void *user)
{
    closing c = { .ctx = ctx, .bound = bound, .user = user, .budget = RLX_FRESH_BUDGET };
    return close_any(&c, s);
}
