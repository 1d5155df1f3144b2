/* flow.c: see the header. */
#include "ir/flow.h"

#define MEMORY(ctx) (&(ctx)->memory)
#define NO_OWNER UINT32_MAX

/* ---- a sequence ----------------------------------------------------------------------------- */

static enum rlx_event_kind next_block(rlx_seq_cursor *c)
{
    const rlx_seq_expr *seq = rlx_as_seq_expr(c->source);
    if (!seq || c->num_blocks == seq->num_blocks) {
        c->block = NULL;
        return RLX_EVENT_LEAVE;
    }
    c->block = rlx_as_block(seq->blocks[c->num_blocks++]);
    c->num_bindings = 0;
    return RLX_EVENT_BLOCK;
}

enum rlx_event_kind rlx_seq_cursor_turn(rlx_seq_cursor *c)
{
    switch (c->event) {
    case RLX_EVENT_DONE: return c->event = RLX_EVENT_ENTER;
    case RLX_EVENT_ENTER:
    case RLX_EVENT_BLOCK_END: return c->event = next_block(c);
    case RLX_EVENT_LEAVE: return c->event = RLX_EVENT_DONE;
    default: return c->event = RLX_EVENT_BLOCK_END;
    }
}

/* ---- a body in normal form ------------------------------------------------------------------ */

static bool push_frame(rlx_body_walk *w, const rlx_expr *source, enum rlx_flow_part part)
{
    rlx_body_frame f = { rlx_seq_cursor_begin(source), part };
    return rlx_vec_push(MEMORY(w->ctx), &w->frames, f);
}

bool rlx_body_begin(rlx_body_walk *w, rlx_context *ctx, const rlx_expr *body)
{
    w->ctx = ctx;
    w->frames.len = 0;
    return push_frame(w, body, RLX_FLOW_BODY);
}

bool rlx_body_into(rlx_body_walk *w)
{
    const rlx_expr *value = rlx_binding_value(rlx_body_top(w)->at.binding);
    return rlx_as_if_expr(value)
               ? push_frame(w, ((const rlx_if_expr *)value)->true_branch, RLX_FLOW_THEN)
               : push_frame(w, ((const rlx_function *)value)->body, RLX_FLOW_LITERAL);
}

static bool has_sequences(const rlx_expr *value)
{
    return rlx_as_if_expr(value) || rlx_as_function(value);
}

enum rlx_event_kind rlx_body_next(rlx_body_walk *w)
{
    if (!w->frames.len)
        return RLX_EVENT_DONE;
    rlx_body_frame *f = rlx_body_top(w);
    enum rlx_event_kind event = rlx_seq_cursor_next(&f->at);
    if (event == RLX_EVENT_VALUE && !has_sequences(rlx_binding_value(f->at.binding)))
        return f->at.event = RLX_EVENT_BIND;
    if (event != RLX_EVENT_DONE)
        return event;
    if (f->part == RLX_FLOW_THEN) {
        const rlx_expr *holder = rlx_binding_value(rlx_body_holder(w)->binding);
        f->at = rlx_seq_cursor_begin(((const rlx_if_expr *)holder)->false_branch);
        f->part = RLX_FLOW_ELSE;
        return rlx_seq_cursor_turn(&f->at);
    }
    /* What waited for the sequence is bound. */
    return --w->frames.len ? (rlx_body_top(w)->at.event = RLX_EVENT_BIND) : RLX_EVENT_DONE;
}

void rlx_body_free(rlx_body_walk *w)
{
    if (w->ctx) /* else it never began */
        rlx_vec_free(MEMORY(w->ctx), &w->frames);
}

/* ---- a body noted down ---------------------------------------------------------------------- */

typedef struct builder {
    rlx_context *ctx;
    rlx_flow *w;
    rlx_body_walk walk;
    uint32_t seq;             /* on top of the walk */
} builder;

static bool add_event(builder *b, enum rlx_event_kind kind, const rlx_seq_cursor *at, uint32_t seq)
{
    bool dataflow = kind != RLX_EVENT_ENTER && rlx_seq_cursor_in_dataflow(at);
    if (b->w->events.len >= UINT32_MAX - 1)
        return false;
    rlx_event e = { at->binding, seq, (uint8_t)kind, dataflow };
    return rlx_vec_push(MEMORY(b->ctx), &b->w->events, e);
}

static bool enter_sequence(builder *b)
{
    const rlx_body_frame *f = rlx_body_top(&b->walk);
    const rlx_seq_cursor *holder = rlx_body_holder(&b->walk);
    rlx_flow_seq s = { .source = f->at.source,
                       .result = rlx_seq_cursor_result(&f->at),
                       .parent = b->seq,
                       .enter = (uint32_t)b->w->events.len,
                       .owner = NO_OWNER,
                       .part = (uint8_t)f->part };
    b->seq = (uint32_t)b->w->seqs.len;
    if (holder && !add_event(b, RLX_EVENT_ENTER, holder, b->seq))
        return false;
    return rlx_vec_push(MEMORY(b->ctx), &b->w->seqs, s);
}

static bool leave_sequence(builder *b)
{
    const rlx_seq_cursor *holder = rlx_body_holder(&b->walk);
    rlx_flow_seq *s = &b->w->seqs.data[b->seq];
    s->leave = (uint32_t)b->w->events.len;
    if (holder && !add_event(b, RLX_EVENT_LEAVE, holder, b->seq))
        return false;
    if (s->part == RLX_FLOW_ELSE || s->part == RLX_FLOW_LITERAL)
        s->owner = (uint32_t)b->w->events.len;
    if (s->part == RLX_FLOW_ELSE) {
        /* The first branch ended right before the second began. */
        b->w->seqs.data[b->w->events.data[s->enter - 1].seq].owner = s->owner;
    }
    b->seq = s->parent;
    return true;
}

static bool bind(builder *b)
{
    const rlx_seq_cursor *at = &rlx_body_top(&b->walk)->at;
    const rlx_var *v = rlx_binding_var(at->binding);
    if (!add_event(b, RLX_EVENT_BIND, at, b->seq))
        return false;
    return !v || rlx_ptrmap_put(&b->w->vars, v, (uintptr_t)b->w->events.len);
}

bool rlx_flow_build(rlx_flow *w, rlx_context *ctx, const rlx_function *f)
{
    builder b = { .ctx = ctx, .w = w };
    enum rlx_event_kind event;
    *w = (rlx_flow){ 0 };
    rlx_ptrmap_init(&w->vars, MEMORY(ctx));
    bool good = rlx_body_begin(&b.walk, ctx, f->body) && f->body;
    while (good && (event = rlx_body_next(&b.walk)) != RLX_EVENT_DONE)
        switch (event) {
        case RLX_EVENT_ENTER: good = enter_sequence(&b); break;
        case RLX_EVENT_VALUE: good = rlx_body_into(&b.walk); break;
        case RLX_EVENT_BIND: good = bind(&b); break;
        case RLX_EVENT_LEAVE: good = leave_sequence(&b); break;
        default: break;
        }
    rlx_body_free(&b.walk);
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
