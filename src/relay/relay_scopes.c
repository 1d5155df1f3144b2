/* relay_scopes.c: the order of evaluation, the scope in which each expression is bound (relay 5.3), and which
 * functions have effects.
 *
 * An expression of the graph is evaluated once, in the innermost scope that holds all its uses. The
 * order is that of a walk that goes into scopes as well: so what is shared out of a branch comes
 * before the branch does.
 */
#include "relay/relay_translate.h"

enum { DONE = 2, UNDER_WAY = 3, ORDERED = 4 };

typedef struct frame { rlx_relay_expr *e; uint32_t step; } frame;
typedef struct walk {
    rlx_relay_translation *t;
    RLX_VEC(frame) frames;
    size_t first;                /* number of the first item of this function */
} walk;

/* ---- order ------------------------------------------------------------------------------------------ */

static bool number_of(rlx_relay_translation *t, rlx_relay_expr *e)
{
    e->mark = ORDERED;
    e->number = (uint32_t)t->items.len;
    return rlx_vec_push(&t->ctx->memory, &t->items, ((rlx_relay_item){ .e = e, .scope = UINT32_MAX }));
}

static bool enter(walk *w, rlx_relay_expr *e)
{
    if (e->mark == ORDERED && e->number < w->first)
        return rlx_error(w->t->ctx, RLX_RY23, e->place, "another function uses this expression too: a graph variable stands "
                         "for something in the function that defines it") != NULL;
    if (e->kind == RLX_RELAY_VAR && e->mark == ORDERED) {
        rlx_relay_expr *is = rlx_relay_item_of(w->t, e)->is;
        if (is && is->mark == UNDER_WAY && is->kind == RLX_RELAY_FUNC)
            is->number = 1; /* mentions itself; taken over when it is numbered */
        return true;
    }
    if (e->mark == ORDERED || e->mark == UNDER_WAY)
        return true;
    e->mark = UNDER_WAY;
    e->number = 0;
    return rlx_vec_push(&w->t->ctx->memory, &w->frames, ((frame){ e, 0 }));
}

/* What a let binds is known before its value is walked, since functions mention themselves. */
static bool begin_let(walk *w, rlx_relay_expr *e)
{
    rlx_relay_translation *t = w->t;
    rlx_relay_expr *var = e->let.var;
    if (var->mark != ORDERED && !number_of(t, var))
        return false;
    rlx_relay_item_of(t, var)->is = e->let.value;
    return true;
}

static bool is_effect(const rlx_relay_expr *e)
{
    return e->kind == RLX_RELAY_REF || e->kind == RLX_RELAY_REF_READ || e->kind == RLX_RELAY_REF_WRITE ||
           (e->kind == RLX_RELAY_CALL && e->call.callee->kind == RLX_RELAY_OP &&
            !e->call.callee->op->is_pure);
}

static bool leave(walk *w, rlx_relay_expr *e)
{
    bool recursive = e->kind == RLX_RELAY_FUNC && e->number == 1;
    if (!number_of(w->t, e))
        return false;
    rlx_relay_item *item = rlx_relay_item_of(w->t, e);
    item->is_recursive = recursive;
    item->is_impure = is_effect(e);
    return true;
}

static bool put_in_order(walk *w, rlx_relay_expr *root)
{
    if (!enter(w, root))
        return false;
    while (w->frames.len) {
        frame *f = &rlx_vec_last(&w->frames);
        rlx_relay_expr *e = f->e, *child;
        if (e->kind == RLX_RELAY_LET && f->step == 0 && !begin_let(w, e))
            return false;
        child = rlx_relay_child(e, f->step++);
        if (child ? !enter(w, child) : !leave(w, e))
            return false;
        if (!child)
            w->frames.len--;
    }
    return true;
}

/* ---- scopes ----------------------------------------------------------------------------------------- */

static uint32_t scope_new(rlx_relay_translation *t, uint32_t parent, rlx_relay_expr *root,
                          bool is_function, rlx_place place)
{
    uint32_t depth = t->scopes.data[parent].depth + 1;
    rlx_relay_zone s = { .parent = parent, .depth = depth, .root = root };
    s.function = is_function ? (uint32_t)t->scopes.len : t->scopes.data[parent].function;
    if (depth > RLX_RELAY_MAX_SCOPES) {
        rlx_error(t->ctx, RLX_RY24, place, "more than %d functions, branches and arms are nested",
                  RLX_RELAY_MAX_SCOPES);
        return 0;
    }
    return rlx_vec_push(&t->ctx->memory, &t->scopes, s) ? (uint32_t)t->scopes.len - 1 : 0;
}

static uint32_t common(const rlx_relay_translation *t, uint32_t a, uint32_t b)
{
    const rlx_relay_zone *s = t->scopes.data;
    while (a != b) {
        if (s[a].depth >= s[b].depth)
            a = s[a].parent;
        else
            b = s[b].parent;
    }
    return a;
}

