/* wf_walk.c: one walk over a module in text order, before or after normalisation. An explicit
 * stack of tasks, and a cursor (ir/flow.h) for each sequence under way: what is in the value of a
 * binding is done before the cursor goes on. Expressions that occur twice are entered once, as
 * long as nothing they mention has left scope. */
#include "analysis/wf_int.h"

#define MEMORY(w) (&(w)->ctx->memory)

enum task {
    TASK_EXPR, TASK_SEQ,
    TASK_ALONG,              /* on along the sequence on top */
    TASK_END_FUNCTION
};

static void push_at(rlx_wf *w, enum task kind, const rlx_node *n, rlx_place around)
{
    rlx_wf_task t = { n, around, (uint8_t)kind };
    (void)rlx_vec_push(MEMORY(w), &w->tasks, t);
}

static void push(rlx_wf *w, enum task kind, const rlx_node *n)
{
    push_at(w, kind, n, RLX_NO_PLACE);
}

static rlx_place place_or(const rlx_node *n, rlx_place otherwise)
{
    rlx_place p = rlx_place_of(n);
    return p ? p : otherwise;
}

/* False the second time: what is inside has been bound already, and is reported once. */
static bool enter_once(rlx_wf *w, const rlx_node *n)
{
    if (rlx_ptrmap_has(&w->entered, n))
        return false;
    return rlx_ptrmap_put(&w->entered, n, 1);
}

/* ---- functions ------------------------------------------------------------------------------ */

static void check_params(rlx_wf *w, const rlx_function *f)
{
    for (size_t i = 0; i < f->num_params; i++)
        if (rlx_as_var(f->params[i]))
            rlx_wf_bind_var(w, (const rlx_var *)f->params[i], rlx_place_of(f->params[i]), true);
    for (size_t i = 0; i < f->num_params; i++)
        if (rlx_as_var(f->params[i]))
            rlx_wf_bind_sinfo(w, ((const rlx_var *)f->params[i])->sinfo,
                              rlx_place_of(f->params[i]));
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_var *v = rlx_as_var(f->params[i]);
        if (v)
            rlx_wf_sinfo(w, v->sinfo,
                         (rlx_wf_spot){ .role = RLX_WF_IN_PARAM,
                                        .owner = rlx_vec_last(&w->functions).name,
                                        .places = v->sinfo_places,
                                        .num_places = v->num_sinfo_places,
                                        .place = v->place });
    }
}

static void begin_function(rlx_wf *w, const rlx_function *f, const rlx_node *name)
{
    rlx_wf_function frame = { .function = f, .name = name };
    rlx_wf_open_scope(w);
    (void)rlx_vec_push(MEMORY(w), &w->functions, frame);
    if (w->ctx->diags.out_of_memory)
        return;
    w->block = 0;
    w->step++;
    check_params(w, f);
    w->step++;
    if (f->ret_stated && f->ret_sinfo)
        rlx_wf_sinfo(w, f->ret_sinfo,
                     (rlx_wf_spot){ .role = RLX_WF_IN_RETURN,
                                    .owner = name,
                                    .places = f->ret_places,
                                    .num_places = f->num_ret_places,
                                    .place = f->place });
    if (!f->is_pure && rlx_flag_attr(f->attrs, "relax.force_pure"))
        rlx_wf_found(w, RLX_WF21, RLX_WF_PLAIN, rlx_attr_place(&f->node, "relax.force_pure"),
                     name);
    rlx_wf_assumptions(w, f, name);
    push(w, TASK_END_FUNCTION, &f->node);
    if (f->body && enter_once(w, &f->node))
        push(w, TASK_SEQ, f->body);
}

static void end_function(rlx_wf *w, const rlx_function *f)
{
    rlx_wf_function frame = rlx_vec_pop(&w->functions);
    rlx_wf_close_scope(w);
    rlx_finding *found = frame.mentioned && !f->ret_stated
                             ? rlx_wf_found(w, RLX_WF08, RLX_WF_PLAIN, f->place, frame.name)
                             : NULL;
    if (found) {
        found->note = frame.mention;
        found->b = f->ret_sinfo;
    }
}

