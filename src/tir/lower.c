/*- lower: blocks to plain loops.
 *
 *     for i, k in T.grid(n, m):                      for i in range(n):
 *         with T.block("sum"):                           B[i] = 0
 *             vi, vk = T.axis.remap("SR", [i, k])    for i in range(n):
 *             with T.init():                   ->        for k in range(m):
 *                 B[vi] = 0                                  B[i] = B[i] + A[i, k]
 *             B[vi] = B[vi] + A[vi, vk]
 *
 * The init gets a nest of its own where each spatial point is met through its own loop values
 * and the block touches what it initialises at that point only; then it also runs when a
 * reduction loop is empty. Otherwise it stays inside, behind `if k == 0`. */
#include "tir/tir_int.h"

#define MAX_NEST 256 /* statements inside each other: bounds the recursion below */

#define MAX_LOOPS (RLX_TIR_MAX_DIMS * 2)

typedef struct lowering {
    rlx_context *ctx;
    rlx_rewriter names;       /* block variables, match buffers' parts -> what they stand for */
    rlx_ptrmap matched;       /* buffer -> MATCH_BUFFER_REGION that makes it */
    /* declared buffer with strides or an offset -> the flat one that stands for it */
    rlx_ptrmap flat;
    rlx_lanes lanes;
    int depth;
} lowering;

static const rlx_stmt *lower(lowering *l, const rlx_stmt *s);

static void *unsupported(lowering *l, rlx_place place, const char *what)
{
    return rlx_error(l->ctx, RLX_CG07, place, "%s is not supported in kernels", what);
}

/* ---- match buffers: an access of one is an access of its source ----------------------------- */

static bool source_indices(lowering *l, const rlx_match_buffer_region *m,
                           const rlx_prim *const *indices, size_t count, const rlx_prim **out)
{
    const rlx_buffer_region *source = rlx_as_buffer_region(m->source);
    size_t lead = source->num_region - count;
    if (source->num_region < count || source->num_region > RLX_TIR_MAX_DIMS)
        return false;
    for (size_t i = 0; i < source->num_region; i++) {
        const rlx_prim *min = rlx_rewrite(&l->names, rlx_as_range(source->region[i])->min);
        if (i < lead && !rlx_is_int_value(rlx_as_range(source->region[i])->extent, 1))
            return false;
        out[i] = i < lead ? min : rlx_fold_add(l->ctx, min, indices[i - lead]);
        if (!out[i])
            return false;
    }
    return true;
}

/* ---- strides and offsets: an access of a flat view of the same memory ----------------------- */

static const rlx_prim *folded(lowering *l, enum rlx_node_kind kind, const rlx_prim *a,
                              const rlx_prim *b)
{
    rlx_context *ctx = l->ctx;
    return a && b ? rlx_fold_binary(ctx, kind, rlx_fold_cast(ctx, RELAX_INT64, a),
                                    rlx_fold_cast(ctx, RELAX_INT64, b))
                  : NULL;
}

static bool is_compact(lowering *l, const rlx_buffer *b)
{
    const rlx_prim *stride = rlx_int64(l->ctx, 1);
    bool compact = !b->elem_offset || b->elem_offset->kind == RLX_NODE_PRIM_VAR ||
                   rlx_is_int_value(b->elem_offset, 0);
    for (size_t i = b->num_strides; compact && i-- > 0;
         stride = folded(l, RLX_NODE_MUL, stride, b->shape[i]))
        compact = b->strides[i]->kind == RLX_NODE_PRIM_VAR ||
                  rlx_fold_cast(l->ctx, RELAX_INT64, b->strides[i]) == stride;
    return compact;
}

/* Position of an element: the offset, then a stride for each index; at NULL: of the last
 * element. */
static const rlx_prim *strided_position(lowering *l, const rlx_buffer *b,
                                        const rlx_prim *const *at)
{
    const rlx_prim *p =
        b->elem_offset ? rlx_fold_cast(l->ctx, RELAX_INT64, b->elem_offset) : rlx_int64(l->ctx, 0);
    const rlx_prim *compact = rlx_int64(l->ctx, 1), *one = compact;
    int64_t step;
    for (size_t i = b->num_shape; i-- > 0;
         compact = folded(l, RLX_NODE_MUL, compact, b->shape[i])) {
        const rlx_prim *stride = b->num_strides ? b->strides[i] : compact,
                       *k = at ? at[i] : folded(l, RLX_NODE_SUB, b->shape[i], one);
        if (!at && rlx_int_literal(stride, &step) && step < 0)
            continue;
        p = folded(l, RLX_NODE_ADD, p, folded(l, RLX_NODE_MUL, k, stride));
    }
    return p;
}

