/*- convert_layout: convolutions, and what goes along with them, get another order of axes.
 *     y = R.nn.conv2d(x, w)                             x1 = R.permute_dims(x, [0, 2, 3, 1])
 *     b = R.nn.batch_norm(y, ..., axis=1)       ->      y = R.nn.conv2d(x1, w, data_layout="NHWC")
 *     z = R.nn.relu(b[0])                               b = R.nn.batch_norm(y, ..., axis=3)
 *     s = R.mean(z, [2, 3])                             z = R.nn.relu(b[0])
 *                                                       s = R.mean(z, [1, 2])
 * Bindings can turn that follow (layout_follow.h). Which do is a minimal cut: between those that turn and those that stay each value is
 * turned once, by permute_dims; each that turns gains or loses what layout_gain.h says. A permute_dims at the edge may fall away.
 * Without a layout asked for, convolutions turn to channels last (NHWC) where that is faster; else all do that are not in the layout.
 * needs: normal form, struct info. keeps: numbers, names. Only what stands in the outermost sequence of a function turns, and nothing
 * that somebody writes to. Functions for other back ends (Codegen, Composite) stay as they are.
 */
#include "transform/edit.h"
#include "transform/layout_follow.h"
#include "transform/layout_gain.h"
#include "transform/minimal_cut.h"
#include "transform/transform_int.h"

#define WANTED INT64_C(100000000000000)       /* ns: what stays though it was asked for costs more than all else */

/* A binding that may turn. */
typedef struct turnable {
    const rlx_binding *binding;
    const rlx_var *var;
    const rlx_call *call;                /* NULL: a field of a tuple */
    const rlx_layout_row *row;           /* of the call */
    uint8_t result;                      /* enum rlx_layout_result; of a field FOLLOWS */
    uint32_t node;                       /* of the cut */
} turnable;

/* Where a value is made and where it is read, as nodes of the cut: it is turned once for all that read it otherwise. */
typedef struct handing { uint32_t to_turned, to_others; } handing;

typedef struct conversion {
    rlx_context *ctx;
    rlx_env env;
    const rlx_pass_run *run;
    rlx_layout_turn turn;
    bool wanted;                         /* a layout was asked for; else where it gains */
    rlx_written written;
    rlx_use_def uses;
    RLX_VEC(turnable) all;
    rlx_ptrmap numbers;                  /* binding -> number in `all` + 1 */
    rlx_cut cut;                         /* what is on its far side turns */
    bool solved;
    rlx_ptrmap outside;                  /* variable made elsewhere -> its handing */
    RLX_VEC(handing) handings;
    rlx_ptrmap turned;                   /* variable -> what it is with its axes turned */
    const rlx_op_row *permute;
} conversion;

/* ---- questions --------------------------------------------------------------------------------- */

static turnable *turnable_of(const conversion *c, const rlx_binding *b)
{
    uintptr_t at;
    return b && rlx_ptrmap_find(&c->numbers, b, &at) ? &c->all.data[at - 1] : NULL;
}

/* The binding of v, if v turns with it. */
static turnable *maker_of(const conversion *c, const rlx_expr *v)
{
    const rlx_var_uses *u = rlx_as_var(v) ? rlx_uses_of(&c->uses, v) : NULL;
    turnable *t = u ? turnable_of(c, u->binding) : NULL;
    return t && t->result != RLX_LAYOUT_READS ? t : NULL;
}

static bool gives_tuple(const turnable *t)
{
    return t->result == RLX_LAYOUT_FIRST_FIELD || t->result == RLX_LAYOUT_FIELDS;
}

/* The permute_dims that v is bound to; NULL: another value. */
static const rlx_call *permutation_of(const conversion *c, const rlx_expr *v)
{
    const rlx_var_uses *u = rlx_as_var(v) ? rlx_uses_of(&c->uses, v) : NULL;
    const rlx_expr *value = u && u->binding ? rlx_binding_value(u->binding) : NULL;
    const rlx_call *call = rlx_callee_op(value) == c->permute ? rlx_as_call(value) : NULL;
    return call && rlx_attr_count(rlx_call_attr(call, "axes")) == c->turn.rank ? call : NULL;
}

