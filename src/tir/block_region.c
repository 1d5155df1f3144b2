/* block_region.c: reads and writes of a block as regions; the root block. */
#include "tir/tir_int.h"

/* ---- spans ---------------------------------------------------------------------------------- */

/* The first or last value of the loop. */
static const rlx_prim *value_at_end(rlx_context *ctx, const rlx_for_stmt *loop,
                                    const rlx_prim *steps, bool last)
{
    return last ? rlx_fold_add(ctx, loop->min, steps) : loop->min;
}

bool rlx_tir_span_over(rlx_context *ctx, rlx_tir_span *s, const rlx_for_stmt *loop)
{
    rlx_tir_affine a;
    int64_t c = 0;
    const rlx_prim *var = loop->loop_var;
    if (!rlx_tir_affine_of(ctx, s->min, &var, 1, &a) ||
        (a.coeff[0] && !rlx_int_literal(a.coeff[0], &c)))
        return false;
    if (c == 0)
        return true;
    const rlx_prim *steps =
        rlx_fold_sub(ctx, loop->extent, rlx_int(ctx, rlx_prim_dtype(loop->extent), 1));
    const rlx_prim *at = value_at_end(ctx, loop, steps, c < 0);
    rlx_rewriter r;
    rlx_tir_folder_init(&r, ctx);
    bool ok = at && rlx_ptrmap_put(&r.map, var, (uintptr_t)at);
    s->min = ok ? rlx_rewrite(&r, s->min) : NULL;
    rlx_rewriter_free(&r);
    if (s->extent == rlx_int(ctx, rlx_prim_dtype(s->extent), 1) && (c == 1 || c == -1))
        s->extent = loop->extent;
    else
        s->extent = rlx_fold_add(
            ctx, rlx_fold_mul(ctx, steps, rlx_int(ctx, rlx_prim_dtype(steps), c < 0 ? -c : c)),
            s->extent);
    return true;
}

/* ---- what a block touches ------------------------------------------------------------------- */

typedef rlx_tir_span span;
typedef struct access { const rlx_buffer *buffer; span *spans; } access;
typedef struct accesses {
    RLX_VEC(access) all;                /* in order of first occurrence */
    rlx_ptrmap index;                   /* buffer -> its number + 1 */
} accesses;

typedef struct finder {
    rlx_context *ctx;
    rlx_rewriter names;                 /* inner block variables and lets -> what they stand for */
    rlx_ptrmap loops;                   /* inner loop variable -> index + 1 in order */
    RLX_VEC(const rlx_for_stmt *) order;
    rlx_ptrmap own;                     /* buffers made inside */
    rlx_ptrmap matched;                 /* buffer -> MATCH_BUFFER_REGION that makes it */
    accesses reads, writes;
    bool failed, opaque;
} finder;

static bool fail(finder *f)
{
    f->failed = true;
    return false;
}

/* The span over all values of one inner loop. False: it cannot be said. */
static bool relax_over(finder *f, span *s, const rlx_for_stmt *loop)
{
    bool known = rlx_tir_span_over(f->ctx, s, loop);
    return s->min && s->extent ? known : fail(f);
}

static enum rlx_step find_own_load(void *user, const rlx_node *n, const rlx_field *via,
                                   const rlx_node *parent)
{
    const finder *f = user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    return l && (rlx_ptrmap_has(&f->own, l->buffer) || rlx_ptrmap_has(&f->matched, l->buffer))
               ? RLX_STEP_STOP
               : RLX_STEP_ON;
}

/* Does it hang on an inner loop, or on a buffer that is not there outside? */
static bool is_inner(finder *f, const rlx_prim *p)
{
    rlx_walker w = { .enter = find_own_load, .user = f, .unique = true };
    return rlx_tir_mentions(f->ctx, p, &f->loops) ||
           ((f->own.len || f->matched.len) &&
            rlx_walk(&f->ctx->memory, p, &w, NULL) == RLX_STEP_STOP);
}

