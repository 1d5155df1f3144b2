/*- plan_normalize.c: nests that normalize the elements of rows.
 *
 *     for i, j:    Y[i, j] = ((X[i, j] - M[i]) * R[i]) * G[j] + B[j]         any of the four may be missing, not three
 *
 * Along the columns X and Y are contiguous, M and R stand still, and G and B do either. Loops that only continue another
 * one in all of them are one with it; those that are neither row nor column stay loops.
 */
#include "arith/arith.h"
#include "schedule/plan_int.h"

typedef struct dimension {
    const rlx_prim *extent, *stride[RLX_NORMALIZE_SIDES];
    uint64_t loops;
} dimension;

typedef struct normalizing {
    rlx_context *ctx;
    rlx_nest_plan *plan;
    const rlx_plan_access *side[RLX_NORMALIZE_SIDES];   /* Y, X, M, R, G, B; NULL: it is missing */
    dimension at[RLX_PLAN_MAX_NEST];
    size_t count;
} normalizing;

enum { TO, FROM, MINUS, TIMES, TIMES_AGAIN, PLUS };

/* ---- the operands --------------------------------------------------------------------------- */

static const rlx_plan_access *access_of(const normalizing *z, const rlx_prim *load)
{
    const rlx_nest_plan *n = z->plan;
    for (size_t i = 0; i < n->accesses.len; i++)
        if (n->accesses.data[i].node == load)
            return &n->accesses.data[i];
    return NULL;
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

static bool find_sides(normalizing *z)
{
    const rlx_buffer_store *s = rlx_as_buffer_store(z->plan->body);
    const rlx_prim *v = s ? s->value : NULL;
    size_t missing = 0;
    if (!v || s->predicate)
        return false;
    z->side[TO] = &z->plan->accesses.data[0];
    z->side[PLUS] = take(z, &v, RLX_NODE_ADD);
    z->side[TIMES_AGAIN] = take(z, &v, RLX_NODE_MUL);
    z->side[TIMES] = take(z, &v, RLX_NODE_MUL);
    z->side[MINUS] = take(z, &v, RLX_NODE_SUB);
    z->side[FROM] = rlx_as_buffer_load(v) ? access_of(z, v) : NULL;
    for (int i = MINUS; i <= PLUS; i++)
        missing += !z->side[i];
    return z->side[FROM] && missing < 3;
}

static bool is_fit(const normalizing *z, const rlx_plan_access *a)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(a->node);
    return rlx_as_buffer(a->buffer)->dtype == RELAX_FLOAT32 && a->literal && (!l || !l->predicate) &&
           (a == z->side[TO] || a->buffer != z->side[TO]->buffer);
}

/* ---- the loops ------------------------------------------------------------------------------ */

/* Does dimension `outer` go on where `inner` ends, on all sides? */
static bool continues(const normalizing *z, const dimension *outer, const dimension *inner)
{
    bool same = true;
    for (int k = 0; k < RLX_NORMALIZE_SIDES && same; k++) {
        const rlx_prim *end = rlx_fold_mul(z->ctx, inner->extent, inner->stride[k]);
        same = end && outer->stride[k] == end;
    }
    return same;
}

static bool merge_pair(normalizing *z)
{
    for (size_t o = 0; o < z->count; o++)
        for (size_t i = 0; i < z->count; i++)
            if (i != o && continues(z, &z->at[o], &z->at[i])) {
                z->at[i].extent = rlx_fold_mul(z->ctx, z->at[o].extent, z->at[i].extent);
                z->at[i].loops |= z->at[o].loops;
                memmove(&z->at[o], &z->at[o + 1], (--z->count - o) * sizeof *z->at);
                return z->at[i - (o < i)].extent != NULL;
            }
    return false;
}