/* ---- mentions of functions ------------------------------------------------------------------ */

static void use_global(rlx_wf *w, const rlx_global_var *gv, rlx_place place, bool called)
{
    int64_t at = rlx_module_index(w->module, gv);
    rlx_wf_mention m = { .from = w->function,
                         .to = (uint32_t)at,
                         .place = place,
                         .block_at = w->block_at,
                         .in_block = called && w->block };
    if (at < 0) {
        rlx_wf_found(w, RLX_WX01, RLX_WF_PLAIN, place, &gv->node);
        return;
    }
    /* Only Relax functions can lead back here. */
    if (rlx_is(w->module->functions[at], RLX_NODE_FUNCTION))
        (void)rlx_vec_push(MEMORY(w), &w->mentions, m);
}

/* A call of the local function around it, in a dataflow block. */
static void check_local_recursion(rlx_wf *w, const rlx_call *call)
{
    for (size_t i = w->functions.len; w->block && i-- > 1;)
        if (w->functions.data[i].name == call->op) {
            rlx_finding *f = rlx_wf_found(w, RLX_WF07, RLX_WF_SELF, call->place, call->op);
            if (f) {
                f->b = call->op;
                f->around = w->block_at;
            }
            return;
        }
}

/* ---- expressions ---------------------------------------------------------------------------- */

static bool is_plain_leaf(rlx_wf *w, const rlx_expr *e, rlx_place around);
static bool seen_before(rlx_wf *w, const rlx_expr *e);

static void check_attrs(rlx_wf *w, const rlx_call *call)
{
    const rlx_attrs *map = rlx_as_attrs(call->attrs);
    for (size_t i = 0; map && i < map->num_values; i++)
        if (rlx_is(map->values[i], RLX_NODE_VDEVICE))
            rlx_wf_device(w, map->values[i], call->place);
}

/* ---- operator normal form: the rule changes nothing (WF23) */
static const rlx_sinfo *leaf_info(void *user, const rlx_expr *leaf)
{
    rlx_wf *w = user;
    return rlx_leaf_sinfo(w->ctx, &w->env, leaf);
}

static const rlx_expr *no_value(void *user, const rlx_expr *var) { return NULL; }

static void check_normal_call(rlx_wf *w, const rlx_call *call, const rlx_op_row *row)
{
    rlx_infer in = { .ctx = w->ctx,
                     .call = call,
                     .row = row,
                     .sinfo_of = leaf_info,
                     .value_of = no_value,
                     .user = w,
                     .quiet = true };
    if (w->stage == RLX_STAGE_ANY || !row->normalize || row->flags & RLX_OP_NORMALIZE_ALWAYS)
        return;
    if (row->normalize(&in) != &call->node)
        rlx_wf_found(w, RLX_WF23, RLX_WF_PLAIN, call->place, call->op);
}

static void check_op(rlx_wf *w, const rlx_op *op, rlx_place place)
{
    if (!op->row)
        rlx_wf_found(w, RLX_WX02, RLX_WF_PLAIN, place, &op->node);
    else if (w->warns && op->row->flags & RLX_OP_UNSTATED)
        rlx_wf_found(w, RLX_PU04, RLX_WF_PLAIN, place, &op->node);
    if (op->row && w->notes && !op->row->infer)
        rlx_wf_found(w, RLX_TY13, RLX_WF_PLAIN, place, &op->node);
}

