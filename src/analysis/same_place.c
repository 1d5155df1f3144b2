/*- same_place.c: which inputs of a PrimFunc may be the memory of an output?
 *
 *     for i, j in T.grid(n, 4):
 *         B[i, j] = A[i, j] + C[j]         A may: what B overwrites has been read; C may not
 *
 * An input may if the last stores that read it, in the same loops up to the one that overwrites, read what
 * the same iteration overwrites, and nothing else. What earlier loops at the top of the function read is read
 * before anything is overwritten. Each iteration overwrites another element: every loop stands as it
 * is in an index of the output, or as a digit of one (tile * 128 + i, of at most 128 i). Both may be seen in another form, the same of all.
 *
 *     for i, j in T.grid(n, 4):
 *         B[0, i, j] = A[0, i, j]          A (1, n, 4) may be the first elements of B (1, n + 1, 4)
 *     for j in range(4):
 *         B[0, n, j] = C[0, 0, j]
 *
 * Other stores to the output come later then, or go to what lies behind the input.
 *
 *     for b in range(n // 16):
 *         P[..] = A[b * 16 .. b * 16 + 15]         A may: each iteration reads its own part of it before it overwrites that
 *         B[b * 16 .. b * 16 + 15] = f(P[..])
 */
/* built for size */
#include "analysis/analysis.h"
#include "arith/arith.h"
#include "schedule/plan.h"

enum { MOST_LOOPS = 16 };

/* What is known of a parameter. */
typedef struct access {
    const rlx_buffer *buffer;
    const rlx_buffer *form;              /* that it is accessed as, one after the other of the same elements; NULL: not yet */
    uint32_t stores, first_load;         /* statements; number of the first loop that loads, 0: none */
    /* of the last loop at the top that loads, or of the one store */
    uint32_t nest, order;
    const rlx_for_stmt *inner;           /* the loop around */
    size_t first_index;                  /* in `indices` */
    bool anywhere;                       /* not at one place */
    bool covers;                         /* a store of each iteration to another element */
} access;
/* A store to a parameter. */
typedef struct place {
    const rlx_node *buffer;              /* NULL: one of another form */
    size_t param, first_index;
    uint32_t nest, order;
    const rlx_for_stmt *inner;
    bool covers;
} place;
typedef struct search {
    rlx_context *ctx;
    access *params;
    RLX_VEC(place) places;
    rlx_scope scope;                     /* loops begin at numbers */
    rlx_ptrmap param_of;                 /* data pointer of a buffer -> parameter + 1 */
    RLX_VEC(const rlx_for_stmt *) loops;
    RLX_VEC(const rlx_prim *) from, to, indices;
    RLX_VEC(size_t) marks;               /* length of `from` where each block began */
    uint32_t nest, order;
    bool in_store;                       /* what is loaded is used there and nowhere else */
    bool strange;                        /* not understood */
} search;

static access *access_of(search *s, const rlx_node *buffer, const rlx_buffer **b)
{
    uintptr_t at;
    *b = rlx_as_buffer(buffer);
    return *b && rlx_ptrmap_find(&s->param_of, (*b)->data, &at) ? &s->params[at - 1] : NULL;
}

static const rlx_for_stmt *inner_loop(const search *s)
{
    return s->loops.len ? rlx_vec_last(&s->loops) : NULL;
}

/* Notes that a parameter is accessed as b, itself or all of it in another form. Is it the form of all accesses so far? */
static bool note_form(access *a, const rlx_buffer *b, size_t num_indices)
{
    const bool plain = !b->num_strides && (!b->elem_offset || rlx_is_int_value(b->elem_offset, 0)) && b->dtype == a->buffer->dtype;
    a->form = a->form ? a->form : b;
    return b == a->form && (plain || b == a->buffer) && num_indices == b->num_shape;
}

