/*- op_pattern.c: how the elements that a PrimFunc writes hang on those that it reads, which is what fusion goes by.
 *
 *     B[i, j] = f(A[i, j])                         elementwise
 *     C[i, j] = f(A[i, j], B[j])                   elementwise where one operand is, else broadcast
 *     B[i, j] = A[j, i]                            injective: an element of B reads one of each operand
 *     B[i] = B[i] + A[i, k]                        reduction over the rest of A
 *     C[i, j] = C[i, j] + A[i, k] * B[k, j]        out-elementwise-fusible: only what reads C can join it, as after a
 *                                                  reduction whose result is used by a later block (softmax)
 *     anything else                                opaque
 *
 * Told from loops and blocks, one store in each innermost block. Answers are for choosing what runs together: a wrong
 * one costs time, no number. */
/* built for size */
#include "analysis/analysis.h"
#include "tir/tir.h"

typedef struct pattern_search {
    rlx_context *ctx;
    rlx_ptrmap outputs;                  /* buffers that are parameters */
    rlx_ptrmap axes;                     /* variable of a block -> its depth * 2, + REDUCED */
    size_t depth;                        /* blocks with axes around here */
    const rlx_buffer_store *store;       /* of the innermost, NULL: not met */
    bool reduces;                        /* a block around the store has a reduction axis */
    enum rlx_op_pattern kind;
} pattern_search;

#define REDUCED 1

/* ---- indices -------------------------------------------------------------------------------- */

static bool same_indices(const rlx_buffer_store *s, const rlx_buffer_load *l)
{
    bool same = s->num_indices == l->num_indices;
    for (size_t i = 0; same && i < l->num_indices; i++)
        same = s->indices[i] == l->indices[i];
    return same;
}

static bool same_shape(const rlx_node *a, const rlx_node *b)
{
    const rlx_buffer *x = rlx_as_buffer(a), *y = rlx_as_buffer(b);
    bool same = x->num_shape == y->num_shape;
    for (size_t i = 0; same && i < x->num_shape; i++)
        same = x->shape[i] == y->shape[i];
    return same;
}

/* The indices of the load are some of those of the store, in order. */
static bool is_broadcast(const rlx_buffer_store *s, const rlx_buffer_load *l)
{
    const rlx_buffer *from = rlx_as_buffer(l->buffer);
    for (size_t i = 0, j = 0; i < l->num_indices; i++) {
        if (rlx_is_int_value(from->shape[i], 1) && rlx_is_int_value(l->indices[i], 0))
            continue;
        while (j < s->num_indices && s->indices[j] != l->indices[i])
            j++;
        if (j++ == s->num_indices)
            return false;
    }
    return true;
}

/* Calls `each` for the variables of blocks in indices until it says no. */
typedef struct axis_walk {
    const pattern_search *q;
    bool (*each)(void *user, const rlx_node *axis, uintptr_t kind);
    void *user;
} axis_walk;

static enum rlx_step visit_axis(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    axis_walk *w = user;
    uintptr_t kind;
    (void)via, (void)parent;
    if (!rlx_ptrmap_find(&w->q->axes, n, &kind))
        return RLX_STEP_ON;
    return w->each(w->user, n, kind) ? RLX_STEP_ON : RLX_STEP_STOP;
}

static bool each_axis(const pattern_search *q, const rlx_prim *const *indices, size_t count,
                      bool (*each)(void *user, const rlx_node *axis, uintptr_t kind), void *user)
{
    axis_walk a = { q, each, user };
    rlx_walker w = { .enter = visit_axis, .user = &a, .unique = true };
    for (size_t i = 0; i < count; i++)
        if (rlx_walk(&q->ctx->memory, indices[i], &w, NULL) == RLX_STEP_STOP)
            return false;
    return true;
}

/* Axes in the indices of the store. */
typedef struct axis_set { rlx_ptrmap axes; size_t depth; } axis_set;

static bool note_axis(void *set, const rlx_node *axis, uintptr_t kind)
{
    return !(kind & REDUCED) && rlx_ptrmap_put(&((axis_set *)set)->axes, axis, 1);
}
/* Those of blocks around hold for all that is in them. */
static bool has_axis(void *user, const rlx_node *axis, uintptr_t kind)
{
    const axis_set *set = user;
    return kind / 2 < set->depth || rlx_ptrmap_has(&set->axes, axis);
}
static bool cross_axis(void *set, const rlx_node *axis, uintptr_t kind)
{
    (void)kind;
    rlx_ptrmap_remove(&((axis_set *)set)->axes, axis);
    return true;
}
static bool is_spatial(void *user, const rlx_node *axis, uintptr_t kind)
{
    (void)user, (void)axis;
    return !(kind & REDUCED);
}

static bool stored_axes(const pattern_search *q, axis_set *out)
{
    out->depth = q->depth;
    rlx_ptrmap_init(&out->axes, &q->ctx->memory);
    return each_axis(q, q->store->indices, q->store->num_indices, note_axis, out);
}

