/*- plan.h: what is decided about a loop nest before any of its code is written.
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
 * A nest that is one reduction of one or two loads becomes one instruction over five loops:
 *
 *     for a, b, i, j, t, k:              order a; group b, row i, column j, turn t, step k
 *         C[a, b, i, j] += A[a, b, i, t, k] * B[a, b, t, k, j]
 *
 * Group, row and column are determined; step and turn are the innermost two of the other loops.
 *
 * kgen_nest.c writes what the plan says. The class of an access serves the choice of the strip; its
 * address is found again while code is written (kgen_access.c), where lets of the body have values
 * and masks are known. */
#ifndef RLX_SCHEDULE_PLAN_H
#define RLX_SCHEDULE_PLAN_H

#include "format/kernel_format.h"
#include "tir/tir.h"

#define RLX_PLAN_MAX_NEST (RLX_TIR_MAX_DIMS * 2)

/* What is known in front of a nest: `knows` says whether a variable has a scalar value there. */
typedef struct rlx_plan_scope {
    bool (*knows)(const void *user, const rlx_prim *var);
    const void *user;
    bool widens;                   /* operands of a sum may be widened as they are loaded: what is
                                      asked is what a nest is, not how it is written */
    const struct rlx_scope *ranges; /* of the variables that have a value; NULL: nothing is known of them */
} rlx_plan_scope;

enum rlx_plan_form {
    RLX_PLAN_PLAIN,                /* loops as they stand; `reason` says why */
    RLX_PLAN_EMPTY,                /* some loop never runs: no code at all */
    RLX_PLAN_STRIP,                /* `order`, then the strip loop */
    RLX_PLAN_ORDERED,              /* the same, the strip loop being the innermost: its elements are stored in their order */
    RLX_PLAN_FUSED,                /* `order`, then one instruction */
    RLX_PLAN_PARTIAL,              /* `order`, then one sum in partial sums */
    RLX_PLAN_PACK,                 /* `order`, then panels are filled */
    RLX_PLAN_NORMALIZE,            /* `order`, then rows are normalized */
    RLX_PLAN_COPY,                 /* `order`, then a box is copied */
    RLX_PLAN_UNPACK,               /* `order`, then fields of bits become floats */
    RLX_PLAN_MAP                   /* `order`, then a function of rows */
};

/* Why a nest is PLAIN, or why its body is not one instruction. */
enum rlx_plan_reason {
    RLX_PLAN_NO_REASON,
    /* PLAIN */
    RLX_PLAN_NO_LOOP,              /* the outermost loop is bound to a thread, or its bounds load */
    RLX_PLAN_BOUND_TYPE,           /* a bound is not one integer */
    RLX_PLAN_OTHER_STATEMENT,      /* the body has more than stores, lets and ifs */
    RLX_PLAN_NO_STORE,
    RLX_PLAN_TWO_PLACES,           /* an iteration touches a stored buffer at two places */
    RLX_PLAN_PARTIAL_SUMS,         /* loops have the attribute relax.partial_sums: no other order */
    RLX_PLAN_NOTHING_DETERMINED,   /* no loop is determined: none may become the strip */
    /* STRIP */
    RLX_PLAN_NO_UPDATE,            /* the body is not `place = place op value` of loads */
    RLX_PLAN_UPDATE_DTYPE,         /* the dtypes differ, or no instruction computes with them */
    RLX_PLAN_UPDATE_INDEX,         /* an index is not affine with literal coefficients */
    RLX_PLAN_NO_STEP,              /* every loop is determined: nothing is summed up */
    RLX_PLAN_PLACE_MOVES           /* a loop that is not determined moves the stored place */
};

