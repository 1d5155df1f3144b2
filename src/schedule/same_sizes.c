/*- same_sizes.c: operands of unknown sizes that broadcast, which are nearly always of the same size.
 *
 *     for i in range(T.if_then_else(n == 1, p, n)):
 *         O[i] = X[T.if_then_else(n == 1, 0, i)] + Y[T.if_then_else(p == 1, 0, i)]
 *  ->
 *     if n == p:                                     Y_1 = Y seen as n elements
 *         for i in range(n):  O[i] = X[i] + Y_1[i]
 *     else:
 *         the same as above
 *
 * Which sizes may be another one, the extents of loops say. Where they are equal an index into an extent that may be 1 is
 * the loop's own, as the loop is as long. What holds for all of the sizes is asked once, around the body.
 */
#include "schedule/schedule_int.h"

enum { MOST_SIZES = 16, MOST_DEPTH = 32 };

typedef struct same_sizes {
    rlx_context *ctx;
    struct { const rlx_prim *size, *is; } at[MOST_SIZES];   /* size == is, where the body is simple */
    size_t count;
    rlx_ptrmap length;       /* loop variable -> the size that it runs to, from 0 */
    const rlx_node *(*fold)(rlx_rewriter *r, const rlx_node *n);
    bool incomplete;         /* no memory */
} same_sizes;

static const rlx_prim *size_of(const same_sizes *s, const rlx_prim *size)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].size == size)
            return s->at[i].is;
    return size;
}

/* T.if_then_else(size == 1, one, other). */
static bool is_choice(const rlx_prim *e, const rlx_prim **size, const rlx_prim **one, const rlx_prim **other)
{
    const rlx_prim *cond;
    const rlx_binary *equal = rlx_tir_is_choice(e, &cond, one, other) ? rlx_as_binary(cond) : NULL;
    if (!equal || equal->node.kind != RLX_NODE_EQ || !rlx_is_int_value(equal->b, 1))
        return false;
    *size = equal->a;
    return true;
}

/* The one variable that an extent is if sizes that broadcast are the same; NULL: it is not of that form. */
static const rlx_prim *common_size(same_sizes *s, const rlx_prim *extent, int depth)
{
    const rlx_prim *size, *one, *other;
    if (extent->kind == RLX_NODE_PRIM_VAR)
        return size_of(s, extent);
    if (depth > MOST_DEPTH || !is_choice(extent, &size, &one, &other))
        return NULL;
    size = common_size(s, size, depth + 1);
    one = common_size(s, one, depth + 1);
    other = common_size(s, other, depth + 1);
    if (!size || !one || size != other)
        return NULL;
    if (one == size)
        return size;
    if (s->count == MOST_SIZES || rlx_prim_dtype(one) != rlx_prim_dtype(size))
        return NULL;
    for (size_t i = 0; i < s->count; i++)
        s->at[i].is = s->at[i].is == one ? size : s->at[i].is;
    s->at[s->count].size = one;
    s->at[s->count++].is = size;
    return size;
}

static enum rlx_step look_at_loop(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    same_sizes *s = user;
    const rlx_for_stmt *f = rlx_as_for_stmt(n);
    const rlx_prim *size = f ? common_size(s, f->extent, 0) : NULL;
    if (size && rlx_is_int_value(f->min, 0))
        s->incomplete |= !rlx_ptrmap_put(&s->length, f->loop_var, (uintptr_t)size);
    return RLX_STEP_ON;
}

/* A comparison, or what is made of such, where it is decided. */
static const rlx_node *fold_condition(rlx_rewriter *r, const rlx_binary *b)
{
    int64_t v;
    if (b->node.kind == RLX_NODE_EQ && b->a == b->b && b->a->kind == RLX_NODE_PRIM_VAR)
        return rlx_int(r->ctx, RELAX_BOOL, 1);
    if (b->node.kind == RLX_NODE_OR && ((rlx_int_literal(b->a, &v) && v) || (rlx_int_literal(b->b, &v) && v)))
        return rlx_int(r->ctx, RELAX_BOOL, 1);
    return &b->node;
}