/* Does an element that is written say which one is read? */
static bool is_injective(const pattern_search *q, const rlx_buffer_load *l)
{
    axis_set set;
    bool yes = stored_axes(q, &set) && each_axis(q, l->indices, l->num_indices, has_axis, &set);
    rlx_ptrmap_free(&set.axes);
    return yes;
}

/* Do several elements that are written read the same one? */
static bool is_reused(const pattern_search *q, const rlx_buffer_load *l)
{
    axis_set set;
    bool yes = stored_axes(q, &set) && each_axis(q, l->indices, l->num_indices, cross_axis, &set) && set.axes.len;
    rlx_ptrmap_free(&set.axes);
    return yes;
}

/* Reduction axes stand alone in the indices. */
static bool reads_rows(const pattern_search *q, const rlx_buffer_load *l)
{
    uintptr_t kind;
    for (size_t i = 0; i < l->num_indices; i++)
        if (!rlx_ptrmap_find(&q->axes, l->indices[i], &kind) &&
            !each_axis(q, &l->indices[i], 1, is_spatial, NULL))
            return false;
    return true;
}

/* ---- blocks --------------------------------------------------------------------------------- */

static const rlx_prim *without_casts(const rlx_prim *p)
{
    while (p && p->kind == RLX_NODE_CAST)
        p = ((const rlx_unary *)p)->a;
    return p;
}

/* X[..] + A[..] * B[..], or the same in one rounding: A and B are read again and again. */
static bool is_contraction(const pattern_search *q)
{
    const rlx_prim *value = q->store->value, *a = NULL, *b = NULL, *own = NULL;
    const rlx_binary *sum = rlx_as_binary(value);
    const rlx_prim_call *fma = rlx_as_prim_call(value);
    if (fma && fma->op && fma->num_args == 3 && rlx_slice_is(rlx_string_slice(fma->op), "fma")) {
        a = fma->args[0], b = fma->args[1], own = fma->args[2];
    } else if (sum && sum->node.kind == RLX_NODE_ADD) {
        const rlx_prim *product = without_casts(sum->b);
        own = sum->a;
        if (product && product->kind == RLX_NODE_MUL)
            a = ((const rlx_binary *)product)->a, b = ((const rlx_binary *)product)->b;
    }
    const rlx_buffer_load *x = rlx_as_buffer_load(without_casts(a)), *y = rlx_as_buffer_load(without_casts(b)),
                          *z = rlx_as_buffer_load(own);
    return x && y && z && z->buffer == q->store->buffer && is_reused(q, x) && is_reused(q, y);
}

/* What all loads of the store together are. */
typedef struct load_kinds {
    const pattern_search *q;
    enum rlx_op_pattern kind;
    bool elementwise;                    /* one of them is */
    bool rows;                           /* all read rows, as far as they reduce */
} load_kinds;

static enum rlx_op_pattern pattern_of_load(const pattern_search *q, const rlx_buffer_load *l)
{
    if (l->predicate || rlx_prim_dtype(&l->node) != rlx_as_buffer(l->buffer)->dtype)
        return RLX_OPAQUE;
    if (same_indices(q->store, l))
        return same_shape(q->store->buffer, l->buffer) ? RLX_ELEMWISE : RLX_INJECTIVE;
    return is_broadcast(q->store, l)  ? RLX_BROADCAST
           : is_injective(q, l)       ? RLX_INJECTIVE
                                      : RLX_OPAQUE;
}

static enum rlx_step look_at_load(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    load_kinds *k = user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    (void)via, (void)parent;
    if (!l)
        return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
    enum rlx_op_pattern kind = pattern_of_load(k->q, l);
    k->elementwise |= kind == RLX_ELEMWISE;
    k->kind = kind > k->kind ? kind : k->kind;
    k->rows &= reads_rows(k->q, l);
    return RLX_STEP_ON;
}

static void widen(pattern_search *q, enum rlx_op_pattern kind) { q->kind = kind > q->kind ? kind : q->kind; }

/* An innermost block has been met, with its one store. */
static void take_store(pattern_search *q)
{
    load_kinds k = { .q = q, .kind = RLX_ELEMWISE, .rows = true };
    rlx_walker w = { .enter = look_at_load, .user = &k, .unique = true };
    rlx_walk(&q->ctx->memory, q->store->value, &w, NULL);
    if (k.kind == RLX_BROADCAST && k.elementwise)
        k.kind = RLX_ELEMWISE;
    if (k.kind != RLX_OPAQUE && !q->reduces)
        widen(q, q->kind == RLX_REDUCTION && rlx_ptrmap_has(&q->outputs, q->store->buffer)
                     ? RLX_OUT_FUSABLE
                     : k.kind);
    else if (!q->reduces)
        widen(q, RLX_OPAQUE);
    else
        widen(q, k.rows && !is_contraction(q) ? RLX_REDUCTION : RLX_OUT_FUSABLE);
}