/* An impure call that relax.force_pure allows. */
static void note_impure_call(rlx_wf *w, const rlx_call *call)
{
    const rlx_wf_function *f = &rlx_vec_last(&w->functions);
    if (w->block || !f->function->is_pure || rlx_call_is_pure(&w->env, w->ctx, call) ||
        !rlx_flag_attr(f->function->attrs, "relax.force_pure"))
        return;
    rlx_finding *found = rlx_wf_found(w, RLX_PU05, RLX_WF_PLAIN, call->place, call->op);
    if (found) {
        found->b = f->name;
        found->note = rlx_attr_place(&f->function->node, "relax.force_pure");
    }
}

/* A call of a function of the module by its name. */
static void visit_global_call(rlx_wf *w, const rlx_call *call, const rlx_global_var *gv)
{
    int64_t at = rlx_module_index(w->module, gv);
    const rlx_function *callee = at < 0 ? NULL : rlx_as_function(w->module->functions[at]);
    use_global(w, gv, call->place, true);
    if (callee && callee->attrs)
        rlx_wf_call_assumptions(w, call, callee);
}

static void visit_call(rlx_wf *w, const rlx_call *call)
{
    const rlx_op *op = rlx_as_op(call->op);
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    size_t deep = call->num_args;
    if (op)
        check_op(w, op, call->place);
    else if (gv)
        visit_global_call(w, call, gv);
    else if (rlx_as_var(call->op))
        check_local_recursion(w, call);
    check_attrs(w, call);
    if (w->notes)
        note_impure_call(w, call);
    w->mutates |= op && op->row && op->row->num_attrs &&
                  strcmp(op->row->attrs[0].name, "inplace_indices") == 0;
    /* Sinfo args come after the arguments in text; a call whose arguments are leaves is done
     * here. */
    bool callee_done = op || gv || is_plain_leaf(w, call->op, call->place);
    for (size_t i = 0; callee_done && i < call->num_args; i++)
        if (!is_plain_leaf(w, call->args[i], call->place)) {
            deep = i;
            break;
        }
    for (size_t i = 0; i < call->num_sinfo_args; i++)
        rlx_wf_sinfo(
            w, call->sinfo_args[i],
            (rlx_wf_spot){ .role = RLX_WF_IN_ARGUMENT, .owner = call->op, .place = call->place });
    if (op && op->row)
        check_normal_call(w, call, op->row);
    if ((callee_done && deep == call->num_args) || seen_before(w, &call->node))
        return;
    for (size_t i = call->num_args; i-- > (callee_done ? deep : 0);)
        push_at(w, TASK_EXPR, call->args[i], call->place);
    if (!callee_done)
        push_at(w, TASK_EXPR, call->op, call->place);
}

/* A leaf that is no tuple is checked on the spot. */
static bool is_plain_leaf(rlx_wf *w, const rlx_expr *e, rlx_place around)
{
    rlx_wf_spot spot = { .role = RLX_WF_IN_EXPR, .owner = e, .place = around };
    switch (e->kind) {
    case RLX_NODE_VAR: case RLX_NODE_DATAFLOW_VAR:
        rlx_wf_use_var(w, (const rlx_var *)e, around);
        return true;
    case RLX_NODE_GLOBAL_VAR:
        use_global(w, (const rlx_global_var *)e, around, false);
        return true;
    case RLX_NODE_OP:
        rlx_wf_found(w, RLX_WF09, RLX_WF_PLAIN, around, e);
        return true;
    case RLX_NODE_SHAPE_EXPR:
        if (e->flags & RLX_FLAG_HAS_VARS || !rlx_wf_known_good(w, e)) {
            size_t found = w->findings.len;
            rlx_wf_dims(w, ((const rlx_shape_expr *)e)->values,
                        ((const rlx_shape_expr *)e)->num_values, &spot);
            if (w->findings.len == found)
                rlx_wf_remember(w, e);
        }
        return true;
    case RLX_NODE_PRIM_VALUE:
        rlx_wf_prim_value(w, ((const rlx_prim_value *)e)->value, &spot);
        return true;
    case RLX_NODE_PRIM_FUNC:
        rlx_wf_found(w, RLX_WX07, RLX_WF_PLAIN, place_or(e, around), e);
        return true;
    case RLX_NODE_CONSTANT:
    case RLX_NODE_STRING_IMM:
    case RLX_NODE_DTYPE_IMM:
    case RLX_NODE_EXTERN_FUNC:
        return true;
    default:
        return false;
    }
}

