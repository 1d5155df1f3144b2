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
#include "schedule/accesses.h"

#include "schedule/plan_int.h"

enum {
    MOST_OUTER = 8,          /* loops around everything */
    MOST_JOINED = 64,        /* statements that are moved into one loop */
    TILE = 16384             /* elements of a tile, about */
};

/* Where memory is touched in one iteration. */
typedef struct box {
    const rlx_buffer *buffer;
    bool mixed;                      /* nothing is known */
    bool loads, stores;
    const rlx_prim *base[RLX_TIR_MAX_DIMS];   /* of the type of the index */
    const rlx_prim *extent[RLX_TIR_MAX_DIMS]; /* int64 */
} box;

/* Loops around statements, with the temporaries of an iteration. */
typedef struct rows {
    rlx_sched_loop outer[MOST_OUTER];
    size_t count;
    rlx_ptrs covers;                 /* Allocate and DeclBuffer around the statements, outermost first */
    rlx_ptrs parts;                  /* the statements */
    rlx_ptrs temporaries;            /* buffers of an iteration that are new */
    RLX_VEC(box) boxes;
    rlx_ptrmap box_of;               /* memory -> its number + 1 */
    rlx_ptrmap inside;               /* variables that are defined in it */
    size_t joined;
    rlx_place place;
} rows;

/* nest: loops around one statement that may be cut; rows: NULL, or it is those. stmt NULL: it is elsewhere now. */
typedef struct slot { const rlx_stmt *stmt; const rlx_for_stmt *nest; bool sums; rows *rows; } slot;

typedef struct joining {
    rlx_context *ctx;
    rlx_accesses *all;
    const rlx_seq_stmt *seq;
    slot *slots;
    rlx_order order;
    rlx_ptrmap storer;               /* memory -> the last slot + 1 that stores to it */
    bool any;
} joining;

/* ---- boxes ---------------------------------------------------------------------------------- */

typedef struct looking {
    rlx_context *ctx;
    rows *r;
    const rlx_for_stmt *open[RLX_TIR_MAX_DIMS * 2];
    size_t count;
    bool deep;                       /* more loops inside each other than that */
} looking;

