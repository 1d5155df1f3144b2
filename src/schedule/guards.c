/*- guards.c: elements that are chosen by where they are become boxes.
 *
 *     for i, j:  P[i, j] = if_then_else(1 <= i and i < n + 1 and 1 <= j, X[i - 1, j - 1], 0)
 *
 *     for i, j:  P[i, j] = 0                                      ->    for i, j:  P[i, j] = 0
 *                                                                       for i < n, j < m - 1:  P[i + 1, j + 1] = X[i, j]
 *
 *     for i, j:  Y[i, j] = if_then_else(i < 5, A[i, j], B[i - 5, j])
 *                                                                 ->    for i < 5, j:  Y[i, j] = A[i, j]
 *                                                                       for i < n - 5, j:  Y[i + 5, j] = B[i, j]
 *
 *     for i:  Z[i] = if_then_else(i % 2 == 0, X[i // 2], 0)       ->    for i:  Z[i] = 0
 *                                                                       for i < (n + 1) // 2:  Z[i * 2] = X[i]
 *
 *     for i, j:  M[i, j] = if_then_else(j <= i, f(X), 0)        ->    for i, j:  M[i, j] = 0
 *                                                                       for i:  for j < min(n, i + 1):  M[i, j] = f(X)
 *
 *     for i, j:  M[i, j] = if_then_else(j <= i, X[i, j], 0)     ->    for i, j:  M[i, j] = X[i, j]
 *                                                                       for i:  for j < n - i - 1:  M[i, j + i + 1] = 0
 *
 *     for i, j:  D[i, j] = if_then_else(j == i, 1, 0)           ->    for i, j:  D[i, j] = 0
 *                                                                       for i < min(n, m):  D[i, i] = 1
 *
 * Compilers pad, join, spread and mask tensors so. As boxes these are copies without a question for each element, and windows over what is padded are
 * what they are elsewhere. Each place is stored by one iteration, so that what is stored last is what was chosen.
 */
#include "schedule/plan_int.h"
#include "schedule/schedule_int.h"

enum { MOST_BOXES = 16, SHORTEST_RUN = 16 };

/* Where a loop runs; NULL: no bound. int64. step: 0, or at multiples of that only, and everywhere else. only: NULL, or what it is alone, which
 * another loop says. */
typedef struct bounds { const rlx_prim *low, *high; int64_t step; const rlx_prim *only; } bounds;

typedef struct guarded {
    rlx_context *ctx;
    const rlx_for_stmt *loops[RLX_PLAN_MAX_NEST];
    const rlx_nest_plan *plan;
    bounds at[RLX_PLAN_MAX_NEST];    /* where the condition holds */
    bool outer[RLX_PLAN_MAX_NEST];   /* bounds hang on the loop, which therefore stands around the others */
    bool hangs;                      /* on any */
    size_t num_bounds;
    int last;                        /* loop of the bound that was met last */
    bool is_high;                    /* and it is one above */
    bool inside;                     /* what is written is where the condition holds */
} guarded;

/* Is it an integer that is known in front of the nest? */
static bool is_known(rlx_context *ctx, const rlx_prim *p)
{
    rlx_ptrmap none;
    rlx_ptrmap_init(&none, &ctx->memory);
    bool known = !rlx_plan_hangs_on(ctx, p, &none);
    rlx_ptrmap_free(&none);
    return known;
}

/* c * v + rest below 0 (or_zero: or 0), c 1 or -1: a bound of v. */
static bool note_bound(guarded *g, int loop, bool rises, const rlx_prim *rest, bool or_zero)
{
    rlx_context *ctx = g->ctx;
    bounds *b = &g->at[loop];
    const rlx_prim *wide = rlx_fold_cast(ctx, RELAX_INT64, rest), *zero = rlx_int64(ctx, 0), *one = rlx_int64(ctx, 1),
                   *end = !wide ? NULL : rises ? rlx_fold_sub(ctx, zero, wide) : wide;
    if (end && rises == or_zero) /* v < end, or v >= end */
        end = rlx_fold_add(ctx, end, one);
    if (!end)
        return false;
    if (rises)
        b->high = b->high ? rlx_least(ctx, b->high, end) : end;
    else
        b->low = b->low ? rlx_greatest(ctx, b->low, end) : end;
    g->num_bounds++;
    g->last = loop;
    g->is_high = rises;
    return true;
}

