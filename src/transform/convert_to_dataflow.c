/*- convert_to_dataflow: pure bindings that follow each other become a dataflow block.
 *     a = exp(x)                ->   with R.dataflow():
 *     b = sin(a)                         a = exp(x)
 *     _ = R.print(b)                     b = sin(a)
 *     c = cos(b)                         R.output(b)
 *                                    _ = R.print(b)
 *                                    c = cos(b)
 * At least min_size of them (c is alone), or next to a dataflow block, which they join. needs: normal
 * form. keeps: order, struct info. Bounds: impure calls, if, and calls that lead back to the function
 * around them (WF07). What a block does not have to give out becomes a variable of it. From then
 * on casts and calls of functions that nobody uses may be dropped. Linear: once forth for the runs of
 * bindings, once back for what leaves them. */
#include "transform/transform_int.h"

/* Bindings of one sequence without a bound between them. */
typedef struct streak {
    int64_t count;
    bool has_ordinary, has_dataflow;
} streak;

typedef struct convert {
    rlx_context *ctx;
    const rlx_module *module;
    rlx_env env;
    rlx_seq_pass *pass;
    int64_t min_size;
    bool narrow;                  /* blocks stay as they are, but for what they give out */
    uint32_t *groups;             /* by function of the module: as rlx_call_groups has them */
    bool *recursive;
    uint32_t function;            /* under way */
    RLX_VEC(streak) runs;            /* the first one is none */
    RLX_VEC(uint32_t) run_of;     /* by event */
    RLX_VEC(uint32_t) last;       /* by sequence: the run under way */
    rlx_ptrmap literals;          /* variables of the local functions around */
    rlx_ptrmap bound_in;          /* variable of a run -> the run */
    rlx_ptrmap leaving;           /* variables of a run that are used behind it */
    rlx_ptrmap moved;             /* bindings that go to a dataflow block */
    rlx_mentions mentions;
    uint32_t here;                /* run of what is looked at */
    bool changed;                 /* the function under way will be another one */
} convert;

/* ---- runs ----------------------------------------------------------------------------------- */

/* Does the call lead back to a function around it? */
static bool leads_back(const convert *c, const rlx_call *call)
{
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    int64_t at = gv ? rlx_module_index(c->module, gv) : -1;
    return at >= 0 ? c->recursive[at] && c->groups[at] == c->groups[c->function]
                   : rlx_as_var(call->op) && rlx_ptrmap_has(&c->literals, call->op);
}

static bool is_bound(const convert *c, const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    return rlx_as_if_expr(value) ||
           (call && (!rlx_call_is_pure(&c->env, c->ctx, call) || leads_back(c, call)));
}

static bool put_in_run(convert *c, const rlx_event *e, uint32_t *number)
{
    uint32_t *last = &c->last.data[e->seq];
    const rlx_var *v = rlx_binding_var(e->binding);
    *number = 0;
    if (!e->dataflow && (c->narrow || is_bound(c, rlx_binding_value(e->binding))))
        return *last = 0, true;
    if (!*last) {
        *last = (uint32_t)c->runs.len;
        if (!rlx_vec_push(&c->ctx->memory, &c->runs, (streak){ 0 }))
            return false;
    }
    streak *r = &c->runs.data[*number = *last];
    r->count++;
    *(e->dataflow ? &r->has_dataflow : &r->has_ordinary) = true;
    return !v || rlx_ptrmap_put(&c->bound_in, v, *number);
}

/* A local function begins or ends. */
static bool cross_literal(convert *c, const rlx_event *e, uint8_t part)
{
    const rlx_var *name = rlx_binding_var(e->binding);
    if (part != RLX_FLOW_LITERAL || !name)
        return true;
    if (e->kind == RLX_EVENT_ENTER)
        return rlx_ptrmap_put(&c->literals, name, 1);
    rlx_ptrmap_remove(&c->literals, name);
    return true;
}

static bool find_runs(convert *c, const rlx_flow *w)
{
    rlx_memory *m = &c->ctx->memory;
    bool good = true;
    c->runs.len = c->run_of.len = c->last.len = 0;
    good = rlx_vec_push(m, &c->runs, (streak){ 0 });
    for (size_t i = 0; good && i < w->seqs.len; i++)
        good = rlx_vec_push(m, &c->last, 0);
    for (size_t i = 0; good && i < w->events.len; i++) {
        const rlx_event *e = &w->events.data[i];
        uint32_t number = 0;
        good = e->kind == RLX_EVENT_BIND ? put_in_run(c, e, &number)
                                         : cross_literal(c, e, w->seqs.data[e->seq].part);
        good = good && rlx_vec_push(m, &c->run_of, number);
    }
    return good;
}

static bool becomes_dataflow(const convert *c, uint32_t number)
{
    const streak *r = &c->runs.data[number];
    return c->narrow ? number != 0 : number && r->has_ordinary && (r->has_dataflow || r->count >= c->min_size);
}

/* ---- what leaves a run ---------------------------------------------------------------------- */

static bool note_use(void *user, const rlx_node *var)
{
    convert *c = user;
    uintptr_t bound_in;
    return !rlx_ptrmap_find(&c->bound_in, var, &bound_in) || bound_in == c->here ||
           rlx_ptrmap_put(&c->leaving, var, 1);
}

static bool note_uses(convert *c, uint32_t here, const rlx_node *n)
{
    c->here = here;
    return rlx_each_mention(&c->mentions, n);
}

