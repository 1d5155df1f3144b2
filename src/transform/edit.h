/* edit.h: changes of a module that are no passes, as they are told what to change: functions,
 * bindings, what a pattern matches. And what a function will ask for in memory. Modules never
 * change: each edit gives a new one that shares every function which does not have to differ, the
 * same pointer if nothing differs, and NULL after a report. */
#ifndef RLX_TRANSFORM_EDIT_H
#define RLX_TRANSFORM_EDIT_H

#include "analysis/analysis.h"
#include "analysis/pattern.h"
#include "ir/ir.h"
#include "sinfo/builder.h"

/* ---- functions of a module (module_edit.c, merge_modules.c) */
/* A function under a new name (WX05 if it is taken), or in place of the one that has it (OP15
 * if there is none). A public one gets the name as link name. */
const rlx_module *rlx_module_add(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                                 const rlx_node *function);
const rlx_module *rlx_module_replace(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                                     const rlx_node *function);
/* Without one function. WX01 at the first mention by another, unless `mentioned` allows that. */
const rlx_module *rlx_module_remove(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                                    bool mentioned);
/* Under another name: mentions and the link name follow. */
const rlx_module *rlx_module_rename(rlx_context *ctx, const rlx_module *m, rlx_slice from,
                                    rlx_slice to);
/* Public: with a link name, that of the GlobalVar. Private: without. */
const rlx_module *rlx_module_publish(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                                     bool is_public);
/* Every Relax function and PrimFunc public, also private ones. The module attribute
 * system_lib_prefix goes in front of the names of PrimFuncs. */
const rlx_module *rlx_attach_global_symbols(rlx_context *ctx, const rlx_module *m);
/* Every function under the name that it is linked by; a private one whose name that is gives way
 * to it. WX05 for two public ones of one link name. */
const rlx_module *rlx_normalize_global_vars(rlx_context *ctx, const rlx_module *m);
/* All functions of both (merge_modules.c). Equal functions of one name that call equal ones are
 * shared; else private ones give way to a fresh name; two public ones are WX05. */
const rlx_module *rlx_merge_modules(rlx_context *ctx, const rlx_module *a, const rlx_module *b);

/* ---- attributes and link names of functions */
/* The function with these attributes; itself if they are its own. NULL: out of memory. */
const rlx_node *rlx_with_function_attrs(rlx_context *ctx, const rlx_node *function,
                                        const rlx_attr *attrs);
/* The function with this link name (NULL: private); itself if it has it. NULL: out of memory. */
const rlx_node *rlx_with_link_name(rlx_context *ctx, const rlx_node *function,
                                   const rlx_string *name);

/* ---- patterns and bindings */
/* Replaces what a pattern matches: in one function (gv) or in all that the module has (NULL).
 * `replace` is asked for each match, in order of evaluation, with the builder standing at the
 * root's binding: it gives the value to be bound instead, or NULL to leave it (unless errors
 * were raised). Matches taken do not overlap; bindings of a match that nothing uses any more
 * go. The same pointer if nothing was replaced. */
typedef struct rlx_match_swap { const rlx_var *old; const rlx_expr *with; } rlx_match_swap;
typedef RLX_VEC(rlx_match_swap) rlx_match_swaps;
typedef struct rlx_pattern_rewrite {
    const rlx_pattern *pattern;
    const rlx_global_var *gv;
    /* also: other variables of the match that are replaced with the root */
    const rlx_expr *(*replace)(void *user, rlx_module_builder *mb, rlx_builder *b,
                               const rlx_matcher *match, rlx_match_swaps *also);
    void *user;
    uint64_t max_steps;
    int32_t max_rounds;
} rlx_pattern_rewrite;
const rlx_module *rlx_rewrite_pattern(rlx_context *ctx, const rlx_module *m,
                                      const rlx_pattern_rewrite *how);

/* What a pattern matches becomes a private function with the attribute Composite: in the dataflow blocks of one function
 * (gv) or of all (NULL). Matches are met in order of evaluation and do not overlap. The same pointer if there is none. */
