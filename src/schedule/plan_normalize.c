/*- plan_normalize.c: nests that normalize the elements of rows.
 *
 *     for i, j:    Y[i, j] = ((X[i, j] - M[i]) * R[i]) * G[j] + B[j]         any of the four may be missing
 *     for i, j:    Y[i, j] = min(max(.. + A[i, j], low), high)               likewise, with what comes behind
 *
 * One of the four is not enough, but with bounds or A for rows that it tells apart; a bias, or bounds, are for short rows.
 * Along the columns X and Y are contiguous, R stands still, and M, G, B and A do either. Loops that only continue another
 * one in all of them are one with it; those that are neither row nor column stay loops.
 */
#include "arith/arith.h"
#include "schedule/plan_int.h"

typedef struct normalizing {
    rlx_context *ctx;
    rlx_nest_plan *plan;
    const rlx_plan_access *side[RLX_NORMALIZE_SIDES];   /* Y, X, M, R, G, B, A; NULL: it is missing */
    rlx_plan_dimensions all;
    size_t scales, steps;                               /* of M, R, G, B; of all that is done */
} normalizing;

enum { TO, FROM, MINUS, TIMES, TIMES_AGAIN, PLUS, ADDEND };
enum { SHORT_ROW = 128 };

/* ---- the operands --------------------------------------------------------------------------- */

static const rlx_plan_access *access_of(const normalizing *z, const rlx_prim *load)
{
    const rlx_nest_plan *n = z->plan;
    size_t at = rlx_plan_find_access(n, load);
    return at < n->accesses.len ? &n->accesses.data[at] : NULL;
}

/* The last operation of *v, if it is of this kind and its second operand a load; *v becomes the first. */
static const rlx_plan_access *take(const normalizing *z, const rlx_prim **v, enum rlx_node_kind kind)
{
    const rlx_binary *b = (*v)->kind == kind ? rlx_as_binary(*v) : NULL;
    if (!b || !rlx_as_buffer_load(b->b))
        return NULL;
    *v = b->a;
    return access_of(z, b->b);
}

/* What is added last, behind PLUS or in front of all; *v becomes the rest. */
static const rlx_plan_access *take_addend(const normalizing *z, const rlx_prim **v)
{
    const rlx_binary *b = (*v)->kind == RLX_NODE_ADD ? rlx_as_binary(*v) : NULL;
    const rlx_prim *addend = !b || (rlx_as_buffer_load(b->a) != NULL) == (rlx_as_buffer_load(b->b) != NULL) ? NULL
                             : rlx_as_buffer_load(b->a)                                                ? b->a
                                                                                                       : b->b;
    const rlx_prim *rest = addend ? addend == b->a ? b->b : b->a : NULL;
    if (!addend || (addend == b->b && rest->kind != RLX_NODE_ADD))
        return NULL;
    *v = rest;
    return access_of(z, addend);
}

/* A bound of this kind around *v, which becomes what it is around; `none` where there is no such. */
static float take_bound(const rlx_prim **v, enum rlx_node_kind kind, float none)
{
    const rlx_binary *b = (*v)->kind == kind ? rlx_as_binary(*v) : NULL;
    const rlx_float_imm *bound = b ? rlx_as_float_imm(b->b) ? rlx_as_float_imm(b->b) : rlx_as_float_imm(b->a) : NULL;
    const float value = bound ? (float)bound->value : none;
    if (!bound || isnan(value) || (kind == RLX_NODE_MIN && value == 0 && signbit(value)))
        return none;
    *v = &bound->node == b->b ? b->a : b->b;
    return value;
}

static bool find_sides(normalizing *z)
{
    const rlx_buffer_store *s = rlx_as_buffer_store(z->plan->body);
    const rlx_prim *v = s ? s->value : NULL;
    rlx_plan_normalize *out = &z->plan->normalize;
    if (!v || s->predicate)
        return false;
    out->high = take_bound(&v, RLX_NODE_MIN, INFINITY);
    out->low = take_bound(&v, RLX_NODE_MAX, -INFINITY);
    out->bounded = isfinite(out->low) || isfinite(out->high);
    z->side[TO] = &z->plan->accesses.data[0];
    z->side[ADDEND] = take_addend(z, &v);
    z->side[PLUS] = take(z, &v, RLX_NODE_ADD);
    z->side[TIMES_AGAIN] = take(z, &v, RLX_NODE_MUL);
    z->side[TIMES] = take(z, &v, RLX_NODE_MUL);
    z->side[MINUS] = take(z, &v, RLX_NODE_SUB);
    z->side[FROM] = rlx_as_buffer_load(v) ? access_of(z, v) : NULL;
    for (int i = MINUS; i <= PLUS; i++)
        z->scales += z->side[i] != NULL;
    z->steps = z->scales + (z->side[ADDEND] != NULL) + out->bounded;
    return z->side[FROM] && (z->scales > 0 || out->bounded);
}

