/* read.h: TVMScript, the text form (doc/tvmscript.md), to modules. */
#ifndef RLX_SCRIPT_READ_H
#define RLX_SCRIPT_READ_H

#include "ir/ir.h"

/* All mistakes found are diagnostics (PA, and what building reports: TY, OP ...);
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
/* One annotation ("R.Tensor((n, 4), \"float32\")") with given variable names. NULL after a
 * report. */
const rlx_sinfo *rlx_script_parse_sinfo(rlx_context *ctx, uint32_t source,
                                        const rlx_prim_var *const *vars, size_t count);

#endif