/* What there is less of where sizes are the same; children are done. */
static const rlx_node *simplify(rlx_rewriter *r, const rlx_node *n)
{
    const same_sizes *s = r->user;
    const rlx_prim *size, *one, *other, *loop;
    const rlx_binary *b = rlx_as_binary(n);
    const rlx_assert_stmt *a = rlx_as_assert_stmt(n);
    int64_t holds;
    if (b && (n->kind == RLX_NODE_EQ || n->kind == RLX_NODE_OR))
        return fold_condition(r, b);
    if (a && a->body && rlx_int_literal(a->cond, &holds) && holds)
        return a->body;
    if (!is_choice(n, &size, &one, &other))
        return s->fold(r, n);
    if (one == other)
        return one;
    loop = (const rlx_prim *)rlx_ptrmap_get(&s->length, other);
    return rlx_is_int_value(one, 0) && loop && size_of(s, loop) == size ? other : n;
}

/* A parameter by its new sizes is another view of the same memory; *views: those. */
static bool rename_param(rlx_rewriter *r, const rlx_buffer *b, rlx_ptrs *views)
{
    const rlx_prim *shape[RLX_TIR_MAX_DIMS];
    bool same = true;
    for (size_t i = 0; i < b->num_shape; i++) {
        shape[i] = rlx_rewrite(r, b->shape[i]);
        if (!shape[i])
            return false;
        same &= shape[i] == b->shape[i];
    }
    const rlx_buffer *view = same ? b : rlx_view_new(r->ctx, b, shape, b->num_shape);
    return view && rlx_ptrmap_put(&r->map, b, (uintptr_t)view) &&
           (same || rlx_vec_push(&r->ctx->memory, views, (void *)view));
}

static bool can_rename(const rlx_prim_func *f)
{
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_buffer *b = f->buffers[i] ? rlx_as_buffer(f->buffers[i]) : NULL;
        if (b && (!rlx_is_compact(b) || b->num_shape > RLX_TIR_MAX_DIMS))
            return false;
    }
    return true;
}

/* The body for sizes that are the same. NULL: out of memory. */
static const rlx_stmt *simple_body(same_sizes *s, const rlx_prim_func *f, const rlx_stmt *body)
{
    rlx_rewriter r;
    rlx_ptrs views = { 0 };
    bool ok = true;
    rlx_tir_folder_init(&r, s->ctx);
    s->fold = r.after;
    r.after = simplify;
    r.user = s;
    for (size_t i = 0; i < s->count && ok; i++)
        ok = rlx_ptrmap_put(&r.map, s->at[i].size, (uintptr_t)s->at[i].is);
    for (size_t i = 0; i < f->num_params && ok; i++)
        ok = !f->buffers[i] || rename_param(&r, rlx_as_buffer(f->buffers[i]), &views);
    const rlx_stmt *out = ok ? rlx_rewrite(&r, body) : NULL;
    while (views.len)
        out = rlx_declare_view(s->ctx, rlx_vec_pop(&views), out, f->place);
    rlx_vec_free(&s->ctx->memory, &views);
    rlx_rewriter_free(&r);
    return out ? rlx_copy_fresh(s->ctx, out) : NULL;
}

/* NULL: out of memory. */
static const rlx_prim *are_same(const same_sizes *s)
{
    const rlx_prim *all = NULL;
    for (size_t i = 0; i < s->count; i++) {
        const rlx_prim *one = rlx_binary_new(s->ctx, RLX_NODE_EQ, s->at[i].is, s->at[i].size);
        all = all && one ? rlx_binary_new(s->ctx, RLX_NODE_AND, all, one) : one;
        if (!all)
            return NULL;
    }
    return all;
}

const rlx_stmt *rlx_split_same_sizes(rlx_context *ctx, const rlx_prim_func *f, const rlx_stmt *body)
{
    same_sizes s = { .ctx = ctx };
    rlx_walker w = { .enter = look_at_loop, .user = &s, .terse = true };
    const rlx_stmt *simple = NULL, *out = body;
    rlx_ptrmap_init(&s.length, &ctx->memory);
    rlx_walk(&ctx->memory, body, &w, &s.incomplete);
    if (!s.incomplete && s.count && can_rename(f)) {
        simple = simple_body(&s, f, body);
        out = simple ? rlx_sched_if(ctx, are_same(&s), simple, body, f->place) : NULL;
    }
    rlx_ptrmap_free(&s.length);
    return s.incomplete ? NULL : out;
}