static bool is_opaque(pattern_search *q)
{
    q->kind = RLX_OPAQUE;
    return false;
}

/* No element is chosen by what is read. */
static enum rlx_step find_load(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    (void)user, (void)via, (void)parent;
    return n->kind == RLX_NODE_BUFFER_LOAD ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool enter_store(pattern_search *q, const rlx_buffer_store *s)
{
    rlx_walker w = { .enter = find_load, .unique = true };
    if ((!q->depth && s->num_indices) || q->store || s->predicate) /* a single element has no axes */
        return is_opaque(q);
    for (size_t i = 0; i < s->num_indices; i++)
        if (rlx_walk(&q->ctx->memory, s->indices[i], &w, NULL) == RLX_STEP_STOP)
            return is_opaque(q);
    q->store = s;
    take_store(q);
    return q->kind != RLX_OPAQUE;
}

static bool enter_axes(pattern_search *q, const rlx_tir_block *b)
{
    for (size_t i = 0; i < b->num_iter_vars; i++) {
        const rlx_iter_var *v = rlx_as_iter_var(b->iter_vars[i]);
        bool reduced = v->iter_type == RLX_ITER_REDUCE;
        if ((!reduced && v->iter_type != RLX_ITER_SPATIAL) ||
            !rlx_ptrmap_put(&q->axes, v->var, (q->depth + 1) * 2 + (reduced ? REDUCED : 0)))
            return is_opaque(q);
        q->reduces |= reduced;
    }
    return !b->num_match_buffers || is_opaque(q);
}

static enum rlx_step enter_statement(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    pattern_search *q = user;
    const rlx_tir_block *b = rlx_as_tir_block(n);
    bool good = true;
    if (via && b == NULL && rlx_family_of(n) != RLX_FAMILY_STMT)
        return RLX_STEP_SKIP;
    /* init of a reduction */
    if (via && parent->kind == RLX_NODE_TIR_BLOCK && n == ((const rlx_tir_block *)parent)->init &&
        n != ((const rlx_tir_block *)parent)->body)
        return RLX_STEP_SKIP;
    switch (n->kind) {
    case RLX_NODE_BUFFER_STORE: good = enter_store(q, (const rlx_buffer_store *)n); break;
    case RLX_NODE_TIR_BLOCK:
        /* The statements of a block are a store or other blocks. */
        good = q->store ? is_opaque(q) : enter_axes(q, b);
        q->depth += b->num_iter_vars > 0;
        break;
    case RLX_NODE_BLOCK_REALIZE:
        good = rlx_is_int_value(((const rlx_block_realize *)n)->predicate, 1) || is_opaque(q);
        break;
    case RLX_NODE_SEQ_STMT:
    case RLX_NODE_LET_STMT:
    case RLX_NODE_ASSERT_STMT: break;
    case RLX_NODE_FOR: good = !((const rlx_for_stmt *)n)->thread_binding || is_opaque(q); break;
    default: good = is_opaque(q);
    }
    return good ? RLX_STEP_ON : RLX_STEP_STOP;
}

static enum rlx_step leave_statement(void *user, const rlx_node *n)
{
    pattern_search *q = user;
    const rlx_tir_block *b = rlx_as_tir_block(n);
    for (size_t i = 0; b && i < b->num_iter_vars; i++)
        if (((const rlx_iter_var *)b->iter_vars[i])->iter_type == RLX_ITER_REDUCE)
            q->reduces = false;
    if (b) {
        q->store = NULL;
        q->depth -= b->num_iter_vars > 0;
    }
    return RLX_STEP_ON;
}

/* ---- the question --------------------------------------------------------------------------- */

enum rlx_op_pattern rlx_op_pattern_of(rlx_context *ctx, const rlx_prim_func *f)
{
    pattern_search q = { .ctx = ctx };
    rlx_walker w = { .enter = enter_statement, .leave = leave_statement, .user = &q };
    bool lost = false;
    rlx_ptrmap_init(&q.outputs, &ctx->memory);
    rlx_ptrmap_init(&q.axes, &ctx->memory);
    for (size_t i = 0; i < f->num_buffers; i++)
        if (f->buffers[i])
            (void)rlx_ptrmap_put(&q.outputs, f->buffers[i], 1);
    rlx_walk(&ctx->memory, f->body, &w, &lost);
    rlx_ptrmap_free(&q.outputs);
    rlx_ptrmap_free(&q.axes);
    return ctx->diags.out_of_memory || f->ret_dtype != RELAX_VOID ? RLX_OPAQUE : q.kind;
}

bool rlx_stated_op_pattern(const rlx_prim_func *f, int64_t *pattern)
{
    const rlx_attr *stated = f->attrs ? rlx_attrs_get(f->attrs, "op_pattern") : NULL;
    if (!stated)
        return false;
    if (!rlx_int_literal(stated, pattern))
        *pattern = rlx_attr_as_int(stated, RLX_OPAQUE);
    return true;
}
