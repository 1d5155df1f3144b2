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

#include <relax/op.h>
#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports that something is wrong, as an error with code OP17: what a callback or a pass of the
 * host has to say. `place` may be 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_context_report(relax_context *ctx, relax_place place, const char *text,
                                  size_t text_len);

/* ---- kinds of struct info ------------------------------------------------------------------- */

/* 1: the two describe the same values, 0: perhaps not, -1: failed. Asked where the operands are
 * not proved equal one by one; also by structural equality (relax_node_equal and whatever joins
 * equal functions and values), where variables of `b` that correspond to some of the other
 * program are those already. It is an equivalence: equal to itself, either way round, and where
 * a is b and b is c, a is c. Hashes count the name of the kind alone, so equal ones have one. */
typedef int32_t (*relax_kind_equal_fn)(void *user, relax_context *ctx, const relax_struct_info *a,
                                       const relax_struct_info *b);
/* May a value of `a` be used where `b` is described? enum relax_assignability. Both are of the
 * kind. RELAX_ASSIGNABLE_NO also says that no value is of both, so that a cast cannot succeed. */
typedef int32_t (*relax_kind_assignable_fn)(void *user, relax_context *ctx,
                                            const relax_struct_info *a, const relax_struct_info *b);
/* A description that covers both (`a` and `b` fit it), as specific as can be; NULL: R.Object. */
typedef const relax_struct_info *(*relax_kind_lub_fn)(void *user, relax_context *ctx,
                                                      const relax_struct_info *a,
                                                      const relax_struct_info *b);
/* `info` without the operands i for which visible[i] is 0 (`count` are there); it must fit what
 * comes back. NULL: R.Object. */
typedef const relax_struct_info *(*relax_kind_erase_fn)(void *user, relax_context *ctx,
                                                        const relax_struct_info *info,
                                                        const int32_t *visible, size_t count);
/* The static type of `info`, without variables. NULL: R.Object. */
typedef const relax_struct_info *(*relax_kind_type_fn)(void *user, relax_context *ctx,
                                                       const relax_struct_info *info);

/* Takes the arguments of R.NAME(...) in text, one by one; lives while a print callback runs. */
typedef struct relax_kind_sink relax_kind_sink;
/* The next argument is operand number `index` of the struct info that is printed, `name=` before
 * it unless name is NULL. Names are identifiers; they and texts live as long as the kind.
 * RELAX_ERROR_INVALID_ARGUMENT for what cannot stand there; then the operands are printed in
 * order. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(sink)
relax_status relax_kind_sink_operand(relax_kind_sink *sink, RELAX_NULLABLE const char *name,
                                     size_t index);
/* The next argument is R.str("text"): printable ASCII without quotes and backslashes. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(sink)
relax_status relax_kind_sink_text(relax_kind_sink *sink, RELAX_NULLABLE const char *name,
                                  const char *text);
/* Hands the arguments of `info` to the sink, in the order of the text, for the printer and for
 * messages. 0: done; anything else: the operands are printed in order. It looks at `info` and
 * makes nothing; it may run on several threads at once. */
typedef int32_t (*relax_kind_print_fn)(void *user, const relax_struct_info *info,
                                       relax_kind_sink *sink);
/* The struct info that R.NAME(arguments) says, of the kind: args[i] as an operand, names[i] what
 * stands before its `=`, else NULL. It understands what `print` writes, and the operands in
 * order. NULL: wrong arguments (PA12 unless it reports why). */
typedef const relax_struct_info *(*relax_kind_read_fn)(void *user, relax_context *ctx,
                                                       const relax_node *const *args,
                                                       const char *const *names, size_t count);

