/*- inline.c: nests that hand each other elements become one.
 *
 *     for i, j:  T[i, j] = A[i, j] + B[j]                 for i, j:  t = A[i, j] + B[j]
 *     for i, j:  U[i, j] = T[i, j] * T[i, j]        ->               Y[i, j] = t * t
 *     for i, j:  Y[i, j] = U[i, j]                                   Z[i, j] = exp(t)
 *     for i, j:  Z[i, j] = exp(T[i, j])
 *
 *     for i, j:  T[i, j] = A[i, j] * 2              ->    for j, i:  Y[j, i] = A[i, j] * 2 + B[j]
 *     for j, i:  Y[j, i] = T[i, j] + B[j]
 *
 * Nests over the same loops are merged where the second reads what the first stores, or both read the same: what is passed on
 * in an iteration is a value of it. Loads at other places are replaced by what was stored there, if it is computed no more
 * often than before, or is next to nothing. Only what cannot fail is computed elsewhere than it was.
 *
 * A sum loads a value in the same way if it is one instruction then, too; of products what was copied alone.
 *
 * Nothing else may happen between the two: a nest moves down to the other one if no statement between them loads what it
 * stores, or stores what it touches; or the other moves up.
 *
 * A value has the dtype of the buffer that it was stored to, and so is rounded as it was.
 */
#include "schedule/pointwise.h"

#include "schedule/plan_int.h"

enum {
    MOST_STORES = 48,       /* of a nest */
    MOST_PARTS = 256,       /* of a value in another place, counted as a tree */
    CHEAP_PARTS = 8,        /* of one that may be computed again */
    SUMMED_PARTS = 48,      /* of one that may be summed up as it is computed */
    MOST_AGAIN = 3,
    ROUNDS = 8,             /* loads in what loads were replaced by */
    SHORT_STRIP = 64,
    SHORT_COPY = 128,       /* beside long strips a box of rows that are no longer is copied on its own */
    LONG_STRIP = 256
};

/* A statement of a sequence; points: what it is, unless it is another kind of statement. Neither: it is elsewhere now. */
typedef struct slot { const rlx_stmt *stmt; rlx_pointwise *points; } slot;

typedef struct inlining {
    rlx_context *ctx;
    rlx_accesses *all;
    const rlx_seq_stmt *seq;
    slot *slots;
    rlx_ptrmap readers;              /* memory -> loads, by statements */
    rlx_order order;                 /* of slots: their numbers + 1 */
    rlx_ptrmap storer, loader;       /* memory -> the last slot + 1 of elements that does so */
} inlining;

/* A temporary that one store fills, and whose loads all stand in the sequence. */
static bool is_private(const inlining *x, const rlx_node *memory)
{
    return rlx_is_temporary_of(x->all, &x->seq->node, memory) && rlx_number_in(&x->all->stored, memory) == 1;
}

static enum rlx_step count_reader(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    inlining *x = user;
    if (n->kind == RLX_NODE_BUFFER_LOAD)
        (void)rlx_add_in(&x->readers, rlx_plan_memory(((const rlx_buffer_load *)n)->buffer), 1);
    return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* ---- order ---------------------------------------------------------------------------------- */

static bool note_points(inlining *x, const rlx_pointwise *p, uintptr_t at)
{
    bool ok = true;
    for (size_t i = 0; i < p->loads.len && ok; i++) {
        const rlx_node *memory = rlx_plan_memory(p->loads.data[i].load->buffer);
        ok = rlx_note_access(&x->order, memory, true, false, at) && rlx_ptrmap_put(&x->loader, memory, at);
    }
    for (size_t i = 0; i < p->stores.len && ok; i++) {
        const rlx_node *memory = p->stores.data[i].buffer->data;
        ok = rlx_note_access(&x->order, memory, false, true, at) && rlx_ptrmap_put(&x->storer, memory, at);
    }
    return ok;
}

/* May p, of slot `from`, run later, behind all slots there are? Or p, which comes last, right behind slot `from`? */
static bool may_move(const inlining *x, const rlx_pointwise *p, uintptr_t from)
{
    bool may = true;
    for (size_t i = 0; i < p->loads.len && may; i++)
        may = rlx_may_pass(&x->order, rlx_plan_memory(p->loads.data[i].load->buffer), false, from);
    for (size_t i = 0; i < p->stores.len && may; i++)
        may = rlx_may_pass(&x->order, p->stores.data[i].buffer->data, true, from);
    return may;
}

/* ---- merging -------------------------------------------------------------------------------- */

static int loop_number(const rlx_pointwise *p, const rlx_prim *var)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->loops[i].var == var)
            return (int)i;
    return -1;
}

