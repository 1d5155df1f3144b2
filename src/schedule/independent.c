/*- independent.c: loops whose iterations may run at the same time.
 *
 *     for b in T.parallel(n):
 *         P = T.allocate(..)                    memory of its own
 *         for i in range(min(8, m - b * 8)):
 *             P[..] = A[..]                     A is only read
 *             C[.., b * 8 + i] = P[..]          what is stored lies in [b * 8, b * 8 + 7] in this dimension
 *
 * Of each memory that is stored to, all accesses have to be of one buffer and in one dimension [var * c, var * c + c - 1] away
 * from the same number, c being the same literal. Indices are in range of their dimension, or the kernel fails; so different
 * iterations are at different places. */
#include "arith/arith.h"
#include "schedule/plan_int.h"

typedef struct touch {
    const rlx_node *buffer;
    const rlx_prim *const *indices;
    size_t num_indices;
    bool stores;
} touch;

typedef struct looking {
    rlx_context *ctx;
    const rlx_for_stmt *loop;
    const rlx_node *in, *out;        /* buffers that are looked at as if they were one memory; NULL: all that is stored is */
    rlx_ptrmap own;                  /* memory that is allocated inside */
    rlx_ptrmap loops;                /* variable of a loop inside -> it */
    rlx_ptrmap varying;              /* all variables that are bound inside, and that of the loop */
    rlx_ptrmap stored;               /* memory */
    RLX_VEC(touch) touches;
    bool ok;
} looking;

/* What is loaded from: the other buffer of its memory, which all of the memory is known by. */
static const rlx_node *loaded(looking *l, const rlx_node *buffer)
{
    const bool other = l->in && rlx_plan_memory(buffer) == rlx_plan_memory(l->in);
    l->ok = !other || buffer == l->in;
    return other ? l->out : buffer;
}

static enum rlx_step note(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    looking *l = user;
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    const rlx_buffer_load *load = rlx_as_buffer_load(n);
    const rlx_node *from = load ? loaded(l, load->buffer) : NULL;
    const rlx_prim *var = NULL;
    switch (n->kind) {
    case RLX_NODE_FOR:
        var = ((const rlx_for_stmt *)n)->loop_var;
        l->ok = !rlx_ptrmap_has(&l->varying, var) && rlx_ptrmap_put(&l->loops, var, (uintptr_t)n);
        break;
    case RLX_NODE_LET_STMT: var = ((const rlx_let_stmt *)n)->var; break;
    case RLX_NODE_PRIM_LET: var = ((const rlx_prim_let *)n)->var; break;
    case RLX_NODE_ALLOCATE: l->ok = rlx_ptrmap_put(&l->own, ((const rlx_allocate *)n)->var, 1); break;
    case RLX_NODE_BUFFER_STORE:
        l->ok = rlx_ptrmap_put(&l->stored, rlx_plan_memory(s->buffer), 1) &&
                rlx_vec_push(&l->ctx->memory, &l->touches,
                             ((touch){ s->buffer, s->indices, s->num_indices, true }));
        break;
    case RLX_NODE_BUFFER_LOAD:
        l->ok = l->ok && rlx_vec_push(&l->ctx->memory, &l->touches, ((touch){ from, load->indices, load->num_indices, false }));
        break;
    case RLX_NODE_BLOCK_REALIZE: l->ok = false; break; /* is lowered before */
    default: break;
    }
    if (var)
        l->ok = l->ok && rlx_ptrmap_put(&l->varying, var, 1);
    return l->ok ? RLX_STEP_ON : RLX_STEP_STOP;
}

/* ---- one dimension -------------------------------------------------------------------------- */

/* An index is var * step + base + something in [0, step). */
typedef struct stripe { int64_t step; const rlx_prim *base; } stripe;

typedef struct mentioned { looking *l; const rlx_prim *vars[RLX_PLAN_MAX_NEST]; size_t count; bool ok; } mentioned;

static enum rlx_step collect(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    mentioned *m = user;
    if (n->kind != RLX_NODE_PRIM_VAR || !rlx_ptrmap_has(&m->l->loops, n))
        return RLX_STEP_ON;
    m->ok = m->count < RLX_PLAN_MAX_NEST;
    if (m->ok)
        m->vars[m->count++] = n;
    return m->ok ? RLX_STEP_ON : RLX_STEP_STOP;
}

