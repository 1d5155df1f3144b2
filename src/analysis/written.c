/*- written.c: which memory is written by something other than what made it?
 *
 *     c = R.const([1.0, 2.0])
 *     t = (c, x)
 *     _ = cls.increment(t[0])       the PrimFunc stores into its parameter: c, t and x are written
 *
 * Values that may share memory are one class: copies, casts, tuples and their fields, branches,
 * results of sequences, aliasing operators; arguments and parameters, calls and results of Relax
 * functions of the module. One write marks the class. So the answer errs on the side of written,
 * and one walk over the module is enough. What a lowered program allocates is made by the first
 * PrimFunc that stores into it; that one does not count. */
/* built for size */
#include "analysis/analysis.h"

typedef struct search {
    rlx_context *ctx;
    const rlx_module *m;
    rlx_written *out;
    rlx_body_walk walk;
    RLX_VEC(const rlx_function *) around;       /* functions whose body is walked */
    RLX_VEC(const rlx_expr *) pending;
    RLX_VEC(uint8_t) stored;                    /* parameters of the PrimFuncs met so far */
    rlx_ptrmap stored_of;                       /* PrimFunc -> its first one + 1 */
    rlx_ptrmap unmade;                          /* allocated variables nobody has stored into yet */
    const rlx_op_row *in_place, *in_place_packed, *pure_packed, *closure, *pure_closure;
} search;

/* ---- classes -------------------------------------------------------------------------------- */

static uint32_t class_at(const rlx_written *w, uint32_t at)
{
    while (w->classes.data[at].parent != at)
        at = w->classes.data[at].parent;
    return at;
}

/* The class, which all on the way there then know at once. */
static uint32_t shorten(rlx_written *w, uint32_t at)
{
    uint32_t root = class_at(w, at);
    for (uint32_t next; at != root; at = next) {
        next = w->classes.data[at].parent;
        w->classes.data[at].parent = root;
    }
    return root;
}

static uint32_t class_of(search *s, const rlx_node *key)
{
    rlx_written *w = s->out;
    uintptr_t at;
    if (rlx_ptrmap_find(&w->numbers, key, &at))
        return shorten(w, (uint32_t)at);
    uint32_t number = (uint32_t)w->classes.len;
    rlx_written_class fresh = { .parent = number };
    if (rlx_vec_push(&s->ctx->memory, &w->classes, fresh))
        (void)rlx_ptrmap_put(&w->numbers, key, number);
    return number;
}

static void join_classes(search *s, const rlx_node *a, const rlx_node *b)
{
    uint32_t x = class_of(s, a), y = class_of(s, b);
    if (s->ctx->diags.out_of_memory || x == y)
        return;
    s->out->classes.data[y].parent = x;
    s->out->classes.data[x].written |= s->out->classes.data[y].written;
    s->out->classes.data[x].killed |= s->out->classes.data[y].killed;
}

static void mark(search *s, const rlx_node *key)
{
    uint32_t at = class_of(s, key);
    if (!s->ctx->diags.out_of_memory)
        s->out->any = s->out->classes.data[at].written = true;
}

static void let_go(search *s, const rlx_node *key)
{
    uint32_t at = class_of(s, key);
    if (!s->ctx->diags.out_of_memory)
        s->out->any_killed = s->out->classes.data[at].killed = true;
}

/* Every variable of a leaf: joined with `with`, or written if that is NULL. */
static void each_variable(search *s, const rlx_expr *leaf, const rlx_node *with)
{
    s->pending.len = 0;
    if (leaf)
        (void)rlx_vec_push(&s->ctx->memory, &s->pending, leaf);
    while (s->pending.len && !s->ctx->diags.out_of_memory) {
        const rlx_expr *e = rlx_vec_pop(&s->pending);
        const rlx_tuple *t = rlx_as_tuple(e);
        for (size_t i = 0; t && i < t->num_fields; i++)
            (void)rlx_vec_push(&s->ctx->memory, &s->pending, t->fields[i]);
        if (rlx_as_var(e) && with)
            join_classes(s, with, e);
        else if (rlx_as_var(e))
            mark(s, e);
    }
}

static void join(search *s, const rlx_node *with, const rlx_expr *leaf)
{
    if (with)
        each_variable(s, leaf, with);
}

static void join_all(search *s, const rlx_node *with, const rlx_call *call)
{
    for (size_t i = 0; i < call->num_args; i++)
        join(s, with, call->args[i]);
}

/* ---- parameters that a PrimFunc stores into ------------------------------------------------- */

typedef struct stores {
    rlx_ptrmap param_of;   /* data pointer of a buffer -> parameter + 1 */
    uint8_t *written;
    rlx_context *ctx;
} stores;

