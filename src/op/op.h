/*- op: the operators. One row of op.def each; inference and lowering by family.
 *
 *   op.def        names, arguments, attributes, flags, functions
 *   op_table.c    the rows as data       call_op.c      making calls
 *   infer_*.c     struct info rules      lower_*.c      PrimFuncs that compute them
 */
#ifndef RLX_OP_H
#define RLX_OP_H

#include "ir/ir.h"
#include "arith/arith.h"
#include "sinfo/sinfo.h"
#include "tir/tir.h"

#include <stdarg.h>

struct rlx_module_builder; /* sinfo/builder.h */

const rlx_op_table *rlx_op_table_get(void);
/* "relax.add", "R.add", "add". NULL: unknown. */
const rlx_op_row *rlx_op_find(rlx_slice name);
/* The row of an operator of the table, or of one that the host has registered in ctx. NULL:
 * unknown. */
const rlx_op_row *rlx_op_find_in(const rlx_context *ctx, rlx_slice name);
const rlx_op_row *rlx_op_at(size_t index);
/* Nearest known name for "did you mean"; NULL if nothing is near. ctx NULL: of the table only. */
const char *rlx_op_suggest(const rlx_context *ctx, rlx_slice name);
/* Without "relax." or "R." */
rlx_slice rlx_op_short_name(rlx_slice name);

/* A call with all attributes: `given` (may be NULL) maps names to values, converted to the
 * declared types; missing ones take the default, unknown or missing required ones are OP errors
 * at `place`. args may be nested expressions (the builder normalises). */
const rlx_expr *rlx_call_op(rlx_context *ctx, const rlx_op_row *row, const rlx_expr *const *args,
                            size_t num_args, const rlx_attr *given, rlx_place place);
/* rlx_call_op for operators that take struct info (call_tir, invoke_closure ...). */
const rlx_expr *rlx_call_op_sinfo(rlx_context *ctx, const rlx_op_row *row,
                                  const rlx_expr *const *args, size_t num_args,
                                  const rlx_sinfo *const *sinfo_args, size_t num_sinfo_args,
                                  const rlx_attr *given, rlx_place place);
const rlx_expr *rlx_call_op_z(rlx_context *ctx, const char *name, const rlx_expr *const *args,
                              size_t num_args, const rlx_attr *given, rlx_place place);
/* rlx_call_op from words, for those who make calls of many operators. format: words parted by blanks,
 * for each what follows in *args. x: an expression. X: a tuple, of pointer and size_t. NAME=i int64_t,
 * b int, f double, s const char *, d rlx_dtype, I pointer to int64_t and size_t, F pointer to double and size_t. NULL without a report
 * where an expression is NULL: what made it has reported. */
const rlx_expr *rlx_call_op_words(rlx_context *ctx, const rlx_op_row *row, rlx_place place,
                                  const char *format, va_list *args);
bool rlx_call_is_pure(const rlx_env *env, rlx_context *ctx, const rlx_call *call);

/* Attributes of an operator call, by index in the row. */
const rlx_attr *rlx_call_attr(const rlx_call *call, const char *name);
int64_t rlx_attr_as_int(const rlx_attr *a, int64_t otherwise);
bool rlx_attr_as_bool(const rlx_attr *a, bool otherwise);
double rlx_attr_as_float(const rlx_attr *a, double otherwise);
rlx_dtype rlx_attr_as_dtype(const rlx_attr *a); /* RELAX_VOID if none */
rlx_slice rlx_attr_text(const rlx_attr *a);     /* empty if no string */
/* A list's items; one item for a plain value; 0 for none. */
size_t rlx_attr_count(const rlx_attr *a);
int64_t rlx_attr_item(const rlx_attr *a, size_t i);

/* May the text be the default of an attribute of that type? */
const rlx_attr *rlx_newer_default(rlx_context *ctx, const rlx_op_attr *a); /* rlx_op_table.newer_default */
bool rlx_op_default_fits(uint8_t type, const char *deflt);
/* Limits of a row. */
#define RLX_OP_MAX_ATTRS 12