/* The flat view of a declared buffer; false: out of memory. */
static bool flatten_view(lowering *l, const rlx_buffer *b)
{
    const rlx_prim *last = strided_position(l, b, NULL),
                   *size = folded(l, RLX_NODE_ADD, last, rlx_int64(l->ctx, 1));
    rlx_buffer *flat = size ? rlx_node_new(l->ctx, RLX_NODE_BUFFER) : NULL;
    const rlx_prim **shape = flat ? rlx_new_copy(l->ctx, &size, sizeof *shape) : NULL;
    if (!shape)
        return false;
    rlx_node head = flat->node;
    *flat = *b;
    flat->node = head;
    flat->shape = shape;
    flat->num_shape = 1;
    flat->num_strides = 0;
    flat->elem_offset = rlx_int64(l->ctx, 0);
    return flat->elem_offset && rlx_ptrmap_put(&l->flat, b, (uintptr_t)flat);
}

static const rlx_buffer *flat_of(const lowering *l, const rlx_node *buffer)
{
    return l->flat.len ? rlx_as_buffer(rlx_ptrmap_get(&l->flat, buffer)) : NULL;
}

static const rlx_match_buffer_region *match_of(lowering *l, const rlx_node *buffer)
{
    return rlx_as_match_buffer_region(rlx_ptrmap_get(&l->matched, buffer));
}

static const rlx_node *resolve(rlx_rewriter *r, const rlx_node *n);

/* An element that is not loaded is 0. */
static const rlx_prim *guarded_load(lowering *l, const rlx_buffer_load *load)
{
    const rlx_prim *x =
        rlx_load(l->ctx, rlx_as_buffer(load->buffer), load->indices, load->num_indices);
    x = x ? resolve(&l->names, x) : NULL;
    return rlx_tir_guarded(l->ctx, load->predicate, x);
}

/* A number is true unless it is 0. */
static const rlx_prim *truth(rlx_context *ctx, const rlx_prim *p)
{
    rlx_dtype t = rlx_prim_dtype(p);
    if (rlx_dtype_lanes(t) != 1)
        return p;
    if (rlx_dtype_is_int(t))
        return rlx_binary_new(ctx, RLX_NODE_NE, p, rlx_int(ctx, t, 0));
    return rlx_dtype_is_float(t) ? rlx_binary_new(ctx, RLX_NODE_NE, p, rlx_float(ctx, t, 0)) : p;
}

/* and, or, and what chooses, with conditions that are bool. */
static const rlx_node *decide(rlx_rewriter *r, const rlx_node *n)
{
    rlx_context *ctx = r->ctx;
    const rlx_binary *b = rlx_as_binary(n);
    const rlx_select *s = rlx_as_select(n);
    const rlx_prim_call *c = rlx_as_prim_call(n);
    if (b && (n->kind == RLX_NODE_AND || n->kind == RLX_NODE_OR))
        return rlx_binary_new(ctx, (enum rlx_node_kind)n->kind, truth(ctx, b->a),
                              truth(ctx, b->b));
    if (s)
        return rlx_select_new(ctx, truth(ctx, s->cond), s->true_value, s->false_value);
    if (!c || !c->op || c->num_args != 3 ||
        !rlx_slice_is(rlx_string_slice(c->op), "if_then_else"))
        return rlx_tir_refold(r, n);
    const rlx_prim *args[3] = { truth(ctx, c->args[0]), c->args[1], c->args[2] };
    return rlx_prim_call_z(ctx, c->dtype, "if_then_else", args, 3);
}

static const rlx_node *resolve(rlx_rewriter *r, const rlx_node *n)
{
    lowering *l = r->user;
    const rlx_buffer_load *load = rlx_as_buffer_load(n);
    const rlx_match_buffer_region *m = load ? match_of(l, load->buffer) : NULL;
    if (load && load->predicate)
        return guarded_load(l, load);
    if (load && flat_of(l, load->buffer)) {
        const rlx_prim *position = strided_position(l, rlx_as_buffer(load->buffer), load->indices);
        return position ? rlx_load(l->ctx, flat_of(l, load->buffer), &position, 1) : NULL;
    }
    if (!m)
        return decide(r, n);
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    const rlx_buffer_region *source = rlx_as_buffer_region(m->source);
    if (!source_indices(l, m, load->indices, load->num_indices, at))
        return unsupported(l, RLX_NO_PLACE, "this match_buffer");
    const rlx_node *result =
        rlx_load(l->ctx, rlx_as_buffer(source->buffer), at, source->num_region);
    return result && (match_of(l, source->buffer) || flat_of(l, source->buffer))
               ? resolve(r, result)
               : result;
}

static const rlx_prim *expr(lowering *l, const rlx_prim *p)
{
    return p ? rlx_rewrite(&l->names, p) : NULL;
}

