/* group_block.c: functions for groups of bindings, and their calls (group_block.h). */
#include "transform/group_block.h"

#include "transform/codegen_function.h"
#include "transform/transform_int.h"

typedef struct span { size_t first, count; } span;
typedef struct use { uint32_t group, item; } use;   /* by which binding, of which binding */
typedef RLX_VEC(const rlx_expr *) exprs;

typedef struct block_groups {
    rlx_context *ctx;
    const rlx_group_how *how;
    const rlx_block *block;
    const uint32_t *group_of;            /* by binding */
    rlx_ptrmap bound;                    /* variable -> its binding + 1 */
    RLX_VEC(use) uses, memberships;
    RLX_VEC(span) uses_of, members_of;   /* by binding, by group */
    uint32_t *used, *members;            /* bindings */
    bool *is_output;                     /* by binding: used outside of its group */
    uint8_t *state;                      /* by binding: enum state */
    RLX_VEC(uint32_t) work;
    RLX_VEC(const rlx_binding *) out;
    uint32_t at;                         /* binding that is looked at */
} block_groups;

enum state { WAITS, UNDER_WAY, EMITTED };

#define MEMORY(b) (&(b)->ctx->memory)

/* ---- operands ------------------------------------------------------------------------------- */

typedef struct operand_walk {
    bool (*each)(void *user, const rlx_expr *e);
    void *user;
} operand_walk;

static enum rlx_step visit_operand(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    operand_walk *w = user;
    (void)parent;
    if (n->kind == RLX_NODE_CONSTANT || (rlx_as_var(n) && !rlx_field_is_def(via)))
        return w->each(w->user, n) ? RLX_STEP_SKIP : RLX_STEP_STOP;
    return rlx_node_is_closed(n) || rlx_family_of(n) == RLX_FAMILY_PRIM ? RLX_STEP_SKIP : RLX_STEP_ON;
}

bool rlx_each_operand(rlx_context *ctx, const rlx_node *n, bool (*each)(void *user, const rlx_expr *e), void *user)
{
    operand_walk o = { each, user };
    rlx_walker w = { .enter = visit_operand, .user = &o };
    bool lost = false;
    if (!n || rlx_as_var(n) || n->kind == RLX_NODE_CONSTANT)
        return !n || each(user, n);
    return rlx_walk(&ctx->memory, n, &w, &lost) != RLX_STEP_STOP && !lost;
}

/* ---- what hangs on what --------------------------------------------------------------------- */

static bool is_own(const block_groups *b, uint32_t i, uint32_t k)
{
    return b->group_of[i] != RLX_NO_GROUP && b->group_of[i] == b->group_of[k];
}

static bool note_use(void *user, const rlx_expr *e)
{
    block_groups *b = user;
    uintptr_t k;
    if (!rlx_ptrmap_find(&b->bound, e, &k))
        return true;
    if (!is_own(b, b->at, (uint32_t)k - 1))
        b->is_output[k - 1] = true;
    return rlx_vec_push(MEMORY(b), &b->uses, ((use){ b->at, (uint32_t)k - 1 }));
}

static bool note_binding(block_groups *b, uint32_t i)
{
    const rlx_binding *binding = b->block->bindings[i];
    const rlx_var *v = rlx_binding_var(binding);
    const rlx_match_cast *cast = rlx_as_match_cast(binding);
    b->at = i;
    if (v)
        b->is_output[i] |= v->node.kind == RLX_NODE_VAR;
    return (b->group_of[i] == RLX_NO_GROUP ||
            rlx_vec_push(MEMORY(b), &b->memberships, ((use){ b->group_of[i], i }))) &&
           rlx_each_operand(b->ctx, rlx_binding_value(binding), note_use, b) &&
           (!v || !v->sinfo || rlx_each_operand(b->ctx, v->sinfo, note_use, b)) &&
           (!cast || rlx_each_operand(b->ctx, cast->sinfo, note_use, b)) &&
           (!v || rlx_ptrmap_put(&b->bound, v, i + 1));
}

