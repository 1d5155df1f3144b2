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
 * needs: normal form, struct info. keeps: all numbers, struct info. Left alone: scores of few rows, as of one token behind others, or of a number of
 * them that is not known and not that of the columns; what is read from memory that somebody writes to. */
#include "transform/group_block.h"
#include "transform/tir_call.h"
#include "transform/transform_int.h"

enum {
    LEAST_ROWS = 8,          /* of scores */
    MOST_POINTS = 16,        /* elementwise operators on one side of a softmax */
    MOST_MOVES = 4           /* in front of one operand, or behind the result */
};

enum role { NONE, PRODUCT, SOFTMAX, POINT, MOVE };

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

/* The binding that an operand is, if nothing else uses it, it is in no group, and it has one of two roles; RLX_NO_GROUP. */
static uint32_t operand_of(const fusing *z, const rlx_expr *e, enum role role, enum role other)
{
    uintptr_t n;
    if (!rlx_ptrmap_find(&z->bound, e, &n))
        return RLX_NO_GROUP;
    const member *m = &z->members.data[n - 1];
    return !m->kept && m->uses == 1 && m->call && (m->role == role || m->role == other) && z->group_of.data[n - 1] == RLX_NO_GROUP
               ? (uint32_t)n - 1
               : RLX_NO_GROUP;
}

/* The only binding that uses it; RLX_NO_GROUP: there is none, or several. */
static uint32_t user_of(const fusing *z, uint32_t at)
{
    const member *m = &z->members.data[at];
    return !m->kept && m->uses == 1 && z->members.data[m->user].call && z->group_of.data[m->user] == RLX_NO_GROUP ? m->user : RLX_NO_GROUP;
}

static void take(group *g, uint32_t at) { g->at[g->count++] = at; }

/* What brings an operand into the order in which it is read. */
static void take_moves(const fusing *z, group *g, const rlx_expr *e)
{
    for (int n = 0; n < MOST_MOVES; n++) {
        const uint32_t at = operand_of(z, e, MOVE, MOVE);
        if (at == RLX_NO_GROUP)
            return;
        take(g, at);
        e = z->members.data[at].call->args[0];
    }
}

/* From the softmax up to the product that scores are. */
static bool take_scores(const fusing *z, group *g, uint32_t softmax)
{
    uint32_t at = softmax;
    for (int n = 0; n < MOST_POINTS; n++) {
        const rlx_call *call = z->members.data[at].call;
        uint32_t next = RLX_NO_GROUP;
        for (size_t i = 0; i < call->num_args && next == RLX_NO_GROUP; i++) {
            next = operand_of(z, call->args[i], PRODUCT, POINT);
            next = next != RLX_NO_GROUP && same_sizes(z, next, softmax) ? next : RLX_NO_GROUP;
        }
        if (next == RLX_NO_GROUP)
            return false;
        take(g, next);
        at = next;
        if (z->members.data[at].role == PRODUCT) {
            take_moves(z, g, z->members.data[at].call->args[0]);
            take_moves(z, g, z->members.data[at].call->args[1]);
            return true;
        }
    }
    return false;
}

/* From the softmax down to the product with values, whose rows it has, and what brings its result into another order. */
static bool take_values(const fusing *z, group *g, uint32_t softmax)
{
    uint32_t at = softmax, next;
    for (int n = 0; n < MOST_POINTS; n++) {
        next = user_of(z, at);
        if (next == RLX_NO_GROUP || (z->members.data[next].role != PRODUCT && z->members.data[next].role != POINT))
            return false;
        take(g, next);
        if (z->members.data[next].role == PRODUCT)
            break;
        at = next;
    }
    const rlx_call *product = z->members.data[next].call;
    if (z->members.data[next].role != PRODUCT || product->args[0] != (const rlx_expr *)var_of(z, at))
        return false;
    take_moves(z, g, product->args[1]);
    for (int n = 0; n < MOST_MOVES && (next = user_of(z, next)) != RLX_NO_GROUP && z->members.data[next].role == MOVE; n++)
        take(g, next);
    return true;
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

static const rlx_function *finish(void *user, uint32_t number, const rlx_function *f)
{
    (void)number;
    return rlx_mark_primitive(((fusing *)user)->ctx, f);
}

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
        if (z->members.data[i].role != SOFTMAX || z->group_of.data[i] != RLX_NO_GROUP || !has_rows(z, i) || !take_scores(z, &g, i) ||
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
