/*- epilogue.c: what is computed of each element of a contraction, block by block.
 *
 *     for i, j, k:  C[i, j] += A[i, k] * B[k, j]          for io, jo:
 *     for i, j:     D[i, j] = C[i, j] + bias[j]               for i, j, k:  Y[..] += ..
 *     for i, j:     Y[i, j] = max(D[i, j], 0)                 for i, j:     d[i, j] = Y[..] + bias[..]
 *                                                             for i, j:     Y[..] = max(d[i, j], 0)
 *
 * A nest behind the contraction joins it if each of its iterations belongs to one element of C (or of what a nest that has
 * joined made of that), and it touches what the others store there alone. Which loop of it is which of the contraction
 * follows from the indices of what it reads. It runs on a block of rows and columns as soon as their sums are complete, while
 * they are near. Nothing of it can fail: it runs earlier than it would have.
 *
 * A temporary that nobody else touches shrinks to a block. Sums are done in the result itself where that has the type and the place
 * of C; else C shrinks like the others, unless sums are done in several tiles of steps, so that it lasts longer than a block.
 */
#include "schedule/contract_int.h"

/* ---- which loop is which --------------------------------------------------------------------- */

static const rlx_prim *wide(const rlx_tiling *t, const rlx_prim *e)
{
    return rlx_fold_cast(t->ctx, RELAX_INT64, e);
}

/* Is the index each number from 0 to size once, digits of a number in the loops of the contraction? They are marked as used. */
static bool is_each_once(const rlx_tiling *t, const rlx_prim *index, const rlx_prim *size, bool *used)
{
    rlx_plan_view room;
    const rlx_tir_affine *a = rlx_plan_affine(t->ctx, &rlx_tiling_scope, t->plan, index, &room);
    const rlx_prim *below = rlx_int64(t->ctx, 1);
    size_t left = 0;
    if (!a || !rlx_is_int_value(a->base, 0))
        return false;
    for (size_t i = 0; i < t->plan->count; i++)
        left += a->coeff[i] != NULL && !rlx_is_int_value(a->coeff[i], 0);
    while (left--) {
        size_t at = t->plan->count;
        for (size_t i = 0; i < t->plan->count; i++)
            if (a->coeff[i] && !used[i] && wide(t, a->coeff[i]) == below)
                at = i;
        if (at == t->plan->count)
            return false;
        used[at] = true;
        below = rlx_fold_mul(t->ctx, below, rlx_tiling_extent(t, (int)at));
    }
    return below && rlx_prove_equal(t->ctx, NULL, below, size) == RLX_EQUAL;
}

static int loop_of(const rlx_nest_plan *n, const rlx_prim *index)
{
    for (size_t i = 0; i < n->count; i++)
        if (n->loops[i].var == index)
            return (int)i;
    return -1;
}

/* The loops of the nest by those of the contraction, if the access `a` of the nest is what `known` is there, each element of it
 * once. */
static bool match_loops(const rlx_tiling *t, const rlx_nest_plan *n, const rlx_plan_access *a,
                        const rlx_plan_access *known, rlx_epilogue_nest *out)
{
    bool used[RLX_PLAN_MAX_NEST] = { false };
    for (size_t d = 0; d < a->num_indices; d++) {
        int i = loop_of(n, a->indices[d]);
        if (i < 0 ? a->indices[d] != known->indices[d] || a->indices[d]->kind != RLX_NODE_INT_IMM
                  : out->value[i] != NULL ||
                        !is_each_once(t, known->indices[d], n->loops[i].extent, used))
            return false;
        if (i >= 0)
            out->value[i] = known->indices[d];
    }
    for (size_t i = 0; i < t->plan->count; i++)
        if (rlx_tiling_coefficient(t->acc, (int)i) && !used[i])
            return false;
    out->count = n->count;
    for (size_t i = 0; i < n->count; i++) {
        out->var[i] = n->loops[i].var;
        if (!out->value[i] || !n->loops[i].determined || !rlx_is_int_value(n->loops[i].min, 0))
            return false;
    }
    return true;
}

/* ---- what is touched ------------------------------------------------------------------------- */

