/* extend.h: what a host adds to a context: kinds of struct info, operators, derive functions.
 *
 * Registrations belong to one context and last as long as it does; a name is registered once
 * (OP16). Register before the first text or node that mentions the name.
 *
 * Callbacks run inside of a call of the library, on its thread, and may call it: make nodes, ask
 * questions, report with relax_context_report. Nodes they are given or make must not be kept: most
 * live until the pass that is running ends. They may not use a relax_builder that was made
 * before the call (OP09), nor collect the context (OP09), nor release the context that calls
 * them. A callback that fails should report why; otherwise OP17 names it. Answers out of range
 * and results that cannot be right are reported (OP17), and the weakest sound answer stands in
 * for them. Callbacks may be called any number of times for one question, so they must answer
 * equal questions equally.
 *
 * `destroy` (may be NULL) is called once with `user`: when the context goes, or before the
 * registration returns if it fails. It may not use the context.
 */
#ifndef RELAX_EXTEND_H
#define RELAX_EXTEND_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports that something is wrong, as an error with code OP17: what a callback or a pass of the
 * host has to say. `place` may be 0. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
relax_status relax_context_report(relax_context *ctx, relax_place place, const char *text,
                                  size_t text_len);

/* ---- kinds of struct info ------------------------------------------------------------------- */

/* 1: the two describe the same values, 0: perhaps not, -1: failed. Asked where the operands are
 * not proved equal one by one. */
typedef int32_t (*relax_kind_equal_fn)(void *user, relax_context *ctx, const relax_struct_info *a,
                                       const relax_struct_info *b);
/* May a value of `a` be used where `b` is described? RELAX_FIT_..., or -1: failed. Both are of
 * the kind. RELAX_FIT_NO also says that no value is of both, so that a cast cannot succeed. */
typedef int32_t (*relax_kind_fit_fn)(void *user, relax_context *ctx, const relax_struct_info *a,
                                     const relax_struct_info *b);
/* A description that covers both (`a` and `b` fit it), as specific as can be; NULL: R.Object. */
typedef const relax_struct_info *(*relax_kind_lub_fn)(void *user, relax_context *ctx,
                                                      const relax_struct_info *a,
                                                      const relax_struct_info *b);
/* `info` without the operands i for which visible[i] is 0 (`count` are there); it must fit what
 * comes back. NULL: R.Object. */
typedef const relax_struct_info *(*relax_kind_erase_fn)(void *user, relax_context *ctx,
                                                        const relax_struct_info *info,
                                                        const int32_t *visible, size_t count);
/* What is left of `info` as a type, without variables. NULL: R.Object. */
typedef const relax_struct_info *(*relax_kind_type_fn)(void *user, relax_context *ctx,
                                                       const relax_struct_info *info);

/* A kind and its callbacks; those that are NULL have the default named. */
typedef struct relax_kind_options {
    size_t struct_size;
    /* R.NAME(operands) in text: a capital, then letters, digits, '_'; no name that R has */
    const char *name;
    size_t name_len;
    size_t min_operands, max_operands; /* how many there are */
    /* The packed function that checks a value when the program runs: it is called with the value
     * and the operands (integers, shapes, strings, dtypes; struct info is left out), and fails
     * if the value is not of the kind. Without one (NULL) nothing can be checked: parameters and
     * results that are described so take any value, and a R.match_cast that is not proved is
     * refused when the program is compiled (CG02). Parameters of functions take any value in
     * either case. */
    const char *check;
    size_t check_len;
    relax_kind_equal_fn equal;      /* NULL: only if all operands are proved equal */
    relax_kind_fit_fn fit;          /* NULL: RELAX_FIT_YES if equal, else RELAX_FIT_VALUE */
    relax_kind_lub_fn lub;          /* NULL: the same if equal, else R.Object */
    relax_kind_erase_fn erase;      /* NULL: R.Object if an operand is not visible */
    relax_kind_type_fn static_type; /* NULL: R.Object */
    void *user;
    void (*destroy)(void *user);
} relax_kind_options;
/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 1) RELAX_ANY
relax_status relax_kind_options_init(relax_kind_options *options, size_t struct_size);
/* Registers a kind. OP16: the name is taken. What `options` points to is copied. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
relax_status relax_register_kind(relax_context *ctx, const relax_kind_options *options);

/* R.NAME(operands). An operand is a relax_node of an integer expression (int64), a shape
 * expression, a variable, a string, dtype or scalar value, or struct info. Variables among them
 * are used, never bound: a function in whose signature they stand binds them elsewhere. NULL and
 * diagnostics if no such kind is registered (OP15) or an operand is of another sort. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_host(
        relax_context *ctx, const char *name, size_t name_len, const relax_node *const *operands,
        size_t num_operands);
/* Name of the kind; `len` may be NULL. NULL for struct info that is not of a host's kind. */
RELAX_API RELAX_SINCE(0, 1) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_struct_info_host_name(
        const relax_struct_info *info, RELAX_NULLABLE size_t *len);
/* Number of operands; -1 for other kinds. */
RELAX_API RELAX_SINCE(0, 1) RELAX_ANY
int64_t relax_struct_info_num_operands(const relax_struct_info *info);
/* One of them (relax_node_as_... tells its family); NULL if there is none. */
RELAX_API RELAX_SINCE(0, 1) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_node *relax_struct_info_operand(
        const relax_struct_info *info, size_t index);

#ifdef __cplusplus
}
#endif
#endif