/* v % c == 0, v a loop from 0: multiples of c. */
static bool take_multiple(guarded *g, const rlx_prim *cond)
{
    const rlx_binary *equal = cond->kind == RLX_NODE_EQ ? rlx_as_binary(cond) : NULL,
                     *rest = equal && rlx_is_int_value(equal->b, 0) && equal->a->kind == RLX_NODE_FLOOR_MOD ? rlx_as_binary(equal->a) : NULL;
    int64_t step;
    if (!rest || !rlx_int_literal(rest->b, &step) || step < 2)
        return false;
    for (size_t i = 0; i < g->plan->count; i++)
        if (g->plan->loops[i].var == rest->a && rlx_is_int_value(g->plan->loops[i].min, 0) && !g->at[i].step) {
            g->at[i].step = step;
            g->num_bounds += 2; /* no two boxes are what it leaves out */
            return true;
        }
    return false;
}

/* The loops that c0 * v0 + c1 * v1 + .. moves: the innermost of them is bounded, from what the others are. -1: none, or not by 1. */
static int bounded_loop(const guarded *g, const int64_t *step)
{
    int loop = (int)g->plan->count - 1;
    while (loop >= 0 && !step[loop])
        loop--;
    return loop >= 0 && (step[loop] == 1 || step[loop] == -1) && !g->outer[loop] ? loop : -1;
}

/* The one loop that another one hangs on, by 1; -1: there are more, or it is bounded already. */
static int only_outer(const guarded *g, const int64_t *step, int loop)
{
    int found = -1;
    for (int i = 0; i < loop; i++)
        if (step[i])
            found = found < 0 && (step[i] == 1 || step[i] == -1) && !g->outer[i] && !g->at[i].step && !g->at[i].only ? i : (int)g->plan->count;
    return found < (int)g->plan->count ? found : -1;
}

/* step[loop] * v + step[outer] * u + rest == 0: v is what u says, and u is where v can be that. */
static bool take_diagonal(guarded *g, int loop, int outer, const int64_t *step, const rlx_prim *rest)
{
    rlx_context *ctx = g->ctx;
    const rlx_nest_loop *v = &g->plan->loops[loop], *u = &g->plan->loops[outer];
    const bool rises = step[loop] != step[outer];
    const rlx_prim *zero = rlx_int64(ctx, 0), *away = !rest ? NULL : step[loop] > 0 ? rlx_fold_sub(ctx, zero, rest) : rest,
                   *least = away && v->min ? rlx_fold_sub(ctx, away, rlx_fold_cast(ctx, RELAX_INT64, v->min)) : NULL; /* v - v->min is u or -u, and this */
    if (!least || g->at[loop].only || g->at[loop].low || g->at[loop].high)
        return false;
    g->at[loop].only = rlx_plan_add_product(ctx, away, u->var, rlx_int64(ctx, rises ? 1 : -1));
    return g->at[loop].only && note_bound(g, outer, !rises, rlx_fold_sub(ctx, zero, least), true) &&
           note_bound(g, outer, rises, rlx_fold_sub(ctx, least, rlx_fold_cast(ctx, RELAX_INT64, v->extent)), false);
}