/* Adds the range of coefficient times variable of an inner loop. */
static bool widen(looking *l, const rlx_prim *var, const rlx_prim *coefficient, int64_t *low, int64_t *high)
{
    const rlx_for_stmt *f = rlx_ptrmap_get(&l->loops, var);
    int64_t c, first, least, most, last, unused;
    if (!coefficient)
        return true;
    if (!rlx_int_literal(coefficient, &c) || !rlx_int_literal(f->min, &first))
        return false;
    rlx_bounds(l->ctx, NULL, rlx_fold_cast(l->ctx, RELAX_INT64, f->extent), &unused, &most);
    if (most == INT64_MAX || most < 1 || !rlx_add_i64(first, most - 1, &last) ||
        !rlx_mul_i64(first, c, &least) || !rlx_mul_i64(last, c, &most))
        return false;
    return rlx_add_i64(*low, least < most ? least : most, low) &&
           rlx_add_i64(*high, least < most ? most : least, high);
}

static bool find_stripe(looking *l, const rlx_prim *index, stripe *out)
{
    mentioned m = { .l = l, .vars = { l->loop->loop_var }, .count = 1, .ok = true };
    rlx_walker w = { .enter = collect, .user = &m, .unique = true };
    rlx_tir_affine a;
    int64_t low = 0, high = 0;
    rlx_walk(&l->ctx->memory, index, &w, NULL);
    if (!m.ok || !rlx_tir_affine_of(l->ctx, index, m.vars, m.count, &a) || !a.coeff[0] ||
        !rlx_int_literal(a.coeff[0], &out->step) || out->step < 1 ||
        rlx_plan_hangs_on(l->ctx, a.base, &l->varying))
        return false;
    for (size_t i = 1; i < m.count; i++)
        if (!widen(l, m.vars[i], a.coeff[i], &low, &high))
            return false;
    out->base = a.base;
    return low >= 0 && high < out->step;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Do all accesses of that memory stand apart in dimension d, as the first one does? */
static bool is_apart_in(looking *l, const touch *first, size_t d)
{
    stripe s, other;
    if (!find_stripe(l, first->indices[d], &s))
        return false;
    for (const touch *t = first + 1; t < l->touches.data + l->touches.len; t++) {
        if (rlx_plan_memory(t->buffer) != rlx_plan_memory(first->buffer) ||
            t->indices[d] == first->indices[d])
            continue;
        if (!find_stripe(l, t->indices[d], &other) || other.step != s.step || other.base != s.base)
            return false;
    }
    return true;
}

static bool is_apart(looking *l, const touch *first)
{
    for (const touch *t = first + 1; t < l->touches.data + l->touches.len; t++)
        if (rlx_plan_memory(t->buffer) == rlx_plan_memory(first->buffer) &&
            (t->buffer != first->buffer || t->num_indices != first->num_indices))
            return false;
    for (size_t d = 0; d < first->num_indices; d++)
        if (is_apart_in(l, first, d))
            return true;
    return false;
}

/* Each memory once, by its first access. */
static bool all_apart(looking *l)
{
    rlx_ptrmap done;
    bool ok = true;
    size_t looked_at = 0;
    rlx_ptrmap_init(&done, &l->ctx->memory);
    for (size_t i = 0; i < l->touches.len && ok; i++) {
        const touch *t = &l->touches.data[i];
        const rlx_node *memory = rlx_plan_memory(t->buffer);
        if (!rlx_ptrmap_has(&l->stored, memory) || rlx_ptrmap_has(&l->own, memory) ||
            rlx_ptrmap_has(&done, memory) || (l->out && memory != rlx_plan_memory(l->out)))
            continue;
        ok = rlx_ptrmap_put(&done, memory, 1) && looked_at++ < RLX_TIR_MAX_DIMS && is_apart(l, t);
    }
    rlx_ptrmap_free(&done);
    return ok;
}

bool rlx_is_independent(rlx_context *ctx, const rlx_for_stmt *loop) { return rlx_touches_own_part(ctx, loop, NULL, NULL); }

bool rlx_touches_own_part(rlx_context *ctx, const rlx_for_stmt *loop, const rlx_node *in, const rlx_node *out)
{
    looking l = { .ctx = ctx, .loop = loop, .in = in, .out = out, .ok = true };
    rlx_ptrmap *maps[] = { &l.own, &l.loops, &l.varying, &l.stored };
    rlx_walker w = { .enter = note, .user = &l, .terse = true };
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], &ctx->memory);
    l.ok = rlx_ptrmap_put(&l.varying, loop->loop_var, 1);
    if (l.ok)
        rlx_walk(&ctx->memory, loop->body, &w, NULL);
    bool is = l.ok && !ctx->diags.out_of_memory && all_apart(&l);
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_free(maps[i]);
    rlx_vec_free(&ctx->memory, &l.touches);
    return is;
}
