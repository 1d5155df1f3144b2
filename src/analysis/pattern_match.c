/*- pattern_match.c: the matcher.
 *
 * The work left is a list of goals: a pattern must match an expression, a condition must hold.
 * Lists share their tails, so the state at a choice is three numbers. A choice remembers what
 * else could be tried; when a goal fails the newest choice goes on:
 *
 *     goals    [ relu ~ gv ] -> done
 *              [ add ~ lv1 ] -> [ conv ~ lv ] -> [ b ~ bias ] -> done     arguments as written
 *              [ conv ~ bias ] -> [ b ~ lv ] -> done                      exchanged: a choice left
 *     trail    numbers of patterns bound, in order, so that a choice can unbind what came after it
 *
 * Conditions that mention patterns not bound yet wait until nothing else is left; then, if need
 * be, what they mention is looked for.
 */
/* built for size */
#include "analysis/pattern_int.h"

#include <string.h>

#include "op/op.h"

enum goal_kind {
    GOAL_MATCH,   /* pattern matches expr */
    GOAL_CHECK,   /* expr matched a part of pattern; its condition */
    GOAL_PLACE,   /* part `at` of a graph */
    GOAL_FIELD,   /* the next part of an unordered tuple, whose fields `taken` have theirs */
    GOAL_CUT /* the inside of a `not` matched: forget choice `at` and what came after it, and fail
              */
};
typedef struct rlx_goal {
    uint8_t kind;
    uint32_t next;
    const rlx_pattern *pattern;
    const rlx_expr *expr;
    size_t at;
    uint64_t taken;
} goal;

enum choice_kind {
    CHOICE_PART, CHOICE_EXCHANGE, CHOICE_FIELD, CHOICE_USER, CHOICE_OPERAND, CHOICE_BLOCK,
    CHOICE_NOT
};
typedef struct rlx_choice {
    uint8_t kind;
    uint32_t rest, waiting;        /* goals after the choice; those that wait */
    size_t num_trail, num_goals;
    /* PART: the `or`. EXCHANGE: the call. FIELD: the tuple. Others: what a candidate must match */
    const rlx_pattern *pattern;
    const rlx_expr *expr;          /* PART, FIELD, OPERAND */
    const rlx_expr *const *args;   /* EXCHANGE */
    size_t at;                     /* the next alternative; BLOCK: an entry */
    uint32_t entry;                /* USER */
    size_t part;                   /* FIELD: whose field is looked for */
    uint64_t taken;                /* FIELD: by parts before it */
} choice;

/* ---- steps */

#define FREE_STEPS 64

bool rlx_match_spend(rlx_matcher *m, uint64_t steps)
{
    uint64_t free_steps = FREE_STEPS + 16 * (uint64_t)m->plan->nodes.len, before = m->spent;
    m->spent += steps;
    if (m->spent <= free_steps)
        return true;
    uint64_t paid = m->spent - (before > free_steps ? before : free_steps);
    if (paid > m->steps) {
        m->steps = 0;
        m->too_many = true;
        return false;
    }
    m->steps -= paid;
    return true;
}

static bool has_stopped(const rlx_matcher *m)
{
    return m->too_many || m->ctx->diags.out_of_memory;
}

/* ---- bindings of patterns */

static uint32_t number_of(const rlx_matcher *m, const rlx_pattern *p)
{
    uintptr_t at = 0;
    rlx_ptrmap_find(&m->plan->index, p, &at);
    return (uint32_t)at;
}

const rlx_expr *rlx_match_of(const rlx_matcher *m, const rlx_pattern *p)
{
    uintptr_t at;
    return rlx_ptrmap_find(&m->plan->index, p, &at) ? m->bound[at] : NULL;
}

static bool note(rlx_matcher *m, size_t number)
{
    return rlx_vec_push(&m->ctx->memory, &m->trail, (uint32_t)number);
}

bool rlx_match_set_size(rlx_matcher *m, uint32_t size, const rlx_prim *value)
{
    m->sizes[size] = value;
    return note(m, m->plan->nodes.len + size);
}

static void undo(rlx_matcher *m, size_t len)
{
    while (m->trail.len > len) {
        size_t number = rlx_vec_pop(&m->trail), patterns = m->plan->nodes.len;
        if (number < patterns)
            m->bound[number] = NULL;
        else
            m->sizes[number - patterns] = NULL;
    }
}