static bool sort_out(block_groups *b, size_t num_groups)
{
    size_t n = b->block->num_bindings;
    b->is_output = rlx_new_zero(b->ctx, n * sizeof *b->is_output + 1);
    b->state = rlx_new_zero(b->ctx, n * sizeof *b->state + 1);
    for (uint32_t i = 0; b->is_output && b->state && i < n; i++)
        if (!note_binding(b, i))
            return false;
    b->used = rlx_new(b->ctx, (b->uses.len + 1) * sizeof *b->used);
    b->members = rlx_new(b->ctx, (b->memberships.len + 1) * sizeof *b->members);
    if (!b->is_output || !b->state || !b->used || !b->members || !rlx_vec_reserve(MEMORY(b), &b->uses_of, n + 1) ||
        !rlx_vec_reserve(MEMORY(b), &b->members_of, num_groups + 1))
        return false;
    b->uses_of.len = n;
    b->members_of.len = num_groups;
    rlx_vec_group(&b->uses, group, item, &b->uses_of, b->used);
    rlx_vec_group(&b->memberships, group, item, &b->members_of, b->members);
    return true;
}

/* ---- a function ----------------------------------------------------------------------------- */

typedef struct outlined {
    block_groups *b;
    span members;
    rlx_ptrmap own;                      /* variables that the group binds -> 1 */
    exprs params, args, results;         /* results: variables of the block */
    rlx_rewriter names;                  /* argument or output -> its variable in the function */
    rlx_prims sizes;                     /* passed beside */
    size_t num_constants;
} outlined;

static const rlx_binding *member(const outlined *o, size_t i)
{
    return o->b->block->bindings[o->b->members[o->members.first + i]];
}

static const rlx_sinfo *param_info(outlined *o, const rlx_expr *arg)
{
    const rlx_var *v = rlx_as_var(arg);
    if (!v)
        return rlx_leaf_sinfo(o->b->ctx, rlx_module_builder_env(o->b->how->mb), arg);
    return rlx_signature_info(o->b->ctx, v->sinfo);
}

static bool add_param(outlined *o, const rlx_expr *arg)
{
    rlx_context *ctx = o->b->ctx;
    const rlx_var *v = rlx_as_var(arg);
    const rlx_sinfo *info = param_info(o, arg);
    const rlx_string *name = v ? v->name : rlx_string_z(ctx, "param_");
    int32_t number = v ? v->number : (int32_t)o->num_constants++;
    const rlx_var *p =
        info && name ? rlx_var_new(ctx, false, name, number, info, v ? v->place : RLX_NO_PLACE) : NULL;
    return p && rlx_vec_push(MEMORY(o->b), &o->params, &p->node) && rlx_vec_push(MEMORY(o->b), &o->args, arg) &&
           rlx_ptrmap_put(&o->names.map, arg, (uintptr_t)p);
}

static bool take_operand(void *user, const rlx_expr *e)
{
    outlined *o = user;
    bool stays = rlx_as_constant(e) && o->b->how->binds_constants;
    return stays || rlx_ptrmap_has(&o->own, e) || rlx_ptrmap_has(&o->names.map, e) || add_param(o, e);
}

/* The variables of the group are its own; those used outside are results, ordinary variables inside, too. */
static bool take_members(outlined *o)
{
    block_groups *b = o->b;
    for (size_t i = 0; i < o->members.count; i++) {
        const rlx_binding *binding = member(o, i);
        const rlx_var *v = rlx_binding_var(binding);
        if (!rlx_each_operand(b->ctx, rlx_binding_value(binding), take_operand, o) ||
            (v && !rlx_ptrmap_put(&o->own, v, 1)))
            return false;
        bool last = i + 1 == o->members.count && !o->results.len; /* of those that nothing uses */
        if (!v || (!last && !b->is_output[b->members[o->members.first + i]]))
            continue;
        const rlx_var *out = rlx_var_like(b->ctx, v, false, v->sinfo);
        if (!out || !rlx_vec_push(MEMORY(b), &o->results, &v->node) ||
            !rlx_ptrmap_put(&o->names.map, v, (uintptr_t)out))
            return false;
    }
    return true;
}

