/* vmgen_order.c: numbers for what the walk over a function meets. */
#include "codegen/vmgen_int.h"

bool rlx_vmgen_order_begin(rlx_vmgen_order *o, rlx_context *ctx, const rlx_expr *body)
{
    rlx_vmgen_part p = { .target = RLX_NO_INDEX, .tail = true };
    *o = (rlx_vmgen_order){ .next_number = 1 }; /* 0: the entry */
    return rlx_body_begin(&o->walk, ctx, body) && rlx_vec_push(&ctx->memory, &o->parts, p);
}

bool rlx_vmgen_order_into(rlx_vmgen_order *o, rlx_vmgen_part part)
{
    rlx_context *ctx = o->walk.ctx;
    part.holder_number = o->number;
    return rlx_vec_push(&ctx->memory, &o->parts, part) && rlx_body_into(&o->walk);
}

static void enter_sequence(rlx_vmgen_order *o)
{
    rlx_vmgen_part *p = rlx_vmgen_top(o);
    p->second = rlx_body_top(&o->walk)->part == RLX_FLOW_ELSE;
    p->serial[p->second] = o->next_serial++;
}

enum rlx_event_kind rlx_vmgen_order_next(rlx_vmgen_order *o)
{
    for (;;) {
        enum rlx_event_kind event = rlx_body_next(&o->walk);
        switch (event) {
        case RLX_EVENT_ENTER: enter_sequence(o); break;
        case RLX_EVENT_VALUE:
            if (!rlx_vmgen_is_if(rlx_vmgen_at(o)->binding))
                break;
            o->number = o->next_number++;
            return event;
        case RLX_EVENT_BIND:
            o->number = rlx_vmgen_is_if(rlx_vmgen_at(o)->binding) ? rlx_vmgen_top(o)->holder_number
                                                                  : o->next_number++;
            return event;
        case RLX_EVENT_LEAVE: o->number = o->next_number++; return event;
        case RLX_EVENT_DONE: return event;
        default: break;
        }
    }
}

void rlx_vmgen_order_free(rlx_vmgen_order *o)
{
    rlx_vec_free(&o->walk.ctx->memory, &o->parts);
    rlx_body_free(&o->walk);
}
