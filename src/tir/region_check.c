/*- region_check: accesses that surely lie outside of what their block states (WX12), or of their buffer (WX15).
 *
 *     with T.block("copy"):
 *         vi = T.axis.spatial(4, i)
 *         T.reads(A[vi, 0:4])
 *         T.writes(B[vi])
 *         B[vi] = A[vi, 4]            A[vi, 4] is not among A[vi, 0:4]
 *
 * Said where it is certain only: for all values of the block's axes, of a buffer of the function
 * or of a block, whose memory has one name. What no condition guards is outside if its first or
 * its last element is; what one guards, if all of it is. A block may read what it writes. Inner
 * blocks count with what they state, which may be more than they touch. Of buffers it is said of the
 * whole function, in which the axes of blocks are what their loops give them. */
#include "tir/tir_int.h"

#define MAX_REGIONS 64 /* of one block that an access is compared with */

typedef struct watch {
    rlx_context *ctx;
    rlx_scope sizes;                    /* of the function */
    rlx_ptrmap known;                   /* data pointer -> its one buffer; 0: there are several */
    const rlx_tir_block *block;
    rlx_scope axes;                     /* of the block */
    rlx_rewriter names;                 /* lets, inner blocks' variables -> what they stand for */
    RLX_VEC(const rlx_for_stmt *) loops;
    rlx_ptrmap inner;                   /* variables of these */
    rlx_ptrmap own, said;               /* buffers made inside; buffers warned of */
    size_t conditions;                  /* around the access */
    rlx_place place;
    bool whole;                         /* the function is looked through, not a block */
} watch;

typedef struct access {
    const rlx_buffer *buffer;
    bool written, sure;
    const rlx_buffer_region *stated[MAX_REGIONS];
    size_t num_stated;
} access;

/* ---- what is compared ----------------------------------------------------------------------- */

static void put_in_map(watch *w, rlx_ptrmap *map, const rlx_node *n, uintptr_t value)
{
    if (n)
        (void)rlx_ptrmap_put(map, n, value);
}

static void know(watch *w, const rlx_node *buffer)
{
    const rlx_buffer *b = rlx_as_buffer(buffer);
    if (b)
        put_in_map(w, &w->known, b->data, rlx_ptrmap_has(&w->known, b->data) ? 0 : (uintptr_t)b);
}

static bool is_known(const watch *w, const rlx_buffer *b)
{
    return b && rlx_ptrmap_get(&w->known, b->data) == b;
}

/* Collects the regions of the buffer. False: there may be more of them than can be told. */
static bool collect(const watch *w, access *a, const rlx_node *const *regions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const rlx_buffer_region *r = rlx_as_buffer_region(regions[i]);
        const rlx_buffer *b = rlx_as_buffer(r->buffer);
        if (!is_known(w, b) || (b == a->buffer && r->num_region != b->num_shape))
            return false;
        if (b == a->buffer)
            a->stated[a->num_stated++] = r;
    }
    return true;
}

static bool find_stated(const watch *w, access *a)
{
    const rlx_tir_block *b = w->block;
    return b->num_reads + b->num_writes <= MAX_REGIONS &&
           collect(w, a, b->writes, b->num_writes) &&
           (a->written || collect(w, a, b->reads, b->num_reads));
}

static enum rlx_step find_unknown(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    return n->kind == RLX_NODE_BUFFER_LOAD || n->kind == RLX_NODE_PRIM_CALL ||
                   n->kind == RLX_NODE_SELECT
               ? RLX_STEP_STOP
               : RLX_STEP_ON;
}

/* A signed integer that no memory and no inner loop decides. */
static bool is_plain(watch *w, const rlx_prim *p)
{
    rlx_walker walker = { .enter = find_unknown, .unique = true };
    rlx_dtype dtype = rlx_prim_dtype(p);
    return rlx_dtype_code(dtype) == RELAX_DTYPE_INT && rlx_dtype_lanes(dtype) == 1 &&
           !rlx_tir_mentions(w->ctx, p, &w->inner) &&
           rlx_walk(&w->ctx->memory, p, &walker, NULL) != RLX_STEP_STOP;
}