/* Sizes that the group and its parameters mention and no parameter binds. */
static bool take_sizes(outlined *o)
{
    rlx_context *ctx = o->b->ctx;
    rlx_memory *m = MEMORY(o->b);
    rlx_prim_vars alone = { 0 }, all = { 0 };
    rlx_ptrmap known;
    bool good = true;
    rlx_ptrmap_init(&known, m);
    for (size_t i = 0; good && i < o->params.len; i++) {
        const rlx_sinfo *s = rlx_as_var(o->params.data[i])->sinfo;
        good = rlx_collect_prim_vars(m, s, true, &alone) && rlx_collect_prim_vars(m, s, false, &all);
    }
    for (size_t i = 0; good && i < o->members.count; i++) {
        const rlx_var *v = rlx_binding_var(member(o, i));
        good = rlx_collect_prim_vars(m, rlx_binding_value(member(o, i)), false, &all) &&
               (!v || !v->sinfo || rlx_collect_prim_vars(m, v->sinfo, false, &all));
    }
    for (size_t i = 0; good && i < alone.len; i++)
        good = rlx_ptrmap_put(&known, alone.data[i], 1);
    for (size_t i = 0; good && i < all.len; i++)
        if (!rlx_ptrmap_has(&known, all.data[i]))
            good = rlx_ptrmap_put(&known, all.data[i], 1) && rlx_vec_push(m, &o->sizes, &all.data[i]->node);
    rlx_ptrmap_free(&known);
    rlx_vec_free(m, &alone);
    rlx_vec_free(m, &all);
    if (!good || !o->sizes.len)
        return good;
    const rlx_string *name = rlx_string_z(ctx, "sizes");
    const rlx_sinfo *info = rlx_shape_info(ctx, o->sizes.data, o->sizes.len);
    const rlx_var *p = name && info ? rlx_var_new(ctx, false, name, -1, info, RLX_NO_PLACE) : NULL;
    const rlx_expr *arg = rlx_shape_new(ctx, o->sizes.data, o->sizes.len);
    return p && arg && rlx_vec_push(m, &o->params, &p->node) && rlx_vec_push(m, &o->args, arg);
}

static const rlx_expr *make_body(outlined *o, const rlx_sinfo **ret)
{
    rlx_context *ctx = o->b->ctx;
    size_t n = o->members.count, outputs = o->results.len;
    const rlx_binding **bindings = rlx_new(ctx, (n + 1) * sizeof *bindings);
    const rlx_expr **fields = rlx_new(ctx, (outputs + 1) * sizeof *fields);
    const rlx_sinfo **infos = rlx_new(ctx, (outputs + 1) * sizeof *infos);
    if (!bindings || !fields || !infos)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!(bindings[i] = rlx_rewrite(&o->names, member(o, i))))
            return NULL;
    for (size_t i = 0; i < outputs; i++) {
        fields[i] = rlx_rewrite(&o->names, o->results.data[i]);
        infos[i] = rlx_as_var(o->results.data[i])->sinfo;
    }
    *ret = outputs == 1 ? infos[0] : rlx_tuple_info(ctx, infos, outputs);
    rlx_place place = rlx_place_of(member(o, 0));
    const rlx_node *block = rlx_block_new(ctx, true, bindings, n, place);
    const rlx_expr *result = outputs == 1 ? fields[0] : rlx_tuple_new(ctx, fields, outputs, place);
    return block && result && *ret ? rlx_seq_new(ctx, &block, 1, result, place) : NULL;
}

/* The group as a function with variables of its own. */
static const rlx_function *make_function(outlined *o)
{
    rlx_context *ctx = o->b->ctx;
    const rlx_sinfo *ret = NULL;
    const rlx_expr *body = make_body(o, &ret);
    const rlx_function *f = body ? rlx_function_new(ctx, o->params.data, o->params.len, body, ret, false, true, NULL,
                                                    NULL, rlx_place_of(member(o, 0)))
                                 : NULL;
    return f ? rlx_as_function(rlx_copy_fresh(ctx, &f->node)) : NULL;
}

/* ---- its name ------------------------------------------------------------------------------- */

static void add_name(rlx_buf *out, const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    const rlx_op_row *row = rlx_callee_op(value);
    enum rlx_op_id id = call ? rlx_op_id_of(call->op) : RLX_OP_ID_NONE;
    const rlx_global_var *gv =
        rlx_as_global_var(!call ? NULL
                          : id == RLX_OP_ID_CALL_TIR || id == RLX_OP_ID_CALL_TIR_INPLACE ? call->args[0]
                                                                                         : call->op);
    rlx_slice name = gv    ? rlx_string_slice(gv->name)
                     : row ? rlx_slice_z(row->name)
                           : (rlx_slice){ NULL, 0 };
    if (!name.len)
        return;
    rlx_buf_put(out, "_", 1);
    for (size_t i = 0; i < name.len; i++)
        rlx_buf_put(out, name.data[i] == '.' ? "_" : &name.data[i], 1);
}

