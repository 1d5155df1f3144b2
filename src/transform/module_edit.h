/* module_edit.h: modules with another function, name or link name. Modules never change: each
 * edit gives a new one that shares every function which does not have to differ, the same
 * pointer if nothing differs, and NULL after a report. */
#ifndef RLX_MODULE_EDIT_H
#define RLX_MODULE_EDIT_H

#include "ir/ir.h"

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

/* ---- what edits share */
/* Attributes of a Relax function or PrimFunc; NULL: none, or another node. */
const rlx_attr *rlx_function_attrs(const rlx_node *function);
/* The function with these attributes; itself if they are its own. NULL: out of memory. */
const rlx_node *rlx_with_function_attrs(rlx_context *ctx, const rlx_node *function,
                                        const rlx_attr *attrs);
/* The link name; NULL: private, or an ExternFunc. */
const rlx_string *rlx_link_name(const rlx_node *function);
/* The function with this link name (NULL: private); itself if it has it. NULL: out of memory. */
const rlx_node *rlx_with_link_name(rlx_context *ctx, const rlx_node *function,
                                   const rlx_string *name);
/* name_1, name_2 ...: the first that is not among `names`, and is from now on. NULL: out of
 * memory. */
const rlx_string *rlx_fresh_name(rlx_context *ctx, rlx_map *names, rlx_slice name);
/* Rewrites in place what mentions a GlobalVar that `renamed` maps to another one. */
bool rlx_rename_mentions(rlx_context *ctx, const rlx_ptrmap *renamed, const rlx_node **functions,
                         size_t count);
/* A module as it is being put together. Room for `more` functions beyond those of base; NULL
 * lists: out of memory. */
typedef struct rlx_module_draft {
    rlx_context *ctx;
    const rlx_module *base;
    const rlx_node **gvars, **functions;
    size_t count, room;
    const rlx_attr *attrs, *infos;
} rlx_module_draft;
bool rlx_module_draft_begin(rlx_module_draft *d, rlx_context *ctx, const rlx_module *base,
                            size_t more);
void rlx_module_draft_add(rlx_module_draft *d, const rlx_node *gvar, const rlx_node *function);
/* The module; base itself if all is as it was. Frees the draft. good false: only that. */
const rlx_module *rlx_module_draft_end(rlx_module_draft *d, bool good);

#endif
