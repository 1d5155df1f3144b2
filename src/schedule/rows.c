/*- rows.c: nests that treat rows alike become one loop over tiles of rows.
 *
 *     for i, j:  T[i, j] = exp(A[i, j])                  for t in range(n // 32):
 *     for t in range(n // 32):                               for i, j:  T[i, j] = exp(A[t * 32 + i, j])
 *         for i < 32, j:  S[i] += T[t * 32 + i, j]    ->     for i, j:  S[i] += T[i, j]
 *         for i < 32:     B[t * 32 + i] = S[i] / m           for i:     B[t * 32 + i] = S[i] / m
 *     for i, j:  Y[i, j] = T[i, j] - B[i]                    for i, j:  Y[t * 32 + i, j] = T[i, j] - B[t * 32 + i]
 *
 * so that a tile of what they hand each other stays in the cache nearest by, and needs the memory of a tile only. Operators on
 * rows come with such a loop (op/lower_rows.c); a sum of rows of a large temporary gets one.
 *
 * What is handed on is touched, in each iteration of the loop, in a box of its own: in every access a dimension is base + v, v
 * a loop inside of it, and other iterations have other boxes. So iterations meet nowhere, and two such loops that
 * agree about the boxes are one. A nest is cut along the boxes of what it has in common with the loop if they are exactly
 * all of it. Sums keep the order of their steps: only loops that each place tells apart are cut.
 */
#include "schedule/boxes.h"

#include "schedule/plan_int.h"

enum {
    MOST_JOINED = 64,        /* statements that are moved into one loop */
    TILE = 16384,            /* elements of a tile, about */
    SMALL = 2 * TILE,        /* so many are no more than one, as operators on rows have it */
    FEW = 1024,              /* elements of an iteration that is not worth it */
    MOST_BETWEEN = 64,       /* slots that are looked through */
    MOST_OPERAND = 1 << 17,  /* elements of an operand that all rows of a product share, and each tile of them reads again */
    LEAST_HANDED = 1 << 17   /* elements of what a product and the rows hand each other */
};

/* nest: loops around one statement that may be cut; rows: NULL, or it is those. stmt NULL: it is elsewhere now. before: the slot + 1 that stored
 * to the same memory. */
typedef struct slot { const rlx_stmt *stmt; const rlx_for_stmt *nest; bool sums, multiplies; rlx_rows *rows; uintptr_t before; } slot;

typedef struct joining {
    rlx_context *ctx;
    rlx_accesses *all;
    const rlx_seq_stmt *seq;
    slot *slots;
    rlx_order order;
    rlx_ptrmap storer;               /* memory -> the last slot + 1 that stores to it */
    bool any;
} joining;

/* ---- joining -------------------------------------------------------------------------------- */

/* Two sets of statements with the same loops around them: may one iteration of both be done at a time? */
static bool agree(rlx_context *ctx, const rlx_rows *a, const rlx_rows *b)
{
    for (size_t i = 0; i < b->boxes.len; i++) {
        const rlx_box *y = &b->boxes.data[i], *x = rlx_find_box(a, y->buffer->data);
        if (x && (x->stores || y->stores) && (!rlx_is_same_box(x, y) || !rlx_is_apart(ctx, a, x)))
            return false;
    }
    return true;
}

static bool may_pass(const rlx_order *order, const rlx_rows *r, uintptr_t from)
{
    bool may = true;
    for (size_t i = 0; i < r->boxes.len && may; i++) {
        const rlx_box *b = &r->boxes.data[i];
        may = rlx_may_pass(order, b->buffer->data, b->stores, from);
    }
    return may;
}

static bool note_boxes(rlx_order *order, const rlx_rows *r, size_t at)
{
    bool ok = true;
    for (size_t i = 0; i < r->boxes.len && ok; i++) {
        const rlx_box *b = &r->boxes.data[i];
        ok = rlx_note_access(order, b->buffer->data, b->loads, b->stores, at + 1);
    }
    return ok;
}

