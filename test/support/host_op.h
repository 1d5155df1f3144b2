/* host_op.h: options of an operator of the host, to be completed and registered. */
#ifndef HOST_OP_H
#define HOST_OP_H

#include <relax/relax.h>

#include <string.h>

/* The operator `name` takes one argument, of one of RELAX_OP_ARG_*. The strings must outlive the
 * registration. */
static inline relax_op_options host_op_of_one(const char *name, int32_t kind,
                                              relax_op_infer_fn infer, const char *packed)
{
    static const char *const names[] = { "x" };
    static const int32_t tensor[] = { RELAX_OP_ARG_TENSOR }, any[] = { RELAX_OP_ARG_ANY };
    relax_op_options o;
    relax_op_options_init(&o, sizeof o);
    o.name = name;
    o.name_len = strlen(name);
    o.arg_names = names;
    o.arg_kinds = kind == RELAX_OP_ARG_TENSOR ? tensor : any;
    o.num_args = o.min_args = 1;
    o.infer = infer;
    o.packed = packed;
    o.packed_len = packed ? strlen(packed) : 0;
    return o;
}

#endif