static enum rlx_step find_inside(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    bool hit = n->kind == RLX_NODE_BUFFER_LOAD || (n->kind == RLX_NODE_PRIM_VAR && rlx_ptrmap_has(user, n));
    return hit ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Is it known only inside of an iteration? */
static bool mentions_inside(const rows *r, rlx_context *ctx, const rlx_prim *e)
{
    rlx_walker w = { .enter = find_inside, .user = (void *)&r->inside, .unique = true };
    return rlx_walk(&ctx->memory, e, &w, NULL) == RLX_STEP_STOP;
}

/* An index as base + v, v one of the open loops or nothing. */
static bool cut_index(const looking *k, const rlx_prim *index, const rlx_prim **base, const rlx_prim **extent,
                      const rlx_prim **var)
{
    const rlx_prim *vars[RLX_TIR_MAX_DIMS * 2];
    rlx_tir_affine a;
    for (size_t i = 0; i < k->count; i++)
        vars[i] = k->open[i]->loop_var;
    *extent = rlx_int64(k->ctx, 1);
    *var = NULL;
    if (!rlx_tir_affine_of(k->ctx, index, vars, k->count, &a))
        return false;
    for (size_t i = 0; i < k->count; i++) {
        if (!a.coeff[i] || rlx_is_int_value(a.coeff[i], 0))
            continue;
        if (*var || !rlx_is_int_value(a.coeff[i], 1) || !rlx_is_int_value(k->open[i]->min, 0))
            return false;
        *var = vars[i];
        *extent = rlx_fold_cast(k->ctx, RELAX_INT64, k->open[i]->extent);
    }
    *base = a.base;
    return *extent && !mentions_inside(k->r, k->ctx, *base) && !mentions_inside(k->r, k->ctx, *extent);
}

static bool add_access(looking *k, const rlx_node *buffer, const rlx_prim *const *indices, size_t count, bool plain,
                       bool stores)
{
    rows *r = k->r;
    const rlx_node *memory = rlx_plan_memory(buffer);
    uintptr_t at = rlx_number_in(&r->box_of, memory);
    box new = { .buffer = rlx_as_buffer(buffer), .mixed = k->deep || !plain || count > RLX_TIR_MAX_DIMS };
    const rlx_prim *var;
    for (size_t d = 0; d < count && !new.mixed; d++)
        new.mixed = !cut_index(k, indices[d], &new.base[d], &new.extent[d], &var);
    if (!at) {
        new.loads = !stores, new.stores = stores;
        return rlx_vec_push(&k->ctx->memory, &r->boxes, new) && rlx_ptrmap_put(&r->box_of, memory, r->boxes.len);
    }
    box *b = &r->boxes.data[at - 1];
    b->loads |= !stores, b->stores |= stores;
    b->mixed |= new.mixed || new.buffer != b->buffer;
    for (size_t d = 0; d < count && !b->mixed; d++)
        b->mixed = new.base[d] != b->base[d] || new.extent[d] != b->extent[d];
    return true;
}

static enum rlx_step look(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    looking *k = user;
    const rlx_for_stmt *f = rlx_as_for_stmt(n);
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    if (f && k->count < RLX_COUNT(k->open))
        k->open[k->count++] = f;
    else if (f)
        k->deep = true;
    if (l)
        (void)add_access(k, l->buffer, l->indices, l->num_indices, !l->predicate, false);
    if (s)
        (void)add_access(k, s->buffer, s->indices, s->num_indices, !s->predicate, true);
    return RLX_STEP_ON;
}

static enum rlx_step look_back(void *user, const rlx_node *n)
{
    looking *k = user;
    if (n->kind == RLX_NODE_FOR && !k->deep)
        k->count--;
    return RLX_STEP_ON;
}

static enum rlx_step note_inside(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    if (n->kind == RLX_NODE_PRIM_VAR && via && rlx_field_is_def(via))
        (void)rlx_ptrmap_put(user, n, 1);
    return RLX_STEP_ON;
}

/* Boxes of the statements from number `first` on. */
static bool find_boxes(rlx_context *ctx, rows *r, size_t first)
{
    rlx_walker names = { .enter = note_inside, .user = &r->inside, .terse = true };
    for (size_t i = first; i < r->parts.len; i++)
        rlx_walk(&ctx->memory, r->parts.data[i], &names, NULL);
    for (size_t i = first; i < r->parts.len; i++) {
        looking k = { .ctx = ctx, .r = r };
        rlx_walker w = { .enter = look, .leave = look_back, .user = &k, .terse = true };
        rlx_walk(&ctx->memory, r->parts.data[i], &w, NULL);
    }
    return !ctx->diags.out_of_memory;
}

static const box *find_box(const rows *r, const rlx_node *memory)
{
    uintptr_t at = rlx_number_in(&r->box_of, memory);
    return at ? &r->boxes.data[at - 1] : NULL;
}

/* base = coefficient * outer loop number `loop`, or 0 (loop -1); the coefficient is int64. */
static bool base_of(rlx_context *ctx, const rows *r, const rlx_prim *base, int *loop, const rlx_prim **coeff)
{
    const rlx_prim *vars[MOST_OUTER];
    rlx_tir_affine a;
    *loop = -1;
    for (size_t i = 0; i < r->count; i++)
        vars[i] = r->outer[i].var;
    if (!rlx_tir_affine_of(ctx, base, vars, r->count, &a) || !rlx_is_int_value(a.base, 0))
        return false;
    for (size_t i = 0; i < r->count; i++)
        if (a.coeff[i] && !rlx_is_int_value(a.coeff[i], 0)) {
            if (*loop >= 0)
                return false;
            *loop = (int)i;
            *coeff = rlx_fold_cast(ctx, RELAX_INT64, a.coeff[i]);
        }
    return *loop < 0 || *coeff;
}

/* Has each iteration a box of its own? */
static bool is_apart(rlx_context *ctx, const rows *r, const box *b)
{
    uint32_t told = 0;
    for (size_t d = 0; d < b->buffer->num_shape && !b->mixed; d++) {
        const rlx_prim *coeff;
        int loop;
        if (base_of(ctx, r, b->base[d], &loop, &coeff) && loop >= 0 &&
            rlx_prove_compare(ctx, NULL, RLX_NODE_LE, b->extent[d], coeff) == RLX_TRUE)
            told |= 1u << loop;
    }
    return !b->mixed && told == (1u << r->count) - 1;
}

static bool is_same_box(const box *a, const box *b)
{
    bool same = a->buffer == b->buffer && !a->mixed && !b->mixed;
    for (size_t d = 0; same && d < a->buffer->num_shape; d++)
        same = a->base[d] == b->base[d] && a->extent[d] == b->extent[d];
    return same;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void init_rows(rlx_context *ctx, rows *r)
{
    *r = (rows){ .count = 0 };
    rlx_ptrmap_init(&r->box_of, &ctx->memory);
    rlx_ptrmap_init(&r->inside, &ctx->memory);
}

static void free_rows(rlx_context *ctx, rows *r)
{
    rlx_vec_free(&ctx->memory, &r->covers);
    rlx_vec_free(&ctx->memory, &r->parts);
    rlx_vec_free(&ctx->memory, &r->temporaries);
    rlx_vec_free(&ctx->memory, &r->boxes);
    rlx_ptrmap_free(&r->box_of);
    rlx_ptrmap_free(&r->inside);
}

/* Statements and the temporaries around them. */
static bool take_apart(rlx_context *ctx, rows *r, const rlx_stmt *body)
{
    bool ok = true;
    for (; ok && (body->kind == RLX_NODE_ALLOCATE || body->kind == RLX_NODE_DECL_BUFFER);
         body = body->kind == RLX_NODE_ALLOCATE ? ((const rlx_allocate *)body)->body
                                                : ((const rlx_decl_buffer *)body)->body)
        ok = rlx_vec_push(&ctx->memory, &r->covers, (void *)body);
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(body);
    for (size_t i = 0; seq && i < seq->num_stmts && ok; i++)
        ok = rlx_vec_push(&ctx->memory, &r->parts, (void *)seq->stmts[i]);
    return ok && (seq || rlx_vec_push(&ctx->memory, &r->parts, (void *)body));
}

/* Loops from 0, in each other, around more than a store; *is: it is that. */
static bool read_rows(rlx_context *ctx, const rlx_for_stmt *nest, rows *r, bool *is)
{
    const rlx_stmt *body = &nest->node;
    *is = true;
    r->place = nest->place;
    for (const rlx_for_stmt *f = nest; *is && f; body = f->body, f = rlx_as_for_stmt(body)) {
        *is = r->count < MOST_OUTER && rlx_is_int_value(f->min, 0) && f->for_kind != RLX_FOR_THREAD_BINDING &&
              !f->annotations;
        if (*is)
            r->outer[r->count++] = (rlx_sched_loop){ f->loop_var, rlx_fold_cast(ctx, RELAX_INT64, f->extent) };
    }
    *is = *is && (body->kind == RLX_NODE_ALLOCATE || body->kind == RLX_NODE_DECL_BUFFER || body->kind == RLX_NODE_SEQ_STMT);
    return !*is || (take_apart(ctx, r, body) && find_boxes(ctx, r, 0));
}

static const rlx_stmt *with_body(rlx_context *ctx, const rlx_stmt *cover, const rlx_stmt *body)
{
    bool allocates = cover->kind == RLX_NODE_ALLOCATE;
    rlx_node *n = body ? rlx_node_new(ctx, (enum rlx_node_kind)cover->kind) : NULL;
    if (!n)
        return NULL;
    rlx_node head = *n;
    if (allocates) {
        *(rlx_allocate *)n = *(const rlx_allocate *)cover;
        ((rlx_allocate *)n)->body = body;
    } else {
        *(rlx_decl_buffer *)n = *(const rlx_decl_buffer *)cover;
        ((rlx_decl_buffer *)n)->body = body;
    }
    *n = head;
    return n;
}

static const rlx_stmt *write_rows(rlx_context *ctx, const rows *r)
{
    const rlx_stmt *body = r->parts.len == 1
                               ? r->parts.data[0]
                               : rlx_seq_stmt_new(ctx, (const rlx_stmt *const *)r->parts.data, r->parts.len, r->place);
    for (size_t i = r->covers.len; i-- > 0;)
        body = with_body(ctx, r->covers.data[i], body);
    for (size_t i = r->temporaries.len; i-- > 0 && body;)
        body = rlx_tir_with_temporary(ctx, r->temporaries.data[i], body, r->place);
    for (size_t i = r->count; i-- > 0;)
        body = rlx_sched_wrap(ctx, &r->outer[i], body, r->place);
    return body;
}

/* ---- cutting a nest ------------------------------------------------------------------------- */

/* What becomes of a loop of the nest. */
typedef struct piece { const rlx_prim *base, *extent; bool cut; } piece;

/* Are the boxes, along this dimension, exactly n elements, each once? */
static bool fills(rlx_context *ctx, const rows *r, int loop, const rlx_prim *step, const rlx_prim *extent,
                  const rlx_prim *n)
{
    const rlx_prim *trips = r->outer[loop].extent,
                   *start = rlx_fold_mul(ctx, rlx_fold_cast(ctx, RELAX_INT64, r->outer[loop].var), step),
                   *left = start ? rlx_fold_sub(ctx, n, start) : NULL,
                   *more = rlx_fold_sub(ctx, step, rlx_int64(ctx, 1)),
                   *round = more ? rlx_fold_binary(ctx, RLX_NODE_FLOOR_DIV, rlx_fold_add(ctx, n, more), step) : NULL,
                   *least = left ? rlx_fold_binary(ctx, RLX_NODE_MIN, step, left) : NULL;
    if (!round || !least)
        return false;
    if (rlx_prove_equal(ctx, NULL, extent, step) == RLX_EQUAL)
        return rlx_prove_equal(ctx, NULL, rlx_fold_mul(ctx, trips, step), n) == RLX_EQUAL;
    return rlx_prove_equal(ctx, NULL, trips, round) == RLX_EQUAL &&
           (extent == least || rlx_prove_equal(ctx, NULL, extent, least) == RLX_EQUAL);
}

typedef struct cutting {
    rlx_context *ctx;
    const rows *r;
    const rlx_for_stmt *loops[RLX_PLAN_MAX_NEST];
    piece pieces[RLX_PLAN_MAX_NEST];
    size_t count;
    uint32_t used;                   /* outer loops that have a meaning */
} cutting;

static int loop_of(const cutting *c, const rlx_prim *index)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->loops[i]->loop_var == index)
            return (int)i;
    return -1;
}

