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