typedef struct rlx_pattern_fusion {
    rlx_slice name;                    /* "dnnl.matmul_relu" */
    const rlx_pattern *pattern;
    const rlx_global_var *gv;
    bool (*check)(void *user, const rlx_matcher *match); /* NULL: all */
    void *user;
    const rlx_attr *attrs;             /* further ones for the functions; may be NULL */
    bool binds_constants;              /* else they are parameters */
    bool annotates_codegen;            /* inside of a function with the attribute Codegen */
    uint64_t max_steps;
} rlx_pattern_fusion;
const rlx_module *rlx_fuse_by_pattern(rlx_context *ctx, const rlx_module *m, const rlx_pattern_fusion *how);

/* Rewrites one function (gv) or all that the module has (NULL) by the hooks of a mutator, whose
 * user is that of the mutation. What comes out is checked to be well-formed. The same pointer if
 * nothing changed; functions that did not change are shared. */
typedef struct rlx_mutation {
    const rlx_global_var *gv;
    const rlx_mutator_hooks *hooks;
    bool dataflow_only;
    void *user;
    /* an outermost function comes: NULL failure, another one or *keep: that, hooks see nothing
     * of it. May be NULL, as the other. */
    const rlx_function *(*enter)(rlx_mutator *m, const rlx_function *f, bool *keep);
    /* it is done */
    const rlx_function *(*leave)(rlx_mutator *m, const rlx_function *f);
    rlx_module_builder *mb; /* set while it runs: of the module that comes out */
} rlx_mutation;
const rlx_module *rlx_mutate_module(rlx_context *ctx, const rlx_module *m, rlx_mutation *how);

/* Calls of a function of the module become its body: the call that binding `only` of `caller` is,
 * or (both NULL) all but those in the function itself. */
const rlx_module *rlx_inline_function(rlx_context *ctx, const rlx_module *m,
                                      const rlx_global_var *callee, const rlx_global_var *caller,
                                      const rlx_binding *only);
/* The bindings from `first` to `last`, of one block of function gv, become a private function
 * with a name made from `name`, and a call of it. */
const rlx_module *rlx_extract_function(rlx_context *ctx, const rlx_module *m,
                                       const rlx_global_var *gv, const rlx_binding *first,
                                       const rlx_binding *last, rlx_slice name);

/* ---- edits of one dataflow block (language 11.4.1). An edit holds the bindings of the block as
 * they would be, and what stands for variables that are used after it. Nothing of the module
 * changes: the block, the function and the module with the edit are made when they are asked
 * for. Each operation reports why it refuses. */
typedef struct rlx_block_edit rlx_block_edit;
/* NULL: the block is none of the function, no dataflow block, or out of memory; reported. */
rlx_block_edit *rlx_block_edit_create(rlx_context *ctx, const rlx_module *m,
                                      const rlx_global_var *gv, const rlx_block *block);
void rlx_block_edit_free(rlx_block_edit *e);
/* Uses of old in the block become uses of `with`; after it too, if old is an output. */
bool rlx_block_edit_replace(rlx_block_edit *e, const rlx_var *old, const rlx_var *with);
/* Binds expr right after its operands. NULL after a report. */
const rlx_var *rlx_block_edit_add(rlx_block_edit *e, const rlx_expr *expr, const rlx_string *name,
                                  bool output);
bool rlx_block_edit_remove(rlx_block_edit *e, const rlx_var *v, bool even_if_used);
/* Removes every binding that nothing uses, then those that only these used; casts stay, as they
 * check something. */
bool rlx_block_edit_remove_unused(rlx_block_edit *e);
/* NULL: out of memory. One without bindings has none. The old one if nothing changed. */
const rlx_block *rlx_block_edit_block(rlx_block_edit *e);
/* The module, checked; *f (may be NULL): the function in it. NULL after a report. */
const rlx_module *rlx_block_edit_module(rlx_block_edit *e, const rlx_function **f);

/* ---- memory */
/* Memory that a Relax function of m asks for once it is lowered: tensors without planning,
 * storages with it (analysis.h). False after a report. */
bool rlx_memory_usage(rlx_context *ctx, const rlx_module *m, const rlx_global_var *gv,
                      rlx_memory_estimate *out);

#endif