/* One access of the nest to memory of that box: each dimension a loop of the nest that goes all along it. */
static bool cut_along(cutting *c, const box *b, const rlx_prim *const *indices, size_t count)
{
    rlx_context *ctx = c->ctx;
    if (b->mixed || count != b->buffer->num_shape)
        return false;
    for (size_t d = 0; d < count; d++) {
        int at = loop_of(c, indices[d]), loop;
        const rlx_prim *size = rlx_fold_cast(ctx, RELAX_INT64, b->buffer->shape[d]), *step;
        if (!base_of(ctx, c->r, b->base[d], &loop, &step))
            return false;
        if (at < 0 && loop < 0 && rlx_is_int_value(indices[d], 0) && rlx_is_int_value(size, 1))
            continue;
        const rlx_prim *n = at < 0 ? NULL : rlx_fold_cast(ctx, RELAX_INT64, c->loops[at]->extent);
        if (!n || rlx_prove_equal(ctx, NULL, n, size) != RLX_EQUAL || !rlx_is_int_value(c->loops[at]->min, 0))
            return false;
        if (loop < 0) {
            if (rlx_prove_equal(ctx, NULL, b->extent[d], size) != RLX_EQUAL)
                return false;
            continue;
        }
        if (!fills(ctx, c->r, loop, step, b->extent[d], n))
            return false;
        piece *p = &c->pieces[at];
        if (p->cut && (p->base != b->base[d] || p->extent != b->extent[d]))
            return false;
        if (!p->cut && (c->used >> loop & 1))
            return false;
        *p = (piece){ b->base[d], b->extent[d], true };
        c->used |= 1u << loop;
    }
    return true;
}