const rlx_expr *rlx_match_look(const rlx_matcher *m, const rlx_expr *e, uint32_t *entry)
{
    uint32_t at = m->block == RLX_NOWHERE ? RLX_NOWHERE : rlx_scene_entry_of(m->scene, e);
    if (entry)
        *entry = RLX_NOWHERE;
    while (at != RLX_NOWHERE) {
        const rlx_scene_entry *known = &m->scene->entries.data[at];
        if (known->block != m->block || !known->value)
            break;
        if (entry)
            *entry = at;
        e = known->value;
        at = rlx_scene_entry_of(m->scene, e);
    }
    return e;
}

/* The binding that a variable stands for here: that of what it copies. */
static uint32_t binding_of(const rlx_matcher *m, const rlx_expr *var)
{
    uint32_t at = rlx_scene_entry_of(m->scene, var);
    return at == RLX_NOWHERE ? at : m->scene->entries.data[at].stands_for;
}

/* Is it one expression in two places? */
static bool same(rlx_matcher *m, const rlx_expr *a, const rlx_expr *b)
{
    return a == b || rlx_check_equal(m, rlx_match_look(m, a, NULL), rlx_match_look(m, b, NULL));
}

/* ---- goals and choices */

#define NO_GOAL RLX_NOWHERE

static bool push_goal(rlx_matcher *m, goal g)
{
    if (m->goals.len >= NO_GOAL - 1)
        return rlx_mem_overflow(&m->ctx->memory);
    return rlx_vec_push(&m->ctx->memory, &m->goals, g);
}

static bool before_head(rlx_matcher *m, goal g)
{
    g.next = m->head;
    if (!push_goal(m, g))
        return false;
    m->head = (uint32_t)(m->goals.len - 1);
    return true;
}

static bool must_match(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *e)
{
    return before_head(m, (goal){ .kind = GOAL_MATCH, .pattern = p, .expr = e });
}

static bool wait(rlx_matcher *m, goal g)
{
    g.next = m->waiting;
    if (!push_goal(m, g))
        return false;
    m->waiting = (uint32_t)(m->goals.len - 1);
    return true;
}

static bool push_choice(rlx_matcher *m, choice c)
{
    c.rest = m->head;
    c.waiting = m->waiting;
    c.num_trail = m->trail.len;
    c.num_goals = m->goals.len;
    return rlx_vec_push(&m->ctx->memory, &m->choices, c);
}

static bool match_all(rlx_matcher *m, const rlx_pattern *const *parts, const rlx_expr *const *args,
                      size_t count)
{
    bool good = true;
    for (size_t i = count; good && i--;)
        good = must_match(m, parts[i], args[i]);
    return good;
}

static const rlx_pattern *const *args_of(const rlx_pattern *p, size_t *count)
{
    size_t callee = p->kind == RLX_PATTERN_CALL || p->kind == RLX_PATTERN_CALL_TIR;
    *count = p->num_parts - callee;
    return p->parts + callee;
}

static bool exchanged(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *const *args)
{
    size_t count;
    const rlx_pattern *const *parts = args_of(p, &count);
    return match_all(m, parts + 2, args + 2, count - 2) && must_match(m, parts[1], args[0]) &&
           must_match(m, parts[0], args[1]);
}

/* The next field that no part before has for the part of this choice. */
static bool next_field(rlx_matcher *m, choice *c)
{
    const rlx_tuple *t = rlx_as_tuple(c->expr);
    while (c->at < t->num_fields && c->taken >> c->at & 1)
        c->at++;
    if (c->at >= t->num_fields)
        return false;
    size_t at = c->at++, part = c->part;
    const rlx_pattern *p = c->pattern;
    goal rest = { .kind = GOAL_FIELD, .pattern = p, .expr = c->expr, .at = part + 1,
                  .taken = c->taken | (uint64_t)1 << at };
    return before_head(m, rest) && must_match(m, p->parts[part], t->fields[at]);
}

