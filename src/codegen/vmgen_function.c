/*- vmgen_function.c: one function.
 *
 *     if c:            BRANCH c, else
 *         a = ...          ... a in the register of y
 *                          JUMP end
 *     else:            else:
 *         b = ...          ... b in the register of y
 *     y = (a or b)     end:
 *
 * Where the if is the last thing of the function its branches return by themselves.
 */
#include "codegen/vmgen_int.h"

static bool wrote(rlx_vmgen_fn *n)
{
    return rlx_file_writer_ok(n->out) || rlx_vmgen_failed(n->w, n->place);
}

/* ---- places --------------------------------------------------------------------------------- */

typedef void put_place_fn(rlx_file_writer *w, uint32_t binding, uint32_t file, uint32_t line, uint32_t column);

static void put_located(rlx_vmgen_fn *n, uint32_t name, rlx_place place, put_place_fn *put)
{
    uint32_t line = 0, column = 0, file = RLX_NO_INDEX;
    rlx_diags *d = &n->ctx->diags;
    if (place && rlx_diags_locate(d, place, &line, &column, NULL)) {
        const rlx_source *s = rlx_diags_source(d, rlx_place_source(place));
        file = s ? rlx_file_writer_name(n->out, (rlx_slice){ s->name, s->name_len }) : RLX_NO_INDEX;
    }
    put(n->out, name, file, line, column);
}

static void put_place(rlx_vmgen_fn *n, const rlx_var *var, rlx_place place)
{
    n->place = place;
    n->at = var;
    if (!n->w->o->strip_names)
        put_located(n, rlx_vmgen_var_name(n, var), place, rlx_file_writer_place);
}

/* The call if it is one of a kernel, else NULL. */
static const rlx_call *call_of_kernel(const rlx_vmgen_fn *n, const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    const rlx_global_var *gv = call ? rlx_as_global_var(call->op) : NULL;
    int64_t index = gv ? rlx_module_index(n->w->m, gv) : -1;
    return index >= 0 && call->num_args && rlx_as_prim_func(n->w->m->functions[index]) ? call : NULL;
}

/* What calls a kernel stands for all that it holds. */
static void put_call_place(rlx_vmgen_fn *n, const rlx_var *var, const rlx_expr *value, rlx_place place)
{
    const rlx_call *call = call_of_kernel(n, value);
    put_place(n, var, place);
    const rlx_place_group *group =
        call && !n->w->o->strip_names ? rlx_place_groups_find(&n->ctx->diags.groups, place) : NULL;
    for (size_t i = 0; group && i + 1 < group->count; i++) {
        const rlx_held_place *h = &group->held[i];
        put_located(n, rlx_file_writer_name(n->out, (rlx_slice){ h->name, h->name_len }), h->place,
                    rlx_file_writer_held_place);
    }
}

static rlx_place place_of_binding(const rlx_binding *b)
{
    const rlx_var *v = rlx_binding_var(b);
    rlx_place p = rlx_place_of(b);
    if (!p)
        p = rlx_place_of(rlx_binding_value(b));
    return p || !v ? p : v->place;
}

/* ---- bindings ------------------------------------------------------------------------------- */

/* Is the value of this binding returned as it is? */
static bool is_result(const rlx_vmgen_fn *n, const rlx_binding *b)
{
    const rlx_seq_cursor *at = rlx_vmgen_at(&n->order);
    const rlx_seq_expr *seq = rlx_as_seq_expr(at->source);
    const rlx_var *v = rlx_binding_var(b);
    return rlx_vmgen_top(&n->order)->tail && v && seq && (const rlx_expr *)v == seq->body &&
           at->num_blocks == seq->num_blocks && at->num_bindings == at->block->num_bindings;
}

/* Is it called for its effect, so that the unit stands for whatever it gives back? */
static bool is_effect(const rlx_vmgen_fn *n, const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    const rlx_global_var *gv = call ? rlx_as_global_var(call->op) : NULL;
    int64_t index = gv ? rlx_module_index(n->w->m, gv) : -1;
    const rlx_node *callee = index >= 0 ? n->w->m->functions[index] : call ? call->op : NULL;
    const rlx_tuple_sinfo *stated =
        call && call->num_sinfo_args == 1 ? rlx_as_tuple_sinfo(call->sinfo_args[0]) : NULL;
    if (rlx_as_extern_func(callee))
        return stated && !stated->num_fields;
    return rlx_as_op(callee) || rlx_as_prim_func(callee);
}

