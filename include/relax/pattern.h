/*- pattern.h: shapes of computation, looked for and replaced.
 *
 * A pattern is made of small ones, matched against the values that variables are bound to:
 *
 *     const relax_pattern *x = relax_pattern_any_new(ctx);
 *     const relax_pattern *w = relax_pattern_any_new(ctx);
 *     const relax_pattern *b = relax_pattern_any_new(ctx);
 *     const relax_pattern *conv[] = { x, w };
 *     const relax_pattern *sum[] = { relax_pattern_op_new(ctx, "nn.conv2d", 9, conv, 2, 0), b };
 *     int32_t flags = RELAX_PATTERN_COMMUTATIVE;
 *     const relax_pattern *add = relax_pattern_op_new(ctx, "add", 3, sum, 2, flags);
 *     const relax_pattern *relu = relax_pattern_op_new(ctx, "nn.relu", 7, &add, 1, 0);
 *     relax_module *m2 = relax_pattern_rewrite(ctx, m, NULL, 0, relu, fuse, NULL, NULL);
 *
 * Patterns never change, belong to their context and may be used with all its modules, as often
 * as one likes. One pattern used in two places of another must match the same expression in
 * both; two patterns made alike are free of each other.
 *
 * Where a pattern asks for a value (a call, a constant ...) and finds a variable, it goes on
 * with the value that the variable is bound to, within one block: no match reaches across
 * blocks, branches or functions. The bindings so looked into are those of the match; what
 * stands for relax_pattern_any_new, a variable, or is only described by dtype, shape or struct info
 * is not looked into. Modules are in normal form.
 *
 * The order of matches is that of evaluation: functions as in the module, bindings as they are
 * evaluated, branches before the binding of their if. At a binding the first way to match it
 * counts: the alternatives of `or` in their order, arguments as written before arguments
 * exchanged. A way that looks into a binding of a match taken before is none, so the matches
 * taken never overlap.
 *
 * Patterns can be made that have more ways to match than there is time for. A call takes up to
 * 2^24 steps beyond what is linear in the program and the pattern (under a second or so); then
 * it fails with OP18, "too many ways to match". Neither programs nor patterns are limited in
 * depth.
 */
#ifndef RELAX_PATTERN_H
#define RELAX_PATTERN_H

#include <relax/builder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* borrowed: lives as long as its context, like a node of a program */
typedef struct relax_pattern relax_pattern;
typedef struct relax_match relax_match;     /* what matched what */

/* What `flags` of a pattern adds up. */
enum relax_pattern_flag {
    RELAX_PATTERN_OPEN = 1,       /* more arguments or fields may follow */
    RELAX_PATTERN_COMMUTATIVE = 2, /* the first two arguments in either order */
    RELAX_PATTERN_UNORDERED = 4    /* fields of a tuple, at most 64, in any order */
};

/* ---- leaves --------------------------------------------------------------------------------- */

/* Any expression. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
    RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_any_new(relax_context *ctx);
/* This very variable, or an expression equal to this one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const
    relax_pattern *relax_pattern_expr_new(relax_context *ctx, const relax_expr *expr);
/* A variable, parameters included, with this name as it is printed ("lv3"); NULL: any. It is
 * not looked through. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_var_new(
        relax_context *ctx, RELAX_NULLABLE const char *name, size_t name_len);
/* A variable that is visible in its dataflow block only, with this name as it is printed; NULL:
 * any. It is not looked through. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const
    relax_pattern *relax_pattern_dataflow_var_new(relax_context *ctx,
                                                  RELAX_NULLABLE const char *name, size_t name_len);
/* The GlobalVar of a function of the module by name; NULL: of any. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_global_var_new(
        relax_context *ctx, RELAX_NULLABLE const char *name, size_t name_len);
/* A packed function (as callee or argument) by name; NULL: any. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const
    relax_pattern *relax_pattern_extern_func_new(relax_context *ctx,
                                                 RELAX_NULLABLE const char *name, size_t name_len);
/* A function, local or by its GlobalVar: one equal to `like` but for its global_symbol; NULL:
 * any. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_function_new(
        relax_context *ctx, RELAX_NULLABLE const relax_base_func *like);
/* A tensor constant. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const
    relax_pattern *relax_pattern_constant_new(relax_context *ctx);
/* A constant of rank 0 or an R.prim_value with this value, whatever its dtype; NaN matches NaN.
 * The value is that of the elements: 0.1 is none of float32.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const
    relax_pattern *relax_pattern_scalar_new(relax_context *ctx, double value);
/* A shape literal; dimensions as in relax_pattern_with_shape. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_shape_new(
        relax_context *ctx, const relax_prim_expr *const *dims, size_t ndim);

/* ---- calls, tuples -------------------------------------------------------------------------- */

