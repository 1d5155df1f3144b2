/* walk.h: equality, hash, walking, rewriting, copying: written once over the field table,
 * without recursion. */
#ifndef RLX_IR_WALK_H
#define RLX_IR_WALK_H

#include "ir/build.h"

/* Structural equality with variable mapping: variables, buffers and shape variables defined inside
 * correspond by position; free ones must be the same object unless map_free. Scopes end with the
 * node that opens them. Functions of modules correspond by name. An empty attribute map counts as
 * none. GlobalVars compare by name. Names of variables do not count. Constants compare by content.
 * `m` is for working memory only. False, and *out_of_memory true, when it runs out. */
bool rlx_equal(rlx_memory *m, const rlx_node *a, const rlx_node *b, bool map_free,
               bool *out_of_memory);
/* Equal nodes (free variables not mapped) have equal hashes. Depends on structure alone: bound
 * variables count by kind, free Relax variables by id. 0, and *out_of_memory true, when memory
 * runs out. */
uint64_t rlx_hash(rlx_memory *m, const rlx_node *n, bool *out_of_memory);
/* rlx_hash for integer expressions, one after the other: `known` (node -> hash) is the caller's
 * and spares what was hashed before, so that all parts of a deep expression cost together what the
 * whole costs. */
uint64_t rlx_hash_again(rlx_memory *m, const rlx_node *n, rlx_ptrmap *known, bool *out_of_memory);

/* Hash for equality with map_free: free Relax variables count by kind. */
uint64_t rlx_hash_mapped(rlx_memory *m, const rlx_node *n, bool *out_of_memory);
/* The first difference of two nodes, in the order in which equality compares: the pair (NULL:
 * there is nothing on that side), the places of the nearest nodes around that have one, and the
 * way there with what differs: `functions["main"].body.blocks[0].bindings[2].value.index: 0 and
 * 1`. False: they are equal, or out of memory. */
typedef struct rlx_difference {
    const rlx_node *a, *b;
    rlx_place place_a, place_b;
} rlx_difference;
bool rlx_first_difference(rlx_memory *m, const rlx_node *a, const rlx_node *b, bool map_free,
                          rlx_difference *out, rlx_buf *path, bool *out_of_memory);

/* Visit in evaluation order. Return value of a callback: continue, skip the children, or stop
 * the walk. `enter` comes before the children, `leave` after; either may be NULL. Descends into
 * everything reachable through REF, REFS, DEF, DEFS; into the struct info of a variable only
 * where it is defined (binding, parameter) and only if `annotations` is set; interned subtrees
 * without variables are entered like others. Buffers are opened where they are defined (or the
 * root), not where they are used. A skipped node is not left. `unique`: each node once (a
 * variable or buffer once more where it is defined, if a use came first). `code`: variables and
 * what is interned (struct info, attributes, integers, operators) are passed over: what is left
 * is bindings, calls, functions and their names. With `unique` a call that several bindings
 * share may come for each of them. `terse`: an integer expression of two that have operands
 * themselves comes once in a statement (and in the body of a let), or e = e + e, some dozen
 * times, would never end. */
enum rlx_step { RLX_STEP_ON = 0, RLX_STEP_SKIP = 1, RLX_STEP_STOP = 2 };
typedef struct rlx_walker {
    /* via NULL at the root; via->type tells DEF from use */
    enum rlx_step (*enter)(void *user, const rlx_node *n, const rlx_field *via,
                           const rlx_node *parent);
    enum rlx_step (*leave)(void *user, const rlx_node *n);
    void *user;
    bool annotations;
    bool unique;
    bool code;
    bool terse;
} rlx_walker;
/* RLX_STEP_STOP if stopped; *out_of_memory may be NULL. */
enum rlx_step rlx_walk(rlx_memory *m, const rlx_node *root, const rlx_walker *w,
                       bool *out_of_memory);

