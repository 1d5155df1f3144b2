/* oracle_int.h: shared by the files of the oracle. */
#ifndef ORACLE_INT_H
#define ORACLE_INT_H

#include "oracle.h"
#include "ir/ir.h"
#include "op/op.h"
#include "sinfo/builder.h"
#include "sinfo/sinfo.h"

/* What names mean, the innermost first. Cells never change and are never freed before the oracle, so
 * a scope ends by going back to an older cell, and a closure keeps the one it was made in. */
typedef struct cell cell;
struct cell {
    const cell *below;
    const rlx_node *name;      /* VAR, DATAFLOW_VAR, or a PRIM_VAR, which means an integer */
    relax_value value;
    cell *next_made;
};

/* A function that is a value: a function of the program where it was made, or another value with
 * arguments that it already has behind those of a call. */
typedef struct closure {
    oracle *o;
    const rlx_node *function;  /* FUNCTION, PRIM_FUNC, EXTERN_FUNC; NULL: `of` with `captured` */
    const cell *scope;
    relax_value of, *captured;
    size_t num_captured;
    relax_packed_func *object;
    struct closure *next_made;
} closure;

struct oracle {
    relax_context *ctx;
    const rlx_module *module;
    rlx_module_builder *functions; /* those of the module, and what operators become */
    relax_registry *registry;
    cell *cells;
    closure *closures;
    relax_value *kept;             /* every value that was made */
    size_t num_kept, cap_kept;
    int depth, max_depth;
    rlx_fault *why;
};

/* ---- failures: false */
bool oracle_fail(oracle *o, enum rlx_code_id code, const char *format, ...) RLX_PRINTF(3, 4);
/* The oracle does not know. */
bool oracle_unknown(oracle *o, const char *format, ...) RLX_PRINTF(2, 3);
/* What has failed is the reason of another failure. */
bool oracle_blame(oracle *o, enum rlx_code_id code);

/* ---- values: what is made lives as long as the oracle */
relax_value oracle_keep(oracle *o, relax_value v);
relax_value oracle_unit(oracle *o);
relax_value oracle_tuple(oracle *o, const relax_value *fields, size_t count);
relax_value oracle_shape(oracle *o, const int64_t *dims, size_t ndim);
bool oracle_tensor(oracle *o, rlx_dtype dtype, const int64_t *dims, size_t ndim, relax_value *out);
relax_value oracle_function(oracle *o, const rlx_node *function, const cell *scope);
relax_value oracle_closure(oracle *o, relax_value of, const relax_value *captured, size_t count);
/* NULL: it is no function of the program, or none at all. */
const closure *oracle_closure_of(const oracle *o, relax_value v);
relax_value oracle_field(relax_value tuple, size_t i);

/* ---- scopes */
const cell *oracle_bind(oracle *o, const cell *s, const rlx_node *name, relax_value v);
const cell *oracle_find(const cell *s, const rlx_node *name);

/* ---- integers and scalars (oracle_match.c) */
bool oracle_prim(oracle *o, const cell *s, const rlx_prim *p, relax_value *out);
/* The values of a list as integers; at most 32. */
bool oracle_dims(oracle *o, const cell *s, const rlx_prim *const *dims, size_t n, int64_t *out);

/* ---- descriptions (oracle_match.c) */
/* Language 7.1: checks values against descriptions, and binds what is not bound yet, into *s. */
bool oracle_match(oracle *o, const cell **s, const rlx_sinfo *const *wants,
                  const relax_value *values, size_t count);
/* Shape variables that have values, replaced by them. */
const rlx_sinfo *oracle_instance(oracle *o, const cell *s, const rlx_sinfo *info);

/* ---- expressions (oracle.c), calls (oracle_call.c), operators (oracle_op.c) */
#define ORACLE_MOST_ARGS 64
bool oracle_eval(oracle *o, const cell *s, const rlx_expr *e, relax_value *out);
bool oracle_eval_call(oracle *o, const cell *s, const rlx_call *c, relax_value *out);
bool oracle_apply(oracle *o, relax_value f, const relax_value *args, size_t n, relax_value *out);
bool oracle_packed(oracle *o, const char *name, const relax_value *args, size_t n,
                   relax_value *out);
bool oracle_eval_op(oracle *o, const cell *s, const rlx_call *c, const rlx_op_row *row,
                    relax_value *out);

#endif
