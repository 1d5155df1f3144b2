/* relay_host.h: relations and operators that a host has added to its context (relay 8). They stand beside the
 * tables of this room, which are asked first. */
#ifndef RLX_RELAY_HOST_H
#define RLX_RELAY_HOST_H

#include "ir/ir.h"
#include "relay/relay_convert.h"
#include "relay/relay_relation.h"

/* What a callback sees: a relation between types, or a call that becomes Relax. */
typedef struct rlx_relay_view {
    uint32_t id;                     /* RLX_RELAY_VIEW_ID while the callback runs */
    rlx_context *ctx;
    rlx_relay_goal *goal;            /* types and attributes */
    const rlx_expr *const *args;     /* of a conversion; else NULL */
    bool failed;
} rlx_relay_view;
#define RLX_RELAY_VIEW_ID 0x52454c59u

/* CONVERTER: of an operator of the table, in place of its own. */
enum rlx_relay_host_kind { RLX_RELAY_HOST_RELATION = 1, RLX_RELAY_HOST_OP, RLX_RELAY_HOST_CONVERTER };
typedef struct rlx_relay_host_row {
    rlx_extension_row row;
    uint8_t kind;                    /* enum rlx_relay_host_kind */
    /* RELATION: one of the two. An outcome; the type of the output, NULL: undecided. */
    int32_t (*decide)(const struct rlx_relay_host_row *r, rlx_relay_view *v);
    const rlx_relay_type *(*output)(const struct rlx_relay_host_row *r, rlx_relay_view *v);
    /* OP; convert NULL: the operator of Relax that `relax_op` names, with the same attributes */
    rlx_relay_op op;
    const rlx_op_row *relax_op;
    const rlx_expr *(*convert)(const struct rlx_relay_host_row *r, rlx_relay_view *v);
} rlx_relay_host_row;

const rlx_relay_host_row *rlx_relay_host_find(const rlx_context *ctx, uint8_t kind, rlx_slice name);
/* The row that translates an operator; NULL: this room's table does. */
const rlx_relay_host_row *rlx_relay_host_op(const rlx_context *ctx, const rlx_relay_op *op);
/* Operators and relations of the tables or of the host. NULL: neither. */
const rlx_relay_op *rlx_relay_op_find_in(const rlx_context *ctx, rlx_slice name);
rlx_relay_relation rlx_relay_relation_find_in(const rlx_context *ctx, rlx_slice name,
                                              const char **canonical);
/* The value of a call of a host's operator; the goal has its types and attributes. */
const rlx_expr *rlx_relay_host_convert(rlx_relay_conv *c, rlx_relay_goal *g,
                                       const rlx_relay_host_row *row);

/* ---- what a callback may do; false: refused, which is reported */
rlx_relay_type *rlx_relay_view_type(rlx_relay_view *v, size_t i);
/* Is t a type of the module that the callback is asked about? */
bool rlx_relay_view_owns(const rlx_relay_view *v, const rlx_relay_type *t);
bool rlx_relay_view_assign(rlx_relay_view *v, size_t i, rlx_relay_type *t);
bool rlx_relay_view_equal(rlx_relay_view *v, rlx_relay_type *a, rlx_relay_type *b);
bool rlx_relay_view_fail(rlx_relay_view *v, rlx_slice text);

#endif