/* axes of a permutation, counted from the front, whose axis i is then axis by[i] */
static bool permuted_axes(const conversion *c, const rlx_call *permutation, const int64_t *by, int64_t *axes)
{
    const rlx_attr *list = rlx_call_attr(permutation, "axes");
    bool same = true;
    for (size_t i = 0; i < c->turn.rank; i++) {
        axes[i] = rlx_attr_item(list, by ? (size_t)by[i] : i);
        axes[i] += axes[i] < 0 ? (int64_t)c->turn.rank : 0;
        same &= axes[i] == (int64_t)i;
    }
    return same;
}

/* ---- what can turn ------------------------------------------------------------------------------ */

static bool is_off(const conversion *c, const rlx_call *call)
{
    bool off = false;
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_tuple *t = rlx_as_tuple(call->args[i]);
        off |= rlx_is_written(&c->written, call->args[i]);
        for (size_t k = 0; t && k < t->num_fields; k++)
            off |= rlx_is_written(&c->written, t->fields[k]);
    }
    return off;
}

static bool is_tensor_of_rank(const conversion *c, const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    return t && t->ndim == (int)c->turn.rank;
}

/* Can the value of this binding follow? *out: all but its node. */
static bool looks_turnable(conversion *c, const rlx_binding *b, turnable *out)
{
    const rlx_var *v = rlx_binding_var(b);
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_call *call = rlx_as_call(value);
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(value);
    *out = (turnable){ .binding = b, .var = v, .call = call };
    if (!v || b->kind != RLX_NODE_VAR_BINDING || rlx_is_written(&c->written, &v->node) || rlx_is_killed(&c->written, &v->node))
        return false;
    if (get) {
        const turnable *from = maker_of(c, get->tuple);
        out->result = RLX_LAYOUT_FOLLOWS;
        return from && gives_tuple(from) && (get->index == 0 || from->result == RLX_LAYOUT_FIELDS) &&
               is_tensor_of_rank(c, v->sinfo);
    }
    if (!call || is_off(c, call))
        return false;
    out->result = rlx_layout_follows(c->ctx, &c->env, &c->turn, call, &out->row);
    return out->result == RLX_LAYOUT_FOLLOWS ? is_tensor_of_rank(c, v->sinfo) : out->result != RLX_LAYOUT_STAYS;
}

static bool note(conversion *c, const rlx_binding *b)
{
    turnable t;
    if (!looks_turnable(c, b, &t))
        return true;
    return rlx_vec_push(&c->ctx->memory, &c->all, t) && rlx_ptrmap_put(&c->numbers, b, c->all.len);
}

/* ---- which turn --------------------------------------------------------------------------------- */

/* A field of a tuple that does not turn is taken from the tuple, whether that has turned or not. */
static bool is_plain_field(const turnable *t, const rlx_use *use)
{
    const rlx_tuple_get_item *get = use->kind == RLX_USE_VALUE && use->by ? rlx_as_tuple_get_item(rlx_binding_value(use->by)) : NULL;
    return get && get->tuple == &t->var->node && t->result == RLX_LAYOUT_FIRST_FIELD && get->index > 0;
}

/* Which way a permute_dims turns: to the new order, back to the old one, or another. */
enum permutes { PERMUTES_OTHERWISE, PERMUTES_TURN, PERMUTES_BACK };
static enum permutes permutes(const conversion *c, const rlx_expr *v)
{
    int64_t axes[RLX_LAYOUT_MAX_RANK];
    const rlx_call *p = permutation_of(c, v);
    bool there = p, back = p;
    if (p)
        (void)permuted_axes(c, p, NULL, axes);
    for (size_t i = 0; i < c->turn.rank && p; i++) {
        there &= axes[i] == c->turn.order[i];
        back &= axes[i] == c->turn.back[i];
    }
    return there ? PERMUTES_TURN : back ? PERMUTES_BACK : PERMUTES_OTHERWISE;
}

static handing hand_on(conversion *c, uint32_t maker, const rlx_sinfo *s)
{
    handing h = { rlx_cut_node_new(&c->cut), rlx_cut_node_new(&c->cut) };
    const int64_t cost = rlx_layout_cost_of_turn(&c->turn, s);
    rlx_cut_connect(&c->cut, maker, h.to_turned, cost);
    rlx_cut_connect(&c->cut, h.to_others, maker, cost);
    return h;
}

static void read_by(conversion *c, const handing *h, uint32_t reader)
{
    rlx_cut_connect(&c->cut, h->to_turned, reader, RLX_CUT_NEVER);
    rlx_cut_connect(&c->cut, reader, h->to_others, RLX_CUT_NEVER);
}

