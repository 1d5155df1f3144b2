/*- lower_int.h: what lowerings have in common. A lowering makes one PrimFunc:
 *
 *     rlx_lowering b;
 *     rlx_lowering_begin(&b, l);
 *     x := rlx_lowering_input(&b, 0)                          parameters, sizes bound by them
 *     out := rlx_lowering_output(&b, sizes)                   the last parameter
 *     blocks through &b.t
 *     return rlx_lowering_end(&b);
 *
 * Sizes of the program become variables of the PrimFunc: literals stay, equal sizes share one
 * variable, which the first buffer with it binds and the others are checked against when the
 * kernel is called (RT05). So what inference took on trust is checked, and functions of equal
 * structure are one function whatever their sizes are called.
 */
#ifndef RLX_LOWER_INT_H
#define RLX_LOWER_INT_H

#include "op/op_int.h"
#include "sinfo/builder.h"

#define RLX_LOW_RANK RLX_TIR_MAX_DIMS
#define RLX_LOW_NAME 24

/* A list of sizes or indices of the PrimFunc. */
typedef struct rlx_lowering_list { const rlx_prim *at[RLX_LOW_RANK]; size_t n; } rlx_lowering_list;
RLX_INLINE rlx_prim_list rlx_lowering_items(const rlx_lowering_list *l)
{
    return RLX_TIR_ITEMS(l->at, l->n);
}

/* Sizes of the program beside those of the PrimFunc; program[i] NULL: not known there. */
typedef struct rlx_lowering_shape {
    const rlx_prim *program[RLX_LOW_RANK];
    rlx_lowering_list sizes;
} rlx_lowering_shape;

typedef struct rlx_lowering_tensor {
    const rlx_buffer *buffer;       /* NULL: a scalar */
    const rlx_prim *scalar;
    rlx_dtype dtype;
    rlx_lowering_shape shape;
} rlx_lowering_tensor;

/* Attribute i of the call, in the row's order; NULL: absent. */
const rlx_attr *rlx_lowering_attr(const rlx_lower_request *l, size_t i);
/* A scalar that needs no parameter: the literal. NULL: e is none. */
const rlx_prim *rlx_lowering_literal(const rlx_expr *e);
/* Likewise a finite float constant of rank 0, which an operator that takes scalars may read as one. NULL: e is none. */
const rlx_prim *rlx_lowering_constant(rlx_context *ctx, const rlx_expr *e);
/* Field i of tuple e: what the literal holds, else a projection. */
const rlx_expr *rlx_lowering_field(rlx_context *ctx, const rlx_expr *e, size_t i, rlx_place place);
/* call_tir(gv, (inputs), out_sinfo = result) */
const rlx_expr *rlx_lowering_call(rlx_lower_request *l, const rlx_global_var *gv);
/* One call, not looked up. l lives as long as the caller reads it; *gv: the PrimFunc. NULL with
 * *why as rlx_op_lower. */
const rlx_expr *rlx_lowering_lower(rlx_module_builder *mb, rlx_lower_request *l,
                                   const rlx_global_var **gv, const char **why);
/* Fills *l and args (capacity RLX_OP_MAX_ARGS). False with *why: there is nothing to lower. */
bool rlx_lowering_prepare(rlx_lower_request *l, const rlx_sinfo **args, const rlx_env *env,
                          const rlx_scope *scope, const rlx_call *call, const rlx_sinfo *result,
                          const char **why);

typedef struct rlx_lowering_size_pair { const rlx_prim *program, *size; } rlx_lowering_size_pair;
typedef struct rlx_lowering {
    rlx_lower_request *l;
    rlx_tir t;
    RLX_VEC(rlx_lowering_size_pair) sizes;
    RLX_VEC(const rlx_expr *) inputs;
    RLX_VEC(rlx_input_source) sources;  /* of the inputs */
    const char *why;
} rlx_lowering;

void rlx_lowering_begin(rlx_lowering *b, rlx_lower_request *l);
/* The finished function, inputs handed to b->l; NULL with b->l->why when something failed. */
const rlx_prim_func *rlx_lowering_end(rlx_lowering *b);
/* Gives up: why is static text. Returns false. */
bool rlx_lowering_give_up(rlx_lowering *b, const char *why);
/* Because of a dtype. Returns false. */
bool rlx_lowering_refuse_dtype(rlx_lowering *b);

/* Argument i (a tensor, or a scalar where the row takes one) as parameter. False after giving
 * up. */