/* The whole dimension, if the span says nothing better. */
static bool relax_span(finder *f, span *s, const rlx_prim *size)
{
    bool known = true;
    for (size_t i = f->order.len; i-- > 0 && known && !f->failed;)
        known = relax_over(f, s, f->order.data[i]);
    if (known && !is_inner(f, s->min) && !is_inner(f, s->extent))
        return !f->failed;
    *s = (span){ rlx_int(f->ctx, rlx_prim_dtype(size), 0), size };
    return s->min != NULL;
}

static bool same_span(const span *a, const span *b)
{
    return a->min == b->min && a->extent == b->extent;
}

/* A literal of that type, or of int64 where it does not fit. */
static const rlx_prim *number(rlx_context *ctx, rlx_dtype dtype, int64_t value)
{
    int64_t kept;
    const rlx_prim *wide = rlx_int64(ctx, value), *p = rlx_fold_cast(ctx, dtype, wide);
    return rlx_int_literal(p, &kept) && kept == value ? p : wide;
}

static bool is_whole(const span *s, const rlx_prim *size)
{
    return s->extent == size && rlx_is_int_value(s->min, 0);
}

/* The least span that holds both, of a dimension of that size. */
static bool unite(finder *f, span *a, const span *b, const rlx_prim *size)
{
    rlx_context *ctx = f->ctx;
    int64_t apart, na, nb, far, sum;
    if (same_span(a, b) || is_whole(a, size))
        return true;
    if (is_whole(b, size))
        return *a = *b, true;
    const rlx_prim *d = rlx_simplify(ctx, NULL, rlx_fold_sub(ctx, b->min, a->min));
    if (rlx_int_literal(d, &apart) && rlx_int_literal(a->extent, &na) &&
        rlx_int_literal(b->extent, &nb) && rlx_add_i64(apart, nb, &far) &&
        rlx_sub_i64(na > far ? na : far, apart < 0 ? apart : 0, &sum)) {
        a->min = apart < 0 ? b->min : a->min;
        a->extent = number(ctx, rlx_prim_dtype(a->extent), sum);
        return a->extent != NULL;
    }
    const rlx_prim *end_a = rlx_fold_add(ctx, a->min, a->extent),
                   *end_b = rlx_fold_add(ctx, b->min, b->extent);
    a->min = rlx_fold_binary(ctx, RLX_NODE_MIN, a->min, b->min);
    const rlx_prim *end = rlx_fold_binary(ctx, RLX_NODE_MAX, end_a, end_b);
    a->extent = a->min && end ? rlx_simplify(ctx, NULL, rlx_fold_sub(ctx, end, a->min)) : NULL;
    return a->extent != NULL;
}

static bool add_access(finder *f, accesses *list, const rlx_buffer *b, span *spans)
{
    for (size_t i = 0; i < b->num_shape; i++)
        if (!relax_span(f, &spans[i], b->shape[i]))
            return fail(f);
    uintptr_t number;
    if (!rlx_ptrmap_find(&list->index, b, &number))
        return (rlx_vec_push(&f->ctx->memory, &list->all, ((access){ b, spans })) &&
                rlx_ptrmap_put(&list->index, b, list->all.len)) ||
               fail(f);
    for (size_t d = 0; d < b->num_shape; d++)
        if (!unite(f, &list->all.data[number - 1].spans[d], &spans[d], b->shape[d]))
            return fail(f);
    return true;
}

/* A region as it is written; a region of one element per dimension when extents is NULL. */
static bool add_region(finder *f, accesses *list, const rlx_buffer_region *r)
{
    const rlx_buffer *b = rlx_as_buffer(r->buffer);
    span *spans = rlx_new(f->ctx, (b->num_shape + 1) * sizeof *spans);
    if (!spans || r->num_region != b->num_shape)
        return fail(f);
    for (size_t i = 0; i < b->num_shape; i++) {
        const rlx_range *range = rlx_as_range(r->region[i]);
        spans[i] =
            (span){ rlx_rewrite(&f->names, range->min), rlx_rewrite(&f->names, range->extent) };
        if (!spans[i].min || !spans[i].extent)
            return fail(f);
    }
    return add_access(f, list, b, spans);
}

/* A region that a buffer of the block stands for, which may be one of memory of its own. */
static bool add_source(finder *f, accesses *list, const rlx_buffer_region *r)
{
    return rlx_ptrmap_has(&f->own, r->buffer) || add_region(f, list, r);
}