/* What reads the value of t in its turned form or as it was. A permute_dims to the turned form falls away if it has turned. */
static void connect_uses(conversion *c, const turnable *t)
{
    const rlx_var_uses *u = rlx_uses_of(&c->uses, &t->var->node);
    handing h = hand_on(c, t->node, t->var->sinfo);
    for (size_t i = 0; u && i < u->count; i++) {
        const rlx_use *use = &c->uses.uses[u->first + i];
        const turnable *by = use->kind == RLX_USE_VALUE ? turnable_of(c, use->by) : NULL;
        const bool reads = by && by->result == RLX_LAYOUT_READS;
        if (reads && permutes(c, &by->var->node) == PERMUTES_TURN)
            read_by(c, &h, RLX_CUT_FAR);
        else if (!reads)
            read_by(c, &h, by ? by->node : RLX_CUT_NEAR);
    }
}

/* The fields of a tuple, and the tuple, are on one side; others may only take fields that do not turn. */
static void connect_fields(conversion *c, const turnable *t)
{
    const rlx_var_uses *u = rlx_uses_of(&c->uses, &t->var->node);
    for (size_t i = 0; u && i < u->count; i++) {
        const rlx_use *use = &c->uses.uses[u->first + i];
        const turnable *by = use->kind == RLX_USE_VALUE ? turnable_of(c, use->by) : NULL;
        const uint32_t other = by ? by->node : RLX_CUT_NEAR;
        if (!by && is_plain_field(t, use))
            continue;
        rlx_cut_connect(&c->cut, t->node, other, RLX_CUT_NEVER);
        rlx_cut_connect(&c->cut, other, t->node, RLX_CUT_NEVER);
    }
}

/* Something that is made elsewhere, in the old order, or in the new one if a permute_dims has brought it into the old one. */
static bool connect_outside(conversion *c, const turnable *t, const rlx_expr *e)
{
    const rlx_var *v = rlx_as_var(e);
    uintptr_t at;
    if (!v || maker_of(c, e))
        return true;
    if (!rlx_ptrmap_find(&c->outside, e, &at)) {
        handing h = hand_on(c, permutes(c, e) == PERMUTES_BACK ? RLX_CUT_FAR : RLX_CUT_NEAR, v->sinfo);
        at = c->handings.len;
        if (!rlx_vec_push(&c->ctx->memory, &c->handings, h) || !rlx_ptrmap_put(&c->outside, e, at))
            return false;
    }
    read_by(c, &c->handings.data[at], t->node);
    return true;
}

static bool connect_operands(conversion *c, const turnable *t)
{
    bool good = true;
    for (size_t i = 0; t->call && t->result != RLX_LAYOUT_READS && i < t->call->num_args && good; i++) {
        const rlx_tuple *tuple = rlx_as_tuple(t->call->args[i]);
        if (!rlx_layout_turns_operand(t->row, i))
            continue;
        good = tuple || connect_outside(c, t, t->call->args[i]);
        for (size_t k = 0; tuple && k < tuple->num_fields && good; k++)
            good = connect_outside(c, t, tuple->fields[k]);
    }
    return good;
}

/* What it takes more, or less, if it turns. */
static void connect_sides(conversion *c, const turnable *t)
{
    const int64_t gain = !t->call                                          ? 0
                         : c->wanted && rlx_layout_is_anchor(t->row)       ? WANTED
                         : c->wanted || t->result == RLX_LAYOUT_READS      ? 0
                                                                           : rlx_layout_gain(c->ctx, &c->env, &c->turn, t->row, t->call, t->var->sinfo);
    rlx_cut_connect(&c->cut, RLX_CUT_NEAR, t->node, -gain); /* paid if it turns */
    rlx_cut_connect(&c->cut, t->node, RLX_CUT_FAR, gain);   /* paid if it stays */
}

/* False: out of memory. Nothing turns where it is too much to find out. */
static bool choose(conversion *c)
{
    bool good = true;
    for (size_t i = 0; i < c->all.len; i++)
        c->all.data[i].node = rlx_cut_node_new(&c->cut);
    for (size_t i = 0; i < c->all.len && good && !c->cut.failed; i++) {
        const turnable *t = &c->all.data[i];
        connect_sides(c, t);
        if (gives_tuple(t))
            connect_fields(c, t);
        else if (t->result != RLX_LAYOUT_READS)
            connect_uses(c, t);
        good = connect_operands(c, t);
    }
    c->solved = good && rlx_cut_solve(&c->cut);
    return good && !c->cut.failed;
}

