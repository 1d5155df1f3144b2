/*- plan_pack.c: nests that fill panels.
 *
 *     for p, d.., l:    panel[p, d.., l] = if_then_else(lane < count, X[.. lane .. d ..], 0)
 *
 * l runs over the 8 or 32 lanes of a panel; depth loops are those that the panel goes on in, as long
 * as they do not move the lane. The lane is an expression with l in it, or in each index either its
 * quotient or its remainder by one width: two digits of one number (the pixels of an image).
 *
 * Bytes may lie in fours of the outermost depth digit, what the last four lacks being 0:
 *
 *     for p, q, d.., l, r:    panel[p, q, d.., l, r] = if_then_else(lane < count and q * 4 + r < steps, X[.. q * 4 + r ..], 0)
 */
#include "arith/arith.h"
#include "schedule/plan_int.h"

/* Where X is read, by the loops and the two digits of the lane, which come behind them. */
typedef struct packing {
    rlx_context *ctx;
    const rlx_plan_scope *scope;
    rlx_nest_plan *plan;
    rlx_plan_pack *pack;
    const rlx_prim *lane_var;
    const rlx_prim *number, *width;         /* what the digits are of; NULL: there are none */
    const rlx_prim *quotient, *remainder;   /* variables that stand for the digits */
    rlx_rewriter digits;
    rlx_tir_affine index[RLX_TIR_MAX_DIMS]; /* of X */
    const rlx_prim *guard, *step_guard;     /* NULL: none */
    rlx_tir_affine lane, guarded, limit;    /* of the digits' number, of `guarded < limit` */
    bool bad;
} packing;

#define QUOTIENT(p) ((p)->plan->count)
#define REMAINDER(p) ((p)->plan->count + 1)

/* ---- the statement -------------------------------------------------------------------------- */

static bool is_zero(const rlx_prim *v)
{
    const rlx_float_imm *f = rlx_as_float_imm(v);
    return rlx_is_int_value(v, 0) || (f && rlx_double_bits(f->value) == 0);
}

/* X[..], widened or not, in range or 0. */
static const rlx_buffer_load *match_value(const rlx_prim *value, const rlx_prim **guard)
{
    const rlx_prim_call *c = rlx_as_prim_call(value);
    *guard = NULL;
    if (c && c->op && c->num_args == 3 &&
        rlx_slice_is(rlx_string_slice(c->op), "if_then_else") && is_zero(c->args[2])) {
        *guard = c->args[0];
        value = c->args[1];
    }
    if (value->kind == RLX_NODE_CAST)
        value = ((const rlx_unary *)value)->a;
    return rlx_as_buffer_load(value);
}

static bool elements_fit(const rlx_buffer *to, const rlx_buffer *from)
{
    return from->dtype != RELAX_BOOL && rlx_kernel_copies(rlx_kernel_elem_of(to->dtype), rlx_kernel_elem_of(from->dtype));
}

/* ---- loops of the panel --------------------------------------------------------------------- */

static int loop_with_stride(const rlx_nest_plan *n, const rlx_prim *stride)
{
    for (int i = 0; i < (int)n->count; i++)
        if (n->loops[i].role == RLX_PLAN_LOOP && n->accesses.data[0].offset.coeff[i] == stride)
            return i;
    return -1;
}

static bool is_lane(const rlx_nest_plan *n, int loop)
{
    return loop >= 0 && (rlx_is_int_value(n->loops[loop].extent, 8) ||
                         rlx_is_int_value(n->loops[loop].extent, 32));
}

/* The lanes, beside each other or in words of four bytes. */
static bool find_lane(packing *p)
{
    rlx_nest_plan *n = p->plan;
    int lane = loop_with_stride(n, rlx_int64(p->ctx, 1));
    p->pack->four = -1;
    if (lane >= 0 && rlx_is_int_value(n->loops[lane].extent, 4) &&
        rlx_kernel_is_byte(rlx_kernel_elem_of(rlx_as_buffer(n->accesses.data[0].buffer)->dtype))) {
        p->pack->four = lane;
        lane = loop_with_stride(n, rlx_int64(p->ctx, 4));
    }
    if (!is_lane(n, lane))
        return false;
    p->pack->lane = lane;
    p->pack->panel = ((const rlx_int_imm *)n->loops[lane].extent)->value;
    p->lane_var = n->loops[lane].var;
    return true;
}

