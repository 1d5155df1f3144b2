/* transform: passes. One file each, one row each in pass.def; pipelines are lists of names. */
#ifndef RLX_TRANSFORM_H
#define RLX_TRANSFORM_H

#include "ir/ir.h"
#include "sinfo/sinfo.h"
#include "op/op.h"
#include "analysis/analysis.h"
#include "transform/module_edit.h"

/* Input of a pass. */
typedef struct rlx_pass_run {
    rlx_context *ctx;
    const rlx_attr *options;           /* ATTRS or NULL; checked against the row's options */
    void *user;                        /* host passes */
} rlx_pass_run;
/* same pointer: nothing changed; NULL: diagnostics say why */
typedef const rlx_module *(*rlx_pass_fn)(rlx_pass_run *run, const rlx_module *m);

/* type: enum rlx_attr_type */
typedef struct rlx_pass_option {
    const char *name;
    uint8_t type;
    const char *deflt;
    const char *help;
} rlx_pass_option;
/* What a pass needs of a module, each with those before. */
enum rlx_pass_stage { RLX_PASS_ANY, RLX_PASS_NORMAL, RLX_PASS_LOWERED };
typedef struct rlx_pass_row {
    const char *name;                  /* "fold_constant" */
    rlx_pass_fn run;
    const rlx_pass_option *options; uint8_t num_options;
    uint8_t stage;                     /* enum rlx_pass_stage: checked of the module */
    const char *needs, *keeps, *help;  /* one line each */
} rlx_pass_row;
const rlx_pass_row *rlx_pass_find(rlx_slice name); /* hyphens read as underscores */
const rlx_pass_row *rlx_pass_at(size_t index);
const char *rlx_pass_suggest(rlx_slice name);
/* Equal but for hyphens standing for underscores? */
bool rlx_pass_is_named(const char *name, rlx_slice text);

/* Passes of the host that a context knows by name; they live as long as it does. */
typedef struct rlx_extension_pass {
    rlx_pass_fn run;                   /* run->user: this */
    void (*function)(void);            /* of the host; whoever made `run` knows what it is */
    void *user;
    void (*destroy)(void *user);       /* may be NULL */
    size_t name_len;
    char name[];                       /* with underscores */
} rlx_extension_pass;
rlx_extension_pass *rlx_extension_pass_find(rlx_context *ctx, rlx_slice name);
/* Copies *pass; the name is not looked at. False: out of memory, nothing was destroyed. */
bool rlx_extension_pass_add(rlx_context *ctx, rlx_slice name, const rlx_extension_pass *pass);
const char *rlx_extension_pass_suggest(rlx_context *ctx, rlx_slice name);

/* Runs one pass or a list in scratch layers of the context; the final module lives in the
 * context's own layer. Hooks may be NULL. After each pass of a debug build (or with verify) the
 * result is checked for well-formedness. */
typedef struct rlx_pass_hooks {
    /* m is valid during the call only */
    void (*after)(void *user, const char *pass, const rlx_module *m, double seconds, bool changed);
    void *user;
    bool verify;
} rlx_pass_hooks;
typedef struct rlx_pass_step {
    const rlx_pass_row *row;
    const rlx_attr *options;
    rlx_pass_fn host;
    void *host_user;
    const char *host_name;
    bool host_stays;                   /* registered: whoever drops the list leaves it alone */
    bool in_order;                     /* the list itself sees to what the pass needs */
} rlx_pass_step;
const rlx_module *rlx_run_passes(rlx_context *ctx, const rlx_module *m, const rlx_pass_step *steps,
                                 size_t count, const rlx_pass_hooks *hooks);

/* Weights by parameter name for one function ("" or NULL name: every function that has such a
 * parameter): parameters become constants, symbolic dimensions they fix are substituted. CG
 * errors for a wrong rank, dtype or size; names that no function has are an error. */
typedef struct rlx_weight {
    rlx_slice name;
    rlx_dtype dtype;
    const int64_t *shape;
    size_t ndim;
    rlx_blob *data;
    const rlx_var *param;   /* this parameter, whatever its name; NULL: by name */
} rlx_weight;
const rlx_module *rlx_bind_params(rlx_context *ctx, const rlx_module *m, rlx_slice function,
                                  const rlx_weight *weights, size_t count);

/* Shape variables of one function ("" or NULL name: of all) become expressions: by name, or the
 * variable itself where var is not NULL. Values mention variables that the function defines. */
typedef struct rlx_shape_binding {
    rlx_slice name;
    const rlx_prim_var *var;
    const rlx_prim *value;
} rlx_shape_binding;
const rlx_module *rlx_bind_shape_vars(rlx_context *ctx, const rlx_module *m, rlx_slice function,
                                      const rlx_shape_binding *bindings, size_t count);

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

/* The passes before code generation for an optimisation level (0 lowers only, 1 cleans up, 2 does
 * the same as 1 until there are passes that fuse). Fills steps (at least RLX_MAX_PIPELINE),
 * returns the count. */
#define RLX_MAX_PIPELINE 32
size_t rlx_build_pipeline(int opt_level, rlx_pass_step *steps);

/* Memory that a Relax function of m asks for once it is lowered: tensors without planning,
 * storages with it (analysis.h). False after a report. */
bool rlx_memory_usage(rlx_context *ctx, const rlx_module *m, const rlx_global_var *gv,
                      rlx_memory_estimate *out);

#endif
