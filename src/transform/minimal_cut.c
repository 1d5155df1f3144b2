/* minimal_cut.c: a minimal cut is what a maximal flow cannot get past: flow is sent along shortest ways until there is none (Dinitz 1970). */
#include "transform/minimal_cut.h"

#define NONE UINT32_MAX
#define MOST_STEPS (1 << 26)         /* edges looked at: more is not worth what is chosen */

uint32_t rlx_cut_node_new(rlx_cut *c)
{
    while (!c->failed) {
        c->failed = !rlx_vec_push(c->memory, &c->nodes, ((rlx_cut_node){ .first = NONE }));
        if (c->nodes.len > RLX_CUT_FAR + 1)
            break;
    }
    return c->failed ? RLX_CUT_FAR : (uint32_t)c->nodes.len - 1;
}

static void add_edge(rlx_cut *c, uint32_t from, uint32_t to, int64_t cost)
{
    if (c->failed || !rlx_vec_push(c->memory, &c->edges, ((rlx_cut_edge){ to, c->nodes.data[from].first, cost }))) {
        c->failed = true;
        return;
    }
    c->nodes.data[from].first = (uint32_t)c->edges.len - 1;
}

void rlx_cut_connect(rlx_cut *c, uint32_t a, uint32_t b, int64_t cost)
{
    if (cost <= 0 || a == b)
        return;
    add_edge(c, a, b, cost < RLX_CUT_NEVER ? cost : RLX_CUT_NEVER);
    add_edge(c, b, a, 0);
}

/* How far each node is from the near side. False: the far side is out of reach. */
static bool find_levels(rlx_cut *c, int64_t *steps)
{
    for (size_t i = 0; i < c->nodes.len; i++) {
        c->nodes.data[i].level = NONE;
        c->nodes.data[i].now = c->nodes.data[i].first;
    }
    c->work.len = 0;
    c->nodes.data[RLX_CUT_NEAR].level = 0;
    c->failed |= !rlx_vec_push(c->memory, &c->work, RLX_CUT_NEAR);
    for (size_t i = 0; i < c->work.len && !c->failed; i++) {
        const rlx_cut_node *n = &c->nodes.data[c->work.data[i]];
        for (uint32_t e = n->first; e != NONE; e = c->edges.data[e].next, (*steps)--) {
            rlx_cut_node *to = &c->nodes.data[c->edges.data[e].to];
            if (!c->edges.data[e].left || to->level != NONE)
                continue;
            to->level = n->level + 1;
            c->failed |= !rlx_vec_push(c->memory, &c->work, c->edges.data[e].to);
        }
    }
    return !c->failed && c->nodes.data[RLX_CUT_FAR].level != NONE;
}

/* The next edge of a shortest way from the end of the one in `work`; NONE: it leads nowhere. */
static uint32_t next_edge(rlx_cut *c, uint32_t node, int64_t *steps)
{
    rlx_cut_node *n = &c->nodes.data[node];
    for (; n->now != NONE; n->now = c->edges.data[n->now].next, (*steps)--)
        if (c->edges.data[n->now].left && c->nodes.data[c->edges.data[n->now].to].level == n->level + 1)
            return n->now;
    return NONE;
}

/* As much as the way in `work` takes goes along it; what is behind its first full edge leaves it. */
static void send(rlx_cut *c)
{
    int64_t most = INT64_MAX;
    for (size_t i = 0; i < c->work.len; i++)
        if (c->edges.data[c->work.data[i]].left < most)
            most = c->edges.data[c->work.data[i]].left;
    size_t kept = c->work.len;
    for (size_t i = c->work.len; i-- > 0;) {
        rlx_cut_edge *e = &c->edges.data[c->work.data[i]];
        e->left -= most;
        c->edges.data[c->work.data[i] ^ 1].left += most;
        kept = e->left ? kept : i;
    }
    c->work.len = kept;
}

/* All shortest ways are filled. */
static void fill_levels(rlx_cut *c, int64_t *steps)
{
    c->work.len = 0;
    while (!c->failed && *steps > 0) {
        uint32_t node = c->work.len ? c->edges.data[rlx_vec_last(&c->work)].to : RLX_CUT_NEAR, e;
        if (node == RLX_CUT_FAR)
            send(c);
        else if ((e = next_edge(c, node, steps)) != NONE)
            c->failed |= !rlx_vec_push(c->memory, &c->work, e);
        else if (!c->work.len)
            return;
        else { /* back, and not there again */
            rlx_cut_node *from = &c->nodes.data[c->edges.data[rlx_vec_last(&c->work) ^ 1].to];
            from->now = c->edges.data[from->now].next;
            c->work.len--;
        }
        (*steps)--;
    }
}

/* From where something more would reach the far side: those are on it. */
static bool find_far(rlx_cut *c)
{
    for (size_t i = 0; i < c->nodes.len; i++)
        c->nodes.data[i].level = NONE;
    c->work.len = 0;
    c->nodes.data[RLX_CUT_FAR].level = 0;
    c->failed |= !rlx_vec_push(c->memory, &c->work, RLX_CUT_FAR);
    for (size_t i = 0; i < c->work.len && !c->failed; i++)
        for (uint32_t e = c->nodes.data[c->work.data[i]].first; e != NONE; e = c->edges.data[e].next) {
            rlx_cut_node *from = &c->nodes.data[c->edges.data[e].to];
            if (!c->edges.data[e ^ 1].left || from->level != NONE)
                continue;
            from->level = 0;
            c->failed |= !rlx_vec_push(c->memory, &c->work, c->edges.data[e].to);
        }
    return !c->failed;
}

bool rlx_cut_solve(rlx_cut *c)
{
    int64_t steps = MOST_STEPS;
    if (c->failed || c->nodes.len <= RLX_CUT_FAR)
        return !c->failed;
    while (find_levels(c, &steps) && steps > 0)
        fill_levels(c, &steps);
    return steps > 0 && find_far(c);
}

bool rlx_cut_is_far(const rlx_cut *c, uint32_t node)
{
    return c->nodes.data[node].level != NONE;
}

void rlx_cut_free(rlx_cut *c)
{
    rlx_vec_free(c->memory, &c->nodes);
    rlx_vec_free(c->memory, &c->edges);
    rlx_vec_free(c->memory, &c->work);
}