static bool moves(const rlx_tir_affine *a, size_t loop)
{
    return a->coeff[loop] && !rlx_is_int_value(a->coeff[loop], 0);
}

static bool moves_lane(const packing *p, size_t loop)
{
    return (p->number && moves(&p->lane, loop)) ||
           (p->guard && (moves(&p->guarded, loop) || moves(&p->limit, loop)));
}

/* Does loop q go on in each index of X where the loop of four ends? */
static bool counts_fours(const packing *p, const rlx_plan_access *x, int q)
{
    for (size_t d = 0; d < x->num_indices; d++) {
        const rlx_prim *one = p->index[d].coeff[p->pack->four], *four = p->index[d].coeff[q];
        int64_t step = 0, next = 0;
        if ((one && !rlx_int_literal(one, &step)) || (four && !rlx_int_literal(four, &next)) ||
            next % 4 != 0 || step != next / 4)
            return false;
    }
    return true;
}

/* Loops of depth, outermost first: the first counts fours, or there is only one four. */
static void place_fours(packing *p, const rlx_plan_access *x, const int *found, int count)
{
    rlx_plan_pack *k = p->pack;
    bool counts = count > 0 && counts_fours(p, x, found[count - 1]);
    int least = counts || count < 3 ? 0 : 1; /* three digits beside that of the only four are one too many */
    for (int i = 0; i < 3; i++)
        k->depth[i] = -1;
    for (int i = 0, to = !counts; i < count - least; i++)
        k->depth[to++] = found[count - least - 1 - i];
}

/* Up to three loops in which the panel goes on; those that move the lane stay loops. */
static void find_depth(packing *p, const rlx_plan_access *x)
{
    rlx_nest_plan *n = p->plan;
    const rlx_prim *stride = rlx_int64(p->ctx, p->pack->panel * (p->pack->four >= 0 ? 4 : 1));
    int found[3], count = 0, loop;
    while (count < 3 && (loop = loop_with_stride(n, stride)) >= 0 && loop != p->pack->lane &&
           !moves_lane(p, (size_t)loop)) {
        found[count++] = loop;
        stride = rlx_fold_mul(p->ctx, n->loops[loop].extent, stride);
    }
    if (p->pack->four >= 0)
        place_fours(p, x, found, count);
    for (int i = 0; i < 3 && p->pack->four < 0; i++)
        p->pack->depth[i] = i < 3 - count ? -1 : found[2 - i];
}

/* ---- the lane ------------------------------------------------------------------------------- */

static bool mentions(packing *p, const rlx_prim *e, const rlx_prim *var)
{
    rlx_tir_affine a;
    return !rlx_tir_affine_of(p->ctx, e, &var, 1, &a) || moves(&a, 0);
}

static bool mentions_lane(packing *p, const rlx_prim *e) { return mentions(p, e, p->lane_var); }

/* What bounds the steps in fours becomes a guard of its own. */
static void split_guard(packing *p)
{
    const rlx_binary *both = p->guard && p->guard->kind == RLX_NODE_AND ? rlx_as_binary(p->guard) : NULL;
    const rlx_prim *parts[2] = { both ? both->a : p->guard, both ? both->b : NULL };
    for (int i = 0; i < 2 && p->pack->four >= 0 && !p->step_guard; i++) {
        const rlx_binary *less = parts[i] && parts[i]->kind == RLX_NODE_LT ? rlx_as_binary(parts[i]) : NULL;
        if (less && mentions(p, less->a, p->plan->loops[p->pack->four].var)) {
            p->step_guard = parts[i];
            p->guard = parts[1 - i];
        }
    }
}

/* A quotient or remainder with the lane in it becomes a variable. */
static const rlx_node *take_digit(rlx_rewriter *r, const rlx_node *n)
{
    packing *p = r->user;
    if (n->kind != RLX_NODE_FLOOR_DIV && n->kind != RLX_NODE_FLOOR_MOD)
        return NULL;
    const rlx_binary *b = rlx_as_binary(n);
    if (!mentions_lane(p, b->a) || mentions_lane(p, b->b))
        return NULL;
    p->bad |= p->number && (p->number != b->a || p->width != b->b);
    p->number = b->a;
    p->width = b->b;
    return n->kind == RLX_NODE_FLOOR_DIV ? p->quotient : p->remainder;
}

