/* relay_op.c: the table of operators. */
#include "relay/relay_op.h"

#define F(name, type, otherwise) { #name, RLX_RELAY_FIELD_##type, otherwise }
#define R(name, type) { #name, RLX_RELAY_FIELD_##type, NULL }
#define RECORD(name, ...) static const rlx_relay_field fields_##name[] = { __VA_ARGS__ };
#include "relay/relay_op.def"

enum {
#define RECORD(name, ...) COUNT_##name = RLX_COUNT(fields_##name),
#include "relay/relay_op.def"
    COUNT_none = 0
};
#define fields_none NULL

static const rlx_relay_op ops[] = {
#define OP(name, inputs, relation, record) { name, inputs, true, relation, fields_##record, COUNT_##record },
#define IMPURE(name, inputs, relation, record) \
    { name, inputs, false, relation, fields_##record, COUNT_##record },
#include "relay/relay_op.def"
};
#undef F
#undef R
#undef fields_none

const rlx_relay_op *rlx_relay_op_find(rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(ops); i++) /* once for each name of a text: words remember it */
        if (rlx_slice_is(name, ops[i].name))
            return &ops[i];
    return NULL;
}

const char *rlx_relay_op_like(rlx_slice name)
{
    size_t best = name.len < 4 ? 2 : name.len / 4 + 2;
    const char *like = NULL;
    for (size_t i = 0; i < RLX_COUNT(ops); i++) {
        /* R.NAME of somebody who knows Relax, or a name without its group. */
        const char *dot = strchr(ops[i].name, '.');
        size_t d = rlx_edit_distance(name, rlx_slice_z(ops[i].name), best);
        if (dot && rlx_slice_is(name, dot + 1))
            d = 0;
        if (d < best) {
            best = d;
            like = ops[i].name;
        }
    }
    return like;
}

const rlx_relay_field *rlx_relay_op_field(const rlx_relay_op *op, rlx_slice name)
{
    for (size_t i = 0; i < op->num_fields; i++)
        if (rlx_slice_is(name, op->fields[i].name))
            return &op->fields[i];
    return NULL;
}
