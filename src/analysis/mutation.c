/*- mutation.c: what an in-place call overwrites is not used later and not visible outside
 * (language 7.7.2, PU06).
 *
 *     y = R.add(x, x)
 *     r = R.call_tir_inplace(cls.f, (y,), [0], ...)      r is the new value of the memory of y
 *     z = R.exp(y)                                       warning: y is mutated and used again
 *
 * One walk in order of evaluation. A value is looked up at its origins: variables that name new
 * memory. Copies, casts, tuples and their fields, branches and aliasing operators lead back to
 * what they are made of; a call of a function is taken to return something new. What a function
 * that is not pure does to its parameters outside of dataflow blocks is an effect that it has
 * declared. */
/* built for size */
#include "analysis/analysis.h"

#define MAX_ORIGINS 256 /* of one value; what has more is not followed further */

/* A mutation under way: its origin is overwritten from `call` on. before: number + 1 of the one
 * before it that overwrites the same and was not reported either, 0: none. */
typedef struct mutation {
    const rlx_call *call;
    const rlx_expr *arg;
    size_t before;
} mutation;
/* In the branch taken second the mutations from `first` to `end` have not happened; in the one
 * taken first they are equal. What the ifs around leave out comes before. */
typedef struct branch { const rlx_if_expr *node; size_t first, end; } branch;

typedef struct search {
    rlx_context *ctx;
    const rlx_op_row *rows[2];
    rlx_ptrmap values;                  /* variable -> its value; parameters are their own. Of
                                         * another name for a variable: the first one's */
    rlx_ptrmap depth;                   /* variable -> functions around its binding */
    rlx_ptrmap captured;                /* origins that a local function holds */
    rlx_ptrmap newest;                  /* origin -> number + 1 of its last mutation */
    RLX_VEC(mutation) mutations;
    RLX_VEC(branch) branches;
    RLX_VEC(const rlx_expr *) pending;
    RLX_VEC(const rlx_node *) scopes;   /* functions and dataflow blocks around */
    const rlx_expr *origins[MAX_ORIGINS];
    size_t num_origins;
    uintptr_t functions;                /* around what is walked now */
} search;

static bool put_in_map(search *s, rlx_ptrmap *map, const void *key, uintptr_t value)
{
    return rlx_ptrmap_put(map, key, value);
}

/* ---- origins -------------------------------------------------------------------------------- */

static void later(search *s, const rlx_expr *e)
{
    if (e && s->pending.len < MAX_ORIGINS)
        (void)rlx_vec_push(&s->ctx->memory, &s->pending, e);
}

static void add_origin(search *s, const rlx_expr *e)
{
    for (size_t i = 0; i < s->num_origins; i++)
        if (s->origins[i] == e)
            return;
    if (s->num_origins < MAX_ORIGINS)
        s->origins[s->num_origins++] = e;
}

static const rlx_expr *result_of(const rlx_expr *branch_body)
{
    const rlx_seq_expr *seq = rlx_as_seq_expr(branch_body);
    return seq ? seq->body : branch_body;
}

static const rlx_expr *value_of(const search *s, const rlx_expr *e)
{
    const rlx_expr *v = rlx_as_var(e) ? rlx_ptrmap_get(&s->values, e) : NULL;
    return v ? v : e;
}

/* The first of the variables that name the same value. */
static const rlx_expr *first_name(const search *s, const rlx_expr *e)
{
    const rlx_expr *v = value_of(s, e);
    return rlx_as_var(v) ? v : e;
}

/* The field of a tuple that is written out, else NULL. */
static const rlx_expr *known_field(const search *s, const rlx_tuple_get_item *get)
{
    const rlx_tuple *t = rlx_as_tuple(value_of(s, first_name(s, get->tuple)));
    return t && (size_t)get->index < t->num_fields ? t->fields[get->index] : NULL;
}

/* The value to keep for a variable, so that no chain of names and fields is followed again for
 * each use. */
static const rlx_expr *kept_value(const search *s, const rlx_expr *value)
{
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(value);
    const rlx_expr *field = get ? known_field(s, get) : NULL;
    return first_name(s, rlx_as_var(field) ? field : value);
}

static bool overwrites(const search *s, const rlx_call *call)
{
    const rlx_op *op = rlx_as_op(call->op);
    return op && op->row && (op->row == s->rows[0] || op->row == s->rows[1]);
}

/* The parts that may share memory with a value that is no variable. False: it is new memory. */
static bool open_value(search *s, const rlx_expr *v)
{
    const rlx_tuple *t = rlx_as_tuple(v);
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(v);
    const rlx_if_expr *choice = rlx_as_if_expr(v);
    const rlx_call *call = rlx_as_call(v);
    const rlx_op *op = call ? rlx_as_op(call->op) : NULL;
    if (get) {
        const rlx_expr *field = known_field(s, get);
        later(s, field ? field : get->tuple);
    } else if (choice) {
        later(s, result_of(choice->true_branch));
        later(s, result_of(choice->false_branch));
    } else if (rlx_as_var(v)) {
        later(s, v);
    } else if (!t &&
               (!op || !op->row || !(op->row->flags & RLX_OP_ALIAS) || overwrites(s, call))) {
        return false;
    }
    for (size_t i = 0; t && i < t->num_fields; i++)
        later(s, t->fields[i]);
    for (size_t i = 0; call && i < call->num_args; i++)
        later(s, call->args[i]);
    return true;
}