/* The span over all inner loops; false: it is not known. */
static bool widen(watch *w, rlx_tir_span *s)
{
    bool known = s->min && s->extent;
    for (size_t i = w->loops.len; i-- > 0 && known;)
        known = rlx_tir_span_over(w->ctx, s, w->loops.data[i]) && s->min && s->extent;
    return known && is_plain(w, s->min) && is_plain(w, s->extent);
}

/* Elements of an index: one, or the lanes of a vector. */
static rlx_tir_span span_of(watch *w, const rlx_prim *index)
{
    const rlx_ramp *ramp = rlx_as_ramp(index);
    int64_t lanes = 1, stride = 1;
    if (ramp && (!rlx_int_literal(ramp->lanes, &lanes) ||
                 !rlx_int_literal(ramp->stride, &stride) || lanes < 1 || stride < 1 ||
                 rlx_dtype_code(rlx_prim_dtype(ramp->base)) != RELAX_DTYPE_INT))
        return (rlx_tir_span){ NULL, NULL };
    const rlx_prim *at = ramp ? ramp->base : index;
    if (rlx_dtype_lanes(rlx_prim_dtype(at)) != 1)
        return (rlx_tir_span){ NULL, NULL };
    return (rlx_tir_span){ rlx_rewrite(&w->names, at),
                           rlx_int(w->ctx, rlx_prim_dtype(at), (lanes - 1) * stride + 1) };
}

/* ---- comparing ------------------------------------------------------------------------------ */

static bool before(watch *w, const rlx_prim *a, const rlx_prim *b)
{
    return a && b && rlx_prove_compare(w->ctx, &w->axes, RLX_NODE_LT, a, b) == RLX_TRUE;
}

/* Is [first, first + count) surely outside of what region r states in dimension d? */
static bool apart(watch *w, const rlx_buffer_region *r, size_t d, const rlx_prim *first,
                  const rlx_prim *count)
{
    const rlx_range *range = rlx_as_range(r->region[d]);
    const rlx_prim *one = rlx_int(w->ctx, rlx_prim_dtype(first), 1);
    const rlx_prim *last = rlx_fold_sub(w->ctx, rlx_fold_add(w->ctx, first, count), one);
    return before(w, last, range->min) ||
           before(w, rlx_fold_sub(w->ctx, rlx_fold_add(w->ctx, range->min, range->extent), one),
                  first);
}

static bool apart_in_all(watch *w, const access *a, size_t d, const rlx_prim *at)
{
    const rlx_prim *one = at ? rlx_int(w->ctx, rlx_prim_dtype(at), 1) : NULL;
    for (size_t i = 0; i < a->num_stated; i++)
        if (!one || !apart(w, a->stated[i], d, at, one))
            return false;
    return true;
}

/* The first or the last element of a span that is surely touched. */
static bool end_outside(watch *w, const access *a, size_t d, const rlx_tir_span *s)
{
    const rlx_prim *one = rlx_int(w->ctx, rlx_prim_dtype(s->min), 1);
    const rlx_prim *end = rlx_fold_add(w->ctx, s->min, s->extent);
    return apart_in_all(w, a, d, s->min) || apart_in_all(w, a, d, rlx_fold_sub(w->ctx, end, one));
}

/* The dimension that shows it, else -1. spans[d].min is NULL where nothing is known. */
static int find_outside(watch *w, const access *a, const rlx_tir_span *spans)
{
    const size_t count = a->buffer->num_shape;
    int at = -1;
    for (size_t d = 0; d < count && a->sure; d++)
        if (spans[d].min && end_outside(w, a, d, &spans[d]))
            return (int)d;
    for (size_t i = 0; i < a->num_stated; i++) {
        size_t d = 0;
        while (d < count && !(spans[d].min && apart(w, a->stated[i], d, spans[d].min,
                                                    spans[d].extent)))
            d++;
        if (d == count)
            return -1;
        at = (int)d;
    }
    return at;
}