enum rlx_loop_role {
    RLX_PLAN_LOOP,                 /* a loop of its own, in `order` */
    RLX_PLAN_STRIP_LOOP,
    RLX_PLAN_MERGED,               /* runs inside the strip loop's range */
    RLX_PLAN_GROUP, RLX_PLAN_ROW, RLX_PLAN_COLUMN, RLX_PLAN_TURN, RLX_PLAN_STEP, /* of the fused instruction */
    RLX_PLAN_LANE, RLX_PLAN_DEPTH,                /* of panels */
    RLX_PLAN_BOX,                                 /* of a box that is copied or normalized, or of a row */
    RLX_PLAN_FIELD                                /* of what is unpacked */
};

typedef struct rlx_nest_loop {
    const rlx_prim *var, *min, *extent;  /* min, extent: int64, without variables of the nest */
    uint8_t role;                        /* enum rlx_loop_role */
    bool determined;
    bool partial;                        /* has the attribute relax.partial_sums */
} rlx_nest_loop;

/* How an access moves from one element of a loop to the next. */
enum rlx_plan_walk {
    RLX_PLAN_SCATTERED,            /* not affine, or not known in front of the nest */
    RLX_PLAN_FIXED,
    RLX_PLAN_CONTIGUOUS,
    RLX_PLAN_STRIDED
};

/* A store or a load of the body, stores first; a load that stands twice comes twice. */
typedef struct rlx_plan_access {
    const rlx_node *node;          /* BufferStore or BufferLoad */
    const rlx_node *buffer;
    const rlx_prim *const *indices;
    size_t num_indices;
    bool stores;
    uint8_t walk;                  /* enum rlx_plan_walk along the strip, the column, or the step
                                      where there is no column */
    bool affine;                   /* `offset` is known */
    bool literal;                  /* affine, and each index has literal coefficients: its range can
                                      be checked in front of the nest */
    rlx_tir_affine offset;         /* in elements, int64; coefficients by number of loop */
    uint64_t hangs_on;             /* not literal: the loops that indices hang on that are not; how the other indices move it: */
    const rlx_prim *step[RLX_PLAN_MAX_NEST];
} rlx_plan_access;

/* An index of an access, taken apart once; what is asked of it again is answered from here. */
typedef struct rlx_plan_view {
    bool affine;                   /* else nothing is known */
    bool available;                /* base and coefficients are known in front of the nest; not,
                                      they may be once lets of the body have values */
    rlx_tir_affine index;
} rlx_plan_view;

/* Loops of the fused instruction, in the order of its operands. */
enum { RLX_FUSED_GROUP, RLX_FUSED_ROW, RLX_FUSED_COLUMN, RLX_FUSED_TURN, RLX_FUSED_STEP, RLX_FUSED_LOOPS };

/* The fused instruction: REDUCE of access a, CONTRACT of accesses a and b, or PARTIAL, into acc. */
typedef struct rlx_plan_fused {
    bool contract;
    bool exact;                    /* the product is not rounded: T.fma */
    uint8_t op;                    /* enum rlx_kernel_reduce */
    size_t acc, a, b;              /* in `accesses`; not contract: b is a */
    int loop[RLX_FUSED_LOOPS]; /* loops of the nest; -1: none */
    const rlx_prim *turns;         /* not contract: how many, where loops around that of turns are part of it; NULL: they are not */
    uint8_t value;                 /* PARTIAL: enum rlx_kernel_value */
} rlx_plan_fused;

/* A nest that fills panels as one instruction, PACK. Expressions have the values of the loops that
 * stay loops. */
typedef struct rlx_plan_pack {
    int lane, depth[3];            /* loops, outermost first; -1: none */
    int four;                      /* -1, or the loop of four steps that lie beside each other: depth[0], if there is one,
                                      counts fours of d0 */
    const rlx_prim *steps;         /* four: of d0 */
    int64_t panel;                 /* lanes of a panel */
    const rlx_prim *lanes;         /* that there are in this one; the others are 0 */
    const rlx_prim *from;          /* offset of what is read, the lane and depth at 0 */
    const rlx_prim *start, *width; /* the lane is start + l, a number of digits of this width */
    const rlx_prim *high, *low;    /* strides of its digits */
    const rlx_prim *depth_stride[3];
    /* indices of what is read, by dimension; least NULL: it is proved that they are in range */
    const rlx_prim *least[RLX_TIR_MAX_DIMS], *greatest[RLX_TIR_MAX_DIMS];
} rlx_plan_pack;

