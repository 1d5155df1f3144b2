/* analysis.h: questions about programs. Nothing here changes one; relax_module_normalize and
 * relax_module_infer return new modules. */
#ifndef RELAX_ANALYSIS_H
#define RELAX_ANALYSIS_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How much is checked. */
enum relax_check_stage {
    RELAX_CHECK_ANY = 0,    /* what holds for every program */
    RELAX_CHECK_NORMAL = 1, /* and for programs in normal form */
    RELAX_CHECK_ALL = 2     /* and what an explicit check warns about */
};

/* 1 if the module is well-formed (warnings allowed); 0 if not: every violation is a diagnostic
 * (WF, WX, NF), or for misuse (OP). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) int32_t
    relax_module_well_formed(relax_context *ctx, const relax_module *module, int32_t stage);
/* The module in normal form; the same handle if it was. NULL and diagnostics (NF) if it is
 * malformed. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_module *relax_module_normalize(relax_context *ctx, const relax_module *module);
/* The module normalised, with all struct info derived anew and checked (TY, PU). NULL and
 * diagnostics if it is ill-typed. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_module *relax_module_infer(relax_context *ctx, const relax_module *module);

/* May a value described by `a` be used where `b` is described? */
enum relax_assignability {
    RELAX_ASSIGNABLE_FAILED = -1, /* could not be answered: misuse (OP), or out of memory */
    RELAX_ASSIGNABLE_NO = 0,    /* no value fits, or it is forbidden */
    RELAX_ASSIGNABLE_KIND = 1,  /* `a` lacks kind information: dtype, rank, device ... */
    RELAX_ASSIGNABLE_VALUE = 2, /* kinds fit; sizes are missing or not proved equal */
    RELAX_ASSIGNABLE_YES = 3    /* every value of `a` is a value of `b` */
};
/* enum relax_assignability. Shape variables count as >= 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) int32_t
    relax_struct_info_assignable(relax_context *ctx, const relax_struct_info *a,
                                 const relax_struct_info *b);
/* The most specific description that covers both. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_lub(relax_context *ctx,
        const relax_struct_info *a, const relax_struct_info *b);
/* `info` where only the shape variables `visible` are: what mentions others is dropped. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_erase(relax_context *ctx,
        const relax_struct_info *info, const relax_prim_expr *const *visible, size_t count);
/* The static type of `info`, as struct info: without sizes, values, devices and purity. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_static(relax_context *ctx,
        const relax_struct_info *info);
/* Answers about two integer expressions, for all admissible values of their variables. */
enum relax_proof {
    RELAX_PROOF_FAILED = -1, /* could not be answered: misuse (OP), or out of memory */
    RELAX_PROOF_UNKNOWN = 0,
    RELAX_PROOF_EQUAL = 1,
    RELAX_PROOF_DIFFERENT = 2
};
/* Are two integer expressions equal, or different, for all sizes >= 0 of their variables?
 * enum relax_proof. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_prim_prove_equal(relax_context *ctx, const relax_prim_expr *a,
                               const relax_prim_expr *b);
/* An equal expression that is not longer; the same handle if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_prim_simplify(relax_context *ctx,
        const relax_prim_expr *e);

/* Variables used in `node` and not bound inside, in order of first occurrence. Writes up to
 * `capacity` of them to `out` (may be NULL) and returns how many there are; RELAX_NOT_FOUND on
 * misuse or when out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_free_vars(relax_context *ctx, const relax_node *node,
                       RELAX_NULLABLE const relax_expr **out, size_t capacity);
/* Variables bound inside `node`, in order of first occurrence. Counts and writes as
 * relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_bound_vars(relax_context *ctx, const relax_node *node,
                        RELAX_NULLABLE const relax_expr **out, size_t capacity);
/* Shape variables used in `node` and not defined inside, in order of first occurrence. Counts and
 * writes as relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_free_shape_vars(relax_context *ctx, const relax_node *node,
                             RELAX_NULLABLE const relax_prim_expr **out, size_t capacity);
/* All variables in `node`, bound and free, in order of first occurrence. Counts and writes as
 * relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_all_vars(relax_context *ctx, const relax_node *node,
                      RELAX_NULLABLE const relax_expr **out, size_t capacity);
/* All shape variables in `node`, placeholders of function descriptions included, in order of first
 * occurrence. Counts and writes as relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_all_shape_vars(relax_context *ctx, const relax_node *node,
                            RELAX_NULLABLE const relax_prim_expr **out, size_t capacity);
/* Shape variables defined inside `node`: by parameters, by casts, and by function descriptions as
 * their placeholders; in order of first occurrence. Counts and writes as relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_bound_shape_vars(relax_context *ctx, const relax_node *node,
                              RELAX_NULLABLE const relax_prim_expr **out, size_t capacity);
/* Shape variables that a struct info, variable, cast or the parameters of a function would define
 * where nothing else does: those that stand alone in a dimension, shape value or scalar value,
 * outside function descriptions. In order of first occurrence; counts and writes as
 * relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_definable_shape_vars(relax_context *ctx, const relax_node *node,
                                  RELAX_NULLABLE const relax_prim_expr **out, size_t capacity);
/* Expressions that are >= 0 because they are a size: distinct dimensions of tensors and shapes
 * (not values of scalars) in a struct info, that of a variable, or those of the parameters of a
 * function. Literals are left out unless they are negative. In order of first occurrence; counts
 * and writes as relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_non_negative_exprs(relax_context *ctx, const relax_node *node,
                                RELAX_NULLABLE const relax_prim_expr **out, size_t capacity);

/* ---- functions and their calls -------------------------------------------------------------- */