bool rlx_lowering_input(rlx_lowering *b, size_t i, rlx_lowering_tensor *out);
/* Field i of a tuple argument as parameter. False after giving up. */
bool rlx_lowering_input_field(rlx_lowering *b, size_t arg, size_t i, const char *name,
                              rlx_lowering_tensor *out);
/* A scalar argument as an expression of the given dtype: literals directly, others as
 * parameter. */
const rlx_prim *rlx_lowering_scalar(rlx_lowering *b, size_t i, rlx_dtype dtype);
/* Shape of the result: as inferred, else `computed` (may be NULL), which then becomes that of
 * the result. */
bool rlx_lowering_output(rlx_lowering *b, const rlx_lowering_shape *computed,
                         rlx_lowering_tensor *out);
/* Shapes of a result that is a tuple of n tensors: as inferred, else `computed`, which may be
 * NULL, as may its items. */
bool rlx_lowering_outputs(rlx_lowering *b, const rlx_lowering_shape *const *computed,
                          rlx_lowering_tensor *out, size_t n);
/* Size of the PrimFunc for a size of the program (NULL: a fresh one). */
const rlx_prim *rlx_lowering_size(rlx_lowering *b, const rlx_prim *program);
/* A size of the program is this one of the PrimFunc, an expression of sizes that parameters have. */
void rlx_lowering_express(rlx_lowering *b, const rlx_prim *program, const rlx_prim *size);
/* The same where the one is some times the other and a number. */
void rlx_lowering_express_line(rlx_lowering *b, const rlx_prim *size, const rlx_prim *of, int64_t times);
/* How many times one size of the program is the other, whatever that is; 0: that is not known. */
int64_t rlx_lowering_times(rlx_lowering *b, const rlx_prim *size, const rlx_prim *of);
/* Two sizes of the program that inference trusts to be equal: from here on they are one size of
 * the PrimFunc, the literal one if there is one, so that the kernel's call checks it. NULL:
 * nothing. */
void rlx_lowering_alias(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y);
/* Makes dimension i of argument x and dimension k of argument y one size, as rlx_lowering_alias
 * does. */
void rlx_lowering_trust(rlx_lowering *b, size_t x, size_t i, size_t y, size_t k);
/* An axis from the front; false after giving up. */
bool rlx_lowering_axis(rlx_lowering *b, int64_t axis, size_t ndim, size_t *out);
void rlx_lowering_name(char out[RLX_LOW_NAME], char letter, size_t number); /* "x3" */

/* ---- broadcasting */
/* Common shape of operands. What is not proved is checked in the kernel. */
bool rlx_lowering_broadcast(rlx_lowering *b, const rlx_lowering_tensor *const *operands,
                            size_t count, rlx_lowering_shape *out);
/* One pair of sizes; index names the dimension in messages. */
bool rlx_lowering_join(rlx_lowering *b, const rlx_lowering_shape *from, size_t i,
                       rlx_lowering_shape *into, size_t at);
/* Element of an operand that belongs to `index` of a result of the given sizes; a scalar is
 * itself. */
const rlx_prim *rlx_lowering_load(rlx_lowering *b, const rlx_lowering_tensor *t,
                                  const rlx_lowering_list *index, const rlx_lowering_list *sizes);

/* An index of the program as int64, counted from the end if negative. */
const rlx_prim *rlx_lowering_position(rlx_lowering *b, const rlx_prim *k, const rlx_prim *size);

/* ---- blocks over whole tensors */
/* One block over the result: each element is value(index); the finished function. NULL value:
 * not for this dtype. */
typedef const rlx_prim *(*rlx_lowering_value_fn)(rlx_lowering *b, void *user,
                                                 const rlx_lowering_list *index);
const rlx_prim_func *rlx_lowering_mapped(rlx_lowering *b, const rlx_lowering_tensor *out,
                                         rlx_lowering_value_fn value, void *user);
/* Opens a block with one spatial axis per size; their block variables in *index. */
void rlx_lowering_open(rlx_lowering *b, const char *name, const rlx_lowering_list *sizes,
                       rlx_lowering_list *index);
/* Opens a block with one axis per size, marked ones reduced: the last spatial axis is innermost,
 * so that stores run along it. */
void rlx_lowering_open_reduce(rlx_lowering *b, const char *name, const rlx_lowering_list *sizes,
                              const bool *reduced, rlx_lowering_list *index);
/* The open block, which adds floats of `dtype` up, does so in 32 partial sums (tir/partial_sums.c).
 * Integers are as they were. */