/* May r change places with all that stands between two slots now? x->order knows where statements stood before they were joined. */
static bool may_cross(const joining *x, const rlx_rows *r, size_t early, size_t late)
{
    rlx_order between;
    bool ok = late - early <= MOST_BETWEEN;
    rlx_ptrmap_init(&between.last_load, &x->ctx->memory);
    rlx_ptrmap_init(&between.last_store, &x->ctx->memory);
    for (size_t i = early + 1; i < late && ok; i++) {
        const slot *s = &x->slots[i];
        ok = s->rows ? note_boxes(&between, s->rows, i) : !s->stmt || rlx_note_statement(x->ctx, &between, s->stmt, i + 1);
    }
    ok = ok && may_pass(&between, r, 0);
    rlx_ptrmap_free(&between.last_load);
    rlx_ptrmap_free(&between.last_store);
    return ok;
}

static bool may_move(const joining *x, const rlx_rows *r, size_t early, size_t late)
{
    return may_pass(&x->order, r, early + 1) || may_cross(x, r, early, late);
}

/* The first statement of a that has to stay behind b. What only fills memory goes there, next to the sum that it is for. */
static size_t first_behind(rlx_context *ctx, const rlx_rows *a, const rlx_rows *b)
{
    size_t i = 0;
    bool meets = false;
    for (size_t k = 0; k < b->boxes.len; k++)
        meets |= b->boxes.data[k].loads;
    for (; i < a->parts.len && !meets; i++) {
        rlx_order o;
        rlx_ptrmap_init(&o.last_load, &ctx->memory);
        rlx_ptrmap_init(&o.last_store, &ctx->memory);
        (void)rlx_note_statement(ctx, &o, a->parts.data[i], 1);
        for (size_t k = 0; k < b->boxes.len; k++)
            meets |= !rlx_may_pass(&o, b->boxes.data[k].buffer->data, b->boxes.data[k].stores, 0);
        rlx_ptrmap_free(&o.last_load);
        rlx_ptrmap_free(&o.last_store);
        if (meets)
            break;
    }
    return i;
}

/* All of b into a: in front of what needs it, or behind everything. */
static bool join(rlx_context *ctx, rlx_rows *a, const rlx_rows *b, bool in_front)
{
    size_t old = a->parts.len, more = b->parts.len, at = in_front ? first_behind(ctx, a, b) : old;
    bool ok = true;
    for (size_t i = 0; i < more && ok; i++)
        ok = rlx_vec_push(&ctx->memory, &a->parts, b->parts.data[i]);
    for (size_t i = 0; i < b->covers.len && ok; i++)
        ok = rlx_vec_push(&ctx->memory, &a->covers, b->covers.data[i]);
    if (ok && !rlx_find_boxes(ctx, a, old))
        return false;
    if (ok && at < old) {
        memmove(a->parts.data + at + more, a->parts.data + at, (old - at) * sizeof *a->parts.data);
        memcpy(a->parts.data + at, b->parts.data, more * sizeof *a->parts.data);
    }
    a->joined += 1 + b->joined;
    return ok;
}

/* About how many elements those are; INT64_MAX: more than can be counted. */
static int64_t elements_of(const rlx_prim *const *extents, size_t count)
{
    int64_t all = 1;
    for (size_t d = 0; d < count; d++)
        if (!rlx_mul_i64(all, rlx_plan_likely_size(extents[d]), &all))
            return INT64_MAX;
    return all;
}

/* Is there enough to do in an iteration? */
static bool is_large(const rlx_rows *r)
{
    for (size_t i = 0; i < r->boxes.len; i++) {
        const rlx_box *b = &r->boxes.data[i];
        if (!b->mixed && elements_of(b->extent, b->buffer->num_shape) >= FEW)
            return true;
    }
    return false;
}

/* Is it worth it that a product b joins rows? If what they hand each other leaves the cache, and few elements of each operand are read in an
 * iteration. */
static bool is_gain(const rlx_rows *rows, const rlx_rows *b)
{
    bool handed = false, are_few = true;
    for (size_t i = 0; i < b->boxes.len && are_few; i++) {
        const rlx_box *box = &b->boxes.data[i], *other = rlx_find_box(rows, box->buffer->data);
        const size_t n = box->buffer->num_shape;
        handed |= other && (other->stores || box->stores) && elements_of(box->buffer->shape, n) >= LEAST_HANDED;
        are_few = !box->mixed && elements_of(box->extent, n) <= MOST_OPERAND;
    }
    return handed && are_few;
}

/* Slot `other` becomes part of the rows of slot `at`, if it may: the earlier one moves down, or the later one up. *joined: it
 * did, and where the rows are now. */
