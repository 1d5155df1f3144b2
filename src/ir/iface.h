/* iface.h: how operators, passes and kernels look to the rooms below them. The tables are in op,
 * transform and api. */
#ifndef RLX_IR_IFACE_H
#define RLX_IR_IFACE_H

#include "ir/walk.h"

/* ---- operators ---------------------------------------------------------------------------- */
/* what an IR argument may be, for conversion of host values and for messages */
enum rlx_arg_kind {
    RLX_ARG_TENSOR,      /* tensor expression */
    RLX_ARG_TENSOR_PRIM, /* tensor or scalar value */
    RLX_ARG_SHAPE,       /* shape expression; a list of integers converts */
    RLX_ARG_PRIM,        /* scalar value; a number converts to R.prim_value */
    RLX_ARG_TUPLE,       /* tuple; a list converts */
    RLX_ARG_FUNC,        /* GlobalVar or ExternFunc */
    RLX_ARG_STRING, RLX_ARG_DTYPE, RLX_ARG_ANY
};
typedef struct rlx_op_arg { const char *name; uint8_t kind; uint8_t optional; } rlx_op_arg;

enum rlx_attr_type {
    RLX_ATTR_INT, RLX_ATTR_BOOL, RLX_ATTR_FLOAT, RLX_ATTR_STRING, RLX_ATTR_DTYPE,
    RLX_ATTR_INTS,       /* list of integers; a single integer converts to a list */
    RLX_ATTR_INT_OR_NONE, RLX_ATTR_INTS_OR_NONE, RLX_ATTR_FLOAT_OR_NONE, RLX_ATTR_STRING_OR_NONE,
    RLX_ATTR_BOOL_OR_NONE,
    RLX_ATTR_SIZES, RLX_ATTR_SIZES_OR_NONE, /* like INTS; items may be integer expressions */
    RLX_ATTR_INT_OR_INTS, /* kept as given */
    RLX_ATTR_FLOATS,      /* list of numbers */
    RLX_ATTR_ANY          /* any node (index map, device, map): kept as given */
};
/* deflt: text of the default ("-1", "None", "False", "\"NCHW\"", "void"), NULL: required */
typedef struct rlx_op_attr {
    const char *name;
    uint8_t type;
    const char *deflt;
    const char *help;
    bool newer; /* TVM 0.20 does not know it: printed in its form only where it says something */
    const char *newer_deflt; /* what texts of TVM 0.27 leave unsaid; NULL: the same */
} rlx_op_attr;

enum rlx_op_flags {
    RLX_OP_PURE = 1,
    RLX_OP_VARARGS = 2,    /* the last argument repeats */
    RLX_OP_SINFO_ARGS = 4, /* takes sinfo_args */
    RLX_OP_ALIAS = 8,      /* result may share memory with an argument */
    RLX_OP_IDENTITY = 256, /* the result is the first argument itself */
    RLX_OP_UNSTATED = 128, /* does not say whether it is pure: counts as impure (PU04) */
    RLX_OP_HOST = 64,      /* registered by the host: an rlx_extension_op (extension.h) */
    /* normalize completes what was written short (reshape's 0 and -1): applied under
     * keep_op_form too */
    RLX_OP_NORMALIZE_ALWAYS = 32,
    RLX_OP_NO_LOWER =
        16 /* has no lowering of its own by nature (call_tir family, values of the compiler) */
};
/* Pattern kinds for fusion, with the numbers of TVM: ElemWise 0, Broadcast 1, Injective 2,
 * CommReduce 3, OutEWiseFusable 4, Opaque 8. */
enum rlx_op_pattern {
    RLX_ELEMWISE = 0,
    RLX_BROADCAST = 1,
    RLX_INJECTIVE = 2,
    RLX_REDUCTION = 3,
    RLX_OUT_FUSABLE = 4,
    RLX_OPAQUE = 8
};