/* A region of an inner block, as the block around it sees it. */
static bool add_inner(finder *f, accesses *list, const rlx_buffer_region *r)
{
    if (rlx_ptrmap_has(&f->own, r->buffer))
        return true;
    const rlx_match_buffer_region *m =
        rlx_as_match_buffer_region(rlx_ptrmap_get(&f->matched, r->buffer));
    return add_source(f, list, m ? rlx_as_buffer_region(m->source) : r);
}

/* Elements that one index reaches: one, those from the first to the last of a ramp, or some among
 * all of them. */
static span span_of(finder *f, const rlx_prim *index, const rlx_prim *size)
{
    const rlx_ramp *ramp = rlx_as_ramp(index);
    const rlx_prim *at = ramp ? ramp->base : index;
    rlx_dtype t = rlx_prim_dtype(at);
    int64_t lanes = 1, stride = 0, steps;
    bool known = !ramp || (rlx_int_literal(ramp->stride, &stride) &&
                           rlx_int_literal(ramp->lanes, &lanes) && lanes > 0);
    if (!known || rlx_dtype_lanes(t) != 1 || !rlx_mul_i64(lanes - 1, stride, &steps) ||
        steps <= -INT64_MAX || steps == INT64_MAX)
        return (span){ rlx_int(f->ctx, rlx_prim_dtype(size), 0), size };
    at = rlx_rewrite(&f->names, at);
    if (at && steps < 0)
        at = rlx_simplify(f->ctx, NULL, rlx_fold_add(f->ctx, at, rlx_int(f->ctx, t, steps)));
    return (span){ at, number(f->ctx, t, (steps < 0 ? -steps : steps) + 1) };
}

static bool add_point(finder *f, accesses *list, const rlx_node *buffer,
                      const rlx_prim *const *indices, size_t count)
{
    const rlx_buffer *b = rlx_as_buffer(buffer);
    if (rlx_ptrmap_has(&f->own, b))
        return true;
    const rlx_match_buffer_region *m = rlx_as_match_buffer_region(rlx_ptrmap_get(&f->matched, b));
    if (m)
        return add_source(f, list, rlx_as_buffer_region(m->source));
    span *spans = rlx_new(f->ctx, (count + 1) * sizeof *spans);
    if (!spans || count != b->num_shape)
        return fail(f);
    for (size_t i = 0; i < count; i++) {
        spans[i] = span_of(f, indices[i], b->shape[i]);
        if (!spans[i].min || !spans[i].extent)
            return fail(f);
    }
    return add_access(f, list, b, spans);
}

static bool name_value(finder *f, const rlx_node *var, const rlx_prim *value)
{
    /* an axis may be bound to a value of another type */
    const rlx_node *now =
        rlx_fold_cast(f->ctx, rlx_prim_dtype(var), rlx_rewrite(&f->names, value));
    return (now && rlx_ptrmap_put(&f->names.map, var, (uintptr_t)now)) || fail(f);
}

/* An inner block counts with its regions; of itself only what binds its variables is looked at. */
static bool enter_block(finder *f, const rlx_block_realize *r)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    if (!b || b->num_iter_vars != r->num_iter_values)
        return fail(f);
    for (size_t i = 0; i < b->num_iter_vars; i++)
        if (!name_value(f, ((const rlx_iter_var *)b->iter_vars[i])->var, r->iter_values[i]))
            return false;
    bool ok = true;
    for (size_t i = 0; i < b->num_reads && ok; i++)
        ok = add_inner(f, &f->reads, rlx_as_buffer_region(b->reads[i]));
    for (size_t i = 0; i < b->num_writes && ok; i++)
        ok = add_inner(f, &f->writes, rlx_as_buffer_region(b->writes[i]));
    return ok;
}

static bool enter_loop(finder *f, const rlx_for_stmt *s)
{
    return (rlx_vec_push(&f->ctx->memory, &f->order, s) &&
            rlx_ptrmap_put(&f->loops, s->loop_var, f->order.len)) ||
           fail(f);
}