static bool join_slots(joining *x, size_t at, size_t other, size_t *joined)
{
    rlx_context *ctx = x->ctx;
    slot *to = &x->slots[at], *from = &x->slots[other];
    bool in_front = other < at, is = false, ok;
    size_t early = in_front ? other : at, late = in_front ? at : other;
    rlx_rows b;
    *joined = SIZE_MAX;
    if (to->rows->joined >= MOST_JOINED || !is_large(to->rows))
        return true;
    rlx_rows_init(ctx, &b);
    b.place = to->rows->place;
    ok = from->rows ? rlx_rows_of_rows(ctx, to->rows, from->rows, &b, &is) : rlx_rows_of_nest(ctx, to->rows, from->nest, &b, &is);
    is = ok && is && agree(ctx, to->rows, &b) && (!from->multiplies || is_gain(to->rows, &b));
    bool sinks = is && may_move(x, in_front ? &b : to->rows, early, late);
    if (is && (sinks || may_move(x, in_front ? to->rows : &b, early, late))) {
        ok = join(ctx, to->rows, &b, in_front);
        rlx_rows *all = to->rows;
        *joined = sinks ? late : early;
        if (from->rows)
            rlx_rows_free(ctx, from->rows);
        *from = *to = (slot){ .rows = NULL };
        x->slots[*joined] = (slot){ .rows = all, .stmt = &x->seq->node };
        x->any = true;
    }
    rlx_rows_free(ctx, &b);
    return ok && !ctx->diags.out_of_memory;
}

static bool note_rows(joining *x, size_t at)
{
    const rlx_rows *r = x->slots[at].rows;
    bool ok = note_boxes(&x->order, r, at);
    for (size_t i = 0; i < r->boxes.len && ok; i++)
        ok = !r->boxes.data[i].stores || rlx_ptrmap_put(&x->storer, r->boxes.data[i].buffer->data, at + 1);
    return ok;
}

/* The rows of slot *at, which comes last, with all that they read from. */
static bool join_producers(joining *x, size_t *at)
{
    for (size_t i = 0; i < x->slots[*at].rows->boxes.len; i++) {
        const rlx_node *memory = x->slots[*at].rows->boxes.data[i].buffer->data;
        size_t from = rlx_number_in(&x->storer, memory), joined;
        if (!from-- || from >= *at || (!x->slots[from].rows && !x->slots[from].nest))
            continue;
        const uintptr_t before = x->slots[from].before;
        if (!join_slots(x, *at, from, &joined) || (joined != SIZE_MAX && !rlx_ptrmap_put(&x->storer, memory, before)))
            return false;
        if (joined != SIZE_MAX) {
            *at = joined;
            i = (size_t)-1; /* it reads more now */
        }
    }
    return note_rows(x, *at);
}

/* ---- new tiles ------------------------------------------------------------------------------ */

/* A nest that sums up, row by row, a large temporary that a nest fills: as a loop over tiles of rows. */
typedef struct summing {
    const rlx_buffer *of;            /* what it sums up */
    size_t row;                      /* dimension of it that is cut */
    rlx_dtype dtype;                 /* of loops */
} summing;

/* The first dimension of those that are kept whose elements are no more than a tile, or the last. */
static size_t outermost_row(const rlx_buffer *b, size_t kept)
{
    int64_t width = 1;
    size_t row = kept ? kept - 1 : 0;
    for (size_t d = b->num_shape; d-- > row + 1;)
        if (!rlx_mul_i64(width, rlx_plan_likely_size(b->shape[d]), &width))
            return row;
    while (row > 0 && rlx_mul_i64(width, rlx_plan_likely_size(b->shape[row]), &width) && width <= TILE)
        row--;
    return row;
}

