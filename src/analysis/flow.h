/*- flow.h: a function in normal form as one line of events, in the order of evaluation; analyses
 * go along it forth and back.
 *
 *     y = if c:      ENTER then . BIND ... LEAVE then . ENTER else . BIND ... LEAVE else . BIND y
 *     f = function   ENTER literal . BIND ... LEAVE literal . BIND f
 *
 * The condition is used at ENTER of the first branch, the result of a sequence at its LEAVE.
 */
#ifndef RLX_FLOW_H
#define RLX_FLOW_H

#include "ir/ir.h"

enum rlx_event_kind { RLX_EVENT_BIND, RLX_EVENT_ENTER, RLX_EVENT_LEAVE };
enum rlx_flow_part { RLX_FLOW_BODY, RLX_FLOW_THEN, RLX_FLOW_ELSE, RLX_FLOW_LITERAL };

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
    uint8_t kind;
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
