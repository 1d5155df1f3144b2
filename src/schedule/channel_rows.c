/*- channel_rows.c: windows of pictures whose channels lie side by side, a few rows at a time.
 *
 *     for y, x, l:  P[y, x, l] = 0                           for b in range(n // 4):
 *     for y, x, l:  P[y + 1, x + 1, l] = X[y, x, l]              for y, x, l:  p[y + ., x + 1, l] = X[b * 4 + y - 1, x, l]
 *     for y, x, l:  S[y, x, l] = 0                               for y < 4, x, l:  s[y, x, l] = 0
 *     for y, x, u, v, l:                                  ->     for y < 4, x, u, v, l:
 *         S[y, x, l] += P[y + u, x + v, l] * W[u, v, l]              s[y, x, l] += p[y + u, x + v, l] * W[u, v, l]
 *     for y, x, l:  Y[y, x, l] = f(S[y, x, l], B[l])             for y < 4, x, l:  Y[b * 4 + y, x, l] = f(s[y, x, l], B[l])
 *
 * Such a sum reads as much as it computes, so that what counts is how near it is: a picture with its border, the sums, and what is made of
 * them leave the cache one after the other otherwise. Rows that two blocks read are copied twice, and around them the border is filled.
 */
#include "schedule/channels_int.h"

#include <string.h>

enum {
    NEAR_ELEMENTS = 32768,   /* of the rows of pictures of a block, about */
    SMALL_ELEMENTS = 90112   /* of a picture that is near anyway */
};

/* A nest that makes a box of the picture: in each dimension `size` elements from `from` on; row: its loop over rows. number: it fills the box
 * with that, NULL: it copies. */
typedef struct maker {
    const rlx_for_stmt *nest;
    const rlx_prim *row, *number;
    int64_t from[RLX_TIR_MAX_DIMS], size[RLX_TIR_MAX_DIMS];
} maker;

typedef struct rows {
    rlx_channels c;                  /* its lanes are rows */
    size_t dim;                      /* of the picture */
    int64_t step;                    /* between the rows that neighbouring rows of the result begin with */
    int64_t height, small;           /* rows of the picture, and of a block of it */
    maker fill, copy;
} rows;

/* ---- what they are ------------------------------------------------------------------------------ */

/* An index that is a variable, or one and a number. */
static const rlx_prim *variable_of(const rlx_prim *index, int64_t *offset)
{
    const rlx_binary *sum = index->kind == RLX_NODE_ADD ? rlx_as_binary(index) : NULL;
    *offset = 0;
    if (index->kind == RLX_NODE_PRIM_VAR)
        return index;
    if (sum && sum->a->kind == RLX_NODE_PRIM_VAR && rlx_int_literal(sum->b, offset))
        return sum->a;
    return sum && sum->b->kind == RLX_NODE_PRIM_VAR && rlx_int_literal(sum->a, offset) ? sum->b : NULL;
}

/* The box that a store fills, each of its loops being one index. */
static bool find_box(const rows *r, const rlx_nest_plan *plan, const rlx_buffer_store *store, maker *out)
{
    size_t loops = 0;
    for (size_t d = 0; d < store->num_indices; d++) {
        const rlx_prim *var = variable_of(store->indices[d], &out->from[d]);
        bool is = !var && rlx_int_literal(store->indices[d], &out->from[d]);
        out->size[d] = 1;
        for (size_t i = 0; i < plan->count && var && !is; i++) {
            const rlx_nest_loop *l = &plan->loops[i];
            is = l->var == var && l->determined && !l->partial && rlx_is_int_value(l->min, 0) && rlx_int_literal(l->extent, &out->size[d]);
        }
        if (!is)
            return false;
        loops += var != NULL;
        out->row = d == r->dim ? var : out->row;
    }
    return loops == plan->count && out->row;
}