/* Indices as expressions of loop variables; SIZE_MAX: out of memory. */
static size_t keep_indices(search *s, const rlx_prim *const *indices, size_t count)
{
    size_t first = s->indices.len;
    for (size_t i = 0; i < count; i++) {
        const rlx_prim *p =
            rlx_substitute(s->ctx, indices[i], s->from.data, s->to.data, s->from.len);
        if (!p || !rlx_vec_push(&s->ctx->memory, &s->indices, p))
            return SIZE_MAX;
    }
    return first;
}

static bool same_indices(const search *s, size_t a, size_t b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (s->indices.data[a + i] != s->indices.data[b + i])
            return false;
    return true;
}

static void note_load(search *s, const rlx_buffer_load *load)
{
    const rlx_buffer *b;
    access *a = access_of(s, load->buffer, &b);
    if (!a)
        return;
    size_t first = keep_indices(s, load->indices, load->num_indices);
    bool again = a->first_load && a->nest == s->nest && !a->stores;
    if (first == SIZE_MAX)
        return;
    if (!a->first_load)
        a->first_load = s->nest + 1;
    if (a->stores)                       /* of an output: what matters is where it was first */
        return;
    bool same = s->in_store && note_form(a, b, load->num_indices) && (!again || (!a->anywhere && a->inner == inner_loop(s) &&
                                              same_indices(s, a->first_index, first,
                                                           load->num_indices)));
    a->anywhere = !same;
    a->nest = s->nest;
    a->order = s->order;
    a->inner = inner_loop(s);
    a->first_index = first;
}

/* Marks the loops that an index hangs on if it tells all of their values apart, as digits of a number: each counts further than all together
 * that count less. */
static void mark_digits(const search *s, const rlx_prim *index, bool *told)
{
    const rlx_prim *vars[MOST_LOOPS];
    const size_t n = s->loops.len;
    bool digits[MOST_LOOPS] = { false };
    int64_t base, low, high, c;
    rlx_tir_affine a;
    for (size_t k = 0; k < n; k++)
        vars[k] = s->loops.data[k]->loop_var;
    if (!rlx_tir_affine_of(s->ctx, index, vars, n, &a) || !rlx_int_literal(a.base, &base)) /* else it might hang on the iteration, too */
        return;
    for (int64_t reach = 1;;) {
        size_t next = n;
        int64_t least = INT64_MAX;
        for (size_t k = 0; k < n; k++) {
            if (!a.coeff[k] || digits[k])
                continue;
            if (!rlx_int_literal(a.coeff[k], &c) || c < 1)
                return;
            if (c < least)
                least = c, next = k;
        }
        if (next == n)
            break;
        if (least < reach)
            return;
        digits[next] = true;
        rlx_bounds(s->ctx, NULL, rlx_fold_cast(s->ctx, RELAX_INT64, s->loops.data[next]->extent), &low, &high);
        if (high == INT64_MAX || high < 1 || !rlx_mul_i64(least, high, &reach))
            reach = INT64_MAX;
    }
    for (size_t k = 0; k < n; k++)
        told[k] |= digits[k];
}

/* Does each loop around that has more than one iteration stand in an index? */
static bool covers_loops(const search *s, size_t first, size_t count)
{
    bool told[MOST_LOOPS] = { false };
    if (s->loops.len > MOST_LOOPS)
        return false;
    for (size_t i = 0; i < count; i++)
        mark_digits(s, s->indices.data[first + i], told);
    for (size_t k = 0; k < s->loops.len; k++)
        if (!told[k] && !rlx_is_int_value(s->loops.data[k]->extent, 1))
            return false;
    return true;
}

static void note_store(search *s, const rlx_buffer_store *store)
{
    const rlx_buffer *b;
    access *a = access_of(s, store->buffer, &b);
    s->order++;
    if (!a)
        return;
    size_t first = keep_indices(s, store->indices, store->num_indices);
    if (first == SIZE_MAX)
        return;
    a->stores += note_form(a, b, store->num_indices) ? 1 : 2;
    a->nest = s->nest;
    a->order = s->order;
    a->inner = inner_loop(s);
    a->first_index = first;
    a->covers = covers_loops(s, first, store->num_indices);
    bool plain = b == a->buffer && store->num_indices == b->num_shape;
    place p = { plain ? store->buffer : NULL, (size_t)(a - s->params), first, s->nest, s->order, a->inner, a->covers };
    (void)rlx_vec_push(&s->ctx->memory, &s->places, p);
}