/* Shared expressions are looked at once, as far as they bind nothing. */
static bool seen_before(rlx_wf *w, const rlx_expr *e)
{
    if (rlx_wf_known_good(w, e))
        return true;
    rlx_wf_remember(w, e);
    return false;
}

static void visit_if(rlx_wf *w, const rlx_if_expr *e)
{
    rlx_finding *f = w->block ? rlx_wf_found(w, RLX_WF07, RLX_WF_IF, e->place, &e->node) : NULL;
    if (f)
        f->around = w->block_at;
    if (seen_before(w, &e->node))
        return;
    push(w, TASK_SEQ, e->false_branch);
    push(w, TASK_SEQ, e->true_branch);
    push_at(w, TASK_EXPR, e->cond, e->place);
}

static void visit(rlx_wf *w, const rlx_expr *e, rlx_place around)
{
    if (is_plain_leaf(w, e, around))
        return;
    rlx_place here = place_or(e, around);
    switch (e->kind) {
    case RLX_NODE_TUPLE:
        if (!seen_before(w, e))
            for (size_t i = ((const rlx_tuple *)e)->num_fields; i-- > 0;)
                push_at(w, TASK_EXPR, ((const rlx_tuple *)e)->fields[i], here);
        break;
    case RLX_NODE_CALL:
        visit_call(w, (const rlx_call *)e);
        break;
    case RLX_NODE_TUPLE_GET_ITEM:
        if (((const rlx_tuple_get_item *)e)->index < 0)
            rlx_wf_found(w, RLX_WX08, RLX_WF_PLAIN, here, e);
        if (!seen_before(w, e))
            push_at(w, TASK_EXPR, ((const rlx_tuple_get_item *)e)->tuple, here);
        break;
    case RLX_NODE_IF:
        visit_if(w, (const rlx_if_expr *)e);
        break;
    case RLX_NODE_FUNCTION:
        begin_function(w, (const rlx_function *)e, NULL);
        break;
    case RLX_NODE_SEQ_EXPR:
        push(w, TASK_SEQ, e);
        break;
    default:
        rlx_wf_found(w, RLX_WX08, RLX_WF_PLAIN, here, e);
    }
}

/* ---- sequences ------------------------------------------------------------------------------ */

/* A sequence in a second place binds all its variables twice; the first one is named. */
static void bound_again(rlx_wf *w, const rlx_seq_expr *seq)
{
    const rlx_block *b = seq->num_blocks ? rlx_as_block(seq->blocks[0]) : NULL;
    const rlx_node *first = b && b->num_bindings ? b->bindings[0] : NULL;
    const rlx_var_binding *binding = rlx_as_var_binding(first);
    if (binding && rlx_as_var(binding->var))
        rlx_wf_bind_var(w, (const rlx_var *)binding->var, binding->place, false);
}

static void visit_sequence(rlx_wf *w, const rlx_expr *e)
{
    const rlx_seq_expr *seq = rlx_as_seq_expr(e);
    if (seq && !enter_once(w, e)) {
        bound_again(w, seq);
        return;
    }
    rlx_wf_open_scope(w);
    (void)rlx_vec_push(MEMORY(w), &w->sequences, rlx_seq_cursor_begin(e));
    push(w, TASK_ALONG, e);
}

static void open_block(rlx_wf *w, const rlx_seq_cursor *at)
{
    const rlx_seq_expr *seq = (const rlx_seq_expr *)at->source;
    if (!at->block) {
        rlx_wf_found(w, RLX_WX08, RLX_WF_PLAIN, seq->place, seq->blocks[at->num_blocks - 1]);
    } else if (rlx_seq_cursor_in_dataflow(at)) {
        rlx_wf_open_block(w);
        w->block_at = at->block->place;
    }
}