/* GlobalVars that `node` mentions: called, or handed over as values; in order of first occurrence.
 * Counts and writes as relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_global_vars(relax_context *ctx, const relax_node *node,
                         RELAX_NULLABLE const relax_expr **out, size_t capacity);
/* GlobalVars that `node` calls, by a call or by an operator they are given to (R.call_tir and the
 * like); in order of first occurrence. Counts and writes as relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_called_global_vars(relax_context *ctx, const relax_node *node,
                                RELAX_NULLABLE const relax_expr **out, size_t capacity);
/* Groups of functions that mention each other, callees before callers: group[i] (from 0) is that
 * of function i, recursive[i] 1 if it mentions itself, directly or around. Either may be NULL;
 * `capacity` entries at most are written. Returns how many groups there are;
 * RELAX_NOT_FOUND on misuse or when out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_function_groups(relax_context *ctx, const relax_module *module,
                             RELAX_NULLABLE size_t *group, RELAX_NULLABLE int32_t *recursive,
                             size_t capacity);
/* GlobalVars of the functions that the `entries` (GlobalVars of the module; NULL: all public
 * functions) mention, directly or around, themselves included, in the order of the module. As
 * relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_reachable_functions(relax_context *ctx, const relax_module *module,
                                 RELAX_NULLABLE const relax_expr *const *entries,
                                 size_t num_entries, RELAX_NULLABLE const relax_expr **out,
                                 size_t capacity);
/* The first impure call in a function of the module (nested functions are not entered); NULL if
 * there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_find_impure_call(relax_context *ctx,
        const relax_module *module, const relax_base_func *func);

/* Does evaluating `expr` (its body, for a function) make an impure call? Function literals
 * inside are not entered; calls of `own` (a GlobalVar or variable, may be NULL), which is what
 * `expr` will be called by, do not count. 1: yes, and *call (may be NULL) is the first one; with
 * `report` 1 a note (PU02) says where it stands. 0: no, or it
 * could not be answered (OP, or out of memory). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_contains_impure_call(relax_context *ctx, const relax_module *module,
                                   const relax_expr *expr, RELAX_NULLABLE const relax_expr *own,
                                   RELAX_NULLABLE const relax_expr **call, int32_t report);

/* ---- what a function needs ------------------------------------------------------------------ */

/* Variables of a Relax function whose values are known before it is called: parameters after the
 * first num_input (an attribute; without it none), and variables bound to pure values that mention
 * only such variables. In order; counts and writes as relax_free_vars. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_computable_at_compile_time(relax_context *ctx, const relax_module *module,
                                        const relax_base_func *func,
                                        RELAX_NULLABLE const relax_expr **out, size_t capacity);
/* 1 if a PrimFunc only copies the elements of one tensor to another in row-major order, so that
 * it gives it another shape and no more. 0: perhaps not, or misuse (OP). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_has_reshape_pattern(relax_context *ctx, const relax_base_func *func);
/* Memory that a Relax function of the module asks for once it is built
 * (relax_pipeline_add_build at level 1), in bytes, as expressions of its sizes: without planning
 * (*tensors, every tensor that it allocates) and with it (*storages, tensors that are not planned
 * included). Branches are added up, functions that it calls are left out. Returns the number of
 * allocations whose size is not known before it runs, which are left out;
 * RELAX_NOT_FOUND if it cannot be lowered, on misuse or when out of memory. The module stays as
 * it is; what was made on the way goes with the context or its next collection. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_memory_usage(relax_context *ctx, const relax_module *module, const char *function,
                          size_t function_len, const relax_prim_expr **tensors,
                          const relax_prim_expr **storages);
/* As relax_memory_usage, in numbers: bytes where vars[i] is values[i]. OP11 and
 * RELAX_NOT_FOUND for a size that has no value then, or too large a one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_memory_usage_at(relax_context *ctx, const relax_module *module, const char *function,
                             size_t function_len, const relax_prim_expr *const *vars,
                             const int64_t *values, size_t count, int64_t *tensors,
                             int64_t *storages);
/* Memory that a Relax function asks for as it stands, in bytes, as expressions of its sizes.
 * Nothing is lowered, so before call_tir_rewrite there is nothing to count; after it *tensors and
 * *storages are equal, and plan_memory makes the second smaller. Returns the number of allocations
 * whose size is not given; RELAX_NOT_FOUND on misuse or when out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_memory_estimate(relax_context *ctx, const relax_base_func *func,
                             const relax_prim_expr **tensors, const relax_prim_expr **storages);
/* As relax_memory_estimate, in numbers: bytes where vars[i] is values[i]. OP11 and
 * RELAX_NOT_FOUND for a size that has no value then, or too large a one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_memory_estimate_at(relax_context *ctx, const relax_base_func *func,
                                const relax_prim_expr *const *vars, const int64_t *values,
                                size_t count, int64_t *tensors, int64_t *storages);

/* ---- definitions and uses ------------------------------------------------------------------- */

