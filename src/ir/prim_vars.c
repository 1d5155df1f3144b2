/* prim_vars.c: the shape variables of a node; which of them stand alone. */
#include "ir/ir_int.h"

const rlx_prim_var *rlx_alone(const rlx_prim *p)
{
    if (p && p->kind == RLX_NODE_CAST && ((const rlx_unary *)p)->dtype == RELAX_INT64)
        p = ((const rlx_unary *)p)->a;
    return rlx_as_prim_var(p);
}

const rlx_node *const *rlx_alone_parts(const rlx_node *n, size_t *count)
{
    *count = 0;
    switch (n->kind) {
    case RLX_NODE_TENSOR_SINFO: {
        const rlx_tensor_sinfo *t = (const rlx_tensor_sinfo *)n;
        *count = rlx_is(t->shape, RLX_NODE_SHAPE_EXPR);
        return &t->shape;
    }
    case RLX_NODE_PRIM_SINFO: *count = 1; return &((const rlx_prim_sinfo *)n)->value;
    case RLX_NODE_PRIM_VALUE: *count = 1; return &((const rlx_prim_value *)n)->value;
    case RLX_NODE_SHAPE_EXPR:
        *count = ((const rlx_shape_expr *)n)->num_values;
        return ((const rlx_shape_expr *)n)->values;
    case RLX_NODE_SHAPE_SINFO:
        *count = ((const rlx_shape_sinfo *)n)->num_values;
        return ((const rlx_shape_sinfo *)n)->values;
    case RLX_NODE_TUPLE_SINFO:
        *count = ((const rlx_tuple_sinfo *)n)->num_fields;
        return ((const rlx_tuple_sinfo *)n)->fields;
    default: return NULL;
    }
}

/* ---- all variables: a walk that meets each node once */

struct all { rlx_memory *m; rlx_ptrmap seen; rlx_prim_vars *out; bool failed; };

static enum rlx_step take_var(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    struct all *a = user;
    if ((n->flags & RLX_FLAG_INTERNED) && !(n->flags & RLX_FLAG_HAS_VARS))
        return RLX_STEP_SKIP;
    if (n->kind != RLX_NODE_PRIM_VAR || rlx_ptrmap_has(&a->seen, n))
        return RLX_STEP_ON;
    a->failed =
        !rlx_ptrmap_put(&a->seen, n, 1) || !rlx_vec_push(a->m, a->out, (const rlx_prim_var *)n);
    return a->failed ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool collect_all(rlx_memory *m, const rlx_node *n, rlx_prim_vars *out)
{
    struct all a = { .m = m, .out = out };
    rlx_walker w = { .enter = take_var, .user = &a, .annotations = true, .unique = true };
    bool out_of_memory = false;
    rlx_ptrmap_init(&a.seen, m);
    rlx_walk(m, n, &w, &out_of_memory);
    rlx_ptrmap_free(&a.seen);
    return !a.failed && !out_of_memory;
}

/* ---- variables in binding positions */

struct alone { rlx_memory *m; rlx_ptrmap seen; rlx_ptrs stack; rlx_prim_vars *out; };

static bool push_node(struct alone *a, const rlx_node *n)
{
    return !n || rlx_vec_push(a->m, &a->stack, (void *)(uintptr_t)n);
}

/* Backwards, so that the first comes off the stack first. */
static bool push_parts(struct alone *a, const rlx_node *n)
{
    size_t count;
    const rlx_node *const *parts = rlx_alone_parts(n, &count);
    while (count > 0)
        if (!push_node(a, parts[--count]))
            return false;
    return true;
}

static bool push_params(struct alone *a, const rlx_function *f)
{
    for (size_t i = f->num_params; i > 0; i--)
        if (rlx_is_relax_var(f->params[i - 1]) &&
            !push_node(a, ((const rlx_var *)f->params[i - 1])->sinfo))
            return false;
    return true;
}

static bool start_alone(struct alone *a, const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_FUNCTION: return push_params(a, (const rlx_function *)n);
    case RLX_NODE_MATCH_CAST: return push_node(a, ((const rlx_match_cast *)n)->sinfo);
    case RLX_NODE_VAR:
    case RLX_NODE_DATAFLOW_VAR: return push_node(a, ((const rlx_var *)n)->sinfo);
    default: return push_node(a, n);
    }
}

static bool take_alone(struct alone *a, const rlx_node *n)
{
    const rlx_prim_var *v = rlx_family_of(n) == RLX_FAMILY_PRIM ? rlx_alone(n) : NULL;
    const rlx_node *key = v ? &v->node : n;
    if (!v && !(n->flags & RLX_FLAG_HAS_VARS))
        return true;
    if (rlx_ptrmap_has(&a->seen, key))
        return true;
    if (!rlx_ptrmap_put(&a->seen, key, 1))
        return false;
    return v ? rlx_vec_push(a->m, a->out, v) : push_parts(a, n);
}

/* A tensor of few dimensions, as nearly all are: their variables, each once. */
#define FEW_DIMS 8
static const rlx_shape_expr *few_dims(const rlx_node *n)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(n);
    const rlx_shape_expr *s = t ? rlx_as_shape_expr(t->shape) : NULL;
    return s && s->num_values <= FEW_DIMS ? s : NULL;
}

static bool collect_dims(rlx_memory *m, const rlx_shape_expr *s, rlx_prim_vars *out)
{
    size_t first = out->len;
    for (size_t i = 0; i < s->num_values; i++) {
        const rlx_prim_var *v = rlx_alone(s->values[i]);
        size_t k = first;
        while (v && k < out->len && out->data[k] != v)
            k++;
        if (v && k == out->len && !rlx_vec_push(m, out, v))
            return false;
    }
    return true;
}

static bool collect_alone(rlx_memory *m, const rlx_node *n, rlx_prim_vars *out)
{
    const rlx_shape_expr *dims = few_dims(n);
    if (dims)
        return collect_dims(m, dims, out);
    struct alone a = { .m = m, .out = out };
    rlx_ptrmap_init(&a.seen, m);
    bool ok = start_alone(&a, n);
    while (ok && a.stack.len)
        ok = take_alone(&a, rlx_vec_pop(&a.stack));
    rlx_ptrmap_free(&a.seen);
    rlx_vec_free(m, &a.stack);
    return ok;
}

bool rlx_collect_prim_vars(rlx_memory *m, const rlx_node *n, bool alone, rlx_prim_vars *out)
{
    if (!n)
        return true;
    return alone ? collect_alone(m, n, out) : collect_all(m, n, out);
}