/* The loops of `first` that those of `next` are, as a load of what is stored says it. */
static bool match_load(const rlx_pointwise *first, const rlx_pointwise *next, const rlx_point_store *s,
                       const rlx_buffer_load *l, rlx_sched_loop *to)
{
    for (size_t d = 0; d < s->num_indices && d < l->num_indices; d++) {
        int a = loop_number(first, s->indices[d]), b = loop_number(next, l->indices[d]);
        if (a < 0 && b < 0)
            continue;
        if (a < 0 || b < 0 || (to[b].var && to[b].var != first->loops[a].var))
            return false;
        to[b] = first->loops[a];
    }
    return true;
}

static bool are_same_loops(rlx_context *ctx, const rlx_pointwise *next, const rlx_sched_loop *to)
{
    bool same = true;
    for (size_t i = 0; i < next->count && same; i++) {
        same = to[i].var && rlx_prim_dtype(to[i].var) == rlx_prim_dtype(next->loops[i].var) &&
               rlx_prove_equal(ctx, NULL, to[i].extent, next->loops[i].extent) == RLX_EQUAL;
        for (size_t k = 0; k < i && same; k++)
            same = to[k].var != to[i].var;
    }
    return same;
}

/* Which loops of `first` those of `next` are: by the first load of what that stores, else by their order. */
static bool match_loops(rlx_context *ctx, const rlx_pointwise *first, const rlx_pointwise *next, rlx_sched_loop *to)
{
    memset(to, 0, next->count * sizeof *to);
    if (first->count != next->count)
        return false;
    for (size_t i = 0; i < next->loads.len; i++) {
        const rlx_buffer_load *l = next->loads.data[i].load;
        const rlx_point_store *s = rlx_find_store(first, rlx_plan_memory(l->buffer));
        if (s)
            return match_load(first, next, s, l, to) && are_same_loops(ctx, next, to);
    }
    memcpy(to, first->loops, first->count * sizeof *to);
    return are_same_loops(ctx, next, to);
}

static bool is_at(const rlx_point_store *s, const rlx_node *buffer, const rlx_prim *const *indices, size_t count)
{
    return buffer == &s->buffer->node && count == s->num_indices &&
           !memcmp(indices, s->indices, count * sizeof *indices);
}

/* Is what one of them stores touched by the other at the same place only? They have the same loops. */
static bool meet_in_place(const rlx_pointwise *first, const rlx_pointwise *next)
{
    const rlx_pointwise *both[2] = { first, next };
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->loads.len; i++) {
            const rlx_buffer_load *l = both[k]->loads.data[i].load;
            const rlx_point_store *s = rlx_find_store(both[1 - k], rlx_plan_memory(l->buffer));
            if (s && !is_at(s, l->buffer, l->indices, l->num_indices))
                return false;
        }
    for (size_t i = 0; i < next->stores.len; i++)
        if (rlx_find_store(first, next->stores.data[i].buffer->data))
            return false;
    return true;
}

/* Does it read what the first stores, or also reads? */
static bool shares_elements(const rlx_pointwise *first, const rlx_pointwise *next)
{
    for (size_t i = 0; i < next->loads.len; i++) {
        const rlx_buffer_load *l = next->loads.data[i].load;
        if (rlx_find_store(first, rlx_plan_memory(l->buffer)))
            return true;
        for (size_t k = 0; k < first->loads.len; k++)
            if (first->loads.data[k].load == l)
                return true;
    }
    return false;
}

/* An instruction for several operations of rows, or for short ones, is better than strips. */
static bool is_row_instruction(const rlx_pointwise *p)
{
    return p->form == RLX_PLAN_NORMALIZE || (p->form == RLX_PLAN_MAP && p->strip < LONG_STRIP);
}

typedef struct division { bool quotient, remainder; } division;

