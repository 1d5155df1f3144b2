/* analysis.h: questions about modules and functions. Nothing here changes a program. Whether a
 * program is right is asked by well_formed.h, where a pattern matches by pattern.h. */
#ifndef RLX_ANALYSIS_H
#define RLX_ANALYSIS_H

#include "ir/ir.h"
#include "sinfo/sinfo.h"
#include "op/op.h"
#include "analysis/use_def.h"
#include "analysis/liveness.h"

/* ---- inference again over a whole module, as after building by hand: normalises, derives,
 * checks (NF, TY, PU). The same pointer if nothing changed; NULL after errors. */
const rlx_module *rlx_infer_module(rlx_context *ctx, const rlx_module *m);
/* Inference over a whole module that derives anew what has struct info already. judge_devices:
 * after devices have spread (language 5.6.5), one that is asked for and not known counts. */
const rlx_module *rlx_infer_module_again(rlx_context *ctx, const rlx_module *m,
                                         bool judge_devices);

/* ---- variables. Order: first occurrence. Each list grows; false: out of memory. */
typedef RLX_VEC(const rlx_var *) rlx_vars;
bool rlx_free_vars(rlx_context *ctx, const rlx_node *n, rlx_vars *out);
bool rlx_bound_vars(rlx_context *ctx, const rlx_node *n, rlx_vars *out);
bool rlx_all_vars(rlx_context *ctx, const rlx_node *n, rlx_vars *out);
bool rlx_free_shape_vars(rlx_context *ctx, const rlx_node *n, rlx_prim_vars *out);
bool rlx_defined_shape_vars(rlx_context *ctx, const rlx_node *n, rlx_prim_vars *out);
/* the same without placeholders of function descriptions */
bool rlx_scope_shape_vars(rlx_context *ctx, const rlx_node *n, rlx_prim_vars *out);

/* ---- purity: the first impure call in a function body or expression (nested functions are not
 * entered), NULL: none. Calls to `own` (GlobalVar or variable) are ignored. */
const rlx_call *rlx_find_impure_call(rlx_context *ctx, const rlx_env *env, const rlx_node *n,
                                     const rlx_expr *own);

/* Warns of in-place calls that break their promise (PU06). False: out of memory. */
bool rlx_report_mutations(rlx_context *ctx, const rlx_module *m);

/* ---- writes: may somebody write into the memory of a value, once it is made? Values that may
 * share memory are one class. For modules in normal form. */
typedef struct rlx_written_class { uint32_t parent; bool written, killed; } rlx_written_class;
typedef struct rlx_written {
    rlx_memory *memory;
    rlx_ptrmap numbers;                 /* variable, or sequence for its result -> class */
    RLX_VEC(rlx_written_class) classes;
    bool any, any_killed;
} rlx_written;
/* The answer begins zeroed; it is found once, asking again costs nothing. False: out of memory; to
 * be freed in any case. */
bool rlx_find_written(rlx_context *ctx, const rlx_module *m, rlx_written *out);
bool rlx_is_written(const rlx_written *w, const rlx_node *key);
/* Does the program let go of the variable, or of one that may share its memory, by name? Then it is
 * none that could stand for another. */
bool rlx_is_killed(const rlx_written *w, const rlx_node *key);
void rlx_written_free(rlx_written *w);
/* Marks the parameters of f that it stores into, in written[0 .. num_params), which comes zeroed.
 * False: out of memory. */
bool rlx_stored_params(rlx_context *ctx, const rlx_prim_func *f, uint8_t *written);

/* ---- uses. counts[var] of a function: how often each variable occurs, struct info included
 * (language 2.4.8). */
bool rlx_count_uses(rlx_context *ctx, const rlx_function *f, rlx_ptrmap *counts);

/* ---- mentions: what a node uses. `each` gets every variable (and shape variable, if `sizes`) in
 * order, once per node that mentions it; NULL, or returning false, ends it. Parts that mention
 * no Relax variable are remembered from one node to the next, unless `sizes`. */
typedef struct rlx_mentions {
    rlx_context *ctx;
    bool (*each)(void *user, const rlx_node *var);
    void *user;
    bool sizes;
    /* private */
    rlx_ptrmap state;
    RLX_VEC(size_t) counts;
    size_t found;
    uint32_t walk;
} rlx_mentions;
void rlx_mentions_init(rlx_mentions *m, rlx_context *ctx,
                       bool (*each)(void *user, const rlx_node *var), void *user);
void rlx_mentions_free(rlx_mentions *m);
/* False: out of memory, or `each` said so. n may be NULL. */
bool rlx_each_mention(rlx_mentions *m, const rlx_node *n);