static const rlx_prim *condition(lowering *l, const rlx_prim *p)
{
    const rlx_prim *now = expr(l, p);
    return now ? truth(l->ctx, now) : NULL;
}

static const rlx_stmt *lower_store(lowering *l, const rlx_buffer_store *s)
{
    if (rlx_lanes_in_store(s)) {
        const rlx_stmt *scalars = rlx_lanes_store(&l->lanes, s);
        return scalars ? lower(l, scalars) : NULL;
    }
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *value = expr(l, s->value);
    const rlx_node *buffer = s->buffer;
    size_t count = s->num_indices;
    if (!value || count > RLX_TIR_MAX_DIMS)
        return value ? unsupported(l, s->place, "a buffer of that many dimensions") : NULL;
    for (size_t i = 0; i < count; i++)
        if (!(at[i] = expr(l, s->indices[i])))
            return NULL;
    for (const rlx_match_buffer_region *m; (m = match_of(l, buffer));) {
        const rlx_prim *outer[RLX_TIR_MAX_DIMS];
        if (!source_indices(l, m, at, count, outer))
            return unsupported(l, s->place, "this match_buffer");
        buffer = rlx_as_buffer_region(m->source)->buffer;
        count = rlx_as_buffer_region(m->source)->num_region;
        memcpy(at, outer, sizeof at);
    }
    if (flat_of(l, buffer)) {
        at[0] = strided_position(l, rlx_as_buffer(buffer), at);
        buffer = &flat_of(l, buffer)->node;
        count = 1;
    }
    return rlx_store(l->ctx, rlx_as_buffer(buffer), value, at, count, s->place);
}

/* ---- small statements ----------------------------------------------------------------------- */

static const rlx_stmt *make_if(rlx_context *ctx, const rlx_prim *cond, const rlx_stmt *then_case,
                               const rlx_stmt *else_case, rlx_place place)
{
    rlx_if_stmt *s = cond && then_case ? rlx_node_new(ctx, RLX_NODE_IF_THEN_ELSE) : NULL;
    if (!s)
        return NULL;
    s->place = place;
    s->cond = cond;
    s->then_case = then_case;
    s->else_case = else_case;
    return &s->node;
}

const rlx_stmt *rlx_tir_with_temporary(rlx_context *ctx, const rlx_buffer *b, const rlx_stmt *body,
                                       rlx_place place)
{
    rlx_allocate *a = rlx_node_new(ctx, RLX_NODE_ALLOCATE);
    rlx_decl_buffer *d = rlx_node_new(ctx, RLX_NODE_DECL_BUFFER);
    if (!a || !d || !body)
        return NULL;
    d->place = a->place = place;
    d->buffer = &b->node;
    d->body = body;
    a->dtype = b->dtype;
    a->extents = b->shape;
    a->num_extents = b->num_shape;
    a->condition = rlx_int(ctx, RELAX_BOOL, 1);
    a->var = b->data;
    a->body = &d->node;
    return a->condition ? &a->node : NULL;
}

static const rlx_prim *both(rlx_context *ctx, const rlx_prim *a, const rlx_prim *b)
{
    return !a ? b : rlx_binary_new(ctx, RLX_NODE_AND, a, b);
}

/* A copy of a statement node with another body (and nothing else changed); `body` is the field. */
static const rlx_stmt *with_body(rlx_context *ctx, const rlx_stmt *s, const rlx_stmt *old_body,
                                 const rlx_stmt *body)
{
    const rlx_node *children[16];
    size_t n = rlx_child_count(s);
    if (!body || n > RLX_COUNT(children))
        return NULL;
    for (size_t i = 0; i < n; i++)
        children[i] = rlx_child(s, i) == old_body ? body : rlx_child(s, i);
    return rlx_with_children(ctx, s, children);
}

/* ---- blocks --------------------------------------------------------------------------------- */

static bool bind_axes(lowering *l, const rlx_block_realize *r, const rlx_tir_block *b)
{
    if (b->num_iter_vars != r->num_iter_values)
        return false;
    for (size_t i = 0; i < b->num_iter_vars; i++) {
        const rlx_iter_var *iter = (const rlx_iter_var *)b->iter_vars[i];
        const rlx_prim *v = expr(l, r->iter_values[i]);
        if (v && rlx_prim_dtype(v) != rlx_prim_dtype(iter->var))
            v = rlx_fold_cast(l->ctx, rlx_prim_dtype(iter->var), v);
        if (!v || !rlx_ptrmap_put(&l->names.map, iter->var, (uintptr_t)v))
            return false;
    }
    for (size_t i = 0; i < b->num_match_buffers; i++)
        if (!rlx_ptrmap_put(&l->matched, rlx_as_match_buffer_region(b->match_buffers[i])->buffer,
                            (uintptr_t)b->match_buffers[i]))
            return false;
    return true;
}

