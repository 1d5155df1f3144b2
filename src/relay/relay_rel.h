/* relay_rel.h: the words that relations are written in; for the files relay_rel_*.c alone. */
#ifndef RLX_RELAY_REL_H
#define RLX_RELAY_REL_H

#include "relay/relay_relation.h"

typedef enum rlx_relay_outcome outcome;
typedef const rlx_relay_type *tensor;
#define REL(name) outcome rlx_relay_rel_##name(rlx_relay_goal *g)
/* The tensor of argument i in a new variable; leaves the relation where it is not there yet. */
#define TENSOR(var, i)                                                     \
    outcome why_##var;                                                     \
    tensor var = rlx_relay_rel_tensor(g, i, &why_##var);                   \
    if (!(var))                                                            \
        return why_##var

/* The first k elements of x along the attribute axis, all of them or as many as the extent says; by ret_type values,
 * positions, or both. */
outcome rlx_relay_rel_first(rlx_relay_goal *g, tensor x, bool all, rlx_relay_dim k);

#endif
