/* struct_info.h: how descriptions of values stand to each other, whatever program they come
 * from: fit with its reason, overlap, conditions, erasure, mapping, the result of a call.
 *
 * Shape variables count as >= 0. Two variables are the same if they are the same object.
 * relax_struct_info_assignable, _lub, _erase and _static are in relax/analysis.h.
 */
#ifndef RELAX_STRUCT_INFO_H
#define RELAX_STRUCT_INFO_H

#include <relax/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- fit ------------------------------------------------------------------------------------ */

/* The part that decided: the first of the worst ones. */
enum relax_mismatch_part {
    RELAX_MISMATCH_NONE = 0, /* it fits */
    RELAX_MISMATCH_KIND = 1,
    RELAX_MISMATCH_DTYPE = 2,
    RELAX_MISMATCH_RANK = 3,
    RELAX_MISMATCH_DIMENSION = 4,
    RELAX_MISMATCH_DEVICE = 5,
    RELAX_MISMATCH_SHAPE = 6,  /* all dimensions together */
    RELAX_MISMATCH_VALUE = 7,  /* of a scalar */
    RELAX_MISMATCH_LENGTH = 8, /* of a tuple */
    RELAX_MISMATCH_ARITY = 9,
    RELAX_MISMATCH_PURITY = 10,
    RELAX_MISMATCH_PARAM = 11,
    RELAX_MISMATCH_RESULT = 12,
    RELAX_MISMATCH_SHARDING = 13 /* how a distributed tensor lies on its mesh */
};
/* enum relax_assignability, as relax_struct_info_assignable. *part (may be NULL): enum
 * relax_mismatch_part; *index (may be NULL): number of the dimension or parameter, else
 * RELAX_NOT_FOUND; *text (may be NULL): the reason in words, the caller's, with the fields of
 * tuples that lead there ("field 1: dtype is int32, expected float32"), NULL for a fit. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) int32_t
    relax_struct_info_assignable_reason(relax_context *ctx, const relax_struct_info *a,
                                        const relax_struct_info *b, RELAX_NULLABLE int32_t *part,
                                        RELAX_NULLABLE size_t *index,
                                        RELAX_OWN RELAX_NULLABLE relax_bytes **text);

/* Places where a description meets another one that it must fit. */
enum relax_assign_site {
    RELAX_SITE_ANNOTATION = 0, /* a value, the annotation of its variable: TY01 */
    RELAX_SITE_ARGUMENT = 1,   /* an argument, the parameter: TY04 */
    RELAX_SITE_RESULT = 2,     /* a function's result, the stated one: TY07 */
    RELAX_SITE_OUTPUT = 3,     /* the result stated of a call_tir, that of its PrimFunc: TY10 */
    RELAX_SITE_CAST = 4        /* the target of a cast, the annotation of its variable: TY11 */
};
/* Judges `a`, which stands where `b` is asked for, as the language does at that site: 1 if it is
 * accepted, with a warning where it is not proved; 0 if not: an error. Both at `place` (may be
 * 0), with the site's code. 0 also on misuse (OP). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_struct_info_check(relax_context *ctx, const relax_struct_info *a,
                                const relax_struct_info *b, int32_t site, relax_place place);

/* Levels of a base check, worst first: the four answers of fit under other names. */
enum relax_base_level {
    RELAX_BASE_FAILED = -1, /* could not be answered: misuse (OP), or out of memory */
    /* RELAX_ASSIGNABLE_NO: no value of `derived` is one of `base`, or that is forbidden */
    RELAX_BASE_FAIL_L0 = 0,
    RELAX_BASE_FAIL_L1 = 1, /* RELAX_ASSIGNABLE_KIND: `derived` lacks kind information */
    RELAX_BASE_FAIL_L2 = 2, /* RELAX_ASSIGNABLE_VALUE: sizes are missing or not proved equal */
    RELAX_BASE_PASS = 3     /* RELAX_ASSIGNABLE_YES */
};
/* Does `base` cover `derived`? enum relax_base_level. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_struct_info_base_check(relax_context *ctx, const relax_struct_info *base,
                                     const relax_struct_info *derived);
/* 1 if that is RELAX_BASE_PASS, 0 if not. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_struct_info_is_base_of(relax_context *ctx, const relax_struct_info *base,
                                     const relax_struct_info *derived);
/* A bool expression of sizes under which `base` covers `derived`; a literal where it is known.
 * False as well where something other than sizes is missing. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_struct_info_precondition(relax_context *ctx,
        const relax_struct_info *base, const relax_struct_info *derived);
/* Can a value be of both descriptions? */
enum relax_overlap {
    RELAX_OVERLAP_FAILED = -1, /* could not be answered: misuse (OP), or out of memory */
    RELAX_OVERLAP_NONE = 0,    /* no: a cast from one to the other always fails */
    RELAX_OVERLAP_POSSIBLE = 1
};
/* enum relax_overlap. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_struct_info_overlap(relax_context *ctx, const relax_struct_info *a,
                                  const relax_struct_info *b);
/* Do two shapes (ShapeExpr, or variables of Shape kind) have the same dimensions for all sizes?
 * enum relax_proof. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_prove_shapes_equal(relax_context *ctx, const relax_expr *a, const relax_expr *b);

/* ---- other descriptions from one ------------------------------------------------------------ */

/* `info` where only the shape variables shape_vars[i] and the variables vars[i] are: what
 * mentions others is dropped. Then each is replaced by shape_values[i] (int64, or an integer
 * literal) or values[i] (a variable of Shape kind or a ShapeExpr), all at once; values NULL:
 * they stay. Sizes that change are simplified. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_erase_to(relax_context *ctx,
        const relax_struct_info *info, const relax_prim_expr *const *shape_vars,
        RELAX_NULLABLE const relax_prim_expr *const *shape_values, size_t num_shape_vars,
        const relax_expr *const *vars, RELAX_NULLABLE const relax_expr *const *values,
        size_t num_vars);
/* Which values make the descriptions `params` of parameters those of the arguments `args`: shape
 * variables standing alone in params[i], by what stands in their place in args[i], the first
 * sight counts. Writes up to `capacity` pairs to `vars` and `values` (may be NULL) and returns how
 * many there are. TY12 and
 * RELAX_NOT_FOUND if a variable would have two values that differ. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_struct_info_map(relax_context *ctx, const relax_struct_info *const *params,
                             const relax_struct_info *const *args, size_t count,
                             RELAX_NULLABLE const relax_prim_expr **vars,
                             RELAX_NULLABLE const relax_prim_expr **values, size_t capacity);
/* Struct info of a call of a function described by `callee` with arguments described by `args`.
 * `stated` (may be NULL) is what a packed function is said to return. Shape variables that the
 * descriptions mention without binding them are those of the place where the call stands. NULL and
 * diagnostics at `place` (may be 0) for what is no function (TY02), a wrong number of arguments
 * (TY03), an argument that does not fit (TY04), a size with two values (TY12). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_derive_call(relax_context *ctx,
        const relax_struct_info *callee, const relax_struct_info *const *args, size_t num_args,
        RELAX_NULLABLE const relax_struct_info *stated, relax_place place);

#ifdef __cplusplus
}
#endif
#endif
