/*- channels.c: windows of pictures, a picture for each channel, become sums whose lanes are channels.
 *
 *     for c, i, j:  P[c, i, j] = 0                       for b in range(n // 16):
 *     for c, i, j:  P[c, i + 1, j + 1] = X[c, i, j]          for i, j, l:  p[i, j, l] = 0
 *     for c, y, x:  S[c, y, x] = 0                           for l, i, j:  p[i + 1, j + 1, l] = X[b * 16 + l, i, j]
 *     for c, y, u, v, x:                                     for l, u, v:  w[u, v, l] = W[b * 16 + l, u, v]
 *         S[c, y, x] += P[c, y * 2 + u, ..] * W[c, u, v] ->  for y, x, l:  s[y, x, l] = 0
 *     for c, y, x:  Y[c, y, x] = f(S[c, y, x], B[c])         for y, x, u, v, l:  s[y, x, l] += p[y * 2 + u, .., l] * w[u, v, l]
 *                                                            for l, y, x:  t[l, y, x] = s[y, x, l]
 *                                                            for l, y, x:  Y[b * 16 + l, y, x] = f(t[l, y, x], B[b * 16 + l])
 *
 * Where each channel has a picture of its own there are no rows and columns that share what they read: a sum reads as much as it
 * computes. Vectors along a picture are fine while its rows are long and their elements side by side; steps of two, and rows
 * of a few elements, leave most lanes empty. Then it is faster to turn a block of channels, so that each lane is a channel, and to turn
 * the sums back: both while the block is near.
 *
 * Nests in front that fill the pictures' temporary, and nests behind that read the sums channel by channel, go into the loop over
 * blocks; temporaries get the size of a block. What fills all of the pictures with one number does so once for several blocks: the
 * others write the same places in each. Every sum keeps its steps.
 *
 * Where channels lie side by side already (NHWC), the weights alone are turned. Where vectors along the rows are fine nothing is, but the loop
 * over blocks is the same: what the nests hand each other stays near, and threads share one loop in place of several. Weights that are
 * constant are turned when the program is built.
 */
#include "schedule/channels_int.h"

enum {
    LANES = 16,              /* channels of a block: a multiple of it, or all */
    NEAR_ELEMENTS = 6144,    /* of the pictures of a block, about */
    LANES_ELEMENTS = 12288,  /* likewise where nothing is turned */
    LARGE_PICTURE = 512,     /* elements: 16 of them leave the nearest cache, so that what fills them is dear, and rows are better blocks */
    MOST_ELEMENTS = 5120,    /* of a picture with its borders: 16 larger ones leave the next cache, too */
    SHORT_ROW = 8,           /* elements of a row: most of a vector is empty */
    PLAIN_ELEMENTS = 8192,   /* of the pictures of a block that is not turned */
    MOST_STORED = 16,
    SAME_LINES = 256,        /* lanes that are so many, or a multiple of it, fall on each other in the nearest cache */
    APART = 16               /* so many more do not */
};

/* ---- which sums ----------------------------------------------------------------------------- */

/* The dimension of an access whose index is this variable, and no other index has it. -1: there is none. */
int rlx_channel_of(rlx_context *ctx, const rlx_plan_access *a, const rlx_prim *var)
{
    int found = -1, others = 0;
    rlx_ptrmap one;
    rlx_ptrmap_init(&one, &ctx->memory);
    bool ok = rlx_ptrmap_put(&one, var, 1);
    for (size_t d = 0; d < a->num_indices && ok; d++) {
        if (a->indices[d] == var)
            found = found < 0 ? (int)d : -2;
        else
            others += rlx_plan_hangs_on(ctx, a->indices[d], &one);
    }
    rlx_ptrmap_free(&one);
    return !ok || others || found < 0 ? -1 : found;
}

static bool is_float32(const rlx_plan_access *a)
{
    return rlx_as_buffer(a->buffer)->dtype == RELAX_FLOAT32 && a->literal && rlx_is_compact(rlx_as_buffer(a->buffer));
}

/* Does a loop over results that is not the channel move it? */
static bool has_pixels(const rlx_channels *c, const rlx_plan_access *a)
{
    bool has = false;
    for (int i = 0; i < (int)c->plan->count; i++)
        has |= i != c->lane && c->plan->loops[i].determined && rlx_plan_moves(a, i) &&
               !rlx_is_int_value(c->plan->loops[i].extent, 1);
    return has;
}

/* The loop that moves all three, and which operand is which. */
static bool find_lane(rlx_channels *c)
{
    const rlx_nest_plan *n = c->plan;
    const rlx_plan_access *a = &n->accesses.data[n->fused.a], *b = &n->accesses.data[n->fused.b];
    c->lane = -1;
    for (int i = 0; i < (int)n->count; i++) {
        if (!rlx_is_int_value(n->loops[i].min, 0))
            return false;
        if (n->loops[i].determined && rlx_plan_moves(c->acc, i) && rlx_plan_moves(a, i) && rlx_plan_moves(b, i)) {
            if (c->lane >= 0)
                return false;
            c->lane = i;
        }
    }
    if (c->lane < 0 || !rlx_int_literal(n->loops[c->lane].extent, &c->all) || c->all < 1)
        return false;
    bool swap = has_pixels(c, b);
    c->picture = swap ? b : a;
    c->weights = swap ? a : b;
    const rlx_prim *var = n->loops[c->lane].var;
    return has_pixels(c, c->picture) && !has_pixels(c, c->weights) && rlx_channel_of(c->ctx, c->acc, var) >= 0 &&
           rlx_channel_of(c->ctx, c->picture, var) >= 0 && rlx_channel_of(c->ctx, c->weights, var) >= 0;
}

static bool is_lane_sum(rlx_channels *c)
{
    const rlx_nest_plan *n = c->plan;
    if (n->form != RLX_PLAN_FUSED || !n->fused.contract || !n->fused.exact || n->body->kind != RLX_NODE_BUFFER_STORE)
        return false;
    c->acc = &n->accesses.data[n->fused.acc];
    return is_float32(c->acc) && is_float32(&n->accesses.data[n->fused.a]) && is_float32(&n->accesses.data[n->fused.b]) &&
           find_lane(c);
}

int64_t rlx_elements_without(const rlx_plan_access *a, size_t without)
{
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    int64_t all = 1, size;
    for (size_t d = 0; d < b->num_shape; d++)
        if (d != without && (!rlx_int_literal(b->shape[d], &size) || size < 1 || !rlx_mul_i64(all, size, &all)))
            return INT64_MAX;
    return all;
}