/* Long groups are named by their beginning. */
#define LONGEST_NAME 160

static void make_name(const outlined *o, rlx_buf *out)
{
    rlx_buf_put(out, o->b->how->prefix, strlen(o->b->how->prefix));
    for (size_t i = 0; i < o->members.count && out->len < LONGEST_NAME; i++)
        add_name(out, rlx_binding_value(member(o, i)));
}

static const rlx_global_var *add_function(outlined *o, uint32_t group, const rlx_function *f)
{
    const rlx_group_how *how = o->b->how;
    rlx_buf name;
    rlx_buf_init(&name, MEMORY(o->b));
    if (how->name_of) {
        rlx_slice given = how->name_of(how->user, group);
        rlx_buf_put(&name, given.data, given.len);
    } else {
        make_name(o, &name);
    }
    const rlx_global_var *gv =
        name.failed ? NULL : rlx_module_builder_add(how->mb, (rlx_slice){ name.data, name.len }, &f->node);
    rlx_buf_free(&name);
    return gv;
}

/* ---- its call ------------------------------------------------------------------------------- */

static bool emit(block_groups *b, const rlx_binding *binding)
{
    return binding && rlx_vec_push(MEMORY(b), &b->out, binding);
}

static const rlx_binding *binding_of(const block_groups *b, const rlx_expr *v)
{
    uintptr_t k;
    return rlx_ptrmap_find(&b->bound, v, &k) ? b->block->bindings[k - 1] : NULL;
}

/* What fails in the group is a failure of one of its bindings. */
static bool hold_places(const outlined *o, rlx_place place)
{
    rlx_context *ctx = o->b->ctx;
    rlx_held_place *held = rlx_new(ctx, (o->members.count + 1) * sizeof *held);
    for (size_t i = 0; held && i < o->members.count; i++) {
        const rlx_binding *b = member(o, i);
        const rlx_string *name = rlx_binding_var(b)->name;
        rlx_place own = rlx_place_of(b);
        held[i] = (rlx_held_place){ .name = name ? name->data : "",
                                    .name_len = name ? name->len : 0,
                                    .place = own ? own : rlx_place_of(rlx_binding_value(b)) };
    }
    return held && rlx_place_groups_put(&ctx->diags.groups, place, held, o->members.count);
}

/* The variables of the block are bound as before, to what the call gives. */
static bool emit_call(outlined *o, const rlx_global_var *gv, const rlx_sinfo *ret)
{
    rlx_context *ctx = o->b->ctx;
    rlx_place place = rlx_place_of(member(o, o->members.count - 1));
    const rlx_expr *call =
        rlx_call_new(ctx, &gv->node, o->args.data, o->args.len, NULL, 0, NULL, place);
    if (!hold_places(o, place))
        return false;
    if (o->results.len == 1) {
        const rlx_expr *v = o->results.data[0];
        return emit(o->b, rlx_var_binding_new(ctx, rlx_as_var(v), call, rlx_place_of(binding_of(o->b, v))));
    }
    const rlx_string *name = rlx_string_z(ctx, "outputs");
    const rlx_var *all = name && ret ? rlx_var_new(ctx, true, name, -1, ret, place) : NULL;
    bool good = all && emit(o->b, rlx_var_binding_new(ctx, all, call, place));
    for (size_t i = 0; good && i < o->results.len; i++) {
        const rlx_expr *v = o->results.data[i], *field = rlx_tuple_get_item_new(ctx, &all->node, (int64_t)i, place);
        good = emit(o->b, rlx_var_binding_new(ctx, rlx_as_var(v), field, rlx_place_of(binding_of(o->b, v))));
    }
    return good;
}

/* What the block's variables know of the results, as one struct info. */
static const rlx_sinfo *result_info(const outlined *o)
{
    const rlx_sinfo **infos = rlx_new(o->b->ctx, (o->results.len + 1) * sizeof *infos);
    for (size_t i = 0; infos && i < o->results.len; i++)
        infos[i] = rlx_as_var(o->results.data[i])->sinfo;
    return infos ? rlx_tuple_info(o->b->ctx, infos, o->results.len) : NULL;
}