/* A nest that copies a box, COPY: dimensions outermost first, those that lack are 1 long. */
typedef struct rlx_plan_copy { const rlx_prim *extent[4], *to[4], *from[4]; } rlx_plan_copy;

/*- A nest that makes floats of fields of bits, UNPACK:
 *     Y[g, w, v, l] = (float32(words[g, w, l] >> v * bits & mask) - zero) * scales[g, l] */
typedef struct rlx_plan_unpack {
    int group, word, digit, lane;  /* loops; -1: none */
    size_t words, scales;          /* accesses; 0 is what is stored */
    int64_t bits, zero;
} rlx_plan_unpack;

/* A nest that normalizes rows, NORMALIZE: Y, X, M, R, G, B, A as accesses (SIZE_MAX: none) and their strides of row and column. */
typedef struct rlx_plan_normalize {
    const rlx_prim *extent[2], *stride[RLX_NORMALIZE_SIDES][2];
    size_t access[RLX_NORMALIZE_SIDES];
    bool bounded;
    float low, high;               /* if it is */
} rlx_plan_normalize;

/* A nest that computes one function of each element of rows, MAP. */
typedef struct rlx_plan_map {
    uint8_t function;              /* enum rlx_kernel_map */
    size_t a, b;                   /* in `accesses`; the result is the first of them */
    int row, column;               /* loops; no column, -1: rows of one element */
    const rlx_prim *rows, *columns;    /* how many there are: loops that a row or column goes on in are part of it */
} rlx_plan_map;

/* A loop that threads may share, each a part of it. The loop is determined, so iterations of different parts touch no common
 * place of what is stored; the order of the others stays in each part. */
typedef struct rlx_plan_parallel {
    const rlx_prim *extent;        /* int64; NULL: there is none, or nothing to gain */
    const rlx_prim *work;          /* estimated, of the whole nest: picoseconds, int64 */
    int loop;                      /* -1: a dimension of the box */
    int dimension;                 /* of the instruction: group, row, column of sums, row, column of NORMALIZE and MAP,
                                      dimension of COPY, group, word of UNPACK; -1: the loop stays one, or is the strip */
    int64_t grain;                 /* parts begin at multiples of it */
} rlx_plan_parallel;

typedef struct rlx_nest_plan {
    uint8_t form, reason;          /* enum rlx_plan_form, rlx_plan_reason */
    rlx_nest_loop loops[RLX_PLAN_MAX_NEST]; /* as they stand, outermost first */
    size_t count;
    const rlx_stmt *body;          /* of the innermost */
    uint8_t order[RLX_PLAN_MAX_NEST];       /* loops that stay loops, outermost first */
    size_t num_order;
    int strip;                     /* -1: none */
    bool adds;                     /* ORDERED: each element is added to what is there */
    int row;                       /* -1, or a loop along which each element of the strip copies a row, COPY_ROWS */
    const rlx_prim *strip_extent;  /* with merged loops, int64 */
    rlx_plan_fused fused;
    rlx_plan_pack pack;
    rlx_plan_copy copy;
    rlx_plan_unpack unpack;
    rlx_plan_normalize normalize;
    rlx_plan_map map;
    rlx_plan_parallel parallel;
    RLX_VEC(rlx_plan_access) accesses;
    RLX_VEC(rlx_plan_view) views;
    rlx_ptrmap view_of;            /* index -> its view */
    rlx_ptrmap stored;             /* memory (data of buffers) stored to in the body */
} rlx_nest_plan;

/* Decides about the nest that begins with `nest`. Makes expressions in ctx and reports nothing.
 * False: out of memory. The caller frees the plan in either case. */
bool rlx_plan_nest(rlx_context *ctx, const rlx_plan_scope *scope, const rlx_for_stmt *nest,
                   rlx_nest_plan *plan);