/* What only reads does so in the order in which its operand is. */
static bool turns(const conversion *c, const turnable *t)
{
    if (!t || !c->solved)
        return false;
    if (t->result == RLX_LAYOUT_READS)
        return turns(c, maker_of(c, t->call->args[0]));
    return rlx_cut_is_far(&c->cut, t->node);
}

/* Layouts of the first convolution that does not have the one that is wanted; *found: there is one. False: out of memory. */
static bool find_turn(conversion *c, const rlx_function *f, bool *found)
{
    rlx_slice to = rlx_pass_text(c->run, "data_layout");
    rlx_body_walk w = { 0 };
    enum rlx_event_kind event;
    bool good = rlx_body_begin(&w, c->ctx, f->body);
    c->wanted = to.len != 0;
    if (!c->wanted)
        to = RLX_SLICE("NHWC");
    *found = false;
    while (good && !*found && (event = rlx_body_next(&w)) != RLX_EVENT_DONE) {
        if (event == RLX_EVENT_VALUE)
            good = rlx_body_into(&w);
        else if (event == RLX_EVENT_BIND)
            *found = rlx_layout_turn_between(rlx_layout_of_anchor(rlx_binding_value(rlx_body_top(&w)->at.binding)), to, &c->turn);
    }
    rlx_body_free(&w);
    c->turn.weights = rlx_pass_text(c->run, "kernel_layout");
    *found = *found && (c->wanted || rlx_slice_equal(c->turn.from, RLX_SLICE("NCHW")));
    return good;
}

static bool note_all(conversion *c, const rlx_function *f)
{
    rlx_seq_cursor at = rlx_seq_cursor_begin(f->body);
    enum rlx_event_kind event;
    bool good = rlx_use_def_find(&c->uses, c->ctx, &f->node);
    while (good && (event = rlx_seq_cursor_next(&at)) != RLX_EVENT_DONE)
        if (event == RLX_EVENT_BIND)
            good = note(c, at.binding);
    return good;
}

static bool is_for_others(const rlx_function *f)
{
    static const char *const marks[] = { "Codegen", "Composite", "Primitive" };
    bool is = false;
    for (size_t i = 0; i < RLX_COUNT(marks); i++)
        is |= rlx_attrs_get(f->attrs, marks[i]) != NULL;
    return is;
}

static const rlx_function *find_turning(rlx_mutator *m, const rlx_function *f, bool *keep)
{
    conversion *c = m->user;
    if (c->uses.ctx)
        rlx_use_def_free(&c->uses);
    c->uses.ctx = NULL;
    rlx_cut_free(&c->cut);
    c->cut = (rlx_cut){ .memory = &c->ctx->memory };
    c->solved = false;
    c->handings.len = c->all.len = 0;
    rlx_ptrmap_clear(&c->outside);
    rlx_ptrmap_clear(&c->numbers);
    rlx_ptrmap_clear(&c->turned);
    *keep = true;
    bool found = false;
    if (!is_for_others(f) && !find_turn(c, f, &found))
        return NULL;
    if (!found)
        return f;
    if (!note_all(c, f) || !choose(c))
        return NULL;
    for (size_t i = 0; i < c->all.len && *keep; i++)
        *keep = !turns(c, &c->all.data[i]);
    return f;
}

/* ---- what becomes of them ----------------------------------------------------------------------- */

static const rlx_expr *permuted(rlx_context *ctx, const rlx_expr *x, const int64_t *axes, size_t count, rlx_place place)
{
    return rlx_op_call(ctx, "permute_dims", x, NULL, "axes", rlx_ints_attr(ctx, axes, count), place);
}

static const rlx_var *bind(rlx_mutator *m, const rlx_expr *value, const rlx_var *like, bool again, rlx_place place)
{
    rlx_emit how = { .name = like->name, .number = like->number, .place = place, .var_place = like->place,
                     .var = again ? like : NULL,
                     .output = like->node.kind == RLX_NODE_VAR && rlx_builder_in_dataflow(m->builder) };
    return value ? rlx_builder_emit(m->builder, value, &how) : NULL;
}

