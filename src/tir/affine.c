/* affine.c: an index as a base plus multiples of loop variables; folding substitution. */
#include "tir/tir_int.h"

/* ---- folding substitution ------------------------------------------------------------------- */

const rlx_node *rlx_tir_refold(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_binary *b = rlx_as_binary(n);
    if (b && b->node.kind <= RLX_NODE_MAX)
        return rlx_fold_binary(r->ctx, (enum rlx_node_kind)b->node.kind, b->a, b->b);
    if (n->kind == RLX_NODE_CAST)
        return rlx_fold_cast(r->ctx, ((const rlx_unary *)n)->dtype, ((const rlx_unary *)n)->a);
    return n;
}

void rlx_tir_folder_init(rlx_rewriter *r, rlx_context *ctx)
{
    rlx_rewriter_init(r, ctx);
    r->after = rlx_tir_refold;
}

/* ---- which variables ------------------------------------------------------------------------ */

static enum rlx_step find_var(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    return n->kind == RLX_NODE_PRIM_VAR && rlx_ptrmap_has(user, n) ? RLX_STEP_STOP : RLX_STEP_ON;
}

bool rlx_tir_mentions(rlx_context *ctx, const rlx_prim *p, const rlx_ptrmap *vars)
{
    if (!p || p->kind == RLX_NODE_INT_IMM || p->kind == RLX_NODE_FLOAT_IMM)
        return false;
    if (p->kind == RLX_NODE_PRIM_VAR)
        return rlx_ptrmap_has(vars, p);
    rlx_walker w = { .enter = find_var, .user = (void *)vars, .unique = true };
    return rlx_walk(&ctx->memory, p, &w, NULL) == RLX_STEP_STOP ||
           ctx->diags.out_of_memory; /* the careful answer */
}

bool rlx_tir_is_choice(const rlx_prim *p, const rlx_prim **cond, const rlx_prim **then, const rlx_prim **other)
{
    const rlx_prim_call *call = rlx_as_prim_call(p);
    const rlx_select *s = rlx_as_select(p);
    if (s)
        *cond = s->cond, *then = s->true_value, *other = s->false_value;
    else if (call && call->op && call->num_args == 3 && rlx_slice_is(rlx_string_slice(call->op), "if_then_else"))
        *cond = call->args[0], *then = call->args[1], *other = call->args[2];
    else
        return false;
    return true;
}

/* ---- affine view ---------------------------------------------------------------------------- */

typedef struct term { const rlx_prim *p, *scale; } term; /* scale NULL: 1 */
typedef struct affine_work {
    rlx_context *ctx;
    const rlx_prim *whole;
    rlx_ptrmap vars;                    /* variable -> index + 1 */
    rlx_ptrmap mentioning;              /* parts that mention one, once `looked` */
    unsigned asked;
    bool looked;
    RLX_VEC(term) pending;
    rlx_tir_affine *out;
} affine_work;

static const rlx_prim *scaled(affine_work *w, const rlx_prim *scale, const rlx_prim *p)
{
    return scale ? rlx_fold_mul(w->ctx, scale, p) : p;
}

static bool push(affine_work *w, const rlx_prim *p, const rlx_prim *scale)
{
    return p && rlx_vec_push(&w->ctx->memory, &w->pending, ((term){ p, scale }));
}

static bool add_to(affine_work *w, const rlx_prim **sum, const rlx_prim *p)
{
    if (p)
        *sum = *sum ? rlx_fold_add(w->ctx, *sum, p) : p;
    return p && *sum;
}

/* ---- which parts mention a variable: a part of a small expression is searched when it is asked
 * for; of a large one, where that would be a search for each term, all are found at once. */
#define MOST_SEARCHES 8

static enum rlx_step find_mentioning(void *user, const rlx_node *n, const rlx_field *via,
                                     const rlx_node *parent)
{
    const affine_work *w = user;
    if (!parent)
        return RLX_STEP_ON;
    return rlx_ptrmap_has(&w->mentioning, n) ? RLX_STEP_STOP : RLX_STEP_SKIP;
}