/* Would rows of elements become columns that are as short as a tile? */
static bool cuts_strips(const cutting *c, const rlx_nest_plan *plan)
{
    bool cut = false, others = false, determined = true;
    for (int i = 0; i < (int)c->count; i++) {
        determined &= plan->loops[i].determined;
        if (!c->pieces[i].cut)
            others |= !rlx_is_int_value(plan->loops[i].extent, 1);
        else
            cut |= rlx_plan_is_unit(&plan->accesses.data[0], i);
    }
    return determined && cut && others;
}


static bool cut_nest(cutting *c, const rlx_for_stmt *nest)
{
    static const rlx_plan_scope everywhere = { .knows = rlx_plan_knows_all };
    rlx_nest_plan plan;
    bool ok = rlx_plan_nest(c->ctx, &everywhere, nest, &plan), any = false;
    const rlx_stmt *s = &nest->node;
    for (; s->kind == RLX_NODE_FOR && c->count < RLX_PLAN_MAX_NEST; s = ((const rlx_for_stmt *)s)->body)
        c->loops[c->count++] = (const rlx_for_stmt *)s;
    ok = ok && plan.count == c->count;
    for (size_t i = 0; i < plan.accesses.len && ok; i++) {
        const rlx_plan_access *a = &plan.accesses.data[i];
        const box *b = find_box(c->r, rlx_plan_memory(a->buffer));
        if (!b || (!b->stores && !a->stores))
            continue;
        any = true;
        ok = a->buffer == &b->buffer->node && cut_along(c, b, a->indices, a->num_indices);
    }
    for (size_t i = 0; i < c->count && ok; i++)
        ok = !c->pieces[i].cut || plan.loops[i].determined;
    ok = ok && !cuts_strips(c, &plan);
    rlx_nest_plan_free(c->ctx, &plan);
    return ok && any && c->used == (1u << c->r->count) - 1;
}