/* A call of what `callee` matches. `flags`: RELAX_PATTERN_... */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_call_new(
        relax_context *ctx, const relax_pattern *callee, const relax_pattern *const *args,
        size_t num_args, int32_t flags);
/* A call of an operator by name, as in relax_call_op_new. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_op_new(
        relax_context *ctx, const char *op, size_t op_len, const relax_pattern *const *args,
        size_t num_args, int32_t flags);
/* R.call_tir of what `callee` matches (a function or GlobalVar; NULL: any) with these tensors;
 * tir_vars are not looked at. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_call_tir_new(
        relax_context *ctx, RELAX_NULLABLE const relax_pattern *callee,
        const relax_pattern *const *args, size_t num_args, int32_t flags);
/* R.call_packed, R.call_pure_packed or R.call_dps_packed (its tensors are the arguments) of a
 * packed function by name; NULL: any. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const
    relax_pattern *relax_pattern_call_packed_new(relax_context *ctx,
                                                 RELAX_NULLABLE const char *name, size_t name_len,
                                                 const relax_pattern *const *args, size_t num_args,
                                                 int32_t flags);
/* A tuple with these fields, each matched by a field of its own. `flags`: RELAX_PATTERN_OPEN,
 * RELAX_PATTERN_UNORDERED. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_tuple_new(
        relax_context *ctx, const relax_pattern *const *fields, size_t count, int32_t flags);
/* In place of an index or the number of an argument: any. */
#define RELAX_PATTERN_ANYWHERE ((size_t)-1)
/* Field `index` (RELAX_PATTERN_ANYWHERE: any) of a tuple. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const
    relax_pattern *relax_pattern_tuple_get_item_new(relax_context *ctx, const relax_pattern *tuple,
                                                    size_t index);

/* ---- connectives ---------------------------------------------------------------------------- */

/* An expression that one of them matches, the earlier ones preferred. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_or_new(
        relax_context *ctx, const relax_pattern *const *patterns, size_t count);
/* An expression that all of them match. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_and_new(
        relax_context *ctx, const relax_pattern *const *patterns, size_t count);
/* An expression that `pattern` does not match, given what was matched before it. Nothing of
 * `pattern` is in the match. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const
    relax_pattern *relax_pattern_not_new(relax_context *ctx, const relax_pattern *pattern);

/* ---- conditions: what `pattern` matches, if ------------------------------------------------- */

/* it is a call or a function with at least these attributes, equal to those of the map; of a
 * GlobalVar its function's. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_with_attrs(relax_context *ctx,
        const relax_pattern *pattern, const relax_attr *attrs);
/* it is a tensor or scalar of this dtype. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_with_dtype(relax_context *ctx,
        const relax_pattern *pattern, relax_dtype dtype);
/* it is a tensor or shape with these dimensions, each proved to be equal; NULL among them: any
 * size. Shape variables of the function that is looked at are themselves. Others stand for a
 * size: the first dimension that is such a variable alone says which, and it is the same
 * wherever the variable occurs in the pattern (relax_match_size tells it).
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_with_shape(relax_context *ctx,
        const relax_pattern *pattern, const relax_prim_expr *const *dims, size_t ndim);
/* its struct info fits `info` in any case (RELAX_ASSIGNABLE_YES). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_with_struct_info(
        relax_context *ctx, const relax_pattern *pattern, const relax_struct_info *info);
/* it and what `other` matches are tensors of the same shape, proved. `other` is part of the
 * same match. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_with_same_shape(
        relax_context *ctx, const relax_pattern *pattern, const relax_pattern *other);

/* ---- graphs --------------------------------------------------------------------------------- */