/* Are all reduction variables at their beginning? */
static const rlx_prim *first_step(lowering *l, const rlx_tir_block *b)
{
    const rlx_prim *cond = NULL;
    for (size_t i = 0; i < b->num_iter_vars; i++) {
        const rlx_iter_var *iter = (const rlx_iter_var *)b->iter_vars[i];
        if (iter->iter_type != RLX_ITER_REDUCE)
            continue;
        const rlx_prim *min = expr(l, rlx_as_range(iter->dom)->min);
        const rlx_prim *at =
            min ? rlx_binary_new(l->ctx, RLX_NODE_EQ, expr(l, iter->var), min) : NULL;
        if (!at || !(cond = both(l->ctx, cond, at)))
            return NULL;
    }
    return cond ? cond : rlx_int(l->ctx, RELAX_BOOL, 1);
}

enum init_place { INIT_INSIDE, INIT_SPLIT };

static const rlx_stmt *lower_realize(lowering *l, const rlx_block_realize *r,
                                     enum init_place init_place)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    if (!b || !bind_axes(l, r, b))
        return b ? NULL : unsupported(l, r->place, "a BlockRealize without a block");
    const rlx_stmt *body = lower(l, b->body);
    if (body && b->init && init_place == INIT_INSIDE) {
        const rlx_stmt *parts[2] = {
            make_if(l->ctx, first_step(l, b), lower(l, b->init), NULL, b->place), body
        };
        body = parts[0] ? rlx_seq_stmt_new(l->ctx, parts, 2, b->place) : NULL;
    }
    for (size_t i = b->num_alloc_buffers; body && i > 0; i--)
        body =
            rlx_tir_with_temporary(l->ctx, rlx_as_buffer(b->alloc_buffers[i - 1]), body, b->place);
    if (body && !rlx_is_int_value(r->predicate, 1))
        body = make_if(l->ctx, condition(l, r->predicate), body, NULL, r->place);
    return body;
}

/* ---- the init in a nest of its own ---------------------------------------------------------- */

typedef struct nest {
    const rlx_for_stmt *loops[MAX_LOOPS];
    bool reduces[MAX_LOOPS];
    size_t count;
    const rlx_block_realize *realize;
    const rlx_tir_block *block;
} nest;

RLX_NOINLINE static bool find_nest(const rlx_stmt *s, nest *n)
{
    n->count = 0;
    for (; s && s->kind == RLX_NODE_FOR && n->count < MAX_LOOPS;
         s = ((const rlx_for_stmt *)s)->body)
        n->loops[n->count++] = (const rlx_for_stmt *)s;
    n->realize = rlx_as_block_realize(s);
    n->block = n->realize ? rlx_as_tir_block(n->realize->block) : NULL;
    return n->block && n->block->init && n->block->num_iter_vars == n->realize->num_iter_values;
}

/* Does each spatial point have loop values of its own? Which loops do not take part in it, is
 * noted. Every spatial value is a loop variable, or loops combined like digits: i0 * 4 + i1
 * with i1 < 4. */
static bool digits_are_distinct(const nest *n, const rlx_tir_affine *a, bool *used)
{
    int64_t below = 1; /* values the smaller digits can take */
    for (size_t round = 0; round < n->count; round++) {
        int64_t best = INT64_MAX, c;
        size_t at = n->count;
        for (size_t i = 0; i < n->count; i++)
            if (a->coeff[i] && !used[i] && rlx_int_literal(a->coeff[i], &c) && c > 0 && c < best)
                best = c, at = i;
        if (at == n->count)
            break;
        if (best < below)
            return false;
        used[at] = true;
        int64_t extent;
        if (!rlx_int_literal(n->loops[at]->extent, &extent))
            below = INT64_MAX; /* only the largest digit may have an unknown number of values */
        else if (!rlx_mul_i64(best, extent, &below))
            below = INT64_MAX;
    }
    for (size_t i = 0; i < n->count; i++)
        if (a->coeff[i] && !used[i])
            return false;
    return true;
}

static bool points_are_distinct(rlx_context *ctx, nest *n)
{
    const rlx_prim *vars[MAX_LOOPS];
    bool used[MAX_LOOPS] = { false };
    if (n->count > MAX_LOOPS)
        return false;
    for (size_t i = 0; i < n->count; i++)
        vars[i] = n->loops[i]->loop_var;
    for (size_t i = 0; i < n->block->num_iter_vars; i++) {
        const rlx_iter_var *iter = (const rlx_iter_var *)n->block->iter_vars[i];
        rlx_tir_affine a;
        bool before[MAX_LOOPS];
        if (iter->iter_type == RLX_ITER_REDUCE)
            continue;
        if (iter->iter_type != RLX_ITER_SPATIAL ||
            !rlx_tir_affine_of(ctx, n->realize->iter_values[i], vars, n->count, &a))
            return false;
        memcpy(before, used, sizeof used);
        for (size_t k = 0; k < n->count; k++)
            if (a.coeff[k] && before[k])
                return false;
        if (!digits_are_distinct(n, &a, used))
            return false;
    }
    for (size_t i = 0; i < n->count; i++)
        n->reduces[i] = !used[i];
    return true;
}

