/*- fuse_attention: two products with a softmax between them become a function with the attribute Primitive.
 *
 *     s = R.matmul(q, k)                           @R.function(private=True)
 *     t = R.multiply(s, R.const(0.125))            def fused_matmul_multiply_softmax_matmul(q, k, c, v):
 *     p = R.nn.softmax(t, axis=-1)          ->         R.func_attr({"Primitive": True}) ...
 *     o = R.matmul(p, v)                           o = cls.fused_matmul_multiply_softmax_matmul(q, k, R.const(0.125), v)
 *
 * Its schedule takes a tile of rows through all of it, so that scores of all rows are never in memory at once, and threads share no part of
 * them. Part of it are elementwise operators on the scores (scale, mask, bounds), and what brings operands of the products, or the result, into
 * another order. Nothing else uses what is in between.
 *
 * Scores, or their softmax, may be written turned, keys as rows, with a permute_dims on the way that changes rows and columns. They are turned
 * in the function, where scores have a row for each query all along:
 *
 *     p = R.nn.softmax(t, axis=-1)                        p = R.nn.softmax(t, axis=-1)
 *     r = R.permute_dims(p, axes=[0, 2, 1])     ->        w = R.permute_dims(v, axes=[0, 2, 1])
 *     o = R.matmul(v, r)                                  u = R.matmul(p, w)
 *                                                         o = R.permute_dims(u, axes=[0, 2, 1])
 *
 * Products commute and each sum has its steps, so all bits are the same. It is done where scores are many more than what else is turned for them;
 * a softmax over another axis than the last sums up in another order and is left alone.
 *
 * needs: normal form, struct info. keeps: all numbers, struct info. Left alone: scores of few rows, as of one token behind others, or of a number of
 * them that is not known and not that of the columns; what is read from memory that somebody writes to. */
#include "transform/group_block.h"
#include "transform/tir_call.h"
#include "transform/transform_int.h"

enum {
    LEAST_ROWS = 8,          /* of scores */
    MOST_POINTS = 16,        /* elementwise operators on one side of a softmax */
    MOST_MOVES = 4,          /* in front of one operand, or behind the result */
    MOST_ARGS = 3,           /* of one of those operators */
    LEAST_GAIN = 2           /* times as many scores as elements that are turned for them */
};

enum role { NONE, PRODUCT = 1, SOFTMAX = 2, POINT = 4, MOVE = 8 };

/* What becomes of a call in the function. */
enum turn {
    STAYS,
    TURNED,                  /* its operands and its result have rows and columns changed */
    TURNED_BACK,             /* a product of what is turned, whose result is turned once more */
    DROPPED                  /* a permute_dims that is its operand then */
};

/* Operators by what they are here. */
static const struct { const char *name; enum role role; } roles[] = {
    { "matmul", PRODUCT }, { "nn.softmax", SOFTMAX }, { "permute_dims", MOVE },
    { "add", POINT }, { "subtract", POINT }, { "multiply", POINT }, { "divide", POINT }, { "maximum", POINT }, { "minimum", POINT },
    { "where", POINT }, { "clip", POINT }, { "tanh", POINT }, { "negative", POINT }
};

/* A binding of the block. */
typedef struct member {
    const rlx_call *call;                /* of one of those operators; NULL: it is none */
    enum role role;
    uint32_t uses, user;                 /* in the block; the last that uses it */
    bool kept;                           /* it is used outside */
    enum turn turn;                      /* in its group */
} member;

typedef struct fusing {
    rlx_context *ctx;
    const rlx_op_row *rows[RLX_COUNT(roles)];
    rlx_module_builder *mb;
    rlx_written written;
    const rlx_block *block;
    rlx_ptrmap bound;                    /* variable -> its binding + 1 */
    RLX_VEC(member) members;             /* by binding */
    RLX_VEC(uint32_t) group_of;          /* likewise */
    uint32_t at;                         /* binding whose operands are met */
} fusing;

/* ---- what the bindings are ------------------------------------------------------------------ */

static bool note_use(void *user, const rlx_expr *e)
{
    fusing *z = user;
    uintptr_t n;
    if (rlx_ptrmap_find(&z->bound, e, &n)) {
        z->members.data[n - 1].uses++;
        z->members.data[n - 1].user = z->at;
    }
    return true;
}