/* A kind and its callbacks; those that are NULL have the default named. */
typedef struct relax_kind_options {
    size_t struct_size;
    /* R.NAME(operands) in text: a capital, then letters, digits, '_'; no name that R has */
    const char *name;
    size_t name_len;
    size_t min_operands, max_operands; /* how many there are */
    /* The packed function that checks a value when the program runs: it is called with the value
     * and the operands (integers, shapes, strings, dtypes; struct info is left out), and fails
     * if the value is not of the kind: for R.match_cast, and for annotations of bindings that are
     * not proved. Without one (NULL) such annotations are believed, and a R.match_cast that is
     * not proved is refused when the program is compiled (CG02), as it is inside of tuples.
     * Parameters and results of functions take any value in either case. */
    const char *check;
    size_t check_len;
    relax_kind_equal_fn equal;      /* NULL: only if all operands are proved equal */
    relax_kind_assignable_fn
        fit; /* NULL: RELAX_ASSIGNABLE_YES if equal, else RELAX_ASSIGNABLE_VALUE */
    relax_kind_lub_fn lub;          /* NULL: that of both if equal, else R.Object */
    relax_kind_erase_fn erase;      /* NULL: R.Object if an operand is not visible */
    relax_kind_type_fn static_type; /* NULL: R.Object */
    void *user;
    void (*destroy)(void *user);
    /* Both or neither (OP03); NULL: the operands in order */
    relax_kind_print_fn print;
    relax_kind_read_fn read;
} relax_kind_options;
/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_kind_options_init(relax_kind_options *options, size_t struct_size);
/* Registers a kind. OP16: the name is taken. What `options` points to is copied. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) relax_status
    relax_kind_register(relax_context *ctx, const relax_kind_options *options);

/* R.NAME(operands). An operand is a relax_node of an integer expression (int64), a shape
 * expression, a variable, a string, dtype or scalar value, or struct info. Variables among them
 * are used, never bound: a function in whose signature they stand binds them elsewhere. NULL and
 * diagnostics if no such kind is registered (OP15) or an operand is of another sort. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_struct_info
    *relax_struct_info_extension_new(relax_context *ctx, const char *name, size_t name_len,
                                     const relax_node *const *operands, size_t num_operands);
/* Name of the kind; `len` may be NULL. NULL for struct info that is not of a host's kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY RELAX_BORROWED RELAX_NULLABLE const
    char *relax_struct_info_extension_name(const relax_struct_info *info,
                                           RELAX_NULLABLE size_t *len);
/* Number of operands; RELAX_NOT_FOUND for other kinds. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_struct_info_num_operands(const relax_struct_info *info);
/* One of them (relax_node_as_... tells its family); NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_node *relax_struct_info_operand(
        const relax_struct_info *info, size_t index);

/* ---- calls, as callbacks about them see them ------------------------------------------------ */

/* Lives while the callback runs. */
typedef struct relax_call_view relax_call_view;
/* The call: relax_expr_operand(call, 1 + i) is argument i, relax_expr_attr an attribute. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_call_view_call(const relax_call_view *view);
/* Struct info of argument i. NULL if there is none, or after a report: then the callback fails. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_call_view_arg_info(
        const relax_call_view *view, size_t index);
/* For a lowering: struct info of the result, as the inference gave it; else NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_call_view_result(
        const relax_call_view *view);
/* Says what is wrong with the call: "NAME: text" at its place (TY08 from an inference, TY16
 * from a derive function); from a lowering, why there is none for this call. The callback then
 * returns NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_call_view_fail(const relax_call_view *view, const char *text, size_t text_len);

/* ---- operators ------------------------------------------------------------------------------ */

/* Struct info of the call; NULL: it is wrong, see relax_call_view_fail. Called whenever struct
 * info is derived, also to no effect: it may not change anything outside. */
typedef const relax_struct_info *(*relax_op_infer_fn)(void *user, relax_context *ctx,
                                                      const relax_call_view *view);
/* A PrimFunc (relax/tir.h) that computes the call: its parameters are the arguments that are
 * tensors or scalars, in order, the fields of tuples in place of the tuples, shapes left out;
 * then a buffer for the result, or for each field of it. Sizes of the program do not occur in
 * it: they are literals, or sizes that its buffers bind. NULL: none for this call. */
typedef const relax_base_func *(*relax_op_lower_fn)(void *user, relax_context *ctx,
                                                    const relax_call_view *view);
/* An operator. Lists have as many members as num_args or num_attrs says; names and texts in
 * them end with NUL. */
