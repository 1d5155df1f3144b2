/* tir_int.h: inside the tir room. */
#ifndef RLX_TIR_INT_H
#define RLX_TIR_INT_H

#include "arith/arith.h"
#include "tir/tir.h"

/* r->after of such a rewriter. */
const rlx_node *rlx_tir_refold(rlx_rewriter *r, const rlx_node *n);

/* Does p mention any variable that is a key of `vars`? Buffers' shapes are not looked into. */
bool rlx_tir_mentions(rlx_context *ctx, const rlx_prim *p, const rlx_ptrmap *vars);
/* In one dimension: from `min`, `extent` elements. */
typedef struct rlx_tir_span { const rlx_prim *min, *extent; } rlx_tir_span;
/* Widens a span that mentions the variable of a loop to all it is while the loop runs. False: it
 * cannot be said. A member is NULL when out of memory. */
bool rlx_tir_span_over(rlx_context *ctx, rlx_tir_span *s, const rlx_for_stmt *loop);
/* Evaluate(0), and the statements in order (one: itself, none: Evaluate(0)). */
const rlx_stmt *rlx_tir_nothing(rlx_context *ctx, rlx_place place);
const rlx_stmt *rlx_tir_sequence(rlx_context *ctx, const rlx_stmt *const *stmts, size_t count,
                                 rlx_place place);

/* A function of literals or a product of sizes: the value, or false. */
RLX_INLINE bool rlx_tir_positive(const rlx_prim *p)
{
    int64_t v;
    return rlx_int_literal(p, &v) && v > 0;
}

/* ---- vectors (lanes.c) */
typedef struct rlx_lanes {
    rlx_context *ctx;
    rlx_ptrmap names;                   /* named vector -> buffer that holds it */
    /* may two buffers share memory? */
    bool (*may_alias)(void *user, const rlx_node *a, const rlx_node *b);
    void *user;
} rlx_lanes;
bool rlx_is_vector(const rlx_prim *p); /* NULL is none */
/* x where cond holds, else 0: what a load under a predicate gives */
const rlx_prim *rlx_tir_guarded(rlx_context *ctx, const rlx_prim *cond, const rlx_prim *x);
/* Is it on vectors, or under a predicate? */
bool rlx_lanes_in_store(const rlx_buffer_store *s);
/* The statement on scalars; NULL after a report. */
const rlx_stmt *rlx_lanes_store(rlx_lanes *lanes, const rlx_buffer_store *s);
const rlx_stmt *rlx_lanes_evaluate(rlx_lanes *lanes, const rlx_evaluate *s);
/* The temporary that stands for the name of a let; what fills it. */
const rlx_buffer *rlx_lanes_name(rlx_lanes *lanes, const rlx_let_stmt *s);
const rlx_stmt *rlx_lanes_fill(rlx_lanes *lanes, const rlx_let_stmt *s, const rlx_buffer *b);

/* ---- partial sums (partial_sums.c) */
/* The function with loops in place of the nests of blocks with the attribute relax.partial_sums;
 * itself where there are none. keeps: a sum that one instruction computes stays loops with the attribute, which else are
 * replaced as well. NULL: out of memory. */
const rlx_prim_func *rlx_tir_partial_sums(rlx_context *ctx, const rlx_prim_func *f, bool keeps);

#endif
