/*- fuse_graph.c: groups of a dataflow graph by post-dominators (fuse_graph.h).
 *
 *     conv --> add --> relu --+            post-dominators     conv: add, add: relu, relu: sum, exp: sum
 *                     exp ----+--> sum     groups              {conv, add, relu, exp, sum}
 *
 * Each look at the way from a node to its post-dominator ends after max_depth nodes, and the nearest common ancestor of
 * two nodes is found by jumps (an ancestor at a distance of a power of two, roughly), so the whole is linear but for
 * these factors. */
#include "transform/fuse_graph.h"

#define NONE 0

static uint8_t most(uint8_t a, uint8_t b) { return a > b ? a : b; }

/* ---- edges ---------------------------------------------------------------------------------- */

typedef struct fan { size_t first, count; } fan;

static bool sort_edges(rlx_fuse_graph *g)
{
    RLX_VEC(fan) fans = { 0 };
    bool good = rlx_vec_reserve(g->memory, &fans, g->nodes.len + 1);
    g->num_users = g->edges.len + 1;
    g->users = rlx_mem_alloc(g->memory, g->num_users * sizeof *g->users);
    if (good && g->users) {
        fans.len = g->nodes.len;
        rlx_vec_group(&g->edges, group, item, &fans, g->users);
        for (size_t i = 0; i < g->nodes.len; i++) {
            g->nodes.data[i].first = (uint32_t)fans.data[i].first;
            g->nodes.data[i].count = (uint32_t)fans.data[i].count;
        }
    }
    rlx_vec_free(g->memory, &fans);
    return good && g->users;
}

/* ---- post-dominators ------------------------------------------------------------------------ */

static rlx_fuse_node *node(rlx_fuse_graph *g, uint32_t number) { return &g->nodes.data[number - 1]; }

/* The ancestor of a node at that depth; the patterns on the way into *way. */
static uint32_t ancestor(rlx_fuse_graph *g, uint32_t n, uint32_t depth, uint8_t *way)
{
    while (n != NONE && node(g, n)->depth > depth) {
        const rlx_fuse_node *at = node(g, n);
        bool far = at->jump != NONE && node(g, at->jump)->depth >= depth;
        *way = most(*way, far ? at->jump_way : at->way);
        n = far ? at->jump : at->parent;
    }
    return n;
}

static uint32_t common_ancestor(rlx_fuse_graph *g, uint32_t a, uint32_t b, uint8_t *way)
{
    if (a == NONE || b == NONE)
        return NONE;
    uint32_t depth = node(g, a)->depth < node(g, b)->depth ? node(g, a)->depth : node(g, b)->depth;
    a = ancestor(g, a, depth, way);
    b = ancestor(g, b, depth, way);
    while (a != b && a != NONE && b != NONE) {
        const rlx_fuse_node *x = node(g, a), *y = node(g, b);
        bool far = x->jump != y->jump;
        *way = most(*way, far ? most(x->jump_way, y->jump_way) : most(x->way, y->way));
        a = far ? x->jump : x->parent;
        b = far ? y->jump : y->parent;
    }
    return a == b ? a : NONE;
}

/* Depths of a and of its jump are such that jumps of nodes of one depth go to one depth. */
static void set_jump(rlx_fuse_graph *g, rlx_fuse_node *n)
{
    if (n->parent == NONE)
        return;
    const rlx_fuse_node *p = node(g, n->parent);
    const rlx_fuse_node *q = p->jump == NONE ? NULL : node(g, p->jump);
    uint32_t far = q ? q->depth : 0, farther = q && q->jump != NONE ? node(g, q->jump)->depth : 0;
    bool doubles = q && p->depth - far == far - farther;
    n->jump = doubles ? q->jump : n->parent;
    n->jump_way = doubles ? most(n->way, most(p->jump_way, q->jump_way)) : n->way;
}

static void find_dominator(rlx_fuse_graph *g, rlx_fuse_node *n)
{
    uint8_t way = RLX_ELEMWISE;
    uint32_t up = NONE;
    for (size_t i = 0; i < n->count && !n->kept; i++) {
        uint32_t user = g->users[n->first + i] + 1;
        up = i ? common_ancestor(g, up, user, &way) : user;
        way = most(way, node(g, user)->pattern);
        if (up == NONE)
            break;
    }
    n->parent = up;
    n->depth = up == NONE ? 1 : node(g, up)->depth + 1;
    n->way = way;
    set_jump(g, n);
}

/* ---- groups --------------------------------------------------------------------------------- */

uint32_t rlx_fuse_group(rlx_fuse_graph *g, uint32_t n)
{
    while (g->nodes.data[n].group != n) {
        uint32_t up = g->nodes.data[n].group;
        n = g->nodes.data[n].group = g->nodes.data[up].group;
    }
    return n;
}

static uint8_t group_pattern(rlx_fuse_graph *g, uint32_t n)
{
    return g->nodes.data[rlx_fuse_group(g, n)].group_pattern;
}

static void merge(rlx_fuse_graph *g, uint32_t child, uint32_t into)
{
    uint32_t a = rlx_fuse_group(g, child), b = rlx_fuse_group(g, into);
    rlx_fuse_node *x = &g->nodes.data[a], *y = &g->nodes.data[b];
    if (a == b)
        return;
    y->size += x->size;
    x->group = b;
    /* What elementwise work is added to the end of decides what else may come. */
    if (x->group_pattern == RLX_OUT_FUSABLE)
        y->group_pattern = most(x->group_pattern, y->group_pattern);
}