/* Where a variable is used. */
enum relax_use_kind {
    RELAX_USE_VALUE = 1,       /* operand of a value */
    RELAX_USE_STRUCT_INFO = 2, /* in an annotation or in the target of a cast */
    RELAX_USE_RESULT = 3       /* in the result of a function, sequence or branch */
};
typedef struct relax_use_def relax_use_def; /* owned: destroy it */

/* An index of the variables of a module, function, expression, block or binding: where each is
 * bound and used. One walk, after which every question costs the same whatever the size. Keeps a
 * reference of ctx. NULL when out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_use_def *relax_use_def_create(relax_context *ctx,
                                                             const relax_node *node);
/* Drops it. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
void relax_use_def_destroy(relax_use_def *use_def);
/* The binding of a variable; NULL for parameters and what is not bound inside. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
RELAX_BORROWED RELAX_NULLABLE const relax_binding *relax_use_def_binding(
        const relax_use_def *use_def, const relax_expr *var);
/* The value that an ordinary binding gives it; NULL for casts, parameters and others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_use_def_value(const relax_use_def *use_def,
                                                                    const relax_expr *var);
/* Number of its binding among all, in order of evaluation; RELAX_NOT_FOUND if it has none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
size_t relax_use_def_position(const relax_use_def *use_def, const relax_expr *var);
/* Number of uses of a variable: one for each binding and kind of use. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
size_t relax_use_def_num_uses(const relax_use_def *use_def, const relax_expr *var);
/* The binding, the innermost one, that uses it for the index-th time, in order of evaluation;
 * *kind (may be NULL): RELAX_USE_..., 0 if there is no such use. NULL also where the result or
 * signature of the outermost function uses it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
RELAX_BORROWED RELAX_NULLABLE const relax_binding *relax_use_def_use(const relax_use_def *use_def,
        const relax_expr *var, size_t index, RELAX_NULLABLE int32_t *kind);
/* Variables that leave it: in the result of a function or sequence; of a block, its ordinary
 * variables. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
size_t relax_use_def_num_outputs(const relax_use_def *use_def);
/* Output `index` of relax_use_def_num_outputs, in order; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_use_def_output(const relax_use_def *use_def,
                                                                     size_t index);
/* Number of bindings of variables with this name, as it is printed ("lv3"). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
size_t relax_use_def_num_named(const relax_use_def *use_def, const char *name, size_t name_len);
/* Binding `index` of relax_use_def_num_named, in order; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(use_def)
RELAX_BORROWED RELAX_NULLABLE const relax_binding *relax_use_def_named(
        const relax_use_def *use_def, const char *name, size_t name_len, size_t index);

/* ---- liveness ------------------------------------------------------------------------------- */

typedef struct relax_liveness relax_liveness; /* owned: destroy it */

/* Liveness of a Relax function in normal form: which variables are still needed at which of its
 * bindings. Keeps a reference of ctx. NULL and a diagnostic for other functions (OP02), or when
 * out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_liveness *relax_liveness_create(relax_context *ctx,
                                                               const relax_base_func *func);
/* Drops it. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(liveness)
void relax_liveness_destroy(relax_liveness *liveness);
/* Variables, parameters included, that some way of evaluation uses from right before this
 * binding on, in the order in which they are bound. What a local function captures counts where
 * it is made. Counts and writes as relax_free_vars; RELAX_NOT_FOUND also for a binding of
 * another function. Costs about the number of variables given. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(liveness)
size_t relax_liveness_before(const relax_liveness *liveness, const relax_binding *binding,
                             RELAX_NULLABLE const relax_expr **out, size_t capacity);
/* Variables, parameters included, that some way of evaluation uses from right after this binding
 * on. Order, counts, cost and failure as relax_liveness_before. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(liveness)
size_t relax_liveness_after(const relax_liveness *liveness, const relax_binding *binding,
                            RELAX_NULLABLE const relax_expr **out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