static bool find_summed(joining *x, const rlx_nest_plan *plan, const rlx_plan_access *a, summing *out)
{
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    uintptr_t from = rlx_number_in(&x->storer, b->data);
    size_t kept = 0;
    if (!from || (!x->slots[from - 1].nest && !x->slots[from - 1].rows) ||
        !rlx_is_temporary_of(x->all, &x->seq->node, b->data) || !a->literal)
        return false;
    for (size_t d = 0; d < a->num_indices; d++) {
        int at = -1;
        for (size_t i = 0; i < plan->count; i++)
            if (plan->loops[i].var == a->indices[d])
                at = (int)i;
        if (at < 0 || !rlx_is_int_value(plan->loops[at].min, 0))
            return false;
        if (!plan->loops[at].determined)
            break;
        out->dtype = rlx_prim_dtype(a->indices[d]);
        kept++;
    }
    for (size_t d = kept; d < a->num_indices; d++)
        for (size_t i = 0; i < plan->count; i++)
            if (plan->loops[i].var == a->indices[d] && plan->loops[i].determined)
                return false;
    out->of = b;
    out->row = outermost_row(b, kept);
    return kept > 0 && kept < a->num_indices;
}

/* Rows of a tile; NULL: all of it is no more than one. */
static const rlx_prim *rows_of_tile(rlx_context *ctx, const summing *s)
{
    const rlx_prim *width = rlx_int64(ctx, 1), *one = width;
    int64_t n, most;
    for (size_t d = s->row + 1; d < s->of->num_shape && width; d++)
        width = rlx_fold_mul(ctx, width, rlx_fold_cast(ctx, RELAX_INT64, s->of->shape[d]));
    const rlx_prim *many = width ? rlx_fold_binary(ctx, RLX_NODE_FLOOR_DIV, rlx_int64(ctx, TILE),
                                                   rlx_fold_binary(ctx, RLX_NODE_MAX, width, one))
                                 : NULL,
                   *tile = many ? rlx_fold_binary(ctx, RLX_NODE_MAX, many, one) : NULL;
    if (!tile || !rlx_int_literal(rlx_fold_cast(ctx, RELAX_INT64, s->of->shape[s->row]), &n) || !rlx_int_literal(tile, &most))
        return tile;
    if (n <= most * (SMALL / TILE))
        return rlx_int64(ctx, n);
    for (int64_t k = most; k > most / 2; k--)
        if (n % k == 0)
            return rlx_int64(ctx, k);
    return tile;
}

static rlx_sched_loop new_loop(rlx_context *ctx, const char *name, rlx_dtype dtype, const rlx_prim *extent)
{
    const rlx_string *text = rlx_string_z(ctx, name);
    rlx_prim_var *v = text ? rlx_prim_var_new(ctx, text, dtype, RLX_NO_PLACE) : NULL;
    return (rlx_sched_loop){ v ? &v->node : NULL, extent };
}

/* A pretended loop over tiles that touches s->of: what the nest is cut along. */
static bool tile_rows(rlx_context *ctx, const summing *s, rlx_rows *r)
{
    const rlx_dtype dtype = s->dtype;
    rlx_box b = { .buffer = s->of, .stores = true };
    for (size_t d = 0; d < s->of->num_shape; d++) {
        b.base[d] = rlx_int64(ctx, 0);
        b.extent[d] = rlx_fold_cast(ctx, RELAX_INT64, s->of->shape[d]);
    }
    for (size_t d = 0; d < s->row && r->count + 1 < RLX_MOST_OUTER; d++)
        if (!rlx_is_int_value(b.extent[d], 1)) {
            r->outer[r->count] = new_loop(ctx, "o", dtype, b.extent[d]);
            b.base[d] = r->outer[r->count++].var;
            b.extent[d] = rlx_int64(ctx, 1);
        }
    const rlx_prim *n = b.extent[s->row], *many = rows_of_tile(ctx, s),
                   *more = many ? rlx_fold_sub(ctx, many, rlx_int64(ctx, 1)) : NULL,
                   *tiles = more ? rlx_fold_binary(ctx, RLX_NODE_FLOOR_DIV, rlx_fold_add(ctx, n, more), many) : NULL;
    int64_t size, step;
    if (!tiles)
        return false;
    if (!rlx_is_int_value(tiles, 1)) {
        rlx_sched_loop *t = &r->outer[r->count++];
        *t = new_loop(ctx, "tile", dtype, tiles);
        const rlx_prim *start = t->var ? rlx_fold_mul(ctx, t->var, rlx_fold_cast(ctx, dtype, many)) : NULL,
                       *left = start ? rlx_fold_sub(ctx, n, rlx_fold_cast(ctx, RELAX_INT64, start)) : NULL;
        bool even = rlx_int_literal(n, &size) && rlx_int_literal(many, &step) && size % step == 0;
        b.base[s->row] = start;
        b.extent[s->row] = even ? many : left ? rlx_fold_binary(ctx, RLX_NODE_MIN, many, left) : NULL;
    }
    return b.base[s->row] && b.extent[s->row] && rlx_vec_push(&ctx->memory, &r->boxes, b) &&
           rlx_ptrmap_put(&r->box_of, s->of->data, r->boxes.len);
}