static bool affine(packing *p, const rlx_prim *e, rlx_tir_affine *out)
{
    const rlx_prim *vars[RLX_PLAN_MAX_NEST + 2];
    for (size_t i = 0; i < p->plan->count; i++)
        vars[i] = p->plan->loops[i].var;
    vars[QUOTIENT(p)] = p->quotient;
    vars[REMAINDER(p)] = p->remainder;
    if (p->plan->count + 2 > RLX_COUNT(out->coeff) ||
        !rlx_tir_affine_of(p->ctx, e, vars, p->plan->count + 2, out))
        return false;
    out->base = rlx_fold_cast(p->ctx, RELAX_INT64, out->base);
    return out->base != NULL;
}

static bool read_indices(packing *p, const rlx_plan_access *x)
{
    for (size_t d = 0; d < x->num_indices; d++) {
        const rlx_prim *now = rlx_rewrite(&p->digits, x->indices[d]);
        if (!now || !affine(p, now, &p->index[d]))
            return false;
    }
    /* digits of the lane or the lane itself, not both */
    for (size_t d = 0; d < x->num_indices && p->number; d++)
        p->bad |= moves(&p->index[d], (size_t)p->pack->lane);
    return !p->bad;
}

/* The lane as a number of digits, and as what is compared: each goes up by one with the loop of
 * lanes. */
static bool read_lane(packing *p)
{
    int lane = p->pack->lane;
    rlx_tir_affine width;
    if (p->number && (!affine(p, p->number, &p->lane) || !affine(p, p->width, &width) ||
                      !rlx_is_int_value(p->lane.coeff[lane], 1)))
        return false;
    for (size_t i = 0; i < p->plan->count && p->number; i++)
        if (moves(&width, i))
            return false;
    if (!p->guard)
        return true;
    const rlx_binary *b = p->guard->kind == RLX_NODE_LT ? rlx_as_binary(p->guard) : NULL;
    return b && affine(p, b->a, &p->guarded) && affine(p, b->b, &p->limit) &&
           rlx_is_int_value(p->guarded.coeff[lane], 1) && !moves(&p->limit, (size_t)lane);
}

/* The expression with the lane at 0 and the loops that stay as they are. */
static const rlx_prim *at_first_lane(packing *p, const rlx_tir_affine *a)
{
    const rlx_prim *at = a->base;
    for (int i = 0; i < (int)p->plan->count; i++)
        if (moves(a, (size_t)i) && i != p->pack->lane)
            at = rlx_plan_add_product(p->ctx, at, p->plan->loops[i].var, a->coeff[i]);
    return at;
}

/* The steps of the digit in fours: as many as its loops have, or those below a limit that needs as many fours. */
static bool place_steps(packing *p)
{
    rlx_plan_pack *k = p->pack;
    rlx_tir_affine step, limit;
    int q = k->depth[0];
    if (k->four < 0)
        return true;
    const rlx_prim *fours = q < 0 ? rlx_int64(p->ctx, 1) : p->plan->loops[q].extent;
    k->steps = rlx_fold_mul(p->ctx, fours, rlx_int64(p->ctx, 4));
    if (!p->step_guard)
        return k->steps != NULL;
    const rlx_binary *b = p->step_guard->kind == RLX_NODE_LT ? rlx_as_binary(p->step_guard) : NULL;
    if (!b || !affine(p, b->a, &step) || !affine(p, b->b, &limit) || !rlx_is_int_value(step.base, 0) ||
        !rlx_is_int_value(step.coeff[k->four], 1))
        return false;
    for (size_t i = 0; i < p->plan->count + 2; i++)
        if (moves(&limit, i) || (moves(&step, i) && (int)i != k->four &&
                                 ((int)i != q || !rlx_is_int_value(step.coeff[i], 4))))
            return false;
    k->steps = limit.base;
    return (q < 0 || moves(&step, (size_t)q)) && k->steps &&
           rlx_prove_compare(p->ctx, NULL, RLX_NODE_EQ, fours,
                             rlx_fold_binary(p->ctx, RLX_NODE_FLOOR_DIV,
                                             rlx_fold_add(p->ctx, k->steps, rlx_int64(p->ctx, 3)),
                                             rlx_int64(p->ctx, 4))) == RLX_TRUE;
}

