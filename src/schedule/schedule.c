/* schedule.c: a PrimFunc nest by nest. */
#include "schedule/schedule_int.h"

/* A nest with the one in front of it, which may give it its first values. *took: that one is part of what comes back. */
static const rlx_stmt *schedule_nest(rlx_rewriter *r, const rlx_stmt *before, const rlx_stmt *s,
                                     bool *took)
{
    const rlx_for_stmt *nest = rlx_as_for_stmt(s), *init = before ? rlx_as_for_stmt(before) : NULL;
    const rlx_stmt *now = nest ? rlx_schedule_contraction(r->ctx, init, nest) : s;
    *took = now != s && init != NULL;
    if (now == s)
        now = rlx_rewrite(r, s);
    return now;
}

static const rlx_stmt *schedule_sequence(rlx_rewriter *r, const rlx_seq_stmt *seq)
{
    const rlx_stmt **parts = rlx_new(r->ctx, (seq->num_stmts + 1) * sizeof *parts);
    size_t n = 0;
    bool changed = false;
    for (size_t i = 0; parts && i < seq->num_stmts; i++) {
        bool took, plain = n && parts[n - 1] == seq->stmts[i - 1];
        const rlx_stmt *now =
            schedule_nest(r, plain ? seq->stmts[i - 1] : NULL, seq->stmts[i], &took);
        if (!now)
            return NULL;
        n -= took;
        parts[n++] = now;
        changed |= now != seq->stmts[i];
    }
    if (!parts || !changed)
        return parts ? &seq->node : NULL;
    return rlx_seq_stmt_new(r->ctx, parts, n, seq->place);
}

/* A nest that has a schedule is replaced; of others the loops inside are looked at. */
static const rlx_node *replace(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(n);
    const rlx_for_stmt *nest = rlx_as_for_stmt(n);
    const rlx_stmt *now = seq    ? schedule_sequence(r, seq)
                          : nest ? rlx_schedule_contraction(r->ctx, NULL, nest)
                                 : n;
    if (!now)
        r->failed = true;
    return now == n && !seq ? NULL : now;
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
