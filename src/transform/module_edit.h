/* module_edit.h: what edits of modules share. Inside src/transform only. */
#ifndef RLX_MODULE_EDIT_H
#define RLX_MODULE_EDIT_H

#include "transform/edit.h"

/* name_1, name_2 ...: the first that is not among `names`, and is from now on. NULL: out of
 * memory. */
const rlx_string *rlx_fresh_name(rlx_context *ctx, rlx_map *names, rlx_slice name);
/* Rewrites in place what mentions a GlobalVar that `renamed` maps to another one. */
bool rlx_rename_mentions(rlx_context *ctx, const rlx_ptrmap *renamed, const rlx_node **functions,
                         size_t count);
/* A module as it is being put together. Capacity for `more` functions beyond those of base; NULL
 * lists: out of memory. */
typedef struct rlx_module_draft {
    rlx_context *ctx;
    const rlx_module *base;
    const rlx_node **gvars, **functions;
    size_t count, capacity;
    const rlx_attr *attrs, *infos;
} rlx_module_draft;
bool rlx_module_draft_begin(rlx_module_draft *d, rlx_context *ctx, const rlx_module *base,
                            size_t more);
void rlx_module_draft_add(rlx_module_draft *d, const rlx_node *gvar, const rlx_node *function);
/* The module; base itself if all is as it was. Frees the draft. good false: only that. */
const rlx_module *rlx_module_draft_end(rlx_module_draft *d, bool good);

#endif
