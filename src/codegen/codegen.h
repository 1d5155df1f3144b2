/* codegen: from a lowered module to the bytes of a .rlx file. */
#ifndef RLX_CODEGEN_H
#define RLX_CODEGEN_H

#include "ir/ir.h"

struct rlx_file_writer;    /* desc/file_writer.h */
struct rlx_file_sink;
struct rlx_kernel_hints;   /* kgen.h */
struct rlx_native_options; /* native.h */

typedef struct rlx_codegen_options rlx_codegen_options;
/* Form of the PrimFuncs of a module in its file: bytecode always, and what the target adds. */
typedef struct rlx_target {
    const char *name;                  /* "interp" */
    /* NULL: nothing. False with diagnostics; where the target's tools fail, a warning is
     * enough. hints: by kernel. */
    bool (*add_code)(rlx_context *ctx, struct rlx_file_writer *w,
                     const struct rlx_kernel_hints *hints, const rlx_codegen_options *o);
    const char *help;
} rlx_target;
const rlx_target *rlx_target_find(rlx_slice name); /* NULL: unknown (or not part of this build) */
const rlx_target *rlx_target_at(size_t index);

/* Late calls that are compiled ahead (vmgen_ahead.c): what parameters of public functions will be. */
typedef struct rlx_ahead_param {
    rlx_slice name;
    int *ranks; /* none: as stated */
    size_t num_ranks;
    rlx_dtype *dtypes;
    size_t num_dtypes;
} rlx_ahead_param;
typedef struct rlx_ahead {
    const rlx_ahead_param *params;
    size_t num_params;
    /* Compiles a program; false: it cannot. */
    bool (*compile)(void *user, rlx_slice program, rlx_buf *file);
    void *user;
} rlx_ahead;

struct rlx_codegen_options {
    const rlx_target *target;
    bool strip_names;                  /* leave parameter, variable names and places out */
    bool trust_annotations;            /* no checks for unproved annotations */
    bool no_late;                      /* what only the run knows is an error (CG03) */
    /* The text of an expression, for the programs of late calls. NULL: this build has no text form, and
     * they are an error (CG03). */
    void (*print_late)(rlx_memory *m, const rlx_node *n, rlx_buf *out);
    const rlx_ahead *ahead;            /* NULL: nothing */
    const struct rlx_native_options *native; /* of target c */
    uint32_t *compiler_processes;      /* counts those that were started */
    rlx_buf *source;                   /* NULL, or gets the kernels as C; then no code is added */
    rlx_memory *file_memory;           /* whose the file is; NULL: the context's */
};
/* The module is in the form the build pipeline leaves (see transform.h): normal, call_tir
 * rewritten, storage planned. CG diagnostics and NULL on failure. */
rlx_blob *rlx_codegen(rlx_context *ctx, const rlx_module *m, const rlx_codegen_options *options);
/* The same, piece by piece into a sink. False after a report; where the sink refuses, that is its own. */
bool rlx_codegen_send(rlx_context *ctx, const rlx_module *m, const rlx_codegen_options *options,
                      const struct rlx_file_sink *sink);

#endif
