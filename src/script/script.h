/* script: TVMScript, the text form (doc/tvmscript.md). Reader and canonical printer for
 * Relax and TIR. */
#ifndef RLX_SCRIPT_H
#define RLX_SCRIPT_H

#include "ir/ir.h"
#include "arith/arith.h"
#include "sinfo/sinfo.h"
#include "tir/tir.h"

/* ---- reading. All mistakes found are diagnostics (PA, and what building reports: TY, OP ...);
 * NULL if no module could be made. With errors only of inference (TY, PU, OP) the module is
 * still returned, so that it can be printed; callers compare rlx_error_count before and after.
 * `source` is the number from rlx_diags_add_source. A text with one function outside a class
 * gives a module with that function and `standalone` set in the result. */
typedef struct rlx_parse_options {
    bool no_notes;         /* no PA notes about older spellings */
    bool strict;           /* see diags.strict */
} rlx_parse_options;
typedef struct rlx_parsed {
    const rlx_module *module;
    /* where there is no module: what could be read of it, to look for further mistakes; or NULL */
    const rlx_module *damaged;
    bool standalone;
} rlx_parsed;
bool rlx_script_parse(rlx_context *ctx, uint32_t source, const rlx_parse_options *options,
                      rlx_parsed *out);
/* One annotation ("R.Tensor((n, 4), \"float32\")") or integer expression with given variable
 * names (for builders and tests). NULL after a report. */
const rlx_sinfo *rlx_script_parse_sinfo(rlx_context *ctx, uint32_t source,
                                        const rlx_prim_var *const *vars, size_t count);
const rlx_prim *rlx_script_parse_prim(rlx_context *ctx, uint32_t source,
                                      const rlx_prim_var *const *vars, size_t count);

/* ---- printing: canonical TVMScript, layout of tvmscript section 8, without trailing newline */
typedef struct rlx_print_options {
    bool standalone;        /* a module of one function prints as that function alone */
    /* leave the metadata block out (text then ends with a comment saying so) */
    bool no_metadata;
    bool no_struct_info;    /* show_all_struct_info off */
    const char *module_name; /* NULL: "Module" */
    /* The text, its metadata apart, may have so many bytes; 0: any number. */
    size_t max_bytes;
} rlx_print_options;
/* Any node: module, function, expression, statement, struct info. Latches failure in out. Never
 * writes to the IR. Returns the place of the statement that was being printed when the text
 * became too large (out->too_large), if it has one. */
rlx_place rlx_script_print(rlx_memory *m, const rlx_node *n, const rlx_print_options *options,
                           rlx_buf *out);

/* Metadata section: constants and long strings as TVM 0.20's JSON. */
typedef struct rlx_metadata rlx_metadata;

#endif