/* A tensor of the rank that comes in, with its axes turned: bound once for each block. */
static const rlx_expr *turn_in(rlx_mutator *m, const rlx_expr *e, rlx_place place)
{
    conversion *c = m->user;
    const rlx_var *v = rlx_as_var(e);
    const rlx_call *from = permutation_of(c, e);
    const rlx_expr *now = rlx_mutator_now(m, e), *x = from ? rlx_mutator_now(m, from->args[0]) : NULL;
    int64_t axes[RLX_LAYOUT_MAX_RANK];
    if (!v)
        return permuted(c->ctx, now, c->turn.order, c->turn.rank, place);
    if (!x || !rlx_as_var(x) || turns(c, maker_of(c, from->args[0])) || !rlx_builder_sees_var(m->builder, rlx_as_var(x)))
        from = NULL;
    const rlx_expr *out = from && permuted_axes(c, from, c->turn.order, axes) ? x : NULL;
    if (!out) {
        rlx_emit how = { .name = v->name, .number = v->number, .place = place };
        const rlx_expr *value = permuted(c->ctx, from ? x : now, from ? axes : c->turn.order, c->turn.rank, place);
        out = value ? (const rlx_expr *)rlx_builder_emit(m->builder, value, &how) : NULL;
    }
    return out && rlx_ptrmap_put(&c->turned, v, (uintptr_t)out) ? out : NULL;
}

static const rlx_expr *turned(rlx_mutator *m, const rlx_expr *e, rlx_place place)
{
    conversion *c = m->user;
    uintptr_t have = 0;
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(rlx_leaf_sinfo(c->ctx, &c->env, e));
    if (rlx_as_var(e) && rlx_ptrmap_find(&c->turned, e, &have) && rlx_builder_sees_var(m->builder, (const rlx_var *)have))
        return (const rlx_expr *)have;
    if (!t || t->ndim == 0)
        return rlx_mutator_now(m, e);
    if (t->ndim == (int)c->turn.rank)
        return turn_in(m, e, place);
    int64_t added[RLX_LAYOUT_MAX_RANK];  /* one of fewer axes, which lie along the last ones */
    size_t count = c->turn.rank - (size_t)t->ndim;
    for (size_t i = 0; i < count; i++)
        added[i] = (int64_t)i;
    const rlx_expr *wide = rlx_op_call(c->ctx, "expand_dims", rlx_mutator_now(m, e), NULL, "axis",
                                       rlx_ints_attr(c->ctx, added, count), place);
    return wide ? permuted(c->ctx, wide, c->turn.order, c->turn.rank, place) : NULL;
}

static const rlx_expr *turned_operand(rlx_mutator *m, const turnable *t, size_t i)
{
    conversion *c = m->user;
    const rlx_expr *e = t->call->args[i];
    const rlx_tuple *tuple = rlx_as_tuple(e);
    rlx_layout_turn weights;
    if (rlx_layout_is_anchor(t->row) && i == 1 && rlx_layout_weights_turn(&c->turn, t->call, &weights))
        return permuted(c->ctx, rlx_mutator_now(m, e), weights.order, weights.rank, t->call->place);
    if (!rlx_layout_turns_operand(t->row, i))
        return rlx_mutator_now(m, e);
    if (!tuple)
        return turned(m, e, t->call->place);
    size_t bytes = (tuple->num_fields + 1) * sizeof(const rlx_expr *);
    const rlx_expr **fields = rlx_mem_alloc(&c->ctx->memory, bytes), *out = NULL;
    bool good = fields != NULL;
    for (size_t k = 0; good && k < tuple->num_fields; k++)
        good = (fields[k] = turned(m, tuple->fields[k], t->call->place)) != NULL;
    out = good ? rlx_tuple_new(c->ctx, fields, tuple->num_fields, tuple->place) : NULL;
    rlx_mem_free(&c->ctx->memory, fields, bytes);
    return out;
}