/* Operands of a value by number; tuples inside are gone into one level deep. */
static const rlx_expr *operand(const rlx_expr *value, size_t at)
{
    const rlx_call *c = rlx_as_call(value);
    const rlx_tuple *t = rlx_as_tuple(value);
    const rlx_tuple_get_item *g = rlx_as_tuple_get_item(value);
    if (t)
        return at < t->num_fields ? t->fields[at] : NULL;
    if (g)
        return at == 0 ? g->tuple : NULL;
    for (size_t i = 0; c && i < c->num_args; i++) {
        const rlx_tuple *in = rlx_as_tuple(c->args[i]);
        size_t count = in ? in->num_fields : 1;
        if (at < count)
            return in ? in->fields[at] : c->args[i];
        at -= count;
    }
    return NULL;
}

/* The next candidate of a search; NULL: there is none left. */
static const rlx_expr *candidate(rlx_matcher *m, choice *c)
{
    const rlx_scene *s = m->scene;
    if (c->kind == CHOICE_OPERAND)
        return operand(c->expr, c->at++);
    if (c->kind == CHOICE_BLOCK) {
        const rlx_expr *var = NULL;
        while (!var && c->at != RLX_NOWHERE) {
            const rlx_scene_entry *e = &s->entries.data[c->at];
            var = e->stands_for == c->at ? (const rlx_expr *)e->var : NULL;
            c->at = e->next;
        }
        return var;
    }
    const rlx_scene_entry *used = &s->entries.data[c->entry];
    while (c->at < used->num_users) {
        uint32_t user = s->users[used->first_user + c->at++];
        if (user != RLX_NOWHERE && s->entries.data[user].block == m->block &&
            s->entries.data[user].var)
            return &s->entries.data[user].var->node;
    }
    return NULL;
}

/* Takes the next alternative of the newest choice; false: it has none. */
static bool advance(rlx_matcher *m)
{
    choice *c = &rlx_vec_last(&m->choices);
    m->head = c->rest;
    m->waiting = c->waiting;
    if (c->kind == CHOICE_NOT)
        return m->choices.len--, true; /* the inside did not match: so it does */
    if (c->kind == CHOICE_EXCHANGE)
        return c->at++ == 0 && exchanged(m, c->pattern, c->args);
    if (c->kind == CHOICE_FIELD)
        return next_field(m, c);
    if (c->kind == CHOICE_PART)
        return c->at < c->pattern->num_parts && must_match(m, c->pattern->parts[c->at++], c->expr);
    const rlx_expr *e = candidate(m, c);
    return e && must_match(m, c->pattern, e);
}

static bool backtrack(rlx_matcher *m)
{
    while (m->choices.len && !has_stopped(m)) {
        choice *c = &rlx_vec_last(&m->choices);
        size_t before = m->choices.len;
        undo(m, c->num_trail);
        m->goals.len = c->num_goals;
        if (!rlx_match_spend(m, 1))
            return false;
        if (advance(m))
            return true;
        m->choices.len = before - 1;
    }
    return false;
}

/* ---- values */

/* The value to be looked into; NULL: it belongs to another match. */
static const rlx_expr *inside(const rlx_matcher *m, const rlx_expr *e)
{
    uint32_t entry;
    const rlx_expr *value = rlx_match_look(m, e, &entry);
    return entry != RLX_NOWHERE && entry < m->num_taken && m->taken[entry] ? NULL : value;
}

static bool arity_fits(const rlx_pattern *p, size_t wanted, size_t have)
{
    return wanted == have || (wanted < have && p->flags & RLX_PATTERN_OPEN);
}

static bool match_args(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *const *args,
                       size_t num_args)
{
    size_t count;
    const rlx_pattern *const *parts = args_of(p, &count);
    if (!arity_fits(p, count, num_args))
        return false;
    bool either = p->flags & RLX_PATTERN_COMMUTATIVE && count >= 2 && args[0] != args[1];
    return (!either ||
            push_choice(m, (choice){ .kind = CHOICE_EXCHANGE, .pattern = p, .args = args })) &&
           match_all(m, parts, args, count);
}

/* Fields for the parts from g.at on. */
static bool field_step(rlx_matcher *m, goal g)
{
    if (g.at == g.pattern->num_parts)
        return true;
    return push_choice(m, (choice){ .kind = CHOICE_FIELD, .pattern = g.pattern, .expr = g.expr,
                                    .part = g.at, .taken = g.taken }) &&
           advance(m);
}