static bool are_sizes_known(const rlx_channels *c)
{
    int64_t extent;
    bool known = true;
    for (size_t i = 0; i < c->plan->count; i++)
        known &= rlx_int_literal(c->plan->loops[i].extent, &extent) && extent > 0;
    return known;
}

/* Do vectors along the pictures' rows leave most of their lanes empty? */
static bool wastes_lanes(const rlx_channels *c)
{
    const rlx_nest_plan *n = c->plan;
    for (int i = 0; i < (int)n->count; i++) {
        int64_t step, length;
        if (!rlx_is_int_value(c->acc->offset.coeff[i] ? c->acc->offset.coeff[i] : rlx_int64(c->ctx, 0), 1))
            continue;
        return c->picture->offset.coeff[i] && rlx_int_literal(c->picture->offset.coeff[i], &step) &&
               rlx_int_literal(n->loops[i].extent, &length) && (step > 1 || length <= SHORT_ROW);
    }
    return false;
}

/* Is it a matrix by a vector for each channel, with steps side by side in both? Rows of the matrix are turned in registers, some at a time. */
static bool is_by_vectors(const rlx_channels *c)
{
    enum { LEAST_ROWS = 24, TURNED_STEPS = 4 };
    const rlx_nest_plan *n = c->plan;
    int64_t extent;
    bool is = false;
    for (int i = 0; i < (int)n->count; i++) {
        const bool known = rlx_int_literal(n->loops[i].extent, &extent);
        if (!known || extent == 1 || i == c->lane)
            continue;
        if (n->loops[i].determined && (extent < LEAST_ROWS || !rlx_plan_is_unit(c->acc, i) || rlx_plan_moves(c->weights, i)))
            return false;
        if (!n->loops[i].determined && (is || extent % TURNED_STEPS || !rlx_plan_is_unit(c->picture, i) || !rlx_plan_is_unit(c->weights, i)))
            return false;
        is |= !n->loops[i].determined;
    }
    return is;
}

/* ---- which statements ----------------------------------------------------------------------- */

/* Is it a nest one of whose loops is the channel of `of`, all along it? */
bool rlx_is_channel_member(const rlx_channels *c, const rlx_stmt *s, const rlx_buffer *of, size_t dim, rlx_channel_member *out)
{
    const rlx_for_stmt *nest = rlx_as_for_stmt(s);
    rlx_nest_plan plan;
    *out = (rlx_channel_member){ .nest = nest };
    if (!nest || dim >= of->num_shape) /* out of memory when it was looked for */
        return false;
    bool ok = rlx_plan_nest(c->ctx, &rlx_plan_everywhere, nest, &plan) && plan.body->kind != RLX_NODE_FOR && plan.form != RLX_PLAN_EMPTY;
    for (size_t i = 0; i < plan.accesses.len && ok && !out->lane; i++)
        if (plan.accesses.data[i].buffer == &of->node)
            out->lane = plan.accesses.data[i].indices[dim];
    bool is = false;
    for (size_t i = 0; i < plan.count && ok; i++)
        is |= plan.loops[i].var == out->lane && plan.loops[i].determined && rlx_is_int_value(plan.loops[i].min, 0) &&
              rlx_is_int_value(plan.loops[i].extent, c->all);
    for (size_t i = 0; i < plan.count && ok; i++)
        ok = !plan.loops[i].partial;
    for (size_t i = 0; i < plan.accesses.len && ok; i++)
        ok = plan.accesses.data[i].literal;
    const rlx_buffer_store *store = is ? rlx_as_buffer_store(plan.body) : NULL;
    out->covers = store && !store->predicate && store->buffer == &of->node;
    out->fills = out->covers && store->value->kind == RLX_NODE_FLOAT_IMM;
    for (size_t i = 0; i < plan.accesses.len; i++)
        out->covers &= plan.accesses.data[i].stores || rlx_plan_memory(plan.accesses.data[i].buffer) != of->data;
    rlx_nest_plan_free(c->ctx, &plan);
    return ok && is;
}

bool rlx_touches(const rlx_channels *c, const rlx_stmt *s, const rlx_buffer *b)
{
    rlx_order o;
    rlx_ptrmap_init(&o.last_load, &c->ctx->memory);
    rlx_ptrmap_init(&o.last_store, &c->ctx->memory);
    bool does = !rlx_note_statement(c->ctx, &o, s, 1) || rlx_number_in(&o.last_load, b->data) ||
                rlx_number_in(&o.last_store, b->data);
    rlx_ptrmap_free(&o.last_load);
    rlx_ptrmap_free(&o.last_store);
    return does;
}

/* Statements that fill the pictures with a number come first, and the others store the same places in each block: then what is filled
 * stays as it is from one block to the next. */
static size_t count_fills(const rlx_channels *c, const rlx_buffer *pictures, size_t dim, size_t end)
{
    size_t fills = 0;
    bool covers = true;
    for (size_t i = c->first; i < end && covers; i++) {
        rlx_channel_member m;
        covers = rlx_is_channel_member(c, c->stmts[i], pictures, dim, &m) && m.covers;
        fills += m.fills && c->first + fills == i;
        covers &= !m.fills || c->first + fills > i;
    }
    return covers ? fills : 0;
}

/* A nest behind the sum that touches the sums, or what such nests store; what it stores itself is noted. */
bool rlx_is_behind_sum(const rlx_channels *c, const rlx_stmt *s, rlx_channel_member *out)
{
    const rlx_buffer *sums = rlx_as_buffer(c->acc->buffer);
    bool is = rlx_touches(c, s, sums) &&
              rlx_is_channel_member(c, s, sums, (size_t)rlx_channel_of(c->ctx, c->acc, c->plan->loops[c->lane].var), out);
    for (size_t i = 0; i < c->num_passed && !is; i++)
        is = rlx_touches(c, s, c->passed[i].whole) && rlx_is_channel_member(c, s, c->passed[i].whole, c->passed[i].dim, out);
    return is;
}