/* ---- one access ----------------------------------------------------------------------------- */

static void warn_missing(watch *w, const access *a)
{
    const char *verb = a->written ? "writes" : "reads";
    rlx_error(w->ctx, RLX_WX12, w->place,
              "block \"%s\" %s %s, which its T.%s does not name; name it there, or leave T.%s "
              "out",
              w->block->name ? w->block->name->data : "", verb,
              rlx_show(w->ctx, &a->buffer->node), verb, verb);
}

static void warn_outside(watch *w, const access *a, int dimension, const rlx_tir_span *s)
{
    const char *verb = a->written ? "writes" : "reads";
    const rlx_prim *end = rlx_fold_add(w->ctx, s->min, s->extent);
    const rlx_prim *one = rlx_int(w->ctx, rlx_prim_dtype(s->min), 1);
    const rlx_prim *last = rlx_simplify(w->ctx, NULL, rlx_fold_sub(w->ctx, end, one));
    const bool range = last && s->extent != one;
    rlx_error(w->ctx, RLX_WX12, w->place,
              "block \"%s\" %s %s at %s%s%s in dimension %d, %s its T.%s; widen it, or leave it "
              "out",
              w->block->name ? w->block->name->data : "", verb,
              rlx_show(w->ctx, &a->buffer->node), rlx_show(w->ctx, s->min), range ? " to " : "",
              range ? rlx_show(w->ctx, last) : "", dimension,
              range ? "not all within" : "not within", verb);
}

/* ---- sizes of buffers ----------------------------------------------------------------------- */

static const rlx_prim *last_of(watch *w, const rlx_tir_span *s)
{
    const rlx_prim *end = rlx_fold_add(w->ctx, s->min, s->extent);
    return rlx_fold_sub(w->ctx, end, rlx_int(w->ctx, rlx_prim_dtype(s->min), 1));
}

/* Does the span surely leave 0 .. size? All of it, or, of an access that no condition guards, an end. */
static bool leaves(watch *w, const rlx_tir_span *s, const rlx_prim *size, bool sure)
{
    const rlx_prim *zero = rlx_int(w->ctx, rlx_prim_dtype(s->min), 0), *last = last_of(w, s);
    const rlx_prim *most = rlx_fold_cast(w->ctx, rlx_prim_dtype(s->min), size);
    most = most && zero ? rlx_fold_sub(w->ctx, most, rlx_int(w->ctx, rlx_prim_dtype(s->min), 1)) : NULL;
    return before(w, sure ? s->min : last, zero) || before(w, most, sure ? last : s->min);
}

static void warn_beyond(watch *w, const access *a, size_t d, const rlx_tir_span *s)
{
    const rlx_prim *last = rlx_simplify(w->ctx, NULL, last_of(w, s));
    const bool range = last && last != s->min;
    rlx_error(w->ctx, RLX_WX15, w->place, "%s %s at %s%s%s in dimension %zu, whose size is %s",
              rlx_show(w->ctx, &a->buffer->node), a->written ? "is written" : "is read",
              rlx_show(w->ctx, s->min), range ? " to " : "", range ? rlx_show(w->ctx, last) : "", d,
              rlx_show(w->ctx, a->buffer->shape[d]));
    put_in_map(w, &w->said, &a->buffer->node, 1);
}

static void compare_sizes(watch *w, const access *a, rlx_tir_span *spans)
{
    for (size_t d = 0; d < a->buffer->num_shape; d++)
        if (widen(w, &spans[d]) && leaves(w, &spans[d], a->buffer->shape[d], a->sure)) {
            warn_beyond(w, a, d, &spans[d]);
            return;
        }
}

