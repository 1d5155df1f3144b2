/* relay_infer.h: what the files of inference share. */
#ifndef RLX_RELAY_INFER_H
#define RLX_RELAY_INFER_H

#include "relay/relay_solve.h"

/* Kinds of the parts of a written type (relay 2.3). False after reports. */
bool rlx_relay_check_kinds(rlx_context *ctx, const rlx_relay_type *t);
bool rlx_relay_check_definitions(rlx_relay_module *m);

/* Types of the variables of a pattern that stands against t. False after a report. */
bool rlx_relay_infer_pattern(rlx_relay_solver *s, rlx_relay_pattern *p, rlx_relay_type *t);
/* Reports the cases that a match does not handle, and arms that nothing reaches. */
bool rlx_relay_check_match(rlx_relay_solver *s, const rlx_relay_expr *match);

/* Fresh holes for type parameters, into *args. */
bool rlx_relay_fresh_args(rlx_relay_solver *s, rlx_relay_type_var *const *params, size_t count,
                          rlx_place place, rlx_relay_type *const **args);

/* Groups of functions that call each other, callees first: numbers of m->globals in `order`, and
 * the end of each group in `ends`. */
typedef struct rlx_relay_groups {
    RLX_VEC(uint32_t) order, ends;
} rlx_relay_groups;
bool rlx_relay_call_groups(rlx_relay_module *m, rlx_relay_groups *out);

/* Reports variables that are used outside of the function or arm that binds them, which sharing makes possible
 * (relay 1.3); not those of lets. False after a report. */
bool rlx_relay_check_scopes(rlx_relay_module *m);

/* Child i of an expression in the order of evaluation; NULL behind the last one. */
rlx_relay_expr *rlx_relay_child(const rlx_relay_expr *e, size_t i);
#endif