/* A tuple's fields, in order or in any. */
static bool match_fields(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *value)
{
    const rlx_tuple *t = rlx_as_tuple(value);
    if (!t || !(p->flags & RLX_PATTERN_UNORDERED))
        return t && match_args(m, p, t->fields, t->num_fields);
    return t->num_fields <= RLX_PATTERN_FIELDS && arity_fits(p, p->num_parts, t->num_fields) &&
           field_step(m, (goal){ .pattern = p, .expr = value });
}

static bool match_tuple(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *e)
{
    const rlx_tuple *t = e ? rlx_as_tuple(inside(m, e)) : NULL;
    return t && match_args(m, p, t->fields, t->num_fields);
}

static bool match_packed(rlx_matcher *m, const rlx_pattern *p, const rlx_call *c)
{
    bool is_pure = rlx_is_op(c->op, RLX_OP_ID_CALL_PURE_PACKED),
         in_place = rlx_is_op(c->op, RLX_OP_ID_CALL_DPS_PACKED);
    const rlx_extern_func *f =
        rlx_as_extern_func((is_pure || in_place) && c->num_args ? c->args[0] : c->op);
    if (!f || !rlx_check_name(p->name, f->symbol, -1))
        return false;
    if (in_place)
        return c->num_args >= 2 && match_tuple(m, p, c->args[1]);
    return match_args(m, p, c->args + is_pure, c->num_args - is_pure);
}

static bool match_call(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *value)
{
    const rlx_call *c = rlx_as_call(value);
    const rlx_op *op = c ? rlx_as_op(c->op) : NULL;
    if (!c)
        return false;
    switch (p->kind) {
    case RLX_PATTERN_OP: return op && op->row == p->row && match_args(m, p, c->args, c->num_args);
    case RLX_PATTERN_PACKED: return match_packed(m, p, c);
    case RLX_PATTERN_CALL_TIR:
        return rlx_is_op(c->op, RLX_OP_ID_CALL_TIR) && c->num_args >= 2 &&
               match_tuple(m, p, c->args[1]) && must_match(m, p->parts[0], c->args[0]);
    default: return match_args(m, p, c->args, c->num_args) && must_match(m, p->parts[0], c->op);
    }
}

static bool match_leaf(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *e,
                       const rlx_expr *value)
{
    const rlx_var *v = rlx_as_var(e);
    const rlx_shape_expr *s = rlx_as_shape_expr(value);
    switch (p->kind) {
    case RLX_PATTERN_ANY: return true;
    case RLX_PATTERN_EXPR:
        return e == p->like || value == p->like || rlx_check_equal(m, value, p->like);
    case RLX_PATTERN_DATAFLOW_VAR:
    case RLX_PATTERN_VAR:
        return v && (p->kind == RLX_PATTERN_VAR || v->node.kind == RLX_NODE_DATAFLOW_VAR) &&
               rlx_check_name(p->name, v->name, v->number);
    case RLX_PATTERN_GLOBAL_VAR:
        return rlx_as_global_var(value) &&
               rlx_check_name(p->name, rlx_as_global_var(value)->name, -1);
    case RLX_PATTERN_EXTERN:
        return rlx_as_extern_func(value) &&
               rlx_check_name(p->name, rlx_as_extern_func(value)->symbol, -1);
    case RLX_PATTERN_FUNCTION: return rlx_check_function(m, p, value);
    case RLX_PATTERN_CONSTANT: return rlx_as_constant(value) != NULL;
    case RLX_PATTERN_SCALAR: return rlx_check_scalar(p, value);
    default: return s && rlx_check_sizes(m, p, s->values, s->num_values);
    }
}

/* Its own binding's value is looked into. */
static bool looks_inside(uint8_t kind)
{
    return kind == RLX_PATTERN_FUNCTION ||
           (kind >= RLX_PATTERN_CALL && kind <= RLX_PATTERN_ITEM) || kind == RLX_PATTERN_ATTRS;
}

static bool begin_not(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *e)
{
    size_t at = m->choices.len;
    if (!push_choice(m, (choice){ .kind = CHOICE_NOT }))
        return false;
    m->waiting = NO_GOAL;
    return before_head(m, (goal){ .kind = GOAL_CUT, .at = at }) && must_match(m, p->parts[0], e);
}