/* ---- operators of the host (extension_op.c): the `infer` and `lower` of their rows */
const rlx_sinfo *rlx_infer_host(rlx_infer *in);
const rlx_prim_func *rlx_lower_host(rlx_lower_request *l);
/* The call of the row's packed function that does what `call` does; its value is `result`. NULL
 * after a report, or when an attribute has no value at run time (*why: static text). */
const rlx_expr *rlx_op_packed(rlx_context *ctx, const rlx_call *call, const rlx_sinfo *result,
                              const char **why);

/* ---- for inference rules */
/* struct info of argument i; NULL after a report */
const rlx_sinfo *rlx_infer_arg(rlx_infer *in, size_t i);
/* the same, must be a Tensor */
const rlx_tensor_sinfo *rlx_infer_tensor(rlx_infer *in, size_t i);
/* TY08 "nn.softmax: ..."; returns NULL */
const rlx_sinfo *rlx_infer_fail(rlx_infer *in, const char *format, ...) RLX_PRINTF(2, 3);
/* Struct info of an operator call outside a builder (passes): NULL after a report (or silently
 * when quiet). */
const rlx_sinfo *rlx_op_infer(rlx_context *ctx, const rlx_scope *scope, const rlx_env *env,
                              const rlx_call *call, bool quiet);

/* A distributed tensor, or a tuple with such a field? */
bool rlx_is_distributed(const rlx_sinfo *s);

/* ---- lowering: a PrimFunc that computes the call in destination-passing style. What it sees: */
struct rlx_lower_request {
    rlx_context *ctx;
    const rlx_call *call;
    const rlx_op_row *row;
    /* struct info of each argument (tuples: one TUPLE_SINFO) */
    const rlx_sinfo *const *args;
    /* as inferred; a lowering that knows the sizes better puts them here */
    const rlx_sinfo *result;
    struct rlx_scope *scope;
    rlx_slice name;                     /* for the PrimFunc */
    bool separate;                      /* of the module: rlx_products_are_separate */
    /* out: tensor arguments of the PrimFunc, in order (tuples flattened) */
    const rlx_expr *const *inputs; size_t num_inputs;
    /* out: where each input comes from; NULL: not told */
    const struct rlx_input_source *sources;
    /* out: shape variables that no buffer binds, passed as trailing int64 parameters */
    rlx_prims *tir_vars;
    const char *why;                    /* out: why there is no lowering; static text */
    rlx_place place;
};
/* Argument of the call that an input is, or the tuple argument whose field it is. */
/* field -1: the argument itself */
typedef struct rlx_input_source { uint32_t arg; int32_t field; } rlx_input_source;

/* call_tir that computes `call`: PrimFunc made by the row's lowering, added to `mb` (equal ones
 * shared), ready to be emitted. `scope` may not be NULL. NULL without report when the operator
 * has no lowering or shapes are not known enough (*why: static text). */
const rlx_expr *rlx_op_lower(struct rlx_module_builder *mb, const rlx_scope *scope,
                             const rlx_call *call, const rlx_sinfo *result, const char **why);
/* Is `why` a dtype that the operator does not compute with, or no kernel at all? If so, other sizes
 * change nothing. */
bool rlx_op_is_dtype_refused(const char *why);

/* Lowers many calls: what was lowered through a cache is found again by operator, attributes and
 * struct info, up to the names of sizes. Belongs to one module builder and one layer of the
 * context. NULL: out of memory. */
typedef struct rlx_lower_cache rlx_lower_cache;
rlx_lower_cache *rlx_lower_cache_create(rlx_context *ctx, struct rlx_module_builder *mb);
void rlx_lower_cache_free(rlx_lower_cache *c); /* NULL is fine */
const rlx_expr *rlx_op_lower_cached(rlx_lower_cache *c, const rlx_scope *scope,
                                    const rlx_call *call, const rlx_sinfo *result,
                                    const char **why);

#endif