void rlx_nest_plan_free(rlx_context *ctx, rlx_nest_plan *plan);

/* An index by the loops of a nest; what is left of it is known in front of the nest. NULL: it is
 * not of that form. The answer is in the plan, or in `room` if the plan has not seen the index. */
const rlx_tir_affine *rlx_plan_affine(rlx_context *ctx, const rlx_plan_scope *scope,
                                      const rlx_nest_plan *plan, const rlx_prim *index,
                                      rlx_plan_view *room);
/* The sum of index * stride likewise, int64. */
bool rlx_plan_flatten(rlx_context *ctx, const rlx_plan_scope *scope,
                      const rlx_nest_plan *plan, const rlx_prim *const *strides,
                      const rlx_prim *const *indices, size_t count, rlx_tir_affine *out);
/* Compact strides of a shape; all int64. False: out of memory. */
bool rlx_plan_strides(rlx_context *ctx, const rlx_prim *const *shape, size_t ndim,
                      const rlx_prim **strides);
/* Does the access go to another element from one iteration of the loop to the next? Surely to the next one in memory? */
bool rlx_plan_moves(const rlx_plan_access *a, int loop);
bool rlx_plan_is_unit(const rlx_plan_access *a, int loop);
/* Does loop `outer` go on where `extent` iterations of `inner` end, in all accesses? Those that one of them does not move the other may not
 * either. Both are one loop then. */
bool rlx_plan_goes_on(rlx_context *ctx, const rlx_nest_plan *n, int outer, int inner, const rlx_prim *extent);
/* Is the variable part of it? */
bool rlx_plan_mentions(rlx_context *ctx, const rlx_prim *p, const rlx_prim *var);
/* The number that the nest `fill` stores to every place that the sums of the plan go to, and nowhere else; NULL: it does
 * something else. */
const rlx_prim *rlx_plan_first_value(rlx_context *ctx, const rlx_nest_plan *plan,
                                     const rlx_for_stmt *fill);
/* The same of any statement: a store, where all loops are those of the sum. */
const rlx_prim *rlx_plan_first_stored(rlx_context *ctx, const rlx_nest_plan *plan, const rlx_stmt *fill);
/* Does the loop touch no place of what is stored in its body in two of its iterations, but for memory that is allocated in the
 * body? Only then may they run at the same time. */
bool rlx_is_independent(rlx_context *ctx, const rlx_for_stmt *loop);
/* If the buffers `in` and `out`, of the same sizes, were one memory that is stored to, would each iteration touch places of it that no other one
 * touches? With NULL for both: of all memory that is stored to, as above. */
bool rlx_touches_own_part(rlx_context *ctx, const rlx_for_stmt *loop, const rlx_node *in, const rlx_node *out);
/* Estimated work of a statement, picoseconds as an int64 expression of what is known in front of it; sizes that only its loops
 * know are taken as large as they may be. NULL: nothing is shared out here, or out of memory. */
const rlx_prim *rlx_work_of(rlx_context *ctx, const rlx_stmt *s);
/* Picoseconds of the outermost loops of a statement that threads might share, of those whose work is known. */
int64_t rlx_shared_work_of(rlx_context *ctx, const rlx_stmt *s);
/* Not if it is surely less than what a thread is woken up for, or NULL. */
bool rlx_is_worth_sharing(const rlx_context *ctx, const rlx_prim *work);
/* What several buffers may be views of. */
const rlx_node *rlx_plan_memory(const rlx_node *buffer);
bool rlx_plan_share_memory(const rlx_plan_access *a, const rlx_plan_access *b);
/* Every variable has a value. */
bool rlx_plan_knows_all(const void *user, const rlx_prim *var);
extern const rlx_plan_scope rlx_plan_everywhere; /* where that is so */
/* sum + a * b; a becomes int64, sum NULL is 0. */
const rlx_prim *rlx_plan_add_product(rlx_context *ctx, const rlx_prim *sum, const rlx_prim *a,
                                     const rlx_prim *b);

#endif