/* The nest in one iteration of the outer loops. */
static const rlx_stmt *write_cut(const cutting *c)
{
    rlx_context *ctx = c->ctx;
    rlx_rewriter r;
    const rlx_prim *vars[RLX_PLAN_MAX_NEST];
    bool ok = true;
    rlx_tir_folder_init(&r, ctx);
    for (size_t i = 0; i < c->count && ok; i++) {
        const rlx_prim_var *old = rlx_as_prim_var(c->loops[i]->loop_var);
        const piece *p = &c->pieces[i];
        vars[i] = &old->node;
        if (!p->cut)
            continue;
        rlx_prim_var *v = rlx_is_int_value(p->extent, 1) ? NULL : rlx_prim_var_new(ctx, old->name, old->dtype, old->place);
        vars[i] = v ? &v->node : NULL;
        const rlx_prim *base = rlx_fold_cast(ctx, old->dtype, p->base),
                       *at = !base ? NULL : v ? rlx_fold_add(ctx, base, &v->node) : base;
        ok = at && rlx_ptrmap_put(&r.map, &old->node, (uintptr_t)at);
    }
    const rlx_stmt *body = ok ? rlx_rewrite(&r, c->loops[c->count - 1]->body) : NULL;
    rlx_rewriter_free(&r);
    for (size_t i = c->count; i-- > 0 && body;) {
        const rlx_for_stmt *old = c->loops[i];
        if (!vars[i])
            continue;
        const rlx_stmt *made = rlx_for(ctx, rlx_as_prim_var(vars[i]), old->min,
                                       c->pieces[i].cut ? rlx_fold_cast(ctx, rlx_prim_dtype(vars[i]), c->pieces[i].extent)
                                                        : old->extent,
                                       old->for_kind, body, old->place);
        if (made)
            ((rlx_for_stmt *)(uintptr_t)made)->annotations = old->annotations;
        body = made;
    }
    return body;
}