/* A comparison of loops with what is known: one of them is bounded. */
static bool take_comparison(guarded *g, const rlx_prim *cond)
{
    rlx_context *ctx = g->ctx;
    const rlx_binary *c = rlx_as_binary(cond);
    const enum rlx_node_kind kind = c ? c->node.kind : RLX_NODE_NOT;
    const bool less = kind == RLX_NODE_LT || kind == RLX_NODE_LE, more = kind == RLX_NODE_GT || kind == RLX_NODE_GE,
               equal = kind == RLX_NODE_EQ;
    const rlx_prim *vars[RLX_PLAN_MAX_NEST];
    rlx_tir_affine side[2];
    int64_t step[RLX_PLAN_MAX_NEST] = { 0 }, run;
    if ((!less && !more && !equal) || !rlx_dtype_is_int(rlx_prim_dtype(c->a)))
        return false;
    for (size_t i = 0; i < g->plan->count; i++)
        vars[i] = g->plan->loops[i].var;
    for (int i = 0; i < 2; i++) /* the smaller one first */
        if (!rlx_tir_affine_of(ctx, (i == 0) == !more ? c->a : c->b, vars, g->plan->count, &side[i]) || !is_known(ctx, side[i].base))
            return false;
    for (size_t i = 0; i < g->plan->count; i++) {
        int64_t a = 0, b = 0;
        if ((side[0].coeff[i] && !rlx_int_literal(side[0].coeff[i], &a)) || (side[1].coeff[i] && !rlx_int_literal(side[1].coeff[i], &b)) ||
            !rlx_sub_i64(a, b, &step[i]))
            return false;
    }
    const int loop = bounded_loop(g, step);
    const rlx_prim *rest = rlx_fold_sub(ctx, rlx_fold_cast(ctx, RELAX_INT64, side[0].base), rlx_fold_cast(ctx, RELAX_INT64, side[1].base));
    const int one = equal ? only_outer(g, step, loop) : -1;
    if (one >= 0)
        return take_diagonal(g, loop, one, step, rest);
    for (int i = 0; i < loop; i++) {
        if (!step[i])
            continue;
        if (g->at[i].low || g->at[i].high || g->at[i].step || (rlx_int_literal(g->plan->loops[loop].extent, &run) && run < SHORTEST_RUN))
            return false;
        g->outer[i] = g->hangs = true;
        rest = rlx_plan_add_product(ctx, rest, vars[i], rlx_int64(ctx, step[i]));
    }
    if (loop < 0 || !rest)
        return false;
    if (!equal)
        return note_bound(g, loop, step[loop] > 0, rest, kind == RLX_NODE_LE || kind == RLX_NODE_GE);
    return note_bound(g, loop, step[loop] > 0, rest, true) && note_bound(g, loop, step[loop] < 0, rlx_fold_sub(ctx, rlx_int64(ctx, 0), rest), true);
}

static bool take_condition(guarded *g, const rlx_prim *cond)
{
    const rlx_prim *pending[2 * RLX_PLAN_MAX_NEST];
    size_t count = 0;
    pending[count++] = cond;
    while (count) {
        const rlx_prim *c = pending[--count];
        const rlx_binary *both = c->kind == RLX_NODE_AND ? rlx_as_binary(c) : NULL;
        if (!both ? !take_multiple(g, c) && !take_comparison(g, c) : count + 2 > RLX_COUNT(pending))
            return false;
        if (both) {
            pending[count++] = both->a;
            pending[count++] = both->b;
        }
    }
    for (size_t i = 0; i < g->plan->count; i++)
        if ((g->at[i].step || g->outer[i] || g->at[i].only) && (g->at[i].low || g->at[i].high))
            return false;
        else if (g->at[i].only && (g->at[i].step || g->outer[i]))
            return false;
    return true;
}

/* Where v runs in steps, v // step is how many there were. */
static const rlx_node *count_steps(rlx_rewriter *r, const rlx_node *n)
{
    const guarded *g = r->user;
    if (n->kind == RLX_NODE_BUFFER)
        return n; /* the same wherever it is mentioned */
    const rlx_binary *b = n->kind == RLX_NODE_FLOOR_DIV || n->kind == RLX_NODE_FLOOR_MOD ? rlx_as_binary(n) : NULL;
    int64_t c;
    for (size_t i = 0; b && i < g->plan->count; i++)
        if (g->inside && g->at[i].step && b->a == g->plan->loops[i].var && rlx_int_literal(b->b, &c) && c == g->at[i].step)
            return n->kind == RLX_NODE_FLOOR_DIV ? b->a : rlx_int(r->ctx, rlx_prim_dtype(b->a), 0);
    return NULL;
}

/* The body in the inner loops of the nest, or in those outside of them, which bounds hang on (apart: there may be such). */
static const rlx_stmt *with_loops(const guarded *g, bool apart, bool inner, const rlx_prim *const *extent, const rlx_stmt *body)
{
    for (size_t i = g->plan->count; i-- > 0 && body;) {
        const rlx_for_stmt *old = g->loops[i];
        if (extent[i] && (apart && g->outer[i]) != inner)
            body = rlx_for(g->ctx, rlx_as_prim_var(old->loop_var), old->min, rlx_fold_cast(g->ctx, rlx_prim_dtype(old->loop_var), extent[i]),
                           old->for_kind, body, old->place);
    }
    return body;
}