/* Loops that take no part in a spatial value must bind reduction variables, else a point is met
 * more than once. */
static bool rest_reduces(rlx_context *ctx, const nest *n)
{
    rlx_ptrmap in_spatial, reducing;
    rlx_ptrmap_init(&in_spatial, &ctx->memory);
    rlx_ptrmap_init(&reducing, &ctx->memory);
    bool ok = true;
    for (size_t i = 0; i < n->count && ok; i++) {
        rlx_ptrmap one;
        rlx_ptrmap_init(&one, &ctx->memory);
        bool bound = false;
        ok = rlx_ptrmap_put(&one, n->loops[i]->loop_var, 1) &&
             (!n->reduces[i] || rlx_ptrmap_put(&reducing, n->loops[i]->loop_var, 1));
        for (size_t k = 0; k < n->block->num_iter_vars && n->reduces[i]; k++)
            bound |= rlx_tir_mentions(ctx, n->realize->iter_values[k], &one);
        ok = ok && (bound || !n->reduces[i]);
        rlx_ptrmap_free(&one);
    }
    ok = ok && !rlx_tir_mentions(ctx, n->realize->predicate, &reducing);
    for (size_t i = 0; i < n->count && ok;
         i++) /* bounds of spatial loops do not depend on reduction loops */
        ok = n->reduces[i] || (!rlx_tir_mentions(ctx, n->loops[i]->min, &reducing) &&
                               !rlx_tir_mentions(ctx, n->loops[i]->extent, &reducing));
    rlx_ptrmap_free(&in_spatial);
    rlx_ptrmap_free(&reducing);
    return ok;
}

/* Accesses of initialised buffers: all at the point that init writes. */
/* buffer -> the store of init */
typedef struct init_check { rlx_ptrmap points; bool in_init, bad; } init_check;

static bool same_indices(const rlx_buffer_store *s, const rlx_prim *const *indices, size_t count)
{
    bool same = s->num_indices == count;
    for (size_t i = 0; i < count && same; i++)
        same = s->indices[i] == indices[i];
    return same;
}

static enum rlx_step check_access(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    init_check *c = user;
    const rlx_buffer_load *load = rlx_as_buffer_load(n);
    const rlx_buffer_store *store = rlx_as_buffer_store(n);
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    /* a pointer may reach anything; inner blocks and match buffers use names of their own */
    if (n->kind == RLX_NODE_BLOCK_REALIZE ||
        (n->kind == RLX_NODE_PRIM_VAR && ((const rlx_prim_var *)n)->dtype == RELAX_HANDLE))
        c->bad = true;
    if (load || store) {
        const rlx_buffer_store *point =
            rlx_as_buffer_store(rlx_ptrmap_get(&c->points, load ? load->buffer : store->buffer));
        if (point && load)
            c->bad |= c->in_init || !same_indices(point, load->indices, load->num_indices);
        else if (point && !c->in_init)
            c->bad |= !same_indices(point, store->indices, store->num_indices);
    }
    return c->bad ? RLX_STEP_STOP : RLX_STEP_ON;
}

static enum rlx_step note_store(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    init_check *c = user;
    const rlx_buffer_store *store = rlx_as_buffer_store(n);
    if (!store)
        return RLX_STEP_ON;
    if (rlx_ptrmap_has(&c->points, store->buffer) ||
        !rlx_ptrmap_put(&c->points, store->buffer, (uintptr_t)store))
        c->bad = true; /* two points, or no memory: stay careful */
    return RLX_STEP_SKIP;
}

static bool walk_all(rlx_context *ctx, const rlx_stmt *s, init_check *c,
                     enum rlx_step (*enter)(void *, const rlx_node *, const rlx_field *,
                                            const rlx_node *))
{
    rlx_walker w = { .enter = enter, .user = c, .terse = true };
    bool no_memory = false;
    rlx_walk(&ctx->memory, s, &w, &no_memory);
    return !c->bad && !no_memory;
}