static void find_origins(search *s, const rlx_expr *e)
{
    size_t steps = 0;
    s->num_origins = 0;
    s->pending.len = 0;
    later(s, e);
    while (s->pending.len && steps++ < 4 * MAX_ORIGINS) {
        const rlx_expr *at = rlx_vec_pop(&s->pending), *v = value_of(s, at);
        if (v == at && (rlx_as_var(at) || at->kind == RLX_NODE_CONSTANT))
            add_origin(s, at);                      /* a parameter, a constant */
        else if (v->kind == RLX_NODE_CONSTANT)
            add_origin(s, v);
        else if (!open_value(s, v) && rlx_as_var(at))
            add_origin(s, at);
    }
}

/* ---- in-place calls ------------------------------------------------------------------------- */

/* Why others may see the memory; NULL: they cannot. */
static const char *visible(search *s, const rlx_expr *origin)
{
    uintptr_t depth = 0;
    rlx_ptrmap_find(&s->depth, origin, &depth);
    if (origin->kind == RLX_NODE_CONSTANT)
        return "a constant";
    if (value_of(s, origin) == origin)
        return depth == s->functions ? "a parameter" : "a value of the function around";
    return depth != s->functions                  ? "a value of the function around"
           : rlx_ptrmap_has(&s->captured, origin) ? "a value that a local function holds"
                                                  : NULL;
}

/* Is what happens here promised to have no effect? */
static bool is_pure_here(const search *s)
{
    const rlx_function *f = s->scopes.len ? rlx_as_function(rlx_vec_last(&s->scopes)) : NULL;
    return !f || f->is_pure;
}

static void add_mutation(search *s, const rlx_expr *origin, const rlx_call *call,
                         const rlx_expr *arg)
{
    uintptr_t before = 0;
    rlx_ptrmap_find(&s->newest, origin, &before);
    (void)rlx_vec_push(&s->ctx->memory, &s->mutations,
                       ((mutation){ call, arg, (size_t)before }));
    put_in_map(s, &s->newest, origin, s->mutations.len);
}

static void mutate(search *s, const rlx_call *call, const rlx_expr *arg)
{
    find_origins(s, arg);
    for (size_t i = 0; i < s->num_origins; i++) {
        const char *what = visible(s, s->origins[i]);
        bool constant = s->origins[i]->kind == RLX_NODE_CONSTANT;
        if (!constant && !is_pure_here(s))
            what = NULL;
        if (what) {
            rlx_error(s->ctx, RLX_PU06, call->place, "%s is mutated in place here but is %s",
                      rlx_show(s->ctx, arg), what);
            if (constant)
                rlx_note(s->ctx, RLX_NO_PLACE, "the call works on a copy");
        }
        if (!constant && !what)
            add_mutation(s, s->origins[i], call, arg);
    }
}

static void overwrite(search *s, const rlx_call *call)
{
    const rlx_tuple *args = call->num_args > 1 ? rlx_as_tuple(call->args[1]) : NULL;
    if (!overwrites(s, call))
        return;
    bool packed = rlx_as_op(call->op)->row == s->rows[1];
    const rlx_attr_list *list = rlx_as_attr_list(rlx_call_attr(call, "inplace_indices"));
    size_t count = packed ? call->num_args - (call->num_args > 0) : args ? args->num_fields : 0;
    for (size_t i = 0; list && i < list->num_items; i++) {
        int64_t at = rlx_attr_as_int(list->items[i], -1);
        if (at >= 0 && (size_t)at < count)
            mutate(s, call, packed ? call->args[1 + at] : args->fields[at]);
    }
}

