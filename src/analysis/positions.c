/* positions.c: the places of a struct info where a number is described, and the shape variables
 * they bind. */
#include "analysis/analysis.h"

const rlx_prim_var *rlx_position_var(const rlx_prim *p)
{
    const rlx_unary *cast = rlx_is(p, RLX_NODE_CAST) ? (const rlx_unary *)p : NULL;
    return rlx_as_prim_var(cast && cast->dtype == RELAX_INT64 ? cast->a : p);
}

static void each_of(const rlx_prim *const *items, size_t count, bool is_size,
                    rlx_position_fn *each, void *user)
{
    for (size_t i = 0; i < count; i++)
        each(user, items[i], is_size);
}

static void positions_of(const rlx_sinfo *s, rlx_position_fn *each, void *user)
{
    if (s->kind == RLX_NODE_TENSOR_SINFO) {
        const rlx_shape_expr *shape = rlx_as_shape_expr(((const rlx_tensor_sinfo *)s)->shape);
        if (shape)
            each_of(shape->values, shape->num_values, true, each, user);
    } else if (s->kind == RLX_NODE_SHAPE_SINFO) {
        const rlx_shape_sinfo *shape = (const rlx_shape_sinfo *)s;
        each_of(shape->values, shape->num_values, true, each, user);
    } else if (s->kind == RLX_NODE_PRIM_SINFO && ((const rlx_prim_sinfo *)s)->value) {
        each(user, ((const rlx_prim_sinfo *)s)->value, false);
    }
}

bool rlx_each_position(rlx_context *ctx, const rlx_sinfo *s, rlx_position_fn *each, void *user)
{
    RLX_VEC(const rlx_sinfo *) pending = { 0 };
    bool good = true;
    if (!s)
        return true;
    if (s->kind != RLX_NODE_TUPLE_SINFO) {
        positions_of(s, each, user);
        return true;
    }
    for (good = rlx_vec_push(&ctx->memory, &pending, s); good && pending.len;) {
        const rlx_sinfo *top = rlx_vec_pop(&pending);
        const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(top);
        if (!t)
            positions_of(top, each, user);
        for (size_t i = t ? t->num_fields : 0; good && i-- > 0;)
            good = rlx_vec_push(&ctx->memory, &pending, t->fields[i]);
    }
    rlx_vec_free(&ctx->memory, &pending);
    return good || rlx_no_memory(ctx);
}

typedef struct entering { rlx_scope *scope; bool good; } entering;

static void enter_position(void *user, const rlx_prim *p, bool is_size)
{
    entering *e = user;
    const rlx_prim_var *v = rlx_position_var(p);
    if (v && e->good)
        e->good = rlx_scope_add(e->scope, v, is_size);
}

bool rlx_scope_enter(rlx_scope *scope, const rlx_sinfo *s)
{
    entering e = { scope, true };
    if (!s || !(s->flags & RLX_FLAG_HAS_VARS))
        return true;
    return rlx_each_position(scope->ctx, s, enter_position, &e) && e.good;
}

bool rlx_scope_enter_function(rlx_scope *scope, const rlx_function *f)
{
    size_t first = scope->facts.len;
    for (size_t i = 0; i < f->num_params; i++)
        if (!rlx_scope_enter(scope, ((const rlx_var *)f->params[i])->sinfo))
            return false;
    return rlx_scope_assume(scope, first, f->attrs);
}

/* ---- sizes that are >= 0 because something has them ----------------------------------------- */

typedef struct collecting {
    rlx_context *ctx;
    rlx_prims *out;
    rlx_ptrmap seen;
    bool failed;
} collecting;

static void take_size(void *user, const rlx_prim *p, bool is_size)
{
    collecting *c = user;
    int64_t value;
    if (!is_size || (rlx_int_literal(p, &value) && value >= 0) || rlx_ptrmap_has(&c->seen, p))
        return;
    if (!rlx_ptrmap_put(&c->seen, p, 1) || !rlx_vec_push(&c->ctx->memory, c->out, p))
        c->failed = true;
}

static bool take_sizes(collecting *c, const rlx_node *n)
{
    const rlx_function *f = rlx_as_function(n);
    const rlx_var *v = rlx_as_var(n);
    const rlx_sinfo *s = v ? v->sinfo : n;
    bool good = true;
    for (size_t i = 0; good && f && i < f->num_params; i++)
        good = rlx_each_position(c->ctx, ((const rlx_var *)f->params[i])->sinfo, take_size, c);
    if (!f && s && rlx_family_of(s) == RLX_FAMILY_SINFO)
        good = rlx_each_position(c->ctx, s, take_size, c);
    return good && !c->failed;
}

bool rlx_non_negative(rlx_context *ctx, const rlx_node *n, rlx_prims *out)
{
    collecting c = { .ctx = ctx, .out = out };
    rlx_ptrmap_init(&c.seen, &ctx->memory);
    bool good = take_sizes(&c, n);
    rlx_ptrmap_free(&c.seen);
    return good || rlx_no_memory(ctx);
}