/* ---- graph of mentions among module functions: groups of the strongly connected components,
 * callees first. group[i] is the group number of function i; recursive[i]: in a cycle (self
 * mention counts). */
bool rlx_call_groups(rlx_context *ctx, const rlx_module *m, uint32_t *group, bool *recursive);

/* Marks what the functions marked in `reached` mention, directly or not. False: out of memory. */
bool rlx_reach(rlx_context *ctx, const rlx_module *m, bool *reached);
/* GlobalVars mentioned in a node, in order of first occurrence. called: only where they are
 * called, or given to an operator that calls them. */
typedef RLX_VEC(const rlx_global_var *) rlx_global_vars;
bool rlx_mentioned_globals(rlx_context *ctx, const rlx_node *n, bool called,
                           rlx_global_vars *out);

/* ---- sizes: distinct dimensions in tensor and shape descriptions (of a struct info, a variable
 * or the parameters of a function) that are >= 0 for that reason; literals are left out. */
bool rlx_non_negative(rlx_context *ctx, const rlx_node *n, rlx_prims *out);

/* ---- calls of which only descriptions are known: the result, NULL after a report (TY02, TY03,
 * TY04, TY12). `stated` (may be NULL): what a packed function is said to return. Variables that
 * descriptions mention without binding them are in scope. */
const rlx_sinfo *rlx_derive_call(rlx_context *ctx, const rlx_sinfo *callee,
                                 const rlx_sinfo *const *args, size_t count,
                                 const rlx_sinfo *stated, rlx_place place);

/* ---- what is known before a function is called: parameters after the first num_input, and
 * variables bound to pure values that mention nothing else. Function literals are not entered.
 * Nothing where the attribute num_input is missing. */
bool rlx_computable_before(rlx_context *ctx, const rlx_module *m, const rlx_function *f,
                           rlx_vars *out);

/* ---- memory that a function asks for, in all its branches together: int64 expressions in
 * bytes. tensors: every tensor allocated; storages: what is allocated after planning. unknown:
 * allocations whose size is not given, or mentions a variable that is none of `known` (NULL: all
 * are), left out of both. */
typedef struct rlx_memory_estimate {
    const rlx_prim *tensors, *storages;
    size_t unknown;
} rlx_memory_estimate;
bool rlx_estimate_memory(rlx_context *ctx, const rlx_function *f, const rlx_prim_vars *known,
                         rlx_memory_estimate *out);

/* ---- does a PrimFunc only copy? A buffer parameter is consecutive elements of the parameter `of`, in row-major order, from
 * element `offset` on: it is filled with them (copies), or fills them (joins). */
typedef struct rlx_copied {
    int32_t of;                 /* -1: it is no such part */
    const rlx_prim *offset;     /* int64 expressions of the variables of f, as those below */
    const rlx_prim *elements;   /* of the part */
    const rlx_prim *whole;      /* of `of`; whether the part lies in it is not looked at */
    bool all;                   /* as many */
} rlx_copied;
/* Is that all that f does? `out` has an item for each parameter. false: perhaps not (or out of
 * memory, latched). */
bool rlx_find_copies(rlx_context *ctx, const rlx_prim_func *f, rlx_copied *out);
bool rlx_find_joins(rlx_context *ctx, const rlx_prim_func *f, rlx_copied *out);
/* Does it do so with all elements of one buffer? */
bool rlx_is_reshape(rlx_context *ctx, const rlx_prim_func *f);

/* ---- how what a PrimFunc writes hangs on what it reads, as the attribute op_pattern holds it. OPAQUE also when out of
 * memory (latched). */
enum rlx_op_pattern rlx_op_pattern_of(rlx_context *ctx, const rlx_prim_func *f);
/* The attribute op_pattern of f; false: it has none. */
bool rlx_stated_op_pattern(const rlx_prim_func *f, int64_t *pattern);

/* ---- which inputs of a PrimFunc may be the very memory of an output? into[i]: the parameter whose
 * elements overwrite those of parameter i after they have been read, in the order in which f is written; -1:
 * none. Both have one shape, and elements of one size. `into` has an item for each
 * parameter. True: there are such. */
bool rlx_find_same_place(rlx_context *ctx, const rlx_prim_func *f, int32_t *into);
/* The same, and those that may be the first elements of an output that is larger: of the same sizes but in one dimension, in
 * front of which all are 1. */
bool rlx_find_first_place(rlx_context *ctx, const rlx_prim_func *f, int32_t *into);

#endif
