/* builder.h: the block builder, which normalises and infers while it emits (language sections 3
 * and 11), the builder of modules, and the mutator, which rewrites through both. */
#ifndef RLX_SINFO_BUILDER_H
#define RLX_SINFO_BUILDER_H

#include "sinfo/sinfo.h"

/* ---- the block builder: one function at a time. Errors are diagnostics; a failed emit returns
 * NULL and leaves the block as it was. */
typedef struct rlx_builder rlx_builder;
typedef struct rlx_builder_options {
    bool strict_annotations;      /* value -> annotation V and K as errors */
    bool quiet_values;            /* no TY01 warnings (passes rebuilding what was accepted) */
    bool keep_op_form;            /* operator normal forms (NF05) are not applied (text reader) */
    /* devices have spread: one that is not known counts, except that of
     * constants and of what operators give */
    bool judge_devices;
    bool no_infer;                /* keep variables' own struct info where given */
    /* what cannot be derived counts as its annotation, else Object, once its error is reported
     * (text reader): the program stays printable */
    bool keep_going;
    /* generated names are numbered as TVM does (text reader): per function, and every binding
     * counts, named or not */
    bool count_names;
} rlx_builder_options;
rlx_builder *rlx_builder_create(rlx_context *ctx, const rlx_env *env,
                                const rlx_builder_options *options);
void rlx_builder_free(rlx_builder *b);
/* drops everything open; keeps memory for the next function */
void rlx_builder_reset(rlx_builder *b);

/* Function scope: params enter scope, their binding positions bind shape variables. Functions
 * nest (local functions): the inner one sees the outer shape variables (captured). attrs (may be
 * NULL) tell whether purity is forced, and what is promised of sizes. name is for messages and
 * self-calls; self: the GlobalVar or local variable, may be NULL. */
bool rlx_builder_begin_function(rlx_builder *b, const rlx_expr *const *params, size_t count,
                                bool is_pure, const rlx_attr *attrs, rlx_slice name,
                                const rlx_expr *self);
/* Ends the function: result is normalised, body built (NF03, NF04, NF06), result struct info
 * derived and compared with the stated one (TY07; NULL: deduced). Errors raised since begin
 * make it fail. */
const rlx_function *rlx_builder_end_function(rlx_builder *b, const rlx_expr *result,
                                             const rlx_sinfo *stated_ret, const rlx_attr *attrs,
                                             rlx_place place);
/* Hands over the signature that rlx_signature gives for the parameters and purity of the innermost
 * function, which is no local one, and the result `ret`: it is not derived again if the function
 * returns that. */
void rlx_builder_declared(rlx_builder *b, const rlx_sinfo *signature, const rlx_sinfo *ret);
/* "in main, binding h": where the builder is, for messages. locus.of is the builder; locus.what an
 * rlx_emit, or NULL: between bindings, or the builder again: at the function's result. */
bool rlx_builder_put_locus(const rlx_locus *locus, rlx_buf *out);
/* Where the result of the innermost function stands, and its annotation, for messages. */
void rlx_builder_result_at(rlx_builder *b, rlx_place result, rlx_place annotation);
/* Branch of an if: a scope that sees its parent; end gives the SeqExpr. */
bool rlx_builder_begin_branch(rlx_builder *b);
const rlx_expr *rlx_builder_end_branch(rlx_builder *b, const rlx_expr *result, rlx_place place);
/* Blocks nest as a stack; outside begin/end an ordinary block is open. end returns the block
 * node (NULL if it was empty) already appended to the scope. */
bool rlx_builder_begin_block(rlx_builder *b, bool dataflow, rlx_place place);
bool rlx_builder_end_block(rlx_builder *b);
bool rlx_builder_in_dataflow(const rlx_builder *b);

/* Options of a binding. name NULL: lv / gv and a number. */
typedef struct rlx_emit {
    const rlx_string *name; int32_t number;   /* number -1: name is complete */
    const rlx_var *var;                       /* bind this variable object instead of making one */
    const rlx_sinfo *annotation; const rlx_place *annotation_places; size_t num_annotation_places;
    const rlx_place *cast_places; size_t num_cast_places; /* of the target; live in the context */
    bool output;                              /* dataflow block: an ordinary Var (emit_output) */
    rlx_place place, var_place;
} rlx_emit;
/* Normalises expr (operands are bound first), infers, checks the annotation, binds. NULL on
 * error. */
