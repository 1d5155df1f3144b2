/* codegen: from a lowered module to the bytes of a .rlx file. */
#ifndef RLX_CODEGEN_H
#define RLX_CODEGEN_H

#include "ir/ir.h"
#include "sinfo/sinfo.h"
#include "op/op.h"
#include "tir/tir.h"
#include "format/format.h"
#include "desc/desc.h"

/* A target turns the PrimFuncs of a module into what the file carries for them. */
typedef struct rlx_target {
    const char *name;                  /* "interp" */
    bool (*write_kernel)(rlx_context *ctx, const rlx_prim_func *f, rlx_slice name, rlx_buf *out);
    const char *help;
} rlx_target;
const rlx_target *rlx_target_find(rlx_slice name); /* NULL: unknown (or not part of this build) */
const rlx_target *rlx_target_at(size_t index);

typedef struct rlx_codegen_options {
    const rlx_target *target;
    bool strip_names;                  /* leave parameter, variable names and places out */
    bool trust_annotations;            /* no checks for unproved annotations */
} rlx_codegen_options;
/* The module is in the form the build pipeline leaves (see transform.h): normal, call_tir rewritten, storage planned. CG diagnostics and NULL on failure. */
rlx_blob *rlx_codegen(rlx_context *ctx, const rlx_module *m, const rlx_codegen_options *options);

#endif
