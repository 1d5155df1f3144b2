/* module.h: modules with another function, name, link name or attribute, and two modules in one.
 *
 * Modules never change. Each call gives a new one that shares every function which does not have
 * to differ (they come back by pointer), or the very module it was given if nothing differs;
 * NULL and a diagnostic if it refuses. What is derived from a function elsewhere, the struct
 * info of variables bound to its results above all, is not looked at again: see relax_module_infer.
 *
 * Functions are called by names that text can give them: letters, digits and '_', no digit first
 * and no word of Python (OP03).
 *
 * A public function has a link name (the attribute global_symbol), which is its name in the
 * module; a private one has none and is seen by this module alone.
 */
#ifndef RELAX_MODULE_H
#define RELAX_MODULE_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions ------------------------------------------------------------------------------ */

/* With `func` as a new function called `name`. A public one gets the name as link name. WX05 if
 * the name is taken. One that is in the module already goes in as relax_node_copy_renewed gives
 * it: two functions do not share parameters (WX03). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_add(relax_context *ctx,
        const relax_module *module, const char *name, size_t name_len,
        const relax_base_func *func);
/* With `func` in place of the function called `name`, whose GlobalVar stays. A public one gets
 * the name as link name. OP15 if there is none of that name. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_replace(relax_context *ctx,
        const relax_module *module, const char *name, size_t name_len,
        const relax_base_func *func);
/* Without the function called `name`. Refused (WX01, at the mention) while another function
 * mentions it, unless `mentioned` is 1: then the module is well-formed only when that is mended.
 * OP15 if there is none of that name. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_remove(relax_context *ctx,
        const relax_module *module, const char *name, size_t name_len, int32_t mentioned);
/* With the function `from` called `to`: every mention follows, and the link name if it is
 * public. OP15 if there is no `from`, WX05 if `to` is taken. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_rename(relax_context *ctx,
        const relax_module *module, const char *from, size_t from_len, const char *to,
        size_t to_len);
/* With the function called `name` public (1) or private (0). OP15 if there is none of that
 * name, OP02 for a packed function. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_set_public(relax_context *ctx,
        const relax_module *module, const char *name, size_t name_len, int32_t is_public);
/* Link name of a public function; NULL for a private one and a packed function. `len` may be
 * NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_base_func_link_name(const relax_base_func *func,
                                                                    RELAX_NULLABLE size_t *len);
/* The functions of `a`, then those of `b` (of the same context). Two functions of one name are
 * one if they are equal and mention only what is one likewise. Else a private function gives way
 * (that of `b` if both are private): it gets a fresh name, and its module's mentions follow.
 * Two public ones: WX05, at the one of `b`, with a note at the one of `a`. Attributes and global
 * infos of both; an attribute with two values is OP16. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_merge(relax_context *ctx,
        const relax_module *a, const relax_module *b);

/* ---- attributes ----------------------------------------------------------------------------- */

/* With these attributes (a map; NULL: none) in place of its own. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_set_attrs(relax_context *ctx,
        const relax_module *module, RELAX_NULLABLE const relax_attr *attrs);
/* With these global infos, lists by name ("vdevice" and others); NULL: none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_set_global_infos(relax_context *ctx,
        const relax_module *module, RELAX_NULLABLE const relax_attr *infos);
/* Global infos of the module, a map of lists; NULL if there are none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_attr *relax_module_global_infos(
        const relax_module *module);
/* A Relax function or PrimFunc with these attributes (a map; NULL: none) in place of its own.
 * OP02 for a packed function. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_base_func *relax_base_func_with_attrs(
        relax_context *ctx, const relax_base_func *func, RELAX_NULLABLE const relax_attr *attrs);

/* ---- parameters and sizes ------------------------------------------------------------------- */

/* Parameters become constants: params[i] (a parameter of a function of the module) is replaced
 * by constants[i] (a constant), and shape variables that it fixes become numbers. NULL
 * and diagnostics for a wrong dtype, rank or size, a size beyond the bounds that the function
 * promises, and for a function that is called in the module (CG12), a parameter given twice
 * (OP16), and one that no function has (OP15). By name: relax_module_bind_params. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_bind_constants(relax_context *ctx,
        const relax_module *module, const relax_expr *const *params,
        const relax_expr *const *constants, size_t count);
/* Shape variables become expressions: vars[i] is replaced by values[i] everywhere in the
 * function that defines it. NULL and diagnostics for a variable given twice (OP16), one that no
 * function defines (OP15), a value of another dtype (OP02), a number beyond the bounds that the
 * function promises (OP11), and a value that mentions a variable which the function does not
 * define (WF05). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_bind_shape_vars(relax_context *ctx,
        const relax_module *module, const relax_prim_expr *const *vars,
        const relax_prim_expr *const *values, size_t count);
/* Shape variables become expressions, by name: those called names[i] (NUL-terminated) in
 * `function`, or in every function if that is NULL, are replaced by values[i]. Fails as
 * relax_module_bind_shape_vars; OP16 also where two variables of one function have the name. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_bind_shape_names(relax_context *ctx,
        const relax_module *module, RELAX_NULLABLE const char *function, size_t function_len,
        const char *const *names, const relax_prim_expr *const *values, size_t count);

#ifdef __cplusplus
}
#endif
#endif
