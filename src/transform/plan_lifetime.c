/* plan_lifetime.c: see the header. Uses come after bindings, so a single walk from the last
 * event to the first has seen all uses of a value, and all of what aliases it, when it reaches
 * the binding. */
#include "transform/plan_lifetime.h"
#include "transform/transform_int.h"

typedef struct finder {
    rlx_context *ctx;
    const rlx_module *module;
    const rlx_flow *w;
    rlx_lifetimes *l;
    /* local functions around the event: what they use is captured */
    size_t literals;
    RLX_VEC(const rlx_expr *) pending;    /* fields of tuples */
    rlx_ptrmap seen;                   /* shared tuples within one use */
} finder;

/* Effect of a use on its value. */
typedef struct use { uint32_t until; bool escapes; } use;

static void use_var(finder *f, const rlx_expr *e, use u)
{
    size_t at = rlx_as_var(e) ? rlx_flow_event_of(f->w, e) : SIZE_MAX;
    if (at == SIZE_MAX)
        return;
    if (f->l->end[at] < u.until)
        f->l->end[at] = u.until;
    f->l->escapes[at] |= u.escapes || f->literals;
}

/* Every variable in a leaf: the leaf itself, or somewhere in a tuple. */
static bool use_leaf(finder *f, const rlx_expr *e, use u)
{
    rlx_memory *m = &f->ctx->memory;
    if (e->kind != RLX_NODE_TUPLE) {
        use_var(f, e, u);
        return true;
    }
    rlx_ptrmap_clear(&f->seen);
    f->pending.len = 0;
    if (!rlx_vec_push(m, &f->pending, e))
        return false;
    while (f->pending.len) {
        const rlx_expr *top = rlx_vec_pop(&f->pending);
        const rlx_tuple *t = rlx_as_tuple(top);
        use_var(f, top, u);
        if (!t || rlx_ptrmap_has(&f->seen, t))
            continue;
        if (!rlx_ptrmap_put(&f->seen, t, 1))
            return false;
        for (size_t i = 0; i < t->num_fields; i++)
            if (!rlx_vec_push(m, &f->pending, t->fields[i]))
                return false;
    }
    return true;
}

/* Does the callee keep or return what it is given? */
enum keeps { KEEPS_NOTHING, KEEPS_IN_RESULT, KEEPS_ANYWHERE };

/* Operators that are known although they have neither builtin nor lowering: the writer of VM code
 * has code of their own for them, or drops them. */
static bool has_own_code(enum rlx_op_id id)
{
    return id == RLX_OP_ID_BUILTIN_ALLOC_TENSOR || id == RLX_OP_ID_BUILTIN_STOP_LIFT_PARAMS ||
           id == RLX_OP_ID_MEMORY_ALLOC_STORAGE || id == RLX_OP_ID_MEMORY_ALLOC_TENSOR ||
           id == RLX_OP_ID_MEMORY_KILL_STORAGE || id == RLX_OP_ID_MEMORY_KILL_TENSOR;
}

/* What a closure holds is used whenever that is called. */
static bool is_closure(enum rlx_op_id id)
{
    return id == RLX_OP_ID_MAKE_CLOSURE || id == RLX_OP_ID_INVOKE_CLOSURE ||
           id == RLX_OP_ID_INVOKE_PURE_CLOSURE;
}

static enum keeps callee_keeps(const finder *f, const rlx_call *call)
{
    const rlx_op *op = rlx_as_op(call->op);
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    if (op && op->row) {
        /* not lowered yet: results are new, or overwrite arguments */
        if (op->row->id == RLX_OP_ID_CALL_TIR || op->row->id == RLX_OP_ID_CALL_TIR_WITH_GRAD)
            return KEEPS_NOTHING;
        if (op->row->id == RLX_OP_ID_CALL_TIR_INPLACE)
            return KEEPS_IN_RESULT;
        bool known = op->row->builtin || op->row->lower || has_own_code(op->row->id);
        return !known || is_closure(op->row->id) ? KEEPS_ANYWHERE
               : op->row->flags & RLX_OP_ALIAS ? KEEPS_IN_RESULT
                                               : KEEPS_NOTHING;
    }
    int64_t at = gv ? rlx_module_index(f->module, gv) : -1;
    const rlx_node *callee = at >= 0 ? f->module->functions[at] : NULL;
    if (rlx_is(callee, RLX_NODE_PRIM_FUNC))
        return KEEPS_NOTHING;
    const rlx_function *function = rlx_as_function(callee);
    return function && function->is_pure ? KEEPS_IN_RESULT : KEEPS_ANYWHERE;
}