const rlx_var *rlx_builder_emit(rlx_builder *b, const rlx_expr *expr, const rlx_emit *how);
/* no_var: makes no variable; what comes back then only says that it succeeded. */
const rlx_var *rlx_builder_emit_match(rlx_builder *b, const rlx_expr *value,
                                      const rlx_sinfo *sinfo, const rlx_emit *how, bool no_var);
/* Makes v, bound by the open dataflow block, an ordinary variable that outlives the block, as
 * emit.output does from the beginning. Nobody may have seen more of it than that it is a variable:
 * if output_differs, its struct info changes as well, and this comes before any use of it. */
bool rlx_builder_output(rlx_builder *b, const rlx_var *v);
bool rlx_builder_output_differs(const rlx_var *v);
/* With count_names: as if one more binding had been made here. */
void rlx_builder_count_name(rlx_builder *b);
/* Appends as it is: struct info must be there. A DataflowVar outside dataflow is refused. */
bool rlx_builder_emit_binding(rlx_builder *b, const rlx_binding *binding);
/* §3.3 value / operand: normalised expression; operand binds a non-leaf to a fresh variable. */
const rlx_expr *rlx_builder_normalize(rlx_builder *b, const rlx_expr *expr);
const rlx_expr *rlx_builder_operand(rlx_builder *b, const rlx_expr *expr);
/* Struct info that expr (normalised) has here. NULL after a reported error. */
const rlx_sinfo *rlx_builder_infer(rlx_builder *b, const rlx_expr *expr);
/* value bound through this builder, NULL for parameters and casts */
const rlx_expr *rlx_builder_lookup(const rlx_builder *b, const rlx_var *var);
/* Is it bound where the builder stands, and may it be named there? */
bool rlx_builder_sees_var(const rlx_builder *b, const rlx_var *v);
/* facts of the current scope */
rlx_scope *rlx_builder_scope(rlx_builder *b);
/* brings a shape variable into scope by hand */
bool rlx_builder_declare(rlx_builder *b, const rlx_prim_var *v);
/* A point to come back to: what was emitted and opened since goes away. */
typedef struct rlx_mark {
    size_t depth, segments, bindings, opens, params, facts, equals;
    bool in_dataflow;
    uint32_t block_serial;
    int32_t next_lv, next_gv;
} rlx_mark;
rlx_mark rlx_builder_mark(const rlx_builder *b);
void rlx_builder_rollback(rlx_builder *b, const rlx_mark *m);

/* ---- module under construction: GlobalVars, provisional signatures (D1) */
typedef struct rlx_module_builder rlx_module_builder;
/* base may be NULL */
rlx_module_builder *rlx_module_builder_create(rlx_context *ctx, const rlx_module *base);
void rlx_module_builder_free(rlx_module_builder *mb);
/* New GlobalVar with a provisional signature (may be NULL: Object). An existing name is an
 * error WX05 (NULL). */
const rlx_global_var *rlx_module_builder_declare(rlx_module_builder *mb, rlx_slice name,
                                                 const rlx_sinfo *signature, rlx_place place);
bool rlx_module_builder_define(rlx_module_builder *mb, const rlx_global_var *gv,
                               const rlx_node *function);
/* Gives a declared function another name, under which no other is known, beside the one it was
 * declared with. Its GlobalVar keeps its identity: nobody outside of this module has it yet. */
bool rlx_module_builder_rename(rlx_module_builder *mb, const rlx_global_var *gv,
                               const rlx_string *name);
/* Adds a function under a fresh name made from hint; returns the GlobalVar of an equal private
 * function if there is one. */
const rlx_global_var *rlx_module_builder_add(rlx_module_builder *mb, rlx_slice hint,
                                             const rlx_node *function);
const rlx_global_var *rlx_module_builder_lookup(const rlx_module_builder *mb, rlx_slice name);
const rlx_node *rlx_module_builder_function(const rlx_module_builder *mb,
                                            const rlx_global_var *gv);