static bool begin_graph(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *e)
{
    bool good = true;
    for (size_t i = p->num_parts; good && --i;)
        good = before_head(m, (goal){ .kind = GOAL_PLACE, .pattern = p, .at = i });
    return good && must_match(m, p->parts[0], e);
}

static bool match_step(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *e)
{
    uint32_t number = number_of(m, p);
    if (m->bound[number])
        return same(m, m->bound[number], e);
    const rlx_expr *value = looks_inside(p->kind) ? inside(m, e) : rlx_match_look(m, e, NULL);
    if (!value || !note(m, number))
        return false;
    m->bound[number] = e;
    const rlx_tuple_get_item *item = rlx_as_tuple_get_item(value);
    switch (p->kind) {
    case RLX_PATTERN_CALL:
    case RLX_PATTERN_OP:
    case RLX_PATTERN_CALL_TIR:
    case RLX_PATTERN_PACKED: return match_call(m, p, value);
    case RLX_PATTERN_TUPLE: return match_fields(m, p, value);
    case RLX_PATTERN_ITEM:
        return item && (p->index < 0 || p->index == item->index) &&
               must_match(m, p->parts[0], item->tuple);
    case RLX_PATTERN_OR:
        return push_choice(m, (choice){ .kind = CHOICE_PART, .pattern = p, .expr = e, .at = 0 }) &&
               advance(m);
    case RLX_PATTERN_AND: {
        bool good = true;
        for (size_t i = p->num_parts; good && i--;)
            good = must_match(m, p->parts[i], e);
        return good;
    }
    case RLX_PATTERN_NOT: return begin_not(m, p, e);
    case RLX_PATTERN_GRAPH: return begin_graph(m, p, e);
    default: break;
    }
    if (p->kind < RLX_PATTERN_CALL)
        return match_leaf(m, p, e, value);
    return before_head(m, (goal){ .kind = GOAL_CHECK, .pattern = p, .expr = e }) &&
           must_match(m, p->parts[0], e);
}

/* ---- conditions between patterns */

/* Is `used` an argument of the value that `user` is bound to, and is it used by nothing else if
 * that is asked for? */
static bool check_use(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *used,
                      const rlx_expr *user)
{
    uint32_t from = binding_of(m, used), to = binding_of(m, user);
    if (from == RLX_NOWHERE || to == RLX_NOWHERE || m->scene->entries.data[to].block != m->block)
        return false;
    const rlx_scene_entry *e = &m->scene->entries.data[from];
    const rlx_call *c = rlx_as_call(m->scene->entries.data[to].value);
    bool there = p->index >= 0 && c && (uint64_t)p->index < c->num_args &&
                 binding_of(m, c->args[p->index]) == from;
    bool others = false;
    for (uint32_t i = 0; i < e->num_users; i++) {
        bool mine = m->scene->users[e->first_user + i] == to;
        there |= mine && p->index < 0;
        others |= !mine;
        if ((i & 63) == 63 && !rlx_match_spend(m, 1))
            return false;
    }
    return there && !(others && p->flags & RLX_PATTERN_ONLY);
}

static bool check_step(rlx_matcher *m, goal g, bool is_last)
{
    const rlx_pattern *p = g.pattern;
    if (p->kind != RLX_PATTERN_USE && p->kind != RLX_PATTERN_SAME_SHAPE)
        return rlx_check_condition(m, p, g.expr);
    const rlx_expr *first = rlx_match_of(m, p->parts[1]);
    if (p->kind == RLX_PATTERN_SAME_SHAPE)
        return first ? rlx_check_same_shape(m, g.expr, first) : !is_last && wait(m, g);
    const rlx_expr *second = rlx_match_of(m, p->parts[2]);
    if (first && second)
        return check_use(m, p, first, second);
    if (!is_last)
        return wait(m, g);
    if (m->block == RLX_NOWHERE)
        return false;
    choice c = { .kind = CHOICE_BLOCK,
                 .pattern = p->parts[1],
                 .at = m->scene->blocks.data[m->block].first };
    if (first) {
        c = (choice){ .kind = CHOICE_USER, .pattern = p->parts[2], .entry = binding_of(m, first) };
    } else if (second) {
        uint32_t user = binding_of(m, second);
        c = (choice){ .kind = CHOICE_OPERAND,
                      .pattern = p->parts[1],
                      .expr = user == RLX_NOWHERE ? NULL : m->scene->entries.data[user].value };
    }
    if (first && c.entry == RLX_NOWHERE)
        return false;
    return before_head(m, g) && push_choice(m, c) && advance(m);
}

