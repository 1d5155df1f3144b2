/* plan_lifetime.h: how long the value of each binding is needed, and whether it leaves the
 * function. */
#ifndef RLX_PLAN_LIFETIME_H
#define RLX_PLAN_LIFETIME_H

#include "analysis/analysis.h"
#include "transform/seq_pass.h"

typedef struct rlx_lifetimes {
    uint32_t *end;   /* by event: the last event that needs the value, itself if none does */
    /* by event: the value may be seen after the sequence that makes it, or outside */
    bool *escapes;
    size_t count;
} rlx_lifetimes;
/* One pass backwards: whoever holds a value (a tuple, a view, a branch result) passes its own
 * end on to it. False: out of memory; free in any case. */
bool rlx_lifetimes_find(rlx_lifetimes *l, rlx_context *ctx, const rlx_module *m,
                        const rlx_flow *w);
void rlx_lifetimes_free(rlx_lifetimes *l, rlx_context *ctx);

#endif