static bool enter_loop(search *s, const rlx_for_stmt *f)
{
    int64_t first;
    const rlx_prim_var *var = rlx_as_prim_var(f->loop_var);
    s->nest += !s->loops.len;
    if (var && rlx_int_literal(f->min, &first) && !rlx_scope_bound(&s->scope, var, first, INT64_MAX))
        return false;
    return f->thread_binding == NULL && rlx_vec_push(&s->ctx->memory, &s->loops, f);
}

static bool enter_block(search *s, const rlx_block_realize *r)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    bool good = b && b->num_iter_vars == r->num_iter_values &&
                rlx_vec_push(&s->ctx->memory, &s->marks, s->from.len);
    size_t known = s->from.len;
    for (size_t i = 0; good && i < b->num_iter_vars; i++) {
        const rlx_iter_var *iter = rlx_as_iter_var(b->iter_vars[i]);
        const rlx_prim *value =
            rlx_substitute(s->ctx, r->iter_values[i], s->from.data, s->to.data, known);
        good = iter && value && rlx_vec_push(&s->ctx->memory, &s->from, iter->var) &&
               rlx_vec_push(&s->ctx->memory, &s->to, value);
    }
    return good;
}

/* A buffer that is part of a parameter has a pointer of its own. */
static void note_part(search *s, const rlx_match_buffer_region *m)
{
    const rlx_buffer_region *source = rlx_as_buffer_region(m->source);
    const rlx_buffer *whole = source ? rlx_as_buffer(source->buffer) : NULL,
                     *part = rlx_as_buffer(m->buffer);
    uintptr_t param;
    if (whole && part && rlx_ptrmap_find(&s->param_of, whole->data, &param))
        s->strange |= !rlx_ptrmap_put(&s->param_of, part->data, param);
}

static enum rlx_step look(void *user, const rlx_node *n, const rlx_field *via,
                          const rlx_node *parent)
{
    search *s = user;
    (void)via, (void)parent;
    switch (n->kind) {
    case RLX_NODE_FOR: s->strange |= !enter_loop(s, (const rlx_for_stmt *)n); break;
    case RLX_NODE_BLOCK_REALIZE: s->strange |= !enter_block(s, (const rlx_block_realize *)n); break;
    case RLX_NODE_BUFFER_STORE:
        s->nest += !s->loops.len;
        note_store(s, (const rlx_buffer_store *)n);
        s->in_store = true;
        break;
    case RLX_NODE_BUFFER_LOAD: note_load(s, (const rlx_buffer_load *)n); break;
    case RLX_NODE_MATCH_BUFFER_REGION: note_part(s, (const rlx_match_buffer_region *)n); break;
    case RLX_NODE_WHILE: s->strange = true; break;
    case RLX_NODE_PRIM_CALL: s->strange |= rlx_prim_dtype((const rlx_prim *)n) == RELAX_HANDLE; break;
    default: break;
    }
    return s->strange || s->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    search *s = user;
    if (n->kind == RLX_NODE_BUFFER_STORE)
        s->in_store = false;
    if (n->kind == RLX_NODE_FOR)
        (void)rlx_vec_pop(&s->loops);
    if (n->kind == RLX_NODE_BLOCK_REALIZE)
        s->from.len = s->to.len = rlx_vec_pop(&s->marks);
    return RLX_STEP_ON;
}