/* A buffer that is part of another one has a pointer of its own. */
static void note_part(stores *s, const rlx_match_buffer_region *m)
{
    const rlx_buffer_region *source = rlx_as_buffer_region(m->source);
    const rlx_buffer *whole = source ? rlx_as_buffer(source->buffer) : NULL,
                     *part = rlx_as_buffer(m->buffer);
    uintptr_t param;
    if (whole && part && rlx_ptrmap_find(&s->param_of, whole->data, &param))
        (void)rlx_ptrmap_put(&s->param_of, part->data, param);
}

static enum rlx_step look_for_stores(void *user, const rlx_node *n, const rlx_field *via,
                                     const rlx_node *parent)
{
    stores *s = user;
    const rlx_buffer_store *store = rlx_as_buffer_store(n);
    const rlx_buffer *b = store ? rlx_as_buffer(store->buffer) : NULL;
    uintptr_t param;
    if (rlx_as_match_buffer_region(n))
        note_part(s, rlx_as_match_buffer_region(n));
    if (b && rlx_ptrmap_find(&s->param_of, b->data, &param))
        s->written[param - 1] = 1;
    return s->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

bool rlx_stored_params(rlx_context *ctx, const rlx_prim_func *f, uint8_t *written)
{
    stores s = { .written = written, .ctx = ctx };
    rlx_walker walker = { .enter = look_for_stores, .user = &s, .terse = true };
    bool good = true;
    rlx_ptrmap_init(&s.param_of, &ctx->memory);
    for (size_t i = 0; good && i < f->num_params; i++) {
        const rlx_buffer *b = i < f->num_buffers ? rlx_as_buffer(f->buffers[i]) : NULL;
        good = !b || rlx_ptrmap_put(&s.param_of, b->data, i + 1);
    }
    if (good)
        rlx_walk(&ctx->memory, f->body, &walker, NULL);
    rlx_ptrmap_free(&s.param_of);
    return !ctx->diags.out_of_memory;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* What rlx_stored_params says; NULL: out of memory. */
static const uint8_t *stored_params(search *s, const rlx_prim_func *f)
{
    uintptr_t at;
    bool good = true;
    if (rlx_ptrmap_find(&s->stored_of, f, &at))
        return &s->stored.data[at - 1];
    at = s->stored.len + 1;
    for (size_t i = 0; good && i <= f->num_params; i++)
        good = rlx_vec_push(&s->ctx->memory, &s->stored, 0);
    return good && rlx_stored_params(s->ctx, f, &s->stored.data[at - 1]) &&
                   rlx_ptrmap_put(&s->stored_of, f, at)
               ? &s->stored.data[at - 1]
               : NULL;
}

/* Is argument i an allocated variable that is made here? */
static bool is_made(search *s, const rlx_call *call, size_t i)
{
    uintptr_t unmade = 0;
    if (!rlx_ptrmap_find(&s->unmade, call->args[i], &unmade) || !unmade)
        return false;
    (void)rlx_ptrmap_put(&s->unmade, call->args[i], 0);
    return true;
}

static void store_into(search *s, const rlx_prim_func *f, const rlx_call *call)
{
    const uint8_t *stored = stored_params(s, f);
    for (size_t i = 0; stored && i < call->num_args && i < f->num_params; i++)
        if (stored[i] && !is_made(s, call, i))
            each_variable(s, call->args[i], NULL);
}

/* A function that promises nothing may write to what it gets and give it back. In a pure function
 * somebody has vouched for it. */
static void call_unknown(search *s, const rlx_node *var, const rlx_expr *const *args, size_t count,
                         bool vouched)
{
    vouched |= s->around.len && rlx_vec_last(&s->around)->is_pure;
    for (size_t i = 0; i < count; i++) {
        join(s, var, args[i]);
        if (!vouched)
            each_variable(s, args[i], NULL);
    }
}

static void call_packed(search *s, const rlx_node *var, rlx_slice name, const rlx_call *call)
{
    static const char builtin[] = "vm.builtin.";
    size_t len = sizeof builtin - 1;
    if (name.len <= len || memcmp(name.data, builtin, len) != 0)
        call_unknown(s, var, call->args, call->num_args, false);
    else if (rlx_slice_is(name, "vm.builtin.copy_into") && call->num_args > 1)
        each_variable(s, call->args[1], NULL);
    else if (!rlx_slice_is(name, "vm.builtin.copy"))
        join_all(s, var, call);
}

static void call_function(search *s, const rlx_node *var, const rlx_function *f,
                          const rlx_call *call)
{
    for (size_t i = 0; i < call->num_args && i < f->num_params; i++)
        join(s, f->params[i], call->args[i]);
    if (var && f->body)
        join_classes(s, f->body, var);
}

static void overwrite(search *s, const rlx_node *var, const rlx_call *call,
                      const rlx_expr *const *args, size_t count)
{
    const rlx_attr_list *list = rlx_as_attr_list(rlx_call_attr(call, "inplace_indices"));
    for (size_t i = 0; list && i < list->num_items; i++) {
        int64_t at = rlx_attr_as_int(list->items[i], -1);
        if (at < 0 || (uint64_t)at >= count)
            continue;
        each_variable(s, args[at], NULL);
        join(s, var, args[at]);
    }
}

/* Operators that call what is their first argument with those in a tuple. */
static bool calls_unknown(const search *s, const rlx_op_row *row)
{
    return row && (row == s->closure || row->id == RLX_OP_ID_CALL_BUILTIN_WITH_CTX ||
                   row->id == RLX_OP_ID_VM_CALL_TIR_DYN);
}

static bool kills(const rlx_op_row *row)
{
    return row && (row->id == RLX_OP_ID_MEMORY_KILL_TENSOR || row->id == RLX_OP_ID_MEMORY_KILL_STORAGE ||
                   row->id == RLX_OP_ID_VM_KILL_OBJECT);
}

static void call_operator(search *s, const rlx_node *var, const rlx_op_row *row,
                          const rlx_call *call)
{
    const rlx_tuple *args = call->num_args > 1 ? rlx_as_tuple(call->args[1]) : NULL;
    if (row == s->in_place && args)
        overwrite(s, var, call, args->fields, args->num_fields);
    else if (row == s->in_place_packed && call->num_args)
        overwrite(s, var, call, call->args + 1, call->num_args - 1);
    else if (calls_unknown(s, row)) /* a closure also has what it holds */
        call_unknown(s, var, call->args, call->num_args, false);
    else if (kills(row) && call->num_args && rlx_as_var(call->args[0]))
        let_go(s, call->args[0]);
    if (row == s->pure_closure || (row && row->flags & RLX_OP_ALIAS))
        join_all(s, var, call);
    if (row && row->id == RLX_OP_ID_BUILTIN_ALLOC_TENSOR && var)
        (void)rlx_ptrmap_put(&s->unmade, var, 1);
    const rlx_extern_func *f =
        row == s->pure_packed && call->num_args ? rlx_as_extern_func(call->args[0]) : NULL;
    if (row == s->pure_packed &&
        !(f && rlx_slice_is(rlx_string_slice(f->symbol), "vm.builtin.copy")))
        join_all(s, var, call);
}

/* A closure gets its arguments and has what it holds. */
static void call_value(search *s, const rlx_node *var, const rlx_call *call, bool vouched)
{
    call_unknown(s, var, &call->op, 1, vouched);
    call_unknown(s, var, call->args, call->num_args, vouched);
}

static void visit_call(search *s, const rlx_node *var, const rlx_call *call)
{
    const rlx_op *op = rlx_as_op(call->op);
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    int64_t index = gv ? rlx_module_index(s->m, gv) : -1;
    const rlx_node *callee = index >= 0 ? s->m->functions[index] : call->op;
    const rlx_var *closure = rlx_as_var(callee);
    const rlx_func_sinfo *known = closure ? rlx_as_func_sinfo(closure->sinfo) : NULL;
    if (op)
        call_operator(s, var, op->row, call);
    else if (rlx_as_extern_func(callee))
        call_packed(s, var, rlx_string_slice(rlx_as_extern_func(callee)->symbol), call);
    else if (rlx_as_prim_func(callee))
        store_into(s, rlx_as_prim_func(callee), call);
    else if (rlx_as_function(callee))
        call_function(s, var, rlx_as_function(callee), call);
    else
        call_value(s, var, call, known && known->is_pure);
}

/* ---- the walk ------------------------------------------------------------------------------- */

static void visit_binding(search *s, const rlx_node *var, const rlx_expr *value)
{
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(value);
    const rlx_if_expr *choice = rlx_as_if_expr(value);
    if (rlx_as_call(value)) {
        visit_call(s, var, rlx_as_call(value));
    } else if (choice && var) {
        join_classes(s, choice->true_branch, var);
        join_classes(s, choice->false_branch, var);
    } else {
        join(s, var, get ? get->tuple : value);
    }
}

/* Can the call write or kill, for all that is seen of it alone? */
static bool may_write(const search *s, const rlx_call *call)
{
    const rlx_op *op = rlx_as_op(call->op);
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    int64_t index = gv ? rlx_module_index(s->m, gv) : -1;
    return op ? op->row == s->in_place || op->row == s->in_place_packed || calls_unknown(s, op->row) ||
                    kills(op->row)
              : index < 0 || s->m->functions[index]->kind != RLX_NODE_FUNCTION;
}

/* Enters a function, a branch or a literal, or leaves it. */
static void cross(search *s, const rlx_body_frame *f, bool entered)
{
    const rlx_seq_cursor *holder = rlx_body_holder(&s->walk);
    bool literal = f->part == RLX_FLOW_LITERAL;
    if (!entered)
        join(s, f->at.source, rlx_seq_cursor_result(&f->at));
    if (literal && entered) {
        const rlx_expr *value = rlx_binding_value(holder->binding);
        (void)rlx_vec_push(&s->ctx->memory, &s->around, (const rlx_function *)value);
    } else if (literal) {
        (void)rlx_vec_pop(&s->around);
    }
}

/* Goes along a function. only_look: it ends at a call that may write, and joins nothing. True:
 * there is such a call. */
static bool go_along(search *s, const rlx_function *f, bool only_look)
{
    enum rlx_event_kind event;
    s->around.len = 0;
    (void)rlx_vec_push(&s->ctx->memory, &s->around, f);
    (void)rlx_body_begin(&s->walk, s->ctx, f->body);
    while (!s->ctx->diags.out_of_memory && (event = rlx_body_next(&s->walk)) != RLX_EVENT_DONE) {
        const rlx_body_frame *top = rlx_body_top(&s->walk);
        const rlx_expr *value =
            event == RLX_EVENT_BIND ? rlx_binding_value(top->at.binding) : NULL;
        if (event == RLX_EVENT_VALUE)
            (void)rlx_body_into(&s->walk);
        else if (only_look && rlx_as_call(value) && may_write(s, rlx_as_call(value)))
            return true;
        else if (only_look)
            continue;
        else if (value)
            visit_binding(s, (const rlx_node *)rlx_binding_var(top->at.binding), value);
        else if (event == RLX_EVENT_ENTER || event == RLX_EVENT_LEAVE)
            cross(s, top, event == RLX_EVENT_ENTER);
    }
    return false;
}

static bool go_along_all(search *s, bool only_look)
{
    bool found = false;
    for (size_t i = 0; i < s->m->num_functions && !s->ctx->diags.out_of_memory && !found; i++) {
        const rlx_function *f = rlx_as_function(s->m->functions[i]);
        found = f && f->body && go_along(s, f, only_look);
    }
    return found;
}

bool rlx_find_written(rlx_context *ctx, const rlx_module *m, rlx_written *out)
{
    search s = { .ctx = ctx,
                 .m = m,
                 .out = out,
                 .in_place = rlx_op_find(RLX_SLICE("call_tir_inplace")),
                 .in_place_packed = rlx_op_find(RLX_SLICE("call_inplace_packed")),
                 .pure_packed = rlx_op_find(RLX_SLICE("call_pure_packed")),
                 .closure = rlx_op_find(RLX_SLICE("invoke_closure")),
                 .pure_closure = rlx_op_find(RLX_SLICE("invoke_pure_closure")) };
    if (out->memory)
        return true;
    *out = (rlx_written){ .memory = &ctx->memory };
    rlx_ptrmap_init(&out->numbers, &ctx->memory);
    rlx_ptrmap_init(&s.stored_of, &ctx->memory);
    rlx_ptrmap_init(&s.unmade, &ctx->memory);
    /* Most modules write nothing: the classes are made where somebody may. */
    if (go_along_all(&s, true))
        (void)go_along_all(&s, false);
    for (uint32_t i = 0; i < out->classes.len; i++)
        shorten(out, i);
    rlx_body_free(&s.walk);
    rlx_vec_free(&ctx->memory, &s.around);
    rlx_vec_free(&ctx->memory, &s.pending);
    rlx_vec_free(&ctx->memory, &s.stored);
    rlx_ptrmap_free(&s.stored_of);
    rlx_ptrmap_free(&s.unmade);
    return !ctx->diags.out_of_memory;
}

static const rlx_written_class *known_class(const rlx_written *w, const rlx_node *key)
{
    uintptr_t at;
    bool known = key && rlx_ptrmap_find(&w->numbers, key, &at);
    return known ? &w->classes.data[class_at(w, (uint32_t)at)] : NULL;
}

bool rlx_is_written(const rlx_written *w, const rlx_node *key)
{
    const rlx_written_class *c = w->any ? known_class(w, key) : NULL;
    return c && c->written;
}

bool rlx_is_killed(const rlx_written *w, const rlx_node *key)
{
    const rlx_written_class *c = w->any_killed ? known_class(w, key) : NULL;
    return c && c->killed;
}

void rlx_written_free(rlx_written *w)
{
    if (!w->memory)
        return;
    rlx_vec_free(w->memory, &w->classes);
    rlx_ptrmap_free(&w->numbers);
}