static bool is_fit(const normalizing *z, const rlx_plan_access *a)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(a->node);
    return rlx_as_buffer(a->buffer)->dtype == RELAX_FLOAT32 && a->literal && (!l || !l->predicate) &&
           (a->buffer == z->side[TO]->buffer ? rlx_plan_same_place(a, z->side[TO]) : !rlx_plan_share_memory(a, z->side[TO]));
}

/* ---- the loops ------------------------------------------------------------------------------ */

static bool may_be_column(const rlx_plan_dimension *d)
{
    bool may = rlx_is_int_value(d->stride[TO], 1) && rlx_is_int_value(d->stride[FROM], 1);
    for (int k = MINUS; k <= ADDEND && may; k++)
        may = k == TIMES || rlx_is_int_value(d->stride[k], 0) || rlx_is_int_value(d->stride[k], 1);
    return may;
}

/* The column; the row is the longest of the other dimensions. False: there is no column. */
static bool choose(const normalizing *z, const rlx_plan_dimension **row, const rlx_plan_dimension **column)
{
    *row = *column = NULL;
    for (size_t i = 0; i < z->all.count; i++)
        if (may_be_column(&z->all.at[i]))
            *column = &z->all.at[i];
    for (size_t i = 0; i < z->all.count; i++)
        if (&z->all.at[i] != *column && rlx_plan_likely_size(z->all.at[i].extent) > 1 &&
            (!*row || rlx_plan_likely_size(z->all.at[i].extent) >= rlx_plan_likely_size((*row)->extent)))
            *row = &z->all.at[i];
    return *column != NULL;
}

/* Several steps are worth it: two of the first four, or one for rows that are told apart; a bias or bounds alone for short ones, each of which
 * would be a chain of its own. */
static bool is_worth_it(const normalizing *z, const rlx_plan_dimension *row, const rlx_plan_dimension *column)
{
    const bool is_short = row && rlx_plan_likely_size(column->extent) < SHORT_ROW;
    return z->scales > 1 || (row && z->scales && z->steps > 1) || (is_short && (z->side[PLUS] || z->plan->normalize.bounded));
}

/* A single factor that moves along the columns is the second one. */
static void place_factor(normalizing *z, const rlx_plan_dimension *column)
{
    if (!z->side[TIMES] && rlx_is_int_value(column->stride[TIMES_AGAIN], 0)) {
        z->side[TIMES] = z->side[TIMES_AGAIN];
        z->side[TIMES_AGAIN] = NULL;
        for (size_t i = 0; i < z->all.count; i++) {
            const rlx_prim *none = z->all.at[i].stride[TIMES];
            z->all.at[i].stride[TIMES] = z->all.at[i].stride[TIMES_AGAIN];
            z->all.at[i].stride[TIMES_AGAIN] = none;
        }
    }
}

static bool give(const normalizing *z, const rlx_plan_dimension *row, const rlx_plan_dimension *column)
{
    rlx_nest_plan *n = z->plan;
    rlx_plan_normalize *out = &n->normalize;
    const rlx_prim *one = rlx_int64(z->ctx, 1), *zero = rlx_int64(z->ctx, 0);
    const rlx_plan_dimension *both[2] = { row, column };
    for (int k = 0; k < RLX_NORMALIZE_SIDES; k++) {
        out->access[k] = z->side[k] ? (size_t)(z->side[k] - n->accesses.data) : SIZE_MAX;
        for (int i = 0; i < 2; i++)
            out->stride[k][i] = both[i] ? both[i]->stride[k] : zero;
    }
    for (int i = 0; i < 2; i++) {
        out->extent[i] = both[i] ? both[i]->extent : one;
        if (both[i])
            rlx_plan_take(n, both[i]);
    }
    return one && zero;
}

bool rlx_plan_normalizing(rlx_context *ctx, rlx_nest_plan *plan)
{
    normalizing z = { .ctx = ctx, .plan = plan };
    const rlx_plan_dimension *row, *column;
    bool fits = find_sides(&z);
    for (size_t i = 0; i < plan->count; i++)
        fits = fits && plan->loops[i].determined;
    for (int k = 0; k < RLX_NORMALIZE_SIDES; k++)
        fits = fits && (!z.side[k] || is_fit(&z, z.side[k]));
    if (!fits)
        return false;
    rlx_plan_collect(ctx, plan, z.side, RLX_NORMALIZE_SIDES, &z.all);
    if (!choose(&z, &row, &column) || !is_worth_it(&z, row, column))
        return false;
    place_factor(&z, column);
    return rlx_is_int_value(column->stride[TIMES], 0) && give(&z, row, column);
}
