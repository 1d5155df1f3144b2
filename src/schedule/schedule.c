/* schedule.c: a PrimFunc nest by nest. */
#include "schedule/schedule_int.h"

/* A nest that has a schedule is replaced; of others the loops inside are looked at. */
static const rlx_node *replace(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_for_stmt *nest = rlx_as_for_stmt(n);
    const rlx_stmt *now = nest ? rlx_schedule_contraction(r->ctx, nest) : n;
    if (!now)
        r->failed = true;
    return now == n ? NULL : now;
}

const rlx_prim_func *rlx_schedule(rlx_context *ctx, const rlx_prim_func *f)
{
    if (rlx_flag_attr(f->attrs, "tir.is_scheduled"))
        return f;
    size_t errors = rlx_error_count(ctx);
    const rlx_prim_func *plain = rlx_tir_lower_blocks(ctx, f);
    if (!plain)
        return rlx_error_count(ctx) == errors ? f : NULL;
    rlx_rewriter r;
    rlx_rewriter_init(&r, ctx);
    r.before = replace;
    const rlx_stmt *body = rlx_rewrite(&r, plain->body);
    rlx_rewriter_free(&r);
    if (!body || body == plain->body)
        return body ? f : NULL;
    rlx_prim_func *out = rlx_node_new(ctx, RLX_NODE_PRIM_FUNC);
    const rlx_attr *yes = rlx_attr_bool_new(ctx, true);
    if (!out || !yes)
        return NULL;
    rlx_node head = out->node;
    *out = *plain;
    out->node = head;
    out->body = body;
    out->attrs = rlx_attrs_with(ctx, f->attrs, "tir.is_scheduled", yes);
    return out->attrs ? out : NULL;
}
