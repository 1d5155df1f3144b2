/* tir_int.h: inside the tir room. */
#ifndef RLX_TIR_INT_H
#define RLX_TIR_INT_H

#include "arith/arith.h"
#include "tir/tir.h"

/* A rewriter that folds what it rebuilds; variables to replace are put into its map (old -> new). */
void rlx_tir_folder_init(rlx_rewriter *r, rlx_context *ctx);
/* r->after of such a rewriter. */
const rlx_node *rlx_tir_refold(rlx_rewriter *r, const rlx_node *n);

/* Does p mention any variable that is a key of `vars`? Buffers' shapes are not looked into. */
bool rlx_tir_mentions(rlx_context *ctx, const rlx_prim *p, const rlx_ptrmap *vars);
/* Evaluate(0), and the statements in order (one: itself, none: Evaluate(0)). */
const rlx_stmt *rlx_tir_nothing(rlx_context *ctx, rlx_place place);
const rlx_stmt *rlx_tir_sequence(rlx_context *ctx, const rlx_stmt *const *stmts, size_t count, rlx_place place);

/* A function of literals or a product of sizes: the value, or false. */
RLX_INLINE bool rlx_tir_positive(const rlx_prim *p)
{
    int64_t v;
    return rlx_int_literal(p, &v) && v > 0;
}


/* Is `s` the outermost loop of a nest around one block whose init gets a nest of its own (see lower.c)? Then init also
 * runs for each spatial point when a reduction loop is empty. */
bool rlx_tir_init_splits(rlx_context *ctx, const rlx_stmt *s);

#endif