static bool is_last_axis(const rlx_call *softmax, size_t ndim)
{
    const int64_t axis = rlx_attr_as_int(rlx_call_attr(softmax, "axis"), -1);
    return axis == -1 || axis == (int64_t)ndim - 1;
}

/* The sizes of what is bound; NULL: they are not listed. */
static const rlx_prim *const *sizes_of(const rlx_var *v, size_t *ndim) { return v ? rlx_listed_dims(v->sinfo, ndim) : NULL; }

static void find_role(fusing *z, const rlx_binding *b, member *m)
{
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_op_row *row = b->kind == RLX_NODE_VAR_BINDING ? rlx_callee_op(value) : NULL;
    size_t ndim;
    if (!row || !sizes_of(rlx_binding_var(b), &ndim) || !rlx_reads_unwritten(z->ctx, &z->written, value))
        return;
    for (size_t i = 0; i < RLX_COUNT(roles); i++)
        if (z->rows[i] == row)
            m->role = roles[i].role;
    if (m->role == SOFTMAX && !is_last_axis((const rlx_call *)value, ndim))
        m->role = NONE;
    m->call = m->role ? (const rlx_call *)value : NULL;
}

static bool read_block(fusing *z, const rlx_block *b)
{
    rlx_memory *memory = &z->ctx->memory;
    rlx_ptrmap_clear(&z->bound);
    z->block = b;
    if (!rlx_vec_reserve(memory, &z->members, b->num_bindings + 1) || !rlx_vec_reserve(memory, &z->group_of, b->num_bindings + 1))
        return false;
    z->members.len = z->group_of.len = b->num_bindings;
    for (z->at = 0; z->at < b->num_bindings; z->at++) {
        const rlx_var *v = rlx_binding_var(b->bindings[z->at]);
        member *m = &z->members.data[z->at];
        *m = (member){ .kept = !v || !rlx_is(&v->node, RLX_NODE_DATAFLOW_VAR) };
        z->group_of.data[z->at] = RLX_NO_GROUP;
        find_role(z, b->bindings[z->at], m);
        if (!rlx_each_operand(z->ctx, rlx_binding_value(b->bindings[z->at]), note_use, z) ||
            (v && v->sinfo && !rlx_each_operand(z->ctx, v->sinfo, note_use, z)) || (v && !rlx_ptrmap_put(&z->bound, v, z->at + 1)))
            return false;
    }
    return true;
}

/* ---- groups --------------------------------------------------------------------------------- */

/* Bindings that are to be one function. */
typedef struct group { uint32_t at[2 + 2 * MOST_POINTS + 5 * MOST_MOVES]; size_t count; } group;

static const rlx_var *var_of(const fusing *z, uint32_t binding) { return rlx_binding_var(z->block->bindings[binding]); }

static bool same_sizes(const fusing *z, uint32_t a, uint32_t b)
{
    size_t n, m;
    const rlx_prim *const *x = sizes_of(var_of(z, a), &n), *const *y = sizes_of(var_of(z, b), &m);
    bool same = x && y && n == m;
    for (size_t i = 0; same && i < n; i++)
        same = rlx_prove_equal(z->ctx, NULL, x[i], y[i]) == RLX_EQUAL;
    return same;
}

/* The binding that an operand is, if nothing else uses it, it is in no group, and it has one of the roles; RLX_NO_GROUP. */
static uint32_t operand_of(const fusing *z, const rlx_expr *e, unsigned roles_of_it)
{
    uintptr_t n;
    if (!rlx_ptrmap_find(&z->bound, e, &n))
        return RLX_NO_GROUP;
    const member *m = &z->members.data[n - 1];
    return !m->kept && m->uses == 1 && (m->role & roles_of_it) && z->group_of.data[n - 1] == RLX_NO_GROUP
               ? (uint32_t)n - 1
               : RLX_NO_GROUP;
}

/* The only binding that uses it; RLX_NO_GROUP: there is none, or several. */
static uint32_t user_of(const fusing *z, uint32_t at)
{
    const member *m = &z->members.data[at];
    return !m->kept && m->uses == 1 && z->members.data[m->user].call && z->group_of.data[m->user] == RLX_NO_GROUP ? m->user : RLX_NO_GROUP;
}

static void take(fusing *z, group *g, uint32_t at, enum turn turn)
{
    z->members.data[at].turn = turn;
    g->at[g->count++] = at;
}

