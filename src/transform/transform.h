/* transform.h: passes. One file each, one row each in pass.def; pipelines are lists of names.
 * Changes of a module that are told where to happen are in edit.h. */
#ifndef RLX_TRANSFORM_H
#define RLX_TRANSFORM_H

#include "ir/ir.h"

/* Input of a pass. */
typedef struct rlx_pass_run {
    rlx_context *ctx;
    const rlx_attr *options;           /* ATTRS or NULL; checked against the row's options */
    void *user;                        /* host passes */
    bool defers;                       /* as in rlx_pass_hooks */
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
    /* Of the module that comes out only a file is written: content of constants may be left to be
     * made then (rlx_deferred). */
    bool defers;
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
/* A module that a reader of another format has made: bindings that nothing uses go, pure ones become dataflow
 * blocks. NULL gives NULL. */
const rlx_module *rlx_tidied(rlx_context *ctx, const rlx_module *m);

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

/* The passes before code generation for an optimisation level (0 lowers only, 1 cleans up, 2 fuses,
 * too). Fills steps (at least RLX_MAX_PIPELINE), returns the count. */
#define RLX_MAX_PIPELINE 32
#define RLX_DEFAULT_OPT_LEVEL 2 /* where nobody chooses one */
size_t rlx_build_pipeline(int opt_level, rlx_pass_step *steps);

#endif
