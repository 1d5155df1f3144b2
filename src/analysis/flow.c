/* flow.c: laying a function out as events. */
#include "analysis/flow.h"

#define MEMORY(ctx) (&(ctx)->memory)
#define NO_OWNER UINT32_MAX

/* A sequence under way. */
typedef struct frame { uint32_t seq; size_t block, binding; } frame;
typedef struct builder {
    rlx_context *ctx;
    rlx_flow *w;
    RLX_VEC(frame) frames;
} builder;

static bool add_event(builder *b, enum rlx_event_kind kind, const rlx_binding *binding,
                      uint32_t seq, bool dataflow)
{
    if (b->w->events.len >= UINT32_MAX - 1)
        return rlx_no_memory(b->ctx);
    rlx_event e = { binding, seq, (uint8_t)kind, dataflow };
    return rlx_vec_push(MEMORY(b->ctx), &b->w->events, e) || rlx_no_memory(b->ctx);
}

static bool enter(builder *b, const rlx_expr *source, enum rlx_flow_part part,
                  const rlx_binding *holder)
{
    const rlx_seq_expr *seq = rlx_as_seq_expr(source);
    uint32_t number = (uint32_t)b->w->seqs.len;
    rlx_flow_seq s = { .source = source,
                       .result = seq ? seq->body : source,
                       .parent = b->frames.len ? rlx_vec_last(&b->frames).seq : 0,
                       .enter = (uint32_t)b->w->events.len,
                       .owner = NO_OWNER,
                       .part = (uint8_t)part };
    frame f = { .seq = number };
    if (holder && !add_event(b, RLX_EVENT_ENTER, holder, number, false))
        return false;
    return (rlx_vec_push(MEMORY(b->ctx), &b->w->seqs, s) &&
            rlx_vec_push(MEMORY(b->ctx), &b->frames, f)) ||
           rlx_no_memory(b->ctx);
}

static bool bind(builder *b, const rlx_binding *binding, uint32_t seq, bool dataflow)
{
    const rlx_var *v = rlx_binding_var(binding);
    if (!add_event(b, RLX_EVENT_BIND, binding, seq, dataflow))
        return false;
    return !v || rlx_ptrmap_put(&b->w->vars, v, (uintptr_t)b->w->events.len) ||
           rlx_no_memory(b->ctx);
}

/* The sequence on top has ended: its LEAVE, then the second branch or the binding that waited. */
static bool leave(builder *b)
{
    frame f = rlx_vec_pop(&b->frames);
    rlx_flow_seq *s = &b->w->seqs.data[f.seq];
    s->leave = (uint32_t)b->w->events.len;
    if (!b->frames.len)
        return true;
    frame *outer = &rlx_vec_last(&b->frames);
    const rlx_block *block =
        (const rlx_block *)((const rlx_seq_expr *)b->w->seqs.data[outer->seq].source)
            ->blocks[outer->block];
    const rlx_binding *holder = block->bindings[outer->binding];
    bool dataflow = block->node.kind == RLX_NODE_DATAFLOW_BLOCK;
    if (!add_event(b, RLX_EVENT_LEAVE, holder, f.seq, dataflow))
        return false;
    if (s->part == RLX_FLOW_THEN)
        return enter(b, ((const rlx_if_expr *)rlx_binding_value(holder))->false_branch,
                     RLX_FLOW_ELSE, holder);
    s->owner = (uint32_t)b->w->events.len;
    if (s->part == RLX_FLOW_ELSE) {
        /* The first branch ended right before the second began. */
        b->w->seqs.data[b->w->events.data[s->enter - 1].seq].owner = s->owner;
    }
    outer->binding++;
    return bind(b, holder, outer->seq, dataflow);
}

static bool step(builder *b)
{
    frame *f = &rlx_vec_last(&b->frames);
    const rlx_seq_expr *seq = rlx_as_seq_expr(b->w->seqs.data[f->seq].source);
    if (!seq || f->block == seq->num_blocks)
        return leave(b);
    const rlx_block *block = (const rlx_block *)seq->blocks[f->block];
    if (f->binding == block->num_bindings) {
        f->block++;
        f->binding = 0;
        return true;
    }
    const rlx_binding *binding = block->bindings[f->binding];
    const rlx_expr *value = rlx_binding_value(binding);
    if (rlx_as_if_expr(value))
        return enter(b, ((const rlx_if_expr *)value)->true_branch, RLX_FLOW_THEN, binding);
    if (rlx_as_function(value))
        return enter(b, ((const rlx_function *)value)->body, RLX_FLOW_LITERAL, binding);
    f->binding++;
    return bind(b, binding, f->seq, block->node.kind == RLX_NODE_DATAFLOW_BLOCK);
}

bool rlx_flow_build(rlx_flow *w, rlx_context *ctx, const rlx_function *f)
{
    builder b = { .ctx = ctx, .w = w };
    *w = (rlx_flow){ 0 };
    rlx_ptrmap_init(&w->vars, MEMORY(ctx));
    bool good = f->body && enter(&b, f->body, RLX_FLOW_BODY, NULL);
    while (good && b.frames.len)
        good = step(&b);
    rlx_vec_free(MEMORY(ctx), &b.frames);
    return good;
}

void rlx_flow_free(rlx_flow *w, rlx_context *ctx)
{
    rlx_vec_free(MEMORY(ctx), &w->events);
    rlx_vec_free(MEMORY(ctx), &w->seqs);
    rlx_ptrmap_free(&w->vars);
}

size_t rlx_flow_event_of(const rlx_flow *w, const rlx_node *v)
{
    uintptr_t at;
    return v && rlx_ptrmap_find(&w->vars, v, &at) ? (size_t)at - 1 : SIZE_MAX;
}