/* Elements that init itself reads must not be written by the body either. */
static bool reads_stay(rlx_context *ctx, const nest *n)
{
    init_check c = { 0 };
    rlx_ptrmap_init(&c.points, &ctx->memory);
    bool ok = walk_all(ctx, n->block->init, &c, note_store);
    c.in_init = true;
    ok = ok && walk_all(ctx, n->block->init, &c, check_access);
    c.in_init = false;
    ok = ok && walk_all(ctx, n->block->body, &c, check_access);
    rlx_ptrmap_free(&c.points);
    return ok;
}

static enum rlx_step find_load(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    return n->kind == RLX_NODE_BUFFER_LOAD ? RLX_STEP_STOP
           : n->kind == RLX_NODE_BUFFER    ? RLX_STEP_SKIP
                                           : RLX_STEP_ON;
}

static bool init_loads_nothing(rlx_context *ctx, const nest *n)
{
    rlx_walker w = { .enter = find_load, .terse = true };
    return rlx_walk(&ctx->memory, n->block->init, &w, NULL) != RLX_STEP_STOP;
}

/* Not inlined: what they need of the stack would be needed once per nested loop. */
RLX_NOINLINE static bool init_can_split(rlx_context *ctx, nest *n)
{
    return n->block->num_alloc_buffers == 0 && n->block->num_match_buffers == 0 &&
           init_loads_nothing(ctx, n) && points_are_distinct(ctx, n) && rest_reduces(ctx, n) &&
           reads_stay(ctx, n);
}

static const rlx_for_stmt *copy_loop(lowering *l, const rlx_for_stmt *s, const rlx_stmt *body)
{
    rlx_for_stmt *f = body ? rlx_node_new(l->ctx, RLX_NODE_FOR) : NULL;
    if (!f)
        return NULL;
    rlx_node head = f->node;
    *f = *s;
    f->node = head;
    f->min = expr(l, s->min);
    f->extent = expr(l, s->extent);
    f->body = body;
    if (s->for_kind == RLX_FOR_THREAD_BINDING)
        f->for_kind = RLX_FOR_SERIAL; /* threads one after another */
    return f->min && f->extent ? f : NULL;
}

/* A nest over the spatial loops with variables of its own. */
static const rlx_stmt *init_nest(lowering *l, const nest *n)
{
    const rlx_stmt *s = lower(l, n->block->init);
    if (s && !rlx_is_int_value(n->realize->predicate, 1))
        s = make_if(l->ctx, condition(l, n->realize->predicate), s, NULL, n->block->place);
    for (size_t i = n->count; s && i > 0; i--)
        if (!n->reduces[i - 1]) {
            const rlx_for_stmt *f = copy_loop(l, n->loops[i - 1], s);
            s = f ? &f->node : NULL;
        }
    return s ? rlx_copy_fresh(l->ctx, s) : NULL;
}

static const rlx_stmt *lower_split(lowering *l, const nest *n)
{
    if (!bind_axes(l, n->realize, n->block))
        return NULL;
    const rlx_stmt *parts[2] = { init_nest(l, n), lower_realize(l, n->realize, INIT_SPLIT) };
    for (size_t i = n->count; parts[1] && i > 0; i--) {
        const rlx_for_stmt *f = copy_loop(l, n->loops[i - 1], parts[1]);
        parts[1] = f ? &f->node : NULL;
    }
    return parts[0] && parts[1] ? rlx_seq_stmt_new(l->ctx, parts, 2, n->block->place) : NULL;
}

/* ---- statements ----------------------------------------------------------------------------- */

static const rlx_stmt *lower_for(lowering *l, const rlx_for_stmt *s)
{
    nest n;
    if (find_nest(&s->node, &n) && init_can_split(l->ctx, &n))
        return lower_split(l, &n);
    const rlx_for_stmt *f = copy_loop(l, s, lower(l, s->body));
    return f ? &f->node : NULL;
}

static const rlx_stmt *lower_seq(lowering *l, const rlx_seq_stmt *s)
{
    const rlx_stmt **parts = rlx_new(l->ctx, (s->num_stmts + 1) * sizeof *parts);
    if (!parts)
        return NULL;
    for (size_t i = 0; i < s->num_stmts; i++)
        if (!(parts[i] = lower(l, s->stmts[i])))
            return NULL;
    return rlx_tir_sequence(l->ctx, parts, s->num_stmts, s->place);
}

static const rlx_stmt *lower_while(lowering *l, const rlx_while_stmt *s)
{
    rlx_while_stmt *w = rlx_node_new(l->ctx, RLX_NODE_WHILE);
    if (!w)
        return NULL;
    w->place = s->place;
    w->cond = condition(l, s->cond);
    w->body = lower(l, s->body);
    return w->cond && w->body ? &w->node : NULL;
}

static const rlx_stmt *lower_if(lowering *l, const rlx_if_stmt *s)
{
    const rlx_stmt *then_case = lower(l, s->then_case),
                   *else_case = s->else_case ? lower(l, s->else_case) : NULL;
    if (s->else_case && !else_case)
        return NULL;
    return make_if(l->ctx, condition(l, s->cond), then_case, else_case, s->place);
}

