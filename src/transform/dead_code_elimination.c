/*- dead_code_elimination: bindings and private functions that nothing uses are removed.
 *     lv = exp(x)              ->   gv = sin(x)
 *     gv = sin(x)
 * needs: normal form. keeps: the rest as it is. A use in struct info or of a shape variable
 * counts. What stays though unused (language 7.6): impure calls; outside dataflow blocks also
 * casts, and calls of Relax functions and closures, which may fail or never end. Public
 * functions are roots; a module without any keeps all its functions. */
#include "transform/seq_pass.h"
#include "transform/transform_int.h"

typedef struct eliminate {
    rlx_context *ctx;
    const rlx_module *module;
    rlx_env env;
    /* variables and shape variables that are used; interned nodes whose parts have been marked */
    rlx_ptrmap used;
    rlx_ptrmap given;                    /* shape variables that parameters bind */
    rlx_ptrmap dead;                     /* bindings to leave out */
    bool *reached;                       /* by function: something live mentions it */
    RLX_VEC(size_t) work;                /* reached functions still to be cleaned */
} eliminate;

/* ---- marking -------------------------------------------------------------------------------- */

static bool reach(eliminate *d, const rlx_global_var *gv)
{
    int64_t i = rlx_module_index(d->module, gv);
    if (i < 0 || d->reached[i])
        return true;
    d->reached[i] = true;
    return rlx_vec_push(&d->ctx->memory, &d->work, (size_t)i);
}