typedef struct rlx_infer rlx_infer;
typedef struct rlx_lower_request rlx_lower_request;
/* A call about to be made: what prepare may complete in place. */
#define RLX_OP_MAX_ARGS 8
typedef struct rlx_op_draft {
    rlx_context *ctx;
    const rlx_op_row *row;
    const rlx_expr *args[RLX_OP_MAX_ARGS]; size_t num_args; /* NULL: left out */
    /* of the row's attributes, in its order, defaults filled in */
    const rlx_attr **values;
    /* as the caller gave them; may be NULL */
    const rlx_attr *given;
    rlx_place place;
} rlx_op_draft;
struct rlx_lowering;
struct rlx_op_row {
    const char *name;                 /* "relax.nn.softmax" */
    const char *short_name;           /* "nn.softmax": after R. */
    const rlx_op_arg *args; uint8_t num_args, min_args;
    const rlx_op_attr *attrs; uint8_t num_attrs;
    uint16_t flags; uint8_t pattern;
    uint8_t id;                       /* enum rlx_op_id */
    /* what the row's lowering and rule ask of their family: each knows which of these it is */
    union {
        uint32_t number;              /* an intrinsic, a fold, axes ... */
        struct { uint8_t kind, of_bool; } node; /* enum rlx_node_kind; of_bool 0: none */
        const rlx_prim *(*unary)(struct rlx_lowering *b, const rlx_prim *x, rlx_dtype t);
        const rlx_prim *(*binary)(struct rlx_lowering *b, const rlx_prim *x, const rlx_prim *y,
                                  rlx_dtype t);
    } member;
    /* Struct info of the call, or NULL after rlx_infer_fail. NULL pointer: no rule, result is
     * Object. */
    const rlx_sinfo *(*infer)(rlx_infer *in);
    /* Operator normal form (NF05): a replacement call or the call itself; NULL on failure. */
    const rlx_expr *(*normalize)(rlx_infer *in);
    /* Lowering to a PrimFunc: see op/op.h. NULL: none. */
    const rlx_prim_func *(*lower)(rlx_lower_request *l);
    /* Fills in arguments and attributes whose default depends on others; false after a report.
     * NULL: nothing to do. */
    bool (*prepare)(rlx_op_draft *d);
    /* parameters of the TVMScript function in order, blank-separated, where they are not "args,
     * then attrs" */
    const char *params;
    /* "relax.nn.attention_bias": the operator that a call in text means which gives parameters
     * that this row has no argument for; its `params` are the same. NULL: none. */
    const char *extended;
    const char *builtin;              /* name of the run-time builtin it lowers to, or NULL */
    /* the packed function of the host that runs it, which gets the arguments, then the
     * attributes; NULL: none */
    const char *packed;
    const char *help;                 /* one line */
};
typedef struct rlx_op_table {
    /* "relax.add", "R.add" or "add", or one that the host has registered; NULL: unknown */
    const rlx_op_row *(*find)(const rlx_context *ctx, rlx_slice name);
    const rlx_op_row *(*at)(size_t index);     /* NULL past the end */
    /* the nearest known name, NULL: nothing is near */
    const char *(*suggest)(const rlx_context *ctx, rlx_slice name);
    /* A call with all its attributes: rlx_call_op_sinfo of op/op.h. */
    const rlx_expr *(*call)(rlx_context *ctx, const rlx_op_row *row, const rlx_expr *const *args,
                            size_t num_args, const rlx_sinfo *const *sinfo_args,
                            size_t num_sinfo_args, const rlx_attr *given, rlx_place place);
    /* newer_deflt of an attribute that has one. NULL: out of memory. */
    const rlx_attr *(*newer_default)(rlx_context *ctx, const rlx_op_attr *a);
    /* What row->infer says, also of calls on distributed tensors. */
    const rlx_sinfo *(*infer)(rlx_infer *in);
} rlx_op_table;

/* ---- kernels ------------------------------------------------------------------------------ */
struct rlx_tir_arg;    /* tir/tir.h */
struct rlx_tir_limits;
struct rlx_fault;
struct rlx_kernel;     /* runtime/kernel.h */
/* What runs PrimFuncs of the compile side as kernels: rlx_tir_eval with the same bits, sooner. Work
 * is measured in other steps, which take about as long. */
typedef struct rlx_kernel_runner {
    bool (*run)(rlx_context *ctx, const rlx_prim_func *f, const struct rlx_tir_arg *args,
                size_t num_args, const struct rlx_tir_limits *limits, struct rlx_fault *why);
    /* The same for one that runs often: loaded once. NULL: there is no kernel, or out of memory. */
    struct rlx_kernel *(*load)(rlx_context *ctx, const rlx_prim_func *f);
    bool (*call)(rlx_context *ctx, const struct rlx_kernel *k, const struct rlx_tir_arg *args,
                 size_t num_args, const struct rlx_tir_limits *limits, struct rlx_fault *why);
    void (*unload)(struct rlx_kernel *k); /* NULL is fine */
} rlx_kernel_runner;

/* Input of an inference rule. The call's arguments are leaves. */
struct rlx_infer {
    rlx_context *ctx;
    const rlx_call *call;
    const rlx_op_row *row;
    /* facts about shape variables (arith/arith.h); may be NULL */
    struct rlx_scope *scope;
    /* struct info of an argument */
    const rlx_sinfo *(*sinfo_of)(void *user, const rlx_expr *leaf);
    /* bound value of a variable, NULL if unknown */
    const rlx_expr *(*value_of)(void *user, const rlx_expr *var);
    void *user;
    bool failed;
    bool quiet;                       /* no diagnostics, only the failure */
    bool quiet_values;                /* no warnings of what is not proved */
};

#endif