static void note_passed(rlx_channels *c, const rlx_channel_member *m)
{
    rlx_nest_plan plan;
    bool ok = rlx_plan_nest(c->ctx, &rlx_plan_everywhere, m->nest, &plan);
    for (size_t i = 0; i < plan.accesses.len && ok; i++) {
        const rlx_plan_access *a = &plan.accesses.data[i];
        bool known = !a->stores || a->buffer == c->acc->buffer;
        for (size_t k = 0; k < c->num_passed; k++)
            known |= a->buffer == &c->passed[k].whole->node;
        const int dim = known ? -1 : rlx_channel_of(c->ctx, a, m->lane);
        if (dim >= 0 && c->num_passed < RLX_MOST_PASSED)
            c->passed[c->num_passed++] = (rlx_shrunk){ .whole = rlx_as_buffer(a->buffer), .dim = (size_t)dim };
    }
    rlx_nest_plan_free(c->ctx, &plan);
}

/* Nests behind the sum stay where they are. */
static void leave_those_behind(rlx_channels *c)
{
    c->own_sums = false;
    c->end = c->at + 1;
    c->num_passed = 0;
}

/* Statements in front that make the pictures; those behind that read the sums. */
static void find_members(rlx_channels *c)
{
    const rlx_buffer *p = rlx_as_buffer(c->picture->buffer);
    const rlx_prim *var = c->plan->loops[c->lane].var;
    size_t dim = (size_t)rlx_channel_of(c->ctx, c->picture, var);
    rlx_channel_member m;
    size_t sum = c->start ? c->at - 1 : c->at;
    c->first = sum;
    while (c->first > 0 && rlx_touches(c, c->stmts[c->first - 1], p) && rlx_is_channel_member(c, c->stmts[c->first - 1], p, dim, &m))
        c->first--;
    c->own_picture = c->first < sum &&
                     rlx_is_temporary_of_nests(c->ctx, c->params, p, c->stmts + c->first, c->at + 1 - c->first);
    if (!c->own_picture)
        c->first = sum;
    c->fills = count_fills(c, p, dim, sum);
    rlx_find_behind(c);
}

void rlx_find_behind(rlx_channels *c)
{
    const size_t sum = c->start ? c->at - 1 : c->at;
    rlx_channel_member m;
    for (c->end = c->at + 1; c->end < c->count && rlx_is_behind_sum(c, c->stmts[c->end], &m); c->end++)
        note_passed(c, &m);
    c->own_sums = c->start && rlx_is_temporary_of_nests(c->ctx, c->params, rlx_as_buffer(c->acc->buffer), c->stmts + sum, c->end - sum);
    if (!c->own_sums)
        leave_those_behind(c);
}

/* A buffer that is stored, and the dimension of it that is the channel. */
typedef struct stored { const rlx_node *memory; int dim; } stored;

static bool note_stored(const rlx_channels *c, const rlx_stmt *s, const rlx_prim *lane, stored *all, size_t *count, bool check)
{
    rlx_nest_plan plan;
    bool ok = rlx_plan_nest(c->ctx, &rlx_plan_everywhere, rlx_as_for_stmt(s), &plan);
    for (size_t i = 0; i < plan.accesses.len && ok; i++) {
        const rlx_plan_access *a = &plan.accesses.data[i];
        size_t k = 0;
        while (k < *count && all[k].memory != rlx_plan_memory(a->buffer))
            k++;
        if (k < *count)
            ok = rlx_channel_of(c->ctx, a, lane) == all[k].dim;
        else if (a->stores && !check) {
            ok = *count < MOST_STORED && rlx_channel_of(c->ctx, a, lane) >= 0;
            if (ok)
                all[(*count)++] = (stored){ rlx_plan_memory(a->buffer), rlx_channel_of(c->ctx, a, lane) };
        }
    }
    rlx_nest_plan_free(c->ctx, &plan);
    return ok;
}

/* Does each iteration over channels touch, of all that is stored, its own channel alone? */
bool rlx_lanes_are_apart(const rlx_channels *c)
{
    stored all[MOST_STORED];
    size_t count = 0;
    const rlx_buffer *p = rlx_as_buffer(c->picture->buffer);
    const rlx_prim *var = c->plan->loops[c->lane].var;
    size_t dim = (size_t)rlx_channel_of(c->ctx, c->picture, var);
    for (int check = 0; check < 2; check++)
        for (size_t i = c->first; i < c->end; i++) {
            rlx_channel_member m = { .lane = var };
            if (i + 1 == c->at && c->start)
                continue;
            if (i < c->at ? !rlx_is_channel_member(c, c->stmts[i], p, dim, &m) : i > c->at && !rlx_is_behind_sum(c, c->stmts[i], &m))
                return false;
            if (!note_stored(c, c->stmts[i], m.lane, all, &count, check))
                return false;
        }
    return true;
}

/* ---- writing -------------------------------------------------------------------------------- */

static const rlx_buffer *new_buffer(const rlx_channels *c, const rlx_buffer *like, const rlx_prim *const *shape, size_t n)
{
    return rlx_buffer_new(c->ctx, like->name, like->dtype, shape, n, NULL, c->place);
}

int64_t rlx_lanes_apart(int64_t lanes)
{
    return lanes % SAME_LINES == 0 ? lanes + APART : lanes;
}

/* How far places of a block lie apart whose channels are lanes: an odd number of lines, so that neighbours are in banks of the cache
 * that are read at once. */
static int64_t lanes_apart_in_block(const rlx_channels *c) { return c->block / LANES % 2 ? c->block : c->block + LANES; }

bool rlx_shrink(const rlx_channels *c, rlx_shrunk *s, const rlx_buffer *whole, size_t dim, int64_t size)
{
    const rlx_prim *shape[RLX_TIR_MAX_DIMS];
    size_t n = 0;
    int64_t lanes;
    if (dim >= whole->num_shape)
        return false;
    s->whole = whole;
    s->dim = dim;
    for (size_t d = 0; d < whole->num_shape; d++) {
        const bool apart = s->apart && d + 1 == whole->num_shape && rlx_int_literal(whole->shape[d], &lanes);
        if (d != dim || !s->turned)
            shape[n++] = d == dim ? rlx_int64(c->ctx, c->lanes ? lanes_apart_in_block(c) : size) : apart ? rlx_int64(c->ctx, rlx_lanes_apart(lanes)) : whole->shape[d];
    }
    if (s->turned)
        shape[n++] = rlx_int64(c->ctx, size);
    s->small = new_buffer(c, whole, shape, n);
    return s->small != NULL;
}

/* old: the lane that becomes `lane` */
typedef struct moving { const rlx_channels *c; const rlx_prim *old, *lane; } moving;