static enum rlx_step mark_node(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    eliminate *d = user;
    bool interned = n->flags & RLX_FLAG_INTERNED;
    if (n->kind == RLX_NODE_GLOBAL_VAR)
        return reach(d, (const rlx_global_var *)n) ? RLX_STEP_SKIP : RLX_STEP_STOP;
    if (n->kind == RLX_NODE_CONSTANT || rlx_node_is_closed(n))
        return RLX_STEP_SKIP;
    bool is_var = rlx_as_var(n) || n->kind == RLX_NODE_PRIM_VAR;
    if (!is_var && !interned)
        return RLX_STEP_ON;
    if (rlx_ptrmap_has(&d->used, n))
        return RLX_STEP_SKIP;
    if (!rlx_ptrmap_put(&d->used, n, 1)) {
        return RLX_STEP_STOP;
    }
    return is_var ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* Everything mentioned in n is used. */
static bool mark(eliminate *d, const rlx_node *n)
{
    rlx_walker w = { .enter = mark_node, .user = d };
    bool lost = false;
    if (!n)
        return true;
    /* The common operands without a walk. */
    if (rlx_as_var(n) || n->kind == RLX_NODE_CONSTANT || n->kind == RLX_NODE_OP ||
        n->kind == RLX_NODE_GLOBAL_VAR)
        return mark_node(d, n, NULL, NULL) != RLX_STEP_STOP;
    return rlx_walk(&d->ctx->memory, n, &w, &lost) != RLX_STEP_STOP && !lost;
}

/* A call's operands one by one: most are variables. Other values by a walk. */
static bool mark_value(eliminate *d, const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    if (!call)
        return mark(d, value);
    bool good = mark(d, call->op) && mark(d, call->attrs);
    for (size_t i = 0; good && i < call->num_args; i++)
        good = mark(d, call->args[i]);
    for (size_t i = 0; good && i < call->num_sinfo_args; i++)
        good = mark(d, call->sinfo_args[i]);
    return good;
}

static bool is_used(const eliminate *d, const void *n) { return rlx_ptrmap_has(&d->used, n); }

/* ---- what must stay ------------------------------------------------------------------------- */

/* Evaluating this value, with nobody looking at the result, can be noticed. */
static bool has_effect(eliminate *d, const rlx_event *e)
{
    const rlx_call *call = rlx_as_call(rlx_binding_value(e->binding));
    if (!call)
        return false;
    if (!rlx_call_is_pure(&d->env, d->ctx, call))
        return true;
    bool function = !rlx_callee_op(&call->node) || rlx_is_op(call->op, RLX_OP_ID_INVOKE_PURE_CLOSURE);
    return function && !e->dataflow;
}

typedef struct bound_use { const eliminate *d; bool used; } bound_use;

static void look_at_position(void *user, const rlx_prim *p, bool is_size)
{
    bound_use *u = user;
    const rlx_prim_var *v = rlx_position_var(p);
    u->used |= v && is_used(u->d, v) && !rlx_ptrmap_has(&u->d->given, v);
}

/* Is the binding's variable, or a shape variable it binds, used? */
static bool result_used(eliminate *d, const rlx_binding *b, bool *used)
{
    const rlx_var *v = rlx_binding_var(b);
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    bound_use u = { d, v && is_used(d, v) };
    bool good = !cast || u.used ||
                rlx_each_position(&d->ctx->memory, cast->sinfo, look_at_position, &u);
    *used = u.used;
    return good;
}

/* ---- one function --------------------------------------------------------------------------- */

/* For each sequence, how many effects the events before it hold: a branch without any may go. */
static bool count_effects(eliminate *d, const rlx_flow *w, uint32_t *effects)
{
    uint32_t n = 0;
    for (size_t i = 0; i < w->events.len; i++) {
        const rlx_event *e = &w->events.data[i];
        effects[i] = n;
        if (e->kind == RLX_EVENT_BIND)
            n += (e->binding->kind == RLX_NODE_MATCH_CAST && !e->dataflow) || has_effect(d, e);
    }
    effects[w->events.len] = n;
    return true;
}

static bool drop(eliminate *d, const rlx_binding *b) { return rlx_ptrmap_put(&d->dead, b, 1); }

static bool mark_binding(eliminate *d, const rlx_binding *b)
{
    const rlx_var *v = rlx_binding_var(b);
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    if ((v && v->sinfo && !mark(d, v->sinfo)) || (cast && !mark(d, cast->sinfo)))
        return false;
    const rlx_function *literal = rlx_as_function(value);
    for (size_t i = 0; literal && i < literal->num_params; i++)
        if (!mark(d, ((const rlx_var *)literal->params[i])->sinfo))
            return false;
    if (literal)
        return mark(d, literal->ret_sinfo);
    return rlx_as_if_expr(value) || mark_value(d, value);
}

/* The event where the sequences of a binding begin; itself if it has none. */
static uint32_t first_event_of(const rlx_flow *w, uint32_t at)
{
    const rlx_event *before = at ? &w->events.data[at - 1] : NULL;
    if (!before || before->kind != RLX_EVENT_LEAVE || w->seqs.data[before->seq].owner != at)
        return at;
    const rlx_flow_seq *last = &w->seqs.data[before->seq];
    if (last->part != RLX_FLOW_ELSE)
        return last->enter;
    return w->seqs.data[w->events.data[last->enter - 1].seq].enter;
}

/* Looks at one event backwards; *at is moved to the beginning of what it decided. */
static bool visit(eliminate *d, const rlx_flow *w, const uint32_t *effects, uint32_t *at)
{
    const rlx_event *e = &w->events.data[*at];
    const rlx_flow_seq *s = &w->seqs.data[e->seq];
    bool used;
    if (e->kind == RLX_EVENT_LEAVE)
        return mark(d, s->result);
    if (e->kind == RLX_EVENT_ENTER)
        return s->part != RLX_FLOW_THEN ||
               mark(d, ((const rlx_if_expr *)rlx_binding_value(e->binding))->cond);
    if (!result_used(d, e->binding, &used))
        return false;
    uint32_t first = first_event_of(w, *at);
    /* A local function's body has no effect before it is called. */
    bool literal = rlx_as_function(rlx_binding_value(e->binding)) != NULL;
    if (used || effects[*at + 1] > (literal ? effects[*at] : effects[first]))
        return mark_binding(d, e->binding);
    *at = first;
    return drop(d, e->binding);
}

typedef struct giving { eliminate *d; bool good; } giving;

static void give_position(void *user, const rlx_prim *p, bool is_size)
{
    giving *g = user;
    const rlx_prim_var *v = rlx_position_var(p);
    if (v && g->good)
        g->good = rlx_ptrmap_put(&g->d->given, v, 1);
}

/* Parameters bind their shape variables; what else their struct info mentions is used. */
static bool begin_params(eliminate *d, const rlx_function *f)
{
    giving g = { d, true };
    rlx_ptrmap_clear(&d->given);
    for (size_t i = 0; g.good && i < f->num_params; i++) {
        const rlx_sinfo *s = ((const rlx_var *)f->params[i])->sinfo;
        g.good = mark(d, s) && rlx_each_position(&d->ctx->memory, s, give_position, &g) && g.good;
    }
    return g.good;
}

static bool find_dead(eliminate *d, const rlx_function *f)
{
    rlx_flow w;
    bool good = rlx_flow_build(&w, d->ctx, f);
    size_t n = w.events.len;
    uint32_t *effects = good ? rlx_mem_alloc(&d->ctx->memory, (n + 1) * sizeof *effects) : NULL;
    rlx_ptrmap_clear(&d->used);
    rlx_ptrmap_clear(&d->dead);
    good = good && effects && count_effects(d, &w, effects) && mark(d, w.seqs.data[0].result) &&
           mark(d, f->ret_sinfo) && mark(d, f->attrs) && begin_params(d, f);
    for (uint32_t at = (uint32_t)n; good && at > 0;) {
        at--;
        good = visit(d, &w, effects, &at);
    }
    rlx_mem_free(&d->ctx->memory, effects, effects ? (n + 1) * sizeof *effects : 0);
    rlx_flow_free(&w, d->ctx);
    return good;
}

static bool keep_living(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const eliminate *d = p->user;
    return rlx_ptrmap_has(&d->dead, old) || rlx_seq_emit(p, now);
}

static const rlx_function *clean_function(eliminate *d, rlx_seq_pass *p, const rlx_function *f)
{
    if (!find_dead(d, f))
        return NULL;
    return d->dead.len ? rlx_seq_function(p, f) : f;
}

/* ---- modules -------------------------------------------------------------------------------- */

static bool is_public(const rlx_node *function)
{
    const rlx_function *f = rlx_as_function(function);
    const rlx_prim_func *prim = rlx_as_prim_func(function);
    return rlx_attrs_get(f      ? f->attrs
                         : prim ? prim->attrs
                                : NULL,
                         "global_symbol") != NULL ||
           rlx_is(function, RLX_NODE_EXTERN_FUNC);
}

static bool reach_roots(eliminate *d)
{
    bool any = false, good = true;
    for (size_t i = 0; i < d->module->num_functions; i++)
        any |= is_public(d->module->functions[i]);
    for (size_t i = 0; good && i < d->module->num_functions; i++)
        if (!any || is_public(d->module->functions[i]))
            good = reach(d, rlx_as_global_var(d->module->gvars[i]));
    return good;
}

static enum rlx_step reach_callee(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    if (n->kind != RLX_NODE_GLOBAL_VAR)
        return n->kind == RLX_NODE_CONSTANT ? RLX_STEP_SKIP : RLX_STEP_ON;
    return reach(user, (const rlx_global_var *)n) ? RLX_STEP_SKIP : RLX_STEP_STOP;
}

/* TIR functions may call each other. */
static bool reach_from_prim_func(eliminate *d, const rlx_node *f)
{
    rlx_walker w = { .enter = reach_callee, .user = d, .unique = true };
    bool lost = false;
    return rlx_walk(&d->ctx->memory, f, &w, &lost) != RLX_STEP_STOP && !lost;
}

static bool clean_reached(eliminate *d, rlx_seq_pass *p, const rlx_node **functions)
{
    while (d->work.len) {
        size_t i = rlx_vec_pop(&d->work);
        const rlx_function *f = rlx_as_function(d->module->functions[i]);
        if (f && f->body)
            functions[i] = (const rlx_node *)clean_function(d, p, f);
        else if (!reach_from_prim_func(d, functions[i]))
            return false;
        if (!functions[i])
            return false;
    }
    return true;
}

/* The module of what was reached; the same one if that is everything, unchanged. */
static const rlx_module *without_unreached(eliminate *d, const rlx_node **functions)
{
    const rlx_module *m = d->module;
    size_t kept = 0, n = m->num_functions;
    const rlx_expr **names = rlx_mem_alloc(&d->ctx->memory, (n + 1) * sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (d->reached[i]) {
            names[kept] = m->gvars[i];
            functions[kept++] = functions[i];
        }
    const rlx_module *out = kept == n ? rlx_module_with(d->ctx, m, functions)
                                      : rlx_module_new(d->ctx, names, functions, kept, m->attrs,
                                                       m->global_infos, m->place);
    rlx_mem_free(&d->ctx->memory, names, (n + 1) * sizeof *names);
    return out;
}

const rlx_module *rlx_pass_dead_code_elimination(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    rlx_memory *memory = &ctx->memory;
    size_t n = m->num_functions;
    eliminate d = { .ctx = ctx,
                    .module = m,
                    .env = rlx_module_env(m),
                    .reached = rlx_mem_alloc_zero(memory, n + 1) };
    const rlx_node **functions = rlx_mem_alloc(memory, (n + 1) * sizeof *functions);
    const rlx_module *out = NULL;
    rlx_seq_pass p;
    rlx_seq_init(&p, ctx, m, &d);
    rlx_ptrmap_init(&d.used, memory);
    rlx_ptrmap_init(&d.dead, memory);
    rlx_ptrmap_init(&d.given, memory);
    p.binding = keep_living;
    if (!functions || !d.reached) {
        goto done;
    }
    if (n)
        memcpy(functions, m->functions, n * sizeof *functions);
    if (reach_roots(&d) && clean_reached(&d, &p, functions))
        out = without_unreached(&d, functions);
done:
    rlx_seq_free(&p);
    rlx_ptrmap_free(&d.used);
    rlx_ptrmap_free(&d.dead);
    rlx_ptrmap_free(&d.given);
    rlx_vec_free(memory, &d.work);
    rlx_mem_free(memory, d.reached, d.reached ? n + 1 : 0);
    rlx_mem_free(memory, functions, functions ? (n + 1) * sizeof *functions : 0);
    return out;
}
