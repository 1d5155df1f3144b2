/*- digits.c: loops whose digits are what a nest asks for become two.
 *
 *     for i < 12:  Y[i] = X[i % 4]        ->    for h < 3, l < 4:  Y[h * 4 + l] = X[l]
 *     for i < 12:  Y[i] = X[i // 4]       ->    for h < 3, l < 4:  Y[h * 4 + l] = X[h]
 *
 * What repeats elements is a copy then, and needs no division; a sum of products over groups of channels has a loop over the groups.
 */
#include "schedule/plan_int.h"
#include "schedule/schedule_int.h"

enum { MOST_SPLIT = 8 };

typedef struct splitting {
    rlx_context *ctx;
    const rlx_nest_plan *plan;
    int loop;                        /* whose digits: -1: none */
    int64_t radix;                   /* of the lower one, which is a divisor of how often it runs */
    const rlx_prim *high, *low;
} splitting;

/* v // c or v % c, v a loop from 0 that runs a multiple of c times: which loop. */
static int digit_of(const rlx_nest_plan *n, const rlx_node *p, int64_t *radix)
{
    const rlx_binary *b = p->kind == RLX_NODE_FLOOR_DIV || p->kind == RLX_NODE_FLOOR_MOD ? rlx_as_binary(p) : NULL;
    int64_t extent;
    if (!b || !rlx_int_literal(b->b, radix) || *radix < 2)
        return -1;
    for (int i = 0; i < (int)n->count; i++)
        if (n->loops[i].var == b->a)
            return rlx_is_int_value(n->loops[i].min, 0) && rlx_int_literal(n->loops[i].extent, &extent) && extent % *radix == 0 &&
                           extent > *radix
                       ? i
                       : -1;
    return -1;
}

static enum rlx_step find_digit(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    splitting *s = user;
    int64_t radix = 0;
    int loop = digit_of(s->plan, n, &radix);
    if (loop >= 0 && s->loop < 0) {
        s->loop = loop;
        s->radix = radix;
    }
    return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : s->loop >= 0 ? RLX_STEP_STOP : RLX_STEP_ON;
}

static const rlx_node *replace_digit(rlx_rewriter *r, const rlx_node *n)
{
    const splitting *s = r->user;
    int64_t radix = 0;
    if (n->kind == RLX_NODE_BUFFER)
        return n; /* the same wherever it is mentioned */
    return digit_of(s->plan, n, &radix) != s->loop || radix != s->radix ? NULL
           : n->kind == RLX_NODE_FLOOR_DIV                              ? s->high
                                                                         : s->low;
}

static const rlx_prim *digit(rlx_context *ctx, const rlx_prim_var *of, const char *end)
{
    rlx_prim_var *v = NULL;
    const rlx_string *name = rlx_string_z(ctx, end);
    if (name)
        v = rlx_prim_var_new(ctx, name, of->dtype, of->place);
    return v ? &v->node : NULL;
}

/* The nest with that loop as two. NULL: out of memory. */
static const rlx_for_stmt *split_loop(splitting *s, const rlx_for_stmt *nest)
{
    rlx_context *ctx = s->ctx;
    const rlx_for_stmt *loops[RLX_PLAN_MAX_NEST];
    const rlx_stmt *body = &nest->node;
    for (size_t i = 0; i < s->plan->count; i++, body = ((const rlx_for_stmt *)body)->body)
        loops[i] = (const rlx_for_stmt *)body;
    const rlx_prim_var *var = rlx_as_prim_var(loops[s->loop]->loop_var);
    const rlx_dtype dtype = var->dtype;
    int64_t extent = 0;
    (void)rlx_int_literal(s->plan->loops[s->loop].extent, &extent);
    s->high = digit(ctx, var, "h");
    s->low = digit(ctx, var, "l");
    const rlx_prim *radix = rlx_int(ctx, dtype, s->radix), *whole = NULL;
    if (s->high && s->low && radix)
        whole = rlx_fold_mul(ctx, s->high, radix);
    whole = whole ? rlx_fold_add(ctx, whole, s->low) : NULL;
    rlx_rewriter r;
    rlx_tir_folder_init(&r, ctx);
    r.before = replace_digit;
    r.user = s;
    body = whole && rlx_ptrmap_put(&r.map, &var->node, (uintptr_t)whole) ? rlx_rewrite(&r, body) : NULL;
    rlx_rewriter_free(&r);
    for (size_t i = s->plan->count; i-- > 0 && body;) {
        const rlx_for_stmt *old = loops[i];
        const rlx_prim *zero = rlx_int(ctx, dtype, 0), *high = rlx_int(ctx, dtype, extent / s->radix);
        if ((int)i != s->loop)
            body = rlx_for(ctx, rlx_as_prim_var(old->loop_var), old->min, old->extent, old->for_kind, body, old->place);
        else if ((body = rlx_for(ctx, rlx_as_prim_var(s->low), zero, radix, RLX_FOR_SERIAL, body, old->place)) != NULL)
            body = rlx_for(ctx, rlx_as_prim_var(s->high), zero, high, old->for_kind, body, old->place);
    }
    return body ? rlx_as_for_stmt(body) : NULL;
}

/* A nest of one store in strips, with divisions. */
static const rlx_for_stmt *split_once(rlx_context *ctx, const rlx_for_stmt *nest)
{
    rlx_nest_plan plan;
    splitting s = { .ctx = ctx, .plan = &plan, .loop = -1 };
    const rlx_for_stmt *out = NULL;
    bool ok = rlx_plan_nest(ctx, &rlx_plan_everywhere, nest, &plan) && plan.form == RLX_PLAN_STRIP && plan.count + 1 < RLX_PLAN_MAX_NEST &&
              rlx_as_buffer_store(plan.body);
    rlx_walker w = { .enter = find_digit, .user = &s, .unique = true };
    if (ok)
        rlx_walk(&ctx->memory, plan.body, &w, NULL);
    if (ok && s.loop >= 0)
        out = split_loop(&s, nest);
    rlx_nest_plan_free(ctx, &plan);
    return out;
}

static const rlx_stmt *split(rlx_context *ctx, const rlx_for_stmt *nest)
{
    const rlx_for_stmt *now = nest;
    rlx_nest_plan plan;
    bool better = false;
    for (int i = 0; i < MOST_SPLIT; i++) {
        const rlx_for_stmt *next = split_once(ctx, now);
        if (!next)
            break;
        now = next;
    }
    if (now == nest)
        return NULL;
    /* others gain nothing: strips would be shorter */
    better = rlx_plan_nest(ctx, &rlx_plan_everywhere, now, &plan) &&
             (plan.form == RLX_PLAN_COPY || (plan.form == RLX_PLAN_FUSED && plan.fused.contract));
    rlx_nest_plan_free(ctx, &plan);
    return better ? &now->node : NULL;
}

const rlx_stmt *rlx_split_digits(rlx_context *ctx, const rlx_stmt *body) { return rlx_rewrite_nests(ctx, body, split); }
