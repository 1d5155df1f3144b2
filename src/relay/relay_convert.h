/* relay_convert.h: calls of Relay's operators as Relax (relay 5.4).
 *
 *     relay_convert.def   one row for each operator: name, converter, what the converter is told
 *     relay_convert.c     what converters are made of       relay_conv_*.c   converters by family
 *
 * A converter emits what it needs into the builder and returns the value: a leaf (variable, constant), a
 * tuple of leaves, or a call that nobody has bound yet. The caller compares its struct info with the type that
 * Relay inferred, and casts where they differ (relay 5.3), so that a converter need not.
 */
#ifndef RLX_RELAY_CONVERT_H
#define RLX_RELAY_CONVERT_H

#include "op/op.h"
#include "relay/relay_op.h"
#include "sinfo/builder.h"

typedef struct rlx_relay_conv rlx_relay_conv;
typedef const rlx_expr *(*rlx_relay_convert_fn)(rlx_relay_conv *c);
typedef struct rlx_relay_convert_row {
    const char *name;                /* of Relay's operator */
    rlx_relay_convert_fn convert;    /* NULL: refused */
    const char *argument;            /* of converters that serve several rows; why it is refused */
} rlx_relay_convert_row;

/* One call. */
struct rlx_relay_conv {
    rlx_context *ctx;
    rlx_builder *b;
    rlx_region *region;              /* scratch that lives as long as the translation */
    const rlx_relay_convert_row *row;
    const rlx_relay_op *op;
    const rlx_relay_expr *call;
    const rlx_expr *const *args; size_t num_args; /* leaves, or tuples of leaves; constants are seen as such */
    const rlx_relay_type *result;    /* as inferred: no holes, type parameters replaced */
    rlx_place place;
    bool failed;                     /* reported, or out of memory */
};

const rlx_relay_convert_row *rlx_relay_convert_find(rlx_slice op);
/* The value of the call; NULL after a report (RY27: an operator without converter, or a call of one that cannot be
 * said in Relax) or out of memory. */
const rlx_expr *rlx_relay_convert(rlx_relay_conv *c);

#endif
