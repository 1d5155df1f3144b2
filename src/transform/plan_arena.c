/*- plan_arena.c: the largest tensor is placed first, each at the lowest offset where nothing lies that is
 * needed at the same time.
 *
 *     offset
 *       ^   +-----+  +--------+          what is small fills the gaps that the large ones leave
 *       |   |  d  |  |   c    |
 *       |   +-----+--+-----+--+
 *       |   |      a       | b |
 *       +---+--------------+---+--> events
 *
 * Tensors that are needed at the same time are found in a tree over them, in order of their first event,
 * whose nodes know the last event of what was placed below. Where more than a bounded number of them is
 * in the way, a tensor goes on top of everything, so that the cost stays n log n. */
#include "transform/plan_arena.h"

enum { IN_THE_WAY = 128, TREE_DEPTH = 32 };

typedef struct gap_end { int64_t begin, end; } taken;
typedef struct placing {
    rlx_arena_tensor *tensors;
    size_t count, leaves;
    uint32_t *latest;            /* by node: last event + 1 of what is placed below; 0: nothing */
    taken in_the_way[IN_THE_WAY];    /* by offset */
    size_t num_in_the_way;
    int64_t top;
} placing;

/* Merges the sorted runs order[0 .. half) and order[half .. count) into `to`: larger ones first, equal
 * ones as they were. */
static void merge_runs(const rlx_arena_tensor *t, const uint32_t *order, size_t half, size_t count,
                       uint32_t *to)
{
    size_t a = 0, b = half;
    for (size_t i = 0; i < count; i++) {
        bool second = a == half || (b < count && t[order[b]].bytes > t[order[a]].bytes);
        to[i] = order[second ? b++ : a++];
    }
}

/* Numbers of the tensors by size, in one of two arrays of `count`. */
static uint32_t *sort_by_size(const rlx_arena_tensor *t, size_t count, uint32_t *order,
                              uint32_t *other)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t i = 0; i < count; i += 2 * run) {
            size_t left = count - i;
            merge_runs(t, order + i, run < left ? run : left, 2 * run < left ? 2 * run : left,
                       other + i);
        }
        uint32_t *done = other;
        other = order;
        order = done;
    }
    return order;
}

static bool add_in_the_way(placing *p, const rlx_arena_tensor *t)
{
    size_t at = p->num_in_the_way;
    if (at == IN_THE_WAY)
        return false;
    for (; at && p->in_the_way[at - 1].begin > t->offset; at--)
        p->in_the_way[at] = p->in_the_way[at - 1];
    p->in_the_way[at] = (taken){ t->offset, t->offset + t->bytes };
    p->num_in_the_way++;
    return true;
}

/* Tensors that were placed and are needed while `t` is. False: too many. */
static bool find_in_the_way(placing *p, const rlx_arena_tensor *t)
{
    size_t nodes[2 * TREE_DEPTH + 2], depth = 0;
    p->num_in_the_way = 0;
    nodes[depth++] = 1;
    while (depth) {
        size_t node = nodes[--depth], first = node;
        while (first < p->leaves)
            first *= 2;
        if (p->latest[node] <= t->first || first - p->leaves >= p->count ||
            p->tensors[first - p->leaves].first > t->last)
            continue;
        if (node >= p->leaves) {
            if (!add_in_the_way(p, &p->tensors[node - p->leaves]))
                return false;
            continue;
        }
        nodes[depth++] = 2 * node + 1;
        nodes[depth++] = 2 * node;
    }
    return true;
}

static int64_t lowest_gap(const placing *p, int64_t bytes)
{
    int64_t at = 0;
    for (size_t i = 0; i < p->num_in_the_way; i++) {
        if (p->in_the_way[i].begin - at >= bytes)
            return at;
        if (p->in_the_way[i].end > at)
            at = (p->in_the_way[i].end + RLX_ARENA_ALIGN - 1) / RLX_ARENA_ALIGN * RLX_ARENA_ALIGN;
    }
    return at;
}

static void place_next(placing *p, size_t i)
{
    rlx_arena_tensor *t = &p->tensors[i];
    t->offset = find_in_the_way(p, t)
                    ? lowest_gap(p, t->bytes)
                    : (p->top + RLX_ARENA_ALIGN - 1) / RLX_ARENA_ALIGN * RLX_ARENA_ALIGN;
    if (p->top < t->offset + t->bytes)
        p->top = t->offset + t->bytes;
    for (size_t node = p->leaves + i; node && p->latest[node] <= t->last; node /= 2)
        p->latest[node] = t->last + 1;
}

int64_t rlx_arena_place(rlx_context *ctx, rlx_arena_tensor *tensors, size_t count)
{
    rlx_memory *m = &ctx->memory;
    placing p = { .tensors = tensors, .count = count, .leaves = 1 };
    while (p.leaves < count)
        p.leaves *= 2;
    uint32_t *room = rlx_mem_alloc(m, (2 * count + 1) * sizeof *room);
    p.latest = rlx_mem_alloc_zero(m, 2 * p.leaves * sizeof *p.latest);
    if (room && p.latest) {
        const uint32_t *order = sort_by_size(tensors, count, room, room + count);
        for (size_t i = 0; i < count; i++)
            place_next(&p, order[i]);
    }
    bool good = room && p.latest;
    rlx_mem_free(m, room, room ? (2 * count + 1) * sizeof *room : 0);
    rlx_mem_free(m, p.latest, p.latest ? 2 * p.leaves * sizeof *p.latest : 0);
    return good ? p.top : -1;
}