/* What `pattern` matches, if the variable that `used` matches is used by the binding that
 * `user` matches: as argument number `argument` of the call, or (RELAX_PATTERN_ANYWHERE) anywhere
 * in it. `only`: and by nothing else, the result of the function and struct info included. `used`
 * or `user` may be no part of `pattern` otherwise: it is then looked for among the bindings of the
 * block. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_with_use(relax_context *ctx,
        const relax_pattern *pattern, const relax_pattern *used, const relax_pattern *user,
        size_t argument, int32_t only);
/* Several patterns, each matched by a binding of its own in one block; the first one is the
 * root of the match. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_pattern *relax_pattern_graph(relax_context *ctx,
        const relax_pattern *const *patterns, size_t count);

/* ---- matching ------------------------------------------------------------------------------- */

/* Matches one expression of `func`, whose bindings are looked through; NULL: none is, and
 * variables are just variables. `module` (may be NULL) says what GlobalVars are. NULL if it
 * does not match, or after an error. The match keeps a reference of ctx.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_match *relax_pattern_match(relax_context *ctx,
        const relax_pattern *pattern, RELAX_NULLABLE const relax_module *module,
        RELAX_NULLABLE const relax_base_func *func, const relax_expr *expr);
/* The first match whose root is a binding of `block`, a block of `func`. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_match *relax_pattern_match_block(relax_context *ctx,
        const relax_pattern *pattern, RELAX_NULLABLE const relax_module *module,
        const relax_base_func *func, const relax_block *block);
/* `each` is called for each match in `func`, none overlapping one before it, in order; what it
 * gets is valid during the call. It returns 0 to go on, 1 to leave the bindings of this match
 * to others, 2 to stop (RELAX_ERROR_CANCELLED).
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_pattern_match_all(relax_context *ctx, const relax_pattern *pattern,
                                     RELAX_NULLABLE const relax_module *module,
                                     const relax_base_func *func,
                                     int32_t (*each)(void *user, const relax_match *match),
                                     void *user);
/* Drops a match of relax_pattern_match or relax_pattern_match_block. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(match)
void relax_match_destroy(relax_match *match);
/* The expression that the pattern matched, as it stands in the program: a variable, a parameter, a
 * constant ... The root of a match of bindings is the variable bound. NULL if the pattern is not
 * in the match (the other side of an `or`, the inside of a `not`). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_match_expr(const relax_match *match,
        const relax_pattern *pattern);
/* The value that the pattern matched: as relax_match_expr, and for a variable that was or can be
 * looked through the value it is bound to. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_match_value(const relax_match *match,
        const relax_pattern *pattern);
/* The size that a shape variable of the pattern stands for; NULL if it stands for none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_prim_expr *relax_match_size(const relax_match *match,
        const relax_prim_expr *var);
/* The expression matched by the whole pattern. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_match_root(const relax_match *match);

/* ---- rewriting ------------------------------------------------------------------------------ */

typedef struct relax_rewrite_options {
    size_t struct_size;
    uint64_t max_steps;  /* beyond what is linear; default 2^24 */
    /* how often the result is looked through again while anything changes; default 1 */
    int32_t max_rounds;
    int32_t reserved;    /* 0 */
} relax_rewrite_options;
/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_rewrite_options_init(relax_rewrite_options *options, size_t struct_size);

