/*- sized.h: values whose sizes the program does not state, beside variables of the same value
 * whose sizes have names.
 *
 * Lowering needs names for sizes. A tensor of known rank and dtype gets them by a cast in front
 * of its first use:
 *
 *     x_1: R.Tensor((x_d0, x_d1), "float32") = R.match_cast(
 *         x, R.Tensor((x_d0, x_d1), "float32"))
 *
 * Later operators in the same block, or in branches below it, use the same cast.
 */
#ifndef RLX_SIZED_H
#define RLX_SIZED_H

#include "transform/seq_pass.h"

/* with: the value of var with sizes; depth: of the sequence in which it is bound */
typedef struct rlx_sized_entry { const rlx_expr *var, *with; size_t depth; } rlx_sized_entry;

/* Entries lie in the order of binding and are dropped from the end as blocks are left; what the
 * map says of a dropped entry is stale and recognised by the entry in its place. */
typedef struct rlx_sized {
    rlx_seq_pass *p;
    RLX_VEC(rlx_sized_entry) entries;
    rlx_ptrmap index;                     /* variable -> position of its last entry */
    RLX_VEC(const rlx_binding *) casts;   /* for the call under way, not emitted yet */
} rlx_sized;

void rlx_sized_init(rlx_sized *s, rlx_seq_pass *p);
void rlx_sized_free(rlx_sized *s);
void rlx_sized_clear(rlx_sized *s);                      /* a new function begins */
/* drops what was bound in sequences at `depth` and below */
void rlx_sized_leave(rlx_sized *s, size_t depth);

/* The call with arguments whose sizes have names: known ones, or casts that wait in `s`; the
 * same pointer if there is nothing to name. NULL: out of memory, reported. Then either of: */
const rlx_call *rlx_sized_call(rlx_sized *s, const rlx_call *call);
bool rlx_sized_keep(rlx_sized *s);                       /* emits the casts */
void rlx_sized_drop(rlx_sized *s);                       /* forgets them */

/* From here to the end of the block `with` has the value of var and sizes. False: out of
 * memory, reported. */
bool rlx_sized_put(rlx_sized *s, const rlx_expr *var, const rlx_expr *with);
/* Is s a tensor of known rank without a list of sizes? Rules of operators read lists only, no
 * variables of kind Shape. */
bool rlx_sizes_missing(const rlx_sinfo *s);

#endif
