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

enum { TO, FROM };

typedef struct copying {
    rlx_context *ctx;
    rlx_nest_plan *plan;
    rlx_plan_dimensions all;
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
        rlx_plan_share_memory(from, to) || !to->literal || !from->literal)
        return false;
    rlx_dtype have = rlx_as_buffer(from->buffer)->dtype, want = rlx_as_buffer(to->buffer)->dtype;
    enum rlx_kernel_elem a = rlx_kernel_elem_of(want), b = rlx_kernel_elem_of(have);
    return rlx_kernel_copies(a, b) &&
           (converts ? a != b && rlx_prim_dtype(value) == want : have == want);
}

/* Dimensions of the box; those of one element are none. */
static void collect(copying *c)
{
    const rlx_plan_access *const sides[] = { &c->plan->accesses.data[0], &c->plan->accesses.data[1] };
    rlx_plan_dimensions *d = &c->all;
    rlx_plan_collect(c->ctx, c->plan, sides, RLX_COUNT(sides), d);
    for (size_t i = d->count; i-- > 0 && d->count > 1;)
        if (rlx_is_int_value(d->at[i].extent, 1))
            rlx_plan_drop(d, i);
}

/* The outermost dimension that may stay a loop. */
static size_t least_wanted(const copying *c)
{
    size_t i = 0;
    while (i + 1 < c->all.count &&
           (rlx_is_int_value(c->all.at[i].stride[TO], 1) || rlx_is_int_value(c->all.at[i].stride[FROM], 1)))
        i++;
    return i;
}

/* The dimension along which what is written is contiguous comes last. */
static void order(copying *c)
{
    for (size_t i = 0; i + 1 < c->all.count; i++)
        if (rlx_is_int_value(c->all.at[i].stride[TO], 1)) {
            rlx_plan_dimension d = c->all.at[i];
            rlx_plan_drop(&c->all, i);
            c->all.at[c->all.count++] = d;
            return;
        }
}

static bool give(const copying *c)
{
    rlx_nest_plan *n = c->plan;
    const rlx_prim *one = rlx_int64(c->ctx, 1), *zero = rlx_int64(c->ctx, 0);
    size_t lead = BOX - c->all.count;
    for (size_t i = 0; i < BOX; i++) {
        const rlx_plan_dimension *d = i < lead ? NULL : &c->all.at[i - lead];
        n->copy.extent[i] = d ? d->extent : one;
        n->copy.to[i] = d ? d->stride[TO] : zero;
        n->copy.from[i] = d ? d->stride[FROM] : zero;
        if (d)
            rlx_plan_take(n, d);
    }
    return one && zero;
}

/* Are runs of more than so many elements contiguous on both sides, or known to be that long where they are written? */
static bool has_long_runs(const copying *c, int64_t length)
{
    int64_t elements;
    const rlx_plan_dimension *last = c->all.count ? &c->all.at[c->all.count - 1] : NULL;
    bool runs = last && rlx_is_int_value(last->stride[TO], 1), known = runs && rlx_int_literal(last->extent, &elements);
    return runs && (known ? elements > length : rlx_is_int_value(last->stride[FROM], 1));
}

bool rlx_plan_copying(rlx_context *ctx, rlx_nest_plan *plan, int64_t longer)
{
    copying c = { .ctx = ctx, .plan = plan };
    bool fits = plan->accesses.len == 2 && plan->accesses.data[0].affine &&
                plan->accesses.data[1].affine && is_copy(plan);
    for (size_t i = 0; i < plan->count; i++)
        fits = fits && plan->loops[i].determined;
    if (!fits)
        return false;
    collect(&c);
    while (c.all.count > BOX)
        rlx_plan_drop(&c.all, least_wanted(&c));
    order(&c);
    for (size_t i = 0; i < c.all.count; i++)
        if (!c.all.at[i].extent)
            return false;
    return (!longer || has_long_runs(&c, longer)) && give(&c);
}