static void use(rlx_relay_translation *t, const rlx_relay_expr *e, uint32_t scope)
{
    rlx_relay_item *item = rlx_relay_item_of(t, e);
    if (item->scope == UINT32_MAX) {
        item->scope = scope;
    } else if (item->scope != scope) {
        item->scope = common(t, item->scope, scope);
        item->is_spread = true;
    }
}

/* The scope of child i of item `at`, whose own scope is known; 0 after a report. */
static uint32_t scope_of_child(rlx_relay_translation *t, uint32_t at, size_t i,
                               rlx_relay_expr *child)
{
    rlx_relay_item *item = &t->items.data[at];
    const rlx_relay_expr *e = item->e;
    bool opens = e->kind == RLX_RELAY_FUNC ||
                 ((e->kind == RLX_RELAY_IF || e->kind == RLX_RELAY_MATCH) && i > 0);
    if (!opens)
        return item->scope;
    uint32_t scope = scope_new(t, item->scope, child, e->kind == RLX_RELAY_FUNC, child->place);
    if (e->kind == RLX_RELAY_IF && i == 2)
        item->body2 = scope;
    else if (e->kind != RLX_RELAY_MATCH || i == 1)
        item->body = scope;
    return scope;
}

/* Users come behind what they use: backwards, each one's scope is known when its operands' turn comes.
 * The scopes of the arms of a match are made one behind the other. */
static bool find_scopes(rlx_relay_translation *t, size_t first)
{
    for (size_t at = t->items.len; at-- > first;) {
        const rlx_relay_expr *e = t->items.data[at].e;
        rlx_relay_expr *child;
        if (t->items.data[at].scope == UINT32_MAX) /* a variable that nothing mentions */
            continue;
        for (size_t i = 0; (child = rlx_relay_child(e, i)) != NULL; i++) {
            uint32_t scope = scope_of_child(t, (uint32_t)at, i, child);
            if (!scope)
                return false;
            use(t, child, scope);
        }
    }
    return true;
}

static void list_items(rlx_relay_translation *t, size_t first)
{
    for (size_t at = first; at < t->items.len; at++) {
        if (t->items.data[at].scope == UINT32_MAX)
            continue;
        rlx_relay_zone *s = &t->scopes.data[t->items.data[at].scope];
        if (s->last)
            t->items.data[s->last].next = (uint32_t)at;
        else
            s->first = (uint32_t)at;
        s->last = (uint32_t)at;
    }
}

static void name_values(rlx_relay_translation *t, size_t first)
{
    for (size_t at = first; at < t->items.len; at++) {
        const rlx_relay_expr *e = t->items.data[at].e;
        if (e->kind != RLX_RELAY_LET || !e->let.var->var.name.len)
            continue;
        rlx_relay_item *value = rlx_relay_item_of(t, e->let.value);
        if (!value->name)
            value->name = rlx_string_identifier(t->ctx, e->let.var->var.name, "v");
    }
}

bool rlx_relay_find_scopes(rlx_relay_translation *t, rlx_relay_expr *root, uint32_t *scope)
{
    walk w = { .t = t };
    size_t first;
    if (!t->items.len &&
        !rlx_vec_push(&t->ctx->memory, &t->items, ((rlx_relay_item){ .scope = UINT32_MAX })))
        return false;
    if (!t->scopes.len && !rlx_vec_push(&t->ctx->memory, &t->scopes, ((rlx_relay_zone){ .depth = 0 })))
        return false;
    first = w.first = t->items.len;
    bool ok = put_in_order(&w, root);
    rlx_vec_free(&t->ctx->memory, &w.frames);
    if (!ok || !(*scope = scope_new(t, 0, root, true, root->place)))
        return false;
    rlx_relay_item_of(t, root)->scope = *scope;
    if (!find_scopes(t, first))
        return false;
    list_items(t, first);
    name_values(t, first);
    return true;
}

/* ---- variables -------------------------------------------------------------------------------------- */

static bool is_within(const rlx_relay_translation *t, uint32_t scope, uint32_t around)
{
    while (t->scopes.data[scope].depth > t->scopes.data[around].depth)
        scope = t->scopes.data[scope].parent;
    return scope == around;
}

/* A variable is used in the scope that binds it: an expression that is shared further out may take it along. */
static bool check_variable(rlx_relay_translation *t, const rlx_relay_expr *var, uint32_t scope)
{
    const rlx_relay_item *item = &t->items.data[var->number];
    if (!var->number || item->e != var || item->scope == UINT32_MAX || is_within(t, item->scope, scope))
        return true;
    return rlx_error(t->ctx, RLX_RY23, var->place, "%%%.*s is used where it is not bound: a graph variable that stands "
                     "outside of the function or arm mentions it", (int)var->var.name.len, var->var.name.data) != NULL;
}

static bool check_pattern(rlx_relay_translation *t, const rlx_relay_pattern *p, uint32_t scope)
{
    bool ok = !p->var || check_variable(t, p->var, scope);
    for (size_t i = 0; i < p->num_parts; i++)
        ok = check_pattern(t, p->parts[i], scope) && ok;
    return ok;
}