/* Is it about a buffer that can be told from others, and not said yet? */
static bool is_wanted(const watch *w, const rlx_buffer *b, size_t dims)
{
    return (w->whole || is_known(w, b)) && b->num_shape == dims && dims <= RLX_TIR_MAX_DIMS &&
           !rlx_ptrmap_has(&w->own, b) && !rlx_ptrmap_has(&w->said, b);
}

static void compare(watch *w, access *a, rlx_tir_span *spans)
{
    int found = -1;
    if (!find_stated(w, a))
        return;
    for (size_t d = 0; d < a->buffer->num_shape; d++)
        if (!widen(w, &spans[d]))
            spans[d] = (rlx_tir_span){ NULL, NULL };
    if (!a->num_stated)
        warn_missing(w, a);
    else if ((found = find_outside(w, a, spans)) >= 0)
        warn_outside(w, a, found, &spans[found]);
    if (!a->num_stated || found >= 0)
        put_in_map(w, &w->said, &a->buffer->node, 1);
}

static void check_point(watch *w, const rlx_node *buffer, const rlx_prim *const *indices,
                        size_t count, const rlx_prim *predicate, bool written)
{
    rlx_tir_span spans[RLX_TIR_MAX_DIMS];
    access a = { .buffer = rlx_as_buffer(buffer),
                 .written = written,
                 .sure = !w->conditions && !predicate };
    if (!is_wanted(w, a.buffer, count))
        return;
    for (size_t d = 0; d < count; d++)
        spans[d] = span_of(w, indices[d]);
    if (w->whole)
        compare_sizes(w, &a, spans);
    else
        compare(w, &a, spans);
}

static bool is_empty(const rlx_prim *extent)
{
    int64_t n;
    return extent && rlx_int_literal(extent, &n) && n < 1;
}

static void check_region(watch *w, const rlx_node *region, bool written)
{
    const rlx_buffer_region *r = rlx_as_buffer_region(region);
    rlx_tir_span spans[RLX_TIR_MAX_DIMS];
    access a = { .buffer = rlx_as_buffer(r->buffer), .written = written };
    if (!is_wanted(w, a.buffer, r->num_region))
        return;
    for (size_t d = 0; d < r->num_region; d++) {
        const rlx_range *range = rlx_as_range(r->region[d]);
        spans[d] = (rlx_tir_span){ rlx_rewrite(&w->names, range->min),
                                   rlx_rewrite(&w->names, range->extent) };
        if (is_empty(spans[d].extent))
            return;
    }
    compare(w, &a, spans);
}

/* ---- one block ------------------------------------------------------------------------------ */

static void name_value(watch *w, const rlx_node *var, const rlx_prim *value)
{
    const rlx_node *now =
        rlx_fold_cast(w->ctx, rlx_prim_dtype(var), rlx_rewrite(&w->names, value));
    if (now)
        put_in_map(w, &w->names.map, var, (uintptr_t)now);
}

static const rlx_tir_block *name_axes(watch *w, const rlx_block_realize *r)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    if (!b || b->num_iter_vars != r->num_iter_values)
        return NULL;
    if (b->place)
        w->place = b->place;
    for (size_t i = 0; i < b->num_iter_vars; i++)
        name_value(w, ((const rlx_iter_var *)b->iter_vars[i])->var, r->iter_values[i]);
    return b;
}

static void enter_inner(watch *w, const rlx_block_realize *r)
{
    const rlx_tir_block *b = name_axes(w, r);
    if (!b)
        return;
    for (size_t i = 0; i < b->num_alloc_buffers; i++)
        put_in_map(w, &w->own, b->alloc_buffers[i], 1);
    for (size_t i = 0; i < b->num_reads && !w->ctx->diags.out_of_memory; i++)
        check_region(w, b->reads[i], false);
    for (size_t i = 0; i < b->num_writes && !w->ctx->diags.out_of_memory; i++)
        check_region(w, b->writes[i], true);
}