static void bind_cast(rlx_wf *w, const rlx_match_cast *c)
{
    const rlx_var *v = rlx_as_var(c->var);
    rlx_wf_bind_sinfo(w, c->sinfo, c->place);
    rlx_wf_sinfo(w, c->sinfo,
                 (rlx_wf_spot){ .role = RLX_WF_IN_CAST,
                                .owner = c->var,
                                .places = c->sinfo_places,
                                .num_places = c->num_sinfo_places,
                                .place = c->place });
    if (v && v->sinfo != c->sinfo)
        rlx_wf_sinfo(w, v->sinfo,
                     (rlx_wf_spot){ .role = RLX_WF_IN_VAR,
                                    .owner = c->var,
                                    .places = v->sinfo_places,
                                    .num_places = v->num_sinfo_places,
                                    .place = v->place });
    if (v)
        rlx_wf_bind_var(w, v, place_or(c->var, c->place), false);
}

static void bind_variable(rlx_wf *w, const rlx_var_binding *b)
{
    const rlx_var *v = rlx_as_var(b->var);
    if (!v)
        return;
    /* What was derived from a value complained of is not complained of too. */
    rlx_place at = place_or(b->value, b->place);
    const rlx_finding *last = w->findings.len ? &rlx_vec_last(&w->findings) : NULL;
    bool said = !v->num_sinfo_places && last &&
                (last->binding == &b->node ||
                 ((at || last->code == RLX_WF18) && last->place == at));
    rlx_wf_sinfo(w, said ? NULL : v->sinfo,
                 (rlx_wf_spot){ .role = RLX_WF_IN_VAR,
                                .owner = b->var,
                                .places = v->sinfo_places,
                                .num_places = v->num_sinfo_places,
                                .place = place_or(b->var, b->place) });
    if (!rlx_is(b->value, RLX_NODE_FUNCTION)) /* else it was bound before its body */
        rlx_wf_bind_var(w, v, place_or(b->var, b->place), false);
}

static void visit_value(rlx_wf *w, const rlx_node *n)
{
    const rlx_var_binding *b = rlx_as_var_binding(n);
    const rlx_match_cast *c = rlx_as_match_cast(n);
    const rlx_expr *value = b ? b->value : c ? c->value : NULL;
    const rlx_var *v = rlx_as_var(b ? b->var : c ? c->var : NULL);
    w->step++;
    w->binding = n;
    if (!value) {
        rlx_wf_found(w, RLX_WX08, RLX_WF_PLAIN, rlx_place_of(n), n);
        return;
    }
    if (b && v && value->kind == RLX_NODE_FUNCTION) {
        rlx_wf_bind_var(w, v, place_or(b->var, b->place), false);
        begin_function(w, (const rlx_function *)value, &v->node);
        return;
    }
    if (v)
        rlx_wf_own_value(w, v);
    visit(w, value, rlx_place_of(n));
}

static void bind(rlx_wf *w, const rlx_node *n)
{
    const rlx_var_binding *b = rlx_as_var_binding(n);
    const rlx_match_cast *c = rlx_as_match_cast(n);
    w->binding = n;
    if (c && c->value)
        bind_cast(w, c);
    else if (b && b->value)
        bind_variable(w, b);
    w->binding = NULL;
}