/* Must the value be checked against what its variable says? */
static bool needs_check(rlx_vmgen_fn *n, const rlx_var *var, const rlx_expr *value, bool *check)
{
    const rlx_sinfo *want = var ? var->sinfo : NULL;
    const rlx_tuple_sinfo *unit = rlx_as_tuple_sinfo(want);
    bool trust = n->w->o->trust_annotations || n->ctx->trust_annotations;
    *check = false;
    if (!want || want->kind == RLX_NODE_OBJECT_SINFO || trust)
        return true;
    if (unit && !unit->num_fields && is_effect(n, value))
        return true;
    const rlx_sinfo *have = rlx_vmgen_known(n, value);
    if (!have)
        return false;
    *check = !rlx_vmgen_surely_fits(n, have, want);
    return true;
}

static bool get_item(rlx_vmgen_fn *n, const rlx_tuple_get_item *g, rlx_vmgen_target *t)
{
    uint32_t from;
    if (!t->wanted)
        return true;
    if (g->index < 0 || g->index > UINT32_MAX) {
        rlx_error(n->ctx, RLX_CG02, n->place, "index %lld of a tuple", (long long)g->index);
        return false;
    }
    if (!rlx_vmgen_register(n, g->tuple, &from) || !rlx_vmgen_target_register(n, t))
        return false;
    if (rlx_vmgen_takes_field(n, g))
        RLX_EMIT(n->out, RLX_OP_TAKE_FIELD, t->reg, from, (uint32_t)g->index);
    else
        RLX_EMIT(n->out, RLX_OP_GET, t->reg, from, (uint32_t)g->index);
    return wrote(n);
}

/* The value of a binding that is no if and no copy of a variable. */
static bool write_value(rlx_vmgen_fn *n, const rlx_expr *value, rlx_vmgen_target *t)
{
    value = rlx_vmgen_same_value(value);
    const rlx_call *call = rlx_as_call(value);
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(value);
    if (call)
        return rlx_vmgen_call(n, call, t);
    if (get)
        return get_item(n, get, t);
    if (rlx_as_function(value)) {
        rlx_error(n->ctx, RLX_CG01, n->place, "a local function is not lifted");
        return false;
    }
    if (!value || value->kind == RLX_NODE_SEQ_EXPR || value->kind == RLX_NODE_OP) {
        const char *what = value ? rlx_kinds[value->kind].name : "nothing";
        rlx_error(n->ctx, RLX_CG02, n->place, "%s cannot be compiled as a value", what);
        return false;
    }
    if (t->value && t->value->leaf)
        return true; /* an operand where it is wanted */
    return !t->wanted || (rlx_vmgen_target_register(n, t) && rlx_vmgen_load(n, value, t->reg));
}

/* A register with what the variable stands for. */
static bool register_of_value(rlx_vmgen_fn *n, const rlx_var *var, const rlx_expr *value,
                              uint32_t *reg)
{
    const rlx_vmgen_value *v = var ? rlx_vmgen_value_of(n, &var->node) : NULL;
    if (v && v->reg != RLX_NO_INDEX) {
        *reg = v->reg;
        return true;
    }
    return rlx_vmgen_register(n, v && v->leaf ? v->leaf : value, reg);
}

static bool bind_variable(rlx_vmgen_fn *n, const rlx_binding *b)
{
    const rlx_var *var = rlx_binding_var(b);
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_var *source = rlx_vmgen_copied(b);
    rlx_vmgen_value *v = rlx_vmgen_value_of(n, &var->node);
    bool check, copied = source && rlx_vmgen_value_of(n, &source->node) == v;
    rlx_vmgen_target t = { .value = v, .reg = RLX_NO_INDEX };
    uint32_t reg;
    if (!needs_check(n, var, value, &check))
        return false;
    t.wanted = check || v->used;
    t.tail = !check && is_result(n, b);
    t.tail_if = !is_result(n, b) ? NULL : check ? var->sinfo : rlx_object_info(n->ctx);
    if (!copied && !write_value(n, value, &t))
        return false;
    if (!check || n->ended)
        return true;
    return register_of_value(n, var, value, &reg) &&
           rlx_vmgen_match(n, reg, var->sinfo, RLX_MATCH_ASSUME, var);
}

