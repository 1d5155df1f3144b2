/* relay_convert.c: placeholder of the operator table. */
#include "relay/relay_convert.h"

const rlx_relay_convert_row *rlx_relay_convert_find(rlx_slice op)
{
    static rlx_relay_convert_row row;
    row.name = NULL;
    return op.len ? &row : NULL;
}

const rlx_expr *rlx_relay_convert(rlx_relay_conv *c)
{
    return rlx_call_op(c->ctx, rlx_op_find(rlx_slice_z(c->op->name)), c->args, c->num_args, NULL, c->place);
}
