/* liveness.c: see the header. A function is a line of events (flow.h) on which a value is used
 * at or after its binding. What lies ahead on the line lies ahead of the program too, but for
 * two cases: from a branch the other branch is not reached, and a local function ends. */
#include "analysis/analysis.h"

#include <string.h>

typedef struct raw_use { uint32_t var, event; } raw_use;

typedef struct finder {
    rlx_liveness *l;
    rlx_memory *m;
    rlx_ptrmap index;          /* variable -> number + 1 */
    RLX_VEC(raw_use) raw;
    rlx_mentions mentions;
    uint32_t at;               /* event under the walk */
} finder;

/* ---- variables and their uses --------------------------------------------------------------- */

static bool add_var(finder *f, const rlx_node *v, uint32_t from)
{
    rlx_live_var lv = { .var = (const rlx_var *)v, .from = from };
    return rlx_vec_push(f->m, &f->l->vars, lv) &&
           rlx_ptrmap_put(&f->index, v, f->l->vars.len);
}

static bool use(void *user, const rlx_node *v)
{
    finder *f = user;
    uintptr_t at;
    if (!rlx_ptrmap_find(&f->index, v, &at)) /* of a function around this one, or nobody's */
        return true;
    raw_use r = { (uint32_t)at - 1, f->at };
    return rlx_vec_push(f->m, &f->raw, r);
}

static bool use_info(finder *f, const rlx_var *v)
{
    return !v || rlx_each_mention(&f->mentions, v->sinfo);
}

static bool take_params(finder *f, const rlx_function *function, uint32_t from)
{
    bool good = true;
    for (size_t i = 0; good && i < function->num_params; i++)
        good = add_var(f, function->params[i], from) &&
               use_info(f, rlx_as_var(function->params[i]));
    return good;
}

/* Sequences come with events of their own: what a holder of some uses is its condition. */
static bool use_value(finder *f, const rlx_binding *b)
{
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    return (rlx_as_if_expr(value) || rlx_as_function(value) ||
            rlx_each_mention(&f->mentions, value)) &&
           (!cast || rlx_each_mention(&f->mentions, cast->sinfo)) &&
           use_info(f, rlx_binding_var(b));
}

static bool note_event(finder *f, const rlx_event *e)
{
    const rlx_flow_seq *s = &f->l->flow.seqs.data[e->seq];
    const rlx_expr *value = rlx_binding_value(e->binding);
    if (e->kind == RLX_EVENT_LEAVE)
        return rlx_each_mention(&f->mentions, s->result);
    if (e->kind == RLX_EVENT_ENTER && s->part == RLX_FLOW_LITERAL)
        return take_params(f, rlx_as_function(value), f->at + 1);
    if (e->kind == RLX_EVENT_ENTER)
        return s->part != RLX_FLOW_THEN ||
               rlx_each_mention(&f->mentions, ((const rlx_if_expr *)value)->cond);
    const rlx_var *v = rlx_binding_var(e->binding);
    return rlx_ptrmap_put(&f->l->bindings, e->binding, (uintptr_t)f->at + 1) &&
           use_value(f, e->binding) && (!v || add_var(f, &v->node, f->at + 1));
}

static bool gather(finder *f, const rlx_function *function)
{
    const rlx_flow *w = &f->l->flow;
    bool good = take_params(f, function, 0);
    for (size_t i = 0; good && i < w->events.len; i++) {
        f->at = (uint32_t)i;
        good = note_event(f, &w->events.data[i]);
    }
    f->at = (uint32_t)w->events.len;
    return good && rlx_each_mention(&f->mentions, w->seqs.data[0].result) &&
           rlx_each_mention(&f->mentions, function->ret_sinfo);
}

static bool sort_uses(finder *f)
{
    rlx_liveness *l = f->l;
    l->num_uses = f->raw.len;
    l->uses = rlx_mem_alloc(f->m, (l->num_uses + 1) * sizeof *l->uses);
    if (!l->uses)
        return false;
    rlx_vec_group(&f->raw, var, event, &l->vars, l->uses);
    for (size_t i = 0; i < f->raw.len; i++)
        l->vars.data[f->raw.data[i].var].until = f->raw.data[i].event;
    return true;
}

/* latest[i] is the greater of latest[2 * i] and latest[2 * i + 1]; unused variables have 0. */
static bool build_heap(finder *f)
{
    rlx_liveness *l = f->l;
    size_t leaves = 1;
    while (leaves < l->vars.len)
        leaves *= 2;
    l->latest = rlx_mem_alloc_zero(f->m, 2 * leaves * sizeof *l->latest);
    if (!l->latest)
        return false;
    l->leaves = leaves;
    for (size_t i = 0; i < l->vars.len; i++)
        l->latest[leaves + i] = l->vars.data[i].count ? l->vars.data[i].until : 0;
    for (size_t i = leaves; i-- > 1;)
        l->latest[i] = l->latest[2 * i] > l->latest[2 * i + 1] ? l->latest[2 * i]
                                                              : l->latest[2 * i + 1];
    return true;
}

