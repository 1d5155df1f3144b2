/* binding.c: the walk over binding positions. */
#include "ir/ir_int.h"

const rlx_prim_var *rlx_position_var(const rlx_prim *p)
{
    if (p && p->kind == RLX_NODE_CAST && ((const rlx_unary *)p)->dtype == RELAX_INT64)
        p = ((const rlx_unary *)p)->a;
    return rlx_as_prim_var(p);
}

static const rlx_node *const *shape_values(const rlx_node *shape, size_t *count)
{
    const rlx_shape_expr *s = rlx_as_shape_expr(shape);
    *count = s ? s->num_values : 0;
    return s ? s->values : NULL;
}

static const rlx_node *const *value_of(const rlx_prim *const *value, size_t *count)
{
    *count = *value != NULL;
    return value;
}

const rlx_node *const *rlx_position_parts(const rlx_node *n, size_t *count)
{
    switch (n->kind) {
    case RLX_NODE_TENSOR_SINFO: return shape_values(((const rlx_tensor_sinfo *)n)->shape, count);
    case RLX_NODE_SHAPE_EXPR: return shape_values(n, count);
    case RLX_NODE_PRIM_SINFO: return value_of(&((const rlx_prim_sinfo *)n)->value, count);
    case RLX_NODE_PRIM_VALUE: return value_of(&((const rlx_prim_value *)n)->value, count);
    case RLX_NODE_SHAPE_SINFO:
        *count = ((const rlx_shape_sinfo *)n)->num_values;
        return ((const rlx_shape_sinfo *)n)->values;
    case RLX_NODE_TUPLE_SINFO:
        *count = ((const rlx_tuple_sinfo *)n)->num_fields;
        return ((const rlx_tuple_sinfo *)n)->fields;
    default: *count = 0; return NULL;
    }
}

/* Of a node that is no tuple. */
static void tell_positions(const rlx_node *n, rlx_position_fn *each, void *user)
{
    size_t count;
    const rlx_node *const *parts = rlx_position_parts(n, &count);
    bool is_size = n->kind != RLX_NODE_PRIM_SINFO && n->kind != RLX_NODE_PRIM_VALUE;
    if (rlx_family_of(n) == RLX_FAMILY_PRIM)
        each(user, n, false);
    for (size_t i = 0; i < count; i++)
        each(user, parts[i], is_size);
}

/* Backwards, so that the first comes off the stack first. */
static bool push_fields(rlx_memory *m, rlx_ptrs *stack, const rlx_tuple_sinfo *t)
{
    for (size_t i = t->num_fields; i > 0; i--)
        if (!rlx_vec_push(m, stack, (void *)(uintptr_t)t->fields[i - 1]))
            return false;
    return true;
}

bool rlx_each_position(rlx_memory *m, const rlx_node *n, rlx_position_fn *each, void *user)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(n);
    rlx_ptrs stack = { 0 };
    rlx_ptrmap seen; /* tuples in tuples */
    if (n && !t)
        tell_positions(n, each, user);
    if (!t)
        return true;
    rlx_ptrmap_init(&seen, m);
    bool ok = push_fields(m, &stack, t);
    while (ok && stack.len) {
        n = rlx_vec_pop(&stack);
        t = rlx_as_tuple_sinfo(n);
        if (!t)
            tell_positions(n, each, user);
        else if (!rlx_ptrmap_has(&seen, t))
            ok = rlx_ptrmap_put(&seen, t, 1) && push_fields(m, &stack, t);
    }
    rlx_ptrmap_free(&seen);
    rlx_vec_free(m, &stack);
    return ok;
}
