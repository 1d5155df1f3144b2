/*- builder.h: making modules and functions without text.
 *
 *     relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
 *     relax_builder *b = relax_builder_create(ctx, mb);
 *     relax_builder_begin_function(b, "main", 4, params, 2, NULL);
 *     relax_builder_begin_dataflow(b);
 *     relax_expr *relu = relax_call_op_new(ctx, "nn.relu", 7, &x, 1, NULL, 0);
 *     relax_expr *h = relax_builder_emit(b, relu, NULL, 0, 0);
 *     relax_expr *y = relax_builder_emit_output(b, h, NULL, 0, 0);
 *     relax_builder_end_dataflow(b);
 *     relax_builder_end_function(b, y);
 *     relax_module *m = relax_module_builder_finish(mb);      NULL if anything above failed
 *
 * The builder normalises (operands of an emitted expression are bound first) and infers while
 * it emits: each variable has struct info as soon as it exists. A failed emit returns NULL and
 * leaves the block as it was; ending the function fails while errors stand that were raised
 * since its beginning (relax_context_clear_diagnostics forgives them). A NULL that follows from a
 * reported mistake is counted and not reported. Mistakes in expressions
 * without a place are shown at that of their binding; where there is none either, a note says the
 * function and the binding ("in main, binding h"). Begins and ends pair whatever happens:
 * after a begin that failed everything up to its end does nothing, and an end closes what is
 * open inside.
 */
#ifndef RELAX_BUILDER_H
#define RELAX_BUILDER_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct relax_module_builder relax_module_builder; /* owned: destroy it */
typedef struct relax_builder relax_builder;               /* owned: destroy it */

/* ---- modules -------------------------------------------------------------------------------- */

/* A module under construction, starting as a copy of `base` (NULL: empty). Keeps a reference of
 * ctx. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_module_builder *relax_module_builder_create(relax_context *ctx,
        RELAX_NULLABLE const relax_module *base);
/* Drops it; finished modules stay. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mb)
void relax_module_builder_destroy(relax_module_builder *mb);
/* Declares a function to be defined later, so that others can call it. `signature` (Func kind)
 * says what callers may expect; NULL: nothing. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mb)
RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_module_builder_declare(relax_module_builder *mb,
        const char *name, size_t name_len, RELAX_NULLABLE const relax_struct_info *signature);
/* Adds a finished function (PrimFunc, ExternFunc, Relax function) under `name`, or defines the
 * declared one. Returns its GlobalVar. WX05 if it is defined already. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mb)
RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_module_builder_add(relax_module_builder *mb,
        const char *name, size_t name_len, const relax_base_func *func);
/* GlobalVar of the function called `name`; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(mb) RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_module_builder_find(
        const relax_module_builder *mb, const char *name, size_t name_len);
/* Sets the module's attributes (a map). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mb)
relax_status relax_module_builder_set_attrs(relax_module_builder *mb,
                                            RELAX_NULLABLE const relax_attr *attrs);
/* The module. NULL (and diagnostics) if a declared function is not defined or errors stand that
 * were raised since the builder was made. The builder may go on. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mb)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_builder_finish(relax_module_builder *mb);

/* ---- functions ------------------------------------------------------------------------------ */

typedef struct relax_function_options {
    size_t struct_size;
    int32_t pure;                        /* default 1 */
    /* 1: not callable from outside; default 0: gets global_symbol */
    int32_t is_private;
    /* map or NULL. relax.force_pure, and the bounds of shape variables that tir_var_upper_bound
     * and tir_non_negative_var promise, hold while the function is built. */
    const relax_attr *attrs;
    const relax_struct_info *ret;        /* stated result or NULL: deduced */
    relax_place place;
} relax_function_options;

/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_function_options_init(relax_function_options *options, size_t struct_size);
/* A builder of functions for `mb`, which is of the same context. They may be destroyed in
 * either order. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_builder *relax_builder_create(relax_context *ctx,
        relax_module_builder *mb);
/* Drops it with everything open. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
void relax_builder_destroy(relax_builder *builder);
/* Opens a function called `name` (in a module an identifier as Python has them, OP03); shape
 * variables standing alone in the parameters are bound by them. Inside an open function: a local
 * function, whose variable the matching end returns. `options` NULL: defaults.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_builder_begin_function(relax_builder *builder, const char *name,
                                          size_t name_len, const relax_expr *const *params,
                                          size_t num_params,
                                          RELAX_NULLABLE const relax_function_options *options);
/* Closes the innermost function with `result` (normalised, checked against the stated result).
 * The outermost one is refused if variables are used out of their scope in it: a dataflow variable
 * that was not emitted as output (WF01), a variable of another function (WF02, WF03), a shape
 * variable that nothing binds (WF04 to WF06, WF14 to WF16). Returns its GlobalVar, or the variable of a local function. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_builder_end_function(relax_builder *builder,
        const relax_expr *result);
/* Opens a dataflow block. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_builder_begin_dataflow(relax_builder *builder);
/* Closes it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_builder_end_dataflow(relax_builder *builder);
/* Binds `expr` to a new variable (visible in the open dataflow block only, if there is one) and
 * returns it. `name` NULL: lv, gv and a number. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_builder_emit(relax_builder *builder,
        const relax_expr *expr, RELAX_NULLABLE const char *name, size_t name_len,
        relax_place place);
/* Binds `expr` to a new variable with an annotation, which the value must fit (TY01). Otherwise as
 * relax_builder_emit. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_builder_emit_annotated(relax_builder *builder,
        const relax_expr *expr, const relax_struct_info *annotation,
        RELAX_NULLABLE const char *name, size_t name_len, relax_place place);
/* In a dataflow block: binds `expr` to a variable that stays visible after the block. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_builder_emit_output(relax_builder *builder,
        const relax_expr *expr, RELAX_NULLABLE const char *name, size_t name_len,
        relax_place place);
/* Binds `expr` after a check at run time that it is described by `info`; shape variables
 * standing alone in `info` that are not in scope yet are bound. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_builder_emit_match_cast(relax_builder *builder,
        const relax_expr *expr, const relax_struct_info *info, RELAX_NULLABLE const char *name,
        size_t name_len, relax_place place);
/* Opens the branch taken when `cond` (Boolean scalar) is true. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_builder_begin_if(relax_builder *builder, const relax_expr *cond);
/* Closes it with its value and opens the other branch. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_builder_begin_else(relax_builder *builder, const relax_expr *true_value);
/* Closes the other branch with its value and binds the result of the if. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_builder_end_if(relax_builder *builder,
        const relax_expr *false_value, RELAX_NULLABLE const char *name, size_t name_len,
        relax_place place);
/* The value that a variable of this builder is bound to; NULL for parameters and casts. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder) RELAX_BORROWED RELAX_NULLABLE const
    relax_expr *relax_builder_find(const relax_builder *builder, const relax_expr *var);
/* Struct info that `expr` would have if emitted here, in the open function; NULL and
 * diagnostics if it is ill-typed. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_builder_infer(relax_builder *builder,
        const relax_expr *expr);

#ifdef __cplusplus
}
#endif
#endif