/* The index of an access to the small buffer: the lane of the block, or what is made of it. NULL: out of memory. */
static const rlx_prim *moved_index(const moving *m, const rlx_shrunk *to, const rlx_prim *index)
{
    rlx_rewriter r;
    if (!to->window)
        return m->lane;
    rlx_tir_folder_init(&r, m->c->ctx);
    const rlx_prim *out = rlx_ptrmap_put(&r.map, m->old, (uintptr_t)m->lane) ? rlx_rewrite(&r, index) : NULL;
    rlx_rewriter_free(&r);
    return out;
}

static bool is_of(const rlx_shrunk *s, const rlx_node *buffer) { return buffer && s->whole && buffer == &s->whole->node; }

static const rlx_node *move_access(rlx_rewriter *w, const rlx_node *n)
{
    const moving *m = w->user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    const rlx_node *buffer = l ? l->buffer : s ? s->buffer : NULL;
    const rlx_shrunk *to = is_of(&m->c->pictures, buffer) ? &m->c->pictures : is_of(&m->c->sums, buffer) ? &m->c->sums : NULL;
    for (size_t i = 0; i < m->c->num_passed && !to; i++)
        to = is_of(&m->c->passed[i], buffer) ? &m->c->passed[i] : NULL;
    if (!to || !to->small)
        return n;
    const rlx_prim *const *indices = l ? l->indices : s->indices;
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    size_t count = 0;
    for (size_t d = 0; d < to->whole->num_shape; d++)
        if (d != to->dim || !to->turned)
            at[count++] = d == to->dim ? moved_index(m, to, indices[d]) : indices[d];
    if (to->turned)
        at[count++] = m->lane;
    const rlx_node *out = l ? rlx_load(m->c->ctx, to->small, at, count)
                            : rlx_store(m->c->ctx, to->small, s->value, at, count, s->place);
    w->failed |= !out;
    return out;
}

/* The nest for the channels of the block: base + l in place of the channel, l alone in what is as small as a block. NULL: out of memory. */
const rlx_stmt *rlx_body_of(const rlx_for_stmt *nest)
{
    const rlx_stmt *body = &nest->node;
    while (body->kind == RLX_NODE_FOR)
        body = ((const rlx_for_stmt *)body)->body;
    return body;
}

const rlx_stmt *rlx_in_loops_of(rlx_context *ctx, const rlx_for_stmt *nest, const rlx_prim *old, const rlx_prim_var *var, const rlx_prim *size,
                                const rlx_stmt *body)
{
    const rlx_for_stmt *loops[RLX_PLAN_MAX_NEST];
    size_t count = 0;
    for (const rlx_for_stmt *f = nest; f && count < RLX_PLAN_MAX_NEST; f = rlx_as_for_stmt(f->body))
        loops[count++] = f;
    for (size_t i = count; i-- > 0 && body;) {
        const bool is = loops[i]->loop_var == old;
        body = rlx_for(ctx, is ? var : rlx_as_prim_var(loops[i]->loop_var), loops[i]->min,
                       is ? rlx_fold_cast(ctx, var->dtype, size) : loops[i]->extent, loops[i]->for_kind, body, loops[i]->place);
    }
    return body;
}

const rlx_stmt *rlx_in_block(const rlx_channels *c, const rlx_channel_member *m, const rlx_prim *size)
{
    rlx_context *ctx = c->ctx;
    const rlx_prim_var *old = rlx_as_prim_var(m->lane);
    rlx_prim_var *lane = rlx_prim_var_new(ctx, old->name, old->dtype, old->place);
    const rlx_stmt *body = rlx_body_of(m->nest);
    moving move = { c, m->lane, lane ? &lane->node : NULL };
    rlx_rewriter w;
    if (!lane)
        return NULL;
    rlx_rewriter_init(&w, ctx);
    w.after = move_access;
    w.user = &move;
    body = rlx_rewrite(&w, body);
    rlx_rewriter_free(&w);
    const rlx_prim *base = rlx_fold_cast(ctx, old->dtype, c->base),
                   *channel = base ? rlx_fold_add(ctx, base, &lane->node) : NULL;
    rlx_tir_folder_init(&w, ctx);
    body = body && channel && rlx_ptrmap_put(&w.map, m->lane, (uintptr_t)channel) ? rlx_rewrite(&w, body) : NULL;
    rlx_rewriter_free(&w);
    body = rlx_in_loops_of(ctx, m->nest, m->lane, lane, size, body);
    const rlx_for_stmt *shorter = body && rlx_is_int_value(size, 1) ? rlx_without_single_steps(ctx, rlx_as_for_stmt(body)) : NULL;
    return shorter ? &shorter->node : body;
}

/* Loops of the nest with new variables, for the indices of an access. */
typedef struct loops { rlx_sched_loop at[RLX_PLAN_MAX_NEST]; rlx_rewriter r; } loops;

static bool open_loops(const rlx_channels *c, loops *l)
{
    const rlx_nest_plan *n = c->plan;
    bool ok = true;
    rlx_tir_folder_init(&l->r, c->ctx);
    for (size_t i = 0; i < n->count && ok; i++) {
        const bool lane = (int)i == c->lane;
        l->at[i] = lane ? (rlx_sched_loop){ NULL, c->size } : rlx_sched_loop_new(c->ctx, "i", n->loops[i].extent);
        if (lane) {
            const rlx_string *text = rlx_string_z(c->ctx, "l");
            rlx_prim_var *v = text ? rlx_prim_var_new(c->ctx, text, RELAX_INT64, RLX_NO_PLACE) : NULL;
            l->at[i].var = v ? &v->node : NULL;
        }
        const rlx_prim *value = l->at[i].var && lane ? rlx_fold_add(c->ctx, c->base, l->at[i].var) : l->at[i].var;
        ok = value && rlx_ptrmap_put(&l->r.map, n->loops[i].var, (uintptr_t)value);
    }
    return ok;
}

/* What the access is in those loops. */
static bool indices_in(const rlx_channels *c, loops *l, const rlx_plan_access *a, const rlx_prim **at)
{
    bool ok = true;
    for (size_t d = 0; d < a->num_indices && ok; d++)
        ok = (at[d] = rlx_fold_cast(c->ctx, RELAX_INT64, rlx_rewrite(&l->r, a->indices[d]))) != NULL;
    return ok;
}

/* Which loops a part of the sum has: those that are summed over, or those over results. */
static bool is_part(const rlx_channels *c, size_t i, bool steps)
{
    return (int)i != c->lane && c->plan->loops[i].determined != steps;
}