const rlx_env *rlx_module_builder_env(const rlx_module_builder *mb);
const rlx_attr *rlx_module_builder_attrs(const rlx_module_builder *mb);
/* global_infos NULL: they stay as they are */
void rlx_module_builder_set_attrs(rlx_module_builder *mb, const rlx_attr *attrs,
                                  const rlx_attr *global_infos);
/* same pointer as base if nothing changed */
const rlx_module *rlx_module_builder_finish(rlx_module_builder *mb, rlx_place place);

/* ---- mutator: rewriting at the binding level through a builder (language 11.3). Iterative
 * over blocks, branches, local functions. */
typedef struct rlx_mutator rlx_mutator;
/* Finer than `binding` below: each may be NULL; what comes back NULL has failed. *keep set:
 * what was given stays as it is but for names, and hooks see nothing of it. What is returned
 * instead of something is normalised, and hooks see nothing of that either. */
typedef struct rlx_mutator_hooks {
    /* An expression, nothing in it renamed yet; not the outermost function. Another: instead. */
    const rlx_expr *(*enter)(rlx_mutator *m, const rlx_expr *old, bool *keep);
    /* An expression whose parts are final; not for sequences. Another: instead. */
    const rlx_expr *(*leave)(rlx_mutator *m, const rlx_expr *now);
    /* A binding comes: to be rewritten, or what stands for it has been emitted. *place is its
     * own, and that of the rewritten one afterwards. */
    enum rlx_begin {
        RLX_BEGIN_FAILED, RLX_BEGIN_REWRITE, RLX_BEGIN_DONE
    } (*begin)(rlx_mutator *m, const rlx_binding *old, rlx_place *place);
    /* A block comes. Another: that is emitted instead. */
    const rlx_block *(*block)(rlx_mutator *m, const rlx_block *old, bool *keep);
    /* A dataflow block ends; false: failure. */
    bool (*block_end)(rlx_mutator *m, const rlx_block *old);
    /* A definition. Another variable: instead, of the same kind. */
    const rlx_var *(*define)(rlx_mutator *m, const rlx_var *old);
    /* Struct info that the program states, or a value that is an integer expression or a shape:
     * once for each that differs. */
    const rlx_node *(*part)(rlx_mutator *m, const rlx_node *old);
} rlx_mutator_hooks;
struct rlx_mutator {
    rlx_context *ctx;
    rlx_builder *builder;
    void *user;
    /* Called for each binding with its value's operands already renamed. Either emits what it
     * wants through the builder and returns the leaf that replaces the variable, or returns the
     * value (same or other) to be emitted for the variable; NULL: failure. `*replaced` set: the
     * returned leaf replaces the variable and nothing is emitted. */
    const rlx_expr *(*binding)(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                               bool *replaced);
    /* May drop a binding before it is looked at: true: skip it. May be NULL. */
    bool (*drop)(rlx_mutator *m, const rlx_binding *old);
    /* also what did not change is derived and checked again, against the struct info its
     * variable has */
    bool rederive;
    rlx_ptrmap vars;   /* old variable -> new leaf */
    const rlx_mutator_hooks *hooks;  /* NULL: none */
    bool dataflow_only;              /* hooks see dataflow blocks and what is in them */
    /* private: in what hooks do not see; parts that `part` was asked for */
    bool is_off;
    rlx_ptrmap parts;
};
/* The function with rewritten bindings; the same pointer if nothing changed; NULL on failure. */
const rlx_function *rlx_mutate_function(rlx_mutator *m, const rlx_function *f,
                                        const rlx_global_var *gv);
void rlx_mutator_init(rlx_mutator *m, rlx_context *ctx, const rlx_env *env, void *user);
/* Its builder judges devices that are not known. */
void rlx_mutator_judge_devices(rlx_mutator *m);
void rlx_mutator_free(rlx_mutator *m);
/* The present form of an old variable: itself, another one, or the leaf that took its place. */
const rlx_expr *rlx_mutator_now(const rlx_mutator *m, const rlx_expr *old);
/* At the end of a dataflow block: its first output that is not bound outside of the block any
 * more, NULL: none. */
const rlx_var *rlx_mutator_lost_output(const rlx_mutator *m, const rlx_block *old);

#endif