/* Is it a nest that stores to the picture what it has from elsewhere? */
static bool is_maker(const rows *r, const rlx_stmt *s, maker *out)
{
    const rlx_for_stmt *nest = rlx_as_for_stmt(s);
    const rlx_node *picture = r->c.picture->buffer;
    rlx_nest_plan plan;
    *out = (maker){ .nest = nest };
    if (!nest)
        return false;
    bool ok = rlx_plan_nest(r->c.ctx, &rlx_plan_everywhere, nest, &plan) && plan.body->kind == RLX_NODE_BUFFER_STORE;
    const rlx_buffer_store *store = ok ? rlx_as_buffer_store(plan.body) : NULL;
    for (size_t i = 0; i < plan.accesses.len && ok; i++) {
        const rlx_plan_access *a = &plan.accesses.data[i];
        ok = a->literal && (a->stores || rlx_plan_memory(a->buffer) != rlx_as_buffer(picture)->data);
    }
    ok = ok && !store->predicate && store->buffer == picture && find_box(r, &plan, store, out);
    out->number = ok && store->value->kind == RLX_NODE_FLOAT_IMM ? store->value : NULL;
    rlx_nest_plan_free(r->c.ctx, &plan);
    return ok;
}

static bool is_whole(const rlx_buffer *picture, const maker *m)
{
    bool whole = true;
    for (size_t d = 0; d < picture->num_shape && whole; d++)
        whole = m->from[d] == 0 && rlx_is_int_value(picture->shape[d], m->size[d]);
    return whole;
}

/* Does the box lie in the picture? */
static bool lies_in(const rlx_buffer *picture, const maker *whole, const maker *m)
{
    bool in = true;
    for (size_t d = 0; d < picture->num_shape && in; d++)
        in = m->from[d] >= 0 && m->from[d] <= whole->size[d] && m->size[d] <= whole->size[d] - m->from[d];
    return in;
}

/* Does the nest do the same between the statements behind the sum as in front of them? */
static bool may_wait(const rlx_channels *c, const rlx_stmt *nest)
{
    rlx_order o;
    rlx_ptrmap_init(&o.last_load, &c->ctx->memory);
    rlx_ptrmap_init(&o.last_store, &c->ctx->memory);
    bool may = true;
    for (size_t i = c->at + 1; i < c->end && may; i++)
        may = rlx_note_statement(c->ctx, &o, c->stmts[i], i);
    may = may && rlx_may_go_first(c->ctx, &o, nest);
    rlx_ptrmap_free(&o.last_load);
    rlx_ptrmap_free(&o.last_store);
    return may;
}

/* All that makes the picture: it is filled with a number, then a part of it is copied. */
static bool find_makers(rows *r, size_t first)
{
    rlx_channels *c = &r->c;
    const rlx_buffer *p = rlx_as_buffer(c->picture->buffer);
    if (first < 2 || !is_maker(r, c->stmts[first - 1], &r->copy) || r->copy.number || !is_maker(r, c->stmts[first - 2], &r->fill) ||
        !r->fill.number || !is_whole(p, &r->fill) || !lies_in(p, &r->fill, &r->copy))
        return false;
    return may_wait(c, &r->copy.nest->node) &&
           rlx_is_temporary_of_nests(c->ctx, c->params, p, c->stmts + first - 2, c->at + 3 - first);
}