static bool check_binders(rlx_relay_translation *t)
{
    bool ok = true;
    for (size_t at = 1; at < t->items.len; at++) {
        const rlx_relay_item *item = &t->items.data[at];
        const rlx_relay_expr *e = item->e;
        for (size_t i = 0; item->body && e->kind == RLX_RELAY_FUNC && i < e->func->num_params; i++)
            ok = check_variable(t, e->func->params[i], item->body) && ok;
        for (size_t i = 0; item->body && e->kind == RLX_RELAY_MATCH && i < e->match.num_arms; i++)
            ok = check_pattern(t, e->match.arms[i].pattern, item->body + (uint32_t)i) && ok;
    }
    return ok;
}

void rlx_relay_drop_scopes(rlx_relay_translation *t)
{
    for (size_t i = 1; i < t->items.len; i++) { /* a later walk numbers them anew */
        t->items.data[i].e->mark = DONE;
        t->items.data[i].e->number = 0;
    }
    rlx_vec_free(&t->ctx->memory, &t->items);
    rlx_vec_free(&t->ctx->memory, &t->scopes);
}

bool rlx_relay_check_scopes(rlx_relay_module *m)
{
    rlx_relay_translation t = { .m = m, .ctx = m->ctx };
    uint32_t scope;
    bool ok = true;
    for (size_t i = 0; ok && i < m->globals.len; i++)
        ok = !m->globals.data[i]->func || rlx_relay_find_scopes(&t, m->globals.data[i]->func, &scope);
    ok = ok && (!m->expr || rlx_relay_find_scopes(&t, m->expr, &scope)) && check_binders(&t);
    rlx_relay_drop_scopes(&t);
    return ok;
}

rlx_relay_expr *rlx_relay_meant(rlx_relay_translation *t, rlx_relay_expr *e)
{
    while (e->kind == RLX_RELAY_VAR && rlx_relay_item_of(t, e)->is)
        e = rlx_relay_item_of(t, e)->is;
    return e;
}

/* ---- effects ---------------------------------------------------------------------------------------- */

static bool calls_effects(rlx_relay_translation *t, const rlx_relay_expr *e)
{
    if (e->kind != RLX_RELAY_CALL)
        return false;
    const rlx_relay_expr *callee = rlx_relay_meant(t, e->call.callee);
    switch (callee->kind) {
    case RLX_RELAY_OP: case RLX_RELAY_CTOR: return false;
    case RLX_RELAY_FUNC: return t->scopes.data[rlx_relay_item_of(t, callee)->body].is_impure;
    case RLX_RELAY_GLOBAL: return rlx_relay_is_impure(t, callee->global);
    default: return t->impure_values;
    }
}

bool rlx_relay_is_impure(rlx_relay_translation *t, const rlx_relay_global *g)
{
    return g->func && t->scopes.data[rlx_relay_item_of(t, g->func)->body].is_impure;
}

/* A function with effects that stands where it is not called. */
static bool is_impure_value(rlx_relay_translation *t, rlx_relay_expr *e)
{
    e = rlx_relay_meant(t, e);
    return (e->kind == RLX_RELAY_GLOBAL && rlx_relay_is_impure(t, e->global)) ||
           (e->kind == RLX_RELAY_FUNC && t->scopes.data[rlx_relay_item_of(t, e)->body].is_impure);
}

static bool spread_effects(rlx_relay_translation *t)
{
    bool changed = false;
    for (size_t at = 1; at < t->items.len; at++) {
        rlx_relay_item *item = &t->items.data[at];
        rlx_relay_expr *child;
        if (item->scope == UINT32_MAX)
            continue;
        if (!item->is_impure && calls_effects(t, item->e))
            item->is_impure = changed = true;
        rlx_relay_zone *f = &t->scopes.data[t->scopes.data[item->scope].function];
        if (item->is_impure && !f->is_impure)
            f->is_impure = changed = true;
        for (size_t i = 0; !t->impure_values && (child = rlx_relay_child(item->e, i)) != NULL; i++)
            if (!(item->e->kind == RLX_RELAY_CALL && i == item->e->call.num_args) &&
                is_impure_value(t, child))
                t->impure_values = changed = true;
    }
    return changed;
}

/* An effect that several branches share would happen another number of times (relay 6.6). */
bool rlx_relay_find_effects(rlx_relay_translation *t)
{
    bool ok = true, any = false;
    for (size_t at = 1; at < t->items.len; at++) {
        const rlx_relay_item *item = &t->items.data[at];
        any = any || item->is_impure;
        if (item->e->kind == RLX_RELAY_MATCH && item->e->match.partial)
            t->scopes.data[t->scopes.data[item->scope].function].may_fail = true;
    }
    while (any && spread_effects(t))
        ;
    for (size_t at = 1; at < t->items.len; at++) {
        const rlx_relay_item *item = &t->items.data[at];
        if (item->is_impure && item->is_spread && item->e->kind != RLX_RELAY_LET)
            ok = rlx_relay_refuse(t, item->e->place, "several branches or functions share this expression, "
                                  "which has effects: bind it by a let where it is to be evaluated") != NULL;
    }
    return ok;
}