/* Is it a sum (or what is like one) of a temporary whose tiles can be told apart? */
static bool is_summing(joining *x, const rlx_for_stmt *nest, summing *out)
{
    rlx_nest_plan plan;
    bool ok = rlx_plan_nest(x->ctx, &rlx_plan_everywhere, nest, &plan);
    ok = ok && (plan.form == RLX_PLAN_PARTIAL || (plan.form == RLX_PLAN_FUSED && !plan.fused.contract)) &&
         find_summed(x, &plan, &plan.accesses.data[plan.fused.a], out);
    rlx_nest_plan_free(x->ctx, &plan);
    return ok;
}

/* The sum of slot `at` as a loop over tiles with what it reads from; as it was where that is not one of them. */
static bool tile_sum(joining *x, size_t *at)
{
    rlx_context *ctx = x->ctx;
    summing s = { 0 };
    slot was = x->slots[*at];
    bool ok, is = false;
    if (!is_summing(x, was.nest, &s))
        return !ctx->diags.out_of_memory;
    size_t from = rlx_number_in(&x->storer, s.of->data) - 1, joined = SIZE_MAX;
    rlx_rows like, *r = rlx_new(ctx, sizeof *r);
    if (!r)
        return false;
    rlx_rows_init(ctx, &like);
    rlx_rows_init(ctx, r);
    like.place = r->place = was.nest->place;
    ok = tile_rows(ctx, &s, &like) && (!like.count || rlx_rows_of_nest(ctx, &like, was.nest, r, &is));
    if (ok && is) {
        x->slots[*at] = (slot){ .rows = r, .stmt = was.stmt };
        ok = join_slots(x, *at, from, &joined);
    }
    if (joined != SIZE_MAX) {
        *at = joined;
        ok = ok && join_producers(x, at);
    } else {
        x->slots[*at] = was;
        rlx_rows_free(ctx, r);
    }
    rlx_rows_free(ctx, &like);
    return ok;
}

/* ---- a sequence ----------------------------------------------------------------------------- */

/* Nests that may be cut: of one instruction, or strips. */
static bool may_be_cut(rlx_context *ctx, const rlx_for_stmt *nest, slot *s)
{
    rlx_nest_plan plan;
    bool may = rlx_plan_nest(ctx, &rlx_plan_everywhere, nest, &plan) && plan.body->kind != RLX_NODE_FOR;
    s->sums = plan.form == RLX_PLAN_PARTIAL || plan.form == RLX_PLAN_FUSED;
    s->multiplies = plan.form == RLX_PLAN_FUSED && plan.fused.contract;
    may = may && (plan.form == RLX_PLAN_STRIP || plan.form == RLX_PLAN_COPY || plan.form == RLX_PLAN_MAP ||
                  plan.form == RLX_PLAN_NORMALIZE || s->sums);
    rlx_nest_plan_free(ctx, &plan);
    return may;
}

/* A nest that stays one, so far. touched: like statements without loops around them. */
static bool note_nest(joining *x, const rlx_rows *touched, size_t at)
{
    bool ok = rlx_note_statement(x->ctx, &x->order, x->slots[at].stmt, at + 1);
    for (size_t i = 0; i < touched->boxes.len && ok; i++)
        if (touched->boxes.data[i].stores) {
            x->slots[at].before = rlx_number_in(&x->storer, touched->boxes.data[i].buffer->data);
            ok = rlx_ptrmap_put(&x->storer, touched->boxes.data[i].buffer->data, at + 1);
        }
    return ok;
}

