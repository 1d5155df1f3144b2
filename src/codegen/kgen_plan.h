/*- kgen_plan.h: what is decided about a loop nest before any of its code is written.
 *
 *     for i in range(n):                 loops[0]  i  determined     order[0]
 *         for k in range(m):             loops[1]  k                 order[1]
 *             for j in range(p):         loops[2]  j  determined     strip
 *                 C[i, j] = C[i, j] + exp(A[i, k]) * B[k, j]
 *
 *     accesses   C[i, j] stored  contiguous       along the strip
 *                C[i, j]         contiguous
 *                A[i, k]         fixed
 *                B[k, j]         contiguous
 *
 * A loop is determined if every stored place tells its iterations apart: two iterations of the
 * nest that meet at one place have the same value of it. Two loops may change places if one of
 * them is determined, because the iterations at one place then keep their order, and so does each
 * sum. This holds because nothing else ties iterations: a stored buffer is read at no other place
 * than the one that is stored.
 *
 * The strip loop is determined, runs innermost, and is done RLX_KERNEL_STRIP elements at a time.
 * Merged loops only continue it in memory: the strip then runs over strip_extent elements.
 *
 * A nest that is one reduction of one or two loads becomes one instruction over three loops:
 *
 *     for b, i, j, k:                    order b; row i, column j, step k
 *         C[b, i, j] += A[b, i, k] * B[b, k, j]
 *
 * Row and column are determined; the step is the innermost of the other loops.
 *
 * kgen_nest.c writes what the plan says. The class of an access serves the choice of the strip; its
 * address is found again while code is written (kgen_access.c), where lets of the body have values
 * and masks are known. */
#ifndef RLX_CODEGEN_KGEN_PLAN_H
#define RLX_CODEGEN_KGEN_PLAN_H

#include "tir/tir.h"

#define RLX_KGEN_MAX_NEST (RLX_TIR_MAX_DIMS * 2)

/* What is known in front of a nest: `knows` says whether a variable has a scalar value there. */
typedef struct rlx_kgen_scope {
    bool (*knows)(const void *user, const rlx_prim *var);
    const void *user;
} rlx_kgen_scope;

enum rlx_kgen_form {
    RLX_KGEN_PLAIN,                /* loops as they stand; `reason` says why */
    RLX_KGEN_EMPTY,                /* some loop never runs: no code at all */
    RLX_KGEN_STRIP,                /* `order`, then the strip loop */
    RLX_KGEN_FUSED                 /* `order`, then one instruction */
};

/* Why a nest is PLAIN, or why its body is not one instruction. */
enum rlx_kgen_reason {
    RLX_KGEN_NO_REASON,
    /* PLAIN */
    RLX_KGEN_NO_LOOP,              /* the outermost loop is bound to a thread, or its bounds load */
    RLX_KGEN_BOUND_TYPE,           /* a bound is not one integer */
    RLX_KGEN_OTHER_STATEMENT,      /* the body has more than stores, lets and ifs */
    RLX_KGEN_NO_STORE,
    RLX_KGEN_TWO_PLACES,           /* an iteration touches a stored buffer at two places */
    RLX_KGEN_NOTHING_DETERMINED,   /* no loop is determined: none may become the strip */
    /* STRIP */
    RLX_KGEN_NO_UPDATE,            /* the body is not `place = place op value` of loads */
    RLX_KGEN_UPDATE_DTYPE,         /* the dtypes differ, or no instruction computes with them */
    RLX_KGEN_UPDATE_INDEX,         /* an index is not affine with literal coefficients */
    RLX_KGEN_NO_STEP,              /* every loop is determined: nothing is summed up */
    RLX_KGEN_PLACE_MOVES           /* a loop that is not determined moves the stored place */
};

enum rlx_kgen_role {
    RLX_KGEN_LOOP,                 /* a loop of its own, in `order` */
    RLX_KGEN_STRIP_LOOP,
    RLX_KGEN_MERGED,               /* runs inside the strip loop's range */
    RLX_KGEN_ROW, RLX_KGEN_COLUMN, RLX_KGEN_STEP /* of the fused instruction */
};

typedef struct rlx_kgen_loop {
    const rlx_prim *var, *min, *extent;  /* min, extent: int64, without variables of the nest */
    uint8_t role;                        /* enum rlx_kgen_role */
    bool determined;
} rlx_kgen_loop;