void rlx_lowering_partial_sums(rlx_lowering *b, rlx_dtype dtype);
/* Fails the call with the code of `assertion` unless cond holds. Nothing is emitted for a
 * condition that is literally true. */
void rlx_lowering_require(rlx_lowering *b, const rlx_prim *cond, enum rlx_assertion assertion,
                          const char *message);
/* which NULL: all */
const rlx_prim *rlx_lowering_product(rlx_lowering *b, const rlx_lowering_list *sizes,
                                     const bool *which);

/* ---- layouts (lower_window.c) */
#define RLX_LOW_AXES 5
/* A tensor of named axes ("NCHW", "NCHW4c"). Canonical order: batch, channel, spatial axes. */
typedef struct rlx_lowering_side {
    rlx_lowering_tensor t;
    rlx_layout layout;
    const char *axes;                       /* their letters in canonical order */
    const rlx_prim *size[RLX_LOW_AXES];     /* in canonical order */
} rlx_lowering_side;
/* Fills in all but s->t. False after giving up. */
bool rlx_lowering_read_side(rlx_lowering *b, rlx_lowering_side *s, const rlx_attr *layout,
                            const char *axes);
/* Indices in memory for indices in canonical order, and back (index: RLX_LOW_AXES items). */
rlx_lowering_list rlx_lowering_placed(rlx_lowering *b, const rlx_lowering_side *s,
                                      const rlx_prim *const *index);
void rlx_lowering_canonical(rlx_lowering *b, const rlx_lowering_side *s,
                            const rlx_lowering_list *at, const rlx_prim **index);

/* ---- rows (lower_rows.c) */
/* Work on the rows of a tensor, a tile of them at a time: what is opened between begin and end is inside of the loops
 * over tiles. */
typedef struct rlx_lowering_rows {
    rlx_lowering *b;
    rlx_lowering_list sizes;             /* of the tensor */
    bool marked[RLX_LOW_RANK];           /* axes that are reduced */
    bool outer[RLX_LOW_RANK];            /* axes that are loops around everything */
    bool by_rows;                        /* the last axis is reduced: a row is contiguous */
    bool open;                           /* there are loops around everything */
    size_t tiled;                        /* axis that is cut into tiles, SIZE_MAX: none */
    const rlx_prim *start, *most;        /* first row of this tile, most rows of one; NULL: one tile */
    rlx_lowering_list index;             /* of the outer axes, at their places */
    rlx_lowering_list inside;            /* sizes of the other axes */
    bool inside_marked[RLX_LOW_RANK];
    bool turned;                         /* many short rows: in temporaries of a tile, elements of the same column lie beside each other */
} rlx_lowering_rows;
/* functions: one is computed of each element, which is worth threads sooner. */
void rlx_lowering_rows_begin(rlx_lowering_rows *r, rlx_lowering *b, const rlx_lowering_list *sizes,
                             const bool *marked, bool functions);
void rlx_lowering_rows_end(rlx_lowering_rows *r);
/* A temporary for a tile, or (kept) for one value of each row. */
const rlx_buffer *rlx_lowering_rows_alloc(rlx_lowering_rows *r, const char *name, rlx_dtype dtype,
                                          bool kept);
/* Of an index inside: what is kept of it, and that of the tensor. */
rlx_lowering_list rlx_lowering_rows_kept(const rlx_lowering_rows *r, const rlx_lowering_list *inside);
rlx_lowering_list rlx_lowering_rows_whole(rlx_lowering_rows *r, const rlx_lowering_list *inside);
/* Of an index inside, or sizes: that of a temporary of a tile. */
rlx_lowering_list rlx_lowering_rows_at(const rlx_lowering_rows *r, const rlx_lowering_list *inside);
/* Opens a block that reduces what is inside. Others: rlx_lowering_open with r->inside. */
void rlx_lowering_rows_fold(rlx_lowering_rows *r, const char *name, rlx_lowering_list *inside);
/* sum[kept] = sum of a temporary of the tile, or (whole) of a tensor. */
void rlx_lowering_rows_sum(rlx_lowering_rows *r, const char *name, const rlx_buffer *sum,
                           const rlx_buffer *of, bool whole);

/* float32 for narrower floats, else the dtype itself. */
rlx_dtype rlx_lowering_accumulator(rlx_dtype t);
RLX_INLINE bool rlx_lowering_is_float(rlx_dtype t) { return rlx_dtype_is_float(t); }

#endif