/* A buffer of these loops, the channel last, and its indices. So many channels have room as a block has. */
static const rlx_buffer *by_loops(const rlx_channels *c, const loops *l, const rlx_plan_access *a, bool steps, const rlx_prim **at,
                                  size_t *count)
{
    const rlx_prim *shape[RLX_TIR_MAX_DIMS];
    size_t n = 0;
    for (size_t i = 0; i < c->plan->count; i++)
        if (is_part(c, i, steps)) {
            if (n + 1 >= RLX_TIR_MAX_DIMS)
                return NULL;
            shape[n] = c->plan->loops[i].extent;
            at[n++] = l->at[i].var;
        }
    shape[n] = rlx_int64(c->ctx, rlx_lanes_apart(c->block));
    at[n++] = l->at[c->lane].var;
    *count = n;
    return new_buffer(c, rlx_as_buffer(a->buffer), shape, n);
}

/* `body` in the loops of a part; the channel innermost, or outermost. */
static const rlx_stmt *close_loops(const rlx_channels *c, const loops *l, bool steps, bool innermost, const rlx_stmt *body)
{
    if (innermost)
        body = rlx_sched_wrap(c->ctx, &l->at[c->lane], body, c->place);
    for (size_t i = c->plan->count; i-- > 0;)
        if (is_part(c, i, steps))
            body = rlx_sched_wrap(c->ctx, &l->at[i], body, c->place);
    return innermost ? body : rlx_sched_wrap(c->ctx, &l->at[c->lane], body, c->place);
}

/* What an access is copied to, or from, with the channel last: for the loops of a part. */
static const rlx_stmt *turn(const rlx_channels *c, const rlx_plan_access *a, const rlx_buffer *whole, bool back, bool steps,
                            const rlx_buffer **turned)
{
    loops l;
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *own[RLX_TIR_MAX_DIMS];
    size_t n;
    const rlx_stmt *body = NULL;
    const int channel = rlx_channel_of(c->ctx, a, c->plan->loops[c->lane].var);
    bool ok = open_loops(c, &l) && indices_in(c, &l, a, at) && channel >= 0;
    const rlx_buffer *now = ok ? by_loops(c, &l, a, steps, own, &n) : NULL;
    if (now && *turned)
        now = *turned;
    *turned = now;
    if (ok && now && whole != rlx_as_buffer(a->buffer)) /* as small as a block, the channel where it was */
        at[channel] = l.at[c->lane].var;
    if (ok && now)
        body = back ? rlx_store(c->ctx, whole, rlx_load(c->ctx, now, own, n), at, a->num_indices, c->place)
                    : rlx_store(c->ctx, now, rlx_load(c->ctx, whole, at, a->num_indices), own, n, c->place);
    rlx_rewriter_free(&l.r);
    return body ? close_loops(c, &l, steps, false, body) : NULL;
}

/* Weights as the sum reads them: `buffer`, of all channels or of those of a block; NULL: as they are. make: what turns them. */
typedef struct turned_weights { const rlx_buffer *buffer; bool of_all; const rlx_stmt *make; } turned_weights;

/* 0 for all channels that there is room for, of which some are none. NULL: out of memory. */
static const rlx_stmt *fill_room(const rlx_channels *c, const rlx_buffer *buffer)
{
    rlx_channels room = *c;
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *zero = rlx_float(c->ctx, RELAX_FLOAT32, 0);
    const rlx_stmt *body = NULL;
    size_t n;
    loops l;
    room.size = rlx_int64(c->ctx, rlx_lanes_apart(c->block));
    bool ok = open_loops(&room, &l);
    rlx_rewriter_free(&l.r);
    if (ok && zero && by_loops(&room, &l, c->weights, true, at, &n))
        body = rlx_store(c->ctx, buffer, zero, at, n, c->place);
    return body ? close_loops(&room, &l, true, true, body) : NULL;
}

/* What is constant is turned once for all. False: out of memory. */
static bool turn_weights(rlx_channels *c, turned_weights *out)
{
    const rlx_channels block = *c;
    const rlx_buffer *from = rlx_as_buffer(c->weights->buffer);
    *out = (turned_weights){ .buffer = NULL };
    if (rlx_plan_is_unit(c->weights, c->lane))
        return true;
    const int param = rlx_panel_param(c->params, from);
    if ((out->of_all = param >= 0)) {
        c->block = c->all;
        c->base = rlx_int64(c->ctx, 0);
        c->size = rlx_int64(c->ctx, c->all);
    }
    const rlx_stmt *make = turn(c, c->weights, from, false, true, &out->buffer);
    if (make && out->of_all && rlx_lanes_apart(c->all) != c->all)
        make = rlx_sched_both(c->ctx, fill_room(c, out->buffer), make, c->place);
    c->block = block.block;
    c->base = block.base;
    c->size = block.size;
    if (out->of_all)
        return make && rlx_take_panels(c->ctx, c->params, param, out->buffer, make);
    out->make = make;
    return make != NULL;
}

/* Indices in what is as small as a block. Their number. */
static size_t indices_in_small(const loops *l, const rlx_channels *c, const rlx_shrunk *s, size_t count, const rlx_prim **at)
{
    size_t n = 0;
    for (size_t d = 0; d < count; d++)
        if (d != s->dim || !s->small || !s->turned)
            at[n++] = d == s->dim && s->small ? l->at[c->lane].var : at[d];
    if (s->small && s->turned)
        at[n++] = l->at[c->lane].var;
    return n;
}

/* The weights of a step. NULL: out of memory. */
static const rlx_prim *load_weights(const rlx_channels *c, loops *l, const turned_weights *w)
{
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    size_t n;
    if (!w->buffer)
        return indices_in(c, l, c->weights, at) ? rlx_load(c->ctx, rlx_as_buffer(c->weights->buffer), at, c->weights->num_indices) : NULL;
    if (!by_loops(c, l, c->weights, true, at, &n))
        return NULL;
    if (w->of_all)
        at[n - 1] = rlx_fold_add(c->ctx, c->base, at[n - 1]);
    return at[n - 1] ? rlx_load(c->ctx, w->buffer, at, n) : NULL;
}