/* ---- casts ---------------------------------------------------------------------------------- */

static bool value_of_cast(rlx_vmgen_fn *n, const rlx_match_cast *c, bool wanted, uint32_t *reg)
{
    const rlx_var *var = rlx_as_var(c->var), *copied = rlx_vmgen_copied(&c->node);
    rlx_vmgen_value *v = var ? rlx_vmgen_value_of(n, &var->node) : NULL;
    rlx_vmgen_target t = { .value = v, .wanted = wanted || (v && v->used), .reg = RLX_NO_INDEX };
    if (copied || (v && v->leaf))
        return !wanted || rlx_vmgen_register(n, copied ? &copied->node : v->leaf, reg);
    if (!write_value(n, c->value, &t))
        return false;
    *reg = t.reg;
    return true;
}

static bool bind_cast(rlx_vmgen_fn *n, const rlx_match_cast *c)
{
    const rlx_var *var = rlx_as_var(c->var), *name = var ? var : rlx_as_var(c->value);
    const rlx_sinfo *have = rlx_vmgen_known(n, c->value);
    bool binds, trust = n->w->o->trust_annotations || n->ctx->trust_annotations;
    uint32_t reg = RLX_NO_INDEX;
    if (!have || !rlx_vmgen_note_vars(n, c->sinfo, &binds))
        return have ? false : false;
    bool check = binds || !rlx_vmgen_surely_fits(n, have, c->sinfo);
    bool again = var && !trust && !rlx_vmgen_surely_fits(n, c->sinfo, var->sinfo);
    if (!value_of_cast(n, c, check || again, &reg))
        return false;
    if (check && !rlx_vmgen_match(n, reg, c->sinfo, RLX_MATCH_CAST, name))
        return false;
    rlx_scope_assume_cast(&n->scope, have, c->sinfo);
    return !again || rlx_vmgen_match(n, reg, var->sinfo, RLX_MATCH_ASSUME, var);
}

/* ---- branches ------------------------------------------------------------------------------- */

/* A value made in a branch and returned by it is made where the result is wanted. */
static void wish_for(rlx_vmgen_fn *n, const rlx_expr *result, uint32_t serial, uint32_t reg)
{
    rlx_vmgen_value *v = rlx_vmgen_value_of(n, result);
    if (v && v->serial == serial && v->definition && !v->leaf && v->reg == RLX_NO_INDEX)
        v->wish = reg;
}

static bool begin_if(rlx_vmgen_fn *n, const rlx_binding *b)
{
    const rlx_var *var = rlx_binding_var(b);
    const rlx_if_expr *e = (const rlx_if_expr *)rlx_binding_value(b);
    rlx_vmgen_value *y = rlx_vmgen_value_of(n, &var->node);
    rlx_vmgen_part opened = { .target = RLX_NO_INDEX };
    bool check;
    uint32_t cond;
    put_place(n, var, place_of_binding(b));
    if (!needs_check(n, var, &e->node, &check) || !rlx_vmgen_register(n, e->cond, &cond) ||
        !rlx_vmgen_flush(n))
        return false;
    opened.tail = !check && is_result(n, b);
    opened.branch_at = RLX_EMIT(n->out, RLX_OP_BRANCH, cond, 0);
    opened.num_facts = n->scope.facts.len;
    opened.num_equals = n->scope.equals.len;
    opened.num_bound = n->bound_list.len;
    opened.num_computed = n->computed_list.len;
    if (!opened.tail && (check || y->used) && !rlx_vmgen_define(n, y, &opened.target))
        return false;
    const rlx_seq_expr *yes = rlx_as_seq_expr(e->true_branch),
                       *no = rlx_as_seq_expr(e->false_branch);
    if (opened.target != RLX_NO_INDEX && yes)
        wish_for(n, yes->body, y->branch[0], opened.target);
    if (opened.target != RLX_NO_INDEX && no)
        wish_for(n, no->body, y->branch[1], opened.target);
    return wrote(n) && rlx_vmgen_end_binding(n) && rlx_vmgen_order_into(&n->order, opened);
}

/* The result of the branch that ends goes where the if is wanted. A value that ends with the
 * branch is taken over. */