static void collect(normalizing *z)
{
    const rlx_nest_plan *n = z->plan;
    const rlx_prim *zero = rlx_int64(z->ctx, 0);
    for (size_t i = 0; i < n->count; i++) {
        dimension *d = &z->at[z->count++];
        *d = (dimension){ .extent = n->loops[i].extent, .loops = (uint64_t)1 << i };
        for (int k = 0; k < RLX_NORMALIZE_SIDES; k++)
            d->stride[k] = z->side[k] && z->side[k]->offset.coeff[i] ? z->side[k]->offset.coeff[i] : zero;
    }
    while (merge_pair(z)) {
    }
}

static bool may_be_column(const dimension *d)
{
    bool may = rlx_is_int_value(d->stride[TO], 1) && rlx_is_int_value(d->stride[FROM], 1) &&
               rlx_is_int_value(d->stride[MINUS], 0);
    for (int k = TIMES_AGAIN; k <= PLUS && may; k++)
        may = rlx_is_int_value(d->stride[k], 0) || rlx_is_int_value(d->stride[k], 1);
    return may;
}

static int64_t likely_extent(const dimension *d)
{
    int64_t n;
    return rlx_int_literal(d->extent, &n) ? n : 64;
}

/* The column; the row is the longest of the other dimensions. False: there is no column. */
static bool choose(const normalizing *z, const dimension **row, const dimension **column)
{
    *row = *column = NULL;
    for (size_t i = 0; i < z->count; i++)
        if (may_be_column(&z->at[i]))
            *column = &z->at[i];
    for (size_t i = 0; i < z->count; i++)
        if (&z->at[i] != *column && likely_extent(&z->at[i]) > 1 &&
            (!*row || likely_extent(&z->at[i]) >= likely_extent(*row)))
            *row = &z->at[i];
    return *column != NULL;
}

/* A single factor that moves along the columns is the second one. */
static void place_factor(normalizing *z, const dimension *column)
{
    if (!z->side[TIMES] && rlx_is_int_value(column->stride[TIMES_AGAIN], 0)) {
        z->side[TIMES] = z->side[TIMES_AGAIN];
        z->side[TIMES_AGAIN] = NULL;
        for (size_t i = 0; i < z->count; i++) {
            const rlx_prim *none = z->at[i].stride[TIMES];
            z->at[i].stride[TIMES] = z->at[i].stride[TIMES_AGAIN];
            z->at[i].stride[TIMES_AGAIN] = none;
        }
    }
}

static bool give(const normalizing *z, const dimension *row, const dimension *column)
{
    rlx_nest_plan *n = z->plan;
    rlx_plan_normalize *out = &n->normalize;
    const rlx_prim *one = rlx_int64(z->ctx, 1), *zero = rlx_int64(z->ctx, 0);
    const dimension *both[2] = { row, column };
    for (int k = 0; k < RLX_NORMALIZE_SIDES; k++) {
        out->access[k] = z->side[k] ? (size_t)(z->side[k] - n->accesses.data) : SIZE_MAX;
        for (int i = 0; i < 2; i++)
            out->stride[k][i] = both[i] ? both[i]->stride[k] : zero;
    }
    for (int i = 0; i < 2; i++) {
        out->extent[i] = both[i] ? both[i]->extent : one;
        for (size_t k = 0; both[i] && k < n->count; k++)
            if (both[i]->loops >> k & 1)
                n->loops[k].role = RLX_PLAN_BOX;
    }
    return one && zero;
}

bool rlx_plan_normalizing(rlx_context *ctx, rlx_nest_plan *plan)
{
    normalizing z = { .ctx = ctx, .plan = plan };
    const dimension *row, *column;
    bool fits = find_sides(&z);
    for (size_t i = 0; i < plan->count; i++)
        fits = fits && plan->loops[i].determined;
    for (int k = 0; k < RLX_NORMALIZE_SIDES; k++)
        fits = fits && (!z.side[k] || is_fit(&z, z.side[k]));
    if (!fits)
        return false;
    collect(&z);
    if (!choose(&z, &row, &column))
        return false;
    place_factor(&z, column);
    return rlx_is_int_value(column->stride[TIMES], 0) && give(&z, row, column);
}
