/* sinfo_int.h: inside src/sinfo only. */
#ifndef RLX_SINFO_INT_H
#define RLX_SINFO_INT_H

#include "sinfo/sinfo.h"

/* Struct info nests by tuples and function descriptions. Relations walk it by recursion no
 * deeper than this; beyond, each gives its weakest sound answer (possibly, Object, nothing
 * mapped). No struct info has more parts than that. */
#define RLX_SINFO_DEPTH 200
#define RLX_SINFO_PARTS RLX_MAX_INFO_PARTS

typedef struct rlx_budget { int depth; int parts; } rlx_budget;
#define RLX_FRESH_BUDGET ((rlx_budget){ RLX_SINFO_DEPTH, RLX_SINFO_PARTS })
RLX_INLINE bool rlx_budget_enter(rlx_budget *b)
{
    if (b->depth <= 0 || b->parts <= 0)
        return false;
    b->depth--;
    b->parts--;
    return true;
}
RLX_INLINE void rlx_budget_leave(rlx_budget *b) { b->depth++; }

/* Two shapes of tensors (language 5.3.4); *index: the dimension that decided, -1: none did. */
enum rlx_answer rlx_prove_shapes(rlx_context *ctx, const rlx_scope *s, const rlx_expr *a,
                                 const rlx_expr *b, int32_t *index);
/* Struct info of a variable; Object if it states none. */
const rlx_sinfo *rlx_var_sinfo(rlx_context *ctx, const rlx_var *v);
/* Do all shape variables of n pass the test? n must not be NULL. False as well when memory runs
 * out. */
bool rlx_all_prim_vars(rlx_context *ctx, const rlx_node *n,
                       bool (*test)(void *user, const rlx_prim_var *v), void *user);

/* Kinds of the host (extension_kind.c); a and b are EXTENSION_SINFO. */
enum rlx_assignability rlx_extension_assignable(rlx_context *ctx, const rlx_scope *scope,
                                                const rlx_sinfo *a, const rlx_sinfo *b);
const rlx_sinfo *rlx_extension_lub(rlx_context *ctx, const rlx_scope *scope, const rlx_sinfo *a,
                                   const rlx_sinfo *b);
/* s without the operands whose `visible` is 0. The result may still mention them: a host may
 * err. */
const rlx_sinfo *rlx_extension_erase(rlx_context *ctx, const rlx_sinfo *s, const int32_t *visible);
const rlx_sinfo *rlx_extension_static(rlx_context *ctx, const rlx_sinfo *s);

/* Does s describe, somewhere, what could not be derived? */
RLX_INLINE bool rlx_is_after_error(const rlx_sinfo *s)
{
    return (s->flags & RLX_FLAG_AFTER_ERROR) != 0;
}

#endif
