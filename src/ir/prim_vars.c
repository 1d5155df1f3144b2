/* prim_vars.c: the shape variables of a node: all, or those in binding positions. */
#include "ir/ir_int.h"

/* ---- all variables: a walk that meets each node once */

struct all { rlx_memory *m; rlx_ptrmap seen; rlx_prim_vars *out; bool failed; };

static enum rlx_step take_var(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    struct all *a = user;
    if (rlx_node_is_closed(n))
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

/* The first few are compared one by one: hardly any struct info has more. */
#define FEW 8
struct alone { rlx_memory *m; size_t first; rlx_ptrmap rest; rlx_prim_vars *out; bool failed; };

static bool is_taken(const struct alone *a, const rlx_prim_var *v)
{
    for (size_t i = a->first; i < a->out->len && i - a->first < FEW; i++)
        if (a->out->data[i] == v)
            return true;
    return rlx_ptrmap_has(&a->rest, v);
}

static void take_alone(void *user, const rlx_prim *p, bool is_size)
{
    struct alone *a = user;
    const rlx_prim_var *v = rlx_position_var(p);
    if (!v || a->failed || is_taken(a, v))
        return;
    a->failed = !rlx_vec_push(a->m, a->out, v) ||
                (a->out->len - a->first > FEW && !rlx_ptrmap_put(&a->rest, v, 1));
}

static bool take_params(struct alone *a, const rlx_function *f)
{
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_var *v = rlx_as_var(f->params[i]);
        if (v && !rlx_each_position(a->m, v->sinfo, take_alone, a))
            return false;
    }
    return true;
}

static bool collect_alone(rlx_memory *m, const rlx_node *n, rlx_prim_vars *out)
{
    struct alone a = { .m = m, .first = out->len, .out = out };
    const rlx_function *f = rlx_as_function(n);
    const rlx_match_cast *cast = rlx_as_match_cast(n);
    const rlx_var *v = rlx_as_var(n);
    rlx_ptrmap_init(&a.rest, m);
    bool ok = f ? take_params(&a, f)
                : rlx_each_position(m, cast ? cast->sinfo : v ? v->sinfo : n, take_alone, &a);
    rlx_ptrmap_free(&a.rest);
    return ok && !a.failed;
}

bool rlx_collect_prim_vars(rlx_memory *m, const rlx_node *n, bool alone, rlx_prim_vars *out)
{
    if (!n)
        return true;
    return alone ? collect_alone(m, n, out) : collect_all(m, n, out);
}