static bool is_same_place(const rlx_plan_access *a, const rlx_plan_access *b)
{
    bool same = a->buffer == b->buffer && a->num_indices == b->num_indices;
    for (size_t d = 0; d < a->num_indices && same; d++)
        same = a->indices[d] == b->indices[d];
    return same;
}

/* The indices of an access of a nest, in the loops of the contraction. False: out of memory. */
static bool translate(const rlx_tiling *t, const rlx_epilogue_nest *n, const rlx_prim *const *indices,
                      size_t count, const rlx_prim **out)
{
    rlx_rewriter r;
    rlx_tir_folder_init(&r, t->ctx);
    for (size_t i = 0; i < n->count; i++)
        (void)rlx_ptrmap_put(&r.map, n->var[i],
                             (uintptr_t)rlx_fold_cast(t->ctx, rlx_prim_dtype(n->var[i]), n->value[i]));
    bool ok = true;
    for (size_t d = 0; d < count && ok; d++)
        ok = (out[d] = rlx_rewrite(&r, indices[d])) != NULL;
    rlx_rewriter_free(&r);
    return ok;
}

typedef struct search { const rlx_tiling *t; const rlx_digits *lanes; bool found; } search;

static enum rlx_step find_lane(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    search *s = user;
    for (int i = 0; i < s->lanes->count; i++)
        s->found |= n == s->t->plan->loops[s->lanes->at[i]].var;
    return s->found ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Lanes that are one loop in the tile are one index of the access, or none. */
static bool is_straight(const rlx_tiling *t, const rlx_plan_access *a, const rlx_digits *lanes)
{
    search s = { t, lanes, false };
    rlx_walker w = { .enter = find_lane, .user = &s, .unique = true };
    if (lanes->count == 1 || rlx_merged_at(t, a, lanes) >= 0)
        return true;
    for (size_t d = 0; d < a->num_indices; d++)
        rlx_walk(&t->ctx->memory, a->indices[d], &w, NULL);
    return !s.found;
}

/* May it be touched block by block, beside all that is? */
static bool may_touch(const rlx_tiling *t, const rlx_epilogue *e, const rlx_plan_access *a)
{
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    const rlx_buffer_load *l = rlx_as_buffer_load(a->node);
    const rlx_buffer_store *s = rlx_as_buffer_store(a->node);
    bool may = !(l ? l->predicate : s->predicate) && rlx_is_compact(b) &&
               a->num_indices == b->num_shape && a->num_indices < RLX_TIR_MAX_DIMS &&
               is_straight(t, a, &t->row.lanes) && is_straight(t, a, &t->column.lanes) &&
               !(a->stores && (rlx_plan_share_memory(a, t->row.access) ||
                               rlx_plan_share_memory(a, t->column.access)));
    for (size_t d = 0; d < a->num_indices && may; d++)
        may = rlx_index_fits(t, a->indices[d], wide(t, b->shape[d]));
    for (size_t i = 0; i < e->num_touched && may; i++) {
        const rlx_plan_access *other = &e->touched[i].access;
        may = !(a->stores || other->stores) || !rlx_plan_share_memory(a, other) ||
              is_same_place(a, other);
    }
    return may;
}

/* By the nest that is about to join. False: out of memory. */
static bool add_touched(const rlx_tiling *t, rlx_epilogue *e, const rlx_plan_access *a)
{
    size_t i = 0;
    while (i < e->num_touched && !is_same_place(a, &e->touched[i].access))
        i++;
    rlx_touched *to = &e->touched[i];
    if (i == e->num_touched) {
        e->num_touched++;
        *to = (rlx_touched){ .access = *a };
        to->access.indices = rlx_new_copy(t->ctx, a->indices, a->num_indices * sizeof *a->indices);
    }
    to->access.stores |= a->stores;
    *(a->stores ? &to->stored_by : &to->loaded_by) |= 1u << e->count;
    return to->access.indices || !a->num_indices;
}

/* An access of the nest in the loops of the contraction; room: for its indices. False: out of memory. */
static bool move_access(const rlx_tiling *t, const rlx_epilogue_nest *n, const rlx_plan_access *a,
                        const rlx_prim **room, rlx_plan_access *out)
{
    *out = *a;
    out->indices = room;
    return translate(t, n, a->indices, a->num_indices, room);
}

/* Adds what the nest touches, once all of it is found to be right. False: it is not, or out of memory. */
static bool add_all_touched(const rlx_tiling *t, rlx_epilogue *e, const rlx_nest_plan *plan,
                            const rlx_epilogue_nest *n)
{
    const rlx_prim *room[RLX_TIR_MAX_DIMS];
    rlx_plan_access a;
    bool may = e->num_touched + plan->accesses.len <= RLX_MOST_TOUCHED;
    for (size_t i = 0; i < plan->accesses.len && may; i++)
        may = plan->accesses.data[i].num_indices < RLX_TIR_MAX_DIMS &&
              move_access(t, n, &plan->accesses.data[i], room, &a) && may_touch(t, e, &a);
    for (size_t i = 0; i < plan->accesses.len && may; i++)
        may = move_access(t, n, &plan->accesses.data[i], room, &a) && add_touched(t, e, &a);
    return may;
}

/* ---- does it belong there? ------------------------------------------------------------------- */

/* What may fail. */
static enum rlx_step find_failure(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    bool *bad = user;
    const rlx_binary *b = rlx_as_binary(n);
    const rlx_prim_call *c = rlx_as_prim_call(n);
    int64_t by = 0;
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    if (n->kind == RLX_NODE_DIV || n->kind == RLX_NODE_MOD || n->kind == RLX_NODE_FLOOR_DIV ||
        n->kind == RLX_NODE_FLOOR_MOD)
        *bad |= !rlx_dtype_is_float(rlx_prim_dtype(b->a)) && !(rlx_int_literal(b->b, &by) && by > 0);
    if (c && !(c->op && rlx_slice_is(rlx_string_slice(c->op), "if_then_else")))
        *bad |= !c->num_args || !rlx_dtype_is_float(rlx_prim_dtype(c->args[0]));
    return *bad ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool may_fail(const rlx_tiling *t, const rlx_stmt *body)
{
    bool bad = false;
    rlx_walker w = { .enter = find_failure, .user = &bad, .terse = true };
    rlx_walk(&t->ctx->memory, body, &w, NULL);
    return bad;
}

/* The first access of the nest that says which loop is which. */
static bool place_loops(const rlx_tiling *t, const rlx_epilogue *e, const rlx_nest_plan *plan,
                        rlx_epilogue_nest *n)
{
    for (size_t i = 0; i < plan->accesses.len; i++)
        for (size_t k = 0; k < e->num_touched; k++) {
            const rlx_plan_access *a = &plan->accesses.data[i], *known = &e->touched[k].access;
            if (a->stores || !known->stores || a->buffer != known->buffer)
                continue;
            return match_loops(t, plan, a, known, n);
        }
    return false;
}

static bool joins(const rlx_tiling *t, rlx_epilogue *e, const rlx_for_stmt *nest)
{
    rlx_nest_plan plan;
    rlx_epilogue_nest *n = &e->nests[e->count];
    const rlx_for_stmt *loops = rlx_without_single_steps(t->ctx, nest);
    if (!loops || e->count >= RLX_MOST_EPILOGUES)
        return false;
    bool is = rlx_plan_nest(t->ctx, &rlx_tiling_scope, loops, &plan);
    *n = (rlx_epilogue_nest){ .nest = nest, .body = plan.body, .place = nest->place };
    is = is && plan.form != RLX_PLAN_PLAIN && plan.form != RLX_PLAN_EMPTY &&
         plan.form != RLX_PLAN_PARTIAL && plan.form != RLX_PLAN_ORDERED && place_loops(t, e, &plan, n) && !may_fail(t, plan.body) &&
         add_all_touched(t, e, &plan, n);
    rlx_nest_plan_free(t->ctx, &plan);
    return is;
}

bool rlx_find_epilogue(const rlx_tiling *t, const rlx_after *after, rlx_epilogue *e)
{
    e->count = e->num_touched = 0;
    e->touched[e->num_touched++] = (rlx_touched){ .access = *t->acc };
    e->touched[0].access.stores = true;
    for (size_t i = 0; i < after->count; i++) {
        const rlx_for_stmt *nest = rlx_as_for_stmt(after->stmts[i]);
        if (!nest || !joins(t, e, nest))
            break;
        e->count++;
    }
    return !t->ctx->diags.out_of_memory;
}

/* ---- where it all lies ----------------------------------------------------------------------- */

/* Is it a temporary that nobody else touches? */
static bool is_local(const rlx_tiling *t, const rlx_epilogue *e, const rlx_touched *x,
                     const rlx_for_stmt *init, const rlx_for_stmt *nest)
{
    const rlx_stmt *all[RLX_MOST_EPILOGUES + 2];
    size_t n = 0;
    if (init)
        all[n++] = &init->node;
    all[n++] = &nest->node;
    for (size_t i = 0; i < e->count; i++)
        all[n++] = &e->nests[i].nest->node;
    return x->access.stores && rlx_is_temporary_of_nests(t->ctx, t->params, rlx_as_buffer(x->access.buffer), all, n);
}

/* Does the nest do nothing but store, whatever the elements are? */
static bool only_stores(const rlx_epilogue_nest *n)
{
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(n->body);
    bool is = seq || n->body->kind == RLX_NODE_BUFFER_STORE;
    for (size_t i = 0; seq && i < seq->num_stmts && is; i++)
        is = seq->stmts[i]->kind == RLX_NODE_BUFFER_STORE;
    return is;
}

/* Is it stored in front of whatever loads it? Else an element may be one of an earlier time round. */
static bool is_made_here(const rlx_epilogue *e, const rlx_touched *x)
{
    size_t first = 0;
    while (first < e->count && !(x->stored_by >> first & 1))
        first++;
    return first < e->count && only_stores(&e->nests[first]) &&
           !(x->loaded_by & ((2u << first) - 1));
}

/* Are they elements of the same type, at the same places of buffers of one shape? */
static bool are_alike(const rlx_tiling *t, const rlx_touched *x, const rlx_touched *y)
{
    const rlx_buffer *a = rlx_as_buffer(x->access.buffer), *b = rlx_as_buffer(y->access.buffer);
    bool are = a->dtype == b->dtype && a->num_shape == b->num_shape;
    for (size_t d = 0; d < a->num_shape && are; d++)
        are = x->access.indices[d] == y->access.indices[d] && rlx_prove_equal(t->ctx, NULL, a->shape[d], b->shape[d]) == RLX_EQUAL;
    return are;
}

/* What may be the accumulator in place of C: what one nest stores where C was, when nobody needs C any more. */
static const rlx_touched *find_result(const rlx_tiling *t, const rlx_epilogue *e)
{
    const rlx_touched *c = &e->touched[0];
    for (size_t k = 1; k < e->num_touched; k++) {
        const rlx_touched *y = &e->touched[k];
        bool fits = y->stored_by && !(y->stored_by & (y->stored_by - 1)) && !y->loaded_by && !y->block &&
                    c->loaded_by < 2 * y->stored_by;
        for (size_t i = 0; i < e->count && fits; i++)
            fits = !(y->stored_by >> i & 1) || e->nests[i].body->kind == RLX_NODE_BUFFER_STORE;
        if (fits && are_alike(t, y, c))
            return y;
    }
    return NULL;
}

/* Is something loaded where y is stored, so that it may be the memory of y once it is dead? Not if sums wait there. */
static bool may_be_overwritten(const rlx_tiling *t, const rlx_epilogue *e, const rlx_touched *y)
{
    for (const rlx_touched *x = e->touched + 1; x < e->touched + e->num_touched; x++)
        if (x != y && !x->stored_by && x->loaded_by == y->stored_by && are_alike(t, x, y))
            return true;
    return false;
}

static const rlx_buffer *new_block(const rlx_tiling *t, const rlx_touched *x)
{
    const rlx_prim *shape[2] = {
        rlx_least(t->ctx, t->row.lanes.extent, rlx_int64(t->ctx, t->row_tile)),
        rlx_least(t->ctx, t->column.lanes.extent, rlx_int64(t->ctx, t->column_tile))
    };
    const rlx_buffer *b = rlx_as_buffer(x->access.buffer);
    return rlx_buffer_new(t->ctx, b->name, b->dtype, shape, 2, NULL, t->place);
}

bool rlx_place_epilogue(rlx_tiling *t, rlx_epilogue *e, const rlx_for_stmt *init,
                        const rlx_for_stmt *nest, bool begins, bool once)
{
    const rlx_digits *groups[2] = { &t->row.lanes, &t->column.lanes };
    rlx_touched *c = &e->touched[0];
    for (size_t i = 1; i < e->num_touched; i++)
        e->touched[i].block = is_made_here(e, &e->touched[i]) && is_local(t, e, &e->touched[i], init, nest);
    const bool local = begins && is_local(t, e, c, init, nest);
    const rlx_touched *y = local ? find_result(t, e) : NULL;
    if (y && once && may_be_overwritten(t, e, y))
        y = NULL;
    c->block = local && !y && once;
    for (size_t i = 0; i < e->num_touched; i++) {
        rlx_touched *x = &e->touched[i];
        x->in_tile = x->block ? new_block(t, x) : rlx_merged_view(t, &x->access, groups, 2);
        if (!x->in_tile)
            return false;
    }
    if (y) {
        e->accumulator = *t->acc;
        e->accumulator.buffer = y->access.buffer;
        t->acc = &e->accumulator;
        c->in_tile = y->in_tile;
    }
    t->acc_buffer = c->in_tile;
    return true;
}

const rlx_stmt *rlx_on_accumulator(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *s)
{
    rlx_rewriter r;
    const rlx_node *c = e->touched[0].access.buffer;
    if (!s || t->acc->buffer == c)
        return s;
    rlx_rewriter_init(&r, t->ctx);
    s = rlx_ptrmap_put(&r.map, c, (uintptr_t)t->acc->buffer) ? rlx_rewrite(&r, s) : NULL;
    rlx_rewriter_free(&r);
    return s;
}

const rlx_stmt *rlx_epilogue_apart(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *nests)
{
    for (size_t i = 0; i < e->count; i++)
        nests = rlx_sched_both(t->ctx, nests, rlx_on_accumulator(t, e, &e->nests[i].nest->node), t->place);
    for (size_t i = 0; i < e->num_touched; i++)
        if (e->touched[i].block)
            nests = rlx_tir_with_temporary(t->ctx, rlx_as_buffer(e->touched[i].access.buffer), nests,
                                           t->place);
    return nests;
}

const rlx_stmt *rlx_with_epilogue(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *body)
{
    for (size_t i = 0; i < e->num_touched && body; i++) {
        const rlx_touched *x = &e->touched[i];
        bool replaced = !i && t->acc->buffer != x->access.buffer;
        if (!x->block && &x->in_tile->node != x->access.buffer && !replaced)
            body = rlx_declare_view(t->ctx, x->in_tile, body, t->place);
        if (x->block || replaced)
            rlx_drop_temporary(t->ctx, t->params, rlx_as_buffer(x->access.buffer));
    }
    return body;
}

const rlx_stmt *rlx_with_blocks(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *body)
{
    for (size_t i = 0; i < e->num_touched && body; i++)
        if (e->touched[i].block)
            body = rlx_tir_with_temporary(t->ctx, e->touched[i].in_tile, body, t->place);
    return body;
}

/* ---- a block --------------------------------------------------------------------------------- */

typedef struct writing {
    const rlx_tiling *t;
    const rlx_epilogue *e;
    const rlx_epilogue_nest *nest;
    const rlx_prim *tile, *in_line;  /* if it is computed of turned sums: of rows, and the column in its line of the picture */
    const rlx_prim *inside[2];       /* row and column, in the block */
    rlx_lane_group lanes[2], apart[2]; /* of the contraction; digits apart */
} writing;

/* Where an access is in the block; the buffer that it is there. NULL: out of memory. */
static const rlx_buffer *place_access(const writing *w, const rlx_node *buffer,
                                      const rlx_prim *const *indices, size_t count,
                                      const rlx_prim **at, size_t *num_at)
{
    const rlx_prim *moved[RLX_TIR_MAX_DIMS];
    const rlx_plan_access a = { .buffer = buffer, .indices = moved, .num_indices = count };
    size_t i = 0;
    if (!translate(w->t, w->nest, indices, count, moved))
        return NULL;
    while (i < w->e->num_touched && !is_same_place(&a, &w->e->touched[i].access))
        i++;
    if (i == w->e->num_touched)
        return NULL;
    const rlx_touched *x = &w->e->touched[i];
    if (w->tile) {
        const rlx_prim *beside[3] = { w->tile, w->in_line, w->inside[0] }, *sum[2] = { w->inside[1], w->inside[0] };
        *num_at = x->beside ? 3 : 2;
        memcpy(at, x->beside ? beside : sum, *num_at * sizeof *at);
        return x->beside ? x->beside : w->t->strip.sums;
    }
    *num_at = x->block ? 2 : rlx_indices_in(w->t, &x->access, x->in_tile, w->lanes, 2, at);
    if (x->block)
        memcpy(at, w->inside, sizeof w->inside);
    return *num_at || !count ? x->in_tile : NULL;
}

static const rlx_node *write_access(rlx_rewriter *r, const rlx_node *n)
{
    const writing *w = r->user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    const rlx_node *now = NULL;
    size_t count;
    if (!l && !s)
        return NULL;
    const rlx_buffer *b = l ? place_access(w, l->buffer, l->indices, l->num_indices, at, &count)
                            : place_access(w, s->buffer, s->indices, s->num_indices, at, &count);
    const rlx_prim *value = b && s ? rlx_rewrite(r, s->value) : NULL;
    if (b)
        now = l ? rlx_load(r->ctx, b, at, count)
                : value ? rlx_store(r->ctx, b, value, at, count, s->place) : NULL;
    r->failed |= !now;
    return now;
}

/* What a row and a column of the block are in the contraction. */
static void stand_at(writing *w, const rlx_prim *const *begin, const rlx_prim *i, const rlx_prim *j)
{
    const rlx_tiling *t = w->t;
    const rlx_prim *row = rlx_fold_add(t->ctx, begin[0], i), *column = rlx_fold_add(t->ctx, begin[1], j);
    w->inside[0] = i, w->inside[1] = j;
    for (int k = 0; k < 2; k++) {
        w->lanes[k] = rlx_lanes_at(t, k ? &t->column : &t->row, false, k ? column : row);
        w->apart[k] = rlx_lanes_at(t, k ? &t->column : &t->row, true, k ? column : row);
    }
}

/* The body of the nest there. */
static const rlx_stmt *write_body(writing *w)
{
    const rlx_tiling *t = w->t;
    rlx_context *ctx = t->ctx;
    const rlx_buffer *c = rlx_as_buffer(w->e->touched[0].access.buffer);
    rlx_rewriter r;
    rlx_tir_folder_init(&r, ctx);
    r.before = write_access;
    r.user = w;
    for (size_t k = 0; k < w->nest->count; k++) {
        const rlx_plan_access a = { .buffer = &c->node, .indices = &w->nest->value[k], .num_indices = 1 };
        const rlx_prim *now;
        if (rlx_indices_in(t, &a, c, w->apart, 2, &now))
            (void)rlx_ptrmap_put(&r.map, w->nest->var[k],
                                 (uintptr_t)rlx_fold_cast(ctx, rlx_prim_dtype(w->nest->var[k]), now));
    }
    const rlx_stmt *body = rlx_rewrite(&r, w->nest->body);
    rlx_rewriter_free(&r);
    return body;
}

/* One nest on the block. */
static const rlx_stmt *write_nest(writing *w, const rlx_prim *const *begin, const rlx_prim *const *count)
{
    rlx_context *ctx = w->t->ctx;
    rlx_sched_loop i = rlx_sched_loop_new(ctx, "i", count[0]), j = rlx_sched_loop_new(ctx, "j", count[1]);
    stand_at(w, begin, i.var, j.var);
    const rlx_stmt *body = write_body(w);
    return rlx_sched_wrap(ctx, &i, rlx_sched_wrap(ctx, &j, body, w->nest->place), w->nest->place);
}

const rlx_stmt *rlx_epilogue_block(const rlx_tiling *t, const rlx_epilogue *e,
                                   const rlx_prim *const *begin, const rlx_prim *const *count)
{
    const rlx_stmt *parts[RLX_MOST_EPILOGUES];
    for (size_t i = 0; i < e->count; i++) {
        writing w = { .t = t, .e = e, .nest = &e->nests[i] };
        parts[i] = write_nest(&w, begin, count);
        if (!parts[i])
            return NULL;
    }
    return rlx_seq_stmt_new(t->ctx, parts, e->count, t->place);
}

/*- ---- sums that are turned -------------------------------------------------------------------
 *
 *     for io, x, o:  B[io, x, o] = bias[io * tile + o]                                          once
 *     for line, x, o:  T[line * width + x, o] = f(T[line * width + x, o] + B[io, x, o])         for each tile
 *     for o, x:  Y[io * tile + o, x] = T[x, o]
 *
 * Rows of a tile are some lines of a picture, so that a chain of functions begins again after a hundred elements or so. All turned sums of a line
 * are one run, many times as long, whose numbers of rows are laid beside them.
 */

enum { MOST_NUMBERS = 2 };

static enum rlx_step find_function(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    bool *found = user;
    const rlx_prim_call *c = rlx_as_prim_call(n);
    *found |= c && c->op;
    return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : *found ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Does the nest store one value, which is made by functions, or of one that is used twice? Other nests are instructions for rows. */
static bool stores_chain(const rlx_tiling *t, const rlx_epilogue_nest *n)
{
    bool found = false;
    rlx_walker w = { .enter = find_function, .user = &found, .terse = true };
    const rlx_stmt *s = n->body;
    rlx_walk(&t->ctx->memory, s, &w, NULL);
    while (s->kind == RLX_NODE_LET_STMT)
        s = ((const rlx_let_stmt *)s)->body;
    return (found || n->body->kind == RLX_NODE_LET_STMT) && s->kind == RLX_NODE_BUFFER_STORE;
}

/* Is it a number of each row, which nothing stores? */
static bool is_of_row(const rlx_tiling *t, const rlx_touched *x)
{
    search s = { t, &t->column.lanes, false };
    rlx_walker w = { .enter = find_lane, .user = &s, .unique = true };
    for (size_t d = 0; d < x->access.num_indices; d++)
        rlx_walk(&t->ctx->memory, x->access.indices[d], &w, NULL);
    return !s.found && !x->stored_by;
}

/* What the only nest stores, of the sums and of numbers of rows; NULL: it is something else. */
static const rlx_touched *find_turned(const rlx_tiling *t, const rlx_epilogue *e)
{
    const rlx_touched *y = NULL;
    size_t numbers = 0;
    int64_t rows;
    if (e->count != 1 || !t->strip.turned || t->strip.whole || rlx_has_depth_tiles(t) || !rlx_int_literal(t->row.lanes.extent, &rows) ||
        (rows > t->row_tile && rows % t->row_tile) || !stores_chain(t, &e->nests[0]))
        return NULL;
    for (size_t i = 0; i < e->num_touched; i++) {
        const rlx_touched *x = &e->touched[i];
        if (rlx_as_buffer(x->access.buffer)->dtype != RELAX_FLOAT32)
            return NULL;
        if (i && !x->loaded_by && !y)
            y = x;
        else if (i && (!is_of_row(t, x) || ++numbers > MOST_NUMBERS))
            return NULL;
    }
    return y && !y->block && (e->touched[0].block || t->acc->buffer == y->access.buffer) ? y : NULL;
}

static const rlx_buffer *new_numbers(const rlx_tiling *t, const rlx_touched *x)
{
    const rlx_buffer *sums = t->strip.sums;
    const rlx_prim *shape[3] = { rlx_ceil_div(t->ctx, t->row.lanes.extent, t->row_tile), rlx_int64(t->ctx, t->strip.width), sums->shape[1] };
    return rlx_buffer_new(t->ctx, rlx_as_buffer(x->access.buffer)->name, RELAX_FLOAT32, shape, 3, NULL, t->place);
}

bool rlx_choose_turned_epilogue(const rlx_tiling *t, rlx_epilogue *e)
{
    e->turned = find_turned(t, e);
    for (size_t i = 1; i < e->num_touched && e->turned; i++)
        if (&e->touched[i] != e->turned && !(e->touched[i].beside = new_numbers(t, &e->touched[i])))
            return false;
    return true;
}

const rlx_stmt *rlx_turned_epilogue_block(const rlx_tiling *t, const rlx_epilogue *e, const rlx_prim *tile, const rlx_prim *const *begin,
                                          const rlx_prim *const *count)
{
    rlx_context *ctx = t->ctx;
    const rlx_prim *width = rlx_int64(ctx, t->strip.width), *at[RLX_TIR_MAX_DIMS], *from[2];
    rlx_sched_loop line = rlx_sched_loop_new(ctx, "line", rlx_ceil_div(ctx, count[1], t->strip.width)), x = rlx_sched_loop_new(ctx, "x", width),
                   o = rlx_sched_loop_new(ctx, "o", count[0]), i = rlx_sched_loop_new(ctx, "o", count[0]), j = rlx_sched_loop_new(ctx, "x", count[1]);
    writing w = { .t = t, .e = e, .nest = &e->nests[0], .tile = tile, .in_line = x.var };
    stand_at(&w, begin, o.var, rlx_fold_add(ctx, rlx_fold_mul(ctx, line.var, width), x.var));
    const rlx_stmt *body = rlx_sched_wrap(ctx, &x, rlx_sched_wrap(ctx, &o, write_body(&w), t->place), t->place);
    body = rlx_sched_wrap(ctx, &line, body, t->place);
    stand_at(&w, begin, i.var, j.var);
    from[0] = j.var, from[1] = i.var;
    const size_t n = rlx_indices_in(t, &e->turned->access, e->turned->in_tile, w.lanes, 2, at);
    const rlx_stmt *back = n ? rlx_store(ctx, e->turned->in_tile, rlx_load(ctx, t->strip.sums, from, 2), at, n, t->place) : NULL;
    return rlx_sched_both(ctx, body, rlx_sched_wrap(ctx, &i, rlx_sched_wrap(ctx, &j, back, t->place), t->place), t->place);
}

const rlx_stmt *rlx_with_numbers_beside(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *body)
{
    rlx_context *ctx = t->ctx;
    for (size_t k = 1; k < e->num_touched && body; k++) {
        const rlx_touched *n = &e->touched[k];
        if (!n->beside)
            continue;
        rlx_sched_loop loops[3] = { rlx_sched_loop_new(ctx, "io", n->beside->shape[0]), rlx_sched_loop_new(ctx, "x", n->beside->shape[1]),
                                    rlx_sched_loop_new(ctx, "o", n->beside->shape[2]) };
        const rlx_prim *to[3] = { loops[0].var, loops[1].var, loops[2].var }, *at[RLX_TIR_MAX_DIMS],
                       *begin[2] = { rlx_fold_mul(ctx, loops[0].var, rlx_int64(ctx, t->row_tile)), rlx_int64(ctx, 0) };
        writing w = { .t = t, .e = e };
        stand_at(&w, begin, loops[2].var, rlx_int64(ctx, 0));
        const size_t count = rlx_indices_in(t, &n->access, n->in_tile, w.lanes, 2, at);
        const rlx_stmt *fill = count ? rlx_store(ctx, n->beside, rlx_load(ctx, n->in_tile, at, count), to, 3, t->place) : NULL;
        for (int i = 3; i-- > 0;)
            fill = rlx_sched_wrap(ctx, &loops[i], fill, t->place);
        body = rlx_tir_with_temporary(ctx, n->beside, rlx_sched_both(ctx, fill, body, t->place), t->place);
    }
    return body;
}
