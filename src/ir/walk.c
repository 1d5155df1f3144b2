/* walk.c: visiting nodes in evaluation order, with a stack of its own. */
#include "ir/ir_int.h"

struct state {
    rlx_memory *m;
    const rlx_walker *w;
    RLX_VEC(rlx_cursor) frames;
    rlx_ptrmap seen;
    uintptr_t statement;    /* serial number of where `terse` remembers */
    bool out_of_memory;
};

/* Variables and buffers are opened where they are defined (or are the root); a use is only a
 * mention. */
static bool opens(const rlx_walker *w, const rlx_node *n, const rlx_field *via)
{
    bool here = !via || rlx_field_is_def(via);
    if (rlx_is_relax_var(n))
        return here && w->annotations;
    return n->kind != RLX_NODE_BUFFER || here;
}

static enum rlx_step fail(struct state *s)
{
    s->out_of_memory = true;
    return RLX_STEP_STOP;
}

/* Straight-line code is not remembered: a sequence is, so its bindings come once, and what is
 * nested in calls is. */
static bool stands_alone(const rlx_node *n, const rlx_node *parent)
{
    return n->kind == RLX_NODE_VAR_BINDING || n->kind == RLX_NODE_MATCH_CAST ||
           (n->kind == RLX_NODE_CALL && rlx_is(parent, RLX_NODE_VAR_BINDING));
}

static bool has_operands(const rlx_node *n)
{
    return n && rlx_family_of(n) == RLX_FAMILY_PRIM && rlx_child_count(n) && !rlx_as_prim_var(n);
}

/* Could n make a walk long that is short in memory? */
static bool multiplies(const rlx_node *n)
{
    size_t some = 0, count = n->flags & RLX_FLAG_INTERNED ? rlx_child_count(n) : 0;
    for (size_t i = 0; i < count && some < 2; i++)
        some += has_operands(rlx_child(n, i));
    return some == 2;
}

/* Scopes of variables end with these, so that what was in order before may not be after. */
static bool ends_statement(const rlx_node *n)
{
    bool part = rlx_family_of(n) == RLX_FAMILY_PRIM || n->kind == RLX_NODE_BUFFER_LOAD ||
                n->kind == RLX_NODE_BUFFER;
    return !part || n->kind == RLX_NODE_PRIM_LET;
}

/* terse: RLX_STEP_SKIP for what was seen in this statement. */
static enum rlx_step seen_here(struct state *s, const rlx_node *n)
{
    if (ends_statement(n))
        s->statement++;
    else if (!multiplies(n))
        return RLX_STEP_ON;
    else if (rlx_ptrmap_get(&s->seen, n) == (void *)s->statement)
        return RLX_STEP_SKIP;
    else if (!rlx_ptrmap_put(&s->seen, n, s->statement))
        return fail(s);
    return RLX_STEP_ON;
}

/* Enters n; STEP_ON: a frame was pushed; STEP_SKIP: nothing more to do here. */
static enum rlx_step visit(struct state *s, const rlx_node *n, const rlx_field *via,
                           const rlx_node *parent)
{
    enum rlx_step step = RLX_STEP_ON;
    if (s->w->code && (n->flags & RLX_FLAG_INTERNED || rlx_is_relax_var(n)))
        return RLX_STEP_SKIP;
    if (s->w->unique && !(s->w->code && stands_alone(n, parent))) {
        /* A variable may be met as a use first (a local function that calls itself): its
         * definition is another event. */
        uintptr_t before = 0,
                  mark =
                      rlx_field_is_def(via) && rlx_kinds[n->kind].mode == RLX_MODE_IDENT ? 2 : 1;
        if (rlx_ptrmap_find(&s->seen, n, &before) && before >= mark)
            return RLX_STEP_SKIP;
        if (!rlx_ptrmap_put(&s->seen, n, mark))
            return fail(s);
    }
    if (s->w->terse && (step = seen_here(s, n)) != RLX_STEP_ON)
        return step;
    if (s->w->enter)
        step = s->w->enter(s->w->user, n, via, parent);
    if (step != RLX_STEP_ON)
        return step;
    if (!opens(s->w, n, via))
        return s->w->leave ? s->w->leave(s->w->user, n) : RLX_STEP_SKIP;
    return rlx_vec_push(s->m, &s->frames, rlx_cursor_at(n)) ? RLX_STEP_ON : fail(s);
}

static enum rlx_step step_on(struct state *s)
{
    rlx_cursor *top = &rlx_vec_last(&s->frames);
    const rlx_node *n = top->node, *child;
    const rlx_field *via;
    if (rlx_cursor_next(top, &via, &child))
        return child && via->type != RLX_FIELD_NOTE ? visit(s, child, via, n) : RLX_STEP_ON;
    s->frames.len--;
    s->statement += ends_statement(n);
    return s->w->leave ? s->w->leave(s->w->user, n) : RLX_STEP_ON;
}

enum rlx_step rlx_walk(rlx_memory *m, const rlx_node *root, const rlx_walker *w,
                       bool *out_of_memory)
{
    struct state s = { .m = m, .w = w, .statement = 1 };
    rlx_ptrmap_init(&s.seen, m);
    enum rlx_step step = root ? visit(&s, root, NULL, NULL) : RLX_STEP_ON;
    while (step != RLX_STEP_STOP && s.frames.len)
        step = step_on(&s);
    rlx_ptrmap_free(&s.seen);
    rlx_vec_free(m, &s.frames);
    if (out_of_memory)
        *out_of_memory = s.out_of_memory;
    return step == RLX_STEP_STOP ? RLX_STEP_STOP : RLX_STEP_ON;
}