static bool outline(outlined *o, uint32_t group)
{
    const rlx_group_how *how = o->b->how;
    if (!take_members(o) || !take_sizes(o))
        return false;
    const rlx_function *f = make_function(o);
    f = f ? how->finish(how->user, group, f) : NULL;
    const rlx_global_var *gv = f ? add_function(o, group, f) : NULL;
    return gv && emit_call(o, gv, result_info(o));
}

static bool emit_group(block_groups *b, uint32_t group)
{
    outlined o = { .b = b, .members = b->members_of.data[group] };
    rlx_ptrmap_init(&o.own, MEMORY(b));
    rlx_rewriter_init(&o.names, b->ctx);
    bool good = outline(&o, group);
    rlx_ptrmap_free(&o.own);
    rlx_rewriter_free(&o.names);
    rlx_vec_free(MEMORY(b), &o.params);
    rlx_vec_free(MEMORY(b), &o.args);
    rlx_vec_free(MEMORY(b), &o.results);
    rlx_vec_free(MEMORY(b), &o.sizes);
    return good;
}

/* ---- the block ------------------------------------------------------------------------------ */

/* A group is emitted as one, at its last member; the state of that stands for all. */
static uint32_t stand_in(const block_groups *b, uint32_t i)
{
    uint32_t group = b->group_of[i];
    const span *s = group == RLX_NO_GROUP ? NULL : &b->members_of.data[group];
    return s ? b->members[s->first + s->count - 1] : i;
}

static bool push_needs_of(block_groups *b, uint32_t i)
{
    const span *s = &b->uses_of.data[i];
    for (size_t k = 0; k < s->count; k++) {
        uint32_t need = stand_in(b, b->used[s->first + k]);
        if (b->state[need] == WAITS && need != stand_in(b, i) && !rlx_vec_push(MEMORY(b), &b->work, need))
            return false;
    }
    return true;
}

static bool push_needs(block_groups *b, uint32_t i)
{
    uint32_t group = b->group_of[i];
    if (group == RLX_NO_GROUP)
        return push_needs_of(b, i);
    const span *s = &b->members_of.data[group];
    for (size_t k = 0; k < s->count; k++)
        if (!push_needs_of(b, b->members[s->first + k]))
            return false;
    return true;
}

/* Emits binding i, after what it needs. */
static bool emit_from(block_groups *b, uint32_t i)
{
    if (!rlx_vec_push(MEMORY(b), &b->work, i))
        return false;
    while (b->work.len) {
        uint32_t at = rlx_vec_last(&b->work), group = b->group_of[at];
        if (b->state[at] == WAITS) {
            b->state[at] = UNDER_WAY;
            if (!push_needs(b, at))
                return false;
            continue;
        }
        (void)rlx_vec_pop(&b->work);
        if (b->state[at] == UNDER_WAY &&
            !(group == RLX_NO_GROUP ? emit(b, b->block->bindings[at]) : emit_group(b, group)))
            return false;
        b->state[at] = EMITTED;
    }
    return true;
}

static const rlx_block *make_block(block_groups *b, size_t num_groups)
{
    if (!sort_out(b, num_groups))
        return NULL;
    for (uint32_t i = 0; i < b->block->num_bindings; i++)
        if (stand_in(b, i) == i && !emit_from(b, i))
            return NULL;
    return rlx_as_block(rlx_block_new(b->ctx, true, b->out.data, b->out.len, b->block->place));
}

static void free_groups(block_groups *b)
{
    rlx_ptrmap_free(&b->bound);
    rlx_vec_free(MEMORY(b), &b->uses);
    rlx_vec_free(MEMORY(b), &b->memberships);
    rlx_vec_free(MEMORY(b), &b->uses_of);
    rlx_vec_free(MEMORY(b), &b->members_of);
    rlx_vec_free(MEMORY(b), &b->work);
    rlx_vec_free(MEMORY(b), &b->out);
}

const rlx_block *rlx_group_bindings(rlx_context *ctx, const rlx_block *block, const uint32_t *group_of,
                                    size_t num_groups, const rlx_group_how *how)
{
    block_groups b = { .ctx = ctx, .how = how, .block = block, .group_of = group_of };
    rlx_ptrmap_init(&b.bound, &ctx->memory);
    const rlx_block *out = make_block(&b, num_groups);
    free_groups(&b);
    return out;
}

/* ---- groups that need each other ------------------------------------------------------------ */

