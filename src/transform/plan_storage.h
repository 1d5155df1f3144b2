/* plan_storage.h: which tensors share which storage, and where they lie in it. */
#ifndef RLX_PLAN_STORAGE_H
#define RLX_PLAN_STORAGE_H

#include "transform/plan_lifetime.h"

#define RLX_NO_STORAGE UINT32_MAX
/* Attribute of a function: results of bounded sizes get storage too. It is gone when that is done. */
#define RLX_PLAN_OUTPUTS "relax.memory_plan_dynamic_func_output"

/* A piece of memory that holds one tensor after another, or several at offsets of their own. */
typedef struct rlx_plan_slot {
    const rlx_prim *size;       /* bytes, an int64 expression; NULL: `bytes` */
    int64_t bytes;
    const rlx_prim *unit;       /* offsets in it are multiples of this; NULL: bytes */
    const rlx_expr *device, *scope; /* as in builtin.alloc_tensor */
    uint32_t seq;               /* it lives in this sequence of the flow */
    uint32_t last;              /* last event that needs it */
    bool idle;                  /* it lies on a shelf */
    bool kept;                  /* of a tensor that leaves the function: it is never killed */
    bool made;                  /* its allocation has been emitted (plan_memory) */
    const rlx_var *var;
    uint32_t next;              /* in the list of those that die after the same binding */
} rlx_plan_slot;

typedef struct rlx_plan {
    RLX_VEC(rlx_plan_slot) storages;
    /* by event: storage of the tensor allocated there, or of its view, or RLX_NO_STORAGE */
    uint32_t *storage_of;
    int64_t *offset_of;         /* by event: where in it, counted in its unit */
    /* by event: the allocation whose tensor it is a part of, or itself, and where in that */
    uint32_t *root_of;
    const rlx_prim **shift_of;  /* NULL: at its begin */
    size_t num_events;
} rlx_plan;
/* Plans all builtin.alloc_tensor of the function whose tensors do not escape. False: out of
 * memory; free in any case. */
bool rlx_plan_function(rlx_plan *plan, rlx_context *ctx, const rlx_module *m,
                       const rlx_function *f, const rlx_flow *w, const rlx_lifetimes *l);
void rlx_plan_free(rlx_plan *plan, rlx_context *ctx);

#endif