/* ---- joining -------------------------------------------------------------------------------- */

/* Two sets of statements with the same loops around them: may one iteration of both be done at a time? */
static bool agree(rlx_context *ctx, const rows *a, const rows *b)
{
    for (size_t i = 0; i < b->boxes.len; i++) {
        const box *y = &b->boxes.data[i], *x = find_box(a, y->buffer->data);
        if (x && (x->stores || y->stores) && (!is_same_box(x, y) || !is_apart(ctx, a, x)))
            return false;
    }
    return true;
}

static bool may_move(const joining *x, const rows *r, uintptr_t from)
{
    bool may = true;
    for (size_t i = 0; i < r->boxes.len && may; i++) {
        const box *b = &r->boxes.data[i];
        may = rlx_may_pass(&x->order, b->buffer->data, b->stores, from);
    }
    return may;
}

/* The first statement of a that has to stay behind b. What only fills memory goes there, next to the sum that it is for. */
static size_t first_behind(rlx_context *ctx, const rows *a, const rows *b)
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
static bool join(rlx_context *ctx, rows *a, const rows *b, bool in_front)
{
    size_t old = a->parts.len, more = b->parts.len, at = in_front ? first_behind(ctx, a, b) : old;
    bool ok = true;
    for (size_t i = 0; i < more && ok; i++)
        ok = rlx_vec_push(&ctx->memory, &a->parts, b->parts.data[i]);
    for (size_t i = 0; i < b->covers.len && ok; i++)
        ok = rlx_vec_push(&ctx->memory, &a->covers, b->covers.data[i]);
    if (ok && !find_boxes(ctx, a, old))
        return false;
    if (ok && at < old) {
        memmove(a->parts.data + at + more, a->parts.data + at, (old - at) * sizeof *a->parts.data);
        memcpy(a->parts.data + at, b->parts.data, more * sizeof *a->parts.data);
    }
    a->joined += 1 + b->joined;
    return ok;
}

/* The nest, cut along the boxes of r, as statements with the same loops. *is false: it cannot be. */
static bool rows_of_nest(rlx_context *ctx, const rows *r, const rlx_for_stmt *nest, rows *out, bool *is)
{
    cutting c = { .ctx = ctx, .r = r };
    *is = cut_nest(&c, nest);
    if (!*is)
        return !ctx->diags.out_of_memory;
    const rlx_stmt *cut = write_cut(&c);
    memcpy(out->outer, r->outer, sizeof r->outer);
    out->count = r->count;
    return cut && rlx_vec_push(&ctx->memory, &out->parts, (void *)cut) && find_boxes(ctx, out, 0);
}

/* Rows with loops of their own get those of r. *is false: they have others. */
static bool rows_of_rows(rlx_context *ctx, const rows *r, const rows *b, rows *out, bool *is)
{
    rlx_rewriter w;
    bool ok = true;
    *is = b->count == r->count;
    for (size_t i = 0; i < r->count && *is; i++)
        *is = rlx_prim_dtype(r->outer[i].var) == rlx_prim_dtype(b->outer[i].var) &&
              rlx_prove_equal(ctx, NULL, r->outer[i].extent, b->outer[i].extent) == RLX_EQUAL;
    if (!*is)
        return !ctx->diags.out_of_memory;
    rlx_tir_folder_init(&w, ctx);
    for (size_t i = 0; i < r->count && ok; i++)
        ok = rlx_ptrmap_put(&w.map, b->outer[i].var, (uintptr_t)r->outer[i].var);
    rows whole = *b;
    whole.count = 0;
    const rlx_stmt *body = ok ? write_rows(ctx, &whole) : NULL;
    body = body ? rlx_rewrite(&w, body) : NULL;
    rlx_rewriter_free(&w);
    memcpy(out->outer, r->outer, sizeof r->outer);
    out->count = r->count;
    return body && take_apart(ctx, out, body) && find_boxes(ctx, out, 0);
}

