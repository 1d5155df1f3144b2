/* seq_pass.h: rewriting the bindings of a function in normal form as they stand, without
 * inferring again.
 *
 * For passes below the level of struct info: cleaning up and lowering. A walk (ir/flow.h) goes
 * through the blocks in order, into branches and local functions first, and hands each binding, its
 * operands renamed, to the pass, which emits what is to stand for it. What comes out is joined
 * to blocks as NF04 wants it; a sequence, function or module in which nothing changed comes
 * back as the same node. Linear; explicit stack.
 */
#ifndef RLX_SEQ_PASS_H
#define RLX_SEQ_PASS_H

#include "arith/arith.h"
#include "ir/ir.h"

/* For rlx_rewriter.after: sizes of which a variable has become a number are computed, 16 + 16
 * is 32. */
const rlx_node *rlx_fold_numbers(rlx_rewriter *r, const rlx_node *n);

typedef struct rlx_seq_pass rlx_seq_pass;
typedef struct rlx_seq_frame rlx_seq_frame;
struct rlx_seq_pass {
    rlx_context *ctx;
    const rlx_module *module;
    void *user;
    /* `now` is `old` with what was renamed in it (the same pointer if nothing was). Emits what
     * stands for it by rlx_seq_emit. False: failure. NULL: kept. */
    bool (*binding)(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now);
    /* A function (also a local one) is done: a replacement or `now`. NULL pointer: `now`. */
    const rlx_function *(*function)(rlx_seq_pass *p, const rlx_function *old,
                                    const rlx_function *now);
    /* a binding comes next, nothing in it is renamed yet; may be NULL */
    bool (*before)(rlx_seq_pass *p, const rlx_binding *old);
    /* The pass renames what is in this value itself: `now` holds it as it was. May be NULL. */
    bool (*renames_itself)(rlx_seq_pass *p, const rlx_expr *value);
    /* Does a binding of an ordinary block go to a dataflow block? Variables that change their kind
     * with it have been replaced before (keep_names). May be NULL. */
    bool (*moves_to_dataflow)(rlx_seq_pass *p, const rlx_binding *old);
    /* before the first binding of a block; may be NULL */
    bool (*enter_block)(rlx_seq_pass *p, const rlx_block *block);
    /* A sequence ends: what it gives instead of `body`, its result; what is emitted goes into an
     * ordinary block at its end. May be NULL. */
    const rlx_expr *(*result_of)(rlx_seq_pass *p, const rlx_expr *sequence,
                                 const rlx_expr *body);
    /* dataflow blocks become ordinary ones, their variables ordinary variables */
    bool plain_blocks;
    bool keep_names;     /* what was replaced before stays replaced in the next function */
    bool use_scope;      /* keep `scope`: the shape variables bound so far in this function */
    rlx_scope scope;
    /* private */
    /* old variable or shape variable -> what stands for it; and what was rewritten with that */
    rlx_rewriter names;
    size_t num_names;
    rlx_body_walk walk;
    RLX_VEC(rlx_seq_frame) frames;
    RLX_VEC(const rlx_binding *) bindings;
    RLX_VEC(const rlx_node *) blocks;
    const rlx_expr *result;
};
void rlx_seq_init(rlx_seq_pass *p, rlx_context *ctx, const rlx_module *m, void *user);
void rlx_seq_free(rlx_seq_pass *p);
/* The function rewritten; the same pointer if nothing changed; NULL: failure, reported. */
const rlx_function *rlx_seq_function(rlx_seq_pass *p, const rlx_function *f);
/* All Relax functions of a module; by: those with a body as `each` has them, which gives NULL for a failure. */
const rlx_module *rlx_seq_module(rlx_seq_pass *p, const rlx_module *m);
typedef const rlx_function *rlx_seq_function_fn(rlx_seq_pass *p, const rlx_function *f);
const rlx_module *rlx_seq_module_by(rlx_seq_pass *p, const rlx_module *m, rlx_seq_function_fn *each);

/* From the binding callback: appends a binding to the block under way. NULL (out of memory) is
 * a failure. */
bool rlx_seq_emit(rlx_seq_pass *p, const rlx_binding *b);
/* A new variable (DataflowVar in a dataflow block) bound to value. number -1: name alone. NULL:
 * out of memory. */
const rlx_var *rlx_seq_bind(rlx_seq_pass *p, const char *name, const rlx_sinfo *sinfo,
                            const rlx_expr *value, rlx_place place);
/* From now on `with` stands for old (a variable, its struct info uses included, or a shape
 * variable). */
bool rlx_seq_replace(rlx_seq_pass *p, const rlx_node *old, const rlx_node *with);
/* n with what has been replaced so far; n itself if nothing of it was. */
const rlx_node *rlx_seq_rename(rlx_seq_pass *p, const rlx_node *n);
bool rlx_seq_in_dataflow(const rlx_seq_pass *p);
/* Sequences entered and not yet left, 1: the body of the function. */
size_t rlx_seq_depth(const rlx_seq_pass *p);

/* ---- small things that passes share */
/* A binding like old with another value; the same pointer if it has that value. */
const rlx_binding *rlx_with_value(rlx_context *ctx, const rlx_binding *old, const rlx_expr *value);
/* A variable like v: other kind or struct info, all else the same. */
const rlx_var *rlx_var_like(rlx_context *ctx, const rlx_var *v, bool dataflow,
                            const rlx_sinfo *sinfo);
/* A function like f with another body and attributes; f itself if both are the same. */
const rlx_function *rlx_function_with(rlx_context *ctx, const rlx_function *f,
                                      const rlx_expr *body, const rlx_attr *attrs);

/* For rlx_seq_pass.function: a pure function that was changed has relax.force_pure. */
const rlx_function *rlx_seq_force_pure(rlx_seq_pass *p, const rlx_function *old,
                                       const rlx_function *now);

#endif