/* The sum itself; sums NULL: where it was. *fill: what gives it its first values. NULL: out of memory. */
static const rlx_stmt *sum_up(const rlx_channels *c, const turned_weights *weights, const rlx_buffer *sums, const rlx_stmt **fill)
{
    rlx_context *ctx = c->ctx;
    const rlx_buffer *picture = c->pictures.small ? c->pictures.small : rlx_as_buffer(c->picture->buffer);
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *to[RLX_TIR_MAX_DIMS], *terms[3] = { NULL };
    loops l;
    if (open_loops(c, &l) && indices_in(c, &l, c->picture, at) && indices_in(c, &l, c->acc, to))
        terms[1] = load_weights(c, &l, weights);
    rlx_rewriter_free(&l.r);
    if (!terms[1])
        return NULL;
    const size_t n = indices_in_small(&l, c, &c->pictures, c->picture->num_indices, at);
    size_t num_to = indices_in_small(&l, c, &c->sums, c->acc->num_indices, to);
    if (sums && !by_loops(c, &l, c->acc, false, to, &num_to))
        return NULL;
    if (!sums)
        sums = c->sums.small ? c->sums.small : rlx_as_buffer(c->acc->buffer);
    terms[0] = rlx_load(ctx, picture, at, n);
    terms[2] = rlx_load(ctx, sums, to, num_to);
    const rlx_prim *value = rlx_prim_call_z(ctx, RELAX_FLOAT32, "fma", terms, 3);
    const rlx_stmt *body = value ? rlx_store(ctx, sums, value, to, num_to, c->place) : NULL;
    body = rlx_sched_wrap(ctx, &l.at[c->lane], body, c->place);
    for (int steps = 1; steps >= 0; steps--)
        for (size_t i = c->plan->count; i-- > 0;)
            if (is_part(c, i, steps))
                body = rlx_sched_wrap(ctx, &l.at[i], body, c->place);
    const rlx_stmt *first = rlx_store(ctx, sums, c->start, to, num_to, c->place);
    first = first ? close_loops(c, &l, false, true, first) : NULL;
    *fill = first ? rlx_copy_fresh(ctx, first) : NULL;
    return *fill ? body : NULL;
}

/* One after the other, where there is a first. */
static const rlx_stmt *then(const rlx_channels *c, const rlx_stmt *first, const rlx_stmt *second)
{
    return first ? rlx_sched_both(c->ctx, first, second, c->place) : second;
}

/* Nests [begin, end), which make the pictures, for so many channels. *ok: there is memory. */
static const rlx_stmt *make_pictures(const rlx_channels *c, size_t begin, size_t end, const rlx_prim *size, bool *ok)
{
    const rlx_stmt *all = NULL;
    rlx_channel_member m;
    for (size_t i = begin; i < end && *ok; i++) {
        const rlx_stmt *s = rlx_is_channel_member(c, c->stmts[i], c->pictures.whole, c->pictures.dim, &m) ? rlx_in_block(c, &m, size) : NULL;
        all = s ? then(c, all, s) : NULL;
        *ok = all != NULL;
    }
    return all;
}

/* Pictures that somebody else made, turned: all of one, whatever the windows see of it. */
static const rlx_stmt *turn_pictures(const rlx_channels *c)
{
    const rlx_buffer *from = c->pictures.whole;
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *to[RLX_TIR_MAX_DIMS];
    rlx_sched_loop each[RLX_TIR_MAX_DIMS];
    size_t n = 0, count = 0;
    for (size_t d = 0; d < from->num_shape; d++) {
        const rlx_prim *extent = d == c->pictures.dim ? c->size : rlx_fold_cast(c->ctx, RELAX_INT64, from->shape[d]);
        each[count] = rlx_sched_loop_new(c->ctx, "i", extent);
        if (!each[count].var)
            return NULL;
        at[d] = d == c->pictures.dim ? rlx_fold_add(c->ctx, c->base, each[count].var) : each[count].var;
        if (d != c->pictures.dim)
            to[n++] = each[count].var;
        count++;
    }
    to[n++] = each[c->pictures.dim].var;
    const rlx_stmt *body = rlx_store(c->ctx, c->pictures.small, rlx_load(c->ctx, from, at, count), to, n, c->place);
    while (count-- > 0)
        body = rlx_sched_wrap(c->ctx, &each[count], body, c->place);
    return body;
}

/* What turns the weights of a block, in front of `all`. NULL: out of memory, or all is. */
static const rlx_stmt *with_weights(const rlx_channels *c, const turned_weights *w, const rlx_stmt *all)
{
    if (!w->make || !all)
        return all;
    all = rlx_sched_both(c->ctx, w->make, all, c->place);
    return all ? rlx_tir_with_temporary(c->ctx, w->buffer, all, c->place) : NULL;
}

/* The sums of a block with channels that become lanes. NULL: out of memory. */
static const rlx_stmt *write_turned(rlx_channels *c, const turned_weights *w)
{
    bool ok = true;
    const rlx_buffer *sums = NULL;
    const rlx_stmt *fill = NULL;
    const rlx_stmt *made = c->own_picture ? make_pictures(c, c->first + c->fills, c->at - 1, c->size, &ok) : turn_pictures(c),
                   *back = turn(c, c->acc, c->own_sums ? c->sums.small : rlx_as_buffer(c->acc->buffer), true, false, &sums);
    if (!ok || !back)
        return NULL;
    const rlx_stmt *sum = sum_up(c, w, sums, &fill);
    const rlx_stmt *all = sum ? then(c, made, rlx_sched_both(c->ctx, fill, sum, c->place)) : NULL;
    all = rlx_sched_both(c->ctx, with_weights(c, w, all), back, c->place);
    return all ? rlx_tir_with_temporary(c->ctx, sums, all, c->place) : NULL;
}

/* Likewise with channels that are lanes already. */
static const rlx_stmt *write_lanes(rlx_channels *c, const turned_weights *w)
{
    bool ok = true;
    const rlx_stmt *fill = NULL, *sum = sum_up(c, w, NULL, &fill),
                   *made = c->own_picture ? make_pictures(c, c->first + c->fills, c->at - 1, c->size, &ok) : NULL;
    return sum && ok ? with_weights(c, w, then(c, made, rlx_sched_both(c->ctx, fill, sum, c->place))) : NULL;
}

