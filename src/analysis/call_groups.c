/* call_groups.c: the strongly connected groups of functions that mention each other (Tarjan),
 * callees first. */
/* built for size */
#include "analysis/wf_int.h"

typedef struct visit { uint32_t node, edge; } visit;
typedef struct tarjan {
    rlx_memory *m;
    size_t count;
    const rlx_wf_mention *edges;
    /* edges by `from`: first[node], next[edge]; edge + 1, 0 ends */
    uint32_t *first, *next;
    uint32_t *order, *low;              /* by node; order 0: not seen */
    bool *on_stack;
    uint32_t counter, groups;
    RLX_VEC(uint32_t) stack;            /* nodes seen that have no group yet */
    RLX_VEC(visit) frames;
    uint32_t *group;
    bool *recursive;
} tarjan;

static bool enter_node(tarjan *t, uint32_t node)
{
    visit v = { node, t->first[node] };
    t->order[node] = t->low[node] = ++t->counter;
    t->on_stack[node] = true;
    return rlx_vec_push(t->m, &t->stack, node) && rlx_vec_push(t->m, &t->frames, v);
}

/* A node whose edges have all been followed: the root of a group takes the group off the stack. */
static void leave_node(tarjan *t, uint32_t node)
{
    t->frames.len--;
    if (t->frames.len) {
        uint32_t above = rlx_vec_last(&t->frames).node;
        if (t->low[node] < t->low[above])
            t->low[above] = t->low[node];
    }
    if (t->low[node] != t->order[node])
        return;
    uint32_t member, size = 0;
    do {
        member = rlx_vec_pop(&t->stack);
        t->on_stack[member] = false;
        t->group[member] = t->groups;
        t->recursive[member] |= size++ > 0 || member != node;
    } while (member != node);
    t->groups++;
}

static bool follow_edge(tarjan *t)
{
    visit *v = &rlx_vec_last(&t->frames);
    if (!v->edge) {
        leave_node(t, v->node);
        return true;
    }
    uint32_t from = v->node, to = t->edges[v->edge - 1].to;
    v->edge = t->next[v->edge - 1];
    if (from == to)
        t->recursive[from] = true;
    if (!t->order[to])
        return enter_node(t, to);
    if (t->on_stack[to] && t->order[to] < t->low[from])
        t->low[from] = t->order[to];
    return true;
}

static bool run(tarjan *t, size_t num_edges)
{
    /* Last edge first, so that lists come out in order. */
    for (size_t i = num_edges; i-- > 0;) {
        t->next[i] = t->first[t->edges[i].from];
        t->first[t->edges[i].from] = (uint32_t)i + 1;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->order[i])
            continue;
        if (!enter_node(t, i))
            return false;
        while (t->frames.len)
            if (!follow_edge(t))
                return false;
    }
    return true;
}

bool rlx_wf_groups(rlx_context *ctx, size_t count, const rlx_wf_mention *edges, size_t num_edges,
                   uint32_t *group, bool *recursive)
{
    tarjan t = {
        .m = &ctx->memory, .count = count, .edges = edges, .group = group, .recursive = recursive
    };
    size_t words = 3 * count + num_edges + 1;
    uint32_t *numbers = count < UINT32_MAX && num_edges < UINT32_MAX
                         ? rlx_mem_alloc_zero(t.m, words * sizeof *numbers)
                         : NULL;
    t.on_stack = rlx_mem_alloc_zero(t.m, count + 1);
    bool good = numbers && t.on_stack;
    if (good) {
        t.first = numbers;
        t.order = numbers + count;
        t.low = numbers + 2 * count;
        t.next = numbers + 3 * count;
        memset(recursive, 0, count);
        good = run(&t, num_edges);
    }
    rlx_mem_free(t.m, numbers, numbers ? words * sizeof *numbers : 0);
    rlx_mem_free(t.m, t.on_stack, t.on_stack ? count + 1 : 0);
    rlx_vec_free(t.m, &t.stack);
    rlx_vec_free(t.m, &t.frames);
    return good;
}

/* ---- of a module ---------------------------------------------------------------------------- */

typedef struct collect {
    rlx_context *ctx;
    const rlx_module *m;
    uint32_t from;
    RLX_VEC(rlx_wf_mention) edges;
} collect;

static enum rlx_step mention(void *user, const rlx_node *n, const rlx_field *via,
                             const rlx_node *parent)
{
    collect *c = user;
    int64_t at = rlx_module_named_by(c->m, n);
    rlx_wf_mention e = { .from = c->from, .to = (uint32_t)at, .place = rlx_place_of(parent) };
    if (at >= 0 && !rlx_vec_push(&c->ctx->memory, &c->edges, e))
        return RLX_STEP_STOP;
    return n->kind == RLX_NODE_CONSTANT ? RLX_STEP_SKIP : RLX_STEP_ON;
}

bool rlx_call_groups(rlx_context *ctx, const rlx_module *m, uint32_t *group, bool *recursive)
{
    collect c = { .ctx = ctx, .m = m };
    rlx_walker w = { .enter = mention, .user = &c, .unique = true };
    for (size_t i = 0; i < m->num_functions && !ctx->diags.out_of_memory; i++) {
        c.from = (uint32_t)i;
        /* TIR calls functions from within interned expressions */
        w.code = rlx_is(m->functions[i], RLX_NODE_FUNCTION);
        rlx_walk(&ctx->memory, m->functions[i], &w, NULL);
    }
    bool good = !ctx->diags.out_of_memory && rlx_wf_groups(ctx, m->num_functions, c.edges.data,
                                                           c.edges.len, group, recursive);
    rlx_vec_free(&ctx->memory, &c.edges);
    return good;
}
