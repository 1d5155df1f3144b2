/* sinfo.h: structural information, which is what is known of a value while compiling (language
 * section 5), and its relations. The block builder, which derives it, is in builder.h. */
#ifndef RLX_SINFO_H
#define RLX_SINFO_H

#include "ir/ir.h"
#include "arith/arith.h"

/* ---- fit: may a value described by `a` be used where `b` is described? Worst first (language
 * 5.4) */
enum rlx_assignability {
    RLX_ASSIGNABLE_NO = 0,
    RLX_ASSIGNABLE_KIND = 1,
    RLX_ASSIGNABLE_VALUE = 2,
    RLX_ASSIGNABLE_YES = 3
};
/* Why not YES: the first part that decided. path: fields of tuples from the outside; part and
 * index name the place. */
enum rlx_mismatch_part {
    RLX_MISMATCH_NONE,
    RLX_MISMATCH_KIND,
    RLX_MISMATCH_DTYPE,
    RLX_MISMATCH_RANK,
    RLX_MISMATCH_DIMENSION,
    RLX_MISMATCH_DEVICE,
    RLX_MISMATCH_SHARDING,
    RLX_MISMATCH_SHAPE,
    RLX_MISMATCH_VALUE,
    RLX_MISMATCH_LENGTH,
    RLX_MISMATCH_ARITY,
    RLX_MISMATCH_PURITY,
    RLX_MISMATCH_PARAM,
    RLX_MISMATCH_RESULT
};
typedef struct rlx_mismatch {
    uint8_t part;
    uint8_t depth;
    int32_t index;
    int32_t path[6];
    const rlx_node *want, *have;
} rlx_mismatch;
/* why may be NULL */
enum rlx_assignability rlx_assignable(rlx_context *ctx, const rlx_scope *s, const rlx_sinfo *a,
                                      const rlx_sinfo *b, rlx_mismatch *why);
/* "dtype is int32, expected float32", "dimension 1 is m, expected 4", "field 0: rank ..." */
void rlx_assignable_explain(rlx_buf *out, const rlx_mismatch *why);
/* False: no value can satisfy both (language 5.4.3). */
bool rlx_overlap(rlx_context *ctx, const rlx_scope *s, const rlx_sinfo *a, const rlx_sinfo *b,
                 rlx_mismatch *why);
const rlx_sinfo *rlx_lub(rlx_context *ctx, const rlx_scope *s, const rlx_sinfo *a,
                         const rlx_sinfo *b);

/* A condition on sizes under which every value of `derived` is one of `base`; true and false as
 * literals. False as well where something other than sizes is missing. */
const rlx_prim *rlx_assignable_precondition(rlx_context *ctx, const rlx_scope *s,
                                            const rlx_sinfo *base, const rlx_sinfo *derived);
/* Two shapes, ShapeExpr or variable (language 5.3.4). */
enum rlx_answer rlx_prove_same_shape(rlx_context *ctx, const rlx_scope *s, const rlx_expr *a,
                                     const rlx_expr *b);

/* Erasure: keeps what mentions only variables the tests allow (NULL test: nothing is allowed /
 * visible). */
typedef struct rlx_visible {
    bool (*shape_var)(void *user, const rlx_prim_var *v);
    bool (*var)(void *user, const rlx_var *v);
    void *user;
} rlx_visible;
const rlx_sinfo *rlx_erase(rlx_context *ctx, const rlx_sinfo *s, const rlx_visible *visible);
/* Erasure with replacements: the variables that the lists name are visible, and then each is
 * replaced by its value at once (language 5.8). Values NULL: they stay. Integer expressions that
 * change are simplified. */
typedef struct rlx_replacement {
    const rlx_prim *const *sizes, *const *size_values; size_t num_sizes;
    const rlx_expr *const *vars, *const *var_values; size_t num_vars;
} rlx_replacement;
const rlx_sinfo *rlx_erase_to(rlx_context *ctx, const rlx_sinfo *s, const rlx_replacement *with);
/* language section 9, as struct info */
const rlx_sinfo *rlx_erase_to_static(rlx_context *ctx, const rlx_sinfo *s);

