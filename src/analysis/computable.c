/* computable.c: what of a function is known before it is called (language: the attribute
 * num_input parts the parameters into inputs and weights). */
/* built for size */
#include "analysis/analysis.h"

enum { UNKNOWN = 0, KNOWN = 1, LOCAL = 2 }; /* LOCAL: of a function literal */

typedef struct finder {
    rlx_context *ctx;
    rlx_env env;
    const rlx_function *function;
    rlx_ptrmap state;            /* variable, shape variable -> one of the above */
    rlx_mentions mentions;
    bool all_known;              /* of what is being looked at */
    bool closed;                 /* was everything in the sequence that ended last? */
    size_t literals;             /* open around the event */
    RLX_VEC(uint8_t) open;       /* by open sequence: is everything in it known so far? */
    rlx_vars *out;
} finder;

static bool look(void *user, const rlx_node *var)
{
    finder *f = user;
    uintptr_t state = UNKNOWN;
    rlx_ptrmap_find(&f->state, var, &state);
    f->all_known &= state != UNKNOWN;
    return true;
}

static bool set(finder *f, const rlx_node *v, uintptr_t state)
{
    return rlx_ptrmap_put(&f->state, v, state);
}

typedef struct binding_sizes { finder *f; uintptr_t state; } binding_sizes;

/* A shape variable counts as what first binds it. */
static void set_size(void *user, const rlx_prim *p, bool is_size)
{
    binding_sizes *b = user;
    const rlx_prim_var *v = rlx_position_var(p);
    if (v && !rlx_ptrmap_has(&b->f->state, v))
        (void)set(b->f, &v->node, b->state);
}

static bool set_with_sizes(finder *f, const rlx_var *v, const rlx_sinfo *s, uintptr_t state)
{
    binding_sizes b = { f, state };
    return (!v || set(f, &v->node, state)) &&
           (!s || rlx_each_position(&f->ctx->memory, s, set_size, &b)) &&
           !f->ctx->diags.out_of_memory;
}

/* Inputs bind their sizes first: what is also a size of a weight is known all the same. */
static bool take_params(finder *f, int64_t num_input)
{
    bool good = true;
    for (size_t i = 0; good && i < f->function->num_params; i++) {
        const rlx_var *v = (const rlx_var *)f->function->params[i];
        if ((int64_t)i < num_input)
            continue;
        good = set_with_sizes(f, v, v->sinfo, KNOWN) && rlx_vec_push(&f->ctx->memory, f->out, v);
    }
    return good;
}

static bool take_literal_params(finder *f, const rlx_function *literal)
{
    bool good = true;
    for (size_t i = 0; good && i < literal->num_params; i++) {
        const rlx_var *v = (const rlx_var *)literal->params[i];
        good = set_with_sizes(f, v, v->sinfo, LOCAL);
    }
    return good;
}

/* A call that does something has to be made when the function is called. */
static bool is_pure(finder *f, const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    return !call || rlx_call_is_pure(&f->env, f->ctx, call);
}

static bool mentions_known(finder *f, const rlx_node *n)
{
    f->all_known = true;
    return rlx_each_mention(&f->mentions, n);
}

/* A value that is not known inside a sequence is not known of the binding that holds the
 * sequence. */
static void spoil(finder *f)
{
    if (f->open.len && !f->all_known)
        rlx_vec_last(&f->open) = false;
}

static bool close_sequence(finder *f, const rlx_flow_seq *s)
{
    if (!mentions_known(f, s->result))
        return false;
    spoil(f);
    f->closed = rlx_vec_pop(&f->open);
    f->literals -= s->part == RLX_FLOW_LITERAL;
    f->all_known = f->closed;
    spoil(f);
    return true;
}

/* The second branch goes on from what the first has found, so that its end speaks for both. */
static bool open_sequence(finder *f, const rlx_event *e, const rlx_flow_seq *s)
{
    const rlx_expr *value = rlx_binding_value(e->binding);
    bool good = true;
    f->all_known = s->part == RLX_FLOW_ELSE ? f->closed : true;
    if (s->part == RLX_FLOW_THEN)
        good = mentions_known(f, ((const rlx_if_expr *)value)->cond);
    spoil(f);
    f->literals += s->part == RLX_FLOW_LITERAL;
    good = good && rlx_vec_push(&f->ctx->memory, &f->open, (uint8_t)f->all_known);
    return good && (s->part != RLX_FLOW_LITERAL || take_literal_params(f, rlx_as_function(value)));
}

static bool bind(finder *f, const rlx_event *e)
{
    const rlx_expr *value = rlx_binding_value(e->binding);
    const rlx_var *v = rlx_binding_var(e->binding);
    const rlx_match_cast *cast = rlx_as_match_cast(e->binding);
    bool holds = rlx_as_if_expr(value) || rlx_as_function(value);
    if (!holds && !mentions_known(f, value))
        return false;
    f->all_known = holds ? f->closed : f->all_known && (f->literals || is_pure(f, value));
    spoil(f);
    uintptr_t state = f->literals ? LOCAL : f->all_known ? KNOWN : UNKNOWN;
    if (v && state == KNOWN && !rlx_vec_push(&f->ctx->memory, f->out, v))
        return false;
    return set_with_sizes(f, v, cast ? cast->sinfo : NULL, state);
}

static bool run(finder *f, const rlx_flow *w)
{
    bool good = true;
    for (size_t i = 0; good && i < w->events.len; i++) {
        const rlx_event *e = &w->events.data[i];
        const rlx_flow_seq *s = &w->seqs.data[e->seq];
        good = e->kind == RLX_EVENT_ENTER   ? open_sequence(f, e, s)
               : e->kind == RLX_EVENT_LEAVE ? close_sequence(f, s)
                                            : bind(f, e);
    }
    return good;
}

bool rlx_computable_before(rlx_context *ctx, const rlx_module *m, const rlx_function *function,
                           rlx_vars *out)
{
    const rlx_attr_int *num_input = rlx_as_attr_int(rlx_attrs_get(function->attrs, "num_input"));
    finder f = { .ctx = ctx, .env = rlx_module_env(m), .function = function, .out = out };
    rlx_flow w = { 0 };
    if (!num_input)
        return true;
    rlx_ptrmap_init(&f.state, &ctx->memory);
    rlx_mentions_init(&f.mentions, ctx, look, &f);
    f.mentions.sizes = true;
    bool good = take_params(&f, num_input->value) && rlx_flow_build(&w, ctx, function) &&
                run(&f, &w);
    rlx_flow_free(&w, ctx);
    rlx_mentions_free(&f.mentions);
    rlx_ptrmap_free(&f.state);
    rlx_vec_free(&ctx->memory, &f.open);
    return good;
}