/* What brings an operand into the order in which it is read. */
static void take_moves(fusing *z, group *g, const rlx_expr *e)
{
    for (int n = 0; n < MOST_MOVES; n++) {
        const uint32_t at = operand_of(z, e, MOVE);
        if (at == RLX_NO_GROUP)
            return;
        take(z, g, at, STAYS);
        e = z->members.data[at].call->args[0];
    }
}

/* The axis that stands at one of two or more axes when rows and columns have changed places. */
static int64_t turned_axis(size_t axis, size_t ndim) { return (int64_t)(axis + 2 < ndim ? axis : 2 * ndim - 3 - axis); }

/* Does a permute_dims change rows and columns, and nothing else? */
static bool changes_rows(const fusing *z, uint32_t at)
{
    size_t ndim;
    const rlx_attr *axes = rlx_call_attr(z->members.data[at].call, "axes");
    const size_t listed = rlx_attr_count(axes);
    bool does = sizes_of(var_of(z, at), &ndim) && ndim >= 2;
    for (size_t i = 0; does && i < ndim; i++) {
        const int64_t from = listed ? rlx_attr_item(axes, i) : (int64_t)(ndim - 1 - i);
        does = (from < 0 ? from + (int64_t)ndim : from) == turned_axis(i, ndim);
    }
    return does;
}

static const rlx_sinfo *info_of(const fusing *z, const rlx_expr *e) { return rlx_leaf_sinfo(z->ctx, rlx_module_builder_env(z->mb), e); }

/* Are the operands tensors of known rank, of `least` at least? 0: or numbers, which need no turning. */
static bool can_turn(const fusing *z, uint32_t at, size_t least)
{
    const rlx_call *call = z->members.data[at].call;
    for (size_t i = 0; i < call->num_args; i++) {
        size_t ndim;
        const rlx_sinfo *s = info_of(z, call->args[i]);
        if (rlx_as_tensor_sinfo(s) ? !rlx_listed_dims(s, &ndim) || ndim < least || ndim > RLX_PASS_MAX_RANK : least > 0)
            return false;
    }
    return true;
}

/* Of scores that one product makes, or the other reads, turned: is it less to turn what else that product reads and makes, of one more size? */
static bool is_gain(const rlx_sinfo *scores, const rlx_prim *size)
{
    size_t n;
    int64_t keys, rows, width;
    const rlx_prim *const *dims = rlx_listed_dims(scores, &n);
    return dims && rlx_int_literal(dims[n - 2], &keys) && rlx_int_literal(dims[n - 1], &rows) && rlx_int_literal(size, &width) &&
           (double)keys * (double)rows >= LEAST_GAIN * (double)width * ((double)keys + (double)rows);
}

/* What becomes of a call on the way from one product to the other, if what it gives is turned, or if it does that; false: it may not be there. */
static bool judge(const fusing *z, uint32_t at, bool turned, enum turn *turn)
{
    const enum role role = z->members.data[at].role;
    *turn = role == MOVE ? DROPPED : turned ? TURNED : STAYS;
    return role == MOVE ? changes_rows(z, at) : !turned || can_turn(z, at, role == PRODUCT ? 2 : 0);
}

/* The product that scores are, and what its operands are brought into order by. */
static bool take_first_product(fusing *z, group *g, uint32_t at, enum turn turn)
{
    const rlx_call *product = z->members.data[at].call;
    size_t n;
    const rlx_prim *const *dims = rlx_listed_dims(info_of(z, product->args[0]), &n);
    if (turn == TURNED && !is_gain(var_of(z, at)->sinfo, dims[n - 1]))
        return false;
    take(z, g, at, turn);
    take_moves(z, g, product->args[0]);
    take_moves(z, g, product->args[1]);
    return true;
}

/* From a call up to the product that scores are. turned: what the call reads is. */
static bool take_scores(fusing *z, group *g, uint32_t at, bool turned, int most)
{
    const rlx_call *call = z->members.data[at].call;
    const size_t count = g->count;
    enum turn turn;
    for (size_t i = 0; most && i < call->num_args; i++) {
        const uint32_t next = operand_of(z, call->args[i], PRODUCT | POINT | MOVE);
        if (next == RLX_NO_GROUP || (z->members.data[at].role != MOVE && !same_sizes(z, next, at)) || !judge(z, next, turned, &turn))
            continue;
        const enum role role = z->members.data[next].role;
        if (role == PRODUCT && take_first_product(z, g, next, turn))
            return true;
        if (role != PRODUCT) {
            take(z, g, next, turn);
            if (take_scores(z, g, next, turned != (role == MOVE), most - 1))
                return true;
        }
        g->count = count;
    }
    return false;
}