/* A nest goes into the rows that store what it touches; a sum may make new ones. */
static bool place_nest(joining *x, size_t at)
{
    rlx_context *ctx = x->ctx;
    size_t joined = SIZE_MAX;
    rlx_rows touched;
    rlx_rows_init(ctx, &touched);
    bool ok = rlx_vec_push(&ctx->memory, &touched.parts, (void *)x->slots[at].stmt) && rlx_find_boxes(ctx, &touched, 0);
    for (size_t i = 0; i < touched.boxes.len && ok && joined == SIZE_MAX; i++) {
        size_t found = rlx_number_in(&x->storer, touched.boxes.data[i].buffer->data);
        if (found && x->slots[found - 1].rows)
            ok = join_slots(x, found - 1, at, &joined);
    }
    if (ok && joined != SIZE_MAX) {
        at = joined;
        ok = join_producers(x, &at);
    } else if (ok && x->slots[at].sums)
        ok = tile_sum(x, &at);
    if (ok && x->slots[at].nest)
        ok = note_nest(x, &touched, at);
    rlx_rows_free(ctx, &touched);
    return ok;
}

static bool fill_slot(joining *x, rlx_rewriter *w, size_t i)
{
    rlx_context *ctx = x->ctx;
    slot *s = &x->slots[i];
    s->stmt = rlx_rewrite(w, x->seq->stmts[i]);
    const rlx_for_stmt *nest = s->stmt ? rlx_as_for_stmt(s->stmt) : NULL;
    bool is = false;
    if (!s->stmt)
        return false;
    if (nest && may_be_cut(ctx, nest, s)) {
        s->nest = nest;
        return place_nest(x, i);
    }
    rlx_rows *r = nest ? rlx_new(ctx, sizeof *r) : NULL;
    if (nest && !r)
        return false;
    if (r) {
        rlx_rows_init(ctx, r);
        bool ok = rlx_rows_read(ctx, nest, r, &is);
        if (ok && is) {
            s->rows = r;
            return join_producers(x, &i);
        }
        rlx_rows_free(ctx, r);
        if (!ok)
            return false;
    }
    return rlx_note_statement(ctx, &x->order, s->stmt, i + 1);
}

/* ---- memory of a tile ----------------------------------------------------------------------- */

typedef struct shrinking {
    rlx_context *ctx;
    rlx_rows *r;
    rlx_ptrmap small;                /* buffer -> the one in its place */
} shrinking;

static enum rlx_step find_var(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    const rlx_prim **found = user;
    if (n->kind == RLX_NODE_PRIM_VAR && rlx_ptrmap_has((const rlx_ptrmap *)found[1], n))
        found[0] = n;
    return RLX_STEP_ON;
}

/* Of an index base + v: v, or 0. */
static const rlx_prim *inner_index(const shrinking *k, const rlx_prim *index)
{
    const rlx_prim *found[2] = { NULL, (const rlx_prim *)(const void *)&k->r->inside };
    rlx_walker w = { .enter = find_var, .user = found, .unique = true };
    rlx_walk(&k->ctx->memory, index, &w, NULL);
    return found[0] ? rlx_fold_cast(k->ctx, rlx_prim_dtype(index), found[0])
                    : rlx_int(k->ctx, rlx_prim_dtype(index), 0);
}

static const rlx_node *shrink_access(rlx_rewriter *w, const rlx_node *n)
{
    const shrinking *k = w->user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    const rlx_buffer *b = l || s ? rlx_ptrmap_get(&k->small, l ? l->buffer : s->buffer) : NULL;
    if (!b)
        return n;
    const rlx_prim *const *indices = l ? l->indices : s->indices;
    for (size_t d = 0; d < b->num_shape; d++)
        at[d] = inner_index(k, indices[d]);
    const rlx_node *out = l ? rlx_load(k->ctx, b, at, b->num_shape)
                            : rlx_store(k->ctx, b, s->value, at, b->num_shape, s->place);
    w->failed |= !out;
    return out;
}