/* The sums of a block as they are. NULL: out of memory. */
static const rlx_stmt *write_plain(rlx_channels *c)
{
    const rlx_plan_access *acc = c->acc;
    const rlx_prim *var = c->plan->loops[c->lane].var;
    rlx_channel_member m, sum = { .nest = rlx_as_for_stmt(c->stmts[c->at]), .lane = var };
    bool ok = true;
    const rlx_stmt *made = c->own_picture ? make_pictures(c, c->first + c->fills, c->at - 1, c->size, &ok) : NULL;
    ok = ok && rlx_is_channel_member(c, c->stmts[c->at - 1], rlx_as_buffer(acc->buffer), (size_t)rlx_channel_of(c->ctx, acc, var), &m);
    const rlx_stmt *start = ok ? rlx_in_block(c, &m, c->size) : NULL, *sums = start ? rlx_in_block(c, &sum, c->size) : NULL;
    return sums ? rlx_sched_both(c->ctx, then(c, made, start), sums, c->place) : NULL;
}

const rlx_stmt *rlx_with_behind(const rlx_channels *c, const rlx_stmt *all)
{
    rlx_channel_member m;
    for (size_t i = c->at + 1; i < c->end && all; i++)
        all = rlx_is_behind_sum(c, c->stmts[i], &m) ? rlx_sched_both(c->ctx, all, rlx_in_block(c, &m, c->size), c->place) : NULL;
    for (size_t i = 0; i < c->num_passed && all; i++)
        all = c->passed[i].small ? rlx_tir_with_temporary(c->ctx, c->passed[i].small, all, c->place) : all;
    return c->own_sums && all ? rlx_tir_with_temporary(c->ctx, c->sums.small, all, c->place) : all;
}

bool rlx_shrink_passed(rlx_channels *c)
{
    const size_t sum = c->at - 1;
    bool ok = true;
    for (size_t i = 0; i < c->num_passed && ok; i++)
        if (rlx_is_temporary_of_nests(c->ctx, c->params, c->passed[i].whole, c->stmts + sum, c->end - sum))
            ok = rlx_shrink(c, &c->passed[i], c->passed[i].whole, c->passed[i].dim, c->block);
    return ok;
}

/* Temporaries that lie in a block only get the size of one. False: out of memory. */
static bool shrink_all(rlx_channels *c)
{
    const rlx_prim *var = c->plan->loops[c->lane].var;
    bool ok = true;
    c->pictures.turned = c->turned;
    if (c->turned || c->own_picture)
        ok = rlx_shrink(c, &c->pictures, rlx_as_buffer(c->picture->buffer), (size_t)rlx_channel_of(c->ctx, c->picture, var), c->block);
    if (ok && c->own_sums)
        ok = rlx_shrink(c, &c->sums, rlx_as_buffer(c->acc->buffer), (size_t)rlx_channel_of(c->ctx, c->acc, var), c->block);
    return ok && rlx_shrink_passed(c);
}

/* Channels of a block that is not turned: as many as lie near. */
static int64_t channels_of_plain(const rlx_channels *c, int64_t each)
{
    int64_t most = PLAIN_ELEMENTS / each;
    if (most < 1)
        return 1;
    for (int64_t b = most; b > most / 2; b--)
        if (c->all % b == 0)
            return b;
    return most < c->all ? most : c->all;
}

/* Channels of a block: as many as lie near, and parts that are alike if that can be. */
static int64_t channels_of_block(const rlx_channels *c, int64_t each)
{
    int64_t most = NEAR_ELEMENTS / each / LANES * LANES;
    most = most < LANES ? LANES : most;
    if (c->all <= most + most / 2)
        return c->all;
    for (int64_t b = most; b > most / 2 && b > LANES; b -= LANES)
        if (c->all % b == 0)
            return b;
    return most;
}

/* Likewise where they are lanes already: blocks that two threads share evenly. */
static int64_t lanes_of_block(const rlx_channels *c, int64_t each)
{
    const int64_t near = LANES_ELEMENTS / each / LANES, most = near < 1 ? 1 : near;
    for (int64_t b = most; b > most / 2; b--)
        if (c->all % (2 * b * LANES) == 0)
            return b * LANES;
    const int64_t pairs = (c->all - 1) / (2 * most * LANES) + 1;
    return ((c->all - 1) / (2 * pairs * LANES) + 1) * LANES;
}

bool rlx_open_blocks(rlx_channels *c, int64_t part, rlx_block_loops *out)
{
    rlx_context *ctx = c->ctx;
    const int64_t blocks = (c->all + c->block - 1) / c->block;
    out->parts = rlx_sched_loop_new(ctx, "part", rlx_int64(ctx, (blocks + part - 1) / part));
    const rlx_prim *begin = rlx_fold_mul(ctx, out->parts.var, rlx_int64(ctx, part)),
                   *left = begin ? rlx_fold_sub(ctx, rlx_int64(ctx, blocks), begin) : NULL;
    out->blocks = rlx_sched_loop_new(
        ctx, "block", blocks % part == 0 ? rlx_int64(ctx, part) : left ? rlx_least(ctx, rlx_int64(ctx, part), left) : NULL);
    c->base = begin && out->blocks.var ? rlx_fold_mul(ctx, rlx_fold_add(ctx, begin, out->blocks.var), rlx_int64(ctx, c->block)) : NULL;
    c->size = c->all % c->block == 0 ? rlx_int64(ctx, c->block)
              : c->base ? rlx_least(ctx, rlx_int64(ctx, c->block), rlx_fold_sub(ctx, rlx_int64(ctx, c->all), c->base))
                        : NULL;
    return c->base && c->size;
}

void rlx_drop_shrunk(const rlx_channels *c)
{
    if (c->own_picture)
        rlx_drop_temporary(c->ctx, c->params, c->pictures.whole);
    if (c->own_sums)
        rlx_drop_temporary(c->ctx, c->params, c->sums.whole);
    for (size_t i = 0; i < c->num_passed; i++)
        if (c->passed[i].small)
            rlx_drop_temporary(c->ctx, c->params, c->passed[i].whole);
}

/* In blocks of c->block channels, `part` of them together. NULL: out of memory. */
static const rlx_stmt *write_blocks(rlx_channels *c, int64_t part)
{
    rlx_context *ctx = c->ctx;
    bool ok = true;
    rlx_block_loops around;
    turned_weights weights = { .buffer = NULL };
    if (!rlx_open_blocks(c, part, &around) || !shrink_all(c) || ((c->turned || c->lanes) && !turn_weights(c, &weights)))
        return NULL;
    const rlx_stmt *sums = c->turned ? write_turned(c, &weights) : c->lanes ? write_lanes(c, &weights) : write_plain(c),
                   *body = rlx_sched_wrap(ctx, &around.blocks, rlx_with_behind(c, sums), c->place),
                   *fills = make_pictures(c, c->first, c->first + c->fills, rlx_int64(ctx, c->lanes ? lanes_apart_in_block(c) : c->block), &ok);
    body = ok && body ? then(c, fills, body) : NULL;
    body = body && c->pictures.small ? rlx_tir_with_temporary(ctx, c->pictures.small, body, c->place) : body;
    if (body)
        rlx_drop_shrunk(c);
    return rlx_sched_wrap(ctx, &around.parts, body, c->place);
}