/* Mapping of a parameter description onto an argument's (language 5.8): accumulates pairs; a
 * conflict is recorded. */
typedef struct rlx_mapping {
    rlx_context *ctx;
    const rlx_scope *scope;
    const rlx_prim *const *binders; size_t num_binders;   /* what may be mapped */
    /* the same as a set, if they are many */
    rlx_ptrmap known_binders;
    /* PRIM_VAR -> PRIM; Relax VAR -> shape expression */
    rlx_ptrmap pairs;
    RLX_VEC(struct rlx_map_pair {
        const rlx_prim_var *var;
        const rlx_prim *value;
        int32_t arg;
    })
    list;
    /* provably different; NULL: none */
    const rlx_prim_var *conflict; const rlx_prim *first, *second; int32_t first_arg, second_arg;
    /* a second sight was neither equal nor different */
    bool unproved;
} rlx_mapping;
void rlx_mapping_init(rlx_mapping *m, rlx_context *ctx, const rlx_scope *scope,
                      const rlx_prim *const *binders, size_t count);
void rlx_mapping_add(rlx_mapping *m, const rlx_sinfo *param, const rlx_sinfo *arg,
                     int32_t arg_index);
const rlx_sinfo *rlx_mapping_apply(rlx_mapping *m, const rlx_sinfo *s);
/* Applies a mapping to the result of a call: sizes that change are simplified on the way. */
const rlx_sinfo *rlx_mapping_result(rlx_mapping *m, const rlx_sinfo *ret);
void rlx_mapping_free(rlx_mapping *m);

/* FuncStructInfo of a function from its parts: binders are the shape variables standing alone
 * in parameters that are not captured (`outer` says which are in scope outside; may be NULL). */
const rlx_sinfo *rlx_signature(rlx_context *ctx, const rlx_expr *const *params, size_t count,
                               const rlx_sinfo *ret, bool is_pure, const rlx_scope *outer);
/* language D16 */
const rlx_sinfo *rlx_prim_func_signature(rlx_context *ctx, const rlx_prim_func *f);
/* Closes FUNC_SINFO binders of an annotation (language 2.4.6): variables alone in a function
 * description's parameters that `bound` does not know. */
const rlx_sinfo *rlx_close_binders(rlx_context *ctx, const rlx_sinfo *s,
                                   bool (*bound)(void *user, const rlx_prim_var *v), void *user);

/* ---- what attributes of a function promise of its shape variables (language 10.3.2): a map from
 * names to limits, a list of names */
#define RLX_UPPER_BOUND "tir_var_upper_bound"
#define RLX_NON_NEGATIVE "tir_non_negative_var"
typedef RLX_VEC(rlx_fact) rlx_facts;
/* Adds what is promised of the variables (PRIM_VARs in the order of the signature). */
bool rlx_assumed(rlx_context *ctx, const rlx_attr *attrs, const rlx_prim *const *vars, size_t count,
                 rlx_facts *out);
/* Adds what is promised of the variables that parameters bind. */
bool rlx_assumed_of_params(rlx_context *ctx, const rlx_attr *attrs, const rlx_expr *const *params,
                           size_t count, rlx_facts *out);
/* The facts of s from number `first` on are the variables of a signature: what is promised of
 * those that are not captured bounds them. */
bool rlx_scope_assume(rlx_scope *s, size_t first, const rlx_attr *attrs);
/* Brings the shape variables that the parameters of f bind into scope, with the bounds that its
 * attributes promise of those that are new. */