/* How an access moves from one element of a loop to the next. */
enum rlx_kgen_walk {
    RLX_KGEN_SCATTERED,            /* not affine, or not known in front of the nest */
    RLX_KGEN_FIXED,
    RLX_KGEN_CONTIGUOUS,
    RLX_KGEN_STRIDED
};

/* A store or a load of the body, stores first; a load that stands twice comes twice. */
typedef struct rlx_kgen_access {
    const rlx_node *node;          /* BufferStore or BufferLoad */
    const rlx_node *buffer;
    const rlx_prim *const *indices;
    size_t num_indices;
    bool stores;
    uint8_t walk;                  /* enum rlx_kgen_walk along the strip, the column, or the step
                                      where there is no column */
    bool affine;                   /* `offset` is known */
    bool literal;                  /* affine, and each index has literal coefficients: its range can
                                      be checked in front of the nest */
    rlx_tir_affine offset;         /* in elements, int64; coefficients by number of loop */
} rlx_kgen_access;

/* An index of an access, taken apart once; what is asked of it again is answered from here. */
typedef struct rlx_kgen_view {
    bool affine;                   /* else nothing is known */
    bool available;                /* base and coefficients are known in front of the nest; not,
                                      they may be once lets of the body have values */
    rlx_tir_affine index;
} rlx_kgen_view;

/* The fused instruction: REDUCE of access a, or CONTRACT of accesses a and b, into acc. */
typedef struct rlx_kgen_fused {
    bool contract;
    uint8_t op;                    /* enum rlx_kernel_reduce */
    size_t acc, a, b;              /* in `accesses`; not contract: b is a */
    int row, column, step;         /* loops; -1: none */
} rlx_kgen_fused;

typedef struct rlx_kgen_nest_plan {
    uint8_t form, reason;          /* enum rlx_kgen_form, rlx_kgen_reason */
    rlx_kgen_loop loops[RLX_KGEN_MAX_NEST]; /* as they stand, outermost first */
    size_t count;
    const rlx_stmt *body;          /* of the innermost */
    uint8_t order[RLX_KGEN_MAX_NEST];       /* loops that stay loops, outermost first */
    size_t num_order;
    int strip;                     /* -1: none */
    const rlx_prim *strip_extent;  /* with merged loops, int64 */
    rlx_kgen_fused fused;
    RLX_VEC(rlx_kgen_access) accesses;
    RLX_VEC(rlx_kgen_view) views;
    rlx_ptrmap view_of;            /* index -> its view */
    rlx_ptrmap stored;             /* buffers stored in the body */
} rlx_kgen_nest_plan;

/* Decides about the nest that begins with `nest`. Makes expressions in ctx and reports nothing.
 * False: out of memory. The caller frees the plan in either case. */
bool rlx_kgen_plan(rlx_context *ctx, const rlx_kgen_scope *scope, const rlx_for_stmt *nest,
                   rlx_kgen_nest_plan *plan);
void rlx_kgen_plan_free(rlx_context *ctx, rlx_kgen_nest_plan *plan);

/* An index by the loops of a nest; what is left of it is known in front of the nest. NULL: it is
 * not of that form. The answer is in the plan, or in `room` if the plan has not seen the index. */
const rlx_tir_affine *rlx_kgen_affine(rlx_context *ctx, const rlx_kgen_scope *scope,
                                      const rlx_kgen_nest_plan *plan, const rlx_prim *index,
                                      rlx_kgen_view *room);
/* The sum of index * stride likewise, int64. */
bool rlx_kgen_flatten(rlx_context *ctx, const rlx_kgen_scope *scope,
                      const rlx_kgen_nest_plan *plan, const rlx_prim *const *strides,
                      const rlx_prim *const *indices, size_t count, rlx_tir_affine *out);
/* Compact strides of a shape; all int64. False: out of memory. */
bool rlx_kgen_strides(rlx_context *ctx, const rlx_prim *const *shape, size_t ndim,
                      const rlx_prim **strides);
/* sum + a * b; a becomes int64, sum NULL is 0. */
const rlx_prim *rlx_kgen_add_product(rlx_context *ctx, const rlx_prim *sum, const rlx_prim *a,
                                     const rlx_prim *b);

#endif