static bool note_head(convert *c, uint32_t here, const rlx_function *f)
{
    bool good = note_uses(c, here, f->ret_sinfo) && note_uses(c, here, f->attrs);
    for (size_t i = 0; good && i < f->num_params; i++)
        good = note_uses(c, here, ((const rlx_var *)f->params[i])->sinfo);
    return good;
}

/* What is told of a variable that leaves a run leaves it too. */
static bool note_binding(convert *c, uint32_t here, const rlx_binding *b)
{
    const rlx_var *v = rlx_binding_var(b);
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_if_expr *choice = rlx_as_if_expr(value);
    uint32_t there = v && rlx_ptrmap_has(&c->leaving, v) ? 0 : here;
    if ((v && !note_uses(c, there, v->sinfo)) || (cast && !note_uses(c, there, cast->sinfo)))
        return false;
    return rlx_as_function(value) ? note_head(c, 0, rlx_as_function(value))
                                  : note_uses(c, here, choice ? choice->cond : value);
}

static bool find_leaving(convert *c, const rlx_flow *w, const rlx_function *f)
{
    bool good = note_uses(c, 0, w->seqs.data[0].result) && note_head(c, 0, f);
    for (size_t i = w->events.len; good && i-- > 0;) {
        const rlx_event *e = &w->events.data[i];
        if (e->kind == RLX_EVENT_BIND)
            good = note_binding(c, c->run_of.data[i], e->binding);
        else if (e->kind == RLX_EVENT_LEAVE)
            good = note_uses(c, 0, w->seqs.data[e->seq].result);
    }
    return good;
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool move_binding(convert *c, const rlx_event *e)
{
    const rlx_var *v = rlx_binding_var(e->binding);
    if (!e->dataflow) {
        c->changed = true;
        if (!rlx_ptrmap_put(&c->moved, e->binding, 1))
            return false;
    }
    if (!v || v->node.kind == RLX_NODE_DATAFLOW_VAR || rlx_ptrmap_has(&c->leaving, v))
        return true;
    const rlx_var *now = rlx_var_like(c->ctx, v, true, v->sinfo);
    c->changed = true;
    return now && rlx_seq_replace(c->pass, &v->node, &now->node);
}

/* f with more of it in dataflow blocks; f itself if there is nothing to move. */
static const rlx_function *convert_function(convert *c, const rlx_function *f)
{
    rlx_flow w;
    c->changed = false;
    bool any = false, good = rlx_flow_build(&w, c->ctx, f) && find_runs(c, &w);
    for (uint32_t i = 0; good && i < c->runs.len; i++)
        any |= becomes_dataflow(c, i);
    good = good && (!any || find_leaving(c, &w, f));
    for (size_t i = 0; good && any && i < w.events.len; i++)
        if (becomes_dataflow(c, c->run_of.data[i]))
            good = move_binding(c, &w.events.data[i]);
    rlx_flow_free(&w, c->ctx);
    return !good ? NULL : c->changed ? rlx_seq_function(c->pass, f) : f;
}

static bool is_moved(rlx_seq_pass *p, const rlx_binding *old)
{
    const convert *c = p->user;
    return rlx_ptrmap_has(&c->moved, old);
}

static const rlx_module *convert_functions(convert *c, const rlx_node **functions)
{
    const rlx_module *m = c->module;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        c->function = (uint32_t)i;
        functions[i] = f && f->body ? (const rlx_node *)convert_function(c, f) : m->functions[i];
        if (!functions[i])
            return NULL;
    }
    return rlx_module_with(c->ctx, m, functions);
}

static const rlx_module *convert_module(convert *c)
{
    rlx_memory *memory = &c->ctx->memory;
    size_t n = c->module->num_functions;
    rlx_seq_pass p;
    rlx_ptrmap *maps[] = { &c->literals, &c->bound_in, &c->leaving, &c->moved };
    const rlx_node **functions = rlx_mem_alloc(memory, (n + 1) * sizeof *functions);
    c->env = rlx_module_env(c->module);
    c->pass = &p;
    c->groups = rlx_mem_alloc(memory, (n + 1) * sizeof *c->groups);
    c->recursive = rlx_mem_alloc_zero(memory, n + 1);
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], memory);
    rlx_mentions_init(&c->mentions, c->ctx, note_use, c);
    rlx_seq_init(&p, c->ctx, c->module, c);
    p.moves_to_dataflow = c->narrow ? NULL : is_moved;
    p.keep_names = true;
    bool good = c->groups && c->recursive && functions &&
                (c->narrow || rlx_call_groups(c->ctx, c->module, c->groups, c->recursive));
    const rlx_module *out = good ? convert_functions(c, functions) : NULL;
    rlx_seq_free(&p);
    rlx_mentions_free(&c->mentions);
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_free(maps[i]);
    rlx_vec_free(memory, &c->runs);
    rlx_vec_free(memory, &c->run_of);
    rlx_vec_free(memory, &c->last);
    rlx_mem_free(memory, functions, functions ? (n + 1) * sizeof *functions : 0);
    rlx_mem_free(memory, c->recursive, c->recursive ? n + 1 : 0);
    rlx_mem_free(memory, c->groups, c->groups ? (n + 1) * sizeof *c->groups : 0);
    return out;
}

const rlx_module *rlx_pass_convert_to_dataflow(rlx_pass_run *run, const rlx_module *m)
{
    convert c = { .ctx = run->ctx, .module = m, .min_size = rlx_pass_int(run, "min_size", 2) };
    return convert_module(&c);
}

const rlx_module *rlx_narrow_outputs(rlx_context *ctx, const rlx_module *m)
{
    convert c = { .ctx = ctx, .module = m, .narrow = true };
    return convert_module(&c);
}
