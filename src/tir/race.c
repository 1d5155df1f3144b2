/*- race: loops whose iterations may run at the same time, yet surely write one element (WX11).
 *
 *     for i in T.parallel(8):
 *         B[0] = B[0] + A[i]          every iteration stores to B[0]
 *
 * Said where it is certain only: at least two iterations, a store that no condition guards,
 * indices that hang neither on the loop nor on what is read from memory, a buffer that is not
 * made inside the loop. */
#include "tir/tir_int.h"

typedef struct inside {
    rlx_context *ctx;
    /* variables that differ between iterations; data pointers made inside */
    rlx_ptrmap moving, own;
    const rlx_buffer_store *found;
} inside;

static enum rlx_step find_load(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    return n->kind == RLX_NODE_BUFFER_LOAD || n->kind == RLX_NODE_PRIM_CALL ? RLX_STEP_STOP
                                                                            : RLX_STEP_ON;
}

static bool may_move(inside *s, const rlx_prim *p)
{
    rlx_walker w = { .enter = find_load, .unique = true };
    return rlx_tir_mentions(s->ctx, p, &s->moving) ||
           rlx_walk(&s->ctx->memory, p, &w, NULL) == RLX_STEP_STOP;
}

static void put_in_map(inside *s, rlx_ptrmap *map, const rlx_node *n)
{
    if (n)
        (void)rlx_ptrmap_put(map, n, 1);
}

static enum rlx_step enter_realize(inside *s, const rlx_block_realize *r)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    if (!b || !rlx_is_int_value(r->predicate, 1))
        return RLX_STEP_SKIP;
    for (size_t i = 0; i < b->num_iter_vars && i < r->num_iter_values; i++)
        if (may_move(s, r->iter_values[i]))
            put_in_map(s, &s->moving, ((const rlx_iter_var *)b->iter_vars[i])->var);
    for (size_t i = 0; i < b->num_alloc_buffers; i++)
        put_in_map(s, &s->own, rlx_as_buffer(b->alloc_buffers[i])->data);
    return b->num_match_buffers ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static enum rlx_step enter_store(inside *s, const rlx_buffer_store *store)
{
    bool same = !store->predicate && !rlx_ptrmap_has(&s->own, rlx_as_buffer(store->buffer)->data);
    for (size_t i = 0; same && i < store->num_indices; i++)
        same = !may_move(s, store->indices[i]);
    s->found = same ? store : NULL;
    return same ? RLX_STEP_STOP : RLX_STEP_SKIP;
}

static enum rlx_step find_race(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    inside *s = user;
    const rlx_let_stmt *let = n->kind == RLX_NODE_LET_STMT ? (const rlx_let_stmt *)n : NULL;
    const rlx_for_stmt *loop = n->kind == RLX_NODE_FOR ? (const rlx_for_stmt *)n : NULL;
    if (rlx_family_of(n) == RLX_FAMILY_PRIM || n->kind == RLX_NODE_IF_THEN_ELSE ||
        n->kind == RLX_NODE_WHILE || s->ctx->diags.out_of_memory)
        return RLX_STEP_SKIP;
    if (let && may_move(s, let->value))
        put_in_map(s, &s->moving, let->var);
    if (loop && (may_move(s, loop->min) || may_move(s, loop->extent)))
        put_in_map(s, &s->moving, loop->loop_var);
    if (loop && !rlx_tir_positive(loop->extent))
        return RLX_STEP_SKIP;
    if (n->kind == RLX_NODE_ALLOCATE)
        put_in_map(s, &s->own, ((const rlx_allocate *)n)->var);
    if (n->kind == RLX_NODE_BLOCK_REALIZE)
        return enter_realize(s, (const rlx_block_realize *)n);
    return n->kind == RLX_NODE_BUFFER_STORE ? enter_store(s, (const rlx_buffer_store *)n)
                                            : RLX_STEP_ON;
}

static void look_inside(rlx_context *ctx, const rlx_for_stmt *loop)
{
    inside s = { .ctx = ctx };
    rlx_walker w = { .enter = find_race, .user = &s };
    rlx_ptrmap_init(&s.moving, &ctx->memory);
    rlx_ptrmap_init(&s.own, &ctx->memory);
    put_in_map(&s, &s.moving, loop->loop_var);
    rlx_walk(&ctx->memory, loop->body, &w, NULL);
    if (s.found && !ctx->diags.out_of_memory) {
        rlx_error(ctx, RLX_WX11, s.found->place ? s.found->place : loop->place,
                  "all iterations of the %s loop over %s write this element of %s",
                  loop->for_kind == RLX_FOR_PARALLEL ? "parallel" : "vectorized",
                  rlx_show(ctx, loop->loop_var), rlx_show(ctx, s.found->buffer));
    }
    rlx_ptrmap_free(&s.moving);
    rlx_ptrmap_free(&s.own);
}

#define MAX_LOOPS 64 /* looked into in one function: they may stand inside each other */
typedef struct search { rlx_context *ctx; size_t loops; } search;

static enum rlx_step find_loop(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    search *s = user;
    const rlx_for_stmt *loop = n->kind == RLX_NODE_FOR ? (const rlx_for_stmt *)n : NULL;
    int64_t extent;
    if (rlx_family_of(n) == RLX_FAMILY_PRIM)
        return RLX_STEP_SKIP;
    bool at_once =
        loop && (loop->for_kind == RLX_FOR_PARALLEL || loop->for_kind == RLX_FOR_VECTORIZED);
    if (at_once && rlx_int_literal(loop->extent, &extent) && extent > 1 && s->loops++ < MAX_LOOPS)
        look_inside(s->ctx, loop);
    return s->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

bool rlx_tir_report_races(rlx_context *ctx, const rlx_prim_func *f)
{
    search s = { .ctx = ctx };
    rlx_walker w = { .enter = find_loop, .user = &s };
    rlx_walk(&ctx->memory, f->body, &w, NULL);
    return !ctx->diags.out_of_memory;
}
