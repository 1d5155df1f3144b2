/* vmgen_order.c: the bindings of a function and its branches in the order of evaluation. */
#include "codegen/vmgen_int.h"

static void begin_part(rlx_vmgen_order *o, rlx_vmgen_part *p, const rlx_expr *e)
{
    p->seq = rlx_as_seq_expr(e);
    p->result = p->seq ? p->seq->body : e;
    p->block = p->at = 0;
    p->serial[p->second] = o->next_serial++;
}

bool rlx_vmgen_order_begin(rlx_vmgen_order *o, rlx_context *ctx, const rlx_expr *body)
{
    rlx_vmgen_part p = { .target = RLX_NO_INDEX, .tail = true };
    *o = (rlx_vmgen_order){ .last = RLX_VMGEN_BIND, .next_number = 1 }; /* 0: the entry */
    begin_part(o, &p, body);
    return rlx_vec_push(&ctx->memory, &o->parts, p) || rlx_no_memory(ctx);
}

static const rlx_if_expr *if_of(const rlx_binding *b)
{
    const rlx_var_binding *v = rlx_as_var_binding(b);
    return v ? rlx_as_if_expr(v->value) : NULL;
}

/* Goes on behind the event that was given last. */
static bool enter_or_leave(rlx_vmgen_order *o, rlx_context *ctx)
{
    if (o->last == RLX_VMGEN_IF) {
        rlx_vmgen_part p = { .holder = o->binding,
                             .holder_number = o->number,
                             .target = RLX_NO_INDEX };
        begin_part(o, &p, if_of(o->binding)->true_branch);
        return rlx_vec_push(&ctx->memory, &o->parts, p) || rlx_no_memory(ctx);
    }
    if (o->last == RLX_VMGEN_THEN_END) {
        rlx_vmgen_part *p = rlx_vmgen_top(o);
        p->second = true;
        begin_part(o, p, if_of(p->holder)->false_branch);
    } else if (o->last == RLX_VMGEN_ELSE_END) {
        o->parts.len--;
    }
    return true;
}

static const rlx_binding *next_binding(rlx_vmgen_part *p)
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

bool rlx_vmgen_order_next(rlx_vmgen_order *o, rlx_context *ctx, enum rlx_vmgen_event *event)
{
    if (!enter_or_leave(o, ctx))
        return false;
    rlx_vmgen_part *p = rlx_vmgen_top(o);
    o->binding = next_binding(p);
    o->number = o->next_number++;
    if (o->binding)
        o->last = if_of(o->binding) ? RLX_VMGEN_IF : RLX_VMGEN_BIND;
    else
        o->last = o->parts.len == 1 ? RLX_VMGEN_END : p->second ? RLX_VMGEN_ELSE_END : RLX_VMGEN_THEN_END;
    *event = o->last;
    return true;
}

void rlx_vmgen_order_free(rlx_vmgen_order *o, rlx_context *ctx)
{
    rlx_vec_free(&ctx->memory, &o->parts);
}
