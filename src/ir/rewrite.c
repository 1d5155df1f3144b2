/* rewrite.c: rewriting by a callback, and substitution of variables. */
#include "ir/ir_int.h"

void rlx_rewriter_init(rlx_rewriter *r, rlx_context *ctx)
{
    *r = (rlx_rewriter){ .ctx = ctx };
    rlx_ptrmap_init(&r->map, &ctx->memory);
}

void rlx_rewriter_free(rlx_rewriter *r)
{
    rlx_ptrmap_free(&r->map);
}

/* A Relax variable is made again where it is defined only; elsewhere it is what the map says,
 * or itself. */
static bool enter_rewrite(rlx_rebuild *b, const rlx_node *n, const rlx_field *via,
                          const rlx_node **out)
{
    rlx_rewriter *r = b->user;
    if (r->before)
        *out = r->before(r, n);
    if (r->failed || *out)
        return !r->failed;
    if (!rlx_is_relax_var(n) || rlx_field_is_def(via))
        return true;
    *out = r->after ? r->after(r, n) : n;
    return *out && !r->failed;
}

static const rlx_node *leave_rewrite(rlx_rebuild *b, const rlx_node *n,
                                     const rlx_node *const *children)
{
    rlx_rewriter *r = b->user;
    const rlx_node *now = rlx_with_children(r->ctx, n, children);
    if (now && r->after)
        now = r->after(r, now);
    return r->failed ? NULL : now;
}

const rlx_node *rlx_rewrite(rlx_rewriter *r, const rlx_node *root)
{
    rlx_rebuild b = {
        .ctx = r->ctx, .map = &r->map, .user = r, .enter = enter_rewrite, .leave = leave_rewrite
    };
    const rlx_node *result = r->failed ? NULL : rlx_rebuild_run(&b, root);
    if (!result && root)
        r->failed = true;
    return result;
}

/* ---- substitution of shape variables */

/* Function descriptions with binders that a replacement mentions are renamed within; that may
 * nest, but not deeply. */
#define MAX_RENAMING_DEPTH 64

struct substitution {
    rlx_context *ctx;
    const rlx_prim *const *from, *const *to;
    size_t count;
    int depth;
    bool have_mentioned;
    rlx_ptrmap mentioned; /* the variables of all `to` */
};

static const rlx_node *substitute(rlx_context *ctx, const rlx_node *n, const rlx_prim *const *from,
                                  const rlx_prim *const *to, size_t count, int depth);

static bool find_mentioned(struct substitution *s)
{
    rlx_prim_vars vars = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < s->count; i++)
        ok = !(s->to[i]->flags & RLX_FLAG_HAS_VARS) && s->to[i]->kind != RLX_NODE_PRIM_VAR
             ? true : rlx_collect_prim_vars(&s->ctx->memory, s->to[i], false, &vars);
    for (size_t i = 0; ok && i < vars.len; i++)
        ok = rlx_ptrmap_put(&s->mentioned, vars.data[i], 1);
    rlx_vec_free(&s->ctx->memory, &vars);
    s->have_mentioned = true;
    return ok;
}

static bool is_from(const struct substitution *s, const rlx_node *var)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->from[i] == var)
            return true;
    return false;
}

static bool is_captured(const struct substitution *s, const rlx_node *binder)
{
    return rlx_ptrmap_has(&s->mentioned, binder) && !is_from(s, binder);
}

/* The description with the same replacements, and new variables for the binders that would
 * capture. */
static const rlx_node *substitute_renamed(struct substitution *s, const rlx_func_sinfo *f)
{
    size_t count = s->count, bytes = 2 * (s->count + f->num_binders) * sizeof(rlx_node *);
    if (s->depth >= MAX_RENAMING_DEPTH)
        return RLX_BUG(s->ctx, "function descriptions nest too deeply");
    const rlx_prim **from = rlx_mem_alloc(&s->ctx->memory, bytes),
                   **to = from + s->count + f->num_binders;
    if (!from) {
        return NULL;
    }
    memcpy(from, s->from, count * sizeof *from);
    memcpy(to, s->to, count * sizeof *to);
    bool ok = true;
    for (size_t i = 0; ok && i < f->num_binders; i++) {
        if (!is_captured(s, f->binders[i]))
            continue;
        const rlx_prim_var *old = rlx_as_prim_var(f->binders[i]);
        const rlx_prim_var *fresh =
            old ? rlx_prim_var_new(s->ctx, old->name, old->dtype, old->place) : NULL;
        ok = fresh != NULL;
        from[count] = f->binders[i];
        to[count++] = &fresh->node;
    }
    const rlx_node *result =
        ok ? substitute(s->ctx, &f->node, from, to, count, s->depth + 1) : NULL;
    rlx_mem_free(&s->ctx->memory, from, bytes);
    return result;
}

static bool enter_substitute(rlx_rebuild *b, const rlx_node *n, const rlx_field *via,
                             const rlx_node **out)
{
    struct substitution *s = b->user;
    bool closed = rlx_node_is_closed(n);
    if (closed || (rlx_is_relax_var(n) && !rlx_field_is_def(via))) {
        *out = n;
        return true;
    }
    const rlx_func_sinfo *f = rlx_as_func_sinfo(n);
    if (!f || !f->num_binders)
        return true;
    if (!s->have_mentioned && !find_mentioned(s))
        return false;
    for (size_t i = 0; i < f->num_binders; i++)
        if (is_captured(s, f->binders[i]))
            return (*out = substitute_renamed(s, f)) != NULL;
    return true;
}

static const rlx_node *leave_substitute(rlx_rebuild *b, const rlx_node *n,
                                        const rlx_node *const *children)
{
    return rlx_with_children(b->ctx, n, children);
}

static const rlx_node *substitute(rlx_context *ctx, const rlx_node *n, const rlx_prim *const *from,
                                  const rlx_prim *const *to, size_t count, int depth)
{
    struct substitution s = { .ctx = ctx, .from = from, .to = to, .count = count, .depth = depth };
    rlx_ptrmap map;
    bool ok = true;
    rlx_ptrmap_init(&map, &ctx->memory);
    rlx_ptrmap_init(&s.mentioned, &ctx->memory);
    for (size_t i = 0; ok && i < count; i++)
        ok = from[i] && to[i] && rlx_ptrmap_put(&map, from[i], (uintptr_t)to[i]);
    rlx_rebuild b = {
        .ctx = ctx, .map = &map, .user = &s, .enter = enter_substitute, .leave = leave_substitute
    };
    const rlx_node *result = ok ? rlx_rebuild_run(&b, n) : NULL;
    rlx_ptrmap_free(&map);
    rlx_ptrmap_free(&s.mentioned);
    return result;
}

const rlx_node *rlx_substitute(rlx_context *ctx, const rlx_node *n, const rlx_prim *const *from,
                               const rlx_prim *const *to, size_t count)
{
    if (!n || !rlx_all_there(from, count) || !rlx_all_there(to, count))
        return NULL;
    if (!count || rlx_node_is_closed(n))
        return n;
    return substitute(ctx, n, from, to, count, 0);
}