static bool same_layout(const rlx_buffer *a, const rlx_buffer *b)
{
    bool same = a->num_shape == b->num_shape && !a->num_strides && !b->num_strides &&
                rlx_dtype_bytes(a->dtype) == rlx_dtype_bytes(b->dtype);
    for (size_t i = 0; same && i < a->num_shape; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* ---- of one size ---------------------------------------------------------------------------- */

/* Is what `in` reads read when `out` overwrites it? */
static bool may_share(const search *s, const access *in, const access *out)
{
    if (!in->buffer || !out->buffer || in->stores || out->stores != 1 || !out->covers ||
        !same_layout(in->buffer, out->buffer) || (in->form && !same_layout(in->form, out->form)) ||
        (out->first_load && out->first_load <= out->nest + 1))
        return false;
    if (!in->first_load || in->nest != out->nest)
        return !in->first_load || in->nest < out->nest;
    return !in->anywhere && in->inner == out->inner && in->order <= out->order &&
           same_indices(s, in->first_index, out->first_index, in->form->num_shape);
}

/* ---- part by part --------------------------------------------------------------------------- */

typedef struct touched { const rlx_node *in, *out; bool loads, stores; } touched;

static enum rlx_step find_touch(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    touched *t = user;
    (void)via, (void)parent;
    t->loads |= n->kind == RLX_NODE_BUFFER_LOAD && rlx_plan_memory(((const rlx_buffer_load *)n)->buffer) == t->in;
    t->stores |= n->kind == RLX_NODE_BUFFER_STORE && rlx_plan_memory(((const rlx_buffer_store *)n)->buffer) == t->out;
    return t->loads && t->stores ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* The statement of a sequence that both loads and stores, if those in front of it only load, and those behind it only store. NULL, *apart:
 * there is none, and all loads come first. */
static const rlx_stmt *both_in(const search *s, const rlx_seq_stmt *seq, const access *in, const access *out, bool *apart)
{
    const rlx_stmt *both = NULL;
    bool stored = false, good = true, lost = false;
    for (size_t i = 0; i < seq->num_stmts && good; i++) {
        touched t = { rlx_plan_memory(&in->buffer->node), rlx_plan_memory(&out->buffer->node), false, false };
        rlx_walker w = { .enter = find_touch, .user = &t };
        rlx_walk(&s->ctx->memory, seq->stmts[i], &w, &lost);
        good = !(stored && t.loads) && !lost;
        both = t.loads && t.stores ? seq->stmts[i] : both;
        stored |= t.stores;
    }
    *apart = good && !both;
    return good ? both : NULL;
}

/* Does each iteration of the loops around read a part that is its own, and then overwrite that? */
static bool may_share_parts(const search *s, const rlx_stmt *body, const access *in, const access *out)
{
    bool apart = false;
    if (!in->buffer || !out->buffer || in->stores || !out->stores || !same_layout(in->buffer, out->buffer))
        return false;
    while (body) {
        const rlx_for_stmt *f = rlx_as_for_stmt(body);
        const rlx_seq_stmt *seq = rlx_as_seq_stmt(body);
        if (f && !rlx_is_int_value(f->extent, 1) && !rlx_touches_own_part(s->ctx, f, &in->buffer->node, &out->buffer->node))
            return false;
        body = f                                  ? f->body
               : body->kind == RLX_NODE_ALLOCATE    ? ((const rlx_allocate *)body)->body
               : body->kind == RLX_NODE_DECL_BUFFER ? ((const rlx_decl_buffer *)body)->body
               : seq                                ? both_in(s, seq, in, out, &apart)
                                                    : NULL;
    }
    return apart;
}

/* ---- the first elements --------------------------------------------------------------------- */

/* The dimension in which `out` goes on behind `in`: those in front of it are 1, those behind it equal. -1: there is none. */
static int64_t growing_axis(const rlx_buffer *in, const rlx_buffer *out)
{
    size_t axis = 0;
    if (in->num_shape != out->num_shape || in->num_strides || out->num_strides || in->dtype != out->dtype)
        return -1;
    while (axis < in->num_shape && rlx_is_int_value(in->shape[axis], 1) && rlx_is_int_value(out->shape[axis], 1))
        axis++;
    for (size_t i = axis + 1; i < in->num_shape; i++)
        if (in->shape[i] != out->shape[i])
            return -1;
    return axis < in->num_shape ? (int64_t)axis : -1;
}

/* Does the store go to elements of `out` that lie behind those of `in`? */
static bool lies_behind(const search *s, const place *p, const rlx_buffer *in, size_t axis)
{
    return p->buffer && rlx_prove_compare(s->ctx, &s->scope, RLX_NODE_GE, s->indices.data[p->first_index + axis],
                                          in->shape[axis]) == RLX_TRUE;
}

/* May `in` be the first elements of `out`, parameter o? */
static bool may_grow(const search *s, const access *in, size_t o)
{
    const access *out = &s->params[o];
    int64_t axis = in->buffer && out->buffer && !in->stores && in->first_load && !in->anywhere && in->form == in->buffer
                       ? growing_axis(in->buffer, out->buffer)
                       : -1;
    const place *copy = NULL;
    for (size_t i = 0; axis >= 0 && !copy && i < s->places.len; i++) {
        const place *p = &s->places.data[i];
        if (p->param == o && p->buffer && p->covers && p->nest == in->nest && p->inner == in->inner &&
            p->order >= in->order &&
            same_indices(s, in->first_index, p->first_index, in->buffer->num_shape))
            copy = p;
    }
    if (!copy || (out->first_load && out->first_load <= copy->nest + 1))
        return false;
    for (size_t i = 0; i < s->places.len; i++) {
        const place *p = &s->places.data[i];
        if (p != copy && p->param == o && p->nest <= copy->nest &&
            !lies_behind(s, p, in->buffer, (size_t)axis))
            return false;
    }
    return true;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static bool look_at_body(search *s, const rlx_prim_func *f)
{
    rlx_walker walker = { .enter = look, .leave = leave, .user = s, .terse = true };
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_buffer *b = i < f->num_buffers ? rlx_as_buffer(f->buffers[i]) : NULL;
        s->params[i].buffer = b;
        if (b && !rlx_ptrmap_put(&s->param_of, b->data, i + 1))
            return false;
    }
    rlx_walk(&s->ctx->memory, f->body, &walker, NULL);
    return !s->strange && !s->ctx->diags.out_of_memory;
}

static bool find_places(rlx_context *ctx, const rlx_prim_func *f, bool grows, int32_t *into)
{
    search s = { .ctx = ctx };
    size_t size = (f->num_params + 1) * sizeof *s.params;
    s.params = rlx_mem_alloc_zero(&ctx->memory, size);
    rlx_ptrmap_init(&s.param_of, &ctx->memory);
    rlx_scope_init(&s.scope, ctx, NULL);
    bool good = s.params && look_at_body(&s, f), any = false;
    for (size_t i = 0; i < f->num_params; i++) {
        into[i] = -1;
        for (size_t o = 0; good && into[i] < 0 && o < f->num_params; o++)
            if (o != i && s.params[o].stores &&
                (may_share(&s, &s.params[i], &s.params[o]) || may_share_parts(&s, f->body, &s.params[i], &s.params[o]) || (grows && may_grow(&s, &s.params[i], o))))
                into[i] = (int32_t)o;
        any |= into[i] >= 0;
    }
    rlx_mem_free(&ctx->memory, s.params, s.params ? size : 0);
    rlx_ptrmap_free(&s.param_of);
    rlx_scope_free(&s.scope);
    rlx_vec_free(&ctx->memory, &s.places);
    rlx_vec_free(&ctx->memory, &s.loops);
    rlx_vec_free(&ctx->memory, &s.from);
    rlx_vec_free(&ctx->memory, &s.to);
    rlx_vec_free(&ctx->memory, &s.indices);
    rlx_vec_free(&ctx->memory, &s.marks);
    return any;
}

bool rlx_find_same_place(rlx_context *ctx, const rlx_prim_func *f, int32_t *into)
{
    return find_places(ctx, f, false, into);
}

bool rlx_find_first_place(rlx_context *ctx, const rlx_prim_func *f, int32_t *into)
{
    return find_places(ctx, f, true, into);
}
