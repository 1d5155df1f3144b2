/*- flow.h: the order in which a body is evaluated, for all who go along it.
 *
 *                             ENTER body
 *     with dataflow():        BLOCK
 *         a = f(x)                VALUE . BIND
 *                             BLOCK_END
 *                             BLOCK
 *     y = if c: ...               VALUE . ENTER then ... LEAVE then
 *                                       . ENTER else ... LEAVE else . BIND
 *     g = function ...            VALUE . ENTER literal ... LEAVE literal . BIND
 *                             BLOCK_END
 *     return y                LEAVE body
 *
 * A condition is used at VALUE, the result of a sequence at its LEAVE. The cursor goes along one
 * sequence and leaves what is in its values to the caller: they may be of any form. The walk has
 * a cursor for each sequence of a body in normal form; there, VALUE comes only where the value
 * has sequences in it. The flow is such a walk noted down, to be gone along forth and back.
 */
#ifndef RLX_FLOW_H
#define RLX_FLOW_H

#include "ir/build.h"

enum rlx_event_kind {
    RLX_EVENT_DONE,      /* nothing comes any more */
    RLX_EVENT_ENTER,     /* a sequence begins */
    RLX_EVENT_BLOCK,     /* a block of it begins */
    RLX_EVENT_VALUE,     /* a binding is met; its value comes next */
    RLX_EVENT_BIND,      /* its value is there */
    RLX_EVENT_BLOCK_END,
    RLX_EVENT_LEAVE      /* the sequence gives its result */
};

/* ---- a sequence ----------------------------------------------------------------------------- */

typedef struct rlx_seq_cursor {
    const rlx_expr *source;       /* SeqExpr, or a bare result */
    const rlx_block *block;       /* from BLOCK to BLOCK_END; NULL: what stands there is none */
    const rlx_binding *binding;   /* of VALUE and BIND */
    size_t num_blocks;            /* of the sequence, met so far */
    size_t num_bindings;          /* of the block, met so far */
    enum rlx_event_kind event;    /* the last one */
} rlx_seq_cursor;

RLX_INLINE rlx_seq_cursor rlx_seq_cursor_begin(const rlx_expr *source)
{
    return (rlx_seq_cursor){ .source = source };
}
/* The next event where no binding follows. */
enum rlx_event_kind rlx_seq_cursor_turn(rlx_seq_cursor *c);
/* The next event; after LEAVE: DONE. */
RLX_INLINE enum rlx_event_kind rlx_seq_cursor_next(rlx_seq_cursor *c)
{
    if (c->event == RLX_EVENT_VALUE)
        return c->event = RLX_EVENT_BIND;
    if ((c->event != RLX_EVENT_BIND && c->event != RLX_EVENT_BLOCK) || !c->block ||
        c->num_bindings == c->block->num_bindings)
        return rlx_seq_cursor_turn(c);
    c->binding = c->block->bindings[c->num_bindings++];
    return c->event = RLX_EVENT_VALUE;
}
/* The rest of the block under way is not met: BLOCK_END comes next. */
RLX_INLINE void rlx_seq_cursor_skip_block(rlx_seq_cursor *c)
{
    c->num_bindings = c->block->num_bindings;
}
RLX_INLINE bool rlx_seq_cursor_in_dataflow(const rlx_seq_cursor *c)
{
    return c->block && c->block->node.kind == RLX_NODE_DATAFLOW_BLOCK;
}
RLX_INLINE const rlx_expr *rlx_seq_cursor_result(const rlx_seq_cursor *c)
{
    const rlx_seq_expr *seq = rlx_as_seq_expr(c->source);
    return seq ? seq->body : c->source;
}

/* ---- a body in normal form ------------------------------------------------------------------ */

/* Which part of its holder a sequence is. */
enum rlx_flow_part { RLX_FLOW_BODY, RLX_FLOW_THEN, RLX_FLOW_ELSE, RLX_FLOW_LITERAL };

typedef struct rlx_body_frame {
    rlx_seq_cursor at;
    enum rlx_flow_part part;
} rlx_body_frame;
typedef struct rlx_body_walk {
    rlx_context *ctx;
    RLX_VEC(rlx_body_frame) frames; /* sequences under way, the body lowest */
} rlx_body_walk;

/* A new walk is zeroed; one that was used begins again in its memory. False: out of memory
 * (latched in ctx); free it in any case. */
bool rlx_body_begin(rlx_body_walk *w, rlx_context *ctx, const rlx_expr *body);
/* The next event, of the sequence on top. Until DONE. */
enum rlx_event_kind rlx_body_next(rlx_body_walk *w);
/* After VALUE: the branches of the if, or the body of the local function, come before BIND.
 * False: out of memory (latched). */
bool rlx_body_into(rlx_body_walk *w);
void rlx_body_free(rlx_body_walk *w);
RLX_INLINE rlx_body_frame *rlx_body_top(const rlx_body_walk *w)
{
    return &rlx_vec_last(&w->frames);
}
/* The cursor at the binding that holds the sequence on top; NULL: it is the body. */
RLX_INLINE const rlx_seq_cursor *rlx_body_holder(const rlx_body_walk *w)
{
    return w->frames.len > 1 ? &w->frames.data[w->frames.len - 2].at : NULL;
}

/* ---- a body noted down ---------------------------------------------------------------------- */

/* A sequence: the body of the function (number 0), a branch, the body of a local function. */
typedef struct rlx_flow_seq {
    const rlx_expr *source;   /* SeqExpr, or a bare result */
    const rlx_expr *result;
    uint32_t parent, enter, leave; /* sequence around; events (body: 0 and the number of events) */
    uint32_t owner;           /* BIND event of the binding that holds it */
    uint8_t part;
} rlx_flow_seq;
typedef struct rlx_event {
    const rlx_binding *binding; /* that is bound, or that holds the sequence */
    uint32_t seq;               /* BIND: in this sequence; else: it begins or ends */
    uint8_t kind;               /* BIND, ENTER, LEAVE; there is none for the body */
    bool dataflow;
} rlx_event;
typedef struct rlx_flow {
    RLX_VEC(rlx_event) events;
    RLX_VEC(rlx_flow_seq) seqs;
    rlx_ptrmap vars;            /* bound variable -> its BIND event + 1 */
} rlx_flow;
/* False: out of memory (latched in ctx); free it in any case. */
bool rlx_flow_build(rlx_flow *w, rlx_context *ctx, const rlx_function *f);
void rlx_flow_free(rlx_flow *w, rlx_context *ctx);
/* Event that binds v, or SIZE_MAX (a parameter, or bound outside). */
size_t rlx_flow_event_of(const rlx_flow *w, const rlx_node *v);

#endif