typedef struct relax_op_options {
    size_t struct_size;
    const char *name;            /* "host.spmm": identifiers with dots between, at least two */
    size_t name_len;
    const char *const *arg_names;
    const int32_t *arg_kinds;    /* RELAX_OP_ARG_... */
    size_t num_args;             /* at most 8 */
    size_t min_args;             /* those after so many may be left out */
    int32_t variadic;            /* 1: the last argument repeats, any number of times */
    /* 1: no effects beside the result; 0: it has some; -1: not stated, counts as impure, and each
     * call is warned of (PU04) */
    int32_t pure;
    const char *const *attr_names;
    const int32_t *attr_types;   /* RELAX_OP_ATTR_... */
    /* Defaults as text: "-1", "True", "0.5", "None", "[1, 2]", "float32", "csr" (of a string,
     * without quotes), "{}"; an entry that is NULL: the attribute must be given. */
    const char *const *attr_defaults;
    size_t num_attrs;            /* at most 12 */
    relax_op_infer_fn infer;     /* NULL: the result is R.Object */
    /* The operator runs by the PrimFunc that `lower` gives, else by the packed function `packed`,
     * which gets the arguments, then the attributes in order (lists as tuples, None as the empty
     * tuple), and whose result is taken for what the inference says. legalize_ops does both. Both
     * NULL: it cannot be compiled (CG03). */
    relax_op_lower_fn lower;
    const char *packed;
    size_t packed_len;
    const char *help;            /* one line; NULL: none */
    size_t help_len;
    void *user;
    void (*destroy)(void *user);
} relax_op_options;
/* Fills `options` with the defaults: no arguments, pure. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_op_options_init(relax_op_options *options, size_t struct_size);
/* Registers an operator: from then on relax_call_op_new and R.NAME(...) in text know it. OP16: the
 * name is taken. What `options` points to is copied. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) relax_status
    relax_op_register(relax_context *ctx, const relax_op_options *options);

/* Number of operators: those of the library, and behind them those registered in `ctx`, numbered
 * on. Texts of registered ones live as long as the context. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_context_op_count(const relax_context *ctx);
/* Number of an operator by name, as relax_op_find; of `ctx` too; RELAX_NOT_FOUND if there is
 * none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_context_op_find(const relax_context *ctx, const char *name, size_t name_len);
/* Name of an operator, as relax_op_name: "relax.nn.softmax"; NULL past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const char *relax_context_op_name(const relax_context *ctx,
                                                                size_t op);
/* One line about an operator, as relax_op_help; NULL past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const char *relax_context_op_help(const relax_context *ctx,
                                                                size_t op);
/* Sum of RELAX_OP_FLAG_..., as relax_op_flags; 0 past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_context_op_flags(const relax_context *ctx, size_t op);
/* Argument of an operator by number from 0, as relax_op_arg: its name, NULL past the end. *kind
 * (may be NULL) gets RELAX_OP_ARG_..., *optional 1 if it may be left out. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const char *relax_context_op_arg(
        const relax_context *ctx, size_t op, size_t arg, RELAX_NULLABLE int32_t *kind,
        RELAX_NULLABLE int32_t *optional);
/* Attribute of an operator by number from 0, as relax_op_attr: its name, NULL past the end. *type
 * gets RELAX_OP_ATTR_..., *deflt the default as text (NULL: required), *help one line. Each
 * pointer may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const char *relax_context_op_attr(
        const relax_context *ctx, size_t op, size_t attr, RELAX_NULLABLE int32_t *type,
        RELAX_NULLABLE const char **deflt, RELAX_NULLABLE const char **help);

/* ---- derive functions ----------------------------------------------------------------------- */

/* Struct info of a call of a function that is described by R.Callable(derive_func="NAME"); NULL:
 * the call is wrong, see relax_call_view_fail. */
typedef const relax_struct_info *(*relax_derive_fn)(void *user, relax_context *ctx,
                                                    const relax_call_view *view);
/* Registers a derive function under any name. OP16: the name is taken. An annotation that names
 * one that is not registered is ill-formed (WF17). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) relax_status
    relax_derive_register(relax_context *ctx, const char *name, size_t name_len,
                          relax_derive_fn derive, void *user,
                          RELAX_NULLABLE void (*destroy)(void *user));
/* R.Callable(ret=ret, purity=pure, derive_func=name): a packed function whose results a derive
 * function describes. `ret` NULL: R.Object. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_struct_info
    *relax_struct_info_derived_func_new(relax_context *ctx, const char *name, size_t name_len,
                                        RELAX_NULLABLE const relax_struct_info *ret, int32_t pure);

#ifdef __cplusplus
}
#endif
#endif