static enum rlx_step enter_loop(watch *w, const rlx_for_stmt *s)
{
    if (is_empty(s->extent))
        return RLX_STEP_SKIP;
    put_in_map(w, &w->inner, s->loop_var, 1);
    return rlx_vec_push(&w->ctx->memory, &w->loops, s) ? RLX_STEP_ON : RLX_STEP_STOP;
}

/* Nodes whose content may not be evaluated, whatever the loops around them do. */
static bool is_condition(const watch *w, const rlx_node *n)
{
    const rlx_prim_call *call = rlx_as_prim_call(n);
    const rlx_block_realize *r = w->whole ? rlx_as_block_realize(n) : NULL;
    return (r && !rlx_is_int_value(r->predicate, 1)) || n->kind == RLX_NODE_IF_THEN_ELSE || n->kind == RLX_NODE_WHILE ||
           n->kind == RLX_NODE_ASSERT_STMT || n->kind == RLX_NODE_AND || n->kind == RLX_NODE_OR ||
           (call && call->op && rlx_slice_is(rlx_string_slice(call->op), "if_then_else"));
}

static enum rlx_step check_access(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    watch *w = user;
    if (rlx_family_of(n) == RLX_FAMILY_STMT && rlx_place_of(n))
        w->place = rlx_place_of(n);
    w->conditions += is_condition(w, n);
    switch (n->kind) {
    case RLX_NODE_FOR: return enter_loop(w, (const rlx_for_stmt *)n);
    case RLX_NODE_LET_STMT:
        name_value(w, ((const rlx_let_stmt *)n)->var, ((const rlx_let_stmt *)n)->value);
        break;
    case RLX_NODE_PRIM_LET:
        name_value(w, ((const rlx_prim_let *)n)->var, ((const rlx_prim_let *)n)->value);
        break;
    case RLX_NODE_BLOCK_REALIZE:
        if (w->whole) {
            (void)name_axes(w, (const rlx_block_realize *)n);
            break;
        }
        enter_inner(w, (const rlx_block_realize *)n);
        return RLX_STEP_SKIP;
    case RLX_NODE_BUFFER_REGION: case RLX_NODE_MATCH_BUFFER_REGION: return RLX_STEP_SKIP;
    case RLX_NODE_BUFFER_LOAD: {
        const rlx_buffer_load *l = (const rlx_buffer_load *)n;
        check_point(w, l->buffer, l->indices, l->num_indices, l->predicate, false);
        break;
    }
    case RLX_NODE_BUFFER_STORE: {
        const rlx_buffer_store *s = (const rlx_buffer_store *)n;
        check_point(w, s->buffer, s->indices, s->num_indices, s->predicate, true);
        break;
    }
    case RLX_NODE_BUFFER: return RLX_STEP_SKIP;
    default: break;
    }
    return w->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    watch *w = user;
    w->conditions -= is_condition(w, n);
    if (n->kind == RLX_NODE_FOR)
        (void)rlx_vec_pop(&w->loops);
    return RLX_STEP_ON;
}

static void look_through(watch *w, const rlx_stmt *s)
{
    rlx_walker walker = { .enter = check_access, .leave = leave, .user = w, .unique = true };
    w->conditions = 0;
    w->loops.len = 0;
    w->place = w->block ? w->block->place : RLX_NO_PLACE;
    if (s && !w->ctx->diags.out_of_memory)
        rlx_walk(&w->ctx->memory, s, &walker, NULL);
}

static void know_axis(watch *w, const rlx_iter_var *axis)
{
    const rlx_range *dom = axis->dom ? rlx_as_range(axis->dom) : NULL;
    int64_t min, extent;
    if (!dom || !rlx_int_literal(dom->min, &min))
        return;
    bool ends = rlx_int_literal(dom->extent, &extent) && extent > 0 && min <= INT64_MAX - extent;
    (void)rlx_scope_bound(&w->axes, (const rlx_prim_var *)axis->var, min,
                          ends ? min + extent - 1 : INT64_MAX);
}