static bool use_value(finder *f, uint32_t at, const rlx_expr *value)
{
    const rlx_lifetimes *l = f->l;
    use alias = { l->end[at], l->escapes[at] };
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(value);
    const rlx_call *call = rlx_as_call(value);
    if (get)
        return use_leaf(f, get->tuple, alias);
    if (!call)
        return use_leaf(f, value, alias);
    enum keeps keeps = callee_keeps(f, call);
    use u = keeps == KEEPS_IN_RESULT ? alias : (use){ at, keeps == KEEPS_ANYWHERE };
    for (size_t i = 0; i < call->num_args; i++)
        if (!use_leaf(f, call->args[i], u))
            return false;
    return use_leaf(f, call->op, (use){ at, true });
}

/* A branch hands its result to the variable of the if. What was made inside and gets out
 * escapes. */
static bool use_result(finder *f, uint32_t at, const rlx_flow_seq *s)
{
    if (s->part == RLX_FLOW_LITERAL)
        return use_leaf(f, s->result, (use){ at, true });
    size_t inside = rlx_as_var(s->result) ? rlx_flow_event_of(f->w, s->result) : SIZE_MAX;
    bool made_here =
        s->result->kind == RLX_NODE_TUPLE || (inside != SIZE_MAX && inside > s->enter);
    return use_leaf(f, s->result,
                    (use){ f->l->end[s->owner], made_here || f->l->escapes[s->owner] });
}

static bool note_event(finder *f, uint32_t at)
{
    const rlx_event *e = &f->w->events.data[at];
    const rlx_flow_seq *s = &f->w->seqs.data[e->seq];
    const rlx_if_expr *branch = rlx_as_if_expr(rlx_binding_value(e->binding));
    if (e->kind == RLX_EVENT_LEAVE) {
        f->literals += s->part == RLX_FLOW_LITERAL;
        return use_result(f, at, s);
    }
    if (e->kind == RLX_EVENT_ENTER) {
        f->literals -= s->part == RLX_FLOW_LITERAL;
        return s->part != RLX_FLOW_THEN || use_leaf(f, branch->cond, (use){ at, false });
    }
    f->l->escapes[at] |= f->literals > 0;
    return branch || rlx_as_function(rlx_binding_value(e->binding)) ||
           use_value(f, at, rlx_binding_value(e->binding));
}

bool rlx_lifetimes_find(rlx_lifetimes *l, rlx_context *ctx, const rlx_module *m, const rlx_flow *w)
{
    finder f = { .ctx = ctx, .module = m, .w = w, .l = l };
    size_t n = w->events.len;
    *l = (rlx_lifetimes){ rlx_mem_alloc(&ctx->memory, (n + 1) * sizeof *l->end),
                          rlx_mem_alloc_zero(&ctx->memory, n + 1), n };
    if (!l->end || !l->escapes)
        return false;
    rlx_ptrmap_init(&f.seen, &ctx->memory);
    for (size_t i = 0; i < n; i++)
        l->end[i] = (uint32_t)i;
    bool good = use_leaf(&f, w->seqs.data[0].result, (use){ (uint32_t)n, true });
    for (size_t i = n; good && i-- > 0;)
        good = note_event(&f, (uint32_t)i);
    rlx_vec_free(&ctx->memory, &f.pending);
    rlx_ptrmap_free(&f.seen);
    return good;
}

void rlx_lifetimes_free(rlx_lifetimes *l, rlx_context *ctx)
{
    rlx_mem_free(&ctx->memory, l->end, l->end ? (l->count + 1) * sizeof *l->end : 0);
    rlx_mem_free(&ctx->memory, l->escapes, l->escapes ? l->count + 1 : 0);
}
