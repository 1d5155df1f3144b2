/* boxes.c: where the statements in loops over rows touch memory. */
#include "schedule/boxes.h"

/* ---- boxes ---------------------------------------------------------------------------------- */

typedef struct looking {
    rlx_context *ctx;
    rlx_rows *r;
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
static bool mentions_inside(const rlx_rows *r, rlx_context *ctx, const rlx_prim *e)
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
    rlx_rows *r = k->r;
    const rlx_node *memory = rlx_plan_memory(buffer);
    uintptr_t at = rlx_number_in(&r->box_of, memory);
    rlx_box new = { .buffer = rlx_as_buffer(buffer), .mixed = k->deep || !plain || count > RLX_TIR_MAX_DIMS };
    const rlx_prim *var;
    for (size_t d = 0; d < count && !new.mixed; d++)
        new.mixed = !cut_index(k, indices[d], &new.base[d], &new.extent[d], &var);
    if (!at) {
        new.loads = !stores, new.stores = stores;
        return rlx_vec_push(&k->ctx->memory, &r->boxes, new) && rlx_ptrmap_put(&r->box_of, memory, r->boxes.len);
    }
    rlx_box *b = &r->boxes.data[at - 1];
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
bool rlx_find_boxes(rlx_context *ctx, rlx_rows *r, size_t first)
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

const rlx_box *rlx_find_box(const rlx_rows *r, const rlx_node *memory)
{
    uintptr_t at = rlx_number_in(&r->box_of, memory);
    return at ? &r->boxes.data[at - 1] : NULL;
}

/* base = coefficient * outer loop number `loop`, or 0 (loop -1); the coefficient is int64. */
bool rlx_box_base(rlx_context *ctx, const rlx_rows *r, const rlx_prim *base, int *loop, const rlx_prim **coeff)
{
    const rlx_prim *vars[RLX_MOST_OUTER];
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
bool rlx_is_apart(rlx_context *ctx, const rlx_rows *r, const rlx_box *b)
{
    uint32_t told = 0;
    for (size_t d = 0; d < b->buffer->num_shape && !b->mixed; d++) {
        const rlx_prim *coeff;
        int loop;
        if (rlx_box_base(ctx, r, b->base[d], &loop, &coeff) && loop >= 0 &&
            rlx_prove_compare(ctx, NULL, RLX_NODE_LE, b->extent[d], coeff) == RLX_TRUE)
            told |= 1u << loop;
    }
    return !b->mixed && told == (1u << r->count) - 1;
}

bool rlx_is_same_box(const rlx_box *a, const rlx_box *b)
{
    bool same = a->buffer == b->buffer && !a->mixed && !b->mixed;
    for (size_t d = 0; same && d < a->buffer->num_shape; d++)
        same = a->base[d] == b->base[d] && a->extent[d] == b->extent[d];
    return same;
}

/* ---- rows ----------------------------------------------------------------------------------- */

void rlx_rows_init(rlx_context *ctx, rlx_rows *r)
{
    *r = (rlx_rows){ .count = 0 };
    rlx_ptrmap_init(&r->box_of, &ctx->memory);
    rlx_ptrmap_init(&r->inside, &ctx->memory);
}

void rlx_rows_free(rlx_context *ctx, rlx_rows *r)
{
    rlx_vec_free(&ctx->memory, &r->covers);
    rlx_vec_free(&ctx->memory, &r->parts);
    rlx_vec_free(&ctx->memory, &r->temporaries);
    rlx_vec_free(&ctx->memory, &r->boxes);
    rlx_ptrmap_free(&r->box_of);
    rlx_ptrmap_free(&r->inside);
}

/* Statements and the temporaries around them. */
bool rlx_rows_take_apart(rlx_context *ctx, rlx_rows *r, const rlx_stmt *body)
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
bool rlx_rows_read(rlx_context *ctx, const rlx_for_stmt *nest, rlx_rows *r, bool *is)
{
    const rlx_stmt *body = &nest->node;
    *is = true;
    r->place = nest->place;
    for (const rlx_for_stmt *f = nest; *is && f; body = f->body, f = rlx_as_for_stmt(body)) {
        *is = r->count < RLX_MOST_OUTER && rlx_is_int_value(f->min, 0) && f->for_kind != RLX_FOR_THREAD_BINDING &&
              !f->annotations;
        if (*is)
            r->outer[r->count++] = (rlx_sched_loop){ f->loop_var, rlx_fold_cast(ctx, RELAX_INT64, f->extent) };
    }
    *is = *is && (body->kind == RLX_NODE_ALLOCATE || body->kind == RLX_NODE_DECL_BUFFER || body->kind == RLX_NODE_SEQ_STMT);
    return !*is || (rlx_rows_take_apart(ctx, r, body) && rlx_find_boxes(ctx, r, 0));
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

const rlx_stmt *rlx_rows_write(rlx_context *ctx, const rlx_rows *r)
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