static bool move_result(rlx_vmgen_fn *n, const rlx_vmgen_part *p)
{
    const rlx_expr *result = rlx_vmgen_result(&n->order);
    rlx_vmgen_value *v = rlx_vmgen_value_of(n, result);
    if (p->target == RLX_NO_INDEX || (v && v->reg == p->target))
        return true;
    if (!v || v->leaf || v->reg == RLX_NO_INDEX || v->borrowed || !v->definition ||
        v->last != n->order.number)
        return rlx_vmgen_load(n, result, p->target);
    RLX_EMIT(n->out, RLX_OP_TAKE, p->target, v->reg);
    v->boxed = false; /* its register is empty */
    return wrote(n);
}

static bool write_return(rlx_vmgen_fn *n, const rlx_expr *result)
{
    uint32_t reg;
    if (n->ended)
        return true;
    if (!rlx_vmgen_register(n, result, &reg))
        return false;
    RLX_EMIT(n->out, RLX_OP_RETURN, reg);
    n->ended = true;
    return wrote(n);
}

/* Shape variables that the branch has bound, and sizes it has computed, are out of scope. */
static void leave_scope(rlx_vmgen_fn *n, const rlx_vmgen_part *p)
{
    rlx_scope_forget(&n->scope, p->num_facts);
    rlx_scope_forget_equals(&n->scope, p->num_equals);
    while (n->bound_list.len > p->num_bound)
        rlx_ptrmap_remove(&n->bound, rlx_vec_pop(&n->bound_list));
    while (n->computed_list.len > p->num_computed)
        rlx_ptrmap_remove(&n->computed, rlx_vec_pop(&n->computed_list));
}

static bool end_branch(rlx_vmgen_fn *n)
{
    const rlx_vmgen_part *p = rlx_vmgen_top(&n->order);
    bool ok = p->tail ? write_return(n, rlx_vmgen_result(&n->order))
                      : n->ended || move_result(n, p);
    ok = ok && rlx_vmgen_end_binding(n) && rlx_vmgen_die(n, n->order.number) &&
         (n->ended ? rlx_vmgen_forget_dead(n) : rlx_vmgen_flush(n));
    leave_scope(n, p);
    return ok;
}

static bool end_then(rlx_vmgen_fn *n)
{
    rlx_vmgen_part *p = rlx_vmgen_top(&n->order);
    if (!end_branch(n))
        return false;
    p->jump_at = n->ended ? RLX_NO_INDEX : RLX_EMIT(n->out, RLX_OP_JUMP, 0);
    rlx_file_writer_patch(n->out, p->branch_at, rlx_file_writer_here(n->out));
    n->ended = false;
    return wrote(n);
}