/* The product of the softmax with values, whose rows it has, and what brings its result into another order. */
static bool take_second_product(fusing *z, group *g, uint32_t at, const rlx_expr *softmax, bool turned)
{
    const rlx_call *product = z->members.data[at].call;
    size_t n;
    const rlx_prim *const *dims = sizes_of(var_of(z, at), &n);
    if (product->args[turned] != softmax || (turned && !is_gain(rlx_as_var(softmax)->sinfo, dims[n - 2])))
        return false;
    take(z, g, at, turned ? TURNED_BACK : STAYS);
    take_moves(z, g, product->args[!turned]);
    for (int k = 0; k < MOST_MOVES && (at = user_of(z, at)) != RLX_NO_GROUP && z->members.data[at].role == MOVE; k++)
        take(z, g, at, STAYS);
    return true;
}

/* From the softmax down to that. */
static bool take_values(fusing *z, group *g, uint32_t softmax)
{
    uint32_t at = softmax, next;
    bool turned = false;
    enum turn turn;
    for (int n = 0; n < MOST_POINTS && (next = user_of(z, at)) != RLX_NO_GROUP && judge(z, next, turned, &turn); n++) {
        if (z->members.data[next].role == PRODUCT)
            return take_second_product(z, g, next, (const rlx_expr *)var_of(z, at), turned);
        if (z->members.data[next].role == SOFTMAX)
            return false;
        take(z, g, next, turn);
        turned ^= turn == DROPPED;
        at = next;
    }
    return false;
}

/* Are there some rows? As many as columns, if it is not known: of one row and one column. */
static bool has_rows(const fusing *z, uint32_t softmax)
{
    size_t ndim;
    int64_t rows;
    const rlx_prim *const *dims = sizes_of(var_of(z, softmax), &ndim);
    if (ndim < 2)
        return false;
    return rlx_int_literal(dims[ndim - 2], &rows) ? rows >= LEAST_ROWS
                                                  : rlx_prove_equal(z->ctx, NULL, dims[ndim - 2], dims[ndim - 1]) == RLX_EQUAL;
}

/* ---- turning -------------------------------------------------------------------------------- */

/* The function of a group, whose bindings are those of the group in order. */
typedef struct turning {
    const fusing *z;
    uint32_t group, at;
    const rlx_expr *straight;            /* the scores so far, a row for each query; NULL: nothing was turned yet */
} turning;

/* e with rows and columns changed, as operand of an elementwise operator or a product. */
static const rlx_expr *turn(rlx_mutator *m, const rlx_expr *e, rlx_place place)
{
    int64_t axes[RLX_PASS_MAX_RANK];
    size_t ndim;
    const turning *t = m->user;
    const rlx_sinfo *s = e == t->straight ? NULL : info_of(t->z, e);
    if (!rlx_as_tensor_sinfo(s) || !rlx_listed_dims(s, &ndim) || !ndim)
        return e;
    for (size_t i = 0; i < ndim; i++)
        axes[i] = turned_axis(i, ndim);
    return ndim == 1 ? rlx_op_call(m->ctx, "expand_dims", e, NULL, "axis", rlx_ints_attr(m->ctx, (const int64_t[]){ 1 }, 1), place)
                     : rlx_op_call(m->ctx, "permute_dims", e, NULL, "axes", rlx_ints_attr(m->ctx, axes, ndim), place);
}

/* The call with its operands turned, those of a product the other way round, bound to a variable. */
static const rlx_expr *turn_call(rlx_mutator *m, const rlx_call *call, bool is_product)
{
    const rlx_expr *args[MOST_ARGS];
    rlx_emit how = { .number = -1, .place = call->place };
    for (size_t i = 0; i < call->num_args; i++)
        if (!(args[is_product ? 1 - i : i] = turn(m, call->args[i], call->place)))
            return NULL;
    const rlx_expr *now = rlx_call_op(m->ctx, rlx_callee_op(&call->node), args, call->num_args, call->attrs, call->place);
    return now ? (const rlx_expr *)rlx_builder_emit(m->builder, now, &how) : NULL;
}