/* The nest with this value, in those bounds. *none: it surely never runs. NULL: that, or out of memory. */
static const rlx_stmt *in_bounds(const guarded *g, const bounds *at, const rlx_prim *value, bool *none)
{
    rlx_context *ctx = g->ctx;
    const rlx_buffer_store *s = (const rlx_buffer_store *)g->plan->body;
    const rlx_prim *extent[RLX_PLAN_MAX_NEST];
    rlx_rewriter r;
    bool ok = true, bounded = false;
    for (size_t i = 0; i < g->plan->count; i++)
        bounded |= at[i].low || at[i].high;
    *none = false;
    rlx_tir_folder_init(&r, ctx);
    r.before = count_steps;
    r.user = (void *)g;
    for (size_t i = 0; i < g->plan->count && ok; i++) {
        const rlx_nest_loop *l = &g->plan->loops[i];
        extent[i] = NULL;
        if (at[i].only)
            continue;
        if (at[i].step) {
            const rlx_prim *var = rlx_fold_mul(ctx, l->var, rlx_int(ctx, rlx_prim_dtype(l->var), at[i].step));
            extent[i] = rlx_ceil_div(ctx, l->extent, at[i].step);
            ok = extent[i] && var && rlx_ptrmap_put(&r.map, l->var, (uintptr_t)var);
            continue;
        }
        const rlx_prim *end = rlx_fold_add(ctx, l->min, l->extent), *low = l->min;
        int64_t n;
        end = end && at[i].high ? rlx_least(ctx, end, at[i].high) : end;
        low = at[i].low ? rlx_greatest(ctx, low, at[i].low) : low;
        extent[i] = !at[i].low && !at[i].high ? l->extent : low && end ? rlx_fold_sub(ctx, end, low) : NULL;
        if (extent[i] && rlx_int_literal(extent[i], &n))
            *none |= n <= 0;
        else if (extent[i] && extent[i] != l->extent)
            extent[i] = rlx_greatest(ctx, extent[i], rlx_int64(ctx, 0));
        const rlx_dtype dtype = rlx_prim_dtype(l->var);
        const rlx_prim *first = low == l->min ? NULL : rlx_fold_cast(ctx, dtype, rlx_fold_sub(ctx, low, l->min)),
                       *now = first ? rlx_fold_add(ctx, l->var, first) : l->var;
        ok = extent[i] && now && (low == l->min || (first && rlx_ptrmap_put(&r.map, l->var, (uintptr_t)now)));
    }
    for (size_t i = 0; i < g->plan->count && ok; i++) { /* in terms of loops that run now */
        const rlx_prim *is = at[i].only ? rlx_rewrite(&r, at[i].only) : NULL;
        is = is ? rlx_fold_cast(ctx, rlx_prim_dtype(g->plan->loops[i].var), is) : NULL;
        ok = !at[i].only || (is && rlx_ptrmap_put(&r.map, g->plan->loops[i].var, (uintptr_t)is));
    }
    const rlx_stmt *body = ok && !*none ? rlx_store(ctx, rlx_as_buffer(s->buffer), value, s->indices, s->num_indices, s->place) : NULL;
    body = body ? rlx_rewrite(&r, body) : NULL;
    rlx_rewriter_free(&r);
    body = with_loops(g, bounded, true, extent, body);
    body = with_loops(g, bounded, false, extent, body);
    return body ? rlx_copy_fresh(ctx, body) : NULL;
}

/* Is the value, chosen in part of each row, an element at the very place of one like it? A copy of all of them is faster than one of each row. */
static bool is_row_of_copy(const guarded *g, const rlx_prim *value)
{
    const rlx_buffer_store *s = (const rlx_buffer_store *)g->plan->body;
    const rlx_buffer_load *l = rlx_as_buffer_load(value);
    const rlx_buffer *to = rlx_as_buffer(s->buffer), *from = l ? rlx_as_buffer(l->buffer) : NULL;
    bool is = from && !l->predicate && from->num_shape == to->num_shape && g->num_bounds == 1 && g->hangs;
    for (size_t i = 0; i < to->num_shape && is; i++)
        is = from->shape[i] == to->shape[i] && l->indices[i] == s->indices[i];
    return is;
}