/* Behind both branches: the variable of the if is bound. */
static bool end_if(rlx_vmgen_fn *n, const rlx_binding *b)
{
    const rlx_vmgen_part p = rlx_vec_pop(&n->order.parts);
    const rlx_var *var = rlx_binding_var(b);
    bool check = false;
    if (p.jump_at != RLX_NO_INDEX)
        rlx_file_writer_patch(n->out, p.jump_at, rlx_file_writer_here(n->out));
    n->ended = n->ended && p.jump_at == RLX_NO_INDEX;
    put_place(n, var, place_of_binding(b));
    if (!n->ended && !needs_check(n, var, rlx_binding_value(b), &check))
        return false;
    if (check && !rlx_vmgen_match(n, p.target, var->sinfo, RLX_MATCH_ASSUME, var))
        return false;
    return rlx_vmgen_die(n, n->order.number) && (!n->ended || rlx_vmgen_forget_dead(n));
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool manages_memory(const char *name)
{
    static const char *const names[] = { "memory.alloc_storage", "vm.alloc_storage",
                                         "memory.kill_storage", "memory.kill_tensor",
                                         "vm.kill_object" };
    for (size_t i = 0; i < RLX_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The variable that messages name: of a call that writes into memory the one for what it writes, its
 * last tensor; NULL of memory that holds what others bind. */
static const rlx_var *named_variable(const rlx_binding *b)
{
    const rlx_var *v = rlx_binding_var(b);
    const rlx_call *call = rlx_as_call(rlx_binding_value(b));
    const rlx_op *op = call ? rlx_as_op(call->op) : NULL;
    if (op && op->row && manages_memory(op->row->short_name))
        return NULL;
    const rlx_tuple_sinfo *nothing = v ? rlx_as_tuple_sinfo(v->sinfo) : NULL;
    if (!call || op || !nothing || nothing->num_fields)
        return v;
    for (size_t i = call->num_args; i-- > 0;)
        if (rlx_as_var(call->args[i]))
            return rlx_as_var(call->args[i]);
    return v;
}

static bool write_binding(rlx_vmgen_fn *n, const rlx_binding *b)
{
    put_call_place(n, named_variable(b), rlx_binding_value(b), place_of_binding(b));
    bool ok = rlx_as_match_cast(b) ? bind_cast(n, rlx_as_match_cast(b)) : bind_variable(n, b);
    return ok && rlx_vmgen_end_binding(n) && rlx_vmgen_die(n, n->order.number);
}

static bool end_sequence(rlx_vmgen_fn *n)
{
    switch (rlx_body_top(&n->order.walk)->part) {
    case RLX_FLOW_THEN: return end_then(n);
    case RLX_FLOW_ELSE: return end_branch(n);
    default: return write_return(n, rlx_vmgen_result(&n->order));
    }
}

static bool write_event(rlx_vmgen_fn *n, enum rlx_event_kind event)
{
    const rlx_binding *b = rlx_vmgen_at(&n->order)->binding;
    switch (event) {
    case RLX_EVENT_VALUE: return begin_if(n, b);
    case RLX_EVENT_BIND: return rlx_vmgen_is_if(b) ? end_if(n, b) : write_binding(n, b);
    default: return end_sequence(n);
    }
}

static bool write_body(rlx_vmgen_fn *n)
{
    enum rlx_event_kind event;
    bool ok = rlx_vmgen_order_begin(&n->order, n->ctx, n->f->body);
    while (ok && (event = rlx_vmgen_order_next(&n->order)) != RLX_EVENT_DONE)
        ok = write_event(n, event);
    rlx_vmgen_order_free(&n->order);
    return ok;
}

/* ---- entry and result ----------------------------------------------------------------------- */

static const rlx_sinfo *param_info(const rlx_vmgen_fn *n, size_t i)
{
    const rlx_var *v = rlx_as_var(n->f->params[i]);
    return v && v->sinfo ? v->sinfo : rlx_object_info(n->ctx);
}

/* Describes the bounds that attributes promise of the variables bound by parameters: believed
 * here, checked when the function is entered. */
static bool describe_promises(rlx_vmgen_fn *n, rlx_desc_writer *d)
{
    rlx_facts promised = { 0 };
    bool ok =
        rlx_assumed(n->ctx, n->f->attrs, (const rlx_prim *const *)(const void *)n->bound_list.data,
                    n->bound_list.len, &promised);
    for (size_t i = 0; ok && i < promised.len; i++) {
        const rlx_fact *p = &promised.data[i];
        uintptr_t slot = 0;
        bool named = !n->w->o->strip_names;
        rlx_ptrmap_find(&n->slots, p->var, &slot);
        rlx_desc_assumption(d, (uint32_t)slot - 1,
                            named ? rlx_string_slice(p->var->name) : RLX_SLICE(""), p->low,
                            p->high);
        ok = rlx_scope_bound(&n->scope, p->var, p->low, p->high);
    }
    rlx_vec_free(&n->ctx->memory, &promised);
    return ok;
}

static bool describe_params(rlx_vmgen_fn *n, uint32_t *offset)
{
    rlx_desc_writer d;
    rlx_encoder e;
    bool any, ok = true;
    for (size_t i = 0; ok && i < n->f->num_params; i++)
        ok = rlx_vmgen_note_vars(n, param_info(n, i), &any);
    if (!ok || !rlx_vmgen_bind_vars(n))
        return false;
    rlx_desc_begin(&d, n->out);
    rlx_vmgen_encoder(n, &e);
    rlx_desc_params(&d);
    for (size_t i = 0; ok && i < n->f->num_params; i++) {
        const rlx_var *v = rlx_as_var(n->f->params[i]);
        uint32_t name = rlx_vmgen_var_name(n, v);
        rlx_names names = rlx_file_writer_names(n->out);
        rlx_desc_param(&d, name == RLX_NO_INDEX ? RLX_SLICE("") : rlx_name(&names, name));
        ok = rlx_sinfo_encode(&e, param_info(n, i), &d);
    }
    if (ok && !describe_promises(n, &d)) {
        rlx_vmgen_drop_description(n, &d);
        return false;
    }
    rlx_desc_close(&d);
    if (!ok) {
        rlx_vmgen_drop_description(n, &d);
        return rlx_vmgen_encode_failed(n, &e);
    }
    *offset = rlx_desc_end(&d);
    rlx_ptrmap_clear(&n->to_bind);
    return wrote(n);
}

/* The result is checked unless what is returned surely fits. */
static bool describe_result(rlx_vmgen_fn *n)
{
    const rlx_seq_expr *body = rlx_as_seq_expr(n->f->body);
    const rlx_sinfo *want = n->f->ret_sinfo;
    if (!want || want->kind == RLX_NODE_OBJECT_SINFO)
        return true;
    const rlx_sinfo *have = rlx_vmgen_known(n, body ? body->body : n->f->body);
    if (!have)
        return false;
    return rlx_vmgen_surely_fits(n, have, want) || rlx_vmgen_describe(n, want, &n->result);
}

static bool describe_signature(rlx_vmgen_fn *n, const rlx_global_var *gv, uint32_t *offset)
{
    const rlx_sinfo *s = n->w->env.global(n->w->env.user, gv);
    *offset = RLX_NO_INDEX;
    return !rlx_as_func_sinfo(s) || rlx_vmgen_describe_signature(n, s, offset);
}

static bool write_function(rlx_vmgen_fn *n, const rlx_global_var *gv, uint32_t number)
{
    const rlx_string *name = rlx_link_name(&n->f->node);
    rlx_file_function r = { .code = rlx_file_writer_here(n->out),
                            .num_params = (uint32_t)n->f->num_params };
    put_place(n, NULL, n->f->place ? n->f->place : gv->place);
    n->num_regs = r.num_params;
    if (!rlx_vmgen_find_values(n) || !describe_params(n, &r.params) || !describe_result(n) ||
        !describe_signature(n, gv, &r.signature) || !rlx_vmgen_die(n, 0) || !write_body(n))
        return false;
    r.flags = (name ? RLX_FUNCTION_PUBLIC : 0) | (n->f->is_pure ? RLX_FUNCTION_PURE : 0);
    r.name = rlx_file_writer_name(n->out, rlx_string_slice(name ? name : gv->name));
    r.code_len = rlx_file_writer_here(n->out) - r.code;
    r.num_regs = n->num_regs;
    r.num_syms = n->num_syms;
    r.result = n->result;
    rlx_file_writer_set_function(n->out, number, &r);
    return wrote(n);
}

/* "in main, binding h", for reports without a place. */
static bool put_locus(const rlx_locus *locus, rlx_buf *out)
{
    const rlx_vmgen_fn *n = locus->of;
    const rlx_global_var *gv = locus->what;
    rlx_buf_format(out, "in %s", gv->name->data);
    if (n->at) {
        rlx_buf_format(out, ", binding ");
        rlx_text_var_name(out, n->at);
    }
    return true;
}

bool rlx_vmgen_function(rlx_vmgen_module *w, const rlx_function *f, const rlx_global_var *gv,
                        uint32_t number)
{
    rlx_memory *m = &w->ctx->memory;
    rlx_vmgen_fn n = {
        .w = w, .ctx = w->ctx, .out = &w->out, .f = f, .place = f->place, .result = RLX_NO_INDEX
    };
    rlx_ptrmap *maps[] = { &n.slots, &n.bound, &n.to_bind, &n.exprs, &n.computed, &n.vars, &n.fields };
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], m);
    rlx_scope_init(&n.scope, w->ctx, NULL);
    const rlx_locus *around = w->ctx->locus;
    const rlx_locus here = { put_locus, &n, gv };
    w->ctx->locus = &here;
    bool ok = f->body ? write_function(&n, gv, number)
                      : rlx_error(w->ctx, RLX_CG02, f->place, "function %s has no body",
                                  gv->name->data) != NULL;
    w->ctx->locus = around;
    rlx_scope_free(&n.scope);
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_free(maps[i]);
    rlx_mem_free(m, n.dying, n.dying ? n.num_events * sizeof *n.dying : 0);
    rlx_vec_free(m, &n.bound_list);
    rlx_vec_free(m, &n.computed_list);
    rlx_vec_free(m, &n.to_bind_list);
    rlx_vec_free(m, &n.values);
    rlx_vec_free(m, &n.free);
    rlx_vec_free(m, &n.dead);
    rlx_vec_free(m, &n.temps);
    rlx_vec_free(m, &n.args);
    rlx_vec_free(m, &n.work);
    return ok;
}