/* Plain rewriting below the binding level: rebuilds bottom-up what changed, keeps pointers of
 * what did not. Shared nodes are rewritten once. `map` (old node -> new node) is consulted
 * first and filled; so variables are renamed by putting pairs there. A definition (DEF) of a
 * variable whose struct info changes makes a new variable, uses follow; where it is only used a
 * variable is what the map says. Where a variable is defined only another variable replaces it:
 * a map from a shape variable to a literal leaves definitions in loops and parameters alone and
 * drops binders. `before` may return a replacement that is not descended into (NULL: descend);
 * `after` sees the node with rewritten children and returns it or a replacement. NULL result: a
 * callback failed or memory ran out. */
typedef struct rlx_rewriter {
    rlx_context *ctx;
    void *user;
    const rlx_node *(*before)(struct rlx_rewriter *r, const rlx_node *n);
    const rlx_node *(*after)(struct rlx_rewriter *r, const rlx_node *n);
    rlx_ptrmap map;
    bool failed;
} rlx_rewriter;
void rlx_rewriter_init(rlx_rewriter *r, rlx_context *ctx);
void rlx_rewriter_free(rlx_rewriter *r);
const rlx_node *rlx_rewrite(rlx_rewriter *r, const rlx_node *root);
/* The generic step of rewriting: a node like n with field values from `children` (as many as
 * rlx_child_count, in field order). n itself if all are the same. */
size_t rlx_child_count(const rlx_node *n);
const rlx_node *rlx_child(const rlx_node *n, size_t i);
const rlx_node *rlx_with_children(rlx_context *ctx, const rlx_node *n,
                                  const rlx_node *const *children);

/* Replaces shape variables: from[i] -> to[i] simultaneously, in struct info, PrimExprs,
 * expressions. Binders of function descriptions that a `to` mentions are renamed where they
 * would capture. n itself if nothing changes. */
const rlx_node *rlx_substitute(rlx_context *ctx, const rlx_node *n, const rlx_prim *const *from,
                               const rlx_prim *const *to, size_t count);

/* Copy with fresh variables and buffers for those defined in n (a function copied into the same
 * module); what is free in n and GlobalVars stay. */
const rlx_node *rlx_copy_fresh(rlx_context *ctx, const rlx_node *n);
/* Deep copy into another context. Places keep their numbers if source_map is NULL, else source
 * number s becomes source_map[s] (entry 0 is not used; s >= num_sources: no place). Constants
 * are copied. */
const rlx_node *rlx_copy_to(rlx_context *to, const rlx_node *n, const uint32_t *source_map,
                            size_t num_sources);

/* Variables of an integer expression, shape, struct info or any node, in order of first
 * occurrence (binders included), appended to *out. False: out of memory. alone: only those in
 * binding positions (ir/binding.h; of a function its parameters, of a cast its target). */
typedef RLX_VEC(const rlx_prim_var *) rlx_prim_vars;
typedef RLX_VEC(const rlx_prim *) rlx_prims;
bool rlx_collect_prim_vars(rlx_memory *m, const rlx_node *n, bool alone, rlx_prim_vars *out);

/* One struct info, integer expression or leaf expression as text, as the printer writes it
 * (dimensions bare, names by hint). For messages; never fails visibly (the buffer latches).
 * Without recursion, whatever the depth. */
void rlx_text_sinfo(rlx_buf *b, const rlx_sinfo *s);
void rlx_text_prim(rlx_buf *b, const rlx_prim *p);
void rlx_text_expr(rlx_buf *b, const rlx_expr *e);
void rlx_text_var_name(rlx_buf *b, const rlx_var *v);
/* Text of a node in the context's memory, for %s in messages; long text is cut with "...". "?"
 * when out of memory. */
const char *rlx_show(rlx_context *ctx, const rlx_node *n);
/* Text in double quotes, with escapes; valid UTF-8 stays as it is. */
void rlx_text_quoted(rlx_buf *b, rlx_slice text);

#endif
