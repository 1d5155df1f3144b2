/*- plan_copy.c: nests that copy a box of memory.
 *
 *     for i, j, ..:    Y[.. i, j ..] = X[.. j, i ..]          strides of any size and sign on both sides
 *
 * Loops that only continue another one in both buffers are one dimension of the box. Where more than four are left, the
 * outermost stay loops, but not one along which a buffer is contiguous.
 */
#include "arith/arith.h"
#include "schedule/plan_int.h"

enum { BOX = 4 };

/* A dimension of the box, and the loops that it consists of. */
typedef struct dimension {
    const rlx_prim *extent, *to, *from;
    uint64_t loops;
} dimension;

typedef struct copying {
    rlx_context *ctx;
    rlx_nest_plan *plan;
    dimension at[RLX_PLAN_MAX_NEST];
    size_t count;
} copying;

/* Y[..] = X[..] of one dtype, or of one that COPY makes another of. */
static bool is_copy(const rlx_nest_plan *n)
{
    const rlx_plan_access *to = &n->accesses.data[0], *from = &n->accesses.data[1];
    const rlx_buffer_store *s = rlx_as_buffer_store(n->body);
    const rlx_prim *value = s ? s->value : NULL;
    bool converts = value && value->kind == RLX_NODE_CAST;
    const rlx_buffer_load *load =
        value ? rlx_as_buffer_load(converts ? ((const rlx_unary *)value)->a : value) : NULL;
    if (!load || s->predicate || load->predicate || &load->node != from->node ||
        from->buffer == to->buffer || !to->literal || !from->literal)
        return false;
    rlx_dtype have = rlx_as_buffer(from->buffer)->dtype, want = rlx_as_buffer(to->buffer)->dtype;
    enum rlx_kernel_elem a = rlx_kernel_elem_of(want), b = rlx_kernel_elem_of(have);
    return rlx_kernel_copies(a, b) &&
           (converts ? a != b && rlx_prim_dtype(value) == want : have == want);
}

static const rlx_prim *stride(const copying *c, const rlx_plan_access *a, size_t loop)
{
    return a->offset.coeff[loop] ? a->offset.coeff[loop] : rlx_int64(c->ctx, 0);
}

/* Does dimension `outer` go on where `inner` ends, on both sides? */
static bool continues(const copying *c, const dimension *outer, const dimension *inner)
{
    const rlx_prim *to = rlx_fold_mul(c->ctx, inner->extent, inner->to),
                   *from = rlx_fold_mul(c->ctx, inner->extent, inner->from);
    return to && from && outer->to == to && outer->from == from;
}

static void drop(copying *c, size_t i)
{
    memmove(&c->at[i], &c->at[i + 1], (--c->count - i) * sizeof *c->at);
}

/* One pair of dimensions that are one becomes it. */
static bool merge_pair(copying *c)
{
    for (size_t o = 0; o < c->count; o++)
        for (size_t i = 0; i < c->count; i++)
            if (i != o && continues(c, &c->at[o], &c->at[i])) {
                c->at[i].extent = rlx_fold_mul(c->ctx, c->at[o].extent, c->at[i].extent);
                c->at[i].loops |= c->at[o].loops;
                drop(c, o);
                return c->at[i - (o < i)].extent != NULL;
            }
    return false;
}

static void collect(copying *c)
{
    const rlx_nest_plan *n = c->plan;
    for (size_t i = 0; i < n->count; i++)
        c->at[c->count++] = (dimension){ .extent = n->loops[i].extent,
                                         .to = stride(c, &n->accesses.data[0], i),
                                         .from = stride(c, &n->accesses.data[1], i),
                                         .loops = (uint64_t)1 << i };
    while (merge_pair(c)) {
    }
    for (size_t i = c->count; i-- > 0 && c->count > 1;)
        if (rlx_is_int_value(c->at[i].extent, 1))
            drop(c, i);
}

/* The outermost dimension that may stay a loop. */
static size_t least_wanted(const copying *c)
{
    size_t i = 0;
    while (i + 1 < c->count &&
           (rlx_is_int_value(c->at[i].to, 1) || rlx_is_int_value(c->at[i].from, 1)))
        i++;
    return i;
}

/* The dimension along which what is written is contiguous comes last. */
static void order(copying *c)
{
    for (size_t i = 0; i + 1 < c->count; i++)
        if (rlx_is_int_value(c->at[i].to, 1)) {
            dimension d = c->at[i];
            drop(c, i);
            c->at[c->count++] = d;
            return;
        }
}

static bool give(const copying *c)
{
    rlx_nest_plan *n = c->plan;
    const rlx_prim *one = rlx_int64(c->ctx, 1), *zero = rlx_int64(c->ctx, 0);
    size_t lead = BOX - c->count;
    for (size_t i = 0; i < BOX; i++) {
        const dimension *d = i < lead ? NULL : &c->at[i - lead];
        n->copy.extent[i] = d ? d->extent : one;
        n->copy.to[i] = d ? d->to : zero;
        n->copy.from[i] = d ? d->from : zero;
        for (size_t k = 0; d && k < n->count; k++)
            if (d->loops >> k & 1)
                n->loops[k].role = RLX_PLAN_BOX;
    }
    return one && zero;
}

bool rlx_plan_copying(rlx_context *ctx, rlx_nest_plan *plan)
{
    copying c = { .ctx = ctx, .plan = plan };
    bool fits = plan->accesses.len == 2 && plan->accesses.data[0].affine &&
                plan->accesses.data[1].affine && is_copy(plan);
    for (size_t i = 0; i < plan->count; i++)
        fits = fits && plan->loops[i].determined;
    if (!fits)
        return false;
    collect(&c);
    while (c.count > BOX)
        drop(&c, least_wanted(&c));
    order(&c);
    for (size_t i = 0; i < c.count; i++)
        if (!c.at[i].extent)
            return false;
    return give(&c);
}