static const rlx_stmt *lower_evaluate(lowering *l, const rlx_evaluate *s)
{
    if (rlx_is_vector(s->value)) {
        const rlx_stmt *scalars = rlx_lanes_evaluate(&l->lanes, s);
        return scalars ? lower(l, scalars) : NULL;
    }
    rlx_evaluate *e = rlx_node_new(l->ctx, RLX_NODE_EVALUATE);
    if (!e)
        return NULL;
    e->place = s->place;
    e->value = expr(l, s->value);
    return e->value ? &e->node : NULL;
}

/* One that is no cover. */
static const rlx_stmt *lower_one(lowering *l, const rlx_stmt *s)
{
    switch (s->kind) {
    case RLX_NODE_SEQ_STMT: return lower_seq(l, (const rlx_seq_stmt *)s);
    case RLX_NODE_EVALUATE: return lower_evaluate(l, (const rlx_evaluate *)s);
    case RLX_NODE_BUFFER_STORE: return lower_store(l, (const rlx_buffer_store *)s);
    case RLX_NODE_FOR: return lower_for(l, (const rlx_for_stmt *)s);
    case RLX_NODE_WHILE: return lower_while(l, (const rlx_while_stmt *)s);
    case RLX_NODE_IF_THEN_ELSE: return lower_if(l, (const rlx_if_stmt *)s);
    case RLX_NODE_BLOCK_REALIZE:
        return lower_realize(l, (const rlx_block_realize *)s, INIT_INSIDE);
    default: return unsupported(l, rlx_place_of(s), rlx_kinds[s->kind].name);
    }
}

/* Statements that cover the rest: taken in a loop, as there may be very many in a row. */
static const rlx_stmt *covered_by(const rlx_stmt *s)
{
    switch (s->kind) {
    case RLX_NODE_LET_STMT: return ((const rlx_let_stmt *)s)->body;
    case RLX_NODE_ASSERT_STMT: return ((const rlx_assert_stmt *)s)->body;
    case RLX_NODE_ATTR_STMT: return ((const rlx_attr_stmt *)s)->body;
    case RLX_NODE_ALLOCATE: return ((const rlx_allocate *)s)->body;
    case RLX_NODE_ALLOCATE_CONST: return ((const rlx_allocate_const *)s)->body;
    case RLX_NODE_DECL_BUFFER: return ((const rlx_decl_buffer *)s)->body;
    default: return NULL;
    }
}

/* A named vector: what fills its temporary, then the rest. */
static const rlx_stmt *recover_vector(lowering *l, const rlx_let_stmt *s, const rlx_stmt *body)
{
    const rlx_buffer *b = rlx_as_buffer(rlx_ptrmap_get(&l->lanes.names, s->var));
    const rlx_stmt *filled = b ? rlx_lanes_fill(&l->lanes, s, b) : NULL;
    const rlx_stmt *parts[2] = { filled ? lower(l, filled) : NULL, body };
    return parts[0] ? rlx_tir_with_temporary(
                          l->ctx, b, rlx_seq_stmt_new(l->ctx, parts, 2, s->place), s->place)
                    : NULL;
}

/* Threads of a launch run one after another. */
static const rlx_stmt *recover_threads(lowering *l, const rlx_attr_stmt *s, const rlx_stmt *body)
{
    const rlx_prim_var *v = rlx_as_prim_var(((const rlx_iter_var *)s->target)->var);
    const rlx_prim *extent = expr(l, s->value), *zero = v ? rlx_int(l->ctx, v->dtype, 0) : NULL;
    extent = extent && v ? rlx_fold_cast(l->ctx, v->dtype, extent) : NULL;
    return extent && zero ? rlx_for(l->ctx, v, zero, extent, RLX_FOR_SERIAL, body, s->place)
                          : NULL;
}

static bool launches_threads(const rlx_stmt *s)
{
    const rlx_attr_stmt *a = s->kind == RLX_NODE_ATTR_STMT ? (const rlx_attr_stmt *)s : NULL;
    rlx_slice key = a ? rlx_string_slice(a->key) : (rlx_slice){ 0 };
    return a && a->target && a->target->kind == RLX_NODE_ITER_VAR &&
           (rlx_slice_is(key, "thread_extent") || rlx_slice_is(key, "virtual_thread"));
}

static bool names_vector(const rlx_stmt *s)
{
    return s->kind == RLX_NODE_LET_STMT &&
           rlx_dtype_lanes(rlx_prim_dtype(((const rlx_let_stmt *)s)->var)) > 1;
}