/* Part `at` of a graph: a binding of its own. */
static bool place_step(rlx_matcher *m, goal g, bool is_last)
{
    const rlx_expr *e = rlx_match_of(m, g.pattern->parts[g.at]);
    if (!e && !is_last)
        return wait(m, g);
    if (m->block == RLX_NOWHERE)
        return false;
    if (!e) {
        choice c = { .kind = CHOICE_BLOCK,
                     .pattern = g.pattern->parts[g.at],
                     .at = m->scene->blocks.data[m->block].first };
        return before_head(m, g) && push_choice(m, c) && advance(m);
    }
    uint32_t mine = binding_of(m, e);
    if (mine == RLX_NOWHERE || m->scene->entries.data[mine].block != m->block)
        return false;
    for (size_t i = 0; i < g.pattern->num_parts; i++) {
        const rlx_expr *other = i == g.at ? NULL : rlx_match_of(m, g.pattern->parts[i]);
        if (other && g.pattern->parts[i] != g.pattern->parts[g.at] && binding_of(m, other) == mine)
            return false;
    }
    return true;
}

/* How far from being decided a waiting goal is: 0 decided, 1 a search among users or operands,
 * 2 among all bindings. */
static int distance(const rlx_matcher *m, const goal *g)
{
    if (g->kind == GOAL_PLACE)
        return rlx_match_of(m, g->pattern->parts[g->at]) ? 0 : 2;
    bool first = rlx_match_of(m, g->pattern->parts[1]) != NULL;
    if (g->pattern->kind == RLX_PATTERN_SAME_SHAPE)
        return first ? 0 : 3;
    return 2 - first - (rlx_match_of(m, g->pattern->parts[2]) != NULL);
}

/* Of what waits, the goal that is nearest to be decided comes first, of several the oldest; the
 * others go on waiting in their order. */
static bool wake(rlx_matcher *m)
{
    uint32_t best = m->waiting, count = 0, old = m->waiting;
    for (uint32_t i = old; i != NO_GOAL; i = m->goals.data[i].next, count++)
        if (distance(m, &m->goals.data[i]) <= distance(m, &m->goals.data[best]))
            best = i;
    if (!rlx_match_spend(m, count))
        return false;
    goal chosen = m->goals.data[best];
    m->waiting = count > 1 ? (uint32_t)m->goals.len : NO_GOAL;
    for (uint32_t i = old, left = count - 1; left; i = m->goals.data[i].next) {
        if (i == best)
            continue;
        goal g = m->goals.data[i];
        g.next = --left ? (uint32_t)m->goals.len + 1 : NO_GOAL;
        if (!push_goal(m, g))
            return false;
    }
    return chosen.kind == GOAL_PLACE ? place_step(m, chosen, true) : check_step(m, chosen, true);
}

/* ---- the loop */

static bool step(rlx_matcher *m, bool *done)
{
    *done = false;
    if (!rlx_match_spend(m, 1))
        return false;
    if (m->head == NO_GOAL) {
        *done = m->waiting == NO_GOAL;
        return *done || wake(m);
    }
    goal g = m->goals.data[m->head];
    if (g.kind == GOAL_CUT) {
        if (m->waiting != NO_GOAL)
            return wake(m);
        m->choices.len = g.at;
        return false;
    }
    m->head = g.next;
    switch (g.kind) {
    case GOAL_MATCH: return match_step(m, g.pattern, g.expr);
    case GOAL_CHECK: return check_step(m, g, false);
    case GOAL_FIELD: return field_step(m, g);
    default: return place_step(m, g, false);
    }
}

static enum rlx_match_result run(rlx_matcher *m, const rlx_expr *e)
{
    bool done = false;
    undo(m, 0);
    m->choices.len = m->goals.len = 0;
    m->head = m->waiting = NO_GOAL;
    m->spent = 0;
    bool good = must_match(m, m->plan->root, e);
    while (good && !done && !has_stopped(m))
        good = step(m, &done) || (!has_stopped(m) && backtrack(m));
    if (m->too_many)
        rlx_error(m->ctx, RLX_OP18, rlx_place_of(e), "too many ways to match the pattern at %s",
                  rlx_show(m->ctx, e));
    if (has_stopped(m))
        return RLX_PATTERN_MATCH_FAILED;
    return good && done ? RLX_PATTERN_MATCH_YES : RLX_PATTERN_MATCH_NO;
}