/* Slot `other` becomes part of the rows of slot `at`, if it may: the earlier one moves down, or the later one up. *joined: it
 * did, and where the rows are now. */
static bool join_slots(joining *x, size_t at, size_t other, size_t *joined)
{
    rlx_context *ctx = x->ctx;
    slot *to = &x->slots[at], *from = &x->slots[other];
    bool in_front = other < at, is = false, ok;
    size_t early = in_front ? other : at, late = in_front ? at : other;
    rows b;
    *joined = SIZE_MAX;
    if (to->rows->joined >= MOST_JOINED)
        return true;
    init_rows(ctx, &b);
    b.place = to->rows->place;
    ok = from->rows ? rows_of_rows(ctx, to->rows, from->rows, &b, &is) : rows_of_nest(ctx, to->rows, from->nest, &b, &is);
    is = ok && is && agree(ctx, to->rows, &b);
    bool sinks = is && may_move(x, in_front ? &b : to->rows, early + 1);
    if (is && (sinks || may_move(x, in_front ? to->rows : &b, early + 1))) {
        ok = join(ctx, to->rows, &b, in_front);
        rows *all = to->rows;
        *joined = sinks ? late : early;
        if (from->rows)
            free_rows(ctx, from->rows);
        *from = *to = (slot){ NULL };
        x->slots[*joined] = (slot){ .rows = all, .stmt = &x->seq->node };
        x->any = true;
    }
    free_rows(ctx, &b);
    return ok && !ctx->diags.out_of_memory;
}

static bool note_rows(joining *x, size_t at)
{
    const rows *r = x->slots[at].rows;
    bool ok = true;
    for (size_t i = 0; i < r->boxes.len && ok; i++) {
        const box *b = &r->boxes.data[i];
        ok = rlx_note_access(&x->order, b->buffer->data, b->loads, b->stores, at + 1) &&
             (!b->stores || rlx_ptrmap_put(&x->storer, b->buffer->data, at + 1));
    }
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
        if (!join_slots(x, *at, from, &joined))
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
    size_t row;                      /* dimension of it that is cut: the last in front of those that are reduced */
    rlx_dtype dtype;                 /* of loops */
} summing;

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
    out->row = kept - 1;
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
static bool tile_rows(rlx_context *ctx, const summing *s, rows *r)
{
    const rlx_dtype dtype = s->dtype;
    box b = { .buffer = s->of, .stores = true };
    for (size_t d = 0; d < s->of->num_shape; d++) {
        b.base[d] = rlx_int64(ctx, 0);
        b.extent[d] = rlx_fold_cast(ctx, RELAX_INT64, s->of->shape[d]);
    }
    for (size_t d = 0; d < s->row && r->count + 1 < MOST_OUTER; d++)
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
    static const rlx_plan_scope everywhere = { .knows = rlx_plan_knows_all };
    rlx_nest_plan plan;
    bool ok = rlx_plan_nest(x->ctx, &everywhere, nest, &plan);
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
    rows like, *r = rlx_new(ctx, sizeof *r);
    if (!r)
        return false;
    init_rows(ctx, &like);
    init_rows(ctx, r);
    like.place = r->place = was.nest->place;
    ok = tile_rows(ctx, &s, &like) && (!like.count || rows_of_nest(ctx, &like, was.nest, r, &is));
    if (ok && is) {
        x->slots[*at] = (slot){ .rows = r, .stmt = was.stmt };
        ok = join_slots(x, *at, from, &joined);
    }
    if (joined != SIZE_MAX) {
        *at = joined;
        ok = ok && join_producers(x, at);
    } else {
        x->slots[*at] = was;
        free_rows(ctx, r);
    }
    free_rows(ctx, &like);
    return ok;
}