static const rlx_expr *turn_binding(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value, bool *replaced)
{
    turning *t = m->user;
    (void)old;
    while (t->z->group_of.data[t->at] != t->group)
        t->at++;
    const member *is = &t->z->members.data[t->at++];
    const rlx_call *call = (const rlx_call *)value;
    switch (is->turn) {
    case STAYS: return value;
    case DROPPED: t->straight = call->args[0]; break;
    case TURNED: case TURNED_BACK: t->straight = turn_call(m, call, is->role == PRODUCT); break;
    }
    *replaced = is->turn != TURNED_BACK;
    const rlx_expr *now = t->straight;
    if (is->turn == TURNED_BACK && now) {
        t->straight = NULL;
        now = turn(m, now, call->place);
    }
    return now;
}

static bool is_turned(const fusing *z, uint32_t number)
{
    bool is = false;
    for (size_t i = 0; i < z->group_of.len && !is; i++)
        is = z->group_of.data[i] == number && z->members.data[i].turn != STAYS;
    return is;
}

static const rlx_function *finish(void *user, uint32_t number, const rlx_function *f)
{
    const fusing *z = user;
    turning t = { .z = z, .group = number };
    rlx_mutator m;
    if (is_turned(z, number)) {
        rlx_mutator_init(&m, z->ctx, rlx_module_builder_env(z->mb), &t);
        m.binding = turn_binding;
        f = rlx_mutate_function(&m, f, NULL);
        rlx_mutator_free(&m);
    }
    return f ? rlx_mark_primitive(z->ctx, f) : NULL;
}

/* ---- blocks --------------------------------------------------------------------------------- */

static rlx_slice name_of(void *user, uint32_t number)
{
    (void)user, (void)number;
    return RLX_SLICE("attention");
}

static const rlx_block *fuse_block(void *user, const rlx_block *b)
{
    fusing *z = user;
    rlx_group_how how = { .mb = z->mb, .prefix = "fused", .binds_constants = true, .user = z, .finish = finish, .name_of = name_of };
    uint32_t count = 0;
    if (!read_block(z, b))
        return NULL;
    for (uint32_t i = 0; i < b->num_bindings; i++) {
        group g = { { i }, 1 };
        if (z->members.data[i].role != SOFTMAX || z->group_of.data[i] != RLX_NO_GROUP || !has_rows(z, i) || !take_scores(z, &g, i, false, MOST_POINTS) ||
            !take_values(z, &g, i))
            continue;
        for (size_t k = 0; k < g.count; k++)
            z->group_of.data[g.at[k]] = count;
        count++;
    }
    return !count ? b
           : rlx_untangle_groups(z->ctx, b, z->group_of.data, count, z->written.any)
               ? rlx_group_bindings(z->ctx, b, z->group_of.data, count, &how)
               : NULL;
}

/* ---- the pass ------------------------------------------------------------------------------- */

const rlx_module *rlx_pass_fuse_attention(rlx_pass_run *run, const rlx_module *m)
{
    fusing z = { .ctx = run->ctx };
    const rlx_module *out = NULL;
    for (size_t i = 0; i < RLX_COUNT(roles); i++)
        z.rows[i] = rlx_op_find(rlx_slice_z(roles[i].name));
    rlx_ptrmap_init(&z.bound, &run->ctx->memory);
    z.mb = rlx_module_builder_create(run->ctx, m);
    bool good = rlx_find_written(run->ctx, m, &z.written);
    for (size_t i = 0; z.mb && good && i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]),
                           *now = !f || !f->body || rlx_is_group(f) ? f : rlx_rewrite_dataflow_blocks(run->ctx, f, fuse_block, &z, false);
        good = !f || (now && (now == f || rlx_module_builder_define(z.mb, rlx_as_global_var(m->gvars[i]), &now->node)));
    }
    if (z.mb && good && !run->ctx->diags.out_of_memory)
        out = rlx_module_builder_finish(z.mb, m->place);
    rlx_module_builder_free(z.mb);
    rlx_written_free(&z.written);
    rlx_ptrmap_free(&z.bound);
    rlx_vec_free(&run->ctx->memory, &z.members);
    rlx_vec_free(&run->ctx->memory, &z.group_of);
    return out;
}
