/* code_order.c: the bindings of a function and its branches in the order of evaluation. */
#include "codegen/vm_writer_int.h"

static void begin_part(cw_order *o, cw_part *p, const rlx_expr *e)
{
    p->seq = rlx_as_seq_expr(e);
    p->result = p->seq ? p->seq->body : e;
    p->block = p->at = 0;
    p->serial[p->second] = o->next_serial++;
}

bool cw_order_begin(cw_order *o, rlx_context *ctx, const rlx_expr *body)
{
    cw_part p = { .target = RLX_NO_INDEX, .tail = true };
    *o = (cw_order){ .last = CW_BIND, .next_number = 1 }; /* 0: the entry */
    begin_part(o, &p, body);
    return rlx_vec_push(&ctx->memory, &o->parts, p) || rlx_no_memory(ctx);
}

static const rlx_if_expr *if_of(const rlx_binding *b)
{
    const rlx_var_binding *v = rlx_as_var_binding(b);
    return v ? rlx_as_if_expr(v->value) : NULL;
}

/* Goes on behind the event that was given last. */
static bool enter_or_leave(cw_order *o, rlx_context *ctx)
{
    if (o->last == CW_IF) {
        cw_part p = { .holder = o->binding, .holder_number = o->number, .target = RLX_NO_INDEX };
        begin_part(o, &p, if_of(o->binding)->true_branch);
        return rlx_vec_push(&ctx->memory, &o->parts, p) || rlx_no_memory(ctx);
    }
    if (o->last == CW_THEN_END) {
        cw_part *p = cw_top(o);
        p->second = true;
        begin_part(o, p, if_of(p->holder)->false_branch);
    } else if (o->last == CW_ELSE_END) {
        o->parts.len--;
    }
    return true;
}

static const rlx_binding *next_binding(cw_part *p)
{
    while (p->seq && p->block < p->seq->num_blocks) {
        const rlx_block *block = rlx_as_block(p->seq->blocks[p->block]);
        if (block && p->at < block->num_bindings)
            return block->bindings[p->at++];
        p->block++;
        p->at = 0;
    }
    return NULL;
}

bool cw_order_next(cw_order *o, rlx_context *ctx, enum cw_event *event)
{
    if (!enter_or_leave(o, ctx))
        return false;
    cw_part *p = cw_top(o);
    o->binding = next_binding(p);
    o->number = o->next_number++;
    if (o->binding)
        o->last = if_of(o->binding) ? CW_IF : CW_BIND;
    else
        o->last = o->parts.len == 1 ? CW_END : p->second ? CW_ELSE_END : CW_THEN_END;
    *event = o->last;
    return true;
}

void cw_order_free(cw_order *o, rlx_context *ctx)
{
    rlx_vec_free(&ctx->memory, &o->parts);
}
