/* extension.h: what a host has added to its context: kinds of struct info, operators, derive
 * functions. Rows live as long as the context and never move. Their callbacks are asked through
 * the functions of the rooms that need the answer (sinfo, op), which also judge it; this file
 * only finds rows and counts callbacks under way. */
#ifndef RLX_IR_EXTENSION_H
#define RLX_IR_EXTENSION_H

#include "ir/iface.h"

/* How deep callbacks may call the library so that it calls callbacks. */
#define RLX_EXTENSION_DEPTH 16

typedef struct rlx_extension_row {
    rlx_slice name;
    void *user;
    void (*destroy)(void *user); /* NULL: nothing to do */
} rlx_extension_row;

/* A kind of struct info. A callback that is NULL has the default named there; one that fails
 * gives a negative number or NULL. */
typedef struct rlx_extension_kind rlx_extension_kind;
/* An argument of R.NAME(...) as it prints. Texts are the host's, as long as the kind. */
typedef struct rlx_extension_argument {
    const char *name;            /* NULL: none */
    const rlx_node *const *operand; /* in the node; NULL: text */
    const char *text;
} rlx_extension_argument;
typedef struct rlx_extension_sink {
    rlx_node node;               /* looks like no node */
    rlx_memory *memory;
    const rlx_sinfo *info;
    RLX_VEC(rlx_extension_argument) args;
    bool failed;
} rlx_extension_sink;
#define RLX_EXTENSION_SINK_ID 0x53494e4bu
struct rlx_extension_kind {
    rlx_extension_row row;
    rlx_context *ctx;
    size_t min_operands, max_operands;
    rlx_slice check; /* packed function that checks a value when the program runs; empty: none */
    int32_t (*equal)(const rlx_extension_kind *k, rlx_context *ctx, const rlx_sinfo *a,
                     const rlx_sinfo *b);
    int32_t (*fit)(const rlx_extension_kind *k, rlx_context *ctx, const rlx_sinfo *a,
                   const rlx_sinfo *b);
    const rlx_sinfo *(*lub)(const rlx_extension_kind *k, rlx_context *ctx, const rlx_sinfo *a,
                            const rlx_sinfo *b);
    const rlx_sinfo *(*erase)(const rlx_extension_kind *k, rlx_context *ctx, const rlx_sinfo *info,
                              const int32_t *visible, size_t count);
    const rlx_sinfo *(*static_type)(const rlx_extension_kind *k, rlx_context *ctx,
                                    const rlx_sinfo *info);
    /* Both or neither. print: false: as without one. read: NULL: wrong arguments */
    bool (*print)(const rlx_extension_kind *k, const rlx_sinfo *info, rlx_extension_sink *sink);
    const rlx_sinfo *(*read)(const rlx_extension_kind *k, rlx_context *ctx,
                             const rlx_node *const *args, const char *const *names, size_t count);
};
/* The arguments that text of s has, into `sink`, whose args the caller frees. False: out of
 * memory. */
bool rlx_extension_arguments(rlx_memory *m, const rlx_sinfo *s, rlx_extension_sink *sink);

/* A call that a callback is asked about. */
typedef struct rlx_extension_view {
    rlx_node node;               /* looks like no node */
    rlx_context *ctx;
    const rlx_call *call;
    const rlx_sinfo *(*arg_info)(void *user, size_t i); /* NULL after a report */
    void *user;
    const rlx_sinfo *result;     /* asked for a lowering: what the call gives; else NULL */
    rlx_slice subject;           /* what messages begin with */
    enum rlx_code_id code;       /* of what the callback says */
    bool failed;                 /* it has said why */
    bool quiet;                  /* nobody wants to know why */
    const char *why;             /* what it said last, for a lowering */
} rlx_extension_view;
#define RLX_EXTENSION_VIEW_ID 0x43414c4cu

/* An operator. Inference and lowering by callbacks are the row's `infer` and `lower`. */
typedef struct rlx_extension_op rlx_extension_op;
struct rlx_extension_op {
    rlx_op_row op;               /* first: an op row with RLX_OP_HOST is one of these */
    rlx_extension_row row;
    const rlx_sinfo *(*infer)(const rlx_extension_op *o, rlx_extension_view *view);
    const rlx_node *(*lower)(const rlx_extension_op *o, rlx_extension_view *view); /* PRIM_FUNC */
};

/* A derive function (language 1.4.2). */
typedef struct rlx_extension_derive rlx_extension_derive;
struct rlx_extension_derive {
    rlx_extension_row row;
    const rlx_sinfo *(*derive)(const rlx_extension_derive *d, rlx_extension_view *view);
};

/* The table of a context. */
typedef struct rlx_extensions {
    rlx_region region;           /* rows and their texts */
    RLX_VEC(const rlx_extension_kind *) kinds;
    RLX_VEC(const rlx_extension_op *) ops;
    RLX_VEC(const rlx_extension_derive *) derives;
    RLX_VEC(const rlx_extension_row *) fronts; /* of a front end, which knows what they are */
    const struct rlx_scope *scope; /* what is known of sizes where the callback was asked */
    uint32_t depth;              /* callbacks under way */
} rlx_extensions;

/* The table, made on first need; NULL: out of memory. */
rlx_extensions *rlx_extensions_of(rlx_context *ctx);
void rlx_extension_destroy(rlx_context *ctx);

/* NULL: not registered. */
const rlx_extension_kind *rlx_extension_kind_find(const rlx_context *ctx, rlx_slice name);
const rlx_extension_kind *rlx_extension_kind_of(const rlx_context *ctx, const rlx_sinfo *info);

/* "host.spmm": without "relax." or "R." */
const rlx_extension_op *rlx_extension_op_find(const rlx_context *ctx, rlx_slice name);
const rlx_extension_derive *rlx_extension_derive_find(const rlx_context *ctx, rlx_slice name);
/* Derive functions that every context knows, as TVM names them: the operator whose rule they are.
 * NULL: no such function. */
const char *rlx_derive_operator(rlx_slice name);

/* Around every callback. False after a report: they nest too deeply. Meanwhile the context
 * counts as held, so that it is not collected. */
typedef struct rlx_extension_call {
    const struct rlx_scope *outer;
    rlx_error_mark errors;
} rlx_extension_call;
bool rlx_extension_enter(rlx_context *ctx, const struct rlx_scope *scope, rlx_extension_call *c);
void rlx_extension_leave(rlx_context *ctx, const rlx_extension_call *c);
/* Reports what a callback finds wrong with a call: with the view's code at the call, "subject:
 * text". */
void rlx_extension_say(rlx_extension_view *view, rlx_slice text);
/* Asks about two of a kind. An answer from 0 to `most`, else -1 after a report. */
typedef int32_t rlx_extension_question(const rlx_extension_kind *k, rlx_context *ctx,
                                       const rlx_sinfo *a, const rlx_sinfo *b);
int32_t rlx_extension_ask(rlx_context *ctx, const struct rlx_scope *scope,
                          const rlx_extension_kind *k, rlx_extension_question *callback,
                          const char *what, int32_t most, const rlx_sinfo *a, const rlx_sinfo *b);
/* After a callback failed: says so (OP17) unless it has said why. */
void rlx_extension_failed(rlx_context *ctx, const rlx_extension_call *c, const char *what,
                          rlx_slice name);

#endif