static bool place_lane(packing *p)
{
    rlx_plan_pack *k = p->pack;
    k->start = p->number ? at_first_lane(p, &p->lane) : rlx_int64(p->ctx, 0);
    k->width = p->number ? rlx_fold_cast(p->ctx, RELAX_INT64, p->width)
                         : rlx_int64(p->ctx, k->panel);
    k->lanes = rlx_int64(p->ctx, k->panel);
    if (p->guard)
        k->lanes = rlx_fold_binary(p->ctx, RLX_NODE_MIN, k->lanes,
                                   rlx_fold_sub(p->ctx, at_first_lane(p, &p->limit),
                                                at_first_lane(p, &p->guarded)));
    return k->start && k->width && k->lanes;
}

/* ---- addresses ------------------------------------------------------------------------------ */

/* Strides of the lane and of depth, and where the first lane is read. */
static bool find_addresses(packing *p, const rlx_plan_access *x)
{
    const rlx_buffer *b = rlx_as_buffer(x->buffer);
    const rlx_prim *shape[RLX_TIR_MAX_DIMS], *strides[RLX_TIR_MAX_DIMS],
        *zero = rlx_int64(p->ctx, 0);
    rlx_plan_pack *k = p->pack;
    for (size_t d = 0; d < b->num_shape; d++)
        shape[d] = rlx_fold_cast(p->ctx, RELAX_INT64, b->shape[d]);
    if (!rlx_plan_strides(p->ctx, shape, b->num_shape, strides))
        return false;
    k->from = k->high = k->low = zero;
    for (int i = 0; i < 3; i++)
        k->depth_stride[i] = zero;
    for (size_t d = 0; d < x->num_indices; d++) {
        const rlx_tir_affine *a = &p->index[d];
        k->from = rlx_plan_add_product(p->ctx, k->from, a->base, strides[d]);
        for (size_t i = 0; i < p->plan->count + 2; i++) {
            const rlx_prim **sum = i == QUOTIENT(p) ? &k->high
                                   : i == REMAINDER(p) || (int)i == k->lane ? &k->low
                                                                            : NULL;
            for (int j = 0; j < 3; j++)
                if (k->depth[j] == (int)i)
                    sum = &k->depth_stride[j];
            if (k->four >= 0 && k->depth[0] == (int)i)
                continue; /* four times what the loop of four moves */
            if (k->four == (int)i)
                sum = &k->depth_stride[0];
            if (a->coeff[i])
                *(sum ? sum : &k->from) = rlx_plan_add_product(
                    p->ctx, sum ? *sum : k->from,
                    sum ? a->coeff[i]
                        : rlx_fold_mul(p->ctx, p->plan->loops[i].var, a->coeff[i]),
                    strides[d]);
        }
    }
    return k->from && k->high && k->low;
}

/* ---- ranges --------------------------------------------------------------------------------- */

static const rlx_prim *minus_one(packing *p, const rlx_prim *e)
{
    return rlx_fold_sub(p->ctx, e, rlx_int64(p->ctx, 1));
}

/* Least and greatest index of a dimension in one iteration of the loops that stay. False: not known,
 * or not told from what the instruction reads. */