static enum rlx_step meet(void *user, const rlx_node *n, const rlx_field *via,
                          const rlx_node *parent)
{
    affine_work *w = user;
    if (rlx_ptrmap_has(&w->vars, n))
        (void)rlx_ptrmap_put(&w->mentioning, n, 1);
    return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* The parts of n were met before. */
static enum rlx_step judge(void *user, const rlx_node *n)
{
    affine_work *w = user;
    rlx_walker parts = { .enter = find_mentioning, .user = w };
    if (n->kind != RLX_NODE_BUFFER &&
        rlx_walk(&w->ctx->memory, n, &parts, NULL) == RLX_STEP_STOP)
        (void)rlx_ptrmap_put(&w->mentioning, n, 1);
    return w->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool mentions(affine_work *w, const rlx_prim *p)
{
    if (!w->looked && w->asked++ < MOST_SEARCHES)
        return rlx_tir_mentions(w->ctx, p, &w->vars);
    rlx_walker all = { .enter = meet, .leave = judge, .user = w, .unique = true };
    if (!w->looked)
        rlx_walk(&w->ctx->memory, w->whole, &all, NULL);
    w->looked = true;
    /* the careful answer */
    return w->ctx->diags.out_of_memory || rlx_ptrmap_has(&w->mentioning, p);
}

static bool add_product(affine_work *w, term t)
{
    const rlx_binary *b = (const rlx_binary *)t.p;
    if (!mentions(w, b->b))
        return push(w, b->a, scaled(w, t.scale, b->b));
    if (!mentions(w, b->a))
        return push(w, b->b, scaled(w, t.scale, b->a));
    return false;
}

/* An integer widened keeps its value; a narrowed one may not. */
static bool is_widening(const rlx_unary *c)
{
    rlx_dtype from = rlx_prim_dtype(c->a);
    return rlx_dtype_is_int(from) && rlx_dtype_code(c->dtype) == RELAX_DTYPE_INT &&
           rlx_dtype_lanes(from) == 1 && rlx_dtype_bits(c->dtype) >= 32 &&
           rlx_dtype_code(from) == RELAX_DTYPE_INT && rlx_dtype_bits(from) >= 32 &&
           rlx_dtype_bits(c->dtype) >= rlx_dtype_bits(from);
}

/* c ? 0 : x, where c mentions no variable, is x times 0 or 1. *x: NULL, it is not of that form. */
static const rlx_prim *factor_of(affine_work *w, const rlx_prim *p, const rlx_prim **x)
{
    const rlx_prim *cond, *then, *other;
    *x = NULL;
    if (!rlx_tir_is_choice(p, &cond, &then, &other) || !rlx_is_int_value(then, 0) || mentions(w, cond))
        return NULL;
    *x = other;
    return rlx_fold_select(w->ctx, cond, then, rlx_int(w->ctx, rlx_prim_dtype(p), 1));
}

static bool add_term(affine_work *w, term t)
{
    rlx_dtype dtype = rlx_prim_dtype(t.p);
    uintptr_t at;
    const rlx_prim *one = t.scale ? t.scale : rlx_int(w->ctx, dtype, 1);
    if (rlx_ptrmap_find(&w->vars, t.p, &at))
        return add_to(w, &w->out->coeff[at - 1], one);
    if (!mentions(w, t.p))
        return add_to(w, &w->out->base, scaled(w, t.scale, t.p));
    const rlx_binary *b = rlx_as_binary(t.p);
    if (t.p->kind == RLX_NODE_ADD)
        return push(w, b->b, t.scale) && push(w, b->a, t.scale);
    if (t.p->kind == RLX_NODE_SUB)
        return push(w, b->b, rlx_fold_mul(w->ctx, one, rlx_int(w->ctx, dtype, -1))) &&
               push(w, b->a, t.scale);
    if (t.p->kind == RLX_NODE_MUL)
        return add_product(w, t);
    if (t.p->kind == RLX_NODE_CAST && is_widening((const rlx_unary *)t.p))
        return push(w, ((const rlx_unary *)t.p)->a, t.scale);
    const rlx_prim *x, *factor = factor_of(w, t.p, &x);
    return x && push(w, x, scaled(w, t.scale, factor));
}

bool rlx_tir_affine_of(rlx_context *ctx, const rlx_prim *p, const rlx_prim *const *vars,
                       size_t num_vars, rlx_tir_affine *out)
{
    affine_work w = { .ctx = ctx, .whole = p, .out = out };
    *out = (rlx_tir_affine){ 0 };
    if (!p || num_vars > RLX_COUNT(out->coeff) || !rlx_dtype_is_int(rlx_prim_dtype(p)))
        return false;
    rlx_ptrmap_init(&w.vars, &ctx->memory);
    rlx_ptrmap_init(&w.mentioning, &ctx->memory);
    bool ok = push(&w, p, NULL);
    for (size_t i = 0; i < num_vars && ok; i++)
        ok = rlx_ptrmap_put(&w.vars, vars[i], i + 1);
    while (ok && w.pending.len) {
        term t = rlx_vec_pop(&w.pending);
        ok = add_term(&w, t);
    }
    if (ok && !out->base)
        ok = (out->base = rlx_int(ctx, rlx_prim_dtype(p), 0)) != NULL;
    rlx_vec_free(&ctx->memory, &w.pending);
    rlx_ptrmap_free(&w.vars);
    rlx_ptrmap_free(&w.mentioning);
    return ok;
}