/* How many blocks are a part, which has a picture: where that is large, few have one. */
static int64_t blocks_of_part(const rlx_channels *c, int64_t each)
{
    const int64_t blocks = (c->all + c->block - 1) / c->block;
    int64_t best = (blocks + RLX_BLOCK_PARTS - 1) / RLX_BLOCK_PARTS;
    if (c->turned && each > LARGE_PICTURE)
        return (blocks + 1) / 2;
    for (int64_t fewer = best - 1; fewer > 0; fewer--)
        if (rlx_last_of_two(blocks, fewer) < rlx_last_of_two(blocks, best))
            best = fewer;
    return best;
}

/* Channels that lie side by side: the weights alone are turned, once; rows come in blocks if what is around them allows it. */
static const rlx_stmt *write_rows(rlx_channels *c)
{
    turned_weights weights;
    const rlx_stmt *fill = NULL;
    c->first = c->at - 1;
    c->end = c->at + 1;
    c->block = c->all;
    c->own_picture = c->own_sums = false;
    c->base = rlx_int64(c->ctx, 0);
    c->size = rlx_int64(c->ctx, c->all);
    const rlx_stmt *sum = turn_weights(c, &weights) ? sum_up(c, &weights, NULL, &fill) : NULL, *body = NULL;
    if (sum && fill)
        body = rlx_lay_channel_rows(c, rlx_as_for_stmt(fill), rlx_as_for_stmt(sum), &c->first, &c->end);
    if (!body && !c->ctx->diags.out_of_memory && weights.buffer) /* else the sum is as it was, and would be met again */
        body = rlx_sched_both(c->ctx, fill, sum, c->place);
    return with_weights(c, &weights, body);
}

static bool is_normalizing(const rlx_channels *c, const rlx_stmt *s)
{
    rlx_nest_plan plan;
    const bool is = rlx_plan_nest(c->ctx, &rlx_plan_everywhere, rlx_as_for_stmt(s), &plan) && plan.form == RLX_PLAN_NORMALIZE;
    rlx_nest_plan_free(c->ctx, &plan);
    return is;
}

/* The last nests of a block store to rows of all channels, of which it has a part: one instruction does that as fast, but strips
 * are better off behind the blocks, where they are as long as all that there is. */
static void leave_strips_behind(rlx_channels *c)
{
    const size_t end = c->end;
    while (c->end > c->at + 1 && !is_normalizing(c, c->stmts[c->end - 1]))
        c->end--;
    if (c->end < end)
        c->own_sums = c->end > c->at + 1 && rlx_is_temporary_of_nests(c->ctx, c->params, rlx_as_buffer(c->acc->buffer),
                                                                     c->stmts + c->at - 1, c->end - c->at + 1);
    if (!c->own_sums)
        leave_those_behind(c);
}

/* Channels that lie side by side, of small pictures in blocks of channels: all of a block is near then, and its own thread's. */
static const rlx_stmt *write_side_by_side(rlx_channels *c, int64_t each)
{
    if (each <= LARGE_PICTURE && c->all >= 2 * LANES && are_sizes_known(c)) {
        find_members(c);
        leave_strips_behind(c);
        c->block = lanes_of_block(c, each);
        c->lanes = c->own_picture && c->block < c->all && rlx_lanes_are_apart(c);
    }
    return c->lanes ? write_blocks(c, blocks_of_part(c, each)) : write_rows(c);
}

/* The statements [first, end) as one; NULL: they stay as they are, or out of memory. */
static const rlx_stmt *lay(rlx_channels *c)
{
    const rlx_prim *var = c->plan->loops[c->lane].var;
    const rlx_for_stmt *init = c->at > 0 ? rlx_as_for_stmt(c->stmts[c->at - 1]) : NULL;
    init = init ? rlx_without_single_steps(c->ctx, init) : NULL;
    c->start = init ? rlx_plan_first_value(c->ctx, c->plan, init) : NULL;
    int64_t each = rlx_elements_without(c->picture, (size_t)rlx_channel_of(c->ctx, c->picture, var));
    if (rlx_plan_is_unit(c->acc, c->lane) && rlx_plan_is_unit(c->picture, c->lane))
        return c->start ? write_side_by_side(c, each) : NULL;
    c->turned = wastes_lanes(c) && each <= MOST_ELEMENTS;
    if (!c->start || c->all < LANES / 2 || !are_sizes_known(c) || is_by_vectors(c))
        return NULL;
    find_members(c);
    if (c->own_sums && !rlx_lanes_are_apart(c))
        leave_those_behind(c);
    if (!rlx_lanes_are_apart(c) || !(c->turned || c->own_picture || c->own_sums))
        return NULL;
    c->block = c->turned ? channels_of_block(c, each) : channels_of_plain(c, each);
    return write_blocks(c, blocks_of_part(c, each));
}

bool rlx_lay_channels(rlx_context *ctx, const rlx_panel_params *params, const rlx_stmt **stmts, size_t *count)
{
    for (size_t i = 0; i < *count && !ctx->diags.out_of_memory; i++) {
        const rlx_for_stmt *whole = rlx_as_for_stmt(stmts[i]), *nest = whole ? rlx_without_single_steps(ctx, whole) : NULL;
        rlx_nest_plan plan;
        if (!nest)
            continue;
        bool ok = rlx_plan_nest(ctx, &rlx_plan_everywhere, nest, &plan);
        rlx_channels c = { .ctx = ctx, .params = params, .stmts = stmts, .count = *count, .at = i, .plan = &plan, .place = nest->place };
        const rlx_stmt *now = ok && is_lane_sum(&c) ? lay(&c) : NULL;
        rlx_nest_plan_free(ctx, &plan);
        if (!now)
            continue;
        stmts[c.first] = now;
        memmove(stmts + c.first + 1, stmts + c.end, (*count - c.end) * sizeof *stmts);
        *count -= c.end - c.first - 1;
        i = c.first;
    }
    return !ctx->diags.out_of_memory;
}