/* Did it happen in a branch that was not taken where the walk is now? */
static bool is_hidden(const search *s, size_t number)
{
    size_t low = 0, high = s->branches.len;      /* the last branch that begins at or before it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->branches.data[middle].first <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low && number < s->branches.data[low - 1].end;
}

static void report_use(search *s, const mutation *m, const rlx_expr *var)
{
    rlx_error(s->ctx, RLX_PU06, m->call->place, "%s is mutated in place here but used again",
              rlx_show(s->ctx, m->arg));
    rlx_note(s->ctx, ((const rlx_var *)var)->place,
             "%s, which shares its memory, was bound here and is used later",
             rlx_show(s->ctx, var));
}

/* Mutations that are reported leave the list of their origin. Those that stay are in branches that
 * were not taken, at most one call in each. */
static void use_origin(search *s, const rlx_expr *origin, const rlx_expr *var)
{
    uintptr_t newest = 0;
    rlx_ptrmap_find(&s->newest, origin, &newest);
    size_t hidden = 0, *last_hidden = &hidden, due = 0; /* the oldest is due first */
    for (size_t at = (size_t)newest, before; at; at = before) {
        mutation *m = &s->mutations.data[at - 1];
        before = m->before;
        if (is_hidden(s, at - 1)) {
            *last_hidden = at;
            last_hidden = &m->before;
        } else {
            m->before = due;
            due = at;
        }
    }
    *last_hidden = 0;
    if (due)
        put_in_map(s, &s->newest, origin, hidden);
    for (; due; due = s->mutations.data[due - 1].before)
        report_use(s, &s->mutations.data[due - 1], var);
}

static void use(search *s, const rlx_expr *var)
{
    uintptr_t depth = s->functions;
    rlx_ptrmap_find(&s->depth, var, &depth);
    if (!s->mutations.len && depth == s->functions)
        return;
    find_origins(s, var);
    for (size_t i = 0; i < s->num_origins; i++) {
        if (depth != s->functions)
            put_in_map(s, &s->captured, s->origins[i], 1);
        use_origin(s, s->origins[i], var);
    }
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* Mutations of one branch have not happened in the other. */
static void enter_branch(search *s, const rlx_node *n, const rlx_node *parent)
{
    const rlx_if_expr *choice = rlx_as_if_expr(parent);
    size_t now = s->mutations.len;
    if (!choice || n == choice->cond)
        return;
    if (s->branches.len && rlx_vec_last(&s->branches).node == choice)
        rlx_vec_last(&s->branches).end = now;
    else
        (void)rlx_vec_push(&s->ctx->memory, &s->branches, ((branch){ choice, now, now }));
}

static bool is_scope(const rlx_node *n)
{
    return n->kind == RLX_NODE_FUNCTION || n->kind == RLX_NODE_DATAFLOW_BLOCK;
}

static enum rlx_step find_mutation(void *user, const rlx_node *n, const rlx_field *via,
                                   const rlx_node *parent)
{
    search *s = user;
    bool def = via && (via->type == RLX_FIELD_DEF || via->type == RLX_FIELD_DEFS);
    if (n->flags & RLX_FLAG_INTERNED || n->kind == RLX_NODE_CONSTANT)
        return RLX_STEP_SKIP;
    enter_branch(s, n, parent);
    s->functions += n->kind == RLX_NODE_FUNCTION;
    if (is_scope(n))
        (void)rlx_vec_push(&s->ctx->memory, &s->scopes, n);
    if (!rlx_as_var(n))
        return s->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
    if (!def)
        use(s, n);
    else if (put_in_map(s, &s->depth, n, s->functions) && parent &&
             rlx_family_of(parent) == RLX_FAMILY_BINDING)
        put_in_map(s, &s->values, n, (uintptr_t)kept_value(s, rlx_binding_value(parent)));
    return s->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_SKIP;
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    search *s = user;
    s->functions -= n->kind == RLX_NODE_FUNCTION;
    if (is_scope(n) && s->scopes.len)
        (void)rlx_vec_pop(&s->scopes);
    if (n->kind == RLX_NODE_CALL)
        overwrite(s, (const rlx_call *)n);
    if (n->kind == RLX_NODE_IF && s->branches.len && &rlx_vec_last(&s->branches).node->node == n)
        (void)rlx_vec_pop(&s->branches);
    return s->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

bool rlx_report_mutations(rlx_context *ctx, const rlx_module *m)
{
    search s = { .ctx = ctx };
    s.rows[0] = rlx_op_find(RLX_SLICE("call_tir_inplace"));
    s.rows[1] = rlx_op_find(RLX_SLICE("call_inplace_packed"));
    rlx_ptrmap_init(&s.values, &ctx->memory);
    rlx_ptrmap_init(&s.depth, &ctx->memory);
    rlx_ptrmap_init(&s.captured, &ctx->memory);
    rlx_ptrmap_init(&s.newest, &ctx->memory);
    rlx_walker w = { .enter = find_mutation, .leave = leave, .user = &s };
    for (size_t i = 0; i < m->num_functions && !ctx->diags.out_of_memory; i++) {
        s.mutations.len = s.branches.len = s.scopes.len = 0;
        rlx_ptrmap_clear(&s.newest);
        s.functions = 0;
        if (m->functions[i]->kind == RLX_NODE_FUNCTION)
            rlx_walk(&ctx->memory, m->functions[i], &w, NULL);
    }
    rlx_vec_free(&ctx->memory, &s.mutations);
    rlx_vec_free(&ctx->memory, &s.branches);
    rlx_vec_free(&ctx->memory, &s.pending);
    rlx_vec_free(&ctx->memory, &s.scopes);
    rlx_ptrmap_free(&s.values);
    rlx_ptrmap_free(&s.depth);
    rlx_ptrmap_free(&s.captured);
    rlx_ptrmap_free(&s.newest);
    return !ctx->diags.out_of_memory;
}