static enum rlx_step find_division(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    division *d = user;
    d->quotient |= n->kind == RLX_NODE_FLOOR_DIV;
    d->remainder |= n->kind == RLX_NODE_FLOOR_MOD;
    return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* A copy that repeats elements, by quotients of places (digits.c). */
static bool repeats(rlx_context *ctx, const rlx_pointwise *p)
{
    division d = { false, false };
    rlx_walker w = { .enter = find_division, .user = &d, .unique = true };
    if (p->stores.len != 1 || p->stores.data[0].value->kind != RLX_NODE_BUFFER_LOAD)
        return false;
    rlx_walk(&ctx->memory, p->stores.data[0].value, &w, NULL);
    return d.quotient && !d.remainder;
}

/* Are its elements those of others, chosen at most? */
static bool only_moves(const rlx_pointwise *p)
{
    bool moves = true;
    for (size_t i = 0; i < p->stores.len && moves; i++) {
        const rlx_prim *v = p->stores.data[i].value, *cond, *then, *other;
        while (moves && rlx_tir_is_choice(v, &cond, &then, &other)) {
            moves = then->kind == RLX_NODE_BUFFER_LOAD || !rlx_tir_num_operands(then);
            v = other;
        }
        moves = moves && (v->kind == RLX_NODE_BUFFER_LOAD || !rlx_tir_num_operands(v));
    }
    return moves;
}

/* Repeating is a copy on its own, and a division for each element where something is computed. */
static bool repeats_for(rlx_context *ctx, const rlx_pointwise *from, const rlx_pointwise *p) { return repeats(ctx, from) && !only_moves(p); }

/* Long strips are not made short ones, but by what may be an instruction for rows, or one chain of each row. */
static bool suits(const rlx_pointwise *first, const rlx_pointwise *next)
{
    int64_t least = first->strip < next->strip ? first->strip : next->strip,
            most = first->strip < next->strip ? next->strip : first->strip;
    bool rows = is_row_instruction(first) || is_row_instruction(next) || first->biased;
    const rlx_pointwise *copy = next->form == RLX_PLAN_COPY ? next : first;
    if (copy->form == RLX_PLAN_COPY && copy->strip == least && least < SHORT_COPY && most >= LONG_STRIP)
        return false;
    return (rows || least >= SHORT_STRIP || most / 2 <= least) && first->transposes == next->transposes &&
           first->stores.len + next->stores.len <= MOST_STORES;
}

static rlx_pointwise *copy_of(rlx_context *ctx, const rlx_pointwise *p)
{
    rlx_pointwise *c = rlx_new(ctx, sizeof *c);
    if (!c)
        return NULL;
    *c = *p;
    c->stores.data = NULL, c->loads.data = NULL;
    c->stores.len = c->stores.cap = c->loads.len = c->loads.cap = 0;
    for (size_t i = 0; i < p->stores.len; i++)
        if (!rlx_vec_push(&ctx->memory, &c->stores, p->stores.data[i])) {
            rlx_free_pointwise(ctx, c);
            return NULL;
        }
    return c;
}

/* All of `next`, with the loops of `first`, behind it. */
static bool append_points(rlx_context *ctx, rlx_pointwise *first, const rlx_pointwise *next)
{
    bool ok = true;
    for (size_t i = 0; i < next->stores.len && ok; i++)
        ok = rlx_vec_push(&ctx->memory, &first->stores, next->stores.data[i]);
    for (size_t i = 0; i < next->loads.len && ok; i++)
        ok = rlx_vec_push(&ctx->memory, &first->loads, next->loads.data[i]);
    first->original = NULL;
    first->biased = first->biased && next->form == RLX_PLAN_STRIP;
    first->form = first->form == next->form ? first->form : RLX_PLAN_STRIP;
    first->strip = first->strip < next->strip ? first->strip : next->strip;
    return ok;
}

/* Is the merged nest such an instruction, too? What of `first` one load alone needs is no more stored. */
static bool stays_row_instruction(const inlining *x, const rlx_pointwise *first, const rlx_pointwise *next, bool *is)
{
    rlx_context *ctx = x->ctx;
    rlx_pointwise *both = copy_of(ctx, first);
    rlx_ptrmap locals;
    rlx_nest_plan plan;
    bool ok = both && append_points(ctx, both, next);
    rlx_ptrmap_init(&locals, &ctx->memory);
    for (size_t i = 0; i < first->stores.len && ok; i++) {
        const rlx_node *memory = first->stores.data[i].buffer->data;
        if (is_private(x, memory) && rlx_number_in(&x->readers, memory) == 1)
            ok = rlx_ptrmap_put(&locals, memory, 1);
    }
    const rlx_stmt *nest = ok ? rlx_write_pointwise(ctx, both, &locals) : NULL;
    ok = nest && rlx_plan_nest(ctx, &rlx_plan_everywhere, rlx_as_for_stmt(nest), &plan);
    *is = ok && (plan.form == RLX_PLAN_NORMALIZE || plan.form == RLX_PLAN_MAP);
    if (nest)
        rlx_nest_plan_free(ctx, &plan);
    if (both)
        rlx_free_pointwise(ctx, both);
    rlx_ptrmap_free(&locals);
    return ok;
}

static enum rlx_step find_unchained(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    static const char *const chained[] = { "fabs", "sqrt", "exp", "sigmoid", "tanh", "erf" };
    const rlx_prim_call *call = rlx_as_prim_call(n);
    if (n->kind == RLX_NODE_BUFFER_LOAD)
        return ((const rlx_buffer_load *)n)->predicate ? RLX_STEP_STOP : RLX_STEP_SKIP;
    for (size_t i = 0; call && call->op && i < RLX_COUNT(chained); i++)
        if (rlx_slice_is(rlx_string_slice(call->op), chained[i]))
            return RLX_STEP_ON;
    switch (n->kind) {
    case RLX_NODE_ADD: case RLX_NODE_SUB: case RLX_NODE_MUL: case RLX_NODE_DIV: case RLX_NODE_MIN: case RLX_NODE_MAX:
    case RLX_NODE_FLOAT_IMM: return RLX_STEP_ON;
    default: return RLX_STEP_STOP;
    }
}

/* Elements of float32 that are one chain of functions. */
static bool is_chain(rlx_context *ctx, const rlx_pointwise *p)
{
    rlx_walker w = { .enter = find_unchained };
    bool is = true;
    for (size_t i = 0; i < p->stores.len && is; i++)
        is = p->stores.data[i].buffer->dtype == RELAX_FLOAT32 && rlx_walk(&ctx->memory, p->stores.data[i].value, &w, NULL) != RLX_STEP_STOP;
    for (size_t i = 0; i < p->loads.len && is; i++)
        is = rlx_as_buffer(p->loads.data[i].load->buffer)->dtype == RELAX_FLOAT32;
    return is;
}

/* A bias of each row? What this sequence computes for rows of several dimensions, as softmax does, belongs to instructions on rows. */
static bool is_bias(const inlining *x, const rlx_pointwise *first)
{
    bool bias = first->form == RLX_PLAN_MAP && first->stores.len == 1 && first->stores.data[0].value->kind == RLX_NODE_ADD &&
                first->stores.data[0].buffer->dtype == RELAX_FLOAT32;
    for (size_t i = 0; i < first->loads.len && bias; i++) {
        const rlx_buffer *b = rlx_as_buffer(first->loads.data[i].load->buffer);
        bias = b->num_shape <= 1 || !is_private(x, b->data) || first->loads.data[i].load->num_indices == first->stores.data[0].num_indices;
    }
    return bias;
}

/* A bias, and functions of what it gives: where they are a chain the bias is one step more, and nothing lies in memory between the two. */
static bool begins_chain(const inlining *x, const rlx_pointwise *first, const rlx_pointwise *next)
{
    bool bias = first->biased || is_bias(x, first);
    return bias && next->form == RLX_PLAN_STRIP && is_chain(x->ctx, next);
}

/* Integers that become floats in strips, which are one chain with what is computed of them: an instruction for rows would read them from memory. */
static bool begins_with_integers(const inlining *x, const rlx_pointwise *first, const rlx_pointwise *next)
{
    bool integers = false;
    for (size_t i = 0; i < first->loads.len; i++) {
        const rlx_dtype dtype = rlx_as_buffer(first->loads.data[i].load->buffer)->dtype;
        integers |= dtype == RELAX_INT32 || dtype == RELAX_INT8 || dtype == RELAX_UINT8;
    }
    return integers && first->form == RLX_PLAN_STRIP && is_chain(x->ctx, next);
}

/* Slot `from` and the one at *at, which comes last, become one if they may; *at is where. False: out of memory. */
static bool merge_slots(inlining *x, size_t from, size_t *at)
{
    rlx_context *ctx = x->ctx;
    rlx_pointwise *first = x->slots[from].points, *next = x->slots[*at].points;
    rlx_sched_loop to[RLX_TIR_MAX_DIMS];
    bool sinks = may_move(x, first, from + 1);
    if (!suits(first, next) || repeats_for(ctx, first, next) || (!sinks && !may_move(x, next, from + 1)) || !match_loops(ctx, first, next, to))
        return !ctx->diags.out_of_memory;
    rlx_pointwise *renamed = copy_of(ctx, next);
    if (!renamed)
        return false;
    bool ok = rlx_rename_loops(ctx, renamed, to), merge = ok && meet_in_place(first, renamed) && shares_elements(first, renamed);
    bool chain = merge && begins_chain(x, first, renamed);
    if (merge && begins_with_integers(x, first, renamed))
        chain = false;
    else if (merge && (is_row_instruction(first) || is_row_instruction(next)))
        ok = stays_row_instruction(x, first, renamed, &merge);
    else if (merge && first->biased)
        merge = false;
    if (ok && (merge || chain)) {
        first->biased = !merge;
        ok = append_points(ctx, first, renamed);
        rlx_free_pointwise(ctx, next);
        x->slots[sinks ? from : *at].points = NULL;
        *at = sinks ? *at : from;
        x->slots[*at].points = first;
    }
    rlx_free_pointwise(ctx, renamed);
    return ok;
}

/* Strips that are stored for others than the nests of this sequence? What these read may rather be computed where it is packed. */
static bool is_result(const inlining *x, const rlx_pointwise *p)
{
    bool is = p->form == RLX_PLAN_STRIP;
    for (size_t i = 0; i < p->stores.len && is; i++)
        is = !is_private(x, p->stores.data[i].buffer->data);
    return is;
}

/* With every nest of elements that it reads from; of results, if there is none, with one that reads the same. */
static bool merge_with_producers(inlining *x, size_t at)
{
    bool ok = true, any = false;
    for (int what = 0; what < 2 && !any && ok; what++)
        for (size_t i = 0; ok && i < x->slots[at].points->loads.len; i++) {
            const rlx_node *memory = rlx_plan_memory(x->slots[at].points->loads.data[i].load->buffer);
            size_t from = rlx_number_in(what ? &x->loader : &x->storer, memory), was = at;
            rlx_pointwise *before = x->slots[at].points;
            if (!from-- || from >= at || !x->slots[from].points ||
                (what && !(is_result(x, before) && is_result(x, x->slots[from].points))))
                continue;
            ok = merge_slots(x, from, &at);
            if (x->slots[at].points != before || was != at) {
                any = true;
                i = (size_t)-1; /* its loads are others now */
            }
        }
    return ok && note_points(x, x->slots[at].points, at + 1);
}

/* ---- values at other places ----------------------------------------------------------------- */

static enum rlx_step find_work(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    switch (n->kind) {
    case RLX_NODE_BUFFER: return RLX_STEP_SKIP;
    case RLX_NODE_PRIM_CALL: case RLX_NODE_DIV: case RLX_NODE_MOD: case RLX_NODE_FLOOR_DIV: case RLX_NODE_FLOOR_MOD:
        return RLX_STEP_STOP;
    default: return RLX_STEP_ON;
    }
}

/* May it be computed a few times instead of once? */
static bool is_cheap(rlx_context *ctx, const rlx_prim *value)
{
    rlx_walker w = { .enter = find_work, .unique = true };
    return rlx_prim_parts(value) <= CHEAP_PARTS && rlx_walk(&ctx->memory, value, &w, NULL) != RLX_STEP_STOP;
}

static bool is_leaf(const rlx_prim *value)
{
    return value->kind == RLX_NODE_BUFFER_LOAD || !rlx_tir_num_operands(value);
}

/* Does the load go to another element in each iteration? Known where each loop stands in an index of its own. */
static bool reads_each_once(rlx_context *ctx, const rlx_pointwise *p, const rlx_buffer_load *l)
{
    const rlx_prim *vars[RLX_TIR_MAX_DIMS];
    bool told[RLX_TIR_MAX_DIMS] = { false }, all = true;
    for (size_t i = 0; i < p->count; i++)
        vars[i] = p->loops[i].var;
    for (size_t d = 0; d < l->num_indices; d++) {
        rlx_tir_affine a;
        int64_t c;
        int alone = -1;
        if (!rlx_tir_affine_of(ctx, l->indices[d], vars, p->count, &a))
            continue;
        for (size_t i = 0; i < p->count; i++)
            if (a.coeff[i] && !rlx_is_int_value(a.coeff[i], 0))
                alone = alone == -1 && rlx_int_literal(a.coeff[i], &c) ? (int)i : -2;
        if (alone >= 0)
            told[alone] = true;
    }
    for (size_t i = 0; i < p->count; i++)
        all = all && told[i];
    return all;
}

static bool is_identity(rlx_context *ctx, const rlx_pointwise *from, const rlx_pointwise *p, const rlx_point_store *s,
                        const rlx_buffer_load *l)
{
    rlx_sched_loop to[RLX_TIR_MAX_DIMS] = { { 0 } };
    return from->count == p->count && match_load(from, p, s, l, to) && are_same_loops(ctx, p, to);
}

/* Is what the values of slot `at` load still what it was then? */
static bool is_unchanged(const inlining *x, const rlx_point_loads *loads, size_t at)
{
    bool is = true;
    for (size_t i = 0; i < loads->len && is; i++) {
        const rlx_node *memory = rlx_plan_memory(loads->data[i].load->buffer);
        is = rlx_number_in(&x->order.last_store, memory) <= at + 1 &&
             (!rlx_find_store(x->slots[at].points, memory) || is_private(x, memory));
    }
    return is;
}

/* Is any of it stored by p? */
static bool are_stored(const rlx_pointwise *p, const rlx_point_loads *loads)
{
    bool any = false;
    for (size_t i = 0; i < loads->len && !any; i++)
        any = rlx_find_store(p, rlx_plan_memory(loads->data[i].load->buffer)) != NULL;
    return any;
}

static bool cannot_fail(rlx_context *ctx, const rlx_point_store *s)
{
    rlx_producer p = { .buffer = s->buffer, .value = s->value };
    for (size_t d = 0; d < s->num_indices; d++)
        p.vars[d] = s->indices[d];
    return rlx_is_safe_producer(ctx, &p);
}

typedef struct replacing {
    inlining *x;
    const rlx_pointwise *p;
    const rlx_point_loads *loads;
    bool any;
} replacing;

/* Short rows that were copied so that a long strip reads several of them at once. */
static bool is_in_planes(const replacing *r, const rlx_pointwise *from, const rlx_node *memory)
{
    size_t loads = 0;
    if (from->form != RLX_PLAN_COPY || from->strip >= SHORT_COPY || r->p->strip < LONG_STRIP || only_moves(r->p))
        return false;
    for (size_t i = 0; i < r->loads->len; i++)
        loads += rlx_plan_memory(r->loads->data[i].load->buffer) == memory;
    return loads > 1;
}

/* May the load become what was stored there? */
static bool may_replace(const replacing *r, const rlx_point_load *l, const rlx_pointwise *from, size_t slot_at,
                        const rlx_point_store *s)
{
    inlining *x = r->x;
    rlx_point_loads leaves = { 0 };
    const rlx_node *memory = s->buffer->data;
    uintptr_t readers = rlx_number_in(&x->readers, memory);
    bool leaf = is_leaf(s->value), once = reads_each_once(x->ctx, r->p, l->load);
    if (!s->whole || !l->sure || l->load->num_indices != s->num_indices || !is_private(x, memory) || from->transposes || repeats_for(x->ctx, from, r->p) ||
        is_in_planes(r, from, memory) || is_identity(x->ctx, from, r->p, s, l->load))
        return false;
    if (!leaf && !(once && (readers == 1 || (readers <= MOST_AGAIN && is_cheap(x->ctx, s->value)))))
        return false;
    bool ok = rlx_prim_parts(s->value) <= MOST_PARTS && rlx_collect_loads(x->ctx, s->value, &leaves) &&
              (!r->p->transposes || (leaves.len <= 1 && !is_leaf(r->p->stores.data[0].value))) &&
              is_unchanged(x, &leaves, slot_at) && !are_stored(r->p, &leaves) && cannot_fail(x->ctx, s);
    for (size_t i = 0; ok && readers > 1 && i < leaves.len; i++)
        ok = rlx_add_in(&x->readers, rlx_plan_memory(leaves.data[i].load->buffer), 1);
    rlx_vec_free(&x->ctx->memory, &leaves);
    return ok;
}

static const rlx_prim *value_at(rlx_context *ctx, const rlx_point_store *s, const rlx_buffer_load *l)
{
    rlx_rewriter r;
    rlx_tir_folder_init(&r, ctx);
    for (size_t d = 0; d < s->num_indices; d++)
        if (s->indices[d]->kind == RLX_NODE_PRIM_VAR)
            (void)rlx_ptrmap_put(&r.map, s->indices[d],
                                 (uintptr_t)rlx_fold_cast(ctx, rlx_prim_dtype(s->indices[d]), l->indices[d]));
    const rlx_prim *value = rlx_rewrite(&r, s->value);
    rlx_rewriter_free(&r);
    return value;
}

static const rlx_node *replace_load(rlx_rewriter *w, const rlx_node *n)
{
    replacing *r = w->user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    size_t at = l ? rlx_number_in(&r->x->storer, rlx_plan_memory(l->buffer)) : 0;
    const rlx_pointwise *from = at ? r->x->slots[at - 1].points : NULL;
    const rlx_point_store *s = from ? rlx_find_store(from, rlx_plan_memory(l->buffer)) : NULL;
    const rlx_point_load *known = NULL;
    for (size_t i = 0; s && i < r->loads->len; i++)
        if (r->loads->data[i].load == l)
            known = &r->loads->data[i];
    if (!known || !may_replace(r, known, from, at - 1, s))
        return NULL;
    const rlx_prim *value = value_at(r->x->ctx, s, l);
    w->failed |= !value;
    r->any = true;
    return value;
}

/* Loads of the nest that are replaced by values, and loads in these again. */
static bool replace_loads(inlining *x, rlx_pointwise *p)
{
    rlx_point_store *s = &p->stores.data[0];
    for (int round = 0; round < ROUNDS; round++) {
        replacing r = { x, p, &p->loads, false };
        rlx_rewriter w;
        rlx_tir_folder_init(&w, x->ctx);
        w.before = replace_load;
        w.user = &r;
        const rlx_prim *value = rlx_rewrite(&w, s->value);
        rlx_rewriter_free(&w);
        if (!value)
            return false;
        if (!r.any || rlx_prim_parts(value) > MOST_PARTS)
            break;
        s->value = value;
        if (!rlx_renew_loads(x->ctx, p))
            return false;
    }
    return true;
}

/* ---- what sums load ------------------------------------------------------------------------- */

static bool plan_sum(rlx_context *ctx, const rlx_for_stmt *nest, rlx_nest_plan *plan)
{
    return rlx_plan_nest(ctx, &rlx_plan_everywhere, nest, plan) && (plan->form == RLX_PLAN_PARTIAL || plan->form == RLX_PLAN_FUSED);
}

static bool is_contraction(const rlx_nest_plan *plan) { return plan->form == RLX_PLAN_FUSED && plan->fused.contract; }

/* Does every loop move the access? Then each of its elements is read once. */
static bool is_read_once(const rlx_nest_plan *plan, const rlx_plan_access *a)
{
    bool once = true;
    for (size_t i = 0; i < plan->count && once; i++)
        once = rlx_plan_moves(a, (int)i) || rlx_is_int_value(plan->loops[i].extent, 1);
    return once;
}

static const rlx_node *put_value(rlx_rewriter *r, const rlx_node *n)
{
    const void *const *pair = r->user;
    return n == pair[0] ? pair[1] : NULL;
}

typedef struct expanding { const inlining *x; const rlx_pointwise *p; bool any; } expanding;

static const rlx_node *expand_load(rlx_rewriter *r, const rlx_node *n)
{
    expanding *e = r->user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_point_store *s = l ? rlx_find_store(e->p, rlx_plan_memory(l->buffer)) : NULL;
    bool may = s && is_private(e->x, s->buffer->data);
    e->any |= may;
    return may ? s->value : NULL;
}

/* The store with a value that loads no temporary that p itself fills; a long one may still do so. False: out of memory. */
static bool expand_store(const inlining *x, const rlx_pointwise *p, rlx_point_store *s)
{
    rlx_context *ctx = x->ctx;
    expanding e = { x, p, true };
    while (e.any && rlx_prim_parts(s->value) <= SUMMED_PARTS) {
        rlx_rewriter r;
        rlx_tir_folder_init(&r, ctx);
        e.any = false;
        r.before = expand_load;
        r.user = &e;
        s->value = rlx_rewrite(&r, s->value);
        rlx_rewriter_free(&r);
        if (!s->value)
            return false;
    }
    return true;
}

/* Sums of squares of what does not lie side by side are no fast instruction: squares are better in memory, of which there is one. */
static bool has_slow_squares(const rlx_nest_plan *plan)
{
    return plan->form == RLX_PLAN_PARTIAL && plan->fused.value != RLX_KERNEL_VALUE_ELEMENT &&
           !rlx_plan_is_unit(&plan->accesses.data[plan->fused.a], plan->fused.loop[RLX_FUSED_STEP]);
}

/* The nest with what was stored in place of its load `of`, if that alone reads it, and it is still one instruction: a square, or the
 * element of another buffer. An operand of products is read where it was copied from if it is read once: the keys of a single query
 * need not be turned. Itself if not; NULL: out of memory. */
static const rlx_stmt *sum_of_stored(inlining *x, const rlx_for_stmt *nest, const rlx_nest_plan *plan, const rlx_plan_access *of)
{
    rlx_context *ctx = x->ctx;
    rlx_nest_plan now;
    const bool product = is_contraction(plan);
    const rlx_buffer_load *l = rlx_as_buffer_load(of->node);
    const rlx_node *memory = l ? rlx_plan_memory(l->buffer) : NULL;
    size_t at = l ? rlx_number_in(&x->storer, memory) : 0;
    const rlx_pointwise *from = at ? x->slots[at - 1].points : NULL;
    const rlx_point_store *stored = from ? rlx_find_store(from, memory) : NULL;
    rlx_point_store s = stored ? *stored : (rlx_point_store){ 0 };
    rlx_point_loads leaves = { 0 };
    const rlx_stmt *out = &nest->node;
    bool ok = s.whole && l->num_indices == s.num_indices && is_private(x, memory) &&
              (!product || (s.value->kind == RLX_NODE_BUFFER_LOAD && is_read_once(plan, of))) &&
              rlx_number_in(&x->readers, memory) == 1 && expand_store(x, from, &s) &&
              rlx_prim_parts(s.value) <= SUMMED_PARTS && rlx_collect_loads(ctx, s.value, &leaves) && is_unchanged(x, &leaves, at - 1) &&
              cannot_fail(ctx, &s);
    if (ok) {
        const void *pair[2] = { l, value_at(ctx, &s, l) };
        rlx_rewriter r;
        rlx_rewriter_init(&r, ctx);
        r.before = put_value;
        r.user = pair;
        const rlx_stmt *made = pair[1] ? rlx_rewrite(&r, &nest->node) : NULL;
        rlx_rewriter_free(&r);
        bool is = made && plan_sum(ctx, rlx_as_for_stmt(made), &now) && now.form == plan->form && is_contraction(&now) == product &&
                  !has_slow_squares(&now);
        if (made)
            rlx_nest_plan_free(ctx, &now);
        out = is ? made : out;
    }
    rlx_vec_free(&ctx->memory, &leaves);
    return ctx->diags.out_of_memory ? NULL : out;
}

/* The same for one of its loads. Itself if none is replaced; NULL: out of memory. */
static const rlx_stmt *sum_of_value(inlining *x, const rlx_for_stmt *nest)
{
    rlx_nest_plan plan;
    const bool is = plan_sum(x->ctx, nest, &plan);
    const rlx_stmt *out = &nest->node;
    if (is)
        out = sum_of_stored(x, nest, &plan, &plan.accesses.data[plan.fused.a]);
    if (is && out == &nest->node && is_contraction(&plan))
        out = sum_of_stored(x, nest, &plan, &plan.accesses.data[plan.fused.b]);
    rlx_nest_plan_free(x->ctx, &plan);
    return x->ctx->diags.out_of_memory ? NULL : out;
}

/* ---- a sequence ----------------------------------------------------------------------------- */

static bool fill_slot(inlining *x, rlx_rewriter *r, size_t i)
{
    const rlx_stmt *s = x->seq->stmts[i];
    const rlx_for_stmt *nest = rlx_as_for_stmt(s);
    rlx_pointwise *p = nest ? rlx_new(x->ctx, sizeof *p) : NULL;
    bool is = false, ok = !nest || (p && rlx_read_pointwise(x->ctx, nest, p, &is));
    if (ok && is) {
        x->slots[i].points = p;
        return replace_loads(x, p) && merge_with_producers(x, i);
    }
    if (p)
        rlx_free_pointwise(x->ctx, p);
    if (!ok)
        return false;
    s = nest ? sum_of_value(x, nest) : s;
    x->slots[i].stmt = s ? rlx_rewrite(r, s) : NULL;
    return x->slots[i].stmt != NULL && rlx_note_statement(x->ctx, &x->order, s, i + 1);
}

static enum rlx_step note_loaded(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    if (l)
        (void)rlx_ptrmap_put(user, rlx_plan_memory(l->buffer), 1);
    return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* The nest of a slot, without what is loaded nowhere behind it; NULL is none of it is left. */
static bool write_slot(inlining *x, rlx_pointwise *p, rlx_ptrmap *loaded, const rlx_stmt **out)
{
    rlx_ptrmap locals;
    bool ok = true;
    size_t left = 0;
    rlx_ptrmap_init(&locals, &x->ctx->memory);
    for (size_t k = p->stores.len; k-- > 0 && ok;) {
        const rlx_node *memory = p->stores.data[k].buffer->data;
        /* what nobody ever loads goes as well, if nothing is lost but its elements */
        bool local = is_private(x, memory) && !rlx_ptrmap_has(loaded, memory) &&
                     (rlx_number_in(&x->readers, memory) || cannot_fail(x->ctx, &p->stores.data[k]));
        left += !local;
        if (local)
            ok = rlx_ptrmap_put(&locals, memory, 1) && rlx_ptrmap_put(&x->all->dropped, memory, 1);
    }
    *out = !ok || !left ? NULL : p->original && left == p->stores.len ? p->original : rlx_write_pointwise(x->ctx, p, &locals);
    ok = ok && (!left || *out);
    if (ok && left) {
        rlx_walker w = { .enter = note_loaded, .user = loaded, .terse = true };
        rlx_walk(&x->ctx->memory, *out, &w, NULL);
    }
    rlx_ptrmap_free(&locals);
    return ok;
}

/* From the last statement on, so that what is loaded behind a nest is known. */
static const rlx_stmt *write_slots(inlining *x)
{
    size_t n = x->seq->num_stmts, first = n;
    const rlx_stmt **parts = rlx_new(x->ctx, (n + 1) * sizeof *parts);
    rlx_ptrmap loaded;
    bool ok = parts != NULL, changed = false;
    rlx_ptrmap_init(&loaded, &x->ctx->memory);
    for (size_t i = n; i-- > 0 && ok;) {
        const rlx_stmt *s = x->slots[i].stmt;
        rlx_walker w = { .enter = note_loaded, .user = &loaded, .terse = true };
        if (s)
            rlx_walk(&x->ctx->memory, s, &w, NULL);
        else if (x->slots[i].points)
            ok = write_slot(x, x->slots[i].points, &loaded, &s);
        if (s)
            parts[--first] = s;
        changed |= s != x->seq->stmts[i];
    }
    rlx_ptrmap_free(&loaded);
    if (!ok || !changed)
        return ok ? &x->seq->node : NULL;
    return n - first == 1 ? parts[first] : rlx_seq_stmt_new(x->ctx, parts + first, n - first, x->seq->place);
}

static const rlx_stmt *inline_sequence(rlx_rewriter *r, const rlx_seq_stmt *seq)
{
    inlining x = { .ctx = r->ctx, .all = r->user, .seq = seq,
                   .slots = rlx_new_zero(r->ctx, (seq->num_stmts + 1) * sizeof *x.slots) };
    rlx_ptrmap *maps[] = { &x.readers, &x.order.last_store, &x.order.last_load, &x.storer, &x.loader };
    bool ok = x.slots != NULL;
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], &r->ctx->memory);
    for (size_t i = 0; i < seq->num_stmts && ok; i++) {
        rlx_walker w = { .enter = count_reader, .user = &x, .unique = true };
        rlx_walk(&r->ctx->memory, seq->stmts[i], &w, NULL);
    }
    for (size_t i = 0; i < seq->num_stmts && ok; i++)
        ok = fill_slot(&x, r, i);
    const rlx_stmt *out = ok ? write_slots(&x) : NULL;
    for (size_t i = 0; x.slots && i < seq->num_stmts; i++)
        if (x.slots[i].points)
            rlx_free_pointwise(r->ctx, x.slots[i].points);
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_free(maps[i]);
    return out;
}

/* ---- a function ----------------------------------------------------------------------------- */

static const rlx_node *inline_node(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(n);
    const rlx_stmt *now = seq ? inline_sequence(r, seq) : NULL;
    r->failed |= seq && !now;
    return now;
}

const rlx_stmt *rlx_inline_nests(rlx_context *ctx, const rlx_stmt *body)
{
    return rlx_rewrite_sequences(ctx, body, inline_node);
}
