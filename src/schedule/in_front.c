/*- in_front.c: panels that are filled once, in front of a loop whose iterations all read the same ones.
 *
 *     for t in range(n // 32):                           for p, k, l:  P[p, k, l] = K[p * 32 + l, k]
 *         for i < 32, j, k:                       ->     for t in range(n // 32):
 *             S[i, j] += Q[t * 32 + i, k] * K[j, k]          for i < 32, j, k:
 *                                                                S[i, j] += Q[t * 32 + i, k] * P[j // 32, k, j % 32]
 *
 * The loop runs at least once and the sum each time, so nothing is read that was not read before; or what is read is surely there.
 */
#include "schedule/accesses.h"

#include "schedule/plan_int.h"

/* Variables that the loop and what is in it bind, and buffers that are declared inside. */
static enum rlx_step note_bound(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    rlx_in_front *f = user;
    const rlx_node *bound = NULL;
    switch (n->kind) {
    case RLX_NODE_FOR: bound = ((const rlx_for_stmt *)n)->loop_var; break;
    case RLX_NODE_LET_STMT: bound = ((const rlx_let_stmt *)n)->var; break;
    case RLX_NODE_PRIM_LET: bound = ((const rlx_prim_let *)n)->var; break;
    case RLX_NODE_ALLOCATE: bound = ((const rlx_allocate *)n)->var; break;
    case RLX_NODE_DECL_BUFFER: bound = ((const rlx_decl_buffer *)n)->buffer; break;
    default: break;
    }
    return bound && !rlx_ptrmap_put(&f->bound, bound, 1) ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool read_loop(rlx_context *ctx, rlx_in_front *f)
{
    rlx_walker w = { .enter = note_bound, .user = f, .terse = true };
    if (f->is_read)
        return true;
    f->is_read = true;
    rlx_walk(&ctx->memory, &f->loop->node, &w, NULL);
    return rlx_note_statement(ctx, &f->order, &f->loop->node, 1);
}

void rlx_in_front_init(rlx_context *ctx, rlx_in_front *f, rlx_in_front *outer, const rlx_for_stmt *loop, size_t first_producer)
{
    *f = (rlx_in_front){ .outer = outer, .loop = loop, .first_producer = first_producer };
    rlx_ptrmap_init(&f->bound, &ctx->memory);
    rlx_ptrmap_init(&f->order.last_load, &ctx->memory);
    rlx_ptrmap_init(&f->order.last_store, &ctx->memory);
}

void rlx_in_front_free(rlx_context *ctx, rlx_in_front *f)
{
    rlx_ptrmap_free(&f->bound);
    rlx_ptrmap_free(&f->order.last_load);
    rlx_ptrmap_free(&f->order.last_store);
    rlx_vec_free(&ctx->memory, &f->panels);
    rlx_vec_free(&ctx->memory, &f->fills);
}

static bool is_same_each_time(rlx_context *ctx, rlx_in_front *f, const rlx_plan_access *a, const rlx_prim *count, bool fits)
{
    int64_t times = 2;
    return (rlx_int_literal(f->loop->extent, &times) || fits) && times > 1 && read_loop(ctx, f) && !ctx->diags.out_of_memory && a->affine &&
           !rlx_plan_hangs_on(ctx, a->offset.base, &f->bound) && !rlx_plan_hangs_on(ctx, count, &f->bound) &&
           !rlx_ptrmap_has(&f->bound, a->buffer) && rlx_may_pass(&f->order, rlx_plan_memory(a->buffer), false, 0);
}

rlx_in_front *rlx_loop_to_pass(rlx_context *ctx, rlx_in_front *innermost, const rlx_plan_access *a, const rlx_prim *count, bool fits)
{
    rlx_in_front *found = NULL;
    for (rlx_in_front *f = innermost; f && is_same_each_time(ctx, f, a, count, fits); f = f->outer)
        found = f;
    return found;
}

bool rlx_put_in_front(rlx_context *ctx, rlx_in_front *f, const rlx_buffer *panel, const rlx_stmt *fill)
{
    return fill && rlx_vec_push(&ctx->memory, &f->panels, (void *)panel) && rlx_vec_push(&ctx->memory, &f->fills, (void *)fill);
}

const rlx_stmt *rlx_with_all_in_front(rlx_context *ctx, const rlx_in_front *f, const rlx_stmt *loop)
{
    for (size_t i = f->panels.len; i-- > 0 && loop;)
        loop = rlx_tir_with_temporary(ctx, f->panels.data[i], rlx_sched_both(ctx, f->fills.data[i], loop, f->loop->place), f->loop->place);
    return loop;
}