/* ---- a sequence ----------------------------------------------------------------------------- */

/* Nests that may be cut: of one instruction, or strips. */
static bool may_be_cut(rlx_context *ctx, const rlx_for_stmt *nest, bool *sums)
{
    static const rlx_plan_scope everywhere = { .knows = rlx_plan_knows_all };
    rlx_nest_plan plan;
    bool may = rlx_plan_nest(ctx, &everywhere, nest, &plan) && plan.body->kind != RLX_NODE_FOR;
    *sums = plan.form == RLX_PLAN_PARTIAL || plan.form == RLX_PLAN_FUSED;
    may = may && (plan.form == RLX_PLAN_STRIP || plan.form == RLX_PLAN_COPY || plan.form == RLX_PLAN_MAP ||
                  plan.form == RLX_PLAN_NORMALIZE || (*sums && !plan.fused.contract));
    rlx_nest_plan_free(ctx, &plan);
    return may;
}

/* A nest that stays one, so far. touched: like statements without loops around them. */
static bool note_nest(joining *x, const rows *touched, size_t at)
{
    bool ok = rlx_note_statement(x->ctx, &x->order, x->slots[at].stmt, at + 1);
    for (size_t i = 0; i < touched->boxes.len && ok; i++)
        if (touched->boxes.data[i].stores)
            ok = rlx_ptrmap_put(&x->storer, touched->boxes.data[i].buffer->data, at + 1);
    return ok;
}

/* A nest goes into the rows that store what it touches; a sum may make new ones. */
static bool place_nest(joining *x, size_t at)
{
    rlx_context *ctx = x->ctx;
    size_t joined = SIZE_MAX;
    rows touched;
    init_rows(ctx, &touched);
    bool ok = rlx_vec_push(&ctx->memory, &touched.parts, (void *)x->slots[at].stmt) && find_boxes(ctx, &touched, 0);
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
    free_rows(ctx, &touched);
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
    if (nest && may_be_cut(ctx, nest, &s->sums)) {
        s->nest = nest;
        return place_nest(x, i);
    }
    rows *r = nest ? rlx_new(ctx, sizeof *r) : NULL;
    if (nest && !r)
        return false;
    if (r) {
        init_rows(ctx, r);
        bool ok = read_rows(ctx, nest, r, &is);
        if (ok && is) {
            s->rows = r;
            return join_producers(x, &i);
        }
        free_rows(ctx, r);
        if (!ok)
            return false;
    }
    return rlx_note_statement(ctx, &x->order, s->stmt, i + 1);
}

/* ---- memory of a tile ----------------------------------------------------------------------- */

typedef struct shrinking {
    rlx_context *ctx;
    rows *r;
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
static bool shrink(joining *x, rows *r, const rlx_ptrmap *users)
{
    rlx_context *ctx = x->ctx;
    shrinking k = { .ctx = ctx, .r = r };
    rlx_rewriter w;
    bool ok = true;
    rlx_ptrmap_init(&k.small, &ctx->memory);
    for (size_t i = 0; i < r->boxes.len && ok; i++) {
        const box *b = &r->boxes.data[i];
        const rlx_node *memory = b->buffer->data;
        if (!rlx_is_temporary_of(x->all, &x->seq->node, memory) || rlx_number_in(users, memory) != 1 ||
            !rlx_is_compact(b->buffer) || !is_apart(ctx, r, b))
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
        rows probe;
        init_rows(ctx, &probe);
        if (!s->rows && s->stmt)
            ok = rlx_vec_push(&ctx->memory, &probe.parts, (void *)s->stmt) && find_boxes(ctx, &probe, 0);
        const rows *all = s->rows ? s->rows : &probe;
        for (size_t k = 0; k < all->boxes.len && ok; k++)
            ok = rlx_add_in(users, all->boxes.data[k].buffer->data, 1);
        free_rows(ctx, &probe);
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
            now = ok ? write_rows(ctx, s->rows) : NULL;
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
            free_rows(w->ctx, x.slots[i].rows);
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