enum rlx_match_result rlx_match_entry(rlx_matcher *m, uint32_t entry)
{
    const rlx_scene_entry *e = &m->scene->entries.data[entry];
    if (!e->value || rlx_as_var(e->value) || m->taken[entry])
        return RLX_PATTERN_MATCH_NO;
    m->block = e->block;
    return run(m, &e->var->node);
}

enum rlx_match_result rlx_match_expr(rlx_matcher *m, const rlx_expr *e)
{
    uint32_t at = rlx_scene_entry_of(m->scene, e);
    for (size_t i = 0; m->scene && at == RLX_NOWHERE && i < m->scene->entries.len; i++)
        if (m->scene->entries.data[i].value == e)
            at = (uint32_t)i;
    m->block = at == RLX_NOWHERE ? RLX_NOWHERE : m->scene->entries.data[at].block;
    return run(m, e);
}

bool rlx_matcher_init(rlx_matcher *m, const rlx_pattern_plan *plan, rlx_scene *scene,
                      uint64_t steps)
{
    rlx_memory *memory = &plan->ctx->memory;
    *m = (rlx_matcher){
        .ctx = plan->ctx, .plan = plan, .scene = scene, .steps = steps, .block = RLX_NOWHERE
    };
    m->num_taken = scene ? scene->entries.len : 0;
    m->bound = rlx_mem_alloc_zero(memory, plan->nodes.len * sizeof *m->bound);
    m->sizes = rlx_mem_alloc_zero(memory, (plan->sizes.len + 1) * sizeof *m->sizes);
    m->taken = rlx_mem_alloc_zero(memory, m->num_taken + 1);
    return m->bound && m->sizes && m->taken;
}

void rlx_matcher_free(rlx_matcher *m)
{
    if (!m->ctx)
        return;
    rlx_memory *memory = &m->ctx->memory;
    rlx_mem_free(memory, m->bound, m->bound ? m->plan->nodes.len * sizeof *m->bound : 0);
    rlx_mem_free(memory, m->sizes, m->sizes ? (m->plan->sizes.len + 1) * sizeof *m->sizes : 0);
    rlx_mem_free(memory, m->taken, m->taken ? m->num_taken + 1 : 0);
    rlx_vec_free(memory, &m->trail);
    rlx_vec_free(memory, &m->goals);
    rlx_vec_free(memory, &m->choices);
    m->ctx = NULL;
}

/* ---- the bindings of a match */

void rlx_match_bindings(const rlx_matcher *m, void (*each)(void *user, uint32_t entry, bool into),
                        void *user)
{
    for (size_t i = 0; i < m->plan->nodes.len; i++) {
        const rlx_pattern *p = m->plan->nodes.data[i];
        uint32_t at = m->bound[i] && m->block != RLX_NOWHERE
                          ? rlx_scene_entry_of(m->scene, m->bound[i])
                          : RLX_NOWHERE;
        bool is_leaf = p->kind == RLX_PATTERN_ANY || p->kind == RLX_PATTERN_VAR ||
                       p->kind == RLX_PATTERN_DATAFLOW_VAR;
        while (at != RLX_NOWHERE && !is_leaf) {
            const rlx_scene_entry *e = &m->scene->entries.data[at];
            if (e->block != m->block || !e->value)
                break;
            uint32_t next = rlx_scene_entry_of(m->scene, e->value);
            bool ends = next == RLX_NOWHERE || m->scene->entries.data[next].block != m->block;
            if (!ends || looks_inside(p->kind) || p->kind < RLX_PATTERN_CALL)
                each(user, at, ends && looks_inside(p->kind));
            at = next;
        }
    }
}

static void take(void *user, uint32_t entry, bool into)
{
    rlx_matcher *m = user;
    m->taken[entry] |= into;
}

void rlx_match_take(rlx_matcher *m)
{
    uint32_t root = binding_of(m, rlx_match_of(m, m->plan->root));
    rlx_match_bindings(m, take, m);
    if (root != RLX_NOWHERE)
        m->taken[root] = 1;
}
