/* non_negative.c: sizes that are >= 0 because something has them. */
#include "analysis/analysis.h"

typedef struct collecting {
    rlx_context *ctx;
    rlx_prims *out;
    rlx_ptrmap seen;
} collecting;

static void take_size(void *user, const rlx_prim *p, bool is_size)
{
    collecting *c = user;
    int64_t value;
    if (!is_size || (rlx_int_literal(p, &value) && value >= 0) || rlx_ptrmap_has(&c->seen, p))
        return;
    if (rlx_ptrmap_put(&c->seen, p, 1))
        (void)rlx_vec_push(&c->ctx->memory, c->out, p);
}

static bool take_sizes(collecting *c, const rlx_node *n)
{
    const rlx_function *f = rlx_as_function(n);
    const rlx_var *v = rlx_as_var(n);
    const rlx_sinfo *s = v ? v->sinfo : n;
    bool good = true;
    for (size_t i = 0; good && f && i < f->num_params; i++)
        good = rlx_each_position(&c->ctx->memory, ((const rlx_var *)f->params[i])->sinfo,
                                 take_size, c);
    if (!f && s && rlx_family_of(s) == RLX_FAMILY_SINFO)
        good = rlx_each_position(&c->ctx->memory, s, take_size, c);
    return good && !c->ctx->diags.out_of_memory;
}

bool rlx_non_negative(rlx_context *ctx, const rlx_node *n, rlx_prims *out)
{
    collecting c = { .ctx = ctx, .out = out };
    rlx_ptrmap_init(&c.seen, &ctx->memory);
    bool good = take_sizes(&c, n);
    rlx_ptrmap_free(&c.seen);
    return good;
}
