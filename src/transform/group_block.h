/*- group_block.h: bindings of a dataflow block become functions, by groups that somebody has chosen.
 *     lv = call_tir(add, (x, c), ...)        group 0
 *     gv = call_tir(exp, (lv,), ...)         group 0     ->     gv = cls.fused_add_exp(x, c)
 *
 * Parameters of the function: in order of use what the group does not bind, constants too if they are lifted, then one
 * R.Shape of the sizes that these do not bind. Result: what is used outside of the group, a tuple if that is several.
 */
#ifndef RLX_GROUP_BLOCK_H
#define RLX_GROUP_BLOCK_H

#include "analysis/analysis.h"
#include "sinfo/builder.h"

#define RLX_NO_GROUP UINT32_MAX

typedef struct rlx_group_how {
    rlx_module_builder *mb;
    const char *prefix;                  /* of names: "fused" */
    bool binds_constants;                /* constants stay in the functions */
    void *user;
    /* The function that a group has become, with the attributes it is to have; NULL: failure. */
    const rlx_function *(*finish)(void *user, uint32_t group, const rlx_function *f);
    /* What its name begins with; NULL: made of the names of what it calls. */
    rlx_slice (*name_of)(void *user, uint32_t group);
} rlx_group_how;

/* The dataflow block with calls in place of its groups; group_of: by binding. Groups depend on each other without
 * cycles. NULL: out of memory. */
const rlx_block *rlx_group_bindings(rlx_context *ctx, const rlx_block *b, const uint32_t *group_of, size_t num_groups,
                                    const rlx_group_how *how);

/* Dissolves groups of which two need each other, directly or not: they could not be called one after the other. in_order:
 * also those that something needs before their last binding. False: out of memory. */
bool rlx_untangle_groups(rlx_context *ctx, const rlx_block *b, uint32_t *group_of, size_t num_groups, bool in_order);

/* Calls `each` for the variables and constants that a value or struct info mentions, in order, again as often as they
 * come. False: it said no, or out of memory. */
bool rlx_each_operand(rlx_context *ctx, const rlx_node *n, bool (*each)(void *user, const rlx_expr *e), void *user);
/* Does a value read nothing that somebody writes to? It may run later then. */
bool rlx_reads_unwritten(rlx_context *ctx, const rlx_written *w, const rlx_node *value);

/* Is the function a group already, of this library or for a back end? */
bool rlx_is_group(const rlx_function *f);
/* f with the attribute Primitive: it is to become one TIR function. NULL: out of memory. */
const rlx_function *rlx_mark_primitive(rlx_context *ctx, const rlx_function *f);

#endif
