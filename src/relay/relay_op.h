/* relay_op.h: the operators of Relay: their inputs, their attribute records, their relations. */
#ifndef RLX_RELAY_OP_H
#define RLX_RELAY_OP_H

#include "relay/relay.h"

/* A field of an attribute record (relay 4.3). */
enum rlx_relay_field_type {
    RLX_RELAY_FIELD_INT, RLX_RELAY_FIELD_FLOAT, RLX_RELAY_FIELD_BOOL, RLX_RELAY_FIELD_STRING,
    RLX_RELAY_FIELD_DTYPE, RLX_RELAY_FIELD_INTS, RLX_RELAY_FIELD_ANY
};
typedef struct rlx_relay_field {
    const char *name;
    uint8_t type;            /* enum rlx_relay_field_type */
    const char *otherwise;   /* the default as text writes it; NULL: none, absence is None */
} rlx_relay_field;

typedef struct rlx_relay_op {
    const char *name;
    int8_t num_inputs;       /* -1: any number */
    bool is_pure;
    const char *relation;    /* NULL: it has no type that text could use */
    const rlx_relay_field *fields; size_t num_fields;
} rlx_relay_op;

/* The operator of that name, or NULL. */
const rlx_relay_op *rlx_relay_op_find(rlx_slice name);
/* The nearest name of an operator, or NULL. */
const char *rlx_relay_op_like(rlx_slice name);
const rlx_relay_field *rlx_relay_op_field(const rlx_relay_op *op, rlx_slice name);
/* Place in the table of relay_op.def; SIZE_MAX: not of the table. rlx_relay_op_at: NULL past its end. */
size_t rlx_relay_op_index(const rlx_relay_op *op);
const rlx_relay_op *rlx_relay_op_at(size_t index);
/* An attribute of a call: as written, else the default of the operator's record, whose lists lie in the region.
 * op may be NULL. */
rlx_relay_value rlx_relay_op_attr(rlx_region *region, const rlx_relay_op *op, rlx_relay_attrs attrs,
                                  const char *name, rlx_place place);
/* The number that an attribute is, or that the constant of rank 0 holds which it mentions. */
bool rlx_relay_number(rlx_relay_value v, double *out);

#endif