bool rlx_liveness_find(rlx_liveness *l, rlx_context *ctx, const rlx_function *function)
{
    finder f = { .l = l, .m = &ctx->memory };
    *l = (rlx_liveness){ .ctx = ctx };
    rlx_ptrmap_init(&l->bindings, f.m);
    rlx_ptrmap_init(&f.index, f.m);
    rlx_mentions_init(&f.mentions, ctx, use, &f);
    bool good = rlx_flow_build(&l->flow, ctx, function) && gather(&f, function) &&
                sort_uses(&f) && build_heap(&f);
    rlx_mentions_free(&f.mentions);
    rlx_ptrmap_free(&f.index);
    rlx_vec_free(f.m, &f.raw);
    return good;
}

void rlx_liveness_free(rlx_liveness *l)
{
    rlx_memory *m = &l->ctx->memory;
    rlx_flow_free(&l->flow, l->ctx);
    rlx_ptrmap_free(&l->bindings);
    rlx_vec_free(m, &l->vars);
    rlx_mem_free(m, l->uses, l->uses ? (l->num_uses + 1) * sizeof *l->uses : 0);
    rlx_mem_free(m, l->latest, l->latest ? 2 * l->leaves * sizeof *l->latest : 0);
}

/* ---- questions ------------------------------------------------------------------------------ */

/* Events that are ahead on the line but not reached: begin ... end, ascending. */
typedef struct gap { uint32_t begin, end; } gap;
typedef struct question {
    const rlx_liveness *l;
    uint32_t point;
    RLX_VEC(gap) gaps;
    uint32_t limit;               /* the last event that counts: the end of a local function */
} question;

static bool look_outward(question *q, uint32_t seq)
{
    const rlx_flow *w = &q->l->flow;
    for (; seq; seq = w->seqs.data[seq].parent) {
        const rlx_flow_seq *s = &w->seqs.data[seq];
        if (s->part == RLX_FLOW_LITERAL && s->leave < q->limit)
            q->limit = s->leave;
        if (s->part != RLX_FLOW_THEN)
            continue;
        uint32_t other = w->events.data[s->leave + 1].seq;
        gap g = { s->leave + 1, w->seqs.data[other].leave };
        if (!rlx_vec_push(&q->l->ctx->memory, &q->gaps, g))
            return false;
    }
    return true;
}

/* The gap that holds the event; NULL: none. */
static const gap *gap_around(const question *q, uint32_t event)
{
    size_t low = 0, high = q->gaps.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (q->gaps.data[middle].end < event)
            low = middle + 1;
        else
            high = middle;
    }
    return low < q->gaps.len && q->gaps.data[low].begin <= event ? &q->gaps.data[low] : NULL;
}

/* The first use at or after the event; UINT32_MAX: none. */
static uint32_t next_use(const rlx_liveness *l, const rlx_live_var *v, uint32_t event)
{
    size_t low = v->first, high = v->first + v->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->uses[middle] < event)
            low = middle + 1;
        else
            high = middle;
    }
    return low < v->first + v->count ? l->uses[low] : UINT32_MAX;
}

static bool is_live(const question *q, const rlx_live_var *v)
{
    uint32_t at = next_use(q->l, v, q->point);
    for (const gap *g; at <= q->limit && (g = gap_around(q, at)) != NULL;)
        at = next_use(q->l, v, g->end + 1);
    return at <= q->limit;
}

/* How many variables are there at the point? */
static size_t present(const rlx_liveness *l, uint32_t point)
{
    size_t low = 0, high = l->vars.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->vars.data[middle].from <= point)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The next number from `at` on with a use at or after the point; SIZE_MAX: none. Up the heap
 * while nothing is to the right, then down to the first. */
static size_t next_candidate(const rlx_liveness *l, size_t at, uint32_t point)
{
    size_t i = l->leaves + at;
    if (at >= l->leaves)
        return SIZE_MAX;
    while (l->latest[i] < point) {
        while (i & 1)
            i /= 2;
        if (!i)
            return SIZE_MAX;
        i++;
    }
    while (i < l->leaves)
        i = l->latest[2 * i] >= point ? 2 * i : 2 * i + 1;
    return i - l->leaves;
}

/* Where a binding begins: its first sequence, or itself. */
static uint32_t begin_of(const rlx_flow *w, uint32_t event)
{
    const rlx_event *e = event ? &w->events.data[event - 1] : NULL;
    if (!e || e->kind != RLX_EVENT_LEAVE || w->seqs.data[e->seq].owner != event)
        return event;
    uint32_t enter = w->seqs.data[e->seq].enter;
    if (w->seqs.data[e->seq].part == RLX_FLOW_ELSE)
        enter = w->seqs.data[w->events.data[enter - 1].seq].enter;
    return enter;
}

bool rlx_liveness_at(const rlx_liveness *l, const rlx_binding *b, bool after,
                     void (*each)(void *user, const rlx_var *v), void *user)
{
    uintptr_t found;
    if (!rlx_ptrmap_find(&l->bindings, b, &found))
        return false;
    uint32_t event = (uint32_t)found - 1, seq = l->flow.events.data[event].seq;
    question q = { .l = l, .limit = (uint32_t)l->flow.events.len };
    q.point = after ? event + 1 : begin_of(&l->flow, event);
    bool good = look_outward(&q, seq);
    size_t count = present(l, q.point);
    for (size_t i = 0; good && (i = next_candidate(l, i, q.point)) < count; i++) {
        const rlx_live_var *v = &l->vars.data[i];
        if (v->count && is_live(&q, v))
            each(user, v->var);
    }
    rlx_vec_free(&l->ctx->memory, &q.gaps);
    return good;
}