static enum rlx_step visit(void *user, const rlx_node *n, const rlx_field *via,
                           const rlx_node *parent)
{
    finder *f = user;
    switch (n->kind) {
    case RLX_NODE_FOR: enter_loop(f, (const rlx_for_stmt *)n); break;
    case RLX_NODE_LET_STMT:
        name_value(f, ((const rlx_let_stmt *)n)->var, ((const rlx_let_stmt *)n)->value);
        break;
    case RLX_NODE_PRIM_LET:
        name_value(f, ((const rlx_prim_let *)n)->var, ((const rlx_prim_let *)n)->value);
        break;
    case RLX_NODE_DECL_BUFFER:
        f->failed |= !rlx_ptrmap_put(&f->own, ((const rlx_decl_buffer *)n)->buffer, 1);
        break;
    case RLX_NODE_BLOCK_REALIZE:
        enter_block(f, (const rlx_block_realize *)n);
        return f->failed ? RLX_STEP_STOP : RLX_STEP_SKIP;
    case RLX_NODE_BUFFER_LOAD: {
        const rlx_buffer_load *l = (const rlx_buffer_load *)n;
        add_point(f, &f->reads, l->buffer, l->indices, l->num_indices);
        break;
    }
    case RLX_NODE_BUFFER_STORE: {
        const rlx_buffer_store *s = (const rlx_buffer_store *)n;
        add_point(f, &f->writes, s->buffer, s->indices, s->num_indices);
        break;
    }
    case RLX_NODE_BUFFER: return RLX_STEP_SKIP;
    case RLX_NODE_PRIM_VAR:
        if (via && via->type != RLX_FIELD_DEF && ((const rlx_prim_var *)n)->scope)
            f->opaque = true;
        break;
    default: break;
    }
    return f->failed ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* A loop ends: nothing behind it depends on its variable. */
static enum rlx_step leave(void *user, const rlx_node *n)
{
    finder *f = user;
    if (n->kind == RLX_NODE_FOR)
        (void)rlx_vec_pop(&f->order);
    return RLX_STEP_ON;
}

static bool search(finder *f, const rlx_stmt *s)
{
    rlx_walker w = { .enter = visit, .leave = leave, .user = f, .terse = true };
    bool no_memory = false;
    if (s && rlx_walk(&f->ctx->memory, s, &w, &no_memory) == RLX_STEP_STOP)
        fail(f);
    if (no_memory)
        fail(f);
    return !f->failed;
}

/* ---- the completed block -------------------------------------------------------------------- */

static const rlx_node *make_region(rlx_context *ctx, const access *a)
{
    rlx_buffer_region *r = rlx_node_new(ctx, RLX_NODE_BUFFER_REGION);
    const rlx_node **ranges = rlx_new(ctx, (a->buffer->num_shape + 1) * sizeof *ranges);
    if (!r || !ranges)
        return NULL;
    for (size_t i = 0; i < a->buffer->num_shape; i++) {
        span s = a->spans[i]; /* united from indices of several types, it has them both */
        if (!rlx_match_types(ctx, &s.min, &s.extent) ||
            !(ranges[i] = rlx_range_new(ctx, s.min, s.extent)))
            return NULL;
    }
    r->buffer = &a->buffer->node;
    r->region = ranges;
    r->num_region = a->buffer->num_shape;
    return &r->node;
}

/* skip_written: a reduction reads what it writes, which is no input of the block. */
static bool make_regions(finder *f, const accesses *list, bool skip_written,
                         const rlx_node *const **out, size_t *count)
{
    const rlx_node **regions = rlx_new(f->ctx, (list->all.len + 1) * sizeof *regions);
    size_t n = 0;
    for (size_t i = 0; regions && i < list->all.len; i++) {
        const access *a = &list->all.data[i];
        if (skip_written && rlx_ptrmap_has(&f->writes.index, a->buffer))
            continue;
        if (!(regions[n++] = make_region(f->ctx, a)))
            return false;
    }
    *out = regions;
    *count = n;
    return regions != NULL;
}

static bool prepare(finder *f, const rlx_tir_block *b)
{
    for (size_t i = 0; i < b->num_alloc_buffers; i++)
        if (!rlx_ptrmap_put(&f->own, b->alloc_buffers[i], 1))
            return false;
    for (size_t i = 0; i < b->num_match_buffers; i++)
        if (!rlx_ptrmap_put(&f->matched, rlx_as_match_buffer_region(b->match_buffers[i])->buffer,
                            (uintptr_t)b->match_buffers[i]))
            return false;
    return true;
}

static const rlx_tir_block *complete(finder *f, const rlx_tir_block *b, bool reads, bool writes)
{
    if (!prepare(f, b) || !search(f, b->init) || !search(f, b->body))
        return NULL;
    if (f->opaque)
        return rlx_error(f->ctx, RLX_PA30, b->place,
                         "block \"%.*s\": what it reads and writes cannot be seen through a "
                         "pointer; state T.reads and T.writes",
                         (int)(b->name ? b->name->len : 0), b->name ? b->name->data : "");
    rlx_tir_block *result = rlx_node_new(f->ctx, RLX_NODE_TIR_BLOCK);
    if (!result)
        return NULL;
    rlx_node head = result->node;
    *result = *b;
    result->node = head;
    if (reads && !make_regions(f, &f->reads, b->init != NULL, &result->reads, &result->num_reads))
        return NULL;
    if (writes && !make_regions(f, &f->writes, false, &result->writes, &result->num_writes))
        return NULL;
    return result;
}

const rlx_tir_block *rlx_tir_complete_block(rlx_context *ctx, const rlx_tir_block *b, bool reads,
                                            bool writes)
{
    if (!b || (!reads && !writes))
        return b;
    finder f = { .ctx = ctx };
    rlx_tir_folder_init(&f.names, ctx);
    rlx_ptrmap_init(&f.loops, &ctx->memory);
    rlx_ptrmap_init(&f.own, &ctx->memory);
    rlx_ptrmap_init(&f.matched, &ctx->memory);
    rlx_ptrmap_init(&f.reads.index, &ctx->memory);
    rlx_ptrmap_init(&f.writes.index, &ctx->memory);
    const rlx_tir_block *result = complete(&f, b, reads, writes);
    rlx_rewriter_free(&f.names);
    rlx_ptrmap_free(&f.loops);
    rlx_ptrmap_free(&f.own);
    rlx_ptrmap_free(&f.matched);
    rlx_vec_free(&ctx->memory, &f.order);
    rlx_ptrmap_free(&f.reads.index);
    rlx_ptrmap_free(&f.writes.index);
    rlx_vec_free(&ctx->memory, &f.reads.all);
    rlx_vec_free(&ctx->memory, &f.writes.all);
    return result;
}

/* ---- root block ----------------------------------------------------------------------------- */

static enum rlx_step find_realize(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    if (n->kind == RLX_NODE_BLOCK_REALIZE)
        return RLX_STEP_STOP;
    return rlx_family_of(n) == RLX_FAMILY_STMT ? RLX_STEP_ON : RLX_STEP_SKIP;
}

static bool needs_root(rlx_context *ctx, const rlx_stmt *body)
{
    const rlx_block_realize *r = rlx_as_block_realize(body);
    if (r)
        return r->num_iter_values > 0;
    rlx_walker w = { .enter = find_realize };
    return rlx_walk(&ctx->memory, body, &w, NULL) == RLX_STEP_STOP;
}

const rlx_stmt *rlx_tir_add_root(rlx_context *ctx, const rlx_stmt *body,
                                 const rlx_buffer *const *allocs, size_t num_allocs,
                                 rlx_place place)
{
    if (!body || (!num_allocs && !needs_root(ctx, body)))
        return body;
    rlx_tir_block *b = rlx_node_new(ctx, RLX_NODE_TIR_BLOCK);
    rlx_block_realize *r = rlx_node_new(ctx, RLX_NODE_BLOCK_REALIZE);
    bool ok = b && r;
    if (!ok)
        return NULL;
    b->place = place;
    b->name = rlx_string_z(ctx, "root");
    b->alloc_buffers = rlx_nodes_copy(ctx, (const rlx_node *const *)allocs, num_allocs, &ok);
    b->num_alloc_buffers = num_allocs;
    b->body = body;
    r->place = place;
    r->predicate = rlx_int(ctx, RELAX_BOOL, 1);
    r->block = &b->node;
    return ok && b->name && r->predicate ? &r->node : NULL;
}
