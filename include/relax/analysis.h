/* analysis.h: questions about programs. Nothing here changes one; relax_normalize and
 * relax_infer return new modules. */
#ifndef RELAX_ANALYSIS_H
#define RELAX_ANALYSIS_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

enum relax_check_stage {
    RELAX_CHECK_ANY = 0,    /* what holds for every program */
    RELAX_CHECK_NORMAL = 1, /* and for programs in normal form */
    RELAX_CHECK_ALL = 2     /* and what an explicit check warns about */
};

/* 1 if the module is well-formed (warnings allowed); 0 if not: every violation is a diagnostic
 * (WF, WX, NF); -1 on misuse or out of memory. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
int32_t relax_well_formed(relax_context *ctx, const relax_module *module, int32_t stage);
/* The module in normal form; the same handle if it was. NULL and diagnostics (NF) if it is
 * malformed. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_normalize(relax_context *ctx,
                                                            const relax_module *module);
/* The module normalised, with all struct info derived anew and checked (TY, PU). NULL and
 * diagnostics if it is ill-typed. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_infer(relax_context *ctx,
                                                        const relax_module *module);

/* May a value described by `a` be used where `b` is described? */
enum relax_fit_answer {
    RELAX_FIT_NO = 0,     /* no value fits, or it is forbidden */
    RELAX_FIT_KIND = 1,   /* `a` lacks kind information: dtype, rank, device ... */
    RELAX_FIT_VALUE = 2,  /* kinds fit; sizes are missing or not proved equal */
    RELAX_FIT_YES = 3     /* every value of `a` is a value of `b` */
};
/* RELAX_FIT_...; -1 on misuse. Shape variables count as >= 0. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
int32_t relax_struct_info_fit(relax_context *ctx, const relax_struct_info *a,
                              const relax_struct_info *b);
/* The most specific description that covers both. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_lub(relax_context *ctx,
        const relax_struct_info *a, const relax_struct_info *b);
/* `info` where only the shape variables `visible` are: what mentions others is dropped. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_erase(relax_context *ctx,
        const relax_struct_info *info, const relax_prim_expr *const *visible, size_t count);
/* What is left of `info` as a static type: sizes, values, devices and purity are gone. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_static(relax_context *ctx,
        const relax_struct_info *info);
enum relax_proof { RELAX_PROOF_UNKNOWN = 0, RELAX_PROOF_EQUAL = 1, RELAX_PROOF_DIFFERENT = 2 };
/* Are two integer expressions equal, or different, for all sizes >= 0 of their variables?
 * RELAX_PROOF_...; -1 on misuse. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
int32_t relax_prim_prove_equal(relax_context *ctx, const relax_prim_expr *a,
                               const relax_prim_expr *b);
/* An equal expression that is not longer; the same handle if there is none. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_prim_simplify(relax_context *ctx,
        const relax_prim_expr *e);

/* Variables used in `node` and not bound inside, in order of first occurrence. Writes up to
 * `capacity` of them to `out` (may be NULL) and returns how many there are; -1 when out of
 * memory.
 */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
int64_t relax_free_vars(relax_context *ctx, const relax_node *node,
                        RELAX_NULLABLE const relax_expr **out, size_t capacity);
/* The same for variables bound inside. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
int64_t relax_bound_vars(relax_context *ctx, const relax_node *node,
                         RELAX_NULLABLE const relax_expr **out, size_t capacity);
/* The same for shape variables used and not defined inside. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
int64_t relax_free_shape_vars(relax_context *ctx, const relax_node *node,
                              RELAX_NULLABLE const relax_prim_expr **out, size_t capacity);
/* The first impure call in a function of the module (nested functions are not entered); NULL if
 * there is none. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_find_impure_call(relax_context *ctx,
        const relax_module *module, const relax_base_func *func);

#ifdef __cplusplus
}
#endif
#endif