bool rlx_scope_enter_function(rlx_scope *scope, const rlx_function *f);
/* A cast of a value described by `have` to `want` has passed: sizes at one place are equal. */
void rlx_scope_assume_cast(rlx_scope *scope, const rlx_sinfo *have, const rlx_sinfo *want);
/* The upper bound that an entry states; negative: it is malformed. */
int64_t rlx_assumed_limit(const rlx_attr *value);
/* The attributes without promises of variables that the parameters do not bind (any more). */
const rlx_attr *rlx_assumptions_of_params(rlx_context *ctx, const rlx_attr *attrs,
                                          const rlx_expr *const *params, size_t count);

struct rlx_desc_writer; /* desc/desc.h */
struct rlx_file_writer;
/* ---- packed form for the run side (desc). Whoever encodes numbers the shape variables and says
 * which of them the item binds: the first position in text order where such a variable stands
 * alone binds it, all others refer to it. */
/* SIGNED: only values of scalars bind it, it may be negative */
enum rlx_binds { RLX_BINDS_SIZE = 1, RLX_BINDS_SIGNED = 2 };
typedef struct rlx_encoder {
    rlx_context *ctx;
    struct rlx_file_writer *out;
    /* of a variable that is bound or to be bound; -1: it has no value here */
    int32_t (*slot_of)(void *user, const rlx_prim_var *v);
    /* Has it a value here? Then function descriptions mention that. NULL: none has. */
    bool (*is_bound)(void *user, const rlx_prim_var *v);
    /* of a variable that is the shape of a tensor; -1: none. NULL: such shapes are left out */
    int32_t (*register_of)(void *user, const rlx_var *v);
    void *user;
    /* PRIM_VAR -> enum rlx_binds, taken out where it is bound; NULL: nothing is bound */
    rlx_ptrmap *to_bind;
    /* PRIM -> slot + 1: what has been computed; rlx_prim_encode uses it. NULL: nothing has been */
    const rlx_ptrmap *computed;
    bool no_names;              /* leave the names of variables out */
    /* out: the variable without slot or register, or the expression that has no packed form */
    const rlx_node *unknown;
} rlx_encoder;
/* Appends the node of s to d. False: e->unknown says what, or memory is out; broken limits
 * latch in e->out. */
bool rlx_sinfo_encode(rlx_encoder *e, const rlx_sinfo *s, struct rlx_desc_writer *d);
/* *offset: the expression item of p. Without recursion; shared parts are written out, up to a
 * limit that latches in e->out. */
bool rlx_prim_encode(rlx_encoder *e, const rlx_prim *p, uint32_t *offset);

/* Asks the host for the struct info of R.NAME(args), names[i] before the `=` of args[i] or NULL.
 * NULL: it has reported why, or else the arguments are wrong. */
const rlx_sinfo *rlx_extension_read(rlx_context *ctx, const rlx_extension_kind *k,
                                    const rlx_node *const *args, const char *const *names,
                                    size_t count);
/* Result of the host's derive function called `name` for view->call (its ctx, call, arg_info, user
 * and quiet are set). NULL after a report (TY16). */
const rlx_sinfo *rlx_derive_named(rlx_extension_view *view, const rlx_scope *scope,
                                  const rlx_string *name);

/* ---- struct info of expressions. env: what the module says of GlobalVars */
typedef struct rlx_env {
    const rlx_sinfo *(*global)(void *user, const rlx_global_var *gv); /* NULL: unknown */
    void *user;
    bool (*is_prim_func)(void *user, const rlx_global_var *gv); /* NULL: none is */
} rlx_env;
/* Env of a finished module. */
rlx_env rlx_module_env(const rlx_module *m);
/* Is e a leaf (NF01)? Op counts. */
bool rlx_is_leaf(const rlx_expr *e);
/* Struct info of a leaf or tuple-get (variables have theirs; GlobalVar by env). NULL: Op, or
 * unknown GlobalVar, or out of memory. Never reports. */
const rlx_sinfo *rlx_leaf_sinfo(rlx_context *ctx, const rlx_env *env, const rlx_expr *e);

#endif
