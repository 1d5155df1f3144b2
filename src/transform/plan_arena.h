/* plan_arena.h: one piece of memory for tensors whose sizes and lives are known. */
#ifndef RLX_PLAN_ARENA_H
#define RLX_PLAN_ARENA_H

#include "ir/ir.h"

typedef struct rlx_arena_tensor {
    uint32_t first, last;   /* events at which it is needed, and between them */
    int64_t bytes;          /* at most RLX_ARENA_MOST */
    int64_t offset;         /* found here: a multiple of RLX_ARENA_ALIGN */
} rlx_arena_tensor;
enum {
    RLX_ARENA_ALIGN = 64,   /* as storage of its own has it */
    RLX_ARENA_TENSORS = 1 << 22
};
#define RLX_ARENA_MOST ((int64_t)1 << 40) /* with the line above: the bytes of all can be counted */

/* Gives each tensor (in order of `first`) a place where it overlaps none that is needed at the same
 * time. The size of it all; -1: out of memory. */
int64_t rlx_arena_place(rlx_context *ctx, rlx_arena_tensor *tensors, size_t count);

#endif