/* The ways from a node to its post-dominator. */
typedef struct way {
    rlx_fuse_graph *g;
    uint32_t from, to;
    size_t size;                         /* of what would be one group */
    bool (*allows)(uint8_t pattern, bool is_end);
} way;

static bool push_users(rlx_fuse_graph *g, uint32_t n)
{
    const rlx_fuse_node *at = &g->nodes.data[n];
    for (size_t i = 0; i < at->count; i++) {
        uint32_t user = g->users[at->first + i];
        if (g->nodes.data[user].seen == g->walk)
            continue;
        g->nodes.data[user].seen = g->walk;
        if (!rlx_vec_push(g->memory, &g->work, user))
            return false;
    }
    return true;
}

/* `each` for the nodes on the ways, the first one too, the last one not. False: it said no, or out of memory. */
static bool each_between(way *w, bool (*each)(way *w, uint32_t n))
{
    rlx_fuse_graph *g = w->g;
    g->walk++;
    g->work.len = 0;
    g->nodes.data[w->to].seen = g->walk;
    if (!each(w, w->from) || !push_users(g, w->from))
        return false;
    while (g->work.len) {
        uint32_t n = rlx_vec_pop(&g->work);
        if (!each(w, n) || !push_users(g, n))
            return false;
    }
    return true;
}

static bool count_node(way *w, uint32_t n)
{
    w->size += w->g->nodes.data[n].size;
    return w->size <= w->g->max_depth;
}

static bool share_place(const rlx_fuse_graph *g, uint32_t a, uint32_t b)
{
    const rlx_fuse_node *x = &g->nodes.data[a], *y = &g->nodes.data[b];
    return x->device == y->device && x->section == y->section;
}

static bool is_allowed(way *w, uint32_t n)
{
    return n == w->from || (w->allows(group_pattern(w->g, n), false) && share_place(w->g, n, w->from));
}

static bool join(way *w, uint32_t n)
{
    merge(w->g, n, w->to);
    return true;
}

static void try_join(way *w)
{
    rlx_fuse_graph *g = w->g;
    uint32_t end = rlx_fuse_group(g, w->to);
    w->size = g->nodes.data[end].size;
    if (!w->allows(g->nodes.data[end].group_pattern, true) || !share_place(g, w->to, w->from))
        return;
    if (each_between(w, count_node) && each_between(w, is_allowed))
        each_between(w, join);
}

static bool only_elements(uint8_t pattern, bool is_end)
{
    (void)is_end;
    return pattern <= RLX_BROADCAST;
}
static bool elements_into(uint8_t pattern, bool is_end)
{
    return pattern <= RLX_INJECTIVE || (is_end && (pattern == RLX_REDUCTION || pattern == RLX_OUT_FUSABLE));
}
static bool sum_of_products(uint8_t pattern, bool is_end) { return is_end && pattern == RLX_OUT_FUSABLE; }
static bool only_moves(uint8_t pattern, bool is_end)
{
    (void)is_end;
    return pattern <= RLX_INJECTIVE;
}

/* What a node of that group, with such edges on its way, may join in this phase; NULL: nothing. */
static bool (*rule_of(uint8_t pattern, uint8_t edges, bool moves, int phase))(uint8_t, bool)
{
    if (moves && phase == 0)
        return sum_of_products;
    if (pattern == RLX_OUT_FUSABLE)
        return phase == 0 && edges == RLX_ELEMWISE ? only_elements : NULL;
    if (pattern <= RLX_BROADCAST)
        return edges <= RLX_REDUCTION ? elements_into : NULL;
    return pattern == RLX_INJECTIVE && phase == 1 ? only_moves : NULL;
}

static void fuse_node(rlx_fuse_graph *g, uint32_t n, int phase)
{
    const rlx_fuse_node *at = &g->nodes.data[n];
    way w = { .g = g, .from = n, .to = at->parent - 1 };
    if (at->parent == NONE || rlx_fuse_group(g, n) == rlx_fuse_group(g, w.to))
        return;
    w.allows = rule_of(at->group_pattern, at->way, at->moves != RLX_FUSE_NO_MOVE, phase);
    if (w.allows)
        try_join(&w);
}

bool rlx_fuse_partition(rlx_fuse_graph *g, size_t max_depth)
{
    size_t n = g->nodes.len;
    g->max_depth = max_depth;
    if (!sort_edges(g))
        return false;
    for (size_t i = n; i-- > 0;) {
        rlx_fuse_node *at = &g->nodes.data[i];
        at->group = (uint32_t)i;
        at->size = 1;
        at->group_pattern = at->pattern;
        find_dominator(g, at);
    }
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < n; i++)
            fuse_node(g, (uint32_t)i, phase);
    return true;
}

void rlx_fuse_graph_free(rlx_fuse_graph *g)
{
    rlx_mem_free(g->memory, g->users, g->num_users * sizeof *g->users);
    rlx_vec_free(g->memory, &g->nodes);
    rlx_vec_free(g->memory, &g->edges);
    rlx_vec_free(g->memory, &g->work);
}