/* The next event of the sequence on top. What it asks for waits above on the stack of tasks. */
static void follow_sequence(rlx_wf *w)
{
    rlx_seq_cursor *at = &rlx_vec_last(&w->sequences);
    switch (rlx_seq_cursor_next(at)) {
    case RLX_EVENT_BLOCK: open_block(w, at); break;
    case RLX_EVENT_VALUE: visit_value(w, at->binding); break;
    case RLX_EVENT_BIND: bind(w, at->binding); break;
    case RLX_EVENT_BLOCK_END:
        if (rlx_seq_cursor_in_dataflow(at))
            rlx_wf_close_block(w);
        break;
    case RLX_EVENT_LEAVE:
        push_at(w, TASK_EXPR, rlx_seq_cursor_result(at),
                rlx_place_of(rlx_as_seq_expr(at->source) ? at->source : NULL));
        break;
    case RLX_EVENT_DONE:
        rlx_wf_close_scope(w);
        w->sequences.len--;
        w->tasks.len--;
        break;
    default: break;
    }
}

/* Straight-line code goes by without the stack. */
static void go_along(rlx_wf *w, rlx_wf_task t)
{
    push(w, TASK_ALONG, t.node);
    for (size_t level = w->tasks.len; !w->ctx->diags.out_of_memory && w->tasks.len == level;)
        follow_sequence(w);
}

/* ---- the walk ------------------------------------------------------------------------------- */

static void run(rlx_wf *w, rlx_wf_task t)
{
    switch ((enum task)t.kind) {
    case TASK_EXPR: visit(w, t.node, t.around); break;
    case TASK_SEQ: visit_sequence(w, t.node); break;
    case TASK_ALONG: go_along(w, t); break;
    case TASK_END_FUNCTION: end_function(w, (const rlx_function *)t.node); break;
    }
}

/* A TIR function: its shape variables belong to it (WX04), the functions it calls are in the
 * module. */
static enum rlx_step check_tir_node(void *user, const rlx_node *n, const rlx_field *via,
                                    const rlx_node *parent)
{
    rlx_wf *w = user;
    if (n->kind == RLX_NODE_GLOBAL_VAR &&
        rlx_module_index(w->module, (const rlx_global_var *)n) < 0)
        rlx_wf_found(w, RLX_WX01, RLX_WF_PLAIN, rlx_place_of(n), n);
    if (n->kind == RLX_NODE_PRIM_VAR && via &&
        (via->type == RLX_FIELD_DEF || via->type == RLX_FIELD_DEFS))
        rlx_wf_bind_size(w, (const rlx_prim_var *)n, rlx_place_of(parent));
    return n->kind == RLX_NODE_CONSTANT ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static void walk_prim_func(rlx_wf *w, const rlx_node *f)
{
    rlx_walker walker = { .enter = check_tir_node, .user = w, .unique = true };
    rlx_wf_open_scope(w);
    rlx_walk(MEMORY(w), f, &walker, NULL);
    rlx_wf_close_scope(w);
}

/* As long as nothing was found, the normal form is looked at here, while the function is in the
 * cache; what it violates is said later. */
static void look_at_form(rlx_wf *w, const rlx_function *f)
{
    if (w->stage != RLX_STAGE_ANY && !w->odd_form && f->body)
        w->odd_form = w->findings.len || w->ctx->diags.out_of_memory ||
                      !rlx_is_normal(w->ctx, f, false);
}

void rlx_wf_walk(rlx_wf *w)
{
    w->walking = true;
    for (size_t i = 0; i < w->module->num_functions && !w->ctx->diags.out_of_memory; i++) {
        const rlx_function *f = rlx_as_function(w->module->functions[i]);
        w->function = (uint32_t)i;
        w->block = 0;
        if (w->before && i < w->before->num_functions &&
            w->module->functions[i] == w->before->functions[i])
            continue;
        if (rlx_is(w->module->functions[i], RLX_NODE_PRIM_FUNC))
            walk_prim_func(w, w->module->functions[i]);
        if (!f)
            continue;
        begin_function(w, f, w->module->gvars[i]);
        while (w->tasks.len && !w->ctx->diags.out_of_memory)
            run(w, rlx_vec_pop(&w->tasks));
        w->binding = NULL;
        look_at_form(w, f);
    }
    w->walking = false;
}