/* A nest of one store, all of whose loops each place tells apart, and which loads nothing of what it stores. */
static bool is_plain(const rlx_nest_plan *n)
{
    const rlx_buffer_store *s = n->form == RLX_PLAN_STRIP ? rlx_as_buffer_store(n->body) : NULL;
    bool is = s && !s->predicate;
    for (size_t i = 0; i < n->count && is; i++)
        is = n->loops[i].determined;
    for (size_t i = 1; i < n->accesses.len && is; i++)
        is = !rlx_plan_share_memory(&n->accesses.data[i], &n->accesses.data[0]);
    return is;
}

static bool is_number(const rlx_prim *p) { return p->kind == RLX_NODE_FLOAT_IMM || p->kind == RLX_NODE_INT_IMM; }

/* Is the value chosen by a condition, which may itself be what is stored, as a number? */
static bool is_chosen(rlx_context *ctx, const rlx_prim *value, const rlx_prim **cond, const rlx_prim **then, const rlx_prim **other)
{
    const rlx_dtype t = rlx_prim_dtype(value);
    if (rlx_tir_is_choice(value, cond, then, other))
        return true;
    *cond = value->kind == RLX_NODE_CAST ? ((const rlx_unary *)value)->a : value;
    const bool real = rlx_dtype_is_float(t);
    *then = real ? rlx_float(ctx, t, 1) : rlx_int(ctx, t, 1);
    *other = real ? rlx_float(ctx, t, 0) : rlx_int(ctx, t, 0);
    return rlx_dtype_is_bool(rlx_prim_dtype(*cond)) && *then && *other;
}

/* Its boxes, in the order in which they are stored; the last of them may be taken apart again. 0: it stays. */
static size_t split_nest(rlx_context *ctx, const rlx_for_stmt *nest, const rlx_stmt **out)
{
    rlx_nest_plan plan;
    guarded g = { .ctx = ctx, .plan = &plan };
    const rlx_prim *cond, *then, *other;
    size_t count = 0;
    bool none = false, ok = rlx_plan_nest(ctx, &rlx_plan_everywhere, nest, &plan) && is_plain(&plan),
         guard = ok && is_chosen(ctx, ((const rlx_buffer_store *)plan.body)->value, &cond, &then, &other) && take_condition(&g, cond) &&
                 (is_number(other) || g.num_bounds == 1);
    const rlx_stmt *s = &nest->node;
    for (size_t i = 0; i < plan.count && guard; i++, s = ((const rlx_for_stmt *)s)->body)
        g.loops[i] = (const rlx_for_stmt *)s;
    if (guard) {
        const bool rows = is_number(other) && is_row_of_copy(&g, then);
        bounds all[RLX_PLAN_MAX_NEST] = { { .step = 0 } }, *inner = rows ? all : g.at, *outer = rows ? g.at : all;
        if (rows || !is_number(other)) {
            const bounds b = g.at[g.last];
            outer[g.last] = g.is_high ? (bounds){ .low = b.high } : (bounds){ .high = b.low };
        }
        g.inside = true;
        const rlx_stmt *inside = in_bounds(&g, inner, then, &none);
        bool never = none;
        g.inside = false;
        const rlx_stmt *outside = in_bounds(&g, outer, other, &none);
        const bool last = rows || !is_number(other);
        guard = (inside || never) && (outside || none);
        if (guard && !last && outside)
            out[count++] = outside;
        if (guard && inside)
            out[count++] = inside;
        if (guard && last && outside)
            out[count++] = outside;
    }
    rlx_nest_plan_free(ctx, &plan);
    return count;
}

static const rlx_stmt *split(rlx_context *ctx, const rlx_for_stmt *whole)
{
    const rlx_for_stmt *nest = whole;
    const rlx_stmt *all[MOST_BOXES];
    size_t count = 0, more = split_nest(ctx, nest, all);
    while (more) {
        count += more;
        nest = count + 2 <= MOST_BOXES ? rlx_as_for_stmt(all[count - 1]) : NULL;
        more = nest ? split_nest(ctx, nest, all + count - 1) : 0;
        count -= more != 0;
    }
    return count == 0   ? NULL
           : count == 1 ? all[0]
                        : rlx_seq_stmt_new(ctx, all, count, whole->place);
}

const rlx_stmt *rlx_split_guards(rlx_context *ctx, const rlx_stmt *body) { return rlx_rewrite_nests(ctx, body, split); }