/* Temporaries that nothing else touches get the size of a box. users: memory -> slots that touch it. */
static bool shrink(joining *x, rlx_rows *r, const rlx_ptrmap *users)
{
    rlx_context *ctx = x->ctx;
    shrinking k = { .ctx = ctx, .r = r };
    rlx_rewriter w;
    bool ok = true;
    rlx_ptrmap_init(&k.small, &ctx->memory);
    for (size_t i = 0; i < r->boxes.len && ok; i++) {
        const rlx_box *b = &r->boxes.data[i];
        const rlx_node *memory = b->buffer->data;
        if (!rlx_is_temporary_of(x->all, &x->seq->node, memory) || rlx_number_in(users, memory) != 1 ||
            !rlx_is_compact(b->buffer) || !rlx_is_apart(ctx, r, b))
            continue;
        const rlx_buffer *small = rlx_buffer_new(ctx, b->buffer->name, b->buffer->dtype, b->extent, b->buffer->num_shape,
                                                 NULL, b->buffer->place);
        ok = small && rlx_vec_push(&ctx->memory, &r->temporaries, (void *)small) &&
             rlx_ptrmap_put(&k.small, b->buffer, (uintptr_t)small) && rlx_ptrmap_put(&x->all->dropped, memory, 1);
    }
    rlx_rewriter_init(&w, ctx);
    w.after = shrink_access;
    w.user = &k;
    for (size_t i = 0; i < r->parts.len && ok && r->temporaries.len; i++)
        ok = (r->parts.data[i] = (void *)rlx_rewrite(&w, r->parts.data[i])) != NULL;
    rlx_rewriter_free(&w);
    rlx_ptrmap_free(&k.small);
    return ok;
}

static bool count_users(joining *x, rlx_ptrmap *users)
{
    rlx_context *ctx = x->ctx;
    bool ok = true;
    for (size_t i = 0; i < x->seq->num_stmts && ok; i++) {
        const slot *s = &x->slots[i];
        rlx_rows probe;
        rlx_rows_init(ctx, &probe);
        if (!s->rows && s->stmt)
            ok = rlx_vec_push(&ctx->memory, &probe.parts, (void *)s->stmt) && rlx_find_boxes(ctx, &probe, 0);
        const rlx_rows *all = s->rows ? s->rows : &probe;
        for (size_t k = 0; k < all->boxes.len && ok; k++)
            ok = rlx_add_in(users, all->boxes.data[k].buffer->data, 1);
        rlx_rows_free(ctx, &probe);
    }
    return ok;
}

static const rlx_stmt *write_slots(joining *x)
{
    rlx_context *ctx = x->ctx;
    size_t count = 0;
    const rlx_stmt **parts = rlx_new(ctx, (x->seq->num_stmts + 1) * sizeof *parts);
    rlx_ptrmap users;
    rlx_ptrmap_init(&users, &ctx->memory);
    bool ok = parts && count_users(x, &users), changed = x->any;
    for (size_t i = 0; i < x->seq->num_stmts && ok; i++) {
        const slot *s = &x->slots[i];
        const rlx_stmt *now = s->stmt;
        if (s->rows && s->rows->joined) {
            ok = shrink(x, s->rows, &users);
            now = ok ? rlx_rows_write(ctx, s->rows) : NULL;
            ok = now != NULL;
        }
        if (now)
            parts[count++] = now;
        changed |= now != x->seq->stmts[i];
    }
    rlx_ptrmap_free(&users);
    if (!ok || !changed)
        return ok ? &x->seq->node : NULL;
    return count == 1 ? parts[0] : rlx_seq_stmt_new(ctx, parts, count, x->seq->place);
}

static const rlx_stmt *join_sequence(rlx_rewriter *w, const rlx_seq_stmt *seq)
{
    joining x = { .ctx = w->ctx, .all = w->user, .seq = seq,
                  .slots = rlx_new_zero(w->ctx, (seq->num_stmts + 1) * sizeof *x.slots) };
    rlx_ptrmap *maps[] = { &x.order.last_store, &x.order.last_load, &x.storer };
    bool ok = x.slots != NULL;
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], &w->ctx->memory);
    for (size_t i = 0; i < seq->num_stmts && ok; i++)
        ok = fill_slot(&x, w, i);
    const rlx_stmt *out = ok ? write_slots(&x) : NULL;
    for (size_t i = 0; x.slots && i < seq->num_stmts; i++)
        if (x.slots[i].rows)
            rlx_rows_free(w->ctx, x.slots[i].rows);
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_free(maps[i]);
    return out;
}

static const rlx_node *join_node(rlx_rewriter *w, const rlx_node *n)
{
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(n);
    const rlx_stmt *now = seq ? join_sequence(w, seq) : NULL;
    w->failed |= seq && !now;
    return now;
}

const rlx_stmt *rlx_join_rows(rlx_context *ctx, const rlx_stmt *body)
{
    return rlx_rewrite_sequences(ctx, body, join_node);
}
