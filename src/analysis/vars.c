/* vars.c: free, bound and all variables of a node, in order of first occurrence. One walk fills
 * them all. */
#include "analysis/analysis.h"

typedef struct collect {
    rlx_context *ctx;
    rlx_ptrmap seen;      /* variable -> bits */
    RLX_VEC(const rlx_node *) order;  /* by first occurrence */
} collect;
enum { MENTIONED = 1, BOUND = 2, PLACEHOLDER = 4 };

static enum rlx_step note(collect *c, const rlx_node *n, unsigned bit)
{
    uintptr_t bits = 0;
    bool known = rlx_ptrmap_find(&c->seen, n, &bits);
    bool good = rlx_ptrmap_put(&c->seen, n, bits | bit) &&
                (known || rlx_vec_push(&c->ctx->memory, &c->order, n));
    return good ? RLX_STEP_ON : RLX_STEP_STOP;
}

/* Relax variables: bound where they are defined. */
static enum rlx_step enter_var(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    if (rlx_as_var(n))
        return note(user, n, rlx_field_is_def(via) ? BOUND : MENTIONED);
    return n->kind == RLX_NODE_CONSTANT || n->kind == RLX_NODE_OP || rlx_node_is_closed(n)
               ? RLX_STEP_SKIP
               : RLX_STEP_ON;
}

static bool walk_vars(collect *c, const rlx_node *n)
{
    rlx_walker w = { .enter = enter_var, .user = c, .annotations = true, .unique = true };
    rlx_ptrmap_init(&c->seen, &c->ctx->memory);
    rlx_walk(&c->ctx->memory, n, &w, NULL);
    return !c->ctx->diags.out_of_memory;
}

/* Those of c->order whose bits under `mask` equal `want`. */
static bool pick(collect *c, uintptr_t mask, uintptr_t want, rlx_vars *out)
{
    for (size_t i = 0; i < c->order.len; i++) {
        uintptr_t bits = 0;
        rlx_ptrmap_find(&c->seen, c->order.data[i], &bits);
        if ((bits & mask) == want &&
            !rlx_vec_push(&c->ctx->memory, out, (const rlx_var *)c->order.data[i]))
            return false;
    }
    return true;
}

static bool collect_vars(rlx_context *ctx, const rlx_node *n, uintptr_t mask, uintptr_t want,
                         rlx_vars *out)
{
    collect c = { .ctx = ctx };
    bool good = walk_vars(&c, n) && pick(&c, mask, want, out);
    rlx_ptrmap_free(&c.seen);
    rlx_vec_free(&ctx->memory, &c.order);
    return good;
}

bool rlx_free_vars(rlx_context *ctx, const rlx_node *n, rlx_vars *out)
{
    return collect_vars(ctx, n, BOUND, 0, out);
}
bool rlx_bound_vars(rlx_context *ctx, const rlx_node *n, rlx_vars *out)
{
    return collect_vars(ctx, n, BOUND, BOUND, out);
}
bool rlx_all_vars(rlx_context *ctx, const rlx_node *n, rlx_vars *out)
{
    return collect_vars(ctx, n, 0, 0, out);
}

/* ---- shape variables: bound alone in parameters and casts, as binders of function
 * descriptions, and what TIR defines ---------- */

static void bind_position(void *user, const rlx_prim *p, bool is_size)
{
    if (rlx_position_var(p))
        note(user, (const rlx_node *)rlx_position_var(p), BOUND);
}

static enum rlx_step enter_size(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    collect *c = user;
    const rlx_function *f = rlx_as_function(n);
    const rlx_match_cast *cast = rlx_as_match_cast(n);
    const rlx_func_sinfo *s = rlx_as_func_sinfo(n);
    if (n->kind == RLX_NODE_PRIM_VAR)
        return note(c, n, rlx_field_is_def(via) ? BOUND : MENTIONED);
    for (size_t i = 0; f && i < f->num_params; i++)
        (void)rlx_each_position(&c->ctx->memory, ((const rlx_var *)f->params[i])->sinfo,
                                bind_position, c);
    if (cast)
        (void)rlx_each_position(&c->ctx->memory, cast->sinfo, bind_position, c);
    for (size_t i = 0; s && i < s->num_binders; i++)
        note(c, s->binders[i], BOUND | PLACEHOLDER);
    return c->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool collect_sizes(rlx_context *ctx, const rlx_node *n, uintptr_t mask, uintptr_t want,
                          rlx_prim_vars *out)
{
    collect c = { .ctx = ctx };
    rlx_walker w = { .enter = enter_size, .user = &c, .annotations = true, .unique = true };
    rlx_ptrmap_init(&c.seen, &ctx->memory);
    rlx_walk(&ctx->memory, n, &w, NULL);
    bool good = !ctx->diags.out_of_memory;
    for (size_t i = 0; good && i < c.order.len; i++) {
        uintptr_t bits = 0;
        rlx_ptrmap_find(&c.seen, c.order.data[i], &bits);
        if ((bits & mask) == want)
            good = rlx_vec_push(&ctx->memory, out, (const rlx_prim_var *)c.order.data[i]);
    }
    rlx_ptrmap_free(&c.seen);
    rlx_vec_free(&ctx->memory, &c.order);
    return good;
}

bool rlx_free_shape_vars(rlx_context *ctx, const rlx_node *n, rlx_prim_vars *out)
{
    return collect_sizes(ctx, n, BOUND, 0, out);
}
bool rlx_defined_shape_vars(rlx_context *ctx, const rlx_node *n, rlx_prim_vars *out)
{
    return collect_sizes(ctx, n, BOUND, BOUND, out);
}
bool rlx_scope_shape_vars(rlx_context *ctx, const rlx_node *n, rlx_prim_vars *out)
{
    return collect_sizes(ctx, n, BOUND | PLACEHOLDER, BOUND, out);
}