/* The loop over rows of the result: the outermost one that runs more than once and moves results and picture. */
static bool find_lane(rows *r)
{
    rlx_channels *c = &r->c;
    const rlx_nest_plan *n = c->plan;
    int64_t stride = 1, coeff, size, reach;
    for (c->lane = 0; c->lane < (int)n->count; c->lane++)
        if (!rlx_is_int_value(n->loops[c->lane].extent, 1))
            break;
    if (c->lane >= (int)n->count || !n->loops[c->lane].determined || !rlx_plan_moves(c->acc, c->lane) ||
        !rlx_plan_moves(c->picture, c->lane) || !rlx_int_literal(n->loops[c->lane].extent, &c->all) ||
        rlx_channel_of(c->ctx, c->acc, n->loops[c->lane].var) < 0 || !rlx_int_literal(c->picture->offset.coeff[c->lane], &coeff))
        return false;
    const rlx_buffer *p = rlx_as_buffer(c->picture->buffer);
    for (r->dim = p->num_shape; r->dim-- > 0;) {
        if (!rlx_int_literal(p->shape[r->dim], &size) || size < 1)
            return false;
        r->height = size;
        r->step = coeff / stride;
        if (coeff % stride == 0 && r->step < size && r->step > 0)
            return rlx_mul_i64(c->all - 1, r->step, &reach) && reach < r->height;
        if (!rlx_mul_i64(stride, size, &stride))
            return false;
    }
    return false;
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* What is copied, for rows [from, from + count) of it, in the small picture: `at` is where row `from` goes. NULL: out of memory. */
static const rlx_stmt *copy_rows(const rows *r, const rlx_prim *from, const rlx_prim *count, const rlx_prim *at)
{
    rlx_context *ctx = r->c.ctx;
    const maker *m = &r->copy;
    const rlx_prim_var *old = rlx_as_prim_var(m->row);
    rlx_prim_var *row = rlx_prim_var_new(ctx, old->name, old->dtype, old->place);
    const rlx_prim *index[RLX_TIR_MAX_DIMS];
    rlx_rewriter w;
    const rlx_buffer_store *store = rlx_as_buffer_store(rlx_body_of(m->nest));
    const rlx_prim *begin = rlx_fold_cast(ctx, old->dtype, from), *to = rlx_fold_cast(ctx, old->dtype, at);
    if (!row || !begin || !to || !store)
        return NULL;
    for (size_t d = 0; d < store->num_indices; d++)
        index[d] = d == r->dim ? rlx_fold_add(ctx, to, &row->node) : store->indices[d];
    rlx_tir_folder_init(&w, ctx);
    const rlx_prim *value = rlx_ptrmap_put(&w.map, m->row, (uintptr_t)rlx_fold_add(ctx, begin, &row->node)) ? rlx_rewrite(&w, store->value) : NULL;
    rlx_rewriter_free(&w);
    const rlx_stmt *body =
        value && index[r->dim] ? rlx_store(ctx, r->c.pictures.small, value, index, store->num_indices, store->place) : NULL;
    body = rlx_in_loops_of(ctx, m->nest, m->row, row, count, body);
    return body ? rlx_copy_fresh(ctx, body) : NULL;
}

/* The number in rows [row, row + num_rows) of the small picture, of dimension d in places [from, from + count) alone. NULL: out of memory. */
static const rlx_stmt *fill_box(const rows *r, const rlx_prim *row, const rlx_prim *num_rows, size_t d, int64_t from, int64_t count)
{
    rlx_context *ctx = r->c.ctx;
    const rlx_buffer *small = r->c.pictures.small;
    rlx_sched_loop loops[RLX_TIR_MAX_DIMS];
    const rlx_prim *index[RLX_TIR_MAX_DIMS];
    for (size_t i = 0; i < small->num_shape; i++) {
        const bool part = i == d && i != r->dim;
        loops[i] = rlx_sched_loop_new(ctx, "i", i == r->dim ? num_rows : rlx_int64(ctx, part ? count : r->fill.size[i]));
        index[i] = !loops[i].var  ? NULL
                   : i == r->dim ? rlx_fold_add(ctx, row, loops[i].var)
                   : part        ? rlx_fold_add(ctx, rlx_int64(ctx, from), loops[i].var)
                                 : loops[i].var;
        if (!index[i])
            return NULL;
    }
    const rlx_stmt *body = rlx_store(ctx, small, r->fill.number, index, small->num_shape, r->c.place);
    for (size_t i = small->num_shape; i-- > 0;)
        body = rlx_sched_wrap(ctx, &loops[i], body, r->c.place);
    return body;
}

/* `all`, and in each row what lies in front of the copied part and behind it. NULL: out of memory. */
static const rlx_stmt *fill_sides(const rows *r, const rlx_stmt *all)
{
    const rlx_prim *zero = rlx_int64(r->c.ctx, 0), *all_rows = rlx_int64(r->c.ctx, r->small);
    for (size_t d = 0; d < r->c.pictures.small->num_shape && all; d++) {
        const int64_t behind = r->copy.from[d] + r->copy.size[d], left = r->fill.size[d] - behind;
        if (d != r->dim && r->copy.from[d] > 0)
            all = rlx_sched_both(r->c.ctx, all, fill_box(r, zero, all_rows, d, 0, r->copy.from[d]), r->c.place);
        if (d != r->dim && left > 0)
            all = rlx_sched_both(r->c.ctx, all, fill_box(r, zero, all_rows, d, behind, left), r->c.place);
    }
    return all;
}

/* Would pixels fall on each other? */
static bool is_aliased(const rlx_buffer *b)
{
    int64_t channels;
    return rlx_int_literal(b->shape[b->num_shape - 1], &channels) && rlx_lanes_apart(channels) != channels;
}

/* The rows of the picture that a block reads: those that are there are copied, those above and below are filled. NULL: out of memory. */
static const rlx_stmt *make_block(const rows *r)
{
    rlx_context *ctx = r->c.ctx;
    const rlx_prim *zero = rlx_int64(ctx, 0), *small = rlx_int64(ctx, r->small),
                   *base = rlx_fold_mul(ctx, r->c.base, rlx_int64(ctx, r->step)),
                   *top = base ? rlx_fold_sub(ctx, base, rlx_int64(ctx, r->copy.from[r->dim])) : NULL, /* row of the copied one at 0 */
                   *from = top ? rlx_greatest(ctx, zero, top) : NULL,
                   *at = from ? rlx_least(ctx, small, rlx_fold_sub(ctx, from, top)) : NULL, /* all of it may be above */
                   *left = from ? rlx_fold_sub(ctx, rlx_int64(ctx, r->copy.size[r->dim]), from) : NULL,
                   *fits = at ? rlx_fold_sub(ctx, small, at) : NULL,
                   *count = left && fits ? rlx_greatest(ctx, zero, rlx_least(ctx, left, fits)) : NULL,
                   *below = count ? rlx_fold_add(ctx, at, count) : NULL, *rest = below ? rlx_fold_sub(ctx, small, below) : NULL;
    const rlx_stmt *all = rest ? fill_sides(r, copy_rows(r, from, count, at)) : NULL;
    all = rlx_sched_both(ctx, all, all ? fill_box(r, zero, at, r->dim, 0, 0) : NULL, r->c.place);
    return rlx_sched_both(ctx, all, all ? fill_box(r, below, rest, r->dim, 0, 0) : NULL, r->c.place);
}

/* The whole of it in blocks of rows. NULL: out of memory. */
static const rlx_stmt *write_rows(rows *r)
{
    rlx_channels *c = &r->c;
    rlx_context *ctx = c->ctx;
    const rlx_prim *var = c->plan->loops[c->lane].var;
    const int64_t blocks = (c->all + c->block - 1) / c->block;
    const int sums = rlx_channel_of(ctx, c->acc, var);
    rlx_channel_member fill, sum = { .nest = rlx_as_for_stmt(c->stmts[c->at]), .lane = var };
    rlx_block_loops loops;
    c->sums.apart = c->pictures.apart = c->pictures.window = true;
    if (!rlx_open_blocks(c, blocks < RLX_BLOCK_PARTS ? 1 : blocks / RLX_BLOCK_PARTS, &loops) ||
        !rlx_shrink(c, &c->sums, rlx_as_buffer(c->acc->buffer), (size_t)sums, c->block) || !rlx_shrink_passed(c))
        return NULL;
    if (c->own_picture && !rlx_shrink(c, &c->pictures, rlx_as_buffer(c->picture->buffer), r->dim, r->small))
        return NULL;
    if (!rlx_is_channel_member(c, c->stmts[c->at - 1], rlx_as_buffer(c->acc->buffer), (size_t)sums, &fill))
        return NULL;
    const rlx_stmt *body = rlx_sched_both(ctx, rlx_in_block(c, &fill, c->size), rlx_in_block(c, &sum, c->size), c->place);
    body = c->own_picture ? rlx_sched_both(ctx, make_block(r), body, c->place) : body;
    body = rlx_sched_wrap(ctx, &loops.blocks, rlx_with_behind(c, body), c->place);
    if (c->own_picture && body)
        body = rlx_tir_with_temporary(ctx, c->pictures.small, body, c->place);
    if (body)
        rlx_drop_shrunk(c);
    return rlx_sched_wrap(ctx, &loops.parts, body, c->place);
}

/* Rows of a block: as many as lie near, and as many new ones as are copied twice. */
static int64_t rows_of_block(const rows *r, int64_t each)
{
    const int64_t halo = r->height - r->c.all * r->step, near = (NEAR_ELEMENTS / each - halo) / r->step;
    int64_t most = near < halo ? halo : near;
    most = most < 1 ? 1 : most;
    return most < r->c.all ? most : r->c.all;
}

/* With c.plan, that of the sum as it is now. */
static const rlx_stmt *lay(rows *r, size_t *first, size_t *end)
{
    rlx_channels *c = &r->c;
    const rlx_node *picture = c->picture->buffer, *acc = c->acc->buffer;
    c->picture = c->acc = NULL;
    for (size_t i = 0; i < c->plan->accesses.len; i++) {
        const rlx_plan_access *a = &c->plan->accesses.data[i];
        c->picture = a->buffer == picture ? a : c->picture;
        c->acc = a->buffer == acc && a->stores ? a : c->acc;
    }
    if (!c->picture || !c->acc || !find_lane(r))
        return NULL;
    c->first = c->at - 1;
    rlx_find_behind(c);
    if (!c->own_sums || !rlx_lanes_are_apart(c))
        return NULL;
    c->own_picture = find_makers(r, c->first);
    const int64_t each = rlx_elements_without(c->picture, r->dim);
    c->block = each <= SMALL_ELEMENTS / r->height ? c->all : rows_of_block(r, each);
    r->small = (c->block - 1) * r->step + r->height - (c->all - 1) * r->step;
    if (c->block >= c->all && !(c->own_picture && is_aliased(rlx_as_buffer(picture))))
        return NULL;
    const rlx_stmt *out = write_rows(r);
    *first = c->own_picture ? c->first - 2 : c->first;
    *end = c->end;
    return out;
}

const rlx_stmt *rlx_lay_channel_rows(const rlx_channels *of, const rlx_for_stmt *fill, const rlx_for_stmt *sum, size_t *first, size_t *end)
{
    rlx_context *ctx = of->ctx;
    rlx_nest_plan plan;
    rows r = { .c = { .ctx = ctx, .params = of->params, .count = of->count, .at = of->at, .plan = &plan, .place = of->place, .start = of->start,
                      .picture = of->picture, .acc = of->acc } };
    const rlx_stmt **stmts = rlx_new(ctx, (of->count + 1) * sizeof *stmts), *out = NULL;
    if (!stmts)
        return NULL;
    memcpy(stmts, of->stmts, of->count * sizeof *stmts);
    stmts[of->at - 1] = &fill->node;
    stmts[of->at] = &sum->node;
    r.c.stmts = stmts;
    out = rlx_plan_nest(ctx, &rlx_plan_everywhere, sum, &plan) ? lay(&r, first, end) : NULL;
    rlx_nest_plan_free(ctx, &plan);
    return out;
}