static void begin(watch *w, const rlx_tir_block *b)
{
    w->block = b;
    w->whole = !b;
    rlx_scope_init(&w->axes, w->ctx, &w->sizes);
    rlx_tir_folder_init(&w->names, w->ctx);
    rlx_ptrmap_clear(&w->inner);
    rlx_ptrmap_clear(&w->own);
    rlx_ptrmap_clear(&w->said);
}

static void end(watch *w)
{
    rlx_rewriter_free(&w->names);
    rlx_scope_free(&w->axes);
}

static void check_block(watch *w, const rlx_tir_block *b)
{
    begin(w, b);
    for (size_t i = 0; i < b->num_iter_vars; i++)
        know_axis(w, rlx_as_iter_var(b->iter_vars[i]));
    for (size_t i = 0; i < b->num_alloc_buffers; i++)
        put_in_map(w, &w->own, b->alloc_buffers[i], 1);
    look_through(w, b->init);
    look_through(w, b->body);
    end(w);
}

/* ---- the blocks of a function --------------------------------------------------------------- */

typedef struct search {
    watch *watch;
    RLX_VEC(const rlx_tir_block *) blocks;
} search;

static enum rlx_step find_block(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    search *s = user;
    if (rlx_family_of(n) != RLX_FAMILY_STMT)
        return RLX_STEP_SKIP;
    const rlx_tir_block *b = n->kind == RLX_NODE_TIR_BLOCK ? (const rlx_tir_block *)n : NULL;
    for (size_t i = 0; b && i < b->num_alloc_buffers; i++)
        know(s->watch, b->alloc_buffers[i]);
    if (b)
        (void)rlx_vec_push(&s->watch->ctx->memory, &s->blocks, b);
    return s->watch->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* The block around a whole function states nothing. */
static bool is_root(const rlx_prim_func *f, const rlx_tir_block *b)
{
    const rlx_block_realize *r = rlx_as_block_realize(f->body);
    return r && r->block == &b->node && !b->num_reads && !b->num_writes && !b->num_iter_vars;
}

static void know_sizes(watch *w, const rlx_buffer *b)
{
    for (size_t i = 0; i < b->num_shape; i++)
        if (b->shape[i]->kind == RLX_NODE_PRIM_VAR)
            (void)rlx_scope_add(&w->sizes, (const rlx_prim_var *)b->shape[i], true);
}

static void check_function(watch *w, search *s, const rlx_prim_func *f)
{
    rlx_walker walker = { .enter = find_block, .user = s };
    for (size_t i = 0; i < f->num_params; i++)
        if (f->buffers[i]) {
            know(w, f->buffers[i]);
            know_sizes(w, rlx_as_buffer(f->buffers[i]));
        }
    rlx_walk(&w->ctx->memory, f->body, &walker, NULL);
    for (size_t i = 0; i < s->blocks.len && !w->ctx->diags.out_of_memory; i++)
        if (!is_root(f, s->blocks.data[i]))
            check_block(w, s->blocks.data[i]);
    begin(w, NULL);
    look_through(w, f->body);
    end(w);
}

bool rlx_tir_report_regions(rlx_context *ctx, const rlx_prim_func *f)
{
    watch w = { .ctx = ctx };
    search s = { .watch = &w };
    rlx_scope_init(&w.sizes, ctx, NULL);
    rlx_ptrmap_init(&w.known, &ctx->memory);
    rlx_ptrmap_init(&w.inner, &ctx->memory);
    rlx_ptrmap_init(&w.own, &ctx->memory);
    rlx_ptrmap_init(&w.said, &ctx->memory);
    check_function(&w, &s, f);
    rlx_scope_free(&w.sizes);
    rlx_ptrmap_free(&w.known);
    rlx_ptrmap_free(&w.inner);
    rlx_ptrmap_free(&w.own);
    rlx_ptrmap_free(&w.said);
    rlx_vec_free(&ctx->memory, &w.loops);
    rlx_vec_free(&ctx->memory, &s.blocks);
    return !ctx->diags.out_of_memory;
}