static bool find_range(packing *p, size_t d, const rlx_prim *size)
{
    rlx_plan_pack *k = p->pack;
    const rlx_tir_affine *a = &p->index[d];
    const rlx_prim *low = a->base, *high = low,
                   *end = rlx_fold_add(p->ctx, k->start, minus_one(p, k->lanes));
    for (size_t i = 0; i < p->plan->count + 2; i++) {
        const rlx_prim *first = rlx_int64(p->ctx, 0), *last;
        bool deep = (int)i == k->depth[0] || (int)i == k->depth[1] || (int)i == k->depth[2];
        int64_t c;
        if (!moves(a, i) || (k->four >= 0 && (int)i == k->depth[0]))
            continue;
        if (i == QUOTIENT(p)) {
            first = rlx_fold_binary(p->ctx, RLX_NODE_FLOOR_DIV, k->start, k->width);
            last = rlx_fold_binary(p->ctx, RLX_NODE_FLOOR_DIV, end, k->width);
        } else if (i == REMAINDER(p))
            last = minus_one(p, k->width);
        else if ((int)i == k->lane)
            last = minus_one(p, k->lanes);
        else if ((int)i == k->four)
            last = minus_one(p, k->steps);
        else if (deep)
            last = minus_one(p, p->plan->loops[i].extent);
        else
            first = last = p->plan->loops[i].var;
        if (!rlx_int_literal(a->coeff[i], &c))
            return false;
        low = rlx_plan_add_product(p->ctx, low, c < 0 ? last : first, a->coeff[i]);
        high = rlx_plan_add_product(p->ctx, high, c < 0 ? first : last, a->coeff[i]);
    }
    if (!low || !high)
        return false;
    const rlx_scope *known = p->scope->ranges;
    bool proved = rlx_prove_compare(p->ctx, known, RLX_NODE_GE, low, rlx_int64(p->ctx, 0)) == RLX_TRUE &&
                  rlx_prove_compare(p->ctx, known, RLX_NODE_LT, high, size) == RLX_TRUE;
    /* a remainder may not take all of its values: only what holds for all may be said of it */
    if (!proved && moves(a, REMAINDER(p)))
        return false;
    k->least[d] = proved ? NULL : low;
    k->greatest[d] = high;
    return true;
}

static bool find_ranges(packing *p, const rlx_plan_access *x)
{
    const rlx_buffer *b = rlx_as_buffer(x->buffer);
    for (size_t d = 0; d < x->num_indices; d++)
        if (!find_range(p, d, rlx_fold_cast(p->ctx, RELAX_INT64, b->shape[d])))
            return false;
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool read_nest(packing *p)
{
    rlx_nest_plan *n = p->plan;
    const rlx_plan_access *to = &n->accesses.data[0], *from = &n->accesses.data[1];
    const rlx_buffer_store *s = rlx_as_buffer_store(n->body);
    const rlx_buffer_load *load = s ? match_value(s->value, &p->guard) : NULL;
    if (!load || s->predicate || load->predicate || &load->node != from->node ||
        rlx_plan_share_memory(from, to) || !to->literal || from->num_indices > RLX_TIR_MAX_DIMS ||
        !elements_fit(rlx_as_buffer(to->buffer), rlx_as_buffer(from->buffer)) || !find_lane(p))
        return false;
    split_guard(p);
    if (!read_indices(p, from) || !read_lane(p))
        return false;
    if (p->pack->four >= 0 && moves_lane(p, (size_t)p->pack->four))
        return false;
    find_depth(p, from);
    return place_steps(p) && place_lane(p) && find_addresses(p, from) && find_ranges(p, from);
}

bool rlx_plan_packing(rlx_context *ctx, const rlx_plan_scope *scope, rlx_nest_plan *plan)
{
    packing p = { .ctx = ctx, .scope = scope, .plan = plan, .pack = &plan->pack };
    bool fits = plan->accesses.len == 2 && plan->accesses.data[0].affine;
    for (size_t i = 0; i < plan->count; i++)
        fits = fits && plan->loops[i].determined && rlx_is_int_value(plan->loops[i].min, 0);
    if (!fits)
        return false;
    rlx_prim_var *q = rlx_prim_var_new(ctx, rlx_string_z(ctx, "high"), RELAX_INT64, RLX_NO_PLACE),
                 *r = rlx_prim_var_new(ctx, rlx_string_z(ctx, "low"), RELAX_INT64, RLX_NO_PLACE);
    if (!q || !r)
        return false;
    p.quotient = &q->node;
    p.remainder = &r->node;
    rlx_tir_folder_init(&p.digits, ctx);
    p.digits.before = take_digit;
    p.digits.user = &p;
    bool ok = read_nest(&p);
    rlx_rewriter_free(&p.digits);
    return ok;
}
