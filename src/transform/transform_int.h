/* transform_int.h: inside src/transform only. The functions that rows of pass.def name, and
 * what passes share. */
#ifndef RLX_TRANSFORM_INT_H
#define RLX_TRANSFORM_INT_H

#include "analysis/analysis.h"
#include "op/op.h"
#include "sinfo/builder.h"
#include "transform/seq_pass.h"
#include "transform/transform.h"

#define PASS(name, options, stage, needs, keeps, help) \
    const rlx_module *rlx_pass_##name(rlx_pass_run *run, const rlx_module *m);
#include "transform/pass.def"
#undef PASS

/* Option of the running pass as an integer, the row's default if it was not given. */
int64_t rlx_pass_int(const rlx_pass_run *run, const char *name, int64_t otherwise);
/* Option of the running pass as text, empty if it was not given. */
rlx_slice rlx_pass_text(const rlx_pass_run *run, const char *name);

/* Struct info (NULL: Object) as signatures say it: sizes, not that a shape is the value of a variable. */
const rlx_sinfo *rlx_signature_info(rlx_context *ctx, const rlx_sinfo *s);
/* f with its dataflow blocks as `rewrite` makes them (NULL: failure, as the result then is), in branches and, if `deep`, in
 * local functions, too. */
const rlx_function *rlx_rewrite_dataflow_blocks(rlx_context *ctx, const rlx_function *f,
                                                const rlx_block *(*rewrite)(void *user, const rlx_block *b),
                                                void *user, bool deep);
/* Is e a call of an operator? Its row, or NULL. */
const rlx_op_row *rlx_callee_op(const rlx_expr *e);
/* Call of an operator that takes plain arguments, by name, all of them given. NULL: out of
 * memory or a NULL argument. */
const rlx_expr *rlx_plain_call(rlx_context *ctx, const char *op, const rlx_expr *const *args,
                               size_t num_args, rlx_place place);
/* The same with operands 1 and 2 (NULL: there is none), and one attribute (key NULL: none). */
const rlx_expr *rlx_op_call(rlx_context *ctx, const char *op, const rlx_expr *a, const rlx_expr *b,
                            const char *key, const rlx_attr *value, rlx_place place);
/* Passes that list axes leave tensors of a higher rank alone. */
#define RLX_PASS_MAX_RANK 32
/* A float constant of rank 0, and a list of integers. NULL: out of memory. */
const rlx_expr *rlx_float_constant(rlx_context *ctx, rlx_dtype dtype, double v, rlx_place place);
const rlx_attr *rlx_ints_attr(rlx_context *ctx, const int64_t *items, size_t count);
/* x with dimensions of size 1 at all axes of a tensor of rank ndim that are not in `kept`, which
 * ascends: along those it has its own. x itself if they are the last ones. */
const rlx_expr *rlx_spread_along(rlx_context *ctx, const rlx_expr *x, size_t ndim,
                                 const int64_t *kept, size_t num_kept, rlx_place place);
/* The function that the option says, the GlobalVar of m; *gv NULL: all. False after a report. */
bool rlx_pass_function(const rlx_pass_run *run, const rlx_module *m, const rlx_global_var **gv);
/* Do the values that shape variables of f get (PRIM_VAR -> PRIM) lie within what f promises, as
 * far as they are numbers? False after a report. */
bool rlx_meets_assumptions(rlx_context *ctx, const rlx_function *f, const rlx_ptrmap *values,
                           enum rlx_code_id code);

/* Content of a constant at an address where its elements may lie: its own, unless it is memory of a
 * host; then a copy in the top layer. NULL: out of memory. */
const void *rlx_aligned_content(rlx_context *ctx, const rlx_constant *c);
bool rlx_is_aligned(const rlx_constant *c);
/* The tensor that a variable is described as; NULL: it is none. */
const rlx_tensor_sinfo *rlx_tensor_of_var(const rlx_expr *e);
/* Does e, or what it was made of by so many calls, lie in memory that somebody writes to? It may change until a later call reads it. values:
 * variable -> the call that it is bound to. */
bool rlx_reads_written(const rlx_written *w, const rlx_ptrmap *values, const rlx_expr *e, int calls);
/* f, where the bindings of dataflow blocks that is_apart picks (it is asked about those that bind
 * a variable) stand in ordinary blocks: split_dataflow.c. *follow (a variable of f, or NULL) is
 * what became of it. f itself if there are none, NULL: failure. */
typedef bool rlx_apart_fn(void *user, const rlx_binding *b);
const rlx_function *rlx_split_dataflow(rlx_context *ctx, const rlx_function *f,
                                       rlx_apart_fn *is_apart, void *user, const rlx_var **follow);

/* Variables that dataflow blocks give out and nothing outside uses become variables of their blocks
 * (convert_to_dataflow.c). NULL: out of memory. */
const rlx_module *rlx_narrow_outputs(rlx_context *ctx, const rlx_module *m);

#endif