/* The value with its operands turned. */
static const rlx_expr *turned_value(rlx_mutator *m, const turnable *t)
{
    conversion *c = m->user;
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(rlx_binding_value(t->binding));
    if (get)
        return rlx_tuple_get_item_new(c->ctx, rlx_mutator_now(m, get->tuple), get->index, get->place);
    const rlx_expr *args[RLX_LAYOUT_MOST_ARGS];
    if (t->call->num_args > RLX_LAYOUT_MOST_ARGS)
        return RLX_BUG(c->ctx, "%zu arguments", (size_t)t->call->num_args);
    for (size_t i = 0; i < t->call->num_args; i++)
        if (!(args[i] = turned_operand(m, t, i)))
            return NULL;
    const rlx_attr *attrs = rlx_layout_attrs(c->ctx, &c->turn, t->row, t->call);
    return attrs || !t->call->attrs ? rlx_call_new(c->ctx, t->call->op, args, t->call->num_args, NULL, 0, attrs, t->call->place) : NULL;
}

/* What only reads keeps its variable; a permutation of nothing is what it would permute. */
static bool write_reader(rlx_mutator *m, const turnable *t, const rlx_expr *value)
{
    conversion *c = m->user;
    const rlx_call *call = rlx_as_call(value), *p = permutation_of(c, &t->var->node);
    int64_t axes[RLX_LAYOUT_MAX_RANK];
    if (p && call && permuted_axes(c, call, NULL, axes))
        value = call->args[0];
    return bind(m, value, t->var, true, t->call->place) != NULL;
}

/* Do others read its value in its old order? */
static bool leaves(const conversion *c, const turnable *t)
{
    const rlx_var_uses *u = rlx_uses_of(&c->uses, &t->var->node);
    bool leaves = false;
    for (size_t i = 0; u && i < u->count && !gives_tuple(t); i++) {
        const rlx_use *use = &c->uses.uses[u->first + i];
        leaves |= use->kind != RLX_USE_VALUE || !turns(c, turnable_of(c, use->by));
    }
    return leaves;
}

static enum rlx_begin begin_binding(rlx_mutator *m, const rlx_binding *old, rlx_place *place)
{
    conversion *c = m->user;
    const turnable *t = turnable_of(c, old);
    (void)place;
    if (!turns(c, t))
        return RLX_BEGIN_REWRITE;
    const rlx_expr *value = turned_value(m, t);
    if (t->result == RLX_LAYOUT_READS)
        return value && write_reader(m, t, value) ? RLX_BEGIN_DONE : RLX_BEGIN_FAILED;
    const rlx_place at = rlx_place_of(rlx_binding_value(old));
    const rlx_var *now = bind(m, value, t->var, false, at);
    if (!now)
        return RLX_BEGIN_FAILED;
    bool good = gives_tuple(t) ? rlx_ptrmap_put(&m->vars, t->var, (uintptr_t)now)
                               : rlx_ptrmap_put(&c->turned, t->var, (uintptr_t)now);
    if (good && leaves(c, t))
        good = bind(m, permuted(c->ctx, &now->node, c->turn.back, c->turn.rank, at), t->var, true, at) != NULL;
    return good ? RLX_BEGIN_DONE : RLX_BEGIN_FAILED;
}

const rlx_module *rlx_pass_convert_layout(rlx_pass_run *run, const rlx_module *m)
{
    rlx_mutator_hooks hooks = { .begin = begin_binding };
    conversion c = { .ctx = run->ctx, .env = rlx_module_env(m), .run = run, .permute = rlx_op_find(RLX_SLICE("permute_dims")) };
    rlx_mutation how = { .hooks = &hooks, .user = &c, .enter = find_turning };
    rlx_ptrmap_init(&c.numbers, &run->ctx->memory);
    rlx_ptrmap_init(&c.turned, &run->ctx->memory);
    rlx_ptrmap_init(&c.outside, &run->ctx->memory);
    c.cut.memory = &run->ctx->memory;
    const rlx_module *out = rlx_find_written(run->ctx, m, &c.written) ? rlx_mutate_module(run->ctx, m, &how) : NULL;
    if (out && out != m) /* what leaves in its old order only need not leave in the new one */
        out = rlx_narrow_outputs(run->ctx, out);
    if (c.uses.ctx)
        rlx_use_def_free(&c.uses);
    rlx_written_free(&c.written);
    rlx_vec_free(&run->ctx->memory, &c.all);
    rlx_ptrmap_free(&c.numbers);
    rlx_ptrmap_free(&c.turned);
    rlx_ptrmap_free(&c.outside);
    rlx_vec_free(&run->ctx->memory, &c.handings);
    rlx_cut_free(&c.cut);
    return out;
}