/* Takes away, again and again, what nothing that is left stands before (or behind, for the other direction): what stays
 * lies on cycles, or between two. A group counts as one, by its last member. */
static bool peel(block_groups *b, bool backward, const bool *gone, bool *stays)
{
    size_t n = b->block->num_bindings;
    uint32_t *open = rlx_new_zero(b->ctx, (n + 1) * sizeof *open), *next = rlx_new_zero(b->ctx, (n + 1) * sizeof *next),
             *follow = rlx_new(b->ctx, (b->uses.len + 1) * sizeof *follow);
    if (!open || !next || !follow)
        return false;
    for (size_t e = 0; e < b->uses.len; e++) {
        uint32_t user = stand_in(b, b->uses.data[e].group), used = stand_in(b, b->uses.data[e].item);
        uint32_t from = backward ? user : used, to = backward ? used : user;
        follow[e] = 0;
        if (from == to || gone[from] || gone[to])
            continue;
        open[to]++;
        follow[e] = next[from];
        next[from] = (uint32_t)e + 1;
    }
    b->work.len = 0;
    for (uint32_t i = 0; i < n; i++) {
        stays[i] = stand_in(b, i) == i && !gone[i];
        if (stays[i] && !open[i] && !rlx_vec_push(MEMORY(b), &b->work, i))
            return false;
    }
    while (b->work.len) {
        uint32_t i = rlx_vec_pop(&b->work);
        stays[i] = false;
        for (uint32_t e = next[i]; e; e = follow[e - 1]) {
            uint32_t to = stand_in(b, backward ? b->uses.data[e - 1].item : b->uses.data[e - 1].group);
            if (!--open[to] && !rlx_vec_push(MEMORY(b), &b->work, to))
                return false;
        }
    }
    return true;
}

static void dissolve(const block_groups *b, uint32_t *group_of, uint32_t last)
{
    uint32_t group = b->group_of[last];
    const span *s = group == RLX_NO_GROUP ? &(span){ 0, 0 } : &b->members_of.data[group];
    for (size_t k = 0; k < s->count; k++)
        group_of[b->members[s->first + k]] = RLX_NO_GROUP;
}

/* Writes what is left of the groups into `now`, which holds them as they are. */
static bool untangle(block_groups *b, uint32_t *now, bool in_order)
{
    size_t n = b->block->num_bindings;
    bool *gone = rlx_new_zero(b->ctx, n + 1), *stays = rlx_new(b->ctx, n + 1);
    if (!gone || !stays || !peel(b, false, gone, stays))
        return false;
    for (uint32_t i = 0; i < n; i++)
        gone[i] = !stays[i];
    if (!peel(b, true, gone, stays))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (stays[i])
            dissolve(b, now, i);
    for (size_t e = 0; in_order && e < b->uses.len; e++)
        if (stand_in(b, b->uses.data[e].item) > stand_in(b, b->uses.data[e].group))
            dissolve(b, now, stand_in(b, b->uses.data[e].item));
    return true;
}

bool rlx_untangle_groups(rlx_context *ctx, const rlx_block *block, uint32_t *group_of, size_t num_groups,
                         bool in_order)
{
    size_t bytes = block->num_bindings * sizeof *group_of;
    const uint32_t *before = rlx_new_copy(ctx, group_of, bytes);
    block_groups b = { .ctx = ctx, .block = block, .group_of = before };
    rlx_ptrmap_init(&b.bound, &ctx->memory);
    bool good = before && sort_out(&b, num_groups) && untangle(&b, group_of, in_order);
    free_groups(&b);
    return good;
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool is_unwritten(void *user, const rlx_expr *e) { return !rlx_is_written(user, e); }

bool rlx_reads_unwritten(rlx_context *ctx, const rlx_written *w, const rlx_node *value)
{
    return !w->any || rlx_each_operand(ctx, value, is_unwritten, (void *)w);
}

bool rlx_is_group(const rlx_function *f)
{
    return f->attrs && (rlx_flag_attr(f->attrs, "Primitive") || rlx_attrs_get(f->attrs, "Codegen") || rlx_attrs_get(f->attrs, "Composite"));
}

const rlx_function *rlx_mark_primitive(rlx_context *ctx, const rlx_function *f)
{
    return rlx_function_with_attrs(ctx, f, rlx_attrs_with(ctx, f->attrs, "Primitive", rlx_attr_bool_new(ctx, true)));
}
