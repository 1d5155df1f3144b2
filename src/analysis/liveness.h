/* liveness.h: which variables are still needed before and after each binding of a function. */
#ifndef RLX_LIVENESS_H
#define RLX_LIVENESS_H

#include "ir/ir.h"

/* A point lies before the event of that number, or at the end. `from`: first point at which the
 * variable is there; uses[first] ... ascending events; `until`: the last of them. */
typedef struct rlx_live_var {
    const rlx_var *var;
    uint32_t from, until;
    size_t first, count;
} rlx_live_var;

typedef struct rlx_liveness {
    rlx_context *ctx;
    rlx_flow flow;
    rlx_ptrmap bindings;           /* binding -> its BIND event + 1 */
    RLX_VEC(rlx_live_var) vars;    /* in order of `from` */
    uint32_t *uses; size_t num_uses;
    uint32_t *latest;              /* a heap of the greatest `until` below: leaves from `leaves` */
    size_t leaves;
} rlx_liveness;

/* False: out of memory; free it in any case. Linear in the function. */
bool rlx_liveness_find(rlx_liveness *l, rlx_context *ctx, const rlx_function *f);
void rlx_liveness_free(rlx_liveness *l);
/* Variables (parameters too) that some way on from right before or after this binding uses, in
 * the order in which they are bound: `each` gets them. A local function uses what it captures
 * where it is made; inside it, what lies after it does not count. False: no binding of the
 * function, or out of memory (latched). Costs about the number of variables given. */
bool rlx_liveness_at(const rlx_liveness *l, const rlx_binding *b, bool after,
                     void (*each)(void *user, const rlx_var *v), void *user);

#endif
