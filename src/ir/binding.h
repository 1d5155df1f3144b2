/*- binding.h: binding positions: where a parameter or the target of a cast binds a shape variable
 * that is not in scope yet (language 2.4).
 *
 *     R.Tensor((n, T.Cast("int64", k), 2 * m))    positions n, Cast(k), 2 * m; variables n, k
 *     R.Shape([n]), R.Prim(value=n)               position n; of R.Prim it is no size
 *     R.Tuple(A, B)                               the positions of A, then those of B
 *     R.Callable(...)                             none: what stands there is a placeholder
 */
#ifndef RLX_BINDING_H
#define RLX_BINDING_H

#include "ir/node.h"

/* The variable that position p consists of, alone or widened to int64; NULL: p (may be NULL) is
 * something else, or nothing. */
const rlx_prim_var *rlx_position_var(const rlx_prim *p);
/* The positions of a struct info, shape or scalar value n, in order; of a tuple its fields,
 * whose positions are its own. */
const rlx_node *const *rlx_position_parts(const rlx_node *n, size_t *count);

/* Calls `each` for the positions of n (struct info, shape, scalar value, or an integer expression,
 * which is a position itself; NULL: none), depth first. is_size: a dimension or a shape value, no
 * value of a scalar. A tuple that comes again has its positions told once. False: out of memory. */
typedef void rlx_position_fn(void *user, const rlx_prim *p, bool is_size);
bool rlx_each_position(rlx_memory *m, const rlx_node *n, rlx_position_fn *each, void *user);

#endif