/* Gives the expression that takes the place of the root of a match, nested as one likes, or
 * NULL (or the root) to leave it as it is. What it needs beside may be emitted with `builder`,
 * which stands where the root is bound and has the function open: begins and ends pair, the
 * block stays open. Functions are added to `mb`, with a relax_builder of their own, which is
 * destroyed before the callback returns. All that matched may be used. What was emitted for a
 * match that is then left as it is goes away. Errors raised by the callback make the rewriting
 * fail.
 */
typedef const relax_expr *(*relax_rewrite_fn)(void *user, relax_module_builder *mb,
                                              relax_builder *builder, const relax_match *match);
/* From such a callback that gives a replacement: what `pattern` matched, another binding of the
 * match, is replaced by `with` as well, which is evaluated where the root is and fits it as far.
 * Its uses behind the root follow, those before it stay. So one match may give several values:
 * three products of one matrix become one product and three slices of it, at the first of them.
 * OP09 outside of the callback, OP02 for what is no variable, OP17 for what the match does not
 * look into. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(match)
relax_status relax_match_replace(const relax_match *match, const relax_pattern *pattern,
                                 const relax_expr *with);
/* Rewrites the Relax function called `function`, or (NULL) all of them. The replacement must fit
 * the struct info of the root at least as far as can be known (RELAX_ASSIGNABLE_VALUE), else OP17.
 * Bindings of a match that nothing uses any more are removed, impure calls excepted; those that
 * are used otherwise stay. New bindings have the place of the root unless they are given one.
 * Functions without a match taken are shared with the old module; without any it is the old
 * module. Functions that a round adds are not looked at. NULL and diagnostics on failure. / */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_pattern_rewrite(relax_context *ctx,
        const relax_module *module, RELAX_NULLABLE const char *function, size_t function_len,
        const relax_pattern *pattern, relax_rewrite_fn rewrite, void *user,
        RELAX_NULLABLE const relax_rewrite_options *options);

/* ---- fusion --------------------------------------------------------------------------------- */

typedef struct relax_fuse_options {
    size_t struct_size;
    uint64_t max_steps;        /* beyond what is linear; default 2^24 */
    /* 1 (default): constants stay in the new functions; 0: they are arguments */
    int32_t bind_constants;
    int32_t annotate_codegen;  /* 1: inside of public functions for the back end; default 0 */
    /* map of further attributes for the new functions; default NULL */
    const relax_attr *attrs;
} relax_fuse_options;
/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_fuse_options_init(relax_fuse_options *options, size_t struct_size);
/* May this match become a function? 0: it is left as it is. */
typedef int32_t (*relax_fuse_check_fn)(void *user, const relax_match *match);
/* What `pattern` matches in the dataflow blocks of `function`, or (NULL) of all functions, becomes
 * a private function with the attributes Composite = `name` ("dnnl.matmul_relu") and Primitive; in
 * its place stands a call. Values that are used otherwise, too, are results of the function.
 * `check` (NULL: yes) is asked for each match, in order of evaluation. Functions that have one of
 * the attributes Composite, Codegen, Primitive are left alone, so patterns are given one after the
 * other, the preferred one first. With annotate_codegen the function is a local one of a public
 * function that has the attribute Codegen, `name` up to its first dot. A match is left as it is if
 * the function would need its own result, or would be moved past a write into what it reads. The
 * old module if there is no match. NULL and diagnostics on failure. The pass
 * merge_composite_functions makes larger functions of such. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_pattern_fuse(relax_context *ctx,
        const relax_module *module, RELAX_NULLABLE const char *function, size_t function_len,
        const char *name, size_t name_len, const relax_pattern *pattern,
        RELAX_NULLABLE relax_fuse_check_fn check, RELAX_NULLABLE void *user,
        RELAX_NULLABLE const relax_fuse_options *options);

#ifdef __cplusplus
}
#endif
#endif
