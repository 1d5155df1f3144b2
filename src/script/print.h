/* print.h: modules and their parts as canonical TVMScript, in the layout of tvmscript section 8. */
#ifndef RLX_SCRIPT_PRINT_H
#define RLX_SCRIPT_PRINT_H

#include "ir/ir.h"

typedef struct rlx_print_options {
    bool standalone;        /* a module of one function prints as that function alone */
    /* leave the metadata block out (text then ends with a comment saying so) */
    bool no_metadata;
    bool no_struct_info;    /* show_all_struct_info off */
    bool newer;             /* for TVM 0.27 */
    const char *module_name; /* NULL: "Module" */
    /* The text, its metadata apart, may have so many bytes; 0: any number. */
    size_t max_bytes;
} rlx_print_options;
/* The text of any node, without a newline at its end: module, function, expression, statement,
 * struct info. Latches failure in out. Never writes to the IR. Returns the place of the statement
 * that was being printed when the text became too large (out->too_large), if it has one. */
rlx_place rlx_script_print(rlx_memory *m, const rlx_node *n, const rlx_print_options *options,
                           rlx_buf *out);

#endif