/* Notes of a cover what the statements inside need. False: out of memory. */
static bool enter_cover(lowering *l, const rlx_stmt *s)
{
    const rlx_decl_buffer *d = s->kind == RLX_NODE_DECL_BUFFER ? (const rlx_decl_buffer *)s : NULL;
    if (names_vector(s))
        return rlx_lanes_name(&l->lanes, (const rlx_let_stmt *)s) != NULL;
    return !d || is_compact(l, rlx_as_buffer(d->buffer)) ||
           flatten_view(l, rlx_as_buffer(d->buffer));
}

static const rlx_stmt *recover_view(lowering *l, const rlx_decl_buffer *s, const rlx_stmt *body)
{
    rlx_decl_buffer *d = rlx_node_new(l->ctx, RLX_NODE_DECL_BUFFER);
    if (!d)
        return NULL;
    *d = (rlx_decl_buffer){
        .node = d->node, .place = s->place, .buffer = &flat_of(l, s->buffer)->node, .body = body
    };
    return &d->node;
}

static const rlx_stmt *recover(lowering *l, const rlx_stmt *s, const rlx_stmt *body)
{
    if (!body)
        return NULL;
    if (names_vector(s))
        return recover_vector(l, (const rlx_let_stmt *)s, body);
    if (s->kind == RLX_NODE_DECL_BUFFER && flat_of(l, ((const rlx_decl_buffer *)s)->buffer))
        return recover_view(l, (const rlx_decl_buffer *)s, body);
    if (launches_threads(s))
        return recover_threads(l, (const rlx_attr_stmt *)s, body);
    if (s->kind == RLX_NODE_LET_STMT) {
        rlx_let_stmt *c = rlx_node_new(l->ctx, RLX_NODE_LET_STMT);
        if (!c)
            return NULL;
        *c = (rlx_let_stmt){ c->node, rlx_place_of(s), expr(l, ((const rlx_let_stmt *)s)->value),
                             ((const rlx_let_stmt *)s)->var, body };
        return c->value ? &c->node : NULL;
    }
    if (s->kind == RLX_NODE_ASSERT_STMT) {
        const rlx_assert_stmt *a = (const rlx_assert_stmt *)s;
        rlx_assert_stmt *c = rlx_node_new(l->ctx, RLX_NODE_ASSERT_STMT);
        if (!c)
            return NULL;
        *c = (rlx_assert_stmt){ c->node, a->place, condition(l, a->cond), a->message,
                                a->assertion, body };
        return c->cond ? &c->node : NULL;
    }
    return with_body(l->ctx, s, covered_by(s), body);
}

static const rlx_stmt *lower(lowering *l, const rlx_stmt *s)
{
    rlx_ptrs covers = { 0 };
    rlx_memory *m = &l->ctx->memory;
    const rlx_stmt *result = NULL;
    if (l->depth >= MAX_NEST)
        return rlx_error(l->ctx, RLX_CG08, rlx_place_of(s),
                         "more than %d statements inside each other", MAX_NEST);
    l->depth++;
    for (const rlx_stmt *body; (body = covered_by(s)); s = body)
        if (!rlx_vec_push(m, &covers, (void *)s) || !enter_cover(l, s)) {
            goto done;
        }
    result = lower_one(l, s);
    while (result && covers.len)
        result = recover(l, rlx_vec_pop(&covers), result);
done:
    rlx_vec_free(m, &covers);
    l->depth--;
    return result;
}

/* Buffers of one pointer, and those inside of others. */
static bool may_alias(void *user, const rlx_node *a, const rlx_node *b)
{
    lowering *l = user;
    return a == b || rlx_as_buffer(a)->data == rlx_as_buffer(b)->data || match_of(l, a) ||
           match_of(l, b);
}

const rlx_prim_func *rlx_tir_lower_blocks(rlx_context *ctx, const rlx_prim_func *f)
{
    lowering l = { .ctx = ctx };
    f = rlx_tir_partial_sums(ctx, f, true);
    if (!f)
        return NULL;
    rlx_tir_folder_init(&l.names, ctx);
    l.names.after = resolve;
    l.names.user = &l;
    rlx_ptrmap_init(&l.matched, &ctx->memory);
    l.lanes = (rlx_lanes){ .ctx = ctx, .may_alias = may_alias, .user = &l };
    rlx_ptrmap_init(&l.lanes.names, &ctx->memory);
    rlx_ptrmap_init(&l.flat, &ctx->memory);
    const rlx_stmt *body = lower(&l, f->body);
    rlx_rewriter_free(&l.names);
    rlx_ptrmap_free(&l.matched);
    rlx_ptrmap_free(&l.lanes.names);
    rlx_ptrmap_free(&l.flat);
    return rlx_prim_func_with_body(ctx, f, body);
}
